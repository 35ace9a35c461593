/* SPDX-License-Identifier: MIT */
/* processes.h: processes; whose end ends a wait. See history_types.h. */
#ifndef DPM_PROCESSES_H
#define DPM_PROCESSES_H

#include "history/history_types.h"

/* Notes what a STREAM record says of the stream's process; the TERMINATION of a process's last stream. Return 0 or
 * -ENOMEM. */
int processes_note_identity(struct history *history, struct stream *stream,
                            const struct stream_record *record);
int processes_note_end(struct history *history, const struct stream *stream,
                       const struct record *record);

/* The stream's process loses it. */
void processes_leave(struct history *history, struct stream *stream);

/* Whether a BLOCK must wait for a child's TERMINATION, whose parent is then *ret_process. */
bool processes_wait_for_end(const struct history *history, const struct stream *stream,
                            const struct record *record, struct process **ret_process);

/* Who has created it, or has its children now; NULL: it is not known. */
struct process *processes_parent(const struct history *history, const struct process *process);

/* Of the processes below this one the last that ended before `time`, if that was so shortly before that what it held
 * may have been closed then. NULL: none. */
const struct beginning *processes_last_below(const struct history *history,
                                             const struct process *process, uint64_t time);

/* What the stream waits for will not come. */
void processes_give_up(struct history *history, const struct stream *stream);

/* A BLOCK is handed out: adds the edge from what ended it; the TERMINATION of a process's last stream. Return 0 or
 * -ENOMEM. */
int processes_end_wait(struct history *history, const struct stream *stream,
                       const struct record *record);
int processes_hand_out_end(struct history *history, const struct stream *stream,
                           const struct record *record, struct history_event *event);

#endif
