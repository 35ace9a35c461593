/* SPDX-License-Identifier: MIT */
/*
 * acquisitions.c: running processes that a recording has taken.
 *
 *      recording.acquire --> choice (pids, names, cgroups, units, all) --> the meter
 *      each second       --> processes that have started since
 */
#include "agent/agent_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static void free_one(struct acquisition *acquisition)
{
    acquiring_done(&acquisition->acquiring);
    process_choice_done(&acquisition->choice);
    free(acquisition);
}

void acquisitions_free(struct agent_recording *recording)
{
    struct acquisition *each;

    while ((each = recording->acquisitions) != NULL) {
        recording->acquisitions = each->next;
        free_one(each);
    }
}

static int choose_words(json_t *array, struct process_choice *choice,
                        int (*add_word)(struct process_choice *choice, const char *word,
                                        struct problem *problem),
                        struct problem *problem)
{
    size_t index;
    json_t *value;
    char number[24];
    int result = 0;

    if (array != NULL && !json_is_array(array))
        return problem_set(problem, -EINVAL, "pids, names, cgroups and units must be arrays");
    json_array_foreach(array, index, value)
    {
        const char *word = json_string_value(value);
        if (json_is_integer(value)) {
            snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
            word = number;
        }
        if (word == NULL)
            return problem_set(problem, -EINVAL,
                               "each pid, name, cgroup and unit must be a text or a number");
        result = add_word(choice, word, problem);
        if (result < 0)
            return result;
    }
    return result;
}

static int choose(json_t *params, struct acquisition *acquisition, struct problem *problem)
{
    struct process_choice *choice = &acquisition->choice;
    int result = choose_words(json_object_get(params, "pids"), choice, process_choice_pid, problem);

    if (result >= 0)
        result =
            choose_words(json_object_get(params, "names"), choice, process_choice_name, problem);
    if (result >= 0)
        result = choose_words(json_object_get(params, "cgroups"), choice, process_choice_cgroup,
                              problem);
    if (result >= 0)
        result =
            choose_words(json_object_get(params, "units"), choice, process_choice_unit, problem);
    acquisition->acquiring.choice = choice;
    acquisition->acquiring.all = json_is_true(json_object_get(params, "all"));
    if (json_is_true(json_object_get(params, "masters")))
        acquisition->acquiring.below = BELOW_MASTERS;
    if (json_is_true(json_object_get(params, "descendants")))
        acquisition->acquiring.below = BELOW_ALL;
    if (result >= 0 && !acquisition->acquiring.all && choice->pid_count + choice->word_count == 0)
        return problem_set(problem, -EINVAL,
                           "recording.acquire: give pids, names, cgroups, units, or all");
    return result;
}

/* The process that holds the remote shell of our own connection: metered with the others, its records would be messages
 * again. 0: there is none. */
static pid_t find_front(const struct agent *agent)
{
    struct ucred front = {0};
    socklen_t size = sizeof(front);

    return getsockopt(agent->front, SOL_SOCKET, SO_PEERCRED, &front, &size) < 0 ? 0 : front.pid;
}

static void say_taken(const struct acquiring *acquiring)
{
    char taken[ACQUIRED_TEXT_SIZE], line[ACQUIRED_TEXT_SIZE + 32];

    acquiring_text(acquiring, taken);
    snprintf(line, sizeof(line), "metering %s", taken);
    if (taken[0] != '\0')
        acquiring->say(line, acquiring->context);
}

static int acquire(struct agent_recording *recording, json_t *params,
                   struct acquisition *acquisition, struct meter_begun *ret_begun,
                   struct problem *problem)
{
    struct meter_interface *meter = recording->recording.meter;
    int result = choose(params, acquisition, problem);

    if (result < 0)
        return result;
    if (meter->acquire == NULL)
        return problem_set(
            problem, -ENOTSUP,
            "the ptrace meter cannot meter running processes: run dpmd there, or the "
            "agent as root");
    acquisition->acquiring.front = find_front(recording->agent);
    acquisition->acquiring.say = recordings_say;
    acquisition->acquiring.context = recording;
    result = acquiring_begin(&acquisition->acquiring, meter, ret_begun, problem);
    if (result < 0)
        return result;
    say_taken(&acquisition->acquiring);
    recordings_begin_one(recording);
    return recording_catch_up(&recording->recording, problem);
}

int recordings_acquire(struct agent *agent, json_t *params, json_t **ret_result,
                       struct problem *problem)
{
    struct meter_begun begun = {0};
    struct agent_recording *recording = NULL;
    int result = recordings_find_active(agent, params, &recording, problem);

    if (result < 0)
        return result;
    struct acquisition *acquisition = calloc(1, sizeof(*acquisition));
    if (acquisition == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the choice of processes");
    acquisition->next = recording->acquisitions;
    recording->acquisitions = acquisition;
    recording->notes = json_array();
    result = acquire(recording, params, acquisition, &begun, problem);
    json_t *notes = recording->notes;
    recording->notes = NULL;
    if (result < 0) {
        recording->acquisitions = acquisition->next;
        free_one(acquisition);
        json_decref(notes);
        recordings_note_stopped(recording, problem);
        return result;
    }
    *ret_result = json_pack("{s:I, s:I, s:o}", "processes", (json_int_t)begun.processes,
                            "unsettled", (json_int_t)begun.unsettled, "notes", notes);
    return 0;
}

void acquisitions_step(struct agent_recording *recording)
{
    struct problem problem;
    int result = 0;

    if (!recording->looks)
        return;
    for (struct acquisition *each = recording->acquisitions; result >= 0 && each != NULL;
         each = each->next)
        result = acquiring_step(&each->acquiring, &problem);
    if (result >= 0)
        return;
    recording->looks = false;
    recordings_say("processes that start from now on are not metered:", recording);
    recordings_say(problem.text, recording);
}
