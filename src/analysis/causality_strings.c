/* SPDX-License-Identifier: MIT */
/*
 * causality_strings.c: the strings that have occurred, as a tree of their prefixes.
 *
 *      0 "" --A--> 3 "A" --B--> 4 "AB" --A--> 5 "ABA"       arrivals, leaves, replies of each
 *                                   '----C--> 6 "ABC"
 *      1 ".." --B--> 7 "..B" ...            the last 16 letters of what is longer than 64
 *      2 "nobody" --D--> 8 ...              what a server process has sent by itself
 *
 * A step counts once, for its prefix; how often each substring occurs follows from these counts at
 * the end (causality_substrings.c).
 */
#include "analysis/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW CAUSALITY_LENGTH_MOST

static uint64_t child_key(uint32_t parent, uint16_t letter)
{
    return (uint64_t)parent << 16 | letter;
}

/* The first strings are the empty ones. */
int strings_init(struct strings *strings)
{
    if (array_reserve(&strings->at, &strings->capacity, STRING_ROOTS, sizeof(*strings->at)) < 0)
        return -ENOMEM;
    strings->at[STRING_CUT].cut = true;
    strings->at[STRING_NOBODY].of_nobody = true;
    strings->count = STRING_ROOTS;
    return 0;
}

void strings_done(struct strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++) {
        if (strings->at[i].latency != NULL)
            histogram_done(strings->at[i].latency);
        free(strings->at[i].latency);
    }
    free(strings->at);
    lookup_done(&strings->children);
}

/* Two letters behind STRING_CUT have room when longer ones have no more, and single ones have it
 * always. */
static bool has_room(const struct strings *strings, uint32_t parent)
{
    const struct string *at = &strings->at[parent];

    if (parent == STRING_CUT)
        return true;
    return strings->count < (at->cut && at->depth == 1
                                 ? STRINGS_MOST - CAUSALITY_LETTERS_MOST - STRING_ROOTS
                                 : STRINGS_MOST / 2);
}

/* The string with this parent and letter. Returns its index, -ENOSPC or -ENOMEM. */
static int64_t add(struct strings *strings, uint32_t parent, uint16_t letter)
{
    uint32_t index = strings->count;

    if (!has_room(strings, parent))
        return -ENOSPC;
    if (array_reserve(&strings->at, &strings->capacity, index + 1UL, sizeof(*strings->at)) < 0 ||
        lookup_set(&strings->children, child_key(parent, letter), index) < 0)
        return -ENOMEM;
    strings->at[index] = (struct string){
        .parent = parent,
        .letter = letter,
        .depth = (uint8_t)(strings->at[parent].depth + 1),
        .cut = strings->at[parent].cut,
        .of_nobody = strings->at[parent].of_nobody,
    };
    strings->at[parent].has_children = true;
    strings->count++;
    return index;
}

static int64_t find_or_add(struct strings *strings, uint32_t parent, uint16_t letter)
{
    uint32_t found = lookup_find(&strings->children, child_key(parent, letter));

    return found != LOOKUP_NONE ? found : add(strings, parent, letter);
}

/* The string of these letters behind STRING_CUT. */
static int64_t find_cut(struct strings *strings, const uint16_t *letters, unsigned count)
{
    int64_t string = STRING_CUT;

    for (unsigned i = 0; i < count && string >= 0; i++)
        string = find_or_add(strings, (uint32_t)string, letters[i]);
    return string;
}

unsigned strings_letters(const struct strings *strings, uint32_t string, unsigned most,
                         uint16_t *letters)
{
    unsigned depth = strings->at[string].depth;
    unsigned count = depth < most ? depth : most;

    for (unsigned i = count; i > 0; i--) {
        letters[i - 1] = strings->at[string].letter;
        string = strings->at[string].parent;
    }
    return count;
}

/* The last letters of it, and the new one. */
static int64_t go_on_cut(struct strings *strings, uint32_t string, uint16_t letter)
{
    uint16_t letters[WINDOW];

    if (!has_room(strings, string))
        return -ENOSPC;
    unsigned count = strings_letters(strings, string, WINDOW - 1, letters);

    letters[count] = letter;
    int64_t found = find_cut(strings, letters, count + 1);
    bool remember = found >= 0 && strings->children.count < 2 * STRINGS_MOST;

    strings->at[string].has_children |= remember;
    if (remember && lookup_set(&strings->children, child_key(string, letter), (uint32_t)found) < 0)
        return -ENOMEM;
    return found;
}

/* There is no room for all of it: its last two letters, or the last one. */
static int64_t go_on_short(struct strings *strings, uint32_t string, uint16_t letter)
{
    const uint16_t pair[] = {strings->at[string].letter, letter};

    strings->others++;
    int64_t found = strings->at[string].depth == 0 ? -ENOSPC : find_cut(strings, pair, 2);
    return found == -ENOSPC ? find_or_add(strings, STRING_CUT, letter) : found;
}

static bool is_full(const struct string *string)
{
    return string->depth >= (string->cut ? WINDOW : CAUSALITY_STRING_MOST);
}

int64_t strings_extend(struct strings *strings, uint32_t string, uint16_t letter)
{
    uint32_t followed = strings->at[string].followed;

    if (followed != 0 && strings->at[followed].letter == letter)
        return followed;
    int64_t found = strings->at[string].has_children
                        ? lookup_find(&strings->children, child_key(string, letter))
                        : LOOKUP_NONE;
    if (found == LOOKUP_NONE)
        found = is_full(&strings->at[string]) ? go_on_cut(strings, string, letter)
                                              : add(strings, string, letter);
    if (found == -ENOSPC)
        return go_on_short(strings, string, letter);
    if (found >= 0)
        strings->at[string].followed = (uint32_t)found;
    return found;
}

int strings_add_leaf(struct strings *strings, uint32_t string, uint64_t latency)
{
    struct string *at = &strings->at[string];

    at->leaves++;
    if (at->latency == NULL) {
        if (strings->latency_count >= LATENCIES_MOST)
            return 0;
        at->latency = calloc(1, sizeof(*at->latency));
        if (at->latency == NULL)
            return -ENOMEM;
        strings->latency_count++;
    }
    return histogram_add(at->latency, latency, HISTOGRAM_SOME);
}
