/* SPDX-License-Identifier: MIT */
/*
 * short_slices.c: runs a command whose processes share processors in time slices of 0.1 ms.
 *
 *      short-slices COMMAND [ARGUMENT...]
 *
 *      default slices server 1  ======--------======      one answers twice before the other begins
 *                     server 2  ------======------
 *      short slices   server 1  =-=-=-=-=-                as if each had its own processor, only slower
 *                     server 2  -=-=-=-=-=
 *
 * The order of events then depends less on which process got a processor first, and less on the number of processors.
 * Linux uses the process's slice length since 6.12, and ignores it before.
 */
#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE 100000 /* ns, the minimum in Linux */

int main(int argument_count, char **arguments)
{
    struct sched_attr attributes = {
        .size = sizeof(attributes),
        .sched_policy = SCHED_NORMAL,
        .sched_runtime = SLICE,
    };

    if (argument_count < 2) {
        fprintf(stderr, "usage: short-slices COMMAND [ARGUMENT...]\n");
        return 2;
    }
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) < 0)
        fprintf(stderr, "short-slices: usual slices are used: sched_setattr: %s\n",
                strerror(errno));
    execvp(arguments[1], &arguments[1]);
    fprintf(stderr, "short-slices: %s: %s\n", arguments[1], strerror(errno));
    return 127;
}
