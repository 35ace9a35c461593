/* SPDX-License-Identifier: MIT */
/* callers_library.c: see callers.h. */
#include "callers.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int sink;

int library_send(int socket, const char *bytes, size_t size)
{
    volatile char large[300];

    large[size % sizeof(large)] = 1;
    sink += (int)send(socket, bytes, size, 0);
    return sink + large[size % sizeof(large)];
}

int library_calls_back(int (*callback)(size_t size), size_t size)
{
    sink += callback(size);
    return sink;
}

_Noreturn void caller_that_ends(int socket, const char *bytes, size_t size)
{
    sink += (int)send(socket, bytes, size, 0);
    _exit(0);
}
