/* SPDX-License-Identifier: MIT */
/* resident.c: the resident monitor: its beginning and end, shares of rows, the loop. See resident.h. */
#include "monitor/resident_private.h"

#include "base/process.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void close_share(struct resident *resident, size_t place);

/* ---- construction ---- */

/* The best of some tries: others may run between two looks at clocks. What is too bad counts only if there is nothing else. */
static void learn_wall(struct resident *resident)
{
    uint64_t least = UINT64_MAX;
    int64_t learned = 0;
    bool first = resident->wall == 0;

    for (int tries = 0; tries < WALL_TRIES && least > WALL_APART; tries++) {
        uint64_t before = clock_now(CLOCK_MONOTONIC), wall = clock_now(CLOCK_REALTIME);
        uint64_t after = clock_now(CLOCK_MONOTONIC);
        if (after - before >= least)
            continue;
        least = after - before;
        learned = (int64_t)(wall - before - least / 2);
    }
    if (!first && least > MONITOR_CLOCK_STEP / 4)
        return;
    int64_t back = first ? 0 : resident->wall - learned;
    resident->wall = learned;
    if (back <= MONITOR_CLOCK_STEP)
        return;
    resident->set_back++;
    resident_note(resident, "the wall clock was set back by %.3f s, and so are times of values",
                  (double)back / 1e9);
}

void resident_note(struct resident *resident, const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    resident->calls.note(resident->calls.context, line);
}

static void appeared(void *context, const struct instance_seen *seen)
{
    struct resident *resident = context;
    struct begun *begun = begun_find(resident, seen->pid);

    if (begun != NULL)
        begun->seen = true;

    resident->calls.appeared(resident->calls.context, seen);
}

static void ended(void *context, const struct instance_seen *seen)
{
    struct resident *resident = context;

    resident->calls.ended(resident->calls.context, seen);
}

static void process_ended(void *context, pid_t pid)
{
    struct resident *resident = context;

    /* later: this comes from within the collector, and its collections will be closed */
    if (array_reserve(&resident->gone, &resident->gone_capacity, resident->gone_count + 1,
                      sizeof(*resident->gone)) == 0)
        resident->gone[resident->gone_count++] = pid;
    else
        resident_note(resident, "out of memory: process %d may have begun another program", pid);
}

static void forget_gone(struct resident *resident)
{
    for (size_t i = 0; i < resident->gone_count; i++)
        instances_forget(resident->instances, resident->gone[i]);
    if (resident->gone_count > 0)
        resident->scan = 0; /* they may execute their programs anew */
    resident->gone_count = 0;
}

static int watch_collector(struct resident *resident, size_t index)
{
    struct collector *collector = &resident->collectors[index];
    struct epoll_event event = {.events = EPOLLIN};
    int descriptor = collector->descriptor(collector->self);

    collector->listen(collector->self, process_ended,
                      resident->options.file->object_count > 0 ? begun_heard : NULL, resident);
    return descriptor < 0 || epoll_ctl(resident->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
               ? 0
               : -errno;
}

/* Every object that views speak of. */
static int add_objects(struct resident *resident)
{
    const struct view_file *file = resident->options.file;

    for (size_t i = 0; i < file->view_count; i++)
        for (size_t k = 0; k < file->views[i].entity_count; k++)
            if (instances_object(resident->instances, file->views[i].entities[k].object,
                                 file->views[i].entities[k].builtin) < 0)
                return -ENOMEM;
    return 0;
}

static int prepare(struct resident *resident, struct problem *problem)
{
    const struct view_file *file = resident->options.file;
    const struct instances_calls calls = {resident, appeared, ended};

    resident->epoll = epoll_create1(EPOLL_CLOEXEC);
    resident->instances = instances_new(&calls);
    resident->conditions = calloc(file->view_count + 1, sizeof(*resident->conditions));
    resident->off = calloc(file->view_count + 1, sizeof(*resident->off));
    if (resident->epoll < 0 || resident->instances == NULL || resident->conditions == NULL ||
        resident->off == NULL || add_objects(resident) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the monitor");
    for (size_t i = 0; i < resident->options.collector_count; i++) {
        int result = watch_collector(resident, i);
        if (result < 0)
            return problem_set(problem, result, "the monitor: epoll: %s", strerror(-result));
    }
    for (size_t i = 0; i < file->view_count; i++) {
        int result = view_conditions_make(&file->views[i], &resident->conditions[i], problem);
        if (result < 0)
            return result;
    }
    return 0;
}

int resident_new(const struct resident_options *options, const struct resident_calls *calls,
                 struct resident **ret_resident, struct problem *problem)
{
    struct resident *resident = calloc(1, sizeof(*resident));

    if (resident == NULL) {
        collectors_free(options->collectors, options->collector_count);
        return problem_set(problem, -ENOMEM, "out of memory for the monitor");
    }
    resident->options = *options;
    resident->calls = *calls;
    resident->begun = resident->until = clock_now(CLOCK_MONOTONIC);
    memcpy(resident->collectors, options->collectors,
           options->collector_count * sizeof(*options->collectors));
    learn_wall(resident);
    int result = prepare(resident, problem);
    if (result < 0) {
        resident_free(resident);
        return result;
    }
    *ret_resident = resident;
    return 0;
}

void resident_free(struct resident *resident)
{
    if (resident == NULL)
        return;
    for (size_t i = 0; i < resident->share_capacity; i++)
        close_share(resident, i);
    collectors_free(resident->collectors, resident->options.collector_count);
    for (size_t i = 0; resident->conditions != NULL && i < resident->options.file->view_count; i++)
        view_conditions_done(&resident->conditions[i]);
    if (resident->epoll >= 0)
        close(resident->epoll);
    instances_free(resident->instances);
    free(resident->gone);
    free(resident->conditions);
    free(resident->off);
    free(resident->shares);
    free(resident);
}

static const struct collector *collector_for(const struct resident *resident,
                                             const struct view_entity *entity)
{
    for (size_t i = 0; i < resident->options.collector_count; i++)
        if (resident->collectors[i].has(resident->collectors[i].self, resident->options.file,
                                        entity))
            return &resident->collectors[i];
    return NULL;
}

/* Sensors for an entity of a view in all processes of a program. */
static void expect(struct resident *resident, uint32_t view, uint32_t entity, const char *path)
{
    const struct collect_wish wish = {.file = resident->options.file,
                                      .file_name = resident->options.file_name,
                                      .conditions = &resident->conditions[view],
                                      .entity = entity,
                                      .traced = true,
                                      .prompt = true,
                                      .standing = true};
    const struct view *of = &resident->options.file->views[view];
    const struct collector *collector = collector_for(resident, &of->entities[entity]);

    struct problem problem = {""};
    if (collector != NULL && collector->expect != NULL &&
        collector->expect(collector->self, &wish, path, &problem) == -EINVAL)
        resident_note(resident, "view %s: %s has no sensors before its processes are found: %s",
                      of->name, path, problem.text);
}

int resident_define(struct resident *resident, const char *text, struct problem *problem)
{
    const struct view_file *file = resident->options.file;
    int result = instances_define(resident->instances, text, problem);

    for (uint32_t i = 0; result == 0 && i < file->view_count; i++)
        for (uint32_t k = 0; k < file->views[i].entity_count; k++) {
            bool more = true;
            for (size_t n = 0; more; n++) {
                const char *path = instances_path(resident->instances,
                                                  file->views[i].entities[k].object, n, &more);
                if (path != NULL)
                    expect(resident, i, k, path);
            }
        }
    return result;
}

struct share *resident_share(const struct resident *resident, uint32_t row)
{
    uint32_t place = row % MONITOR_ROWS_MOST;
    struct share *share = place < resident->share_capacity ? resident->shares[place] : NULL;

    return share != NULL && share->row == row ? share : NULL;
}

int64_t resident_view_of(const struct resident *resident, uint32_t row)
{
    const struct share *share = resident_share(resident, row);

    return share == NULL ? -ENOENT : (int64_t)share->view;
}

/* ---- shares ---- */

static void monitor_probe(void *context, uint32_t entity, uint32_t number)
{
    part_probe(&((struct share *)context)->parts[entity], number);
}

static void monitor_release(void *context, uint32_t entity)
{
    part_release(&((struct share *)context)->parts[entity]);
}

static void monitor_changed(void *context, bool active, bool edge, uint64_t time,
                            const struct view_value *targets)
{
    struct share *share = context;
    const struct resident_calls *calls = &share->resident->calls;

    calls->changed(calls->context, share->row, active, edge, time, targets);
}

static void close_part(struct part *part)
{
    part_switch_off(part);
    if (part->collection != NULL)
        part->collector->close(part->collector->self, part->collection);
    part->collection = NULL;
    part->rated.time = 0; /* the next one counts anew */
    part->pid = 0;
    reading_forget(part);
    free(part->last);
    part->last = part->reading = NULL;
}

static void close_share(struct resident *resident, size_t place)
{
    struct share *share = resident->shares[place];

    if (share == NULL)
        return;
    for (size_t i = 0; i < VIEW_ENTITIES_MOST; i++)
        close_part(&share->parts[i]);
    view_monitor_free(share->monitor);
    free(share);
    resident->shares[place] = NULL;
}

static int open_share(struct resident *resident, uint32_t row, uint32_t view,
                      const struct view_plan *plan, struct problem *problem)
{
    uint32_t place = row % MONITOR_ROWS_MOST;
    struct share *share = calloc(1, sizeof(*share));

    if (share == NULL || array_reserve(&resident->shares, &resident->share_capacity,
                                       (size_t)place + 1, sizeof(struct share *)) < 0) {
        free(share);
        return problem_set(problem, -ENOMEM, "out of memory for rows of views");
    }
    close_share(resident, place);
    *share = (struct share){.resident = resident, .row = row, .view = view, .plan = *plan};
    for (uint32_t i = 0; i < VIEW_ENTITIES_MOST; i++)
        share->parts[i] = (struct part){.share = share, .entity = i};
    const struct view_monitor_calls calls = {share, monitor_probe, monitor_release,
                                             monitor_changed};
    if (plan->top != VIEW_IN_CENTRAL &&
        (share->monitor = view_monitor_new(&resident->conditions[view], &share->plan, &calls)) ==
            NULL) {
        free(share);
        return problem_set(problem, -ENOMEM, "out of memory for rows of views");
    }
    resident->shares[place] = share;
    return 0;
}

static int open_part(struct part *part, pid_t pid, struct problem *problem)
{
    struct share *share = part->share;
    struct resident *resident = share->resident;
    const struct view *view = resident_view(share);
    const struct view_part_plan *plan = &share->plan.parts[part->entity];
    const struct view_entity_conditions *of = &resident->conditions[share->view].of[part->entity];
    const struct collect_wish wish = {
        .file = resident->options.file,
        .file_name = resident->options.file_name,
        .conditions = &resident->conditions[share->view],
        .entity = part->entity,
        .pid = pid,
        .traced = plan->collection != VIEW_SAMPLED,
        .standing = plan->collection == VIEW_TRACED,
        .filter = plan->evaluates == VIEW_IN_SENSOR && of->count > 0 && !of->raw,
        .prompt = true,
    };

    part->collector = collector_for(resident, &view->entities[part->entity]);
    if (part->collector == NULL)
        return problem_set(problem, -ENOENT, "nothing collects its values");
    part->last = calloc(2 * (view->reference_count + 1), sizeof(*part->last));
    if (part->last == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    part->reading = part->last + view->reference_count + 1;
    part->how = (struct collected_how){0};
    part->was_on = false;
    part->last_time = part->last_wall = 0;
    int result = part->collector->open(part->collector->self, &wish, part_values_came, part,
                                       &part->collection, &part->how, problem);
    part->period = 0;
    if (result == 0 && !part->how.traced)
        part_sample_instead(part, part->how.why);
    return result;
}

/* What was collected of its process is not known any more. */
static void unbind(struct part *part)
{
    if (part->pid == 0)
        return;
    if (part->on && part->collection != NULL && part->collector->finish != NULL)
        part->collector->finish(part->collector->self, part->collection);
    if (part->last != NULL)
        part_forget(part);
    close_part(part);
}

static void bind(struct part *part, pid_t pid)
{
    const struct view *view = resident_view(part->share);
    struct problem problem = {""};
    char name[VIEW_ENTITY_SIZE];

    unbind(part);
    part->pid = pid;
    view_entity_text(&view->entities[part->entity], name);
    int result = open_part(part, pid, &problem);
    if (result < 0)
        resident_note(part->share->resident, "view %s: %s, process %d: %s", view->name, name, pid,
                      problem.text);
    else if (part_is_wanted(part))
        part_switch_on(part);
    struct begun *begun = begun_find(part->share->resident, pid);
    if (part->on && part->how.traced)
        begun_sensed(part->share->resident, pid, part->how.since);
    else if (begun != NULL && part->share->plan.parts[part->entity].collection != VIEW_SAMPLED)
        begun->seen = begun->read = begun->read || (part->on && process_lives(pid));
}

/* Here the views may be the central monitor's, whose constant has changed already. */
static int change_constant(struct resident *resident, const struct row_step *step,
                           struct problem *problem)
{
    double *constant = view_constant(&resident->options.file->views[step->view], step->index);

    if (constant == NULL)
        return problem_set(problem, -EINVAL, "there is no such constant");
    *constant = step->value;
    resident_constants_changed(resident, step->view);
    return 0;
}

static void step_part(struct part *part, const struct row_step *step)
{
    if (step->kind == STEP_BIND && step->pid == 0)
        unbind(part);
    else if (step->kind == STEP_BIND)
        bind(part, step->pid);
    else if (step->kind == STEP_PROBE)
        part_probe(part, step->number);
    else if (step->kind == STEP_RELEASE)
        part_release(part);
    else if (step->kind == STEP_READ)
        part_answer(part);
}

int resident_step(struct resident *resident, const struct row_step *step, struct problem *problem)
{
    struct share *share = resident_share(resident, step->row);

    switch (step->kind) {
    case STEP_OPEN:
        return open_share(resident, step->row, step->view, step->plan, problem);
    case STEP_CLOSE:
        if (share != NULL)
            close_share(resident, step->row % MONITOR_ROWS_MOST);
        return 0;
    case STEP_TURN:
        resident_turn(resident, step->view, step->on);
        return 0;
    case STEP_CONSTANT:
        return change_constant(resident, step, problem);
    default:
        break;
    }
    /* the row could not be opened: whatever waits for its values goes on without them */
    if (share == NULL && step->kind == STEP_READ)
        resident->calls.answer(resident->calls.context, step->row, step->entity,
                               clock_now(CLOCK_REALTIME), NULL);
    if (share == NULL || step->entity >= resident_view(share)->entity_count)
        return problem_set(problem, -EINVAL, "row %u is not open, or has no such instance",
                           step->row);
    step_part(&share->parts[step->entity], step);
    return 0;
}

/* ---- the loop ---- */

uint64_t resident_until(const struct resident *resident)
{
    return resident->until - SETTLES + (uint64_t)resident->wall;
}

uint64_t resident_set_back(const struct resident *resident)
{
    return resident->set_back;
}

bool resident_feeds(const struct resident *resident)
{
    for (size_t i = 0; i < resident->share_capacity; i++)
        if (resident->shares[i] != NULL && resident->shares[i]->monitor == NULL)
            return true;
    return false;
}

void resident_refresh(struct resident *resident)
{
    uint64_t wall = clock_now(CLOCK_REALTIME);

    for (size_t i = 0; i < resident->share_capacity; i++) {
        struct share *share = resident->shares[i];
        for (size_t k = 0; share != NULL && k < VIEW_ENTITIES_MOST; k++) {
            if (!share->parts[k].on)
                continue;
            share->parts[k].first = true;
            part_read(&share->parts[k]);
        }
        if (share != NULL && share->monitor != NULL &&
            view_monitor_repeat(share->monitor, wall) < 0)
            resident_note(resident, "out of memory for a row of view %s",
                          resident_view(share)->name);
    }
}

int resident_descriptor(const struct resident *resident)
{
    return resident->epoll;
}

uint64_t resident_next(const struct resident *resident)
{
    return resident->next;
}

/* Reads what is due; returns when the next one is. */
static uint64_t sample(struct resident *resident, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < resident->share_capacity; i++)
        for (size_t k = 0; resident->shares[i] != NULL && k < VIEW_ENTITIES_MOST; k++) {
            struct part *part = &resident->shares[i]->parts[k];
            if (!part->on || part->period == 0)
                continue;
            if (part->sample <= now) {
                part->sample = now + part->period;
                part_read(part);
            }
            if (part->sample < next)
                next = part->sample;
        }
    return next;
}

static void note_refused(struct resident *resident)
{
    uint64_t refused = instances_refused(resident->instances);

    if (refused == 0 || resident->refused)
        return;
    resident->refused = true;
    resident_note(resident,
                  "more than %d instances live: %" PRIu64 " %s left out; name fewer with --object",
                  INSTANCES_MOST, refused, refused == 1 ? "is" : "are");
}

/* At most twice a second. */
static void note_lost(struct resident *resident, uint64_t now)
{
    struct monitor_counts counts = {0};

    if (now - resident->lost_at < LOST_EACH)
        return;
    resident_count(resident, &counts);
    if (counts.lost > resident->lost) {
        uint64_t lost = counts.lost - resident->lost;
        resident_note(resident,
                      "%" PRIu64
                      " record%s of sensors %s lost: records came faster than they could "
                      "be read, and rows may have been wrong",
                      lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
        resident->lost_at = now;
    }
    resident->lost = counts.lost;
    if (resident->unseen > resident->unseen_noted) {
        uint64_t more = resident->unseen - resident->unseen_noted;
        resident_note(resident, "%" PRIu64 " process%s ended before %s seen", more,
                      more == 1 ? "" : "es", more == 1 ? "it was" : "they were");
        resident->lost_at = now;
    }
    resident->unseen_noted = resident->unseen;
}

/* Returns whether there is more to do. */
static bool collect(struct resident *resident)
{
    bool more = false;

    for (size_t i = 0; i < resident->options.collector_count; i++)
        more = resident->collectors[i].work(resident->collectors[i].self) || more;
    if (!more)
        readings_take(resident);
    forget_gone(resident);
    return more;
}

int resident_work(struct resident *resident, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int result = 0;
    bool more = collect(resident);
    if (!more) {
        resident->until = begun_until(resident, now);
        more = resident->begun_count > 0 && collect(resident); /* what was taken from the ring */
    }
    if (resident->scan <= now) {
        learn_wall(resident);
        resident->scanned = now;
        result = instances_look(resident->instances, begun_wants_only(resident), problem);
        bool soon =
            now - resident->begun < SCAN_SOON_UNTIL || instances_beginning(resident->instances);
        resident->scan = now + (soon ? SCAN_SOON : SCAN_EVERY);
        if (!begun_look(resident, now) && result == 0)
            result = instances_appear(resident->instances, problem);
        note_refused(resident);
        note_lost(resident, now);
        more = collect(resident) || more; /* what was taken from the ring meanwhile */
    }
    resident->next = resident->scan;
    uint64_t next = sample(resident, now);
    if (next < resident->next)
        resident->next = next;
    if (resident->waiting) /* what came before it was read */
        more = collect(resident) || more;
    if (more)
        resident->next = 0;
    return result;
}

void resident_finish(struct resident *resident)
{
    int looks = 1;

    do
        resident->scan = 0;
    while (resident_work(resident, NULL) == 0 && begun_waits(resident) && looks++ < BEGUN_MOST);
}

void resident_count(const struct resident *resident, struct monitor_counts *counts)
{
    counts->late_starts += resident->late_starts;
    if (resident->latest_start > counts->latest_start)
        counts->latest_start = resident->latest_start;
    counts->unseen += resident->unseen;
    counts->filtered += resident->filtered;
    counts->reads += resident->reads;
    counts->unread += resident->unread;
    for (size_t i = 0; i < resident->options.collector_count; i++)
        resident->collectors[i].count(resident->collectors[i].self, counts);
}
