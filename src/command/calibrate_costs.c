/* SPDX-License-Identifier: MIT */
/*
 * calibrate_costs.c: `dpm calibrate --costs`: what messages, sensors, probes and comparisons cost here, as `dpm view --costs`
 * reads it. See dpm-view(5).
 *
 *      one way = time to the receiver, and the CPU time of receiving: costs have both apart
 */
#include "command/calibrate_costs.h"

#include <string.h>

#define SHORT_MESSAGE 2 /* index of 100 bytes: about the size of a record */
#define LONG_MESSAGE  4 /* 10000 bytes */

/* Without the sender's CPU time: of a message between machines, an agent takes far more than a bare send. */
static void write_message(FILE *file, const char *distance, const uint64_t medians[CALIBRATE_SIZES],
                          uint64_t receive)
{
    double first = (double)medians[0], shorter = (double)medians[SHORT_MESSAGE];
    double longer = (double)medians[LONG_MESSAGE];
    double bytes = calibrate_sizes[LONG_MESSAGE] - calibrate_sizes[SHORT_MESSAGE];

    fprintf(file, "message %s %.2fus byte %.3fns", distance,
            first > (double)receive ? (first - (double)receive) / 1e3 : 0,
            longer > shorter ? (longer - shorter) / bytes : 0);
}

/* The costs of the slowest host at this distance. */
struct slowest {
    bool found;
    uint64_t medians[CALIBRATE_SIZES];
};

static int measure_hosts(const struct calibrate_host *hosts, size_t count, uint64_t time,
                         struct slowest slowest[2], struct problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        struct slowest *to = &slowest[calibrate_is_on_subnet(&hosts[i]) ? 0 : 1];
        uint64_t medians[CALIBRATE_SIZES];
        int result = calibrate_remote(&hosts[i], time, medians, problem);
        if (result < 0)
            return result;
        if (to->found && to->medians[SHORT_MESSAGE] >= medians[SHORT_MESSAGE])
            continue;
        to->found = true;
        memcpy(to->medians, medians, sizeof(medians));
    }
    return 0;
}

static int write_messages(FILE *file, const struct calibrate_host *hosts, size_t count,
                          uint64_t time, struct problem *problem)
{
    static const char *const distances[] = {"subnet", "network"};
    struct slowest slowest[2] = {{0}, {0}};
    uint64_t medians[CALIBRATE_SIZES];
    struct calibrate_cpu cpu;
    int result = calibrate_local(CALIBRATE_UNIX, time, medians, &cpu);

    if (result < 0)
        return problem_set(problem, result, "unix: %s", strerror(-result));
    result = measure_hosts(hosts, count, time, slowest, problem);
    if (result < 0)
        return result;
    write_message(file, "machine", medians, cpu.receive);
    fprintf(file, " send %.2fus\nreceive %.2fus\n", (double)cpu.send / 1e3,
            (double)cpu.receive / 1e3);
    for (size_t i = 0; i < ARRAY_SIZE(slowest); i++) {
        if (slowest[i].found)
            write_message(file, distances[i], slowest[i].medians, cpu.receive);
        else
            fprintf(file, "# message %s: not measured: give HOST:PORT of such a machine",
                    distances[i]);
        fputc('\n', file);
    }
    return 0;
}

int calibrate_write_costs(FILE *file, const struct calibrate_host *hosts, size_t count,
                          uint64_t time, struct problem *problem)
{
    struct calibrate_sensing sensing;
    struct problem why = {""};

    fputs("# costs for dpm view --costs, measured on this machine (dpm calibrate --costs)\n", file);
    int result = write_messages(file, hosts, count, time, problem);
    if (result < 0)
        return result;
    if (calibrate_sensor(&sensing, &why) == 0)
        fprintf(file, "sensor %.2fus\nswitch %.1fus cpu %.1fus\n", sensing.sensor / 1e3,
                sensing.turn / 1e3, sensing.turn_cpu / 1e3);
    else
        fprintf(file, "# sensor, switch: not measured: %s\n", why.text);
    if (calibrate_probe(&sensing, &why) == 0)
        fprintf(file, "probe %.2fus cpu %.2fus\n", sensing.probe_time / 1e3,
                sensing.probe_cpu / 1e3);
    else
        fprintf(file, "# probe: not measured: %s\n", why.text);
    result = calibrate_evaluate(&sensing, problem);
    if (result == 0)
        fprintf(file, "evaluate %.1fns\n", sensing.evaluate);
    return result;
}
