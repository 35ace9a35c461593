/* SPDX-License-Identifier: MIT */
/*
 * compare_edges.c: do the edges of `dpm dump --json --matched` lead to the true senders?
 *
 *      log of tid 72:   RECEIVE [71:80:20,73:0:10]       bytes 80 to 99 of what 71 has sent, and
 *                          |                             the first 10 of 73's
 *                          |   places of the SENDs of 71 and 73, by their logs
 *                          v
 *      wanted:          20 bytes of SEND a, 10 of SEND b
 *      edges:           exact, 20 bytes of SEND a; ordered, at most 10 of SEND b or of SEND c
 *
 * - An exact edge is never wrong: it leads to a SEND whose bytes were received here, and has exactly that number of
 *   bytes. (If the log does not know which bytes of a sender they were, the edge has no more than the sender can have
 *   sent.)
 * - On a path whose order is certain (compare_turns.c) every edge is exact.
 * - Every wanted SEND is among the edges, with at least the wanted number of bytes.
 * - An edge leads to an earlier record of the path's other end, and no wanted SEND is later than the RECEIVE. (On a
 *   pipe that several streams use at once it may be later; these cases are counted.)
 * - If the ptrace meter cannot know the sender of a datagram, it says so.
 * - The bytes of exact edges and the unmatched bytes add up to those of the RECEIVE; the ordered edges have enough
 *   bytes. Only bytes that were sent before metering began are unmatched.
 */
#include "compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- positions of SENDs in what their stream has sent ---- */

/* One socket or pipe that a stream sends through. */
struct outlet {
    enum object object;
    uint64_t inode;
    bool messages;
    uint64_t sent;
};

struct outlets {
    struct outlet *list;
    size_t count;
    size_t capacity;
};

static struct outlet *find_outlet(struct outlets *outlets, enum object object, uint64_t inode)
{
    for (size_t i = outlets->count; i > 0; i--)
        if (outlets->list[i - 1].object == object && outlets->list[i - 1].inode == inode)
            return &outlets->list[i - 1];
    return NULL;
}

static bool keeps_messages(const struct dump *dump, enum object object, uint64_t inode)
{
    for (size_t i = 0; i < dump->path_count; i++)
        if (dump->paths[i].object == object && dump->paths[i].inode == inode)
            return dump->paths[i].counts_messages;
    return false;
}

static void place_send(struct outlets *outlets, const struct dump *dump, struct operation *send)
{
    struct outlet *outlet = find_outlet(outlets, send->object, send->inode);

    if (outlet == NULL) {
        reserve(&outlets->list, &outlets->capacity, outlets->count + 1, sizeof(*outlets->list));
        outlet = &outlets->list[outlets->count++];
        outlet->object = send->object;
        outlet->inode = send->inode;
        outlet->messages = keeps_messages(dump, send->object, send->inode);
        outlet->sent = 0;
    }
    send->place = outlet->sent;
    outlet->sent += send->bytes;
    if (outlet->messages) /* messages begin at multiples of 8 */
        outlet->sent = (outlet->sent + 7) / 8 * 8;
}

void places_find(struct side *log, const struct dump *dump)
{
    struct outlets outlets = {0};

    for (size_t i = 0; i < log->count; i++) {
        struct stream *stream = &log->streams[i];
        outlets.count = 0;
        for (size_t k = 0; k < stream->count; k++)
            if (stream->operations[k].kind == OPERATION_SEND)
                place_send(&outlets, dump, &stream->operations[k]);
    }
    free(outlets.list);
}

/* ---- an index of the sent bytes ---- */

/* A SEND of the dump that is in the log; sorted by sender, socket or pipe, and position. */
struct sent {
    uint32_t tid;
    size_t stream;
    size_t operation;
    const struct operation *send;
};

struct index {
    struct sent *list;
    size_t count;
    size_t capacity;
};

static int order_sent(const void *left, const void *right)
{
    const struct sent *a = left;
    const struct sent *b = right;

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->send->object != b->send->object)
        return a->send->object < b->send->object ? -1 : 1;
    if (a->send->inode != b->send->inode)
        return a->send->inode < b->send->inode ? -1 : 1;
    if (a->send->place != b->send->place)
        return a->send->place < b->send->place ? -1 : 1;
    return a->operation < b->operation ? -1 : a->operation > b->operation;
}

static struct index index_new(const struct dump *dump)
{
    struct index index = {0};

    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *stream = &dump->side.streams[i];
        for (size_t k = 0; k < stream->count; k++) {
            const struct operation *send = &stream->operations[k];
            if (send->kind != OPERATION_SEND || send->logged == NULL || send->bytes == 0)
                continue;
            reserve(&index.list, &index.capacity, index.count + 1, sizeof(*index.list));
            index.list[index.count++] = (struct sent){stream->tid, i, k, send};
        }
    }
    if (index.count > 0)
        qsort(index.list, index.count, sizeof(*index.list), order_sent);
    return index;
}

static bool same_outlet(const struct sent *a, const struct sent *b)
{
    return a->stream == b->stream && a->send->object == b->send->object &&
           a->send->inode == b->send->inode;
}

/* The first SEND after `key` in the order of the index. */
static size_t find_behind(const struct index *index, const struct sent *key)
{
    size_t low = 0;
    size_t high = index->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order_sent(&index->list[middle], key) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- one RECEIVE ---- */

/* A SEND whose bytes were received here, and how many of them the edges explain. */
struct wanted {
    size_t stream;
    size_t operation;
    uint64_t bytes;   /* from the log */
    uint64_t exact;   /* of exact edges */
    uint64_t ordered; /* at most, of the others */
};

/* Bytes of a sender without a known position in the log. */
struct unplaced {
    uint32_t writer; /* 0: any sender */
    uint64_t bytes;
    uint64_t exact; /* of exact edges, beyond the wanted bytes */
};

struct check {
    const struct dump *dump;
    struct findings *findings;
    const struct index *index;
    const size_t *stream_of_number; /* stream number -> stream index */
    const bool *sure;               /* for each path: every edge must be exact */
    struct edge_counts counts;
    /* of the current RECEIVE: */
    const struct stream *stream;
    const struct entry *entry;
    const struct operation *receive;
    struct wanted *wanted;
    size_t wanted_count;
    size_t wanted_capacity;
    struct unplaced *unplaced;
    size_t unplaced_count;
    size_t unplaced_capacity;
    uint64_t excused;
};

static bool can_come_from(const struct check *check, const struct operation *send)
{
    return path_is_other_end(&check->dump->paths[send->path],
                             &check->dump->paths[check->receive->path]);
}

static bool has_edge_to(const struct check *check, const struct sent *sent);

/* The SEND that sent the byte at this position; if several are possible, one with an edge. *ret_next is the position
 * of the next known one after it, or UINT64_MAX. */
static const struct sent *find_sent(const struct check *check, uint32_t writer, uint64_t place,
                                    uint64_t *ret_next)
{
    const struct index *index = check->index;
    struct operation least = {0};
    struct sent key = {.tid = writer, .send = &least};
    const struct sent *found = NULL;
    size_t at = find_behind(index, &key);

    *ret_next = UINT64_MAX;
    while (at < index->count && index->list[at].tid == writer) {
        const struct sent *first = &index->list[at];
        struct operation last = {
            .object = first->send->object, .inode = first->send->inode, .place = place};
        key = (struct sent){writer, first->stream, SIZE_MAX, &last};
        size_t behind = find_behind(index, &key);
        const struct sent *sent = behind > at ? &index->list[behind - 1] : NULL;
        if (sent != NULL && place - sent->send->place < sent->send->bytes &&
            can_come_from(check, sent->send) && (found == NULL || has_edge_to(check, sent)))
            found = sent;
        if (behind < index->count && same_outlet(&index->list[behind], first) &&
            index->list[behind].send->place < *ret_next)
            *ret_next = index->list[behind].send->place;
        last.place = UINT64_MAX;
        at = find_behind(index, &key);
    }
    return found;
}

static const char *label_of(const struct check *check)
{
    return check->dump->paths[check->receive->path].label;
}

static struct wanted *find_wanted(struct check *check, size_t stream, size_t operation)
{
    for (size_t i = 0; i < check->wanted_count; i++)
        if (check->wanted[i].stream == stream && check->wanted[i].operation == operation)
            return &check->wanted[i];
    return NULL;
}

static void want(struct check *check, const struct sent *sent, uint64_t bytes)
{
    struct wanted *wanted = find_wanted(check, sent->stream, sent->operation);

    if (wanted == NULL) {
        reserve(&check->wanted, &check->wanted_capacity, check->wanted_count + 1,
                sizeof(*check->wanted));
        wanted = &check->wanted[check->wanted_count++];
        *wanted = (struct wanted){.stream = sent->stream, .operation = sent->operation};
    }
    wanted->bytes += bytes;
}

static void add_unplaced(struct check *check, uint32_t writer, uint64_t bytes)
{
    for (size_t i = 0; i < check->unplaced_count; i++)
        if (check->unplaced[i].writer == writer) {
            check->unplaced[i].bytes += bytes;
            return;
        }
    reserve(&check->unplaced, &check->unplaced_capacity, check->unplaced_count + 1,
            sizeof(*check->unplaced));
    check->unplaced[check->unplaced_count++] = (struct unplaced){.writer = writer, .bytes = bytes};
}

/* Whether several streams write to the pipe, or read it. If their calls overlap, the meter does not know exactly which
 * bytes a call wrote and when they became visible. */
static bool is_shared_pipe(const struct check *check, const struct operation *send)
{
    const struct path *from = &check->dump->paths[send->path];
    const struct path *to = &check->dump->paths[check->receive->path];

    return from->object != OBJECT_SOCKET &&
           (!ranges_have_one_stream(&from->ranges[DIRECTION_OUT]) ||
            !ranges_have_one_stream(&to->ranges[DIRECTION_IN]));
}

/* Also for several senders, which compare_order.c leaves out. Calls that were in progress when metering began have
 * no known start. */
static void check_time(struct check *check, const struct operation *send)
{
    uint64_t time = check->entry->time - check->entry->span;

    if (send->time <= time + check->dump->order_tolerance || check->dump->acquired)
        return;
    if (is_shared_pipe(check, send)) {
        check->counts.early++;
        if (send->time - time > check->counts.earliest)
            check->counts.earliest = send->time - time;
        return;
    }
    differ(check->findings,
           "%s: %s: the RECEIVE in line %" PRIu64 " is %" PRIu64
           " ns earlier than a SEND whose bytes it has, in line %" PRIu64,
           label_of(check), check->stream->label, check->entry->line, send->time - time,
           send->line);
}

/* The ptrace meter cannot know the sender of a datagram if the receiver did not ask for it, or if a datagram was
 * lost. */
static bool may_be_anonymous(const struct check *check)
{
    const struct path *path = &check->dump->paths[check->receive->path];

    return check->dump->traced &&
           (path->has_identities || (strcmp(path->kind, "unix-datagram") == 0 &&
                                     (path->peer == 0 || check->entry->doubtful)));
}

/* Adds the bytes of one part of the log's line to the wanted ones. */
static void want_part(struct check *check, const struct part *part, uint64_t from, uint64_t bytes)
{
    uint64_t place = part->place + from;
    uint64_t end = place + bytes;

    if (!part->placed) {
        add_unplaced(check, part->writer, bytes);
        return;
    }
    while (place < end) {
        uint64_t next;
        const struct sent *sent = find_sent(check, part->writer, place, &next);
        uint64_t until = sent != NULL ? sent->send->place + sent->send->bytes : next;
        if (until > end)
            until = end;
        if (sent != NULL) {
            want(check, sent, until - place);
            check_time(check, sent->send);
        } else if (check->dump->acquired) {
            check->excused += until - place;
        } else {
            differ(check->findings,
                   "%s: %s: line %" PRIu64 ": the RECEIVE has bytes %" PRIu64 " to %" PRIu64
                   " of tid %" PRIu32 ", whose SEND is not in the dump",
                   label_of(check), check->stream->label, check->entry->line, place, until - 1,
                   part->writer);
            check->excused += until - place;
        }
        place = until;
    }
}

#define WORD_SIZE 8 /* truth_pattern.c */

/* If other readers took bytes after this part, the log may be wrong about the part's last word. Returns how many of the
 * bytes [from, from + bytes) come before that word. */
static uint64_t bytes_before_jump(const struct part *part, uint64_t from, uint64_t bytes)
{
    uint64_t sure = part->bytes > WORD_SIZE ? part->bytes - WORD_SIZE : 0;

    if (from >= sure)
        return 0;
    return from + bytes < sure ? bytes : sure - from;
}

/* Adds what the log says about this record's bytes, which begin at `done` in its operation. */
static void want_bytes(struct check *check, uint64_t done)
{
    const struct operation *logged = check->receive->logged;
    uint64_t left = check->entry->bytes;

    for (size_t i = 0; i < logged->part_count && left > 0; i++) {
        const struct part *part = &logged->parts[i];
        if (done >= part->bytes) {
            done -= part->bytes;
            continue;
        }
        uint64_t bytes = part->bytes - done < left ? part->bytes - done : left;
        uint64_t sure = logged->jumps ? bytes_before_jump(part, done, bytes) : bytes;
        if (sure > 0)
            want_part(check, part, done, sure);
        if (sure < bytes)
            add_unplaced(check, part->writer, bytes - sure);
        left -= bytes;
        done = 0;
    }
    if (left > 0)
        add_unplaced(check, 0, left);
}

/* ---- edges ---- */

/* The record that an edge leads to, or NULL; *ret_stream is its stream's index. */
static const struct entry *find_record(const struct check *check, const struct edge *edge,
                                       size_t *ret_stream)
{
    const struct dump *dump = check->dump;
    int64_t number = intern_find(&dump->stream_numbers, edge->stream);

    if (number < 0)
        return NULL;
    *ret_stream = check->stream_of_number[number];
    const struct stream *stream = &dump->side.streams[*ret_stream];
    if (stream->entry_count == 0)
        return NULL;
    int64_t first = stream->entries[0].sequence;
    int64_t sequence = first + (int32_t)(edge->sequence - (uint32_t)first);
    size_t low = 0;
    size_t high = stream->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stream->entries[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < stream->entry_count && stream->entries[low].sequence == sequence; low++) {
        const struct entry *entry = &stream->entries[low];
        if (edge->send_call ? entry->send_call
                            : entry->kind == ENTRY_OPERATION && entry->operation == OPERATION_SEND)
            return entry;
    }
    return NULL;
}

/* The SEND of a record; for a SENDCALL, the SEND that ends the call. SIZE_MAX: none. */
static size_t operation_of(const struct stream *stream, const struct entry *entry)
{
    const struct entry *end = stream->entries + stream->entry_count;

    for (const struct entry *next = entry; next < end; next++)
        if (next->kind == ENTRY_OPERATION && next->operation == OPERATION_SEND &&
            next->path == entry->path)
            return next->index;
    return SIZE_MAX;
}

static bool has_edge_to(const struct check *check, const struct sent *sent)
{
    for (size_t i = 0; i < check->entry->edge_count; i++) {
        size_t stream = 0;
        const struct entry *record = find_record(check, &check->entry->edges[i], &stream);
        if (record != NULL && stream == sent->stream &&
            operation_of(&check->dump->side.streams[stream], record) == sent->operation)
            return true;
    }
    return false;
}

/* Prints the error of an edge. */
static void differ_edge(const struct check *check, const struct edge *edge,
                        const struct entry *record, const char *what)
{
    static const char *const names[] = {"exact", "ordered", "inferred"};
    char where[48] = "";

    if (record != NULL)
        snprintf(where, sizeof(where), " (line %" PRIu64 ")", record->line);
    differ(check->findings,
           "%s: %s: line %" PRIu64 ": the %s edge of %" PRIu64 " bytes to number %" PRIu32
           " of stream %" PRIu64 "%s %s",
           label_of(check), check->stream->label, check->entry->line, names[edge->kind],
           edge->bytes, edge->sequence, edge->stream, where, what);
}

/* Takes bytes of an exact edge that were not wanted: the log may not know their position. */
static bool take_unplaced(struct check *check, uint32_t writer, uint64_t bytes)
{
    for (unsigned anybody = 0; anybody < 2; anybody++)
        for (size_t i = 0; i < check->unplaced_count; i++) {
            struct unplaced *unplaced = &check->unplaced[i];
            if (unplaced->writer != (anybody ? 0 : writer))
                continue;
            uint64_t free = unplaced->bytes - unplaced->exact;
            uint64_t taken = bytes < free ? bytes : free;
            unplaced->exact += taken;
            bytes -= taken;
        }
    return bytes == 0;
}

static void check_edge(struct check *check, const struct edge *edge)
{
    size_t stream = 0;
    const struct entry *record = find_record(check, edge, &stream);

    check->counts.edges[edge->kind]++;
    if (record == NULL) {
        differ_edge(check, edge, NULL,
                    edge->send_call ? "leads to no SENDCALL" : "leads to no SEND");
        return;
    }
    if (record->line >= check->entry->line) {
        differ_edge(check, edge, record, "leads to what stands behind it");
        return;
    }
    size_t operation = operation_of(&check->dump->side.streams[stream], record);
    if (operation == SIZE_MAX) {
        differ_edge(check, edge, record, "leads to a SENDCALL that no SEND follows");
        return;
    }
    const struct operation *send = &check->dump->side.streams[stream].operations[operation];
    if (!can_come_from(check, send)) {
        differ_edge(check, edge, record, "leads to another path");
        return;
    }
    struct wanted *wanted = find_wanted(check, stream, operation);
    if (edge->kind != EDGE_EXACT) {
        /* and they are marked as doubtful */
        bool doubted = check->entry->doubtful || record->doubtful;
        if (check->sure[check->receive->path] && !doubted)
            differ_edge(check, edge, record,
                        "must be exact: nobody else can have sent these bytes");
        if (wanted != NULL)
            wanted->ordered += edge->bytes;
        return;
    }
    check->counts.sure += check->sure[check->receive->path];
    /* no logged operation to compare with */
    if (check->receive->logged == NULL || check->receive->partial || send->logged == NULL)
        return;
    uint64_t right = wanted == NULL ? 0 : wanted->bytes - wanted->exact;
    uint64_t taken = edge->bytes < right ? edge->bytes : right;
    if (wanted != NULL)
        wanted->exact += taken;
    if (take_unplaced(check, check->dump->side.streams[stream].tid, edge->bytes - taken))
        return;
    if (wanted == NULL)
        differ_edge(check, edge, record, "is wrong: by the log nothing of that SEND was received");
    else
        differ_edge(check, edge, record, "is wrong: by the log fewer bytes of it were received");
}

/* A call that was in progress when its path was first seen has put bytes there before: their sender is unknown. */
static uint64_t bytes_of_nobody(const struct check *check, const struct operation *send)
{
    const struct path *path = &check->dump->paths[send->path];
    bool began_before =
        path->older && (int32_t)(send->offset - (uint32_t)path->start[DIRECTION_OUT]) < 0;

    return began_before && check->entry->rest == REST_EXTERNAL ? check->entry->rest_bytes : 0;
}

/* Checks that every sender is among the edges. */
static void check_wanted(struct check *check)
{
    bool inferred = check->entry->doubtful || may_be_anonymous(check);

    for (size_t i = 0; i < check->entry->edge_count; i++)
        inferred = inferred || check->entry->edges[i].kind == EDGE_INFERRED;
    for (size_t i = 0; i < check->wanted_count; i++) {
        const struct wanted *wanted = &check->wanted[i];
        const struct stream *sender = &check->dump->side.streams[wanted->stream];
        const struct operation *send = &sender->operations[wanted->operation];
        if (wanted->exact + wanted->ordered + bytes_of_nobody(check, send) >= wanted->bytes ||
            inferred || send->partial)
            continue;
        differ(check->findings,
               "%s: %s: line %" PRIu64 ": %" PRIu64 " bytes of the SEND in line %" PRIu64
               " of %s were received, but edges have %" PRIu64 " exactly, and at most %" PRIu64
               " otherwise",
               label_of(check), check->stream->label, check->entry->line, wanted->bytes, send->line,
               sender->label, wanted->exact, wanted->ordered);
    }
}

/* Checks that the edges together have as many bytes as were received. */
static void check_sum(struct check *check)
{
    const struct entry *entry = check->entry;
    uint64_t exact = entry->rest_bytes;
    uint64_t others = 0;

    for (size_t i = 0; i < entry->edge_count; i++)
        *(entry->edges[i].kind == EDGE_EXACT ? &exact : &others) += entry->edges[i].bytes;
    if ((exact > entry->bytes || exact + others < entry->bytes) && !may_be_anonymous(check))
        differ(check->findings,
               "%s: %s: line %" PRIu64 ": a RECEIVE of %" PRIu64
               " bytes whose edges and rest are %s %" PRIu64,
               label_of(check), check->stream->label, entry->line, entry->bytes,
               exact > entry->bytes ? "exactly" : "at most",
               exact > entry->bytes ? exact : exact + others);
    if (entry->rest_bytes > 0 && !check->dump->acquired && !may_be_anonymous(check))
        differ(check->findings,
               "%s: %s: line %" PRIu64 ": %" PRIu64 " bytes of a RECEIVE have no edge",
               label_of(check), check->stream->label, entry->line, entry->rest_bytes);
}

static void check_receive(struct check *check, uint64_t done)
{
    const struct entry *entry = check->entry;

    check->wanted_count = 0;
    check->unplaced_count = 0;
    check->excused = 0;
    if (check->receive->logged != NULL && !check->receive->partial && entry->bytes > 0 &&
        !may_be_anonymous(check))
        want_bytes(check, done);
    for (size_t i = 0; i < entry->edge_count; i++)
        check_edge(check, &entry->edges[i]);
    check_wanted(check);
    check_sum(check);
    check->counts.receives++;
    check->counts.rest_bytes[entry->rest] += entry->rest_bytes;
    check->counts.excused_bytes += check->excused;
}

static void check_stream(struct check *check, const struct stream *stream)
{
    size_t index = SIZE_MAX;
    uint64_t done = 0; /* bytes of the operation's earlier records */

    check->stream = stream;
    for (size_t i = 0; i < stream->entry_count; i++) {
        const struct entry *entry = &stream->entries[i];
        if (entry->kind != ENTRY_OPERATION || entry->operation != OPERATION_RECEIVE)
            continue;
        done = entry->index == index ? done : 0;
        index = entry->index;
        check->entry = entry;
        check->receive = &stream->operations[index];
        check_receive(check, done);
        done += entry->bytes;
    }
}

/* Maps stream numbers to indexes: streams were numbered in the order of appearance, and then sorted. */
static size_t *streams_by_number(const struct dump *dump)
{
    size_t *streams = NULL;
    size_t capacity = 0;

    reserve(&streams, &capacity, dump->side.count + 1, sizeof(*streams));
    for (size_t i = 0; i < dump->side.count; i++) {
        int64_t number = intern_find(&dump->stream_numbers, dump->side.streams[i].number);
        if (number >= 0)
            streams[number] = i;
    }
    return streams;
}

struct edge_counts edges_check(struct dump *dump, struct findings *findings)
{
    struct index index = index_new(dump);
    size_t *streams = streams_by_number(dump);
    bool *sure = turns_find(dump);
    struct check check = {.dump = dump,
                          .findings = findings,
                          .index = &index,
                          .stream_of_number = streams,
                          .sure = sure};

    for (size_t i = 0; i < dump->side.count; i++)
        check_stream(&check, &dump->side.streams[i]);
    free(index.list);
    free(streams);
    free(sure);
    free(check.wanted);
    free(check.unplaced);
    return check.counts;
}
