/* SPDX-License-Identifier: MIT */
/* coverage_pipe.c: every way to write to a pipe or a FIFO and to read from it. See coverage.c. */
#include "coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

void make_pipe(bool named, int pair[2])
{
    char name[64];

    if (!named) {
        int ends[2];

        must(pipe(ends) == 0);
        pair[RECEIVER] = ends[0];
        pair[SENDER] = ends[1];
        return;
    }
    snprintf(name, sizeof(name), "coverage-%d.fifo", (int)getpid());
    must(mkfifo(name, 0600) == 0);
    pair[RECEIVER] = open(name, O_RDONLY | O_NONBLOCK);
    pair[SENDER] = open(name, O_WRONLY);
    must(pair[RECEIVER] >= 0 && pair[SENDER] >= 0 && fcntl(pair[RECEIVER], F_SETFL, 0) == 0);
}

static void write_bytes(int to, size_t bytes)
{
    sent(to, write(to, buffer, bytes), (ssize_t)bytes);
}

static void read_bytes(int from, size_t bytes)
{
    received(from, read(from, buffer, bytes), (ssize_t)bytes);
}

/* Calls of 0 bytes: they are no end of file. */
int pipe_ask_nothing(const int *pair)
{
    struct iovec vector = {buffer, 0};
    int from = pair[RECEIVER];

    write_bytes(pair[SENDER], 5);
    must(read(from, buffer, 0) == 0);
    must(readv(from, &vector, 1) == 0);
    must(preadv2(from, &vector, 1, -1, 0) == 0);
    must(vmsplice(from, &vector, 1, 0) == 0);
    read_bytes(from, 5);
    return 0;
}

/* Each call that moves bytes; the end of file; and calls that move none. */
int pipe_calls(const int *pair)
{
    struct iovec vectors[] = {{buffer, 10}, {buffer + 10, 20}};
    int to = pair[SENDER], from = pair[RECEIVER];

    write_bytes(to, 5);
    sent(to, writev(to, vectors, 2), 30);
    sent(to, pwritev2(to, vectors, 2, -1, 0), 30);
    write_bytes(to, 0);
    read_bytes(from, 5);
    must(read(from, buffer, 0) == 0); /* not the end of file */
    received(from, readv(from, vectors, 2), 30);
    received(from, preadv2(from, vectors, 1, -1, 0), 10);
    read_bytes(from, 20);
    close(to);
    received(from, read(from, buffer, 10), 0);
    return 0;
}

static int file_with(size_t bytes)
{
    int file = memfd_create("coverage", 0);

    must(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
    return file;
}

/* Logs a call that moved bytes from one pipe into another. */
static void moved(int from, int to, ssize_t result, ssize_t expected)
{
    must(result == expected);
    note("RECEIVE", from, result);
    note("SEND", to, result);
}

int pipe_splice(const int *pair)
{
    int to = pair[SENDER], from = pair[RECEIVER], second[2], file = file_with(1000);
    struct iovec vector = {buffer, 100};

    must(pipe(second) == 0);
    sent(to, vmsplice(to, &vector, 1, 0), 100);
    moved(from, second[1], splice(from, NULL, second[1], NULL, 60, 0), 60);
    sent(second[1], tee(from, second[1], 100, 0), 40); /* takes nothing from the first pipe */
    received(from, read(from, buffer, 100), 40);
    vector.iov_len = 70;
    received(second[0], vmsplice(second[0], &vector, 1, 0), 70);
    received(second[0], splice(second[0], NULL, file, NULL, 100, 0), 30);
    must(lseek(file, 0, SEEK_SET) == 0);
    sent(to, splice(file, NULL, to, NULL, 300, 0), 300);
    sent(to, sendfile(to, file, NULL, 200), 200);
    read_bytes(from, 500);
    must(lseek(file, 0, SEEK_END) == 1000);
    must(splice(file, NULL, to, NULL, 300, 0) == 0); /* moves nothing: no message */
    return 0;
}

/* Failed calls are no messages, and are counted, but for those that would only have to wait. */
int pipe_would_block(const int *pair)
{
    int to = pair[SENDER], from = pair[RECEIVER];
    ssize_t got;

    must(fcntl(to, F_SETFL, O_NONBLOCK) == 0 && fcntl(from, F_SETFL, O_NONBLOCK) == 0);
    must(read(from, buffer, 10) < 0 && errno == EAGAIN);
    while ((got = write(to, buffer, 50000)) > 0)
        sent(to, got, got);
    must(errno == EAGAIN);
    while ((got = read(from, buffer, 7000)) > 0)
        received(from, got, got);
    close(from);
    signal(SIGPIPE, SIG_IGN);
    must(write(to, buffer, 10) < 0 && errno == EPIPE);
    note("FAILED_SEND", to, 0);
    return 0;
}

enum { LARGE = 1 << 20 };

static void read_slowly(const int *pair)
{
    close(pair[SENDER]);
    for (int turn = 0; turn < 2; turn++) {
        for (int left = LARGE; left > 0;) {
            /* never into the second turn's bytes, which may be there on a slow machine */
            ssize_t got = read(pair[RECEIVER], buffer, left < 5000 ? (size_t)left : 5000);

            must(got > 0);
            received(pair[RECEIVER], got, got);
            left -= (int)got;
            if (left % 64 == 0)
                usleep(1000);
        }
        nap();
        nap();
    }
    received(pair[RECEIVER], read(pair[RECEIVER], buffer, 10), 10);
    received(pair[RECEIVER], read(pair[RECEIVER], buffer, 10), 0);
}

/* A write that waits for buffer space again and again, and reads that wait. */
int pipe_blocked(const int *pair)
{
    in_child(read_slowly, pair);
    close(pair[RECEIVER]);
    write_bytes(pair[SENDER], LARGE);
    nap();
    write_bytes(pair[SENDER], LARGE);
    nap();
    nap();
    nap();
    write_bytes(pair[SENDER], 10);
    close(pair[SENDER]);
    wait_for_child();
    return 0;
}

/* Each write is a packet, each read takes one; the unread rest is discarded. */
int pipe_packets(const int *pair)
{
    int ends[2];

    (void)pair;
    must(pipe2(ends, O_DIRECT) == 0);
    write_bytes(ends[1], 100);
    write_bytes(ends[1], 50);
    write_bytes(ends[1], 30);
    received(ends[0], read(ends[0], buffer, 1000), 100);
    received(ends[0], read(ends[0], buffer, 20), 20);
    note("SKIPPED", ends[0], 30);
    received(ends[0], read(ends[0], buffer, 1000), 30);
    return 0;
}
