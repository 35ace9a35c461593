/* SPDX-License-Identifier: MIT */
/* symbols_private.h: shared by the files of symbols/. */
#ifndef DPM_SYMBOLS_PRIVATE_H
#define DPM_SYMBOLS_PRIVATE_H

#include "base/mapping.h"
#include "symbols/symbols.h"

#include <limits.h>
#include <sys/types.h>

/* ---- program_file.c: the file that a process executes ---- */

/* Opens the program of an IMAGE through a process that executes it, or by its name. Returns the descriptor of a
 * regular file that is verified to be the IMAGE's, or -ENOENT if there is none. */
int program_file_open(const struct image_record *image, pid_t pid);

/* Opens `path` if it is that file. Returns the same. */
int program_file_open_path(const char *path, struct file_identity identity);

/* The path of an open file. */
void program_file_name(int file, char name[MODULE_NAME_SIZE]);

/* ---- mappings.c: the files that a process has mapped ---- */

struct mappings {
    struct mapping *list; /* executable ones of files, sorted by address */
    size_t count;
};

/* Reads the mappings of a process. Returns 0 or a negative errno, most likely because the process is gone. */
int mappings_read(pid_t pid, struct mappings *ret_mappings);
void mappings_done(struct mappings *mappings);

/* The kernel's name for the file of a mapping of this process: a path as the process sees it. Returns whether there is
 * one. It may lead to another file by now. */
bool mapping_name(pid_t pid, const struct mapping *mapping, char ret_name[PATH_MAX]);

/* The mapping that contains an address, or NULL. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address);

/* ---- naming.c: names for places in a file ---- */

/* A program counter that has occurred, as a position in a module's file. */
struct place {
    uint64_t pc;     /* library: the PC. Program: 0 */
    uint64_t offset; /* library: in the file. Program: from the beginning of its text */
    uint32_t image;  /* library: the image that was executed. Program: 0 */
    bool is_data;    /* a variable of the program, if there is one: not a PC */
};

struct module {
    struct file_identity identity;
    int file;
    char name[MODULE_NAME_SIZE];
    struct place *places;
    size_t count;
    size_t capacity;
};

struct naming {
    pid_t pid; /* the child that reads the file; 0: none */
    int pipe;
    uint64_t deadline; /* in CLOCK_MONOTONIC, ns */
};

/* A record that naming_next returns. */
union naming_record {
    struct record_header header;
    struct module_record module;
    struct procedure_record procedure;
};

/* Starts naming the places of a module. Returns 0 or a negative errno. */
int naming_begin(struct naming *naming, const struct module *module);

#define NAMING_DATA 1 /* flags of a PROCEDURE: it is a variable */

/* The next record: MODULE, then PROCEDUREs. The caller fills in their headers and module numbers. Returns 1, or 0
 * after the last one, when the naming has ended. */
int naming_next(struct naming *naming, union naming_record *ret_record);

void naming_end(struct naming *naming);

#endif
