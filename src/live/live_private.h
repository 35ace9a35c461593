/* SPDX-License-Identifier: MIT */
/*
 * live_private.h: the state of snapshots while they read. Private to live/.
 *
 *      event --live_waits_add--> threads, by stream_place --> processes: waits by kind
 *        '--statistics_add--> statistics --live_take--> all rows of now --less those of before--> rows of the snapshot
 */
#ifndef DPM_LIVE_PRIVATE_H
#define DPM_LIVE_PRIVATE_H

#include "live/live.h"

#include "base/lookup.h"

/* ---- waits ---- */

enum live_sleep { AWAKE, IN_RECEIVE, IN_SEND, FOR_ANY, IN_STOP };

/* What a wait was for, to be named when a snapshot is made. */
struct live_about {
    uint32_t origin;
    uint32_t path;           /* number; 0: none */
    uint32_t partner;        /* place of the other end ... */
    uint32_t partner_path;   /* ... and its number: another end may have the place later ... */
    uint32_t partner_origin; /* ... at its origin */
    bool is_idle;            /* it is the side that serves, and waits for a request */
    uint32_t object;         /* as in a BLOCK */
    uint32_t call;
};

struct live_thread {
    uint32_t origin, number; /* number 0: free */
    uint32_t process;        /* index + 1 in the pool */
    uint8_t sleep;           /* enum live_sleep: since `last` */
    uint8_t kind;            /* enum elapsed_kind of that wait, as far as it is known */
    bool runs;               /* `last` and `cpu` are those of an event */
    uint64_t last;           /* its clock */
    uint64_t cpu;
    uint64_t no_cpu;  /* ns, by events within its wait */
    uint64_t counted; /* ns of its wait that snapshots have counted */
    uint64_t untold;  /* ns that count as delays without a SCHEDULE, since the latest one */
    uint64_t limit;   /* ns, as any_limit() */
    struct live_about about;
};

/*
 * A process; or, with number 0, all that have ended and had this row of the statistics together:
 *
 *      job[9001], 2 threads --both end--> job (17)      its place in the pool is free
 */
struct live_process {
    uint32_t origin, number;
    uint32_t row; /* index + 1 of a shared row: of those that have ended; 0: it must be asked for */
    uint32_t threads; /* living */
    bool ended;
    bool keeps_row;                           /* it has ended, and its row is its own */
    uint64_t ended_waits[ELAPSED_KIND_COUNT]; /* ns */
    /* ns, as snapshots have said: what a wait was taken for while it went on stays, and only grows */
    uint64_t told[ELAPSED_KIND_COUNT];
    uint64_t counted[ELAPSED_KIND_COUNT]; /* of these, what counters have */
    int64_t correction;                   /* of this interval */
    uint64_t
        cpu_earlier; /* ns of CPU time of which it became known in this interval, and which was used before */
    bool answers;          /* it has answered a request of an unmonitored client */
    uint64_t waited_ended; /* ns that others waited for it */
    uint64_t waited_now;
    uint64_t now[ELAPSED_KIND_COUNT]; /* ns in this interval */
    /* made for a snapshot: */
    uint64_t open[ELAPSED_KIND_COUNT];  /* ns of waits that go on */
    uint64_t since[ELAPSED_KIND_COUNT]; /* ns: the longest of them */
    uint64_t silent;
    uint64_t waited_open;
    struct live_about about[ELAPSED_KIND_COUNT]; /* the latest wait of this kind */
};

/* An end of a path, and who used it last. */
struct live_end {
    uint32_t origin, path;
    uint32_t stream;         /* 0: nobody yet */
    uint32_t process;        /* index + 1 of its process; 0: not known ... */
    uint32_t process_number; /* ... another process may have the index later */
    bool serves;             /* requests come there */
    uint32_t answered;       /* requests of an unmonitored client that were answered ... */
    uint32_t unanswered;     /* ... and those after which it sent another one, without an answer */
    uint64_t
        asked; /* when one came of an unmonitored client that is not answered yet; 0: none. Its clock */
};

struct live_origin {
    bool seen;
    bool ended;         /* END was read, or nothing more comes */
    bool has_summaries; /* a recorder that lives writes them all the time */
    bool has_delays;    /* SCHEDULEs come soon after the delay that they report */
    bool has_rate;
    bool has_hook_rate;
    struct message_gap gap;
    uint64_t latest;    /* its clock, ns */
    uint64_t boundary;  /* its clock: when the interval began */
    uint64_t looked;    /* `latest`, at the latest snapshot at which that was new ... */
    uint64_t arrived;   /* ... CLOCK_MONOTONIC ... */
    uint64_t ago;       /* ... and how long ago that was, at this snapshot: ns */
    uint64_t cost_time; /* its clock: of a COST, 0: there was none ... */
    uint64_t cost_cpu;  /* ... and what it says, ns */
    uint64_t rate;      /* ns of CPU time in a second, from the COST before that one to it */
    struct hook_cost cost_hook; /* what a COST said of hooks, long enough before the latest ... */
    uint64_t hook_time;         /* ... its clock ... */
    uint64_t hook_rate;         /* ... and ns of hooks in a second from the one before to it */
};

struct live_waits {
    struct live_thread *threads; /* [stream_place - 1] */
    size_t thread_room, thread_count;
    struct live_end *ends; /* [end_place - 1] */
    size_t end_room, end_count;
    struct lookup numbers; /* of processes: indexes into the pool */
    struct lookup sums;    /* of shared rows: the same */
    struct pool processes;
    struct recorded_types recorded;
    struct live_origin *origins;
    size_t origin_room;
    uint32_t origin_count;
};

/* ---- rows ---- */

/* All rows of a table, unordered. */
struct live_all {
    struct live_row *at;
    uint32_t *sources; /* index of the row in the statistics that it is made of */
    size_t count, room, source_room;
    struct intern keys; /* in the order of the rows */
};

struct live_set {
    struct intern keys;
    struct live_counter *at;  /* never less than before */
    struct live_counter *sum; /* of this snapshot */
    size_t room, sum_room;
};

/* What counters have of a row of the table of processes, which may be another program's, or container's, later. */
struct live_counted_row {
    uint64_t so_far[LIVE_WAITS];
};

struct live {
    struct history *history;
    live_label *label; /* NULL: nothing is counted */
    struct live_set sets[LIVE_COUNTED_SETS];
    struct intern counted_keys; /* of rows */
    struct live_counted_row *counted;
    size_t counted_room;
    struct statistics *statistics;
    struct live_waits waits;
    struct communication *now, *before; /* at the latest two snapshots; NULL */
    struct live_all all[LIVE_TABLES], earlier[LIVE_TABLES];
    struct live_choice choice;
    struct live_snapshot *kept[LIVE_KEPT_MOST]; /* the latest first */
    size_t kept_count, kept_bytes;
    uint64_t latest; /* by the first origin's clock: live_time at the latest snapshot */
    uint64_t records, taken_records;
    uint64_t reader;   /* ns of CPU time of this program, when it began */
    uint64_t taken_at; /* CLOCK_MONOTONIC */
    uint64_t number;
};

/* ---- live_waits.c ---- */

int live_waits_add(struct live *live, const struct history_event *event);

/* Counts the waits that go on, up to this time of the first origin's clock. `goes_on`: the recordings do. */
void live_waits_look(struct live *live, uint64_t time, bool goes_on);

/* A new interval begins at that time. */
void live_waits_next(struct live *live, uint64_t time);

/* A process, or a sum of ended ones, by its place in the pool, and its row of the statistics; NULL: nothing has this place, or
 * it has no row. *ret_error: 0 or -ENOMEM. */
const struct live_process *live_waits_at(struct live *live, uint32_t index, uint32_t *ret_row,
                                         int *ret_error);

/* Who it was that made a wait long: the other end; NULL: not known. */
const struct live_end *live_waits_partner(const struct live_waits *waits,
                                          const struct live_about *about);

/* ---- live_names.c ---- */

/* "redis-server[4711]", "python3 worker.py[99]@web1": as in the table of processes. */
void live_name_process(const struct communication *all, const struct communication_process *process,
                       char name[LIVE_NAME_SIZE]);

/* An end of a pair or a connection: "redis-benchmark[99] +3", "10.0.0.1:80". */
void live_name_party(const struct communication *all, const struct party *party,
                     char name[LIVE_NAME_SIZE]);

/* What a wait was for, in words; "": not known. */
void live_name_wait(const struct live *live, enum elapsed_kind kind, const struct live_about *about,
                    char what[LIVE_WHAT_SIZE]);

void live_waits_done(struct live_waits *waits);

/* By the first origin's clock. */
uint64_t live_common_time(const struct live *live, uint32_t origin, uint64_t time);

/* ---- live_rows.c ---- */

/* Fills live->all from live->now, and from live->earlier what is new. Returns 0 or -ENOMEM. */
int live_rows_make(struct live *live);

/* A row of this key, which is new or had it before; NULL: out of memory. */
struct live_row *live_all_add(struct live_all *all, uint64_t key, uint32_t source);
const struct live_row *live_all_find(const struct live_all *all, uint64_t key);
void live_all_clear(struct live_all *all);
void live_all_done(struct live_all *all);

/* Bits of the values that a row does not know. */
uint64_t live_unknown(const struct communication *all, bool queue_unknown);

/* Adds the values of a row. */
void live_row_add(struct live_row *sum, const struct live_row *row);

/* The wait of a row that several processes have: the kind that takes most of their time. */
void live_choose_wait(struct live_row *row);

/* ---- live_counters.c ---- */

/* `last`: the recordings have ended. Returns 0 or -ENOMEM. */
int live_counters_make(struct live *live, bool last);
void live_counters_done(struct live *live);

/* ---- live_groups.c ---- */

/* The key of the machine's name: its index changes when a machine that sorts before it comes later. */
uint64_t live_machine_key(const struct communication *all, uint32_t machine);

/* Fills the groups in live->all from its processes. Returns 0 or -ENOMEM. */
int live_groups_make(struct live *live);

/* The name of the group of a process, and that of its machine (NULL: not wanted): the row's own name has both. */
void live_group_names(const struct live *live, enum live_table table, uint32_t process,
                      char name[NAME_SIZE], char machine[NAME_SIZE]);

#endif
