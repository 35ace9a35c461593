/* SPDX-License-Identifier: MIT */
/* acquired_recording.c: see acquired_recording.h. */
#include "command/recording/acquired_recording.h"

#include "command/shared/command.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void say_line(const char *line, void *context)
{
    (void)context;
    command_say("%s", line);
}

int acquired_recording_begin(struct recording_command *command, struct acquiring *acquiring,
                             const char *name, pid_t pid, struct meter_begun *ret_begun)
{
    struct problem problem;
    int result = recording_command_open(command, name, pid, &problem);

    acquiring->say = say_line;
    if (result >= 0)
        result = acquiring_begin(acquiring, command->recording.meter, ret_begun, &problem);
    if (result < 0) {
        acquiring_done(acquiring);
        recording_discard(&command->recording);
        return command_error("%s", problem.text);
    }
    recording_command_begin(command);
    return 0;
}

static bool told_to_end(const struct recording_command *command)
{
    struct signalfd_siginfo info;

    return read(command->signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD;
}

void acquired_recording_run(struct recording_command *command, struct acquiring *acquiring,
                            uint64_t end, bool until_last)
{
    struct problem problem;
    bool looks = true; /* for new processes */
    struct pollfd file = {.fd = command->signals, .events = POLLIN};
    const struct meter_interface *meter = command->recording.meter;

    recording_command_catch_up(command);
    while (command->recording.active && (!until_last || meter->live(meter) > 0)) {
        recording_command_wait(command, &file, 1, end);
        if ((file.revents & POLLIN) != 0 && told_to_end(command))
            return;
        recording_command_step(command);
        if (looks && command->recording.active && acquiring_step(acquiring, &problem) < 0) {
            command_say("processes that start from now on are not metered: %s", problem.text);
            looks = false;
        }
        if (clock_now(CLOCK_MONOTONIC) >= end)
            return;
    }
}
