/* SPDX-License-Identifier: MIT */
/* placements.c: assignments and delays, from files and options. See placements.h. */
#include "analysis/parallelism/placements.h"

#include "base/amounts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- delays ---- */

/* Reads a time with its unit, in ns. Returns what is behind it, or NULL. */
static const char *read_time(const char *text, double *ret_ns)
{
    uint64_t unit;
    char *end;

    if (!isdigit((unsigned char)*text))
        return NULL;
    double number = strtod(text, &end);
    const char *rest = parse_time_unit(end, &unit);
    if (rest == NULL || number * (double)unit > 1e15)
        return NULL;
    *ret_ns = number * (double)unit;
    return rest;
}

static int parse_table(const char *text, struct delay *delay)
{
    for (;;) {
        char *end;
        if (delay->count == DELAY_POINTS || !isdigit((unsigned char)*text))
            return -EINVAL;
        double bytes = strtod(text, &end);
        if (*end != ':' || bytes > 1e15 ||
            (delay->count > 0 && bytes <= delay->points[delay->count - 1].bytes))
            return -EINVAL;
        delay->points[delay->count].bytes = bytes;
        text = read_time(end + 1, &delay->points[delay->count].time);
        if (text == NULL)
            return -EINVAL;
        delay->count++;
        if (*text == '\0')
            return 0;
        if (*text++ != ',')
            return -EINVAL;
    }
}

int delay_parse(const char *text, struct delay *ret_delay)
{
    struct delay delay = {0};
    double per_byte = 0;

    if (strchr(text, ':') != NULL) {
        if (parse_table(text, &delay) < 0)
            return -EINVAL;
        *ret_delay = delay;
        return 0;
    }
    delay.count = 1;
    text = read_time(text, &delay.points[0].time);
    if (text == NULL)
        return -EINVAL;
    if (*text == '+') {
        text = read_time(text + 1, &per_byte);
        if (text == NULL || strcmp(text, "/B") != 0)
            return -EINVAL;
        delay.points[1].bytes = 1;
        delay.points[1].time = delay.points[0].time + per_byte;
        delay.count = 2;
    } else if (*text != '\0') {
        return -EINVAL;
    }
    *ret_delay = delay;
    return 0;
}

/* ---- files of lines ---- */

/* A line without its comment and line end. Words are separated by blanks. */
struct line {
    const char *file;
    unsigned number;
    char *text;
    struct problem *problem;
};

static int bad_line(const struct line *line, const char *wanted)
{
    return problem_set(line->problem, -EINVAL, "%s:%u: give %s", line->file, line->number, wanted);
}

#define LINE_SIZE 65536

static int cannot_read(const char *file, int error, struct problem *problem)
{
    return problem_set(problem, -error, "%s: cannot be read: %s", file, strerror(error));
}

/* Removes comment and line end from a line, and hands the rest to `take` if there is any. */
static int take_line(const struct line *line, int (*take)(void *context, const struct line *line),
                     void *context)
{
    char *text = line->text;

    text[strcspn(text, "#\n")] = '\0';
    size_t end = strlen(text);
    while (end > 0 && isspace((unsigned char)text[end - 1]))
        text[--end] = '\0';
    return text[strspn(text, " \t")] == '\0' ? 0 : take(context, line);
}

/* Hands each line that is not empty to `take`. */
static int read_lines(const char *file, int (*take)(void *context, const struct line *line),
                      void *context, struct problem *problem)
{
    FILE *stream = fopen(file, "re");
    char text[LINE_SIZE];
    struct line line = {.file = file, .text = text, .problem = problem};
    int result = 0;

    if (stream == NULL)
        return cannot_read(file, errno, problem);
    while (result == 0 && fgets(text, sizeof(text), stream) != NULL) {
        line.number++;
        if (strchr(text, '\n') == NULL && !feof(stream))
            result = bad_line(&line, "lines of less than 64 KiB of text");
        else
            result = take_line(&line, take, context);
    }
    if (result == 0 && !feof(stream))
        result = cannot_read(file, errno, problem);
    fclose(stream);
    return result;
}

/* Cuts off and returns the next word of a text; NULL: there is none. */
static char *next_word(char **text)
{
    char *word = *text + strspn(*text, " \t");

    if (*word == '\0')
        return NULL;
    *text = word + strcspn(word, " \t");
    if (**text != '\0')
        *(*text)++ = '\0';
    return word;
}

static bool copy_name(char *to, size_t size, const char *from)
{
    return from != NULL && (size_t)snprintf(to, size, "%s", from) < size;
}

/* ---- assignments ---- */

static struct assignment *add(struct placements *placements)
{
    if (array_reserve(&placements->assignments, &placements->room, placements->count + 1,
                      sizeof(*placements->assignments)) < 0)
        return NULL;
    struct assignment *assignment = &placements->assignments[placements->count++];
    *assignment = (struct assignment){0};
    return assignment;
}

int placements_add(struct placements *placements, const char *name, enum assignment_kind kind,
                   uint32_t per_machine)
{
    for (size_t i = 0; i < placements->count; i++)
        if (strcmp(placements->assignments[i].name, name) == 0)
            return 0;
    struct assignment *assignment = add(placements);
    if (assignment == NULL)
        return -ENOMEM;
    snprintf(assignment->name, sizeof(assignment->name), "%s", name);
    assignment->kind = kind;
    assignment->per_machine = per_machine;
    return 0;
}

/* The rules read so far. */
struct rules {
    struct assigned_machine *machines;
    size_t machine_count;
    size_t machine_room;
    struct assigned_process *processes;
    size_t process_count;
    size_t process_room;
};

static int take_machine(struct rules *rules, const struct line *line, char *rest)
{
    const char *name = next_word(&rest), *cores = next_word(&rest), *speed = next_word(&rest);
    struct assigned_machine machine = {.cores = 1, .speed = 1};
    char *end = NULL;

    if (!copy_name(machine.name, sizeof(machine.name), name) || next_word(&rest) != NULL)
        return bad_line(line, "machine NAME [CORES [SPEED]]");
    if (cores != NULL) {
        unsigned long number = strtoul(cores, &end, 10);
        if (*end != '\0' || number == 0 || number > 100000)
            return bad_line(line, "a number of cores from 1 to 100000");
        machine.cores = (uint32_t)number;
    }
    if (speed != NULL) {
        machine.speed = strtod(speed, &end);
        if (*end != '\0' || !(machine.speed > 0.000001 && machine.speed < 1000000))
            return bad_line(line, "a speed, e.g. 1.5 (1: as fast as the recorded machines)");
    }
    if (array_reserve(&rules->machines, &rules->machine_room, rules->machine_count + 1,
                      sizeof(*rules->machines)) < 0)
        return problem_set(line->problem, -ENOMEM, "out of memory");
    rules->machines[rules->machine_count++] = machine;
    return 0;
}

/* Process names may contain blanks, so the last word is the machine. */
static int take_process(struct rules *rules, const struct line *line)
{
    char *text = line->text + strspn(line->text, " \t"), *name = text + strlen(text);
    struct assigned_process process = {.machine = UINT32_MAX};

    while (name > text && name[-1] != ' ' && name[-1] != '\t')
        name--;
    for (size_t i = 0; i < rules->machine_count; i++)
        if (strcmp(rules->machines[i].name, name) == 0)
            process.machine = (uint32_t)i;
    if (name == text || process.machine == UINT32_MAX)
        return bad_line(
            line, "machine NAME [CORES [SPEED]], or PROCESS MACHINE with a machine defined above");
    while (name > text && (name[-1] == ' ' || name[-1] == '\t'))
        *--name = '\0';
    if (!copy_name(process.who, sizeof(process.who), text))
        return bad_line(line, "a name of at most 15 characters, a pid, or *");
    if (array_reserve(&rules->processes, &rules->process_room, rules->process_count + 1,
                      sizeof(*rules->processes)) < 0)
        return problem_set(line->problem, -ENOMEM, "out of memory");
    rules->processes[rules->process_count++] = process;
    return 0;
}

static int take_rule(void *context, const struct line *line)
{
    char *text = line->text + strspn(line->text, " \t");
    size_t length = strcspn(text, " \t");

    if (length == strlen("machine") && strncmp(text, "machine", length) == 0 &&
        text[length] != '\0')
        return take_machine(context, line, text + length);
    return take_process(context, line);
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash == NULL ? file : slash + 1;
}

int placements_read(struct placements *placements, const char *file, struct problem *problem)
{
    struct rules rules = {0};
    struct assignment *assignment = NULL;
    int result = read_lines(file, take_rule, &rules, problem);

    if (result == 0 && rules.machine_count == 0)
        result = problem_set(problem, -EINVAL, "%s: no line \"machine NAME\"", file);
    if (result == 0 && (assignment = add(placements)) == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result < 0) {
        free(rules.machines);
        free(rules.processes);
        return result;
    }
    snprintf(assignment->name, sizeof(assignment->name), "%s", base_name(file));
    assignment->kind = ASSIGNED;
    assignment->machines = rules.machines;
    assignment->machine_count = rules.machine_count;
    assignment->processes = rules.processes;
    assignment->process_count = rules.process_count;
    return 0;
}

static int take_delay(void *context, const struct line *line)
{
    struct placements *placements = context;
    struct delays *delays = &placements->delays;
    static const char wanted[] = "local DELAY, remote DELAY, or MACHINE MACHINE DELAY; DELAY is "
                                 "e.g. 13ms, 13ms+22us/B or 1:4.2ms,1000:12.8ms";
    char *rest = line->text, *words[3];
    struct delay_between between;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        words[i] = next_word(&rest);
    if (words[1] == NULL || next_word(&rest) != NULL ||
        delay_parse(words[2] != NULL ? words[2] : words[1], &between.delay) < 0)
        return bad_line(line, wanted);
    if (words[2] == NULL) {
        bool local = strcmp(words[0], "local") == 0;
        if (!local && strcmp(words[0], "remote") != 0)
            return bad_line(line, wanted);
        *(local ? &delays->local : &delays->remote) = between.delay;
        return 0;
    }
    if (!copy_name(between.from, sizeof(between.from), words[0]) ||
        !copy_name(between.to, sizeof(between.to), words[1]))
        return bad_line(line, wanted);
    if (array_reserve(&placements->between, &placements->between_room, delays->between_count + 1,
                      sizeof(*placements->between)) < 0 ||
        array_reserve(&placements->met, &placements->met_room, delays->between_count + 1,
                      sizeof(*placements->met)) < 0)
        return problem_set(line->problem, -ENOMEM, "out of memory");
    placements->between[delays->between_count++] = between;
    delays->between = placements->between;
    delays->met = placements->met;
    return 0;
}

int placements_read_delays(struct placements *placements, const char *file, struct problem *problem)
{
    return read_lines(file, take_delay, placements, problem);
}

void placements_cores(struct placements *placements, uint32_t cores)
{
    for (size_t i = 0; i < placements->count; i++)
        placements->assignments[i].cores = cores;
}

void placements_done(struct placements *placements)
{
    for (size_t i = 0; i < placements->count; i++) {
        free((void *)placements->assignments[i].machines);
        free((void *)placements->assignments[i].processes);
    }
    free(placements->assignments);
    free(placements->between);
    free(placements->met);
    free(placements->without);
    free(placements->left_out);
}
