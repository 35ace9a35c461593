/* SPDX-License-Identifier: MIT */
/*
 * program_callers.h: which place in its program a call of a stopped thread comes from: the PC of a
 * record, as the kernel meter gives it (event/caller.h).
 *
 *      thread --> process --> struct callers: of one address space, from exec on
 *                              |    text of the program
 *      fork: a process of its  '--> what is known: pages of text, ways over the stack that were found;
 *      own, the same known          thrown away when text may have changed
 *
 * One thread makes all these calls, the one that traces. A thread in the same address space (CLONE_VM, and
 * so vfork) shares a struct callers, one that is a copy (fork) begins with callers_fork, and one that
 * executes a program, with a new one.
 */
#ifndef DPM_PROGRAM_CALLERS_H
#define DPM_PROGRAM_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct callers;

/* Of an address space of which nothing is known yet. Returns 0 or -ENOMEM. */
int callers_new(struct callers **ret_callers);

/* One more user of the same address space, who calls callers_free, too. */
struct callers *callers_share(struct callers *callers);

/* Of a copy of the address space, as fork makes it. Returns 0 or -ENOMEM. */
int callers_fork(const struct callers *parent, struct callers **ret_callers);

void callers_free(struct callers *callers);

/* The place in the program from where thread `tid` makes the system call that it stands in: `ip` and
 * `stack` are its instruction and stack pointer, the same at the call's entry and at its exit. The
 * thread must be stopped, traced by the calling thread, and a program of 64 bits.
 *
 * Returns what belongs into record_header.flags, and the PC (48 bits): 0, and the address that the
 * program's function goes on at; or RECORD_LIBRARY and `ip`, where the way to the program is lost or
 * its memory may not be read. Costs one process_vm_readv where the way is known, and no other call of the
 * system; a way through text that is not kept (program_callers.c), a few of them. */
uint16_t callers_find(struct callers *callers, pid_t tid, uint64_t ip, uint64_t stack,
                      uint64_t *ret_pc);

/* A system call after which text may be another one: where one of these bits is set in an argument
 * (counted from 0). Who traces stops at the exit of such calls, and then says so: libraries are loaded by
 * them, too, and are not kept before it is said. */
struct callers_change {
    int call;
    unsigned argument;
    uint64_t bits;
};
extern const struct callers_change callers_changes[];
extern const size_t callers_change_count;

/* Whether it is such a call. */
bool callers_is_change(int call, const uint64_t arguments[6]);

/* Such a call begins, of one of `streams` threads. Returns whether its end must be said, too: if there is
 * nobody else, and nothing is known yet, as while a program's libraries are loaded, there is nothing to forget. */
bool callers_change_begins(const struct callers *callers, uint32_t streams);

/* Such a call has ended with `result`, which is a negative errno if it has failed; of a thread that
 * has ended in it, -EINTR. */
void callers_changed(struct callers *callers, int call, const uint64_t arguments[6],
                     int64_t result);

#endif
