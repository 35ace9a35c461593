/* SPDX-License-Identifier: MIT */
/* filter_report.h: what `dpm filter --from` says of what it has stored. Private to command/. */
#ifndef DPM_FILTER_REPORT_H
#define DPM_FILTER_REPORT_H

#include "filter/filter.h"

#include <jansson.h>

/* A line or more for each copy; with rules, how much they selected. */
void filter_report_copies(const struct filter *filter, bool has_rules);

/* What came in place of packets; nothing if there was none. */
void filter_report_malformed(const struct filter *filter);

/* What is stored, as an object for a line of JSON, without its end:
 *      {"packets": 12, "malformed": 0, "copies": [{"machine": "web1", "recording": "main", "name": "web1", "bytes": 49152, ...}]}
 * NULL: out of memory. */
json_t *filter_report_json(const struct filter *filter);

#endif
