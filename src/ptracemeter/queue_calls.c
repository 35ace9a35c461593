/* SPDX-License-Identifier: MIT */
/*
 * queue_calls.c: messages in System V and POSIX message queues. The messages of each type, or priority, are a path of
 * their own, because a queue is first in, first out among them.
 *
 *      queue --+-- itself: calls in progress, whether positions are certain
 *              '-- type 5: messages sent and received so far; the paths of its two ends
 *
 * Offsets are counted when calls end. If calls overlap, their order is uncertain (RECORD_CONCURRENT).
 */
#include "ptracemeter/queue_calls.h"

#include "base/mapping.h"
#include "meter/shared/message.h"
#include "ptracemeter/calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MSG_COPY
#define MSG_COPY 040000
#endif

#define ALL_TYPES (-1)
#define IDLE_LONG (60000 * MILLISECOND)

/* Identifies a queue, or the messages of one type. */
struct queue_key {
    uint64_t identity; /* msqid, or inode */
    uint64_t place;    /* inode of the IPC namespace, or device */
    int64_t type;
    uint64_t kind; /* enum path_kind */
};

struct message_queue {
    struct queue_key key;
    uint32_t index; /* in the pool */
    uint32_t out, in;
    uint32_t paths[2]; /* numbers; 0: not recorded yet */
    uint64_t used;     /* when a message was last counted */
    uint32_t serial;
    bool older; /* not made by a tracee, as far as is known: others may use it */
    /* set in the entry of the whole queue (all types): */
    uint32_t sending, receiving; /* calls in progress */
    uint32_t sent, received;     /* calls begun */
    bool doubtful;
    uint32_t priorities; /* number of those seen */
    int64_t priority;    /* the only one */
};

/* ---- queues ---- */

static struct message_queue *find(struct ptracemeter *meter, const struct queue_key *key, bool add)
{
    uint64_t hash = hash_bytes(0, key, sizeof(*key));
    uint32_t found = lookup_find(&meter->queue_keys, hash);

    if (found != LOOKUP_NONE)
        return pool_at(&meter->queues, found);
    int64_t index = add ? pool_take(&meter->queues) : -1;
    if (index >= 0 && lookup_set(&meter->queue_keys, hash, (uint32_t)index) < 0) {
        pool_give(&meter->queues, (uint32_t)index);
        index = -1;
    }
    if (index < 0) {
        meter->shortfalls.no_memory += add;
        return NULL;
    }
    struct message_queue *queue = pool_at(&meter->queues, (uint32_t)index);
    *queue = (struct message_queue){
        .key = *key, .index = (uint32_t)index, .serial = ++meter->last_queue};
    return queue;
}

static bool key_of_sysv(const struct tracee *tracee, int id, struct queue_key *key)
{
    char path[64];
    struct stat space;

    snprintf(path, sizeof(path), "/proc/%d/ns/ipc", tracee->tid);
    if (id < 0 || stat(path, &space) < 0)
        return false;
    *key = (struct queue_key){
        .identity = (uint64_t)id, .place = space.st_ino, .type = ALL_TYPES, .kind = PATH_MQ_SYSV};
    return true;
}

/* A queue's file system has no other files. */
static bool key_of_posix(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                         struct queue_key *key)
{
    struct stat file;

    if (descriptor < 0 || !descriptor_file(meter, tracee, descriptor, &file) ||
        !S_ISREG(file.st_mode))
        return false;
    *key = (struct queue_key){.identity = file.st_ino,
                              .place = file_device(file.st_dev),
                              .type = ALL_TYPES,
                              .kind = PATH_MQ_POSIX};
    return true;
}

static bool is_sysv(const struct call *call)
{
    return call->number == SYS_msgget || call->number == SYS_msgsnd || call->number == SYS_msgrcv;
}

static bool is_opening(const struct call *call)
{
    return call->number == SYS_msgget || call->number == SYS_mq_open;
}

bool queue_call_receives(const struct call *call)
{
    return call->number == SYS_msgrcv || call->number == SYS_mq_timedreceive;
}

static bool key_of(struct ptracemeter *meter, struct tracee *tracee, int number,
                   struct queue_key *key)
{
    return is_sysv(&tracee->call) ? key_of_sysv(tracee, number, key)
                                  : key_of_posix(meter, tracee, number, key);
}

/* ---- calls begin ---- */

bool queue_call_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;
    struct queue_key key;

    if (is_opening(call))
        return true;
    if (!key_of(meter, tracee, (int)call->arguments[0], &key))
        return false;
    struct message_queue *queue = find(meter, &key, false);
    if (queue == NULL) {
        queue = find(meter, &key, true);
        if (queue == NULL)
            return false;
        queue->older = true;
    }
    call->queue = queue->index + 1;
    if (queue_call_receives(call)) {
        queue->received++;
        call->other_receives = queue->receiving > 0 ? 0 : queue->received;
        queue->receiving++;
    } else {
        queue->sent++;
        call->other_sends = queue->sending > 0 ? 0 : queue->sent;
        queue->sending++;
    }
    return true;
}

void queue_call_dropped(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;

    if (call->queue == 0)
        return;
    struct message_queue *queue = pool_at(&meter->queues, call->queue - 1);
    call->queue = 0;
    if (queue_call_receives(call))
        queue->receiving--;
    else
        queue->sending--;
}

/* ---- paths ---- */

static void name_queue(const struct tracee *tracee, struct path_record *record)
{
    char path[64], name[4096];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", tracee->tid, (int)tracee->call.arguments[0]);
    ssize_t length = readlink(path, name, sizeof(name) - 1);
    name[length < 0 ? 0 : length] = '\0';
    char *end = strstr(name, " (deleted)");
    if (end != NULL)
        *end = '\0';
    const char *last = strrchr(name, '/');
    record->name_end = PATH_NAME_LOCAL;
    snprintf(record->name, sizeof(record->name), "%.*s", PATH_NAME_SIZE - 1,
             last == NULL ? name : last);
}

static uint32_t path_of(struct ptracemeter *meter, struct tracee *tracee,
                        struct message_queue *queue, unsigned end)
{
    if (queue->paths[end] != 0)
        return queue->paths[end];
    struct path_record record = {
        .header = {.id = EVENT_PATH,
                   .flags = (uint16_t)(RECORD_NO_STREAM | (queue->older ? RECORD_OLDER : 0))},
        .path = ++meter->last_path,
        .kind = (uint8_t)queue->key.kind,
        .role = end == PIPE_WRITTEN ? PATH_ROLE_WRITES : PATH_ROLE_READS,
        .cookie = (uint64_t)queue->serial << 1 | end,
        .inode = queue->key.identity,
        .network = (uint32_t)queue->key.place,
    };
    queue->paths[end] = record.path;
    record.peer = record.cookie ^ 1;
    record.header.time = tell_time(meter);
    memcpy(record.local, &queue->key.type, sizeof(queue->key.type));
    if (queue->key.kind == PATH_MQ_POSIX && !meter->no_proc)
        name_queue(tracee, &record);
    tell(meter, &record.header);
    const struct message message = {.path = record.path};
    tell_message(meter, tracee, EVENT_CREATEPATH, &message);
    return record.path;
}

/* ---- calls end ---- */

/* Whether the call can only have made a new queue. */
static bool makes_one(const struct call *call)
{
    const uint64_t *arguments = call->arguments;

    if (is_sysv(call))
        return (key_t)arguments[0] == IPC_PRIVATE ||
               (arguments[1] & (IPC_CREAT | IPC_EXCL)) == (IPC_CREAT | IPC_EXCL);
    return (arguments[1] & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

/* In another namespace the number is that of another queue, or of none. */
static bool is_in_our_namespace(const struct queue_key *key)
{
    struct stat ours;

    return stat("/proc/self/ns/ipc", &ours) == 0 && ours.st_ino == key->place;
}

/* Whether no message was ever sent to a queue that a tracee has just opened. */
static bool is_unused(const struct call *call, const struct queue_key *key)
{
    struct msqid_ds status;

    return makes_one(call) ||
           (is_sysv(call) && is_in_our_namespace(key) &&
            msgctl((int)key->identity, IPC_STAT, &status) == 0 && status.msg_stime == 0);
}

static void opened(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct queue_key key;

    if (result < 0 || !key_of(meter, tracee, (int)result, &key) || find(meter, &key, false) != NULL)
        return;
    struct message_queue *queue = find(meter, &key, true);
    if (queue != NULL)
        queue->older = !is_unused(&tracee->call, &key);
}

static void note_priority(struct message_queue *whole, int64_t type)
{
    if (whole->priorities == 0 || (whole->priorities == 1 && whole->priority != type))
        whole->priorities++;
    whole->priority = type;
}

/* False: it cannot be known. From a receiver that does not ask for the priority on, no count is certain: a message that is
 * in the queue already, but not counted yet, may be the first of another priority. */
static bool type_of_message(const struct tracee *tracee, struct message_queue *whole,
                            int64_t *ret_type)
{
    const struct call *call = &tracee->call;
    uint32_t priority;

    switch (call->number) {
    case SYS_msgsnd:
    case SYS_msgrcv:
        return tracer_read(tracee, call->arguments[1], ret_type, sizeof(*ret_type));
    case SYS_mq_timedsend:
        *ret_type = (uint32_t)call->arguments[3];
        return true;
    default:
        if (call->arguments[3] == 0) {
            whole->doubtful = true;
            *ret_type = whole->priorities == 0 ? 0 : whole->priority;
            return whole->priorities <= 1;
        }
        if (!tracer_read(tracee, call->arguments[3], &priority, sizeof(priority)))
            return false;
        *ret_type = priority;
        return true;
    }
}

static void tell_unknown(struct ptracemeter *meter, struct tracee *tracee,
                         struct message_queue *whole, uint32_t bytes)
{
    const struct message message = {.bytes = bytes, .flags = RECORD_OLDER};

    whole->doubtful = true;
    tell_message(meter, tracee, queue_call_receives(&tracee->call) ? EVENT_RECEIVE : EVENT_SEND,
                 &message);
}

static void tell_sent(struct ptracemeter *meter, struct tracee *tracee, struct message_queue *queue,
                      uint32_t flags)
{
    const struct call *call = &tracee->call;
    struct message message = {
        .path = path_of(meter, tracee, queue, PIPE_WRITTEN),
        .offset = queue->out,
        .begin = call->began,
    };

    if (call_took_long(tracee))
        tell_message(meter, tracee, EVENT_SENDCALL, &message);
    message.bytes = (uint32_t)call->arguments[2];
    message.flags = flags;
    queue->out++;
    tell_message(meter, tracee, EVENT_SEND, &message);
}

static void tell_received(struct ptracemeter *meter, struct tracee *tracee,
                          struct message_queue *queue, uint32_t bytes, uint32_t flags)
{
    struct message message = {
        .path = path_of(meter, tracee, queue, PIPE_READ),
        .offset = queue->in++,
        .bytes = bytes,
        .flags = flags,
    };

    if (!tracee->call.told)
        message.flags |= RECORD_CALL_IMPLIED;
    tell_message(meter, tracee, EVENT_RECEIVE, &message);
}

static void message_passed(struct ptracemeter *meter, struct tracee *tracee,
                           struct message_queue *whole, uint32_t bytes, bool concurrent)
{
    struct queue_key key = whole->key;
    int64_t type = 0;

    if (!type_of_message(tracee, whole, &type)) {
        tell_unknown(meter, tracee, whole, bytes);
        return;
    }
    key.type = type;
    if (!queue_call_receives(&tracee->call))
        note_priority(whole, type);
    struct message_queue *queue = find(meter, &key, true);
    if (queue == NULL)
        return;
    queue->older = whole->older;
    queue->used = clock_now(CLOCK_MONOTONIC);
    uint32_t flags = (meter->doubtful || whole->older || whole->doubtful ? RECORD_OLDER : 0) |
                     (concurrent ? RECORD_CONCURRENT : 0);
    if (queue_call_receives(&tracee->call))
        tell_received(meter, tracee, queue, bytes, flags);
    else
        tell_sent(meter, tracee, queue, flags);
}

void queue_call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct call *call = &tracee->call;
    bool receives = queue_call_receives(call);

    if (is_opening(call)) {
        opened(meter, tracee, result);
        return;
    }
    if (call->queue == 0)
        return;
    struct message_queue *whole = pool_at(&meter->queues, call->queue - 1);
    bool concurrent =
        receives ? call->other_receives != whole->received : call->other_sends != whole->sent;
    queue_call_dropped(meter, tracee);
    if (receives && !call->told && call_slept(tracee))
        call_tell_wait(meter, tracee, 0, (uint32_t)call->number);
    if (result < 0) {
        uint32_t *failed = receives ? &tracee->failed_receives : &tracee->failed_sends;
        *failed += call_failed(result);
        return;
    }
    if (call->number != SYS_msgrcv || (call->arguments[4] & MSG_COPY) == 0)
        message_passed(meter, tracee, whole,
                       receives ? (uint32_t)result : (uint32_t)call->arguments[2], concurrent);
}

/* ---- the end ---- */

static void tell_end(struct ptracemeter *meter, const struct message_queue *queue)
{
    for (unsigned end = 0; end < 2; end++)
        if (queue->paths[end] != 0)
            tell_unowned(meter, EVENT_DESTROYPATH, queue->paths[end]);
}

/* Whether calls are sending that have not been counted yet, though their messages may have been received. */
static bool is_being_sent_to(struct ptracemeter *meter, const struct message_queue *queue)
{
    struct queue_key key = queue->key;

    key.type = ALL_TYPES;
    const struct message_queue *whole = find(meter, &key, false);
    return whole == NULL || whole->sending > 0;
}

/* Some programs use a type only once, as for the answer to one request. All its messages must have been received: then
 * its next ones can be counted from 0 again. */
static bool is_idle(struct ptracemeter *meter, const struct message_queue *queue, uint64_t now)
{
    return queue->key.kind != 0 && queue->key.type != ALL_TYPES && queue->in == queue->out &&
           queue->used + IDLE_LONG < now && !is_being_sent_to(meter, queue);
}

void queues_sweep(struct ptracemeter *meter, uint64_t now)
{
    for (uint32_t i = 0; i < meter->queues.used; i++) {
        const struct message_queue *queue = pool_at(&meter->queues, i);
        if (!is_idle(meter, queue, now))
            continue;
        tell_end(meter, queue);
        lookup_remove(&meter->queue_keys, hash_bytes(0, &queue->key, sizeof(queue->key)));
        pool_give(&meter->queues, i);
    }
}

void queues_end(struct ptracemeter *meter)
{
    for (uint32_t i = 0; i < meter->queues.used; i++)
        tell_end(meter, pool_at(&meter->queues, i));
}

void queues_init(struct ptracemeter *meter)
{
    meter->queues.size = sizeof(struct message_queue);
}

void queues_free(struct ptracemeter *meter)
{
    lookup_done(&meter->queue_keys);
    pool_done(&meter->queues);
}
