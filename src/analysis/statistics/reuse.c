/* SPDX-License-Identifier: MIT */
/*
 * reuse.c: which addresses and ports connections had. See reuse.h.
 *
 *      hash --> latest    | . | h | h | . | ...     when it is full, it becomes the one before
 *               before    | h | . | h | h | ...     full
 *
 * Both together hold the latest ADDRESSES_KNOWN at least. The hashes themselves stand in the slots: whoever asks for one fetches one line of each table, and can ask for it before. A
 * struct lookup would take twice the memory, for an index that nobody needs, and a struct intern two lines.
 */
#include "analysis/statistics/reuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_LEAST 1024u

uint64_t hash_addresses(uint32_t origin, const struct path_record *record)
{
    struct {
        uint8_t local[sizeof(record->local)], remote[sizeof(record->remote)];
        uint16_t ports[2];
        uint32_t network;
    } addresses = {.ports = {record->local_port, record->remote_port}, .network = record->network};

    memcpy(addresses.local, record->local, sizeof(addresses.local));
    memcpy(addresses.remote, record->remote, sizeof(addresses.remote));
    return hash_bytes(origin, &addresses, sizeof(addresses));
}

/* Where it stands, or else may be put. */
static uint64_t *slot_of(const struct hashes *hashes, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash & (hashes->slot_count - 1);

    while (hashes->slots[slot] != 0 && hashes->slots[slot] != hash)
        slot = (slot + 1) & (hashes->slot_count - 1);
    return &hashes->slots[slot];
}

static bool has(const struct hashes *hashes, uint64_t hash)
{
    return hashes->count > 0 && *slot_of(hashes, hash) != 0;
}

static int grow(struct hashes *hashes)
{
    struct hashes grown = {.slot_count =
                               hashes->slot_count == 0 ? SLOTS_LEAST : 2 * hashes->slot_count,
                           .count = hashes->count};

    grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
    if (grown.slots == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < hashes->slot_count; i++)
        if (hashes->slots[i] != 0)
            *slot_of(&grown, hashes->slots[i]) = hashes->slots[i];
    free(hashes->slots);
    *hashes = grown;
    return 0;
}

static int put(struct hashes *hashes, uint64_t hash)
{
    if (hashes->count >= hashes->slot_count / 2 && grow(hashes) < 0)
        return -ENOMEM;
    uint64_t *slot = slot_of(hashes, hash);
    hashes->count += *slot == 0;
    *slot = hash;
    return 0;
}

static uint64_t not_free(uint64_t hash)
{
    return hash == 0 ? 1 : hash;
}

static void make_room(struct addresses_had *had)
{
    struct hashes full = had->latest;

    had->latest = had->before;
    had->before = full;
    if (had->latest.count > 0)
        memset(had->latest.slots, 0, had->latest.slot_count * sizeof(*had->latest.slots));
    had->latest.count = 0;
}

int addresses_note(struct addresses_had *had, uint64_t hash)
{
    uint64_t noted = not_free(hash);
    uint32_t count = had->latest.count;
    bool before = has(&had->before, noted);

    if (put(&had->latest, noted) < 0)
        return -ENOMEM;
    bool known = before || had->latest.count == count;
    if (had->latest.count == ADDRESSES_KNOWN)
        make_room(had);
    return known;
}

bool addresses_are_noted(const struct addresses_had *had, uint64_t hash)
{
    return has(&had->latest, not_free(hash)) || has(&had->before, not_free(hash));
}

void addresses_fetch(const struct addresses_had *had, uint64_t hash)
{
    const struct hashes *const tables[] = {&had->latest, &had->before};

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        if (tables[i]->slots != NULL)
            __builtin_prefetch(&tables[i]->slots[(uint32_t)hash & (tables[i]->slot_count - 1)], 1);
}

void addresses_done(struct addresses_had *had)
{
    free(had->latest.slots);
    free(had->before.slots);
    *had = (struct addresses_had){0};
}
