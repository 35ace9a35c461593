/* SPDX-License-Identifier: MIT */
/* custom_filter.c: see custom_filter.h. */
#include "command/filters/custom_filter.h"

#include "command/shared/command.h"
#include "recorder/recorder.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct feeding *custom_filter_begin(const char *command, const char *trace, FILE *messages)
{
    const char *const words[] = {"sh", "-c", command, NULL};
    struct feeding *feeding = NULL;
    struct problem problem;

    if (feeding_new(words, STDOUT_FILENO, &feeding, &problem) < 0) {
        command_say_to(messages, "no filter: %s", problem.text);
        return NULL;
    }
    if (trace != NULL && feeding_add(feeding, trace, &problem) < 0)
        command_say_to(messages, "the filter gets nothing: %s", problem.text);
    return feeding;
}

/* ---- the end ---- */

static bool is_told_to_stop(void *context)
{
    const int *signals = context;
    struct signalfd_siginfo info;

    while (poll(&(struct pollfd){.fd = *signals, .events = POLLIN}, 1, 0) > 0 &&
           read(*signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            return true;
    return false;
}

static void say_missed(const struct feeding_result *result, FILE *messages)
{
    char packets[COUNTED_SIZE], records[COUNTED_SIZE];

    if (result->missed_packets > 0) {
        show_counted(result->missed_packets, "packet", packets);
        show_counted(result->missed_records, "record", records);
        command_say_to(messages, "the filter missed %s with %s: %s", packets, records, result->why);
    }
    if (result->overtaken > 0) {
        show_counted(result->overtaken, "packet", packets);
        command_say_to(
            messages,
            "the filter missed %s, which the trace had removed before: it keeps only the "
            "newest, and the filter is too slow",
            packets);
    }
    if (result->wrong[0] != '\0')
        command_say_to(messages, "the filter got only what is before: %s", result->wrong);
}

static void say_ended(const struct feeding_result *result, FILE *messages)
{
    if (result->killed)
        command_say_to(messages, "the filter did not end by itself, and was killed");
    else if (result->has_status && WIFSIGNALED(result->status))
        command_say_to(messages, "the filter was killed by signal %d", WTERMSIG(result->status));
    else if (result->has_status && WEXITSTATUS(result->status) == 127)
        command_say_to(messages, "the filter could not be started: exit status 127");
    else if (result->has_status && result->status != 0)
        command_say_to(messages, "the filter ended with exit status %d",
                       WEXITSTATUS(result->status));
}

bool custom_filter_end(struct feeding *feeding, int signals, FILE *messages)
{
    struct feeding_result result;
    char packets[COUNTED_SIZE], records[COUNTED_SIZE];

    if (feeding == NULL)
        return true;
    feeding_end(feeding, is_told_to_stop, &signals, &result);
    show_counted(result.packets, "packet", packets);
    show_counted(result.records, "record", records);
    command_say_to(messages, "the filter took %s with %s", packets, records);
    say_missed(&result, messages);
    say_ended(&result, messages);
    return result.missed_packets + result.overtaken == 0 && result.wrong[0] == '\0' &&
           !result.killed && result.status == 0;
}

/* ---- finished traces ---- */

int filter_by_command(int argc, char **argv, const char *command)
{
    int first = optind, status = command_take_traces("filter", &argc, &argv, first);
    struct problem problem;
    sigset_t old_mask;

    if (status >= 0)
        return status;
    int signals = recording_signals(&old_mask);
    struct feeding *feeding = custom_filter_begin(command, NULL, stderr);
    if (feeding == NULL)
        return EXIT_FAILURE;
    status = EXIT_SUCCESS;
    for (int i = first; status == EXIT_SUCCESS && i < argc; i++)
        if (feeding_add(feeding, argv[i], &problem) < 0)
            status = command_error("%s", problem.text);
    if (!custom_filter_end(feeding, signals, stderr))
        status = EXIT_FAILURE;
    if (signals >= 0)
        close(signals);
    return status;
}
