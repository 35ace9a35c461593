/* SPDX-License-Identifier: MIT */
/* rules_file.c: a file of rules that may change. See rules_file.h. */
#include "command/shared/rules_file.h"

#include <string.h>

#define LOOK_EVERY 500000000ULL /* ns */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void rules_file_init(struct rules_file *file, const char *path)
{
    *file = (struct rules_file){
        .path = path != NULL && strcmp(path, "-") != 0 ? path : NULL,
        .looked = clock_now(CLOCK_MONOTONIC),
    };
    if (file->path != NULL && (stat(file->path, &file->read) < 0 || !S_ISREG(file->read.st_mode)))
        file->path = NULL; /* a pipe: it was read once */
    file->seen = file->read;
}

int rules_file_look(struct rules_file *file, struct rules **ret_rules, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct stat found;

    if (file->path == NULL || now - file->looked < LOOK_EVERY)
        return 0;
    file->looked = now;
    /* it may be being replaced, or gone: then the rules stay */
    if (stat(file->path, &found) < 0 || !S_ISREG(found.st_mode))
        return 0;
    bool stays = is_same(&found, &file->seen);
    file->seen = found;
    if (!stays || is_same(&found, &file->read))
        return 0;
    file->read = found;
    int result = rules_read(file->path, ret_rules, problem);
    return result < 0 ? result : 1;
}

void rules_file_take(struct rules_file *file, struct rules *rules)
{
    rules_free(file->rules);
    file->rules = rules;
}

void rules_file_done(struct rules_file *file)
{
    rules_free(file->rules);
    file->rules = NULL;
}
