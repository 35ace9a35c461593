/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * call.bpf.h: which stream makes a call, and what the kernel's hooks do not show: whether the stream is metered, which
 * system call it is, whether it is still the same one, and whether it has failed or only ended.
 */
#ifndef DPM_CALL_BPF_H
#define DPM_CALL_BPF_H

#include "meter/kernel/descriptor.bpf.h"

/* Most tasks have nothing stored: checking that first is quicker than calling the helper. (But not for the verifier:
 * plain_task.) */
static __always_inline bool has_storage(struct task_struct *task)
{
    return task->bpf_storage != NULL;
}

/* Also one whose metering begins with its next exec. */
static __always_inline struct stream *marked_stream(struct task_struct *task)
{
    struct stream *stream = bpf_task_storage_get(&streams, task, NULL, 0);

    /* keeps clang from turning it into a number, which verifiers before 6.2 cannot track */
    asm volatile("" : "+r"(stream));
    return stream;
}

static __always_inline struct stream *stored_stream(struct task_struct *task)
{
    struct stream *stream = marked_stream(task);

    if (stream != NULL && stream->from_exec)
        stream = NULL;
    asm volatile("" : "+r"(stream));
    return stream;
}

/* The metered stream of `task`; NULL: not metered. */
static __always_inline struct stream *stream_of(struct task_struct *task)
{
    return has_storage(task) ? stored_stream(task) : NULL;
}

/* The same for the current task in a call of its own, so it is running. `has`: has_storage. */
static __always_inline struct stream *running_stored_stream(struct task_struct *task, bool has)
{
    struct stream *stream = has ? stored_stream(task) : NULL;

    if (stream == NULL)
        return NULL;
    look_whether_silent(stream);
    if (stream->away)
        arrive_unseen(stream);
    return stream;
}

static __always_inline struct stream *running_stream(struct task_struct *task)
{
    return running_stored_stream(task, has_storage(task));
}

/* ---- task or interrupt ---- */

#define STACK_SIZE 16384 /* bytes of a task's kernel stack; more with KASAN */

/* Whether the current task is running itself: interrupts and their deferred work have stacks of their own. `here`: an
 * address on the stack in use. Limit: a program that uses 64 bytes of stack or more may get a separate stack, and then
 * always seems to be in an interrupt. `number`: memory that nothing else writes to now. Written there and read again,
 * the address becomes a number: before Linux 6.17 the verifier lets no program subtract from a stack address. */
static __always_inline bool is_on_stack_of(const struct task_struct *task, const void *here,
                                           uint64_t *number)
{
    uint64_t stack = (uint64_t)task->stack;

    *(volatile uint64_t *)number = (uint64_t)here;
    return *(volatile uint64_t *)number - stack < STACK_SIZE;
}

/* ---- streams begin and end ---- */

static __always_inline struct stream *storage_of_task(struct task_struct *task)
{
    struct stream *stream =
        bpf_task_storage_get(&streams, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

    /* of two tasks that create it at the same time, the slower one gets an error */
    return stream != NULL ? stream : bpf_task_storage_get(&streams, task, NULL, 0);
}

static __always_inline uint32_t number_of(struct stream *stream)
{
    if (stream->number == 0)
        __sync_val_compare_and_swap(&stream->number, 0, __sync_fetch_and_add(&last_stream, 1) + 1);
    return stream->number;
}

/* Whether the caller is the one that begins this stream; its creator and a marking iterator may try at the same time.
 * The one that succeeds fills it in, then calls enliven. */
static __always_inline bool claim(struct stream *stream)
{
    if (__sync_val_compare_and_swap(&stream->life, STREAM_UNCLAIMED, STREAM_CLAIMED) !=
        STREAM_UNCLAIMED)
        return false;
    number_of(stream);
    stream->sequence = first_sequence;
    if (first_lost != 0) {
        stream->lost[RING_DATA] = first_lost;
        __sync_fetch_and_add(&lost[RING_DATA], first_lost);
    }
    return true;
}

/* Call it when everything else is set: calls are metered from now on. */
static __always_inline void enliven(struct stream *stream, uint64_t flags, uint64_t told,
                                    uint32_t kinds)
{
    stream->told = told;
    stream->kinds = kinds;
    __sync_fetch_and_add(&live, 1);
    __sync_val_compare_and_swap(&stream->life, STREAM_CLAIMED, STREAM_ALIVE);
    stream->flags = flags;
}

/* The send that was in progress at the mark has ended or failed. */
static __always_inline void end_older_send(struct stream *stream)
{
    uint64_t key = stream->older_socket;
    uint32_t *count = key == 0 ? NULL : bpf_map_lookup_elem(&older_sends, &key);

    if (count != NULL)
        __sync_fetch_and_add(count, -1);
    stream->older_socket = 0;
    stream->older_send = 0;
}

static __always_inline void end_stream(struct stream *stream)
{
    end_older_send(stream);
    stream->flags = stream->told = 0;
    if (__sync_val_compare_and_swap(&stream->life, STREAM_ALIVE, STREAM_ENDED) == STREAM_ALIVE &&
        __sync_fetch_and_add(&live, -1) == 1)
        wake_reader();
}

static __always_inline bool wants(const struct stream *stream, uint64_t flags)
{
    return (stream->flags & flags) != 0;
}

#define FLAGS_OF_SEND    (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL))
#define FLAGS_OF_RECEIVE (EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_RECEIVECALL))
#define FLAGS_OF_QUEUE   EVENT_FLAG(EVENT_MESSAGEQUEUED)
#define FLAGS_OF_CONNECTION                                                                        \
    (EVENT_FLAG(EVENT_CREATEPATH) | EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT))

/* For UNIX sockets the sender records MESSAGEQUEUED, using its own count and a path that is recorded when the receiver
 * uses it. */
#define FLAGS_OF_UNIX_SEND    (FLAGS_OF_SEND | FLAGS_OF_QUEUE)
#define FLAGS_OF_UNIX_RECEIVE (FLAGS_OF_RECEIVE | FLAGS_OF_QUEUE)

/* Failed calls count only for streams that record calls. */
static __always_inline void count_failed(const struct stream *stream, uint32_t *count)
{
    if (!silent(stream))
        ++*count;
}

/* A message on a socket of a kind that no meter records. (Not static, so that the verifier checks it once.) */
__noinline int note_unmetered(const struct stream *stream, uint32_t family, uint32_t type,
                              uint32_t protocol)
{
    uint32_t kind = unmetered_socket_kind(family, type, protocol);

    if (stream != NULL && kind != UNMETERED_NONE && !silent(stream) &&
        (unmetered >> (kind & 31) & 1) == 0)
        __sync_fetch_and_or(&unmetered, 1u << (kind & 31));
    return 0;
}

/* Whether the task's user registers are its own: kernel threads have none, and io_uring's worker threads have a copy of
 * their creator's. */
static __always_inline bool has_user_registers(struct task_struct *task)
{
    return (task->flags & (PF_IO_WORKER | PF_USER_WORKER | PF_KTHREAD)) == 0;
}

#define NO_CALL    0xffffffff
#define OTHER_CALL 0xfffffffe /* made by a 32-bit program, whose calls have other numbers */

/* Number of the system call that `task` is in. NO_CALL: it works for io_uring, as a worker thread, or on its way back
 * to user mode. In that case ax already holds the call's result; during a call it holds what the kernel puts there at
 * entry. */
static __always_inline uint32_t call_of(struct task_struct *task, const struct pt_regs *registers)
{
    if (!has_user_registers(task) || (int64_t)registers->ax != -ENOSYS)
        return NO_CALL;
    return registers->cs == USER32_CS ? OTHER_CALL : registers->orig_ax;
}

static __always_inline bool is_send(uint32_t call)
{
    return call == CALL_SENDTO || call == CALL_SENDMSG || call == CALL_SENDMMSG ||
           call == CALL_WRITE || call == CALL_WRITEV || call == CALL_SENDFILE;
}

/* The descriptor of a send. NO_CALL, which is no descriptor: an io_uring worker, where it is unknown, or a 32-bit
 * program. */
static __always_inline uint32_t sending_descriptor(uint32_t call, const struct pt_regs *registers)
{
    return call >= OTHER_CALL ? NO_CALL : call == CALL_SPLICE ? registers->dx : registers->di;
}

static __always_inline bool is_receive(uint32_t call)
{
    return call == CALL_RECVFROM || call == CALL_RECVMSG || call == CALL_RECVMMSG ||
           call == CALL_READ || call == CALL_READV;
}

/* ---- a receiver may be quicker than the sender's hooks ---- */

/* Notes for the sender, which has counted up to `out`, that bytes of a send in progress were received, up to `in`. An
 * existing note about bytes that are counted by now is replaced. The time is written before `in`, so that a reader of
 * `in` finds its time or a later one. */
static __always_inline void note_early(struct early *early, uint32_t in, uint32_t out)
{
    if ((int32_t)(in - out) <= 0 || (early->time != 0 && (int32_t)(early->in - out) > 0))
        return;
    *(volatile uint64_t *)&early->time = bpf_ktime_get_ns();
    *(volatile uint32_t *)&early->in = in;
}

/* When a message became visible: `begin`, or earlier if a quicker receiver has noted that. */
static __always_inline uint64_t visible_since(const struct early *early, uint32_t first,
                                              uint64_t begin)
{
    uint32_t in = *(const volatile uint32_t *)&early->in; /* read before its time */
    uint64_t time = *(const volatile uint64_t *)&early->time;

    return time != 0 && (int32_t)(in - first) > 0 && (begin == 0 || time < begin) ? time : begin;
}

#define LONG_PASSED (1 << 20) /* bytes, or messages */

/* A send of [first, first + bytes) has been counted. Deletes a note about bytes far before its end, because that would
 * seem to lie ahead once positions have wrapped around. A note about near bytes stays: it may concern other sends in
 * progress (end_visible). */
static __always_inline void pass_early(struct early *early, uint32_t first, uint32_t bytes)
{
    uint64_t time = early->time;

    if (time != 0 && (int64_t)(int32_t)(early->in - first) - bytes < -LONG_PASSED)
        __sync_val_compare_and_swap(&early->time, time, 0);
}

/* ---- identity of calls ---- */

/* Distinguishes the system call that `task` is in from its others; 0: cannot be distinguished. The kernel shifts its
 * stack by a random amount in each call, which newer kernels store with the task. On older kernels a splice or sendfile
 * counts as one call until its end is seen (forget_call), if pipes are metered. If they are not, a sendfile is
 * identified by the kernel's count of calls that wrote, which grows at the end of the sendfile. */
static __always_inline uint64_t identity_of_call(struct task_struct *task, uint32_t call)
{
    if (call >= OTHER_CALL)
        return 0;
    if (bpf_core_field_exists(task->kstack_offset) && task->kstack_offset != 0)
        return task->kstack_offset | 1ULL << 32;
    if ((call == CALL_SENDFILE || call == CALL_SPLICE) && (kinds_in_force & METER_PIPE))
        return call | 1ULL << 33;
    if (call == CALL_SENDFILE && bpf_core_field_exists(task->ioac))
        return task->ioac.syscw + 1;
    return 0;
}

/* A splice or sendfile has ended; the next one is another call. */
static __always_inline void forget_call(struct stream *stream, uint32_t call)
{
    if (call == CALL_SENDFILE || call == CALL_SPLICE)
        stream->sent_by = stream->taken_by = 0;
}

/* Interrupted by a signal; usually the kernel restarts the call, unseen by the program. */
static __always_inline bool restarts(int result)
{
    return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
}

/* Whether a negative result is a failure. EAGAIN only says that the call would have to wait: event loops ask until they
 * get it, and io_uring tries again by itself. */
static __always_inline bool is_failure(int result)
{
    return result != -EAGAIN && !restarts(result);
}

/* Distinguishes a sendmmsg or recvmmsg call from others, by its arguments if there is nothing better. */
static __always_inline uint64_t identity_of_many(struct task_struct *task, uint32_t call)
{
    uint64_t identity = identity_of_call(task, call);
    const struct pt_regs *registers = registers_of(task);

    return identity != 0 ? identity
                         : (registers->si ^ registers->sp << 20 ^ registers->dx << 8) | 1;
}

/* A message of a sendmmsg or recvmmsg call is complete. */
static __always_inline void count_message(struct many_call *many, struct task_struct *task,
                                          uint32_t call)
{
    uint64_t identity = identity_of_many(task, call);

    if (many->identity != identity || many->count >= many->of) {
        many->identity = identity;
        many->count = 0;
        many->of = registers_of(task)->dx;
    }
    many->count++;
}

/* Whether an error only ends a call that has done part of its work, so that the call has not failed. */
static __always_inline bool ends_part(struct many_call *many, uint64_t identity)
{
    bool part = many->identity == identity && many->count < many->of;

    many->identity = 0;
    return part;
}

#endif
