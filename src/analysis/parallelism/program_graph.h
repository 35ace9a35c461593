/* SPDX-License-Identifier: MIT */
/*
 * program_graph.h: the program history graph, as the analyses of time see it. Private to parallelism/.
 *
 *      history_event --> program_graph.c --> lengths of paths, at once             (steps max and delay)
 *                              |
 *                              '--> stretches.c: the condensed graph, in a file    (processor_sharing.c)
 *
 * A chain is what runs one thing at a time: a stream; or a process, if that counts as one stream. What
 * it does is a list of stretches:
 *
 *      chain   | cpu ...... wait | cpu .. wait | cpu ............. |
 *                            ^                  \
 *                            '- another's stretch '- others may wait for its end
 */
#ifndef DPM_PROGRAM_GRAPH_H
#define DPM_PROGRAM_GRAPH_H

#include "analysis/parallelism/parallelism.h"
#include "base/lookup.h"

/* ---- stretches ---- */

enum stretch_wait {
    STRETCH_RUNS,    /* it does not wait */
    STRETCH_MESSAGE, /* until a message of `weight` bytes, sent at the end of `source`, has come */
    STRETCH_SIGNAL,  /* the same, of a message of no length: room, a connection */
    STRETCH_ORDER,   /* until `source` has ended */
    STRETCH_SINCE,   /* until this time has passed since the end of `source` */
    STRETCH_SLEEP,   /* this time */
    STRETCH_CREATES, /* it does not wait; `weight` is the number + 1 of the chain that begins at its end */
};

#define STRETCH_CPU_BITS   44
#define STRETCH_CPU_MOST   ((1ULL << STRETCH_CPU_BITS) - 1)
#define STRETCH_USERS_MOST 2047u

struct stretch {
    uint64_t cpu : STRETCH_CPU_BITS; /* ns, before it waits */
    uint64_t wait : 3;               /* enum stretch_wait */
    uint64_t shift : 5;              /* of a time: it is weight << shift ns */
    uint64_t critical : 1;           /* its wait determined when it ended (step 1) */
    uint64_t users : 11;             /* that wait for its end; STRETCH_USERS_MOST: or more */
    uint32_t chain;
    uint32_t next;   /* how much further the next one of its chain stands; 0: it is the last */
    uint32_t source; /* index */
    uint32_t weight;
};

_Static_assert(sizeof(struct stretch) == 24, "a stretch is 24 bytes");

#define NO_STRETCH UINT32_MAX

/* All stretches, in an order in which none stands before what it waits for. */
struct stretches {
    struct stretch *at;
    uint32_t count;
    size_t room;
    int file; /* has no name */
};

/* Returns 0, or a negative errno with a line in `problem`. */
int stretches_open(struct stretches *stretches, const char *directory, struct problem *problem);
void stretches_close(struct stretches *stretches);

/* Index of a new one that is all zero; or -ENOSPC, -ENOMEM, -EFBIG ... */
int64_t stretches_add(struct stretches *stretches);

/* Makes room for so many. Returns 0 or an error as above. */
int stretches_reserve(struct stretches *stretches, size_t count);

static inline uint64_t stretch_time(const struct stretch *stretch)
{
    return (uint64_t)stretch->weight << stretch->shift;
}

#define STRETCH_TIME_MOST                                                                          \
    (1ULL << 50) /* ns, 13 days: longer ones are damage, and sums must stay numbers */

/* The time as a stretch can hold it: 32 leading bits, so of more than 4 s a few ns are cut off. */
static inline uint64_t stretch_whole_time(uint64_t time)
{
    unsigned shift = 0;

    if (time > STRETCH_TIME_MOST)
        return STRETCH_TIME_MOST;

    while (time >> shift > UINT32_MAX)
        shift++;
    return time >> shift << shift;
}

/* ---- where processes run ---- */

/* An assignment, for the processes there are. */
struct placed {
    const struct assignment *assignment;
    uint32_t *machines; /* ASSIGNED: [process_room], by number of the process */
    size_t process_room;
    struct delay *
        between; /* ASSIGNED, AS_RECORDED: [between_side * between_side], or NULL: none is different */
    size_t between_side;
    bool unlimited;  /* every stream has a processor of its own */
    bool same_speed; /* all machines are as fast as those where it was recorded */
};

struct graph;

int placed_init(struct placed *placed, const struct assignment *assignment,
                const struct delays *delays);
void placed_done(struct placed *placed);

struct graph_machine;

/* So many machines are known where it was recorded. Returns 0 or -ENOMEM. */
int placed_note_machines(struct placed *placed, const struct delays *delays,
                         const struct graph_machine *recorded, size_t count);

/* A process has appeared, or has another name. Returns 0 or -ENOMEM. */
int placed_add(struct placed *placed, uint32_t process, const struct parallelism_process *is);

/* Index of the machine of a process; `recorded`: where it was recorded. */
uint32_t placed_machine(const struct placed *placed, uint32_t process, uint32_t recorded);

double placed_speed(const struct placed *placed, uint32_t machine);

/* ns, of a message of so many bytes from one machine to another. */
uint64_t placed_delay(const struct placed *placed, const struct delays *delays, uint32_t from,
                      uint32_t to, uint64_t bytes);

/* ---- the graph ---- */

/* How far along the longest paths a point is. It is kept with events by the history. */
struct reached {
    uint32_t stretch;  /* index + 1 of the one that ends here; 0: none does */
    uint32_t process;  /* NO_PROCESS_NUMBER: it is left out */
    uint64_t length[]; /* ns, [graph.lengths] */
};

#define NO_PROCESS_NUMBER UINT32_MAX

struct chain {
    uint32_t number; /* of all there were */
    uint32_t process;
    uint32_t streams; /* that live ... */
    uint32_t began;   /* ... and all there were */
    uint32_t last;    /* stretch, index + 1 */
    uint64_t pending; /* ns of processor time behind it */
    uint64_t cpu;     /* ns, of all of it */
    uint64_t time;    /* of its latest event */
    uint64_t pc;      /* of its latest event, if the graph is replayed; in ... */
    uint32_t origin;
    uint32_t image;
    uint64_t length[];
};

enum sleeping { AWAKE, RECEIVES, WAITS_FOR_ANY, SENDS };

struct graph_stream {
    uint32_t origin;
    uint32_t number;
    uint32_t process; /* NO_PROCESS_NUMBER: left out */
    uint32_t chain;   /* pool index + 1; 0: nothing of it was seen */
    bool ended;
    bool runs;          /* proc_time is known */
    bool has_sent;      /* and received nothing since ... */
    bool waited;        /* ... but has waited for something */
    bool met;           /* a path, asleep: it is awake since then ... */
    bool told;          /* its identity has told its processor time: before its first event ... */
    uint8_t sleeps;     /* enum sleeping */
    uint64_t start;     /* when it was created, its origin's clock */
    uint64_t told_time; /* ... that, and last ... */
    uint64_t told_last; /* ... that */
    uint64_t proc_time;
    uint64_t since;     /* it sleeps */
    uint64_t slept;     /* ... and has slept so long, ns */
    uint64_t stopped;   /* when, by a signal; 0: it is not */
    uint64_t sent;      /* processor time when it sent last ... */
    uint64_t sent_when; /* ... its origin's clock then */
    uint64_t sent_turn; /* ... and the processor time before that */
    uint64_t used;      /* ... and of it, until it has waited */
    uint32_t sent_row;  /* ... and of the result, where */
    struct reached at;  /* where it fell asleep, or ended */
};

/* The latest SEND into a path of which nobody metered is known to receive. */
struct request {
    uint64_t time;
    struct reached at;
};

/* Which row of the result counts what a process sends by a path. */
struct turn_place {
    uint32_t origin;
    uint32_t path;
    uint32_t process;
    uint32_t row;
};

struct chain_start {
    uint32_t first; /* stretch; NO_STRETCH: it has none */
    uint32_t process;
    bool created; /* by a stretch of another; else it begins at 0 */
};

struct graph_origin {
    uint32_t machine;
    uint64_t first; /* time of the first event, 0: none yet */
    uint64_t last;
    bool tells_ends;    /* TERMINATION is in force: who tells nothing more lives on */
    bool tells_wakeups; /* WAKEUP is */
};

struct graph_machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    uint32_t cpus;
    char name[MACHINE_NAME_SIZE + 1];
    char addresses[MACHINE_ADDRESSES_SIZE + 1]; /* separated by blanks */
};

#define RECENT_STREAMS 64   /* are found without a lookup */
#define ENDED_STREAMS  8192 /* are known for a while */

/* Called when the graph comes to a stretch again. `edge`: of the event, that it waits for; UINT32_MAX: none. Returns 0 or
 * a negative errno. */
typedef int see_stretch_function(void *context, uint32_t index, const struct chain *chain,
                                 uint32_t edge);

struct graph {
    const struct parallelism_options *options;
    const struct history *history;
    struct placed *placed; /* [options->assignment_count] */
    uint32_t lengths;      /* 0: step max; 1 + i: step delay of assignment i */
    struct lookup stream_numbers;
    struct lookup process_numbers;
    struct lookup process_chains; /* if processes are streams: of a process's number */
    struct lookup paths;          /* -> requests */
    struct lookup turn_rows; /* hash of a process and an address -> row of the result's paths */
    size_t turn_room;
    struct turn_place *turn_places; /* by the history's place of the path's end */
    size_t turn_place_room;
    struct pool streams;
    struct pool chains;
    struct pool requests;
    struct graph_stream *recent[RECENT_STREAMS]; /* by number */
    uint32_t ended[ENDED_STREAMS];               /* pool indexes, a ring */
    uint32_t ended_first;
    uint32_t ended_count;
    struct graph_origin *origins;
    size_t origin_room;
    struct graph_machine *machines;
    size_t machine_room;
    uint32_t machine_count;
    size_t process_room;
    struct chain_start *starts; /* of all chains */
    size_t start_room;
    uint32_t chain_count;
    bool keeps; /* stretches */
    struct stretches stretches;
    see_stretch_function *see; /* NULL: it is not replayed */
    void *context;
    uint32_t replayed;        /* stretches */
    uint32_t edge;            /* of the event, being looked at */
    struct parallelism again; /* the result of a replay */
    uint64_t *longest;        /* [lengths] of chains that have ended */
    uint64_t *arrive;         /* [lengths], scratch of one event */
    struct reached *here;     /* scratch of one arc */
    size_t value;             /* where its bytes begin in what the history keeps with events */
    struct parallelism *result;
};

/* `result` is filled as events come. Errors: -ENOMEM and those of stretches_open. */
int graph_init(struct graph *graph, const struct parallelism_options *options,
               struct history *history, struct parallelism *result, struct problem *problem);
void graph_done(struct graph *graph);

/* Returns 0, -ENOMEM, or an error of stretches_add or `see`. */
int graph_add(struct graph *graph, const struct history_event *event);

/* From now on events of `again`, of the same traces, come once more, make the same stretches, and `see` is told of each.
 * -ESTALE, then or at the end: they do not. */
void graph_replay(struct graph *graph, struct history *again, see_stretch_function *see,
                  void *context);

/* After the last event: what is pending becomes stretches, and `longest` that of all chains. Errors as graph_add. */
int graph_finish(struct graph *graph);

/* A line in `problem` for an error of graph_add or graph_finish, which it returns. */
int graph_explain(int error, struct problem *problem);

uint32_t graph_machine_of(const struct graph *graph, const struct placed *placed, uint32_t process);

/* ---- step 3 ---- */

/* How long it takes if streams share the processors of their machines, or (placed->unlimited) have one each: t_max of
 * step sharing, or of step delay, ns. Goes through the stretches of
 * a finished graph. Errors: -ENOMEM; -EDEADLK: some never end, which a graph without circles cannot have. */
int sharing_simulate(const struct graph *graph, const struct placed *placed, uint64_t *ret_longest);

/* ---- a good assignment ---- */

/* Looks for one (SEARCHED), and puts it into `placed` and *ret_search, whose machines are the caller's to free. Errors:
 * those of sharing_simulate. */
int assignment_search(const struct graph *graph, struct placed *placed,
                      struct parallelism_search *ret_search);

#endif
