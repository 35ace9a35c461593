/* SPDX-License-Identifier: MIT */
/*
 * calibrate_command.c: `dpm calibrate`: measures message delays for `dpm parallelism --delays`, or with --costs what
 * `dpm view --costs` reads. See dpm-calibrate(1).
 *
 *      this process  -- message of n bytes -->  a child, or `dpm calibrate --listen` on another machine
 *                    <- message of n bytes --      half of the round-trip time; the median of many
 */
#include "calibrate/calibrate.h"
#include "command/calibrate_costs.h"
#include "command/calibrate_listen.h"
#include "command/shared/command.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
    const char *file;   /* NULL: standard output */
    const char *listen; /* port, or address:port */
    uint64_t time;      /* ns for each length */
    bool costs;         /* for views */
};

/* ---- writing ---- */

static const char *kind_word(size_t index)
{
    static const char *const words[] = {"tcp", "unix", "pipe"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

/* What disturbs a measurement makes it longer, so a shorter message was never slower than a longer one. */
static uint64_t delay_of(const uint64_t medians[CALIBRATE_SIZES], size_t size)
{
    uint64_t least = medians[size];

    for (size_t longer = size + 1; longer < CALIBRATE_SIZES; longer++)
        least = medians[longer] < least ? medians[longer] : least;
    return least;
}

static void print_delay(FILE *file, const uint64_t medians[CALIBRATE_SIZES])
{
    for (size_t i = 0; i < CALIBRATE_SIZES; i++)
        fprintf(file, "%s%u:%.2fus", i == 0 ? "" : ",", calibrate_sizes[i],
                (double)delay_of(medians, i) / 1000);
    fputc('\n', file);
}

/* Writes `local` as measured with TCP, so that it compares with `remote`; other kinds as comments. */
static int write_local(FILE *file, uint64_t time, struct problem *problem)
{
    uint64_t medians[CALIBRATE_SIZES];

    for (unsigned kind = 0; kind < CALIBRATE_KINDS; kind++) {
        int result = calibrate_local((enum calibrate_kind)kind, time, medians, NULL);
        if (result < 0)
            return problem_set(problem, result, "%s: %s", kind_word(kind), strerror(-result));
        fprintf(file, "%s ", kind == CALIBRATE_TCP ? "local " : "#");
        if (kind != CALIBRATE_TCP)
            fprintf(file, "local by %-4s ", kind_word(kind));
        print_delay(file, medians);
    }
    return 0;
}

/* This machine and those to measure. All are resolved first, because measuring takes long. */
struct machines {
    char here[MACHINE_NAME_SIZE];
    struct calibrate_host *hosts; /* [count] */
    size_t count;
};

static int read_machines(const char *const *addresses, size_t count, struct machines *machines,
                         struct problem *problem)
{
    int result = 0;

    *machines =
        (struct machines){.hosts = calloc(count + 1, sizeof(*machines->hosts)), .count = count};
    if (machines->hosts == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count && result == 0; i++)
        result = calibrate_read_host(addresses[i], &machines->hosts[i], problem);
    if (result < 0 || count == 0)
        return result;
    /* a longer name is truncated, as in a trace */
    if (gethostname(machines->here, sizeof(machines->here) - 1) < 0 && errno != ENAMETOOLONG)
        return problem_set(problem, -errno, "cannot read this machine's host name: %s",
                           strerror(errno));
    return machines->here[0] != '\0'
               ? 0
               : problem_set(problem, -ENODATA, "this machine has no host name");
}

static void machines_done(struct machines *machines)
{
    for (size_t i = 0; machines->hosts != NULL && i < machines->count; i++)
        if (machines->hosts[i].found != NULL)
            freeaddrinfo(machines->hosts[i].found);
    free(machines->hosts);
}

/* Writes both directions, as only the round trip is known. Machines by their host names, or by the names given. */
static void write_pair(FILE *file, const char *here, const char *there,
                       const uint64_t medians[CALIBRATE_SIZES])
{
    fprintf(file, "%s %s ", here, there);
    print_delay(file, medians);
    fprintf(file, "%s %s ", there, here);
    print_delay(file, medians);
}

static int write_remote(FILE *file, const struct machines *machines, uint64_t time,
                        struct problem *problem)
{
    uint64_t medians[CALIBRATE_SIZES], most[CALIBRATE_SIZES] = {0};

    for (size_t i = 0; i < machines->count; i++) {
        int result = calibrate_remote(&machines->hosts[i], time, medians, problem);
        if (result < 0)
            return result;
        write_pair(file, machines->here, machines->hosts[i].name, medians);
        for (size_t k = 0; k < CALIBRATE_SIZES; k++)
            most[k] = medians[k] > most[k] ? medians[k] : most[k];
    }
    if (machines->count > 0) {
        fputs("remote ", file);
        print_delay(file, most);
    }
    return 0;
}

static int write_text(const void *what, FILE *file)
{
    fputs(what, file);
    return 0;
}

static int write_delays(FILE *file, const struct machines *machines, uint64_t time,
                        struct problem *problem)
{
    fputs("# message delay by length: half the median round trip (dpm calibrate)\n", file);
    int result = write_local(file, time, problem);
    return result < 0 ? result : write_remote(file, machines, time, problem);
}

static int calibrate(const struct asked *asked, const char *const *addresses, size_t count,
                     struct problem *problem)
{
    struct machines machines;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = NULL;
    int result = read_machines(addresses, count, &machines, problem);

    if (result < 0)
        goto done;
    memory = open_memstream(&text, &size);
    if (memory == NULL) {
        result = problem_set(problem, -ENOMEM, "out of memory");
        goto done;
    }
    result = asked->costs ? calibrate_write_costs(memory, machines.hosts, machines.count,
                                                  asked->time, problem)
                          : write_delays(memory, &machines, asked->time, problem);
    if (fclose(memory) != 0 && result == 0)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        result = command_write_file(asked->file, write_text, text, problem);
done:
    machines_done(&machines);
    free(text);
    return result;
}

/* ---- options ---- */

enum { OPTION_COSTS = OPTION_HELP + 1, OPTION_LISTEN, OPTION_TIME };

static const struct command_option calibrate_options[] = {
    {"costs", OPTION_COSTS, {0}, "write costs for dpm view, also of sensors and probes"},
    {"output", 'o', {"FILE", ARGUMENT_FILE}, "write to FILE (standard output)"},
    {"listen",
     OPTION_LISTEN,
     {"[ADDRESS:]PORT"},
     "answer dpm calibrate on another machine, until Ctrl-C"},
    {"time", OPTION_TIME, {"TIME"}, "measure each length this long (200ms)"},
    {0},
};

static int take_option(int option, struct asked *asked)
{
    switch (option) {
    case 'o':
        asked->file = optarg;
        return -1;
    case OPTION_COSTS:
        asked->costs = true;
        return -1;
    case OPTION_LISTEN:
        asked->listen = optarg;
        return -1;
    case OPTION_TIME:
        return parse_duration(optarg, &asked->time) == 0 && asked->time > 0 &&
                       asked->time <= 60000000000
                   ? -1
                   : command_usage_error("calibrate", "--time %s: give a time up to 1m", optarg);
    default:
        return option == OPTION_HELP ? command_help("calibrate")
                                     : command_usage_error("calibrate", NULL);
    }
}

static int command_calibrate(int argc, char **argv)
{
    struct asked asked = {0};
    struct problem problem = {""};
    int option, result, status = -1;

    while (status < 0 && (option = command_next_option(&calibrate_command, argc, argv)) != -1)
        status = take_option(option, &asked);
    if (status >= 0)
        return status;
    if (asked.listen != NULL &&
        (optind < argc || asked.file != NULL || asked.time != 0 || asked.costs))
        return command_usage_error("calibrate", "--listen takes no other option or argument");
    if (asked.time == 0)
        asked.time = 200000000;
    signal(SIGPIPE, SIG_IGN);
    result = asked.listen != NULL ? calibrate_answer(asked.listen, &problem)
                                  : calibrate(&asked, (const char *const *)argv + optind,
                                              (size_t)(argc - optind), &problem);
    if (result == -EINVAL)
        return command_usage_error("calibrate", "%s", problem.text);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

const struct command calibrate_command = {
    .name = "calibrate",
    .description = "measure message latency on this machine and to others",
    .usage = "[OPTION]... [HOST:PORT]...",
    .function = command_calibrate,
    .operand = {"HOST:PORT", ARGUMENT_OTHER, NULL},
    .options = calibrate_options,
};
