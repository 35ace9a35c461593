/* SPDX-License-Identifier: MIT */
/* rules_tokens.c: see rules_tokens.h. */
#include "rules/rules_tokens.h"

#include "rules/rules.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- errors ---- */

static unsigned line_of(const struct tokens *tokens, const char *at)
{
    unsigned line = 1;

    for (const char *from = tokens->text; from < at; from++)
        line += *from == '\n';
    return line;
}

/* What stands there: a word, or one character. */
static int length_there(const struct tokens *tokens, const char *at)
{
    int length = 0;

    while (at + length < tokens->end && length < 40 &&
           strchr(" \t\r\n,;=!<>#\"", at[length]) == NULL)
        length++;
    return length == 0 ? 1 : length;
}

int tokens_refuse(const struct tokens *tokens, const char *at, const char *format, ...)
{
    const char *begin = at;
    char expected[300];
    va_list arguments;

    while (begin > tokens->text && begin[-1] != '\n')
        begin--;
    va_start(arguments, format);
    vsnprintf(expected, sizeof(expected), format, arguments);
    va_end(arguments);
    unsigned line = line_of(tokens, at), column = (unsigned)(at - begin) + 1;
    if (at >= tokens->end)
        return problem_set(tokens->problem, -EINVAL, "%.100s:%u:%u: the text ends: expected %s",
                           tokens->name, line, column, expected);
    return problem_set(tokens->problem, -EINVAL, "%.100s:%u:%u: '%.*s': expected %s", tokens->name,
                       line, column, length_there(tokens, at), at, expected);
}

int tokens_no_memory(const struct tokens *tokens)
{
    return problem_set(tokens->problem, -ENOMEM, "%.100s: out of memory", tokens->name);
}

/* ---- tokens ---- */

void tokens_skip_blanks(struct tokens *tokens)
{
    while (tokens->at < tokens->end && isspace((unsigned char)*tokens->at))
        tokens->at++;
}

void tokens_skip_comments(struct tokens *tokens)
{
    for (tokens_skip_blanks(tokens); tokens->at < tokens->end && *tokens->at == '#';
         tokens_skip_blanks(tokens))
        while (tokens->at < tokens->end && *tokens->at != '\n')
            tokens->at++;
}

bool tokens_accept(struct tokens *tokens, char wanted)
{
    if (tokens->at >= tokens->end || *tokens->at != wanted)
        return false;
    tokens->at++;
    return true;
}

static bool is_of_word(char character)
{
    return (unsigned char)character > ' ' && character != 127 &&
           strchr(",;=!<>#\"", character) == NULL;
}

static int add_to_token(const struct tokens *tokens, struct token *token, size_t *length,
                        char character)
{
    if (*length == WORD_MOST)
        return tokens_refuse(tokens, token->begin, "at most %d bytes", WORD_MOST);
    token->text[(*length)++] = character;
    token->text[*length] = '\0';
    return 0;
}

/* In quotes, a backslash stands before '"' and '\'. */
static int take_quoted(struct tokens *tokens, struct token *token)
{
    size_t length = 0;
    int result = 0;

    token->quoted = true;
    while (result == 0 && tokens->at < tokens->end && *tokens->at != '"' && *tokens->at != '\n') {
        if (*tokens->at == '\\' && tokens->end - tokens->at > 1 &&
            (tokens->at[1] == '"' || tokens->at[1] == '\\'))
            tokens->at++;
        if (*tokens->at == '\0')
            return tokens_refuse(tokens, tokens->at, "text without NUL");
        result = add_to_token(tokens, token, &length, *tokens->at++);
    }
    if (result == 0 && !tokens_accept(tokens, '"'))
        return tokens_refuse(tokens, tokens->at, "'\"', which ends the text that begins in line %u",
                             line_of(tokens, token->begin));
    return result;
}

int tokens_take(struct tokens *tokens, struct token *token, const char *expected)
{
    size_t length = 0;
    int result = 0;

    *token = (struct token){.begin = tokens->at};
    if (tokens_accept(tokens, '"'))
        return take_quoted(tokens, token);
    while (result == 0 && tokens->at < tokens->end && is_of_word(*tokens->at))
        result = add_to_token(tokens, token, &length, *tokens->at++);
    return result < 0 || length > 0 ? result : tokens_refuse(tokens, tokens->at, "%s", expected);
}

/* ---- files ---- */

static int read_all(const char *path, const char *what, int file, char *text, size_t *ret_length,
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
            return problem_set(problem, -EFBIG, "%s: %s have at most 1 MiB", path, what);
    }
    *ret_length = length;
    return 0;
}

int tokens_read_file(const char *path, const char *what, char **ret_text, size_t *ret_length,
                     struct problem *problem)
{
    bool is_input = strcmp(path, "-") == 0;
    int file = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *text = malloc(RULES_TEXT_MOST + 1);
    int result;

    if (file < 0)
        result = problem_set(problem, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    else if (text == NULL)
        result = problem_set(problem, -ENOMEM, "%s: out of memory", path);
    else
        result = read_all(path, what, file, text, ret_length, problem);
    if (file >= 0 && !is_input)
        close(file);
    if (result < 0)
        free(text);
    else
        *ret_text = text;
    return result;
}
