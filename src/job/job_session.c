/* SPDX-License-Identifier: MIT */
/* job_session.c: a controller's session: machines, begin and end. See job.h. */
#include "job/job_private.h"

#include "base/process.h"
#include <errno.h>
#include <unistd.h>

#define CONNECT_MS 30000
#define ALONE      (24 * 3600) /* s that agents go on without a controller */

/* ---- machines ---- */

static struct job_machine *find_machine(struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->machine_count; i++)
        if (strcmp(jobs->machines[i]->name, name) == 0)
            return jobs->machines[i];
    return NULL;
}

static struct job_machine *new_machine(struct jobs *jobs, const char *name)
{
    struct job_machine *machine = calloc(1, sizeof(*machine));

    if (machine == NULL || (machine->name = strdup(name)) == NULL ||
        array_reserve(&jobs->machines, &jobs->machine_capacity, jobs->machine_count + 1,
                      sizeof(struct job_machine *)) < 0) {
        free(machine == NULL ? NULL : machine->name);
        free(machine);
        return NULL;
    }
    jobs->machines[jobs->machine_count++] = machine;
    return machine;
}

int jobs_add_host(struct jobs *jobs, struct job_machine *machine, struct problem *problem)
{
    int result = remote_add(conduct_remote(jobs->conduct), machine->name, &machine->host, problem);

    if (result == 0)
        machine->host->context = machine;
    return result;
}

static int connect_machine(struct jobs *jobs, struct job_machine *machine, struct problem *problem)
{
    bool had_agent = machine->has_agent;

    machine->has_agent =
        true; /* stored first: if we are killed, the next controller ends the agent */
    jobs->meta_changed |= !had_agent;
    jobs_keep(jobs);
    jobs->connecting = machine->name;
    jobs->why[0] = '\0';
    int result = jobs_add_host(jobs, machine, problem);

    while (result == 0 && !conduct_is_interrupted(jobs->conduct) &&
           (machine->host->state == REMOTE_STARTING || machine->host->state == REMOTE_LINKED))
        jobs_poll(jobs, 50);
    jobs->connecting = NULL;
    if (result == 0 && machine->host->state == REMOTE_OUT && jobs->why[0] != '\0')
        result = problem_set(problem, -EHOSTUNREACH, "%s", jobs->why);
    else if (result == 0 && machine->host->state == REMOTE_OUT)
        result = problem_set(problem, -EHOSTUNREACH, "%s cannot be used", machine->name);
    if (!had_agent && (result < 0 || machine->host->state == REMOTE_OUT)) {
        machine->has_agent = false;
        jobs->meta_changed = true;
    }
    if (result == 0 && conduct_is_interrupted(jobs->conduct))
        result = problem_set(problem, -EINTR, "interrupted while connecting to %s", machine->name);
    return result;
}

struct job_machine *jobs_name_machine(struct jobs *jobs, const char *name)
{
    char own[HOST_NAME_MAX + 1] = "";

    if (remote_is_here(name)) {
        gethostname(own, sizeof(own) - 1);
        name = own;
    }
    struct job_machine *machine = find_machine(jobs, name);
    return machine == NULL ? new_machine(jobs, name) : machine;
}

int jobs_machine(struct jobs *jobs, const char *name, struct job_machine **ret_machine,
                 struct problem *problem)
{
    struct job_machine *machine = jobs_name_machine(jobs, name);

    if (machine == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    *ret_machine = machine;
    /* one that is away for a while: requests wait for it */
    if (machine->host != NULL && machine->host->was_ready && machine->host->state != REMOTE_OUT)
        return 0;
    return connect_machine(jobs, machine, problem);
}

/* ---- begin and end ---- */

static int begin(struct jobs *jobs, struct problem *problem)
{
    struct kept_filter *filter;
    json_t *kept = NULL;
    int result = fabric_kept(conduct_fabric(jobs->conduct), &kept, problem);

    if (result < 0)
        return result;
    bool used = json_object_size(kept) > 0;
    if ((result = kept_check(kept, jobs->session, problem)) < 0) {
        json_decref(kept);
        return result;
    }
    jobs_reach(jobs, json_object_get(json_object_get(kept, "session"), "reach"));
    result =
        remote_reach(conduct_remote(jobs->conduct), jobs->options.rsh, jobs->options.dpm, problem);
    if (result == 0 && used && !jobs->options.attach && !jobs->options.either)
        result = problem_set(problem, -EEXIST,
                             "the session %s has jobs already: dpm --session %s --attach goes on "
                             "with them; --session NAME begins another",
                             jobs->session, jobs->session);
    else if (result == 0 && used)
        result = jobs_resume(jobs, kept, problem);
    else if (result == 0)
        result = filters_create(jobs, "default", NULL, 0, &filter, problem);
    if (!used && result == 0)
        jobs_tell(jobs, "filter default stores in %s", filter->folder);
    if (!used && result == 0 && filter->files[1] != NULL)
        jobs_tell(jobs, "filter default selects by the rules in %s", filter->files[1]);
    json_decref(kept);
    jobs->meta_changed |= result == 0; /* how machines are reached */
    jobs_keep(jobs);
    return result;
}

int jobs_open(const struct job_options *options, struct jobs **ret_jobs, struct problem *problem)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));
    int result = jobs == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;
    char folder[PATH_MAX];

    /* one that exists, even if its server does not run now */
    if (result == 0 && options->attach && !options->either)
        result = remote_session_find(options->session, folder, problem);
    if (result < 0) {
        free(jobs);
        return result;
    }
    jobs->options = *options;
    jobs->session = strdup(options->session);
    jobs->used = json_object();
    jobs->turns = json_object();
    jobs->reach = json_object();
    if (!process_program(getpid(), jobs->self, sizeof(jobs->self)))
        snprintf(jobs->self, sizeof(jobs->self), "dpm");
    const struct remote_options remote = {
        .session = options->session,
        .rsh = options->rsh == NULL ? REMOTE_RSH : options->rsh,
        .dpm = options->dpm == NULL ? REMOTE_DPM : options->dpm,
        .alone = ALONE, /* the next controller may come late */
        .connect_ms = CONNECT_MS,
        .descriptor = options->signals,
        .lasting = true,
        .direct = true,
    };
    const struct conduct_options conduct = {
        .session = &remote,
        .event = jobs_happen,
        .work = jobs_work,
        .again = true,
        .interrupted = "interrupted; it may happen yet: `jobs JOB` shows states",
        .context = jobs};
    result = conduct_open(&conduct, &jobs->conduct, problem);
    if (result == 0)
        result = begin(jobs, problem);
    if (result < 0) {
        if (jobs->conduct != NULL && result != -EEXIST && jobs->count == 0)
            filters_end_all(jobs);
        jobs_close(jobs);
        return result;
    }
    *ret_jobs = jobs;
    return 0;
}

static void free_all(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->machine_count; i++) {
        free(jobs->machines[i]->name);
        free(jobs->machines[i]);
    }
    for (size_t i = 0; i < jobs->filter_count; i++) {
        kept_filter_done(jobs->filters[i]);
        free(jobs->filters[i]);
    }
    free(jobs->machines);
    free(jobs->filters);
    free(jobs->list);
}

void jobs_close(struct jobs *jobs)
{
    if (jobs == NULL)
        return;
    if (jobs->conduct != NULL)
        jobs_keep(jobs);
    while (jobs->count > 0) /* their processes belong to the conduct */
        jobs_free_job(jobs, jobs->list[0]);
    conduct_close(jobs->conduct);
    if (jobs->sink != NULL)
        fclose(jobs->sink);
    json_decref(jobs->used);
    json_decref(jobs->turns);
    json_decref(jobs->reach);
    json_decref(jobs->recording);
    free_all(jobs);
    free(jobs->session);
    free(jobs);
}
