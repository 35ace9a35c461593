/* SPDX-License-Identifier: MIT */
/*
 * result_cells.c: a value of results as text, JSON and CSV. See results.h.
 *
 *      amount 48128, BYTES --> text "47.0 KiB", JSON 48128
 *      not known           --> text "-", JSON null
 */
#include "show/statistics/results.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- parts of distributions ---- */

static const struct {
    const char *key;
    const char *heading;
    double share; /* which quantile */
    unsigned char rank;
} parts[PART_ALL] = {
    [PART_COUNT] = {"count", "COUNT", 0, 1}, [PART_MEAN] = {"mean", "MEAN", 0, 3},
    [PART_MIN] = {"min", "MIN", 0, 3},       [PART_P50] = {"p50", "P50", 0.5, 2},
    [PART_P90] = {"p90", "P90", 0.9, 4},     [PART_P99] = {"p99", "P99", 0.99, 2},
    [PART_MAX] = {"max", "MAX", 0, 1},       [PART_SUM] = {"sum", "SUM", 0, 0},
};

bool result_is_distribution(const struct result_column *column)
{
    return column->unit == RESULT_SIZES || column->unit == RESULT_TIMES;
}

static uint64_t part_amount(const struct histogram *values, enum result_part part)
{
    switch (part) {
    case PART_COUNT:
        return histogram_count(values);
    case PART_MEAN:
        return histogram_bars(values) == 0 ? 0 : histogram_sum(values) / histogram_count(values);
    case PART_MIN:
        return histogram_min(values);
    case PART_MAX:
        return histogram_max(values);
    case PART_SUM:
        return histogram_sum(values);
    default:
        return histogram_quantile(values, parts[part].share);
    }
}

/* ---- parsing a list of keys ---- */

static struct result_cell cell_of(const struct result_kind *kind, const char *key, size_t length)
{
    struct result_cell cell = {result_column(kind, key, length), PART_ALL};
    const char *dot = memrchr(key, '.', length);

    if (cell.column != NULL || dot == NULL)
        return cell;
    size_t before = (size_t)(dot - key), after = length - before - 1;
    for (unsigned part = 0; part < PART_ALL; part++)
        if (strlen(parts[part].key) == after && memcmp(parts[part].key, dot + 1, after) == 0)
            cell = (struct result_cell){result_column(kind, key, before), (enum result_part)part};
    return cell;
}

size_t result_cells(const struct result_kind *kind, const char *keys, struct result_cell *cells,
                    size_t most)
{
    size_t count = 0;

    for (const char *key = keys; key != NULL && *key != '\0'; count++) {
        size_t length = strcspn(key, " ");
        if (count < most)
            cells[count] = cell_of(kind, key, length);
        key += length + strspn(key + length, " ");
    }
    return count;
}

void result_cell_value(const struct result_cell *cell, const struct communication *all,
                       const void *row, struct result_value *value)
{
    result_value(cell->column, all, row, value);
    if (cell->part != PART_ALL)
        value->amount = part_amount(value->object, cell->part);
}

static enum result_unit unit_of(const struct result_cell *cell)
{
    if (cell->part == PART_ALL)
        return cell->column->unit == RESULT_SUM ? RESULT_NS : cell->column->unit;
    if (cell->part == PART_COUNT)
        return RESULT_COUNT;
    return cell->column->unit == RESULT_SIZES ? RESULT_BYTES : RESULT_NS;
}

/* ---- text ---- */

void result_heading(const struct result_cell *cell, const struct result_cell *before,
                    char heading[HEADING_SIZE])
{
    const char *part = cell->part == PART_ALL ? "" : parts[cell->part].heading;

    if (before != NULL && before->column == cell->column)
        snprintf(heading, HEADING_SIZE, "%s", part);
    else
        snprintf(heading, HEADING_SIZE, "%s%s%s", cell->column->heading, *part == '\0' ? "" : " ",
                 part);
}

unsigned char result_rank(const struct result_cell *cell)
{
    unsigned part = cell->part == PART_ALL ? 0 : parts[cell->part].rank;

    return (unsigned char)(cell->column->rank + part);
}

void result_words(const struct result_column *column, char words[HEADING_SIZE])
{
    const char *heading = column->unit == RESULT_SIZES ? "message size" : column->heading;
    size_t i = 0;

    for (; heading[i] != '\0' && i + 1 < HEADING_SIZE; i++)
        words[i] = (char)tolower(heading[i]);
    words[i] = '\0';
}

static void number_text(enum result_unit unit, const struct result_value *value,
                        char text[UNIT_SIZE])
{
    switch (unit) {
    case RESULT_BYTES:
        return show_bytes(value->amount, text);
    case RESULT_NS:
        return show_duration(value->amount, text);
    case RESULT_RATE:
        return show_frequency(show_rate(value->amount, value->whole), text);
    case RESULT_BYTE_RATE:
        return show_bytes((uint64_t)show_rate(value->amount, value->whole), text);
    case RESULT_SHARE:
        return show_percent(value->amount, value->whole, text);
    case RESULT_MEAN:
        snprintf(text, UNIT_SIZE, "%.2f", show_share(value->amount, value->whole));
        return;
    case RESULT_NUMBER:
        snprintf(text, UNIT_SIZE, "%" PRIu64, value->amount);
        return;
    case RESULT_BOOL:
        strcpy(text, value->amount != 0 ? "yes" : "no");
        return;
    default:
        return show_count(value->amount, text);
    }
}

/* Makes a program's text safe. `text` has space for the result. */
static void safe_text(const char *from, size_t size, char text[CELL_SIZE])
{
    show_text(from, size < CELL_SIZE ? size : CELL_SIZE - 1, text);
}

#define THREE_DIGITS 100000000000u /* ns: 99.9 s still has its tenths */

void result_text(const struct result_cell *cell, const struct communication *all, const void *row,
                 const struct result_value *value, char text[CELL_SIZE])
{
    const struct result_column *column = cell->column;
    const char *slash;

    if (!value->known) {
        strcpy(text, "-");
        return;
    }
    switch (unit_of(cell)) {
    case RESULT_NAME:
    case RESULT_TEXT:
        return safe_text(value->text, value->size, text);
    case RESULT_FILE:
        slash = strrchr(value->text, '/');
        return safe_text(slash == NULL ? value->text : slash + 1, value->size, text);
    case RESULT_PROCESS:
        return process_text(all, (uint32_t)value->amount, text);
    case RESULT_PARTY:
        return party_text(all, value->object, text);
    case RESULT_END:
        return end_text(all, (const void *)((const char *)row + column->end_party.offset),
                        value->text, text);
    default:
        if ((column->flags & RESULT_AT) != 0 && value->amount >= THREE_DIGITS)
            snprintf(text, CELL_SIZE, "%.1f s", (double)value->amount / 1e9);
        else
            number_text(unit_of(cell), value, text);
    }
}

/* ---- JSON ---- */

static json_t *process_in_list(const void *context, size_t index)
{
    const struct party *party = context;

    return json_count((uint64_t)party->processes[index] + 1);
}

/* A process number; a list of numbers if several processes share the end; or the address of an unmonitored end. */
static json_t *party_json(const struct party *party)
{
    if (party->count == 0)
        return json_text(party->address, ENDPOINT_SIZE);
    if (party->count == 1)
        return process_in_list(party, 0);
    return json_array_of(party, party->count, process_in_list);
}

/* One bar of a histogram: [from, to, count]. */
static json_t *bar_json(const void *context, size_t index)
{
    struct histogram_bar bar = histogram_bar(context, (unsigned)index);

    return json_pack("[o, o, o]", json_count(bar.from), json_count(bar.to), json_count(bar.count));
}

/* JSON numbers processes from 1, in order of their first records. */
static json_t *value_json(enum result_unit unit, const struct result_value *value)
{
    if (!value->known)
        return json_null();
    switch (unit) {
    case RESULT_SIGNED:
        return json_integer((json_int_t)value->amount);
    case RESULT_RATE:
    case RESULT_BYTE_RATE:
        return json_real(show_rate(value->amount, value->whole));
    case RESULT_SHARE:
    case RESULT_MEAN:
        return json_real(show_share(value->amount, value->whole));
    case RESULT_BOOL:
        return json_boolean(value->amount != 0);
    case RESULT_NAME:
    case RESULT_TEXT:
    case RESULT_FILE:
    case RESULT_END:
        return json_text(value->text, value->size);
    case RESULT_PROCESS:
        return json_count(value->amount + 1);
    case RESULT_PARTY:
        return party_json(value->object);
    case RESULT_SIZES:
    case RESULT_TIMES:
        return json_distribution(value->object);
    case RESULT_JSON:
        return value->json;
    default:
        return json_count(value->amount);
    }
}

/* Puts "sent.bytes" into the object "sent". If the first member is null, so is the object. */
static int set_member(json_t *object, const char *key, json_t *value)
{
    const char *dot = strchr(key, '.');
    char group[HEADING_SIZE];

    if (dot == NULL)
        return json_object_set_new(object, key, value);
    snprintf(group, sizeof(group), "%.*s", (int)(dot - key), key);
    json_t *members = json_object_get(object, group);
    if (members == NULL && json_is_null(value))
        return json_object_set_new(object, group, value);
    if (json_is_null(members)) {
        json_decref(value);
        return value == NULL ? -1 : 0;
    }
    if (members == NULL && json_object_set_new(object, group, members = json_object()) < 0) {
        json_decref(value);
        return -1;
    }
    return json_object_set_new(members, dot + 1, value);
}

static bool json_has(const struct result_column *column, const struct communication *all)
{
    return (column->flags & (RESULT_PEOPLE | RESULT_CSV)) == 0 &&
           ((column->flags & RESULT_PROCESSES) == 0 || all->by == BY_PROCESS);
}

json_t *result_json(const struct result_kind *kind, const struct communication *all,
                    const void *row, bool histograms)
{
    json_t *object = json_object();
    struct result_value value;
    int result = 0;

    for (size_t i = 0; i < kind->column_count && result == 0; i++) {
        const struct result_column *column = &kind->columns[i];
        bool bars = histograms && result_is_distribution(column);
        if (!json_has(column, all) || (histograms && !bars && (column->flags & RESULT_NAMES) == 0))
            continue;
        result_value(column, all, row, &value);
        result =
            set_member(object, column->key,
                       bars ? json_array_of(value.object, histogram_bars(value.object), bar_json)
                            : value_json(column->unit, &value));
    }
    if (object == NULL || result == 0)
        return object;
    json_decref(object);
    return NULL;
}
