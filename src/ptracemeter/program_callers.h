/* SPDX-License-Identifier: MIT */
/*
 * program_callers.h: finds the place in the program that a stopped thread's system call comes from. It is the PC of a
 * record, as in the kernel meter (meter/shared/caller.h).
 *
 *      thread --> process --> struct callers: of one address space, since exec
 *                              |    text of the program
 *      fork: a struct callers  '--> what is known: pages of text, ways over the stack that were found;
 *      of its own, the same         dropped when text may have changed
 *      knowledge
 *
 * Only the tracing thread calls these functions. A thread in the same address space (CLONE_VM, which includes vfork)
 * shares the struct callers. A copy of the address space (fork) begins with callers_fork; exec begins with a new one.
 */
#ifndef DPM_PROGRAM_CALLERS_H
#define DPM_PROGRAM_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct callers;

/* For an address space of which nothing is known yet. Returns 0 or -ENOMEM. */
int callers_new(struct callers **ret_callers);

/* Adds a user of the same address space, which must call callers_free, too. */
struct callers *callers_share(struct callers *callers);

/* For a copy of the address space, as made by fork. Returns 0 or -ENOMEM. */
int callers_fork(const struct callers *parent, struct callers **ret_callers);

void callers_free(struct callers *callers);

/*
 * Finds the place in the program from which thread `tid` makes its current system call. `ip` and `stack` are its
 * instruction and stack pointer, which are the same at the call's entry and exit. The thread must be stopped, traced
 * by the calling thread, and run a 64-bit program.
 *
 * Returns bits for record_header.flags, and in *ret_pc the PC (48 bits): normally 0 and the address at which the
 * program's function continues; RECORD_LIBRARY and `ip` if the way to the program is lost or the memory may not be
 * read. If the way is known, this costs one process_vm_readv and no other system call; if text is not kept
 * (program_callers.c), a few more.
 */
uint16_t callers_find(struct callers *callers, pid_t tid, uint64_t ip, uint64_t stack,
                      uint64_t *ret_pc);

/* System calls after which text may be different: those with one of these bits set in an argument (counted from 0).
 * The tracer stops at their exits and calls callers_changed. They include those that load libraries, whose text is not
 * kept before that. */
struct callers_change {
    int call;
    unsigned argument;
    uint64_t bits;
};
extern const struct callers_change callers_changes[];
extern const size_t callers_change_count;

/* Whether it is such a call. */
bool callers_is_change(int call, const uint64_t arguments[6]);

/* Such a call begins in a process of `streams` threads. Returns whether its end must be reported, too. It need not be
 * if nothing else shares the address space and nothing is known yet, as while a program's libraries are loaded: then
 * there is nothing to forget. */
bool callers_change_begins(const struct callers *callers, uint32_t streams);

/* Such a call has ended with `result`, a negative errno if it failed. If its thread ended in it, `result` is -EINTR. */
void callers_changed(struct callers *callers, int call, const uint64_t arguments[6],
                     int64_t result);

#endif
