/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.bpf.h: READ and WRITE: what processes read from regular files and block devices, and write to them.
 *
 *      sys_enter: `file_call_at` .... the call .... sys_exit (result)  --> READ or WRITE, span: the time between
 *
 * The kernel has no tracepoint on files that all file systems pass, so the beginning and the end of every system call is
 * examined. Records need no positions of the meter's own: the kernel's position in the file is read when the call has
 * ended.
 *
 * A path is one file as one process uses it. It begins with the first open or the first use, and ends when the process
 * has closed the file, or has not used it for a minute. Each open is a CREATEPATH; DESTROYPATH has both counts.
 */
#ifndef DPM_FILE_BPF_H
#define DPM_FILE_BPF_H

#include "meter/kernel/call.bpf.h"

/* ---- files ---- */

/* `file` is known by its address. False: something else than a regular file or a block device. */
static __always_inline bool key_of_file(struct file_key *key, const struct stream *stream,
                                        struct file *file)
{
    struct inode *inode = MEMBER(struct file, file, f_inode);
    struct super_block *block;
    uint32_t type;

    if (inode == NULL)
        return false;
    type = MEMBER(struct inode, inode, i_mode) & S_IFMT;
    block = MEMBER(struct inode, inode, i_sb);
    /* since Linux 6.15 what has no file at all (eventfd, epoll) looks like a regular file */
    if ((type != S_IFREG && type != S_IFBLK) || block == NULL ||
        MEMBER(struct super_block, block, s_magic) == ANON_INODE_FS_MAGIC ||
        MEMBER(struct super_block, block, s_magic) == MQUEUE_MAGIC)
        return false;
    key->inode = MEMBER(struct inode, inode, i_ino);
    key->device = MEMBER(struct super_block, block, s_dev);
    key->process = stream->process;
    key->generation = MEMBER(struct inode, inode, i_generation);
    key->unused = 0;
    return true;
}

/* ---- names ---- */

#define DEEPEST  64 /* directories and mounts */
#define NAME_END (PATH_NAME_SIZE - 1)

/* Addresses: the root directory of who reads DPM's traces, 0: not known. */
uint64_t own_root, own_root_mount;

/* `task`: of DPM. */
static __always_inline void note_own_root(struct task_struct *task)
{
    own_root = (uint64_t)BPF_CORE_READ(task, fs, root.dentry);
    own_root_mount = (uint64_t)BPF_CORE_READ(task, fs, root.mnt);
}

struct walk {
    struct walked *to;
    uint64_t dentry; /* addresses */
    uint64_t mount;
};

static __always_inline void put_component(struct walked *to, const unsigned char *name,
                                          uint32_t length)
{
    uint32_t at = to->at & (WALKED_SIZE / 2 - 1);

    if (length < at) {
        at = (at - length - 1) & (WALKED_SIZE / 2 - 1);
        to->text[at] = '/';
        bpf_probe_read_kernel(&to->text[at + 1], length & (WALKED_SIZE / 2 - 1), name);
        to->at = at;
        return;
    }
    /* only its end fits, behind "..." */
    if (at > 3)
        bpf_probe_read_kernel(&to->text[3], (at - 3) & (WALKED_SIZE / 2 - 1),
                              name + length - at + 3);
    to->text[0] = to->text[1] = to->text[2] = '.';
    to->at = 0;
}

/* One step upwards. Returns whether it was the last. */
static long walk_up(uint32_t index, struct walk *walk)
{
    struct dentry *dentry = (struct dentry *)walk->dentry;
    struct vfsmount *mounted = (struct vfsmount *)walk->mount;
    struct dentry *parent = BPF_CORE_READ(dentry, d_parent);

    if (walk->dentry == own_root && walk->mount == own_root_mount)
        return 1;
    if (dentry == BPF_CORE_READ(mounted, mnt_root)) {
        struct mount *mount =
            (struct mount *)(walk->mount - bpf_core_field_offset(struct mount, mnt));
        struct mount *above = BPF_CORE_READ(mount, mnt_parent);

        walk->dentry = (uint64_t)BPF_CORE_READ(mount, mnt_mountpoint);
        walk->mount = (uint64_t)above + bpf_core_field_offset(struct mount, mnt);
        return above == mount || above == NULL;
    }
    put_component(walk->to, BPF_CORE_READ(dentry, d_name.name), BPF_CORE_READ(dentry, d_name.len));
    walk->dentry = (uint64_t)parent;
    return parent == dentry || parent == NULL || walk->to->at == 0;
}

/* The file's path as DPM would open it, from its own root directory; a file that is not below that, from the root of its
 * mount namespace. Of one that is too long, the end. */
static __noinline int name_file(struct walked *to, char *name, uint64_t file)
{
    struct file *opened = (struct file *)file;
    struct walk walk = {
        .to = to,
        .dentry = (uint64_t)BPF_CORE_READ(opened, f_path.dentry),
        .mount = (uint64_t)BPF_CORE_READ(opened, f_path.mnt),
    };

    __builtin_memset(to->text, 0, sizeof(to->text));
    to->at = NAME_END;
    bpf_loop(DEEPEST, walk_up, &walk, 0);
    bpf_probe_read_kernel(name, PATH_NAME_SIZE, &to->text[to->at & (WALKED_SIZE / 2 - 1)]);
    return 0;
}

/* ---- paths ---- */

/* Records a file that its process uses for the first time; 0: the ring is full. `opened`: by the call that has just
 * ended. (Not static, so that the verifier checks it once.) */
__noinline uint32_t file_path(struct stream *stream, struct used_file *used,
                              const struct file_key *key, uint64_t file, bool opened)
{
    struct path_record *record;
    uint32_t number;

    if (stream == NULL || used == NULL || key == NULL)
        return 0;
    if (used->path != 0)
        return used->path;
    record = claim_path(&used->path, PATH_FILE);
    if (record == NULL)
        return used->path;
    number = record->path;
    record->header.flags = RECORD_NO_STREAM | (opened ? 0 : RECORD_OLDER);
    record->kind = PATH_FILE;
    record->cookie = __sync_fetch_and_add(&last_file, 1) + 1;
    record->inode = key->inode;
    record->network = key->device;
    record->start_in = key->generation;
    record->name_end = PATH_NAME_LOCAL;
    name_file(&stream->scratch.walked, record->name, file);
    submit(record);
    return number;
}

/* NULL: there are too many (counted). */
static __always_inline struct used_file *find_file(const struct file_key *key)
{
    struct used_file fresh = {.used = sweeps}, *used = bpf_map_lookup_elem(&files, key);

    if (used != NULL && !used->ended) {
        used->used = sweeps;
        return used;
    }
    /* an ended entry is removed in a moment by the task that has ended it */
    bpf_map_update_elem(&files, key, &fresh, BPF_NOEXIST);
    used = bpf_map_lookup_elem(&files, key);
    if (used == NULL || used->ended) {
        __sync_fetch_and_add(&lost_paths, 1);
        return NULL;
    }
    return used;
}

/* ---- calls ---- */

#define AT_FILE_POSITION (~0ULL) /* the call has moved the file's own position */
#define AT_END_OF_FILE   (~1ULL) /* the call has appended, and left that position alone */

static __always_inline uint64_t position_of(struct file *file, uint32_t id, uint64_t position,
                                            uint32_t bytes)
{
    struct inode *inode;

    if (position == AT_FILE_POSITION)
        return MEMBER(struct file, file, f_pos) - bytes;
    if (position != AT_END_OF_FILE &&
        (id == EVENT_READ || (MEMBER(struct file, file, f_flags) & O_APPEND) == 0))
        return position;
    /* with O_APPEND pwrite appends, too, whatever position it is given */
    inode = MEMBER(struct file, file, f_inode);
    return MEMBER(struct inode, inode, i_size) - bytes;
}

/* READ or WRITE, and flags of the record. */
#define USE(id, flags) ((id) | (flags) << 16)

/* A call of the current task has read from this descriptor, or written to it (`use`); does nothing unless it is a
 * file. */
__noinline int file_used(struct stream *stream, uint32_t descriptor, uint32_t use, uint32_t bytes,
                         uint64_t position)
{
    uint32_t id = use & 0xffff, flags = use >> 16;
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct used_file *used;
    struct message *message;
    struct file_key key;

    if (stream == NULL || file == NULL || !key_of_file(&key, stream, file) || silent(stream))
        return 0;
    message = &stream->scratch.message;
    used = find_file(&key);
    if (used == NULL) {
        miss_messages(stream, id, METER_FILE, 1);
        return 0;
    }
    if (used->path == 0) {
        /* opened before the metering, or by another process */
        used->held++;
        *message = (struct message){.path = file_path(stream, used, &key, (uint64_t)file, false),
                                    .flags = RECORD_OLDER};
        if (message->path != 0)
            write_message(stream, EVENT_CREATEPATH, message);
    }
    *message = (struct message){
        .path = used->path,
        .offset = flags != 0 ? position : position_of(file, id, position, bytes),
        .bytes = bytes,
        .flags = flags,
        .begin = stream->file_call_at,
    };
    if (message->path != 0)
        write_message(stream, id, message);
    else
        lose_message(stream, id, METER_FILE);
    return 0;
}

/* A call has opened this descriptor, and emptied its file. */
__noinline int file_opened(struct stream *stream, uint32_t descriptor, bool empties)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct used_file *used;
    struct message *message;
    struct file_key key;

    if (stream == NULL || file == NULL || !key_of_file(&key, stream, file) || silent(stream))
        return 0;
    used = find_file(&key);
    if (used == NULL)
        return 0;
    __sync_fetch_and_add(&used->opens, 1);
    __sync_fetch_and_add(&used->held, 1);
    message = &stream->scratch.message;
    *message = (struct message){.path = file_path(stream, used, &key, (uint64_t)file, true),
                                .flags = empties ? RECORD_TRUNCATED : 0,
                                .begin = stream->file_call_at};
    if (message->path != 0)
        write_message(stream, EVENT_CREATEPATH, message);
    return 0;
}

/* A call is about to close this descriptor. */
__noinline int file_closes(struct stream *stream, uint32_t descriptor)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct used_file *used;
    struct file_key key;

    if (stream == NULL || file == NULL || !key_of_file(&key, stream, file))
        return 0;
    used = bpf_map_lookup_elem(&files, &key);
    if (used == NULL || used->ended)
        return 0;
    used->used = sweeps;
    __sync_fetch_and_add(&used->closes, 1);
    if (used->held > 0)
        __sync_fetch_and_add(&used->held, -1);
    return 0;
}

/* What a call reads from and writes to; NO_CALL: nothing. */
struct file_ends {
    uint64_t read_at, written_at; /* positions, or AT_FILE_POSITION */
    uint32_t read;
    uint32_t written;
};

/* The position that a call got by a pointer, and has moved by `bytes`. */
static __noinline uint64_t told_position(uint64_t pointer, int64_t bytes)
{
    uint64_t position = 0;

    if (pointer == 0)
        return AT_FILE_POSITION;
    bpf_probe_read_user(&position, sizeof(position), (const void *)pointer);
    return position - bytes;
}

static __always_inline void ends_of_file_call(struct file_ends *ends, uint32_t call,
                                              const struct pt_regs *registers, int64_t result)
{
    *ends = (struct file_ends){AT_FILE_POSITION, AT_FILE_POSITION, NO_CALL, NO_CALL};
    switch (call) {
    case CALL_PREAD64:
    case CALL_PREADV:
    case CALL_PREADV2: /* position -1: the file's own */
        ends->read_at = registers->r10;
        ends->read = registers->di;
        break;
    case CALL_READ:
    case CALL_READV:
        ends->read = registers->di;
        break;
    case CALL_PWRITE64:
    case CALL_PWRITEV:
    case CALL_PWRITEV2:
        ends->written_at = registers->r10;
        if (call == CALL_PWRITEV2 && (registers->r9 & RWF_APPEND) &&
            ends->written_at != AT_FILE_POSITION)
            ends->written_at = AT_END_OF_FILE;
        ends->written = registers->di;
        break;
    case CALL_WRITE:
    case CALL_WRITEV:
        ends->written = registers->di;
        break;
    case CALL_SENDFILE:
        ends->read = registers->si;
        ends->read_at = told_position(registers->dx, result);
        ends->written = registers->di;
        break;
    case CALL_SPLICE:
    case CALL_COPY_FILE_RANGE:
        ends->read = registers->di;
        ends->read_at = told_position(registers->si, result);
        ends->written = registers->dx;
        ends->written_at = told_position(registers->r10, result);
        break;
    }
}

/* Flags of mmap, and the protection that it gives. */
enum { MAPS_SHARED = 1, MAPS_ANONYMOUS = 0x20, MAPS_PROGRAM = 0x800, MAY_WRITE = 2 };

/* Whether a mapping is of no file, or of a library's text, which the dynamic linker maps (MAP_DENYWRITE). */
static __always_inline bool is_other_mapping(const struct pt_regs *registers)
{
    return (registers->r10 & (MAPS_ANONYMOUS | MAPS_PROGRAM)) != 0;
}

/* How many bytes of the file a mapping shows. */
static __always_inline uint32_t mapped_bytes(uint32_t descriptor, uint64_t from, uint64_t length)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct inode *inode = file == NULL ? NULL : MEMBER(struct file, file, f_inode);
    uint64_t size = inode == NULL ? 0 : MEMBER(struct inode, inode, i_size);

    if (from >= size)
        return 0;
    if (length > size - from)
        length = size - from;
    return length > 0xffffffff ? 0xffffffff : length;
}

/* Not static, so that the verifier checks it once. */
__noinline int file_mapped(struct stream *stream, uint32_t descriptor, uint64_t from,
                           uint64_t length, bool writes)
{
    uint32_t bytes = mapped_bytes(descriptor, from, length);

    if (stream == NULL || bytes == 0)
        return 0;
    if (wants(stream, EVENT_FLAG(EVENT_READ)))
        file_used(stream, descriptor, USE(EVENT_READ, RECORD_MAPPED), bytes, from);
    if (writes && wants(stream, EVENT_FLAG(EVENT_WRITE)))
        file_used(stream, descriptor, USE(EVENT_WRITE, RECORD_MAPPED), bytes, from);
    return 0;
}

/* Whether a call that opens a file empties it. */
static __always_inline bool empties_file(uint32_t call, const struct pt_regs *registers)
{
    uint64_t flags = 0;

    switch (call) {
    case CALL_CREAT:
        return true;
    case CALL_OPEN:
        return (registers->si & O_TRUNC) != 0;
    case CALL_OPENAT:
        return (registers->dx & O_TRUNC) != 0;
    default: /* openat2: the first member of its struct open_how */
        bpf_probe_read_user(&flags, sizeof(flags), (const void *)registers->dx);
        return (flags & O_TRUNC) != 0;
    }
}

static __always_inline bool opens_file(uint32_t call)
{
    return call == CALL_OPEN || call == CALL_CREAT || call == CALL_OPENAT || call == CALL_OPENAT2;
}

static __always_inline bool is_file_call(uint32_t call)
{
    if (call < 64)
        return (1ULL << CALL_READ | 1ULL << CALL_WRITE | 1ULL << CALL_OPEN | 1ULL << CALL_MMAP |
                1ULL << CALL_PREAD64 | 1ULL << CALL_PWRITE64 | 1ULL << CALL_READV |
                1ULL << CALL_WRITEV | 1ULL << CALL_SENDFILE) >>
                   call &
               1;
    return opens_file(call) || call == CALL_FTRUNCATE || call == CALL_SPLICE ||
           call == CALL_PREADV || call == CALL_PWRITEV || call == CALL_COPY_FILE_RANGE ||
           call == CALL_PREADV2 || call == CALL_PWRITEV2;
}

/* ---- the hooks ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG(file_call_begins, struct pt_regs *registers, long call)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *stream;

    if (!has_storage(task) || registers->cs == USER32_CS)
        return 0;
    if (call != CALL_CLOSE && !is_file_call(call))
        return 0;
    stream = stored_stream(task);
    if (stream == NULL)
        return 0;
    if (call == CALL_CLOSE)
        return file_closes(stream, registers->di);
    stream->file_call_at = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(file_call_ends, struct pt_regs *registers, int64_t result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    uint32_t call = registers->orig_ax;
    struct file_ends ends;
    struct stream *stream;

    if (result < 0 || !has_storage(task) || registers->cs == USER32_CS || !is_file_call(call))
        return 0;
    if (call == CALL_MMAP && is_other_mapping(registers))
        return 0;
    stream = running_stored_stream(task, true);
    if (stream == NULL)
        return 0;
    if (opens_file(call))
        return file_opened(stream, result, empties_file(call, registers));
    if (call == CALL_MMAP)
        return file_mapped(stream, registers->r8, registers->r9, registers->si,
                           (registers->r10 & MAPS_SHARED) && (registers->dx & MAY_WRITE));
    if (call == CALL_FTRUNCATE)
        return wants(stream, EVENT_FLAG(EVENT_WRITE))
                   ? file_used(stream, registers->di, USE(EVENT_WRITE, RECORD_TRUNCATED), 0,
                               registers->si)
                   : 0;
    ends_of_file_call(&ends, call, registers, result);
    if (ends.read != NO_CALL && wants(stream, EVENT_FLAG(EVENT_READ)))
        file_used(stream, ends.read, USE(EVENT_READ, 0), result, ends.read_at);
    if (ends.written != NO_CALL && wants(stream, EVENT_FLAG(EVENT_WRITE)))
        file_used(stream, ends.written, USE(EVENT_WRITE, 0), result, ends.written_at);
    return 0;
}

/* ---- the end ---- */

#define SWEEPS_UNUSED 60 /* about a minute */

/* The number of its path is not used again. */
static __always_inline void end_file(const struct file_key *key, struct used_file *used)
{
    struct record *record;

    if (__sync_val_compare_and_swap(&used->ended, 0, 1) != 0)
        return;
    if (used->path != 0 && is_told_now(EVENT_DESTROYPATH)) {
        record = begin_unowned(RING_CONTROL, EVENT_DESTROYPATH);
        if (record != NULL) {
            record->message.path = used->path;
            record->message.offset = used->opens;
            record->message.bytes = used->closes;
            submit(record);
        }
    }
    bpf_map_delete_elem(&files, key);
}

#define SWEEPS_CLOSED 2 /* a call may be in progress */

static long sweep_file(void *map, struct file_key *key, struct used_file *used, void *context)
{
    if (metering_ends || sweeps - used->used >= (used->held > 0 ? SWEEPS_UNUSED : SWEEPS_CLOSED))
        end_file(key, used);
    return 0;
}

/* Ends the paths of files that are closed, and of those unused for long: their process may have ended. */
SEC("syscall")
int sweep_files(void *context)
{
    bpf_for_each_map_elem(&files, sweep_file, NULL, 0);
    return 0;
}

#endif
