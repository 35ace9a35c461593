/* SPDX-License-Identifier: MIT */
/*
 * origins_test.c: machines that join a history while it is read, and machines that are silent. The world knows which send
 * each receive belongs to.
 *
 *      machine 0  --messages------------------------------------->
 *      machine 1  --messages---------(silent)------------messages->
 *      machine 2              joins --messages-------------------->
 */
#include "history/history.h"

#include "tapes.h"

#include <errno.h>
#include <stddef.h>

#define MACHINES    4u
#define CONNECTIONS 24u
#define MESSAGES    600u
#define SECOND      1000000000ull

static uint64_t seed;

/* A machine's records come to the history when the world has reached their time. */
struct machine {
    struct tape tape;
    struct source source;
    uint64_t joins; /* world's time */
    int64_t ahead;  /* of its clock */
    uint32_t sequence;
    bool mute;          /* it gives no sign of life */
    bool is_wrong;      /* its wall clock */
    uint64_t silent[2]; /* what is of this time comes when it ends */
    bool joined;
};

static struct world {
    struct machine machines[MACHINES];
    uint64_t now;
    /* of each RECEIVE the truth: [machine][sequence] */
    struct sender {
        uint32_t machine, sequence;
    } senders[MACHINES][2 * MESSAGES + 2];
    uint64_t receives;
} world;

static uint64_t read_clock(clockid_t clock)
{
    (void)clock;
    return world.now;
}

static uint64_t world_time(const struct machine *machine, uint64_t time)
{
    return time - (uint64_t)machine->ahead;
}

/* What the machine has brought at this moment of the world. */
static bool has_come(const struct machine *machine, uint64_t time)
{
    bool is_silent = world.now >= machine->silent[0] && world.now < machine->silent[1];

    return time <= (is_silent ? machine->silent[0] : world.now);
}

static int machine_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                        struct problem *problem)
{
    struct machine *machine = (struct machine *)((char *)source - offsetof(struct machine, source));
    struct tape *tape = &machine->tape;

    (void)problem;
    *ret_complete = 0;
    if (tape->at == tape->count)
        return SOURCE_END;
    if (has_come(machine, world_time(machine, tape->records[tape->at]->time))) {
        *ret_event = (struct event){tape->records[tape->at++], 0, tape->wall_offset};
        return SOURCE_RECORD;
    }
    if (!machine->mute)
        *ret_complete = world.now + (uint64_t)machine->ahead;
    return SOURCE_NONE_YET;
}

/* ---- the world ---- */

struct connection {
    uint32_t ends[2]; /* machines */
    uint32_t sent[2]; /* by each */
};

static struct connection connections[CONNECTIONS];

static uint64_t clock_of(uint32_t number)
{
    return world.now + (uint64_t)world.machines[number].ahead;
}

static void begin_machine(uint32_t number)
{
    struct machine *machine = &world.machines[number];

    tape_init(&machine->tape);
    machine->source =
        (struct source){.next = machine_next, .origins = 1, .states = &machine->tape.state};
    machine->tape.wall_offset = -machine->ahead;
    add_machine(&machine->tape, clock_of(number), (uint8_t)(number + 1), METER_EVENT_FLAGS);
    add_stream(&machine->tape, clock_of(number), 1, 1, 0);
    machine->joined = true;
}

static void join_machines(uint32_t index, uint32_t a, uint32_t b)
{
    const uint16_t port = (uint16_t)(1000 + index);

    connections[index] = (struct connection){.ends = {a, b}};
    add_internet(&world.machines[a].tape, clock_of(a), index + 1, PATH_TCP, (uint8_t)(a + 1), port,
                 (uint8_t)(b + 1), 80);
    add_internet(&world.machines[b].tape, clock_of(b), index + 1, PATH_TCP, (uint8_t)(b + 1), 80,
                 (uint8_t)(a + 1), port);
}

static void pass(uint64_t most)
{
    world.now += 1 + random_below(&seed, most);
}

static void send_message(uint32_t index)
{
    struct connection *connection = &connections[index];
    unsigned side = (unsigned)random_below(&seed, 2);
    uint32_t from = connection->ends[side], to = connection->ends[1 - side];
    uint32_t bytes = 1 + (uint32_t)random_below(&seed, 1000);
    struct machine *sender = &world.machines[from], *receiver = &world.machines[to];

    add_message(&sender->tape, clock_of(from), EVENT_SEND, 1, ++sender->sequence, index + 1,
                connection->sent[side], bytes);
    pass(200000);
    add_message(&receiver->tape, clock_of(to), EVENT_RECEIVE, 1, ++receiver->sequence, index + 1,
                connection->sent[side], bytes);
    world.senders[to][receiver->sequence] = (struct sender){from, sender->sequence};
    world.receives++;
    connection->sent[side] += bytes;
}

static uint32_t any_machine(uint32_t joined)
{
    return (uint32_t)random_below(&seed, joined);
}

/* Machines join one after the other; messages go between those that have. */
static void live(uint64_t pause)
{
    uint32_t joined = 0, connected = 0;

    memset(&world, 0, sizeof(world));
    world.now = 100 * SECOND;
    for (uint32_t i = 0; i < MACHINES; i++)
        world.machines[i].ahead = (int64_t)random_below(&seed, 50) * (int64_t)SECOND;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        if (joined < MACHINES && (joined < 2 || random_below(&seed, MESSAGES / 8) == 0)) {
            world.machines[joined].joins = world.now;
            begin_machine(joined++);
            pass(1000);
            continue;
        }
        if (connected == 0 || (connected < CONNECTIONS && random_below(&seed, 20) == 0)) {
            uint32_t a = any_machine(joined), b = any_machine(joined - 1);
            join_machines(connected++, a, b < a ? b : b + 1);
        }
        send_message((uint32_t)random_below(&seed, connected));
        pass(pause);
    }
    for (uint32_t i = 0; i < joined; i++) {
        struct end_record end = {.header = {.time = clock_of(i), .id = EVENT_END, .flags = 16},
                                 .reason = END_COMPLETE};
        tape_add(&world.machines[i].tape, &end);
    }
}

static void world_done(void)
{
    for (uint32_t i = 0; i < MACHINES; i++)
        tape_done(&world.machines[i].tape);
}

/* ---- reading ---- */

struct outcome {
    uint64_t receives, wrong, unmatched, records;
    uint64_t finished; /* world's time */
    struct history_counts counts;
};

static void check_event(const struct history_event *event, struct outcome *outcome)
{
    const struct record_header *header = event->event.header;

    outcome->records++;
    if (header->id != EVENT_RECEIVE)
        return;
    const struct sender *sender = &world.senders[event->event.origin][header->sequence];
    outcome->receives++;
    outcome->unmatched += event->rest != REST_NONE;
    for (uint32_t i = 0; i < event->edge_count; i++)
        outcome->wrong +=
            event->edges[i].kind == EDGE_EXACT && (event->edges[i].origin != sender->machine ||
                                                   event->edges[i].sequence != sender->sequence);
}

/* Records that have come by now, of the time before `before`. */
static uint64_t count_before(uint64_t before)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < MACHINES; i++) {
        const struct machine *machine = &world.machines[i];
        for (size_t at = 0; at < machine->tape.count; at++) {
            uint64_t time = world_time(machine, machine->tape.records[at]->time);
            count += time < before && time <= world.now && has_come(machine, time);
        }
    }
    return count;
}

/* How long the others may wait: for each machine without signs of life anew, since it is found silent only when its last
 * record has been read. */
static uint64_t held_most(uint64_t patience)
{
    uint64_t most = patience + SECOND / 4;

    for (uint32_t i = 0; i < MACHINES; i++)
        most += world.machines[i].mute       ? patience
                : world.machines[i].is_wrong ? 2 * MACHINES * patience
                                             : 0;
    return most;
}

/* Reads the world as it goes on. `late`: machines join when they begin; else all are there from the start. */
static struct outcome read_world(bool late, uint64_t begin, uint64_t patience)
{
    struct source *sources[MACHINES];
    struct outcome outcome = {0};
    struct history *history;
    struct history_event event;
    struct problem problem;
    uint32_t count = 0;
    int result;

    world.now = begin;
    for (uint32_t i = 0; i < MACHINES; i++) {
        world.machines[i].tape.at = 0;
        sources[i] = &world.machines[i].source;
        count += world.machines[i].joined;
    }
    uint32_t there = late ? 1 : count;
    assert_int_equal(history_new(sources, there, &history, &problem), 0);
    history_expect_more(history, there < count);
    if (patience > 0)
        history_be_patient(history, patience, read_clock);
    while ((result = history_next(history, &event, &problem)) != SOURCE_END) {
        assert_true(result > 0);
        if (result == SOURCE_RECORD) {
            check_event(&event, &outcome);
            continue;
        }
        if (patience > 0) /* nothing is held for longer */
            assert_true(outcome.records >= count_before(world.now - held_most(patience)));
        pass(SECOND / 50);
        while (there < count && world.now >= world.machines[there].joins) {
            assert_int_equal(history_add(history, sources[there++], &problem), 0);
            history_expect_more(history, there < count);
        }
        assert_true(world.now < begin + 100000 * SECOND); /* it does not hang */
    }
    assert_int_equal(history_add(history, sources[0], &problem), -EPIPE);
    history_counts(history, &outcome.counts);
    outcome.finished = world.now;
    history_free(history);
    return outcome;
}

static void check_true(const struct outcome *outcome)
{
    assert_int_equal(outcome->receives, world.receives);
    assert_int_equal(outcome->wrong, 0);
    assert_int_equal(outcome->unmatched, 0);
    assert_int_equal(outcome->counts.exact, world.receives);
    assert_int_equal(outcome->counts.unmatched_sends, 0);
    assert_int_equal(outcome->counts.stalls, 0);
    assert_int_equal(outcome->counts.late, 0);
}

static void the_same_if_machines_join_late(void **unused)
{
    (void)unused;
    seed = seed_of_run("late");
    for (unsigned round = 0; round < 60; round++) {
        live(SECOND / 10);
        uint64_t begin = 100 * SECOND;
        uint64_t patience = round % 2 == 0 ? 0 : 3 * SECOND;
        for (unsigned late = 0; late < 2; late++) {
            struct outcome outcome = read_world(late == 1, begin, patience);
            check_true(&outcome);
        }
        world_done();
    }
}

/* Machines that have nothing to say, with signs of life or without, change nothing, either. */
static void idle_machines_hold_nothing_back(void **unused)
{
    (void)unused;
    seed = seed_of_run("idle");
    for (unsigned round = 0; round < 60; round++) {
        live(SECOND / 10);
        for (uint32_t i = 0; i < MACHINES; i++)
            world.machines[i].mute = random_below(&seed, 2) == 0;
        struct outcome outcome = read_world(round % 2 == 0, 100 * SECOND, SECOND);
        assert_int_equal(outcome.receives, world.receives);
        assert_int_equal(outcome.wrong, 0);
        assert_int_equal(outcome.counts.stalls, 0);
        world_done();
    }
}

/* A machine is silent for so long that the others go on without it. What it brings then is counted. */
static void what_comes_too_late_is_counted(void **unused)
{
    uint64_t late = 0;

    (void)unused;
    seed = seed_of_run("silent");
    for (unsigned round = 0; round < 40; round++) {
        live(SECOND / 10);
        uint32_t number = any_machine(2);
        struct machine *machine = &world.machines[number];
        machine->mute = true;
        machine->silent[0] = 100 * SECOND + random_below(&seed, 10 * SECOND);
        machine->silent[1] = machine->silent[0] + 20 * SECOND;
        struct outcome outcome = read_world(round % 2 == 0, 100 * SECOND, 2 * SECOND);
        assert_int_equal(outcome.receives, world.receives);
        assert_int_equal(outcome.wrong, 0);
        assert_true(outcome.unmatched == 0 || outcome.counts.late > 0);
        late += outcome.counts.late;
        world_done();
    }
    assert_true(late > 0);
    print_message("# late: %" PRIu64 "\n", late);
}

/* The wall clock of a machine is an hour ahead or behind: the others wait until that is noticed, and not for an hour. */
static void a_wrong_wall_clock_holds_nothing_back(void **unused)
{
    (void)unused;
    seed = seed_of_run("wrong");
    for (unsigned round = 0; round < 40; round++) {
        live(SECOND / 10);
        struct machine *machine = &world.machines[round / 2 % MACHINES];
        machine->is_wrong = true;
        machine->tape.wall_offset += (round % 2 == 0 ? 3600 : -3600) * (int64_t)SECOND;
        struct outcome outcome = read_world(false, 100 * SECOND, SECOND);
        assert_int_equal(outcome.receives, world.receives);
        assert_int_equal(outcome.wrong, 0);
        assert_int_equal(outcome.counts.stalls, 0);
        world_done();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_if_machines_join_late),
        cmocka_unit_test(idle_machines_hold_nothing_back),
        cmocka_unit_test(what_comes_too_late_is_counted),
        cmocka_unit_test(a_wrong_wall_clock_holds_nothing_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
