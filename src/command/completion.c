/* SPDX-License-Identifier: MIT */
/*
 * completion.c: `dpm completion`: prints a shell's completion script for dpm. Commands and options come from their
 * tables, so none can be forgotten. The shell's own code is in the files next to this one. A script is
 *
 *      completion.sh     what runs on this machine
 *      tables            for bash: _dpm_options, _dpm_argument
 *                        for zsh: _dpm_commands, _dpm_command_NAME for each command
 *      completion.bash   _dpm, and _dpm_offer_KIND for each kind of argument
 *      or completion.zsh
 */
#include "command/shared/command.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Contents of the files; scripts/embed turns them into C. */
extern const char completion_sh[], completion_bash[], completion_zsh[];

/* Suffixes of the functions _dpm_offer_... */
static const char *const kinds[] = {
    [ARGUMENT_OTHER] = "other",   [ARGUMENT_WORD] = "word",   [ARGUMENT_LIST] = "list",
    [ARGUMENT_FILE] = "file",     [ARGUMENT_TRACE] = "trace", [ARGUMENT_COMMAND] = "command",
    [ARGUMENT_USER] = "user",     [ARGUMENT_PID] = "pid",     [ARGUMENT_PROCESS] = "process",
    [ARGUMENT_CGROUP] = "cgroup", [ARGUMENT_UNIT] = "unit",
};

/* Prints the function that offers an argument, and its parameters. */
static void print_offer(const struct argument *argument)
{
    const char *word;

    printf("_dpm_offer_%s", kinds[argument->kind]);
    for (size_t i = 0; argument->word != NULL && (word = argument->word(i)) != NULL; i++) {
        putchar(' ');
        for (; *word != '\0'; word++)
            putchar(tolower((unsigned char)*word));
    }
}

/* ---- bash ---- */

/* "--wait -o --output ..." */
static void print_bash_options(const struct command *command)
{
    const struct command_option *option;

    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++) {
        if (command_option_has_letter(option))
            printf(" -%c", option->value);
        printf(" --%s", option->name);
    }
}

/* "'run -o' | 'run --output') action=(_dpm_offer_trace) ;;" for each option with an argument. */
static void print_bash_arguments(const struct command *command)
{
    const struct command_option *option;

    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++) {
        if (option->argument.name == NULL)
            continue;
        printf("    ");
        if (command_option_has_letter(option))
            printf("'%s -%c' | ", command->name, option->value);
        printf("'%s --%s') action=(", command->name, option->name);
        print_offer(&option->argument);
        printf(") ;;\n");
    }
    if (command->operand.name == NULL)
        return;
    printf("    '%s ') action=(", command->name);
    print_offer(&command->operand);
    printf(") ;;\n");
}

static void print_bash(void)
{
    const struct command *command;

    fputs(completion_sh, stdout);
    printf("\n# _dpm_options [COMMAND]: sets `options`, what may follow besides operands.\n"
           "_dpm_options() {\n    case $1 in\n");
    for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
        printf("    %s) options=(", command->name);
        print_bash_options(command);
        printf(") ;;\n");
    }
    printf("    *) options=(--help --version");
    for (size_t i = 0; (command = command_at(i)) != NULL; i++)
        printf(" %s", command->name);
    printf(") ;;\n    esac\n}\n\n"
           "# _dpm_argument COMMAND [OPTION]: sets `action`, what offers the argument of the "
           "option, or\n"
           "# the operands; fails if there are none.\n"
           "_dpm_argument() {\n    case \"$1 $2\" in\n");
    for (size_t i = 0; (command = command_at(i)) != NULL; i++)
        print_bash_arguments(command);
    printf("    *) return 1 ;;\n    esac\n}\n\n");
    fputs(completion_bash, stdout);
}

/* ---- zsh ---- */

/* Prints text for single quotes, with a backslash before each of the `special` characters. */
static void print_quoted(const char *text, const char *special)
{
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == '\n')
            putchar(' ');
        else
            printf(strchr(special, *text) == NULL ? "%c" : "\\%c", *text);
}

/* ":TRACE: _dpm_offer_trace", the syntax of _arguments. */
static void print_zsh_argument(const struct argument *argument)
{
    putchar(':');
    print_quoted(argument->name, ":");
    printf(": ");
    print_offer(argument);
}

/* "'*--output=[record into ...]:TRACE: _dpm_offer_trace'"; '*': may be repeated. */
static void print_zsh_option(const struct command_option *option, bool as_letter)
{
    bool has_argument = option->argument.name != NULL;

    if (as_letter)
        printf(" \\\n        '*-%c%s[", option->value, has_argument ? "+" : "");
    else
        printf(" \\\n        '*--%s%s[", option->name, has_argument ? "=" : "");
    print_quoted(option->help, "[]\\");
    putchar(']');
    if (has_argument)
        print_zsh_argument(&option->argument);
    putchar('\'');
}

static void print_zsh_command(const struct command *command)
{
    const struct command_option *option;

    printf("_dpm_command_%s() {\n    _arguments -S%s", command->name,
           command->operand.kind == ARGUMENT_COMMAND || command->options_end ? " -A '-*'" : "");
    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++) {
        if (command_option_has_letter(option))
            print_zsh_option(option, true);
        print_zsh_option(option, false);
    }
    if (command->operand.name != NULL) {
        printf(" \\\n        '*:");
        print_zsh_argument(&command->operand);
        putchar('\'');
    }
    printf("\n}\n\n");
}

static void print_zsh(void)
{
    const struct command *command;

    printf("#compdef dpm\n");
    fputs(completion_sh, stdout);
    printf("\n_dpm_commands() {\n    local -a commands=(\n");
    for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
        printf("        '%s:", command->name);
        print_quoted(command->description, "");
        printf("'\n");
    }
    printf("    )\n    _describe command commands\n}\n\n");
    for (size_t i = 0; (command = command_at(i)) != NULL; i++)
        print_zsh_command(command);
    fputs(completion_zsh, stdout);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}};

static const char *shell_word(size_t index)
{
    return index < ARRAY_SIZE(shells) ? shells[index].name : NULL;
}

static int command_completion(int argc, char **argv)
{
    int option = command_next_option(&completion_command, argc, argv);

    if (option == OPTION_HELP)
        return command_help("completion");
    if (option != -1)
        return command_usage_error("completion", NULL);
    if (argc - optind != 1)
        return command_usage_error("completion", "name one shell: bash or zsh");
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        if (strcmp(argv[optind], shells[i].name) == 0) {
            shells[i].print();
            return EXIT_SUCCESS;
        }
    return command_usage_error("completion", "'%s': choose bash or zsh", argv[optind]);
}

const struct command completion_command = {
    .name = "completion",
    .description = "print a completion script for bash or zsh",
    .usage = "bash|zsh",
    .function = command_completion,
    .operand = {"SHELL", ARGUMENT_WORD, shell_word},
};
