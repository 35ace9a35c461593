/* SPDX-License-Identifier: MIT */
/*
 * brief.c: a process of 30 ms whose program file is gone before it ends: while it lives, /proc leads to the file.
 *
 *      usage: brief    (a copy of this program, which it removes)
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIFE 30000 /* us */

int main(int argc, char **argv)
{
    int pair[2];

    if (argc != 1 || unlink(argv[0]) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
        send(pair[0], "", 1, 0) != 1) {
        perror("brief");
        return 1;
    }
    usleep(LIFE);
    return 0;
}
