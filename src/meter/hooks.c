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

int meter_missing(uint32_t flags, void (*tell)(const char *sentence, void *context), void *context)
{
    struct btf *btf = btf__load_vmlinux_btf();
    char text[256];
    int missing = 0;

    if (libbpf_get_error(btf) != 0) {
        tell("This kernel has no BTF type information (/sys/kernel/btf/vmlinux), which the kernel "
             "meter needs; use a kernel built with CONFIG_DEBUG_INFO_BTF=y.",
             context);
        return 1;
    }
    for (size_t i = 0; i < hook_count; i++) {
        if (!hook_needed(&hooks[i], flags) || hooks[i].since == NULL)
            continue;
        snprintf(text, sizeof(text), "btf_trace_%s", hooks[i].program);
        if (btf__find_by_name_kind(btf, text, BTF_KIND_TYPEDEF) >= 0)
            continue;
        snprintf(text, sizeof(text),
                 "This kernel has no tracepoint %s (Linux %s and later have it), which the flags "
                 "asked for need.",
                 hooks[i].program, hooks[i].since);
        tell(text, context);
        missing++;
    }
    btf__free(btf);
    return missing;
}
