/* SPDX-License-Identifier: MIT */
/* view_run.c: `dpm view run`: carries out views on this machine. See dpm-view(1). */
#include "command/views/view_run.h"

#include "command/reading/view_line.h"
#include "command/views/view_controlled.h"
#include "command/views/view_hosts.h"

#include "base/folder.h"
#include "base/process.h"
#include "launch/launch.h"
#include "monitor/collector.h"
#include "monitor/monitor.h"
#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define FINISH_MOST 2000000000u /* ns for notifications that wait at the end */

struct view_run {
    const struct view_run_options *options;
    struct view_file *file;
    struct view_costs costs;
    struct monitor *monitor;
    struct view_hosts *hosts;           /* NULL: this machine */
    struct view_controlled *controlled; /* NULL: no requests */
    char link[PATH_MAX];                /* to its socket; "": none */
    struct monitor_counts of_hosts;
    int ready; /* epoll, if there are hosts: the monitor and signals */
    char machine[VIEW_NAME_MOST + 1];
    uint64_t begin; /* wall clock, ns */
    uint64_t end;   /* CLOCK_MONOTONIC, ns */
    int signals;
    sigset_t mask; /* as it was */
    struct launched command;
    bool has_command, command_ended;
    int status;
    bool failed; /* out of memory for a line */
};

static void changed(void *context, const struct view_change *change)
{
    struct view_run *run = context;

    if (view_line_print(stdout, run->options->json, run->begin, change) < 0)
        run->failed = true;
    if (run->controlled != NULL)
        view_controlled_changed(run->controlled, change);
    fflush(stdout); /* an error of it is seen at the end */
}

static void note(void *context, const char *line)
{
    (void)context;
    command_say("note: %s", line);
}

static void answered(void *context, uint64_t question, const struct view_value *value,
                     uint64_t time)
{
    struct view_run *run = context;

    if (run->controlled != NULL)
        view_controlled_answered(run->controlled, question, value, time);
}

/* ---- begin ---- */

static int open_signals(struct view_run *run, struct problem *problem)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &run->mask);
    run->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->signals < 0 ? problem_set(problem, -errno, "signalfd: %s", strerror(errno)) : 0;
}

static int make_monitor(struct view_run *run, const char *file, struct problem *problem)
{
    struct collector collectors[RESIDENT_COLLECTORS];
    const struct monitor_calls calls = {run, changed, note, answered};
    bool here = run->hosts == NULL;
    int result =
        here ? collectors_new(run->machine, run->options->interval, collectors, problem) : 0;

    if (result < 0)
        return result;
    const struct monitor_options options = {.file = run->file,
                                            .file_name = file,
                                            .costs = &run->costs,
                                            .machine = run->machine,
                                            .every = run->options->every,
                                            .collectors = collectors,
                                            .collector_count = here ? RESIDENT_COLLECTORS : 0};
    result = monitor_new(&options, &calls, &run->monitor, problem);
    for (size_t i = 0; i < run->options->object_count && result == 0; i++)
        result = monitor_object(run->monitor, run->options->objects[i], problem);
    if (result == 0 && !here)
        result = view_hosts_link(run->hosts, run->monitor, problem);
    return result < 0 ? result : monitor_begin(run->monitor, problem);
}

static int watch(struct view_run *run, int descriptor, struct problem *problem)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(run->ready, EPOLL_CTL_ADD, descriptor, &event) < 0
               ? problem_set(problem, -errno, "epoll: %s", strerror(errno))
               : 0;
}

/* It is added to the window of each plan over several machines that is made from now on. */
static void learn_clocks(struct view_run *run)
{
    double clocks = view_hosts_clocks(run->hosts);

    if (clocks > run->costs.clocks)
        run->costs.clocks = clocks;
}

/* Outside of `loop`. A second signal ends what the first one has left. */
static bool stops(void *context)
{
    const struct view_run *run = context;
    struct signalfd_siginfo info;

    return read(run->signals, &info, sizeof(info)) == sizeof(info);
}

static int begin_hosts(struct view_run *run, const char *file, struct problem *problem)
{
    const struct view_hosts_options options = {.hosts = &run->options->hosts,
                                               .file = run->file,
                                               .file_name = file,
                                               .objects = run->options->objects,
                                               .object_count = run->options->object_count,
                                               .every = run->options->every,
                                               .interval = run->options->interval,
                                               .descriptor = run->ready,
                                               .stops = stops,
                                               .context = run};
    int result = watch(run, run->signals, problem);

    if (result == 0)
        result = view_hosts_begin(&options, &run->hosts, problem);
    if (result == 0)
        learn_clocks(run);
    return result;
}

/* "/home/a/.local/state/dpm/web1/monitors/4711"; others may not read the folder. Returns 0 or a negative errno. */
static int own_path(char path[PATH_MAX])
{
    char name[24];

    snprintf(name, sizeof(name), "%d", (int)getpid());
    int result = folder_of_user("monitors", name, path, NULL);
    return result < 0 ? result : folder_make_parents(path);
}

/* Where dpm top and dpm live find it: a socket, or a link to the one that the user has named. Without such a place it is not found. */
static int begin_control(struct view_run *run, struct problem *problem)
{
    const char *named = run->options->control;
    char path[PATH_MAX], target[PATH_MAX];
    bool is_found = own_path(path) == 0;
    int result = 0;

    if (named != NULL)
        result = view_controlled_new(named, run->file, run->monitor, &run->controlled, problem);
    else if (is_found)
        (void)view_controlled_new(path, run->file, run->monitor, &run->controlled, problem);
    if (result < 0 || named == NULL || !is_found || realpath(named, target) == NULL)
        return result;
    unlink(path); /* of a process with the same number, which was killed */
    if (symlink(target, path) == 0)
        strcpy(run->link, path);
    return 0;
}

static int prepare(struct view_run *run, const char *file, struct problem *problem)
{
    int result = view_read(file, &run->file, problem);

    view_costs_init(&run->costs);
    run->costs.central_notifies =
        true; /* the receiver's host and command are those of this machine */
    if (result == 0 && run->options->costs != NULL)
        result = view_costs_read(&run->costs, run->options->costs, problem);
    gethostname(run->machine, sizeof(run->machine) - 1);
    run->ready = epoll_create1(EPOLL_CLOEXEC);
    if (result == 0)
        result = open_signals(run, problem);
    if (result == 0) {
        const struct monitor_options options = {.file = run->file, .file_name = file};
        result = monitor_check(&options, problem);
    }
    if (result == 0 && run->options->hosts.count > 0)
        result = begin_hosts(run, file, problem);
    if (result == 0)
        result = make_monitor(run, file, problem);
    if (result == 0)
        result = begin_control(run, problem);
    if (result == 0 && run->controlled != NULL)
        result = watch(run, view_controlled_descriptor(run->controlled), problem);
    return result < 0 ? result : watch(run, monitor_descriptor(run->monitor), problem);
}

static int start_command(struct view_run *run, char *const *words, struct problem *problem)
{
    const struct launch_options options = {.arguments = words, .signal_mask = &run->mask};
    struct problem why = {""};
    int result = launch_suspended(&options, &run->command, &why);

    if (result == 0)
        result = launch_release(&run->command, &why);
    run->has_command = result == 0;
    return result < 0 ? problem_set(problem, result, "%s: %s", words[0], why.text) : 0;
}

/* ---- until it ends ---- */

/* Signals are for the command first, if there is one: it ends, and then we do. */
static bool take_signal(struct view_run *run)
{
    struct signalfd_siginfo info;

    if (read(run->signals, &info, sizeof(info)) != sizeof(info))
        return false;
    if (!run->has_command || run->command_ended)
        return true;
    if (info.ssi_code != SI_KERNEL) /* a terminal has sent the command its own */
        kill(run->command.pid, (int)info.ssi_signo);
    return false;
}

static void look_at_command(struct view_run *run)
{
    if (run->has_command && !run->command_ended)
        run->command_ended = process_has_ended(run->command.pid, &run->status);
}

static void wait_for_something(struct view_run *run)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC), next = monitor_next(run->monitor);
    int timeout = poll_timeout(next < run->end ? next : run->end, now);
    struct pollfd ready[] = {
        {.fd = monitor_descriptor(run->monitor), .events = POLLIN},
        {.fd = run->signals, .events = POLLIN},
        {.fd = run->has_command ? run->command.pid_fd : -1, .events = POLLIN},
        {.fd = run->controlled == NULL ? -1 : view_controlled_descriptor(run->controlled),
         .events = POLLIN}};

    if (run->hosts == NULL) {
        poll(ready, ARRAY_SIZE(ready), timeout);
        return;
    }
    view_hosts_poll(run->hosts, timeout < 0 || timeout > 1000 ? 1000 : timeout);
    learn_clocks(run);
}

static int loop(struct view_run *run, struct problem *problem)
{
    int result = 0;
    bool over = false;

    while (result == 0 && !over) {
        wait_for_something(run);
        look_at_command(run); /* before: what it has done up to its end is still evaluated */
        result = monitor_work(run->monitor, problem);
        if (run->controlled != NULL)
            view_controlled_work(run->controlled);
        over = take_signal(run) || run->command_ended || clock_now(CLOCK_MONOTONIC) >= run->end ||
               ferror(stdout);
    }
    return result;
}

/* ---- end ---- */

static void report_receiver(const struct monitor_notified *notified)
{
    char latest[UNIT_SIZE + 20] = "", attempts[COUNTED_SIZE];

    if (notified->late > 0) {
        memcpy(latest, " by up to ", sizeof(" by up to "));
        show_duration(notified->latest, latest + strlen(latest));
    }
    command_say("%s: %" PRIu64 " of %" PRIu64 " notification%s sent, %" PRIu64
                " of them late%s, %" PRIu64 " dropped%s",
                notified->name, notified->sent, notified->queued, notified->queued == 1 ? "" : "s",
                notified->late, latest, notified->dropped,
                notified->dropped > 0 ? ": it was not there, or too slow" : "");
    show_counted(notified->failed, "attempt", attempts);
    if (notified->failed > 0)
        command_say("%s: %s failed", notified->name, attempts);
}

static void report_starts(const struct monitor_counts *counts)
{
    char latest[UNIT_SIZE];

    show_duration(counts->latest_start, latest);
    if (counts->late_starts > 0)
        command_say("%" PRIu64 " process%s ran for up to %s before %s sensors were on",
                    counts->late_starts, counts->late_starts == 1 ? "" : "es", latest,
                    counts->late_starts == 1 ? "its" : "their");
    if (counts->unseen > 0)
        command_say("%" PRIu64 " process%s ended before %s seen", counts->unseen,
                    counts->unseen == 1 ? "" : "es", counts->unseen == 1 ? "it was" : "they were");
}

static int report_json(const struct view_run *run, const struct monitor_counts *counts)
{
    json_t *receivers = json_array();
    struct monitor_notified notified;

    for (size_t i = 0; monitor_notified(run->monitor, i, &notified); i++)
        json_array_append_new(
            receivers,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "receiver", notified.name, "queued",
                      (json_int_t)notified.queued, "sent", (json_int_t)notified.sent, "late",
                      (json_int_t)notified.late, "latest", (json_int_t)notified.latest, "dropped",
                      (json_int_t)notified.dropped, "failed", (json_int_t)notified.failed));
    json_t *line =
        json_pack("{s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}}",
                  "end", "hits", (json_int_t)counts->hits, "records", (json_int_t)counts->records,
                  "refused", (json_int_t)counts->refused, "lost", (json_int_t)counts->lost, "reads",
                  (json_int_t)counts->reads, "unread", (json_int_t)counts->unread, "filtered",
                  (json_int_t)counts->filtered, "unsent", (json_int_t)counts->unsent, "late_starts",
                  (json_int_t)counts->late_starts, "latest_start", (json_int_t)counts->latest_start,
                  "unseen", (json_int_t)counts->unseen, "passed", (json_int_t)counts->passed,
                  "requests", (json_int_t)counts->requests, "notifications", receivers);
    int result = line == NULL || json_dumpf(line, stdout, JSON_COMPACT) < 0 ? -ENOMEM : 0;
    putchar('\n');
    json_decref(line);
    return result;
}

static void add_counts(struct monitor_counts *to, const struct monitor_counts *from)
{
    to->hits += from->hits;
    to->records += from->records;
    to->refused += from->refused;
    to->lost += from->lost;
    to->reads += from->reads;
    to->unread += from->unread;
    to->filtered += from->filtered;
    to->unsent += from->unsent;
    to->late_starts += from->late_starts;
    to->unseen += from->unseen;
    if (from->latest_start > to->latest_start)
        to->latest_start = from->latest_start;
}

static int report(struct view_run *run, struct problem *problem)
{
    struct monitor_counts counts;
    struct monitor_notified notified;
    char text[COUNTED_SIZE];

    monitor_count(run->monitor, &counts);
    add_counts(&counts, &run->of_hosts);
    if (run->options->json && report_json(run, &counts) < 0)
        run->failed = true;
    for (size_t i = 0; !run->options->json && monitor_notified(run->monitor, i, &notified); i++)
        report_receiver(&notified);
    show_counted(counts.lost, "record", text);
    if (counts.lost > 0)
        command_say("%s of sensors %s lost: rows may be wrong", text,
                    counts.lost == 1 ? "was" : "were");
    report_starts(&counts);
    show_counted(counts.unsent, "value", text);
    if (counts.unsent > 0)
        command_say("%s of the last moment %s not sent by %s", text,
                    counts.unsent == 1 ? "was" : "were",
                    counts.unsent == 1 ? "its machine" : "their machines");
    show_counted(counts.unread, "value", text);
    if (counts.unread > 0)
        command_say("%s could not be read", text);
    if (run->failed)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    return run->options->save == NULL
               ? 0
               : view_model_save(monitor_model(run->monitor), run->options->save, problem);
}

static int carry_out(struct view_run *run, const char *file, char *const *command,
                     struct problem *problem)
{
    int result = prepare(run, file, problem);
    sighandler_t before = SIG_DFL;

    run->begin = clock_now(CLOCK_REALTIME);
    if (result == 0 && command != NULL)
        result = start_command(run, command, problem);
    run->end =
        run->options->limit == 0 ? UINT64_MAX : clock_now(CLOCK_MONOTONIC) + run->options->limit;
    /* if the reader of the text goes away, the model is saved nevertheless */
    if (run->options->save != NULL)
        before = signal(SIGPIPE, SIG_IGN);
    if (result == 0)
        result = loop(run, problem);
    if (result < 0)
        return result;
    monitor_finish(run->monitor,
                   FINISH_MOST); /* before: a host that is lost may not answer for long */
    bool with_hosts = run->hosts != NULL;
    view_hosts_end(run->hosts, &run->of_hosts);
    run->hosts = NULL;
    if (with_hosts) /* what they had still to say has notified, too */
        monitor_send(run->monitor, FINISH_MOST);
    result = report(run, problem);
    if (run->options->save != NULL)
        signal(SIGPIPE, before);
    return result < 0 ? result : command_flush_output(problem);
}

int view_run(const char *file, char *const *command, const struct view_run_options *options)
{
    struct view_run run = {.options = options, .signals = -1, .ready = -1};
    struct problem problem = {""};
    int result = carry_out(&run, file, command, &problem);

    view_controlled_free(run.controlled);
    if (run.link[0] != '\0')
        unlink(run.link);
    view_hosts_end(run.hosts, NULL);
    monitor_free(run.monitor);
    view_costs_done(&run.costs);
    view_file_free(run.file);
    if (run.signals >= 0)
        close(run.signals);
    if (run.ready >= 0)
        close(run.ready);
    if (run.has_command)
        close(run.command.pid_fd);
    if (result < 0)
        return command_error("%s", problem.text);
    if (!run.command_ended)
        return EXIT_SUCCESS;
    return WIFSIGNALED(run.status) ? 128 + WTERMSIG(run.status) : WEXITSTATUS(run.status);
}
