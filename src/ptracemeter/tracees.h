/* SPDX-License-Identifier: MIT */
/* tracees.h: streams and processes: creation, exec, end, identity. See ptracemeter_types.h. */
#ifndef DPM_TRACEES_H
#define DPM_TRACEES_H

#include "ptracemeter/ptracemeter_types.h"

#include <signal.h>

struct tracee *tracee_find(const struct ptracemeter *meter, pid_t tid);
struct tracee *tracee_add(struct ptracemeter *meter, pid_t tid);
void tracee_forget(struct ptracemeter *meter, struct tracee *tracee);
/* Adds the command's first stream. */
int tracee_mark(struct ptracemeter *meter, pid_t pid);
/* A new stream, reported by its creator's stop. */
void tracee_born(struct ptracemeter *meter, struct tracee *parent, pid_t tid);
/* A new stream whose creator's stop never came. */
void tracee_adopt(struct ptracemeter *meter, struct tracee *tracee);
void tracee_starts(struct ptracemeter *meter, struct tracee *tracee);
/* Returns the tracee that continues: a thread takes its leader's place. */
struct tracee *tracee_executes(struct ptracemeter *meter, struct tracee *tracee, pid_t former);
void tracee_ends(struct ptracemeter *meter, struct tracee *tracee, int status);
/* The tracee is released and runs on. */
void tracee_leaves(struct ptracemeter *meter, struct tracee *tracee);
/* Reads its CPU time and the scheduler's other figures. It must be stopped. */
void tracee_look(struct ptracemeter *meter, struct tracee *tracee);
/* How often the stream has been preempted since it began. */
uint64_t tracee_preempted(const struct tracee *tracee);
void tracee_name(const struct tracee *tracee, char text[PROCESS_SHOWN_SIZE]);
void tracee_falls_short(const struct tracee *tracee, struct shortfall *shortfall);

/* The stream may have another name or cgroup than its STREAM record says, or (`user`) another user: repeats that. */
void tracee_changed(struct ptracemeter *meter, struct tracee *tracee, bool user);

/* Looks at all processes, which others may have moved into another cgroup, or have renamed. */
void tracees_sweep(struct ptracemeter *meter);

/* Records a signal that is about to be delivered. */
void tracee_signalled(struct ptracemeter *meter, const struct tracee *tracee, int signal,
                      const siginfo_t *info);

#endif
