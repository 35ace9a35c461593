/* SPDX-License-Identifier: MIT */
/*
 * libraries.h: places in libraries at which the kernel meter makes records for metered processes: a table, and how its
 * places are found in a library's file.
 *
 *      /usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so      libraries_of_file: "libjvm.so"
 *          a probe of its table     "hotspot:gc__begin" --> kernel program library_sensor, number SENSOR_GC_BEGIN
 *      /usr/lib/x86_64-linux-gnu/libmpi.so.40
 *          "PMPI_Send" --> mpi_begins, number MPI_SEND; and, when it returns, mpi_ends
 *
 *          the place in a file      offset 0x8e1b24, semaphore 0                                 libraries_find_places
 *
 * A name with a colon is a statically defined probe (USDT: provider:name), any other one a function that the library exports.
 * A file may hold anything: libelf checks it, and what is read is bounded.
 */
#ifndef DPM_LIBRARIES_H
#define DPM_LIBRARIES_H

#include "event/event.h"

/* What a user asks for: bits. */
enum library_wish {
    LIBRARY_SENSORS = 1, /* --sensors: runtimes of languages */
    LIBRARY_MPI = 2,     /* --kinds mpi */
};

struct library_probe {
    const char *place;
    const char *program; /* of the kernel meter */
    uint32_t number;     /* what the program is told: SENSOR_GC_BEGIN, MPI_SEND ... */
    bool at_return;      /* when the function returns */
};

struct library {
    const char *file; /* what the last part of its path begins with */
    enum library_wish wish;
    const struct library_probe *probes;
    size_t count;
    const char *mark; /* a variable that it exports; NULL: any */
    uint32_t
        without_mark; /* bits that are added to numbers if it does not: it is another library of this name */
};

/* Where libraries usually are whose first call must not be missed: patterns of glob(7), NULL after the last. */
const char *libraries_usual_files(size_t index, unsigned wishes);

/* The library that this path may be, by its name, of those that are wished for; NULL: none. */
const struct library *libraries_of_file(const char *path, unsigned wishes);

#define LIBRARY_PLACES_MOST 256

struct library_place {
    const struct library_probe *probe;
    uint32_t number;    /* that of the probe, and bits of the library */
    uint64_t offset;    /* in the file */
    uint64_t semaphore; /* offset of a counter that shows the library that someone looks; 0: none */
};

/* Finds the probes of a library in its file: any number of places for each, no two equal, in the order of the table. Returns
 * how many were written, 0 if the file has none of them, or -ENOEXEC: it is not a 64-bit ELF file for this processor. Only
 * the first symbol table and section of probes are read, and not if they have more than 32 MiB. */
int libraries_find_places(const struct library *library, int file,
                          struct library_place ret_places[LIBRARY_PLACES_MOST]);

#endif
