/* SPDX-License-Identifier: MIT */
/*
 * traces.h: traces whose history is read. Each trace is a source of its own, because the history reads several traces
 * in the order that their messages require. Private to command/.
 */
#ifndef DPM_TRACES_H
#define DPM_TRACES_H

#include "command/shared/selection.h"
#include "history/history.h"
#include "trace/trace.h"

struct traces {
    const char *const *names;
    size_t count;
    struct source **opened;  /* from trace_open */
    struct source **sources; /* the same, or the selected parts of them */
    struct selection *selection;
    struct history *history;
    /* several traces: the history of the reading before traces_rewind, which knows all clock offsets; or NULL */
    struct history *before;
};

/* `selection`: the part to read, which stays the caller's; NULL: everything. Errors: those of trace_open and history_new; -EINVAL: a trace is named twice. Call traces_close in any case. */
int traces_open(const char *const *names, size_t count, struct selection *selection,
                struct traces *traces, struct problem *problem);
/* The same for one trace that may still grow (trace_follow). It cannot be rewound. */
int traces_follow(const char *const *name, struct traces *traces, struct problem *problem);
/* Restarts the same traces from the beginning with a new history. Records written meanwhile do not matter. Errors as
 * above. */
int traces_rewind(struct traces *traces, struct problem *problem);
void traces_close(struct traces *traces);

/* command_report_state for each trace. */
void traces_report_losses(const struct traces *traces);

/* The same, and how many messages are unmatched. */
void traces_report_state(const struct traces *traces);

/* Whether a process may have had several threads. Reads only the traces' control records, which are few. If they cannot
 * be read: true. */
bool traces_may_have_threads(const struct traces *traces);

/* Several traces: reads them to their ends and rewinds, so that all clock offsets are known from the first event on.
 * One trace: does nothing. */
int traces_learn_clocks(struct traces *traces, struct problem *problem);

/* The event's wall-clock offset relative to the first trace's machine. Messages in both directions reveal the offset
 * between the machines' clocks: all messages after traces_rewind, else those read so far. Without such messages, the
 * event's own offset. */
int64_t traces_wall_offset(const struct traces *traces, const struct event *event);

/* The traces to read. */
struct trace_names {
    const char *const *at;
    size_t count;
    bool quiet; /* incomplete recordings have been reported already */
};

/* The names, quoted for a shell; '?' replaces what could control a terminal. The caller frees it; NULL: out of
 * memory. */
char *trace_names_quoted(const struct trace_names *names);

#endif
