/* SPDX-License-Identifier: MIT */
/*
 * hooks.c: which hooks the meter has, which flags and kinds of paths need them, and whether this kernel offers them.
 * Another kernel's hook for the same event would be one more row here and one more program in
 * the kernel side (meter.bpf.c lists its files).
 */
#include "meter/meter_private.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    {"sk_data_ready", SENDING, METER_UNIX, "6.3", .queue_kinds = SOCKETS},
    {"sock_send_length", SENDING, SOCKETS, "6.3", .queue_kinds = METER_UNIX},
    {"tcp_rcv_space_adjust", RECEIVING, METER_TCP, "4.18"},
    {"skb_copy_datagram_iovec", RECEIVING, METER_UNIX, "2.6.32", .queue_kinds = METER_UNIX},
    {"sock_recv_length", RECEIVING, SOCKETS, "6.3", .queue_kinds = METER_UDP | METER_UNIX},
    {"inet_sock_set_state", MESSAGES | PATHS, METER_TCP, "4.16", .queue_kinds = METER_TCP},
    {"tcp_destroy_sock", MESSAGES | PATHS, METER_TCP, "4.16", .queue_kinds = METER_TCP},
    {"sched_switch", SWITCHING, 0, "5.18"},
    {"sched_waking", BIT(WAKEUP), 0, "4.3"},
    {"sys_exit", MESSAGES, METER_PIPE, "3.4"},
    {"kfree_skb", RECEIVING, METER_UDP, "6.11", .queue_kinds = METER_UDP},
    {"udp_egress", SENDING, METER_UDP, NULL},
    {"udp_ingress", RECEIVING, METER_UDP, NULL, .queue_kinds = METER_UDP},
    {"udp_create", MESSAGES, METER_UDP, NULL, .queue_kinds = METER_UDP},
    {"udp_release", MESSAGES, METER_UDP, NULL, .queue_kinds = METER_UDP},
};
const size_t hook_count = ARRAY_SIZE(hooks);

_Static_assert(ARRAY_SIZE(hooks) <= HOOKS_MOST, "a meter has room for all links");

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

static bool is_missing(const struct btf *types, const struct hook *hook, uint32_t flags,
                       uint32_t kinds)
{
    return hook_needed(hook, flags, kinds) && hook->since != NULL &&
           !tracepoint_exists(types, hook->program);
}

static int look_for_hooks(const struct btf *types, uint32_t flags, uint32_t kinds,
                          struct problem *problem)
{
    char kind[METER_KINDS_TEXT_SIZE], others[64] = "";
    const struct hook *first = NULL;
    unsigned missing = 0;

    for (size_t i = 0; i < hook_count; i++) {
        if (!is_missing(types, &hooks[i], flags, kinds))
            continue;
        first = first == NULL ? &hooks[i] : first;
        missing++;
    }
    if (first == NULL)
        return 0;
    meter_kinds_text(first->kinds, kind);
    if (missing > 1)
        snprintf(others, sizeof(others), ", and lacks %u more", missing - 1);
    return problem_set(
        problem, -ENOTSUP,
        "the kernel meter does not run here: this kernel has no tracepoint %s (Linux %s "
        "and later have it), which the flags asked for need%s%s%s (dpm check tells more)",
        first->program, first->since, kind[0] == '\0' ? "" : " for paths of the kind ", kind,
        others);
}

/* libbpf does not say why. */
static int explain_no_types(struct problem *problem)
{
    static const char path[] = "/sys/kernel/btf/vmlinux";
    int file = open(path, O_RDONLY | O_CLOEXEC), error = file < 0 ? errno : ENOENT;

    if (file >= 0)
        close(file);
    if (error != ENOENT)
        return problem_set(problem, -error, "the kernel meter does not run here: %s: %s", path,
                           strerror(error));
    return problem_set(
        problem, -ENOTSUP,
        "the kernel meter does not run here: this kernel has no BTF type information "
        "(%s); use one built with CONFIG_DEBUG_INFO_BTF=y (dpm check tells more)",
        path);
}

int hooks_look(uint32_t flags, uint32_t kinds, struct problem *problem)
{
    struct btf *types = btf__load_vmlinux_btf();

    if (types == NULL)
        return explain_no_types(problem);
    int result = look_for_hooks(types, flags, kinds, problem);
    btf__free(types);
    return result;
}
