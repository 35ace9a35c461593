/* SPDX-License-Identifier: MIT */
/*
 * connection_findings.c: how programs use connections: small sends that are held back, a connection for each request,
 * and requests that queue for a pooled connection. See findings.h.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>

/* ---- Nagle's algorithm ---- */

#define HELD_FEW 3 /* less may be chance */

static const struct held_messages *held_by(const struct communication_path *path, int from)
{
    return from == 0 ? &path->held_sent : &path->held_received;
}

/* A retransmitted message is late for another reason. */
static bool may_be_held(const struct communication_path *path, int from)
{
    const struct held_messages *held = held_by(path, from);

    return held->messages >= HELD_FEW &&
           (!path->network.known || held->messages > 2 * path->network.retransmitted);
}

static int add_nagle(const struct communication *communication,
                     const struct communication_path *path, int from, struct findings *findings)
{
    const struct held_messages *held = held_by(path, from);
    const struct party *sender = &path->ends[from];
    uint32_t process = sender->count == 1 ? sender->processes[0] : NO_PROCESS;
    uint64_t time = held->time;

    if (process != NO_PROCESS && communication->processes[process].covered.held < time)
        time = communication->processes[process].covered.held;
    if ((double)time < FINDING_SMALL * (double)communication->duration)
        return 0;
    struct finding *finding =
        findings_add(findings, FINDING_NAGLE, findings_share(time, communication->duration));
    if (finding == NULL)
        return -ENOMEM;
    finding->nagle.path = path;
    finding->nagle.from = from;
    finding->nagle.process = process;
    finding->nagle.messages = held->messages;
    finding->nagle.of = from == 0 ? path->sent.messages : path->received.messages;
    finding->nagle.mean = held->time / held->messages;
    finding->nagle.time = time;
    return 0;
}

/* Of the connections whose messages were held back longest. */
static int find_nagle(const struct communication *communication, struct findings *findings)
{
    uint64_t below = UINT64_MAX;
    int result = 0;

    for (int found = 0; found < FINDINGS_FEW && result == 0; found++) {
        const struct communication_path *longest = NULL;
        uint64_t most = 0;
        int from = 0;
        for (size_t i = 0; i < communication->path_count; i++)
            for (int end = 0; end < 2; end++) {
                uint64_t time = held_by(&communication->paths[i], end)->time;
                if (time <= most || time >= below || !may_be_held(&communication->paths[i], end))
                    continue;
                longest = &communication->paths[i];
                most = time;
                from = end;
            }
        if (longest == NULL)
            return 0;
        below = most;
        result = add_nagle(communication, longest, from, findings);
    }
    return result;
}

int findings_of_connections(const struct findings_from *from, struct findings *findings)
{
    return find_nagle(from->communication, findings);
}
