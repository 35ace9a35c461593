/* SPDX-License-Identifier: MIT */
/* live.c: snapshots: when they are made, which rows they have, how many are kept. See live.h. */
#include "live/live_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int live_new(struct history *history, struct live **ret_live)
{
    struct live *live = calloc(1, sizeof(*live));

    if (live == NULL)
        return -ENOMEM;
    live->history = history;
    live->waits.processes.size = sizeof(struct live_process);
    live->taken_at = clock_now(CLOCK_MONOTONIC);
    live->reader = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    live_default_choice(&live->choice);
    if (statistics_new(history, 0, &live->statistics) < 0) {
        free(live);
        return -ENOMEM;
    }
    *ret_live = live;
    return 0;
}

static void free_snapshot(struct live_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    for (unsigned i = 0; i < LIVE_TABLES; i++)
        free(snapshot->tables[i].at);
    free(snapshot->machines);
    free(snapshot);
}

void live_free(struct live *live)
{
    if (live == NULL)
        return;
    for (unsigned i = 0; i < LIVE_TABLES; i++) {
        live_all_done(&live->all[i]);
        live_all_done(&live->earlier[i]);
    }
    for (size_t i = 0; i < live->kept_count; i++)
        free_snapshot(live->kept[i]);
    live_counters_done(live);
    live_waits_done(&live->waits);
    communication_free(live->now);
    communication_free(live->before);
    statistics_free(live->statistics);
    free(live);
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct live *live = self;

    (void)problem;
    live->records++;
    int result = live_waits_add(live, event); /* first: the statistics forget who has ended */
    return result == 0 ? statistics_add(live->statistics, event) : result;
}

struct analysis live_analysis(struct live *live)
{
    return (struct analysis){.name = "the snapshots", .self = live, .add = add};
}

/* Asked again each time, since clocks become known. */
uint64_t live_time(const struct live *live)
{
    const struct live_waits *waits = &live->waits;
    uint64_t latest = 0;

    for (uint32_t i = 0; i < waits->origin_count; i++) {
        uint64_t time =
            waits->origins[i].seen ? live_common_time(live, i, waits->origins[i].latest) : 0;
        if (time > latest)
            latest = time;
    }
    return latest;
}

uint64_t live_analysed(const struct live *live, uint64_t analysed, uint64_t *latest)
{
    if (analysed > *latest && live_time(live) > 0)
        *latest = analysed;
    return *latest;
}

/* ---- which rows ---- */

void live_default_choice(struct live_choice *choice)
{
    *choice = (struct live_choice){.sort = {
                                       [LIVE_PROCESSES] = LIVE_WAITED_FOR,
                                       [LIVE_PAIRS] = LIVE_SENT,
                                       [LIVE_CONNECTIONS] = LIVE_SENT,
                                       [LIVE_PROGRAMS] = LIVE_WAITED_FOR,
                                       [LIVE_CONTAINERS] = LIVE_WAITED_FOR,
                                       [LIVE_MACHINES] = LIVE_WAITED_FOR,
                                   }};
}

struct ordered {
    uint64_t value, next;
    const struct live_row *row;
};

static int compare(const void *one, const void *other)
{
    const struct ordered *a = one, *b = other;

    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    if (a->next != b->next)
        return a->next > b->next ? -1 : 1;
    if (a->row->ended != b->row->ended) /* what lives is shown also when it does nothing */
        return a->row->ended ? 1 : -1;
    int order = strcmp(a->row->name, b->row->name);
    if (order == 0)
        order = strcmp(a->row->other, b->row->other);
    return order != 0 ? order : a->row->key < b->row->key ? -1 : a->row->key > b->row->key;
}

static bool is_wanted(const struct live_row *row, const char *filter)
{
    return filter[0] == '\0' || strcasestr(row->name, filter) != NULL ||
           strcasestr(row->other, filter) != NULL || strcasestr(row->address, filter) != NULL;
}

static uint64_t activity(const struct live_row *row)
{
    return row->interval[LIVE_CPU] + row->interval[LIVE_SENT] + row->interval[LIVE_RECEIVED];
}

static int choose_rows(const struct live_all *all, const struct live_choice *choice,
                       enum live_table table, struct live_rows *rows)
{
    struct ordered *order = calloc(all->count + 1, sizeof(*order));
    size_t count = 0;

    *rows = (struct live_rows){0};
    if (order == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < all->count; i++) {
        const struct live_row *row = &all->at[i];
        live_row_add(&rows->total, row);
        if (is_wanted(row, choice->filter))
            order[count++] = (struct ordered){
                live_row_value(row, choice->sort[table], choice->so_far), activity(row), row};
    }
    qsort(order, count, sizeof(*order), compare);
    rows->all = count;
    rows->count = count < LIVE_ROWS_MOST ? count : LIVE_ROWS_MOST;
    rows->at = malloc(rows->count * sizeof(*rows->at) + 1);
    for (size_t i = 0; rows->at != NULL && i < count; i++) {
        if (i < rows->count) {
            rows->at[i] = *order[i].row;
            continue;
        }
        live_row_add(&rows->others, order[i].row);
        rows->others_ended += order[i].row->ended;
    }
    free(order);
    return rows->at == NULL ? -ENOMEM : 0;
}

static int choose_all(struct live *live, struct live_snapshot *snapshot)
{
    int result = 0;

    for (unsigned table = 0; result == 0 && table < LIVE_TABLES; table++) {
        free(snapshot->tables[table].at);
        result = choose_rows(&live->all[table], &live->choice, table, &snapshot->tables[table]);
    }
    return result;
}

static size_t size_of(const struct live_snapshot *snapshot)
{
    size_t size = sizeof(*snapshot) + snapshot->machine_count * sizeof(*snapshot->machines);

    for (unsigned i = 0; i < LIVE_TABLES; i++)
        size += snapshot->tables[i].count * sizeof(struct live_row);
    return size;
}

int live_choose(struct live *live, const struct live_choice *choice)
{
    live->choice = *choice;
    if (live->kept_count == 0)
        return 0;
    live->kept_bytes -= size_of(live->kept[0]);
    int result = choose_all(live, live->kept[0]);
    live->kept_bytes += size_of(live->kept[0]);
    return result;
}

/* ---- making one ---- */

/* How long ago a record came here. Also a recorder with nothing to record writes now and then. */
static void look_at_arrivals(struct live *live)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (uint32_t i = 0; i < live->waits.origin_count; i++) {
        struct live_origin *origin = &live->waits.origins[i];
        if (origin->latest != origin->looked)
            origin->arrived = now;
        origin->looked = origin->latest;
        origin->ago = now - origin->arrived;
    }
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* ns that all CPUs worked since `was`; NOT_KNOWN. The kernel counts ticks: it may be a little more than has passed. */
static uint64_t cpu_since(const struct machine_load *now, const struct machine_load *was,
                          uint64_t most)
{
    if (now->elapsed <= was->elapsed || now->cpu_all == NOT_KNOWN || now->cpu_idle == NOT_KNOWN)
        return NOT_KNOWN;
    uint64_t before = was->elapsed == 0 ? 0 : was->cpu_all - was->cpu_idle;
    uint64_t worked = since(now->cpu_all - now->cpu_idle, before);
    return worked > most ? most : worked;
}

/* Its index at the snapshot before; SIZE_MAX: it was not there. A machine that comes late may stand before the others. */
static size_t machine_before(const struct live *live, size_t machine)
{
    const char *name = live->now->machines[machine].name;

    for (size_t i = 0; live->before != NULL && i < live->before->machine_count; i++)
        if (strcmp(live->before->machines[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

/* `time` 0: the recordings go on. */
static int describe_machines(struct live *live, uint32_t origins, uint64_t time,
                             struct live_snapshot *snapshot)
{
    const struct communication *now = live->now, *before = live->before;

    snapshot->machines = calloc(now->machine_count + 1, sizeof(*snapshot->machines));
    if (snapshot->machines == NULL)
        return -ENOMEM;
    snapshot->machine_count = now->machine_count;
    for (size_t i = 0; i < now->machine_count; i++) {
        struct live_machine *machine = &snapshot->machines[i];
        const struct machine_load *load = &now->machines[i].load;
        const struct machine_load none = {0};
        size_t earlier = machine_before(live, i);
        const struct machine_load *was =
            earlier == SIZE_MAX ? &none : &before->machines[earlier].load;
        memcpy(machine->name, now->machines[i].name, sizeof(machine->name));
        machine->last = UINT64_MAX;
        machine->ended = machine->complete = true;
        machine->cpus = load->cpus == NOT_KNOWN ? 0 : load->cpus;
        machine->elapsed = since(load->elapsed, was->elapsed);
        machine->cpu = cpu_since(load, was, machine->elapsed * machine->cpus);
    }
    for (uint32_t i = 0; i < origins; i++) {
        if (history_machine(live->history, i) == NO_MACHINE || i >= live->waits.origin_count ||
            !live->waits.origins[i].seen)
            continue;
        uint32_t index = statistics_machine(live->statistics, i);
        if (index >= snapshot->machine_count)
            continue;
        const struct source_state *state = history_state(live->history, i);
        const struct live_origin *origin = &live->waits.origins[i];
        uint64_t latest = live_common_time(live, i, origin->latest);
        uint64_t ago = time == 0 ? origin->ago : time > latest ? time - latest : 0;
        struct live_machine *machine = &snapshot->machines[index];
        if (ago < machine->last)
            machine->last = ago;
        machine->ended = machine->ended && origin->ended;
        machine->complete = machine->complete && source_is_whole(state);
    }
    return 0;
}

/* The sum over recordings that go on, once each has reported; after the end, over those that have. */
static uint64_t rate_of_recordings(const struct live *live, bool last)
{
    const struct live_waits *waits = &live->waits;
    uint64_t sum = 0;
    bool is_known = false;

    for (uint32_t i = 0; i < waits->origin_count; i++) {
        const struct live_origin *origin = &waits->origins[i];
        if (!origin->seen || (origin->ended && !last))
            continue;
        if (!origin->has_rate && !origin->ended)
            return NOT_KNOWN;
        sum += origin->has_rate ? origin->rate : 0;
        is_known = is_known || origin->has_rate;
    }
    return is_known ? sum : NOT_KNOWN;
}

static uint64_t rate_of_hooks(const struct live *live, bool last)
{
    const struct live_waits *waits = &live->waits;
    uint64_t sum = 0;
    bool is_known = false;

    for (uint32_t i = 0; i < waits->origin_count; i++) {
        const struct live_origin *origin = &waits->origins[i];
        if (!origin->has_hook_rate || (origin->ended && !last))
            continue;
        sum += origin->hook_rate;
        is_known = true;
    }
    return is_known ? sum : NOT_KNOWN;
}

/* Without what it took to load the meter, before anything was recorded. */
static uint64_t running_cost(const struct own_cost *own)
{
    return own->cpu > own->load ? own->cpu - own->load : 0;
}

#define CORRECTED_LEAST 1000000000u /* ns: a time that was wrong by so much is put right */
#define LENGTH_LEAST    1000000u    /* ns: what comes in less is no rate */

static void describe_whole(struct live *live, uint64_t time, struct live_snapshot *snapshot)
{
    const struct communication *now = live->now;
    const struct live_snapshot *before = live->kept_count == 0 ? NULL : live->kept[0];
    uint64_t real = clock_now(CLOCK_MONOTONIC);

    snapshot->number = ++live->number;
    snapshot->time = now->duration + (time - live->latest);
    if (before != NULL && snapshot->time < before->time &&
        before->time - snapshot->time < CORRECTED_LEAST)
        snapshot->time = before->time; /* clocks became known, or a recording joined */
    snapshot->real = real - live->taken_at;
    snapshot->wall = (int64_t)time + history_wall_offset(live->history, 0);
    snapshot->begin = now->begin;
    snapshot->began =
        now->begin == 0 ? 0 : (int64_t)now->begin + history_wall_offset(live->history, 0);
    snapshot->length = since(snapshot->time, before == NULL ? 0 : before->time);
    snapshot->events = now->events;
    snapshot->new_events = since(now->events, before == NULL ? 0 : before->events);
    snapshot->records = live->records - live->taken_records;
    snapshot->not_known_yet = now->not_known_yet;
    snapshot->lost = now->lost;
    snapshot->new_lost = since(now->lost, before == NULL ? 0 : before->lost);
    snapshot->late = now->matching.late;
    snapshot->dropped = now->dropped;
    snapshot->own = now->matching.own_cost;
    snapshot->own_new =
        since(running_cost(&snapshot->own), before == NULL ? 0 : running_cost(&before->own));
    snapshot->own_rate = rate_of_recordings(live, snapshot->last);
    snapshot->hook_rate = rate_of_hooks(live, snapshot->last);
    snapshot->reader = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    snapshot->reader_new = snapshot->reader - (before == NULL ? live->reader : before->reader);
    /* nothing has come, or the time was put right */
    snapshot->stands = snapshot->length < LENGTH_LEAST && snapshot->real > LENGTH_LEAST &&
                       before != NULL && !snapshot->last;
    if (snapshot->stands)
        snapshot->length = snapshot->real;
    snapshot->decisions = now->decision_count;
    snapshot->new_decisions = since(snapshot->decisions, before == NULL ? 0 : before->decisions);
    if (now->decision_count > 0)
        snapshot->decision = now->decisions[now->decision_count - 1];
    snapshot->communication = now;
    live->taken_at = real;
    live->taken_records = live->records;
}

#define LITTLE 0.1 /* of a CPU: the kernel, and DPM itself, use some, too */

/* Whether processes of a machine have used CPU time of which no record says so yet: then its CPUs worked for longer than rows
 * say. It says what its CPUs did once a second, which may be several intervals. */
static void compare_cpu(struct live *live, struct live_snapshot *snapshot)
{
    const struct live_snapshot *before = live->kept_count == 0 ? NULL : live->kept[0];
    const struct live_all *rows = &live->all[LIVE_MACHINES];

    for (size_t i = 0; i < rows->count; i++)
        if (rows->at[i].machine < snapshot->machine_count)
            snapshot->machines[rows->at[i].machine].shown +=
                live_row_value(&rows->at[i], LIVE_CPU, false);
    for (size_t i = 0; i < snapshot->machine_count; i++) {
        struct live_machine *machine = &snapshot->machines[i];
        size_t earlier = machine_before(live, i);
        const struct live_machine *was =
            before != NULL && earlier < before->machine_count ? &before->machines[earlier] : NULL;
        machine->hides_cpu = was == NULL || was->hides_cpu;
        machine->shown_in = snapshot->stands ? 0 : snapshot->length;
        if (was != NULL && was->elapsed == 0) {
            machine->shown += was->shown;
            machine->shown_in += was->shown_in;
        }
        if (machine->elapsed > 0 && machine->cpu != NOT_KNOWN && machine->shown_in > 0)
            machine->hides_cpu = (double)machine->cpu / (double)machine->elapsed >=
                                 (double)machine->shown / (double)machine->shown_in + LITTLE;
    }
}

/* The oldest ones go. */
static void keep(struct live *live, struct live_snapshot *snapshot)
{
    if (live->kept_count > 0)
        live->kept[0]->communication = NULL;
    live->kept_bytes += size_of(snapshot);
    while (live->kept_count > 0 &&
           (live->kept_count == LIVE_KEPT_MOST || live->kept_bytes > LIVE_KEPT_BYTES)) {
        live->kept_count--;
        live->kept_bytes -= size_of(live->kept[live->kept_count]);
        free_snapshot(live->kept[live->kept_count]);
    }
    memmove(live->kept + 1, live->kept, live->kept_count * sizeof(live->kept[0]));
    live->kept[0] = snapshot;
    live->kept_count++;
}

/* What was now is before. */
static void shift(struct live *live, struct communication *now)
{
    communication_free(live->before);
    live->before = live->now;
    live->now = now;
    for (unsigned i = 0; i < LIVE_TABLES; i++) {
        struct live_all earlier = live->earlier[i];
        live->earlier[i] = live->all[i];
        live->all[i] = earlier;
        live_all_clear(&live->all[i]);
    }
}

int live_take(struct live *live, uint32_t origins, uint64_t time, bool last)
{
    struct communication *now;
    struct live_snapshot *snapshot = calloc(1, sizeof(*snapshot));
    bool goes_on = time == 0 && !last;
    int result = snapshot == NULL ? -ENOMEM : statistics_finish(live->statistics, origins, &now);

    if (result < 0) {
        free(snapshot);
        return result;
    }
    live->latest = live_time(live);
    if (time < live->latest)
        time = live->latest;
    shift(live, now);
    look_at_arrivals(live);
    live_waits_look(live, time, goes_on);
    result = live_rows_make(live);
    if (result == 0)
        result = choose_all(live, snapshot);
    if (result == 0)
        result = describe_machines(live, origins, goes_on ? 0 : time, snapshot);
    if (result == 0 && live->label != NULL)
        result = live_counters_make(live, last);
    if (result < 0) {
        free_snapshot(snapshot);
        return result;
    }
    snapshot->last = last;
    describe_whole(live, time, snapshot);
    compare_cpu(live, snapshot);
    keep(live, snapshot);
    live_waits_next(live, time);
    return 0;
}

void live_end_origin(struct live *live, uint32_t origin)
{
    if (origin < live->waits.origin_count)
        live->waits.origins[origin].ended = true;
}

const struct live_snapshot *live_snapshot(const struct live *live, size_t back)
{
    return back < live->kept_count ? live->kept[back] : NULL;
}

size_t live_kept(const struct live *live)
{
    return live->kept_count;
}
