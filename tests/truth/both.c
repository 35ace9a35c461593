/* SPDX-License-Identifier: MIT */
/*
 * truth-both: compares the recordings of one run by two meters.
 *
 *      usage: truth-both KERNEL PTRACE
 *
 * Both are output of `dpm dump --json --matched`: KERNEL of the kernel meter, which has also watched the tracer; PTRACE
 * of the ptrace meter. For each stream of PTRACE:
 *
 *      kernel   SEND 9 100 | STOPPROCESS ... | RECEIVE 9 20, blocked | TERMINATION 0
 *      ptrace   SEND 9 100                   | RECEIVE 9 20, blocked | TERMINATION 0       equal one by one, in order
 *
 * - The same events: SEND and RECEIVE of the same socket or pipe (inode) with the same bytes, CREATEPROCESS, EXEC,
 *   TERMINATION; as many failed calls. (Stops are left out: the kernel meter records each stop that the tracer causes.)
 * - A receive that blocked for the kernel meter also blocked for the ptrace meter, with one exception in 500. (The
 *   reverse need not hold: for the ptrace meter, what the kernel meter records as a BLOCK is also one.)
 * - If both meters mark all edges of a RECEIVE exact, the edges lead to the same SENDs, with the same bytes.
 *
 * Only KERNEL has the events of the traced process before it executed its program. Prints differences and what was
 * compared. Exit status: 0 equal, 1 different, 2 usage or unreadable.
 */
#include "compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL, PTRACE, METERS };

struct counts {
    uint64_t streams;
    uint64_t operations[OPERATION_KIND_COUNT];
    uint64_t blocked;       /* RECEIVEs: in both */
    uint64_t blocked_alone; /* by the ptrace meter alone */
    uint64_t blocked_unnoticed;
    uint64_t exact; /* RECEIVEs with edges that are exact in both, and equal */
};

/* The operations of one stream that are compared, as one meter recorded them. */
struct view {
    const struct dump *dump;
    const struct stream *stream;
    size_t *operations; /* index in the stream */
    size_t count;
    size_t capacity;
};

struct both {
    struct dump dumps[METERS];
    struct findings findings;
    struct counts counts;
};

/* ---- which operations ---- */

static bool is_compared(const struct operation *operation)
{
    return operation->kind != OPERATION_STOPPROCESS && operation->kind != OPERATION_STARTPROCESS;
}

/* The first operation that is compared. For the command itself: its first EXEC. */
static size_t first_of(const struct stream *stream, bool command)
{
    for (size_t i = 0; command && i < stream->count; i++)
        if (stream->operations[i].kind == OPERATION_EXEC)
            return i;
    return 0;
}

static struct view view_of(const struct dump *dump, const struct stream *stream, bool command)
{
    struct view view = {dump, stream};

    for (size_t i = first_of(stream, command); i < stream->count; i++) {
        if (!is_compared(&stream->operations[i]))
            continue;
        reserve(&view.operations, &view.capacity, view.count + 1, sizeof(*view.operations));
        view.operations[view.count++] = i;
    }
    return view;
}

static const struct operation *operation_at(const struct view *view, size_t index)
{
    return &view->stream->operations[view->operations[index]];
}

/* ---- edges ---- */

/* A SEND, named in a way that is the same for both meters. */
struct source {
    uint32_t tid;
    size_t number; /* among the stream's SENDs, counted from the last one backwards */
    uint64_t bytes;
};

struct sources {
    struct source list[64];
    size_t count;
    bool exact; /* there are edges, and all are exact */
};

static const struct stream *stream_of_number(const struct dump *dump, uint64_t number)
{
    for (size_t i = 0; i < dump->side.count; i++)
        if (dump->side.streams[i].number == number)
            return &dump->side.streams[i];
    return NULL;
}

/* How many SENDs end at or after the record with this number. */
static size_t sends_from(const struct stream *stream, uint32_t sequence, bool send_call)
{
    size_t count = 0, last = SIZE_MAX;

    for (size_t i = stream->entry_count; i > 0; i--) {
        const struct entry *entry = &stream->entries[i - 1];
        bool sends = entry->kind == ENTRY_OPERATION && entry->operation == OPERATION_SEND;
        if ((uint32_t)entry->sequence == sequence && (send_call || sends)) {
            if (sends && entry->index != last)
                count++;
            break;
        }
        if (sends && entry->index != last)
            count++;
        if (sends)
            last = entry->index;
    }
    return count;
}

static void add_source(struct sources *sources, struct source source)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->list[i].tid == source.tid && sources->list[i].number == source.number) {
            sources->list[i].bytes += source.bytes;
            return;
        }
    if (sources->count == ARRAY_SIZE(sources->list))
        sources->exact = false;
    else
        sources->list[sources->count++] = source;
}

/* The sources of the bytes of an operation, over all its pieces. */
static struct sources sources_of(const struct view *view, size_t index)
{
    struct sources sources = {.exact = true};
    size_t operation = view->operations[index];

    for (size_t i = 0; i < view->stream->entry_count && sources.exact; i++) {
        const struct entry *entry = &view->stream->entries[i];
        if (entry->kind != ENTRY_OPERATION || entry->operation != OPERATION_RECEIVE ||
            entry->index != operation)
            continue;
        sources.exact = entry->rest_bytes == 0;
        for (size_t k = 0; k < entry->edge_count && sources.exact; k++) {
            const struct edge *edge = &entry->edges[k];
            const struct stream *sender = stream_of_number(view->dump, edge->stream);
            sources.exact = edge->kind == EDGE_EXACT && sender != NULL;
            if (sources.exact)
                add_source(&sources,
                           (struct source){sender->tid,
                                           sends_from(sender, edge->sequence, edge->send_call),
                                           edge->bytes});
        }
    }
    sources.exact = sources.exact && sources.count > 0;
    return sources;
}

static int order_sources(const void *left, const void *right)
{
    const struct source *a = left;
    const struct source *b = right;

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void compare_edges(struct both *both, const struct view views[METERS], size_t index)
{
    struct sources sources[METERS];

    for (unsigned meter = 0; meter < METERS; meter++) {
        sources[meter] = sources_of(&views[meter], index);
        if (!sources[meter].exact)
            return;
        qsort(sources[meter].list, sources[meter].count, sizeof(sources[meter].list[0]),
              order_sources);
    }
    bool same = sources[KERNEL].count == sources[PTRACE].count;
    for (size_t i = 0; same && i < sources[KERNEL].count; i++)
        same = order_sources(&sources[KERNEL].list[i], &sources[PTRACE].list[i]) == 0 &&
               sources[KERNEL].list[i].bytes == sources[PTRACE].list[i].bytes;
    both->counts.exact += same;
    if (!same)
        differ(&both->findings, "%s: exact edges are others: lines %" PRIu64 " and %" PRIu64,
               views[PTRACE].stream->label, operation_at(&views[KERNEL], index)->line,
               operation_at(&views[PTRACE], index)->line);
}

/* ---- operations ---- */

static const char *what_differs(const struct operation *a, const struct operation *b)
{
    if (a->kind != b->kind)
        return "another event";
    switch (a->kind) {
    case OPERATION_SEND:
    case OPERATION_RECEIVE:
        if (a->object != b->object || a->inode != b->inode)
            return "another socket or pipe";
        return a->bytes != b->bytes ? "another number of bytes" : NULL;
    case OPERATION_CREATEPROCESS:
        return a->number != b->number || a->thread != b->thread ? "another child" : NULL;
    case OPERATION_EXEC:
        return strcmp(a->name, b->name) != 0 ? "another image" : NULL;
    case OPERATION_TERMINATION:
        return a->number != b->number ? "another status" : NULL;
    default:
        return NULL;
    }
}

/* A splice is a RECEIVE and a SEND, in either order. */
static bool is_turned_round(const struct view views[METERS], size_t index)
{
    for (unsigned meter = 0; meter < METERS; meter++)
        if (index + 1 >= views[meter].count)
            return false;
    return what_differs(operation_at(&views[KERNEL], index),
                        operation_at(&views[PTRACE], index + 1)) == NULL &&
           what_differs(operation_at(&views[KERNEL], index + 1),
                        operation_at(&views[PTRACE], index)) == NULL;
}

static void compare_operation(struct both *both, const struct view views[METERS], size_t index)
{
    const struct operation *kernel = operation_at(&views[KERNEL], index);
    const struct operation *traced = operation_at(&views[PTRACE], index);

    both->counts.operations[traced->kind]++;
    if (traced->kind != OPERATION_RECEIVE || kernel->kind != OPERATION_RECEIVE)
        return;
    both->counts.blocked += kernel->blocked && traced->blocked;
    both->counts.blocked_alone += !kernel->blocked && traced->blocked;
    both->counts.blocked_unnoticed += kernel->blocked && !traced->blocked;
    if (kernel->blocked && !traced->blocked)
        printf("%s: the RECEIVE in line %" PRIu64 " blocked, that in line %" PRIu64 " did not\n",
               views[PTRACE].stream->label, kernel->line, traced->line);
    compare_edges(both, views, index);
}

static void compare_views(struct both *both, const struct view views[METERS])
{
    size_t count = views[PTRACE].count;

    if (views[KERNEL].count != count)
        differ(&both->findings, "%s: %zu operations, of the kernel meter %zu",
               views[PTRACE].stream->label, count, views[KERNEL].count);
    if (views[KERNEL].count < count)
        count = views[KERNEL].count;
    for (size_t i = 0; i < count; i++) {
        const struct operation *kernel = operation_at(&views[KERNEL], i);
        const struct operation *traced = operation_at(&views[PTRACE], i);
        const char *what = what_differs(kernel, traced);
        if (what != NULL && is_turned_round(views, i)) {
            both->counts.operations[kernel->kind]++;
            both->counts.operations[traced->kind]++;
            i++;
            continue;
        }
        if (what != NULL) {
            differ(&both->findings,
                   "%s: operation %zu: %s: %s %" PRIu64 " bytes, line %" PRIu64
                   ", of the kernel meter %s %" PRIu64 " bytes, line %" PRIu64,
                   views[PTRACE].stream->label, i + 1, what, operation_names[traced->kind],
                   traced->bytes, traced->line, operation_names[kernel->kind], kernel->bytes,
                   kernel->line);
            return; /* later operations would be compared out of step */
        }
        compare_operation(both, views, i);
    }
}

static void compare_failed(struct both *both, const struct stream *kernel,
                           const struct stream *traced)
{
    if (kernel->failed_sends != traced->failed_sends ||
        kernel->failed_receives != traced->failed_receives)
        differ(&both->findings,
               "%s: %" PRIu64 " failed sends and %" PRIu64
               " failed receives, of the kernel meter %" PRIu64 " and %" PRIu64,
               traced->label, traced->failed_sends, traced->failed_receives, kernel->failed_sends,
               kernel->failed_receives);
}

/* ---- streams ---- */

static const struct stream *find_stream(const struct dump *dump, const struct stream *like)
{
    const struct stream *found = NULL;

    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *stream = &dump->side.streams[i];
        uint64_t apart =
            stream->start > like->start ? stream->start - like->start : like->start - stream->start;
        uint64_t before = found == NULL                ? UINT64_MAX
                          : found->start > like->start ? found->start - like->start
                                                       : like->start - found->start;
        if (stream->tid == like->tid && apart < before)
            found = stream;
    }
    return found;
}

static void compare_streams(struct both *both)
{
    const struct dump *dump = &both->dumps[PTRACE];

    for (size_t i = 0; i < dump->side.count; i++) {
        const struct stream *traced = &dump->side.streams[i];
        const struct stream *kernel = find_stream(&both->dumps[KERNEL], traced);
        if (kernel == NULL) {
            differ(&both->findings, "%s: the kernel meter has no such stream", traced->label);
            continue;
        }
        struct view views[METERS] = {view_of(&both->dumps[KERNEL], kernel, traced->parent == 0),
                                     view_of(dump, traced, traced->parent == 0)};
        compare_views(both, views);
        if (traced->parent != 0)
            compare_failed(both, kernel, traced);
        both->counts.streams++;
        for (unsigned meter = 0; meter < METERS; meter++)
            free(views[meter].operations);
    }
}

/* A receive that is preempted just as it stops looks like one that sleeps for a moment. */
#define ONE_UNNOTICED_IN 500

static void check_blocked(struct both *both)
{
    const struct counts *counts = &both->counts;

    if (counts->blocked_unnoticed > 2 + counts->blocked / ONE_UNNOTICED_IN)
        differ(&both->findings, "%" PRIu64 " of %" PRIu64 " RECEIVEs that blocked went unnoticed",
               counts->blocked_unnoticed, counts->blocked);
}

static void print_summary(const struct both *both)
{
    const struct counts *counts = &both->counts;

    for (unsigned kind = 0; kind < OPERATION_KIND_COUNT; kind++)
        if (counts->operations[kind] > 0)
            printf("%-14s %10" PRIu64 " equal\n", operation_names[kind], counts->operations[kind]);
    printf("%" PRIu64 " streams; %" PRIu64 " and %" PRIu64 " records lost\n", counts->streams,
           both->dumps[KERNEL].lost, both->dumps[PTRACE].lost);
    printf("%" PRIu64 " RECEIVEs blocked by both meters, %" PRIu64
           " by the ptrace meter alone, %" PRIu64 " by the kernel meter alone\n",
           counts->blocked, counts->blocked_alone, counts->blocked_unnoticed);
    printf("%" PRIu64 " RECEIVEs have edges that are exact in both and equal\n", counts->exact);
    if (both->findings.differences == 0)
        printf("equal\n");
    else
        printf("different: %" PRIu64 " differences\n", both->findings.differences);
}

int main(int count, char **arguments)
{
    struct both both = {.dumps = {{.begun = UINT64_MAX}, {.begun = UINT64_MAX}}};
    struct problem problem = {""};
    int result = 0;

    if (count != 3) {
        fprintf(stderr, "usage: truth-both KERNEL PTRACE\n");
        return 2;
    }
    for (unsigned meter = 0; meter < METERS && result == 0; meter++)
        result = dump_read(arguments[1 + meter], &both.dumps[meter], &both.findings, &problem);
    if (result == 0) {
        compare_streams(&both);
        check_blocked(&both);
        print_summary(&both);
    } else {
        fprintf(stderr, "truth-both: %s\n", problem.text);
    }
    for (unsigned meter = 0; meter < METERS; meter++)
        dump_done(&both.dumps[meter]);
    return result < 0 ? 2 : both.findings.differences != 0;
}
