/* SPDX-License-Identifier: MIT */
/* diagnosis.h: asks the kernel about a socket by its inode. See ptracemeter_types.h. */
#ifndef DPM_DIAGNOSIS_H
#define DPM_DIAGNOSIS_H

#include "ptracemeter/ptracemeter_types.h"
#include "ptracemeter/socket_facts.h"

/* The inode of a UNIX socket's peer; 0: it has not been accepted yet, or has been closed. Returns false if it has none,
 * or nothing is known. */
bool diagnosis_peer(struct ptracemeter *meter, uint32_t network, uint64_t inode,
                    uint64_t *ret_peer);
/* A UNIX socket's cookie; 0: not known. */
uint64_t diagnosis_cookie(struct ptracemeter *meter, uint32_t network, uint64_t inode);
/* How many bytes a UNIX socket could receive now; -1: not known. */
int64_t diagnosis_waiting(struct ptracemeter *meter, uint32_t network, uint64_t inode);
/* The cookie of the listening UNIX socket whose queue this one is in; 0: none. */
uint64_t diagnosis_listener(struct ptracemeter *meter, uint32_t network, uint64_t inode);
/* Finds out what the socket with this inode is. Returns false if it is not in the kernel's lists. `network`: where to
 * look first. */
bool diagnosis_facts(struct ptracemeter *meter, uint32_t network, uint64_t inode,
                     struct socket_facts *ret_facts);
/* The name of a UNIX socket; or, if `inode` is not 0, the file that it is bound to. */
struct diagnosis_name {
    const char *name;
    size_t length;
    uint32_t device; /* as in the kernel */
    uint32_t inode;
};

/* The cookie of the UNIX datagram socket that is bound to this; 0: there is none. */
uint64_t diagnosis_named(struct ptracemeter *meter, uint32_t network,
                         const struct diagnosis_name *name);
/* Whether no UDP socket of its namespace has the address that a path leads to. False if the kernel cannot be asked. */
bool diagnosis_leads_nowhere(struct ptracemeter *meter, const struct path_record *record);
/* The cookie of the socket that is now the other end of a TCP connection, accepted or not; 0: there is none in this
 * namespace. Returns false if the kernel does not answer. */
bool diagnosis_connection(struct ptracemeter *meter, const struct path_record *record,
                          uint64_t *ret_cookie);

#endif
