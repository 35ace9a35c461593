/* SPDX-License-Identifier: MIT */
/* whole_report.c: the report of all analyses, or of some. See whole_report.h. */
#include "command/reading/whole_report.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 1000000 /* ns: length of the intervals among which the busiest is found */
#define DRAWN 1500    /* events */

/* ---- which ---- */

/* In the order of the bits; then all of them. */
static const char *const words[] = {"stats", "why", "path", "parallelism", "causality", "all"};

const char *report_part_word(size_t index)
{
    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

/* The bits of one word; 0: unknown. */
static unsigned parts_of(const char *word, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0)
            return i + 1 == ARRAY_SIZE(words) ? PARTS_ALL : 1u << i;
    return 0;
}

int report_parts_take(const char *command, unsigned *ret_parts)
{
    unsigned parts = optarg[0] == '-' ? PARTS_ALL : 0;

    const char *at = optarg;

    do {
        bool removes = *at == '-';
        at += removes;
        size_t length = strcspn(at, ",");
        unsigned named = parts_of(at, length);
        if (named == 0)
            return command_usage_error(command,
                                       "--analyses '%s': choose from stats, why, path, "
                                       "parallelism, causality, all; -NAME leaves one out",
                                       optarg);
        parts = removes ? parts & ~named : parts | named;
        at += length;
        at += *at == ',';
    } while (*at != '\0');
    *ret_parts = parts | PART_STATS;
    return -1;
}

/* ---- reading ---- */

static int choose_assignments(struct whole_report *whole, struct problem *problem)
{
    int result = placements_add(&whole->placements, "one-each", ONE_EACH, 0);

    if (result == 0)
        result = placements_add(&whole->placements, "as-recorded", AS_RECORDED, 0);
    if (result == 0)
        result = placements_add(&whole->placements, "one-machine", ONE_MACHINE, 0);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    whole->options.assignments = whole->placements.assignments;
    whole->options.assignment_count = whole->placements.count;
    whole->options.sharing = true;
    return 0;
}

#define CHANGES_MOST 20
#define STEPS_MOST   10000000u /* simulated: half a second */

/* A report without predictions is a report. */
static bool find_changes(struct whole_report *whole)
{
    struct problem ignored;

    if (whole->found.whatif == NULL)
        return false;
    whatif_model_note_load(whole->found.whatif, whole->found.communication);
    return whatif_search(whole->found.whatif, found_cpus(&whole->found), CHANGES_MOST, STEPS_MOST,
                         &whole->changes, &ignored) == 0;
}

static void describe_times(struct whole_report *whole)
{
    const struct selection *selection = whole->selection;
    int length = 0;

    if (selection != NULL && selection->from != 0)
        length = snprintf(whole->times, sizeof(whole->times), " --from %.12gs",
                          (double)selection->from / 1e9);
    if (selection != NULL && selection->to != 0)
        snprintf(whole->times + length, sizeof(whole->times) - (size_t)length, " --to %.12gs",
                 (double)selection->to / 1e9);
}

static void take_results(struct whole_report *whole)
{
    const struct analyses_found *found = &whole->found;

    describe_times(whole);
    whole->runs = (struct parallelism_runs){&whole->options, &whole->found.run, 1};
    whole->report = (struct report){
        .communication = found->communication,
        .parallelism = found->run.threads == NULL ? NULL : &whole->runs,
        .path = found->path,
        .causality = found->causality,
        .elapsed = found->elapsed,
        .lanes = found->lanes,
        .pauses = found->pauses,
        .patterns = found->patterns,
        .changes = find_changes(whole) ? &whole->changes : NULL,
        .recorded = found->run.recorded,
        .graph = whole->picture.graph,
        .traces = whole->traces,
        .times = whole->times,
    };
}

/* Texts and pages show no substrings. Those of two letters say whether requests pass from one server process to another. */
static const struct causality_options requests = {.length = 2}, requests_in_full;
/* Two workers of one server are not two paths. */
static const struct causality_options requests_by_program = {
    .length = 2, .by_program = true, .moments = true};

/* What is wanted of the analyses. */
static void want(struct whole_report *whole)
{
    bool has_path = (whole->parts & PART_PATH) != 0, draws = whole->draws && has_path;

    whole->wanted = (struct analyses_wanted){
        .selection = whole->selection,
        .statistics = true,
        .every = draws ? EVERY : 0,
        .parallelism = (whole->parts & PART_PARALLELISM) != 0 ? &whole->options : NULL,
        .path = has_path ? &report_path_options : NULL,
        .one_graph = has_path && (whole->parts & PART_PARALLELISM) != 0,
        .causality = (whole->parts & PART_CAUSALITY) == 0 ? NULL
                     : whole->draws                       ? &requests_by_program
                     : whole->json                        ? &requests_in_full
                                                          : &requests,
        .elapsed = (whole->parts & (PART_WHY | PART_PATH)) != 0, /* the path may be of requests */
        .whatif = (whole->parts & PART_WHY) != 0 ? WHATIF_REQUESTS_FEW : 0,
        .lanes = whole->draws && (whole->parts & PART_WHY) != 0,
        .pauses = (whole->parts & PART_WHY) != 0,
        .patterns = (whole->parts & PART_WHY) != 0,
        .picture = draws ? &whole->picture : NULL,
        .busiest = true,
        .goes_on = whole->goes_on,
        .hides_secrets = !whole->shows_secrets,
        .threads = whole->threads,
    };
}

/* The signals that ended the recording end its report from now on; those that have come until now meant the recording. */
static void hear_signals(sigset_t *ret_mask)
{
    static const struct timespec at_once;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, ret_mask);
    while (sigtimedwait(&signals, NULL, &at_once) > 0)
        ;
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

static int read_after_recording(struct whole_report *whole, struct problem *problem)
{
    sigset_t mask;

    if (asprintf(&whole->interrupted,
                 "dpm: interrupted: there is no report; what was recorded is stored: dpm report %s",
                 whole->traces) < 0)
        whole->interrupted = NULL;
    whole->wanted.interrupted = whole->interrupted;
    hear_signals(&mask);
    int result = read_analyses(&whole->names, &whole->wanted, &whole->found, problem);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return result;
}

int whole_report_read(struct whole_report *whole, struct problem *problem)
{
    int result = choose_assignments(whole, problem);

    want(whole);
    whole->picture.choice.most = DRAWN;
    whole->traces = trace_names_quoted(&whole->names);
    if (result == 0 && whole->traces == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        result = whole->ends_recording
                     ? read_after_recording(whole, problem)
                     : read_analyses(&whole->names, &whole->wanted, &whole->found, problem);
    if (result == 0)
        take_results(whole);
    return result;
}

int whole_report_begin(struct whole_report *whole, struct history *history, struct problem *problem)
{
    int result = choose_assignments(whole, problem);
    bool has_path = (whole->parts & PART_PATH) != 0;

    whole->parts &= ~(unsigned)PART_PATH;
    want(whole);
    if (result == 0)
        result = readings_new(history, &whole->wanted, &whole->found, &whole->readings, problem);
    if (result == 0 && has_path)
        problem_set(&whole->found.path_problem, -ENOTSUP, "it needs a trace, to read it twice");
    return result;
}

int whole_report_end(struct whole_report *whole, uint32_t origins, struct problem *problem)
{
    int result = readings_finish(whole->readings, origins, problem);

    if (result == 0)
        take_results(whole);
    return result;
}

static int write_html(const void *what, FILE *file)
{
    return show_report_html(what, file);
}

int whole_report_write_html(const struct whole_report *whole, const char *file,
                            struct problem *problem)
{
    return command_write_file(file, write_html, &whole->report, problem);
}

void whole_report_done(struct whole_report *whole)
{
    readings_free(whole->readings);
    whole->readings = NULL;
    free(whole->traces);
    free(whole->interrupted);
    whatif_found_done(&whole->changes);
    found_done(&whole->found);
    picture_done(&whole->picture);
    placements_done(&whole->placements);
}
