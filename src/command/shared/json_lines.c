/* SPDX-License-Identifier: MIT */
/* json_lines.c: see json_lines.h. */
#include "command/shared/json_lines.h"

#include "show/live/live_face.h"
#include "show/show.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_MOST (4u << 20) /* bytes; one line may be longer */

int json_lines_open(struct json_lines *lines, const char *name, struct problem *problem)
{
    struct stat status;

    *lines = (struct json_lines){.file = -1, .name = name == NULL ? "standard output" : name};
    lines->file = name == NULL ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                               : open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (lines->file < 0)
        return problem_set(problem, -errno, "cannot write %s: %s", lines->name, strerror(errno));
    lines->regular = fstat(lines->file, &status) == 0 && S_ISREG(status.st_mode);
    return 0;
}

/* Writes without the signal that a closed pipe sends: the command that runs has its own wishes about that. */
static ssize_t write_quietly(int file, const char *bytes, size_t size)
{
    const struct timespec now = {0};
    sigset_t pipe, before, pending;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    sigprocmask(SIG_BLOCK, &pipe, &before);
    ssize_t written = write(file, bytes, size);
    int error = errno;
    if (written < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe, NULL, &now);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* A pipe that is ready takes PIPE_BUF bytes without waiting. */
static bool write_some(struct json_lines *lines, int timeout)
{
    struct pollfd file = {.fd = lines->file, .events = POLLOUT};
    size_t size = lines->end - lines->begin;

    if (size == 0 || lines->gone || poll(&file, 1, timeout) <= 0)
        return false;
    if (!lines->regular && size > PIPE_BUF)
        size = PIPE_BUF;
    ssize_t written = write_quietly(lines->file, lines->queue + lines->begin, size);
    if (written < 0 && errno != EAGAIN && errno != EINTR) {
        lines->gone = true;
        lines->error = errno == EPIPE ? 0 : errno;
    }
    if (written > 0)
        lines->begin += (size_t)written;
    return written > 0;
}

void json_lines_flush(struct json_lines *lines)
{
    while (write_some(lines, 0))
        ;
}

void json_lines_wait(struct json_lines *lines)
{
    while (lines->begin < lines->end && !lines->gone)
        write_some(lines, -1);
}

static int enqueue(struct json_lines *lines, const char *text, size_t size)
{
    size_t waiting = lines->end - lines->begin;

    if (lines->begin > 0)
        memmove(lines->queue, lines->queue + lines->begin, waiting);
    lines->begin = 0;
    lines->end = waiting;
    if (array_reserve(&lines->queue, &lines->room, waiting + size, 1) < 0)
        return -ENOMEM;
    memcpy(lines->queue + waiting, text, size);
    lines->end += size;
    return 0;
}

int json_lines_put(struct json_lines *lines, const char *text, size_t size)
{
    int result = 0;

    json_lines_flush(lines);
    size_t waiting = lines->end - lines->begin;
    if (waiting > 0 && waiting + size > QUEUE_MOST)
        lines->dropped++;
    else if (!lines->gone)
        result = enqueue(lines, text, size);
    json_lines_flush(lines);
    return result;
}

bool json_lines_taken(const struct json_lines *lines)
{
    return lines->begin == lines->end;
}

bool json_lines_abandoned(struct json_lines *lines)
{
    struct pollfd file = {.fd = lines->file};

    lines->gone |= lines->file >= 0 && poll(&file, 1, 0) > 0 && (file.revents & POLLERR) != 0;
    return lines->gone;
}

int json_lines_add(struct json_lines *lines, const struct live_snapshot *snapshot)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    int result = memory == NULL ? -ENOMEM : show_live_json(snapshot, lines->dropped, true, memory);

    if (memory != NULL && fclose(memory) != 0 && result == 0)
        result = -ENOMEM;
    if (result == 0)
        result = json_lines_put(lines, text, size);
    free(text);
    return result;
}

int json_lines_close(struct json_lines *lines, uint64_t patience, struct problem *problem)
{
    int error = 0;
    uint64_t end = clock_now(CLOCK_MONOTONIC) + patience, now;
    char text[COUNTED_SIZE];

    while (lines->file >= 0 && !lines->gone && lines->begin < lines->end &&
           (now = clock_now(CLOCK_MONOTONIC)) < end)
        write_some(lines, poll_timeout(end, now));
    show_counted(lines->dropped, "line", text);
    if (lines->dropped > 0)
        command_say("%s dropped: the reader was too slow", text);
    if (lines->file >= 0 && !lines->gone && lines->begin < lines->end)
        command_say("the last lines were dropped: the reader was too slow");
    if (lines->file >= 0 && close(lines->file) < 0 && lines->error == 0)
        lines->error = errno; /* e.g. of a file in a network */
    if (lines->error != 0)
        error = problem_set(problem, -lines->error, "cannot write %s: %s", lines->name,
                            strerror(lines->error));
    free(lines->queue);
    *lines = (struct json_lines){.file = -1};
    return error;
}
