/* SPDX-License-Identifier: MIT */
/* view_sense.c: `dpm view sense`: values of a running process, each time that it reaches a place. See dpm-view(1). */
#include "command/views/view_probe.h"

#include "base/process.h"
#include "sensor/sensor.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Records that are printed before signals are looked at: a hot place fills the ring as fast as it is read. */
#define AT_ONCE 1000u

struct sensing {
    struct sensor_program *program;
    struct sensors *sensors;
    struct sensor *sensor;
    char *const *expressions;
    size_t count;
    const struct view_probe_options *options;
    struct view_file *file; /* --when, as a view */
    struct view_conditions conditions;
    int signals;
    int under; /* pidfd of --under; -1: none */
    uint64_t begun, printed;
    bool more;     /* there may be records in the ring */
    uint64_t last; /* how many records there were when the end came; 0: it has not */
};

/* ---- --when ---- */

/* "value2" of the object "sensor" is the second expression. */
static int find_values(const struct sensing *sensing, const struct view *view,
                       uint32_t value_of[VIEW_REFERENCES_MOST], struct problem *problem)
{
    for (size_t i = 0; i < view->reference_count; i++) {
        const struct view_reference *reference = &view->references[i];
        const struct view_entity *entity = &view->entities[reference->entity];
        unsigned number = 1;
        char behind;
        if (!view_same_name(entity->object, "sensor") || entity->index != VIEW_ONLY ||
            (!view_same_name(reference->attribute, "value") &&
             sscanf(reference->attribute, "%*5[vVaAlLuUeE]%u%c", &number, &behind) != 1) ||
            number == 0 || number > sensing->count)
            return problem_set(problem, -EINVAL,
                               "--when: there is no %s.%s; name the values sensor.value1 ... "
                               "sensor.value%zu",
                               entity->object, reference->attribute, sensing->count);
        value_of[i] = number - 1;
    }
    return 0;
}

static int set_condition(struct sensing *sensing, struct problem *problem)
{
    uint32_t value_of[VIEW_REFERENCES_MOST] = {0};
    char text[4096];

    if ((size_t)snprintf(text, sizeof(text),
                         "VIEW DEF Sensed (value: sensor.value1) ACTIVE WHEN\n%s\n; END VIEW DEF",
                         sensing->options->when) >= sizeof(text))
        return problem_set(problem, -EINVAL, "--when: the condition is too long");
    int result = view_parse("--when", text, strlen(text), &sensing->file, problem);
    if (result == 0)
        result = view_conditions_make(&sensing->file->views[0], &sensing->conditions, problem);
    if (result == 0)
        result = find_values(sensing, &sensing->file->views[0], value_of, problem);
    return result < 0
               ? result
               : sensor_condition(sensing->sensor, &sensing->conditions, 0, value_of, problem);
}

/* ---- records ---- */

static void print_record(const struct sensing *sensing, const struct sensor_record *record)
{
    char text[SENSOR_TEXT_SIZE * 4 + 3];

    bool by_file = sensor_program_pid(sensing->program) == 0;

    if (sensing->options->json) {
        printf("{\"time\": %" PRIu64, record->time);
        if (by_file)
            printf(", \"pid\": %d", record->pid);
        printf(", \"tid\": %d, \"values\": [", record->tid);
        for (uint32_t i = 0; i < record->value_count; i++) {
            printf("%s", i > 0 ? ", " : "");
            view_print_json_value(&record->values[i]);
        }
        puts("]}");
        return;
    }
    printf("%12.6f s ", (double)(record->time - sensing->begun) / 1e9);
    if (by_file)
        printf(" [%d]", record->pid);
    for (uint32_t i = 0; i < record->value_count; i++) {
        sensor_value_text(&record->values[i], text, sizeof(text));
        printf(" %s: %s", sensing->expressions[i], text);
    }
    putchar('\n');
}

/* Returns 1 after the last record. */
static int print_records(struct sensing *sensing, struct problem *problem)
{
    uint64_t most = sensing->options->count;
    struct sensor_record record;
    int result = 1;

    for (unsigned i = 0; i < AT_ONCE && (most == 0 || sensing->printed < most); i++) {
        result = sensors_next(sensing->sensors, &record);
        if (result == 0)
            break;
        if (result < 0)
            return problem_set(problem, result, "cannot read the ring: %s", strerror(-result));
        if (record.command == SENSOR_ENDED)
            return 1;
        if (record.command == SENSOR_EXECUTED)
            return problem_set(problem, -ESTALE, "process %d executes another program now",
                               record.pid);
        print_record(sensing, &record);
        sensing->printed++;
    }
    sensing->more = result != 0;
    result = command_flush_output(problem);
    return result < 0 ? result : most > 0 && sensing->printed == most;
}

/* After a signal, or the end of --under: what was recorded up to then is printed, what others go on to record is not. */
static bool is_over(struct sensing *sensing)
{
    struct sensor_counts counts;

    if (sensing->last == 0) {
        sensor_counts_read(sensing->sensor, &counts);
        sensing->last = counts.passed;
    }
    return !sensing->more || sensing->printed >= sensing->last;
}

static int print_until_end(struct sensing *sensing, struct problem *problem)
{
    int result = 0;

    while (result == 0) {
        struct pollfd ready[] = {{.fd = sensors_descriptor(sensing->sensors), .events = POLLIN},
                                 {.fd = sensing->signals, .events = POLLIN},
                                 {.fd = sensing->under, .events = POLLIN}};
        /* now and then: whether the process executes another program */
        if (poll(ready, 3, sensing->more ? 0 : 500) < 0 && errno != EINTR)
            return problem_set(problem, -errno, "poll: %s", strerror(errno));
        result = print_records(sensing, problem);
        if (result == 0 && (ready[1].revents != 0 || ready[2].revents != 0) && is_over(sensing))
            result = 1;
    }
    return result < 0 ? result : 0;
}

/* What stands in the kernel's counts, but not in the output. */
static void note_counts(const struct sensing *sensing)
{
    struct sensor_counts counts;
    uint64_t not_followed = sensors_not_followed(sensing->sensors);
    char not_read[40] = "";

    sensor_counts_read(sensing->sensor, &counts);
    if (counts.passed > sensing->printed) /* they are still in the ring */
        snprintf(not_read, sizeof(not_read), ", %" PRIu64 " not read",
                 counts.passed - sensing->printed);
    command_say("%" PRIu64 " time%s at the place: %" PRIu64 " printed, %" PRIu64
                " refused by --when, %" PRIu64 " unchanged, %" PRIu64 " lost%s",
                counts.hits, counts.hits == 1 ? "" : "s", sensing->printed, counts.refused,
                counts.unchanged, counts.lost, not_read);
    if (counts.foreign > 0 && sensor_program_pid(sensing->program) == 0)
        command_say("%" PRIu64 " time%s in processes that do not count: they execute another "
                    "program%s",
                    counts.foreign, counts.foreign == 1 ? "" : "s",
                    sensing->under < 0 ? "" : ", or do not descend from --under");
    if (not_followed > 0)
        command_say("%" PRIu64 " process%s could not be followed: there were too many",
                    not_followed, not_followed == 1 ? "" : "es");
}

/* ---- all ---- */

static int watch_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* --under */
static int follow(struct sensing *sensing, struct problem *problem)
{
    pid_t pid = sensing->options->under;

    if (pid == 0)
        return 0;
    sensing->under = process_open(pid);
    return sensing->under < 0 ? problem_set(problem, sensing->under, "--under: process %d: %s", pid,
                                            sensing->under == -ESRCH ? "there is no such process"
                                                                     : strerror(-sensing->under))
                              : sensors_follow(sensing->sensors, pid, problem);
}

/* `file`: NULL: the process. */
static int sense(struct sensing *sensing, pid_t pid, const char *file, const char *place,
                 struct problem *problem)
{
    struct sensor_wish wish = {.place = strcmp(place, "-") == 0 ? NULL : place,
                               .values = (const char *const *)sensing->expressions,
                               .value_count = sensing->count,
                               .changes_only = sensing->options->changes,
                               .notify = true,
                               .family = sensing->options->under != 0};
    int result = file == NULL ? sensor_program_open(pid, &sensing->program, problem)
                              : sensor_program_open_file(file, &sensing->program, problem);

    wish.program = sensing->program;
    if (result == 0)
        result = sensors_open(4 << 20, &sensing->sensors, problem);
    if (result == 0)
        result = sensor_add(sensing->sensors, &wish, &sensing->sensor, problem);
    if (result == 0 && sensing->options->when != NULL)
        result = set_condition(sensing, problem);
    if (result == 0)
        result = follow(sensing, problem);
    sensing->signals = watch_signals();
    sensing->begun = clock_now(CLOCK_MONOTONIC);
    if (result == 0)
        result = sensor_switch(sensing->sensor, true, problem);
    if (result < 0)
        return result;
    if (file == NULL)
        command_say("process %d: the sensor is on", pid);
    else
        command_say("%s: the sensor is on", file);
    result = print_until_end(sensing, problem);
    sensor_switch(sensing->sensor, false, NULL);
    note_counts(sensing);
    return result;
}

int view_sense(const char *of, const char *place, char *const *expressions, size_t count,
               const struct view_probe_options *options)
{
    struct sensing sensing = {
        .expressions = expressions, .count = count, .options = options, .signals = -1, .under = -1};
    struct problem problem = {""};
    const char *file = strchr(of, '/') != NULL ? of : NULL;
    pid_t process = 0;
    int status = file == NULL ? view_process(of, &process) : -1;

    if (status < 0 && file == NULL && options->under != 0)
        status = command_usage_error("view",
                                     "--under chooses among the processes of a program: "
                                     "give its path, as in /proc/%d/exe",
                                     process);
    if (status < 0)
        status = sense(&sensing, process, file, place, &problem) < 0
                     ? command_error("%s", problem.text)
                     : EXIT_SUCCESS;
    sensors_close(sensing.sensors);
    sensor_program_close(sensing.program);
    view_conditions_done(&sensing.conditions);
    view_file_free(sensing.file);
    if (sensing.signals >= 0)
        close(sensing.signals);
    if (sensing.under >= 0)
        close(sensing.under);
    return status;
}
