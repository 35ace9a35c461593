/* SPDX-License-Identifier: MIT */
/* record_face.h: the two faces of a record. Private to show/. */
#ifndef DPM_RECORD_FACE_H
#define DPM_RECORD_FACE_H

#include "show/show.h"

/* Wall-clock time of a record. The parts of the text stand in `face` until the next call. */
struct wall_time {
    const char *second; /* "2026-01-31 12:00:00", local time zone */
    unsigned ns;        /* within the second */
    const char *zone;   /* "+01:00" */
};

struct wall_time record_wall_time(struct record_face *face, const struct event *event);

/* Whether the record speaks of a stream: 0 is none's number. */
bool record_has_stream(const struct record_header *header);

/* The PC of an event's record; 0: not known, or it is no event. */
uint64_t record_event_pc(const struct record_header *header);

int show_record_text(struct record_face *face, const struct event *event);
int show_record_json(struct record_face *face, const struct event *event);

#endif
