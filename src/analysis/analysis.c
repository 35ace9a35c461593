/* SPDX-License-Identifier: MIT */
/* analysis.c: the loop over a history. See analysis.h. */
#include "analysis/analysis.h"

#include <errno.h>

int analysis_add(const struct analysis *analysis, const struct history_event *event,
                 struct problem *problem)
{
    int result = analysis->add(analysis->self, event, problem);

    return result == -ENOMEM ? problem_set(problem, result, "out of memory for %s", analysis->name)
                             : result;
}

int analyses_read(struct history *history, const struct analysis *analyses, size_t count,
                  struct problem *problem)
{
    struct history_event event;
    int result;

    /* stays unless history_next or an analysis sets a better one */
    problem_set(problem, -ENOMEM, "out of memory for the history of the recording");
    while ((result = history_next(history, &event, problem)) == SOURCE_RECORD)
        for (size_t i = 0; i < count; i++) {
            int added = analysis_add(&analyses[i], &event, problem);
            if (added < 0)
                return added;
        }
    return result;
}

int analyses_read_all(struct history *history, const struct analysis *analyses, size_t count,
                      struct problem *problem)
{
    int result = analyses_read(history, analyses, count, problem);

    if (result == SOURCE_NONE_YET)
        return problem_set(problem, -EAGAIN, "the recording has not ended yet");
    return result < 0 ? result : 0;
}
