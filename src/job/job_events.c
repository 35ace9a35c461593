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

#define LINE_AGAIN "\r\033[K"
#define KEEP_EVERY 5000000000ull /* ns */
#define LOOK_EVERY 2000000000ull /* ns */
#define LOOK_MOST  4000000000ull /* ns between two looks that count: longer ones are ours */

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
    char text[CONDUCT_LINE_MOST + 512], safe[CONDUCT_LINE_MOST + 513];

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

static void take_change(struct jobs *jobs, const struct conduct_process *process)
{
    const struct process_end *end = &process->end;
    struct job *job = job_of(process);

    job->changed = true;
    if (process->state == PROCESS_KILLED && end->by_signal)
        jobs_tell(jobs, "%s@%s of job %s was killed by signal %d (%s)", process->name,
                  process->host->name, job->name, end->number, strsignal(end->number));
    else if (process->state == PROCESS_KILLED)
        jobs_tell(jobs, "%s@%s of job %s ended: exit status %d", process->name, process->host->name,
                  job->name, end->number);
}

void jobs_say_once(struct jobs *jobs, struct job_machine *machine, const char *text)
{
    const char *note = conduct_note_once(jobs->conduct, machine->name, text);

    if (note == NULL)
        return;
    jobs->meta_changed = true;
    jobs_tell(jobs, "note: %s: %s", machine->name, note);
}

void jobs_distrust(struct jobs *jobs, struct job_machine *machine, const char *why)
{
    if (machine->distrusted)
        return;
    machine->distrusted = true;
    jobs_error(jobs, "%s: its agent says what this version of dpm does not understand: %s",
               machine->name, why);
}

static void take_recording_end(struct jobs *jobs, const struct job_machine *machine,
                               const struct conduct_notice *notice)
{
    const struct job *job = jobs_find_recording(jobs, notice->recording);

    jobs_tell(jobs, "%s: the recording%s%s ended: %s", machine->name, job == NULL ? "" : " of job ",
              job == NULL ? "" : job->name, notice->text);
}

static void take_notice(struct jobs *jobs, struct job_machine *machine,
                        const struct conduct_notice *notice)
{
    if (notice->kind == NOTICE_RECORDING_ENDED)
        take_recording_end(jobs, machine, notice);
    else if (notice->kind == NOTICE_NOTE)
        jobs_say_once(jobs, machine, notice->text);
}

static void note_away(struct job_machine *machine, const struct remote_host *host)
{
    if (host->state == REMOTE_READY)
        machine->away = 0;
    else if (machine->away == 0 && host->was_ready)
        machine->away = time(NULL);
}

static void take_changed(struct jobs *jobs, const struct remote_host *host, const char *line)
{
    struct job_machine *machine = host->context;

    if (machine != NULL)
        note_away(machine, host);
    /* when it is there again, its agent may know of other states, or be another one, which knows of no process */
    if (machine != NULL)
        machine->unsure |=
            host->was_ready && (host->state == REMOTE_OUT || host->state == REMOTE_AWAY);
    if (line != NULL && jobs->connecting != NULL && strcmp(jobs->connecting, host->name) == 0)
        snprintf(jobs->why, sizeof(jobs->why), "%s", line);
    else if (line != NULL)
        jobs_error(jobs, "%s", line);
}

static void take_signal(struct jobs *jobs)
{
    struct signalfd_siginfo info;

    if (read(jobs->options.signals, &info, sizeof(info)) != sizeof(info))
        return;
    if (info.ssi_signo != SIGCHLD)
        conduct_interrupt(jobs->conduct);
    jobs->dead |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
}

void jobs_happen(void *context, const struct conduct_event *event)
{
    struct jobs *jobs = context;
    struct job_machine *machine = event->host == NULL ? NULL : event->host->context;

    switch (event->kind) {
    case CONDUCT_SAID:
        jobs_tell(jobs, "%s: %s", event->host->name, event->text);
        return;
    case CONDUCT_CHANGED:
        take_changed(jobs, event->host, event->text);
        return;
    case CONDUCT_MISSING:
        for (size_t i = 0; i < jobs->machine_count; i++)
            jobs->machines[i]->unsure = true;
        __attribute__((fallthrough));
    case CONDUCT_TROUBLE:
        jobs_error(jobs, "%s", event->text);
        return;
    case CONDUCT_READABLE:
        take_signal(jobs);
        return;
    case CONDUCT_PROCESS:
        take_change(jobs, event->process);
        return;
    case CONDUCT_OUTPUT:
        jobs_tell(jobs, "%s@%s: %s", event->process->name, event->host->name, event->text);
        return;
    case CONDUCT_NOTICE:
        if (machine != NULL)
            take_notice(jobs, machine, event->notice);
        return;
    case CONDUCT_WRONG:
        if (machine != NULL)
            jobs_distrust(jobs, machine, event->text);
    }
}

/* Without the server nothing is heard of any machine: processes seem to run on. Time in which we did not listen does not count. */
static void look_at_server(struct jobs *jobs, uint64_t now)
{
    uint64_t passed = now - jobs->looked;

    if (passed < LOOK_EVERY)
        return;
    bool answers = fabric_silence(conduct_fabric(jobs->conduct)) < passed;
    jobs->looked = now;
    jobs->silence = answers ? 0 : jobs->silence + (passed < LOOK_MOST ? passed : LOOK_MOST);
    if (jobs->silence >= FABRIC_SILENCE_USUAL && !jobs->said_silence)
        jobs_error(jobs,
                   "the session's server has not answered for %llu s, so nothing is heard of the "
                   "machines: is its disk full?",
                   FABRIC_SILENCE_USUAL / 1000000000);
    jobs->said_silence = jobs->silence >= FABRIC_SILENCE_USUAL;
}

void jobs_work(void *context)
{
    struct jobs *jobs = context;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    look_at_server(jobs, now);
    filters_look(jobs);
    if (now - jobs->kept < KEEP_EVERY)
        return;
    jobs->kept = now;
    jobs_keep(jobs);
}

void jobs_poll(struct jobs *jobs, int timeout_ms)
{
    conduct_step(jobs->conduct, timeout_ms);
}

bool jobs_wait_for(struct jobs *jobs, int file)
{
    struct pollfd files = {.fd = file, .events = POLLIN};

    jobs_keep(jobs);
    jobs->typing = true;
    conduct_set_patience(jobs->conduct, 1);
    while (poll(&files, 1, 20) <= 0 && !conduct_is_interrupted(jobs->conduct))
        jobs_poll(jobs, 0);
    jobs->typing = false;
    return !conduct_is_interrupted(jobs->conduct);
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
