/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stall.bpf.c: holds a process up in the middle of its calls, as happens where a machine's processor is taken
 * away: when it comes by a hook since it is metered, once or again and again. Attached before the meter, and so it runs
 * before the meter's own hook there.
 */
#include "meter/kernel/kernel.bpf.h"

uint32_t process;
bool others;       /* its threads but the first, else that one */
uint64_t duration; /* ns */
uint32_t passes;   /* how often it may come by before it is held up */
uint32_t most;     /* how often it is held up, each time after so many passes */
uint32_t stalls;   /* how often it was */

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

    /* the meter has something stored with those that it meters */
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

/* A message is in the queue, and nothing knows of it. */
SEC("tp_btf/sk_data_ready")
int queued(void *context)
{
    return stall();
}

/* It is known to be, and is not counted. */
SEC("tp_btf/sock_send_length")
int sent(void *context)
{
    return stall();
}

/* It is out of the queue, and may not be counted. */
SEC("tp_btf/sock_recv_length")
int received(void *context)
{
    return stall();
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
