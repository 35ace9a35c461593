/* SPDX-License-Identifier: MIT */
/*
 * lookup_test.c: the lookup table with removal against a plain array, reused entries, and memory for lists.
 */
#include "base/lookup.h"
#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the table ---- */

#define KEYS 700

/* Keys as they occur: numbers of several recordings. */
static uint64_t key_number(unsigned i)
{
    return (uint64_t)(i % 3) << 32 | i / 3;
}

/* The model: the index of each key, or LOOKUP_NONE. */
static void check_lookup(uint64_t *state, unsigned steps, unsigned removed_of_8)
{
    struct lookup lookup = {0};
    uint32_t expected[KEYS];
    uint32_t count = 0;

    memset(expected, 0xff, sizeof(expected));
    for (unsigned step = 0; step < steps; step++) {
        unsigned i = (unsigned)random_below(state, KEYS);
        assert_int_equal(lookup_find(&lookup, key_number(i)), expected[i]);
        if (random_below(state, 8) < removed_of_8) {
            lookup_remove(&lookup, key_number(i));
            count -= expected[i] != LOOKUP_NONE;
            expected[i] = LOOKUP_NONE;
        } else {
            count += expected[i] == LOOKUP_NONE;
            expected[i] = (uint32_t)random_below(state, 1000);
            assert_int_equal(lookup_set(&lookup, key_number(i), expected[i]), 0);
        }
        assert_int_equal(lookup.count, count);
    }
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(lookup_find(&lookup, key_number(i)), expected[i]);
    lookup_done(&lookup);
}

static void lookup_agrees_with_naive(void **unused)
{
    uint64_t state = seed_of_run("lookup");

    (void)unused;
    for (unsigned round = 0; round < 40; round++)
        check_lookup(&state, 1 + (unsigned)random_below(&state, 4000), round % 8);
}

/* ---- the pool ---- */

/* An entry keeps its contents and its address while in use; a new entry is empty. */
static void places_are_used_again(void **unused)
{
    enum { MOST = 600 };
    struct pool pool = {.size = 24};
    uint64_t state = seed_of_run("pool");
    uint64_t *held[MOST];
    uint32_t indexes[MOST], count = 0, most = 0;

    (void)unused;
    for (unsigned step = 0; step < 20000; step++) {
        if (count < MOST && random_below(&state, 2) == 0) {
            int64_t index = pool_take(&pool);
            assert_true(index >= 0 && index < MOST);
            held[count] = pool_at(&pool, (uint32_t)index);
            assert_true(held[count][0] == 0 && held[count][1] == 0 && held[count][2] == 0);
            held[count][0] = held[count][2] = (uint64_t)index + 1;
            indexes[count++] = (uint32_t)index;
            most = count > most ? count : most;
        } else if (count > 0) {
            uint32_t i = (uint32_t)random_below(&state, count);
            assert_ptr_equal(held[i], pool_at(&pool, indexes[i]));
            assert_true(held[i][0] == indexes[i] + 1ULL && held[i][2] == held[i][0]);
            pool_give(&pool, indexes[i]);
            held[i] = held[--count];
            indexes[i] = indexes[count];
        }
        assert_int_equal(pool.used, most); /* no new entry while there is a released one */
    }
    pool_done(&pool);
}

/* ---- memory for lists ---- */

#define LISTS 30

struct list {
    uint64_t *at;
    uint32_t count;
    uint32_t capacity;
};

static void add(struct rooms *rooms, struct list *list, uint64_t value)
{
    if (list->count == list->capacity) {
        list->at = rooms_grow(rooms, list->at, &list->capacity);
        assert_non_null(list->at);
        assert_true(list->capacity > list->count);
    }
    list->at[list->count++] = value;
}

/* A list keeps its elements, however it and other lists grow. */
static void lists_keep_what_is_in_them(void **unused)
{
    struct rooms rooms = {.size = sizeof(uint64_t)};
    struct list lists[LISTS] = {{0}};
    uint64_t state = seed_of_run("rooms");

    (void)unused;
    for (unsigned step = 0; step < 20000; step++) {
        uint64_t number = random_below(&state, LISTS);
        struct list *list = &lists[number];
        if (random_below(&state, list->count + 2) < 2 || step % 1000 < 100) {
            add(&rooms, list, number * 1000 + list->count);
        } else {
            for (uint32_t i = 0; i < list->count; i++)
                assert_int_equal(list->at[i], number * 1000 + i);
            rooms_give(&rooms, list->at, list->capacity);
            *list = (struct list){0};
        }
    }
    for (unsigned i = 0; i < LISTS; i++)
        if (lists[i].at != NULL)
            rooms_give(&rooms, lists[i].at, lists[i].capacity);
    rooms_done(&rooms);
    assert_null(rooms.spare);
}

/* A list that becomes empty leaves its memory to the next one. */
static void room_is_handed_on(void **unused)
{
    struct rooms rooms = {.size = 40};
    uint32_t first_capacity = 0, second_capacity = 0;
    void *first = rooms_grow(&rooms, NULL, &first_capacity);

    (void)unused;
    assert_int_equal(first_capacity, ROOMS_FIRST);
    rooms_give(&rooms, first, first_capacity);
    assert_ptr_equal(rooms_grow(&rooms, NULL, &second_capacity), first);
    first_capacity = 0;
    void *other = rooms_grow(&rooms, NULL, &first_capacity);
    assert_ptr_not_equal(other, first);
    rooms_give(&rooms, other, first_capacity);
    rooms_give(&rooms, first, second_capacity);
    rooms_done(&rooms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup_agrees_with_naive),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(lists_keep_what_is_in_them),
        cmocka_unit_test(room_is_handed_on),
    };

    return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
