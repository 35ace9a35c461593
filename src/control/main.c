/* SPDX-License-Identifier: MIT */
/* main.c: the program dpm: the table of its commands, and what they share. See command.h. */
#include "control/command.h"

#include "show/show.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name;
    int (*function)(int argc, char **argv);
    const char *description; /* one line */
    const char *usage;
};

static const struct command commands[] = {
    {"run", command_run, "meter a command and all its descendants, record, and report",
     "dpm run [OPTION]... [--] COMMAND [ARGUMENT]...\n"
     "\n"
     "  -o TRACE         record into the directory TRACE (./dpm-NAME-PID.trace)\n"
     "  --flags LIST     events to meter, by name: all, send, receive, fork ... (all)\n"
     "  --user NAME      run the command as this user\n"
     "  --interval TIME  report also every TIME while it goes on: 10s, 5m\n"
     "  --cpu-time MODE  precise, or coarse: up to 4 ms old, and cheaper (precise)\n"
     "  --report FILE    write the report into FILE (standard error)\n"
     "  --max-size N     largest size of the trace: bytes, or with K, M, G (4G)\n"
     "  --ring N         size of the buffer between kernel and dpm, 4K to 1G\n"
     "  --wait           end when the last descendant has ended, not when COMMAND has\n"
     "  --help           print this\n"},
    {"acquire", command_acquire, "meter processes that run already, record, and report",
     "dpm acquire [OPTION]... PID...\n"
     "\n"
     "  -p, --pid PID    this process; repeatable, like the next three\n"
     "  --name NAME      processes of this name\n"
     "  --cgroup PATH    processes in this cgroup and below it: /system.slice\n"
     "  --unit UNIT      processes of this systemd unit: redis.service\n"
     "  --all            every process of the machine but dpm itself\n"
     "  --duration TIME  end after TIME: 500ms, 10s, 5m, 1h\n"
     "  --interval TIME  report also every TIME while it goes on\n"
     "  -o TRACE         record into the directory TRACE (./dpm-NAME-PID.trace)\n"
     "  --flags LIST     events to meter, by name: all, send, receive, fork ... (all)\n"
     "  --cpu-time MODE  precise, or coarse: up to 4 ms old, and cheaper (precise)\n"
     "  --report FILE    write the report into FILE (standard error)\n"
     "  --max-size N     largest size of the trace: bytes, or with K, M, G (4G)\n"
     "  --ring N         size of the buffer between kernel and dpm, 4K to 1G\n"
     "  --help           print this\n"},
    {"dump", command_dump, "list the records of traces, one line each",
     "dpm dump [OPTION]... TRACE...\n"
     "\n"
     "  --process NAME|PID          only of this process or thread; repeatable\n"
     "  --user NAME|UID             only of processes of this user; repeatable\n"
     "  --container NAME            only of processes in this container, unit or cgroup; "
     "repeatable\n"
     "  --type TYPE[,TYPE]...       only of these types, by either paper's name; repeatable\n"
     "  --path NUMBER|KIND|ADDRESS  only of this path, kind (tcp, unix ...), or of paths with "
     "this\n"
     "                              in an address; repeatable\n"
     "  --json                      one JSON object per line\n"
     "  --help                      print this\n"},
    {"stats", command_stats, "show who sent how much to whom",
     "dpm stats [OPTION]... TRACE...\n"
     "\n"
     "  --by WHAT     one row for each process (as without it), user, container, program or\n"
     "                machine; or only the table of pairs (pair) or of paths (path)\n"
     "  --sort WHAT   the largest first by bytes (as without it), messages, cpu, response (99 %\n"
     "                quantile), or by name\n"
     "  --all         every row of the tables, not the 100 largest and a row of others\n"
     "  --every TIME  also what was sent in each stretch of this time\n"
     "  --histogram   also how sizes and times are distributed\n"
     "  --json        one JSON object, always with everything\n"
     "  --csv         one table, of processes or what --by says, for spreadsheets\n"
     "  --help        print this\n"},
    {"repair", command_repair, "make a trace that was cut whole for other tools",
     "dpm repair TRACE\n"
     "\n"
     "  --help  print this\n"},
    {"check", command_check, "tell whether metering works here, what is missing, and what to do",
     "dpm check [OPTION]...\n"
     "\n"
     "  --json  one JSON object\n"
     "  --help  print this\n"},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int command_help(const char *name)
{
    const struct command *command = find_command(name);

    printf("dpm %s: %s\n\nusage: %s\nMore: man dpm-%s\n", name, command->description,
           command->usage, name);
    return EXIT_SUCCESS;
}

int command_error(const char *format, ...)
{
    va_list arguments;

    fputs("dpm: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return EXIT_FAILURE;
}

int command_usage_error(const char *name, const char *format, ...)
{
    va_list arguments;

    if (format == NULL)
        return EXIT_USAGE;
    fprintf(stderr, "dpm: %s: ", name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (try: dpm %s --help)\n", name);
    return EXIT_USAGE;
}

int command_flush_output(struct problem *problem)
{
    int error = ferror(stdout) ? errno : 0;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (error == 0)
        error = errno;
    return problem_set(problem, error == 0 ? -EIO : -error, "cannot write the output: %s",
                       strerror(error == 0 ? EIO : error));
}

int parse_size(const char *text, uint64_t *ret_size)
{
    static const char suffixes[] = "kmgt";
    char *end;

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    unsigned long long size = strtoull(text, &end, 10);
    if (errno != 0)
        return -ERANGE;
    const char *suffix = strchr(suffixes, tolower((unsigned char)*end));
    unsigned shift = 0;
    if (*end != '\0') {
        if (suffix == NULL || end[1] != '\0')
            return -EINVAL;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (size > UINT64_MAX >> shift)
        return -ERANGE;
    *ret_size = (uint64_t)size << shift;
    return 0;
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *suffix;
        uint64_t ns;
    } units[] = {{"", 1000000000}, {"s", 1000000000},  {"ms", 1000000},
                 {"us", 1000},     {"m", 60000000000}, {"h", 3600000000000}};
    char *end;

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    double number = strtod(text, &end);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcmp(end, units[i].suffix) != 0)
            continue;
        if (errno != 0 || number * (double)units[i].ns > (double)INT64_MAX)
            return -ERANGE;
        *ret_ns = (uint64_t)(number * (double)units[i].ns);
        return 0;
    }
    return -EINVAL;
}

static void report_end(const struct source_state *state, const char *name)
{
    if (!state->complete)
        fprintf(stderr,
                "dpm: %s was cut: what came last is missing (`dpm repair` closes it for other "
                "tools)\n",
                name);
    else if (state->end_reason == END_REPAIRED)
        fprintf(stderr, "dpm: %s was cut and repaired: what came last is missing\n", name);
    else if (state->end_reason == END_SIZE)
        fprintf(stderr, "dpm: %s: the recording stopped when it reached its largest size\n", name);
    else if (state->end_reason == END_DISK)
        fprintf(stderr, "dpm: %s: the recording stopped because it could not be written\n", name);
}

void command_report_state(const struct source *source, const char *const *names)
{
    for (uint32_t i = 0; i < source->origins; i++) {
        char lost[UNIT_SIZE];
        report_end(&source->states[i], names[i]);
        if (source->states[i].lost == 0)
            continue;
        show_count(source->states[i].lost, lost);
        fprintf(stderr, "dpm: %s: %s %s lost\n", names[i], lost,
                source->states[i].lost == 1 ? "record was" : "records were");
    }
}

static int print_help(void)
{
    printf("usage: dpm COMMAND [ARGUMENT]...\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].description);
    printf("  %-8s %s\n", "help", "print this, or how a command is used");
    printf("\n  --help   print this\n  --version\n\nMore: dpm help COMMAND, man dpm\n");
    return EXIT_SUCCESS;
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "dpm: there is no command '%s' (try: dpm help)\n", name);
    return EXIT_USAGE;
}

static int run_command(int argc, char **argv)
{
    const char *name = argc < 2 ? "help" : argv[1];
    bool help = strcmp(name, "help") == 0 || strcmp(name, "--help") == 0;

    if (strcmp(name, "--version") == 0) {
        printf("dpm %s\n", DPM_VERSION);
        return EXIT_SUCCESS;
    }
    if (help && (argc < 3 || strcmp(argv[2], "help") == 0))
        return print_help();
    if (help)
        return find_command(argv[2]) == NULL ? unknown_command(argv[2]) : command_help(argv[2]);
    const struct command *command = find_command(name);
    if (command == NULL)
        return unknown_command(name);
    argv[1] = (char *)"dpm";
    return command->function(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    /* Characters as the user's terminal has them; figures as everybody reads them. */
    setlocale(LC_CTYPE, "");
    struct problem problem;
    int status = run_command(argc, argv);
    if (status == EXIT_SUCCESS && command_flush_output(&problem) < 0)
        status = command_error("%s", problem.text);
    return status;
}
