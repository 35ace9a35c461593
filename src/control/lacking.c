/* SPDX-License-Identifier: MIT */
/*
 * lacking.c: fields that selection rules have removed, and results therefore miss. See lacking.h.
 *
 *      dpm: x.trace: 200 SEND lack procTime, removed by rule 1, 'type=send, procTime=#*': ...
 */
#include "control/lacking.h"

#include "control/command.h"
#include "rules/rules.h"
#include "show/show.h"

#include <inttypes.h>
#include <string.h>

#define ABSENT_PROC_TIME (1ull << 5)
#define ABSENT_UNKNOWN   (1ull << 2 | 1ull << 6) /* load, PC */

#define FIELDS_SIZE 120
#define RULES_SIZE  260

static void add(char *text, size_t size, const char *more, const char *separator)
{
    size_t length = strlen(text), left = size - length;

    if (strlen(more) + strlen(separator) < left)
        sprintf(text + length, "%s%s", length == 0 ? "" : separator, more);
}

static void name_fields(unsigned type, uint64_t absent, char text[FIELDS_SIZE])
{
    text[0] = '\0';
    for (unsigned bit = 0; bit < 64; bit++) {
        const struct event_field *field =
            absent >> bit & 1 ? event_absent_field(event_type(type), bit) : NULL;
        if (field != NULL)
            add(text, FIELDS_SIZE, field->name, ", ");
    }
}

/* Whether a rule, as the trace has its text, discards one of these fields. A long text may be cut. */
static bool discards(const char *text, unsigned type, uint64_t absent)
{
    char whole[NAME_SIZE + 1];
    struct rules *rules;

    snprintf(whole, sizeof(whole), "%s;", text);
    if (rules_parse("", whole, strlen(whole), &rules, NULL) < 0)
        return strchr(text, '#') != NULL;
    bool result = rules_count(rules) == 1 && (rules_discards(rules, 0, type) & absent) != 0;
    rules_free(rules);
    return result;
}

static void name_rules(const struct history *history, uint32_t origin, unsigned type,
                       uint64_t absent, char text[RULES_SIZE])
{
    const struct identities *identities = history_identities(history);
    const char *rule;

    text[0] = '\0';
    for (uint32_t i = 1; (rule = identities_rule(identities, origin, i)) != NULL; i++) {
        char one[RULES_SIZE];
        if (!discards(rule, type, absent))
            continue;
        snprintf(one, sizeof(one), "rule %" PRIu32 ", '%s'", i, rule);
        add(text, RULES_SIZE, one, "; ");
    }
    if (text[0] == '\0')
        snprintf(text, RULES_SIZE, "a selection");
}

void report_lacking(const struct history *history, uint32_t origin, const char *name)
{
    const struct history_lacking *lacking = history_lacking(history, origin);

    for (unsigned type = 1; type < EVENT_ID_END; type++) {
        char fields[FIELDS_SIZE], rules[RULES_SIZE], count[UNIT_SIZE];
        uint64_t absent = lacking->absent[type];
        if (absent == 0)
            continue;
        name_fields(type, absent, fields);
        name_rules(history, origin, type, absent, rules);
        show_count(lacking->records[type], count);
        command_say("%s: %s %s lack %s, removed by %s: %s", name, count, event_type(type)->name,
                    fields, rules,
                    (absent & ~(ABSENT_PROC_TIME | ABSENT_UNKNOWN)) != 0
                        ? "results are without these events"
                    : absent & ABSENT_PROC_TIME
                        ? "CPU time counts with the thread's next event that has it"
                        : "it is unknown in results");
    }
}
