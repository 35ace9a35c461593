/* SPDX-License-Identifier: MIT */
/*
 * raw_events.h: makes DPM's records of raw ones: events, and the identities that they need. Private to filter/.
 *
 *      SENDMESSAGE from 20003 to 30003, channel 0
 *         --> STREAM 1 (20003), PATH 1 (20003-30003 channel 0), SEND of stream 1 on path 1, message number 0
 *
 * A path's two ends are what `from` and `to`, or `source` and `destination`, name; both directions are one path. They get
 * cookies that follow from these numbers alone, so ends join that come from different machines, or files. Messages and
 * bytes are counted as they come: the n-th that is received is the n-th that was sent, if no record is missing. Records
 * therefore say that their positions may be wrong (RECORD_OLDER), and all edges are inferred.
 */
#ifndef DPM_RAW_EVENTS_H
#define DPM_RAW_EVENTS_H

#include "event/record_queue.h"
#include "filter/raw_records.h"

struct raw_events {
    const struct raw_records *records;
    struct record_queue made;      /* since the last call of raw_events_make */
    struct lookup process_numbers; /* machine, process -> index in `processes` */
    struct lookup end_numbers;     /* machine, cookie -> index in `ends` */
    struct lookup flow_numbers;    /* cookie of the sending end -> index in `flows` */
    struct pool processes, ends, flows;
    uint32_t streams, paths; /* numbers given so far, of the machine */
    /* by record, of RECEIVECALLs: index of the process's next record if that is a RECEIVE; else 0 */
    uint32_t *received_next;
    uint64_t left_out; /* records of types that DPM does not know, or that name too little */
    const struct description *some_left_out; /* the type of one of these */
};

void raw_events_begin(struct raw_events *events, const struct raw_records *records);
void raw_events_done(struct raw_events *events);

/* MACHINE, of the machine whose records come next: from the one with index `first` on. Returns 0 or -ENOMEM. */
int raw_events_machine(struct raw_events *events, size_t first, struct machine_record *ret_machine);

#define RAW_NAME_SIZE 40

/* "3": the number of a machine as its base shows it; "machine": records do not say. */
void raw_events_machine_name(const struct raw_records *records, uint32_t machine,
                             char name[RAW_NAME_SIZE]);

/* Puts what a record becomes into `made`; *ret_absent is what the event, the last one, lacks. Records of a machine must come in
 * order. Returns 0, or -ENOMEM with a line in `problem`. */
int raw_events_make(struct raw_events *events, size_t index, uint64_t *ret_absent,
                    struct problem *problem);

#endif
