/* SPDX-License-Identifier: MIT */
/* hosts_options.c: options for several machines. See hosts_options.h. */
#include "command/hosts/hosts_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS    30000 /* for one connection */
#define SMALLEST_DISK (16u << 20)
#define ALONE_LEAST   1000000000ull                      /* ns */
#define ALONE_MOST    (7ull * 24 * 3600 * 1000000000ull) /* ns: sessions are removed after a week */

const struct command_option hosts_option_rows[] = {
    {"host",
     HOSTS_HOST,
     {"HOST[,HOST]..."},
     "meter on these machines, through ssh; with run also HOST:COMMAND; repeatable"},
    {"rsh", HOSTS_RSH, {"COMMAND"}, "the remote shell: COMMAND HOST dpm agent (ssh)"},
    {"remote-dpm", HOSTS_DPM, {"PATH"}, "where dpm is on the other machines (dpm)"},
    {"session", HOSTS_SESSION, {"NAME"}, "name of the session, for dpm filter"},
    {"fabric-disk", HOSTS_DISK, {"N"}, "disk that packets on their way may take (2G)"},
    {"fabric", HOSTS_FABRIC, {"URL"}, "a NATS server of the site, not one of the session's own"},
    {"credentials", HOSTS_CREDENTIALS, {"FILE", ARGUMENT_FILE}, "for that server"},
    {"agent-credentials",
     HOSTS_AGENT_CREDENTIALS,
     {"FILE", ARGUMENT_FILE},
     "what the agents get, if not the same"},
    {"fabric-ca",
     HOSTS_AUTHORITIES,
     {"FILE", ARGUMENT_FILE},
     "certificates of those who sign that server's"},
    {"alone", HOSTS_ALONE, {"TIME"}, "agents go on so long without a connection (1m)"},
    {0},
};

/* ---- hosts ---- */

static int add_host(struct hosts_options *options, const char *name, size_t length,
                    const char *command)
{
    struct wanted_host *host;
    int words = 0;

    if (array_reserve(&options->list, &options->capacity, options->count + 1,
                      sizeof(*options->list)) < 0)
        return -ENOMEM;
    host = &options->list[options->count];
    *host = (struct wanted_host){.name = strndup(name, length)};
    if (command != NULL)
        words = remote_words(command, &host->command);
    if (host->name != NULL && words >= 0 && (command == NULL || words > 0)) {
        options->count++;
        return 0;
    }
    free(host->name);
    free(words >= 0 ? host->command : NULL);
    return host->name == NULL ? -ENOMEM : words < 0 ? words : -EINVAL;
}

/* The colon that ends the hosts: not one in brackets, as in [fe80::1]. */
static const char *find_colon(const char *text)
{
    bool within = false;

    for (; *text != '\0' && (within || *text != ':'); text++)
        within = *text == '[' || (within && *text != ']');
    return *text == ':' ? text : NULL;
}

/* A name that a remote shell would take for an option, or that holds nothing. */
static bool bad_name(const char *name, size_t length)
{
    return length == 0 || name[0] == '-' || memchr(name, ' ', length) != NULL;
}

static int take_hosts(const char *command, struct hosts_options *options)
{
    const char *colon = find_colon(optarg), *end = colon == NULL ? optarg + strlen(optarg) : colon;
    int result = 0;

    for (const char *at = optarg; result == 0 && at <= end;) {
        size_t length = strcspn(at, ",");
        if (at + length > end)
            length = (size_t)(end - at);
        if (bad_name(at, length))
            return command_usage_error(command, "--host '%s': give names of hosts: web1,web2",
                                       optarg);
        result = add_host(options, at, length, colon == NULL ? NULL : colon + 1);
        at += length + 1;
    }
    if (result == -EINVAL)
        return command_usage_error(
            command, "--host '%s': what follows ':' is a command, in which quotes are closed",
            optarg);
    return result < 0 ? command_error("out of memory") : -1;
}

/* ---- the others ---- */

static int take_words(const char *command, const char *option, const char **ret_words)
{
    char **words = NULL;
    int count = remote_words(optarg, &words);

    free(count >= 0 ? words : NULL);
    if (count <= 0)
        return command_usage_error(command, "--%s '%s': give a command, in which quotes are closed",
                                   option, optarg);
    *ret_words = optarg;
    return -1;
}

static int take_disk(const char *command, uint64_t *ret_disk)
{
    if (parse_size(optarg, ret_disk) < 0 || *ret_disk < SMALLEST_DISK)
        return command_usage_error(
            command, "--fabric-disk '%s': give a size of at least 16M, e.g. 500M or 4G", optarg);
    return -1;
}

static int check_address(const char *command)
{
    struct fabric_address address;
    struct problem problem;
    const char *rest = optarg;

    while (rest != NULL)
        if (fabric_address_parse(rest, &address, &rest, &problem) < 0)
            return command_usage_error(command, "--fabric: %s", problem.text);
    return -1;
}

static int take_alone(const char *command, uint64_t *ret_alone)
{
    int result = option_time(command, "alone", ret_alone);

    if (result < 0 && (*ret_alone < ALONE_LEAST || *ret_alone > ALONE_MOST))
        return command_usage_error(command, "--alone '%s': give a time of 1s to 168h", optarg);
    return result;
}

int hosts_take_option(const char *command, int option, struct hosts_options *options)
{
    options->others |= option != HOSTS_HOST;
    switch (option) {
    case HOSTS_HOST:
        return take_hosts(command, options);
    case HOSTS_RSH:
        return take_words(command, "rsh", &options->rsh);
    case HOSTS_DPM:
        return take_words(command, "remote-dpm", &options->dpm);
    case HOSTS_SESSION:
        if (!fabric_name_valid(optarg))
            return command_usage_error(command, "--session '%s': use 1 to 63 of a-z, 0-9 and '-'",
                                       optarg);
        options->session = optarg;
        return -1;
    case HOSTS_FABRIC:
        options->fabric = optarg;
        return check_address(command);
    case HOSTS_CREDENTIALS:
        options->credentials = optarg;
        return -1;
    case HOSTS_AGENT_CREDENTIALS:
        options->agent_credentials = optarg;
        return -1;
    case HOSTS_AUTHORITIES:
        options->authorities = optarg;
        return -1;
    case HOSTS_ALONE:
        return take_alone(command, &options->alone);
    default:
        return take_disk(command, &options->disk);
    }
}

/* ---- together ---- */

/* Commands of hosts: which are missing, or have no meaning. */
static int check_commands(const char *command, const struct hosts_options *options, bool runs,
                          bool common)
{
    bool needs = false;

    for (size_t i = 0; i < options->count; i++) {
        const struct wanted_host *host = &options->list[i];
        if (!runs && host->command != NULL)
            return command_usage_error(command, "--host %s:...: only dpm run starts commands",
                                       host->name);
        if (runs && host->command == NULL && !common)
            return command_usage_error(
                command, "name the command for %s: --host %s:COMMAND, or after the options",
                host->name, host->name);
        needs |= host->command == NULL;
    }
    if (runs && common && !needs)
        return command_usage_error(
            command, "every --host has a command of its own; none is left for the last one");
    return -1;
}

static int check_twice(const char *command, const struct hosts_options *options)
{
    for (size_t i = 1; i < options->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(options->list[i].name, options->list[j].name) == 0)
                return command_usage_error(command, "--host names %s twice", options->list[i].name);
    return -1;
}

int hosts_options_check(const char *command, const struct hosts_options *options,
                        const struct recording_command_options *recorder, bool runs, bool common)
{
    const struct recording_options *recording = &recorder->recording;

    if (options->attach != NULL)
        return options->count > 0 || options->others
                   ? command_usage_error(command, "--attach: the session knows its hosts, and how "
                                                  "they are reached; leave out the other options "
                                                  "for several machines")
                   : -1;
    if (options->count == 0)
        return options->others
                   ? command_usage_error(command, "--rsh, --remote-dpm, --session, --alone and "
                                                  "those for a NATS server need --host")
                   : -1;
    if ((options->fabric == NULL) != (options->credentials == NULL))
        return command_usage_error(command, "--fabric and --credentials go together");
    if (options->fabric == NULL &&
        (options->agent_credentials != NULL || options->authorities != NULL))
        return command_usage_error(command, "--agent-credentials and --fabric-ca need --fabric");
    if (recorder->filter != NULL)
        return command_usage_error(command, "--filter does not work with --host: name the session "
                                            "(--session), and give it to dpm filter --from SESSION "
                                            "--filter COMMAND");
    if (recording->meter.options.coarse_time)
        return command_usage_error(command, "--cpu-time coarse does not work with --host");
    if (recording->sensors)
        return command_usage_error(command, "--sensors does not work with --host");
    if (recording->meter.survive)
        return command_usage_error(command, "--survive does not work with --host");
    int result = runs ? -1 : check_twice(command, options);
    return result >= 0 ? result : check_commands(command, options, runs, common);
}

struct remote_options hosts_session_options(const struct hosts_options *options,
                                            const char *session, int descriptor)
{
    return (struct remote_options){
        .session = session,
        .attach = options->attach != NULL,
        .rsh = options->rsh == NULL ? REMOTE_RSH : options->rsh,
        .dpm = options->dpm == NULL ? REMOTE_DPM : options->dpm,
        .disk_bytes = options->disk,
        .url = options->fabric,
        .credentials = options->credentials,
        .agent_credentials = options->agent_credentials,
        .authorities = options->authorities,
        .alone = (unsigned)((options->alone + 999999999) / 1000000000),
        .connect_ms = CONNECT_MS,
        .descriptor = descriptor,
    };
}

int hosts_options_add(const struct hosts_options *options, struct remote *remote,
                      struct problem *problem)
{
    struct remote_host *host;
    int result = 0;

    for (size_t i = 0; result == 0 && i < options->count; i++)
        result = remote_add(remote, options->list[i].name, &host, problem);
    return result;
}

void hosts_options_done(struct hosts_options *options)
{
    for (size_t i = 0; i < options->count; i++) {
        free(options->list[i].name);
        free(options->list[i].command);
    }
    free(options->list);
    json_decref(options->loaded);
    *options = (struct hosts_options){0};
}
