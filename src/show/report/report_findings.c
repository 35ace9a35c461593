/* SPDX-License-Identifier: MIT */
/*
 * report_findings.c: the findings of the analyses, as sentences. See report_face.h.
 *
 *      struct finding --> topic         sentence
 *                         Time          62% of 4.32 s: 60 messages of client[12] in flight ...
 *                         Work          1 of 5 processes did 86 % of the work ...
 *                         Parallelism   P = 1.00 of 5 streams ...
 *                         Late  Answers  Queues  Requests  Network  Files  Waits
 *                         Path          tsp-server[12] carries 85% of the critical path ... (report_path_findings.c)
 *                         Connections  (report_connection_findings.c)
 *                         CPU  Limits  Memory  Disks  (report_machine_findings.c)
 */
#include "analysis/findings/findings.h"
#include "show/causality/causality_face.h"
#include "show/elapsed/elapsed_face.h"
#include "show/parallelism/critical_path_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FEW_NAMES 5

#define SHORT_TIME 1000000 /* ns: a difference that does not matter */

#define say report_say

#define WAYS_SIZE  (LEFT_OUT_TEXT_SIZE + sizeof(" over "))
#define NAMES_SIZE (FEW_NAMES * PROCESS_TEXT_SIZE + UNIT_SIZE)

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
        content->findings[content->finding_count++] =
            (struct report_finding){topic, kept, content->finding};
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

/* ---- work ---- */

/* "a[1], b[2] and 3 others". */
static void names_text(const struct communication *communication,
                       const struct finding_processes *who, char text[NAMES_SIZE])
{
    char name[PROCESS_TEXT_SIZE];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < who->count && i < FEW_NAMES; i++) {
        process_text(communication, who->at[i], name);
        length +=
            (size_t)snprintf(text + length, NAMES_SIZE - length, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (who->count > FEW_NAMES)
        snprintf(text + length, NAMES_SIZE - length, " and %zu other%s", who->count - FEW_NAMES,
                 who->count == FEW_NAMES + 1 ? "" : "s");
}

static void say_work(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    char names[NAMES_SIZE], share[UNIT_SIZE], time[UNIT_SIZE];

    names_text(report->communication, &finding->work.who, names);
    show_percent(finding->work.cpu, finding->work.total_cpu, share);
    show_duration(finding->work.total_cpu, time);
    if (finding->kind == FINDING_WORK_SHARED)
        say(content, "Work",
            "The work (%s of CPU time) was shared: the busiest of %zu processes, %s, did %s%%.",
            time, finding->work.of, names, share);
    else
        say(content, "Work", "%zu of %zu processes did %s%% of the work (%s of CPU time): %s.",
            finding->work.who.count, finding->work.of, share, time, names);
}

static void say_idle(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct communication *communication = report->communication;
    char name[NAME_TEXT_SIZE], busiest[PROCESS_TEXT_SIZE], names[NAMES_SIZE];
    char figures[2][UNIT_SIZE], sums[2][COUNTED_SIZE];

    name_text(&communication->processes[finding->idle.busiest], name);
    process_text(communication, finding->idle.busiest, busiest);
    names_text(communication, &finding->idle.who, names);
    show_duration(finding->idle.cpu, figures[0]);
    show_counted(finding->idle.messages, "message", sums[0]);
    show_duration(finding->idle.busiest_cpu, figures[1]);
    show_counted(finding->idle.busiest_messages, "message", sums[1]);
    say(content, "Idle",
        "%zu of %zu %s did next to nothing: %s. %s %s of CPU time and %s; %s has %s and %s.",
        finding->idle.who.count, finding->idle.of, name, names,
        finding->idle.who.count == 1 ? "It has" : "Together they have", figures[0], sums[0],
        busiest, figures[1], sums[1]);
}

static void say_created(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    char parent[PROCESS_TEXT_SIZE], names[NAMES_SIZE];
    size_t count = finding->created.who.count;

    process_text(report->communication, finding->created.parent, parent);
    names_text(report->communication, &finding->created.who, names);
    say(content, "Created", "%s created %zu process%s: %s.", parent, count, count == 1 ? "" : "es",
        names);
}

/* " over tcp, udp" if only some kinds of connections were recorded: a silent process may have used another kind. */
static void ways_text(uint32_t kinds, char text[WAYS_SIZE])
{
    char list[LEFT_OUT_TEXT_SIZE] = "";

    if (kinds != 0)
        left_out_text(0, kinds, list);
    snprintf(text, WAYS_SIZE, "%s%s", list[0] != '\0' ? " over " : "", list);
}

static void say_silent(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    char names[NAMES_SIZE], ways[WAYS_SIZE];

    names_text(report->communication, &finding->silent.who, names);
    ways_text(finding->silent.kinds, ways);
    say(content, "Silent", "%zu of %zu processes sent and received nothing%s: %s.",
        finding->silent.who.count, finding->silent.of, ways, names);
}

/* ---- parallelism ---- */

static void say_one_stream(const struct report *report, const struct finding *finding,
                           struct report_content *content)
{
    (void)report;
    (void)finding;
    say(content, "Parallelism", "There is only one thread: nothing can run in parallel.");
}

static void say_factor(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    static const char *const verdicts[] = {
        [FACTOR_PATH_WAITS] =
            "most of the critical path is waits for unmonitored peers, disks and timers",
        [FACTOR_IN_TURN] = "they worked in turn, or waited; more processors cannot help",
        [FACTOR_HARDLY_PARALLEL] = "more processors will hardly help",
        [FACTOR_NEARLY_ALL] = "nearly all of them can work at the same time",
        [FACTOR_ON_AVERAGE] = "on average, this many processors are kept busy",
    };
    char total[UNIT_SIZE], longest[UNIT_SIZE];

    (void)report;
    show_duration(finding->factor.total, total);
    show_duration(finding->factor.longest, longest);
    say(content, "Parallelism",
        "P = %.2f of %" PRIu32 " threads (%s of CPU time, longest path t_max %s): %s.",
        finding->factor.factor, finding->factor.streams, total, longest,
        verdicts[finding->factor.verdict]);
}

static void say_missing(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    char words[LEFT_OUT_TEXT_SIZE];

    (void)report;
    left_out_text(finding->missing.flags, finding->missing.kinds, words);
    say(content, "Parallelism",
        "P may be too high: edges are missing, because these were not metered: %s.", words);
}

static void say_uneven(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    (void)report;
    say(content, "Parallelism", "Threads are loaded unevenly: load balance %.2f (1 is even).",
        finding->load_balance);
}

/* ---- messages ---- */

static void say_wait(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct communication_pair *pair = finding->wait.pair;
    char from[PARTY_TEXT_SIZE], to[PARTY_TEXT_SIZE], sum[UNIT_SIZE], half[UNIT_SIZE];
    char at_once[32] = "";

    party_text(report->communication, &pair->from, from);
    party_text(report->communication, &pair->to, to);
    show_duration(finding->wait.time, sum);
    show_duration(finding->wait.median, half);
    if (finding->wait.sum > finding->wait.time + finding->wait.time / 20)
        snprintf(at_once, sizeof(at_once), ", several threads at once");
    if (finding->kind == FINDING_LATE_SENDER)
        say(content, "Late", "%s waited %s for messages from %s (median %s%s).", to, sum, from,
            half, at_once);
    else if (finding->kind == FINDING_BLOCKED_SENDER)
        say(content, "Late",
            "%s was blocked for %s while sending to %s, which was slow to receive (median %s%s).",
            from, sum, to, half, at_once);
    else
        say(content, "Late",
            "Messages from %s waited in the receive queue of %s: median %s; during %s some "
            "message did.",
            from, to, half, sum);
}

static void say_queue(const struct report *report, const struct finding *finding,
                      struct report_content *content)
{
    char who[PROCESS_TEXT_SIZE], most[UNIT_SIZE];

    process_text(report->communication, finding->queue.process, who);
    show_count(finding->queue.most, most);
    say(content, "Queues",
        "%s has the longest receive queue: %.2f messages on average, at most %s.", who,
        finding->queue.mean, most);
}

/* An answer in pieces: the first byte comes much earlier than the last one. */
static bool is_in_pieces(const struct finding *finding)
{
    return finding->answers.first_median < finding->answers.median / 2 &&
           finding->answers.median - finding->answers.first_median >= SHORT_TIME;
}

static void say_answers(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    char who[PROCESS_TEXT_SIZE], cells[4][UNIT_SIZE], requests[COUNTED_SIZE];
    char first[UNIT_SIZE], also[UNIT_SIZE + 64] = "";
    bool in_pieces = is_in_pieces(finding);

    process_text(report->communication, finding->answers.process, who);
    show_counted(finding->answers.count, "request", requests);
    show_duration(finding->answers.median, cells[1]);
    show_duration(finding->answers.p99, cells[2]);
    show_duration(finding->answers.most, cells[3]);
    show_duration(finding->answers.first_median, first);
    if (in_pieces)
        snprintf(also, sizeof(also), " The first byte came after %s (median).", first);
    say(content, "Answers", "%s %s %s: %s%s median %s, p99 %s, max %s.%s", who,
        finding->kind == FINDING_ANSWERS ? "answered" : "sent", requests,
        finding->kind == FINDING_ANSWERS ? "service time" : "request latency",
        in_pieces ? " to the last byte" : "", cells[1], cells[2], cells[3], also);
}

/* ---- requests ---- */

/* Whether a request signature contains this letter. "A" does not match the beginning of "A1". */
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

static void say_requests(const struct report *report, const struct finding *finding,
                         struct report_content *content)
{
    const struct causality_path *path = finding->requests.path;
    char letters[REPORT_LETTERS_SIZE], share[UNIT_SIZE], half[UNIT_SIZE], most[UNIT_SIZE];
    char part[UNIT_SIZE], doubt[UNIT_SIZE + 80] = "";

    if (finding->requests.assumed > 0 && finding->requests.messages > 0) {
        show_percent(finding->requests.assumed, finding->requests.messages, part);
        snprintf(doubt, sizeof(doubt),
                 " %s%% of the messages are attributed to requests by assumption.", part);
    }
    report_letters(report->causality, path->string, letters, sizeof(letters));
    show_percent(path->count, finding->requests.of, share);
    show_duration(finding->requests.median, half);
    show_duration(finding->requests.p99, most);
    say(content, "Requests", "%s%% of the request paths are %s: median %s, p99 %s%s%s%s.%s", share,
        path->string, half, most, letters[0] == '\0' ? "" : " (", letters,
        letters[0] == '\0' ? "" : ")", doubt);
}

/* ---- the network ---- */

static void say_retransmits(const struct report *report, const struct finding *finding,
                            struct report_content *content)
{
    const struct communication_path *worst = finding->retransmits.worst;
    char count[UNIT_SIZE], local[END_TEXT_SIZE], remote[END_TEXT_SIZE];

    show_count(finding->retransmits.segments, count);
    end_text(report->communication, &worst->ends[0], worst->local, local);
    end_text(report->communication, &worst->ends[1], worst->remote, remote);
    say(content, "Network", "TCP retransmitted %s segments, most of them between %s and %s.", count,
        local, remote);
}

static void say_dropped(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    char count[UNIT_SIZE];

    (void)report;
    show_count(finding->dropped, count);
    say(content, "Network", "%s datagrams were dropped because the receiver's queue was full.",
        count);
}

/* "9 refused, 3 timed out". Reasons that never occurred are left out. */
static void reasons_text(const struct communication_failure *failure, char *text, size_t size)
{
    static const char *const words[FAILURE_REASONS] = {
        [FAILURE_REFUSED] = "refused",         [FAILURE_TIMED_OUT] = "timed out",
        [FAILURE_UNREACHABLE] = "unreachable", [FAILURE_GIVEN_UP] = "given up",
        [FAILURE_OTHER] = "for other reasons",
    };
    size_t length = 0;

    text[0] = '\0';
    for (enum failure_reason reason = 0; reason < FAILURE_REASONS; reason++) {
        char count[UNIT_SIZE];
        if (failure->of[reason] == 0 || length >= size)
            continue;
        show_count(failure->of[reason], count);
        length += (size_t)snprintf(text + length, size - length, "%s%s %s", length == 0 ? "" : ", ",
                                   count, words[reason]);
    }
}

static void say_failed(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    const struct communication_failure *failure = finding->failure;
    char process[PROCESS_TEXT_SIZE] = "An unknown process", times[COUNTED_SIZE];
    char time[UNIT_SIZE], reasons[256], address[END_TEXT_SIZE];
    const struct party nobody = {.address = failure->address};

    if (failure->process != NO_PROCESS)
        process_text(report->communication, failure->process, process);
    show_counted(failure->count, "time", times);
    show_duration(histogram_sum(&failure->times), time);
    reasons_text(failure, reasons, sizeof(reasons));
    if (strcmp(failure->address, "*") == 0)
        strcpy(address, "other addresses");
    else
        end_text(report->communication, &nobody, failure->address, address);
    say(content, "Network", "%s failed to connect to %s %s (%s), which took %s in all.", process,
        address, times, reasons, time);
}

/* ---- files ---- */

static void say_files(const struct report *report, const struct finding *finding,
                      struct report_content *content)
{
    char name[PROCESS_TEXT_SIZE], files[COUNTED_SIZE], all[UNIT_SIZE];
    char read_bytes[UNIT_SIZE], read_time[UNIT_SIZE], written[UNIT_SIZE], write_time[UNIT_SIZE];

    process_text(report->communication, finding->files.process, name);
    show_counted(finding->files.count, "file", files);
    show_bytes(finding->files.reads.bytes, read_bytes);
    show_duration(finding->files.reads.time, read_time);
    show_bytes(finding->files.writes.bytes, written);
    show_duration(finding->files.writes.time, write_time);
    show_duration(report->communication->duration, all);
    say(content, "Files", "%s used %s: it read %s in %s and wrote %s in %s. The recording took %s.",
        name, files, read_bytes, read_time, written, write_time, all);
}

/* ---- waits that no message explains ---- */

static void say_waits(const struct report *report, const struct finding *finding,
                      struct report_content *content)
{
    char time[UNIT_SIZE], all[UNIT_SIZE], waits[COUNTED_SIZE];
    const char *which =
        finding->kind == FINDING_WAITS_UNEXPLAINED ? "that no message explains (timers, disks)"
        : finding->kind == FINDING_WAITS_OUTSIDE   ? "for replies from unmonitored peers"
                                                   : "of threads for each other (locks)";

    show_duration(finding->waits.covered, time);
    show_duration(report->communication->duration, all);
    show_counted(finding->waits.count, "wait", waits);
    say(content, "Waits", "%s of %s were spent in %s %s.", time, all, waits, which);
}

/* ---- where the time went ---- */

/* One that did most of it is named. */
static void group_text(const struct elapsed_group *group, char text[PROCESS_TEXT_SIZE + UNIT_SIZE])
{
    const struct elapsed_row *row = group->largest;
    char name[STREAM_NAME_SIZE + 1], leader[PROCESS_NAME_SIZE], share[UNIT_SIZE];
    size_t others = group->processes - 1;

    show_text(row->process, STREAM_NAME_SIZE, name);
    if (group->leader_time * 5 < group->time * 4) {
        snprintf(text, PROCESS_TEXT_SIZE, "%zu %s processes", group->processes, name);
        return;
    }
    show_labelled_process(group->leader->process, group->leader->pid, group->leader->label, leader);
    show_percent(group->leader_time, group->time, share);
    if (others == 0 || group->leader_time * 100 >= group->time * 99)
        snprintf(text, PROCESS_TEXT_SIZE + UNIT_SIZE, "%s", leader);
    else
        snprintf(text, PROCESS_TEXT_SIZE + UNIT_SIZE, "%s (%s%% of that) and %zu other%s", leader,
                 share, others, others == 1 ? "" : "s");
}

#define ACCOUNT_SIZE (COUNTED_SIZE + 3 * UNIT_SIZE + 60)

/* What the shares are of. */
static void time_of_account(const struct report *report, const struct finding *finding,
                            char text[ACCOUNT_SIZE])
{
    const struct elapsed_requests *requests = &report->elapsed->requests;
    char time[UNIT_SIZE], count[COUNTED_SIZE], median[UNIT_SIZE], p99[UNIT_SIZE];

    show_duration(finding->elapsed.of, time);
    if (!finding->elapsed.of_requests) {
        snprintf(text, ACCOUNT_SIZE, " of %s", time);
        return;
    }
    show_counted(requests->count, "request", count);
    show_duration(requests->median, median);
    show_duration(requests->p99, p99);
    if (requests->count == 1)
        snprintf(text, ACCOUNT_SIZE, " of the request's %s", median);
    else
        snprintf(text, ACCOUNT_SIZE, " of the time of %s (median %s, p99 %s)", count, median, p99);
}

#define LOCK_SIZE (ELAPSED_TEXT_SIZE + COUNTED_SIZE + 60)

static bool is_held_in(const struct elapsed_group *group, const struct elapsed_holder *holder)
{
    return holder->did.kind == group->largest->kind && holder->did.call == group->largest->call &&
           strcmp(holder->did.process, group->largest->process) == 0;
}

static bool wait_in_one_place(const struct elapsed_row *a, const struct elapsed_row *b)
{
    return a->pid == b->pid && a->call == b->call && strcmp(a->procedure, b->procedure) == 0;
}

/* Threads that waited for a lock for at least half of that time; one alone may have waited for the end of another. */
static void lock_text(const struct elapsed *elapsed, const struct finding *finding,
                      char text[LOCK_SIZE])
{
    const struct elapsed_group *group = &finding->elapsed.group;
    const struct elapsed_holder *largest = NULL;
    char what[ELAPSED_TEXT_SIZE], threads[COUNTED_SIZE];
    uint64_t time = 0;

    text[0] = '\0';
    for (size_t i = 0; i < elapsed->holder_count; i++) {
        const struct elapsed_holder *holder = &elapsed->holders[i];
        if (!is_held_in(group, holder))
            continue;
        if (largest == NULL)
            largest = holder;
        if (wait_in_one_place(&holder->waited, &largest->waited))
            time += holder->did.time;
    }
    if (largest == NULL || largest->threads < 2 || time * 2 < group->time ||
        finding->elapsed.of_requests || group->largest->kind == ELAPSED_NO_CPU)
        return;
    elapsed_what(&largest->waited, what);
    show_counted(largest->threads, "thread", threads);
    snprintf(text, LOCK_SIZE, "; meanwhile %s waited for a lock or condition%s%s%s",
             time == largest->did.time ? threads : "other threads", what[0] == '\0' ? "" : " (",
             what, what[0] == '\0' ? "" : ")");
}

static void say_elapsed(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    static const char *const did[ELAPSED_KIND_COUNT] = {
        [ELAPSED_COMPUTES] = "computed",
        [ELAPSED_NO_CPU] = "could run, but had no CPU",
        [ELAPSED_IN_FLIGHT] = "waited for messages in flight",
        [ELAPSED_QUEUED] = "did something else while messages waited for it",
        [ELAPSED_SPACE] = "waited for buffer space to send",
        [ELAPSED_OUTSIDE] = "waited for an unmonitored peer",
        [ELAPSED_DISK] = "waited for the disk",
        [ELAPSED_LOCK] = "waited for a lock",
        [ELAPSED_TIMER] = "slept until a timer ended",
        [ELAPSED_CHILD] = "waited for an unmonitored child",
        [ELAPSED_STOPPED] = "was stopped by a signal",
        [ELAPSED_EVENT] = "waited for a timeout, or for an event that no record explains",
        [ELAPSED_INPUT] = "waited for a terminal or device",
        [ELAPSED_UNKNOWN] = "waited; no record says for what",
    };
    const struct elapsed_group *group = &finding->elapsed.group;
    struct elapsed_row largest = *group->largest;
    char who[PROCESS_TEXT_SIZE + UNIT_SIZE], what[ELAPSED_TEXT_SIZE], share[UNIT_SIZE];
    char of[ACCOUNT_SIZE] = "", times[UNIT_SIZE], lock[LOCK_SIZE];

    group_text(group, who);
    lock_text(report->elapsed, finding, lock);
    if (largest.kind != ELAPSED_COMPUTES && largest.count != group->count)
        largest.procedure[0] = '\0'; /* the others waited elsewhere */
    elapsed_what(&largest, what);
    show_percent(group->time, finding->elapsed.of, share);
    show_count(group->count, times);
    if (finding->elapsed.first)
        time_of_account(report, finding, of);
    if (group->largest->pid == 0)
        say(content, "Time", "%s%%%s: no record says what was waited for.", share, of);
    else if (group->largest->kind == ELAPSED_COMPUTES)
        say(content, "Time", "%s%%%s: %s %s%s%s%s.", share, of, who, did[group->largest->kind],
            what[0] == '\0'                  ? ""
            : largest.time > group->time / 2 ? ", most of it "
                                             : ", the largest part ",
            what, lock);
    else
        say(content, "Time", "%s%%%s: %s %s%s%s%s, %s time%s%s.", share, of, who,
            largest.kind == ELAPSED_STOPPED && group->processes != 1 ? "were stopped by a signal"
                                                                     : did[largest.kind],
            what[0] == '\0' ? "" : " (", what, what[0] == '\0' ? "" : ")", times,
            group->count == 1 ? "" : "s", lock);
}

/* ---- everything together ---- */

typedef void say_function(const struct report *report, const struct finding *finding,
                          struct report_content *content);

static say_function *const sentences[FINDING_KIND_COUNT] = {
    [FINDING_ELAPSED] = say_elapsed,
    [FINDING_WORK_OF_FEW] = say_work,
    [FINDING_WORK_SHARED] = say_work,
    [FINDING_IDLE] = say_idle,
    [FINDING_CREATED] = say_created,
    [FINDING_SILENT] = say_silent,
    [FINDING_ONE_STREAM] = say_one_stream,
    [FINDING_FACTOR] = say_factor,
    [FINDING_ARCS_MISSING] = say_missing,
    [FINDING_UNEVEN_LOAD] = say_uneven,
    [FINDING_CRITICAL] = report_say_critical,
    [FINDING_PATH_WAITS] = report_say_path_waits,
    [FINDING_PATH_FLIGHTS] = report_say_path_flights,
    [FINDING_LATE_SENDER] = say_wait,
    [FINDING_BLOCKED_SENDER] = say_wait,
    [FINDING_LATE_RECEIVER] = say_wait,
    [FINDING_QUEUE] = say_queue,
    [FINDING_ANSWERS] = say_answers,
    [FINDING_ANSWER_LAG] = say_answers,
    [FINDING_REQUESTS] = say_requests,
    [FINDING_NAGLE] = report_say_nagle,
    [FINDING_OWN_CONNECTIONS] = report_say_own_connections,
    [FINDING_POOL] = report_say_pool,
    [FINDING_RETRANSMITS] = say_retransmits,
    [FINDING_BUSY] = report_say_busy,
    [FINDING_STOPPED] = report_say_stopped,
    [FINDING_FAILED] = say_failed,
    [FINDING_DROPPED] = say_dropped,
    [FINDING_FILES] = say_files,
    [FINDING_WAITS_OUTSIDE] = say_waits,
    [FINDING_WAITS_UNEXPLAINED] = say_waits,
    [FINDING_WAITS_LOCKS] = say_waits,
    [FINDING_CPU_WAIT] = report_say_cpu_wait,
    [FINDING_THROTTLED] = report_say_throttled,
    [FINDING_STOLEN] = report_say_stolen,
    [FINDING_MEMORY_PRESSURE] = report_say_memory,
    [FINDING_DISK_PRESSURE] = report_say_disk,
    [FINDING_OOM] = report_say_oom,
};

/* NULL: out of memory. */
static const struct report_values *keep_values(const struct findings_from *from,
                                               const struct finding *finding,
                                               struct report_content *content)
{
    struct report_values *values = arena_allocate(&content->memory, sizeof(*values));

    if (values == NULL)
        return NULL;
    *values = (struct report_values){.key = finding_key(finding->kind), .aside = finding->aside};
    finding_values(from, finding, &values->of);
    return values;
}

int report_find(const struct report *report, struct report_content *content)
{
    const struct findings_from from = {
        .communication = report->communication,
        .parallelism = report->parallelism == NULL ? NULL : report->parallelism->at[0].threads,
        .path = report->path,
        .causality = report->causality,
        .elapsed = report->elapsed,
        .pauses = report->pauses,
    };
    struct findings findings;
    int result = findings_find(&from, &findings);

    for (size_t i = 0; result == 0 && i < findings.count; i++) {
        const struct finding *finding = &findings.list[i];
        content->aside += finding->aside;
        if (finding->aside && !report->all)
            continue;
        content->finding = keep_values(&from, finding, content);
        sentences[finding->kind](report, finding, content);
    }
    content->finding = NULL;
    findings_done(&findings);
    if (result == 0 && content->finding_count == 0 && !content->failed)
        say(content, FOUND_NOTHING, "Too little was recorded to find anything.");
    return result < 0 || content->failed ? -ENOMEM : 0;
}
