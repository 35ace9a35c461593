/* SPDX-License-Identifier: MIT */
/* matching_face.c: how many messages were matched, and the recording's overhead, as text and JSON. See
 * matching_face.h. */
#include "show/text/matching_face.h"
#include "show/show.h"
#include "show/text/json.h"

static void add_part(FILE *file, uint64_t part, const char *what, const char **separator)
{
    char count[UNIT_SIZE];

    if (part == 0)
        return;
    show_count(part, count);
    fprintf(file, "%s%s %s", *separator, count, what);
    *separator = "; ";
}

/* What the matching forgot, because very many streams use one path at once. */
static void print_forgotten(const struct history_counts *counts, FILE *file)
{
    char count[COUNTED_SIZE];

    if (counts->forgotten_streams > 0) {
        show_counted(counts->forgotten_streams, "message", count);
        fprintf(file,
                "The sender%s of %s %s not waited for: more than 4,096 threads used a "
                "connection at once.\n",
                counts->forgotten_streams == 1 ? "" : "s", count,
                counts->forgotten_streams == 1 ? "was" : "were");
    }
    if (counts->forgotten_ranges > 0) {
        show_counted(counts->forgotten_ranges, "range", count);
        fprintf(file,
                "%s of a connection %s forgotten: more than 256 were received before their "
                "sends were recorded.\n",
                count, counts->forgotten_ranges == 1 ? "was" : "were");
    }
}

/* What reads found in files that another process had written: never exact, and no messages. */
static void print_file_edges(const struct history_counts *counts, FILE *file)
{
    const char *separator = "; ";
    char count[COUNTED_SIZE];

    if (counts->file_edges > 0) {
        show_counted(counts->file_edges, "time", count);
        fprintf(file, "\nFiles: a read found what another process had written %s (inferred", count);
        add_part(file, counts->doubtful_file_edges,
                 "in doubt, for calls that overlapped or mapped the file", &separator);
        fputs(").\n", file);
    }
    if (counts->overlapping_writes > 0) {
        show_counted(counts->overlapping_writes, "write", count);
        fprintf(file, "%s overlapped a read of the same file, which may have found it.\n", count);
    }
    if (counts->forgotten_pieces > 0) {
        show_counted(counts->forgotten_pieces, "piece", count);
        fprintf(file, "%s of files %s forgotten: the reads of %s lack the writer.\n", count,
                counts->forgotten_pieces == 1 ? "was" : "were",
                counts->forgotten_pieces == 1 ? "it" : "them");
    }
}

void print_matching(const struct history_counts *counts, FILE *file)
{
    const char *separator = "\nMatched receives: ";
    char sends[COUNTED_SIZE];

    add_part(file, counts->exact, "exact", &separator);
    add_part(file, counts->ordered, "ordered", &separator);
    add_part(file, counts->inferred, "inferred", &separator);
    add_part(file, counts->unselected, "not recorded on the other side", &separator);
    add_part(file, counts->external, "to or from unmonitored peers", &separator);
    add_part(file, counts->not_found, "whose other end was not found", &separator);
    add_part(file, counts->unmatched_receives, "unmatched", &separator);
    if (*separator == '\n' && counts->unmatched_sends > 0)
        fprintf(file, "%snone", separator);
    if (counts->unmatched_sends > 0) {
        show_counted(counts->unmatched_sends, "send", sends);
        fprintf(file, ". %s %s not received before the recording ended", sends,
                counts->unmatched_sends == 1 ? "was" : "were");
    }
    if (*separator != '\n' || counts->unmatched_sends > 0)
        fputs(".\n", file);
    if (counts->not_found > 0)
        fputs(
            "Ends not found are unmonitored, or metered behind translated addresses (NAT): UDP, "
            "and TCP "
            "with the ptrace meter, are matched by addresses. The kernel meter matches TCP by its "
            "sequence numbers.\n",
            file);
    print_forgotten(counts, file);
    print_file_edges(counts, file);
}

void print_selection(const struct history_counts *counts, const char *what, FILE *file)
{
    if (counts->has_rules)
        fprintf(file, "\nSelection rules removed events: %s\n", what);
}

json_t *matching_json(const struct history_counts *counts)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "files",
        json_count(counts->file_edges), "doubtful_files", json_count(counts->doubtful_file_edges),
        "overlapping_writes", json_count(counts->overlapping_writes), "forgotten_pieces",
        json_count(counts->forgotten_pieces), "exact", json_count(counts->exact), "ordered",
        json_count(counts->ordered), "inferred", json_count(counts->inferred), "external",
        json_count(counts->external), "not_found", json_count(counts->not_found), "unselected",
        json_count(counts->unselected), "unmatched_sends", json_count(counts->unmatched_sends),
        "unmatched_receives", json_count(counts->unmatched_receives), "forgotten_streams",
        json_count(counts->forgotten_streams), "forgotten_ranges",
        json_count(counts->forgotten_ranges), "rules", counts->has_rules);
}

/* In a shorter recording, start and end (some 0.3 s of CPU) would dominate the share. Several recordings have no common
 * duration to take the share of. */
#define SHARE_SINCE 5000000000 /* ns */

static void print_rate(const struct own_cost *cost, uint64_t duration, FILE *file)
{
    char records[COUNTED_SIZE], rate[UNIT_SIZE];

    if (cost->records == 0)
        return;
    show_counted(cost->records, "record", records);
    fprintf(file, ", %s", records);
    if (cost->recordings != 1 || duration == 0)
        return;
    show_count((uint64_t)show_rate(cost->records, duration), rate);
    fprintf(file, " (%s/s)", rate);
}

/* Hooks run for every process of the machine, so their time is no property of the records. */
static void print_hooks(const struct own_cost *cost, uint64_t duration, FILE *file)
{
    char share[UNIT_SIZE];

    if (cost->hook_records == 0 || cost->recordings != 1 || duration == 0)
        return;
    show_percent(cost->hook, duration, share);
    fprintf(file,
            " Its hooks in the kernel took %s%% of one CPU (sampled), for all processes here.",
            share);
}

void print_own_cost(const struct own_cost *cost, uint64_t duration, FILE *file)
{
    char cpu[UNIT_SIZE], share[UNIT_SIZE], load[UNIT_SIZE];
    uint64_t used = cost->cpu - cost->load;

    if (cost->recordings == 0)
        return;
    show_duration(used, cpu);
    fprintf(file, "\nDPM itself: %s of CPU time", cpu);
    if (cost->recordings == 1 && duration >= SHARE_SINCE) {
        show_percent(used, duration, share);
        fprintf(file, " (%s%% of one CPU)", share);
    }
    print_rate(cost, duration, file);
    if (cost->loads > 0) {
        show_duration(cost->load, load);
        fprintf(file, "; before that, %s to load the meter", load);
    }
    fputs(".", file);
    print_hooks(cost, duration, file);
    fputc('\n', file);
}

json_t *own_cost_json(const struct own_cost *from)
{
    bool hooks = from->hook_records > 0;

    if (from->recordings == 0)
        return json_null();
    return json_pack(
        "{s:o, s:o, s:o, s:f, s:o, s:o}", "cpu_ns", json_count(from->cpu), "load_cpu_ns",
        from->loads == 0 ? json_null() : json_count(from->load), "records",
        json_count(from->records), "records_per_wakeup",
        from->wakeups == 0 ? 0 : (double)from->records / (double)from->wakeups, "bpf_ns_per_record",
        hooks ? json_real((double)from->hook / (double)from->hook_records) : json_null(), "bpf_ns",
        hooks ? json_count(from->hook) : json_null());
}
