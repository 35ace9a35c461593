/* SPDX-License-Identifier: MIT */
/*
 * causality_world.h: processes and connections for the causality analysis, made record by record.
 *
 *      process 1 --- path 1 > path 2 ---> process 2        a world, on a tape
 */
#ifndef DPM_CAUSALITY_WORLD_H
#define DPM_CAUSALITY_WORLD_H

#include "analysis/causality/causality.h"

#include "tapes.h"

/* ---- the world ---- */

#define MOST_PATHS 4096

/* One direction of a connection: how many bytes were sent and received. */
struct way {
    uint32_t sent, received;
};

struct world {
    struct tape tape;
    uint64_t time;
    uint32_t sequences[256];
    uint32_t paths;
    struct way ways[MOST_PATHS]; /* of the bytes that this end sends */
    uint32_t partners[MOST_PATHS];
};

static inline uint64_t tick(struct world *world)
{
    return world->time += 10;
}

/* The processes 1 to `count`, with pids of number + 100, called p1 ... */
static inline void begin(struct world *world, uint32_t count)
{
    memset(world, 0, sizeof(*world));
    tape_init(&world->tape);
    world->tape.state = (struct source_state){.complete = true, .end_reason = END_COMPLETE};
    world->time = 1000;
    world->paths = 1;
    add_machine(&world->tape, tick(world), 1, UINT32_MAX);
    for (uint32_t i = 1; i <= count; i++) {
        struct stream_record record = {
            .header = {.time = tick(world), .id = EVENT_STREAM, .flags = 16, .stream = i},
            .process = i,
            .pid = 100 + i,
            .tid = 100 + i};
        snprintf(record.name, sizeof(record.name), "p%u", i);
        tape_add(&world->tape, &record);
    }
}

static inline void begin_thread(struct world *world, uint32_t stream, uint32_t process)
{
    add_stream(&world->tape, tick(world), stream, process, process);
}

/* A connection on this machine: returns the end that calls; the next number is the end that serves. */
static inline uint32_t connect_kind(struct world *world, uint8_t kind)
{
    uint32_t path = world->paths;
    bool pipe = kind == PATH_PIPE;

    assert_true(path + 2 < MOST_PATHS);
    world->paths += 2;
    add_unix(&world->tape, tick(world), path, kind, path, path + 1)->role =
        pipe ? PATH_ROLE_WRITES : PATH_ROLE_CONNECTED;
    add_unix(&world->tape, tick(world), path + 1, kind, path + 1, path)->role =
        pipe ? PATH_ROLE_READS : PATH_ROLE_ACCEPTED;
    world->partners[path] = path + 1;
    world->partners[path + 1] = path;
    return path;
}

static inline uint32_t connect_to(struct world *world)
{
    return connect_kind(world, PATH_UNIX_STREAM);
}

/* A connection with an unmonitored peer. */
static inline uint32_t connect_outside(struct world *world, enum path_role role)
{
    uint32_t path = world->paths++;
    uint16_t port = (uint16_t)(1000 + path);

    add_internet(&world->tape, tick(world), path, PATH_TCP, 1, port, 200, port)->role =
        (uint8_t)role;
    world->partners[path] = 0;
    return path;
}

static inline void do_send(struct world *world, uint32_t stream, uint32_t path, uint32_t bytes)
{
    add_message(&world->tape, tick(world), EVENT_SEND, stream, world->sequences[stream]++, path,
                world->ways[path].sent, bytes);
    world->ways[path].sent += bytes;
}

/* At the end `path`. */
static inline void do_receive(struct world *world, uint32_t stream, uint32_t path, uint32_t bytes)
{
    struct way *way = &world->ways[world->partners[path]];
    uint32_t *received = world->partners[path] == 0 ? &world->ways[path].received : &way->received;

    add_message(&world->tape, tick(world), EVENT_RECEIVE, stream, world->sequences[stream]++, path,
                *received, bytes);
    *received += bytes;
}

/* One message over a connection: `path` is the sender's end. */
static inline void pass(struct world *world, uint32_t from, uint32_t path, uint32_t to)
{
    do_send(world, from, path, 10);
    do_receive(world, to, world->partners[path], 10);
}

static inline struct causality *finish(struct world *world, const struct causality_options *options)
{
    struct source *sources[] = {&world->tape.source};
    struct causality *result;
    struct problem problem = {""};
    struct history *history;

    assert_int_equal(history_new(sources, 1, &history, &problem), 0);
    assert_int_equal(causality_read_history(history, 1, options, &result, &problem), 0);
    history_free(history);
    tape_done(&world->tape);
    return result;
}

static inline struct causality *finish_plainly(struct world *world)
{
    const struct causality_options options = {0};

    return finish(world, &options);
}

/* How many messages have a certain cause. */
static inline uint64_t proved(const struct causality *result)
{
    uint64_t sum = 0;

    for (int i = 0; i < ATTRIBUTION_COUNT; i++)
        sum += attribution_is_proved((enum attribution)i) ? result->attributed[i] : 0;
    return sum;
}

/* ---- results ---- */

static inline uint64_t count_of(const struct causality *result, const char *string)
{
    for (size_t i = 0; i < result->path_count; i++)
        if (strcmp(result->paths[i].string, string) == 0)
            return result->paths[i].count;
    return 0;
}

static inline uint64_t substrings_of(const struct causality *result, const char *string)
{
    for (size_t i = 0; i < result->substring_count; i++)
        if (strcmp(result->substrings[i].string, string) == 0)
            return result->substrings[i].count;
    return 0;
}

/* The transition with a context of two letters; NULL: replies. */
static inline const struct causality_transition *
transition_of(const struct causality *result, const char *from, const char *at, const char *next)
{
    for (size_t i = 0; i < result->transition_count; i++) {
        const struct causality_transition *row = &result->transitions[i];
        bool is_next =
            next == NULL || row->next == NULL ? next == row->next : strcmp(next, row->next) == 0;
        if (row->length == 2 && strcmp(row->context[0], from) == 0 &&
            strcmp(row->context[1], at) == 0 && is_next)
            return row;
    }
    return NULL;
}

static inline uint64_t transitions_of(const struct causality *result, const char *from,
                                      const char *at, const char *next)
{
    const struct causality_transition *row = transition_of(result, from, at, next);

    return row == NULL ? 0 : row->count;
}

#endif
