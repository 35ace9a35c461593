/* SPDX-License-Identifier: MIT */
/*
 * file_calls.c: what processes read from regular files and block devices, and write to them.
 *
 *      (process, device, inode) --> struct used_file: its path, how often it was opened
 *
 * A path is one file as one process uses it: it begins with the first open or use, and ends when the process has closed
 * the file as often as it has opened it, and has no copy of a descriptor of it, or has ended. Positions are read from
 * /proc when the call has ended.
 */
#include "ptracemeter/file_calls.h"

#include "base/mapping.h"
#include "meter/shared/message.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define AT_FILE_POSITION UINT64_MAX       /* the call has moved the file's own position */
#define AT_END_OF_FILE   (UINT64_MAX - 1) /* the call has appended, and left that position alone */
#define MQUEUE_MAGIC     0x19800202
/* Descriptors that are looked at for a copy. A program that has many, and opens and closes files all the time, must not
 * become much slower; the copies that programs make, as for a redirection, usually have low numbers. */
#define MOST_LOOKED_AT 256u

struct used_file {
    uint64_t device;
    uint64_t inode;
    uint32_t process; /* 0: unused entry of the pool */
    uint32_t path;
    uint32_t opens;
    uint32_t closes;
    uint32_t held;
};

/* ---- files ---- */

static void path_of_descriptor(const struct tracee *tracee, const char *folder, int descriptor,
                               char path[64])
{
    snprintf(path, 64, "/proc/%d/%s/%d", tracee->tid, folder, descriptor);
}

/* Without /proc, names and positions cannot be known. */
static bool look_at_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                         struct stat *file)
{
    struct statfs system;
    char path[64];

    if (meter->no_proc || !descriptor_file(meter, tracee, descriptor, file) ||
        (!S_ISREG(file->st_mode) && !S_ISBLK(file->st_mode)))
        return false;
    path_of_descriptor(tracee, "fd", descriptor, path);
    return statfs(path, &system) == 0 && system.f_type != MQUEUE_MAGIC;
}

static uint64_t key_of(uint32_t process, uint64_t device, uint64_t inode)
{
    const uint64_t words[3] = {process, device, inode};

    return hash_bytes(0, words, sizeof(words));
}

/* Its end, if it is too long. */
static void take_name(const struct tracee *tracee, int descriptor, char name[PATH_NAME_SIZE])
{
    char path[64], text[4096];

    path_of_descriptor(tracee, "fd", descriptor, path);
    ssize_t length = readlink(path, text, sizeof(text) - 1);
    text[length < 0 ? 0 : length] = '\0';
    size_t size = strlen(text), most = PATH_NAME_SIZE - 1;
    if (size <= most)
        memcpy(name, text, size);
    else
        snprintf(name, PATH_NAME_SIZE, "...%s", text + size - most + 3);
}

/* Tells files apart that had the same inode one after the other: when the file was made. 0: not known. */
static uint32_t generation_of(const struct tracee *tracee, int descriptor)
{
    struct statx status;
    char path[64];

    path_of_descriptor(tracee, "fd", descriptor, path);
    if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) < 0 || !(status.stx_mask & STATX_BTIME))
        return 0;
    const uint64_t made[] = {(uint64_t)status.stx_btime.tv_sec, status.stx_btime.tv_nsec};
    return (uint32_t)hash_bytes(0, made, sizeof(made));
}

/* Whether the call that has opened a file has emptied it. */
static bool empties_file(const struct tracee *tracee)
{
    const struct call *call = &tracee->call;
    uint64_t flags = 0;

    switch (call->number) {
    case SYS_creat:
        return true;
    case SYS_open:
        return (call->arguments[1] & O_TRUNC) != 0;
    case SYS_openat:
        return (call->arguments[2] & O_TRUNC) != 0;
    default: /* openat2: the first member of its struct open_how */
        return tracer_read(tracee, call->arguments[2], &flags, sizeof(flags)) &&
               (flags & O_TRUNC) != 0;
    }
}

static void tell_path(struct ptracemeter *meter, const struct tracee *tracee, int descriptor,
                      struct used_file *used, bool opened)
{
    struct path_record record = {
        .header = {.id = EVENT_PATH,
                   .flags = (uint16_t)(RECORD_NO_STREAM | (opened ? 0 : RECORD_OLDER))},
        .path = ++meter->last_path,
        .kind = PATH_FILE,
        .name_end = PATH_NAME_LOCAL,
        .cookie = ++meter->last_file,
        .inode = used->inode,
        .network = file_device(used->device),
        .start_in = generation_of(tracee, descriptor),
    };

    used->path = record.path;
    record.header.time = tell_time(meter);
    take_name(tracee, descriptor, record.name);
    tell(meter, &record.header);
}

static struct used_file *find_file(const struct ptracemeter *meter, uint32_t process,
                                   const struct stat *file)
{
    uint32_t found = lookup_find(&meter->files, key_of(process, file->st_dev, file->st_ino));

    return found == LOOKUP_NONE ? NULL : pool_at(&meter->used_files, found);
}

/* NULL: no memory (counted). */
static struct used_file *add_file(struct ptracemeter *meter, uint32_t process,
                                  const struct stat *file)
{
    int64_t index = pool_take(&meter->used_files);

    if (index >= 0 && lookup_set(&meter->files, key_of(process, file->st_dev, file->st_ino),
                                 (uint32_t)index) < 0) {
        pool_give(&meter->used_files, (uint32_t)index);
        index = -1;
    }
    if (index < 0) {
        meter->shortfalls.no_memory++;
        return NULL;
    }
    struct used_file *used = pool_at(&meter->used_files, (uint32_t)index);
    *used = (struct used_file){.device = file->st_dev, .inode = file->st_ino, .process = process};
    return used;
}

static void end_file(struct ptracemeter *meter, uint32_t index)
{
    struct used_file *used = pool_at(&meter->used_files, index);
    struct record record = {
        .header = {.id = EVENT_DESTROYPATH, .flags = RECORD_NO_STREAM},
        .message = {.path = used->path, .offset = used->opens, .bytes = used->closes},
    };

    if (wants(meter, EVENT_DESTROYPATH)) {
        record.header.time = tell_time(meter);
        tell(meter, &record.header);
    }
    lookup_remove(&meter->files, key_of(used->process, used->device, used->inode));
    used->process = 0;
    pool_give(&meter->used_files, index);
}

void traced_files_end(struct ptracemeter *meter, uint32_t process)
{
    for (uint32_t i = 0; i < meter->used_files.used; i++) {
        const struct used_file *used = pool_at(&meter->used_files, i);
        if (used->process != 0 && (process == 0 || used->process == process))
            end_file(meter, i);
    }
}

void traced_files_free(struct ptracemeter *meter)
{
    lookup_done(&meter->files);
    pool_done(&meter->used_files);
}

static bool is_metered(const struct ptracemeter *meter)
{
    return (meter->options.kinds & METER_FILE) != 0 &&
           (wants(meter, EVENT_READ) || wants(meter, EVENT_WRITE));
}

void file_opened(struct ptracemeter *meter, struct tracee *tracee, int64_t descriptor)
{
    struct message message = {.flags = empties_file(tracee) ? RECORD_TRUNCATED : 0,
                              .begin = tracee->call.began};
    struct stat file;

    if (descriptor < 0 || !look_at_file(meter, tracee, (int)descriptor, &file))
        return;
    uint32_t process = tracee->process->number;
    struct used_file *used = find_file(meter, process, &file);
    if (used == NULL)
        used = add_file(meter, process, &file);
    if (used == NULL)
        return;
    if (used->path == 0)
        tell_path(meter, tracee, (int)descriptor, used, true);
    used->opens++;
    used->held++;
    message.path = used->path;
    tell_message(meter, tracee, EVENT_CREATEPATH, &message);
}

/* Whether a descriptor other than this one is the same file: dup, too, makes descriptors. */
static bool has_another(const struct tracee *tracee, int descriptor, const struct stat *file)
{
    const struct dirent *entry;
    struct stat other;
    char path[64];
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%d/fd", tracee->tid);
    DIR *folder = opendir(path);
    for (unsigned i = 0; folder != NULL && !found && i < MOST_LOOKED_AT; i++) {
        entry = readdir(folder);
        if (entry == NULL)
            break;
        found = entry->d_name[0] != '.' && atoi(entry->d_name) != descriptor &&
                fstatat(dirfd(folder), entry->d_name, &other, 0) == 0 &&
                other.st_dev == file->st_dev && other.st_ino == file->st_ino;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* The index of the file behind a descriptor that the process is about to give up; LOOKUP_NONE: it is not used. */
static uint32_t find_given_up(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                              struct stat *file)
{
    if (!is_metered(meter) || meter->files.count == 0 ||
        !look_at_file(meter, tracee, descriptor, file))
        return LOOKUP_NONE;
    return lookup_find(&meter->files, key_of(tracee->process->number, file->st_dev, file->st_ino));
}

void file_closes(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct stat file;
    uint32_t found = find_given_up(meter, tracee, descriptor, &file);

    if (found == LOOKUP_NONE)
        return;
    struct used_file *used = pool_at(&meter->used_files, found);
    used->closes++;
    used->held -= used->held > 0;
    if (used->held == 0 && !has_another(tracee, descriptor, &file))
        end_file(meter, found);
}

void file_replaced(struct ptracemeter *meter, struct tracee *tracee, int descriptor)
{
    struct stat file;
    uint32_t found = find_given_up(meter, tracee, descriptor, &file);

    if (found == LOOKUP_NONE)
        return;
    const struct used_file *used = pool_at(&meter->used_files, found);
    if (used->held == 0 && !has_another(tracee, descriptor, &file))
        end_file(meter, found);
}

/* ---- calls ---- */

/* What a call reads from and writes to; -1: nothing. */
static void find_ends(struct call *call)
{
    const uint64_t *arguments = call->arguments;
    int first = (int)arguments[0];

    call->file_read = call->file_written = -1;
    switch (call->number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
        call->file_read = first;
        break;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
        call->file_written = first;
        break;
    case SYS_sendfile:
        call->file_read = (int)arguments[1];
        call->file_written = first;
        break;
    case SYS_splice:
    case SYS_copy_file_range:
        call->file_read = first;
        call->file_written = (int)arguments[2];
        break;
    }
}

bool file_call_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;
    struct stat file;

    call->file_read = call->file_written = -1;
    if (!is_metered(meter))
        return false;
    find_ends(call);
    if (call->file_read >= 0 &&
        (!wants(meter, EVENT_READ) || !look_at_file(meter, tracee, call->file_read, &file)))
        call->file_read = -1;
    if (call->file_written >= 0 &&
        (!wants(meter, EVENT_WRITE) || !look_at_file(meter, tracee, call->file_written, &file)))
        call->file_written = -1;
    return call->file_read >= 0 || call->file_written >= 0;
}

/* The position that a call got by a pointer, and has moved by `bytes`. */
static uint64_t told_position(const struct tracee *tracee, uint64_t pointer, uint64_t bytes)
{
    uint64_t position;

    if (pointer == 0 || !tracer_read(tracee, pointer, &position, sizeof(position)))
        return AT_FILE_POSITION;
    return position - bytes;
}

static uint64_t position_of(const struct tracee *tracee, uint32_t id, uint64_t bytes)
{
    const struct call *call = &tracee->call;
    const uint64_t *arguments = call->arguments;

    switch (call->number) {
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_pwrite64:
    case SYS_pwritev:
        return arguments[3]; /* -1: the file's own */
    case SYS_pwritev2:
        return (arguments[5] & RWF_APPEND) && arguments[3] != AT_FILE_POSITION ? AT_END_OF_FILE
                                                                               : arguments[3];
    case SYS_sendfile:
        return id == EVENT_READ ? told_position(tracee, arguments[2], bytes) : AT_FILE_POSITION;
    case SYS_splice:
    case SYS_copy_file_range:
        return told_position(tracee, arguments[id == EVENT_READ ? 1 : 3], bytes);
    default:
        return AT_FILE_POSITION;
    }
}

/* The file's own position, and the flags that it was opened with. */
static void read_details(const struct tracee *tracee, int descriptor, uint64_t *ret_position,
                         unsigned *ret_flags)
{
    char path[64], line[128];

    *ret_position = *ret_flags = 0;
    path_of_descriptor(tracee, "fdinfo", descriptor, path);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "pos:", 4) == 0)
            *ret_position = strtoull(line + 4, NULL, 10);
        else if (strncmp(line, "flags:", 6) == 0)
            *ret_flags = (unsigned)strtoul(line + 6, NULL, 8);
    }
    if (file != NULL)
        fclose(file);
}

static void tell_use(struct ptracemeter *meter, struct tracee *tracee, uint32_t id, int descriptor,
                     uint64_t bytes)
{
    uint64_t position = position_of(tracee, id, bytes), own;
    uint32_t process = tracee->process->number;
    unsigned flags;
    struct stat file;

    if (descriptor < 0 || !look_at_file(meter, tracee, descriptor, &file))
        return;
    struct used_file *used = find_file(meter, process, &file);
    if (used == NULL)
        used = add_file(meter, process, &file);
    if (used == NULL)
        return;
    struct message message = {.flags = RECORD_OLDER};
    if (used->path == 0) { /* opened before the metering, or by another process */
        tell_path(meter, tracee, descriptor, used, false);
        used->held++;
        message.path = used->path;
        tell_message(meter, tracee, EVENT_CREATEPATH, &message);
    }
    read_details(tracee, descriptor, &own, &flags);
    if (position == AT_FILE_POSITION)
        position = own - bytes;
    else if (position == AT_END_OF_FILE || (id == EVENT_WRITE && (flags & O_APPEND)))
        position = (uint64_t)file.st_size - bytes;
    message = (struct message){.path = used->path,
                               .offset = (uint32_t)position,
                               .bytes = (uint32_t)bytes,
                               .begin = tracee->call.began};
    tell_message(meter, tracee, id, &message);
}

void file_call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    const struct call *call = &tracee->call;

    if (result < 0)
        return;
    tell_use(meter, tracee, EVENT_READ, call->file_read, (uint64_t)result);
    tell_use(meter, tracee, EVENT_WRITE, call->file_written, (uint64_t)result);
}

void traced_files_init(struct ptracemeter *meter)
{
    meter->used_files.size = sizeof(struct used_file);
}
