/* SPDX-License-Identifier: MIT */
/*
 * truth-compare: compares the meter's recording with truth-program's own log.
 *
 *      usage: truth-compare [--acquired] [--emulated] DUMP LOG
 *
 * DUMP is the output of `dpm dump --json` ('-' is standard input), LOG the folder of logs.
 *
 *      log of tid 71:   SEND 9 100 ... | RECEIVE 9 20 ... | TERMINATION 0
 *                          |                 |                 |        equal one by one, in order
 *      stream of tid 71:  SEND 60+40      RECEIVE 20        TERMINATION
 *
 * For each stream the operations must be the same, none missing and none extra: the same socket or pipe (inode), the
 * same bytes, child, status, image; the CPU time within 5 ms of the call's own; the same number of failed calls. The
 * dump itself must have sequence numbers without gaps, except those counted as lost; times that never decrease; byte
 * ranges and message numbers that tile each path (compare_dump.c, compare_offsets.c); and UDP datagrams that are
 * received with the offset they were sent with (compare_identity.c). If DUMP is output of `dpm dump --json --matched`,
 * its edges must lead to the SENDs that the log names (compare_edges.c). Streams with the same tid are matched in the
 * order in which they began.
 *
 * Not compared: the first STARTPROCESS of each stream; and, if the creator of a stream was not metered, the operations
 * before its log begins (the EXEC that launched it, stops).
 *
 * --acquired: the program was acquired while it ran. For a stream that began before the first event of the dump, the
 * recording must be the end of the log (a call that was in progress when metering began may be partly recorded). A
 * stream that ended before that event may be missing.
 *
 * --emulated: an emulated processor may stand still for a long time at any point. A CPU time may be off by 1 s instead
 * of 5 ms, and a RECEIVE may be 50 ms earlier than its SEND, because the hook of the SEND may run that much later than
 * the step of the call that it records.
 *
 * Prints each difference on a line (the first differing operation with its neighbours) and a table of what was
 * compared. Exit status: 0 equal, 1 different, 2 usage or unreadable.
 */
#include "compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT              5
#define PARTINGS_OF_A_STREAM 8
#define IMAGE_NAME_LENGTH    127 /* record.h: longer names are cut */

static uint64_t cpu_tolerance = 5000000;        /* ns */
static const uint64_t file_time_lag = 10000000; /* ns */

/* ---- the table of what was compared ---- */

struct row {
    char path[24]; /* kind of path; "" for operations without a path */
    char call[32];
    enum operation_kind kind;
    uint64_t operations;
    uint64_t bytes;
    uint64_t records;
};

struct totals {
    struct row *rows;
    size_t count;
    size_t capacity;
    uint64_t *outside; /* distance of each CPU time from the call's own interval, ns */
    size_t outside_count;
    size_t outside_capacity;
    uint64_t streams;
    uint64_t skipped; /* operations before the metering */
    uint64_t failed_sends;
    uint64_t failed_receives;
};

static struct row *find_row(struct totals *totals, enum operation_kind kind, const char *path,
                            const char *call)
{
    for (size_t i = 0; i < totals->count; i++) {
        struct row *row = &totals->rows[i];
        if (row->kind == kind && strcmp(row->path, path) == 0 && strcmp(row->call, call) == 0)
            return row;
    }
    reserve(&totals->rows, &totals->capacity, totals->count + 1, sizeof(*totals->rows));
    struct row *row = &totals->rows[totals->count++];
    row->kind = kind;
    snprintf(row->path, sizeof(row->path), "%s", path);
    snprintf(row->call, sizeof(row->call), "%s", call);
    return row;
}

static void count_operation(struct totals *totals, const struct dump *dump,
                            const struct operation *logged, const struct operation *recorded)
{
    bool message = logged->kind <= OPERATION_RECEIVE;
    struct row *row =
        find_row(totals, logged->kind, message ? dump->paths[recorded->path].kind : "",
                 message ? logged->name : "");

    row->operations++;
    row->bytes += recorded->bytes;
    row->records += recorded->records;
}

static int order_rows(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    int order = strcmp(a->path, b->path);

    if (order != 0)
        return *a->path == 0 ? 1 : *b->path == 0 ? -1 : order;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->call, b->call);
}

static void print_table(struct totals *totals)
{
    struct row sums[OPERATION_KIND_COUNT] = {0};

    if (totals->count > 0)
        qsort(totals->rows, totals->count, sizeof(*totals->rows), order_rows);
    printf("%-15s %-14s %-16s %10s %14s %10s\n", "equal: path", "event", "call", "operations",
           "bytes", "records");
    for (size_t i = 0; i < totals->count; i++) {
        const struct row *row = &totals->rows[i];
        printf("%-15s %-14s %-16s %10" PRIu64 " %14" PRIu64 " %10" PRIu64 "\n", row->path,
               operation_names[row->kind], row->call, row->operations, row->bytes, row->records);
        sums[row->kind].operations += row->operations;
        sums[row->kind].bytes += row->bytes;
        sums[row->kind].records += row->records;
    }
    for (unsigned kind = 0; kind <= OPERATION_RECEIVE; kind++)
        printf("%-15s %-14s %-16s %10" PRIu64 " %14" PRIu64 " %10" PRIu64 "\n", "all",
               operation_names[kind], "", sums[kind].operations, sums[kind].bytes,
               sums[kind].records);
}

static int order_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static void print_cpu_times(struct totals *totals)
{
    size_t count = totals->outside_count;

    if (count == 0)
        return;
    qsort(totals->outside, count, sizeof(*totals->outside), order_numbers);
    printf("CPU time outside the call's own: median %.1f us, 99 %% within %.1f us, largest %.1f us "
           "(%zu calls)\n",
           (double)totals->outside[count / 2] / 1000,
           (double)totals->outside[(count - 1) * 99 / 100] / 1000,
           (double)totals->outside[count - 1] / 1000, count);
}

/* ---- comparing operations ---- */

static void print_operation(const struct operation *operation)
{
    printf("%s", operation_names[operation->kind]);
    if (operation->kind <= OPERATION_RECEIVE)
        printf(" inode %" PRIu64 ", %" PRIu64 " bytes, CPU %.3f to %.3f ms", operation->inode,
               operation->bytes, (double)operation->cpu_first / 1e6,
               (double)operation->cpu_last / 1e6);
    else if (operation->kind == OPERATION_CREATEPROCESS)
        printf(" %" PRIu32 " %s", operation->number, operation->thread ? "thread" : "process");
    else if (operation->kind == OPERATION_TERMINATION)
        printf(" %" PRIu32, operation->number);
    if (operation->name != NULL)
        printf(" %s", operation->name);
    if (operation->end_of_file)
        printf(" (end of file)");
    printf("\n");
}

static void print_context(const struct stream *stream, size_t at)
{
    size_t from = at < CONTEXT ? 0 : at - CONTEXT;

    printf("  %s, %zu operations:\n", stream->label, stream->count);
    for (size_t i = from; i <= at + CONTEXT && i < stream->count; i++) {
        printf("  %s line %-7" PRIu64 " ", i == at ? ">" : " ", stream->operations[i].line);
        print_operation(&stream->operations[i]);
    }
    if (at >= stream->count)
        printf("  > (nothing more)\n");
}

/* The first field that differs, or NULL. */
static const char *what_differs(const struct operation *logged, const struct operation *recorded)
{
    if (logged->kind != recorded->kind)
        return "another event";
    switch (logged->kind) {
    case OPERATION_SEND:
    case OPERATION_RECEIVE:
        if (logged->object != recorded->object || logged->inode != recorded->inode)
            return logged->object == OBJECT_SOCKET ? "another socket" : "another pipe";
        return logged->bytes != recorded->bytes ? "another number of bytes" : NULL;
    case OPERATION_CREATEPROCESS:
        if (logged->number != recorded->number)
            return "another child";
        return logged->thread != recorded->thread ? "thread and process confused" : NULL;
    case OPERATION_EXEC:
        return strncmp(logged->name, recorded->name, IMAGE_NAME_LENGTH) != 0 ? "another image"
                                                                             : NULL;
    case OPERATION_TERMINATION:
        return logged->number != recorded->number ? "another status" : NULL;
    default:
        return NULL;
    }
}

static bool same_at(const struct stream *log, size_t i, const struct stream *dump, size_t k)
{
    return i < log->count && k < dump->count &&
           what_differs(&log->operations[i], &dump->operations[k]) == NULL;
}

/* This operation is the same, and so is the next one, if there is one. */
static bool same_twice(const struct stream *log, size_t i, const struct stream *dump, size_t k)
{
    bool at_end = i + 1 == log->count && k + 1 == dump->count;

    return same_at(log, i, dump, k) && (at_end || same_at(log, i + 1, dump, k + 1));
}

/* How two streams diverge, and how many operations of each side that explains. */
struct parting {
    const char *how;
    size_t logged;
    size_t recorded;
};

static struct parting how_they_part(const struct stream *log, size_t i, const struct stream *dump,
                                    size_t k)
{
    if (k >= dump->count)
        return (struct parting){"missing in the dump", 1, 0};
    if (i >= log->count)
        return (struct parting){"more in the dump than in the log", 0, 1};
    if (same_at(log, i + 1, dump, k) && same_at(log, i, dump, k + 1))
        return (struct parting){"in another order in the dump", 2, 2};
    if (same_twice(log, i + 1, dump, k))
        return (struct parting){"missing in the dump", 1, 0};
    if (same_twice(log, i, dump, k + 1))
        return (struct parting){"more in the dump than in the log", 0, 1};
    return (struct parting){what_differs(&log->operations[i], &dump->operations[k]), 1, 1};
}

struct comparison {
    struct side *log;
    struct dump *dump;
    struct findings findings;
    struct totals totals;
    bool context_printed;
};

static void check_cpu_time(struct comparison *comparison, const struct stream *stream,
                           const struct operation *logged, const struct operation *recorded)
{
    struct totals *totals = &comparison->totals;
    uint64_t outside = 0;

    if (recorded->cpu_first < logged->cpu_first)
        outside = logged->cpu_first - recorded->cpu_first;
    if (recorded->cpu_last > logged->cpu_last && recorded->cpu_last - logged->cpu_last > outside)
        outside = recorded->cpu_last - logged->cpu_last;
    reserve(&totals->outside, &totals->outside_capacity, totals->outside_count + 1,
            sizeof(*totals->outside));
    totals->outside[totals->outside_count++] = outside;
    if (outside > cpu_tolerance)
        differ(&comparison->findings,
               "%s: line %" PRIu64 ": CPU time is %.3f ms outside the call's own", stream->label,
               recorded->line, (double)outside / 1e6);
}

/* The number of operations at the beginning that only belong to the launch of the stream. */
static size_t launch_length(const struct stream *stream)
{
    size_t length = 0;

    while (length < stream->count && stream->operations[length].kind >= OPERATION_EXEC &&
           stream->operations[length].kind <= OPERATION_STARTPROCESS)
        length++;
    return length;
}

static void tell_parting(struct comparison *comparison, const struct stream *log, size_t i,
                         const struct stream *dump, size_t k, const char *how)
{
    differ(&comparison->findings, "%s: operation %zu: %s", dump->label, i + 1, how);
    if (!comparison->context_printed) {
        print_context(log, i);
        print_context(dump, k);
    }
    comparison->context_printed = true;
}

static void compare_operation(struct comparison *comparison, const struct stream *dump,
                              const struct operation *logged, struct operation *recorded)
{
    count_operation(&comparison->totals, comparison->dump, logged, recorded);
    if (logged->kind <= OPERATION_RECEIVE)
        check_cpu_time(comparison, dump, logged, recorded);
}

/* Copies to a recorded operation what only the log knows. */
static void learn(struct operation *recorded, const struct operation *logged)
{
    if (recorded->kind != logged->kind)
        return;
    recorded->logged = logged;
    recorded->end_of_file = logged->end_of_file;
    recorded->packet = logged->packet;
    recorded->writer = logged->writer;
    recorded->place = logged->place;
}

/* A splice between a pipe and another pipe or a socket is logged as a RECEIVE and a SEND. The meter may record them
 * in either order. */
static bool is_splice_turned_round(const struct stream *log, size_t i, const struct stream *dump,
                                   size_t k)
{
    if (!same_at(log, i, dump, k + 1) || !same_at(log, i + 1, dump, k))
        return false;
    const struct operation *receive = &log->operations[i];
    const struct operation *send = &log->operations[i + 1];
    return receive->kind == OPERATION_RECEIVE && send->kind == OPERATION_SEND &&
           strcmp(receive->name, "splice") == 0 && strcmp(send->name, "splice") == 0 &&
           receive->cpu_first == send->cpu_first && receive->cpu_last == send->cpu_last;
}

/* Compares from these indexes on. After a difference it tries to resynchronize, but not forever: once two streams
 * are out of step, the rest means nothing. */
static void compare_operations(struct comparison *comparison, const struct stream *log,
                               const struct stream *dump, size_t i, size_t k)
{
    unsigned partings = 0;

    while ((i < log->count || k < dump->count) && partings < PARTINGS_OF_A_STREAM) {
        struct parting parting = {NULL, 1, 1};
        bool same = same_at(log, i, dump, k);
        if (!same && is_splice_turned_round(log, i, dump, k)) {
            for (unsigned n = 0; n < 2; n++) {
                learn(&dump->operations[k + n], &log->operations[i + 1 - n]);
                compare_operation(comparison, dump, &log->operations[i + 1 - n],
                                  &dump->operations[k + n]);
            }
            i += 2;
            k += 2;
            continue;
        }
        if (!same) {
            parting = how_they_part(log, i, dump, k);
            tell_parting(comparison, log, i, dump, k, parting.how);
            partings++;
        } else {
            compare_operation(comparison, dump, &log->operations[i], &dump->operations[k]);
        }
        if (parting.logged == 1 && parting.recorded == 1)
            learn(&dump->operations[k], &log->operations[i]);
        i += parting.logged;
        k += parting.recorded;
    }
}

static void compare_from_beginning(struct comparison *comparison, const struct stream *log,
                                   const struct stream *dump)
{
    size_t launch = dump->parent == 0 ? launch_length(dump) : 0;
    size_t logged_launch = launch_length(log);

    compare_operations(comparison, log, dump, 0,
                       launch > logged_launch ? launch - logged_launch : 0);
}

/* The operations of a stream that was acquired are the last ones of its log. */
static void compare_end(struct comparison *comparison, const struct stream *log,
                        const struct stream *dump)
{
    size_t skipped = log->count > dump->count ? log->count - dump->count : 0;
    struct operation *recorded = dump->operations;

    comparison->totals.skipped += skipped;
    if (skipped < log->count && dump->count > 0 && recorded->kind <= OPERATION_RECEIVE &&
        recorded->bytes < log->operations[skipped].bytes) {
        recorded->bytes = log->operations[skipped].bytes; /* began before the metering */
        recorded->partial = true;
    }
    compare_operations(comparison, log, dump, skipped, 0);
}

static void compare_stream(struct comparison *comparison, const struct stream *log,
                           const struct stream *dump)
{
    /* its log begins when it runs, which may be late */
    uint64_t begun = comparison->dump->begun;
    bool older = comparison->dump->acquired &&
                 (log->start < begun || (dump->born != 0 && dump->born < begun));

    if (older)
        compare_end(comparison, log, dump);
    else
        compare_from_beginning(comparison, log, dump);
    comparison->totals.streams++;
    comparison->totals.failed_sends += log->failed_sends;
    comparison->totals.failed_receives += log->failed_receives;
    if (older && log->failed_sends >= dump->failed_sends &&
        log->failed_receives >= dump->failed_receives)
        return;
    if (log->failed_sends != dump->failed_sends || log->failed_receives != dump->failed_receives)
        differ(&comparison->findings,
               "%s: %" PRIu64 " failed sends and %" PRIu64 " failed receives, in the log %" PRIu64
               " and %" PRIu64,
               dump->label, dump->failed_sends, dump->failed_receives, log->failed_sends,
               log->failed_receives);
}

/* Whether a stream ended before metering began. File times lag by a tick of the kernel's clock; another stream with
 * the same tid may have come later. */
static bool ended_before(const struct dump *dump, const struct stream *logged, bool recorded_too)
{
    return dump->acquired && logged->ended + (recorded_too ? file_time_lag : 0) < dump->begun;
}

/* Whether only its end is recorded: its log was written before metering began. */
static bool only_ends(const struct stream *recorded)
{
    return recorded->count == 0 ||
           (recorded->count == 1 && recorded->operations[0].kind == OPERATION_TERMINATION);
}

/* An acquired stream that ended before any of its events was recorded has only its identity, and perhaps its end. */
static void tell_unlogged(struct comparison *comparison, const struct stream *recorded)
{
    if (!comparison->dump->acquired || recorded->born >= comparison->dump->begun ||
        !only_ends(recorded))
        differ(&comparison->findings, "%s: there is no log of this stream (%zu operations)",
               recorded->label, recorded->count);
}

/* Both sides are sorted by tid and start. */
static void compare_streams(struct comparison *comparison)
{
    const struct side *log = comparison->log;
    const struct dump *dump = comparison->dump;
    size_t i = 0;
    size_t k = 0;

    while (i < log->count || k < dump->side.count) {
        const struct stream *logged = i < log->count ? &log->streams[i] : NULL;
        const struct stream *recorded = k < dump->side.count ? &dump->side.streams[k] : NULL;
        bool recorded_too = logged != NULL && recorded != NULL && logged->tid == recorded->tid;
        if (logged == NULL || (recorded != NULL && recorded->tid < logged->tid)) {
            tell_unlogged(comparison, recorded);
            k++;
        } else if (ended_before(dump, logged, recorded_too)) {
            comparison->totals.skipped += logged->count;
            i++;
        } else if (!recorded_too) {
            differ(&comparison->findings, "%s: this stream is missing in the dump", logged->label);
            i++;
        } else {
            compare_stream(comparison, logged, recorded);
            i++;
            k++;
        }
    }
}

/* Drops operations that cannot be in the dump. */
static void leave_out_pipes(struct side *log)
{
    for (size_t i = 0; i < log->count; i++) {
        struct stream *stream = &log->streams[i];
        size_t kept = 0;
        for (size_t k = 0; k < stream->count; k++) {
            struct operation *operation = &stream->operations[k];
            if (operation->kind <= OPERATION_RECEIVE && operation->object != OBJECT_SOCKET) {
                free(operation->name);
                free(operation->parts);
            } else {
                stream->operations[kept++] = *operation;
            }
        }
        stream->count = kept;
        stream->failed_sends -= stream->failed_pipe_sends;
        stream->failed_receives -= stream->failed_pipe_receives;
    }
}

static void print_edges(const struct edge_counts *counts)
{
    printf("%" PRIu64 " exact, %" PRIu64 " ordered and %" PRIu64 " inferred edges of %" PRIu64
           " RECEIVEs are right, but for what is told above\n",
           counts->edges[EDGE_EXACT], counts->edges[EDGE_ORDERED], counts->edges[EDGE_INFERRED],
           counts->receives);
    printf("%" PRIu64 " edges had to be exact, and are\n", counts->sure);
    printf("bytes without an edge: %" PRIu64 " external, %" PRIu64 " unselected, %" PRIu64
           " unmatched; %" PRIu64 " were sent before the metering began\n",
           counts->rest_bytes[REST_EXTERNAL], counts->rest_bytes[REST_UNSELECTED],
           counts->rest_bytes[REST_UNMATCHED], counts->excused_bytes);
    if (counts->early > 0)
        printf("of pipes that several use at once, %" PRIu64
               " RECEIVEs are earlier than their SENDs, by %.1f us at most\n",
               counts->early, (double)counts->earliest / 1000);
}

static void print_summary(struct comparison *comparison)
{
    const struct dump *dump = comparison->dump;
    uint64_t differences = comparison->findings.differences;

    if (differences > comparison->findings.printed)
        printf("(%" PRIu64 " differences more)\n", differences - comparison->findings.printed);
    print_table(&comparison->totals);
    print_cpu_times(&comparison->totals);
    printf("%" PRIu64 " records of %zu streams and %zu paths; %" PRIu64 " lost; %" PRIu64
           " failed sends, %" PRIu64 " failed receives\n",
           dump->records, dump->side.count, dump->path_count, dump->lost,
           comparison->totals.failed_sends, comparison->totals.failed_receives);
    if (dump->acquired)
        printf("%" PRIu64 " operations were done before the metering began\n",
               comparison->totals.skipped);
    if (dump->lost > 0)
        printf("offsets were not checked, nor edges, because records were lost\n");
    if (dump->no_pipes)
        printf("pipes were not metered\n");
    if (differences == 0)
        printf("equal\n");
    else
        printf("different: %" PRIu64 " differences\n", differences);
}

/* Errors found by one part do not hide those of the next. */
static void compare_all(struct comparison *comparison)
{
    comparison->findings.printed_of_part = 0;
    if (comparison->dump->no_pipes)
        leave_out_pipes(comparison->log);
    places_find(comparison->log, comparison->dump);
    compare_streams(comparison);
    comparison->findings.printed_of_part = 0;
    if (comparison->dump->lost != 0)
        return;
    offsets_check(comparison->dump, &comparison->findings);
    comparison->findings.printed_of_part = 0;
    uint64_t pairs = order_check(comparison->dump, &comparison->findings);
    comparison->findings.printed_of_part = 0;
    uint64_t datagrams = identity_check(comparison->dump, &comparison->findings);
    printf("%" PRIu64
           " UDP datagrams received with the offset they were sent with, but for what is "
           "told above\n",
           datagrams);
    printf("no RECEIVE before its SEND, in %" PRIu64 " pairs, but for what is told above\n", pairs);
    if (comparison->dump->has_edges) {
        comparison->findings.printed_of_part = 0;
        struct edge_counts counts = edges_check(comparison->dump, &comparison->findings);
        print_edges(&counts);
    }
}

int main(int count, char **arguments)
{
    struct side log = {0};
    struct dump dump = {.begun = UINT64_MAX};
    struct problem problem = {""};
    struct comparison comparison = {.log = &log, .dump = &dump};

    if (count >= 4 && strcmp(arguments[1], "--acquired") == 0) {
        dump.acquired = true;
        arguments++;
        count--;
    }
    if (count >= 4 && strcmp(arguments[1], "--emulated") == 0) {
        cpu_tolerance = 1000000000;
        dump.order_tolerance = 50000000;
        arguments++;
        count--;
    }
    if (count != 3 || arguments[1][0] == 0) {
        fprintf(stderr, "usage: truth-compare [--acquired] [--emulated] DUMP LOG\n");
        return 2;
    }
    int result = log_read(arguments[2], &log, &problem);
    if (result == 0)
        result = dump_read(arguments[1], &dump, &comparison.findings, &problem);
    if (result == 0) {
        compare_all(&comparison);
        print_summary(&comparison);
    } else {
        fprintf(stderr, "truth-compare: %s\n", problem.text);
    }
    side_done(&log);
    dump_done(&dump);
    free(comparison.totals.rows);
    free(comparison.totals.outside);
    if (result < 0)
        return 2;
    return comparison.findings.differences == 0 ? 0 : 1;
}
