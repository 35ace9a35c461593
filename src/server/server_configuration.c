/* SPDX-License-Identifier: MIT */
/* server_configuration.c: nats.conf. Who may publish and subscribe what: docs/control-protocol.md. */
#include "fabric/fabric.h"
#include "server/server_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUBJECT_SIZE 320

static void add_subject(json_t *list, const char *format, const char *session, const char *machine)
{
    char subject[SUBJECT_SIZE];
    char *to = subject;

    /* S stands for the session, M for the machine: neither letter occurs otherwise behind an '@'. */
    for (; *format != '\0' && to < subject + sizeof(subject) - FABRIC_NAME_MOST - 1; format++) {
        if (*format != '@') {
            *to++ = *format;
            continue;
        }
        format++;
        const char *name = *format == 'S' ? session : machine;
        to = stpcpy(to, name);
    }
    *to = '\0';
    json_array_append_new(list, json_string(subject));
}

static json_t *subjects(const char *const *formats, size_t count, const char *session,
                        const char *machine)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        add_subject(list, formats[i], session, machine);
    return list;
}

/* The last number of a subject is asked for by its own name, so the right can be limited to own subjects. The other way,
 * STREAM.MSG.GET, has the subject in the body. */
static const char *const agent_publishes[] = {
    "dpm.@S.@M.packets.>",
    "dpm.@S.@M.notice",
    "dpm.@S.@M.output.>",
    "$JS.API.DIRECT.GET.dpm-@S-packets.dpm.@S.@M.packets.>",
};
static const char *const agent_subscribes[] = {"dpm.@S.@M.control", "_INBOX_@M.>"};

static const char *const filter_publishes[] = {
    "$JS.API.STREAM.INFO.dpm-@S-packets",
    "$JS.API.STREAM.INFO.dpm-@S-said",
    "$JS.API.CONSUMER.DURABLE.CREATE.dpm-@S-packets.*",
    "$JS.API.CONSUMER.INFO.dpm-@S-packets.*",
    "$JS.API.CONSUMER.DELETE.dpm-@S-packets.*",
    "$JS.API.CONSUMER.MSG.NEXT.dpm-@S-packets.*",
    "$JS.API.CONSUMER.CREATE.dpm-@S-said",
    "$JS.API.CONSUMER.MSG.NEXT.dpm-@S-said.*",
    "$JS.ACK.dpm-@S-packets.>",
};
static const char *const filter_subscribes[] = {"_INBOX." FABRIC_FILTER ".>"};

/* NULL: everything is allowed. */
static json_t *permissions(const char *user, const char *session)
{
    const char *machine = strchr(user, '.');

    if (machine != NULL) /* an agent answers each request once, when its work is done */
        return json_pack(
            "{so, so, s{si, ss}}", "publish",
            subjects(agent_publishes, ARRAY_SIZE(agent_publishes), session, machine + 1),
            "subscribe",
            subjects(agent_subscribes, ARRAY_SIZE(agent_subscribes), session, machine + 1),
            "allow_responses", "max", 1, "expires", "1h");
    if (strcmp(user, FABRIC_FILTER) == 0)
        return json_pack("{so, so}", "publish",
                         subjects(filter_publishes, ARRAY_SIZE(filter_publishes), session, ""),
                         "subscribe",
                         subjects(filter_subscribes, ARRAY_SIZE(filter_subscribes), session, ""));
    return NULL;
}

static json_t *users(const json_t *session)
{
    const char *name = json_string_value(json_object_get(session, "session"));
    json_t *list = json_array(), *password;
    const char *user;

    json_object_foreach(json_object_get(session, "users"), user, password)
    {
        json_t *entry = json_pack("{ss, sO}", "user", user, "password", password);
        json_t *allowed = permissions(user, name);
        if (allowed != NULL)
            json_object_set_new(entry, "permissions", allowed);
        json_array_append_new(list, entry);
    }
    return list;
}

json_t *server_configuration(const char *folder, const json_t *session)
{
    char *log = NULL, *store = NULL, *name = NULL;
    json_t *configuration = NULL;

    if (asprintf(&log, "%s/server.log", folder) >= 0 && asprintf(&store, "%s/store", folder) >= 0 &&
        asprintf(&name, "dpm-%s", json_string_value(json_object_get(session, "session"))) >= 0)
        configuration =
            json_pack("{ss, ss, sO, ss, si, ss, si, ss, s{ss, sO, sO}, s{si, so}}", "server_name",
                      name, "host", "127.0.0.1", "port", json_object_get(session, "port"),
                      "log_file", log, "logfile_size_limit", 1000000, "ping_interval", "20s",
                      "ping_max", 3, "write_deadline", "30s", "jetstream", "store_dir", store,
                      "max_file_store", json_object_get(session, "disk_bytes"), "max_memory_store",
                      json_object_get(session, "memory_bytes"), "authorization", "timeout", 10,
                      "users", users(session));
    free(log);
    free(store);
    free(name);
    return configuration;
}
