/* SPDX-License-Identifier: MIT */
/*
 * rule_fields.c: the fields that rules know: those of the event table by their names there, and others that follow from
 * identities.
 */
#include "rules/rules_private.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

uint64_t rules_types_all(void)
{
    uint64_t types = 0;

    for (unsigned id = 1; id < EVENT_ID_END; id++)
        if (event_type(id) != NULL && rules_decide_about(id))
            types |= EVENT_FLAG(id);
    return types;
}

/* ---- fields that are not in the event table under this name ---- */

#define MESSAGES                                                                                   \
    (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVE) |             \
     EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_READ) | EVENT_FLAG(EVENT_WRITE))

#define OF_PROCESS "it is known of the process, not in the record"
#define OF_PATH    "it is known of the path, not in the record"

/* A fact, which cannot be discarded: `why_not`. */
#define FACT(field, words, where, which, values, why_not)                                          \
    {                                                                                              \
        .name = (field), .meaning = (words), .place = (where), .fact = (which), .value = (values), \
        .identifies = (why_not)                                                                    \
    }
#define STREAM(field, words, which, values, why_not)                                               \
    FACT(field, words, RULE_STREAM, which, values, why_not)
#define PATH(field, words, which, values) FACT(field, words, RULE_PATH, which, values, OF_PATH)

static const struct rule_field derived[] = {
    {.name = "type",
     .meaning = "type of the event",
     .place = RULE_TYPE,
     .value = VALUE_TYPE,
     .number = {offsetof(struct record_header, id), 1},
     .identifies = "it says what the record is"},
    {.name = "size",
     .meaning = "bytes of the message",
     .place = RULE_RECORD,
     .unit = UNIT_BYTES,
     .number = {offsetof(struct record, message.bytes), 4},
     .types = MESSAGES},
    FACT("machine", "host name", RULE_MACHINE, FACT_MACHINE, VALUE_TEXT, "the trace needs it"),
    STREAM("process", "name or pid of the process", FACT_PROCESS, VALUE_TEXT, OF_PROCESS),
    STREAM("command", "command line of the process", FACT_COMMAND, VALUE_TEXT, OF_PROCESS),
    STREAM("program", "file name of the program", FACT_PROGRAM, VALUE_TEXT, OF_PROCESS),
    STREAM("container", "container, unit or cgroup of the process", FACT_CONTAINER, VALUE_TEXT,
           OF_PROCESS),
    STREAM("user", "user of the process", FACT_USER, VALUE_USER, OF_PROCESS),
    STREAM("pid", "process id", FACT_PID, VALUE_NUMBER, "it identifies the process"),
    STREAM("tid", "thread id", FACT_TID, VALUE_NUMBER, "it identifies the thread"),
    PATH("kind", "kind of the path", FACT_KIND, VALUE_KIND),
    PATH("peer", "address of the other end", FACT_PEER, VALUE_TEXT),
    PATH("file", "name of the file or FIFO", FACT_FILE, VALUE_TEXT),
    PATH("port", "port of either end", FACT_PORT, VALUE_NUMBER),
    PATH("localPort", "port of this end", FACT_LOCAL_PORT, VALUE_NUMBER),
    PATH("remotePort", "port of the other end", FACT_REMOTE_PORT, VALUE_NUMBER),
};

/* Other names, of the papers and of the event table. */
static const char *const synonyms[][2] = {
    {"traceType", "type"},
    {"id", "type"},
    {"stream", "_stream"},
    {"cpuTime", "time"},
};

/* Fields of the papers' descriptions that no record of ours has. */
static const char *const foreign[] = {
    "fromTask", "toTask", "channel", "code", "sendLink", "passLink", "readTask", "writeTask",
};

/* ---- fields of the event table ---- */

static const char *const times[] = {"time", "procTime", "span", "duration", "runnable"};
static const char *const lengths[] = {"bytes", "offset", "queue"};

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static void fill(const struct event_field *from, struct rule_field *field)
{
    bool is_time = is_among(from->name, times, ARRAY_SIZE(times));

    *field = (struct rule_field){
        .name = from->name,
        .meaning = from->kind == FIELD_SPAN ? "ns from when it happened until the record was made"
                                            : from->meaning,
        .place = RULE_RECORD,
        .unit = is_time                                              ? UNIT_TIME
                : is_among(from->name, lengths, ARRAY_SIZE(lengths)) ? UNIT_BYTES
                                                                     : UNIT_NONE,
        .base = from->kind == FIELD_HEX ? 16 : 10,
        .number = {.offset = (uint8_t)from->offset,
                   .size = (uint8_t)from->size,
                   .is_signed = from->kind == FIELD_SIGNED,
                   .is_span = from->kind == FIELD_SPAN},
    };
}

static bool find_in_header(const char *name, struct rule_field *field)
{
    const struct event_field *from = event_header_fields;

    while (from->name != NULL && strcasecmp(from->name, name) != 0)
        from++;
    if (from->name == NULL)
        return false;
    fill(from, field);
    field->types = rules_types_all();
    bool is_time = strcmp(from->name, "time") == 0;
    field->is_kept = is_time;
    field->number.presence = strcmp(from->name, "procTime") == 0           ? RULE_OF_STREAM
                             : strcmp(from->name, "_stream") == 0          ? RULE_OF_STREAM
                             : strcmp(from->name, "PC") == 0               ? RULE_NONZERO
                             : is_time || strcmp(from->name, "flags") == 0 ? RULE_ALWAYS
                                                                           : RULE_BY_STREAM;
    if (strcmp(from->name, "flags") == 0 || strcmp(from->name, "sequence") == 0 ||
        strcmp(from->name, "_stream") == 0)
        field->identifies = "matching needs it";
    return true;
}

static bool find_in_bodies(const char *name, struct rule_field *field)
{
    bool found = false;

    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        const struct event_type *type = event_type(id);
        if (type == NULL || !rules_decide_about(id))
            continue;
        for (const struct event_field *from = type->fields; from->name != NULL; from++) {
            if (strcasecmp(from->name, name) != 0)
                continue;
            if (!found)
                fill(from, field);
            if (from->offset == field->number.offset && from->size == field->number.size)
                field->types |= EVENT_FLAG(id);
            found = true;
        }
    }
    return found;
}

/* ---- finding ---- */

static uint64_t types_with_paths(void)
{
    struct rule_field path;

    return find_in_bodies("path", &path) ? path.types : 0;
}

static bool find_derived(const char *name, struct rule_field *field)
{
    for (size_t i = 0; i < ARRAY_SIZE(derived); i++) {
        if (strcasecmp(derived[i].name, name) != 0)
            continue;
        *field = derived[i];
        field->base = 10;
        if (field->types == 0)
            field->types = field->place == RULE_PATH ? types_with_paths() : rules_types_all();
        return true;
    }
    return false;
}

bool rule_field_find(const char *name, struct rule_field *ret_field)
{
    for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
        if (strcasecmp(synonyms[i][0], name) == 0)
            name = synonyms[i][1];
    if (find_derived(name, ret_field) || find_in_header(name, ret_field) ||
        find_in_bodies(name, ret_field))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
        if (strcasecmp(foreign[i], name) != 0)
            continue;
        *ret_field = (struct rule_field){.name = foreign[i],
                                         .meaning = "a field of other systems' records",
                                         .value = VALUE_NONE};
        return true;
    }
    return false;
}

/* ---- fields of raw records ---- */

/* What is discarded of the record with the field of the raw one. */
static void find_discarded(enum meaning meaning, struct rule_field *field)
{
    static const char *const names[MEANINGS] = {
        [MEANS_CPU_TIME] = "procTime", [MEANS_PC] = "PC", [MEANS_BYTES] = "bytes"};
    struct rule_field own;

    field->is_kept = meaning != MEANS_NOTHING && names[meaning] == NULL;
    if (names[meaning] == NULL || !rule_field_find(names[meaning], &own))
        return;
    field->discards = own.number.offset;
    field->discards_of = own.types;
}

bool rule_field_raw(const struct descriptions *descriptions, const char *name,
                    struct rule_field *ret_field)
{
    const struct description_field *found = descriptions_named(descriptions, name);
    bool is_type = strcasecmp(name, "type") == 0 || strcasecmp(name, "traceType") == 0;

    /* the papers use both names */
    if (found == NULL && is_type)
        found = descriptions_meaning(descriptions, NULL, MEANS_TYPE);
    if (found == NULL || found->base == BASE_TEXT || found->length > 8)
        return false;
    *ret_field = (struct rule_field){
        .name = found->name,
        .meaning = "a field of the raw record",
        .place = RULE_RAW,
        .value = found->meaning == MEANS_TYPE ? VALUE_RAW_TYPE : VALUE_NUMBER,
        .base = found->base,
        .number = {.offset = (uint8_t)found->index, .size = 8, .is_signed = found->is_signed},
        .types = rules_types_all(),
    };
    find_discarded(found->meaning, ret_field);
    return true;
}

/* ---- discarded ---- */

uint64_t rule_absent_bit(unsigned type, unsigned offset)
{
    const struct event_field *fields = event_type(type)->fields;

    for (unsigned i = 0; event_header_fields[i].name != NULL; i++)
        if (event_header_fields[i].offset == offset)
            return 1ull << i;
    for (unsigned i = 0; fields[i].name != NULL; i++)
        if (fields[i].offset == offset)
            return EVENT_BODY_FIELD_BIT(i);
    return 0;
}
