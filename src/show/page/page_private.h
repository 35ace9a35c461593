/* SPDX-License-Identifier: MIT */
/* page_private.h: the parts of the page's object. Private to page/. All make new values; NULL: out of memory. */
#ifndef DPM_PAGE_PRIVATE_H
#define DPM_PAGE_PRIVATE_H

#include "show/page/page.h"

json_t *page_lanes_json(const struct report *report);
json_t *page_losses_json(const struct lanes *lanes);
json_t *page_map_json(const struct report *report);
json_t *page_flame_json(const struct report *report);
json_t *page_states_json(const struct report *report);
json_t *page_history_json(const struct report *report);

/* {"computing": ns, ...}, without those that are 0. */
json_t *page_kinds_json(const uint64_t by_kind[ELAPSED_KIND_COUNT]);

/* The label of a process, if others have its name; else "". */
void page_label(const struct communication_process *process, char label[PROCESS_LABEL_SIZE]);

/* Index of the machine of an origin, in communication->machines. */
uint32_t page_machine_of(const struct report *report, uint32_t origin);

#endif
