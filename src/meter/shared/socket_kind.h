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
    if (protocol == IPPROTO_TCP && type == SOCK_STREAM && (kinds & METER_TCP))
        return PATH_TCP;
    if (protocol == IPPROTO_UDP && type == SOCK_DGRAM && (kinds & METER_UDP))
        return PATH_UDP;
    return 0;
}

/* These are not in all headers. */
#define SOCKET_FAMILY_NETLINK    16
#define SOCKET_FAMILY_PACKET     17
#define SOCKET_FAMILY_VSOCK      40
#define SOCKET_PROTOCOL_DCCP     33
#define SOCKET_PROTOCOL_SCTP     132
#define SOCKET_PROTOCOL_UDP_LITE 136
#define SOCKET_PROTOCOL_MPTCP    262

/* Returns enum unmetered_kind; UNMETERED_NONE: a kind that can be metered, whether it is or not. */
static inline __attribute__((always_inline)) uint32_t
unmetered_socket_kind(uint32_t family, uint32_t type, uint32_t protocol)
{
    if (family == AF_UNIX)
        return UNMETERED_NONE;
    if (family != AF_INET && family != AF_INET6)
        return family == SOCKET_FAMILY_NETLINK  ? UNMETERED_NETLINK
               : family == SOCKET_FAMILY_PACKET ? UNMETERED_PACKET
               : family == SOCKET_FAMILY_VSOCK  ? UNMETERED_VSOCK
                                                : UNMETERED_OTHER;
    if (socket_kind(METER_TCP | METER_UDP, family, type, protocol) != 0)
        return UNMETERED_NONE;
    return protocol == SOCKET_PROTOCOL_MPTCP      ? UNMETERED_MPTCP
           : protocol == SOCKET_PROTOCOL_SCTP     ? UNMETERED_SCTP
           : protocol == SOCKET_PROTOCOL_DCCP     ? UNMETERED_DCCP
           : protocol == SOCKET_PROTOCOL_UDP_LITE ? UNMETERED_UDP_LITE
                                                  : UNMETERED_RAW;
}

#endif
