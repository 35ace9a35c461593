/* SPDX-License-Identifier: MIT */
/*
 * report_pause_findings.c: sentences on processes that did not answer. See report_face.h.
 *
 *      node[12] computed up to 80.0 ms at a stretch, while up to 6 messages came and had to wait (parse): 31 times, 1.9 s.
 *      server.py[7] serves all its connections in one thread, which a call blocked for up to 150 ms ...
 *      java[7] stopped its threads to collect garbage: 46 times, for 158 ms in all, up to 25.4 ms ...
 *      redis-server[9] was stopped by SIGSTOP for 2.00 s, by sh[7].
 */
#include "analysis/findings/findings.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/system_call.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

static void who_text(const struct report *report, const struct finding *finding,
                     char text[PROCESS_TEXT_SIZE])
{
    if (finding->pause.process == NO_PROCESS)
        strcpy(text, "A process");
    else
        process_text(report->communication, finding->pause.process, text);
}

/* By the clock, if it had no CPU for a part of it. */
static void away_text(const struct pause_row *row, char text[UNIT_SIZE + 40])
{
    char away[UNIT_SIZE];

    text[0] = '\0';
    if (row->longest_away < row->longest + row->longest / 4)
        return;
    show_duration(row->longest_away, away);
    snprintf(text, UNIT_SIZE + 40, " (up to %s with waits for a CPU)", away);
}

void report_say_busy(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct pause_row *row = finding->pause.row;
    char who[PROCESS_TEXT_SIZE], longest[UNIT_SIZE], messages[COUNTED_SIZE], times[COUNTED_SIZE];
    char time[UNIT_SIZE], share[UNIT_SIZE], name[PROCEDURE_NAME_SIZE + 1], delay[UNIT_SIZE];
    char away[UNIT_SIZE + 40];

    who_text(report, finding, who);
    away_text(row, away);
    show_duration(row->delayed == 0 ? 0 : row->delay / row->delayed, delay);
    show_duration(row->longest, longest);
    show_duration(row->cpu, time);
    show_counted(row->messages, "message", messages);
    show_counted(row->bursts, "time", times);
    show_percent(row->cpu, report_elapsed_of(report, row->cpu), share);
    show_text(row->procedure, PROCEDURE_NAME_SIZE, name);
    report_say(content, "Busy",
               "%s computed up to %s at a stretch%s%s%s while up to %s came and had to wait, %s on "
               "average: %s, %s of CPU time (%s%% of the elapsed time). Shorter pieces, or another "
               "thread for them, would help.",
               who, longest, away, name[0] == '\0' ? "" : ", up to a call from ", name, messages,
               delay, times, time, share);
}

void report_say_blocked(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    const struct pause_row *row = finding->pause.row;
    char who[PROCESS_TEXT_SIZE], longest[UNIT_SIZE], messages[COUNTED_SIZE], times[COUNTED_SIZE];
    char time[UNIT_SIZE], share[UNIT_SIZE], name[PROCEDURE_NAME_SIZE + 1], call[UNIT_SIZE];
    char where[UNIT_SIZE + PROCEDURE_NAME_SIZE + 16];

    who_text(report, finding, who);
    show_duration(row->longest_block, longest);
    show_duration(row->blocked, time);
    show_counted(row->block_messages, "message", messages);
    show_counted(row->blocks, "time", times);
    show_percent(row->blocked, report_elapsed_of(report, row->blocked), share);
    show_text(row->block_procedure, PROCEDURE_NAME_SIZE, name);
    if (row->block_call == NO_SYSTEM_CALL)
        strcpy(call, "a receive");
    else
        system_call_text(row->block_call, call);
    snprintf(where, sizeof(where), "%s%s%s", call, name[0] == '\0' ? "" : " in ", name);
    report_say(content, "Blocked",
               "%s serves all its connections in one thread, which was blocked for up to %s (%s) "
               "while up to %s came and had to wait: %s, %s (%s%% of the elapsed time). An "
               "asynchronous call, or another thread for it, would help.",
               who, longest, where, messages, times, time, share);
}

void report_say_collections(const struct report *report, const struct finding *finding,
                            struct report_content *content)
{
    const struct pause_stops *stops = &finding->pause.row->collections;
    char who[PROCESS_TEXT_SIZE], time[UNIT_SIZE], times[COUNTED_SIZE], share[UNIT_SIZE];
    char longest[UNIT_SIZE], messages[COUNTED_SIZE], waited[COUNTED_SIZE + 60] = "";

    who_text(report, finding, who);
    show_duration(stops->time, time);
    show_duration(stops->longest, longest);
    show_counted(stops->count, "time", times);
    show_percent(stops->time, report_elapsed_of(report, stops->time), share);
    show_counted(stops->messages, "message", messages);
    if (stops->messages > 0)
        snprintf(waited, sizeof(waited), ", while up to %s came and had to wait", messages);
    report_say(content, "Stopped",
               "%s stopped its threads to collect garbage, as its own probes show: %s, for %s in "
               "all (%s%% of the elapsed time), up to %s at a time%s. A larger heap (-Xmx), fewer "
               "objects, or another collector would help.",
               who, times, time, share, longest, waited);
}

void report_say_stopped(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    const struct pause_row *row = finding->pause.row;
    char who[PROCESS_TEXT_SIZE], time[UNIT_SIZE], times[COUNTED_SIZE], name[STREAM_NAME_SIZE + 1];
    char by[PROCESS_TEXT_SIZE + 8] = "", share[UNIT_SIZE];
    const char *signal = row->signal == 0 ? NULL : sigabbrev_np(row->signal);

    who_text(report, finding, who);
    show_duration(row->stopped, time);
    show_counted(row->stops, "time", times);
    show_percent(row->stopped, report_elapsed_of(report, row->stopped), share);
    show_text(row->sender, STREAM_NAME_SIZE, name);
    if (name[0] != '\0')
        snprintf(by, sizeof(by), ", sent by %s[%" PRIu32 "]", name, row->sender_pid);
    else if (row->sender_pid != 0)
        snprintf(by, sizeof(by), ", sent by pid %" PRIu32, row->sender_pid);
    report_say(
        content, "Stopped", "%s was stopped by %s%s for %s (%s%% of the elapsed time), %s%s.", who,
        signal == NULL ? "a signal" : "SIG", signal == NULL ? "" : signal, time, share, times, by);
}
