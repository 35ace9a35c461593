/* SPDX-License-Identifier: MIT */
/* job_commands.c: filters, jobs, their processes and flags. See job.h. */
#include "job/job_private.h"

#include "event/event.h"

#include <errno.h>
#include <unistd.h>

int command_filter(struct jobs *jobs, const struct job_command *command)
{
    struct kept_filter *filter = NULL;
    struct problem problem;

    if (command->count > 0) {
        if (filters_create(jobs, command->words[0], command->words + 1, command->count - 1, &filter,
                           &problem) < 0)
            return jobs_error(jobs, "%s", problem.text);
        bool here = filters_are_here(filter);
        jobs_print(jobs, "filter %s created: process %d, stores in %s%s%s", filter->name,
                   filter->process.pid, here ? "" : filter->machine, here ? "" : ":",
                   filter->folder);
        if (filter->files[0] != NULL && strcmp(filter->program, "filter") == 0)
            jobs_print(jobs, "note: filter %s: the records describe themselves; %s is not needed",
                       filter->name, filter->files[0]);
        if (filter->files[1] != NULL)
            jobs_print(jobs, "filter %s selects by the rules in %s", filter->name,
                       filter->files[1]);
        return 0;
    }
    jobs_print(jobs, "%-8s %-16s %-16s %s", "process", "name", "machine", "stores in");
    for (size_t i = 0; i < jobs->filter_count; i++)
        jobs_print(jobs, "%-8d %-16s %-16s %s%s", jobs->filters[i]->process.pid,
                   jobs->filters[i]->name, jobs->filters[i]->machine, jobs->filters[i]->folder,
                   filters_alive(jobs->filters[i]) ? "" : "  (ended)");
    return 0;
}

/* ---- newjob ---- */

/* f1-sort; f1-sort-2 if there was one of that name. */
static void name_recording(struct jobs *jobs, struct job *job)
{
    char made[FABRIC_NAME_MOST + 1];

    fabric_name_make(job->name, made);
    snprintf(job->recording, sizeof(job->recording), "%s%.40s", job->filter->prefix, made);
    for (unsigned nth = 2; json_object_get(jobs->used, job->recording) != NULL; nth++)
        snprintf(job->recording, sizeof(job->recording), "%s%.40s-%u", job->filter->prefix, made,
                 nth);
    json_object_set_new(jobs->used, job->recording, json_true());
    jobs->meta_changed = true;
}

int command_newjob(struct jobs *jobs, const struct job_command *command)
{
    const char *name = command->words[0];
    const char *wanted = command->count > 1 ? command->words[1] : "default";
    struct kept_filter *filter = jobs_find_filter(jobs, wanted);
    struct problem problem;

    if (jobs_find(jobs, name) != NULL)
        return jobs_error(jobs, "there is a job %s already", name);
    if (jobs->filter_count == 0)
        return jobs_error(jobs, "there is no filter: `filter NAME` creates one");
    if (filter == NULL)
        return jobs_error(jobs, "there is no filter '%s'; filter lists them", wanted);
    if (filters_start(jobs, filter, &problem) < 0)
        return jobs_error(jobs, "%s", problem.text);
    struct job *job = jobs_new_job(jobs, name);
    if (job == NULL)
        return jobs_error(jobs, "out of memory");
    job->filter = filter;
    job->flags_set = true;
    job->number = ++jobs->next_job;
    name_recording(jobs, job);
    jobs_print(jobs, "job %s created: number %u, filter %s", name, job->number, filter->name);
    return 0;
}

/* ---- processes ---- */

static void say_notes(struct jobs *jobs, struct job_machine *machine, json_t *result)
{
    const char *meter = json_string_value(json_object_get(result, "meter"));
    json_t *note;
    size_t i;

    json_array_foreach(json_object_get(result, "notes"), i, note)
    {
        if (json_is_string(note))
            jobs_say_once(jobs, machine, json_string_value(note));
    }
    if (meter != NULL && strcmp(meter, "ptrace") == 0)
        jobs_say_once(jobs, machine,
                      "metering with ptrace: one process of a job, and what it creates; flags "
                      "cannot change");
}

static struct job_recording *find_recording(const struct job *job,
                                            const struct job_machine *machine)
{
    for (size_t i = 0; i < job->recording_count; i++)
        if (job->recordings[i].machine == machine)
            return &job->recordings[i];
    return NULL;
}

void job_note_recording(struct job *job, struct job_machine *machine)
{
    if (find_recording(job, machine) != NULL ||
        array_reserve(&job->recordings, &job->recording_capacity, job->recording_count + 1,
                      sizeof(*job->recordings)) < 0)
        return;
    job->recordings[job->recording_count++] = (struct job_recording){.machine = machine};
    job->changed = true;
}

/* A controller that was killed may have opened it, and not stored that. */
static bool is_open_already(struct jobs *jobs, const struct job *job, struct job_machine *machine)
{
    json_t *state = NULL;
    struct problem ignored;
    bool active = conduct_ask(jobs->conduct, machine->host, "recording.state",
                              request_recording(job->recording), &state, &ignored) == 0 &&
                  notice_recording(state).active;

    json_decref(state);
    return active;
}

/* Processes that are created or acquired later have them from the beginning. */
static int tell_flags(struct jobs *jobs, const struct job *job, struct job_machine *machine,
                      struct problem *problem)
{
    if (job->flags == METER_ALL_FLAGS)
        return 0;
    return conduct_ask(jobs->conduct, machine->host, "recording.flags",
                       request_flags(job->recording, job->flags), NULL, problem);
}

static int open_recording(struct jobs *jobs, struct job *job, struct job_machine *machine,
                          struct problem *problem)
{
    json_t *result = NULL;
    struct problem untold;

    if (find_recording(job, machine) != NULL)
        return 0;
    /* analyses take what a recording begins with as what it can know */
    int error = conduct_ask(jobs->conduct, machine->host, "recording.open",
                            json_pack("{s:s, s:s}", "recording", job->recording, "flags", "all"),
                            &result, problem);
    if (error < 0 && (error != -EREMOTEIO || !is_open_already(jobs, job, machine)))
        return error;
    say_notes(jobs, machine, result);
    json_decref(result);
    job_note_recording(job, machine);
    if (tell_flags(jobs, job, machine, &untold) < 0)
        jobs_print(jobs, "note: %s", untold.text);
    return 0;
}

static int add_one(struct jobs *jobs, struct job *job, const char *name, char **words)
{
    struct job_machine *machine = NULL;
    struct problem problem;
    const struct conduct_command wanted = {
        .recording = job->recording, .words = words, .input = true};
    struct conduct_process *process = NULL;
    bool copied = false;
    int result = jobs_machine(jobs, name, &machine, &problem);

    if (result == 0)
        result = open_recording(jobs, job, machine, &problem);
    if (result == 0)
        result = conduct_create(jobs->conduct, machine->host, &wanted, &process, &copied, &problem);
    if (copied)
        jobs_print(jobs, "note: %s: %s is not there: it runs a copy of the one here", machine->name,
                   words[0]);
    if (result < 0)
        return jobs_error(jobs, "%s", problem.text);
    if (job_take_process(job, process) < 0)
        return jobs_error(jobs, "out of memory");
    jobs_print(jobs, "process %s created on %s: number %d", process->name, machine->name,
               process->pid);
    jobs_keep(jobs);
    return 0;
}

int command_addprocess(struct jobs *jobs, const struct job_command *command)
{
    struct job *job = jobs_need(jobs, command->words[0]);
    char **names = NULL;
    size_t count = 0;
    struct problem problem;
    int result = 0;

    if (job == NULL)
        return -1;
    if (job_group(jobs->options.machines, command->words[1], jobs->turns, &names, &count,
                  &problem) < 0)
        return jobs_error(jobs, "%s", problem.text);
    if (count == 0)
        result = jobs_error(jobs, "the group %s has no machines", command->words[1]);
    for (size_t i = 0; i < count; i++)
        if (add_one(jobs, job, names[i], command->words + 2) < 0)
            result = -1;
    free(names);
    return result;
}

int command_acquire(struct jobs *jobs, const struct job_command *command)
{
    struct job *job = jobs_need(jobs, command->words[0]);
    struct job_machine *machine = NULL;
    struct problem problem;
    json_t *found = NULL;

    if (job == NULL)
        return -1;
    if (job_find(job, command->words[2]) != NULL)
        return jobs_error(jobs, "process %s is part of job %s already", command->words[2],
                          job->name);
    int result = jobs_machine(jobs, command->words[1], &machine, &problem);
    if (result == 0)
        result = open_recording(jobs, job, machine, &problem);
    if (result == 0)
        result = conduct_ask(
            jobs->conduct, machine->host, "recording.acquire",
            json_pack("{s:s, s:[s]}", "recording", job->recording, "pids", command->words[2]),
            &found, &problem);
    if (result < 0)
        return jobs_error(jobs, "%s", problem.text);
    json_decref(found);
    struct conduct_process *process = conduct_know(
        jobs->conduct, machine->host, atoi(command->words[2]), PROCESS_ACQUIRED, command->words[2]);
    if (process == NULL || job_take_process(job, process) < 0)
        return jobs_error(jobs, "out of memory");
    jobs_print(jobs, "process %d on %s acquired", process->pid, machine->name);
    return 0;
}

/* ---- setflags ---- */

/* One request for each machine reaches all processes there. What is to be set is stored first: if we are killed in
 * between, the next controller sets it. */
int jobs_set_flags(struct jobs *jobs, struct job *job)
{
    struct conduct_answer *answers = calloc(job->recording_count + 1, sizeof(*answers));
    int failed = 0;

    if (answers == NULL)
        return jobs_error(jobs, "out of memory");
    job->flags_set = false;
    job->changed = true;
    jobs_keep(jobs);
    for (size_t i = 0; i < job->recording_count; i++)
        conduct_ask_later(jobs->conduct, job->recordings[i].machine->host, "recording.flags",
                          request_flags(job->recording, job->flags), CONDUCT_CALL_MS, &answers[i]);
    conduct_await(jobs->conduct, answers, job->recording_count);
    for (size_t i = 0; i < job->recording_count; i++) {
        if (answers[i].error < 0)
            failed = jobs_error(jobs, "flags are not set on %s: %s",
                                job->recordings[i].machine->name, answers[i].why);
        json_decref(answers[i].result);
    }
    free(answers);
    job->flags_set = failed == 0;
    job->changed = true;
    return failed;
}

int command_setflags(struct jobs *jobs, const struct job_command *command)
{
    struct job *job = jobs_need(jobs, command->words[0]);
    char text[METER_FLAGS_TEXT_SIZE];
    struct problem problem;

    if (job == NULL)
        return -1;
    for (size_t i = 1; i < command->count; i++)
        meter_flags_parse(command->words[i], &job->flags, &problem);
    meter_flags_text(job->flags, text);
    int result = jobs_set_flags(jobs, job);
    jobs_print(jobs, "flags of job %s: %s", job->name, text[0] == '\0' ? "none" : text);
    for (size_t i = 0; result == 0 && i < job->count; i++) {
        const char *says;
        job_rule_of(JOB_SET_FLAGS, job->processes[i], &says);
        jobs_print(jobs, "%s@%s: %s", job->processes[i]->name, job->processes[i]->host->name, says);
    }
    return result;
}

/* ---- jobs ---- */

/* What is shown of it may be out of date. */
static void list_away(struct jobs *jobs, const struct job_machine *machine)
{
    char since[32] = "";
    struct tm local;

    if (machine->host == NULL || machine->host->state == REMOTE_READY)
        return;
    if (machine->away != 0 && localtime_r(&machine->away, &local) != NULL)
        strftime(since, sizeof(since), " since %Y-%m-%d %H:%M:%S", &local);
    jobs_print(jobs, "note: %s cannot be reached%s: its processes are shown as last heard",
               machine->name, since);
}

static void list_processes(struct jobs *jobs, const struct job *job)
{
    char flags[METER_FLAGS_TEXT_SIZE];

    meter_flags_text(job->flags, flags);
    jobs_print(jobs, "job %s:", job->name);
    jobs_print(jobs, "%-8s %-9s %-16s %-16s %s", "process", "state", "name", "machine", "flags");
    for (size_t i = 0; i < job->count; i++) {
        const struct conduct_process *process = job->processes[i];
        jobs_print(jobs, "%-8d %-9s %-16s %-16s %s", process->pid, conduct_state_word(process),
                   process->name, process->host->name, flags[0] == '\0' ? "none" : flags);
    }
    if (!job->flags_set)
        jobs_print(jobs, "note: these flags are not set on all machines: setflags tries again");
    for (size_t i = 0; i < job->recording_count; i++)
        list_away(jobs, job->recordings[i].machine);
}

int command_jobs(struct jobs *jobs, const struct job_command *command)
{
    int result = 0;

    if (command->count == 0) {
        jobs_print(jobs, "%-8s %-16s %s", "number", "name", "filter");
        for (size_t i = 0; i < jobs->count; i++)
            jobs_print(jobs, "%-8u %-16s %s", jobs->list[i]->number, jobs->list[i]->name,
                       jobs->list[i]->filter->name);
    }
    for (size_t i = 0; i < command->count; i++) {
        const struct job *job = jobs_need(jobs, command->words[i]);
        if (job == NULL)
            result = -1;
        else
            list_processes(jobs, job);
    }
    return result;
}
