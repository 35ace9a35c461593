/* SPDX-License-Identifier: MIT */
/* view_controlled.c: requests to a running monitor. See view_controlled.h. */
#include "control/view_controlled.h"

#include "monitor/central.h"
#include "monitor/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MOST 16
#define LINE_MOST    65536

struct client {
    int socket; /* negative: free */
    uint64_t number;
    char line[LINE_MOST];
    size_t size;
};

/* A probe that waits for its answer. */
struct asked {
    uint64_t client; /* number; 0: free */
    json_t *id;
};

struct view_controlled {
    const struct view_file *file;
    struct monitor *monitor;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int listener, epoll;
    struct client clients[CLIENTS_MOST];
    uint64_t last_client;
    struct asked asked[CLIENTS_MOST];
};

/* ---- answers ---- */

/* A client that does not read its answers is closed. */
static void send_line(struct client *client, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    size_t size = text == NULL ? 0 : strlen(text);

    if (text != NULL) {
        text[size] = '\n'; /* in place of the 0 */
        if (send(client->socket, text, size + 1, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size + 1)
            shutdown(client->socket, SHUT_RDWR);
    }
    free(text);
    json_decref(line);
}

static void answer(struct client *client, json_t *id, json_t *result)
{
    send_line(client,
              json_pack("{s:O?, s:o}", "id", id, "result", result == NULL ? json_null() : result));
}

static void refuse(struct client *client, json_t *id, const char *text)
{
    send_line(client, json_pack("{s:O?, s:s}", "id", id, "error", text));
}

static json_t *json_of_value(const struct view_value *value, uint64_t time)
{
    json_t *values = wire_values(value, 1);
    json_t *object =
        json_pack("{s:O, s:I}", "value", json_array_get(values, 0), "time", (json_int_t)time);

    json_decref(values);
    return object;
}

/* ---- methods: each returns 0 and *ret_result, or a negative errno with a line in `problem`; 1: it answers later ---- */

static int find_view(const struct view_controlled *controlled, json_t *params,
                     struct problem *problem)
{
    const char *name = json_string_value(json_object_get(params, "view"));

    for (size_t i = 0; name != NULL && i < controlled->file->view_count; i++)
        if (view_same_name(controlled->file->views[i].name, name))
            return (int)i;
    return problem_set(problem, -ENOENT, "there is no view '%s'", name == NULL ? "" : name);
}

struct listing {
    json_t *rows;
    const struct view *view;
};

static void list_row(void *context, const char *name, bool active, const struct view_value *values)
{
    struct listing *listing = context;
    json_t *row = json_pack("{s:b}", "active", active), *shown = json_object();
    json_t *list = wire_values(values, active ? listing->view->target_count : 0);

    if (name[0] != '\0')
        json_object_set_new(row, "row", json_string(name));
    for (size_t i = 0; i < json_array_size(list); i++)
        json_object_set(shown, listing->view->targets[i].name, json_array_get(list, i));
    json_decref(list);
    json_object_set_new(row, "values", shown);
    json_array_append_new(listing->rows, row);
}

static int do_views(struct view_controlled *controlled, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    json_t *views = json_array();

    (void)params;
    (void)problem;
    for (size_t i = 0; i < controlled->file->view_count; i++) {
        struct listing listing = {json_array(), &controlled->file->views[i]};
        central_each_row(monitor_central(controlled->monitor), (uint32_t)i, list_row, &listing);
        json_array_append_new(
            views, json_pack("{s:s, s:o}", "view", listing.view->name, "rows", listing.rows));
    }
    *ret_result = views;
    return 0;
}

static int do_counts(struct view_controlled *controlled, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    struct monitor_counts counts;

    (void)params;
    (void)problem;
    monitor_count(controlled->monitor, &counts);
    *ret_result = json_pack("{s:I, s:I}", "passed", (json_int_t)counts.passed, "requests",
                            (json_int_t)counts.requests);
    const struct {
        const char *key;
        uint64_t count;
    } collected[] = {{"hits", counts.hits},        {"records", counts.records},
                     {"refused", counts.refused},  {"lost", counts.lost},
                     {"reads", counts.reads},      {"unread", counts.unread},
                     {"filtered", counts.filtered}};
    /* other machines say what they have counted only at the end */
    for (size_t i = 0; monitor_collects(controlled->monitor) && i < ARRAY_SIZE(collected); i++)
        json_object_set_new(*ret_result, collected[i].key,
                            json_integer((json_int_t)collected[i].count));
    return 0;
}

static int do_sensor(struct view_controlled *controlled, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    json_t *on = json_object_get(params, "on");
    int view = find_view(controlled, params, problem);

    (void)ret_result;
    if (view < 0)
        return view;
    if (!json_is_boolean(on))
        return problem_set(problem, -EINVAL, "sensor: on: true or false");
    return central_turn(monitor_central(controlled->monitor), (uint32_t)view, json_is_true(on));
}

static int do_threshold(struct view_controlled *controlled, json_t *params, json_t **ret_result,
                        struct problem *problem)
{
    json_t *value = json_object_get(params, "value");
    uint64_t constant = 0;
    int view = find_view(controlled, params, problem);

    (void)ret_result;
    if (view < 0)
        return view;
    if (!json_is_number(value) || wire_take_number(params, "constant", UINT32_MAX, &constant) < 0 ||
        constant == 0)
        return problem_set(problem, -EINVAL, "threshold: constant: 1, 2 ...; value: a number");
    return central_constant(monitor_central(controlled->monitor), (uint32_t)view,
                            (uint32_t)constant - 1, json_number_value(value)) < 0
               ? problem_set(problem, -ENOENT, "the predicate of %s has no constant number %llu",
                             controlled->file->views[view].name, (unsigned long long)constant)
               : 0;
}

/* "QueueManager[1].size", as in views. The caller frees the file. */
static int parse_attribute(json_t *params, struct view_file **ret_file, struct problem *problem)
{
    const char *text = json_string_value(json_object_get(params, "attribute"));
    char view[1000];
    int size = snprintf(view, sizeof(view), "VIEW DEF V (a: %s) ACTIVE WHEN 1 < 2; END VIEW DEF",
                        text == NULL ? "" : text);

    if (text == NULL || size >= (int)sizeof(view) ||
        view_parse("attribute", view, (size_t)size, ret_file, NULL) < 0)
        return problem_set(problem, -EINVAL, "'%.100s' is no attribute: write Object[1].attribute",
                           text == NULL ? "" : text);
    if ((*ret_file)->views[0].reference_count == 1 &&
        (*ret_file)->views[0].targets[0].expression->kind == VIEW_REFERENCE)
        return 0;
    view_file_free(*ret_file);
    return problem_set(problem, -EINVAL, "'%.100s' is not one attribute", text);
}

static int do_value(struct view_controlled *controlled, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    struct view_model *model = monitor_model(controlled->monitor);
    struct view_file *file = NULL;
    struct view_value value = {.kind = VIEW_UNKNOWN};
    uint64_t time = 0;
    int result = parse_attribute(params, &file, problem);

    if (result < 0)
        return result;
    int64_t instance = view_model_find(model, &file->views[0].entities[0]);
    if (instance > 0)
        view_model_get(model, instance, file->views[0].references[0].attribute, &value, &time);
    view_file_free(file);
    if (instance <= 0)
        return problem_set(problem, -ENOENT, "there is no such instance, or there are several");
    *ret_result = json_of_value(&value, time);
    return 0;
}

static int do_probe(struct view_controlled *controlled, json_t *params, uint64_t question,
                    struct problem *problem)
{
    struct view_file *file = NULL;
    int result = parse_attribute(params, &file, problem);

    if (result < 0)
        return result;
    result = central_read(monitor_central(controlled->monitor), &file->views[0].entities[0],
                          file->views[0].references[0].attribute, question, problem);
    view_file_free(file);
    return result;
}

/* ---- requests ---- */

static void ask_probe(struct view_controlled *controlled, struct client *client, json_t *id,
                      json_t *params)
{
    struct problem problem = {""};
    size_t i = 0;

    while (i < CLIENTS_MOST && controlled->asked[i].client != 0)
        i++;
    if (i == CLIENTS_MOST) {
        refuse(client, id, "too many probes wait for their answers");
        return;
    }
    controlled->asked[i] = (struct asked){client->number, json_incref(id)};
    if (do_probe(controlled, params, i, &problem) < 0) {
        refuse(client, id, problem.text);
        json_decref(controlled->asked[i].id);
        controlled->asked[i] = (struct asked){0};
    }
}

void view_controlled_answered(struct view_controlled *controlled, uint64_t question,
                              const struct view_value *value, uint64_t time)
{
    struct asked *asked = question < CLIENTS_MOST ? &controlled->asked[question] : NULL;

    if (asked == NULL || asked->client == 0)
        return;
    for (size_t i = 0; i < CLIENTS_MOST; i++)
        if (controlled->clients[i].socket >= 0 && controlled->clients[i].number == asked->client)
            answer(&controlled->clients[i], asked->id, json_of_value(value, time));
    json_decref(asked->id);
    *asked = (struct asked){0};
}

static void serve(struct view_controlled *controlled, struct client *client, const char *line,
                  size_t size)
{
    static const struct {
        const char *name;
        int (*run)(struct view_controlled *controlled, json_t *params, json_t **ret_result,
                   struct problem *problem);
    } methods[] = {{"views", do_views},
                   {"counts", do_counts},
                   {"sensor", do_sensor},
                   {"threshold", do_threshold},
                   {"value", do_value}};
    json_t *request = json_loadb(line, size, 0, NULL), *result = NULL;
    json_t *id = json_object_get(request, "id"), *params = json_object_get(request, "params");
    const char *method = json_string_value(json_object_get(request, "method"));
    struct problem problem = {"this is no request: {\"id\": 1, \"method\": \"views\"}"};
    int done = -EINVAL;

    if (method != NULL && strcmp(method, "probe") == 0) {
        ask_probe(controlled, client, id, params);
        json_decref(request);
        return;
    }
    if (method != NULL)
        problem_set(&problem, done,
                    "there is no method '%s': views, counts, sensor, threshold, value or "
                    "probe",
                    method);
    for (size_t i = 0; method != NULL && i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i].name, method) == 0)
            done = methods[i].run(controlled, params, &result, &problem);
    if (done < 0)
        refuse(client, id, problem.text);
    else
        answer(client, id, result);
    json_decref(request);
}

/* ---- clients ---- */

static void close_client(struct client *client)
{
    close(client->socket);
    client->socket = -1;
    client->size = 0;
}

static void read_client(struct view_controlled *controlled, struct client *client)
{
    ssize_t got =
        recv(client->socket, client->line + client->size, LINE_MOST - client->size, MSG_DONTWAIT);
    char *end;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->size += got > 0 ? (size_t)got : 0;
    while ((end = memchr(client->line, '\n', client->size)) != NULL) {
        serve(controlled, client, client->line, (size_t)(end - client->line));
        client->size -= (size_t)(end - client->line) + 1;
        memmove(client->line, end + 1, client->size);
    }
    if (got <= 0 || client->size == LINE_MOST)
        close_client(client);
}

static bool is_allowed(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void accept_client(struct view_controlled *controlled)
{
    struct epoll_event event = {.events = EPOLLIN};
    int socket = accept4(controlled->listener, NULL, NULL, SOCK_CLOEXEC);
    size_t i = 0;

    if (socket < 0)
        return;
    while (i < CLIENTS_MOST && controlled->clients[i].socket >= 0)
        i++;
    if (i == CLIENTS_MOST || !is_allowed(socket) ||
        epoll_ctl(controlled->epoll, EPOLL_CTL_ADD, socket, &event) < 0) {
        close(socket);
        return;
    }
    controlled->clients[i].socket = socket;
    controlled->clients[i].number = ++controlled->last_client;
}

int view_controlled_descriptor(const struct view_controlled *controlled)
{
    return controlled->epoll;
}

void view_controlled_work(struct view_controlled *controlled)
{
    accept_client(controlled);
    for (size_t i = 0; i < CLIENTS_MOST; i++)
        if (controlled->clients[i].socket >= 0)
            read_client(controlled, &controlled->clients[i]);
}

/* ---- begin and end ---- */

/* What an earlier monitor has left, which was killed. */
static void remove_left(const struct sockaddr_un *address)
{
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat status;

    if (lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(probe);
}

static int listen_at(struct view_controlled *controlled, struct problem *problem)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct epoll_event event = {.events = EPOLLIN};

    memcpy(address.sun_path, controlled->path, sizeof(address.sun_path));
    remove_left(&address);
    controlled->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    controlled->epoll = epoll_create1(EPOLL_CLOEXEC);
    mode_t before = umask(0177);
    int result =
        bind(controlled->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
                listen(controlled->listener, CLIENTS_MOST) < 0 ||
                epoll_ctl(controlled->epoll, EPOLL_CTL_ADD, controlled->listener, &event) < 0
            ? -errno
            : 0;
    umask(before);
    if (result == 0)
        return 0;
    controlled->path[0] = '\0'; /* not ours */
    return problem_set(problem, result, "cannot listen at %s: %s", address.sun_path,
                       strerror(-result));
}

int view_controlled_new(const char *path, const struct view_file *file, struct monitor *monitor,
                        struct view_controlled **ret_controlled, struct problem *problem)
{
    struct view_controlled *controlled = calloc(1, sizeof(*controlled));

    if (controlled == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    controlled->file = file;
    controlled->monitor = monitor;
    controlled->listener = controlled->epoll = -1;
    for (size_t i = 0; i < CLIENTS_MOST; i++)
        controlled->clients[i].socket = -1;
    int result = strlen(path) >= sizeof(controlled->path)
                     ? problem_set(problem, -ENAMETOOLONG,
                                   "%s: a socket's name has at most %zu "
                                   "bytes",
                                   path, sizeof(controlled->path) - 1)
                     : 0;
    if (result == 0) {
        strcpy(controlled->path, path);
        result = listen_at(controlled, problem);
    }
    if (result < 0) {
        view_controlled_free(controlled);
        return result;
    }
    *ret_controlled = controlled;
    return 0;
}

void view_controlled_free(struct view_controlled *controlled)
{
    if (controlled == NULL)
        return;
    for (size_t i = 0; i < CLIENTS_MOST; i++) {
        if (controlled->clients[i].socket >= 0)
            close_client(&controlled->clients[i]);
        json_decref(controlled->asked[i].id);
    }
    if (controlled->listener >= 0)
        close(controlled->listener);
    if (controlled->epoll >= 0)
        close(controlled->epoll);
    if (controlled->path[0] != '\0')
        unlink(controlled->path);
    free(controlled);
}
