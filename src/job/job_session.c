/* SPDX-License-Identifier: MIT */
/* job_session.c: a controller's session: machines, questions, and what happens. See job.h. */
#include "job/job_private.h"

#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NOTES_MOST 200 /* of one machine */
#define LINE_AGAIN "\r\033[K"
#define CONNECT_MS 30000
#define ALONE      (24 * 3600)   /* s that agents go on without a controller */
#define TRIM_EVERY 5000000000ull /* ns */

/* ---- what is printed ---- */

void jobs_print(struct jobs *jobs, const char *format, ...)
{
    FILE *file = jobs->sink != NULL ? jobs->sink : jobs->options.out;
    va_list arguments;

    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fflush(file);
}

void jobs_progress(struct jobs *jobs, const char *format, ...)
{
    va_list arguments;

    if (!isatty(fileno(jobs->options.out)))
        return;
    fputs(LINE_AGAIN, jobs->options.out);
    va_start(arguments, format);
    vfprintf(jobs->options.out, format, arguments);
    va_end(arguments);
    fflush(jobs->options.out);
    jobs->progress = true;
}

void jobs_progress_end(struct jobs *jobs)
{
    if (jobs->progress)
        fputs(LINE_AGAIN, jobs->options.out);
    fflush(jobs->options.out);
    jobs->progress = false;
}

static void around(struct jobs *jobs, bool begins)
{
    if (begins)
        jobs_progress_end(jobs);
    if (jobs->typing && jobs->options.around != NULL)
        jobs->options.around(jobs->options.context, begins);
}

/* One line, whatever agents and processes wrote. */
static void say(struct jobs *jobs, FILE *file, const char *before, const char *format,
                va_list arguments)
{
    char text[JOB_LINE + 512], safe[JOB_LINE + 513];

    vsnprintf(text, sizeof(text), format, arguments);
    show_text(text, sizeof(text) - 1, safe);
    around(jobs, true);
    fprintf(file, "%s%s\n", before, safe);
    fflush(file);
    around(jobs, false);
}

void jobs_tell(struct jobs *jobs, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(jobs, jobs->options.out, "", format, arguments);
    va_end(arguments);
}

int jobs_error(struct jobs *jobs, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(jobs, jobs->options.err, "dpm: ", format, arguments);
    va_end(arguments);
    return -1;
}

/* ---- what happens ---- */

static struct job_machine *machine_of(const struct jobs *jobs, const struct remote_host *host)
{
    for (size_t i = 0; i < jobs->machine_count; i++)
        if (jobs->machines[i]->host == host)
            return jobs->machines[i];
    return NULL;
}

static void tell_line(struct jobs *jobs, struct job_process *process, bool err)
{
    process->lines[err].text[process->lines[err].length] = '\0';
    jobs_tell(jobs, "%s@%s: %s", process->name, process->machine->name, process->lines[err].text);
    process->lines[err].length = 0;
}

static void take_output(struct jobs *jobs, struct job_process *process,
                        const struct fabric_message *message)
{
    const char *at = message->bytes;
    char *text = process->lines[message->err].text;
    size_t *length = &process->lines[message->err].length;

    for (size_t i = 0; i < message->size; i++) {
        if (at[i] == '\n' || *length == JOB_LINE - 1)
            tell_line(jobs, process, message->err);
        if (at[i] != '\n')
            text[(*length)++] = at[i];
    }
    if (message->size == 0 && *length > 0)
        tell_line(jobs, process, message->err);
}

void jobs_take_end(struct jobs *jobs, struct job_process *process, const struct job_end *end)
{
    process->status = end->by_signal ? 128 + end->number : end->number;
    process->state = JOB_KILLED;
    process->noticed = process->job->changed = true;
    if (end->by_signal)
        jobs_tell(jobs, "%s@%s of job %s was killed by signal %d (%s)", process->name,
                  process->machine->name, process->job->name, end->number, strsignal(end->number));
    else
        jobs_tell(jobs, "%s@%s of job %s ended: exit status %d", process->name,
                  process->machine->name, process->job->name, end->number);
}

void jobs_say_once(struct jobs *jobs, struct job_machine *machine, const char *text)
{
    if (json_object_get(machine->notes, text) != NULL ||
        json_object_size(machine->notes) >= NOTES_MOST)
        return;
    json_object_set_new(machine->notes, text, json_true());
    jobs_tell(jobs, "note: %s: %s", machine->name, text);
}

void jobs_distrust(struct jobs *jobs, struct job_machine *machine, const char *why)
{
    if (machine->distrusted)
        return;
    machine->distrusted = true;
    jobs_error(jobs, "%s: its agent says what this version of dpm does not understand: %s",
               machine->name, why);
}

/* Acquired processes are not the agent's: their end is not reported. */
static void take_change(struct jobs *jobs, struct job_process *process,
                        const struct job_notice *notice)
{
    if (process == NULL || process->state == JOB_KILLED || process->state == JOB_ACQUIRED)
        return;
    if (notice->kind == JOB_NOTICE_ENDED)
        jobs_take_end(jobs, process, &notice->end);
    else
        process->state = notice->kind == JOB_NOTICE_STOPPED ? JOB_STOPPED : JOB_RUNNING;
    process->noticed = process->job->changed = true;
}

static void take_notice(struct jobs *jobs, struct remote_host *host,
                        const struct fabric_message *message)
{
    struct job_machine *machine = machine_of(jobs, host);
    struct job_notice notice;
    struct problem problem;

    if (machine == NULL)
        return;
    if (job_said_notice(message->method, message->params, &notice, &problem) < 0)
        jobs_distrust(jobs, machine, problem.text);
    else if (notice.kind == JOB_NOTICE_RECORDING_ENDED)
        jobs_tell(jobs, "%s: the recording ended: %s", host->name, notice.text);
    else if (notice.kind == JOB_NOTICE_NOTE)
        jobs_say_once(jobs, machine, notice.text);
    else if (notice.kind != JOB_NOTICE_OTHER)
        take_change(jobs, jobs_find_process(jobs, machine, notice.pid), &notice);
}

static void take_message(void *context, struct remote_host *host,
                         const struct fabric_message *message)
{
    struct jobs *jobs = context;
    struct job_machine *machine = machine_of(jobs, host);
    struct job_process *process =
        machine == NULL ? NULL : jobs_find_process(jobs, machine, message->pid);

    if (message->sequence <= jobs->heard)
        return;
    uint64_t after = message->sequence - jobs->heard - 1; /* an earlier controller had the others */
    uint64_t missed = message->missed < after ? message->missed : after;
    if (missed > 0)
        jobs_error(jobs,
                   "%" PRIu64 " messages from the machines are missing: there was more output than "
                   "the session keeps",
                   missed);
    jobs->heard = message->sequence;
    jobs->meta_changed = true;
    if (message->kind == FABRIC_NOTICE)
        take_notice(jobs, host, message);
    else if (process != NULL)
        take_output(jobs, process, message);
}

static void said(void *context, struct remote_host *host, const char *line)
{
    jobs_tell(context, "%s: %s", host->name, line);
}

static void changed(void *context, struct remote_host *host, const char *line)
{
    struct jobs *jobs = context;

    if (line != NULL && jobs->connecting != NULL && strcmp(jobs->connecting, host->name) == 0)
        snprintf(jobs->why, sizeof(jobs->why), "%s", line);
    else if (line != NULL)
        jobs_error(jobs, "%s", line);
}

static void trouble(void *context, const char *line)
{
    jobs_error(context, "%s", line);
}

static void take_signal(void *context)
{
    struct jobs *jobs = context;
    struct signalfd_siginfo info;

    if (read(jobs->options.signals, &info, sizeof(info)) != sizeof(info))
        return;
    jobs->interrupted |= info.ssi_signo != SIGCHLD;
    jobs->dead |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
}

static const struct remote_callbacks callbacks = {
    .said = said,
    .changed = changed,
    .message = take_message,
    .trouble = trouble,
    .readable = take_signal,
};

void jobs_poll(struct jobs *jobs, int timeout_ms)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct fabric_usage usage;
    struct problem problem;

    remote_poll(jobs->remote, timeout_ms);
    if (now - jobs->trimmed < TRIM_EVERY)
        return;
    jobs->trimmed = now;
    jobs_keep(jobs);
    /* what all filters have stored need not be kept by the server */
    if (fabric_usage(remote_fabric(jobs->remote), &usage, &problem) == 0 &&
        usage.packet_bytes > usage.packet_bytes_most / 4)
        fabric_trim(remote_fabric(jobs->remote), &problem);
}

bool jobs_wait_for(struct jobs *jobs, int file)
{
    struct pollfd files = {.fd = file, .events = POLLIN};

    jobs_keep(jobs);
    jobs->typing = true;
    jobs->interrupted = false;
    while (poll(&files, 1, 20) <= 0 && !jobs->interrupted)
        jobs_poll(jobs, 0);
    jobs->typing = false;
    return !jobs->interrupted;
}

bool jobs_dead(const struct jobs *jobs)
{
    return jobs->dead;
}

/* ---- questions ---- */

static void take_answer(void *context, struct remote_host *host, int error, int code,
                        json_t *result, const char *line)
{
    struct job_answer *answer = context;

    (void)host;
    (void)code;
    answer->came = true;
    answer->error = error;
    answer->result = error == 0 ? json_incref(result) : NULL;
    snprintf(answer->line, sizeof(answer->line), "%s", line == NULL ? "" : line);
}

void jobs_ask_within(struct jobs *jobs, struct job_machine *machine, const char *method,
                     json_t *params, int timeout_ms, struct job_answer *answer)
{
    struct remote_host *host;
    struct problem problem;

    /* one that is out may be there again: the question waits for the connection */
    if (machine->host->state == REMOTE_OUT) {
        machine->unsure = true;
        remote_add(jobs->remote, machine->name, &host, &problem);
    }
    remote_call(jobs->remote, machine->host, method, params, timeout_ms, take_answer, answer);
}

void jobs_ask_later(struct jobs *jobs, struct job_machine *machine, const char *method,
                    json_t *params, struct job_answer *answer)
{
    jobs_ask_within(jobs, machine, method, params, JOB_CALL_MS, answer);
}

int jobs_await(struct jobs *jobs, struct job_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (!answers[i].came) {
            jobs_poll(jobs, 50);
            if (!jobs->interrupted)
                continue;
            remote_drop_calls(jobs->remote);
            for (; i < count; i++)
                if (!answers[i].came) {
                    answers[i].error = -EINTR;
                    snprintf(answers[i].line, sizeof(answers[i].line),
                             "interrupted; it may happen yet: `jobs JOB` shows states");
                }
            for (size_t m = 0; m < jobs->machine_count; m++)
                jobs->machines[m]->unsure = true;
            return -EINTR;
        }
    return 0;
}

int jobs_ask(struct jobs *jobs, struct job_machine *machine, const char *method, json_t *params,
             json_t **ret_result, struct problem *problem)
{
    struct job_answer answer = {0};

    jobs_ask_later(jobs, machine, method, params, &answer);
    jobs_await(jobs, &answer, 1);
    if (answer.error < 0)
        return problem_set(problem, answer.error, "%s", answer.line);
    if (ret_result != NULL)
        *ret_result = answer.result;
    else
        json_decref(answer.result);
    return 0;
}

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
    machine->notes = json_object();
    jobs->machines[jobs->machine_count++] = machine;
    return machine;
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
    int result = remote_add(jobs->remote, machine->name, &machine->host, problem);

    while (result == 0 && !jobs->interrupted &&
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
    if (result == 0 && jobs->interrupted)
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

/* ---- jobs and processes ---- */

struct job *jobs_find(const struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (strcmp(jobs->list[i]->name, name) == 0)
            return jobs->list[i];
    return NULL;
}

struct job_filter *jobs_find_filter(const struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs->filter_count; i++)
        if (strcmp(jobs->filters[i]->name, name) == 0)
            return jobs->filters[i];
    return NULL;
}

struct job_process *job_find(const struct job *job, const char *name)
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
                                   i == 0 ? "; there are: " : ", ", jobs->list[i]->name);
    jobs_error(jobs, "there is no job '%s'%s", name, length == 0 ? "; newjob creates one" : names);
    return NULL;
}

struct job_process *jobs_need_process(struct jobs *jobs, const char *job_name, const char *name)
{
    struct job *job = jobs_need(jobs, job_name);
    struct job_process *process = job == NULL ? NULL : job_find(job, name);

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
static void name_process(const struct job *job, const char *name, char ret_name[JOB_NAME_SIZE])
{
    snprintf(ret_name, JOB_NAME_SIZE, "%s", name);
    for (unsigned nth = 2; job_find(job, ret_name) != NULL; nth++)
        snprintf(ret_name, JOB_NAME_SIZE, "%.50s.%u", name, nth);
}

struct job_process *job_new_process(struct job *job, const char *name)
{
    struct job_process *process = calloc(1, sizeof(*process));

    if (process == NULL || array_reserve(&job->processes, &job->capacity, job->count + 1,
                                         sizeof(struct job_process *)) < 0) {
        free(process);
        return NULL;
    }
    name_process(job, name, process->name);
    process->job = job;
    job->processes[job->count++] = process;
    job->changed = true;
    return process;
}

void job_free_process(struct job *job, struct job_process *process)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->processes[i] == process) {
            memmove(&job->processes[i], &job->processes[i + 1],
                    (job->count - i - 1) * sizeof(struct job_process *));
            job->count--;
            break;
        }
    free(process);
    job->changed = true;
}

static void free_job(struct job *job)
{
    while (job->count > 0)
        job_free_process(job, job->processes[job->count - 1]);
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

/* ---- begin and end ---- */

static int begin(struct jobs *jobs, struct problem *problem)
{
    struct job_filter *filter;
    json_t *kept = NULL;
    int result = fabric_kept(remote_fabric(jobs->remote), &kept, problem);

    if (result < 0)
        return result;
    bool used = json_object_size(kept) > 0;
    if (used && !jobs->options.attach && !jobs->options.either)
        result = problem_set(problem, -EEXIST,
                             "the session %s has jobs already: dpm --attach goes on with them; "
                             "--session NAME begins another",
                             jobs->session);
    else if (used)
        result = jobs_resume(jobs, kept, problem);
    else
        result = filters_create(jobs, "default", NULL, 0, &filter, problem);
    json_decref(kept);
    jobs_keep(jobs);
    return result;
}

int jobs_open(const struct job_options *options, struct jobs **ret_jobs, struct problem *problem)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));
    struct fabric_server *server = NULL;
    int result = jobs == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;

    /* one that exists, even if its server does not run now */
    if (result == 0 && options->attach && !options->either) {
        result = remote_session_attach(options->session, &server, problem);
        fabric_server_detach(server);
    }
    if (result < 0) {
        free(jobs);
        return result;
    }
    jobs->options = *options;
    jobs->session = strdup(options->session);
    jobs->used = json_object();
    if (readlink("/proc/self/exe", jobs->self, sizeof(jobs->self) - 1) < 0)
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
        .callbacks = &callbacks,
        .context = jobs,
    };
    result = remote_new(&remote, &jobs->remote, problem);
    if (result == 0)
        result = begin(jobs, problem);
    if (result < 0) {
        if (jobs->remote != NULL && result != -EEXIST && jobs->count == 0)
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
        json_decref(jobs->machines[i]->notes);
        free(jobs->machines[i]);
    }
    for (size_t i = 0; i < jobs->filter_count; i++) {
        free(jobs->filters[i]->program);
        free(jobs->filters[i]->files[0]);
        free(jobs->filters[i]->files[1]);
        free(jobs->filters[i]);
    }
    while (jobs->count > 0)
        jobs_free_job(jobs, jobs->list[0]);
    free(jobs->machines);
    free(jobs->filters);
    free(jobs->list);
}

void jobs_close(struct jobs *jobs)
{
    if (jobs == NULL)
        return;
    if (jobs->remote != NULL)
        jobs_keep(jobs);
    remote_free(jobs->remote);
    if (jobs->sink != NULL)
        fclose(jobs->sink);
    json_decref(jobs->used);
    free_all(jobs);
    free(jobs->session);
    free(jobs);
}
