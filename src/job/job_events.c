/* SPDX-License-Identifier: MIT */
/* job_events.c: what a controller prints, and what happens on the machines. See job.h. */
#include "job/job_private.h"

#include "show/show.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NOTES_MOST 100 /* of one machine */
#define LINE_AGAIN "\r\033[K"
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
    char key[16];

    snprintf(key, sizeof(key), "%08x", (unsigned)hash_bytes(0, text, strlen(text)));
    if (json_object_get(machine->notes, key) != NULL ||
        json_object_size(machine->notes) >= NOTES_MOST)
        return;
    json_object_set_new(machine->notes, key, json_true());
    jobs->meta_changed = true;
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

const struct remote_callbacks jobs_callbacks = {
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
    filters_look(jobs);
    if (now - jobs->trimmed < TRIM_EVERY)
        return;
    jobs->trimmed = now;
    jobs_keep(jobs);
    /* what all filters have stored need not be kept by the server */
    struct fabric *fabric = remote_fabric(jobs->remote);
    if (fabric_usage_answered(fabric, &usage) && usage.packet_bytes > usage.packet_bytes_most / 4)
        fabric_trim(fabric, &problem);
    fabric_usage_ask(fabric);
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

bool jobs_lack(const struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->filter_count; i++)
        if (jobs->filters[i]->lacks)
            return true;
    return false;
}

bool jobs_dead(const struct jobs *jobs)
{
    return jobs->dead;
}
