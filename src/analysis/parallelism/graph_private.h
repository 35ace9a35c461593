/* SPDX-License-Identifier: MIT */
/*
 * graph_private.h: what the files of the program history graph share. Private to them.
 *
 *      program_graph.c     every event of the history
 *        |-- graph_events.c    what it makes longer
 *        |-- graph_arcs.c      what leads to it
 *        |-- graph_turns.c     whether it is an answer that was waited for at once
 *        '-- graph_chains.c    whose it is
 */
#ifndef DPM_GRAPH_PRIVATE_H
#define DPM_GRAPH_PRIVATE_H

#include "analysis/parallelism/program_graph.h"
#include "meter/shared/message.h"

/* What the graph has kept with an event, of its value or that of an edge; NULL: nothing. */
static inline struct reached *graph_value(const struct graph *graph, const void *value)
{
    return history_value_at(value, graph->value);
}

/* ---- graph_chains.c; 0 or an index, or -ENOMEM; stretches also as stretches_add ---- */

int graph_note_machine(struct graph *graph, uint32_t origin, const struct machine_record *record);
int graph_note_identity(struct graph *graph, uint32_t origin, const struct stream_record *record);

/* NULL: there is none. */
struct graph_stream *graph_find_stream(struct graph *graph, uint32_t origin, uint32_t number);

/* NULL: out of memory. */
struct graph_stream *graph_find_or_add_stream(struct graph *graph, uint32_t origin,
                                              uint32_t number);

/* Number of a process, by that of its first stream; `record` may be NULL: its identity was lost. */
int64_t graph_find_or_add_process(struct graph *graph, uint32_t origin, uint32_t first,
                                  const struct stream_record *record);

/* Of a stream that has one. */
struct chain *graph_chain_of(const struct graph *graph, const struct graph_stream *stream);

/* Adds a stretch to a chain, with the processor time that is pending. Its index + 1; 0: none are kept. */
int64_t graph_add_stretch(struct graph *graph, struct chain *chain, enum stretch_wait wait,
                          uint32_t source, uint64_t weight);

/* The stretch at whose end the chain is now, index + 1; 0: none are kept. */
int64_t graph_end_here(struct graph *graph, struct chain *chain);

/* The first event of a stream, and its last. */
int graph_begin_chain(struct graph *graph, struct graph_stream *stream);
int graph_end_stream(struct graph *graph, struct graph_stream *stream, bool last_of_process);

/* What a chain has come to, if it is the longest. */
void graph_end_chain(struct graph *graph, struct chain *chain);

/* Where a chain is now. */
void graph_reach(struct graph *graph, struct reached *reached, const struct chain *chain,
                 uint32_t stretch);

/* ---- graph_arcs.c; 0 or an error as above ---- */

/* What leads to an event, as it is found out. */
struct arrival {
    const struct history_event *event;
    struct graph_stream *stream;
    struct chain *chain;
    uint64_t cpu;
    bool slept;
    bool answered;  /* something metered has come that may have ended its wait ... */
    bool woken;     /* ... or who has ended it tells so: WAKEUP */
    bool explained; /* either of them */
};

/* What of this the edges of the history tell. */
void graph_look_at_edges(struct graph *graph, struct arrival *arrival);

/* If the event is the first of a chain, where that begins: to be called before stretches are added to it. */
void graph_add_creation(struct graph *graph, const struct arrival *arrival);

/* The other edges of the history. */
int graph_add_edges(struct graph *graph, struct arrival *arrival);

/* A SEND to somebody who may be outside; its path is closed. */
int graph_note_request(struct graph *graph, const struct arrival *arrival);
void graph_forget_path(struct graph *graph, uint32_t origin, uint32_t path);

/* A RECEIVE from outside: since the same process has sent something there, this time has passed (thesis, figure 5.3). */
int graph_add_outside(struct graph *graph, struct arrival *arrival);

/* Nothing explains why it slept so long: an arc of that time, from where it fell asleep. */
int graph_add_sleep(struct graph *graph, struct arrival *arrival, uint64_t time);

/* ---- graph_turns.c; 0 or -ENOMEM ---- */

/* A SEND, or what ends its turn: who waits at once for an answer. */
int graph_note_turn(struct graph *graph, const struct arrival *arrival);

/* ---- graph_events.c; 0 or an error as above ---- */

int graph_add_event(struct graph *graph, struct graph_stream *stream,
                    const struct history_event *event);

/* STREAM: processor time that no event tells. It may come long before events that are older, as those wait for what they
 * receive; so it counts at the end. */
void graph_note_time(struct graph *graph, const struct event *event);

/* At the end: what a stream that lives on has used since its latest event, or without any. Returns 0 or -ENOMEM. */
int graph_add_rest(struct graph *graph, struct graph_stream *stream);

#endif
