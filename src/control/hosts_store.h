/* SPDX-License-Identifier: MIT */
/*
 * hosts_store.h: what is kept of a recording on several machines (--store). Private to control/.
 *
 *      all      agent: the newest 1 GiB      here: everything, up to --max-size for each host
 *      newest   agent: the same limits ...   here: ... as a trace on one machine
 *      none     agent: the newest 1 GiB      here: the newest few MiB, in the session's folder, until the report has read
 *               in many small files                them
 */
#ifndef DPM_HOSTS_STORE_H
#define DPM_HOSTS_STORE_H

#include "trace/packets.h"

#include <jansson.h>
#include <stdbool.h>

struct hosts;

/* Whether only the report while recording sees the records (--store none). */
bool hosts_only_reports(const struct hosts *hosts);

/* What the copies keep. */
struct trace_copy_limits hosts_copy_limits(const struct hosts *hosts);

/* Adds to the parameters of recording.open what the agent is to keep. */
void hosts_set_spool(const struct hosts *hosts, json_t *params);

#endif
