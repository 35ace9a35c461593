/* SPDX-License-Identifier: MIT */
/*
 * causality_last_test.c: the thesis' rule (--last), by which a send belongs to what was received last: random senders
 * and receivers against a naive algorithm that keeps every interval, and examples of the rule.
 *
 *      servers that send to random others --records--> history --> causality analysis --+
 *            |                                                                 compared
 *            '--each interval, and the one its message was sent in --> naive ---+
 */
#include "causality_lines.h"

/* ---- random messages against a naive algorithm ---- */

#define SERVERS   5
#define INTERVALS 4000
#define MESSAGES  4000
#define PATHS     64
#define NONE      UINT32_MAX

/* The time from one receive to the next. */
struct interval {
    uint32_t parent; /* the sender's interval; NONE: a chain begins here */
    uint32_t process;
    bool by_itself; /* nothing was received before */
};

struct message {
    uint32_t interval; /* the interval it was sent in */
    uint32_t bytes;    /* bytes still to be received */
    uint32_t begun;    /* interval that began with the receive of its first part, or NONE */
};

enum done { DONE_NOTHING, DONE_SEND, DONE_RECEIVE };

/* An end of a connection: its partner receives what is sent here. */
struct end {
    uint32_t process;
    uint32_t queue[MESSAGES];
    uint32_t head, count;
    enum done done;    /* the last action */
    uint32_t interval; /* interval of the last action */
};

struct outside {
    uint32_t path;
    uint32_t process;
    bool calls; /* a requestor; otherwise a system process */
    bool asked;
    enum done done;
    uint32_t interval;
};

struct senders {
    struct world world;
    uint64_t seed;
    bool each_send;
    struct interval intervals[INTERVALS];
    uint32_t interval_count;
    struct message messages[MESSAGES];
    uint32_t message_count;
    struct end ends[PATHS]; /* by path number */
    uint32_t path_count;
    struct outside outside[3 * SERVERS];
    uint32_t current[SERVERS + 1]; /* current interval of each process */
    uint32_t replies[INTERVALS];
};

static uint32_t pick(struct senders *senders, uint32_t limit)
{
    return (uint32_t)random_below(&senders->seed, limit);
}

static uint32_t begin_interval(struct senders *senders, uint32_t process, uint32_t parent,
                               bool by_itself)
{
    assert_true(senders->interval_count < INTERVALS);
    senders->intervals[senders->interval_count] = (struct interval){parent, process, by_itself};
    return senders->current[process] = senders->interval_count++;
}

static uint32_t interval_of_sender(struct senders *senders, uint32_t process)
{
    return senders->current[process] != NONE ? senders->current[process]
                                             : begin_interval(senders, process, NONE, true);
}

static void send_one(struct senders *senders, uint32_t path)
{
    struct end *end = &senders->ends[path];
    uint32_t interval = interval_of_sender(senders, end->process);
    uint32_t bytes = 1 + pick(senders, 9);

    do_send(&senders->world, end->process, path, bytes);
    if (!senders->each_send && end->done == DONE_SEND && end->interval == interval) {
        senders->messages[end->queue[end->count - 1]].bytes += bytes;
    } else {
        assert_true(senders->message_count < MESSAGES);
        senders->messages[senders->message_count] = (struct message){interval, bytes, NONE};
        end->queue[end->count++] = senders->message_count++;
    }
    end->done = DONE_SEND;
    end->interval = interval;
}

/* Receives a part of a message, or all of it. */
static void receive_one(struct senders *senders, uint32_t path)
{
    struct end *own = &senders->ends[path];
    struct end *from = &senders->ends[senders->world.partners[path]];

    while (from->head + 1 < from->count && senders->messages[from->queue[from->head]].bytes == 0)
        from->head++;
    if (from->head == from->count)
        return;
    struct message *message = &senders->messages[from->queue[from->head]];
    if (message->bytes == 0)
        return;
    uint32_t part = pick(senders, 2) ? message->bytes : 1 + pick(senders, message->bytes);
    do_receive(&senders->world, own->process, path, part);
    message->bytes -= part;
    if (message->begun == NONE)
        message->begun = begin_interval(senders, own->process, message->interval, false);
    senders->current[own->process] = message->begun;
    own->done = DONE_RECEIVE;
}

/* A requestor asks, receives, or disconnects; a system process is asked or answers. */
static void deal_outside(struct senders *senders, struct outside *outside)
{
    bool receives = pick(senders, 2) || (outside->calls && !outside->asked);

    if (receives) {
        do_receive(&senders->world, outside->process, outside->path, 10);
        if (outside->calls && (senders->each_send || outside->done != DONE_RECEIVE))
            outside->interval = begin_interval(senders, outside->process, NONE, false);
        if (outside->calls)
            senders->current[outside->process] = outside->interval;
        outside->asked = true;
        outside->done = DONE_RECEIVE;
        return;
    }
    uint32_t interval = interval_of_sender(senders, outside->process);
    bool more = !senders->each_send && outside->done == DONE_SEND && outside->interval == interval;
    do_send(&senders->world, outside->process, outside->path, 10);
    senders->replies[interval] += outside->calls && !more;
    outside->done = DONE_SEND;
    outside->interval = interval;
}

/* A requestor that never asked disconnects: what follows belongs to no request. */
static void end_connection(struct senders *senders, uint32_t process)
{
    struct world *world = &senders->world;
    uint32_t path = connect_outside(world, PATH_ROLE_ACCEPTED);

    add_message(&world->tape, tick(world), EVENT_RECEIVE, process, world->sequences[process]++,
                path, 0, 0)
        ->header.flags |= RECORD_END_OF_FILE;
    senders->current[process] = NONE;
}

static void make_paths(struct senders *senders)
{
    while (senders->path_count < PATHS / 2) {
        uint32_t from = 1 + pick(senders, SERVERS);
        uint32_t to = 1 + (from + pick(senders, SERVERS - 1)) % SERVERS;
        uint32_t path = connect_to(&senders->world);
        assert_true(path + 1 < PATHS);
        senders->ends[path].process = from;
        senders->ends[path + 1].process = to;
        senders->path_count = path + 2;
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(senders->outside); i++) {
        bool calls = i % 3 > 0;
        senders->outside[i] =
            (struct outside){.path = connect_outside(&senders->world, calls ? PATH_ROLE_ACCEPTED
                                                                            : PATH_ROLE_CONNECTED),
                             .process = 1 + i / 3,
                             .calls = calls};
    }
}

static void run(struct senders *senders, uint32_t count)
{
    begin(&senders->world, SERVERS);
    for (uint32_t i = 0; i <= SERVERS; i++)
        senders->current[i] = NONE;
    make_paths(senders);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t path = 1 + pick(senders, senders->path_count - 1);
        uint32_t kind = pick(senders, 20);
        if (kind < 8)
            send_one(senders, path);
        else if (kind < 15)
            receive_one(senders, path);
        else if (kind < 19)
            deal_outside(senders, &senders->outside[pick(senders, ARRAY_SIZE(senders->outside))]);
        else if (pick(senders, 4) == 0)
            end_connection(senders, 1 + pick(senders, SERVERS));
    }
}

/* ---- the naive algorithm ---- */

/* The last letters up to an interval, as many as the context can have; returns the letters before them. */
static const char *string_of(const struct senders *senders, const char *letters, uint32_t interval,
                             char text[CAUSALITY_LENGTH_MOST + 1])
{
    char reversed[CAUSALITY_LENGTH_MOST];
    unsigned count = 0;
    uint32_t root = interval;

    for (uint32_t at = interval; at != NONE && count < CAUSALITY_LENGTH_MOST;
         at = senders->intervals[at].parent)
        reversed[count++] = letters[senders->intervals[at].process];
    for (unsigned i = 0; i < count; i++)
        text[i] = reversed[count - 1 - i];
    text[count] = '\0';
    while (senders->intervals[root].parent != NONE)
        root = senders->intervals[root].parent;
    return senders->intervals[root].by_itself ? "nobody" : "requestor";
}

static void tell_naively(const struct senders *senders, const char *letters, unsigned context,
                         struct lines *lines)
{
    char text[CAUSALITY_LENGTH_MOST + 1];

    for (uint32_t i = 0; i < senders->interval_count; i++) {
        const struct interval *interval = &senders->intervals[i];
        const char next[] = {letters[interval->process], '\0'};
        const char *before = string_of(senders, letters, i, text);
        for (uint32_t k = 0; k < senders->replies[i]; k++)
            add_transition(lines, before, text, context, "reply");
        if (interval->parent == NONE)
            continue;
        before = string_of(senders, letters, interval->parent, text);
        add_transition(lines, before, text, context, next);
    }
}

static void compare(const struct senders *senders, const struct causality *result)
{
    char letters[SERVERS + 1] = "";
    struct lines naive = {0}, found = {0};

    for (size_t i = 0; i < result->process_count; i++)
        letters[result->processes[i].pid - 100] = result->processes[i].letter[0];
    tell_naively(senders, letters, result->context, &naive);
    add_transitions_of(&found, result);
    assert_same_lines(&found, &naive);
}

static void random_senders(void **state)
{
    static const char *const servers[] = {"p1", "p2", "p3", "p4", "p5"};
    uint64_t seed = seed_of_run("random senders");

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        struct senders *senders = calloc(1, sizeof(*senders));
        assert_non_null(senders);
        senders->seed = random_number(&seed);
        senders->each_send = pick(senders, 2);
        const struct causality_options options = {
            .last = true,
            .each_send = senders->each_send,
            .servers = servers,
            .server_count = SERVERS,
            .context = 1 + pick(senders, CAUSALITY_LENGTH_MOST - 1),
        };
        run(senders, 1500);
        struct causality *result = finish(&senders->world, &options);
        compare(senders, result);
        assert_int_equal(result->late + result->unmatched + result->other_transitions, 0);
        uint64_t attributed = 0;
        for (int k = 0; k < ATTRIBUTION_COUNT; k++)
            attributed += result->attributed[k];
        assert_int_equal(attributed, result->arcs);
        causality_free(result);
        free(senders);
    }
}

/* ---- examples of the rule ---- */

/* An event loop asks B for two requestors, and sends their answers when both have come. By connections, each answer
 * belongs to its own request; by this rule both belong to the last one. */
static void answers_kept_back(void **state)
{
    for (int last = 0; last < 2; last++) {
        struct world world;
        begin(&world, 2);
        uint32_t first = connect_outside(&world, PATH_ROLE_ACCEPTED);
        uint32_t second = connect_outside(&world, PATH_ROLE_ACCEPTED);
        uint32_t back = connect_to(&world);
        do_receive(&world, 1, first, 10);
        pass(&world, 1, back, 2);
        pass(&world, 2, back + 1, 1);
        do_receive(&world, 1, second, 10);
        do_send(&world, 1, first, 10);
        do_send(&world, 1, second, 10);
        const struct causality_options options = {.last = last};
        struct causality *result = finish(&world, &options);
        assert_int_equal(result->replies, 2);
        assert_int_equal(result->contradicted, last);
        for (size_t i = 0; i < result->transition_count; i++) {
            const struct causality_transition *row = &result->transitions[i];
            if (row->next == NULL && strcmp(row->context[0], "requestor") == 0)
                assert_int_equal(row->count, last ? 2 : 1);
        }
        causality_free(result);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_senders),
        cmocka_unit_test(answers_kept_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
