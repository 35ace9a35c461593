/* SPDX-License-Identifier: MIT */
/*
 * statistics_csv.c: one table of the communication statistics for spreadsheets (RFC 4180): a heading,
 * then every row, with plain figures. Columns are stable; dpm-stats(1) describes them.
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static void text_cell(FILE *file, const char *from, size_t size, const char *end)
{
    char safe[512];

    if (size >= sizeof(safe))
        size = sizeof(safe) - 1;
    show_text(from, size, safe);
    if (strpbrk(safe, ",\"") == NULL) {
        fprintf(file, "%s%s", safe, end);
        return;
    }
    fputc('"', file);
    for (const char *at = safe; *at != '\0'; at++) {
        if (*at == '"')
            fputc('"', file);
        fputc(*at, file);
    }
    fprintf(file, "\"%s", end);
}

static void count_cell(FILE *file, uint64_t value, const char *end)
{
    fprintf(file, "%" PRIu64 "%s", value, end);
}

static void traffic_cells(FILE *file, const struct traffic *traffic)
{
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",", traffic->messages, traffic->bytes);
}

/* A second of the whole recording. */
static void rate_cells(FILE *file, const struct communication *communication,
                       const struct traffic *traffic, const char *end)
{
    fprintf(file, "%.3f,%.3f%s", show_rate(traffic->messages, communication->duration),
            show_rate(traffic->bytes, communication->duration), end);
}

#define RATE_COLUMNS                                                                               \
    "sent_messages_per_s,sent_bytes_per_s,received_messages_per_s,received_bytes_per_s"

#define DISTRIBUTION_COLUMNS(name)                                                                 \
    name "_count," name "_mean," name "_min," name "_p50," name "_p90," name "_p99," name "_max"

/* Of none all but the count are empty. */
static void distribution_cells(FILE *file, const struct histogram *from, const char *end)
{
    uint64_t values = histogram_count(from);

    if (values == 0)
        fprintf(file, "0,,,,,,%s", end);
    else
        fprintf(file,
                "%" PRIu64 ",%.0f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "%s",
                values, (double)histogram_sum(from) / (double)values, histogram_min(from),
                histogram_quantile(from, 0.5), histogram_quantile(from, 0.9),
                histogram_quantile(from, 0.99), histogram_max(from), end);
}

/* Of a message between its sender and its receiver: empty where only what is counted is known. */
static void followed_cells(FILE *file, const struct communication *communication,
                           const struct histogram *from, const char *end)
{
    if (communication->counts_only)
        fprintf(file, ",,,,,,%s", end);
    else
        distribution_cells(file, from, end);
}

#define WAIT_COLUMNS                                                                               \
    DISTRIBUTION_COLUMNS("message_wait_ns")                                                        \
    "," DISTRIBUTION_COLUMNS("receiver_wait_ns") "," DISTRIBUTION_COLUMNS("delivery_ns")

static void wait_cells(FILE *file, const struct communication *communication,
                       const struct times *from, const char *end)
{
    followed_cells(file, communication, &from->of[TIME_MESSAGE_WAIT], ",");
    distribution_cells(file, &from->of[TIME_RECEIVER_WAIT], ",");
    followed_cells(file, communication, &from->of[TIME_DELIVERY], end);
}

/* What processes and paths have alike; the last of their columns but what has come later. */
#define QUEUE_AND_WAIT_COLUMNS                                                                     \
    "queue_messages_max,queue_messages_mean,queue_messages_mean_over_operations,"                  \
    "queue_messages_now,queue_bytes_max,queue_bytes_now,queue_unreceived," WAIT_COLUMNS            \
    "," DISTRIBUTION_COLUMNS("sender_blocked_ns")

static void queue_cells(FILE *file, const struct communication *communication,
                        const struct queue_length *queue)
{
    if (communication->counts_only) {
        fputs(",,,,,,,", file);
        return;
    }
    count_cell(file, queue->messages_max, ",");
    fprintf(file, "%.6f,%.6f,", queue_mean(queue, communication->duration),
            queue_mean_over_operations(queue));
    count_cell(file, queue->messages, ",");
    count_cell(file, queue->bytes_max, ",");
    count_cell(file, queue->bytes, ",");
    count_cell(file, queue->unreceived, ",");
}

static void queue_and_wait_cells(FILE *file, const struct communication *communication,
                                 const struct queue_length *queue, const struct times *times,
                                 const char *end)
{
    queue_cells(file, communication, queue);
    wait_cells(file, communication, times, ",");
    distribution_cells(file, &times->of[TIME_SENDER_BLOCKED], end);
}

/* "name[pid]" of each process, separated by blanks; or the address. */
static void party_cell(FILE *file, const struct communication *communication,
                       const struct party *party, const char *end)
{
    char text[512] = "";
    size_t length = 0;

    if (party->count == 0) {
        text_cell(file, party->address == NULL ? "" : party->address, ENDPOINT_SIZE, end);
        return;
    }
    for (uint32_t i = 0; i < party->count && length < sizeof(text); i++) {
        const struct communication_process *process =
            &communication->processes[party->processes[i]];
        if (process->group != NULL)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
                                       i == 0 ? "" : " ", process->group);
        else
            length +=
                (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*s[%u]",
                                 i == 0 ? "" : " ", STREAM_NAME_SIZE, process->name, process->pid);
    }
    text_cell(file, text, sizeof(text), end);
}

/* ---- tables ---- */

static int print_processes(const struct communication *communication, FILE *file,
                           enum show_order order)
{
    const struct communication_process **rows = ordered_processes(communication, order);

    if (rows == NULL)
        return -ENOMEM;
    fputs("name,processes,pid,machine,cpu_ns,sent_messages,sent_bytes,received_messages,"
          "received_bytes,failed_sends,failed_receives," DISTRIBUTION_COLUMNS(
              "response_ns") "," DISTRIBUTION_COLUMNS("request_ns") "," QUEUE_AND_WAIT_COLUMNS
                                                                    "," RATE_COLUMNS
                                                                    "," DISTRIBUTION_COLUMNS(
                                                                        "size") "\n",
          file);
    for (size_t i = 0; i < communication->process_count && !ferror(file); i++) {
        const struct communication_process *row = rows[i];
        text_cell(file, row->group != NULL ? row->group : row->name,
                  row->group != NULL ? NAME_SIZE : STREAM_NAME_SIZE, ",");
        count_cell(file, row->group_size, ",");
        if (row->pid == 0) /* of several, or not known */
            fputc(',', file);
        else
            count_cell(file, row->pid, ",");
        text_cell(file, communication->machines[row->machine].name,
                  sizeof(communication->machines[0].name), ",");
        count_cell(file, row->cpu, ",");
        traffic_cells(file, &row->sent);
        traffic_cells(file, &row->received);
        count_cell(file, row->failed_sends, ",");
        count_cell(file, row->failed_receives, ",");
        distribution_cells(file, &row->times.of[TIME_RESPONSE], ",");
        distribution_cells(file, &row->times.of[TIME_REQUEST], ",");
        queue_and_wait_cells(file, communication, &row->queue, &row->times, ",");
        rate_cells(file, communication, &row->sent, ",");
        rate_cells(file, communication, &row->received, ",");
        distribution_cells(file, &row->sizes, "\n");
    }
    free(rows);
    return 0;
}

static int print_pairs(const struct communication *communication, FILE *file, enum show_order order)
{
    const struct communication_pair **rows = ordered_pairs(communication, order);

    if (rows == NULL)
        return -ENOMEM;
    fputs("from,to,messages,bytes,local,shared," DISTRIBUTION_COLUMNS(
              "size") "," WAIT_COLUMNS
                      ",messages_per_s,bytes_per_s," DISTRIBUTION_COLUMNS("sender_blocked_ns") "\n",
          file);
    for (size_t i = 0; i < communication->pair_count && !ferror(file); i++) {
        const struct communication_pair *row = rows[i];
        party_cell(file, communication, &row->from, ",");
        party_cell(file, communication, &row->to, ",");
        traffic_cells(file, &row->sent);
        count_cell(file, row->local, ",");
        count_cell(file, row->shared, ",");
        distribution_cells(file, &row->sizes, ",");
        wait_cells(file, communication, &row->times, ",");
        rate_cells(file, communication, &row->sent, ",");
        distribution_cells(file, &row->times.of[TIME_SENDER_BLOCKED], "\n");
    }
    free(rows);
    return 0;
}

static int print_paths(const struct communication *communication, FILE *file, enum show_order order)
{
    const struct communication_path **rows = ordered_paths(communication, order);

    if (rows == NULL)
        return -ENOMEM;
    fputs("kind,local,remote,local_users,remote_users,connections,ended,sent_messages,sent_bytes,"
          "received_messages,received_bytes,dropped,retransmitted,round_trip_"
          "ns," DISTRIBUTION_COLUMNS("response_ns") "," DISTRIBUTION_COLUMNS(
              "request_ns") "," QUEUE_AND_WAIT_COLUMNS ",duplicates," RATE_COLUMNS
                            "," DISTRIBUTION_COLUMNS("size") ",unacknowledged_bytes,reused\n",
          file);
    for (size_t i = 0; i < communication->path_count && !ferror(file); i++) {
        const struct communication_path *row = rows[i];
        fprintf(file, "%s,", path_kind_name(row->kind));
        text_cell(file, row->local, ENDPOINT_SIZE, ",");
        text_cell(file, row->remote, ENDPOINT_SIZE, ",");
        party_cell(file, communication, &row->ends[0], ",");
        party_cell(file, communication, &row->ends[1], ",");
        count_cell(file, row->connections, ",");
        count_cell(file, row->ended, ",");
        traffic_cells(file, &row->sent);
        traffic_cells(file, &row->received);
        count_cell(file, row->dropped, ",");
        count_cell(file, row->network.retransmitted, ",");
        count_cell(file, row->network.round_trip, ",");
        distribution_cells(file, &row->times.of[TIME_RESPONSE], ",");
        distribution_cells(file, &row->times.of[TIME_REQUEST], ",");
        queue_and_wait_cells(file, communication, &row->queue, &row->times, ",");
        if (communication->counts_only)
            fputc(',', file);
        else
            count_cell(file, row->duplicates, ",");
        rate_cells(file, communication, &row->sent, ",");
        rate_cells(file, communication, &row->received, ",");
        distribution_cells(file, &row->sizes, ",");
        count_cell(file, row->network.unacknowledged, ",");
        count_cell(file, row->reused, "\n");
    }
    free(rows);
    return 0;
}

static int print_procedures(const struct communication *communication, FILE *file)
{
    fputs("procedure,module,sent_messages,sent_bytes,received_messages,received_bytes\n", file);
    for (size_t i = 0; i < communication->procedure_count && !ferror(file); i++) {
        const struct communication_procedure *row = &communication->procedures[i];
        text_cell(file, row->name, PROCEDURE_NAME_SIZE, ",");
        text_cell(file, row->module, MODULE_NAME_SIZE, ",");
        traffic_cells(file, &row->sent);
        fprintf(file, "%" PRIu64 ",%" PRIu64 "\n", row->received.messages, row->received.bytes);
    }
    return 0;
}

int show_statistics_csv(const struct communication *communication, FILE *file,
                        const struct show_options *options)
{
    switch (options->table) {
    case TABLE_PAIRS:
        return print_pairs(communication, file, options->order);
    case TABLE_PATHS:
        return print_paths(communication, file, options->order);
    case TABLE_PROCEDURES:
        return print_procedures(communication, file);
    default:
        return print_processes(communication, file, options->order);
    }
}
