/* SPDX-License-Identifier: MIT */
/* shared_memory.h: memory that several metered processes may write to, for NAME records. Private to recorder/. */
#ifndef DPM_SHARED_MEMORY_H
#define DPM_SHARED_MEMORY_H

#include "base/lookup.h"
#include "event/event.h"

struct shared_memory {
    struct lookup objects; /* hash of device and inode -> index */
    struct pool list;
    struct name_record *told; /* [count]: those that were not taken yet */
    size_t capacity;
    uint32_t count, taken;
    uint32_t made; /* objects */
};

/* Looks at what a process has mapped now. What several processes share becomes NAMEs, with this time; without memory they are
 * left out. */
void shared_memory_look(struct shared_memory *shared, uint32_t process, pid_t pid);

/* The next of these NAMEs, which gets this time. Returns false after the last one. */
bool shared_memory_next(struct shared_memory *shared, uint64_t time, struct name_record *ret_name);

void shared_memory_free(struct shared_memory *shared);

#endif
