// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* selection_run.bpf.c: the verdict of the kernel meter's hooks on one record, for bpf_prog_test_run. See rules_places_test.c. */
#include "meter/kernel/kernel.bpf.h"
/* after kernel.bpf.h, which declares the types */
#include "meter/shared/kernel_selection.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct selection);
} selections SEC(".maps");

SEC("syscall")
int judge(struct selection_record *given)
{
    uint32_t zero = 0;
    struct selection *selection = bpf_map_lookup_elem(&selections, &zero);
    struct selection_record record = *given;

    return selection == NULL ? -1 : selection_may_accept(selection, &record);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
