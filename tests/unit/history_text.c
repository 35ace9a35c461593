/* SPDX-License-Identifier: MIT */
/*
 * history_text.c: runs a history on the records of a case, and compares the result with the case.
 *
 *      reading: tapes --history--> events with edges --found--> lines
 *               lines, orders, counts <------ compare ----------'
 */
#include "history_text.h"

#include "history_reading.h"
#include "meter/shared/message.h"

#define MOST_CASES 256
#define NAME_MOST  80

struct run {
    struct reading *reading;
    struct history_counts counts;
    int64_t offset;    /* of B's clock from A's, at the end ... */
    uint64_t error;    /* ... and the error bound of that */
    size_t *by_number; /* lines */
    size_t count;      /* of events that have come out */
    size_t capacity;
    size_t first; /* all lines before it have come out */
    size_t value; /* where the history keeps each event's own number with it */
    FILE *report;
};

/* ---- writing the notation ---- */

static void write_reference(FILE *out, const struct reference *reference)
{
    if (reference->origin > 0)
        fputs("B.", out);
    if (reference->of_kernel)
        fprintf(out, "kernel@%" PRIu64, reference->time);
    else
        fprintf(out, "s%u#%d", reference->stream, (int32_t)reference->sequence);
}

static void write_cause(FILE *out, const struct cause *cause)
{
    bool is_message = cause->kind <= EDGE_INFERRED;

    write_reference(out, &cause->from);
    if (is_message || cause->bytes > 0)
        fprintf(out, ":%u", cause->bytes);
    if (cause->kind != EDGE_EXACT)
        fprintf(out, " %s", edge_kind_name(cause->kind));
    if (cause->earlier)
        fputs(" earlier", out);
}

static void write_causes(FILE *out, const char *who, const struct causes *causes)
{
    const char *comma = "";

    fprintf(out, "    %s <- ", who);
    for (size_t i = 0; i < causes->count; i++, comma = ", ") {
        fputs(comma, out);
        write_cause(out, &causes->of[i]);
    }
    if (causes->rest != REST_NONE || causes->rest_bytes > 0)
        fprintf(out, "%s%u %s", comma, causes->rest_bytes, history_rest_name(causes->rest));
    else if (causes->count == 0)
        fputs("nothing", out);
    fputc('\n', out);
}

static void write_counts(FILE *out, const char *who, const struct history_counts *counts)
{
    struct history_counts copy = *counts;
    const char *name, *comma = "";
    uint64_t *value;

    fprintf(out, "    %s then ", who);
    for (size_t i = 0; (name = reading_count(i, &copy, &value)) != NULL; i++)
        if (*value > 0) {
            fprintf(out, "%s%" PRIu64 " %s", comma, *value, name);
            comma = ", ";
        }
    fprintf(out, "%s\n", *comma == '\0' ? "nothing" : "");
}

static void write_line(FILE *out, const struct line *line)
{
    fprintf(out, "  %.*s\n", line->length, line->text);
}

/* ---- a run ---- */

/* The line whose record it is: the first matching one that has not come out. */
static struct line *line_of(struct run *run, const struct history_event *event)
{
    const struct record_header *header = event->event.header;

    while (run->first < run->reading->line_count && run->reading->lines[run->first].is_out)
        run->first++;
    for (size_t i = run->first; i < run->reading->line_count; i++) {
        struct line *line = &run->reading->lines[i];
        if (!line->is_out && line->origin == event->event.origin &&
            line->record->id == header->id &&
            memcmp(line->record, header, event_size(header->id)) == 0)
            return line;
    }
    fail_msg("event %" PRIu64 " is no record, or is out twice", event->number);
    return NULL;
}

/* What an edge says about its first event must be what that event itself said. */
static void compare_edge(struct run *run, const struct line *line, const struct history_edge *edge,
                         const struct line *from)
{
    const struct record_header *header = from->record;
    bool has_path = edge->kind <= EDGE_INFERRED || is_of_room(edge->kind);
    const char *what = edge->id != header->id               ? "type"
                       : edge->origin != from->origin       ? "origin"
                       : edge->stream != header->stream     ? "stream"
                       : edge->sequence != header->sequence ? "sequence"
                       : edge->time != from->when           ? "time"
                       : edge->proc_time != from->proc_time ? "CPU time"
                       : has_path && edge->path != ((const struct record *)header)->message.path
                           ? "path"
                           : NULL;

    if (what == NULL)
        return;
    write_line(run->report, line);
    fprintf(run->report, "    its edge from another %s than ", what);
    write_reference(run->report, &from->name);
    fputs(" has\n", run->report);
}

static void note_edge(struct run *run, struct line *line, const struct history_edge *edge)
{
    if (edge->number >= run->count) {
        write_line(run->report, line);
        fprintf(run->report, "    has an edge from event %" PRIu64 ", which comes later\n",
                edge->number);
        return;
    }
    const uint64_t *value = history_value_at(edge->value, run->value);
    if (value != NULL && *value != edge->number) {
        write_line(run->report, line);
        fprintf(run->report, "    an edge has the value of event %" PRIu64 "\n", *value);
    }
    const struct line *from = &run->reading->lines[run->by_number[edge->number]];
    const struct cause cause = {
        .kind = edge->kind, .from = from->name, .bytes = edge->bytes, .earlier = edge->earlier};
    compare_edge(run, line, edge, from);
    reading_add_cause(&line->found, &cause);
}

static bool is_of_stream(const struct line *line, const struct line *other)
{
    return line->origin == other->origin && line->record->stream == other->record->stream &&
           !((line->record->flags | other->record->flags) & RECORD_NO_STREAM);
}

/* Whether its times are those of its record. */
static bool is_dated(const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    bool is_message = record->header.id >= EVENT_SEND && record->header.id <= EVENT_RECEIVE;
    uint64_t span = is_message ? message_span(record) : 0;
    uint64_t used = record->header.flags & RECORD_NO_STREAM ? 0 : record_proc_time(&record->header);

    return event->when == record->header.time - span && (event->proc_time & PROC_TIME_MASK) == used;
}

static void note(struct run *run, const struct history_event *event)
{
    struct line *line = line_of(run, event);

    for (size_t i = run->first; &run->reading->lines[i] < line; i++)
        if (!run->reading->lines[i].is_out && is_of_stream(line, &run->reading->lines[i])) {
            write_line(run->report, line);
            fputs("    came out before an earlier one of its stream\n", run->report);
        }
    if (!is_dated(event)) {
        write_line(run->report, line);
        fputs("    its times are not those of its record\n", run->report);
    }
    for (uint32_t i = 0; i < event->edge_count; i++)
        note_edge(run, line, &event->edges[i]);
    uint64_t *value = history_value_at(event->value, run->value);
    if (value != NULL)
        *value = event->number;
    line->found.rest = event->rest;
    line->found.rest_bytes = event->rest_bytes;
    line->is_out = true;
    line->number = event->number;
    line->when = event->when;
    line->proc_time = event->proc_time;
    assert_int_equal(event->number, run->count);
    assert_int_equal(array_reserve(&run->by_number, &run->capacity, run->count + 1, sizeof(size_t)),
                     0);
    run->by_number[run->count++] = (size_t)(line - run->reading->lines);
}

static void begin_again(struct reading *reading, uint64_t *patience)
{
    for (size_t i = 0; i < reading->line_count; i++) {
        reading->lines[i].is_out = false;
        reading->lines[i].found.count = 0;
    }
    for (uint32_t origin = 0; origin < MACHINES; origin++) {
        reading->tapes[origin].at = 0;
        reading->tapes[origin].patience = patience;
    }
}

/* What was read from a live source has come out, or is held. */
static void compare_held(struct run *run, struct history *history)
{
    const struct reading *reading = run->reading;
    const struct tape *tape = &reading->tapes[0];
    struct history_counts counts;
    uint64_t read = 0, out = 0;

    for (size_t i = 0; i < tape->at; i++)
        read += event_is_metered(tape->records[i]->id);
    for (size_t i = 0; i < reading->line_count; i++)
        out += reading->lines[i].is_out && event_is_metered(reading->lines[i].record->id);
    history_counts(history, &counts);
    if (out + counts.held != read)
        fprintf(run->report,
                "  %" PRIu64 " events are read, %" PRIu64 " are out, %" PRIu64
                " are counted as held\n",
                read, out, counts.held);
}

static void run_history(struct run *run)
{
    struct reading *reading = run->reading;
    struct source *sources[] = {&reading->tapes[0].source, &reading->tapes[1].source};
    bool two = reading->tapes[1].count > 0;
    struct history *history;
    struct history_event event;
    struct problem problem;
    int result;

    assert_int_equal(history_new(sources, two ? 2 : 1, &history, &problem), 0);
    if (!reading->without_rooms)
        history_find_rooms(history);
    run->value = history_keep_values(history, sizeof(uint64_t), METER_EVENT_FLAGS);
    while ((result = history_next(history, &event, &problem)) != SOURCE_END) {
        assert_true(result > 0);
        if (result == SOURCE_RECORD)
            note(run, &event);
        else if (!two)
            compare_held(run, history);
    }
    history_counts(history, &run->counts);
    if (run->counts.held != 0)
        fprintf(run->report, "  %" PRIu64 " events are held at the end\n", run->counts.held);
    if (two)
        history_clock(history, 1, reading->tapes[1].last_time, &run->offset, &run->error);
    history_free(history);
}

/* ---- comparing ---- */

static bool are_causes_equal(const struct causes *a, const struct causes *b)
{
    if (a->count != b->count || a->rest != b->rest || a->rest_bytes != b->rest_bytes)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->of[i].kind != b->of[i].kind || a->of[i].bytes != b->of[i].bytes ||
            a->of[i].earlier != b->of[i].earlier ||
            !is_same_reference(&a->of[i].from, &b->of[i].from))
            return false;
    return true;
}

static void compare_lines(struct run *run)
{
    for (size_t i = 0; i < run->reading->line_count; i++) {
        const struct line *line = &run->reading->lines[i];
        bool are_equal = are_causes_equal(&line->expected, &line->found);
        if (line->is_out && are_equal)
            continue;
        write_line(run->report, line);
        if (!line->is_out)
            fputs("    did not come out\n", run->report);
        if (!are_equal) {
            write_causes(run->report, "expected", &line->expected);
            write_causes(run->report, "found   ", &line->found);
        }
    }
}

/* Edges of messages, by kind, must agree with the counts. */
static void compare_sums(struct run *run)
{
    const struct history_counts *counts = &run->counts;
    const uint64_t counted[] = {counts->exact, counts->ordered, counts->inferred};
    uint64_t sums[EDGE_KIND_COUNT] = {0};

    for (size_t i = 0; i < run->reading->line_count; i++)
        for (size_t k = 0; k < run->reading->lines[i].found.count; k++)
            sums[run->reading->lines[i].found.of[k].kind]++;
    for (enum edge_kind kind = EDGE_EXACT; kind <= EDGE_INFERRED; kind++)
        if (sums[kind] != counted[kind])
            fprintf(run->report, "  %" PRIu64 " edges are %s, counted are %" PRIu64 "\n",
                    sums[kind], edge_kind_name(kind), counted[kind]);
    if (counts->events != run->count)
        fprintf(run->report, "  %zu events came out, counted are %" PRIu64 "\n", run->count,
                counts->events);
}

static void compare_counts(struct run *run)
{
    struct history_counts *expected = &run->reading->counts;
    uint64_t *a, *b;

    for (size_t i = 0; reading_count(i, expected, &a) != NULL; i++) {
        reading_count(i, &run->counts, &b);
        if (*a == *b)
            continue;
        write_counts(run->report, "expected", expected);
        write_counts(run->report, "found   ", &run->counts);
        return;
    }
}

static void compare_order(struct run *run, const struct order *order)
{
    const struct line *last = NULL;

    for (size_t i = 0; i < order->count; i++) {
        const struct line *line =
            &run->reading->lines[reading_find(run->reading, &order->of[i], order->where)];
        if (last != NULL && line->number < last->number) {
            fputs("  order: ", run->report);
            write_reference(run->report, &line->name);
            fputs(" came out before ", run->report);
            write_reference(run->report, &last->name);
            fputc('\n', run->report);
            return;
        }
        last = line;
    }
}

/* The case knows how far B's clock is ahead: the history's estimate is right if it contains that, and is narrow
 * enough. */
static void compare_clock(struct run *run)
{
    int64_t ahead = (int64_t)(run->reading->ahead[1] - run->reading->ahead[0]);

    if (run->reading->clock_within == NEVER || (run->error < run->reading->clock_within &&
                                                (uint64_t)llabs(run->offset + ahead) <= run->error))
        return;
    fprintf(run->report,
            "    expected clock B within %" PRIu64 " of %" PRId64 "\n"
            "    found    clock B within %" PRIu64 " of %" PRId64 "\n",
            run->reading->clock_within, ahead, run->error, -run->offset);
}

/* Live sources have no record now and then. That changes no edge, only the order in which sources are read. */
static void run_and_compare(struct reading *reading, bool is_live, FILE *report)
{
    struct run run = {.reading = reading, .report = report};

    run_history(&run);
    compare_lines(&run);
    compare_sums(&run);
    compare_counts(&run);
    compare_clock(&run);
    for (size_t i = 0; i < reading->order_count && !is_live; i++)
        compare_order(&run, &reading->orders[i]);
    free(run.by_number);
}

char *history_text_check(const char *text)
{
    struct reading reading;
    uint64_t patience = 1;
    char *problem = NULL;
    size_t size;

    reading_begin(&reading, text);
    if (reading.problem != NULL) {
        problem = reading.problem;
        reading.problem = NULL;
        reading_done(&reading);
        return problem;
    }
    FILE *report = open_memstream(&problem, &size);
    assert_non_null(report);
    run_and_compare(&reading, false, report);
    if (ftell(report) == 0 && !reading.not_live) {
        begin_again(&reading, &patience);
        run_and_compare(&reading, true, report);
        if (ftell(report) > 0)
            fputs("  (from live sources only)\n", report);
    }
    fclose(report);
    reading_done(&reading);
    if (*problem != '\0')
        return problem;
    free(problem);
    return NULL;
}

/* In TAP a line that begins with # is a comment. (cmocka cuts its output at 1,024 bytes.) */
static void show(const char *text, const char *problem)
{
    fprintf(stderr, "# %.*s\n", (int)strcspn(text, "\n"), text);
    while (*problem != '\0') {
        int length = (int)strcspn(problem, "\n");
        fprintf(stderr, "# %.*s\n", length, problem);
        problem += length + (problem[length] == '\n');
    }
}

void history_text_holds(void **state)
{
    char *problem = history_text_check(*state);
    bool holds = problem == NULL;

    if (!holds)
        show(*state, problem);
    free(problem);
    assert_true(holds);
}

void history_text_tests(const char *const *cases, size_t count, struct CMUnitTest *ret_tests)
{
    static char names[MOST_CASES][NAME_MOST];

    assert_true(count <= MOST_CASES);
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], NAME_MOST, "%.*s", (int)strcspn(cases[i], ":\n"), cases[i]);
        ret_tests[i] = (struct CMUnitTest){.name = names[i],
                                           .test_func = history_text_holds,
                                           .initial_state = (void *)(uintptr_t)cases[i]};
    }
}

/* ---- generated cases ---- */

static char *made;
static size_t made_size;

FILE *history_text_begin(void)
{
    FILE *out = open_memstream(&made, &made_size);

    assert_non_null(out);
    return out;
}

void history_text_end(FILE *out)
{
    fclose(out);
    history_text_holds((void **)&made);
    free(made);
}
