/* SPDX-License-Identifier: MIT */
/*
 * job_machines.c: groups of machines, from a file:
 *
 *      # comment
 *      workers: web1 web2
 *      all: workers db1          groups above may be part of one
 */
#include "job/job_private.h"

#include <errno.h>

#define GROUP_MOST 4096 /* machines */

struct reading {
    json_t *groups; /* name -> array of machines */
    const char *path;
    unsigned line;
};

static int add_machine(struct reading *reading, json_t *machines, const char *word,
                       struct problem *problem)
{
    json_t *group = json_object_get(reading->groups, word);

    if (group != NULL)
        json_array_extend(machines, group);
    else
        json_array_append_new(machines, json_string(word));
    return json_array_size(machines) <= GROUP_MOST
               ? 0
               : problem_set(problem, -E2BIG, "%s:%u: a group has at most %d machines",
                             reading->path, reading->line, GROUP_MOST);
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
    json_t *machines = json_array();
    char *word = strtok_r(colon + 1, " \t\r", &rest);
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
        at = stpcpy(at, machines == NULL ? name : json_string_value(json_array_get(machines, i))) + 1;
    }
    *ret_names = names;
    *ret_count = count;
    return 0;
}

static void default_path(char path[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool own = config != NULL && config[0] == '/';

    snprintf(path, PATH_MAX, "%s%s/dpm/machines", own ? config : home == NULL ? "" : home,
             own ? "" : "/.config");
}

int job_group(const char *path, const char *name, char ***ret_names, size_t *ret_count,
              struct problem *problem)
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
    if (result == 0)
        result = copy_names(json_object_get(reading.groups, name), name, ret_names, ret_count,
                            problem);
    json_decref(reading.groups);
    return result;
}
