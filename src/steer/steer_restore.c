/* SPDX-License-Identifier: MIT */
/*
 * steer_restore.c: the way back: what entries of a journal say is made so again. See steer_private.h.
 *
 * A process is meant by its pid and its start, and a thread likewise: another one that got the number later is left alone. While a pidfd
 * says that the process lives, its pid is its own. Threads and processes that came since have what the act gave their parent:
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

/* Whether a thread is what the act has made it. */
static bool has_effect(pid_t tid, const struct in_effect *effect, const struct entry *parent)
{
    cpu_set_t cpus;

    if (effect->kind == ENTRY_CPUS)
        return sched_getaffinity(tid, sizeof(cpus), &cpus) == 0 && CPU_EQUAL(&cpus, &effect->cpus);
    return getpriority(PRIO_PROCESS, (id_t)tid) == effect_nice(effect, parent->nice);
}

static int set_thread(pid_t tid, const struct entry *entry)
{
    int result = entry->kind == ENTRY_CPUS
                     ? sched_setaffinity(tid, sizeof(entry->cpus), &entry->cpus)
                     : setpriority(PRIO_PROCESS, (id_t)tid, entry->nice);

    return result < 0 && errno != ESRCH ? -errno : 0;
}

static int restore_thread(const struct entry *entry)
{
    int pidfd = process_open(entry->pid), result = 0;

    if (pidfd < 0)
        return pidfd == -ESRCH ? 0 : pidfd;
    if (process_started(entry->pid) == entry->start &&
        thread_started(entry->pid, entry->tid) == entry->tid_start)
        result = set_thread(entry->tid, entry);
    close(pidfd);
    return result;
}

static bool is_of_thread(const struct entry *entry)
{
    return !entry->restored && (entry->kind == ENTRY_CPUS || entry->kind == ENTRY_NICE);
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

    if (journal_thread(heirs->journal, parent->act, tid, thread_started(pid, tid)) == NULL &&
        has_effect(tid, &heirs->journal->acts[parent->act], parent))
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

static int own_nice; /* of what commands run with */

void steer_prefer_loop(void)
{
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

static int restore(const struct entry *entry, struct problem *problem)
{
    char shown[PROCESS_SHOWN_SIZE];
    int result;

    switch (entry->kind) {
    case ENTRY_COMMAND:
        return command_run(entry->words, problem);
    case ENTRY_FILE:
        result = cgroup_write(entry->file, entry->value);
        return result < 0 && result != -ENOENT && result != -ENODEV
                   ? problem_set(problem, result, "%.300s: %s", entry->file, strerror(-result))
                   : 0;
    default:
        result = restore_thread(entry);
        if (result == 0)
            return 0;
        process_shown(entry->pid, shown);
        return problem_set(problem, result, "%s: %s", shown, strerror(-result));
    }
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
        int result = restore(entry, &why);
        if (result < 0 && first == 0) {
            first = result;
            if (problem != NULL)
                *problem = why;
        }
        if (result < 0)
            continue;
        journal_note_restored(journal, i - 1);
        (*restored)++;
    }
    return first;
}

int journal_restore(struct steer_journal *journal, uint32_t act, size_t *ret_restored,
                    struct problem *problem)
{
    size_t restored = 0;

    /* first those that others inherit from, so that none comes later */
    for (size_t i = 0; i < journal->count; i++)
        if (is_of_thread(&journal->entries[i]) &&
            (act == ALL_ACTS || journal->entries[i].act == act))
            (void)restore_thread(&journal->entries[i]);
    for (uint32_t i = 0; i < STEER_ACTS_MOST; i++)
        if (journal->acts[i].is && (act == ALL_ACTS || act == i)) {
            restore_heirs(journal, i);
            journal->acts[i].is = false;
        }
    int result = restore_some(journal, act, false, &restored, problem);
    int later = restore_some(journal, act, true, &restored, result < 0 ? NULL : problem);
    if (ret_restored != NULL)
        *ret_restored = restored;
    return result < 0 ? result : later;
}
