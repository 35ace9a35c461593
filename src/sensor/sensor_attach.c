/* SPDX-License-Identifier: MIT */
/*
 * sensor_attach.c: sensors on and off. A sensor that is off is not attached, so it costs the program nothing.
 *
 *      a place in the code    uprobe, for this process only; the kernel keeps a breakpoint there
 *          ... of a file      uprobe, for all processes that map the file; the kernel program leaves out those that execute another
 *      a variable             hardware watchpoint, for each thread; threads that are created later inherit it
 */
#include "sensor/sensors_private.h"

#include "sensor.skel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- places in the code ---- */

static int attach_place(struct sensor *sensor, struct sensor_place *place, struct problem *problem)
{
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = (uint64_t)place->slot,
                .ref_ctr_offset = place->place.semaphore, .retprobe = place->place.is_return);
    char path[64];
    bool by_file = sensor->program->pid == 0;
    int file = by_file ? fcntl(sensor->program->file, F_DUPFD_CLOEXEC, 0)
                       : program_open_file(sensor->program, place->place.address);

    if (file < 0)
        return problem_set(problem, -ENOENT,
                           "%s: the file of '%s' that it executes cannot be opened any more",
                           sensor->program->what, program_module_name(place->place.module));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    place->link = bpf_program__attach_uprobe_opts(sensor->sensors->bpf->progs.sensor_at_place,
                                                  by_file ? -1 : sensor->program->pid, path,
                                                  place->place.offset, &options);
    int error = errno;
    close(file);
    if (place->link != NULL)
        return 0;
    if (error == EPERM || error == EACCES)
        return problem_set(problem, -EPERM, "the kernel refuses a uprobe in %s; run dpm as root",
                           sensor->program->what);
    if (error == EINVAL)
        return problem_set(problem, -error,
                           "%s: the kernel refuses a sensor in '%s': perhaps a function and a "
                           "USDT probe begin at the same instruction, and only one can be sensed",
                           sensor->program->what, program_module_name(place->place.module));
    return problem_set(problem, -error, "%s: cannot place a sensor in '%s': %s",
                       sensor->program->what, program_module_name(place->place.module),
                       strerror(error));
}

/* ---- variables ---- */

/* A virtual machine may accept watchpoints and never report one. So one is tried, on a variable of our own. */
static bool watchpoints_work(void)
{
    static volatile uint64_t tried;
    struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
                                         .size = sizeof(attributes),
                                         .bp_type = HW_BREAKPOINT_W,
                                         .bp_addr = (uintptr_t)&tried,
                                         .bp_len = sizeof(tried),
                                         .sample_period = 1};
    uint64_t count = 0;
    int event = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

    if (event < 0)
        return true; /* the real attempt says why */
    tried = 1;
    bool counted = read(event, &count, sizeof(count)) == sizeof(count) && count > 0;
    close(event);
    return counted;
}

static int take_watch(struct sensor *sensor, struct problem *problem)
{
    struct sensor_bpf__bss *bss = sensor->sensors->bpf->bss;

    for (int i = 0; i < SENSOR_WATCHED; i++) {
        if (bss->watches[i].used)
            continue;
        bss->watches[i].address = sensor->address;
        bss->watches[i].stack = sensor->program->stack;
        bss->watches[i].code = (uint32_t)sensor->places[0].slot;
        __atomic_store_n(&bss->watches[i].used, 1, __ATOMIC_RELEASE);
        sensor->watch = i;
        return 0;
    }
    return problem_set(problem, -ENOSPC, "more than %d variables are watched", SENSOR_WATCHED);
}

static int attach_thread(struct sensor *sensor, pid_t thread, struct problem *problem)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
                                         .size = sizeof(attributes),
                                         .bp_type = HW_BREAKPOINT_W,
                                         .bp_addr = sensor->address,
                                         .bp_len = sensor->size,
                                         .sample_period = 1,
                                         .inherit = 1,
                                         .inherit_thread = 1};

    if (array_reserve(&sensor->threads, &sensor->thread_capacity, sensor->thread_count + 1,
                      sizeof(struct bpf_link *)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    int event =
        (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0 && errno == ESRCH)
        return 0; /* it has ended */
    if (event < 0)
        return problem_set(
            problem, -errno, "%s: cannot watch a variable: %s", sensor->program->what,
            errno == ENOSPC ? "all 4 watchpoints of the processor are in use" : strerror(errno));
    struct bpf_link *link =
        bpf_program__attach_perf_event(sensor->sensors->bpf->progs.sensor_at_variable, event);
    if (link == NULL) {
        int error = errno;
        close(event);
        return problem_set(problem, -error, "%s: cannot watch a variable: %s",
                           sensor->program->what, strerror(error));
    }
    sensor->threads[sensor->thread_count++] = link;
    return 0;
}

struct threads {
    pid_t *list;
    size_t count, capacity;
};

/* Adds the threads that are not in the list. Returns how many, or a negative errno. */
static int find_threads(pid_t pid, struct threads *threads)
{
    char path[64];
    struct dirent *entry;
    int added = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return -ESRCH;
    while ((entry = readdir(folder)) != NULL) {
        pid_t thread = atoi(entry->d_name);
        bool known = thread == 0;
        for (size_t i = 0; i < threads->count && !known; i++)
            known = threads->list[i] == thread;
        if (known)
            continue;
        if (array_reserve(&threads->list, &threads->capacity, threads->count + 1,
                          sizeof(*threads->list)) < 0) {
            added = -ENOMEM;
            break;
        }
        threads->list[threads->count++] = thread;
        added++;
    }
    closedir(folder);
    return added;
}

/* Threads that appear meanwhile were created by one without watchpoint: so until there are none. */
static int attach_variable(struct sensor *sensor, struct problem *problem)
{
    struct threads threads = {0};
    size_t done = 0;
    int found,
        result = watchpoints_work()
                     ? take_watch(sensor, problem)
                     : problem_set(problem, -ENOTSUP,
                                   "hardware watchpoints do not work on this machine (a virtual "
                                   "one?); give a place in the code");

    while (result == 0 && (found = find_threads(sensor->program->pid, &threads)) != 0) {
        if (found < 0)
            result = problem_set(problem, found, "%s has ended", sensor->program->what);
        for (; result == 0 && done < threads.count; done++)
            result = attach_thread(sensor, threads.list[done], problem);
    }
    free(threads.list);
    return result;
}

/* ---- on and off ---- */

/* What the sensor compares with: a variable has changed if it is not what it was before it was watched. */
static void note_value(struct sensor *sensor)
{
    uint64_t value = 0;
    const struct sensor_step *load = &sensor->places[0].code->steps[1];
    struct sensor_memory *memory = &sensor->state->memory;

    sensor->state->turn++;
    memory->has_last = 0;
    if (!sensor->watches || sensor->value_count > 1 ||
        !program_memory(sensor->program, sensor->address, &value, sensor->size))
        return;
    memory->last[0] = sensor_extend(value, sensor->size * 8u, load->is_signed);
    memory->last_known = 1;
    memory->has_last = 1;
}

int sensor_attach(struct sensor *sensor, struct problem *problem)
{
    int result = program_check(sensor->program, problem);

    if (result < 0)
        return result;
    note_value(sensor);
    __atomic_store_n(&sensor->state->on, 1, __ATOMIC_RELEASE);
    result = sensor->watches ? attach_variable(sensor, problem) : 0;
    for (size_t i = 0; result == 0 && !sensor->watches && i < sensor->place_count; i++)
        result = attach_place(sensor, &sensor->places[i], problem);
    /* the process may have executed another program meanwhile */
    if (result == 0)
        result = program_check(sensor->program, problem);
    if (result < 0)
        sensor_detach(sensor);
    return result;
}

void sensor_detach(struct sensor *sensor)
{
    if (!sensor->state->on)
        return;
    __atomic_store_n(&sensor->state->on, 0, __ATOMIC_RELEASE);
    for (size_t i = 0; i < sensor->place_count; i++) {
        bpf_link__destroy(sensor->places[i].link);
        sensor->places[i].link = NULL;
    }
    for (size_t i = 0; i < sensor->thread_count; i++)
        bpf_link__destroy(sensor->threads[i]);
    sensor->thread_count = 0;
    if (sensor->watch >= 0)
        sensor->sensors->bpf->bss->watches[sensor->watch].used = 0;
    sensor->watch = -1;
    sensor_settle(sensor);
}

int sensor_switch(struct sensor *sensor, bool on, struct problem *problem)
{
    if (on && !sensor->state->on)
        return sensor_attach(sensor, problem);
    if (!on)
        sensor_detach(sensor);
    return 0;
}
