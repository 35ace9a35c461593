/* SPDX-License-Identifier: MIT */
/* live_views.c: asks monitors for the state of their views. See live_views.h. */
#include "command/live/live_views.h"

#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MONITORS_MOST 16
#define LOOK_EACH     1000000000u /* ns: for monitors that have begun */
#define ASK_MOST      500000000u  /* ns between two questions */
#define ASK_LEAST     50000000u
#define PATIENCE      3000000000u /* ns */
#define ENDED_SHOWN   60          /* intervals, then a monitor that has ended is forgotten */
#define BEGINS_MOST   10          /* seconds from its socket until it listens there */

struct monitor_seen {
    int socket; /* negative: it is gone */
    char name[NAME_MAX + 1];
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct strips *strips;
    char *line; /* of its answer, as far as it has come */
    size_t size, capacity;
    bool is_asked, has_answered;
    uint64_t asked; /* CLOCK_MONOTONIC */
    unsigned gone;  /* intervals since it is gone */
};

struct live_views {
    int epoll;
    bool looks; /* for monitors of this user */
    uint64_t looked, asked, period;
    struct monitor_seen *seen[MONITORS_MOST]; /* NULL: free */
};

/* ---- begin and end ---- */

static void free_seen(struct monitor_seen *seen)
{
    if (seen == NULL)
        return;
    if (seen->socket >= 0)
        close(seen->socket);
    strips_free(seen->strips);
    free(seen->line);
    free(seen);
}

/* Returns a connection or a negative errno. A monitor's queue of connections may be full: then it is tried again later. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    strcpy(address.sun_path, path);
    if (file < 0 || connect(file, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int error = -errno;
        if (file >= 0)
            close(file);
        return error;
    }
    return file;
}

static struct monitor_seen **free_place(struct live_views *views)
{
    for (size_t i = 0; i < MONITORS_MOST; i++)
        if (views->seen[i] == NULL)
            return &views->seen[i];
    return NULL;
}

/* Returns 0 or a negative errno; -ECONNREFUSED: nothing listens there any more. */
static int add(struct live_views *views, const char *path, const char *name)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct monitor_seen **place = free_place(views), *seen;

    if (place == NULL || strlen(path) >= sizeof(seen->path))
        return place == NULL ? -ENOSPC : -ENAMETOOLONG;
    int file = connect_to(path);
    if (file < 0)
        return file;
    seen = calloc(1, sizeof(*seen));
    if (seen != NULL && (seen->strips = strips_new(name)) == NULL) {
        free(seen);
        seen = NULL;
    }
    if (seen == NULL || epoll_ctl(views->epoll, EPOLL_CTL_ADD, file, &event) < 0) {
        close(file);
        if (seen != NULL)
            seen->socket = -1;
        free_seen(seen);
        return -ENOMEM;
    }
    seen->socket = file;
    snprintf(seen->path, sizeof(seen->path), "%s", path);
    snprintf(seen->name, sizeof(seen->name), "%s", name);
    *place = seen;
    return 0;
}

int live_views_new(const char *where, uint64_t interval, struct live_views **ret_views,
                   struct problem *problem)
{
    struct live_views *views = calloc(1, sizeof(*views));
    uint64_t period = interval / 2;

    if (views == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    views->period = period < ASK_LEAST ? ASK_LEAST : period > ASK_MOST ? ASK_MOST : period;
    views->looks = where == NULL;
    views->epoll = epoll_create1(EPOLL_CLOEXEC);
    int result = views->epoll < 0 ? -errno : 0;
    if (result == 0 && where != NULL && strcmp(where, "none") != 0)
        result = add(views, where, where);
    if (result < 0) {
        live_views_free(views);
        return problem_set(problem, result, "--monitor %s: no dpm view run listens there: %s",
                           where == NULL ? "" : where, strerror(-result));
    }
    *ret_views = views;
    return 0;
}

void live_views_free(struct live_views *views)
{
    if (views == NULL)
        return;
    for (size_t i = 0; i < MONITORS_MOST; i++)
        free_seen(views->seen[i]);
    if (views->epoll >= 0)
        close(views->epoll);
    free(views);
}

int live_views_descriptor(const struct live_views *views)
{
    return views->epoll;
}

/* ---- monitors of this user ---- */

static bool is_known(const struct live_views *views, const char *name)
{
    for (size_t i = 0; i < MONITORS_MOST; i++)
        if (views->seen[i] != NULL && strcmp(views->seen[i]->name, name) == 0)
            return true;
    return false;
}

/* Whether a monitor that was killed has left it there: one that begins now is not ready yet, and other files are not ours. */
static bool is_left_over(int folder, const char *name)
{
    struct stat status;

    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISSOCK(status.st_mode) || S_ISLNK(status.st_mode)) && status.st_uid == geteuid() &&
           clock_now(CLOCK_REALTIME) / 1000000000u > (uint64_t)status.st_mtime + BEGINS_MOST;
}

static void look(struct live_views *views)
{
    char folder[PATH_MAX], path[PATH_MAX];
    DIR *list = folder_of_user("monitors", NULL, folder, NULL) < 0 ? NULL : opendir(folder);
    struct dirent *entry;

    while (list != NULL && (entry = readdir(list)) != NULL) {
        if (entry->d_name[0] == '.' || is_known(views, entry->d_name) ||
            snprintf(path, sizeof(path), "%.*s/%.255s", PATH_MAX - 300, folder, entry->d_name) < 0)
            continue;
        int result = add(views, path, entry->d_name);
        if ((result == -ECONNREFUSED || result == -ENOENT) &&
            is_left_over(dirfd(list), entry->d_name))
            (void)unlinkat(dirfd(list), entry->d_name, 0);
    }
    if (list != NULL)
        closedir(list);
}

/* ---- questions and answers ---- */

static void lose(struct monitor_seen *seen, const char *why)
{
    if (seen->socket >= 0)
        close(seen->socket);
    seen->socket = -1;
    seen->is_asked = false;
    strips_lose(seen->strips, why);
}

/* A monitor takes no more than a few connections: it ends the next ones at once. */
static void lose_connection(struct monitor_seen *seen)
{
    lose(seen, seen->has_answered
                   ? "the monitor has ended"
                   : "the monitor ended the connection: it has ended, or has too many");
}

static void ask(struct monitor_seen *seen)
{
    char text[96], since[48] = "";
    if (seen->has_answered) /* else all that it has kept; what was before has nothing to do with us */
        snprintf(since, sizeof(since), "\"since\":%" PRIu64, strips_last(seen->strips));
    int size =
        snprintf(text, sizeof(text), "{\"id\":1,\"method\":\"state\",\"params\":{%s}}\n", since);

    if (send(seen->socket, text, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) != size) {
        lose_connection(seen);
        return;
    }
    seen->is_asked = true;
    seen->asked = clock_now(CLOCK_MONOTONIC);
}

static void take_lines(struct monitor_seen *seen)
{
    char *end;

    while (seen->socket >= 0 && (end = memchr(seen->line, '\n', seen->size)) != NULL) {
        size_t size = (size_t)(end - seen->line);
        int result = strips_take(seen->strips, seen->line, size);
        seen->size -= size + 1;
        memmove(seen->line, end + 1, seen->size);
        seen->is_asked = false;
        if (result < 0)
            lose(seen, "another version of dpm: its answer is not understood");
        else
            seen->has_answered = true;
        if (result > 0)
            ask(seen);
    }
}

/* A part of what is there; the rest makes the descriptor readable again. */
static void receive(struct monitor_seen *seen)
{
    if (array_reserve(&seen->line, &seen->capacity, seen->size + 65536, 1) < 0)
        return;
    ssize_t got = recv(seen->socket, seen->line + seen->size, 65536, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        lose_connection(seen);
        return;
    }
    seen->size += (size_t)got;
    take_lines(seen);
    if (seen->size > STRIPS_LINE_MOST)
        lose(seen, "its answer is too long");
}

static void step(struct monitor_seen *seen, bool asks, uint64_t now)
{
    if (seen->socket >= 0)
        receive(seen);
    if (seen->socket >= 0 && asks && !seen->is_asked)
        ask(seen);
    if (seen->socket >= 0 && seen->is_asked && now > seen->asked && now - seen->asked > PATIENCE)
        strips_lose(seen->strips, "the monitor does not answer");
}

void live_views_step(struct live_views *views)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    bool asks = now - views->asked >= views->period;

    if (views->looks && now - views->looked >= LOOK_EACH) {
        look(views);
        views->looked = now;
    }
    if (asks)
        views->asked = now;
    for (size_t i = 0; i < MONITORS_MOST; i++)
        if (views->seen[i] != NULL)
            step(views->seen[i], asks, now);
}

void live_views_tick(struct live_views *views)
{
    for (size_t i = 0; i < MONITORS_MOST; i++) {
        struct monitor_seen *seen = views->seen[i];
        if (seen == NULL)
            continue;
        strips_tick(seen->strips);
        if (seen->socket < 0 && ++seen->gone > ENDED_SHOWN) {
            free_seen(seen);
            views->seen[i] = NULL;
        }
    }
}

/* ---- what was answered ---- */

json_t *live_views_json(struct live_views *views)
{
    json_t *list = json_array();

    for (size_t i = 0; i < MONITORS_MOST; i++) {
        json_t *one = views->seen[i] == NULL ? NULL : strips_json(views->seen[i]->strips);
        if (one != NULL)
            json_array_append_new(list, one);
    }
    return list;
}

bool live_views_row(const struct live_views *views, size_t row, struct strip_cells *ret_cells,
                    char ret_details[STRIPS_DETAILS_SIZE])
{
    for (size_t i = 0; i < MONITORS_MOST; i++) {
        const struct monitor_seen *seen = views->seen[i];
        size_t at = 0;
        if (seen == NULL)
            continue;
        while (at < row && strips_row(seen->strips, at, ret_cells))
            at++;
        if (strips_row(seen->strips, row, ret_cells)) {
            if (ret_details != NULL)
                strips_details(seen->strips, row, ret_details);
            return true;
        }
        row -= at;
    }
    return false;
}

size_t live_views_warning(const struct live_views *views, char text[STRIPS_DETAILS_SIZE])
{
    size_t count = 0;

    text[0] = '\0';
    for (size_t i = 0; i < MONITORS_MOST; i++) {
        if (views->seen[i] == NULL)
            continue;
        count++;
        if (text[0] == '\0')
            strips_warning(views->seen[i]->strips, text);
    }
    return count;
}
