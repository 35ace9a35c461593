/* SPDX-License-Identifier: MIT */
/* processes.h: processes, and whose termination ends a wait. See history_types.h. */
#ifndef DPM_PROCESSES_H
#define DPM_PROCESSES_H

#include "history/history_types.h"

/* Note what a STREAM record says of the stream's process; the TERMINATION of a process's last stream. Return 0 or
 * -ENOMEM. */
int processes_note_identity(struct history *history, struct stream *stream,
                            const struct stream_record *record);
int processes_note_end(struct history *history, const struct stream *stream,
                       const struct record *record);

/* Removes the stream from its process. */
void processes_leave(struct history *history, struct stream *stream);

/* Whether a BLOCK must wait for the TERMINATION of a child; *ret_process is the child's parent. */
bool processes_wait_for_end(struct history *history, struct stream *stream,
                            const struct record *record, struct process **ret_process);

/* The process that created this one; if this one has terminated, the ancestor that may adopt its children. NULL: not
 * known. */
struct process *processes_parent(const struct history *history, const struct process *process);

/* The last of this process's descendants to terminate before `time`, if so shortly before that files it held may have
 * been closed at that time. NULL: none. */
const struct beginning *processes_last_below(const struct history *history,
                                             const struct process *process, uint64_t time);

/* What the stream waits for will not come. */
void processes_give_up(struct history *history, const struct stream *stream);

/* Hand out a BLOCK, adding the edge from the child that ended it; or the TERMINATION of a process's last stream. Return 0
 * or -ENOMEM. */
int processes_end_wait(struct history *history, struct stream *stream, const struct record *record);
int processes_hand_out_end(struct history *history, const struct stream *stream,
                           const struct record *record, struct history_event *event);

#endif
