/* SPDX-License-Identifier: MIT */
/* hosts_end.c: the end of a recording on several machines: everything that was recorded arrives, and nothing stays
 * behind. See hosts.h. */
#include "command/hosts/hosts.h"

#include "base/folder.h"
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND      1000000000ULL /* ns */
#define NO_PROGRESS (30 * SECOND)

/* ---- recordings ---- */

static void take_end(void *context, struct remote_host *remote, const struct conduct_answer *answer)
{
    struct metered_host *host = remote->context;
    const struct recording_said said = notice_recording(json_object_get(answer->result, "trace"));
    char line[sizeof(answer->why) + 80];

    if (answer->error == -EREMOTEIO && !host->agent_died) { /* only the agent knows why */
        snprintf(line, sizeof(line), "its recording could not be ended: %s", answer->why);
        hosts_say(context, remote, line);
    }
    if (answer->error == -EREMOTEIO)
        host->cut = host->unended = true;
    if (answer->error < 0)
        return;
    hosts_say_notes(context, host, answer->result);
    const char *why = notice_early_end(&said);
    if (why != NULL && !host->cut) { /* its notice is missing */
        snprintf(line, sizeof(line), "the recording ended: %s", why);
        hosts_say(context, remote, line);
    }
    host->cut |= why != NULL;
    host->ended = host->settled = true;
    host->records = said.records;
    host->lost = said.lost;
    host->stored = said.begun;
}

static bool is_recorded(void *context, struct remote_host *remote)
{
    const struct metered_host *host = remote->context;

    (void)context;
    return host->opened && remote->state != REMOTE_OUT;
}

static json_t *name_recording(void *context, struct remote_host *remote)
{
    (void)context;
    (void)remote;
    return request_recording(HOSTS_RECORDING);
}

/* Waits at most until the user is tired of it. */
static void end_recordings(struct hosts *hosts)
{
    conduct_set_patience(hosts->conduct, 2);
    conduct_ask_all(hosts->conduct, &(struct conduct_question){.method = "recording.end",
                                                               .asks = is_recorded,
                                                               .params = name_recording,
                                                               .took = take_end,
                                                               .context = hosts});
}

/* Names those that did not say what they recorded, nor why. */
static void say_cut(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct metered_host *host = &hosts->list[i];
        if (!host->opened || host->settled || host->unended)
            continue;
        hosts_say(hosts, host->remote,
                  "its recording could not be ended from here; its last records are missing");
        host->cut = true;
    }
}

/* Whether it is known of each host what was lost, which may be nothing. */
static bool all_known(const struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->list[i].refused || !hosts_loss_known(&hosts->list[i]))
            return false;
    return true;
}

/* ---- packets ---- */

/* Notes of each host what is stored of it. `all`: nothing that was sent is missing. Else a host's END may have come, and packets
 * of before not, unless the server has nothing left for us. */
static void note_stored(struct hosts *hosts, bool all)
{
    json_t *left = json_object_get(hosts->storing.state, "left"), *copy;
    bool none_left = all || (json_is_integer(left) && json_integer_value(left) == 0);

    for (size_t i = 0; i < hosts->count; i++)
        hosts->list[i].arrived = !hosts->list[i].stored || (all && !hosts->list[i].full);
    for (size_t i = 0; (copy = hosts_storing_copy(hosts, i)) != NULL; i++) {
        struct metered_host *host = hosts_storing_host(hosts, copy);
        if (host == NULL)
            continue;
        if (fabric_count(copy, "until_ns") > 0) /* else nothing of this one is stored */
            host->until = fabric_count(copy, "until_ns");
        host->arrived |= none_left && !host->full && json_is_true(json_object_get(copy, "ended")) &&
                         fabric_count(copy, "refused") == 0;
    }
}

bool hosts_loss_known(const struct metered_host *host)
{
    return !host->cut && (!host->opened || (host->settled && host->arrived));
}

/* Whether our own filter may go on another time: it has not ended in order. */
static bool has_own(struct hosts *hosts)
{
    char durable[FILTER_NAME_SIZE];
    struct problem problem;

    filter_name(hosts->folder, durable);
    return fabric_left(conduct_fabric(hosts->conduct), durable, &problem) >= 0;
}

/* What other filters have not stored yet is kept by the server: more than the last packet of each part. */
static uint64_t others_left(struct hosts *hosts)
{
    struct fabric *fabric = conduct_fabric(hosts->conduct);
    struct fabric_usage usage;
    struct problem problem;
    uint64_t last = 0;

    for (size_t i = 0; i < hosts->count; i++)
        last += hosts->list[i].opened ? FABRIC_PARTS : 0;
    if (fabric_trim(fabric, &problem) < 0 || fabric_usage(fabric, &usage, &problem) < 0 ||
        usage.consumers <= (uint64_t)has_own(hosts))
        return 0;
    return usage.packets > last ? usage.packets - last : 0;
}

static void await_others(struct hosts *hosts)
{
    uint64_t left = others_left(hosts), last = clock_now(CLOCK_MONOTONIC);
    char line[160], packets[COUNTED_SIZE];

    conduct_set_patience(hosts->conduct, 1);
    show_counted(left, "packet", packets);
    if (left > 0) {
        snprintf(line, sizeof(line), "waiting for other filters of this session: %s", packets);
        hosts_say(hosts, NULL, line);
    }
    while (left > 0 && !conduct_is_interrupted(hosts->conduct)) {
        hosts_poll(hosts, 200);
        uint64_t now = clock_now(CLOCK_MONOTONIC), before = left;
        left = others_left(hosts);
        if (left != before)
            last = now;
        if (now - last < NO_PROGRESS)
            continue;
        show_counted(left, "packet", packets);
        snprintf(line, sizeof(line), "a filter that has not come back has not stored %s", packets);
        hosts_say(hosts, NULL, line);
        return;
    }
}

/* Returns whether that succeeded. */
static bool tell_filters(struct hosts *hosts)
{
    json_t *recordings = json_array();
    struct problem problem;

    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->list[i].stored)
            json_array_append_new(recordings,
                                  json_pack("{s:s, s:s}", "machine", hosts->list[i].remote->machine,
                                            "recording", HOSTS_RECORDING));
    json_t *params = json_pack("{s:o}", "recordings", recordings);
    bool told =
        remote_tell_filters(conduct_remote(hosts->conduct), "session.ended", params, &problem) == 0;
    if (!told)
        hosts_say(hosts, NULL, problem.text);
    json_decref(params);
    return told;
}

/* ---- everything ---- */

static void end_agents(struct hosts *hosts)
{
    conduct_set_patience(hosts->conduct, 2);
    conduct_end_agents(hosts->conduct, NULL);
}

void hosts_abandon(struct hosts *hosts)
{
    if (hosts->conduct != NULL)
        end_agents(hosts);
    hosts_storing_end(hosts);
    if (hosts->folder[0] != '\0' && hosts->options->attach == NULL) /* it was created for this */
        folder_remove(hosts->folder);
    hosts->folder[0] = '\0';
}

int hosts_end(struct hosts *hosts)
{
    hosts->shows = false;
    if (!hosts_live_is_whole(hosts))
        hosts_live_end(hosts); /* the report on the whole covers what comes now */
    progress_clear(&hosts->progress);
    end_recordings(hosts);
    hosts_rules_end(hosts);
    bool told = !hosts->broken && tell_filters(hosts);
    bool all = hosts_storing_finish(hosts, told);
    if (!all)
        hosts_say(hosts, NULL, "not everything that was recorded has arrived here");
    if (!hosts->broken)
        await_others(hosts);
    end_agents(hosts);
    note_stored(hosts, all);
    say_cut(hosts);
    return all_known(hosts) ? 0 : -EIO;
}

void hosts_done(struct hosts *hosts)
{
    progress_clear(&hosts->progress);
    hosts_live_end(hosts);
    hosts_storing_end(hosts);
    if (hosts_only_reports(hosts) && hosts->folder[0] != '\0')
        folder_remove(hosts->folder);
    else if (hosts->folder[0] != '\0')
        rmdir(hosts->folder); /* only if nothing was recorded */
    conduct_close(hosts->conduct);
    free(hosts->list);
}
