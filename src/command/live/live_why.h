/* SPDX-License-Identifier: MIT */
/*
 * live_why.h: answers of dpm why for the page of dpm live, on request: a child makes them, so that nothing waits for it. Private
 * to command/.
 *
 *      GET /why?from=...&to=...&pid=... --live_why_ask--> a thread --> dpm why --from 12.5s --to 22.5s TRACE... --> text --> done
 *                                                              '--> of processes: dpm acquire --duration 10s first, into a scratch folder
 */
#ifndef DPM_LIVE_WHY_H
#define DPM_LIVE_WHY_H

#include "base/base.h"

struct live_why;

/* What is asked: times in ns since the first record; `pid` 0: of all. */
struct live_why_question {
    uint64_t from, to;
    uint32_t pid;
};

/* `chosen`: the options of dpm acquire that choose the processes, if these are metered (NULL at the end); NULL: traces are read.
 * Returns 0 or -ENOMEM. */
int live_why_new(const char *const *chosen, struct live_why **ret_why);

/* Ends a child that runs, when its question is answered; no more are answered. NULL is allowed. */
void live_why_end(struct live_why *why);

/* After live_why_end, when nothing asks any more. NULL is allowed. */
void live_why_free(struct live_why *why);

/* These are the traces now, which are copied. `began`: from when times of questions count: of one trace, by its own clock; of several, whose clocks differ, ns since 1970; 0: not
 * known yet. Returns 0 or -ENOMEM. */
int live_why_traces(struct live_why *why, char *const *traces, size_t count, int64_t began);

/* Asks. `done` is called in another thread, with a text that becomes its own; or NULL: out of memory. Returns 0, or -EBUSY: one
 * question is answered at a time; -ENOENT: there are no traces; or another negative errno, and `done` is not called. */
int live_why_ask(struct live_why *why, const struct live_why_question *question,
                 void (*done)(void *context, char *text), void *context);

#endif
