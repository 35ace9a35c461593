/* SPDX-License-Identifier: MIT */
/* job_parse.c: the commands' names, arguments and defaults. See job.h. */
#include "job/job_private.h"

#include "event/event.h"

#include <ctype.h>
#include <errno.h>

/*
 * The kinds of arguments, one letter each; the last one repeats if more are allowed:
 *      n  a name: of a job, a filter, a process
 *      p  the number of a process
 *      f  a meter flag, or -flag
 *      w  any word
 */
static const struct grammar {
    const char *name;
    enum job_kind kind;
    unsigned least, most;
    const char *kinds;
    const char *usage;
    const char *help; /* NULL: a synonym */
} grammars[] = {
    {"help", JOB_HELP, 0, 0, "", "", "show the commands and the meter flags"},
    {"filter", JOB_FILTER, 0, 5, "nwwww",
     "[NAME [MACHINE [FILTERFILE [DESCRIPTIONS [TEMPLATES]]]]]",
     "create a filter, which stores traces; alone: list the filters"},
    {"newjob", JOB_NEWJOB, 1, 2, "nn", "JOB [FILTER]", "create a job, whose traces FILTER stores"},
    {"addprocess", JOB_ADDPROCESS, 3, JOB_WORDS_MOST, "nww", "JOB MACHINE FILE [PARAMETER]...",
     "create a process in a job; it does not begin yet (add)"},
    {"add", JOB_ADDPROCESS, 3, JOB_WORDS_MOST, "nww", "JOB MACHINE FILE [PARAMETER]...", NULL},
    {"acquire", JOB_ACQUIRE, 3, 3, "nwp", "JOB MACHINE PID", "meter a process that runs already"},
    {"setflags", JOB_SETFLAGS, 2, JOB_WORDS_MOST, "nf", "JOB FLAG...",
     "meter these events, too; -FLAG: no more; all, -all"},
    {"startjob", JOB_STARTJOB, 1, 1, "n", "JOB", "start or continue its processes"},
    {"stopjob", JOB_STOPJOB, 1, 1, "n", "JOB", "stop its processes"},
    {"removejob", JOB_REMOVEJOB, 1, 1, "n", "JOB", "remove a job of which nothing is new or runs"},
    {"removeprocess", JOB_REMOVEPROCESS, 2, 2, "nn", "JOB PROCESS",
     "remove one process, by its name or number"},
    {"jobs", JOB_JOBS, 0, JOB_WORDS_MOST, "n", "[JOB]...",
     "list the jobs, or the processes of some"},
    {"getlog", JOB_GETLOG, 2, 2, "nw", "FILTER DESTINATION",
     "copy what a filter has stored to the folder DESTINATION"},
    {"source", JOB_SOURCE, 1, 1, "w", "FILE", "execute the commands in a file"},
    {"sink", JOB_SINK, 0, 1, "w", "[FILE]", "write results to a file; alone: here again"},
    {"die", JOB_DIE, 0, 0, "", "", "end the controller (exit, bye, ^D)"},
    {"exit", JOB_DIE, 0, 0, "", "", NULL},
    {"bye", JOB_DIE, 0, 0, "", "", NULL},
    {"input", JOB_INPUT, 2, JOB_WORDS_MOST, "nnw", "JOB PROCESS [TEXT]...",
     "a line for a process to read; without TEXT: lines until '.' or ^D"},
    {"wait", JOB_WAIT, 1, 1, "n", "JOB", "wait until none of its processes runs"},
    {"why", JOB_ANALYSE, 1, JOB_WORDS_MOST, "nw", "JOB [OPTION]...",
     "where the time went: dpm why on its traces"},
    {"stats", JOB_ANALYSE, 1, JOB_WORDS_MOST, "nw", "JOB [OPTION]...", "communication statistics"},
    {"parallelism", JOB_ANALYSE, 1, JOB_WORDS_MOST, "nw", "JOB [OPTION]...",
     "how much ran in parallel"},
    {"causality", JOB_ANALYSE, 1, JOB_WORDS_MOST, "nw", "JOB [OPTION]...", "paths of requests"},
    {"report", JOB_ANALYSE, 1, JOB_WORDS_MOST, "nw", "JOB [OPTION]...",
     "a report on everything; --html FILE: as a page"},
};

const char *job_command_word(size_t index, const char **ret_usage, const char **ret_help)
{
    if (index >= ARRAY_SIZE(grammars))
        return NULL;
    if (ret_usage != NULL)
        *ret_usage = grammars[index].usage;
    if (ret_help != NULL)
        *ret_help = grammars[index].help;
    return grammars[index].name;
}

static bool is_name(const char *word)
{
    size_t length = strlen(word);

    if (length == 0 || length >= JOB_NAME_SIZE || !isalnum((unsigned char)word[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i]) && strchr("/._-", word[i]) == NULL)
            return false;
    return true;
}

static bool is_pid(const char *word)
{
    char *end;
    unsigned long number = isdigit((unsigned char)word[0]) ? strtoul(word, &end, 10) : 0;

    return number > 0 && number <= 4194304 && *end == '\0'; /* PID_MAX_LIMIT */
}

static int check_word(const struct grammar *grammar, char kind, const char *word,
                      struct problem *problem)
{
    uint64_t flags = 0;
    struct problem why;

    if (kind == 'n' && !is_name(word))
        return problem_set(problem, -EINVAL,
                           "%s: '%.80s' is no name: a name begins with a letter or digit, then "
                           "has letters, digits and / . _ -, 63 at most",
                           grammar->name, word);
    if (kind == 'p' && !is_pid(word))
        return problem_set(problem, -EINVAL, "%s: '%.80s' is not a process id", grammar->name,
                           word);
    if (kind == 'f' && meter_flags_parse(word, &flags, &why) < 0)
        return problem_set(problem, -EINVAL, "%s: %s", grammar->name, why.text);
    return 0;
}

static int check(const struct grammar *grammar, const struct job_command *command,
                 struct problem *problem)
{
    size_t kinds = strlen(grammar->kinds);
    int result = 0;

    if (command->count < grammar->least || command->count > grammar->most)
        return problem_set(problem, -EINVAL, "too %s arguments; usage: %s%s%s",
                           command->count < grammar->least ? "few" : "many", grammar->name,
                           grammar->usage[0] == '\0' ? "" : " ", grammar->usage);
    for (size_t i = 0; result == 0 && i < command->count; i++)
        result = check_word(grammar, grammar->kinds[i < kinds ? i : kinds - 1], command->words[i],
                            problem);
    return result;
}

static const struct grammar *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(grammars); i++)
        if (strcmp(grammars[i].name, name) == 0)
            return &grammars[i];
    return NULL;
}

size_t job_line_length(const char *line)
{
    bool blank = true; /* before this character */
    char quote = '\0';
    size_t i;

    for (i = 0; line[i] != '\0' && !(line[i] == '#' && blank && quote == '\0'); i++) {
        blank = quote == '\0' && strchr(" \t\r\n", line[i]) != NULL;
        if (line[i] == '\\' && quote != '\'' && line[i + 1] != '\0')
            i++;
        else if (quote == '\0' && (line[i] == '\'' || line[i] == '"'))
            quote = line[i];
        else if (line[i] == quote)
            quote = '\0';
    }
    return i;
}

static int read_words(const char *line, struct job_command *command, struct problem *problem)
{
    char *text = strndup(line, job_line_length(line));
    int count = text == NULL ? -ENOMEM : remote_words(text, &command->owned);

    free(text);
    if (count == -EINVAL)
        return problem_set(problem, count, "a quote is not closed");
    return count < 0 ? problem_set(problem, count, "out of memory") : count;
}

int job_parse(const char *line, struct job_command *ret_command, struct problem *problem)
{
    struct job_command command = {.kind = JOB_NOTHING};
    const char *begin = line + strspn(line, " \t\r\n");

    *ret_command = command;
    if (*begin == '\0' || *begin == '#')
        return 0;
    int count = read_words(line, &command, problem);
    if (count < 0)
        return count;
    const struct grammar *grammar = find(command.owned[0]);
    int result = 0;
    if (grammar == NULL) {
        result = problem_set(problem, -EINVAL, "there is no command '%.80s'; help lists them",
                             command.owned[0]);
    } else {
        command.kind = grammar->kind;
        command.words = command.owned + 1;
        command.count = (size_t)count - 1;
        snprintf(command.name, sizeof(command.name), "%s",
                 strcmp(grammar->name, "add") == 0 ? "addprocess" : grammar->name);
        result = check(grammar, &command, problem);
    }
    if (result < 0)
        job_command_done(&command);
    else
        *ret_command = command;
    return result;
}

void job_command_done(struct job_command *command)
{
    free(command->owned);
    *command = (struct job_command){.kind = JOB_NOTHING};
}
