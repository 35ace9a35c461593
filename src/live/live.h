/* SPDX-License-Identifier: MIT */
/*
 * live.h: snapshots of a history while it grows: THE source of all displays that move (JSON lines, /metrics, dpm top).
 *
 *      sources --gate--> history --> live_analysis: statistics, waits --live_take--> snapshot 1, 2, 3 ...
 *
 *      snapshot 7, 1.00 s       so far               in this interval     waits for, in this interval
 *      redis-server[4711]       812,003 messages     98,112 messages      message of redis-benchmark[4720] 412 ms
 *      redis-benchmark[4720]    812,004              98,113               message of redis-server[4711] 530 ms
 *      others (3)                     0                   0
 *
 * Each row has values so far and values of the interval since the snapshot before. What was counted by the statistics is
 * what they say at this moment, and the intervals add up to it. At most LIVE_ROWS_MOST rows of a table are kept, chosen by the
 * value that the user sorts by; `others` is the sum of the rest. The latest snapshots are kept, bounded in number and memory.
 *
 * Waits are counted in one pass: a wait that goes on counts as far as it has come, and for what is known of it so far. A call
 * for a message says so when it falls asleep; any other wait (BLOCK) is only recorded when it ends. Until then its thread is
 * silent. What a wait that ends adds to, or takes from, what earlier intervals said of it is the value LIVE_CORRECTION.
 */
#ifndef DPM_LIVE_H
#define DPM_LIVE_H

#include "analysis/elapsed/elapsed.h"
#include "analysis/statistics/statistics.h"

struct live;

/* ---- values ---- */

enum live_table {
    LIVE_PROCESSES,
    LIVE_PAIRS,       /* of processes: who sent to whom */
    LIVE_CONNECTIONS, /* those between the same processes and the same service share a row */
    LIVE_PROGRAMS,    /* groups of processes of one machine ... */
    LIVE_CONTAINERS,
    LIVE_MACHINES,
    LIVE_TABLES,
};

/* "processes", "pairs" ... NULL: no table. */
const char *live_table_name(unsigned table);

enum live_value {
    LIVE_CPU,         /* ns */
    LIVE_CPU_EARLIER, /* ns: of these, used before the interval, as a later record said */
    /* ns that others waited for its messages or for buffer space at it, and that requests of unmonitored clients were open;
     * not while a server waits for requests */
    LIVE_WAITED_FOR,
    LIVE_SENT,           /* messages. Of a connection: from the end that connected */
    LIVE_SENT_BYTES,     /* ... */
    LIVE_RECEIVED,       /* messages. Of a connection: to the end that connected */
    LIVE_RECEIVED_BYTES, /* ... */
    LIVE_REQUESTS,       /* answered by it; of a pair: by `to`; of a connection: on it */
    LIVE_REQUEST_TIME,   /* ns, sum over these, to the last byte of the answer */
    LIVE_ASKED,          /* answers that it got as a client */
    LIVE_ASKED_TIME,     /* ns, sum */
    LIVE_UNANSWERED,     /* questions without an answer */
    LIVE_FAILED,         /* connections that failed, and sends and receives */
    LIVE_RECEIVER_WAIT,  /* ns that receivers waited for its messages */
    LIVE_QUEUE_DELAY,    /* ns that messages waited until it took them */
    LIVE_SEND_BLOCKED,   /* ns that senders waited for buffer space there */
    LIVE_DELIVERY,       /* ns that messages were in flight to it */
    LIVE_DELIVERED,      /* ... these messages */
    LIVE_RETRANSMITS,    /* TCP segments */
    /* of the moment, or of the interval; not sums */
    LIVE_QUEUE,       /* messages that wait to be received */
    LIVE_QUEUE_BYTES, /* ... */
    LIVE_MEDIAN,      /* ns: answers, as LIVE_REQUESTS ... */
    LIVE_P99,         /* ... */
    LIVE_THREADS,     /* living */
    LIVE_PROCESS_COUNT,
    LIVE_LIVING, /* processes, or connections, that have not ended */
    /* waits of threads, added up */
    LIVE_SILENT,     /* ns without a record: computing, or in a wait that has not ended */
    LIVE_CORRECTION, /* ns, signed: see above */
    LIVE_WAITS,      /* + enum elapsed_kind */
    LIVE_VALUES = LIVE_WAITS + ELAPSED_KIND_COUNT,
};

enum live_unit { LIVE_COUNT, LIVE_BYTES, LIVE_NS };

struct live_value_kind {
    const char *key; /* "sent.messages": JSON, in the object `sent`; "waits.lock" */
    enum live_unit unit;
    bool is_moment;  /* no sum: what it is now */
    unsigned tables; /* bits (enum live_table) of those whose rows have it */
    const char *meaning;
};

/* Of any value, waits included. */
const struct live_value_kind *live_value_kind(unsigned value);

/* ---- snapshots ---- */

#define LIVE_NAME_SIZE 64
#define LIVE_WHAT_SIZE 72

/* What the threads of a process waited for, mostly, in this interval. Names are as the programs gave them: any bytes. */
struct live_wait {
    bool is_silent; /* its only thread has made no record for longer than this: live_is_silent */
    enum elapsed_kind kind; /* ELAPSED_UNKNOWN: of nothing that is known */
    uint64_t time;          /* ns, of all its threads in the interval */
    uint64_t since; /* ns that a wait of this kind, which goes on, has lasted; 0: none does */
    uint32_t call;  /* system call; NO_SYSTEM_CALL: not known */
    char
        what[LIVE_WHAT_SIZE]; /* the peer "redis-server[4711]", an address, a file; "": not known */
};

struct live_row {
    uint64_t key;     /* the same row in other snapshots; 0: others */
    uint32_t rows;    /* 1; `others`: of so many */
    uint32_t machine; /* index; NO_MACHINE: several */
    uint32_t pid;     /* 0: not one process */
    /* indexes into the processes of the latest communication: the process itself, or the first at each end; NO_PROCESS: none,
     * and in groups */
    uint32_t process[2];
    /* of pairs and connections: the key of the process at each end, or of what stands for several */
    uint64_t ends[2];
    bool ended;
    uint8_t kind; /* enum path_kind, of connections */
    char
        name[LIVE_NAME_SIZE]; /* of the process, the sender, the end that connected, or the group */
    char other[LIVE_NAME_SIZE];   /* the receiver; the end that serves; "" else */
    char address[LIVE_NAME_SIZE]; /* of the service, of connections */
    struct live_wait wait;        /* of processes and groups */
    uint64_t unknown;             /* live_row_knows */
    uint64_t so_far[LIVE_VALUES];
    uint64_t interval[LIVE_VALUES]; /* LIVE_CORRECTION: int64_t */
};

/* The key of the row of a process's group in the table of these groups; and its name, which is cut: "nginx", with several
 * machines "nginx@web1". */
uint64_t live_group_row_key(const struct communication *all,
                            const struct communication_process *process, enum live_table table);
void live_group_row_name(const struct communication *all,
                         const struct communication_process *process, enum live_table table,
                         char name[LIVE_NAME_SIZE]);

/* Whether a value is known: queues are not after selection rules, which may have removed receives; nor is what a recording of
 * another system does not have. */
static inline bool live_row_knows(const struct live_row *row, unsigned value)
{
    return value >= LIVE_WAITS || (row->unknown >> value & 1) == 0;
}

/* As it is shown and sorted by: of the CPU time of an interval, what was used in it. */
uint64_t live_row_value(const struct live_row *row, unsigned value, bool so_far);

/* Whether its threads made no record for most of the interval of this length: then that is all that is known of it. Of a
 * group the times of its processes are added up. */
static inline bool live_is_silent(const struct live_row *row, uint64_t length)
{
    const uint64_t living = row->so_far[LIVE_LIVING];

    return row->wait.is_silent &&
           row->interval[LIVE_SILENT] >= length / 2 * (living > 1 ? living : 1);
}

struct live_rows {
    struct live_row *at;
    size_t count;           /* without `others` */
    size_t all;             /* rows that there are, or that the filter accepts */
    struct live_row others; /* rows 0: there are none */
    uint32_t others_ended;  /* rows of `others` that have ended */
    struct live_row total;
};

struct live_machine {
    char name[MACHINE_NAME_SIZE + 16];
    uint64_t
        last; /* ns since its latest record: since it came here; of a finished trace, by the snapshot's time */
    bool ended;       /* its recording has ended ... */
    bool complete;    /* ... in order */
    uint64_t cpus;    /* 0: not known */
    uint64_t cpu;     /* ns that all its CPUs worked in the interval; NOT_KNOWN ... */
    uint64_t elapsed; /* ... in so many ns; 0: not known */
    /* CPU time that rows of its processes have, ns, and in how many ns: since it last said what its CPUs did */
    uint64_t shown, shown_in;
    /* its CPUs worked for longer than these rows say, when it last said what they did; or it never has */
    bool hides_cpu;
};

struct live_snapshot {
    uint64_t number; /* 1, 2, 3 ... */
    uint64_t time;   /* ns since the first record, by the first machine's clock */
    int64_t wall;    /* ns since 1970 */
    uint64_t begin;  /* ... the first record, by the first origin's clock; 0: not known ... */
    int64_t began;   /* ... and by its wall clock as it is now */
    uint64_t length; /* ns since the snapshot before, or since the first record */
    bool last;       /* all recordings have ended */
    uint64_t events, new_events; /* so far, and in this interval */
    uint64_t records;            /* read in this interval */
    uint64_t not_known_yet;      /* events that wait for others */
    uint64_t lost, new_lost, late, dropped;
    struct own_cost own; /* of the recordings */
    uint64_t own_new;    /* ns of CPU time of the recordings that became known in this interval */
    uint64_t own_rate;   /* ns that they use in a second, as they said last; NOT_KNOWN: not yet */
    uint64_t hook_rate;  /* ns of hooks in the kernel, of those that have said it; likewise */
    uint64_t reader,
        reader_new; /* ns of CPU time of this program, which may be the recording, too */
    uint64_t real;  /* ns that passed here since the snapshot before */
    bool
        stands; /* no record is later than before: shares of time are not known, `length` is `real` */
    uint64_t decisions, new_decisions;      /* of dpm steer: so far, and in this interval */
    struct communication_decision decision; /* the latest; its outcome is 0: there is none */
    struct live_rows tables[LIVE_TABLES];
    struct live_machine *machines;
    size_t machine_count;
    const struct communication
        *communication; /* of the latest snapshot only: what the statistics say; else NULL */
};

/* ---- the engine ---- */

#define LIVE_ROWS_MOST  200
#define LIVE_KEPT_MOST  600
#define LIVE_KEPT_BYTES (64u << 20)

/* `history` must be unread, and outlive it. Returns 0 or -ENOMEM. */
int live_new(struct history *history, struct live **ret_live);
void live_free(struct live *live);

/* To be fed with all events. */
struct analysis live_analysis(struct live *live);

/* Which rows a snapshot has, and in which order: those whose name contains `filter`, the greatest value first. */
struct live_choice {
    enum live_value sort[LIVE_TABLES];
    bool so_far; /* by the values so far, not those of the interval */
    char filter[LIVE_NAME_SIZE];
};

/* As it is at first: what is waited for, messages of pairs and connections. */
void live_default_choice(struct live_choice *choice);

/* Chooses the rows of the latest snapshot again, and those of all to come. Returns 0 or -ENOMEM. */
int live_choose(struct live *live, const struct live_choice *choice);

/* Makes a snapshot of all that was added. `origins`: so many sources. `time`: up to which all was added, by the first origin's
 * clock, ns; 0: that of the latest event, in recordings that go on. `last`: the recordings have ended. Returns 0 or -ENOMEM. */
int live_take(struct live *live, uint32_t origins, uint64_t time, bool last);

/* Nothing more comes of this origin, with or without an END. */
void live_end_origin(struct live *live, uint32_t origin);

/* The latest snapshot, and the ones before it: 1, 2 ...; NULL: it was not made, or is not kept. Valid until the next
 * live_take. */
const struct live_snapshot *live_snapshot(const struct live *live, size_t back);

/* How many are kept. */
size_t live_kept(const struct live *live);

/* ---- counters, for metrics ---- */

/*
 * What is counted under names that stay few, and never becomes less: no pid is in a name, the first LIVE_COUNTED_MOST names
 * of a set have a counter each, and all later ones share the last, "others".
 */
enum live_counted {
    LIVE_COUNTED_PROGRAMS,   /* of a machine ... */
    LIVE_COUNTED_CONTAINERS, /* ... */
    LIVE_COUNTED_MACHINES,
    LIVE_COUNTED_PAIRS, /* of programs: messages from one to the other */
    LIVE_COUNTED_CALLS, /* ... requests, from the client's to the server's */
    LIVE_COUNTED_SETS,
};

#define LIVE_COUNTED_MOST 200
#define LIVE_BOUNDS       16

/* Upper bounds of times, ns. */
extern const uint64_t live_bounds[LIVE_BOUNDS];

struct live_times {
    uint64_t count, sum;         /* ns */
    uint64_t up_to[LIVE_BOUNDS]; /* of the values, those of at most live_bounds[i] */
};

struct live_counter {
    char
        name[LIVE_NAME_SIZE]; /* of the program ...; of pairs and calls, the sender's or client's */
    char other
        [LIVE_NAME_SIZE]; /* the machine; the receiver or server: a program, or an unmonitored address */
    uint64_t unknown; /* as of a row */
    uint64_t so_far
        [LIVE_VALUES]; /* waits of programs only, as intervals have said: they take nothing back */
    struct live_times served,
        asked; /* of calls: as the server and as the client has timed them, without answers that may go on */
};

/* Makes a label of at most `size` bytes of a name, and a NUL: never longer than the name. */
typedef void live_label(const char *name, size_t size, char *to);

/* From now on each snapshot counts. Names with the same label are one. */
void live_count(struct live *live, live_label *label);

/* As of the latest snapshot. */
const struct live_counter *live_counters(const struct live *live, enum live_counted set,
                                         size_t *ret_count);

/* When the latest event happened, by the first origin's clock; 0: there was none. */
uint64_t live_time(const struct live *live);

/* The time of a snapshot of a recording that goes on, for live_take: a wait goes on, although no record says so. `analysed`: as
 * recording_analysed. Returns `latest`, up to when all records were analysed: 0 before there is an event, and never less than
 * before. */
uint64_t live_analysed(const struct live *live, uint64_t analysed, uint64_t *latest);

#endif
