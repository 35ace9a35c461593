/* SPDX-License-Identifier: MIT */
/* receiver_command.c: a command for each notification, which gets the line on its standard input; one at a time. */
#include "monitor/receiver.h"

#include "base/process.h"
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void forget(struct receiver *receiver)
{
    if (receiver->descriptor >= 0)
        close(receiver->descriptor);
    receiver->descriptor = -1;
    receiver->pid = 0;
}

void receiver_command_done(struct receiver *receiver)
{
    forget(receiver);
}

/* A pipe that holds the line already; the command reads it when it wants. */
static int pipe_with(const struct receiver_line *line)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    ssize_t put = write(ends[1], line->text, line->size);
    close(ends[1]);
    if (put == (ssize_t)line->size && fcntl(ends[0], F_SETFL, 0) == 0)
        return ends[0];
    close(ends[0]);
    return -EIO;
}

static int start(struct receiver *receiver)
{
    char shell[] = "sh", option[] = "-c", command[VIEW_COMMAND_MOST + 1];
    char *arguments[] = {shell, option, command, NULL};
    int files[] = {pipe_with(&receiver->lines[receiver->first]), STDERR_FILENO, STDERR_FILENO};
    const struct launch_options options = {
        .arguments = arguments, .files = files, .own_session = true};
    struct launched launched;

    if (files[0] < 0)
        return files[0];
    snprintf(command, sizeof(command), "%s", receiver->view->command);
    int result = launch_suspended(&options, &launched, NULL);
    close(files[0]);
    if (result == 0)
        result = launch_release(&launched, NULL);
    if (result < 0)
        return result;
    receiver->pid = launched.pid;
    receiver->descriptor = launched.pid_fd;
    receiver_watch(receiver, false);
    return 0;
}

uint64_t receiver_command_work(struct receiver *receiver, uint64_t now)
{
    int status = 0;

    if (receiver->pid != 0 && process_has_ended(receiver->pid, &status)) {
        receiver->counts.failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        forget(receiver);
    }
    while (receiver->count > 0 && receiver->pid == 0 && receiver->flush <= now) {
        if (receiver->retry > now)
            return receiver->retry;
        if (start(receiver) < 0) {
            receiver->counts.failed++;
            receiver->retry = now + RECEIVER_RETRY;
            return receiver->retry;
        }
        receiver->counts.sent++;
        receiver->counts.late += now > receiver->lines[receiver->first].limit;
        receiver_take(receiver);
    }
    return receiver->count > 0 && receiver->pid == 0 ? receiver->flush : UINT64_MAX;
}
