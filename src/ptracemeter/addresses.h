/* SPDX-License-Identifier: MIT */
/* addresses.h: addresses of sockets. See ptracemeter_types.h. */
#ifndef DPM_ADDRESSES_H
#define DPM_ADDRESSES_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/socket.h>

struct sockaddr_un;

/* Of an internet address: its bytes, as a PATH has them, and its port. Returns the family, 0: it is none. IPv4 spoken
 * through an IPv6 socket is IPv4. */
uint8_t address_take(const struct sockaddr_storage *from, uint8_t bytes[16], uint16_t *port);
/* Those of both ends; `other` may be NULL. */
void address_take_both(struct path_record *facts, const struct sockaddr_storage *own,
                       const struct sockaddr_storage *other);
bool address_is_any(const uint8_t address[16]);
/* A UDP socket that is bound to any address is told with that which packets to and from this peer have, as
 * far as routing tells. */
void address_find_local(struct path_record *facts, const struct sockaddr_storage *peer,
                        socklen_t length);
/* As the kernel meter shows it: '@' for all NULs but the last ones. False: it has no name. */
bool address_take_name(struct path_record *facts, const struct sockaddr_un *address,
                       socklen_t size);

#endif
