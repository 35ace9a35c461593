/* SPDX-License-Identifier: MIT */
/* causality_signature.c: request signatures with what is repeated written once. See causality_face.h. */
#include "show/causality/causality_face.h"

#include <string.h>

/* Characters of the next letter: "B", "B12", "...". */
static size_t letter_size(const char *at)
{
    size_t size = at[0] == '.' ? strspn(at, ".") : at[0] != '\0';

    while (at[0] != '.' && at[size] >= '0' && at[size] <= '9')
        size++;
    return size;
}

static size_t letters_size(const char *at, size_t letters)
{
    size_t size = 0;

    for (size_t i = 0; i < letters; i++) {
        size_t next = letter_size(at + size);
        if (next == 0)
            return 0;
        size += next;
    }
    return size;
}

static size_t repetitions(const char *at, size_t size)
{
    size_t count = 1;

    while (strncmp(at + count * size, at, size) == 0)
        count++;
    return count;
}

#define PERIOD_MOST 8 /* letters */

void signature_fold(const char *signature, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (const char *at = signature; *at != '\0' && used + 1 < size;) {
        size_t best = letter_size(at), times = 1;
        for (size_t letters = 1; letters <= PERIOD_MOST; letters++) {
            size_t length = letters_size(at, letters), count;
            if (length == 0)
                break;
            count = repetitions(at, length);
            if (count >= 3 && count * length > times * best) {
                best = length;
                times = count;
            }
        }
        if (times > 1)
            used +=
                (size_t)snprintf(text + used, size - used, "(%.*s)\u00d7%zu", (int)best, at, times);
        else
            used += (size_t)snprintf(text + used, size - used, "%.*s", (int)best, at);
        at += times * best;
    }
}
