/* SPDX-License-Identifier: MIT */
/*
 * report_runtime_findings.c: sentences on what runtimes of languages cost. See report_face.h.
 *
 *      java[7] stopped its threads for 61% of 7.10 s: 4.33 s, in which it collected garbage ...
 */
#include "analysis/findings/findings.h"
#include "show/elapsed/elapsed_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <inttypes.h>
#include <string.h>

#define OF_SIZE (UNIT_SIZE + 60)

static void process_of(const struct finding *finding, char text[PLACED_PROCESS_SIZE])
{
    elapsed_process_text(finding->runtime.row, text);
}

/* "61% of 7.10 s", "61% of the time of the requests" */
static void share_of(const struct finding *finding, char text[OF_SIZE])
{
    char share[UNIT_SIZE], time[UNIT_SIZE];

    show_percent(finding->runtime.time, finding->runtime.of, share);
    show_duration(finding->runtime.of, time);
    if (finding->runtime.of_requests)
        snprintf(text, OF_SIZE, "%s%% of the time of the requests", share);
    else
        snprintf(text, OF_SIZE, "%s%% of %s", share, time);
}

/* What messages waited in the process's queues meanwhile counts as such. */
static const char *beside(const struct finding *finding)
{
    return finding->runtime.of_requests ? ", and what other messages waited meanwhile" : "";
}

#define BY_SIZE (3 * UNIT_SIZE + 120)

/* Which thread released the lock, as far as WAKEUP records show. */
static void releaser_text(const struct finding *finding, char text[BY_SIZE])
{
    char share[UNIT_SIZE], others[UNIT_SIZE];
    uint64_t released = finding->runtime.released, known = finding->runtime.known_release;

    text[0] = '\0';
    if (finding->runtime.releaser == NULL)
        return;
    show_percent(released, finding->runtime.time, share);
    show_percent(known - released, finding->runtime.time, others);
    snprintf(text, BY_SIZE,
             " Its thread %" PRIu32 " released it after %s%% of these waits by duration%s%s%s%s.",
             finding->runtime.releaser->tid, share, known > released ? ", others after " : "",
             known > released ? others : "", known > released ? "%" : "",
             known * 100 < finding->runtime.time * 99 ? "; for the rest no record shows it" : "");
}

void report_say_interpreter(const struct report *report, const struct finding *finding,
                            struct report_content *content)
{
    char who[PLACED_PROCESS_SIZE], of[OF_SIZE], by[BY_SIZE];

    (void)report;
    process_of(finding, who);
    share_of(finding, of);
    releaser_text(finding, by);
    report_say(
        content, "Patterns",
        "Threads of %s waited%s for Python's interpreter lock (GIL) for %s, while another one "
        "of its threads had it.%s Processes instead of threads would save at most that%s.",
        who, finding->runtime.row->runtime == RUNTIME_PYTHON ? "" : ", most likely,", of, by,
        beside(finding));
}

#define WHAT_SIZE (6 * UNIT_SIZE + 260)

/* The same as its own probes show it. */
static void probed_text(const struct pause_row *row, char text[WHAT_SIZE])
{
    char times[COUNTED_SIZE], time[UNIT_SIZE], longest[UNIT_SIZE], others[UNIT_SIZE];
    uint64_t collected = row->collections.time, stopped = row->safepoints.time;

    show_counted(row->collections.count, "time", times);
    show_duration(collected, time);
    show_duration(row->collections.longest, longest);
    show_duration(stopped > collected ? stopped - collected : 0, others);
    if (row->collections.count == 0)
        snprintf(text, WHAT_SIZE,
                 "its own probes show no collection of garbage, but other stops (java "
                 "-Xlog:safepoint shows which). Without them it");
    else
        snprintf(text, WHAT_SIZE,
                 "its own probes show that it collected garbage %s in the recording, for %s in "
                 "all, up to %s at a time; all else took %s. %s",
                 times, time, longest, others,
                 collected >= stopped / 2 ? "A larger heap (-Xmx), or fewer objects,"
                                          : "Fewer other stops (java -Xlog:safepoint shows which)");
}

/* What the JVM did meanwhile, by its own probes, or as far as its threads' names say. */
static void stop_text(const struct finding *finding, char text[WHAT_SIZE])
{
    bool collected = finding->runtime.collected * 10 >= finding->runtime.time;

    if (finding->runtime.probed != NULL)
        probed_text(finding->runtime.probed, text);
    else if (collected)
        strcpy(text, "it collected garbage. A larger heap (-Xmx), or fewer objects,");
    else if (finding->runtime.of_requests || finding->runtime.has_collectors)
        strcpy(text,
               "it collected garbage, or did something else that needs a safepoint "
               "(java -Xlog:gc,safepoint shows which). If it is garbage, a larger heap (-Xmx)");
    else
        strcpy(text,
               "most likely it collected garbage: it has no other threads for that (the serial "
               "collector). A larger heap (-Xmx), or fewer objects,");
}

#define REST_SMALL 20 /* one of so many parts without a CPU is not worth a word */

void report_say_jvm_stop(const struct report *report, const struct finding *finding,
                         struct report_content *content)
{
    char who[PLACED_PROCESS_SIZE], of[OF_SIZE], what[WHAT_SIZE], time[UNIT_SIZE], cpu[UNIT_SIZE];
    char parts[2 * UNIT_SIZE + 60];

    process_of(finding, who);
    share_of(finding, of);
    stop_text(finding, what);
    show_duration(finding->runtime.of_requests
                      ? elapsed_of_all_requests(&report->elapsed->requests, finding->runtime.time)
                      : finding->runtime.time,
                  time);
    show_duration(finding->runtime.computed, cpu);
    if (finding->runtime.of_requests)
        snprintf(parts, sizeof(parts), "%s in all", time);
    else if (finding->runtime.time - finding->runtime.computed < finding->runtime.time / REST_SMALL)
        snprintf(parts, sizeof(parts), "%s, nearly all of it computing", time);
    else
        snprintf(parts, sizeof(parts),
                 "%s, of which it computed for %s and had no CPU for the rest", time, cpu);
    report_say(content, "Patterns",
               "%s stopped its other threads for %s (%s); %s would save at most that%s.", who, of,
               parts, what, beside(finding));
}
