/* SPDX-License-Identifier: MIT */
/*
 * pc_tracer.c: runs a program, stops it at each of its system calls, and asks where in the program the call comes from
 * (src/ptracemeter/program_callers.h). Each answer is compared with others:
 *
 *      pc-tracer [--unwind SECONDS] LOG PROGRAM [ARGUMENT...]
 *
 *      answer with the cache --> the same without a cache: must be equal
 *                            '-> elfutils' unwinder (for SECONDS of its time): equal, or "lost"
 *
 * LOG has a line for each call, TID ENTRY EXIT CALL RESULT PC LIBRARY NAME READS UNWOUND; times are CLOCK_MONOTONIC.
 * UNWOUND is the first address in the program that the unwinder finds, 0 if it finds none, "-" if it was not asked. The
 * last line has totals, and the overhead of the answers in time and in system calls.
 */
#include "base/base.h"
#include "event/record.h"
#include "ptracemeter/program_callers.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MOST 4096

/* An address space. */
struct space {
    unsigned users;
    struct callers *callers;
    Dwfl *dwfl; /* NULL: not yet, or text has changed */
};

struct thread {
    pid_t tid; /* 0: free */
    struct space *space;
    bool early; /* it stopped before its parent's event announced it */
    bool in_call;
    int call;
    uint64_t arguments[6];
    uint64_t entry;
};

struct place {
    uint64_t pc;
    bool library;
};

static struct thread threads[THREADS_MOST];
static FILE *log_file;
static uint64_t unwind_left; /* ns */

static struct {
    uint64_t calls;     /* requested answers */
    uint64_t lost;      /* the search for the program's frame failed */
    uint64_t unequal;   /* the answer differs from one without a cache */
    uint64_t unwound;   /* the unwinder finds an address in the program */
    uint64_t agreed;    /* ... the same */
    uint64_t not_found; /* ... but DPM finds none */
    uint64_t wrong;     /* ... a different one */
    uint64_t time;      /* ns */
    uint64_t reads;     /* process_vm_readv */
} sums;

_Noreturn static void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "pc-tracer: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, ": %s\n", strerror(errno));
    va_end(arguments);
    exit(2);
}

/* ---- overhead of answers: the linker puts this in between (meson.build) ---- */

static uint64_t reads;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count,
                                const struct iovec *there, unsigned long there_count,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count,
                                const struct iovec *there, unsigned long there_count,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count,
                                const struct iovec *there, unsigned long there_count,
                                unsigned long flags)
{
    reads++;
    return __real_process_vm_readv(pid, here, count, there, there_count, flags);
}

/* ---- address spaces ---- */

static struct space *new_space(struct callers *callers)
{
    struct space *space = calloc(1, sizeof(*space));

    if (space == NULL || (callers == NULL && callers_new(&callers) < 0))
        fail("no memory");
    space->users = 1;
    space->callers = callers;
    return space;
}

static struct space *copy_space(const struct space *parent)
{
    struct callers *callers;

    if (callers_fork(parent->callers, &callers) < 0)
        fail("no memory");
    return new_space(callers);
}

static void end_unwinder(struct space *space)
{
    if (space->dwfl != NULL)
        dwfl_end(space->dwfl);
    space->dwfl = NULL;
}

static void leave_space(struct space *space)
{
    if (space == NULL || --space->users > 0)
        return;
    end_unwinder(space);
    callers_free(space->callers);
    free(space);
}

/* ---- threads ---- */

static struct thread *find_thread(pid_t tid)
{
    for (size_t i = 0; i < THREADS_MOST; i++)
        if (threads[i].tid == tid)
            return &threads[i];
    return NULL;
}

static struct thread *add_thread(pid_t tid, struct space *space)
{
    struct thread *thread = find_thread(0);

    if (thread == NULL)
        fail("too many threads");
    *thread = (struct thread){.tid = tid, .space = space};
    return thread;
}

static void remove_thread(struct thread *thread)
{
    if (thread == NULL)
        return;
    leave_space(thread->space);
    *thread = (struct thread){0};
}

static void go_on(pid_t tid, int signal_number)
{
    if (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)signal_number) < 0 && errno != ESRCH)
        fail("cannot let %d go on", tid);
}

/* Whether the call that creates a task shares its memory with the new task. */
static bool shares_memory(const struct thread *thread)
{
    uint64_t flags = thread->arguments[0];
    struct iovec here = {&flags, sizeof(flags)};
    struct iovec there = {(void *)(uintptr_t)thread->arguments[0], sizeof(flags)};

    switch (thread->call) {
    case SYS_vfork:
        return true;
    case SYS_clone3:
        if (process_vm_readv(thread->tid, &here, 1, &there, 1, 0) != sizeof(flags))
            fail("cannot read the flags of clone3");
        /* fall through */
    case SYS_clone:
        return flags & CLONE_VM;
    default:
        return false;
    }
}

static void meet_child(struct thread *parent, pid_t tid)
{
    struct thread *child = find_thread(tid);
    struct space *space;

    if (shares_memory(parent)) {
        space = parent->space;
        space->users++;
    } else {
        space = copy_space(parent->space);
    }
    if (child == NULL) {
        add_thread(tid, space);
        return;
    }
    child->space = space;
    child->early = false;
    go_on(tid, 0);
}

/* The thread that executes a program gets the number of its process; all other threads are gone. */
static void meet_exec(pid_t tid)
{
    struct thread *thread = find_thread(tid);
    unsigned long before = 0;

    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &before);
    if ((pid_t)before != tid)
        remove_thread(find_thread((pid_t)before));
    leave_space(thread->space);
    *thread = (struct thread){.tid = tid, .space = new_space(NULL)};
}

/* ---- the unwinder ---- */

static const Dwfl_Callbacks unwinder_callbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
};

static Dwfl *unwinder(struct thread *thread)
{
    struct space *space = thread->space;

    if (space->dwfl != NULL)
        return space->dwfl;
    space->dwfl = dwfl_begin(&unwinder_callbacks);
    if (space->dwfl == NULL)
        fail("no unwinder");
    dwfl_report_begin(space->dwfl);
    if (dwfl_linux_proc_report(space->dwfl, thread->tid) != 0 ||
        dwfl_report_end(space->dwfl, NULL, NULL) != 0 ||
        dwfl_linux_proc_attach(space->dwfl, thread->tid, true) != 0)
        end_unwinder(space);
    return space->dwfl;
}

struct unwinding {
    uint64_t begin; /* the program's text */
    uint64_t end;
    unsigned frames;
    uint64_t found;
};

static int see_frame(Dwfl_Frame *frame, void *context)
{
    struct unwinding *unwinding = context;
    Dwarf_Addr pc;

    if (!dwfl_frame_pc(frame, &pc, NULL))
        return DWARF_CB_ABORT;
    if (unwinding->frames++ > 0 && pc > unwinding->begin && pc < unwinding->end)
        unwinding->found = pc;
    return unwinding->found != 0 || unwinding->frames > 64 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Reads the bounds of the program's text from /proc/PID/stat. */
static void read_text(pid_t tid, struct unwinding *unwinding)
{
    char path[64], line[2048] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(line, sizeof(line), file) != NULL) {
        char *at = strrchr(line, ')');
        for (int field = 2; at != NULL && field < 26; field++)
            at = strchr(at + 1, ' ');
        if (at != NULL)
            sscanf(at, "%" SCNu64 " %" SCNu64, &unwinding->begin, &unwinding->end);
    }
    fclose(file);
}

/* The name of the function that `pc` is in; "-" if there is none. */
static const char *name_of(struct thread *thread, uint64_t pc)
{
    Dwfl *dwfl = thread->space->dwfl;
    Dwfl_Module *module = dwfl == NULL ? NULL : dwfl_addrmodule(dwfl, pc - 1);
    const char *name = module == NULL ? NULL : dwfl_module_addrname(module, pc - 1);

    return name == NULL ? "-" : name;
}

/* Compares an answer with the unwinder's, which is returned; 0 if it finds none. */
static uint64_t compare_unwound(struct thread *thread, struct place place)
{
    struct unwinding unwinding = {0};
    uint64_t begin = clock_now(CLOCK_MONOTONIC), spent;
    Dwfl *dwfl = unwinder(thread);

    read_text(thread->tid, &unwinding);
    if (dwfl != NULL)
        dwfl_getthread_frames(dwfl, thread->tid, see_frame, &unwinding);
    spent = clock_now(CLOCK_MONOTONIC) - begin;
    unwind_left -= spent < unwind_left ? spent : unwind_left;
    if (unwinding.found == 0)
        return 0;
    sums.unwound++;
    if (place.library) {
        sums.not_found++;
    } else if (place.pc == unwinding.found) {
        sums.agreed++;
    } else {
        sums.wrong++;
        fprintf(log_file, "WRONG %d call %d: %" PRIx64 " is %" PRIx64 "\n", thread->tid,
                thread->call, place.pc, unwinding.found);
    }
    return unwinding.found;
}

/* Programs ask for the time so often that they would use up the unwinder's time. */
static bool is_unwound(const struct thread *thread)
{
    return unwind_left > 0 && thread->call != SYS_clock_gettime;
}

/* ---- calls ---- */

static struct place ask(struct callers *callers, pid_t tid, uint64_t ip, uint64_t stack)
{
    struct place place = {0};

    place.library = callers_find(callers, tid, ip, stack, &place.pc) & RECORD_LIBRARY;
    return place;
}

/* Bytes of a send or receive call. */
static int64_t bytes_of(const struct thread *thread, int64_t result)
{
    uint32_t length = 0; /* struct mmsghdr: msg_len of the first message */
    struct iovec here = {&length, sizeof(length)};
    struct iovec there = {(void *)(uintptr_t)(thread->arguments[1] + 56), sizeof(length)};

    if (thread->call != SYS_sendmmsg || result <= 0)
        return result;
    process_vm_readv(thread->tid, &here, 1, &there, 1, 0);
    return length;
}

static void end_call(struct thread *thread, const struct __ptrace_syscall_info *info)
{
    uint64_t ip = info->instruction_pointer, stack = info->stack_pointer;
    uint64_t end = clock_now(CLOCK_MONOTONIC), reads_before = reads;
    struct callers *anew;

    if (callers_is_change(thread->call, thread->arguments)) {
        callers_changed(thread->space->callers, thread->call, thread->arguments, info->exit.rval);
        end_unwinder(thread->space);
    }
    struct place place = ask(thread->space->callers, thread->tid, ip, stack);
    sums.time += clock_now(CLOCK_MONOTONIC) - end;
    uint64_t reads_made = reads - reads_before;
    sums.reads += reads_made;
    sums.calls++;
    sums.lost += place.library;

    if (callers_new(&anew) < 0)
        fail("no memory");
    struct place again = ask(anew, thread->tid, ip, stack);
    callers_free(anew);
    if (again.pc != place.pc || again.library != place.library) {
        sums.unequal++;
        fprintf(log_file, "UNEQUAL %d call %d: %" PRIx64 "%s is %" PRIx64 "%s\n", thread->tid,
                thread->call, place.pc, place.library ? " (library)" : "", again.pc,
                again.library ? " (library)" : "");
    }
    char unwound[24] = "-";
    if (is_unwound(thread))
        snprintf(unwound, sizeof(unwound), "%" PRIu64, compare_unwound(thread, place));
    fprintf(
        log_file, "%d %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRIu64 " %d %s %" PRIu64 " %s\n",
        thread->tid, thread->entry, end, thread->call, bytes_of(thread, info->exit.rval), place.pc,
        place.library, place.library ? "library" : name_of(thread, place.pc), reads_made, unwound);
}

static void see_call(struct thread *thread)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread->tid, (void *)sizeof(info), &info) < 0)
        return; /* it was killed */
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        thread->in_call = true;
        thread->call = (int)info.entry.nr;
        memcpy(thread->arguments, info.entry.args, sizeof(thread->arguments));
        thread->entry = clock_now(CLOCK_MONOTONIC);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        if (thread->in_call)
            end_call(thread, &info);
        thread->in_call = false;
    }
}

/* ---- stops ---- */

static void see_event(struct thread *thread, int event, int signal_number)
{
    unsigned long child = 0;
    pid_t tid = thread->tid;

    switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &child) == 0)
            meet_child(thread, (pid_t)child);
        break;
    case PTRACE_EVENT_EXEC:
        meet_exec(tid);
        break;
    case PTRACE_EVENT_STOP:
        if (signal_number != SIGTRAP) { /* it has stopped for a signal, and stays stopped */
            ptrace(PTRACE_LISTEN, tid, NULL, NULL);
            return;
        }
        break;
    }
    go_on(tid, 0);
}

static void see_stop(pid_t tid, int status)
{
    struct thread *thread = find_thread(tid);
    int signal_number = WSTOPSIG(status);

    if (thread == NULL) {
        add_thread(tid, NULL)->early = true;
        return;
    }
    if (thread->early)
        return;
    if (status >> 16 != 0) {
        see_event(thread, status >> 16, signal_number);
    } else if (signal_number == (SIGTRAP | 0x80)) {
        see_call(thread);
        go_on(tid, 0);
    } else {
        go_on(tid, signal_number);
    }
}

/* Returns the exit status of the first process. */
static int watch(pid_t first)
{
    int result = 0, status;

    for (;;) {
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR)
            continue;
        if (tid < 0)
            return result;
        if (WIFSTOPPED(status)) {
            see_stop(tid, status);
            continue;
        }
        if (tid == first)
            result = status;
        remove_thread(find_thread(tid));
    }
}

static pid_t start(char **arguments)
{
    int gate[2];
    char byte;

    if (pipe(gate) < 0)
        fail("no pipe");
    pid_t pid = fork();
    if (pid < 0)
        fail("cannot fork");
    if (pid == 0) {
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1)
            _exit(127);
        close(gate[0]);
        execvp(arguments[0], arguments);
        _exit(127);
    }
    close(gate[0]);
    add_thread(pid, new_space(NULL));
    if (ptrace(PTRACE_SEIZE, pid, NULL,
               (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                        PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) < 0 ||
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
        fail("cannot trace %d", pid);
    if (write(gate[1], "", 1) != 1)
        fail("cannot let %d begin", pid);
    close(gate[1]);
    return pid;
}

int main(int count, char **arguments)
{
    int first = 1;

    if (count > 3 && strcmp(arguments[1], "--unwind") == 0) {
        unwind_left = strtoull(arguments[2], NULL, 10) * 1000000000u;
        first = 3;
    }
    if (count < first + 2) {
        fprintf(stderr, "usage: pc-tracer [--unwind SECONDS] LOG PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    log_file = fopen(arguments[first], "we");
    if (log_file == NULL)
        fail("%s", arguments[first]);
    int status = watch(start(arguments + first + 1));
    fprintf(log_file,
            "SUM calls %" PRIu64 " lost %" PRIu64 " unequal %" PRIu64 " unwound %" PRIu64
            " agreed %" PRIu64 " not_found %" PRIu64 " wrong %" PRIu64 " time_ns %" PRIu64
            " reads %" PRIu64 "\n",
            sums.calls, sums.lost, sums.unequal, sums.unwound, sums.agreed, sums.not_found,
            sums.wrong, sums.time, sums.reads);
    if (fclose(log_file) != 0)
        fail("%s", arguments[first]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
