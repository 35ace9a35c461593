/* SPDX-License-Identifier: MIT */
/*
 * inherited.c: what dpm changes of what it was started with, so that it works whatever that was. A program that it
 * starts gets all of it as it was.
 *
 *      shell  -- signals -->  dpm, in launch_settle: as it needs them
 *                               '-- fork, inherited_give_back: as they were -->  exec
 */
#include "launch/inherited.h"
#include "launch/launch.h"

#include <signal.h>

static struct {
    bool known;
    struct sigaction file_size; /* what SIGXFSZ does */
} inherited;

void launch_settle(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, &inherited.file_size);
    inherited.known = true;
}

void inherited_give_back(void)
{
    if (!inherited.known)
        return;
    sigaction(SIGXFSZ, &inherited.file_size, NULL);
}
