/* SPDX-License-Identifier: MIT */
/*
 * source.c: the meter's records as one source in order of time: the two rings and the reader's own
 * records, merged; what is newer than the rings are complete for waits.
 */
#include "meter/load/meter_private.h"

#include "meter.skel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t complete_up_to(const struct meter *meter)
{
    uint64_t control = meter->rings[RING_CONTROL].complete;
    uint64_t data = meter->rings[RING_DATA].complete;

    return control < data ? control : data;
}

/* Oldest record of all; control before data at equal times. */
static const struct record_header *take_oldest(struct meter *meter)
{
    const struct record_header *control = ring_peek(&meter->rings[RING_CONTROL]);
    const struct record_header *data = ring_peek(&meter->rings[RING_DATA]);
    const struct record_header *own = record_queue_peek(&meter->own);
    const struct record_header *oldest = control;

    if (oldest == NULL || (own != NULL && own->time < oldest->time))
        oldest = own;
    if (oldest == NULL || (data != NULL && data->time < oldest->time))
        oldest = data;
    if (oldest == NULL || oldest->time > complete_up_to(meter))
        return NULL;
    if (oldest == own)
        record_queue_take(&meter->own);
    else
        ring_take(&meter->rings[oldest == control ? RING_CONTROL : RING_DATA]);
    return oldest;
}

/* ---- the end: what no record has told of yet ---- */

struct rest {
    struct meter *meter;
    uint64_t time;
    uint64_t told[RING_COUNT];
};

static int tell_lost(struct rest *rest, uint32_t stream, uint32_t sequence, uint32_t ring,
                     uint64_t count)
{
    struct record record = {
        .header = {.time = rest->time,
                   .id = EVENT_LOST,
                   .flags = stream == 0 ? RECORD_NO_STREAM : 0,
                   .sequence = sequence,
                   .stream = stream},
        .lost = {.ring = ring, .reason = LOST_RING_FULL},
    };
    int result = 0;

    rest->told[ring] += count;
    while (count > 0 && result == 0) {
        record.lost.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        count -= record.lost.count;
        result = record_queue_add(&rest->meter->own, &record.header);
    }
    return result;
}

static int tell_of_stream(const void *line, void *context)
{
    const struct survey_stream *stream = line;
    struct rest *rest = context;
    struct stream_record identity = stream->identity;
    int result = 0;

    for (uint32_t ring = 0; ring < RING_COUNT && result == 0; ring++)
        result = tell_lost(rest, stream->identity.header.stream, stream->sequence, ring,
                           stream->lost[ring]);
    identity.header.time = rest->time;
    return result < 0 ? result : record_queue_add(&rest->meter->own, &identity.header);
}

/* DROPPED of UDP sockets that live on. */
static int tell_dropped(struct rest *rest)
{
    const struct bpf_map *map = rest->meter->kernel->maps.udp_paths;
    int paths = bpf_map__fd(map);
    unsigned char key[64], value[256];
    void *previous = NULL;
    int result = 0;

    if (bpf_map__key_size(map) > sizeof(key) || bpf_map__value_size(map) > sizeof(value))
        return -E2BIG;
    while (result == 0 && bpf_map_get_next_key(paths, previous, key) == 0) {
        struct survey_path path;
        previous = key;
        if (bpf_map_lookup_elem(paths, key, value) != 0)
            continue;
        memcpy(&path, value, sizeof(path));
        if (path.number == 0 || path.dropped == path.told)
            continue;
        struct record record = {
            .header = {.time = rest->time, .id = EVENT_DROPPED, .flags = RECORD_NO_STREAM},
            .dropped = {.path = path.number, .count = path.dropped},
        };
        result = record_queue_add(&rest->meter->own, &record.header);
    }
    return result;
}

/* NETWORK of TCP connections that live on. */
static int tell_network(const void *line, void *context)
{
    struct rest *rest = context;
    struct record record = *(const struct record *)line;

    record.header.time = rest->time;
    return record_queue_add(&rest->meter->own, &record.header);
}

/* For streams that live on: STREAM with their CPU time so far, and LOST for losses untold; and one
 * LOST for all that ended with such. */
static int finish(struct meter *meter)
{
    struct rest rest = {.meter = meter, .time = complete_up_to(meter)};

    meter->finished = true;
    int result = iterate(meter->kernel->progs.survey_streams, 0, sizeof(struct survey_stream),
                         tell_of_stream, &rest);
    if (result == 0)
        result = tell_dropped(&rest);
    if (result == 0 && (meter->flags & EVENT_FLAG(EVENT_DESTROYPATH)) != 0)
        result = iterate(meter->kernel->progs.survey_connections, 0, sizeof(struct record),
                         tell_network, &rest);
    if (result < 0)
        return result;
    for (uint32_t ring = 0; ring < RING_COUNT && result == 0; ring++) {
        uint64_t all = ring_lost(meter, ring), told = meter->told_lost[ring] + rest.told[ring];
        if (all > told)
            result = tell_lost(&rest, 0, 0, ring, all - told);
    }
    return result;
}

/* ---- next ---- */

static int collect(struct meter *meter)
{
    int result = skipped_look(meter);

    for (size_t i = 0; i < RING_COUNT && result == 0; i++)
        result = ring_collect(&meter->rings[i]);
    meter->collected = true;
    meter->interface.state.skipped = meter->skipped.reported;
    meter->interface.state.lost =
        meter_lost(&meter->interface, RING_CONTROL) + meter_lost(&meter->interface, RING_DATA);
    return result;
}

static int hand_out(struct meter *meter, const struct record_header *record,
                    struct event *ret_event)
{
    if (record->id == EVENT_LOST) {
        const struct record *lost = (const struct record *)record;
        if (lost->lost.reason == LOST_RING_FULL)
            meter->told_lost[lost->lost.ring % RING_COUNT] += lost->lost.count;
    }
    if (record->id == EVENT_PATH) {
        int result = open_sockets_add(&meter->sockets, (const struct path_record *)record);
        if (result < 0)
            return result;
    }
    if (record->id == EVENT_DESTROYPATH)
        open_sockets_end(&meter->sockets, ((const struct record *)record)->message.path);
    meter->interface.state.records++;
    *ret_event = (struct event){record, 0, meter->wall_offset};
    return SOURCE_RECORD;
}

int meter_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
               struct problem *problem)
{
    struct meter *meter = (struct meter *)source;
    int result = 0;

    for (;;) {
        const struct record_header *record = take_oldest(meter);
        if (record != NULL)
            return hand_out(meter, record, ret_event);
        if (!meter->collected)
            result = collect(meter);
        else if (meter->detached && !meter->finished)
            result = finish(meter);
        else
            break;
        if (result < 0)
            return problem_set(problem, result, "cannot read the meter's rings: %s",
                               strerror(-result));
    }
    meter->collected = false;
    if (meter->finished && record_queue_peek(&meter->own) == NULL &&
        ring_peek(&meter->rings[RING_CONTROL]) == NULL &&
        ring_peek(&meter->rings[RING_DATA]) == NULL) {
        meter->interface.state.complete = true;
        meter->interface.state.end_reason = END_COMPLETE;
        return SOURCE_END;
    }
    *ret_complete = complete_up_to(meter);
    return SOURCE_NONE_YET;
}
