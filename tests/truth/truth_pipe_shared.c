/* SPDX-License-Identifier: MIT */
/*
 * truth_pipe_shared.c: one pipe used by several processes and threads.
 *
 *      several writers:  process, thread, ... --->|pipe|---> reader
 *      several readers:  writer, or several   --->|pipe|---> process, thread, ...
 *     turns:            a writer writes when it has the token, and passes it on over another pipe:
 *
 *          writer 0 ---token--> writer 1 ---token--> writer 2 ---token--> writer 0 ...
 *              \__________________ | ____________________/
 *                             the shared pipe ---> reader
 */
#include "truth.h"

#include <string.h>

enum {
    ROLE_PLAN,
    ROLE_WRITERS = 100,
    ROLE_READERS = 200,
    AMOUNT = 160000,
    TURN_TAKERS = 3,
    TURNS = 40, /* of each */
    TOKEN = 8,
};

static void write_duty(void *argument)
{
    struct duty *duty = argument;
    struct random random = scene_random(duty->scene, duty->role);

    traffic_pipe_send(&duty->end, &random, duty->amount, duty->traffic);
}

static void read_duty(void *argument)
{
    struct duty *duty = argument;
    struct random random = scene_random(duty->scene, duty->role);

    traffic_pipe_receive_rest(&duty->end, &random, duty->traffic);
}

/* Writes of at most PIPE_BUF are atomic; larger ones interleave with others. */
static struct duty writing_duty(struct scene *scene, struct random *plan, const struct end *end)
{
    static const size_t block_sizes[] = {64, 512, 4096, 10000, 100000};
    struct duty duty = {.scene = scene, .end = *end, .role = ROLE_WRITERS};

    duty.traffic.largest = block_sizes[random_between(plan, 0, 4)];
    duty.traffic.whole_blocks = random_chance(plan, 50);
    duty.traffic.files = random_chance(plan, 50);
    duty.amount = duty.traffic.largest < 500 ? 200 * duty.traffic.largest : AMOUNT;
    return duty;
}

void pipe_writers_run(struct scene *scene, enum transport transport)
{
    struct random plan = scene_random(scene, ROLE_PLAN);
    struct duty reading = {.scene = scene, .role = ROLE_READERS, .traffic = {.largest = 60000}};
    struct end writing;

    pipe_new(scene, transport, &reading.end, &writing);
    pid_t reader = process_fork();
    if (reader == 0) {
        end_close(&writing);
        read_duty(&reading);
        process_end(0);
    }
    end_close(&reading.end);
    struct duty duty = writing_duty(scene, &plan, &writing);
    crews_run(&duty, ROLE_WRITERS, write_duty);
    end_close(&writing);
    process_wait(reader, 0);
    if (atomic_load(&scene->received) != CREW_STREAMS * duty.amount)
        truth_fail("not all that was written to the pipe was read");
}

void pipe_readers_run(struct scene *scene, enum transport transport)
{
    struct random plan = scene_random(scene, ROLE_PLAN);
    struct duty reading = {.scene = scene, .role = ROLE_READERS, .traffic = {.largest = 30000}};
    bool one_writer = random_chance(&plan, 50);
    struct end writing;

    pipe_new(scene, transport, &reading.end, &writing);
    pid_t readers = process_fork();
    if (readers == 0) {
        end_close(&writing);
        reading.end.several_readers = true;
        crews_run(&reading, ROLE_READERS, read_duty);
        process_end(0);
    }
    end_close(&reading.end);
    struct duty duty = writing_duty(scene, &plan, &writing);
    if (one_writer) {
        duty.amount *= 3;
        write_duty(&duty);
    } else {
        crews_run(&duty, ROLE_WRITERS, write_duty);
    }
    end_close(&writing);
    process_wait(readers, 0);
    if (atomic_load(&scene->received) != atomic_load(&scene->sent))
        truth_fail("not all that was written to the pipe was read");
}

/* ---- taking turns ---- */

struct ring {
    struct end reading[TURN_TAKERS]; /* writer i waits here for the token */
    struct end writing[TURN_TAKERS]; /* ... which comes from this writer */
    struct end shared;
};

static void take_turns(struct ring *ring, unsigned number, struct random *random)
{
    struct traffic token = {.largest = TOKEN, .whole_blocks = true};
    struct traffic block = {.largest = 5000};

    for (unsigned turn = 0; turn < TURNS; turn++) {
        if (number != 0 || turn != 0)
            traffic_pipe_receive(&ring->reading[number], random, TOKEN, token);
        traffic_pipe_send(&ring->shared, random, random_between(random, 1, 5000), block);
        if (number + 1 < TURN_TAKERS || turn + 1 < TURNS)
            traffic_pipe_send(&ring->writing[(number + 1) % TURN_TAKERS], random, TOKEN, token);
    }
}

void pipe_turns_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_READERS);
    pid_t takers[TURN_TAKERS];
    struct ring ring;
    struct end reading;

    pipe_new(scene, transport, &reading, &ring.shared);
    for (unsigned i = 0; i < TURN_TAKERS; i++)
        pipe_new(scene, transport, &ring.reading[i], &ring.writing[i]);
    for (unsigned i = 0; i < TURN_TAKERS; i++) {
        takers[i] = process_fork();
        if (takers[i] == 0) {
            random = scene_random(scene, ROLE_WRITERS + i);
            take_turns(&ring, i, &random);
            process_end(0);
        }
    }
    end_close(&ring.shared);
    traffic_pipe_receive_rest(&reading, &random, (struct traffic){.largest = 7000});
    for (unsigned i = 0; i < TURN_TAKERS; i++)
        process_wait(takers[i], 0);
}
