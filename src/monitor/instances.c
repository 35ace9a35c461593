/* SPDX-License-Identifier: MIT */
/* instances.c: looks for the processes of objects in /proc. See instances.h. */
#include "monitor/instances.h"

#include "base/process.h"
#include "monitor/subnets.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WORDS_MOST   64 /* of --object, for one object */
#define OBJECTS_MOST 1024
#define COMM_SIZE    16 /* of a process' name, with its 0: longer names are cut */

struct object {
    char *name;
    enum view_builtin builtin;
    char *programs[WORDS_MOST];
    size_t program_count;
    pid_t pids[WORDS_MOST];
    size_t pid_count;
};

struct instance {
    uint32_t object;
    pid_t pid;
    uint64_t started; /* clock ticks since boot: with the pid, unique */
    char program[VIEW_SUBNET_SIZE];
    bool seen; /* in this look */
};

_Static_assert(VIEW_SUBNET_SIZE >= COMM_SIZE, "names of both");

struct instances {
    struct instances_calls calls;
    struct object *objects;
    size_t object_count, object_capacity;
    struct instance *living;
    size_t count, capacity;
    struct instance *found; /* new ones of this look */
    size_t found_count, found_capacity;
    uint64_t refused;
    bool beginning; /* the last look left out some that were just beginning */
};

struct instances *instances_new(const struct instances_calls *calls)
{
    struct instances *instances = calloc(1, sizeof(*instances));

    if (instances != NULL)
        instances->calls = *calls;
    return instances;
}

void instances_free(struct instances *instances)
{
    if (instances == NULL)
        return;
    for (size_t i = 0; i < instances->object_count; i++) {
        free(instances->objects[i].name);
        for (size_t k = 0; k < instances->objects[i].program_count; k++)
            free(instances->objects[i].programs[k]);
    }
    free(instances->objects);
    free(instances->living);
    free(instances->found);
    free(instances);
}

uint64_t instances_refused(const struct instances *instances)
{
    return instances->refused;
}

bool instances_beginning(const struct instances *instances)
{
    return instances->beginning;
}

/* ---- objects ---- */

static int find_object(const struct instances *instances, const char *name)
{
    for (size_t i = 0; i < instances->object_count; i++)
        if (view_same_name(instances->objects[i].name, name))
            return (int)i;
    return -ENOENT;
}

int instances_object(struct instances *instances, const char *name, enum view_builtin builtin)
{
    int found = find_object(instances, name);

    if (found >= 0)
        return found;
    char *copy = strdup(name);
    if (copy == NULL || instances->object_count >= OBJECTS_MOST ||
        array_reserve(&instances->objects, &instances->object_capacity, instances->object_count + 1,
                      sizeof(*instances->objects)) < 0) {
        free(copy);
        return -ENOMEM;
    }
    instances->objects[instances->object_count] = (struct object){.name = copy, .builtin = builtin};
    return (int)instances->object_count++;
}

/* One word behind '=': a process id, or the name of a program. */
static int define_word(struct object *object, const char *word, struct problem *problem)
{
    char *end = NULL;
    long pid = strtol(word, &end, 10);

    if (object->program_count == WORDS_MOST || object->pid_count == WORDS_MOST)
        return problem_set(problem, -EINVAL, "object %s: at most %d programs and process ids",
                           object->name, WORDS_MOST);
    if (isdigit((unsigned char)word[0]) && *end == '\0') {
        if (pid <= 0 || pid > INT32_MAX)
            return problem_set(problem, -EINVAL, "object %s: '%s' is no process id", object->name,
                               word);
        object->pids[object->pid_count++] = (pid_t)pid;
        return 0;
    }
    bool path = strchr(word, '/') != NULL;
    char *copy = path ? realpath(word, NULL) : strdup(word);
    if (copy == NULL && path)
        return problem_set(problem, -EINVAL, "object %s: program '%s': %s", object->name, word,
                           strerror(errno));
    if (copy == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for objects");
    object->programs[object->program_count++] = copy;
    return 0;
}

int instances_define(struct instances *instances, const char *text, struct problem *problem)
{
    char *copy = strdup(text), *rest = copy == NULL ? NULL : strchr(copy, '='), *word;

    if (copy == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for objects");
    if (rest == NULL || rest == copy || rest[1] == '\0') {
        free(copy);
        return problem_set(problem, -EINVAL,
                           "object '%s': give NAME=PROGRAM or NAME=PID, several with commas", text);
    }
    *rest++ = '\0';
    int object = find_object(instances, copy), result = 0;
    if (object < 0)
        result = problem_set(problem, -EINVAL, "object %s: no view speaks of it", copy);
    else if (instances->objects[object].builtin > VIEW_PROCESS)
        result = problem_set(problem, -EINVAL, "object %s: its instances are no processes", copy);
    while (result == 0 && (word = strsep(&rest, ",")) != NULL)
        result = word[0] == '\0'
                     ? problem_set(problem, -EINVAL, "object '%s': a name is missing", text)
                     : define_word(&instances->objects[object], word, problem);
    free(copy);
    return result;
}

/* ---- processes ---- */

/* Names of processes are cut. The program may be a path. */
static bool is_name(const char *comm, const char *program)
{
    const char *slash = strrchr(program, '/');

    program = slash == NULL ? program : slash + 1;
    return strncasecmp(comm, program, COMM_SIZE - 1) == 0 &&
           (strlen(program) < COMM_SIZE || strlen(comm) == COMM_SIZE - 1);
}

static bool is_program(pid_t pid, const char *comm, const char *program)
{
    char path[4096];

    if (program[0] == '/')
        return process_program(pid, path, sizeof(path)) && strcmp(path, program) == 0;
    if (is_name(comm, program))
        return true;
    if (!process_program(pid, path, sizeof(path)))
        return false;
    const char *base = strrchr(path, '/');
    return base != NULL && view_same_name(base + 1, program);
}

/* Whether a process that has begun to execute `file` under this name executes this path, as far as that can be told: a symbolic link to
 * it gives the process another name; another hard link is another path. */
static bool is_path(const char *program, const char *comm, const struct file_identity *file)
{
    struct stat status;
    bool named = is_name(comm, program);

    if (program[0] != '/' || file->inode == 0 || stat(program, &status) < 0)
        return named;
    const struct file_identity own = {file_device(status.st_dev), status.st_ino};
    return file_is_same(&own, file) && (named || status.st_nlink == 1);
}

static bool is_begun_as(const struct object *object, const char *comm,
                        const struct file_identity *file)
{
    bool own =
        object->pid_count == 0 && object->program_count == 0 && object->builtin == VIEW_PROGRAM;

    if (own && is_name(comm, object->name))
        return true;
    for (size_t k = 0; k < object->program_count; k++)
        if (is_path(object->programs[k], comm, file))
            return true;
    return false;
}

bool instances_may_begin(const struct instances *instances, const char *comm,
                         const struct file_identity *file)
{
    for (size_t i = 0; i < instances->object_count; i++)
        if (is_begun_as(&instances->objects[i], comm, file))
            return true;
    return false;
}

const char *instances_path(const struct instances *instances, const char *name, size_t index,
                           bool *ret_more)
{
    int found = find_object(instances, name);
    const struct object *object = found < 0 ? NULL : &instances->objects[found];

    *ret_more = object != NULL && index + 1 < object->program_count;
    return object != NULL && index < object->program_count && object->programs[index][0] == '/'
               ? object->programs[index]
               : NULL;
}

bool instances_lives(const struct instances *instances, pid_t pid)
{
    for (size_t i = 0; i < instances->count; i++)
        if (instances->living[i].pid == pid)
            return true;
    for (size_t i = 0; i < instances->found_count; i++)
        if (instances->found[i].pid == pid)
            return true;
    return false;
}

bool instances_has_other(const struct instances *instances, const char *comm,
                         const struct file_identity *file)
{
    for (size_t i = 0; i < instances->count; i++)
        if (is_begun_as(&instances->objects[instances->living[i].object], comm, file))
            return true;
    return false;
}

static bool is_instance(const struct object *object, pid_t pid, const char *comm, bool has_program)
{
    if (object->builtin != VIEW_PROGRAM && object->builtin != VIEW_PROCESS)
        return false;
    for (size_t i = 0; i < object->pid_count; i++)
        if (object->pids[i] == pid)
            return true;
    for (size_t i = 0; i < object->program_count; i++)
        if (is_program(pid, comm, object->programs[i]))
            return true;
    return object->pid_count == 0 && object->program_count == 0 &&
           (object->builtin == VIEW_PROCESS ? has_program : is_program(pid, comm, object->name));
}

/* With another name, a `process` is another instance. What executes a program anew is noticed by its sensors. */
static bool mark_seen(struct instances *instances, const struct instance *instance)
{
    bool named = instances->objects[instance->object].builtin == VIEW_PROCESS;

    for (size_t i = 0; i < instances->count; i++) {
        struct instance *living = &instances->living[i];
        if (living->object == instance->object && living->pid == instance->pid &&
            living->started == instance->started &&
            (!named || strcmp(living->program, instance->program) == 0)) {
            living->seen = true;
            return true;
        }
    }
    return false;
}

/* Its name, start, and whether it lives. */
static bool read_stat(pid_t pid, struct instance *ret_instance, bool *ret_has_program)
{
    char stat[1024];

    if (process_read(pid, "stat", stat, sizeof(stat)) == 0)
        return false;
    const char *name = strchr(stat, '('), *end = strrchr(stat, ')');
    const char *state = process_stat_field(stat, 3),
               *flags = process_stat_field(stat, PROCESS_FLAGS);
    const char *started = process_stat_field(stat, PROCESS_START);
    if (name == NULL || end == NULL || started == NULL || *state == 'Z' || *state == 'X')
        return false;
    *ret_has_program = (strtoul(flags, NULL, 10) & PROCESS_OF_KERNEL) == 0;
    size_t size = (size_t)(end - name - 1);
    *ret_instance = (struct instance){.pid = pid, .started = strtoull(started, NULL, 10)};
    memcpy(ret_instance->program, name + 1, size < COMM_SIZE - 1 ? size : COMM_SIZE - 1);
    return true;
}

/* An instance that lives, which may be known. */
static int find(struct instances *instances, size_t object, bool has_program,
                struct instance *instance)
{
    instance->object = (uint32_t)object;
    if (mark_seen(instances, instance))
        return 0;
    /* Exec gives a process its new name and file first, then maps the file, and notes last where the code begins. Asked
     * once more, since the name may be newer than the memory that was read with it. */
    if (has_program && process_stat_number(instance->pid, PROCESS_CODE) == 0) {
        instances->beginning = true;
        return 0;
    }
    if (array_reserve(&instances->found, &instances->found_capacity, instances->found_count + 1,
                      sizeof(*instance)) < 0)
        return -ENOMEM;
    instance->seen = true;
    instances->found[instances->found_count++] = *instance;
    return 0;
}

static int look_at(pid_t pid, void *context)
{
    struct instances *instances = context;
    struct instance instance;
    bool has_program;
    int result = 0;

    if (!read_stat(pid, &instance, &has_program))
        return 0;
    for (size_t i = 0; i < instances->object_count && result == 0; i++)
        if (is_instance(&instances->objects[i], pid, instance.program, has_program))
            result = find(instances, i, has_program, &instance);
    return result;
}

static int find_subnets(struct instances *instances, size_t object)
{
    struct subnet list[SUBNETS_MOST];
    size_t count = subnets_list(list);
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        struct instance instance = {.pid = list[i].number};
        bool before = false; /* of another interface */
        memcpy(instance.program, list[i].name, sizeof(list[i].name));
        for (size_t k = 0; k < i; k++)
            before = before || list[k].number == list[i].number;
        if (!before)
            result = find(instances, object, false, &instance);
    }
    return result;
}

/* What is no process. */
static int find_others(struct instances *instances)
{
    int result = 0;

    for (size_t i = 0; i < instances->object_count && result == 0; i++) {
        struct instance machine = {.pid = 1};
        if (instances->objects[i].builtin == VIEW_MACHINE)
            result = find(instances, i, false, &machine);
        else if (instances->objects[i].builtin == VIEW_SUBNET)
            result = find_subnets(instances, i);
    }
    return result;
}

static int compare_started(const void *one, const void *other)
{
    const struct instance *a = one, *b = other;

    if (a->started != b->started)
        return a->started < b->started ? -1 : 1;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static void remove_instance(struct instances *instances, size_t index)
{
    const struct instance gone = instances->living[index];
    const struct instance_seen seen = {instances->objects[gone.object].name, gone.pid,
                                       gone.program};

    memmove(&instances->living[index], &instances->living[index + 1],
            (instances->count - index - 1) * sizeof(gone));
    instances->count--;
    instances->calls.ended(instances->calls.context, &seen);
}

void instances_insert(struct instances *instances, pid_t pid, const char *comm,
                      const struct file_identity *file)
{
    for (size_t i = 0; i < instances->object_count; i++) {
        struct instance instance = {.object = (uint32_t)i, .pid = pid, .started = 1};
        if (!is_begun_as(&instances->objects[i], comm, file) ||
            instances->count >= INSTANCES_MOST ||
            array_reserve(&instances->living, &instances->capacity, instances->count + 1,
                          sizeof(instance)) < 0)
            continue;
        snprintf(instance.program, sizeof(instance.program), "%s", comm);
        const struct instance_seen seen = {instances->objects[i].name, pid, instance.program};
        instances->living[instances->count++] = instance;
        instances->calls.appeared(instances->calls.context, &seen);
    }
}

int instances_appear(struct instances *instances, struct problem *problem)
{
    if (instances->found_count > 1)
        qsort(instances->found, instances->found_count, sizeof(*instances->found), compare_started);
    for (size_t i = 0; i < instances->found_count; i++) {
        const struct instance *found = &instances->found[i];
        const struct instance_seen seen = {instances->objects[found->object].name, found->pid,
                                           found->program};
        if (instances->count >= INSTANCES_MOST) {
            instances->refused++;
            continue;
        }
        if (array_reserve(&instances->living, &instances->capacity, instances->count + 1,
                          sizeof(*found)) < 0)
            return problem_set(problem, -ENOMEM, "out of memory for instances");
        instances->living[instances->count++] = *found;
        instances->calls.appeared(instances->calls.context, &seen);
    }
    instances->found_count = 0;
    return 0;
}

static bool still_lives(const struct instances *instances, const struct instance *instance)
{
    enum view_builtin builtin = instances->objects[instance->object].builtin;
    struct instance now;
    bool has_program;

    return (builtin != VIEW_PROGRAM && builtin != VIEW_PROCESS) ||
           (read_stat(instance->pid, &now, &has_program) && now.started == instance->started);
}

static void look_again(struct instances *instances)
{
    size_t kept = 0;

    for (size_t i = 0; i < instances->count; i++)
        instances->living[i].seen =
            instances->living[i].seen && still_lives(instances, &instances->living[i]);
    for (size_t i = 0; i < instances->found_count; i++)
        if (still_lives(instances, &instances->found[i]))
            instances->found[kept++] = instances->found[i];
    instances->found_count = kept;
}

int instances_look(struct instances *instances, bool only, struct problem *problem)
{
    instances->found_count = 0;
    instances->refused = 0;
    instances->beginning = false;
    for (size_t i = 0; i < instances->count; i++)
        instances->living[i].seen = false;
    int result = process_each(look_at, instances, problem);
    if (result == 0)
        result = find_others(instances);
    if (result < 0)
        return result == -ENOMEM ? problem_set(problem, result, "out of memory for instances")
                                 : result;
    if (only && instances->found_count > 0)
        look_again(instances);
    for (size_t i = instances->count; i-- > 0;)
        if (!instances->living[i].seen)
            remove_instance(instances, i);
    return 0;
}

void instances_forget(struct instances *instances, pid_t pid)
{
    for (size_t i = instances->count; i-- > 0;)
        if (instances->living[i].pid == pid && instances->living[i].started != 0)
            remove_instance(instances, i);
}
