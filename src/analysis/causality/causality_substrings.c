/* SPDX-License-Identifier: MIT */
/*
 * causality_substrings.c: what the strings contain: substrings, and transitions from process to process.
 *
 *      string "ABCBA" with n arrivals --> n occurrences each of "BA", "CBA", "BCBA" and "ABCBA"
 *
 * Every step of a tree stands for the substrings that end with it, so each occurrence is counted once, however many
 * leaves are behind it. A tail is the end of a string:
 *
 *      letters of the string    . . . [ B C B A ]      length 4
 *      all of it, and more      requestor [ A B ]      length 3, of a string of 2
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAILS_MOST (512u << 10)
#define TAIL_SIZE  (CAUSALITY_LENGTH_MOST + 1)

struct tail {
    uint32_t string;
    uint32_t length;
    uint64_t count;
};

struct tails {
    const struct strings *strings;
    struct tail *at;
    size_t capacity;
    uint32_t count;
    struct lookup hashes;
    uint64_t others; /* occurrences that did not fit */
    uint32_t *of;    /* of each string its tail + 1; NULL: not wanted */
};

static void tails_done(struct tails *tails)
{
    free(tails->at);
    free(tails->of);
    lookup_done(&tails->hashes);
}

/*
 * Writes the letters of a tail, after the requestor or nobody if the tail is longer than its string; returns `length`.
 */
static unsigned tail_letters(const struct strings *strings, uint32_t string, unsigned length,
                             uint16_t *letters)
{
    unsigned before = length > strings->at[string].depth ? 1 : 0;

    letters[0] = strings->at[string].of_nobody ? LETTER_NOBODY : LETTER_REQUESTOR;
    strings_letters(strings, string, length - before, letters + before);
    return length;
}

static bool is_tail(const struct tails *tails, uint32_t index, const uint16_t *letters,
                    unsigned length)
{
    const struct tail *tail = &tails->at[index];
    uint16_t own[TAIL_SIZE];

    if (tail->length != length)
        return false;
    tail_letters(tails->strings, tail->string, length, own);
    return memcmp(own, letters, length * sizeof(*own)) == 0;
}

static int add_new_tail(struct tails *tails, uint64_t key, const struct tail *tail)
{
    if (tails->count >= TAILS_MOST) {
        tails->others += tail->count;
        return 0;
    }
    if (array_reserve(&tails->at, &tails->capacity, tails->count + 1UL, sizeof(*tails->at)) < 0 ||
        lookup_set(&tails->hashes, key, tails->count) < 0)
        return -ENOMEM;
    tails->at[tails->count++] = *tail;
    if (tails->of != NULL)
        tails->of[tail->string] = tails->count;
    return 0;
}

/* Counts a tail of the string, which has these letters. */
static int add_tail(struct tails *tails, uint32_t string, const uint16_t *letters, unsigned length,
                    uint64_t count)
{
    uint64_t key = hash_bytes(0, letters, length * sizeof(*letters));
    uint32_t found;

    while ((found = lookup_find(&tails->hashes, key)) != LOOKUP_NONE) {
        if (is_tail(tails, found, letters, length)) {
            tails->at[found].count += count;
            if (tails->of != NULL)
                tails->of[string] = found + 1;
            return 0;
        }
        key++; /* another tail has the same hash */
    }
    const struct tail tail = {string, length, count};
    return add_new_tail(tails, key, &tail);
}

/* ---- short substrings and frequent strings first: if the table is full, the others are left out ---- */

static int compare_arrivals(const void *left, const void *right, void *context)
{
    const struct strings *strings = context;
    uint64_t a = strings->at[*(const uint32_t *)left].arrivals;
    uint64_t b = strings->at[*(const uint32_t *)right].arrivals;

    return a > b ? -1 : a < b;
}

static uint32_t *by_arrivals(struct strings *strings)
{
    uint32_t *order = malloc((strings->count + 1UL) * sizeof(*order));

    if (order == NULL)
        return NULL;
    for (uint32_t i = 0; i < strings->count; i++)
        order[i] = i;
    qsort_r(order, strings->count, sizeof(*order), compare_arrivals, strings);
    return order;
}

/* ---- substrings ---- */

/*
 * The tail of a string is the tail of its parent, one letter shorter, and the string's own letter. So each tail has a
 * class, which is found from the class of the shorter tail:
 *
 *      length 2    (B) C --> 1         (B) A --> 2
 *      length 3    1   B --> 3         2   B --> 4        "BCB", "BAB"
 *
 * A class is the index of its tail + 1; 0: there is none, or it did not fit. For a single letter it is that letter + 1.
 */

static uint64_t class_key(uint32_t shorter, uint16_t letter, unsigned length)
{
    return (uint64_t)(length == 2) << 63 | (uint64_t)shorter << 16 | letter;
}

/* Returns its class or -ENOMEM. */
static int64_t find_class(struct tails *tails, uint32_t string, uint32_t shorter, unsigned length)
{
    uint64_t key = class_key(shorter, tails->strings->at[string].letter, length);
    uint32_t found = lookup_find(&tails->hashes, key);
    const struct tail tail = {string, length, 0};

    if (found != LOOKUP_NONE)
        return (int64_t)found + 1;
    if (tails->count >= TAILS_MOST)
        return 0;
    return add_new_tail(tails, key, &tail) < 0 ? -ENOMEM : (int64_t)tails->count;
}

/* Counts the string's tail of this length, and returns its class. `shorter`: classes of tails one letter shorter, by
 * string. */
static int add_substring(struct tails *tails, uint32_t string, unsigned length,
                         const uint32_t *shorter, uint32_t *ret_class)
{
    const struct string *at = &tails->strings->at[string];
    int64_t own = 0;

    *ret_class = 0;
    if (at->depth < length) {
        tails->others += at->cut ? at->arrivals : 0; /* its first letters are not known */
        return 0;
    }
    if (shorter[at->parent] != 0)
        own = find_class(tails, string, shorter[at->parent], length);
    if (own < 0)
        return -ENOMEM;
    if (own == 0)
        tails->others += at->arrivals;
    else
        tails->at[own - 1].count += at->arrivals;
    *ret_class = (uint32_t)own;
    return 0;
}

static int add_substrings(struct tails *tails, const uint32_t *order, unsigned most)
{
    uint32_t count = tails->strings->count;
    uint32_t *classes = calloc(2 * (count + 1UL), sizeof(*classes));
    uint32_t *shorter = classes, *own = classes + count;
    int result = classes == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; result == 0 && i < count; i++)
        shorter[i] = tails->strings->at[i].depth == 0 ? 0 : tails->strings->at[i].letter + 1u;
    for (unsigned length = 2; result == 0 && length <= most; length++) {
        for (uint32_t i = 0; result == 0 && i < count; i++)
            result = add_substring(tails, order[i], length, shorter, &own[order[i]]);
        uint32_t *swap = shorter;
        shorter = own;
        own = swap;
    }
    free(classes);
    return result;
}

/* The first eight characters are compared first, since most texts differ in them. */
struct listed {
    uint64_t first;
    struct causality_substring substring;
};

static int compare_listed(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return strcmp(a->substring.string, b->substring.string);
}

static uint64_t first_characters(const char *text)
{
    uint64_t first = 0;

    for (unsigned i = 0; i < sizeof(first); i++) {
        first = first << 8 | (unsigned char)*text;
        text += *text != '\0';
    }
    return first;
}

/* Lists the tails that have occurred, as text. `list` has capacity for all. */
static int list_tails(const struct tails *tails, struct causality *result, struct listed *list)
{
    uint16_t letters[TAIL_SIZE];

    for (uint32_t i = 0; i < tails->count; i++) {
        const struct tail *tail = &tails->at[i];
        if (tail->count == 0) /* only longer tails have occurred */
            continue;
        tail_letters(tails->strings, tail->string, tail->length, letters);
        const char *text = letters_text(&result->memory, letters, tail->length, false);
        if (text == NULL)
            return -ENOMEM;
        list[result->substring_count++] =
            (struct listed){first_characters(text), {text, tail->count}};
    }
    return 0;
}

static int list_substrings(struct tails *tails, struct causality *result)
{
    lookup_done(&tails->hashes); /* no more lookups: frees memory for the list */
    struct listed *list = malloc((tails->count + 1UL) * sizeof(*list));

    if (list == NULL || list_tails(tails, result, list) < 0) {
        free(list);
        return -ENOMEM;
    }
    free(tails->at); /* frees memory for the result */
    tails->at = NULL;
    qsort(list, result->substring_count, sizeof(*list), compare_listed);
    result->substrings = calloc(result->substring_count + 1UL, sizeof(*result->substrings));
    for (size_t i = 0; result->substrings != NULL && i < result->substring_count; i++)
        result->substrings[i] = list[i].substring;
    free(list);
    result->other_substrings = tails->others;
    return result->substrings == NULL ? -ENOMEM : 0;
}

int causality_build_substrings(struct causality_analysis *analysis, struct causality *result)
{
    struct tails tails = {.strings = &analysis->strings};
    uint32_t *order = by_arrivals(&analysis->strings);
    int done = order == NULL ? -ENOMEM : add_substrings(&tails, order, analysis->options.length);

    if (done == 0)
        done = list_substrings(&tails, result);
    free(order);
    tails_done(&tails);
    return done;
}

/* ---- transitions ---- */

/* The length of a context and the letter behind it, or of the whole string behind the requestor. 0: the beginning is
 * not known. */
static unsigned tail_length(const struct strings *strings, uint32_t string, unsigned most)
{
    const struct string *at = &strings->at[string];

    if (at->depth >= most)
        return most;
    return at->cut ? 0 : at->depth + 1u;
}

/* Counts what came with at most so many last letters; in *others, if these are not known. */
static int add_known(struct tails *tails, uint32_t string, unsigned most, uint64_t count,
                     uint64_t *others)
{
    unsigned length = tail_length(tails->strings, string, most);
    uint16_t letters[TAIL_SIZE];

    if (count == 0)
        return 0;
    if (length == 0) {
        *others += count;
        return 0;
    }
    tail_letters(tails->strings, string, length, letters);
    return add_tail(tails, string, letters, length, count);
}

/* Counts a message to a server process. A first message from a requestor is no choice of a server process. */
static int add_transition(struct tails *tails, uint32_t string, unsigned context, uint64_t *others)
{
    const struct string *at = &tails->strings->at[string];

    return at->depth == 0 || (at->depth == 1 && !at->cut)
               ? 0
               : add_known(tails, string, context + 1, at->arrivals, others);
}

/* Counts replies to requestors, by their context. No letter follows. */
static int add_reply(struct tails *tails, uint32_t string, unsigned context, uint64_t *others)
{
    const struct string *at = &tails->strings->at[string];

    return at->depth == 0 ? 0 : add_known(tails, string, context, at->replies, others);
}

/* A context of 1 letter has no requestor before it. */
static const char *const *context_texts(struct arena *arena, const uint16_t *letters,
                                        unsigned length)
{
    const char **texts = arena_allocate(arena, length * sizeof(*texts));

    for (unsigned i = 0; texts != NULL && i < length; i++) {
        texts[i] = letters_text(arena, &letters[i], 1, false);
        if (texts[i] == NULL)
            return NULL;
    }
    return texts;
}

static int compare_contexts(const struct causality_transition *a,
                            const struct causality_transition *b)
{
    unsigned length = a->length < b->length ? a->length : b->length;

    for (unsigned i = 1; i <= length; i++) { /* by the sender first, then by its predecessor */
        int order = strcmp(a->context[a->length - i], b->context[b->length - i]);
        if (order != 0)
            return order;
    }
    return a->length < b->length ? -1 : a->length > b->length;
}

static int compare_transitions(const void *left, const void *right)
{
    const struct causality_transition *a = left;
    const struct causality_transition *b = right;
    int order = compare_contexts(a, b);

    if (order != 0 || (a->next == NULL && b->next == NULL))
        return order;
    if (a->next == NULL || b->next == NULL)
        return a->next == NULL ? 1 : -1;
    return strcmp(a->next, b->next);
}

static int list_transitions(const struct causality_analysis *analysis, const struct tails *tails,
                            bool replies, struct causality *result)
{
    uint16_t letters[TAIL_SIZE];
    const uint32_t *moments;

    if (moments_of(analysis, &result->memory, tails->of, replies, tails->count, &moments) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < tails->count; i++) {
        const struct tail *tail = &tails->at[i];
        struct causality_transition *to = &result->transitions[result->transition_count];
        tail_letters(tails->strings, tail->string, tail->length, letters);
        to->length = replies ? tail->length : tail->length - 1;
        to->count = tail->count;
        to->moments = moments == NULL ? NULL : moments + (size_t)i * CAUSALITY_MOMENTS;
        to->context = context_texts(&result->memory, letters, to->length);
        if (!replies)
            to->next = letters_text(&result->memory, &letters[to->length], 1, false);
        if (to->context == NULL || (!replies && to->next == NULL))
            return -ENOMEM;
        result->transition_count++;
    }
    return 0;
}

/* Sums up what was sent in each context. */
static void sum_contexts(struct causality *result)
{
    struct causality_transition *rows = result->transitions;

    for (size_t begin = 0, end; begin < result->transition_count; begin = end) {
        uint64_t sum = 0;
        for (end = begin;
             end < result->transition_count && compare_contexts(&rows[begin], &rows[end]) == 0;
             end++)
            sum += rows[end].next == NULL ? 0 : rows[end].count;
        for (size_t i = begin; i < end; i++)
            rows[i].of = sum;
    }
}

int causality_build_transitions(struct causality_analysis *analysis, struct causality *result)
{
    struct tails sent = {.strings = &analysis->strings};
    struct tails replies = {.strings = &analysis->strings};
    unsigned context = analysis->options.context;
    uint32_t *order = by_arrivals(&analysis->strings);
    int done = order == NULL ? -ENOMEM : 0;

    sent.of = calloc(analysis->strings.count + 1UL, sizeof(*sent.of));
    replies.of = calloc(analysis->strings.count + 1UL, sizeof(*replies.of));
    if (sent.of == NULL || replies.of == NULL)
        done = -ENOMEM;
    for (uint32_t i = 0; done == 0 && i < analysis->strings.count; i++) {
        done = add_transition(&sent, order[i], context, &result->other_transitions);
        if (done == 0)
            done = add_reply(&replies, order[i], context, &result->other_transitions);
    }
    result->other_transitions += sent.others + replies.others;
    result->transitions =
        calloc((size_t)sent.count + replies.count + 1, sizeof(*result->transitions));
    if (done == 0 &&
        (result->transitions == NULL || list_transitions(analysis, &sent, false, result) < 0 ||
         list_transitions(analysis, &replies, true, result) < 0))
        done = -ENOMEM;
    if (done == 0) {
        qsort(result->transitions, result->transition_count, sizeof(*result->transitions),
              compare_transitions);
        sum_contexts(result);
    }
    free(order);
    tails_done(&sent);
    tails_done(&replies);
    return done;
}
