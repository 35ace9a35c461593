/* SPDX-License-Identifier: MIT */
/* ends.h: where: ends of paths, which are closed. See history_types.h. */
#ifndef DPM_ENDS_H
#define DPM_ENDS_H

#include "history/history_types.h"

struct end *ends_find(struct history *history, uint32_t origin, uint32_t number);
int ends_note_path(struct history *history, uint32_t origin, const struct path_record *record);
int ends_note_machine(struct history *history, uint32_t origin,
                      const struct machine_record *record);
void ends_note_destroyed(struct history *history, struct end *end);

/* To be called when something of the end has gone: frees what is closed. */
void ends_settle(struct history *history, struct end *end);

/* Whether its other end lies on no machine of the sources. */
bool end_leads_away(struct history *history, const struct end *end);
/* Whether its address says so; and whether that may be another one's, translated on the way (NAT). */
bool end_has_foreign_peer(struct history *history, const struct end *end);
bool end_may_be_translated(const struct history *history, const struct end *end);
/* Whether its other end, which is not known, must be on its own machine; else on `*ret_machine`, or NO_MACHINE: any. */
bool end_is_local(struct history *history, const struct end *end, uint32_t *ret_machine);

/* The one that was listed first; NULL: none. */
struct end *ends_first(const struct history *history, enum end_list list);

/* An end with SENDs and without a partner. */
void ends_list_unjoined(struct history *history, struct end *end);
void ends_unlist_unjoined(struct history *history, struct end *end);

/* A stream has ended: its identity is forgotten by and by. Returns where its last event is kept for a while. */
struct beginning *history_fade(struct history *history, uint32_t origin, uint32_t stream);
/* The last event of a stream that has ended, or NULL: too long ago. */
const struct beginning *history_faded(const struct history *history, uint32_t origin,
                                      uint32_t stream);

/* Counts all SENDs that nobody will receive. */
void ends_finish(struct history *history);

#endif
