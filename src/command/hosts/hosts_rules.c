/* SPDX-License-Identifier: MIT */
/* hosts_rules.c: selection rules on all hosts, which follow the file that they are from. See hosts.h. */
#include "command/hosts/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define AGAIN_AFTER 1000000000ULL /* ns */

static const struct rules *newest(const struct hosts *hosts)
{
    const struct recording_command *recorder = &hosts->recorder;

    return recorder->rules_file.rules != NULL ? recorder->rules_file.rules
                                              : recorder->options->recording.rules;
}

static json_t *source_of(const struct rules *rules)
{
    char *text = rules_source(rules);
    json_t *source = text == NULL ? NULL : json_string(text);

    free(text);
    return source;
}

json_t *hosts_rules(const struct hosts *hosts)
{
    return source_of(newest(hosts));
}

int hosts_rules_check(const struct rules *rules, struct problem *problem)
{
    json_t *source = rules == NULL ? NULL : source_of(rules);
    int result = rules == NULL || source != NULL
                     ? 0
                     : problem_set(problem, -EILSEQ,
                                   "with --host, rules must be UTF-8: they go to other machines");

    json_decref(source);
    return result;
}

static void take_answer(void *context, struct remote_host *remote, const struct remote_reply *reply)
{
    struct metered_host *host = remote->context;
    struct hosts *hosts = context;

    host->rules_asked = false;
    if (reply->error == 0) {
        host->rules_told = host->rules_sent;
        if (host->rules_told == hosts->rules_version) /* else newer ones follow */
            hosts_say(hosts, remote, "the new rules are in force");
        return;
    }
    if (!host->rules_failed)
        hosts_say(hosts, NULL, reply->line);
    host->rules_failed = true;
}

static void tell(struct hosts *hosts, struct metered_host *host)
{
    json_t *params =
        json_pack("{s:s, s:o}", "recording", HOSTS_RECORDING, "rules", hosts_rules(hosts));

    host->rules_asked = true;
    host->rules_sent = hosts->rules_version;
    remote_call(conduct_remote(hosts->conduct), host->remote, "recording.rules", params,
                CONDUCT_CALL_MS, take_answer, hosts);
}

/* What agents cannot do is said here, and the rules stay as they are. */
static int check(struct rules *rules, struct problem *problem)
{
    int result = hosts_rules_check(rules, problem);

    if (result < 0)
        rules_free(rules);
    return result;
}

static void look(struct hosts *hosts)
{
    struct rules_file *file = &hosts->recorder.rules_file;
    struct problem problem;
    struct rules *rules;
    char line[sizeof(problem.text) + 100];
    int result = rules_file_look(file, &rules, &problem);

    if (result > 0)
        result = check(rules, &problem) < 0 ? -EINVAL : 1;
    if (result < 0) {
        snprintf(line, sizeof(line), "%s; the rules stay as they were", problem.text);
        hosts_say(hosts, NULL, line);
    }
    if (result <= 0)
        return;
    rules_file_take(file, rules);
    hosts->rules_version++;
    snprintf(line, sizeof(line), "rules: %.400s has changed; each host says when it is in force",
             file->path);
    hosts_say(hosts, NULL, line);
    for (size_t i = 0; i < hosts->count; i++) {
        struct metered_host *host = &hosts->list[i];
        host->rules_failed = false; /* of the ones before */
        if (host->opened && !host->ended && host->remote->state != REMOTE_READY)
            hosts_say(hosts, host->remote,
                      "out of reach: it selects by the old rules until it is back");
    }
}

void hosts_rules_step(struct hosts *hosts)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (newest(hosts) == NULL)
        return;
    look(hosts);
    if (now - hosts->rules_tried < AGAIN_AFTER)
        return;
    hosts->rules_tried = now;
    for (size_t i = 0; i < hosts->count; i++) {
        struct metered_host *host = &hosts->list[i];
        if (host->opened && !host->ended && !host->rules_asked &&
            host->remote->state == REMOTE_READY && host->rules_told != hosts->rules_version)
            tell(hosts, host);
    }
}

void hosts_rules_end(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->list[i].opened && hosts->list[i].rules_told != hosts->rules_version)
            hosts_say(hosts, hosts->list[i].remote,
                      "it has not confirmed the new rules: it may have selected by the old ones "
                      "until the end");
}
