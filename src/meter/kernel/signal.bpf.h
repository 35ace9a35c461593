/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * signal.bpf.h: SIGNAL: which process sent which signal to which.
 *
 *      sender metered, and in a call of its own    a record of the sender
 *      else, receiver metered                      a record of no stream
 *
 * A signal's code says whether a process or the kernel sent it. The kernel sends signals in whatever task happens to
 * run, and in interrupts, so the current task counts as the sender only if the code says so.
 */
#ifndef DPM_SIGNAL_BPF_H
#define DPM_SIGNAL_BPF_H

#include "meter/kernel/call.bpf.h"

enum {
    NUMBER_OF_SIGCHLD = 17,

    CODE_USER = 0, /* kill */
    CODE_QUEUE = -1,
    CODE_TKILL = -6,
    CODE_KERNEL = 0x80,
    CODE_CHILD_FIRST = 1, /* SIGCHLD: exited, killed, dumped, trapped, stopped, continued */
    CODE_CHILD_LAST = 6,

    /* In place of a pointer to the signal's facts: */
    SENT_BY_CURRENT = 0,
    SENT_BY_KERNEL = 1,

    /* the tracepoint's result of a signal that was delivered without its facts, for lack of space */
    RESULT_WITHOUT_FACTS = 4,
};

/* Addresses that become numbers: is_on_stack_of. The hook runs with interrupts off. */
struct signal_notes {
    uint64_t facts;
    uint64_t here;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct signal_notes);
} signal_notes SEC(".maps");

static __always_inline int code_of_signal(uint64_t facts)
{
    if (facts == SENT_BY_CURRENT)
        return CODE_USER;
    if (facts == SENT_BY_KERNEL)
        return CODE_KERNEL;
    return BPF_CORE_READ((struct kernel_siginfo *)facts, si_code);
}

static __always_inline bool is_sent_by_process(uint32_t number, int code)
{
    return code == CODE_USER || code == CODE_QUEUE || code == CODE_TKILL ||
           (number == NUMBER_OF_SIGCHLD && code >= CODE_CHILD_FIRST && code <= CODE_CHILD_LAST);
}

/* SIGNAL by the current task, which is metered. */
__noinline int write_signal(struct stream *stream, uint64_t body0, uint64_t body1)
{
    struct record *record;

    if (stream == NULL)
        return 0;
    record = begin_record(stream, NULL, RING_DATA, sizeof(*record), EVENT_SIGNAL, 0);
    if (record == NULL)
        return 0;
    ((uint64_t *)record)[4] = body0;
    ((uint64_t *)record)[5] = body1;
    submit(record);
    return 0;
}

/* SIGNAL by any other task, or the kernel. */
__noinline int write_signal_of_others(uint64_t body0, uint64_t body1)
{
    struct record *record = begin_unowned(RING_DATA, EVENT_SIGNAL);

    if (record == NULL)
        return 0;
    ((uint64_t *)record)[4] = body0;
    ((uint64_t *)record)[5] = body1;
    submit(record);
    return 0;
}

static __always_inline bool tells_signals(const struct stream *stream)
{
    return tells(stream, EVENT_SIGNAL) && !is_silent_now(stream);
}

static __always_inline uint64_t body_of_signal(uint32_t number, uint32_t result, int code,
                                               const struct stream *receiver)
{
    if (result == RESULT_WITHOUT_FACTS)
        result = SIGNAL_DELIVERED;
    if (code > 32767 || code < -32768)
        code = code < 0 ? -32768 : 32767;
    return (number & 0xff) | (uint64_t)(result & 0xff) << 8 | (uint64_t)(code & 0xffff) << 16 |
           (uint64_t)(receiver == NULL ? 0 : receiver->number) << 32;
}

/* Not with BPF_PROG: the second argument may be no pointer, and kernels disagree about its type. */
SEC("tp_btf/signal_generate")
int signal_generate(uint64_t *arguments)
{
    struct task_struct *target = (struct task_struct *)arguments[2];
    struct task_struct *task = bpf_get_current_task_btf();
    struct stream *receiver, *sender;
    struct signal_notes *notes;
    uint32_t zero = 0;
    uint64_t body0, body1;
    int code;

    if (!has_storage(task) && !has_storage(target))
        return 0;
    receiver = stream_of(target);
    sender = stream_of(task);
    notes = bpf_map_lookup_elem(&signal_notes, &zero);
    if (notes == NULL)
        return 0;
    *(volatile uint64_t *)&notes->facts = arguments[1];
    code = code_of_signal(*(volatile uint64_t *)&notes->facts);
    body0 = body_of_signal(arguments[0], arguments[4], code, receiver);
    body1 = process_id(target);
    if (is_sent_by_process(arguments[0], code) && !(task->flags & PF_KTHREAD) &&
        is_on_stack_of(task, &zero, &notes->here)) {
        uint32_t pid = process_id(task);
        body1 |= (uint64_t)(pid == 0 ? SENDER_UNKNOWN : pid) << 32;
        /* after its TERMINATION it has no flags any more */
        if (sender != NULL && tells_signals(sender)) {
            if (running_stream(task) != NULL)
                write_signal(sender, body0, body1);
            return 0;
        }
    }
    if (receiver != NULL && tells_signals(receiver))
        write_signal_of_others(body0, body1);
    return 0;
}

#endif
