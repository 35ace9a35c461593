/* SPDX-License-Identifier: MIT */
/*
 * hooks.c: which hooks the meter has, which flags need them, and whether this kernel offers them.
 * Another kernel's hook for the same event would be one more row here and one more program in
 * the kernel side (meter.bpf.c lists its files).
 */
#include "meter/meter_private.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>

#define BIT(id)   EVENT_FLAG(EVENT_##id)
#define SENDING   (BIT(SEND) | BIT(SENDCALL))
#define RECEIVING (BIT(RECEIVE) | BIT(RECEIVECALL))
#define PATHS     (BIT(CREATEPATH) | BIT(CONNECT) | BIT(ACCEPT) | BIT(DESTROYPATH))
#define SWITCHING                                                                                  \
    (BIT(SENDCALL) | BIT(RECEIVECALL) | BIT(BLOCK) | BIT(STARTPROCESS) | BIT(STOPPROCESS))

#define MESSAGES (SENDING | RECEIVING)

const struct hook hooks[] = {
    {"task_newtask", 0, "3.4", false},
    {"sched_process_exec", 0, "3.4", false},
    {"sched_process_exit", 0, "2.6.32", false},
    {"tcp_sendmsg_locked", SENDING, "6.16", false},
    {"sk_data_ready", SENDING, "6.3", false},
    {"sock_send_length", SENDING, "6.3", false},
    {"tcp_rcv_space_adjust", RECEIVING, "4.18", false},
    {"skb_copy_datagram_iovec", RECEIVING, "2.6.32", false},
    {"sock_recv_length", RECEIVING, "6.3", false},
    {"inet_sock_set_state", SENDING | RECEIVING | PATHS, "4.16", false},
    {"tcp_destroy_sock", SENDING | RECEIVING | PATHS, "4.16", false},
    {"sched_switch", SWITCHING, "5.18", false},
    {"kfree_skb", RECEIVING, "6.11", true},
    {"udp_egress", SENDING, NULL, true},
    {"udp_ingress", RECEIVING, NULL, true},
    {"udp_create", MESSAGES, NULL, true},
    {"udp_release", MESSAGES, NULL, true},
};
const size_t hook_count = ARRAY_SIZE(hooks);

bool tracepoint_exists(const struct btf *types, const char *name)
{
    char type[128];

    snprintf(type, sizeof(type), "btf_trace_%s", name);
    return btf__find_by_name_kind(types, type, BTF_KIND_TYPEDEF) >= 0;
}

bool iterator_exists(const struct btf *types, const char *name)
{
    char function[128];

    snprintf(function, sizeof(function), "bpf_iter_%s", name);
    return btf__find_by_name_kind(types, function, BTF_KIND_FUNC) >= 0;
}

/* Tells of each hook that the flags need and the kernel lacks; returns how many. */
static int missing_hooks(const struct btf *types, uint32_t flags,
                         void (*tell)(const char *sentence, void *context), void *context)
{
    char text[256];
    int missing = 0;

    for (size_t i = 0; i < hook_count; i++) {
        if (!hook_needed(&hooks[i], flags) || hooks[i].since == NULL ||
            tracepoint_exists(types, hooks[i].program))
            continue;
        snprintf(text, sizeof(text),
                 "This kernel has no tracepoint %s (Linux %s and later have it), which the flags "
                 "asked for need.",
                 hooks[i].program, hooks[i].since);
        tell(text, context);
        missing++;
    }
    return missing;
}

int meter_missing(uint32_t flags, void (*tell)(const char *sentence, void *context), void *context)
{
    quiet_libbpf();
    struct btf *types = btf__load_vmlinux_btf();
    int missing;

    if (libbpf_get_error(types) != 0) {
        tell("This kernel has no BTF type information (/sys/kernel/btf/vmlinux), which the kernel "
             "meter needs; use a kernel built with CONFIG_DEBUG_INFO_BTF=y.",
             context);
        missing = 1;
    } else {
        missing = missing_hooks(types, flags, tell, context);
        btf__free(types);
    }
    if (missing > 0)
        tell("dpm check tells more: what works here, and what to do about the rest.", context);
    return missing;
}
