/* SPDX-License-Identifier: MIT */
/* rules_words.c: rules in words, for `dpm rules check`. */
#include "rules/rules_private.h"

#include <inttypes.h>
#include <string.h>

static const char *operator_words(enum rule_operator relation)
{
    static const char *const words[] = {
        [RULE_EQUAL] = "is",           [RULE_UNEQUAL] = "is not",
        [RULE_LESS] = "is less than",  [RULE_GREATER] = "is more than",
        [RULE_AT_MOST] = "is at most", [RULE_AT_LEAST] = "is at least",
    };

    return words[relation];
}

static void value_words(const struct said *said, char *text, size_t size)
{
    const struct event_type *type = event_type((unsigned)said->number);

    if (said->has_other)
        snprintf(text, size, "%s (%s)", said->other.name, said->other.meaning);
    else if (said->field.place == RULE_TYPE && type != NULL)
        snprintf(text, size, "%s", type->name);
    else if (said->field.place == RULE_TYPE)
        snprintf(text, size, "%" PRIu64, said->number);
    else if (said->is_number && said->field.base == 16)
        snprintf(text, size, "0x%" PRIx64, said->number);
    else if (said->is_number && said->field.number.is_signed)
        snprintf(text, size, "%" PRId64, (int64_t)said->number);
    else if (said->is_number)
        snprintf(text, size, "%" PRIu64, said->number);
    else
        snprintf(text, size, "\"%s\"", said->value);
}

static const char *where(const struct said *said)
{
    static const char *const words[RULE_PLACES] = {
        [RULE_NEVER] = "never true",
        [RULE_TYPE] = "kernel: first",
        [RULE_RECORD] = "kernel: each record",
        [RULE_STREAM] = "kernel: each thread once",
        [RULE_PATH] = "kernel: each path once",
        [RULE_MACHINE] = "kernel: once",
    };
    const struct rule_condition condition = {
        .place = (uint8_t)said->field.place,
        .left = said->field.number,
        .right = said->has_other ? said->other.number : (struct rule_number){0},
    };

    if (said->has_other && said->other.place == RULE_NEVER)
        return words[RULE_NEVER];
    if (condition.place == RULE_RAW)
        return "filter: each raw record";
    return rules_in_kernel(&condition) ? words[said->field.place] : "filter: each record";
}

bool rules_explain(const struct rules *rules, uint32_t rule, uint32_t index,
                   char ret_words[RULE_WORDS_SIZE], const char **ret_where)
{
    const struct rule_about *about = &rules->about[rule];
    const struct said *said = &rules->said[about->first + index];
    char value[RULE_WORDS_SIZE / 2];

    if (index >= about->count)
        return false;
    *ret_where = where(said);
    if (said->field.place == RULE_NEVER) {
        snprintf(ret_words, RULE_WORDS_SIZE, "no record of DPM has the field %s", said->field.name);
        return true;
    }
    const char *discards = !said->discards       ? ""
                           : said->field.is_kept ? "; it is kept: results need it"
                                                 : "; it is discarded";
    if (said->relation == RULE_ANY) {
        snprintf(ret_words, RULE_WORDS_SIZE, "the record has %s (%s)%s", said->field.name,
                 said->field.meaning, discards);
        return true;
    }
    value_words(said, value, sizeof(value));
    if (said->has_other) {
        snprintf(ret_words, RULE_WORDS_SIZE, "%s (%s) %s %s%s", said->field.name,
                 said->field.meaning, operator_words(said->relation), value, discards);
        return true;
    }
    snprintf(ret_words, RULE_WORDS_SIZE, "%s %s %s (%s)%s", said->field.name,
             operator_words(said->relation), value, said->field.meaning, discards);
    return true;
}

void rules_discard_words(const struct rules *rules, uint32_t rule, unsigned type,
                         char ret_words[RULE_WORDS_SIZE])
{
    uint64_t absent = rules_discards(rules, rule, type);
    size_t length = 0;

    ret_words[0] = '\0';
    for (unsigned bit = 0; bit < 64 && length < RULE_WORDS_SIZE - 1; bit++) {
        const struct event_field *field =
            absent >> bit & 1 ? event_absent_field(event_type(type), bit) : NULL;
        if (field == NULL)
            continue;
        snprintf(ret_words + length, RULE_WORDS_SIZE - length, "%s%s", length == 0 ? "" : ", ",
                 field->name);
        length = strlen(ret_words);
    }
}

/* ---- what is likely a mistake ---- */

/* A number, written as such, for a type: the papers' traces number types in their own ways. */
static bool is_bare_type(const struct said *said)
{
    return said->field.place == RULE_TYPE && !said->has_other && said->value[0] != '\0' &&
           said->value[strspn(said->value, "0123456789")] == '\0' &&
           event_type((unsigned)said->number) != NULL;
}

/* Narrows the values that a field may have. */
static void narrow(const struct said *said, uint64_t *low, uint64_t *high, bool *none)
{
    uint64_t number = said->number;
    bool below = said->relation == RULE_LESS, above = said->relation == RULE_GREATER;

    *none = *none || (below && number == 0) || (above && number == UINT64_MAX);
    if (said->relation == RULE_EQUAL || said->relation == RULE_AT_LEAST || above)
        *low = number + above > *low ? number + above : *low;
    if (said->relation == RULE_EQUAL || said->relation == RULE_AT_MOST || below)
        *high = number - below < *high ? number - below : *high;
    *none = *none || *low > *high;
}

/* Whether the conditions on a field, the first of which has this index, exclude each other. */
static bool contradicts(const struct said *said, uint32_t index, uint32_t count)
{
    uint64_t low = 0, high = UINT64_MAX;
    bool none = false;

    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(said[i].field.name, said[index].field.name) != 0)
            continue;
        if (i < index || !said[i].is_number || said[i].has_other || said[i].relation == RULE_ANY ||
            said[i].field.number.is_signed)
            return false;
        narrow(&said[i], &low, &high, &none);
    }
    return none;
}

bool rules_note(const struct rules *rules, uint32_t rule, uint32_t index,
                char ret_words[RULE_WORDS_SIZE])
{
    const struct rule_about *about = &rules->about[rule];
    const struct said *said = &rules->said[about->first];

    for (uint32_t i = 0; i < about->count; i++) {
        const char *name = said[i].field.name;
        bool notes[] = {
            contradicts(said, i, about->count),
            is_bare_type(&said[i]),
            said[i].field.place != RULE_RAW && strcmp(name, "code") == 0,
        };
        for (unsigned kind = 0; kind < ARRAY_SIZE(notes); kind++) {
            if (!notes[kind] || index-- > 0)
                continue;
            if (kind == 0)
                snprintf(ret_words, RULE_WORDS_SIZE,
                         "the rule accepts nothing: no %s fulfils all its conditions", name);
            else if (kind == 1)
                snprintf(ret_words, RULE_WORDS_SIZE,
                         "%s is DPM's own number of %s; other systems, and the papers' figures, "
                         "number types in other ways",
                         said[i].value, event_type((unsigned)said[i].number)->name);
            else
                snprintf(ret_words, RULE_WORDS_SIZE,
                         "code is a signal's here; the code of a message in the papers' figures is "
                         "in no trace of DPM's own");
            return true;
        }
    }
    return false;
}
