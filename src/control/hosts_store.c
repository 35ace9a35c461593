/* SPDX-License-Identifier: MIT */
/* hosts_store.c: what is kept of a recording on several machines. See hosts_store.h. */
#include "control/hosts_store.h"

#include "control/hosts.h"

/* With --store none: pairs of files that are kept for a report that lags behind. An agent makes so many of its
 * 1 GiB that each has 4 MiB, or what lives there if that is more. */
#define PASSING_FILES 8
#define PASSING_MOST  (1ull << 30) /* bytes, whatever a machine sends */

bool hosts_only_reports(const struct hosts *hosts)
{
    return hosts->recorder.options->recording.store == STORE_NONE;
}

struct trace_copy_limits hosts_copy_limits(const struct hosts *hosts)
{
    const struct recording_options *recording = &hosts->recorder.options->recording;

    if (recording->store == STORE_NONE)
        return (struct trace_copy_limits){
            .max_bytes = PASSING_MOST, .newest = true, .kept.max_files = PASSING_FILES};
    return (struct trace_copy_limits){.max_bytes = recording->max_size,
                                      .newest = recording->store == STORE_NEWEST,
                                      .kept = recording->limits};
}

void hosts_set_spool(const struct hosts *hosts, json_t *params)
{
    const struct recording_options *recording = &hosts->recorder.options->recording;

    if (recording->store == STORE_NONE)
        json_object_set_new(params, "max_files", json_integer(TRACE_FILES_MOST));
    if (recording->store != STORE_NEWEST)
        return;
    json_object_set_new(params, "max_size", json_integer((json_int_t)recording->max_size));
    json_object_set_new(params, "max_files", json_integer(recording->limits.max_files));
    json_object_set_new(params, "max_age", json_integer((json_int_t)recording->limits.max_age));
}
