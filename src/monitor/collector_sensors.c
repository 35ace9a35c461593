/* SPDX-License-Identifier: MIT */
/*
 * collector_sensors.c: values of attributes, with the sensors and probes of sensor.h.
 *
 *      object with AT "enqueue", "dequeue":   a sensor at each, for all values
 *      object without:                        a sensor for each variable, which reports stores to it
 *      in both cases:                         a probe for each value, for the first one and samples
 */
#include "monitor/collector.h"

#include "event/event.h"
#include "sensor/sensor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A running program, for all collections of its process. */
struct program {
    struct sensor_program *opened;
    pid_t pid;
    unsigned used;
};

struct collection {
    struct collect_wish wish;
    bool sensor_passes; /* its conditions cannot be evaluated by its sensors */
    collect_values *values;
    void *context;
    struct program *program;
    struct sensor *sensors[VIEW_REFERENCES_MOST];
    size_t sensor_count;
    struct {
        uint32_t reference; /* of the view */
        const struct view_attribute *attribute;
        struct sensor_probe *probe; /* NULL: cannot be read, only sensed */
    } list[SENSOR_VALUES_MOST];
    size_t count;
};

struct sensing {
    collect_ended *ended;
    collect_begun *begun;
    void *ended_context;
    struct sensors *sensors; /* NULL: not possible here, see `problem` */
    struct problem problem;
    struct program **programs;
    size_t program_count, program_capacity;
    struct sensed {
        struct collection *collection;
        const struct sensor *sensor;
        uint64_t lost; /* records, up to now */
    } by_number[SENSORS_MOST];
    struct sensor_counts closed; /* of sensors that are gone */
};

/* Whether pids here are those of the kernel: not in a container. */
static bool has_own_pids(void)
{
    struct stat own;

    return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == INITIAL_PID_NAMESPACE;
}

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    struct sensing *sensing = self;

    sensing->begun = begun;
    if (begun != NULL && sensing->sensors != NULL && has_own_pids())
        (void)sensors_tell_beginnings(sensing->sensors, NULL); /* else processes are found later */
    sensing->ended = ended;
    sensing->ended_context = context;
}

static bool has(void *self, const struct view_file *file, const struct view_entity *entity)
{
    (void)self;
    for (size_t i = 0; i < file->object_count; i++)
        if (view_same_name(file->objects[i].name, entity->object))
            return true;
    return false;
}

/* ---- programs ---- */

/* Whether it is still what was opened; libraries that it has loaded since are read. */
static bool is_current(struct sensor_program *program)
{
    int state = sensor_program_state(program, NULL);

    return state == 0 || (state > 0 && sensor_program_refresh(program, NULL) == 0);
}

static int open_program(struct sensing *sensing, pid_t pid, struct program **ret_program,
                        struct problem *problem)
{
    for (size_t i = 0; i < sensing->program_count; i++)
        if (sensing->programs[i]->pid == pid && is_current(sensing->programs[i]->opened)) {
            sensing->programs[i]->used++;
            *ret_program = sensing->programs[i];
            return 0;
        }
    struct program *program = calloc(1, sizeof(*program));
    if (program == NULL || array_reserve(&sensing->programs, &sensing->program_capacity,
                                         sensing->program_count + 1, sizeof(program)) < 0) {
        free(program);
        return problem_set(problem, -ENOMEM, "out of memory for a program");
    }
    int result = sensor_program_open(pid, &program->opened, problem);
    if (result < 0) {
        free(program);
        return result;
    }
    program->pid = pid;
    program->used = 1;
    sensing->programs[sensing->program_count++] = program;
    *ret_program = program;
    return 0;
}

static void release_program(struct sensing *sensing, struct program *program)
{
    if (program == NULL || --program->used > 0)
        return;
    for (size_t i = 0; i < sensing->program_count; i++)
        if (sensing->programs[i] == program)
            sensing->programs[i] = sensing->programs[--sensing->program_count];
    sensor_program_close(program->opened);
    free(program);
}

/* ---- collections ---- */

static const struct view_object *object_of(const struct collect_wish *wish)
{
    const char *name = wish->conditions->view->entities[wish->entity].object;

    for (size_t i = 0; i < wish->file->object_count; i++)
        if (view_same_name(wish->file->objects[i].name, name))
            return &wish->file->objects[i];
    return NULL;
}

static const struct view_attribute *attribute_of(const struct view_object *object, const char *name)
{
    for (size_t i = 0; i < object->attribute_count; i++)
        if (view_same_name(object->attributes[i].name, name))
            return &object->attributes[i];
    return NULL;
}

/* The attributes of the instance that the view speaks of. */
static int list_values(struct collection *collection, struct problem *problem)
{
    const struct view *view = collection->wish.conditions->view;
    const struct view_object *object = object_of(&collection->wish);

    for (uint32_t i = 0; i < view->reference_count; i++) {
        if (view->references[i].entity != collection->wish.entity)
            continue;
        if (collection->count == SENSOR_VALUES_MOST)
            return problem_set(problem, -E2BIG,
                               "a view can have at most %d attributes of one "
                               "instance",
                               SENSOR_VALUES_MOST);
        collection->list[collection->count].reference = i;
        collection->list[collection->count].attribute =
            attribute_of(object, view->references[i].attribute);
        if (collection->list[collection->count++].attribute == NULL)
            return problem_set(problem, -EINVAL, "%s has no attribute %s", object->name,
                               view->references[i].attribute);
    }
    return 0;
}

static struct sensor_source source_of(const struct collection *collection, size_t value)
{
    const struct view_attribute *attribute = collection->list[value].attribute;

    return (struct sensor_source){collection->wish.file_name, attribute->line, attribute->column};
}

/* Values that exist only at a place, such as arguments, have no probe. */
static int make_probes(struct collection *collection, bool has_places, struct problem *problem)
{
    for (size_t i = 0; i < collection->count; i++) {
        const struct sensor_source source = source_of(collection, i);
        int result =
            sensor_probe_new(collection->program->opened, collection->list[i].attribute->body,
                             &source, &collection->list[i].probe, problem);
        if (result < 0 && !(has_places && (result == -ENOENT || result == -EINVAL)))
            return result;
    }
    return 0;
}

static void count_closed(struct sensor_counts *sum, const struct sensor *sensor)
{
    struct sensor_counts counts;

    sensor_counts_read(sensor, &counts);
    sum->hits += counts.hits;
    sum->passed += counts.passed;
    sum->refused += counts.refused;
    sum->lost += counts.lost;
}

static void remove_sensors(struct sensing *sensing, struct collection *collection)
{
    for (size_t i = 0; i < collection->sensor_count; i++) {
        count_closed(&sensing->closed, collection->sensors[i]);
        sensing->by_number[sensor_number(collection->sensors[i])] = (struct sensed){0};
        sensor_remove(collection->sensors[i]);
    }
    collection->sensor_count = 0;
}

/* Where value `first` + i of a sensor stands in the collection's list: the variable that is sensed comes first. */
static size_t value_at(const struct collection *collection, size_t first, size_t i)
{
    return (first + i) % collection->count;
}

static int add_sensor(struct sensing *sensing, struct collection *collection, const char *place,
                      size_t first, struct problem *problem)
{
    const char *values[SENSOR_VALUES_MOST];
    struct sensor_source sources[SENSOR_VALUES_MOST];
    struct sensor *sensor = NULL;
    const struct sensor_wish wish = {.program = collection->program->opened,
                                     .place = place,
                                     .values = values,
                                     .sources = sources,
                                     .value_count = collection->count,
                                     .collection = SENSOR_TRACED,
                                     .changes_only = true,
                                     .notify = collection->wish.prompt};

    for (size_t i = 0; i < collection->count; i++) {
        size_t at = value_at(collection, first, i);
        values[i] = collection->list[at].attribute->body;
        sources[i] = source_of(collection, at);
    }
    int result = sensor_add(sensing->sensors, &wish, &sensor, problem);
    if (result < 0)
        return result;
    collection->sensors[collection->sensor_count++] = sensor;
    sensing->by_number[sensor_number(sensor)] = (struct sensed){collection, sensor, 0};
    return 0;
}

static int add_sensors(struct sensing *sensing, struct collection *collection,
                       struct problem *problem)
{
    const struct view_object *object = object_of(&collection->wish);
    int result = 0;

    if (sensing->sensors == NULL) {
        *problem = sensing->problem;
        return -EPERM;
    }
    for (size_t i = 0; i < object->place_count && result == 0; i++)
        result = add_sensor(sensing, collection, object->places[i].text, 0, problem);
    for (size_t i = 0; object->place_count == 0 && i < collection->count && result == 0; i++)
        result = add_sensor(sensing, collection, NULL, i, problem);
    if (result < 0)
        remove_sensors(sensing, collection);
    return result;
}

/* Several sensors would each remember their own last verdict, and none could know which value is the first one that is
 * false again. */
static int set_condition(struct collection *collection, struct problem *problem)
{
    uint32_t value_of[VIEW_REFERENCES_MOST] = {0};

    if (collection->sensor_count != 1)
        return problem_set(problem, -ENOTSUP, "several places");
    for (size_t i = 0; i < collection->count; i++)
        value_of[collection->list[i].reference] = (uint32_t)i;
    int result = sensor_condition(collection->sensors[0], collection->wish.conditions,
                                  collection->wish.entity, value_of, problem);
    if (result == 0)
        sensor_pass_next(collection->sensors[0]);
    return result;
}

static void close_collection(void *self, struct collection *collection)
{
    remove_sensors(self, collection);
    for (size_t i = 0; i < collection->count; i++)
        sensor_probe_free(collection->list[i].probe);
    release_program(self, collection->program);
    free(collection);
}

/* What the view compares its values with must be of their kind. */
static int check_kinds(const struct collection *collection, struct problem *problem)
{
    const struct view *view = collection->wish.conditions->view;

    for (size_t i = 0; i < collection->count; i++) {
        const struct view_reference *reference = &view->references[collection->list[i].reference];
        if (collection->list[i].probe == NULL)
            continue;
        const char *type = sensor_probe_type(collection->list[i].probe);
        bool is_text = sensor_probe_is_text(collection->list[i].probe);
        const struct view_expression *other = view_mismatch(
            view, (uint32_t)collection->list[i].reference, is_text ? VIEW_IS_TEXT : VIEW_IS_NUMBER);
        if (other != NULL)
            return problem_set(
                problem, -EINVAL, "%s:%u:%u: %s is a %s (%s): it cannot be compared with a %s",
                collection->wish.file_name, other->line, other->column, reference->attribute,
                is_text ? "text" : "number", type, is_text ? "number" : "text");
    }
    return 0;
}

static int fill(struct sensing *sensing, struct collection *collection,
                struct collected_how *ret_how, struct problem *problem)
{
    bool has_places = object_of(&collection->wish)->place_count > 0;
    struct problem why = {""};
    int result = open_program(sensing, collection->wish.pid, &collection->program, problem);

    if (result == 0)
        result = list_values(collection, problem);
    if (result == 0)
        result = make_probes(collection, has_places, problem);
    if (result == 0)
        result = check_kinds(collection, problem);
    if (result < 0)
        return result;
    if (collection->wish.traced) {
        ret_how->traced = add_sensors(sensing, collection, &why) == 0;
        snprintf(ret_how->why, sizeof(ret_how->why), "%.255s", why.text);
    }
    for (size_t i = 0; i < collection->count && !ret_how->traced; i++)
        if (collection->list[i].probe == NULL)
            return problem_set(problem, -ENOTSUP, "%s", why.text);
    ret_how->filtered =
        ret_how->traced && collection->wish.filter && set_condition(collection, &why) == 0;
    collection->sensor_passes =
        collection->sensor_count > 1 || (collection->wish.filter && !ret_how->filtered);
    return 0;
}

static int open_collection(void *self, const struct collect_wish *wish, collect_values *values,
                           void *context, struct collection **ret_collection,
                           struct collected_how *ret_how, struct problem *problem)
{
    struct collection *collection = calloc(1, sizeof(*collection));
    struct collected_how how = {0};

    if (collection == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for sensors");
    *collection = (struct collection){.wish = *wish, .values = values, .context = context};
    int result = fill(self, collection, &how, problem);
    if (result < 0) {
        close_collection(self, collection);
        return result;
    }
    *ret_collection = collection;
    *ret_how = how;
    return 0;
}

static int turn(void *self, struct collection *collection, bool on, struct problem *problem)
{
    int result = 0;

    (void)self;
    for (size_t i = 0; i < collection->sensor_count && result == 0; i++) {
        sensor_pass_next(collection->sensors[i]);
        result = sensor_switch(collection->sensors[i], on, problem);
    }
    return result;
}

static int refilter(void *self, struct collection *collection, struct problem *problem)
{
    (void)self;
    return set_condition(collection, problem);
}

/* ---- values ---- */

static int read_values(void *self, struct collection *collection)
{
    struct sensing *sensing = self;
    struct sensor_value read[SENSOR_VALUES_MOST];
    struct view_value values[VIEW_REFERENCES_MOST] = {{0}};
    uint64_t time = 0;

    for (size_t i = 0; i < collection->count; i++) {
        if (collection->list[i].probe == NULL)
            return -ENOTSUP;
        int result = sensor_probe_read(collection->list[i].probe, &read[i], &time, NULL);
        if (result < 0) {
            sensing->ended(sensing->ended_context, collection->wish.pid);
            return result;
        }
        values[collection->list[i].reference] = sensor_value_of_view(&read[i]);
    }
    collection->values(collection->context, time, values);
    return 0;
}

static void take_values(const struct sensing *sensing, const struct sensor_record *record)
{
    const struct sensed *sensed = &sensing->by_number[record->sensor];
    struct view_value values[VIEW_REFERENCES_MOST] = {{0}};
    size_t first = 0;

    if (sensed->collection == NULL)
        return;
    if (object_of(&sensed->collection->wish)->place_count == 0)
        while (sensed->collection->sensors[first] != sensed->sensor)
            first++;
    for (size_t i = 0; i < record->value_count; i++) {
        size_t at = value_at(sensed->collection, first, i);
        values[sensed->collection->list[at].reference] = sensor_value_of_view(&record->values[i]);
    }
    sensed->collection->values(sensed->collection->context, record->time, values);
}

static int descriptor(void *self)
{
    const struct sensing *sensing = self;

    return sensing->sensors == NULL ? -1 : sensors_descriptor(sensing->sensors);
}

/* What the full ring has lost may have been the latest values: without a read they would stay unknown to the monitor until
 * the program reaches the place again. */
static void read_lost(struct sensing *sensing)
{
    for (size_t i = 0; i < SENSORS_MOST; i++) {
        struct sensed *sensed = &sensing->by_number[i];
        struct sensor_counts counts;
        if (sensed->sensor == NULL)
            continue;
        sensor_counts_read(sensed->sensor, &counts);
        if (counts.lost == sensed->lost)
            continue;
        sensed->lost = counts.lost;
        read_values(sensing, sensed->collection);
    }
}

#define WORK_MOST 10000 /* records at a time: other work must go on */

static bool work(void *self)
{
    struct sensing *sensing = self;
    struct sensor_record record;
    int i;

    for (i = 0;
         sensing->sensors != NULL && i < WORK_MOST && sensors_next(sensing->sensors, &record) > 0;
         i++) {
        if (record.command == SENSOR_NEW_VAL)
            take_values(sensing, &record);
        else if (record.command == SENSOR_BEGUN)
            sensing->begun(sensing->ended_context, record.pid, record.values[0].text, record.time);
        else
            sensing->ended(sensing->ended_context, record.pid);
    }
    if (i < WORK_MOST)
        read_lost(sensing);
    return i == WORK_MOST;
}

static bool counted(void *self, const struct collection *collection,
                    struct collected_counts *ret_counts)
{
    struct sensor_counts sum = {0};

    (void)self;
    for (size_t i = 0; i < collection->sensor_count; i++)
        count_closed(&sum, collection->sensors[i]);
    *ret_counts = (struct collected_counts){.changes = sum.passed + sum.refused + sum.lost,
                                            .records = sum.passed,
                                            .lost = sum.lost,
                                            .sensor_passes = collection->sensor_passes};
    return collection->sensor_count > 0;
}

static void count(void *self, struct monitor_counts *counts)
{
    const struct sensing *sensing = self;
    struct sensor_counts sum = sensing->closed;

    for (size_t i = 0; i < SENSORS_MOST; i++)
        if (sensing->by_number[i].sensor != NULL)
            count_closed(&sum, sensing->by_number[i].sensor);
    counts->hits += sum.hits;
    counts->records += sum.passed;
    counts->refused += sum.refused;
    counts->lost += sum.lost;
}

static void free_sensing(void *self)
{
    struct sensing *sensing = self;

    sensors_close(sensing->sensors);
    free(sensing->programs);
    free(sensing);
}

int collector_sensors_new(struct collector *ret_collector, struct problem *problem)
{
    struct sensing *sensing = calloc(1, sizeof(*sensing));

    if (sensing == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for sensors");
    if (sensors_open(0, &sensing->sensors, &sensing->problem) < 0)
        sensing->sensors = NULL; /* values can still be read */
    *ret_collector = (struct collector){.self = sensing,
                                        .listen = listen_for,
                                        .has = has,
                                        .open = open_collection,
                                        .close = close_collection,
                                        .turn = turn,
                                        .read = read_values,
                                        .refilter = refilter,
                                        .descriptor = descriptor,
                                        .work = work,
                                        .counted = counted,
                                        .count = count,
                                        .free = free_sensing};
    return 0;
}
