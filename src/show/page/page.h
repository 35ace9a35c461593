/* SPDX-License-Identifier: MIT */
/*
 * page.h: what the page of a report draws, as one JSON object, and the script and style that draw it.
 *
 *      struct report --page_json--> {"kinds": [...], "time": {...}, "lanes": [...], "why": {...}, "requests": {...},
 *                                    "map": {...}, "states": {...}, "flame": {...}, "history": {...}}
 *
 * The script knows nothing but this object, so a page that is still being recorded can hand it another one. Texts of recorded
 * programs are valid UTF-8 without control characters; what a browser could take for markup is escaped (page_print).
 */
#ifndef DPM_PAGE_H
#define DPM_PAGE_H

#include "show/show.h"

#include <jansson.h>

/* Made when DPM is built, by scripts/embed_page: from *.js, *.css and third_party/dagre. */
extern const char page_library[]; /* a script to stand before ours: dagre */
extern const char page_script[];
extern const char page_style[];
extern const char page_policy[]; /* of <meta http-equiv="Content-Security-Policy"> */

/* A new object; NULL: out of memory. */
json_t *page_json(const struct report *report);

/* Prints it so that it can stand inside of a script element, in HTML and in XML, and frees it. Returns 0, or -ENOMEM, also for
 * NULL. */
int page_print(json_t *data, FILE *file);

/* The lane of the processes with this name, and the script of this label (process_label; "": none), on the machine of this origin:
 * "lane-3", "lane-others". False: there is none. */
#define PAGE_ID_SIZE 32
bool page_lane_id(const struct report *report, uint32_t origin, const char *name, const char *label,
                  char id[PAGE_ID_SIZE]);
/* The same of a process of the statistics. */
bool page_process_lane_id(const struct report *report, const struct communication_process *process,
                          char id[PAGE_ID_SIZE]);
/* The same of a lane's index; that of the others is lanes->count. */
void page_lane_id_of(const struct lanes *lanes, size_t lane, char id[PAGE_ID_SIZE]);

/* "nginx x2", "postgres[12]", "31 others". */
#define PAGE_LANE_SIZE (PROCESS_NAME_SIZE + UNIT_SIZE)
void page_lane_text(const struct lane *lane, char text[PAGE_LANE_SIZE]);

/* The account that is shown: of the run, or else of requests. NULL: there is none. */
const struct elapsed_account *page_account(const struct report *report);

#define PAGE_ROWS 60 /* of the account; the rest is added up */

#endif
