/* SPDX-License-Identifier: MIT */
#include "event/cpu_wait.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void cpu_wait_schedule(struct cpu_wait *wait, const struct record *schedule, bool from_birth)
{
    uint64_t count = schedule->schedule.runnable, time = schedule->header.time;
    uint64_t before = wait->known || from_birth ? wait->count : count;
    uint64_t since = time > wait->time ? time - wait->time : 0;

    wait->known = true;
    wait->count = count;
    if (count <= before)
        return;
    wait->last = least(count - before, since);
    wait->ended = time;
    wait->sum = least(wait->sum + wait->last, since);
}

struct no_cpu cpu_wait_take(struct cpu_wait *wait, const struct record *record)
{
    uint64_t time = record->header.time;
    struct no_cpu result = {.time = wait->sum};

    if (record->header.id == EVENT_BLOCK) {
        uint64_t begin = time - least(record->block.duration, time);
        result.of_block = wait->ended > begin ? least(wait->last, wait->ended - begin) : 0;
    }
    wait->time = time;
    wait->sum = wait->last = wait->ended = 0;
    return result;
}
