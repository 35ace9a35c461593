/* SPDX-License-Identifier: MIT */
/* finding_values.c: findings as figures, for those who do not want sentences. See findings.h. */
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
        [FINDING_PATH_WAITS] = "path_waits",
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

static void add_processes(struct finding_values *values, const struct finding_processes *who)
{
    for (size_t i = 0; i < who->count; i++)
        add_process(values, who->at[i]);
}

static void add_party(struct finding_values *values, const struct party *party)
{
    for (uint32_t i = 0; i < party->count; i++)
        add_process(values, party->processes[i]);
}

static void set_time(struct finding_values *values, uint64_t time)
{
    values->has_time = true;
    values->time = time;
}

/* Of a group the process with most of its time. */
static void of_elapsed(const struct findings_from *from, const struct finding *finding,
                       struct finding_values *values)
{
    const struct elapsed_row *row = finding->elapsed.group.largest;
    const struct communication *communication = from->communication;

    set_time(values, finding->elapsed.group.time);
    for (uint32_t i = 0; i < communication->process_count && row->pid != 0; i++)
        if (communication->processes[i].origin == row->origin &&
            communication->processes[i].pid == row->pid) {
            add_process(values, i);
            return;
        }
}

static void of_pair(const struct finding *finding, struct finding_values *values)
{
    set_time(values, finding->wait.time);
    add_party(values, &finding->wait.pair->from);
    add_party(values, &finding->wait.pair->to);
}

static void of_work(const struct finding *finding, struct finding_values *values)
{
    switch (finding->kind) {
    case FINDING_IDLE:
        set_time(values, finding->idle.cpu);
        add_processes(values, &finding->idle.who);
        return;
    case FINDING_CREATED:
        add_process(values, finding->created.parent);
        add_processes(values, &finding->created.who);
        return;
    case FINDING_SILENT:
        add_processes(values, &finding->silent.who);
        return;
    default:
        set_time(values, finding->work.cpu);
        add_processes(values, &finding->work.who);
    }
}

void finding_values(const struct findings_from *from, const struct finding *finding,
                    struct finding_values *ret_values)
{
    *ret_values = (struct finding_values){
        .has_share = finding->weight > 0 && finding->kind != FINDING_REQUESTS &&
                     finding->kind != FINDING_QUEUE,
        .share = finding->weight > 1 ? 1 : finding->weight,
    };
    switch (finding->kind) {
    case FINDING_ELAPSED:
        of_elapsed(from, finding, ret_values);
        break;
    case FINDING_WORK_OF_FEW:
    case FINDING_WORK_SHARED:
    case FINDING_IDLE:
    case FINDING_CREATED:
    case FINDING_SILENT:
        of_work(finding, ret_values);
        break;
    case FINDING_CRITICAL:
        set_time(ret_values, finding->critical.cpu);
        add_process(ret_values, finding->critical.row);
        break;
    case FINDING_PATH_WAITS:
    case FINDING_PATH_FLIGHTS:
        set_time(ret_values, finding->path_waits.time);
        break;
    case FINDING_LATE_SENDER:
    case FINDING_BLOCKED_SENDER:
    case FINDING_LATE_RECEIVER:
        of_pair(finding, ret_values);
        break;
    case FINDING_QUEUE:
        add_process(ret_values, finding->queue.process);
        break;
    case FINDING_ANSWERS:
    case FINDING_ANSWER_LAG:
        add_process(ret_values, finding->answers.process);
        break;
    case FINDING_FAILED:
        add_process(ret_values, finding->failure->process);
        break;
    case FINDING_NAGLE:
        set_time(ret_values, finding->nagle.time);
        add_process(ret_values, finding->nagle.process);
        break;
    case FINDING_BUSY:
        set_time(ret_values, finding->pause.row->cpu);
        add_process(ret_values, finding->pause.process);
        break;
    case FINDING_STOPPED:
        set_time(ret_values, finding->pause.row->stopped);
        add_process(ret_values, finding->pause.process);
        break;
    case FINDING_FILES:
        set_time(ret_values, finding->files.reads.time + finding->files.writes.time);
        add_process(ret_values, finding->files.process);
        break;
    case FINDING_CPU_WAIT:
        add_process(ret_values, finding->cpu_wait.process);
        break;
    case FINDING_WAITS_OUTSIDE:
    case FINDING_WAITS_UNEXPLAINED:
    case FINDING_WAITS_LOCKS:
        set_time(ret_values, finding->waits.covered);
        break;
    default:
        break;
    }
}
