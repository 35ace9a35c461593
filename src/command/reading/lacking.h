/* SPDX-License-Identifier: MIT */
/* lacking.h: says which fields analyses missed, and which rules removed them. Private to command/. */
#ifndef DPM_LACKING_H
#define DPM_LACKING_H

#include "history/history.h"

/* After the last event: prints a line for each type of records of this origin that lack fields. */
void report_lacking(const struct history *history, uint32_t origin, const char *name);

#endif
