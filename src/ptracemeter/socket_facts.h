/* SPDX-License-Identifier: MIT */
/* socket_facts.h: what a socket is. See ptracemeter_types.h. */
#ifndef DPM_SOCKET_FACTS_H
#define DPM_SOCKET_FACTS_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/socket.h>

struct socket_facts {
    int family;
    int type;
    int protocol;
    uint32_t network; /* inode of its namespace; 0: not known */
    bool v6_only;
    uint64_t cookie;      /* 0: not known yet */
    int state;            /* of TCP: TCP_ESTABLISHED ...; 0: not known */
    socklen_t own_size;   /* 0: no address */
    socklen_t other_size; /* 0: not connected */
    struct sockaddr_storage own;
    struct sockaddr_storage other;
};

/* Finds out what socket a stopped tracee has as `descriptor`. If false, errno says why: EBADF, it is not a descriptor
 * any more; anything else, it cannot be looked at. */
bool socket_facts(struct ptracemeter *meter, struct tracee *tracee, uint64_t inode, int descriptor,
                  struct socket_facts *ret_facts);

/* How many datagrams have been dropped on their arrival at a UDP socket. Returns false if that is not known, or if some
 * are there to be received, as these may have come before the dropped ones. */
bool socket_drops(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                  uint32_t *ret_drops);

#endif
