/* SPDX-License-Identifier: MIT */
/* matching_face.c: what became of messages, for people and for programs. See matching_face.h. */
#include "show/matching_face.h"
#include "show/show.h"

static void add_part(FILE *file, uint64_t part, const char *what, const char **separator)
{
    char count[UNIT_SIZE];

    if (part == 0)
        return;
    show_count(part, count);
    fprintf(file, "%s%s %s", *separator, count, what);
    *separator = ", ";
}

void print_matching(const struct history_counts *counts, FILE *file)
{
    const char *separator = "\nReceives were matched with sends: ";

    add_part(file, counts->exact, "exactly", &separator);
    add_part(file, counts->ordered, "up to the order of concurrent calls", &separator);
    add_part(file, counts->inferred, "inferred", &separator);
    add_part(file, counts->unselected, "with what was not selected", &separator);
    add_part(file, counts->external, "with somebody who is not metered", &separator);
    add_part(file, counts->unmatched_receives, "not at all", &separator);
    add_part(file, counts->unmatched_sends, "sends never received", &separator);
    if (*separator == ',')
        fputs(".\n", file);
}

json_t *json_count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_text(const char *text, size_t size)
{
    char safe[512];

    if (size >= sizeof(safe))
        size = sizeof(safe) - 1;
    show_text(text, size, safe);
    return json_string(safe);
}

json_t *matching_json(const struct history_counts *counts)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "exact", json_count(counts->exact),
                     "ordered", json_count(counts->ordered), "inferred",
                     json_count(counts->inferred), "external", json_count(counts->external),
                     "unselected", json_count(counts->unselected), "unmatched_sends",
                     json_count(counts->unmatched_sends), "unmatched_receives",
                     json_count(counts->unmatched_receives));
}
