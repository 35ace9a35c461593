/* SPDX-License-Identifier: MIT */
/*
 * command_seen.h: the process that a recording was made for: `dpm run` meters it from the execution of its program on, after
 * which it only comes to a CPU or leaves it. A process that was acquired does something else first. A run on several machines
 * has one on each.
 *
 *      each trace   EXEC (stream 1) ........ TERMINATION of its last thread: the end of the command
 */
#ifndef DPM_COMMAND_SEEN_H
#define DPM_COMMAND_SEEN_H

#include "history/history.h"

#define COMMANDS_MOST 256 /* origins; none is looked for in further ones */

/* All zero at first. */
struct command_seen {
    struct command_of_origin {
        bool has_acted;   /* stream 1 has done anything */
        uint32_t process; /* number of the command's first stream; 0: not known, or no command */
    } of[COMMANDS_MOST];
};

/* To be called with each event of a stream. Returns whether a command ends with it. */
bool command_see(struct command_seen *seen, const struct identities *identities,
                 const struct event *event);

#endif
