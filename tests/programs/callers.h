/* SPDX-License-Identifier: MIT */
/* callers.h: the part of callers.c that is a library in most builds: callers_library.c. */
#ifndef DPM_CALLERS_H
#define DPM_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

#ifndef LIBRARY_IS_PROGRAM
#define LIBRARY_IS_PROGRAM false /* a static program */
#endif

/* Sends from a frame of 300 bytes. */
int library_send(int socket, const char *bytes, size_t size);
int library_calls_back(int (*callback)(size_t size), size_t size);
/* Sends and ends the process. */
_Noreturn void caller_that_ends(int socket, const char *bytes, size_t size);

#endif
