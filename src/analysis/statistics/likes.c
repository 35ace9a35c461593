/* SPDX-License-Identifier: MIT */
/* likes.c: what connections that share a row have in common. See likes.h. */
#include "analysis/statistics/likes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void likes_done(struct likes *likes)
{
    intern_done(&likes->keys);
    free(likes->list);
}

static bool is_same(const struct like *a, const struct like *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* In the rare case of a hash collision, the later one uses the next key. */
int64_t likes_find(const struct likes *likes, const struct like *like)
{
    for (uint64_t key = hash_bytes(0, like, sizeof(*like));; key++) {
        int64_t index = intern_find(&likes->keys, key);
        if (index < 0 || is_same(&likes->list[index], like))
            return index;
    }
}

int64_t likes_add(struct likes *likes, const struct like *like)
{
    for (uint64_t key = hash_bytes(0, like, sizeof(*like));; key++) {
        uint32_t count = likes->keys.count;
        if (array_reserve(&likes->list, &likes->capacity, count + 1UL, sizeof(*likes->list)) < 0)
            return -ENOMEM;
        int64_t index = intern_add(&likes->keys, key);
        if (index == count)
            likes->list[index] = *like;
        if (index < 0 || is_same(&likes->list[index], like))
            return index;
    }
}

int like_copy(struct communication *rows, const struct like *from, struct like *to)
{
    memcpy(to, from, sizeof(*to));
    for (int i = 0; i < 2; i++) {
        to->addresses[i] = communication_keep_text(rows, from->addresses[i]);
        if (from->counts[i] > 0)
            to->processes[i] = communication_keep(rows, from->processes[i],
                                                  from->counts[i] * sizeof(*from->processes[i]));
        if (to->addresses[i] == NULL || (from->counts[i] > 0 && to->processes[i] == NULL))
            return -ENOMEM;
    }
    return 0;
}
