/* SPDX-License-Identifier: MIT */
/* report.c: what a command shows of a whole recording. See show.h. */
#include "show/show.h"
#include "show/statistics/statistics_face.h"

int show_statistics(const struct communication *communication, FILE *file,
                    const struct show_options *options)
{
    return options->json  ? show_statistics_json(communication, file, options)
           : options->csv ? show_statistics_csv(communication, file, options)
                          : show_statistics_tables(communication, file, options);
}

int show_report(struct source *source, FILE *file, const struct show_options *options,
                struct problem *problem)
{
    struct communication *communication = NULL;
    struct history *history = NULL;
    int result = history_new(&source, 1, &history, problem);

    if (result == 0)
        result = communication_read_history(history, 1, 0, &communication, problem);
    history_free(history);
    if (result < 0)
        return result;
    result = show_statistics(communication, file, options);
    communication_free(communication);
    return result < 0 ? problem_set(problem, result, "out of memory for the report") : 0;
}
