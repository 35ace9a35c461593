/* SPDX-License-Identifier: MIT */
/*
 * job_logs.c: what filters have stored, copied to this machine. See job.h.
 *
 *      tar -c FOLDER, through the remote shell if that is on another machine | tar -x DESTINATION
 */
#include "job/job_private.h"

#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGED 1 /* tar's status if a file changed while it was read: the job is still recorded */

/* Reads an archive from `in`. Returns the process, or a negative errno. */
static pid_t unpack(const char *destination, int in)
{
    char *const words[] = {(char *)"tar", (char *)"-x", (char *)"-C", (char *)destination, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    int error = conduct_spawn(words, 0, in, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? pid : -error;
}

/* Writes an archive to `out`. */
static int pack(struct jobs *jobs, const struct kept_filter *filter, int out, pid_t *ret_pid,
                struct problem *problem)
{
    /* with rules, .packets has what they are still applied to */
    const char *const words[] = {"tar", "-c", "-C", filter->folder, "--exclude=./.packets",
                                 ".",   NULL};
    const char *rsh = jobs->options.rsh == NULL ? REMOTE_RSH : jobs->options.rsh;
    posix_spawn_file_actions_t actions;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), result;

    if (filters_are_here(filter)) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, out, 1);
        result = -conduct_spawn((char *const *)words, 0, -1, &actions, ret_pid);
        posix_spawn_file_actions_destroy(&actions);
        if (result < 0)
            problem_set(problem, result, "cannot start tar: %s", strerror(-result));
    } else {
        result = remote_command(rsh, filter->machine, words, null, out, ret_pid, problem);
    }
    if (null >= 0)
        close(null);
    return result;
}

static int copy(struct jobs *jobs, const struct kept_filter *filter, const char *destination,
                struct problem *problem)
{
    int ends[2];
    pid_t from = -1, to = -1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return problem_set(problem, -errno, "cannot create a pipe: %s", strerror(errno));
    int result = pack(jobs, filter, ends[1], &from, problem);
    if (result == 0 && (to = unpack(destination, ends[0])) < 0)
        result = problem_set(problem, to, "cannot start tar: %s", strerror(-to));
    close(ends[0]);
    close(ends[1]);
    bool whole = to < 0 || jobs_reap(jobs, to) == 0;
    whole = (from < 0 || jobs_reap(jobs, from) <= CHANGED) && whole;
    if (result == 0 && !whole)
        result = problem_set(problem, -EIO, "the log of filter %s is not copied to %s",
                             filter->name, destination);
    return result;
}

int logs_copy(struct jobs *jobs, const struct kept_filter *filter, const char *destination,
              struct problem *problem)
{
    if (mkdir(destination, 0777) < 0)
        return problem_set(problem, -errno, "cannot create %s: %s", destination, strerror(errno));
    int result = copy(jobs, filter, destination, problem);
    if (result < 0)
        folder_remove(destination);
    return result;
}

int command_getlog(struct jobs *jobs, const struct job_command *command)
{
    struct kept_filter *filter = jobs_find_filter(jobs, command->words[0]);
    struct problem problem;
    struct stat status;
    int result = 0;

    if (filter == NULL)
        return jobs_error(jobs, "there is no filter '%s'; filter lists them", command->words[0]);
    if (lstat(command->words[1], &status) == 0)
        return jobs_error(jobs, "%s exists already: choose another name", command->words[1]);
    for (size_t i = 0; result == 0 && !filter->ended && i < jobs->count; i++)
        if (jobs->list[i]->filter == filter)
            result = jobs_bring(jobs, jobs->list[i], &problem);
    if (result == 0)
        result = filters_settle(jobs, filter, &problem);
    if (result < 0)
        return jobs_error(jobs, "%s", problem.text);
    if (logs_copy(jobs, filter, command->words[1], &problem) < 0)
        return jobs_error(jobs, "%s", problem.text);
    jobs_print(jobs, "log of filter %s copied to %s", filter->name, command->words[1]);
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->list[i]->filter == filter && jobs->list[i]->recording_count > 0)
            jobs_print(jobs, "note: job %s is still recorded: this is its state so far",
                       jobs->list[i]->name);
    if (filter->lacks)
        return jobs_error(jobs, "%s is not complete: filter %s has ended too early",
                          command->words[1], filter->name);
    return 0;
}
