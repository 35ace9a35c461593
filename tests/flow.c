/* SPDX-License-Identifier: MIT */
/*
 * flow.c: messages that never stop flowing through UNIX sockets, to be acquired in the middle.
 *
 *      usage: flow KIND SENDERS BURST PAUSE
 *
 *      child 1 --\
 *      child 2 ---- parent, receives until every child has said that it ends
 *      child N --/
 *
 * KIND is stream, seqpacket (a socket pair for all children) or datagram (a socket for each, without
 * a name, sending to that of the parent). Every child sends BURST messages of 64 bytes, rests PAUSE
 * microseconds (0: not at all), and so on until SIGUSR1 (for a minute at most); its last message is
 * one of 1 byte.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void send_all(int descriptor, int burst, unsigned pause)
{
    char message[64] = "message";

    while (!over) {
        for (int i = 0; i < burst; i++)
            if (send(descriptor, message, sizeof(message), 0) < 0)
                fail("send");
        if (pause > 0)
            usleep(pause);
    }
    if (send(descriptor, "", 1, 0) < 0)
        fail("send");
}

static void receive_all(int descriptor, int senders)
{
    char buffer[64];

    /* bytes of a stream come in other pieces than they were sent: only the last ends it */
    for (ssize_t size; senders > 0;) {
        size = recv(descriptor, buffer, sizeof(buffer), 0);
        if (size < 0)
            fail("recv");
        if (size == 0)
            return;
        senders -= size == 1;
    }
}

/* The ends: the parent's, and that of a child or all; a datagram socket is bound to a name of the
 * kernel's choice, so that each child can connect one of its own to it. */
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
        fprintf(stderr, "usage: flow stream|seqpacket|datagram SENDERS BURST PAUSE\n");
        return 2;
    }
    int type = strcmp(arguments[1], "stream") == 0      ? SOCK_STREAM
               : strcmp(arguments[1], "seqpacket") == 0 ? SOCK_SEQPACKET
                                                        : SOCK_DGRAM;
    int senders = atoi(arguments[2]), other;
    int parents = parents_end(type, &other);

    for (int i = 0; i < senders; i++) {
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            signal(SIGUSR1, note_over);
            signal(SIGALRM, note_over);
            alarm(MOST_SECONDS);
            send_all(other >= 0 ? other : childs_end(parents), atoi(arguments[3]),
                     (unsigned)atoi(arguments[4]));
            return 0;
        }
    }
    if (other >= 0)
        close(other);
    receive_all(parents, senders);
    close(parents);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
