/* SPDX-License-Identifier: MIT */
/*
 * likes.h: what connections that share a row have in common (their "like"). Private to statistics/.
 *
 *      client [7]  127.0.0.1:40001 > 127.0.0.1:80  server [5]  \    tcp 127.0.0.1:* > 127.0.0.1:80,
 *      client [7]  127.0.0.1:40002 > 127.0.0.1:80  server [5]  /    {client [7]}, {server [5]}
 */
#ifndef DPM_LIKES_H
#define DPM_LIKES_H

#include "analysis/statistics/statistics.h"

/* Compared byte by byte, so initialize it with zeros, padding included. Texts and lists must come from
 * communication_keep: equal ones then have the same address. */
struct like {
    const char *addresses[2];     /* without what the kernel chose: "127.0.0.1:*", "*" */
    const uint32_t *processes[2]; /* that have used the ends */
    uint32_t counts[2];
    uint32_t connection; /* a unique number if each connection has a row; else 0 */
    uint8_t kind;
    bool by_sends[2]; /* traffic from this end is counted when sent, not when received */
    bool local;       /* within one machine */
    bool to_itself;   /* it has one direction only */
};

/* A table of likes with indexes 0, 1, 2 ... All zero: empty. */
struct likes {
    struct intern keys;
    struct like *list; /* by index */
    size_t capacity;
};

/* Index of a like, which is added if it is new; or -ENOMEM. */
int64_t likes_add(struct likes *likes, const struct like *like);
/* Index of a like, or -ENOENT. */
int64_t likes_find(const struct likes *likes, const struct like *like);

/* Copies a like, with its texts and lists kept in `rows`. Returns 0 or -ENOMEM. */
int like_copy(struct communication *rows, const struct like *from, struct like *to);

void likes_done(struct likes *likes);

#endif
