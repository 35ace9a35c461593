/* SPDX-License-Identifier: MIT */
/*
 * nearest.c: which known word a user may have meant. See nearest.h.
 *
 *      prarllelism -> parallelism    2 letters: one removed, one inserted
 *      staats      -> stats          1 letter
 */
#include "base/nearest.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 32 /* letters that are compared */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Edit distance with exchanges of neighbours (optimal string alignment), by rows of its table. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];

    for (size_t k = 0; k <= b_length; k++)
        last[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        now[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            now[k] = smallest(last[k] + 1, now[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                before[k - 2] + 1 < now[k])
                now[k] = before[k - 2] + 1;
        }
        size_t *free = before;
        before = last;
        last = now;
        now = free;
    }
    return last[b_length];
}

void nearest_add(struct nearest *nearest, const char *word)
{
    size_t length = strlen(word);

    if (nearest->length > LONGEST || length > LONGEST)
        return;
    size_t letters = nearest->length < length ? nearest->length : length;
    size_t most = letters < 3 ? 0 : (letters + 2) / 3;
    size_t found = distance(nearest->typed, nearest->length, word, length);
    if (found > most || (nearest->word != NULL && found >= nearest->distance))
        return;
    nearest->word = word;
    nearest->distance = found;
}

void nearest_text(const struct nearest *nearest, const char *before, char text[NEAREST_TEXT_SIZE])
{
    text[0] = '\0';
    if (nearest->word != NULL)
        snprintf(text, NEAREST_TEXT_SIZE, "; did you mean '%s%s'?", before, nearest->word);
}
