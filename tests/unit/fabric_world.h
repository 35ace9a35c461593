/* SPDX-License-Identifier: MIT */
/*
 * fabric_world.h: for tests of the fabric: a session with a real nats-server in a folder below /tmp. A test skips if none is
 * installed.
 */
#ifndef DPM_FABRIC_WORLD_H
#define DPM_FABRIC_WORLD_H

#include "fabric/fabric.h"
#include "server/server.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_MS 60000 /* nothing takes so long, on any machine */

struct world {
    char folder[64];
    struct fabric_server *server;
    struct fabric *controller, *agent;
};

/* Fails with the problem's line. */
#define must(call)                                                                                 \
    do {                                                                                           \
        problem.text[0] = '\0';                                                                    \
        int must_result = (int)(call);                                                             \
        if (must_result < 0)                                                                       \
            fail_msg("%s: %d: %s", #call, must_result, problem.text);                              \
    } while (0)

static struct problem problem;

/* Returns false if nats-server is not installed. */
static inline bool world_begin(struct world *world, const struct fabric_server_options *options)
{
    *world = (struct world){.server = NULL};
    strcpy(world->folder, "/tmp/dpm-fabric-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    int error = fabric_server_start(world->folder, options, &world->server, &problem);
    if (error == -ENOENT && strstr(problem.text, "install the package") != NULL) {
        rmdir(world->folder);
        world->folder[0] = '\0';
        return false;
    }
    if (error != 0)
        fail_msg("%s", problem.text);
    return true;
}

static inline struct fabric *world_agent(struct world *world, const char *machine)
{
    struct fabric_options options;
    struct fabric *agent;

    must(fabric_server_add_machine(world->server, machine, &problem));
    must(fabric_server_credentials(world->server, NULL, machine, &options, &problem));
    must(fabric_open(&options, LONG_MS, &agent, &problem));
    return agent;
}

/* A controller with streams, and the agent web1. */
static inline bool world_begin_pair(struct world *world, const struct fabric_limits *limits)
{
    if (!world_begin(world, NULL))
        return false;
    must(fabric_server_open(world->server, FABRIC_CONTROLLER, &world->controller, &problem));
    must(fabric_create_streams(world->controller, limits, &problem));
    world->agent = world_agent(world, "web1");
    return true;
}

static inline void world_remove(const char *folder)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command) != 0)
        print_message("# %s is left over\n", folder);
}

static inline void world_end(struct world *world)
{
    if (world->folder[0] == '\0')
        return;
    fabric_close(world->controller);
    fabric_close(world->agent);
    fabric_server_detach(world->server);
    must(fabric_server_stop(world->folder, &problem));
    world_remove(world->folder);
}

/* Waits for the next message of this kind; others are released. */
static inline void world_next(struct fabric *fabric, enum fabric_kind kind,
                              struct fabric_message *ret_message)
{
    struct pollfd polled = {.fd = fabric_descriptor(fabric), .events = POLLIN};

    for (;;) {
        while (fabric_next(fabric, ret_message) == 1) {
            if (ret_message->kind == kind)
                return;
            fabric_message_done(ret_message);
        }
        assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    }
}

/* The number in `text` behind `key`, such as PPid:; -1: none. */
static inline long world_number_behind(const char *path, const char *key)
{
    char line[4096];
    long number = -1;
    FILE *file = fopen(path, "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtol(line + strlen(key), NULL, 10);
    if (file != NULL)
        fclose(file);
    return number;
}

/* The process of the session's nats-server; 0: none now. */
static inline pid_t world_server_process(const struct world *world)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    char path[300], arguments[4096];
    pid_t found = 0;

    while (found == 0 && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof(path), "/proc/%.100s/cmdline", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
        size_t size = file == NULL ? 0 : fread(arguments, 1, sizeof(arguments) - 1, file);
        arguments[size] = '\0';
        if (file != NULL)
            fclose(file);
        if (size > 12 && strcmp(arguments, "nats-server") == 0 &&
            memmem(arguments, size, world->folder, strlen(world->folder)) != NULL)
            found = atoi(entry->d_name);
    }
    closedir(folder);
    return found;
}

static inline void world_kill_server(const struct world *world)
{
    pid_t pid = world_server_process(world);

    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
}

/* ---- the world of one test ---- */

static struct world world;

/* Setup and teardown of a test with a controller and an agent. */
static inline int begin_pair(void **context)
{
    *context = world_begin_pair(&world, NULL) ? &world : NULL;
    return 0;
}

static inline int end_world(void **context)
{
    (void)context;
    world_end(&world);
    return 0;
}

static inline void need_server(void **context)
{
    if (*context == NULL) {
        print_message("# nats-server is not installed\n");
        skip();
    }
}

#endif
