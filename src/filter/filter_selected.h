/* SPDX-License-Identifier: MIT */
/*
 * filter_selected.h: what selection rules keep of the copies in a filter's folder, each as a trace. Private to filter/.
 *
 *      packets --> FOLDER/.packets/web1 --selecting.h--> FOLDER/web1
 *
 * The copies hold all packets while the filter runs, so one that was killed selects again from the beginning. They are
 * removed when everything is selected.
 */
#ifndef DPM_FILTER_SELECTED_H
#define DPM_FILTER_SELECTED_H

#include "filter/filter_copies.h"
#include "filter/selecting.h"

#define FILTER_PACKETS ".packets" /* in the folder: the copies */

struct selection {
    const struct copy *copy;
    char *path;
    struct selecting selecting;
    bool begun, ended;
    uint64_t mark; /* time of the latest record that had come when it was set; 0: none */
    struct rules_counts counts;
};

struct filter_selected {
    const char *folder;
    const struct rules *rules; /* NULL: nothing is selected, the copies are all that is wanted */
    struct selection *list;    /* by copy */
    size_t count, capacity;
    uint64_t flushed;
};

/* Selects what the copies have now. Errors, with a line in `problem`: of the file system (then the trace ends there);
 * -EEXIST: there is another trace of that name. */
int filter_selected_step(struct filter_selected *selected, const struct filter_copies *copies,
                         struct problem *problem);

/* Selects by these rules what the copies get from now on. Errors: the same, and -ENOMEM. */
int filter_selected_change(struct filter_selected *selected, const struct filter_copies *copies,
                           const struct rules *rules, struct problem *problem);

/* As filter_mark and filter_reached_mark. */
void filter_selected_mark(struct filter_selected *selected, const struct filter_copies *copies);
int filter_selected_reached_mark(struct filter_selected *selected, struct problem *problem);

/* NULL: of this copy nothing was selected yet. */
const struct selection *filter_selected_find(const struct filter_selected *selected,
                                             const struct copy *copy);

/* Selects the rest, and ends the traces. Call it when the copies are closed: nothing more comes then. Returns the first
 * error. */
int filter_selected_close(struct filter_selected *selected, struct problem *problem);

#endif
