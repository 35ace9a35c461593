/* SPDX-License-Identifier: MIT */
/*
 * report_load.c: who did the work, and who was there for nothing. See report_face.h.
 *
 *      processes by CPU time   404 ms | 57 ms  0.9 ms  0.8 ms  0.7 ms     "1 of 5 did 87 % of the work"
 *      peers: of one name             tsp-server: 404  0.9  0.8  0.7      "3 of 4 did next to nothing"
 *      by parent                      tsp: 4 x tsp-server                 "tsp created 4 processes"
 *
 * Processes of one name are expected to have shares of the same work. Who did next to nothing has both less
 * processor time and fewer messages than a tenth of what the busiest of its peers has.
 */
#include "show/report/report_face.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_IT      0.8 /* of all processor time */
#define EVENLY          0.6 /* of all processes, if so many are needed for it, it is shared */
#define NEXT_TO_NOTHING 10  /* a tenth of the most */
#define GROUPS          3   /* of peers, or parents, that are told of */
#define FEW_NAMES       5

#define WAYS_SIZE  (LEFT_OUT_TEXT_SIZE + sizeof(" by "))
#define NAMES_SIZE (FEW_NAMES * PROCESS_TEXT_SIZE + UNIT_SIZE)

typedef const struct communication_process *process_row;

/* "a[1], b[2] and 3 others". */
static void names_text(const struct communication *communication, const process_row *rows,
                       size_t count, char text[NAMES_SIZE])
{
    char name[PROCESS_TEXT_SIZE];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count && i < FEW_NAMES; i++) {
        process_text(communication, (uint32_t)(rows[i] - communication->processes), name);
        length +=
            (size_t)snprintf(text + length, NAMES_SIZE - length, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (count > FEW_NAMES)
        snprintf(text + length, NAMES_SIZE - length, " and %zu other%s", count - FEW_NAMES,
                 count == FEW_NAMES + 1 ? "" : "s");
}

static uint64_t messages_of(process_row process)
{
    return process->sent.messages + process->received.messages;
}

static uint64_t larger(uint64_t value, uint64_t other)
{
    return value > other ? value : other;
}

/* ---- the few who did most ---- */

static void find_busiest(const struct communication *communication, const process_row *by_cpu,
                         struct report_content *content)
{
    size_t count = communication->process_count, most = 0;
    uint64_t cpu = 0;
    char names[NAMES_SIZE], share[UNIT_SIZE], time[UNIT_SIZE];

    while (most < count && (double)cpu < MOST_OF_IT * (double)communication->cpu)
        cpu += by_cpu[most++]->cpu;
    if (count < 2 || cpu == 0)
        return;
    show_duration(communication->cpu, time);
    if ((double)most > EVENLY * (double)count) {
        process_text(communication, (uint32_t)(by_cpu[0] - communication->processes), names);
        show_percent(by_cpu[0]->cpu, communication->cpu, share);
        report_say(
            content, "Work",
            "The work (%s of processor time) was shared: the busiest of %zu processes, %s, did "
            "%s %%.",
            time, count, names, share);
        return;
    }
    names_text(communication, by_cpu, most, names);
    show_percent(cpu, communication->cpu, share);
    report_say(content, "Work",
               "%zu of %zu processes did %s %% of the work (%s of processor time): %s.", most,
               count, share, time, names);
}

/* ---- peers ---- */

struct peers {
    const process_row *rows; /* [count], by CPU time */
    size_t count;
    uint64_t cpu;      /* the most of a process ... */
    uint64_t messages; /* ... and of another one, maybe */
};

static bool is_idle(const struct peers *peers, process_row row)
{
    return row->cpu * NEXT_TO_NOTHING < peers->cpu &&
           messages_of(row) * NEXT_TO_NOTHING < peers->messages;
}

static size_t idle_count(const struct peers *peers)
{
    size_t idle = 0;

    for (size_t i = 0; i < peers->count; i++)
        idle += is_idle(peers, peers->rows[i]);
    return idle;
}

static int collect_idle(const struct peers *peers, process_row *idle)
{
    int count = 0;

    for (size_t i = 0; i < peers->count; i++)
        if (is_idle(peers, peers->rows[i]))
            idle[count++] = peers->rows[i];
    return count;
}

static int tell_idle(const struct communication *communication, const struct peers *peers,
                     struct report_content *content)
{
    process_row *idle = calloc(peers->count, sizeof(*idle));
    char name[NAME_TEXT_SIZE], busiest[PROCESS_TEXT_SIZE], names[NAMES_SIZE];
    char figures[2][UNIT_SIZE], sums[2][COUNTED_SIZE];
    uint64_t cpu = 0, messages = 0;

    if (idle == NULL)
        return -ENOMEM;
    size_t count = (size_t)collect_idle(peers, idle);
    for (size_t i = 0; i < count; i++) {
        cpu += idle[i]->cpu;
        messages += messages_of(idle[i]);
    }
    name_text(peers->rows[0], name);
    process_text(communication, (uint32_t)(peers->rows[0] - communication->processes), busiest);
    names_text(communication, idle, count, names);
    show_duration(cpu, figures[0]);
    show_counted(messages, "message", sums[0]);
    show_duration(peers->rows[0]->cpu, figures[1]);
    show_counted(messages_of(peers->rows[0]), "message", sums[1]);
    report_say(content, "Idle",
               "%zu of %zu %s did next to nothing: %s; in all %s and %s, but %s alone %s and %s.",
               count, peers->count, name, names, figures[0], sums[0], busiest, figures[1], sums[1]);
    free(idle);
    return 0;
}

static int by_idle(const void *left, const void *right)
{
    size_t a = idle_count(left), b = idle_count(right);

    return a > b ? -1 : a < b;
}

/* Rows of one name stand together. Returns how many groups of several there are. */
static size_t find_peers(const process_row *by_name, size_t count, struct peers *groups)
{
    size_t found = 0;

    for (size_t i = 0, next; i < count; i = next) {
        struct peers peers = {.rows = by_name + i};
        for (next = i;
             next < count && strncmp(by_name[next]->name, by_name[i]->name, STREAM_NAME_SIZE) == 0;
             next++) {
            peers.cpu = larger(peers.cpu, by_name[next]->cpu);
            peers.messages = larger(peers.messages, messages_of(by_name[next]));
        }
        peers.count = next - i;
        if (peers.count > 1 && idle_count(&peers) > 0)
            groups[found++] = peers;
    }
    return found;
}

static int find_idle(const struct communication *communication, const process_row *by_name,
                     struct report_content *content)
{
    struct peers *groups = calloc(communication->process_count + 1, sizeof(*groups));
    int result = 0;

    if (groups == NULL)
        return -ENOMEM;
    size_t count = find_peers(by_name, communication->process_count, groups);
    qsort(groups, count, sizeof(*groups), by_idle);
    for (size_t i = 0; i < count && i < GROUPS && result == 0; i++)
        result = tell_idle(communication, &groups[i], content);
    free(groups);
    return result;
}

/* ---- who was created, and who said nothing ---- */

static int find_created(const struct communication *communication, struct report_content *content)
{
    process_row *children = calloc(communication->process_count + 1, sizeof(*children));
    uint32_t *counts = calloc(communication->process_count + 1, sizeof(*counts));
    char parent[PROCESS_TEXT_SIZE], names[NAMES_SIZE];

    for (size_t i = 0; counts != NULL && i < communication->process_count; i++)
        if (communication->processes[i].parent != NO_PROCESS)
            counts[communication->processes[i].parent]++;
    for (int told = 0; children != NULL && counts != NULL && told < GROUPS; told++) {
        uint32_t most = 0;
        size_t count = 0;
        for (uint32_t i = 1; i < communication->process_count; i++)
            most = counts[i] > counts[most] ? i : most;
        if (counts[most] == 0)
            break;
        for (size_t i = 0; i < communication->process_count; i++)
            if (communication->processes[i].parent == most)
                children[count++] = &communication->processes[i];
        process_text(communication, most, parent);
        names_text(communication, children, count, names);
        report_say(content, "Created", "%s created %zu process%s: %s.", parent, count,
                   count == 1 ? "" : "es", names);
        counts[most] = 0;
    }
    int result = children == NULL || counts == NULL ? -ENOMEM : 0;
    free(children);
    free(counts);
    return result;
}

/* " by tcp, udp", if that is not all: who was silent there may have spoken by a pipe. */
static void ways_text(const struct communication *communication, char text[WAYS_SIZE])
{
    char kinds[LEFT_OUT_TEXT_SIZE] = "";

    if (communication->kinds_left_out != 0)
        left_out_text(0, METER_ALL_KINDS & ~communication->kinds_left_out, kinds);
    snprintf(text, WAYS_SIZE, "%s%s", kinds[0] != '\0' ? " by " : "", kinds);
}

static int find_silent(const struct communication *communication, struct report_content *content)
{
    static const uint32_t told_by = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_RECEIVE);
    process_row *silent = calloc(communication->process_count + 1, sizeof(*silent));
    char names[NAMES_SIZE], ways[WAYS_SIZE];
    size_t count = 0;

    if (silent == NULL)
        return -ENOMEM;
    if ((communication->flags_left_out & told_by) != 0)
        goto done;
    for (size_t i = 0; i < communication->process_count; i++)
        if (messages_of(&communication->processes[i]) == 0)
            silent[count++] = &communication->processes[i];
    names_text(communication, silent, count, names);
    ways_text(communication, ways);
    if (count > 0 && communication->process_count > 1)
        report_say(content, "Silent", "%zu of %zu processes sent and received no message%s: %s.",
                   count, communication->process_count, ways, names);
done:
    free(silent);
    return 0;
}

/* ---- all of it ---- */

static int by_name_and_cpu(const void *left, const void *right)
{
    process_row a = *(const process_row *)left, b = *(const process_row *)right;
    int names = strncmp(a->name, b->name, STREAM_NAME_SIZE);

    if (names != 0)
        return names;
    return a->cpu != b->cpu ? (a->cpu > b->cpu ? -1 : 1) : (a > b) - (a < b);
}

int report_find_load(const struct report *report, struct report_content *content)
{
    const struct communication *communication = report->communication;
    size_t count = communication->process_count;
    process_row *by_cpu = ordered_processes(communication, ORDER_CPU);
    process_row *by_name = ordered_processes(communication, ORDER_CPU);
    int result = by_cpu == NULL || by_name == NULL ? -ENOMEM : 0;

    if (result == 0) {
        qsort(by_name, count, sizeof(*by_name), by_name_and_cpu);
        find_busiest(communication, by_cpu, content);
        result = find_idle(communication, by_name, content);
    }
    if (result == 0)
        result = find_created(communication, content);
    if (result == 0)
        result = find_silent(communication, content);
    free(by_cpu);
    free(by_name);
    return result;
}
