/* SPDX-License-Identifier: MIT */
/* sockets.h: UNIX sockets that the trace speaks of, until they are closed. Private to meter/load. */
#ifndef DPM_SOCKETS_H
#define DPM_SOCKETS_H

#include "meter/shared/meter_interface.h"

struct open_socket {
    uint32_t path;
    uint64_t cookie;
    uint64_t peer;
    uint64_t inode;
    bool datagram;
    bool ended; /* its end was told */
};

struct open_sockets {
    struct open_socket *list;
    size_t count;
    size_t capacity;
    struct intern places; /* in the list, by number of the path */
    uint32_t network; /* inode of our network namespace: the only one whose sockets can be listed */
};

void open_sockets_init(struct open_sockets *sockets);
void open_sockets_done(struct open_sockets *sockets);

/* Notes a PATH record of a UNIX socket. Returns 0 or -ENOMEM. */
int open_sockets_add(struct open_sockets *sockets, const struct path_record *path);

/* Notes that a path's end was told by the kernel side. */
void open_sockets_end(struct open_sockets *sockets, uint32_t path);

/* Looks for closed ones, and pipes: as meter_interface.sweep. */
int meter_sweep(struct meter_interface *interface, struct problem *problem);

#endif
