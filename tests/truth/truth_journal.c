/* SPDX-License-Identifier: MIT */
/*
 * truth_journal.c: the log of one stream, kept in its memory and written when it ends.
 *
 *      LOG/<tid>-<start, ns>.log
 *          SEND 5123 100 sendmsg 81000 84000
 *          RECEIVE 5123 40 recv 90000 93000 [812:160:40]
 *          CREATEPROCESS 813 process
 *          FAILED SEND 2
 *          TERMINATION 0
 *
 * truth.c explains the lines.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_LIMIT ((size_t)256 << 20)

__thread struct journal journal;

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t cpu_time(void)
{
    return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_milliseconds(unsigned milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

    while (nanosleep(&time, &time) < 0 && errno == EINTR)
        ;
}

void truth_fail(const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "truth-program: thread %d: %s\n", (int)gettid(), line);
    _exit(1);
}

void journal_begin(void)
{
    char *text = journal.text;
    size_t capacity = journal.capacity;

    memset(&journal, 0, sizeof(journal));
    journal.text = text;
    journal.capacity = capacity;
    journal.writer = -1;
    journal.tid = (uint32_t)gettid();
    snprintf(journal.path, sizeof(journal.path), "%s/%" PRIu32 "-%" PRIu64 ".log", log_folder,
             journal.tid, clock_now(CLOCK_MONOTONIC));
}

static void reserve(size_t more)
{
    size_t wanted = journal.capacity == 0 ? 4096 : journal.capacity;

    while (wanted < journal.length + more)
        wanted *= 2;
    if (wanted == journal.capacity)
        return;
    if (wanted > JOURNAL_LIMIT)
        truth_fail("the log of this stream is too large: use a smaller --scale");
    char *grown = realloc(journal.text, wanted);
    if (grown == NULL)
        truth_fail("no memory for the log");
    journal.text = grown;
    journal.capacity = wanted;
}

void journal_print(const char *format, ...)
{
    va_list arguments;

    reserve(512);
    va_start(arguments, format);
    int length = vsnprintf(journal.text + journal.length, 512, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= 512)
        truth_fail("a piece of the log is too long");
    journal.length += (size_t)length;
}

static void write_file(void)
{
    int file = open(journal.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (file < 0)
        truth_fail("%s cannot be written: %s", journal.path, strerror(errno));
    for (size_t done = 0; done < journal.length;) {
        ssize_t written = write(file, journal.text + done, journal.length - done);
        if (written <= 0)
            truth_fail("%s cannot be written: %s", journal.path, strerror(errno));
        done += (size_t)written;
    }
    close(file);
    journal.length = 0;
}

static void print_failed(void)
{
    static const char *const objects[] = {"", " pipe"};

    for (unsigned i = 0; i < 2; i++) {
        if (journal.failed_sends[i] != 0)
            journal_print("FAILED SEND %" PRIu64 "%s\n", journal.failed_sends[i], objects[i]);
        if (journal.failed_receives[i] != 0)
            journal_print("FAILED RECEIVE %" PRIu64 "%s\n", journal.failed_receives[i], objects[i]);
        journal.failed_sends[i] = 0;
        journal.failed_receives[i] = 0;
    }
}

void journal_hand_over(void)
{
    print_failed();
    write_file();
}

void journal_resume(const char *path, const char *image)
{
    journal_begin();
    if (path != NULL)
        snprintf(journal.path, sizeof(journal.path), "%s", path);
    journal_print("EXEC %s\n", image);
}

void journal_end(int status)
{
    print_failed();
    journal_print("TERMINATION %d\n", status);
    write_file();
    free(journal.text);
    journal.text = NULL;
    journal.capacity = 0;
}
