/* SPDX-License-Identifier: MIT */
/*
 * compare_turns.c: finds the paths on which the source of every received byte is certain, so that every edge must be
 * exact:
 *
 *      stream 3   -o========o SEND ------------o===o SEND ---    a call began behind the one before it:
 *      stream 8   ------------o======o SEND -----------------    they take turns, the edges are exact
 *
 *      stream 3   -o================o SEND ------------------
 *      stream 8   ------------o======o SEND -----------------    they may overlap, nothing is demanded
 *
 * - TCP, whose bytes are numbered, and UDP, whose datagrams are;
 * - all others if the senders take turns and the receivers take turns. A single stream always does.
 *
 * Left out are pipes with packets (the unread rest of a packet is discarded unseen) and pipes older than metering.
 *
 * The ptrace meter counts the bytes of TCP like those of other paths. It is never certain about UDP, nor about a FIFO,
 * which any process may open.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

/* A call. Its bounds are at most the end of its stream's previous call and its own end. */
struct use {
    size_t stream;
    uint64_t begin; /* ns */
    uint64_t end;
};

struct uses {
    struct use *list;
    size_t count;
    size_t capacity;
};

/* The calls on one path. */
struct path_uses {
    struct uses direction[DIRECTION_COUNT];
    bool packets;
};

static void add_use(struct uses *uses, struct use use)
{
    reserve(&uses->list, &uses->capacity, uses->count + 1, sizeof(*uses->list));
    uses->list[uses->count++] = use;
}

/* Excludes records that a stream makes in the middle of a call. */
static bool ends_call(const struct entry *entry)
{
    return entry->kind == ENTRY_OPERATION && entry->operation != OPERATION_STOPPROCESS &&
           entry->operation != OPERATION_STARTPROCESS;
}

static void collect(const struct dump *dump, struct path_uses *paths)
{
    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *stream = &dump->side.streams[i];
        uint64_t before = 0;
        for (size_t k = 0; k < stream->entry_count; k++) {
            const struct entry *entry = &stream->entries[k];
            if (entry->kind == ENTRY_OPERATION && entry->operation <= OPERATION_RECEIVE) {
                bool sends = entry->operation == OPERATION_SEND;
                add_use(&paths[entry->path].direction[sends ? DIRECTION_OUT : DIRECTION_IN],
                        (struct use){i, before, entry->time});
                paths[entry->path].packets |= stream->operations[entry->index].packet;
            }
            if (ends_call(entry))
                before = entry->time;
        }
    }
}

static int order_uses(const void *left, const void *right)
{
    const struct use *a = left;
    const struct use *b = right;

    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Calls of one stream never overlap. */
static bool take_turns(struct uses *uses)
{
    if (uses->count > 0)
        qsort(uses->list, uses->count, sizeof(*uses->list), order_uses);
    for (size_t i = 1; i < uses->count; i++)
        if (uses->list[i].stream != uses->list[i - 1].stream &&
            uses->list[i].begin <= uses->list[i - 1].end)
            return false;
    return true;
}

static bool is_sure(const struct dump *dump, struct path_uses *paths, size_t path)
{
    const struct path *to = &dump->paths[path];
    struct uses sends = {0};

    if (to->has_identities || (strcmp(to->kind, "tcp") == 0 && !dump->traced))
        return !dump->traced;
    if ((to->object != OBJECT_SOCKET || dump->traced) && (to->older || paths[path].packets))
        return false;
    for (size_t i = 0; i < dump->path_count; i++) {
        const struct uses *from = &paths[i].direction[DIRECTION_OUT];
        if (from->count > 0 && path_is_other_end(&dump->paths[i], to))
            for (size_t k = 0; k < from->count; k++)
                add_use(&sends, from->list[k]);
    }
    bool sure = take_turns(&sends) && take_turns(&paths[path].direction[DIRECTION_IN]);
    free(sends.list);
    return sure;
}

bool *turns_find(const struct dump *dump)
{
    struct path_uses *paths = NULL;
    bool *sure = NULL;
    size_t capacity = 0;
    size_t sure_capacity = 0;

    reserve(&paths, &capacity, dump->path_count + 1, sizeof(*paths));
    reserve(&sure, &sure_capacity, dump->path_count + 1, sizeof(*sure));
    collect(dump, paths);
    for (size_t i = 0; i < dump->path_count; i++)
        if (paths[i].direction[DIRECTION_IN].count > 0)
            sure[i] = is_sure(dump, paths, i);
    for (size_t i = 0; i < dump->path_count; i++) {
        free(paths[i].direction[DIRECTION_OUT].list);
        free(paths[i].direction[DIRECTION_IN].list);
    }
    free(paths);
    return sure;
}
