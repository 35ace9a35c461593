/* SPDX-License-Identifier: MIT */
/* remote.c: a session with agents on other machines. See remote.h. */
#include "remote/remote.h"
#include "base/folder.h"
#include "remote/remote_links.h"
#include "remote/session_folder.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS   10000 /* to the server on this machine */
#define IDLE_SECONDS 600   /* after which the server ends if this process was killed */
#define LASTING_SECONDS (24 * 3600) /* the same of a session that lasts */

/* ---- begin and end ---- */

static int start_server(struct remote *remote, struct problem *problem)
{
    const struct fabric_server_options server = {
        .session = remote->session,
        .disk_bytes = remote->options.disk_bytes,
        .idle_seconds = remote->options.lasting ? LASTING_SECONDS : IDLE_SECONDS,
    };
    /* a quarter is left for notices, output, and what the server itself needs */
    const struct fabric_limits limits = {.packet_bytes = remote->options.disk_bytes / 4 * 3};
    int result = session_folder_make(remote->session, remote->folder, problem);

    if (result == -EEXIST && remote->options.lasting)
        result = 0;
    if (result < 0) {
        remote->folder[0] = '\0'; /* another session's, or nothing: not to be removed */
        return result;
    }
    result = fabric_server_start(remote->folder, &server, &remote->server, problem);
    if (result == 0)
        result = fabric_server_open(remote->server, FABRIC_CONTROLLER, &remote->fabric, problem);
    if (result == 0)
        result = fabric_create_streams(remote->fabric, &limits, problem);
    if (result == 0)
        result = fabric_listen(remote->fabric, remote->options.listen_from, problem);
    return result;
}

int remote_new(const struct remote_options *options, struct remote **ret_remote,
               struct problem *problem)
{
    struct remote *remote = calloc(1, sizeof(*remote));

    if (remote == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    remote->options = *options;
    remote->rsh = strdup(options->rsh);
    remote->dpm = strdup(options->dpm);
    remote->session = strdup(options->session);
    int result = remote->rsh == NULL || remote->dpm == NULL || remote->session == NULL
                     ? problem_set(problem, -ENOMEM, "out of memory")
                     : start_server(remote, problem);
    if (result < 0) {
        remote_free(remote);
        return result;
    }
    *ret_remote = remote;
    return 0;
}

static void free_host(struct remote_host *host)
{
    link_end(host);
    free(host->link);
    free(host->name);
    free(host->own_name);
    free(host->machine_id);
    free(host->user);
    free(host);
}

void remote_free(struct remote *remote)
{
    struct problem problem;

    if (remote == NULL)
        return;
    remote_calls_done(&remote->calls);
    for (size_t i = 0; i < remote->count; i++)
        free_host(remote->hosts[i]);
    fabric_close(remote->to_filters);
    fabric_close(remote->fabric);
    fabric_server_detach(remote->server);
    if (!remote->options.lasting && remote->folder[0] != '\0' && fabric_server_stop(remote->folder, &problem) == 0)
        folder_remove(remote->folder);
    free(remote->hosts);
    free(remote->files);
    free(remote->rsh);
    free(remote->dpm);
    free(remote->session);
    free(remote);
}

void remote_end(struct remote *remote)
{
    remote->options.lasting = false;
}

const char *remote_folder(const struct remote *remote)
{
    return remote->folder;
}

bool remote_is_here(const char *name)
{
    char own[HOST_NAME_MAX + 1] = "";

    gethostname(own, sizeof(own) - 1);
    return strcmp(name, "localhost") == 0 || strcmp(name, own) == 0;
}

/* ---- connections of our own ---- */

int remote_open_filter(struct remote *remote, struct fabric **ret_fabric, struct problem *problem)
{
    return fabric_server_open(remote->server, FABRIC_FILTER, ret_fabric, problem);
}

struct fabric *remote_fabric(struct remote *remote)
{
    return remote->fabric;
}

int remote_tell_filters(struct remote *remote, const char *method, json_t *params,
                        struct problem *problem)
{
    struct fabric_options user;
    int result = 0;

    if (remote->to_filters == NULL) {
        result = fabric_server_credentials(remote->server, FABRIC_CONTROLLER, NULL, &user, problem);
        user.machine = REMOTE_CONTROLLER;
        if (result == 0)
            result = fabric_open(&user, CONNECT_MS, &remote->to_filters, problem);
    }
    if (result == 0 && (result = fabric_notice(remote->to_filters, method, params)) < 0)
        problem_set(problem, result, "cannot tell the filters: %s", strerror(-result));
    return result < 0 ? result : fabric_settle(remote->to_filters, CONNECT_MS, problem);
}

/* ---- hosts ---- */

static struct remote_host *find_machine(const struct remote *remote, const char *machine)
{
    for (size_t i = 0; i < remote->count; i++)
        if (strcmp(remote->hosts[i]->machine, machine) == 0)
            return remote->hosts[i];
    return NULL;
}

static struct remote_host *new_host(struct remote *remote, const char *name)
{
    struct remote_host *host = calloc(1, sizeof(*host));

    if (host == NULL)
        return NULL;
    host->link = calloc(1, sizeof(*host->link));
    host->name = strdup(name);
    if (host->link != NULL)
        host->link->shell = (struct remote_shell)REMOTE_SHELL_NONE;
    if (host->link != NULL && host->name != NULL &&
        array_reserve(&remote->hosts, &remote->capacity, remote->count + 1,
                      sizeof(*remote->hosts)) == 0)
        return host;
    free(host->link);
    free(host->name);
    free(host);
    return NULL;
}

int remote_add(struct remote *remote, const char *name, struct remote_host **ret_host,
               struct problem *problem)
{
    char machine[FABRIC_NAME_MOST + 1];

    fabric_name_make(name, machine);
    if (strcmp(machine, REMOTE_CONTROLLER) == 0)
        snprintf(machine, sizeof(machine), "%s-host", REMOTE_CONTROLLER);
    struct remote_host *host = find_machine(remote, machine);
    if (host != NULL && strcmp(host->name, name) != 0)
        return problem_set(problem, -EEXIST, "the hosts %s and %s cannot be told apart", host->name,
                           name);
    if (host == NULL) {
        host = new_host(remote, name);
        if (host == NULL)
            return problem_set(problem, -ENOMEM, "out of memory");
        memcpy(host->machine, machine, sizeof(machine));
        remote->hosts[remote->count++] = host;
        link_start(remote, host);
    }
    *ret_host = host;
    return 0;
}

size_t remote_count_in(const struct remote *remote, enum remote_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < remote->count; i++)
        count += remote->hosts[i]->state == state;
    return count;
}

void remote_leave_out(struct remote *remote, struct remote_host *host, const char *line)
{
    link_give_up(remote, host, line);
}

/* ---- what happens ---- */

static void take_message(struct remote *remote, const struct fabric_message *message)
{
    const struct remote_callbacks *callbacks = remote->options.callbacks;
    struct remote_host *host;

    switch (message->kind) {
    case FABRIC_REPLY:
        remote_calls_take(remote, message);
        break;
    case FABRIC_NOTICE:
    case FABRIC_OUTPUT:
        host = find_machine(remote, message->machine);
        if (host != NULL)
            callbacks->message(remote->options.context, host, message);
        break;
    case FABRIC_STATE:
        if (message->state != FABRIC_CONNECTED)
            callbacks->trouble(remote->options.context, message->text);
        break;
    case FABRIC_TROUBLE:
        callbacks->trouble(remote->options.context, message->text);
        break;
    default:
        break;
    }
}

static void take_messages(struct remote *remote)
{
    struct fabric_message message;

    while (fabric_next(remote->fabric, &message) == 1) {
        take_message(remote, &message);
        fabric_message_done(&message);
    }
}

#define SOON 50 /* ms: what becomes due without a descriptor */

void remote_poll(struct remote *remote, int timeout_ms)
{
    size_t count = 0;

    if (array_reserve(&remote->files, &remote->file_capacity, 2 + LINK_FILES * remote->count,
                      sizeof(*remote->files)) < 0)
        return;
    remote->files[count++] =
        (struct pollfd){.fd = remote->options.descriptor, .events = POLLIN}; /* -1 is ignored */
    remote->files[count++] =
        (struct pollfd){.fd = fabric_descriptor(remote->fabric), .events = POLLIN};
    for (size_t i = 0; i < remote->count; i++)
        count += link_files(remote->hosts[i], remote->files + count);
    poll(remote->files, count, timeout_ms < SOON ? timeout_ms : SOON);
    if (remote->files[0].revents & POLLIN)
        remote->options.callbacks->readable(remote->options.context);
    take_messages(remote);
    for (size_t i = 0; i < remote->count; i++)
        link_step(remote, remote->hosts[i]);
    remote_calls_step(remote);
}
