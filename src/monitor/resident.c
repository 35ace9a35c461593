/* SPDX-License-Identifier: MIT */
/* resident.c: the resident monitor. See resident.h. */
#include "monitor/resident.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SCAN_EVERY      250000000u  /* ns between two looks for instances */
#define SCAN_SOON       10000000u   /* while the monitor is young: programs start with it */
#define SCAN_SOON_UNTIL 1000000000u /* ns */
#define GONE_MOST       64
#define TEXT_SIZE       128 /* of a value that is kept; longer ones are cut */

struct kept {
    enum view_value_kind kind;
    double number;
    char text[TEXT_SIZE];
};

/* One instance of a row. */
struct part {
    struct share *share;
    uint32_t entity;
    pid_t pid; /* 0: it is not here */
    const struct collector *collector;
    struct collection *collection; /* NULL: it cannot be collected */
    struct collected_how how;
    bool on;
    bool armed;      /* VIEW_PROBED: is watched */
    bool asked;      /* the next values are an answer */
    bool first;      /* the next values are passed on whatever they are */
    uint64_t period; /* ns between two reads; 0: none */
    uint64_t sample; /* when to read next */
    struct view_filter filter;
    struct kept *last; /* by reference: handed over last */
    bool has_last;
};

struct share {
    struct resident *resident;
    uint32_t row, view;
    struct view_plan plan;
    struct view_monitor *monitor; /* if the predicate is evaluated here */
    struct part parts[VIEW_ENTITIES_MOST];
};

struct resident {
    struct resident_options options;
    struct resident_calls calls;
    struct collector collectors[RESIDENT_COLLECTORS];
    struct view_conditions *conditions; /* of each view */
    bool *off;                          /* by view: switched off */
    struct instances *instances;
    struct share **shares; /* by row; NULL: none here */
    size_t share_capacity;
    int epoll;
    uint64_t begun, scan, next;
    int64_t wall; /* what turns CLOCK_MONOTONIC into the wall clock */
    uint64_t filtered, reads, unread;
    pid_t gone
        [GONE_MOST]; /* have ended, or execute another program; the rest is seen by the next look */
    size_t gone_count;
};

static void close_share(struct resident *resident, size_t place);

/* ---- construction ---- */

static void learn_wall(struct resident *resident)
{
    uint64_t before = clock_now(CLOCK_MONOTONIC), wall = clock_now(CLOCK_REALTIME);
    uint64_t after = clock_now(CLOCK_MONOTONIC);

    resident->wall = (int64_t)(wall - before - (after - before) / 2);
}

static void note(struct resident *resident, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct resident *resident, const char *format, ...)
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
    if (resident->gone_count < GONE_MOST)
        resident->gone[resident->gone_count++] = pid;
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

    collector->listen(collector->self, process_ended, resident);
    return descriptor < 0 || epoll_ctl(resident->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
               ? 0
               : -errno;
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
        resident->off == NULL)
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
    resident->begun = clock_now(CLOCK_MONOTONIC);
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
    free(resident->conditions);
    free(resident->off);
    free(resident->shares);
    free(resident);
}

struct instances *resident_instances(struct resident *resident)
{
    return resident->instances;
}

static struct share *share_of(const struct resident *resident, uint32_t row)
{
    uint32_t place = row % MONITOR_ROWS_MOST;
    struct share *share = place < resident->share_capacity ? resident->shares[place] : NULL;

    return share != NULL && share->row == row ? share : NULL;
}

int64_t resident_view_of(const struct resident *resident, uint32_t row)
{
    const struct share *share = share_of(resident, row);

    return share == NULL ? -ENOENT : (int64_t)share->view;
}

/* ---- values ---- */

static bool keep(struct kept *kept, const struct view_value *value)
{
    struct kept now = {.kind = value->kind};

    if (value->kind == VIEW_IS_NUMBER)
        now.number = value->number;
    else if (value->kind == VIEW_IS_TEXT)
        snprintf(now.text, sizeof(now.text), "%s", value->text);
    bool same =
        now.kind == kept->kind && now.number == kept->number && strcmp(now.text, kept->text) == 0;
    *kept = now;
    return !same;
}

static const struct view *view_of(const struct share *share)
{
    return &share->resident->options.file->views[share->view];
}

/* Keeps what has come. Returns whether anything is new. */
static bool keep_values(struct part *part, const struct view_value *values)
{
    const struct view *view = view_of(part->share);
    bool changed = !part->has_last;

    for (size_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == part->entity)
            changed = keep(&part->last[i], &values[i]) || changed;
    part->has_last = true;
    return changed;
}

static struct view_value look(void *context, uint32_t reference)
{
    return ((const struct view_value *)context)[reference];
}

static void values_of_last(const struct part *part, struct view_value *values)
{
    for (size_t i = 0; i < view_of(part->share)->reference_count; i++)
        values[i] = (struct view_value){
            .kind = part->last[i].kind, .number = part->last[i].number, .text = part->last[i].text};
}

/* Values leave this part: for the predicate here, or for the central monitor. */
static void hand_over(struct part *part, uint64_t time, struct view_value *values)
{
    struct share *share = part->share;
    struct resident *resident = share->resident;
    uint64_t wall = time + (uint64_t)resident->wall;
    bool first = part->first;

    part->first = false;
    if (share->monitor != NULL) {
        if (view_monitor_record(share->monitor, part->entity, wall, look, values) < 0)
            note(resident, "out of memory for a value of view %s", view_of(share)->name);
        return;
    }
    bool here = share->plan.parts[part->entity].evaluates != VIEW_IN_CENTRAL;
    if (here && !part->how.filtered) {
        bool passes = view_filter_passes(&part->filter, &resident->conditions[share->view],
                                         part->entity, look, values);
        if (!passes && !first) {
            resident->filtered++;
            return;
        }
    }
    resident->calls.record(resident->calls.context, share->row, part->entity, wall, values);
}

static void values_came(void *context, uint64_t time, const struct view_value *values)
{
    struct part *part = context;
    struct view_value copy[VIEW_REFERENCES_MOST];
    const struct resident_calls *calls = &part->share->resident->calls;
    if (part->asked) {
        part->asked = false;
        calls->answer(calls->context, part->share->row, part->entity,
                      time + (uint64_t)part->share->resident->wall, values);
        return;
    }
    bool wanted = part->share->plan.parts[part->entity].collection != VIEW_PROBED || part->armed;

    if (!wanted || (!keep_values(part, values) && !part->first))
        return;
    values_of_last(part, copy);
    hand_over(part, time, copy);
}

/* The instance has no values any more. */
static void forget_values(struct part *part)
{
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    part->first = true;
    part->has_last = false;
    keep_values(part, unknown);
    hand_over(part, clock_now(CLOCK_MONOTONIC), unknown);
    part->has_last = false;
    part->filter = (struct view_filter){false};
}

/* ---- switching ---- */

static bool is_wanted(const struct part *part)
{
    const struct share *share = part->share;

    return !share->resident->off[share->view] &&
           (share->plan.parts[part->entity].collection != VIEW_PROBED || part->armed);
}

static void read_part(struct part *part)
{
    int result = part->collector->read(part->collector->self, part->collection);

    part->share->resident->reads += result == 0;
    part->share->resident->unread += result < 0 && result != -ENOTSUP;
}

/* How often to read what is not traced: so that a value is never older than the view allows. */
static uint64_t period_of(const struct part *part)
{
    const struct share *share = part->share;
    const struct view *view = view_of(share);
    uint64_t every = share->resident->options.every;

    if (share->plan.period > 0 && share->plan.period < (double)every)
        every = (uint64_t)share->plan.period;
    if (view->has_correct && view->correct / 2 < every)
        every = view->correct / 2;
    return every < 1000000 ? 1000000 : every;
}

/* Reads periodically from now on. `why`: what was wished for is not possible; "": this is what the plan says. */
static void sample_instead(struct part *part, const char *why)
{
    const struct view *view = view_of(part->share);
    char name[VIEW_ENTITY_SIZE];

    part->how.traced = part->how.filtered = false;
    part->period = period_of(part);
    view_entity_text(&view->entities[part->entity], name);
    if (why[0] != '\0')
        note(part->share->resident,
             "view %s: %s, process %d: read every %.3g ms, changes in between are missed: %s",
             view->name, name, part->pid, (double)part->period / 1e6, why);
}

/* First the sensor, then the value, so that no change between them is missed. */
static void switch_on(struct part *part)
{
    struct problem problem = {""};
    struct resident *resident = part->share->resident;

    if (part->collection == NULL)
        return;
    part->first = true;
    part->filter = (struct view_filter){false};
    if (part->how.traced && !part->on &&
        part->collector->turn(part->collector->self, part->collection, true, &problem) < 0)
        sample_instead(part, problem.text);
    part->on = true;
    part->sample = part->period == 0 ? 0 : clock_now(CLOCK_MONOTONIC) + part->period;
    if (part->period != 0 && part->sample < resident->next)
        resident->next = part->sample;
    read_part(part);
}

static void switch_off(struct part *part)
{
    if (part->collection == NULL || !part->on)
        return;
    part->on = false;
    part->sample = 0;
    if (part->how.traced)
        part->collector->turn(part->collector->self, part->collection, false, NULL);
}

void resident_turn(struct resident *resident, uint32_t view, bool on)
{
    if (resident->off[view] == !on)
        return;
    resident->off[view] = !on;
    for (size_t i = 0; i < resident->share_capacity; i++) {
        struct share *share = resident->shares[i];
        for (size_t k = 0; share != NULL && share->view == view && k < view_of(share)->entity_count;
             k++) {
            struct part *part = &share->parts[k];
            if (is_wanted(part))
                switch_on(part);
            else if (part->on) {
                switch_off(part);
                forget_values(part);
            }
        }
    }
}

/* An instance that is not there, or cannot be collected, has an answer, too: a predicate with OR may not need it. */
static void probe_part(struct part *part)
{
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    part->armed = true;
    if (part->collection == NULL) {
        part->first = true;
        hand_over(part, clock_now(CLOCK_MONOTONIC), unknown);
    } else if (is_wanted(part)) {
        switch_on(part);
    }
}

static void release_part(struct part *part)
{
    part->armed = false;
    part->has_last = false;
    switch_off(part);
}

void resident_probe(struct resident *resident, uint32_t row, uint32_t entity)
{
    struct share *share = share_of(resident, row);

    if (share != NULL)
        probe_part(&share->parts[entity]);
}

void resident_release(struct resident *resident, uint32_t row, uint32_t entity)
{
    struct share *share = share_of(resident, row);

    if (share != NULL)
        release_part(&share->parts[entity]);
}

void resident_read(struct resident *resident, uint32_t row, uint32_t entity)
{
    struct share *share = share_of(resident, row);
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    if (share == NULL)
        return;
    struct part *part = &share->parts[entity];
    part->asked = part->collection != NULL;
    if (part->collection != NULL)
        read_part(part);
    if (part->collection != NULL && !part->asked)
        return; /* answered */
    part->asked = false;
    resident->calls.answer(resident->calls.context, row, entity,
                           clock_now(CLOCK_MONOTONIC) + (uint64_t)resident->wall, unknown);
}

void resident_constants_changed(struct resident *resident, uint32_t view)
{
    struct problem problem = {""};

    for (size_t i = 0; i < resident->share_capacity; i++) {
        struct share *share = resident->shares[i];
        for (size_t k = 0; share != NULL && share->view == view && k < view_of(share)->entity_count;
             k++) {
            struct part *part = &share->parts[k];
            if (part->collection == NULL || !part->on)
                continue;
            if (part->how.filtered &&
                part->collector->refilter(part->collector->self, part->collection, &problem) < 0)
                note(resident, "view %s: %s", view_of(share)->name, problem.text);
            part->filter = (struct view_filter){false};
            part->first = true; /* the value that was refused so far may be accepted now */
            read_part(part);
        }
    }
}

/* ---- shares ---- */

static void monitor_probe(void *context, uint32_t entity)
{
    probe_part(&((struct share *)context)->parts[entity]);
}

static void monitor_release(void *context, uint32_t entity)
{
    release_part(&((struct share *)context)->parts[entity]);
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
    switch_off(part);
    if (part->collection != NULL)
        part->collector->close(part->collector->self, part->collection);
    part->collection = NULL;
    part->pid = 0;
    free(part->last);
    part->last = NULL;
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

void resident_close(struct resident *resident, uint32_t row)
{
    if (share_of(resident, row) != NULL)
        close_share(resident, row % MONITOR_ROWS_MOST);
}

int resident_open(struct resident *resident, uint32_t row, uint32_t view,
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

static const struct collector *collector_for(const struct resident *resident, const char *object)
{
    for (size_t i = 0; i < resident->options.collector_count; i++)
        if (resident->collectors[i].has(resident->collectors[i].self, resident->options.file,
                                        object))
            return &resident->collectors[i];
    return NULL;
}

static int open_part(struct part *part, pid_t pid, struct problem *problem)
{
    struct share *share = part->share;
    struct resident *resident = share->resident;
    const struct view *view = view_of(share);
    const struct view_part_plan *plan = &share->plan.parts[part->entity];
    const struct view_entity_conditions *of = &resident->conditions[share->view].of[part->entity];
    const struct collect_wish wish = {
        .file = resident->options.file,
        .file_name = resident->options.file_name,
        .conditions = &resident->conditions[share->view],
        .entity = part->entity,
        .pid = pid,
        .traced = plan->collection != VIEW_SAMPLED,
        .filter = plan->evaluates == VIEW_IN_SENSOR && of->count > 0 && !of->raw,
        .prompt = true,
    };

    part->collector = collector_for(resident, view->entities[part->entity].object);
    if (part->collector == NULL)
        return problem_set(problem, -ENOENT, "nothing collects its values");
    part->last = calloc(view->reference_count + 1, sizeof(*part->last));
    if (part->last == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    part->how = (struct collected_how){0};
    int result = part->collector->open(part->collector->self, &wish, values_came, part,
                                       &part->collection, &part->how, problem);
    part->period = 0;
    if (result == 0 && !part->how.traced)
        sample_instead(part, part->how.why);
    return result;
}

void resident_bind(struct resident *resident, uint32_t row, uint32_t entity, pid_t pid)
{
    struct share *share = share_of(resident, row);
    struct problem problem = {""};
    char name[VIEW_ENTITY_SIZE];

    if (share == NULL)
        return;
    struct part *part = &share->parts[entity];
    if (part->pid != 0)
        resident_unbind(resident, row, entity);
    part->pid = pid;
    view_entity_text(&view_of(share)->entities[entity], name);
    int result = open_part(part, pid, &problem);
    if (result < 0) {
        note(resident, "view %s: %s, process %d: %s", view_of(share)->name, name, pid,
             problem.text);
        return;
    }
    if (is_wanted(part))
        switch_on(part);
}

void resident_unbind(struct resident *resident, uint32_t row, uint32_t entity)
{
    struct share *share = share_of(resident, row);

    if (share == NULL || share->parts[entity].pid == 0)
        return;
    struct part *part = &share->parts[entity];
    if (part->last != NULL)
        forget_values(part);
    close_part(part);
}

/* ---- the loop ---- */

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
                read_part(part);
            }
            if (part->sample < next)
                next = part->sample;
        }
    return next;
}

int resident_work(struct resident *resident, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int result = 0;
    bool more = false;

    for (size_t i = 0; i < resident->options.collector_count; i++)
        more = resident->collectors[i].work(resident->collectors[i].self) || more;
    forget_gone(resident);
    if (resident->scan <= now) {
        learn_wall(resident);
        result = instances_look(resident->instances, problem);
        resident->scan = now + (now - resident->begun < SCAN_SOON_UNTIL ? SCAN_SOON : SCAN_EVERY);
    }
    resident->next = resident->scan;
    uint64_t next = sample(resident, now);
    if (next < resident->next)
        resident->next = next;
    if (more)
        resident->next = 0;
    return result;
}

void resident_count(const struct resident *resident, struct monitor_counts *counts)
{
    counts->filtered += resident->filtered;
    counts->reads += resident->reads;
    counts->unread += resident->unread;
    for (size_t i = 0; i < resident->options.collector_count; i++)
        resident->collectors[i].count(resident->collectors[i].self, counts);
}
