/* SPDX-License-Identifier: MIT */
/* networks.h: the network namespaces of sockets, and how to ask the kernel in them. See ptracemeter_types.h. */
#ifndef DPM_NETWORKS_H
#define DPM_NETWORKS_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/socket.h>

/* The inode of the namespace of a socket that `copy` is a copy of; 0: not known. `made`: the tracee has just made it. */
uint32_t network_of_socket(struct ptracemeter *meter, const struct tracee *tracee, int copy,
                           bool made);
/* The inode of the namespace that the tracee is in now; 0: not known. */
uint32_t network_of_tracee(struct ptracemeter *meter, const struct tracee *tracee);
/* A socket for questions about the sockets of a namespace (sock_diag(7)); -1: the namespace cannot be entered, and this
 * is counted. */
int network_diag(struct ptracemeter *meter, uint32_t network);
/* Makes a socket in a namespace. Returns -1 if it cannot be entered. */
int network_socket(struct ptracemeter *meter, uint32_t network, int family, int type);
/* Forgets the namespaces without a known socket: the kernel keeps a namespace as long as we know it. */
void networks_sweep(struct ptracemeter *meter);
void networks_open(struct ptracemeter *meter);
void networks_close(struct ptracemeter *meter);

#endif
