/* SPDX-License-Identifier: MIT */
/* strips_private.h: shared by the files of strips/. */
#ifndef DPM_STRIPS_PRIVATE_H
#define DPM_STRIPS_PRIVATE_H

#include "strips/strips.h"

#define FRESH_MOST 2000 /* changes that wait for strips_json */

enum { SEEN_INACTIVE = 1, SEEN_ACTIVE = 2, SEEN_UNKNOWN = 4, SEEN_NOTIFIED = 8 };

/* A row over the last intervals. */
struct strip_past {
    char *key;                   /* its view and name */
    char marks[STRIPS_PAST + 1]; /* '\0' before it was there */
    unsigned seen;               /* in this interval */
    bool is_there;               /* in this interval */
};

struct strips {
    char name[STRIPS_NAME_SIZE];
    char lost[64]; /* why nothing is known; "": the last answer is */
    json_t *state; /* without changes; NULL: none yet */
    json_t *fresh; /* changes that strips_json has not returned yet */
    uint64_t last; /* number of a change */
    uint64_t missed;
    struct strip_past *past;
    size_t past_count, past_capacity;
};

/* NULL: there is none yet. */
struct strip_past *strips_past_of(const struct strips *strips, const char *view, const json_t *row);

#endif
