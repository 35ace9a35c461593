/* SPDX-License-Identifier: MIT */
/*
 * graph_turns.c: which SENDs wait at once for their answer: synchronous communication (thesis, 5.2.3), for each process
 * and for each address of a serving end. A server has its own address there, its clients have that of the server.
 *
 *      stream   SEND .... RECEIVECALL .... RECEIVE   a turn; synchronous, if it uses next to no CPU time
 *                 | its path                 ^       in between, and what is received was sent since
 *                 |                          |
 *                 v                          '--- SEND of another stream
 *               end_place --> row of (process, address)
 *
 * A message that had arrived or was in flight before the SEND is no answer: a stream that takes the next request from
 * its queue does not wait for an answer to what it has just sent. So the order in which streams got a processor has no
 * effect.
 */
#include "analysis/parallelism/graph_private.h"

#include <errno.h>
#include <string.h>

#define NEXT_TO_NOTHING 20000 /* ns */
#define NO_ROW          UINT32_MAX

/* Whether this end is the one whose address the other end uses. */
static bool serves(const struct path_record *path)
{
    if (path->role == PATH_ROLE_ACCEPTED || path->role == PATH_ROLE_CONNECTED)
        return path->role == PATH_ROLE_ACCEPTED;
    if (kind_is_internet(path->kind)) /* the other end's port was chosen by the kernel */
        return path->local_port < path->remote_port;
    return path->name_end == PATH_NAME_LOCAL;
}

static uint64_t row_key(const struct path_record *path, uint32_t process)
{
    bool here = serves(path);
    struct {
        uint64_t end;
        uint32_t process;
        uint16_t kind;
        uint16_t port;
        uint8_t address[16];
    } key = {.process = process, .kind = path->kind};

    if (kind_is_internet(path->kind)) {
        key.port = here ? path->local_port : path->remote_port;
        memcpy(key.address, here ? path->local : path->remote, sizeof(key.address));
    } else if (kind_is_pipe(path->kind)) {
        key.end = path->inode;
    } else if (path->name[0] != '\0') {
        key.end = hash_bytes(0, path->name, strnlen(path->name, sizeof(path->name)));
    } else {
        key.end = here ? path->cookie : path->peer;
    }
    return hash_bytes(0, &key, sizeof(key));
}

/* Index of the row for what this process sends by such paths; NO_ROW: there are too many rows; or -ENOMEM. */
static int64_t find_row(struct graph *graph, const struct path_record *path, uint32_t process)
{
    struct parallelism *result = graph->result;
    uint64_t key = row_key(path, process);
    uint32_t found = lookup_find(&graph->turn_rows, key);

    if (found != LOOKUP_NONE)
        return found;
    if (result->path_count == PARALLELISM_PATHS_MOST)
        return NO_ROW;
    if (array_reserve(&result->paths, &graph->turn_room, result->path_count + 1,
                      sizeof(*result->paths)) < 0 ||
        lookup_set(&graph->turn_rows, key, (uint32_t)result->path_count) < 0)
        return -ENOMEM;
    struct parallelism_path *row = &result->paths[result->path_count];
    *row = (struct parallelism_path){.process = process, .kind = path->kind};
    if (serves(path))
        endpoint_local(path, row->address);
    else
        endpoint_remote(path, row->address);
    return (int64_t)result->path_count++;
}

/* The row for the path of a SEND. Cached by the path's index in the history. */
static int64_t row_of(struct graph *graph, const struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    const struct record *record = (const struct record *)event->event.header;
    uint32_t number = record->message.path, place = event->end_place;
    struct turn_place *at;

    if (place == 0)
        return NO_ROW;
    if (place > graph->turn_place_room &&
        array_reserve(&graph->turn_places, &graph->turn_place_room, place,
                      sizeof(*graph->turn_places)) < 0)
        return -ENOMEM;
    at = &graph->turn_places[place - 1];
    if (at->path == number && at->origin == event->event.origin &&
        at->process == arrival->stream->process)
        return at->row;
    const struct path_record *path =
        identities_path(history_identities(graph->history), event->event.origin, number);
    int64_t row = path == NULL ? NO_ROW : find_row(graph, path, arrival->stream->process);
    if (row >= 0)
        *at = (struct turn_place){event->event.origin, number, arrival->stream->process,
                                  (uint32_t)row};
    return row;
}

static int begin_turn(struct graph *graph, const struct arrival *arrival)
{
    struct graph_stream *stream = arrival->stream;
    int64_t row = graph->again ? NO_ROW : row_of(graph, arrival);

    if (row < 0)
        return (int)row;
    stream->sent_turn = stream->proc_time - stream->sent;
    stream->sent = stream->proc_time;
    stream->sent_when = arrival->event->when;
    stream->has_sent = true;
    stream->waited = false;
    stream->sent_row = (uint32_t)row;
    return 0;
}

/* Whether the message of an edge was sent after the stream's SEND, as far as clocks show. */
static bool was_sent_since(const struct graph *graph, const struct arrival *arrival,
                           const struct history_edge *edge)
{
    uint32_t own = arrival->event->event.origin;
    uint64_t error;
    int64_t offset;

    if (!history_clock_between(graph->history, edge->origin, edge->time, own, &offset, &error))
        return true;
    return (int64_t)(edge->time + (uint64_t)offset + error - arrival->stream->sent_when) >= 0;
}

/* Whether it is an answer. If the time of sending is not known, it is one if the stream waited for it. */
static bool is_answer(const struct graph *graph, const struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    bool known = false;

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        if (edge->id != EVENT_SEND && edge->id != EVENT_SENDCALL)
            continue;
        if (was_sent_since(graph, arrival, edge))
            return true;
        known = true;
    }
    return !known && arrival->stream->waited;
}

static void add_turn(struct turns *turns, bool synchronous)
{
    turns->count++;
    turns->synchronous += synchronous;
}

static void end_turn(struct graph *graph, const struct arrival *arrival)
{
    struct parallelism *result = graph->result;
    struct graph_stream *stream = arrival->stream;
    uint64_t used = stream->waited ? stream->used : stream->proc_time - stream->sent;
    bool at_once = used < NEXT_TO_NOTHING || used * 20 < stream->sent_turn;
    bool synchronous = at_once && is_answer(graph, arrival);

    stream->has_sent = false;
    add_turn(&result->processes[stream->process].turns, synchronous);
    add_turn(stream->sent_row == NO_ROW ? &result->other_turns
                                        : &result->paths[stream->sent_row].turns,
             synchronous);
}

int graph_note_turn(struct graph *graph, const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    struct graph_stream *stream = arrival->stream;

    switch (record->header.id) {
    case EVENT_SEND:
        return stream->has_sent && !stream->waited ? 0 : begin_turn(graph, arrival);
    case EVENT_RECEIVECALL:
        if (stream->has_sent && !stream->waited) {
            stream->waited = true;
            stream->used = stream->proc_time - stream->sent;
        }
        return 0;
    case EVENT_RECEIVE:
        if (record->header.flags & RECORD_END_OF_FILE)
            stream->has_sent = false; /* there will be no answer */
        else if (stream->has_sent)
            end_turn(graph, arrival);
        return 0;
    default:
        return 0;
    }
}
