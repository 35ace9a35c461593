/* SPDX-License-Identifier: MIT */
/* job_control.c: starting, stopping and removing jobs; waiting for them; their input. See job.h. */
#include "job/job_private.h"

#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#define PROGRESS 500000000ull  /* ns: how often it is shown */
#define CONFIRM  2000000000ull /* ns: for an agent to report what a signal did */

static void report(struct jobs *jobs, const struct conduct_process *process, const char *says)
{
    jobs_print(jobs, "%s@%s: %s", process->name, process->host->name, says);
}

/* ---- start and stop ---- */

static int take_change(struct jobs *jobs, enum process_state wanted,
                       struct conduct_process *process, struct conduct_answer *answer,
                       const char *says)
{
    struct problem ignored; /* it names the machine, too */
    bool ended = process->state == PROCESS_KILLED;

    job_of(process)->changed = true;
    if (conduct_changed(process, wanted, answer, &ignored) < 0)
        return jobs_error(jobs, "%s@%s: not %s: %s", process->name, process->host->name,
                          wanted == PROCESS_RUNNING ? "started" : "stopped", answer->why);
    report(jobs, process, ended && wanted == PROCESS_STOPPED ? "has ended" : says);
    return 0;
}

/* Until the agent has reported what each signal did: its report would come in the middle of the next command else. */
static void await_notices(struct jobs *jobs, const struct job *job,
                          const struct conduct_answer *answers)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + CONFIRM;

    for (size_t i = 0; i < job->count; i++)
        while (answers[i].host != NULL && answers[i].error == 0 && job->processes[i]->begun &&
               !job->processes[i]->confirmed && clock_now(CLOCK_MONOTONIC) < until)
            jobs_poll(jobs, 10);
}

static int change_all(struct jobs *jobs, enum job_action action, const char *name)
{
    enum process_state wanted = action == JOB_START ? PROCESS_RUNNING : PROCESS_STOPPED;
    struct job *job = jobs_need(jobs, name);
    struct conduct_answer *answers = job == NULL ? NULL : calloc(job->count + 1, sizeof(*answers));
    enum process_state *before = job == NULL ? NULL : calloc(job->count + 1, sizeof(*before));
    const char *says;
    int result = 0;

    for (size_t i = 0; answers != NULL && before != NULL && i < job->count; i++) {
        before[i] = job->processes[i]->state;
        if (job_rule(action, before[i], NULL) == JOB_DOES)
            conduct_change_later(job->processes[i], wanted, &answers[i]);
    }
    if (answers == NULL || before == NULL) {
        free(answers);
        free(before);
        return job == NULL ? -1 : jobs_error(jobs, "out of memory");
    }
    conduct_await(jobs->conduct, answers, job->count);
    await_notices(jobs, job, answers);
    for (size_t i = 0; i < job->count; i++) {
        bool does = job_rule(action, before[i], &says) == JOB_DOES;
        if (job->processes[i]->lost) /* it was before */
            job_rule_of(action, job->processes[i], &says);
        if (!does)
            report(jobs, job->processes[i], says);
        else if (take_change(jobs, wanted, job->processes[i], &answers[i], says) < 0)
            result = -1;
    }
    conduct_answers_done(answers, job->count);
    if (job->count == 0)
        jobs_print(jobs, "job %s has no processes", job->name);
    free(answers);
    free(before);
    return result;
}

int command_startjob(struct jobs *jobs, const struct job_command *command)
{
    return change_all(jobs, JOB_START, command->words[0]);
}

int command_stopjob(struct jobs *jobs, const struct job_command *command)
{
    return change_all(jobs, JOB_STOP, command->words[0]);
}

/* ---- removing ---- */

static bool may_remove(struct jobs *jobs, const struct conduct_process *process)
{
    const char *says;

    if (job_rule(JOB_REMOVE, process->state, &says) != JOB_REFUSES)
        return true;
    jobs_error(jobs, "%s@%s %s", process->name, process->host->name, says);
    return false;
}

/* Kills a stopped process, and waits for its end. */
static int kill_one(struct jobs *jobs, struct conduct_process *process, struct problem *problem)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + CONFIRM;
    struct conduct_answer answer;

    conduct_change_later(process, PROCESS_KILLED, &answer);
    conduct_await(jobs->conduct, &answer, 1);
    int result = conduct_changed(process, PROCESS_KILLED, &answer, problem);
    while (result == 0 && process->state != PROCESS_KILLED && clock_now(CLOCK_MONOTONIC) < until)
        jobs_poll(jobs, 10);
    return result;
}

static int remove_one(struct jobs *jobs, struct conduct_process *process)
{
    struct problem problem;
    const char *says;
    int result = 0;

    job_rule(JOB_REMOVE, process->state, &says);
    if (process->state == PROCESS_STOPPED)
        result = kill_one(jobs, process, &problem);
    else if (process->state == PROCESS_ACQUIRED)
        result = conduct_ask(jobs->conduct, process->host, "recording.flags",
                             json_pack("{s:s, s:i, s:b}", "recording", job_of(process)->recording,
                                       "pid", (int)process->pid, "leave", 1),
                             NULL, &problem);
    if (result < 0)
        return jobs_error(jobs, "%s@%s is not removed: %s", process->name, process->host->name,
                          problem.text);
    report(jobs, process, says);
    job_remove_process(process);
    return 0;
}

int command_removeprocess(struct jobs *jobs, const struct job_command *command)
{
    struct conduct_process *process = jobs_need_process(jobs, command->words[0], command->words[1]);

    if (process == NULL || !may_remove(jobs, process))
        return -1;
    return remove_one(jobs, process);
}

static void look_for_early_end(struct jobs *jobs, struct job *job,
                               const struct job_machine *machine, const struct recording_said *said)
{
    const char *why = notice_early_end(said);

    if (why == NULL)
        return;
    job->cut = true;
    jobs_error(jobs, "%s: the recording of job %s ended early: %s", machine->name, job->name, why);
}

/* What its meter has not recorded: of each recording, though that of an earlier job has missed the same. */
static void say_missed(struct jobs *jobs, const struct job_machine *machine, json_t *result)
{
    json_t *note;
    size_t i;

    json_array_foreach(json_object_get(result, "notes"), i, note)
    {
        if (json_is_string(note))
            jobs_tell(jobs, "note: %s: %s", machine->name, json_string_value(note));
    }
}

int jobs_end_recordings(struct jobs *jobs, struct job *job)
{
    struct conduct_answer *answers = calloc(job->recording_count + 1, sizeof(*answers));
    int result = 0;

    if (answers == NULL)
        return jobs_error(jobs, "out of memory");
    for (size_t i = 0; i < job->recording_count; i++)
        conduct_ask_later(jobs->conduct, job->recordings[i].machine->host, "recording.end",
                          request_recording(job->recording), CONDUCT_CALL_MS, &answers[i]);
    conduct_await(jobs->conduct, answers, job->recording_count);
    for (size_t i = 0; i < job->recording_count; i++) {
        const struct recording_said said =
            notice_recording(json_object_get(answers[i].result, "trace"));
        if (answers[i].error < 0)
            result = jobs_error(jobs, "%s: its recording is not ended: %s",
                                job->recordings[i].machine->name, answers[i].why);
        struct problem problem;
        if (answers[i].error == 0 &&
            jobs_await_published(jobs, job, job->recordings[i].machine, &problem) < 0)
            result = jobs_error(jobs, "%s", problem.text);
        look_for_early_end(jobs, job, job->recordings[i].machine, &said);
        if (said.lost > 0)
            jobs_print(jobs, "note: %s: %" PRIu64 " record%s lost",
                       job->recordings[i].machine->name, said.lost,
                       said.lost == 1 ? " was" : "s were");
        say_missed(jobs, job->recordings[i].machine, answers[i].result);
        json_decref(answers[i].result);
    }
    free(answers);
    return result;
}

int command_removejob(struct jobs *jobs, const struct job_command *command)
{
    struct job *job = jobs_need(jobs, command->words[0]);
    struct problem problem;
    char key[32];
    bool may = true;

    for (size_t i = 0; job != NULL && i < job->count; i++)
        may = may_remove(jobs, job->processes[i]) && may;
    if (job == NULL || !may)
        return job == NULL ? -1 : jobs_error(jobs, "job %s is not removed", job->name);
    for (size_t i = job->count; i-- > 0;)
        if (remove_one(jobs, job->processes[i]) < 0)
            return -1;
    /* the last packets reach the filter: the log is whole */
    int result = jobs_end_recordings(jobs, job);
    if (job->cut)
        result = -1;
    snprintf(key, sizeof(key), "job.%u", job->number);
    if (fabric_keep(conduct_fabric(jobs->conduct), key, NULL, &problem) < 0)
        result = jobs_error(jobs, "%s", problem.text);
    jobs_print(jobs, "job %s removed", job->name);
    jobs_free_job(jobs, job);
    return result;
}

/* ---- wait ---- */

static size_t running(const struct job *job)
{
    size_t count = 0;

    for (size_t i = 0; i < job->count; i++)
        count += job->processes[i]->state == PROCESS_RUNNING;
    return count;
}

/* It runs on a machine that can no longer be reached, so its end will not be reported. */
static bool is_out_of_reach(const struct conduct_process *process)
{
    return process->state == PROCESS_RUNNING && process->host->state == REMOTE_OUT;
}

static size_t out_of_reach(const struct job *job)
{
    size_t count = 0;

    for (size_t i = 0; i < job->count; i++)
        count += is_out_of_reach(job->processes[i]);
    return count;
}

static int say_out_of_reach(struct jobs *jobs, const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (is_out_of_reach(job->processes[i]))
            jobs_error(jobs, "%s@%s may still be running: its machine cannot be reached",
                       job->processes[i]->name, job->processes[i]->host->name);
    return -1;
}

/* Their last output may come after the notice of their end. */
static void await_output(struct jobs *jobs, const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        while (job->processes[i]->state == PROCESS_KILLED && job->processes[i]->begun &&
               !conduct_is_over(job->processes[i], clock_now(CLOCK_MONOTONIC)) &&
               !conduct_is_interrupted(jobs->conduct))
            jobs_poll(jobs, 10);
}

int command_wait(struct jobs *jobs, const struct job_command *command)
{
    struct job *job = jobs_need(jobs, command->words[0]);
    char processes[COUNTED_SIZE];
    int status = 0;

    if (job == NULL)
        return -1;
    uint64_t begin = clock_now(CLOCK_MONOTONIC), shown = 0;
    while (running(job) > out_of_reach(job) && !conduct_is_interrupted(jobs->conduct)) {
        uint64_t now = clock_now(CLOCK_MONOTONIC);
        if (now - shown >= PROGRESS) {
            shown = now;
            jobs_progress(jobs, "still running: %zu of %zu, %" PRIu64 " s", running(job),
                          job->count, (now - begin) / 1000000000);
        }
        jobs_poll(jobs, 50);
        jobs_look_again(jobs);
    }
    jobs_progress_end(jobs);
    if (conduct_is_interrupted(jobs->conduct)) {
        size_t count = running(job);
        show_counted(count, "process", processes);
        return jobs_error(jobs, "interrupted: %s of job %s %s still running", processes, job->name,
                          count == 1 ? "is" : "are");
    }
    await_output(jobs, job);
    if (out_of_reach(job) > 0)
        return say_out_of_reach(jobs, job);
    for (size_t i = 0; i < job->count; i++)
        if (job->processes[i]->state == PROCESS_KILLED && status == 0)
            status = job->processes[i]->status;
    return status == 0 ? 0 : -1;
}

/* ---- input ---- */

int jobs_give(struct jobs *jobs, struct conduct_process *process, const char *text, size_t size,
              bool end)
{
    struct conduct_answer answer;
    struct problem problem;

    conduct_input_later(process, CONDUCT_ONCE, text, size, end, &answer);
    conduct_await(jobs->conduct, &answer, 1);
    return conduct_answer_take(&answer, NULL, &problem) < 0 ? jobs_error(jobs, "%s", problem.text)
                                                            : 0;
}

/* A line of these words; NULL at the end. */
static int give_line(struct jobs *jobs, struct conduct_process *process, char *const *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        return jobs_error(jobs, "out of memory");
    for (size_t i = 0; words[i] != NULL; i++)
        fprintf(file, "%s%s", i == 0 ? "" : " ", words[i]);
    fputc('\n', file);
    fclose(file);
    int result = jobs_give(jobs, process, text, size, false);
    free(text);
    return result;
}

int command_input(struct jobs *jobs, const struct job_command *command,
                  const struct job_reader *reader)
{
    struct conduct_process *process = jobs_need_process(jobs, command->words[0], command->words[1]);
    const char *says;
    char *line;
    int result = 0;

    if (process == NULL)
        return -1;
    if (job_rule_of(JOB_GIVE_INPUT, process, &says) == JOB_REFUSES)
        return jobs_error(jobs, "%s@%s %s", process->name, process->host->name, says);
    if (command->count > 2)
        return give_line(jobs, process, command->words + 2);
    while (result == 0 && (line = reader->line(reader->context, "input> ")) != NULL) {
        if (strcmp(line, ".") == 0) {
            free(line);
            return 0;
        }
        result = give_line(jobs, process, (char *[]){line, NULL});
        free(line);
    }
    return result < 0 ? result : jobs_give(jobs, process, "", 0, true);
}
