/* SPDX-License-Identifier: MIT */
/* live_why.c: see live_why.h. */
#include "command/live/live_why.h"

#include "base/folder.h"
#include "command/shared/selection.h"
#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MOST      262144        /* bytes of an answer */
#define NOTES_MOST     400           /* bytes before it */
#define PATIENCE       120000000000u /* ns for the recording, and for the answer */
#define WORDS_MOST     300           /* of a command: traces are of at most 256 machines */
#define VARIABLES_MOST 1000          /* of the environment */
#define RECORDED       "10s"
#define COLUMNS        "COLUMNS=100"
#define FOLDER_BEGINS  "dpm-why."
#define FOLDER_NEW     60 /* s: it may not be locked yet */

struct live_why {
    pthread_mutex_t mutex;
    const char *const *chosen; /* NULL: traces */
    char **traces;
    size_t trace_count;
    int64_t began; /* as live_why_traces */
    /* the question that is answered */
    pthread_t thread;
    bool has_thread, is_busy, ends;
    pid_t child; /* 0: none */
    struct live_why_question question;
    int64_t asked_since; /* its times count from there: as live_why_traces */
    int lock;            /* of the folder of the recording, which the child has, too; -1: none */
    void (*done)(void *context, char *text);
    void *context;
};

/* ---- folders of recordings ---- */

static const char *folder_of_folders(void)
{
    const char *folder = getenv("TMPDIR");

    return folder == NULL || folder[0] != '/' ? "/tmp" : folder;
}

/* Locks a folder as long as the descriptor, or a copy of it, is open. Returns it, or a negative errno. */
static int lock_folder(int parent, const char *name)
{
    int file = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (file < 0)
        return -errno;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        return file;
    int error = -errno;
    close(file);
    return error;
}

/* Whether a dpm live that was killed has left it there. */
static bool is_left_over(int parent, const char *name)
{
    struct stat status;

    if (strncmp(name, FOLDER_BEGINS, strlen(FOLDER_BEGINS)) != 0 ||
        fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid() || time(NULL) - status.st_mtime < FOLDER_NEW)
        return false;
    int lock = lock_folder(parent, name);
    if (lock >= 0)
        close(lock);
    return lock >= 0;
}

static void remove_left_over(void)
{
    char path[PATH_MAX];
    DIR *list = opendir(folder_of_folders());
    struct dirent *entry;

    while (list != NULL && (entry = readdir(list)) != NULL)
        if (is_left_over(dirfd(list), entry->d_name) &&
            snprintf(path, sizeof(path), "%s/%s", folder_of_folders(), entry->d_name) < PATH_MAX)
            folder_remove(path);
    if (list != NULL)
        closedir(list);
}

int live_why_new(const char *const *chosen, struct live_why **ret_why)
{
    struct live_why *why = calloc(1, sizeof(*why));

    if (why == NULL)
        return -ENOMEM;
    pthread_mutex_init(&why->mutex, NULL);
    why->chosen = chosen;
    why->lock = -1;
    if (chosen != NULL)
        remove_left_over();
    *ret_why = why;
    return 0;
}

static void forget_traces(struct live_why *why)
{
    for (size_t i = 0; i < why->trace_count; i++)
        free(why->traces[i]);
    free(why->traces);
    why->traces = NULL;
    why->trace_count = 0;
}

void live_why_end(struct live_why *why)
{
    if (why == NULL)
        return;
    pthread_mutex_lock(&why->mutex);
    why->ends = true;
    if (why->child > 0)
        kill(why->child, SIGTERM);
    pthread_mutex_unlock(&why->mutex);
    if (why->has_thread)
        pthread_join(why->thread, NULL);
    why->has_thread = false;
}

void live_why_free(struct live_why *why)
{
    if (why == NULL)
        return;
    forget_traces(why);
    pthread_mutex_destroy(&why->mutex);
    free(why);
}

int live_why_traces(struct live_why *why, char *const *traces, size_t count, int64_t began)
{
    int result = 0;

    pthread_mutex_lock(&why->mutex);
    why->began = began;
    if (!why->is_busy && count != why->trace_count) { /* else the next time */
        forget_traces(why);
        why->traces = calloc(count + 1, sizeof(*why->traces));
        for (size_t i = 0; why->traces != NULL && i < count; i++)
            if ((why->traces[i] = strdup(traces[i])) != NULL)
                why->trace_count++;
        if (why->trace_count != count) {
            forget_traces(why);
            result = -ENOMEM;
        }
    }
    pthread_mutex_unlock(&why->mutex);
    return result;
}

/* ---- children ---- */

/* Its words stand in `words`. It gets neither our signals nor our terminal; one that only reads traces goes behind what is metered. Returns the end from which its output is read. */
static int start(struct live_why *why, char *const *words, bool is_reader)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char *environment[VARIABLES_MOST];
    size_t count = 0;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    for (char **at = environ; *at != NULL && count + 2 < VARIABLES_MOST; at++)
        if (strncmp(*at, "COLUMNS=", 8) != 0)
            environment[count++] = *at;
    environment[count++] = (char *)COLUMNS;
    environment[count] = NULL;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    if (why->lock >= 0) /* to itself: it stays open there */
        posix_spawn_file_actions_adddup2(&files, why->lock, why->lock);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    pthread_mutex_lock(&why->mutex);
    int error = why->ends ? ECANCELED
                          : posix_spawn(&why->child, "/proc/self/exe", &files, &attributes, words,
                                        environment);
    if (error != 0)
        why->child = 0;
    else if (is_reader)
        (void)setpriority(PRIO_PROCESS, (id_t)why->child, 10);
    pthread_mutex_unlock(&why->mutex);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    if (error != 0)
        close(ends[0]);
    return error != 0 ? -error : ends[0];
}

/* Reads what it prints, until it ends, the time is over, or there is too much of it. */
static void read_output(int file, char *text)
{
    uint64_t end = clock_now(CLOCK_MONOTONIC) + PATIENCE, now;
    struct pollfd ready = {.fd = file, .events = POLLIN};
    size_t size = 0;

    while (size < TEXT_MOST && (now = clock_now(CLOCK_MONOTONIC)) < end) {
        if (poll(&ready, 1, poll_timeout(end, now)) <= 0)
            continue;
        ssize_t got = read(file, text + size, TEXT_MOST - size);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    text[size] = '\0';
}

#define ENDS_MS 10000 /* then it is killed */

/* If it has not ended yet; waits until it has, and leaves its number its own. */
static void end_child(pid_t child)
{
    siginfo_t ended = {.si_pid = 0};

    (void)kill(child, SIGTERM);
    for (unsigned waited = 0; ended.si_pid == 0 && waited < ENDS_MS; waited += 20) {
        (void)waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT | WNOHANG);
        if (ended.si_pid == 0)
            poll(NULL, 0, 20);
    }
    if (ended.si_pid == 0)
        (void)kill(child, SIGKILL);
    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
}

/* Runs it. Returns its exit status, or a negative errno; `text`, of TEXT_MOST + 1 bytes, gets what it prints. */
static int run(struct live_why *why, char *const *words, bool is_reader, char *text)
{
    int file = start(why, words, is_reader), status = 0;

    if (file < 0) {
        snprintf(text, TEXT_MOST, "dpm cannot be started: %s\n", strerror(-file));
        return file;
    }
    read_output(file, text);
    close(file);
    end_child(why->child);
    pthread_mutex_lock(&why->mutex); /* its number may be another process's from waitpid on */
    (void)waitpid(why->child, &status, 0);
    why->child = 0;
    pthread_mutex_unlock(&why->mutex);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

/* ---- answers ---- */

static int record(struct live_why *why, char *trace, char *text)
{
    char *words[WORDS_MOST] = {"dpm",        "acquire", "--duration", RECORDED,
                               "--analyses", "stats",   "-o",         trace};
    size_t count = 8;

    for (const char *const *at = why->chosen; *at != NULL && count + 1 < WORDS_MOST; at++)
        words[count++] = (char *)(uintptr_t)*at;
    return run(why, words, false, text);
}

/* A single trace is asked by its own clock: the wall clock may be set meanwhile. INT64_MAX: not known. */
static int64_t own_begin(struct source *source, struct problem *problem)
{
    struct event event;
    uint64_t complete;

    return source->next(source, &event, &complete, problem) == SOURCE_RECORD
               ? (int64_t)event.header->time
               : INT64_MAX;
}

/* The clock of the first record that the traces have now, from which --from counts, as live_why_traces; INT64_MAX: not known. */
static int64_t first_record(char *const *traces, size_t count)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < count; i++) {
        const char *name = traces[i];
        struct source *source;
        struct problem problem;
        int64_t begin = INT64_MAX;
        if (trace_open(&name, 1, &source, &problem) < 0) /* dpm why says so */
            return INT64_MAX;
        if (count == 1)
            begin = own_begin(source, &problem);
        else if (selected_source_begin(source, &begin, &problem) < 0)
            begin = INT64_MAX;
        if (begin < first)
            first = begin;
        trace_close(source);
    }
    return first;
}

/* The times of the question, as --from and --to count them: from MACHINE, which is made before the meter is loaded, or, of a trace of
 * the newest records, from the oldest one that it still has. false: that part is no longer there. */
static bool place_question(const struct live_why *why, char *const *traces, size_t count,
                           struct live_why_question *question)
{
    int64_t first = first_record(traces, count);
    int64_t later = first == INT64_MAX || why->asked_since == 0 ? 0 : why->asked_since - first;
    int64_t from = (int64_t)question->from + later, to = (int64_t)question->to + later;

    question->from = question->from == 0 || from < 0 ? 0 : (uint64_t)from;
    question->to = to < 0 ? 0 : (uint64_t)to;
    return question->to > question->from;
}

/* What --from and --process cannot say of several machines. Returns how many bytes. */
static size_t add_notes(const struct live_why_question *question, size_t traces, char *text)
{
    int size = 0;

    text[0] = '\0';
    if (traces > 1)
        size = snprintf(
            text, NOTES_MOST,
            "With several traces, each machine's own wall clock says which part this is%s.\n\n",
            question->pid != 0 ? "; all processes with this number are included" : "");
    return size < 0 ? 0 : (size_t)size;
}

/* `text`: of NOTES_MOST + TEXT_MOST + 1 bytes. */
static int explain(struct live_why *why, char *const *traces, size_t trace_count, char *text)
{
    struct live_why_question question = why->question;
    char from[32], to[32], pid[16], *words[WORDS_MOST] = {"dpm", "why"};
    size_t count = 2, notes = why->chosen == NULL ? add_notes(&question, trace_count, text) : 0;

    if (why->chosen == NULL && !place_question(why, traces, trace_count, &question)) {
        snprintf(text, TEXT_MOST,
                 "The trace no longer has the records of this part of the time.\n");
        return -ENOENT;
    }
    snprintf(from, sizeof(from), "%.9fs", (double)question.from / 1e9);
    snprintf(to, sizeof(to), "%.9fs", (double)question.to / 1e9);
    snprintf(pid, sizeof(pid), "%" PRIu32, question.pid);
    if (why->chosen == NULL) {
        words[count++] = "--from";
        words[count++] = from;
        words[count++] = "--to";
        words[count++] = to;
    }
    if (question.pid != 0) {
        words[count++] = "--process";
        words[count++] = pid;
    }
    words[count++] = "--";
    for (size_t i = 0; i < trace_count && count + 1 < WORDS_MOST; i++)
        words[count++] = traces[i];
    return run(why, words, true, text + notes);
}

static void explain_recorded(struct live_why *why, char *text)
{
    char path[PATH_MAX], trace[PATH_MAX + 8];

    snprintf(path, sizeof(path), "%.*s/" FOLDER_BEGINS "XXXXXX", PATH_MAX - 32,
             folder_of_folders());
    if (mkdtemp(path) == NULL) {
        snprintf(text, TEXT_MOST, "cannot make the folder %.200s: %s\n", path, strerror(errno));
        return;
    }
    snprintf(trace, sizeof(trace), "%s/trace", path);
    char *const traces[] = {trace};
    why->lock = lock_folder(AT_FDCWD, path);
    if (record(why, trace, text) == 0)
        (void)explain(why, traces, 1, text);
    folder_remove(path);
    if (why->lock >= 0)
        close(why->lock);
    why->lock = -1;
}

static void *work(void *context)
{
    struct live_why *why = context;
    char *text = malloc(NOTES_MOST + TEXT_MOST + 1);

    if (text != NULL && why->chosen != NULL)
        explain_recorded(why, text);
    else if (text != NULL)
        (void)explain(why, why->traces, why->trace_count, text);
    void (*done)(void *context, char *text) = why->done;
    void *asker = why->context;
    pthread_mutex_lock(&why->mutex);
    why->is_busy = false;
    pthread_mutex_unlock(&why->mutex);
    done(asker, text);
    return NULL;
}

int live_why_ask(struct live_why *why, const struct live_why_question *question,
                 void (*done)(void *context, char *text), void *context)
{
    int result = 0;

    pthread_mutex_lock(&why->mutex);
    if (why->is_busy || why->ends)
        result = -EBUSY;
    else if (why->chosen == NULL && why->trace_count == 0)
        result = -ENOENT;
    if (result == 0 && why->has_thread)
        pthread_join(why->thread, NULL); /* it has answered, and ends */
    if (result == 0) {
        why->question = *question;
        why->asked_since = why->began;
        why->done = done;
        why->context = context;
        result = -pthread_create(&why->thread, NULL, work, why);
        why->has_thread = why->is_busy = result == 0;
    }
    pthread_mutex_unlock(&why->mutex);
    return result;
}
