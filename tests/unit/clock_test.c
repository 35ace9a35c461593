/* SPDX-License-Identifier: MIT */
/*
 * clock_test.c: clock offsets against known clocks: machines whose clocks drift, are slewed and stand still, and
 * messages between them with random delays.
 */
#include "clocks/clock.h"

#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS            1000000ULL
#define S             (1000 * MS)
#define YEAR          (365 * 86400 * S)
#define SLACK         2 /* ns: clocks show whole nanoseconds */
#define MOST_SEGMENTS 64
#define MOST_MESSAGES 200000

static uint64_t seed;

static uint64_t pick(uint64_t count)
{
    return random_below(&seed, count);
}

/* ---- clocks ---- */

/* From `begin` (true time) on the clock shows `shown` and runs faster by `ppb`; -1e9: it stands still. */
struct segment {
    uint64_t begin;
    uint64_t shown;
    int64_t ppb;
};

struct sample_clock {
    unsigned count;
    struct segment segments[MOST_SEGMENTS];
};

static uint64_t clock_at(const struct sample_clock *clock, uint64_t time)
{
    unsigned i = clock->count - 1;

    while (i > 0 && clock->segments[i].begin > time)
        i--;
    uint64_t past = time - clock->segments[i].begin;
    return clock->segments[i].shown + past +
           (uint64_t)(int64_t)((__int128)past * clock->segments[i].ppb / 1000000000);
}

static void clock_change(struct sample_clock *clock, uint64_t time, int64_t ppb)
{
    struct segment next = {time, clock_at(clock, time), ppb};

    clock->segments[clock->count++] = next;
}

static int64_t random_ppb(int64_t most)
{
    return (int64_t)pick(2 * (uint64_t)most + 1) - most;
}

/* Slewed now and then; the two clocks together never drift faster than CLOCK_DRIFT_PPM. */
static void random_clock(struct sample_clock *clock, uint64_t duration, unsigned slews)
{
    uint64_t time = 0;

    clock->count = 1;
    clock->segments[0] = (struct segment){0, YEAR + pick(5 * YEAR), random_ppb(200000)};
    for (unsigned i = 0; i < slews; i++) {
        time += 1 + pick(2 * duration / (slews + 1));
        clock_change(clock, time, random_ppb(249000));
    }
}

/* ---- messages ---- */

struct message {
    uint64_t sent; /* true times */
    uint64_t received;
    enum clock_direction direction;
};

static struct message messages[MOST_MESSAGES];

static int compare_messages(const void *left, const void *right)
{
    const struct message *a = left;
    const struct message *b = right;

    return (a->received > b->received) - (a->received < b->received);
}

/* At least `least`, usually little more, sometimes a thousand times as much. */
static uint64_t random_delay(uint64_t least)
{
    uint64_t more = 1 + pick(least);

    for (unsigned i = 0; i < 10 && pick(2) == 0; i++)
        more *= 2;
    return least + more;
}

/* In the order of receiving. Now and then one side is silent for a tenth of the time. */
static size_t random_messages(size_t count, uint64_t duration, const uint64_t delays[2],
                              bool silences)
{
    uint64_t silent = silences ? pick(duration) : UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        struct message *message = &messages[i];
        message->sent = pick(duration);
        message->direction = pick(2) ? CLOCK_A_TO_B : CLOCK_B_TO_A;
        if (message->sent >= silent && message->sent - silent < duration / 10)
            message->direction = CLOCK_A_TO_B;
        message->received = message->sent + random_delay(delays[message->direction]);
    }
    qsort(messages, count, sizeof(*messages), compare_messages);
    return count;
}

static void add_message(struct clock_pair *pair, const struct sample_clock *a,
                        const struct sample_clock *b, const struct message *message)
{
    if (message->direction == CLOCK_A_TO_B)
        clock_pair_add(pair, clock_at(a, message->sent), clock_at(b, message->received),
                       CLOCK_A_TO_B);
    else
        clock_pair_add(pair, clock_at(a, message->received), clock_at(b, message->sent),
                       CLOCK_B_TO_A);
}

/* Whether the offset is known at this true time; if so, it must be right. Stores the error. */
static bool check_offset(const struct clock_pair *pair, const struct sample_clock *a,
                         const struct sample_clock *b, uint64_t time, uint64_t *ret_error)
{
    uint64_t time_a = clock_at(a, time);
    int64_t truth = (int64_t)(clock_at(b, time) - time_a);
    int64_t offset;
    uint64_t error;

    clock_pair_offset(pair, time_a, &offset, &error);
    if (ret_error != NULL)
        *ret_error = error;
    if (error == UINT64_MAX)
        return false;
    if ((uint64_t)llabs(offset - truth) > error + SLACK)
        print_error("at %" PRIu64 ": truth %" PRId64 ", offset %" PRId64 ", error %" PRIu64 "\n",
                    time, truth, offset, error);
    assert_true((uint64_t)llabs(offset - truth) <= error + SLACK);
    return true;
}

/* ---- offsets are true ---- */

static void truth_lies_within(void **state)
{
    (void)state;
    seed = seed_of_run("truth");
    for (uint64_t round = 0; round < rounds_of_run(300); round++) {
        static struct clock_pair pair;
        struct sample_clock a, b;
        uint64_t duration = S << pick(12);
        uint64_t delays[2] = {1 + pick(MS), 1 + pick(MS)};
        size_t count = random_messages(2 + pick(1 << pick(15)), duration, delays, pick(2));
        memset(&pair, 0, sizeof(pair));
        random_clock(&a, duration, (unsigned)pick(20));
        random_clock(&b, duration, (unsigned)pick(20));
        for (size_t i = 0; i < count; i++) {
            add_message(&pair, &a, &b, &messages[i]);
            if (i % 16 == 0)
                check_offset(&pair, &a, &b, pick(duration), NULL);
            if (i % 16 == 1)
                check_offset(&pair, &a, &b, messages[i].received, NULL);
        }
        for (unsigned i = 0; i < 2000; i++)
            check_offset(&pair, &a, &b, pick(duration + duration / 8), NULL);
    }
}

/* Messages in any order, as old records come. */
static void order_does_not_matter_for_truth(void **state)
{
    (void)state;
    seed = seed_of_run("order");
    for (uint64_t round = 0; round < rounds_of_run(200); round++) {
        static struct clock_pair pair;
        struct sample_clock a, b;
        uint64_t duration = S << pick(8);
        uint64_t delays[2] = {1 + pick(MS), 1 + pick(MS)};
        size_t count = random_messages(2 + pick(5000), duration, delays, false);
        size_t reach = 1 + pick(count);
        memset(&pair, 0, sizeof(pair));
        random_clock(&a, duration, (unsigned)pick(10));
        random_clock(&b, duration, (unsigned)pick(10));
        for (size_t i = 0; i + reach < count; i++) {
            struct message message = messages[i];
            size_t other = i + pick(reach);
            messages[i] = messages[other];
            messages[other] = message;
        }
        for (size_t i = 0; i < count; i++)
            add_message(&pair, &a, &b, &messages[i]);
        for (unsigned i = 0; i < 1000; i++)
            check_offset(&pair, &a, &b, pick(duration + duration / 8), NULL);
    }
}

/* A machine and its clock stand still for a while (a virtual machine, a suspended notebook). A pause longer than any
 * message takes is detected with the first message in the other direction. */
static void jumps_are_seen(void **state)
{
    (void)state;
    seed = seed_of_run("jumps");
    for (uint64_t round = 0; round < rounds_of_run(40); round++) {
        static struct clock_pair pair;
        struct sample_clock clocks[2];
        uint64_t delays[2] = {1000 + pick(MS / 10), 1000 + pick(MS / 10)};
        uint64_t duration = 200 * S;
        uint64_t time = 0;
        unsigned known = 0;
        size_t count = random_messages(50000, duration, delays, false);
        memset(&pair, 0, sizeof(pair));
        random_clock(&clocks[0], duration, 0);
        random_clock(&clocks[1], duration, 0);
        for (unsigned i = 0; i < 10; i++) {
            struct sample_clock *clock = &clocks[pick(2)];
            time += S + pick(10 * S);
            clock_change(clock, time, -1000000000);
            time += S + pick(3 * S);
            clock_change(clock, time, random_ppb(200000));
        }
        size_t used = 0;
        for (size_t i = 0; i < count; i++) {
            bool stands = false; /* a machine that stands still neither sends nor receives */
            for (unsigned c = 0; c < 2; c++)
                for (unsigned k = 0; k + 1 < clocks[c].count; k++)
                    stands |= clocks[c].segments[k].ppb == -1000000000 &&
                              ((messages[i].sent >= clocks[c].segments[k].begin &&
                                messages[i].sent <= clocks[c].segments[k + 1].begin) ||
                               (messages[i].received >= clocks[c].segments[k].begin &&
                                messages[i].received <= clocks[c].segments[k + 1].begin));
            if (!stands)
                messages[used++] = messages[i];
        }
        for (size_t i = 0; i < used; i++)
            add_message(&pair, &clocks[0], &clocks[1], &messages[i]);
        for (size_t i = 0; i < 5000; i++)
            known +=
                check_offset(&pair, &clocks[0], &clocks[1], messages[pick(used)].received, NULL);
        assert_true(known > 4900);
        assert_true(pair.piece_count > 10);
    }
}

/* ---- precision ---- */

/* The best certain error from all messages, computed naively. */
static uint64_t naive_error(size_t count, const struct sample_clock *a,
                            const struct sample_clock *b, uint64_t time_a)
{
    int64_t above = INT64_MAX;
    int64_t below = INT64_MAX;

    for (size_t i = 0; i < count; i++) {
        bool from_a = messages[i].direction == CLOCK_A_TO_B;
        uint64_t at_a = clock_at(a, from_a ? messages[i].sent : messages[i].received);
        uint64_t at_b = clock_at(b, from_a ? messages[i].received : messages[i].sent);
        int64_t value = from_a ? (int64_t)(at_b - at_a) : (int64_t)(at_a - at_b);
        value += clock_growth(at_a < time_a ? time_a - at_a : at_a - time_a);
        if (from_a && value < above)
            above = value;
        if (!from_a && value < below)
            below = value;
    }
    return above == INT64_MAX || below == INT64_MAX ? UINT64_MAX
                                                    : (uint64_t)(above + below + 1) / 2;
}

/* Without merging into pieces, nothing is lost. */
static void few_messages_as_the_naive_way(void **state)
{
    (void)state;
    seed = seed_of_run("few");
    for (uint64_t round = 0; round < rounds_of_run(500); round++) {
        static struct clock_pair pair;
        struct sample_clock a, b;
        uint64_t duration = S << pick(6);
        uint64_t delays[2] = {1 + pick(MS), 1 + pick(MS)};
        size_t count = random_messages(1 + pick(60), duration, delays, false);
        memset(&pair, 0, sizeof(pair));
        random_clock(&a, duration, (unsigned)pick(3));
        random_clock(&b, duration, (unsigned)pick(3));
        for (size_t i = 0; i < count; i++)
            add_message(&pair, &a, &b, &messages[i]);
        for (unsigned i = 0; i < 200; i++) {
            uint64_t time = pick(2 * duration);
            uint64_t error;
            uint64_t naive = naive_error(count, &a, &b, clock_at(&a, time));
            if (!check_offset(&pair, &a, &b, time, &error))
                assert_true(naive == UINT64_MAX);
            else
                assert_true(error <= naive + 2 && naive <= error + 2);
        }
    }
}

/* Clocks with constant rates: a straight line lies between all bounds. Returns how far all such lines are apart at
 * some time, by trying every slope. */
static uint64_t line_error(size_t count, const struct sample_clock *a, const struct sample_clock *b,
                           uint64_t time_a)
{
    double highest = -1e300, lowest = 1e300;
    double base = (double)(int64_t)(clock_at(b, 0) - clock_at(a, 0));
    static struct {
        double x, y;
        bool above;
    } bounds[MOST_MESSAGES];

    for (size_t i = 0; i < count; i++) {
        bool from_a = messages[i].direction == CLOCK_A_TO_B;
        uint64_t at_a = clock_at(a, from_a ? messages[i].sent : messages[i].received);
        uint64_t at_b = clock_at(b, from_a ? messages[i].received : messages[i].sent);
        bounds[i].x = (double)(int64_t)(time_a - at_a);
        bounds[i].y = (double)(int64_t)(at_b - at_a) - base;
        bounds[i].above = from_a;
    }
    for (double slope = -500e-6; slope <= 500e-6; slope += 0.5e-6) {
        double above = 1e300, below = -1e300;
        for (size_t i = 0; i < count; i++) {
            double y = bounds[i].y + slope * bounds[i].x;
            if (bounds[i].above && y < above)
                above = y;
            if (!bounds[i].above && y > below)
                below = y;
        }
        if (below > above)
            continue;
        highest = above > highest ? above : highest;
        lowest = below < lowest ? below : lowest;
    }
    return (uint64_t)((highest - lowest) / 2);
}

/* With many messages, the corridor is hardly wider than all straight lines together; and the more messages, the
 * narrower it is. */
static void near_the_best_lines(void **state)
{
    (void)state;
    seed = seed_of_run("lines");
    for (unsigned round = 0; round < 6; round++) {
        static struct clock_pair pair, sparse;
        struct sample_clock a, b;
        uint64_t duration = S;
        uint64_t delays[2] = {20000 + pick(50000), 20000 + pick(50000)};
        size_t count = random_messages(4000, duration, delays, false);
        double sum = 0, sparse_sum = 0, line_sum = 0, naive_sum = 0;
        memset(&pair, 0, sizeof(pair));
        memset(&sparse, 0, sizeof(sparse));
        random_clock(&a, duration, 0);
        random_clock(&b, duration, 0);
        for (size_t i = 0; i < count; i++) {
            add_message(&pair, &a, &b, &messages[i]);
            if (i % 32 == 0)
                add_message(&sparse, &a, &b, &messages[i]);
        }
        for (unsigned i = 0; i < 20; i++) {
            uint64_t time = S / 20 * i + S / 40;
            uint64_t error, sparse_error;
            assert_true(check_offset(&pair, &a, &b, time, &error));
            assert_true(check_offset(&sparse, &a, &b, time, &sparse_error));
            sum += (double)error;
            sparse_sum += (double)sparse_error;
            line_sum += (double)line_error(count, &a, &b, clock_at(&a, time));
            naive_sum += (double)naive_error(count, &a, &b, clock_at(&a, time));
        }
        print_message(
            "# error %.0f ns, certain %.0f ns, lines %.0f ns, a 32nd of the messages %.0f ns\n",
            sum / 20, naive_sum / 20, line_sum / 20, sparse_sum / 20);
        assert_true(sum >= naive_sum - 40 && sum < 1.15 * naive_sum);
        assert_true(sum < 1.4 * line_sum);
        assert_true(sum < sparse_sum);
    }
}

/* Hours of messages in bounded memory: pieces were merged many times, and are as good as at first. */
static void long_traces(void **state)
{
    const uint64_t duration = 6 * 3600 * S;
    static struct clock_pair pair;
    const unsigned per_second = 100;

    (void)state;
    seed = seed_of_run("long");
    for (unsigned round = 0; round < 3; round++) {
        struct sample_clock a, b;
        double sum = 0;
        memset(&pair, 0, sizeof(pair));
        random_clock(&a, duration, round * 5);
        random_clock(&b, duration, round * 5);
        for (uint64_t time = 0; time < duration; time += 2 * S / per_second) {
            struct message there = {time, time + random_delay(50000), CLOCK_A_TO_B};
            struct message back = {there.received, there.received + random_delay(50000),
                                   CLOCK_B_TO_A};
            add_message(&pair, &a, &b, &there);
            add_message(&pair, &a, &b, &back);
        }
        assert_int_equal(pair.piece_count, CLOCK_PIECES);
        for (unsigned i = 0; i < 20000; i++) {
            uint64_t error;
            assert_true(check_offset(&pair, &a, &b, pick(duration), &error));
            sum += (double)error;
        }
        print_message("# after 6 hours: error %.0f ns\n", sum / 20000);
        assert_true(sum / 20000 < 150000);
    }
}

/* ---- examples ---- */

static void expect(const struct clock_pair *pair, uint64_t time, int64_t offset, uint64_t error)
{
    int64_t found;
    uint64_t found_error;

    clock_pair_offset(pair, time, &found, &found_error);
    if (error == UINT64_MAX) {
        assert_true(found_error == UINT64_MAX);
        return;
    }
    assert_in_range(found_error, error, error + 2);
    assert_in_range((uint64_t)(found - offset + 1), 0, 2);
}

static void examples(void **state)
{
    struct clock_pair pair = {0};
    const uint64_t ahead = 3 * YEAR; /* B */
    const uint64_t t = 1000 * S;

    (void)state;
    expect(&pair, t, 0, UINT64_MAX);
    clock_pair_add(&pair, t, t + ahead + 300, CLOCK_A_TO_B);
    expect(&pair, t, 0, UINT64_MAX);
    clock_pair_add(&pair, t, t + ahead - 100, CLOCK_B_TO_A);
    expect(&pair, t, (int64_t)ahead + 100, 200);
    /* 2 s away clocks may have drifted apart by 1 ms. */
    expect(&pair, t + 2 * S, (int64_t)ahead + 100, 200 + MS);
    expect(&pair, t - 2 * S, (int64_t)ahead + 100, 200 + MS);
    /* Worse messages change nothing, better ones do. */
    clock_pair_add(&pair, t + 1000, t + 1000 + ahead + 301, CLOCK_A_TO_B);
    expect(&pair, t, (int64_t)ahead + 100, 200);
    clock_pair_add(&pair, t, t + ahead + 100, CLOCK_A_TO_B);
    expect(&pair, t, (int64_t)ahead, 100);
    /* B jumps by 1 s: the offsets before and after are known; in between it may be either. */
    clock_pair_add(&pair, t + S, t + S + ahead + S - 100, CLOCK_B_TO_A);
    expect(&pair, t, (int64_t)ahead, 100);
    expect(&pair, t + S, 0, UINT64_MAX);
    clock_pair_add(&pair, t + S, t + S + ahead + S + 100, CLOCK_A_TO_B);
    expect(&pair, t + S + 1, (int64_t)(ahead + S), 100);
    expect(&pair, t + S / 2, (int64_t)(ahead + S / 2), S / 2 + 100 + MS / 4);
    assert_int_equal(pair.piece_count, 1);
    /* A message that is processed late, from before the jump, says nothing about the time after it. */
    clock_pair_add(&pair, t + S / 2, t + S / 2 + ahead + 50, CLOCK_A_TO_B);
    expect(&pair, t + S + 1, (int64_t)(ahead + S), 100);
    assert_int_equal(pair.piece_count, 1);
}

/* Messages between a jump and the message that reveals it say nothing about the time before, even if they seemed to
 * be the best so far. */
static void seen_too_late(void **state)
{
    struct clock_pair pair = {0};
    const uint64_t t = 1000 * S;

    (void)state;
    clock_pair_add(&pair, t, t + 100, CLOCK_A_TO_B);
    clock_pair_add(&pair, t, t - 100, CLOCK_B_TO_A);
    /* B jumped by 1 s, which is how long the message seemed to take */
    clock_pair_add(&pair, t + 10, t + 10 + 50, CLOCK_B_TO_A);
    expect(&pair, t, 75, 25);
    clock_pair_add(&pair, t + 20, t + 20 + S, CLOCK_B_TO_A);
    expect(&pair, t, 0, UINT64_MAX);
}

/* More jumps than pieces: some pieces have many jumps in them, and report it. */
static void many_jumps(void **state)
{
    static struct clock_pair pair;
    static uint64_t ahead[500];

    (void)state;
    seed = seed_of_run("many jumps");
    memset(&pair, 0, sizeof(pair));
    for (uint64_t i = 0; i < ARRAY_SIZE(ahead); i++) {
        ahead[i] = 1000 * S + pick(1000) * 10 * MS;
        for (uint64_t time = (i + 1) * S; time <= (i + 1) * S + S / 2; time += S / 2) {
            clock_pair_add(&pair, time, time + ahead[i] + 100, CLOCK_A_TO_B);
            clock_pair_add(&pair, time, time + ahead[i] - 100, CLOCK_B_TO_A);
        }
    }
    assert_int_equal(pair.piece_count, CLOCK_PIECES);
    for (uint64_t i = 0; i < ARRAY_SIZE(ahead); i++)
        for (uint64_t part = 0; part < 8; part++) {
            bool may_be_next = part > 4 && i + 1 < ARRAY_SIZE(ahead);
            int64_t offset;
            uint64_t error;
            clock_pair_offset(&pair, (i + 1) * S + part * S / 8, &offset, &error);
            assert_true(error != UINT64_MAX);
            assert_true((uint64_t)llabs(offset - (int64_t)ahead[i]) <= error);
            assert_true(!may_be_next || (uint64_t)llabs(offset - (int64_t)ahead[i + 1]) <= error);
        }
}

/* A's clock is behind, one-way messages come first, and later knowledge improves their offsets. */
static void one_way_first(void **state)
{
    static struct clock_pair pair;
    uint64_t error;
    int64_t offset;

    (void)state;
    memset(&pair, 0, sizeof(pair));
    for (uint64_t i = 0; i < 1000; i++) { /* better and better: they fill pieces */
        uint64_t time = S + i * MS;
        clock_pair_add(&pair, time, time + MS - i * 400, CLOCK_A_TO_B);
        clock_pair_offset(&pair, time, &offset, &error);
        assert_true(error == UINT64_MAX);
    }
    assert_true(pair.piece_count > 1);
    clock_pair_add(&pair, 2 * S, 2 * S, CLOCK_B_TO_A);
    clock_pair_offset(&pair, 2 * S, &offset, &error);
    assert_true(error < MS);
    clock_pair_offset(&pair, S, &offset, &error);
    assert_true(error < 3 * MS);
}

/* Whatever a damaged trace contains, it does no harm, and results are plausible. */
static void any_numbers(void **state)
{
    (void)state;
    seed = seed_of_run("any numbers");
    for (uint64_t round = 0; round < rounds_of_run(2000); round++) {
        static struct clock_pair pair;
        struct clocks *clocks;
        unsigned bits = 1 + (unsigned)pick(64);
        memset(&pair, 0, sizeof(pair));
        assert_int_equal(clocks_new(4, &clocks), 0);
        for (unsigned i = 0; i < 500; i++) {
            uint64_t times[2] = {random_number(&seed) >> (64 - bits),
                                 random_number(&seed) >> (pick(2) ? 64 - bits : pick(64))};
            int64_t offset;
            uint64_t error;
            clock_pair_add(&pair, times[0], times[1], pick(2) ? CLOCK_A_TO_B : CLOCK_B_TO_A);
            assert_true(pair.sides[0].count < CLOCK_BOUNDS && pair.sides[1].count < CLOCK_BOUNDS);
            assert_true(pair.piece_count <= CLOCK_PIECES);
            clock_pair_offset(&pair, random_number(&seed) >> (64 - bits), &offset, &error);
            assert_int_equal(
                clocks_add(clocks, (uint32_t)pick(4), times[0], (uint32_t)pick(4), times[1]), 0);
            clocks_offset(clocks, (uint32_t)pick(4), times[pick(2)], &offset, &error);
        }
        clocks_free(clocks);
    }
}

/* ---- several machines ---- */

#define MACHINES 6

static void send_between(struct clocks *clocks, const struct sample_clock *machines,
                         const uint32_t *machine_of, uint32_t from, uint32_t to, uint64_t time,
                         uint64_t delay)
{
    assert_int_equal(clocks_add(clocks, from, clock_at(&machines[machine_of[from]], time), to,
                                clock_at(&machines[machine_of[to]], time + delay)),
                     0);
}

static bool check_origin(struct clocks *clocks, const struct sample_clock *machines,
                         uint32_t origin, uint32_t machine, uint64_t time, uint64_t *ret_error)
{
    uint64_t shown = clock_at(&machines[machine], time);
    uint32_t reference = clocks_reference(clocks, origin);
    int64_t truth = (int64_t)(clock_at(&machines[reference], time) - shown);
    int64_t offset;

    clocks_offset(clocks, origin, shown, &offset, ret_error);
    if (*ret_error == UINT64_MAX)
        return false;
    assert_true((uint64_t)llabs(offset - truth) <= *ret_error + 2 * SLACK);
    return true;
}

/* Machines that communicate only with some others; two origins on each. */
static void chains_are_true(void **state)
{
    (void)state;
    seed = seed_of_run("chains");
    for (uint64_t round = 0; round < rounds_of_run(100); round++) {
        struct sample_clock machines[MACHINES];
        uint32_t machine_of[2 * MACHINES];
        bool talk[MACHINES][MACHINES] = {{false}};
        uint32_t first[MACHINES]; /* the machine it is tied to */
        struct clocks *clocks;
        const uint64_t duration = 20 * S;
        uint64_t error;

        assert_int_equal(clocks_new(2 * MACHINES, &clocks), 0);
        for (uint32_t i = 0; i < MACHINES; i++) {
            random_clock(&machines[i], duration, 3);
            machine_of[i] = machine_of[MACHINES + i] = first[i] = i;
            clocks_share(clocks, MACHINES + i, i);
        }
        for (unsigned i = 0; i < MACHINES; i++) {
            unsigned x = (unsigned)pick(MACHINES), y = (unsigned)pick(MACHINES);
            talk[x][y] = talk[y][x] = true;
        }
        for (unsigned i = 0; i < MACHINES * MACHINES * MACHINES; i++) {
            uint32_t x = i % MACHINES, y = i / MACHINES % MACHINES;
            if (talk[x][y] && first[y] < first[x])
                first[x] = first[y];
        }
        for (unsigned i = 0; i < 20000; i++) {
            uint32_t from = (uint32_t)pick(2 * MACHINES), to = (uint32_t)pick(2 * MACHINES);
            uint64_t time = duration / 20000 * i;
            if (talk[machine_of[from]][machine_of[to]])
                send_between(clocks, machines, machine_of, from, to, time, random_delay(10000));
            if (i % 100 == 0)
                check_origin(clocks, machines, to, machine_of[to], pick(duration), &error);
        }
        for (uint32_t i = 0; i < 2 * MACHINES; i++)
            for (unsigned k = 0; k < 200; k++) {
                uint64_t time = pick(duration);
                bool known = check_origin(clocks, machines, i, machine_of[i], time, &error);
                assert_true(known);
                assert_int_equal(clocks_reference(clocks, i), first[machine_of[i]]);
                if (machine_of[i] == first[machine_of[i]])
                    assert_int_equal(error, 0);
                /* what was found for one time may be used for others near it */
                for (unsigned near = 0; near < 5; near++)
                    assert_true(check_origin(clocks, machines, i, machine_of[i],
                                             time + pick(300000), &error));
            }
        clocks_free(clocks);
    }
}

/* The direct way has an error of a millisecond, the way by another machine ten microseconds. */
static void the_surest_way_is_taken(void **state)
{
    const uint32_t machine_of[] = {0, 1, 2};
    struct sample_clock machines[3];
    struct clocks *clocks;
    uint64_t error;

    (void)state;
    seed = seed_of_run("ways");
    for (unsigned i = 0; i < 3; i++)
        random_clock(&machines[i], S, 0);
    assert_int_equal(clocks_new(3, &clocks), 0);
    assert_int_equal(clocks_reference(clocks, 2), 2);
    assert_true(check_origin(clocks, machines, 2, 2, S, &error));
    assert_int_equal(error, 0);
    for (uint64_t time = S; time < 2 * S; time += MS) {
        send_between(clocks, machines, machine_of, 2, 0, time, MS);
        send_between(clocks, machines, machine_of, 0, 2, time, MS);
    }
    assert_true(check_origin(clocks, machines, 2, 2, 3 * S / 2, &error));
    assert_in_range(error, MS - 1000, MS + 1000);
    for (uint64_t time = S; time < 2 * S; time += MS)
        for (uint32_t i = 0; i < 2; i++) {
            send_between(clocks, machines, machine_of, i, i + 1, time, 10000);
            send_between(clocks, machines, machine_of, i + 1, i, time, 10000);
        }
    assert_true(check_origin(clocks, machines, 2, 2, 3 * S / 2, &error));
    assert_in_range(error, 19000, 22000);
    assert_true(check_origin(clocks, machines, 1, 1, 3 * S / 2, &error));
    assert_in_range(error, 9000, 11000);
    clocks_free(clocks);
    clocks_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(seen_too_late),
        cmocka_unit_test(many_jumps),
        cmocka_unit_test(one_way_first),
        cmocka_unit_test(truth_lies_within),
        cmocka_unit_test(order_does_not_matter_for_truth),
        cmocka_unit_test(jumps_are_seen),
        cmocka_unit_test(few_messages_as_the_naive_way),
        cmocka_unit_test(near_the_best_lines),
        cmocka_unit_test(long_traces),
        cmocka_unit_test(any_numbers),
        cmocka_unit_test(chains_are_true),
        cmocka_unit_test(the_surest_way_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
