/* SPDX-License-Identifier: MIT */
/* job_script.c: commands one after the other: from a reader, from scripts, from the file of a job. See job.h. */
#include "job/job_private.h"

#include "event/event.h"

#include <errno.h>

/* ---- help ---- */

static void help(struct jobs *jobs)
{
    char flags[METER_FLAGS_TEXT_SIZE] = "";
    const char *name, *usage, *text, *word;
    char line[128];
    size_t length = 0;

    for (size_t i = 0; (name = job_command_word(i, &usage, &text)) != NULL; i++) {
        if (text == NULL)
            continue;
        snprintf(line, sizeof(line), "%s %s", name, usage);
        jobs_print(jobs, strlen(line) > 34 ? "%s\n%-36s%s" : "%-36s%s%s", line,
                   strlen(line) > 34 ? "" : text, strlen(line) > 34 ? text : "");
    }
    for (size_t i = 0; (word = meter_flag_word(i)) != NULL && length < sizeof(flags) - 32; i++)
        length += (size_t)snprintf(flags + length, sizeof(flags) - length, "%s%s",
                                   i == 0 ? "" : " ", word);
    jobs_print(jobs, "meter flags: %s", flags);
}

/* ---- die ---- */

static size_t count_active(const struct jobs *jobs)
{
    size_t active = 0;

    for (size_t i = 0; i < jobs->count; i++)
        for (size_t j = 0; j < jobs->list[i]->count; j++)
            active += jobs->list[i]->processes[j]->state != PROCESS_KILLED;
    return active;
}

static void took_end(void *context, struct remote_host *host, const struct conduct_answer *answer)
{
    if (answer->error < 0)
        jobs_error(context, "%s: %s; its agent may stay there for 24 h", host->name, answer->why);
}

/* Nothing is left to control: machines, server and session end. */
static void end_session(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->machine_count; i++) {
        const struct job_machine *machine = jobs->machines[i];
        if (machine->has_agent && (machine->host == NULL || machine->host->state != REMOTE_READY))
            jobs_error(jobs, "%s is not connected: an agent there ends by itself within 24 h",
                       machine->name);
    }
    /* an interrupted wait for filters must not leave agents behind */
    conduct_set_patience(jobs->conduct, 1);
    conduct_end_agents(jobs->conduct,
                       &(struct conduct_question){.took = took_end, .context = jobs});
    remote_end(conduct_remote(jobs->conduct));
    jobs->ended = true;
}

/* What was recorded reaches the filters before they end. Of a session that goes on, the server keeps what a filter that
 * does not run has not stored; the next controller starts that filter again. */
static int settle_filters(struct jobs *jobs, bool goes_on)
{
    struct problem problem;
    int result = 0;

    for (size_t i = 0; i < jobs->filter_count; i++) {
        struct kept_filter *filter = jobs->filters[i];
        bool own = strcmp(filter->program, "filter") == 0;
        if (filter->lacks && !goes_on)
            result = jobs_error(jobs, "filter %s has ended, and may not have stored everything",
                                filter->name);
        if ((goes_on || !own) && !filters_alive(filter))
            continue;
        if (filters_start(jobs, filter, &problem) < 0 || filters_settle(jobs, filter, &problem) < 0)
            result = jobs_error(jobs, "%s", problem.text);
    }
    return result;
}

/* Returns -1 after an error, which was printed. */
static int end_all_recordings(struct jobs *jobs)
{
    int result = 0;

    for (size_t i = 0; i < jobs->count; i++)
        if (jobs_end_recordings(jobs, jobs->list[i]) < 0)
            result = -1;
    return result;
}

static bool any_cut(const struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->list[i]->cut)
            return true;
    return false;
}

/* What the end of a script leaves. */
static void say_left(struct jobs *jobs, size_t active, bool incomplete)
{
    if (active > 0)
        jobs_tell(jobs, "%zu process%s as %s: dpm --session %s --attach goes on with %s", active,
                  active == 1 ? " is active, and stays" : "es are active, and stay",
                  active == 1 ? "it is" : "they are", jobs->session, active == 1 ? "it" : "them");
    else if (incomplete)
        jobs_error(jobs, "the session ends without what is not stored yet");
}

static int die(struct jobs *jobs)
{
    size_t active = count_active(jobs);
    bool again = jobs->warned;

    if (active > 0 && !again && !jobs->at_end) {
        jobs->warned = jobs->meta_changed = true;
        return jobs_error(
            jobs,
            "%zu process%s active: `die` again leaves %s as %s; dpm --session %s --attach goes on",
            active, active == 1 ? " is" : "es are", active == 1 ? "it" : "them",
            active == 1 ? "it is" : "they are", jobs->session);
    }
    jobs->warned = false;
    jobs->meta_changed = true;
    int ended = active > 0 ? 0 : end_all_recordings(jobs);
    int settled = settle_filters(jobs, active > 0);
    if ((ended < 0 || settled < 0) && active == 0 && !again) {
        jobs->warned = true;
        return jobs->at_end /* and tries once more */
                   ? -1
                   : jobs_error(jobs,
                                "`die` again ends the session without what is not stored yet");
    }
    if (jobs->at_end)
        say_left(jobs, active, ended < 0 || settled < 0);
    if (active > 0)
        jobs_keep(jobs);
    else
        end_session(jobs);
    jobs->dead = true;
    filters_end_all(jobs);
    return any_cut(jobs) ? -1 : 0;
}

/* ---- scripts ---- */

char *jobs_read_file(void *context, const char *prompt)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length = getline(&line, &size, context);

    (void)prompt;
    if (length < 0) {
        free(line);
        return NULL;
    }
    if (length > 0 && line[length - 1] == '\n')
        line[length - 1] = '\0';
    return line;
}

static int source(struct jobs *jobs, const char *path)
{
    if (jobs->depth >= JOB_NESTED)
        return jobs_error(jobs, "source: scripts are nested %d deep at most", JOB_NESTED);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return jobs_error(jobs, "source: %s: %s", path, strerror(errno));
    const struct job_reader reader = {jobs_read_file, file};
    jobs->depth++;
    unsigned failed = jobs_run(jobs, &reader);
    jobs->depth--;
    fclose(file);
    return failed == 0 ? 0 : -1;
}

static int sink(struct jobs *jobs, const struct job_command *command)
{
    FILE *file = command->count == 0 ? NULL : fopen(command->words[0], "we");
    int result = 0;

    if (command->count > 0 && file == NULL)
        return jobs_error(jobs, "sink: %s: %s", command->words[0], strerror(errno));
    if (jobs->sink != NULL && fclose(jobs->sink) != 0)
        result = jobs_error(jobs, "sink: not everything could be written: %s", strerror(errno));
    jobs->sink = file;
    return result;
}

/* ---- all ---- */

static int execute(struct jobs *jobs, const struct job_command *command,
                   const struct job_reader *reader)
{
    switch (command->kind) {
    case JOB_HELP:
        help(jobs);
        return 0;
    case JOB_FILTER:
        return command_filter(jobs, command);
    case JOB_NEWJOB:
        return command_newjob(jobs, command);
    case JOB_ADDPROCESS:
        return command_addprocess(jobs, command);
    case JOB_ACQUIRE:
        return command_acquire(jobs, command);
    case JOB_SETFLAGS:
        return command_setflags(jobs, command);
    case JOB_STARTJOB:
        return command_startjob(jobs, command);
    case JOB_STOPJOB:
        return command_stopjob(jobs, command);
    case JOB_REMOVEJOB:
        return command_removejob(jobs, command);
    case JOB_REMOVEPROCESS:
        return command_removeprocess(jobs, command);
    case JOB_JOBS:
        return command_jobs(jobs, command);
    case JOB_GETLOG:
        return command_getlog(jobs, command);
    case JOB_SOURCE:
        return source(jobs, command->words[0]);
    case JOB_SINK:
        return sink(jobs, command);
    case JOB_DIE:
        return die(jobs);
    case JOB_INPUT:
        return command_input(jobs, command, reader);
    case JOB_WAIT:
        return command_wait(jobs, command);
    case JOB_ANALYSE:
        return command_analyse(jobs, command);
    default:
        return 0;
    }
}

int jobs_line(struct jobs *jobs, const char *line, const struct job_reader *reader)
{
    struct job_command command;
    struct problem problem;

    conduct_set_patience(jobs->conduct,
                         1); /* a signal interrupts one command, at each of its steps */
    jobs_poll(jobs, 0);      /* states as they are now */
    jobs_look_again(jobs);
    if (job_parse(line, &command, &problem) < 0)
        return jobs_error(jobs, "%s", problem.text);
    if (jobs->warned && command.kind != JOB_DIE && command.kind != JOB_NOTHING) {
        jobs->warned = false; /* only an immediate repetition ends the controller */
        jobs->meta_changed = true;
    }
    int result = execute(jobs, &command, reader);
    jobs_doubt(jobs);
    job_command_done(&command);
    jobs_keep(jobs);
    return result;
}

unsigned jobs_run(struct jobs *jobs, const struct job_reader *reader)
{
    unsigned failed = 0;
    char *line;

    while (!jobs->dead && (line = reader->line(reader->context, "dpm> ")) != NULL) {
        failed += jobs_line(jobs, line, reader) < 0;
        free(line);
    }
    return failed;
}

void jobs_end(struct jobs *jobs)
{
    const struct job_reader none = {0};

    jobs->at_end = true;
    for (int i = 0; i < 2 && !jobs->dead; i++)
        jobs_line(jobs, "die", &none);
}

/* ---- completion ---- */

static void offer(const char *begin, const char *word,
                  void (*found)(void *context, const char *word), void *context)
{
    if (word != NULL && strncmp(word, begin, strlen(begin)) == 0)
        found(context, word);
}

/* Words after a job's name. */
static void complete_more(const struct jobs *jobs, const char *const *words, const char *begin,
                          void (*found)(void *context, const char *word), void *context)
{
    const struct job *job = jobs_find(jobs, words[1]);
    const char *flag;

    if (strcmp(words[0], "setflags") == 0)
        for (size_t i = 0; (flag = meter_flag_word(i)) != NULL; i++)
            offer(begin, flag, found, context);
    else if (strcmp(words[0], "newjob") == 0)
        for (size_t i = 0; i < jobs->filter_count; i++)
            offer(begin, jobs->filters[i]->name, found, context);
    else if (strcmp(words[0], "input") == 0 || strcmp(words[0], "removeprocess") == 0)
        for (size_t i = 0; job != NULL && i < job->count; i++)
            offer(begin, job->processes[i]->name, found, context);
    else
        for (size_t i = 0; i < jobs->machine_count; i++)
            offer(begin, jobs->machines[i]->name, found, context);
}

void jobs_complete(const struct jobs *jobs, const char *const *words, size_t count,
                   void (*found)(void *context, const char *word), void *context)
{
    const char *begin = words[count - 1], *name;

    if (count == 1) {
        for (size_t i = 0; (name = job_command_word(i, NULL, NULL)) != NULL; i++)
            offer(begin, name, found, context);
    } else if (count == 2 && strcmp(words[0], "getlog") == 0) {
        for (size_t i = 0; i < jobs->filter_count; i++)
            offer(begin, jobs->filters[i]->name, found, context);
    } else if (count == 2) {
        for (size_t i = 0; i < jobs->count; i++)
            offer(begin, jobs->list[i]->name, found, context);
    } else if (count > 2) {
        complete_more(jobs, words, begin, found, context);
    }
}
