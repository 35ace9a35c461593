/* SPDX-License-Identifier: MIT */
/* tokens.c: the words of the attribute and view languages. See tokens.h. */
#include "view/tokens.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The character at a distance, or 0 behind the end. */
static char peek(const struct tokens *tokens, size_t distance)
{
    return (size_t)(tokens->end - tokens->at) > distance ? tokens->at[distance] : '\0';
}

static void step(struct tokens *tokens)
{
    if (*tokens->at++ == '\n') {
        tokens->line++;
        tokens->line_start = tokens->at;
    }
}

static bool skip_comment(struct tokens *tokens)
{
    if (peek(tokens, 0) == '#') {
        while (tokens->at < tokens->end && *tokens->at != '\n')
            step(tokens);
        return true;
    }
    if (peek(tokens, 0) != '/' || peek(tokens, 1) != '*')
        return false;
    tokens->at += 2;
    while (tokens->at < tokens->end && !(peek(tokens, 0) == '*' && peek(tokens, 1) == '/'))
        step(tokens);
    if (tokens->at < tokens->end)
        tokens->at += 2;
    return true;
}

static void skip_blanks(struct tokens *tokens)
{
    while (tokens->at < tokens->end &&
           (strchr(" \t\r\n\f\v", *tokens->at) != NULL ? *tokens->at != '\0' : false))
        step(tokens);
}

static size_t name_size(const struct tokens *tokens)
{
    size_t size = 1;

    for (;;) {
        char c = peek(tokens, size);
        if (is_letter(c) || is_digit(c))
            size++;
        else if (c == '-' &&
                 (is_letter(peek(tokens, size + 1)) || is_digit(peek(tokens, size + 1))))
            size += 2;
        else
            return size;
    }
}

/* "12", "0.5", "1e-3" */
static size_t number_size(const struct tokens *tokens)
{
    size_t size = 0;

    while (is_digit(peek(tokens, size)))
        size++;
    if (peek(tokens, size) == '.' && is_digit(peek(tokens, size + 1))) {
        size++;
        while (is_digit(peek(tokens, size)))
            size++;
    }
    if (peek(tokens, size) == 'e' || peek(tokens, size) == 'E') {
        size_t sign = peek(tokens, size + 1) == '-' || peek(tokens, size + 1) == '+' ? 2 : 1;
        if (is_digit(peek(tokens, size + sign))) {
            size += sign;
            while (is_digit(peek(tokens, size)))
                size++;
        }
    }
    return size;
}

static size_t text_size(const struct tokens *tokens)
{
    size_t size = 1;

    while (peek(tokens, size) != '\0' && peek(tokens, size) != '"' && peek(tokens, size) != '\n')
        size++;
    return size;
}

static size_t sign_size(const struct tokens *tokens)
{
    static const char *const pairs[] = {"<>", "<=", ">="};

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        if (peek(tokens, 0) == pairs[i][0] && peek(tokens, 1) == pairs[i][1])
            return 2;
    return peek(tokens, 0) != '\0' && strchr("():,;[].*+-/=<>@", peek(tokens, 0)) != NULL ? 1 : 0;
}

void tokens_next(struct tokens *tokens)
{
    do
        skip_blanks(tokens);
    while (skip_comment(tokens));

    struct token *token = &tokens->token;
    *token = (struct token){.kind = TOKEN_END,
                            .start = tokens->at,
                            .line = tokens->line,
                            .column = (uint32_t)(tokens->at - tokens->line_start) + 1};
    if (tokens->at == tokens->end)
        return;
    char first = *tokens->at;
    if (is_letter(first)) {
        token->kind = TOKEN_NAME;
        token->size = name_size(tokens);
    } else if (is_digit(first)) {
        token->kind = TOKEN_NUMBER;
        token->size = number_size(tokens);
    } else if (first == '"') {
        size_t size = text_size(tokens);
        token->kind = peek(tokens, size) == '"' ? TOKEN_TEXT : TOKEN_WRONG;
        token->start++;
        token->size = size - 1;
        tokens->at += token->kind == TOKEN_TEXT ? 2 : 1; /* the quotes */
    } else {
        token->size = sign_size(tokens);
        token->kind = token->size > 0 ? TOKEN_SIGN : TOKEN_WRONG;
        token->size = token->size > 0 ? token->size : 1;
    }
    tokens->at += token->size;
}

void tokens_begin(struct tokens *tokens, const char *name, const char *text, size_t size)
{
    *tokens = (struct tokens){
        .name = name, .at = text, .end = text + size, .line_start = text, .line = 1};
    tokens_next(tokens);
}

void tokens_host(struct tokens *tokens)
{
    struct token *token = &tokens->token;

    if (token->kind != TOKEN_NAME && token->kind != TOKEN_NUMBER)
        return;
    tokens->at = token->start;
    while (is_letter(peek(tokens, 0)) || is_digit(peek(tokens, 0)) ||
           (peek(tokens, 0) != '\0' && strchr("@.-:", peek(tokens, 0)) != NULL))
        tokens->at++;
    token->kind = TOKEN_NAME;
    token->size = (size_t)(tokens->at - token->start);
}

/* Skips a text or character constant of C, which begins with `quote`. */
static void skip_quoted(struct tokens *tokens, char quote)
{
    step(tokens);
    while (tokens->at < tokens->end && *tokens->at != quote && *tokens->at != '\n') {
        if (*tokens->at == '\\' && tokens->end - tokens->at > 1)
            step(tokens);
        step(tokens);
    }
}

struct token tokens_body(struct tokens *tokens)
{
    struct token body = tokens->token;

    /* a text's token begins behind its quote */
    body.start = tokens->line_start + body.column - 1;
    if (body.line == tokens->line)
        tokens->at = body.start;
    while (tokens->at < tokens->end && *tokens->at != ';') {
        if (*tokens->at == '"' || *tokens->at == '\'')
            skip_quoted(tokens, *tokens->at);
        else if (*tokens->at == '/' && skip_comment(tokens))
            continue;
        if (tokens->at < tokens->end)
            step(tokens);
    }
    body.size = (size_t)(tokens->at - body.start);
    tokens_next(tokens);
    return body;
}

bool token_is(const struct token *token, const char *word)
{
    return (token->kind == TOKEN_NAME || token->kind == TOKEN_SIGN) &&
           strlen(word) == token->size && strncasecmp(token->start, word, token->size) == 0;
}

int token_problem(const struct tokens *tokens, uint32_t line, uint32_t column,
                  struct problem *problem, const char *format, ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return problem_set(problem, -EINVAL, "%s:%u:%u: %s", tokens->name, line, column, text);
}

int token_unexpected(const struct tokens *tokens, const struct token *token, const char *expected,
                     struct problem *problem)
{
    if (token->kind == TOKEN_END)
        return token_problem(tokens, token->line, token->column, problem,
                             "the text ends here, expected %s", expected);
    return token_problem(tokens, token->line, token->column, problem, "found '%.*s', expected %s",
                         (int)(token->size < 60 ? token->size : 60), token->start, expected);
}
