/* SPDX-License-Identifier: MIT */
/*
 * kernel_types.c: finds the kernel's types by name. See kernel_types.h.
 *
 *      slots    numbers of named types, by hash of name and kind; those of equal hashes follow in the types' order
 */
#include "meter/load/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct kernel_types {
    struct btf *btf;
    uint32_t *slots; /* 0: free */
    uint32_t slot_count;
};

static bool is_indexed(uint32_t kind)
{
    return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_FUNC || kind == BTF_KIND_STRUCT;
}

/* FNV-1a: names are short. */
static uint32_t hash_of(const char *name, uint32_t kind)
{
    uint32_t hash = 2166136261u ^ kind;

    while (*name != '\0')
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash;
}

static int index_names(struct kernel_types *types)
{
    uint32_t count = btf__type_cnt(types->btf);

    types->slot_count = 1;
    while (types->slot_count < count * 2)
        types->slot_count *= 2;
    types->slots = calloc(types->slot_count, sizeof(*types->slots));
    if (types->slots == NULL)
        return -ENOMEM;
    for (uint32_t id = 1; id < count; id++) {
        const struct btf_type *type = btf__type_by_id(types->btf, id);
        uint32_t kind = btf_kind(type);
        if (!is_indexed(kind))
            continue;
        uint32_t slot = hash_of(btf__name_by_offset(types->btf, type->name_off), kind);
        while (types->slots[slot & (types->slot_count - 1)] != 0)
            slot++;
        types->slots[slot & (types->slot_count - 1)] = id;
    }
    return 0;
}

/* ---- public ---- */

int kernel_types_read(struct kernel_types **ret_types)
{
    struct kernel_types *types = calloc(1, sizeof(*types));

    if (types == NULL)
        return -ENOMEM;
    types->btf = btf__load_vmlinux_btf();
    int result = types->btf == NULL ? -errno : index_names(types);
    if (result < 0) {
        kernel_types_free(types);
        return result;
    }
    *ret_types = types;
    return 0;
}

void kernel_types_free(struct kernel_types *types)
{
    if (types == NULL)
        return;
    btf__free(types->btf);
    free(types->slots);
    free(types);
}

const struct btf_type *kernel_types_at(const struct kernel_types *types, uint32_t id)
{
    return id == 0 ? NULL : btf__type_by_id(types->btf, id);
}

const char *kernel_types_name(const struct kernel_types *types, uint32_t offset)
{
    const char *name = btf__name_by_offset(types->btf, offset);

    return name == NULL ? "" : name;
}

uint32_t kernel_types_find(const struct kernel_types *types, const char *name, uint32_t kind)
{
    for (uint32_t slot = hash_of(name, kind);; slot++) {
        uint32_t id = types->slots[slot & (types->slot_count - 1)];
        const struct btf_type *type = kernel_types_at(types, id);
        if (type == NULL ||
            (btf_kind(type) == kind && strcmp(kernel_types_name(types, type->name_off), name) == 0))
            return id;
    }
}
