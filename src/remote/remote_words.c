/* SPDX-License-Identifier: MIT */
/* remote_words.c: the words of a command line, as a shell splits it, without what a shell puts in place of others.
 * See remote.h. */
#include "remote/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n";

/* Whether a backslash before this character is none itself: within "..." only before a few, as in a shell. */
static bool is_escaped(char quote, char next)
{
    return quote == '"' ? next != '\0' && strchr("\"\\$`", next) != NULL
                        : quote == '\0' && next != '\0';
}

/* Takes one word, from `*at` on, to `to`. Returns where its copy ends; NULL: a quote is not closed. */
static char *take_word(const char **at, char *to)
{
    const char *from = *at;
    char quote = '\0';

    for (; *from != '\0' && (quote != '\0' || strchr(blanks, *from) == NULL); from++) {
        if (*from == '\\' && is_escaped(quote, from[1]))
            *to++ = *++from;
        else if (quote == '\0' && (*from == '\'' || *from == '"'))
            quote = *from;
        else if (quote != '\0' && *from == quote)
            quote = '\0';
        else
            *to++ = *from;
    }
    *at = from;
    return quote == '\0' ? to : NULL;
}

static size_t count_most(const char *text)
{
    size_t count = 1;

    for (; *text != '\0'; text++)
        count += strchr(blanks, *text) != NULL;
    return count;
}

int remote_words(const char *text, char ***ret_words)
{
    size_t most = count_most(text) + 1, count = 0;
    char **words = malloc(most * sizeof(*words) + strlen(text) + most);
    char *to = words == NULL ? NULL : (char *)(words + most);

    if (words == NULL)
        return -ENOMEM;
    while (text += strspn(text, blanks), *text != '\0') {
        words[count++] = to;
        to = take_word(&text, to);
        if (to == NULL) {
            free(words);
            return -EINVAL;
        }
        *to++ = '\0';
    }
    words[count] = NULL;
    *ret_words = words;
    return (int)count;
}
