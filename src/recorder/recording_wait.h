/* SPDX-License-Identifier: MIT */
/* recording_wait.h: when a recording looks for records, and flushes them. Private to recorder/. */
#ifndef DPM_RECORDING_WAIT_H
#define DPM_RECORDING_WAIT_H

#include "recorder/recorder.h"

#define MILLISECOND   1000000ULL    /* ns */
#define CARE_INTERVAL 1000000000ULL /* ns between sweeps, titles and COSTs */

/* Notes a record that has been stored. */
void recording_wait_note(struct recording *recording, const struct record_header *record);

/* ns between flushes of the trace. */
uint64_t recording_flush_interval(const struct recording *recording);

#endif
