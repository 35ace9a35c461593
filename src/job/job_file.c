/* SPDX-License-Identifier: MIT */
/*
 * job_file.c: a job described in one file, for `dpm job run FILE`:
 *
 *      job tsp                          its name
 *      filter big                       a filter for it; without this line: the default one
 *      flags all -pc                    without this line: all
 *      process web1 ./server 7000       as addprocess without the job; in this order
 *      process workers ./worker web1    on each machine of a group
 *      acquire db1 812
 *      log results                      copied there at the end
 *      analysis why                     when all have ended; --html FILE and the like may follow
 *
 * It becomes commands: newjob, setflags, addprocess ..., startjob, wait, removejob, analyses, getlog.
 */
#include "job/job_private.h"

#include <errno.h>
#include <stdarg.h>

struct job_file {
    const char *path;
    unsigned line;
    char name[JOB_NAME_SIZE];
    char filter[JOB_NAME_SIZE];
    char log[PATH_MAX];
    char *flags;
    char **processes, **analyses; /* lines of commands */
    size_t process_count, process_capacity, analysis_count, analysis_capacity;
};

static int add(char ***list, size_t *count, size_t *capacity, char *line, struct problem *problem)
{
    if (line == NULL || array_reserve(list, capacity, *count + 1, sizeof(char *)) < 0) {
        free(line);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    (*list)[(*count)++] = line;
    return 0;
}

static char *command_line(const char *command, const char *job, const char *rest)
{
    char *line = NULL;

    return asprintf(&line, "%s %s %s", command, job, rest) < 0 ? NULL : line;
}

static int wrong(const struct job_file *file, const char *what, struct problem *problem)
{
    return problem_set(problem, -EINVAL, "%s:%u: %s", file->path, file->line, what);
}

/* "process web1 ./server": `key`, and the rest of the line, without blanks before it. */
static int take(struct job_file *file, const char *key, const char *rest, struct problem *problem)
{
    char *line = NULL;

    if (*rest == '\0')
        return wrong(file, "a value is missing", problem);
    if (strcmp(key, "job") == 0)
        snprintf(file->name, sizeof(file->name), "%s", rest);
    else if (strcmp(key, "filter") == 0)
        snprintf(file->filter, sizeof(file->filter), "%s", rest);
    else if (strcmp(key, "log") == 0)
        snprintf(file->log, sizeof(file->log), "%s", rest);
    else if (file->name[0] == '\0')
        return wrong(file, "the job's name comes first: job NAME", problem);
    else if (strcmp(key, "flags") == 0)
        free(file->flags), file->flags = strdup(rest);
    else if (strcmp(key, "process") == 0)
        return add(&file->processes, &file->process_count, &file->process_capacity,
                   command_line("addprocess", file->name, rest), problem);
    else if (strcmp(key, "acquire") == 0)
        return add(&file->processes, &file->process_count, &file->process_capacity,
                   command_line("acquire", file->name, rest), problem);
    else if (strcmp(key, "analysis") == 0) {
        size_t length = strcspn(rest, " \t");
        if (asprintf(&line, "%.*s %s%s", (int)length, rest, file->name, rest + length) < 0)
            line = NULL;
        return add(&file->analyses, &file->analysis_count, &file->analysis_capacity, line, problem);
    } else
        return wrong(file, "begins with none of: job filter flags process acquire log analysis",
                     problem);
    return 0;
}

/* Each line is checked before anything happens. */
static int check_lines(const struct job_file *file, char *const *lines, size_t count,
                       struct problem *problem)
{
    struct job_command command;
    struct problem why;

    for (size_t i = 0; i < count; i++) {
        if (job_parse(lines[i], &command, &why) < 0)
            return problem_set(problem, -EINVAL, "%s: %s", file->path, why.text);
        job_command_done(&command);
    }
    return 0;
}

static int read_all(struct job_file *file, FILE *from, struct problem *problem)
{
    char *text = NULL;
    size_t size = 0;
    int result = 0;

    while (result == 0 && getline(&text, &size, from) >= 0) {
        file->line++;
        text[strcspn(text, "\r\n")] = '\0';
        char *key = text + strspn(text, " \t");
        if (*key == '\0' || *key == '#')
            continue;
        char *rest = key + strcspn(key, " \t");
        if (*rest != '\0')
            *rest++ = '\0';
        result = take(file, key, rest + strspn(rest, " \t"), problem);
    }
    free(text);
    if (result == 0 && (file->name[0] == '\0' || file->process_count == 0))
        result = problem_set(problem, -EINVAL, "%s: a job has a name and a process, at least",
                             file->path);
    if (result == 0)
        result = check_lines(file, file->processes, file->process_count, problem);
    return result < 0 ? result : check_lines(file, file->analyses, file->analysis_count, problem);
}

static int line(struct jobs *jobs, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int line(struct jobs *jobs, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    int result = length < 0 ? -1 : jobs_line(jobs, text, NULL);
    free(length < 0 ? NULL : text);
    return result;
}

/* Processes of a file read nothing: they see the end of their input. */
static void end_inputs(struct jobs *jobs, const char *name)
{
    struct job *job = jobs_find(jobs, name);
    struct problem problem;

    for (size_t i = 0; job != NULL && i < job->count; i++)
        if (job->processes[i]->state == JOB_NEW)
            jobs_ask(
                jobs, job->processes[i]->machine, "process.input",
                json_pack("{s:i, s:s, s:b}", "pid", job->processes[i]->pid, "data", "", "end", 1),
                NULL, &problem);
}

static int run(struct jobs *jobs, const struct job_file *file)
{
    int result = 0, failed = 0;

    if (file->filter[0] != '\0' && jobs_find_filter(jobs, file->filter) == NULL)
        result = line(jobs, "filter %s", file->filter);
    if (result == 0)
        result = line(jobs, "newjob %s %s", file->name, file->filter);
    if (result == 0)
        result =
            line(jobs, "setflags %s %s", file->name, file->flags == NULL ? "all" : file->flags);
    for (size_t i = 0; result == 0 && i < file->process_count; i++)
        result = line(jobs, "%s", file->processes[i]);
    if (result < 0) { /* no process has started: remove what was created */
        if (jobs_find(jobs, file->name) != NULL && line(jobs, "stopjob %s", file->name) == 0)
            line(jobs, "removejob %s", file->name);
        return result;
    }
    end_inputs(jobs, file->name);
    result = line(jobs, "startjob %s", file->name);
    if (result == 0)
        failed = line(jobs, "wait %s", file->name);
    for (size_t i = 0; i < file->analysis_count; i++)
        result = line(jobs, "%s", file->analyses[i]) < 0 ? -1 : result;
    if (!jobs->interrupted)
        result = line(jobs, "removejob %s", file->name) < 0 ? -1 : result;
    if (file->log[0] != '\0')
        result = line(jobs, "getlog %s %s", file->filter[0] == '\0' ? "default" : file->filter,
                      file->log) < 0
                     ? -1
                     : result;
    return failed < 0 ? failed : result;
}

static void free_lines(char **lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

int jobs_file(struct jobs *jobs, const char *path)
{
    struct job_file file = {.path = path};
    struct problem problem;
    FILE *from = fopen(path, "re");

    if (from == NULL)
        return jobs_error(jobs, "%s: %s", path, strerror(errno));
    int result = read_all(&file, from, &problem);
    fclose(from);
    result = result < 0 ? jobs_error(jobs, "%s", problem.text) : run(jobs, &file);
    free_lines(file.processes, file.process_count);
    free_lines(file.analyses, file.analysis_count);
    free(file.flags);
    return result;
}
