/* SPDX-License-Identifier: MIT */
/*
 * recording_libraries.h: probes in the libraries that metered processes load. Private to recorder/.
 *
 *      STREAM java --> /proc/PID/maps after 10, 20, 40 ms ... --> libjvm.so, new --> its places --> meter->probe
 *
 * A process may load a library at any time, and nothing reports it. Each pause until the next look is as long as all before
 * it, so a library is found when the process is at most twice as old as when it loaded it. A file is probed once: what maps
 * it later is probed from its first instruction on.
 */
#ifndef DPM_RECORDING_LIBRARIES_H
#define DPM_RECORDING_LIBRARIES_H

#include "recorder/recorder.h"

/* Errors: -EPERM (this meter cannot probe) with a line in `problem`. Does nothing if nothing asks for probes. */
int recording_libraries_open(struct recording *recording, struct problem *problem);
void recording_libraries_close(struct recording *recording);

/* Notes a record that is stored: a process begins, executes another program, or ends. */
void recording_libraries_note(struct recording *recording, const struct record_header *record);

/* Looks at the processes that are due. */
void recording_libraries_step(struct recording *recording, uint64_t now);

/* When to call that again; UINT64_MAX: never. */
uint64_t recording_libraries_due(const struct recording *recording);

#endif
