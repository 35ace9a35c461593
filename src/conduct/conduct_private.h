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
};

#endif
