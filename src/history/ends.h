/* SPDX-License-Identifier: MIT */
/* ends.h: the ends of paths, until they are closed. See history_types.h. */
#ifndef DPM_ENDS_H
#define DPM_ENDS_H

#include "history/history_types.h"

struct end *ends_find(struct history *history, uint32_t origin, uint32_t number);
int ends_note_path(struct history *history, uint32_t origin, const struct path_record *record);
int ends_note_machine(struct history *history, uint32_t origin,
                      const struct machine_record *record);

/* MACHINE or FLAGS says which types are recorded. */
void ends_note_flags(struct history *history, uint32_t origin, const struct record_header *record);
/* It is forgotten only by ends_settle. */
void ends_note_destroyed(struct history *history, struct end *end);

/* To be called when something of the end has been removed: frees a closed end that nothing needs. */
void ends_settle(struct history *history, struct end *end);

/* Whether its other end is on none of the sources' machines. */
bool end_leads_away(struct history *history, const struct end *end);
/* Whether its address says so; and whether that address may have been translated on the way (NAT). */
bool end_has_foreign_peer(struct history *history, const struct end *end);
bool end_may_be_translated(const struct history *history, const struct end *end);
/* Whether its unknown other end must be on its own machine. If not, it is on `*ret_machine`; NO_MACHINE: on any. */
bool end_is_local(struct history *history, const struct end *end, uint32_t *ret_machine);

/* The one listed first; NULL: none. */
struct end *ends_first(const struct history *history, enum end_list list);

/* For an end with SENDs and without a partner. */
void ends_list_unjoined(struct history *history, struct end *end);
void ends_unlist_unjoined(struct history *history, struct end *end);

/* A stream has ended; its identity is forgotten later. Returns where to keep its last event for a while. */
struct beginning *history_fade(struct history *history, uint32_t origin, uint32_t stream);
/* The last event of an ended stream. NULL: it ended too long ago. */
const struct beginning *history_faded(const struct history *history, uint32_t origin,
                                      uint32_t stream);

/* Counts all SENDs that will not be received. */
void ends_finish(struct history *history);

#endif
