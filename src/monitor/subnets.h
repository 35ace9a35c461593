/* SPDX-License-Identifier: MIT */
/*
 * subnets.h: the subnets that this machine is in. Private to monitor/.
 *
 *      eth0 10.0.3.7 --> 10.0.3.0/24     eth0 fd00::7 --> fd00::/64     lo 127.0.0.1 --> 127.0.0.0/8
 */
#ifndef DPM_SUBNETS_H
#define DPM_SUBNETS_H

#include "view/figures.h"

#include <net/if.h>
#include <sys/types.h>

#define SUBNETS_MOST 256

struct subnet {
    char name[VIEW_SUBNET_SIZE];
    pid_t number; /* made of the name: in messages it stands where other objects have a process */
    char interface[IF_NAMESIZE];
};

/* One for each interface and subnet, without link-local addresses, which say nothing of a network. Returns how many. */
size_t subnets_list(struct subnet list[SUBNETS_MOST]);

#endif
