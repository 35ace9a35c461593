/* SPDX-License-Identifier: MIT */
/*
 * fabric_names.h: subjects and headers, made and taken apart; whatever they contain. Private to fabric/.
 *
 *      dpm.tsp.web1.packets.main.data      dpm.tsp.web1.output.4711.err      dpm.tsp.web1.notice
 *      Nats-Msg-Id: 0f3a...-0-data-17      Dpm-File: 0                       Dpm-After: 0-16      Dpm-Stored: 0-9
 *
 * Dpm-After is the packet's predecessor, as the publisher sent it: a consumer that has not had it waits. Dpm-Stored: when
 * this packet was sent, everything up to there was stored. Both are of the same trace, or "-": none. Dpm-Left-Out: packets between the
 * two are missing on purpose.
 */
#ifndef DPM_FABRIC_NAMES_H
#define DPM_FABRIC_NAMES_H

#include "fabric/fabric.h"

#define HEADER_ID     "Nats-Msg-Id"
#define HEADER_FILE   "Dpm-File"
#define HEADER_AFTER  "Dpm-After"
#define HEADER_STORED "Dpm-Stored"
#define HEADER_AT     "Dpm-At"

#define PLACE_ID_SIZE 96 /* bytes for place_id_text */

enum address_kind { ADDRESS_PACKETS, ADDRESS_CONTROL, ADDRESS_NOTICE, ADDRESS_OUTPUT };

struct address {
    char machine[FABRIC_NAME_MOST + 1];
    enum address_kind kind;
    char recording[FABRIC_NAME_MOST + 1]; /* PACKETS */
    enum fabric_part part;
    pid_t pid; /* OUTPUT */
    bool err;
};

/* Returns 0, or -EPROTO if `subject` is none of this session's. */
int address_parse(const char *subject, const char *session, struct address *ret_address);

const char *part_name(enum fabric_part part);

/* UUID-FILE-PART-NUMBER. */
void place_id_text(const struct fabric_place *place, enum fabric_part part,
                   char ret_text[PLACE_ID_SIZE]);
int place_id_parse(const char *text, struct fabric_place *ret_place, enum fabric_part *ret_part);

/* FILE-NUMBER, or "-" if `place` is NULL. */
void place_text(const struct fabric_place *place, char ret_text[PLACE_ID_SIZE]);

/* Returns 1: a place, whose uuid is not written; 0: "-"; -EPROTO. */
int place_parse(const char *text, struct fabric_place *ret_place);

#endif
