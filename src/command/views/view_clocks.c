/* SPDX-License-Identifier: MIT */
/* view_clocks.c: asks hosts what their clocks show, again and again. See asked_clock.h. */
#include "command/views/view_hosts_private.h"

#include "clocks/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CLOCK_ASKS  5           /* at the beginning: the quickest answer says most about a clock */
#define CLOCK_EVERY 1000000000u /* ns between two questions later */
#define CLOCK_SLACK 1.5 /* by how much more than needed a bound is raised: so that this is seldom */

/* How far clocks drift apart in this time. */
static uint64_t drift(uint64_t elapsed)
{
    return elapsed * CLOCK_DRIFT_PPM / 1000000;
}

static void took_time(void *context, struct remote_host *remote, const struct remote_reply *reply)
{
    struct view_host *host = context;
    uint64_t now = clock_now(CLOCK_MONOTONIC), wall = clock_now(CLOCK_REALTIME);
    uint64_t elapsed = now - host->asked;
    struct asked_clock answer = {.bound = elapsed / 2, .time = now};

    host->asked = 0;
    if (reply->error < 0)
        return;
    answer.ahead = json_integer_value(json_object_get(reply->result, "time")) -
                   (json_int_t)(wall - answer.bound);
    answer.bound += drift(elapsed) + 1; /* during the question, too */
    int64_t before = host->clock.ahead;
    if (asked_clock_take(&host->clock, &answer) != ASKED_JUMP)
        return;
    command_say("note: %s: a clock was set: it is %.3f ms %s now, to %.3f ms", remote->name,
                fabs((double)answer.ahead) / 1e6, answer.ahead < 0 ? "behind" : "ahead",
                (double)answer.bound / 1e6);
    if (llabs(answer.ahead - before) > MONITOR_CLOCK_STEP && host->hosts->central != NULL &&
        host->begun && !host->lost)
        central_clock_set(host->hosts->central, host->link);
}

static void ask(struct view_host *host)
{
    host->asked = clock_now(CLOCK_MONOTONIC);
    host->ask_next = host->asked + CLOCK_EVERY;
    remote_call(conduct_remote(host->hosts->conduct), host->remote, "view.time", NULL, VIEW_CALL_MS,
                took_time, host);
    conduct_step(host->hosts->conduct, 0); /* which sends it at once */
}

/* What all clocks keep to at this moment, but for those whose answer is on its way. */
static double largest_bound(const struct view_hosts *hosts)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC), most = 0;

    for (size_t i = 0; i < hosts->count; i++) {
        const struct view_host *host = &hosts->list[i];
        uint64_t bound = asked_clock_bound(&host->clock, now);
        bool answers = host->asked != 0 && now - host->asked < CLOCK_EVERY;
        if (!host->lost && !answers && bound > most)
            most = bound;
    }
    return (double)most;
}

int view_clocks_begin(struct view_hosts *hosts, struct problem *problem)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct view_host *host = &hosts->list[i];
        for (unsigned k = 0; k < CLOCK_ASKS; k++) {
            ask(host);
            while (host->asked != 0 && !conduct_is_interrupted(hosts->conduct))
                conduct_step(hosts->conduct, 100);
            if (view_hosts_interrupted(hosts, problem) < 0)
                return -EINTR;
        }
        if (host->clock.time == 0)
            return problem_set(problem, -ETIMEDOUT, "%s: it does not say what its clock shows",
                               host->remote->name);
        command_say("%s: its clock is %.3f ms %s, to %.3f ms", host->remote->name,
                    fabs((double)host->clock.ahead) / 1e6,
                    host->clock.ahead < 0 ? "behind" : "ahead", (double)host->clock.bound / 1e6);
    }
    hosts->clocks = largest_bound(hosts) + (double)drift(2 * CLOCK_EVERY);
    return 0;
}

void view_clocks_work(struct view_hosts *hosts)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (size_t i = 0; i < hosts->count; i++) {
        struct view_host *host = &hosts->list[i];
        if (host->asked == 0 && host->remote->state == REMOTE_READY && host->begun &&
            now >= host->ask_next)
            ask(host);
    }
    double bound = largest_bound(hosts);
    if (bound <= hosts->clocks)
        return;
    hosts->clocks = bound * CLOCK_SLACK;
    command_say(
        "note: clocks of the hosts are known to %.3f ms only: values of different hosts that "
        "are compared may be that far apart beyond what a plan says",
        hosts->clocks / 1e6);
}

double view_hosts_clocks(const struct view_hosts *hosts)
{
    return hosts->clocks;
}
