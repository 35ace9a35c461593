/* SPDX-License-Identifier: MIT */
/* calibrate_listen.c: `dpm calibrate --listen`: the side that echoes. See calibrate_listen.h. */
#include "command/calibrate_listen.h"

#include "calibrate/calibrate.h"
#include "command/shared/command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void interrupt(int signal)
{
    (void)signal;
    calibrate_interrupted = 1;
}

/* Installs the handlers of the signals that end it. */
static void set_signals(sigset_t *ret_signals)
{
    const struct sigaction action = {.sa_handler = interrupt};

    sigemptyset(ret_signals);
    sigaddset(ret_signals, SIGINT);
    sigaddset(ret_signals, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Waits for a peer. Signals are blocked except in ppoll, so that one which comes just before is not missed. Returns the
 * peer's socket or a negative errno; -EAGAIN: no peer after all. */
static int next_peer(int listener, const sigset_t *signals)
{
    struct pollfd file = {.fd = listener, .events = POLLIN};
    sigset_t old;
    int peer = -1;

    sigprocmask(SIG_BLOCK, signals, &old);
    errno = EINTR;
    if (!calibrate_interrupted && ppoll(&file, 1, NULL, &old) > 0)
        peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0)
        peer = errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    return peer;
}

static void answer_peer(int peer, char *buffer)
{
    calibrate_set_patience(peer);
    int result = calibrate_echo((struct link){peer, peer}, buffer);
    if (result < 0 && !calibrate_interrupted)
        command_say("dropped a peer: %s",
                    result == -EPROTO ? "it is not dpm calibrate" : strerror(-result));
    close(peer);
}

/* Answers one peer at a time, because several would disturb each other's times. Ends with SIGINT or SIGTERM. */
static int answer_all(int listener, char *buffer, const char *address, struct problem *problem)
{
    sigset_t signals;

    set_signals(&signals);
    command_say("answering on %s until Ctrl-C", address);
    while (!calibrate_interrupted) {
        int peer = next_peer(listener, &signals);
        if (peer >= 0)
            answer_peer(peer, buffer);
        else if (peer != -EAGAIN)
            return problem_set(problem, peer, "--listen %s: cannot answer any more: %s", address,
                               strerror(-peer));
    }
    return 0;
}

int calibrate_answer(const char *address, struct problem *problem)
{
    char *buffer = malloc(CALIBRATE_SIZE_MOST);

    if (buffer == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int listener = calibrate_open_listener(address, problem);
    int result = listener < 0 ? listener : answer_all(listener, buffer, address, problem);
    if (listener >= 0)
        close(listener);
    free(buffer);
    return result;
}
