/* SPDX-License-Identifier: MIT */
/* datagram_names.h: UNIX datagram sockets by their names. See ptracemeter_types.h. */
#ifndef DPM_DATAGRAM_NAMES_H
#define DPM_DATAGRAM_NAMES_H

#include "ptracemeter/ptracemeter_types.h"

struct sockaddr_un;

/* The cookie of the socket that gets what the tracee sends to this name from `object`; 0: not known. */
uint64_t name_of_receiver(struct ptracemeter *meter, const struct tracee *tracee,
                          const struct object *object, const struct sockaddr_un *address,
                          size_t length);
/* The cookie of the socket with this name that has sent what `object` receives. Returns false if several may have. */
bool name_of_sender(struct ptracemeter *meter, const struct object *object,
                    const struct sockaddr_un *address, size_t length, uint64_t *ret_cookie);
/* Whether something that the socket has sent may still be received. */
bool name_has_unreceived(const struct ptracemeter *meter, const struct object *object);

#endif
