/* SPDX-License-Identifier: MIT */
/* iterate.h: runs a kernel iterator and reads its output. Private to meter/load. */
#ifndef DPM_ITERATE_H
#define DPM_ITERATE_H

#include <bpf/libbpf.h>
#include <sys/types.h>

/* Runs `program` over all tasks, or over the threads of `pid` if it is not 0, and calls `line` for each line of `size`
 * bytes that it writes. Returns 0 or a negative errno; a negative result of `line` ends it and is returned. */
int iterate(const struct bpf_program *program, pid_t pid, size_t size,
            int (*line)(const void *line, void *context), void *context);

/* Runs a program that has no hook. Returns 0 or a negative errno. */
int run_once(const struct bpf_program *program);

#endif
