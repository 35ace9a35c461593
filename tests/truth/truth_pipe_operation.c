/* SPDX-License-Identifier: MIT */
/*
 * truth_pipe_operation.c: one call on a pipe, with the CPU time before and after it, logged.
 *
 *      write writev pwritev2 vmsplice --> |======| --> read readv preadv2 vmsplice
 *      splice, sendfile from a file  ---> | pipe | --> splice into a file
 *      splice from a pipe or socket  ---> |======| --> splice into a pipe or socket
 *      tee from a pipe, which keeps it -> |======|
 *
 * Everything in this program that writes to a pipe or reads from one goes through here, and so does every splice. There
 * are no calls of 0 bytes: on a pipe they do nothing.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- one direction, this program's own bytes ---- */

/* The kernel sends these pages themselves: they must not change while they are in the pipe. */
static uint8_t *pages_new(size_t size)
{
    uint8_t *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        truth_fail("mmap: %s", strerror(errno));
    return pages;
}

static ssize_t call_send(int descriptor, enum pipe_send_call call, const struct iovec *pieces,
                         unsigned count, bool nonblocking)
{
    switch (call) {
    case PIPE_WRITE:
        return write(descriptor, pieces[0].iov_base, pieces[0].iov_len);
    case PIPE_WRITEV:
        return writev(descriptor, pieces, (int)count);
    case PIPE_PWRITEV2:
        return pwritev2(descriptor, pieces, (int)count, -1, 0);
    default:
        return vmsplice(descriptor, pieces, count, nonblocking ? SPLICE_F_NONBLOCK : 0);
    }
}

static ssize_t send_memory(struct end *end, struct random *random, enum pipe_send_call call,
                           size_t bytes, bool nonblocking)
{
    static const char *const names[] = {"write", "writev", "pwritev2", "vmsplice"};
    struct iovec pieces[PIECE_LIMIT] = {0};
    uint8_t *buffer = pages_new(bytes);
    unsigned count = buffer_cut(random, buffer, bytes, pieces);
    struct span span;

    fill_next(end, buffer, bytes);
    if (call == PIPE_WRITE)
        pieces[0].iov_len = bytes;
    span.before = cpu_time();
    ssize_t result = call_send(end->descriptor, call, pieces, count, nonblocking);
    int error = errno;
    span.after = cpu_time();
    munmap(buffer, bytes);
    if (result >= 0)
        log_send(end, (size_t)result, names[call], span);
    else
        log_failed_send(end, error);
    return result >= 0 ? result : -error;
}

static ssize_t send_from(struct end *end, int file, off_t *position, size_t size, unsigned flags,
                         bool sendfile_call)
{
    struct span span;

    span.before = cpu_time();
    ssize_t result = sendfile_call ? sendfile(end->descriptor, file, position, size)
                                   : splice(file, position, end->descriptor, NULL, size, flags);
    int error = errno;
    span.after = cpu_time();
    if (result > 0)
        log_send(end, (size_t)result, sendfile_call ? "sendfile" : "splice", span);
    else if (result < 0)
        log_failed_send(end, error);
    return result >= 0 ? result : -error;
}

ssize_t operation_pipe_send(struct end *end, struct random *random, enum pipe_send_call call,
                            size_t bytes, bool nonblocking)
{
    off_t position = 100;

    if (call < PIPE_SPLICE_FILE)
        return send_memory(end, random, call, bytes, nonblocking);
    int file = file_new(end, bytes, position);
    ssize_t result = send_from(end, file, &position, bytes, nonblocking ? SPLICE_F_NONBLOCK : 0,
                               call == PIPE_SENDFILE);
    close(file);
    return result;
}

ssize_t operation_pass_file(struct end *to, int file, size_t size, bool sendfile_call)
{
    ssize_t result = send_from(to, file, NULL, size, 0, sendfile_call);

    if (result <= 0)
        truth_fail("a file could not be passed on: %s", strerror((int)-result));
    return result;
}

static ssize_t call_receive(int descriptor, enum pipe_receive_call call, const struct iovec *pieces,
                            unsigned count, bool nonblocking)
{
    switch (call) {
    case PIPE_READ:
        return read(descriptor, pieces[0].iov_base, pieces[0].iov_len);
    case PIPE_READV:
        return readv(descriptor, pieces, (int)count);
    case PIPE_PREADV2:
        return preadv2(descriptor, pieces, (int)count, -1, 0);
    default:
        return vmsplice(descriptor, pieces, count, nonblocking ? SPLICE_F_NONBLOCK : 0);
    }
}

static ssize_t receive_memory(struct end *end, struct random *random, enum pipe_receive_call call,
                              size_t size, bool nonblocking)
{
    static const char *const names[] = {"read", "readv", "preadv2", "vmsplice"};
    struct iovec pieces[PIECE_LIMIT] = {0};
    uint8_t *buffer = buffer_new(size);
    unsigned count = buffer_cut(random, buffer, size, pieces);
    struct span span;

    if (call == PIPE_READ)
        pieces[0].iov_len = size;
    span.before = cpu_time();
    ssize_t result = call_receive(end->descriptor, call, pieces, count, nonblocking);
    int error = errno;
    span.after = cpu_time();
    if (result >= 0)
        log_receive(end, buffer, (size_t)result, names[call], 0, span);
    else
        log_failed_receive(end, error);
    free(buffer);
    return result >= 0 ? result : -error;
}

/* Splices to the end of the file; the bytes are verified there. */
static ssize_t splice_to(struct end *end, int file, size_t size, unsigned flags)
{
    off_t position = lseek(file, 0, SEEK_END);
    struct span span;

    span.before = cpu_time();
    ssize_t result = splice(end->descriptor, NULL, file, NULL, size, flags);
    int error = errno;
    span.after = cpu_time();
    if (result < 0) {
        log_failed_receive(end, error);
        return -error;
    }
    uint8_t *buffer = buffer_new((size_t)result);
    if (pread(file, buffer, (size_t)result, position) != result)
        truth_fail("what was spliced into a file is not there");
    log_receive(end, buffer, (size_t)result, "splice", 0, span);
    free(buffer);
    return result;
}

static int empty_file_new(void)
{
    int file = memfd_create("truth", MFD_CLOEXEC);

    if (file < 0)
        truth_fail("memfd_create: %s", strerror(errno));
    return file;
}

ssize_t operation_splice_to(struct end *from, int file, size_t size)
{
    return splice_to(from, file, size, 0);
}

ssize_t operation_pipe_receive(struct end *end, struct random *random, enum pipe_receive_call call,
                               size_t size, bool nonblocking)
{
    if (call < PIPE_SPLICE_TO_FILE)
        return receive_memory(end, random, call, size, nonblocking);
    int file = empty_file_new();
    ssize_t result = splice_to(end, file, size, nonblocking ? SPLICE_F_NONBLOCK : 0);
    close(file);
    return result;
}

/* ---- passing on bytes of others ---- */

ssize_t operation_splice(struct end *from, struct end *to, size_t size)
{
    struct span span;

    span.before = cpu_time();
    ssize_t result = splice(from->descriptor, NULL, to->descriptor, NULL, size, 0);
    int error = errno;
    span.after = cpu_time();
    if (result < 0)
        truth_fail("splice: %s", strerror(error));
    log_receive(from, NULL, (size_t)result, "splice", 0, span);
    if (result > 0)
        log_send(to, (size_t)result, "splice", span);
    return result;
}

/* At the end of file tee finds nothing, which is not an operation: it takes nothing either. */
ssize_t operation_tee(const struct end *from, struct end *to, size_t size)
{
    struct span span;

    span.before = cpu_time();
    ssize_t result = tee(from->descriptor, to->descriptor, size, 0);
    int error = errno;
    span.after = cpu_time();
    if (result < 0)
        truth_fail("tee: %s", strerror(error));
    if (result > 0)
        log_send(to, (size_t)result, "tee", span);
    return result;
}
