/* SPDX-License-Identifier: MIT */
#include "event/cpu_wait.h"

#include <string.h>

void cpu_wait_schedule(struct cpu_wait *wait, const struct record *schedule, bool from_birth)
{
    uint64_t count = schedule->schedule.runnable, time = schedule->header.time;
    uint64_t before = wait->known || from_birth ? wait->count : count;
    uint64_t since = time > wait->time ? time - wait->time : 0;

    wait->known = true;
    wait->count = count;
    if (count <= before)
        return;
    wait->last = smaller_of(count - before, since);
    wait->ended = time;
    wait->sum = smaller_of(wait->sum + wait->last, since);
}

struct no_cpu cpu_wait_take(struct cpu_wait *wait, const struct record *record)
{
    uint64_t time = record->header.time;
    struct no_cpu result = {.time = wait->sum};

    if (record->header.id == EVENT_BLOCK) {
        uint64_t begin = time - smaller_of(record->block.duration, time);
        /* a call of MPI spins: what it had no CPU for made it no longer, as far as records show */
        if (block_is_of_mpi(record))
            result.time = smaller_of(result.time, begin > wait->time ? begin - wait->time : 0);
        else
            result.of_block = wait->ended > begin ? smaller_of(wait->last, wait->ended - begin) : 0;
    }
    wait->time = time;
    wait->sum = wait->last = wait->ended = 0;
    return result;
}

struct no_cpu cpu_waits_note(struct cpu_waits *waits, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct record_header *header = event->header;
    uint64_t key = number_key(event->origin, header->stream);
    bool is_schedule = header->id == EVENT_SCHEDULE;

    if (header->stream == 0 || header->id == EVENT_LOST || header->id == EVENT_DISCARDED ||
        (!is_schedule && (header->flags & RECORD_NO_STREAM)))
        return (struct no_cpu){0};
    uint32_t place = (header->stream * 31 + event->origin) % CPU_WAITS_SIZE;
    struct cpu_wait *wait = &waits->of[place].wait;
    if (waits->of[place].key != key)
        memset(wait, 0, sizeof(*wait));
    waits->of[place].key = key;
    if (!is_schedule)
        return cpu_wait_take(wait, record);
    cpu_wait_schedule(wait, record, wait->time != 0);
    return (struct no_cpu){0};
}
