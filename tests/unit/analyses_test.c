/* SPDX-License-Identifier: MIT */
/*
 * analyses_test.c: analyses that share one reading of a history do not affect each other.
 *
 *      a random computation --+--> history --> an analysis --------------> its JSON --+
 *                             |                                                       compared
 *                             '--> history --> some of them, in any order --> JSON ---+
 */
#include "computations.h"
#include "seeded.h"

#include "show/show.h"

#include <errno.h>
#include <string.h>

/* ---- what is kept with events ---- */

/* Keeps each event's number as its value, and checks it at the other end of edges. */
struct watch {
    size_t value;
    uint64_t flags; /* of the types it asks for */
    uint64_t events, edges, disturbed;
};

static int watch_add(void *self, const struct history_event *event, struct problem *problem)
{
    struct watch *watch = self;
    uint64_t *own = history_value_at(event->value, watch->value);

    (void)problem;
    watch->events++;
    for (uint32_t i = 0; i < event->edge_count; i++) {
        const uint64_t *from = history_value_at(event->edges[i].value, watch->value);
        if (from == NULL || !(watch->flags >> event->edges[i].id & 1))
            continue;
        watch->edges++;
        watch->disturbed += *from != event->edges[i].number + 1;
    }
    if (own != NULL && (watch->flags >> event->event.header->id & 1))
        *own = event->number + 1;
    return 0;
}

/* ---- the analyses ---- */

enum part { STATISTICS, THREADS, PROCESSES, PATH, REQUESTS, WATCH, PART_COUNT };

#define ALL_PARTS ((1u << PART_COUNT) - 1)

struct reading {
    struct computation *computation;
    struct source *source;
    struct history *history;
    struct analysis analyses[PART_COUNT];
    size_t count;
    struct problem problem;
    struct statistics *statistics;
    struct parallelism_analysis *parallelism[2];
    struct critical_path_reading *path;
    struct causality_analysis *requests;
    struct watch watch;
    char *results[PART_COUNT]; /* JSON; NULL: not requested */
};

static const struct assignment assignments[] = {
    {.name = "one-each", .kind = ONE_EACH},
    {.name = "one-machine", .kind = ONE_MACHINE, .cores = 2},
};

static struct parallelism_options options_of(bool threads)
{
    return (struct parallelism_options){
        .assignments = assignments,
        .assignment_count = ARRAY_SIZE(assignments),
        .threads = threads,
        .sharing = true,
        .delays.remote = {.points = {{0, 100}}, .count = 1},
    };
}

static void open_history(struct reading *reading)
{
    history_free(reading->history);
    reading->computation->tape.at = 0;
    reading->computation->tape.source.states = &reading->computation->tape.state;
    reading->source = &reading->computation->tape.source;
    assert_int_equal(history_new(&reading->source, 1, &reading->history, &reading->problem), 0);
}

static struct analysis begin_watch(struct reading *reading)
{
    struct watch *watch = &reading->watch;

    *watch = (struct watch){.flags = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_TERMINATION)};
    watch->value = history_keep_values(reading->history, sizeof(uint64_t), watch->flags);
    return (struct analysis){"the watch", watch, watch_add};
}

static struct analysis begin_part(struct reading *reading, enum part part)
{
    const struct parallelism_options options = options_of(part == THREADS);
    const struct critical_path_options path = {
        .parallelism = options_of(true), .delays = true, .offered = 2};
    static const struct causality_options requests;
    struct parallelism_analysis **parallelism = &reading->parallelism[part == PROCESSES];

    switch (part) {
    case STATISTICS:
        assert_int_equal(statistics_new(reading->history, 1000, &reading->statistics), 0);
        return statistics_analysis(reading->statistics);
    case THREADS:
    case PROCESSES:
        assert_int_equal(
            parallelism_new(reading->history, &options, parallelism, &reading->problem), 0);
        return parallelism_analysis(*parallelism);
    case PATH:
        assert_int_equal(
            critical_path_new(reading->history, &path, &reading->path, &reading->problem), 0);
        return critical_path_analysis(reading->path);
    case REQUESTS:
        assert_int_equal(causality_new(reading->history, &requests, &reading->requests), 0);
        return causality_analysis(reading->requests);
    default:
        return begin_watch(reading);
    }
}

static void read_history(struct reading *reading)
{
    if (analyses_read_all(reading->history, reading->analyses, reading->count, &reading->problem) !=
        0)
        fail_msg("%s", reading->problem.text);
}

/* ---- results ---- */

static const struct show_options as_json = {.json = true};

static void finish_statistics(struct reading *reading, FILE *file)
{
    struct communication *result;

    history_finish(reading->history);
    assert_int_equal(statistics_finish(reading->statistics, 1, &result), 0);
    assert_int_equal(show_statistics(result, file, &as_json), 0);
    communication_free(result);
    statistics_free(reading->statistics);
}

static void finish_parallelism(struct reading *reading, bool threads, FILE *file)
{
    const struct parallelism_options options = options_of(threads);
    struct parallelism_analysis *analysis = reading->parallelism[!threads];
    struct parallelism_run run = {.name = "it", .recorded.complete = true};
    const struct parallelism_runs runs = {&options, &run, 1};

    assert_int_equal(parallelism_finish(analysis, &run.threads, &reading->problem), 0);
    assert_int_equal(show_parallelism(&runs, file, &as_json), 0);
    parallelism_free(run.threads);
    parallelism_analysis_free(analysis);
}

static void finish_path(struct reading *reading, FILE *file)
{
    const struct recorded recorded = {.complete = true};
    struct critical_path *result;

    assert_int_equal(critical_path_finish(reading->path, &result, &reading->problem), 0);
    assert_int_equal(show_critical_path(result, NULL, &recorded, file, &as_json), 0);
    critical_path_free(result);
    critical_path_reading_free(reading->path);
}

static void finish_requests(struct reading *reading, FILE *file)
{
    const struct causality_face face = {.json = true};
    struct causality *result;

    assert_int_equal(causality_finish(reading->requests, 1, &result), 0);
    assert_int_equal(show_causality(result, file, &face), 0);
    causality_free(result);
    causality_analysis_free(reading->requests);
}

static void finish_part(struct reading *reading, enum part part)
{
    size_t size;
    FILE *file = open_memstream(&reading->results[part], &size);

    assert_non_null(file);
    if (part == STATISTICS)
        finish_statistics(reading, file);
    else if (part == THREADS || part == PROCESSES)
        finish_parallelism(reading, part == THREADS, file);
    else if (part == PATH)
        finish_path(reading, file);
    else if (part == REQUESTS)
        finish_requests(reading, file);
    else
        fprintf(file, "%" PRIu64 " events, %" PRIu64 " edges, %" PRIu64 " disturbed",
                reading->watch.events, reading->watch.edges, reading->watch.disturbed);
    fclose(file);
}

/* ---- readings ---- */

/* Reads the path again, interleaved with an analysis that keeps values. */
static void read_path_again(struct reading *reading, unsigned parts)
{
    open_history(reading);
    reading->count = 0;
    if (parts >> WATCH & 1)
        reading->analyses[reading->count++] = begin_watch(reading);
    critical_path_again(reading->path, reading->history);
    reading->analyses[reading->count++] = critical_path_analysis(reading->path);
    read_history(reading);
    if (parts >> WATCH & 1)
        finish_part(reading, WATCH);
    finish_part(reading, PATH);
}

/* Feeds these analyses (a bit set), beginning with part `first`. */
static void feed(struct reading *reading, struct computation *computation, unsigned parts,
                 unsigned first)
{
    *reading = (struct reading){.computation = computation};
    open_history(reading);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        enum part part = (first + i) % PART_COUNT;
        if (parts >> part & 1)
            reading->analyses[reading->count++] = begin_part(reading, part);
    }
    read_history(reading);
    history_finish(reading->history);
    if (parts >> PATH & 1)
        assert_int_equal(critical_path_find(reading->path, &reading->problem), 0);
    for (enum part part = 0; part < PART_COUNT; part++)
        if (part != PATH && !(part == WATCH && parts >> PATH & 1) && parts >> part & 1)
            finish_part(reading, part);
    if (parts >> PATH & 1)
        read_path_again(reading, parts);
    history_free(reading->history);
}

static void reading_done(struct reading *reading)
{
    for (enum part part = 0; part < PART_COUNT; part++)
        free(reading->results[part]);
}

static void compare(const struct reading *alone, const struct reading *together, unsigned parts,
                    uint64_t seed)
{
    for (enum part part = 0; part < PART_COUNT; part++)
        if ((parts >> part & 1) && strcmp(alone->results[part], together->results[part]) != 0)
            fail_msg("DPM_SEED=%" PRIu64 ": part %u of %#x: alone\n%s\nbut together\n%s", seed,
                     part, parts, alone->results[part], together->results[part]);
}

#define COMPUTATIONS 150
#define SETS         4 /* sets of analyses, for each computation */

static void check(uint64_t seed)
{
    struct computation *computation = calloc(1, sizeof(*computation));
    struct reading alone[PART_COUNT], together;
    uint64_t first = seed;

    assert_non_null(computation);
    make(computation, false, &seed);
    for (enum part part = 0; part < PART_COUNT; part++)
        feed(&alone[part], computation, 1u << part, part);
    assert_non_null(strstr(alone[WATCH].results[WATCH], " 0 disturbed"));
    for (unsigned i = 0; i < SETS; i++) {
        unsigned parts = i == 0 ? ALL_PARTS : (unsigned)random_below(&seed, ALL_PARTS) + 1;
        feed(&together, computation, parts, (unsigned)random_below(&seed, PART_COUNT));
        for (enum part part = 0; part < PART_COUNT; part++)
            compare(&alone[part], &together, parts & 1u << part, first);
        reading_done(&together);
    }
    for (enum part part = 0; part < PART_COUNT; part++)
        reading_done(&alone[part]);
    tape_done(&computation->tape);
    free(computation);
}

static void together_is_as_alone(void **state)
{
    uint64_t seed = seed_of_run("analyses");

    (void)state;
    for (uint64_t i = 0; i < rounds_of_run(COMPUTATIONS); i++)
        check(getenv("DPM_SEED") != NULL && i == 0 ? seed : random_number(&seed));
}

/* ---- errors ---- */

static int fail_with(void *self, const struct history_event *event, struct problem *problem)
{
    int error = *(const int *)self;

    (void)event;
    return error == -ENOMEM ? error : problem_set(problem, error, "its own words");
}

static int count_event(void *self, const struct history_event *event, struct problem *problem)
{
    (void)event;
    (void)problem;
    ++*(uint64_t *)self;
    return 0;
}

/* The first analysis that fails ends the reading, and the error names it. */
static void errors_are_reported(void **state)
{
    struct computation *computation = calloc(1, sizeof(*computation));
    struct reading reading = {.computation = computation};
    int errors[] = {-ENOMEM, -ENOSPC};
    uint64_t before = 0, after = 0;

    (void)state;
    assert_non_null(computation);
    begin(computation, 1);
    run_on(computation, 0, 1);
    for (unsigned i = 0; i < ARRAY_SIZE(errors); i++) {
        const struct analysis analyses[] = {{"the first", &before, count_event},
                                            {"the second", &errors[i], fail_with},
                                            {"the third", &after, count_event}};
        open_history(&reading);
        assert_int_equal(analyses_read_all(reading.history, analyses, 3, &reading.problem),
                         errors[i]);
        assert_string_equal(reading.problem.text,
                            i == 0 ? "out of memory for the second" : "its own words");
    }
    assert_int_equal(before, 2);
    assert_int_equal(after, 0);
    history_free(reading.history);
    tape_done(&computation->tape);
    free(computation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(together_is_as_alone),
        cmocka_unit_test(errors_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
