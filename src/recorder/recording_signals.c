/* SPDX-License-Identifier: MIT */
/* recording_signals.c: the signals that end a recording, as a descriptor. See recorder.h. */
#include "recorder/recorder.h"

#include <errno.h>
#include <sys/signalfd.h>

/* SIGINT is blocked even if it is ignored, as it is in background jobs of scripts, because it is the way to end a
 * recording. */
int recording_signals(sigset_t *ret_old_mask)
{
    struct sigaction hangup;
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN)
        sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGQUIT);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, ret_old_mask);
    int signals = signalfd(-1, &mask, SFD_CLOEXEC);
    return signals < 0 ? -errno : signals;
}
