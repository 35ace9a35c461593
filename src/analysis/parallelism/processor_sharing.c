/* SPDX-License-Identifier: MIT */
/*
 * processor_sharing.c: step 3: how long it takes if streams share the processors of their machines.
 *
 *      With k chains and L tasks of others on c cores of speed s, each chain advances s * min(1, c / (k + L)) of its CPU
 *      time in a unit of elapsed time. A machine counts the CPU time that a chain which always ran would have got. So a
 *      chain that needs `cpu` ends when the count has grown by `cpu`, however many others come and go meanwhile:
 *
 *      machine   count ----------> 120     chains by the count at which they end: 125, 140, 300
 *
 *      Events in the order of simulated time: the next chain to end on some machine (a heap of machines), or the
 *      next one whose message arrives or whose time has passed (a heap of chains).
 *
 * Example: one core, speed 1. Chain A begins at 0 and needs 100 ns: it ends at count 100. B begins at 20 and needs 50:
 * the count is 20, so B ends at count 70. Each now gets half of the core: the count is 70 at 20 + 2 * 50 = 120, and B
 * ends. A runs alone again, and ends at 120 + 30 = 150.
 *
 * This is processor sharing in elapsed time, not the algorithm of the thesis' appendix A. That one lets all machines
 * advance by the same slice of process time, and agrees only on one machine, or with one chain on each. For its
 * weights, appendix_a.c lets every chain run at its own speed here.
 */
#include "analysis/parallelism/program_graph.h"

#include <errno.h>
#include <stdlib.h>

#define NO_INDEX UINT32_MAX

/* An entry of a heap; the least key is first. */
struct entry {
    double key;
    uint32_t what;
};

struct heap {
    struct entry *at;
    uint32_t count;
    size_t room;
};

struct running {
    uint32_t stretch;     /* the present one of its chain */
    uint32_t machine;     /* index into simulation.machines */
    uint32_t next_waiter; /* for the end of the same stretch: chain + 1 */
    bool alive;
    bool by_wait;   /* its stretch ends later than its CPU time does, for what another one did */
    double weighed; /* its machine's, when the stretch began */
};

struct processors {
    struct heap chains; /* ordered by the count at which they end */
    double count;       /* ns of CPU time that a chain which always ran has got ... */
    double when;        /* ... at this time */
    double weighed;     /* appendix A: ns that this CPU time weighs */
    double cores;
    double speed;
    double others;  /* tasks that are not of the computation, and always want a processor */
    uint32_t place; /* index in the heap of machines, or NO_INDEX */
};

/* A stretch that others wait for; kept until the last of them has come. */
struct end {
    double time; /* when it ended; < 0: not yet */
    uint32_t users;
    uint32_t first_waiter; /* chain + 1 */
    bool kept;             /* too many users to count */
};

struct simulation {
    const struct graph *graph;
    const struct placed *placed;
    double now;
    struct running *chains; /* [graph->chain_count] */
    struct lookup machine_numbers;
    struct processors *machines;
    uint32_t machine_count;
    size_t machine_room;
    struct heap next;           /* machines, ordered by when their next chain ends */
    struct heap timers;         /* chains, ordered by when they continue */
    struct scratch end_indexes; /* [stretches]: uint32_t, + 1; 0: none */
    struct pool ends;
    uint32_t living;
    double *weights;               /* appendix A: [stretches]; NULL: chains share processors */
    struct slicing *slicing;       /* NULL: not asked for */
    const struct sharing_run *run; /* NULL: as recorded, and when stretches end is not kept */
};

/* ---- heaps ---- */

static void put(struct heap *heap, struct simulation *placing, uint32_t at, struct entry entry)
{
    heap->at[at] = entry;
    if (placing != NULL)
        placing->machines[entry.what].place = at;
}

static void rise(struct heap *heap, struct simulation *placing, uint32_t at, struct entry entry)
{
    for (; at > 0 && heap->at[(at - 1) / 2].key > entry.key; at = (at - 1) / 2)
        put(heap, placing, at, heap->at[(at - 1) / 2]);
    put(heap, placing, at, entry);
}

static void sink(struct heap *heap, struct simulation *placing, uint32_t at, struct entry entry)
{
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->at[child + 1].key < heap->at[child].key)
            child++;
        if (heap->at[child].key >= entry.key)
            break;
        put(heap, placing, at, heap->at[child]);
        at = child;
    }
    put(heap, placing, at, entry);
}

static int push(struct heap *heap, struct simulation *placing, struct entry entry)
{
    if (array_reserve(&heap->at, &heap->room, (size_t)heap->count + 1, sizeof(*heap->at)) < 0)
        return -ENOMEM;
    rise(heap, placing, heap->count++, entry);
    return 0;
}

static struct entry pop(struct heap *heap, struct simulation *placing)
{
    struct entry first = heap->at[0], last = heap->at[--heap->count];

    if (placing != NULL)
        placing->machines[first.what].place = NO_INDEX;
    if (heap->count > 0)
        sink(heap, placing, 0, last);
    return first;
}

/* ---- machines ---- */

static uint32_t cores_of(const struct simulation *simulation, uint32_t machine)
{
    const struct assignment *assignment = simulation->placed->assignment;

    if (simulation->placed->unlimited)
        return UINT32_MAX;
    if (assignment->kind == ASSIGNED)
        return assignment->machines[machine].cores;
    if (assignment->cores != 0)
        return assignment->cores;
    if (assignment->kind == AS_RECORDED && machine < simulation->graph->machine_count &&
        simulation->graph->machines[machine].cpus != 0)
        return simulation->graph->machines[machine].cpus;
    return 1;
}

/* Index of a machine by its number in the assignment, or -ENOMEM. */
static int64_t find_machine(struct simulation *simulation, uint32_t number)
{
    uint32_t found = lookup_find(&simulation->machine_numbers, number);
    uint32_t count = simulation->machine_count;

    if (found != LOOKUP_NONE)
        return found;
    if (array_reserve(&simulation->machines, &simulation->machine_room, (size_t)count + 1,
                      sizeof(*simulation->machines)) < 0 ||
        lookup_set(&simulation->machine_numbers, number, count) < 0)
        return -ENOMEM;
    simulation->machines[count] = (struct processors){
        .cores = cores_of(simulation, number),
        .speed = placed_speed(simulation->placed, number),
        .others = other_load_of(simulation->graph, simulation->placed, number),
        .place = NO_INDEX,
    };
    return simulation->machine_count++;
}

/* The part of a processor that each chain of a machine has. */
static double share_of(const struct processors *machine)
{
    double share = machine->cores / (machine->chains.count + machine->others);

    return machine->speed * (share < 1 ? share : 1);
}

/* CPU time of a chain in a unit of simulated time, which is process time in appendix A. */
static double rate_of(const struct simulation *simulation, const struct processors *machine)
{
    return simulation->weights == NULL ? share_of(machine) : 1;
}

/* Updates the machine's count; to be called before chains come or go. */
static void advance(const struct simulation *simulation, struct processors *machine)
{
    double passed = simulation->now - machine->when;

    if (machine->chains.count > 0) {
        machine->count += passed * rate_of(simulation, machine);
        if (simulation->weights != NULL)
            machine->weighed += passed / share_of(machine);
    } else {
        machine->count = machine->weighed = 0; /* small numbers are exact */
    }
    machine->when = simulation->now;
}

/* After chains have come or gone: updates when the next one ends. */
static int reckon(struct simulation *simulation, uint32_t index)
{
    struct processors *machine = &simulation->machines[index];
    struct heap *heap = &simulation->next;

    if (machine->chains.count == 0) {
        uint32_t place = machine->place;
        if (place == NO_INDEX)
            return 0;
        struct entry last = heap->at[--heap->count];
        machine->place = NO_INDEX;
        if (place == heap->count)
            return 0;
        if (place > 0 && heap->at[(place - 1) / 2].key > last.key)
            rise(heap, simulation, place, last);
        else
            sink(heap, simulation, place, last);
        return 0;
    }
    double left = machine->chains.at[0].key - machine->count;
    struct entry entry = {machine->when + (left > 0 ? left : 0) / rate_of(simulation, machine),
                          index};
    if (machine->place == NO_INDEX)
        return push(heap, simulation, entry);
    if (entry.key < heap->at[machine->place].key)
        rise(heap, simulation, machine->place, entry);
    else
        sink(heap, simulation, machine->place, entry);
    return 0;
}

/* ---- ends of stretches ---- */

static uint32_t *end_index(const struct simulation *simulation, uint32_t stretch)
{
    return (uint32_t *)simulation->end_indexes.at + stretch;
}

static struct end *find_end(struct simulation *simulation, uint32_t stretch)
{
    uint32_t index = *end_index(simulation, stretch);

    return index == 0 ? NULL : pool_at_sized(&simulation->ends, index - 1, sizeof(struct end));
}

/* NULL: out of memory. */
static struct end *add_end(struct simulation *simulation, uint32_t stretch, double time)
{
    uint32_t users = simulation->graph->stretches.at[stretch].users;
    int64_t index = pool_take(&simulation->ends);

    if (index < 0)
        return NULL;
    *end_index(simulation, stretch) = (uint32_t)index + 1;
    struct end *end = pool_at(&simulation->ends, (uint32_t)index);
    *end = (struct end){.time = time, .users = users, .kept = users == STRETCH_USERS_MOST};
    return end;
}

static void leave_end(struct simulation *simulation, struct end *end, uint32_t stretch)
{
    if (end->kept || --end->users > 0)
        return;
    pool_give(&simulation->ends, *end_index(simulation, stretch) - 1);
    *end_index(simulation, stretch) = 0;
}

/* Also of a sleep, which waits for no other stretch. */
static double arc_delay(const struct simulation *simulation, const struct stretch *stretch)
{
    const struct sharing_run *run = simulation->run;

    if (run != NULL)
        return run->wait(run->context, (uint32_t)(stretch - simulation->graph->stretches.at));
    return stretch->wait == STRETCH_SLEEP
               ? (double)stretch_time(stretch)
               : (double)placed_delay_of_arc(simulation->graph, simulation->placed, stretch);
}

static uint32_t process_of(const struct simulation *simulation, uint32_t chain)
{
    return simulation->graph->starts[chain].process;
}

static double no_cpu_of(const struct simulation *simulation, uint32_t stretch)
{
    const struct sharing_run *run = simulation->run;

    return run == NULL ? 0 : run->no_cpu(run->context, stretch);
}

static double cpu_of(const struct simulation *simulation, const struct stretch *stretch)
{
    const struct sharing_run *run = simulation->run;

    return run == NULL
               ? (double)stretch->cpu
               : run->cpu(run->context, (uint32_t)(stretch - simulation->graph->stretches.at));
}

static uint32_t machine_of(const struct simulation *simulation, uint32_t chain)
{
    const struct sharing_run *run = simulation->run;
    uint32_t process = process_of(simulation, chain);

    return run != NULL && run->machines != NULL
               ? run->machines[process]
               : graph_machine_of(simulation->graph, simulation->placed, process);
}

/* Negative: its wait determined when it ended, not its own chain. */
static void note_end(struct simulation *simulation, uint32_t chain, bool by_wait)
{
    const struct sharing_run *run = simulation->run;

    if (run != NULL)
        run->ends[simulation->chains[chain].stretch] = by_wait ? -simulation->now : simulation->now;
}

/* ---- slices ---- */

/* Nothing changes until then. */
static int note_slice(struct simulation *simulation, double until)
{
    if (simulation->slicing == NULL || until <= simulation->now)
        return 0;
    for (uint32_t i = 0; i < simulation->machine_count; i++) {
        const struct processors *machine = &simulation->machines[i];
        for (uint32_t k = 0; k < machine->chains.count; k++)
            simulation->slicing->rates[machine->chains.at[k].what] = share_of(machine);
    }
    return slices_pass(simulation->slicing, until);
}

/* A chain continues at `time`, because of what happened in another one at `since`. */
static int note_arc(struct simulation *simulation, uint32_t chain, double since, double time)
{
    const struct stretch *stretches = simulation->graph->stretches.at;
    const struct stretch *stretch = &stretches[simulation->chains[chain].stretch];

    if (simulation->slicing == NULL || stretch->wait == STRETCH_SINCE)
        return 0;
    return slices_arc(simulation->slicing, stretches[stretch->source].chain, chain, since,
                      time > simulation->now ? time : simulation->now,
                      stretch->wait == STRETCH_MESSAGE);
}

/* ---- chains ---- */

static int begin_stretch(struct simulation *simulation, uint32_t chain);

static int start_chain(struct simulation *simulation, uint32_t chain)
{
    const struct graph *graph = simulation->graph;
    struct running *running = &simulation->chains[chain];

    if (graph->starts[chain].first == NO_STRETCH || running->alive)
        return 0;
    int64_t machine = find_machine(simulation, machine_of(simulation, chain));
    if (machine < 0)
        return -ENOMEM;
    running->alive = true;
    running->stretch = graph->starts[chain].first;
    running->machine = (uint32_t)machine;
    simulation->living++;
    if (simulation->slicing != NULL)
        slices_begin_chain(simulation->slicing, chain, machine_of(simulation, chain),
                           simulation->now);
    return begin_stretch(simulation, chain);
}

static int wait_until(struct simulation *simulation, uint32_t chain, double time)
{
    return push(&simulation->timers, NULL,
                (struct entry){time > simulation->now ? time : simulation->now, chain});
}

/* Chains that wait for the end of a stretch continue after their delay. */
static int wake_waiters(struct simulation *simulation, struct end *end, uint32_t stretch)
{
    uint32_t waiter = end->first_waiter;

    end->first_waiter = 0;
    while (waiter != 0) {
        struct running *running = &simulation->chains[waiter - 1];
        uint32_t next = running->next_waiter;
        running->next_waiter = 0;
        const struct stretch *waiting = &simulation->graph->stretches.at[running->stretch];
        double time = end->time + arc_delay(simulation, waiting);
        int noted = note_arc(simulation, waiter - 1, end->time, time);
        if (noted < 0)
            return noted;
        time += no_cpu_of(simulation, running->stretch);
        if (wait_until(simulation, waiter - 1, time) < 0)
            return -ENOMEM;
        leave_end(simulation, end, stretch);
        waiter = next;
    }
    return 0;
}

/* A stretch has ended, including its wait: wakes the chains that wait for it, and begins the next one. */
static int end_stretch(struct simulation *simulation, uint32_t chain)
{
    struct running *running = &simulation->chains[chain];
    uint32_t index = running->stretch;
    const struct stretch *stretch = &simulation->graph->stretches.at[index];

    note_end(simulation, chain, running->by_wait);
    running->by_wait = false;
    if (stretch->users > 0) {
        struct end *end = find_end(simulation, index);
        if (end != NULL)
            end->time = simulation->now;
        else
            end = add_end(simulation, index, simulation->now);
        int woken = end == NULL ? -ENOMEM : wake_waiters(simulation, end, index);
        if (woken < 0)
            return woken;
    }
    if (stretch->wait == STRETCH_CREATES && stretch->weight != 0) {
        int started = start_chain(simulation, stretch->weight - 1);
        if (started == 0 && simulation->slicing != NULL)
            started = slices_arc(simulation->slicing, chain, stretch->weight - 1, simulation->now,
                                 simulation->now, false);
        if (started < 0)
            return started;
    }
    if (stretch->next == 0) {
        if (simulation->slicing != NULL)
            slices_end_chain(simulation->slicing, chain, simulation->now);
        simulation->living--;
        return 0;
    }
    running->stretch = index + stretch->next;
    return begin_stretch(simulation, chain);
}

/* A stretch has used its CPU time: begins its wait, if it has one. */
static int begin_wait(struct simulation *simulation, uint32_t chain)
{
    struct running *running = &simulation->chains[chain];
    const struct stretch *stretch = &simulation->graph->stretches.at[running->stretch];
    double no_cpu = no_cpu_of(simulation, running->stretch);

    if (stretch->wait == STRETCH_RUNS || stretch->wait == STRETCH_CREATES)
        return wait_until(simulation, chain, simulation->now + no_cpu);
    if (stretch->wait == STRETCH_SLEEP)
        return wait_until(simulation, chain,
                          simulation->now + arc_delay(simulation, stretch) + no_cpu);
    struct end *end = find_end(simulation, stretch->source);
    if (end == NULL && (end = add_end(simulation, stretch->source, -1)) == NULL)
        return -ENOMEM;
    if (end->time < 0) {
        running->next_waiter = end->first_waiter;
        running->by_wait = true;
        end->first_waiter = chain + 1;
        return 0;
    }
    double time = end->time + arc_delay(simulation, stretch);
    running->by_wait = time > simulation->now;
    int noted = note_arc(simulation, chain, end->time, time);
    leave_end(simulation, end, stretch->source);
    time = (running->by_wait ? time : simulation->now) + no_cpu;
    return noted < 0 ? noted : wait_until(simulation, chain, time);
}

static int begin_stretch(struct simulation *simulation, uint32_t chain)
{
    struct running *running = &simulation->chains[chain];
    const struct stretch *stretch = &simulation->graph->stretches.at[running->stretch];
    struct processors *machine = &simulation->machines[running->machine];

    if (stretch->cpu == 0)
        return begin_wait(simulation, chain);
    advance(simulation, machine);
    running->weighed = machine->weighed;
    if (push(&machine->chains, NULL,
             (struct entry){machine->count + cpu_of(simulation, stretch), chain}) < 0)
        return -ENOMEM;
    return reckon(simulation, running->machine);
}

/* The next chain of this machine has got its CPU time. */
static int end_next(struct simulation *simulation, uint32_t index)
{
    struct processors *machine = &simulation->machines[index];

    advance(simulation, machine);
    struct entry ended = pop(&machine->chains, NULL);
    if (machine->count < ended.key) /* only by rounding */
        machine->count = ended.key;
    if (simulation->weights != NULL)
        simulation->weights[simulation->chains[ended.what].stretch] =
            machine->weighed - simulation->chains[ended.what].weighed;
    int result = reckon(simulation, index);
    return result < 0 ? result : begin_wait(simulation, ended.what);
}

static int run(struct simulation *simulation)
{
    struct heap *next = &simulation->next, *timers = &simulation->timers;
    int result = 0;

    while (result == 0 && next->count + timers->count > 0) {
        if (next->count > 0 && (timers->count == 0 || next->at[0].key < timers->at[0].key)) {
            if ((result = note_slice(simulation, next->at[0].key)) < 0)
                break;
            simulation->now = next->at[0].key;
            result = end_next(simulation, next->at[0].what);
        } else {
            if ((result = note_slice(simulation, timers->at[0].key)) < 0)
                break;
            simulation->now = timers->at[0].key;
            result = end_stretch(simulation, pop(timers, NULL).what);
        }
    }
    return result < 0 ? result : simulation->living > 0 ? -EDEADLK : 0;
}

/* Room for the ends of all stretches. */
static int open_ends(struct simulation *simulation)
{
    int result = scratch_open(&simulation->end_indexes, sizeof(uint32_t),
                              simulation->graph->options->directory, NULL);

    return result < 0 ? result
                      : scratch_reserve(&simulation->end_indexes,
                                        (size_t)simulation->graph->stretches.count + 1);
}

/* `how` has what was asked for. */
static int simulate(struct simulation how, uint64_t *ret_longest)
{
    struct simulation simulation = how;
    const struct graph *graph = how.graph;
    int result = 0;

    simulation.ends.size = sizeof(struct end);
    simulation.chains = calloc((size_t)graph->chain_count + 1, sizeof(*simulation.chains));
    if (simulation.chains == NULL)
        return -ENOMEM;
    result = open_ends(&simulation);
    for (uint32_t i = 0; i < graph->chain_count && result == 0; i++)
        if (!graph->starts[i].created)
            result = start_chain(&simulation, i);
    if (result == 0)
        result = run(&simulation);
    if (result == 0)
        *ret_longest = (uint64_t)(simulation.now + 0.5);
    for (uint32_t i = 0; i < simulation.machine_count; i++)
        free(simulation.machines[i].chains.at);
    free(simulation.machines);
    free(simulation.chains);
    free(simulation.next.at);
    free(simulation.timers.at);
    lookup_done(&simulation.machine_numbers);
    scratch_close(&simulation.end_indexes);
    pool_done(&simulation.ends);
    return result;
}

int sharing_simulate(const struct graph *graph, const struct placed *placed, uint64_t *ret_longest)
{
    return simulate((struct simulation){.graph = graph, .placed = placed}, ret_longest);
}

int sharing_weigh(const struct graph *graph, const struct placed *placed, double *weights)
{
    uint64_t process_time;

    return simulate((struct simulation){.graph = graph, .placed = placed, .weights = weights},
                    &process_time);
}

int sharing_slice(const struct graph *graph, const struct placed *placed, struct slicing *slicing)
{
    uint64_t longest;

    return simulate((struct simulation){.graph = graph, .placed = placed, .slicing = slicing},
                    &longest);
}

int sharing_run(const struct graph *graph, const struct placed *placed,
                const struct sharing_run *run)
{
    uint64_t longest;

    return simulate((struct simulation){.graph = graph, .placed = placed, .run = run}, &longest);
}
