/* SPDX-License-Identifier: MIT */
/*
 * since.c: what processes did between two results of the same statistics.
 *
 *      earlier:  server 1,000 received      later:  server 1,700 received      -->   server 700 received
 *                client 1,000 sent                  client 1,700 sent                client 700 sent
 *                idle       3 sent                  idle       3 sent                (aside)
 */
#include "analysis/statistics/rows.h"

#include <errno.h>

static uint64_t less(uint64_t later, uint64_t earlier)
{
    return later > earlier ? later - earlier : 0;
}

static void subtract_traffic(struct traffic *later, const struct traffic *earlier)
{
    later->messages = less(later->messages, earlier->messages);
    later->bytes = less(later->bytes, earlier->bytes);
}

static void subtract_scheduled(struct scheduled *later, const struct scheduled *earlier)
{
    later->elapsed = less(later->elapsed, earlier->elapsed);
    later->runnable = less(later->runnable, earlier->runnable);
    later->asleep = less(later->asleep, earlier->asleep);
    later->voluntary = less(later->voluntary, earlier->voluntary);
    later->involuntary = less(later->involuntary, earlier->involuntary);
}

static void subtract_covered(struct covered_times *later, const struct covered_times *earlier)
{
    later->response = less(later->response, earlier->response);
    later->request = less(later->request, earlier->request);
    later->reads = less(later->reads, earlier->reads);
    later->writes = less(later->writes, earlier->writes);
    later->held = less(later->held, earlier->held);
}

/* The longest of an interval is not known. */
static void subtract_parts(struct request_parts *later, const struct request_parts *earlier)
{
    later->connects = less(later->connects, earlier->connects);
    later->connect_time = less(later->connect_time, earlier->connect_time);
    later->resent = less(later->resent, earlier->resent);
    later->resent_time = less(later->resent_time, earlier->resent_time);
    later->retried = less(later->retried, earlier->retried);
    later->retry_time = less(later->retry_time, earlier->retry_time);
    later->unanswered = less(later->unanswered, earlier->unanswered);
    later->unanswered_time = less(later->unanswered_time, earlier->unanswered_time);
    if (later->unanswered_most > later->unanswered_time)
        later->unanswered_most = later->unanswered_time;
}

static void subtract_process(struct communication_process *later,
                             const struct communication_process *earlier)
{
    later->cpu = less(later->cpu, earlier->cpu);
    later->spun = less(later->spun, earlier->spun);
    later->failed_sends = less(later->failed_sends, earlier->failed_sends);
    later->failed_receives = less(later->failed_receives, earlier->failed_receives);
    subtract_scheduled(&later->scheduled, &earlier->scheduled);
    subtract_traffic(&later->sent, &earlier->sent);
    subtract_traffic(&later->received, &earlier->received);
    subtract_parts(&later->asked, &earlier->asked);
    subtract_covered(&later->covered, &earlier->covered);
    histogram_subtract(&later->sizes, &earlier->sizes);
    for (unsigned kind = 0; kind < TIME_KINDS; kind++)
        histogram_subtract(&later->times.of[kind], &earlier->times.of[kind]);
}

static uint64_t key_of(const struct communication_process *process)
{
    return number_key(process->origin, process->stream);
}

static bool was_active(const struct communication_process *process)
{
    return process->cpu > 0 || process->sent.messages > 0 || process->received.messages > 0;
}

static void sum_up(struct communication *later)
{
    later->cpu = later->spun = 0;
    later->sent = (struct traffic){0};
    for (size_t i = 0; i < later->process_count; i++) {
        struct communication_process *process = &later->processes[i];
        process->queue = (struct queue_length){0}; /* maxima of an interval are not known */
        process->aside = !was_active(process);
        later->cpu += process->cpu;
        later->spun += process->spun;
        add_traffic(&later->sent, &process->sent);
    }
}

int communication_since(struct communication *later, const struct communication *earlier)
{
    struct intern keys = {0};
    int64_t index = 0;

    for (size_t i = 0; index >= 0 && i < earlier->process_count; i++)
        index = intern_add(&keys, key_of(&earlier->processes[i]));
    for (size_t i = 0; index >= 0 && i < later->process_count; i++) {
        int64_t before = intern_find(&keys, key_of(&later->processes[i]));
        if (before >= 0)
            subtract_process(&later->processes[i], &earlier->processes[before]);
    }
    /* an index of the table is one of the rows only if no two rows have one key */
    bool unique = keys.count == earlier->process_count;
    intern_done(&keys);
    if (index < 0 || !unique)
        return index < 0 ? -ENOMEM : -EINVAL;
    later->duration = less(later->duration, earlier->duration);
    later->events = less(later->events, earlier->events);
    later->lost = less(later->lost, earlier->lost);
    sum_up(later);
    return 0;
}
