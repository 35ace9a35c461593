/* SPDX-License-Identifier: MIT */
/* program.h: a running process, its modules and their files. Private to sensor/. */
#ifndef DPM_SENSOR_PROGRAM_H
#define DPM_SENSOR_PROGRAM_H

#include "sensor/kernel/sensor_code.h"
#include "sensor/sensor.h"

#include <elfutils/libdwfl.h>

struct sensor_program {
    pid_t pid;     /* 0: a file, which any process may execute */
    int process;   /* pidfd; -1: a file */
    char what[64]; /* "process 811", "program postgres": for errors */
    int file;      /* the file; -1: a process */
    uint64_t inode;
    uint32_t device; /* as the kernel has it; SENSOR_ANY_DEVICE */
    uint64_t code;   /* where the code of the file begins */
    Dwfl *dwfl;
    Dwfl_Module **modules; /* the program first */
    size_t module_count, module_capacity;
    uint64_t stack;    /* where the stack of this execution began: the kernel compares it */
    char vector[1024]; /* the auxiliary vector of this execution: random addresses */
    size_t vector_size;
    uint64_t mapped;     /* hash of what is mapped */
    struct arena memory; /* of types */
};

/* Opens the file that is mapped at an address of the process. Returns a descriptor, or -ENOENT. */
int program_open_file(const struct sensor_program *program, uint64_t address);

/* Where an address of a module is in its file. Returns whether it is in one. */
bool program_file_offset(Dwfl_Module *module, uint64_t address, uint64_t *ret_offset);

/* Reads memory of the process. Returns whether all of it could be read. */
bool program_memory(const struct sensor_program *program, uint64_t address, void *bytes,
                    size_t size);

/* As sensor_program_state, without a look at libraries: 0, -ESRCH or -ESTALE. */
int program_check(const struct sensor_program *program, struct problem *problem);

/* Whether it is a program of Go, whose variables are called PACKAGE.NAME, and whose stacks move. */
bool program_is_go(const struct sensor_program *program);

const char *program_module_name(Dwfl_Module *module);

#endif
