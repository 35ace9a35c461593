/* SPDX-License-Identifier: MIT */
/*
 * likes.h: what connections that share a row have in common. Private to statistics/.
 *
 *      client [7]  127.0.0.1:40001 > 127.0.0.1:80  server [5]  \    tcp 127.0.0.1:* > 127.0.0.1:80,
 *      client [7]  127.0.0.1:40002 > 127.0.0.1:80  server [5]  /    {client [7]}, {server [5]}
 */
#ifndef DPM_LIKES_H
#define DPM_LIKES_H

#include "analysis/statistics/statistics.h"

/* All bytes count: it is to begin as all zero. Texts and lists are kept (communication_keep), so that equal ones are the
 * same. */
struct like {
    const char *addresses[2];     /* without what the kernel has chosen: "127.0.0.1:*", "*" */
    const uint32_t *processes[2]; /* that have used the ends */
    uint32_t counts[2];
    uint32_t connection; /* a number of its own, where each connection has a row; else 0 */
    uint8_t kind;
    bool
        by_sends[2]; /* what this end sends is counted where it is sent, not where it is received */
    bool local;      /* it stays on one machine */
    bool to_itself;  /* it has one direction only */
};

/* Of a table: 0, 1, 2 ... All zero is empty. */
struct likes {
    struct intern keys;
    struct like *list; /* by index */
    size_t capacity;
};

/* Index of a like, which may be new; or -ENOMEM. */
int64_t likes_add(struct likes *likes, const struct like *like);
/* -ENOENT: it is not there. */
int64_t likes_find(const struct likes *likes, const struct like *like);

/* The same one with texts and lists of `rows`. Returns 0 or -ENOMEM. */
int like_copy(struct communication *rows, const struct like *from, struct like *to);

void likes_done(struct likes *likes);

#endif
