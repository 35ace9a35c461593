/* SPDX-License-Identifier: MIT */
/*
 * tsp.c: the controller's program: options, the sequence of steps, the result.
 *
 *     generate the matrix → listen → start servers, or wait for them → search → finish → print
 */
#include "tsp.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char help_text[] =
    "usage: tsp [OPTION]...\n"
    "Finds the shortest tour through N cities with the help of server processes.\n"
    "\n"
    "  --cities N             cities, 3 to 32 (12)\n"
    "  --servers P            server processes, 1 to N (4, or N if less)\n"
    "  --version V            1: recalculates choices, 2: keeps them, 3: keeps them and gives\n"
    "                         each server two requests at a time (1)\n"
    "  --seed S               of the random cost matrix (57)\n"
    "  --listen ADDRESS:PORT  where servers connect (127.0.0.1:0; port 0: any free one)\n"
    "  --no-spawn             start no servers: wait for `tsp-server HOST PORT` run by hand\n"
    "  --port-file FILE       write the port there\n"
    "  --server-program FILE  program to run as server (tsp-server beside this program)\n"
    "  --bug BUG              one-created: create one server, whatever --servers says; one-used:\n"
    "                         create all, but give requests to one\n"
    "  --timeout SECONDS      longest wait for a server (60)\n"
    "  --times                print the CPU time of controller and servers too, how many\n"
    "                         requests each server answered, and how often one then waited for\n"
    "                         the next step\n"
    "  --quiet                print the cost only\n"
    "  --check                no servers: print the optimum by an independent method (N <= 16)\n"
    "  --print-matrix         print the cost matrix only\n"
    "  --help                 print this\n";

#define SERVERS_DEFAULT 4
#define SEED_DEFAULT    57 /* a matrix that makes the search backtrack a few times, README.md */

/* The two bugs that measurement found in the thesis' program. */
enum bug {
    BUG_NONE,
    BUG_ONE_CREATED,
    BUG_ONE_USED,
};

struct options {
    unsigned cities;
    unsigned servers; /* 0: not given */
    unsigned version;
    unsigned timeout_seconds;
    uint64_t seed;
    enum bug bug;
    const char *listen;
    const char *port_file;
    const char *server_program; /* NULL: beside this program */
    bool no_spawn;
    bool times;
    bool quiet;
    bool check;
    bool print_matrix;
    bool help;
};

enum option_code {
    OPTION_CITIES = 256,
    OPTION_SERVERS,
    OPTION_VERSION,
    OPTION_SEED,
    OPTION_LISTEN,
    OPTION_NO_SPAWN,
    OPTION_PORT_FILE,
    OPTION_SERVER_PROGRAM,
    OPTION_BUG,
    OPTION_TIMEOUT,
    OPTION_TIMES,
    OPTION_QUIET,
    OPTION_CHECK,
    OPTION_PRINT_MATRIX,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"cities", required_argument, NULL, OPTION_CITIES},
    {"servers", required_argument, NULL, OPTION_SERVERS},
    {"version", required_argument, NULL, OPTION_VERSION},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"no-spawn", no_argument, NULL, OPTION_NO_SPAWN},
    {"port-file", required_argument, NULL, OPTION_PORT_FILE},
    {"server-program", required_argument, NULL, OPTION_SERVER_PROGRAM},
    {"bug", required_argument, NULL, OPTION_BUG},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"times", no_argument, NULL, OPTION_TIMES},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"print-matrix", no_argument, NULL, OPTION_PRINT_MATRIX},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* ---- options ---- */

static int parse_number(const char *name, const char *text, uint64_t least, uint64_t largest,
                        uint64_t *ret_value, struct problem *problem)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || value < least || value > largest)
        return problem_set(problem, -EINVAL,
                           "--%s %s: expected a number from %" PRIu64 " to %" PRIu64, name, text,
                           least, largest);
    *ret_value = value;
    return 0;
}

static int parse_unsigned(const char *name, const char *text, unsigned least, unsigned largest,
                          unsigned *ret_value, struct problem *problem)
{
    uint64_t value;
    int error = parse_number(name, text, least, largest, &value, problem);
    if (error == 0)
        *ret_value = (unsigned)value;
    return error;
}

static int parse_bug(const char *text, enum bug *ret_bug, struct problem *problem)
{
    if (strcmp(text, "one-created") == 0)
        *ret_bug = BUG_ONE_CREATED;
    else if (strcmp(text, "one-used") == 0)
        *ret_bug = BUG_ONE_USED;
    else
        return problem_set(problem, -EINVAL, "--bug %s: expected one-created or one-used", text);
    return 0;
}

static int parse_option(struct options *options, int code, struct problem *problem)
{
    switch (code) {
    case OPTION_CITIES:
        return parse_unsigned("cities", optarg, CITIES_LEAST, CITIES_LIMIT, &options->cities,
                              problem);
    case OPTION_SERVERS:
        return parse_unsigned("servers", optarg, 1, SERVERS_LIMIT, &options->servers, problem);
    case OPTION_VERSION:
        return parse_unsigned("version", optarg, 1, 3, &options->version, problem);
    case OPTION_TIMEOUT:
        return parse_unsigned("timeout", optarg, 1, 86400, &options->timeout_seconds, problem);
    case OPTION_SEED:
        return parse_number("seed", optarg, 0, UINT64_MAX, &options->seed, problem);
    case OPTION_LISTEN:
        options->listen = optarg;
        return 0;
    case OPTION_BUG:
        return parse_bug(optarg, &options->bug, problem);
    case OPTION_NO_SPAWN:
        options->no_spawn = true;
        return 0;
    case OPTION_PORT_FILE:
        options->port_file = optarg;
        return 0;
    case OPTION_SERVER_PROGRAM:
        options->server_program = optarg;
        return 0;
    case OPTION_TIMES:
        options->times = true;
        return 0;
    case OPTION_QUIET:
        options->quiet = true;
        return 0;
    case OPTION_CHECK:
        options->check = true;
        return 0;
    case OPTION_PRINT_MATRIX:
        options->print_matrix = true;
        return 0;
    case OPTION_HELP:
        options->help = true;
        return 0;
    default:
        return problem_set(problem, -EINVAL, "try tsp --help");
    }
}

static int parse_options(struct options *options, int argument_count, char **arguments,
                         struct problem *problem)
{
    int code;
    while ((code = getopt_long(argument_count, arguments, "", long_options, NULL)) != -1) {
        int error = parse_option(options, code, problem);
        if (error < 0)
            return error;
    }
    if (optind < argument_count)
        return problem_set(problem, -EINVAL, "%s: no argument is expected; try tsp --help",
                           arguments[optind]);
    if (options->servers == 0)
        options->servers = options->cities < SERVERS_DEFAULT ? options->cities : SERVERS_DEFAULT;
    if (options->servers > options->cities)
        return problem_set(problem, -EINVAL, "--servers %u: more servers than the %u cities",
                           options->servers, options->cities);
    if (options->check && options->cities > EXACT_CITIES_LIMIT)
        return problem_set(problem, -EINVAL, "--check: at most %u cities", EXACT_CITIES_LIMIT);
    return 0;
}

/* ---- output ---- */

static void print_matrix(const struct costs *costs)
{
    for (unsigned from = 0; from < costs->cities; from++)
        for (unsigned to = 0; to < costs->cities; to++)
            printf("%d%c", from == to ? 0 : costs->cost[from][to],
                   to + 1 < costs->cities ? ' ' : '\n');
}

static void print_result(const struct search_result *result, uint64_t messages)
{
    printf("tour      ");
    for (unsigned position = 0; position < result->tour.length; position++)
        printf(" %u", result->tour.cities[position]);
    printf("\ncost       %d\n", result->cost);
    printf("requests   %" PRIu64 "\n", result->requests);
    printf("steps      %" PRIu64 "\n", result->steps);
    printf("backtracks %" PRIu64 "\n", result->backtracks);
    printf("messages   %" PRIu64 "\n", messages);
}

static double cpu_milliseconds(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* Servers started by hand are not our children: their CPU time is unknown. */
static void print_times(const struct crew *crew, const struct search_result *result)
{
    const double controller = cpu_milliseconds(RUSAGE_SELF);
    const double servers = cpu_milliseconds(RUSAGE_CHILDREN);
    printf("controller %.1f ms CPU, %.1f %%\n", controller,
           100 * controller / (controller + servers));
    printf("servers    %.1f ms CPU\n", servers);
    printf("answered  ");
    for (unsigned index = 0; index < crew->server_count; index++)
        printf(" %u", crew->servers[index].answered);
    printf("\nwaits      %" PRIu64 "\n", result->waits);
}

static int check(const struct costs *costs, struct problem *problem)
{
    int32_t cost = costs_exact(costs);
    if (cost < 0)
        return problem_set(problem, cost, "--check: %s", strerror(-cost));
    printf("cost       %d\n", cost);
    return 0;
}

/* ---- the computation ---- */

/* The path of tsp-server in the folder of the running program. */
static int server_beside(char *ret_path, size_t size, struct problem *problem)
{
    static const char name[] = "tsp-server";
    ssize_t length = readlink("/proc/self/exe", ret_path, size - 1);
    if (length < 0) {
        int error = -errno;
        return problem_set(problem, error, "/proc/self/exe: %s", strerror(-error));
    }
    ret_path[length] = '\0';
    char *slash = strrchr(ret_path, '/');
    if (!slash || (size_t)(slash + 1 - ret_path) + sizeof(name) > size)
        return problem_set(problem, -ENAMETOOLONG, "use --server-program");
    memcpy(slash + 1, name, sizeof(name));
    return 0;
}

static int write_port(const char *file, const char *port, struct problem *problem)
{
    FILE *stream = fopen(file, "we");
    bool written = stream && fprintf(stream, "%s\n", port) > 0;
    if (stream && fclose(stream) != 0)
        written = false;
    if (!written) {
        int error = errno ? -errno : -EIO;
        return problem_set(problem, error, "--port-file %s: %s", file, strerror(-error));
    }
    return 0;
}

static int gather(struct crew *crew, const struct options *options, const struct costs *costs,
                  struct problem *problem)
{
    const unsigned servers = options->bug == BUG_ONE_CREATED ? 1 : options->servers;
    char program[PATH_MAX];
    int error = crew_listen(crew, options->listen, options->timeout_seconds, problem);
    if (error == 0 && options->port_file)
        error = write_port(options->port_file, crew->port, problem);
    if (error < 0)
        return error;

    if (options->no_spawn) {
        if (!options->quiet)
            fprintf(stderr, "tsp: waiting for %u servers at %s port %s\n", servers, crew->host,
                    crew->port);
    } else {
        const char *server = options->server_program;
        if (!server && (error = server_beside(program, sizeof(program), problem)) < 0)
            return error;
        error = crew_spawn(crew, server ? server : program, servers, problem);
    }
    if (error == 0)
        error = crew_join(crew, servers, costs, problem);
    if (error == 0 && options->bug == BUG_ONE_USED)
        crew->used_count = 1;
    return error;
}

static int compute(const struct options *options, const struct costs *costs,
                   struct problem *problem)
{
    static struct crew crew; /* too large for a stack */
    struct search_result result;
    int error = gather(&crew, options, costs, problem);
    if (error == 0)
        error = search_run(&crew, costs, options->version, &result, problem);
    if (error == 0)
        error = crew_finish(&crew, problem);
    if (error < 0) {
        crew_abandon(&crew);
        return error;
    }
    if (options->quiet)
        printf("%d\n", result.cost);
    else
        print_result(&result, crew.messages);
    if (options->times)
        print_times(&crew, &result);
    return 0;
}

static int fail(const struct problem *problem, int code)
{
    fprintf(stderr, "tsp: %s\n", problem->text);
    return code;
}

int main(int argument_count, char **arguments)
{
    struct options options = {.cities = 12,
                              .version = 1,
                              .seed = SEED_DEFAULT,
                              .listen = "127.0.0.1:0",
                              .timeout_seconds = 60};
    struct problem problem = {.text = ""};
    struct costs costs;
    int error = parse_options(&options, argument_count, arguments, &problem);
    if (error < 0)
        return fail(&problem, 2);
    if (options.help) {
        fputs(help_text, stdout);
        return 0;
    }

    costs_generate(&costs, options.cities, options.seed);
    if (options.print_matrix)
        print_matrix(&costs);
    else if (options.check)
        error = check(&costs, &problem);
    else
        error = compute(&options, &costs, &problem);
    if (error == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        error = problem_set(&problem, -EIO, "cannot write the result");
    return error < 0 ? fail(&problem, 1) : 0;
}
