/* SPDX-License-Identifier: MIT */
/* stored_streams.c: the session's streams: made, measured, trimmed. By the controller. */
#include "fabric/fabric_internal.h"
#include "fabric/fabric_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_BYTES (1ull << 30)
#define SAID_BYTES   (64ull << 20)
#define WINDOW_MS    120000ull
#define KEPT_LEAST   (1ull << 20)
#define KEPT_MOST    (16ull << 20)

static uint64_t kept_bytes(uint64_t packet_bytes)
{
    uint64_t bytes = packet_bytes / 16;

    return bytes < KEPT_LEAST ? KEPT_LEAST : bytes > KEPT_MOST ? KEPT_MOST : bytes;
}

static json_t *subjects_of(const struct fabric *fabric, unsigned stream)
{
    char first[FABRIC_SUBJECT_SIZE], second[FABRIC_SUBJECT_SIZE];

    snprintf(first, sizeof(first),
             stream == STREAM_PACKETS ? "dpm.%s.*.packets.>"
             : stream == STREAM_SAID  ? "dpm.%s.*.notice"
                                      : KEPT_SUBJECT ">",
             fabric->session);
    snprintf(second, sizeof(second), "dpm.%s.*.output.>", fabric->session);
    return stream == STREAM_SAID ? json_pack("[ss]", first, second) : json_pack("[s]", first);
}

static json_t *stream_config(const struct fabric *fabric, unsigned stream,
                             const struct fabric_limits *limits)
{
    uint64_t packets = limits->packet_bytes == 0 ? PACKET_BYTES : limits->packet_bytes;
    uint64_t bytes = stream == STREAM_PACKETS  ? packets
                     : stream == STREAM_KEPT   ? kept_bytes(packets)
                     : limits->said_bytes == 0 ? SAID_BYTES
                                               : limits->said_bytes;
    uint64_t window_ms = limits->window_ms == 0 ? WINDOW_MS : limits->window_ms;

    return json_pack("{ss, so, ss, ss, ss, sI, si, si, si, si, sI, sb}", "name",
                     fabric->streams[stream], "subjects", subjects_of(fabric, stream), "retention",
                     "limits", "storage", "file", "discard", stream == STREAM_SAID ? "old" : "new",
                     "max_bytes", (json_int_t)bytes, "max_msgs", -1, "max_msgs_per_subject",
                     stream == STREAM_KEPT ? 1 : -1, "max_consumers", -1, "num_replicas", 1,
                     "duplicate_window", (json_int_t)(window_ms * MILLISECONDS), "allow_direct",
                     (int)(stream == STREAM_PACKETS));
}

static int create_stream(struct fabric *fabric, unsigned stream, const struct fabric_limits *limits,
                         struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    json_t *config = stream_config(fabric, stream, limits);
    char *body = config == NULL ? NULL : json_dumps(config, JSON_COMPACT);
    json_t *answer = NULL;

    json_decref(config);
    if (body == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s", fabric->streams[stream]);
    int error = fabric_ask(fabric, fabric->streams[stream], subject, NULL, &answer, problem);
    json_decref(error == 0 ? answer : NULL);
    if (error == 0 || error == -ENOENT) {
        snprintf(subject, sizeof(subject), "$JS.API.STREAM.%s.%s", error == 0 ? "UPDATE" : "CREATE",
                 fabric->streams[stream]);
        error = fabric_ask(fabric, fabric->streams[stream], subject, body, &answer, problem);
        json_decref(error == 0 ? answer : NULL);
    }
    free(body);
    return error;
}

int fabric_create_streams(struct fabric *fabric, const struct fabric_limits *limits,
                          struct problem *problem)
{
    const struct fabric_limits defaults = {0};

    if (limits == NULL)
        limits = &defaults;
    int error = 0;
    for (unsigned stream = STREAM_PACKETS; error == 0 && stream <= STREAM_KEPT; stream++)
        error = create_stream(fabric, stream, limits, problem);
    return error;
}

/* As fabric_has_streams, for one of them. */
static int has_stream(struct fabric *fabric, unsigned stream, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    json_t *answer = NULL;

    snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s", fabric->streams[stream]);
    int error = fabric_ask(fabric, fabric->streams[stream], subject, NULL, &answer, problem);
    json_decref(error == 0 ? answer : NULL);
    return error == 0 ? 1 : error == -ENOENT ? 0 : error;
}

int fabric_has_streams(struct fabric *fabric, struct problem *problem)
{
    int result = has_stream(fabric, STREAM_PACKETS, problem);

    return result == 0 ? has_stream(fabric, STREAM_SAID, problem) : result;
}

int fabric_has_said(struct fabric *fabric, struct problem *problem)
{
    return has_stream(fabric, STREAM_SAID, problem);
}

int fabric_remove_streams(struct fabric *fabric, struct problem *problem)
{
    int first = 0;

    for (unsigned stream = STREAM_PACKETS; stream <= STREAM_KEPT; stream++) {
        char subject[FABRIC_SUBJECT_SIZE];
        json_t *answer = NULL;
        snprintf(subject, sizeof(subject), "$JS.API.STREAM.DELETE.%s", fabric->streams[stream]);
        int error = fabric_ask(fabric, fabric->streams[stream], subject, NULL, &answer,
                               first == 0 ? problem : NULL);
        json_decref(error == 0 ? answer : NULL);
        if (first == 0 && error != -ENOENT)
            first = error;
    }
    return first;
}

/* ---- measuring ---- */

static int stream_info(struct fabric *fabric, unsigned stream, const char *body, json_t **ret_info,
                       struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];

    snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s", fabric->streams[stream]);
    return fabric_ask(fabric, fabric->streams[stream], subject, body, ret_info, problem);
}

int fabric_usage(struct fabric *fabric, struct fabric_usage *ret_usage, struct problem *problem)
{
    json_t *packets, *said;
    int error = stream_info(fabric, STREAM_PACKETS, NULL, &packets, problem);

    if (error != 0)
        return error;
    error = stream_info(fabric, STREAM_SAID, NULL, &said, problem);
    if (error == 0) {
        const json_t *said_state = json_object_get(said, "state");
        *ret_usage = (struct fabric_usage){
            .said = fabric_count(said_state, "messages"),
            .said_bytes = fabric_count(said_state, "bytes"),
            .said_first = fabric_count(said_state, "first_seq"),
        };
        usage_of_packets(packets, ret_usage);
        json_decref(said);
    }
    json_decref(packets);
    return error;
}

int64_t fabric_left(struct fabric *fabric, const char *durable, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];
    json_t *answer;

    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.INFO.%s.%s",
             fabric->streams[STREAM_PACKETS], durable);
    int error = fabric_ask(fabric, durable, subject, NULL, &answer, problem);
    if (error != 0)
        return error;
    uint64_t left = fabric_count(answer, "num_pending") + fabric_count(answer, "num_ack_pending");
    json_decref(answer);
    return (int64_t)left;
}

/* ---- trimming ---- */

/* The machine whose packets alone a consumer gets; "*": it gets those of all, or others than dpm's do. */
static void machine_of(const struct fabric *fabric, const json_t *consumer,
                       char ret_machine[FABRIC_NAME_MOST + 1])
{
    const char *filter =
        json_string_value(json_object_get(json_object_get(consumer, "config"), "filter_subject"));
    char before[FABRIC_SUBJECT_SIZE];
    size_t length = (size_t)snprintf(before, sizeof(before), "dpm.%s.", fabric->session);

    strcpy(ret_machine, "*");
    if (filter == NULL || strncmp(filter, before, length) != 0)
        return;
    filter += length;
    const char *end = strchr(filter, '.');
    if (end != NULL && end - filter <= (ptrdiff_t)FABRIC_NAME_MOST &&
        strcmp(end, ".packets.>") == 0)
        snprintf(ret_machine, FABRIC_NAME_MOST + 1, "%.*s", (int)(end - filter), filter);
}

static uint64_t floor_of(const json_t *consumer)
{
    return fabric_count(json_object_get(consumer, "ack_floor"), "stream_seq");
}

/* `floors`: of each machine, and of "*", what the consumers that get its packets have all acknowledged. */
static int note_floor(const struct fabric *fabric, const json_t *consumer, json_t *floors,
                      struct problem *problem)
{
    uint64_t floor = floor_of(consumer);
    char machine[FABRIC_NAME_MOST + 1];

    machine_of(fabric, consumer, machine);
    if (json_object_get(floors, machine) != NULL && fabric_count(floors, machine) <= floor)
        return 0;
    return json_object_set_new(floors, machine, json_integer((json_int_t)floor)) == 0
               ? 0
               : problem_set(problem, -ENOMEM, "out of memory");
}

/* `named`: what the one whose name is kept has acknowledged. That of a machine that sends nothing stays far behind, and lacks
 * nothing. */
static void note_slower(const json_t *consumer, struct fabric_slowest *slowest, uint64_t *named)
{
    const char *name = json_string_value(json_object_get(consumer, "name"));
    uint64_t floor = floor_of(consumer);
    uint64_t left =
        fabric_count(consumer, "num_pending") + fabric_count(consumer, "num_ack_pending");

    if (floor < slowest->acknowledged)
        slowest->acknowledged = floor;
    if (left == 0 || floor >= *named)
        return;
    *named = floor;
    slowest->left = left;
    snprintf(slowest->name, sizeof(slowest->name), "%s", name == NULL ? "" : name);
}

/* `floors`: NULL, or an object to fill. */
static int look_at_consumers(struct fabric *fabric, json_t *floors,
                             struct fabric_slowest *ret_slowest, struct problem *problem)
{
    const char *stream = fabric->streams[STREAM_PACKETS];
    char subject[FABRIC_SUBJECT_SIZE], body[64];
    struct fabric_slowest slowest = {.acknowledged = UINT64_MAX};
    uint64_t seen = 0, total = 1, named = UINT64_MAX;

    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.LIST.%s", stream);
    while (seen < total) { /* the server lists so many at a time */
        json_t *answer;
        size_t i;
        const json_t *consumer;
        snprintf(body, sizeof(body), "{\"offset\":%" PRIu64 "}", seen);
        int error = fabric_ask(fabric, stream, subject, body, &answer, problem);
        if (error != 0)
            return error;
        const json_t *list = json_object_get(answer, "consumers");
        json_array_foreach(list, i, consumer)
        {
            note_slower(consumer, &slowest, &named);
            if (floors != NULL && error == 0)
                error = note_floor(fabric, consumer, floors, problem);
        }
        total = fabric_count(answer, "total");
        seen += json_array_size(list);
        bool empty = json_array_size(list) == 0;
        json_decref(answer);
        if (error != 0)
            return error;
        if (empty)
            break;
    }
    *ret_slowest = slowest;
    return slowest.acknowledged != UINT64_MAX;
}

int fabric_slowest(struct fabric *fabric, struct fabric_slowest *ret_slowest,
                   struct problem *problem)
{
    return look_at_consumers(fabric, NULL, ret_slowest, problem);
}

/* The number of the last message of a subject. */
static int last_of(struct fabric *fabric, const char *of, uint64_t *ret_sequence,
                   struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE], body[FABRIC_SUBJECT_SIZE + 32];
    json_t *answer;

    snprintf(subject, sizeof(subject), "$JS.API.STREAM.MSG.GET.%s",
             fabric->streams[STREAM_PACKETS]);
    snprintf(body, sizeof(body), "{\"last_by_subj\":\"%s\"}", of);
    int error = fabric_ask(fabric, of, subject, body, &answer, problem);
    if (error != 0)
        return error;
    *ret_sequence = fabric_count(json_object_get(answer, "message"), "seq");
    json_decref(answer);
    return 0;
}

/* Removes those of a subject before `before`. Returns how many. */
static int64_t purge(struct fabric *fabric, const char *of, uint64_t before,
                     struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE], body[FABRIC_SUBJECT_SIZE + 64];
    json_t *answer;

    snprintf(subject, sizeof(subject), "$JS.API.STREAM.PURGE.%s", fabric->streams[STREAM_PACKETS]);
    snprintf(body, sizeof(body), "{\"filter\":\"%s\",\"seq\":%" PRIu64 "}", of, before);
    int error = fabric_ask(fabric, of, subject, body, &answer, problem);
    if (error != 0)
        return error;
    int64_t purged = (int64_t)fabric_count(answer, "purged");
    json_decref(answer);
    return purged;
}

/* What all consumers that get the packets of a subject have acknowledged: one of another machine, which may send nothing, says
 * nothing of these. Where there is none, what all others have. */
static uint64_t acknowledged_of(const struct fabric *fabric, const char *subject,
                                const json_t *floors, uint64_t by_all)
{
    uint64_t floor = UINT64_MAX;
    struct address address;

    if (address_parse(subject, fabric->session, &address) != 0)
        return by_all;
    const char *const keys[] = {"*", address.machine};
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (json_object_get(floors, keys[i]) != NULL && fabric_count(floors, keys[i]) < floor)
            floor = fabric_count(floors, keys[i]);
    return floor == UINT64_MAX ? by_all : floor;
}

static int64_t trim_subject(struct fabric *fabric, const char *subject, uint64_t floor,
                            struct problem *problem)
{
    uint64_t last;
    int error = last_of(fabric, subject, &last, problem);

    return error != 0 ? error
                      : purge(fabric, subject, last < floor + 1 ? last : floor + 1, problem);
}

/* `floors` is filled. */
static int64_t trim(struct fabric *fabric, json_t *floors, struct problem *problem)
{
    char body[FABRIC_SUBJECT_SIZE];
    json_t *info, *count;
    const char *subject;
    struct fabric_slowest slowest = {0};
    int64_t trimmed = 0;
    int64_t error = look_at_consumers(fabric, floors, &slowest, problem);

    if (error <= 0)
        return error;
    snprintf(body, sizeof(body), "{\"subjects_filter\":\"dpm.%s.*.packets.>\"}", fabric->session);
    error = stream_info(fabric, STREAM_PACKETS, body, &info, problem);
    if (error != 0)
        return error;
    json_object_foreach(json_object_get(json_object_get(info, "state"), "subjects"), subject, count)
    {
        uint64_t floor = acknowledged_of(fabric, subject, floors, slowest.acknowledged);
        if (json_integer_value(count) < 2 || floor == 0) /* before 1 is all, to the server */
            continue;
        error = trim_subject(fabric, subject, floor, problem);
        if (error < 0)
            break;
        trimmed += error;
    }
    json_decref(info);
    return error < 0 ? error : trimmed;
}

int64_t fabric_trim(struct fabric *fabric, struct problem *problem)
{
    json_t *floors = json_object();

    if (floors == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int64_t trimmed = trim(fabric, floors, problem);
    json_decref(floors);
    return trimmed;
}
