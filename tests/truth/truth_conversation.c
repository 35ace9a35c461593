/* SPDX-License-Identifier: MIT */
/*
 * truth_conversation.c: two processes and one connection: every kind of phase in either direction; and many short
 * connections in sequence.
 *
 *      server ---- phase: so many bytes or messages, this way or that ----> client
 *             both draw the same plan from the scene's seed; how each calls is its own choice
 */
#include "truth.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum role {
    ROLE_PLAN,
    ROLE_SERVER,
    ROLE_CLIENT,
};

enum phase_kind {
    PHASE_SMALL,
    PHASE_LARGE,
    PHASE_NONBLOCKING,
    PHASE_LATE_READER, /* the sender blocks on a full buffer */
    PHASE_WAIT_ALL,    /* byte streams only, like all that follow */
    PHASE_FILES,
    PHASE_LARGE_FILE,     /* one sendfile of several hundred KB */
    PHASE_FILE_CUT_SHORT, /* the file ends before the sendfile does; then the same once more */
    PHASE_COUNT,
};

#define PHASE_COUNT_MESSAGES PHASE_WAIT_ALL
#define PHASE_LIMIT          (2 * PHASE_COUNT)

struct phase {
    enum phase_kind kind;
    bool by_server;
    size_t total; /* bytes, or messages */
};

struct plan {
    struct phase phases[PHASE_LIMIT];
    unsigned count;
};

static size_t phase_bytes(struct random *random, enum phase_kind kind)
{
    switch (kind) {
    case PHASE_SMALL:
        return random_between(random, 1, 3000);
    case PHASE_LATE_READER:
        return random_between(random, 2000000, 4000000);
    case PHASE_LARGE_FILE:
        return random_between(random, 300000, 800000);
    case PHASE_FILE_CUT_SHORT:
        return 2 * random_between(random, 1, 150000);
    default:
        return random_between(random, 50000, 400000);
    }
}

/* Every kind once in each direction, in random order. */
static struct plan plan_new(const struct scene *scene, bool messages)
{
    struct random random = scene_random(scene, ROLE_PLAN);
    struct plan plan = {.count = 2 * (messages ? PHASE_COUNT_MESSAGES : PHASE_COUNT)};

    for (unsigned i = 0; i < plan.count; i++) {
        unsigned place = (unsigned)random_between(&random, 0, i);
        plan.phases[i] = plan.phases[place];
        plan.phases[place] = (struct phase){(enum phase_kind)(i / 2), i % 2 == 0, 0};
    }
    for (unsigned i = 0; i < plan.count; i++)
        plan.phases[i].total =
            messages ? random_between(&random, 20, 60) : phase_bytes(&random, plan.phases[i].kind);
    return plan;
}

/* ---- byte streams ---- */

/* Bytes of a blocking call, which sends all of them unless a signal interrupts it. */
static size_t sent(ssize_t result)
{
    if (result <= 0)
        truth_fail("a blocking send failed: %s", strerror((int)-result));
    return (size_t)result;
}

/* The phases that consist of one call. Returns the bytes it sent. */
static size_t send_one_call(struct end *end, struct random *random, const struct phase *phase)
{
    enum send_call call = (enum send_call)random_between(random, 0, SEND_CALL_COUNT - 1);
    size_t half = phase->total / 2;
    size_t first;

    switch (phase->kind) {
    case PHASE_LATE_READER:
        return sent(operation_send(end, random, call, phase->total, 0, NULL));
    case PHASE_LARGE_FILE:
        return sent(operation_send_file(end, phase->total, phase->total));
    case PHASE_FILE_CUT_SHORT:
        first = sent(operation_send_file(end, half, half + 100000));
        return first + sent(operation_send_file(end, half, half + 100000));
    default:
        return 0;
    }
}

static void send_phase(struct end *end, struct random *random, const struct phase *phase)
{
    struct traffic traffic = {.largest = 20000, .files = phase->kind == PHASE_FILES};

    switch (phase->kind) {
    case PHASE_SMALL:
        traffic.largest = 200;
        break;
    case PHASE_NONBLOCKING:
        traffic.nonblocking = true;
        traffic.files = true;
        traffic.largest = 60000;
        break;
    default:
        break;
    }
    traffic_send(end, random, phase->total - send_one_call(end, random, phase), traffic);
}

static void receive_phase(struct end *end, struct random *random, const struct phase *phase)
{
    struct traffic traffic = {.largest = 30000, .peek = true};

    switch (phase->kind) {
    case PHASE_SMALL:
        traffic.largest = 150;
        break;
    case PHASE_NONBLOCKING:
        traffic.nonblocking = true;
        break;
    case PHASE_LATE_READER:
        sleep_milliseconds(20);
        traffic.largest = 500000;
        break;
    case PHASE_WAIT_ALL:
        traffic.wait_all = true;
        break;
    default:
        break;
    }
    traffic_receive(end, random, phase->total, traffic);
}

/* ---- messages ---- */

static void send_message_phase(struct end *end, struct random *random, const struct phase *phase)
{
    struct traffic traffic = {.largest = phase->kind == PHASE_SMALL ? 100 : 30000,
                              .nonblocking = phase->kind == PHASE_NONBLOCKING};

    traffic_send_messages(end, random, phase->total, traffic);
}

static void receive_message_phase(struct end *end, struct random *random, const struct phase *phase)
{
    struct traffic traffic = {.largest = phase->kind == PHASE_SMALL ? 100 : 30000,
                              .nonblocking = phase->kind == PHASE_NONBLOCKING,
                              .peek = true};

    if (phase->kind == PHASE_LATE_READER)
        sleep_milliseconds(20);
    end->messages_left = (int64_t)phase->total;
    traffic_receive_messages(end, random, phase->total, traffic);
}

/* ---- the conversation ---- */

static void run_phases(struct end *end, struct random *random, const struct plan *plan, bool server)
{
    for (unsigned i = 0; i < plan->count; i++) {
        const struct phase *phase = &plan->phases[i];
        if (phase->by_server == server) {
            if (end->messages)
                send_message_phase(end, random, phase);
            else
                send_phase(end, random, phase);
        } else {
            if (end->messages)
                receive_message_phase(end, random, phase);
            else
                receive_phase(end, random, phase);
        }
    }
}

/* The client sends no more; the server sees that, answers, and closes. */
static void run_endings(struct end *end, struct random *random, bool server)
{
    struct traffic traffic = {.largest = 5000, .peek = !end->messages};

    if (server) {
        traffic_receive_rest(end, random, traffic);
        if (!end->messages)
            traffic_send(end, random, random_between(random, 1, 20000), traffic);
        end_close(end);
    } else {
        if (!end->messages)
            traffic_send(end, random, random_between(random, 1, 20000), traffic);
        shutdown(end->descriptor, SHUT_WR);
        traffic_receive_rest(end, random, traffic);
        end_close(end);
    }
}

static void converse(struct scene *scene, struct end *end, enum role role)
{
    struct plan plan = plan_new(scene, end->messages);
    struct random random = scene_random(scene, role);

    run_phases(end, &random, &plan, role == ROLE_SERVER);
    /* Only connections have an end of file. */
    int type;
    socklen_t length = sizeof(type);
    getsockopt(end->descriptor, SOL_SOCKET, SO_TYPE, &type, &length);
    if (type != SOCK_DGRAM)
        run_endings(end, &random, role == ROLE_SERVER);
}

static void converse_as_client(struct scene *scene, struct end *end)
{
    converse(scene, end, ROLE_CLIENT);
}

void conversation_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_PLAN);
    struct end end;
    pid_t child =
        connect_child(scene, transport, random_chance(&random, 70), converse_as_client, &end);

    converse(scene, &end, ROLE_SERVER);
    process_wait(child, 0);
    if (atomic_load(&scene->sent) != atomic_load(&scene->received) && !end.messages)
        truth_fail("not all bytes that were sent were received");
}

/* ---- short connections ---- */

enum { SHORT_CONNECTIONS = 30 };

struct exchange {
    size_t request;
    size_t reply;
    bool server_closes_first;
};

static struct exchange exchange_new(struct random *plan)
{
    struct exchange exchange = {random_between(plan, 1, 400), random_between(plan, 1, 2000),
                                random_chance(plan, 70)};

    return exchange;
}

static void short_send(struct end *end, struct random *random, size_t bytes)
{
    struct traffic traffic = {.largest = bytes, .whole_blocks = true};

    if (end->messages)
        traffic_send_messages(end, random, 1, traffic);
    else
        traffic_send(end, random, bytes, (struct traffic){.largest = 500});
}

static void short_receive(struct end *end, struct random *random, size_t bytes)
{
    if (end->messages) {
        end->messages_left = 1;
        traffic_receive_messages(end, random, 1, (struct traffic){.largest = bytes});
    } else {
        traffic_receive(end, random, bytes, (struct traffic){.largest = 500});
    }
}

static void short_client(struct scene *scene, enum transport transport,
                         const struct address *address)
{
    struct random plan = scene_random(scene, ROLE_PLAN);
    struct random random = scene_random(scene, ROLE_CLIENT);
    struct address local = {.length = 0};

    for (unsigned i = 0; i < SHORT_CONNECTIONS; i++) {
        struct exchange exchange = exchange_new(&plan);
        struct end end =
            end_of(scene, transport, socket_connected_from(transport, address, &local));
        short_send(&end, &random, exchange.request);
        short_receive(&end, &random, exchange.reply);
        if (exchange.server_closes_first)
            traffic_receive_rest(&end, &random, (struct traffic){.largest = 500});
        end_close(&end);
    }
}

static void short_server(struct scene *scene, enum transport transport, int listener)
{
    struct random plan = scene_random(scene, ROLE_PLAN);
    struct random random = scene_random(scene, ROLE_SERVER);

    for (unsigned i = 0; i < SHORT_CONNECTIONS; i++) {
        struct exchange exchange = exchange_new(&plan);
        struct end end =
            end_of(scene, transport, socket_accepted(listener, random_chance(&random, 50)));
        short_receive(&end, &random, exchange.request);
        short_send(&end, &random, exchange.reply);
        if (!exchange.server_closes_first)
            traffic_receive_rest(&end, &random, (struct traffic){.largest = 500});
        end_close(&end);
    }
}

void short_connections_run(struct scene *scene, enum transport transport)
{
    struct address address;
    int listener = socket_bound(transport, &address);
    pid_t child = process_fork();

    if (child == 0) {
        close(listener);
        short_client(scene, transport, &address);
        process_end(0);
    }
    short_server(scene, transport, listener);
    close(listener);
    address_remove(&address);
    process_wait(child, 0);
}
