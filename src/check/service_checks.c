/* SPDX-License-Identifier: MIT */
/* service_checks.c: whether dpmd loads the kernel meter for who may not: by asking it for a session. See check.h. */
#include "check/check.h"

#include "event/event.h"
#include "meter/session/session.h"

#include <errno.h>
#include <stdio.h>

/* Without a session there is no more to say than whether somebody listens. */
static void judge_unneeded(struct meter_check *check)
{
    check->state = METER_CHECK_OK;
    snprintf(check->detail, sizeof(check->detail),
             session_is_offered() ? "not needed here: you may load the meter yourself; its socket "
                                    "is %s"
                                  : "not needed here: you may load the meter yourself; no socket "
                                    "%s, so other users cannot",
             session_socket());
}

static const char *advice_for(int error)
{
    switch (error) {
    case -ENOENT:
    case -ECONNREFUSED:
        return "as root: systemctl enable --now dpmd.socket, once for all users; or start dpmd by "
               "hand (dpmd(8))";
    case -EACCES:
        return "have root add you to the socket's group (ls -l shows it), then log in again";
    default:
        return "see dpmd(8)";
    }
}

uint64_t check_service(bool needed, void (*tell)(const struct meter_check *check, void *context),
                       void *context)
{
    const struct session_options options = {.flags = METER_ALL_FLAGS};
    struct meter_check check = {.group = SERVICE_CHECKS, .name = "dpmd"};
    struct meter_interface *meter = NULL;
    struct problem problem;
    uint64_t flags = 0;

    if (!needed) {
        judge_unneeded(&check);
        tell(&check, context);
        return 0;
    }
    int result = session_open(&options, &meter, &problem);
    if (result >= 0) {
        check.state = METER_CHECK_OK;
        snprintf(check.detail, sizeof(check.detail), "loads the kernel meter for you (%s)%s%s",
                 session_socket(), meter->left_out == NULL ? "" : ": ",
                 meter->left_out == NULL ? "" : meter->left_out);
        flags = METER_ALL_FLAGS & ~meter->unknown_flags;
        meter_interface_close(meter);
    } else {
        check.state = METER_CHECK_LIMITED;
        snprintf(check.detail, sizeof(check.detail), "%s", problem.text);
        snprintf(check.advice, sizeof(check.advice), "%s", advice_for(result));
    }
    tell(&check, context);
    return flags;
}
