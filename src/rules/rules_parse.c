/* SPDX-License-Identifier: MIT */
/*
 * rules_parse.c: parses rules by recursive descent, with one character of look-ahead.
 *
 *      rules     = { rule ";" }
 *      rule      = condition { "," condition }
 *      condition = field operator [ "#" ] value        `#`: the field is discarded
 *      value     = "*" | word | '"' text '"'
 *
 * `#` anywhere else begins a comment, which ends with the line.
 */
#include "base/amounts.h"
#include "rules/rules_private.h"
#include "rules/rules_tokens.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct tokens tokens;
    const char *counted; /* lines up to here: `line` */
    unsigned line;
    struct rules *rules;
    const struct descriptions *descriptions; /* NULL: of DPM's own records only */
};

/* An error there; its line is in `problem`. */
#define refuse(parser, at, ...) tokens_refuse(&(parser)->tokens, at, __VA_ARGS__)

static int no_memory(const struct parser *parser)
{
    return tokens_no_memory(&parser->tokens);
}

/* ---- operators ---- */

static int take_operator(struct parser *parser, enum rule_operator *ret_operator)
{
    if (tokens_accept(&parser->tokens, '=')) {
        tokens_accept(&parser->tokens, '=');
        *ret_operator = RULE_EQUAL;
    } else if (tokens_accept(&parser->tokens, '!')) {
        if (!tokens_accept(&parser->tokens, '='))
            return refuse(parser, parser->tokens.at - 1, "'!='");
        *ret_operator = RULE_UNEQUAL;
    } else if (tokens_accept(&parser->tokens, '<')) {
        *ret_operator = tokens_accept(&parser->tokens, '=')   ? RULE_AT_MOST
                        : tokens_accept(&parser->tokens, '>') ? RULE_UNEQUAL
                                                              : RULE_LESS;
    } else if (tokens_accept(&parser->tokens, '>')) {
        *ret_operator = tokens_accept(&parser->tokens, '=') ? RULE_AT_LEAST : RULE_GREATER;
    } else {
        return refuse(parser, parser->tokens.at, "=, !=, <, >, <= or >=");
    }
    return 0;
}

/* ---- values ---- */

static bool apply_unit(const char *unit, enum rule_unit kind, uint64_t *number)
{
    static const char sizes[] = "KMG";
    const char *size = strchr(sizes, unit[0]), *rest = NULL;
    uint64_t factor = 1;

    if (unit[0] == '\0')
        return true;
    if (kind == UNIT_TIME)
        rest = parse_time_unit(unit, &factor);
    if (kind == UNIT_BYTES && size != NULL) {
        factor = 1ull << (10 * (size - sizes + 1));
        rest = unit + 1;
    }
    return rest != NULL && *rest == '\0' && !__builtin_mul_overflow(*number, factor, number);
}

/* "12", "0x1f", "1f" where the base is 16, "-6" where the field is signed, "10ms". */
static bool read_number(const struct rule_field *field, const char *text, uint64_t *ret_number)
{
    bool negative = field->number.is_signed && text[0] == '-';
    const char *digits = text + negative;
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end;

    digits += hexadecimal ? 2 : 0;
    if (!isalnum((unsigned char)digits[0]))
        return false;
    errno = 0;
    uint64_t number = strtoull(digits, &end, hexadecimal ? 16 : (int)field->base);
    if (errno != 0 || end == digits || !apply_unit(end, field->unit, &number))
        return false;
    *ret_number = negative ? 0 - number : number;
    return true;
}

/* Fields of raw records come first. */
static bool find_field(const struct parser *parser, const char *name, struct rule_field *field)
{
    return (parser->descriptions != NULL && rule_field_raw(parser->descriptions, name, field)) ||
           rule_field_find(name, field);
}

static int take_raw_type(const struct parser *parser, const struct token *token, struct said *said)
{
    const struct description *type = descriptions_type_named(parser->descriptions, token->text);

    if (type != NULL)
        said->number = type->number;
    else if (!read_number(&said->field, token->text, &said->number))
        return refuse(parser, token->begin, "a type that the descriptions name, or a number");
    said->is_number = true;
    return 0;
}

static int take_type(const struct parser *parser, const struct token *token, struct said *said)
{
    const struct event_type *type = event_type_by_name(token->text);

    if (type == NULL && read_number(&said->field, token->text, &said->number))
        return 0;
    if (type == NULL)
        return refuse(
            parser, token->begin,
            "a type of event, e.g. send, receive, block, fork (dpm-rules(5)), or a number");
    if (!rules_decide_about(type->id))
        return refuse(parser, token->begin,
                      "a type of event; rules keep every %s, because results need it", type->name);
    said->number = type->id;
    return 0;
}

static bool compares_order(enum rule_operator relation)
{
    return relation != RULE_EQUAL && relation != RULE_UNEQUAL && relation != RULE_ANY;
}

static bool has_one_number(const struct rule_field *field)
{
    switch (field->place) {
    case RULE_RECORD:
    case RULE_RAW:
        return field->value == VALUE_NUMBER;
    case RULE_STREAM:
        return field->fact == FACT_PID || field->fact == FACT_TID || field->fact == FACT_USER;
    default:
        return field->fact == FACT_LOCAL_PORT || field->fact == FACT_REMOTE_PORT;
    }
}

static bool are_comparable(const struct rule_field *field, const struct rule_field *other)
{
    return other->place == RULE_NEVER ||
           (field->place == other->place && has_one_number(field) && has_one_number(other));
}

static int take_number(const struct parser *parser, const struct token *token, struct said *said)
{
    if (!token->quoted && read_number(&said->field, token->text, &said->number)) {
        said->is_number = true;
        return 0;
    }
    bool is_field = !token->quoted && find_field(parser, token->text, &said->other);
    if (!is_field)
        return refuse(parser, token->begin, "a number%s%s, '*' or the name of another field",
                      said->field.base == 16 ? " in base 16" : "",
                      said->field.unit == UNIT_TIME    ? " (ns, or with ns, us, ms, s, m, h)"
                      : said->field.unit == UNIT_BYTES ? " (with K, M, G)"
                                                       : "");
    said->has_other = true;
    if (!are_comparable(&said->field, &said->other))
        return refuse(parser, token->begin,
                      "a number, or a field with one number of the same record, process or path "
                      "as %s",
                      said->field.name);
    return 0;
}

static int take_kind(const struct parser *parser, const struct token *token, struct said *said)
{
    if (!token->quoted && read_number(&said->field, token->text, &said->number)) {
        said->is_number = true;
        return 0;
    }
    if (compares_order(said->relation))
        return refuse(parser, token->begin, "a number after this operator");
    for (unsigned kind = 0; kind <= PATH_KIND_END; kind++)
        if (fnmatch(token->text, path_kind_name(kind), 0) == 0)
            return 0;
    return refuse(parser, token->begin,
                  "a kind of path, such as tcp, unix-stream or file, or unix*");
}

static int take_text(const struct parser *parser, const struct token *token, struct said *said)
{
    if (compares_order(said->relation))
        return refuse(parser, token->begin, "= or != before it: %s is a text", said->field.name);
    return 0;
}

static int take_user(const struct parser *parser, const struct token *token, struct said *said)
{
    said->is_number = !token->quoted && read_number(&said->field, token->text, &said->number);
    return said->is_number ? 0 : take_text(parser, token, said);
}

static int take_value(struct parser *parser, struct said *said)
{
    struct token token;
    int result = tokens_take(&parser->tokens, &token, "a value: a number, a name, '*' or \"text\"");

    if (result < 0)
        return result;
    char *text = arena_allocate(&parser->rules->texts, strlen(token.text) + 1);
    if (text == NULL)
        return no_memory(parser);
    said->value = strcpy(text, token.text);
    if (!token.quoted && strcmp(text, "*") == 0) {
        if (said->relation != RULE_EQUAL)
            return refuse(parser, token.begin, "'=' before '*', which stands for any value");
        said->relation = RULE_ANY;
        return 0;
    }
    switch (said->field.value) {
    case VALUE_TYPE:
        return take_type(parser, &token, said);
    case VALUE_RAW_TYPE:
        return take_raw_type(parser, &token, said);
    case VALUE_NUMBER:
        return take_number(parser, &token, said);
    case VALUE_KIND:
        return take_kind(parser, &token, said);
    case VALUE_USER:
        return take_user(parser, &token, said);
    case VALUE_TEXT:
        return take_text(parser, &token, said);
    default:
        return 0;
    }
}

/* ---- conditions and rules ---- */

static int take_field(struct parser *parser, struct rule_field *field)
{
    struct token token;
    int result = tokens_take(&parser->tokens, &token, "the name of a field");

    if (result < 0 || find_field(parser, token.text, field))
        return result;
    return refuse(parser, token.begin,
                  "the name of a field, e.g. type, process, bytes, duration (dpm-rules(5))");
}

static int take_condition(struct parser *parser)
{
    struct rules *rules = parser->rules;
    struct said said = {0};
    int result = take_field(parser, &said.field);

    if (result < 0)
        return result;
    tokens_skip_comments(&parser->tokens);
    result = take_operator(parser, &said.relation);
    if (result < 0)
        return result;
    tokens_skip_blanks(&parser->tokens);
    const char *hash = parser->tokens.at;
    said.discards = tokens_accept(&parser->tokens, '#');
    if (said.discards && said.field.identifies != NULL)
        return refuse(parser, hash, "a value without '#': %s cannot be discarded: %s",
                      said.field.name, said.field.identifies);
    tokens_skip_blanks(&parser->tokens);
    result = take_value(parser, &said);
    if (result < 0)
        return result;
    if (array_reserve(&rules->said, &rules->said_capacity, rules->said_count + 1,
                      sizeof(*rules->said)) < 0)
        return no_memory(parser);
    rules->said[rules->said_count++] = said;
    return 0;
}

/* The text of a rule on one line, without comments and needless blanks. */
static const char *squeeze(struct parser *parser, const char *from, const char *to)
{
    char *text = arena_allocate(&parser->rules->texts, (size_t)(to - from) + 1), *end = text;
    bool quoted = false, operates = false, blank = false;

    for (; text != NULL && from < to; from++) {
        if (!quoted && !operates && *from == '#') {
            while (from < to && *from != '\n')
                from++;
            blank = true;
            continue;
        }
        if (!quoted && isspace((unsigned char)*from)) {
            blank = true;
            continue;
        }
        if (blank && end > text && end[-1] == ',')
            *end++ = ' ';
        blank = false;
        quoted = quoted != (*from == '"' && (!quoted || from[-1] != '\\'));
        operates = !quoted && strchr("=<>", *from) != NULL;
        *end++ = *from;
    }
    if (text != NULL)
        *end = '\0';
    return text;
}

static int take_rule(struct parser *parser)
{
    struct rules *rules = parser->rules;
    const char *begin = parser->tokens.at;
    struct rule_about about = {.first = rules->said_count};
    int result;

    for (; parser->counted < begin; parser->counted++)
        parser->line += *parser->counted == '\n';
    about.line = parser->line;
    do {
        tokens_skip_comments(&parser->tokens);
        if (about.count++ == RULES_CONDITIONS_MOST)
            return refuse(parser, parser->tokens.at, "';': a rule has at most %u conditions",
                          RULES_CONDITIONS_MOST);
        result = take_condition(parser);
        if (result < 0)
            return result;
        tokens_skip_comments(&parser->tokens);
    } while (tokens_accept(&parser->tokens, ','));
    const char *end = parser->tokens.at;
    if (!tokens_accept(&parser->tokens, ';'))
        return refuse(parser, parser->tokens.at, "',' and another condition, or ';'");
    if (rules->count == RULES_MOST)
        return refuse(parser, begin, "the end: there are at most %u rules", RULES_MOST);
    about.text = squeeze(parser, begin, end);
    if (about.text == NULL || array_reserve(&rules->about, &rules->about_capacity, rules->count + 1,
                                            sizeof(*rules->about)) < 0)
        return no_memory(parser);
    rules->about[rules->count++] = about;
    return 0;
}

int rules_parse_raw(const char *name, const char *text, size_t length,
                    const struct descriptions *descriptions, struct rules **ret_rules,
                    struct problem *problem)
{
    struct rules *rules = calloc(1, sizeof(*rules));
    struct parser parser = {
        {name, text, text + length, text, problem}, text, 1, rules, descriptions};
    int result = 0;

    if (rules == NULL)
        return no_memory(&parser);
    for (tokens_skip_comments(&parser.tokens); result == 0 && parser.tokens.at < parser.tokens.end;
         tokens_skip_comments(&parser.tokens))
        result = take_rule(&parser);
    if (result == 0)
        result = rules_compile(rules, problem);
    if (result == -ENOMEM)
        no_memory(&parser);
    if (result < 0) {
        rules_free(rules);
        return result;
    }
    *ret_rules = rules;
    return 0;
}

int rules_parse(const char *name, const char *text, size_t length, struct rules **ret_rules,
                struct problem *problem)
{
    return rules_parse_raw(name, text, length, NULL, ret_rules, problem);
}

int rules_read_raw(const char *path, const struct descriptions *descriptions,
                   struct rules **ret_rules, struct problem *problem)
{
    size_t length;
    char *text;
    int result = tokens_read_file(path, "rules", &text, &length, problem);

    if (result < 0)
        return result;
    result = rules_parse_raw(strcmp(path, "-") == 0 ? "standard input" : path, text, length,
                             descriptions, ret_rules, problem);
    free(text);
    return result;
}

int rules_read(const char *path, struct rules **ret_rules, struct problem *problem)
{
    return rules_read_raw(path, NULL, ret_rules, problem);
}
