/* SPDX-License-Identifier: MIT */
/*
 * callers.c: makes every kind of call whose caller the meter records, each from its own function and with its own
 * number of bytes. It prints the expected result, one line for each call:
 *
 *      EVENT BYTES FUNCTION
 *
 * Before each call the stack is polluted: deep calls leave stale return addresses where the frames of the next call
 * will be.
 */
#include "callers.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static int ends[2];
static char bytes[4096];
static volatile int sink;
static FILE *buffered;
static FILE *unbuffered;
int (*volatile by_pointer)(size_t size);
ssize_t (*volatile send_by_pointer)(int, const void *, size_t, int) = send;

/* Leaves return addresses of every sort, 40 frames deep. */
NOINLINE static int foul(int depth)
{
    char text[24];

    if (depth > 0)
        sink += foul(depth - 1);
    sink += snprintf(text, sizeof(text), "%d", depth);
    sink += (int)write(-1, text, 1);
    return sink + text[0];
}

static void expect(const char *event, size_t size, const char *function)
{
    printf("%s %zu %s\n", event, size, function);
}

static void taken(size_t size)
{
    char buffer[4096];

    while (size > 0) {
        ssize_t got = recv(ends[1], buffer, size, 0);
        if (got <= 0)
            exit(3);
        size -= (size_t)got;
    }
}

/* ---- the callers; code after the call keeps it from becoming the function's tail jump ---- */

NOINLINE static int caller_of_send(size_t size)
{
    sink += (int)send(ends[0], bytes, size, 0);
    return sink;
}

NOINLINE static int caller_of_write(size_t size)
{
    sink += (int)write(ends[0], bytes, size);
    return sink;
}

NOINLINE static int caller_of_writev(size_t size)
{
    struct iovec part = {bytes, size};

    sink += (int)writev(ends[0], &part, 1);
    return sink;
}

NOINLINE static int caller_of_sendto(size_t size)
{
    sink += (int)sendto(ends[0], bytes, size, 0, NULL, 0);
    return sink;
}

NOINLINE static int caller_of_sendmsg(size_t size)
{
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    sink += (int)sendmsg(ends[0], &message, 0);
    return sink;
}

NOINLINE static int caller_of_sendmmsg(size_t size)
{
    struct iovec part = {bytes, size};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};

    sink += sendmmsg(ends[0], &message, 1, 0);
    return sink;
}

NOINLINE static int caller_by_pointer(size_t size)
{
    sink += (int)send_by_pointer(ends[0], bytes, size, 0);
    return sink;
}

NOINLINE static int called_by_pointer(size_t size)
{
    sink += (int)send(ends[0], bytes, size, 0);
    return sink;
}

NOINLINE static int caller_with_large_frame(size_t size)
{
    char large[3000];

    memset(large, (int)size, sizeof(large));
    sink += (int)send(ends[0], large, size, 0);
    return sink + large[size];
}

NOINLINE static int caller_of_library(size_t size)
{
    sink += library_send(ends[0], bytes, size);
    return sink;
}

NOINLINE static int callback(size_t size)
{
    sink += (int)send(ends[0], bytes, size, 0);
    return sink;
}

NOINLINE static int caller_of_fflush(size_t size)
{
    sink += (int)fwrite(bytes, 1, size, buffered);
    sink += fflush(buffered);
    return sink;
}

NOINLINE static int caller_of_fprintf(size_t size)
{
    sink += fprintf(unbuffered, "%*d", (int)size, 1);
    return sink;
}

/* Does not return to its caller: the call is its last instruction. */
NOINLINE static int caller_of_no_return(size_t size)
{
    caller_that_ends(ends[0], bytes, size);
}

/* ---- receivers ---- */

NOINLINE static int caller_of_recv(size_t size)
{
    sink += (int)recv(ends[1], bytes, size, 0);
    return sink;
}

NOINLINE static int caller_of_read(size_t size)
{
    sink += (int)read(ends[1], bytes, size);
    return sink;
}

NOINLINE static int caller_of_readv(size_t size)
{
    struct iovec part = {bytes, size};

    sink += (int)readv(ends[1], &part, 1);
    return sink;
}

NOINLINE static int caller_of_recvfrom(size_t size)
{
    sink += (int)recvfrom(ends[1], bytes, size, 0, NULL, NULL);
    return sink;
}

NOINLINE static int caller_of_recvmsg(size_t size)
{
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    sink += (int)recvmsg(ends[1], &message, 0);
    return sink;
}

/* ---- the plan ---- */

static const struct {
    const char *name;
    int (*call)(size_t size);
    /* the call goes through the C library, which is part of a static program */
    bool through_library;
} senders[] = {
    {"caller_of_send", caller_of_send, false},
    {"caller_of_write", caller_of_write, false},
    {"caller_of_writev", caller_of_writev, false},
    {"caller_of_sendto", caller_of_sendto, false},
    {"caller_of_sendmsg", caller_of_sendmsg, false},
    {"caller_of_sendmmsg", caller_of_sendmmsg, false},
    {"caller_by_pointer", caller_by_pointer, false},
    {"caller_with_large_frame", caller_with_large_frame, false},
    {"caller_of_library", caller_of_library, true},
    {"caller_of_fflush", caller_of_fflush, true},
    {"caller_of_fprintf", caller_of_fprintf, true},
};

/* Leaves behind the return address of a call of a C library function that lies just before the one that sleeps. */
NOINLINE static void ask_time(void)
{
    struct timespec now;

    sink += clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

NOINLINE static void caller_of_nanosleep(void)
{
    struct timespec moment = {.tv_nsec = 1000};
    volatile char room[600];

    room[0] = 0;
    sink += nanosleep(&moment, NULL) + room[0];
}

static const struct {
    const char *name;
    int (*call)(size_t size);
} receivers[] = {
    {"caller_of_recv", caller_of_recv},       {"caller_of_read", caller_of_read},
    {"caller_of_readv", caller_of_readv},     {"caller_of_recvfrom", caller_of_recvfrom},
    {"caller_of_recvmsg", caller_of_recvmsg},
};

static void call_all(size_t base)
{
    for (size_t i = 0; i < sizeof(senders) / sizeof(senders[0]); i++) {
        size_t size = base + i;
        if (LIBRARY_IS_PROGRAM && senders[i].through_library)
            continue;
        foul(40);
        senders[i].call(size);
        expect("SEND", size, senders[i].name);
        taken(size);
    }
    for (size_t i = 0; i < sizeof(receivers) / sizeof(receivers[0]); i++) {
        size_t size = base + 50 + i;
        if (write(ends[0], bytes, size) != (ssize_t)size)
            exit(3);
        foul(40);
        receivers[i].call(size);
        expect("RECEIVE", size, receivers[i].name);
    }
    ask_time();
    caller_of_nanosleep();
    foul(40);
    by_pointer = called_by_pointer;
    by_pointer(base + 60);
    expect("SEND", base + 60, "called_by_pointer");
    foul(40);
    library_calls_back(callback, base + 61);
    expect("SEND", base + 61, "callback");
    taken(base + 60 + base + 61);
}

static void *run_thread(void *argument)
{
    call_all(200);
    return argument;
}

/* With an argument, waits for a line on standard input first. */
int main(int argc, char **argv)
{
    pthread_t thread;

    (void)argv;
    if (argc > 1)
        getchar();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return 3;
    buffered = fdopen(dup(ends[0]), "w");
    unbuffered = fdopen(dup(ends[0]), "w");
    if (buffered == NULL || unbuffered == NULL)
        return 3;
    setvbuf(unbuffered, NULL, _IONBF, 0);
    call_all(100);
    /* with threads the C library's calls have frames of their own */
    if (pthread_create(&thread, NULL, run_thread, NULL) != 0)
        return 3;
    pthread_join(thread, NULL);
    call_all(300);
    foul(40);
    expect("SEND", 99, LIBRARY_IS_PROGRAM ? "caller_that_ends" : "caller_of_no_return");
    fflush(stdout);
    caller_of_no_return(99);
}
