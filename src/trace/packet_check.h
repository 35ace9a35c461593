/* SPDX-License-Identifier: MIT */
/* packet_check.h: what every reader of packets checks before it believes them. Private to trace/. */
#ifndef DPM_PACKET_CHECK_H
#define DPM_PACKET_CHECK_H

#include "trace/trace_internal.h"

/* What is wrong with the first `size` bytes of a packet's header, or NULL. */
const char *packet_wrong_header(const void *bytes, size_t size,
                                const struct trace_packet_header *expected);

/* What is wrong with a packet's context, or NULL. `least`: the packet's number cannot be smaller. */
const char *packet_wrong_context(const struct trace_packet_context *context, uint64_t least);

/* Whether a packet of the control stream contains END, which has a packet of its own, after at most one record. The
 * packet's header and context are right, and all of it is there. */
bool packet_ends(const void *packet);

#endif
