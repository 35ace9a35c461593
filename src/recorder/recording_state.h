/* SPDX-License-Identifier: MIT */
/*
 * recording_state.h: the state of the machine in a recording. Private to recorder/.
 *
 *      begin     1 s       2 s          end
 *      |---------|---------|---- ... ---|      SUMMARY
 *         '-- STREAM in cgroup 77       |      CGROUP 77 at once, when a limit was reached, and at the end
 *
 * It is read while records of earlier events are still in the rings, and waits in a queue until these are stored: in the
 * trace, times never decrease.
 */
#ifndef DPM_RECORDING_STATE_H
#define DPM_RECORDING_STATE_H

#include "recorder/recorder.h"

/* Does nothing without the flag summary. Returns 0, or -ENOMEM with a line in `problem`. */
int recording_state_open(struct recording *recording, struct problem *problem);
void recording_state_close(struct recording *recording);

/* Notes a record that is stored: a STREAM shows which cgroup a process is in. */
void recording_state_note(struct recording *recording, const struct record_header *header);

/* Reads what is due. */
void recording_state_step(struct recording *recording, uint64_t now);

/* Reads everything now. `last`: also the cgroups that have reached no limit. */
void recording_state_read(struct recording *recording, bool last);

/* Whether a record that was read is still to be stored: a name may have been stored meanwhile. */
bool recording_state_counts(struct recording *recording, const struct record_header *record);

#endif
