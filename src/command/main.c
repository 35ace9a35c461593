/* SPDX-License-Identifier: MIT */
/* main.c: the program dpm: the table of its commands, and functions that they share. See command.h. */
#include "base/nearest.h"
#include "base/result_file.h"
#include "command/shared/command.h"
#include "command/shared/interrupt.h"

#include "launch/launch.h"
#include "show/show.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command help_command;

static const struct command *const commands[] = {
    &run_command,    &top_command,         &live_command,       &acquire_command,
    &report_command, &dump_command,        &stats_command,      &why_command,
    &whatif_command, &parallelism_command, &path_command,       &causality_command,
    &graph_command,  &repair_command,      &view_command,       &filter_command,
    &rules_command,  &job_command,         &check_command,      &calibrate_command,
    &agent_command,  &steer_command,       &completion_command, &help_command,
};

const struct command *command_at(size_t index)
{
    return index < ARRAY_SIZE(commands) ? commands[index] : NULL;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

int command_help(const char *name)
{
    const struct command *command = find_command(name);

    printf("dpm %s: %s\n\nusage: dpm %s %s\n\n", name, command->description, name, command->usage);
    command_print_options(command);
    printf("\nMore: man dpm-%s\n", name);
    return EXIT_SUCCESS;
}

#define MESSAGE_SIZE 8192 /* more than the longest path name and the text around it */

/* Prints one line, whatever its names contain. */
static void say(FILE *file, const char *before, const char *after, const char *format,
                va_list arguments)
{
    char text[MESSAGE_SIZE], safe[MESSAGE_SIZE];

    vsnprintf(text, sizeof(text), format, arguments);
    show_text(text, sizeof(text) - 1, safe);
    fprintf(file, "dpm: %s%s%s\n", before, safe, after);
}

void command_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(stderr, "", "", format, arguments);
    va_end(arguments);
}

void command_say_to(FILE *file, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(file, "", "", format, arguments);
    va_end(arguments);
}

int command_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(stderr, "", "", format, arguments);
    va_end(arguments);
    return EXIT_FAILURE;
}

void command_note_nobody(const char *option, const char *who)
{
    command_say("note: --%s: no process %s in the traces", option, who);
}

int command_usage_error(const char *name, const char *format, ...)
{
    char before[64], after[64];
    va_list arguments;

    if (format == NULL)
        return EXIT_USAGE;
    snprintf(before, sizeof(before), "%s: ", name);
    snprintf(after, sizeof(after), " (try: dpm %s --help)", name);
    va_start(arguments, format);
    say(stderr, before, after, format, arguments);
    va_end(arguments);
    return EXIT_USAGE;
}

/* 0, or the errno of writing to the file. If the error is an earlier one, its errno is lost: writing one more line
 * finds it again. */
static int flush_error(FILE *file)
{
    if (!ferror(file))
        return fflush(file) == 0 ? 0 : errno;
    clearerr(file);
    return fputc('\n', file) == EOF || fflush(file) != 0 ? errno : EIO;
}

int command_flush_output(struct problem *problem)
{
    int error = flush_error(stdout);

    return error == 0
               ? 0
               : problem_set(problem, -error, "cannot write the output: %s", strerror(error));
}

static int cannot_write(const char *name, int error, struct problem *problem)
{
    return problem_set(problem, -error, "%s: cannot be written: %s", name, strerror(error));
}

static int write_all(const char *path, int (*write)(const void *what, FILE *file), const void *what,
                     int *ret_error)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        *ret_error = errno;
        return 0;
    }
    int result = write(what, file);
    *ret_error = flush_error(file);
    if (fclose(file) != 0 && *ret_error == 0)
        *ret_error = errno;
    return result;
}

static int tell_writing(int result, struct problem *problem)
{
    return result < 0 ? problem_set(problem, result, "%s",
                                    result == -ENOMEM ? "out of memory" : strerror(-result))
                      : 0;
}

int command_write_file(const char *name, int (*write)(const void *what, FILE *file),
                       const void *what, struct problem *problem)
{
    struct result_file file;
    struct problem line;
    int error = 0;

    if (name == NULL || strcmp(name, "-") == 0) {
        int result = tell_writing(write(what, stdout), problem);
        return result < 0 ? result : command_flush_output(problem);
    }
    int begun = result_file_begin(&file, name);
    if (begun < 0)
        return cannot_write(name, -begun, problem);
    problem_set(&line, 0, "dpm: interrupted: %s is %s", name,
                file.target != NULL ? "not written" : "incomplete");
    interrupt_begin(line.text, file.target != NULL ? file.path : NULL);
    int result = write_all(file.path, write, what, &error);
    interrupt_end();
    int ended = result_file_end(&file, result < 0 ? result : -error);
    if (result < 0)
        return tell_writing(result, problem);
    return ended < 0 ? cannot_write(name, -ended, problem) : 0;
}

static void report_end(const struct source_state *state, const char *name)
{
    if (!state->complete && state->being_written)
        command_say("%s is still being recorded; this is its state so far", name);
    else if (!state->complete)
        command_say(
            "%s was cut: its last records are missing (`dpm repair` closes it for other tools)",
            name);
    else if (state->end_reason == END_REPAIRED)
        command_say("%s was cut and repaired: its last records are missing", name);
    else if (state->end_reason == END_SIZE)
        command_say("%s: the recording stopped at its largest size (--max-size)", name);
    else if (state->end_reason == END_DISK)
        command_say("%s: the recording stopped because the trace could not be written", name);
    else if (state->end_reason == END_METER)
        command_say("%s: the recording stopped because the meter or DPM itself failed, or dpmd "
                    "ended the session",
                    name);
}

void command_skipped_text(uint64_t skipped, char text[SKIPPED_TEXT_SIZE])
{
    char count[UNIT_SIZE];

    show_count(skipped, count);
    snprintf(text, SKIPPED_TEXT_SIZE,
             "up to %s %s not made: the kernel skipped hooks that were already running on that "
             "processor",
             count, skipped == 1 ? "record was" : "records were");
}

void command_report_lost(const char *name, uint64_t lost, uint64_t skipped)
{
    char text[UNIT_SIZE], skips[SKIPPED_TEXT_SIZE];

    if (lost > skipped) {
        show_count(lost - skipped, text);
        command_say("%s: %s %s lost", name, text,
                    lost - skipped == 1 ? "record was" : "records were");
    }
    if (skipped == 0)
        return;
    command_skipped_text(skipped, skips);
    command_say("%s: %s", name, skips);
}

bool command_overtaken_text(struct source *const *sources, size_t count, uint64_t *said,
                            char text[REMOVED_TEXT_SIZE])
{
    uint64_t overtaken = 0;
    char records[COUNTED_SIZE];

    for (size_t i = 0; i < count; i++)
        overtaken += sources[i]->states[0].overtaken;
    if (overtaken <= *said)
        return false;
    show_counted(overtaken - *said, "record", records);
    snprintf(text, REMOVED_TEXT_SIZE,
             "%s removed before they were read: the trace keeps only the newest", records);
    *said = overtaken;
    return true;
}

void command_removed_text(uint64_t removed, uint64_t time, char text[REMOVED_TEXT_SIZE])
{
    char count[COUNTED_SIZE], duration[UNIT_SIZE];

    show_counted(removed, "record", count);
    show_duration(time, duration);
    snprintf(text, REMOVED_TEXT_SIZE,
             "only the newest records are kept: %s of %s before them %s removed", count, duration,
             removed == 1 ? "was" : "were");
}

static void report_removed(const struct source_state *state, const char *name)
{
    char text[REMOVED_TEXT_SIZE];

    if (state->removed == 0)
        return;
    command_removed_text(state->removed, state->removed_time, text);
    command_say("%s: %s", name, text);
}

static void report_unselected(const struct source_state *state, const char *name)
{
    char events[COUNTED_SIZE];

    if (state->unselected == 0)
        return;
    show_counted(state->unselected, "event", events);
    command_say("%s: selection rules removed %s: results cover only the others", name, events);
}

/* A copy of a trace from another machine. */
static void report_missing(const struct source_state *state, const char *name)
{
    char packets[COUNTED_SIZE];

    if (state->missing_packets == 0)
        return;
    show_counted(state->missing_packets, "packet", packets);
    command_say("%s: %s of this copy never arrived; %s", name, packets,
                state->complete ? "their records count as lost"
                                : "their records count as lost only as far as later packets show");
}

void command_report_state(const struct source *source, const char *const *names)
{
    for (uint32_t i = 0; i < source->origins; i++) {
        report_end(&source->states[i], names[i]);
        report_removed(&source->states[i], names[i]);
        report_missing(&source->states[i], names[i]);
        command_report_lost(names[i], source->states[i].lost, source->states[i].skipped);
        report_unselected(&source->states[i], names[i]);
    }
}

static int print_help(void)
{
    printf("usage: dpm COMMAND [ARGUMENT]...\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        printf("  %-11s %s\n", commands[i]->name, commands[i]->description);
    printf("\n  --help      show this help\n  --version   show the version\n\nMore: dpm help "
           "COMMAND, man dpm\n");
    return EXIT_SUCCESS;
}

static int unknown_command(const char *name)
{
    struct nearest nearest = {.typed = name, .length = strlen(name)};
    char meant[NEAREST_TEXT_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        nearest_add(&nearest, commands[i]->name);
    nearest_text(&nearest, "", meant);
    command_say("there is no command '%s'%s (try: dpm help)", name, meant);
    return EXIT_USAGE;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0;
}

static int run_help(int argc, char **argv)
{
    if (argc < 2 || asks_for_help(argv[1]))
        return print_help();
    return find_command(argv[1]) == NULL ? unknown_command(argv[1]) : command_help(argv[1]);
}

static const char *command_word(size_t index)
{
    const struct command *command = command_at(index);

    return command == NULL ? NULL : command->name;
}

static const struct command help_command = {
    .name = "help",
    .description = "list the commands, or show the options of one",
    .usage = "[COMMAND]",
    .function = run_help,
    .operand = {"COMMAND", ARGUMENT_WORD, command_word},
};

/* Whether it is an option of the controller: `dpm -f FILE`, `dpm --attach`. */
static bool is_of_controller(const char *argument)
{
    const struct command_option *option;

    for (size_t i = 0; (option = command_option_at(&job_command, i)) != NULL; i++) {
        size_t length = strlen(option->name);
        if (strncmp(argument, "--", 2) == 0 && strncmp(argument + 2, option->name, length) == 0 &&
            (argument[2 + length] == '\0' || argument[2 + length] == '='))
            return true;
        if (command_option_has_letter(option) && argument[0] == '-' && argument[1] == option->value)
            return true;
    }
    return false;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? job_command.function(argc, argv)
                                                             : print_help();
    const char *name = asks_for_help(argv[1]) ? "help" : argv[1];
    if (strcmp(name, "--version") == 0) {
        printf("dpm %s\n", DPM_VERSION);
        return EXIT_SUCCESS;
    }
    const struct command *command = find_command(name);
    if (command == NULL && is_of_controller(name))
        return job_command.function(argc, argv);
    if (command == NULL)
        return unknown_command(name);
    return command->function(argc - 1, argv + 1);
}

#define MAPPED_FROM (128 << 10) /* bytes */

int main(int argc, char **argv)
{
    /* Keep the threshold fixed: large tables then grow in place and are unmapped when freed. By default, malloc raises
     * the threshold after the first such free and takes later tables from the heap, where they leave holes that are
     * often useless. */
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    launch_below_first_process();
    launch_settle();
    /* Characters in the user's encoding; numbers as in the C locale. */
    setlocale(LC_CTYPE, "");
    struct problem problem;
    int status = dispatch(argc, argv);
    if (status == EXIT_SUCCESS && command_flush_output(&problem) < 0)
        status = command_error("%s", problem.text);
    return status;
}
