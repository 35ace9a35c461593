/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pipe.bpf.h: pipes and FIFOs: what is written into them and what is read.
 *
 *      write ... sys_exit (result)  --> out += result: SEND       struct pipe, by the file's inode
 *      read .... sys_exit (result)  --> in += result: RECEIVE     (state.bpf.h)
 *
 *      in, what was read   in the pipe's buffers   calls between their last step and sys_exit
 *      |------------------|-----------------------|- - - - -
 *      out, what was written                      |
 *
 * The kernel has no hook on pipes, so the end of every system call is looked at. Positions are counted when
 * calls end: of several streams that write at once, or read at once, the order may be another one by as
 * much as their calls overlap. The two ends of a pipe are two paths, each told when it is first used.
 *
 * A pipe that was made while its maker was metered is known from its beginning. Others may be used by
 * somebody who is not metered: while there are such pipes everybody's calls on them are counted.
 */
#ifndef DPM_PIPE_BPF_H
#define DPM_PIPE_BPF_H

#include "meter/call.bpf.h"

/* A descriptor's file that is a pipe. */
struct pipe_file {
    struct pipe_key key;
    uint64_t address; /* of the kernel's pipe */
    uint64_t inode;   /* address */
    uint64_t name;    /* address of the file's name */
    uint32_t mode;    /* FMODE_ */
    uint32_t flags;   /* O_ */
};

/* `file` may be known by its address only. False: it is no pipe. */
static __always_inline bool look_at_file(struct file *file, struct pipe_file *found)
{
    struct inode *inode = BPF_CORE_READ(file, f_inode);

    if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFIFO)
        return false;
    found->key.inode = BPF_CORE_READ(inode, i_ino);
    found->key.device = BPF_CORE_READ(inode, i_sb, s_dev);
    found->address = (uint64_t)BPF_CORE_READ(file, private_data);
    found->inode = (uint64_t)inode;
    found->name = (uint64_t)BPF_CORE_READ(file, f_path.dentry, d_name.name);
    found->mode = BPF_CORE_READ(file, f_mode);
    found->flags = BPF_CORE_READ(file, f_flags);
    return found->address != 0;
}

/* Of the current task. Returns 1 if the descriptor is a pipe, else 0. */
__noinline int look_at_pipe(uint32_t descriptor, struct pipe_file *found)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);

    return found != NULL && file != NULL && look_at_file(file, found);
}

/* ---- what is in a pipe ---- */

#define MOST_BUFFERS 65536

struct buffer_walk {
    uint64_t buffers; /* address */
    uint32_t next, mask;
    uint32_t bytes;
};

static long add_buffer(uint32_t index, struct buffer_walk *walk)
{
    struct pipe_buffer *buffer =
        (struct pipe_buffer *)(walk->buffers + (uint64_t)(walk->next & walk->mask) *
                                                   bpf_core_type_size(struct pipe_buffer));

    walk->bytes += BPF_CORE_READ(buffer, len);
    walk->next++;
    return 0;
}

/* Bytes that wait in the kernel's pipe at `address`. */
static __always_inline uint32_t bytes_in_pipe(uint64_t address)
{
    struct pipe_inode_info *pipe = (struct pipe_inode_info *)address;
    uint32_t head = BPF_CORE_READ(pipe, head);
    struct buffer_walk walk = {
        .buffers = (uint64_t)BPF_CORE_READ(pipe, bufs),
        .next = BPF_CORE_READ(pipe, tail),
        .mask = BPF_CORE_READ(pipe, ring_size) - 1,
    };

    if (head - walk.next <= MOST_BUFFERS)
        bpf_loop(head - walk.next, add_buffer, &walk, 0);
    return walk.bytes;
}

/* How many bytes have been written in all, calls in progress included. A reader between its steps makes it
 * seem less: so it is the most of several looks. */
#define LOOKS_AT_PIPE  64
#define LOOKS_IN_DOUBT 1000

struct pipe_look {
    struct pipe *pipe;
    uint64_t address;
    uint32_t end;
};

static long look_into_pipe(uint32_t index, struct pipe_look *look)
{
    uint32_t in = *(volatile uint32_t *)&look->pipe->in;
    uint32_t end = in + bytes_in_pipe(look->address);

    if (in != *(volatile uint32_t *)&look->pipe->in)
        return 0;
    if ((int32_t)(end - look->end) > 0)
        look->end = end;
    return 0;
}

static __always_inline bool is_full(uint64_t address)
{
    struct pipe_inode_info *pipe = (struct pipe_inode_info *)address;

    return BPF_CORE_READ(pipe, head) - BPF_CORE_READ(pipe, tail) >= BPF_CORE_READ(pipe, max_usage);
}

static __always_inline uint32_t written_in_all(struct pipe *pipe, uint64_t address, uint32_t looks)
{
    struct pipe_look look = {.pipe = pipe, .address = address};

    look.end = *(volatile uint32_t *)&pipe->in;
    bpf_loop(looks, look_into_pipe, &look, 0);
    return look.end;
}

/* ---- pipes that are known ---- */

/* Nobody holds it any more. */
static __always_inline void end_pipe(const struct pipe_key *key, struct pipe *pipe)
{
    for (int end = 0; end < PIPE_ENDS; end++)
        if (pipe->paths[end] != 0 && (flags_in_force & EVENT_FLAG(EVENT_DESTROYPATH)))
            write_unowned(EVENT_DESTROYPATH, pipe->paths[end], 0);
    if (pipe->watched)
        __sync_fetch_and_add(&watched_pipes, -1);
    bpf_map_delete_elem(&pipes, key);
}

/* NULL: it is not known. */
static __always_inline struct pipe *known_pipe(const struct pipe_file *file)
{
    struct pipe *pipe = bpf_map_lookup_elem(&pipes, &file->key);

    if (pipe == NULL || pipe->address == file->address)
        return pipe;
    end_pipe(&file->key, pipe); /* a FIFO that was closed and opened again */
    return NULL;
}

/* The kernel makes the names of pipes without a file itself: they have none. */
static __always_inline uint32_t kind_of_pipe(const struct pipe_file *file)
{
    char first = 0;

    bpf_probe_read_kernel(&first, 1, (const void *)file->name);
    return first == '\0' ? PATH_PIPE : PATH_FIFO;
}

/* Where an older pipe begins to count: what a call in progress had written before has numbers, too. */
#define OLDER_BEGIN (1 << 30)

/* What is known of a pipe when it is met. */
enum meeting {
    MEETING_BORN,   /* it has just been made, by a metered stream */
    MEETING_OPENED, /* a FIFO that nobody has used yet */
    MEETING_OLDER,
};

/* Notes a pipe; NULL: no memory (counted). */
static __noinline struct pipe *make_pipe(const struct pipe_file *file, enum meeting meeting)
{
    struct pipe fresh = {
        .address = file->address,
        .inode = file->inode,
        .met = bpf_ktime_get_ns(),
        .serial = __sync_fetch_and_add(&last_pipe, 1) + 1,
        .kind = kind_of_pipe(file),
        .older = meeting == MEETING_OLDER,
        .in_doubt = meeting == MEETING_OLDER,
        .watched = meeting != MEETING_BORN,
    };
    struct pipe *pipe;

    if (fresh.older) {
        fresh.in = OLDER_BEGIN;
        fresh.out = OLDER_BEGIN + bytes_in_pipe(file->address);
    }
    if (bpf_map_update_elem(&pipes, &file->key, &fresh, BPF_NOEXIST) == 0 && fresh.watched)
        __sync_fetch_and_add(&watched_pipes, 1);
    pipe = bpf_map_lookup_elem(&pipes, &file->key);
    if (pipe == NULL)
        __sync_fetch_and_add(&lost_paths, 1);
    return pipe;
}

/* ---- paths ---- */

/* Of what came before its metering nothing is told. */
static __always_inline bool begins_later(const struct pipe *pipe)
{
    return pipe->older || pipe->met < begun_at;
}

static __always_inline void fill_pipe(struct path_record *record, const struct pipe *pipe,
                                      const struct pipe_file *file, uint32_t end, uint32_t first)
{
    __builtin_memset(record, 0, sizeof(*record));
    record->header.id = EVENT_PATH;
    record->header.flags = RECORD_NO_STREAM | (begins_later(pipe) ? RECORD_OLDER : 0) |
                           (pipe->packets ? RECORD_PACKETS : 0);
    record->kind = pipe->kind;
    record->role = end == PIPE_WRITTEN ? PATH_ROLE_WRITES : PATH_ROLE_READS;
    record->cookie = (uint64_t)pipe->serial << 1 | end;
    record->peer = record->cookie ^ 1;
    record->inode = file->key.inode;
    if (begins_later(pipe))
        *(end == PIPE_WRITTEN ? &record->start_out : &record->start_in) = first;
    if (pipe->kind == PATH_FIFO) {
        record->network = file->key.device;
        record->name_end = PATH_NAME_LOCAL;
        bpf_probe_read_kernel_str(record->name, sizeof(record->name), (const void *)file->name);
    }
}

/* Number of the path that is this end of a pipe, told if it is new: then `first` is where what is told of it
 * begins. 0: there is no room. (Not static: the verifier then looks at it once.) */
__noinline uint32_t pipe_path(struct stream *stream, struct pipe *pipe,
                              const struct pipe_file *file, uint32_t end, uint32_t first)
{
    struct path_record *record;
    struct message message = {};
    uint64_t time;

    if (stream == NULL || pipe == NULL || file == NULL)
        return 0;
    end &= 1;
    if (pipe->paths[end] != 0)
        return pipe->paths[end];
    record = bpf_ringbuf_reserve(&control_ring, sizeof(struct path_record), 0);
    time = bpf_ktime_get_ns();
    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    message.path = new_path_number();
    if (__sync_val_compare_and_swap(&pipe->paths[end], 0, message.path) != 0) {
        bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
        return pipe->paths[end];
    }
    fill_pipe(record, pipe, file, end, first);
    record->header.time = time;
    record->path = message.path;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    write_message(stream, EVENT_CREATEPATH, &message);
    return message.path;
}

/* ---- messages ---- */

/* A write that may have been in progress when the pipe was met. */
static __always_inline bool is_first_since_met(const struct stream *stream, const struct pipe *pipe)
{
    return pipe->older && pipe->met > stream->written_at;
}

/* Of a write that may have been in progress when the pipe was met, part is counted as having been in the
 * pipe: it ends where the pipe's bytes end. And what several were writing then may be counted twice: never
 * can more have been written than was read and is in the pipe. */
static __always_inline uint32_t count_in_doubt(struct stream *stream, struct pipe *pipe,
                                               uint64_t address, uint32_t bytes)
{
    bool first_since_met = is_first_since_met(stream, pipe);
    uint32_t first, end;

    if (first_since_met)
        stream->written_at = bpf_ktime_get_ns();
    if (first_since_met && pipe->in_doubt) {
        pipe->out = end = written_in_all(pipe, address, LOOKS_IN_DOUBT);
        return end - bytes;
    }
    first = __sync_fetch_and_add(&pipe->out, bytes);
    if ((int32_t)(first + bytes - (pipe->in + bytes_in_pipe(address))) <= 0)
        return first;
    end = written_in_all(pipe, address, LOOKS_IN_DOUBT);
    if ((int32_t)(first + bytes - end) <= 0 ||
        __sync_val_compare_and_swap(&pipe->out, first + bytes, end) != first + bytes)
        return first;
    return end - bytes;
}

#define LOOKS_THAT_SETTLE 4
#define TIME_TO_SETTLE    100000000 /* ns: a call in progress goes on, and waits again */

/* Its reader finds it empty: then as much was written as was read, but for what calls that have not ended
 * yet will count, which is seldom the same several times. */
static __always_inline void end_doubt_of_pipe(struct pipe *pipe, uint64_t address)
{
    uint32_t out = *(volatile uint32_t *)&pipe->out;

    uint32_t missing = pipe->in - out;

    if (bytes_in_pipe(address) != 0)
        return;
    pipe->agreed = missing == pipe->missing ? pipe->agreed + 1 : 1;
    pipe->missing = missing;
    if ((int32_t)missing > 0 && pipe->agreed < LOOKS_THAT_SETTLE)
        return;
    if (__sync_val_compare_and_swap(&pipe->out, out, out + missing) == out)
        /* calls that have not ended may hide in it */
        pipe->in_doubt = (int32_t)missing < 0 || bpf_ktime_get_ns() - pipe->met < TIME_TO_SETTLE;
}

static __always_inline void pipe_written(struct stream *stream, struct pipe *pipe,
                                         const struct pipe_file *file, uint32_t bytes)
{
    struct send_call *call = &stream->send;
    struct message message = {.bytes = bytes};

    if (file->flags & O_DIRECT)
        pipe->packets = true;
    message.offset = pipe->in_doubt || is_first_since_met(stream, pipe)
                         ? count_in_doubt(stream, pipe, file->address, bytes)
                         : __sync_fetch_and_add(&pipe->out, bytes);
    message.begin = visible_since(&pipe->early, message.offset,
                                  call->socket == file->address ? call->begin : 0);
    if (silent(stream))
        return;
    message.path = pipe_path(stream, pipe, file, PIPE_WRITTEN, message.offset);
    message.flags = pipe->in_doubt ? RECORD_OLDER : 0;
    if (message.path != 0)
        write_message(stream, EVENT_SEND, &message);
}

/* What a read leaves of a packet (O_DIRECT) is gone. */
static __always_inline void skip_rest_of_packet(struct pipe *pipe, const struct pipe_file *file)
{
    uint32_t in = *(volatile uint32_t *)&pipe->in, out = *(volatile uint32_t *)&pipe->out;
    uint32_t left = out - bytes_in_pipe(file->address) - in;

    if ((int32_t)left > 0)
        __sync_val_compare_and_swap(&pipe->in, in, in + left);
}

static __always_inline void pipe_read(struct stream *stream, struct pipe *pipe,
                                      const struct pipe_file *file, uint32_t bytes)
{
    struct message message = {.bytes = bytes};

    message.offset = __sync_fetch_and_add(&pipe->in, bytes);
    note_early(&pipe->early, message.offset + bytes, pipe->out);
    if (pipe->packets)
        skip_rest_of_packet(pipe, file);
    if (silent(stream))
        return;
    message.path = pipe_path(stream, pipe, file, PIPE_READ, message.offset);
    message.flags = (bytes == 0 ? RECORD_END_OF_FILE : 0) | (pipe->in_doubt ? RECORD_OLDER : 0);
    if (!stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message.flags |= RECORD_CALL_IMPLIED;
    if (message.path != 0)
        write_message(stream, EVENT_RECEIVE, &message);
}

/* Which calls end with 0 at the end of file only. */
static __always_inline bool tells_end(uint32_t call, const struct pt_regs *registers)
{
    return call == CALL_READ ? registers->dx != 0
           : call == CALL_SPLICE
               ? registers->r8 != 0
               : call == CALL_READV || call == CALL_PREADV2 || call == CALL_VMSPLICE;
}

static __always_inline void count_failed_on_pipe(struct stream *stream, uint32_t end, int result)
{
    if (!restarts(result))
        count_failed(stream, end == PIPE_READ ? &stream->failed_receives : &stream->failed_sends);
}

/* The current task's call on a descriptor has ended; does nothing if that is not this end of a pipe.
 * `ends`: a result of 0 is a message, too. */
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
        pipe = make_pipe(&file, MEETING_OLDER);
    if (pipe != NULL && (result > 0 || (result == 0 && ends))) {
        if (end == PIPE_READ)
            pipe_read(stream, pipe, &file, result);
        else
            pipe_written(stream, pipe, &file, result);
    }
    if (end == PIPE_READ) {
        stream->receivecall = 0;
        return 0;
    }
    if (stream->send.socket == file.address)
        stream->send.socket = 0;
    return 0;
}

/* The same, of a stream that is not metered. */
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
        uint32_t in = __sync_fetch_and_add(&pipe->in, result);

        note_early(&pipe->early, in + result, pipe->out);
    } else {
        __sync_fetch_and_add(&pipe->out, result);
    }
    return 0;
}

/* ---- pipes begin ---- */

static __always_inline void pipe_made(const int *descriptors)
{
    struct pipe_file file = {};
    int descriptor = -1;

    bpf_probe_read_user(&descriptor, sizeof(descriptor), descriptors);
    if (look_at_pipe(descriptor, &file) && known_pipe(&file) == NULL)
        make_pipe(&file, MEETING_BORN);
}

/* A FIFO's pipe is another one after all had closed it, maybe in the same place: then fewer calls of
 * open have made it than were seen. */
static __always_inline void fifo_opened(uint32_t descriptor)
{
    struct pipe_inode_info *info;
    struct pipe_file file = {};
    struct pipe *pipe;
    uint32_t opens;

    if (!look_at_pipe(descriptor, &file))
        return;
    info = (struct pipe_inode_info *)file.address;
    opens = BPF_CORE_READ(info, r_counter) + BPF_CORE_READ(info, w_counter) - 2;
    pipe = known_pipe(&file);
    if (pipe != NULL && pipe->opens >= opens) {
        end_pipe(&file.key, pipe);
        pipe = NULL;
    }
    if (pipe == NULL)
        pipe = make_pipe(&file, opens <= 2 && bytes_in_pipe(file.address) == 0 ? MEETING_OPENED
                                                                               : MEETING_OLDER);
    if (pipe != NULL)
        __sync_fetch_and_add(&pipe->opens, 1);
}

/* ---- the hook ---- */

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

/* Which descriptor a call reads from, and writes to; NO_CALL: it does not. */
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
    case CALL_VMSPLICE: /* whichever end it is, choose_end() */
        ends->read = ends->written = registers->di;
        break;
    case CALL_TEE: /* it takes nothing */
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

static __always_inline void begin_pipe(struct pt_regs *registers, uint32_t call, int64_t result)
{
    if (result < 0)
        return;
    if (call == CALL_PIPE || call == CALL_PIPE2)
        pipe_made((const int *)registers->di);
    else
        fifo_opened(result);
}

static __always_inline bool begins_pipe(uint32_t call)
{
    return call == CALL_PIPE || call == CALL_PIPE2 || call == CALL_OPEN || call == CALL_CREAT ||
           call == CALL_OPENAT || call == CALL_OPENAT2;
}

/* vmsplice writes where it can. */
static __always_inline void choose_end(struct pipe_ends *ends)
{
    struct pipe_file file = {};

    if (look_at_pipe(ends->written, &file) && (file.mode & FMODE_WRITE))
        ends->read = NO_CALL;
    else
        ends->written = NO_CALL;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *registers, int64_t result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint32_t call = registers->orig_ax;
    struct pipe_ends ends;
    struct stream *stream;

    if ((task->bpf_storage == NULL && watched_pipes == 0) || !is_pipe_call(call) ||
        registers->cs == USER32_CS)
        return 0;
    stream = running_stream(task);
    if (stream == NULL && watched_pipes == 0)
        return 0;
    if (begins_pipe(call)) {
        if (stream != NULL)
            begin_pipe(registers, call, result);
        return 0;
    }
    ends_of_call(&ends, call, registers);
    if (call == CALL_VMSPLICE)
        choose_end(&ends);
    if (stream == NULL) {
        if (ends.read != NO_CALL)
            pipe_passed_over(ends.read, PIPE_READ, result);
        if (ends.written != NO_CALL)
            pipe_passed_over(ends.written, PIPE_WRITTEN, result);
        return 0;
    }
    if (ends.read != NO_CALL && wants(stream, FLAGS_OF_RECEIVE))
        pipe_used(stream, ends.read, PIPE_READ, result, tells_end(call, registers));
    if (ends.written != NO_CALL && wants(stream, FLAGS_OF_SEND))
        pipe_used(stream, ends.written, PIPE_WRITTEN, result, is_write(call));
    return 0;
}

/* ---- blocked calls ---- */

/* The current task, which is about to sleep, waits for room in a pipe: SENDCALL. `writes`: it can wait for
 * nothing else. 0: it does not. */
__noinline int leave_full_pipe(struct stream *stream, uint32_t descriptor, bool writes)
{
    struct pipe_file file = {};
    struct message message = {};
    struct send_call *call;
    struct pipe *pipe;

    if (stream == NULL || !look_at_pipe(descriptor, &file) || (file.mode & FMODE_WRITE) == 0 ||
        (!writes && !is_full(file.address)))
        return 0;
    call = &stream->send;
    pipe = known_pipe(&file);
    if (pipe == NULL && !silent(stream))
        pipe = make_pipe(&file, MEETING_OLDER);
    if (pipe == NULL || silent(stream))
        return 1;
    if (call->socket != file.address) {
        call->socket = file.address;
        call->begin = bpf_ktime_get_ns();
        call->first = pipe->out;
        call->out = 0;
        call->told = 0;
    }
    message.path = pipe_path(stream, pipe, &file, PIPE_WRITTEN, call->first);
    message.offset = written_in_all(pipe, file.address, LOOKS_AT_PIPE);
    message.bytes = message.offset - call->first;
    if ((int32_t)message.bytes < 0)
        message.bytes = 0; /* of an older pipe, counted too high until its doubt ends */
    message.begin = call->begin;
    if (pipe->early.time != 0 && pipe->early.time < message.begin)
        message.begin = pipe->early.time;
    if (message.path == 0 || call->told == message.bytes + 1)
        return 1;
    call->told = message.bytes + 1;
    write_message(stream, EVENT_SENDCALL, &message);
    return 1;
}

/* The same of one that waits for something to read: RECEIVECALL. `reads`: it can wait for nothing else. */
__noinline int leave_empty_pipe(struct stream *stream, uint32_t descriptor, bool reads)
{
    struct pipe_file file = {};
    struct message message = {};
    struct pipe *pipe;

    if (stream == NULL || !look_at_pipe(descriptor, &file) || (file.mode & FMODE_READ) == 0 ||
        (!reads && bytes_in_pipe(file.address) != 0))
        return 0;
    if (stream->receivecall)
        return 1;
    stream->receivecall = 1;
    if (silent(stream))
        return 1;
    pipe = known_pipe(&file);
    if (pipe == NULL)
        pipe = make_pipe(&file, MEETING_OLDER);
    if (pipe == NULL)
        return 1;
    if (pipe->in_doubt)
        end_doubt_of_pipe(pipe, file.address);
    message.path = pipe_path(stream, pipe, &file, PIPE_READ, pipe->in);
    if (message.path != 0)
        write_message(stream, EVENT_RECEIVECALL, &message);
    return 1;
}

/* The current task is about to sleep in `call`. False: it does not wait for a pipe. */
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

/* ---- pipes end ---- */

static __always_inline bool is_pipe_alive(const struct pipe_key *key, const struct pipe *pipe)
{
    struct inode *inode = (struct inode *)pipe->inode;

    /* its place may be another's since: then it is not this one */
    return BPF_CORE_READ(inode, i_ino) == key->inode &&
           (uint64_t)BPF_CORE_READ(inode, i_pipe) == pipe->address;
}

static long sweep_pipe(void *map, struct pipe_key *key, struct pipe *pipe, void *context)
{
    if (!is_pipe_alive(key, pipe))
        end_pipe(key, pipe);
    return 0;
}

/* No hook tells that a pipe was closed: about once a second those that are known are looked at. */
SEC("syscall")
int sweep_pipes(void *context)
{
    bpf_for_each_map_elem(&pipes, sweep_pipe, NULL, 0);
    return 0;
}

#endif
