/* SPDX-License-Identifier: MIT */
/* packet_records.h: how many records a packet has. Private to filter/. */
#ifndef DPM_PACKET_RECORDS_H
#define DPM_PACKET_RECORDS_H

#include "event/event.h"

#include <stddef.h>

/* The types of a trace's classes of records, by ring and number; all zero at first. */
struct packet_classes {
    uint8_t types[RING_COUNT][256 - EVENT_CLASS_FIRST];
};

/* Counts the records of a packet of a trace, and notes CLASS records among them. Packets of the trace come in order. */
uint64_t packet_records(const void *packet, size_t size, struct packet_classes *classes);

#endif
