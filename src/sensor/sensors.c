/* SPDX-License-Identifier: MIT */
/* sensors.c: the kernel programs, their ring and tables, and records. See sensor.h. */
#include "sensor/sensor_values.h"
#include "sensor/sensors_private.h"

#include "base/process.h"
#include "event/event.h"

#include "sensor.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 16         /* of a process, with its 0 */
#define LOOK_EVERY 200000000u /* ns between two looks at what programs execute */

/* ---- loading ---- */

/* libbpf reports errors on standard error, but libraries must not print. DPM_DEBUG=1 shows them. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
    return level == LIBBPF_DEBUG || getenv("DPM_DEBUG") == NULL
               ? 0
               : vfprintf(stderr, format, arguments);
}

static int take_event(void *context, void *data, size_t size)
{
    struct sensors *sensors = context;

    if (size < sizeof(sensors->event.record))
        return 0;
    memcpy(&sensors->event, data, size < sizeof(sensors->event) ? size : sizeof(sensors->event));
    sensors->has_event = true;
    return -EINTR; /* one at a time: the ring counts it as read */
}

static int cannot_load(int error, struct problem *problem)
{
    if (error == -EPERM || error == -EACCES)
        return problem_set(problem, -EPERM, "sensors need CAP_BPF and CAP_PERFMON%s",
                           privilege_advice());
    return problem_set(
        problem, error,
        "the kernel does not load the programs of sensors, which need Linux 6.1: %s; "
        "DPM_DEBUG=1 shows its reasons",
        strerror(-error));
}

static int load(struct sensors *sensors, uint32_t ring_size, struct problem *problem)
{
    libbpf_set_print(print_libbpf);
    sensors->bpf = sensor_bpf__open();
    if (sensors->bpf == NULL)
        return cannot_load(-errno, problem);
    if (ring_size != 0 && bpf_map__set_max_entries(sensors->bpf->maps.ring, ring_size) < 0)
        return problem_set(problem, -EINVAL, "a ring of %u bytes is not possible", ring_size);
    int result = sensor_bpf__load(sensors->bpf);
    if (result < 0)
        return cannot_load(result, problem);
    sensors->ring =
        ring_buffer__new(bpf_map__fd(sensors->bpf->maps.ring), take_event, sensors, NULL);
    sensors->waiting = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (sensors->ring == NULL || sensors->waiting < 0 ||
        epoll_ctl(sensors->waiting, EPOLL_CTL_ADD, bpf_map__fd(sensors->bpf->maps.ring), &event) <
            0)
        return problem_set(problem, -errno, "cannot read the ring of sensors: %s", strerror(errno));
    return 0;
}

int sensors_open(uint32_t ring_size, struct sensors **ret_sensors, struct problem *problem)
{
    struct sensors *sensors = calloc(1, sizeof(*sensors));

    if (sensors == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    sensors->waiting = -1;
    int result = load(sensors, ring_size, problem);
    if (result < 0)
        sensors_close(sensors);
    else
        *ret_sensors = sensors;
    return result;
}

void sensors_close(struct sensors *sensors)
{
    if (sensors == NULL)
        return;
    for (size_t i = 0; i < SENSORS_MOST; i++)
        sensor_remove(sensors->list[i]);
    ring_buffer__free(sensors->ring);
    if (sensors->waiting >= 0)
        close(sensors->waiting);
    for (size_t i = 0; i < ARRAY_SIZE(sensors->beginnings); i++)
        bpf_link__destroy(sensors->beginnings[i]);
    for (size_t i = 0; i < ARRAY_SIZE(sensors->family); i++)
        bpf_link__destroy(sensors->family[i]);
    sensor_bpf__destroy(sensors->bpf);
    free(sensors->programs);
    free(sensors);
}

int sensors_tell_beginnings(struct sensors *sensors, struct problem *problem)
{
    const struct bpf_program *programs[] = {sensors->bpf->progs.program_begins,
                                            sensors->bpf->progs.process_begins};

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        sensors->beginnings[i] = bpf_program__attach(programs[i]);
        if (sensors->beginnings[i] == NULL)
            return problem_set(problem, -errno,
                               "the kernel does not tell which processes begin: %s",
                               strerror(errno));
    }
    return 0;
}

/* Puts into the family what descends from it and is not there yet. A process that is in the family follows its children itself. */
struct descendants {
    int map;
    size_t added;
};

static int add_descendant(pid_t pid, void *context)
{
    struct descendants *descendants = context;
    uint32_t child = (uint32_t)pid, parent = (uint32_t)process_stat_number(pid, PROCESS_PARENT);
    uint32_t one;

    if (parent != 0 && bpf_map_lookup_elem(descendants->map, &parent, &one) == 0 &&
        bpf_map_lookup_elem(descendants->map, &child, &one) != 0) {
        one = 1;
        descendants->added += bpf_map_update_elem(descendants->map, &child, &one, BPF_ANY) == 0;
    }
    return 0;
}

int sensors_follow(struct sensors *sensors, pid_t pid, struct problem *problem)
{
    const struct bpf_program *programs[] = {sensors->bpf->progs.family_grows,
                                            sensors->bpf->progs.family_shrinks};
    struct descendants descendants = {.map = bpf_map__fd(sensors->bpf->maps.family)};
    uint32_t root = (uint32_t)pid, one = 1;
    struct stat own;

    if (stat("/proc/self/ns/pid", &own) != 0 || own.st_ino != INITIAL_PID_NAMESPACE)
        return problem_set(problem, -ENOTSUP,
                           "descendants are followed only where process ids are those of the "
                           "machine, not in a container");
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        sensors->family[i] = bpf_program__attach(programs[i]);
        if (sensors->family[i] == NULL)
            return problem_set(problem, -errno,
                               "the kernel does not tell which processes begin: %s",
                               strerror(errno));
    }
    int result = bpf_map_update_elem(descendants.map, &root, &one, BPF_ANY);
    do {
        descendants.added = 0;
        if (result == 0)
            result = process_each(add_descendant, &descendants, problem);
    } while (result == 0 && descendants.added > 0);
    return result < 0 ? problem_set(problem, result, "process %d cannot be followed: %s", pid,
                                    strerror(-result))
                      : 0;
}

void sensor_mute(struct sensor *sensor, pid_t pid, bool muted)
{
    int map = bpf_map__fd(sensor->sensors->bpf->maps.memories);
    struct sensor_process process, next;
    struct sensor_memory memory;
    int result = bpf_map_get_next_key(map, NULL, &next);

    while (result == 0) {
        process = next;
        if (process.sensor == sensor->number && process.pid == (uint32_t)pid &&
            bpf_map_lookup_elem(map, &process, &memory) == 0 && memory.muted != muted) {
            memory = (struct sensor_memory){
                .was_true = SENSOR_UNTOLD, .turn = memory.turn, .muted = muted};
            bpf_map_update_elem(map, &process, &memory, BPF_EXIST);
        }
        result = bpf_map_get_next_key(map, &process, &next);
    }
}

uint64_t sensors_not_followed(const struct sensors *sensors)
{
    return *(const volatile uint64_t *)&sensors->bpf->bss->family_lost;
}

uint64_t sensors_lost_beginnings(const struct sensors *sensors)
{
    return *(const volatile uint64_t *)&sensors->bpf->bss->beginnings_lost;
}

int sensors_descriptor(const struct sensors *sensors)
{
    return sensors->waiting;
}

/* ---- codes ---- */

static int put_map(struct sensors *sensors, int slot, const struct sensor_code *code)
{
    uint32_t first = 0, number = (uint32_t)slot;
    int map =
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "sensor_code", sizeof(first), sizeof(*code), 1, NULL);

    if (map < 0)
        return map;
    int result = bpf_map_update_elem(map, &first, code, 0);
    if (result == 0) /* the kernel waits for programs that use the old one */
        result = bpf_map_update_elem(bpf_map__fd(sensors->bpf->maps.codes), &number, &map, BPF_ANY);
    close(map);
    return result;
}

int sensor_put_code(struct sensor *sensor, struct sensor_place *place, struct problem *problem)
{
    int result = put_map(sensor->sensors, place->slot, place->code);

    return result == 0 ? 0
                       : problem_set(problem, result, "cannot hand a sensor to the kernel: %s",
                                     strerror(-result));
}

void sensor_settle(struct sensor *sensor)
{
    if (sensor->place_count > 0) /* the kernel waits when one is replaced, if by the same */
        put_map(sensor->sensors, sensor->places[0].slot, sensor->places[0].code);
}

/* ---- records ---- */

/* The next text of the event, which may be longer than its array. */
static struct sensor_value text_of(const struct sensors *sensors, const struct compiled *compiled,
                                   bool known, size_t *next)
{
    struct sensor_value value = {.kind = SENSOR_UNKNOWN};
    size_t size = SENSOR_TEXT_BYTES - 1;

    if (*next >= SENSOR_TEXTS_MOST)
        return value;
    const char *text = sensors->event.texts[(*next)++];
    if (!known)
        return value;
    if (compiled->text_most > 0 && compiled->text_most < size)
        size = compiled->text_most;
    if (compiled->shape != NULL) {
        value.kind = SENSOR_STRUCT;
        shape_text(compiled->shape, text, value.text, sizeof(value.text));
        return value;
    }
    value.kind = SENSOR_TEXT;
    snprintf(value.text, sizeof(value.text), "%.*s", (int)size, text);
    return value;
}

/* A program that is watched may execute another one: then it is looked at as soon as the ring is empty. */
static void look_at(struct sensors *sensors, pid_t pid)
{
    for (size_t i = 0; i < sensors->program_count; i++)
        if (sensors->programs[i].program->pid == pid)
            sensors->next_look = 0;
}

/* Returns whether the event is a record of a sensor that exists. */
static bool make_record(struct sensors *sensors, struct sensor_record *ret_record)
{
    const struct sensor_event_record *event = &sensors->event.record;
    size_t next = 0;
    if (event->sensor == SENSOR_BEGINS) {
        look_at(sensors, (pid_t)event->pid);
        *ret_record = (struct sensor_record){
            .command = SENSOR_BEGUN, .time = event->time, .pid = (pid_t)event->pid};
        ret_record->values[0].kind = SENSOR_TEXT;
        memcpy(ret_record->values[0].text, event->values, NAME_BYTES);
        for (int i = 0; i < 2; i++)
            ret_record->values[1 + i] = (struct sensor_value){
                .kind = SENSOR_UNSIGNED, .natural = event->values[SENSOR_BEGINS_FILE + i]};
        return true;
    }
    struct sensor *sensor = event->sensor < SENSORS_MOST ? sensors->list[event->sensor] : NULL;

    if (sensor == NULL || event->generation != sensors->generations[event->sensor])
        return false;
    *ret_record = (struct sensor_record){.command = SENSOR_NEW_VAL,
                                         .sensor = event->sensor,
                                         .time = event->time,
                                         .pid = sensor->program->pid != 0 ? sensor->program->pid
                                                                          : (pid_t)event->pid,
                                         .tid = (pid_t)event->tid,
                                         .value_count = (uint32_t)sensor->value_count};
    for (size_t i = 0; i < sensor->value_count; i++) {
        bool known = (event->known >> i & 1) != 0;
        ret_record->values[i] = sensor->values[i].is_text
                                    ? text_of(sensors, &sensor->values[i], known, &next)
                                    : value_of_bits(&sensor->values[i], event->values[i], known);
    }
    return true;
}

/* Looks now and then for programs that have ended, or execute others. Returns whether there is one: its notice. */
static bool find_notice(struct sensors *sensors)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct epoll_event ready;

    /* readable, though the ring is empty: a program has ended */
    if (now < sensors->next_look && epoll_wait(sensors->waiting, &ready, 1, 0) <= 0)
        return false;
    for (size_t i = 0; i < sensors->program_count; i++) {
        struct watched_program *watched = &sensors->programs[i];
        int state = watched->reported ? 0 : program_check(watched->program, NULL);
        if (state == 0)
            continue;
        watched->reported = true;
        epoll_ctl(sensors->waiting, EPOLL_CTL_DEL, watched->program->process, NULL);
        sensors->notice =
            (struct sensor_record){.command = state == -ESRCH ? SENSOR_ENDED : SENSOR_EXECUTED,
                                   .time = now,
                                   .pid = watched->program->pid};
        return true;
    }
    sensors->next_look = now + LOOK_EVERY;
    return false;
}

/* The next record in the ring. Returns 1, 0 or a negative errno. */
static int next_in_ring(struct sensors *sensors, struct sensor_record *ret_record)
{
    for (;;) {
        sensors->has_event = false;
        int result = ring_buffer__consume(sensors->ring);
        if (!sensors->has_event)
            return result < 0 && result != -EINTR ? result : 0;
        if (make_record(sensors, ret_record))
            return 1;
    }
}

int sensors_next(struct sensors *sensors, struct sensor_record *ret_record)
{
    int result = next_in_ring(sensors, ret_record);

    if (result == 0 && sensors->notice.command == 0 && find_notice(sensors))
        result = next_in_ring(sensors, ret_record); /* what it did before it ended comes first */
    if (result != 0 || sensors->notice.command == 0)
        return result;
    *ret_record = sensors->notice;
    sensors->notice = (struct sensor_record){0};
    return 1;
}
