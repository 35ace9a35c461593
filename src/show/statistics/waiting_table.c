/* SPDX-License-Identifier: MIT */
/* waiting_table.c: queues, and who waits for whom, for people. See statistics_face.h. */
#include "analysis/statistics/statistics_figures.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/table.h"

#include <inttypes.h>

/* ---- queues ---- */

static bool has_queue(const void *row)
{
    return ((const struct communication_process *)row)->queue.operations > 0;
}

static int add_queue_row(struct table *table, const struct communication *communication,
                         const void *row)
{
    const struct communication_process *process = row;
    const struct queue_length *queue = &process->queue;
    char name[PROCESS_TEXT_SIZE];
    char cells[6][UNIT_SIZE];

    process_text(communication, (uint32_t)(process - communication->processes), name);
    show_count(queue->messages_max, cells[0]);
    snprintf(cells[1], UNIT_SIZE, "%.2f", queue_mean(queue, communication->duration));
    snprintf(cells[2], UNIT_SIZE, "%.2f", queue_mean_over_operations(queue));
    show_count(queue->messages, cells[3]);
    show_bytes(queue->bytes_max, cells[4]);
    show_count(queue->unreceived, cells[5]);
    return table_add(
        table, (const char *[]){name, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]});
}

int print_queue_table(const struct communication *communication, FILE *file,
                      const struct show_options *options)
{
    const struct table_column columns[] = {
        {communication->by == BY_PROCESS ? "PROCESS" : "GROUP", false},
        {"MOST", true},
        {"MEAN", true},
        {"MEAN AT MESSAGES", true},
        {"NOW", true},
        {"MOST BYTES", true},
        {"NEVER RECEIVED", true},
    };
    const struct chosen_table chosen = {"Messages that wait to be received", columns,
                                        ARRAY_SIZE(columns), has_queue, add_queue_row};

    return print_chosen_table(&chosen, communication,
                              (const void **)ordered_processes(communication, options->order),
                              communication->process_count, file, options);
}

/* ---- paths ---- */

static void quantile_text(const struct histogram *times, double share, char text[UNIT_SIZE])
{
    if (histogram_bars(times) == 0)
        snprintf(text, UNIT_SIZE, "-");
    else
        show_duration(histogram_quantile(times, share), text);
}

static bool path_has_waits(const void *row)
{
    const struct communication_path *path = row;

    for (unsigned kind = TIME_MESSAGE_WAIT; kind < TIME_KINDS; kind++)
        if (histogram_bars(&path->times.of[kind]) > 0)
            return true;
    return path->queue.operations > 0;
}

static int add_path_row(struct table *table, const struct communication *communication,
                        const void *row)
{
    const struct communication_path *path = row;
    const struct histogram *of = path->times.of;
    char local[END_TEXT_SIZE];
    char remote[END_TEXT_SIZE];
    char cells[8][UNIT_SIZE];

    end_text(communication, &path->ends[0], path->local, local);
    end_text(communication, &path->ends[1], path->remote, remote);
    show_count(path->queue.messages_max, cells[0]);
    snprintf(cells[1], UNIT_SIZE, "%.2f", queue_mean(&path->queue, communication->duration));
    show_count(path->queue.unreceived, cells[2]);
    quantile_text(&of[TIME_MESSAGE_WAIT], 0.5, cells[3]);
    quantile_text(&of[TIME_MESSAGE_WAIT], 0.99, cells[4]);
    quantile_text(&of[TIME_RECEIVER_WAIT], 0.5, cells[5]);
    quantile_text(&of[TIME_SENDER_BLOCKED], 0.5, cells[6]);
    quantile_text(&of[TIME_DELIVERY], 0.5, cells[7]);
    return table_add(table,
                     (const char *[]){path_kind_name(path->kind), local, remote, cells[0], cells[1],
                                      cells[2], cells[3], cells[4], cells[5], cells[6], cells[7]});
}

int print_path_wait_table(const struct communication *communication, FILE *file,
                          const struct show_options *options)
{
    static const struct table_column columns[] = {
        {"PATH", false},
        {"LOCAL", false},
        {"REMOTE", false},
        {"MOST", true},
        {"MEAN", true},
        {"NEVER RECEIVED", true},
        {"MESSAGES WAIT P50", true},
        {"P99", true},
        {"RECEIVERS P50", true},
        {"SENDERS P50", true},
        {"DELIVERY P50", true},
    };
    static const struct chosen_table chosen = {"Where messages wait", columns, ARRAY_SIZE(columns),
                                               path_has_waits, add_path_row};

    if (communication->counts_only)
        return 0;
    return print_chosen_table(&chosen, communication,
                              (const void **)ordered_paths(communication, options->order),
                              communication->path_count, file, options);
}

/* ---- who is late ---- */

static void sum_text(const struct histogram *times, char text[UNIT_SIZE])
{
    if (histogram_bars(times) == 0)
        snprintf(text, UNIT_SIZE, "-");
    else
        show_duration(histogram_sum(times), text);
}

static bool has_waited(const void *row)
{
    return pair_waited(row) > 0;
}

static int add_late_row(struct table *table, const struct communication *communication,
                        const void *row)
{
    const struct communication_pair *pair = row;
    const struct histogram *of = pair->times.of;
    char from[PARTY_TEXT_SIZE];
    char to[PARTY_TEXT_SIZE];
    char cells[6][UNIT_SIZE];

    party_text(communication, &pair->from, from);
    party_text(communication, &pair->to, to);
    sum_text(&of[TIME_RECEIVER_WAIT], cells[0]);
    quantile_text(&of[TIME_RECEIVER_WAIT], 0.5, cells[1]);
    sum_text(&of[TIME_MESSAGE_WAIT], cells[2]);
    quantile_text(&of[TIME_MESSAGE_WAIT], 0.5, cells[3]);
    sum_text(&of[TIME_SENDER_BLOCKED], cells[4]);
    quantile_text(&of[TIME_DELIVERY], 0.5, cells[5]);
    return table_add(table, (const char *[]){from, to, cells[0], cells[1], cells[2], cells[3],
                                             cells[4], cells[5],
                                             sender_is_late(pair) ? "the sender" : "the receiver"});
}

int print_late_table(const struct communication *communication, FILE *file,
                     const struct show_options *options)
{
    static const struct table_column columns[] = {
        {"FROM", false},           {"TO", false}, {"RECEIVER WAITED", true}, {"P50", true},
        {"MESSAGES WAITED", true}, {"P50", true}, {"SENDER BLOCKED", true},  {"DELIVERY P50", true},
        {"LATE", false},
    };
    static const struct chosen_table chosen = {"Who waits for whom", columns, ARRAY_SIZE(columns),
                                               has_waited, add_late_row};

    if (communication->counts_only)
        return 0;
    return print_chosen_table(&chosen, communication, (const void **)pairs_by_wait(communication),
                              communication->pair_count, file, options);
}
