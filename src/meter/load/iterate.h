/* SPDX-License-Identifier: MIT */
/* iterate.h: runs a kernel iterator, and reads what it lists. Private to meter/load. */
#ifndef DPM_ITERATE_H
#define DPM_ITERATE_H

#include <bpf/libbpf.h>
#include <sys/types.h>

/* Runs `program` over all tasks, or over the threads of `pid` if it is not 0, and calls `line`
 * with each line of `size` bytes it writes. Returns 0 or a negative errno (line's, if negative). */
int iterate(const struct bpf_program *program, pid_t pid, size_t size,
            int (*line)(const void *line, void *context), void *context);

/* Runs a program that is attached to nothing. Returns 0 or a negative errno. */
int run_once(const struct bpf_program *program);

#endif
