/* SPDX-License-Identifier: MIT */
/*
 * job_results.c: what was recorded, and analyses of it.
 *
 *      recording.flush on each machine --> the server has it --> the filter has it --> dpm why FOLDER/web1.sort ...
 */
#include "job/job_private.h"

#include "base/folder.h"
#include "filter/filter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACES_MOST 1024
#define NO_PROGRESS 60000000000ull /* ns */

int jobs_reap(struct jobs *jobs, pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, WNOHANG) == 0)
        jobs_poll(jobs, 20);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int jobs_spawn(struct jobs *jobs, char *const *words)
{
    FILE *out = jobs->sink != NULL ? jobs->sink : jobs->options.out;
    posix_spawn_file_actions_t actions;
    pid_t pid;

    fflush(out);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(out), 1);
    int error = conduct_spawn(words, 0, -1, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        jobs_error(jobs, "cannot start '%s': %s", words[0], strerror(error));
        return 127;
    }
    return jobs_reap(jobs, pid);
}

/* ---- everything until now ---- */

int jobs_await_published(struct jobs *jobs, const struct job *job, struct job_machine *machine,
                         struct problem *problem)
{
    uint64_t progress = clock_now(CLOCK_MONOTONIC);
    json_t *before = NULL; /* what was published */
    int result = 0;
    bool done = false;

    while (!done && result == 0) {
        json_t *state = NULL;
        result = conduct_ask(jobs->conduct, machine->host, "recording.state",
                             request_recording(job->recording), &state, problem);
        if (result < 0)
            break;
        const struct recording_said said = notice_recording(state);
        done = !said.begun || said.caught_up;
        json_t *now = json_object_get(state, "published");
        if (now != NULL && (before == NULL || !json_equal(before, now))) {
            progress = clock_now(CLOCK_MONOTONIC);
            json_decref(before);
            before = json_incref(now);
        }
        json_decref(state);
        if (!done && clock_now(CLOCK_MONOTONIC) - progress > NO_PROGRESS)
            result = problem_set(problem, -ETIMEDOUT,
                                 "%s: its agent has not sent all that it recorded, and nothing "
                                 "more for 60 s",
                                 machine->name);
        else if (!done)
            jobs_poll(jobs, 20);
    }
    json_decref(before);
    return result;
}

int jobs_bring(struct jobs *jobs, const struct job *job, struct problem *problem)
{
    int result = filters_start(jobs, job->filter, problem);

    for (size_t i = 0; result == 0 && i < job->recording_count; i++) {
        struct job_machine *machine = job->recordings[i].machine;
        result = conduct_ask(jobs->conduct, machine->host, "recording.flush",
                             request_recording(job->recording), NULL, problem);
        if (result == 0)
            result = jobs_await_published(jobs, job, machine, problem);
    }
    return result;
}

/* ---- analyses ---- */

/* The copies of a job's recording: FOLDER/MACHINE.sort; FOLDER/MACHINE of run and acquire. Their paths are allocated. */
static size_t list_traces(const struct job *job, const char *folder, char **paths, size_t most)
{
    const char *name = filter_recording_name(job->filter->prefix, job->recording);
    size_t count = 0;

    for (size_t i = 0; name != NULL && i < job->recording_count && count < most; i++) {
        char *path = NULL;
        bool main = strcmp(name, FILTER_MAIN) == 0;
        if (asprintf(&path, "%s/%s%s%s", folder, job->recordings[i].machine->host->machine,
                     main ? "" : ".", main ? "" : name) < 0)
            break;
        if (access(path, R_OK) == 0)
            paths[count++] = path;
        else
            free(path);
    }
    return count;
}

static int analyse(struct jobs *jobs, const struct job_command *command, const struct job *job,
                   const char *folder)
{
    char *paths[TRACES_MOST];
    size_t traces = list_traces(job, folder, paths, TRACES_MOST), count = 0;
    char **words = calloc(traces + command->count + 4, sizeof(char *));
    int status = 0;

    if (words == NULL)
        return jobs_error(jobs, "out of memory");
    words[count++] = jobs->self;
    words[count++] = (char *)command->name;
    for (size_t i = 1; i < command->count; i++)
        words[count++] = command->words[i];
    for (size_t i = 0; i < traces; i++)
        words[count++] = paths[i];
    if (traces == 0)
        jobs_error(jobs, "nothing was recorded of job %s yet", job->name);
    else
        status = jobs_spawn(jobs, words);
    for (size_t i = 0; i < traces; i++)
        free(paths[i]);
    free(words);
    return traces > 0 && status == 0 ? 0 : -1;
}

/* Locks the files of a trace, as its writer does, so that a reader takes it for one that is still recorded, not for one that
 * was cut. Returns the number of descriptors, at most `most`. */
static size_t lock_trace(const char *trace, int *files, size_t most)
{
    DIR *folder = opendir(trace);
    const struct dirent *entry;
    size_t count = 0;

    while (folder != NULL && count < most && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "control", strlen("control")) != 0)
            continue;
        int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
            files[count++] = file;
        else if (file >= 0)
            close(file);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Copies of traces that are still recorded. */
static int analyse_so_far(struct jobs *jobs, const struct job_command *command,
                          const struct job *job, const char *folder)
{
    char *paths[TRACES_MOST];
    int files[TRACES_MOST];
    size_t traces = list_traces(job, folder, paths, TRACES_MOST), count = 0;

    for (size_t i = 0; i < traces; i++) {
        count += lock_trace(paths[i], files + count, TRACES_MOST - count);
        free(paths[i]);
    }
    int result = analyse(jobs, command, job, folder);
    while (count > 0)
        close(files[--count]);
    return result;
}

/* What a filter on another machine has stored is copied here for a moment. */
static int analyse_copy(struct jobs *jobs, const struct job_command *command, const struct job *job)
{
    char folder[PATH_MAX];
    struct problem problem;

    for (size_t i = 1; i < command->count; i++)
        if (strcmp(command->words[i], "--follow") == 0)
            return jobs_error(jobs,
                              "--follow: only what a filter on this machine stores; %s is on %s",
                              job->filter->name, job->filter->machine);
    snprintf(folder, sizeof(folder), "%.4000s/log", remote_folder(conduct_remote(jobs->conduct)));
    folder_remove(folder);
    int result = logs_copy(jobs, job->filter, folder, &problem) < 0
                     ? jobs_error(jobs, "%s", problem.text)
                 : job->recording_count > 0 ? analyse_so_far(jobs, command, job, folder)
                                            : analyse(jobs, command, job, folder);
    folder_remove(folder);
    return result;
}

int jobs_check_analysis(struct jobs *jobs, const struct job_command *command)
{
    char **words = calloc(command->count + 3, sizeof(char *));
    posix_spawn_file_actions_t actions;
    size_t count = 0;
    pid_t pid;

    if (words == NULL)
        return jobs_error(jobs, "out of memory");
    words[count++] = jobs->self;
    words[count++] = (char *)command->name;
    for (size_t i = 1; i < command->count; i++)
        words[count++] = command->words[i];
    words[count++] =
        (char *)"--help"; /* options are read from left to right: nothing else is done */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int error = conduct_spawn(words, 0, -1, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    free(words);
    if (error != 0)
        return jobs_error(jobs, "cannot start '%s': %s", jobs->self, strerror(error));
    return jobs_reap(jobs, pid) == 0 ? 0 : -1;
}

int command_analyse(struct jobs *jobs, const struct job_command *command)
{
    struct job *job = jobs_need(jobs, command->words[0]);
    struct problem problem;

    if (job == NULL)
        return -1;
    if (job->flags == 0)
        jobs_error(jobs, "no flags are set: `setflags %s all` meters everything", job->name);
    if (jobs_bring(jobs, job, &problem) < 0 || filters_settle(jobs, job->filter, &problem) < 0)
        return jobs_error(jobs, "%s", problem.text);
    return filters_are_here(job->filter) ? analyse(jobs, command, job, job->filter->folder)
                                         : analyse_copy(jobs, command, job);
}
