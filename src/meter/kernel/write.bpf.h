/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * write.bpf.h: making records.
 *
 * A record's sequence number is taken before its space in the ring. If the ring is full, a gap remains: the loss is
 * counted for the stream and the ring, and a LOST record just before the stream's next record reports it. The time is
 * taken after the space is reserved. A reader that has read up to the producer's position at time t therefore knows
 * that nothing older than t will come (ring.c).
 *
 * Few records wake the reader (reader.bpf.h).
 *
 * To keep the kernel's verifier quick, here and in other files:
 * - A function with many callers is global (not static). The verifier checks it once in each program, and not for each
 *   call. Such a function knows nothing about its arguments: it must check pointers, and cannot get pointers to kernel
 *   objects, so it asks for the current task itself.
 * - If run time does not matter, a pointer in a kernel object is read like memory (BPF_CORE_READ). If it were followed
 *   directly, the verifier would search all kernel types to find out whether it can be trusted.
 *
 * To keep the hooks quick:
 * - A call, of a helper or of our own functions, takes some 10 ns if the kernel guards its returns against speculation.
 *   The
 *   path of most messages asks for nothing twice (the current task is passed on), reads kernel objects without calls
 *   (plain_task, PLAIN), and makes the record in the hook itself (tell_message).
 * - Rare cases are in functions of their own, to keep their stack out of the hook's. A program that uses 64 bytes of
 *   stack
 *   or more gets a separate stack each time it runs.
 */
#ifndef DPM_WRITE_BPF_H
#define DPM_WRITE_BPF_H

#include "meter/kernel/pc.bpf.h"
#include "meter/kernel/reader.bpf.h"
#include "meter/kernel/selection.bpf.h"
#include "meter/kernel/state.bpf.h"

#include "meter/shared/message.h"

/* ---- clocks ---- */

/* The least distance seen recently between ktime and the run queue's clock, per CPU. That clock stands still between
 * the scheduler's updates, so a sample that reads it before ktime shows the true distance or more. The distance is the
 * least of the last half to whole second. Either clock may be ahead. */
struct clock_distance {
    uint64_t window_began;
    int64_t least;
    int64_t least_before;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct clock_distance);
} clock_distances SEC(".maps");

#define CLOCK_WINDOW 500000000ULL /* ns */

static __always_inline int64_t look_at_clock(uint64_t clock, uint64_t now)
{
    uint32_t zero = 0;
    struct clock_distance *distance = bpf_map_lookup_elem(&clock_distances, &zero);
    int64_t seen = now - clock;

    if (distance == NULL)
        return seen;
    if (now - distance->window_began > CLOCK_WINDOW) {
        /* after a long pause the previous window is outdated */
        distance->least_before =
            now - distance->window_began > 2 * CLOCK_WINDOW ? seen : distance->least;
        distance->least = seen;
        distance->window_began = now;
    }
    if (seen < distance->least)
        distance->least = seen;
    return distance->least < distance->least_before ? distance->least : distance->least_before;
}

/* CPU time that the task has used: the scheduler's sum, plus the time since the sum was last updated. `exec_start`
 * holds the time of that update, in the run queue's task clock. `runs`: the task is the current one; else it may be. */
static __always_inline uint64_t processor_time(struct task_struct *task, bool runs,
                                               struct rq *queue, uint64_t clock, uint64_t now)
{
    if (coarse_time)
        return task->se.sum_exec_runtime;

    int64_t distance = look_at_clock(clock, now);
    int64_t since = now - distance - (clock - queue->clock_task) - task->se.exec_start;

    /* Only the running task's sum lags, by a tick or two at most. */
    if (since < 0 || since > 100000000 || (!runs && task != (void *)bpf_get_current_task_btf()))
        since = 0;
    return task->se.sum_exec_runtime + since;
}

/* The same for any task, running here or not. Without it, CPU time from before a metered program's first instruction
 * would count as the program's. */
static __always_inline uint64_t time_used(struct task_struct *task, uint64_t now)
{
    if (coarse_time || task != (void *)bpf_get_current_task_btf())
        return task->se.sum_exec_runtime;
    struct rq *queue = plain_task(task)->se.cfs_rq->rq;
    return processor_time(task, true, queue, *(volatile uint64_t *)&queue->clock, now);
}

/* ---- records ---- */

static __always_inline void *reserve(uint32_t ring, uint32_t size)
{
    /* the verifier wants each ring and size as a constant, so callers are inlined */
    return ring == RING_CONTROL ? bpf_ringbuf_reserve(&control_ring, size, 0)
                                : bpf_ringbuf_reserve(&data_ring, size, 0);
}

static __always_inline void count_lost(struct stream *stream, uint32_t ring)
{
    ring &= 1;
    if (stream != NULL)
        stream->lost[ring]++;
    __sync_fetch_and_add(&lost[ring], 1);
}

/* Marked, but the marking of all streams is not complete yet. */
static __always_inline bool is_silent_now(const struct stream *stream)
{
    return stream->mark > begun;
}

/* The same, constant during a hook. If the metering began in the middle of a hook, its second half would record a path
 * that the first half has not. Set where a hook in the stream's own context begins. */
static __always_inline bool silent(const struct stream *stream)
{
    return stream->silent;
}

static __always_inline void look_whether_silent(struct stream *stream)
{
    stream->silent = is_silent_now(stream);
}

/* Whether the stream records events of this type now. */
static __always_inline bool tells(const struct stream *stream, uint32_t id)
{
    return (stream->told & EVENT_FLAG(id)) != 0;
}

/* The same on paths of this kind, a bit METER_TCP ... */
static __always_inline bool tells_of_kind(const struct stream *stream, uint32_t id, uint32_t kind)
{
    return tells(stream, id) && (!kinds_change || (stream->kinds & kind) != 0);
}

/* The same on the path with this number; 0: of no path. */
static __always_inline bool tells_on(const struct stream *stream, uint32_t id, uint32_t path)
{
    return tells(stream, id) &&
           (!kinds_change || path == 0 || (stream->kinds >> (path & PATH_KIND_MASK) & 1) != 0);
}

/* Whether any stream does. */
static __always_inline bool is_told_now(uint32_t id)
{
    return (flags_in_force & EVENT_FLAG(id)) != 0 &&
           (*(volatile uint64_t *)&told_now & EVENT_FLAG(id)) != 0;
}

/* The same on the path with this number. */
static __always_inline bool is_told_now_on(uint32_t id, uint32_t path)
{
    return is_told_now(id) &&
           (!kinds_change ||
            (*(volatile uint32_t *)&kinds_now >> (path & PATH_KIND_MASK) & 1) != 0);
}

/* How many tasks are runnable: on all CPUs, if sched_switch keeps count; else on the task's. A CPU that has not switched
 * since the hook was attached is not counted yet. */
static __always_inline uint32_t load_now(const struct rq *queue)
{
    uint32_t here = queue->nr_running, all = 0;

    if ((flags_in_force & FLAGS_OF_SWITCH) != 0)
        all = *(volatile uint32_t *)&runnable;
    if (all < here)
        all = here;
    return all > 255 ? 255 : all;
}

/* Fills the 32 bytes that every record begins with. `runs`: see processor_time. */
static __always_inline void fill_header(struct record_header *header, struct stream *stream,
                                        struct task_struct *task, bool runs, uint32_t id,
                                        uint32_t flags, uint32_t sequence)
{
    struct rq *queue = plain_task(task)->se.cfs_rq->rq;
    uint64_t clock = coarse_time ? 0 : *(volatile uint64_t *)&queue->clock;
    uint64_t now = bpf_ktime_get_ns();

    header->time = now;
    header->id = id;
    header->load = load_now(queue);
    header->flags = flags;
    header->sequence = sequence;
    header->proc_time_and_pc = processor_time(task, runs, queue, clock, now) & PROC_TIME_MASK;
    header->pc_high = 0;
    header->stream = stream->number;
}

/* ---- records of a stream; `other`: its task, or NULL (a constant) for the current one ---- */

static __always_inline struct task_struct *task_or_current(struct task_struct *other)
{
    return other != NULL ? other : bpf_get_current_task_btf();
}

/* Reports the records that the stream lost in the ring `from` before the one numbered `sequence`, in a ring that has
 * space now. Returns false if it is full, too. */
static __always_inline bool tell_lost_from(struct stream *stream, struct task_struct *other,
                                           uint32_t ring, uint32_t from, uint32_t sequence)
{
    uint64_t count = stream->lost[from & 1];
    struct record *record;

    if (count == 0)
        return true;
    record = reserve(ring, sizeof(*record));
    if (record == NULL)
        return false;
    fill_header(&record->header, stream, task_or_current(other), other == NULL, EVENT_LOST, 0,
                sequence);
    if (count > 0xffffffff)
        count = 0xffffffff; /* the next LOST record reports the rest */
    record->lost.count = count;
    record->lost.ring = from;
    record->lost.reason = LOST_RING_FULL;
    record->lost.unused = 0;
    submit(record);
    stream->lost[from & 1] -= count;
    return true;
}

/* The same for the current task. */
__noinline bool write_lost_from(struct stream *stream, uint32_t ring, uint32_t from,
                                uint32_t sequence)
{
    return stream == NULL || tell_lost_from(stream, NULL, ring, from, sequence);
}

/* The same for both rings. */
static __always_inline bool write_lost(struct stream *stream, struct task_struct *other,
                                       uint32_t ring, uint32_t sequence)
{
    if (other != NULL)
        return tell_lost_from(stream, other, ring, 0, sequence) &&
               tell_lost_from(stream, other, ring, 1, sequence);
    return write_lost_from(stream, ring, 0, sequence) && write_lost_from(stream, ring, 1, sequence);
}

/* Reserves a record of the stream and fills its header; NULL: it is lost, and counted. `task`: the stream's, if known,
 * because getting it takes time; else NULL, a constant. `has_pc`: a constant; else the caller fills in the PC. */
static __always_inline void *begin_any_record(struct stream *stream, struct task_struct *other,
                                              struct task_struct *task, uint32_t ring,
                                              uint32_t size, uint32_t id, uint32_t flags,
                                              bool has_pc)
{
    uint32_t sequence = stream->sequence++;
    void *record;

    if ((stream->lost[RING_CONTROL] | stream->lost[RING_DATA]) != 0 &&
        !write_lost(stream, other, ring, sequence)) {
        count_lost(stream, ring);
        return NULL;
    }
    record = reserve(ring, size);
    if (record == NULL) {
        count_lost(stream, ring);
        return NULL;
    }
    if (task == NULL)
        task = task_or_current(other);
    fill_header(record, stream, task, other == NULL, id, flags, sequence);
    /* A program that begins has called nothing yet, and a BLOCK's PC was stored at its beginning. A record made for
     * another task has no PC. */
    if (has_pc && other == NULL && id != EVENT_EXEC && id != EVENT_STARTPROCESS)
        fill_pc(record, stream_pc(stream, task));
    return record;
}

static __always_inline void *begin_record_of(struct stream *stream, struct task_struct *other,
                                             struct task_struct *task, uint32_t ring, uint32_t size,
                                             uint32_t id, uint32_t flags)
{
    return begin_any_record(stream, other, task, ring, size, id, flags, true);
}

static __always_inline void *begin_record(struct stream *stream, struct task_struct *other,
                                          uint32_t ring, uint32_t size, uint32_t id, uint32_t flags)
{
    return begin_record_of(stream, other, NULL, ring, size, id, flags);
}

static __always_inline void fill_message(struct record *record, const struct message *message)
{
    record->message.path = message->path;
    record->message.offset = message->offset;
    record->message.bytes = message->bytes;
    set_span(record, message->begin);
    submit(record);
}

static __always_inline uint32_t ring_of_message(uint32_t id)
{
    return id <= EVENT_RECEIVE || id == EVENT_READ || id == EVENT_WRITE ? RING_DATA : RING_CONTROL;
}

/* SEND, SENDCALL, RECEIVECALL, RECEIVE, READ, WRITE, CREATEPATH, CONNECT, ACCEPT, if the stream has the flag. `task`:
 * the current one, which must be the stream's, or NULL, a constant. */
static __always_inline void tell_message(struct stream *stream, struct task_struct *task,
                                         uint32_t id, const struct message *message)
{
    struct record *record;

    if (!tells_on(stream, id, message->path) || silent(stream) ||
        drops(stream, id, two_words(message->path, message->offset), message->bytes))
        return;
    record = begin_record_of(stream, NULL, task, ring_of_message(id), sizeof(*record), id,
                             message->flags);
    if (record != NULL)
        fill_message(record, message);
}

/* The same, not inlined. */
__noinline int write_message(struct stream *stream, uint32_t id, const struct message *message)
{
    if (stream != NULL && message != NULL)
        tell_message(stream, NULL, id, message);
    return 0;
}

/* Counts a message as lost because its path's record was lost. */
static __always_inline void lose_message(struct stream *stream, uint32_t id, uint32_t kind)
{
    if (!tells_of_kind(stream, id, kind) || silent(stream))
        return;
    stream->sequence++;
    count_lost(stream, RING_DATA);
}

/* Counts messages that are not recorded because their path was not stored. The loader makes LOST of them (skipped.c). */
static __always_inline void miss_messages(const struct stream *stream, uint32_t id, uint32_t kind,
                                          uint32_t count)
{
    if (tells_of_kind(stream, id, kind) && !silent(stream))
        __sync_fetch_and_add(&pathless, count);
}

/* Process events; the body is two words. */
static __always_inline void tell_process_event(struct stream *stream, struct task_struct *other,
                                               uint32_t id, uint64_t body0, uint64_t body1)
{
    struct record *record;

    if (!tells(stream, id) || silent(stream))
        return;
    record = begin_record(stream, other, RING_CONTROL, sizeof(*record), id, 0);
    if (record == NULL)
        return;
    ((uint64_t *)record)[4] = body0;
    ((uint64_t *)record)[5] = body1;
    submit(record);
}

/* The same for the current task. */
__noinline int write_process_event(struct stream *stream, uint32_t id, uint64_t body0,
                                   uint64_t body1)
{
    if (stream != NULL)
        tell_process_event(stream, NULL, id, body0, body1);
    return 0;
}

/* The second half of a BLOCK: its duration, and its object. */
static __always_inline uint64_t block_duration(const struct stream *stream, uint64_t now)
{
    uint64_t duration = now - stream->blocked_at;

    return (duration < BLOCK_LONGEST ? duration : BLOCK_LONGEST) | (uint64_t)stream->block_object
                                                                       << 48;
}

/* BLOCK of a task that is about to run. */
static __always_inline void write_block(struct stream *stream, struct task_struct *task)
{
    struct record *record;
    /* what rules have judged is what is recorded */
    uint64_t judged = selects ? block_duration(stream, bpf_ktime_get_ns()) : 0;

    if (!tells(stream, EVENT_BLOCK) || silent(stream) ||
        drops(stream, EVENT_BLOCK, two_words(stream->block_call, stream->block_state), judged))
        return;
    record =
        begin_record(stream, task, RING_DATA, sizeof(*record), EVENT_BLOCK, stream->block_flags);
    if (record == NULL)
        return;
    record->block.system_call = stream->block_call;
    record->block.state = stream->block_state;
    record->block.duration_and_object =
        selects ? judged : block_duration(stream, record->header.time);
    fill_pc(&record->header, stream->blocked_pc);
    submit(record);
}

/* `task` is about to run, or runs: it starts, continues, or its BLOCK is over. */
static __always_inline void arrive(struct stream *stream, struct task_struct *task)
{
    uint32_t away = stream->away;

    stream->away = away & AWAY_CONNECTS;
    if (away & (AWAY_NOT_STARTED | AWAY_STOPPED))
        tell_process_event(stream, task, EVENT_STARTPROCESS, 0, 0);
    if (away & AWAY_BLOCKED)
        write_block(stream, task);
}

/* outcome.bpf.h */
static int tell_outcomes(struct stream *stream);

/* The current task runs, but no hook has run when it got its CPU: kernels skip a switch now and then. Records that were
 * due then are made before its next event, and those of connections that were made or failed meanwhile. */
__noinline int arrive_unseen(struct stream *stream)
{
    if (stream == NULL)
        return 0;
    arrive(stream, bpf_get_current_task_btf());
    if ((kinds_in_force & METER_TCP) && (stream->away & AWAY_CONNECTS))
        tell_outcomes(stream);
    return 0;
}

/* Begins a record that belongs only to a path, outside of any task's own call; NULL: it is lost, and counted. */
static __always_inline struct record *begin_unowned(uint32_t ring, uint32_t id)
{
    struct record *record = reserve(ring, sizeof(*record));

    if (record == NULL) {
        count_lost(NULL, ring);
        return NULL;
    }
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = bpf_ktime_get_ns();
    record->header.id = id;
    record->header.flags = RECORD_NO_STREAM;
    return record;
}

/* WAKEUP by the current task. */
__noinline int write_wakeup(struct stream *stream, uint32_t woken)
{
    struct record *record;

    if (stream == NULL || !tells(stream, EVENT_WAKEUP) || silent(stream) ||
        drops(stream, EVENT_WAKEUP, woken, 0))
        return 0;
    record = begin_record(stream, NULL, RING_DATA, sizeof(*record), EVENT_WAKEUP, 0);
    if (record == NULL)
        return 0;
    ((uint64_t *)record)[4] = woken;
    ((uint64_t *)record)[5] = 0;
    submit(record);
    return 0;
}

/* The same by a task that has already recorded its end: those that wait for the end are woken after that. */
static __always_inline void write_last_wakeup(struct stream *woken, const struct stream *waker)
{
    struct record *record;

    look_whether_silent(woken);
    if (silent(woken))
        return;
    record = begin_unowned(RING_DATA, EVENT_WAKEUP);
    if (record == NULL)
        return;
    record->wakeup.woken = woken->number;
    record->wakeup.waker = waker->number;
    submit(record);
}

/* A path event. */
static __always_inline void write_unowned(uint32_t id, uint32_t path, uint32_t count)
{
    struct record *record = begin_unowned(RING_CONTROL, id);

    if (record == NULL)
        return;
    record->dropped.path = path;
    record->dropped.count = count;
    submit(record);
}

static __always_inline void write_dropped(uint32_t path, uint32_t dropped, uint32_t refused)
{
    struct record *record = begin_unowned(RING_CONTROL, EVENT_DROPPED);

    if (record == NULL)
        return;
    record->dropped.path = path;
    record->dropped.count = dropped;
    record->dropped.refused = refused;
    submit(record);
}

/* SEND or RECEIVE of bytes [first, first + bytes) that no hook has seen. */
static __always_inline void write_unseen(uint32_t id, uint32_t path, uint32_t first, uint32_t bytes)
{
    struct record *record;

    if (!is_told_now_on(id, path))
        return;
    record = begin_unowned(RING_DATA, id);
    if (record == NULL)
        return;
    record->message.path = path;
    record->message.offset = first;
    record->message.bytes = bytes;
    submit(record);
}

/* MESSAGEQUEUED. It belongs to the receiver's path; `queue` is what the queue contains now. */
struct queued {
    uint32_t path;
    uint32_t offset;
    uint32_t bytes;
    uint32_t queue;
};

static __always_inline void write_queued(const struct queued *queued)
{
    struct record *record;

    if (!is_told_now_on(EVENT_MESSAGEQUEUED, queued->path) ||
        drops(NULL, EVENT_MESSAGEQUEUED, two_words(queued->path, queued->offset),
              two_words(queued->bytes, queued->queue)))
        return;
    record = begin_unowned(RING_DATA, EVENT_MESSAGEQUEUED);
    if (record == NULL)
        return;
    record->queued.path = queued->path;
    record->queued.offset = queued->offset;
    record->queued.bytes = queued->bytes;
    record->queued.queue = queued->queue;
    submit(record);
}

/* ---- identities of processes ---- */

/* The PID namespace of who loads the meter, and how many lie around it; 0: the machine's own. Iterators show the
 * processes that it contains, and it is its pids that users type and see. */
uint64_t own_pids;
uint32_t own_pids_level;

static __always_inline void note_own_pids(void)
{
    struct pid *pid = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);
    unsigned int level = BPF_CORE_READ(pid, level);
    struct upid upid = {};

    bpf_core_read(&upid, sizeof(upid), &pid->numbers[level & 31]);
    own_pids = (uint64_t)upid.ns;
    own_pids_level = level;
}

/* The thread's number in that namespace; 0: it lies outside. Not inline: signal_generate has little stack left. */
static __noinline uint32_t number_in_own_pids(struct task_struct *task)
{
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    uint32_t level = own_pids_level;
    struct upid upid = {};

    if (BPF_CORE_READ(pid, level) < level)
        return 0;
    bpf_core_read(&upid, sizeof(upid), &pid->numbers[level & 31]);
    return (uint64_t)upid.ns == own_pids ? upid.nr : 0;
}

static __always_inline uint32_t thread_id(struct task_struct *task)
{
    return own_pids_level == 0 ? (uint32_t)task->pid : number_in_own_pids(task);
}

static __always_inline uint32_t process_id(struct task_struct *task)
{
    return own_pids_level == 0 ? (uint32_t)task->tgid : number_in_own_pids(task->group_leader);
}

/* The task's id in its own, innermost PID namespace. */
static __always_inline uint32_t pid_inside(struct task_struct *task)
{
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    unsigned int level = BPF_CORE_READ(pid, level);
    struct upid upid = {};

    bpf_core_read(&upid, sizeof(upid), &pid->numbers[level & 31]);
    return upid.nr;
}

/* Inode of the namespace of pid_inside(). */
static __always_inline uint32_t pid_namespace(struct task_struct *task)
{
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    unsigned int level = BPF_CORE_READ(pid, level);
    struct upid upid = {};

    bpf_core_read(&upid, sizeof(upid), &pid->numbers[level & 31]);
    return BPF_CORE_READ(upid.ns, ns.inum);
}

/* STREAM. Identity records may be repeated. In place of a sequence number, this one has that of its repetition. The CPU
 * time is what the stream has used so far. */
static __always_inline void fill_stream(struct stream_record *record, const struct stream *stream,
                                        struct task_struct *task)
{
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = bpf_ktime_get_ns();
    record->header.id = EVENT_STREAM;
    record->header.flags = RECORD_NO_STREAM;
    record->header.sequence = stream->version;
    record->header.proc_time_and_pc = time_used(task, record->header.time) & PROC_TIME_MASK;
    record->header.stream = stream->number;
    record->pid = process_id(task);
    record->tid = thread_id(task);
    record->process = stream->process;
    record->parent = stream->parent;
    record->start = task->start_time;
    record->pid_inside = pid_inside(task);
    record->user = BPF_CORE_READ(task, cred, uid.val);
    record->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
    record->pid_namespace = pid_namespace(task);
    record->image = stream->image;
    bpf_core_read(record->name, sizeof(record->name), &task->comm);
}

/* `name`: the name that it is about to get; NULL: it keeps its name. */
static __noinline int write_stream_named(struct stream *stream, struct task_struct *task,
                                         const char *name)
{
    struct stream_record *record =
        bpf_ringbuf_reserve(&control_ring, sizeof(struct stream_record), 0);

    stream->version++;
    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    fill_stream(record, stream, task);
    if (name != NULL)
        bpf_probe_read_kernel_str(record->name, sizeof(record->name), name);
    stream->user = record->user;
    stream->listed = STREAM_LISTED;
    submit(record);
    return 0;
}

static __always_inline void write_stream(struct stream *stream, struct task_struct *task)
{
    write_stream_named(stream, task, NULL);
}

/* STREAM of a thread that has become another user's since its last one. */
static __always_inline void write_user(struct stream *stream, struct task_struct *task)
{
    if (BPF_CORE_READ(task, cred, uid.val) != stream->user)
        write_stream(stream, task);
}

/* Each argument ends with a NUL, which becomes a blank. */
static long end_argument(uint32_t index, char **name)
{
    if (index >= NAME_SIZE)
        return 1;
    if ((*name)[index] == '\0')
        (*name)[index] = ' ';
    return 0;
}

/* NAME of a process whose program begins: its command line, as the program will find it. */
static __noinline int write_command(const struct stream *stream, struct task_struct *task)
{
    struct name_record *record = bpf_ringbuf_reserve(&control_ring, sizeof(struct name_record), 0);
    uint64_t arguments = BPF_CORE_READ(task, mm, arg_start);
    uint64_t length = BPF_CORE_READ(task, mm, arg_end) - arguments;
    char *name;

    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = bpf_ktime_get_ns();
    record->header.id = EVENT_NAME;
    record->header.flags = RECORD_NO_STREAM;
    record->number = stream->process;
    record->kind = NAME_COMMAND;
    name = record->name;
    if (length > NAME_SIZE - 1)
        length = NAME_SIZE - 1;
    if (length == 0 || bpf_probe_read_user(record->name, length, (void *)arguments) != 0) {
        bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
        return 0;
    }
    bpf_loop(length - 1, end_argument, &name, 0);
    submit(record);
    return 0;
}

/* IMAGE; returns its number, 0 if it was lost. */
static __noinline uint32_t write_image(struct task_struct *task, struct linux_binprm *program)
{
    struct image_record *record =
        bpf_ringbuf_reserve(&control_ring, sizeof(struct image_record), 0);
    uint32_t number;

    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    __builtin_memset(record, 0, sizeof(*record));
    number = __sync_fetch_and_add(&last_image, 1) + 1;
    record->header.time = bpf_ktime_get_ns();
    record->header.id = EVENT_IMAGE;
    record->header.flags = RECORD_NO_STREAM;
    record->image = number;
    record->device = BPF_CORE_READ(program, file, f_inode, i_sb, s_dev);
    record->inode = BPF_CORE_READ(program, file, f_inode, i_ino);
    record->load = BPF_CORE_READ(task, mm, start_code);
    bpf_probe_read_kernel_str(record->name, sizeof(record->name), BPF_CORE_READ(program, filename));
    submit(record);
    return number;
}

#endif
