/* SPDX-License-Identifier: MIT */
/*
 * options.c: the options of a command, for getopt_long and for its help. See command.h.
 *
 *      {"output", 'o', {"TRACE", ...}, "record into ..."}     a row
 *      "o:", {"output", required_argument, NULL, 'o'}         what getopt_long gets
 *      -o, --output TRACE  record into ...                    what --help prints
 */
#include "base/nearest.h"
#include "command/shared/command.h"
#include "command/shared/selection.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_OPTIONS 48 /* per command */
#define LABEL_SIZE   80

static const struct command_option help_option = {"help", OPTION_HELP, {0}, "show this help"};

static bool is_refused(const struct command *command, const struct command_option *option)
{
    return selection_has_option(option->value) &&
           (command->refused & SELECTION_BIT(option->value)) != 0;
}

const struct command_option *command_option_at(const struct command *command, size_t index)
{
    const struct command_option *const lists[] = {command->options, command->shared_options,
                                                  command->more_options, command->selection};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        for (const struct command_option *option = lists[i]; option != NULL && option->name != NULL;
             option++)
            if (!is_refused(command, option) && index-- == 0)
                return option;
    return index == 0 ? &help_option : NULL;
}

bool command_option_has_letter(const struct command_option *option)
{
    return option->value < OPTION_HELP && isalpha(option->value);
}

/* ---- errors ---- */

/* How many long options begin with these characters; 1 if one matches exactly. */
static size_t count_beginning(const struct command *command, const char *name, size_t length)
{
    const struct command_option *option;
    size_t count = 0;

    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++) {
        if (strncmp(option->name, name, length) != 0)
            continue;
        if (option->name[length] == '\0')
            return 1;
        count++;
    }
    return count;
}

static bool has_value(const struct command *command, int value)
{
    const struct command_option *option;

    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++)
        if (option->value == value)
            return true;
    return false;
}

static void find_meant(const struct command *command, const char *name, size_t length,
                       char meant[NEAREST_TEXT_SIZE])
{
    struct nearest nearest = {.typed = name, .length = length};
    const struct command_option *option;

    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++)
        nearest_add(&nearest, option->name);
    nearest_text(&nearest, "--", meant);
}

/* Prints which commands take an option for part of a trace, if this one does not. Returns whether that is so. */
static bool say_refused(const struct command *command, const char *name, size_t length)
{
    const struct command_option *option = command->selection;
    const struct command *other;
    char others[128] = "";

    while (option != NULL && option->name != NULL &&
           (!is_refused(command, option) || strlen(option->name) != length ||
            strncmp(option->name, name, length) != 0))
        option++;
    if (option == NULL || option->name == NULL)
        return false;
    for (size_t i = 0; (other = command_at(i)) != NULL; i++)
        if (other->selection != NULL && !is_refused(other, option))
            snprintf(others + strlen(others), sizeof(others) - strlen(others), "%s%s",
                     others[0] == '\0' ? "" : ", ", other->name);
    command_usage_error(command->name, "--%s has no meaning here; it has one for %s", option->name,
                        others);
    return true;
}

/* Prints getopt_long's error in dpm's own style. `word`: the argument where it stopped; within combined letters
 * ("-ab"), the argument before. */
static void refuse(const struct command *command, int result, const char *word)
{
    const char *name = word + 2;
    size_t length = strcspn(name, "="), count;
    char meant[NEAREST_TEXT_SIZE] = "";

    if (result == ':') {
        command_usage_error(command->name, "option '%s' requires an argument", word);
    } else if (optopt != 0 && !has_value(command, optopt)) {
        command_usage_error(command->name, "invalid option -- '%c'", optopt);
    } else if (!say_refused(command, name, length)) {
        count = count_beginning(command, name, length);
        if (count == 0)
            find_meant(command, name, length, meant);
        command_usage_error(command->name,
                            count == 0   ? "unrecognized option '--%.*s'%s"
                            : count == 1 ? "option '--%.*s' takes no argument%s"
                                         : "option '--%.*s' is ambiguous%s",
                            (int)length, name, meant);
    }
}

int command_next_option(const struct command *command, int argc, char **argv)
{
    struct option longs[MOST_OPTIONS + 1] = {0};
    char letters[2 * MOST_OPTIONS + 3], *end = letters;
    const struct command_option *option;

    opterr = 0;
    if (command->operand.kind == ARGUMENT_COMMAND || command->options_end)
        *end++ = '+';
    *end++ = ':'; /* getopt_long then returns ':' for a missing argument, '?' for a wrong option */
    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++) {
        bool has_argument = option->argument.name != NULL;
        assert(i < MOST_OPTIONS);
        longs[i] = (struct option){.name = option->name,
                                   .has_arg = has_argument ? required_argument : no_argument,
                                   .val = option->value};
        if (!command_option_has_letter(option))
            continue;
        *end++ = (char)option->value;
        if (has_argument)
            *end++ = ':';
    }
    *end = '\0';
    int result = getopt_long(argc, argv, letters, longs, NULL);
    if (result != '?' && result != ':')
        return result;
    refuse(command, result, argv[optind - 1]);
    return '?';
}

/* "-o, --output TRACE". Returns its length. */
static int label(const struct command_option *option, char text[LABEL_SIZE])
{
    char letter[] = "-?, ";
    const char *argument = option->argument.name;

    letter[1] = (char)option->value;
    return snprintf(text, LABEL_SIZE, "%s--%s%s%s", command_option_has_letter(option) ? letter : "",
                    option->name, argument == NULL ? "" : " ", argument == NULL ? "" : argument);
}

void command_print_options(const struct command *command)
{
    const struct command_option *option;
    char text[LABEL_SIZE];
    int width = 0;

    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++)
        if (label(option, text) > width)
            width = label(option, text);
    for (size_t i = 0; (option = command_option_at(command, i)) != NULL; i++) {
        label(option, text);
        printf("  %-*s  ", width, text);
        for (const char *at = option->help; *at != '\0'; at++)
            if (*at == '\n')
                printf("\n%*s", width + 4, "");
            else
                putchar(*at);
        putchar('\n');
    }
}

/* ---- arguments of options ---- */

int option_number(const char *command, const char *option, uint64_t least, uint64_t most,
                  uint64_t *ret_number)
{
    uint64_t number;

    if (parse_size(optarg, &number) < 0 || number < least || number > most)
        return command_usage_error(command, "--%s '%s': give a number from %" PRIu64 " to %" PRIu64,
                                   option, optarg, least, most);
    *ret_number = number;
    return -1;
}

int option_time(const char *command, const char *option, uint64_t *ret_ns)
{
    uint64_t time;

    if (parse_duration(optarg, &time) < 0 || time > INT64_MAX)
        return command_usage_error(command, "--%s '%s': give a time, e.g. 100ms, 2s or 5m", option,
                                   optarg);
    *ret_ns = time;
    return -1;
}

int option_word(const char *command, const char *option, const char *(*word)(size_t index),
                size_t *ret_index)
{
    char all[256] = "";

    for (size_t i = 0; word(i) != NULL; i++) {
        if (strcmp(optarg, word(i)) == 0) {
            *ret_index = i;
            return -1;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i == 0 ? "" : ", ", word(i));
    }
    return command_usage_error(command, "--%s '%s': choose one of %s", option, optarg, all);
}
