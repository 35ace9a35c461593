/* SPDX-License-Identifier: MIT */
/* sensor_add.c: makes sensors: their places, and the code of each. See sensor.h. */
#include "sensor/sensors_private.h"

#include "sensor.skel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* ---- numbers ---- */

static int take_number(struct sensors *sensors, struct sensor *sensor, struct problem *problem)
{
    for (uint32_t i = 0; i < SENSORS_MOST; i++) {
        if (sensors->list[i] != NULL)
            continue;
        sensor->number = i;
        sensor->state = &sensors->bpf->bss->states[i];
        memset(sensor->state, 0, sizeof(*sensor->state));
        sensor->state->generation = ++sensors->generations[i];
        sensors->list[i] = sensor;
        return 0;
    }
    return problem_set(problem, -ENOSPC, "more than %d sensors; remove one", SENSORS_MOST);
}

static int take_slot(struct sensors *sensors)
{
    for (int i = 0; i < SENSOR_CODES; i++) {
        if (sensors->codes[i])
            continue;
        sensors->codes[i] = true;
        return i;
    }
    return -ENOSPC;
}

/* ---- programs ---- */

static struct watched_program *find_program(struct sensors *sensors,
                                            const struct sensor_program *program)
{
    for (size_t i = 0; i < sensors->program_count; i++)
        if (sensors->programs[i].program == program)
            return &sensors->programs[i];
    return NULL;
}

static int note_program(struct sensors *sensors, struct sensor_program *program,
                        struct problem *problem)
{
    struct watched_program *watched = find_program(sensors, program);
    struct epoll_event event = {.events = EPOLLIN};

    if (program->pid == 0)
        return 0; /* a file does not end */
    if (watched == NULL) {
        if (array_reserve(&sensors->programs, &sensors->program_capacity,
                          sensors->program_count + 1, sizeof(*sensors->programs)) < 0)
            return problem_set(problem, -ENOMEM, "out of memory");
        if (epoll_ctl(sensors->waiting, EPOLL_CTL_ADD, program->process, &event) < 0)
            return problem_set(problem, -errno, "process %d: cannot wait for its end: %s",
                               program->pid, strerror(errno));
        watched = &sensors->programs[sensors->program_count++];
        *watched = (struct watched_program){.program = program};
    }
    watched->sensors++;
    return 0;
}

static void forget_program(struct sensors *sensors, const struct sensor_program *program)
{
    struct watched_program *watched = find_program(sensors, program);

    if (watched == NULL || --watched->sensors > 0)
        return;
    if (!watched->reported)
        epoll_ctl(sensors->waiting, EPOLL_CTL_DEL, program->process, NULL);
    *watched = sensors->programs[--sensors->program_count];
}

int sensors_watch(struct sensors *sensors, struct sensor_program *program, struct problem *problem)
{
    return note_program(sensors, program, problem);
}

void sensors_unwatch(struct sensors *sensors, struct sensor_program *program)
{
    forget_program(sensors, program);
}

/* ---- code ---- */

static int compile_values(struct sensor *sensor, const struct sensor_wish *wish,
                          struct sensor_place *place, struct problem *problem)
{
    const struct place *at = sensor->watches ? NULL : &place->place;
    unsigned texts = 0;

    for (size_t i = 0; i < wish->value_count; i++) {
        int result = compile_expression(wish->program, at, wish->values[i],
                                        wish->sources == NULL ? NULL : &wish->sources[i], true,
                                        (unsigned)i, place->code, &sensor->values[i], problem);
        if (result < 0)
            return result;
        if (sensor->values[i].is_text && ++texts > SENSOR_TEXTS_MOST)
            return problem_set(problem, -ENOTSUP, "a sensor has at most %d texts",
                               SENSOR_TEXTS_MOST);
        if (sensor->values[i].is_text)
            place->code->texts |= 1u << i;
        if (sensor->values[i].shape != NULL) {
            place->code->structs |= 1u << i;
            place->code->sizes[i] = (uint8_t)(shape_size(sensor->values[i].shape) - 1);
        }
    }
    place->code->sensor = sensor->number;
    place->code->values = (uint32_t)wish->value_count;
    place->value_steps = place->code->count;
    return 0;
}

static int add_place(struct sensor *sensor, const struct sensor_wish *wish,
                     const struct place *place, struct problem *problem)
{
    struct sensor_place *added = &sensor->places[sensor->place_count];

    added->slot = take_slot(sensor->sensors);
    if (added->slot < 0)
        return problem_set(problem, -ENOSPC, "sensors at more than %d places; remove one",
                           SENSOR_CODES);
    sensor->place_count++;
    added->code = calloc(1, sizeof(*added->code));
    if (added->code == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    if (place != NULL)
        added->place = *place;
    int result = compile_values(sensor, wish, added, problem);
    return result < 0 ? result : sensor_put_code(sensor, added, problem);
}

/* A variable itself: what its expression reads last, at an address that does not change. */
static int set_watch(struct sensor *sensor, struct problem *problem)
{
    const struct sensor_code *code = sensor->places[0].code;
    const struct sensor_step *steps = code->steps;
    bool variable = code->count >= 3 && steps[0].operation == STEP_CONSTANT &&
                    steps[1].operation == STEP_LOAD && steps[2].operation == STEP_KEEP;

    if (!variable)
        return problem_set(problem, -EINVAL,
                           "a hardware watchpoint needs a variable at a fixed address as the first "
                           "value; else give a place in the code");
    sensor->address = (uint64_t)(steps[0].constant + steps[1].constant);
    sensor->size = steps[1].size;
    if (sensor->address % sensor->size != 0)
        return problem_set(problem, -EINVAL,
                           "the processor watches only variables that are aligned to their size");
    return 0;
}

static int fill(struct sensor *sensor, const struct sensor_wish *wish, struct problem *problem)
{
    struct places *places = NULL;
    int result = program_check(wish->program, problem);

    if (result < 0)
        return result;
    if (sensor->watches && wish->program->pid == 0)
        return problem_set(problem, -ENOTSUP,
                           "a variable itself is watched in one process: give a place in the code, "
                           "or the id of a process");
    if (!sensor->watches) {
        places = calloc(1, sizeof(*places));
        if (places == NULL)
            return problem_set(problem, -ENOMEM, "out of memory");
        result = places_find(wish->program, wish->place, places, problem);
    }
    size_t count = places == NULL ? 1 : places->count;
    sensor->places = calloc(count, sizeof(*sensor->places));
    if (sensor->places == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; result == 0 && i < count; i++)
        result = add_place(sensor, wish, places == NULL ? NULL : &places->list[i], problem);
    free(places);
    return result == 0 && sensor->watches ? set_watch(sensor, problem) : result;
}

int sensor_add(struct sensors *sensors, const struct sensor_wish *wish, struct sensor **ret_sensor,
               struct problem *problem)
{
    if (wish->value_count == 0 || wish->value_count > SENSOR_VALUES_MOST)
        return problem_set(problem, -EINVAL, "a sensor has 1 to %d values", SENSOR_VALUES_MOST);
    struct sensor *sensor = calloc(1, sizeof(*sensor));
    if (sensor == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    *sensor = (struct sensor){.sensors = sensors,
                              .program = wish->program,
                              .value_count = wish->value_count,
                              .watches = wish->place == NULL || wish->place[0] == '\0',
                              .watch = -1};
    int result = take_number(sensors, sensor, problem);
    if (result < 0) {
        free(sensor);
        return result;
    }
    sensor->state->stack = wish->program->stack;
    sensor->state->by_file = wish->program->pid == 0;
    sensor->state->family = wish->family;
    sensor->state->inode = wish->program->inode;
    sensor->state->device = wish->program->device;
    sensor->state->code = wish->program->code;
    sensor->state->changes_only = wish->changes_only || sensor->watches;
    sensor->state->notify = wish->notify;
    if (!wish->notify)
        sensors->bpf->bss->has_messages = 1;
    result = note_program(sensors, wish->program, problem);
    if (result == 0)
        result = fill(sensor, wish, problem);
    if (result < 0)
        sensor_remove(sensor);
    else
        *ret_sensor = sensor;
    return result;
}

void sensor_remove(struct sensor *sensor)
{
    if (sensor == NULL)
        return;
    struct sensors *sensors = sensor->sensors;
    sensor_detach(sensor);
    for (size_t i = 0; i < sensor->place_count; i++) {
        sensors->codes[sensor->places[i].slot] = false;
        free(sensor->places[i].code);
    }
    forget_program(sensors, sensor->program);
    sensors->list[sensor->number] = NULL;
    free(sensor->places);
    free(sensor->threads);
    free(sensor);
}

/* ---- what it is ---- */

uint32_t sensor_number(const struct sensor *sensor)
{
    return sensor->number;
}

void sensor_counts_read(const struct sensor *sensor, struct sensor_counts *ret_counts)
{
    const volatile struct sensor_state *state = sensor->state;

    *ret_counts = (struct sensor_counts){.hits = state->hits,
                                         .passed = state->passed,
                                         .refused = state->refused,
                                         .unchanged = state->unchanged,
                                         .lost = state->lost,
                                         .foreign = state->foreign};
}
