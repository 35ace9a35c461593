/* SPDX-License-Identifier: MIT */
/* last_records.c: the records that are made when metering ends. See last_records.h. */
#include "meter/load/last_records.h"

#include "meter/load/iterate.h"
#include "meter/load/meter_types.h"
#include "meter/shared/survey.h"

#include "meter.skel.h"

#include <errno.h>
#include <string.h>

struct rest {
    struct meter *meter;
    uint64_t time;
    uint64_t told[RING_COUNT];
};

int lost_add(struct meter *meter, uint32_t stream, uint32_t sequence, uint64_t time, uint32_t ring,
             uint64_t count)
{
    struct record record = {
        .header = {.time = time,
                   .id = EVENT_LOST,
                   .flags = stream == 0 ? RECORD_NO_STREAM : 0,
                   .sequence = sequence,
                   .stream = stream},
        .lost = {.ring = ring, .reason = LOST_RING_FULL},
    };
    int result = 0;

    while (count > 0 && result == 0) {
        record.lost.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        count -= record.lost.count;
        result = ring_reader_add(&meter->reader, &record.header);
    }
    return result;
}

static int tell_lost(struct rest *rest, uint32_t stream, uint32_t sequence, uint32_t ring,
                     uint64_t count)
{
    rest->told[ring] += count;
    return lost_add(rest->meter, stream, sequence, rest->time, ring, count);
}

int schedule_add(struct meter *meter, const struct survey_stream *stream, uint64_t time)
{
    struct record record = {
        .header = {.time = time,
                   .id = EVENT_SCHEDULE,
                   .flags = RECORD_NO_STREAM,
                   .proc_time_and_pc = stream->identity.header.proc_time_and_pc,
                   .stream = stream->identity.header.stream},
        .schedule = {.runnable = stream->runnable,
                     .voluntary = stream->voluntary,
                     .involuntary = stream->involuntary},
    };

    return (meter->told & EVENT_FLAG(EVENT_SCHEDULE)) == 0
               ? 0
               : ring_reader_add(&meter->reader, &record.header);
}

int unmetered_add(struct meter *meter, uint64_t time)
{
    uint32_t used = __atomic_load_n(&meter->kernel->bss->unmetered, __ATOMIC_RELAXED);
    struct name_record record;
    int result = 0;

    for (unsigned kind = 1; kind < UNMETERED_END && result == 0; kind++) {
        if ((used & ~meter->unmetered & 1u << kind) == 0)
            continue;
        unmetered_fill(&record, (enum unmetered_kind)kind, time);
        result = ring_reader_add(&meter->reader, &record.header);
        meter->unmetered |= 1u << kind;
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
    if (result == 0)
        result = schedule_add(rest->meter, stream, rest->time);
    return result < 0 ? result : ring_reader_add(&rest->meter->reader, &identity.header);
}

/* DROPPED of live UDP sockets. */
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
        if (path.number == 0 || path.dropped + path.refused == path.told)
            continue;
        struct record record = {
            .header = {.time = rest->time, .id = EVENT_DROPPED, .flags = RECORD_NO_STREAM},
            .dropped = {.path = path.number, .count = path.dropped, .refused = path.refused},
        };
        result = ring_reader_add(&rest->meter->reader, &record.header);
    }
    return result;
}

/* NETWORK of live TCP connections. */
static int tell_network(const void *line, void *context)
{
    struct rest *rest = context;
    struct record record = *(const struct record *)line;

    record.header.time = rest->time;
    return ring_reader_add(&rest->meter->reader, &record.header);
}

int last_records_add(struct meter *meter, uint64_t time, const uint64_t told[RING_COUNT])
{
    struct rest rest = {.meter = meter, .time = time};
    int result = iterate(meter->kernel->progs.survey_streams, 0, sizeof(struct survey_stream),
                         tell_of_stream, &rest);

    if (result == 0)
        result = unmetered_add(meter, time);
    if (result == 0)
        result = tell_dropped(&rest);
    if (result == 0 && (meter->told & EVENT_FLAG(EVENT_DESTROYPATH)) != 0)
        result = iterate(meter->kernel->progs.survey_connections, 0, sizeof(struct record),
                         tell_network, &rest);
    for (uint32_t ring = 0; ring < RING_COUNT && result == 0; ring++) {
        uint64_t all = ring_lost(meter, (enum ring_id)ring), known = told[ring] + rest.told[ring];
        if (all > known)
            result = tell_lost(&rest, 0, 0, ring, all - known);
    }
    return result;
}
