/* SPDX-License-Identifier: MIT */
/*
 * tracees.c: streams and processes: how they begin, change and end, and what /proc says about them.
 *
 *      creator's stop: CREATEPROCESS, STREAM    child's first stop: STARTPROCESS    exit: TERMINATION
 *
 * The creator's stop and the child's first stop come in either order. A child that comes first is held.
 */
#include "ptracemeter/tracees.h"

#include "ptracemeter/calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/file_calls.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracer.h"

#include "base/mapping.h"
#include "base/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

/* ---- reading /proc ---- */

/* Finds the line that begins with a word. Returns the position after the word. */
static const char *find_line(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, word, length) == 0)
            return line + length;
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return NULL;
}

static uint32_t number_of(const char *line)
{
    return line == NULL ? 0 : (uint32_t)strtoul(line, NULL, 10);
}

/* The last number in a line: that of the innermost namespace. */
static uint32_t last_number_of(const char *line)
{
    uint32_t number = 0;

    for (char *end; line != NULL && *line != '\n' && *line != '\0'; line = end) {
        number = (uint32_t)strtoul(line, &end, 10);
        if (end == line)
            break;
        end += strspn(end, " \t");
    }
    return number;
}

static uint32_t inode_of(pid_t tid, const char *name)
{
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
    return stat(path, &status) < 0 ? 0 : (uint32_t)status.st_ino;
}

/* A cgroup's number is the inode of its directory below the root. */
static uint64_t cgroup_of(const struct ptracemeter *meter, pid_t tid)
{
    char text[4096];
    struct stat status;

    if (meter->cgroup_root < 0 || !process_read(tid, "cgroup", text, sizeof(text)))
        return 0;
    const char *line = find_line(text, "0::/");
    if (line == NULL)
        return 0;
    char name[4096] = ".";
    size_t length = strcspn(line, "\n");
    if (length > 0)
        snprintf(name, sizeof(name), "%.*s", (int)length, line);
    return fstatat(meter->cgroup_root, name, &status, 0) < 0 ? 0 : status.st_ino;
}

/* Reads the identity. It cannot change unseen, so that this is needed only if it may differ from the creator's, or
 * from that before an exec. */
static void read_identity(struct process *process)
{
    char text[4096];

    if (process_read(process->pid, "status", text, sizeof(text))) {
        process->user = number_of(find_line(text, "Uid:"));
        process->pid_inside = last_number_of(find_line(text, "NSpid:"));
    }
    if (process->pid_inside == 0)
        process->pid_inside = (uint32_t)process->pid;
    process->pid_namespace = inode_of(process->pid, "ns/pid");
}

/* ---- the tables ---- */

struct tracee *tracee_find(const struct ptracemeter *meter, pid_t tid)
{
    uint32_t index = lookup_find(&meter->tids, (uint64_t)tid);

    return index == LOOKUP_NONE ? NULL : pool_at(&meter->tracees, index);
}

struct tracee *tracee_add(struct ptracemeter *meter, pid_t tid)
{
    int64_t index = pool_take(&meter->tracees);

    if (index < 0)
        return NULL;
    if (lookup_set(&meter->tids, (uint64_t)tid, (uint32_t)index) < 0) {
        pool_give(&meter->tracees, (uint32_t)index);
        return NULL;
    }
    struct tracee *tracee = pool_at(&meter->tracees, (uint32_t)index);
    tracee->tid = tid;
    tracee->schedstat = -1;
    tracee->thread_fd = -1;
    meter->tracee_count++;
    return tracee;
}

/* `like`: the creator; NULL: not known. */
static struct process *process_new(const struct ptracemeter *meter, pid_t pid, uint32_t number,
                                   const struct process *like)
{
    struct process *process = calloc(1, sizeof(*process));

    if (process == NULL)
        return NULL;
    process->pid = pid;
    process->number = number;
    process->pid_fd = -1;
    if (like == NULL || meter->identities_change || like->pid_inside != (uint32_t)like->pid) {
        read_identity(process);
    } else {
        process->user = like->user;
        process->pid_inside = (uint32_t)pid;
        process->pid_namespace = like->pid_namespace;
    }
    process->cgroup = cgroup_of(meter, pid); /* its creator may have been moved unseen */
    return process;
}

static void leave_process(struct process *process)
{
    if (process == NULL || --process->streams > 0)
        return;
    if (process->pid_fd >= 0)
        close(process->pid_fd);
    callers_free(process->callers);
    free(process);
}

void tracee_forget(struct ptracemeter *meter, struct tracee *tracee)
{
    uint32_t index = lookup_find(&meter->tids, (uint64_t)tracee->tid);

    call_dropped(meter, tracee);
    if (tracee->schedstat >= 0)
        close(tracee->schedstat);
    if (tracee->thread_fd >= 0)
        close(tracee->thread_fd);
    table_leave(meter, tracee->table);
    if (tracee->process != NULL && tracee->process->streams == 1 && meter->files.count > 0)
        traced_files_end(meter, tracee->process->number);
    leave_process(tracee->process);
    lookup_remove(&meter->tids, (uint64_t)tracee->tid);
    if (tracee->number != 0)
        atomic_fetch_sub(&meter->live, 1);
    meter->tracee_count--;
    pool_give(&meter->tracees, index);
}

/* ---- the scheduler's figures ---- */

static void open_schedstat(struct ptracemeter *meter, struct tracee *tracee)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/schedstat", tracee->tid);
    tracee->schedstat = open(path, O_RDONLY | O_CLOEXEC);
    if (tracee->schedstat < 0) {
        tracee->schedstat = -2;
        meter->shortfalls.no_schedule++;
    }
}

static uint64_t take_number(const char **text)
{
    uint64_t number = 0;

    while (**text >= '0' && **text <= '9')
        number = number * 10 + (uint64_t)(*(*text)++ - '0');
    if (**text == ' ')
        ++*text;
    return number;
}

void tracee_look(struct ptracemeter *meter, struct tracee *tracee)
{
    char text[80];

    if (tracee->schedstat == -1)
        open_schedstat(meter, tracee);
    if (tracee->schedstat < 0)
        return;
    ssize_t length = pread(tracee->schedstat, text, sizeof(text) - 1, 0);
    if (length <= 0)
        return;
    text[length] = '\0';
    const char *at = text;
    tracee->schedule.run = take_number(&at);
    tracee->schedule.delay = take_number(&at);
    tracee->schedule.arrivals = take_number(&at);
}

uint64_t tracee_preempted(const struct tracee *tracee)
{
    char text[4096];

    return process_read(tracee->tid, "status", text, sizeof(text))
               ? number_of(find_line(text, "nonvoluntary_ctxt_switches:"))
               : 0;
}

void tracee_name(const struct tracee *tracee, char text[PROCESS_SHOWN_SIZE])
{
    process_shown(tracee->process != NULL ? tracee->process->pid : tracee->tid, text);
}

void tracee_falls_short(const struct tracee *tracee, struct shortfall *shortfall)
{
    if (shortfall->count++ == 0)
        tracee_name(tracee, shortfall->first);
}

/* ---- STREAM, IMAGE ---- */

/* The name of a stream. It is padded with NULs. */
static void read_name(const struct tracee *tracee, char name[STREAM_NAME_SIZE])
{
    char text[64];

    process_name(tracee->tid, text, sizeof(text));
    memset(name, 0, STREAM_NAME_SIZE);
    memcpy(name, text, strnlen(text, STREAM_NAME_SIZE));
}

static void tell_stream(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct process *process = tracee->process;
    struct stream_record record = {
        .header = {.time = tell_time(meter),
                   .id = EVENT_STREAM,
                   .flags = RECORD_NO_STREAM,
                   .proc_time_and_pc = tracee->schedule.run & PROC_TIME_MASK,
                   .stream = tracee->number},
        .pid = (uint32_t)process->pid,
        .tid = (uint32_t)tracee->tid,
        .process = process->number,
        .parent = tracee->parent,
        .start = tracee->started,
        .pid_inside = process->pid_inside,
        .user = process->user,
        .cgroup = process->cgroup,
        .pid_namespace = process->pid_namespace,
        .image = process->image,
    };

    read_name(tracee, record.name);
    memcpy(tracee->name, record.name, sizeof(tracee->name));
    tracee->user = process->user;
    tracee->cgroup = process->cgroup;
    tell(meter, &record.header);
}

void tracee_changed(struct ptracemeter *meter, struct tracee *tracee, bool user)
{
    struct process *process = tracee->process;
    /* the first thread stands for its process: others may be many, and short */
    uint64_t cgroup = tracee->tid == process->pid ? cgroup_of(meter, process->pid) : 0;
    char name[STREAM_NAME_SIZE];

    if (user)
        read_identity(process);
    if (cgroup != 0)
        process->cgroup = cgroup;
    read_name(tracee, name);
    if ((name[0] != '\0' && memcmp(name, tracee->name, sizeof(name)) != 0) ||
        tracee->user != process->user || tracee->cgroup != process->cgroup)
        tell_stream(meter, tracee);
}

void tracees_sweep(struct ptracemeter *meter)
{
    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0 && tracee->process != NULL && tracee->tid == tracee->process->pid &&
            tracee->born && !tracee->ended && !tracee->from_exec)
            tracee_changed(meter, tracee, false);
    }
}

/* NAME of a process that has executed a program. */
static void tell_command(struct ptracemeter *meter, const struct tracee *tracee)
{
    struct name_record record = {
        .header = {.id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = tracee->process->number,
        .kind = NAME_COMMAND,
    };

    if (!command_line_read(tracee->tid, record.name, sizeof(record.name)))
        return;
    record.header.time = tell_time(meter);
    tell(meter, &record.header);
}

/* SCHEDULE: totals so far. */
static void tell_schedule(struct ptracemeter *meter, const struct tracee *tracee)
{
    char text[4096];
    struct record record = {
        .header = {.id = EVENT_SCHEDULE,
                   .flags = RECORD_NO_STREAM,
                   .proc_time_and_pc = tracee->schedule.run & PROC_TIME_MASK,
                   .stream = tracee->number},
        .schedule = {.runnable = tracee->schedule.delay},
    };

    if (!wants(meter, EVENT_SCHEDULE) || tracee->from_exec || tracee->schedstat < 0 ||
        !process_read(tracee->tid, "status", text, sizeof(text)))
        return;
    record.header.time = tell_time(meter);
    record.schedule.voluntary = number_of(find_line(text, "voluntary_ctxt_switches:"));
    record.schedule.involuntary = number_of(find_line(text, "nonvoluntary_ctxt_switches:"));
    tell(meter, &record.header);
}

#define PAGE_BYTES 4096

/* Reads a text of at most size - 1 bytes. The memory after it may not exist, so each page is read separately. */
static void read_text(const struct tracee *tracee, uint64_t address, char *text, size_t size)
{
    size_t done = 0;

    memset(text, 0, size);
    while (done < size - 1 && memchr(text, '\0', done) == NULL) {
        size_t left = PAGE_BYTES - (address + done) % PAGE_BYTES;
        size_t piece = left < size - 1 - done ? left : size - 1 - done;
        if (!tracer_read(tracee, address + done, text + done, piece))
            break;
        done += piece;
    }
    size_t length = strnlen(text, size);
    memset(text + length, 0, size - length);
}

/* Reads the file name as given to exec, from the new program's stack. */
static void read_image_name(const struct tracee *tracee, char name[IMAGE_NAME_SIZE])
{
    char path[64];
    Elf64_auxv_t auxiliary[64];

    snprintf(path, sizeof(path), "/proc/%d/auxv", tracee->tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, auxiliary, sizeof(auxiliary));
    if (file >= 0)
        close(file);
    for (size_t i = 0; (ssize_t)((i + 1) * sizeof(auxiliary[0])) <= size; i++) {
        if (auxiliary[i].a_type != AT_EXECFN)
            continue;
        read_text(tracee, auxiliary[i].a_un.a_val, name, IMAGE_NAME_SIZE);
        return;
    }
}

/* The file that a process executes. */
struct program {
    bool known;
    bool has_32_bits;
    struct stat file;
};

static struct program look_at_program(pid_t pid)
{
    struct program program = {0};
    unsigned char identity[EI_NIDENT] = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return program;
    program.known = fstat(file, &program.file) == 0;
    program.has_32_bits = pread(file, identity, sizeof(identity), 0) == (ssize_t)sizeof(identity) &&
                          memcmp(identity, ELFMAG, SELFMAG) == 0 &&
                          identity[EI_CLASS] == ELFCLASS32;
    close(file);
    return program;
}

static void tell_image(struct ptracemeter *meter, const struct tracee *tracee,
                       const struct program *program)
{
    struct image_record record = {
        .header = {.time = tell_time(meter), .id = EVENT_IMAGE, .flags = RECORD_NO_STREAM},
        .image = ++meter->last_image,
        .load = process_stat_number(tracee->tid, PROCESS_CODE),
    };

    if (program->known) {
        record.device = file_device(program->file.st_dev);
        record.inode = program->file.st_ino;
    }
    read_image_name(tracee, record.name);
    tracee->process->image = record.image;
    tell(meter, &record.header);
}

/* ---- beginning ---- */

int tracee_mark(struct ptracemeter *meter, pid_t pid)
{
    struct tracee *tracee = tracee_add(meter, pid);

    if (tracee == NULL)
        return -ENOMEM;
    tracee->number = ++meter->last_stream;
    tracee->process = process_new(meter, pid, tracee->number, NULL);
    tracee->table = table_new();
    if (tracee->process == NULL || tracee->table == NULL)
        return -ENOMEM;
    tracee->process->streams = 1;
    tracee->started = clock_now(CLOCK_MONOTONIC);
    tracee->born = true;
    tracee->begun = true;
    tracee->from_exec = true;
    atomic_fetch_add(&meter->live, 1);
    return 0;
}

/* The flags of the call that creates a stream. Its caller, `parent`, is stopped in it; false: it was killed. */
static bool creation_flags(const struct tracee *parent, uint64_t *ret_flags)
{
    struct user_regs_struct registers;

    *ret_flags = 0;
    if (ptrace(PTRACE_GETREGS, parent->tid, NULL, &registers) < 0)
        return false;
    if (registers.orig_rax == SYS_clone)
        *ret_flags = registers.rdi;
    if (registers.orig_rax == SYS_vfork)
        *ret_flags = CLONE_VM | CLONE_VFORK;
    return registers.orig_rax != SYS_clone3 ||
           tracer_read(parent, registers.rdi, ret_flags, sizeof(*ret_flags));
}

/* If memory is short, records have no PC in the program. */
static void begin_callers(struct ptracemeter *meter, struct process *process)
{
    callers_free(process->callers);
    process->callers = NULL;
    if ((meter->options.flags & METER_FLAG_PC) && callers_new(&process->callers) < 0)
        meter->shortfalls.no_memory++;
}

static void take_callers(struct ptracemeter *meter, struct process *process,
                         const struct process *parent, uint64_t flags)
{
    if (parent->callers == NULL)
        return;
    if (flags & CLONE_VM)
        process->callers = callers_share(parent->callers);
    else if (callers_fork(parent->callers, &process->callers) < 0)
        meter->shortfalls.no_memory++;
}

static bool join_parent(struct ptracemeter *meter, struct tracee *tracee,
                        const struct tracee *parent, uint64_t flags)
{
    bool thread = flags & CLONE_THREAD;

    tracee->process =
        thread ? parent->process : process_new(meter, tracee->tid, tracee->number, parent->process);
    tracee->table = flags & CLONE_FILES ? parent->table : table_copy(meter, parent->table);
    if (tracee->table != NULL && (flags & CLONE_FILES))
        tracee->table->users++;
    if (tracee->process == NULL || tracee->table == NULL)
        return false;
    tracee->process->streams++;
    if (!thread) {
        tracee->process->image = parent->process->image;
        tracee->process->other_bits = parent->process->other_bits;
        take_callers(meter, tracee->process, parent->process, flags);
    }
    return true;
}

void tracee_born(struct ptracemeter *meter, struct tracee *parent, pid_t tid)
{
    struct tracee *tracee = tracee_find(meter, tid);
    uint64_t flags;

    if (!creation_flags(parent, &flags) || (flags & (CLONE_NEWPID | CLONE_NEWNET)))
        meter->identities_change = true;
    if (tracee != NULL && tracee->born)
        return;
    if (tracee == NULL)
        tracee = tracee_add(meter, tid);
    if (tracee == NULL)
        return;
    tracee->number = ++meter->last_stream;
    tracee->parent = parent->number;
    tracee->started = clock_now(CLOCK_MONOTONIC);
    tracee->from_exec = parent->from_exec;
    atomic_fetch_add(&meter->live, 1);
    if (!join_parent(meter, tracee, parent, flags)) {
        meter->shortfalls.no_memory++;
        return; /* held until it is adopted */
    }
    tracee->born = true;
    tell_stream(meter, tracee);
    tell_process_event(meter, parent, EVENT_CREATEPROCESS, tracee->number,
                       (flags & CLONE_THREAD) != 0, 0, 0);
}

/* The creator was killed at that moment: its stop never comes. */
void tracee_adopt(struct ptracemeter *meter, struct tracee *tracee)
{
    char text[4096] = "";

    process_read(tracee->tid, "status", text, sizeof(text));
    pid_t group = (pid_t)number_of(find_line(text, "Tgid:"));
    struct tracee *leader = group != tracee->tid ? tracee_find(meter, group) : NULL;
    tracee->number = ++meter->last_stream;
    tracee->started = clock_now(CLOCK_MONOTONIC);
    atomic_fetch_add(&meter->live, 1);
    tracee->born = true;
    if (leader != NULL && leader->born) {
        join_parent(meter, tracee, leader, CLONE_THREAD | CLONE_FILES);
    } else {
        tracee->process = process_new(meter, tracee->tid, tracee->number, NULL);
        tracee->table = table_new();
        if (tracee->process != NULL) {
            tracee->process->streams++;
            begin_callers(meter, tracee->process);
        }
    }
    if (tracee->process == NULL || tracee->table == NULL)
        meter->shortfalls.no_memory++;
    else
        tell_stream(meter, tracee);
}

void tracee_starts(struct ptracemeter *meter, struct tracee *tracee)
{
    if (tracee->begun || tracee->process == NULL)
        return;
    tracee->begun = true;
    tell_process_event(meter, tracee, EVENT_STARTPROCESS, 0, 0, 0, 0);
}

/* ---- executing ---- */

/* 32-bit programs have another register set, x32 programs another kind of file. */
static bool has_other_bits(const struct tracee *tracee, const struct program *program)
{
    struct user_regs_struct registers;
    struct iovec set = {&registers, sizeof(registers)};

    return program->has_32_bits ||
           (ptrace(PTRACE_GETREGSET, tracee->tid, (void *)NT_PRSTATUS, &set) == 0 &&
            set.iov_len < sizeof(registers));
}

/* A thread that executes a program takes over its leader's ID. All other threads have ended. */
static void take_leaders_place(struct ptracemeter *meter, struct tracee **tracee, pid_t former)
{
    struct tracee *thread = tracee_find(meter, former), *leader = *tracee;
    pid_t tid = leader->tid;

    if (former == tid || thread == NULL || thread == leader)
        return;
    uint32_t index = lookup_find(&meter->tids, (uint64_t)former);
    tracee_ends(meter, leader, 0);
    tracee_forget(meter, leader);
    lookup_remove(&meter->tids, (uint64_t)former);
    thread->tid = tid;
    if (thread->schedstat >= 0)
        close(thread->schedstat);
    thread->schedstat = -1;
    if (thread->thread_fd >= 0)
        close(thread->thread_fd);
    thread->thread_fd = -1;
    if (lookup_set(&meter->tids, (uint64_t)tid, index) < 0)
        meter->shortfalls.no_memory++;
    *tracee = thread;
}

static void look_at_bits(struct ptracemeter *meter, struct tracee *tracee,
                         const struct program *program)
{
    struct process *process = tracee->process;
    bool before = process->other_bits;

    process->other_bits = has_other_bits(tracee, program);
    if (!process->other_bits || before)
        return;
    tracee_falls_short(tracee, &meter->shortfalls.other_bits);
    meter->doubtful = true;          /* its sends and receives are not counted ... */
    meter->identities_change = true; /* ... and its other calls not seen */
}

struct tracee *tracee_executes(struct ptracemeter *meter, struct tracee *tracee, pid_t former)
{
    bool begins;

    take_leaders_place(meter, &tracee, former);
    call_dropped(meter, tracee);
    tracee->exit_wanted = false;
    tracee_look(meter, tracee);
    begins = tracee->from_exec;
    tracee->from_exec = false;
    if (tracee->process == NULL || tracee->table == NULL)
        return tracee;
    struct program program = look_at_program(tracee->process->pid);
    if (begins || meter->identities_change || !program.known || (program.file.st_mode & S_ISUID))
        read_identity(tracee->process);
    tracee->process->cgroup = cgroup_of(meter, tracee->tid);
    begin_callers(meter, tracee->process);
    if (tracee->table->users > 1) { /* shared with another process */
        struct table *own = table_copy(meter, tracee->table);
        table_leave(meter, tracee->table);
        tracee->table = own;
    }
    if (tracee->table != NULL)
        descriptors_after_exec(meter, tracee);
    look_at_bits(meter, tracee, &program);
    tracee->process->image = 0;
    if (wants(meter, EVENT_EXEC) || (meter->options.flags & METER_FLAG_PC))
        tell_image(meter, tracee, &program);
    tell_command(meter, tracee);
    tell_stream(meter, tracee);
    if (begins) {
        tell_process_event(meter, tracee, EVENT_STARTPROCESS, 0, 0, 0, 0);
        tell_schedule(meter, tracee); /* from before the metering */
    }
    tell_process_event(meter, tracee, EVENT_EXEC, tracee->process->image, 0, 0, 0);
    return tracee;
}

/* ---- signals ---- */

/* Whether a process sent the signal; otherwise the kernel did. */
static bool is_sent_by_process(int signal, int code)
{
    return code == SI_USER || code == SI_QUEUE || code == SI_TKILL ||
           (signal == SIGCHLD && code >= CLD_EXITED && code <= CLD_CONTINUED);
}

/* The pid of a process of which the tracee's namespace has this one. */
static uint32_t pid_outside(const struct ptracemeter *meter, const struct tracee *tracee,
                            uint32_t pid)
{
    const struct process *process = tracee->process;

    if (process->pid_inside == (uint32_t)process->pid)
        return pid;
    for (uint32_t i = 0; pid != 0 && i < meter->tracees.used; i++) {
        const struct tracee *other = pool_at(&meter->tracees, i);
        if (other->tid != 0 && other->process != NULL && other->process->pid_inside == pid &&
            other->process->pid_namespace == process->pid_namespace)
            return (uint32_t)other->process->pid;
    }
    return SENDER_UNKNOWN;
}

void tracee_signalled(struct ptracemeter *meter, const struct tracee *tracee, int signal,
                      const siginfo_t *info)
{
    struct record record = {
        .header = {.time = tell_time(meter), .id = EVENT_SIGNAL, .flags = RECORD_NO_STREAM},
        .signal = {.number = (uint8_t)signal,
                   .code = (int16_t)info->si_code,
                   .receiver = tracee->number,
                   .receiver_pid = (uint32_t)tracee->process->pid},
    };

    if (is_sent_by_process(signal, info->si_code))
        record.signal.sender_pid = pid_outside(meter, tracee, (uint32_t)info->si_pid);
    tell(meter, &record.header);
}

/* ---- ending ---- */

static void note_left(struct ptracemeter *meter, const struct tracee *tracee)
{
    pid_t pid = tracee->process->pid;
    char name[STREAM_NAME_SIZE + 1] = "";

    for (size_t i = 0; i < meter->left_count; i++)
        if (meter->left[i].pid == pid)
            return;
    if (array_reserve(&meter->left, &meter->left_capacity, meter->left_count + 1,
                      sizeof(meter->left[0])) < 0)
        return;
    process_name(pid, name, sizeof(name));
    struct meter_process *left = &meter->left[meter->left_count++];
    left->pid = pid;
    memcpy(left->name, name, strlen(name));
}

void tracee_leaves(struct ptracemeter *meter, struct tracee *tracee)
{
    if (tracee->process == NULL || tracee->ended || tracee->from_exec)
        return;
    tracee_look(meter, tracee);
    tell_schedule(meter, tracee);
    tell_stream(meter, tracee); /* for its CPU time */
    note_left(meter, tracee);
}

/* Whether all other streams of its process have ended. */
static bool is_last(const struct ptracemeter *meter, const struct tracee *tracee)
{
    for (uint32_t i = 0; tracee->process->streams > 1 && i < meter->tracees.used; i++) {
        const struct tracee *other = pool_at(&meter->tracees, i);
        if (other->tid != 0 && other != tracee && other->process == tracee->process &&
            !other->ended)
            return false;
    }
    return true;
}

void tracee_ends(struct ptracemeter *meter, struct tracee *tracee, int status)
{
    if (tracee->ended || tracee->process == NULL)
        return;
    call_dropped(meter, tracee);
    tracee->exit_wanted = false;
    tracee->ended = true;
    if (!tracee->from_exec)
        tracee_changed(meter, tracee, false); /* by another process, which is not seen */
    tell_schedule(meter, tracee);
    if (wants(meter, EVENT_TERMINATION))
        tell_process_event(meter, tracee, EVENT_TERMINATION, (uint32_t)status,
                           is_last(meter, tracee), tracee->failed_sends, tracee->failed_receives);
    else if (!tracee->from_exec)
        tell_stream(meter, tracee); /* for its CPU time */
    /* the kernel closes its descriptors before it reports its end */
    table_leave(meter, tracee->table);
    tracee->table = NULL;
}
