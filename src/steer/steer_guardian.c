/* SPDX-License-Identifier: MIT */
/*
 * steer_guardian.c: a process that outlives the loop, to restore what that has changed. See steer.h.
 *
 *      loop       writes the journal ... acts ... ends, or is killed: the pipe's other end closes
 *      guardian   ---- reads the pipe -----------------------------------'  reads the journal, restores, ends
 *
 * It has a session of its own, so nothing that ends the loop's terminal ends it, and no file of the loop but the journal, whose
 * lock it holds: until it has ended, no other loop begins on these groups.
 */
#include "base/process.h"
#include "steer/steer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUARDIAN_FILE 3
#define GUARDIAN_PIPE 4

/* Its standard error stays that of the loop, for what it has to say. */
static void settle(int file, int pipe)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU};
    sigset_t none;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "dpm-guardian");
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* both may stand where the other is to go */
    int high_file = fcntl(file, F_DUPFD_CLOEXEC, 10), high_pipe = fcntl(pipe, F_DUPFD_CLOEXEC, 10);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup3(high_file, GUARDIAN_FILE, O_CLOEXEC);
    dup3(high_pipe, GUARDIAN_PIPE, O_CLOEXEC);
    (void)close_range(GUARDIAN_PIPE + 1, ~0u, 0);
}

static void await_end(void)
{
    char byte;
    ssize_t got;

    do
        got = read(GUARDIAN_PIPE, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
}

/* The journal, locked: it may have been written anew, under its name. -1: there is none any more, or another process restores it. */
static int open_latest(const char *path)
{
    struct stat first, named;
    int file = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0 || fstat(GUARDIAN_FILE, &first) < 0 || fstat(file, &named) < 0 ||
        (first.st_dev == named.st_dev && first.st_ino == named.st_ino))
        return GUARDIAN_FILE; /* a logout removes XDG_RUNTIME_DIR */
    if (flock(file, LOCK_EX) < 0 || fstat(file, &named) < 0 || named.st_nlink == 0)
        return -1;
    return file;
}

/* Runs in the guardian; never returns. */
static void guard(struct steer_journal *journal, void (*done)(const struct steer_restored *restored,
                                                              const struct problem *not_restored))
{
    struct steer_journal left = {.file = -1};
    struct steer_restored sum = {0};
    struct problem problem = {""};
    size_t restored = 0, size;

    await_end();
    memcpy(left.path, journal->path, sizeof(left.path));
    left.file = open_latest(left.path);
    char *text = left.file < 0 ? NULL : journal_read(left.file, &size);
    if (text == NULL)
        _exit(left.file < 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    journal_parse(&left, text, size);
    if (left.ended) /* in order; it has said what it could not restore */
        _exit(EXIT_SUCCESS);
    /* else all is marked as restored, or the loop was killed */
    int result = journal_restore(&left, ALL_ACTS, &restored, &problem);
    if (result == 0)
        unlink(left.path);
    journal_sum(&left, restored, &sum);
    done(&sum, result < 0 ? &problem : NULL);
    _exit(result == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int steer_guardian_begin(struct steer_journal *journal,
                         void (*done)(const struct steer_restored *restored,
                                      const struct problem *not_restored))
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        settle(journal->file, ends[0]);
        guard(journal, done);
    }
    int error = pid < 0 ? -errno : 0;
    close(ends[0]);
    int pidfd = error < 0 ? error : process_open(pid);
    if (pidfd < 0)
        close(ends[1]);
    return pidfd; /* the other end stays open as long as we live */
}
