/* SPDX-License-Identifier: MIT */
/* selection.c: options that select part of a recording. See selection.h. */
#include "command/shared/selection.h"

#include <errno.h>
#include <getopt.h>

const struct command_option selection_options[] = {
    {"process",
     SELECTION_PROCESS,
     {"NAME|PID"},
     "only this process with its threads: name, program, script or pid;\nrepeatable"},
    {"path",
     SELECTION_PATH,
     {"NUMBER|KIND|ADDRESS", ARGUMENT_WORD, dump_choice_kind_word},
     "only connections with this text in an address, or of this kind\n(tcp, unix ...); dump and "
     "graph: also the number of one end; repeatable"},
    {"from", SELECTION_FROM, {"TIME"}, "begin at this time after the beginning: 200ms, 1.5s"},
    {"to", SELECTION_TO, {"TIME"}, "end at this time"},
    {0},
};

static int add(const char *command, int result, const struct problem *problem)
{
    return result == -EINVAL ? command_usage_error(command, "%s", problem->text)
           : result < 0      ? command_error("%s", problem->text)
                             : -1;
}

static int take_to(const char *command, struct selection *selection)
{
    int result = option_time(command, "to", &selection->to);

    if (result < 0 && selection->to == 0)
        result = command_usage_error(command, "--to must be later than the beginning");
    return result;
}

int selection_take(const char *command, int option, struct selection *selection)
{
    struct problem problem = {""};

    switch (option) {
    case SELECTION_PROCESS:
        return add(command, dump_choice_process(&selection->choice, optarg, &problem), &problem);
    case SELECTION_PATH:
        return add(command, dump_choice_path(&selection->choice, optarg, &problem), &problem);
    case SELECTION_FROM:
        return option_time(command, "from", &selection->from);
    default:
        return take_to(command, selection);
    }
}

int selection_check(const char *command, const struct selection *selection, bool numbers)
{
    for (size_t i = 0; i < selection->choice.paths.count; i++)
        if (!numbers && selection->choice.paths.items[i].is_number)
            return command_usage_error(
                command, "--path %s: give an address or a kind; a number is of one end only",
                selection->choice.paths.items[i].text);
    if (selection->to != 0 && selection->to <= selection->from)
        return command_usage_error(command, "--to must be later than --from");
    return -1;
}

void selection_say_unmet(const struct selection *selection)
{
    dump_choice_say_unmet(&selection->choice);
    if (selection->from != 0 && !selection->reached)
        command_say("--from: the recording ends before this time");
}

void selection_done(struct selection *selection)
{
    dump_choice_done(&selection->choice);
}
