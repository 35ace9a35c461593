/* SPDX-License-Identifier: MIT */
/* sums.c: adds rows up. See rows.h. */
#include "analysis/statistics/rows.h"

#include "analysis/statistics/scheduling.h"

void add_traffic(struct traffic *sum, const struct traffic *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
}

void add_network(struct network *sum, const struct network *more)
{
    sum->known = sum->known || more->known;
    sum->counted = sum->counted || more->counted;
    sum->retransmitted += more->retransmitted;
    sum->unacknowledged += more->unacknowledged;
    if (more->round_trip > sum->round_trip)
        sum->round_trip = more->round_trip;
}

void add_held(struct held_messages *sum, const struct held_messages *more)
{
    sum->messages += more->messages;
    sum->time += more->time;
}

void add_asked(struct request_parts *sum, const struct request_parts *more)
{
    sum->connects += more->connects;
    sum->connect_time += more->connect_time;
    sum->resent += more->resent;
    sum->resent_time += more->resent_time;
    sum->retried += more->retried;
    sum->retry_time += more->retry_time;
    sum->unanswered += more->unanswered;
    sum->unanswered_time += more->unanswered_time;
    if (more->unanswered_most > sum->unanswered_most)
        sum->unanswered_most = more->unanswered_most;
}

int add_times(struct times *sum, const struct times *more)
{
    int result = 0;

    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++)
        result = histogram_merge(&sum->of[kind], &more->of[kind], HISTOGRAM_MOST);
    return result;
}

/* The maximum of several queues is that of the longest one: their lengths over time are not kept. */
void add_queue(struct queue_length *sum, const struct queue_length *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
    if (more->messages_max > sum->messages_max)
        sum->messages_max = more->messages_max;
    if (more->bytes_max > sum->bytes_max)
        sum->bytes_max = more->bytes_max;
    sum->operations += more->operations;
    sum->messages_sum += more->messages_sum;
    sum->wait += more->wait;
    sum->unreceived += more->unreceived;
    sum->unknown = sum->unknown || more->unknown;
}

void add_path_sums(struct communication_path *sum, const struct communication_path *more)
{
    add_traffic(&sum->sent, &more->sent);
    add_traffic(&sum->received, &more->received);
    sum->connections += more->connections;
    sum->ended += more->ended;
    sum->dropped += more->dropped;
    sum->refused += more->refused;
    sum->duplicates += more->duplicates;
    add_network(&sum->network, &more->network);
    add_held(&sum->held_sent, &more->held_sent);
    add_held(&sum->held_received, &more->held_received);
    add_queue(&sum->queue, &more->queue);
}

int add_process_sums(struct communication_process *sum, const struct communication_process *more)
{
    if (sum->end == 0 || more->begin < sum->begin)
        sum->begin = more->begin;
    sum->end = more->end > sum->end ? more->end : sum->end;
    sum->cpu += more->cpu;
    sum->spun += more->spun;
    add_scheduled(&sum->scheduled, &more->scheduled);
    add_traffic(&sum->sent, &more->sent);
    add_traffic(&sum->received, &more->received);
    sum->failed_sends += more->failed_sends;
    sum->failed_receives += more->failed_receives;
    add_queue(&sum->queue, &more->queue);
    add_asked(&sum->asked, &more->asked);
    int result = histogram_merge(&sum->sizes, &more->sizes, HISTOGRAM_MOST);
    return result < 0 ? result : add_times(&sum->times, &more->times);
}

void times_done(struct times *times)
{
    for (unsigned kind = 0; kind < TIME_KINDS; kind++)
        histogram_done(&times->of[kind]);
}
