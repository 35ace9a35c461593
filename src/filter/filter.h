/* SPDX-License-Identifier: MIT */
/*
 * filter.h: the filter: takes the packets of a session, and stores them as copies of the traces that they are from. A
 * packet is acknowledged after it is stored, so a filter that is killed goes on where it was, in the same folder.
 *
 *      dpm-SESSION-packets --> fabric_consumer --+--> FOLDER/web1/{metadata,control,data}    recording "main" of web1
 *                                                +--> FOLDER/db1
 *                                                '--> FOLDER/db1.other                       recording "other" of db1
 *      with the prefix "f1-"                          FOLDER/db1.sort                        recording "f1-sort" of db1
 *      with the prefix "main-", as dpm run and acquire start it: FOLDER/db1                  recording "main" of db1
 *                                                     FOLDER/db1.sort                        recording "main-sort" of db1
 *
 * All of it belongs to one thread. It stores everything, or with rules the traces of what they accept
 * (filter_selected.h); without a folder, nothing, and only counts.
 */
#ifndef DPM_FILTER_H
#define DPM_FILTER_H

#include "base/base.h"
#include "fabric/fabric.h"
#include "rules/descriptions.h"
#include "rules/rules.h"
#include "trace/packets.h"

#define FILTER_MAIN "main" /* the recording whose copy is called as the machine alone */

/* The name of a recording for a filter with this prefix (NULL, "": none), which it leaves out: "f1-", "f1-sort" is "sort"; "main-",
 * "main" is "main". NULL: it is not for that filter. */
const char *filter_recording_name(const char *prefix, const char *recording);

/* Whether a copy that is called so, "web1.sort.2", is one of the recording that its filter calls `recording`, "sort". */
bool filter_is_copy_of(const char *name, const char *recording);

struct filter_options {
    const char *folder;          /* created if it is missing; NULL: nothing is stored */
    const char *const *machines; /* only these */
    size_t machine_count;        /* 0: all */
    const char *
        prefix; /* only recordings whose names begin so (filter_recording_name); copies are called without it. NULL: all */
    const char *durable;             /* the name of the consumer at the server (filter_name) */
    struct trace_copy_limits limits; /* of each copy */
    /* With a folder: what these accept is stored as traces there; the copies are in FOLDER/.packets meanwhile. NULL: the
     * copies are what is stored. Must outlive the filter, or filter_select. */
    const struct rules *rules;
};

struct filter;

#define FILTER_AGAIN_MS 5000 /* what was not acknowledged comes again after this time */

#define FILTER_NAME_SIZE (FABRIC_NAME_MOST + 1)

/* A name for the consumer which is the same whenever a filter runs on this machine with this folder. `folder` NULL: a
 * new name each time. */
void filter_name(const char *folder, char ret_name[FILTER_NAME_SIZE]);

/* The same for a filter that this machine starts on another one. */
void filter_name_there(const char *host, const char *folder, char ret_name[FILTER_NAME_SIZE]);

/* Continues the copies in the folder. `fabric` must outlive the filter. Errors, with a line in `problem`: of the file
 * system; of trace_copy_open: another filter writes them (-EBUSY); of fabric_consumer_new. */
int filter_new(struct fabric *fabric, const struct filter_options *options,
               struct filter **ret_filter, struct problem *problem);

/* Takes what comes within `timeout_ms`. Returns how many packets, or a negative errno with a line in `problem`: the
 * connection is gone; -ENOSPC ...: the copy cannot be written now; nothing is lost, and the next call tries again; -ECANCELED: what
 * rules select cannot be written; the packets are stored, and a filter that is begun again selects from them. */
int filter_step(struct filter *filter, int timeout_ms, struct problem *problem);

/* A recording has ended: its packets up to the last one, with END, are to be stored, unless it is not for this filter. Returns 0 or
 * -ENOMEM. */
int filter_expect(struct filter *filter, const char *machine, const char *recording);

/* Whether the END of every expected recording is stored, or its copy is full. Packets of before may still come again, see
 * filter_left(). */
bool filter_complete(const struct filter *filter);

/* The same, and no packet of them was too much for its copy, or refused for another reason. */
bool filter_whole(const struct filter *filter);

/* With rules: selects by these ones from now on, what has come so far by the old ones. They must outlive the filter, or the
 * next change. Returns 0, or a negative errno with a line in `problem`: then the filter can only be closed, and the old rules
 * are still needed for that. */
int filter_select(struct filter *filter, const struct rules *rules, struct problem *problem);

/* With rules: marks what has come so far. Then: whether all of it is selected, and can be read: 1, 0, or the error of writing
 * it, with a line in `problem`. That takes until the next records of each machine have come, or its recording has ended. */
void filter_mark(struct filter *filter);
int filter_reached_mark(struct filter *filter, struct problem *problem);

/* How many packets the server has that are not stored here, or a negative errno. */
int64_t filter_left(struct filter *filter, struct problem *problem);

/* How many messages in place of packets were dropped; `why`: what was wrong with one of them. */
#define FILTER_WHY_SIZE 256
uint64_t filter_malformed(const struct filter *filter, char why[FILTER_WHY_SIZE]);

/* ---- the copies ---- */

struct filter_copy {
    const char *machine, *recording;
    const char *path;        /* of the copy, or of what the rules select of it; NULL: not stored */
    bool ended;              /* with its END */
    bool full;               /* it has its largest size: what comes is not stored any more */
    bool rejected;           /* nothing of the trace can be stored: `why` */
    uint64_t packets, bytes; /* in this run */
    uint64_t doubles;        /* packets that were stored already */
    uint64_t missing;        /* packets that never came */
    uint64_t until;          /* as of struct trace_copy_counts */
    uint64_t refused;        /* packets that could not be stored; `why`: the last one */
    const char *why;         /* "": all could */
    struct rules_counts counts; /* of its events, if there are rules */
};

size_t filter_count(const struct filter *filter);
void filter_look(const struct filter *filter, size_t index, struct filter_copy *ret_copy);

/* Closes the copies. `forget`: the server forgets the consumer, too: all is done; with rules the copies are removed. NULL is allowed. Returns 0, or the
 * error of closing a copy, with a line in `problem`. */
int filter_close(struct filter *filter, bool forget, struct problem *problem);

/* ---- finished traces ---- */

struct filter_trace_result {
    struct rules_counts counts;
    struct source_state state; /* of the trace that was read */
};

/* Writes the records of a trace that the rules accept as the trace `output`, which must not exist, with all identities,
 * and DISCARDED records for the rest. A trace that was cut becomes one that was cut. Errors, with a line in `problem`:
 * those of trace_open and of the writer; nothing is left of the output then. */
int filter_trace(const char *trace, const struct rules *rules, const char *output,
                 struct filter_trace_result *ret_result, struct problem *problem);

/* ---- raw records of other systems ---- */

struct filter_raw_result {
    struct rules_counts counts;
    uint32_t
        machines; /* 1: the output is a trace; else a folder with a trace of each, named by its number */
    uint64_t
        left_out; /* records of described types that DPM has no event for, or that name too little; ... */
    char some_left_out[64]; /* ... a type of them */
    uint64_t unknown;       /* records of types without a description */
    uint64_t some_unknown;  /* ... a number of them */
    size_t cut;             /* bytes of a partial record at the end */
};

/* Makes a trace of the raw records in the file `path` ("-": standard input): `output`, which must not exist. `rules` are as of
 * rules_read_raw; NULL: everything is selected. Errors, with a line in `problem`; nothing is left of the output then. */
int filter_raw(const char *path, const struct descriptions *descriptions, const struct rules *rules,
               const char *output, struct filter_raw_result *ret_result, struct problem *problem);

#endif
