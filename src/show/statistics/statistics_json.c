/* SPDX-License-Identifier: MIT */
/*
 * statistics_json.c: the communication statistics as JSON. Keys are stable; dpm-stats(1) describes them.
 *
 *      {"trace": {...},
 *      "processes": [
 *      {...},
 *      {...}],             one element a line, and only one in memory at a time; or "groups"
 *      "pairs": [ ... ],
 *      "late_senders": [ ... ],
 *      "late_receivers": [ ... ],
 *      "paths": [ ... ],
 *      "loads": [ ... ],             of machines
 *      "cgroups": [ ... ],
 *      "decisions": [ ... ]}
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"

#include <errno.h>
#include <stdlib.h>

/* How lists are written: each row on a line of its own; or all on one line, and of each list so many rows at most. */
struct shape {
    const char *end; /* of a line */
    size_t most;
};

static const struct shape whole = {"\n", SIZE_MAX};

static int print_list(const struct result_kind *kind, const char *name, bool histograms,
                      const struct communication *communication, const struct shape *shape,
                      FILE *file)
{
    size_t count = result_rows(kind, communication);
    int result = 0;

    fprintf(file, ",%s\"%s\": [", shape->end, name);
    for (size_t i = 0; result == 0 && i < count && i < shape->most && !ferror(file); i++) {
        fprintf(file, "%s%s", i == 0 ? "" : ",", shape->end);
        result = json_print(
            result_json(kind, communication, result_row(kind, communication, i), histograms),
            JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

static int print_rows(enum result_kind_id id, const struct communication *communication,
                      const struct shape *shape, FILE *file)
{
    const struct result_kind *kind = &result_kinds[id];
    bool groups = id == RESULTS_PROCESSES && communication->by != BY_PROCESS;

    return print_list(kind, groups ? "groups" : kind->list, false, communication, shape, file);
}

/* ---- late senders and receivers, longest wait first ---- */

/* Prints the pairs, sorted by wait, whose sender (`senders`) or whose receiver is late. */
static int print_late(const struct communication *communication, const char *name,
                      const struct communication_pair **rows, bool senders,
                      const struct shape *shape, FILE *file)
{
    size_t printed = 0;
    int result = 0;

    fprintf(file, ",%s\"%s\": [", shape->end, name);
    for (size_t i = 0;
         result == 0 && i < communication->pair_count && printed < shape->most && !ferror(file);
         i++) {
        if (sender_is_late(communication, rows[i]) != senders ||
            neither_is_late(communication, rows[i]))
            continue;
        fprintf(file, "%s%s", printed++ == 0 ? "" : ",", shape->end);
        result = json_print(result_json(&result_kinds[RESULTS_LATE], communication, rows[i], false),
                            JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

static int print_who_is_late(const struct communication *communication, const struct shape *shape,
                             FILE *file)
{
    const struct communication_pair **rows = pairs_by_wait(communication);
    int result = rows == NULL ? -ENOMEM : 0;

    if (result == 0)
        result = print_late(communication, "late_senders", rows, true, shape, file);
    if (result == 0)
        result = print_late(communication, "late_receivers", rows, false, shape, file);
    free(rows);
    return result;
}

/* ---- everything together ---- */

static int print_histograms(const struct communication *communication, FILE *file)
{
    int result = 0;

    for (size_t i = 0; i < RESULT_KINDS && result == 0; i++)
        if (result_kinds[i].histograms != NULL)
            result = print_list(&result_kinds[i], result_kinds[i].histograms, true, communication,
                                &whole, file);
    return result;
}

static int print_lists(const struct communication *communication, const struct shape *shape,
                       FILE *file)
{
    int result = print_rows(RESULTS_PROCESSES, communication, shape, file);

    if (result == 0)
        result = print_rows(RESULTS_PAIRS, communication, shape, file);
    if (result == 0)
        result = print_who_is_late(communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_PATHS, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_FAILURES, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_PROCEDURES, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_FILES, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_INPUTS, communication, shape, file);
    if (result == 0 && communication->interval != 0)
        result = print_rows(RESULTS_INTERVALS, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_LOADS, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_CGROUPS, communication, shape, file);
    if (result == 0)
        result = print_rows(RESULTS_DECISIONS, communication, shape, file);
    return result;
}

int print_statistics_members(const struct communication *communication, size_t most, FILE *file)
{
    const struct result_kind *recording = &result_kinds[RESULTS_RECORDING];
    const struct shape line = {"", most};

    fprintf(file, "\"%s\": ", recording->list);
    int result =
        json_print(result_json(recording, communication, communication, false), JSON_COMPACT, file);
    return result == 0 ? print_lists(communication, &line, file) : result;
}

int show_statistics_json(const struct communication *communication, FILE *file,
                         const struct show_options *options)
{
    const struct result_kind *recording = &result_kinds[RESULTS_RECORDING];

    fprintf(file, "{\"%s\": ", recording->list);
    int result =
        json_print(result_json(recording, communication, communication, false), JSON_COMPACT, file);
    if (result == 0)
        result = print_lists(communication, &whole, file);
    if (result == 0 && options->histogram)
        result = print_histograms(communication, file);
    fputs("}\n", file);
    return result;
}
