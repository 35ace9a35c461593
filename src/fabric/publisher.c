/* SPDX-License-Identifier: MIT */
/*
 * publisher.c: packets of one recording, into the stream dpm-SESSION-packets.
 *
 * The first packet of each part is sent alone, and the following ones when it is stored: so the first one that the stream has
 * of a part is the first one that was sent. Later ones overtake each other only when one was refused or lost with a
 * connection; each names its predecessor, so a consumer sees that.
 */
#include "fabric/fabric_names.h"
#include "fabric/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW       64u
#define LAST_TIMEOUT 5000 /* ms */

struct fabric_publisher {
    struct fabric *fabric;
    struct outbox *outbox;
    char recording[FABRIC_NAME_MOST + 1];
    struct fabric_place last[FABRIC_PARTS]; /* handed over */
    bool has_last[FABRIC_PARTS];
};

/* ---- what the stream has ---- */

static int read_last(natsMsg *message, struct fabric_place *ret_place)
{
    const char *id, *after, *stored;
    struct fabric_place place, before, floor;
    enum fabric_part part;

    if (natsMsgHeader_Get(message, HEADER_ID, &id) != NATS_OK ||
        natsMsgHeader_Get(message, HEADER_AFTER, &after) != NATS_OK ||
        natsMsgHeader_Get(message, HEADER_STORED, &stored) != NATS_OK ||
        place_id_parse(id, &place, &part) != 0)
        return -EPROTO;
    int has_before = place_parse(after, &before);
    int has_floor = place_parse(stored, &floor);
    if (has_before < 0 || has_floor < 0)
        return -EPROTO;
    /* Its predecessor was stored when it was sent, or there is none: so it adds to what is stored without a gap. Without a
     * floor it is the first one, which was sent alone. */
    bool adds = !has_floor || (has_before && fabric_place_compare(&before, &floor) == 0);
    if (!adds) {
        place.file = floor.file;
        place.number = floor.number;
    }
    *ret_place = place;
    return 0;
}

int fabric_last(struct fabric *fabric, const char *recording, enum fabric_part part,
                struct fabric_place *ret_place, struct problem *problem)
{
    char subject[2 * FABRIC_SUBJECT_SIZE];
    natsMsg *message = NULL;

    snprintf(subject, sizeof(subject), "$JS.API.DIRECT.GET.%s.dpm.%s.%s.packets.%s.%s",
             fabric->streams[STREAM_PACKETS], fabric->session, fabric->machine, recording,
             part_name(part));
    natsStatus status =
        nats_library_request(&message, fabric->connection, subject, "", LAST_TIMEOUT);
    if (status == NATS_NO_RESPONDERS)
        return problem_set(problem, -ENOTCONN,
                           "%s: the server does not have the stream %s (yet): the controller "
                           "creates it",
                           fabric->where, fabric->streams[STREAM_PACKETS]);
    if (status != NATS_OK)
        return problem_set(problem, fabric_errno(status),
                           "%s: the server does not say which packets it has: %s", fabric->where,
                           natsStatus_GetText(status));
    int error = fabric_status_of(message) == 404 ? -ENOENT : read_last(message, ret_place);
    natsMsg_Destroy(message);
    if (error == -ENOENT)
        return problem_set(problem, error, "%s: nothing is stored of %s yet", fabric->where,
                           recording);
    return error == 0 ? 0
                      : problem_set(problem, error,
                                    "%s: %s.%s: the last packet that the server "
                                    "has is not one of dpm's",
                                    fabric->where, recording, part_name(part));
}

/* ---- publishing ---- */

int fabric_publisher_new(struct fabric *fabric, const char *recording, unsigned window,
                         struct fabric_publisher **ret_publisher, struct problem *problem)
{
    struct outbox *outbox = NULL;

    if (fabric->machine[0] == '\0' || !fabric_name_valid(recording) || window > 65536)
        return problem_set(problem, -EINVAL, "%s: not a name of a recording", recording);
    struct fabric_publisher *publisher = calloc(1, sizeof(*publisher));
    if (publisher == NULL || outbox_new(fabric, fabric->streams[STREAM_PACKETS],
                                        window == 0 ? WINDOW : window, true, &outbox) != 0) {
        free(publisher);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    publisher->fabric = fabric;
    publisher->outbox = outbox;
    snprintf(publisher->recording, sizeof(publisher->recording), "%s", recording);
    *ret_publisher = publisher;
    return 0;
}

void fabric_publisher_free(struct fabric_publisher *publisher)
{
    if (publisher == NULL)
        return;
    outbox_free(publisher->outbox);
    free(publisher);
}

void fabric_publisher_resume(struct fabric_publisher *publisher, enum fabric_part part,
                             const struct fabric_place *place)
{
    publisher->last[part] = *place;
    publisher->has_last[part] = true;
    outbox_set_stored(publisher->outbox, part, place);
}

/* NULL if it is of another trace than `of`. */
static const struct fabric_place *same_trace(const struct fabric_place *place,
                                             const struct fabric_place *of)
{
    bool same = place != NULL && memcmp(place->uuid, of->uuid, sizeof(of->uuid)) == 0;

    return same ? place : NULL;
}

static natsStatus set_headers(struct fabric_publisher *publisher, natsMsg *message,
                              enum fabric_part part, const struct fabric_place *place,
                              const struct fabric_place *last)
{
    char id[PLACE_ID_SIZE], file[16], after[PLACE_ID_SIZE], stored[PLACE_ID_SIZE];

    place_id_text(place, part, id);
    snprintf(file, sizeof(file), "%u", (unsigned)place->file);
    place_text(last, after);
    place_text(same_trace(outbox_stored(publisher->outbox, part), place), stored);
    natsStatus status = natsMsgHeader_Set(message, HEADER_ID, id);
    if (status == NATS_OK)
        status = natsMsgHeader_Set(message, HEADER_FILE, file);
    if (status == NATS_OK)
        status = natsMsgHeader_Set(message, HEADER_AFTER, after);
    return status != NATS_OK ? status : natsMsgHeader_Set(message, HEADER_STORED, stored);
}

int fabric_publish(struct fabric_publisher *publisher, enum fabric_part part,
                   const struct fabric_place *place, const void *bytes, size_t size)
{
    struct fabric *fabric = publisher->fabric;
    const struct fabric_place *last =
        publisher->has_last[part] ? same_trace(&publisher->last[part], place) : NULL;
    char subject[FABRIC_SUBJECT_SIZE];

    if (size == 0 || size > FABRIC_PACKET_MOST)
        return -EMSGSIZE;
    if (last != NULL && fabric_place_compare(last, place) >= 0)
        return -EINVAL;
    fabric_pump(fabric);
    if (last == NULL && !outbox_begin_lane(publisher->outbox, part))
        return -EAGAIN;
    if (!outbox_has_space(publisher->outbox)) {
        struct fabric_publisher_state state;
        outbox_look(publisher->outbox, &state);
        return state.full ? -ENOSPC : -EAGAIN;
    }
    snprintf(subject, sizeof(subject), "dpm.%s.%s.packets.%s.%s", fabric->session, fabric->machine,
             publisher->recording, part_name(part));
    natsMsg *message = outbox_message(publisher->outbox, subject, bytes, size);
    if (message == NULL || set_headers(publisher, message, part, place, last) != NATS_OK) {
        natsMsg_Destroy(message);
        return -ENOMEM;
    }
    publisher->last[part] = *place;
    publisher->has_last[part] = true;
    outbox_push(publisher->outbox, message, part, place);
    return 0;
}

bool fabric_acknowledged(const struct fabric_publisher *publisher, enum fabric_part part,
                         struct fabric_place *ret_place)
{
    const struct fabric_place *stored = outbox_stored(publisher->outbox, part);

    if (stored != NULL)
        *ret_place = *stored;
    return stored != NULL;
}

void fabric_publisher_look(const struct fabric_publisher *publisher,
                           struct fabric_publisher_state *ret_state)
{
    outbox_look(publisher->outbox, ret_state);
}
