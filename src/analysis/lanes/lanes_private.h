/* SPDX-License-Identifier: MIT */
/* lanes_private.h: processes and groups while lanes are made. Private to lanes/. */
#ifndef DPM_LANES_PRIVATE_H
#define DPM_LANES_PRIVATE_H

#include "analysis/lanes/lanes.h"
#include "base/lookup.h"

#define NO_LANE UINT32_MAX

/* A process under one name. */
struct actor {
    struct lane sums; /* without bins */
    uint32_t group;
    uint32_t lane;   /* index in the result; NO_LANE: the others */
    uint32_t member; /* index there; NO_LANE: it has no lane of its own */
};

/* A part of the account. Few of all processes have one in a bin, so these are not arrays of each process. */
struct cell {
    uint32_t actor;
    uint16_t bin;
    uint16_t kind;
    float time; /* ns */
};

struct lanes_analysis {
    struct history *history;
    struct elapsed_analysis *elapsed;
    struct intern keys; /* of actors */
    struct actor *actors;
    size_t actor_room;
    struct intern cell_keys;
    struct cell *cells;
    size_t cell_room;
    uint64_t first_record;
    bool has_span;
    uint64_t begin, end;
    struct lanes_loss *losses;
    size_t loss_count, loss_room;
    uint64_t *seen; /* [origin]: time of its latest event */
    size_t seen_room;
};

/* The script that a process with this label executes; "": none. */
void lanes_script(const char *label, char script[PROCESS_LABEL_SIZE]);

/* A key of a number and a name. (A small number as the seed of a short name's hash gives equal keys for different pairs.) */
static inline uint64_t lanes_key(uint64_t number, const char *name)
{
    uint64_t seed = hash_bytes(0, &number, sizeof(number));
    size_t length = 0;

    while (name[length] != '\0')
        length++;
    return hash_bytes(seed, name, length);
}

/* ---- lanes_choice.c ---- */

/* Makes lanes of the actors: groups, the first ones, their members; without bins. Returns 0 or -ENOMEM. */
int lanes_choose(struct lanes_analysis *analysis, struct lanes *lanes);

#endif
