/* SPDX-License-Identifier: MIT */
/*
 * sensor_expression_test.c: C expressions over a running program, which is this test itself. The compiler computes the
 * same expressions: each macro evaluates its text in C and as a probe.
 */
#include "sensor/sensor.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum phase {
    PHASE_IDLE = 3,
    PHASE_BUSY = 7,
    PHASE_BELOW = -2,
};

struct request {
    struct request *next;
    long begin, end;
    const char *title;
};

typedef struct queue {
    unsigned head : 5;
    unsigned tail : 6;
    int balance : 7;
    struct {
        short inner;
        unsigned char letter;
    };
    union {
        uint64_t word;
        uint32_t halves[2];
    } both;
    struct request *first;
    char name[16];
    double load;
    float part;
    enum phase phase;
    bool open;
    int grid[3][4];
} queue_t;

/* `across` lies in bytes of two words. */
struct __attribute__((packed)) flags {
    unsigned begin : 20;
    unsigned across : 20;
    int last : 9;
};

/* volatile: the compiler must keep them, and their values */
static volatile struct flags flags = {.begin = 0xabcde, .across = 0x98765, .last = -77};
static volatile struct request second = {NULL, 2000, 2600, NULL};
static volatile struct request first = {(struct request *)&second, 1000, 1750, "the \"first\""};
volatile queue_t queues[3] = {
    [1] = {.head = 17,
           .tail = 42,
           .balance = -9,
           .inner = -300,
           .letter = 'x',
           .both.word = 0x1122334455667788,
           .first = (struct request *)&first,
           .name = "second queue",
           .load = 2.5,
           .part = 0.25F,
           .phase = PHASE_BELOW,
           .open = true,
           .grid = {[2] = {[1] = 21}}},
};
volatile queue_t *volatile current = &queues[1];
volatile queue_t *volatile nothing;
/* more than is read */
volatile struct {
    char begin[104];
    struct {
        int a;
        struct {
            int b;
            struct {
                int c;
            } deeper;
        } deep;
        int d[30];
    } inner;
} large = {"0123456789012345678901234567890123456789"
           "012345678901234567890123456789012345678901234567890123456789",
           {7, {8, {9}}, {1}}};
volatile int cube[2][3][4] = {{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}},
                              {{13, 14, 15, 16}, {17, 18, 19, 20}, {21, 22, 23, 24}}};
volatile int queue_size = -5;
volatile unsigned u32 = 4000000000u;
volatile unsigned long u64 = 0xfedcba9876543210;
volatile signed char s8 = -100;
volatile unsigned char u8 = 200;
volatile short s16 = -30000;
volatile long s64 = -123456789012;
volatile double zero;
_Thread_local volatile int of_thread = 5;

static struct sensor_program *program;

static int open_self(void **state)
{
    struct problem problem = {""};

    (void)state;
    of_thread++;
    if (sensor_program_open(getpid(), &program, &problem) < 0) {
        print_error("%s\n", problem.text);
        return -1;
    }
    return 0;
}

static int close_self(void **state)
{
    (void)state;
    sensor_program_close(program);
    return 0;
}

static struct sensor_value probe(const char *text, const char **ret_type)
{
    struct sensor_value value = {.kind = SENSOR_UNKNOWN};
    struct problem problem = {""};
    struct sensor_probe *made = NULL;
    uint64_t before = clock_now(CLOCK_MONOTONIC), time = 0;

    if (sensor_probe_new(program, text, NULL, &made, &problem) < 0)
        fail_msg("%s: %s", text, problem.text);
    assert_int_equal(0, sensor_probe_read(made, &value, &time, &problem));
    assert_in_range(time, before, clock_now(CLOCK_MONOTONIC));
    if (ret_type != NULL)
        *ret_type = sensor_probe_type(made);
    sensor_probe_free(made);
    return value;
}

static void check_number(const char *text, int64_t number)
{
    struct sensor_value value = probe(text, NULL);

    if ((value.kind != SENSOR_SIGNED && value.kind != SENSOR_UNSIGNED) || value.number != number)
        fail_msg("%s is %ld, found %ld (kind %d)", text, (long)number, (long)value.number,
                 (int)value.kind);
}

static void check_real(const char *text, double number)
{
    struct sensor_value value = probe(text, NULL);

    if (value.kind != SENSOR_REAL || value.real != number)
        fail_msg("%s is %g, found %g (kind %d)", text, number, value.real, (int)value.kind);
}

#define NUMBER(expression) check_number(#expression, (int64_t)(expression))
#define REAL(expression)   check_real(#expression, (double)(expression))

static void reads_variables(void **state)
{
    (void)state;
    NUMBER(queue_size);
    NUMBER(u32);
    NUMBER(u64);
    NUMBER(s8);
    NUMBER(u8);
    NUMBER(s16);
    NUMBER(s64);
    NUMBER(queues[1].head);
    NUMBER(current->tail);
    NUMBER(current->balance);
    NUMBER(flags.begin);
    NUMBER(flags.across);
    NUMBER(flags.last);
    NUMBER((*current).inner);
    NUMBER(current->letter);
    NUMBER(current->both.halves[1]);
    NUMBER(current->first->next->end - current->first->begin);
    NUMBER(current->phase);
    NUMBER(current->open);
    NUMBER(current->grid[2][1]);
    NUMBER(cube[1][2][3]);
    NUMBER(cube[0][1][2]);
    NUMBER(*cube[1][1]);
    NUMBER(*(*(cube[1] + 2) + 1));
    NUMBER(&cube[1][2][0] - &cube[0][0][1]);
    NUMBER(&cube[1][2] - &cube[1][0]);
    NUMBER(current->name[2]);
    NUMBER(*current->name);
    NUMBER(current - queues);
    NUMBER((queues + 1)->tail);
    NUMBER(&queues[2] > current);
    NUMBER(current == &queues[1]);
    NUMBER(!nothing);
    NUMBER(nothing == 0);
    NUMBER(nothing && nothing->tail);
    NUMBER(*(unsigned *)&current->both);
    NUMBER(((queue_t *)current)->head);
    NUMBER(((struct queue *)&queues[1])->tail);
    REAL(current->load);
    REAL(current->part);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"

static void calculates_as_c_does(void **state)
{
    (void)state;
    NUMBER(queue_size * 3 - 100 / 7 % 4);
    NUMBER(-7 / 2);
    NUMBER(queue_size % 3);
    NUMBER(queue_size / 2u);
    NUMBER(queue_size > 0u);
    NUMBER(queue_size >> 1);
    NUMBER(u32 >> 3);
    NUMBER(u32 + u32);
    NUMBER(u32 + 0L + u32);
    NUMBER(u32 * 3);
    NUMBER(u8 + u8);
    NUMBER((unsigned char)(u8 + u8));
    NUMBER((signed char)u8);
    NUMBER((bool)(u32 & 0x100));
    NUMBER((_Bool)u8);
    NUMBER((bool)(u8 & 7));
    NUMBER(~u8);
    NUMBER(~u32);
    NUMBER(-s16);
    NUMBER(-u32);
    NUMBER(s8 < u32);
    NUMBER(s8 < s64);
    NUMBER(u64 > s64);
    NUMBER(u64 >> 60);
    NUMBER(s64 >> 60);
    NUMBER(u64 << 3 ^ 5);
    NUMBER(1 << 4 | 3);
    NUMBER(7 & 12 ^ 1);
    NUMBER(1 + 2 == 3 && 4 < 5 || 0);
    NUMBER(queue_size < 0 ? s8 : u8);
    NUMBER(queue_size > 0 ? s64 : u32);
    NUMBER((short)70000);
    NUMBER((unsigned long)s8);
    NUMBER((int)current->load + 'A');
    NUMBER(0xffffffff);
    NUMBER(07u - 8);
    NUMBER(current->load > 2 && current->part <= 0.25);
    REAL(current->load * 2 + current->part);
    REAL(-current->load / 4);
    REAL(queue_size + 0.5);
    REAL((double)u64);
    REAL(current->load / zero);
}

#pragma GCC diagnostic pop

static void unknown_spreads_as_in_views(void **state)
{
    static const char *const unknown[] = {"nothing->tail",        "nothing->tail + 1",
                                          "1 / (queue_size + 5)", "queue_size % 0",
                                          "nothing->first->end",  "nothing->tail || 0",
                                          "nothing->tail && 1",   "nothing->tail ? 1 : 1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
        assert_int_equal(SENSOR_UNKNOWN, probe(unknown[i], NULL).kind);
    check_number("nothing->tail || 1", 1); /* what the other side decides alone */
    check_number("nothing->tail && 0", 0);
    check_number("queue_size ? 4 : nothing->tail", 4);
}

static void reads_texts(void **state)
{
    struct sensor_value value = probe("current->name", NULL);
    char text[64];

    (void)state;
    assert_int_equal(SENSOR_TEXT, value.kind);
    assert_string_equal("second queue", value.text);
    value = probe("current->first->title", NULL);
    sensor_value_text(&value, text, sizeof(text));
    assert_string_equal("\"the \\\"first\\\"\"", text);
    assert_int_equal(SENSOR_UNKNOWN, probe("(char *)16", NULL).kind);
}

static void check_struct(const char *text, const char *expected)
{
    struct sensor_value value = probe(text, NULL);
    char printed[SENSOR_TEXT_SIZE];

    assert_int_equal(SENSOR_STRUCT, value.kind);
    sensor_value_text(&value, printed, sizeof(printed));
    assert_string_equal(expected, printed);
    assert_int_equal(VIEW_IS_TEXT, sensor_value_of_view(&value).kind);
}

static void whole_structs(void **state)
{
    char expected[512];

    (void)state;
    check_struct("queues[1].both", "{word: 1234605616436508552, halves: [1432778632, 287454020]}");
    check_struct("large",
                 "{begin: \"0123456789012345678901234567890123456789"
                 "01234567890123456789012345678901234567890123456789"
                 "0123456789\", inner: {a: 7, deep: {b: 8, deeper: {...}}, d: [1, 0, 0, ...]}}");
    check_struct("flags", "{begin: 703710, across: 624485, last: -77}");
    /* cut */
    snprintf(expected, sizeof(expected),
             "{head: 17, tail: 42, balance: -9, {inner: -300, letter: 120}, both: {word: "
             "1234605616436508552, halves: [1432778632, 287454020]}, first: 0x%lx, name: \"second "
             "queue\", load: 2.5, part: 0.25, phase: -2, open: 1, grid: [[0, 0, 0, 0], [0, 0, 0, "
             "0], [0, 21, 0, 0]]}",
             (unsigned long)&first);
    assert_true(strlen(expected) >= SENSOR_TEXT_SIZE);
    strcpy(expected + SENSOR_TEXT_SIZE - 4, "...");
    check_struct("*current", expected);
    assert_int_equal(SENSOR_UNKNOWN, probe("*nothing", NULL).kind);
}

static void names_types(void **state)
{
    static const struct {
        const char *expression, *type;
    } cases[] = {{"queue_size", "int"},
                 {"current->first", "struct request *"},
                 {"nothing", "queue_t *"},
                 {"current->phase", "enum phase"},
                 {"current->part", "float"},
                 {"&current->first", "struct request **"},
                 {"current->name", "char []"},
                 {"u32 + 1L", "long"},
                 {"(unsigned char)u32", "unsigned char"}};
    const char *type;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        probe(cases[i].expression, &type);
        assert_string_equal(cases[i].type, type);
    }
}

/* What is wrong, where, and what was probably meant. */
static void refuses_what_is_wrong(void **state)
{
    static const struct {
        const char *expression;
        int error;
        const char *problem;
    } cases[] = {
        {"queue_sise + 1", -ENOENT,
         "q.view:7:5: process %d has no variable 'queue_sise'; did you "
         "mean 'queue_size'?"},
        {"1 + current->tial", -ENOENT,
         "q.view:7:18: queue_t has no member 'tial'; did you mean "
         "'tail'?"},
        {"1 +\n  nosuchname", -ENOENT, "q.view:8:3: process %d has no variable 'nosuchname'"},
        {"current.tail", -EINVAL, "q.view:7:13: queue_t * has no members; write -> for ."},
        {"1 + *current", -EINVAL, "q.view:7:9: queue_t is no value; name a member"},
        {"-queues[1]", -EINVAL, "q.view:7:12: queue_t is no value; name a member"},
        {"*queue_size", -EINVAL, "q.view:7:5: int is no pointer"},
        {"current * 2", -EINVAL, "this operator does not take queue_t * and int"},
        {"current->load & 1", -EINVAL, "this operator does not take floating-point numbers"},
        {"!current->load", -EINVAL, "a floating-point number is no condition"},
        {"&5", -EINVAL, "what is not in memory has no address"},
        {"(nosuch_t *)current", -ENOENT, "the program has no type 'nosuch_t'"},
        {"*(void *)current", -EINVAL, "a void * leads to no known type"},
        {"of_thread", -EINVAL, "'of_thread' is thread-local: only a sensor at a place"},
        {"arg1", -EINVAL, "'arg1' is known only at the entry of a function"},
        {"rdi", -ENOENT, "has no variable 'rdi'"},
        {"queue_size = 1", -EINVAL,
         "q.view:7:16: found '=', expected an operator or ';': an "
         "attribute only reads variables"},
        {"f(1)", -EINVAL, "found '(', expected an operator or ';': an attribute cannot call"},
        {"1 +", -EINVAL, "found 'end', expected a variable, a constant or '('"},
        {"", -EINVAL, "expected a variable, a constant or '('"},
        {"1.2.3", -EINVAL, "expected a number"},
        {"(((((((((1)+1)+1)+1)+1)+1)+1)+1)+1)", 0, NULL},
        {"1+(1+(1+(1+(1+(1+(1+(1+(1+1))))))))", -ENOTSUP, "operands wait for each other"},
    };
    const struct sensor_source source = {"q.view", 7, 5};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct problem problem = {""};
        struct sensor_probe *made = NULL;
        char expected[256];
        int result = sensor_probe_new(program, cases[i].expression, &source, &made, &problem);
        sensor_probe_free(made);
        if (cases[i].error == 0) {
            assert_int_equal(0, result);
            continue;
        }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(expected, sizeof(expected), cases[i].problem, getpid());
#pragma GCC diagnostic pop
        if (result != cases[i].error || strstr(problem.text, expected) == NULL)
            fail_msg("%s: %d, %s", cases[i].expression, result, problem.text);
    }
}

/* A probe of a process that has ended, or executes another program, says so. */
static void notices_the_end(void **state)
{
    struct sensor_program *child_program = NULL;
    struct sensor_probe *made = NULL;
    struct sensor_value value;
    struct problem problem = {""};
    uint64_t time;
    int go[2], status;
    char byte = 0;

    (void)state;
    assert_int_equal(0, pipe(go));
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(go[0], &byte, 1) == 1)
            execlp("sleep", "sleep", "100", NULL);
        _exit(1);
    }
    assert_int_equal(0, sensor_program_open(child, &child_program, &problem));
    assert_int_equal(0, sensor_probe_new(child_program, "queue_size", NULL, &made, &problem));
    assert_int_equal(0, sensor_probe_read(made, &value, &time, &problem));
    assert_int_equal(queue_size, value.number);
    assert_int_equal(0, sensor_program_state(child_program, &problem));
    assert_int_equal(1, write(go[1], &byte, 1));
    int result;
    while ((result = sensor_probe_read(made, &value, &time, &problem)) == 0)
        assert_int_equal(queue_size, value.number); /* never what another program has there */
    assert_int_equal(-ESTALE, result);
    assert_non_null(strstr(problem.text, "executes another program now"));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_int_equal(-ESRCH, sensor_probe_read(made, &value, &time, &problem));
    assert_non_null(strstr(problem.text, "has ended"));
    sensor_probe_free(made);
    sensor_program_close(child_program);
    close(go[0]);
    close(go[1]);
}

/* Only processes that the user may ptrace. */
static void needs_the_right_to_trace(void **state)
{
    int status;

    (void)state;
    if (getuid() != 0)
        skip();
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        struct sensor_program *other = NULL;
        struct problem problem = {""};
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(2);
        int result = sensor_program_open(parent, &other, &problem);
        _exit(result == -EPERM && strstr(problem.text, "right to ptrace it") != NULL ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(0, status);
    struct problem problem = {""};
    struct sensor_program *other = NULL;
    assert_int_equal(-ESRCH, sensor_program_open(child, &other, &problem));
    assert_int_equal(-ENOENT, sensor_program_open(2, &other, &problem));
    assert_non_null(strstr(problem.text, "a kernel thread?"));
}

/* The kernel lets others run for 10 ms between an attempt to read and the second look at the clock: the variable is another one then. */
static int looks_left; /* at the clock, until then; 0: that does not happen */

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    if (clock == CLOCK_MONOTONIC && looks_left > 0 && --looks_left == 0) {
        queue_size += 100;
        usleep(10000);
    }
    return (int)syscall(SYS_clock_gettime, clock, ret_time);
}

static void a_reading_that_was_interrupted_is_repeated(void **state)
{
    struct sensor_value value;
    struct problem problem = {""};
    struct sensor_probe *made = NULL;
    uint64_t time;

    (void)state;
    if (sensor_probe_new(program, "queue_size", NULL, &made, &problem) < 0)
        fail_msg("%s", problem.text);
    uint64_t before = clock_now(CLOCK_MONOTONIC);
    looks_left = 2;
    assert_int_equal(0, sensor_probe_read(made, &value, &time, &problem));
    assert_int_equal(queue_size, value.number);
    assert_true(time - before >= 10000000);
    queue_size -= 100;
    sensor_probe_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_variables),
        cmocka_unit_test(calculates_as_c_does),
        cmocka_unit_test(unknown_spreads_as_in_views),
        cmocka_unit_test(reads_texts),
        cmocka_unit_test(whole_structs),
        cmocka_unit_test(names_types),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(a_reading_that_was_interrupted_is_repeated),
        cmocka_unit_test(notices_the_end),
        cmocka_unit_test(needs_the_right_to_trace),
    };

    return cmocka_run_group_tests(tests, open_self, close_self);
}
