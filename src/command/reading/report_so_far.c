/* SPDX-License-Identifier: MIT */
/* report_so_far.c: see report_so_far.h. */
#include "command/reading/report_so_far.h"

#include "show/show.h"

/* The first interval is the whole. */
static int report_last_interval(struct statistics *statistics, uint32_t origins,
                                const struct communication *before, FILE *file)
{
    struct communication *since;
    int result = before == NULL ? 1 : statistics_finish(statistics, origins, &since);

    if (result != 0)
        return result < 0 ? result : 0;
    result = communication_since(since, before);
    if (result == 0)
        result = show_last_interval(since, file);
    communication_free(since);
    return result;
}

int report_so_far(struct statistics *statistics, uint32_t origins, struct communication **before,
                  FILE *file, struct problem *problem)
{
    const struct show_options options = {.live = true};
    struct communication *communication;
    int result = statistics_finish(statistics, origins, &communication);

    if (result < 0)
        return problem_set(problem, result, "out of memory for the report");
    result = show_statistics(communication, file, &options);
    if (result == 0)
        result = report_last_interval(statistics, origins, *before, file);
    communication_free(*before);
    *before = communication;
    fputc('\n', file);
    fflush(file);
    return result < 0 ? problem_set(problem, result, "out of memory for the report") : 0;
}
