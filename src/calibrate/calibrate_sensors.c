/* SPDX-License-Identifier: MIT */
/*
 * calibrate_sensors.c: what it costs to collect values on this machine: sensors, probes, comparisons. See calibrate.h.
 *
 *      this process  -- how often -->    a child, which calls getppid so often
 *                    <-- CPU time --     with a sensor there, and without: the difference
 *
 * A function of the C library, as that keeps its symbols; and most sensors are at the entry of a function.
 */
#include "calibrate/calibrate.h"

#include "sensor/sensor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS      15
#define HITS        1000 /* of a round */
#define READS       300
#define COMPARISONS 100000

static volatile uint64_t sensed = 1993; /* what probes read; the child has it at the same address */

/* ---- the child ---- */

struct child {
    pid_t pid;
    int end; /* of a pair of sockets */
};

static void run_child(int end)
{
    uint32_t count;

    while (read(end, &count, sizeof(count)) == sizeof(count)) {
        uint64_t begin = clock_now(CLOCK_PROCESS_CPUTIME_ID);
        for (uint32_t i = 0; i < count; i++)
            getppid();
        uint64_t taken = clock_now(CLOCK_PROCESS_CPUTIME_ID) - begin;
        if (write(end, &taken, sizeof(taken)) != sizeof(taken))
            break;
    }
    _exit(0);
}

static int start_child(struct child *child, struct problem *problem)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return problem_set(problem, -errno, "socketpair: %s", strerror(errno));
    child->pid = fork();
    if (child->pid == 0) {
        close(pair[0]);
        run_child(pair[1]);
    }
    int error = child->pid < 0 ? problem_set(problem, -errno, "fork: %s", strerror(errno)) : 0;
    child->end = pair[0];
    close(pair[1]);
    if (error < 0)
        close(pair[0]);
    return error;
}

static void end_child(const struct child *child)
{
    close(child->end);
    waitpid(child->pid, NULL, 0);
}

/* CPU time in ns for one call. */
static int call_often(const struct child *child, double *ret_ns, struct problem *problem)
{
    const uint32_t count = HITS;
    uint64_t taken;

    if (write(child->end, &count, sizeof(count)) != sizeof(count) ||
        read(child->end, &taken, sizeof(taken)) != sizeof(taken))
        return problem_set(problem, -EPIPE, "the process with the sensor has ended");
    *ret_ns = (double)taken / HITS;
    return 0;
}

/* ---- sensors ---- */

static int compare(const void *one, const void *other)
{
    double left = *(const double *)one, right = *(const double *)other;

    return (left > right) - (left < right);
}

static double median(double *list, size_t count)
{
    qsort(list, count, sizeof(*list), compare);
    return list[count / 2];
}

/* What one round measures, ns. */
struct round {
    double hit, turn, turn_cpu;
};

static int sense_round(struct sensors *sensors, struct sensor *sensor, const struct child *child,
                       struct round *ret_round, struct problem *problem)
{
    struct sensor_record record;
    double without = 0, with = 0;
    int result = call_often(child, &without, problem);

    uint64_t begin = clock_now(CLOCK_MONOTONIC), cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
    if (result == 0)
        result = sensor_switch(sensor, true, problem);
    uint64_t turn = clock_now(CLOCK_MONOTONIC) - begin;
    uint64_t turn_cpu = clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
    if (result == 0)
        result = call_often(child, &with, problem);
    while (sensors_next(sensors, &record) > 0)
        ;
    cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
    if (result == 0)
        result = sensor_switch(sensor, false, problem);
    turn_cpu += clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
    *ret_round =
        (struct round){with > without ? with - without : 0, (double)turn, (double)turn_cpu / 2};
    return result;
}

static int sense(struct sensors *sensors, struct sensor_program *program, const struct child *child,
                 struct calibrate_sensing *sensing, struct problem *problem)
{
    static const char *const values[] = {"arg1"};
    const struct sensor_wish wish = {
        .program = program, .place = "getppid", .values = values, .value_count = 1};
    double hits[ROUNDS], turns[ROUNDS], turns_cpu[ROUNDS];
    struct sensor_counts counts;
    struct sensor *sensor;
    int result = sensor_add(sensors, &wish, &sensor, problem);

    if (result < 0)
        return result;
    for (size_t i = 0; i < ROUNDS && result == 0; i++) {
        struct round round;
        result = sense_round(sensors, sensor, child, &round, problem);
        hits[i] = round.hit;
        turns[i] = round.turn;
        turns_cpu[i] = round.turn_cpu;
    }
    sensor_counts_read(sensor, &counts);
    sensor_remove(sensor);
    if (result == 0 && counts.passed != ROUNDS * HITS)
        result = problem_set(problem, -EIO, "a sensor made %llu records of %d",
                             (unsigned long long)counts.passed, ROUNDS * HITS);
    if (result < 0)
        return result;
    sensing->sensor = median(hits, ROUNDS);
    sensing->turn = median(turns, ROUNDS);
    sensing->turn_cpu = median(turns_cpu, ROUNDS);
    return 0;
}

int calibrate_sensor(struct calibrate_sensing *sensing, struct problem *problem)
{
    struct sensors *sensors = NULL;
    struct sensor_program *program = NULL;
    struct child child;
    int result = sensors_open(0, &sensors, problem);

    if (result < 0)
        return result;
    result = start_child(&child, problem);
    if (result == 0) {
        result = sensor_program_open(child.pid, &program, problem);
        if (result == 0)
            result = sense(sensors, program, &child, sensing, problem);
        end_child(&child);
    }
    sensors_close(sensors);
    sensor_program_close(program);
    return result;
}

/* ---- probes ---- */

static int read_often(struct sensor_probe *probe, struct calibrate_sensing *sensing,
                      struct problem *problem)
{
    double times[READS], cpu_times[READS];
    struct sensor_value value = {.kind = SENSOR_UNKNOWN};
    uint64_t time;
    int result = 0;

    for (size_t i = 0; i < READS && result == 0; i++) {
        uint64_t cpu = clock_now(CLOCK_THREAD_CPUTIME_ID), begin = clock_now(CLOCK_MONOTONIC);
        result = sensor_probe_read(probe, &value, &time, problem);
        times[i] = (double)(clock_now(CLOCK_MONOTONIC) - begin);
        cpu_times[i] = (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu);
    }
    if (result == 0 && (value.kind != SENSOR_UNSIGNED || value.natural != sensed))
        result = problem_set(problem, -EIO, "a probe read a wrong value");
    if (result < 0)
        return result;
    sensing->probe_time = median(times, READS);
    sensing->probe_cpu = median(cpu_times, READS);
    return 0;
}

int calibrate_probe(struct calibrate_sensing *sensing, struct problem *problem)
{
    struct sensor_program *program = NULL;
    struct sensor_probe *probe = NULL;
    char expression[64];
    struct child child;
    int result = start_child(&child, problem);

    if (result < 0)
        return result;
    snprintf(expression, sizeof(expression), "*(unsigned long *)%llu",
             (unsigned long long)(uintptr_t)&sensed);
    result = sensor_program_open(child.pid, &program, problem);
    if (result == 0)
        result = sensor_probe_new(program, expression, NULL, &probe, problem);
    if (result == 0)
        result = read_often(probe, sensing, problem);
    sensor_probe_free(probe);
    sensor_program_close(program);
    end_child(&child);
    return result;
}

/* ---- comparisons ---- */

static struct view_value look(void *context, uint32_t reference)
{
    (void)reference;
    return (struct view_value){.kind = VIEW_IS_NUMBER, .number = *(const uint32_t *)context};
}

int calibrate_evaluate(struct calibrate_sensing *sensing, struct problem *problem)
{
    static const char text[] = "VIEW DEF V (size: Q.size) ACTIVE WHEN Q.size > 24; END VIEW DEF";
    struct view_file *file;
    volatile unsigned holds = 0;
    int result = view_parse("calibrate", text, strlen(text), &file, problem);

    if (result < 0)
        return result;
    uint64_t begin = clock_now(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t i = 0; i < COMPARISONS; i++)
        holds += view_holds(file->views[0].predicate, look, &i) == VIEW_TRUE;
    sensing->evaluate = (double)(clock_now(CLOCK_THREAD_CPUTIME_ID) - begin) / COMPARISONS;
    view_file_free(file);
    return 0;
}
