/* SPDX-License-Identifier: MIT */
/*
 * traces.h: traces whose history is read: each is a source of its own, for they are read side by side as
 * their messages ask for it. Private to control/.
 */
#ifndef DPM_TRACES_H
#define DPM_TRACES_H

#include "history/history.h"
#include "trace/trace.h"

struct traces {
    const char *const *names;
    size_t count;
    struct source **sources;
    struct history *history;
    /* of several traces, from before they were rewound: it knows all that messages tell of their clocks; or NULL */
    struct history *before;
};

/* Errors: those of trace_open and history_new, -EINVAL: a trace is named twice; traces_close is to be called in any case. */
int traces_open(const char *const *names, size_t count, struct traces *traces,
                struct problem *problem);
/* The same traces from the beginning, with a new history, however much was recorded since. Errors as above. */
int traces_rewind(struct traces *traces, struct problem *problem);
void traces_close(struct traces *traces);

/* Bytes of all their files. */
uint64_t traces_size(const struct traces *traces);

/* command_report_state of each. */
void traces_report_losses(const struct traces *traces);

/* The same, and what of their messages could not be matched. */
void traces_report_state(const struct traces *traces);

/* Whether some process may have had several threads, as the traces' control records say, which are few. Where they cannot
 * be read, it may. */
bool traces_may_have_threads(const struct traces *traces);

/* Reads them to their ends, and rewinds: of several traces what all messages tell of their clocks is known then, and from
 * the first event on. */
int traces_learn_clocks(struct traces *traces, struct problem *problem);

/* The event's wall-clock offset as the first trace's machine has it, if messages both ways have told how
 * far the machines' clocks are apart: in all, if the traces were rewound, else so far; else its own. */
int64_t traces_wall_offset(const struct traces *traces, const struct event *event);

/* The traces to read. */
struct trace_names {
    const char *const *at;
    size_t count;
    bool quiet; /* which recordings are not whole has been said */
};

/* As a shell takes them, for the caller to free; what could command a terminal is '?'. NULL: out of memory. */
char *trace_names_quoted(const struct trace_names *names);

#endif
