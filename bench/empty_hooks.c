/* SPDX-License-Identifier: MIT */
/*
 * empty_hooks.c: attaches a BPF program that returns at once to each named hook: the least possible overhead of a meter
 * that uses these hooks.
 *
 *      empty-hooks HOOK...      prints a line when they are attached; they stay until it ends
 *
 * A hook is a tracepoint, or udp_egress or udp_ingress, which dpm has at the root of the cgroups.
 */
#include "event/event.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Loads a program that returns `value`. Returns its file descriptor, or a negative errno. */
static int load(enum bpf_prog_type type, enum bpf_attach_type attach_type, int tracepoint,
                int value)
{
    const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = value},
        {.code = BPF_JMP | BPF_EXIT},
    };
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type,
                .attach_btf_id = (__u32)tracepoint);

    return bpf_prog_load(type, "empty", "GPL", code, ARRAY_SIZE(code), &options);
}

static int attach_to_cgroup(enum bpf_attach_type type)
{
    int program = load(BPF_PROG_TYPE_CGROUP_SKB, type, 0, 1);
    int cgroup = cgroup_root_open();

    if (program < 0 || cgroup < 0)
        return program < 0 ? program : cgroup;
    return bpf_link_create(program, cgroup, type, NULL);
}

static int attach_to_tracepoint(const char *name)
{
    int type = libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP);
    int program = type < 0 ? type : load(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, type, 0);

    return program < 0 ? program : bpf_raw_tracepoint_open(NULL, program);
}

static int attach(const char *name)
{
    if (strcmp(name, "udp_egress") == 0)
        return attach_to_cgroup(BPF_CGROUP_INET_EGRESS);
    if (strcmp(name, "udp_ingress") == 0)
        return attach_to_cgroup(BPF_CGROUP_INET_INGRESS);
    return attach_to_tracepoint(name);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: empty-hooks HOOK...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        int link = attach(argv[i]);
        if (link < 0) {
            fprintf(stderr, "empty-hooks: %s: %s\n", argv[i], strerror(-link));
            return 1;
        }
    }
    printf("attached to %d hooks\n", argc - 1);
    fflush(stdout);
    pause();
    return 0;
}
