/* SPDX-License-Identifier: MIT */
/* job_records.c: the records of jobs and processes (Macrander, figure 6.3). See job.h. */
#include "job/job_private.h"

#include <errno.h>

struct job *jobs_find(const struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (strcmp(jobs->list[i]->name, name) == 0)
            return jobs->list[i];
    return NULL;
}

struct job *jobs_find_recording(const struct jobs *jobs, const char *recording)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (strcmp(jobs->list[i]->recording, recording) == 0)
            return jobs->list[i];
    return NULL;
}

struct kept_filter *jobs_find_filter(const struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->filter_count; i++)
        if (strcmp(jobs->filters[i]->name, name) == 0)
            return jobs->filters[i];
    return NULL;
}

struct conduct_process *job_find(const struct job *job, const char *name)
{
    char number[16];

    for (size_t i = 0; i < job->count; i++) {
        snprintf(number, sizeof(number), "%d", job->processes[i]->pid);
        if (strcmp(job->processes[i]->name, name) == 0 || strcmp(number, name) == 0)
            return job->processes[i];
    }
    return NULL;
}

struct job *jobs_need(struct jobs *jobs, const char *name)
{
    struct job *job = jobs_find(jobs, name);
    char names[400] = "";
    size_t length = 0;

    if (job != NULL)
        return job;
    for (size_t i = 0; i < jobs->count && length < sizeof(names) - 80; i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i == 0 ? "; the jobs: " : ", ", jobs->list[i]->name);
    jobs_error(jobs, "there is no job '%s'%s", name, length == 0 ? "; newjob creates one" : names);
    return NULL;
}

struct conduct_process *jobs_need_process(struct jobs *jobs, const char *job_name, const char *name)
{
    struct job *job = jobs_need(jobs, job_name);
    struct conduct_process *process = job == NULL ? NULL : job_find(job, name);

    if (job != NULL && process == NULL)
        jobs_error(jobs, "job %s has no process '%s'; `jobs %s` lists them", job->name, name,
                   job->name);
    return process;
}

struct job *jobs_new_job(struct jobs *jobs, const char *name)
{
    struct job *job = calloc(1, sizeof(*job));

    if (job == NULL ||
        array_reserve(&jobs->list, &jobs->capacity, jobs->count + 1, sizeof(struct job *)) < 0) {
        free(job);
        return NULL;
    }
    snprintf(job->name, sizeof(job->name), "%s", name);
    job->changed = true;
    jobs->list[jobs->count++] = job;
    return job;
}

/* "sort", then "sort.2" ... */
static void name_process(const struct job *job, struct conduct_process *process)
{
    char name[CONDUCT_NAME_SIZE];

    snprintf(name, sizeof(name), "%s", process->name);
    for (unsigned nth = 2; job_find(job, process->name) != NULL; nth++)
        snprintf(process->name, sizeof(process->name), "%.50s.%u", name, nth);
}

int job_take_process(struct job *job, struct conduct_process *process)
{
    if (array_reserve(&job->processes, &job->capacity, job->count + 1,
                      sizeof(struct conduct_process *)) < 0) {
        conduct_forget(process);
        return -ENOMEM;
    }
    name_process(job, process);
    process->context = job;
    job->processes[job->count++] = process;
    job->changed = true;
    return 0;
}

void job_remove_process(struct conduct_process *process)
{
    struct job *job = job_of(process);

    for (size_t i = 0; i < job->count; i++)
        if (job->processes[i] == process) {
            memmove(&job->processes[i], &job->processes[i + 1],
                    (job->count - i - 1) * sizeof(struct conduct_process *));
            job->count--;
            break;
        }
    conduct_forget(process);
    job->changed = true;
}

struct job *job_of(const struct conduct_process *process)
{
    return process->context;
}

static void free_job(struct job *job)
{
    while (job->count > 0)
        job_remove_process(job->processes[job->count - 1]);
    free(job->processes);
    free(job->recordings);
    free(job);
}

void jobs_free_job(struct jobs *jobs, struct job *job)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->list[i] == job) {
            memmove(&jobs->list[i], &jobs->list[i + 1],
                    (jobs->count - i - 1) * sizeof(struct job *));
            jobs->count--;
            break;
        }
    free_job(job);
}
