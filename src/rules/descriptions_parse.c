/* SPDX-License-Identifier: MIT */
/*
 * descriptions_parse.c: parses descriptions by recursive descent.
 *
 *      descriptions = { settings | part }
 *      settings     = "set" name "=" value { "," name "=" value } ";"
 *      part         = name number [ ":" event ] [ "," ] { field } ";"          "header" comes first
 *      field        = name "," offset "," length "," base [ ":" meaning ]
 */
#include "rules/descriptions_private.h"

#include "base/amounts.h"
#include "event/event.h"
#include "rules/rules.h"
#include "rules/rules_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct parser {
    struct tokens tokens;
    struct descriptions *descriptions;
};

#define refuse(parser, at, ...) tokens_refuse(&(parser)->tokens, at, __VA_ARGS__)

/* ---- words ---- */

static const struct {
    const char *word;        /* after ':' */
    const char *synonyms[4]; /* names of fields that mean this */
} meanings[MEANINGS] = {
    [MEANS_NOTHING] = {"none", {0}},
    [MEANS_MACHINE] = {"machine", {"machine"}},
    [MEANS_RECORD_SIZE] = {"recordSize", {"recordSize"}},
    [MEANS_TYPE] = {"type", {"traceType", "type"}},
    [MEANS_TIME] = {"time", {"time"}},
    [MEANS_CPU_TIME] = {"cpuTime", {"procTime", "cpuTime"}},
    [MEANS_PROCESS] = {"process", {"process", "pid"}},
    [MEANS_FROM] = {"from", {"fromTask", "from"}},
    [MEANS_TO] = {"to", {"toTask", "to"}},
    [MEANS_CHANNEL] = {"channel", {"channel"}},
    [MEANS_SOURCE] = {"source", {"source"}},
    [MEANS_DESTINATION] = {"destination", {"destination"}},
    [MEANS_BYTES] = {"bytes", {"bytes", "size", "msgLength"}},
    [MEANS_PC] = {"PC", {"PC"}},
    [MEANS_CHILD] = {"child", {"child"}},
    [MEANS_STATUS] = {"status", {"status"}},
    [MEANS_NAME] = {"name", {0}},
};

#define MEANINGS_TEXT                                                                              \
    "what the field means: machine, recordSize, type, time, cpuTime, process, from, to, channel, " \
    "source, destination, bytes, PC, child, status, name or none"

static enum meaning meaning_of_name(const char *name)
{
    for (unsigned i = 0; i < MEANINGS; i++)
        for (unsigned j = 0; j < ARRAY_SIZE(meanings[i].synonyms); j++)
            if (meanings[i].synonyms[j] != NULL && strcasecmp(meanings[i].synonyms[j], name) == 0)
                return i;
    return MEANS_NOTHING;
}

static int take_meaning(const struct parser *parser, const struct token *token, const char *word,
                        uint8_t *ret_meaning)
{
    for (unsigned i = 0; i < MEANINGS; i++)
        if (strcasecmp(meanings[i].word, word) == 0) {
            *ret_meaning = (uint8_t)i;
            return 0;
        }
    return refuse(parser, token->begin + (word - token->text), MEANINGS_TEXT);
}

/* ---- numbers ---- */

static bool read_number(const char *text, uint64_t most, uint64_t *ret_number)
{
    char *end;

    errno = 0;
    uint64_t number = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || number > most)
        return false;
    *ret_number = number;
    return true;
}

static int take_number(struct parser *parser, uint64_t most, const char *expected,
                       uint64_t *ret_number)
{
    struct token token;
    int result = tokens_take(&parser->tokens, &token, expected);

    if (result < 0)
        return result;
    return read_number(token.text, most, ret_number)
               ? 0
               : refuse(parser, token.begin, "%s, at most %llu", expected,
                        (unsigned long long)most);
}

static int take_comma_and_number(struct parser *parser, uint64_t most, const char *expected,
                                 uint64_t *ret_number)
{
    tokens_skip_blanks(&parser->tokens);
    if (!tokens_accept(&parser->tokens, ','))
        return refuse(parser, parser->tokens.at, "',' and %s", expected);
    tokens_skip_blanks(&parser->tokens);
    return take_number(parser, most, expected, ret_number);
}

static const char *keep(struct parser *parser, const char *text)
{
    char *kept = arena_allocate(&parser->descriptions->texts, strlen(text) + 1);

    return kept == NULL ? NULL : strcpy(kept, text);
}

/* ---- fields ---- */

/* "10", "16:from", "-10": a signed number, "text". */
static int take_base(struct parser *parser, struct description_field *field)
{
    static const char expected[] = "a number base, 2 to 36 (-10: a signed number), or 'text'";
    struct token token;
    uint64_t base = 0;
    int result = tokens_take(&parser->tokens, &token, expected);

    if (result < 0)
        return result;
    char *colon = strchr(token.text, ':');
    if (colon != NULL)
        *colon = '\0';
    field->is_signed = token.text[0] == '-';
    if (strcasecmp(token.text, "text") != 0 &&
        (!read_number(token.text + field->is_signed, 36, &base) || base < 2))
        return refuse(parser, token.begin, "%s", expected);
    field->base = (uint8_t)base;
    field->meaning = MEANS_NOTHING;
    if (colon != NULL)
        return take_meaning(parser, &token, colon + 1, &field->meaning);
    if (field->base != BASE_TEXT && field->length <= 8)
        field->meaning = (uint8_t)meaning_of_name(field->name);
    return 0;
}

/* A name that occurs in several parts has one index, for rules. */
static int number_name(const struct parser *parser, const struct token *token,
                       struct description_field *field)
{
    struct descriptions *all = parser->descriptions;
    const struct description_field *same = descriptions_named(all, field->name);

    field->index = same == NULL ? (uint16_t)all->name_count : same->index;
    if (same == NULL && all->name_count++ == DESCRIPTION_FIELDS_MOST)
        return refuse(parser, token->begin, "at most %u different names of fields",
                      DESCRIPTION_FIELDS_MOST);
    return 0;
}

static int check_field(const struct parser *parser, const struct token *token,
                       const struct description *part, const struct description_field *field)
{
    const struct descriptions *all = parser->descriptions;
    bool is_name = field->meaning == MEANS_NAME;

    for (uint32_t i = part->first; i < all->field_count; i++) {
        const struct description_field *other = &all->fields[i];
        if (strcasecmp(other->name, field->name) == 0)
            return refuse(parser, token->begin, "another name: %s has such a field already",
                          part->name);
        if (field->meaning != MEANS_NOTHING && other->meaning == field->meaning)
            return refuse(parser, token->begin,
                          "another meaning: %s is %s already (':none' if this one is not)",
                          other->name, meanings[field->meaning].word);
    }
    if (is_name != (field->base == BASE_TEXT) && field->meaning != MEANS_NOTHING)
        return refuse(parser, token->begin,
                      is_name ? "base 'text' for a name" : "a number for %s, not a text",
                      meanings[field->meaning].word);
    if (field->length > 8 && field->meaning != MEANS_NOTHING && !is_name)
        return refuse(parser, token->begin, "at most 8 bytes for %s",
                      meanings[field->meaning].word);
    return 0;
}

static int take_field(struct parser *parser, struct description *part)
{
    struct descriptions *all = parser->descriptions;
    struct description_field field = {0};
    struct token token;
    uint64_t offset, length;
    int result = tokens_take(&parser->tokens, &token, "the name of a field, or ';'");

    if (result < 0)
        return result;
    if ((field.name = keep(parser, token.text)) == NULL)
        return tokens_no_memory(&parser->tokens);
    result = take_comma_and_number(parser, DESCRIPTION_SIZE_MOST, "the field's offset", &offset);
    if (result == 0)
        result =
            take_comma_and_number(parser, DESCRIPTION_SIZE_MOST, "its length in bytes", &length);
    if (result < 0)
        return result;
    if (length == 0 || offset + length > DESCRIPTION_SIZE_MOST)
        return refuse(parser, token.begin, "a field of 1 byte or more that ends within %u bytes",
                      DESCRIPTION_SIZE_MOST);
    field.offset = (uint16_t)offset;
    field.length = (uint16_t)length;
    tokens_skip_blanks(&parser->tokens);
    if (!tokens_accept(&parser->tokens, ','))
        return refuse(parser, parser->tokens.at, "',' and the field's number base");
    tokens_skip_blanks(&parser->tokens);
    if ((result = take_base(parser, &field)) < 0 ||
        (result = check_field(parser, &token, part, &field)) < 0 ||
        (result = number_name(parser, &token, &field)) < 0)
        return result;
    if (array_reserve(&all->fields, &all->field_capacity, all->field_count + 1,
                      sizeof(*all->fields)) < 0)
        return tokens_no_memory(&parser->tokens);
    all->fields[all->field_count++] = field;
    part->count++;
    part->size = offset + length > part->size ? (uint32_t)(offset + length) : part->size;
    return 0;
}

/* ---- parts ---- */

/* The events that raw records can become. */
static bool is_convertible(unsigned id)
{
    switch (id) {
    case EVENT_SEND:
    case EVENT_SENDCALL:
    case EVENT_RECEIVECALL:
    case EVENT_RECEIVE:
    case EVENT_MESSAGEQUEUED:
    case EVENT_CREATEPATH:
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
    case EVENT_DESTROYPATH:
    case EVENT_CREATEPROCESS:
    case EVENT_EXEC:
    case EVENT_STARTPROCESS:
    case EVENT_STOPPROCESS:
    case EVENT_TERMINATION:
        return true;
    default:
        return false;
    }
}

static unsigned event_named(const char *name)
{
    const struct event_type *type = event_type_by_name(name);

    if (type == NULL && strcasecmp(name, "RECEIVEMESSAGE") == 0) /* thesis, 3.1 */
        return EVENT_RECEIVE;
    return type != NULL && is_convertible(type->id) ? type->id : 0;
}

/* "1", or "9:SEND". */
static int take_type(struct parser *parser, struct description *part)
{
    static const char expected[] = "the number that identifies the type";
    struct token token;
    int result = tokens_take(&parser->tokens, &token, expected);

    if (result < 0)
        return result;
    char *colon = strchr(token.text, ':');
    if (colon != NULL)
        *colon = '\0';
    if (!read_number(token.text, UINT64_MAX, &part->number))
        return refuse(parser, token.begin, "%s", expected);
    part->event = event_named(colon == NULL ? part->name : colon + 1);
    if (colon != NULL && part->event == 0 && strcasecmp(colon + 1, "none") != 0)
        return refuse(parser, token.begin + (colon + 1 - token.text),
                      "an event: send, receive, receivecall, messagequeued, createpath, connect, "
                      "accept, destroypath, createprocess, termination ..., or none");
    return 0;
}

static int check_part(const struct parser *parser, const struct token *name,
                      const struct description *part)
{
    const struct descriptions *all = parser->descriptions;
    bool is_header = strcasecmp(part->name, "header") == 0;

    if (is_header != (all->part_count == 0))
        return refuse(parser, name->begin, is_header ? "one header" : "'header' before all types");
    for (uint32_t i = 1; i < all->part_count; i++)
        if (all->parts[i].number == part->number || strcasecmp(all->parts[i].name, part->name) == 0)
            return refuse(parser, name->begin, "another name and number: %s has number %llu",
                          all->parts[i].name, (unsigned long long)all->parts[i].number);
    if (all->part_count > DESCRIPTIONS_MOST)
        return refuse(parser, name->begin, "at most %u types", DESCRIPTIONS_MOST);
    return 0;
}

static int take_part(struct parser *parser, const struct token *name)
{
    struct descriptions *all = parser->descriptions;
    struct description part = {.name = keep(parser, name->text), .first = all->field_count};
    int result;

    if (part.name == NULL)
        return tokens_no_memory(&parser->tokens);
    tokens_skip_comments(&parser->tokens);
    result = take_type(parser, &part);
    if (result == 0)
        result = check_part(parser, name, &part);
    tokens_skip_comments(&parser->tokens);
    tokens_accept(&parser->tokens, ',');
    for (tokens_skip_comments(&parser->tokens); result == 0 && !tokens_accept(&parser->tokens, ';');
         tokens_skip_comments(&parser->tokens))
        result = take_field(parser, &part);
    if (result < 0)
        return result;
    if (array_reserve(&all->parts, &all->part_capacity, all->part_count + 1, sizeof(part)) < 0)
        return tokens_no_memory(&parser->tokens);
    all->parts[all->part_count++] = part;
    if (all->part_count == 1 && descriptions_meaning(all, NULL, MEANS_TYPE) == NULL)
        return refuse(parser, name->begin, "a header with the type of the record: traceType, type");
    return 0;
}

/* ---- settings ---- */

/* "ms", "10ms" -> ns */
static bool read_unit(const char *text, uint64_t *ret_unit)
{
    char *end = (char *)text;
    uint64_t count = 1, unit;

    errno = 0;
    if (isdigit((unsigned char)text[0]))
        count = strtoull(text, &end, 10);
    const char *rest = parse_time_unit(end, &unit);
    if (rest == NULL || *rest != '\0' || errno != 0 || count < 1 || count > 1000000)
        return false;
    *ret_unit = count * unit;
    return true;
}

static int apply_setting(struct parser *parser, const struct token *name, const struct token *value)
{
    struct described_system *system = &parser->descriptions->system;
    const char *text = value->text;

    if (strcasecmp(name->text, "system") == 0) {
        system->name = keep(parser, text);
        return system->name == NULL ? tokens_no_memory(&parser->tokens) : 0;
    }
    if (strcasecmp(name->text, "byteOrder") == 0) {
        system->is_big_endian = strcasecmp(text, "big") == 0;
        return system->is_big_endian || strcasecmp(text, "little") == 0
                   ? 0
                   : refuse(parser, value->begin, "little or big");
    }
    if (strcasecmp(name->text, "paths") == 0) {
        system->paths = strcasecmp(text, "bytes") == 0 ? PATHS_BYTES : PATHS_MESSAGES;
        return system->paths == PATHS_BYTES || strcasecmp(text, "messages") == 0
                   ? 0
                   : refuse(parser, value->begin, "messages or bytes");
    }
    bool is_time = strcasecmp(name->text, "timeUnit") == 0;
    if (!is_time && strcasecmp(name->text, "cpuTimeUnit") != 0)
        return refuse(parser, name->begin, "system, byteOrder, timeUnit, cpuTimeUnit or paths");
    return read_unit(text, is_time ? &system->time_unit : &system->cpu_unit)
               ? 0
               : refuse(parser, value->begin, "a unit of time: ns, us, ms, s, or e.g. 10ms");
}

static int take_settings(struct parser *parser)
{
    struct token name, value;
    int result;

    do {
        tokens_skip_comments(&parser->tokens);
        result =
            tokens_take(&parser->tokens, &name, "what to set: system, byteOrder, timeUnit ...");
        if (result < 0)
            return result;
        tokens_skip_blanks(&parser->tokens);
        if (!tokens_accept(&parser->tokens, '='))
            return refuse(parser, parser->tokens.at, "'='");
        tokens_skip_blanks(&parser->tokens);
        result = tokens_take(&parser->tokens, &value, "a value");
        if (result == 0)
            result = apply_setting(parser, &name, &value);
        if (result < 0)
            return result;
        tokens_skip_comments(&parser->tokens);
    } while (tokens_accept(&parser->tokens, ','));
    return tokens_accept(&parser->tokens, ';')
               ? 0
               : refuse(parser, parser->tokens.at, "',' and another setting, or ';'");
}

/* ---- all ---- */

static int take_statement(struct parser *parser)
{
    struct token name;
    int result = tokens_take(&parser->tokens, &name, "'set', 'header' or the name of a type");

    if (result < 0)
        return result;
    return strcasecmp(name.text, "set") == 0 ? take_settings(parser) : take_part(parser, &name);
}

int descriptions_parse(const char *name, const char *text, size_t length,
                       struct descriptions **ret_descriptions, struct problem *problem)
{
    struct descriptions *descriptions = calloc(1, sizeof(*descriptions));
    struct parser parser = {{name, text, text + length, text, problem}, descriptions};
    int result = 0;

    if (descriptions == NULL)
        return tokens_no_memory(&parser.tokens);
    descriptions->system.name = "";
    for (tokens_skip_comments(&parser.tokens); result == 0 && parser.tokens.at < parser.tokens.end;
         tokens_skip_comments(&parser.tokens))
        result = take_statement(&parser);
    if (result == 0 && descriptions->part_count == 0)
        result = refuse(&parser, parser.tokens.at, "'header', a number and fields");
    if (result < 0) {
        descriptions_free(descriptions);
        return result;
    }
    if (descriptions->system.cpu_unit == 0)
        descriptions->system.cpu_unit = descriptions->system.time_unit;
    *ret_descriptions = descriptions;
    return 0;
}

int descriptions_read(const char *path, struct descriptions **ret_descriptions,
                      struct problem *problem)
{
    size_t length;
    char *text;
    int result = tokens_read_file(path, "descriptions", &text, &length, problem);

    if (result < 0)
        return result;
    result = descriptions_parse(strcmp(path, "-") == 0 ? "standard input" : path, text, length,
                                ret_descriptions, problem);
    free(text);
    return result;
}
