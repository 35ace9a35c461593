/* SPDX-License-Identifier: MIT */
/*
 * figures.h: the built-in entities and relationships of a model, with figures of the last interval, from communication
 * statistics.
 *
 *      process             Process-Id, machine, state ("running", "ended"), cpu (CPU seconds per second), sent,
 *                          received (bytes per second), frequency (messages per second that it sent), queue (messages)
 *      Communicates-With   frequency (messages per second), bytes (per second), queue (messages not yet received)
 *      machine             job-load (runnable tasks), cpu (CPU seconds per second), processes (metered ones)
 *      subnet              traffic (bytes per second, of metered processes)
 *
 * A process that ends is in its set once more, with the figures of the interval in which it ended. What the traces do not record
 * is unknown, as in dpm stats: CPU times, sizes of messages, and queues whose receives selection rules may have removed.
 */
#ifndef DPM_VIEW_FIGURES_H
#define DPM_VIEW_FIGURES_H

#include "analysis/statistics/statistics.h"
#include "view/model.h"

struct view_figures;

/* NULL: out of memory. `model` must outlive it. */
struct view_figures *view_figures_new(struct view_model *model);
void view_figures_free(struct view_figures *figures);

#define VIEW_SUBNET_SIZE 56

/* "10.0.3.0/24" of "10.0.3.7:80", "fd00::/64" of "[fd00::7]:80"; false: no address of a network. */
bool view_subnet_of(const char *address, char subnet[VIEW_SUBNET_SIZE]);

/* Stores the figures of the interval between the earlier call's result and this one, which are `elapsed` ns apart;
 * `time` is the end of the interval. Results are by process, of the same statistics. Returns 0 or a negative errno
 * with a line in `problem`. */
int view_figures_store(struct view_figures *figures, const struct communication *communication,
                       uint64_t time, uint64_t elapsed, struct problem *problem);

#endif
