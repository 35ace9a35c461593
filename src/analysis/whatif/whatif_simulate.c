/* SPDX-License-Identifier: MIT */
/*
 * whatif_simulate.c: the programs of requests, run against each other. See whatif.h.
 *
 *      slot (a client)    think -> program of request 1 -> think -> program of request 2 ...
 *      pool               free workers, or else a queue of slots: first come, first served
 *      machine            CPUs, shared evenly by those that compute (processor sharing): each computes at the same rate, and
 *                         so who needs least further computing is done first
 *
 * Events come from a heap, by time; a change of what computes on a machine makes its earlier event void.
 */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct timed {
    double time; /* ns */
    uint32_t
        of; /* slot; machines come after the slots, and pools after these: a worker's rest is over */
    uint32_t version;
};

/* A binary heap: the earliest comes first. */
struct heap {
    struct timed *at;
    size_t count, room;
};

struct slot_state {
    uint32_t request; /* index + 1; 0: it is done */
    uint32_t op;      /* of the request */
    uint32_t waits;   /* next one in the same queue: index + 1 */
    double since;     /* when it came into a queue */
    double began;     /* the request */
};

struct pool_state {
    uint32_t free;
    uint32_t first, last; /* slots in its queue: index + 1 */
    double busy, changed; /* workers x ns, up to `changed` */
    uint32_t working;
};

struct machine_state {
    struct heap jobs; /* time: when the work done for each reaches this */
    double work;      /* done for each job so far: ns */
    double changed, busy;
    uint32_t version;
};

struct simulation {
    const struct whatif_simulated *run;
    struct heap events;
    struct slot_state *slots;
    struct pool_state *pools;
    struct machine_state *machines;
    uint32_t machine_count;
    double now, waited, last;
    uint64_t *latencies;
    uint64_t *ends; /* [so many as are done] */
    uint64_t done;
    bool failed;
};

/* ---- the heap ---- */

static int heap_add(struct heap *heap, struct timed timed)
{
    if (array_reserve(&heap->at, &heap->room, heap->count + 1, sizeof(*heap->at)) < 0)
        return -ENOMEM;
    size_t i = heap->count++;
    for (; i > 0 && heap->at[(i - 1) / 2].time > timed.time; i = (i - 1) / 2)
        heap->at[i] = heap->at[(i - 1) / 2];
    heap->at[i] = timed;
    return 0;
}

static struct timed heap_take(struct heap *heap)
{
    struct timed first = heap->at[0], last = heap->at[--heap->count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->at[child + 1].time < heap->at[child].time)
            child++;
        if (heap->at[child].time >= last.time)
            break;
        heap->at[i] = heap->at[child];
        i = child;
    }
    heap->at[i] = last;
    return first;
}

static void add_event(struct simulation *simulation, double time, uint32_t of, uint32_t version)
{
    if (heap_add(&simulation->events, (struct timed){time, of, version}) < 0)
        simulation->failed = true;
}

/* ---- CPUs ---- */

static uint32_t machine_of(const struct whatif_simulated *run, uint32_t party)
{
    return run->machines != NULL ? run->machines[party] : run->model->parties[party].origin;
}

static double rate_of(const struct simulation *simulation, const struct machine_state *machine)
{
    double cpus = simulation->run->cpus, jobs = (double)machine->jobs.count;

    return jobs <= cpus ? 1 : cpus / jobs;
}

static void work_until_now(struct simulation *simulation, struct machine_state *machine)
{
    double time = simulation->now - machine->changed;
    double cpus = simulation->run->cpus, jobs = (double)machine->jobs.count;

    machine->work += time * rate_of(simulation, machine);
    machine->busy += time * (jobs < cpus ? jobs : cpus);
    machine->changed = simulation->now;
}

static void expect_next(struct simulation *simulation, uint32_t index)
{
    struct machine_state *machine = &simulation->machines[index];

    machine->version++;
    if (machine->jobs.count > 0)
        add_event(simulation,
                  simulation->now + fmax(0, machine->jobs.at[0].time - machine->work) /
                                        rate_of(simulation, machine),
                  (uint32_t)simulation->run->model->slot_count + index, machine->version);
}

static void compute(struct simulation *simulation, uint32_t slot, uint32_t index, double time)
{
    struct machine_state *machine = &simulation->machines[index];

    work_until_now(simulation, machine);
    if (heap_add(&machine->jobs, (struct timed){machine->work + time, slot, 0}) < 0)
        simulation->failed = true;
    expect_next(simulation, index);
}

/* ---- workers ---- */

static void note_work(struct simulation *simulation, struct pool_state *pool, int change)
{
    pool->busy += (simulation->now - pool->changed) * pool->working;
    pool->changed = simulation->now;
    pool->working += (uint32_t)change;
}

/* Whether a worker is free. If not, the slot is in the queue. */
static bool enter(struct simulation *simulation, uint32_t slot, uint32_t index)
{
    struct pool_state *pool = &simulation->pools[index];

    if (pool->free > 0) {
        pool->free--;
        note_work(simulation, pool, 1);
        return true;
    }
    simulation->slots[slot].since = simulation->now;
    simulation->slots[slot].waits = 0;
    if (pool->first == 0)
        pool->first = slot + 1;
    else
        simulation->slots[pool->last - 1].waits = slot + 1;
    pool->last = slot + 1;
    return false;
}

/* The worker takes who came first, if there is one. That slot goes on now. */
static void leave(struct simulation *simulation, uint32_t index)
{
    struct pool_state *pool = &simulation->pools[index];
    uint32_t next = pool->first;

    if (next == 0) {
        pool->free++;
        note_work(simulation, pool, -1);
        return;
    }
    pool->first = simulation->slots[next - 1].waits;
    simulation->waited += simulation->now - simulation->slots[next - 1].since;
    add_event(simulation, simulation->now, next - 1, 0);
}

static uint32_t number_of_pool(const struct simulation *simulation, uint32_t index)
{
    const struct whatif_model *model = simulation->run->model;

    return (uint32_t)model->slot_count + simulation->machine_count + index;
}

static void leave_after(struct simulation *simulation, uint32_t index, double rest)
{
    if (rest > 0)
        add_event(simulation, simulation->now + rest, number_of_pool(simulation, index), 0);
    else
        leave(simulation, index);
}

/* ---- programs ---- */

static void begin_request(struct simulation *simulation, uint32_t slot, uint32_t request,
                          double time)
{
    simulation->slots[slot].request = request;
    simulation->slots[slot].op = 0;
    if (request != 0)
        add_event(simulation, time, slot, 0);
}

static void end_request(struct simulation *simulation, uint32_t slot)
{
    const struct whatif_model *model = simulation->run->model;
    struct slot_state *state = &simulation->slots[slot];
    const struct whatif_request *request = &model->requests[state->request - 1];

    simulation->latencies[state->request - 1] = (uint64_t)(simulation->now - state->began);
    simulation->ends[simulation->done++] = (uint64_t)simulation->now;
    if (simulation->now > simulation->last)
        simulation->last = simulation->now;
    begin_request(simulation, slot, request->next,
                  request->next == 0
                      ? 0
                      : simulation->now + (double)model->requests[request->next - 1].think);
}

/* Until something takes time. */
static void go_on(struct simulation *simulation, uint32_t slot)
{
    const struct whatif_model *model = simulation->run->model;
    struct slot_state *state = &simulation->slots[slot];
    const struct whatif_request *request = &model->requests[state->request - 1];

    if (state->op == 0)
        state->began = simulation->now;
    while (state->op < request->op_count) {
        const struct whatif_op *op = &simulation->run->ops[request->first_op + state->op++];
        double time = (double)op->time;
        switch ((enum whatif_op_type)op->type) {
        case OP_ENTER:
            if (!enter(simulation, slot, op->of))
                return;
            continue;
        case OP_LEAVE:
            leave_after(simulation, op->of, time);
            continue;
        case OP_CPU:
            if (op->time == 0)
                continue;
            compute(simulation, slot, machine_of(simulation->run, op->of), time);
            return;
        case OP_NO_CPU:
            time *= simulation->run->no_cpu;
            break;
        case OP_QUEUED:
            time *= simulation->run->queued;
            break;
        case OP_DELAY:
            break;
        }
        if (time > 0) {
            add_event(simulation, simulation->now + time, slot, 0);
            return;
        }
    }
    end_request(simulation, slot);
}

static void end_computing(struct simulation *simulation, uint32_t index)
{
    struct machine_state *machine = &simulation->machines[index];

    work_until_now(simulation, machine);
    struct timed job = heap_take(&machine->jobs);
    expect_next(simulation, index);
    go_on(simulation, job.of);
}

/* ---- all of it ---- */

static void begin(struct simulation *simulation)
{
    const struct whatif_model *model = simulation->run->model;
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < model->request_count; i++)
        first = model->requests[i].begin < first ? model->requests[i].begin : first;
    for (size_t i = 0; i < model->pool_count; i++)
        simulation->pools[i].free = simulation->run->workers[i];
    for (uint32_t i = 0; i < model->slot_count; i++)
        begin_request(simulation, i, model->slots[i].first,
                      (double)(model->requests[model->slots[i].first - 1].begin - first));
}

static void run_events(struct simulation *simulation)
{
    const uint32_t slots = (uint32_t)simulation->run->model->slot_count;
    const uint32_t first_pool = number_of_pool(simulation, 0);

    while (simulation->events.count > 0 && !simulation->failed) {
        struct timed event = heap_take(&simulation->events);
        if (event.of >= slots && event.of < first_pool &&
            event.version != simulation->machines[event.of - slots].version)
            continue;
        simulation->now = event.time;
        if (event.of >= first_pool)
            leave(simulation, event.of - first_pool);
        else if (event.of >= slots)
            end_computing(simulation, event.of - slots);
        else
            go_on(simulation, event.of);
    }
}

static void find_busiest(struct simulation *simulation, struct whatif_figures *figures)
{
    const struct whatif_simulated *run = simulation->run;

    for (size_t i = 0; i < run->model->pool_count; i++) {
        note_work(simulation, &simulation->pools[i], 0);
        double busy = simulation->pools[i].busy / run->workers[i] / simulation->now;
        if (busy > figures->busy) {
            figures->busy = busy;
            figures->busiest = (uint32_t)i + 1;
            figures->busiest_workers = run->workers[i];
        }
    }
    for (uint32_t i = 0; i < simulation->machine_count; i++) {
        double busy = simulation->machines[i].busy / run->cpus / simulation->now;
        if (busy > figures->busy) {
            figures->busy = busy;
            figures->busiest = 0;
        }
    }
}

static void describe(struct simulation *simulation, struct whatif_figures *figures)
{
    double all = 0;

    *figures = (struct whatif_figures){.requests = simulation->done};
    if (simulation->done == 0 || simulation->last <= 0)
        return;
    for (size_t i = 0; i < simulation->run->model->request_count; i++)
        all += (double)simulation->latencies[i];
    figures->mean = all / (double)simulation->done;
    figures->per_second =
        whatif_rate(simulation->ends, simulation->done, simulation->run->model->slot_count);
    figures->waiting = all > 0 ? simulation->waited / all : 0;
    find_busiest(simulation, figures);
}

int whatif_simulate(const struct whatif_simulated *run, uint64_t *latencies,
                    struct whatif_figures *ret_figures)
{
    const struct whatif_model *model = run->model;
    struct simulation simulation = {
        .run = run,
        .latencies = latencies,
        .ends = calloc(model->request_count + 1, sizeof(*simulation.ends)),
        .slots = calloc(model->slot_count + 1, sizeof(*simulation.slots)),
        .pools = calloc(model->pool_count + 1, sizeof(*simulation.pools)),
        .machine_count = model->machines + run->placed,
        .machines = calloc(model->machines + run->placed + 1u, sizeof(*simulation.machines)),
    };

    simulation.failed = simulation.ends == NULL || simulation.slots == NULL ||
                        simulation.pools == NULL || simulation.machines == NULL;
    if (!simulation.failed) {
        begin(&simulation);
        run_events(&simulation);
    }
    int result = simulation.failed                        ? -ENOMEM
                 : simulation.done < model->request_count ? -EDEADLK
                                                          : 0;
    if (result == 0)
        describe(&simulation, ret_figures);
    for (uint32_t i = 0; simulation.machines != NULL && i < simulation.machine_count; i++)
        free(simulation.machines[i].jobs.at);
    free(simulation.events.at);
    free(simulation.ends);
    free(simulation.slots);
    free(simulation.pools);
    free(simulation.machines);
    return result;
}
