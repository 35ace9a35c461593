/* SPDX-License-Identifier: MIT */
/*
 * rules_selection.c: rules for the kernel meter: fills in what its hooks read (meter/shared/kernel_selection.h).
 *
 *      rules ------------> by_type, conditions        once
 *      STREAM, PATH -----> streams, paths             when the record comes, or the first one of that thread or path that
 *                                                     the kernel has let through because it did not know
 *      NAME, new name ---> epoch + 1                  what is known of threads may have changed: all are looked at again
 *
 * The kernel learns of a thread only what is known for certain: of a process whose command line is still to come, any rule
 * on command lines may be the one.
 */
#include "rules/rules_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct rules_selection {
    const struct rules *rules;
    struct selection *shared;
};

static uint64_t bit_of(uint32_t rule)
{
    return 1ull << (rule < SELECTION_RULES ? rule : SELECTION_RULES - 1);
}

static bool shares_bit(const struct rules *rules, uint32_t rule)
{
    return rule >= SELECTION_RULES - 1 && rules->count > SELECTION_RULES;
}

/* ---- numbers ---- */

#define BODY_BEGIN offsetof(struct record, message)

/* A number behind the header, which is in the record as soon as the meter makes it. The flags of a record may still
 * change, and time, span and the like are taken last. */
static bool kernel_has(const struct rule_number *number)
{
    unsigned at = number->offset - (unsigned)BODY_BEGIN;

    return number->offset >= BODY_BEGIN && !number->is_span && !number->is_signed &&
           number->presence == RULE_ALWAYS && number->size > 0 && at / 8 < 2 &&
           at / 8 == (at + number->size - 1) / 8;
}

bool rules_in_kernel(const struct rule_condition *condition)
{
    if (condition->place == RULE_RAW)
        return false;
    return condition->place != RULE_RECORD ||
           (kernel_has(&condition->left) &&
            (condition->right.size == 0 || kernel_has(&condition->right)));
}

static struct selection_number number_of(const struct rule_number *number)
{
    unsigned at = number->offset - (unsigned)BODY_BEGIN;

    return (struct selection_number){
        .mask = number->size == 8 ? UINT64_MAX : (1ull << 8 * number->size) - 1,
        .second = at >= 8,
        .shift = (uint8_t)(8 * (at % 8)),
    };
}

static uint64_t relation_of(unsigned relation)
{
    static const uint8_t relations[] = {
        [RULE_ANY] = SELECTION_LESS | SELECTION_EQUAL | SELECTION_GREATER,
        [RULE_EQUAL] = SELECTION_EQUAL,
        [RULE_UNEQUAL] = SELECTION_LESS | SELECTION_GREATER,
        [RULE_LESS] = SELECTION_LESS,
        [RULE_GREATER] = SELECTION_GREATER,
        [RULE_AT_MOST] = SELECTION_LESS | SELECTION_EQUAL,
        [RULE_AT_LEAST] = SELECTION_GREATER | SELECTION_EQUAL,
    };

    return relations[relation];
}

static bool is_same(const struct selection_condition *a, const struct selection_condition *b)
{
    return memcmp(&a->left, &b->left, sizeof(*a) - offsetof(struct selection_condition, left)) == 0;
}

/* Returns false if there is no place for it. */
static bool add_condition(struct selection *shared, const struct rule_condition *condition,
                          uint64_t rule)
{
    struct selection_condition new = {
        .left = number_of(&condition->left),
        .value = condition->value,
        .relation = relation_of(condition->relation),
    };
    uint32_t at = 0;

    if (condition->right.size != 0)
        new.right = number_of(&condition->right);
    while (at < shared->conditions_used && !is_same(&shared->conditions[at], &new))
        at++;
    if (at == SELECTION_CONDITIONS)
        return false;
    if (at == shared->conditions_used)
        shared->conditions[shared->conditions_used++] = new;
    shared->conditions[at].rules |= rule;
    return true;
}

/* ---- rules ---- */

/* A rule on another machine accepts nothing here. */
static bool is_of_machine(const struct rules *rules, const struct rule *rule,
                          const struct machine_record *machine)
{
    const struct rule_condition *conditions = rules_conditions(rules, rule);

    for (uint32_t i = 0; i < rule->count; i++)
        if (conditions[i].place == RULE_MACHINE &&
            !rule_machine_fact(&rules->facts[RULE_MACHINE][conditions[i].bit], machine))
            return false;
    return true;
}

static void add_rule(const struct rules *rules, uint32_t number, struct selection *shared,
                     const struct machine_record *machine)
{
    const struct rule *rule = &rules->rules[number];
    const struct rule_condition *conditions = rules_conditions(rules, rule);
    uint64_t bit = bit_of(number);
    bool asks_stream = false, asks_numbers = false;

    if (!is_of_machine(rules, rule, machine))
        return;
    for (uint32_t i = 0; i < rule->count; i++) {
        asks_stream = asks_stream || conditions[i].place == RULE_STREAM;
        shared->asks_paths |= conditions[i].place == RULE_PATH;
        if (conditions[i].place == RULE_RECORD && rules_in_kernel(&conditions[i]) &&
            !shares_bit(rules, number))
            asks_numbers |= add_condition(shared, &conditions[i], bit);
    }
    shared->asks_streams |= asks_stream;
    if (!asks_stream)
        shared->without_stream |= bit;
    if (!asks_numbers)
        shared->plain |= bit;
    for (unsigned id = 1; id < EVENT_ID_END; id++)
        if (rule->types >> id & 1)
            shared->by_type[id] |= bit;
}

static uint64_t types_with_path(void)
{
    struct rule_field path;

    return rule_field_find("path", &path) ? path.types : 0;
}

/* Those that rules decide about are few enough for a mask. */
static uint64_t types_of_control(void)
{
    uint64_t types = 0;

    for (unsigned id = 1; id < SELECTION_TYPES && id < EVENT_ID_END; id++)
        if (event_type(id) != NULL && event_type(id)->ring == RING_CONTROL)
            types |= EVENT_FLAG(id);
    return types;
}

int rules_selection_new(const struct rules *rules, struct selection *shared,
                        const struct machine_record *machine,
                        struct rules_selection **ret_selection)
{
    struct rules_selection *selection = malloc(sizeof(*selection));
    uint64_t generation = shared->generation | 1;

    if (selection == NULL)
        return -ENOMEM;
    *selection = (struct rules_selection){.rules = rules, .shared = shared};
    __atomic_store_n(&shared->generation, generation, __ATOMIC_SEQ_CST);
    memset(&shared->epoch, 0,
           offsetof(struct selection, streams) - offsetof(struct selection, epoch));
    memset(shared->streams, 0, sizeof(shared->streams));
    memset(shared->paths, 0, sizeof(shared->paths));
    shared->epoch = 1;
    shared->with_path = types_with_path();
    shared->of_control = types_of_control();
    for (uint32_t i = 0; i < rules->count; i++)
        add_rule(rules, i, shared, machine);
    if (rules->count > 0)
        __atomic_store_n(&shared->generation, generation + 1, __ATOMIC_SEQ_CST);
    *ret_selection = selection;
    return 0;
}

void rules_selection_free(struct rules_selection *selection)
{
    free(selection);
}

/* ---- threads and paths ---- */

/* Whether the rule may accept records of this stream or path: all its conditions there hold, or may hold. */
static bool may_accept(const struct rules *rules, const struct rule *rule, unsigned place,
                       const struct identities *identities, uint32_t origin, const void *record)
{
    const struct rule_condition *conditions = rules_conditions(rules, rule);

    for (uint32_t i = 0; i < rule->count; i++) {
        const struct rule_fact *fact = &rules->facts[place][conditions[i].bit];
        if (conditions[i].place != place)
            continue;
        bool holds = place == RULE_STREAM
                         ? !rule_stream_fact_known(fact, identities, origin, record) ||
                               rule_stream_fact(fact, identities, origin, record)
                         : !rule_path_fact_known(fact, record) || rule_path_fact(fact, record);
        if (!holds)
            return false;
    }
    return true;
}

static void tell(struct rules_selection *selection, struct selection_entry *entry, unsigned place,
                 uint32_t number, uint32_t version, uint32_t epoch,
                 const struct identities *identities, uint32_t origin, const void *record)
{
    uint64_t rules = 0;

    for (uint32_t i = 0; i < selection->rules->count; i++)
        if ((rules & bit_of(i)) == 0 && may_accept(selection->rules, &selection->rules->rules[i],
                                                   place, identities, origin, record))
            rules |= bit_of(i);
    __atomic_store_n(&entry->number, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&entry->version, version, __ATOMIC_SEQ_CST);
    __atomic_store_n(&entry->epoch, epoch, __ATOMIC_SEQ_CST);
    __atomic_store_n(&entry->rules, rules, __ATOMIC_SEQ_CST);
    __atomic_store_n(&entry->number, number, __ATOMIC_SEQ_CST);
}

static void tell_stream(struct rules_selection *selection, const struct identities *identities,
                        uint32_t origin, uint32_t number)
{
    const struct stream_record *stream = identities_stream(identities, origin, number);
    struct selection_entry *entry = &selection->shared->streams[number % SELECTION_STREAMS];

    if (stream == NULL || number == 0 ||
        (entry->number == number && entry->version == stream->header.sequence &&
         entry->epoch == selection->shared->epoch))
        return;
    tell(selection, entry, RULE_STREAM, number, stream->header.sequence, selection->shared->epoch,
         identities, origin, stream);
}

static void tell_path(struct rules_selection *selection, const struct identities *identities,
                      uint32_t origin, uint32_t number, bool anew)
{
    const struct path_record *path = identities_path(identities, origin, number);
    struct selection_entry *entry = &selection->shared->paths[number % SELECTION_PATHS];

    if (path == NULL || number == 0 || (!anew && entry->number == number))
        return;
    if (path->header.flags & RECORD_UNUSED)
        return; /* the kernel does not know it until its addresses are known */
    tell(selection, entry, RULE_PATH, number, 0, 0, identities, origin, path);
}

void rules_selection_names_change(struct rules_selection *selection)
{
    __atomic_add_fetch(&selection->shared->epoch, 1, __ATOMIC_SEQ_CST);
}

void rules_selection_note(struct rules_selection *selection, const struct identities *identities,
                          const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    unsigned id = record->header.id;

    if (selection->shared->asks_streams && record_is_of_stream(&record->header))
        tell_stream(selection, identities, event->origin, record->header.stream);
    if (!selection->shared->asks_paths)
        return;
    if (id == EVENT_PATH)
        tell_path(selection, identities, event->origin, ((const struct path_record *)record)->path,
                  true);
    else if (rules_decide_about(id) && (selection->shared->with_path >> id & 1))
        tell_path(selection, identities, event->origin, record->message.path, false);
}
