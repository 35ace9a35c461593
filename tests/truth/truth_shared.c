/* SPDX-License-Identifier: MIT */
/*
 * truth_shared.c: one socket used by several processes and several threads at the same time, on both sides.
 *
 *      writers: process --- thread            readers: process --- thread
 *                  |   \--- thread                        |   \--- thread
 *                  +-- process --- thread ---(one path)---+-- process --- thread
 *
 * On byte streams every call sends one block of a fixed size. With small buffers, calls wait in the middle of a block,
 * and another writer's block, or part of it, comes in between.
 */
#include "truth.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROLE_CREW = 100, ROLE_READERS = 200, THREADS = 2, WRITERS = CREW_STREAMS };

/* A process and its threads do the same task, each as a separate stream. */
static void run_crew(const struct duty *duty, unsigned threads, unsigned role, void (*run)(void *))
{
    struct thread handles[THREADS];
    struct duty duties[THREADS + 1];

    for (unsigned i = 0; i <= threads; i++) {
        duties[i] = *duty;
        duties[i].role = role + i;
    }
    for (unsigned i = 0; i < threads; i++)
        thread_start(&handles[i], run, &duties[i + 1]);
    run(&duties[0]);
    for (unsigned i = 0; i < threads; i++)
        thread_join(&handles[i]);
}

void crews_run(const struct duty *duty, unsigned role, void (*run)(void *))
{
    pid_t child = process_fork();

    if (child == 0) {
        run_crew(duty, THREADS - 1, role + 10, run);
        process_end(3);
    }
    run_crew(duty, THREADS, role, run);
    process_wait(child, 3 << 8);
}

/* ---- byte streams ---- */

static void write_blocks(void *argument)
{
    struct duty *duty = argument;
    struct random random = scene_random(duty->scene, duty->role);

    traffic_send(&duty->end, &random, duty->amount, duty->traffic);
}

static void read_blocks(void *argument)
{
    struct duty *duty = argument;
    struct random random = scene_random(duty->scene, duty->role);

    traffic_receive_rest(&duty->end, &random, duty->traffic);
}

static void run_readers(struct scene *scene, struct end *end)
{
    struct random plan = scene_random(scene, ROLE_READERS);
    struct duty duty = {.scene = scene, .end = *end, .traffic = {.largest = 60000}};

    if (random_chance(&plan, 30)) {
        read_blocks(&duty); /* one reader, which can verify the position of every byte */
        return;
    }
    duty.end.several_readers = true;
    duty.traffic.wait_all = random_chance(&plan, 50);
    crews_run(&duty, ROLE_READERS, read_blocks);
}

void shared_connection_run(struct scene *scene, enum transport transport)
{
    static const size_t block_sizes[] = {64, 512, 4096, 30000, 120000};
    struct random plan = scene_random(scene, ROLE_CREW);
    struct duty duty = {.scene = scene};
    pid_t readers =
        connect_child(scene, transport, random_chance(&plan, 80), run_readers, &duty.end);

    duty.traffic.largest = block_sizes[random_next(&plan) % 5];
    duty.traffic.whole_blocks = true;
    duty.traffic.files = random_chance(&plan, 50);
    duty.amount = duty.traffic.largest * (duty.traffic.largest < 4096 ? 200 : 1);
    while (duty.amount < 800000 && duty.traffic.largest >= 4096)
        duty.amount += duty.traffic.largest;
    crews_run(&duty, ROLE_CREW, write_blocks);
    shutdown(duty.end.descriptor, SHUT_WR);
    process_wait(readers, 0);
    if (atomic_load(&scene->received) != WRITERS * duty.amount)
        truth_fail("the readers together got %zu bytes instead of %zu",
                   (size_t)atomic_load(&scene->received), WRITERS * duty.amount);
}

/* ---- datagrams ---- */

static void write_messages(void *argument)
{
    struct duty *duty = argument;
    struct random random = scene_random(duty->scene, duty->role);
    struct traffic nonblocking = duty->traffic;

    traffic_send_messages(&duty->end, &random, duty->amount, duty->traffic);
    nonblocking.nonblocking = true;
    traffic_send_messages(&duty->end, &random, duty->amount, nonblocking);
}

static void read_messages(void *argument)
{
    struct duty *duty = argument;
    struct random random = scene_random(duty->scene, duty->role);

    traffic_receive_claimed(&duty->end, &random, duty->traffic);
}

/* The sockets of both sides: a pair, or a bound socket and one connected to it. */
static void open_sides(struct scene *scene, enum transport transport, struct end *ret_reading,
                       struct end *ret_writing)
{
    struct address address;
    int descriptors[2];

    if (transport_is_pair(transport)) {
        socket_pair(transport, descriptors);
    } else {
        descriptors[0] = socket_bound(transport, &address);
        descriptors[1] = socket_connected(transport, &address);
        address_remove(&address);
    }
    *ret_reading = end_of(scene, transport, descriptors[0]);
    *ret_writing = end_of(scene, transport, descriptors[1]);
    ret_reading->several_readers = true;
    ret_writing->several_readers = true;
}

void shared_datagram_run(struct scene *scene, enum transport transport)
{
    struct duty reading = {.scene = scene, .traffic = {.largest = 3000}};
    struct duty writing = {.scene = scene, .traffic = {.largest = 3000}, .amount = 40};

    open_sides(scene, transport, &reading.end, &writing.end);
    atomic_store(&scene->unclaimed, WRITERS * 2 * (int64_t)writing.amount);
    pid_t writers = process_fork();
    if (writers == 0) {
        end_close(&reading.end);
        crews_run(&writing, ROLE_CREW, write_messages);
        process_end(0);
    }
    crews_run(&reading, ROLE_READERS, read_messages);
    process_wait(writers, 0);
}
