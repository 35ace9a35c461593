/* SPDX-License-Identifier: MIT */
/* finding_values.c: findings as figures, for programs. See findings.h. */
#include "analysis/findings/findings_private.h"

#include <string.h>

/* ---- kinds ---- */

static const struct {
    const char *key;
    enum finding_order order;
} kinds[FINDING_KIND_COUNT] = {
    [FINDING_ELAPSED] = {"elapsed", ORDER_ACCOUNT},
    [FINDING_CHANGE] = {"change", ORDER_CHANGE},
    [FINDING_WORK_OF_FEW] = {"work_of_few", ORDER_EXPLAINS},
    [FINDING_WORK_SHARED] = {"work_shared", ORDER_EXPLAINS},
    [FINDING_IDLE] = {"idle", ORDER_TO_DO},
    [FINDING_CREATED] = {"created", ORDER_EXPLAINS},
    [FINDING_SILENT] = {"silent", ORDER_EXPLAINS},
    [FINDING_ASLEEP] = {"asleep", ORDER_TO_DO},
    [FINDING_ONE_STREAM] = {"one_thread", ORDER_EXPLAINS},
    [FINDING_FACTOR] = {"parallelism", ORDER_EXPLAINS},
    [FINDING_ARCS_MISSING] = {"edges_missing", ORDER_EXPLAINS},
    [FINDING_UNEVEN_LOAD] = {"uneven_load", ORDER_EXPLAINS},
    [FINDING_ITEM] = {"item", ORDER_TO_DO},
    [FINDING_CRITICAL] = {"critical", ORDER_TO_DO},
    [FINDING_PATH_FLIGHTS] = {"path_in_flight", ORDER_TO_DO},
    [FINDING_LATE_SENDER] = {"late_sender", ORDER_EXPLAINS},
    [FINDING_BLOCKED_SENDER] = {"blocked_sender", ORDER_EXPLAINS},
    [FINDING_LATE_RECEIVER] = {"late_receiver", ORDER_EXPLAINS},
    [FINDING_QUEUE] = {"queue", ORDER_EXPLAINS},
    [FINDING_ANSWERS] = {"service_time", ORDER_EXPLAINS},
    [FINDING_ANSWER_LAG] = {"request_latency", ORDER_EXPLAINS},
    [FINDING_REQUESTS] = {"request_paths", ORDER_EXPLAINS},
    [FINDING_UNANSWERED] = {"unanswered", ORDER_TO_DO},
    [FINDING_NAGLE] = {"nagle", ORDER_TO_DO},
    [FINDING_OWN_CONNECTIONS] = {"connection_per_request", ORDER_TO_DO},
    [FINDING_POOL] = {"pool", ORDER_TO_DO},
    [FINDING_RETRANSMITS] = {"retransmits", ORDER_TO_DO},
    [FINDING_DROPPED] = {"dropped", ORDER_TO_DO},
    [FINDING_ROUND_TRIPS] = {"round_trips_per_request", ORDER_TO_DO},
    [FINDING_ONE_BY_ONE] = {"round_trips", ORDER_TO_DO},
    [FINDING_WORKERS] = {"busy_workers", ORDER_TO_DO},
    [FINDING_RESENT] = {"connect_resent", ORDER_TO_DO},
    [FINDING_INTERPRETER] = {"interpreter_lock", ORDER_TO_DO},
    [FINDING_JVM_STOP] = {"jvm_stop", ORDER_TO_DO},
    [FINDING_COLLECTIONS] = {"collections", ORDER_TO_DO},
    [FINDING_POLLING] = {"polling", ORDER_TO_DO},
    [FINDING_LOCK] = {"lock", ORDER_TO_DO},
    [FINDING_BLOCKED] = {"blocked_while_messages_waited", ORDER_TO_DO},
    [FINDING_BUSY] = {"busy_while_messages_waited", ORDER_TO_DO},
    [FINDING_STOPPED] = {"stopped", ORDER_TO_DO},
    [FINDING_FAILED] = {"failed_connections", ORDER_TO_DO},
    [FINDING_FILES] = {"files", ORDER_EXPLAINS},
    [FINDING_CPU_WAIT] = {"cpu_wait", ORDER_EXPLAINS},
    [FINDING_THROTTLED] = {"throttled", ORDER_TO_DO},
    [FINDING_STOLEN] = {"stolen", ORDER_TO_DO},
    [FINDING_MEMORY_PRESSURE] = {"memory_pressure", ORDER_TO_DO},
    [FINDING_DISK_PRESSURE] = {"disk_pressure", ORDER_TO_DO},
    [FINDING_OOM] = {"out_of_memory", ORDER_BROKE},
    [FINDING_STEERED] = {"steered", ORDER_CHANGE},
    [FINDING_WAITS_OUTSIDE] = {"waits_outside", ORDER_EXPLAINS},
    [FINDING_WAITS_UNEXPLAINED] = {"waits_unexplained", ORDER_EXPLAINS},
    [FINDING_WAITS_LOCKS] = {"waits_locks", ORDER_EXPLAINS},
};

const char *finding_key(enum finding_kind kind)
{
    return kind < FINDING_KIND_COUNT && kinds[kind].key != NULL ? kinds[kind].key : "other";
}

enum finding_order finding_order_of(const struct finding *finding)
{
    bool hardly = finding->kind == FINDING_FAILED && finding_share(finding) < FINDING_SMALL;

    if (finding->kind == FINDING_ELAPSED && finding->elapsed.small)
        return ORDER_SMALL_ACCOUNT;
    /* a probe for something that need not be there */
    return hardly ? ORDER_EXPLAINS : kinds[finding->kind].order;
}

static void add_process(struct finding_values *values, uint32_t process)
{
    if (process != NO_PROCESS && values->process_count < FINDING_PROCESSES)
        values->processes[values->process_count++] = process;
}

static void add_all(struct finding_values *values, const uint32_t *processes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_process(values, processes[i]);
}

static void add_by_pid(struct finding_values *values, const struct communication *communication,
                       uint32_t origin, uint32_t pid)
{
    for (uint32_t i = 0; i < communication->process_count && pid != 0; i++)
        if (communication->processes[i].origin == origin &&
            communication->processes[i].pid == pid) {
            add_process(values, i);
            return;
        }
}

static void set_time(struct finding_values *values, uint64_t time)
{
    values->has_time = true;
    values->time = time;
}

static void of_one(struct finding_values *values, uint32_t process, uint64_t time)
{
    add_process(values, process);
    set_time(values, time);
}

static void of_pair(struct finding_values *values, const struct finding *finding)
{
    const struct communication_pair *pair = finding->wait.pair;

    set_time(values, finding->wait.time);
    add_all(values, pair->from.processes, pair->from.count);
    add_all(values, pair->to.processes, pair->to.count);
}

/* Scales a time in an account of requests up to all requests. */
static uint64_t time_of_all(const struct findings_from *from, bool of_requests, uint64_t time)
{
    return of_requests ? elapsed_of_all_requests(&from->elapsed->requests, time) : time;
}

void finding_values(const struct findings_from *from, const struct finding *finding,
                    struct finding_values *ret_values)
{
    struct finding_values values = {.share = finding_share(finding)};

    switch (finding->kind) {
    case FINDING_ELAPSED:
        set_time(&values,
                 time_of_all(from, finding->elapsed.of_requests, finding->elapsed.group.time));
        add_by_pid(&values, from->communication, finding->elapsed.group.leader->origin,
                   finding->elapsed.group.leader->pid);
        break;
    case FINDING_WORK_OF_FEW:
    case FINDING_WORK_SHARED:
        set_time(&values, finding->work.cpu);
        add_all(&values, finding->work.who.at, finding->work.who.count);
        break;
    case FINDING_IDLE:
        set_time(&values, finding->idle.cpu);
        add_all(&values, finding->idle.who.at, finding->idle.who.count);
        break;
    case FINDING_CREATED:
        add_process(&values, finding->created.parent);
        add_all(&values, finding->created.who.at, finding->created.who.count);
        break;
    case FINDING_SILENT:
        add_all(&values, finding->silent.who.at, finding->silent.who.count);
        break;
    case FINDING_ASLEEP:
        add_all(&values, finding->asleep.who.at, finding->asleep.who.count);
        break;
    case FINDING_CRITICAL:
        of_one(&values, finding->critical.row, finding->critical.cpu);
        break;
    case FINDING_PATH_FLIGHTS:
        set_time(&values, finding->flights.time);
        break;
    case FINDING_LATE_SENDER:
    case FINDING_BLOCKED_SENDER:
    case FINDING_LATE_RECEIVER:
        of_pair(&values, finding);
        break;
    case FINDING_QUEUE:
        add_process(&values, finding->queue.process);
        break;
    case FINDING_ROUND_TRIPS:
    case FINDING_ONE_BY_ONE:
    case FINDING_RESENT:
        of_one(&values, finding->exchanges.process, finding->exchanges.time);
        break;
    case FINDING_WORKERS:
        of_one(&values, finding->workers.process, finding->workers.row->waited);
        break;
    case FINDING_INTERPRETER:
    case FINDING_JVM_STOP:
        set_time(&values, time_of_all(from, finding->runtime.of_requests, finding->runtime.time));
        add_by_pid(&values, from->communication, finding->runtime.row->origin,
                   finding->runtime.row->pid);
        break;
    case FINDING_POLLING:
        of_one(&values, finding->naps.process, finding->naps.less);
        break;
    case FINDING_ITEM:
        set_time(&values, finding->item->time);
        add_by_pid(&values, from->communication, finding->item->process.origin,
                   finding->item->process.pid);
        break;
    case FINDING_LOCK:
        set_time(&values, finding->lock->time);
        add_by_pid(&values, from->communication, finding->lock->what.origin,
                   finding->lock->what.pid);
        break;
    case FINDING_BLOCKED:
        of_one(&values, finding->pause.process, finding->pause.row->blocked);
        break;
    case FINDING_COLLECTIONS:
        of_one(&values, finding->pause.process, finding->pause.row->collections.time);
        break;
    case FINDING_ANSWERS:
    case FINDING_ANSWER_LAG:
        add_process(&values, finding->answers.process);
        break;
    case FINDING_UNANSWERED:
        add_process(&values, finding->asked.process);
        break;
    case FINDING_NAGLE:
        of_one(&values, finding->nagle.process, finding->nagle.time);
        break;
    case FINDING_POOL:
        set_time(&values, finding->pool->waited);
        add_by_pid(&values, from->communication, finding->pool->origin, finding->pool->pid);
        break;
    case FINDING_BUSY:
        of_one(&values, finding->pause.process, finding->pause.row->cpu);
        break;
    case FINDING_STOPPED:
        of_one(&values, finding->pause.process, finding->pause.row->stopped);
        break;
    case FINDING_FAILED:
        add_process(&values, finding->failed.row->process);
        break;
    case FINDING_FILES:
        of_one(&values, finding->files.process,
               finding->files.reads.time + finding->files.writes.time);
        break;
    case FINDING_CPU_WAIT:
        add_process(&values, finding->cpu_wait.process);
        break;
    case FINDING_WAITS_OUTSIDE:
    case FINDING_WAITS_UNEXPLAINED:
    case FINDING_WAITS_LOCKS:
        set_time(&values, finding->waits.covered);
        break;
    default:
        break;
    }
    *ret_values = values;
}
