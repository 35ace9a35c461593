/* SPDX-License-Identifier: MIT */
/* report_change_findings.c: a sentence on what would make requests faster. See report_face.h. */
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"
#include "show/whatif/whatif_face.h"

#include <inttypes.h>
#include <string.h>

static void pool_text(const struct report *report, const struct whatif_trial *trial,
                      const struct causality_pool *pool, char text[CHANGE_SIZE])
{
    char who[PROCESS_TEXT_SIZE];

    report_pool_process(report->communication, pool, who);
    snprintf(text, CHANGE_SIZE, "With %.0f connections of %.150s to %.80s instead of %" PRIu32,
             trial->change.amount, who, trial->change.name, trial->from);
}

/* Requests left out at the beginning are mentioned if they are a hundredth of the others or more. */
#define EARLY_TOLD 100

/* Which requests were simulated, unless nearly all of many were: "", " of only 3 requests", " of 250 of the 300 requests", " of 4,993 of the first
 * 5,000 requests". */
static void of_text(const struct whatif_answer *answer, char *text, size_t size)
{
    char count[COUNTED_SIZE], first[COUNTED_SIZE];
    uint64_t requests = answer->recorded.requests;

    show_counted(requests, "request", count);
    show_counted(requests + answer->early, "request", first);
    text[0] = '\0';
    if (answer->early > 0 && (answer->left_out > 0 || answer->early * EARLY_TOLD >= requests)) {
        show_count(requests, count);
        snprintf(text, size, " of %s of the %s%s", count, answer->left_out > 0 ? "first " : "",
                 first);
    } else if (answer->left_out > 0) {
        snprintf(text, size, " of the first %s", count);
    } else if (requests < WHATIF_HARDLY_ANY) {
        snprintf(text, size, " of only %s", count);
    }
}

void report_say_change(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    const struct whatif_trial *trial = finding->change.trial;
    const struct whatif_answer *answer = &trial->answer;
    char change[CHANGE_SIZE], option[CHANGE_SIZE], of[2 * COUNTED_SIZE + 20], off[UNIT_SIZE];
    char rates[2 * UNIT_SIZE + 40] = "";
    char now[UNIT_SIZE], then[UNIT_SIZE], rate[UNIT_SIZE], rate_then[UNIT_SIZE];

    if (finding->change.pool == NULL)
        whatif_change_text(trial, change);
    else
        pool_text(report, trial, finding->change.pool, change);
    whatif_option_text(&trial->change, option);
    show_duration(answer->recorded.median, now);
    show_duration(answer->then.median, then);
    whatif_share_text(answer->off, off);
    show_frequency(answer->recorded.per_second, rate);
    show_frequency(answer->then.per_second, rate_then);
    of_text(answer, of, sizeof(of));
    /* one request has none; that of clients that think may stay as it was */
    if (answer->recorded.per_second > 0 && answer->then.per_second > 0 &&
        strcmp(rate, rate_then) != 0)
        snprintf(rates, sizeof(rates), ", with %s requests/s instead of %s", rate_then, rate);
    report_say(content, "Prediction",
               "%s, the median latency%s would be %s instead of %s%s (dpm whatif %s%s%s%s%s; "
               "without a change the model is %s%% off).",
               change, of, then, now, rates, option, report->times == NULL ? "" : report->times,
               report->traces == NULL ? "" : " ", report->traces == NULL ? "" : report->traces,
               answer->left_out > 0 ? ", which takes more of them" : "", off);
}
