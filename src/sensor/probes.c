/* SPDX-License-Identifier: MIT */
/*
 * probes.c: dpm itself runs the machine of kernel/sensor_code.h, over the memory of another process. Here it can
 * calculate with floating-point numbers, too, and read texts.
 */
#include "sensor/sensor_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sensor_probe {
    struct sensor_program *program;
    struct compiled compiled;
    const char *type;
    struct sensor_code code;
};

int sensor_probe_new(struct sensor_program *program, const char *expression,
                     const struct sensor_source *source, struct sensor_probe **ret_probe,
                     struct problem *problem)
{
    struct sensor_probe *probe = calloc(1, sizeof(*probe));
    int result = program_check(program, problem);

    if (probe == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    probe->program = program;
    if (result == 0)
        result = compile_expression(program, NULL, expression, source, false, 0, &probe->code,
                                    &probe->compiled, problem);
    if (result < 0) {
        free(probe);
        return result;
    }
    probe->type = type_name(program, probe->compiled.type);
    *ret_probe = probe;
    return 0;
}

void sensor_probe_free(struct sensor_probe *probe)
{
    free(probe);
}

bool sensor_probe_is_text(const struct sensor_probe *probe)
{
    return probe->compiled.is_text;
}

const char *sensor_probe_type(const struct sensor_probe *probe)
{
    return probe->type;
}

/* ---- floating point ---- */

static double real_of(uint64_t bits)
{
    double real;

    memcpy(&real, &bits, sizeof(real));
    return real;
}

static uint64_t bits_of(double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static uint64_t calculate(enum c_kind kind, double left, double right)
{
    switch (kind) {
    case C_ADD:
        return bits_of(left + right);
    case C_SUBTRACT:
        return bits_of(left - right);
    case C_MULTIPLY:
        return bits_of(left * right);
    case C_DIVIDE:
        return bits_of(left / right);
    case C_LESS:
        return left < right;
    case C_GREATER:
        return left > right;
    case C_LESS_EQUAL:
        return left <= right;
    case C_GREATER_EQUAL:
        return left >= right;
    case C_EQUAL:
        return left == right;
    default:
        return left != right;
    }
}

static void run_real(struct sensor_machine *machine, const struct sensor_step *step)
{
    uint64_t *to = &machine->to[step->to];
    float single;
    uint32_t half = (uint32_t)*to;

    switch (step->constant) {
    case C_CAST:
        memcpy(&single, &half, sizeof(single));
        *to = bits_of((double)single);
        break;
    case C_NEGATE:
        *to = bits_of(-real_of(*to));
        break;
    default:
        sensor_mark(&machine->unknown, step->to, (machine->unknown >> step->to & 3) != 0);
        *to = calculate((enum c_kind)step->constant, real_of(*to), real_of(to[1]));
    }
}

static void run_conversion(struct sensor_machine *machine, const struct sensor_step *step)
{
    uint64_t *to = &machine->to[step->to];

    if (step->operation == STEP_TO_REAL) {
        *to = bits_of(step->is_signed ? (double)(int64_t)*to : (double)*to);
        return;
    }
    double real = real_of(*to);
    bool fits = step->is_signed ? real >= -0x1p63 && real < 0x1p63 : real > -1 && real < 0x1p64;
    if (fits)
        *to = step->is_signed ? (uint64_t)(int64_t)real : (uint64_t)real;
    else
        sensor_mark(&machine->unknown, step->to, 1);
}

/* ---- reading ---- */

static void run_load(const struct sensor_probe *probe, struct sensor_machine *machine,
                     const struct sensor_step *step)
{
    uint64_t value = 0;

    if (sensor_marked(machine->unknown, step->to))
        return;
    if (program_memory(probe->program, machine->to[step->to] + (uint64_t)step->constant, &value,
                       step->size))
        machine->to[step->to] = sensor_extend(value, step->size * 8u, step->is_signed);
    else
        sensor_mark(&machine->unknown, step->to, 1);
}

static void run_step(const struct sensor_probe *probe, struct sensor_machine *machine,
                     const struct sensor_step *step)
{
    switch (step->operation) {
    case STEP_LOAD:
        run_load(probe, machine, step);
        break;
    case STEP_REAL:
        run_real(machine, step);
        break;
    case STEP_TO_REAL:
    case STEP_TO_INTEGER:
        run_conversion(machine, step);
        break;
    default: /* no STEP_REGISTER: a probe has no place */
        sensor_run(machine, step);
    }
}

static struct sensor_value read_struct(const struct sensor_probe *probe, uint64_t address)
{
    struct sensor_value value = {.kind = SENSOR_STRUCT};
    const struct shape *shape = probe->compiled.shape;
    char bytes[SENSOR_TEXT_BYTES] = "";

    if (!program_memory(probe->program, address, bytes, shape_size(shape)))
        return (struct sensor_value){.kind = SENSOR_UNKNOWN};
    shape_text(shape, bytes, value.text, sizeof(value.text));
    return value;
}

/* A text ends with its 0, its array, or what can be read: up to the end of a page. */
static struct sensor_value read_text(const struct sensor_probe *probe, uint64_t address)
{
    struct sensor_value value = {.kind = SENSOR_TEXT};
    uint64_t most = probe->compiled.text_most;
    size_t size = most > 0 && most < SENSOR_TEXT_BYTES - 1 ? (size_t)most : SENSOR_TEXT_BYTES - 1;
    size_t page = 4096 - (size_t)(address & 4095);
    size_t first = page < size ? page : size;

    if (size == 0 || !program_memory(probe->program, address, value.text, first))
        return (struct sensor_value){.kind = SENSOR_UNKNOWN};
    if (first < size && memchr(value.text, 0, first) == NULL)
        program_memory(probe->program, address + first, value.text + first, size - first);
    value.text[size] = '\0';
    return value;
}

static struct sensor_value read_value(struct sensor_probe *probe)
{
    struct sensor_machine machine = {0};

    for (uint32_t i = 0; i < probe->code.count; i++)
        run_step(probe, &machine, &probe->code.steps[i]);
    bool known = (machine.known & 1) != 0;
    if (known && probe->compiled.shape != NULL)
        return read_struct(probe, machine.values[0]);
    if (known && probe->compiled.is_text)
        return read_text(probe, machine.values[0]);
    return value_of_bits(&probe->compiled, machine.values[0], known);
}

#define TRIES      5
#define APART_MOST 50000u /* ns */

int sensor_probe_read(struct sensor_probe *probe, struct sensor_value *ret_value,
                      uint64_t *ret_time, struct problem *problem)
{
    struct sensor_value value = {.kind = SENSOR_UNKNOWN};
    uint64_t before = 0, after = 0;

    /* the kernel may let others run meanwhile: then the value was another one, perhaps, at any time in between */
    for (int tries = 0; tries < TRIES && (tries == 0 || after - before > APART_MOST); tries++) {
        before = clock_now(CLOCK_MONOTONIC);
        value = read_value(probe);
        after = clock_now(CLOCK_MONOTONIC);
    }
    /* what was read may be another execution's memory */
    int result = program_check(probe->program, problem);
    if (result < 0)
        return result;
    *ret_value = value;
    *ret_time = before + (after - before) / 2;
    return 0;
}
