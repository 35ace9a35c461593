/* SPDX-License-Identifier: MIT */
/*
 * first_process.c: dpm as the first process of a container, to which all orphans in it belong. See launch.h.
 *
 *      process 1   forks, waits for any process, hands signals on  ------------------>  exits as dpm did
 *      dpm         '-- runs the command line ----------------------------------------> exits
 *      orphans     .......... end, and process 1 reaps them
 *
 * dpm itself cannot: its threads wait for the processes that they started, and for no others.
 */
#include "launch/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const int handed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};

/* A terminal sends its signals to dpm, too: it is in the same process group. */
static void hand_on(pid_t dpm, const siginfo_t *signal)
{
    if (signal->si_code != SI_KERNEL)
        kill(dpm, signal->si_signo);
}

/* Reaps whatever has ended. Exits with dpm. */
static void reap(pid_t dpm)
{
    int status;
    pid_t ended;

    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        if (ended == dpm)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (ended < 0 && errno == ECHILD)
        _exit(EXIT_FAILURE);
}

static _Noreturn void serve(pid_t dpm, const sigset_t *awaited)
{
    siginfo_t signal;

    for (;;) {
        reap(dpm);
        if (sigwaitinfo(awaited, &signal) > 0 && signal.si_signo != SIGCHLD)
            hand_on(dpm, &signal);
    }
}

void launch_below_first_process(void)
{
    sigset_t awaited, before;
    struct sigaction child_ended = {.sa_handler = SIG_DFL}; /* ignored, it would not be awaited */

    if (getpid() != 1)
        return;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
        sigaddset(&awaited, handed_on[i]);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    sigaction(SIGCHLD, &child_ended, NULL);
    pid_t dpm = fork();
    if (dpm > 0)
        serve(dpm, &awaited);
    /* if it failed, we go on as we are, and leave orphans */
    sigprocmask(SIG_SETMASK, &before, NULL);
}
