/* SPDX-License-Identifier: MIT */
/*
 * elapsed_hops.c: one request, hop by hop.
 *
 *          AT      TIME                        PROCESS    SPENT ON
 *        0 ns    210 us  |=               |    front[12]  message in flight
 *      210 us   12.1 ms  | ======         |    back[14]   computing
 */
#include "show/elapsed/elapsed_face.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <inttypes.h>
#include <string.h>

#define BAR_WIDTH 16u
#define BAR_SIZE  (BAR_WIDTH + 3)

/* Hops shorter than this part of the request are left out. */
#define SHORT_PART 100u

static unsigned place_in_bar(uint64_t time, uint64_t of)
{
    return of == 0 ? 0 : (unsigned)((double)time / (double)of * BAR_WIDTH + 0.5);
}

static void bar_text(const struct elapsed_hop *hop, uint64_t of, char text[BAR_SIZE])
{
    unsigned from = place_in_bar(hop->begin, of);
    unsigned to = place_in_bar(hop->begin + hop->part.time, of);

    if (from >= BAR_WIDTH)
        from = BAR_WIDTH - 1;
    if (to <= from)
        to = from + 1;
    memset(text, ' ', BAR_SIZE - 1);
    memset(text + 1 + from, '=', to - from);
    text[0] = text[BAR_WIDTH + 1] = '|';
    text[BAR_WIDTH + 2] = '\0';
}

static int add_hop(struct table *table, const struct elapsed_request *request,
                   const struct elapsed_hop *hop)
{
    char at[UNIT_SIZE], time[UNIT_SIZE], bar[BAR_SIZE], thread[ELAPSED_THREAD_SIZE];
    char what[ELAPSED_TEXT_SIZE];

    show_duration(hop->begin, at);
    show_duration(hop->part.time, time);
    bar_text(hop, request->time, bar);
    elapsed_thread_text(&hop->part, thread);
    elapsed_what(&hop->part, what);
    return table_add(
        table, (const char *[]){at, time, bar, thread, elapsed_kind_name(hop->part.kind), what});
}

int elapsed_print_request(const struct elapsed_request *request, const char *which, FILE *file,
                          bool all)
{
    static const struct table_column columns[] = {{"AT", true},           {"TIME", true},
                                                  {"", false, .rank = 1}, {"PROCESS", false},
                                                  {"SPENT ON", false},    {"WHAT", false}};
    char took[UNIT_SIZE], rest[UNIT_SIZE];
    uint64_t left_time = 0, left = 0;
    struct folding folding;
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    show_duration(request->time, took);
    fprintf(file, "\n%s, of %s:\n\n", which, took);
    table.whole = all;
    for (size_t i = 0; i < request->hop_count && result == 0; i++) {
        const struct elapsed_hop *hop = &request->hops[i];
        if (all || hop->part.time >= request->time / SHORT_PART) {
            result = add_hop(&table, request, hop);
            continue;
        }
        left_time += hop->part.time;
        left++;
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    show_duration(left_time, rest);
    if (left > 0) {
        fprintf(folding_begin(&folding, file),
                "(%" PRIu64 " shorter than 1%% of it, %s together: --all)\n", left, rest);
        folding_end(&folding);
    }
    if (request->cut)
        fprintf(file, "(the last %u only)\n", ELAPSED_HOPS_MOST);
    return result;
}
