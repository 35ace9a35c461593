/* SPDX-License-Identifier: MIT */
/*
 * live_operand.h: what dpm top and dpm live look at: running processes, traces, or the copies of a session or job. Private
 * to command/.
 */
#ifndef DPM_LIVE_OPERAND_H
#define DPM_LIVE_OPERAND_H

#include "command/live/live_feed.h"

#include "job/job.h"

#include <limits.h>

struct live_operand {
    struct process_choice choice;
    bool all;       /* the whole machine: nothing was named */
    uint32_t kinds; /* of connections that are recorded (METER_TCP ...); 0: those of dpm acquire */
    char **traces;  /* [trace_count] */
    size_t trace_count, trace_room;
    char folder[PATH_MAX]; /* of the copies of a session, or other traces; "": none was named */
    char job[JOB_RECORDING_SIZE]; /* the only one whose traces in the folder are meant; "": all */
    bool reads_traces;
    char subject[128]; /* in words: "redis.trace", "redis-server", "all processes" */
};

/* Takes one of -p and --name. Returns -1, or the exit status after a usage error. */
int live_operand_take(const char *command, bool by_name, struct live_operand *operand);

/* Takes --kinds. Returns as above. */
int live_operand_kinds(const char *command, struct live_operand *operand);

/* The kinds that are recorded, of processes. */
uint32_t live_operand_recorded(const struct live_operand *operand);

/* After the options: argv[first] and what follows. Returns as above. */
int live_operand_done(const char *command, int argc, char **argv, int first,
                      struct live_operand *operand);

/* The options of a feed that reads it. */
void live_operand_feed(const struct live_operand *operand, struct live_feed_options *options);

void live_operand_free(struct live_operand *operand);

#endif
