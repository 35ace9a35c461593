/* SPDX-License-Identifier: MIT */
/*
 * sensor_test.c: sensors at places of this test itself, which counts what it does. Property: the kernel passes on
 * exactly what view_filter_passes would, for random conditions over random values.
 */
#define _SDT_HAS_SEMAPHORES 1
#include "sensor/sensor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "seeded.h"

/* The counter of the probe: what the paper calls a status word in the program. */
__extension__ volatile unsigned short sensor_test_reached_semaphore
    __attribute__((unused, section(".probes")));

struct deep {
    int depth;
};

volatile int one;
volatile unsigned long two;
volatile long three;
volatile double real;
struct deep *volatile deep; /* NULL: what is behind it is unknown */
static struct deep deep_one = {4};

static struct sensor_program *program;
static struct sensors *sensors;       /* NULL: sensors do not work here */
static struct sensors *other_sensors; /* with a ring of another size */

/* noipa: copies of it for known arguments would be further places of its probe. */
__attribute__((noipa)) static int reach(int number, long other)
{
    DTRACE_PROBE2(sensor_test, reached, one, other);
    __asm__ volatile("" ::: "memory");
    return number + (int)other;
}

static int open_program(void **state)
{
    struct problem problem = {""};

    (void)state;
    if (sensor_program_open(getpid(), &program, &problem) < 0)
        print_error("%s\n", problem.text);
    return 0;
}

static int close_program(void **state)
{
    (void)state;
    sensor_program_close(program);
    return 0;
}

static int open_sensors(void **state)
{
    struct problem problem = {""};
    int result = sensors_open(0, &sensors, &problem);

    (void)state;
    if (result < 0)
        print_message("# %s\n", problem.text);
    return result == -EPERM || result == 0 ? 0 : -1;
}

/* A case that fails leaves its sensors; those that follow must not find them on. */
static int close_sensors(void **state)
{
    (void)state;
    sensors_close(sensors);
    sensors_close(other_sensors);
    sensors = other_sensors = NULL;
    return 0;
}

/* Until the end of the case. */
static struct sensors *open_others(uint32_t ring_size)
{
    struct problem problem = {""};

    if (sensors_open(ring_size, &other_sensors, &problem) < 0)
        fail_msg("%s", problem.text);
    return other_sensors;
}

static struct sensor *add_to(struct sensors *to, const char *place, const char *const *values,
                             size_t count, struct sensor_wish wish)
{
    struct problem problem = {""};
    struct sensor *sensor = NULL;

    wish.program = program;
    wish.place = place;
    wish.values = values;
    wish.value_count = count;
    if (sensor_add(to, &wish, &sensor, &problem) < 0)
        fail_msg("%s", problem.text);
    return sensor;
}

static void turn(struct sensor *sensor, bool on)
{
    struct problem problem = {""};

    if (sensor_switch(sensor, on, &problem) < 0)
        fail_msg("%s", problem.text);
}

static const char *const plain_values[] = {"one", "two", "three"};

/* Takes all records; returns their number, and the first value of the last. */
static unsigned drain(struct sensors *from, struct sensor_record *ret_last)
{
    unsigned count = 0;

    while (sensors_next(from, ret_last) > 0)
        count++;
    return count;
}

/* ---- records ---- */

static void reports_each_hit_in_order(void **state)
{
    static const char *const values[] = {"number", "other", "one", "real", "deep->depth", "arg2"};
    struct sensor_record record;
    struct sensor_counts counts;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *sensor =
        add_to(sensors, "reach", values, ARRAY_SIZE(values), (struct sensor_wish){.notify = true});
    reach(1, 1); /* off: makes no record */
    turn(sensor, true);
    uint64_t last = clock_now(CLOCK_MONOTONIC);
    for (int i = 0; i < 500; i++) {
        one = i * 3 - 700;
        real = i / 4.0;
        deep = i % 2 == 0 ? &deep_one : NULL;
        reach(-i, (long)i << 33);
    }
    turn(sensor, false);
    reach(1, 1);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(1, sensors_next(sensors, &record));
        assert_int_equal(SENSOR_NEW_VAL, record.command);
        assert_int_equal(sensor_number(sensor), record.sensor);
        assert_int_equal(getpid(), record.pid);
        assert_in_range(record.time, last, clock_now(CLOCK_MONOTONIC));
        last = record.time;
        assert_int_equal(-i, record.values[0].number);
        assert_int_equal((long)i << 33, record.values[1].number);
        assert_int_equal(i * 3 - 700, record.values[2].number);
        assert_true(record.values[3].kind == SENSOR_REAL && record.values[3].real == i / 4.0);
        assert_int_equal(i % 2 == 0 ? SENSOR_SIGNED : SENSOR_UNKNOWN, record.values[4].kind);
        assert_int_equal((long)i << 33, record.values[5].number);
    }
    assert_int_equal(0, sensors_next(sensors, &record));
    sensor_counts_read(sensor, &counts);
    assert_int_equal(500, counts.hits);
    assert_int_equal(500, counts.passed);
    sensor_remove(sensor);
}

static void usdt_probe(void **state)
{
    static const char *const values[] = {"arg1", "arg2"};
    struct sensor_record record;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *sensor =
        add_to(sensors, "sensor_test:reached", values, 2, (struct sensor_wish){0});
    assert_int_equal(0, sensor_test_reached_semaphore);
    turn(sensor, true);
    assert_int_equal(1, sensor_test_reached_semaphore);
    one = -77;
    reach(0, -5000000000);
    turn(sensor, false);
    assert_int_equal(0, sensor_test_reached_semaphore);
    assert_int_equal(1, sensors_next(sensors, &record));
    assert_int_equal(-77, record.values[0].number);
    assert_int_equal(-5000000000, record.values[1].number);
    sensor_remove(sensor);
}

static void *reach_later(void *context)
{
    (void)context;
    usleep(100000); /* most likely the reader waits by then; the test holds in any case */
    reach(0, 0);
    return NULL;
}

/* A notification wakes who waits, also behind a message, which does not. */
static void wakes_for_notifications(void **state)
{
    struct sensor_record record;
    pthread_t thread;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *message = add_to(sensors, "reach", plain_values, 1, (struct sensor_wish){0});
    struct sensor *notification =
        add_to(sensors, "reach", plain_values, 1, (struct sensor_wish){.notify = true});
    turn(message, true);
    turn(notification, true);
    assert_int_equal(0, drain(sensors, &record));
    pthread_create(&thread, NULL, reach_later, NULL);
    struct pollfd ready = {.fd = sensors_descriptor(sensors), .events = POLLIN};
    assert_int_equal(1, poll(&ready, 1, 60000));
    pthread_join(thread, NULL);
    assert_int_equal(2, drain(sensors, &record));
    sensor_remove(message);
    sensor_remove(notification);
}

static void only_changes(void **state)
{
    struct sensor_record record;
    struct sensor_counts counts;
    unsigned changes = 0;
    uint64_t random = seed_of_run("only_changes");

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *sensor =
        add_to(sensors, "reach", plain_values, 3, (struct sensor_wish){.changes_only = true});
    turn(sensor, true);
    for (int i = 0; i < 1000; i++) {
        int was = one;
        long were = three;
        one = (int)random_below(&random, 2);
        three = (long)random_below(&random, 2) - 1;
        changes += i == 0 || was != one || were != three;
        reach(0, 0);
    }
    turn(sensor, false);
    assert_int_equal(changes, drain(sensors, &record));
    sensor_counts_read(sensor, &counts);
    assert_int_equal(1000, counts.hits);
    assert_int_equal(1000 - changes, counts.unchanged);
    sensor_remove(sensor);
}

/* Begins to execute another program once the pipe says so. */
static pid_t begin_child(int *ret_pipe)
{
    int ends[2];
    char byte;

    assert_int_equal(0, pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        if (read(ends[0], &byte, 1) == 1 && dup2(ends[0], 0) == 0)
            execl("/bin/cat", "cat", NULL);
        _exit(1);
    }
    assert_true(child > 0);
    close(ends[0]);
    *ret_pipe = ends[1];
    return child;
}

static void counts_what_is_lost(void **state)
{
    struct sensor_record record;
    struct sensor_counts counts;
    int last = -1;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensors *small = open_others(4096);
    struct sensor *sensor = add_to(small, "reach", plain_values, 1, (struct sensor_wish){0});
    turn(sensor, true);
    for (one = 0; one < 1000; one++)
        reach(0, 0);
    sensor_counts_read(sensor, &counts);
    assert_int_equal(1000, counts.hits);
    assert_true(counts.lost > 0);
    assert_int_equal(1000, counts.passed + counts.lost);
    unsigned taken = 0;
    for (; sensors_next(small, &record) > 0; taken++) {
        assert_true(record.values[0].number > last);
        last = (int)record.values[0].number;
    }
    assert_int_equal(counts.passed, taken);
    close_sensors(state); /* with a sensor that is on */
    reach(0, 0);
}

static void counts_beginnings_that_are_lost(void **state)
{
    struct problem problem = {""};
    int pipe_end;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensors *small = open_others(4096);
    struct sensor *sensor = add_to(small, "reach", plain_values, 1, (struct sensor_wish){0});
    assert_int_equal(0, sensors_tell_beginnings(small, &problem));
    turn(sensor, true);
    for (one = 0; one < 1000; one++)
        reach(0, 0);
    pid_t child = begin_child(&pipe_end);
    close(pipe_end);
    assert_int_equal(child, waitpid(child, NULL, 0));
    assert_true(sensors_lost_beginnings(small) > 0);
}

/* What is lost is not taken for known: the same values come again. */
static void what_is_lost_comes_again(void **state)
{
    struct sensor_record record = {0};

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensors *small = open_others(4096);
    struct sensor *sensor =
        add_to(small, "reach", plain_values, 1, (struct sensor_wish){.changes_only = true});
    turn(sensor, true);
    for (one = 0; one < 1000; one++)
        reach(0, 0);
    one = 999;
    drain(small, &record);
    assert_true(record.values[0].number < one);
    reach(0, 0);
    assert_int_equal(1, sensors_next(small, &record));
    assert_int_equal(one, record.values[0].number);
}

static void *reach_often(void *context)
{
    for (int i = 0; i < 5000; i++)
        reach(i, *(long *)context);
    return NULL;
}

static void threads_at_the_same_place(void **state)
{
    static const char *const values[] = {"number", "other"};
    struct sensor_record record;
    pthread_t threads[4];
    long numbers[4];
    int next[4] = {0};

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensors *large = open_others(8 << 20);
    struct sensor *sensor = add_to(large, "reach", values, 2, (struct sensor_wish){0});
    turn(sensor, true);
    for (long i = 0; i < 4; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, reach_often, &numbers[i]);
    }
    for (long i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(1, sensors_next(large, &record));
        assert_in_range(record.values[1].number, 0, 3);
        assert_int_equal(next[record.values[1].number]++, record.values[0].number);
    }
    assert_int_equal(0, sensors_next(large, &record));
}

static void a_child_is_not_the_program(void **state)
{
    struct sensor_record record;
    int status;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *sensor = add_to(sensors, "reach", plain_values, 1, (struct sensor_wish){0});
    turn(sensor, true);
    pid_t child = fork();
    if (child == 0) {
        reach(0, 0);
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_int_equal(0, status);
    reach(0, 0);
    turn(sensor, false);
    assert_int_equal(1, drain(sensors, &record));
    assert_int_equal(getpid(), record.pid);
    sensor_remove(sensor);
}

/* Not only at the next of the looks that are made now and then. */
static void another_program_is_noticed_once_it_begins(void **state)
{
    struct problem problem = {""};
    struct sensor_record record;
    struct sensor_program *child_program;
    bool begun = false, executed = false;
    int pipe_end;

    (void)state;
    if (sensors == NULL)
        skip();
    pid_t child = begin_child(&pipe_end);
    assert_int_equal(0, sensor_program_open(child, &child_program, &problem));
    assert_int_equal(0, sensors_watch(sensors, child_program, &problem));
    assert_int_equal(0, sensors_tell_beginnings(sensors, &problem));
    drain(sensors, &record);
    assert_int_equal(1, write(pipe_end, "x", 1));
    while (!begun)
        while (!begun && sensors_next(sensors, &record) > 0)
            begun = record.command == SENSOR_BEGUN && record.pid == child;
    while (sensors_next(sensors, &record) > 0)
        executed = executed || (record.command == SENSOR_EXECUTED && record.pid == child);
    assert_true(executed);
    sensors_unwatch(sensors, child_program);
    sensor_program_close(child_program);
    close(pipe_end);
    assert_int_equal(child, waitpid(child, NULL, 0));
}

static void refuses_places_and_values(void **state)
{
    static const struct {
        const char *place, *value;
        int error;
        const char *problem;
    } cases[] = {
        {"raech", "one", -ENOENT, "has no function 'raech'; did you mean 'reach'?"},
        {"nofile.c:12", "one", -ENOENT, "has no source file 'nofile.c'"},
        {"sensor_test.c:1", "one", -ENOENT,
         "sensor_test.c:1 has no code; the next line that has is"},
        {"sensor_test.c:999999", "one", -ENOENT, "has no code, and neither have later lines"},
        {"sensor_test:raeched", "one", -ENOENT,
         "has no USDT probe 'sensor_test:raeched'; did you "
         "mean 'reached'?"},
        {"reach", "oen", -ENOENT, "expression:1:1: process"},
        {"reach", "numbre", -ENOENT, "did you mean 'number'?"},
        {"reach", "real + 1", -ENOTSUP, "sensors do not calculate with floating point"},
        {"reach", "arg7", -EINVAL, "there are only 6 arguments"},
        {"", "deep->depth", -EINVAL, "a hardware watchpoint needs a variable at a fixed address"},
        {"", "one + 1", -EINVAL, "a hardware watchpoint needs a variable"},
    };

    (void)state;
    if (sensors == NULL)
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct problem problem = {""};
        struct sensor *sensor = NULL;
        const struct sensor_wish wish = {.program = program,
                                         .place = cases[i].place,
                                         .values = &cases[i].value,
                                         .value_count = 1};
        int result = sensor_add(sensors, &wish, &sensor, &problem);
        if (result != cases[i].error || strstr(problem.text, cases[i].problem) == NULL)
            fail_msg("%s, %s: %d, %s", cases[i].place, cases[i].value, result, problem.text);
    }
}

/* ---- conditions ---- */

struct conditional {
    struct view_file *file;
    struct view_conditions conditions;
    uint32_t value_of[VIEW_REFERENCES_MOST];
};

/* A view whose references a, b, c are the sensor's values 0, 1, 2. */
/* `target`: what the view shows; a constant: only the truth of the predicate matters. */
static void make_conditional_of(const char *target, const char *predicate, struct conditional *made)
{
    struct problem problem = {""};
    char text[4096];

    snprintf(text, sizeof(text), "VIEW DEF V (t: %s) ACTIVE WHEN %s; END VIEW DEF", target,
             predicate);
    if (view_parse("test", text, strlen(text), &made->file, &problem) < 0 ||
        view_conditions_make(&made->file->views[0], &made->conditions, &problem) < 0)
        fail_msg("%s: %s", predicate, problem.text);
    const struct view *view = made->conditions.view;
    for (size_t i = 0; i < view->reference_count; i++)
        made->value_of[i] = (uint32_t)(view->references[i].attribute[0] - 'a');
}

static void make_conditional(const char *predicate, struct conditional *made)
{
    make_conditional_of("Q.a", predicate, made);
}

static void free_conditional(struct conditional *made)
{
    view_conditions_done(&made->conditions);
    view_file_free(made->file);
}

__attribute__((format(printf, 3, 4))) static void write_text(char *text, size_t size,
                                                             const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, size - 1);
}

/* Numbers near each other and near where doubles and integers differ. */
static void random_constant(uint64_t *random, char *text, size_t size)
{
    static const char *const constants[] = {
        "0",   "1",   "24",   "0.5",  "2.5",   "24.999",          "3.0",
        "100", "1e3", "1e18", "1e30", "0.001", "4503599627370497"};

    write_text(text, size, "%s", constants[random_below(random, ARRAY_SIZE(constants))]);
}

static void random_sum(uint64_t *random, unsigned depth, char *text, size_t size)
{
    static const char *const signs[] = {"+", "-", "*"};
    char left[256], right[256];

    if (depth == 0 || random_below(random, 3) == 0) {
        if (random_below(random, 3) == 0)
            random_constant(random, text, size);
        else
            write_text(text, size, "Q.%c", (char)('a' + random_below(random, 3)));
        return;
    }
    random_sum(random, depth - 1, left, sizeof(left));
    random_sum(random, depth - 1, right, sizeof(right));
    if (random_below(random, 6) == 0)
        write_text(text, size, "(- %s)", left);
    else
        write_text(text, size, "(%s %s %s)", left, signs[random_below(random, 3)], right);
}

static void random_predicate(uint64_t *random, unsigned depth, char *text, size_t size)
{
    static const char *const comparisons[] = {"=", "<>", ">", ">=", "<", "<="};
    char left[512], right[512];

    if (depth == 0 || random_below(random, 3) == 0) {
        random_sum(random, 2, left, sizeof(left));
        random_sum(random, 1, right, sizeof(right));
        write_text(text, size, "(%s %s %s)", left, comparisons[random_below(random, 6)], right);
        return;
    }
    random_predicate(random, depth - 1, left, sizeof(left));
    random_predicate(random, depth - 1, right, sizeof(right));
    write_text(text, size, "(%s %s %s)", left, random_below(random, 2) ? "AND" : "OR", right);
}

struct truth {
    const struct conditional *made;
    struct sensor_value values[3];
};

static struct view_value look(void *context, uint32_t reference)
{
    const struct truth *truth = context;

    return sensor_value_of_view(&truth->values[truth->made->value_of[reference]]);
}

static void random_values(uint64_t *random, bool large)
{
    static const long border[] = {0, 1, 2, 3, 23, 24, 25, 26, 100, 1000};

    one = random_below(random, 2) == 0 ? (int)border[random_below(random, ARRAY_SIZE(border))]
                                       : (int)random_below(random, 60) - 30;
    two = random_below(random, 60);
    deep_one.depth = (int)border[random_below(random, ARRAY_SIZE(border))];
    deep = random_below(random, 5) == 0 ? NULL : &deep_one;
    if (!large)
        return;
    if (random_below(random, 2) == 0)
        two = random_number(random) >> random_below(random, 64);
    if (random_below(random, 2) == 0)
        one = (int)random_number(random);
}

/* Sums of three values and constants up to 1000, and products of those, stay exact; larger constants are no part of
 * arithmetic that this checks for equality. */
static bool is_exact(const char *predicate)
{
    return strstr(predicate, "1e18") == NULL && strstr(predicate, "1e30") == NULL &&
           strstr(predicate, "4503599627370497") == NULL;
}

static unsigned check_condition(const struct conditional *made, const char *predicate, bool large,
                                uint64_t *random)
{
    struct view_filter filter = {0};
    struct sensor_record record;
    struct truth truth = {.made = made};
    unsigned passes = 0;

    for (unsigned i = 0; i < 300; i++) {
        random_values(random, large);
        truth.values[0] = (struct sensor_value){.kind = SENSOR_SIGNED, .number = one};
        truth.values[1] = (struct sensor_value){.kind = SENSOR_UNSIGNED, .natural = two};
        truth.values[2] = deep == NULL
                              ? (struct sensor_value){.kind = SENSOR_UNKNOWN}
                              : (struct sensor_value){.kind = SENSOR_SIGNED, .number = deep->depth};
        bool expected = view_filter_passes(&filter, &made->conditions, 0, look, &truth);
        reach(0, 0);
        bool passed = sensors_next(sensors, &record) > 0;
        passes += passed;
        bool exact = !large && is_exact(predicate);
        if (exact ? passed != expected : expected && !passed)
            fail_msg("%s of a %d, b %lu, c %s%d: %s, should be %s", predicate, one, two,
                     deep == NULL ? "unknown " : "", deep_one.depth, passed ? "passed" : "refused",
                     expected ? "passed" : "refused");
        if (passed) {
            assert_int_equal(one, record.values[0].number);
            assert_true(two == record.values[1].natural);
        }
    }
    return passes;
}

static void passes_what_the_filter_would(void **state)
{
    static const char *const values[] = {"one", "two", "deep->depth"};
    uint64_t random = seed_of_run("passes_what_the_filter_would");
    struct sensor_counts counts;
    unsigned passes = 0, done = 0, refused = 0;

    (void)state;
    if (sensors == NULL)
        skip();
    for (uint64_t i = 0; i < rounds_of_run(90); i++) {
        struct sensor *sensor = add_to(sensors, "reach", values, 3, (struct sensor_wish){0});
        struct problem problem = {""};
        struct conditional made;
        char predicate[1024];
        random_predicate(&random, 2, predicate, sizeof(predicate));
        if (strstr(predicate, "Q.") == NULL)
            snprintf(predicate, sizeof(predicate), "Q.a > 24 OR Q.c < 3.5");
        make_conditional_of(i % 2 == 0 ? "Q.a" : "1", predicate, &made);
        int result = sensor_condition(sensor, &made.conditions, 0, made.value_of, &problem);
        if (result == 0) {
            turn(sensor, true);
            passes += check_condition(&made, predicate, i % 3 == 2, &random);
            sensor_counts_read(sensor, &counts);
            assert_int_equal(300, counts.hits);
            assert_int_equal(300, counts.passed + counts.refused);
            done++;
        } else { /* sums with fractions */
            assert_int_equal(-ENOTSUP, result);
            assert_non_null(strstr(problem.text, "the kernel cannot evaluate the condition"));
            refused++;
        }
        sensor_remove(sensor);
        free_conditional(&made);
    }
    assert_true(done > 0 && passes > 0 && passes < done * 300);
    print_message("# %u conditions, %u of %u values passed; %u conditions refused\n", done, passes,
                  done * 300, refused);
}

/* The constant of a condition changes while the sensor is on. */
static void changes_a_constant(void **state)
{
    struct problem problem = {""};
    struct conditional low, high;
    struct sensor_record record;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *sensor = add_to(sensors, "reach", plain_values, 3, (struct sensor_wish){0});
    make_conditional("Q.a >= 15", &low);
    make_conditional("Q.a >= 20", &high);
    assert_int_equal(0, sensor_condition(sensor, &low.conditions, 0, low.value_of, &problem));
    turn(sensor, true);
    one = 14;
    reach(0, 0);
    assert_int_equal(0, drain(sensors, &record));
    one = 15;
    reach(0, 0);
    assert_int_equal(1, drain(sensors, &record));
    assert_int_equal(0, sensor_condition(sensor, &high.conditions, 0, high.value_of, &problem));
    one = 19;
    reach(0, 0); /* the first one for which it is no longer true */
    reach(0, 0);
    assert_int_equal(1, drain(sensors, &record));
    one = 20;
    reach(0, 0);
    assert_int_equal(1, drain(sensors, &record));
    assert_int_equal(0, sensor_condition(sensor, NULL, 0, NULL, &problem));
    for (one = 0; one < 10; one++)
        reach(0, 0);
    assert_int_equal(10, drain(sensors, &record));
    sensor_remove(sensor);
    free_conditional(&low);
    free_conditional(&high);
}

/* Its values were read meanwhile, or its condition has changed. */
static void what_is_asked_for_passes_unchanged(void **state)
{
    struct problem problem = {""};
    struct conditional made;
    struct sensor_record record;

    (void)state;
    if (sensors == NULL)
        skip();
    struct sensor *sensor =
        add_to(sensors, "reach", plain_values, 3, (struct sensor_wish){.changes_only = true});
    make_conditional("Q.a > 24", &made);
    assert_int_equal(0, sensor_condition(sensor, &made.conditions, 0, made.value_of, &problem));
    free_conditional(&made);
    turn(sensor, true);
    one = 15;
    reach(0, 0);
    reach(0, 0);
    assert_int_equal(0, drain(sensors, &record));
    make_conditional("Q.a > 10", &made);
    assert_int_equal(0, sensor_condition(sensor, &made.conditions, 0, made.value_of, &problem));
    free_conditional(&made);
    sensor_pass_next(sensor);
    reach(0, 0);
    reach(0, 0);
    assert_int_equal(1, drain(sensors, &record));
    assert_int_equal(15, record.values[0].number);
    sensor_remove(sensor);
}

#define SENSOR_TEST(name) cmocka_unit_test_setup_teardown(name, open_sensors, close_sensors)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SENSOR_TEST(reports_each_hit_in_order),
        SENSOR_TEST(usdt_probe),
        SENSOR_TEST(wakes_for_notifications),
        SENSOR_TEST(only_changes),
        SENSOR_TEST(counts_what_is_lost),
        SENSOR_TEST(counts_beginnings_that_are_lost),
        SENSOR_TEST(what_is_lost_comes_again),
        SENSOR_TEST(threads_at_the_same_place),
        SENSOR_TEST(a_child_is_not_the_program),
        SENSOR_TEST(another_program_is_noticed_once_it_begins),
        SENSOR_TEST(refuses_places_and_values),
        SENSOR_TEST(passes_what_the_filter_would),
        SENSOR_TEST(changes_a_constant),
        SENSOR_TEST(what_is_asked_for_passes_unchanged),
    };

    return cmocka_run_group_tests(tests, open_program, close_program);
}
