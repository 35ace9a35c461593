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

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
    bool known;
    struct sigaction file_size; /* what SIGXFSZ does */
    struct rlimit files;        /* how many may be open */
} inherited;

/* Else the next file that we open would be our standard output. What holds the place is closed by exec, and cannot be
 * used: reading or writing fails as it did. */
static void hold_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            open("/dev/null", (file == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* Many traces at once, or many processes to watch, need more than the usual 1,024. */
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
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    hold_standard_files();
    raise_open_files();
    sigaction(SIGXFSZ, &ignore, &inherited.file_size);
    inherited.known = true;
}

void inherited_give_back(void)
{
    if (!inherited.known)
        return;
    sigaction(SIGXFSZ, &inherited.file_size, NULL);
    if (inherited.files.rlim_max != 0)
        setrlimit(RLIMIT_NOFILE, &inherited.files);
}
