/* SPDX-License-Identifier: MIT */
/* files.h: what processes read from files and write to them. Private to statistics/. */
#ifndef DPM_STATISTICS_FILES_H
#define DPM_STATISTICS_FILES_H

#include "analysis/statistics/statistics.h"
#include "base/lookup.h"

/* Rows of their own; what is used later shares one row. */
#define MOST_FILES 4096

/* A file as one process uses it, over all its paths. */
struct file_row {
    uint32_t origin;
    uint32_t device;
    uint64_t inode;
    struct communication_file sums; /* its name is kept by the statistics' rows */
};

struct files {
    struct lookup paths; /* (origin, path) --> index of its row */
    struct intern keys;
    struct file_row *rows; /* [keys.count] */
    size_t capacity;
    struct communication_file others; /* of all files beyond MOST_FILES */
};

/* These return 0 or -ENOMEM. */

/* Counts a READ, WRITE or CREATEPATH by `process`, an index into communication.processes, if its path is a file. */
int files_count(struct files *files, const struct identities *identities,
                struct communication *rows, uint32_t origin, uint32_t process,
                const struct record *record);

/* The same for a DESTROYPATH. */
void files_end(struct files *files, uint32_t origin, const struct record *record);

/* Fills in the files of a result. */
int files_build(const struct files *files, struct communication *result);

/* Fills in the files of groups of processes: process i is in group group_of[i]. */
int files_group(const struct communication *from, const uint32_t *group_of,
                struct communication *result);

void files_done(struct files *files);
void file_rows_done(struct communication_file *files, size_t count);

#endif
