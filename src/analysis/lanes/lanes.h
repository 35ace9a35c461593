/* SPDX-License-Identifier: MIT */
/*
 * lanes.h: what groups of processes did when, for a chart of the whole time.
 *
 *      bin          0   1   2   3   4   5  ...  479      whether a millisecond or an hour: as many
 *      nginx x2    |## |#. |.  |.  |  #|## |             a lane: ns of each kind in each bin, of all threads
 *        [71]      |## |#. |.  |.  |   |   |             its members, the busiest ones
 *      postgres x9 |   | ##|###|## |   |   |
 *      others x31  |.  |.  |.  |.  |.  |.  |
 *      account      ''''|___|___|___|''''               of each lane: how much of `dpm why` it has in the bin, of each kind
 *
 * A group is the processes of one machine with one name, and one script if an interpreter executes several. The groups that
 * matter most, in the account or by CPU time, have lanes; those with most of the account come first. The pieces of time are
 * those of the account of elapsed time (elapsed.h), and so are their kinds: the account of all lanes adds up to that of
 * `dpm why`, exactly in `account`, to the precision of a float in the bins.
 */
#ifndef DPM_LANES_H
#define DPM_LANES_H

#include "analysis/elapsed/elapsed.h"

#define LANES_BINS    480
#define LANES_MOST    12 /* without that of the others */
#define LANES_MEMBERS 6  /* of a lane */

struct lane {
    char name[STREAM_NAME_SIZE + 1]; /* of its processes; "": the others, or not known */
    char script
        [PROCESS_LABEL_SIZE]; /* that they execute, if processes of that name differ: "obj.py"; "": none */
    /* A member: its label as in struct elapsed_row, and its pid; a lane of several processes: "", 0. */
    char label[PROCESS_LABEL_SIZE];
    uint32_t pid;
    uint32_t origin;    /* of its first process */
    uint32_t machine;   /* history_machine */
    uint32_t processes; /* an exec to another name makes another one */
    uint32_t
        passing; /* of these, the ones that got another name later: children before their exec */
    uint64_t time[ELAPSED_KIND_COUNT];       /* ns of all its threads, sum over all time */
    uint64_t account[ELAPSED_KIND_COUNT];    /* ns of the account that `dpm why` shows */
    float *bins[ELAPSED_KIND_COUNT];         /* [LANES_BINS]: ns; NULL: none */
    float *account_bins[ELAPSED_KIND_COUNT]; /* the same of the account */
    struct lane *members;                    /* the first ones; none if the lane has one process */
    size_t member_count;
};

/* Where records were lost: at most from `begin` to `end`, on one machine. */
struct lanes_loss {
    uint32_t machine;
    uint64_t begin, end; /* ns by the first origin's clock */
    uint64_t records;
    bool skipped; /* hooks that the kernel skipped: an upper bound */
};

#define LANES_LOSSES 200 /* more are joined with the one before */

struct lanes {
    uint64_t begin, end;   /* ns by the first origin's clock: of all bins */
    uint64_t first_record; /* ... of the recording, perhaps before the first event */
    bool of_requests;      /* the account is that of requests: more than one may be in progress */
    uint64_t account;      /* ns: all of it */
    struct lane *list;
    size_t count;
    struct lane others;        /* processes: 0: there are none */
    struct lanes_loss *losses; /* by time */
    size_t loss_count;
    struct elapsed_account profile;           /* all time of all threads: elapsed_profile */
    char (*machine_names)[MACHINE_NAME_SIZE]; /* [origins], NUL-filled, not always terminated */
    uint32_t origins;
};

struct lanes_analysis;

/* Watches the account of `elapsed`, which must outlive it. To be called before the first event; all functions return 0 or
 * -ENOMEM. */
int lanes_new(struct history *history, struct elapsed_analysis *elapsed,
              struct lanes_analysis **ret_analysis);
void lanes_analysis_free(struct lanes_analysis *analysis);
struct analysis lanes_analysis(struct lanes_analysis *analysis);

/* After elapsed_finish, which made `account`. Free the result with lanes_free. */
int lanes_finish(struct lanes_analysis *analysis, const struct elapsed *account,
                 struct lanes **ret_lanes);
void lanes_free(struct lanes *lanes);

#endif
