/* SPDX-License-Identifier: MIT */
/*
 * bpf_stats.c: runs a command while the kernel counts the runs of BPF programs and their time.
 *
 *      bpf-stats COMMAND [ARGUMENT...]
 *
 * The kernel counts as long as a certain file descriptor is open, which the command and its descendants inherit. So
 * nothing has to be restored, however they end, unlike with the sysctl kernel.bpf_stats_enabled.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bpf-stats COMMAND [ARGUMENT...]\n");
        return 2;
    }
    int counting = bpf_enable_stats(BPF_STATS_RUN_TIME);

    if (counting < 0 || fcntl(counting, F_SETFD, 0) < 0) {
        fprintf(stderr,
                "bpf-stats: cannot make the kernel count runs of BPF programs: %s; be root\n",
                strerror(counting < 0 ? -counting : errno));
        return 1;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "bpf-stats: cannot run '%s': %m\n", argv[1]);
    return 127;
}
