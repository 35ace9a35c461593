/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * reader.bpf.h: when the reader of the rings is woken.
 *
 * The reader looks by itself after some time. The meter wakes it earlier only
 *   - when a ring has grown, so that no flood fills it: each time it has taken `wake_every` more bytes;
 *   - when something does not last: a program begins (the reader opens its file and reads its mappings, which are gone
 *     with the process), or the last stream ends.
 *
 *      ring  | record | record | rec:ord | record | record | ...
 *                                   ^ every wake_every bytes: the record there wakes the reader
 *
 * A wake-up takes some microseconds of the metered program's time, so no other record wakes.
 */
#ifndef DPM_READER_BPF_H
#define DPM_READER_BPF_H

#include "meter/kernel/state.bpf.h"

/* Flags for bpf_ringbuf_submit. They follow from the record's address: a helper that asks for the ring's positions
 * would take longer than the rest of the submission. */
static __always_inline uint64_t wake_flags(const void *record, uint32_t size)
{
    /* To the verifier, the difference of two pointers is a number; of a pointer alone it allows no `&`. */
    uint64_t place = (uint64_t)record;
    uint32_t every = wake_every;

    asm volatile("%0 -= %1" : "+r"(place) : "r"(&wake_every));
    place = (place - BPF_RINGBUF_HDR_SZ) & (every - 1);
    return place + BPF_RINGBUF_HDR_SZ + size >= every ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* `record`: a pointer to its type. */
#define submit(record) bpf_ringbuf_submit(record, wake_flags(record, sizeof(*(record))))

/* Wakes the reader now. If the control ring is full, the records in it have done so. */
__noinline int wake_reader(void)
{
    void *nothing = bpf_ringbuf_reserve(&control_ring, sizeof(uint64_t), 0);

    if (nothing != NULL)
        bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
    return 0;
}

#endif
