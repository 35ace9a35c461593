/* SPDX-License-Identifier: MIT */
/*
 * recording_wait.c: when a recording looks for records.
 *
 *      step                                                    next step
 *       |-- RECORDING_INTERVAL --|------------------------------|
 *           not even when woken      when woken, or what hurries  '- RECORDING_PAUSE later
 *
 * Few wake-ups leave the processors to the metered programs. What hurries: a wish of the user (options->latest), a program
 * that has just begun, a record that is being written, analyses that lag behind, and what is due.
 */
#include "recorder/recording_wait.h"

#include "recorder/followed.h"
#include "recorder/recording_libraries.h"

#include <assert.h>
#include <string.h>

/* A program that ends within this time after its beginning has names for PCs in its libraries, if it makes a record
 * RECORDING_INTERVAL before its end: later its mappings cannot be read. */
#define YOUNG 250000000ULL /* ns */

static uint64_t at_most_latest(const struct recording *recording, uint64_t milliseconds)
{
    uint64_t latest = recording->options->latest;

    return latest == 0 ? milliseconds * MILLISECOND
                       : smaller_of(latest, milliseconds * MILLISECOND);
}

void recording_wait_note(struct recording *recording, const struct record_header *record)
{
    if (record->id == EVENT_IMAGE && recording->symbols != NULL)
        recording->young_until = record->time + YOUNG;
}

/* Whether to look soon, although nothing may wake us. */
static bool hurries(const struct recording *recording)
{
    return source_descriptor(&recording->meter->source) < 0 ||
           recording->last_step < recording->young_until ||
           recording->complete < recording->last_step || followed_lags(recording->followed);
}

/* The time of the next step, if nothing wakes us before. */
static uint64_t due(const struct recording *recording, uint64_t now)
{
    uint64_t pause =
        at_most_latest(recording, hurries(recording) ? RECORDING_INTERVAL : RECORDING_PAUSE);
    uint64_t time = smaller_of(now + pause, recording->measure_due);
    const struct meter_interface *meter = recording->meter;

    time = smaller_of(time, recording_libraries_due(recording));
    if (meter->look_until != NULL)
        time = smaller_of(time, meter->look_until(meter));
    return smaller_of(time,
                      smaller_of(recording->last_care + CARE_INTERVAL,
                                 recording->last_flush + recording_flush_interval(recording)));
}

uint64_t recording_flush_interval(const struct recording *recording)
{
    uint64_t latest = recording->options->latest;

    if (latest == 0)
        return CARE_INTERVAL;
    return latest > MILLISECOND ? latest - MILLISECOND : latest; /* poll(2) may take one more */
}

/* poll(2), until a time. The last of the files is the meter's. */
static int wait_for(struct pollfd *files, size_t count, uint64_t until)
{
    return poll(files, count, poll_timeout(until, clock_now(CLOCK_MONOTONIC)));
}

int recording_wait(struct recording *recording, struct pollfd *files, size_t count, uint64_t until)
{
    struct pollfd all[RECORDING_FILES_MOST + 1];
    struct pollfd *meter = &all[count];
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    assert(count <= RECORDING_FILES_MOST);
    memcpy(all, files, count * sizeof(*files));
    *meter = (struct pollfd){.fd = -1, .events = POLLIN};
    if (recording->active) {
        meter->fd = source_descriptor(&recording->meter->source);
        until = smaller_of(until, due(recording, now));
    }
    int ready = wait_for(all, count + 1, until);
    bool woken = ready > 0 && meter->revents != 0;
    if (woken && ready == 1) {
        uint64_t soonest = now + at_most_latest(recording, RECORDING_INTERVAL);
        ready = wait_for(all, count, smaller_of(until, soonest));
    } else {
        ready -= woken;
    }
    for (size_t i = 0; i < count; i++)
        files[i].revents = ready > 0 ? all[i].revents : 0;
    return ready;
}
