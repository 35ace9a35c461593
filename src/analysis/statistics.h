/* SPDX-License-Identifier: MIT */
/*
 * statistics.h: what the communication statistics remember while they read. Private to analysis/.
 *
 *      (origin, stream number)  --> streams[]   --process--> processes[]
 *      (origin, path number)    --> paths[]     --first_use--> uses[] --next--> uses[] ...
 *      (path, process)          --> uses[]      one process at one end of a path: its counters
 */
#ifndef DPM_STATISTICS_H
#define DPM_STATISTICS_H

#include "analysis/analysis.h"
#include "analysis/joining.h"

struct statistics_origin {
    bool seen;
    bool machine_known;
    uint32_t machine; /* index into machines */
    uint32_t meter_flags;
    uint64_t first_time; /* of its records, ns monotonic */
    uint64_t last_time;
    int64_t first_wall; /* the same, ns since 1970 */
    int64_t last_wall;
};

struct statistics_machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    char name[MACHINE_NAME_SIZE];
    bool known; /* there was a MACHINE record */
};

struct statistics_process {
    uint32_t origin;
    uint32_t number; /* of its first stream */
    uint32_t parent; /* number of the stream that created it, 0: not known */
    uint32_t pid;    /* 0: no identity record yet */
    uint32_t pid_inside;
    uint32_t pid_namespace;
    uint32_t user;
    uint32_t image;
    uint64_t cgroup;
    char name[STREAM_NAME_SIZE];
    uint64_t cpu;
};

struct statistics_stream {
    uint32_t process;   /* index into processes */
    bool known;         /* its identity record was seen */
    bool running;       /* proc_time is set */
    uint64_t proc_time; /* the last one seen, 48 bits */
};

/* One process at one end of a path. */
struct statistics_use {
    uint32_t process;
    uint32_t next; /* index into uses + 1 of the same path, 0: last */
    struct traffic sent;
    struct traffic received;
};

struct statistics_path {
    uint32_t origin;
    uint32_t number;
    uint32_t first_use; /* index into uses + 1 */
    uint32_t last_used; /* the same, of the use that was looked up last */
    bool known;
    bool byte_stream;  /* 0 bytes received are the end of file */
    uint64_t messages; /* SEND and RECEIVE records */
    uint64_t dropped;
    uint32_t last_dropped; /* the last count that DROPPED told, modulo 2^32 */
};

/* Numbers of an origin, found by number; the last one found is found again without a look-up. */
struct number_table {
    struct intern numbers;
    uint64_t last_key;
    uint32_t last_index;
    bool last_known;
};

struct statistics {
    struct identities *identities; /* of paths, machines, images, users and cgroups */
    struct statistics_origin *origins;
    size_t origin_capacity;
    uint32_t origin_count;
    struct statistics_machine *machines;
    size_t machine_capacity;
    uint32_t machine_count;
    struct number_table process_numbers;
    struct statistics_process *processes;
    size_t process_capacity;
    struct number_table stream_numbers;
    struct statistics_stream *streams;
    size_t stream_capacity;
    struct number_table path_numbers;
    struct statistics_path *paths;
    size_t path_capacity;
    struct intern use_keys;
    struct statistics_use *uses;
    size_t use_capacity;
    struct joiner joiner; /* ends are numbered like paths */
    uint64_t events;
    uint64_t unknown_streams;
    uint64_t unseen_bytes;
};

/* ---- what makers of a result share ---- */

/* A copy that the result owns, or NULL: out of memory. */
void *communication_keep(struct communication *communication, const void *from, size_t size);

/* Unites pairs of the same parties, and puts pairs and paths in order. */
void communication_arrange(struct communication *communication);

void add_traffic(struct traffic *sum, const struct traffic *more);

#endif
