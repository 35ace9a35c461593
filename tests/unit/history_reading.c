/* SPDX-License-Identifier: MIT */
/*
 * history_reading.c: reads the statements of a case (history_text.h).
 */
#include "history_reading.h"

#include "history_tokens.h"
#include "meter/shared/message.h"

#include <sys/syscall.h>

static void *grow(void *array, size_t *capacity, size_t *count, size_t size)
{
    assert_int_equal(array_reserve(array, capacity, *count + 1, size), 0);
    return *(char **)array + (*count)++ * size;
}

/* ---- records ---- */

/* When a statement's record was made, and when its event began: @20, @5..20. */
struct stamp {
    bool is_given;
    bool has_begin;
    uint64_t begin;
    uint64_t time;
    const char *where;
};

static struct stamp stamp(struct reading *reading)
{
    struct stamp stamp = {.where = reading->at};

    if (!take(reading, "@"))
        return stamp;
    stamp.is_given = true;
    stamp.time = duration(reading);
    if (take(reading, "..")) {
        stamp.has_begin = true;
        stamp.begin = stamp.time;
        stamp.time = duration(reading);
    }
    if (stamp.has_begin && stamp.begin > stamp.time)
        complain(reading, stamp.where, "ends before it begins");
    return stamp;
}

static void add_default_machine(struct reading *reading, uint32_t origin);

/* The record's time: the given one, or that of the previous record. */
static uint64_t time_of(struct reading *reading, uint32_t origin, const struct stamp *stamp)
{
    struct tape *tape = &reading->tapes[origin];

    if (tape->count == 0)
        add_default_machine(reading, origin);
    if (stamp->is_given && reading_start(reading, origin) + stamp->time < tape->last_time)
        complain(reading, stamp->where, "goes back in time");
    if (!stamp->is_given || reading->problem != NULL)
        return tape->last_time;
    return reading_start(reading, origin) + stamp->time;
}

/* The last record of the machine's tape belongs to a statement, which began here. */
static struct line *add_line(struct reading *reading, uint32_t origin, const char *begin)
{
    struct tape *tape = &reading->tapes[origin];
    struct line *line =
        grow(&reading->lines, &reading->line_capacity, &reading->line_count, sizeof(struct line));

    line->origin = origin;
    line->text = begin;
    line->length = (int)strcspn(begin, "\n");
    line->record = tape->records[tape->count - 1];
    return line;
}

static void add_machine_of(struct reading *reading, uint32_t origin, uint32_t of, uint64_t flags,
                           const char *begin)
{
    if (reading->tapes[origin].count > 0) {
        complain(reading, begin, "comes too late");
        return;
    }
    add_machine(&reading->tapes[origin], reading_start(reading, origin), (uint8_t)(of + 1), flags);
    add_line(reading, origin, begin);
}

static void add_default_machine(struct reading *reading, uint32_t origin)
{
    add_machine_of(reading, origin, origin, METER_EVENT_FLAGS,
                   origin == 0 ? "MACHINE A" : "MACHINE B");
}

/* An event's type by its name. */
static uint8_t type(struct reading *reading)
{
    for (uint8_t id = 1; id < EVENT_ID_END; id++)
        if (take(reading, event_type(id)->name))
            return id;
    complain(reading, reading->at, "no type of record");
    return 0;
}

/* The last record of the tape, a MACHINE, is of this meter. */
static void set_meter(struct tape *tape, uint32_t meter)
{
    struct machine_record *record = (struct machine_record *)tape->records[tape->count - 1];

    record->meter = meter;
}

/* MACHINE A without TERMINATION; MACHINE B ahead 9900s; MACHINE B is A; MACHINE A ptrace */
static void machine_statement(struct reading *reading, const char *begin)
{
    uint32_t origin = take(reading, "B"), of = origin;
    uint64_t flags = METER_EVENT_FLAGS;
    uint32_t meter = METER_KERNEL;

    if (origin == 0)
        expect(reading, "A");
    while (reading->problem == NULL)
        if (take(reading, "without"))
            flags &= ~EVENT_FLAG(type(reading));
        else if (take(reading, "ahead"))
            reading->ahead[origin] = duration(reading);
        else if (take(reading, "is A"))
            of = 0;
        else if (take(reading, "ptrace"))
            meter = METER_PTRACE;
        else
            break;
    add_machine_of(reading, origin, of, flags, begin);
    if (reading->problem == NULL)
        set_meter(&reading->tapes[origin], meter);
}

static void announce_stream(struct reading *reading, uint32_t origin, uint64_t time,
                            const uint32_t numbers[3], const char *begin)
{
    add_stream(&reading->tapes[origin], time, numbers[0], numbers[1], numbers[2]);
    add_line(reading, origin, begin);
    assert_true(intern_add(&reading->streams, number_key(origin, numbers[0])) >= 0);
}

/* STREAM s1, s2; STREAM s2 created by s1; STREAM s2 of process s1 created by s1 */
static void stream_statement(struct reading *reading, const struct stamp *stamp, const char *begin)
{
    do {
        uint32_t origin = machine(reading), stream = number_of(reading, 's');
        uint32_t numbers[3] = {stream, stream, 0};
        if (take(reading, "of process"))
            numbers[1] = number_of(reading, 's');
        if (take(reading, "created by"))
            numbers[2] = number_of(reading, 's');
        announce_stream(reading, origin, time_of(reading, origin, stamp), numbers, begin);
    } while (take(reading, ","));
}

static void declare_path(struct reading *reading, uint32_t origin, uint32_t path)
{
    assert_true(intern_add(&reading->paths, number_key(origin, path)) >= 0);
}

static uint32_t declared_path(struct reading *reading, uint32_t origin)
{
    skip_blanks(reading);
    const char *where = reading->at;
    uint32_t path = number_of(reading, 'p');

    if (path != 0 && intern_find(&reading->paths, number_key(origin, path)) < 0)
        complain(reading, where, "no PATH before");
    return path;
}

static uint8_t path_kind(struct reading *reading)
{
    for (uint8_t kind = 1; kind < PATH_KIND_END; kind++)
        if (take(reading, path_kind_name(kind)))
            return kind;
    complain(reading, reading->at, "no kind of path");
    return 0;
}

struct address {
    uint8_t host; /* the host's number: 10.0.0.host */
    uint16_t port;
};

static struct address address(struct reading *reading)
{
    struct address address;

    skip_blanks(reading);
    address.host = (uint8_t)number32(reading);
    expect(reading, ":");
    address.port = (uint16_t)number32(reading);
    return address;
}

static void path_attributes(struct reading *reading, struct path_record *path)
{
    for (;;)
        if (take(reading, "out "))
            path->start_out = number32(reading);
        else if (take(reading, "in "))
            path->start_in = number32(reading);
        else if (take(reading, "OLDER"))
            path->header.flags |= RECORD_OLDER;
        else if (take(reading, "PACKETS"))
            path->header.flags |= RECORD_PACKETS;
        else if (take(reading, "MANY"))
            path->header.flags |= RECORD_MANY;
        else
            return;
}

/* PATH p1>p2 pipe; PATH p1 pipe to p2; PATH B.p1 tcp 2:80 to 1:4000 out 5 in 900. A cookie is the number of its end. */
static void path_statement(struct reading *reading, const struct stamp *stamp, const char *begin)
{
    uint32_t origin = machine(reading), path = number_of(reading, 'p');
    uint64_t time = time_of(reading, origin, stamp);
    bool both = take(reading, ">");
    uint32_t other = both ? number_of(reading, 'p') : 0;
    uint8_t kind = path_kind(reading);
    struct address local = {0}, remote = {0};

    if (kind_is_internet(kind)) {
        local = address(reading);
        expect(reading, "to");
        remote = address(reading);
    } else if (!both) {
        expect(reading, "to");
        other = number_of(reading, 'p');
    }
    const char *attributes = reading->at;
    for (int end = 0; end <= both; end++) {
        struct tape *tape = &reading->tapes[origin];
        uint32_t number = end == 0 ? path : other;
        const struct address *here = end == 0 ? &local : &remote,
                             *there = end == 0 ? &remote : &local;
        if (reading->problem != NULL)
            return;
        reading->at = attributes;
        path_attributes(reading,
                        kind_is_internet(kind)
                            ? add_internet(tape, time, number, kind, here->host, here->port,
                                           there->host, there->port)
                            : add_unix(tape, time, number, kind, number, end == 0 ? other : path));
        declare_path(reading, origin, number);
        add_line(reading, origin, begin);
    }
}

/* [10,30): bytes; d7:20: datagram number 7, of 20 bytes. The position of a SENDCALL is the end of its bytes. */
static bool span_of_bytes(struct reading *reading, struct record *record)
{
    skip_blanks(reading);
    if (comes(reading, 'd')) {
        record->message.offset = number_of(reading, 'd');
        expect(reading, ":");
        record->message.bytes = number32(reading);
        return true;
    }
    if (!take(reading, "["))
        return false;
    uint32_t from = number32(reading);
    expect(reading, ",");
    uint32_t to = number32(reading);
    expect(reading, ")");
    record->message.offset = record->header.id == EVENT_SENDCALL ? to : from;
    record->message.bytes = to - from;
    return true;
}

static void message_flags(struct reading *reading, struct record_header *header)
{
    static const struct {
        const char *name;
        uint16_t flag;
    } flags[] = {
        {"CONTINUED", RECORD_CONTINUED},   {"CALL_IMPLIED", RECORD_CALL_IMPLIED},
        {"OLDER", RECORD_OLDER},           {"END_OF_FILE", RECORD_END_OF_FILE},
        {"CONCURRENT", RECORD_CONCURRENT}, {"PREEMPTED", RECORD_PREEMPTED},
        {"SAME_CALL", RECORD_SAME_CALL},   {"WHOLE_CALL", RECORD_WHOLE_CALL},
    };

    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
            if (take(reading, flags[i].name)) {
                header->flags |= flags[i].flag;
                any = true;
            }
    }
}

static void message(struct reading *reading, struct record *record, uint32_t origin)
{
    static const uint64_t with_bytes = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) |
                                       EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_MESSAGEQUEUED);

    record->message.path = declared_path(reading, origin);
    bool has_bytes = span_of_bytes(reading, record);
    if (record->header.id == EVENT_RECEIVECALL && record->message.path == 0)
        record->message.offset = SYS_poll;
    const char *where = reading->at;
    message_flags(reading, &record->header);
    if (!has_bytes && (with_bytes >> record->header.id & 1) &&
        !(record->header.flags & RECORD_END_OF_FILE))
        complain(reading, where, "[FROM,TO) or dNUMBER:BYTES is missing");
}

static uint32_t system_call(struct reading *reading)
{
    static const struct {
        const char *name;
        uint32_t number;
    } calls[] = {{"read", 0},   {"write", 1},   {"pause", 34},         {"nanosleep", 35},
                 {"wait4", 61}, {"futex", 202}, {"sigtimedwait", 128}, {"sigsuspend", 130}};

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (take(reading, calls[i].name))
            return calls[i].number;
    complain(reading, reading->at, "no system call that is known here");
    return 0;
}

static void block(struct reading *reading, struct record *record, const struct stamp *stamp)
{
    if (!stamp->has_begin)
        complain(reading, stamp->where, "@BEGIN..END is missing");
    record->block.system_call = system_call(reading);
    record->block.state = take(reading, "uninterruptible") ? 2 : 1;
    record->block.duration = stamp->time - stamp->begin;
}

/* A created stream gets a STREAM record, as the meter makes it, just before at the latest. */
static void creation(struct reading *reading, struct record *record, uint32_t origin,
                     const char *begin)
{
    uint32_t child = number_of(reading, 's');

    record->create.child = child;
    if (!take(reading, "without STREAM") && reading->problem == NULL &&
        intern_find(&reading->streams, number_key(origin, child)) < 0)
        announce_stream(reading, origin, record->header.time,
                        (uint32_t[]){child, child, record->header.stream}, begin);
}

static void wakeup(struct reading *reading, struct record *record)
{
    record->wakeup.woken = number_of(reading, 's');
    if (take(reading, "by"))
        record->wakeup.waker = number_of(reading, 's');
}

/* LOST 1 before s1#3; kernel LOST 4 skipped */
static void lost(struct reading *reading, struct record *record)
{
    skip_blanks(reading);
    record->lost.count = number32(reading);
    if (take(reading, "ring-full"))
        record->lost.reason = LOST_RING_FULL;
    else if (take(reading, "skipped"))
        record->lost.reason = LOST_SKIPPED;
}

static void body(struct reading *reading, struct record *record, uint32_t origin,
                 const struct stamp *stamp, const char *begin)
{
    const char *where = reading->at;

    switch (record->header.id) {
    case EVENT_BLOCK:
        return block(reading, record, stamp);
    case EVENT_SEND ... EVENT_RECEIVE:
        message(reading, record, origin);
        return set_span(record,
                        stamp->has_begin ? reading_start(reading, origin) + stamp->begin : 0);
    }
    if (stamp->has_begin)
        complain(reading, stamp->where, "no type of record that takes time");
    switch (record->header.id) {
    case EVENT_MESSAGEQUEUED:
    case EVENT_CREATEPATH ... EVENT_DESTROYPATH:
    case EVENT_CONNECTFAILED: /* its path is at the same place */
        return message(reading, record, origin);
    case EVENT_CREATEPROCESS:
        return creation(reading, record, origin, begin);
    case EVENT_WAKEUP:
        return wakeup(reading, record);
    case EVENT_TERMINATION:
        record->termination.last = !take(reading, "thread");
        return;
    case EVENT_LOST:
        return lost(reading, record);
    case EVENT_EXEC ... EVENT_STOPPROCESS:
        return;
    default:
        complain(reading, where, "no type of record that a stream or the kernel makes here");
    }
}

void reading_add_cause(struct causes *causes, const struct cause *cause)
{
    *(struct cause *)grow(&causes->of, &causes->capacity, &causes->count, sizeof(*cause)) = *cause;
}

/* What follows "<-". */
static void cause(struct reading *reading, struct causes *causes)
{
    static const char none[] = "BYTES, or a kind of edge, is missing";
    struct cause cause = {0};
    enum edge_kind kind = 0;

    skip_blanks(reading);
    cause.where = reading->at;
    cause.from = reference(reading);
    bool has_bytes = take(reading, ":");
    if (has_bytes)
        cause.bytes = number32(reading);
    while (kind < EDGE_KIND_COUNT && !take(reading, edge_kind_name(kind)))
        kind++;
    if (kind == EDGE_KIND_COUNT && !has_bytes)
        complain(reading, reading->at, none);
    cause.kind = kind == EDGE_KIND_COUNT ? EDGE_EXACT : kind;
    cause.earlier = take(reading, "earlier");
    reading_add_cause(causes, &cause);
}

static void rest(struct reading *reading, struct causes *causes)
{
    causes->rest_bytes = number32(reading);
    for (enum history_rest rest = REST_EXTERNAL; rest <= REST_NOT_FOUND; rest++)
        if (take(reading, history_rest_name(rest))) {
            causes->rest = rest;
            return;
        }
    complain(reading, reading->at, "why these bytes have no edge is missing");
}

static void expected_causes(struct reading *reading, struct line *line)
{
    skip_blanks(reading);
    line->length = (int)(reading->at - line->text);
    if (!take(reading, "<-"))
        return;
    do {
        skip_blanks(reading);
        if (is_digit(*reading->at))
            rest(reading, &line->expected);
        else
            cause(reading, &line->expected);
    } while (line->expected.rest == REST_NONE && take(reading, ","));
}

static void add_record(struct reading *reading, struct record *record, uint32_t origin,
                       const char *begin)
{
    if (reading->problem != NULL)
        return;
    tape_add(&reading->tapes[origin], record);
    struct line *line = add_line(reading, origin, begin);
    line->has_name = record->header.id != EVENT_LOST && record->header.id != EVENT_DISCARDED;
    line->name = (struct reference){
        .origin = origin,
        .of_kernel = (record->header.flags & RECORD_NO_STREAM) != 0,
        .stream = record->header.stream,
        .sequence = record->header.sequence,
        .time = record->header.time - reading_start(reading, origin),
    };
    expected_causes(reading, line);
}

static struct record record_at(uint64_t time, const struct reference *by)
{
    struct record record = {.header = {.time = time,
                                       .flags = by->of_kernel ? RECORD_NO_STREAM : 0,
                                       .stream = by->stream,
                                       .sequence = by->sequence}};

    record.header.proc_time_and_pc = time & PROC_TIME_MASK;
    return record;
}

/* LOST 1 before s1#3, DISCARDED 2 before s1#3 */
static void gap_statement(struct reading *reading, uint8_t id, const struct stamp *stamp,
                          const char *begin)
{
    struct record counted = {0};

    lost(reading, &counted);
    expect(reading, "before");
    struct reference before = reference(reading);
    struct record record = record_at(time_of(reading, before.origin, stamp), &before);
    record.header.id = id;
    record.lost = counted.lost;
    add_record(reading, &record, before.origin, begin);
}

/* s1#2 SEND p1 [0,10); kernel MESSAGEQUEUED p1 [0,10) */
static void event_statement(struct reading *reading, const struct stamp *stamp, const char *begin)
{
    struct reference by = {.origin = machine(reading)};

    if (take(reading, "kernel")) {
        by.of_kernel = true;
    } else {
        by.stream = number_of(reading, 's');
        expect(reading, "#");
        by.sequence = number32(reading);
    }
    struct record record = record_at(time_of(reading, by.origin, stamp), &by);
    record.header.id = type(reading);
    body(reading, &record, by.origin, stamp, begin);
    if (take(reading, "cpu"))
        record.header.proc_time_and_pc = duration(reading);
    add_record(reading, &record, by.origin, begin);
}

/* ---- expected results ---- */

static void order_statement(struct reading *reading)
{
    struct order *order = grow(&reading->orders, &reading->order_capacity, &reading->order_count,
                               sizeof(struct order));

    order->where = reading->at;
    do {
        struct reference *one =
            grow(&order->of, &order->capacity, &order->count, sizeof(struct reference));
        *one = reference(reading);
        skip_blanks(reading);
    } while (strchr("\n/", *reading->at) == NULL && reading->problem == NULL);
}

/* Counts that are not given are 0. */
static const struct {
    const char *name;
    size_t offset;
} counts[] = {
    {"external", offsetof(struct history_counts, external)},
    {"not_found", offsetof(struct history_counts, not_found)},
    {"unselected", offsetof(struct history_counts, unselected)},
    {"unmatched-sends", offsetof(struct history_counts, unmatched_sends)},
    {"unmatched-receives", offsetof(struct history_counts, unmatched_receives)},
    {"forgotten-streams", offsetof(struct history_counts, forgotten_streams)},
    {"forgotten-ranges", offsetof(struct history_counts, forgotten_ranges)},
    {"lost", offsetof(struct history_counts, lost)},
    {"discarded", offsetof(struct history_counts, discarded)},
    {"stalls", offsetof(struct history_counts, stalls)},
};

const char *reading_count(size_t index, struct history_counts *of, uint64_t **ret_value)
{
    if (index == ARRAY_SIZE(counts))
        return NULL;
    *ret_value = (uint64_t *)((char *)of + counts[index].offset);
    return counts[index].name;
}

static void counts_statement(struct reading *reading)
{
    do {
        const char *name;
        uint64_t *count;
        size_t index = 0;
        skip_blanks(reading);
        uint64_t value = number(reading);
        while ((name = reading_count(index, &reading->counts, &count)) != NULL &&
               !take(reading, name))
            index++;
        if (name == NULL)
            complain(reading, reading->at, "no such count");
        else
            *count = value;
    } while (take(reading, ","));
}

static void statement(struct reading *reading)
{
    skip_blanks(reading);
    const char *begin = reading->at;
    struct stamp when = stamp(reading);

    if (!when.is_given && take(reading, "MACHINE"))
        machine_statement(reading, begin);
    else if (take(reading, "STREAM"))
        stream_statement(reading, &when, begin);
    else if (take(reading, "PATH"))
        path_statement(reading, &when, begin);
    else if (take(reading, "LOST"))
        gap_statement(reading, EVENT_LOST, &when, begin);
    else if (take(reading, "DISCARDED"))
        gap_statement(reading, EVENT_DISCARDED, &when, begin);
    else if (when.is_given)
        event_statement(reading, &when, begin);
    else if (take(reading, "no PATH"))
        declare_path(reading, machine(reading), number_of(reading, 'p'));
    else if (take(reading, "order"))
        order_statement(reading);
    else if (take(reading, "then"))
        counts_statement(reading);
    else if (take(reading, "without rooms"))
        reading->without_rooms = true;
    else if (take(reading, "not live"))
        reading->not_live = true;
    else if (take(reading, "clock B within"))
        reading->clock_within = duration(reading);
    else
        complain(reading, begin, "no statement");
    skip_blanks(reading);
    if (*reading->at != '\0' && !take(reading, "/") && !take(reading, "\n"))
        complain(reading, reading->at, "not understood");
}

/* ---- references ---- */

/* The one statement that a reference means. */
size_t reading_find(struct reading *reading, const struct reference *reference, const char *where)
{
    size_t found = NOWHERE;

    for (size_t i = 0; i < reading->line_count; i++) {
        const struct line *line = &reading->lines[i];
        if (!line->has_name || !is_same_reference(&line->name, reference))
            continue;
        if (found != NOWHERE)
            complain(reading, where, "means several records");
        found = i;
    }
    if (found == NOWHERE)
        complain(reading, where, "means no record");
    return found;
}

static void check_references(struct reading *reading)
{
    for (size_t i = 0; i < reading->line_count; i++) {
        struct causes *causes = &reading->lines[i].expected;
        size_t kept = 0;
        for (size_t k = 0; k < causes->count; k++) {
            reading_find(reading, &causes->of[k].from, causes->of[k].where);
            if (!reading->without_rooms || !is_of_room(causes->of[k].kind))
                causes->of[kept++] = causes->of[k];
        }
        causes->count = kept;
    }
    for (size_t i = 0; i < reading->order_count; i++)
        for (size_t k = 0; k < reading->orders[i].count; k++)
            reading_find(reading, &reading->orders[i].of[k], reading->orders[i].where);
}

void reading_begin(struct reading *reading, const char *text)
{
    *reading = (struct reading){.text = text, .at = text, .clock_within = NEVER};
    for (uint32_t origin = 0; origin < MACHINES; origin++)
        tape_init(&reading->tapes[origin]);
    reading->at += strcspn(text, "\n");
    if (memchr(text, ':', (size_t)(reading->at - text)) == NULL || !take(reading, "\n"))
        complain(reading, text, "no line \"name: what the case shows\"");
    while (*reading->at != '\0')
        statement(reading);
    if (reading->problem == NULL)
        check_references(reading);
}

void reading_done(struct reading *reading)
{
    for (size_t i = 0; i < reading->line_count; i++) {
        free(reading->lines[i].expected.of);
        free(reading->lines[i].found.of);
    }
    for (size_t i = 0; i < reading->order_count; i++)
        free(reading->orders[i].of);
    for (uint32_t origin = 0; origin < MACHINES; origin++)
        tape_done(&reading->tapes[origin]);
    intern_done(&reading->paths);
    intern_done(&reading->streams);
    free(reading->lines);
    free(reading->orders);
    free(reading->problem);
}
