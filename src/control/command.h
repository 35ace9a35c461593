/* SPDX-License-Identifier: MIT */
/*
 * command.h: the commands of the program dpm. Each has a file with its `struct command`, one row in
 * the table of main.c, and a manual page dpm-NAME(1). Private to control/.
 *
 * What a command takes is said in one place, its rows of options; everything else follows:
 *
 *      struct command --> struct command_option ... --+--> getopt_long   command_next_option
 *                                                     +--> --help        command_print_options
 *                                                     '--> completion    completion.c
 */
#ifndef DPM_COMMAND_H
#define DPM_COMMAND_H

#include "base/base.h"

#include "event/event.h"

#include <stdio.h>

/* Exit status of the program, besides those of <stdlib.h>. */
#define EXIT_USAGE 2

/* ---- what a command takes ---- */

/* What an argument says, so that a shell can complete it. */
enum argument_kind {
    ARGUMENT_OTHER, /* a time, a size ...: nothing can be offered */
    ARGUMENT_WORD,  /* one of `word` */
    ARGUMENT_LIST,  /* some of `word`, separated by commas; '-' before one takes it away */
    ARGUMENT_FILE,
    ARGUMENT_TRACE,
    ARGUMENT_COMMAND, /* a command, then its arguments: our own options end where it begins */
    ARGUMENT_USER,
    ARGUMENT_PID,     /* of a process that runs, as the next three */
    ARGUMENT_PROCESS, /* its name */
    ARGUMENT_CGROUP,
    ARGUMENT_UNIT,
};

struct argument {
    const char *name; /* "TIME", for --help; NULL: there is no argument */
    enum argument_kind kind;
    const char *(*word)(size_t index); /* in any case; NULL behind the last */
};

/* The value of --help, which every command has without a row. */
#define OPTION_HELP 256

/* The values of options that several commands share begin here, those of a command's own behind OPTION_HELP. */
#define OPTION_SHARED 512

struct command_option {
    const char *name; /* the long one, without dashes; NULL ends the rows */
    int value;        /* what tells it apart; a letter is its short name too */
    struct argument argument;
    const char *help; /* one line, or several */
};

struct command {
    const char *name;
    const char *description; /* one line */
    const char *usage;       /* what follows the name */
    /* Gets the arguments that follow the name, from argv[1] on. Returns the exit status. */
    int (*function)(int argc, char **argv);
    struct argument operand;                     /* what is no option */
    const struct command_option *options;        /* or NULL */
    const struct command_option *shared_options; /* with other commands, or NULL */
};

extern const struct command run_command, acquire_command, report_command, dump_command,
    stats_command, parallelism_command, path_command, causality_command, graph_command,
    repair_command, check_command, calibrate_command, completion_command;

/* The commands, in the order of help; NULL behind the last. */
const struct command *command_at(size_t index);

/* The options of a command: its own, those it shares, --help; NULL behind the last. */
const struct command_option *command_option_at(const struct command *command, size_t index);

/* Whether the option has a short name, which then is its value. */
bool command_option_has_letter(const struct command_option *option);

/* The next option on the command line, as getopt_long has it: its value, with the argument in
 * `optarg`; -1 behind the last; '?' for one that there is not, which has been said. */
int command_next_option(const struct command *command, int argc, char **argv);

/* Each reads what an option was given (`optarg`). Returns -1: go on; or the exit status with which the command ends,
 * after saying what there is to give. */
int option_number(const char *command, const char *option, uint64_t least, uint64_t most,
                  uint64_t *ret_number);
int option_time(const char *command, const char *option, uint64_t *ret_ns);
int option_word(const char *command, const char *option, const char *(*word)(size_t index),
                size_t *ret_index);

/* Prints the options of a command, for its help. */
void command_print_options(const struct command *command);

/* ---- what commands share ---- */

/* Prints how the command of this name is used, from the table; EXIT_SUCCESS. */
int command_help(const char *name);

/* Says "dpm: ..." on standard error: one line, in which names of files and programs cannot command a terminal. */
void command_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, of a command whose messages can go elsewhere. */
void command_say_to(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same; EXIT_FAILURE. */
int command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes on standard error that an option speaks of a process that the traces have not. */
void command_note_nobody(const char *option, const char *who);

/* Says what is wrong with the usage of a command, and where to read about it; EXIT_USAGE. With
 * NULL command_next_option has said it already. */
int command_usage_error(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes standard output. Returns 0, or a negative errno with a line in `problem` if any of it
 * could not be written. To be called before anything else sets errno. */
int command_flush_output(struct problem *problem);

/* Has `write` write what it is given into the file of this name; NULL or "-" is standard output. A file that cannot be
 * written whole is removed. Returns 0, or a negative errno with a line in `problem`: what `write` returns (-ENOMEM), or
 * why the file cannot be written. */
int command_write_file(const char *name, int (*write)(const void *what, FILE *file),
                       const void *what, struct problem *problem);

/* Reads a size in bytes: "65536", "64K", "500M", "4G" (powers of 1024, lower case too). Returns 0,
 * -EINVAL if it is none, or -ERANGE. */
int parse_size(const char *text, uint64_t *ret_size);

/* Reads a time: "10", "10s", "500ms", "2.5m", "1h". Returns 0, -EINVAL if it is none, or -ERANGE. */
int parse_duration(const char *text, uint64_t *ret_ns);

/* To be called by every command that has read a source to its end and flushed its output: says on
 * standard error, in one line each, which recordings are not whole and how many records were lost.
 * `names` has a name for each origin. */
void command_report_state(const struct source *source, const char *const *names);

/* Reports how many records the trace of this name has lost; `skipped` of them are hooks that the kernel skipped
 * (source_state). Prints nothing if none was lost. */
void command_report_lost(const char *name, uint64_t lost, uint64_t skipped);

#define SKIPPED_TEXT_SIZE 160

/* Writes what skipped hooks mean: "up to 11 records were not made: the kernel skipped ...". */
void command_skipped_text(uint64_t skipped, char text[SKIPPED_TEXT_SIZE]);

#endif
