/* SPDX-License-Identifier: MIT */
/*
 * hosts_copies.h: the filter of a session in a thread of the controller: it copies the traces of all machines while
 * the controller does other things. Private to control/.
 */
#ifndef DPM_HOSTS_COPIES_H
#define DPM_HOSTS_COPIES_H

#include "filter/filter.h"
#include "remote/remote.h"

struct hosts_copies;

struct hosts_copies_state {
    uint64_t bytes;
    uint64_t pieces;   /* grows whenever something is stored */
    bool full;         /* a copy has its largest size */
    bool complete;     /* all that is expected is stored */
    bool stopped;      /* nothing is stored any more: `problem` */
    char problem[512]; /* why nothing can be stored now; "": it can */
};

/* Begins. Copies of an earlier controller go on where they end. Errors, with a line in `problem`: those of remote_open_filter
 * and filter_new. */
int hosts_copies_start(struct remote *remote, const char *folder,
                       const struct trace_copy_limits *limits, struct hosts_copies **ret_copies,
                       struct problem *problem);

/* This machine's recording has ended: its END is waited for. */
void hosts_copies_expect(struct hosts_copies *copies, const char *machine, const char *recording);

void hosts_copies_look(struct hosts_copies *copies, struct hosts_copies_state *ret_state);

/* Ends the thread. The copies can then be asked for, until the end. */
struct filter *hosts_copies_stop(struct hosts_copies *copies);

/* NULL is allowed. Returns the error of closing the copies, with a line in `problem`. */
int hosts_copies_close(struct hosts_copies *copies, struct problem *problem);

#endif
