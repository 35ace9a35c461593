/* SPDX-License-Identifier: MIT */
/* sockets.h: UNIX sockets that have a PATH record and are not closed yet. Private to meter/load. */
#ifndef DPM_SOCKETS_H
#define DPM_SOCKETS_H

#include "meter/shared/meter_interface.h"

struct open_socket {
    uint32_t path;
    uint64_t cookie;
    uint64_t peer;
    uint64_t inode;
    bool datagram;
    bool ended; /* its end was recorded */
};

struct open_sockets {
    struct open_socket *list;
    size_t count;
    size_t capacity;
    struct intern places; /* index in `list`, by path number */
    uint32_t network;     /* inode of our network namespace; only its sockets can be listed */
};

void open_sockets_init(struct open_sockets *sockets);
void open_sockets_done(struct open_sockets *sockets);

/* Adds the UNIX socket of a PATH record. Returns 0 or -ENOMEM. */
int open_sockets_add(struct open_sockets *sockets, const struct path_record *path);

/* Notes that the kernel side has recorded the end of a path. */
void open_sockets_end(struct open_sockets *sockets, uint32_t path);

/* Looks for closed sockets and pipes, as meter_interface.sweep. */
int meter_sweep(struct meter_interface *interface, struct problem *problem);

#endif
