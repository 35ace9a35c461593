/* SPDX-License-Identifier: MIT */
/*
 * hooks.c: which hooks the meter has, which flags and kinds of paths need them, and whether this kernel offers them.
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
#define SOCKETS  (METER_TCP | METER_UDP | METER_UNIX)

const struct hook hooks[] = {
    {"task_newtask", 0, 0, "3.4"},
    {"sched_process_exec", 0, 0, "3.4"},
    {"sched_process_exit", 0, 0, "2.6.32"},
    {"tcp_sendmsg_locked", SENDING, METER_TCP, "6.16"},
    {"sk_data_ready", SENDING, METER_UNIX, "6.3", .queue_kinds = METER_UNIX},
    {"message_queued", BIT(MESSAGEQUEUED), METER_TCP | METER_UDP, "6.3", "sk_data_ready"},
    {"sock_send_length", SENDING, SOCKETS, "6.3", .queue_kinds = METER_UNIX},
    {"tcp_rcv_space_adjust", RECEIVING, METER_TCP, "4.18"},
    {"skb_copy_datagram_iovec", RECEIVING, METER_UNIX, "2.6.32", .queue_kinds = METER_UNIX},
    {"sock_recv_length", RECEIVING, SOCKETS, "6.3", .queue_kinds = METER_UDP | METER_UNIX},
    {"inet_sock_set_state", MESSAGES | PATHS, METER_TCP, "4.16", .queue_kinds = METER_TCP},
    {"tcp_destroy_sock", MESSAGES | PATHS, METER_TCP, "4.16", .queue_kinds = METER_TCP},
    {"sched_switch", SWITCHING, 0, "5.18"},
    {"sys_exit", MESSAGES, METER_PIPE, "3.4"},
    {"kfree_skb", RECEIVING, METER_UDP, "6.11", .queue_kinds = METER_UDP},
    {"udp_egress", SENDING, METER_UDP, NULL},
    {"udp_ingress", RECEIVING, METER_UDP, NULL, .queue_kinds = METER_UDP},
    {"udp_create", MESSAGES, METER_UDP, NULL, .queue_kinds = METER_UDP},
    {"udp_release", MESSAGES, METER_UDP, NULL, .queue_kinds = METER_UDP},
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
static int missing_hooks(const struct btf *types, uint32_t flags, uint32_t kinds,
                         void (*tell)(const char *sentence, void *context), void *context)
{
    char text[256];
    char kind[METER_KINDS_TEXT_SIZE];
    int missing = 0;

    for (size_t i = 0; i < hook_count; i++) {
        if (!hook_needed(&hooks[i], flags, kinds) || hooks[i].since == NULL ||
            tracepoint_exists(types, hook_tracepoint(&hooks[i])))
            continue;
        meter_kinds_text(hooks[i].kinds, kind);
        snprintf(text, sizeof(text),
                 "This kernel has no tracepoint %s (Linux %s and later have it), which the flags "
                 "asked for need%s%s.",
                 hook_tracepoint(&hooks[i]), hooks[i].since,
                 kind[0] == '\0' ? "" : " for paths of the kind ", kind);
        tell(text, context);
        missing++;
    }
    return missing;
}

int meter_missing(uint32_t flags, uint32_t kinds, void (*tell)(const char *sentence, void *context),
                  void *context)
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
        missing = missing_hooks(types, flags, kinds, tell, context);
        btf__free(types);
    }
    if (missing > 0)
        tell("dpm check tells more: what works here, and what to do about the rest.", context);
    return missing;
}
