/* SPDX-License-Identifier: MIT */
/* remote_links.c: the connections to the hosts. See remote_links.h. */
#include "remote/remote_links.h"

#include "base/process.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ULL /* ns */

/* An agent without a connection goes on for so long (docs/control-protocol.md, "Alone"). */
static uint64_t give_up_after(const struct remote *remote)
{
    unsigned alone = remote->options.alone;

    return (alone == 0 ? REMOTE_ALONE : alone) * SECOND;
}

static void change(struct remote *remote, struct remote_host *host, enum remote_state state,
                   const char *line)
{
    host->state = state;
    remote->options.happens(remote->options.context, REMOTE_CHANGED, host, line, NULL);
}

static const char *const agent[] = {"agent", NULL};

void link_end(struct remote_host *host)
{
    relay_close(host->link->relay);
    host->link->relay = NULL;
    remote_shell_end(&host->link->shell);
}

void link_give_up(struct remote *remote, struct remote_host *host, const char *line)
{
    link_end(host);
    if (host->state != REMOTE_OUT)
        change(remote, host, REMOTE_OUT, line);
}

/* 0.5 s, 1 s, 2 s ... 8 s after each other. */
static uint64_t next_try(struct remote_link *link)
{
    unsigned shift = link->tries < 4 ? link->tries : 4;

    link->tries++;
    return clock_now(CLOCK_MONOTONIC) + (SECOND / 2 << shift);
}

/* The connection failed, or has ended. A host that was ready is tried again, for a while. */
static void lose(struct remote *remote, struct remote_host *host, const char *why)
{
    struct remote_link *link = host->link;
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    char line[640];
    bool first = host->state == REMOTE_READY;

    if (!host->was_ready) {
        link_give_up(remote, host, why);
        return;
    }
    if (host->ends) {
        link_end(host);
        host->state = REMOTE_OUT;
        return;
    }
    link_end(host);
    if (first) {
        link->lost = now;
        link->tries = 0;
    }
    if (now - link->lost >= give_up_after(remote)) {
        snprintf(line, sizeof(line), "%.500s; left out, after %u tr%s in %llu s", why, link->tries,
                 link->tries == 1 ? "y" : "ies",
                 (unsigned long long)(give_up_after(remote) / SECOND));
        link_give_up(remote, host, line);
        return;
    }
    link->due = next_try(link);
    snprintf(line, sizeof(line), "%.500s; trying again", why);
    if (first)
        change(remote, host, REMOTE_AWAY, line);
    else
        host->state = REMOTE_AWAY;
}

/* ---- starting ---- */

static int own_credentials(struct remote *remote, const struct remote_host *host,
                           struct relay_hello *hello, struct problem *problem)
{
    struct fabric_options user;
    int result = fabric_server_add_machine(remote->server, host->machine, problem);

    if (result == 0)
        result = fabric_server_credentials(remote->server, NULL, host->machine, &user, problem);
    if (result < 0)
        return result;
    snprintf(hello->id, sizeof(hello->id), "%s", fabric_server_id(remote->server));
    snprintf(hello->user, sizeof(hello->user), "%s", user.user);
    snprintf(hello->password, sizeof(hello->password), "%s", user.password);
    return 0;
}

static int say_hello(struct remote *remote, struct remote_host *host, struct problem *problem)
{
    struct relay_hello hello = {.alone = remote->options.alone};
    int result = 0;

    snprintf(hello.session, sizeof(hello.session), "%s", remote->session);
    snprintf(hello.machine, sizeof(hello.machine), "%s", host->machine);
    if (remote->site != NULL)
        remote_site_hello(remote->site, &hello);
    else
        result = own_credentials(remote, host, &hello, problem);
    if (result < 0)
        return result;
    result = relay_send_hello(host->link->shell.in, &hello, 1000, problem);
    explicit_bzero(&hello, sizeof(hello));
    return result == -EPIPE ? 0 : result; /* why it ended is read later */
}

/* An agent on this machine needs no remote shell: a shell that leaves out the host's name stands in for it. */
static int start_here(struct remote_host *host, struct problem *problem)
{
    char path[PATH_MAX], quoted[PATH_MAX + 2];

    if (!process_program(getpid(), path, sizeof(path)))
        return problem_set(problem, -ENOENT, "cannot find the program dpm: is /proc mounted?");
    snprintf(quoted, sizeof(quoted), "'%s'", path);
    return remote_shell_start(&host->link->shell, "sh -c 'exec \"$@\"'", host->name, quoted, agent,
                              problem);
}

void link_start(struct remote *remote, struct remote_host *host)
{
    struct remote_link *link = host->link;
    struct problem problem;
    char line[640];

    host->state = REMOTE_STARTING;
    link->deadline = clock_now(CLOCK_MONOTONIC) + (uint64_t)remote->options.connect_ms * 1000000;
    int result = remote->options.direct && remote_is_here(host->name)
                     ? start_here(host, &problem)
                     : remote_shell_start(&link->shell, remote->rsh, host->name, remote->dpm, agent,
                                          &problem);
    if (result == 0)
        result = say_hello(remote, host, &problem);
    if (result == 0)
        return;
    snprintf(line, sizeof(line), "%s: %s", host->name, problem.text);
    lose(remote, host, line);
}

/* ---- the agent's answers ---- */

struct saying {
    struct remote *remote;
    struct remote_host *host;
};

static void say(void *context, const char *line)
{
    struct saying *saying = context;
    const struct remote_options *options = &saying->remote->options;

    options->happens(options->context, REMOTE_SAID, saying->host, line, NULL);
}

static char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? NULL : strdup(text);
}

static void take_identity(struct remote_host *host, json_t *result)
{
    free(host->own_name);
    free(host->machine_id);
    free(host->user);
    host->own_name = text_of(result, "host");
    host->machine_id = text_of(result, "machine_id");
    host->user = text_of(result, "user");
}

static void take_hello(void *context, struct remote_host *host, const struct remote_reply *reply)
{
    struct remote *remote = context;
    char again[300];

    if (host->state != REMOTE_LINKED)
        return;
    if (reply->error < 0) {
        lose(remote, host, reply->line);
        return;
    }
    bool was_ready = host->was_ready;
    take_identity(host, reply->result);
    host->was_ready = true;
    if (was_ready)
        remote_calls_again(remote, host);
    snprintf(again, sizeof(again), "%.250s: connected again", host->name);
    change(remote, host, REMOTE_READY, was_ready ? again : NULL);
}

/* The first line of the agent has come, or the shell has ended. */
static int take_answer(struct remote *remote, struct remote_host *host, struct problem *problem)
{
    struct remote_link *link = host->link;
    struct relay_answer answer;
    struct problem why;
    int result = relay_receive_answer(link->shell.out, 2000, &answer, &why);

    if (result == -EPIPE) {
        remote_shell_why(&link->shell, host->name, remote->dpm, problem);
        return result;
    }
    if (result < 0)
        return problem_set(problem, result, "%s: %s", host->name, why.text);
    if (answer.error[0] != '\0')
        return problem_set(problem, -EREMOTEIO, "%s: %s", host->name, answer.error);
    int in = link->shell.out, out = link->shell.in;
    link->shell.in = link->shell.out = -1; /* the relay's now */
    if (remote->site != NULL)
        result = relay_connect_to(remote->site->url, in, out, &link->relay, &why);
    else
        result = relay_connect(fabric_server_port(remote->server), in, out, &link->relay, &why);
    return result == 0 ? 0 : problem_set(problem, result, "%s: %s", host->name, why.text);
}

static void go_on(struct remote *remote, struct remote_host *host)
{
    struct saying saying = {remote, host};
    struct problem problem;

    if (take_answer(remote, host, &problem) < 0) {
        lose(remote, host, problem.text);
        return;
    }
    remote_shell_connected(&host->link->shell, say, &saying);
    host->state = REMOTE_LINKED;
    remote_call(remote, host, "hello", NULL, remote->options.connect_ms, take_hello, remote);
}

/* ---- what happens ---- */

size_t link_files(const struct remote_host *host, struct pollfd files[LINK_FILES])
{
    const struct remote_link *link = host->link;
    size_t count = 0;

    if (link->shell.err >= 0)
        files[count++] = (struct pollfd){.fd = link->shell.err, .events = POLLIN};
    if (host->state == REMOTE_STARTING && link->shell.out >= 0)
        files[count++] = (struct pollfd){.fd = link->shell.out, .events = POLLIN};
    if (link->relay != NULL)
        files[count++] = (struct pollfd){.fd = relay_descriptor(link->relay), .events = POLLIN};
    return count;
}

static bool readable(int descriptor)
{
    struct pollfd file = {.fd = descriptor, .events = POLLIN};

    return descriptor >= 0 && poll(&file, 1, 0) > 0;
}

static void too_late(struct remote *remote, struct remote_host *host)
{
    char line[640];

    snprintf(line, sizeof(line), "%.250s: no answer within %d s", host->name,
             remote->options.connect_ms / 1000);
    lose(remote, host, line);
}

/* The server has ended a new connection. The agent says why, through the front's standard error. */
static void await_reason(struct remote_link *link, void (*said)(void *context, const char *line),
                         void *context)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + 2 * SECOND;
    struct pollfd file = {.events = POLLIN};

    relay_close(link->relay);
    link->relay = NULL;
    link->shell.holds = true; /* it is part of the line on the connection */
    while (link->shell.last[0] == '\0' && (file.fd = link->shell.err) >= 0 &&
           clock_now(CLOCK_MONOTONIC) < until) {
        poll(&file, 1, 100);
        remote_shell_read(&link->shell, said, context);
    }
}

void link_step(struct remote *remote, struct remote_host *host)
{
    struct remote_link *link = host->link;
    struct saying saying = {remote, host};
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    char line[640];

    /* a reason that is there already is not said twice */
    if (host->state != REMOTE_LINKED || !relay_ended(link->relay))
        remote_shell_read(&link->shell, say, &saying);
    if (host->state == REMOTE_STARTING && readable(link->shell.out)) {
        go_on(remote, host);
    } else if (host->state == REMOTE_STARTING && now >= link->deadline) {
        too_late(remote, host);
    } else if ((host->state == REMOTE_LINKED || host->state == REMOTE_READY) &&
               relay_ended(link->relay)) {
        if (host->state == REMOTE_LINKED)
            await_reason(link, say, &saying);
        const char *last = link->shell.last;
        snprintf(line, sizeof(line), "%.200s: the connection has ended%s%.380s", host->name,
                 last[0] == '\0' ? "" : ": ", last);
        lose(remote, host, line);
    } else if (host->state == REMOTE_AWAY && now >= link->due) {
        link_start(remote, host);
    }
}
