/* SPDX-License-Identifier: MIT */
/* steer_words.c: the words of a line of a policy. See steer_private.h. */
#include "steer/steer_private.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MOST 4095

int words_refuse(const struct policy_reader *reader, const char *expected)
{
    bool more = reader->at < reader->count;

    return problem_set(reader->problem, -EINVAL, "%.200s:%u: %s%.60s%s: give %s", reader->file,
                       reader->line, more ? "'" : "the line ends too soon",
                       more ? reader->words[reader->at] : "", more ? "'" : "", expected);
}

int words_no_memory(const struct policy_reader *reader)
{
    return problem_set(reader->problem, -ENOMEM, "out of memory");
}

static int add_word(struct policy_reader *reader, const char *text, size_t size)
{
    char *word = strndup(text, size);

    if (word == NULL || array_reserve(&reader->words, &reader->room, reader->count + 1,
                                      sizeof(*reader->words)) < 0) {
        free(word);
        return words_no_memory(reader);
    }
    reader->words[reader->count++] = word;
    return 0;
}

void words_forget(struct policy_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        free(reader->words[i]);
    reader->count = reader->at = 0;
}

/* The journal is JSON: what it cannot say could not be restored. */
static bool is_utf8(const char *text, size_t size)
{
    json_t *string = json_stringn(text, size);
    bool is = string != NULL;

    json_decref(string);
    return is;
}

/* A word in double quotes may have blanks, and '#'. */
int words_split(struct policy_reader *reader, const char *at, const char *end)
{
    int result = 0;

    while (result == 0) {
        while (at < end && isblank((unsigned char)*at))
            at++;
        if (at == end || *at == '#')
            return 0;
        bool quoted = *at == '"';
        const char *begin = at += quoted;
        while (at < end && (quoted ? *at != '"' : !isblank((unsigned char)*at)))
            at++;
        if ((quoted && at == end) || at - begin > WORD_MOST ||
            memchr(begin, '\0', (size_t)(at - begin)) || !is_utf8(begin, (size_t)(at - begin)))
            return problem_set(
                reader->problem, -EINVAL, "%.200s:%u: %s", reader->file, reader->line,
                quoted && at == end ? "a word begins with '\"' and has no other one at its end"
                                    : "a word is too long, has a NUL in it, or is no UTF-8");
        result = add_word(reader, begin, (size_t)(at - begin));
        at += quoted;
    }
    return result;
}

bool words_next_is(struct policy_reader *reader, const char *word)
{
    if (reader->at == reader->count || strcmp(reader->words[reader->at], word) != 0)
        return false;
    reader->at++;
    return true;
}

int words_expect(struct policy_reader *reader, const char *word)
{
    char expected[64];

    snprintf(expected, sizeof(expected), "'%s'", word);
    return words_next_is(reader, word) ? 0 : words_refuse(reader, expected);
}

int words_expect_number(struct policy_reader *reader, uint32_t least, uint32_t most,
                        uint32_t *ret_number)
{
    const char *word = reader->at < reader->count ? reader->words[reader->at] : "";
    char expected[64], *end = NULL;

    snprintf(expected, sizeof(expected), "a number from %u to %u", least, most);
    unsigned long number = isdigit((unsigned char)*word) ? strtoul(word, &end, 10) : 0;
    if (end == NULL || *end != '\0' || number < least || number > most)
        return words_refuse(reader, expected);
    *ret_number = (uint32_t)number;
    reader->at++;
    return 0;
}

/* The name of a group that was defined before. */
int words_expect_group(struct policy_reader *reader, uint32_t *ret_group)
{
    const struct steer_policy *policy = reader->policy;

    for (size_t i = 0; reader->at < reader->count && i < policy->group_count; i++)
        if (strcmp(policy->groups[i].name, reader->words[reader->at]) == 0) {
            *ret_group = (uint32_t)i;
            reader->at++;
            return 0;
        }
    return words_refuse(reader, "a group, which stands above: group NAME is ...");
}
