/* SPDX-License-Identifier: MIT */
/* record_face.h: a record as text and as JSON. Private to show/. */
#ifndef DPM_RECORD_FACE_H
#define DPM_RECORD_FACE_H

#include "show/show.h"

/* Wall-clock time of a record. The texts are in `face` and valid until the next call. */
struct wall_time {
    const char *second; /* "2026-01-31 12:00:00", local time zone */
    unsigned ns;        /* within the second */
    const char *zone;   /* "+01:00" */
};

struct wall_time record_wall_time(struct record_face *face, const struct event *event);

/* Whether the record names a stream. No stream has the number 0. */
bool record_has_stream(const struct record_header *header);

/* PC of the record; 0: unknown, or not an event. */
uint64_t record_event_pc(const struct record_header *header);

/* ---- record_state_text.c: bodies of lines of text ---- */

void print_summary(FILE *file, const struct summary_record *summary);
void print_decision(FILE *file, const struct decision_record *decision);
void print_cgroup(FILE *file, const struct cgroup_record *cgroup, const char *name);
void print_meter_flags(FILE *file, const struct flags_record *flags);

void print_class(FILE *file, const struct record *record);

/* A record of which a selection has removed fields: those that are left, by name. */
void print_without(FILE *file, const struct event *event);

/* ---- lines ---- */

int show_record_text(struct record_face *face, const struct event *event);
int show_record_json(struct record_face *face, const struct event *event);

#endif
