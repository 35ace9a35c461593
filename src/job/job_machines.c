/* SPDX-License-Identifier: MIT */
/*
 * job_machines.c: groups of machines, from a file:
 *
 *      # comment
 *      workers: web1 web2
 *      all: workers db1          groups above may be part of one
 *      next: one of web1=60 web2=30 web3      each time one of them, in turn, as often as its weight says (1)
 */
#include "job/job_private.h"

#include <errno.h>

#define GROUP_MOST  4096 /* machines */
#define WEIGHT_MOST 1000000

struct reading {
    json_t *groups; /* name -> array of machines; of a choice: machine -> weight */
    const char *path;
    unsigned line;
};

static int add_machine(struct reading *reading, json_t *machines, const char *word,
                       struct problem *problem)
{
    json_t *group = json_object_get(reading->groups, word);

    if (json_is_object(group))
        return problem_set(problem, -EINVAL, "%s:%u: %s is 'one of': it cannot be part of a group",
                           reading->path, reading->line, word);
    if (group != NULL)
        json_array_extend(machines, group);
    else
        json_array_append_new(machines, json_string(word));
    return json_array_size(machines) <= GROUP_MOST
               ? 0
               : problem_set(problem, -E2BIG, "%s:%u: a group has at most %d machines",
                             reading->path, reading->line, GROUP_MOST);
}

/* web1=60: its weight; web1: 1. */
static int add_weighted(struct reading *reading, json_t *weights, char *word,
                        struct problem *problem)
{
    char *equals = strchr(word, '='), *end = NULL;
    unsigned long weight = equals == NULL ? 1 : strtoul(equals + 1, &end, 10);

    if (equals == word)
        return problem_set(problem, -EINVAL, "%s:%u: '%.60s': a machine stands before '='",
                           reading->path, reading->line, word);
    if (equals != NULL &&
        (equals[1] < '0' || equals[1] > '9' || *end != '\0' || weight > WEIGHT_MOST))
        return problem_set(problem, -EINVAL, "%s:%u: '%.60s': a weight is a number of at most %d",
                           reading->path, reading->line, word, WEIGHT_MOST);
    if (equals != NULL)
        *equals = '\0';
    json_object_set_new(weights, word, json_integer((json_int_t)weight));
    return json_object_size(weights) <= GROUP_MOST
               ? 0
               : problem_set(problem, -E2BIG, "%s:%u: a group has at most %d machines",
                             reading->path, reading->line, GROUP_MOST);
}

static int read_choice(struct reading *reading, const char *name, char **rest,
                       struct problem *problem)
{
    json_t *weights = json_object();
    int result = 0;

    for (char *word; result == 0 && (word = strtok_r(NULL, " \t\r", rest)) != NULL;)
        result = add_weighted(reading, weights, word, problem);
    json_object_set_new(reading->groups, name, weights);
    return result;
}

static int read_line(struct reading *reading, char *text, struct problem *problem)
{
    char *rest = NULL;
    int result = 0;

    text[strcspn(text, "#\n")] = '\0';
    if (text[strspn(text, " \t\r")] == '\0')
        return 0;
    char *colon = strchr(text, ':');
    if (colon == NULL)
        return problem_set(problem, -EINVAL, "%s:%u: no group; write GROUP: MACHINE...",
                           reading->path, reading->line);
    *colon = '\0';
    char *name = strtok_r(text, " \t\r", &rest);
    if (name == NULL || strtok_r(NULL, " \t\r", &rest) != NULL)
        return problem_set(problem, -EINVAL, "%s:%u: one name stands before ':'", reading->path,
                           reading->line);
    const char *first = colon + 1 + strspn(colon + 1, " \t");
    bool is_choice = strncmp(first, "one of", 6) == 0 && strchr(" \t\r", first[6]) != NULL;
    char *word = strtok_r(colon + 1, " \t\r", &rest);
    if (is_choice) {
        (void)strtok_r(NULL, " \t\r", &rest); /* "of" */
        return read_choice(reading, name, &rest, problem);
    }
    json_t *machines = json_array();
    for (; result == 0 && word != NULL; word = strtok_r(NULL, " \t\r", &rest))
        result = add_machine(reading, machines, word, problem);
    json_object_set_new(reading->groups, name, machines);
    return result;
}

static int read_groups(struct reading *reading, FILE *file, struct problem *problem)
{
    char text[4096];
    int result = 0;

    while (result == 0 && fgets(text, sizeof(text), file) != NULL) {
        reading->line++;
        if (strchr(text, '\n') == NULL && !feof(file))
            return problem_set(problem, -EINVAL, "%s:%u: the line is too long", reading->path,
                               reading->line);
        result = read_line(reading, text, problem);
    }
    return result;
}

/*
 * Each gets its weight; the one that has most is next, and pays the sum of all:
 *
 *      a=2 b=1     a 2, b 1: a, which has -1 then     a 1, b 2: b, which has -1     a 3, b 0: a
 */
static const char *choose(const json_t *weights, json_t *turns)
{
    const char *machine, *next = NULL;
    json_int_t sum = 0, most = 0;
    json_t *weight;

    json_object_foreach((json_t *)weights, machine, weight)
    {
        json_int_t has =
            json_integer_value(json_object_get(turns, machine)) + json_integer_value(weight);
        json_object_set_new(turns, machine, json_integer(has));
        sum += json_integer_value(weight);
        if (json_integer_value(weight) > 0 && (next == NULL || has > most)) {
            next = machine;
            most = has;
        }
    }
    if (next != NULL)
        json_object_set_new(turns, next, json_integer(most - sum));
    return next;
}

/* An array of the one machine, or of none. */
static json_t *choose_one(const json_t *weights, const char *name, json_t *turns)
{
    json_t *chosen = json_array(), *own = json_object_get(turns, name);

    if (own == NULL)
        json_object_set_new(turns, name, own = json_object());
    const char *machine = choose(weights, own);
    if (machine != NULL)
        json_array_append_new(chosen, json_string(machine));
    return chosen;
}

/* As one block: the pointers, then the names. */
static int copy_names(json_t *machines, const char *name, char ***ret_names, size_t *ret_count,
                      struct problem *problem)
{
    size_t count = machines == NULL ? 1 : json_array_size(machines), bytes = strlen(name) + 1;

    for (size_t i = 0; machines != NULL && i < count; i++)
        bytes += json_string_length(json_array_get(machines, i)) + 1;
    char **names = malloc((count + 1) * sizeof(char *) + bytes);
    if (names == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    char *at = (char *)(names + count + 1);
    for (size_t i = 0; i < count; i++) {
        names[i] = at;
        at = stpcpy(at, machines == NULL ? name : json_string_value(json_array_get(machines, i))) +
             1;
    }
    *ret_names = names;
    *ret_count = count;
    return 0;
}

static void default_path(char path[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool own = config != NULL && config[0] == '/';

    snprintf(path, PATH_MAX, "%s%s/dpm/machines",
             own            ? config
             : home == NULL ? ""
                            : home,
             own ? "" : "/.config");
}

int job_group(const char *path, const char *name, json_t *turns, char ***ret_names,
              size_t *ret_count, struct problem *problem)
{
    char standard[PATH_MAX];
    struct reading reading = {.path = path};
    int result = 0;

    if (path == NULL) {
        default_path(standard);
        reading.path = standard;
    }
    FILE *file = fopen(reading.path, "re");
    if (file == NULL && (path != NULL || errno != ENOENT))
        return problem_set(problem, -errno, "%s: %s", reading.path, strerror(errno));
    reading.groups = json_object();
    if (file != NULL) {
        result = read_groups(&reading, file, problem);
        fclose(file);
    }
    json_t *machines = json_object_get(reading.groups, name);
    machines = json_is_object(machines) && result == 0 ? choose_one(machines, name, turns)
                                                       : json_incref(machines);
    if (result == 0)
        result = copy_names(machines, name, ret_names, ret_count, problem);
    json_decref(machines);
    json_decref(reading.groups);
    return result;
}
