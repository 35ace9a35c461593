/* SPDX-License-Identifier: MIT */
/* whatif_run_search.c: which single change makes a run shortest. The parts of its critical path say what there is to change. */
#include "analysis/whatif/whatif_run_private.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL        0.01
#define NEXT_TO_NONE 0.001 /* of the path: not tried */

/* Whether a part of the path is something to change. */
static bool change_for(const struct whatif_run *run, const struct whatif_run_part *part,
                       struct whatif_change *ret_change, double *ret_time)
{
    const char *name = run->parties[part->name].asked;

    *ret_time = part->time;
    *ret_change = (struct whatif_change){.name = name, .wait = part->kind};
    if (name[0] == '\0')
        return false;
    if (part->kind == ELAPSED_COMPUTES) {
        ret_change->kind = WHATIF_SPEED;
        ret_change->amount = 2;
        *ret_time /= 2;
    } else if (part->kind == ELAPSED_NO_CPU) {
        ret_change->kind = WHATIF_PLACE;
    } else if (part->kind == ELAPSED_IN_FLIGHT) {
        ret_change->kind = WHATIF_NO_HOLDBACK;
        ret_change->name = NULL;
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

static int try_parts(struct whatif_run *run, const struct whatif_run_part *parts, size_t count,
                     size_t most, uint64_t steps_most, struct whatif_run_found *found)
{
    uint64_t size = critical_path_size(run->reading) + 1, steps = 0;
    bool held_tried = false; /* for messages to all programs at once */

    for (size_t i = 0; i < count; i++) {
        struct whatif_run_trial *trial = &found->trials[found->count];
        struct problem ignored;
        double time;
        if (!change_for(run, &parts[i], &trial->change, &time) ||
            (trial->change.kind == WHATIF_NO_HOLDBACK && held_tried) ||
            time < NEXT_TO_NONE * found->now.base.time)
            continue;
        if (found->tried == most || steps >= steps_most) {
            found->left++;
            continue;
        }
        held_tried = held_tried || trial->change.kind == WHATIF_NO_HOLDBACK;
        trial->answer = found->now;
        trial->concerns = time / found->now.base.time;
        steps += size;
        int result = whatif_run_try(run, &trial->change, 1, &trial->answer, &ignored);
        if (result < 0 && result != -EINVAL)
            return result;
        found->tried += result == 0;
        found->count += result == 0 && gain(trial) >= SMALL;
    }
    return 0;
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
    result = try_parts(run, parts, count, most, steps_most, ret_found);
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
