/* SPDX-License-Identifier: MIT */
/* filter_trace.c: selects records of a finished trace. See filter.h. */
#include "filter/filter.h"
#include "filter/selecting.h"

int filter_trace(const char *trace, const struct rules *rules, const char *output,
                 struct filter_trace_result *ret_result, struct problem *problem)
{
    struct selecting selecting = {0};
    struct source *source;
    int result = trace_open(&trace, 1, &source, problem);

    if (result == 0)
        result = selecting_open(&selecting, source, rules, output, problem);
    if (result == 0)
        result = selecting_step(&selecting, problem);
    if (result < 0) {
        selecting_discard(&selecting);
        return result;
    }
    *ret_result = (struct filter_trace_result){.counts = rules_stage_counts(selecting.stage),
                                               .state = selecting.source->states[0]};
    return selecting_close(&selecting, problem);
}
