/* SPDX-License-Identifier: MIT */
/*
 * report_path_findings.c: sentences on the critical path. See report_face.h.
 *
 *      work.sh 7[12] and the processes that it created carry 95% of the critical path.
 *      41 of the 51 gzip processes are on the critical path and carry 62% of it; gzip[12] has most, 2.1%.
 *      python3[12] carries 76% of the critical path.
 */
#include "analysis/findings/findings.h"
#include "show/parallelism/critical_path_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_COMMAND 50 /* bytes: printed whole */
#define WORD_SIZE     80
#define HINT_SIZE     (WORD_SIZE + 8)

/* ---- which of several processes of one name ---- */

/* Whether a text has this word between blanks. */
static bool has_word(const char *text, const char *word, size_t size)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (length == size && memcmp(text, word, size) == 0)
            return true;
        text += length + strspn(text + length, " ");
    }
    return false;
}

static bool is_namesake(const struct communication *communication, uint32_t index, uint32_t other)
{
    const struct communication_process *a = &communication->processes[index];
    const struct communication_process *b = &communication->processes[other];

    return index != other && b->command != NULL && strncmp(a->name, b->name, STREAM_NAME_SIZE) == 0;
}

/* Whether a namesake has this word in its command line, too. */
static bool is_common(const struct communication *communication, uint32_t index, const char *word,
                      size_t size)
{
    for (uint32_t i = 0; i < communication->process_count; i++)
        if (is_namesake(communication, index, i) &&
            has_word(communication->processes[i].command, word, size))
            return true;
    return false;
}

/* The first word of its command line that no namesake has, "slow.c" of "cc1 -quiet slow.c -o /tmp/x.s"; *ret_size 0: there
 * is none. */
static const char *own_word(const struct communication *communication, uint32_t index,
                            size_t *ret_size)
{
    const char *word = communication->processes[index].command;

    while (*word != '\0') {
        *ret_size = strcspn(word, " ");
        if (!is_common(communication, index, word, *ret_size))
            return word;
        word += *ret_size + strspn(word + *ret_size, " ");
    }
    *ret_size = 0;
    return word;
}

/* "sh ./work.sh" of "/bin/sh ./work.sh". */
static const char *without_folder(const char *command)
{
    const char *end = command + strcspn(command, " ");

    while (end > command && end[-1] != '/')
        end--;
    return end;
}

/* " (slow.c)": what tells a process from others of its name, if its name as shown lacks that; or " (sh ./work.sh 7)": what
 * the only one of its name is, if `always`. */
static void hint_text(const struct communication *communication, uint32_t row, bool always,
                      const char *name, char text[HINT_SIZE])
{
    const struct communication_process *process = &communication->processes[row];
    char copy[WORD_SIZE + 1] = "", shown[WORD_SIZE + 1];
    size_t size = 0;

    text[0] = '\0';
    if (process->command == NULL || (!process->named_alike && !always))
        return;
    const char *word = without_folder(process->command);
    if (process->named_alike)
        word = own_word(communication, row, &size);
    else if (strlen(word) <= SHORT_COMMAND)
        size = strlen(word);
    if (size == 0 || size > WORD_SIZE)
        return;
    memcpy(copy, word, size);
    show_text(copy, size, shown);
    if (strstr(name, shown) == NULL)
        snprintf(text, HINT_SIZE, " (%s)", shown);
}

/* ---- sentences ---- */

#define WHO_SIZE (PROCESS_TEXT_SIZE + HINT_SIZE)

static void who_text(const struct report *report, const struct finding *finding,
                     char text[WHO_SIZE])
{
    char name[PROCESS_TEXT_SIZE], hint[HINT_SIZE];
    uint32_t row = finding->critical.row;

    if (row == NO_PROCESS) {
        critical_process_text(report->path, finding->critical.process, text);
        return;
    }
    process_text(report->communication, row, name);
    hint_text(report->communication, row, finding->critical.tree, name, hint);
    snprintf(text, WHO_SIZE, "%s%s", name, hint);
}

/* ", 0.4% of the elapsed time": if the path is a small part of it. */
static void part_text(const struct finding *finding, char text[UNIT_SIZE * 2])
{
    char share[UNIT_SIZE];

    text[0] = '\0';
    if (finding->critical.cpu > finding->critical.elapsed / 2)
        return;
    show_percent(finding->critical.cpu, finding->critical.elapsed, share);
    snprintf(text, UNIT_SIZE * 2, ", %s%% of the elapsed time", share);
}

/* The model has a processor for each: it does not know that less work waits less for one. */
static const char *queue_text(const struct finding *finding)
{
    return finding->critical.no_cpu > finding->critical.less
               ? ", or more if that also shortens waits for a CPU"
               : "";
}

void report_say_critical(const struct report *report, const struct finding *finding,
                         struct report_content *content)
{
    char who[WHO_SIZE], share[UNIT_SIZE], less[UNIT_SIZE], most[UNIT_SIZE], part[UNIT_SIZE * 2];
    char name[STREAM_NAME_SIZE + 1], all[UNIT_SIZE] = "All ";
    bool several = finding->critical.on_it > 1;

    who_text(report, finding, who);
    part_text(finding, part);
    show_percent(finding->critical.cpu, finding->critical.longest, share);
    show_percent(finding->critical.most, finding->critical.longest, most);
    show_percent(finding->critical.less, finding->critical.elapsed, less);
    show_text(report->path->parallelism->processes[finding->critical.process].name,
              STREAM_NAME_SIZE, name);
    if (finding->critical.on_it < finding->critical.named)
        snprintf(all, sizeof(all), "%zu of the ", finding->critical.on_it);
    if (several)
        report_say(content, "Path",
                   "%s%zu %s processes are on the critical path and carry %s%% of it%s; "
                   "%s has most, %s%%. If all of them ran twice as fast, the same work would "
                   "take %s%% less%s.",
                   all, finding->critical.named, name, share, part, who, most, less,
                   queue_text(finding));
    else
        report_say(
            content, "Path",
            "%s %s %s%% of the critical path%s. If %s ran twice as fast, the same work would "
            "take %s%% less%s.",
            who, finding->critical.tree ? "and the processes that it created carry" : "carries",
            share, part, finding->critical.tree ? "all of them" : "it", less, queue_text(finding));
}

void report_say_path_flights(const struct report *report, const struct finding *finding,
                             struct report_content *content)
{
    char time[UNIT_SIZE], elapsed[UNIT_SIZE], of[UNIT_SIZE];

    show_duration(finding->flights.time, time);
    show_duration(finding->flights.elapsed, elapsed);
    show_percent(finding->flights.time, finding->flights.elapsed, of);
    report_say(content, "Path",
               "Messages on the critical path were in flight for %s, %s%% of the %s that elapsed: "
               "faster programs do not shorten that. Fewer messages%s would.",
               time, of, elapsed,
               report->communication->machine_count == 1 ? "" : " or a faster network");
}
