/* SPDX-License-Identifier: MIT */
/*
 * filesystem_report.c: the counts of the processes, added up by role and printed.
 *
 *     counts[process] ── sum by role ──► messages between roles, what followed what, the cache
 *
 * Each line is words separated by blanks; the first word names the table, so that scripts can read them, too.
 */
#include "filesystem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct totals {
    struct counts of[ROLES];
    double cpu_ms[ROLES];
};

static void add(struct counts *sum, const struct counts *counts)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)counts;
    for (size_t index = 0; index < sizeof(*sum) / sizeof(*to); index++)
        to[index] += from[index];
}

static void sum_up(const struct launch *launch, struct totals *ret_totals)
{
    *ret_totals = (struct totals){.cpu_ms = {0}};
    for (unsigned number = 0; number < SERVERS + launch->shared->settings.users; number++) {
        const struct cpu_time *cpu = &launch->cpu[number];
        add(&ret_totals->of[role_of(number)], &launch->shared->counts[number]);
        ret_totals->cpu_ms[role_of(number)] += (double)(cpu->user_us + cpu->system_us) / 1e3;
    }
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_cpu(const struct launch *launch, const struct totals *totals)
{
    double servers_ms = 0;
    for (unsigned role = 0; role < SERVERS; role++)
        servers_ms += totals->cpu_ms[role];
    printf("\n%-9s %-15s %12s %20s\n", "CPU", "OF", "CPU TIME", "% OF THE SERVERS'");
    for (unsigned role = 0; role < ROLES; role++) {
        if (!launch_has(launch, role))
            continue;
        printf("%-9s %-15s %9.1f ms", "cpu", role_names[role], totals->cpu_ms[role]);
        if (role < SERVERS && launch->part < 0)
            printf(" %20.1f", percent(totals->cpu_ms[role], servers_ms));
        printf("\n");
    }
}

static void print_sent(const struct totals *totals)
{
    printf("\n%-9s %-15s %-15s %9s %11s\n", "SENT", "FROM", "TO", "MESSAGES", "BYTES");
    for (unsigned from = 0; from < ROLES; from++)
        for (unsigned to = 0; to < ROLES; to++)
            if (totals->of[from].sent[to])
                printf("%-9s %-15s %-15s %9" PRIu64 " %11" PRIu64 "\n", "sent", role_names[from],
                       role_names[to], totals->of[from].sent[to], totals->of[from].sent_bytes[to]);
}

static void print_next(const struct totals *totals)
{
    printf("\n%-9s %-15s %-15s %-15s %9s\n", "NEXT", "AT", "RECEIVED FROM", "NEXT SENT TO",
           "COUNT");
    for (unsigned at = 0; at < ROLES; at++)
        for (unsigned from = 0; from <= ROLES; from++)
            for (unsigned to = 0; to < ROLES; to++)
                if (totals->of[at].next[from][to])
                    printf("%-9s %-15s %-15s %-15s %9" PRIu64 "\n", "next", role_names[at],
                           role_names[from], role_names[to], totals->of[at].next[from][to]);
}

/* The shares in figure 5.19. */
static void print_shares(const struct totals *totals)
{
    const struct counts *buffers = &totals->of[BUFFER_MANAGER];
    const struct counts *requests = &totals->of[REQUEST_INTERPRETER];
    const uint64_t to_disk = buffers->next[REQUEST_INTERPRETER][DISK_INTERFACE];
    const uint64_t hits = buffers->next[REQUEST_INTERPRETER][REQUEST_INTERPRETER];
    uint64_t answered = 0;
    for (unsigned to = 0; to < ROLES; to++)
        answered += buffers->next[DISK_INTERFACE][to];
    const uint64_t again = buffers->next[DISK_INTERFACE][DISK_INTERFACE];
    const uint64_t opens = requests->next[ROLE_USER][DIRECTORY_MANAGER];

    printf("to-disk    %.1f %% of requests to the buffer manager go on to the disk\n",
           percent((double)to_disk, (double)(to_disk + hits)));
    printf("again      %.1f %% of the disk's answers lead to another disk access\n",
           percent((double)again, (double)answered));
    printf("directory  %.1f %% of users' requests go to the directory manager\n",
           percent((double)opens, (double)(opens + requests->next[ROLE_USER][BUFFER_MANAGER])));
}

/* The messages sent must have been received: by role, from role. */
static int check(const struct totals *totals, struct problem *problem)
{
    for (unsigned from = 0; from < ROLES; from++)
        for (unsigned to = 0; to < ROLES; to++)
            if (totals->of[from].sent[to] != totals->of[to].received[from])
                return problem_set(problem, -EIO,
                                   "%s sent %s %" PRIu64 " messages, but %" PRIu64 " came",
                                   role_names[from], role_names[to], totals->of[from].sent[to],
                                   totals->of[to].received[from]);
    return 0;
}

int report_print(const struct launch *launch, struct problem *problem)
{
    struct totals totals;
    sum_up(launch, &totals);
    const struct counts *users = &totals.of[ROLE_USER];
    const struct counts *buffers = &totals.of[BUFFER_MANAGER];
    printf("elapsed    %.1f ms\n", (double)launch->elapsed_us / 1e3);
    if (launch_has(launch, ROLE_USER)) {
        printf("requests   %" PRIu64 " reads and writes, %" PRIu64 " opens and closes\n",
               users->operations, users->opens);
        printf("verified   %" PRIu64 " records read and right\n", users->verified);
    }
    if (launch_has(launch, BUFFER_MANAGER))
        printf("cache      %" PRIu64 " hits, %" PRIu64 " misses\n", buffers->hits, buffers->misses);
    if (launch->part < 0)
        print_shares(&totals);
    print_cpu(launch, &totals);
    print_sent(&totals);
    print_next(&totals);
    return launch->part < 0 ? check(&totals, problem) : 0; /* the other end is elsewhere */
}
