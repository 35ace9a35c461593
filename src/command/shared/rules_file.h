/* SPDX-License-Identifier: MIT */
/*
 * rules_file.h: the file of selection rules of a recording, which is read again when it changes. Private to command/.
 *
 * A file that is being written may be whole, and other rules, at any moment: it is read once it has stayed the same from
 * one look to the next.
 */
#ifndef DPM_RULES_FILE_H
#define DPM_RULES_FILE_H

#include "rules/rules.h"

#include <sys/stat.h>

struct rules_file {
    const char *path; /* NULL: there is no file to look at */
    struct stat read; /* what it was when it was read ... */
    struct stat seen; /* ... and at the last look */
    uint64_t looked;
    struct rules *rules; /* the newest ones; NULL: it has not changed */
};

/* Call it when the rules have been read. `path` NULL, "-" or no file: there is nothing to look at. */
void rules_file_init(struct rules_file *file, const char *path);

/* Looks at it, twice a second at most. Returns 1: it has other rules, in *ret_rules, which the caller gives to
 * rules_file_take once they are in force, or frees; 0: not; or a negative errno with a line in `problem`, once: it cannot be
 * read, or they are wrong. */
int rules_file_look(struct rules_file *file, struct rules **ret_rules, struct problem *problem);

/* They are in force: frees those from before. */
void rules_file_take(struct rules_file *file, struct rules *rules);

void rules_file_done(struct rules_file *file);

#endif
