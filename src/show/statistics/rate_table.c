/* SPDX-License-Identifier: MIT */
/*
 * rate_table.c: how many messages and bytes a second there were, and how large messages are, of each row of what
 * --by asks for. See statistics_face.h.
 *
 *      PROCESS      SENT/S BYTES/S MIN MEAN  P50  P90  P99  MAX  RECEIVED/S BYTES/S
 *      PATH ...     SENT/S BYTES/S RECEIVED/S BYTES/S  MIN MEAN  P50  P90  P99  MAX
 *                   '-- a second of the recording      '-- bytes of a message
 */
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/table.h"

#include <string.h>

static const char title[] = "Rates and sizes of messages";

static void rate_text(const struct communication *communication, const struct traffic *traffic,
                      struct traffic_text *text)
{
    show_frequency(show_rate(traffic->messages, communication->duration), text->messages);
    show_bytes((uint64_t)show_rate(traffic->bytes, communication->duration), text->bytes);
}

struct size_text {
    char least[UNIT_SIZE];
    char others[DISTRIBUTION_CELLS][UNIT_SIZE];
};

#define SIZE_COLUMNS                                                                               \
    {"MIN", true}, {"MEAN", true}, {"P50", true}, {"P90", true}, {"P99", true},                    \
    {                                                                                              \
        "MAX", true                                                                                \
    }
#define SIZE_CELLS(text)                                                                           \
    (text).least, (text).others[0], (text).others[1], (text).others[2], (text).others[3],          \
        (text).others[4]

static void size_text(const struct histogram *sizes, struct size_text *text)
{
    distribution_text(sizes, show_bytes, text->others);
    if (histogram_count(sizes) == 0)
        strcpy(text->least, "-");
    else
        show_bytes(histogram_min(sizes), text->least);
}

/* ---- processes ---- */

static bool process_has_messages(const void *row)
{
    const struct communication_process *process = row;

    return process->sent.messages + process->received.messages > 0;
}

static int add_process(struct table *table, const struct communication *communication,
                       const void *row)
{
    const struct communication_process *process = row;
    char name[PROCESS_TEXT_SIZE];
    struct traffic_text sent, received;
    struct size_text sizes;

    process_text(communication, (uint32_t)(process - communication->processes), name);
    rate_text(communication, &process->sent, &sent);
    rate_text(communication, &process->received, &received);
    size_text(&process->sizes, &sizes);
    return table_add(table, (const char *[]){name, sent.messages, sent.bytes, SIZE_CELLS(sizes),
                                             received.messages, received.bytes});
}

int print_process_rates(const struct communication *communication, FILE *file,
                        const struct show_options *options)
{
    const struct table_column columns[] = {
        {communication->by == BY_PROCESS ? "PROCESS" : "GROUP", false},
        {"SENT/S", true},
        {"BYTES/S", true},
        SIZE_COLUMNS,
        {"RECEIVED/S", true},
        {"BYTES/S", true},
    };
    const struct chosen_table chosen = {title, columns, ARRAY_SIZE(columns), process_has_messages,
                                        add_process};

    if (!options->rates || options->table != TABLE_ALL)
        return 0;
    return print_chosen_table(&chosen, communication,
                              (const void **)ordered_processes(communication, options->order),
                              communication->process_count, file, options);
}

/* ---- pairs ---- */

static bool pair_has_messages(const void *row)
{
    return ((const struct communication_pair *)row)->sent.messages > 0;
}

static int add_pair(struct table *table, const struct communication *communication, const void *row)
{
    const struct communication_pair *pair = row;
    char from[PARTY_TEXT_SIZE];
    char to[PARTY_TEXT_SIZE];
    struct traffic_text sent;
    struct size_text sizes;

    party_text(communication, &pair->from, from);
    party_text(communication, &pair->to, to);
    rate_text(communication, &pair->sent, &sent);
    size_text(&pair->sizes, &sizes);
    return table_add(table,
                     (const char *[]){from, to, sent.messages, sent.bytes, SIZE_CELLS(sizes)});
}

int print_pair_rates(const struct communication *communication, FILE *file,
                     const struct show_options *options)
{
    static const struct table_column columns[] = {
        {"FROM", false}, {"TO", false}, {"MESSAGES/S", true}, {"BYTES/S", true}, SIZE_COLUMNS};
    static const struct chosen_table chosen = {title, columns, ARRAY_SIZE(columns),
                                               pair_has_messages, add_pair};

    if (!options->rates || options->table != TABLE_PAIRS)
        return 0;
    return print_chosen_table(&chosen, communication,
                              (const void **)ordered_pairs(communication, options->order),
                              communication->pair_count, file, options);
}

/* ---- paths ---- */

static bool path_has_messages(const void *row)
{
    const struct communication_path *path = row;

    return path->sent.messages + path->received.messages > 0;
}

static int add_path(struct table *table, const struct communication *communication, const void *row)
{
    const struct communication_path *path = row;
    char local[END_TEXT_SIZE];
    char remote[END_TEXT_SIZE];
    struct traffic_text sent, received;
    struct size_text sizes;

    end_text(communication, &path->ends[0], path->local, local);
    end_text(communication, &path->ends[1], path->remote, remote);
    rate_text(communication, &path->sent, &sent);
    rate_text(communication, &path->received, &received);
    size_text(&path->sizes, &sizes);
    return table_add(table, (const char *[]){path_kind_name(path->kind), local, remote,
                                             sent.messages, sent.bytes, received.messages,
                                             received.bytes, SIZE_CELLS(sizes)});
}

int print_path_rates(const struct communication *communication, FILE *file,
                     const struct show_options *options)
{
    static const struct table_column columns[] = {
        {"PATH", false},   {"LOCAL", false},     {"REMOTE", false}, {"SENT/S", true},
        {"BYTES/S", true}, {"RECEIVED/S", true}, {"BYTES/S", true}, SIZE_COLUMNS};
    static const struct chosen_table chosen = {title, columns, ARRAY_SIZE(columns),
                                               path_has_messages, add_path};

    if (!options->rates || options->table != TABLE_PATHS)
        return 0;
    return print_chosen_table(&chosen, communication,
                              (const void **)ordered_paths(communication, options->order),
                              communication->path_count, file, options);
}
