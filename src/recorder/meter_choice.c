/* SPDX-License-Identifier: MIT */
/* meter_choice.c: opens the meter that was chosen, or one that works here. See recorder.h. */
#include "recorder/recorder.h"

#include "check/check.h"
#include "meter/session/session.h"
#include "ptracemeter/ptracemeter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Opens the kernel meter, or notes why it cannot. Checks the obvious obstacles first: that is cheaper than trying, and
 * a seccomp filter may kill a process that calls bpf(). */
static bool try_kernel(const struct meter_choice *choice, struct meter_interface **ret_meter,
                       char refused[METER_REFUSED_SIZE])
{
    char missing[METER_REFUSED_SIZE / 2];
    struct problem problem;

    if (check_hinders_kernel_meter(missing, sizeof(missing)))
        snprintf(refused, METER_REFUSED_SIZE, "missing: %s; see dpm check", missing);
    else if (meter_open(&choice->options, ret_meter, &problem) < 0)
        snprintf(refused, METER_REFUSED_SIZE, "%s", problem.text);
    else
        return true;
    return false;
}

/* dpmd's meter, for who may not load one. */
static int open_session(const struct meter_choice *choice, struct meter_interface **ret_meter,
                        struct problem *problem)
{
    const struct session_options options = {
        .flags = choice->options.flags,
        .later_flags = choice->options.later_flags,
        .kinds = choice->options.kinds,
        .later_kinds = choice->options.later_kinds,
        .ring_size = choice->options.ring_size,
        .selects = choice->options.selects,
    };

    return session_open(&options, ret_meter, problem);
}

/* The same, or appends why not. */
static bool try_session(const struct meter_choice *choice, struct meter_interface **ret_meter,
                        char refused[METER_REFUSED_SIZE])
{
    struct problem problem;
    size_t length = strlen(refused);

    if (!session_is_offered())
        return false;
    if (open_session(choice, ret_meter, &problem) < 0)
        snprintf(refused + length, METER_REFUSED_SIZE - length, "; %s", problem.text);
    else
        refused[0] = '\0';
    return refused[0] == '\0';
}

static int open_ptrace(const struct meter_choice *choice, struct meter_interface **ret_meter,
                       struct problem *problem)
{
    const struct ptracemeter_options options = {
        .flags = choice->options.flags,
        .kinds = choice->options.kinds,
        .survive = choice->survive,
    };

    return ptracemeter_open(&options, ret_meter, problem);
}

void meter_append_refused(struct problem *problem, const char *refused)
{
    size_t length = strlen(problem->text);

    if (refused[0] != '\0')
        snprintf(problem->text + length, sizeof(problem->text) - length,
                 "; the kernel meter does not work here either (%s)", refused);
}

int meter_choose(const struct meter_choice *choice, struct meter_interface **ret_meter,
                 char refused[METER_REFUSED_SIZE], struct problem *problem)
{
    refused[0] = '\0';
    if (choice->wish == WISH_KERNEL) {
        int result = meter_open(&choice->options, ret_meter, problem);
        return result == -EPERM && session_is_offered() ? open_session(choice, ret_meter, problem)
                                                        : result;
    }
    if (choice->wish == WISH_AUTO &&
        (try_kernel(choice, ret_meter, refused) || try_session(choice, ret_meter, refused)))
        return 0;
    int result = open_ptrace(choice, ret_meter, problem);
    if (result < 0)
        meter_append_refused(problem, refused);
    return result;
}
