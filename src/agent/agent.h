/* SPDX-License-Identifier: MIT */
/*
 * agent.h: the agent: records on one machine for a controller on another. See docs/control-protocol.md.
 *
 *      ssh HOST dpm agent                         the agent of the session, a process of its own
 *      +----------------------------+            +----------------------------------------------------+
 *      | front: reads the hello,    |  hello,    | requests.c      answers the controller             |
 *      | finds or makes the agent,  | ---------> | recordings.c    recorder --> spool --> fabric      |
 *      | passes its files, waits    |  files     | created.c       processes it has created, output   |
 *      +----------------------------+            | copied_programs.c executables copied here       |
 *                                                +----------------------------------------------------+
 *
 * The folder of a session is ${XDG_STATE_HOME:-~/.local/state}/dpm/HOST/agents/SESSION.ID, of mode 0700. In it are the
 * agent's socket, its lock, its log, and a trace for each recording: the spool.
 */
#ifndef DPM_AGENT_H
#define DPM_AGENT_H

#include "base/base.h"

/* For tests; all zero otherwise. */
struct agent_options {
    unsigned patience;  /* seconds without a connection, after which the agent ends; 0: 60 */
    const char *folder; /* of all sessions; NULL: as above */
};

/* The front: reads a hello from `in`, leads the connection to the agent of its session, which is started unless it runs,
 * and returns when the connection ends. Errors have a line in `problem`, and the
 * controller has got it, too, if it has said hello. */
int agent_front(int in, int out, const struct agent_options *options, struct problem *problem);

#endif
