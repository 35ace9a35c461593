/* SPDX-License-Identifier: MIT */
/* request_test.c: which requests dpmd accepts. A table of rules, written a second time, decides about random requests. */
#include "dpmd/request.h"
#include "meter/load/meter.h"

#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RING_MOST (64u << 20)
#define ROUNDS    20000

/* ---- the rules ---- */

#define IN(state) (1u << (state))

/* By operation: the states it belongs to, and whether a descriptor comes with it. */
static const struct rule {
    unsigned states;
    size_t descriptors;
} rules[SESSION_OPERATIONS] = {
    [SESSION_OPEN] = {IN(SESSION_NEW), 0},
    [SESSION_MARK] = {IN(SESSION_OPENED), 1},
    [SESSION_ACQUIRE] = {IN(SESSION_OPENED), 1}, /* 0 for all */
    [SESSION_CHANGE] = {IN(SESSION_OPENED), 1},  /* likewise */
    [SESSION_BEGIN] = {IN(SESSION_OPENED), 0},
    [SESSION_LOOK] = {IN(SESSION_OPENED), 0},
    [SESSION_NOTE] = {IN(SESSION_OPENED), 0},
    [SESSION_SWEEP] = {IN(SESSION_OPENED), 0},
    [SESSION_PROCESSES] = {IN(SESSION_OPENED) | IN(SESSION_DETACHED), 0},
    [SESSION_REPORT] = {IN(SESSION_OPENED) | IN(SESSION_DETACHED), 0},
    [SESSION_DETACH] = {IN(SESSION_OPENED), 0},
    [SESSION_LAST] = {IN(SESSION_DETACHED), 0},
};

static bool is_valid(const struct session_request *request, size_t descriptors,
                     enum session_state state)
{
    if (request->version != SESSION_VERSION || request->operation == 0 ||
        request->operation >= SESSION_OPERATIONS)
        return false;
    const struct rule *rule = &rules[request->operation];
    size_t wanted =
        (request->operation == SESSION_ACQUIRE || request->operation == SESSION_CHANGE) &&
                request->of.all
            ? 0
            : rule->descriptors;
    if ((rule->states & IN(state)) == 0 || descriptors != wanted)
        return false;
    if (request->operation == SESSION_OPEN)
        return ((request->open.flags | request->open.later_flags) & ~(uint64_t)METER_ALL_FLAGS) ==
                   0 &&
               ((request->open.kinds | request->open.later_kinds) & ~METER_EVERY_KIND) == 0 &&
               request->open.ring_size <= RING_MOST;
    return request->operation != SESSION_NOTE || request->note.count <= SESSION_SOCKETS_MOST;
}

/* Checks a request whose bytes are in memory of exactly its size. Whoever is refused reads one line. */
static int check(const struct session_request *request, size_t size, size_t descriptors,
                 enum session_state state)
{
    struct problem problem = {""};
    int result = request_check(request, size, descriptors, state, RING_MOST, &problem);

    assert_true(result == 0 || result == -EPROTO || result == -EINVAL || result == -EPERM);
    if (result < 0) {
        assert_true(problem.text[0] != '\0');
        assert_null(strchr(problem.text, '\n'));
    }
    return result;
}

/* ---- random requests ---- */

static uint64_t state;

static void fill(void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)random_number(&state);
}

/* Mostly valid, so that each rule decides now and then. */
static void make_request(struct session_request *request)
{
    fill(request, sizeof(*request));
    if (random_below(&state, 20) != 0)
        request->version = SESSION_VERSION;
    if (random_below(&state, 20) != 0)
        request->operation = (uint32_t)random_below(&state, SESSION_OPERATIONS + 1);
    if (request->operation == SESSION_OPEN && random_below(&state, 4) != 0)
        request->open.flags &= METER_ALL_FLAGS;
    if (request->operation == SESSION_OPEN && random_below(&state, 4) != 0)
        request->open.later_flags &= METER_ALL_FLAGS;
    if (request->operation == SESSION_OPEN && random_below(&state, 4) != 0)
        request->open.kinds &= METER_EVERY_KIND;
    if (request->operation == SESSION_OPEN && random_below(&state, 4) != 0)
        request->open.later_kinds &= METER_EVERY_KIND;
    if (request->operation == SESSION_OPEN && random_below(&state, 4) != 0)
        request->open.ring_size = (uint32_t)random_below(&state, RING_MOST + 1);
    if (request->operation == SESSION_NOTE)
        request->note.count = (uint32_t)random_below(&state, 2 * SESSION_SOCKETS_MOST);
    if (random_below(&state, 2) != 0 &&
        (request->operation == SESSION_ACQUIRE || request->operation == SESSION_CHANGE))
        request->of.all = 0;
}

static void test_random(void **context)
{
    unsigned accepted = 0;

    (void)context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct session_request request;
        size_t descriptors = random_below(&state, 3);
        enum session_state where = (enum session_state)random_below(&state, 3);
        make_request(&request);
        bool valid = is_valid(&request, descriptors, where);
        assert_int_equal(check(&request, sizeof(request), descriptors, where) == 0, valid);
        accepted += valid;
    }
    assert_true(accepted > ROUNDS / 100); /* the test tests something */
}

static void test_noise(void **context)
{
    (void)context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct session_request request;
        fill(&request, sizeof(request));
        assert_int_equal(check(&request, sizeof(request), 0, SESSION_NEW),
                         is_valid(&request, 0, SESSION_NEW) ? 0 : -EPROTO);
    }
}

static void test_size(void **context)
{
    const struct session_request request = {.version = SESSION_VERSION, .operation = SESSION_OPEN};

    (void)context;
    for (size_t size = 0; size < 2 * sizeof(request); size++) {
        size_t given = size < sizeof(request) ? size : sizeof(request);
        void *copy = calloc(1, given > 0 ? given : 1); /* a sanitizer sees what is read beyond */
        memcpy(copy, &request, given);
        assert_int_equal(check(copy, size, 0, SESSION_NEW), size == sizeof(request) ? 0 : -EPROTO);
        free(copy);
    }
}

/* ---- each field out of range ---- */

static void test_fields(void **context)
{
    struct session_request request = {.version = SESSION_VERSION, .operation = SESSION_OPEN};

    (void)context;
    assert_int_equal(check(&request, sizeof(request), 0, SESSION_NEW), 0);
    for (unsigned bit = 0; bit < 64; bit++) {
        request.open.flags = 1ULL << bit;
        assert_int_equal(check(&request, sizeof(request), 0, SESSION_NEW),
                         METER_ALL_FLAGS >> bit & 1 ? 0 : -EINVAL);
        request.open.later_flags = request.open.flags;
        request.open.flags = 0;
        assert_int_equal(check(&request, sizeof(request), 0, SESSION_NEW),
                         METER_ALL_FLAGS >> bit & 1 ? 0 : -EINVAL);
        request.open.later_flags = 0;
    }
    request.open.flags = METER_ALL_FLAGS;
    for (unsigned bit = 0; bit < 32; bit++) {
        request.open.kinds = 1u << bit;
        assert_int_equal(check(&request, sizeof(request), 0, SESSION_NEW),
                         METER_EVERY_KIND >> bit & 1 ? 0 : -EINVAL);
    }
    request.open.kinds = 0;
    for (int step = -1; step <= 1; step++) {
        request.open.ring_size = RING_MOST + (uint32_t)step;
        assert_int_equal(check(&request, sizeof(request), 0, SESSION_NEW), step > 0 ? -EINVAL : 0);
    }
    request = (struct session_request){.version = SESSION_VERSION, .operation = SESSION_NOTE};
    request.note.count = SESSION_SOCKETS_MOST;
    assert_int_equal(check(&request, sizeof(request), 0, SESSION_OPENED), 0);
    request.note.count++;
    assert_int_equal(check(&request, sizeof(request), 0, SESSION_OPENED), -EPROTO);
}

/* A ring's size is rounded up to a power of two: it is that which must be allowed. */
static void test_ring(void **context)
{
    struct session_request request = {.version = SESSION_VERSION, .operation = SESSION_OPEN};
    struct problem problem;

    (void)context;
    request.open.ring_size = 40u << 20;
    assert_int_equal(request_check(&request, sizeof(request), 0, SESSION_NEW, 48u << 20, &problem),
                     -EINVAL);
    request.open.ring_size = 32u << 20;
    assert_int_equal(request_check(&request, sizeof(request), 0, SESSION_NEW, 48u << 20, &problem),
                     0);
    request.open.ring_size = 0; /* the default, or what is allowed of it */
    assert_int_equal(request_check(&request, sizeof(request), 0, SESSION_NEW, 1u << 20, &problem),
                     0);
}

static void test_states(void **context)
{
    (void)context;
    for (uint32_t operation = 1; operation < SESSION_OPERATIONS; operation++)
        for (int where = SESSION_NEW; where <= SESSION_DETACHED; where++) {
            const struct session_request request = {.version = SESSION_VERSION,
                                                    .operation = operation};
            bool belongs = rules[operation].states & IN(where);
            assert_int_equal(check(&request, sizeof(request), rules[operation].descriptors,
                                   (enum session_state)where),
                             belongs ? 0 : -EPERM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_noise), cmocka_unit_test(test_size),
        cmocka_unit_test(test_fields), cmocka_unit_test(test_ring),  cmocka_unit_test(test_states),
    };

    state = seed_of_run("request");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
