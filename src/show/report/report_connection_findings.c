/* SPDX-License-Identifier: MIT */
/* report_connection_findings.c: findings on how programs use connections, as sentences. See report_face.h. */
#include "analysis/findings/findings.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

void report_say_nagle(const struct report *report, const struct finding *finding,
                      struct report_content *content)
{
    const struct communication_path *path = finding->nagle.path;
    const char *const addresses[] = {path->local, path->remote};
    int from = finding->nagle.from, to = 1 - from;
    char sender[END_TEXT_SIZE], receiver[END_TEXT_SIZE], messages[UNIT_SIZE], of[COUNTED_SIZE];
    char mean[UNIT_SIZE], time[UNIT_SIZE], all[UNIT_SIZE];

    end_text(report->communication, &path->ends[from], addresses[from], sender);
    end_text(report->communication, &path->ends[to], addresses[to], receiver);
    show_count(finding->nagle.messages, messages);
    show_counted(finding->nagle.of, "message", of);
    show_duration(finding->nagle.mean, mean);
    show_duration(finding->nagle.time, time);
    show_duration(report->communication->duration, all);
    report_say(
        content, "Connections",
        "Nagle's algorithm held back %s of %s from %s to %s, each by %s on average (%s of %s): the "
        "receiver delays its acknowledgement. Set TCP_NODELAY, or send it in one call.",
        messages, of, sender, receiver, mean, time, all);
}
