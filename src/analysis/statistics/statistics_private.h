/* SPDX-License-Identifier: MIT */
/*
 * statistics_private.h: what the communication statistics remember while they read. Private to statistics/.
 *
 *      (origin, stream number)  --> stream ------process-----> row of the result so far
 *      (origin, path number)    --> path --first_use--> use --next--> use ...
 *      (path, process)          --> use      one process at one end of a path: its counters
 *
 * When both ends of a connection have ended, and it is not among the largest, what its uses have counted is added
 * to those of the row of its like: alike.c.
 */
#ifndef DPM_STATISTICS_PRIVATE_H
#define DPM_STATISTICS_PRIVATE_H

#include "analysis/statistics/reuse.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/value_runs.h"
#include "base/lookup.h"
#include "ends/joining.h"
#include "meter/shared/message.h"

/* Another machine's event may be older than the first one's boot, where its clock began: so that no time
 * is negative, all are counted from here. */
#define CLOCK_BASE (1ULL << 62)

/* What was sent while its origin's clock was not known: intervals.c. */
struct early_sends {
    struct early_send {
        uint64_t time; /* by the origin's own clock */
        struct traffic sent;
    } * list;
    size_t capacity;
    uint32_t count;
};

struct statistics_origin {
    bool seen;
    bool machine_known;
    uint32_t
        reference; /* the origin to whose clock messages tell how far it is; 0: the first one */
    int64_t
        clock_offset; /* to the first origin's clock, as all times that are kept were told ... */
    int64_t exact_offset; /* ... and as known now: clocks.c */
    uint32_t machine;     /* index into machines */
    uint32_t meter_flags;
    uint32_t kinds_left_out;
    uint32_t meter;      /* enum meter_kind */
    struct record cost;  /* what the recording cost; its id is 0: that is not known */
    uint64_t first_time; /* of its records, ns monotonic */
    uint64_t last_time;
    struct early_sends early;
};

struct statistics_machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    char name[MACHINE_NAME_SIZE];
    bool known; /* there was a MACHINE record */
};

/* What a process has done stands in its row of the result; this is beside it, at the same index. */
struct statistics_process {
    uint64_t most_messages_at; /* when the most were in its queues, by the first origin's clock */
    uint64_t most_bytes_at;
    uint64_t ended_at; /* by that clock, too */
    uint32_t image;
    bool ended;
    bool leaves; /* folding: it has ended, and no path that stays knows it */
    bool left;   /* it did: its row says all that is known */
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
    uint32_t index_and_1; /* 0: none */
};

/* A stream's wait: waits.c. */
struct stream_wait {
    uint64_t since; /* by its own clock; 0: it does not wait */
    uint64_t proc_time;
    uint32_t path; /* number, 0: for any of several */
};

/* What each record looks at comes first. */
struct statistics_stream {
    uint32_t process;   /* index into processes */
    uint32_t image;     /* that it executes */
    uint64_t proc_time; /* the last one seen, 48 bits */
    bool present;       /* false: it is not in use */
    bool known;         /* its identity record was seen */
    bool running;       /* proc_time is set */
    bool ended;
    uint32_t number;
    struct stream_wait waits; /* since its last RECEIVECALL, if nothing else was told since */
    uint32_t origin;
    struct stream_wait blocked; /* since the first SENDCALL of a call that goes on */
    uint64_t told_time;         /* as proc_time, of its identity, for the end; 0: none */
    struct recent_pc recent[2]; /* of its sends, of its receives */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct statistics_stream) == 128, "a stream is two lines of the cache");

#define LATEST_MOST 21 /* with them a struct use_latest has two lines of the cache */

_Static_assert(LATEST_MOST <= UINT8_MAX, "latest has room");
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

/* How the values of a use are distributed. */
struct use_values {
    struct histogram of[VALUE_KINDS];
};

/* Of a use that lives: messages that are not complete, and values that are not distributed yet. */
struct use_latest {
    struct open_message open[VALUE_ANSWER]; /* the latest message of each kind */
    struct open_messages *aside;            /* NULL: one stream at a time has used it so far */
    uint32_t run;                 /* its latest run of values + 1: value_runs.c; 0: none */
    uint32_t values[LATEST_MOST]; /* since then: value << KIND_BITS | kind */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct use_latest) == 128, "it is two lines of the cache");

/* One process at one end of a path, or of the connections that share a row. */
struct statistics_use {
    union {
        uint32_t path; /* index into paths */
        uint32_t run;  /* it shares a row: its latest run of values + 1; 0: none */
    };
    uint32_t process; /* index into rows->processes */
    uint32_t next;    /* index into uses + 1 of the same path, 0: last */
    uint32_t latest;  /* index into latest + 1, 0: it shares a row */
    uint32_t values;  /* index into values + 1, 0: it has had few so far */
    uint8_t last;     /* EVENT_SEND, EVENT_RECEIVE, 0: nothing yet */
    bool serves;      /* a server */
    uint8_t latest_count;
    bool precise;       /* its values have many buckets */
    uint64_t last_time; /* of its last message */
    struct traffic sent;
    struct traffic received;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct statistics_use) == 64, "a use is one line of the cache");

/* What the kernel has told of a path: DROPPED, NETWORK. */
struct path_told {
    uint64_t dropped;
    uint32_t last_dropped; /* the last count that DROPPED told, modulo 2^32 */
    struct network network;
};

struct statistics_path {
    uint32_t first_use; /* index into uses + 1 */
    uint32_t last_used; /* the same, of the use that was looked up last */
    uint32_t
        partner; /* index of the other end, NO_END: it is not metered, or not known yet. The joiner has it,
                           too, but in another line of the cache */
    uint8_t role; /* enum path_role, of this end; guessed from the ports if need be */
    bool known;
    bool byte_stream;   /* 0 bytes received are the end of file */
    bool partner_tells; /* the other end is used, and what it sends is recorded there */
    uint64_t messages;  /* SEND and RECEIVE records */
    uint32_t outgoing;  /* index into queues + 1, of what it sends; 0: nothing yet */
    uint32_t incoming;  /* of what comes from somebody who is not metered; likewise */
    uint32_t origin;
    uint32_t number;
    uint32_t told;       /* struct path_told: index + 1; 0: nothing */
    bool present : 1;    /* false: it is not in use */
    bool leaves : 1;     /* folding: it has ended, and so has its other end */
    bool settled : 1;    /* it did, and stays: it is one of the largest */
    bool aged : 1;       /* it had ended when the folding before came */
    bool reuses : 1;     /* an earlier one had its addresses and ports */
    uint64_t closed;     /* when it was, by the first origin's clock; 0: it is not */
    uint64_t duplicates; /* datagrams that were received once more */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct statistics_path) == 64, "a path is one line of the cache");

#define RECENT_NUMBERS 16384 /* a power of two */

/* Numbers of origins to indexes; those asked for lately are found without a look-up. */
struct number_table {
    struct lookup numbers;
    struct __attribute__((packed, aligned(4))) recent_number {
        uint64_t key;
        uint32_t index_and_1; /* 0: none */
    } * recent;               /* [RECENT_NUMBERS] */
};

#define WAITING_MOST 32

/* Records of events that are not counted yet: waiting.c. */
struct waiting_events {
    struct waiting_event {
        struct record record;
        uint32_t origin;
        uint32_t stream; /* index; LOOKUP_NONE: it was not known */
        uint32_t path;   /* the same of the path that it uses, if it uses any */
    } list[WAITING_MOST];
    uint32_t count;
};

/* When what has ended is taken out of the tables, and how many rows it may have then. */
struct statistics_limits {
    uint32_t ended; /* paths and processes in the tables, beside a share of what lives */
    uint32_t processes;
    uint32_t pairs;
    uint32_t largest; /* connections that keep rows of their own */
    uint32_t paths;   /* rows that others share */
};

/* Connections of which one end has left before the other was told of: halves.c. */
struct halves {
    struct addresses_had ends; /* that have left alone */
    uint64_t split;            /* whose other end came later */
};

/* What else connections have in common that share a row, and who used them. */
struct alike {
    uint32_t first_use[2]; /* of the local end, of the remote one */
    bool by_sends[2];      /* connections.h */
    bool local;
    bool to_itself;
    bool of_kind; /* only the kind is common: what the uses had counted is distributed already */
};

/* Rows of connections that have ended and are not among the largest: alike.c. */
struct alike_rows {
    struct alike *alike; /* beside each of rows->paths */
    size_t alike_capacity;
    size_t capacity;    /* of rows->paths */
    struct intern keys; /* of what they have in common: an index into `found` */
    uint32_t *found;    /* indexes into rows->paths */
    size_t found_capacity;
};

/* Of paths. */
struct indexes {
    uint32_t *list;
    size_t capacity;
    uint32_t count;
};

struct statistics {
    struct statistics_limits limits;
    struct statistics_origin *origins;
    size_t origin_capacity;
    uint32_t origin_count;
    struct statistics_machine *machines;
    size_t machine_capacity;
    uint32_t machine_count;
    struct procedures procedures;
    struct addresses_had addresses;
    struct halves halves;
    bool counts_only;
    struct traffic *intervals;
    size_t interval_count;
    size_t interval_capacity;
    uint64_t interval;       /* ns, 0: not asked for */
    uint64_t interval_begin; /* of the first, by the first origin's clock */
    uint64_t latest_time;    /* of an event, by the first origin's clock: events.c */
    uint64_t events;
    uint64_t unknown_streams;
    uint64_t unseen_bytes;
    uint64_t unseen_sent_bytes;

    /* what lives, what has ended lately, and the largest of what has ended */
    struct identities *identities; /* of paths, machines, images, users and cgroups ... */
    bool
        shares_identities; /* ... which are somebody else's, who knows each record before it comes here */
    struct number_table stream_numbers;
    struct pool streams;
    struct number_table path_numbers;
    struct pool paths;
    struct pool told;          /* of some of them */
    struct lookup use_numbers; /* by path and process */
    struct pool uses;
    struct pool latest; /* of those of paths */
    struct pool values; /* of those that have had more */
    uint32_t precise;   /* of these */
    struct pool queues;
    struct rooms messages;      /* of queues */
    struct joiner joiner;       /* ends are numbered like paths */
    uint32_t ended;             /* paths and processes that have ended since the last folding */
    uint32_t lingering;         /* processes that have ended, and have not left */
    struct indexes ended_paths; /* that may leave */
    struct indexes leaving;     /* while it is folded */
    uint32_t settled;           /* connections */
    struct traffic least;       /* of the smallest that is settled since there were too many */
    struct waiting_events waiting;

    /* the result so far: all processes, connections that share rows */
    struct communication *rows;
    struct number_table process_numbers; /* of rows, but for those that are shared */
    size_t process_capacity;
    struct statistics_process *processes; /* beside each of rows->processes */
    size_t process_state_capacity;
    struct alike_rows alike_rows;
    struct value_runs value_runs;
};

#define LINE 64 /* bytes, of the processor's cache */

/* What is asked for together arrives together. */
static inline void fetch(const void *object, size_t lines)
{
    for (size_t i = 0; object != NULL && i < lines; i++)
        __builtin_prefetch((const char *)object + i * LINE, 1);
}

/* ---- the tables: index of a number of an origin, new or known; a negative errno: out of memory ---- */

int64_t statistics_process_index(struct statistics *statistics, uint32_t origin, uint32_t number);
int64_t statistics_stream_index(struct statistics *statistics, uint32_t origin, uint32_t number,
                                uint32_t process_number);
int64_t statistics_path_index(struct statistics *statistics, uint32_t origin, uint32_t number);

/* They stay where they are until they are removed. */
static inline struct statistics_stream *stream_at(const struct statistics *statistics,
                                                  uint32_t index)
{
    return pool_at_sized(&statistics->streams, index, sizeof(struct statistics_stream));
}

static inline struct statistics_path *path_at(const struct statistics *statistics, uint32_t index)
{
    return pool_at_sized(&statistics->paths, index, sizeof(struct statistics_path));
}

/* NULL: nothing was told. */
static inline struct path_told *told_of(const struct statistics *statistics,
                                        const struct statistics_path *path)
{
    return path->told == 0 ? NULL : pool_at(&statistics->told, path->told - 1);
}

/* `index_and_1`: a first_use, or a use's next. NULL: there is none. */
static inline struct statistics_use *use_at(const struct statistics *statistics,
                                            uint32_t index_and_1)
{
    return index_and_1 == 0
               ? NULL
               : pool_at_sized(&statistics->uses, index_and_1 - 1, sizeof(struct statistics_use));
}

static inline struct statistics_use *next_use(const struct statistics *statistics,
                                              const struct statistics_use *use)
{
    return use_at(statistics, use->next);
}

/* NULL: it shares a row. */
static inline struct use_latest *latest_of(const struct statistics *statistics,
                                           const struct statistics_use *use)
{
    return use->latest == 0
               ? NULL
               : pool_at_sized(&statistics->latest, use->latest - 1, sizeof(struct use_latest));
}

/* NULL: it has had few so far. */
static inline struct use_values *values_of(const struct statistics *statistics,
                                           const struct statistics_use *use)
{
    return use->values == 0 ? NULL : pool_at(&statistics->values, use->values - 1);
}

/* What a process has done so far; valid until the next process is known. */
static inline struct communication_process *process_row(const struct statistics *statistics,
                                                        uint32_t process)
{
    return &statistics->rows->processes[process];
}

/* What is known already; LOOKUP_NONE. */
uint32_t number_table_find(const struct number_table *table, uint32_t origin, uint32_t number);

/* Return 0 or -ENOMEM. */
int number_table_set(struct number_table *table, uint32_t origin, uint32_t number, uint32_t index);
int statistics_tables_new(struct statistics *statistics);

void number_table_remove(struct number_table *table, uint32_t origin, uint32_t number);
void number_table_clear(struct number_table *table);
void statistics_tables_done(struct statistics *statistics);

/* Adds one more. Returns 0 or -ENOMEM. */
int indexes_add(struct indexes *indexes, uint32_t index);

/* Takes one out; a path with its uses and queues. */
void statistics_remove_stream(struct statistics *statistics, uint32_t index);
void statistics_remove_path(struct statistics *statistics, uint32_t index);

/* Frees a list of uses, which are in no table. */
void statistics_free_uses(struct statistics *statistics, uint32_t *first_use);

/* The uses of a path are found by it and their process; or not any more. */
int statistics_find_uses(struct statistics *statistics, uint32_t path);
void statistics_hide_uses(struct statistics *statistics, uint32_t path);

/* The counters of a process at an end of a path, or NULL: out of memory. */
struct statistics_use *statistics_find_use(struct statistics *statistics, uint32_t path_number,
                                           uint32_t process);

/* Tells the other end of a path that this one is used. */
void statistics_note_used(struct statistics *statistics, uint32_t path);

/* Sends are what is counted; where they are not recorded, receives must do. */
static inline bool sends_are_metered(const struct statistics *statistics, uint32_t path)
{
    uint32_t flags = statistics->origins[path_at(statistics, path)->origin].meter_flags;

    return flags == 0 || flags & EVENT_FLAG(EVENT_SEND);
}

/* ---- waiting.c: these return 0 or -ENOMEM ---- */

/* An event waits to be counted. */
int statistics_let_wait(struct statistics *statistics, const struct event *event);

/* Counts all that waits: before a record that is no event, and before a result. */
int statistics_bring_in(struct statistics *statistics);

/* ---- clocks.c ---- */

/* What is to be added to times of an origin from now on. Where that is another clock than before, what was noted of its
 * times is moved. Returns 0 or -ENOMEM. */
int statistics_set_clock(struct statistics *statistics, uint32_t origin, int64_t offset,
                         uint32_t reference);

/* The same for each record: mostly it is what is known already. */
static inline int statistics_note_clock(struct statistics *statistics, uint32_t origin,
                                        int64_t offset, uint32_t reference)
{
    const struct statistics_origin *of = &statistics->origins[origin];

    return of->seen && of->exact_offset == offset && of->reference == reference
               ? 0
               : statistics_set_clock(statistics, origin, offset, reference);
}

/* Of its records, by the first origin's clock, or as near to it as the clocks of the day are. */
static inline uint64_t first_time_of(const struct statistics_origin *origin)
{
    return CLOCK_BASE + origin->first_time + (uint64_t)origin->clock_offset;
}

static inline uint64_t latest_time_of(const struct statistics_origin *origin)
{
    return CLOCK_BASE + origin->last_time + (uint64_t)origin->clock_offset;
}

/* What is to be added to the time from a moment of `from` to one of `to`, so that it is exact. */
static inline int64_t clock_correction(const struct statistics *statistics, uint32_t from,
                                       uint32_t to)
{
    const struct statistics_origin *a = &statistics->origins[from], *b = &statistics->origins[to];

    return (int64_t)((uint64_t)b->exact_offset - (uint64_t)b->clock_offset -
                     (uint64_t)a->exact_offset + (uint64_t)a->clock_offset);
}

/* Whether times of these two origins can be compared. */
static inline bool have_comparable_clocks(const struct statistics *statistics, uint32_t a,
                                          uint32_t b)
{
    const struct statistics_origin *one = &statistics->origins[a], *other = &statistics->origins[b];

    return one->reference == other->reference || one->machine == other->machine;
}

/* ---- statistics.c, events.c ---- */

/* Who tells of the records has noted their identities already, and they are used instead of own ones. To be said before
 * the first record; they must live as long as the statistics. */
void statistics_share_identities(struct statistics *statistics, struct identities *identities);

/* Counts an event: any record that says neither who or what others speak of nor how the recording went. Returns 0
 * or -ENOMEM. */
int statistics_add_event(struct statistics *statistics, const struct waiting_event *event);

/* So much has ended that it is worth while to take it out. */
bool statistics_have_ended_enough(const struct statistics *statistics);

/* Whether it is a SEND or a RECEIVE. (Which of them nobody can predict: there is no branch for it.) */
static inline bool record_is_message(const struct record *record)
{
    const uint32_t messages = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_RECEIVE);

    return record->header.id < 32 && (messages >> record->header.id & 1);
}

/* Whether a record of a stream is about a path, which a process uses then. A RECEIVECALL of no path waits for any of
 * several. */
static inline bool record_uses_path(const struct record *record)
{
    const uint32_t users = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) |
                           EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_RECEIVE) |
                           EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT);

    return record->header.id < 32 && (users >> record->header.id & 1) &&
           (record->header.id != EVENT_RECEIVECALL || record->message.path != 0);
}

/* CPU time that a stream had used by then. */
void note_cpu_time(struct statistics *statistics, struct statistics_stream *stream,
                   uint64_t proc_time);

/* Before a result: what has been used since their latest events by streams that live, as far as their identities told. */
void statistics_count_told_times(struct statistics *statistics);

/* The result for the last time: it takes over what was collected, which takes less memory, and the statistics can only be
 * freed then. */
int statistics_finish_last(struct statistics *statistics, const struct source_state *states,
                           uint32_t origins, struct communication **ret_communication);

/* ---- halves.c ---- */

/* An end leaves, and nothing was told of the other one. Returns 0 or -ENOMEM. */
int halves_left(struct statistics *statistics, const struct path_record *record);

/* An end is told of that has no partner yet: that may have left. */
void halves_came(struct statistics *statistics, const struct path_record *record);

/* ---- messages.c: these return 0 or -ENOMEM ---- */

/* Counts a SEND or RECEIVE of a use; `time`: by the first origin's clock. */
int statistics_add_message(struct statistics *statistics, struct statistics_use *use,
                           const struct record *record, uint64_t time);

/* To which times the values of a use belong, by their kind. An answer is a server's or a client's. */
enum time_kind time_kind_of(const struct statistics_use *use, enum value_kind kind);
struct histogram *times_of(struct times *times, const struct statistics_use *use,
                           enum value_kind kind);

/* Adds those of a kind that are not in the use's histograms yet, nor times in its process's. */
int statistics_add_latest(const struct statistics *statistics, const struct statistics_use *use,
                          enum value_kind kind, struct histogram *histogram, unsigned most);

/* Adds all that a use has counted to one of connections that share a row (index into uses), and its latest times to its
 * process. Returns 0 or -ENOMEM. */
int statistics_add_to_alike(struct statistics *statistics, struct statistics_use *use,
                            uint32_t alike);

/* Adds values that were gathered to those of a use, and leaves none; not to those of its process. */
int statistics_add_gathered(struct statistics *statistics, struct statistics_use *use,
                            enum value_kind kind, struct histogram_gathering *gathering);

/* Adds all values of a kind that a use has, to at most so many buckets. */
int statistics_add_values(const struct statistics *statistics, const struct statistics_use *use,
                          enum value_kind kind, struct histogram *histogram, unsigned most);

/* Adds a value to the use that the record being counted is about, and if it is a time to its process. */
int statistics_add_value(struct statistics *statistics, struct statistics_use *use,
                         enum value_kind kind, uint64_t value);

/* A piece of a call counts as bytes of the same message. */
static inline void count_message(struct traffic *traffic, const struct record *record)
{
    traffic->bytes += record->message.bytes;
    traffic->messages += (record->header.flags & RECORD_CONTINUED) == 0;
}

/* ---- intervals.c: these return 0 or -ENOMEM ---- */

/* Counts a SEND, or the RECEIVE of what was sent by somebody who is not metered, in its stretch of time; `time`: by the
 * first origin's clock, as far as it is known. */
int intervals_count(struct statistics *statistics, uint32_t origin, const struct record *record,
                    uint64_t time);

/* Before a result: what has waited for the clocks of its origin is counted by what is known of them now. */
int intervals_count_early(struct statistics *statistics);

/* ---- waits.c ---- */

static inline uint64_t time_since(uint64_t begin, uint64_t now)
{
    return now > begin ? now - begin : 0;
}

/* Any record of a stream: how long it has waited by then. `use`: of the path that it speaks of, or NULL.
 * Returns 0 or -ENOMEM. */
int waits_follow(struct statistics *statistics, struct statistics_stream *stream,
                 struct statistics_use *use, const struct record *record);

/* The same, at little cost where nobody waits. */
static inline int waits_note(struct statistics *statistics, struct statistics_stream *stream,
                             struct statistics_use *use, const struct record *record)
{
    return record_is_message(record) && (stream->waits.since | stream->blocked.since) == 0
               ? 0
               : waits_follow(statistics, stream, use, record);
}

/* ---- procedures.c ---- */

/* Counts a SEND or RECEIVE where it was made; `recent` is the stream's. */
int procedures_count(struct procedures *procedures, struct recent_pc *recent, uint32_t origin,
                     uint32_t image, const struct record *record);

/* Makes the result's rows. */
int procedures_build(const struct procedures *procedures, const struct identities *identities,
                     struct communication *result);

void procedures_done(struct procedures *procedures);

/* ---- what makers of a result share ---- */

/* Takes what has ended out of the tables: it is in the rows from then on. Returns 0 or -ENOMEM. */
int statistics_fold(struct statistics *statistics);

/* Says in a process's row what is known of it but stands elsewhere. Returns 0 or -ENOMEM. */
int describe_process(const struct statistics *statistics, struct communication *rows,
                     uint32_t process);

/* Its parent's row, if that is known by now. */
void find_parent(const struct statistics *statistics, struct communication *rows, uint32_t process);

/* The pair of these parties, a new one if there is none: valid until the next is asked for. NULL: out
 * of memory. */
struct communication_pair *communication_pair(struct communication *communication,
                                              const struct party *from, const struct party *to);

/* Most bytes first. */
void communication_sort_pairs(struct communication *communication);
void communication_sort_paths(struct communication_path *paths, size_t count);

/* Both, and what each has sent in all: the last step to a result. Returns 0 or -ENOMEM. */
int communication_arrange(struct communication *communication);

/* How a party lists its processes: ascending, each once. Returns how many are left. */
uint32_t sort_numbers(uint32_t *numbers, uint32_t count);

/* Texts and lists are kept once: parties are equal if these are. */
const void *party_identity(const struct party *party);

/* For qsort: most bytes first, of as many most messages; of paths what went both ways. */
int compare_traffic(const struct traffic *a, const struct traffic *b);
int compare_both_ways(const struct communication_path *a, const struct communication_path *b);

void add_traffic(struct traffic *sum, const struct traffic *more);

void add_network(struct network *sum, const struct network *more);

void add_queue(struct queue_length *sum, const struct queue_length *more);

void times_done(struct times *times);

/* These return 0 or -ENOMEM. */
int add_times(struct times *sum, const struct times *more);
int add_process_sums(struct communication_process *sum, const struct communication_process *more);

/* Gives back those rows, and leaves none. */
void communication_drop_processes(struct communication *communication);
void communication_drop_pairs(struct communication *communication);

/* Adds the pairs and paths of `from`, of whose processes number i is map[i] in the result. `spent`: NULL; or `from`, which
 * is freed next: its histograms are taken, and its pairs dropped. */
int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from, struct communication *spent);

/* A copy of the rows of processes, pairs and paths, and of their totals. `spent`: likewise, and its processes are dropped,
 * too. */
int communication_copy(const struct communication *from, struct communication *spent,
                       struct communication **ret_copy);

/* Adds all sums of a row of connections, but for what is distributed. */
void add_path_sums(struct communication_path *sum, const struct communication_path *more);

/* Adds those totals that are sums over rows. */
void add_totals(struct communication *sum, const struct communication *more);

/* A copy with texts and histograms that belong to `result`. `spent`: these are taken. */
int copy_process(struct communication *result, struct communication_process *from,
                 struct communication_process *to, bool spent);

/* The same result, in which those processes for which folds[] is true share rows with their like: number i
 * is map[i] then. The other one is spent: it can only be freed. */
int communication_fold_processes(struct communication *communication, const bool *folds,
                                 uint32_t *map, struct communication **ret_folded);

#endif
