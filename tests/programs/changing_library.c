/* SPDX-License-Identifier: MIT */
/* changing_library.c: a library that sends from a frame of FRAME bytes, see changing_text.c. */
#include <sys/socket.h>
#include <sys/types.h>

ssize_t changing_send(int socket, const void *bytes, size_t size, int flags);

ssize_t changing_send(int socket, const void *bytes, size_t size, int flags)
{
    volatile char large[FRAME];

    large[size % FRAME] = 1;
    ssize_t sent = send(socket, bytes, size, flags);
    return large[size % FRAME] == 1 ? sent : 0;
}
