/* SPDX-License-Identifier: MIT */
/*
 * graph_private.h: what the files of the program history graph share. Private to them.
 *
 *      program_graph.c     every event of the history
 *        |-- graph_events.c    what it makes longer
 *        |-- graph_arcs.c      what leads to it
 *        |-- graph_turns.c     whether it is an answer that its stream only waited for
 *        '-- graph_chains.c    which stream and chain it belongs to
 */
#ifndef DPM_GRAPH_PRIVATE_H
#define DPM_GRAPH_PRIVATE_H

#include "analysis/parallelism/program_graph.h"
#include "meter/shared/message.h"

/* What the graph keeps with an event, from its value or that of an edge; NULL: nothing. */
static inline struct reached *graph_value(const struct graph *graph, const void *value)
{
    return history_value_at(value, graph->value);
}

/* ---- graph_chains.c: return 0 or an index, or -ENOMEM; those that add stretches also errors of stretches_add ---- */

int graph_note_machine(struct graph *graph, uint32_t origin, const struct machine_record *record);

/* MACHINE or FLAGS says which types are recorded. */
void graph_note_flags(struct graph *graph, uint32_t origin, const struct record_header *record);
int graph_note_identity(struct graph *graph, uint32_t origin, const struct stream_record *record);

/* NULL: there is none. */
struct graph_stream *graph_find_stream(struct graph *graph, uint32_t origin, uint32_t number);

/* NULL: out of memory. */
struct graph_stream *graph_find_or_add_stream(struct graph *graph, uint32_t origin,
                                              uint32_t number);

/* Number of a process, by the number of its first stream. `record` may be NULL: its identity was lost. */
int64_t graph_find_or_add_process(struct graph *graph, uint32_t origin, uint32_t first,
                                  const struct stream_record *record);

/* For a stream that has a chain. */
struct chain *graph_chain_of(const struct graph *graph, const struct graph_stream *stream);

/* Adds a stretch with the pending CPU time to a chain. Returns its index + 1; 0: stretches are not kept. */
int64_t graph_add_stretch(struct graph *graph, struct chain *chain, enum stretch_wait wait,
                          uint32_t source, uint64_t weight);

/* The stretch at whose end the chain is now, index + 1; 0: stretches are not kept. */
int64_t graph_end_here(struct graph *graph, struct chain *chain);

/* For the first event of a stream, and for its last. */
int graph_begin_chain(struct graph *graph, struct graph_stream *stream);
int graph_end_stream(struct graph *graph, struct graph_stream *stream, bool last_of_process);

/* Updates the longest lengths with those of a chain. */
void graph_end_chain(struct graph *graph, struct chain *chain);

/* Counts how long the stream has lived, up to the latest event of its origin. */
void graph_count_life(struct graph *graph, const struct graph_stream *stream);

/* Stores the present point of a chain. */
void graph_reach(struct graph *graph, struct reached *reached, const struct chain *chain,
                 uint32_t stretch);

/* ---- graph_arcs.c: return 0 or an error as above ---- */

/* What leads to an event, filled in step by step. */
struct arrival {
    const struct history_event *event;
    struct graph_stream *stream;
    struct chain *chain;
    uint64_t cpu;
    bool slept;
    uint64_t waited;        /* ns of sleep that it ended ... */
    uint64_t waited_before; /* ... and of the wait before, if it is a BLOCK */
    bool answered;          /* something metered has arrived that may have ended its wait ... */
    bool woken;             /* ... or a WAKEUP reports what has ended it */
    bool explained;         /* one of these ... */
    bool ends_block;        /* ... and not only of the wait before a BLOCK ... */
    bool ended_before;      /* ... which a WAKEUP reports to be over */
};

/* Fills in what the history's edges show. */
void graph_look_at_edges(struct graph *graph, struct arrival *arrival);

/* For the first event of a chain: sets where the chain begins. To be called before stretches are added to it. */
void graph_add_creation(struct graph *graph, const struct arrival *arrival);

/* Adds arcs for the other edges of the history. */
int graph_add_edges(struct graph *graph, struct arrival *arrival);

/* Notes a SEND that may go to an unmonitored peer; forgets it when its path is closed. */
int graph_note_request(struct graph *graph, const struct arrival *arrival);
void graph_forget_path(struct graph *graph, uint32_t origin, uint32_t path);

/* For a RECEIVE from an unmonitored peer: adds an arc of the elapsed time since the same process sent there (thesis,
 * figure 5.3). */
int graph_add_outside(struct graph *graph, struct arrival *arrival);

/* Counts a wait of so many ns until `end`, by the clock of the event's origin. */
void graph_count_wait(struct waits *waits, struct covered *covered, const struct arrival *arrival,
                      uint64_t end, uint64_t time);

/* Nothing explains its sleep: adds an arc of that time, from where it fell asleep. */
int graph_add_sleep(struct graph *graph, struct arrival *arrival, uint64_t time);

/* ---- graph_turns.c: return 0 or -ENOMEM ---- */

/* For a SEND, or for what ends its turn: counts SENDs whose stream waits for the answer at once. */
int graph_note_turn(struct graph *graph, const struct arrival *arrival);

/* ---- graph_events.c: return 0 or an error as above ---- */

int graph_add_event(struct graph *graph, struct graph_stream *stream,
                    const struct history_event *event);

/* For STREAM records: CPU time that no event reports. The record may be handed out long before older events, as those
 * wait for what they receive; so it counts at the end. */
void graph_note_time(struct graph *graph, const struct event *event);

/*
 * At the end: adds CPU time that a live stream has used since its latest event, or without any. Returns 0 or -ENOMEM.
 */
int graph_add_rest(struct graph *graph, struct graph_stream *stream);

#endif
