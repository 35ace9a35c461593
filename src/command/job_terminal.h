/* SPDX-License-Identifier: MIT */
/* job_terminal.h: the controller on a terminal: editing, history, completion (libedit). Private to command/. */
#ifndef DPM_JOB_TERMINAL_H
#define DPM_JOB_TERMINAL_H

#include "job/job.h"

struct job_terminal;

/* Sets what a controller on a terminal needs. */
void job_terminal_options(struct job_options *options, struct job_terminal **ret_terminal);

/* Reads and executes commands until `die`. Frees the terminal. */
void job_terminal_run(struct job_terminal *terminal, struct jobs *jobs);

#endif
