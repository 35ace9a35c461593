/* SPDX-License-Identifier: MIT */
/* strips_clean.h: the part of an answer that has the right form. Private to strips/. */
#ifndef DPM_STRIPS_CLEAN_H
#define DPM_STRIPS_CLEAN_H

#include <jansson.h>

/* A copy of the state with its known members alone. NULL: one is missing, or has another form, or there are too many. */
json_t *strips_clean(const json_t *state);

#endif
