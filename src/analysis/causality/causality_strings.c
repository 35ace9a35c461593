/* SPDX-License-Identifier: MIT */
/*
 * causality_strings.c: the strings that have occurred, as a tree of their prefixes.
 *
 *      0 "" --A--> 3 "A" --B--> 4 "AB" --A--> 5 "ABA"       arrivals, leaves, replies of each
 *                                   '----C--> 6 "ABC"
 *      1 ".." --B--> 7 "..B" ...            the last 16 letters of strings longer than 64
 *      2 "nobody" --D--> 8 ...              what a server process sends without having received
 *
 * A step counts once, for its prefix. How often each substring occurs follows from these counts at the end
 * (causality_substrings.c).
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW CAUSALITY_LENGTH_MOST

/* ---- children: a table of strings by parent and letter ---- */

/* A slot is 0, or the index with 15 bits of the hash above it. Other strings rarely have the same bits, so a string is
 * mostly read only when it is the right one. */
#define CHILD_SLOTS_LEAST 64u

static uint64_t child_hash(uint32_t parent, uint16_t letter)
{
    return ((uint64_t)parent << 16 | letter) * 0x9e3779b97f4a7c15ULL;
}

static uint32_t child_slot(uint64_t hash, uint32_t index)
{
    return (uint32_t)(hash >> 17) << STRING_BITS | index;
}

/* The slot that has it, or a free one. */
static uint32_t find_slot(const struct strings *strings, uint32_t parent, uint16_t letter)
{
    uint64_t hash = child_hash(parent, letter);
    uint32_t mask = strings->child_slots - 1;
    uint32_t at = (uint32_t)(hash >> 32) & mask;

    for (; strings->children[at] != 0; at = (at + 1) & mask) {
        uint32_t index = strings->children[at] & (STRINGS_MOST - 1);
        if (strings->children[at] != child_slot(hash, index))
            continue;
        const struct string *string = &strings->at[index];
        if (string->parent == parent && string->letter == letter)
            break;
    }
    return at;
}

static uint64_t letter_bit(uint16_t letter)
{
    return 1ULL << (letter % 64);
}

/* Returns 0 if there is none. */
static uint32_t find_child(const struct strings *strings, uint32_t parent, uint16_t letter)
{
    if (!(strings->at[parent].child_letters & letter_bit(letter)))
        return 0;
    return strings->children[find_slot(strings, parent, letter)] & (STRINGS_MOST - 1);
}

static void put_child(struct strings *strings, uint32_t index)
{
    const struct string *string = &strings->at[index];

    strings->children[find_slot(strings, string->parent, string->letter)] =
        child_slot(child_hash(string->parent, string->letter), index);
}

/* Keeps at most half of the slots in use. */
static int reserve_child(struct strings *strings)
{
    uint32_t slots = strings->child_slots == 0 ? CHILD_SLOTS_LEAST : 2 * strings->child_slots;

    if (strings->count < strings->child_slots / 2)
        return 0;
    uint32_t *children = calloc(slots, sizeof(*children));
    if (children == NULL)
        return -ENOMEM;
    free(strings->children);
    strings->children = children;
    strings->child_slots = slots;
    for (uint32_t i = STRING_ROOTS; i < strings->count; i++)
        put_child(strings, i);
    return 0;
}

/* ---- strings ---- */

/* The first strings are the empty ones. */
int strings_init(struct strings *strings)
{
    strings->at = memory_reserve(STRINGS_MOST * sizeof(*strings->at));
    if (strings->at == NULL)
        return -ENOMEM;
    strings->count = STRING_ROOTS;
    strings->at[STRING_CUT].cut = true;
    strings->at[STRING_NOBODY].of_nobody = true;
    return 0;
}

void strings_done(struct strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++) {
        struct histogram *latency = strings->at[i].latency;
        if (latency != NULL)
            histogram_done(latency);
        free(latency);
    }
    memory_release(strings->at, STRINGS_MOST * sizeof(*strings->at));
    free(strings->children);
}

/* Single letters behind STRING_CUT always fit. Pairs of letters there still fit when longer strings no longer do. */
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
    struct string *before = &strings->at[parent];

    if (!has_room(strings, parent))
        return -ENOSPC;
    if (reserve_child(strings) < 0)
        return -ENOMEM;
    uint32_t index = strings->count++;
    strings->at[index] = (struct string){
        .parent = parent,
        .letter = letter,
        .depth = (uint8_t)(before->depth + 1),
        .cut = before->cut,
        .of_nobody = before->of_nobody,
    };
    before->child_letters |= letter_bit(letter);
    put_child(strings, index);
    return index;
}

static int64_t find_or_add(struct strings *strings, uint32_t parent, uint16_t letter)
{
    uint32_t found = find_child(strings, parent, letter);

    return found != 0 ? found : add(strings, parent, letter);
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
    const struct string *at = &strings->at[string];
    unsigned count = at->depth < most ? at->depth : most;

    for (unsigned i = count; i > 0; i--) {
        letters[i - 1] = at->letter;
        at = &strings->at[at->parent];
    }
    return count;
}

/* The last letters of a full string, one less than fit. */
static int64_t find_shorter(struct strings *strings, uint32_t string)
{
    struct string *at = &strings->at[string];
    uint16_t letters[WINDOW];

    if (at->shorter != 0)
        return at->shorter;
    if (!has_room(strings, string))
        return -ENOSPC;
    unsigned count = strings_letters(strings, string, WINDOW - 1, letters);
    int64_t found = find_cut(strings, letters, count);
    if (found >= 0)
        at->shorter = (uint32_t)found;
    return found;
}

/* The last letters of the string, and the new one. */
static int64_t go_on_cut(struct strings *strings, uint32_t string, uint16_t letter)
{
    int64_t shorter = find_shorter(strings, string);

    return shorter < 0 ? shorter : find_or_add(strings, (uint32_t)shorter, letter);
}

/* The string of two letters behind STRING_CUT. Cached, so that it is mostly found without reading any string. */
static int64_t find_pair(struct strings *strings, const uint16_t letters[2])
{
    uint32_t place = (letters[0] * 64u + letters[1]) % PAIRS;

    if (strings->pairs[place].string != 0 && strings->pairs[place].letters[0] == letters[0] &&
        strings->pairs[place].letters[1] == letters[1])
        return strings->pairs[place].string;
    int64_t found = find_cut(strings, letters, 2);
    if (found >= 0) {
        memcpy(strings->pairs[place].letters, letters, sizeof(strings->pairs[place].letters));
        strings->pairs[place].string = (uint32_t)found;
    }
    return found;
}

/* The whole string does not fit: continues with its last two letters, or with the last one. */
static int64_t go_on_short(struct strings *strings, uint32_t string, uint16_t letter)
{
    const struct string *at = &strings->at[string];
    const uint16_t pair[] = {at->letter, letter};

    strings->others++;
    int64_t found = at->depth == 0 ? -ENOSPC : find_pair(strings, pair);
    return found == -ENOSPC ? find_or_add(strings, STRING_CUT, letter) : found;
}

static bool is_full(const struct string *string)
{
    return string->depth >= (string->cut ? WINDOW : CAUSALITY_STRING_MOST);
}

int64_t strings_extend(struct strings *strings, uint32_t string, uint16_t letter)
{
    struct string *at = &strings->at[string];

    if (at->followed != 0 && at->followed_letter == letter)
        return at->followed;
    int64_t found =
        is_full(at) ? go_on_cut(strings, string, letter) : find_or_add(strings, string, letter);
    if (found == -ENOSPC)
        return go_on_short(strings, string, letter);
    if (found >= 0) {
        at->followed = (uint32_t)found;
        at->followed_letter = letter;
    }
    return found;
}

bool strings_is_answered(const struct strings *strings, uint32_t index)
{
    for (; index >= STRING_ROOTS; index = strings->at[index].parent)
        if (strings->at[index].replies > 0 || strings->at[index].parent == STRING_CUT)
            return true;
    return false;
}

int strings_add_leaf(struct strings *strings, uint32_t string, uint64_t latency)
{
    struct string *at = &strings->at[string];

    at->leaves++;
    if (latency == TIME_UNKNOWN)
        return 0;
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
