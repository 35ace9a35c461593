/* SPDX-License-Identifier: MIT */
/* finding_values.c: findings as figures, for programs. See findings.h. */
#include "analysis/findings/findings_private.h"

#include <string.h>

const char *finding_key(enum finding_kind kind)
{
    static const char *const keys[FINDING_KIND_COUNT] = {
        [FINDING_ELAPSED] = "elapsed",
        [FINDING_WORK_OF_FEW] = "work_of_few",
        [FINDING_WORK_SHARED] = "work_shared",
        [FINDING_IDLE] = "idle",
        [FINDING_CREATED] = "created",
        [FINDING_SILENT] = "silent",
        [FINDING_ONE_STREAM] = "one_thread",
        [FINDING_FACTOR] = "parallelism",
        [FINDING_ARCS_MISSING] = "edges_missing",
        [FINDING_UNEVEN_LOAD] = "uneven_load",
        [FINDING_CRITICAL] = "critical",
        [FINDING_PATH_FLIGHTS] = "path_in_flight",
        [FINDING_LATE_SENDER] = "late_sender",
        [FINDING_BLOCKED_SENDER] = "blocked_sender",
        [FINDING_LATE_RECEIVER] = "late_receiver",
        [FINDING_QUEUE] = "queue",
        [FINDING_ANSWERS] = "service_time",
        [FINDING_ANSWER_LAG] = "request_latency",
        [FINDING_REQUESTS] = "request_paths",
        [FINDING_NAGLE] = "nagle",
        [FINDING_OWN_CONNECTIONS] = "connection_per_request",
        [FINDING_POOL] = "pool",
        [FINDING_RETRANSMITS] = "retransmits",
        [FINDING_DROPPED] = "dropped",
        [FINDING_BUSY] = "busy_while_messages_waited",
        [FINDING_STOPPED] = "stopped",
        [FINDING_FAILED] = "failed_connections",
        [FINDING_FILES] = "files",
        [FINDING_CPU_WAIT] = "cpu_wait",
        [FINDING_THROTTLED] = "throttled",
        [FINDING_STOLEN] = "stolen",
        [FINDING_MEMORY_PRESSURE] = "memory_pressure",
        [FINDING_DISK_PRESSURE] = "disk_pressure",
        [FINDING_OOM] = "out_of_memory",
        [FINDING_WAITS_OUTSIDE] = "waits_outside",
        [FINDING_WAITS_UNEXPLAINED] = "waits_unexplained",
        [FINDING_WAITS_LOCKS] = "waits_locks",
    };

    return kind < FINDING_KIND_COUNT && keys[kind] != NULL ? keys[kind] : "other";
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

void finding_values(const struct findings_from *from, const struct finding *finding,
                    struct finding_values *ret_values)
{
    struct finding_values values = {.share = finding_share(finding)};

    switch (finding->kind) {
    case FINDING_ELAPSED:
        set_time(&values, finding->elapsed.group.time);
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
    case FINDING_ANSWERS:
    case FINDING_ANSWER_LAG:
        add_process(&values, finding->answers.process);
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
        add_process(&values, finding->failure->process);
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
