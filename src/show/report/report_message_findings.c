/* SPDX-License-Identifier: MIT */
/*
 * report_message_findings.c: sentences on messages: who waits for whom, queues, requests, the network, files. See
 * report_face.h.
 *
 *      tsp[7] waited 105 ms for messages from tsp-server[9] (median 101 ms).
 */
#include "show/causality/causality_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <inttypes.h>
#include <string.h>

#define SHORT_TIME 1000000 /* ns: a difference that does not matter */

#define say report_say

/* ---- messages ---- */

void report_say_wait(const struct report *report, const struct finding *finding,
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
            "%s was blocked for %s while sending to %s, which %s slow to receive (median %s%s).",
            from, sum, to, pair->to.count > 1 ? "were" : "was", half, at_once);
    else
        say(content, "Late",
            "Messages from %s waited in the receive queue of %s: median %s; for %s at least one "
            "was "
            "there.",
            from, to, half, sum);
}

void report_say_queue(const struct report *report, const struct finding *finding,
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

/* " Connecting took 57% of that time, retries 3%." Parts that do not matter are left out. */
static void parts_text(const struct finding *finding, char *text, size_t size)
{
    const struct request_parts *parts = finding->answers.parts;
    uint64_t small = finding->answers.sum / 20, sum = finding->answers.sum;
    char connecting[UNIT_SIZE], retries[UNIT_SIZE];
    bool connects = parts->connect_time > small, retried = parts->retry_time > small;

    show_percent(parts->connect_time, sum, connecting);
    show_percent(parts->retry_time, sum, retries);
    text[0] = '\0';
    if (finding->kind == FINDING_ANSWERS || sum == 0)
        return;
    if (connects && retried)
        snprintf(text, size, " Connecting took %s%% of that time, retries %s%%.", connecting,
                 retries);
    else if (connects || retried)
        snprintf(text, size, " %s took %s%% of that time.", connects ? "Connecting" : "Retries",
                 connects ? connecting : retries);
}

void report_say_answers(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    char who[PROCESS_TEXT_SIZE], cells[4][UNIT_SIZE], requests[COUNTED_SIZE];
    char first[UNIT_SIZE], also[UNIT_SIZE + 64] = "", parts[2 * UNIT_SIZE + 80];
    bool in_pieces = is_in_pieces(finding);

    process_text(report->communication, finding->answers.process, who);
    show_counted(finding->answers.count, "request", requests);
    show_duration(finding->answers.median, cells[1]);
    show_duration(finding->answers.p99, cells[2]);
    show_duration(finding->answers.most, cells[3]);
    show_duration(finding->answers.first_median, first);
    if (in_pieces)
        snprintf(also, sizeof(also), " The first byte came after %s (median).", first);
    parts_text(finding, parts, sizeof(parts));
    say(content, "Answers", "%s %s %s: %s%s median %s, p99 %s, max %s.%s%s", who,
        finding->kind == FINDING_ANSWERS ? "answered" : "sent", requests,
        finding->kind == FINDING_ANSWERS ? "service time" : "request latency",
        in_pieces ? " to the last byte" : "", cells[1], cells[2], cells[3], also, parts);
}

void report_say_unanswered(const struct report *report, const struct finding *finding,
                           struct report_content *content)
{
    const struct communication_path *path = finding->asked.path;
    const struct request_parts *parts = &path->asked;
    int asks = finding->asked.asks;
    char client[END_TEXT_SIZE], server[END_TEXT_SIZE], questions[COUNTED_SIZE], count[UNIT_SIZE];
    char mean[UNIT_SIZE], most[UNIT_SIZE], at_most[UNIT_SIZE + 32] = "";

    party_text(report->communication, &path->ends[asks], client);
    end_text(report->communication, &path->ends[1 - asks], asks == 0 ? path->remote : path->local,
             server);
    show_counted(parts->unanswered + histogram_count(&path->times.of[TIME_REQUEST_WHOLE]),
                 "question", questions);
    show_count(parts->unanswered, count);
    show_duration(parts->unanswered_time / parts->unanswered, mean);
    show_duration(parts->unanswered_most, most);
    if (parts->unanswered > 1)
        snprintf(at_most, sizeof(at_most), " on average, at most %s", most);
    say(content, "Answers",
        "%s of %s from %s to %s had no answer: %s waited %s%s%s. Check that the server works, or "
        "ask "
        "another one first.",
        count, questions, client, server, path->ends[asks].count == 1 ? "it" : "they", mean,
        parts->unanswered == 1 ? "" : " for each", at_most);
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

void report_say_requests(const struct report *report, const struct finding *finding,
                         struct report_content *content)
{
    const struct causality_path *path = finding->requests.path;
    char letters[REPORT_LETTERS_SIZE], share[UNIT_SIZE], half[UNIT_SIZE], most[UNIT_SIZE];
    char part[UNIT_SIZE], doubt[UNIT_SIZE + 80] = "", string[SIGNATURE_SIZE];
    char known[UNIT_SIZE], of[UNIT_SIZE + 30] = "", times[3 * UNIT_SIZE + 50] = "";
    uint64_t latencies = histogram_count(&path->latency);

    if (finding->requests.assumed > 0 && finding->requests.messages > 0) {
        show_percent(finding->requests.assumed, finding->requests.messages, part);
        snprintf(doubt, sizeof(doubt),
                 " %s%% of the messages are attributed to requests by assumption.", part);
    }
    report_letters(report->causality, path->string, letters, sizeof(letters));
    signature_fold(path->string, string, sizeof(string));
    show_percent(path->count, finding->requests.of, share);
    show_duration(finding->requests.median, half);
    show_duration(finding->requests.p99, most);
    if (latencies < path->count) { /* the others were not answered */
        show_count(latencies, known);
        snprintf(of, sizeof(of), "of the %s with a latency, ", known);
    }
    if (latencies > 0)
        snprintf(times, sizeof(times), ": %smedian %s, p99 %s", of, half, most);
    say(content, "Requests", "%s%% of the request paths are %s%s%s%s%s.%s", share, string, times,
        letters[0] == '\0' ? "" : " (", letters, letters[0] == '\0' ? "" : ")", doubt);
}

/* ---- the network ---- */

void report_say_retransmits(const struct report *report, const struct finding *finding,
                            struct report_content *content)
{
    const struct communication_path *worst = finding->retransmits.worst;
    char count[COUNTED_SIZE], most[UNIT_SIZE], local[END_TEXT_SIZE], remote[END_TEXT_SIZE];
    bool is_all = worst->network.retransmitted == finding->retransmits.segments;

    show_counted(finding->retransmits.segments, "segment", count);
    show_count(worst->network.retransmitted, most);
    end_text(report->communication, &worst->ends[0], worst->local, local);
    end_text(report->communication, &worst->ends[1], worst->remote, remote);
    say(content, "Network", "TCP retransmitted %s%s%s%s between %s and %s.", count,
        is_all ? "" : ", ", is_all ? "" : most, is_all ? "" : " of them", local, remote);
}

void report_say_dropped(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    char count[COUNTED_SIZE];

    (void)report;
    show_counted(finding->dropped, "datagram", count);
    say(content, "Network", "%s %s dropped because the receiver's queue was full.", count,
        finding->dropped == 1 ? "was" : "were");
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

void report_say_failed(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    const struct communication_failure *failure = finding->failed.row;
    char process[PROCESS_TEXT_SIZE] = "An unknown process", times[COUNTED_SIZE];
    char time[UNIT_SIZE], all[UNIT_SIZE], took[2 * UNIT_SIZE + 64] = "", reasons[256],
                                                               address[END_TEXT_SIZE];
    const struct party nobody = {.address = failure->address};

    if (failure->process != NO_PROCESS)
        process_text(report->communication, failure->process, process);
    show_counted(failure->count, "time", times);
    uint64_t covered = failure->in_progress, trying = finding->failed.trying;
    show_duration(trying > 0 ? trying : covered, time);
    show_duration(report->communication->duration, all);
    reasons_text(failure, reasons, sizeof(reasons));
    if (strcmp(failure->address, "*") == 0)
        strcpy(address, "other addresses");
    else
        end_text(report->communication, &nobody, failure->address, address);
    if (trying > 0)
        snprintf(took, sizeof(took), " and never succeeded: it tried again for %s of %s", time,
                 all);
    else if (covered > 0)
        snprintf(took, sizeof(took), ", which took %s of %s", time, all);
    say(content, "Network", "%s failed to connect to %s %s (%s)%s.", process, address, times,
        reasons, took);
}

/* ---- files ---- */

void report_say_files(const struct report *report, const struct finding *finding,
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
