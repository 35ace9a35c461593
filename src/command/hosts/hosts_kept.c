/* SPDX-License-Identifier: MIT */
/* hosts_kept.c: see hosts_kept.h. */
#include "command/hosts/hosts_kept.h"

#include "command/hosts/hosts.h"
#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP_EVERY 1000000000ull /* ns */
#define HEAR_EVERY 5000000000ull /* ns: that more was heard is stored less often */
#define QUIET_MOST 2000000000ull /* ns: a server that is silent for longer is not waited for */

/* ---- storing ---- */

static json_t *filter_json(const struct hosts *hosts)
{
    struct kept_filter filter = {.number = 1,
                                 .name = "default",
                                 .program = (char *)"filter",
                                 .prefix = HOSTS_PREFIX,
                                 .limits = hosts_copy_limits(hosts),
                                 .process = hosts->storing.process,
                                 .watched = true};

    gethostname(filter.machine, sizeof(filter.machine) - 1);
    if (realpath(hosts->folder, filter.folder) == NULL)
        snprintf(filter.folder, sizeof(filter.folder), "%s", hosts->folder);
    return kept_filter_json(&filter);
}

static json_t *reach_json(const struct hosts_options *options)
{
    json_t *reach = json_object();

    if (options->rsh != NULL)
        kept_reach_set(reach, "rsh", options->rsh);
    if (options->dpm != NULL)
        kept_reach_set(reach, "dpm", options->dpm);
    return reach;
}

static json_t *machines_json(const struct hosts *hosts, bool recording)
{
    json_t *machines = json_array();

    for (size_t i = 0; i < hosts->count; i++)
        if (!recording || hosts->list[i].opened)
            json_array_append_new(machines, json_string(hosts->list[i].remote->name));
    return machines;
}

static json_t *session_json(const struct hosts *hosts)
{
    json_t *filters = json_array(), *used = json_pack("{s:b}", HOSTS_RECORDING, 1);
    json_t *reach = reach_json(hosts->options);
    json_t *recording = json_pack("{s:I, s:I, s:i}", "until", (json_int_t)hosts->until, "alone",
                                  (json_int_t)hosts->options->alone, "store",
                                  (int)hosts->recorder.options->recording.store);

    json_array_append_new(filters, filter_json(hosts));
    json_t *session = kept_session_json(
        hosts->conduct, &(struct kept_session){.next_job = 1,
                                               .next_filter = 1,
                                               .used = used,
                                               .reach = reach,
                                               .filters = filters,
                                               .machines = machines_json(hosts, false),
                                               .recording = recording});
    json_decref(used);
    json_decref(reach);
    json_decref(recording);
    return session;
}

static json_t *job_json(const struct hosts *hosts)
{
    uint64_t flags = 0;
    struct problem problem;

    meter_flags_parse(hosts->recorder.options->flags, &flags, &problem);
    return kept_job_json(hosts->conduct, &(struct kept_job){
                                             .number = 1,
                                             .name = HOSTS_RECORDING,
                                             .recording = HOSTS_RECORDING,
                                             .filter = "default",
                                             .flags = flags,
                                             .flags_set = true,
                                             .machines = machines_json(hosts, true),
                                         });
}

int hosts_keep(struct hosts *hosts, struct problem *problem)
{
    hosts->changed = false;
    hosts->kept = clock_now(CLOCK_MONOTONIC);
    hosts->kept_heard = conduct_heard(hosts->conduct);
    int result = conduct_keep(hosts->conduct, "session", session_json(hosts), problem);
    if (result < 0 || hosts->options->attach != NULL) /* which takes the job as it is */
        return result;
    return conduct_keep(hosts->conduct, "job.1", job_json(hosts), problem);
}

void hosts_keep_step(struct hosts *hosts)
{
    uint64_t passed = clock_now(CLOCK_MONOTONIC) - hosts->kept;
    struct fabric *fabric = conduct_fabric(hosts->conduct);
    bool heard = conduct_heard(hosts->conduct) != hosts->kept_heard;
    struct problem ignored; /* the next time */

    if (hosts->kept == 0 || passed < KEEP_EVERY ||
        !(hosts->changed || (heard && passed >= HEAR_EVERY)) || !fabric_connected(fabric) ||
        fabric_silence(fabric) > QUIET_MOST)
        return;
    if (hosts_keep(hosts, &ignored) < 0)
        hosts->changed = true;
}

/* ---- reading ---- */

static int take_hosts(json_t *names, struct hosts_options *options)
{
    json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name) || array_reserve(&options->list, &options->capacity,
                                                   options->count + 1, sizeof(*options->list)) < 0)
            return -ENOMEM;
        options->list[options->count] =
            (struct wanted_host){.name = strdup(json_string_value(name))};
        if (options->list[options->count].name == NULL)
            return -ENOMEM;
        options->count++;
    }
    return options->count > 0 ? 0 : -EBADMSG;
}

static json_t *filter_of(const struct hosts_options *options)
{
    json_t *filters = json_object_get(json_object_get(options->loaded, "session"), "filters");

    return json_array_get(filters, 0);
}

static void load_store(json_t *recording, json_t *filter, struct recording_options *options)
{
    uint64_t store = fabric_count(recording, "store");
    struct kept_filter kept;

    if (kept_filter_read(filter, &kept) == 0 && store <= STORE_NONE) {
        options->store = (enum recording_store)store;
        options->max_size = kept.limits.max_bytes;
        options->limits = kept.limits.kept;
    }
    kept_filter_done(&kept);
}

/* Whether dpm job has added some: only it knows what to do with them. */
static bool has_other_jobs(json_t *kept)
{
    const char *key;
    json_t *value;

    json_object_foreach(kept, key, value)
    {
        if (strncmp(key, "job.", 4) == 0 && strcmp(key, "job.1") != 0)
            return true;
    }
    return false;
}

static int load(struct hosts_options *options, struct recording_command_options *recorder,
                uint64_t *ret_until)
{
    json_t *session = json_object_get(options->loaded, "session");
    json_t *recording = json_object_get(session, "recording");
    json_t *reach = json_object_get(session, "reach"), *filter = filter_of(options);

    if (session != NULL && (recording == NULL || has_other_jobs(options->loaded)))
        return command_error("session %s has jobs: `dpm --session %s --attach` goes on with them",
                             options->attach, options->attach);
    if (session == NULL || take_hosts(json_object_get(session, "machines"), options) < 0)
        return command_error("session %s has nothing to attach to: it ended before it had "
                             "connected, evaluated views, or "
                             "was begun by an older version of dpm",
                             options->attach);
    options->rsh = json_string_value(json_object_get(reach, "rsh"));
    options->dpm = json_string_value(json_object_get(reach, "dpm"));
    options->alone = fabric_count(recording, "alone");
    load_store(recording, filter, &recorder->recording);
    recorder->recording.trace = json_string_value(json_object_get(filter, "folder"));
    *ret_until = fabric_count(recording, "until");
    return recorder->recording.trace != NULL
               ? -1
               : command_error("session %s does not say where the traces are", options->attach);
}

int hosts_kept_load(const char *command, struct hosts_options *options,
                    struct recording_command_options *recorder, uint64_t *ret_until)
{
    struct problem problem;
    char folder[PATH_MAX];

    if (remote_session_find(options->attach, folder, &problem) < 0)
        return command_error("%s", problem.text);
    if (remote_session_controlled(folder))
        return command_error("session %s has a dpm that runs; it need not be attached to",
                             options->attach);
    if (recorder->recording.trace != NULL)
        return command_usage_error(command,
                                   "--attach: the traces stay where they are; leave out -o");
    /* the options' words are in it */
    if (remote_kept(options->attach, &options->loaded, &problem) < 0 ||
        kept_check(options->loaded, options->attach, &problem) < 0)
        return command_error("%s", problem.text);
    return load(options, recorder, ret_until);
}

void hosts_kept_take(struct hosts *hosts)
{
    json_t *session = json_object_get(hosts->options->loaded, "session");
    struct kept_filter filter;

    json_object_update(conduct_notes(hosts->conduct), json_object_get(session, "notes"));
    if (kept_filter_read(filter_of(hosts->options), &filter) == 0)
        hosts->storing.process = filter.process;
    kept_filter_done(&filter);
}
