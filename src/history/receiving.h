/* SPDX-License-Identifier: MIT */
/* receiving.h: a RECEIVE: which edges it has. See history_types.h. */
#ifndef DPM_RECEIVING_H
#define DPM_RECEIVING_H

#include "history/history_types.h"

/* Why a RECEIVE must wait, and until when. */
struct wait {
    uint32_t origin;   /* whose records may bring the end of it */
    uint64_t deadline; /* its progress beyond which it is to be looked at again; UINT64_MAX: none */
    bool impatient;    /* other streams' going on may be the end of it */
};

/* Looks at a RECEIVE at the head of its stream; `end` may be NULL. 1: it can be handed out, and edges and
 * rest are in history->edges and *event; what it took is taken. `forced`: with what there is. 0: it must
 * wait, *wait tells for what. -ENOMEM. */
int receiving_look(struct history *history, struct end *end, const struct record *record,
                   uint32_t origin, bool forced, struct wait *wait, struct history_event *event);

struct history_edge *history_add_edge(struct history *history);
/* One of this kind from where `from` says, at the end with number `path` if it is a path's. Returns 0 or -ENOMEM. */
int history_add_edge_from(struct history *history, enum edge_kind kind, uint32_t origin,
                          uint32_t path, const struct beginning *from);

/* An event that is handed out, as where edges may begin; `value` is its place in the values. */
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
