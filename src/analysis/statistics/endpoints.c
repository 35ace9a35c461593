/* SPDX-License-Identifier: MIT */
/* endpoints.c: endpoints of connections, and their usages. See endpoints.h. */
#include "analysis/statistics/duplicates.h"
#include "analysis/statistics/queues.h"
#include "analysis/statistics/statistics_state.h"
#include "analysis/statistics/unmonitored.h"

#include <stdlib.h>
#include <string.h>

/* ---- usages ---- */

void usage_done(struct usage *usage)
{
    for (enum value_kind kind = 0; usage->histograms != NULL && kind < VALUE_KINDS; kind++)
        histogram_done(&usage->histograms->of[kind]);
    free(usage->histograms);
    free(usage->open.aside);
}

static void free_usages(struct endpoint *endpoint)
{
    while (endpoint->usages != NULL) {
        struct usage *usage = endpoint->usages;
        endpoint->usages = usage->next;
        usage_done(usage);
        if (usage != &endpoint->first)
            free(usage);
    }
}

static struct usage *find_usage(const struct endpoint *endpoint, uint32_t process)
{
    struct usage *usage = endpoint->usages;

    while (usage != NULL && usage->process != process)
        usage = usage->next;
    return usage;
}

/* The partner need not count its receives if sends are recorded here. */
static void note_used(const struct statistics *statistics, const struct endpoint *endpoint)
{
    struct endpoint *partner = endpoint->partner;

    if (partner != NULL && partner != endpoint && endpoint->usages != NULL)
        partner->partner_tells = endpoint_sends_are_metered(statistics, endpoint);
}

struct usage *endpoint_usage(struct statistics *statistics, struct endpoint *endpoint,
                             uint32_t process)
{
    struct usage *usage = endpoint->last_used;

    if (usage != NULL && usage->process == process)
        return usage;
    usage = find_usage(endpoint, process);
    if (usage == NULL) {
        usage = endpoint->usages == NULL ? &endpoint->first : calloc(1, sizeof(*usage));
        if (usage == NULL)
            return NULL;
        usage->process = process;
        usage->next = endpoint->usages;
        endpoint->usages = usage;
        note_used(statistics, endpoint);
    }
    endpoint->last_used = usage;
    return usage;
}

/* ---- endpoints ---- */

bool endpoint_sends_are_metered(const struct statistics *statistics,
                                const struct endpoint *endpoint)
{
    return !recorded_leaves_out(&statistics->origins[endpoint->origin].recorded, EVENT_SEND);
}

bool endpoint_receives_are_metered(const struct statistics *statistics,
                                   const struct endpoint *endpoint)
{
    return !recorded_leaves_out(&statistics->origins[endpoint->origin].recorded, EVENT_RECEIVE);
}

void endpoint_join(const struct statistics *statistics, struct endpoint *endpoint,
                   struct endpoint *partner)
{
    endpoint->partner = partner;
    partner->partner = endpoint;
    note_used(statistics, endpoint);
    note_used(statistics, partner);
}

void endpoint_forget(struct statistics *statistics, struct endpoint *endpoint)
{
    free_usages(endpoint);
    strangers_free(endpoint->strangers);
    free(endpoint->seen);
    if (endpoint->partner != NULL)
        endpoint->partner->partner = NULL;
    if (endpoint->known)
        identities_release_path(statistics->identities, endpoint->origin, endpoint->number);
    *endpoint = (struct endpoint){0};
}

int endpoint_begin_again(struct statistics *statistics, struct endpoint *endpoint)
{
    const struct endpoint again = {
        .present = true,
        .known = true,
        .byte_stream = endpoint->byte_stream,
        .numbered = endpoint->numbered,
        .older = endpoint->older,
        .travels = endpoint->travels,
        .kind = endpoint->kind,
        .role = endpoint->role,
        .origin = endpoint->origin,
        .number = endpoint->number,
        .last_dropped = endpoint->last_dropped,
        .last_refused = endpoint->last_refused,
    };
    int result = ended_add(statistics, endpoint);

    *endpoint = again;
    identities_keep_path(statistics->identities, again.origin, again.number);
    return result;
}

struct endpoint *endpoint_of(struct statistics *statistics, const struct history_event *event,
                             uint32_t number)
{
    struct endpoint *endpoint = places_at(&statistics->endpoints, event->end_place - 1);

    if (endpoint == NULL)
        return NULL;
    if (endpoint->present && endpoint->number == number && endpoint->origin == event->event.origin)
        return endpoint;
    if (endpoint->present && ended_add(statistics, endpoint) < 0)
        return NULL;
    *endpoint = (struct endpoint){
        .present = true,
        .origin = event->event.origin,
        .number = number,
    };
    return endpoint;
}
