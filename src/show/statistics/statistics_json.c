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
 *      "cgroups": [ ... ]}
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"

#include <errno.h>
#include <stdlib.h>

static int print_list(const struct result_kind *kind, const char *name, bool histograms,
                      const struct communication *communication, FILE *file)
{
    size_t count = result_rows(kind, communication);
    int result = 0;

    fprintf(file, ",\n\"%s\": [", name);
    for (size_t i = 0; result == 0 && i < count && !ferror(file); i++) {
        fputs(i == 0 ? "\n" : ",\n", file);
        result = json_print(
            result_json(kind, communication, result_row(kind, communication, i), histograms),
            JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

static int print_rows(enum result_kind_id id, const struct communication *communication, FILE *file)
{
    const struct result_kind *kind = &result_kinds[id];
    bool groups = id == RESULTS_PROCESSES && communication->by != BY_PROCESS;

    return print_list(kind, groups ? "groups" : kind->list, false, communication, file);
}

/* ---- late senders and receivers, longest wait first ---- */

/* Prints the pairs, sorted by wait, whose sender (`senders`) or whose receiver is late. */
static int print_late(const struct communication *communication, const char *name,
                      const struct communication_pair **rows, bool senders, FILE *file)
{
    const char *separator = "\n";
    int result = 0;

    fprintf(file, ",\n\"%s\": [", name);
    for (size_t i = 0; result == 0 && i < communication->pair_count && !ferror(file); i++) {
        if (pair_waited(rows[i]) == 0 || sender_is_late(rows[i]) != senders)
            continue;
        fputs(separator, file);
        separator = ",\n";
        result = json_print(result_json(&result_kinds[RESULTS_LATE], communication, rows[i], false),
                            JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

static int print_who_is_late(const struct communication *communication, FILE *file)
{
    const struct communication_pair **rows = pairs_by_wait(communication);
    int result = rows == NULL ? -ENOMEM : 0;

    if (result == 0)
        result = print_late(communication, "late_senders", rows, true, file);
    if (result == 0)
        result = print_late(communication, "late_receivers", rows, false, file);
    free(rows);
    return result;
}

/* ---- everything together ---- */

static int print_histograms(const struct communication *communication, FILE *file)
{
    int result = 0;

    for (size_t i = 0; i < RESULT_KINDS && result == 0; i++)
        if (result_kinds[i].histograms != NULL)
            result =
                print_list(&result_kinds[i], result_kinds[i].histograms, true, communication, file);
    return result;
}

static int print_lists(const struct communication *communication, FILE *file,
                       const struct show_options *options)
{
    int result = print_rows(RESULTS_PROCESSES, communication, file);

    if (result == 0)
        result = print_rows(RESULTS_PAIRS, communication, file);
    if (result == 0)
        result = print_who_is_late(communication, file);
    if (result == 0)
        result = print_rows(RESULTS_PATHS, communication, file);
    if (result == 0)
        result = print_rows(RESULTS_FAILURES, communication, file);
    if (result == 0)
        result = print_rows(RESULTS_PROCEDURES, communication, file);
    if (result == 0)
        result = print_rows(RESULTS_FILES, communication, file);
    if (result == 0 && communication->interval != 0)
        result = print_rows(RESULTS_INTERVALS, communication, file);
    if (result == 0)
        result = print_rows(RESULTS_LOADS, communication, file);
    if (result == 0)
        result = print_rows(RESULTS_CGROUPS, communication, file);
    if (result == 0 && options->histogram)
        result = print_histograms(communication, file);
    return result;
}

int show_statistics_json(const struct communication *communication, FILE *file,
                         const struct show_options *options)
{
    const struct result_kind *recording = &result_kinds[RESULTS_RECORDING];

    fprintf(file, "{\"%s\": ", recording->list);
    int result =
        json_print(result_json(recording, communication, communication, false), JSON_COMPACT, file);
    if (result == 0)
        result = print_lists(communication, file, options);
    fputs("}\n", file);
    return result;
}
