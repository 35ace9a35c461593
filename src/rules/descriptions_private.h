/* SPDX-License-Identifier: MIT */
/* descriptions_private.h: parsed descriptions. Private to rules/. See descriptions.h. */
#ifndef DPM_DESCRIPTIONS_PRIVATE_H
#define DPM_DESCRIPTIONS_PRIVATE_H

#include "rules/descriptions.h"

struct descriptions {
    struct arena texts;
    struct description *parts; /* the header first */
    struct description_field *fields;
    uint32_t part_count, field_count, name_count;
    size_t part_capacity, field_capacity;
    struct described_system system;
};

#endif
