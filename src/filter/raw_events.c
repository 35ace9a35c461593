/* SPDX-License-Identifier: MIT */
/* raw_events.c: see raw_events.h. */
#include "filter/raw_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct process {
    uint64_t number;   /* in raw records */
    uint32_t stream;   /* 0: not described yet */
    uint32_t parent;   /* stream */
    uint32_t sequence; /* of its next event */
    bool has_cpu;
    uint64_t cpu; /* units, continued */
};

/* One end of a path, on one machine. */
struct end {
    uint32_t path;
    uint32_t out; /* index of the flow that it sends */
    uint32_t in;  /* ... and receives */
};

/* One direction of a path: bytes or messages so far. */
struct flow {
    uint32_t sent, queued, received;
};

/* The two sides of a message. */
struct sides {
    uint64_t from[2], to[2]; /* process, socket */
    uint64_t channel;
    uint64_t from_cookie, to_cookie;
    unsigned base;
};

void raw_events_begin(struct raw_events *events, const struct raw_records *records)
{
    *events = (struct raw_events){.records = records};
    events->processes.size = sizeof(struct process);
    events->ends.size = sizeof(struct end);
    events->flows.size = sizeof(struct flow);
}

void raw_events_done(struct raw_events *events)
{
    record_queue_done(&events->made);
    lookup_done(&events->process_numbers);
    lookup_done(&events->end_numbers);
    lookup_done(&events->flow_numbers);
    pool_done(&events->processes);
    pool_done(&events->ends);
    pool_done(&events->flows);
    free(events->received_next);
}

/* ---- who acts ---- */

static bool is_receiving(unsigned event)
{
    return event == EVENT_RECEIVE || event == EVENT_RECEIVECALL || event == EVENT_ACCEPT ||
           event == EVENT_MESSAGEQUEUED;
}

/* The process that acts. */
static bool acting(const struct raw_events *events, const struct raw_record *raw,
                   uint64_t *ret_number, const struct description_field **ret_field)
{
    return raw_number(events->records, raw, MEANS_PROCESS, ret_number, ret_field) ||
           raw_number(events->records, raw, is_receiving(raw->type->event) ? MEANS_TO : MEANS_FROM,
                      ret_number, ret_field);
}

/* From the last record to the first one: which record of its process follows each RECEIVECALL. */
static int note_receives(struct raw_events *events, size_t first)
{
    const struct raw_records *records = events->records;
    struct lookup next = {0};
    uint64_t number;
    size_t i = first;
    int result = 0;

    if (events->received_next == NULL)
        events->received_next = calloc(records->count, sizeof(*events->received_next));
    if (events->received_next == NULL)
        return -ENOMEM;
    while (i < records->count && records->list[i].machine == records->list[first].machine)
        i++;
    while (result == 0 && i-- > first) {
        const struct raw_record *raw = &records->list[i];
        if (raw->type->event == 0 || raw->type->event == EVENT_MESSAGEQUEUED ||
            !acting(events, raw, &number, NULL))
            continue;
        uint32_t index = lookup_find(&next, number);
        if (raw->type->event == EVENT_RECEIVECALL && index != LOOKUP_NONE &&
            records->list[index].type->event == EVENT_RECEIVE)
            events->received_next[i] = index;
        result = lookup_set(&next, number, (uint32_t)i);
    }
    lookup_done(&next);
    return result;
}

/* ---- machines ---- */

static void number_text(uint64_t number, unsigned base, char *text, size_t size)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char reversed[65];
    size_t length = 0, i = 0;

    do
        reversed[length++] = digits[number % base];
    while ((number /= base) != 0);
    while (length > 0 && i + 1 < size)
        text[i++] = reversed[--length];
    text[i] = '\0';
}

void raw_events_machine_name(const struct raw_records *records, uint32_t machine,
                             char name[RAW_NAME_SIZE])
{
    const struct description_field *field =
        descriptions_meaning(records->descriptions, NULL, MEANS_MACHINE);

    if (field == NULL)
        strcpy(name, "machine");
    else
        number_text(records->machines[machine], field->base, name, RAW_NAME_SIZE);
}

/* The meter flags of what the descriptions describe. */
static uint64_t described_flags(const struct descriptions *descriptions)
{
    uint64_t flags = 0;

    for (uint32_t i = 0; i < descriptions_count(descriptions); i++) {
        const struct description *type = descriptions_at(descriptions, i);
        if (type->event == 0)
            continue;
        flags |= EVENT_FLAG(type->event);
        if (descriptions_meaning(descriptions, type, MEANS_PC) != NULL)
            flags |= METER_FLAG_PC;
    }
    return flags;
}

int raw_events_machine(struct raw_events *events, size_t first, struct machine_record *ret_machine)
{
    uint32_t machine = events->records->list[first].machine;
    const struct raw_records *records = events->records;
    const char *system = records->system.name;
    uint64_t id[2] = {hash_bytes(1, system, strlen(system)), records->machines[machine]};

    events->streams = events->paths = 0;
    *ret_machine = (struct machine_record){
        .header = {.time = records->list[first].time,
                   .id = EVENT_MACHINE,
                   .flags = RECORD_NO_STREAM},
        .meter_flags = described_flags(records->descriptions),
        .meter = METER_OTHER,
    };
    memcpy(ret_machine->machine_id, id, sizeof(ret_machine->machine_id));
    raw_events_machine_name(records, machine, ret_machine->name);
    strncpy(ret_machine->system, system[0] == '\0' ? "another system" : system,
            MACHINE_NAME_SIZE - 1);
    return note_receives(events, first);
}

/* ---- tables ---- */

static void *find_or_add(struct lookup *numbers, struct pool *pool, uint64_t key, bool *ret_new)
{
    uint32_t index = lookup_find(numbers, key);

    *ret_new = index == LOOKUP_NONE;
    if (index != LOOKUP_NONE)
        return pool_at(pool, index);
    int64_t taken = pool_take(pool);
    if (taken < 0 || lookup_set(numbers, key, (uint32_t)taken) < 0)
        return NULL;
    return pool_at(pool, (uint32_t)taken);
}

static uint64_t machine_key(uint32_t machine, uint64_t number)
{
    const uint64_t key[2] = {machine, number};

    return hash_bytes(0, key, sizeof(key));
}

static int out_of_memory(struct problem *problem)
{
    return problem_set(problem, -ENOMEM, "out of memory for raw records");
}

/* ---- processes ---- */

static int describe_process(struct raw_events *events, const struct raw_record *raw,
                            struct process *process, unsigned base)
{
    const struct description_field *name =
        descriptions_meaning(events->records->descriptions, raw->type, MEANS_NAME);
    struct stream_record stream = {
        .header = {.time = raw->time, .id = EVENT_STREAM, .flags = RECORD_NO_STREAM},
        .pid = (uint32_t)process->number,
        .tid = (uint32_t)process->number,
        .parent = process->parent,
        .start = raw->time,
    };

    if (process->stream == 0)
        process->stream = ++events->streams;
    stream.header.stream = stream.process = process->stream;
    number_text(process->number, base, stream.name, sizeof(stream.name));
    if (name != NULL) {
        const unsigned char *text = raw_part(events->records, raw, name) + name->offset;
        size_t length = strnlen((const char *)text, name->length);
        memset(stream.name, 0, sizeof(stream.name));
        memcpy(stream.name, text, length < sizeof(stream.name) ? length : sizeof(stream.name) - 1);
    }
    return record_queue_add(&events->made, &stream.header);
}

static struct process *process_of(struct raw_events *events, const struct raw_record *raw,
                                  uint64_t number, unsigned base, uint32_t parent)
{
    bool is_new;
    struct process *process = find_or_add(&events->process_numbers, &events->processes,
                                          machine_key(raw->machine, number), &is_new);

    if (process == NULL || !is_new)
        return process;
    process->number = number;
    process->parent = parent;
    return describe_process(events, raw, process, base) < 0 ? NULL : process;
}

/* A record that is no event, but names a process. Returns 1 if it does, 0, or -ENOMEM. */
static int name_process(struct raw_events *events, const struct raw_record *raw)
{
    const struct description_field *field;
    uint64_t number;

    if (descriptions_meaning(events->records->descriptions, raw->type, MEANS_NAME) == NULL ||
        !raw_number(events->records, raw, MEANS_PROCESS, &number, &field))
        return 0;
    uint32_t streams = events->streams;
    struct process *process = process_of(events, raw, number, field->base, 0);
    if (process == NULL)
        return -ENOMEM;
    if (events->streams == streams && describe_process(events, raw, process, field->base) < 0)
        return -ENOMEM;
    return 1;
}

/* ---- paths ---- */

static bool is_in_order(const struct sides *sides)
{
    return sides->from[0] != sides->to[0] ? sides->from[0] < sides->to[0]
                                          : sides->from[1] <= sides->to[1];
}

static bool find_sides(const struct raw_events *events, const struct raw_record *raw,
                       struct sides *ret_sides)
{
    const struct raw_records *records = events->records;
    const struct description_field *field;
    struct sides sides = {0};
    bool named = (raw_number(records, raw, MEANS_SOURCE, &sides.from[1], &field) &&
                  raw_number(records, raw, MEANS_DESTINATION, &sides.to[1], NULL)) ||
                 (raw_number(records, raw, MEANS_FROM, &sides.from[0], &field) &&
                  raw_number(records, raw, MEANS_TO, &sides.to[0], NULL));

    if (!named)
        return false;
    raw_number(records, raw, MEANS_CHANNEL, &sides.channel, NULL);
    sides.base = field->base;
    bool in_order = is_in_order(&sides);
    const uint64_t key[5] = {in_order ? sides.from[0] : sides.to[0],
                             in_order ? sides.from[1] : sides.to[1],
                             in_order ? sides.to[0] : sides.from[0],
                             in_order ? sides.to[1] : sides.from[1], sides.channel};
    uint64_t path = hash_bytes(2, key, sizeof(key));
    sides.from_cookie = hash_bytes(path, sides.from, sizeof(sides.from)) | 1; /* never 0 */
    sides.to_cookie = hash_bytes(path, sides.to, sizeof(sides.to)) | 1;
    *ret_sides = sides;
    return true;
}

/* "20003-30003 channel 0": the smaller side first, so both ends have the same text. */
static void path_name(const struct raw_events *events, const struct raw_record *raw,
                      const struct sides *sides, char name[PATH_NAME_SIZE])
{
    bool in_order = is_in_order(sides);
    const uint64_t *one = in_order ? sides->from : sides->to;
    const uint64_t *other = in_order ? sides->to : sides->from;
    const struct description_field *channel =
        descriptions_meaning(events->records->descriptions, raw->type, MEANS_CHANNEL);
    char texts[3][RAW_NAME_SIZE];

    number_text(one[0] | one[1], sides->base, texts[0], RAW_NAME_SIZE);
    number_text(other[0] | other[1], sides->base, texts[1], RAW_NAME_SIZE);
    if (channel == NULL) {
        snprintf(name, PATH_NAME_SIZE, "%.30s-%.30s", texts[0], texts[1]);
        return;
    }
    number_text(sides->channel, channel->base, texts[2], RAW_NAME_SIZE);
    snprintf(name, PATH_NAME_SIZE, "%.30s-%.30s channel %.30s", texts[0], texts[1], texts[2]);
}

static int64_t flow_of(struct raw_events *events, uint64_t cookie)
{
    bool is_new;

    return find_or_add(&events->flow_numbers, &events->flows, cookie, &is_new) == NULL
               ? -ENOMEM
               : (int64_t)lookup_find(&events->flow_numbers, cookie);
}

static enum path_role role_of(unsigned event)
{
    return event == EVENT_CONNECT  ? PATH_ROLE_CONNECTED
           : event == EVENT_ACCEPT ? PATH_ROLE_ACCEPTED
                                   : PATH_ROLE_UNKNOWN;
}

static int describe_path(struct raw_events *events, const struct raw_record *raw, uint64_t time,
                         const struct sides *sides, bool receives, struct end *end)
{
    int64_t from = flow_of(events, sides->from_cookie), to = flow_of(events, sides->to_cookie);
    bool is_bytes = events->records->system.paths == PATHS_BYTES;
    struct path_record path = {
        .header = {.time = time, .id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .kind = is_bytes ? PATH_BYTE_CHANNEL : PATH_CHANNEL,
        .role = (uint8_t)role_of(raw->type->event),
        .cookie = receives ? sides->to_cookie : sides->from_cookie,
        .peer = receives ? sides->from_cookie : sides->to_cookie,
    };

    if (from < 0 || to < 0)
        return -ENOMEM;
    end->path = path.path = ++events->paths;
    end->out = (uint32_t)(receives ? to : from);
    end->in = (uint32_t)(receives ? from : to);
    path_name(events, raw, sides, path.name);
    return record_queue_add(&events->made, &path.header);
}

/* The acting process's end; if it is new, its path is described at `time`. NULL and *ret_result 0: the record does not
 * name both sides. */
static struct end *end_of(struct raw_events *events, const struct raw_record *raw, uint64_t time,
                          bool receives, int *ret_result)
{
    struct sides sides;
    bool is_new;

    *ret_result = 0;
    if (!find_sides(events, raw, &sides))
        return NULL;
    uint64_t cookie = receives ? sides.to_cookie : sides.from_cookie;
    struct end *end = find_or_add(&events->end_numbers, &events->ends,
                                  machine_key(raw->machine, cookie), &is_new);
    *ret_result = end == NULL ? -ENOMEM
                  : is_new    ? describe_path(events, raw, time, &sides, receives, end)
                              : 0;
    return *ret_result < 0 ? NULL : end;
}

/* ---- events ---- */

/* A RECEIVECALL that names no sender is that of the process's next RECEIVE: the process does nothing in between. */
static struct end *called_end(struct raw_events *events, size_t index, int *ret_result)
{
    const struct raw_record *list = events->records->list;
    uint32_t next = events->received_next[index];

    *ret_result = 0;
    return next == 0 ? NULL : end_of(events, &list[next], list[index].time, true, ret_result);
}

static uint32_t advance(const struct raw_events *events, uint32_t *position, uint32_t bytes)
{
    uint32_t before = *position;

    *position += events->records->system.paths == PATHS_BYTES ? bytes : 1;
    return before;
}

/* The positions of a message. */
static void place_message(struct raw_events *events, const struct end *end, struct record *record)
{
    struct flow *out = pool_at(&events->flows, end->out), *in = pool_at(&events->flows, end->in);
    uint32_t bytes = record->message.bytes;

    record->message.path = end->path;
    switch (record->header.id) {
    case EVENT_SEND:
        record->message.offset = advance(events, &out->sent, bytes);
        record->header.flags |= RECORD_OLDER;
        break;
    case EVENT_RECEIVE:
        record->message.offset = advance(events, &in->received, bytes);
        record->header.flags |= RECORD_OLDER;
        break;
    case EVENT_MESSAGEQUEUED:
        record->queued.offset = advance(events, &in->queued, bytes);
        record->queued.queue = in->queued - in->received;
        break;
    case EVENT_RECEIVECALL:
        record->message.offset = in->received;
        break;
    case EVENT_SENDCALL:
        record->message.offset = out->sent;
        break;
    default:
        break;
    }
}

static bool is_message(unsigned event)
{
    return event == EVENT_SEND || event == EVENT_RECEIVE || event == EVENT_SENDCALL ||
           event == EVENT_MESSAGEQUEUED;
}

/* What the raw record does not say. */
static uint64_t absent_of(const struct raw_events *events, const struct raw_record *raw)
{
    const struct descriptions *descriptions = events->records->descriptions;
    unsigned event = raw->type->event;
    uint64_t absent = 0;

    if (is_message(event) && descriptions_meaning(descriptions, raw->type, MEANS_BYTES) == NULL)
        absent |= EVENT_BODY_FIELD_BIT(2);
    if (event == EVENT_MESSAGEQUEUED)
        return absent;
    if (descriptions_meaning(descriptions, raw->type, MEANS_CPU_TIME) == NULL)
        absent |= 1ull << 5;
    if (descriptions_meaning(descriptions, raw->type, MEANS_PC) == NULL)
        absent |= 1ull << 6;
    return absent;
}

static void set_cpu_time(const struct raw_events *events, const struct raw_record *raw,
                         struct process *process, struct record_header *header)
{
    const struct description_field *field;
    uint64_t number, pc = 0;

    raw_number(events->records, raw, MEANS_PC, &pc, NULL);
    if (raw_number(events->records, raw, MEANS_CPU_TIME, &number, &field))
        process->cpu = process->has_cpu ? raw_unwrap(process->cpu, number, field->length) : number;
    process->has_cpu = true;
    header->proc_time_and_pc =
        (process->cpu * events->records->system.cpu_unit & PROC_TIME_MASK) | pc << 48;
    header->pc_high = (uint32_t)(pc >> 16);
}

/* Completes the body. Returns 1, 0: it names too little; or -ENOMEM. */
static int fill_body(struct raw_events *events, size_t index, const struct process *process,
                     struct record *record)
{
    const struct raw_record *raw = &events->records->list[index];
    const struct description_field *field;
    uint64_t number = 0;
    int result = 0;

    switch (raw->type->event) {
    case EVENT_CREATEPROCESS: {
        raw_number(events->records, raw, MEANS_CHILD, &number, &field);
        struct process *child = process_of(events, raw, number, field->base, process->stream);
        record->create.child = child == NULL ? 0 : child->stream;
        return child == NULL ? -ENOMEM : 1;
    }
    case EVENT_TERMINATION:
        raw_number(events->records, raw, MEANS_STATUS, &number, NULL);
        record->termination.status = (uint32_t)number;
        record->termination.last = 1;
        return 1;
    case EVENT_STARTPROCESS:
    case EVENT_STOPPROCESS:
        return 1;
    default:
        break;
    }
    raw_number(events->records, raw, MEANS_BYTES, &number, NULL);
    record->message.bytes = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    struct end *end = end_of(events, raw, raw->time, is_receiving(raw->type->event), &result);
    if (end == NULL && result == 0 && raw->type->event == EVENT_RECEIVECALL) {
        end = called_end(events, index, &result);
        if (end == NULL && result == 0) { /* of no path: it received nothing any more */
            record->any.system_call = UINT16_MAX;
            return 1;
        }
    }
    if (end != NULL)
        place_message(events, end, record);
    return end != NULL ? 1 : result;
}

static int leave_out(struct raw_events *events, const struct raw_record *raw)
{
    events->left_out++;
    events->some_left_out = raw->type;
    return 0;
}

int raw_events_make(struct raw_events *events, size_t index, uint64_t *ret_absent,
                    struct problem *problem)
{
    const struct raw_record *raw = &events->records->list[index];
    const struct description_field *field;
    bool by_process = raw->type->event != EVENT_MESSAGEQUEUED;
    struct record record = {.header = {.time = raw->time,
                                       .id = (uint8_t)raw->type->event,
                                       .flags = by_process ? 0 : RECORD_NO_STREAM}};
    struct process *process = NULL;
    uint64_t number;

    *ret_absent = 0;
    if (raw->type->event == 0) {
        int named = name_process(events, raw);
        return named == 0 ? leave_out(events, raw) : named < 0 ? out_of_memory(problem) : 0;
    }
    if (by_process) {
        acting(events, raw, &number, &field);
        process = process_of(events, raw, number, field->base, 0);
        if (process == NULL)
            return out_of_memory(problem);
    }
    int result = fill_body(events, index, process, &record);
    if (result <= 0)
        return result < 0 ? out_of_memory(problem) : leave_out(events, raw);
    if (by_process) {
        record.header.stream = process->stream;
        record.header.sequence = process->sequence++;
        set_cpu_time(events, raw, process, &record.header);
    }
    *ret_absent = absent_of(events, raw);
    return record_queue_add(&events->made, &record.header) < 0 ? out_of_memory(problem) : 0;
}
