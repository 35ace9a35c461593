/* SPDX-License-Identifier: MIT */
/* elapsed_text.c: where the elapsed time went, as tables and as JSON. See elapsed_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/text/json.h"
#include "show/text/matching_face.h"
#include "show/text/system_call.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FEW_ROWS 30

/* ---- words ---- */

static void procedure_text(const struct elapsed_row *row, char *text, size_t size)
{
    char procedure[PROCEDURE_NAME_SIZE + 1], module[MODULE_NAME_SIZE + 1];

    show_text(row->procedure, PROCEDURE_NAME_SIZE, procedure);
    show_text(row->module, MODULE_NAME_SIZE, module);
    if (procedure[0] != '\0')
        snprintf(text, size, "%s%s (%s)",
                 row->kind == ELAPSED_COMPUTES ? "up to calls from " : "in ", procedure, module);
    else
        text[0] = '\0';
}

void elapsed_what(const struct elapsed_row *row, char text[ELAPSED_TEXT_SIZE])
{
    char call[UNIT_SIZE], procedure[PROCEDURE_NAME_SIZE + MODULE_NAME_SIZE + 30];
    char address[ENDPOINT_SIZE + 1];

    text[0] = '\0';
    procedure_text(row, procedure, sizeof(procedure));
    if (row->path_kind != 0) {
        show_text(row->address, ENDPOINT_SIZE, address);
        snprintf(text, ELAPSED_TEXT_SIZE, "%s %s", path_kind_name(row->path_kind), address);
    } else if (row->call != NO_SYSTEM_CALL) {
        system_call_text(row->call, call);
        snprintf(text, ELAPSED_TEXT_SIZE, "%s%s%s", call, procedure[0] == '\0' ? "" : " ",
                 procedure);
    } else {
        snprintf(text, ELAPSED_TEXT_SIZE, "%s", procedure);
    }
}

static void thread_text(const struct elapsed_row *row, char text[PROCESS_NAME_SIZE])
{
    char name[STREAM_NAME_SIZE + 1];

    if (row->pid == 0) {
        strcpy(text, "-");
        return;
    }
    show_text(row->process, STREAM_NAME_SIZE, name);
    if (row->pid == row->tid)
        snprintf(text, PROCESS_NAME_SIZE, "%s[%" PRIu32 "]", name, row->pid);
    else
        snprintf(text, PROCESS_NAME_SIZE, "%s[%" PRIu32 "/%" PRIu32 "]", name, row->pid, row->tid);
}

/* ---- tables ---- */

static void print_heading(const struct elapsed *elapsed, FILE *file)
{
    char time[UNIT_SIZE], process[PROCESS_NAME_SIZE];

    show_duration(elapsed->time, time);
    if (elapsed->from_start) {
        show_process(elapsed->process, elapsed->pid, process);
        fprintf(file,
                "%s passed from the start of %s to its end. Backwards from the end, it was "
                "spent on:\n\n",
                time, process);
    } else {
        fprintf(file,
                "%s passed from the first event to the last. Backwards from the last, it was "
                "spent on:\n\n",
                time);
    }
}

static int print_kinds(const struct elapsed *elapsed, FILE *file)
{
    static const struct table_column columns[] = {
        {"SHARE", true}, {"TIME", true}, {"SPENT ON", false}};
    bool done[ELAPSED_KIND_COUNT] = {false};
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    for (unsigned i = 0; i < ELAPSED_KIND_COUNT && result == 0; i++) {
        char share[UNIT_SIZE], time[UNIT_SIZE];
        unsigned most = ELAPSED_KIND_COUNT;
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
            if (!done[kind] && elapsed->by_kind[kind] > 0 &&
                (most == ELAPSED_KIND_COUNT || elapsed->by_kind[kind] > elapsed->by_kind[most]))
                most = kind;
        if (most == ELAPSED_KIND_COUNT)
            break;
        done[most] = true;
        show_percent(elapsed->by_kind[most], elapsed->time, share);
        strcat(share, "%");
        show_duration(elapsed->by_kind[most], time);
        result = table_add(&table, (const char *[]){share, time, elapsed_kind_name(most)});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

static int print_rows(const struct elapsed *elapsed, FILE *file, bool all)
{
    static const struct table_column columns[] = {{"SHARE", true},     {"TIME", true},
                                                  {"TIMES", true},     {"PROCESS", false},
                                                  {"SPENT ON", false}, {"WHAT", false}};
    size_t shown = all || elapsed->row_count < FEW_ROWS ? elapsed->row_count : FEW_ROWS;
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    for (size_t i = 0; i < shown && result == 0; i++) {
        const struct elapsed_row *row = &elapsed->rows[i];
        char share[UNIT_SIZE], time[UNIT_SIZE], count[UNIT_SIZE], thread[PROCESS_NAME_SIZE];
        char what[ELAPSED_TEXT_SIZE];
        show_percent(row->time, elapsed->time, share);
        strcat(share, "%");
        show_duration(row->time, time);
        show_count(row->count, count);
        thread_text(row, thread);
        elapsed_what(row, what);
        result = table_add(&table, (const char *[]){share, time, count, thread,
                                                    elapsed_kind_name(row->kind), what});
    }
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    if (shown < elapsed->row_count)
        fprintf(file, "(%zu more: --all)\n", elapsed->row_count - shown);
    return result;
}

static void print_grounds(const struct elapsed *elapsed, const struct recorded *recorded,
                          FILE *file)
{
    char text[COUNTED_SIZE];

    show_counted(elapsed->intervals, "interval", text);
    fprintf(file, "\nIt consists of %s. The parts add up to the elapsed time.\n", text);
    if (recorded->lost == 0)
        return;
    show_counted(recorded->lost, "record", text);
    fprintf(file,
            "%s were lost: what ended a wait may be missing, and the time before it counts "
            "for the wait.\n",
            text);
}

static int show_tables(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file,
                       const struct show_options *options)
{
    struct folding folding;
    int result;

    print_heading(elapsed, folding_begin(&folding, file));
    folding_end(&folding);
    result = print_kinds(elapsed, file);
    if (result == 0)
        fputc('\n', file);
    if (result == 0)
        result = print_rows(elapsed, file, options->all);
    print_grounds(elapsed, recorded, folding_begin(&folding, file));
    folding_end(&folding);
    return result;
}

/* ---- JSON ---- */

static json_t *row_json(const void *context, size_t index)
{
    const struct elapsed *elapsed = context;
    const struct elapsed_row *row = &elapsed->rows[index];
    char call[UNIT_SIZE];

    system_call_text(row->call, call);
    return json_pack(
        "{s:s, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "spent_on",
        elapsed_kind_key(row->kind), "time_ns", json_count(row->time), "count",
        json_count(row->count), "share", show_share(row->time, elapsed->time), "name",
        json_text(row->process, STREAM_NAME_SIZE), "pid", json_count(row->pid), "tid",
        json_count(row->tid), "procedure", json_text(row->procedure, PROCEDURE_NAME_SIZE), "module",
        json_text(row->module, MODULE_NAME_SIZE), "system_call",
        row->call == NO_SYSTEM_CALL ? json_null() : json_string(call), "kind",
        row->path_kind == 0 ? json_null() : json_string(path_kind_name(row->path_kind)), "address",
        row->path_kind == 0 ? json_null() : json_text(row->address, ENDPOINT_SIZE));
}

static int show_json(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file)
{
    json_t *kinds = json_object();
    int failed = kinds == NULL;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT && !failed; kind++)
        failed =
            json_object_set_new(kinds, elapsed_kind_key(kind), json_count(elapsed->by_kind[kind]));
    json_t *all = json_pack(
        "{s:{s:o, s:b}, s:o, s:o, s:o, s:o, s:o}", "trace", "lost", json_count(recorded->lost),
        "complete", recorded->complete, "elapsed_ns", json_count(elapsed->time), "process",
        elapsed->from_start ? json_text(elapsed->process, STREAM_NAME_SIZE) : json_null(), "pid",
        elapsed->from_start ? json_count(elapsed->pid) : json_null(), "spent_on_ns", kinds, "rows",
        json_array_of(elapsed, elapsed->row_count, row_json));
    int result = json_print(failed ? NULL : all, JSON_INDENT(1), file);

    fputc('\n', file);
    return result;
}

int show_elapsed(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file,
                 const struct show_options *options)
{
    return options->json ? show_json(elapsed, recorded, file)
                         : show_tables(elapsed, recorded, file, options);
}
