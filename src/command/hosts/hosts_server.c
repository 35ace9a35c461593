/* SPDX-License-Identifier: MIT */
/* hosts_server.c: the server of a recording on several machines: does it answer? See hosts.h. */
#include "command/hosts/hosts.h"

#include <stdio.h>

#define SECOND    1000000000ULL /* ns */
#define LOOK_MOST (4 * SECOND)  /* between two looks */

/* The server may run, and yet answer nothing: nats-server does so when its disk is full. Then no notice comes either, so
 * no process seems to end. The agents end by themselves. */
static void give_up_if_silent(struct hosts *hosts)
{
    uint64_t alone = hosts->options->alone;
    uint64_t most = alone == 0 ? REMOTE_ALONE * SECOND : alone;
    char line[PATH_MAX + 300];

    most = most < FABRIC_SILENCE_USUAL ? FABRIC_SILENCE_USUAL : most;
    if (hosts->broken || hosts->silent < most)
        return;
    hosts->broken = true;
    snprintf(
        line, sizeof(line),
        "recording stopped: the session's server has not answered for %llu s; is its disk full "
        "(%.*s)?",
        most / SECOND, PATH_MAX,
        hosts->options->fabric == NULL ? remote_folder(conduct_remote(hosts->conduct))
                                       : hosts->options->fabric);
    hosts_say(hosts, NULL, line);
    for (size_t i = 0; i < hosts->count; i++)
        remote_leave_out(conduct_remote(hosts->conduct), hosts->list[i].remote, NULL);
}

/* Time in which this process was stopped does not count: it would not have heard an answer. */
static void note_silence(struct hosts *hosts, uint64_t passed)
{
    bool answers = fabric_silence(conduct_fabric(hosts->conduct)) < passed;

    hosts->silent = answers ? 0 : hosts->silent + (passed < LOOK_MOST ? passed : LOOK_MOST);
}

void hosts_look_at_server(struct hosts *hosts, uint64_t passed)
{
    note_silence(hosts, passed);
    give_up_if_silent(hosts);
}
