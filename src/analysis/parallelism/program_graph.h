/* SPDX-License-Identifier: MIT */
/*
 * program_graph.h: the program history graph, for the analyses of time. Private to parallelism/.
 *
 *      history_event --> program_graph.c --> lengths of paths, in the same pass    (steps max and delay)
 *                              |
 *                              '--> stretches.c: the condensed graph, in a file    (processor_sharing.c)
 *
 * A chain runs one thing at a time: it is a stream, or a process if that counts as one stream. It is a list of
 * stretches, each a CPU burst and the wait after it:
 *
 *      chain   | cpu ...... wait | cpu .. wait | cpu ............. |
 *                            ^                  \
 *                            '- another's stretch '- others may wait for its end
 */
#ifndef DPM_PROGRAM_GRAPH_H
#define DPM_PROGRAM_GRAPH_H

#include "analysis/command_seen.h"
#include "analysis/parallelism/parallelism.h"
#include "base/covered.h"
#include "base/lookup.h"
#include "base/scratch.h"

/* ---- stretches ---- */

enum stretch_wait {
    STRETCH_RUNS, /* it does not wait */
    /* until a message of `weight` bytes, sent at the end of `source`, has arrived */
    STRETCH_MESSAGE,
    STRETCH_SIGNAL, /* the same for a message without length: buffer space, a connection */
    STRETCH_ORDER,  /* until `source` has ended */
    STRETCH_SINCE,  /* until this time has passed since the end of `source` */
    STRETCH_SLEEP,  /* for this time */
    /* it does not wait; `weight` is number + 1 of the chain that begins at its end */
    STRETCH_CREATES,
};

#define STRETCH_CPU_BITS   44
#define STRETCH_CPU_MOST   ((1ULL << STRETCH_CPU_BITS) - 1)
#define STRETCH_USERS_MOST 2047u

struct stretch {
    uint64_t cpu : STRETCH_CPU_BITS; /* ns, before the wait */
    uint64_t wait : 3;               /* enum stretch_wait */
    uint64_t shift : 5;              /* for a time: it is weight << shift ns */
    uint64_t users : 11;             /* how many wait for its end; STRETCH_USERS_MOST: or more */
    /* with it, something came from an unmonitored peer, or was sent there as an answer; MESSAGE: it ended a sleep */
    uint64_t meets : 1;
    uint32_t chain;
    uint32_t next;   /* distance to the next one of its chain; 0: it is the last */
    uint32_t source; /* index */
    uint32_t
        weight; /* SIGNAL, ORDER: with `shift` the time for which the chain slept until then, 0: it did not */
};

_Static_assert(sizeof(struct stretch) == 24, "a stretch is 24 bytes");

#define NO_STRETCH UINT32_MAX

/* All stretches, each behind those that it waits for. */
struct stretches {
    struct stretch *at;
    uint32_t count;
    size_t room;
    int file; /* without a name */
};

/* Returns 0, or a negative errno with a line in `problem`. */
int stretches_open(struct stretches *stretches, const char *directory, struct problem *problem);
void stretches_close(struct stretches *stretches);

/* Index of a new one, which is all zero; or -ENOSPC, -ENOMEM, -EFBIG ... */
int64_t stretches_add(struct stretches *stretches);

/* Reserves capacity for so many. Returns 0 or an error as above. */
int stretches_reserve(struct stretches *stretches, size_t count);

static inline uint64_t stretch_time(const struct stretch *stretch)
{
    return (uint64_t)stretch->weight << stretch->shift;
}

#define STRETCH_TIME_MOST (1ULL << 50) /* ns, 13 days: more is damage, and sums could overflow */

/* The time as a stretch stores it: 32 leading bits, so times above 4 s lose a few ns. */
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

/* An assignment, applied to the existing processes. */
struct placed {
    const struct assignment *assignment;
    uint32_t *machines; /* ASSIGNED: [process_room], by process number */
    size_t process_room;
    /* ASSIGNED, AS_RECORDED: [between_side * between_side]; NULL: all the same */
    struct delay *between;
    size_t between_side;
    bool unlimited;  /* every stream has its own processor */
    bool same_speed; /* all machines are as fast as those of the recording */
};

struct graph;

int placed_init(struct placed *placed, const struct assignment *assignment,
                const struct delays *delays);
void placed_done(struct placed *placed);

struct graph_machine;

/* So many machines of the recording are known. Returns 0 or -ENOMEM. */
int placed_note_machines(struct placed *placed, const struct delays *delays,
                         const struct graph_machine *recorded, size_t count);

/* A process has appeared or was renamed. Returns 0 or -ENOMEM. */
int placed_add(struct placed *placed, uint32_t process, const struct parallelism_process *is);

/* Index of the machine of a process; `recorded`: its machine in the recording. */
uint32_t placed_machine(const struct placed *placed, uint32_t process, uint32_t recorded);

double placed_speed(const struct placed *placed, uint32_t machine);

/* ns, for a message of so many bytes from one machine to another. */
uint64_t placed_delay(const struct placed *placed, const struct delays *delays, uint32_t from,
                      uint32_t to, uint64_t bytes);

/* Time from the end of a stretch's source to the end of the stretch's wait, ns. */
uint64_t placed_delay_of_arc(const struct graph *graph, const struct placed *placed,
                             const struct stretch *stretch);

/* ---- the graph ---- */

/* How far along the longest paths a point is. The history keeps it with events. */
struct reached {
    uint32_t stretch;  /* index + 1 of the stretch that ends here; 0: none */
    uint32_t process;  /* NO_PROCESS_NUMBER: left out */
    uint64_t length[]; /* ns, [graph.lengths] */
};

#define NO_PROCESS_NUMBER UINT32_MAX

struct chain {
    uint32_t number; /* among all chains so far */
    uint32_t process;
    uint32_t streams; /* live ones ... */
    uint32_t began;   /* ... and all so far */
    uint32_t last;    /* its last stretch, index + 1 */
    uint64_t pending; /* ns of CPU time after that ... */
    uint64_t no_cpu;  /* ... and ns in which it could run, but had no CPU */
    uint64_t cpu;     /* ns, in all */
    uint64_t time;    /* of its latest event */
    uint64_t pc;      /* of its latest event, if stretches are seen; in `image` */
    uint32_t origin;
    uint32_t image;
    uint64_t length[];
};

enum sleeping { AWAKE, RECEIVES, WAITS_FOR_ANY, SENDS };

struct graph_stream {
    uint32_t origin;
    uint32_t number;
    uint32_t process; /* NO_PROCESS_NUMBER: left out */
    uint32_t chain;   /* pool index + 1; 0: nothing of it seen yet */
    bool ended;
    bool runs;          /* proc_time is known */
    bool has_sent;      /* and has received nothing since ... */
    bool waited;        /* ... and has waited since */
    bool met;           /* it came to a path while asleep: awake since then ... */
    bool told;          /* its identity has reported its CPU time: before its first event ... */
    uint8_t sleeps;     /* enum sleeping */
    uint64_t start;     /* when it was created, by its origin's clock */
    uint64_t told_time; /* ... at this time, and the latest ... */
    uint64_t told_last; /* ... at this time */
    uint64_t proc_time;
    uint64_t since; /* when it fell asleep */
    uint64_t
        no_cpu;     /* ns since then in which it was awake without a CPU, before its latest event */
    uint64_t slept; /* ... and how long it has slept, ns */
    uint64_t stopped;    /* when a signal stopped it; 0: it is not stopped */
    uint64_t sent;       /* CPU time at its latest send ... */
    uint64_t sent_when;  /* ... time of that send, by its origin's clock */
    uint64_t sent_turn;  /* ... CPU time from the send before that to it */
    uint64_t used;       /* ... and CPU time used since, until it waited */
    uint32_t sent_row;   /* ... and the row of the result for it */
    uint32_t moments;    /* other_load.c: its number + 1; 0: it has none */
    bool seen_born;      /* ... it was created during the recording */
    uint64_t waited_cpu; /* ... how long it had waited for a CPU at its latest SCHEDULE */
    struct reached at;   /* where it fell asleep or ended */
};

/* The latest SEND into a path without a known metered receiver. */
struct request {
    uint64_t number; /* of that event */
    uint64_t time;
    uint64_t heard; /* until when its answer, maybe in pieces, has been counted; 0: none has come */
    struct reached at;
};

/* The row of the result that counts what a process sends by a path. */
struct turn_place {
    uint32_t origin;
    uint32_t path;
    uint32_t process;
    uint32_t row;
};

struct chain_start {
    uint32_t first; /* stretch; NO_STRETCH: none */
    uint32_t process;
    bool created; /* by a stretch of another chain; else it begins at 0 */
};

struct graph_origin {
    uint32_t machine;
    uint64_t first; /* time of the first event; 0: none yet */
    uint64_t last;
    struct recorded_types recorded;
    bool tells_ends;    /* TERMINATION is in force: a silent stream lives on */
    bool tells_wakeups; /* WAKEUP is in force */
};

struct graph_machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    uint32_t cpus;
    char name[MACHINE_NAME_SIZE + 1];
    char addresses[MACHINE_ADDRESSES_SIZE + 1]; /* separated by blanks */
};

#define RECENT_STREAMS 64   /* found without a lookup */
#define ENDED_STREAMS  8192 /* still known for a while */

/* Called for each new stretch, and when the replay comes to it again. `edge`: the edge of the event that it waits for;
 * UINT32_MAX: none. Returns 0 or a negative errno. */
typedef int see_stretch_function(void *context, uint32_t index, const struct chain *chain,
                                 uint32_t edge);

struct graph {
    const struct parallelism_options *options;
    const struct history *history;
    struct placed *placed; /* [options->assignment_count] */
    uint32_t
        lengths; /* 0: step max; 1 + i: step delay of assignment i, or only the first one if all are the same */
    bool has_delays; /* messages may take time */
    struct lookup stream_numbers;
    struct lookup process_numbers;
    struct lookup process_chains; /* if processes are streams: number of a process -> chain */
    struct lookup paths;          /* -> requests */
    struct lookup turn_rows;      /* hash of process and address -> row of the result's paths */
    size_t turn_room;
    struct turn_place *turn_places; /* by the history's index of the path's end */
    size_t turn_place_room;
    struct pool streams;
    struct pool chains;
    struct pool requests;
    struct graph_stream *recent[RECENT_STREAMS]; /* by number */
    uint32_t ended[ENDED_STREAMS];               /* pool indexes, circular */
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
    struct command_seen command;
    uint32_t command_end; /* stretch at whose end the command ended, index + 1; 0: not known */
    bool keeps;           /* stretches are kept */
    struct stretches stretches;
    see_stretch_function *see; /* or NULL */
    void *context;
    bool again;        /* it is replayed */
    uint32_t replayed; /* stretches so far */
    uint32_t edge;     /* of the present event, while it is processed */
    bool answers;      /* the arc of an answer from outside leads to the event added last: ... */
    struct outside_arc answer;       /* ... this one */
    struct parallelism result_again; /* of the replay */
    uint64_t *longest;               /* [lengths] of chains that have ended */
    uint64_t *arrive;                /* [lengths], scratch for one event */
    struct reached *here;            /* scratch for one arc */
    struct scratch moments;          /* other_load.c ... */
    uint32_t moment_streams;         /* ... of so many streams */
    size_t value;                    /* offset of its bytes in the values that the history keeps */
    struct covered outside, asleep, locks; /* of the result's waits, by wall clocks */
    struct parallelism *result;
};

/* `result` is filled in while events are added. Errors: -ENOMEM and those of stretches_open. */
int graph_init(struct graph *graph, const struct parallelism_options *options,
               struct history *history, struct parallelism *result, struct problem *problem);
void graph_done(struct graph *graph);

/* Returns 0, -ENOMEM, or an error of stretches_add or `see`. */
int graph_add(struct graph *graph, const struct history_event *event);

/* Begins the replay: the next events are those of `again`, of the same traces. They make the same stretches, and `see`
 * is called for each. -ESTALE, during the replay or at its end: they differ. */
void graph_replay(struct graph *graph, struct history *again, see_stretch_function *see,
                  void *context);

/* To be called after the last event: turns pending CPU time into stretches, and sets `longest` for all chains. Errors
 * as in graph_add. */
int graph_finish(struct graph *graph);

/* Puts a line into `problem` for an error of graph_add or graph_finish, and returns the error. */
int graph_explain(int error, struct problem *problem);

uint32_t graph_machine_of(const struct graph *graph, const struct placed *placed, uint32_t process);

/* ---- step 3 ---- */

/* Simulates the stretches of a finished graph. Returns t_max in ns: of step sharing, where streams share the processors
 * of their machines; of step delay with placed->unlimited. Errors: -ENOMEM; -EDEADLK: some stretches never end, which
 * is impossible without cycles. */
int sharing_simulate(const struct graph *graph, const struct placed *placed, uint64_t *ret_longest);

/* What differs from the recording in a simulation, and when its stretches end. */
struct sharing_run {
    double (*cpu)(void *context, uint32_t stretch); /* ns of CPU time */
    const uint32_t
        *machines; /* [processes]: number of their machine; NULL: as the assignment says */
    /* ns, from the end of the stretch's source to the end of its wait; of a sleep, of it */
    double (*wait)(void *context, uint32_t stretch);
    /* ns without a CPU, because of others, after that or before it: whichever comes last */
    double (*no_cpu)(void *context, uint32_t stretch);
    void *context;
    double *ends; /* [stretches]: filled in; negative: its wait determined it, not its own chain */
};

/* As sharing_simulate, with these changes. */
int sharing_run(const struct graph *graph, const struct placed *placed,
                const struct sharing_run *run);

/* The reweighting algorithm of the thesis' appendix A: t_max in ns. Errors: those of sharing_simulate, and those of its
 * copy of the weights in a file. */
int appendix_a_reweight(const struct graph *graph, const struct placed *placed,
                        uint64_t *ret_longest, struct problem *problem);

/* Its first half: every chain advances by the same slices of process time. Fills in what the CPU time of each stretch
 * then weighs, ns; `weights`: [stretches], all zero. Errors as in sharing_simulate. */
int sharing_weigh(const struct graph *graph, const struct placed *placed, double *weights);

/* ---- slices of step 3 ---- */

/* Collects them during a simulation. */
struct slicing {
    const struct graph *graph;
    const struct placed *placed;
    struct parallelism_slices *slices;
    double *rates; /* of all chains now: filled in before slices_pass, which sets them to 0 */
};

/* Fills in the result's. Errors: those of sharing_simulate; -E2BIG: there is more than a picture can show. */
int slices_find(const struct graph *graph, struct parallelism *parallelism,
                struct problem *problem);

void slices_begin_chain(struct slicing *slicing, uint32_t chain, uint32_t machine, double now);
void slices_end_chain(struct slicing *slicing, uint32_t chain, double now);

/* Time passes until then. Returns 0, -ENOMEM or -E2BIG. */
int slices_pass(struct slicing *slicing, double until);

/* A stretch waits for one that has ended `sent`, or is created at its end. Returns as above. */
int slices_arc(struct slicing *slicing, uint32_t from, uint32_t to, double sent, double came,
               bool message);

void slices_free(struct parallelism_slices *slices);

/* As sharing_simulate; errors also those of slices_pass. */
int sharing_slice(const struct graph *graph, const struct placed *placed, struct slicing *slicing);

/* ---- tasks of others (OTHER_LOAD_SEEN) ---- */

/* Errors: those of scratch_open. */
int other_load_open(struct graph *graph, struct problem *problem);

/* For each event, before it is added; does nothing unless that is wanted. Errors: those of scratch_add. */
int other_load_add(struct graph *graph, const struct event *event);

/* After the last event: fills in the result's. Returns 0 or -ENOMEM. */
int other_load_find(struct graph *graph);

/* On a machine of an assignment, also if they are given. */
double other_load_of(const struct graph *graph, const struct placed *placed, uint32_t machine);

/* ---- t_max of each process ---- */

/* Fills in `longest` of the processes, from the stretches of a finished graph. Errors: those of a file for it. */
int process_paths_find(const struct graph *graph, struct parallelism *parallelism,
                       struct problem *problem);

/* ---- the search for an assignment ---- */

/* Searches one (SEARCHED), and stores it in `placed` and *ret_search; the caller frees its machines. Errors: those of
 * sharing_simulate. */
int assignment_search(const struct graph *graph, struct placed *placed,
                      struct parallelism_search *ret_search);

/* Fills in what the result has of a finished graph, but for names (parallelism.c). Errors: those of parallelism_finish. */
int parallelism_complete(struct graph *graph, struct parallelism *result, struct problem *problem);

/* Notes the command lines of the result's processes, and which have equal names (parallelism.c). After the last event.
 * Returns 0 or -ENOMEM. */
int parallelism_name_processes(struct parallelism *parallelism,
                               const struct identities *identities);

#endif
