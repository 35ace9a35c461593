/* SPDX-License-Identifier: MIT */
/* refuse.c: ends connections. See refuse.h. */
#include "dpmd/refuse.h"

#include "meter/shared/session_protocol.h"

#include "base/passing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define CLOSE_PATIENCE 100000 /* us */

static void interrupt(int signal)
{
    (void)signal; /* that it comes interrupts */
}

int refuse_prepare(void)
{
    const struct sigaction action = {.sa_handler = interrupt}; /* no SA_RESTART */

    return sigaction(SIGALRM, &action, NULL) < 0 ? -errno : 0;
}

/* The timer comes again and again, in case that it comes before the wait. */
static void set_timer(suseconds_t interval)
{
    const struct itimerval timer = {{.tv_usec = interval}, {.tv_usec = interval}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Takes what the peer has sent. A message that is left when a connection is closed makes the kernel tell the peer
 * ECONNRESET instead of our answer. */
static void drain(int connection)
{
    char byte;
    ssize_t got;

    do
        got = recv(connection, &byte, sizeof(byte), MSG_DONTWAIT);
    while (got > 0 || (got < 0 && errno == EINTR));
}

void refuse_close(int connection)
{
    set_timer(CLOSE_PATIENCE);
    close(connection);
    set_timer(0);
}

void refuse(int connection, int error, const char *text)
{
    struct session_reply refusal = {.version = SESSION_VERSION, .result = error};

    snprintf(refusal.text, sizeof(refusal.text), "%s", text);
    passing_send(connection, &refusal, sizeof(refusal), NULL, 0);
    set_timer(CLOSE_PATIENCE);
    shutdown(connection, SHUT_RDWR); /* nothing more can come after the drain */
    drain(connection);
    refuse_close(connection);
}
