/* SPDX-License-Identifier: MIT */
/* scheduling.c: how long threads waited for a CPU. See scheduling.h. */
#include "analysis/statistics/scheduling.h"

void scheduling_begin(struct stream_schedule *schedule, const struct stream_record *record,
                      uint64_t first)
{
    if (schedule->begun || record->start == 0 || record->start < first)
        return;
    *schedule = (struct stream_schedule){.begun = true, .time = record->start};
}

/* Totals only grow. A record with smaller ones is from a damaged trace, and ignored. */
static bool follows(const struct stream_schedule *schedule, const struct record *record)
{
    return record->header.time >= schedule->time &&
           record->schedule.runnable >= schedule->runnable &&
           record->schedule.voluntary >= schedule->voluntary &&
           record->schedule.involuntary >= schedule->involuntary;
}

static void count(struct stream_schedule *schedule, const struct record *record,
                  struct scheduled *sums)
{
    uint64_t elapsed = record->header.time - schedule->time;
    uint64_t runnable = record->schedule.runnable - schedule->runnable;
    uint64_t busy =
        proc_time_used(schedule->proc_time, record_proc_time(&record->header)) + runnable;

    sums->threads += !schedule->counted;
    schedule->counted = true;
    sums->elapsed += elapsed;
    sums->runnable += runnable;
    sums->asleep += elapsed > busy ? elapsed - busy : 0;
    sums->voluntary += record->schedule.voluntary - schedule->voluntary;
    sums->involuntary += record->schedule.involuntary - schedule->involuntary;
}

void scheduling_add(struct stream_schedule *schedule, const struct record *record,
                    struct scheduled *sums)
{
    if (schedule->begun && !follows(schedule, record))
        return;
    if (schedule->begun)
        count(schedule, record, sums);
    schedule->begun = true;
    schedule->time = record->header.time;
    schedule->proc_time = record_proc_time(&record->header);
    schedule->runnable = record->schedule.runnable;
    schedule->voluntary = record->schedule.voluntary;
    schedule->involuntary = record->schedule.involuntary;
}

void add_scheduled(struct scheduled *sum, const struct scheduled *more)
{
    sum->threads += more->threads;
    sum->elapsed += more->elapsed;
    sum->runnable += more->runnable;
    sum->asleep += more->asleep;
    sum->voluntary += more->voluntary;
    sum->involuntary += more->involuntary;
}
