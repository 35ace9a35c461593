/* SPDX-License-Identifier: MIT */
/* conduct_private.h: shared by the files of this folder only. */
#ifndef DPM_CONDUCT_PRIVATE_H
#define DPM_CONDUCT_PRIVATE_H

#include "conduct/conduct.h"

struct conduct {
    struct conduct_options options;
    struct remote *remote;
    uint64_t heard;
    json_t *notes; /* of each machine, the hashes of those that were printed, as keys */
    unsigned interrupts, patience; /* interruptions so far; and those with which waiting ends */
    uint64_t looked;               /* when space was made */
    bool nearly_full;              /* the server, which was said */
    struct conduct_process **processes;
    size_t process_count, process_capacity;
};

/* conduct.c: a notice or output of a machine, in the order of their numbers. */
void conduct_take(struct conduct *conduct, struct remote_host *host,
                  const struct fabric_message *message);

/* conduct_process.c */
void conduct_take_notice(struct conduct *conduct, struct remote_host *host,
                         const struct conduct_notice *notice);
void conduct_take_output(struct conduct *conduct, struct remote_host *host,
                         const struct fabric_message *message);
void conduct_forget_all(struct conduct *conduct);

#endif
