/* SPDX-License-Identifier: MIT */
/*
 * interrupt.h: Ctrl-C while traces are read or a file is written: one line says what happened, and nothing half done is
 * left. Private to command/.
 *
 *      reading: 45%, 3 s left^C
 *      dpm: interrupted while reading: there is no result
 */
#ifndef DPM_INTERRUPT_H
#define DPM_INTERRUPT_H

#include <stdbool.h>

/* From now on, SIGINT, SIGTERM and SIGHUP print `line` on standard error, remove `file` (NULL: none), and end the process as
 * they do by default: for a shell, exit status 130 after Ctrl-C. One that is ignored or handled by others stays so. Both
 * texts must live until interrupt_end, which restores what was before. */
void interrupt_begin(const char *line, const char *file);
void interrupt_end(void);

/* Whether a line of progress stands on the terminal, which is removed before anything else is printed. */
void interrupt_note_progress(bool shown);

#endif
