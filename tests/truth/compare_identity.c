/* SPDX-License-Identifier: MIT */
/*
 * compare_identity.c: does every UDP datagram have the same number at its sender and its receiver?
 *
 *      log of tid 71:   SEND (its bytes 80 to 99)     log of tid 72:   RECEIVE [71:80:20]
 *                         |                                               |
 *      path A > B:      SEND, offset 5   ------ must be equal ------    RECEIVE, offset 5, B > A
 *
 * Datagrams of less than 8 bytes do not identify themselves: for these, the other end's path must have some SEND with
 * that offset. If the recording began in the middle of the traffic, the first received datagrams were sent before it:
 * their numbers are less than those of all SENDs.
 */
#include "compare.h"

#include <inttypes.h>
#include <string.h>

static bool is_other_end(const struct dump *dump, const struct operation *send,
                         const struct operation *receive)
{
    const struct path *from = &dump->paths[send->path];
    const struct path *to = &dump->paths[receive->path];

    return from->has_identities && strcmp(from->end, to->other_end) == 0 &&
           strcmp(from->other_end, to->end) == 0;
}

static bool is_its_send(const struct operation *send, const struct operation *receive)
{
    if (receive->writer == 0)
        return send->offset == receive->offset;
    return send->logged != NULL && send->place == receive->place &&
           (send->bytes >= receive->bytes && send->bytes != 0);
}

static const struct operation *find_send(const struct dump *dump, const struct operation *receive)
{
    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *stream = &dump->side.streams[i];
        if (receive->writer != 0 && stream->tid != receive->writer)
            continue;
        for (size_t k = 0; k < stream->count; k++) {
            const struct operation *send = &stream->operations[k];
            if (send->kind == OPERATION_SEND && is_other_end(dump, send, receive) &&
                is_its_send(send, receive))
                return send;
        }
    }
    return NULL;
}

/* Whether the datagram was in flight when the recording began. */
static bool is_older_than_all(const struct dump *dump, const struct operation *receive)
{
    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *stream = &dump->side.streams[i];
        for (size_t k = 0; k < stream->count; k++) {
            const struct operation *send = &stream->operations[k];
            if (send->kind == OPERATION_SEND && is_other_end(dump, send, receive) &&
                (int32_t)(receive->offset - send->offset) >= 0)
                return false;
        }
    }
    return true;
}

static void check_receive(const struct dump *dump, const struct stream *stream,
                          const struct operation *receive, struct findings *findings)
{
    const struct operation *send = find_send(dump, receive);

    if (send == NULL && dump->acquired && is_older_than_all(dump, receive))
        return;
    if (send == NULL)
        differ(findings,
               "%s: line %" PRIu64 ": a RECEIVE with offset %" PRIu32
               " whose SEND is not on the other end's path",
               stream->label, receive->line, receive->offset);
    else if (send->offset != receive->offset)
        differ(findings,
               "%s: line %" PRIu64 ": a RECEIVE with offset %" PRIu32
               ", but its SEND in line %" PRIu64 " has %" PRIu32,
               stream->label, receive->line, receive->offset, send->line, send->offset);
    else if (send->time > receive->time + dump->order_tolerance)
        differ(findings,
               "%s: the RECEIVE in line %" PRIu64 " is %" PRIu64
               " ns earlier than its SEND in line %" PRIu64,
               stream->label, receive->line, send->time - receive->time, send->line);
}

uint64_t identity_check(struct dump *dump, struct findings *findings)
{
    uint64_t checked = 0;

    if (dump->traced) /* the ptrace meter does not see packets; its edges are marked inferred */
        return 0;
    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *stream = &dump->side.streams[i];
        for (size_t k = 0; k < stream->count; k++) {
            const struct operation *receive = &stream->operations[k];
            if (receive->kind != OPERATION_RECEIVE || receive->logged == NULL ||
                receive->end_of_file || !dump->paths[receive->path].has_identities)
                continue;
            check_receive(dump, stream, receive, findings);
            checked++;
        }
    }
    return checked;
}
