/* SPDX-License-Identifier: MIT */
/*
 * command.h: the commands of the program dpm. Each has a file, a function
 * command_NAME, one row in the table of main.c, and a manual page dpm-NAME(1). Private to control/.
 */
#ifndef DPM_COMMAND_H
#define DPM_COMMAND_H

#include "base/base.h"

#include "event/event.h"

/* Exit status of the program, besides those of <stdlib.h>. */
#define EXIT_USAGE 2

/* A command gets the arguments that follow its name; argv[0] is "dpm", so that what getopt_long
 * says begins as everything else does. Returns the exit status. */
int command_run(int argc, char **argv);
int command_acquire(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_stats(int argc, char **argv);
int command_repair(int argc, char **argv);
int command_check(int argc, char **argv);

/* Prints how the command of this name is used, from the table; EXIT_SUCCESS. */
int command_help(const char *name);

/* Says "dpm: ..." on standard error; EXIT_FAILURE. */
int command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what is wrong with the usage of a command, and where to read about it; EXIT_USAGE. With
 * NULL getopt_long has said it already. */
int command_usage_error(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes standard output. Returns 0, or a negative errno with a line in `problem` if any of it
 * could not be written. To be called before anything else sets errno. */
int command_flush_output(struct problem *problem);

/* Reads a size in bytes: "65536", "64K", "500M", "4G" (powers of 1024, lower case too). Returns 0,
 * -EINVAL if it is none, or -ERANGE. */
int parse_size(const char *text, uint64_t *ret_size);

/* Reads a time: "10", "10s", "500ms", "2.5m", "1h". Returns 0, -EINVAL if it is none, or -ERANGE. */
int parse_duration(const char *text, uint64_t *ret_ns);

/* To be called by every command that has read a source to its end and flushed its output: says on
 * standard error, in one line each, which recordings are not whole and how many records were lost.
 * `names` has a name for each origin. */
void command_report_state(const struct source *source, const char *const *names);

#endif
