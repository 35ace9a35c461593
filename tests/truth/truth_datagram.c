/* SPDX-License-Identifier: MIT */
/*
 * truth_datagram.c: UNIX datagram and UDP sockets: many senders to one bound socket, and requests that are answered by
 * sendto to their source address.
 *
 *      sender (sendto) ------\
 *      sender (connected) ----+--> [flood] receiver
 *      ...                   /
 *      client [bound] <-----> [desk] desk process
 *
 * If a full queue drops messages, the receiver hands out turns: no more messages are in flight than its queue holds.
 */
#include "truth.h"

#include <string.h>
#include <unistd.h>

enum {
    SENDERS = 5,
    SENDER_MESSAGES = 60,
    CLIENTS = 3,
    CLIENT_ROUNDS = 12,
    ROLE_RECEIVER = 1,
    ROLE_DESK = 2,
    ROLE_SENDERS = 10,
    ROLE_CLIENTS = 20,
    LARGEST = 4000,
    LARGEST_QUESTION = 300,
    TURN_MESSAGES = 6, /* in flight to a socket that drops: at most TURNS * TURN_MESSAGES */
    TURNS = 4,
    SIGNAL_TURN = 0,
};

static void wait_for_turn(struct scene *scene, enum transport transport)
{
    if (transport_drops(transport))
        scene_wait(scene, SIGNAL_TURN);
}

static void give_turn(struct scene *scene, enum transport transport)
{
    if (transport_drops(transport))
        scene_post(scene, SIGNAL_TURN);
}

/* Every second sender is connected; the others name the destination in each call. */
static void run_sender(struct scene *scene, enum transport transport, unsigned number,
                       const struct address *flood)
{
    struct random random = scene_random(scene, ROLE_SENDERS + number);
    bool connected = number % 2 == 1;
    int descriptor = connected ? socket_connected(transport, flood) : socket_new(transport);
    struct end end = end_of(scene, transport, descriptor);
    struct traffic traffic = {.largest = LARGEST, .to = connected ? NULL : flood};

    for (unsigned sent = 0; sent < SENDER_MESSAGES; sent += TURN_MESSAGES) {
        wait_for_turn(scene, transport);
        traffic.nonblocking = sent >= SENDER_MESSAGES / 2;
        traffic_send_messages(&end, &random, TURN_MESSAGES, traffic);
    }
    end_close(&end);
}

/* Sends a few requests at a time, fewer than its queue holds: the desk must never wait for a client. */
static void run_client(struct scene *scene, enum transport transport, unsigned number,
                       const struct address *desk)
{
    struct random random = scene_random(scene, ROLE_CLIENTS + number);
    struct address own;
    struct end end = end_of(scene, transport, socket_bound(transport, &own));
    struct traffic traffic = {.largest = LARGEST_QUESTION};

    end.messages_left = INT64_MAX;
    for (unsigned round = 0; round < CLIENT_ROUNDS; round++) {
        traffic.to = desk;
        traffic_send_messages(&end, &random, 3, traffic);
        traffic.to = NULL;
        traffic_receive_messages(&end, &random, 3, traffic);
    }
    end_close(&end);
    address_remove(&own);
}

static void run_desk(struct scene *scene, struct end *end)
{
    struct random random = scene_random(scene, ROLE_DESK);
    struct traffic traffic = {.largest = LARGEST_QUESTION};
    struct address from;

    end->messages_left = INT64_MAX;
    for (unsigned i = 0; i < CLIENTS * CLIENT_ROUNDS * 3; i++) {
        enum receive_call call = random_chance(&random, 50) ? CALL_RECVFROM : CALL_RECVMSG;
        ssize_t result =
            operation_receive(end, &random, call, random_between(&random, 1, LARGEST_QUESTION),
                              random_chance(&random, 20) ? MSG_TRUNC : 0, &from);
        if (result < 0)
            truth_fail("the desk could not receive: %s", strerror((int)-result));
        traffic.to = &from;
        traffic_send_messages(end, &random, 1, traffic);
    }
}

static pid_t start_senders(struct scene *scene, enum transport transport,
                           const struct address *flood, unsigned number)
{
    pid_t child = process_fork();

    if (child == 0) {
        run_sender(scene, transport, number, flood);
        process_end((int)number);
    }
    return child;
}

static pid_t start_client(struct scene *scene, enum transport transport, const struct address *desk,
                          unsigned number)
{
    pid_t child = process_fork();

    if (child == 0) {
        run_client(scene, transport, number, desk);
        process_end(0);
    }
    return child;
}

static pid_t start_desk(struct scene *scene, struct end *desk)
{
    pid_t child = process_fork();

    if (child == 0) {
        run_desk(scene, desk);
        process_end(0);
    }
    return child;
}

void datagram_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_RECEIVER);
    struct address flood_address;
    struct address desk_address;
    struct end flood = end_of(scene, transport, socket_bound(transport, &flood_address));
    struct end desk = end_of(scene, transport, socket_bound(transport, &desk_address));
    pid_t desk_process = start_desk(scene, &desk);
    pid_t senders[SENDERS];
    pid_t clients[CLIENTS];

    end_close(&desk);
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = start_client(scene, transport, &desk_address, i);
    for (unsigned i = 0; i < SENDERS; i++)
        senders[i] = start_senders(scene, transport, &flood_address, i);
    for (unsigned i = 0; i < TURNS; i++)
        give_turn(scene, transport);
    sleep_milliseconds(5); /* lets the queue fill up */
    flood.messages_left = INT64_MAX;
    for (unsigned received = 0; received < SENDERS * SENDER_MESSAGES; received += TURN_MESSAGES) {
        traffic_receive_messages(&flood, &random, TURN_MESSAGES,
                                 (struct traffic){.largest = LARGEST, .peek = true});
        give_turn(scene, transport);
    }
    end_close(&flood);
    for (unsigned i = 0; i < SENDERS; i++)
        process_wait(senders[i], (int)i << 8);
    for (unsigned i = 0; i < CLIENTS; i++)
        process_wait(clients[i], 0);
    process_wait(desk_process, 0);
    address_remove(&flood_address);
    address_remove(&desk_address);
}
