/* SPDX-License-Identifier: MIT */
/*
 * classes.h: classes of records that lack fields, in one file of a trace. A record keeps its size and layout, so that
 * readers can cast it; its ID tells which class it belongs to. Private to trace/.
 *
 *      CLASS 128: SEND without offset, span     SEND     128      SEND     128
 *      written before the first such record     whole    a SEND without offset and span ...
 */
#ifndef DPM_CLASSES_H
#define DPM_CLASSES_H

#include "event/event.h"

#define CLASSES_MOST (256 - EVENT_CLASS_FIRST)

struct class
{
    uint8_t type;    /* enum event_id; 0: no such class */
    uint64_t absent; /* bits of EVENT_BODY_FIELD_BIT */
};

struct classes {
    struct class at[CLASSES_MOST]; /* [ID - EVENT_CLASS_FIRST] */
};

/* Whether records of this type may lack these fields: the type must exist and have them. The ID, the time, the flags
 * and what identifies the stream cannot be absent. */
bool class_is_possible(unsigned type, uint64_t absent);

/* Notes a CLASS record. Returns false if it is impossible, or contradicts an earlier one. */
bool classes_note(struct classes *classes, const struct record *record);

/* The class of records with this ID; NULL: there is none. */
const struct class *classes_find(const struct classes *classes, unsigned id);

/* Sets the bytes of these fields to 0. The record is complete and of this type. */
void class_clear_fields(unsigned type, uint64_t absent, struct record_header *record);

#endif
