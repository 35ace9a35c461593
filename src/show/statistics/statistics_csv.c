/* SPDX-License-Identifier: MIT */
/*
 * statistics_csv.c: one table of the communication statistics as CSV (RFC 4180): a heading, then all rows, with plain
 * numbers. Columns are stable; dpm-stats(1) describes them.
 */
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CSV_COLUMNS 64

/* ---- the heading ---- */

static void put_name(FILE *file, const char *key)
{
    for (; *key != '\0'; key++)
        fputc(*key == '.' ? '_' : *key, file);
}

/* A distribution has one column for each of these. */
static const char *const parts[] = {"count", "mean", "min", "p50", "p90", "p99", "max"};

static void put_heading(FILE *file, const struct result_column *column)
{
    const char *name = column->csv != NULL ? column->csv : column->key;

    if (!result_is_distribution(column))
        put_name(file, name);
    for (size_t i = 0; result_is_distribution(column) && i < ARRAY_SIZE(parts); i++) {
        fputs(i == 0 ? "" : ",", file);
        put_name(file, name);
        fprintf(file, "_%s", parts[i]);
    }
}

/* ---- cells ---- */

static bool needs_quotes(const char *text)
{
    return strpbrk(text, ",\"") != NULL;
}

/* Only a cell in quotes has quotes. */
static void put_part(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
}

static void put_text(FILE *file, const char *from, size_t size)
{
    char safe[512];

    show_text(from, size < sizeof(safe) ? size : sizeof(safe) - 1, safe);
    const char *quote = needs_quotes(safe) ? "\"" : "";
    fputs(quote, file);
    put_part(file, safe);
    fputs(quote, file);
}

/* Without values, all cells but the count are empty; of values that are not known, the count, too. */
static void put_distribution(FILE *file, const struct result_value *value)
{
    const struct histogram *from = value->object;
    uint64_t values = histogram_count(from);

    if (values == 0)
        fputs("0,,,,,,", file);
    else if (!value->known)
        fputs(",,,,,,", file);
    else
        fprintf(file, "%" PRIu64 ",%.0f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
                values, (double)histogram_sum(from) / (double)values, histogram_min(from),
                histogram_quantile(from, 0.5), histogram_quantile(from, 0.9),
                histogram_quantile(from, 0.99), histogram_max(from));
}

/* "name[pid]", or the group. */
static void name_user(const struct communication *communication, const struct party *party,
                      uint32_t index, char name[NAME_SIZE + 1])
{
    const struct communication_process *process =
        &communication->processes[party->processes[index]];

    if (process->group != NULL) {
        show_text(process->group, NAME_SIZE, name);
        return;
    }
    show_text(process->name, STREAM_NAME_SIZE, name);
    size_t length = strlen(name);
    snprintf(name + length, NAME_SIZE + 1 - length, "[%u]", process->pid);
}

/* Each process, separated by blanks, however many there are; or the address. */
static void put_party(FILE *file, const struct communication *communication,
                      const struct party *party)
{
    const char *quote = "";
    char name[NAME_SIZE + 1];

    if (party->count == 0) {
        put_text(file, party->address == NULL ? "" : party->address, ENDPOINT_SIZE);
        return;
    }
    for (uint32_t i = 0; i < party->count; i++) {
        name_user(communication, party, i, name);
        quote = needs_quotes(name) ? "\"" : quote;
    }
    fputs(quote, file);
    for (uint32_t i = 0; i < party->count; i++) {
        name_user(communication, party, i, name);
        fputs(i == 0 ? "" : " ", file);
        put_part(file, name);
    }
    fputs(quote, file);
}

static void put_cell(FILE *file, const struct communication *communication,
                     const struct result_column *column, const struct result_value *value)
{
    if (!value->known && !result_is_distribution(column))
        return;
    switch (column->unit) {
    case RESULT_RATE:
    case RESULT_BYTE_RATE:
        fprintf(file, "%.3f", show_rate(value->amount, value->whole));
        break;
    case RESULT_SHARE:
    case RESULT_MEAN:
        fprintf(file, "%.6f", show_share(value->amount, value->whole));
        break;
    case RESULT_NAME:
    case RESULT_TEXT:
    case RESULT_FILE:
    case RESULT_END:
        put_text(file, value->text == NULL ? "" : value->text, value->size);
        break;
    case RESULT_PARTY:
        put_party(file, communication, value->object);
        break;
    case RESULT_PROCESS:
        put_party(file, communication,
                  &(struct party){.processes = &(uint32_t){(uint32_t)value->amount}, .count = 1});
        break;
    case RESULT_SIZES:
    case RESULT_TIMES:
        put_distribution(file, value);
        break;
    default:
        fprintf(file, "%" PRIu64, value->amount);
    }
}

/* ---- the table ---- */

int show_statistics_csv(const struct communication *communication, FILE *file,
                        const struct show_options *options)
{
    const struct result_kind *kind = result_kind_of(options->table);
    size_t count = 0;
    const void **rows = result_order(kind, communication, options->order, &count);
    struct result_cell cells[MOST_CSV_COLUMNS];
    size_t columns = result_cells(kind, kind->csv, cells, ARRAY_SIZE(cells));
    struct result_value value;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < columns; i++) {
        put_heading(file, cells[i].column);
        fputc(i + 1 == columns ? '\n' : ',', file);
    }
    for (size_t k = 0; k < count && !ferror(file); k++)
        for (size_t i = 0; i < columns; i++) {
            result_value(cells[i].column, communication, rows[k], &value);
            put_cell(file, communication, cells[i].column, &value);
            fputc(i + 1 == columns ? '\n' : ',', file);
        }
    free(rows);
    return 0;
}
