/* SPDX-License-Identifier: MIT */
/*
 * placements_fuzz.c: the input is a file for `dpm parallelism`: an assignment, or delays. Any input is accepted, or
 * rejected with one line that says where. Accepted values are within their limits, and no delay is negative.
 */
#include "analysis/parallelism/placements.h"
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_refusal(const char *name, int result, const struct problem *problem)
{
    PROMISE(result == -EINVAL);
    PROMISE(strncmp(problem->text, name, strlen(name)) == 0);
    PROMISE(strchr(problem->text, '\n') == NULL);
}

static void check_assignment(const struct placements *placements)
{
    const struct assignment *assignment = &placements->assignments[0];

    PROMISE(placements->count == 1 && assignment->kind == ASSIGNED);
    PROMISE(assignment->machine_count > 0);
    for (size_t i = 0; i < assignment->machine_count; i++) {
        const struct assigned_machine *machine = &assignment->machines[i];
        PROMISE(machine->cores >= 1 && machine->cores <= 100000);
        PROMISE(machine->speed > 0 && machine->speed < 1e6);
        PROMISE(memchr(machine->name, '\0', sizeof(machine->name)) != NULL);
    }
    for (size_t i = 0; i < assignment->process_count; i++)
        PROMISE(assignment->processes[i].machine < assignment->machine_count);
}

static void check_delay(const struct delay *delay)
{
    PROMISE(delay->count <= DELAY_POINTS);
    for (uint32_t i = 1; i < delay->count; i++)
        PROMISE(delay->points[i].bytes > delay->points[i - 1].bytes);
    for (uint64_t bytes = 0; bytes < UINT32_MAX; bytes = bytes * 3 + 1)
        PROMISE(delay_of(delay, bytes) < UINT64_MAX / 2);
}

static void check_delays(const struct placements *placements)
{
    check_delay(&placements->delays.local);
    check_delay(&placements->delays.remote);
    for (size_t i = 0; i < placements->delays.between_count; i++)
        check_delay(&placements->delays.between[i].delay);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int file = memfd_create("placements", MFD_CLOEXEC);
    struct problem problem;
    char name[64];

    if (file < 0 || write(file, bytes, size) != (ssize_t)size)
        abort();
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    for (int delays = 0; delays < 2; delays++) {
        struct placements placements = {0};
        int result = delays ? placements_read_delays(&placements, name, &problem)
                            : placements_read(&placements, name, &problem);
        if (result < 0)
            check_refusal(name, result, &problem);
        else if (delays)
            check_delays(&placements);
        else
            check_assignment(&placements);
        placements_done(&placements);
    }
    close(file);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] = "machine big 4 1.5 # cores, speed\nmachine small\ntsp big\n"
                                  "web server small\n* big\nlocal 10us\nremote 13ms+22us/B\n"
                                  "big small 1:4.2ms,100:5ms,1000:12.8ms\n";

    return fuzz_text(bytes, room, example);
}
