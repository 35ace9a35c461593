/* SPDX-License-Identifier: MIT */
/*
 * meter_probes.c: uprobes at places in libraries. See meter_interface.h, probe.
 *
 *      Linux 6.6 or later      one link for all places of a file with the same program: taken away at once
 *      before                  a link for each: the kernel waits for all processors, several times, for each that goes
 *                              (0.1 s of a busy machine)
 */
#include "meter/load/meter_types.h"

#include "meter.skel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* bpf(2), of which the system's headers may be older than the kernel. */
#define UPROBE_MULTI        48 /* enum bpf_attach_type */
#define UPROBE_MULTI_RETURN 1

struct link_attributes {
    uint32_t program, target, attach_type, flags;
    uint64_t path, offsets, semaphores, cookies; /* addresses */
    uint32_t count, multi_flags, pid, padding;
};

void meter_probes_choose(struct meter *meter)
{
    struct bpf_program *const programs[] = {
        meter->kernel->progs.library_sensor,     meter->kernel->progs.mpi_begins,
        meter->kernel->progs.mpi_request_begins, meter->kernel->progs.mpi_ends,
        meter->kernel->progs.mpi_making_begins,  meter->kernel->progs.mpi_making_ends};

    for (size_t i = 0; meter->probes_at_once && i < ARRAY_SIZE(programs); i++)
        bpf_program__set_expected_attach_type(programs[i], UPROBE_MULTI);
}

static const struct bpf_program *program_called(const struct meter *meter, const char *name)
{
    return bpf_object__find_program_by_name(meter->kernel->obj, name);
}

/* ---- one at a time ---- */

static int attach_one(struct meter *meter, const struct bpf_program *program, const char *path,
                      const struct meter_probe *probe)
{
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = probe->cookie,
                .ref_ctr_offset = probe->semaphore, .retprobe = probe->at_return);

    if (array_reserve(&meter->probes, &meter->probe_capacity, meter->probe_count + 1,
                      sizeof(*meter->probes)) < 0)
        return -ENOMEM;
    struct bpf_link *link =
        bpf_program__attach_uprobe_opts(program, -1, path, probe->offset, &options);
    if (link == NULL)
        return -errno;
    meter->probes[meter->probe_count++] = link;
    return 0;
}

/* ---- many at once ---- */

/* Those of one program; `first` and others that are alike. */
struct group {
    const struct bpf_program *program;
    bool at_return;
    size_t count;
    uint64_t *offsets, *semaphores, *cookies; /* [count], one after the other */
};

static bool is_alike(const struct meter_probe *one, const struct meter_probe *other)
{
    return one->at_return == other->at_return && strcmp(one->program, other->program) == 0;
}

static int gather(const struct meter_probe *probes, size_t count, size_t first,
                  struct group *ret_group)
{
    uint64_t *numbers = calloc(3 * count, sizeof(*numbers));

    if (numbers == NULL)
        return -ENOMEM;
    ret_group->at_return = probes[first].at_return;
    ret_group->offsets = numbers;
    ret_group->semaphores = numbers + count;
    ret_group->cookies = numbers + 2 * count;
    for (size_t i = first; i < count; i++)
        if (is_alike(&probes[i], &probes[first])) {
            ret_group->offsets[ret_group->count] = probes[i].offset;
            ret_group->semaphores[ret_group->count] = probes[i].semaphore;
            ret_group->cookies[ret_group->count++] = probes[i].cookie;
        }
    return 0;
}

static int attach_some(struct meter *meter, const struct group *group, const char *path,
                       size_t first, size_t count)
{
    const struct link_attributes attributes = {
        .program = (uint32_t)bpf_program__fd(group->program),
        .attach_type = UPROBE_MULTI,
        .path = (uintptr_t)path,
        .offsets = (uintptr_t)(group->offsets + first),
        .semaphores = (uintptr_t)(group->semaphores + first),
        .cookies = (uintptr_t)(group->cookies + first),
        .count = (uint32_t)count,
        .multi_flags = group->at_return ? UPROBE_MULTI_RETURN : 0,
    };

    if (array_reserve(&meter->probe_links, &meter->probe_link_capacity, meter->probe_link_count + 1,
                      sizeof(*meter->probe_links)) < 0)
        return -ENOMEM;
    int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
    if (link < 0)
        return -errno;
    meter->probe_links[meter->probe_link_count++] = link;
    return 0;
}

/* Returns how many are probed. A place that cannot be probed does not take the others with it: halves are tried. */
static size_t attach_group(struct meter *meter, const struct group *group, const char *path,
                           size_t first, size_t count, int *ret_error)
{
    int result = attach_some(meter, group, path, first, count);
    size_t half = count / 2;

    if (result == 0)
        return count;
    if (half == 0 || result == -ENOMEM || result == -EPERM) {
        *ret_error = *ret_error == 0 ? result : *ret_error;
        return 0;
    }
    return attach_group(meter, group, path, first, half, ret_error) +
           attach_group(meter, group, path, first + half, count - half, ret_error);
}

static bool is_first(const struct meter_probe *probes, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_alike(&probes[i], &probes[at]))
            return false;
    return true;
}

/* ---- both ---- */

static size_t attach_each(struct meter *meter, const char *path, const struct meter_probe *probes,
                          size_t count, int *ret_error)
{
    size_t probed = 0;

    for (size_t i = 0; i < count; i++) {
        const struct bpf_program *program = program_called(meter, probes[i].program);
        int result = program == NULL ? -EINVAL : attach_one(meter, program, path, &probes[i]);
        probed += result == 0;
        *ret_error = *ret_error == 0 ? result : *ret_error;
    }
    return probed;
}

/* Ends of functions first: a call that is seen to begin is seen to end. */
static size_t attach_groups(struct meter *meter, const char *path, const struct meter_probe *probes,
                            size_t count, int *ret_error)
{
    size_t probed = 0;

    for (size_t i = 0; i < 2 * count; i++) {
        size_t at = i % count;
        if (probes[at].at_return != (i < count) || !is_first(probes, at))
            continue;
        struct group group = {.program = program_called(meter, probes[at].program)};
        int result = group.program == NULL ? -EINVAL : gather(probes, count, at, &group);
        if (result == 0)
            probed += attach_group(meter, &group, path, 0, group.count, &result);
        free(group.offsets);
        *ret_error = *ret_error == 0 ? result : *ret_error;
    }
    return probed;
}

size_t meter_probe(struct meter_interface *interface, int file, const struct meter_probe *probes,
                   size_t count, struct problem *problem)
{
    struct meter *meter = meter_of(interface);
    int error = meter->detached ? -EINVAL : 0;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    size_t probed = error < 0               ? 0
                    : meter->probes_at_once ? attach_groups(meter, path, probes, count, &error)
                                            : attach_each(meter, path, probes, count, &error);
    problem->text[0] = '\0';
    if (error != 0)
        problem_set(problem, error, "the kernel refuses a uprobe: %s", strerror(-error));
    return probed;
}

void meter_probes_done(struct meter *meter)
{
    for (size_t i = 0; i < meter->probe_count; i++)
        bpf_link__destroy(meter->probes[i]);
    for (size_t i = 0; i < meter->probe_link_count; i++)
        close(meter->probe_links[i]);
    free(meter->probes);
    free(meter->probe_links);
    meter->probes = NULL;
    meter->probe_links = NULL;
    meter->probe_count = meter->probe_capacity = 0;
    meter->probe_link_count = meter->probe_link_capacity = 0;
}
