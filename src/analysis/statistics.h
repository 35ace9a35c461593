/* SPDX-License-Identifier: MIT */
/*
 * statistics.h: what the communication statistics remember while they read. Private to analysis/.
 *
 *      (origin, stream number)  --> streams[]   --process--> processes[]
 *      (origin, path number)    --> paths[]     --first_use--> uses[] --next--> uses[] ...
 *      (path, process)          --> uses[]      one process at one end of a path: its counters
 */
#ifndef DPM_STATISTICS_H
#define DPM_STATISTICS_H

#include "analysis/analysis.h"
#include "history/joining.h"

struct statistics_origin {
    bool seen;
    bool machine_known;
    uint32_t machine; /* index into machines */
    uint32_t meter_flags;
    uint32_t kinds_left_out;
    uint32_t meter;      /* enum meter_kind */
    uint64_t first_time; /* of its records, ns monotonic */
    uint64_t last_time;
    int64_t first_wall; /* the same, ns since 1970 */
    int64_t last_wall;
};

struct statistics_machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    char name[MACHINE_NAME_SIZE];
    bool known; /* there was a MACHINE record */
};

struct statistics_process {
    uint32_t origin;
    uint32_t number; /* of its first stream */
    uint32_t parent; /* number of the stream that created it, 0: not known */
    uint32_t pid;    /* 0: no identity record yet */
    uint32_t pid_inside;
    uint32_t pid_namespace;
    uint32_t user;
    uint32_t image;
    uint64_t cgroup;
    char name[STREAM_NAME_SIZE];
    uint64_t cpu;
    uint64_t failed_sends;
    uint64_t failed_receives;
    struct times times;
    struct queue_length queue;
    bool ended;
    bool leaves; /* folding: it has ended, and no path that stays knows it */
};

/* What was sent and received at a program counter. */
struct statistics_pc {
    uint32_t origin;
    uint32_t image;
    uint64_t pc;
    struct traffic sent;
    struct traffic received;
};

#define MOST_PCS 65536

struct procedures {
    struct intern keys;
    struct statistics_pc *counters; /* by index */
    size_t capacity;
    struct statistics_pc others; /* beyond MOST_PCS */
};

/* The counter a stream used last for one type of record. */
struct recent_pc {
    uint64_t pc;
    uint32_t image;
    uint32_t index;
    bool known;
};

struct statistics_stream {
    uint64_t waits_since;   /* its last RECEIVECALL, if nothing else was told since; or 0 */
    uint64_t blocked_since; /* the first SENDCALL of a call that goes on; or 0 */
    uint32_t process;       /* index into processes */
    bool known;             /* its identity record was seen */
    bool running;           /* proc_time is set */
    bool ended;
    uint64_t proc_time;         /* the last one seen, 48 bits */
    uint32_t image;             /* that it executes */
    struct recent_pc recent[2]; /* of its sends, of its receives */
};

/* What there is a histogram of. */
enum value_kind {
    VALUE_SENT,     /* bytes of a message */
    VALUE_RECEIVED, /* the same, only where sends are not metered: what the others sent */
    VALUE_ANSWER,   /* ns; of a server or a client */
    VALUE_WAITS,    /* from here on ns, in the order of enum time_kind: */
    VALUE_MESSAGE_WAIT = VALUE_WAITS,
    VALUE_RECEIVER_WAIT,
    VALUE_SENDER_BLOCKED,
    VALUE_DELIVERY,
    VALUE_KINDS,
};

/* A path of some hundred messages needs no histograms: more would cost more memory than it saves time. */
#define LATEST_MOST 40
#define KIND_BITS   3
#define VALUE_BITS  (32 - KIND_BITS)

_Static_assert(VALUE_KINDS <= 1 << KIND_BITS && LATEST_MOST <= UINT8_MAX, "latest has room");

/* A message of which pieces may still come: it is not among the values yet. Threads of one process use a
 * path at the same time, so it is a stream's. */
struct open_message {
    uint64_t size;   /* bytes so far */
    uint32_t stream; /* its number, which a folding does not change */
    uint8_t kind;    /* enum value_kind */
    bool any;        /* there is one */
};

#define ASIDE_MOST 16

/* Those of streams before the latest one. */
struct open_messages {
    uint32_t count;
    uint32_t next; /* once the list is full: which is taken for complete next */
    struct open_message list[ASIDE_MOST];
};

/* One process at one end of a path. What each record changes comes first. */
struct statistics_use {
    uint32_t path;    /* index into paths */
    uint32_t process; /* index into processes */
    uint32_t next;    /* index into uses + 1 of the same path, 0: last */
    uint8_t last;     /* EVENT_SEND, EVENT_RECEIVE, 0: nothing yet */
    bool serves;      /* a server */
    uint8_t latest_count;
    uint64_t last_time; /* of its last message */
    struct traffic sent;
    struct traffic received;
    struct open_message open[VALUE_ANSWER]; /* the latest message of each kind */
    struct open_messages *aside;            /* NULL: one stream at a time has used it so far */
    uint32_t latest[LATEST_MOST]; /* value << KIND_BITS | kind: not in the histograms yet */
    struct histogram *waits;      /* [VALUE_KINDS - VALUE_WAITS], or NULL: they have none */
    struct histogram histograms[VALUE_WAITS];
};

/* A message on its way to the other end of a path, or in its queue: queues.c. */
struct queue_message {
    uint64_t sent;        /* 0: by somebody who is not metered */
    uint64_t queued : 63; /* 0: not yet, as far as is known */
    uint64_t told : 1;    /* MESSAGEQUEUED has told when; else it is said to be when it was sent */
    uint32_t end;         /* position after it */
    uint32_t bytes;
};

#define NUMBERS_SEEN 1024

/* Which datagrams were received lately: duplicates.c. */
struct numbers_seen {
    uint64_t bits[NUMBERS_SEEN / 64];
    uint32_t highest;
    uint32_t last; /* received */
    bool any;
};

struct queue_arrival {
    uint64_t time;
    uint32_t end; /* up to this position */
};

struct queue {
    struct queue_message *messages; /* [first .. count), in the order of their positions */
    uint32_t first;
    uint32_t count;
    size_t capacity;
    struct queue_arrival *arrivals; /* of what no SEND has told yet */
    uint32_t arrival_count;
    size_t arrival_capacity;
    uint32_t taken; /* up to this position */
    uint32_t owner; /* index of the process that received last, or NO_PROCESS */
    bool has_taken;
    bool numbered; /* positions are numbers of messages */
    bool closed;   /* its receiver's end is: it is in its owner's length no more */
    bool travels;  /* it is queued after it was sent: TCP, UDP */
    bool
        repeats; /* some number was a multiple of 65,536 more than the one before: identifications of
                      IPv4 that say nothing */
    uint32_t sent_last; /* position after the latest message */
    uint32_t
        shift; /* to be subtracted from the receiver's numbers: both ends count identifications of IPv4
                       from 65,536 on by themselves */
    struct numbers_seen *seen; /* of UDP between machines; else NULL */
    uint64_t lost;             /* messages that were given up: nobody received them */
    struct queue_length length;
};

struct statistics_path {
    uint32_t origin;
    uint32_t number;
    uint32_t first_use; /* index into uses + 1 */
    uint32_t last_used; /* the same, of the use that was looked up last */
    bool known;
    bool byte_stream;  /* 0 bytes received are the end of file */
    uint8_t role;      /* enum path_role, of this end; guessed from the ports if need be */
    bool partner_used; /* the other end is metered, and somebody uses it */
    bool leaves;       /* folding: it has ended, and so has its other end */
    bool aged;         /* it had ended when the folding before came */
    bool reuses;       /* an earlier one had its addresses and ports */
    uint64_t messages; /* SEND and RECEIVE records */
    uint64_t dropped;
    uint64_t closed;        /* when it was, by the first origin's clock; 0: it is not */
    uint64_t duplicates;    /* datagrams that were received once more */
    uint32_t last_dropped;  /* the last count that DROPPED told, modulo 2^32 */
    struct queue *outgoing; /* of what it sends; NULL: nothing yet */
    struct queue *incoming; /* of what comes from somebody who is not metered; likewise */
    struct network network;
};

#define RECENT_NUMBERS 16384 /* a power of two */

/* Numbers of an origin, found by number; those found lately are found again without a look-up. */
struct number_table {
    struct intern numbers;
    struct recent_number {
        uint64_t key;
        uint32_t index_and_1; /* 0: none */
    } * recent;               /* [RECENT_NUMBERS] */
};

/* Return 0 or -ENOMEM; one that is all zero is done already. */
int number_table_new(struct number_table *table);
void number_table_clear(struct number_table *table);
void number_table_done(struct number_table *table);

#define WAITING_MOST 32

/* Records of events that are not in the tables yet. What each needs of these is somewhere else in
 * memory: when all of them wait for it at the same time, it takes hardly longer than for one. */
struct waiting_events {
    struct waiting_event {
        struct record record;
        uint32_t origin;
        int64_t wall_offset;
        int64_t clock_offset; /* to be added to its time for that of the first origin's clock */
        uint32_t stream;      /* index into streams ... */
        uint32_t path;        /* ... and into paths; NO_END: it has none */
    } list[WAITING_MOST];
    uint32_t count;
};

/* When what has ended is taken out of the tables, and how many rows it may have then. */
struct statistics_limits {
    uint32_t ended; /* paths and processes in the tables */
    uint32_t processes;
    uint32_t pairs;
    uint32_t paths;
};

#define ADDRESSES_KNOWN 65536

/* Hashes of addresses and ports that connections had: of the latest ADDRESSES_KNOWN at least, for a machine has
 * no more ports than that to choose from. */
struct addresses_had {
    struct intern latest;
    struct intern before; /* full: replaced when the latest are */
};

/* What does not grow with the paths and processes: a folding leaves it as it is. */
struct statistics_lasting {
    struct statistics_limits limits;
    struct statistics_origin *origins;
    size_t origin_capacity;
    uint32_t origin_count;
    struct statistics_machine *machines;
    size_t machine_capacity;
    uint32_t machine_count;
    struct procedures procedures;
    struct addresses_had addresses;
    struct traffic *intervals;
    size_t interval_count;
    size_t interval_capacity;
    uint64_t interval;      /* ns, 0: not asked for */
    int64_t interval_begin; /* of the first, wall time */
    uint64_t latest;        /* time of an event, by the first origin's clock; statistics.c */
    uint64_t events;
    uint64_t unknown_streams;
    uint64_t unseen_bytes;
    uint64_t unseen_sent_bytes;
};

struct statistics {
    struct statistics_lasting lasting;
    uint32_t ended;                /* paths and processes that have ended since the last folding */
    struct communication *past;    /* what was taken out; NULL: nothing yet */
    struct statistics *spare;      /* tables for the next folding, empty; NULL: none yet */
    struct identities *identities; /* of paths, machines, images, users and cgroups */
    struct number_table process_numbers;
    struct statistics_process *processes;
    size_t process_capacity;
    struct number_table stream_numbers;
    struct statistics_stream *streams;
    size_t stream_capacity;
    struct number_table path_numbers;
    struct statistics_path *paths;
    size_t path_capacity;
    struct intern use_keys;
    struct statistics_use *uses;
    size_t use_capacity;
    struct joiner joiner; /* ends are numbered like paths */
    struct waiting_events waiting;
};

/* ---- the tables: index of a number of an origin, new or known; a negative errno: out of memory ---- */

uint64_t number_key(uint32_t origin,
                    uint32_t number); /* by which they are found in a number_table */

int64_t statistics_process_index(struct statistics *statistics, uint32_t origin, uint32_t number);
int64_t statistics_stream_index(struct statistics *statistics, uint32_t origin, uint32_t number,
                                uint32_t process_number);
int64_t statistics_path_index(struct statistics *statistics, uint32_t origin, uint32_t number);

/* The counters of a process at an end of a path, or NULL: out of memory. */
struct statistics_use *statistics_find_use(struct statistics *statistics, uint32_t path_number,
                                           uint32_t process);

/* Tells the other end of a path that this one is used. */
void statistics_note_used(struct statistics *statistics, uint32_t path);

/* ---- messages.c: these return 0 or -ENOMEM ---- */

/* Counts a record in which a process uses a path, both known by their index. */
int statistics_add_use(struct statistics *statistics, const struct record *record, uint32_t index,
                       uint32_t process);

/* To which times the values of a use belong, by their kind. An answer is a server's or a client's. */
struct histogram *times_of(struct times *times, const struct statistics_use *use,
                           enum value_kind kind);

/* The use's own histogram of a kind; NULL: it has none. */
const struct histogram *use_histogram(const struct statistics_use *use, enum value_kind kind);

/* Adds those of a kind that are not in the use's histograms yet, nor times in its process's. */
int statistics_add_latest(const struct statistics_use *use, enum value_kind kind,
                          struct histogram *histogram, unsigned most);

/* Puts the latest values of a use into its histograms. Returns 0 or -ENOMEM. */
int statistics_spill(struct statistics_process *process, struct statistics_use *use);

/* Adds all values of a kind that a use has, to at most so many buckets. */
int statistics_add_values(const struct statistics_use *use, enum value_kind kind,
                          struct histogram *histogram, unsigned most);

/* Adds a value to the use, and if it is a time to its process. */
int statistics_add_value(struct statistics_process *process, struct statistics_use *use,
                         enum value_kind kind, uint64_t value);

/* Counts a SEND in its stretch of time. */
int statistics_count_in_time(struct statistics *statistics, const struct waiting_event *event);

/* ---- queues.c; `time` is when it happened, by the first origin's clock; these return 0 or -ENOMEM ---- */

/* A MESSAGEQUEUED of a path; a SEND on it; a RECEIVE by a use. */
int queues_arrived(struct statistics *statistics, uint32_t path, const struct record *record,
                   uint64_t time);
int queues_sent(struct statistics *statistics, uint32_t path, const struct record *record,
                uint64_t time);
int queues_received(struct statistics *statistics, struct statistics_use *use,
                    const struct record *record, uint64_t time);

/* Its path leaves the tables, or nobody can receive from it any more: what is in it is its owner's no
 * more. */
void queue_leaves(struct statistics *statistics, struct queue *queue);

/* What it comes to, `now` being the latest time. */
void queue_result(const struct queue *queue, uint64_t now, struct queue_length *ret_length);

void queue_free(struct queue *queue);

/* ---- duplicates.c ---- */

/* Whether a number is among the latest; and received. */
bool numbers_cover(const struct numbers_seen *seen, uint32_t number);
bool numbers_have(struct numbers_seen *seen, uint32_t number);
void numbers_note(struct numbers_seen *seen, uint32_t number);

/* ---- waits.c ---- */

static inline uint64_t time_since(uint64_t begin, uint64_t now)
{
    return now > begin ? now - begin : 0;
}

/* Any record of a stream: how long it has waited by then. `use`: of the path that it speaks of, or NULL.
 * Returns 0 or -ENOMEM. */
int waits_note(struct statistics *statistics, struct statistics_stream *stream,
               struct statistics_use *use, const struct record *record, uint64_t time);

/* ---- procedures.c ---- */

/* Counts a SEND or RECEIVE where it was made; `recent` is the stream's. */
int procedures_count(struct procedures *procedures, struct recent_pc *recent, uint32_t origin,
                     uint32_t image, const struct record *record);

/* Makes the result's rows. */
int procedures_build(const struct procedures *procedures, const struct identities *identities,
                     struct communication *result);

void procedures_done(struct procedures *procedures);

/* ---- what makers of a result share ---- */

/* Brings what waits into the tables. Returns 0 or -ENOMEM. */
int statistics_bring_in(struct statistics *statistics);

/* Empties the tables, and keeps their memory; the rest is as it was. */
void statistics_clear(struct statistics *statistics);

/* Takes what has ended out of the tables; its rows are in statistics->past from then on.
 * Returns 0 or -ENOMEM. */
int statistics_fold(struct statistics *statistics);

/* The rows of what is in the tables: all of it, or (`leaving`) of paths those that leave. */
int statistics_build(const struct statistics *statistics, bool leaving,
                     struct communication **ret_communication);

/* The pair of these parties, a new one if there is none: valid until the next is asked for. NULL: out
 * of memory. */
struct communication_pair *communication_pair(struct communication *communication,
                                              const struct party *from, const struct party *to);

/* Most bytes first. */
void communication_sort_pairs(struct communication *communication);
void communication_sort_paths(struct communication_path *paths, size_t count);

/* Both, and what each has sent in all: the last step to a result. Returns 0 or -ENOMEM. */
int communication_arrange(struct communication *communication);

/* Ascending: how a party lists its processes. */
void sort_numbers(uint32_t *numbers, size_t count);

void add_traffic(struct traffic *sum, const struct traffic *more);

void add_network(struct network *sum, const struct network *more);

void add_queue(struct queue_length *sum, const struct queue_length *more);

void times_done(struct times *times);

/* These return 0 or -ENOMEM. */
int add_times(struct times *sum, const struct times *more);
int add_process_sums(struct communication_process *sum, const struct communication_process *more);

/* Adds the pairs and paths of `from`, of whose processes number i is map[i] in the result. */
int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from);

/* Adds all rows of `from`, but none of its totals. */
int communication_merge(struct communication *into, const struct communication *from);

/* The same, and quicker: `from` can only be freed then. */
int communication_take(struct communication *into, struct communication *from);

/* Adds those totals that are sums over rows. */
void add_totals(struct communication *sum, const struct communication *more);

/* A copy with texts and histograms that belong to `result`. */
int copy_process(struct communication *result, const struct communication_process *from,
                 struct communication_process *to);

/* The same result, in which those processes for which folds[] is true share rows with their like. */
int communication_fold_processes(const struct communication *communication, const bool *folds,
                                 struct communication **ret_folded);

/* What processes that may share a row have in common: machine, program, user, container. */
uint64_t fold_key(const struct communication_process *process);

#endif
