/* SPDX-License-Identifier: MIT */
/* costs.c: costs, and files of them: a line for each. See planner.h and dpm-view(5). */
#include "view/planner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define WORDS_MOST 256
#define LISTS_MOST 4096 /* lines of one kind */

void view_costs_init(struct view_costs *costs)
{
    *costs = (struct view_costs){
        /* between machines: of an agent, which writes JSON and sends it through a remote shell that encrypts; measured
         * with examples/issos/perturbation.py */
        .messages = {{8e3, 0, 2e3}, {50e3, 0, 100e3}, {1e6, 0, 100e3}},
        .receive = 4e3,
        .sensor = 2e3,
        .evaluate = 50,
        .probe_time = 10e3,
        .probe_cpu = 2e3,
        .turn = 5e3,
        .turn_cpu = 5e3,
        .record = 48,
        .changes = 100,
        .selectivity = 0.1,
    };
}

void view_costs_done(struct view_costs *costs)
{
    free(costs->placed);
    free(costs->subnets);
    costs->placed = NULL;
    costs->subnets = NULL;
    costs->placed_count = costs->subnet_count = 0;
}

struct line {
    const char *file;
    unsigned number;
    char *words[WORDS_MOST + 1];
    size_t count;
    struct problem *problem;
};

static int wrong(const struct line *line, const char *word, const char *expected)
{
    return problem_set(line->problem, -EINVAL, "%s:%u: found '%.60s', expected %s", line->file,
                       line->number, word == NULL ? "end of line" : word, expected);
}

/* At most so many words. */
static int expect_end(const struct line *line, size_t most)
{
    return line->count <= most ? 0 : wrong(line, line->words[most], "end of line");
}

static int read_plain(const struct line *line, size_t index, double least, double most,
                      const char *expected, double *ret_number)
{
    const char *word = index < line->count ? line->words[index] : NULL;
    char *end = NULL;
    double number = word == NULL ? 0 : strtod(word, &end);

    if (word == NULL || end == word || *end != '\0' || !(number >= least && number <= most))
        return wrong(line, word, expected);
    *ret_number = number;
    return 0;
}

/* "3ms", "0.5us": ns. */
static int read_time(const struct line *line, size_t index, double *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const char *word = index < line->count ? line->words[index] : NULL;
    char *end = NULL;
    double number = word == NULL ? 0 : strtod(word, &end);

    if (word != NULL && end != word && number >= 0 && number <= 1e6)
        for (size_t i = 0; i < ARRAY_SIZE(units); i++)
            if (strcasecmp(end, units[i].name) == 0) {
                *ret_ns = number * units[i].ns;
                return 0;
            }
    return wrong(line, word, "a time with its unit: 3ms, 20us, 50ns, 1s");
}

static int read_name(const struct line *line, size_t index, const char *expected,
                     char name[VIEW_NAME_MOST + 1])
{
    const char *word = index < line->count ? line->words[index] : NULL;

    if (word == NULL || strlen(word) > VIEW_NAME_MOST)
        return wrong(line, word, expected);
    strcpy(name, word);
    return 0;
}

/* message machine|subnet|network TIME [send TIME] [byte TIME] */
static int take_message(struct view_costs *costs, const struct line *line)
{
    static const char *const distances[] = {"machine", "subnet", "network"};
    struct view_message_cost *cost = NULL;

    for (size_t i = 0; i < VIEW_DISTANCES && line->count > 1; i++)
        if (strcasecmp(line->words[1], distances[i]) == 0)
            cost = &costs->messages[i];
    if (cost == NULL)
        return wrong(line, line->words[1], "machine, subnet or network");
    int result = read_time(line, 2, &cost->time);
    for (size_t i = 3; i < line->count && result == 0; i += 2) {
        if (strcasecmp(line->words[i], "send") == 0)
            result = read_time(line, i + 1, &cost->send);
        else if (strcasecmp(line->words[i], "byte") == 0)
            result = read_time(line, i + 1, &cost->byte);
        else
            result = wrong(line, line->words[i], "send or byte");
    }
    return result;
}

/* probe TIME [cpu TIME], switch TIME [cpu TIME] */
static int take_time_and_cpu(const struct line *line, double *ret_time, double *ret_cpu)
{
    int result = read_time(line, 1, ret_time);

    *ret_cpu = *ret_time;
    if (result < 0 || line->count == 2)
        return result;
    if (strcasecmp(line->words[2], "cpu") != 0)
        return wrong(line, line->words[2], "cpu");
    result = read_time(line, 3, ret_cpu);
    return result < 0 ? result : expect_end(line, 4);
}

static int take_probe(struct view_costs *costs, const struct line *line)
{
    return take_time_and_cpu(line, &costs->probe_time, &costs->probe_cpu);
}

static int take_switch(struct view_costs *costs, const struct line *line)
{
    return take_time_and_cpu(line, &costs->turn, &costs->turn_cpu);
}

/* shared QUEUE RETRIEVE */
static int take_shared(struct view_costs *costs, const struct line *line)
{
    int result = read_time(line, 1, &costs->shared_queue);

    if (result == 0)
        result = read_time(line, 2, &costs->shared_retrieve);
    costs->shared = true;
    return result < 0 ? result : expect_end(line, 3);
}

static int read_rate(const struct line *line, size_t index, double *ret_rate)
{
    return read_plain(line, index, 1e-6, 1e9, "a number of changes per second, over 0", ret_rate);
}

static int read_records(const struct line *line, size_t index, double *ret_rate)
{
    return read_plain(line, index, 1e-6, 1e9, "a number of records per second, over 0", ret_rate);
}

static int read_share(const struct line *line, size_t index, double *ret_share)
{
    return read_plain(line, index, 1e-9, 1, "a share, over 0 and up to 1", ret_share);
}

/* place ENTITY MACHINE [process ID] [changes N] [selectivity P] [passes P] [reads N] [carries N] */
static int take_place(struct view_costs *costs, const struct line *line)
{
    struct view_placed placed = {.changes = costs->changes, .selectivity = costs->selectivity};
    double process = 0;

    if (line->count < 2 || strlen(line->words[1]) >= sizeof(placed.entity))
        return wrong(line, line->words[1], "an instance as in views: QueueManager[1]");
    strcpy(placed.entity, line->words[1]);
    int result = read_name(line, 2, "the name of a machine", placed.machine);
    for (size_t i = 3; i < line->count && result == 0; i += 2) {
        const char *word = line->words[i];
        if (strcasecmp(word, "process") == 0)
            result = read_plain(line, i + 1, 1, UINT32_MAX, "the id of a process", &process);
        else if (strcasecmp(word, "changes") == 0)
            result = read_rate(line, i + 1, &placed.changes);
        else if (strcasecmp(word, "selectivity") == 0)
            result = read_share(line, i + 1, &placed.selectivity);
        else if (strcasecmp(word, "passes") == 0)
            result = read_share(line, i + 1, &placed.passes);
        else if (strcasecmp(word, "reads") == 0)
            result = read_records(line, i + 1, &placed.reads);
        else if (strcasecmp(word, "carries") == 0)
            result = read_records(line, i + 1, &placed.carries);
        else
            result = wrong(line, word, "process, changes, selectivity, passes, reads or carries");
    }
    placed.process = (uint32_t)process;
    if (result < 0)
        return result;
    if (costs->placed_count >= LISTS_MOST)
        return wrong(line, "place", "at most 4096 places");
    if (array_reserve(&costs->placed, &costs->placed_capacity, costs->placed_count + 1,
                      sizeof(placed)) < 0)
        return problem_set(line->problem, -ENOMEM, "%s: out of memory", line->file);
    costs->placed[costs->placed_count++] = placed;
    return 0;
}

/* subnet NAME MACHINE... */
static int take_subnet(struct view_costs *costs, const struct line *line)
{
    struct view_subnet subnet = {{0}, {0}};
    int result = read_name(line, 1, "the name of a subnet", subnet.subnet);

    if (result == 0 && line->count < 3)
        return wrong(line, NULL, "the name of a machine");
    for (size_t i = 2; i < line->count && result == 0; i++) {
        result = read_name(line, i, "the name of a machine", subnet.machine);
        if (result == 0 && costs->subnet_count >= LISTS_MOST)
            return wrong(line, "subnet", "at most 4096 machines");
        if (result == 0 && array_reserve(&costs->subnets, &costs->subnet_capacity,
                                         costs->subnet_count + 1, sizeof(subnet)) < 0)
            return problem_set(line->problem, -ENOMEM, "%s: out of memory", line->file);
        if (result == 0)
            costs->subnets[costs->subnet_count++] = subnet;
    }
    return result;
}

static int take_line(struct view_costs *costs, const struct line *line)
{
    const struct {
        const char *name;
        double *ns;
    } times[] = {{"receive", &costs->receive},
                 {"sensor", &costs->sensor},
                 {"evaluate", &costs->evaluate},
                 {"clocks", &costs->clocks}};
    static const struct {
        const char *name;
        int (*take)(struct view_costs *, const struct line *);
    } others[] = {{"message", take_message}, {"probe", take_probe}, {"switch", take_switch},
                  {"shared", take_shared},   {"place", take_place}, {"subnet", take_subnet}};
    const char *word = line->words[0];

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcasecmp(word, others[i].name) == 0)
            return others[i].take(costs, line);
    int result = 1; /* 1: no such word */
    for (size_t i = 0; i < ARRAY_SIZE(times) && result == 1; i++)
        if (strcasecmp(word, times[i].name) == 0)
            result = read_time(line, 1, times[i].ns);
    if (strcasecmp(word, "record") == 0)
        result = read_plain(line, 1, 0, 1e6, "a number of bytes", &costs->record);
    else if (strcasecmp(word, "changes") == 0)
        result = read_rate(line, 1, &costs->changes);
    else if (strcasecmp(word, "selectivity") == 0)
        result = read_share(line, 1, &costs->selectivity);
    else if (strcasecmp(word, "central") == 0)
        result = read_name(line, 1, "the name of a machine", costs->central);
    else if (strcasecmp(word, "spare") == 0)
        result = 0;
    else if (result == 1)
        return wrong(line, word,
                     "message, receive, sensor, evaluate, probe, switch, shared, spare, record, "
                     "clocks, changes, selectivity, central, subnet or place");
    bool spare = strcasecmp(word, "spare") == 0;
    costs->spare = costs->spare || spare;
    size_t most = spare ? 1 : 2;
    return result < 0 ? result : expect_end(line, most);
}

static int read_line(struct view_costs *costs, struct line *line, char *text)
{
    char *rest = NULL;

    text[strcspn(text, "#")] = '\0';
    line->count = 0;
    for (char *word = strtok_r(text, " \t\r\f\v", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r\f\v", &rest)) {
        if (line->count == WORDS_MOST)
            return wrong(line, word, "end of line: a line has at most 256 words");
        line->words[line->count++] = word;
    }
    line->words[line->count] = NULL;
    return line->count == 0 ? 0 : take_line(costs, line);
}

int view_costs_parse(struct view_costs *costs, const char *name, const char *text, size_t size,
                     struct problem *problem)
{
    struct line line = {.file = name, .problem = problem};
    char *copy = strndup(text, size), *rest = copy, *next;
    int result = copy == NULL ? problem_set(problem, -ENOMEM, "%s: out of memory", name) : 0;

    while (result == 0 && (next = strsep(&rest, "\n")) != NULL) {
        line.number++;
        result = read_line(costs, &line, next);
    }
    free(copy);
    return result;
}

int view_costs_read(struct view_costs *costs, const char *name, struct problem *problem)
{
    char *text = NULL;
    size_t size = 0;
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (descriptor < 0 || (text = malloc(VIEW_FILE_MOST)) == NULL) {
        int error = descriptor < 0 ? -errno : -ENOMEM;
        if (descriptor >= 0)
            close(descriptor);
        return problem_set(problem, error, "%s: %s", name, strerror(-error));
    }
    ssize_t got = 1;
    while (got > 0 && size < VIEW_FILE_MOST) {
        got = read(descriptor, text + size, VIEW_FILE_MOST - size);
        size += got > 0 ? (size_t)got : 0;
    }
    int result =
        got < 0 ? problem_set(problem, -errno, "%s: %s", name, strerror(errno))
        : size == VIEW_FILE_MOST
            ? problem_set(problem, -EINVAL, "%s: a file of costs has less than 1 MiB", name)
            : view_costs_parse(costs, name, text, size, problem);
    close(descriptor);
    free(text);
    return result;
}
