/* SPDX-License-Identifier: MIT */
/*
 * dump_fuzz.c: the input is a sequence of records: whole and of known types, as from every source, but with any
 * content. For any content, the statistics add up, every line and table is text without terminal control characters,
 * and all JSON can be parsed.
 *
 *      | u8 of state |  then for each record  | head 16 B | record, as long as its type is |
 */
#include "fuzz.h"
#include "show/show.h"

#include <jansson.h>
#include <locale.h>
#include <string.h>

#define ORIGINS  3
#define LONGEST  65536u
#define FEW_MASK 7u /* numbers are reduced to these bits, so that records refer to each other */

struct head {
    uint8_t id;
    uint8_t origin;
    uint8_t shift; /* of the time since the origin's previous record */
    uint8_t wide;  /* odd: numbers are not reduced */
    uint32_t unused;
    int64_t wall_offset;
};

#define ALL_ORIGINS UINT32_MAX

/* A record is in memory of exactly its size, until the next one is requested. */
struct memory_source {
    struct source source;
    struct source_state state;
    uint32_t origin; /* hands out only the records of this origin, as origin 0; or ALL_ORIGINS */
    const uint8_t *bytes;
    size_t size;
    size_t at;
    uint64_t times[ORIGINS];
    struct record_header *record;
};

/* ---- the source ---- */

static void make_small(uint32_t *number)
{
    *number &= FEW_MASK;
}

static void make_numbers_small(struct record_header *header)
{
    struct stream_record *stream = (struct stream_record *)header;
    struct path_record *path = (struct path_record *)header;

    make_small(&header->stream);
    if (header->id == EVENT_STREAM) {
        make_small(&stream->process);
        make_small(&stream->parent);
    } else if (header->id == EVENT_PATH) {
        make_small(&path->path);
        path->cookie &= FEW_MASK;
        path->peer &= FEW_MASK;
        path->network &= 1;
        path->kind = (uint8_t)(path->kind % (PATH_KIND_END + 1));
        memset(path->local, 127, sizeof(path->local));
        memset(path->remote, 127, sizeof(path->remote));
        path->local_port &= 1;
        path->remote_port &= 1;
    } else if (event_is_metered(header->id) || header->id == EVENT_IMAGE) {
        make_small(&((struct record *)header)->message.path); /* or child, or image */
    }
}

static void take_bytes(struct memory_source *memory, void *to, size_t size)
{
    size_t left = memory->size - memory->at;
    size_t some = size < left ? size : left;

    memset(to, 0, size);
    memcpy(to, memory->bytes + memory->at, some);
    memory->at += some;
}

/* Returns the next record of any origin, or NULL at the end. */
static struct record_header *read_record(struct memory_source *memory, struct event *ret_event)
{
    struct head head;

    if (memory->at == memory->size)
        return NULL;
    take_bytes(memory, &head, sizeof(head));
    uint8_t id = (uint8_t)(1 + head.id % (EVENT_ID_END - 1));
    uint32_t origin = head.origin % ORIGINS;
    struct record_header *header = malloc(event_size(id));
    if (header == NULL)
        abort();
    take_bytes(memory, header, event_size(id));
    header->id = id;
    if (head.wide % 2 == 0)
        make_numbers_small(header);
    uint64_t step = header->time >> head.shift % 64;
    uint64_t most = UINT64_MAX - memory->times[origin];
    memory->times[origin] += step < most ? step : most;
    header->time = memory->times[origin];
    *ret_event = (struct event){header, origin, head.wall_offset};
    return header;
}

static int next_record(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                       struct problem *problem)
{
    struct memory_source *memory = (struct memory_source *)source;

    (void)ret_complete;
    (void)problem;
    do {
        free(memory->record);
        memory->record = read_record(memory, ret_event);
    } while (memory->record != NULL && memory->origin != ALL_ORIGINS &&
             memory->origin != ret_event->origin);
    if (memory->origin != ALL_ORIGINS)
        ret_event->origin = 0;
    return memory->record == NULL ? SOURCE_END : SOURCE_RECORD;
}

static void open_memory(struct memory_source *memory, const uint8_t *bytes, size_t size,
                        uint32_t origin)
{
    *memory = (struct memory_source){
        .source = {.next = next_record, .origins = 1, .states = &memory->state},
        .origin = origin,
        .bytes = bytes + 1,
        .size = size - 1,
    };
    memory->state = (struct source_state){
        .lost = origin == ALL_ORIGINS ? 0 : bytes[0] >> origin,
        .complete = origin != ALL_ORIGINS && (bytes[0] >> origin & 1),
        .end_reason = bytes[0] % 6,
    };
}

/* ---- checks of printed text ---- */

/* Text for a terminal: whole lines of UTF-8 without control characters. */
static void check_text(const char *text, size_t length)
{
    json_t *string = json_stringn(text, length); /* rejects invalid UTF-8 */

    PROMISE(string != NULL);
    json_decref(string);
    PROMISE(length > 0 && text[length - 1] == '\n');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        PROMISE(byte == '\n' || (byte >= 0x20 && byte != 0x7f));
        PROMISE(byte != 0xc2 || (unsigned char)text[i + 1] >= 0xa0);
    }
}

static json_t *check_json(const char *text, size_t length)
{
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

    check_text(text, length);
    PROMISE(json_is_object(json));
    return json;
}

/* ---- single records ---- */

static void show_one(struct record_face *face, const struct event *event)
{
    const char *name = event_type(event->header->id)->name;
    char *text;
    size_t length;

    face->file = open_memstream(&text, &length);
    PROMISE(face->file != NULL);
    PROMISE(show_record(face, event) == 0);
    PROMISE(fclose(face->file) == 0);
    PROMISE(strchr(text, '\n') == text + length - 1);
    if (face->json) {
        json_t *json = check_json(text, length);
        PROMISE(strcmp(json_string_value(json_object_get(json, "event")), name) == 0);
        json_decref(json);
    } else {
        check_text(text, length);
        PROMISE(strstr(text, name) != NULL);
    }
    free(text);
}

static void show_records(struct memory_source *memory)
{
    struct identities *identities;
    struct event event;

    PROMISE(identities_new(&identities) == 0);
    struct record_face text = {.identities = identities, .machines = true};
    struct record_face json = {.identities = identities, .json = true};
    while (next_record(&memory->source, &event, NULL, NULL) == SOURCE_RECORD) {
        PROMISE(identities_add(identities, &event) == 0);
        show_one(&text, &event);
        show_one(&json, &event);
    }
    identities_free(identities);
}

/* ---- statistics ---- */

struct totals {
    uint64_t events;
    struct traffic sent; /* added up by stream */
    struct traffic received_at_most;
};

static void count_traffic(struct traffic *traffic, const struct record *record)
{
    traffic->messages += !(record->header.flags & RECORD_CONTINUED);
    traffic->bytes += record->message.bytes;
}

static struct totals count_records(struct memory_source *memory)
{
    struct totals totals = {0};
    struct event event;

    while (next_record(&memory->source, &event, NULL, NULL) == SOURCE_RECORD) {
        const struct record *record = (const struct record *)event.header;
        totals.events += event_is_metered(event.header->id);
        if (event.header->flags & RECORD_NO_STREAM)
            continue;
        if (event.header->id == EVENT_SEND)
            count_traffic(&totals.sent, record);
        else if (event.header->id == EVENT_RECEIVE)
            count_traffic(&totals.received_at_most, record);
    }
    return totals;
}

static void check_sums(const struct communication *communication, const struct totals *totals)
{
    struct totals sums = {0};

    for (size_t i = 0; i < communication->process_count; i++) {
        sums.sent.messages += communication->processes[i].sent.messages;
        sums.sent.bytes += communication->processes[i].sent.bytes;
        sums.received_at_most.messages += communication->processes[i].received.messages;
        sums.received_at_most.bytes += communication->processes[i].received.bytes;
    }
    PROMISE(communication->events == totals->events);
    PROMISE(sums.sent.messages == totals->sent.messages);
    PROMISE(sums.sent.bytes == totals->sent.bytes);
    PROMISE(sums.received_at_most.messages <= totals->received_at_most.messages);
    PROMISE(sums.received_at_most.bytes == totals->received_at_most.bytes);
}

static void show_all(const struct communication *communication, const struct show_options *options)
{
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);

    PROMISE(file != NULL);
    PROMISE(show_statistics(communication, file, options) == 0);
    PROMISE(fclose(file) == 0);
    if (options->json) {
        json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
        PROMISE(json_array_size(json_object_get(json, "processes")) ==
                communication->process_count);
        PROMISE(json_array_size(json_object_get(json, "pairs")) == communication->pair_count);
        PROMISE(json_array_size(json_object_get(json, "paths")) == communication->path_count);
        json_decref(json);
    }
    check_text(text, length);
    free(text);
}

static void show_everywhere(const struct communication *communication)
{
    show_all(communication, &(struct show_options){0});
    show_all(communication, &(struct show_options){.all = true, .histogram = true});
    show_all(communication, &(struct show_options){.json = true, .histogram = true});
    for (enum show_table table = TABLE_ALL; table <= TABLE_PROCEDURES; table++)
        show_all(communication, &(struct show_options){.csv = true, .table = table});
}

static void show_communication(const uint8_t *bytes, size_t size, const struct totals *totals)
{
    struct communication *communication;
    struct memory_source memory[ORIGINS];
    struct source *sources[ORIGINS];
    struct history *history;
    struct problem problem;
    /* thousands of rows over time take long to show: only for few inputs */
    uint64_t every = size % 64 == 1 ? 1000000 : 0;

    for (uint32_t i = 0; i < ORIGINS; i++) {
        open_memory(&memory[i], bytes, size, i);
        sources[i] = &memory[i].source;
    }
    PROMISE(history_new(sources, ORIGINS, &history, &problem) == 0);
    PROMISE(communication_read_history(history, ORIGINS, every, &communication, &problem) == 0);
    history_free(history);
    check_sums(communication, totals);
    show_everywhere(communication);
    communication_free(communication);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct memory_source memory;

    if (size < 1 || size > LONGEST)
        return 0;
    /* As on a user's terminal; if the locale is missing, ASCII must work. */
    setlocale(LC_CTYPE, "C.UTF-8");
    open_memory(&memory, bytes, size, ALL_ORIGINS);
    struct totals totals = count_records(&memory);
    show_communication(bytes, size, &totals);
    open_memory(&memory, bytes, size, ALL_ORIGINS);
    show_records(&memory);
    return 0;
}

/* ---- the example: every type once, then messages between two processes ---- */

struct example {
    uint8_t *bytes;
    size_t room;
    size_t size;
};

static void add(struct example *example, const struct record_header *record)
{
    struct head head = {.id = (uint8_t)(record->id - 1), .wide = 1};

    PROMISE(example->size + sizeof(head) + event_size(record->id) <= example->room);
    memcpy(example->bytes + example->size, &head, sizeof(head));
    memcpy(example->bytes + example->size + sizeof(head), record, event_size(record->id));
    example->size += sizeof(head) + event_size(record->id);
}

static void add_identities(struct example *example)
{
    struct machine_record machine = {
        .header = {.id = EVENT_MACHINE, .flags = RECORD_NO_STREAM},
        .name = "host\xc3\xb6",
        .addresses = "10.0.0.1 ::1",
    };

    add(example, &machine.header);
    for (uint32_t number = 1; number <= 2; number++) {
        struct stream_record stream = {
            .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = number},
            .pid = 10 + number,
            .tid = 10 + number,
            .process = number,
            .parent = number - 1,
            .name = "name",
        };
        struct path_record path = {
            .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
            .path = number,
            .kind = PATH_UNIX_STREAM,
            .family = 1,
            .role = (uint8_t)number,
            .name_end = number == 1 ? PATH_NAME_REMOTE : PATH_NAME_LOCAL,
            .cookie = number,
            .peer = 3 - number,
            .name = "@\"name\"",
        };
        add(example, &stream.header);
        add(example, &path.header);
    }
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    struct example example = {.bytes = bytes, .room = room, .size = 1};

    if (room < 4096)
        return 0;
    bytes[0] = 7;
    add_identities(&example);
    for (uint8_t id = EVENT_SEND; id <= EVENT_IMAGE; id++) {
        struct path_record any = {.header = {.time = 1000, .id = id, .stream = 1}, .path = 1};
        add(&example, &any.header);
    }
    for (uint32_t number = 1; number <= 2; number++) {
        struct record message = {
            .header = {.time = 1000, .id = EVENT_RECEIVE, .stream = number},
            .message = {.path = number, .bytes = 10},
        };
        add(&example, &message.header);
        message.header.id = EVENT_SEND;
        add(&example, &message.header);
    }
    struct end_record end = {.header = {.id = EVENT_END, .flags = RECORD_NO_STREAM}, .reason = 1};
    add(&example, &end.header);
    return example.size;
}
