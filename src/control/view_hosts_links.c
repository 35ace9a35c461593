/* SPDX-License-Identifier: MIT */
/* view_hosts_links.c: what the central monitor asks of a resident monitor elsewhere, as steps. See view_hosts.h. */
#include "control/view_hosts_private.h"

#include "monitor/wire.h"

static void took_steps(void *context, struct remote_host *remote, int error, int code,
                       json_t *result, const char *line)
{
    struct view_host *host = context;

    (void)code;
    (void)result;
    host->waits = false;
    if (error < 0 && !host->ended && !host->lost)
        command_say("note: %s", line);
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
static void add_step(struct view_host *host, json_t *step)
{
    if (host->lost)
        json_decref(step);
    else
        json_array_append_new(host->steps, step);
}

static int link_open(void *self, uint32_t row, uint32_t view, const struct view_plan *plan,
                     struct problem *problem)
{
    struct view_host *host = self;

    (void)problem;
    add_step(host, json_pack("[s, I, I, o]", "open", (json_int_t)row, (json_int_t)view,
                             wire_plan(&host->hosts->options.file->views[view], plan)));
    return 0;
}

static void step(struct view_host *host, const char *name, uint32_t row, uint32_t entity, pid_t pid)
{
    add_step(host, json_pack("[s, I, I, i]", name, (json_int_t)row, (json_int_t)entity, (int)pid));
}

static void link_close(void *self, uint32_t row)
{
    step(self, "close", row, 0, 0);
}

static void link_bind(void *self, uint32_t row, uint32_t entity, pid_t pid)
{
    step(self, "bind", row, entity, pid);
}

/* The resident monitor says that its values are unknown only when it has heard of it; the central one knows already. */
static void link_unbind(void *self, uint32_t row, uint32_t entity)
{
    step(self, "bind", row, entity, 0);
}

static void link_probe(void *self, uint32_t row, uint32_t entity)
{
    step(self, "probe", row, entity, 0);
}

static void link_release(void *self, uint32_t row, uint32_t entity)
{
    step(self, "release", row, entity, 0);
}

static void link_read(void *self, uint32_t row, uint32_t entity)
{
    step(self, "read", row, entity, 0);
}

static void link_turn(void *self, uint32_t view, bool on)
{
    add_step(self, json_pack("[s, I, b]", "turn", (json_int_t)view, on));
}

static void link_constant(void *self, uint32_t view, uint32_t index, double value)
{
    add_step(self,
             json_pack("[s, I, I, f]", "constant", (json_int_t)view, (json_int_t)index, value));
}

struct central_link view_host_link(struct view_host *host)
{
    return (struct central_link){.self = host,
                                 .machine = host->remote->name,
                                 .open = link_open,
                                 .close = link_close,
                                 .bind = link_bind,
                                 .unbind = link_unbind,
                                 .probe = link_probe,
                                 .release = link_release,
                                 .read = link_read,
                                 .turn = link_turn,
                                 .constant = link_constant};
}
