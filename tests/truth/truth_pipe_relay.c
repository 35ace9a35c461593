/* SPDX-License-Identifier: MIT */
/*
 * truth_pipe_relay.c: bytes that a relay passes on without inspecting them: splice between two pipes, from a pipe to a
 * socket and back, by way of a file, and tee.
 *
 *      writer --->|pipe A|---> relay --splice--->|pipe B|---> reader
 *                                  \---tee------>|pipe C|---> reader
 *
 *      writer --->|pipe A|---> relay --splice---> socket ---> relay --splice--->|pipe B|---> reader
 *
 * The log line of a receive names the stream that sent the bytes through this very pipe or socket: the relay. Each has
 * one writer and one reader, so the position identifies the bytes.
 */
#include "truth.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROLE_WRITER, ROLE_RELAY, ROLE_READER, ROLE_TEE_READER, ROLE_SECOND_RELAY, TOTAL = 600000 };

static pid_t start_writer(struct scene *scene, struct end *reading, struct end *writing)
{
    pid_t child = process_fork();

    if (child == 0) {
        struct random random = scene_random(scene, ROLE_WRITER);
        end_close(reading);
        traffic_pipe_send(writing, &random, TOTAL,
                          (struct traffic){.largest = 40000, .files = true});
        process_end(0);
    }
    end_close(writing);
    reading->only_sender = (uint32_t)child;
    return child;
}

static void read_relayed(struct scene *scene, struct end *end, unsigned role)
{
    struct random random = scene_random(scene, role);

    if (traffic_pipe_receive_rest(end, &random, (struct traffic){.largest = 50000}) != TOTAL)
        truth_fail("not all came through the relay");
}

/* From `from` into a file, and from there to `to`. */
static size_t pass_by_file(struct end *from, struct end *to, struct random *random, size_t size)
{
    int file = memfd_create("truth", MFD_CLOEXEC);
    size_t passed = 0;

    if (file < 0)
        truth_fail("memfd_create: %s", strerror(errno));
    ssize_t taken = operation_splice_to(from, file, size);
    if (taken < 0)
        truth_fail("splice into a file: %s", strerror((int)-taken));
    lseek(file, 0, SEEK_SET);
    while (passed < (size_t)taken)
        passed +=
            (size_t)operation_pass_file(to, file, (size_t)taken - passed,
                                        to->object == OBJECT_SOCKET || random_chance(random, 50));
    close(file);
    return passed;
}

/* Exactly this many bytes, unless the end of file comes first. */
static void pass(struct end *from, struct end *to, struct random *random, size_t size)
{
    while (size > 0 && !from->ended) {
        if (from->object != OBJECT_SOCKET && random_chance(random, 30))
            size -= pass_by_file(from, to, random, size);
        else
            size -= (size_t)operation_splice(from, to, size);
    }
}

/* Passes everything on; `copy`, if there is one, gets the same bytes. */
static void relay(struct scene *scene, struct end *from, struct end *to, struct end *copy,
                  unsigned role)
{
    struct random random = scene_random(scene, role);

    while (!from->ended) {
        size_t size = random_between(&random, 1, 60000);
        ssize_t copied = copy == NULL ? 0 : operation_tee(from, copy, size);
        pass(from, to, &random, copied > 0 ? (size_t)copied : size);
    }
}

/* ---- between pipes ---- */

static void relay_pipes(struct scene *scene, enum transport transport)
{
    struct end reading[3]; /* of pipes A, B, C */
    struct end writing[3];

    pipe_new(scene, transport, &reading[0], &writing[0]);
    pid_t writer = start_writer(scene, &reading[0], &writing[0]);
    pipe_new(scene, transport, &reading[1], &writing[1]);
    pipe_new(scene, transport, &reading[2], &writing[2]);
    pid_t relaying = process_fork();
    if (relaying == 0) {
        relay(scene, &reading[0], &writing[1], &writing[2], ROLE_RELAY);
        process_end(0);
    }
    end_close(&reading[0]);
    end_close(&writing[1]);
    end_close(&writing[2]);
    reading[1].only_sender = (uint32_t)relaying;
    reading[2].only_sender = (uint32_t)relaying;
    pid_t tee_reader = process_fork();
    if (tee_reader == 0) {
        read_relayed(scene, &reading[2], ROLE_TEE_READER);
        process_end(0);
    }
    read_relayed(scene, &reading[1], ROLE_READER);
    process_wait(writer, 0);
    process_wait(relaying, 0);
    process_wait(tee_reader, 0);
}

/* ---- over a socket ---- */

static struct end pipe_to_socket; /* where the connected child relays from */

static void run_relay_to_socket(struct scene *scene, struct end *end)
{
    relay(scene, &pipe_to_socket, end, NULL, ROLE_RELAY);
    end_close(end);
}

/* Out of a TCP socket by splice; another process verifies the bytes. */
static void relay_from_socket(struct scene *scene, struct end *socket)
{
    struct end reading;
    struct end writing;

    pipe_new(scene, TRANSPORT_PIPE, &reading, &writing);
    reading.only_sender = journal.tid;
    pid_t reader = process_fork();
    if (reader == 0) {
        end_close(&writing);
        end_close(socket);
        read_relayed(scene, &reading, ROLE_READER);
        process_end(0);
    }
    end_close(&reading);
    relay(scene, socket, &writing, NULL, ROLE_SECOND_RELAY);
    end_close(&writing);
    process_wait(reader, 0);
}

/* No meter sees what splice takes out of a UNIX socket: here the socket is read. */
static void relay_by_socket(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_READER);
    struct end writing;
    struct end socket;

    pipe_new(scene, TRANSPORT_PIPE, &pipe_to_socket, &writing);
    pid_t writer = start_writer(scene, &pipe_to_socket, &writing);
    pid_t relaying = connect_child(scene, transport, false, run_relay_to_socket, &socket);
    end_close(&pipe_to_socket);
    socket.only_sender = (uint32_t)relaying;
    if (transport_is_tcp(transport))
        relay_from_socket(scene, &socket);
    else if (traffic_receive_rest(&socket, &random, (struct traffic){.largest = 50000}) != TOTAL)
        truth_fail("not all came through the relay");
    end_close(&socket);
    process_wait(writer, 0);
    process_wait(relaying, 0);
}

void pipe_relay_run(struct scene *scene, enum transport transport)
{
    if (transport == TRANSPORT_PIPE || transport == TRANSPORT_FIFO)
        relay_pipes(scene, transport);
    else
        relay_by_socket(scene, transport);
}
