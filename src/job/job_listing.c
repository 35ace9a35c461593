/* SPDX-License-Identifier: MIT */
/*
 * job_listing.c: states as the agents know them, when the controller may not: after an earlier controller, after an
 * interrupted command, and when a machine is back that was out. See job.h.
 *
 *      process.list --> [{"pid": 812, "recording": "f1-sort", "command": "./sort", "state": "running"}, ...]
 */
#include "job/job_private.h"

/* One that was created just before a controller died is part of its job, too. Others were removed. */
static struct conduct_process *adopt(struct jobs *jobs, struct job *job,
                                     struct job_machine *machine,
                                     const struct listed_process *listed)
{
    if (listed->state != PROCESS_NEW || listed->name[0] == '\0')
        return NULL;
    struct conduct_process *process =
        conduct_know(jobs->conduct, machine->host, listed->pid, PROCESS_NEW, listed->name);
    if (process == NULL || job_take_process(job, process) < 0)
        return NULL;
    job_note_recording(job, machine);
    job->flags_set = false;
    job->adopted = true;
    return process;
}

static void take_listed(struct jobs *jobs, struct job_machine *machine,
                        const struct listed_process *listed)
{
    struct job *job = jobs_find_recording(jobs, listed->recording);
    struct conduct_process *process =
        conduct_find_process(jobs->conduct, machine->host, listed->pid);

    if (job == NULL || (process != NULL && job_of(process) != job))
        return;
    if (process == NULL && (process = adopt(jobs, job, machine, listed)) == NULL)
        return;
    conduct_take_listed(process, listed);
    job->changed = true;
}

/* What the agent does not know was an earlier agent's, which has ended. */
static void take_missing(struct jobs *jobs, struct conduct_process *process)
{
    if (process->listed || process->state == PROCESS_ACQUIRED || process->state == PROCESS_KILLED)
        return;
    conduct_set_lost(process);
    job_of(process)->changed = true;
    jobs_tell(jobs,
              "%s@%s of job %s is not controlled any more: its agent ended; it may still run there "
              "(process %d)",
              process->name, process->host->name, job_of(process)->name, (int)process->pid);
}

static void take_listing(struct jobs *jobs, struct job_machine *machine, json_t *list)
{
    struct conduct_process *process;
    struct listed_process listed;
    struct problem problem;
    json_t *one;
    size_t i;

    for (i = 0; (process = conduct_process_at(jobs->conduct, i)) != NULL; i++)
        process->listed = false;
    json_array_foreach(list, i, one)
    {
        if (notice_listed(one, &listed, &problem) == 0)
            take_listed(jobs, machine, &listed);
        else
            jobs_distrust(jobs, machine, problem.text);
    }
    for (i = 0; (process = conduct_process_at(jobs->conduct, i)) != NULL; i++)
        if (process->host == machine->host)
            take_missing(jobs, process);
}

/* Their agents created them with the flags that the recording began with. */
static void set_flags_of_adopted(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (jobs->list[i]->adopted)
            jobs_set_flags(jobs, jobs->list[i]);
        jobs->list[i]->adopted = false;
    }
}

static bool is_unsure(void *context, struct remote_host *host)
{
    const struct job_machine *machine = host->context;

    (void)context;
    return machine != NULL && machine->unsure && host->state == REMOTE_READY;
}

static void take_answer(void *context, struct remote_host *host,
                        const struct conduct_answer *answer)
{
    struct job_machine *machine = host->context;
    json_t *list = json_object_get(answer->result, "processes");

    if (json_is_array(list)) {
        machine->unsure = false;
        take_listing(context, machine, list);
    } else if (answer->result != NULL) {
        jobs_distrust(context, machine, "process.list: \"processes\" is not an array");
    }
}

void jobs_doubt(struct jobs *jobs)
{
    for (size_t i = 0; conduct_is_interrupted(jobs->conduct) && i < jobs->machine_count; i++)
        jobs->machines[i]->unsure = true;
}

void jobs_look_again(struct jobs *jobs)
{
    conduct_ask_all(jobs->conduct, &(struct conduct_question){.method = "process.list",
                                                              .asks = is_unsure,
                                                              .took = take_answer,
                                                              .context = jobs,
                                                              .timeout_ms = 10000});
    set_flags_of_adopted(jobs);
}
