/* SPDX-License-Identifier: MIT */
/*
 * compare_dump.c: reads the output of `dpm dump --json`, one object a line, and turns records into operations.
 *
 *      line --> entry of its stream --(sorted by sequence)--> operation
 *                      |                                        + "continued" pieces
 *                      +--> range of its path's direction
 *
 * It also checks what a dump guarantees: sequence numbers without gaps, except where records were lost; times that
 * never decrease; pieces that continue the preceding call.
 */
#include "compare.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { ROLE_WRITES = 3, ROLE_READS = 4, KIND_PIPE = 8 }; /* record.h */

/* ---- one line ---- */

struct line_context {
    struct dump *dump;
    struct findings *findings;
    struct problem *problem;
    const char *file;
    uint64_t line;
    const json_t *object;
};

static int unreadable(struct line_context *context, const char *what)
{
    return problem_set(context->problem, -EINVAL, "%s:%" PRIu64 ": %s", context->file,
                       context->line, what);
}

static int get_number(struct line_context *context, const char *key, uint64_t *ret_value)
{
    const json_t *value = json_object_get(context->object, key);
    char what[80];

    if (json_is_boolean(value)) {
        *ret_value = json_is_true(value);
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        snprintf(what, sizeof(what), "\"%s\" is not there or not a number", key);
        return unreadable(context, what);
    }
    *ret_value = (uint64_t)json_integer_value(value);
    return 0;
}

/* A field that a dump leaves out if its identity record was lost: then 0. */
static uint64_t get_if_known(const struct line_context *context, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(context->object, key));
}

static const char *get_text(const struct line_context *context, const char *key)
{
    const char *text = json_string_value(json_object_get(context->object, key));

    return text == NULL ? "" : text;
}

static bool has(const struct line_context *context, const char *key)
{
    return json_object_get(context->object, key) != NULL;
}

/* ---- streams and paths ---- */

static struct stream *find_stream(struct dump *dump, uint64_t number)
{
    int64_t index = intern_add(&dump->stream_numbers, number);

    if (index < 0) {
        fprintf(stderr, "truth-compare: no memory\n");
        exit(2);
    }
    if ((size_t)index == dump->side.count) {
        struct stream *stream = side_add(&dump->side);
        stream->start = UINT64_MAX;
        stream->number = number;
    }
    return &dump->side.streams[index];
}

static uint32_t find_path(struct dump *dump, uint64_t number)
{
    int64_t index = intern_add(&dump->path_numbers, number);

    if (index < 0) {
        fprintf(stderr, "truth-compare: no memory\n");
        exit(2);
    }
    if ((size_t)index == dump->path_count) {
        reserve(&dump->paths, &dump->path_capacity, dump->path_count + 1, sizeof(*dump->paths));
        dump->paths[dump->path_count++].number = (uint32_t)number;
    }
    return (uint32_t)index;
}

/* Names the ends. TCP: addresses and starting positions, which agree between the ends. UDP: addresses alone. UNIX,
 * pipes: the cookies of the ends, which are numbered separately. (The positions of the two ends of an older path
 * were read one after the other.) */
static void name_ends(struct line_context *context, struct path *path)
{
    const uint32_t *start = path->start;

    if (path->has_identities) {
        snprintf(path->end, sizeof(path->end), "%s", get_text(context, "local"));
        snprintf(path->other_end, sizeof(path->other_end), "%s", get_text(context, "remote"));
        return;
    }
    if (strcmp(path->kind, "tcp") == 0 && path->older) {
        snprintf(path->end, sizeof(path->end), "%s", get_text(context, "local"));
        snprintf(path->other_end, sizeof(path->other_end), "%s", get_text(context, "remote"));
        return;
    }
    if (strcmp(path->kind, "tcp") == 0) {
        snprintf(path->end, sizeof(path->end), "%s %u %u", get_text(context, "local"),
                 start[DIRECTION_OUT], start[DIRECTION_IN]);
        snprintf(path->other_end, sizeof(path->other_end), "%s %u %u", get_text(context, "remote"),
                 start[DIRECTION_IN], start[DIRECTION_OUT]);
        return;
    }
    snprintf(path->end, sizeof(path->end), "%s %" PRIu64 " of %" PRIu64, path->kind, path->cookie,
             path->peer);
    snprintf(path->other_end, sizeof(path->other_end), "%s %" PRIu64 " of %" PRIu64, path->kind,
             path->peer, path->cookie);
}

/* Sets the properties of a path that follow from its kind. */
static void describe_kind(struct path *path, uint64_t role)
{
    path->object = strcmp(path->kind, "pipe") == 0   ? OBJECT_PIPE
                   : strcmp(path->kind, "fifo") == 0 ? OBJECT_FIFO
                                                     : OBJECT_SOCKET;
    path->counts_messages = path->object == OBJECT_SOCKET && strcmp(path->kind, "tcp") != 0 &&
                            strcmp(path->kind, "unix-stream") != 0;
    path->has_identities = strcmp(path->kind, "udp") == 0;
    path->only = DIRECTION_COUNT;
    if (role == ROLE_WRITES)
        path->only = DIRECTION_OUT;
    else if (role == ROLE_READS)
        path->only = DIRECTION_IN;
}

static int read_path(struct line_context *context)
{
    uint64_t number;
    uint64_t start_out;
    uint64_t start_in;
    uint64_t inode;

    if (get_number(context, "path", &number) < 0 || get_number(context, "inode", &inode) < 0 ||
        get_number(context, "start_out", &start_out) < 0 ||
        get_number(context, "start_in", &start_in) < 0)
        return -EINVAL;
    uint32_t index = find_path(context->dump, number); /* may move the paths */
    struct path *path = &context->dump->paths[index];
    snprintf(path->kind, sizeof(path->kind), "%s", get_text(context, "kind"));
    snprintf(path->label, sizeof(path->label), "path %" PRIu64 " (%s, inode %" PRIu64 ")", number,
             path->kind, inode);
    describe_kind(path, get_if_known(context, "role"));
    if (path->object != OBJECT_SOCKET && path->only == DIRECTION_COUNT)
        differ(context->findings, "line %" PRIu64 ": a pipe that is neither written nor read",
               context->line);
    path->start[DIRECTION_OUT] = (uint32_t)start_out;
    path->start[DIRECTION_IN] = (uint32_t)start_in;
    path->inode = inode;
    path->cookie = get_if_known(context, "cookie");
    path->peer = get_if_known(context, "peer");
    path->older = has(context, "older");
    path->known = true;
    name_ends(context, path);
    return 0;
}

bool path_is_other_end(const struct path *path, const struct path *other)
{
    if (strcmp(path->kind, other->kind) != 0)
        return false;
    if (path->has_identities || strcmp(path->kind, "tcp") == 0)
        return strcmp(path->end, other->other_end) == 0 && strcmp(path->other_end, other->end) == 0;
    return (path->peer == 0 || other->cookie == 0 || path->peer == other->cookie) &&
           (other->peer == 0 || path->cookie == 0 || other->peer == path->cookie);
}

/* Names a stream by its first STREAM record; later ones repeat it after an EXEC. */
static int read_stream(struct line_context *context, struct stream *stream, uint64_t number)
{
    uint64_t tid;
    uint64_t parent;
    char label[128];

    if (stream->label != NULL)
        return 0;
    if (get_number(context, "tid", &tid) < 0 || get_number(context, "parent", &parent) < 0)
        return -EINVAL;
    stream->born = get_if_known(context, "start");
    stream->tid = (uint32_t)tid;
    stream->parent = (uint32_t)parent;
    snprintf(label, sizeof(label), "stream %" PRIu64 " (tid %" PRIu64 ", %s)", number, tid,
             get_text(context, "name"));
    stream->label = text_copy(label);
    return 0;
}

static void name_unknown_stream(struct line_context *context, struct stream *stream,
                                uint64_t number)
{
    char label[64];

    snprintf(label, sizeof(label), "stream %" PRIu64, number);
    stream->label = text_copy(label);
    stream->tid = (uint32_t)get_if_known(context, "tid");
    differ(context->findings, "%s: line %" PRIu64 " comes before its STREAM record", label,
           context->line);
}

/* ---- records of a stream ---- */

static int read_message(struct line_context *context, struct entry *entry)
{
    uint64_t path;
    uint64_t offset;

    if (get_number(context, "path", &path) < 0 || get_number(context, "offset", &offset) < 0 ||
        get_number(context, "bytes", &entry->bytes) < 0)
        return -EINVAL;
    entry->inode = get_if_known(context, "inode");
    if (offset > UINT32_MAX)
        return unreadable(context, "\"offset\" has more than 32 bits");
    entry->path = find_path(context->dump, path);
    entry->offset = (uint32_t)offset;
    entry->span = get_if_known(context, "span_ns");
    entry->continued = json_is_true(json_object_get(context->object, "continued"));
    entry->implied = json_is_true(json_object_get(context->object, "call_implied"));
    entry->doubtful = json_is_true(json_object_get(context->object, "older"));
    return 0;
}

/* Index of a text in the list of names, or the number of names. */
static unsigned find_name(const char *text, const char *const *names, unsigned count)
{
    unsigned i = 0;

    while (i < count && (text == NULL || strcmp(text, names[i]) != 0))
        i++;
    return i;
}

/* Returns 1 if there is an edge, 0 if it is not an edge between messages. */
static int read_edge(struct line_context *context, json_t *object, struct edge *ret_edge)
{
    static const char *const kinds[] = {"exact",      "ordered",     "inferred",
                                        "creation",   "termination", "room",
                                        "connection", "end",         "wakeup"};
    static const char *const events[] = {"SEND", "SENDCALL"};
    const char *kind = NULL;
    const char *event = NULL;
    json_int_t origin = 0;
    json_int_t stream = 0;
    json_int_t sequence = 0;
    json_int_t bytes = 0;

    unsigned is = json_unpack(object, "{s:s}", "kind", &kind) == 0
                      ? find_name(kind, kinds, ARRAY_SIZE(kinds))
                      : ARRAY_SIZE(kinds);
    if (is == ARRAY_SIZE(kinds))
        return unreadable(context, "an edge of no kind");
    if (is >= EDGE_KIND_COUNT)
        return 0;
    if (json_unpack(object, "{s:I,s:I,s:I,s:s,s:I}", "origin", &origin, "stream", &stream,
                    "sequence", &sequence, "event", &event, "bytes", &bytes) != 0)
        return unreadable(context, "an edge that does not say from where it comes");
    if (origin != 0 || stream < 0 || sequence < 0 || sequence > UINT32_MAX || bytes < 0 ||
        find_name(event, events, 2) == 2)
        return unreadable(context, "an edge from what is no SEND or SENDCALL of this dump");
    *ret_edge = (struct edge){(enum edge_kind)is, event[4] != 0, (uint64_t)stream,
                              (uint32_t)sequence, (uint64_t)bytes};
    return 1;
}

static int read_rest(struct line_context *context, struct entry *entry)
{
    static const char *const reasons[] = {"external", "unselected", "unmatched"};
    const json_t *rest = json_object_get(context->object, "rest");
    json_int_t bytes;
    const char *why;

    if (rest == NULL)
        return 0;
    if (json_unpack((json_t *)rest, "{s:I,s:s}", "bytes", &bytes, "why", &why) != 0 || bytes < 0 ||
        find_name(why, reasons, 3) == 3)
        return unreadable(context, "a rest that does not say how many bytes or why");
    entry->rest_bytes = (uint64_t)bytes;
    entry->rest = (enum rest)(REST_EXTERNAL + find_name(why, reasons, 3));
    return 0;
}

static int read_edges(struct line_context *context, struct entry *entry)
{
    const json_t *edges = json_object_get(context->object, "edges");
    size_t capacity = 0;

    if (edges == NULL)
        return read_rest(context, entry);
    context->dump->has_edges = true;
    for (size_t i = 0; i < json_array_size(edges); i++) {
        reserve(&entry->edges, &capacity, entry->edge_count + 1, sizeof(*entry->edges));
        int result = read_edge(context, json_array_get(edges, i), &entry->edges[entry->edge_count]);
        if (result < 0) {
            free(entry->edges);
            return result;
        }
        entry->edge_count += (size_t)result;
    }
    return read_rest(context, entry);
}

static int read_create(struct line_context *context, struct entry *entry)
{
    uint64_t thread;

    if (get_number(context, "thread", &thread) < 0)
        return -EINVAL;
    entry->number = (uint32_t)get_if_known(context, "child_tid");
    entry->thread = thread != 0;
    return 0;
}

static int read_termination(struct line_context *context, struct entry *entry)
{
    uint64_t status;

    if (get_number(context, "status", &status) < 0 ||
        get_number(context, "failed_sends", &entry->failed_sends) < 0 ||
        get_number(context, "failed_receives", &entry->failed_receives) < 0)
        return -EINVAL;
    entry->number = (uint32_t)status;
    return 0;
}

static int read_operation(struct line_context *context, struct entry *entry)
{
    switch (entry->operation) {
    case OPERATION_SEND:
        return read_message(context, entry);
    case OPERATION_RECEIVE:
        return read_message(context, entry) < 0 ? -EINVAL : read_edges(context, entry);
    case OPERATION_CREATEPROCESS:
        return read_create(context, entry);
    case OPERATION_TERMINATION:
        return read_termination(context, entry);
    case OPERATION_EXEC:
        entry->name = text_copy(get_text(context, "image"));
        return 0;
    default:
        return 0;
    }
}

static bool is_identity(const char *event)
{
    return strcmp(event, "STREAM") == 0 || strcmp(event, "PATH") == 0 ||
           strcmp(event, "IMAGE") == 0 || strcmp(event, "MACHINE") == 0 ||
           strcmp(event, "END") == 0;
}

static bool is_missing(const char *event)
{
    return strcmp(event, "LOST") == 0 || strcmp(event, "DISCARDED") == 0;
}

static void classify(struct entry *entry, const char *event)
{
    entry->kind = ENTRY_OTHER;
    entry->send_call = strcmp(event, "SENDCALL") == 0;
    if (is_identity(event))
        entry->kind = ENTRY_IDENTITY;
    if (is_missing(event))
        entry->kind = ENTRY_MISSING;
    for (unsigned kind = 0; kind < OPERATION_KIND_COUNT; kind++)
        if (strcmp(event, operation_names[kind]) == 0) {
            entry->kind = ENTRY_OPERATION;
            entry->operation = (enum operation_kind)kind;
        }
}

/* Sequence numbers have 32 bits; takes the value nearest to the previous one. */
static int64_t unwrap(const struct stream *stream, uint64_t sequence)
{
    if (stream->entry_count == 0)
        return (int64_t)sequence;
    int64_t last = stream->entries[stream->entry_count - 1].sequence;
    return last + (int32_t)((uint32_t)sequence - (uint32_t)last);
}

static int add_entry(struct line_context *context, struct stream *stream, struct entry *entry)
{
    uint64_t sequence;

    /* Identities, and events outside the stream's own calls, need not have a number. */
    if ((entry->kind == ENTRY_IDENTITY || entry->kind == ENTRY_OTHER) && !has(context, "sequence"))
        return 0;
    if (get_number(context, "sequence", &sequence) < 0 ||
        get_number(context, "time_ns", &entry->time) < 0)
        return -EINVAL;
    if (entry->kind == ENTRY_OPERATION || entry->kind == ENTRY_OTHER) {
        if (get_number(context, "cpu_ns", &entry->cpu) < 0)
            return -EINVAL;
        /* one that ended before the metering began has only its end */
        bool only_ends = stream->start == UINT64_MAX && entry->kind == ENTRY_OPERATION &&
                         entry->operation == OPERATION_TERMINATION;
        if (stream->start > entry->time)
            stream->start = entry->time;
        if (!only_ends && context->dump->begun > entry->time)
            context->dump->begun = entry->time;
    }
    entry->sequence = unwrap(stream, sequence);
    reserve(&stream->entries, &stream->entry_capacity, stream->entry_count + 1,
            sizeof(*stream->entries));
    stream->entries[stream->entry_count++] = *entry;
    return 0;
}

static int read_object(struct line_context *context)
{
    const char *event = get_text(context, "event");
    struct entry entry = {.line = context->line};
    struct dump *dump = context->dump;
    uint64_t number = 0;

    if (*event == 0)
        return unreadable(context, "a record without \"event\"");
    dump->records++;
    classify(&entry, event);
    if (strcmp(event, "PATH") == 0 && read_path(context) < 0)
        return -EINVAL;
    if (strcmp(event, "MACHINE") == 0)
        dump->traced = get_if_known(context, "meter") == 1; /* METER_PTRACE */
    if (strcmp(event, "MACHINE") == 0)
        dump->no_pipes = (get_if_known(context, "kinds_left_out") & KIND_PIPE) != 0;
    if (is_missing(event) && get_number(context, "count", &entry.missing) < 0)
        return -EINVAL;
    dump->lost += entry.missing;
    if (has(context, "stream") && get_number(context, "stream", &number) < 0)
        return -EINVAL;
    if (number == 0) {
        dump->lost_without_stream += entry.missing;
        return entry.kind == ENTRY_OPERATION ? unreadable(context, "an event of no stream") : 0;
    }
    struct stream *stream = find_stream(dump, number);
    if (strcmp(event, "STREAM") == 0 && read_stream(context, stream, number) < 0)
        return -EINVAL;
    if (stream->label == NULL)
        name_unknown_stream(context, stream, number);
    if (entry.kind == ENTRY_OPERATION && read_operation(context, &entry) < 0)
        return -EINVAL;
    if (entry.send_call && read_message(context, &entry) < 0)
        return -EINVAL;
    return add_entry(context, stream, &entry);
}

static int read_lines(struct line_context *context, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int result = 0;

    while (result == 0 && (length = getline(&line, &size, file)) >= 0) {
        json_error_t error;
        json_t *object = json_loadb(line, (size_t)length, 0, &error);
        context->line++;
        context->object = object;
        result = json_is_object(object) ? read_object(context)
                                        : unreadable(context, "not a JSON object on one line");
        json_decref(object);
    }
    free(line);
    if (result == 0 && ferror(file))
        result = unreadable(context, "cannot be read");
    return result;
}

/* ---- what must hold for a stream's records ---- */

/* By sequence; a record without a number of its own comes before the event it precedes. */
static int order_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;

    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    bool a_event = a->kind <= ENTRY_OTHER;
    bool b_event = b->kind <= ENTRY_OTHER;
    if (a_event != b_event)
        return a_event ? 1 : -1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* In the order of the dump. */
static void check_times(const struct stream *stream, const char *order, struct findings *findings)
{
    const struct entry *last = NULL;

    for (size_t i = 0; i < stream->entry_count; i++) {
        const struct entry *entry = &stream->entries[i];
        if (entry->kind > ENTRY_OTHER)
            continue;
        if (last != NULL && entry->time < last->time) {
            differ(findings,
                   "%s: time goes back by %" PRIu64 " ns from line %" PRIu64 " to line %" PRIu64
                   ", in the order of %s",
                   stream->label, last->time - entry->time, last->line, entry->line, order);
            return;
        }
        last = entry;
    }
}

/* Gaps must be as large as the LOST and DISCARDED records say. An identity may have a number of its own or repeat
 * the next one: `identities` counts those that may fill the gap. */
static void check_sequence(struct dump *dump, const struct stream *stream,
                           struct findings *findings)
{
    int64_t expected = stream->entry_count == 0 ? 0 : stream->entries[0].sequence;
    int64_t identities = 0;
    uint64_t first_gap = 0;
    uint64_t gaps = 0;
    uint64_t missing = 0;

    if (stream->entry_count > 0 && stream->entries[0].kind == ENTRY_MISSING)
        expected -= (int64_t)stream->entries[0].missing;
    for (size_t i = 0; i < stream->entry_count; i++) {
        const struct entry *entry = &stream->entries[i];
        missing += entry->missing;
        if (entry->kind == ENTRY_IDENTITY) {
            identities += entry->sequence == expected + identities;
            continue;
        }
        int64_t gap = entry->sequence - expected;
        if (gap < 0) {
            differ(findings, "%s: sequence number %" PRId64 " twice, again in line %" PRIu64,
                   stream->label, entry->sequence, entry->line);
            return;
        }
        gap = gap > identities ? gap - identities : 0;
        if (gap > 0 && first_gap == 0)
            first_gap = entry->line;
        gaps += (uint64_t)gap;
        identities = 0;
        expected = entry->sequence + (entry->kind != ENTRY_MISSING);
    }
    dump->gaps += gaps;
    if (gaps == missing || dump->lost_without_stream > 0)
        return;
    differ(findings,
           "%s: gaps in the sequence of %" PRIu64 " records (the first before line %" PRIu64
           "), but %" PRIu64 " are accounted for as lost or discarded",
           stream->label, gaps, first_gap, missing);
}

/* ---- operations ---- */

/* Offsets have 32 bits: the first one of a stream counts from the path's start; each later one is the value nearest
 * to the previous one. */
static void add_range(struct dump *dump, size_t stream_index, const struct entry *entry,
                      size_t operation)
{
    struct path *path = &dump->paths[entry->path];
    enum direction direction = entry->operation == OPERATION_SEND ? DIRECTION_OUT : DIRECTION_IN;
    struct ranges *ranges = &path->ranges[direction];
    const struct range *last = ranges->count == 0 ? NULL : &ranges->list[ranges->count - 1];
    uint64_t start = path->start[direction];
    uint32_t distance = (uint32_t)(entry->offset - (uint32_t)start);
    /* a call that was in progress when metering began can start before the recorded range */
    uint64_t offset = path->older ? BEFORE_START + start + (uint64_t)(int64_t)(int32_t)distance
                                  : start + distance;

    if (last != NULL && last->stream == stream_index)
        offset =
            last->offset + (uint64_t)(int64_t)(int32_t)(entry->offset - (uint32_t)last->offset);
    reserve(&ranges->list, &ranges->capacity, ranges->count + 1, sizeof(*ranges->list));
    ranges->list[ranges->count++] = (struct range){
        offset, entry->bytes, entry->line, stream_index, operation, entry->time - entry->span};
}

/* The operation that a piece continues: the stream's last one, ignoring a stop in the middle of the call. NULL if
 * that is another call. */
static struct operation *find_continued(struct stream *stream, const struct entry *entry)
{
    for (size_t i = stream->count; i > 0; i--) {
        struct operation *operation = &stream->operations[i - 1];
        if (operation->kind == OPERATION_STOPPROCESS || operation->kind == OPERATION_STARTPROCESS)
            continue;
        return operation->kind == entry->operation && operation->path == entry->path ? operation
                                                                                     : NULL;
    }
    return NULL;
}

static void add_piece(struct operation *operation, const struct entry *entry)
{
    operation->bytes += entry->bytes;
    operation->records++;
    if (entry->cpu < operation->cpu_first)
        operation->cpu_first = entry->cpu;
    if (entry->cpu > operation->cpu_last)
        operation->cpu_last = entry->cpu;
}

static struct operation *add_operation(const struct dump *dump, struct stream *stream,
                                       const struct entry *entry)
{
    struct operation *operation = stream_add(stream, entry->operation);

    operation->thread = entry->thread;
    operation->number = entry->number;
    operation->inode = entry->inode;
    operation->bytes = entry->bytes;
    operation->cpu_first = entry->cpu;
    operation->cpu_last = entry->cpu;
    operation->line = entry->line;
    operation->records = 1;
    operation->path = entry->path;
    operation->blocked = entry->operation == OPERATION_RECEIVE && !entry->implied;
    operation->offset = entry->offset;
    operation->doubtful = entry->doubtful;
    if (entry->operation <= OPERATION_RECEIVE)
        operation->object = dump->paths[entry->path].object;
    operation->time = entry->time - entry->span;
    if (entry->name != NULL)
        operation->name = text_copy(entry->name);
    return operation;
}

static void add_message(struct dump *dump, size_t index, struct entry *entry,
                        struct findings *findings)
{
    struct stream *stream = &dump->side.streams[index];
    struct path *path = &dump->paths[entry->path];
    struct operation *operation = entry->continued ? find_continued(stream, entry) : NULL;

    if ((!path->known || path->inode != entry->inode) && !path->told) {
        differ(findings, "%s: line %" PRIu64 ": path %" PRIu32 " %s", stream->label, entry->line,
               path->number, path->known ? "has another inode in its PATH" : "has no PATH record");
        path->told = true;
    }
    if (entry->continued && operation == NULL && !(dump->acquired && stream->count == 0))
        differ(findings, "%s: line %" PRIu64 " continues a call that it does not follow",
               stream->label, entry->line);
    if (operation != NULL)
        add_piece(operation, entry);
    else
        operation = add_operation(dump, stream, entry);
    entry->index = (size_t)(operation - stream->operations);
    add_range(dump, index, entry, entry->index);
}

/* The first STARTPROCESS, the first time on a CPU, is not an operation of the program. */
static void build_operations(struct dump *dump, size_t index, struct findings *findings)
{
    struct stream *stream = &dump->side.streams[index];
    bool started = false;

    for (size_t i = 0; i < stream->entry_count; i++) {
        struct entry *entry = &stream->entries[i];
        if (entry->kind != ENTRY_OPERATION)
            continue;
        if (entry->operation == OPERATION_STARTPROCESS && !started) {
            started = true;
            continue;
        }
        started = started || entry->operation == OPERATION_STOPPROCESS;
        if (entry->operation <= OPERATION_RECEIVE)
            add_message(dump, index, entry, findings);
        else
            add_operation(dump, stream, entry);
        stream->failed_sends += entry->failed_sends;
        stream->failed_receives += entry->failed_receives;
    }
}

static void check_stream(struct dump *dump, size_t index, struct findings *findings)
{
    struct stream *stream = &dump->side.streams[index];

    check_times(stream, "the dump", findings);
    if (stream->entry_count > 0)
        qsort(stream->entries, stream->entry_count, sizeof(*stream->entries), order_entries);
    check_times(stream, "the sequence", findings);
    check_sequence(dump, stream, findings);
    build_operations(dump, index, findings);
}

int dump_read(const char *name, struct dump *dump, struct findings *findings,
              struct problem *problem)
{
    struct line_context context = {
        .dump = dump, .findings = findings, .problem = problem, .file = name};
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");

    if (file == NULL)
        return problem_set(problem, -errno, "%s: %s", name, strerror(errno));
    int result = read_lines(&context, file);
    if (file != stdin)
        fclose(file);
    if (result < 0)
        return result;
    side_sort(&dump->side);
    for (size_t i = 0; i < dump->side.count; i++)
        check_stream(dump, i, findings);
    if (dump->lost_without_stream > 0 && dump->gaps != dump->lost)
        differ(findings,
               "gaps in the sequences of %" PRIu64 " records, but %" PRIu64
               " are accounted for as lost or discarded",
               dump->gaps, dump->lost);
    return 0;
}

void dump_done(struct dump *dump)
{
    for (size_t i = 0; i < dump->side.count; i++) {
        struct stream *stream = &dump->side.streams[i];
        for (size_t k = 0; k < stream->entry_count; k++) {
            free(stream->entries[k].name);
            free(stream->entries[k].edges);
        }
        free(stream->entries);
    }
    side_done(&dump->side);
    for (size_t i = 0; i < dump->path_count; i++)
        for (unsigned k = 0; k < DIRECTION_COUNT; k++)
            free(dump->paths[i].ranges[k].list);
    free(dump->paths);
    intern_done(&dump->stream_numbers);
    intern_done(&dump->path_numbers);
}
