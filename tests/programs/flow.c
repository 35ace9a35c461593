/* SPDX-License-Identifier: MIT */
/*
 * flow.c: a continuous flow of messages through sockets or a pipe, to be acquired in the middle.
 *
 *      usage: flow KIND SENDERS BURST PAUSE
 *
 *      child 1 --\
 *      child 2 ---- parent, receives until every child has said that it ends
 *      child N --/
 *
 * KIND is stream, seqpacket (a UNIX socket pair for all children), datagram (an unnamed UNIX socket for each, sending
 * to that of the parent), tcp (one connection for all children), tcp-slow, pipe, pipe-large or pipe-slow. Every child
 * sends BURST messages of 64 bytes, rests PAUSE microseconds (0: not at all), and so on until SIGUSR1 (for at most a
 * minute); its last message has 1 byte. Over the last two and tcp, messages have a million bytes, so that each send
 * waits for buffer space. Until SIGUSR1, reads of pipe-slow end long after their bytes have left the pipe: the kernel
 * visits each of many files that have asked for a signal when there is buffer space. (With a low limit on open files
 * they are too few.) The parent of tcp-slow reads slowly until it gets SIGUSR1, too: sends take long, and those that a
 * signal interrupts have sent a part.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_SECONDS 60

static volatile sig_atomic_t over;

static void note_over(int signal)
{
    (void)signal;
    over = 1;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- senders ---- */

#define SMALL_MESSAGE 64
#define LARGE_MESSAGE 1000000

#define MOST_FILES    10000
#define QUICK_AT_LAST 30 /* messages of pipe-slow */

/* Opens the pipe many more times, and asks for a signal, which is ignored, when there is buffer space. Returns how
 * many; the first is *ret_first. */
static int ask_for_signals(int descriptor, int *ret_first)
{
    struct rlimit limit = {0};
    char name[64];
    int count = 0;

    signal(SIGIO, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
    for (int file; count < MOST_FILES && (file = open(name, O_WRONLY)) >= 0; count++) {
        if (fcntl(file, F_SETOWN, getpid()) < 0 || fcntl(file, F_SETFL, O_ASYNC) < 0)
            fail("fcntl");
        if (count == 0)
            *ret_first = file;
    }
    return count;
}

static void send_message(int descriptor, size_t size)
{
    static const char message[LARGE_MESSAGE] = "message";

    if (write(descriptor, message, size) < 0)
        fail("write");
}

static void send_all(int descriptor, size_t size, int burst, unsigned pause)
{
    while (!over) {
        for (int i = 0; i < burst; i++)
            send_message(descriptor, size);
        if (pause > 0)
            usleep(pause);
    }
}

static void send_slowly(int descriptor, size_t size, int burst, unsigned pause)
{
    int first = 0, count = ask_for_signals(descriptor, &first);

    send_all(descriptor, size, burst, pause);
    while (count-- > 0)
        close(first + count);
    for (int i = 0; i < QUICK_AT_LAST; i++)
        send_message(descriptor, size);
}

/* ---- receivers ---- */

#define SMALL_READ  64
#define MEDIUM_READ 1024
#define LARGE_READ  32768

#define REST 20000 /* us */

static void receive_slowly(int descriptor)
{
    char buffer[LARGE_READ];

    signal(SIGUSR1, note_over);
    while (!over) {
        if (read(descriptor, buffer, sizeof(buffer)) < 0)
            fail("read");
        usleep(REST);
    }
}

static void receive_all(int descriptor, size_t most, bool to_end_of_file, int senders)
{
    char buffer[LARGE_READ];

    /* the pieces of a byte stream may differ from those sent, but a message of 64 bytes never gives a piece of 1 */
    for (ssize_t size; senders > 0;) {
        size = read(descriptor, buffer, most);
        if (size < 0)
            fail("read");
        if (size == 0)
            return;
        senders -= !to_end_of_file && size == 1;
    }
}

/* ---- the paths ---- */

static int tcp_connection(int *ret_other)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(name);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int other = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(listener, (struct sockaddr *)&name, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&name, &length) < 0 ||
        connect(other, (struct sockaddr *)&name, length) < 0)
        fail("connect");
    int descriptor = accept(listener, NULL, NULL);
    if (descriptor < 0)
        fail("accept");
    close(listener);
    *ret_other = other;
    return descriptor;
}

static int parents_end_of_pipe(int *ret_other)
{
    int ends[2];

    if (pipe(ends) < 0)
        fail("pipe");
    *ret_other = ends[1];
    return ends[0];
}

/* The ends: the parent's, and that of one child or all; a datagram socket is bound to a name of the kernel's choice,
 * so that each child can connect its own socket to it. */
static int parents_end(int type, int *ret_other)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int pair[2];

    if (socketpair(AF_UNIX, type, 0, pair) < 0)
        fail("socketpair");
    *ret_other = pair[1];
    if (type != SOCK_DGRAM)
        return pair[0];
    close(pair[0]);
    close(pair[1]);
    *ret_other = -1;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (descriptor < 0 ||
        bind(descriptor, (const struct sockaddr *)&any, sizeof(any.sun_family)) < 0)
        fail("bind");
    return descriptor;
}

static int childs_end(int parents)
{
    struct sockaddr_un name;
    socklen_t length = sizeof(name);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (descriptor < 0 || getsockname(parents, (struct sockaddr *)&name, &length) < 0 ||
        connect(descriptor, (const struct sockaddr *)&name, length) < 0)
        fail("connect");
    return descriptor;
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fprintf(stderr,
                "usage: flow stream|seqpacket|datagram|tcp|tcp-slow|pipe|pipe-large|pipe-slow "
                "SENDERS BURST PAUSE\n");
        return 2;
    }
    int type = strcmp(arguments[1], "stream") == 0      ? SOCK_STREAM
               : strcmp(arguments[1], "seqpacket") == 0 ? SOCK_SEQPACKET
                                                        : SOCK_DGRAM;
    bool tcp = strncmp(arguments[1], "tcp", 3) == 0;
    bool slow = strcmp(arguments[1], "pipe-slow") == 0;
    bool large = tcp || slow || strcmp(arguments[1], "pipe-large") == 0;
    bool is_pipe = strncmp(arguments[1], "pipe", 4) == 0;
    int senders = atoi(arguments[2]), other;
    int parents = tcp       ? tcp_connection(&other)
                  : is_pipe ? parents_end_of_pipe(&other)
                            : parents_end(type, &other);

    for (int i = 0; i < senders; i++) {
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            signal(SIGUSR1, note_over);
            signal(SIGALRM, note_over);
            alarm(MOST_SECONDS);
            int own = other >= 0 ? other : childs_end(parents);
            (slow ? send_slowly : send_all)(own, large ? LARGE_MESSAGE : SMALL_MESSAGE,
                                            atoi(arguments[3]), (unsigned)atoi(arguments[4]));
            send_message(own, 1);
            return 0;
        }
    }
    if (other >= 0)
        close(other);
    if (strcmp(arguments[1], "tcp-slow") == 0)
        receive_slowly(parents);
    receive_all(parents,
                slow  ? LARGE_READ
                : tcp ? MEDIUM_READ
                      : SMALL_READ,
                tcp || is_pipe, senders);
    close(parents);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
