/* SPDX-License-Identifier: MIT */
/*
 * critical_what_ifs.c: how long the critical path would be if something were faster, and which part of the tree of
 * processes carries it.
 *
 *      sh 100% -- xargs 99% -- work.sh  2%
 *                          '-- work.sh 95% -- gzip 3%, gzip 2% ...     the second work.sh and what it created
 */
#include "analysis/parallelism/critical_path_private.h"

#include <errno.h>
#include <stdlib.h>

/* Whether a process is another one, or was created by it, or by one that it created ... */
static bool is_of_tree(const struct parallelism *parallelism, uint32_t process, uint32_t root)
{
    /* a parent is seen before its children, so its index is less: no circles */
    while (process != root && parallelism->processes[process].parent < process)
        process = parallelism->processes[process].parent;
    return process == root;
}

bool what_if_concerns(const struct critical_path_reading *reading, const struct what_if *what_if,
                      uint32_t process)
{
    switch (what_if->scope) {
    case SCOPE_ONE:
        return process == what_if->process;
    case SCOPE_TREE:
        return is_of_tree(reading->parallelism, process, what_if->process);
    default:
        return critical_has_name(&reading->graph, process, what_if->process);
    }
}

static int64_t find_process(const struct graph *graph, const char *name)
{
    const struct parallelism_process *processes = graph->result->processes;

    for (size_t i = 0; i < graph->result->process_count; i++)
        if (process_is_meant(name, processes[i].pid, processes[i].name))
            return (int64_t)i;
    return -ENOENT;
}

int critical_what_ifs(struct critical_path_reading *reading, struct problem *problem)
{
    const struct critical_path_options *options = &reading->options;
    struct critical_path *result = reading->result;

    result->what_ifs = calloc(options->asked_count + 1, sizeof(*result->what_ifs));
    if (result->what_ifs == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->asked_count; i++) {
        const struct what_if_asked *asked = &options->asked[i];
        int64_t process = find_process(&reading->graph, asked->process);
        int64_t to = asked->speed > 0 ? 0 : find_process(&reading->graph, asked->to);
        if (process < 0 || to < 0)
            return problem_set(problem, -EINVAL, "--what-if: no process of the traces is %s",
                               process < 0 ? asked->process : asked->to);
        struct what_if *what_if = &result->what_ifs[result->what_if_count++];
        *what_if = (struct what_if){
            .process = (uint32_t)process, .speed = asked->speed, .to = (uint32_t)to};
        what_if->longest = critical_forward(reading, what_if, &what_if->whole);
        what_if->total = critical_total(reading);
    }
    return 0;
}

static bool is_only_one(const struct graph *graph, uint32_t process)
{
    for (uint32_t i = 0; i < graph->result->process_count; i++)
        if (i != process && critical_has_name(graph, i, process))
            return false;
    return true;
}

/* Tries the processes with the most CPU time on the path, one for each name, at twice their speed. */
int critical_offer(struct critical_path_reading *reading)
{
    struct critical_path *result = reading->result;
    size_t count = result->parallelism->process_count;

    result->what_ifs = calloc(reading->options.offered + 1, sizeof(*result->what_ifs));
    result->alone = calloc(reading->options.offered + 1, sizeof(*result->alone));
    if (result->what_ifs == NULL || result->alone == NULL)
        return -ENOMEM;
    while (result->what_if_count < reading->options.offered) {
        uint32_t best = NO_PROCESS_NUMBER;
        for (uint32_t i = 0; i < count; i++) {
            bool taken = result->processes[i].cpu == 0;
            for (size_t k = 0; k < result->what_if_count && !taken; k++)
                taken = critical_has_name(&reading->graph, i, result->what_ifs[k].process);
            if (!taken && (best == NO_PROCESS_NUMBER ||
                           result->processes[i].cpu > result->processes[best].cpu))
                best = i;
        }
        if (best == NO_PROCESS_NUMBER)
            return 0;
        struct what_if *alone = &result->alone[result->what_if_count];
        struct what_if *what_if = &result->what_ifs[result->what_if_count++];
        *what_if = (struct what_if){.process = best, .speed = 2};
        what_if->longest = critical_forward(reading, what_if, &what_if->whole);
        what_if->total = critical_total(reading);
        *alone = *what_if;
        alone->scope = SCOPE_ONE;
        if (!is_only_one(&reading->graph, best))
            alone->longest = critical_forward(reading, alone, NULL);
    }
    return 0;
}

/* ---- what carries it ---- */

/* CPU time on the path of each process and those that it created. */
static uint64_t *sum_trees(const struct critical_path *path)
{
    size_t count = path->parallelism->process_count;
    uint64_t *sums = calloc(count + 1, sizeof(*sums));

    for (size_t i = 0; sums != NULL && i < count; i++)
        sums[i] = path->processes[i].cpu;
    for (size_t i = count; sums != NULL && i > 0; i--) {
        uint32_t parent = path->parallelism->processes[i - 1].parent;
        if (parent < i - 1)
            sums[parent] += sums[i - 1];
    }
    return sums;
}

int critical_find_carrier(struct critical_path_reading *reading)
{
    struct critical_path *path = reading->result;
    double enough = CARRIER_SHARE * (double)path->cpu;
    uint64_t *sums = sum_trees(path);
    struct what_if what_if = {.process = NO_PARENT, .speed = 2};

    path->carrier = (struct critical_carrier){.process = NO_PARENT};
    if (sums == NULL)
        return -ENOMEM;
    /* children come later, so the last one is the innermost */
    for (uint32_t i = 0; i < path->parallelism->process_count; i++)
        if (path->cpu > 0 && (double)sums[i] >= enough)
            what_if.process = i;
    if (what_if.process != NO_PARENT) {
        bool alone = (double)path->processes[what_if.process].cpu >= enough;
        what_if.scope = alone ? SCOPE_ONE : SCOPE_TREE;
        path->carrier.alone = alone;
        path->carrier.process = what_if.process;
        path->carrier.cpu = alone ? path->processes[what_if.process].cpu : sums[what_if.process];
        path->carrier.longest = critical_forward(reading, &what_if, NULL);
    }
    free(sums);
    return 0;
}
