/* SPDX-License-Identifier: MIT */
/*
 * filter_process.h: filters are processes of their own, started by a controller, one for each folder that stores.
 *
 *      dpm filter --from SESSION --output FOLDER ...     its messages: filter-NUMBER.log in the session's folder
 */
#ifndef DPM_FILTER_PROCESS_H
#define DPM_FILTER_PROCESS_H

#include "conduct/conduct.h"
#include "trace/packets.h"

#include <spawn.h>

struct filter_process {
    unsigned number; /* of its log */
    pid_t pid;       /* 0: it was never started */
    uint64_t start;  /* of the process: its number may be another's later */
};

bool filter_process_alive(const struct filter_process *process);

/* ---- its words ---- */

#define FILTER_WORDS_MOST 40

struct filter_words {
    const char *list[FILTER_WORDS_MOST + 1]; /* NULL at the end */
    size_t count;
    char numbers[3][24]; /* of limits */
};

/* Adds an option with its value, which must outlive the words, unless that is NULL. */
void filter_words_add(struct filter_words *words, const char *option, const char *value);

void filter_words_flag(struct filter_words *words, const char *option);

/* Begins with the program dpm, whose path is `self`: what every filter of the session gets. */
void filter_words_begin(struct filter_words *words, const char *self, const struct remote *remote,
                        const char *folder);

/* What it keeps of each trace. */
void filter_words_limits(struct filter_words *words, const struct trace_copy_limits *limits);

/* ---- the process ---- */

/* Starts it, and waits until it stores. `output` becomes its standard output; -1: that goes to its log. Returns 0, or a negative
 * errno with a line in `problem`, where `name` stands for the filter. */
int filter_process_start(struct conduct *conduct, struct filter_process *process,
                         const struct filter_words *words, int output, const char *name,
                         struct problem *problem);

void filter_process_log(const struct conduct *conduct, const struct filter_process *process,
                        char path[PATH_MAX]);

#define FILTER_LINE_SIZE 400

/* The last line of its log; "" without one. Returns whether it stores, or did. */
bool filter_process_says(const struct conduct *conduct, const struct filter_process *process,
                         char line[FILTER_LINE_SIZE]);

/* Reaps it, if it is ours, and says how it has ended: "was killed by signal 9", "ended with exit status 4 (trouble)", "has ended".
 * Returns its status as of waitpid; negative: it is not known, as an earlier controller has started it. */
int filter_process_how(const struct conduct *conduct, const struct filter_process *process,
                       char how[FILTER_LINE_SIZE + 64]);

/* Asks it to end, and waits a few seconds for that. */
void filter_process_end(const struct filter_process *process);

/* Starts a program with signals as they are by default; `in` is its standard input, -1: it is empty. `actions` set up its
 * output. Returns 0 or a positive errno, as posix_spawn(3). */
int conduct_spawn(char *const *words, short flags, int in, posix_spawn_file_actions_t *actions,
                  pid_t *ret_pid);

#endif
