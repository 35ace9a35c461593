/* SPDX-License-Identifier: MIT */
/*
 * report_findings.c: the findings of the analyses, as sentences. See report_face.h.
 *
 *      struct finding --> topic         sentence
 *                         Work          1 of 5 processes did 86 % of the work ...
 *                         Parallelism   P = 1.00 of 5 streams ...
 *                         Waits         41 waits for locks ... during 1.20 s
 *                         Time          (report_elapsed_findings.c)
 *                         Prediction  (report_change_findings.c)
 *                         Late  Queues  Answers  Requests  Network  Files (report_message_findings.c)
 *                         Path          tsp-server[12] carries 85% of the critical path ... (report_path_findings.c)
 *                         Connections  (report_connection_findings.c)
 *                         Patterns  (report_pattern_findings.c)
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

static void say_asleep(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    char names[NAMES_SIZE], threads[COUNTED_SIZE], time[UNIT_SIZE];
    bool one = finding->asleep.threads == 1;

    names_text(report->communication, &finding->asleep.who, names);
    show_counted(finding->asleep.threads, "thread", threads);
    show_duration(report->communication->duration, time);
    say(content, "Asleep",
        "%s of %s did not run for %s: what %s for did not come. That is an idle server, or a "
        "deadlock: /proc/PID/task/TID/syscall shows the call, gdb -p PID where it stands.",
        threads, names, time, one ? "it waits" : "they wait");
}

/* ---- parallelism ---- */

static void say_one_stream(const struct report *report, const struct finding *finding,
                           struct report_content *content)
{
    (void)report;
    (void)finding;
    say(content, "Parallelism", "Only one thread did anything: nothing can run in parallel.");
}

static void say_factor(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    static const char *const verdicts[] = {
        [FACTOR_PATH_WAITS] =
            "most of the longest path is waits that no metered process ended, not CPU time",
        [FACTOR_IN_TURN] =
            "they worked in turn, or waited: the program uses one processor at a time",
        [FACTOR_HARDLY_PARALLEL] = "the program hardly uses more than one processor at a time",
        [FACTOR_NEARLY_ALL] = "nearly all of them can work at the same time",
        [FACTOR_ON_AVERAGE] = "on average, this many processors could be kept busy",
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
    char words[LEFT_OUT_TEXT_SIZE], sockets[UNMETERED_TEXT_SIZE];
    bool some = finding->missing.flags != 0 || finding->missing.kinds != 0;

    (void)report;
    left_out_text(finding->missing.flags, finding->missing.kinds, words);
    unmetered_text(finding->missing.unmetered, sockets);
    say(content, "Parallelism",
        "P may be too high: edges are missing, because these were not metered: %s%s%s%s.", words,
        some && sockets[0] != '\0' ? ", " : "", sockets, sockets[0] == '\0' ? "" : " sockets");
}

static void say_uneven(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    (void)report;
    say(content, "Parallelism", "Threads are loaded unevenly: load balance %.2f (1 is even).",
        finding->load_balance);
}

/* ---- shares ---- */

uint64_t report_elapsed_of(const struct report *report, uint64_t time)
{
    const struct elapsed *elapsed = report->elapsed;

    return elapsed != NULL && elapsed->from_start && time <= elapsed->run.time
               ? elapsed->run.time
               : report->communication->duration;
}

/* ---- waits that no message explains ---- */

static void say_waits(const struct report *report, const struct finding *finding,
                      struct report_content *content)
{
    char time[UNIT_SIZE], all[UNIT_SIZE], waits[COUNTED_SIZE];
    const char *which = finding->kind == FINDING_WAITS_UNEXPLAINED
                            ? "that no message explains (timers, disks, idle threads)"
                        : finding->kind == FINDING_WAITS_OUTSIDE
                            ? report->communication->matching.not_found > 0
                                  ? "for replies from peers that are unmonitored or were not found"
                                  : "for replies from unmonitored peers"
                            : "of threads for each other (locks or conditions)";

    show_duration(finding->waits.covered, time);
    show_duration(report->communication->duration, all);
    show_counted(finding->waits.count, "wait", waits);
    say(content, "Waits", "%s of %s were spent in %s %s.", time, all, waits, which);
}

/* ---- everything together ---- */

static report_say_function *const sentences[FINDING_KIND_COUNT] = {
    [FINDING_ELAPSED] = report_say_elapsed,
    [FINDING_CHANGE] = report_say_change,
    [FINDING_WORK_OF_FEW] = say_work,
    [FINDING_WORK_SHARED] = say_work,
    [FINDING_IDLE] = say_idle,
    [FINDING_CREATED] = say_created,
    [FINDING_SILENT] = say_silent,
    [FINDING_ASLEEP] = say_asleep,
    [FINDING_ONE_STREAM] = say_one_stream,
    [FINDING_FACTOR] = say_factor,
    [FINDING_ARCS_MISSING] = say_missing,
    [FINDING_UNEVEN_LOAD] = say_uneven,
    [FINDING_CRITICAL] = report_say_critical,
    [FINDING_PATH_FLIGHTS] = report_say_path_flights,
    [FINDING_LATE_SENDER] = report_say_wait,
    [FINDING_BLOCKED_SENDER] = report_say_wait,
    [FINDING_LATE_RECEIVER] = report_say_wait,
    [FINDING_QUEUE] = report_say_queue,
    [FINDING_ANSWERS] = report_say_answers,
    [FINDING_ANSWER_LAG] = report_say_answers,
    [FINDING_REQUESTS] = report_say_requests,
    [FINDING_UNANSWERED] = report_say_unanswered,
    [FINDING_NAGLE] = report_say_nagle,
    [FINDING_OWN_CONNECTIONS] = report_say_own_connections,
    [FINDING_POOL] = report_say_pool,
    [FINDING_RETRANSMITS] = report_say_retransmits,
    [FINDING_ROUND_TRIPS] = report_say_round_trips,
    [FINDING_ONE_BY_ONE] = report_say_one_by_one,
    [FINDING_RESENT] = report_say_resent,
    [FINDING_WORKERS] = report_say_workers,
    [FINDING_POLLING] = report_say_polling,
    [FINDING_LOCK] = report_say_lock,
    [FINDING_ITEM] = report_say_item,
    [FINDING_INTERPRETER] = report_say_interpreter,
    [FINDING_JVM_STOP] = report_say_jvm_stop,
    [FINDING_COLLECTIONS] = report_say_collections,
    [FINDING_BLOCKED] = report_say_blocked,
    [FINDING_BUSY] = report_say_busy,
    [FINDING_STOPPED] = report_say_stopped,
    [FINDING_FAILED] = report_say_failed,
    [FINDING_DROPPED] = report_say_dropped,
    [FINDING_FILES] = report_say_files,
    [FINDING_WAITS_OUTSIDE] = say_waits,
    [FINDING_WAITS_UNEXPLAINED] = say_waits,
    [FINDING_WAITS_LOCKS] = say_waits,
    [FINDING_CPU_WAIT] = report_say_cpu_wait,
    [FINDING_THROTTLED] = report_say_throttled,
    [FINDING_STOLEN] = report_say_stolen,
    [FINDING_MEMORY_PRESSURE] = report_say_memory,
    [FINDING_DISK_PRESSURE] = report_say_disk,
    [FINDING_OOM] = report_say_oom,
    [FINDING_STEERED] = report_say_steered,
};

/* NULL: out of memory. */
static const struct report_values *keep_values(const struct findings_from *from,
                                               const struct finding *finding,
                                               struct report_content *content)
{
    struct report_values *values = arena_allocate(&content->memory, sizeof(*values));

    if (values == NULL)
        return NULL;
    *values = (struct report_values){.key = finding_key(finding->kind),
                                     .aside = finding->aside,
                                     .acts = finding_is_to_act_on(finding)};
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
        .patterns = report->patterns,
        .changes = report->changes,
    };
    struct findings findings;
    int result = findings_find(&from, &findings);

    for (size_t i = 0; result == 0 && i < findings.count; i++) {
        const struct finding *finding = &findings.list[i];
        content->aside += finding->aside;
        if (finding->aside && !report->all)
            continue;
        content->finding = keep_values(&from, finding, content);
        content->failed = content->failed || content->finding == NULL;
        sentences[finding->kind](report, finding, content);
    }
    content->finding = NULL;
    findings_done(&findings);
    if (result == 0 && content->finding_count == 0 && !content->failed)
        say(content, FOUND_NOTHING, "Too little was recorded to find anything.");
    return result < 0 || content->failed ? -ENOMEM : 0;
}
