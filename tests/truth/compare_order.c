/* SPDX-License-Identifier: MIT */
/*
 * compare_order.c: checks that no RECEIVE precedes a SEND whose bytes it took.
 *
 *      one end, SEND      |---- a ----|-- b --|------ c ------|     by offset from the start
 *      other end, RECEIVE |-- d --|----- e -----|---- f ----|
 *                         d took bytes of a, e of a, b and c, ...
 *
 * Checked only if one stream sends: with several senders the order of bytes is not always known. Neither is it with
 * several readers of a pipe, whose bytes are counted when calls end. The ptrace meter counts all paths that way.
 */
#include "compare.h"

#include <inttypes.h>
#include <string.h>

static const struct path *find_other_end(const struct dump *dump, const struct path *path)
{
    for (size_t i = 0; i < dump->path_count; i++)
        if (dump->paths[i].known && dump->paths[i].ranges[DIRECTION_IN].count > 0 &&
            strcmp(dump->paths[i].end, path->other_end) == 0)
            return &dump->paths[i];
    return NULL;
}

static int64_t length_of(const struct path *path, const struct range *range)
{
    return path->counts_messages ? 1 : (int64_t)range->bytes;
}

/* Position relative to the path's beginning. */
static int64_t position_of(const struct path *path, enum direction direction,
                           const struct range *range)
{
    return (int64_t)(range->offset - path->start[direction] - (path->older ? BEFORE_START : 0));
}

static uint64_t check_path(const struct path *sender, const struct path *receiver,
                           uint64_t tolerance, struct findings *findings)
{
    const struct ranges *sends = &sender->ranges[DIRECTION_OUT];
    const struct ranges *receives = &receiver->ranges[DIRECTION_IN];
    /* the ends of an older path may begin at different positions */
    int64_t apart = (int32_t)(sender->start[DIRECTION_OUT] - receiver->start[DIRECTION_IN]);
    uint64_t pairs = 0;
    size_t first = 0;

    for (size_t i = 0; i < receives->count; i++) {
        const struct range *receive = &receives->list[i];
        int64_t begin = position_of(receiver, DIRECTION_IN, receive);
        int64_t end = begin + length_of(receiver, receive);
        for (size_t k = first; k < sends->count; k++) {
            const struct range *send = &sends->list[k];
            int64_t sent = position_of(sender, DIRECTION_OUT, send) + apart;
            if (sent >= end)
                break;
            if (sent + length_of(sender, send) <= begin) {
                first = k;
                continue;
            }
            pairs++;
            if (send->time <= receive->time + tolerance || (sender->older && send->operation == 0))
                continue;
            differ(findings,
                   "%s: the RECEIVE in line %" PRIu64 " is %" PRIu64
                   " ns earlier than its SEND in line %" PRIu64,
                   receiver->label, receive->line, send->time - receive->time, send->line);
            return pairs;
        }
    }
    return pairs;
}

uint64_t order_check(struct dump *dump, struct findings *findings)
{
    uint64_t pairs = 0;

    for (size_t i = 0; i < dump->path_count; i++) {
        const struct path *sender = &dump->paths[i];
        const struct path *receiver = sender->known ? find_other_end(dump, sender) : NULL;
        if (receiver != NULL && !sender->has_identities &&
            ranges_have_one_stream(&sender->ranges[DIRECTION_OUT]) &&
            ((sender->object == OBJECT_SOCKET && !dump->traced) ||
             ranges_have_one_stream(&receiver->ranges[DIRECTION_IN])))
            pairs += check_path(sender, receiver, dump->order_tolerance, findings);
    }
    return pairs;
}
