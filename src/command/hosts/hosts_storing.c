/* SPDX-License-Identifier: MIT */
/* hosts_storing.c: see hosts_storing.h. */
#include "command/hosts/hosts_storing.h"

#include "base/process.h"

#include "command/hosts/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND      1000000000ULL /* ns */
#define NO_PROGRESS (30 * SECOND)
#define LIVES       (5 * SECOND) /* a filter that ends sooner ... */
#define SHORT_MOST  3            /* ... so often would end again */
#define LINE_MOST   (16u << 20)

/* With --store none: pairs of files that are kept for a report that lags behind. An agent makes so many of its
 * 1 GiB that each has 4 MiB, or what lives there if that is more. */
#define PASSING_FILES 8
#define PASSING_MOST  (1ull << 30) /* bytes, whatever a machine sends */

/* ---- how much is kept ---- */

bool hosts_only_reports(const struct hosts *hosts)
{
    return hosts->recorder.options->recording.store == STORE_NONE;
}

struct trace_copy_limits hosts_copy_limits(const struct hosts *hosts)
{
    const struct recording_options *recording = &hosts->recorder.options->recording;

    if (recording->store == STORE_NONE)
        return (struct trace_copy_limits){
            .max_bytes = PASSING_MOST, .newest = true, .kept.max_files = PASSING_FILES};
    return (struct trace_copy_limits){.max_bytes = recording->max_size,
                                      .newest = recording->store == STORE_NEWEST,
                                      .kept = recording->limits};
}

void hosts_set_spool(const struct hosts *hosts, json_t *params)
{
    const struct recording_options *recording = &hosts->recorder.options->recording;

    if (recording->store == STORE_NONE)
        json_object_set_new(params, "max_files", json_integer(TRACE_FILES_MOST));
    if (recording->store != STORE_NEWEST)
        return;
    json_object_set_new(params, "max_size", json_integer((json_int_t)recording->max_size));
    json_object_set_new(params, "max_files", json_integer(recording->limits.max_files));
    json_object_set_new(params, "max_age", json_integer((json_int_t)recording->limits.max_age));
}

/* ---- the process ---- */

static int start(struct hosts *hosts, struct problem *problem)
{
    const struct trace_copy_limits limits = hosts_copy_limits(hosts);
    struct hosts_storing *storing = &hosts->storing;
    struct filter_words words;
    char self[PATH_MAX] = "dpm";
    int ends[2];

    if (!process_program(getpid(), self, sizeof(self)))
        snprintf(self, sizeof(self), "dpm");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return problem_set(problem, -errno, "cannot create a pipe: %s", strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    filter_words_begin(&words, self, conduct_remote(hosts->conduct), hosts->folder);
    filter_words_add(&words, "--recordings", HOSTS_PREFIX);
    filter_words_limits(&words, &limits);
    filter_words_flag(&words, "--json");
    if (storing->lines >= 0)
        close(storing->lines);
    storing->lines = ends[0];
    storing->started = clock_now(CLOCK_MONOTONIC);
    storing->process.number = 1;
    int result = filter_process_start(hosts->conduct, &storing->process, &words, ends[1], "default",
                                      problem);
    close(ends[1]);
    storing->runs = result == 0;
    hosts->changed = true;
    return result;
}

int hosts_storing_begin(struct hosts *hosts, struct problem *problem)
{
    unsigned interrupts = conduct_interrupts(hosts->conduct);

    filter_process_end(&hosts->storing.process);
    int result = start(hosts, problem);
    return result == 0 && conduct_interrupts(hosts->conduct) > interrupts
               ? problem_set(problem, -EINTR, "interrupted while the filter was started")
               : result;
}

/* ---- what it says ---- */

static void take_line(struct hosts_storing *storing, const char *text, size_t length)
{
    json_t *state = json_loadb(text, length, 0, NULL);

    if (!json_is_object(state)) {
        json_decref(state);
        return;
    }
    json_decref(storing->state);
    storing->state = state;
}

static void take_lines(struct hosts_storing *storing)
{
    char *end, *from = storing->text;
    size_t left = storing->length;

    while (left > 0 && (end = memchr(from, '\n', left)) != NULL) {
        take_line(storing, from, (size_t)(end - from));
        left -= (size_t)(end + 1 - from);
        from = end + 1;
    }
    memmove(storing->text, from, left);
    storing->length = left < LINE_MOST ? left : 0;
}

static void read_lines(struct hosts_storing *storing)
{
    ssize_t got = 1;

    while (storing->lines >= 0 && got > 0) {
        if (array_reserve(&storing->text, &storing->capacity, storing->length + 65536, 1) < 0)
            return;
        got = read(storing->lines, storing->text + storing->length, 65536);
        if (got > 0)
            storing->length += (size_t)got;
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            close(storing->lines);
            storing->lines = -1;
        }
        if (got > 0)
            take_lines(storing);
    }
}

json_t *hosts_storing_copy(const struct hosts *hosts, size_t index)
{
    return json_array_get(json_object_get(hosts->storing.state, "copies"), index);
}

uint64_t hosts_storing_bytes(const struct hosts *hosts)
{
    uint64_t bytes = hosts->storing.bytes;
    json_t *copy;

    for (size_t i = 0; (copy = hosts_storing_copy(hosts, i)) != NULL; i++)
        bytes += fabric_count(copy, "bytes");
    return bytes;
}

struct metered_host *hosts_storing_host(const struct hosts *hosts, json_t *copy)
{
    const char *machine = json_string_value(json_object_get(copy, "machine"));

    for (size_t i = 0; machine != NULL && i < hosts->count; i++)
        if (strcmp(machine, hosts->list[i].remote->machine) == 0)
            return &hosts->list[i];
    return NULL;
}

static void look_for_full(struct hosts *hosts)
{
    json_t *copy;

    for (size_t i = 0; (copy = hosts_storing_copy(hosts, i)) != NULL; i++) {
        struct metered_host *host = hosts_storing_host(hosts, copy);
        if (host == NULL || host->full || !json_is_true(json_object_get(copy, "full")))
            continue;
        host->full = hosts->storing.full = true;
        hosts_say(hosts, host->remote,
                  "its trace has reached its largest size (--max-size): nothing more of it is "
                  "stored");
    }
}

/* Its agent is of another version, or sends anything. */
static void look_for_rejected(struct hosts *hosts)
{
    char line[400];
    json_t *copy;

    for (size_t i = 0; (copy = hosts_storing_copy(hosts, i)) != NULL; i++) {
        struct metered_host *host = hosts_storing_host(hosts, copy);
        const char *why = json_string_value(json_object_get(copy, "why"));
        if (host == NULL || host->rejected || !json_is_true(json_object_get(copy, "rejected")))
            continue;
        host->rejected = true;
        snprintf(line, sizeof(line), "its trace cannot be stored: %.300s", why == NULL ? "" : why);
        hosts_say(hosts, host->remote, line);
    }
}

static void tell_problem(struct hosts *hosts)
{
    struct hosts_storing *storing = &hosts->storing;
    const char *problem = json_string_value(json_object_get(storing->state, "problem"));
    char line[640];

    if (problem == NULL || strncmp(problem, storing->told, sizeof(storing->told) - 1) == 0)
        return;
    snprintf(storing->told, sizeof(storing->told), "%s", problem);
    snprintf(line, sizeof(line), "%.500s%s", problem,
             problem[0] == '\0' ? "the traces can be written again"
                                : "; tried again; until then the records wait");
    hosts_say(hosts, NULL, line);
}

static void start_again(struct hosts *hosts)
{
    struct hosts_storing *storing = &hosts->storing;
    bool lived = clock_now(CLOCK_MONOTONIC) - storing->started >= LIVES;
    char how[FILTER_LINE_SIZE + 64], line[sizeof(how) + 120];
    struct problem problem;

    storing->runs = false;
    storing->short_lived = lived ? 0 : storing->short_lived + 1;
    bool again = storing->short_lived < SHORT_MOST;
    filter_process_how(hosts->conduct, &storing->process, how);
    snprintf(line, sizeof(line), "the filter that stores the records %s; %s", how,
             again ? "it is started again" : "nothing more is stored");
    hosts_say(hosts, NULL, line);
    storing->bytes = hosts_storing_bytes(hosts);
    if (again && start(hosts, &problem) < 0) {
        snprintf(line, sizeof(line), "%.400s; nothing more is stored", problem.text);
        hosts_say(hosts, NULL, line);
    }
}

void hosts_storing_step(struct hosts *hosts)
{
    struct hosts_storing *storing = &hosts->storing;

    if (!storing->runs)
        return;
    bool alive = filter_process_alive(&storing->process); /* before what it has said last is read */
    read_lines(storing);
    tell_problem(hosts);
    look_for_full(hosts);
    look_for_rejected(hosts);
    if (!alive && !storing->ending)
        start_again(hosts);
}

/* ---- the end ---- */

/* Reports an error of the last moment: that a copy could not be closed. */
static bool take_end(struct hosts *hosts)
{
    struct hosts_storing *storing = &hosts->storing;
    bool complete = json_is_true(json_object_get(storing->state, "complete"));
    char how[FILTER_LINE_SIZE + 64];

    storing->runs = false;
    if (filter_process_how(hosts->conduct, &storing->process, how) != 0)
        command_error("the filter that stores the records %s", how);
    return complete;
}

bool hosts_storing_finish(struct hosts *hosts, bool told)
{
    struct hosts_storing *storing = &hosts->storing;
    uint64_t bytes = hosts_storing_bytes(hosts), last = clock_now(CLOCK_MONOTONIC);

    if (!storing->runs)
        return false;
    storing->ending = true;
    conduct_set_patience(hosts->conduct, 2);
    while (told && filter_process_alive(&storing->process) && !hosts->broken &&
           !conduct_is_interrupted(hosts->conduct) &&
           clock_now(CLOCK_MONOTONIC) - last < NO_PROGRESS) {
        hosts_poll(hosts, 20);
        if (hosts_storing_bytes(hosts) != bytes)
            last = clock_now(CLOCK_MONOTONIC);
        bytes = hosts_storing_bytes(hosts);
    }
    if (filter_process_alive(&storing->process)) /* it stays where it is */
        filter_process_end(&storing->process);
    read_lines(storing);
    return take_end(hosts);
}

void hosts_storing_end(struct hosts *hosts)
{
    struct hosts_storing *storing = &hosts->storing;
    char how[FILTER_LINE_SIZE + 64];

    storing->ending = true;
    if (storing->runs) {
        filter_process_end(&storing->process);
        filter_process_how(hosts->conduct, &storing->process, how);
    }
    storing->runs = false;
    if (storing->lines >= 0)
        close(storing->lines);
    storing->lines = -1;
    json_decref(storing->state);
    storing->state = NULL;
    free(storing->text);
    storing->text = NULL;
    storing->length = storing->capacity = 0;
}
