/* SPDX-License-Identifier: MIT */
/*
 * publishing.c: the packets of a recording's trace on their way to the fabric. The trace is the spool: nothing else is kept.
 *
 *      TRACE --trace_packets_next--> packet --fabric_publish--> stored by the server
 *                                      '-- held while the fabric takes no more (it is away, or full)
 */
#include "agent/agent_private.h"

#include <errno.h>
#include <string.h>

static enum fabric_part part_of(const struct trace_packet *packet)
{
    if (packet->is_metadata)
        return FABRIC_METADATA;
    return packet->ring == RING_CONTROL ? FABRIC_CONTROL : FABRIC_DATA;
}

/* Goes on where the server has got to. Returns 0, or a negative errno: ask again later. */
static int resume(struct agent_recording *recording, struct problem *problem)
{
    struct publishing *publishing = &recording->publishing;
    struct trace_position positions[RING_COUNT] = {0};
    struct fabric_place place;

    for (enum fabric_part part = 0; part < FABRIC_PARTS; part++) {
        int result = fabric_last(recording->agent->fabric, recording->name, part, &place, problem);
        if (result == -ENOENT)
            continue;
        if (result < 0)
            return result;
        if (memcmp(place.uuid, trace_packets_uuid(publishing->packets), sizeof(place.uuid)) != 0)
            continue;
        fabric_publisher_resume(publishing->publisher, part, &place);
        if (part == FABRIC_METADATA)
            publishing->metadata = place;
        else
            positions[part == FABRIC_CONTROL ? RING_CONTROL : RING_DATA] =
                (struct trace_position){.known = true, .file = place.file, .number = place.number};
    }
    trace_packets_skip_to(publishing->packets, positions);
    return 0;
}

static int open_publishing(struct agent_recording *recording, struct problem *problem)
{
    struct publishing *publishing = &recording->publishing;
    int result = trace_packets_open(recording->path, &publishing->packets, problem);

    publishing->metadata.number = UINT64_MAX; /* the first version is 0 */
    if (result >= 0)
        result = fabric_publisher_new(recording->agent->fabric, recording->name, 0,
                                      &publishing->publisher, problem);
    if (result >= 0)
        result = resume(recording, problem);
    if (result < 0)
        publishing_close(publishing);
    return result;
}

static void give_up(struct agent_recording *recording, const char *text)
{
    recording->publishing.failed = true;
    agent_notice(recording->agent, "note",
                 json_pack("{s:s, s:o}", "recording", recording->name, "text", agent_text(text)));
}

/* Hands over the packet that is held. Returns whether the fabric took it. */
static bool hand_over(struct agent_recording *recording)
{
    struct publishing *publishing = &recording->publishing;
    const struct trace_packet *packet = &publishing->packet;
    struct fabric_place place = {.file = packet->file, .number = packet->number};
    struct problem problem;

    memcpy(place.uuid, packet->uuid, sizeof(place.uuid));
    if (packet->is_metadata)
        place.number = publishing->metadata.number + 1;
    int result =
        fabric_publish(publishing->publisher, part_of(packet), &place, packet->bytes, packet->size);
    if (result == -EAGAIN || result == -ENOSPC)
        return false;
    if (result < 0) {
        problem_set(&problem, result, "cannot publish %s: %s", recording->path, strerror(-result));
        give_up(recording, problem.text);
        return false;
    }
    if (packet->is_metadata)
        publishing->metadata = place;
    publishing->holds = false;
    return true;
}

void publishing_step(struct agent_recording *recording)
{
    struct publishing *publishing = &recording->publishing;
    struct problem problem;
    int result = 0;

    if (publishing->failed || publishing->all || !recording->begun ||
        recording->agent->fabric == NULL || !fabric_connected(recording->agent->fabric))
        return;
    if (publishing->packets == NULL && open_publishing(recording, &problem) < 0)
        return; /* again with the next step */
    for (;;) {
        if (!publishing->holds)
            result = trace_packets_next(publishing->packets, &publishing->packet, &problem);
        if (!publishing->holds && result != TRACE_PACKETS_ONE)
            break;
        publishing->holds = true;
        if (!hand_over(recording))
            return;
    }
    publishing->drained = result == TRACE_PACKETS_NONE_YET || result == TRACE_PACKETS_END;
    publishing->all = result == TRACE_PACKETS_END && recording->ended;
    if (result < 0)
        give_up(recording, problem.text);
}

void publishing_note_growth(struct agent_recording *recording)
{
    recording->publishing.drained = false;
}

/* Whether what the trace had at the last flush, or at its end, is stored by the server. */
static bool is_caught_up(const struct publishing *publishing)
{
    struct fabric_publisher_state state = {0};

    if (publishing->publisher != NULL)
        fabric_publisher_look(publishing->publisher, &state);
    return publishing->failed || ((publishing->drained || publishing->all) && state.pending == 0);
}

bool publishing_done(const struct publishing *publishing)
{
    struct fabric_publisher_state state;

    if (publishing->failed || publishing->publisher == NULL)
        return publishing->failed || publishing->all;
    if (!publishing->all)
        return false;
    fabric_publisher_look(publishing->publisher, &state);
    return state.pending == 0;
}

void publishing_state(const struct publishing *publishing, json_t *result)
{
    static const char *const names[] = {[FABRIC_CONTROL] = "control", [FABRIC_DATA] = "data"};
    json_t *published = json_object();
    struct fabric_place place;

    for (enum fabric_part part = FABRIC_CONTROL; part < FABRIC_PARTS; part++)
        if (publishing->publisher != NULL &&
            fabric_acknowledged(publishing->publisher, part, &place))
            json_object_set_new(published, names[part],
                                json_pack("{s:I, s:I}", "file", (json_int_t)place.file, "number",
                                          (json_int_t)place.number));
    json_object_set_new(result, "published", published);
    json_object_set_new(result, "caught_up", json_boolean(is_caught_up(publishing)));
    json_object_set_new(result, "failed", json_boolean(publishing->failed));
    json_object_set_new(
        result, "overtaken",
        json_integer(publishing->packets == NULL
                         ? 0
                         : (json_int_t)trace_packets_overtaken(publishing->packets)));
}

void publishing_close(struct publishing *publishing)
{
    fabric_publisher_free(publishing->publisher);
    trace_packets_close(publishing->packets);
    publishing->publisher = NULL;
    publishing->packets = NULL;
    publishing->holds = false;
}
