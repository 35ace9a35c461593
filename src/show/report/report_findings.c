/* SPDX-License-Identifier: MIT */
/*
 * report_findings.c: what all analyses of a recording have found, in sentences. See report_face.h.
 *
 *      Work         1 of 5 processes did 86 % of the work ...
 *      Parallelism  P = 1.00 of 5 streams ...
 *      Path         tsp-server[12] is on the longest path for 85 %: twice as fast ...
 *      Late  Answers  Queues  Requests  Network  Waits
 *
 * A sentence says only what its figures say; what is too small to matter (SMALL) has none.
 */
#include "show/causality/causality_face.h"
#include "show/parallelism/critical_path_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FEW   3    /* sentences of a topic */
#define SMALL 0.01 /* of the elapsed time: too small to matter */

/* Events without which the program history has fewer arcs, or waits that nothing explains. */
#define TELL_OF_ARCS                                                                               \
    (METER_EVENT_FLAGS & ~(EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_CREATEPATH) |        \
                           EVENT_FLAG(EVENT_DESTROYPATH)))

void report_say(struct report_content *content, const char *topic, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    char *kept = length < 0 ? NULL : arena_allocate(&content->memory, (size_t)length + 1);
    if (kept == NULL || array_reserve(&content->findings, &content->finding_capacity,
                                      content->finding_count + 1, sizeof(*content->findings)) < 0) {
        content->failed = true;
    } else {
        memcpy(kept, text, (size_t)length + 1);
        content->findings[content->finding_count++] = (struct report_finding){topic, kept};
    }
    if (length >= 0)
        free(text);
}

void report_content_done(struct report_content *content)
{
    free(content->findings);
    for (size_t i = 0; i < content->table_count; i++)
        free(content->tables[i].rows);
    arena_done(&content->memory);
    *content = (struct report_content){0};
}

static bool matters(const struct report *report, uint64_t time)
{
    return (double)time > SMALL * (double)report->communication->duration;
}

/* ---- parallelism ---- */

/* Whether most of the longest path is nobody's processor time. */
static bool is_outside(const struct critical_path *path)
{
    return path != NULL && path->outside > path->longest / 2;
}

static const char *verdict(double factor, uint32_t streams, bool outside)
{
    if (outside)
        return "most of that path are waits for outside, timers and disks";
    if (factor < 1.1)
        return "they worked in turn, or waited; more processors cannot help";
    if (factor < 1.5)
        return "more processors can hardly help";
    if (factor > 0.8 * streams)
        return "nearly all of them can work at the same time";
    return "so many processors can be kept busy, on average";
}

/* With each thread as a stream; whoever looks for the longest path finds it, too. NULL: nobody has looked. */
static const struct parallelism *parallelism_of(const struct report *report)
{
    return report->path != NULL          ? report->path->parallelism
           : report->parallelism != NULL ? report->parallelism->at[0].threads
                                         : NULL;
}

/* t_max of step max, with a machine for each stream. */
static uint64_t longest_of(const struct report *report)
{
    const struct parallelism *of = parallelism_of(report);

    return report->path != NULL ? report->path->longest
           : of->row_count > 0  ? of->rows[0].longest
                                : 0;
}

/* What was not metered leaves no arcs, and without them the longest path is too short. */
static void tell_missing_arcs(const struct communication *communication,
                              struct report_content *content)
{
    char words[LEFT_OUT_TEXT_SIZE];

    left_out_text(communication->flags_left_out & TELL_OF_ARCS, communication->kinds_left_out,
                  words);
    if (words[0] != '\0')
        report_say(content, "Parallelism",
                   "P may be less in truth, for arcs are missing; not metered: %s.", words);
}

static void find_parallelism(const struct report *report, struct report_content *content)
{
    const struct parallelism *of = parallelism_of(report);
    const struct parallelism_row row = {.longest = longest_of(report)};
    char total[UNIT_SIZE], longest[UNIT_SIZE];
    struct parallelism_efficiency efficiency;

    if (row.longest == 0 || of->total == 0)
        return;
    double factor = parallelism_factor(of, &row);
    show_duration(of->total, total);
    show_duration(row.longest, longest);
    if (of->streams < 2) {
        report_say(content, "Parallelism", "There was one stream: nothing to run beside it.");
        return;
    }
    report_say(content, "Parallelism",
               "P = %.2f of %" PRIu32 " streams (%s of processor time, longest path %s): %s.",
               factor, of->streams, total, longest,
               verdict(factor, of->streams, is_outside(report->path)));
    tell_missing_arcs(report->communication, content);
    parallelism_efficiency(of, 0, &efficiency);
    if (efficiency.load_balance < 0.5)
        report_say(content, "Parallelism",
                   "Streams are loaded unevenly: load balance %.2f, where 1 is even.",
                   efficiency.load_balance);
}

/* ---- the longest path ---- */

/* Processes of one name: how much of the path they are. */
static uint64_t share_of_name(const struct critical_path *path, uint32_t process, size_t *ret_count)
{
    const struct parallelism_process *processes = path->parallelism->processes;
    uint64_t cpu = 0;

    *ret_count = 0;
    for (size_t i = 0; i < path->parallelism->process_count; i++)
        if (strcmp(processes[i].name, processes[process].name) == 0) {
            cpu += path->processes[i].cpu;
            ++*ret_count;
        }
    return cpu;
}

static void tell_what_if(const struct critical_path *path, const struct what_if *what_if,
                         struct report_content *content)
{
    char who[PROCESS_NAME_SIZE], name[STREAM_NAME_SIZE + 1], share[UNIT_SIZE], less[UNIT_SIZE];
    size_t count;
    uint64_t cpu = share_of_name(path, what_if->process, &count);

    critical_process_text(path, what_if->process, who);
    if (count > 1) {
        show_text(path->parallelism->processes[what_if->process].name, STREAM_NAME_SIZE, name);
        snprintf(who, sizeof(who), "The %zu %s", count, name);
    }
    show_percent(cpu, path->longest, share);
    show_percent(path->longest > what_if->longest ? path->longest - what_if->longest : 0,
                 path->longest, less);
    report_say(content, "Path",
               "%s %s on the longest path for %s %%%s: %s as fast, it would take %s %% less.", who,
               count > 1 ? "are" : "is", share, count > 1 ? " together" : "",
               count > 1 ? "all of them twice" : "twice", less);
}

static int by_longest(const void *left, const void *right)
{
    const struct what_if *a = left, *b = right;

    return a->longest < b->longest ? -1 : a->longest > b->longest;
}

static int find_path(const struct report *report, struct report_content *content)
{
    const struct critical_path *path = report->path;
    struct what_if *what_ifs = calloc(path->what_if_count + 1, sizeof(*what_ifs));
    char outside[UNIT_SIZE], share[UNIT_SIZE];
    size_t told = 0;

    if (what_ifs == NULL)
        return -ENOMEM;
    memcpy(what_ifs, path->what_ifs, path->what_if_count * sizeof(*what_ifs));
    qsort(what_ifs, path->what_if_count, sizeof(*what_ifs), by_longest);
    for (size_t i = 0; i < path->what_if_count && told < FEW; i++) {
        uint64_t less = path->longest - what_ifs[i].longest;
        if (what_ifs[i].speed == 2 && what_ifs[i].longest < path->longest &&
            (double)less > SMALL * (double)path->longest) {
            tell_what_if(path, &what_ifs[i], content);
            told++;
        }
    }
    free(what_ifs);
    if (path->outside == 0 || path->outside * 5 < path->longest)
        return 0;
    show_duration(path->outside, outside);
    show_percent(path->outside, path->longest, share);
    report_say(
        content, "Path",
        "%s %% of the longest path (%s) are waits for outside, timers and disks: no processor "
        "shortens these.",
        share, outside);
    return 0;
}

/* ---- who is late, and where messages wait ---- */

static void tell_late(const struct communication *communication,
                      const struct communication_pair *pair, struct report_content *content)
{
    bool sender = sender_is_late(pair);
    bool blocked = sender_is_blocked(pair);
    const struct histogram *times = &pair->times.of[sender    ? TIME_RECEIVER_WAIT
                                                    : blocked ? TIME_SENDER_BLOCKED
                                                              : TIME_MESSAGE_WAIT];
    char from[PARTY_TEXT_SIZE], to[PARTY_TEXT_SIZE], sum[UNIT_SIZE], half[UNIT_SIZE];

    party_text(communication, &pair->from, from);
    party_text(communication, &pair->to, to);
    show_duration(histogram_sum(times), sum);
    show_duration(histogram_quantile(times, 0.5), half);
    if (sender)
        report_say(content, "Late",
                   "%s waited for messages of %s: %s in all, half of the times %s or more.", to,
                   from, sum, half);
    else if (blocked)
        report_say(
            content, "Late",
            "%s had no room to send to %s, which was to receive first: %s in all, half of the "
            "times %s or more.",
            from, to, sum, half);
    else
        report_say(content, "Late",
                   "What %s sent waited for %s: %s in all, half of the messages %s or more.", from,
                   to, sum, half);
}

static int find_late(const struct report *report, struct report_content *content)
{
    const struct communication *communication = report->communication;
    const struct communication_pair **rows = pairs_by_wait(communication);

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < communication->pair_count && i < FEW; i++)
        if (matters(report, pair_waited(rows[i])))
            tell_late(communication, rows[i], content);
    free(rows);
    return 0;
}

static void find_queue(const struct report *report, struct report_content *content)
{
    const struct communication *communication = report->communication;
    uint32_t longest = 0;
    char who[PROCESS_TEXT_SIZE], most[UNIT_SIZE];

    for (uint32_t i = 1; i < communication->process_count; i++)
        if (communication->processes[i].queue.wait > communication->processes[longest].queue.wait)
            longest = i;
    if (communication->process_count == 0)
        return;
    const struct queue_length *queue = &communication->processes[longest].queue;
    if (queue_mean(queue, communication->duration) < 0.5)
        return;
    process_text(communication, longest, who);
    show_count(queue->messages_max, most);
    report_say(content, "Queues",
               "Most messages waited at %s: %.2f at a time on average, at most %s.", who,
               queue_mean(queue, communication->duration), most);
}

/* ---- answers ---- */

static void tell_answers(const struct communication *communication,
                         const struct communication_process *process, enum time_kind kind,
                         struct report_content *content)
{
    const struct histogram *times = &process->times.of[kind];
    char who[PROCESS_TEXT_SIZE], cells[4][UNIT_SIZE];

    process_text(communication, (uint32_t)(process - communication->processes), who);
    show_count(histogram_count(times), cells[0]);
    show_duration(histogram_quantile(times, 0.5), cells[1]);
    show_duration(histogram_quantile(times, 0.99), cells[2]);
    show_duration(histogram_max(times), cells[3]);
    report_say(content, "Answers",
               "%s %s %s time%s: half within %s, 99 %% within %s, all within %s.", who,
               kind == TIME_RESPONSE ? "answered" : "waited for answers", cells[0],
               histogram_count(times) == 1 ? "" : "s", cells[1], cells[2], cells[3]);
}

/* Those whose answers have taken most time in all; `kind` is as server or as client. */
static void find_answers(const struct report *report, enum time_kind kind, int most,
                         struct report_content *content)
{
    const struct communication *communication = report->communication;
    uint64_t below = UINT64_MAX;

    for (int told = 0; told < most; told++) {
        const struct communication_process *best = NULL;
        uint64_t most_time = 0;
        for (size_t i = 0; i < communication->process_count; i++) {
            const struct histogram *times = &communication->processes[i].times.of[kind];
            uint64_t is = histogram_bars(times) > 0 ? histogram_sum(times) + 1 : 0;
            if (is > most_time && is < below) {
                best = &communication->processes[i];
                most_time = is;
            }
        }
        if (best == NULL)
            return;
        tell_answers(communication, best, kind, content);
        below = most_time;
    }
}

/* ---- requests ---- */

/* Whether a string goes by this letter: "A", but not the beginning of "A1". */
static bool has_letter(const char *string, const char *letter)
{
    size_t length = strlen(letter);

    for (const char *at = string; (at = strstr(at, letter)) != NULL; at++)
        if (at[length] < '0' || at[length] > '9')
            return true;
    return false;
}

void report_letters(const struct causality *causality, const char *string, char *text, size_t size)
{
    char name[STATE_TEXT_SIZE];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < causality->process_count && length + 1 < size; i++) {
        const char *letter = causality->processes[i].letter;
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && strcmp(causality->processes[k].letter, letter) != 0;
        if (letter[0] == '\0' || !first || !has_letter(string, letter))
            continue;
        letter_name(causality, letter, name);
        int more = snprintf(text + length, size - length, "%s%s = %s", length == 0 ? "" : ", ",
                            letter, name);
        length += (size_t)more;
    }
}

static int by_count(const void *left, const void *right)
{
    const struct causality_path *const *a = left, *const *b = right;

    if ((*a)->count != (*b)->count)
        return (*a)->count > (*b)->count ? -1 : 1;
    return strcmp((*a)->string, (*b)->string);
}

const struct causality_path **report_commonest(const struct causality *causality)
{
    const struct causality_path **rows = calloc(causality->path_count + 1, sizeof(*rows));

    for (size_t i = 0; rows != NULL && i < causality->path_count; i++)
        rows[i] = &causality->paths[i];
    if (rows != NULL)
        qsort(rows, causality->path_count, sizeof(*rows), by_count);
    return rows;
}

/* Whether there are requests, which are answered, and not all stay where they come to. */
static bool go_on(const struct causality *causality)
{
    return causality->replies > 0 && causality->substring_count > 0;
}

static int find_requests(const struct report *report, struct report_content *content)
{
    const struct causality *causality = report->causality;
    const struct causality_path **rows = report_commonest(causality);
    char letters[REPORT_LETTERS_SIZE], share[UNIT_SIZE], half[UNIT_SIZE], most[UNIT_SIZE];
    uint64_t all = 0;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < causality->path_count && go_on(causality); i++)
        all += rows[i]->count;
    for (size_t i = 0; all > 0 && i < causality->path_count && i < FEW; i++) {
        report_letters(causality, rows[i]->string, letters, sizeof(letters));
        show_percent(rows[i]->count, all, share);
        show_duration(histogram_quantile(&rows[i]->latency, 0.5), half);
        show_duration(histogram_quantile(&rows[i]->latency, 0.99), most);
        report_say(
            content, "Requests",
            "%s %% of the ways that requests took are %s: half within %s, 99 %% within %s%s%s%s.",
            share, rows[i]->string, half, most, letters[0] == '\0' ? "" : " (", letters,
            letters[0] == '\0' ? "" : ")");
    }
    free(rows);
    return 0;
}

/* ---- the network ---- */

static void find_network(const struct report *report, struct report_content *content)
{
    const struct communication *communication = report->communication;
    const struct communication_path *worst = NULL;
    uint64_t again = 0;
    char count[UNIT_SIZE], local[END_TEXT_SIZE], remote[END_TEXT_SIZE];

    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (!path->network.known || path->network.retransmitted == 0)
            continue;
        again += path->network.retransmitted;
        if (worst == NULL || path->network.retransmitted > worst->network.retransmitted)
            worst = path;
    }
    show_count(again, count);
    if (worst != NULL) {
        end_text(communication, &worst->ends[0], worst->local, local);
        end_text(communication, &worst->ends[1], worst->remote, remote);
        report_say(content, "Network",
                   "%s segments had to be sent again, most of them between %s and %s.", count,
                   local, remote);
    }
    show_count(communication->dropped, count);
    if (communication->dropped > 0)
        report_say(content, "Network",
                   "%s datagrams found their receiver's queue full and were dropped.", count);
}

/* ---- waits that no message explains ---- */

static void tell_waits(const struct report *report, const struct waits *waits, const char *what,
                       struct report_content *content)
{
    char count[UNIT_SIZE], time[UNIT_SIZE];

    if (!matters(report, waits->time))
        return;
    show_count(waits->count, count);
    show_duration(waits->time, time);
    report_say(content, "Waits", "%s: %s wait%s, in all %s.", what, count,
               waits->count == 1 ? "" : "s", time);
}

static void find_waits(const struct report *report, struct report_content *content)
{
    const struct parallelism *of = parallelism_of(report);

    tell_waits(report, &of->outside, "For answers from outside of what was metered", content);
    tell_waits(report, &of->asleep, "Explained by no message (timers, disks)", content);
    tell_waits(report, &of->locks, "Of threads for each other", content);
}

/* ---- all of it ---- */

int report_find(const struct report *report, struct report_content *content)
{
    int result = report_find_load(report, content);

    if (result == 0 && parallelism_of(report) != NULL)
        find_parallelism(report, content);
    if (result == 0 && report->path != NULL)
        result = find_path(report, content);
    if (result == 0)
        result = find_late(report, content);
    if (result < 0)
        return result;
    find_queue(report, content);
    find_answers(report, TIME_RESPONSE, FEW, content);
    find_answers(report, TIME_REQUEST, 1, content);
    if (report->causality != NULL)
        result = find_requests(report, content);
    find_network(report, content);
    if (parallelism_of(report) != NULL)
        find_waits(report, content);
    if (content->finding_count == 0)
        report_say(content, FOUND_NOTHING, "Too little was recorded to say anything of it.");
    return result < 0 || content->failed ? -ENOMEM : 0;
}
