/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * selection.bpf.h: selection rules in the kernel (meter/shared/kernel_selection.h). A record that no rule can accept is
 * not made:
 *
 *      position and number of the message --> rules --> number of the record --> ring
 *
 * So positions are those of all messages, and a number that is missing still means a loss. Without rules the verifier
 * removes all of this from the hooks but one load.
 */
#ifndef DPM_SELECTION_BPF_H
#define DPM_SELECTION_BPF_H

#include "meter/kernel/state.bpf.h"

#include "meter/shared/kernel_selection.h"

const volatile bool selects = false; /* set before loading */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct selection);
} selections SEC(".maps");

/* Whether the record is to be made; if not, it is counted. `stream` NULL: it is of none. `first`, `second`: the 16 bytes
 * behind its header, as far as they are known. */
__noinline bool is_selected(const struct stream *stream, uint32_t id, uint64_t first,
                            uint64_t second)
{
    uint32_t zero = 0;
    /* without rules there is no such map: the verifier looks at this function in any case */
    struct selection *selection = selects ? bpf_map_lookup_elem(&selections, &zero) : NULL;
    struct selection_record record = {.first = first, .second = second, .id = id};

    if (selection == NULL)
        return true;
    if (stream != NULL) {
        record.stream = stream->number;
        record.version = stream->version;
    }
    if (selection_may_accept(selection, &record))
        return true;
    __sync_fetch_and_add(selection_counter(selection, bpf_get_smp_processor_id(), id), 1);
    return false;
}

/* Whether rules drop it. */
static __always_inline bool drops(const struct stream *stream, uint32_t id, uint64_t first,
                                  uint64_t second)
{
    return selects && !is_selected(stream, id, first, second);
}

static __always_inline uint64_t two_words(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

#endif
