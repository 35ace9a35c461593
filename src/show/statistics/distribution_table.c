/* SPDX-License-Identifier: MIT */
/* distribution_table.c: how times and sizes are distributed, and messages over time, for people. See
 * statistics_face.h. */
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- how long answers take, and waits ---- */

static const char *const what_takes_time[TIME_KINDS] = {
    [TIME_RESPONSE] = "answers",
    [TIME_REQUEST] = "waits for answers",
    [TIME_MESSAGE_WAIT] = "lets messages wait",
    [TIME_RECEIVER_WAIT] = "waits for messages",
    [TIME_SENDER_BLOCKED] = "waits for room",
    [TIME_DELIVERY] = "is reached",
};

static bool has_times(const void *row)
{
    const struct communication_process *process = row;

    for (unsigned kind = 0; kind < TIME_KINDS; kind++)
        if (histogram_bars(&process->times.of[kind]) > 0)
            return true;
    return false;
}

void distribution_text(const struct histogram *values, void (*show)(uint64_t, char[UNIT_SIZE]),
                       char cells[DISTRIBUTION_CELLS][UNIT_SIZE])
{
    uint64_t count = histogram_count(values);

    for (size_t i = 0; i < DISTRIBUTION_CELLS; i++)
        strcpy(cells[i], "-");
    if (count == 0)
        return;
    show(histogram_sum(values) / count, cells[0]);
    show(histogram_quantile(values, 0.5), cells[1]);
    show(histogram_quantile(values, 0.9), cells[2]);
    show(histogram_quantile(values, 0.99), cells[3]);
    show(histogram_max(values), cells[4]);
}

static int add_row(struct table *table, const char *name, const char *what,
                   const struct histogram *times)
{
    char count[UNIT_SIZE];
    char cells[DISTRIBUTION_CELLS][UNIT_SIZE];

    if (histogram_count(times) == 0)
        return 0;
    show_count(histogram_count(times), count);
    distribution_text(times, show_duration, cells);
    return table_add(table, (const char *[]){name, what, count, cells[0], cells[1], cells[2],
                                             cells[3], cells[4]});
}

/* A row for each kind of time. */
static int add_process(struct table *table, const struct communication *communication,
                       const void *row)
{
    const struct communication_process *process = row;
    char name[PROCESS_TEXT_SIZE];
    int result = 0;

    process_text(communication, (uint32_t)(process - communication->processes), name);
    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++)
        result = add_row(table, name, what_takes_time[kind], &process->times.of[kind]);
    return result;
}

int print_answer_table(const struct communication *communication, FILE *file,
                       const struct show_options *options)
{
    const struct table_column columns[] = {
        {communication->by == BY_PROCESS ? "PROCESS" : "GROUP", false},
        {"DOES", false},
        {"COUNT", true},
        {"MEAN", true},
        {"P50", true},
        {"P90", true},
        {"P99", true},
        {"MAX", true},
    };
    const struct chosen_table chosen = {"How long it takes", columns, ARRAY_SIZE(columns),
                                        has_times, add_process};

    return print_chosen_table(&chosen, communication,
                              (const void **)ordered_processes(communication, options->order),
                              communication->process_count, file, options);
}

/* ---- over time ---- */

#define BAR_WIDTH 40

/* Columns of the longest bar, behind what takes so many. */
static size_t bar_width(FILE *file, size_t before)
{
    size_t room = terminal_width(file);

    return room == 0 || room >= before + BAR_WIDTH ? BAR_WIDTH : room > before ? room - before : 1;
}

int print_interval_table(const struct communication *communication, FILE *file)
{
    const struct table_column columns[] = {
        {"TIME", true}, {"MESSAGES", true}, {"BYTES", true}, {"", false}};
    size_t longest = bar_width(file, BAR_WIDTH - 1);
    uint64_t most = 1;
    struct table table;
    char title[2 * UNIT_SIZE];
    char every[UNIT_SIZE];
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    for (size_t i = 0; i < communication->interval_count; i++)
        if (communication->intervals[i].bytes > most)
            most = communication->intervals[i].bytes;
    for (size_t i = 0; result == 0 && i < communication->interval_count; i++) {
        const struct traffic *sent = &communication->intervals[i];
        char time[UNIT_SIZE];
        char bar[BAR_WIDTH + 1];
        struct traffic_text text;
        size_t width = (size_t)(show_share(sent->bytes, most) * (double)longest + 0.5);
        memset(bar, '#', width);
        bar[width] = '\0';
        show_duration(i * communication->interval, time);
        traffic_text(sent, &text);
        result = table_add(&table, (const char *[]){time, text.messages, text.bytes, bar});
    }
    if (result == 0) {
        show_duration(communication->interval, every);
        snprintf(title, sizeof(title), "Sent in each %s", every);
        print_title(file, title);
        result = table_print(&table, file);
    }
    table_done(&table);
    return result;
}

/* ---- histograms ---- */

/* How wide the columns before the bars are: those of several histograms are alike where there is room. */
struct bar_columns {
    int value;
    int count;
};

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width)
        *width = (int)strlen(text);
}

static struct bar_columns measure_bars(const struct histogram *histogram, FILE *file,
                                       void (*show)(uint64_t, char[UNIT_SIZE]))
{
    size_t room = terminal_width(file);
    struct bar_columns columns = {10, 12};
    char text[UNIT_SIZE];

    if (room > 0 && room < 2 * BAR_WIDTH)
        columns = (struct bar_columns){0, 0};
    for (unsigned i = 0; i < histogram_bars(histogram); i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        show(bar.from, text);
        widen(&columns.value, text);
        show(bar.to, text);
        widen(&columns.value, text);
        show_count(bar.count, text);
        widen(&columns.count, text);
    }
    return columns;
}

static void print_bars(const struct histogram *histogram, FILE *file,
                       void (*show)(uint64_t, char[UNIT_SIZE]))
{
    struct bar_columns columns = measure_bars(histogram, file, show);
    size_t before = strlen("   -   ") + (size_t)(2 * columns.value + columns.count);
    size_t longest = bar_width(file, before);
    uint64_t most = 1;

    for (unsigned i = 0; i < histogram_bars(histogram); i++)
        if (histogram_bar(histogram, i).count > most)
            most = histogram_bar(histogram, i).count;
    for (unsigned i = 0; i < histogram_bars(histogram); i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        char from[UNIT_SIZE];
        char to[UNIT_SIZE];
        char count[UNIT_SIZE];
        show(bar.from, from);
        show(bar.to, to);
        show_count(bar.count, count);
        fprintf(file, "  %*s - %-*s %*s ", columns.value, from, columns.value, to, columns.count,
                count);
        for (unsigned width = (unsigned)(show_share(bar.count, most) * (double)longest + 0.5);
             width > 0; width--)
            fputc('#', file);
        fputc('\n', file);
    }
}

#define MOST_HISTOGRAMS 10

/* Of the first rows: bars of few octaves are easier to look at than 160. */
static int print_histogram(const struct histogram *values, FILE *file, const char *title,
                           void (*show)(uint64_t, char[UNIT_SIZE]))
{
    struct histogram coarse = {0};

    if (histogram_bars(values) == 0)
        return 0;
    int result = histogram_merge(&coarse, values, HISTOGRAM_SOME);
    if (result == 0) {
        print_title(file, title);
        print_bars(&coarse, file, show);
    }
    histogram_done(&coarse);
    return result;
}

/* What each kind of time is, of those between two. */
static const char *const what_is_timed[TIME_KINDS] = {
    [TIME_RESPONSE] = "Answers",
    [TIME_REQUEST] = "Waits for answers",
    [TIME_MESSAGE_WAIT] = "Messages wait",
    [TIME_RECEIVER_WAIT] = "Waits for messages",
    [TIME_SENDER_BLOCKED] = "Waits for room",
    [TIME_DELIVERY] = "Delivery",
};

#define TITLE_SIZE (2 * END_TEXT_SIZE + UNIT_SIZE)

static int print_times_between(const struct times *times, const char *from, const char *to,
                               FILE *file)
{
    char title[TITLE_SIZE];
    int result = 0;

    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++) {
        snprintf(title, sizeof(title), "%s, %s to %s", what_is_timed[kind], from, to);
        result = print_histogram(&times->of[kind], file, title, show_duration);
    }
    return result;
}

static int print_process_bars(const struct communication *communication,
                              const struct communication_process *process, FILE *file)
{
    char title[TITLE_SIZE];
    char name[PROCESS_TEXT_SIZE];

    process_text(communication, (uint32_t)(process - communication->processes), name);
    snprintf(title, sizeof(title), "Sizes of what %s sends", name);
    int result = print_histogram(&process->sizes, file, title, show_bytes);
    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++) {
        snprintf(title, sizeof(title), "%s %s", name, what_takes_time[kind]);
        result = print_histogram(&process->times.of[kind], file, title, show_duration);
    }
    return result;
}

static int print_pair_bars(const struct communication *communication,
                           const struct communication_pair *pair, FILE *file)
{
    char title[TITLE_SIZE];
    char from[PARTY_TEXT_SIZE];
    char to[PARTY_TEXT_SIZE];

    party_text(communication, &pair->from, from);
    party_text(communication, &pair->to, to);
    snprintf(title, sizeof(title), "Sizes, %s to %s", from, to);
    int result = print_histogram(&pair->sizes, file, title, show_bytes);
    return result < 0 ? result : print_times_between(&pair->times, from, to, file);
}

static int print_path_bars(const struct communication *communication,
                           const struct communication_path *path, FILE *file)
{
    char title[TITLE_SIZE];
    char local[END_TEXT_SIZE];
    char remote[END_TEXT_SIZE];

    end_text(communication, &path->ends[0], path->local, local);
    end_text(communication, &path->ends[1], path->remote, remote);
    snprintf(title, sizeof(title), "Sizes between %s and %s", local, remote);
    int result = print_histogram(&path->sizes, file, title, show_bytes);
    return result < 0 ? result : print_times_between(&path->times, local, remote, file);
}

int print_histogram_bars(const struct communication *communication, FILE *file,
                         const struct show_options *options)
{
    const struct communication_process **processes =
        ordered_processes(communication, options->order);
    const struct communication_pair **pairs = ordered_pairs(communication, options->order);
    const struct communication_path **paths = ordered_paths(communication, options->order);
    int result = processes == NULL || pairs == NULL || paths == NULL ? -ENOMEM : 0;

    for (size_t i = 0; result == 0 && i < communication->process_count && i < MOST_HISTOGRAMS; i++)
        result = print_process_bars(communication, processes[i], file);
    for (size_t i = 0; result == 0 && i < communication->pair_count && i < MOST_HISTOGRAMS; i++)
        result = print_pair_bars(communication, pairs[i], file);
    for (size_t i = 0; result == 0 && i < communication->path_count && i < MOST_HISTOGRAMS; i++)
        result = print_path_bars(communication, paths[i], file);
    free(processes);
    free(pairs);
    free(paths);
    return result;
}
