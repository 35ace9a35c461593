/* SPDX-License-Identifier: MIT */
/*
 * acquired_recording.h: a recording of processes that run on this machine already: `dpm acquire` and `dpm agent --service`
 * share it. Private to command/.
 */
#ifndef DPM_ACQUIRED_RECORDING_H
#define DPM_ACQUIRED_RECORDING_H

#include "command/recording/recording_command.h"
#include "recorder/acquiring.h"

/* Opens the recording and takes the processes that are chosen, which are metered when it returns; `acquiring`: `say` is
 * set here. Returns 0, or the exit status after printing an error; then nothing is left of either. Else the caller
 * calls acquiring_done. */
int acquired_recording_begin(struct recording_command *command, struct acquiring *acquiring,
                             const char *name, pid_t pid, struct meter_begun *ret_begun);

/* Records, and takes chosen processes that start later. Returns on a signal, at `end` (CLOCK_MONOTONIC, ns; UINT64_MAX: no
 * end), when the recording has ended itself, or with `until_last` when no metered process lives. */
void acquired_recording_run(struct recording_command *command, struct acquiring *acquiring,
                            uint64_t end, bool until_last);

#endif
