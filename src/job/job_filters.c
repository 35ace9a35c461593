/* SPDX-License-Identifier: MIT */
/*
 * job_filters.c: filters: processes of their own, which outlive the controller.
 *
 *      filter big --> dpm filter --from SESSION --output ./dpm-SESSION-big.traces --recordings f2-
 */
#include "job/job_private.h"

#include "base/process.h"
#include "filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS  30000
#define SETTLE_MS 60000

/* ---- the process ---- */

/* When the process started, in clock ticks since boot; 0: it does not exist, or is a zombie. */
static uint64_t start_of(pid_t pid)
{
    char path[64], text[1024];

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    const char *state = process_stat_field(text, 3), *start = process_stat_field(text, 22);
    return state == NULL || *state == 'Z' || start == NULL ? 0 : strtoull(start, NULL, 10);
}

bool filters_alive(const struct job_filter *filter)
{
    waitpid(filter->pid, NULL, WNOHANG); /* one of ours is reaped */
    return filter->pid > 0 && filter->start != 0 && start_of(filter->pid) == filter->start;
}

static void log_path(const struct jobs *jobs, const struct job_filter *filter, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.4000s/filter-%u.log", remote_folder(jobs->remote), filter->number);
}

static int spawn(struct jobs *jobs, struct job_filter *filter, struct problem *problem)
{
    char log[PATH_MAX];
    bool own = strcmp(filter->program, "filter") == 0;
    char *words[16];
    size_t count = 0;
    posix_spawn_file_actions_t actions;

    words[count++] = own ? jobs->self : filter->program;
    if (own)
        words[count++] = (char *)"filter";
    char *const rest[] = {(char *)"--from", jobs->session,          (char *)"--output",
                          filter->folder,   (char *)"--recordings", filter->prefix,
                          filter->files[0], filter->files[1],       NULL};
    memcpy(words + count, rest, sizeof(rest));
    log_path(jobs, filter, log);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int error = job_spawn(words, POSIX_SPAWN_SETSID, &actions, &filter->pid);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return problem_set(problem, -error, "filter %s: cannot start '%s': %s", filter->name,
                           filter->program, strerror(error));
    filter->start = start_of(filter->pid);
    jobs->meta_changed = true;
    return 0;
}

/* The last line of its log; "" without one. */
static bool log_says(const struct jobs *jobs, const struct job_filter *filter, char line[400])
{
    char path[PATH_MAX], text[400];
    bool began = false;

    line[0] = '\0';
    log_path(jobs, filter, path);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        snprintf(line, 400, "%s", text);
        began = began || strstr(text, "filtering session") != NULL;
    }
    if (file != NULL)
        fclose(file);
    return began;
}

int filters_start(struct jobs *jobs, struct job_filter *filter, struct problem *problem)
{
    bool own = strcmp(filter->program, "filter") == 0;
    char line[400];

    if (filters_alive(filter))
        return 0;
    int result = spawn(jobs, filter, problem);
    for (int waited = 0; result == 0 && !log_says(jobs, filter, line) && own; waited += 20) {
        if (!filters_alive(filter) || waited >= START_MS)
            return problem_set(problem, -ECHILD, "filter %s does not run: %s", filter->name,
                               line[0] == '\0' ? "it said nothing" : line);
        jobs_poll(jobs, 20);
    }
    return result;
}

/* ---- creating ---- */

/* ./dpm-SESSION-NAME.traces, or with a number behind: what an earlier session has stored stays. */
static int choose_folder(const struct jobs *jobs, struct job_filter *filter,
                         struct problem *problem)
{
    char here[PATH_MAX], name[2 * JOB_NAME_SIZE];

    if (getcwd(here, sizeof(here)) == NULL)
        return problem_set(problem, -errno, "there is no current folder: %s", strerror(errno));
    fabric_name_make(filter->name, name);
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

/* words: machine, program, descriptions, templates. */
static int read_words(struct job_filter *filter, char **words, size_t count,
                      struct problem *problem)
{
    const char *machine = count > 0 ? words[0] : "localhost";
    char path[PATH_MAX];

    if (!remote_is_here(machine))
        return problem_set(problem, -ENOTSUP,
                           "filter %s: filters run on this machine, not on %s: the machines' "
                           "records come here",
                           filter->name, machine);
    gethostname(filter->machine, sizeof(filter->machine) - 1);
    bool own = count < 2 || strcmp(words[1], "filter") == 0;
    if (own && count > 2)
        return problem_set(problem, -ENOTSUP,
                           "filter %s: the program `filter` stores everything: it takes no "
                           "descriptions and templates",
                           filter->name);
    if (!own && (realpath(words[1], path) == NULL || access(path, X_OK) < 0))
        return problem_set(problem, -errno, "filter %s: %s is no program that can be executed: %s",
                           filter->name, words[1], strerror(errno));
    for (size_t i = 2; i < count; i++)
        if (access(words[i], R_OK) < 0)
            return problem_set(problem, -errno, "filter %s: cannot read %s: %s", filter->name,
                               words[i], strerror(errno));
    filter->program = strdup(own ? "filter" : path);
    for (size_t i = 2; i < count && i < 4; i++)
        filter->files[i - 2] = realpath(words[i], NULL);
    return filter->program == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

int filters_create(struct jobs *jobs, const char *name, char **words, size_t count,
                   struct job_filter **ret_filter, struct problem *problem)
{
    struct job_filter *filter = NULL;

    if (jobs_find_filter(jobs, name) != NULL)
        return problem_set(problem, -EEXIST, "there is a filter %s already", name);
    if (array_reserve(&jobs->filters, &jobs->filter_capacity, jobs->filter_count + 1,
                      sizeof(struct job_filter *)) < 0 ||
        (filter = calloc(1, sizeof(*filter))) == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    filter->number = ++jobs->next_filter;
    snprintf(filter->name, sizeof(filter->name), "%s", name);
    snprintf(filter->prefix, sizeof(filter->prefix), "f%u-", filter->number);
    int result = read_words(filter, words, count, problem);
    if (result == 0)
        result = choose_folder(jobs, filter, problem);
    if (result == 0 && (result = filters_start(jobs, filter, problem)) < 0)
        rmdir(filter->folder);
    if (result < 0) {
        free(filter->program);
        free(filter->files[0]);
        free(filter->files[1]);
        free(filter);
        return result;
    }
    jobs->filters[jobs->filter_count++] = filter;
    jobs->meta_changed = true;
    *ret_filter = filter;
    return 0;
}

/* ---- what it has stored ---- */

int filters_settle(struct jobs *jobs, const struct job_filter *filter, struct problem *problem)
{
    char durable[FILTER_NAME_SIZE];
    int64_t left = 1;

    if (strcmp(filter->program, "filter") != 0)
        return 0; /* a user's own program has no durable consumer of this name */
    filter_name(filter->folder, durable);
    for (int waited = 0; left > 0; waited += 20) {
        left = fabric_left(remote_fabric(jobs->remote), durable, problem);
        if (left > 0 && (waited >= SETTLE_MS || jobs->interrupted))
            return problem_set(problem, -ETIMEDOUT, "filter %s has not stored everything yet",
                               filter->name);
        if (left > 0)
            jobs_poll(jobs, 20);
    }
    return (int)left;
}

void filters_end_all(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->filter_count; i++)
        if (filters_alive(jobs->filters[i]))
            kill(jobs->filters[i]->pid, SIGTERM);
    for (size_t i = 0; i < jobs->filter_count; i++) {
        for (int waited = 0; filters_alive(jobs->filters[i]) && waited < 5000; waited += 10)
            usleep(10000);
        rmdir(jobs->filters[i]->folder); /* only if nothing was stored */
    }
}
