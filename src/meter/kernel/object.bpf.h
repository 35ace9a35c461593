/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * object.bpf.h: what a call waits for that is no path: the file behind its descriptor, a timer, a queue, a semaphore. An
 * object has a number, which the BLOCK has, too; a NAME says once what it is.
 *
 *      flock(3)  --> descriptor 3 --> inode 77 of device 8:1 --> object 2      NAME: 2 is the file /run/lock/app
 *      read(4)   --> descriptor 4 --> anonymous, "[timerfd]" --> object 5      NAME: 5 is [timerfd]
 *      futex(&m, FUTEX_WAIT, 2) --> address of m, process 1  --> object 6      NAME: 6 is the lock 0x55d0c0de4040
 *
 * Only calls that name their object are looked at, when they fall asleep. What the program waits for is not touched.
 */
#ifndef DPM_OBJECT_BPF_H
#define DPM_OBJECT_BPF_H

#include "meter/kernel/file.bpf.h"

#include "meter/shared/mpi_calls.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, NAMED_OBJECTS_MOST);
    __type(key, struct object_key);
    __type(value, uint32_t);
} objects SEC(".maps");

uint32_t last_object;

/* ---- names ---- */

#define ANONYMOUS_SIZE 32

/* Of a name that is copied to an empty `walked`. */
static __noinline uint64_t hash_name(const struct walked *walked)
{
    const uint64_t *words = (const uint64_t *)walked->text;
    uint64_t hash = 0;

    for (int i = 0; i < PATH_NAME_SIZE / 8; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
    return hash;
}

static __always_inline void copy_name(struct scratch *scratch, const void *name, bool of_user,
                                      uint32_t size)
{
    __builtin_memset(scratch->walked.text, 0, sizeof(scratch->walked.text));
    if (of_user)
        bpf_probe_read_user_str(scratch->walked.text, size, name);
    else
        bpf_probe_read_kernel_str(scratch->walked.text, size, name);
    scratch->walked.at = 0;
    scratch->object.identity = hash_name(&scratch->walked);
}

#define MPI_NAME(name, number) "MPI_" #name,

const volatile char mpi_names[MPI_WAITING_COUNT][MPI_WAITING_NAME_SIZE + 8] = {
    MPI_WAITING(MPI_NAME)};

/* Those that may end without a message that is recorded. */
const volatile char mpi_receiving_names[MPI_WAIT_LAST + 1][MPI_WAITING_NAME_SIZE + 8] = {
    [MPI_RECV] = "MPI_Recv",       [MPI_SENDRECV] = "MPI_Sendrecv", [MPI_WAIT] = "MPI_Wait",
    [MPI_WAITALL] = "MPI_Waitall", [MPI_WAITANY] = "MPI_Waitany",   [MPI_WAITSOME] = "MPI_Waitsome",
};

static __always_inline void name_mpi_function(char *name, uint32_t function)
{
    if (function <= MPI_WAIT_LAST) {
        bpf_probe_read_kernel_str(name, sizeof(mpi_receiving_names[0]),
                                  (const void *)mpi_receiving_names[function]);
        return;
    }
    function -= MPI_WAITING_FIRST;
    if (function < MPI_WAITING_COUNT)
        bpf_probe_read_kernel_str(name, sizeof(mpi_names[0]), (const void *)mpi_names[function]);
}

static __noinline int fill_object_name(struct name_record *record, struct scratch *scratch,
                                       uint64_t file)
{
    const struct object_key *key = &scratch->object;

    switch (key->kind) {
    case WAIT_ON_FILE:
    case WAIT_ON_DEVICE:
    case WAIT_ON_PIPE:
        if (key->identity != 0)
            name_file(&scratch->walked, record->name, file);
        break;
    case WAIT_ON_ANONYMOUS:
    case WAIT_ON_OPENED:
        bpf_probe_read_kernel(record->name, PATH_NAME_SIZE, scratch->walked.text);
        break;
    case WAIT_ON_QUEUE:
        if (file != 0) {
            record->name[0] = '/';
            bpf_probe_read_kernel_str(
                record->name + 1, PATH_NAME_SIZE,
                BPF_CORE_READ((struct file *)file, f_path.dentry, d_name.name));
            break;
        } /* fall through */
    case WAIT_ON_SEMAPHORE:
        BPF_SNPRINTF(record->name, 16, "%u", (uint32_t)key->identity);
        break;
    case WAIT_ON_MPI:
        name_mpi_function(record->name, key->identity);
        break;
    case WAIT_ON_LOCK:
        BPF_SNPRINTF(record->name, 24, "0x%llx", key->identity);
        break;
    }
    return 0;
}

/* Number of the object `scratch.object`; its NAME is made if it is new. 0: there are too many, or the ring is full. */
__noinline uint32_t object_number(struct stream *stream, uint64_t file)
{
    struct name_record *record;
    struct scratch *scratch;
    uint32_t *known, number;
    struct object_key key;

    if (stream == NULL)
        return 0;
    scratch = &stream->scratch;
    key = scratch->object; /* verifiers before 6.2 take no key from memory that is an argument */
    known = bpf_map_lookup_elem(&objects, &key);
    if (known != NULL)
        return *known;
    if (last_object >= (key.kind == WAIT_ON_LOCK ? NAMED_LOCKS_MOST : NAMED_OBJECTS_MOST))
        return 0;
    record = bpf_ringbuf_reserve(&control_ring, sizeof(*record), 0);
    if (record == NULL) {
        count_lost(NULL, RING_CONTROL);
        return 0;
    }
    number = __sync_fetch_and_add(&last_object, 1) + 1;
    __builtin_memset(record, 0, sizeof(*record));
    record->header.time = bpf_ktime_get_ns();
    record->header.id = EVENT_NAME;
    record->header.flags = RECORD_NO_STREAM;
    record->number = number;
    record->kind = NAME_OBJECT;
    record->what = scratch->object.kind;
    fill_object_name(record, scratch, file);
    submit(record); /* two streams that meet it at the same time give it two numbers */
    bpf_map_update_elem(&objects, &key, &number, BPF_ANY);
    return number;
}

/* ---- objects ---- */

static __always_inline uint32_t kind_of_file(uint32_t type)
{
    switch (type) {
    case S_IFCHR:
        return WAIT_ON_DEVICE;
    case S_IFIFO:
        return WAIT_ON_PIPE;
    case S_IFSOCK:
        return WAIT_ON_SOCKET;
    default:
        return WAIT_ON_FILE;
    }
}

/* What is behind a descriptor. */
__noinline uint32_t object_of_descriptor(struct stream *stream, uint32_t descriptor)
{
    struct file *file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
    struct super_block *block;
    struct object_key *key;
    struct inode *inode;
    uint64_t magic;

    if (stream == NULL || file == NULL)
        return 0;
    key = &stream->scratch.object;
    inode = MEMBER(struct file, file, f_inode);
    block = inode == NULL ? NULL : MEMBER(struct inode, inode, i_sb);
    if (block == NULL)
        return 0;
    magic = MEMBER(struct super_block, block, s_magic);
    *key = (struct object_key){.kind = kind_of_file(MEMBER(struct inode, inode, i_mode) & S_IFMT)};
    if (magic == ANON_INODE_FS_MAGIC) {
        key->kind = WAIT_ON_ANONYMOUS;
        copy_name(&stream->scratch, BPF_CORE_READ(file, f_path.dentry, d_name.name), false,
                  ANONYMOUS_SIZE);
    } else if (key->kind != WAIT_ON_SOCKET && magic != PIPEFS_MAGIC) {
        if (magic == MQUEUE_MAGIC)
            key->kind = WAIT_ON_QUEUE;
        key->identity = MEMBER(struct inode, inode, i_ino);
        key->place = MEMBER(struct super_block, block, s_dev);
    }
    return object_number(stream, (uint64_t)file);
}

static __always_inline uint32_t object_with_id(struct stream *stream, uint32_t kind, uint32_t id)
{
    stream->scratch.object = (struct object_key){.identity = id, .kind = kind};
    return object_number(stream, 0);
}

static __always_inline uint32_t object_opened(struct stream *stream, uint64_t name)
{
    stream->scratch.object = (struct object_key){.kind = WAIT_ON_OPENED, .place = stream->process};
    copy_name(&stream->scratch, (const void *)name, true, PATH_NAME_SIZE);
    return stream->scratch.walked.text[0] == '\0' ? 0 : object_number(stream, 0);
}

#define FUTEX_WAIT        0
#define FUTEX_LOCK_PI     6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2    13
#define FUTEX_OPERATION   0x7f /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */

/* Value of a lock that is held, and that others wait for: glibc's and Rust's. */
#define LOCK_CONTENDED 2

/* Other futexes are conditions, semaphores, barriers or the ends of threads: each of a thread's own, or no lock. */
static __always_inline uint32_t object_of_futex(struct stream *stream,
                                                const struct pt_regs *registers)
{
    uint32_t operation = registers->si & FUTEX_OPERATION;
    bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;

    if (operation != FUTEX_LOCK_PI && operation != FUTEX_LOCK_PI2 &&
        !(waits && (uint32_t)registers->dx == LOCK_CONTENDED))
        return 0;
    stream->scratch.object = (struct object_key){
        .identity = registers->di, .place = stream->process, .kind = WAIT_ON_LOCK};
    return object_number(stream, 0);
}

/* Calls whose first argument is the descriptor of what they wait for. */
static __always_inline bool is_on_descriptor(uint32_t call)
{
    if (call < 64)
        return (1ULL << CALL_READ | 1ULL << CALL_WRITE | 1ULL << CALL_IOCTL | 1ULL << CALL_PREAD64 |
                1ULL << CALL_PWRITE64 | 1ULL << CALL_READV | 1ULL << CALL_WRITEV) >>
                   call &
               1;
    switch (call) {
    case CALL_FCNTL:
    case CALL_FLOCK:
    case CALL_FSYNC:
    case CALL_FDATASYNC:
    case CALL_FTRUNCATE:
    case CALL_GETDENTS64:
    case CALL_MQ_TIMEDSEND:
    case CALL_MQ_TIMEDRECEIVE:
    case CALL_SYNC_FILE_RANGE:
    case CALL_FALLOCATE:
    case CALL_PREADV:
    case CALL_PWRITEV:
    case CALL_SYNCFS:
    case CALL_PREADV2:
    case CALL_PWRITEV2:
        return true;
    default:
        return false;
    }
}

/* Number of what this call of the current task waits for; 0: not known. */
static __always_inline uint32_t object_of_wait(struct stream *stream, uint32_t call,
                                               const struct pt_regs *registers)
{
    if (is_on_descriptor(call))
        return object_of_descriptor(stream, registers->di);
    switch (call) {
    case CALL_FUTEX:
        return object_of_futex(stream, registers);
    case CALL_SEMOP:
    case CALL_SEMTIMEDOP:
        return object_with_id(stream, WAIT_ON_SEMAPHORE, registers->di);
    case CALL_MSGSND:
    case CALL_MSGRCV:
        return object_with_id(stream, WAIT_ON_QUEUE, registers->di);
    case CALL_OPEN:
        return object_opened(stream, registers->di);
    case CALL_OPENAT:
        return object_opened(stream, registers->si);
    default:
        return 0;
    }
}

#endif
