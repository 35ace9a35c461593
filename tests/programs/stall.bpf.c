/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stall.bpf.c: stalls a metered process at a hook in the middle of its calls, once or repeatedly, as happens when a
 * virtual machine loses its processor. It is attached before the meter, and therefore runs before the meter's own hook.
 */
#include "meter/kernel/kernel.bpf.h"

uint32_t process;
bool others;       /* stall all threads but the first; otherwise only the first */
uint64_t duration; /* ns */
uint32_t passes;   /* how often it may pass the hook before it is stalled */
uint32_t most;     /* maximum number of stalls, each after that many passes */
uint32_t stalls;   /* number of stalls so far */

static uint32_t passed;

static long is_over(uint32_t index, const uint64_t *until)
{
    return bpf_ktime_get_ns() > *until;
}

#define LOOKS_MOST (1 << 23)

static __always_inline int stall(void)
{
    uint64_t who = bpf_get_current_pid_tgid();
    bool first = (uint32_t)who == process;
    uint64_t until;

    /* the meter has storage with every task that it meters */
    if (who >> 32 != process || first == others || stalls == most ||
        bpf_get_current_task_btf()->bpf_storage == NULL)
        return 0;
    if (passed++ < passes)
        return 0;
    passed = 0;
    stalls++;
    until = bpf_ktime_get_ns() + duration;
    bpf_loop(LOOKS_MOST, is_over, &until, 0);
    return 0;
}

/* A message is in the queue, but not known to the meter. */
SEC("tp_btf/sk_data_ready")
int queued(void *context)
{
    return stall();
}

/* The message is known to the meter, but not counted yet. */
SEC("tp_btf/sock_send_length")
int sent(void *context)
{
    return stall();
}

/* The message has left the queue, but may not be counted yet. */
SEC("tp_btf/sock_recv_length")
int received(void *context)
{
    return stall();
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
