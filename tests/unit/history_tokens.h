/* SPDX-License-Identifier: MIT */
/*
 * history_tokens.h: the words and numbers of a case (history_text.h), from reading->at on.
 *
 *      @2s+20 B.s1#3 SEND p1 [10,30)
 *       |     | |  | |    |   '-- number32
 *       |     | |  | take number_of 'p'
 *       |     machine, number_of 's', number32: together a reference
 *       duration
 *
 * After the first error `at` points to an empty text, where nothing more is found, so callers need not check for
 * errors.
 */
#ifndef DPM_HISTORY_TOKENS_H
#define DPM_HISTORY_TOKENS_H

#include "history_reading.h"

#include <ctype.h>

static inline void complain(struct reading *reading, const char *where, const char *what)
{
    unsigned line = 1;
    const char *start = reading->text;

    if (reading->problem != NULL)
        return;
    for (const char *at = reading->text; at < where; at++)
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    assert_true(asprintf(&reading->problem, "line %u, column %u: %s: \"%.*s\"", line,
                         (unsigned)(where - start) + 1, what, (int)strcspn(where, "\n"),
                         where) > 0);
    reading->at = "";
}

static inline void skip_blanks(struct reading *reading)
{
    while (*reading->at == ' ')
        reading->at++;
}

static inline bool goes_on(char character)
{
    return isalnum((unsigned char)character) || character == '_' || character == '-';
}

/* Whether this comes next, as a whole word; then it is consumed. */
static inline bool take(struct reading *reading, const char *token)
{
    size_t length = strlen(token);

    skip_blanks(reading);
    if (strncmp(reading->at, token, length) != 0 ||
        (goes_on(token[length - 1]) && goes_on(reading->at[length])))
        return false;
    reading->at += length;
    return true;
}

static inline void expect(struct reading *reading, const char *token)
{
    char what[64];

    snprintf(what, sizeof(what), "\"%s\" is missing", token);
    if (!take(reading, token))
        complain(reading, reading->at, what);
}

static inline bool is_digit(char character)
{
    return isdigit((unsigned char)character);
}

static inline uint64_t number(struct reading *reading)
{
    uint64_t value = 0;

    if (!is_digit(*reading->at))
        complain(reading, reading->at, "a number is missing");
    for (; is_digit(*reading->at); reading->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*reading->at - '0'), &value))
            complain(reading, reading->at, "too large");
    return value;
}

/* A number of 32 bits; -1 is the largest one. */
static inline uint32_t number32(struct reading *reading)
{
    const char *where = reading->at;
    bool negative = *reading->at == '-';

    reading->at += negative;
    uint64_t value = number(reading);
    if (value > UINT32_MAX)
        complain(reading, where, "more than 32 bits");
    return negative ? -(uint32_t)value : (uint32_t)value;
}

/* A letter and a number: s1, p2, d3. */
static inline bool comes(const struct reading *reading, char letter)
{
    return reading->at[0] == letter && is_digit(reading->at[1]);
}

static inline uint32_t number_of(struct reading *reading, char letter)
{
    char what[] = "_ and a number are missing";

    what[0] = letter;
    skip_blanks(reading);
    if (!comes(reading, letter)) {
        complain(reading, reading->at, what);
        return 0;
    }
    reading->at++;
    return number32(reading);
}

/* 20, 5ms, 2s+500ms+20: ns. */
static inline uint64_t duration(struct reading *reading)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", SECOND}};
    uint64_t sum = 0;

    skip_blanks(reading);
    do {
        uint64_t value = number(reading), unit = 1;
        for (size_t i = 0; i < ARRAY_SIZE(units) && isalpha((unsigned char)*reading->at); i++)
            if (take(reading, units[i].name))
                unit = units[i].ns;
        if (goes_on(*reading->at))
            complain(reading, reading->at, "no unit of time");
        sum += value * unit;
    } while (*reading->at == '+' && reading->at++);
    return sum;
}

static inline uint32_t machine(struct reading *reading)
{
    skip_blanks(reading);
    if ((reading->at[0] != 'A' && reading->at[0] != 'B') || reading->at[1] != '.')
        return 0;
    reading->at += 2;
    return reading->at[-2] == 'B';
}

static inline struct reference reference(struct reading *reading)
{
    struct reference reference = {.origin = machine(reading)};

    if (take(reading, "kernel@")) {
        reference.of_kernel = true;
        reference.time = duration(reading);
        return reference;
    }
    reference.stream = number_of(reading, 's');
    expect(reading, "#");
    reference.sequence = number32(reading);
    return reference;
}

#endif
