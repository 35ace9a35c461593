/* SPDX-License-Identifier: MIT */
/*
 * scratch.h: a growing array in a mapped file without a name, for what may be larger than memory.
 *
 *      file  | item | item | item | ... free, already allocated ... |
 *                                 ^ count
 *
 * The kernel may write out and drop its pages. File space is allocated before it is used, so a full disk is an error,
 * not a signal.
 */
#ifndef DPM_SCRATCH_H
#define DPM_SCRATCH_H

#include "base/base.h"

struct scratch {
    void *at;    /* moves when it grows */
    size_t size; /* bytes of an item */
    uint32_t count;
    size_t room;
    int file;
};

/* Opens an empty array in `directory` (NULL: $TMPDIR, or /var/tmp). Returns 0, or a negative errno with a line in
 * `problem`. A struct with `file` < 0 is closed. */
int scratch_open(struct scratch *scratch, size_t size, const char *directory,
                 struct problem *problem);
void scratch_close(struct scratch *scratch);

/* Allocates space for so many items. Returns 0, or -ENOSPC, -EFBIG, -ENOMEM ... */
int scratch_reserve(struct scratch *scratch, size_t room);

/* Index of a new item, which is all zero; or an error as above. */
int64_t scratch_add(struct scratch *scratch);

#endif
