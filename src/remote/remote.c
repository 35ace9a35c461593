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

#define CONNECT_MS   10000                /* to the server on this machine */
#define WINDOW       "DPM_TEST_WINDOW_MS" /* of de-duplication, for tests; else the fabric's */
#define SAID_MOST    (64u << 20)          /* bytes */
#define IDLE_SECONDS 600 /* after which the server ends if this process was killed */
#define IDLE_MORE    300 /* after the agents, which end by themselves */
#define SITE_BYTES   (2ull << 30)

static void happens(struct remote *remote, enum remote_kind kind, struct remote_host *host,
                    const char *line)
{
    remote->options.happens(remote->options.context, kind, host, line, NULL);
}

/* ---- begin and end ---- */

/* Without a controller the server ends after a while: not before the agents do. */
static unsigned idle_seconds(const struct remote *remote)
{
    unsigned alone = remote->options.alone;

    return alone + IDLE_MORE > IDLE_SECONDS ? alone + IDLE_MORE : IDLE_SECONDS;
}

static int start_server(struct remote *remote, struct problem *problem)
{
    const struct fabric_server_options server = {
        .session = remote->session,
        .disk_bytes = remote->options.disk_bytes,
        .idle_seconds = idle_seconds(remote),
    };
    int result = remote->options.attach
                     ? fabric_server_attach(remote->folder, &remote->server, problem)
                     : fabric_server_start(remote->folder, &server, &remote->server, problem);

    return result < 0
               ? result
               : fabric_server_open(remote->server, FABRIC_CONTROLLER, &remote->fabric, problem);
}

/* Others of the same name have streams there if they are other users'. */
static int join_site(struct remote *remote, struct problem *problem)
{
    json_t *words = json_incref(remote->site_words);
    int result = remote_site_new(words, &remote->site, problem);

    if (result == 0)
        result = relay_check_scheme(remote->site->url, problem);
    if (result == 0)
        result = remote_site_open(remote->site, remote->session, NULL, &remote->fabric, problem);
    if (result == 0)
        result = fabric_has_streams(remote->fabric, problem);
    if (result > 0 && !remote->options.attach) {
        fabric_close(remote->fabric); /* its streams are not ours */
        remote->fabric = NULL;
        return problem_set(problem, -EEXIST,
                           "there is a session %s at %s already: choose another name (--session)",
                           remote->session, remote->site->url);
    }
    return result == 0 && remote->options.attach
               ? problem_set(problem, -ENOENT, "there is no session %s at %s any more",
                             remote->session, remote->site->url)
           : result < 0 ? result
                        : 0;
}

/* A quarter of the disk is left for notices and output, half of it at most, and for what the server itself needs. */
static struct fabric_limits limits_of(const struct remote *remote)
{
    bool unknown = remote->options.disk_bytes == 0 && remote->site_words != NULL;
    uint64_t disk = unknown ? SITE_BYTES : remote->options.disk_bytes;
    const char *window = getenv(WINDOW);

    return (struct fabric_limits){.packet_bytes = disk / 4 * 3,
                                  .said_bytes = disk / 8 < SAID_MOST ? disk / 8 : SAID_MOST,
                                  .window_ms = window == NULL ? 0 : strtoull(window, NULL, 10)};
}

static int connect_it(struct remote *remote, struct problem *problem)
{
    const struct fabric_limits limits = limits_of(remote);
    int result =
        remote->site_words != NULL ? join_site(remote, problem) : start_server(remote, problem);

    remote->has_streams = result == 0; /* or one of the two, if it fails */
    if (result == 0 && !remote->options.attach)
        result = fabric_create_streams(remote->fabric, &limits, problem);
    return result < 0 ? result
                      : fabric_listen(remote->fabric, remote->options.listen_from, problem);
}

/* Finds or stores how a site's server is reached. What an earlier controller has stored there is attached to. */
static int find_site(struct remote *remote, struct problem *problem)
{
    remote->site_words = remote_site_load(remote->folder);
    if (remote->site_words != NULL) {
        remote->options.attach = true;
        return 0;
    }
    if (remote->options.url == NULL)
        return 0;
    remote->site_words = remote_site_describe(&remote->options);
    return remote_site_store(remote->site_words, remote->folder, problem);
}

static int begin(struct remote *remote, struct problem *problem)
{
    session_folders_remove_old();
    int result = remote->options.attach
                     ? remote_session_find(remote->session, remote->folder, problem)
                     : session_folder_make(remote->session, remote->folder, problem);
    if (result == -EEXIST && remote->options.lasting)
        result = 0;
    if (result == 0) {
        remote->lock = session_folder_lock(remote->session, remote->folder, problem);
        result = remote->lock < 0 ? remote->lock : 0;
    }
    if (result < 0) {
        remote->folder[0] = '\0'; /* another session's, or nothing: not to be removed */
        return result;
    }
    result = find_site(remote, problem);
    if (result == 0)
        result = connect_it(remote, problem);
    if (result < 0 && remote->options.attach)
        remote->folder[0] = '\0'; /* another try may succeed */
    return result;
}

int remote_new(const struct remote_options *options, struct remote **ret_remote,
               struct problem *problem)
{
    struct remote *remote = calloc(1, sizeof(*remote));

    if (remote == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    remote->options = *options;
    remote->lock = -1;
    remote->rsh = strdup(options->rsh);
    remote->dpm = strdup(options->dpm);
    remote->session = strdup(options->session);
    int result = remote->rsh == NULL || remote->dpm == NULL || remote->session == NULL
                     ? problem_set(problem, -ENOMEM, "out of memory")
                     : begin(remote, problem);
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

/* The streams at a site's server, or our own server; then the folder. */
static void remove_session(struct remote *remote)
{
    struct problem problem;
    int result = 0;

    if (remote->site != NULL && remote->has_streams) {
        result = fabric_remove_streams(remote->fabric, &problem);
        if (result < 0)
            happens(remote, REMOTE_TROUBLE, NULL, problem.text);
    } else if (remote->site == NULL) {
        fabric_server_detach(remote->server);
        remote->server = NULL;
        result = fabric_server_stop(remote->folder, &problem);
    }
    if (result == 0)
        folder_remove(remote->folder);
}

void remote_free(struct remote *remote)
{
    if (remote == NULL)
        return;
    remote_calls_done(&remote->calls);
    for (size_t i = 0; i < remote->count; i++)
        free_host(remote->hosts[i]);
    fabric_close(remote->to_filters);
    if (!remote->options.lasting && remote->folder[0] != '\0')
        remove_session(remote);
    fabric_close(remote->fabric);
    fabric_server_detach(remote->server);
    if (remote->lock >= 0)
        close(remote->lock);
    remote_site_free(remote->site);
    json_decref(remote->site_words);
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

const char *remote_session_name(const struct remote *remote)
{
    return remote->session;
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

struct fabric *remote_fabric(struct remote *remote)
{
    return remote->fabric;
}

static int open_to_filters(struct remote *remote, struct problem *problem)
{
    struct fabric_options user;

    if (remote->site != NULL)
        return remote_site_open(remote->site, remote->session, REMOTE_CONTROLLER,
                                &remote->to_filters, problem);
    int result = fabric_server_credentials(remote->server, FABRIC_CONTROLLER, NULL, &user, problem);
    user.machine = REMOTE_CONTROLLER;
    return result < 0 ? result : fabric_open(&user, CONNECT_MS, &remote->to_filters, problem);
}

int remote_tell_filters(struct remote *remote, const char *method, json_t *params,
                        struct problem *problem)
{
    int result = remote->to_filters == NULL ? open_to_filters(remote, problem) : 0;

    if (result < 0) {
        const struct problem why = *problem;
        return problem_set(problem, result, "filters of this session elsewhere are not told: %s",
                           why.text);
    }
    if (result == 0 && (result = fabric_notice(remote->to_filters, method, params)) < 0)
        problem_set(problem, result, "cannot tell the filters: %s", strerror(-result));
    return result < 0 ? result : fabric_settle(remote->to_filters, CONNECT_MS, problem);
}

/* ---- for others than the controller ---- */

static int open_at_site(json_t *words, const char *session, struct fabric **ret_fabric,
                        struct problem *problem)
{
    struct remote_site *site = NULL;
    int result = remote_site_new(words, &site, problem);

    if (result == 0)
        result = remote_site_open(site, session, NULL, ret_fabric, problem);
    remote_site_free(site);
    return result;
}

int remote_open(const char *session, const char *user, struct fabric_server **ret_server,
                struct fabric **ret_fabric, struct problem *problem)
{
    char folder[PATH_MAX];
    int result = remote_session_find(session, folder, problem);
    json_t *words = result == 0 ? remote_site_load(folder) : NULL;

    if (words != NULL)
        return open_at_site(words, session, ret_fabric, problem);
    if (result == 0)
        result = fabric_server_attach(folder, ret_server, problem);
    return result == 0 ? fabric_server_open(*ret_server, user, ret_fabric, problem) : result;
}

int remote_kept(const char *session, json_t **ret_kept, struct problem *problem)
{
    struct fabric_server *server = NULL;
    struct fabric *fabric = NULL;
    int result = remote_open(session, FABRIC_CONTROLLER, &server, &fabric, problem);

    if (result == 0)
        result = fabric_kept(fabric, ret_kept, problem);
    fabric_close(fabric);
    fabric_server_leave(server);
    return result;
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
    } else if (host->state == REMOTE_OUT && !host->ends) {
        link_start(remote, host);
    }
    *ret_host = host;
    return 0;
}

int remote_reach(struct remote *remote, const char *rsh, const char *dpm, struct problem *problem)
{
    const char *new[] = {rsh, dpm};
    char **places[] = {&remote->rsh, &remote->dpm};

    for (size_t i = 0; i < ARRAY_SIZE(new); i++) {
        char *copy = new[i] == NULL ? NULL : strdup(new[i]);
        if (new[i] != NULL && copy == NULL)
            return problem_set(problem, -ENOMEM, "out of memory");
        if (copy == NULL)
            continue;
        free(*places[i]);
        *places[i] = copy;
    }
    return 0;
}

size_t remote_count(const struct remote *remote)
{
    return remote->count;
}

struct remote_host *remote_at(const struct remote *remote, size_t index)
{
    return remote->hosts[index];
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

/* The server does not permit to ask for what the machines report: without it no process is known to end. */
static void leave_all_out(struct remote *remote, const char *text)
{
    char line[768];

    for (size_t i = 0; i < remote->count; i++) {
        if (remote->hosts[i]->state == REMOTE_OUT)
            continue;
        snprintf(line, sizeof(line), "%s: what it reports cannot be received: %s: allow it",
                 remote->hosts[i]->name, text);
        remote_leave_out(remote, remote->hosts[i], line);
    }
}

static void take_message(struct remote *remote, const struct fabric_message *message)
{
    struct remote_host *host;

    switch (message->kind) {
    case FABRIC_REPLY:
        remote_calls_take(remote, message);
        break;
    case FABRIC_NOTICE:
    case FABRIC_OUTPUT:
        host = find_machine(remote, message->machine);
        if (host != NULL)
            remote->options.happens(remote->options.context, REMOTE_MESSAGE, host, NULL, message);
        break;
    case FABRIC_STATE:
        if (message->state != FABRIC_CONNECTED)
            happens(remote, REMOTE_TROUBLE, NULL, message->text);
        break;
    case FABRIC_TROUBLE:
        remote_calls_refused(remote, message->text);
        if (strstr(message->text, "for Publish to \"$JS.API.CONSUMER.MSG.NEXT.") != NULL)
            leave_all_out(remote, message->text);
        else
            happens(remote, REMOTE_TROUBLE, NULL, message->text);
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

    remote_calls_step(remote); /* what was asked just now does not wait */
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
        happens(remote, REMOTE_READABLE, NULL, NULL);
    take_messages(remote);
    for (size_t i = 0; i < remote->count; i++)
        link_step(remote, remote->hosts[i]);
    remote_calls_step(remote);
}
