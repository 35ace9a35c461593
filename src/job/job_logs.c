/* SPDX-License-Identifier: MIT */
/*
 * job_logs.c: what filters have stored, copied to this machine. See job.h.
 *
 *      here:      cp -r FOLDER DESTINATION
 *      elsewhere: ssh MACHINE tar -c ... | tar -x ...
 */
#include "job/job_private.h"

#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads an archive from `in`. Returns the process, or a negative errno. */
static pid_t unpack(const char *destination, int in)
{
    char *const words[] = {(char *)"tar", (char *)"-x", (char *)"-C", (char *)destination, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    int error = job_spawn(words, 0, in, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? pid : -error;
}

static int copy_from(struct jobs *jobs, const struct job_filter *filter, const char *destination,
                     struct problem *problem)
{
    const char *const words[] = {"tar", "-c", "-C", filter->folder, ".", NULL};
    const char *rsh = jobs->options.rsh == NULL ? REMOTE_RSH : jobs->options.rsh;
    int ends[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t there = -1, here = -1;

    if (null < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        if (null >= 0)
            close(null);
        return problem_set(problem, -errno, "cannot create a pipe: %s", strerror(errno));
    }
    int result = remote_command(rsh, filter->machine, words, null, ends[1], &there, problem);
    if (result == 0 && (here = unpack(destination, ends[0])) < 0)
        result = problem_set(problem, here, "cannot start tar: %s", strerror(-here));
    close(null);
    close(ends[0]);
    close(ends[1]);
    bool whole = here < 0 || jobs_reap(jobs, here) == 0;
    whole = (there < 0 || jobs_reap(jobs, there) == 0) && whole;
    return result == 0 && !whole
               ? problem_set(problem, -EIO, "the log of filter %s on %s is not copied",
                             filter->name, filter->machine)
               : result;
}

int logs_copy(struct jobs *jobs, const struct job_filter *filter, const char *destination,
              struct problem *problem)
{
    char *const words[] = {(char *)"cp",           (char *)"-r",        (char *)"--",
                           (char *)filter->folder, (char *)destination, NULL};

    if (filters_are_here(filter))
        return jobs_spawn(jobs, words) == 0
                   ? 0
                   : problem_set(problem, -EIO, "the log of filter %s is not copied to %s",
                                 filter->name, destination);
    if (mkdir(destination, 0700) < 0)
        return problem_set(problem, -errno, "cannot create %s: %s", destination, strerror(errno));
    int result = copy_from(jobs, filter, destination, problem);
    if (result < 0)
        folder_remove(destination);
    return result;
}

/* ---- getlog ---- */

int command_getlog(struct jobs *jobs, const struct job_command *command)
{
    struct job_filter *filter = jobs_find_filter(jobs, command->words[0]);
    struct problem problem;
    struct stat status;
    int result = 0;

    if (filter == NULL)
        return jobs_error(jobs, "there is no filter '%s'; filter lists them", command->words[0]);
    if (lstat(command->words[1], &status) == 0)
        return jobs_error(jobs, "%s exists already: choose another name", command->words[1]);
    for (size_t i = 0; result == 0 && i < jobs->count; i++)
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
    return 0;
}
