/* SPDX-License-Identifier: MIT */
/* tracees.h: streams and processes: created, executing, ended; who they are. See ptracemeter_types.h. */
#ifndef DPM_TRACEES_H
#define DPM_TRACEES_H

#include "ptracemeter/ptracemeter_types.h"

struct tracee *tracee_find(struct ptracemeter *meter, pid_t tid);
struct tracee *tracee_add(struct ptracemeter *meter, pid_t tid);
void tracee_forget(struct ptracemeter *meter, struct tracee *tracee);
/* The first stream of all. */
int tracee_mark(struct ptracemeter *meter, pid_t pid);
/* Its creator's stop tells of it. */
void tracee_born(struct ptracemeter *meter, struct tracee *parent, pid_t tid);
/* Its creator's stop never came. */
void tracee_adopt(struct ptracemeter *meter, struct tracee *tracee);
void tracee_starts(struct ptracemeter *meter, struct tracee *tracee);
/* Returns the tracee that it is: a thread takes its leader's place. */
struct tracee *tracee_executes(struct ptracemeter *meter, struct tracee *tracee, pid_t former);
void tracee_ends(struct ptracemeter *meter, struct tracee *tracee, int status);
/* It is let go of, and runs on. */
void tracee_leaves(struct ptracemeter *meter, struct tracee *tracee);
/* Its CPU time and so on, as of now; it is stopped. */
void tracee_look(struct ptracemeter *meter, struct tracee *tracee);
/* How often it was preempted, ever. */
uint64_t tracee_preempted(const struct tracee *tracee);
void tracee_name(const struct tracee *tracee, char text[32]);
void tracee_falls_short(const struct tracee *tracee, struct shortfall *shortfall);

#endif
