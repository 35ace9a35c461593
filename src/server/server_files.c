/* SPDX-License-Identifier: MIT */
#include "server/server_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define DISK_BYTES   (2ll << 30)
#define MEMORY_BYTES (256ll << 20)
#define IDLE_SECONDS 86400
#define FILE_MOST    (4u << 20)

static bool is_between(const json_t *value, json_int_t least, json_int_t most)
{
    return json_is_integer(value) && json_integer_value(value) >= least &&
           json_integer_value(value) <= most;
}

static bool users_valid(const json_t *users)
{
    const char *user;
    json_t *password;

    if (json_object_get(users, FABRIC_CONTROLLER) == NULL ||
        json_object_get(users, FABRIC_FILTER) == NULL)
        return false;
    json_object_foreach((json_t *)users, user, password) if (json_string_length(password) !=
                                                             FABRIC_SECRET_SIZE - 1) return false;
    return true;
}

/* A session that an older dpm has made has no id. */
static bool id_valid(const json_t *id)
{
    return id == NULL || (json_string_length(id) == FABRIC_ID_SIZE - 1 &&
                          fabric_name_valid(json_string_value(id)));
}

static bool session_valid(const json_t *session)
{
    return is_between(json_object_get(session, "dpm"), FABRIC_VERSION, FABRIC_VERSION) &&
           fabric_name_valid(json_string_value(json_object_get(session, "session"))) &&
           is_between(json_object_get(session, "port"), 1, 65535) &&
           is_between(json_object_get(session, "disk_bytes"), 1, INT64_MAX) &&
           is_between(json_object_get(session, "memory_bytes"), 1, INT64_MAX) &&
           is_between(json_object_get(session, "idle_seconds"), 1, UINT32_MAX) &&
           id_valid(json_object_get(session, "id")) &&
           users_valid(json_object_get(session, "users"));
}

int session_load(const char *folder, json_t **ret_session, struct problem *problem)
{
    char *path = NULL;
    json_error_t error;

    if (asprintf(&path, "%s/session.json", folder) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int result = descriptor < 0 ? -errno : 0;
    if (result != 0) {
        problem_set(problem, result, "%s: %s", path,
                    result == -ENOENT ? "there is no session here" : strerror(-result));
    } else {
        json_t *session = lseek(descriptor, 0, SEEK_END) > FILE_MOST
                              ? NULL
                              : (lseek(descriptor, 0, SEEK_SET),
                                 json_loadfd(descriptor, JSON_REJECT_DUPLICATES, &error));
        close(descriptor);
        if (session != NULL && session_valid(session)) {
            *ret_session = session;
        } else {
            json_decref(session);
            result = problem_set(problem, -EINVAL,
                                 "%s: not a session of this version of dpm: remove its folder to "
                                 "begin a new one",
                                 path);
        }
    }
    free(path);
    return result;
}

/* Writes it beside, then renames. */
static int replace_file(const char *folder, const char *name, const json_t *value,
                        struct problem *problem)
{
    char *path = NULL, *beside = NULL;
    int result = -ENOMEM;

    if (asprintf(&path, "%s/%s", folder, name) < 0 ||
        asprintf(&beside, "%s/%s.new", folder, name) < 0)
        goto done;
    if (unlink(beside) != 0 && errno != ENOENT) {
        result = -errno;
        goto done;
    }
    int descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) {
        result = -errno;
        goto done;
    }
    result = json_dumpfd(value, descriptor, JSON_INDENT(2)) == 0 ? 0 : -ENOSPC;
    if (result == 0 && fsync(descriptor) != 0)
        result = -errno;
    if (close(descriptor) != 0 && result == 0)
        result = -errno;
    if (result == 0 && rename(beside, path) != 0)
        result = -errno;
    if (result != 0)
        unlink(beside);
done:
    if (result != 0)
        problem_set(problem, result, "%s/%s: cannot be written: %s", folder, name,
                    strerror(-result));
    free(path);
    free(beside);
    return result;
}

int session_store(const char *folder, json_t *session, struct problem *problem)
{
    json_t *configuration = server_configuration(folder, session);

    if (configuration == NULL)
        return problem_set(problem, -EINVAL,
                           "%s: no configuration of a server can be made: the name of the folder "
                           "must be UTF-8",
                           folder);
    int error = replace_file(folder, "session.json", session, problem);
    if (error == 0)
        error = replace_file(folder, "nats.conf", configuration, problem);
    json_decref(configuration);
    return error;
}

static int make_secret(char ret_secret[FABRIC_SECRET_SIZE])
{
    uint8_t random[(FABRIC_SECRET_SIZE - 1) / 2];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -errno;
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(ret_secret + 2 * i, 3, "%02x", random[i]);
    explicit_bzero(random, sizeof(random));
    return 0;
}

int session_add_user(json_t *session, const char *user)
{
    char secret[FABRIC_SECRET_SIZE];
    json_t *users = json_object_get(session, "users");

    if (json_object_get(users, user) != NULL)
        return 0;
    int error = make_secret(secret);
    if (error < 0)
        return error;
    error = json_object_set_new(users, user, json_string(secret));
    explicit_bzero(secret, sizeof(secret));
    return error != 0 ? -ENOMEM : 1;
}

/* Random, and no secret: the beginning of a number that is used for nothing else. */
static int add_id(json_t *session)
{
    char random[FABRIC_SECRET_SIZE];
    int error = make_secret(random);

    if (error < 0)
        return error;
    random[FABRIC_ID_SIZE - 1] = '\0';
    return json_object_set_new(session, "id", json_string(random)) == 0 ? 0 : -ENOMEM;
}

void session_user_of_machine(const char *machine, char ret_user[SERVER_USER_SIZE])
{
    snprintf(ret_user, SERVER_USER_SIZE, "machine.%s", machine);
}

json_t *session_make(const char *name, const struct fabric_server_options *options, uint16_t port)
{
    const struct fabric_server_options defaults = {NULL};

    if (options == NULL)
        options = &defaults;
    json_t *session = json_pack(
        "{si, ss, si, sI, sI, sI, s{}}", "dpm", (int)FABRIC_VERSION, "session", name, "port",
        (int)port, "disk_bytes",
        options->disk_bytes == 0 ? (json_int_t)DISK_BYTES : (json_int_t)options->disk_bytes,
        "memory_bytes",
        options->memory_bytes == 0 ? (json_int_t)MEMORY_BYTES : (json_int_t)options->memory_bytes,
        "idle_seconds",
        options->idle_seconds == 0 ? (json_int_t)IDLE_SECONDS : (json_int_t)options->idle_seconds,
        "users");
    if (session == NULL || add_id(session) < 0 ||
        session_add_user(session, FABRIC_CONTROLLER) < 0 ||
        session_add_user(session, FABRIC_FILTER) < 0) {
        json_decref(session);
        return NULL;
    }
    return session;
}
