/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pipe_call.bpf.h: writes into pipes and FIFOs, and reads.
 *
 *      write ... sys_exit (result)  --> out += result: SEND
 *      read .... sys_exit (result)  --> in += result: RECEIVE
 *
 * The kernel has no hooks on pipes, so the end of every system call is examined. Positions are counted when calls end:
 * if several streams write at once, or read at once, the real order may differ by as much as their calls overlap. When
 * a write began is noted at the entry of the kernel's function, if that can be hooked: what ended before is in front.
 */
#ifndef DPM_PIPE_CALL_BPF_H
#define DPM_PIPE_CALL_BPF_H

#include "meter/kernel/call.bpf.h"
#include "meter/kernel/pipe.bpf.h"
#include "meter/kernel/room.bpf.h"

/* ---- messages ---- */

/* Nothing can be recorded for a path whose own record was lost. */
static __always_inline void tell_pipe_message(struct stream *stream, uint32_t id,
                                              const struct message *message)
{
    if (message->path != 0)
        write_message(stream, id, message);
    else
        lose_message(stream, id, METER_PIPE);
}

/* A write that may have been in progress when the meter met the pipe. */
static __always_inline bool is_first_since_met(const struct stream *stream, const struct pipe *pipe)
{
    return pipe->older && pipe->met > stream->written_at;
}

/* For a pipe in doubt: whether no other thread has ended a call on this end of it since. */
static __always_inline bool is_only_user(struct pipe *pipe, uint32_t end)
{
    uint32_t user = bpf_get_current_pid_tgid(); /* thread */
    uint32_t before = __sync_val_compare_and_swap(&pipe->users[end], 0, user);

    if (before != 0 && before != user)
        pipe->several[end] = true;
    return !pipe->several[end];
}

/* A write that was in progress when the meter met the pipe is partly counted already, as content of the pipe. Such a
 * write ends where the pipe's content ends. And the bytes of several writers at that time may be counted twice.
 *
 *      read, as counted    taken by a half-done read    in the pipe
 *      |------------------|- - - - - - - - - - - - - - |------------|
 *                                                         the end ^  is found too low by what that read has taken
 *
 * So the result may be less than the true end, but never more. It can therefore raise the count of a sole writer that
 * lacks bytes. A writer cannot see that a count is too high; the reader corrects that (lower_count). */
static __always_inline uint32_t count_in_doubt(struct stream *stream, struct pipe *pipe,
                                               uint64_t address, uint32_t bytes)
{
    bool first_since_met = is_first_since_met(stream, pipe);
    bool only = is_only_user(pipe, PIPE_WRITTEN);
    uint32_t end, found;

    if (first_since_met)
        stream->written_at = bpf_ktime_get_ns();
    if (first_since_met && pipe->in_doubt) {
        pipe->out = end = written_in_all(pipe, address, LOOKS_IN_DOUBT, NEVER_ENOUGH(pipe));
        return end - bytes;
    }
    end = __sync_fetch_and_add(&pipe->out, bytes) + bytes;
    found = written_in_all(pipe, address, LOOKS_IN_DOUBT, end);
    if ((int32_t)(found - end) >= 0) {
        if (only && pipe->in_doubt && __sync_val_compare_and_swap(&pipe->out, end, found) == end)
            end = found;
        return end - bytes;
    }
    if (only && !first_since_met)
        return end - bytes;
    pipe->in_doubt = true; /* again, if the write lasted longer than the doubt */
    return found - bytes;
}

/* A read has ended, and no other stream reads. Everything received is counted, so no more can have been written than
 * that plus what is in the pipe. Returns whether more was counted. */
static __always_inline bool lower_count(struct pipe *pipe, uint64_t address)
{
    /* read before the pipe's content, which may grow */
    uint32_t out = *(volatile uint32_t *)&pipe->out;
    uint32_t end;

    if (!is_only_user(pipe, PIPE_READ) || (int32_t)(out - pipe->in) <= 0)
        return false;
    end = pipe->in + bytes_in_pipe(address);
    if ((int32_t)(out - end) <= 0 || __sync_val_compare_and_swap(&pipe->out, out, end) != out)
        return false;
    pipe->lowered = pipe->in;
    return true;
}

#define LOOKS_THAT_SETTLE 4
#define TIME_TO_SETTLE    100000000 /* ns: then a call in progress has gone on, and waits again */

/* Whether a call that was in progress when the meter met the pipe, or when its stream was silent, has had time to go
 * on. */
static __always_inline bool is_told_for_long(const struct pipe *pipe)
{
    uint64_t since = pipe->met > begun_at ? pipe->met : begun_at;

    return begun >= mark_generation && bpf_ktime_get_ns() - since >= TIME_TO_SETTLE;
}

/* The reader finds its pipe empty, so as much was written as was read, except for calls in progress that are counted
 * later. Those rarely lack the same number of bytes several times in a row. A reader that does not wait may look
 * repeatedly during a single call. It must find that the counts agree (`waits`), and not only because they were made to
 * agree at the present read position. */
static __noinline int end_doubt_of_pipe(struct pipe *pipe, uint64_t address, bool waits)
{
    uint32_t out = *(volatile uint32_t *)&pipe->out;

    uint32_t missing = pipe->in - out;

    if ((missing != 0 && !waits) || (pipe->lowered == pipe->in && !waits) ||
        bytes_in_pipe(address) != 0)
        return 0;
    pipe->agreed = missing == pipe->missing ? pipe->agreed + 1 : 1;
    pipe->missing = missing;
    /* the next sweep finds and records what uncounted processes have written */
    if ((int32_t)missing > 0 && (pipe->has_uncounted || pipe->agreed < LOOKS_THAT_SETTLE))
        return 0;
    if (__sync_val_compare_and_swap(&pipe->out, out, out + missing) == out)
        /* calls in progress may be hidden in it */
        pipe->in_doubt = (int32_t)missing < 0 || !is_told_for_long(pipe);
    return 0;
}

/* A read of a pipe in doubt has ended. */
static __always_inline void look_after_read(struct pipe *pipe, uint64_t address)
{
    if (!lower_count(pipe, address))
        end_doubt_of_pipe(pipe, address, false);
}

static __always_inline void pipe_written(struct stream *stream, struct pipe *pipe,
                                         const struct pipe_file *file, uint32_t bytes)
{
    struct send_call *call = &stream->send;
    struct message *message = &stream->scratch.message;
    /* taken before counting: a reader that finds the write counted takes a later time */
    uint64_t begin = call->socket == file->address ? call->begin : bpf_ktime_get_ns();
    uint64_t began = stream->pipe_write_at;

    stream->pipe_write_at = 0;
    *message = (struct message){.bytes = bytes};
    if (flags_of_file(file) & O_DIRECT)
        pipe->packets = true;
    message->offset = pipe->in_doubt || is_first_since_met(stream, pipe)
                          ? count_in_doubt(stream, pipe, file->address, bytes)
                          : __sync_fetch_and_add(&pipe->out, bytes);
    message->begin = began != 0 ? began : visible_since(&pipe->early, message->offset, begin);
    pass_early(&pipe->early, message->offset, bytes);
    if (silent(stream)) {
        pipe->in_doubt = true; /* others may be in progress, and silent */
        return;
    }
    message->path = pipe_path(stream, pipe, file, PIPE_WRITTEN, message->offset);
    message->flags = (pipe->in_doubt ? RECORD_OLDER : 0) | (began != 0 ? RECORD_WHOLE_CALL : 0);
    tell_pipe_message(stream, EVENT_SEND, message);
}

/* A read discards the rest of its packet (O_DIRECT). */
static __always_inline void skip_rest_of_packet(struct pipe *pipe, uint64_t address)
{
    uint32_t in = *(volatile uint32_t *)&pipe->in, out = *(volatile uint32_t *)&pipe->out;
    uint32_t left = out - bytes_in_pipe(address) - in;

    if ((int32_t)left > 0)
        __sync_val_compare_and_swap(&pipe->in, in, in + left);
}

/* Returns the offset of what was read. */
static __always_inline uint32_t count_read(struct pipe *pipe, uint64_t address, uint32_t bytes)
{
    uint32_t first = __sync_fetch_and_add(&pipe->in, bytes);

    note_early(&pipe->early, first + bytes, pipe->out);
    if (pipe->packets)
        skip_rest_of_packet(pipe, address);
    return first;
}

static __always_inline void pipe_read(struct stream *stream, struct pipe *pipe,
                                      const struct pipe_file *file, uint32_t bytes)
{
    struct message *message = &stream->scratch.message;

    *message = (struct message){.bytes = bytes};

    message->offset = count_read(pipe, file->address, bytes);
    if (silent(stream)) {
        pipe->in_doubt = true;
        return;
    }
    message->path = pipe_path(stream, pipe, file, PIPE_READ, message->offset);
    message->flags = (bytes == 0 ? RECORD_END_OF_FILE : 0) | (pipe->in_doubt ? RECORD_OLDER : 0);
    if (!stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message->flags |= RECORD_CALL_IMPLIED;
    tell_pipe_message(stream, EVENT_RECEIVE, message);
}

/* Calls for which 0 means the end of file: those that have asked for at least a byte. */
static __always_inline bool tells_end(uint32_t call, const struct pt_regs *registers)
{
    switch (call) {
    case CALL_READ:
        return registers->dx != 0;
    case CALL_SPLICE:
        return registers->r8 != 0;
    case CALL_READV:
    case CALL_PREADV2:
    case CALL_VMSPLICE:
        return room_in_vectors(registers->si, registers->dx) != 0;
    default:
        return false;
    }
}

static __always_inline void count_failed_on_pipe(struct stream *stream, uint32_t end, int result)
{
    if (is_failure(result))
        count_failed(stream, end == PIPE_READ ? &stream->failed_receives : &stream->failed_sends);
}

/* A call of the current task on a descriptor has ended; does nothing unless that is this end of a pipe. `ends`: a
 * result of 0 is a message, too. */
__noinline int pipe_used(struct stream *stream, uint32_t descriptor, uint32_t end, int64_t result,
                         bool ends)
{
    struct pipe_file file = {};
    struct pipe *pipe;

    if (stream == NULL || !look_at_pipe(descriptor, &file) ||
        (file.mode & (end == PIPE_READ ? FMODE_READ : FMODE_WRITE)) == 0)
        return 0;
    if (result < 0)
        count_failed_on_pipe(stream, end, result);
    pipe = known_pipe(&file);
    if (pipe == NULL && !silent(stream))
        pipe = make_pipe(stream, &file, MEETING_OLDER);
    if (pipe != NULL && (result > 0 || (result == 0 && ends))) {
        if (end == PIPE_READ)
            pipe_read(stream, pipe, &file, result);
        else
            pipe_written(stream, pipe, &file, result);
    }
    if (pipe == NULL && (result > 0 || (result == 0 && ends)))
        miss_messages(stream, end == PIPE_READ ? EVENT_RECEIVE : EVENT_SEND, METER_PIPE, 1);
    if (end == PIPE_READ) {
        stream->receivecall = 0;
        if (pipe != NULL && pipe->in_doubt)
            look_after_read(pipe, file.address);
        return 0;
    }
    if (stream->send.socket == file.address)
        stream->send.socket = 0;
    return 0;
}

/* The same without a record, for a stream that is not metered or a 32-bit program. */
__noinline int pipe_passed_over(uint32_t descriptor, uint32_t end, int64_t result)
{
    struct pipe_file file = {};
    struct pipe *pipe;

    if (result <= 0 || !look_at_pipe(descriptor, &file))
        return 0;
    pipe = bpf_map_lookup_elem(&pipes, &file.key);
    if (pipe == NULL || pipe->address != file.address)
        return 0;
    if (end == PIPE_READ) {
        count_read(pipe, file.address, result);
        if (pipe->in_doubt)
            look_after_read(pipe, file.address);
    } else {
        if (pipe->in_doubt)
            is_only_user(pipe, PIPE_WRITTEN);
        pass_early(&pipe->early, __sync_fetch_and_add(&pipe->out, result), result);
    }
    return 0;
}

/* ---- pipes begin ---- */

/* Opening both ends of a FIFO at once counts twice in the kernel. */
static __always_inline uint32_t ends_of_file(const struct pipe_file *file)
{
    return (file->mode & FMODE_READ) && (file->mode & FMODE_WRITE) ? 2 : 1;
}

static __always_inline void pipe_made(struct stream *stream, const int *descriptors)
{
    struct pipe_file file = {};
    int descriptor = -1;

    bpf_probe_read_user(&descriptor, sizeof(descriptor), descriptors);
    if (look_at_pipe(descriptor, &file) && known_pipe(&file) == NULL)
        make_pipe(stream, &file, MEETING_BORN);
}

/* If all holders close a FIFO, the next open makes a new pipe, perhaps at the same address. Then the kernel has counted
 * fewer opens than the meter has seen, including this one. */
static __always_inline void fifo_opened(struct stream *stream, uint32_t descriptor)
{
    struct pipe_inode_info *info;
    struct pipe_file file = {};
    struct pipe *pipe;
    uint32_t alive, seen, opens;

    if (!look_at_pipe(descriptor, &file))
        return;
    info = (struct pipe_inode_info *)file.address;
    pipe = known_pipe(&file);
    alive = pipe == NULL ? 0 : *(volatile uint32_t *)&pipe->alive;
    /* read before the kernel's count: others may be opening it */
    seen = pipe == NULL ? 0 : *(volatile uint32_t *)&pipe->opens;
    seen += ends_of_file(&file);
    opens = BPF_CORE_READ(info, r_counter) + BPF_CORE_READ(info, w_counter) - 2;
    if (pipe != NULL && seen > opens) {
        end_pipe(&file.key, pipe, alive);
        pipe = NULL;
    }
    if (pipe == NULL)
        pipe = make_pipe(stream, &file,
                         opens <= 2 && bytes_in_pipe(file.address) == 0 ? MEETING_OPENED
                                                                        : MEETING_OLDER);
    if (pipe != NULL)
        __sync_fetch_and_add(&pipe->opens, ends_of_file(&file));
}

/* ---- when a write began ---- */

/* The latest entry is that of the write whose end is seen next; other ways into a pipe are forgotten (sys_exit). */
static __always_inline int pipe_write_enters(struct task_struct *task)
{
    struct stream *stream = stream_of(task);

    if (stream != NULL)
        stream->pipe_write_at = bpf_ktime_get_ns();
    return 0;
}

SEC("fentry/anon_pipe_write")
int BPF_PROG(pipe_write_begins)
{
    return pipe_write_enters(bpf_get_current_task_btf());
}

/* The same before Linux 6.15. */
SEC("fentry/pipe_write")
int BPF_PROG(older_pipe_write_begins)
{
    return pipe_write_enters(bpf_get_current_task_btf());
}

/* ---- calls ---- */

#define CALL_BIT(call) (1ULL << (call))

/* Calls that read, write or make pipes. */
static __always_inline bool is_pipe_call(uint32_t call)
{
    if (call < 64)
        return (CALL_BIT(CALL_READ) | CALL_BIT(CALL_WRITE) | CALL_BIT(CALL_OPEN) |
                CALL_BIT(CALL_READV) | CALL_BIT(CALL_WRITEV) | CALL_BIT(CALL_PIPE) |
                CALL_BIT(CALL_SENDFILE)) >>
                   call &
               1;
    return call == CALL_CREAT || call == CALL_OPENAT || call == CALL_SPLICE || call == CALL_TEE ||
           call == CALL_VMSPLICE || call == CALL_PIPE2 || call == CALL_PREADV2 ||
           call == CALL_PWRITEV2 || call == CALL_OPENAT2;
}

/* The descriptors that a call reads from and writes to; NO_CALL: none. */
struct pipe_ends {
    uint32_t read;
    uint32_t written;
};

static __always_inline void ends_of_call(struct pipe_ends *ends, uint32_t call,
                                         const struct pt_regs *registers)
{
    ends->read = ends->written = NO_CALL;
    switch (call) {
    case CALL_READ:
    case CALL_READV:
    case CALL_PREADV2:
        ends->read = registers->di;
        break;
    case CALL_WRITE:
    case CALL_WRITEV:
    case CALL_PWRITEV2:
    case CALL_SENDFILE:
        ends->written = registers->di;
        break;
    case CALL_VMSPLICE: /* either end, choose_end() */
        ends->read = ends->written = registers->di;
        break;
    case CALL_TEE: /* takes nothing out */
        ends->written = registers->si;
        break;
    case CALL_SPLICE:
        ends->read = registers->di;
        ends->written = registers->dx;
        break;
    }
}

static __always_inline bool is_write(uint32_t call)
{
    return call == CALL_WRITE || call == CALL_WRITEV || call == CALL_PWRITEV2;
}

/* Where trampolines are refused: every system call pays for it. */
SEC("tp_btf/sys_enter")
int BPF_PROG(pipe_call_begins, struct pt_regs *registers, long call)
{
    if (!is_write(call) || registers->cs == USER32_CS)
        return 0;
    return pipe_write_enters(bpf_get_current_task_btf());
}

static __noinline int begin_pipe(struct stream *stream, uint64_t argument, uint32_t call,
                                 int64_t result)
{
    if (result < 0)
        return 0;
    if (call == CALL_PIPE || call == CALL_PIPE2)
        pipe_made(stream, (const int *)argument);
    else
        fifo_opened(stream, result);
    return 0;
}

static __always_inline bool begins_pipe(uint32_t call)
{
    return call == CALL_PIPE || call == CALL_PIPE2 || call == CALL_OPEN || call == CALL_CREAT ||
           call == CALL_OPENAT || call == CALL_OPENAT2;
}

/* vmsplice writes if the descriptor is writable. */
static __noinline int choose_end(struct pipe_ends *ends)
{
    struct pipe_file file = {};

    if (look_at_pipe(ends->written, &file) && (file.mode & FMODE_WRITE))
        ends->read = NO_CALL;
    else
        ends->written = NO_CALL;
    return 0;
}

/* Before Linux 6.17 nothing else shows what a splice has taken out of a UNIX stream socket, or how much is left there
 * (unseen.bpf.h). */
static __always_inline int unix_spliced(struct stream *stream, uint32_t descriptor, uint32_t bytes)
{
    struct sock *sk = socket_of_descriptor(bpf_get_current_task_btf(), descriptor), *peer;
    struct unix_sock *receiver = (struct unix_sock *)sk;
    struct message *message = &stream->scratch.message;
    struct taken nothing = {};
    struct taken *taken;
    uint64_t key;

    if (bpf_core_field_exists(receiver->inq_len) || sk == NULL || kind_at(sk) != PATH_UNIX_STREAM)
        return 0;
    peer = BPF_CORE_READ(receiver, peer);
    key = BPF_CORE_READ(peer, __sk_common.skc_cookie.counter);
    taken = key == 0 ? NULL : taken_noted(key, &nothing);
    if (taken == NULL)
        return 0;
    *message = (struct message){
        .path = path_of_descriptor(stream, descriptor, true),
        .offset = __sync_fetch_and_add(&taken->in, bytes),
        .bytes = bytes,
        .flags = taken->doubt,
    };
    if (message->path != 0)
        write_message(stream, EVENT_RECEIVE, message);
    stream->receivecall = 0;
    return 0;
}

/* ---- blocked calls ---- */

/* SENDCALL: the current task is about to sleep until a pipe has space. `writes`: it can wait for nothing else. Returns
 * 0 if it does not wait for this. */
__noinline int leave_full_pipe(struct stream *stream, uint32_t descriptor, bool writes)
{
    struct pipe_file file = {};
    struct message *message;
    struct send_call *call;
    struct pipe *pipe;

    if (stream == NULL || !look_at_pipe(descriptor, &file) || (file.mode & FMODE_WRITE) == 0 ||
        (!writes && !is_full(file.address)))
        return 0;
    message = &stream->scratch.leaving;
    *message = (struct message){};
    call = &stream->send;
    pipe = known_pipe(&file);
    if (pipe == NULL && !silent(stream))
        pipe = make_pipe(stream, &file, MEETING_OLDER);
    if (pipe == NULL || silent(stream))
        return 1;
    if (call->socket != file.address) {
        call->socket = file.address;
        call->begin = bpf_ktime_get_ns();
        call->first = pipe->out;
        call->out = 0;
        call->told = 0;
    }
    message->path = pipe_path(stream, pipe, &file, PIPE_WRITTEN, call->first);
    message->offset = written_in_all(pipe, file.address, LOOKS_AT_PIPE, NEVER_ENOUGH(pipe));
    message->bytes = message->offset - call->first;
    if ((int32_t)message->bytes < 0)
        message->bytes = 0; /* an older pipe, counted too high until its doubt ends */
    message->begin = visible_since(&pipe->early, call->first, call->begin);
    if (writes && stream->pipe_write_at != 0) {
        message->begin = stream->pipe_write_at;
        message->flags = RECORD_WHOLE_CALL;
    }
    if (call->told == message->bytes + 1)
        return 1;
    call->told = message->bytes + 1;
    tell_pipe_message(stream, EVENT_SENDCALL, message);
    return 1;
}

/* RECEIVECALL: the same for a task that waits for data. `reads`: it can wait for nothing else. */
__noinline int leave_empty_pipe(struct stream *stream, uint32_t descriptor, bool reads)
{
    struct pipe_file file = {};
    struct message *message;
    struct pipe *pipe;

    if (stream == NULL || !look_at_pipe(descriptor, &file) || (file.mode & FMODE_READ) == 0 ||
        (!reads && bytes_in_pipe(file.address) != 0))
        return 0;
    message = &stream->scratch.leaving;
    *message = (struct message){};
    if (stream->receivecall)
        return 1;
    stream->receivecall = 1;
    if (silent(stream))
        return 1;
    pipe = known_pipe(&file);
    if (pipe == NULL)
        pipe = make_pipe(stream, &file, MEETING_OLDER);
    if (pipe == NULL)
        return 1;
    if (pipe->in_doubt)
        end_doubt_of_pipe(pipe, file.address, true);
    message->path = pipe_path(stream, pipe, &file, PIPE_READ, pipe->in);
    tell_pipe_message(stream, EVENT_RECEIVECALL, message);
    return 1;
}

/* The current task is about to sleep in `call`. False: not because of a pipe. */
static __always_inline bool leave_pipe(struct stream *stream, uint32_t call,
                                       const struct pt_regs *registers)
{
    struct pipe_ends ends;

    if ((kinds_in_force & METER_PIPE) == 0 || !is_pipe_call(call) || begins_pipe(call))
        return false;
    ends_of_call(&ends, call, registers);
    if (call == CALL_TEE)
        ends.read = registers->di;
    if (ends.read != NO_CALL && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)) &&
        leave_empty_pipe(stream, ends.read, ends.written == NO_CALL))
        return true;
    return ends.written != NO_CALL && wants(stream, EVENT_FLAG(EVENT_SENDCALL)) &&
           leave_full_pipe(stream, ends.written, is_write(call));
}

#endif
