/* SPDX-License-Identifier: MIT */
/* lanes.c: pieces of time in bins. See lanes.h. */
#include "analysis/lanes/lanes_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- bins ---- */

/* What a piece has in bins, one after the other: `take` gets the bin and the part's ns. Returns 0, or what `take` returned. */
typedef int take_part(void *context, unsigned bin, float time);

static int spread(const struct lanes_analysis *analysis, const struct elapsed_piece *piece,
                  take_part *take, void *context)
{
    double width = (double)(analysis->end - analysis->begin) / LANES_BINS;
    double begin = (double)(piece->begin - analysis->begin) / width;
    double end = (double)(piece->end - analysis->begin) / width;
    int result = 0;

    if (piece->begin < analysis->begin || piece->end <= piece->begin)
        return 0;
    for (int bin = (int)begin; bin < LANES_BINS && bin < end && result == 0; bin++) {
        double from = begin > bin ? begin : bin, to = end < bin + 1 ? end : bin + 1;
        double part = (double)piece->time * (to - from) / (end - begin);
        result = take(context, (unsigned)bin, (float)part);
    }
    return result;
}

/* Bins that are made with their first part. Returns 0 or -ENOMEM. */
static int add_to_bin(float **bins, unsigned bin, float time)
{
    if (*bins == NULL && (*bins = calloc(LANES_BINS, sizeof(**bins))) == NULL)
        return -ENOMEM;
    (*bins)[bin] += time;
    return 0;
}

static int add_part(void *bins, unsigned bin, float time)
{
    return add_to_bin(bins, bin, time);
}

/* ---- processes ---- */

void lanes_script(const char *label, char script[PROCESS_LABEL_SIZE])
{
    const char *at;
    size_t length = elapsed_script(label, &at);

    memcpy(script, at, length);
    memset(script + length, 0, PROCESS_LABEL_SIZE - length);
}

/* Whether the process has another name at the end, as far as that is still known. */
static bool is_passing(const struct lanes_analysis *analysis, const struct elapsed_piece *piece)
{
    const struct stream_record *first =
        identities_stream(history_identities(analysis->history), piece->origin, piece->process);

    return first != NULL && first->pid == piece->pid &&
           strncmp(first->name, piece->name, STREAM_NAME_SIZE) != 0;
}

static void describe(const struct lanes_analysis *analysis, const struct elapsed_piece *piece,
                     struct actor *actor)
{
    actor->sums.origin = piece->origin;
    actor->sums.machine = history_machine(analysis->history, piece->origin);
    actor->sums.pid = piece->pid;
    actor->sums.processes = 1;
    actor->sums.passing = is_passing(analysis, piece);
    strncpy(actor->sums.name, piece->name, STREAM_NAME_SIZE);
    strncpy(actor->sums.label, piece->label, PROCESS_LABEL_SIZE - 1);
    lanes_script(piece->label, actor->sums.script);
}

/* NULL: out of memory. */
static struct actor *actor_of(struct lanes_analysis *analysis, const struct elapsed_piece *piece)
{
    uint64_t key = lanes_key(number_key(piece->origin, piece->process), piece->name);
    uint32_t before = analysis->keys.count;
    int64_t index = intern_add(&analysis->keys, key);

    if (index < 0 || array_reserve(&analysis->actors, &analysis->actor_room, (size_t)index + 1,
                                   sizeof(*analysis->actors)) < 0)
        return NULL;
    if (index == before)
        describe(analysis, piece, &analysis->actors[index]);
    return &analysis->actors[index];
}

/* ---- the account: during elapsed_finish ---- */

struct accounted {
    struct lanes_analysis *analysis;
    uint32_t actor;
    enum elapsed_kind kind;
};

static int add_to_cell(void *context, unsigned bin, float time)
{
    const struct accounted *of = context;
    struct lanes_analysis *analysis = of->analysis;
    uint32_t before = analysis->cell_keys.count;
    uint64_t key = number_key(of->actor, bin * ELAPSED_KIND_COUNT + of->kind);
    int64_t index = intern_add(&analysis->cell_keys, key);

    if (index < 0 || array_reserve(&analysis->cells, &analysis->cell_room, (size_t)index + 1,
                                   sizeof(*analysis->cells)) < 0)
        return -ENOMEM;
    if (index == before)
        analysis->cells[index] =
            (struct cell){.actor = of->actor, .bin = (uint16_t)bin, .kind = (uint16_t)of->kind};
    analysis->cells[index].time += time;
    return 0;
}

static int add_to_account(void *context, const struct elapsed_piece *piece)
{
    struct lanes_analysis *analysis = context;

    if (!analysis->has_span) {
        elapsed_span(analysis->elapsed, &analysis->begin, &analysis->end);
        analysis->has_span = true;
    }
    struct actor *actor = actor_of(analysis, piece);
    if (actor == NULL)
        return -ENOMEM;
    actor->sums.account[piece->kind] += piece->time;
    struct accounted of = {analysis, (uint32_t)(actor - analysis->actors), piece->kind};
    return spread(analysis, piece, add_to_cell, &of);
}

/* ---- losses ---- */

static int add_loss(struct lanes_analysis *analysis, const struct lanes_loss *loss)
{
    struct lanes_loss *last =
        analysis->loss_count == 0 ? NULL : &analysis->losses[analysis->loss_count - 1];

    if (last != NULL && last->machine == loss->machine && last->skipped == loss->skipped &&
        (loss->begin <= last->end || analysis->loss_count >= LANES_LOSSES)) {
        last->end = loss->end > last->end ? loss->end : last->end;
        last->records += loss->records;
        return 0;
    }
    if (array_reserve(&analysis->losses, &analysis->loss_room, analysis->loss_count + 1,
                      sizeof(*analysis->losses)) < 0)
        return -ENOMEM;
    analysis->losses[analysis->loss_count++] = *loss;
    return 0;
}

/* The records of a ring come in order, and a LOST as soon as there is space for it: what it reports was after the latest
 * event that was read, at the earliest. */
static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct lanes_analysis *analysis = self;
    const struct record *record = (const struct record *)event->event.header;
    uint32_t origin = event->event.origin;

    (void)problem;
    if (array_reserve(&analysis->seen, &analysis->seen_room, (size_t)origin + 1,
                      sizeof(*analysis->seen)) < 0)
        return -ENOMEM;
    if (analysis->first_record == 0)
        analysis->first_record =
            history_common_time(analysis->history, origin, record->header.time);
    uint64_t before = analysis->seen[origin];
    if (event_is_metered(record->header.id))
        analysis->seen[origin] = record->header.time;
    if (record->header.id != EVENT_LOST)
        return 0;
    return add_loss(analysis,
                    &(struct lanes_loss){
                        .machine = history_machine(analysis->history, origin),
                        .begin = history_common_time(analysis->history, origin,
                                                     before != 0 && before < record->header.time
                                                         ? before
                                                         : record->header.time),
                        .end = history_common_time(analysis->history, origin, record->header.time),
                        .records = record->lost.count,
                        .skipped = record->lost.reason == LOST_SKIPPED});
}

/* ---- the result ---- */

static int add_to_sums(void *context, const struct elapsed_piece *piece)
{
    struct actor *actor = actor_of(context, piece);

    if (actor == NULL)
        return -ENOMEM;
    actor->sums.time[piece->kind] += piece->time;
    return 0;
}

struct filling {
    struct lanes_analysis *analysis;
    struct lanes *lanes;
};

static int add_to_bins(void *context, const struct elapsed_piece *piece)
{
    struct filling *filling = context;
    const struct actor *actor = actor_of(filling->analysis, piece);
    struct lane *lane =
        actor->lane == NO_LANE ? &filling->lanes->others : &filling->lanes->list[actor->lane];
    int result = spread(filling->analysis, piece, add_part, &lane->bins[piece->kind]);

    if (result == 0 && actor->member != NO_LANE)
        result = spread(filling->analysis, piece, add_part,
                        &lane->members[actor->member].bins[piece->kind]);
    return result;
}

static int add_account_bins(const struct lanes_analysis *analysis, struct lanes *lanes)
{
    int result = 0;

    for (uint32_t i = 0; i < analysis->cell_keys.count && result == 0; i++) {
        const struct cell *cell = &analysis->cells[i];
        const struct actor *actor = &analysis->actors[cell->actor];
        struct lane *lane = actor->lane == NO_LANE ? &lanes->others : &lanes->list[actor->lane];
        result = add_to_bin(&lane->account_bins[cell->kind], cell->bin, cell->time);
        if (result == 0 && actor->member != NO_LANE)
            result = add_to_bin(&lane->members[actor->member].account_bins[cell->kind], cell->bin,
                                cell->time);
    }
    return result;
}

static int fill(struct lanes_analysis *analysis, struct lanes *lanes)
{
    struct filling filling = {analysis, lanes};
    int result = elapsed_each_piece(analysis->elapsed, add_to_sums, analysis);

    for (uint32_t i = 0; i < analysis->keys.count; i++)
        analysis->actors[i].member = NO_LANE;
    if (result == 0)
        result = lanes_choose(analysis, lanes);
    if (result == 0)
        result = elapsed_each_piece(analysis->elapsed, add_to_bins, &filling);
    if (result == 0)
        result = add_account_bins(analysis, lanes);
    if (result == 0)
        result = elapsed_profile(analysis->elapsed, &lanes->profile);
    return result;
}

static int name_machines(const struct lanes_analysis *analysis, struct lanes *lanes)
{
    lanes->machine_names = calloc(analysis->seen_room + 1, sizeof(*lanes->machine_names));
    if (lanes->machine_names == NULL)
        return -ENOMEM;
    lanes->origins = (uint32_t)analysis->seen_room;
    for (uint32_t i = 0; i < lanes->origins; i++) {
        const struct machine_record *machine =
            identities_machine(history_identities(analysis->history), i);
        if (machine != NULL)
            memcpy(lanes->machine_names[i], machine->name, MACHINE_NAME_SIZE);
    }
    return 0;
}

int lanes_finish(struct lanes_analysis *analysis, const struct elapsed *account,
                 struct lanes **ret_lanes)
{
    struct lanes *lanes = calloc(1, sizeof(*lanes));

    if (lanes == NULL)
        return -ENOMEM;
    elapsed_span(analysis->elapsed, &analysis->begin, &analysis->end);
    lanes->begin = analysis->begin;
    lanes->end = analysis->end;
    lanes->first_record = analysis->first_record;
    lanes->of_requests = !account->from_start && account->requests.count > 0;
    lanes->account = lanes->of_requests ? account->requests.account.time : account->run.time;
    lanes->losses = analysis->losses;
    lanes->loss_count = analysis->loss_count;
    analysis->losses = NULL;
    int result = name_machines(analysis, lanes);
    if (result == 0 && lanes->end > lanes->begin)
        result = fill(analysis, lanes);
    if (result == 0)
        *ret_lanes = lanes;
    else
        lanes_free(lanes);
    return result;
}

static void free_lane(struct lane *lane)
{
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
        free(lane->bins[kind]);
        free(lane->account_bins[kind]);
    }
    for (size_t i = 0; i < lane->member_count; i++)
        free_lane(&lane->members[i]);
    free(lane->members);
}

void lanes_free(struct lanes *lanes)
{
    if (lanes == NULL)
        return;
    for (size_t i = 0; i < lanes->count; i++)
        free_lane(&lanes->list[i]);
    free_lane(&lanes->others);
    free(lanes->list);
    free(lanes->losses);
    free(lanes->machine_names);
    free(lanes->profile.rows);
    free(lanes);
}

/* ---- beginning and end ---- */

int lanes_new(struct history *history, struct elapsed_analysis *elapsed,
              struct lanes_analysis **ret_analysis)
{
    struct lanes_analysis *analysis = calloc(1, sizeof(*analysis));

    if (analysis == NULL)
        return -ENOMEM;
    analysis->history = history;
    analysis->elapsed = elapsed;
    elapsed_watch(elapsed, add_to_account, analysis);
    *ret_analysis = analysis;
    return 0;
}

void lanes_analysis_free(struct lanes_analysis *analysis)
{
    if (analysis == NULL)
        return;
    free(analysis->actors);
    intern_done(&analysis->keys);
    free(analysis->cells);
    intern_done(&analysis->cell_keys);
    free(analysis->losses);
    free(analysis->seen);
    free(analysis);
}

struct analysis lanes_analysis(struct lanes_analysis *analysis)
{
    return (struct analysis){"the lanes of the chart", analysis, add};
}
