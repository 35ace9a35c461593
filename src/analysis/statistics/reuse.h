/* SPDX-License-Identifier: MIT */
/*
 * reuse.h: which addresses and ports connections had. Private to statistics/.
 *
 *      PATH --hash--> among the latest hashes? --> this connection reuses those of an earlier one
 */
#ifndef DPM_REUSE_H
#define DPM_REUSE_H

#include "event/event.h"

/* Hashes of addresses and ports that connections had. */
struct addresses_had {
    struct hashes {
        uint64_t *slots; /* open addressing; 0: free */
        uint32_t slot_count;
        uint32_t count;
    } latest, before;
};

/* At least so many of the latest are known, and at most twice as many: a machine has no more ports to choose from. */
#define ADDRESSES_KNOWN 65536u

/* Of this end, in its recording: the other end is another one, and another recording may tell of the same. */
uint64_t hash_addresses(uint32_t origin, const struct path_record *record);

/* Whether this was noted before, among the latest; from now on it was. Returns 1, 0 or -ENOMEM. */
int addresses_note(struct addresses_had *had, uint64_t hash);
bool addresses_are_noted(const struct addresses_had *had, uint64_t hash);

/* Will be asked for soon. */
void addresses_fetch(const struct addresses_had *had, uint64_t hash);
void addresses_done(struct addresses_had *had);

#endif
