/* SPDX-License-Identifier: MIT */
/*
 * whatif_run.c: the elapsed time of a run after changes. The condensed graph of the critical path is simulated
 * (critical_path_simulate); here changes become speeds, machines and lengths of waits, and its path an account.
 */
#include "analysis/whatif/whatif_run_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(ELAPSED_KIND_COUNT <= RUN_KINDS, "kinds of waits fit");

unsigned whatif_kind_of_wait(const struct history *history, const struct recorded_types *recorded,
                             const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    switch (record->header.id) {
    case EVENT_BLOCK:
        return elapsed_kind_of_block(history, recorded, event);
    case EVENT_RECEIVE: /* at the end of a file: whatever its sender did after its last record */
        return record->message.bytes > 0 ? ELAPSED_OUTSIDE : ELAPSED_UNKNOWN;
    case EVENT_STARTPROCESS:
        return ELAPSED_STOPPED;
    default:
        return ELAPSED_EVENT;
    }
}

/* ---- who ---- */

static int name_processes(struct whatif_run *run, const struct parallelism *parallelism)
{
    struct lookup of_name = {0};
    int result = 0;

    for (size_t i = 0; i < run->count && result == 0; i++) {
        const struct parallelism_process *process = &parallelism->processes[i];
        struct whatif_party *party = &run->parties[i];
        party->origin = process->origin;
        party->pid = process->pid;
        memcpy(party->name, process->name, sizeof(party->name));
        process_label(process->name, process->command, party->label);
        whatif_name_for_changes(party);
        uint64_t key = hash_bytes(0, party->asked, strlen(party->asked));
        uint32_t first = lookup_find(&of_name, key);
        bool is_same = first != LOOKUP_NONE && strcmp(run->parties[first].asked, party->asked) == 0;
        run->names[i] = is_same ? first : (uint32_t)i;
        if (first == LOOKUP_NONE)
            result = lookup_set(&of_name, key, (uint32_t)i);
    }
    lookup_done(&of_name);
    return result;
}

int whatif_run_new(struct critical_path_reading *reading, const struct critical_path *path,
                   const struct communication *communication, uint32_t cpus,
                   struct whatif_run **ret_run)
{
    struct whatif_run *run = calloc(1, sizeof(*run));
    size_t count = path->parallelism->process_count;
    int result = -ENOMEM;

    *ret_run = NULL;
    if (run == NULL)
        return -ENOMEM;
    *run = (struct whatif_run){
        .reading = reading,
        .parallelism = path->parallelism,
        .communication = communication,
        .cpus = cpus,
        .count = count,
        .recorded = (double)path->elapsed,
        .parties = calloc(count + 1, sizeof(*run->parties)),
        .names = calloc(count + 1, sizeof(*run->names)),
        .speeds = calloc(count + 1, sizeof(*run->speeds)),
        .machines = calloc(count + 1, sizeof(*run->machines)),
    };
    if (run->parties != NULL && run->names != NULL && run->speeds != NULL && run->machines != NULL)
        result = name_processes(run, path->parallelism);
    if (result < 0)
        whatif_run_free(run);
    else
        *ret_run = run;
    return result;
}

void whatif_run_free(struct whatif_run *run)
{
    if (run == NULL)
        return;
    free(run->parties);
    free(run->names);
    free(run->speeds);
    free(run->machines);
    free(run->parts);
    lookup_done(&run->of_part);
    free(run);
}

/* ---- the account of the path ---- */

static bool is_held(const struct whatif_run *run, uint32_t from, uint32_t to, double time)
{
    const struct parallelism_process *processes = run->parallelism->processes;

    return time >= HELD_LEAST && time <= HELD_MOST &&
           processes[from].machine == processes[to].machine;
}

static void take_part(void *context, uint32_t process, enum run_what what, unsigned kind,
                      double time)
{
    static const enum elapsed_kind kinds[] = {[RUN_COMPUTES] = ELAPSED_COMPUTES,
                                              [RUN_NO_CPU] = ELAPSED_NO_CPU,
                                              [RUN_IN_FLIGHT] = ELAPSED_IN_FLIGHT};
    struct whatif_run *run = ((struct applied *)context)->run;
    uint32_t name = run->names[process];
    unsigned is = what == RUN_WAITS ? kind : kinds[what];
    uint64_t key = (uint64_t)name << 8 | is;
    uint32_t found = lookup_find(&run->of_part, key);

    if (run->failed)
        return;
    if (found == LOOKUP_NONE) {
        found = (uint32_t)run->part_count;
        if (array_reserve(&run->parts, &run->part_room, run->part_count + 1, sizeof(*run->parts)) <
                0 ||
            lookup_set(&run->of_part, key, found) < 0) {
            run->failed = true;
            return;
        }
        run->parts[run->part_count++] =
            (struct whatif_run_part){.name = name, .kind = (enum elapsed_kind)is};
    }
    run->parts[found].time += time;
    if (what == RUN_IN_FLIGHT && is_held(run, kind, process, time))
        run->held += time;
}

static void forget_parts(struct whatif_run *run)
{
    lookup_done(&run->of_part);
    run->of_part = (struct lookup){0};
    run->part_count = 0;
    run->held = 0;
}

static struct whatif_part largest_part(const struct whatif_run *run)
{
    struct whatif_part most = {.name = "", .kind = ELAPSED_UNKNOWN};

    for (size_t i = 0; i < run->part_count; i++)
        if (run->parts[i].time > most.time)
            most = (struct whatif_part){.name = run->parties[run->parts[i].name].asked,
                                        .kind = run->parts[i].kind,
                                        .time = run->parts[i].time};
    return most;
}

/* ---- changes ---- */

static bool is_named(const struct whatif_run *run, uint32_t process, const char *name)
{
    const struct parallelism_process *is = &run->parallelism->processes[process];

    return name != NULL && process_is_named(name, is->pid, is->name, is->command);
}

static bool is_between(const struct whatif_change *change, const struct applied *applied,
                       const struct run_wait *wait)
{
    const struct whatif_run *run = applied->run;

    return (is_named(run, wait->from, change->name) && is_named(run, wait->process, change->to)) ||
           (is_named(run, wait->from, change->to) && is_named(run, wait->process, change->name));
}

/* Whether this change is about this wait. Then *time is what it takes. */
static bool change_wait(const struct applied *applied, const struct whatif_change *change,
                        const struct run_wait *wait, double *time)
{
    bool is_message = wait->from != NO_PARENT;

    switch (change->kind) {
    case WHATIF_WAIT:
        if (is_message || wait->kind != (unsigned)change->wait ||
            !is_named(applied->run, wait->process, change->name))
            return false;
        *time *= change->amount;
        return true;
    case WHATIF_DELAY:
        if (!is_message || !is_between(change, applied, wait))
            return false;
        *time = change->amount;
        return true;
    case WHATIF_NO_HOLDBACK:
        if (!is_message || !is_held(applied->run, wait->from, wait->process, (double)wait->time))
            return false;
        *time = 0;
        return true;
    default:
        return false;
    }
}

static double wait_after(void *context, const struct run_wait *wait)
{
    const struct applied *applied = context;
    double time = (double)wait->time;

    for (size_t i = 0; i < applied->count; i++)
        if (change_wait(applied, &applied->changes[i], wait, &time))
            applied->found[i] = true;
    return time;
}

static int refuse(struct problem *problem, const char *format, const struct whatif_change *change)
{
    return problem_set(problem, -EINVAL, format, change->name);
}

static int change_speed(struct applied *applied, size_t at)
{
    const struct whatif_change *change = &applied->changes[at];

    for (uint32_t i = 0; i < applied->run->count; i++)
        if (is_named(applied->run, i, change->name)) {
            applied->run->speeds[i] *= change->amount;
            applied->found[at] =
                applied->found[at] || applied->run->parallelism->processes[i].cpu > 0;
        }
    return 0;
}

static int change_place(struct applied *applied, size_t at)
{
    struct whatif_run *run = applied->run;
    uint32_t machine = run->parallelism->machines + applied->placed++;

    for (uint32_t i = 0; i < run->count; i++)
        if (is_named(run, i, applied->changes[at].name)) {
            run->machines[i] = machine;
            applied->found[at] = true;
        }
    return 0;
}

static void keep_part(struct whatif_run *run, const char *name, double part)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (is_named(run, i, name))
            run->speeds[i] /= part;
}

static int change_buffer(struct applied *applied, size_t at, struct problem *problem)
{
    const struct whatif_change *change = &applied->changes[at];
    struct whatif_buffers buffers;
    int result = whatif_buffer(applied->run->communication, change, &buffers, problem);

    if (result < 0)
        return result;
    applied->found[at] = true;
    applied->collects = fmax(applied->collects, buffers.collects);
    keep_part(applied->run, change->name,
              applied->calls_go ? buffers.sender_at_best : buffers.sender);
    if (applied->calls_go)
        keep_part(applied->run, change->to, buffers.receiver_at_best);
    return 0;
}

static int apply(struct applied *applied, size_t at, struct problem *problem)
{
    const struct whatif_change *change = &applied->changes[at];

    switch (change->kind) {
    case WHATIF_SPEED:
        return change_speed(applied, at);
    case WHATIF_PLACE:
        return change_place(applied, at);
    case WHATIF_BUFFER:
        return change_buffer(applied, at, problem);
    case WHATIF_WAIT:
        return change->wait == ELAPSED_NO_CPU
                   ? refuse(problem,
                            "--wait %s,no_cpu can be judged for requests only; for a run, --place "
                            "gives more CPUs",
                            change)
                   : 0;
    case WHATIF_REPLICAS:
    case WHATIF_KEEP:
    case WHATIF_MERGE:
        return refuse(problem,
                      "workers, connections and questions of %s can be judged for requests only, "
                      "not for the elapsed time of a run",
                      change);
    default:
        return 0;
    }
}

static int explain_nothing(const struct whatif_change *change, struct problem *problem)
{
    switch (change->kind) {
    case WHATIF_WAIT:
        return refuse(problem,
                      "%s has no such wait of its own in this recording (one that another "
                      "process ended takes as long as that process)",
                      change);
    case WHATIF_DELAY:
        return problem_set(problem, -EINVAL, "no message between %s and %s was waited for",
                           change->name, change->to);
    case WHATIF_NO_HOLDBACK:
        return problem_set(problem, -EINVAL,
                           "no message was in flight for as long as an acknowledgement is delayed "
                           "(40 ms)");
    default:
        return refuse(problem, "no process named %s computed in this recording", change);
    }
}

static int check_found(const struct applied *applied, struct problem *problem)
{
    for (size_t i = 0; i < applied->count; i++)
        if (!applied->found[i])
            return explain_nothing(&applied->changes[i], problem);
    return 0;
}

/* Simulates the run with the changes, which are none for how it was. */
static int simulate(struct applied *applied, struct whatif_time *ret_time, struct problem *problem)
{
    struct whatif_run *run = applied->run;
    int result = 0;

    for (size_t i = 0; i < run->count; i++) {
        run->speeds[i] = 1;
        run->machines[i] = run->parallelism->processes[i].machine;
    }
    forget_parts(run);
    applied->placed = 0;
    for (size_t i = 0; i < applied->count && result == 0; i++)
        result = apply(applied, i, problem);
    if (result < 0)
        return result;
    const struct run_changes changes = {.speeds = run->speeds,
                                        .machines = run->machines,
                                        .wait = wait_after,
                                        .cpus = run->cpus,
                                        .no_cpu = run->no_cpu,
                                        .no_cpu_stays = applied->no_cpu_stays,
                                        .calls_go = applied->calls_go,
                                        .part = take_part,
                                        .context = applied};
    result = critical_path_simulate(run->reading, &changes, &ret_time->time, problem);
    if (result < 0)
        return result;
    if (run->failed)
        return problem_set(problem, -ENOMEM, "out of memory");
    ret_time->most = largest_part(run);
    return check_found(applied, problem);
}

/* ---- asking ---- */

#define TENTH 0.1

bool whatif_is_range(double then, double low, double high)
{
    return low < (1 - TENTH) * then || high > (1 + TENTH) * then;
}

#define HALVINGS   7
#define NEAR       0.005
#define STEPS_MOST 20000000u /* simulated to find out: half a minute */

/* Where the model comes out too long with all of the recorded time without a CPU, some of it was the run's own doing, which is
 * simulated: then as much of it stays as makes it as long as recorded. */
static int choose_no_cpu(struct whatif_run *run, struct whatif_time *base, struct problem *problem)
{
    struct applied none = {.run = run};
    uint64_t size = critical_path_size(run->reading) + 1;
    double low = 0, high = 1;

    run->no_cpu = 1;
    int result = simulate(&none, base, problem);
    if (result < 0 || base->time <= run->recorded * (1 + NEAR))
        return result;
    for (unsigned i = 0; i < HALVINGS && i * size < STEPS_MOST && result == 0; i++) {
        run->no_cpu = (low + high) / 2;
        result = simulate(&none, base, problem);
        if (fabs(base->time / run->recorded - 1) < NEAR)
            break;
        *(base->time > run->recorded ? &high : &low) = run->no_cpu;
    }
    return result;
}

int whatif_run_begin(struct whatif_run *run, struct whatif_run_answer *ret_answer,
                     struct problem *problem)
{
    *ret_answer = (struct whatif_run_answer){.recorded = run->recorded};
    if (run->recorded <= 0)
        return problem_set(problem, -EINVAL, "this recording has nothing that takes time");
    int result = choose_no_cpu(run, &ret_answer->base, problem);
    if (result < 0)
        return result;
    if (ret_answer->base.time <= 0)
        return problem_set(problem, -EINVAL,
                           "no CPU time and no wait leads to the end of this recording");
    ret_answer->off = fabs(ret_answer->base.time / run->recorded - 1);
    return 0;
}

static double scaled(const struct whatif_run_answer *answer, double time)
{
    return time * answer->recorded / answer->base.time;
}

static void include(struct whatif_run_answer *answer, double time, enum whatif_why why)
{
    if (time < 0.99 * answer->low || time > 1.01 * answer->high)
        answer->why |= 1u << why;
    answer->low = fmin(answer->low, time);
    answer->high = fmax(answer->high, time);
}

static bool has_calls(const struct applied *applied)
{
    for (size_t i = 0; i < applied->count; i++)
        if (applied->changes[i].kind == WHATIF_BUFFER ||
            (applied->changes[i].kind == WHATIF_WAIT && applied->changes[i].amount == 0))
            return true;
    return false;
}

/* Each assumption the other way: what the model is off stays as long as it was, or goes, instead of changing with the rest; the time
 * without a CPU stays; all that calls can cost goes with them. */
static int find_range(struct applied *applied, double then, struct whatif_run_answer *answer,
                      struct problem *problem)
{
    struct whatif_time other;

    answer->low = answer->high = answer->then.time;
    answer->why = 0;
    include(answer, then, WHY_MODEL);
    include(answer, fmax(0, then + answer->recorded - answer->base.time), WHY_MODEL);
    applied->no_cpu_stays = true;
    int result = simulate(applied, &other, problem);
    if (result < 0)
        return result;
    include(answer, scaled(answer, other.time), WHY_NO_CPU);
    if (!has_calls(applied))
        return 0;
    applied->no_cpu_stays = false;
    applied->calls_go = true;
    result = simulate(applied, &other, problem);
    if (result < 0)
        return result;
    answer->at_best = scaled(answer, other.time);
    include(answer, answer->at_best, WHY_CALLS);
    return 0;
}

/* `is_searched`: without a range. */
static int try_changes(struct applied *applied, bool is_searched, struct whatif_run_answer *answer,
                       struct problem *problem)
{
    applied->found = calloc(applied->count + 1, sizeof(*applied->found));
    if (applied->found == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int result = simulate(applied, &answer->then, problem);
    double then = answer->then.time;
    answer->collects = applied->collects;
    answer->then.time = answer->low = answer->high = scaled(answer, then);
    if (result == 0 && !is_searched)
        result = find_range(applied, then, answer, problem);
    free(applied->found);
    return result;
}

int whatif_run_try(struct whatif_run *run, const struct whatif_change *change,
                   struct whatif_run_answer *answer, struct problem *problem)
{
    struct applied applied = {.run = run, .changes = change, .count = 1};

    return try_changes(&applied, true, answer, problem);
}

int whatif_run_ask(struct whatif_run *run, const struct whatif_change *changes, size_t count,
                   struct whatif_run_answer *ret_answer, struct problem *problem)
{
    struct applied applied = {.run = run, .changes = changes, .count = count};
    int result = whatif_run_begin(run, ret_answer, problem);

    return result < 0 ? result : try_changes(&applied, false, ret_answer, problem);
}
