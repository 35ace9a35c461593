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
#include "rules/rules_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORD_MOST 200 /* bytes */

struct parser {
    const char *name;
    const char *text, *end, *at;
    const char *counted; /* lines up to here: `line` */
    unsigned line;
    struct rules *rules;
    struct problem *problem;
};

struct token {
    const char *begin;
    char text[WORD_MOST + 1];
    bool quoted;
};

/* ---- errors ---- */

static unsigned line_of(const struct parser *parser, const char *at)
{
    unsigned line = 1;

    for (const char *from = parser->text; from < at; from++)
        line += *from == '\n';
    return line;
}

/* What stands there: a word, or one character. */
static int length_there(const struct parser *parser, const char *at)
{
    int length = 0;

    while (at + length < parser->end && length < 40 &&
           strchr(" \t\r\n,;=!<>#\"", at[length]) == NULL)
        length++;
    return length == 0 ? 1 : length;
}

static int refuse(const struct parser *parser, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct parser *parser, const char *at, const char *format, ...)
{
    const char *begin = at;
    char expected[300];
    va_list arguments;

    while (begin > parser->text && begin[-1] != '\n')
        begin--;
    va_start(arguments, format);
    vsnprintf(expected, sizeof(expected), format, arguments);
    va_end(arguments);
    unsigned line = line_of(parser, at), column = (unsigned)(at - begin) + 1;
    if (at >= parser->end)
        return problem_set(parser->problem, -EINVAL, "%.100s:%u:%u: the text ends: expected %s",
                           parser->name, line, column, expected);
    return problem_set(parser->problem, -EINVAL, "%.100s:%u:%u: '%.*s': expected %s", parser->name,
                       line, column, length_there(parser, at), at, expected);
}

static int no_memory(const struct parser *parser)
{
    return problem_set(parser->problem, -ENOMEM, "%.100s: out of memory", parser->name);
}

/* ---- tokens ---- */

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->end && isspace((unsigned char)*parser->at))
        parser->at++;
}

static void skip_comments(struct parser *parser)
{
    for (skip_blanks(parser); parser->at < parser->end && *parser->at == '#'; skip_blanks(parser))
        while (parser->at < parser->end && *parser->at != '\n')
            parser->at++;
}

static bool accepts(struct parser *parser, char wanted)
{
    if (parser->at >= parser->end || *parser->at != wanted)
        return false;
    parser->at++;
    return true;
}

static bool is_of_word(char character)
{
    return (unsigned char)character > ' ' && character != 127 &&
           strchr(",;=!<>#\"", character) == NULL;
}

static int add_to_token(const struct parser *parser, struct token *token, size_t *length,
                        char character)
{
    if (*length == WORD_MOST)
        return refuse(parser, token->begin, "at most %d bytes", WORD_MOST);
    token->text[(*length)++] = character;
    token->text[*length] = '\0';
    return 0;
}

/* In quotes, a backslash stands before '"' and '\'. */
static int take_quoted(struct parser *parser, struct token *token)
{
    size_t length = 0;
    int result = 0;

    token->quoted = true;
    while (result == 0 && parser->at < parser->end && *parser->at != '"' && *parser->at != '\n') {
        if (*parser->at == '\\' && parser->end - parser->at > 1 &&
            (parser->at[1] == '"' || parser->at[1] == '\\'))
            parser->at++;
        if (*parser->at == '\0')
            return refuse(parser, parser->at, "text without NUL");
        result = add_to_token(parser, token, &length, *parser->at++);
    }
    if (result == 0 && !accepts(parser, '"'))
        return refuse(parser, parser->at, "'\"', which ends the text that begins in line %u",
                      line_of(parser, token->begin));
    return result;
}

static int take_token(struct parser *parser, struct token *token, const char *expected)
{
    size_t length = 0;
    int result = 0;

    *token = (struct token){.begin = parser->at};
    if (accepts(parser, '"'))
        return take_quoted(parser, token);
    while (result == 0 && parser->at < parser->end && is_of_word(*parser->at))
        result = add_to_token(parser, token, &length, *parser->at++);
    return result < 0 || length > 0 ? result : refuse(parser, parser->at, "%s", expected);
}

static int take_operator(struct parser *parser, enum rule_operator *ret_operator)
{
    if (accepts(parser, '=')) {
        accepts(parser, '=');
        *ret_operator = RULE_EQUAL;
    } else if (accepts(parser, '!')) {
        if (!accepts(parser, '='))
            return refuse(parser, parser->at - 1, "'!='");
        *ret_operator = RULE_UNEQUAL;
    } else if (accepts(parser, '<')) {
        *ret_operator = accepts(parser, '=')   ? RULE_AT_MOST
                        : accepts(parser, '>') ? RULE_UNEQUAL
                                               : RULE_LESS;
    } else if (accepts(parser, '>')) {
        *ret_operator = accepts(parser, '=') ? RULE_AT_LEAST : RULE_GREATER;
    } else {
        return refuse(parser, parser->at, "=, !=, <, >, <= or >=");
    }
    return 0;
}

/* ---- values ---- */

static bool apply_unit(const char *unit, enum rule_unit kind, uint64_t *number)
{
    static const struct {
        const char *name;
        enum rule_unit kind;
        uint64_t factor;
    } units[] = {
        {"ns", UNIT_TIME, 1},         {"us", UNIT_TIME, 1000},       {"ms", UNIT_TIME, 1000000},
        {"s", UNIT_TIME, 1000000000}, {"m", UNIT_TIME, 60000000000}, {"K", UNIT_BYTES, 1 << 10},
        {"M", UNIT_BYTES, 1 << 20},   {"G", UNIT_BYTES, 1 << 30},
    };

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (units[i].kind == kind && strcmp(unit, units[i].name) == 0)
            return !__builtin_mul_overflow(*number, units[i].factor, number);
    return unit[0] == '\0';
}

/* "12", "0x1f", "1f" where the base is 16, "-6" where the field is signed, "10ms". */
static bool read_number(const struct rule_field *field, const char *text, uint64_t *ret_number)
{
    bool negative = field->number.is_signed && text[0] == '-';
    const char *digits = text + negative;
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end;

    digits += hexadecimal ? 2 : 0;
    if (!isxdigit((unsigned char)digits[0]))
        return false;
    errno = 0;
    uint64_t number = strtoull(digits, &end, hexadecimal || field->base == 16 ? 16 : 10);
    if (errno != 0 || end == digits || !apply_unit(end, field->unit, &number))
        return false;
    *ret_number = negative ? 0 - number : number;
    return true;
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
    bool is_field = !token->quoted && rule_field_find(token->text, &said->other);
    if (!is_field)
        return refuse(parser, token->begin, "a number%s%s, '*' or the name of another field",
                      said->field.base == 16 ? " in base 16" : "",
                      said->field.unit == UNIT_TIME    ? " (ns, or with ns, us, ms, s, m)"
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
    return compares_order(said->relation)
               ? refuse(parser, token->begin, "a number after this operator")
               : 0;
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
    int result = take_token(parser, &token, "a value: a number, a name, '*' or \"text\"");

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
    int result = take_token(parser, &token, "the name of a field");

    if (result < 0 || rule_field_find(token.text, field))
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
    skip_comments(parser);
    result = take_operator(parser, &said.relation);
    if (result < 0)
        return result;
    skip_blanks(parser);
    const char *hash = parser->at;
    said.discards = accepts(parser, '#');
    if (said.discards && said.field.identifies != NULL)
        return refuse(parser, hash, "a value without '#': %s cannot be discarded: %s",
                      said.field.name, said.field.identifies);
    skip_blanks(parser);
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
    const char *begin = parser->at;
    struct rule_about about = {.first = rules->said_count};
    int result;

    for (; parser->counted < begin; parser->counted++)
        parser->line += *parser->counted == '\n';
    about.line = parser->line;
    do {
        skip_comments(parser);
        if (about.count++ == RULES_CONDITIONS_MOST)
            return refuse(parser, parser->at, "';': a rule has at most %u conditions",
                          RULES_CONDITIONS_MOST);
        result = take_condition(parser);
        if (result < 0)
            return result;
        skip_comments(parser);
    } while (accepts(parser, ','));
    const char *end = parser->at;
    if (!accepts(parser, ';'))
        return refuse(parser, parser->at, "',' and another condition, or ';'");
    if (rules->count == RULES_MOST)
        return refuse(parser, begin, "the end: there are at most %u rules", RULES_MOST);
    about.text = squeeze(parser, begin, end);
    if (about.text == NULL || array_reserve(&rules->about, &rules->about_capacity, rules->count + 1,
                                            sizeof(*rules->about)) < 0)
        return no_memory(parser);
    rules->about[rules->count++] = about;
    return 0;
}

int rules_parse(const char *name, const char *text, size_t length, struct rules **ret_rules,
                struct problem *problem)
{
    struct rules *rules = calloc(1, sizeof(*rules));
    struct parser parser = {name, text, text + length, text, text, 1, rules, problem};
    int result = 0;

    if (rules == NULL)
        return no_memory(&parser);
    for (skip_comments(&parser); result == 0 && parser.at < parser.end; skip_comments(&parser))
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

/* ---- files ---- */

static int read_all(const char *path, int file, char *text, size_t *ret_length,
                    struct problem *problem)
{
    size_t length = 0;
    ssize_t got;

    while ((got = read(file, text + length, RULES_TEXT_MOST + 1 - length)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return problem_set(problem, -errno, "%s: cannot be read: %s", path, strerror(errno));
        length += (size_t)got;
        if (length > RULES_TEXT_MOST)
            return problem_set(problem, -EFBIG, "%s: rules have at most 1 MiB", path);
    }
    *ret_length = length;
    return 0;
}

int rules_read(const char *path, struct rules **ret_rules, struct problem *problem)
{
    bool is_input = strcmp(path, "-") == 0;
    int file = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *text = malloc(RULES_TEXT_MOST + 1);
    size_t length = 0;
    int result;

    if (file < 0)
        result = problem_set(problem, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    else if (text == NULL)
        result = problem_set(problem, -ENOMEM, "%s: out of memory", path);
    else
        result = read_all(path, file, text, &length, problem);
    if (file >= 0 && !is_input)
        close(file);
    if (result == 0)
        result = rules_parse(is_input ? "standard input" : path, text, length, ret_rules, problem);
    free(text);
    return result;
}
