/* SPDX-License-Identifier: MIT */
/*
 * truth_pipe.c: pipes and FIFOs between one writer and one reader.
 *
 *      writer ---- phase: so many bytes, in this way ---->|pipe|----> reader
 *        a pipe is inherited by fork, a FIFO is opened by both by its name
 *        in the middle of it a child of either goes on, then the parent again
 *
 * Packets: each write is separate, and a read that is too small for one loses the rest of it.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    ROLE_PLAN,
    ROLE_WRITER,
    ROLE_READER,
    PACKETS = 300,
    LARGEST_PACKET = 4096, /* PIPE_BUF */
    SIGNAL_OPENED = 0,
    SIGNAL_ENDED = 1,
};

enum phase_kind {
    PHASE_SMALL,
    PHASE_LARGE,
    PHASE_FILES,
    PHASE_NONBLOCKING,
    PHASE_LATE_READER, /* the writer blocks on a full pipe */
    PHASE_WHOLE,       /* one write and one read for each block */
    PHASE_CHILDREN,    /* a child of each goes on for a while */
    PHASE_COUNT,
};

struct phase {
    enum phase_kind kind;
    size_t total;
};

struct plan {
    struct phase phases[2 * PHASE_COUNT];
    int capacity; /* of the pipe; 0: the default */
};

static struct plan plan_new(const struct scene *scene)
{
    static const int capacities[] = {0, 0, 4096, 16384, 1 << 20};
    struct random random = scene_random(scene, ROLE_PLAN);
    struct plan plan = {.capacity = capacities[random_between(&random, 0, 4)]};

    for (unsigned i = 0; i < 2 * PHASE_COUNT; i++) {
        unsigned place = (unsigned)random_between(&random, 0, i);
        plan.phases[i] = plan.phases[place];
        plan.phases[place].kind = (enum phase_kind)(i / 2);
    }
    for (unsigned i = 0; i < 2 * PHASE_COUNT; i++)
        plan.phases[i].total = plan.phases[i].kind == PHASE_SMALL
                                   ? random_between(&random, 1, 3000)
                                   : random_between(&random, 50000, 300000);
    return plan;
}

static struct traffic phase_traffic(enum phase_kind kind)
{
    switch (kind) {
    case PHASE_SMALL:
        return (struct traffic){.largest = 200};
    case PHASE_FILES:
    case PHASE_CHILDREN:
        return (struct traffic){.largest = 30000, .files = true};
    case PHASE_NONBLOCKING:
        return (struct traffic){.largest = 20000, .files = true, .nonblocking = true};
    case PHASE_WHOLE:
        return (struct traffic){.largest = 4000, .whole_blocks = true};
    default:
        return (struct traffic){.largest = 20000};
    }
}

static void write_phase(struct end *end, struct random *random, const struct phase *phase)
{
    struct traffic traffic = phase_traffic(phase->kind);

    if (phase->kind == PHASE_LATE_READER)
        traffic.largest = phase->total;
    if (phase->kind == PHASE_CHILDREN) {
        pid_t child = process_fork();
        if (child == 0) {
            struct end own = *end;
            own.sent = 0;
            traffic_pipe_send(&own, random, phase->total, traffic);
            process_end(0);
        }
        process_wait(child, 0);
        return;
    }
    traffic_pipe_send(end, random, phase->total, traffic);
}

/* After the child, this process still knows the next position of every writer it reads from: all that the child reads
 * comes from a child of the writer, which is a new writer. */
static void read_phase(struct end *end, struct random *random, const struct phase *phase)
{
    struct traffic traffic = phase_traffic(phase->kind);

    if (phase->kind == PHASE_LATE_READER)
        sleep_milliseconds(10);
    if (phase->kind == PHASE_CHILDREN) {
        pid_t child = process_fork();
        if (child == 0) {
            traffic_pipe_receive(end, random, phase->total, traffic);
            process_end(0);
        }
        process_wait(child, 0);
        return;
    }
    traffic_pipe_receive(end, random, phase->total, traffic);
}

static void write_all(struct scene *scene, struct end *end)
{
    struct random random = scene_random(scene, ROLE_WRITER);
    struct plan plan = plan_new(scene);

    if (plan.capacity != 0)
        fcntl(end->descriptor, F_SETPIPE_SZ, plan.capacity);
    for (unsigned i = 0; i < 2 * PHASE_COUNT; i++)
        write_phase(end, &random, &plan.phases[i]);
    end_close(end);
}

static void read_all(struct scene *scene, struct end *end)
{
    struct random random = scene_random(scene, ROLE_READER);
    struct plan plan = plan_new(scene);

    for (unsigned i = 0; i < 2 * PHASE_COUNT; i++)
        read_phase(end, &random, &plan.phases[i]);
    if (traffic_pipe_receive_rest(end, &random, (struct traffic){.largest = 1000}) != 0)
        truth_fail("more came out of the pipe than was written to it");
    end_close(end);
}

/* The parent may be the writer or the reader. */
static void run_by_pipe(struct scene *scene, bool parent_writes)
{
    struct end reading;
    struct end writing;

    pipe_new(scene, TRANSPORT_PIPE, &reading, &writing);
    pid_t child = process_fork();
    bool writes = parent_writes == (child != 0);
    end_close(writes ? &reading : &writing);
    if (writes)
        write_all(scene, &writing);
    else
        read_all(scene, &reading);
    if (child == 0)
        process_end(0);
    process_wait(child, 0);
}

static void run_by_fifo(struct scene *scene, bool parent_writes)
{
    char path[256];

    fifo_new(path, sizeof(path));
    pid_t child = process_fork();
    bool writes = parent_writes == (child != 0);
    struct end end = end_of(scene, TRANSPORT_FIFO, fifo_open(path, writes ? O_WRONLY : O_RDONLY));
    if (writes)
        write_all(scene, &end);
    else
        read_all(scene, &end);
    if (child == 0)
        process_end(0);
    process_wait(child, 0);
    unlink(path);
}

void pipe_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, 900);
    bool parent_writes = random_chance(&random, 50);

    if (transport == TRANSPORT_FIFO)
        run_by_fifo(scene, parent_writes);
    else
        run_by_pipe(scene, parent_writes);
}

/* ---- packets ---- */

static void write_packets(struct end *end, struct random *random)
{
    for (unsigned i = 0; i < PACKETS; i++) {
        /* more than a page becomes several packets */
        size_t size = random_between(random, 1, random_chance(random, 10) ? 20000 : LARGEST_PACKET);
        enum pipe_send_call call = (enum pipe_send_call)random_between(random, 0, PIPE_PWRITEV2);
        if (operation_pipe_send(end, random, call, size, false) != (ssize_t)size)
            truth_fail("a packet was not written whole");
    }
}

void pipe_packet_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_READER);
    struct end reading;
    struct end writing;

    pipe_new(scene, transport, &reading, &writing);
    pid_t child = process_fork();
    if (child == 0) {
        end_close(&reading);
        random = scene_random(scene, ROLE_WRITER);
        write_packets(&writing, &random);
        process_end(0);
    }
    end_close(&writing);
    reading.several_readers = true; /* the bytes may begin anywhere */
    while (!reading.ended) {
        enum pipe_receive_call call =
            (enum pipe_receive_call)random_between(&random, 0, PIPE_PREADV2);
        size_t size = random_chance(&random, 15) ? random_between(&random, 1, LARGEST_PACKET)
                                                 : LARGEST_PACKET + 1000;
        if (operation_pipe_receive(&reading, &random, call, size, false) < 0)
            truth_fail("a packet could not be read");
    }
    end_close(&reading);
    process_wait(child, 0);
}

/* ---- a FIFO that is opened again and again ---- */

enum { OPENINGS = 4 };

static void write_again(struct scene *scene, const char *path)
{
    struct random random = scene_random(scene, ROLE_WRITER);
    struct end end = {.descriptor = -1};

    for (unsigned i = 0; i < OPENINGS; i++) {
        uint64_t sent = end.sent;
        end = end_of(scene, TRANSPORT_FIFO, fifo_open(path, O_WRONLY));
        end.sent = sent;
        scene_post(scene, SIGNAL_OPENED);
        traffic_pipe_send(&end, &random, random_between(&random, 1, 100000),
                          (struct traffic){.largest = 9000, .files = true});
        end_close(&end);
        scene_wait(scene, SIGNAL_ENDED);
    }
}

/* One process opens a FIFO for reading and writing, and sends itself messages. */
static void talk_to_itself(struct scene *scene, const char *path)
{
    struct random random = scene_random(scene, ROLE_WRITER + 10);
    struct end end = end_of(scene, TRANSPORT_FIFO, fifo_open(path, O_RDWR));

    end.both_ways = true;
    fcntl(end.descriptor, F_SETPIPE_SZ, 1 << 20); /* no other process would make buffer space */
    for (unsigned i = 0; i < 20; i++) {
        size_t size = random_between(&random, 1, 20000);
        traffic_pipe_send(&end, &random, size, (struct traffic){.largest = 9000, .files = true});
        traffic_pipe_receive(&end, &random, size, (struct traffic){.largest = 9000});
    }
    end_close(&end);
}

void fifo_reopened_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_READER);
    char path[256];

    fifo_new(path, sizeof(path));
    pid_t child = process_fork();
    if (child == 0) {
        write_again(scene, path);
        process_end(0);
    }
    struct end end = end_of(scene, transport, fifo_open(path, O_RDONLY));
    for (unsigned i = 0; i < OPENINGS; i++) {
        scene_wait(scene, SIGNAL_OPENED);
        end.ended = false;
        traffic_pipe_receive_rest(&end, &random, (struct traffic){.largest = 9000});
        scene_post(scene, SIGNAL_ENDED);
    }
    end_close(&end);
    process_wait(child, 0);
    fifo_new(path, sizeof(path));
    talk_to_itself(scene, path);
    unlink(path);
}
