/* SPDX-License-Identifier: MIT */
/*
 * job_kept.c: the state of a controller, kept by the session's server (fabric_keep), so that a later one goes on.
 * See conduct/session_kept.h.
 */
#include "job/job_private.h"

#include "event/event.h"

#include <errno.h>
#include <unistd.h>

/* ---- storing ---- */

/* Those that have agents, also without any job there now: they end with the session. */
static json_t *machines_json(const struct jobs *jobs)
{
    json_t *machines = json_array();

    for (size_t i = 0; i < jobs->machine_count; i++)
        if (jobs->machines[i]->has_agent)
            json_array_append_new(machines, json_string(jobs->machines[i]->name));
    return machines;
}

static json_t *session_json(const struct jobs *jobs)
{
    json_t *filters = json_array();

    for (size_t i = 0; i < jobs->filter_count; i++)
        json_array_append_new(filters, kept_filter_json(jobs->filters[i]));
    return kept_session_json(jobs->conduct, &(struct kept_session){.next_job = jobs->next_job,
                                                                   .next_filter = jobs->next_filter,
                                                                   .warned = jobs->warned,
                                                                   .used = jobs->used,
                                                                   .reach = jobs->reach,
                                                                   .filters = filters,
                                                                   .machines = machines_json(jobs),
                                                                   .recording = jobs->recording});
}

static json_t *job_json(const struct jobs *jobs, const struct job *job)
{
    json_t *machines = json_array();

    for (size_t i = 0; i < job->recording_count; i++)
        json_array_append_new(machines, json_string(job->recordings[i].machine->name));
    return kept_job_json(jobs->conduct, &(struct kept_job){.number = job->number,
                                                           .name = job->name,
                                                           .recording = job->recording,
                                                           .filter = job->filter->name,
                                                           .flags = job->flags,
                                                           .flags_set = job->flags_set,
                                                           .processes = job,
                                                           .machines = machines});
}

static void keep(struct jobs *jobs, const char *key, json_t *value)
{
    struct problem problem;

    if (conduct_keep(jobs->conduct, key, value, &problem) < 0)
        jobs_error(jobs, "the state of the session cannot be stored: %s", problem.text);
}

void jobs_keep(struct jobs *jobs)
{
    char key[32];

    if (jobs->ended)
        return;
    for (size_t i = 0; i < jobs->count; i++) {
        if (!jobs->list[i]->changed || jobs->list[i]->filter == NULL)
            continue;
        jobs->list[i]->changed = false;
        snprintf(key, sizeof(key), "job.%u", jobs->list[i]->number);
        keep(jobs, key, job_json(jobs, jobs->list[i]));
    }
    if (jobs->meta_changed || jobs->kept_heard != conduct_heard(jobs->conduct))
        keep(jobs, "session", session_json(jobs));
    jobs->meta_changed = false;
    jobs->kept_heard = conduct_heard(jobs->conduct);
}

/* ---- reading ---- */

static int damaged(struct problem *problem)
{
    return problem_set(
        problem, -EBADMSG,
        "what an earlier controller has stored of this session is damaged; --session "
        "NAME begins another");
}

static int read_filter(struct jobs *jobs, json_t *kept, struct problem *problem)
{
    struct kept_filter *filter = NULL;

    if (array_reserve(&jobs->filters, &jobs->filter_capacity, jobs->filter_count + 1,
                      sizeof(struct kept_filter *)) < 0 ||
        (filter = calloc(1, sizeof(*filter))) == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int result = kept_filter_read(kept, filter);
    if (result == 0) {
        jobs->filters[jobs->filter_count++] = filter;
        return 0;
    }
    kept_filter_done(filter);
    free(filter);
    return result == -EBADMSG ? damaged(problem) : problem_set(problem, result, "out of memory");
}

/* A machine that an earlier controller had: it is added. NULL: it cannot be. */
static struct job_machine *machine_at(struct jobs *jobs, const char *name, struct problem *problem)
{
    struct job_machine *machine = jobs_name_machine(jobs, name);

    if (machine == NULL)
        problem_set(problem, -ENOMEM, "out of memory");
    else if (machine->host == NULL && jobs_add_host(jobs, machine, problem) < 0)
        machine = NULL;
    return machine;
}

static int read_machines(struct jobs *jobs, json_t *machines, struct problem *problem)
{
    json_t *one;
    size_t i;

    json_array_foreach(machines, i, one)
    {
        if (!json_is_string(one))
            return damaged(problem);
        struct job_machine *machine = machine_at(jobs, json_string_value(one), problem);
        if (machine == NULL)
            return -EINVAL;
        machine->has_agent = true;
    }
    return 0;
}

void jobs_reach(struct jobs *jobs, json_t *kept)
{
    const struct {
        const char *key, **value;
    } options[] = {{"rsh", &jobs->options.rsh},
                   {"dpm", &jobs->options.dpm},
                   {"machines", &jobs->options.machines}};

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const char *text = *options[i].value;
        if (text == NULL) {
            json_object_set(jobs->reach, options[i].key, json_object_get(kept, options[i].key));
            *options[i].value = json_string_value(json_object_get(jobs->reach, options[i].key));
            continue;
        }
        kept_reach_set(jobs->reach, options[i].key, text);
    }
}

static int read_session(struct jobs *jobs, json_t *kept, struct problem *problem)
{
    json_t *filters = json_object_get(kept, "filters"), *used = json_object_get(kept, "used"), *one;
    int result = 0;
    size_t i;

    if (!json_is_array(filters) || !json_is_object(used))
        return damaged(problem);
    jobs->next_job = (unsigned)fabric_count(kept, "next_job");
    jobs->next_filter = (unsigned)fabric_count(kept, "next_filter");
    jobs->kept_heard = fabric_count(kept, "heard");
    conduct_set_heard(jobs->conduct, jobs->kept_heard);
    jobs->warned = json_is_true(json_object_get(kept, "warned"));
    json_object_update(jobs->used, used);
    jobs->recording = json_incref(json_object_get(kept, "recording"));
    result = read_machines(jobs, json_object_get(kept, "machines"), problem);
    json_object_update(conduct_notes(jobs->conduct), json_object_get(kept, "notes"));
    json_array_foreach(filters, i, one)
    {
        if (result == 0)
            result = read_filter(jobs, one, problem);
    }
    return result;
}

static int read_process(struct jobs *jobs, struct job *job, json_t *kept, struct problem *problem)
{
    struct job_machine *machine = machine_at(jobs, kept_text(kept, "machine"), problem);
    struct conduct_process *process = NULL;

    if (machine == NULL)
        return -EINVAL;
    int result = kept_process_read(jobs->conduct, machine->host, kept, &process);
    if (result == -EBADMSG)
        return damaged(problem);
    if (result == 0)
        result = job_take_process(job, process);
    return result < 0 ? problem_set(problem, result, "out of memory") : 0;
}

static int read_recording(struct jobs *jobs, struct job *job, json_t *kept, struct problem *problem)
{
    struct job_machine *machine = machine_at(jobs, kept_text(kept, "machine"), problem);

    if (machine != NULL)
        job_note_recording(job, machine);
    return machine == NULL ? -EINVAL : 0;
}

static int read_job(struct jobs *jobs, json_t *kept, struct problem *problem)
{
    struct kept_filter *filter = jobs_find_filter(jobs, kept_text(kept, "filter"));
    struct job *job = NULL;
    struct problem why;
    json_t *one;
    size_t i;
    int result = 0;

    if (filter == NULL || kept_text(kept, "name")[0] == '\0' ||
        !fabric_name_valid(kept_text(kept, "recording")))
        return damaged(problem);
    job = jobs_new_job(jobs, kept_text(kept, "name"));
    if (job == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    job->filter = filter;
    job->number = (unsigned)fabric_count(kept, "number");
    snprintf(job->recording, sizeof(job->recording), "%s", kept_text(kept, "recording"));
    if (meter_flags_parse(kept_text(kept, "flags"), &job->flags, &why) < 0)
        return damaged(problem);
    job->flags_set = !json_is_false(json_object_get(kept, "flags_set"));
    json_array_foreach(json_object_get(kept, "processes"), i, one)
    {
        if (result == 0)
            result = read_process(jobs, job, one, problem);
    }
    json_array_foreach(json_object_get(kept, "recordings"), i, one)
    {
        if (result == 0)
            result = read_recording(jobs, job, one, problem);
    }
    return result;
}

/* ---- what has happened since ---- */

/* A machine that cannot be reached stays part of its jobs. */
static void connect_again(struct jobs *jobs, struct job_machine *machine, struct problem *problem)
{
    machine->unsure = true;
    if (jobs_machine(jobs, machine->name, &machine, problem) < 0)
        jobs_error(jobs, "%s", problem->text);
}

/* A controller that was killed may have stored flags, and not set them everywhere. */
static void set_flags_again(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (!jobs->list[i]->flags_set)
            jobs_set_flags(jobs, jobs->list[i]);
}

int jobs_resume(struct jobs *jobs, json_t *kept, struct problem *problem)
{
    int result = read_session(jobs, json_object_get(kept, "session"), problem);
    const char *key;
    json_t *one;

    for (unsigned number = 1; result == 0 && number <= jobs->next_job; number++) {
        char name[32];
        snprintf(name, sizeof(name), "job.%u", number);
        json_object_foreach(kept, key, one)
        {
            if (result == 0 && strcmp(key, name) == 0)
                result = read_job(jobs, one, problem);
        }
    }
    kept_lines_read(jobs->conduct, json_object_get(json_object_get(kept, "session"), "lines"));
    /* Messages of the time between are delivered from the first poll on, and only for machines that were added: so all
     * jobs are read, and all machines added, before the first one is waited for. */
    for (size_t i = 0; result == 0 && i < jobs->machine_count; i++)
        connect_again(jobs, jobs->machines[i], problem);
    if (result == 0) {
        jobs_look_again(jobs);
        set_flags_again(jobs);
        jobs_doubt(jobs);
    }
    filters_look(jobs);
    /* one that cannot be started does not keep the user from the others; what needs it tries again */
    for (size_t i = 0; result == 0 && i < jobs->filter_count; i++)
        if (!jobs->filters[i]->ended && filters_start(jobs, jobs->filters[i], problem) < 0)
            jobs_error(jobs, "%s", problem->text);
    return result;
}
