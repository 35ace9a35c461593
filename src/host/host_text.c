/* SPDX-License-Identifier: MIT */
/* host_text.c: numbers and words in files of /proc. See host_text.h. */
#include "host/host_text.h"

#include <string.h>

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

uint64_t text_number(const char **at)
{
    const char *text = *at + strspn(*at, " \t");
    uint64_t number = 0;
    bool fits = is_digit(*text);

    for (; is_digit(*text); text++) {
        unsigned digit = (unsigned)(*text - '0');
        fits = fits && number <= (UINT64_MAX - digit) / 10;
        number = number * 10 + digit;
    }
    *at = text;
    return fits ? number : NOT_KNOWN;
}

uint64_t text_times(uint64_t number, uint64_t unit)
{
    return number == NOT_KNOWN || (unit != 0 && number > NOT_KNOWN / unit) ? NOT_KNOWN
                                                                           : number * unit;
}

uint64_t text_sum(uint64_t number, uint64_t other)
{
    return number == NOT_KNOWN || other == NOT_KNOWN || number >= NOT_KNOWN - other
               ? NOT_KNOWN
               : number + other;
}

const char *text_next_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end == NULL || end[1] == '\0' ? NULL : end + 1;
}

const char *text_line(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (; text != NULL; text = text_next_line(text))
        if (strncmp(text, word, length) == 0 && strchr(" \t:\n", text[length]) != NULL)
            return text + length + (text[length] == ':');
    return NULL;
}

uint64_t text_value(const char *text, const char *word)
{
    const char *at = text_line(text, word);

    return at == NULL ? NOT_KNOWN : text_number(&at);
}
