/* SPDX-License-Identifier: MIT */
/*
 * own.h: a program's own account of its waits, from the kernel's clocks and its counter of the run queue; of all its threads
 * and processes together.
 *
 *      OWN(call)      begin |--- wait ---| woken |--- run queue ---| runs   end
 *      wall               <------------------------------------------------->
 *      delay                             <----------------->              (/proc/thread-self/schedstat)
 *      cpu                                                     <------------>
 *      wait = wall - delay - cpu
 */
#ifndef WAITS_OWN_H
#define WAITS_OWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MS 1000000ull /* ns */

struct span {
    uint64_t wall, delay, cpu; /* ns */
};

/* Before the first thread or process begins. */
void own_start(void);
struct span own_begin(void);
void own_end(const struct span *begun);
#define OWN(call)                                                                                  \
    do {                                                                                           \
        struct span begun_ = own_begin();                                                          \
        call;                                                                                      \
        own_end(&begun_);                                                                          \
    } while (0)
/* The time since own_start, in ns. */
uint64_t own_elapsed(void);
/* The process that the wait was for, if it is another one than the first. */
void own_blame(pid_t pid);
/* Counts `wait` of the time `of`, which is not the elapsed one. */
void own_is(uint64_t wait, uint64_t of);
/* Writes the file `own`: the process; wait, cpu and delay together, and the elapsed time (or that of own_is), in ms. */
void own_write(void);

uint64_t clock_ns(void);
void sleep_ns(uint64_t ns);
void sleep_own(uint64_t ns); /* ... which counts */
/* Uses the CPU for this long. */
void compute_ns(uint64_t ns);
/* Returns `result`; ends the program if it is negative. */
long must(long result, const char *what);
/* Writes the number into a new file, whole from the beginning. */
void tell(const char *file, long number);
/* The number in that file, which may be still to come. */
long told(const char *file);

/* A socket of 127.0.0.1 that is connected to this port ... */
int connected(int type, long port);
/* ... or listens on one for TCP. */
int listening(int backlog, long *ret_port);

struct wait_case {
    const char *name;
    void (*run)(void); /* metered */
    void (*peer)(
        void); /* not metered; NULL: none. It writes the file `ready`, and is killed at the end */
};
/* They end with one without a name. */
extern const struct wait_case local_cases[], network_cases[], service_cases[];

#endif
