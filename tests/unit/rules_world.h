/* SPDX-License-Identifier: MIT */
/*
 * rules_world.h: random records with their identities, random rules, and an evaluator of these that knows nothing of
 * src/rules: it works on the rules as they were made, not on their text, and on the members of records.
 *
 *      rules as structs --+-- text ----> rules_parse, rules_judge --+
 *                         '-- naive_judge, one record at a time ----+-- must agree
 */
#ifndef DPM_RULES_WORLD_H
#define DPM_RULES_WORLD_H

#include "event/event.h"
#include "meter/shared/message.h"
#include "seeded.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- the world ---- */

#define WORLD_STREAMS 7u       /* number 0 and the last are never known */
#define WORLD_PATHS   9u       /* likewise */
#define WORLD_PIDS    5000000u /* no process has such a pid */

union world_record {
    struct record_header header;
    struct record event;
    struct stream_record stream;
    struct path_record path;
    struct name_record name;
    struct machine_record machine;
};

struct world {
    uint64_t seed, time;
    uint32_t sequences[WORLD_STREAMS];
    /* as far as the records have said */
    struct stream_record streams[WORLD_STREAMS];
    struct path_record paths[WORLD_PATHS];
    char commands[WORLD_STREAMS][NAME_SIZE];
    char users[3][NAME_SIZE]; /* the names of world_users; "": not known */
    struct machine_record machine;
    bool ended[WORLD_STREAMS];
};

static const char *const world_names[] = {"alpha", "beta", "betamax", "gamma"};
static const uint32_t world_users[] = {0, 33, 1000};
static const char *const world_user_names[] = {"root", "www-data", NULL};

static inline uint64_t world_below(struct world *world, uint64_t limit)
{
    return random_below(&world->seed, limit);
}

static inline struct record_header world_header(struct world *world, unsigned id, uint32_t stream)
{
    world->time += world_below(world, 400000000);
    return (struct record_header){.time = world->time,
                                  .id = (uint8_t)id,
                                  .flags = stream == 0 || id >= EVENT_STREAM ? RECORD_NO_STREAM : 0,
                                  .stream = stream};
}

static inline void world_make_stream(struct world *world, uint32_t number, union world_record *out)
{
    struct stream_record *stream = &out->stream;
    uint32_t user = (uint32_t)world_below(world, 3);

    *stream = (struct stream_record){
        .header = world_header(world, EVENT_STREAM, number),
        .process = number % 2 == 0 ? number - 1 : number, /* 2 is a thread of 1 ... */
        .user = world_users[user],
    };
    stream->pid = WORLD_PIDS + stream->process;
    stream->tid = WORLD_PIDS + number;
    strcpy(stream->name, world_names[world_below(world, ARRAY_SIZE(world_names))]);
    world->streams[number] = *stream;
}

static inline void world_make_command(struct world *world, uint32_t process,
                                      union world_record *out)
{
    out->name = (struct name_record){
        .header = world_header(world, EVENT_NAME, 0), .number = process, .kind = NAME_COMMAND};
    snprintf(out->name.name, NAME_SIZE, "%s -x %u",
             world_names[world_below(world, ARRAY_SIZE(world_names))], process);
    strcpy(world->commands[process], out->name.name);
}

static inline void world_make_user(struct world *world, unsigned index, union world_record *out)
{
    out->name = (struct name_record){.header = world_header(world, EVENT_NAME, 0),
                                     .number = world_users[index],
                                     .kind = NAME_USER};
    strcpy(out->name.name, world_user_names[index]);
    strcpy(world->users[index], world_user_names[index]);
}

static inline void world_make_path(struct world *world, uint32_t number, union world_record *out)
{
    static const uint8_t kinds[] = {PATH_TCP, PATH_UDP, PATH_UNIX_STREAM, PATH_PIPE, PATH_FILE};
    struct path_record *path = &out->path;

    *path = (struct path_record){.header = world_header(world, EVENT_PATH, 0),
                                 .path = number,
                                 .kind = kinds[number % ARRAY_SIZE(kinds)], /* which it keeps */
                                 .inode = number};
    if (kind_is_internet(path->kind)) {
        path->family = AF_INET;
        path->local_port = (uint16_t)(world_below(world, 4) * 10);
        path->remote_port = (uint16_t)(world_below(world, 4) * 10);
        path->remote[0] = 10;
        path->remote[3] = (uint8_t)world_below(world, 3);
    }
    if (path->kind == PATH_UNIX_STREAM)
        path->family = AF_UNIX; /* with a peer that is not known */
    if (path->kind == PATH_FILE)
        snprintf(path->name, sizeof(path->name), "/data/%" PRIu64, world_below(world, 3));
    world->paths[number] = *path;
}

/* Small numbers, so that comparisons are often equal. */
static inline uint32_t world_small(struct world *world)
{
    return (uint32_t)world_below(world, 5);
}

static inline void world_make_event(struct world *world, union world_record *out)
{
    static const uint8_t types[] = {EVENT_SEND,    EVENT_SEND,   EVENT_RECEIVE,      EVENT_SENDCALL,
                                    EVENT_BLOCK,   EVENT_SIGNAL, EVENT_RECEIVECALL,  EVENT_SCHEDULE,
                                    EVENT_CONNECT, EVENT_EXEC,   EVENT_MESSAGEQUEUED};
    uint32_t stream = (uint32_t)world_below(world, WORLD_STREAMS);
    unsigned id = types[world_below(world, ARRAY_SIZE(types))];
    struct record *record = &out->event;

    if (world->ended[stream])
        stream = 0;
    *record = (struct record){.header = world_header(world, id, stream)};
    if (stream == 0 || id == EVENT_SCHEDULE || id == EVENT_MESSAGEQUEUED)
        record->header.flags = RECORD_NO_STREAM;
    else
        record->header.flags = 0;
    if (id == EVENT_MESSAGEQUEUED)
        record->header.stream = 0;
    if (!(record->header.flags & RECORD_NO_STREAM))
        record->header.sequence = world->sequences[stream]++;
    record->header.load = (uint8_t)world_small(world);
    record->header.proc_time_and_pc = world_small(world) | (uint64_t)world_small(world) << 48;
    if (id == EVENT_BLOCK) {
        record->block.system_call = world_small(world);
        record->block.duration = world_small(world) * 1000000ull;
    } else if (id == EVENT_SIGNAL) {
        record->signal.number = (uint8_t)world_small(world);
        record->signal.code = (int16_t)(world_small(world) - 2);
    } else if (id == EVENT_SCHEDULE || id == EVENT_EXEC) {
        record->schedule.runnable = world_small(world) * 1000ull;
    } else {
        record->message.path = (uint32_t)world_below(world, WORLD_PATHS);
        record->message.offset = world_small(world);
        record->message.bytes = world_small(world) * 1024;
        record->message.span = world_small(world);
        record->header.flags |= (uint16_t)(world_below(world, 2) << SPAN_UNIT_SHIFT);
    }
}

static inline void world_make_machine(struct world *world, union world_record *out)
{
    out->machine = (struct machine_record){.header = world_header(world, EVENT_MACHINE, 0),
                                           .meter_flags = METER_ALL_FLAGS,
                                           .name = "alpha-host"};
    world->machine = out->machine;
}

/* The world's record with this index: first who there is, then what happens, and now and then a change of that. */
static inline void world_make(struct world *world, unsigned index, union world_record *out)
{
    memset(out, 0, sizeof(*out));
    if (index == 0)
        world_make_machine(world, out);
    else if (index <= 2)
        world_make_user(world, index - 1, out);
    else if (index < 2 + WORLD_STREAMS - 1)
        world_make_command(world, index - 2, out);
    else if (index < 20)
        world_make_stream(world, 1 + (uint32_t)world_below(world, WORLD_STREAMS - 2), out);
    else if (index < 40)
        world_make_path(world, 1 + (uint32_t)world_below(world, WORLD_PATHS - 2), out);
    else if (world_below(world, 30) == 0)
        world_make_stream(world, 1 + (uint32_t)world_below(world, WORLD_STREAMS - 2), out);
    else if (world_below(world, 60) == 0)
        world_make_path(world, 1 + (uint32_t)world_below(world, WORLD_PATHS - 2), out);
    else
        world_make_event(world, out);
}

/* Learns what an identity record says, from any source. */
static inline void world_note(struct world *world, const struct record_header *header)
{
    const struct name_record *name = (const struct name_record *)header;

    if (header->id == EVENT_MACHINE)
        world->machine = *(const struct machine_record *)header;
    if (header->id == EVENT_STREAM && header->stream < WORLD_STREAMS)
        world->streams[header->stream] = *(const struct stream_record *)header;
    if (header->id == EVENT_PATH && ((const struct path_record *)header)->path < WORLD_PATHS)
        world->paths[((const struct path_record *)header)->path] =
            *(const struct path_record *)header;
    for (unsigned i = 0; i < 3; i++)
        if (header->id == EVENT_NAME && name->kind == NAME_USER && name->number == world_users[i])
            strcpy(world->users[i], name->name);
    if (header->id == EVENT_NAME && name->kind == NAME_COMMAND && name->number < WORLD_STREAMS)
        strcpy(world->commands[name->number], name->name);
}

/* ---- rules as structs ---- */

enum naive_field {
    N_TYPE,
    N_BYTES,
    N_SIZE,
    N_SPAN,
    N_OFFSET,
    N_DURATION,
    N_RUNNABLE,
    N_CODE,
    N_LOAD,
    N_PROC_TIME,
    N_PC,
    N_SEQUENCE,
    N_TIME,
    N_PID,
    N_TID,
    N_USER,
    N_LOCAL_PORT,
    N_REMOTE_PORT,
    N_PORT,
    N_PROCESS,
    N_COMMAND,
    N_USER_NAME,
    N_KIND,
    N_PEER,
    N_FILE,
    N_MACHINE,
    N_CHANNEL,
    N_FIELDS,
};

static const char *const naive_names[N_FIELDS] = {
    "type", "bytes", "size",      "span",       "offset",   "duration", "runnable",
    "code", "load",  "procTime",  "PC",         "sequence", "time",     "pid",
    "tid",  "user",  "localPort", "remotePort", "port",     "process",  "command",
    "user", "kind",  "peer",      "file",       "machine",  "channel"};

enum naive_operator { O_EQUAL, O_UNEQUAL, O_LESS, O_GREATER, O_AT_MOST, O_AT_LEAST, O_ANY };

static const char *const naive_operators[] = {"=", "!=", "<", ">", "<=", ">=", "="};

struct naive_condition {
    enum naive_field field;
    enum naive_operator relation;
    int64_t number;
    char text[40]; /* texts: a word, or the beginning of one and '*' */
    int other;     /* another field; -1: none */
    bool discards;
};

struct naive_rule {
    struct naive_condition conditions[3];
    unsigned count;
};

static inline bool naive_is_text(enum naive_field field)
{
    return field >= N_PROCESS && field != N_CHANNEL;
}

static inline void naive_make_text(struct world *world, struct naive_condition *condition)
{
    static const char *const texts[][4] = {{"alpha", "beta", "be*", "5000001"},
                                           {"alpha*", "beta -x 3", "be*", "*"},
                                           {"root", "www-data", "w*", "0x"},
                                           {"tcp", "udp", "u*", "file"},
                                           {"10.0.0.1", "10.0.0.2:10", "10.*", "*:20"},
                                           {"/data/1", "/data/*", "/etc/x", "/data/2"},
                                           {"alpha-host", "alpha*", "beta", "other"}};

    strcpy(condition->text, texts[condition->field - N_PROCESS][world_below(world, 4)]);
    condition->relation = (enum naive_operator)world_below(world, 2);
    if (strcmp(condition->text, "*") == 0)
        condition->relation = O_ANY;
}

static inline void naive_make_number(struct world *world, struct naive_condition *condition)
{
    static const uint8_t factors[N_FIELDS] = {
        [N_LOCAL_PORT] = 10, [N_REMOTE_PORT] = 10, [N_PORT] = 10};
    uint64_t number = world_small(world);

    condition->relation = (enum naive_operator)world_below(world, 7);
    switch (condition->field) {
    case N_TYPE:
        number = 1 + world_below(world, 6);
        break;
    case N_BYTES:
    case N_SIZE:
        number *= 1024;
        break;
    case N_DURATION:
        number *= 1000000;
        break;
    case N_RUNNABLE:
        number *= 1000;
        break;
    case N_CODE:
        condition->number = (int64_t)number - 2;
        return;
    case N_TIME:
        number = world_below(world, 1000) * 400000000;
        break;
    case N_PID:
    case N_TID:
        number += WORLD_PIDS;
        break;
    case N_USER:
        number = world_users[world_below(world, 3)];
        break;
    default:
        number *= factors[condition->field] == 0 ? 1 : factors[condition->field];
        break;
    }
    condition->number = (int64_t)number;
}

static inline void naive_make_condition(struct world *world, struct naive_condition *condition)
{
    static const int pairs[][2] = {
        {N_LOCAL_PORT, N_REMOTE_PORT}, {N_PID, N_TID}, {N_OFFSET, N_SPAN}, {N_LOAD, N_PROC_TIME}};

    *condition = (struct naive_condition){.field = (enum naive_field)world_below(world, N_FIELDS),
                                          .other = -1};
    if (naive_is_text(condition->field)) {
        naive_make_text(world, condition);
    } else if (world_below(world, 10) == 0) {
        const int *pair = pairs[world_below(world, 4)];
        condition->field = (enum naive_field)pair[0];
        condition->other = pair[1];
        condition->relation = (enum naive_operator)world_below(world, 6);
    } else {
        naive_make_number(world, condition);
    }
    condition->discards =
        (condition->field >= N_BYTES && condition->field <= N_PC) && world_below(world, 3) == 0;
}

static inline void naive_make_rule(struct world *world, struct naive_rule *rule)
{
    rule->count = 1 + (unsigned)world_below(world, 3);
    for (unsigned i = 0; i < rule->count; i++)
        naive_make_condition(world, &rule->conditions[i]);
}

/* ---- their text ---- */

static inline char *naive_value_text(struct world *world, const struct naive_condition *condition,
                                     char *to)
{
    if (condition->relation == O_ANY)
        return stpcpy(to, "*");
    if (condition->other >= 0)
        return stpcpy(to, naive_names[condition->other]);
    if (naive_is_text(condition->field))
        return to + sprintf(to,
                            strchr(condition->text, ' ') != NULL || world_below(world, 2) == 0
                                ? "\"%s\""
                                : "%s",
                            condition->text);
    if (condition->field == N_TYPE && world_below(world, 2) == 0)
        return stpcpy(to, event_type((unsigned)condition->number)->name);
    if (condition->field == N_PC)
        return to + sprintf(to, "%" PRIx64, (uint64_t)condition->number);
    if (condition->field == N_DURATION && world_below(world, 2) == 0)
        return to + sprintf(to, "%" PRId64 "ms", condition->number / 1000000);
    return to + sprintf(to, "%" PRId64, condition->number);
}

static inline char *naive_text(struct world *world, const struct naive_rule *rule, char *to)
{
    static const char *const blanks[] = {"", " ", "\n  ", " # so\n"};

    for (unsigned i = 0; i < rule->count; i++) {
        const struct naive_condition *condition = &rule->conditions[i];
        to += sprintf(to, "%s%s%s%s%s", i == 0 ? "" : ",", blanks[world_below(world, 4)],
                      naive_names[condition->field], world_below(world, 2) == 0 ? "" : " ",
                      naive_operators[condition->relation]);
        if (condition->discards)
            *to++ = '#';
        to = naive_value_text(world, condition, to);
    }
    return stpcpy(to, ";\n");
}

/* ---- their meaning ---- */

static inline const struct stream_record *naive_stream(const struct world *world,
                                                       const struct record *record)
{
    bool of_stream =
        !(record->header.flags & RECORD_NO_STREAM) || record->header.id == EVENT_SCHEDULE;
    const struct stream_record *stream = &world->streams[record->header.stream];

    return of_stream && stream->header.id != 0 ? stream : NULL;
}

static inline bool naive_has_path(const struct record *record)
{
    switch (record->header.id) {
    case EVENT_SEND:
    case EVENT_SENDCALL:
    case EVENT_RECEIVE:
    case EVENT_RECEIVECALL:
    case EVENT_MESSAGEQUEUED:
    case EVENT_CONNECT:
        return true;
    default:
        return false;
    }
}

static inline const struct path_record *naive_path(const struct world *world,
                                                   const struct record *record)
{
    const struct path_record *path = &world->paths[record->message.path % WORLD_PATHS];

    return naive_has_path(record) && path->header.id != 0 ? path : NULL;
}

/* Whether the record has the field, and its value. */
static inline bool naive_number(const struct world *world, enum naive_field field,
                                const struct record *record, int64_t *value)
{
    const struct stream_record *stream = naive_stream(world, record);
    const struct path_record *path = naive_path(world, record);
    unsigned id = record->header.id;
    bool made = !(record->header.flags & RECORD_NO_STREAM);
    bool internet = path != NULL && (path->kind == PATH_TCP || path->kind == PATH_UDP);

    switch (field) {
    case N_TYPE:
        *value = id;
        return true;
    case N_BYTES:
        *value = record->message.bytes;
        return naive_has_path(record);
    case N_SIZE:
        *value = record->message.bytes;
        return naive_has_path(record) && id != EVENT_RECEIVECALL && id != EVENT_CONNECT;
    case N_SPAN:
        *value = (int64_t)record->message.span
                 << 4 * ((record->header.flags >> SPAN_UNIT_SHIFT) & 7);
        return naive_has_path(record) && id != EVENT_MESSAGEQUEUED;
    case N_OFFSET:
        *value = record->message.offset;
        return naive_has_path(record);
    case N_DURATION:
        *value = (int64_t)record->block.duration;
        return id == EVENT_BLOCK;
    case N_RUNNABLE:
        *value = (int64_t)record->schedule.runnable;
        return id == EVENT_SCHEDULE;
    case N_CODE:
        *value = record->signal.code;
        return id == EVENT_SIGNAL;
    case N_LOAD:
        *value = record->header.load;
        return made;
    case N_PROC_TIME:
        *value = (int64_t)record_proc_time(&record->header);
        return made || id == EVENT_SCHEDULE;
    case N_PC:
        *value = (int64_t)record_pc(&record->header);
        return made && *value != 0;
    case N_SEQUENCE:
        *value = record->header.sequence;
        return made;
    case N_TIME:
        *value = (int64_t)record->header.time;
        return true;
    case N_PID:
        *value = stream == NULL ? 0 : stream->pid;
        return stream != NULL;
    case N_TID:
        *value = stream == NULL ? 0 : stream->tid;
        return stream != NULL;
    case N_USER:
        *value = stream == NULL ? 0 : stream->user;
        return stream != NULL;
    case N_LOCAL_PORT:
        *value = internet ? path->local_port : 0;
        return *value != 0;
    case N_REMOTE_PORT:
        *value = internet ? path->remote_port : 0;
        return *value != 0;
    default:
        return false;
    }
}

static inline bool naive_compare(enum naive_operator relation, int64_t left, int64_t right)
{
    switch (relation) {
    case O_EQUAL:
        return left == right;
    case O_UNEQUAL:
        return left != right;
    case O_LESS:
        return left < right;
    case O_GREATER:
        return left > right;
    case O_AT_MOST:
        return left <= right;
    case O_AT_LEAST:
        return left >= right;
    default:
        return true;
    }
}

/* "*end", "beginning*" or a word. */
static inline bool naive_like(const char *pattern, const char *text)
{
    size_t length = strlen(pattern), size = strlen(text);

    if (pattern[0] == '*')
        return size >= length - 1 && strcmp(text + size - (length - 1), pattern + 1) == 0;
    if (pattern[length - 1] == '*')
        return strncmp(pattern, text, length - 1) == 0;
    return strcmp(pattern, text) == 0;
}

/* Up to two texts of the field; false: it is not known. */
static inline bool naive_texts(const struct world *world, enum naive_field field,
                               const struct record *record, char texts[2][NAME_SIZE])
{
    static const char *const kinds[] = {[PATH_TCP] = "tcp",
                                        [PATH_UDP] = "udp",
                                        [PATH_UNIX_STREAM] = "unix-stream",
                                        [PATH_PIPE] = "pipe",
                                        [PATH_FILE] = "file"};
    const struct stream_record *stream = naive_stream(world, record), *first = stream;
    const struct path_record *path = naive_path(world, record);

    texts[1][0] = '\0';
    if (stream != NULL && world->streams[stream->process].header.id != 0)
        first = &world->streams[stream->process];
    switch (field) {
    case N_PROCESS:
        if (stream == NULL)
            return false;
        strcpy(texts[0], first->name);
        return true;
    case N_COMMAND:
        if (stream == NULL)
            return false;
        strcpy(texts[0], world->commands[stream->process]);
        return texts[0][0] != '\0';
    case N_USER_NAME:
        if (stream == NULL)
            return false;
        strcpy(texts[0], world->users[stream->user == 0 ? 0 : stream->user == 33 ? 1 : 2]);
        return texts[0][0] != '\0';
    case N_KIND:
        if (path == NULL)
            return false;
        strcpy(texts[0], kinds[path->kind]);
        return true;
    case N_PEER:
        if (path == NULL || path->kind == PATH_UNIX_STREAM)
            return false;
        if (path->kind == PATH_TCP || path->kind == PATH_UDP) {
            snprintf(texts[0], NAME_SIZE, "10.0.0.%u:%u", path->remote[3], path->remote_port);
            snprintf(texts[1], NAME_SIZE, "10.0.0.%u", path->remote[3]);
        } else {
            if (path->kind == PATH_FILE)
                strcpy(texts[0], path->name);
            else
                snprintf(texts[0], NAME_SIZE, "pipe:[%" PRIu64 "]", path->inode);
        }
        return true;
    case N_FILE:
        if (path == NULL || path->kind != PATH_FILE)
            return false;
        strcpy(texts[0], path->name);
        return true;
    default:
        strcpy(texts[0], world->machine.name);
        return true;
    }
}

static inline bool naive_text_holds(const struct world *world,
                                    const struct naive_condition *condition,
                                    const struct record *record)
{
    char texts[2][NAME_SIZE];
    char first_word[NAME_SIZE];

    if (!naive_texts(world, condition->field, record, texts))
        return false;
    bool equal = naive_like(condition->text, texts[0]) ||
                 (texts[1][0] != '\0' && naive_like(condition->text, texts[1]));
    if (condition->field == N_PROCESS || condition->field == N_COMMAND) {
        /* by the program in the command line, too; processes also by pid */
        const struct stream_record *stream = naive_stream(world, record);
        snprintf(first_word, NAME_SIZE, "%s", world->commands[stream->process]);
        first_word[strcspn(first_word, " ")] = '\0';
        equal = equal || strcmp(first_word, condition->text) == 0 ||
                (strchr(condition->text, ' ') != NULL &&
                 strstr(world->commands[stream->process], condition->text) != NULL);
        if (condition->field == N_PROCESS && stream->pid == WORLD_PIDS + 1)
            equal = equal || strcmp(condition->text, "5000001") == 0;
    }
    return condition->relation == O_ANY || equal == (condition->relation == O_EQUAL);
}

static inline bool naive_holds(const struct world *world, const struct naive_condition *condition,
                               const struct record *record)
{
    int64_t left, right = condition->number;
    int64_t local, remote;

    if (naive_is_text(condition->field))
        return naive_text_holds(world, condition, record);
    if (condition->field == N_PORT) {
        bool has_local = naive_number(world, N_LOCAL_PORT, record, &local);
        bool has_remote = naive_number(world, N_REMOTE_PORT, record, &remote);
        const struct path_record *path = naive_path(world, record);
        if (path == NULL || (path->kind != PATH_TCP && path->kind != PATH_UDP))
            return false;
        if (condition->relation == O_UNEQUAL)
            return path->local_port != right && path->remote_port != right;
        return (has_local && naive_compare(condition->relation, local, right)) ||
               (has_remote && naive_compare(condition->relation, remote, right));
    }
    if (!naive_number(world, condition->field, record, &left))
        return false;
    if (condition->other >= 0 &&
        !naive_number(world, (enum naive_field)condition->other, record, &right))
        return false;
    return naive_compare(condition->relation, left, right);
}

/* The bit in `absent` of a discarded field. */
static inline uint64_t naive_bit(enum naive_field field)
{
    switch (field) {
    case N_LOAD:
        return 1ull << 2;
    case N_PROC_TIME:
        return 1ull << 5;
    case N_PC:
        return 1ull << 6;
    case N_OFFSET:
        return 1ull << (8 + 1);
    case N_BYTES:
    case N_SIZE:
        return 1ull << (8 + 2);
    case N_SPAN:
        return 1ull << (8 + 3);
    case N_DURATION:
        return 1ull << (8 + 2); /* of BLOCK: systemCall, state, duration */
    case N_RUNNABLE:
        return 1ull << 8;
    case N_CODE:
        return 1ull << (8 + 2); /* of SIGNAL: signal, result, code */
    default:
        return 0;
    }
}

/* The rule that accepts the event, or -1, and what it discards. */
static inline int naive_judge(const struct world *world, const struct naive_rule *rules,
                              unsigned count, const struct record *record, uint64_t *absent)
{
    *absent = 0;
    for (unsigned i = 0; i < count; i++) {
        bool holds = true;
        for (unsigned j = 0; j < rules[i].count; j++)
            holds = holds && naive_holds(world, &rules[i].conditions[j], record);
        if (!holds)
            continue;
        for (unsigned j = 0; j < rules[i].count; j++)
            if (rules[i].conditions[j].discards)
                *absent |= naive_bit(rules[i].conditions[j].field);
        return (int)i;
    }
    return -1;
}

#endif
