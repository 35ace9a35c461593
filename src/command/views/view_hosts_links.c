/* SPDX-License-Identifier: MIT */
/* view_hosts_links.c: what the central monitor asks of a resident monitor elsewhere, as steps. See view_hosts.h. */
#include "command/views/view_hosts_private.h"

#include "monitor/wire.h"

static void took_steps(void *context, struct remote_host *remote, const struct remote_reply *reply)
{
    struct view_host *host = context;

    host->waits = false;
    if (reply->error < 0 && !host->ended && !host->lost)
        command_say("note: %s", reply->line);
    if (remote->state == REMOTE_READY && !host->ended)
        view_host_return(host); /* it was lost and is back, while this was on its way */
}

/* One request at a time, so that steps arrive in order. Returns whether there is one to send. */
static bool send_steps(struct view_host *host)
{
    if (host->waits || host->lost || json_array_size(host->steps) == 0)
        return false;
    json_t *params = json_pack("{s:o}", "steps", host->steps);
    host->steps = json_array();
    host->waits = true;
    remote_call(conduct_remote(host->hosts->conduct), host->remote, "view.steps", params,
                VIEW_CALL_MS, took_steps, host);
    return true;
}

void view_hosts_send(struct view_hosts *hosts)
{
    bool any = false;

    for (size_t i = 0; i < hosts->count; i++)
        any = send_steps(&hosts->list[i]) || any;
    if (any)
        conduct_step(hosts->conduct, 0); /* which sends them at once */
}

/* A lost host starts over when it comes back, so it needs nothing until then. */
static int add_step(void *self, const struct row_step *step, struct problem *problem)
{
    struct view_host *host = self;

    (void)problem;
    if (!host->lost)
        json_array_append_new(host->steps, wire_step(host->hosts->options.file, step));
    return 0;
}

struct central_link view_host_link(struct view_host *host)
{
    return (struct central_link){.self = host, .machine = host->remote->name, .step = add_step};
}
