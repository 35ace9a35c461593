/* SPDX-License-Identifier: MIT */
/*
 * page_flame.c: all time of all threads, for a flame graph. See page.h.
 *
 *      machine; program; thread; computing, or a kind of wait; procedure, system call or connection     ns
 */
#include "show/elapsed/elapsed_face.h"
#include "show/page/page_private.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"

#include <errno.h>
#include <string.h>

#define FLAME_ROWS 1500 /* the largest ones; the rest is added up by kind */

/* [machine, program, thread, kind, what, ns] */
static json_t *row_json(const struct report *report, const struct elapsed_row *row)
{
    char who[ELAPSED_THREAD_SIZE], what[ELAPSED_TEXT_SIZE], name[STREAM_NAME_SIZE + 1];

    elapsed_thread_text(row, who);
    elapsed_what(row, what);
    show_text(row->process, STREAM_NAME_SIZE, name);
    return json_pack("[i, s, s, s, s, o]", (int)page_machine_of(report, row->origin),
                     name[0] == '\0' ? "unknown" : name, who, elapsed_kind_key(row->kind), what,
                     json_count(row->time));
}

json_t *page_flame_json(const struct report *report)
{
    const struct elapsed_account *profile = report->lanes == NULL ? NULL : &report->lanes->profile;
    json_t *rows = json_array();
    uint64_t rest[ELAPSED_KIND_COUNT] = {0};
    int result = rows == NULL ? -ENOMEM : 0;

    for (size_t i = 0; profile != NULL && i < profile->row_count && result == 0; i++) {
        const struct elapsed_row *row = &profile->rows[i];
        if (i < FLAME_ROWS && row->time * 100000 >= profile->time)
            result = json_array_append_new(rows, row_json(report, row));
        else
            rest[row->kind] += row->time;
    }
    if (result == 0)
        return json_pack("{s:o, s:o}", "rows", rows, "rest_ns", page_kinds_json(rest));
    json_decref(rows);
    return NULL;
}
