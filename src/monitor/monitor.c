/* SPDX-License-Identifier: MIT */
/* monitor.c: a central monitor with the resident monitor of this machine, in one process. See monitor.h. */
#include "monitor/monitor.h"

#include "monitor/central.h"
#include "monitor/collector.h"
#include "monitor/notification.h"
#include "monitor/notifier.h"
#include "monitor/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct monitor {
    struct monitor_options options;
    struct monitor_calls calls;
    struct central *central;
    struct resident *resident;
    struct notifier *notifier;
    int epoll;
    int link;                          /* of the resident monitor here */
    uint64_t rated;                    /* CLOCK_MONOTONIC: when its rates were looked at */
    uint64_t set_back;                 /* how often the wall clock was */
    struct monitor_notified *of_views; /* what was notified, by view */
};

/* ---- from the central monitor to the resident one ---- */

static int do_step(void *self, const struct row_step *step, struct problem *problem)
{
    return resident_step(self, step, problem);
}

/* ---- from the resident monitor to the central one ---- */

/* The view of a row of the resident monitor. */
static const struct view *view_of(const struct monitor *monitor, uint32_t row)
{
    return &monitor->options.file->views[resident_view_of(monitor->resident, row)];
}

static void on_record(void *context, uint32_t row, uint32_t entity, uint64_t time, uint32_t probe,
                      const struct view_value *values)
{
    struct monitor *monitor = context;

    central_record(monitor->central, row, entity, time, probe, values,
                   view_of(monitor, row)->reference_count);
}

static void on_result(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                      const struct view_value *targets)
{
    struct monitor *monitor = context;

    (void)edge; /* a share that was opened anew does not know that the row is active already */
    central_result(monitor->central, row, active, time, targets,
                   active ? view_of(monitor, row)->target_count : 0);
}

static void on_answer(void *context, uint32_t row, uint32_t entity, uint64_t time,
                      const struct view_value *values)
{
    struct monitor *monitor = context;

    central_answer(monitor->central, row, entity, time, values,
                   values == NULL ? 0 : view_of(monitor, row)->reference_count);
}

static void on_appeared(void *context, const struct instance_seen *seen)
{
    struct monitor *monitor = context;

    central_appeared(monitor->central, monitor->link, seen->object, seen->pid, seen->program);
}

static void on_ended(void *context, const struct instance_seen *seen)
{
    struct monitor *monitor = context;

    central_ended(monitor->central, monitor->link, seen->object, seen->pid);
}

static void on_note(void *context, const char *line)
{
    struct monitor *monitor = context;

    monitor->calls.note(monitor->calls.context, line);
}

/* ---- from the central monitor to the user ---- */

static void on_changed(void *context, const struct view_change *change)
{
    struct monitor *monitor = context;

    monitor->calls.changed(monitor->calls.context, change);
}

static void on_answered(void *context, uint64_t question, const struct view_value *value,
                        uint64_t time)
{
    struct monitor *monitor = context;

    if (monitor->calls.answered != NULL)
        monitor->calls.answered(monitor->calls.context, question, value, time);
}

static void on_notify(void *context, const struct view_change *change, uint64_t flush)
{
    struct monitor *monitor = context;
    struct problem problem = {""};
    char *text = notification_text(change);
    int receiver = notifier_receiver(monitor->notifier, change->view, &problem);
    uint64_t now = clock_now(CLOCK_MONOTONIC), wall = clock_now(CLOCK_REALTIME);
    uint64_t age = wall > change->time ? wall - change->time : 0;
    uint64_t event = age < now ? now - age : 0;

    if (text == NULL || receiver < 0 ||
        notifier_notify(monitor->notifier, receiver, text, event + flush,
                        event + change->view->within,
                        &monitor->of_views[change->view - monitor->options.file->views]) < 0)
        on_note(monitor, "out of memory for a notification");
    free(text);
}

/* ---- construction ---- */

static int watch(const struct monitor *monitor, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(monitor->epoll, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

static int make_resident(struct monitor *monitor, struct problem *problem)
{
    const struct resident_options options = {.file = monitor->options.file,
                                             .file_name = monitor->options.file_name,
                                             .every = monitor->options.every,
                                             .collectors = monitor->options.collectors,
                                             .collector_count = monitor->options.collector_count};
    const struct resident_calls calls = {monitor,     on_record, on_result, on_answer,
                                         on_appeared, on_ended,  on_note};

    monitor->options.collector_count = 0; /* they are the resident monitor's now */
    int result = resident_new(&options, &calls, &monitor->resident, problem);
    if (result < 0)
        return result;
    const struct central_link link = {
        .self = monitor->resident, .machine = monitor->options.machine, .step = do_step};
    monitor->link = central_add_link(monitor->central, &link);
    return watch(monitor, resident_descriptor(monitor->resident)) < 0
               ? problem_set(problem, -ENOMEM, "the monitor: epoll: %s", strerror(errno))
               : 0;
}

static int make_parts(struct monitor *monitor, struct problem *problem)
{
    const struct central_calls calls = {monitor, on_changed, on_note, on_notify, on_answered};
    int result = central_new(&monitor->options, &calls, &monitor->central, problem);

    if (result == 0)
        result = notifier_new(&monitor->notifier, problem);
    if (result == 0)
        notifier_listen(monitor->notifier, on_note, monitor);
    if (result == 0 && watch(monitor, notifier_descriptor(monitor->notifier)) < 0)
        result = problem_set(problem, -ENOMEM, "the monitor: epoll: %s", strerror(errno));
    return result < 0 || monitor->options.collector_count == 0 ? result
                                                               : make_resident(monitor, problem);
}

struct central *monitor_central(struct monitor *monitor)
{
    return monitor->central;
}

int monitor_begin(struct monitor *monitor, struct problem *problem)
{
    return central_begin(monitor->central, problem);
}

int monitor_new(const struct monitor_options *options, const struct monitor_calls *calls,
                struct monitor **ret_monitor, struct problem *problem)
{
    struct monitor *monitor = calloc(1, sizeof(*monitor));

    if (monitor == NULL) {
        collectors_free(options->collectors, options->collector_count);
        return problem_set(problem, -ENOMEM, "out of memory for the monitor");
    }
    monitor->options = *options;
    monitor->calls = *calls;
    monitor->epoll = epoll_create1(EPOLL_CLOEXEC);
    monitor->of_views = calloc(options->file->view_count + 1, sizeof(*monitor->of_views));
    int result = monitor->of_views == NULL
                     ? problem_set(problem, -ENOMEM, "out of memory for the monitor")
                 : monitor->epoll < 0 ? problem_set(problem, -errno, "epoll: %s", strerror(errno))
                                      : monitor_check(options, problem);
    if (result == 0)
        result = make_parts(monitor, problem);
    if (result < 0) {
        monitor_free(monitor);
        return result;
    }
    *ret_monitor = monitor;
    return 0;
}

void monitor_free(struct monitor *monitor)
{
    if (monitor == NULL)
        return;
    resident_free(monitor->resident); /* first: it reports to the central one */
    central_free(monitor->central);
    notifier_free(monitor->notifier);
    free(monitor->of_views);
    collectors_free(monitor->options.collectors, monitor->options.collector_count);
    if (monitor->epoll >= 0)
        close(monitor->epoll);
    free(monitor);
}

int monitor_object(struct monitor *monitor, const char *text, struct problem *problem)
{
    if (monitor->resident == NULL)
        return 0; /* those of other machines look for them */
    return resident_define(monitor->resident, text, problem);
}

/* ---- the loop ---- */

int monitor_descriptor(const struct monitor *monitor)
{
    return monitor->epoll;
}

uint64_t monitor_next(const struct monitor *monitor)
{
    uint64_t resident = monitor->resident == NULL ? UINT64_MAX : resident_next(monitor->resident);
    uint64_t notifier = notifier_next(monitor->notifier);

    return resident < notifier ? resident : notifier;
}

static void tell_rate(void *context, uint32_t row, uint32_t entity, const struct row_rate *rate)
{
    central_rate(context, row, entity, rate);
}

#define RATES_EVERY 1000000000u /* ns */

static void tell_rates(struct monitor *monitor)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (monitor->resident == NULL || now < monitor->rated + RATES_EVERY)
        return;
    monitor->rated = now;
    resident_rates(monitor->resident, tell_rate, monitor->central);
}

static void look_at_clock(struct monitor *monitor)
{
    uint64_t set_back = monitor->resident == NULL ? 0 : resident_set_back(monitor->resident);

    if (set_back != monitor->set_back)
        central_clock_set(monitor->central, monitor->link);
    monitor->set_back = set_back;
}

int monitor_work(struct monitor *monitor, struct problem *problem)
{
    int result = monitor->resident == NULL ? 0 : resident_work(monitor->resident, problem);

    look_at_clock(monitor);
    central_note_missing(monitor->central);
    tell_rates(monitor);
    central_review(monitor->central, clock_now(CLOCK_MONOTONIC));
    notifier_work(monitor->notifier, clock_now(CLOCK_MONOTONIC));
    return result < 0 ? result : central_failed(monitor->central, problem);
}

void monitor_finish(struct monitor *monitor, uint64_t most)
{
    if (monitor->resident != NULL)
        resident_finish(monitor->resident);
    central_finish(monitor->central);
    notifier_finish(monitor->notifier, most);
}

void monitor_send(struct monitor *monitor, uint64_t most)
{
    notifier_finish(monitor->notifier, most);
}

struct view_model *monitor_model(struct monitor *monitor)
{
    return central_model(monitor->central);
}

void monitor_count(const struct monitor *monitor, struct monitor_counts *ret_counts)
{
    *ret_counts = (struct monitor_counts){0};
    if (monitor->resident != NULL)
        resident_count(monitor->resident, ret_counts);
    central_count(monitor->central, ret_counts);
}

bool monitor_collects(const struct monitor *monitor)
{
    return monitor->resident != NULL;
}

bool monitor_notified(const struct monitor *monitor, size_t receiver,
                      struct monitor_notified *ret_notified)
{
    return notifier_look(monitor->notifier, receiver, ret_notified);
}

const struct monitor_notified *monitor_notified_of(const struct monitor *monitor, size_t view)
{
    return &monitor->of_views[view];
}

const struct view_plan *monitor_plan(const struct monitor *monitor, size_t view)
{
    return central_plan(monitor->central, view);
}
