/* SPDX-License-Identifier: MIT */
/* hosts_acquire.c: `dpm acquire --host`: running processes on several machines. See hosts.h. */
#include "command/hosts/hosts.h"

#include "recorder/acquiring.h"
#include "recorder/process_choice.h"
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {
    [CHOSEN_BY_NAME] = "names", [CHOSEN_BY_CGROUP] = "cgroups", [CHOSEN_BY_UNIT] = "units"};

static void add(json_t *params, const char *key, json_t *value)
{
    json_t *array = json_object_get(params, key);

    if (array == NULL) {
        array = json_array();
        json_object_set_new(params, key, array);
    }
    json_array_append_new(array, value);
}

static json_t *acquire_params(struct hosts *hosts, struct metered_host *host)
{
    const struct hosts_acquire *wanted = hosts->context;
    const struct process_choice *choice = wanted->choice;
    json_t *params = json_pack("{s:s, s:b, s:b, s:b}", "recording", HOSTS_RECORDING, "all",
                               wanted->all, "masters", wanted->below == BELOW_MASTERS,
                               "descendants", wanted->below == BELOW_ALL);

    (void)host;
    for (size_t i = 0; i < wanted->pid_count; i++)
        add(params, "pids", json_string(wanted->pids[i]));
    for (size_t i = 0; i < choice->word_count; i++)
        add(params, keys[choice->words[i].by], json_string(choice->words[i].text));
    return params;
}

static void acquired(struct hosts *hosts, struct metered_host *host, json_t *result)
{
    uint64_t unsettled = fabric_count(result, "unsettled");
    char line[160], directions[COUNTED_SIZE];

    host->processes = fabric_count(result, "processes");
    hosts_say_notes(hosts, host, result);
    if (unsettled == 0)
        return;
    show_counted(unsettled, "UNIX socket direction", directions);
    snprintf(line, sizeof(line), "%s %s too busy to align; offsets there may be wrong", directions,
             unsettled == 1 ? "was" : "were");
    hosts_say(hosts, host->remote, line);
}

/* All hosts record by now. Those of a session that is attached to have recorded before. */
static void tell_begin(struct hosts *hosts, struct meter_begun *begun)
{
    char processes[COUNTED_SIZE], since[SINCE_TEXT_SIZE];
    size_t count = hosts_recording(hosts);
    bool began_before = hosts->options->attach != NULL;

    show_counted(hosts_processes(hosts), "process", processes);
    progress_clear(&hosts->progress);
    /* scripts wait for this line on standard error, even if the report goes to a file */
    acquiring_since(begun, since);
    command_say("metering %s on %zu host%s; session %s%s%s", processes, count,
                count == 1 ? "" : "s", hosts->session, began_before ? "" : "; since ",
                began_before ? "" : since);
}

static uint64_t how_long(const struct hosts_acquire *wanted)
{
    uint64_t now = clock_now(CLOCK_REALTIME);

    if (wanted->until != 0 && wanted->duration == 0)
        return wanted->until > now ? wanted->until - now : 0;
    return wanted->duration == 0 ? UINT64_MAX : wanted->duration;
}

/* Until a signal, the duration, or the end of the last process anywhere. */
static void record(struct hosts *hosts, uint64_t began)
{
    const struct hosts_acquire *wanted = hosts->context;
    uint64_t duration = how_long(wanted);

    hosts->shows = true;
    while (conduct_interrupts(hosts->conduct) == 0 && !hosts->storing.full &&
           hosts_recording(hosts) > hosts_idle(hosts)) {
        uint64_t now = clock_now(CLOCK_MONOTONIC), spent = now > began ? now - began : 0;
        if (spent >= duration)
            return;
        uint64_t left_ms = (duration - spent) / 1000000;
        hosts_poll(hosts, left_ms < 100 ? (int)left_ms + 1 : 100);
    }
}

/* The end of the recording, if it began now: for a controller that replaces this one. */
static uint64_t end_of(const struct hosts_acquire *wanted)
{
    return wanted->duration == 0 ? 0 : clock_now(CLOCK_REALTIME) + wanted->duration;
}

static int begin_recording(struct hosts *hosts, struct problem *problem)
{
    hosts->until = end_of(hosts->context);
    int result = hosts_record(hosts, problem);
    if (result == 0)
        result = hosts_ask(hosts, "recording.acquire", acquire_params, acquired, problem);
    hosts->until = end_of(hosts->context);
    return result < 0 ? result : hosts_keep(hosts, problem);
}

static int acquire(struct hosts *hosts)
{
    struct problem problem;
    const struct hosts_acquire *wanted = hosts->context;
    struct meter_begun begun = {0};
    hosts->until = wanted->until;
    int result = hosts_begin(hosts, wanted->name, &problem);

    if (result == 0)
        result = hosts->options->attach != NULL ? hosts_resume(hosts, &problem)
                                                : begin_recording(hosts, &problem);
    if (result < 0) {
        hosts_abandon(hosts);
        return command_error("%s", problem.text);
    }
    begun.time = clock_now(CLOCK_MONOTONIC);
    tell_begin(hosts, &begun);
    record(hosts, begun.time);
    int status = hosts_end(hosts) < 0 || hosts->storing.full ? EXIT_FAILURE : EXIT_SUCCESS;
    if (hosts_report(hosts, &problem) < 0)
        status = command_error("%s", problem.text);
    return status;
}

int hosts_acquire(const struct hosts_options *options,
                  const struct recording_command_options *recorder,
                  const struct hosts_acquire *what)
{
    struct hosts hosts = {.options = options, .context = (void *)what};
    sigset_t old_mask;

    if (recording_command_init(&hosts.recorder, recorder, "what was metered runs on", &old_mask) <
        0)
        return EXIT_FAILURE;
    /* if the reader of our messages goes away, the recording continues */
    signal(SIGPIPE, SIG_IGN);
    int status = acquire(&hosts);
    hosts_done(&hosts);
    recording_command_close(&hosts.recorder);
    return status;
}
