/* SPDX-License-Identifier: MIT */
/*
 * command.h: the commands of the program dpm. Each has a file with its `struct command`, one row in the table of
 * main.c, and a manual page dpm-NAME(1). Private to command/.
 *
 * A command's options are defined in one place, its rows of options. Everything else derives from them:
 *
 *      struct command --> struct command_option ... --+--> getopt_long   command_next_option
 *                                                     +--> --help        command_print_options
 *                                                     '--> completion    completion.c
 */
#ifndef DPM_COMMAND_H
#define DPM_COMMAND_H

#include "base/amounts.h"
#include "base/base.h"

#include "event/event.h"

#include <stdio.h>

/* Exit status for wrong usage; others are those of <stdlib.h>. */
#define EXIT_USAGE 2

/* ---- what a command accepts ---- */

/* The kind of an argument, for shell completion. */
enum argument_kind {
    ARGUMENT_OTHER, /* a time, a size ...: nothing to offer */
    ARGUMENT_WORD,  /* one of `word` */
    ARGUMENT_LIST,  /* some of `word`, separated by commas; '-' before a word removes it */
    ARGUMENT_FILE,
    ARGUMENT_TRACE,
    ARGUMENT_COMMAND, /* a command and its arguments: dpm's own options end where it begins */
    ARGUMENT_USER,
    ARGUMENT_PID,     /* of a running process, as the next three */
    ARGUMENT_PROCESS, /* its name */
    ARGUMENT_CGROUP,
    ARGUMENT_UNIT,
};

struct argument {
    const char *name; /* "TIME", for --help; NULL: no argument */
    enum argument_kind kind;
    const char *(*word)(size_t index); /* in lower or upper case; NULL after the last */
};

/* The value of --help, which every command has without a row. */
#define OPTION_HELP 256

/* First value of options that several commands share. A command's own options begin after OPTION_HELP. */
#define OPTION_SHARED 512

struct command_option {
    const char *name; /* long name without dashes; NULL ends the rows */
    int value;        /* unique in a command; a letter is also the short name */
    struct argument argument;
    const char *help; /* one line, or several */
};

struct command {
    const char *name;
    const char *description; /* one line */
    const char *usage;       /* what follows the name */
    /* Gets the arguments after the name, from argv[1] on. Returns the exit status. */
    int (*function)(int argc, char **argv);
    struct argument operand;              /* arguments that are no options */
    bool options_end;                     /* at the first operand, as with ARGUMENT_COMMAND */
    const struct command_option *options; /* or NULL */
    const struct command_option *shared_options; /* shared with other commands; or NULL */
    const struct command_option *more_options;   /* shared, too; or NULL */
    const struct command_option *selection; /* selection_options, if it reads traces; or NULL */
    unsigned
        refused; /* bits (SELECTION_BIT) of those that have no meaning for it, and so are none of its options */
};

extern const struct command run_command, acquire_command, report_command, dump_command,
    stats_command, why_command, whatif_command, parallelism_command, path_command,
    causality_command, graph_command, repair_command, view_command, filter_command, rules_command,
    job_command, check_command, calibrate_command, agent_command, completion_command, top_command,
    live_command, steer_command;

/* The commands, in the order of help; NULL after the last. */
const struct command *command_at(size_t index);

/* The options of a command: its own, shared ones, --help; NULL after the last. */
const struct command_option *command_option_at(const struct command *command, size_t index);

/* Whether the option has a short name; its value then is the letter. */
bool command_option_has_letter(const struct command_option *option);

/* The next option on the command line, as getopt_long returns it: its value, with the argument in `optarg`; -1 after
 * the last; '?' for a wrong option, after an error message. */
int command_next_option(const struct command *command, int argc, char **argv);

/* Each parses the argument of an option (`optarg`). Returns -1 on success; else prints an error and returns the exit
 * status. */
int option_number(const char *command, const char *option, uint64_t least, uint64_t most,
                  uint64_t *ret_number);
int option_time(const char *command, const char *option, uint64_t *ret_ns);
int option_word(const char *command, const char *option, const char *(*word)(size_t index),
                size_t *ret_index);

/* Prints the options of a command, for its help. */
void command_print_options(const struct command *command);

/* ---- what commands share ---- */

/* Prints the usage of the command with this name; returns EXIT_SUCCESS. */
int command_help(const char *name);

/* Prints "dpm: ..." on standard error: one line, made safe for terminals. */
void command_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same to another file. */
void command_say_to(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As command_say; returns EXIT_FAILURE. */
int command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Notes on standard error that an option names a process which is not in the traces. */
void command_note_nobody(const char *option, const char *who);

/* Prints what is wrong with the usage of a command, and how to get help; returns EXIT_USAGE. `format` NULL:
 * command_next_option has printed the error already. */
int command_usage_error(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* After the options: the operands from argv[first] on are traces, or directories that hold traces and stand for all of
 * them; *argc and *argv then have all traces. Returns -1 on success; else prints an error and returns the exit status. */
int command_take_traces(const char *command, int *argc, char ***argv, int first);

/* Flushes standard output. Returns 0, or a negative errno with a line in `problem` if anything could not be written.
 * Call it before anything else sets errno. */
int command_flush_output(struct problem *problem);

/* Calls write(what, file) on a file that gets this name when it is complete (result_file.h); NULL or "-" is standard
 * output. Returns 0, or a negative errno with a line in `problem`: what `write` returned (-ENOMEM),
 * or a write error. */
int command_write_file(const char *name, int (*write)(const void *what, FILE *file),
                       const void *what, struct problem *problem);

/* Prints on standard error, one line each, which recordings are incomplete and how many records were lost. Every
 * command calls it after reading a source to its end and flushing its output. `names` has a name for each origin. */
void command_report_state(const struct source *source, const char *const *names);

/* Prints how many records the trace with this name has lost. `skipped` of them are hooks that the kernel skipped
 * (source_state). Prints nothing if none was lost. */
void command_report_lost(const char *name, uint64_t lost, uint64_t skipped);

#define SKIPPED_TEXT_SIZE 160

/* Describes skipped hooks: "up to 11 records were not made: the kernel skipped ...". */
void command_skipped_text(uint64_t skipped, char text[SKIPPED_TEXT_SIZE]);

#define REMOVED_TEXT_SIZE 160

/* "only the newest records are kept: 12 records of 3 s before them were removed" */
void command_removed_text(uint64_t removed, uint64_t time, char text[REMOVED_TEXT_SIZE]);

/* Of traces that are followed: what was removed before it was read, as a sentence; returns false if nothing was since the last
 * call. *said: so many records so far; 0 at first. */
bool command_overtaken_text(struct source *const *sources, size_t count, uint64_t *said,
                            char text[REMOVED_TEXT_SIZE]);

#endif
