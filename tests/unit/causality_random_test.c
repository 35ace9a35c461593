/* SPDX-License-Identifier: MIT */
/*
 * causality_random_test.c: random servers against a naive algorithm that keeps every message.
 *
 *      servers that call each other --records--> history --> causality analysis --+
 *            |                                                                   compared
 *            '--every message, and its cause -------------> naive algorithm ------+
 */
#include "causality_lines.h"

/* ---- random servers against a naive algorithm ---- */

#define SERVERS     6
#define MOST_NODES  20000
#define MOST_TASKS  64
#define MOST_FLIGHT 256
#define NO_TASK     UINT32_MAX

/* A message in the naive algorithm: its receiver, and the message that caused it. */
struct node {
    uint32_t parent; /* index; its own index: a request */
    uint32_t process;
    bool replied;
    bool has_children;
    bool answers; /* it answers another message */
};

/* The work of a process for one request. */
struct task {
    bool used;
    uint32_t process;
    uint32_t path;    /* its end of the connection that brought the request */
    uint32_t pending; /* outstanding answers */
    unsigned rounds;  /* rounds of calls to make */
    unsigned depth;
    uint32_t caller; /* task; NO_TASK: a requestor */
};

struct flight {
    uint32_t path; /* the receiver's */
    uint32_t process;
    uint32_t bytes;
    uint32_t parent; /* its cause, a node */
    uint32_t node;   /* set when a part was received; before that NO_TASK */
    uint32_t task;   /* the task that it answers; NO_TASK: it is a request ... */
    uint32_t caller; /* ... of this task */
    unsigned depth;
};

struct servers {
    struct world world;
    uint64_t seed;
    struct node *nodes;
    uint32_t node_count;
    struct task tasks[MOST_TASKS];
    struct flight flights[MOST_FLIGHT];
    uint32_t flight_count;
    uint32_t free_paths[SERVERS + 1][SERVERS + 1][MOST_TASKS]; /* connections without a request */
    uint32_t free_count[SERVERS + 1][SERVERS + 1];
};

static uint32_t pick(struct servers *servers, uint32_t limit)
{
    return (uint32_t)random_below(&servers->seed, limit);
}

static uint32_t take_path(struct servers *servers, uint32_t from, uint32_t to)
{
    uint32_t *count = &servers->free_count[from][to];

    return *count > 0 ? servers->free_paths[from][to][--*count] : connect_to(&servers->world);
}

static void give_path(struct servers *servers, uint32_t from, uint32_t to, uint32_t path)
{
    servers->free_paths[from][to][servers->free_count[from][to]++] = path;
}

/* Sends it in one send or several; it is then in flight. */
static struct flight *send_message(struct servers *servers, uint32_t process, uint32_t path,
                                   uint32_t to)
{
    struct flight *flight = &servers->flights[servers->flight_count++];
    uint32_t pieces = 1 + pick(servers, 3);

    assert_true(servers->flight_count <= MOST_FLIGHT);
    *flight = (struct flight){.path = servers->world.partners[path],
                              .process = to,
                              .node = NO_TASK,
                              .task = NO_TASK,
                              .caller = NO_TASK};
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t bytes = 1 + pick(servers, 9);
        do_send(&servers->world, process, path, bytes);
        flight->bytes += bytes;
    }
    return flight;
}

static uint32_t add_node(struct servers *servers, uint32_t parent, uint32_t process)
{
    uint32_t index = servers->node_count++;

    assert_true(index < MOST_NODES);
    servers->nodes[index] =
        (struct node){.parent = parent == NO_TASK ? index : parent, .process = process};
    if (parent != NO_TASK)
        servers->nodes[parent].has_children = true;
    return index;
}

static uint32_t new_task(struct servers *servers)
{
    for (uint32_t i = 0; i < MOST_TASKS; i++)
        if (!servers->tasks[i].used)
            return i;
    return NO_TASK;
}

/* Calls another process. */
static void call(struct servers *servers, uint32_t index, uint32_t node)
{
    struct task *task = &servers->tasks[index];
    uint32_t to = 1 + (task->process + pick(servers, SERVERS - 1)) % SERVERS;
    uint32_t path = take_path(servers, task->process, to);
    struct flight *flight = send_message(servers, task->process, path, to);

    flight->parent = node;
    flight->caller = index;
    flight->depth = task->depth + 1;
    task->pending++;
}

static void answer(struct servers *servers, uint32_t index, uint32_t node)
{
    struct task *task = &servers->tasks[index];

    task->used = false;
    if (task->caller == NO_TASK) {
        do_send(&servers->world, task->process, task->path, 10);
        servers->nodes[node].replied = true;
        return;
    }
    uint32_t caller = servers->tasks[task->caller].process;
    struct flight *flight = send_message(servers, task->process, task->path, caller);
    flight->parent = node;
    flight->task = task->caller;
}

/* The action of a process that has received something for a task. */
static void act(struct servers *servers, uint32_t index, uint32_t node)
{
    struct task *task = &servers->tasks[index];
    uint32_t calls =
        task->depth < 3 && task->rounds < 2 && pick(servers, 3) > 0 ? 1 + pick(servers, 2) : 0;

    if (task->pending > 0)
        return;
    if (calls + servers->flight_count > MOST_TASKS / 4)
        calls = 0;
    task->rounds++;
    for (uint32_t i = 0; i < calls; i++)
        call(servers, index, node);
    if (calls == 0)
        answer(servers, index, node);
}

static void begin_task(struct servers *servers, uint32_t process, uint32_t path, uint32_t caller,
                       unsigned depth, uint32_t node)
{
    uint32_t index = new_task(servers);

    assert_true(index != NO_TASK);
    servers->tasks[index] = (struct task){
        .used = true, .process = process, .path = path, .depth = depth, .caller = caller};
    act(servers, index, node);
}

/* Delivers the whole message, or a part if other messages may come in between. */
static void deliver(struct servers *servers, uint32_t index)
{
    struct flight flight = servers->flights[index];
    uint32_t part = 1 + pick(servers, flight.bytes);

    do_receive(&servers->world, flight.process, flight.path, part);
    if (flight.node == NO_TASK) {
        flight.node = add_node(servers, flight.parent, flight.process);
        servers->nodes[flight.node].answers = flight.task != NO_TASK;
    }
    flight.bytes -= part;
    servers->flights[index] = flight;
    if (flight.bytes > 0)
        return;
    servers->flights[index] = servers->flights[--servers->flight_count];
    if (flight.task == NO_TASK) {
        begin_task(servers, flight.process, flight.path, flight.caller, flight.depth, flight.node);
        return;
    }
    struct task *task = &servers->tasks[flight.task];
    uint32_t server = servers->nodes[flight.parent].process;
    give_path(servers, task->process, server, flight.path);
    task->pending--;
    act(servers, flight.task, flight.node);
}

static uint32_t open_tasks(const struct servers *servers)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < MOST_TASKS; i++)
        count += servers->tasks[i].used;
    return count;
}

/* Requests from unmonitored requestors, with a limit on how many are open at the same time. */
static void run(struct servers *servers, uint32_t requests, uint32_t most)
{
    uint32_t clients[SERVERS * 8], process;

    begin(&servers->world, SERVERS);
    for (uint32_t i = 0; i < ARRAY_SIZE(clients); i++)
        clients[i] = connect_outside(&servers->world, PATH_ROLE_ACCEPTED);
    while (requests > 0 || servers->flight_count > 0) {
        bool may_begin = requests > 0 && open_tasks(servers) < most;
        if (!may_begin || (servers->flight_count > 0 && pick(servers, 3) > 0)) {
            deliver(servers, pick(servers, servers->flight_count));
            continue;
        }
        uint32_t client = requests % ARRAY_SIZE(clients);
        bool busy = false;
        for (uint32_t i = 0; i < MOST_TASKS; i++)
            busy = busy || (servers->tasks[i].used && servers->tasks[i].path == clients[client]);
        requests--;
        if (busy)
            continue;
        process = 1 + client % SERVERS;
        do_receive(&servers->world, process, clients[client], 10);
        begin_task(servers, process, clients[client], NO_TASK, 0,
                   add_node(servers, NO_TASK, process));
    }
}

/* ---- the naive algorithm ---- */

/* The letters from the root to a node. */
static void string_of(const struct servers *servers, const char *letters, uint32_t node, char *text)
{
    uint32_t parent = servers->nodes[node].parent;

    text[0] = '\0';
    if (parent != node)
        string_of(servers, letters, parent, text);
    size_t length = strlen(text);
    assert_true(length + 1 < CAUSALITY_STRING_MOST);
    text[length] = letters[servers->nodes[node].process];
    text[length + 1] = '\0';
}

/* A line for each occurrence in the naive result. */
static void tell_naively(const struct servers *servers, const char *letters, unsigned length,
                         unsigned context, struct lines *lines)
{
    char text[CAUSALITY_STRING_MOST + 1];

    for (uint32_t i = 0; i < servers->node_count; i++) {
        const struct node *node = &servers->nodes[i];
        string_of(servers, letters, i, text);
        size_t depth = strlen(text);
        if (!node->has_children)
            add_line(lines, "string", text);
        for (size_t size = 2; size <= depth && size <= length; size++)
            add_line(lines, "substring", text + depth - size);
        if (node->replied)
            add_transition(lines, "requestor", text, context, "reply");
        if (depth < 2)
            continue;
        char next[2] = {text[depth - 1]};
        text[depth - 1] = '\0';
        add_transition(lines, "requestor", text, context, next);
    }
}

/* The same for the analysis's result: each line as often as it was counted. */
static void tell_result(const struct causality *result, struct lines *lines)
{
    for (size_t i = 0; i < result->path_count; i++)
        for (uint64_t k = 0; k < result->paths[i].count; k++)
            add_line(lines, "string", result->paths[i].string);
    for (size_t i = 0; i < result->substring_count; i++)
        for (uint64_t k = 0; k < result->substrings[i].count; k++)
            add_line(lines, "substring", result->substrings[i].string);
    add_transitions_of(lines, result);
}

static void compare(struct servers *servers, const struct causality *result)
{
    char letters[SERVERS + 1] = "";
    struct lines naive = {0}, found = {0};

    for (size_t i = 0; i < result->process_count; i++)
        if (result->processes[i].role == ROLE_SERVER)
            letters[result->processes[i].pid - 100] = result->processes[i].letter[0];
    tell_naively(servers, letters, result->length, result->context, &naive);
    tell_result(result, &found);
    assert_same_lines(&found, &naive);
}

/* Messages that answer another one have a certain cause. */
static uint64_t answers_of(const struct servers *servers)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < servers->node_count; i++)
        count += servers->nodes[i].answers;
    return count;
}

static void random_servers(void **state)
{
    uint64_t seed = seed_of_run("random servers");

    (void)state;
    for (uint64_t i = 0; i < rounds_of_run(60); i++) {
        struct servers *servers = calloc(1, sizeof(*servers));
        assert_non_null(servers);
        servers->nodes = calloc(MOST_NODES, sizeof(*servers->nodes));
        assert_non_null(servers->nodes);
        servers->seed = random_number(&seed);
        const struct causality_options options = {
            .length = 2 + pick(servers, CAUSALITY_LENGTH_MOST - 1),
            .context = 1 + pick(servers, 6),
            .slowest = pick(servers, 5),
        };
        uint32_t most = 1 + pick(servers, 8);
        run(servers, 100, most);
        struct causality *result = finish(&servers->world, &options);
        compare(servers, result);
        assert_int_equal(result->late + result->without_request + result->unmatched, 0);
        assert_int_equal(result->attributed[ATTRIBUTION_PATH], answers_of(servers));
        assert_int_equal(result->replies, result->requests);
        causality_free(result);
        free(servers->nodes);
        free(servers);
    }
}

/* ---- memory ---- */

/* Processes call each other at random, and every string is different: the table has a limit, and further strings are
 * counted. */
static void strings_are_bounded(void **state)
{
    uint64_t seed = seed_of_run("bounded strings");
    enum { PROCESSES = 40, ROUNDS = 150000 };
    struct world world;
    static uint32_t paths[PROCESSES + 1][PROCESSES + 1];
    uint32_t at = 1;

    (void)state;
    begin(&world, PROCESSES);
    uint32_t client = connect_outside(&world, PATH_ROLE_ACCEPTED);
    memset(paths, 0, sizeof(paths));
    do_receive(&world, 1, client, 10);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t to = 1 + (uint32_t)random_below(&seed, PROCESSES);
        if (to == at)
            continue;
        if (paths[at][to] == 0)
            paths[at][to] = connect_to(&world);
        pass(&world, at, paths[at][to], to);
        at = to;
    }
    struct causality *result = finish_plainly(&world);
    uint64_t pairs = 0;
    for (size_t i = 0; i < result->substring_count; i++)
        pairs += strlen(result->substrings[i].string) == 2 ? result->substrings[i].count : 0;
    assert_true(result->other_strings > 0);
    assert_int_equal(pairs, result->arcs); /* no pair is missing */
    causality_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_servers),
        cmocka_unit_test(strings_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
