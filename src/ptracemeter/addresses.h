/* SPDX-License-Identifier: MIT */
/* addresses.h: addresses of sockets. See ptracemeter_types.h. */
#ifndef DPM_ADDRESSES_H
#define DPM_ADDRESSES_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/socket.h>

struct sockaddr_un;

/* Converts an internet address to its bytes and port in a PATH. IPv4 on an IPv6 socket is IPv4. Returns the family, or
 * 0 if it is not an internet address. */
uint8_t address_take(const struct sockaddr_storage *from, uint8_t bytes[16], uint16_t *port);
/* The same for both ends; `other` may be NULL. */
void address_take_both(struct path_record *facts, const struct sockaddr_storage *own,
                       const struct sockaddr_storage *other);
bool address_is_any(const uint8_t address[16]);
/* If a UDP socket is bound to any address, replaces that by the local address that routing chooses for this peer in the
 * socket's network namespace, if that can be determined. */
void address_find_local(struct ptracemeter *meter, struct path_record *facts,
                        const struct sockaddr_storage *peer, socklen_t length);
/* Whether what is sent to the remote address goes to several sockets. */
bool address_is_broadcast(struct ptracemeter *meter, const struct path_record *facts);
/* The name as the kernel meter records it: '@' for all NULs except those at the end. Returns false if there is none. */
bool address_take_name(struct path_record *facts, const struct sockaddr_un *address,
                       socklen_t size);

#endif
