/* SPDX-License-Identifier: MIT */
/*
 * state.c: how long it takes to read the state of the machine, and of a cgroup, as a recording does once a second.
 *
 *      state [TIMES]     the CPU time of one reading each, in us: median (quartiles) of 11 rounds of TIMES (200)
 */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 11

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static void print_row(const char *name, double rounds[ROUNDS])
{
    qsort(rounds, ROUNDS, sizeof(*rounds), by_size);
    printf("%-34s %.1f (%.1f - %.1f)\n", name, rounds[ROUNDS / 2], rounds[ROUNDS / 4],
           rounds[3 * ROUNDS / 4]);
}

static double since(uint64_t begin, unsigned times)
{
    return (double)(clock_now(CLOCK_PROCESS_CPUTIME_ID) - begin) / 1000 / times;
}

static size_t read_cgroups(struct host_cgroups *cgroups)
{
    struct host_cgroup cgroup;
    size_t at = 0;

    while (host_cgroups_next(cgroups, &at, false, &cgroup))
        ;
    return at;
}

int main(int argc, char **argv)
{
    unsigned times = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    double rounds[2][ROUNDS];
    struct summary_record summary;
    struct host_cgroups *cgroups;
    struct names names = {0};
    struct host *host;
    char path[CGROUP_PATH_SIZE];
    FILE *file = popen("sed -n 's/^0:://p' /proc/self/cgroup", "r");

    if (times == 0 || host_open("", &host) < 0 ||
        host_cgroups_open("", names_cgroups(&names), &cgroups) < 0)
        return EXIT_FAILURE;
    if (file != NULL && fscanf(file, "%4095s", path) == 1)
        host_cgroups_note(cgroups, path);
    if (file != NULL)
        pclose(file);
    host_cgroups_note_process(cgroups, getpid());
    size_t watched = read_cgroups(cgroups);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t begin = clock_now(CLOCK_PROCESS_CPUTIME_ID);
        for (unsigned i = 0; i < times; i++)
            host_read(host, &summary);
        rounds[0][round] = since(begin, times);
        begin = clock_now(CLOCK_PROCESS_CPUTIME_ID);
        for (unsigned i = 0; i < times; i++)
            read_cgroups(cgroups);
        rounds[1][round] = watched == 0 ? 0 : since(begin, times) / (double)watched;
    }
    puts("reading the state: us of CPU time, median (quartiles)");
    print_row("the machine (SUMMARY)", rounds[0]);
    if (watched > 0)
        print_row("a cgroup (CGROUP)", rounds[1]);
    host_cgroups_close(cgroups);
    host_close(host);
    names_done(&names);
    return EXIT_SUCCESS;
}
