/* SPDX-License-Identifier: MIT */
/*
 * steer_restore.c: the way back: what entries of a journal say is made so again. See steer_private.h.
 *
 * A process is meant by its pid and its start, and a thread likewise, which are compared immediately before it is changed: another one
 * that got the number later is left alone. The start of a process is that of its first thread, also when that has ended. Threads and processes that came since have what the act gave their parent:
 * they get what that had before.
 */
#include "base/process.h"
#include "launch/launch.h"
#include "steer/steer_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOP_NICE      (-10)
#define COMMAND_MS     10000
#define ANCESTORS_MOST 64
#define LEFT_CHANGED   1 /* no error: others have changed it since */
#define HAS_GONE       2 /* no error: the thread, or the cgroup */

/* ---- threads ---- */

uint64_t thread_started(pid_t pid, pid_t tid)
{
    char name[64], stat[1024];

    snprintf(name, sizeof(name), "task/%d/stat", tid);
    if (process_read(pid, name, stat, sizeof(stat)) == 0)
        return 0;
    const char *start = process_stat_field(stat, PROCESS_START);
    return start == NULL ? 0 : strtoull(start, NULL, 10);
}

int thread_each(pid_t pid, int (*found)(pid_t pid, pid_t tid, void *context), void *context)
{
    char path[64];
    struct dirent *entry;
    int result = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    while (folder != NULL && result >= 0 && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            result = found(pid, (pid_t)strtol(entry->d_name, NULL, 10), context);
    if (folder != NULL)
        closedir(folder);
    return result < 0 ? result : 0;
}

int effect_nice(const struct in_effect *effect, int before)
{
    return before - effect->less < -20 ? -20 : before - effect->less;
}

uint64_t ticks_now(void)
{
    return clock_now(CLOCK_BOOTTIME) / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* How a thread is now. Returns 0 or a negative errno. */
int thread_read(pid_t tid, enum entry_kind kind, struct entry *ret_now)
{
    if (kind == ENTRY_CPUS)
        return sched_getaffinity(tid, sizeof(ret_now->cpus), &ret_now->cpus) < 0 ? -errno : 0;
    errno = 0;
    ret_now->nice = getpriority(PRIO_PROCESS, (id_t)tid);
    return ret_now->nice == -1 && errno != 0 ? -errno : 0;
}

static bool is_as_before(const struct entry *before, const struct entry *now)
{
    return before->kind == ENTRY_CPUS ? CPU_EQUAL(&before->cpus, &now->cpus)
                                      : before->nice == now->nice;
}

/* A cpuset may leave less of the CPUs. */
bool effect_is(const struct in_effect *effect, const struct entry *before, const struct entry *now)
{
    cpu_set_t both;

    if (effect->kind != ENTRY_CPUS)
        return now->nice == effect_nice(effect, before->nice);
    CPU_AND(&both, &effect->cpus, &before->cpus);
    return CPU_EQUAL(&effect->cpus, &now->cpus) ||
           (CPU_COUNT(&both) > 0 && CPU_EQUAL(&both, &now->cpus));
}

static bool is_one_of(uint64_t less, const struct entry *before, const struct entry *now)
{
    for (int i = 0; less != 0; i++, less >>= 1) {
        const struct in_effect effect = {.kind = ENTRY_NICE, .less = i};
        if ((less & 1) != 0 && effect_is(&effect, before, now))
            return true;
    }
    return false;
}

bool entry_is_ours(const struct steer_journal *journal, const struct entry *before,
                   const struct entry *now)
{
    const struct in_effect *effect = &journal->acts[before->act],
                           *earlier = &journal->earlier[before->act];

    if (effect->is && before->kind == ENTRY_NICE)
        return is_one_of(journal->less[before->act], before, now);
    return !effect->is || effect_is(effect, before, now) ||
           (earlier->is && effect_is(earlier, before, now));
}

static int set_thread(pid_t tid, const struct entry *entry)
{
    int result = entry->kind == ENTRY_CPUS
                     ? sched_setaffinity(tid, sizeof(entry->cpus), &entry->cpus)
                     : setpriority(PRIO_PROCESS, (id_t)tid, entry->nice);

    return result == 0 ? 0 : errno == ESRCH ? HAS_GONE : -errno;
}

static int restore_one(const struct steer_journal *journal, const struct entry *entry)
{
    struct entry now;
    int result = thread_read(entry->tid, entry->kind, &now);

    if (result < 0)
        return result == -ESRCH ? HAS_GONE : result;
    if (is_as_before(entry, &now))
        return 0;
    return entry_is_ours(journal, entry, &now) ? set_thread(entry->tid, entry) : LEFT_CHANGED;
}

/* Returns LEFT_CHANGED: it has other CPUs, or another nice value, than the act gave it; or HAS_GONE. */
static int restore_thread(const struct steer_journal *journal, const struct entry *entry)
{
    bool is = thread_started(entry->pid, entry->pid) == entry->start &&
              thread_started(entry->pid, entry->tid) == entry->tid_start;

    return is ? restore_one(journal, entry) : HAS_GONE;
}

/* ---- threads and processes that came since ---- */

struct heirs {
    const struct steer_journal *journal;
    const struct entry *parent;
};

static int restore_heir(pid_t pid, pid_t tid, void *context)
{
    const struct heirs *heirs = context;
    const struct entry *parent = heirs->parent;
    const struct in_effect *effect = &heirs->journal->acts[parent->act];
    uint64_t start = thread_started(pid, tid);
    struct entry now;

    if (start >= effect->since && /* else it has inherited nothing, and is so by itself */
        journal_thread(heirs->journal, parent->act, tid, start) == NULL &&
        thread_read(tid, parent->kind, &now) == 0 && entry_is_ours(heirs->journal, parent, &now) &&
        !is_as_before(parent, &now))
        (void)set_thread(tid, parent);
    return 0;
}

const struct entry *journal_above(const struct steer_journal *journal, uint32_t act, pid_t pid)
{
    for (unsigned i = 0; pid > 1 && i < ANCESTORS_MOST; i++, pid = process_parent(pid)) {
        const struct entry *entry = journal_thread(journal, act, pid, thread_started(pid, pid));
        if (entry != NULL)
            return entry;
    }
    return NULL;
}

struct heirs_of {
    const struct steer_journal *journal;
    uint32_t act;
};

static int look_at(pid_t pid, void *context)
{
    const struct heirs_of *of = context;
    struct heirs heirs = {of->journal, journal_above(of->journal, of->act, pid)};

    return heirs.parent == NULL ? 0 : thread_each(pid, restore_heir, &heirs);
}

static void restore_heirs(const struct steer_journal *journal, uint32_t act)
{
    struct heirs_of of = {journal, act};

    (void)process_each(look_at, &of, NULL);
}

/* ---- files, commands ---- */

int cgroup_write(const char *file, const char *value)
{
    int descriptor = open(file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t size = strlen(value);

    if (descriptor < 0)
        return -errno;
    int result = write(descriptor, value, size) == (ssize_t)size ? 0 : -errno;
    close(descriptor);
    return result;
}

static bool prefers;
static int own_nice; /* ... before that: commands run with it */

void steer_prefer_loop(void)
{
    prefers = true;
    own_nice = getpriority(PRIO_PROCESS, 0);
    (void)setpriority(PRIO_PROCESS, 0, LOOP_NICE);
}

/* In the command's process: it may start what runs for long, which must not ignore what the guardian ignores. */
static int settle_command(void *context)
{
    static const int usual[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU};

    (void)context;
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        signal(usual[i], SIG_DFL);
    if (prefers)
        (void)setpriority(PRIO_PROCESS, 0, own_nice);
    return 0;
}

int command_run(char *const *words, struct problem *problem)
{
    sigset_t none;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), status = 0;
    const int files[] = {null, STDERR_FILENO, STDERR_FILENO};
    const struct launch_options options = {.arguments = words,
                                           .files = files,
                                           .own_session = true,
                                           .signal_mask = &none,
                                           .death_signal =
                                               SIGKILL, /* or it disturbs the way back */
                                           .prepare = settle_command};
    struct launched launched;
    struct problem why = {""};

    sigemptyset(&none);
    int result = null < 0 ? -errno : launch_suspended(&options, &launched, &why);
    if (null >= 0)
        close(null);
    if (result == 0)
        result = launch_release(&launched, &why);
    if (result < 0)
        return problem_set(problem, result, "%.200s: %.250s", words[0], why.text);
    bool ended = process_await_end(launched.pid, COMMAND_MS, &status);
    if (!ended) {
        kill(-launched.pid, SIGKILL); /* it has a session of its own */
        kill(launched.pid, SIGKILL);
        waitpid(launched.pid, NULL, 0);
    }
    close(launched.pid_fd);
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (!ended)
        return problem_set(problem, -ETIMEDOUT, "%.200s: ended after %d s, as it took too long",
                           words[0], COMMAND_MS / 1000);
    return problem_set(problem, -EREMOTEIO, "%.200s: it has failed: %s %d", words[0],
                       WIFEXITED(status) ? "exit status" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* ---- entries ---- */

/* The weight that a file has; 0: it cannot be read. */
unsigned long cgroup_read(const char *file)
{
    char value[32] = "";
    int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = descriptor < 0 ? -1 : read(descriptor, value, sizeof(value) - 1);

    if (descriptor >= 0)
        close(descriptor);
    return got <= 0 ? 0 : strtoul(value, NULL, 10);
}

bool file_is_ours(const struct steer_journal *journal, const struct entry *entry, unsigned long now)
{
    const struct in_effect *effect = &journal->acts[entry->act],
                           *earlier = &journal->earlier[entry->act];

    return now == 0 || !effect->is || now == effect->value ||
           (earlier->is && now == earlier->value);
}

static int restore_file(const struct steer_journal *journal, const struct entry *entry)
{
    unsigned long now = cgroup_read(entry->file), before = strtoul(entry->value, NULL, 10);

    if (now == before)
        return 0;
    if (!file_is_ours(journal, entry, now))
        return LEFT_CHANGED;
    return cgroup_write(entry->file, entry->value);
}

static int restore(const struct steer_journal *journal, const struct entry *entry,
                   struct problem *problem)
{
    char shown[PROCESS_SHOWN_SIZE];
    int result;

    switch (entry->kind) {
    case ENTRY_COMMAND:
        return command_run(entry->words, problem);
    case ENTRY_FILE:
        result = restore_file(journal, entry);
        return result >= 0 ? result
               : result == -ENOENT || result == -ENODEV
                   ? HAS_GONE
                   : problem_set(problem, result, "%.300s cannot be restored: %s", entry->file,
                                 strerror(-result));
    default:
        result = restore_thread(journal, entry);
        if (result >= 0)
            return result;
        process_shown(entry->pid, shown);
        return problem_set(problem, result, "%s: its CPUs or nice value cannot be restored: %s",
                           shown, strerror(-result));
    }
}

void journal_note_changed(struct steer_journal *journal, const struct entry *entry)
{
    if (journal->changed++ == 0 && entry->kind == ENTRY_FILE)
        snprintf(journal->first_changed, sizeof(journal->first_changed), "%.300s", entry->file);
    else if (journal->changed == 1)
        process_shown(entry->pid, journal->first_changed);
}

/* What takes no time first, so that a command that hangs holds nothing up. */
static int restore_some(struct steer_journal *journal, uint32_t act, bool commands,
                        size_t *restored, struct problem *problem)
{
    struct problem why;
    int first = 0;

    for (size_t i = journal->count; i > 0; i--) {
        struct entry *entry = &journal->entries[i - 1];
        if (entry->restored || (act != ALL_ACTS && entry->act != act) ||
            (entry->kind == ENTRY_COMMAND) != commands)
            continue;
        int result = restore(journal, entry, &why);
        if (result < 0 && first == 0) {
            first = result;
            if (problem != NULL)
                *problem = why;
        }
        if (result < 0)
            continue;
        if (result == LEFT_CHANGED)
            journal_note_changed(journal, entry);
        journal_note_restored(journal, i - 1);
        *restored += result == 0;
    }
    return first;
}

int journal_restore(struct steer_journal *journal, uint32_t act, size_t *ret_restored,
                    struct problem *problem)
{
    size_t restored = 0;

    /* first those that others inherit from, so that none comes later */
    for (size_t i = 0; i < journal->count; i++)
        if (!journal->entries[i].restored && entry_is_of_thread(&journal->entries[i]) &&
            (act == ALL_ACTS || journal->entries[i].act == act))
            (void)restore_thread(journal, &journal->entries[i]);
    for (uint32_t i = 0; i < STEER_ACTS_MOST; i++)
        if (journal->acts[i].is && (act == ALL_ACTS || act == i))
            restore_heirs(journal, i);
    int result = restore_some(journal, act, false, &restored, problem);
    for (uint32_t i = 0; i < STEER_ACTS_MOST; i++)
        if (act == ALL_ACTS || act == i)
            journal->acts[i].is = journal->earlier[i].is = false;
    int later = restore_some(journal, act, true, &restored, result < 0 ? NULL : problem);
    if (ret_restored != NULL)
        *ret_restored = restored;
    return result < 0 ? result : later;
}
