/* SPDX-License-Identifier: MIT */
/*
 * rules_compile.c: makes the program of parsed rules.
 *
 *      type=send, process=redis-server, bytes>1024
 *         |            |                   '-- condition RULE_RECORD: number at byte 40 > 1024
 *         |            '-- condition RULE_STREAM: bit 0;   fact 0 of streams: process is redis-server
 *         '-- rule.types: SEND alone
 */
#include "rules/rules_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES_MOST (256 - EVENT_CLASS_FIRST)

static uint64_t types_of(const struct said *said)
{
    uint64_t types = 0;

    if (said->field.place != RULE_TYPE)
        return said->field.types & (said->has_other ? said->other.types : UINT64_MAX);
    for (unsigned id = 1; id < EVENT_ID_END; id++)
        if (event_type(id) != NULL && rules_decide_about(id) &&
            rule_compares(said->relation, id, said->number, false))
            types |= EVENT_FLAG(id);
    return types;
}

/* ---- facts ---- */

static bool same_fact(const struct rule_fact *a, const struct rule_fact *b)
{
    return a->fact == b->fact && a->relation == b->relation && a->is_number == b->is_number &&
           a->has_other == b->has_other && a->other == b->other && a->number == b->number &&
           strcmp(a->text, b->text) == 0;
}

/* The bit of a fact, which is added if it is new. */
static int fact_bit(struct rules *rules, const struct said *said, uint16_t *ret_bit,
                    struct problem *problem)
{
    unsigned place = said->field.place;
    const struct rule_fact fact = {
        .fact = said->field.fact,
        .relation = said->relation,
        .is_number = said->is_number,
        .has_other = said->has_other,
        .other = said->has_other ? said->other.fact : 0,
        .number = said->number,
        .text = said->value,
    };
    uint32_t bit = 0, count = rules->fact_counts[place];

    while (bit < count && !same_fact(&rules->facts[place][bit], &fact))
        bit++;
    *ret_bit = (uint16_t)bit;
    if (bit < count)
        return 0;
    if (count == RULES_FACTS_MOST)
        return problem_set(
            problem, -E2BIG,
            "the rules have more than %u different conditions on %s: use fewer, e.g. "
            "with patterns",
            RULES_FACTS_MOST,
            place == RULE_STREAM ? "processes"
            : place == RULE_PATH ? "paths"
                                 : "machines");
    if (array_reserve(&rules->facts[place], &rules->fact_capacity[place], count + 1, sizeof(fact)) <
        0)
        return -ENOMEM;
    rules->facts[place][rules->fact_counts[place]++] = fact;
    return 0;
}

/* ---- conditions ---- */

static int compile_condition(struct rules *rules, const struct said *said, struct problem *problem)
{
    struct rule_condition condition = {
        .place = (uint8_t)said->field.place,
        .relation = (uint8_t)said->relation,
        .left = said->field.number,
        .right = said->has_other ? said->other.number : (struct rule_number){0},
        .value = said->number,
    };
    int result = 0;

    if (said->field.place == RULE_NEVER || said->field.place == RULE_TYPE)
        return 0;
    if (said->field.place != RULE_RECORD && said->field.place != RULE_RAW)
        result = fact_bit(rules, said, &condition.bit, problem);
    if (result < 0)
        return result;
    if (array_reserve(&rules->conditions, &rules->condition_capacity, rules->condition_count + 1,
                      sizeof(condition)) < 0)
        return -ENOMEM;
    rules->conditions[rules->condition_count++] = condition;
    return 0;
}

static void note_discard(const struct said *said, uint64_t types, uint64_t absent[EVENT_ID_END])
{
    if (said->discards && said->field.discards != 0)
        for (unsigned id = 1; id < EVENT_ID_END; id++)
            if ((types & said->field.discards_of) >> id & 1)
                absent[id] |= rule_absent_bit(id, said->field.discards);
    if (!said->discards || said->field.place != RULE_RECORD || said->field.is_kept)
        return;
    for (unsigned id = 1; id < EVENT_ID_END; id++)
        if (types >> id & 1)
            absent[id] |= rule_absent_bit(id, said->field.number.offset);
}

static bool is_number_of_record(const struct said *said)
{
    return said->field.place == RULE_RECORD || said->field.place == RULE_RAW;
}

/* Conditions on the record come first: they are the cheapest. */
static int compile_rule(struct rules *rules, uint32_t index, struct problem *problem)
{
    const struct rule_about *about = &rules->about[index];
    const struct said *said = &rules->said[about->first];
    struct rule rule = {.first = rules->condition_count, .types = UINT64_MAX};
    int result = 0;

    for (uint32_t i = 0; i < about->count; i++)
        rule.types &= types_of(&said[i]);
    for (uint32_t i = 0; i < about->count; i++)
        note_discard(&said[i], rule.types, rules->absent[index]);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; result == 0 && i < about->count; i++)
            if (is_number_of_record(&said[i]) == (pass == 0))
                result = compile_condition(rules, &said[i], problem);
    rule.count = rules->condition_count - rule.first;
    rules->rules[index] = rule;
    return result;
}

/* ---- all of them ---- */

static int index_by_type(struct rules *rules)
{
    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        rules->by_type[id] = malloc((rules->count + 1) * sizeof(uint32_t));
        if (rules->by_type[id] == NULL)
            return -ENOMEM;
        for (uint32_t i = 0; i < rules->count; i++)
            if (rules->rules[i].types >> id & 1)
                rules->by_type[id][rules->by_type_count[id]++] = i;
    }
    return 0;
}

/* A trace has a class for each type and set of fields that its records lack. */
static int check_classes(const struct rules *rules, struct problem *problem)
{
    uint64_t seen[CLASSES_MOST];
    uint32_t all = 0;

    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < rules->count; i++) {
            uint64_t absent = rules->absent[i][id];
            uint32_t at = 0;
            while (at < count && seen[at] != absent)
                at++;
            if (absent == 0 || at < count)
                continue;
            if (all++ == CLASSES_MOST)
                return problem_set(problem, -E2BIG,
                                   "the rules discard more than %u different sets of fields: "
                                   "discard fewer",
                                   CLASSES_MOST);
            seen[count++] = absent;
        }
    }
    return 0;
}

int rules_compile(struct rules *rules, struct problem *problem)
{
    int result = 0;

    if (array_reserve(&rules->rules, &rules->rule_capacity, rules->count, sizeof(*rules->rules)) <
            0 ||
        array_reserve(&rules->absent, &rules->absent_capacity, rules->count,
                      sizeof(*rules->absent)) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; result == 0 && i < rules->count; i++)
        result = compile_rule(rules, i, problem);
    if (result == 0)
        result = check_classes(rules, problem);
    return result < 0 ? result : index_by_type(rules);
}

void rules_free(struct rules *rules)
{
    if (rules == NULL)
        return;
    for (unsigned id = 0; id < EVENT_ID_END; id++)
        free(rules->by_type[id]);
    for (unsigned place = 0; place < RULE_PLACES; place++)
        free(rules->facts[place]);
    free(rules->rules);
    free(rules->about);
    free(rules->absent);
    free(rules->conditions);
    free(rules->said);
    arena_done(&rules->texts);
    free(rules);
}

/* ---- what they are ---- */

uint32_t rules_count(const struct rules *rules)
{
    return rules->count;
}

const struct rule *rules_at(const struct rules *rules, uint32_t rule)
{
    return &rules->rules[rule];
}

const struct rule_condition *rules_conditions(const struct rules *rules, const struct rule *rule)
{
    return rules->conditions + rule->first;
}

uint64_t rules_discards(const struct rules *rules, uint32_t rule, unsigned type)
{
    return rules->absent[rule][type];
}

uint64_t rules_types(const struct rules *rules)
{
    uint64_t types = 0;

    for (uint32_t i = 0; i < rules->count; i++)
        types |= rules->rules[i].types;
    return types;
}

const char *rules_text(const struct rules *rules, uint32_t rule)
{
    return rules->about[rule].text;
}

unsigned rules_line(const struct rules *rules, uint32_t rule)
{
    return rules->about[rule].line;
}

char *rules_source(const struct rules *rules)
{
    size_t length = 1;

    for (uint32_t i = 0; i < rules->count; i++)
        length += strlen(rules_text(rules, i)) + strlen(";\n");
    char *text = malloc(length), *end = text;
    for (uint32_t i = 0; text != NULL && i < rules->count; i++)
        end += sprintf(end, "%s;\n", rules_text(rules, i));
    if (text != NULL)
        *end = '\0';
    return text;
}
