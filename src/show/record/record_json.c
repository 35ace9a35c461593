/* SPDX-License-Identifier: MIT */
/*
 * record_json.c: a record as one line of JSON. Keys are stable; dpm-dump(1) describes them.
 *
 *      head     time, time_ns, event, machine, origin, pid, tid, stream, name, sequence, cpu_ns, load
 *      body     the fields of the type's table, named in lower case with underscores
 *      context  for a path its kind and addresses, for a child its pid ...
 *      where    the PC; its procedure and module, if known
 *      flags    only those that are set
 */
#include "meter/shared/message.h"
#include "show/record/record_face.h"
#include "show/text/json.h"
#include "show/text/system_call.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define KEY_SIZE 32

/* An object under construction; `failed` stays set after the first failure. */
struct object {
    json_t *json;
    bool failed;
};

static void set(struct object *object, const char *key, json_t *value)
{
    if (json_object_set_new(object->json, key, value) < 0)
        object->failed = true;
}

static void set_number(struct object *object, const char *key, uint64_t value)
{
    set(object, key, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

static void set_text(struct object *object, const char *key, const char *text, size_t size)
{
    char safe[512];

    if (size >= sizeof(safe))
        size = sizeof(safe) - 1;
    show_text(text, size, safe);
    set(object, key, json_string_nocheck(safe));
}

static void set_bytes(struct object *object, const char *key, const uint8_t *bytes, size_t size)
{
    char text[64] = "";

    for (size_t i = 0; i < size && i < sizeof(text) / 2 - 1; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    set(object, key, json_string_nocheck(text));
}

/* ---- the head ---- */

/* Bits of event.absent: fields of the header. */
#define ABSENT_LOAD (1u << 2)
#define ABSENT_CPU  (1u << 5)

static void set_stream(struct object *object, const struct stream_record *stream)
{
    if (stream == NULL)
        return;
    set_number(object, "pid", stream->pid);
    set_number(object, "tid", stream->tid);
}

static void set_head(struct object *object, struct record_face *face, const struct event *event)
{
    const struct record_header *header = event->header;
    const struct machine_record *machine = identities_machine(face->identities, event->origin);
    struct wall_time wall = record_wall_time(face, event);
    bool has_stream = record_has_stream(header);
    const struct stream_record *stream =
        has_stream ? identities_stream(face->identities, event->origin, header->stream) : NULL;
    char time[64];

    snprintf(time, sizeof(time), "%.10sT%s.%09u%s", wall.second, wall.second + 11, wall.ns,
             wall.zone);
    set(object, "time", json_string_nocheck(time));
    set_number(object, "time_ns", header->time);
    set(object, "event", json_string_nocheck(event_type(header->id)->name));
    if (machine != NULL)
        set_text(object, "machine", machine->name, sizeof(machine->name));
    set_number(object, "origin", event->origin);
    set_stream(object, stream);
    set_number(object, "stream", header->stream);
    if (stream != NULL)
        set_text(object, "name", stream->name, sizeof(stream->name));
    bool made_by_stream = has_stream && !(header->flags & RECORD_NO_STREAM);
    if (made_by_stream)
        set_number(object, "sequence", header->sequence);
    if ((made_by_stream || header->id == EVENT_SCHEDULE) && !(event->absent & ABSENT_CPU))
        set_number(object, "cpu_ns", record_proc_time(header));
    if (!(event->absent & ABSENT_LOAD))
        set_number(object, "load", header->load);
}

/* ---- the body ---- */

/* Fields whose name means something else in the head, or lacks the unit. */
static const struct {
    uint8_t event; /* 0: any type */
    const char *field;
    const char *key;
} renamed[] = {
    {EVENT_BLOCK, "duration", "duration_ns"},
    {EVENT_IMAGE, "load", "load_address"},
    {EVENT_IMAGE, "name", "file"},
    {EVENT_PATH, "name", "unix_name"},
    {EVENT_MODULE, "name", "file"},
    {EVENT_PROCEDURE, "name", "procedure"},
    {EVENT_NAME, "name", "called"},
    {EVENT_NETWORK, "roundTrip", "round_trip_us"},
    {EVENT_SCHEDULE, "runnable", "runnable_ns"},
    {EVENT_COST, "cpu", "recorder_cpu_ns"},
    {EVENT_COST, "hook", "hook_ns"},
    {0, "span", "span_ns"},
    {0, "procTime", "cpu_ns"},
    {0, "PC", "pc"},
};

/* "failedSends" -> "failed_sends". */
static void key_of(unsigned event, const char *field, char key[KEY_SIZE])
{
    char *to = key;

    for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
        if ((renamed[i].event == event || renamed[i].event == 0) &&
            strcmp(renamed[i].field, field) == 0) {
            snprintf(key, KEY_SIZE, "%s", renamed[i].key);
            return;
        }
    for (; *field != '\0' && to < key + KEY_SIZE - 2; field++) {
        if (isupper((unsigned char)*field))
            *to++ = '_';
        *to++ = (char)tolower((unsigned char)*field);
    }
    *to = '\0';
}

static bool is_unknown(const struct event_type *type, const char *key, uint64_t value)
{
    switch (type->id) {
    case EVENT_BLOCK:
        return strcmp(key, "system_call") == 0 && value == NO_SYSTEM_CALL;
    case EVENT_DECISION:
        if (strcmp(key, "predicted") == 0 || strcmp(key, "noise") == 0)
            return value == DECISION_NOT_KNOWN;
        return value == NOT_KNOWN;
    case EVENT_SUMMARY:
    case EVENT_CGROUP:
        return value == NOT_KNOWN;
    default:
        return false;
    }
}

static void set_field_number(struct object *object, const char *key, const struct event_type *type,
                             uint64_t value)
{
    if (is_unknown(type, key, value))
        set(object, key, json_null());
    else
        set_number(object, key, value);
}

static void set_field(struct object *object, const struct event_type *type,
                      const struct event_field *field, const struct record_header *header)
{
    const char *at = (const char *)header + field->offset;
    char key[KEY_SIZE];

    key_of(type->id, field->name, key);
    switch (field->kind) {
    case FIELD_UNSIGNED:
    case FIELD_HEX:
        set_field_number(object, key, type, event_field_value(field, header));
        break;
    case FIELD_SIGNED:
        set(object, key, json_integer((int16_t)event_field_value(field, header)));
        break;
    case FIELD_SPAN:
        set_number(object, key, message_span((const struct record *)header));
        break;
    case FIELD_TEXT:
        set_text(object, key, at, field->size);
        break;
    case FIELD_BYTES:
        set_bytes(object, key, (const uint8_t *)at, field->size);
        break;
    }
}

/* ---- context ---- */

static void set_path(struct object *object, const struct path_record *path)
{
    char text[ENDPOINT_SIZE];

    if (path == NULL)
        return;
    set(object, "kind", json_string_nocheck(path_kind_name(path->kind)));
    set_number(object, "inode", path->inode);
    endpoint_local(path, text);
    set_text(object, "local", text, sizeof(text));
    endpoint_remote(path, text);
    set_text(object, "remote", text, sizeof(text));
}

static void set_child(struct object *object, const struct record_face *face,
                      const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct stream_record *child =
        identities_stream(face->identities, event->origin, record->create.child);

    if (child != NULL) {
        set_number(object, "child_pid", child->pid);
        set_number(object, "child_tid", child->tid);
    }
    set(object, "thread", json_boolean(record->create.thread));
}

static void set_woken(struct object *object, const struct record_face *face,
                      const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct stream_record *woken =
        identities_stream(face->identities, event->origin, record->wakeup.woken);

    if (woken != NULL) {
        set_number(object, "woken_pid", woken->pid);
        set_number(object, "woken_tid", woken->tid);
    }
}

static void set_receiver(struct object *object, const struct record *record)
{
    const char *name = sigabbrev_np(record->signal.number);
    char text[32];

    if (name == NULL)
        return;
    snprintf(text, sizeof(text), "SIG%s", name);
    set(object, "signal_name", json_string_nocheck(text));
}

static void set_image(struct object *object, const struct record_face *face,
                      const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct image_record *image =
        identities_image(face->identities, event->origin, record->exec.image);

    if (image != NULL)
        set_text(object, "image", image->name, sizeof(image->name));
    set(object, "left", json_boolean(record->exec.left));
}

static void set_names(struct object *object, const struct record_face *face,
                      const struct event *event)
{
    const struct stream_record *stream = (const struct stream_record *)event->header;
    const char *user = identities_user_name(face->identities, event->origin, stream->user);
    const char *cgroup = identities_cgroup_name(face->identities, event->origin, stream->cgroup);
    const char *command = identities_command(face->identities, event->origin, stream->process);

    if (user != NULL)
        set_text(object, "user_name", user, NAME_SIZE);
    if (cgroup != NULL)
        set_text(object, "cgroup_name", cgroup, NAME_SIZE);
    if (command != NULL)
        set_text(object, "command", command, NAME_SIZE);
}

static void set_system_call(struct object *object, uint32_t call)
{
    char name[UNIT_SIZE];

    if (call == NO_SYSTEM_CALL)
        return;
    system_call_text(call, name);
    set(object, "system_call_name", json_string_nocheck(name));
}

/* One that waits on several paths has the number of its system call in place of an offset. */
static bool waits_on_several(const struct record *record)
{
    return record->header.id == EVENT_RECEIVECALL && record->message.path == 0;
}

static void set_any(struct object *object, const struct record *record)
{
    set_system_call(object, any_call(record));
    set_number(object, "offset", any_call(record));
    set_number(object, "bytes", 0);
    if (record->any.only_path != 0)
        set_number(object, "only_path", record->any.only_path);
    if (any_limit(record) == UINT64_MAX)
        set(object, "time_limit_ns", json_null());
    else if (any_limit(record) != 0)
        set_number(object, "time_limit_ns", any_limit(record));
}

/* What a BLOCK waited for. */
static void set_object(struct object *object, const struct record_face *face,
                       const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const char *name;
    enum wait_object kind =
        identities_object(face->identities, event->origin, record->block.object, &name);
    char text[OBJECT_TEXT_SIZE];

    object_text(kind, name, text);
    if (text[0] != '\0')
        set_text(object, "waited_on", text, sizeof(text));
}

/* "pc" is bit 62 of `meter_flags`: most readers of JSON round a number of so many bits, and lose the lowest ones. */
static void set_metered(struct object *object, uint64_t flags)
{
    json_t *list = json_array();

    for (unsigned id = 1; id < EVENT_ID_END; id++)
        if ((flags & METER_EVENT_FLAGS & EVENT_FLAG(id)) != 0 &&
            json_array_append_new(list, json_string_nocheck(event_type(id)->name)) < 0)
            object->failed = true;
    if ((flags & METER_FLAG_PC) != 0 && json_array_append_new(list, json_string_nocheck("pc")) < 0)
        object->failed = true;
    set(object, "metered", list);
}

static void set_known(struct object *object, const struct record_face *face,
                      const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (waits_on_several(record))
        set_any(object, record);
    switch (event->header->id) {
    case EVENT_BLOCK:
        set_system_call(object, record->block.system_call);
        set_object(object, face, event);
        set_number(object, "no_cpu_ns", face->no_cpu.of_block);
        break;
    case EVENT_SEND:
    case EVENT_SENDCALL:
    case EVENT_RECEIVECALL:
    case EVENT_RECEIVE:
    case EVENT_MESSAGEQUEUED:
    case EVENT_CREATEPATH:
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
    case EVENT_DESTROYPATH:
    case EVENT_READ:
    case EVENT_WRITE:
    case EVENT_CONNECTFAILED: /* the path is its first field, too */
        set_path(object, identities_path(face->identities, event->origin, record->message.path));
        break;
    case EVENT_STREAM:
        set_names(object, face, event);
        break;
    case EVENT_MACHINE:
        set_metered(object, ((const struct machine_record *)event->header)->meter_flags);
        break;
    case EVENT_FLAGS:
        set_metered(object, ((const struct flags_record *)event->header)->meter_flags);
        break;
    case EVENT_NETWORK:
        set_path(object, identities_path(face->identities, event->origin, record->network.path));
        break;
    case EVENT_DROPPED:
        set_path(object, identities_path(face->identities, event->origin, record->dropped.path));
        break;
    case EVENT_PATH:
        set_path(object, (const struct path_record *)event->header);
        break;
    case EVENT_CREATEPROCESS:
        set_child(object, face, event);
        break;
    case EVENT_WAKEUP:
        set_woken(object, face, event);
        break;
    case EVENT_EXEC:
        set_image(object, face, event);
        break;
    case EVENT_SIGNAL:
        set_receiver(object, record);
        break;
    case EVENT_TERMINATION:
        set(object, "last", json_boolean(record->termination.last));
        break;
    default:
        break;
    }
}

static void set_pc(struct object *object, const struct record_face *face, const struct event *event)
{
    uint64_t pc = record_event_pc(event->header);
    const struct module_record *module = NULL;

    if (pc == 0)
        return;
    const struct procedure_record *procedure =
        identities_procedure(face->identities, event->origin, event->header->stream, pc, &module);
    set_number(object, "pc", pc);
    if (procedure == NULL)
        return;
    if (procedure->name[0] != '\0')
        set_text(object, "procedure", procedure->name, sizeof(procedure->name));
    set_number(object, "procedure_offset", procedure->offset);
    if (module != NULL)
        set_text(object, "module", module->name, sizeof(module->name));
}

static void set_flags(struct object *object, const struct record_header *header)
{
    unsigned flags = header->flags;
    const struct {
        unsigned flag;
        const char *key;
    } names[] = {
        {RECORD_CONTINUED, "continued"},
        {RECORD_CALL_IMPLIED, "call_implied"},
        {RECORD_OLDER, "older"},
        {RECORD_PACKETS, "packets"},
        {RECORD_CONCURRENT, "concurrent"},
        {RECORD_PREEMPTED, header->id == EVENT_SENDCALL ? "preempted"
                           : header->id == EVENT_PATH   ? "unused"
                                                        : "mapped"},
        {RECORD_COUNTED, header->id == EVENT_PATH ? "counted"
                         : header->id == EVENT_WRITE || header->id == EVENT_CREATEPATH
                             ? "truncated"
                             : "whole_call"},
        {RECORD_SAME_CALL, "same_call"},
        {RECORD_LIBRARY, "library"},
        {RECORD_END_OF_FILE, "end_of_file"},
        {RECORD_MANY, "many_receivers"},
        {RECORD_TIME_LIMIT, "time_limit"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (flags & names[i].flag)
            set(object, names[i].key, json_true());
}

/* Prints a record and frees it. jansson writes to a file in pieces of a few characters; one write per line takes 25%
 * less time. Write errors stay in the file. */
static int print_line(json_t *json, FILE *file)
{
    char line[8192]; /* twice the largest record with all keys */
    size_t length = json_dumpb(json, line, sizeof(line), JSON_COMPACT);
    int result = 0;

    if (length > 0 && length < sizeof(line)) {
        fwrite(line, 1, length, file);
        json_decref(json);
    } else {
        result = json_print(json, JSON_COMPACT, file);
    }
    fputc('\n', file);
    return result;
}

/* ---- edges that lead to it ---- */

static json_t *edge_object(const struct history_edge *edge)
{
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:I}", "kind", edge_kind_name(edge->kind), "origin",
                  (json_int_t)edge->origin, "stream", (json_int_t)edge->stream, "sequence",
                  (json_int_t)edge->sequence, "event", event_type(edge->id)->name, "bytes",
                  (json_int_t)edge->bytes);

    if (object != NULL &&
        ((edge->doubtful && json_object_set_new(object, "doubtful", json_true()) < 0) ||
         (edge->earlier && json_object_set_new(object, "earlier", json_true()) < 0))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static void set_matched(struct object *object, const struct history_event *event)
{
    json_t *edges;

    if (event->edge_count > 0) {
        edges = json_array();
        for (uint32_t i = 0; i < event->edge_count; i++)
            if (json_array_append_new(edges, edge_object(&event->edges[i])) < 0)
                object->failed = true;
        set(object, "edges", edges);
    }
    if (event->rest != REST_NONE)
        set(object, "rest",
            json_pack("{s:I, s:s}", "bytes", (json_int_t)event->rest_bytes, "why",
                      history_rest_name(event->rest)));
}

/* Names the fields that a selection has removed. Their keys do not occur. */
static void set_absent(struct object *object, const struct event_type *type, uint64_t absent)
{
    json_t *names = json_array();
    char key[KEY_SIZE];

    for (unsigned bit = 0; bit < 64; bit++) {
        const struct event_field *field = event_absent_field(type, bit);
        if (!(absent >> bit & 1) || field == NULL)
            continue;
        key_of(type->id, field->name, key);
        if (json_array_append_new(names, json_string(key)) < 0)
            object->failed = true;
    }
    set(object, "absent", names);
}

/* Fields of a WAKEUP that say something only where it begins a collective function. */
static bool is_without_meaning(const struct event *event, const struct event_field *field)
{
    const struct record *record = (const struct record *)event->header;

    return record->header.id == EVENT_WAKEUP && record->wakeup.woken != 0 &&
           (strcmp(field->name, "call") == 0 || strcmp(field->name, "communicator") == 0);
}

int show_record_json(struct record_face *face, const struct event *event)
{
    const struct event_type *type = event_type(event->header->id);
    struct object object = {.json = json_object()};

    set_head(&object, face, event);
    for (size_t i = 0; type->fields[i].name != NULL; i++)
        if (!(event->absent & EVENT_BODY_FIELD_BIT(i)) &&
            !is_without_meaning(event, &type->fields[i]))
            set_field(&object, type, &type->fields[i], event->header);
    if (event->absent != 0)
        set_absent(&object, type, event->absent);
    set_known(&object, face, event);
    set_pc(&object, face, event);
    set_flags(&object, event->header);
    if (face->matched != NULL)
        set_matched(&object, face->matched);
    if (!object.failed)
        return print_line(object.json, face->file);
    json_decref(object.json);
    return -ENOMEM;
}
