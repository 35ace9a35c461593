/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pipe.bpf.h: pipes and FIFOs: which ones are known, what is in them, their paths and their end. (Calls on them:
 * pipe_call.bpf.h.)
 *
 *      read so far         in the kernel's buffers   calls in progress
 *      |------------------|-------------------------|- - - - -
 *                         ^ pipe->in                ^ pipe->out       struct pipe, by the file's inode (state.bpf.h)
 *
 * The two ends of a pipe are two paths, each recorded at its first use.
 *
 * A pipe made by a metered stream is known from its beginning. Others may be used by unmetered processes, so while
 * there are such pipes, the calls of all processes on them are counted.
 */
#ifndef DPM_PIPE_BPF_H
#define DPM_PIPE_BPF_H

#include "meter/kernel/call.bpf.h"

/* A pipe behind a descriptor. */
struct pipe_file {
    struct pipe_key key;
    uint64_t address; /* of the kernel's pipe */
    uint64_t inode;   /* address */
    uint64_t file;    /* address */
    uint32_t mode;    /* FMODE_ */
};

/* `file` may be known only by address. False: not a pipe. */
static __always_inline bool look_at_file(struct file *file, struct pipe_file *found)
{
    struct inode *inode = MEMBER(struct file, file, f_inode);
    struct super_block *block;

    if (inode == NULL || (MEMBER(struct inode, inode, i_mode) & S_IFMT) != S_IFIFO)
        return false;
    found->key.inode = MEMBER(struct inode, inode, i_ino);
    block = MEMBER(struct inode, inode, i_sb);
    found->key.device = MEMBER(struct super_block, block, s_dev);
    found->address = (uint64_t)MEMBER(struct file, file, private_data);
    found->inode = (uint64_t)inode;
    found->file = (uint64_t)file;
    found->mode = MEMBER(struct file, file, f_mode);
    return found->address != 0;
}

/* Needed only when a pipe is made and recorded. */
static __always_inline const void *name_of_file(const struct pipe_file *file)
{
    struct file *opened = (struct file *)file->file;

    return BPF_CORE_READ(opened, f_path.dentry, d_name.name);
}

static __always_inline uint32_t flags_of_file(const struct pipe_file *file)
{
    struct file *opened = (struct file *)file->file;

    return BPF_CORE_READ(opened, f_flags);
}

/* For the current task. Returns 1 if the descriptor is a pipe, else 0. */
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

/* Bytes in the kernel's pipe at `address`. */
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

/* Total number of bytes written, including calls in progress. A half-done read makes it seem smaller, so the result is
 * the largest of several samples. */
#define LOOKS_AT_PIPE  64
#define LOOKS_IN_DOUBT 1000

struct pipe_look {
    struct pipe *pipe;
    uint64_t address;
    uint32_t end;
    uint32_t enough; /* stop when at least this is reached */
};

static long look_into_pipe(uint32_t index, struct pipe_look *look)
{
    /* read before the pipe, so that bytes read meanwhile are not counted twice */
    uint32_t in = *(volatile uint32_t *)&look->pipe->in;
    uint32_t end = in + bytes_in_pipe(look->address);

    if ((int32_t)(end - look->end) > 0)
        look->end = end;
    return (int32_t)(look->end - look->enough) >= 0;
}

static __always_inline bool is_full(uint64_t address)
{
    struct pipe_inode_info *pipe = (struct pipe_inode_info *)address;

    return BPF_CORE_READ(pipe, head) - BPF_CORE_READ(pipe, tail) >= BPF_CORE_READ(pipe, max_usage);
}

#define NEVER_ENOUGH(pipe) ((pipe)->in + 0x7fffffff)

static __always_inline uint32_t written_in_all(struct pipe *pipe, uint64_t address, uint32_t looks,
                                               uint32_t enough)
{
    struct pipe_look look = {.pipe = pipe, .address = address, .enough = enough};

    look.end = *(volatile uint32_t *)&pipe->in;
    bpf_loop(looks, look_into_pipe, &look, 0);
    return look.end;
}

/* ---- pipes that are known ---- */

/* The pipe that had this serial has no holders left. Several tasks may notice at the same time; one of them ends it. */
static __always_inline void end_pipe(const struct pipe_key *key, struct pipe *pipe, uint32_t serial)
{
    if (serial == 0 || __sync_val_compare_and_swap(&pipe->alive, serial, 0) != serial)
        return;
    for (int end = 0; end < PIPE_ENDS; end++)
        if (pipe->paths[end] != 0 && is_told_now(EVENT_DESTROYPATH))
            write_unowned(EVENT_DESTROYPATH, pipe->paths[end], 0);
    if (pipe->watched)
        __sync_fetch_and_add(&watched_pipes, -1);
    bpf_map_delete_elem(&pipes, key);
}

/* NULL: unknown. */
static __always_inline struct pipe *known_pipe(const struct pipe_file *file)
{
    struct pipe *pipe = bpf_map_lookup_elem(&pipes, &file->key);
    uint32_t alive;

    if (pipe == NULL)
        return NULL;
    alive = *(volatile uint32_t *)&pipe->alive; /* read before its address */
    if (pipe->address == file->address)
        return alive == 0 ? NULL : pipe;
    end_pipe(&file->key, pipe, alive); /* a FIFO that was closed and opened again */
    return NULL;
}

/* A pipe without a file has no name: the kernel makes it up when it is asked for. */
static __always_inline uint32_t kind_of_pipe(const struct pipe_file *file)
{
    char first = 0;

    bpf_probe_read_kernel(&first, 1, name_of_file(file));
    return first == '\0' ? PATH_PIPE : PATH_FIFO;
}

/* First position of an older pipe: leaves positions for what a call in progress has written before. */
#define OLDER_BEGIN (1 << 30)

/* What is known of a pipe when the meter meets it. */
enum meeting {
    MEETING_BORN,   /* just made by a metered stream */
    MEETING_OPENED, /* a FIFO that has not been used yet */
    MEETING_OLDER,
};

#define LOOKS_FOR_PLACE 1000

struct placing {
    const struct pipe_file *file;
    const struct pipe *fresh;
};

/* If the old entry was ended, the task that did it will remove it in a moment. */
static long place_pipe(uint32_t index, struct placing *placing)
{
    struct pipe *found;
    long result = bpf_map_update_elem(&pipes, &placing->file->key, placing->fresh, BPF_NOEXIST);

    if (result == 0 && placing->fresh->watched)
        __sync_fetch_and_add(&watched_pipes, 1);
    if (result != -EEXIST)
        return 1;
    found = bpf_map_lookup_elem(&pipes, &placing->file->key);
    return found != NULL && *(volatile uint32_t *)&found->alive != 0;
}

/* Adds a pipe that the meter meets in a call of `stream`; NULL: no memory (counted). */
static __noinline struct pipe *make_pipe(struct stream *stream, const struct pipe_file *file,
                                         enum meeting meeting)
{
    struct scratch *scratch = scratch_of(stream);
    struct placing placing = {.file = file};
    struct pipe *fresh, *pipe;

    if (scratch == NULL)
        return NULL;
    fresh = &scratch->pipe;
    placing.fresh = fresh;
    *fresh = (struct pipe){
        .address = file->address,
        .inode = file->inode,
        .met = bpf_ktime_get_ns(),
        .serial = __sync_fetch_and_add(&last_pipe, 1) + 1,
        .kind = kind_of_pipe(file),
        .older = meeting == MEETING_OLDER,
        .in_doubt = meeting == MEETING_OLDER,
        .watched = meeting != MEETING_BORN,
    };
    fresh->alive = fresh->serial;
    if (fresh->older) {
        fresh->in = OLDER_BEGIN;
        fresh->out = OLDER_BEGIN + bytes_in_pipe(file->address);
    }
    bpf_loop(LOOKS_FOR_PLACE, place_pipe, &placing, 0);
    pipe = known_pipe(file);
    if (pipe == NULL)
        __sync_fetch_and_add(&lost_paths, 1);
    return pipe;
}

/* ---- paths ---- */

/* Nothing before the metering is recorded. */
static __always_inline bool begins_later(const struct pipe *pipe)
{
    return pipe->older || pipe->met < begun_at;
}

static __noinline int fill_pipe(struct path_record *record, const struct pipe *pipe,
                                const struct pipe_file *file, uint32_t end, uint32_t first)
{
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
        bpf_probe_read_kernel_str(record->name, sizeof(record->name), name_of_file(file));
    }
    return 0;
}

/* Path number of this end of a pipe. If it is new, records it, with `first` as the beginning of its recorded part. 0:
 * the ring is full. `stream`: the user, NULL: unknown. (Not static, so that the verifier checks it once.) */
__noinline uint32_t pipe_path(struct stream *stream, struct pipe *pipe,
                              const struct pipe_file *file, uint32_t end, uint32_t first)
{
    struct path_record *record;
    uint32_t number;

    if (pipe == NULL || file == NULL)
        return 0;
    end &= 1;
    if (pipe->paths[end] != 0)
        return pipe->paths[end];
    record = claim_path(&pipe->paths[end], PATH_PIPE);
    if (record == NULL)
        return pipe->paths[end];
    number = record->path;
    fill_pipe(record, pipe, file, end, first);
    submit(record);
    if (stream != NULL) {
        stream->scratch.beginning = (struct message){.path = number};
        write_message(stream, EVENT_CREATEPATH, &stream->scratch.beginning);
    }
    return number;
}

/* ---- pipes end ---- */

static __always_inline bool is_pipe_alive(const struct pipe_key *key, const struct pipe *pipe)
{
    struct inode *inode = (struct inode *)pipe->inode;

    /* the inode's memory may be reused; then this is another inode */
    return BPF_CORE_READ(inode, i_ino) == key->inode &&
           (uint64_t)BPF_CORE_READ(inode, i_pipe) == pipe->address;
}

/* Records that uncounted bytes have passed through this end of a pipe, from `first` on. */
static __always_inline void tell_uncounted(struct pipe *pipe, const struct pipe_file *file,
                                           uint32_t end, uint32_t first, uint32_t bytes)
{
    uint32_t path = pipe_path(NULL, pipe, file, end, first);

    pipe->has_uncounted = true;
    if (path == 0) {
        count_lost(NULL, RING_DATA);
        return;
    }
    write_unseen(end == PIPE_WRITTEN ? EVENT_SEND : EVENT_RECEIVE, path, first, bytes);
}

/* Finds uncounted bytes. An unmetered process that got hold of a metered stream's pipe (SCM_RIGHTS, pidfd_getfd,
 * /proc/PID/fd) is not counted, nor is io_uring; then the pipe's content differs from the counts. It also differs
 * during calls, but only a call that waits for space stays in progress from one sweep to the next. After this the
 * counts agree again, and all calls are counted. Bytes that passed both ends uncounted are not found. */
static __always_inline void find_uncounted(struct pipe *pipe, const struct pipe_key *key)
{
    const struct pipe_file file = {.key = *key, .address = pipe->address, .inode = pipe->inode};
    uint32_t in = *(volatile uint32_t *)&pipe->in, out = *(volatile uint32_t *)&pipe->out;
    uint32_t uncounted = in + bytes_in_pipe(pipe->address) - out;
    bool same = pipe->swept_in == in && pipe->swept_out == out && pipe->uncounted == uncounted;

    pipe->swept_in = in;
    pipe->swept_out = out;
    pipe->uncounted = uncounted;
    if (uncounted == 0 || !same || is_full(pipe->address))
        return;
    if ((int32_t)uncounted > 0) {
        if (__sync_val_compare_and_swap(&pipe->out, out, out + uncounted) == out)
            tell_uncounted(pipe, &file, PIPE_WRITTEN, out, uncounted);
    } else if (__sync_val_compare_and_swap(&pipe->in, in, in - uncounted) == in) {
        tell_uncounted(pipe, &file, PIPE_READ, in, -uncounted);
    }
    pipe->in_doubt = true; /* until its content has been read */
    if (!pipe->watched)
        __sync_fetch_and_add(&watched_pipes, 1);
    pipe->watched = true;
}

static long sweep_pipe(void *map, struct pipe_key *key, struct pipe *pipe, void *context)
{
    uint32_t alive = *(volatile uint32_t *)&pipe->alive; /* read before the rest */

    if (!is_pipe_alive(key, pipe))
        end_pipe(key, pipe, alive);
    else if ((!pipe->in_doubt || pipe->has_uncounted) && alive != 0 &&
             (flags_in_force & FLAGS_OF_SEND) && (flags_in_force & FLAGS_OF_RECEIVE))
        find_uncounted(pipe, key);
    return 0;
}

/* No hook shows that a pipe was closed, so all known pipes are checked about once a second. */
SEC("syscall")
int sweep_pipes(void *context)
{
    bpf_for_each_map_elem(&pipes, sweep_pipe, NULL, 0);
    return 0;
}

#endif
