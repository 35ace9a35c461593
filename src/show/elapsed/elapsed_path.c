/* SPDX-License-Identifier: MIT */
/*
 * elapsed_path.c: the path of requests: what all of them, a typical one and the slowest one spent on what, by process.
 *
 *      account rows   server[2] computing in parse    3 s     together, by process and kind:
 *                     server[2] computing in answer   2 s      server[2] computing  5 s of all, 5 ms of the typical
 *      typical rows   server[2] computing in parse   2 ms         one, 9 ms of the slowest one
 *                     server[2] computing in answer  3 ms
 *      slowest rows   server[2] computing in parse   9 ms
 */
#include "show/elapsed/elapsed_face.h"
#include "show/text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum of { OF_ALL, OF_TYPICAL, OF_SLOWEST, OF_COUNT };

/* What one process spent on one kind of thing. */
struct sum {
    const struct elapsed_row *row; /* one of them */
    uint64_t time[OF_COUNT];       /* ns */
};

struct sums {
    struct sum *at;
    size_t count;
};

static int by_subject(const void *one, const void *other)
{
    const struct elapsed_row *a = ((const struct sum *)one)->row;
    const struct elapsed_row *b = ((const struct sum *)other)->row;

    if (a->origin != b->origin)
        return a->origin < b->origin ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    int names = strcmp(a->process, b->process);
    int labels = names != 0 ? names : strcmp(a->label, b->label);
    return labels != 0 ? labels : (int)a->kind - (int)b->kind;
}

static int by_time(const void *one, const void *other)
{
    const struct sum *a = one, *b = other;

    for (unsigned of = 0; of < OF_COUNT; of++)
        if (a->time[of] != b->time[of])
            return a->time[of] > b->time[of] ? -1 : 1;
    return by_subject(one, other);
}

static void add_part(struct sums *sums, const struct elapsed_row *row, enum of of)
{
    sums->at[sums->count] = (struct sum){.row = row};
    sums->at[sums->count++].time[of] = row->time;
}

/* Not its hops, of which there are ELAPSED_HOPS_MOST at most. */
static void add_request(struct sums *sums, const struct elapsed_request *request, enum of of)
{
    for (size_t i = 0; i < request->row_count; i++)
        add_part(sums, &request->rows[i], of);
}

/* Those of the same process and kind become one. */
static void unite(struct sums *sums)
{
    size_t count = 0;

    qsort(sums->at, sums->count, sizeof(*sums->at), by_subject);
    for (size_t i = 0; i < sums->count; i++) {
        if (count == 0 || by_subject(&sums->at[count - 1], &sums->at[i]) != 0) {
            sums->at[count++] = sums->at[i];
            continue;
        }
        for (unsigned of = 0; of < OF_COUNT; of++)
            sums->at[count - 1].time[of] += sums->at[i].time[of];
    }
    sums->count = count;
    qsort(sums->at, sums->count, sizeof(*sums->at), by_time);
}

/* Most time first. The caller frees sums->at. */
static int sum_up(const struct elapsed_requests *requests, struct sums *sums)
{
    const struct elapsed_account *account = &requests->account;
    size_t most =
        account->row_count + requests->typical.row_count + requests->slowest.row_count + 1;

    *sums = (struct sums){.at = calloc(most, sizeof(*sums->at))};
    if (sums->at == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < account->row_count; i++)
        add_part(sums, &account->rows[i], OF_ALL);
    add_request(sums, &requests->typical, OF_TYPICAL);
    add_request(sums, &requests->slowest, OF_SLOWEST);
    unite(sums);
    return 0;
}

/* ---- table ---- */

const struct table_column elapsed_path_columns[ELAPSED_PATH_COLUMNS] = {
    {"SHARE", true},
    {"TIME", true},
    {"PROCESS", false},
    {"SPENT ON", false},
    {"MEAN", true, .rank = 2},
    {"TYPICAL", true, .rank = 1},
    {"SLOWEST", true, .rank = 1},
};

static int add_sum(const struct elapsed_requests *requests, const struct sum *sum,
                   elapsed_path_row *add, void *context)
{
    char share[UNIT_SIZE + 1], times[OF_COUNT][UNIT_SIZE], mean[UNIT_SIZE];
    char process[PLACED_PROCESS_SIZE] = "-";

    show_percent(sum->time[OF_ALL], requests->account.time, share);
    strcat(share, "%");
    for (unsigned of = 0; of < OF_COUNT; of++)
        show_duration(sum->time[of], times[of]);
    show_duration(requests->followed == 0 ? 0 : sum->time[OF_ALL] / requests->followed, mean);
    if (sum->row->pid != 0)
        elapsed_process_text(sum->row, process);
    return add(context,
               (const char *[]){share, times[OF_ALL], process, elapsed_kind_name(sum->row->kind),
                                mean, times[OF_TYPICAL], times[OF_SLOWEST]});
}

int elapsed_path_rows(const struct elapsed_requests *requests, size_t most, elapsed_path_row *add,
                      void *context, size_t *ret_left_out)
{
    struct sums sums;
    int result = sum_up(requests, &sums);
    size_t shown = sums.count < most ? sums.count : most;

    for (size_t i = 0; result == 0 && i < shown; i++)
        result = add_sum(requests, &sums.at[i], add, context);
    *ret_left_out = sums.count - shown;
    free(sums.at);
    return result;
}

static int add_to_table(void *table, const char *const *cells)
{
    return table_add(table, cells);
}

int elapsed_print_path(const struct elapsed_requests *requests, FILE *file, bool all)
{
    size_t left_out = 0;
    struct table table;
    int result = table_init(&table, file, elapsed_path_columns, ELAPSED_PATH_COLUMNS);

    table.whole = all;
    if (result == 0)
        result = elapsed_path_rows(requests, all ? SIZE_MAX : ELAPSED_FEW_ROWS, add_to_table,
                                   &table, &left_out);
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    if (left_out > 0)
        fprintf(file, "(%zu more: --all)\n", left_out);
    return result;
}

/* ---- JSON ---- */

static json_t *sum_json(const void *context, size_t index)
{
    const struct sum *sum = (const struct sum *)context + index;
    const struct elapsed_row *row = sum->row;

    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "spent_on", elapsed_kind_key(row->kind), "name",
        json_text(row->process, STREAM_NAME_SIZE), "label",
        row->label[0] == '\0' ? json_null() : json_text(row->label, PROCESS_LABEL_SIZE - 1),
        "machine", elapsed_machine_json(row->machine), "pid", json_count(row->pid), "time_ns",
        json_count(sum->time[OF_ALL]), "typical_ns", json_count(sum->time[OF_TYPICAL]),
        "slowest_ns", json_count(sum->time[OF_SLOWEST]));
}

json_t *elapsed_path_json(const struct elapsed_requests *requests)
{
    struct sums sums;

    if (sum_up(requests, &sums) < 0)
        return NULL;
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count", json_count(requests->count),
        "unanswered", json_count(requests->unanswered), "followed", json_count(requests->followed),
        "time_ns", json_count(requests->account.time), "median_ns", json_count(requests->median),
        "p99_ns", json_count(requests->p99), "typical_ns", json_count(requests->typical.time),
        "slowest_ns", json_count(requests->slowest.time), "parts",
        json_array_of(sums.at, sums.count, sum_json));
    free(sums.at);
    return json;
}

/* ---- folded stacks ---- */

void elapsed_path_folded(const struct elapsed_requests *requests, FILE *file)
{
    char process[PLACED_PROCESS_SIZE], what[ELAPSED_TEXT_SIZE];

    for (size_t i = 0; i < requests->account.row_count; i++) {
        const struct elapsed_row *row = &requests->account.rows[i];
        if (row->time < 1000)
            continue;
        strcpy(process, "-");
        if (row->pid != 0)
            elapsed_process_text(row, process);
        elapsed_what(row, what);
        show_frame(process, file);
        fputc(';', file);
        show_frame(elapsed_kind_name(row->kind), file);
        if (what[0] != '\0')
            fputc(';', file);
        show_frame(what, file);
        fprintf(file, " %" PRIu64 "\n", row->time / 1000);
    }
}
