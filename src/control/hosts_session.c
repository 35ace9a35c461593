/* SPDX-License-Identifier: MIT */
/* hosts_session.c: what is kept of a session for the next controller. See hosts_session.h. */
#include "control/hosts_session.h"

#include "control/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "hosts.json"

/* ---- writing ---- */

/* The words of options, which have one table for both ways. */
static const struct {
    const char *key;
    size_t offset;
    bool is_file;
} texts[] = {
    {"rsh", offsetof(struct hosts_options, rsh), false},
    {"dpm", offsetof(struct hosts_options, dpm), false},
    {"fabric", offsetof(struct hosts_options, fabric), false},
    {"credentials", offsetof(struct hosts_options, credentials), true},
    {"agent_credentials", offsetof(struct hosts_options, agent_credentials), true},
    {"authorities", offsetof(struct hosts_options, authorities), true},
};

static const char **text_at(const struct hosts_options *options, size_t index)
{
    return (const char **)((char *)options + texts[index].offset);
}

/* The next controller may be started elsewhere. */
static json_t *absolute(const char *path)
{
    char whole[PATH_MAX];

    return json_string(realpath(path, whole) == NULL ? path : whole);
}

/* What is kept of the records. */
static void describe_store(const struct recording_options *recording, json_t *all)
{
    json_object_set_new(all, "store", json_integer(recording->store));
    json_object_set_new(all, "max_size", json_integer((json_int_t)recording->max_size));
    json_object_set_new(all, "max_files", json_integer(recording->limits.max_files));
    json_object_set_new(all, "max_age", json_integer((json_int_t)recording->limits.max_age));
}

static json_t *describe(const struct hosts *hosts, const char *command, uint64_t until)
{
    const struct hosts_options *options = hosts->options;
    json_t *names = json_array();
    json_t *all = json_pack("{s:s, s:o, s:o, s:I, s:I}", "command", command, "hosts", names,
                            "folder", absolute(hosts->folder), "until", (json_int_t)until, "alone",
                            (json_int_t)options->alone);

    describe_store(&hosts->recorder.options->recording, all);

    for (size_t i = 0; i < hosts->count; i++)
        json_array_append_new(names, json_string(hosts->list[i].remote->name));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *text = *text_at(options, i);
        if (text != NULL)
            json_object_set_new(all, texts[i].key,
                                texts[i].is_file ? absolute(text) : json_string(text));
    }
    return all;
}

int hosts_session_store(const struct hosts *hosts, const char *command, uint64_t until,
                        struct problem *problem)
{
    char path[PATH_MAX + 32], whole[PATH_MAX + 32];
    json_t *all = describe(hosts, command, until);

    snprintf(whole, sizeof(whole), "%s/" FILE_NAME, remote_folder(conduct_remote(hosts->conduct)));
    snprintf(path, sizeof(path), "%s/" FILE_NAME ".new",
             remote_folder(conduct_remote(hosts->conduct)));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int result = file < 0 ? -1 : json_dumpfd(all, file, JSON_INDENT(4));
    if (file >= 0 && close(file) < 0)
        result = -1;
    if (result == 0)
        result = rename(path, whole);
    json_decref(all);
    return result == 0 ? 0
                       : problem_set(problem, -EIO, "cannot write %s: %s", path, strerror(errno));
}

/* ---- reading ---- */

static int find_session(const char *name, struct remote_session *ret_session)
{
    struct remote_session *list = NULL;
    struct problem problem;
    ssize_t count = remote_sessions(&list, &problem);
    char names[400] = "";
    size_t used = 0;
    bool found = false;

    if (count < 0)
        return command_error("%s", problem.text);
    for (ssize_t i = 0; i < count && !found; i++) {
        found = strcmp(list[i].name, name) == 0;
        if (found)
            *ret_session = list[i];
        if (used + 80 < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s",
                                     used == 0 ? "; there are: " : ", ", list[i].name,
                                     list[i].controlled ? " (its dpm runs)" : "");
    }
    free(list);
    if (!found)
        return command_error("there is no session '%s' of yours on this machine%s", name,
                             used == 0 ? "; there is none at all" : names);
    return ret_session->controlled
               ? command_error("session %s has a dpm that runs; it need not be attached to", name)
               : -1;
}

static bool take_hosts(json_t *all, struct hosts_options *options)
{
    json_t *names = json_object_get(all, "hosts"), *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name) || array_reserve(&options->list, &options->capacity,
                                                   options->count + 1, sizeof(*options->list)) < 0)
            return false;
        options->list[options->count] =
            (struct wanted_host){.name = strdup(json_string_value(name))};
        if (options->list[options->count].name == NULL)
            return false;
        options->count++;
    }
    return options->count > 0;
}

static uint64_t number_at(json_t *all, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(all, key));

    return value < 0 ? 0 : (uint64_t)value;
}

static void load_store(json_t *all, struct recording_options *recording)
{
    uint64_t store = number_at(all, "store");

    recording->store = store <= STORE_NONE ? (enum recording_store)store : STORE_ALL;
    recording->max_size = number_at(all, "max_size");
    recording->limits.max_files = (uint32_t)number_at(all, "max_files");
    recording->limits.max_age = number_at(all, "max_age");
}

int hosts_session_load(const char *command, struct hosts_options *options,
                       struct recording_command_options *recorder, uint64_t *ret_until)
{
    struct remote_session session;
    char path[PATH_MAX + 32];
    int result = find_session(options->attach, &session);

    if (result >= 0)
        return result;
    if (recorder->recording.trace != NULL)
        return command_usage_error(command,
                                   "--attach: the traces stay where they are; leave out -o");
    snprintf(path, sizeof(path), "%s/" FILE_NAME, session.folder);
    json_t *all = json_load_file(path, 0, NULL);
    const char *made_by = json_string_value(json_object_get(all, "command"));
    options->loaded = all; /* the options' words are in it */
    if (made_by == NULL || !take_hosts(all, options))
        return command_error("session %s ended before it had connected: there is nothing to attach "
                             "to",
                             options->attach);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        *text_at(options, i) = json_string_value(json_object_get(all, texts[i].key));
    options->alone = number_at(all, "alone");
    load_store(all, &recorder->recording);
    recorder->recording.trace = json_string_value(json_object_get(all, "folder"));
    *ret_until = number_at(all, "until");
    return recorder->recording.trace != NULL
               ? -1
               : command_error("%s does not say where the traces are", path);
}
