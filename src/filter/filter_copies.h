/* SPDX-License-Identifier: MIT */
/*
 * filter_copies.h: the copies of traces in a filter's folder, found by the machine, the recording and the trace's
 * UUID. Private to filter/.
 *
 * A machine may record twice under the same name (its agent was killed). Then the second copy is FOLDER/web1.2.
 */
#ifndef DPM_FILTER_COPIES_H
#define DPM_FILTER_COPIES_H

#include "filter/filter.h"
#include "trace/packets.h"

struct copy {
    char machine[FABRIC_NAME_MOST + 1], recording[FABRIC_NAME_MOST + 1];
    uint8_t uuid[16];
    char *path;               /* NULL: not stored */
    struct trace_copy *trace; /* NULL: not stored, or cannot be */
    bool full;                /* it has its largest size */
    bool rejected;            /* nothing of it can be stored: `why`; its packets are refused */
    bool resumed;             /* of an earlier run */
    uint64_t packets, bytes, refused;
    uint64_t newest; /* time of the latest record that has been stored in this run */
    char why[300];
};

struct filter_copies {
    const char *prefix; /* of the names of recordings: left out in those of copies; NULL: none */
    const char *folder; /* NULL: nothing is stored */
    struct trace_copy_limits limits;
    struct copy **list;
    size_t count, capacity;
};

/* Opens the copies that are in the folder. */
int filter_copies_resume(struct filter_copies *copies, struct problem *problem);

/* Whether its packets belong here. */
bool filter_copies_wants(const struct filter_copies *copies, const char *recording);

/* NULL: there is none yet. */
struct copy *filter_copies_find(const struct filter_copies *copies,
                                const struct fabric_packet *packet);

/* Creates the copy that begins with these metadata. Errors, with a line in `problem`: those of trace_copy_open; -EEXIST: too many
 * traces have this name. */
int filter_copies_create(struct filter_copies *copies, const struct fabric_packet *metadata,
                         struct copy **ret_copy, struct problem *problem);

/* Remembers a trace that cannot be stored, and why. A machine has few of these: the rest of its traces count with the last one.
 * Returns NULL without memory. */
struct copy *filter_copies_reject(struct filter_copies *copies, const struct fabric_packet *packet,
                                  const char *why);

/* Returns the first error. */
int filter_copies_close(struct filter_copies *copies, struct problem *problem);

#endif
