/* SPDX-License-Identifier: MIT */
/*
 * truth_pipe_blocked.c: writes that block for long, and calls on pipes that fail.
 *
 *      blocked     one write of some MB, read in small pieces with pauses
 *      EAGAIN      read from an empty pipe, write into a full one
 *      EPIPE       the reader has closed: before the write, in the middle of it, or was killed
 */
#include "truth.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
    ROLE_MAIN,
    ROLE_SLOW_READER,
    ROLE_LEAVING_READER,
    ROLE_KILLED_READER,
    FILL_LIMIT = 2000,
    SIGNAL_READY = 0,
};

/* ---- blocked ---- */

static void read_slowly(struct scene *scene, struct end *end)
{
    struct random random = scene_random(scene, ROLE_SLOW_READER);

    while (!end->ended) {
        enum pipe_receive_call call =
            (enum pipe_receive_call)random_between(&random, 0, PIPE_RECEIVE_CALL_COUNT - 1);
        operation_pipe_receive(end, &random, call, random_between(&random, 1, 8000), false);
        if (random_chance(&random, 3))
            sleep_milliseconds(2);
    }
}

/* One call of each kind; calls that do not wait for buffer space send what fits. */
static void write_blocked(struct scene *scene, enum transport transport, struct random *random)
{
    struct end reading;
    struct end writing;

    pipe_new(scene, transport, &reading, &writing);
    pid_t reader = process_fork();
    if (reader == 0) {
        end_close(&writing);
        read_slowly(scene, &reading);
        process_end(0);
    }
    end_close(&reading);
    for (unsigned call = 0; call < PIPE_SEND_CALL_COUNT; call++) {
        size_t size = random_between(random, 500000, 2000000);
        ssize_t sent =
            operation_pipe_send(&writing, random, (enum pipe_send_call)call, size, false);
        if (sent <= 0 || (call <= PIPE_PWRITEV2 && (size_t)sent != size))
            truth_fail("a blocking write sent %zd of %zu bytes", sent, size);
    }
    end_close(&writing);
    process_wait(reader, 0);
}

/* ---- EAGAIN ---- */

static void read_nothing(struct end *end, struct random *random)
{
    end_set_nonblocking(end, true);
    for (unsigned call = 0; call < PIPE_RECEIVE_CALL_COUNT; call++)
        if (operation_pipe_receive(end, random, (enum pipe_receive_call)call, 100, true) != -EAGAIN)
            truth_fail("a read from an empty pipe did not fail");
    end_set_nonblocking(end, false);
}

static void fill_and_drain(struct scene *scene, enum transport transport, struct random *random)
{
    struct end reading;
    struct end writing;
    size_t waiting = 0;

    pipe_new(scene, transport, &reading, &writing);
    read_nothing(&reading, random);
    end_set_nonblocking(&writing, true);
    for (unsigned call = 0; call < PIPE_SEND_CALL_COUNT; call++) {
        ssize_t result = 0;
        for (unsigned i = 0; i < FILL_LIMIT && result >= 0; i++) {
            result = operation_pipe_send(&writing, random, (enum pipe_send_call)call, 3000, true);
            waiting += result < 0 ? 0 : (size_t)result;
        }
        if (result != -EAGAIN)
            truth_fail("the pipe never got full");
    }
    traffic_pipe_receive(&reading, random, waiting, (struct traffic){.largest = 10000});
    read_nothing(&reading, random);
    end_close(&writing);
    traffic_pipe_receive_rest(&reading, random, (struct traffic){.largest = 100});
    end_close(&reading);
}

/* ---- EPIPE ---- */

static void write_to_nobody(struct end *writing, struct random *random)
{
    for (unsigned call = 0; call < PIPE_SEND_CALL_COUNT; call++)
        if (operation_pipe_send(writing, random, (enum pipe_send_call)call, 100, false) != -EPIPE)
            truth_fail("a write to a pipe without readers did not fail");
}

/* Reads some bytes, and exits while the writer blocks in the middle of its write. */
static void leave(struct scene *scene, struct end *reading, bool be_killed)
{
    struct random random =
        scene_random(scene, be_killed ? ROLE_KILLED_READER : ROLE_LEAVING_READER);

    traffic_pipe_receive(reading, &random, random_between(&random, 1, 300000),
                         (struct traffic){.largest = 20000});
    sleep_milliseconds(10); /* the pipe is full again */
    if (!be_killed)
        process_end(0);
    journal_end(SIGKILL);
    scene_post(scene, SIGNAL_READY);
    for (;;)
        pause();
}

/* Kills the reader after it has read; the writer cannot do it, since it blocks in its write. */
static pid_t start_killer(struct scene *scene, pid_t reader)
{
    pid_t killer = process_fork();

    if (killer == 0) {
        scene_wait(scene, SIGNAL_READY);
        kill(reader, SIGKILL);
        process_end(0);
    }
    return killer;
}

static void lose_reader(struct scene *scene, enum transport transport, struct random *random,
                        enum pipe_send_call call, bool be_killed)
{
    const size_t size = 1000000;
    struct end reading;
    struct end writing;
    pid_t killer = 0;

    pipe_new(scene, transport, &reading, &writing);
    pid_t reader = process_fork();
    if (reader == 0) {
        end_close(&writing);
        leave(scene, &reading, be_killed);
    }
    end_close(&reading);
    if (be_killed)
        killer = start_killer(scene, reader);
    ssize_t sent = operation_pipe_send(&writing, random, call, size, false);
    if (sent <= 0 || (size_t)sent >= size)
        truth_fail("a write whose reader leaves sent %zd of %zu bytes", sent, size);
    write_to_nobody(&writing, random);
    end_close(&writing);
    process_wait(reader, be_killed ? SIGKILL : 0);
    if (be_killed)
        process_wait(killer, 0);
}

void pipe_blocked_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_MAIN);
    struct end reading;
    struct end writing;

    write_blocked(scene, transport, &random);
    fill_and_drain(scene, transport, &random);
    pipe_new(scene, transport, &reading, &writing);
    end_close(&reading);
    write_to_nobody(&writing, &random);
    end_close(&writing);
    lose_reader(scene, transport, &random, PIPE_WRITE, false);
    lose_reader(scene, transport, &random, PIPE_WRITEV, true);
}
