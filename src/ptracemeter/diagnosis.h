/* SPDX-License-Identifier: MIT */
/* diagnosis.h: asks the kernel about a socket by its inode. See ptracemeter_types.h. */
#ifndef DPM_DIAGNOSIS_H
#define DPM_DIAGNOSIS_H

#include "ptracemeter/ptracemeter_types.h"
#include "ptracemeter/socket_facts.h"

/* The inode of a UNIX socket's peer, and a socket's cookie; 0: not known. */
uint64_t diagnosis_peer(struct ptracemeter *meter, uint64_t inode);
uint64_t diagnosis_cookie(struct ptracemeter *meter, uint64_t inode);
/* Finds out what the socket with this inode is. Returns false if it is not in the kernel's lists. */
bool diagnosis_facts(struct ptracemeter *meter, uint64_t inode, struct socket_facts *ret_facts);
/* The cookie of the UNIX datagram socket that is bound to this name; 0: there is none. */
uint64_t diagnosis_named(struct ptracemeter *meter, const char *name, size_t length);

#endif
