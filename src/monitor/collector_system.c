/* SPDX-License-Identifier: MIT */
/*
 * collector_system.c: figures of the last interval of DPM's own objects, from what the kernel counts.
 *
 *      process   CPU clock of the process            machine   /proc/stat            subnet   /proc/net/dev
 *      a total at the end of each interval --> its growth, per second
 *
 * One timer ends the intervals of all, so figures that are compared are of the same time.
 */
#include "monitor/collector.h"
#include "monitor/subnets.h"

#include "base/process.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TEXT_MOST  (1u << 20) /* bytes of a file of /proc */
#define TRIES      5          /* to read a clock without an interruption ... */
#define APART_MOST 50000      /* ... which takes this many ns */

struct system {
    char machine[VIEW_NAME_MOST + 1];
    collect_ended *ended;
    void *ended_context;
    char *text; /* [TEXT_MOST] */
    uint64_t tick;
    int timer;
    uint64_t interval;
    struct collection **list;
    size_t count, capacity;
    uint64_t reads, unread;
};

enum figure { PROCESS_ID, MACHINE, STATE, CPU, PROCESSES, JOB_LOAD, TRAFFIC, FIGURES };

static const char *const figure_names[FIGURES] = {"Process-Id", "machine",  "state",  "cpu",
                                                  "processes",  "job-load", "traffic"};

struct collection {
    struct collect_wish wish;
    collect_values *values;
    void *context;
    enum view_builtin kind;
    bool on;
    uint64_t started;                /* of a process: another one may get its id */
    char subnet[VIEW_SUBNET_SIZE];   /* "": it is none, or has gone */
    uint64_t time;                   /* when this interval began; 0: it has not */
    double total;                    /* at that time */
    struct view_value last[FIGURES]; /* of the last interval */
};

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    (void)begun;
    struct system *system = self;

    system->ended = ended;
    system->ended_context = context;
}

static bool has(void *self, const struct view_file *file, const struct view_entity *entity)
{
    (void)self;
    (void)file;
    return entity->builtin != VIEW_PROGRAM;
}

/* ---- totals ---- */

static const char *read_text(const struct system *system, const char *name)
{
    int file = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    size_t size = 0;

    while (file >= 0 && got > 0 && size + 1 < TEXT_MOST) {
        got = read(file, system->text + size, TEXT_MOST - size - 1);
        size += got > 0 ? (size_t)got : 0;
    }
    if (file >= 0)
        close(file);
    system->text[size] = '\0';
    return system->text;
}

/* CPU seconds of a process, and when it had used these: read anew if the kernel has let others run meanwhile. */
static bool read_clock(clockid_t clock, double *ret_total, uint64_t *ret_time)
{
    struct timespec used;
    uint64_t before = 0, after = 0;

    for (int tries = 0; tries < TRIES && (tries == 0 || after - before > APART_MOST); tries++) {
        before = clock_now(CLOCK_MONOTONIC);
        if (clock_gettime(clock, &used) < 0)
            return false;
        after = clock_now(CLOCK_MONOTONIC);
    }
    *ret_total = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
    *ret_time = before + (after - before) / 2;
    return true;
}

/* First the clock, then whether it is still this process'. */
static int process_total(const struct collection *collection, double *ret_total, uint64_t *ret_time)
{
    clockid_t clock;

    return collection->started == 0 || clock_getcpuclockid(collection->wish.pid, &clock) != 0 ||
                   !read_clock(clock, ret_total, ret_time) ||
                   process_started(collection->wish.pid) != collection->started
               ? -ESRCH
               : 0;
}

static void set_number(struct collection *collection, enum figure figure, double number)
{
    collection->last[figure] = (struct view_value){.kind = VIEW_IS_NUMBER, .number = number};
}

static int count_process(pid_t pid, void *context)
{
    (void)pid;
    ++*(double *)context;
    return 0;
}

/* CPU seconds of all processors, and the other figures of a machine, which are no growth. */
static int machine_total(const struct system *system, struct collection *collection,
                         double *ret_total)
{
    struct summary_record summary;
    double processes = 1; /* this one, which is not counted */

    host_know_nothing(&summary);
    host_parse_stat(read_text(system, "/proc/stat"), system->tick, &summary);
    if (summary.cpu_user == NOT_KNOWN || summary.cpu_system == NOT_KNOWN)
        return -ENODATA;
    uint64_t stolen = summary.cpu_stolen == NOT_KNOWN ? 0 : summary.cpu_stolen;
    *ret_total = (double)(summary.cpu_user + summary.cpu_system + stolen) / 1e9;
    if (summary.runnable != NOT_KNOWN)
        set_number(collection, JOB_LOAD, (double)summary.runnable);
    if (process_each(count_process, &processes, NULL) == 0)
        set_number(collection, PROCESSES, processes);
    return 0;
}

/* Bytes that pass the interfaces with an address of the subnet. */
static int subnet_total(const struct system *system, const struct collection *collection,
                        double *ret_total)
{
    struct subnet list[SUBNETS_MOST];
    size_t count = subnets_list(list);
    const char *text = read_text(system, "/proc/net/dev");
    struct device device;
    bool found = false;

    *ret_total = 0;
    while (host_next_interface(&text, &device))
        for (size_t i = 0; i < count; i++)
            if (strcmp(list[i].interface, device.name) == 0 &&
                strcmp(list[i].name, collection->subnet) == 0) {
                *ret_total += (double)device.figures[0] + (double)device.figures[1];
                found = true;
            }
    return found ? 0 : -ENODATA;
}

/* ---- figures ---- */

static int take_total(struct system *system, struct collection *collection, double *ret_total,
                      uint64_t *ret_time)
{
    *ret_time = clock_now(CLOCK_MONOTONIC);
    switch (collection->kind) {
    case VIEW_PROCESS:
        return process_total(collection, ret_total, ret_time);
    case VIEW_MACHINE:
        return machine_total(system, collection, ret_total);
    default:
        return subnet_total(system, collection, ret_total);
    }
}

/* Ends an interval, and begins the next one. Before the first one ends, there is no growth. */
static int measure(struct system *system, struct collection *collection)
{
    enum figure growing = collection->kind == VIEW_SUBNET ? TRAFFIC : CPU;
    double total = 0;
    uint64_t now;
    int result = take_total(system, collection, &total, &now);

    collection->last[growing] = (struct view_value){.kind = VIEW_UNKNOWN};
    if (result == 0 && collection->time != 0 && total >= collection->total)
        set_number(collection, growing,
                   (total - collection->total) / ((double)(now - collection->time) / 1e9));
    collection->time = result == 0 ? now : 0;
    collection->total = total;
    return result;
}

static void hand_over(const struct collection *collection)
{
    const struct view *view = collection->wish.conditions->view;
    struct view_value values[VIEW_REFERENCES_MOST] = {{0}};
    uint64_t time = collection->time != 0 ? collection->time : clock_now(CLOCK_MONOTONIC);

    for (size_t i = 0; i < view->reference_count; i++)
        for (size_t k = 0; view->references[i].entity == collection->wish.entity && k < FIGURES;
             k++)
            if (view_same_name(figure_names[k], view->references[i].attribute))
                values[i] = collection->last[k];
    collection->values(collection->context, time, values);
}

static int read_figures(struct system *system, struct collection *collection)
{
    int result = measure(system, collection);

    if (result == -ESRCH)
        system->ended(system->ended_context, collection->wish.pid);
    else
        hand_over(collection);
    return result;
}

/* Figures of the last interval: a probe does not end one. */
static int read_values(void *self, struct collection *collection)
{
    if (collection->time == 0)
        return read_figures(self, collection);
    hand_over(collection);
    return 0;
}

/* What was switched on a moment ago waits for the end of the next interval. */
static bool is_over(const struct system *system, const struct collection *collection)
{
    return collection->on && clock_now(CLOCK_MONOTONIC) - collection->time >= system->interval / 2;
}

static bool work(void *self)
{
    struct system *system = self;
    uint64_t expired;

    if (read(system->timer, &expired, sizeof(expired)) != sizeof(expired))
        return false;
    for (size_t i = 0; i < system->count; i++) {
        if (!is_over(system, system->list[i]))
            continue;
        int result = read_figures(system, system->list[i]);
        system->reads += result == 0;
        system->unread += result < 0 && result != -ESRCH; /* a process that has ended */
    }
    return false;
}

/* ---- collections ---- */

static void close_collection(void *self, struct collection *collection)
{
    struct system *system = self;

    for (size_t i = 0; i < system->count; i++)
        if (system->list[i] == collection)
            system->list[i] = system->list[--system->count];
    free(collection);
}

static void set_text(struct collection *collection, enum figure figure, const char *text)
{
    collection->last[figure] = (struct view_value){.kind = VIEW_IS_TEXT, .text = text};
}

static void find_subnet(struct collection *collection)
{
    struct subnet list[SUBNETS_MOST];
    size_t count = subnets_list(list);

    for (size_t i = 0; i < count; i++)
        if (list[i].number == collection->wish.pid)
            memcpy(collection->subnet, list[i].name, sizeof(collection->subnet));
}

static int open_collection(void *self, const struct collect_wish *wish, collect_values *values,
                           void *context, struct collection **ret_collection,
                           struct collected_how *ret_how, struct problem *problem)
{
    struct system *system = self;
    struct collection *collection = calloc(1, sizeof(*collection));

    if (collection == NULL || array_reserve(&system->list, &system->capacity, system->count + 1,
                                            sizeof(*system->list)) < 0) {
        free(collection);
        return problem_set(problem, -ENOMEM, "out of memory for figures");
    }
    system->list[system->count++] = collection;
    *collection =
        (struct collection){.wish = *wish,
                            .values = values,
                            .context = context,
                            .kind = wish->conditions->view->entities[wish->entity].builtin};
    if (collection->kind == VIEW_PROCESS) {
        collection->started = process_started(wish->pid);
        set_number(collection, PROCESS_ID, wish->pid);
        set_text(collection, MACHINE, system->machine);
        set_text(collection, STATE, "running");
    } else if (collection->kind == VIEW_SUBNET) {
        find_subnet(collection);
    }
    *ret_how = (struct collected_how){.traced = true};
    *ret_collection = collection;
    return 0;
}

static int turn(void *self, struct collection *collection, bool on, struct problem *problem)
{
    (void)self;
    (void)problem;
    collection->on = on;
    collection->time = 0; /* what it does while it is off is in no interval */
    return 0;
}

static int refilter(void *self, struct collection *collection, struct problem *problem)
{
    (void)self;
    (void)collection;
    (void)problem;
    return 0;
}

static int descriptor(void *self)
{
    const struct system *system = self;

    return system->timer;
}

static void count(void *self, struct monitor_counts *counts)
{
    const struct system *system = self;

    counts->reads += system->reads;
    counts->unread += system->unread;
}

static void free_system(void *self)
{
    struct system *system = self;

    if (system->timer >= 0)
        close(system->timer);
    free(system->list);
    free(system->text);
    free(system);
}

static int start_timer(struct system *system)
{
    const struct timespec every = {.tv_sec = (time_t)(system->interval / 1000000000),
                                   .tv_nsec = (long)(system->interval % 1000000000)};
    const struct itimerspec timer = {every, every};

    system->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return system->timer < 0 || timerfd_settime(system->timer, 0, &timer, NULL) < 0 ? -errno : 0;
}

int collector_system_new(const char *machine, uint64_t interval, struct collector *ret_collector,
                         struct problem *problem)
{
    struct system *system = calloc(1, sizeof(*system));
    long ticks = sysconf(_SC_CLK_TCK);

    if (system == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for figures");
    system->interval = interval;
    system->tick = 1000000000u / (uint64_t)(ticks > 0 ? ticks : 100);
    system->text = malloc(TEXT_MOST);
    snprintf(system->machine, sizeof(system->machine), "%s", machine);
    int result = start_timer(system);
    if (system->text == NULL || result < 0) {
        free_system(system);
        return problem_set(problem, result < 0 ? result : -ENOMEM, "cannot collect figures: %s",
                           strerror(result < 0 ? -result : ENOMEM));
    }
    *ret_collector = (struct collector){.self = system,
                                        .listen = listen_for,
                                        .has = has,
                                        .open = open_collection,
                                        .close = close_collection,
                                        .turn = turn,
                                        .read = read_values,
                                        .refilter = refilter,
                                        .descriptor = descriptor,
                                        .work = work,
                                        .count = count,
                                        .free = free_system};
    return 0;
}
