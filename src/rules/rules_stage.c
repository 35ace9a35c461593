/* SPDX-License-Identifier: MIT */
/*
 * rules_stage.c: selects records, and counts what it removes by DISCARDED records. See rules.h.
 *
 *      in    MACHINE            SEND  RECEIVE  SEND   RECEIVE           END
 *      out   MACHINE FLAGS NAME                SEND   (1 removed) ...   DISCARDED END
 */
#include "rules/rules.h"

#include "meter/shared/kernel_selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DISCARDED_EVERY 1000000000ULL /* ns, for each stream */

/* What was removed of a stream since its latest DISCARDED. Stream 0: of none. */
struct removed {
    uint32_t stream;
    uint32_t counts[RING_COUNT];
    uint32_t sequence; /* of the record behind the last removed one */
    bool any;          /* a DISCARDED was made ... */
    uint64_t time;     /* ... then */
};

struct rules_stage {
    const struct rules *rules;
    struct rules_judge *judge;
    struct selection *shared;          /* with the kernel meter; NULL: it drops nothing */
    uint64_t dropped_told[RING_COUNT]; /* of what that has dropped */
    uint64_t looked;                   /* when, by the records' times */
    struct machine_record machine;
    struct lookup numbers; /* stream -> index in: */
    struct pool removed;
    struct rules_counts counts;
    uint64_t last_time;
    int64_t wall_offset;
    /* to be taken out: records of our own before the record that came in, or behind it */
    struct record before[RING_COUNT];
    unsigned before_count, before_next;
    bool has_event;
    struct event event;
    uint64_t meter_flags; /* of all processes, as without rules */
    uint32_t kinds_left_out;
    struct flags_record flags;
    bool has_flags;
    uint32_t names_left; /* of the rules */
    struct name_record name;
    bool ending;
    uint32_t end_next; /* index in `removed` */
};

int rules_stage_new(const struct rules *rules, struct rules_stage **ret_stage)
{
    struct rules_stage *stage = calloc(1, sizeof(*stage));

    if (stage == NULL)
        return -ENOMEM;
    stage->rules = rules;
    stage->removed.size = sizeof(struct removed);
    int result = rules_judge_new(rules, &stage->judge);
    if (result < 0) {
        rules_stage_free(stage);
        return result;
    }
    *ret_stage = stage;
    return 0;
}

void rules_stage_free(struct rules_stage *stage)
{
    if (stage == NULL)
        return;
    rules_judge_free(stage->judge);
    lookup_done(&stage->numbers);
    pool_done(&stage->removed);
    free(stage);
}

/* ---- what is removed ---- */

static struct removed *removed_of(struct rules_stage *stage, uint32_t stream, bool add)
{
    uint32_t index = lookup_find(&stage->numbers, stream);

    if (index != LOOKUP_NONE)
        return pool_at(&stage->removed, index);
    if (!add)
        return NULL;
    int64_t taken = pool_take(&stage->removed);
    if (taken < 0 || lookup_set(&stage->numbers, stream, (uint32_t)taken) < 0)
        return NULL;
    struct removed *removed = pool_at(&stage->removed, (uint32_t)taken);
    removed->stream = stream;
    return removed;
}

static uint32_t stream_of(const struct record_header *header)
{
    return header->flags & RECORD_NO_STREAM ? 0 : header->stream;
}

/* Makes the DISCARDEDs of a stream, one for each ring. */
static void tell(struct rules_stage *stage, struct removed *removed, uint64_t time,
                 uint32_t sequence)
{
    stage->before_count = stage->before_next = 0;
    for (unsigned ring = 0; ring < RING_COUNT; ring++) {
        if (removed->counts[ring] == 0)
            continue;
        stage->before[stage->before_count++] = (struct record){
            .header = {.time = time,
                       .id = EVENT_DISCARDED,
                       .flags = removed->stream == 0 ? RECORD_NO_STREAM : 0,
                       .sequence = sequence,
                       .stream = removed->stream},
            .lost = {.count = removed->counts[ring], .ring = ring},
        };
        removed->counts[ring] = 0;
    }
    removed->any = true;
    removed->time = time;
}

static bool has_removed(const struct removed *removed)
{
    return removed->counts[RING_CONTROL] + removed->counts[RING_DATA] > 0;
}

static void tell_if_due(struct rules_stage *stage, const struct record_header *header)
{
    struct removed *removed = removed_of(stage, stream_of(header), false);

    if (removed != NULL && has_removed(removed) &&
        (!removed->any || header->time - removed->time >= DISCARDED_EVERY))
        tell(stage, removed, header->time, header->sequence);
}

/* A stream that has ended counts no more. */
static void tell_end(struct rules_stage *stage, const struct record_header *header)
{
    uint32_t index = lookup_find(&stage->numbers, header->stream);

    if (header->id != EVENT_TERMINATION || index == LOOKUP_NONE ||
        (header->flags & RECORD_NO_STREAM))
        return;
    struct removed *removed = pool_at(&stage->removed, index);
    if (has_removed(removed))
        tell(stage, removed, header->time, header->sequence + (stage->has_event ? 0 : 1));
    lookup_remove(&stage->numbers, header->stream);
    pool_give(&stage->removed, index);
}

static int remove_record(struct rules_stage *stage, const struct record_header *header)
{
    struct removed *removed = removed_of(stage, stream_of(header), true);

    if (removed == NULL)
        return -ENOMEM;
    removed->counts[event_type(header->id)->ring]++;
    if (removed->stream != 0)
        removed->sequence = header->sequence + 1;
    stage->counts.unselected++;
    return 0;
}

static uint64_t dropped_in_kernel(const struct rules_stage *stage, enum ring_id ring)
{
    uint64_t count = 0;

    for (unsigned i = 0; stage->shared != NULL && i < SELECTION_COUNTERS; i++)
        count += __atomic_load_n(&stage->shared->dropped[i].counts[ring], __ATOMIC_RELAXED);
    return count;
}

/* What the kernel drops has no numbers, and is counted for no stream. */
static int note_dropped(struct rules_stage *stage)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        uint64_t more = dropped_in_kernel(stage, ring) - stage->dropped_told[ring];
        struct removed *removed = more == 0 ? NULL : removed_of(stage, 0, true);
        if (more == 0)
            continue;
        if (removed == NULL)
            return -ENOMEM;
        uint64_t most = UINT32_MAX - removed->counts[ring];
        more = more < most ? more : most;
        removed->counts[ring] += (uint32_t)more;
        stage->dropped_told[ring] += more;
    }
    return 0;
}

static int note_dropped_if_due(struct rules_stage *stage, uint64_t time)
{
    if (stage->shared == NULL || time - stage->looked < DISCARDED_EVERY)
        return 0;
    stage->looked = time;
    return note_dropped(stage);
}

/* ---- which rules there are ---- */

/* The flags of types that no rule accepts are off, so that no reader takes the absence of such a record for a fact. */
static uint64_t selected_flags(const struct rules_stage *stage, uint64_t flags)
{
    if (rules_count(stage->rules) == 0)
        return flags;
    return flags & ~(METER_EVENT_FLAGS & rules_types_all() & ~rules_types(stage->rules));
}

static void tell_rules(struct rules_stage *stage, uint64_t time)
{
    stage->flags = (struct flags_record){
        .header = {.time = time, .id = EVENT_FLAGS, .flags = RECORD_NO_STREAM},
        .meter_flags = selected_flags(stage, stage->meter_flags),
        .kinds_left_out = stage->kinds_left_out,
        .rules = rules_count(stage->rules),
    };
    stage->has_flags = true;
    stage->names_left = rules_count(stage->rules);
}

static int select_in_kernel(struct rules_stage *stage, struct problem *problem)
{
    if (stage->shared == NULL ||
        rules_judge_select(stage->judge, stage->shared, &stage->machine) == 0)
        return 0;
    return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
}

static int begin(struct rules_stage *stage, const struct machine_record *machine,
                 struct problem *problem)
{
    stage->machine = *machine;
    stage->meter_flags = machine->meter_flags;
    stage->kinds_left_out = machine->kinds_left_out;
    if (rules_count(stage->rules) > 0)
        tell_rules(stage, machine->header.time);
    return select_in_kernel(stage, problem);
}

void rules_stage_select(struct rules_stage *stage, struct selection *shared)
{
    stage->shared = shared;
}

void rules_stage_let_all_pass(struct rules_stage *stage)
{
    if (stage->shared != NULL)
        __atomic_or_fetch(&stage->shared->generation, 1, __ATOMIC_SEQ_CST);
}

int rules_stage_change(struct rules_stage *stage, const struct rules *rules, uint64_t time,
                       struct problem *problem)
{
    if (rules_judge_change(stage->judge, rules) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    stage->rules = rules;
    stage->has_event = false;
    stage->before_count = stage->before_next = 0;
    if (stage->machine.header.id == 0) /* they come into force with it */
        return 0;
    tell_rules(stage, time);
    if (select_in_kernel(stage, problem) < 0)
        rules_stage_let_all_pass(stage); /* the judge has the new rules, and selects alone */
    return 0;
}

static void note_flags(struct rules_stage *stage, const struct flags_record *flags)
{
    if (flags->process != 0)
        return;
    stage->meter_flags = flags->meter_flags;
    stage->kinds_left_out = flags->kinds_left_out;
}

/* Rules that were in force before have numbers behind ours. */
static void shift(struct rules_stage *stage, struct event *event)
{
    if (event->header->id == EVENT_FLAGS) {
        note_flags(stage, (const struct flags_record *)event->header);
        stage->flags = *(const struct flags_record *)event->header;
        stage->flags.rules += rules_count(stage->rules);
        stage->flags.meter_flags = selected_flags(stage, stage->flags.meter_flags);
        event->header = &stage->flags.header;
    }
    if (event->header->id == EVENT_NAME &&
        ((const struct name_record *)event->header)->kind == NAME_RULE) {
        stage->name = *(const struct name_record *)event->header;
        stage->name.number += rules_count(stage->rules);
        event->header = &stage->name.header;
    }
}

static void make_name(struct rules_stage *stage)
{
    uint32_t rule = rules_count(stage->rules) - stage->names_left--;

    stage->name =
        (struct name_record){.header = stage->flags.header, .number = rule + 1, .kind = NAME_RULE};
    stage->name.header.id = EVENT_NAME;
    strncpy(stage->name.name, rules_text(stage->rules, rule), NAME_SIZE - 1);
}

/* ---- in and out ---- */

void rules_stage_raw(struct rules_stage *stage, const struct raw_values *values)
{
    rules_judge_raw(stage->judge, values);
}

int rules_stage_put(struct rules_stage *stage, const struct event *event, struct problem *problem)
{
    const struct record_header *header = event->header;
    struct rules_verdict verdict;
    int result = rules_judge(stage->judge, event, &verdict, problem);

    if (result < 0)
        return result;
    stage->event = *event;
    stage->last_time = header->time;
    stage->wall_offset = event->wall_offset;
    stage->has_event = verdict.accepted;
    stage->before_count = stage->before_next = 0;
    if (verdict.accepted && rules_decide_about(header->id)) {
        stage->counts.selected++;
        stage->counts.reduced += (verdict.absent & ~event->absent) != 0;
        stage->event.absent |= verdict.absent;
        tell_if_due(stage, header);
    }
    if ((!verdict.accepted && remove_record(stage, header) < 0) ||
        note_dropped_if_due(stage, header->time) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    tell_end(stage, header);
    shift(stage, &stage->event);
    return header->id == EVENT_MACHINE
               ? begin(stage, (const struct machine_record *)header, problem)
               : 0;
}

int rules_stage_end(struct rules_stage *stage, struct problem *problem)
{
    if (note_dropped(stage) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    stage->ending = true;
    stage->end_next = 0;
    stage->has_event = false;
    stage->before_count = stage->before_next = 0;
    return 0;
}

static void give(const struct rules_stage *stage, const struct record_header *header,
                 struct event *ret_event)
{
    *ret_event = (struct event){header, stage->event.origin, stage->wall_offset, 0};
}

/* The next stream with removed records, at the end. */
static bool tell_next(struct rules_stage *stage)
{
    while (stage->end_next < stage->removed.used) {
        struct removed *removed = pool_at(&stage->removed, stage->end_next++);
        if (!has_removed(removed))
            continue;
        tell(stage, removed, stage->last_time, removed->sequence);
        return true;
    }
    return false;
}

bool rules_stage_get(struct rules_stage *stage, struct event *ret_event)
{
    if (stage->before_next < stage->before_count) {
        give(stage, &stage->before[stage->before_next++].header, ret_event);
        return true;
    }
    if (stage->has_event) {
        stage->has_event = false;
        *ret_event = stage->event;
        return true;
    }
    if (stage->has_flags) {
        stage->has_flags = false;
        give(stage, &stage->flags.header, ret_event);
        return true;
    }
    if (stage->names_left > 0) {
        make_name(stage);
        give(stage, &stage->name.header, ret_event);
        return true;
    }
    if (!stage->ending || !tell_next(stage))
        return false;
    return rules_stage_get(stage, ret_event);
}

struct rules_counts rules_stage_counts(const struct rules_stage *stage)
{
    struct rules_counts counts = stage->counts;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        counts.unselected += dropped_in_kernel(stage, ring);
    return counts;
}
