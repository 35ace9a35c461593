/* SPDX-License-Identifier: MIT */
/* whatif_run_search.c: which single change makes a run shortest. The parts of its critical path say what there is to change. */
#include "analysis/whatif/whatif_run_private.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL        0.01
#define NEXT_TO_NONE 0.001 /* of the path: not tried */

/* Whether a part of the path is something to change. `held`: of the path, in messages that may be held back. */
static bool change_for(const struct whatif_run *run, const struct whatif_run_part *part,
                       double held, struct whatif_change *ret_change, double *ret_time)
{
    const char *name = run->parties[part->name].asked;

    *ret_time = part->time;
    *ret_change = (struct whatif_change){.name = name, .wait = part->kind};
    if (name[0] == '\0')
        return false;
    if (part->kind == ELAPSED_COMPUTES) {
        ret_change->kind = WHATIF_SPEED;
        ret_change->amount = 2;
    } else if (part->kind == ELAPSED_NO_CPU) {
        ret_change->kind = WHATIF_PLACE;
    } else if (part->kind == ELAPSED_IN_FLIGHT) {
        ret_change->kind = WHATIF_NO_HOLDBACK; /* of all names at once */
        ret_change->name = NULL;
        *ret_time = held;
    } else {
        ret_change->kind = WHATIF_WAIT;
        return whatif_is_own_wait(part->kind);
    }
    return true;
}

static int by_time(const void *one, const void *other)
{
    const struct whatif_run_part *a = one, *b = other;

    return (a->time < b->time) - (a->time > b->time);
}

static double gain(const struct whatif_run_trial *trial)
{
    return 1 - trial->answer.then.time / trial->answer.recorded;
}

static int by_gain(const void *one, const void *other)
{
    double a = gain(one), b = gain(other);

    return (a < b) - (a > b);
}

/* What is searched, and what was found. */
struct run_search {
    struct whatif_run *run;
    struct whatif_run_found *found;
    size_t most;
    uint64_t steps, steps_most;
    double held;          /* ns of the path, in messages that may be held back ... */
    bool held_tried;      /* ... to all programs at once */
    struct lookup of_pid; /* -> process */
};

/* `time`: of the path, that it is about. Returns 0 or a negative errno. */
static int try_change(struct run_search *search, const struct whatif_change *change, double time)
{
    struct whatif_run_found *found = search->found;
    struct whatif_run_trial *trial = &found->trials[found->count];
    struct problem ignored;

    if (found->tried == search->most || search->steps >= search->steps_most) {
        found->left++;
        return 0;
    }
    *trial = (struct whatif_run_trial){
        .change = *change, .concerns = time / found->now.base.time, .answer = found->now};
    search->steps += critical_path_size(search->run->reading) + 1;
    int result = whatif_run_try(search->run, change, &trial->answer, &ignored);
    found->tried += result == 0;
    found->count += result == 0 && gain(trial) >= SMALL;
    return result == -EINVAL ? 0 : result;
}

static uint64_t key_of(uint32_t origin, uint32_t pid)
{
    return (uint64_t)origin << 32 | pid;
}

static int find_processes(struct run_search *search)
{
    const struct whatif_run *run = search->run;
    int result = 0;

    for (uint32_t i = 0; i < run->count && result == 0; i++)
        result =
            lookup_set(&search->of_pid, key_of(run->parties[i].origin, run->parties[i].pid), i);
    return result;
}

/* Index of a process of the statistics; LOOKUP_NONE: there is none. */
static uint32_t process_of(const struct run_search *search, uint32_t index)
{
    const struct communication_process *is = &search->run->communication->processes[index];

    return lookup_find(&search->of_pid, key_of(is->origin, is->pid));
}

#define SMALL_MESSAGE 32768
#define LARGE_MESSAGE 65536 /* what a pipe holds */

/* To whom programs of this name send most, if in small messages; NULL: none. */
static const char *sends_small_to(const struct run_search *search, uint32_t name)
{
    const struct whatif_run *run = search->run;
    const struct communication *communication = run->communication;

    for (size_t i = 0; i < communication->pair_count; i++) { /* most bytes first */
        const struct communication_pair *pair = &communication->pairs[i];
        if (pair->from.count != 1 || pair->to.count != 1 || pair->sent.messages == 0)
            continue;
        uint32_t from = process_of(search, pair->from.processes[0]);
        uint32_t to = process_of(search, pair->to.processes[0]);
        if (from != LOOKUP_NONE && to != LOOKUP_NONE && run->names[from] == name)
            return pair->sent.bytes / pair->sent.messages < SMALL_MESSAGE ? run->parties[to].asked
                                                                          : NULL;
    }
    return NULL;
}

static int try_part(struct run_search *search, const struct whatif_run_part *part)
{
    struct whatif_change change;
    double time;
    int result = 0;

    if (!change_for(search->run, part, search->held, &change, &time) ||
        time < NEXT_TO_NONE * search->found->now.base.time)
        return 0;
    if (change.kind != WHATIF_NO_HOLDBACK || !search->held_tried)
        result = try_change(search, &change, time);
    search->held_tried = search->held_tried || change.kind == WHATIF_NO_HOLDBACK;
    if (result < 0 || change.kind != WHATIF_SPEED)
        return result;
    change = (struct whatif_change){.kind = WHATIF_BUFFER,
                                    .name = change.name,
                                    .to = sends_small_to(search, part->name),
                                    .amount = LARGE_MESSAGE};
    return change.to == NULL || change.to[0] == '\0' ? 0 : try_change(search, &change, part->time);
}

int whatif_run_search(struct whatif_run *run, size_t most, uint64_t steps_most,
                      struct whatif_run_found *ret_found, struct problem *problem)
{
    *ret_found = (struct whatif_run_found){.count = 0};
    int result = whatif_run_begin(run, &ret_found->now, problem);
    if (result < 0)
        return result;
    size_t count = run->part_count; /* further simulations overwrite them */
    struct whatif_run_part *parts = calloc(count + 1, sizeof(*parts));
    ret_found->trials = calloc(most + 1, sizeof(*ret_found->trials));
    if (parts == NULL || ret_found->trials == NULL) {
        free(parts);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++)
        parts[i] = run->parts[i];
    qsort(parts, count, sizeof(*parts), by_time);
    struct run_search search = {
        .run = run, .found = ret_found, .most = most, .steps_most = steps_most, .held = run->held};
    result = find_processes(&search);
    for (size_t i = 0; i < count && result >= 0; i++)
        result = try_part(&search, &parts[i]);
    lookup_done(&search.of_pid);
    free(parts);
    if (ret_found->count > 1)
        qsort(ret_found->trials, ret_found->count, sizeof(*ret_found->trials), by_gain);
    return result < 0 ? problem_set(problem, result, "out of memory") : 0;
}

void whatif_run_found_done(struct whatif_run_found *found)
{
    free(found->trials);
    *found = (struct whatif_run_found){.count = 0};
}
