/* SPDX-License-Identifier: MIT */
/* filesystem.c: the launcher's program: options, and the sequence of steps. */
#include "filesystem.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: filesystem [OPTION]...\n"
    "Runs a file system of four server processes, and processes that use it.\n"
    "\n"
    "  --clients N            user processes, 1 to 64 (4)\n"
    "  --kind KIND            sequential: each writes a whole file, then reads it, and again;\n"
    "                         random: reads and writes here and there; mixed: half of each "
    "(mixed)\n"
    "  --requests N           reads and writes of each user (850)\n"
    "  --seed S               of all users' requests and data (1)\n"
    "  --tcp                  TCP connections on this machine in place of UNIX sockets\n"
    "  --part ROLE            run only this role here, the others on other hosts\n"
    "  --hosts ROLE=HOST,...  with --part: where the four servers are, by TCP\n"
    "  --port N               with --part: of the disk interface; the others have the next three "
    "(7400)\n"
    "  --place ROLE=CORE,...  pin processes to cores; roles are disk, buffer, directory,\n"
    "                         interpreter, users\n"
    "  --file-blocks N        size of sequential users' files, and of all users' rounds (12)\n"
    "  --random-blocks N      size of random users' files (9)\n"
    "  --write-percent N      of random requests to what has been written before (10)\n"
    "  --buffers N            for each open file (8)\n"
    "  --dirty-buffers N      of these, that may be dirty (3)\n"
    "  --inside N             requests that the request interpreter lets in at a time (4)\n"
    "  --cost-disk US         CPU time for each message the disk interface receives (380)\n"
    "  --cost-buffer US       ... the buffer manager (150)\n"
    "  --cost-directory US    ... the directory manager (40)\n"
    "  --cost-interpreter US  ... the request interpreter (22)\n"
    "  --cost-user US         ... a user (0)\n"
    "  --disk FILE            keep the disk there\n"
    "  --help                 print this\n";

enum option_code {
    OPTION_NUMBER = 0x1000, /* and up: index into `numbers` */
    OPTION_KIND = 0x2000,
    OPTION_SEED,
    OPTION_TCP,
    OPTION_PLACE,
    OPTION_PART,
    OPTION_HOSTS,
    OPTION_PORT,
    OPTION_DISK,
    OPTION_HELP,
};

/* Options that are numbers, and where they are stored. */
static const struct number_option {
    const char *name;
    size_t offset;
    uint32_t preset, least, largest;
} numbers[] = {
    {"clients", offsetof(struct settings, users), 4, 1, USERS_LIMIT},
    {"requests", offsetof(struct settings, requests), 850, 1, 10000000},
    {"file-blocks", offsetof(struct settings, file_blocks), 12, 1, 512},
    {"random-blocks", offsetof(struct settings, random_blocks), 9, 1, 512},
    {"write-percent", offsetof(struct settings, write_percent), 10, 0, 100},
    {"buffers", offsetof(struct settings, buffers), 8, 1, 512},
    {"dirty-buffers", offsetof(struct settings, dirty_buffers), 3, 1, 512},
    {"inside", offsetof(struct settings, inside), 4, 1, USERS_LIMIT},
    {"cost-disk", offsetof(struct settings, cost_us[DISK_INTERFACE]), 380, 0, 1000000},
    {"cost-buffer", offsetof(struct settings, cost_us[BUFFER_MANAGER]), 150, 0, 1000000},
    {"cost-directory", offsetof(struct settings, cost_us[DIRECTORY_MANAGER]), 40, 0, 1000000},
    {"cost-interpreter", offsetof(struct settings, cost_us[REQUEST_INTERPRETER]), 22, 0, 1000000},
    {"cost-user", offsetof(struct settings, cost_us[ROLE_USER]), 0, 0, 1000000},
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static const struct option word_options[] = {
    {"kind", required_argument, NULL, OPTION_KIND},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"tcp", no_argument, NULL, OPTION_TCP},
    {"place", required_argument, NULL, OPTION_PLACE},
    {"part", required_argument, NULL, OPTION_PART},
    {"hosts", required_argument, NULL, OPTION_HOSTS},
    {"port", required_argument, NULL, OPTION_PORT},
    {"disk", required_argument, NULL, OPTION_DISK},
    {"help", no_argument, NULL, OPTION_HELP},
};

#define WORDS (sizeof(word_options) / sizeof(word_options[0]))

/* ---- options ---- */

static uint32_t *number_at(struct settings *settings, size_t row)
{
    return (uint32_t *)((char *)settings + numbers[row].offset);
}

static int parse_number(const char *name, const char *text, uint64_t least, uint64_t largest,
                        uint64_t *ret_value, struct problem *problem)
{
    char *end;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-' || value < least || value > largest)
        return problem_set(problem, -EINVAL,
                           "--%s %s: expected a number from %" PRIu64 " to %" PRIu64, name, text,
                           least, largest);
    *ret_value = value;
    return 0;
}

static int parse_kind(const char *text, enum kind *ret_kind, struct problem *problem)
{
    static const char *const names[] = {"sequential", "random", "mixed"};
    for (unsigned kind = 0; kind < sizeof(names) / sizeof(names[0]); kind++)
        if (strcmp(text, names[kind]) == 0) {
            *ret_kind = (enum kind)kind;
            return 0;
        }
    return problem_set(problem, -EINVAL, "--kind %s: expected sequential, random or mixed", text);
}

static char *const roles[] = {"disk", "buffer", "directory", "interpreter", "users", NULL};

static int parse_part(const char *text, int *ret_part, struct problem *problem)
{
    for (int role = 0; roles[role]; role++)
        if (strcmp(text, roles[role]) == 0) {
            *ret_part = role;
            return 0;
        }
    return problem_set(problem, -EINVAL,
                       "--part %s: expected disk, buffer, directory, interpreter or users", text);
}

static int parse_hosts(char *text, const char **hosts, struct problem *problem)
{
    while (*text) {
        char *value;
        const int role = getsubopt(&text, roles, &value);
        if (role < 0 || role >= SERVERS || !value)
            return problem_set(problem, -EINVAL,
                               "--hosts: expected disk=HOST,buffer=HOST,directory=HOST,"
                               "interpreter=HOST");
        hosts[role] = value;
    }
    return 0;
}

/* What goes together. */
static int check_parts(const struct launch *launch, struct problem *problem)
{
    for (unsigned server = 0; server < SERVERS; server++)
        if ((launch->hosts[server] != NULL) != (launch->part >= 0))
            return problem_set(problem, -EINVAL,
                               "--part and --hosts go together, and --hosts names the hosts of all "
                               "four servers");
    return 0;
}

static int parse_place(char *text, int *cores, struct problem *problem)
{
    while (*text) {
        char *value;
        uint64_t core = 0;
        const int role = getsubopt(&text, roles, &value);
        if (role < 0 || !value)
            return problem_set(problem, -EINVAL,
                               "--place: expected disk=CORE,buffer=CORE,directory=CORE,"
                               "interpreter=CORE,users=CORE, or some of these");
        const int error = parse_number("place", value, 0, 1023, &core, problem);
        if (error < 0)
            return error;
        cores[role] = (int)core;
    }
    return 0;
}

static int parse_option(struct launch *launch, int code, struct problem *problem)
{
    struct settings *settings = &launch->shared->settings;
    uint64_t value = 0;
    int error;
    switch (code) {
    case OPTION_KIND:
        return parse_kind(optarg, &settings->kind, problem);
    case OPTION_SEED:
        return parse_number("seed", optarg, 0, UINT64_MAX, &settings->seed, problem);
    case OPTION_TCP:
        launch->tcp = true;
        return 0;
    case OPTION_PLACE:
        return parse_place(optarg, launch->cores, problem);
    case OPTION_PART:
        return parse_part(optarg, &launch->part, problem);
    case OPTION_HOSTS:
        return parse_hosts(optarg, launch->hosts, problem);
    case OPTION_PORT:
        error = parse_number("port", optarg, 1, UINT16_MAX - SERVERS, &value, problem);
        if (error == 0)
            launch->port = (uint16_t)value;
        return error;
    case OPTION_DISK:
        launch->disk = optarg;
        return 0;
    default:
        if (code < OPTION_NUMBER || code >= OPTION_NUMBER + (int)NUMBERS)
            return problem_set(problem, -EINVAL, "try filesystem --help");
        const struct number_option *row = &numbers[code - OPTION_NUMBER];
        error = parse_number(row->name, optarg, row->least, row->largest, &value, problem);
        if (error == 0)
            *number_at(settings, (size_t)(code - OPTION_NUMBER)) = (uint32_t)value;
        return error;
    }
}

static void set_defaults(struct launch *launch)
{
    for (size_t row = 0; row < NUMBERS; row++)
        *number_at(&launch->shared->settings, row) = numbers[row].preset;
    launch->shared->settings.kind = KIND_MIXED;
    launch->shared->settings.seed = 1;
    launch->part = -1;
    launch->port = 7400;
    for (unsigned role = 0; role < ROLES; role++)
        launch->cores[role] = -1;
}

/* Returns 0, 1 for --help, or a negative errno. */
static int parse_options(struct launch *launch, int argument_count, char **arguments,
                         struct problem *problem)
{
    struct option options[NUMBERS + WORDS + 1] = {{NULL}};
    int code;
    for (size_t row = 0; row < NUMBERS; row++)
        options[row] =
            (struct option){numbers[row].name, required_argument, NULL, OPTION_NUMBER + (int)row};
    memcpy(options + NUMBERS, word_options, sizeof(word_options));
    while ((code = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
        const int error = code == OPTION_HELP ? 1 : parse_option(launch, code, problem);
        if (error != 0)
            return error;
    }
    if (optind < argument_count)
        return problem_set(problem, -EINVAL, "%s: no argument is expected; try filesystem --help",
                           arguments[optind]);
    return check_parts(launch, problem);
}

static int fail(const struct problem *problem, int code)
{
    fprintf(stderr, "filesystem: %s\n", problem->text);
    return code;
}

int main(int argument_count, char **arguments)
{
    static struct launch launch;
    struct problem problem = {.text = ""};
    int error = launch_prepare(&launch, &problem);
    if (error < 0)
        return fail(&problem, 1);
    set_defaults(&launch);
    error = parse_options(&launch, argument_count, arguments, &problem);
    if (error < 0)
        return fail(&problem, 2);
    if (error > 0) {
        fputs(help_text, stdout);
        return 0;
    }
    error = launch_run(&launch, &problem);
    if (error == 0)
        error = report_print(&launch, &problem);
    if (error == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        error = problem_set(&problem, -EIO, "cannot write the result");
    return error < 0 ? fail(&problem, 1) : 0;
}
