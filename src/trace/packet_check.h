/* SPDX-License-Identifier: MIT */
/* packet_check.h: what every reader of packets checks before it believes them. Private to trace/. */
#ifndef DPM_PACKET_CHECK_H
#define DPM_PACKET_CHECK_H

#include "trace/trace_internal.h"

/* The header that the packets of a ring have in a trace with this uuid. */
struct trace_packet_header packet_header(const uint8_t uuid[TRACE_UUID_SIZE], enum ring_id ring);

/* The context of a packet in memory, which is aligned. */
static inline const struct trace_packet_context *packet_context(const void *packet)
{
    return (const struct trace_packet_context *)((const struct trace_packet_header *)packet + 1);
}

/* Looks at the packet at `offset` of a file that has `size` bytes. Returns 1: it is whole; 0: it is not, or none is there;
 * or a negative errno: *ret_wrong is what is wrong with it, or NULL: it cannot be read. */
int packet_look(int file, uint64_t size, uint64_t offset,
                const struct trace_packet_header *expected, uint64_t least,
                struct trace_packet_context *ret_context, const char **ret_wrong);

/* What is wrong with the first `size` bytes of a packet's header, or NULL. */
const char *packet_wrong_header(const void *bytes, size_t size,
                                const struct trace_packet_header *expected);

/* What is wrong with a packet's context, or NULL. `least`: the packet's number cannot be smaller. */
const char *packet_wrong_context(const struct trace_packet_context *context, uint64_t least);

/* Whether a packet of the control stream contains END, which has a packet of its own, after at most one record. The
 * packet's header and context are right, and all of it is there. */
bool packet_ends(const void *packet);

#endif
