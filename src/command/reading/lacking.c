/* SPDX-License-Identifier: MIT */
/*
 * lacking.c: fields that selection rules have removed, or another system does not record, and results therefore miss. See
 * lacking.h.
 *
 *      dpm: x.trace: 200 SEND lack procTime, removed by rule 1, 'type=send, procTime=#*': ...
 */
#include "command/reading/lacking.h"

#include "command/shared/command.h"
#include "rules/rules.h"
#include "show/show.h"

#include <inttypes.h>
#include <string.h>

#define ABSENT_PROC_TIME (1ull << 5)
#define ABSENT_UNKNOWN   (1ull << 2 | 1ull << 6) /* load, PC */

#define FIELDS_SIZE 120
#define RULES_SIZE  260
#define REASON_SIZE (RULES_SIZE + 16)

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
}

/* Why the fields are not there; "": the other system never has them, and that is no news. */
static void reason(const struct history *history, uint32_t origin, unsigned type,
                   char text[REASON_SIZE])
{
    const struct machine_record *machine = identities_machine(history_identities(history), origin);
    uint64_t absent = history_lacking(history, origin)->absent[type];
    char rules[RULES_SIZE];

    name_rules(history, origin, type, absent, rules);
    if (rules[0] != '\0')
        snprintf(text, REASON_SIZE, "removed by %s", rules);
    else if (machine == NULL || machine->meter != METER_OTHER)
        strcpy(text, "removed by a selection");
    else
        strcpy(text, (absent & ~ABSENT_UNKNOWN) != 0 ? "which that system does not record" : "");
}

/* What follows for results. */
static const char *consequence(const struct history *history, uint32_t origin, unsigned type)
{
    const struct history_lacking *lacking = history_lacking(history, origin);
    uint64_t absent = lacking->absent[type] & ~ABSENT_UNKNOWN;

    if (lacking->useless[type] > 0)
        return lacking->unsized[type] > 0
                   ? "results are without these events, or without the sizes of messages"
                   : "results are without these events";
    if (lacking->unsized[type] > 0)
        return "sizes of messages are unknown in results";
    if (type == EVENT_DESTROYPATH && (absent & ~ABSENT_PROC_TIME) != 0)
        return "results do not need them";
    if (type == EVENT_TERMINATION && (absent & ~ABSENT_PROC_TIME) != 0)
        return "failed calls, or with which thread a process ends, are unknown in results";
    if ((absent & ABSENT_PROC_TIME) != 0 && history_lacks_cpu_time(history, origin))
        return "CPU time is unknown, and results count none";
    return (absent & ABSENT_PROC_TIME) != 0
               ? "CPU time counts with the thread's next event that has it"
               : "it is unknown in results";
}

void report_lacking(const struct history *history, uint32_t origin, const char *name)
{
    const struct history_lacking *lacking = history_lacking(history, origin);

    for (unsigned type = 1; type < EVENT_ID_END; type++) {
        char fields[FIELDS_SIZE], why[REASON_SIZE], count[UNIT_SIZE];
        uint64_t absent = lacking->absent[type];
        if (absent == 0)
            continue;
        reason(history, origin, type, why);
        if (why[0] == '\0')
            continue;
        name_fields(type, absent, fields);
        show_count(lacking->records[type], count);
        command_say("%s: %s %s lack %s, %s: %s", name, count, event_type(type)->name, fields, why,
                    consequence(history, origin, type));
    }
}
