/* SPDX-License-Identifier: MIT */
/*
 * runtime_findings.c: what runtimes of languages cost: Python's interpreter lock, a JVM that stops its threads. See
 * findings.h.
 *
 * All times are parts of the account of the time, so that no more can be saved.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>

#define RUNTIME_SMALL 0.05 /* of the account */
#define ROWS_MOST     1000 /* smaller rows do not matter, and the searches are quadratic */

/* The account that the report is about. */
static const struct elapsed_account *account_of(const struct elapsed *elapsed)
{
    return elapsed->from_start ? &elapsed->run : &elapsed->requests.account;
}

static bool is_of(const struct elapsed_row *row, const struct elapsed_row *process)
{
    return row->origin == process->origin && row->pid == process->pid;
}

static int add(const struct findings_from *from, enum finding_kind kind,
               const struct elapsed_row *row, uint64_t time, struct findings *findings,
               struct finding **ret_finding)
{
    const struct elapsed_account *account = account_of(from->elapsed);
    double share = findings_share(time, account->time);

    *ret_finding = NULL;
    if (row == NULL || share < RUNTIME_SMALL)
        return 0;
    *ret_finding = findings_add(findings, kind, share);
    if (*ret_finding == NULL)
        return -ENOMEM;
    (*ret_finding)->runtime.row = row;
    (*ret_finding)->runtime.time = time;
    (*ret_finding)->runtime.of = account->time;
    (*ret_finding)->runtime.of_requests = !from->elapsed->from_start;
    return 0;
}

/* ---- Python's interpreter lock ---- */

/* In requests: a part of the account of its own. In a run the account goes on with the thread that has the lock. */
static uint64_t time_in_requests(const struct elapsed *elapsed, const struct elapsed_row *process)
{
    uint64_t time = 0;

    for (size_t i = 0; i < elapsed->requests.account.row_count; i++) {
        const struct elapsed_row *row = &elapsed->requests.account.rows[i];
        if (row->kind == ELAPSED_INTERPRETER && is_of(row, process))
            time += row->time;
    }
    return time;
}

static uint64_t time_in_run(const struct elapsed *elapsed, const struct elapsed_row *process)
{
    uint64_t time = 0;

    for (size_t i = 0; i < elapsed->holder_count; i++)
        if (elapsed->holders[i].waited.kind == ELAPSED_INTERPRETER &&
            is_of(&elapsed->holders[i].waited, process))
            time += elapsed->holders[i].did.time;
    return time;
}

/* The row of the process that waits most; NULL: none does. */
static const struct elapsed_row *find_interpreter(const struct elapsed *elapsed, uint64_t *ret_time)
{
    const struct elapsed_row *most = NULL;
    size_t count =
        elapsed->from_start ? elapsed->holder_count : elapsed->requests.account.row_count;

    *ret_time = 0;
    for (size_t i = 0; i < count && i < ROWS_MOST; i++) {
        const struct elapsed_row *row =
            elapsed->from_start ? &elapsed->holders[i].waited : &elapsed->requests.account.rows[i];
        if (row->kind != ELAPSED_INTERPRETER)
            continue;
        uint64_t time =
            elapsed->from_start ? time_in_run(elapsed, row) : time_in_requests(elapsed, row);
        if (time > *ret_time) {
            most = row;
            *ret_time = time;
        }
    }
    return most;
}

/* How long requests to the process waited for the lock until a thread, or any (tid 0), released it. */
static uint64_t time_released(const struct elapsed_requests *requests,
                              const struct elapsed_row *process, uint32_t tid)
{
    uint64_t time = 0;

    for (size_t i = 0; i < requests->releaser_count; i++) {
        const struct elapsed_row *did = &requests->releasers[i].did;
        if (is_of(did, process) && (tid == 0 || did->tid == tid))
            time += did->time;
    }
    return time;
}

static void find_releaser(const struct elapsed_requests *requests, struct finding *finding)
{
    const struct elapsed_row *process = finding->runtime.row;
    uint64_t known = time_released(requests, process, 0);

    if (known * 4 < finding->runtime.time)
        return;
    for (size_t i = 0; i < requests->releaser_count && i < ROWS_MOST; i++) {
        const struct elapsed_row *did = &requests->releasers[i].did;
        if (!is_of(did, process) || did->tid == 0)
            continue;
        uint64_t time = time_released(requests, process, did->tid);
        if (time * 2 < known)
            continue;
        finding->runtime.releaser = did;
        finding->runtime.released = time;
        finding->runtime.known_release = known;
        return;
    }
}

static int find_interpreters(const struct findings_from *from, struct findings *findings)
{
    struct finding *finding;
    uint64_t time;
    const struct elapsed_row *row = find_interpreter(from->elapsed, &time);
    int result = add(from, FINDING_INTERPRETER, row, time, findings, &finding);

    if (finding != NULL && !from->elapsed->from_start)
        find_releaser(&from->elapsed->requests, finding);
    return result;
}

/* ---- JVMs that stop their threads ---- */

static bool works_for_vm(const struct elapsed_row *row)
{
    return row->runtime == RUNTIME_JVM &&
           (row->kind == ELAPSED_COMPUTES || row->kind == ELAPSED_NO_CPU) &&
           (elapsed_is_vm_thread(row->thread) || elapsed_is_collector(row->thread));
}

struct stops {
    uint64_t time, computed, lacked, collected;
};

/* What others waited for while these threads of the JVM worked, and what requests waited until they were resumed. */
static struct stops stops_of(const struct elapsed_account *account,
                             const struct elapsed_row *process)
{
    struct stops stops = {0};

    for (size_t i = 0; i < account->row_count && i < ROWS_MOST; i++) {
        const struct elapsed_row *row = &account->rows[i];
        if (!is_of(row, process) || (!works_for_vm(row) && row->kind != ELAPSED_VM_STOP))
            continue;
        stops.time += row->time;
        if (row->kind == ELAPSED_COMPUTES)
            stops.computed += row->time;
        if (row->kind == ELAPSED_NO_CPU)
            stops.lacked += row->time;
        if (row->kind != ELAPSED_VM_STOP && elapsed_is_collector(row->thread))
            stops.collected += row->time;
    }
    return stops;
}

#define LACKED_MOST 4    /* times what is known to be a stop's */
#define STOP_SMALL  0.01 /* of the account */

/* A thread of the JVM that begins waits for a CPU, too, and its creator for it. So where such threads mostly had no CPU, and
 * did next to nothing, no record shows that anything was stopped. */
static bool is_stop(const struct elapsed_account *account, const struct stops *stops)
{
    uint64_t known = stops->time - stops->lacked;

    return stops->lacked <= LACKED_MOST * known ||
           findings_share(known, account->time) >= STOP_SMALL;
}

static bool has_collectors(const struct elapsed *elapsed, const struct elapsed_row *process)
{
    for (size_t i = 0; i < elapsed->wait_count; i++)
        if (is_of(&elapsed->waits[i].what, process) &&
            (elapsed_is_collector(elapsed->waits[i].what.thread) ||
             elapsed_collects_beside(elapsed->waits[i].what.thread)))
            return true;
    return false;
}

static const struct pause_row *probed(const struct pauses *pauses,
                                      const struct elapsed_row *process)
{
    for (size_t i = 0; pauses != NULL && i < pauses->count; i++)
        if (pauses->rows[i].origin == process->origin && pauses->rows[i].pid == process->pid &&
            pauses->rows[i].safepoints.count > 0)
            return &pauses->rows[i];
    return NULL;
}

static int find_stops(const struct findings_from *from, struct findings *findings)
{
    const struct elapsed_account *account = account_of(from->elapsed);
    const struct elapsed_row *most = NULL;
    struct stops stops = {0};
    struct finding *finding;

    for (size_t i = 0; i < account->row_count && i < ROWS_MOST; i++) {
        const struct elapsed_row *row = &account->rows[i];
        if (!works_for_vm(row) && row->kind != ELAPSED_VM_STOP)
            continue;
        struct stops of = stops_of(account, row);
        if (of.time > stops.time && is_stop(account, &of)) {
            most = row;
            stops = of;
        }
    }
    int result = add(from, FINDING_JVM_STOP, most, stops.time, findings, &finding);
    if (finding == NULL)
        return result;
    finding->runtime.computed = stops.computed;
    finding->runtime.collected = stops.collected;
    finding->runtime.has_collectors = has_collectors(from->elapsed, most);
    finding->runtime.probed = probed(from->pauses, most);
    return 0;
}

int findings_of_runtimes(const struct findings_from *from, struct findings *findings)
{
    if (from->elapsed == NULL || account_of(from->elapsed)->time == 0)
        return 0;
    int result = find_interpreters(from, findings);
    return result < 0 ? result : find_stops(from, findings);
}
