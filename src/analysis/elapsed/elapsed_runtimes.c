/* SPDX-License-Identifier: MIT */
/*
 * elapsed_runtimes.c: waits that are the affair of a language's runtime, by names of procedures and threads.
 *
 *      Go       in runtime.*: a thread without a goroutine to run. What goroutines wait for makes no record.
 *      Python   futex in take_gil, drop_gil or a procedure around these: the interpreter lock. Where the procedure is not
 *               known, as in libpython: a futex wait of 5 ms until its time limit, right before one that another
 *               thread ends
 *      Node     futex in uv_cond_wait, in a thread that is not the first: it waits for work
 *      JVM      a process with a thread "VM Thread"; its own threads are known by their names. A wait of another thread
 *               that the VM Thread ends was a safepoint, or an operation of the VM.
 */
#include "analysis/elapsed/elapsed_private.h"

#include "event/system_calls.h"

#include <errno.h>
#include <string.h>

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool begins_with_one_of(const char *text, const char *const with[])
{
    for (size_t i = 0; with[i] != NULL; i++)
        if (begins_with(text, with[i]))
            return true;
    return false;
}

/* ---- threads of a JVM; the kernel keeps 15 letters of a name ---- */

bool elapsed_is_vm_thread(const char *thread)
{
    return strcmp(thread, "VM Thread") == 0;
}

bool elapsed_is_collector(const char *thread)
{
    static const char *const names[] = {"GC Thread#", "GC task thread#", "Gang worker#", "ParGC ",
                                        NULL};

    return begins_with_one_of(thread, names);
}

bool elapsed_collects_beside(const char *thread)
{
    static const char *const names[] = {"G1 ",     "Concurrent Mark", "ZWorker",    "ZDriver",
                                        "XWorker", "XDriver",         "Shenandoah", NULL};

    return begins_with_one_of(thread, names);
}

/* They wait for work of the VM, or for each other, and never for a lock of the program. */
static bool is_of_vm(const char *thread)
{
    static const char *const names[] = {"C1 CompilerThre", "C2 CompilerThre", "Reference Handl",
                                        "Finalizer",       "Signal Dispatch", "Service Thread",
                                        "Monitor Deflati", "Sweeper thread",  "Notification Th",
                                        "Common-Cleaner",  "VM Periodic Tas", "Attach Listener",
                                        "JVMCI",           "ZDirector",       "ZStat",
                                        "ZUncommitter",    "process reaper",  NULL};

    return elapsed_is_vm_thread(thread) || elapsed_is_collector(thread) ||
           elapsed_collects_beside(thread) || begins_with_one_of(thread, names);
}

/* ---- procedures ---- */

/* "take_gil", "take_gil.lto_priv.0": up to a compiler's additions. */
static bool is_procedure(const char *name, const char *const procedures[])
{
    size_t length = strcspn(name, ".");

    for (size_t i = 0; procedures[i] != NULL; i++)
        if (strlen(procedures[i]) == length && memcmp(procedures[i], name, length) == 0)
            return true;
    return false;
}

/* Where CPython waits for its interpreter lock: these, and what a compiler puts them into. Other locks of Python's are
 * waited for in procedures of their own. */
static bool takes_interpreter(const char *procedure)
{
    static const char *const procedures[] = {"take_gil",
                                             "drop_gil",
                                             "PyEval_RestoreThread",
                                             "PyEval_SaveThread",
                                             "PyEval_AcquireThread",
                                             "PyEval_ReleaseThread",
                                             "PyEval_AcquireLock",
                                             "_PyEval_AcquireLock",
                                             "_PyThreadState_Attach",
                                             "eval_frame_handle_pending",
                                             "_Py_HandlePending",
                                             NULL};

    return is_procedure(procedure, procedures);
}

static enum elapsed_runtime runtime_of_wait(const struct elapsed_analysis *analysis,
                                            const struct detail *detail)
{
    const struct procedure_record *procedure =
        detail->pc == 0 ? NULL
                        : identities_procedure_of(history_identities(analysis->history),
                                                  detail->origin, detail->image, detail->pc, NULL);
    char name[PROCEDURE_NAME_SIZE + 1] = "";

    if (procedure == NULL)
        return RUNTIME_NONE;
    memcpy(name, procedure->name, PROCEDURE_NAME_SIZE);
    if (begins_with(name, "runtime."))
        return RUNTIME_GO;
    if (!call_is_futex(detail->call))
        return RUNTIME_NONE;
    if (takes_interpreter(name))
        return RUNTIME_PYTHON;
    return strcmp(name, "uv_cond_wait") == 0 && detail->tid != detail->pid ? RUNTIME_UV
                                                                           : RUNTIME_NONE;
}

/* ---- details ---- */

static uint64_t process_key(const struct detail *detail)
{
    return number_key(detail->origin, detail->process_number);
}

/* A futex, or a wait for it until its time limit. */
static bool is_for_lock(enum elapsed_kind kind)
{
    return kind == ELAPSED_LOCK || kind == ELAPSED_LIMIT;
}

enum elapsed_kind elapsed_kind_in_runtime(const struct elapsed_analysis *analysis,
                                          enum elapsed_kind kind, uint32_t detail)
{
    const struct detail *of = detail == 0 ? NULL : &analysis->details[detail - 1];

    if (of == NULL)
        return kind;
    switch ((enum elapsed_runtime)of->runtime) {
    case RUNTIME_GO: /* a poll until its time limit is for a timer of a goroutine's */
        return is_for_lock(kind) || kind == ELAPSED_EVENT ||
                       (kind == ELAPSED_TIMER && !call_is_epoll(of->call))
                   ? ELAPSED_IDLE
                   : kind;
    case RUNTIME_PYTHON:
        return is_for_lock(kind) ? ELAPSED_INTERPRETER : kind;
    case RUNTIME_UV:
        return is_for_lock(kind) ? ELAPSED_IDLE : kind;
    case RUNTIME_JVM:
        return is_for_lock(kind) && is_of_vm(of->thread) ? ELAPSED_IDLE : kind;
    default:
        return kind;
    }
}

#define SWITCH      5000000u /* ns: Python's switch interval, if a program does not change it */
#define SWITCH_LATE 1000000u

/* After that time Python asks the thread that has the lock to release it, and waits again. */
static bool is_switch_interval(const struct interval *interval)
{
    uint64_t wait = interval->wait - interval->queued;

    return interval->limited && !interval->asleep && interval->source == 0 && wait >= SWITCH &&
           wait < SWITCH + SWITCH_LATE;
}

static bool is_futex_of_python(const struct elapsed_analysis *analysis,
                               const struct interval *interval)
{
    const struct detail *waits =
        interval->waits == 0 ? NULL : &analysis->details[interval->waits - 1];

    return interval->wait > 0 && !interval->asleep && waits != NULL &&
           waits->runtime == RUNTIME_PYTHON_PROCESS && call_is_futex(waits->call);
}

static int count_one(struct lookup *counts, uint64_t process)
{
    uint32_t count = lookup_find(counts, process);

    return lookup_set(counts, process, count == LOOKUP_NONE ? 1 : count + 1);
}

int elapsed_find_interpreter(struct elapsed_analysis *analysis, struct interval *interval)
{
    if (!is_futex_of_python(analysis, interval))
        return 0;
    uint64_t process = process_key(&analysis->details[interval->waits - 1]);
    if (is_switch_interval(interval))
        return count_one(&analysis->switches, process);
    if (interval->source == 0 || interval->previous == 0 || interval->is_message ||
        interval->cpu >= RETRY)
        return 0;
    struct interval *before = interval_at(analysis, interval->previous);
    if (!is_futex_of_python(analysis, before) || !is_switch_interval(before))
        return 0;
    before->interpreter = true;
    interval->interpreter = interval->limited;
    return count_one(&analysis->contended, process);
}

#define CONTENDED_LEAST 10u

/* Then waits of 5 ms that no other wait follows are for the lock, too: it was free when they ended. */
static bool is_contended(const struct elapsed_analysis *analysis, const struct detail *detail)
{
    uint32_t switches = lookup_find(&analysis->switches, process_key(detail));
    uint32_t contended = lookup_find(&analysis->contended, process_key(detail));

    return switches != LOOKUP_NONE && contended != LOOKUP_NONE && contended >= CONTENDED_LEAST &&
           contended >= switches / 2;
}

bool elapsed_is_wait_for_interpreter(const struct elapsed_analysis *analysis,
                                     const struct interval *interval)
{
    if (interval->interpreter)
        return true;
    if (interval->wait == 0 || interval->asleep || interval->waits == 0)
        return false;
    const struct detail *waits = &analysis->details[interval->waits - 1];
    return waits->runtime == RUNTIME_PYTHON ||
           (waits->runtime == RUNTIME_PYTHON_CONTENDED && is_switch_interval(interval));
}

bool elapsed_is_python(const struct elapsed_analysis *analysis, uint32_t origin, uint32_t image)
{
    const struct image_record *record =
        identities_image(history_identities(analysis->history), origin, image);
    char name[sizeof(record->name) + 1] = "";

    if (record == NULL)
        return false;
    memcpy(name, record->name, sizeof(record->name));
    const char *slash = strrchr(name, '/');
    return begins_with(slash == NULL ? name : slash + 1, "python3");
}

bool elapsed_is_stop(const struct elapsed_analysis *analysis, const struct interval *interval)
{
    const struct detail *waits =
        interval->waits == 0 ? NULL : &analysis->details[interval->waits - 1];
    uint32_t ender = interval->source == 0 ? 0 : interval_at(analysis, interval->source)->computes;

    return waits != NULL && ender != 0 && waits->runtime == RUNTIME_JVM &&
           !is_of_vm(waits->thread) && elapsed_is_vm_thread(analysis->details[ender - 1].thread);
}

/* ---- all of them ---- */

static enum elapsed_runtime runtime_of_process(const struct detail *detail)
{
    return elapsed_is_vm_thread(detail->thread) ? RUNTIME_JVM
           : detail->runtime == RUNTIME_GO      ? RUNTIME_GO
                                                : RUNTIME_NONE;
}

/* A Go program polls in its runtime, through procedures with other names; and where the meter finds no way out of
 * runtime.futex, the procedure is not known. */
static bool is_affair_of(const struct detail *detail, enum elapsed_runtime runtime)
{
    return runtime == RUNTIME_JVM ||
           (runtime == RUNTIME_GO &&
            (call_is_epoll(detail->call) ||
             (call_is_futex(detail->call) && detail->pc == 0 && detail->object == 0)));
}

int elapsed_find_runtimes(struct elapsed_analysis *analysis)
{
    struct lookup runtimes = {0};
    int result = 0;

    for (uint32_t i = 0; i < analysis->detail_keys.count && result >= 0; i++) {
        struct detail *detail = &analysis->details[i];
        if (runtime_of_wait(analysis, detail) != RUNTIME_NONE)
            detail->runtime = (uint8_t)runtime_of_wait(analysis, detail);
        else if (detail->runtime == RUNTIME_PYTHON_PROCESS && is_contended(analysis, detail))
            detail->runtime = RUNTIME_PYTHON_CONTENDED;
        if (runtime_of_process(detail) != RUNTIME_NONE)
            result = lookup_set(&runtimes, process_key(detail), runtime_of_process(detail));
    }
    for (uint32_t i = 0; i < analysis->detail_keys.count && result >= 0; i++) {
        struct detail *detail = &analysis->details[i];
        uint32_t runtime = lookup_find(&runtimes, process_key(detail));
        if (runtime != LOOKUP_NONE && is_affair_of(detail, (enum elapsed_runtime)runtime))
            detail->runtime = (uint8_t)runtime;
    }
    lookup_done(&runtimes);
    return result < 0 ? result : 0;
}
