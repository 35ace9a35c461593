/* SPDX-License-Identifier: MIT */
/*
 * hooks.c: the meter's hooks, which flags and kinds of paths need them, and which of them this kernel supports.
 *
 * A duty may be served in several ways. The first way is taken for which the kernel supports all hooks:
 *
 *      duty            tracepoint (cheapest)     trampoline, at a function's entry or exit       control group
 *      a send ends     sock_send_length (6.3)    inet_sendmsg, unix_stream_sendmsg ... (5.5)
 *      UDP datagrams                             ip_send_skb, __udp_enqueue_schedule_skb ...     cgroup_skb/egress ...
 *      a pipe's write  sys_enter (only if ...)   ... anon_pipe_write or pipe_write cannot be hooked
 *
 * The kernel's types show what it supports. Trampolines are tried, because some machines forbid them. The kernel's
 * version is no guide, because distributions backport hooks.
 */
#include "meter/load/hooks.h"

#include "meter/load/kernel_types.h"
#include "meter/load/libbpf_ways.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIT(id)   EVENT_FLAG(EVENT_##id)
#define SENDING   (BIT(SEND) | BIT(SENDCALL))
#define RECEIVING (BIT(RECEIVE) | BIT(RECEIVECALL))
#define FILES     (BIT(READ) | BIT(WRITE))
#define PATHS     (BIT(CREATEPATH) | BIT(CONNECT) | BIT(CONNECTFAILED) | BIT(ACCEPT) | BIT(DESTROYPATH))
#define SWITCHING                                                                                  \
    (BIT(SENDCALL) | BIT(RECEIVECALL) | BIT(BLOCK) | BIT(STARTPROCESS) | BIT(STOPPROCESS) |        \
     BIT(SCHEDULE))

#define MESSAGES (SENDING | RECEIVING)
#define INTERNET (METER_TCP | METER_UDP)
#define SOCKETS  (INTERNET | METER_UNIX)

/* A tracepoint with a program of the same name, and the number of its arguments. */
#define TRACEPOINT(name, count, version)                                                           \
    .program = #name, .way = WAY_TRACEPOINT, .target = #name, .arguments = count, .since = version

/* A program at a function's entry or exit. */
#define TRAMPOLINE(name, function)                                                                 \
    .program = #name, .way = WAY_TRAMPOLINE, .target = #function, .since = "5.5"

#define CGROUP(name, version) .program = #name, .way = WAY_CGROUP, .since = version

const struct hook hooks[] = {
    {TRACEPOINT(task_newtask, 2, "3.4")},
    {TRACEPOINT(sched_process_exec, 3, "3.4")},
    {TRACEPOINT(sched_process_exit, 1, "2.6.32")},
    {TRACEPOINT(task_rename, 2, "3.4")},
    {TRACEPOINT(cgroup_attach_task, 4, "3.19"), .optional = true},
    {TRACEPOINT(signal_generate, 5, "3.4"), BIT(SIGNAL)},
    {TRACEPOINT(tcp_rcv_space_adjust, 1, "4.18"), RECEIVING, METER_TCP},
    {TRACEPOINT(skb_copy_datagram_iovec, 2, "2.6.32"), RECEIVING, METER_UNIX, METER_UNIX},
    {TRACEPOINT(inet_sock_set_state, 3, "4.16"), MESSAGES | PATHS, METER_TCP, METER_TCP},
    {TRACEPOINT(tcp_destroy_sock, 1, "4.16"), MESSAGES | PATHS, METER_TCP, METER_TCP},
    {TRACEPOINT(sched_switch, 4, "5.18"), SWITCHING},
    {TRACEPOINT(sched_waking, 1, "4.3"), BIT(WAKEUP)},
    {TRACEPOINT(sys_exit, 2, "3.4"), MESSAGES, METER_PIPE | METER_MQ},
    {.program = "file_call_begins",
     .way = WAY_TRACEPOINT,
     .target = "sys_enter",
     .arguments = 2,
     .since = "3.4",
     FILES,
     METER_FILE},
    {.program = "file_call_ends",
     .way = WAY_TRACEPOINT,
     .target = "sys_exit",
     .arguments = 2,
     .since = "3.4",
     FILES,
     METER_FILE},

    {TRAMPOLINE(pipe_write_begins, anon_pipe_write), SENDING, METER_PIPE, .duty = DUTY_PIPE_WRITES,
     .optional = true},
    {TRAMPOLINE(older_pipe_write_begins, pipe_write), SENDING, METER_PIPE, .duty = DUTY_PIPE_WRITES,
     .optional = true},
    {.program = "pipe_call_begins",
     .way = WAY_TRACEPOINT,
     .target = "sys_enter",
     .arguments = 2,
     .since = "3.4",
     SENDING,
     METER_PIPE,
     .duty = DUTY_PIPE_WRITES,
     .optional = true},

    {TRACEPOINT(tcp_sendmsg_locked, 2, "6.16"), SENDING, METER_TCP, .duty = DUTY_TCP_POSITION},
    {TRAMPOLINE(tcp_sendmsg_begins, tcp_sendmsg_locked), SENDING, METER_TCP,
     .duty = DUTY_TCP_POSITION},
    {TRAMPOLINE(tcp_sendpage_begins, do_tcp_sendpages), SENDING, METER_TCP,
     .duty = DUTY_TCP_POSITION, .before = "6.5"},
    {TRAMPOLINE(tcp_send_waits, sk_stream_wait_memory), SENDING, METER_TCP,
     .duty = DUTY_TCP_POSITION},
    {TRAMPOLINE(tcp_send_goes_on, sk_stream_wait_memory), SENDING, METER_TCP,
     .duty = DUTY_TCP_POSITION},

    {TRACEPOINT(sk_data_ready, 1, "6.3"), SENDING, METER_UNIX, SOCKETS, .duty = DUTY_QUEUED},
    {TRAMPOLINE(sock_readable, sock_def_readable), SENDING, METER_UNIX, SOCKETS,
     .duty = DUTY_QUEUED},

    {TRACEPOINT(sock_send_length, 3, "6.3"), SENDING, SOCKETS, METER_UNIX, .duty = DUTY_SENT},
    {TRAMPOLINE(inet_sendmsg_ends, inet_sendmsg), SENDING, INTERNET, .duty = DUTY_SENT},
    {TRAMPOLINE(inet6_sendmsg_ends, inet6_sendmsg), SENDING, INTERNET, .duty = DUTY_SENT},
    {TRAMPOLINE(inet_sendpage_ends, inet_sendpage), SENDING, INTERNET, .duty = DUTY_SENT,
     .before = "6.5"},
    {TRAMPOLINE(unix_stream_send_ends, unix_stream_sendmsg), SENDING, METER_UNIX, METER_UNIX,
     .duty = DUTY_SENT},
    {TRAMPOLINE(unix_datagram_send_ends, unix_dgram_sendmsg), SENDING, METER_UNIX, METER_UNIX,
     .duty = DUTY_SENT},
    {TRAMPOLINE(unix_packet_send_ends, unix_seqpacket_sendmsg), SENDING, METER_UNIX, METER_UNIX,
     .duty = DUTY_SENT},
    {TRAMPOLINE(unix_sendpage_begins, unix_stream_sendpage), SENDING, METER_UNIX, METER_UNIX,
     .duty = DUTY_SENT, .before = "6.5"},
    {TRAMPOLINE(unix_sendpage_ends, unix_stream_sendpage), SENDING, METER_UNIX, METER_UNIX,
     .duty = DUTY_SENT, .before = "6.5"},

    {TRACEPOINT(sock_recv_length, 3, "6.3"), RECEIVING, SOCKETS, METER_UDP | METER_UNIX,
     .duty = DUTY_RECEIVED},
    {TRAMPOLINE(inet_recvmsg_ends, inet_recvmsg), RECEIVING, INTERNET, METER_UDP,
     .duty = DUTY_RECEIVED},
    {TRAMPOLINE(inet6_recvmsg_ends, inet6_recvmsg), RECEIVING, INTERNET, METER_UDP,
     .duty = DUTY_RECEIVED},
    {TRAMPOLINE(unix_stream_receive_ends, unix_stream_recvmsg), RECEIVING, METER_UNIX, METER_UNIX,
     .duty = DUTY_RECEIVED},
    {TRAMPOLINE(unix_datagram_receive_ends, unix_dgram_recvmsg), RECEIVING, METER_UNIX, METER_UNIX,
     .duty = DUTY_RECEIVED},
    {TRAMPOLINE(unix_packet_receive_ends, unix_seqpacket_recvmsg), RECEIVING, METER_UNIX,
     METER_UNIX, .duty = DUTY_RECEIVED},

    {TRAMPOLINE(udp_leaves, ip_send_skb), SENDING, METER_UDP, .duty = DUTY_UDP},
    {TRAMPOLINE(udp6_leaves, ip6_send_skb), SENDING, METER_UDP, .duty = DUTY_UDP},
    {TRAMPOLINE(udp_comes, __udp_enqueue_schedule_skb), RECEIVING, METER_UDP, METER_UDP,
     .duty = DUTY_UDP},
    {TRAMPOLINE(udp_begins, udp_init_sock), MESSAGES, METER_UDP, METER_UDP, .duty = DUTY_UDP},
    {TRAMPOLINE(udp6_begins, udpv6_init_sock), MESSAGES, METER_UDP, METER_UDP, .duty = DUTY_UDP},
    {TRAMPOLINE(udp_ends, udp_destroy_sock), MESSAGES, METER_UDP, METER_UDP, .duty = DUTY_UDP},
    {TRAMPOLINE(udp6_ends, udpv6_destroy_sock), MESSAGES, METER_UDP, METER_UDP, .duty = DUTY_UDP},
    {CGROUP(udp_egress, "6.16"), SENDING, METER_UDP, .duty = DUTY_UDP},
    {CGROUP(udp_ingress, "6.16"), RECEIVING, METER_UDP, METER_UDP, .duty = DUTY_UDP},
    {CGROUP(udp_create, "6.16"), MESSAGES, METER_UDP, METER_UDP, .duty = DUTY_UDP},
    {CGROUP(udp_release, "6.16"), MESSAGES, METER_UDP, METER_UDP, .duty = DUTY_UDP},

    {TRACEPOINT(kfree_skb, 4, "6.11"), RECEIVING, METER_UDP, METER_UDP, .duty = DUTY_UDP_DROPPED},
    {TRAMPOLINE(udp_refused, __udp_enqueue_schedule_skb), RECEIVING, METER_UDP, METER_UDP,
     .duty = DUTY_UDP_DROPPED},
};
const size_t hook_count = ARRAY_SIZE(hooks);

_Static_assert(ARRAY_SIZE(hooks) <= HOOKS_MOST, "a meter has room for all links");

/* ---- what the kernel supports ---- */

int tracepoint_arguments(const struct kernel_types *types, const char *name)
{
    char text[128];

    snprintf(text, sizeof(text), "btf_trace_%s", name);
    const struct btf_type *type =
        kernel_types_at(types, kernel_types_find(types, text, BTF_KIND_TYPEDEF));
    if (type != NULL) /* a pointer to a function, whose first argument is not the tracepoint's */
        type = kernel_types_at(types, type->type);
    if (type != NULL && btf_is_ptr(type))
        type = kernel_types_at(types, type->type);
    return type != NULL && btf_is_func_proto(type) ? (int)btf_vlen(type) - 1 : -1;
}

bool type_has_member(const struct kernel_types *types, const char *name, const char *member)
{
    const struct btf_type *type =
        kernel_types_at(types, kernel_types_find(types, name, BTF_KIND_STRUCT));

    for (unsigned i = 0; type != NULL && i < btf_vlen(type); i++)
        if (strcmp(kernel_types_name(types, btf_members(type)[i].name_off), member) == 0)
            return true;
    return false;
}

bool function_exists(const struct kernel_types *types, const char *name)
{
    return kernel_types_find(types, name, BTF_KIND_FUNC) != 0;
}

bool iterator_exists(const struct kernel_types *types, const char *name)
{
    char function[128];

    snprintf(function, sizeof(function), "bpf_iter_%s", name);
    return function_exists(types, function);
}

/* Whether programs may be attached to a function's entry: tries one that does nothing. */
static bool may_use_trampolines(const struct kernel_types *types)
{
    const struct bpf_insn nothing[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K},
        {.code = BPF_JMP | BPF_EXIT},
    };
    uint32_t function = kernel_types_find(types, "ip_send_skb", BTF_KIND_FUNC);
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
                .attach_btf_id = function);

    if (function == 0 || getenv("DPM_NO_TRAMPOLINES") != NULL)
        return false;
    int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "trial", "GPL", nothing, ARRAY_SIZE(nothing),
                                &options);
    if (program >= 0)
        close(program);
    return program >= 0;
}

int offers_look(struct offers *ret_offers, bool try)
{
    quiet_libbpf();
    *ret_offers = (struct offers){.trampolines = true, .cgroups = true};
    int result = kernel_types_read(&ret_offers->types);
    if (result < 0)
        return result;
    ret_offers->casts = function_exists(ret_offers->types, "bpf_rdonly_cast");
    if (!try)
        return 0;
    ret_offers->trampolines = may_use_trampolines(ret_offers->types);
    /* a control group program must find out which task's call has sent a packet */
    ret_offers->cgroups =
        libbpf_probe_bpf_helper(BPF_PROG_TYPE_CGROUP_SKB, BPF_FUNC_task_storage_get, NULL) != 0;
    return 0;
}

void offers_done(struct offers *offers)
{
    kernel_types_free(offers->types);
}

static bool is_offered(const struct offers *offers, const struct hook *hook)
{
    switch (hook->way) {
    case WAY_TRACEPOINT:
        return tracepoint_arguments(offers->types, hook->target) >= (int)hook->arguments;
    case WAY_TRAMPOLINE:
        return offers->trampolines && function_exists(offers->types, hook->target);
    default:
        return offers->cgroups;
    }
}

/* ---- choosing ---- */

static bool is_of(const struct hook *hook, enum hook_duty duty, enum hook_way way)
{
    return hook->duty == duty && hook->way == way;
}

/* Whether such a way exists, and the kernel supports all its hooks that are needed; one of those that are optional.
 * Hooks that only older kernels need may be missing. */
static bool way_is_offered(const struct offers *offers, enum hook_duty duty, enum hook_way way,
                           uint64_t flags, uint32_t kinds)
{
    bool exists = false;

    for (size_t i = 0; i < hook_count; i++) {
        if (!is_of(&hooks[i], duty, way) || !hook_needed(&hooks[i], flags, kinds))
            continue;
        bool is_there = is_offered(offers, &hooks[i]);
        exists = exists || is_there || !hooks[i].optional;
        if (hooks[i].before == NULL && !hooks[i].optional && !is_there)
            return false;
    }
    return exists;
}

enum hook_way hook_way_of(const struct offers *offers, enum hook_duty duty, uint64_t flags,
                          uint32_t kinds)
{
    /* a tracepoint at every system call of the machine costs more than a trampoline at the few that matter */
    if (duty == DUTY_PIPE_WRITES && way_is_offered(offers, duty, WAY_TRAMPOLINE, flags, kinds))
        return WAY_TRAMPOLINE;
    for (enum hook_way way = 0; way < WAY_NONE; way++)
        if (way_is_offered(offers, duty, way, flags, kinds))
            return way;
    return WAY_NONE;
}

/* The way that is reported as missing if the kernel supports none. */
static enum hook_way first_way_of(enum hook_duty duty)
{
    size_t i = 0;

    while (hooks[i].duty != duty)
        i++;
    return hooks[i].way;
}

void hooks_choose(const struct offers *offers, uint64_t flags, uint32_t kinds,
                  enum hook_choice ret_choices[HOOKS_MOST])
{
    enum hook_way ways[DUTY_COUNT];

    for (enum hook_duty duty = DUTY_OWN + 1; duty < DUTY_COUNT; duty++)
        ways[duty] = hook_way_of(offers, duty, flags, kinds);
    for (size_t i = 0; i < hook_count; i++) {
        const struct hook *hook = &hooks[i];
        enum hook_way way = hook->duty == DUTY_OWN ? hook->way : ways[hook->duty];

        ret_choices[i] = HOOK_UNUSED;
        if (!hook_needed(hook, flags, kinds))
            continue;
        if (hook->way == way && is_offered(offers, hook))
            ret_choices[i] = HOOK_CHOSEN;
        else if (hook->before == NULL && !hook->optional &&
                 hook->way == (way == WAY_NONE ? first_way_of(hook->duty) : way))
            ret_choices[i] = HOOK_MISSING;
    }
}

/* ---- errors ---- */

int hooks_missing(const struct offers *offers, const enum hook_choice choices[HOOKS_MOST],
                  struct problem *problem)
{
    char kind[METER_KINDS_TEXT_SIZE], others[64] = "";
    const struct hook *first = NULL;
    unsigned missing = 0;

    for (size_t i = 0; i < hook_count; i++) {
        if (choices[i] != HOOK_MISSING)
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
        "the kernel meter does not run here: this kernel has no tracepoint %s (Linux "
        "%s and later have it)%s, which the flags asked for need%s%s%s (see dpm check)",
        first->program, first->since,
        first->duty == DUTY_OWN ? ""
        : offers->trampolines   ? ", nor the functions that replace it"
                                : ", and refuses the trampolines that replace it",
        kind[0] == '\0' ? "" : " for the kind ", kind, others);
}

int hooks_explain_no_types(struct problem *problem)
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
        "(%s); use one built with CONFIG_DEBUG_INFO_BTF=y (see dpm check)",
        path);
}
