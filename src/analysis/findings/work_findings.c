/* SPDX-License-Identifier: MIT */
/*
 * work_findings.c: which processes did the work, and which did almost nothing. See findings.h.
 *
 *      processes by CPU time   404 ms | 57 ms  0.9 ms  0.8 ms  0.7 ms     1 of 5 did 87% of the work
 *      peers: of one name             tsp-server: 404  0.9  0.8  0.7      3 of 4 did almost nothing
 *      by parent                      tsp: 4 x tsp-server                 tsp created 4 processes
 *
 * CPU time that a process spun while it waited for messages of MPI is no work.
 *
 * Processes of one name are expected to share the same work. One did almost nothing if it has less than a tenth of both
 * the CPU time and the messages of its busiest peers. A master that created its peers is none of them.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_IT 0.8  /* of all CPU time */
#define MOSTLY     0.66 /* if one did more, the work was not shared */
/* share of all processes: if more are needed for MOST_OF_IT, the work is shared */
#define EVENLY          0.6
#define NEXT_TO_NOTHING 10 /* one tenth of the maximum */
/* share of the elapsed time that the busiest peer of idle ones computes: else there is no work that they could share */
#define BUSY_PEER 0.2

typedef const struct communication_process *process_row;

static uint64_t messages_of(process_row process)
{
    return process->sent.messages + process->received.messages;
}

static uint64_t work_of(process_row process)
{
    return process->cpu - process->spun;
}

/* Keeps a list of processes with the findings. Returns 0 or -ENOMEM. */
static int keep(struct findings *findings, const struct communication *communication,
                const process_row *rows, size_t count, struct finding_processes *ret_processes)
{
    uint32_t *at = arena_allocate(&findings->memory, (count + 1) * sizeof(*at));

    if (at == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        at[i] = (uint32_t)(rows[i] - communication->processes);
    *ret_processes = (struct finding_processes){at, count};
    return 0;
}

/* ---- the busiest ---- */

/* A program of very many processes has one row for many of them: whose work it is, is not known then. */
static bool has_groups(const struct communication *communication)
{
    for (size_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].group_size > 1)
            return true;
    return false;
}

static int find_busiest(const struct communication *communication, const process_row *by_cpu,
                        struct findings *findings)
{
    size_t count = communication->process_count, most = 0;
    uint64_t cpu = 0, total = communication->cpu - communication->spun;

    while (most < count && (double)cpu < MOST_OF_IT * (double)total)
        cpu += work_of(by_cpu[most++]);
    if (count < 2 || cpu == 0 || has_groups(communication))
        return 0;
    if ((double)work_of(by_cpu[0]) > MOSTLY * (double)total) {
        most = 1;
        cpu = work_of(by_cpu[0]);
    }
    bool shared = most > 1 && (double)most > EVENLY * (double)count;
    struct finding *finding =
        findings_add(findings, shared ? FINDING_WORK_SHARED : FINDING_WORK_OF_FEW,
                     findings_share(shared ? work_of(by_cpu[0]) : cpu, communication->duration));
    if (finding == NULL)
        return -ENOMEM;
    finding->work.of = count;
    finding->work.cpu = shared ? work_of(by_cpu[0]) : cpu;
    finding->work.total_cpu = total;
    return keep(findings, communication, by_cpu, shared ? 1 : most, &finding->work.who);
}

/* ---- peers ---- */

struct peers {
    process_row all;         /* the processes of the communication ... */
    const bool *masters;     /* ... and which of these have created one of their own name */
    const process_row *rows; /* [count], by CPU time */
    size_t count;
    uint64_t cpu;      /* maximum of one process ... */
    uint64_t messages; /* ... and maximum of perhaps another one */
};

/* Processes of one name but with other command lines have other work to do. */
static bool has_other_work(process_row row, process_row busiest)
{
    return row->command != NULL && busiest->command != NULL &&
           strcmp(row->command, busiest->command) != 0;
}

static bool has_done_little(const struct peers *peers, process_row row)
{
    return !has_other_work(row, peers->rows[0]) && work_of(row) * NEXT_TO_NOTHING < peers->cpu &&
           messages_of(row) * NEXT_TO_NOTHING < peers->messages;
}

/* A master creates workers and waits: it is none of them. */
static bool is_idle(const struct peers *peers, process_row row)
{
    return has_done_little(peers, row) && !peers->masters[row - peers->all];
}

static size_t idle_count(const struct peers *peers)
{
    size_t idle = 0;

    for (size_t i = 0; i < peers->count; i++)
        idle += is_idle(peers, peers->rows[i]);
    return idle;
}

static int add_idle(const struct communication *communication, const struct peers *peers,
                    process_row *idle, struct findings *findings)
{
    struct finding *finding = findings_add(findings, FINDING_IDLE, 0);
    process_row busiest = peers->rows[0];
    size_t count = 0;

    if (finding == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < peers->count; i++) {
        finding->idle.of +=
            is_idle(peers, peers->rows[i]) || !has_done_little(peers, peers->rows[i]);
        if (is_idle(peers, peers->rows[i])) {
            idle[count++] = peers->rows[i];
            finding->idle.cpu += work_of(peers->rows[i]);
            finding->idle.messages += messages_of(peers->rows[i]);
        }
    }
    finding->aside = (double)work_of(busiest) < BUSY_PEER * (double)communication->duration;
    if (!finding->aside) /* what they could have shared */
        finding->weight = findings_share(work_of(busiest), communication->duration);
    finding->idle.busiest = (uint32_t)(busiest - communication->processes);
    finding->idle.busiest_cpu = work_of(busiest);
    finding->idle.busiest_messages = messages_of(busiest);
    return keep(findings, communication, idle, count, &finding->idle.who);
}

static int by_idle(const void *left, const void *right)
{
    size_t a = idle_count(left), b = idle_count(right);

    return a > b ? -1 : a < b;
}

static bool have_one_name(process_row row, process_row other)
{
    return strncmp(row->name, other->name, STREAM_NAME_SIZE) == 0;
}

static void find_masters(const struct communication *communication, bool *masters)
{
    process_row all = communication->processes;

    for (size_t i = 0; i < communication->process_count; i++)
        if (all[i].parent != NO_PROCESS && have_one_name(&all[i], &all[all[i].parent]))
            masters[all[i].parent] = true;
}

/* Rows of one name are adjacent. `of`: what all groups have in common. Returns how many names have several processes, some of
 * them idle. */
static size_t find_peers(struct peers of, const process_row *by_name, size_t count,
                         struct peers *groups)
{
    size_t found = 0;

    for (size_t i = 0, next; i < count; i = next) {
        struct peers peers = of;
        peers.rows = by_name + i;
        for (next = i; next < count && have_one_name(by_name[next], by_name[i]); next++) {
            peers.cpu = larger_of(peers.cpu, work_of(by_name[next]));
            peers.messages = larger_of(peers.messages, messages_of(by_name[next]));
        }
        peers.count = next - i;
        if (peers.count > 1 && idle_count(&peers) > 0)
            groups[found++] = peers;
    }
    return found;
}

static int find_idle(const struct communication *communication, const process_row *by_name,
                     struct findings *findings)
{
    struct peers *groups = calloc(communication->process_count + 1, sizeof(*groups));
    process_row *idle = calloc(communication->process_count + 1, sizeof(*idle));
    bool *masters = calloc(communication->process_count + 1, sizeof(*masters));
    int result = groups == NULL || idle == NULL || masters == NULL ? -ENOMEM : 0;

    if (result == 0) {
        const struct peers of = {.all = communication->processes, .masters = masters};
        find_masters(communication, masters);
        size_t count = find_peers(of, by_name, communication->process_count, groups);
        qsort(groups, count, sizeof(*groups), by_idle);
        for (size_t i = 0; i < count && i < FINDINGS_FEW && result == 0; i++)
            result = add_idle(communication, &groups[i], idle, findings);
    }
    free(groups);
    free(idle);
    free(masters);
    return result;
}

/* ---- created processes, silent processes ---- */

static int add_created(const struct communication *communication, uint32_t parent,
                       process_row *children, struct findings *findings)
{
    struct finding *finding = findings_add(findings, FINDING_CREATED, 0);
    size_t count = 0;

    if (finding == NULL)
        return -ENOMEM;
    finding->aside = true;
    for (size_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].parent == parent)
            children[count++] = &communication->processes[i];
    finding->created.parent = parent;
    return keep(findings, communication, children, count, &finding->created.who);
}

static int find_created(const struct communication *communication, struct findings *findings)
{
    process_row *children = calloc(communication->process_count + 1, sizeof(*children));
    uint32_t *counts = calloc(communication->process_count + 1, sizeof(*counts));
    int result = children == NULL || counts == NULL ? -ENOMEM : 0;

    for (size_t i = 0; result == 0 && i < communication->process_count; i++)
        if (communication->processes[i].parent != NO_PROCESS)
            counts[communication->processes[i].parent]++;
    for (int found = 0; result == 0 && found < FINDINGS_FEW; found++) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < communication->process_count; i++)
            most = counts[i] > counts[most] ? i : most;
        if (counts[most] == 0)
            break;
        result = add_created(communication, most, children, findings);
        counts[most] = 0;
    }
    free(children);
    free(counts);
    return result;
}

static int add_silent(const struct communication *communication, const process_row *silent,
                      size_t count, struct findings *findings)
{
    struct finding *finding = findings_add(findings, FINDING_SILENT, 0);
    uint32_t left_out = communication->kinds_left_out;

    if (finding == NULL)
        return -ENOMEM;
    finding->aside = true;
    finding->silent.of = communication->process_count;
    finding->silent.kinds = left_out != 0 ? METER_ALL_KINDS & ~left_out : 0;
    return keep(findings, communication, silent, count, &finding->silent.who);
}

static int find_silent(const struct communication *communication, struct findings *findings)
{
    static const uint64_t told_by = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_RECEIVE);
    process_row *silent = calloc(communication->process_count + 1, sizeof(*silent));
    int result = silent == NULL ? -ENOMEM : 0;
    size_t count = 0;

    for (size_t i = 0; result == 0 && i < communication->process_count; i++)
        if (messages_of(&communication->processes[i]) == 0)
            silent[count++] = &communication->processes[i];
    if (count > 0 && communication->process_count > 1 &&
        (communication->flags_left_out & told_by) == 0)
        result = add_silent(communication, silent, count, findings);
    free(silent);
    return result;
}

/* ---- asleep ---- */

#define ASLEEP_LEAST 1000000000u /* ns: a shorter recording shows nothing */

/* Whether the kernel counted no turn on a CPU: all its threads wait since before the recording. */
static bool is_asleep(process_row row)
{
    const struct scheduled *scheduled = &row->scheduled;

    return !row->ended && scheduled->threads > 0 && row->cpu == 0 && scheduled->voluntary == 0 &&
           scheduled->involuntary == 0 && messages_of(row) == 0;
}

/* Where only some sleep, the others are idle in a program that works. */
static int find_asleep(const struct communication *communication, struct findings *findings)
{
    process_row *rows = calloc(communication->process_count + 1, sizeof(*rows));
    int result = rows == NULL ? -ENOMEM : 0;
    uint64_t threads = 0;
    size_t count = 0;

    for (size_t i = 0; result == 0 && i < communication->process_count; i++)
        if (is_asleep(&communication->processes[i])) {
            threads += communication->processes[i].scheduled.threads;
            rows[count++] = &communication->processes[i];
        }
    if (count > 0 && count == communication->process_count &&
        communication->duration >= ASLEEP_LEAST) {
        struct finding *finding = findings_add(findings, FINDING_ASLEEP, 1);
        if (finding != NULL)
            finding->asleep.threads = threads;
        result = finding == NULL ? -ENOMEM
                                 : keep(findings, communication, rows, count, &finding->asleep.who);
    }
    free(rows);
    return result;
}

/* ---- all of it ---- */

static int by_cpu_alone(const void *left, const void *right)
{
    process_row a = *(const process_row *)left, b = *(const process_row *)right;

    return work_of(a) != work_of(b) ? (work_of(a) > work_of(b) ? -1 : 1) : (a > b) - (a < b);
}

static int by_name_and_cpu(const void *left, const void *right)
{
    process_row a = *(const process_row *)left, b = *(const process_row *)right;
    int names = strncmp(a->name, b->name, STREAM_NAME_SIZE);

    return names != 0 ? names : by_cpu_alone(left, right);
}

static process_row *sorted(const struct communication *communication,
                           int (*compare)(const void *left, const void *right))
{
    process_row *rows = calloc(communication->process_count + 1, sizeof(*rows));

    for (size_t i = 0; rows != NULL && i < communication->process_count; i++)
        rows[i] = &communication->processes[i];
    if (rows != NULL)
        qsort(rows, communication->process_count, sizeof(*rows), compare);
    return rows;
}

int findings_of_work(const struct findings_from *from, struct findings *findings)
{
    const struct communication *communication = from->communication;
    process_row *by_cpu = sorted(communication, by_cpu_alone);
    process_row *by_name = sorted(communication, by_name_and_cpu);
    int result = by_cpu == NULL || by_name == NULL ? -ENOMEM : 0;

    if (result == 0)
        result = find_busiest(communication, by_cpu, findings);
    if (result == 0)
        result = find_idle(communication, by_name, findings);
    if (result == 0)
        result = find_created(communication, findings);
    if (result == 0)
        result = find_silent(communication, findings);
    if (result == 0)
        result = find_asleep(communication, findings);
    free(by_cpu);
    free(by_name);
    return result;
}
