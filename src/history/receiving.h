/* SPDX-License-Identifier: MIT */
/* receiving.h: a RECEIVE: which edges it has. See history_types.h. */
#ifndef DPM_RECEIVING_H
#define DPM_RECEIVING_H

#include "history/history_types.h"

/* Why a RECEIVE must wait, and until when. */
struct wait {
    uint32_t origin;   /* the origin whose records may end it */
    uint64_t deadline; /* progress of that origin beyond which to look again; UINT64_MAX: none */
    bool impatient;    /* progress of other streams may end it, too */
};

/* Looks at a RECEIVE at the head of its stream; `end` may be NULL. Returns 1 if it can be handed out: edges and rest
 * are in history->edges and *event, and what it took is removed. 0: it must wait, as *wait says. -ENOMEM. `forced`:
 * never waits, but uses what is there. */
int receiving_look(struct history *history, struct end *end, const struct record *record,
                   uint32_t origin, bool forced, struct wait *wait, struct history_event *event);

struct history_edge *history_add_edge(struct history *history);
/* Adds an edge of this kind from the event `from`, at the end with number `path` if that is at one. Returns 0 or
 * -ENOMEM. */
int history_add_edge_from(struct history *history, enum edge_kind kind, uint32_t origin,
                          uint32_t path, const struct beginning *from);

/* An event that is handed out, as a beginning of edges; `value` is index + 1 in the values. */
static inline struct beginning beginning_here(const struct history_event *event,
                                              const struct stream *stream,
                                              const struct record *record, uint32_t value)
{
    return (struct beginning){
        .number = event->number,
        .time = record->header.time,
        .when = event->when,
        .proc_time = event->proc_time,
        .stream = stream->number,
        .sequence = record->header.sequence,
        .value = value,
        .id = record->header.id,
    };
}

#endif
