/* SPDX-License-Identifier: MIT */
/* meter_probes.c: uprobes at places in libraries. See meter_interface.h, probe. */
#include "meter/load/meter_types.h"

#include "meter.skel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int meter_probe(struct meter_interface *interface, const struct meter_probe *probe,
                struct problem *problem)
{
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = probe->cookie,
                .ref_ctr_offset = probe->semaphore, .retprobe = probe->at_return);
    struct meter *meter = meter_of(interface);
    struct bpf_program *program =
        bpf_object__find_program_by_name(meter->kernel->obj, probe->program);
    char path[64];

    if (meter->detached || program == NULL)
        return problem_set(problem, -EINVAL, "there is no program %s in the meter", probe->program);
    if (array_reserve(&meter->probes, &meter->probe_capacity, meter->probe_count + 1,
                      sizeof(struct bpf_link *)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for probes");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", probe->file);
    struct bpf_link *link =
        bpf_program__attach_uprobe_opts(program, -1, path, probe->offset, &options);
    if (link == NULL)
        return problem_set(problem, -errno, "the kernel refuses a uprobe: %s", strerror(errno));
    meter->probes[meter->probe_count++] = link;
    return 0;
}

void meter_probes_done(struct meter *meter)
{
    for (size_t i = 0; i < meter->probe_count; i++)
        bpf_link__destroy(meter->probes[i]);
    free(meter->probes);
    meter->probes = NULL;
    meter->probe_count = meter->probe_capacity = 0;
}
