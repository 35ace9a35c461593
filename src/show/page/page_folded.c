/* SPDX-License-Identifier: MIT */
/*
 * page_folded.c: all time of all threads as folded stacks, with the levels of the page's flame graph. See show.h.
 *
 *      web1;nginx;nginx[12];message;tcp_10.0.0.7:5432 41250
 */
#include "show/elapsed/elapsed_face.h"
#include "show/show.h"

#include <inttypes.h>

/* ';' separates frames and ' ' the count, so neither may be in it. */
static void put_frame(const char *text, char end, FILE *file)
{
    for (; *text != '\0'; text++)
        fputc(*text == ';' || *text == ' ' ? '_' : *text, file);
    if (end != '\0')
        fputc(end, file);
}

static void put_row(const struct lanes *lanes, const struct elapsed_row *row, FILE *file)
{
    char machine[MACHINE_NAME_SIZE + 1] = "", name[STREAM_NAME_SIZE + 1];
    char who[ELAPSED_THREAD_SIZE], what[ELAPSED_TEXT_SIZE];

    if (row->origin < lanes->origins)
        show_text(lanes->machine_names[row->origin], MACHINE_NAME_SIZE, machine);
    show_text(row->process, STREAM_NAME_SIZE, name);
    elapsed_thread_text(row, who);
    elapsed_what(row, what);
    put_frame(machine[0] == '\0' ? "machine" : machine, ';', file);
    put_frame(name[0] == '\0' ? "unknown" : name, ';', file);
    put_frame(who, ';', file);
    put_frame(elapsed_wait_name(row->kind), what[0] == '\0' ? '\0' : ';', file);
    put_frame(what, '\0', file);
    fprintf(file, " %" PRIu64 "\n", row->time / 1000);
}

void show_profile_folded(const struct lanes *lanes, FILE *file)
{
    for (size_t i = 0; i < lanes->profile.row_count; i++)
        if (lanes->profile.rows[i].time >= 1000)
            put_row(lanes, &lanes->profile.rows[i], file);
}
