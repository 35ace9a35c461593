/* SPDX-License-Identifier: MIT */
/*
 * job_file.c: a job described in one file, for `dpm job run FILE`:
 *
 *      job tsp                          its name, first
 *      filter big store1                a filter for it, as the command has it; without this line: the default one
 *      rules large.rules                what the filter stores; without this line: everything
 *      flags all -pc                    without this line: all
 *      process web1 ./server 7000       as addprocess without the job; in this order
 *      process workers ./worker web1    on each machine of a group
 *      acquire db1 812
 *      log results                      copied there at the end
 *      analysis why                     when all have ended; --html FILE and the like may follow
 *
 * It becomes commands: filter, newjob, setflags, addprocess ..., startjob, wait, analyses, removejob, getlog.
 */
#include "job/job_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>

/* The lines of the file, and the commands that they become, in the order in which they are executed. */
enum file_key {
    FILE_JOB,
    FILE_FILTER,
    FILE_RULES,
    FILE_FLAGS,
    FILE_PROCESS,
    FILE_ACQUIRE,
    FILE_ANALYSIS,
    FILE_LOG,
    FILE_KEYS
};

static const struct {
    const char *word;
    bool repeats;
    const char *usage;
} keys[FILE_KEYS] = {
    [FILE_JOB] = {"job", false, "NAME"},
    [FILE_FILTER] = {"filter", false, "NAME [MACHINE [FILTERFILE [DESCRIPTIONS [TEMPLATES]]]]"},
    [FILE_RULES] = {"rules", false, "FILE"},
    [FILE_FLAGS] = {"flags", false, "FLAG..."},
    [FILE_PROCESS] = {"process", true, "MACHINE FILE [PARAMETER]..."},
    [FILE_ACQUIRE] = {"acquire", true, "MACHINE PID"},
    [FILE_ANALYSIS] = {"analysis", true, "why|stats|parallelism|causality|report [OPTION]..."},
    [FILE_LOG] = {"log", false, "FOLDER"},
};

struct file_line {
    enum file_key key;
    unsigned number;
    char *rest;    /* after the key */
    char *command; /* that it becomes */
};

struct job_file {
    const char *path;
    struct file_line *lines;
    size_t count, capacity;
    char *name;   /* of the job */
    char *filter; /* of the filter */
};

static int wrong(const struct job_file *file, unsigned number, struct problem *problem,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static int wrong(const struct job_file *file, unsigned number, struct problem *problem,
                 const char *format, ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return problem_set(problem, -EINVAL, "%s:%u: %s", file->path, number, text);
}

/* ---- lines ---- */

/* The only line of this kind; NULL: there is none. */
static const struct file_line *find_line(const struct job_file *file, enum file_key key)
{
    for (size_t i = 0; i < file->count; i++)
        if (file->lines[i].key == key)
            return &file->lines[i];
    return NULL;
}

static int take_line(struct job_file *file, unsigned number, const char *word, const char *rest,
                     struct problem *problem)
{
    enum file_key key = FILE_JOB;

    while (key < FILE_KEYS && strcmp(keys[key].word, word) != 0)
        key++;
    if (key == FILE_KEYS)
        return wrong(file, number, problem,
                     "'%.40s' is none of: job filter rules flags process acquire analysis log",
                     word);
    if (*rest == '\0')
        return wrong(file, number, problem, "%s: a value is missing", word);
    if (key != FILE_JOB && file->count == 0)
        return wrong(file, number, problem, "the job's name comes first: job NAME");
    const struct file_line *before = keys[key].repeats ? NULL : find_line(file, key);
    if (before != NULL)
        return wrong(file, number, problem, "%s stands in line %u already", word, before->number);
    if (array_reserve(&file->lines, &file->capacity, file->count + 1, sizeof(*file->lines)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    file->lines[file->count++] =
        (struct file_line){.key = key, .number = number, .rest = strdup(rest)};
    return 0;
}

static int read_lines(struct job_file *file, FILE *from, struct problem *problem)
{
    char *text = NULL;
    size_t size = 0;
    unsigned number = 0;
    int result = 0;
    ssize_t length;

    while (result == 0 && (length = getline(&text, &size, from)) >= 0) {
        number++;
        if ((size_t)length != strlen(text)) {
            result = wrong(file, number, problem, "a byte is 0: this is no text");
            break;
        }
        length = (ssize_t)job_line_length(text);
        text[length] = '\0';
        while (length > 0 && isspace((unsigned char)text[length - 1]))
            text[--length] = '\0';
        char *key = text + strspn(text, " \t");
        if (*key == '\0')
            continue;
        char *rest = key + strcspn(key, " \t");
        if (*rest != '\0')
            *rest++ = '\0';
        result = take_line(file, number, key, rest + strspn(rest, " \t"), problem);
    }
    free(text);
    return result;
}

/* ---- commands ---- */

static char *command_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *command_text(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length < 0 ? NULL : text;
}

/* filter NAME MACHINE filter DESCRIPTIONS RULES: the rules are the last of its arguments. */
static char *filter_command(const struct job_file *file, const char *words)
{
    const struct file_line *rules = find_line(file, FILE_RULES);
    char **split = NULL;
    int count = remote_words(words, &split);
    char *text = count < 1 || rules == NULL
                     ? command_text("filter %s", words)
                     : command_text("filter %s%s%s%s %s", words, count < 2 ? " localhost" : "",
                                    count < 3 ? " filter" : "", count < 4 ? " -" : "", rules->rest);

    free(split);
    return text;
}

static char *command_of(const struct job_file *file, const struct file_line *line)
{
    const char *rest = line->rest;
    int length = (int)strcspn(rest, " \t");

    switch (line->key) {
    case FILE_JOB:
        return command_text("newjob %s %s", rest, file->filter);
    case FILE_FILTER:
        return filter_command(file, rest);
    case FILE_RULES: /* without a line `filter`: one that is called as the job */
        return find_line(file, FILE_FILTER) != NULL ? strdup("")
                                                    : filter_command(file, file->filter);
    case FILE_FLAGS:
        return command_text("setflags %s %s", file->name, rest);
    case FILE_PROCESS:
        return command_text("addprocess %s %s", file->name, rest);
    case FILE_ACQUIRE:
        return command_text("acquire %s %s", file->name, rest);
    case FILE_ANALYSIS:
        return command_text("%.*s %s%s", length, rest, file->name, rest + length);
    case FILE_LOG:
        return command_text("getlog %s %s", file->filter, rest);
    default:
        return NULL;
    }
}

/* What is wrong with the command, in the words of the file's line. */
static int wrong_command(const struct job_file *file, const struct file_line *line, const char *why,
                         struct problem *problem)
{
    static const char usage[] = "; usage: ";
    const char *word = keys[line->key].word, *of_command = strstr(why, usage);
    size_t name = strcspn(line->command, " ");

    if (of_command != NULL)
        return wrong(file, line->number, problem, "%s: %.*s%s%s %s", word, (int)(of_command - why),
                     why, usage, word, keys[line->key].usage);
    if (strncmp(why, line->command, name) == 0 && why[name] == ':')
        why += name + 2;
    return wrong(file, line->number, problem, "%s: %s", word, why);
}

static int check_command(const struct job_file *file, const struct file_line *line,
                         struct problem *problem)
{
    struct job_command command;
    struct problem why;

    if (job_parse(line->command, &command, &why) < 0)
        return wrong_command(file, line, why.text, problem);
    bool fits = line->key != FILE_ANALYSIS || command.kind == JOB_ANALYSE;
    job_command_done(&command);
    return fits ? 0 : wrong(file, line->number, problem, "'%.40s' is no analysis", line->rest);
}

static char *first_word(const char *text)
{
    return strndup(text, strcspn(text, " \t"));
}

/* Each line is checked before anything happens. */
static int make_commands(struct job_file *file, struct problem *problem)
{
    const struct file_line *filter = find_line(file, FILE_FILTER);
    int result = 0;

    if (find_line(file, FILE_PROCESS) == NULL && find_line(file, FILE_ACQUIRE) == NULL)
        return problem_set(problem, -EINVAL, "%s: a job has a name and a process, at least",
                           file->path);
    file->name = strdup(file->lines[0].rest);
    file->filter = filter != NULL                        ? first_word(filter->rest)
                   : find_line(file, FILE_RULES) != NULL ? strdup(file->lines[0].rest)
                                                         : strdup("default");
    if (file->name == NULL || file->filter == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; result == 0 && i < file->count; i++) {
        struct file_line *line = &file->lines[i];
        line->command = line->rest == NULL ? NULL : command_of(file, line);
        result = line->command == NULL ? problem_set(problem, -ENOMEM, "out of memory")
                                       : check_command(file, line, problem);
    }
    return result;
}

/* ---- running ---- */

static int command(struct jobs *jobs, const char *format, const char *name)
    __attribute__((format(printf, 2, 0)));

static int command(struct jobs *jobs, const char *format, const char *name)
{
    char *text = NULL;
    int length = asprintf(&text, format, name);
    int result = length < 0 ? -1 : jobs_line(jobs, text, NULL);

    free(length < 0 ? NULL : text);
    return result;
}

/* Processes of a file read nothing: they see the end of their input. */
static void end_inputs(struct jobs *jobs, const char *name)
{
    struct job *job = jobs_find(jobs, name);

    for (size_t i = 0; job != NULL && i < job->count; i++)
        if (job->processes[i]->state == PROCESS_NEW)
            jobs_give(jobs, job->processes[i], "", 0, true);
}

/* The lines of this kind, in their order; stops at an error. */
static int execute(struct jobs *jobs, const struct job_file *file, enum file_key key)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < file->count; i++)
        if (file->lines[i].key == key && jobs_line(jobs, file->lines[i].command, NULL) < 0)
            result = jobs_error(jobs, "%s:%u: failed", file->path, file->lines[i].number);
    return result;
}

/* A filter that was created earlier keeps the rules that it began with: whether they are those of the file. */
static int check_filter(struct jobs *jobs, const struct job_file *file)
{
    const struct kept_filter *filter = jobs_find_filter(jobs, file->filter);
    const struct file_line *line = find_line(file, FILE_RULES);
    char **words = NULL, path[PATH_MAX] = "";

    if (filter == NULL || line == NULL)
        return 0;
    const char *has = filter->files[1];
    bool same = remote_words(line->rest, &words) == 1 && realpath(words[0], path) != NULL &&
                has != NULL && strcmp(has, path) == 0;
    free(words);
    if (!same)
        return jobs_error(jobs,
                          "%s:%u: filter %s exists already, and selects by %s: choose another name",
                          file->path, line->number, filter->name, has == NULL ? "no rules" : has);
    jobs_print(jobs, "note: filter %s exists already: it selects by the rules that it began with",
               filter->name);
    return 0;
}

static int prepare(struct jobs *jobs, const struct job_file *file)
{
    static const enum file_key order[] = {FILE_FILTER, FILE_RULES, FILE_JOB, FILE_FLAGS};
    bool has_filter = jobs_find_filter(jobs, file->filter) != NULL;
    int result = check_filter(jobs, file);

    for (size_t i = 0; result == 0 && i < ARRAY_SIZE(order); i++)
        if (!has_filter || (order[i] != FILE_FILTER && order[i] != FILE_RULES))
            result = execute(jobs, file, order[i]);
    if (result == 0 && find_line(file, FILE_FLAGS) == NULL)
        result = command(jobs, "setflags %s all", file->name);
    for (size_t i = 0; result == 0 && i < file->count; i++) {
        const struct file_line *line = &file->lines[i];
        if ((line->key == FILE_PROCESS || line->key == FILE_ACQUIRE) &&
            jobs_line(jobs, line->command, NULL) < 0)
            result = jobs_error(jobs, "%s:%u: failed", file->path, line->number);
    }
    return result;
}

/* The options of the analyses: the programs themselves know them. */
static int check_analyses(struct jobs *jobs, const struct job_file *file)
{
    struct job_command command;
    struct problem ignored;
    int result = 0;

    for (size_t i = 0; result == 0 && i < file->count; i++) {
        const struct file_line *line = &file->lines[i];
        if (line->key != FILE_ANALYSIS || job_parse(line->command, &command, &ignored) < 0)
            continue;
        if (jobs_check_analysis(jobs, &command) < 0)
            result = jobs_error(jobs, "%s:%u: the options of %s are wrong", file->path,
                                line->number, command.name);
        job_command_done(&command);
    }
    return result;
}

static int run(struct jobs *jobs, const struct job_file *file)
{
    int result = prepare(jobs, file), failed = 0;

    if (result < 0) { /* no process has started: remove what was created */
        if (jobs_find(jobs, file->name) != NULL && command(jobs, "stopjob %s", file->name) == 0)
            command(jobs, "removejob %s", file->name);
        return result;
    }
    end_inputs(jobs, file->name);
    result = command(jobs, "startjob %s", file->name);
    if (result == 0)
        failed = command(jobs, "wait %s", file->name);
    for (size_t i = 0; i < file->count; i++)
        if (file->lines[i].key == FILE_ANALYSIS)
            result = jobs_line(jobs, file->lines[i].command, NULL) < 0 ? -1 : result;
    if (!conduct_is_interrupted(jobs->conduct))
        result = command(jobs, "removejob %s", file->name) < 0 ? -1 : result;
    result = execute(jobs, file, FILE_LOG) < 0 ? -1 : result;
    return failed < 0 ? failed : result;
}

static void free_file(struct job_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        free(file->lines[i].rest);
        free(file->lines[i].command);
    }
    free(file->lines);
    free(file->name);
    free(file->filter);
}

static int read_file(struct job_file *file, FILE *from, struct problem *problem)
{
    int result = read_lines(file, from, problem);

    return result == 0 ? make_commands(file, problem) : result;
}

int job_file_check(const char *path, FILE *from, struct problem *problem)
{
    struct job_file file = {.path = path};
    int result = read_file(&file, from, problem);

    free_file(&file);
    return result;
}

int jobs_file(struct jobs *jobs, const char *path)
{
    struct job_file file = {.path = path};
    struct problem problem;
    FILE *from = fopen(path, "re");

    if (from == NULL)
        return jobs_error(jobs, "%s: %s", path, strerror(errno));
    int result = read_file(&file, from, &problem);
    fclose(from);
    result = result < 0 ? jobs_error(jobs, "%s", problem.text) : check_analyses(jobs, &file);
    if (result == 0)
        result = run(jobs, &file);
    free_file(&file);
    return result;
}
