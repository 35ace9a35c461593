/* SPDX-License-Identifier: MIT */
/* recording_state.c: the state of the machine in a recording. See recording_state.h. */
#include "recorder/recording_state.h"

#include "host/host.h"

#include <errno.h>
#include <string.h>

#define STATE_INTERVAL 1000000000ULL /* ns */

int recording_state_open(struct recording *recording, struct problem *problem)
{
    struct recording_state *state = &recording->state;

    if ((recording->options->meter.options.flags & EVENT_FLAG(EVENT_SUMMARY)) == 0)
        return 0;
    int unified = names_cgroups(&recording->names);
    if (host_open("", &state->host) < 0 || host_cgroups_open("", unified, &state->cgroups) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the state of the machine");
    return 0;
}

void recording_state_close(struct recording *recording)
{
    struct recording_state *state = &recording->state;

    host_close(state->host);
    host_cgroups_close(state->cgroups);
    record_queue_done(&state->read);
    *state = (struct recording_state){0};
}

uint64_t recording_cgroups_left_out(const struct recording *recording)
{
    const struct host_cgroups *cgroups = recording->state.cgroups;

    return cgroups == NULL ? 0 : host_cgroups_left_out(cgroups);
}

void recording_state_note(struct recording *recording, const struct record_header *header)
{
    const struct stream_record *stream = (const struct stream_record *)header;
    struct host_cgroups *cgroups = recording->state.cgroups;
    char path[CGROUP_PATH_SIZE];

    if (cgroups == NULL || header->id != EVENT_STREAM)
        return;
    if (host_cgroups_is_new(cgroups, stream->cgroup) &&
        names_cgroup_path(&recording->names, stream->cgroup, path))
        host_cgroups_note(cgroups, path);
    if (stream->tid == stream->pid)
        host_cgroups_note_process(cgroups, stream_pid_here(stream));
}

static void keep(struct recording *recording, const struct record_header *record)
{
    if (record_queue_add(&recording->state.read, record) < 0)
        recording->state.failed = true;
}

int recording_add(struct recording *recording, const struct record_header *record)
{
    return record_queue_add(&recording->state.read, record);
}

static void read_cgroups(struct recording *recording, bool last)
{
    struct host_cgroup cgroup;
    struct name_record name;
    size_t at = 0;

    while (host_cgroups_next(recording->state.cgroups, &at, last, &cgroup)) {
        const struct record_header *header = &cgroup.record.header;
        names_make_cgroup(header->time, cgroup.record.cgroup, cgroup.path, &name);
        if (cgroup.first)
            keep(recording, &name.header);
        keep(recording, header);
    }
}

void recording_state_read(struct recording *recording, bool last)
{
    struct recording_state *state = &recording->state;
    struct summary_record summary;

    if (state->host == NULL)
        return;
    state->last = clock_now(CLOCK_MONOTONIC);
    host_read(state->host, &summary);
    keep(recording, &summary.header);
    read_cgroups(recording, last);
}

void recording_state_step(struct recording *recording, uint64_t now)
{
    struct recording_state *state = &recording->state;

    if (state->host == NULL)
        return;
    if (now - state->last >= STATE_INTERVAL)
        recording_state_read(recording, false);
    else if (host_cgroups_unread(state->cgroups))
        read_cgroups(recording, false);
}

bool recording_state_counts(struct recording *recording, const struct record_header *record)
{
    return record->id != EVENT_NAME ||
           names_is_new(&recording->names, (const struct name_record *)record);
}
