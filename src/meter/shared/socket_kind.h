/* SPDX-License-Identifier: MIT */
/* socket_kind.h: determines which kind of path a socket is, for both meters. */
#ifndef DPM_SOCKET_KIND_H
#define DPM_SOCKET_KIND_H

#include "event/record.h"

/* The kernel side declares these in its own header. */
#ifndef DPM_KERNEL_SIDE
#include <netinet/in.h>
#include <sys/socket.h>
#endif

/* Returns enum path_kind; 0: a kind that is not metered, or no path at all. `kinds`: METER_TCP ... */
static inline __attribute__((always_inline)) uint8_t socket_kind(uint32_t kinds, uint32_t family,
                                                                 uint32_t type, uint32_t protocol)
{
    if (family == AF_UNIX && (kinds & METER_UNIX))
        return type == SOCK_STREAM      ? PATH_UNIX_STREAM
               : type == SOCK_DGRAM     ? PATH_UNIX_DATAGRAM
               : type == SOCK_SEQPACKET ? PATH_UNIX_SEQPACKET
                                        : 0;
    if (family != AF_INET && family != AF_INET6)
        return 0;
    if (protocol == IPPROTO_TCP && (kinds & METER_TCP))
        return PATH_TCP;
    if (protocol == IPPROTO_UDP && type == SOCK_DGRAM && (kinds & METER_UDP))
        return PATH_UDP;
    return 0;
}

#endif
