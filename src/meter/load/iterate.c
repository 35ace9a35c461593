/* SPDX-License-Identifier: MIT */
/* iterate.c: runs a kernel iterator and reads the lines it writes. See iterate.h. */
#include "meter/load/iterate.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Calls `line` for whole lines only; a read may end inside one. */
static int read_lines(int fd, size_t size, int (*line)(const void *line, void *context),
                      void *context)
{
    char buffer[4096];
    size_t have = 0;

    for (;;) {
        ssize_t got = read(fd, buffer + have, sizeof(buffer) - have);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return 0;
        have += (size_t)got;
        size_t at = 0;
        for (; have - at >= size; at += size) {
            int result = line(buffer + at, context);
            if (result < 0)
                return result;
        }
        have -= at;
        for (size_t i = 0; i < have; i++)
            buffer[i] = buffer[at + i];
    }
}

int run_once(const struct bpf_program *program)
{
    LIBBPF_OPTS(bpf_test_run_opts, options);

    return bpf_prog_test_run_opts(bpf_program__fd(program), &options);
}

int iterate(const struct bpf_program *program, pid_t pid, size_t size,
            int (*line)(const void *line, void *context), void *context)
{
    union bpf_iter_link_info info = {.task.pid = (uint32_t)pid};
    struct bpf_iter_attach_opts options;

    memset(
        &options, 0,
        sizeof(options)); /* libbpf refuses padding that is not zero, which LIBBPF_OPTS may leave */
    options.sz = sizeof(options);
    options.link_info = &info;
    options.link_info_len = sizeof(info);
    struct bpf_link *link = bpf_program__attach_iter(program, pid != 0 ? &options : NULL);

    if (link == NULL)
        return -errno;
    int fd = bpf_iter_create(bpf_link__fd(link));
    int result = fd < 0 ? -errno : read_lines(fd, size, line, context);
    if (fd >= 0)
        close(fd);
    bpf_link__destroy(link);
    return result;
}
