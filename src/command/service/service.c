/* SPDX-License-Identifier: MIT */
/* service.c: the machine's own recording. See service.h. */
#include "command/service/service.h"

#include "base/folder.h"
#include "command/recording/acquired_recording.h"
#include "command/service/service_metrics.h"
#include "fabric/fabric.h"
#include "show/show.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDS "/var/lib/dpm/records"
#define PREFIX  "machine-"
#define FLAGS                                                                                      \
    "send,receive" /* what makes traffic; the meter adds who processes and connections are */
#define KINDS          "all,-pipe,-mq" /* as dpm acquire */
#define SMALLEST       (1u << 20)
#define SUMMARIES_MOST (64 << 20) /* bytes; then the file is begun anew, and the old one kept */
#define LINE_MOST      (FABRIC_BODY_MOST - 4096)
#define ROWS_MOST      100 /* of a table, if the whole does not fit */

struct service {
    struct recording_command_options options;
    struct recording_command command;
    const char *records;
    char trace[PATH_MAX];
    char host[256];
    struct service_destination to; /* url NULL: summaries stay here */
    char unsent[PATH_MAX];
    struct service_sender *sender;
    json_int_t keep; /* traces of earlier runs, with this one */
    struct service_metrics metrics;
};

/* ---- the configuration ---- */

static int read_size(const char *key, const char *text, uint64_t least, uint64_t *ret_size,
                     struct problem *problem)
{
    if (text == NULL || (parse_size(text, ret_size) == 0 && *ret_size >= least))
        return 0;
    return problem_set(problem, -EINVAL, "%s: \"%s\" is no size of at least 1M, e.g. \"500M\"", key,
                       text);
}

static int read_time(const char *key, const char *text, uint64_t *ret_time, struct problem *problem)
{
    if (text == NULL || (parse_duration(text, ret_time) == 0 && *ret_time >= 1000000000ull))
        return 0;
    return problem_set(problem, -EINVAL, "%s: \"%s\" is no time of at least 1s, e.g. \"5m\"", key,
                       text);
}

/* In words for who has written the file; those of json_unpack_ex are for programmers. */
static int check_settings(json_t *all, struct problem *problem)
{
    static const struct {
        const char *key, *example; /* NULL: a number */
    } settings[] = {
        {"records", "/var/lib/dpm/records"},
        {"flags", "send,receive"},
        {"kinds", "tcp,unix"},
        {"max_size", "4G"},
        {"max_age", "24h"},
        {"interval", "5m"},
        {"keep", NULL},
        {"fabric", "nats://host:4222"},
        {"credentials", "/etc/dpm/credentials"},
        {"authorities", "/etc/dpm/ca.pem"},
        {"session", "machines"},
        {"metrics_port", NULL},
        {"metrics_listen", "127.0.0.1"},
        {"metrics_token", "/etc/dpm/token"},
    };
    const char *key;
    json_t *value;

    json_object_foreach(all, key, value)
    {
        size_t i = 0;
        while (i < ARRAY_SIZE(settings) && strcmp(settings[i].key, key) != 0)
            i++;
        if (i == ARRAY_SIZE(settings))
            return problem_set(problem, -EINVAL, "there is no setting \"%.100s\"; see dpm-agent(1)",
                               key);
        if (settings[i].example == NULL && !json_is_integer(value))
            return problem_set(problem, -EINVAL, "%s: give a whole number, without quotes", key);
        if (settings[i].example != NULL && !json_is_string(value))
            return problem_set(problem, -EINVAL, "%s: give a text in quotes, e.g. \"%s\"", key,
                               settings[i].example);
    }
    return 0;
}

static int read_values(struct service *service, json_t *all, struct problem *problem)
{
    struct recording_options *recording = &service->options.recording;
    const char *max_size = NULL, *max_age = NULL, *interval = NULL;
    json_int_t port = 0;
    json_error_t error;

    if (check_settings(all, problem) < 0)
        return -EINVAL;
    if (json_unpack_ex(
            all, &error, JSON_STRICT,
            "{s?:s, s?:s, s?:s, s?:s, s?:s, s?:s, s?:I, s?:s, s?:s, s?:s, s?:s, s?:I, s?:s, "
            "s?:s}",
            "records", &service->records, "flags", &service->options.flags, "kinds",
            &service->options.kinds, "max_size", &max_size, "max_age", &max_age, "interval",
            &interval, "keep", &service->keep, "fabric", &service->to.url, "credentials",
            &service->to.credentials, "authorities", &service->to.authorities, "session",
            &service->to.session, "metrics_port", &port, "metrics_listen", &service->metrics.listen,
            "metrics_token", &service->metrics.token) < 0)
        return problem_set(problem, -EINVAL, "%s", error.text);
    if (port < 0 || port > UINT16_MAX)
        return problem_set(problem, -EINVAL, "metrics_port must be 1 to 65535");
    service->metrics.port = (uint16_t)port;
    if ((service->to.url == NULL) != (service->to.credentials == NULL))
        return problem_set(problem, -EINVAL, "\"fabric\" and \"credentials\" go together");
    if (!fabric_name_valid(service->to.session))
        return problem_set(problem, -EINVAL, "session: use 1 to 63 of a-z, 0-9 and '-'");
    if (service->records[0] != '/' || service->keep < 1)
        return problem_set(problem, -EINVAL,
                           "records must be a path that begins with /, keep at least 1");
    int result = read_size("max_size", max_size, SMALLEST, &recording->max_size, problem);
    if (result == 0)
        result = read_time("max_age", max_age, &recording->limits.max_age, problem);
    return result == 0 ? read_time("interval", interval, &service->options.interval, problem)
                       : result;
}

static int read_configuration(struct service *service, const char *path, json_t **ret_all)
{
    struct problem problem;
    json_error_t error;

    if (path != NULL && access(path, R_OK) < 0)
        return command_error("cannot read %s: %s", path, strerror(errno));
    *ret_all = path == NULL ? json_object() : json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*ret_all == NULL)
        return command_error("%s:%d: %s", path, error.line, error.text);
    if (read_values(service, *ret_all, &problem) < 0)
        return command_error("%s: %s", path == NULL ? "configuration" : path, problem.text);
    return -1;
}

static void set_defaults(struct service *service)
{
    recording_options_init(&service->options);
    service->options.flags = FLAGS;
    service->options.kinds = KINDS;
    service->options.interval = 60 * 1000000000ull;
    service->options.bounded = true;
    service->options.store_given = true;
    service->options.recording.store = STORE_NEWEST;
    service->options.recording.max_size = 1ull << 30;
    service->options.recording.meter.options.later_flags = METER_ALL_FLAGS;
    service->records = RECORDS;
    service->to.session = "machines";
    service->keep = 3;
}

/* ---- the folder of records ---- */

static int is_trace(const struct dirent *entry)
{
    return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

/* Names are times, so the oldest comes first. Returns the largest. */
static unsigned long long remove_old(const struct service *service)
{
    struct dirent **list;
    char path[PATH_MAX + NAME_MAX + 2];
    unsigned long long largest = 0;
    int count = scandir(service->records, &list, is_trace, alphasort);

    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", service->records, list[i]->d_name);
        if (count - i >= service->keep) /* with the one that begins */
            folder_remove(path);
        unsigned long long number = strtoull(list[i]->d_name + strlen(PREFIX), NULL, 10);
        largest = number > largest ? number : largest;
        free(list[i]);
    }
    if (count >= 0)
        free(list);
    return largest;
}

static int prepare_folder(struct service *service)
{
    struct stat status;

    if (mkdir(service->records, 0700) < 0 && errno != EEXIST)
        return command_error("cannot create %s: %s", service->records, strerror(errno));
    if (stat(service->records, &status) < 0 || status.st_uid != geteuid() ||
        (status.st_mode & 022) != 0)
        return command_error("%s must be a folder of this user, in which no other one can write",
                             service->records);
    /* a clock that is behind now must not make this trace the oldest */
    unsigned long long now = (unsigned long long)time(NULL), largest = remove_old(service);
    if (snprintf(service->trace, sizeof(service->trace), "%s/" PREFIX "%010llu-%d",
                 service->records, now > largest ? now : largest + 1,
                 getpid()) >= (int)sizeof(service->trace) ||
        snprintf(service->unsent, sizeof(service->unsent), "%s/unsent.json", service->records) >=
            (int)sizeof(service->unsent))
        return command_error("the path of the records is too long");
    service->options.recording.trace = service->trace;
    service->to.unsent = service->unsent;
    return -1;
}

/* ---- summaries ---- */

/* The whole does not fit into a message: the tables become shorter, and say by how much. */
static void shorten(json_t *statistics)
{
    const char *key;
    void *next;
    json_t *table;

    json_object_foreach_safe(statistics, next, key, table)
    {
        size_t rows = json_array_size(table);
        char left_out[128];
        if (rows <= ROWS_MOST)
            continue;
        while (json_array_size(table) > ROWS_MOST)
            json_array_remove(table, json_array_size(table) - 1);
        snprintf(left_out, sizeof(left_out), "%.100s_left_out", key);
        json_object_set_new(statistics, left_out, json_integer((json_int_t)(rows - ROWS_MOST)));
    }
}

static json_t *make_summary(struct service *service, const struct communication *communication)
{
    const struct show_options options = {.json = true, .live = true};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    int result = file == NULL ? -ENOMEM : show_statistics(communication, file, &options);

    if (file != NULL)
        fclose(file);
    json_t *statistics = result < 0 ? NULL : json_loadb(text, size, 0, NULL);
    free(text);
    if (statistics == NULL)
        return NULL;
    if (size > LINE_MOST)
        shorten(statistics);
    return json_pack("{s:I, s:s, s:s, s:o}", "time", (json_int_t)clock_now(CLOCK_REALTIME), "host",
                     service->host, "trace", service->trace, "statistics", statistics);
}

static void keep_here(const struct service *service, const json_t *summary)
{
    char path[PATH_MAX + 32], old[PATH_MAX + 32];
    struct stat status;

    snprintf(path, sizeof(path), "%s/summaries.jsonl", service->records);
    snprintf(old, sizeof(old), "%s/summaries.1.jsonl", service->records);
    if (stat(path, &status) == 0 && status.st_size > SUMMARIES_MOST)
        rename(path, old);
    FILE *file = fopen(path, "ae");
    bool failed = file == NULL || json_dumpf(summary, file, JSON_COMPACT) < 0;
    if (file != NULL) {
        fputc('\n', file);
        failed |= fclose(file) != 0;
    }
    if (failed)
        command_say("cannot write %s: %s", path, strerror(errno));
}

static int summarize(struct recording_command *command, const struct communication *communication)
{
    struct service *service = command->context;
    json_t *summary = make_summary(service, communication);

    if (summary == NULL)
        return -ENOMEM;
    service_metrics_keep(&service->metrics);
    keep_here(service, summary);
    if (service->sender != NULL)
        service_sender_put(service->sender, summary);
    else
        json_decref(summary);
    return 0;
}

/* ---- recording ---- */

static int measure(struct service *service)
{
    struct recording_command *command = &service->command;
    struct process_choice choice = {0};
    struct acquiring acquiring = {.choice = &choice, .all = true};
    struct meter_begun begun = {0};
    int result = acquired_recording_begin(command, &acquiring, "machine", getpid(), &begun);

    if (result != 0)
        return result;
    command_say("measuring %zu process%s of this machine into %s", begun.processes,
                begun.processes == 1 ? "" : "es", service->trace);
    service->metrics.trace = service->trace;
    service_metrics_keep(&service->metrics);
    acquired_recording_run(command, &acquiring, UINT64_MAX, false);
    acquiring_done(&acquiring);
    service_metrics_stop(&service->metrics);
    bool told = command->recording.active;
    return recording_command_end(command, false, false) < 0 || !told ? EXIT_FAILURE : EXIT_SUCCESS;
}

int service_run(const char *path)
{
    struct service service = {.host = ""};
    struct problem problem;
    sigset_t old_mask;
    json_t *all = NULL;

    set_defaults(&service);
    gethostname(service.host, sizeof(service.host) - 1);
    int result = read_configuration(&service, path, &all);
    if (result < 0)
        result = recording_options_done("agent", &service.options);
    if (result < 0)
        result = prepare_folder(&service);
    if (result >= 0 || recording_command_init(&service.command, &service.options,
                                              "the machine runs on", &old_mask) < 0) {
        json_decref(all);
        return result >= 0 ? result : EXIT_FAILURE;
    }
    service.command.summarize = summarize;
    service.command.context = &service;
    if (service.to.url != NULL && service_sender_start(&service.to, &service.sender, &problem) < 0)
        result = command_error("%s", problem.text);
    else
        result = measure(&service);
    service_sender_stop(service.sender);
    recording_command_close(&service.command);
    json_decref(all);
    return result;
}
