/* SPDX-License-Identifier: MIT */
/* programs.c: handles the kernel programs one by one. See programs.h. */
#include "meter/load/programs.h"

#include "meter/load/kernel_types.h"
#include "meter/load/libbpf_ways.h"
#include "meter/load/meter_types.h"

#include "meter.skel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool is_iterator(struct bpf_program *program)
{
    return bpf_program__expected_attach_type(program) == BPF_TRACE_ITER;
}

/* Opens an iterator without reading from it, because reading would run it. */
static int try_iterator(struct bpf_program *program)
{
    struct bpf_link *link = bpf_program__attach_iter(program, NULL);

    if (link == NULL)
        return -errno;
    int fd = bpf_iter_create(bpf_link__fd(link));
    int result = fd < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    bpf_link__destroy(link);
    return result;
}

int programs_try_iterators(struct meter_interface *meter, struct problem *problem)
{
    struct bpf_program *program;

    bpf_object__for_each_program(program, meter_of(meter)->kernel->obj)
    {
        int result = is_iterator(program) ? try_iterator(program) : 0;
        if (result < 0)
            return problem_set(problem, result, "cannot open the iterator %s: %s",
                               bpf_program__name(program), strerror(-result));
    }
    return 0;
}

int programs_each(int (*each)(const char *name, const char *section, void *context), void *context)
{
    struct bpf_program *program;
    int result = 0;

    quiet_libbpf();
    struct meter_bpf *kernel = meter_bpf__open();
    if (kernel == NULL)
        return -errno;
    bpf_object__for_each_program(program, kernel->obj) if (result >= 0) result =
        each(bpf_program__name(program), bpf_program__section_name(program), context);
    meter_bpf__destroy(kernel);
    return result < 0 ? result : 0;
}

/* Loads and attaches the one program of `kernel` that is enabled. */
static int load_one(struct meter_bpf *kernel, struct bpf_program *program)
{
    int result = meter_bpf__load(kernel);

    if (result < 0)
        return result;
    if (is_iterator(program))
        return try_iterator(program);
    if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
        return 0; /* attached by the user of the meter: to a control group or another program */
    struct bpf_link *link = bpf_program__attach(program);
    if (link == NULL)
        return -errno;
    bpf_link__destroy(link);
    return 0;
}

/* As choose_hooks() in meter.c. */
static bool exit_tells_last(void)
{
    struct kernel_types *types;

    if (kernel_types_read(&types) < 0)
        return false;
    bool tells = tracepoint_arguments(types, "sched_process_exit") > 1;
    kernel_types_free(types);
    return tells;
}

int program_try(const char *name, char *log, size_t log_size)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = log, .kernel_log_size = log_size,
                .btf_custom_path = types_to_read());
    struct bpf_program *program;

    quiet_libbpf();
    struct meter_bpf *kernel = meter_bpf__open_opts(&options);
    if (kernel == NULL)
        return -errno;
    kernel->rodata->flags_in_force = METER_ALL_FLAGS;
    kernel->rodata->kinds_in_force = METER_EVERY_KIND;
    kernel->rodata->exit_tells_last = exit_tells_last();
    kernel->rodata->calls_end = true;
    bpf_map__set_max_entries(kernel->maps.data_ring, (uint32_t)sysconf(_SC_PAGESIZE));
    bpf_map__set_max_entries(kernel->maps.control_ring, (uint32_t)sysconf(_SC_PAGESIZE));
    bpf_object__for_each_program(program, kernel->obj)
        bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
    program = bpf_object__find_program_by_name(kernel->obj, name);
    int result = program == NULL ? -ENOENT : load_one(kernel, program);
    meter_bpf__destroy(kernel);
    return result;
}
