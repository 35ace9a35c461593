/* SPDX-License-Identifier: MIT */
/*
 * job_filters.c: filters: processes of their own, which outlive the controller.
 *
 *      filter big          dpm filter --from SESSION --output ./dpm-SESSION-big.traces --recordings f2-
 *      filter big store1   the same, with --host store1: this process carries the connection of the one there
 *      filter big localhost ./mine   the same, with --program ./mine, which gets the packets on its standard input
 */
#include "job/job_private.h"

#include "filter/filter.h"
#include "rules/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMPLATES "templates" /* the standard name of selection rules (appendix A) */
#define SETTLE_MS 60000
#define REACH_MS  10000 /* for a filter to select what it has stored */

/* ---- the process ---- */

bool filters_alive(const struct kept_filter *filter)
{
    return filter_process_alive(&filter->process);
}

bool filters_are_here(const struct kept_filter *filter)
{
    return remote_is_here(filter->machine);
}

/* Whether the program is dpm's own. */
static bool is_own(const struct kept_filter *filter)
{
    return strcmp(filter->program, "filter") == 0;
}

/* Copies a file of this machine to the filter's, which may execute it if it may be executed here. */
static int send_file(struct jobs *jobs, const struct kept_filter *filter, const char *from,
                     const char *to, struct problem *problem)
{
    const char *mode = access(from, X_OK) == 0 ? "700" : "600";
    const char *const words[] = {"install", "-m", mode, "/dev/stdin", to, NULL};
    const char *rsh = jobs->options.rsh == NULL ? REMOTE_RSH : jobs->options.rsh;
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t pid = 0;
    int result = in < 0 ? problem_set(problem, -errno, "filter %s: cannot read %s: %s",
                                      filter->name, from, strerror(errno))
                        : remote_command(rsh, filter->machine, words, in, out, &pid, problem);

    if (result == 0 && jobs_reap(jobs, pid) != 0)
        result = problem_set(problem, -EIO, "filter %s: %s is not copied to %s", filter->name, from,
                             filter->machine);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return result;
}

/* The files that a filter has, as its machine has them: copies of those here. */
struct filter_files {
    const char *program, *files[2];
    char copies[3][PATH_MAX + 24];
};

/* Takes a file, or its copy there: FOLDER.rules. */
static int place_file(struct jobs *jobs, const struct kept_filter *filter, const char *from,
                      const char *suffix, char *copy, const char **ret_path,
                      struct problem *problem)
{
    *ret_path = from;
    if (from == NULL || filters_are_here(filter))
        return 0;
    snprintf(copy, PATH_MAX + 24, "./%s.%s", filter->folder, suffix);
    *ret_path = copy;
    return send_file(jobs, filter, from, copy, problem);
}

/* A program that is no file here is one of the filter's machine. */
static int place_files(struct jobs *jobs, const struct kept_filter *filter,
                       struct filter_files *files, struct problem *problem)
{
    bool own = is_own(filter);
    int result = place_file(jobs, filter, own ? NULL : filter->files[0], "descriptions",
                            files->copies[0], &files->files[0], problem);

    if (result == 0)
        result = place_file(jobs, filter, filter->files[1], own ? "rules" : "templates",
                            files->copies[1], &files->files[1], problem);
    files->program = filter->program;
    if (result == 0 && !own && access(filter->program, X_OK) == 0)
        result = place_file(jobs, filter, filter->program, "program", files->copies[2],
                            &files->program, problem);
    return result;
}

/* A program of one's own gets the two files as arguments; dpm's own the rules as an option. */
static void make_words(const struct jobs *jobs, const struct kept_filter *filter,
                       const struct filter_files *files, struct filter_words *words)
{
    bool own = is_own(filter), limited = filter->limits.newest || filter->limits.max_bytes != 0;

    filter_words_begin(words, jobs->self, conduct_remote(jobs->conduct), filter->folder);
    filter_words_add(words, "--recordings", filter->prefix[0] == '\0' ? NULL : filter->prefix);
    filter_words_add(words, "--rules", own ? files->files[1] : NULL);
    filter_words_add(words, "--program", own ? NULL : files->program);
    filter_words_add(words, "--program", own ? NULL : files->files[0]);
    filter_words_add(words, "--program", own ? NULL : files->files[1]);
    if (limited)
        filter_words_limits(words, &filter->limits);
    if (filters_are_here(filter))
        return;
    filter_words_add(words, "--host", filter->machine);
    filter_words_add(words, "--rsh", jobs->options.rsh);
    filter_words_add(words, "--remote-dpm", jobs->options.dpm);
}

int filters_start(struct jobs *jobs, struct kept_filter *filter, struct problem *problem)
{
    struct filter_files files = {0};
    struct filter_words words;

    if (filter->watched) /* its controller has gone, or goes */
        filter_process_end(&filter->process);
    if (filters_alive(filter))
        return 0;
    filters_look(jobs); /* a program of the user's own that has ended is not started again */
    if (filter->ended)
        return problem_set(problem, -ECHILD,
                           "filter %s has ended: `filter NAME ...` creates another one",
                           filter->name);
    int result = place_files(jobs, filter, &files, problem);
    if (result < 0)
        return result;
    make_words(jobs, filter, &files, &words);
    result =
        filter_process_start(jobs->conduct, &filter->process, &words, -1, filter->name, problem);
    filter->watched = false;
    jobs->meta_changed = true;
    return result;
}

/* ---- programs of the user's own ---- */

/* Whether a job has the filter, or had. */
static bool was_used(const struct jobs *jobs, const struct kept_filter *filter)
{
    const char *recording;
    json_t *ignored;

    json_object_foreach(jobs->used, recording, ignored)
    {
        if (filter_recording_name(filter->prefix, recording) != NULL)
            return true;
    }
    return false;
}

/* Whether a job that has the filter is still recorded. */
static bool is_used(const struct jobs *jobs, const struct kept_filter *filter)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->list[i]->filter == filter && jobs->list[i]->recording_count > 0)
            return true;
    return false;
}

static void report_end(struct jobs *jobs, struct kept_filter *filter, int status, const char *how)
{
    filter->ended = jobs->meta_changed = true;
    filter->lacks = status == 0 ? is_used(jobs, filter) : was_used(jobs, filter);
    jobs_error(jobs, "filter %s %s; %s", filter->name, how,
               filter->lacks ? "what it has not stored of its jobs is lost"
                             : "no job can be stored by it any more");
}

void filters_look(struct jobs *jobs)
{
    char how[FILTER_LINE_SIZE + 64];

    for (size_t i = 0; i < jobs->filter_count; i++) {
        struct kept_filter *filter = jobs->filters[i];
        if (filter->process.pid <= 0 || filter->ended || filters_alive(filter))
            continue;
        int status = filter_process_how(jobs->conduct, &filter->process, how);
        if (!is_own(filter))
            report_end(jobs, filter, status, how);
    }
}

/* ---- creating ---- */

/* On another machine, below the user's home: dpm-SESSION-NAME-20261127-141500.traces. */
static void choose_folder_there(const struct jobs *jobs, struct kept_filter *filter,
                                const char *name)
{
    time_t now = time(NULL);
    struct tm local;
    char text[32];

    localtime_r(&now, &local);
    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
    snprintf(filter->folder, sizeof(filter->folder), "dpm-%s-%s-%s.traces", jobs->session, name,
             text);
}

/* ./dpm-SESSION-NAME.traces, or with a number behind: what an earlier session has stored stays. */
static int choose_folder(const struct jobs *jobs, struct kept_filter *filter,
                         struct problem *problem)
{
    char here[PATH_MAX], name[2 * JOB_NAME_SIZE];

    fabric_name_make(filter->name, name);
    if (!filters_are_here(filter)) {
        choose_folder_there(jobs, filter, name);
        return 0;
    }
    if (getcwd(here, sizeof(here)) == NULL)
        return problem_set(problem, -errno, "there is no current folder: %s", strerror(errno));
    for (unsigned nth = 1; nth < 10000; nth++) {
        char number[16] = "";
        if (nth > 1)
            snprintf(number, sizeof(number), ".%u", nth);
        int length = snprintf(filter->folder, sizeof(filter->folder), "%s/dpm-%s-%s%s.traces", here,
                              jobs->session, name, number);
        if (length >= (int)sizeof(filter->folder))
            return problem_set(problem, -ENAMETOOLONG, "the name of the folder is too long");
        if (mkdir(filter->folder, 0700) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return problem_set(problem, -errno, "cannot create %s for the traces: %s", filter->folder,
                       strerror(errno));
}

/* Descriptions (0) or templates (1): a file that the user named, or else, for dpm's own filter, `templates` if there is
 * such a file. NULL: none. The records of DPM describe themselves: its own filter needs no descriptions. */
static int take_file(struct kept_filter *filter, int which, const char *named,
                     struct problem *problem)
{
    const char *path = named == NULL && is_own(filter) && which == 1 ? TEMPLATES : named;
    struct stat status;

    if (named != NULL && is_own(filter) && strcmp(named, "-") == 0)
        return 0; /* none, whatever there is */
    if (named == NULL && (path == NULL || stat(path, &status) < 0 || !S_ISREG(status.st_mode)))
        return 0;
    if (access(path, R_OK) < 0 || (filter->files[which] = realpath(path, NULL)) == NULL)
        return problem_set(problem, -errno, "filter %s: cannot read %s: %s", filter->name, path,
                           strerror(errno));
    return 0;
}

/* The filter's process reads the rules itself. What is wrong with them is to be known before there is one. */
static int check_rules(const struct kept_filter *filter, const char *named, struct problem *problem)
{
    struct rules *rules = NULL;
    struct problem why;
    int result = rules_read(named == NULL ? TEMPLATES : named, &rules, &why);

    rules_free(rules);
    return result == 0 ? 0
                       : problem_set(problem, result, "filter %s: %s%s", filter->name, why.text,
                                     named != NULL ? ""
                                                   : " (in this folder, the file " TEMPLATES
                                                     " is taken for selection rules)");
}

static int take_program(struct kept_filter *filter, const char *program, struct problem *problem)
{
    char path[PATH_MAX];
    bool own = strcmp(program, "filter") == 0;

    /* one that is not a file here may be one there */
    bool there =
        !own && !filters_are_here(filter) && program[0] == '/' && access(program, F_OK) < 0;
    if (there)
        snprintf(path, sizeof(path), "%s", program);
    else if (!own && (realpath(program, path) == NULL || access(path, X_OK) < 0))
        return problem_set(problem, -errno, "filter %s: %s is no program that can be executed: %s",
                           filter->name, program, strerror(errno));
    filter->program = strdup(own ? "filter" : path);
    return filter->program == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

/* words: machine, program, descriptions, templates. */
static int read_words(struct kept_filter *filter, char **words, size_t count,
                      struct problem *problem)
{
    const char *machine = count > 0 ? words[0] : "localhost";
    int result = 0;

    if (remote_is_here(machine))
        gethostname(filter->machine, sizeof(filter->machine) - 1);
    else
        snprintf(filter->machine, sizeof(filter->machine), "%s", machine);
    result = take_program(filter, count > 1 ? words[1] : "filter", problem);
    if (result == 0 && count == 3 && is_own(filter) && strcmp(words[2], "-") != 0)
        result = problem_set(problem, -EINVAL,
                             "filter %s: descriptions stand in the place of %.80s, and the records "
                             "of DPM need none; for rules: filter %s %s filter - %.80s",
                             filter->name, words[2], filter->name, words[0], words[2]);
    for (int i = 0; result == 0 && i < 2; i++)
        result = take_file(filter, i, count > 2 + (size_t)i ? words[2 + i] : NULL, problem);
    if (result == 0 && is_own(filter) && filter->files[1] != NULL)
        result = check_rules(filter, count > 3 ? words[3] : NULL, problem);
    return result;
}

int filters_create(struct jobs *jobs, const char *name, char **words, size_t count,
                   struct kept_filter **ret_filter, struct problem *problem)
{
    struct kept_filter *filter = NULL;

    if (jobs_find_filter(jobs, name) != NULL)
        return problem_set(problem, -EEXIST, "there is a filter %s already", name);
    if (array_reserve(&jobs->filters, &jobs->filter_capacity, jobs->filter_count + 1,
                      sizeof(struct kept_filter *)) < 0 ||
        (filter = calloc(1, sizeof(*filter))) == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    filter->number = filter->process.number = ++jobs->next_filter;
    snprintf(filter->name, sizeof(filter->name), "%s", name);
    snprintf(filter->prefix, sizeof(filter->prefix), "f%u-", filter->number);
    int result = read_words(filter, words, count, problem);
    if (result == 0)
        result = choose_folder(jobs, filter, problem);
    if (result == 0 && (result = filters_start(jobs, filter, problem)) < 0 &&
        filters_are_here(filter))
        rmdir(filter->folder);
    if (result < 0) {
        kept_filter_done(filter);
        free(filter);
        return result;
    }
    jobs->filters[jobs->filter_count++] = filter;
    jobs->meta_changed = true;
    *ret_filter = filter;
    return 0;
}

/* ---- what it has stored ---- */

/* Whether the filter has said in its log that it has reached this mark. */
static bool has_reached(const struct jobs *jobs, const struct kept_filter *filter,
                        json_int_t number)
{
    char path[PATH_MAX], text[400], wanted[100];
    bool found = false;

    snprintf(wanted, sizeof(wanted), REMOTE_FILTER_REACHED "%" JSON_INTEGER_FORMAT "\n", number);
    filter_process_log(jobs->conduct, &filter->process, path);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(text, sizeof(text), file) != NULL)
        found = strstr(text, wanted) != NULL;
    if (file != NULL)
        fclose(file);
    return found;
}

/* A filter with rules may still select from what it has stored. */
static int await_selection(struct jobs *jobs, const struct kept_filter *filter,
                           struct problem *problem)
{
    json_int_t number = (json_int_t)clock_now(CLOCK_REALTIME);
    json_t *params = json_pack("{s:s, s:I}", "recordings", filter->prefix, "number", number);
    int result = remote_tell_filters(conduct_remote(jobs->conduct), "filter.mark", params, problem);

    json_decref(params);
    for (int waited = 0; result == 0 && !has_reached(jobs, filter, number); waited += 20) {
        if (waited >= REACH_MS || conduct_is_interrupted(jobs->conduct) || !filters_alive(filter)) {
            jobs_print(jobs,
                       "note: filter %s has not said that it has selected everything: its "
                       "last records may be missing",
                       filter->name);
            break;
        }
        jobs_poll(jobs, 20);
    }
    return result;
}

int filters_settle(struct jobs *jobs, const struct kept_filter *filter, struct problem *problem)
{
    char durable[FILTER_NAME_SIZE];
    int64_t left = 1;

    if (filter->ended)
        return 0; /* it stores nothing more */
    if (filters_are_here(filter))
        filter_name(filter->folder, durable);
    else
        filter_name_there(filter->machine, filter->folder, durable);
    for (int waited = 0; left > 0; waited += 20) {
        left = fabric_left(conduct_fabric(jobs->conduct), durable, problem);
        if (left > 0 && (waited >= SETTLE_MS || conduct_is_interrupted(jobs->conduct)))
            return problem_set(problem, -ETIMEDOUT, "filter %s has not stored everything yet",
                               filter->name);
        if (left > 0)
            jobs_poll(jobs, 20);
    }
    return left == 0 && is_own(filter) && filter->files[1] != NULL
               ? await_selection(jobs, filter, problem)
               : (int)left;
}

void filters_end_all(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->filter_count; i++)
        if (filters_alive(jobs->filters[i]))
            kill(jobs->filters[i]->process.pid, SIGTERM);
    for (size_t i = 0; i < jobs->filter_count; i++) {
        filter_process_end(&jobs->filters[i]->process);
        if (filters_are_here(jobs->filters[i]))
            rmdir(jobs->filters[i]->folder); /* only if nothing was stored */
    }
}
