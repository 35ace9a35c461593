/* SPDX-License-Identifier: MIT */
/*
 * selection.h: which part of a recording a command looks at: --process, --path, --from and --to of every command that
 * reads traces. Their meaning is in dpm(1), SELECTING PART OF A TRACE. Private to command/.
 *
 *      trace --> selected source --> history --> analysis --> rows of the processes that are meant
 *                times, paths                                 processes
 *
 * Times and paths restrict what is read: the result is that of a recording that began and ended then, or metered only
 * these paths. Processes restrict what is shown, since their peers must be read to explain them.
 */
#ifndef DPM_SELECTION_H
#define DPM_SELECTION_H

#include "command/shared/command.h"
#include "command/shared/dump_choice.h"

struct selection {
    uint64_t from; /* ns after the beginning of the recording; 0: from there on */
    uint64_t to;   /* 0: up to its end */
    bool reached;  /* a record at or after `from` was read */
    struct dump_choice choice;
};

enum selection_option {
    SELECTION_PROCESS = OPTION_SHARED + 100,
    SELECTION_PATH,
    SELECTION_FROM,
    SELECTION_TO,
    SELECTION_END,
};

extern const struct command_option selection_options[];

static inline bool selection_has_option(int option)
{
    return option >= SELECTION_PROCESS && option < SELECTION_END;
}

/* Parses one of these options. Returns as option_number does. */
int selection_take(const char *command, int option, struct selection *selection);

/* For struct command's `refused`. */
#define SELECTION_BIT(option) (1u << ((option)-SELECTION_PROCESS))

/* Call after the last option. `numbers`: --path may name one end by its number. Returns -1, or the exit status after a
 * usage error. */
int selection_check(const char *command, const struct selection *selection, bool numbers);

static inline bool selection_has_times(const struct selection *selection)
{
    return selection != NULL && (selection->from != 0 || selection->to != 0);
}

/* Whether sources must be restricted. */
static inline bool selection_restricts(const struct selection *selection)
{
    return selection_has_times(selection) ||
           (selection != NULL && selection->choice.paths.count > 0);
}

/* Reports options that nothing in the traces matched. */
void selection_say_unmet(const struct selection *selection);
void selection_done(struct selection *selection);

/* ---- selected_source.c ---- */

/* The wall-clock time of a source's first record, ns since 1970; INT64_MAX: it has none. The source must be rewound
 * afterwards. Errors: those of the source. */
int selected_source_begin(struct source *source, int64_t *ret_begin, struct problem *problem);

/* A source of the selected part of a trace: one origin, from trace_open. `begin`: wall-clock time from which the times
 * of the selection count. Both stay the caller's and must outlive it. Returns 0 or -ENOMEM. */
int selected_source_new(struct source *trace, struct selection *selection, int64_t begin,
                        struct source **ret_source);
/* The trace has been rewound. */
void selected_source_rewind(struct source *source);
void selected_source_free(struct source *source);

#endif
