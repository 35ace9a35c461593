/* SPDX-License-Identifier: MIT */
/*
 * collector_sensors.c: values of attributes, with the sensors and probes of sensor.h.
 *
 *      object with AT "enqueue", "dequeue":   a sensor at each, for all values
 *      object without:                        a sensor for each variable, which reports stores to it
 *      in both cases:                         a probe for each value, for the first one and samples
 */
#include "monitor/collector_sensors.h"

#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether pids here are those of the kernel: not in a container. */
bool sensing_has_own_pids(void)
{
    struct stat own;

    return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == INITIAL_PID_NAMESPACE;
}

static void listen_for(void *self, collect_ended *ended, collect_begun *begun, void *context)
{
    struct sensing *sensing = self;

    sensing->begun = begun;
    if (begun != NULL && sensing->sensors != NULL && sensing_has_own_pids())
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

const struct view_object *collection_object(const struct collect_wish *wish)
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

/* The attributes of the instance of which the view speaks. */
int collection_fill_list(struct collection *collection, struct problem *problem)
{
    const struct view *view = collection->wish.conditions->view;
    const struct view_object *object = collection_object(&collection->wish);

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

void collection_remove_sensors(struct sensing *sensing, struct collection *collection)
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

int collection_add_sensors(struct sensing *sensing, struct collection *collection,
                           struct problem *problem)
{
    const struct view_object *object = collection_object(&collection->wish);
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
        collection_remove_sensors(sensing, collection);
    return result;
}

/* Several sensors would each remember their own last verdict, and none could know which value is the first one that is
 * false again. */
static int set_condition(struct collection *collection, struct problem *problem)
{
    uint32_t value_of[VIEW_REFERENCES_MOST] = {0};
    const struct collection *with =
        collection->standing != NULL ? collection->standing : collection;

    if (with->sensor_count != 1)
        return problem_set(problem, -ENOTSUP, "several places");
    for (size_t i = 0; i < collection->count; i++)
        value_of[collection->list[i].reference] = (uint32_t)i;
    int result = sensor_condition(with->sensors[0], collection->wish.conditions,
                                  collection->wish.entity, value_of, problem);
    if (result == 0)
        sensor_pass_next(with->sensors[0]);
    return result;
}

/* One that stands has a condition once all want it: without, more passes than is needed, which the reader sorts out. */
static int set_standing_condition(struct collection *collection, struct problem *problem)
{
    struct collection *standing = collection->standing;

    if (collection->wish.filter && !standing->unfiltered && set_condition(collection, problem) == 0)
        return 0;
    if (!standing->unfiltered && standing->sensor_count == 1)
        (void)sensor_condition(standing->sensors[0], NULL, 0, NULL, NULL);
    standing->unfiltered = true;
    return -ENOTSUP;
}

static void close_collection(void *self, struct collection *collection)
{
    struct sensing *sensing = self;

    collection_remove_sensors(sensing, collection);
    if (collection->standing != NULL)
        standing_leave(collection);
    if (collection->watched)
        sensors_unwatch(sensing->sensors, collection->program->opened);
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

/* The process may have ended already: then what its sensors have seen is all there is. */
static int fill_from_standing(struct sensing *sensing, struct collection *collection,
                              struct collected_how *ret_how, struct problem *problem)
{
    struct collection *standing = collection->standing;
    int result = collection_fill_list(collection, problem);

    if (result < 0)
        return result;
    if (open_program(sensing, collection->wish.pid, &collection->program, NULL) == 0) {
        collection->watched =
            sensors_watch(sensing->sensors, collection->program->opened, NULL) == 0;
        result = make_probes(collection, true, problem);
        if (result == 0)
            result = check_kinds(collection, problem);
        if (result == -EINVAL)
            return result;
    }
    struct collection **chain = &standing->takers[(uint32_t)collection->wish.pid % TAKERS];
    collection->next = *chain;
    *chain = collection;
    ret_how->traced = true;
    ret_how->since = standing->since;
    ret_how->ended = collection->ended = collection->program == NULL;
    ret_how->filtered = set_standing_condition(collection, NULL) == 0;
    for (size_t i = 0; i < standing->sensor_count && sensing->muted; i++)
        sensor_mute(standing->sensors[i], collection->wish.pid, false);
    return 0;
}

static int fill(struct sensing *sensing, struct collection *collection,
                struct collected_how *ret_how, struct problem *problem)
{
    bool has_places = collection_object(&collection->wish)->place_count > 0;
    struct problem why = {""};
    collection->standing = standing_for(sensing, &collection->wish, NULL, NULL);
    if (collection->standing != NULL)
        return fill_from_standing(sensing, collection, ret_how, problem);
    int result = open_program(sensing, collection->wish.pid, &collection->program, problem);

    if (result == 0)
        result = collection_fill_list(collection, problem);
    if (result == 0)
        result = make_probes(collection, has_places, problem);
    if (result == 0)
        result = check_kinds(collection, problem);
    if (result < 0)
        return result;
    if (collection->wish.traced) {
        ret_how->traced = collection_add_sensors(sensing, collection, &why) == 0;
        snprintf(ret_how->why, sizeof(ret_how->why), "%.255s", why.text);
    }
    for (size_t i = 0; i < collection->count && !ret_how->traced; i++)
        if (collection->list[i].probe == NULL)
            return problem_set(problem, -ENOTSUP, "%s", why.text);
    ret_how->filtered =
        ret_how->traced && collection->wish.filter && set_condition(collection, &why) == 0;
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
    const struct collection *with =
        collection->standing != NULL ? collection->standing : collection;
    collection->sensor_passes = with->sensor_count > 1 || (wish->filter && !how.filtered);
    *ret_collection = collection;
    *ret_how = how;
    return 0;
}

static int turn(void *self, struct collection *collection, bool on, struct problem *problem)
{
    int result = 0;

    (void)self;
    collection->starting = on && !collection->on && collection->standing != NULL;
    collection->on = on;
    for (size_t i = 0; i < collection->sensor_count && result == 0; i++) {
        sensor_pass_next(collection->sensors[i]);
        result = sensor_switch(collection->sensors[i], on, problem);
    }
    return result;
}

static int refilter(void *self, struct collection *collection, struct problem *problem)
{
    int result = collection->standing != NULL ? set_standing_condition(collection, problem)
                                              : set_condition(collection, problem);

    (void)self;
    if (result == 0)
        return 0;
    /* its earlier condition would refuse what is true now */
    for (size_t i = 0; i < collection->sensor_count; i++)
        (void)sensor_condition(collection->sensors[i], NULL, 0, NULL, NULL);
    collection->sensor_passes = true;
    return result;
}

/* ---- values ---- */

/* Returns 0, or a negative errno. */
static int read_now(const struct collection *collection, struct sensor_value *read,
                    struct view_value *values, uint64_t *ret_time)
{
    int result = collection->ended ? -ESRCH : 0;

    for (size_t i = 0; i < collection->count && result == 0; i++) {
        result = collection->list[i].probe == NULL
                     ? -ENOTSUP
                     : sensor_probe_read(collection->list[i].probe, &read[i], ret_time, NULL);
        if (result == 0)
            values[collection->list[i].reference] = sensor_value_of_view(&read[i]);
    }
    return result;
}

/* What was read may have held for a moment only, between two hits with the same values. */
static void pass_next(const struct collection *collection)
{
    const struct collection *with =
        collection->standing != NULL ? collection->standing : collection;

    for (size_t i = 0; i < with->sensor_count; i++)
        sensor_pass_next(with->sensors[i]);
}

static int read_values(void *self, struct collection *collection)
{
    struct sensing *sensing = self;
    struct sensor_value read[SENSOR_VALUES_MOST];
    struct view_value values[VIEW_REFERENCES_MOST] = {{0}};
    struct records waiting = {0};
    uint64_t time = UINT64_MAX;
    size_t i = 0;
    int result = read_now(collection, read, values, &time);

    /* what happened before it was read comes before it */
    if (collection->starting)
        standing_take(sensing, collection, &waiting);
    collection->starting = false;
    for (; i < waiting.count && (result < 0 || waiting.list[i].time <= time); i++)
        collection_deliver(collection, NULL, &waiting.list[i]);
    if (result == 0) {
        pass_next(collection);
        collection->values(collection->context, time, values);
    }
    for (; i < waiting.count; i++)
        collection_deliver(collection, NULL, &waiting.list[i]);
    free(waiting.list);
    if (result < 0 && result != -ENOTSUP && !collection->ended)
        sensing->ended(sensing->ended_context, collection->wish.pid);
    return result;
}

static void finish(void *self, struct collection *collection)
{
    struct sensing *sensing = self;
    struct records waiting;

    if (!collection->on || sensing->sensors == NULL)
        return;
    standing_take(sensing, collection, &waiting);
    for (size_t i = 0; i < waiting.count; i++)
        collection_deliver(collection, sensing->by_number[waiting.list[i].sensor].sensor,
                           &waiting.list[i]);
    free(waiting.list);
}

void collection_deliver(const struct collection *collection, const struct sensor *sensor,
                        const struct sensor_record *record)
{
    struct view_value values[VIEW_REFERENCES_MOST] = {{0}};
    size_t first = 0;

    if (collection_object(&collection->wish)->place_count == 0)
        while (collection->sensors[first] != sensor)
            first++;
    for (size_t i = 0; i < record->value_count; i++) {
        size_t at = value_at(collection, first, i);
        values[collection->list[at].reference] = sensor_value_of_view(&record->values[i]);
    }
    collection->values(collection->context, record->time, values);
}

static void take_values(struct sensing *sensing, const struct sensor_record *record)
{
    const struct sensed *sensed = &sensing->by_number[record->sensor];
    const struct collection *collection = sensed->collection;

    if (collection == NULL)
        return;
    if (collection->wish.pid == 0 && (collection = standing_taker(collection, record->pid)) == NULL)
        standing_hold(sensing, record);
    else if (collection->on)
        collection_deliver(collection, sensed->sensor, record);
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
        for (size_t k = 0; k < TAKERS; k++)
            for (struct collection *taker = sensed->collection->takers[k]; taker != NULL;
                 taker = taker->next)
                read_values(sensing, taker);
        if (sensed->collection->wish.pid != 0)
            read_values(sensing, sensed->collection);
    }
}

#define WORK_MOST 10000 /* records at a time: other work must go on */

static void take_beginning(struct sensing *sensing, const struct sensor_record *record)
{
    struct collected_beginning beginning = {
        .pid = record->pid,
        .name = record->values[0].text,
        .file = {(uint32_t)record->values[2].natural, record->values[1].natural},
        .time = record->time};
    const char *program = standing_covers(sensing, &beginning.file, record->time);

    beginning.covered = program != NULL;
    /* /proc/self/exe: it has executed itself */
    if (program != NULL && strcmp(beginning.name, "exe") == 0)
        beginning.name = program;
    sensing->begun(sensing->ended_context, &beginning);
}

static void take_record(struct sensing *sensing, const struct sensor_record *record)
{
    if (record->command == SENSOR_NEW_VAL)
        take_values(sensing, record);
    else if (record->command == SENSOR_BEGUN)
        take_beginning(sensing, record);
    else
        sensing->ended(sensing->ended_context, record->pid);
}

/* What was taken from the ring before its turn. Handing it over may take more. */
static void take_queue(struct sensing *sensing)
{
    struct records queue = sensing->queue;

    sensing->queue = (struct records){0};
    for (size_t i = 0; i < queue.count; i++)
        take_record(sensing, &queue.list[i]);
    free(queue.list);
}

static bool work(void *self)
{
    struct sensing *sensing = self;
    struct sensor_record record;
    int i = 0;

    if (sensing->sensors == NULL)
        return false;
    while (sensing->queue.count > 0)
        take_queue(sensing);
    while (i < WORK_MOST && sensing->queue.count == 0 &&
           sensors_next(sensing->sensors, &record) > 0) {
        take_record(sensing, &record);
        i++;
    }
    standing_expire(sensing);
    if (i < WORK_MOST && sensing->queue.count == 0)
        read_lost(sensing);
    return i == WORK_MOST || sensing->queue.count > 0;
}

static bool has_other_takers(const struct collection *standing, const struct collection *own)
{
    for (size_t i = 0; standing != own && i < TAKERS; i++)
        for (const struct collection *taker = standing->takers[i]; taker != NULL;
             taker = taker->next)
            if (taker != own)
                return true;
    return false;
}

static bool counted(void *self, const struct collection *collection,
                    struct collected_counts *ret_counts)
{
    const struct collection *with =
        collection->standing != NULL ? collection->standing : collection;
    struct sensor_counts sum = {0};

    (void)self;
    for (size_t i = 0; i < with->sensor_count; i++)
        count_closed(&sum, with->sensors[i]);
    *ret_counts = (struct collected_counts){.changes = sum.passed + sum.refused + sum.lost,
                                            .records = sum.passed,
                                            .lost = sum.lost,
                                            .sensor_passes = collection->sensor_passes};
    /* sensors of a file count for all of its processes together */
    return with->sensor_count > 0 && !has_other_takers(with, collection);
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
    counts->lost += sum.lost + sensing->unheld;
    if (sensing->sensors != NULL)
        counts->lost += sensors_lost_beginnings(sensing->sensors);
}

static void free_sensing(void *self)
{
    struct sensing *sensing = self;

    standing_free_all(sensing);
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
                                        .expect = standing_expect,
                                        .holds = standing_holds,
                                        .finish = finish,
                                        .oldest = standing_oldest,
                                        .rest = standing_rest,
                                        .refilter = refilter,
                                        .descriptor = descriptor,
                                        .work = work,
                                        .counted = counted,
                                        .count = count,
                                        .free = free_sensing};
    return 0;
}
