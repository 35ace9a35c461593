/* SPDX-License-Identifier: MIT */
/*
 * rules_judge.c: runs the program on records.
 *
 *      record --type--> its rules --> conditions --+-- numbers in the record
 *                                                  '-- bits of its stream, path, machine: found in a cache, or asked of
 *                                                      the identities once
 *
 * The caches are small tables: a number's bits are at its index modulo the size, until another number takes the place.
 */
#include "meter/shared/message.h"
#include "rules/rules_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CACHED 4096u /* of each; a power of two */

struct bits {
    uint32_t generation; /* 0: free */
    uint32_t origin, number;
    uint64_t at[RULES_FACTS_MOST / 64];
};

struct rules_judge {
    const struct rules *rules;
    struct identities *identities;
    const struct raw_values *raw;      /* NULL: none */
    uint32_t generations[RULE_PLACES]; /* bits that are older are wrong */
    struct bits *cache[RULE_PLACES];   /* [CACHED] */
    struct rules_selection *selection; /* the kernel's part; NULL: it has none */
    bool
        knows_others_first; /* there was a process of which another thread came before the first one */
};

static void free_caches(struct bits *cache[RULE_PLACES])
{
    for (unsigned place = 0; place < RULE_PLACES; place++)
        free(cache[place]);
}

int rules_judge_change(struct rules_judge *judge, const struct rules *rules)
{
    struct bits *cache[RULE_PLACES] = {0};

    for (unsigned place = 0; place < RULE_PLACES; place++) {
        if (rules->fact_counts[place] > 0)
            cache[place] = calloc(CACHED, sizeof(struct bits));
        if (rules->fact_counts[place] > 0 && cache[place] == NULL) {
            free_caches(cache);
            return -ENOMEM;
        }
    }
    free_caches(judge->cache);
    memcpy(judge->cache, cache, sizeof(cache));
    for (unsigned place = 0; place < RULE_PLACES; place++)
        judge->generations[place] = 1;
    judge->rules = rules;
    rules_selection_free(judge->selection); /* it has the old ones */
    judge->selection = NULL;
    return 0;
}

int rules_judge_new(const struct rules *rules, struct rules_judge **ret_judge)
{
    struct rules_judge *judge = calloc(1, sizeof(*judge));

    if (judge == NULL)
        return -ENOMEM;
    int result = identities_new(&judge->identities);
    if (result == 0)
        result = rules_judge_change(judge, rules);
    if (result < 0) {
        rules_judge_free(judge);
        return result;
    }
    *ret_judge = judge;
    return 0;
}

int rules_judge_select(struct rules_judge *judge, struct selection *shared,
                       const struct machine_record *machine)
{
    struct rules_selection *selection;
    int result = rules_selection_new(judge->rules, shared, machine, &selection);

    if (result < 0)
        return result;
    rules_selection_free(judge->selection);
    judge->selection = selection;
    return 0;
}

void rules_judge_free(struct rules_judge *judge)
{
    if (judge == NULL)
        return;
    identities_free(judge->identities);
    free_caches(judge->cache);
    rules_selection_free(judge->selection);
    free(judge);
}

/* ---- facts ---- */

static bool is_so(const struct rules_judge *judge, unsigned place, const struct rule_fact *fact,
                  uint32_t origin, const void *record)
{
    switch (place) {
    case RULE_STREAM:
        return rule_stream_fact(fact, judge->identities, origin, record);
    case RULE_PATH:
        return rule_path_fact(fact, record);
    default:
        return rule_machine_fact(fact, record);
    }
}

static const void *find_record(const struct rules_judge *judge, unsigned place, uint32_t origin,
                               uint32_t number)
{
    switch (place) {
    case RULE_STREAM:
        return identities_stream(judge->identities, origin, number);
    case RULE_PATH:
        return identities_path(judge->identities, origin, number);
    default:
        return identities_machine(judge->identities, origin);
    }
}

static const struct bits *bits_of(struct rules_judge *judge, unsigned place, uint32_t origin,
                                  uint32_t number)
{
    struct bits *bits = &judge->cache[place][(number + origin * 1021) % CACHED];

    if (bits->generation != judge->generations[place] || bits->origin != origin ||
        bits->number != number) {
        const void *record = find_record(judge, place, origin, number);
        *bits = (struct bits){
            .generation = judge->generations[place], .origin = origin, .number = number};
        for (uint32_t i = 0; record != NULL && i < judge->rules->fact_counts[place]; i++)
            if (is_so(judge, place, &judge->rules->facts[place][i], origin, record))
                bits->at[i / 64] |= 1ull << i % 64;
    }
    return bits;
}

/* The bits that conditions on one record have asked for so far. */
struct asked {
    const struct bits *bits[RULE_PLACES];
};

static uint32_t number_in(unsigned place, const struct record_header *header)
{
    switch (place) {
    case RULE_STREAM:
        return header->stream;
    case RULE_PATH: /* every type with a path begins with it */
        return ((const struct record *)header)->message.path;
    default:
        return 0;
    }
}

static bool has_bit(struct rules_judge *judge, struct asked *asked, unsigned place,
                    const struct event *event, unsigned bit)
{
    const struct bits **bits = &asked->bits[place];

    if (*bits == NULL)
        *bits = bits_of(judge, place, event->origin, number_in(place, event->header));
    return (*bits)->at[bit / 64] >> bit % 64 & 1;
}

/* ---- conditions ---- */

static bool is_there(const struct rule_number *number, const struct event *event)
{
    bool made = !(event->header->flags & RECORD_NO_STREAM);

    if (event->absent != 0 &&
        (event->absent & rule_absent_bit(event->header->id, number->offset)) != 0)
        return false;
    switch (number->presence) {
    case RULE_BY_STREAM:
        return made;
    case RULE_OF_STREAM:
        return record_is_of_stream(event->header);
    case RULE_NONZERO:
        return made && record_pc(event->header) != 0;
    default:
        return true;
    }
}

#define LAST_WORD (sizeof(struct record) - sizeof(uint64_t))

/* Records that rules decide about have 48 bytes, so 8 bytes can be read whatever the field's size, which is faster. */
static uint64_t value_of(const struct rule_number *number, const struct record_header *header)
{
    size_t at = number->offset < LAST_WORD ? number->offset : LAST_WORD;
    uint64_t value;

    memcpy(&value, (const char *)header + at, sizeof(value));
    value >>= 8 * (number->offset - at);
    if (number->size < sizeof(value))
        value &= (1ull << 8 * number->size) - 1;
    if (number->is_span)
        return message_span((const struct record *)header);
    if (number->is_signed && number->size < 8 && value >> (8 * number->size - 1) != 0)
        value |= UINT64_MAX << 8 * number->size;
    return value;
}

static bool record_holds(const struct rule_condition *condition, const struct event *event)
{
    const struct rule_number *left = &condition->left, *right = &condition->right;

    if (!is_there(left, event) || (right->size != 0 && !is_there(right, event)))
        return false;
    return rule_compares(condition->relation, value_of(left, event->header),
                         right->size == 0 ? condition->value : value_of(right, event->header),
                         left->is_signed);
}

static bool raw_holds(const struct rule_condition *condition, const struct raw_values *raw)
{
    unsigned left = condition->left.offset, right = condition->right.offset;
    bool has_other = condition->right.size != 0;

    if (raw == NULL || !raw->has[left] || (has_other && !raw->has[right]))
        return false;
    return rule_compares(condition->relation, raw->value[left],
                         has_other ? raw->value[right] : condition->value,
                         condition->left.is_signed);
}

static bool path_is_absent(const struct event *event)
{
    return event->absent != 0 && (event->absent & EVENT_BODY_FIELD_BIT(0)) != 0;
}

static bool holds(struct rules_judge *judge, const struct rule_condition *condition,
                  const struct event *event, struct asked *asked)
{
    unsigned place = condition->place;

    if (place == RULE_RECORD)
        return record_holds(condition, event);
    if (place == RULE_RAW)
        return raw_holds(condition, judge->raw);
    if ((place == RULE_STREAM && !record_is_of_stream(event->header)) ||
        (place == RULE_PATH && path_is_absent(event)))
        return false;
    return has_bit(judge, asked, place, event, condition->bit);
}

static bool accepts(struct rules_judge *judge, uint32_t number, const struct event *event,
                    struct asked *asked)
{
    const struct rule *rule = &judge->rules->rules[number];
    const struct rule_condition *condition = rules_conditions(judge->rules, rule);

    for (uint32_t i = 0; i < rule->count; i++)
        if (!holds(judge, &condition[i], event, asked))
            return false;
    return true;
}

/* ---- the verdict ---- */

void rules_judge_raw(struct rules_judge *judge, const struct raw_values *values)
{
    judge->raw = values;
}

/* A process whose first thread has another name or cgroup now: its other threads are of a process of that name, too. Until a
 * first thread is known, each of the others has its own name. */
static bool is_renamed(struct rules_judge *judge, const struct event *event)
{
    const struct stream_record *stream = (const struct stream_record *)event->header;
    const struct stream_record *before =
        identities_stream(judge->identities, event->origin, stream->header.stream);

    if (stream->header.stream != stream->process &&
        identities_stream(judge->identities, event->origin, stream->process) == NULL)
        judge->knows_others_first = true;
    if (before == NULL)
        return judge->knows_others_first && stream->header.stream == stream->process;
    return memcmp(before->name, stream->name, STREAM_NAME_SIZE) != 0 ||
           before->cgroup != stream->cgroup;
}

static bool changes_names(struct rules_judge *judge, const struct event *event)
{
    return event->header->id == EVENT_NAME ||
           (event->header->id == EVENT_STREAM && is_renamed(judge, event));
}

static int note(struct rules_judge *judge, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    switch (record->header.id) {
    case EVENT_STREAM:
    case EVENT_IMAGE:
    case EVENT_NAME:
        judge->generations[RULE_STREAM]++;
        break;
    case EVENT_PATH:
        if (judge->cache[RULE_PATH] != NULL) {
            uint32_t number = ((const struct path_record *)record)->path;
            judge->cache[RULE_PATH][(number + event->origin * 1021) % CACHED].generation = 0;
        }
        break;
    case EVENT_MACHINE:
        judge->generations[RULE_MACHINE]++;
        break;
    default:
        return 0;
    }
    return identities_add(judge->identities, event);
}

int rules_judge(struct rules_judge *judge, const struct event *event,
                struct rules_verdict *ret_verdict, struct problem *problem)
{
    const struct rules *rules = judge->rules;
    unsigned id = event->header->id;
    struct asked asked = {0};

    *ret_verdict = (struct rules_verdict){.accepted = true, .rule = RULES_NONE};
    if (changes_names(judge, event) && judge->selection != NULL)
        rules_selection_names_change(judge->selection);
    if (note(judge, event) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    if (judge->selection != NULL)
        rules_selection_note(judge->selection, judge->identities, event);
    if (!rules_decide_about(id))
        return 0;
    ret_verdict->accepted = rules->count == 0;
    for (uint32_t i = 0; i < rules->by_type_count[id] && !ret_verdict->accepted; i++) {
        uint32_t number = rules->by_type[id][i];
        if (!accepts(judge, number, event, &asked))
            continue;
        *ret_verdict = (struct rules_verdict){true, number, rules->absent[number][id]};
    }
    identities_fade(judge->identities, event);
    return 0;
}
