/* SPDX-License-Identifier: MIT */
/*
 * job_command.c: the controller's faces: `dpm` alone on a terminal, `dpm -f FILE`, `dpm job COMMAND ...`. See
 * dpm-job(1).
 */
#include "command/job_terminal.h"
#include "command/shared/command.h"

#include "job/job.h"
#include "recorder/recorder.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION "jobs"

struct job_asked {
    struct job_options options;
    const char *script;
};

enum { SESSION_OPTION = OPTION_HELP + 1, RSH, REMOTE, MACHINES, ATTACH };

static const struct command_option job_options[] = {
    {"attach",
     ATTACH,
     {0},
     "go on with the jobs of a session, where an earlier controller stopped"},
    {"file", 'f', {"FILE", ARGUMENT_FILE}, "execute the commands in FILE; -: standard input"},
    {"machines", MACHINES, {"FILE", ARGUMENT_FILE}, "groups of machines (~/.config/dpm/machines)"},
    {"remote-dpm", REMOTE, {"PROGRAM"}, "dpm on the other machines (dpm)"},
    {"rsh", RSH, {"COMMAND"}, "remote shell (ssh)"},
    {"session", SESSION_OPTION, {"NAME"}, "the session (jobs)"},
    {0},
};

static int take_option(int option, struct job_asked *asked)
{
    switch (option) {
    case ATTACH:
        asked->options.attach = true;
        return -1;
    case 'f':
        asked->script = optarg;
        return -1;
    case MACHINES:
        asked->options.machines = optarg;
        return -1;
    case REMOTE:
        asked->options.dpm = optarg;
        return -1;
    case RSH:
        asked->options.rsh = optarg;
        return -1;
    case SESSION_OPTION:
        asked->options.session = optarg;
        return -1;
    case OPTION_HELP:
        return command_help("job");
    default:
        return command_usage_error("job", NULL);
    }
}

/* ---- lines ---- */

/* At the end of a script the controller ends, and leaves what is active. */
static unsigned run_script(struct jobs *jobs, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");

    if (file == NULL) {
        command_error("%s: %s", path, strerror(errno));
        return 1;
    }
    const struct job_reader reader = {jobs_read_file, file};
    unsigned failed = jobs_run(jobs, &reader);
    if (!standard)
        fclose(file);
    jobs_end(jobs);
    return failed + jobs_lack(jobs);
}

/* The words as one line, quoted. */
static char *join(char **words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        return NULL;
    for (; *words != NULL; words++) {
        fputs(" '", file);
        for (const char *at = *words; *at != '\0'; at++)
            fputs(*at == '\'' ? "'\\''" : (char[]){*at, '\0'}, file);
        fputc('\'', file);
    }
    fclose(file);
    return text;
}

static unsigned run_words(struct jobs *jobs, char **words)
{
    const struct job_reader reader = {jobs_read_file, stdin};

    if (strcmp(words[0], "run") == 0 && words[1] != NULL && words[2] == NULL)
        return jobs_file(jobs, words[1]) < 0;
    char *line = join(words);
    int result = line == NULL ? -1 : jobs_line(jobs, line, &reader);
    free(line);
    return result < 0;
}

/* ---- begin and end ---- */

static int check_file(const char *path)
{
    struct problem problem;
    FILE *file = path == NULL ? NULL : fopen(path, "re");

    if (path == NULL)
        return command_usage_error("job", "run: give one file");
    if (file == NULL)
        return command_error("%s: %s", path, strerror(errno));
    int result = job_file_check(path, file, &problem);
    fclose(file);
    return result < 0 ? command_error("%s", problem.text) : -1;
}

/* A wrong command must not begin a session. */
static int check_words(char **words)
{
    struct job_command command;
    struct problem problem;

    if (strcmp(words[0], "run") == 0)
        return check_file(words[1] == NULL || words[2] != NULL ? NULL : words[1]);
    char *line = join(words);
    int result = line == NULL ? -ENOMEM : job_parse(line, &command, &problem);
    free(line);
    if (result < 0)
        return command_usage_error("job", "%s", problem.text);
    job_command_done(&command);
    return -1;
}

static int check(const struct job_asked *asked, char **words)
{
    if (words[0] != NULL && asked->script != NULL)
        return command_usage_error("job", "a script or a command, not both");
    if (words[0] == NULL && asked->script == NULL && !isatty(STDIN_FILENO))
        return command_usage_error("job", "name a command, or a script with -f");
    return words[0] == NULL ? -1 : check_words(words);
}

static int run(struct job_asked *asked, char **words)
{
    struct jobs *jobs = NULL;
    struct problem problem;
    sigset_t old_mask;
    unsigned failed = 0;

    signal(SIGPIPE, SIG_IGN);
    asked->options.signals = recording_signals(&old_mask);
    asked->options.either |= words[0] != NULL && !asked->options.attach;
    struct job_terminal *terminal = NULL;
    if (words[0] == NULL && asked->script == NULL)
        job_terminal_options(&asked->options, &terminal);
    if (jobs_open(&asked->options, &jobs, &problem) < 0)
        return command_error("%s", problem.text);
    if (words[0] != NULL)
        failed = run_words(jobs, words);
    else if (asked->script != NULL)
        failed = run_script(jobs, asked->script);
    else
        job_terminal_run(terminal, jobs);
    jobs_close(jobs);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int command_job(int argc, char **argv)
{
    struct job_asked asked = {
        .options = {.session = SESSION, .out = stdout, .err = stderr, .signals = -1}};
    int option, result = -1;

    while (result < 0 && (option = command_next_option(&job_command, argc, argv)) != -1)
        result = take_option(option, &asked);
    if (result < 0)
        result = check(&asked, argv + optind);
    return result < 0 ? run(&asked, argv + optind) : result;
}

static const char *job_word(size_t index)
{
    const char *word = job_command_word(index, NULL, NULL);
    size_t count = 0;

    if (word != NULL)
        return word;
    while (job_command_word(count, NULL, NULL) != NULL)
        count++;
    return index == count ? "run" : NULL;
}

const struct command job_command = {
    .name = "job",
    .description = "control jobs of processes on several machines; dpm alone: interactively",
    .usage = "[OPTION]... [COMMAND [ARGUMENT]...]",
    .function = command_job,
    .operand = {"COMMAND", ARGUMENT_WORD, job_word},
    .options_end = true,
    .options = job_options,
};
