/* SPDX-License-Identifier: MIT */
/* view_probe.c: `dpm view probe`: values of a running process, on demand. See dpm-view(1). */
#include "command/views/view_probe.h"

#include "monitor/states.h"
#include "sensor/sensor.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

int view_process(const char *text, pid_t *ret_pid)
{
    char *end;

    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number == 0 ||
        number > INT_MAX)
        return command_usage_error(
            "view", "'%s': give the id of a process, or for sense the path of a program", text);
    *ret_pid = (pid_t)number;
    return -1;
}

void view_print_json_value(const struct sensor_value *value)
{
    char text[32];

    switch (value->kind) {
    case SENSOR_TEXT:
    case SENSOR_STRUCT:
        view_print_json_text(value->text);
        break;
    case SENSOR_REAL:
        if (isfinite(value->real))
            printf("%.17g", value->real);
        else
            printf("null");
        break;
    case SENSOR_UNKNOWN:
        printf("null");
        break;
    default:
        sensor_value_text(value, text, sizeof(text));
        printf("%s", text);
    }
}

void view_print_json_text(const char *text)
{
    json_t *json = view_text_json(text);

    if (json == NULL || json_dumpf(json, stdout, JSON_ENCODE_ANY) < 0)
        printf("null");
    json_decref(json);
}

struct probing {
    struct sensor_program *program;
    struct sensor_probe **probes;
    char *const *expressions;
    size_t count;
    bool json;
};

static int read_once(const struct probing *probing, struct problem *problem)
{
    for (size_t i = 0; i < probing->count; i++) {
        struct sensor_value value;
        char text[SENSOR_TEXT_SIZE * 4 + 3];
        uint64_t time;
        int result = sensor_probe_read(probing->probes[i], &value, &time, problem);
        if (result < 0)
            return result;
        if (probing->json) {
            printf("{\"time\": %" PRIu64 ", \"expression\": ", time);
            view_print_json_text(probing->expressions[i]);
            printf(", \"type\": ");
            view_print_json_text(sensor_probe_type(probing->probes[i]));
            printf(", \"value\": ");
            view_print_json_value(&value);
            puts("}");
        } else {
            sensor_value_text(&value, text, sizeof(text));
            printf("%s: %s\n", probing->expressions[i], text);
        }
    }
    return command_flush_output(problem);
}

static int probe_all(struct probing *probing, pid_t pid, uint64_t every, struct problem *problem)
{
    int result = sensor_program_open(pid, &probing->program, problem);

    for (size_t i = 0; result == 0 && i < probing->count; i++)
        result = sensor_probe_new(probing->program, probing->expressions[i], NULL,
                                  &probing->probes[i], problem);
    if (result == 0)
        result = read_once(probing, problem);
    while (result == 0 && every > 0) {
        const struct timespec pause = {(time_t)(every / 1000000000), (long)(every % 1000000000)};
        nanosleep(&pause, NULL);
        result = read_once(probing, problem);
        if (result == -ESRCH) /* it has ended: that is all */
            return 0;
    }
    return result;
}

int view_probe(const char *pid, char *const *expressions, size_t count,
               const struct view_probe_options *options)
{
    struct probing probing = {.expressions = expressions,
                              .count = count,
                              .probes = calloc(count, sizeof(struct sensor_probe *)),
                              .json = options->json};
    struct problem problem = {""};
    pid_t process = 0;
    int status = view_process(pid, &process);

    if (status < 0 && probing.probes == NULL)
        status = command_error("out of memory");
    if (status < 0)
        status = probe_all(&probing, process, options->every, &problem) < 0
                     ? command_error("%s", problem.text)
                     : EXIT_SUCCESS;
    for (size_t i = 0; probing.probes != NULL && i < count; i++)
        sensor_probe_free(probing.probes[i]);
    free(probing.probes);
    sensor_program_close(probing.program);
    return status;
}
