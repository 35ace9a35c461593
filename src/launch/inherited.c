/* SPDX-License-Identifier: MIT */
/*
 * inherited.c: the inherited settings that dpm changes so that it works however it was started. The programs that it
 * starts get them unchanged.
 *
 *      shell  -- signals -->  dpm, in launch_settle: changed
 *                               '-- fork, inherited_give_back: restored -->  exec
 */
#include "launch/inherited.h"
#include "launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
    bool known;
    bool stops_ignored;
    struct sigaction file_size; /* disposition of SIGXFSZ */
    /* disposition of SIGCHLD: if it is ignored, the kernel reaps our children */
    struct sigaction child_ended;
    struct sigaction stops[3];
    struct rlimit files; /* limit of open files */
} inherited;

static const int stop_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};

/* If a standard file is closed, the next file that we open would take its number. The placeholder is opened in the
 * wrong mode, so reading or writing fails as before, and exec closes it. */
static void hold_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            open("/dev/null", (file == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* Opening many traces at once or watching many processes takes more than the usual 1,024. */
static void raise_open_files(void)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &inherited.files) < 0)
        return;
    most = (struct rlimit){inherited.files.rlim_max, inherited.files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
}

void launch_settle(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};

    hold_standard_files();
    raise_open_files();
    sigaction(SIGXFSZ, &ignore, &inherited.file_size);
    sigaction(SIGCHLD, &usual, &inherited.child_ended);
    inherited.known = true;
}

void launch_ignore_stops(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    for (size_t i = 0; i < ARRAY_SIZE(stop_signals); i++)
        sigaction(stop_signals[i], &ignore, &inherited.stops[i]);
    inherited.stops_ignored = true;
}

void inherited_give_back(void)
{
    if (!inherited.known)
        return;
    sigaction(SIGXFSZ, &inherited.file_size, NULL);
    sigaction(SIGCHLD, &inherited.child_ended, NULL);
    for (size_t i = 0; inherited.stops_ignored && i < ARRAY_SIZE(stop_signals); i++)
        sigaction(stop_signals[i], &inherited.stops[i], NULL);
    if (inherited.files.rlim_max != 0)
        setrlimit(RLIMIT_NOFILE, &inherited.files);
}
