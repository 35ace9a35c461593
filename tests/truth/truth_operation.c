/* SPDX-License-Identifier: MIT */
/*
 * truth_operation.c: one call on a socket, with the CPU time before and after it, logged.
 *
 *      fill the buffer with the pattern -> time -> CALL -> time -> log, verify what was received
 *
 * Everything in this program that sends or receives on a socket goes through here, except splice: that, and everything
 * on pipes, is in truth_pipe_operation.c.
 */
#include "truth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *const send_call_names[SEND_CALL_COUNT] = {"send", "sendto", "sendmsg", "write",
                                                             "writev"};
static const char *const receive_call_names[RECEIVE_CALL_COUNT] = {"recv", "recvfrom", "recvmsg",
                                                                   "read", "readv"};

uint8_t *buffer_new(size_t size)
{
    uint8_t *buffer = malloc(size == 0 ? 1 : size);

    if (buffer == NULL)
        truth_fail("no memory for a message of %zu bytes", size);
    return buffer;
}

static void count_bytes(_Atomic uint64_t *counter, size_t bytes)
{
    atomic_fetch_add(counter, bytes);
    if (atomic_fetch_add(&shared->bytes, bytes) > shared->byte_limit)
        truth_fail("more than %" PRIu64 " bytes: the plan is wrong", shared->byte_limit);
}

/* This stream's index among the writers of the scene; assigned at its first send. */
static unsigned own_writer(struct scene *scene)
{
    if (journal.writer < 0) {
        uint32_t writer = atomic_fetch_add(&scene->writer_count, 1);
        if (writer >= WRITER_LIMIT)
            truth_fail("more than %d writers in one scenario", WRITER_LIMIT);
        atomic_store(&scene->writers[writer], journal.tid);
        journal.writer = (int)writer;
    }
    return (unsigned)journal.writer;
}

static uint64_t next_message(uint64_t offset)
{
    return (offset + 7) / 8 * 8;
}

static void fill(struct end *end, uint8_t *bytes, uint64_t offset, size_t length)
{
    pattern_fill(bytes, own_writer(end->scene), offset, length);
}

void fill_next(struct end *end, uint8_t *bytes, size_t length)
{
    fill(end, bytes, end->sent, length);
}

unsigned buffer_cut(struct random *random, uint8_t *buffer, size_t size, struct iovec *pieces)
{
    unsigned count = (unsigned)random_between(random, 1, PIECE_LIMIT);
    unsigned used = 0;

    while (used + 1 < count && size > 1) {
        size_t length = random_between(random, 1, size - 1);
        pieces[used++] = (struct iovec){buffer, length};
        buffer += length;
        size -= length;
    }
    pieces[used++] = (struct iovec){buffer, size};
    return used;
}

/* ---- sending ---- */

/* The prefix of an inode number in a log, by kind of object. */
static const char *object_name(const struct end *end)
{
    static const char *const names[] = {"", "pipe:", "fifo:"};

    return names[end->object];
}

/* EAGAIN is no failure: the call would have had to wait. */
void log_failed_send(const struct end *end, int error)
{
    journal.failed_sends[end->object != OBJECT_SOCKET] += error != EAGAIN;
}

void log_failed_receive(const struct end *end, int error)
{
    journal.failed_receives[end->object != OBJECT_SOCKET] += error != EAGAIN;
}

void log_send(struct end *end, size_t bytes, const char *call, struct span span)
{
    journal_print("SEND %s%" PRIu64 " %zu %s %" PRIu64 " %" PRIu64 "\n", object_name(end),
                  end->inode, bytes, call, span.before, span.after);
    count_bytes(&end->scene->sent, bytes);
    end->sent += bytes;
    if (end->messages)
        end->sent = next_message(end->sent);
}

static struct msghdr message_to(const struct address *to)
{
    struct msghdr message = {0};

    if (to != NULL) {
        message.msg_name = (void *)&to->storage;
        message.msg_namelen = to->length;
    }
    return message;
}

static ssize_t call_send(int descriptor, struct random *random, enum send_call call,
                         uint8_t *buffer, size_t bytes, int flags, const struct address *to)
{
    struct iovec pieces[PIECE_LIMIT];
    unsigned count = buffer_cut(random, buffer, bytes, pieces);
    struct msghdr message = message_to(to);

    message.msg_iov = pieces;
    message.msg_iovlen = count;
    switch (call) {
    case CALL_SEND:
        return send(descriptor, buffer, bytes, flags);
    case CALL_SENDTO:
        return sendto(descriptor, buffer, bytes, flags,
                      to == NULL ? NULL : (const struct sockaddr *)&to->storage,
                      to == NULL ? 0 : to->length);
    case CALL_SENDMSG:
        return sendmsg(descriptor, &message, flags);
    case CALL_WRITE:
        return write(descriptor, buffer, bytes);
    default:
        return writev(descriptor, pieces, (int)count);
    }
}

ssize_t operation_send(struct end *end, struct random *random, enum send_call call, size_t bytes,
                       int flags, const struct address *to)
{
    uint8_t *buffer = buffer_new(bytes);
    struct span span;

    fill_next(end, buffer, bytes);
    span.before = cpu_time();
    ssize_t result = call_send(end->descriptor, random, call, buffer, bytes, flags, to);
    int error = errno;
    span.after = cpu_time();
    if (result >= 0)
        log_send(end, (size_t)result, send_call_names[call], span);
    else
        log_failed_send(end, error);
    free(buffer);
    return result >= 0 ? result : -error;
}

/* Fills the messages of one sendmmsg in sequence. */
static void fill_several(struct end *end, struct random *random, uint8_t *buffer,
                         const size_t *sizes, unsigned count, const struct address *to,
                         struct mmsghdr *messages, struct iovec *pieces)
{
    uint64_t offset = end->sent;

    for (unsigned i = 0; i < count; i++) {
        fill(end, buffer, offset, sizes[i]);
        messages[i] = (struct mmsghdr){.msg_hdr = message_to(to)};
        messages[i].msg_hdr.msg_iov = pieces + i * PIECE_LIMIT;
        messages[i].msg_hdr.msg_iovlen =
            buffer_cut(random, buffer, sizes[i], pieces + i * PIECE_LIMIT);
        buffer += sizes[i];
        offset += sizes[i];
        if (end->messages)
            offset = next_message(offset);
    }
}

ssize_t operation_send_several(struct end *end, struct random *random, const size_t *sizes,
                               unsigned count, int flags, const struct address *to,
                               size_t *ret_bytes)
{
    /* Consecutive calls have different arguments, as in programs that continue where a call stopped. If a call
     * repeats the arguments of one that sent its last message in part (which then ends without an error), no kernel
     * meter can distinguish the two. */
    static _Thread_local unsigned turn;
    struct mmsghdr room[SEVERAL_LIMIT + 1];
    struct mmsghdr *messages = room + turn++ % 2;
    struct iovec pieces[SEVERAL_LIMIT * PIECE_LIMIT];
    struct span span;
    size_t total = 0;

    for (unsigned i = 0; i < count; i++)
        total += sizes[i];
    uint8_t *buffer = buffer_new(total);
    fill_several(end, random, buffer, sizes, count, to, messages, pieces);
    span.before = cpu_time();
    int result = sendmmsg(end->descriptor, messages, count, flags);
    int error = errno;
    span.after = cpu_time();
    *ret_bytes = 0;
    for (int i = 0; i < result; i++) {
        log_send(end, messages[i].msg_len, "sendmmsg", span);
        *ret_bytes += messages[i].msg_len;
    }
    if (result < 0)
        log_failed_send(end, error);
    free(buffer);
    return result >= 0 ? result : -error;
}

int file_new(struct end *end, size_t bytes, off_t head)
{
    uint8_t *buffer = buffer_new(bytes);
    int file = memfd_create("truth", MFD_CLOEXEC);

    fill_next(end, buffer, bytes);
    if (file < 0)
        truth_fail("memfd_create: %s", strerror(errno));
    for (size_t done = 0; done < bytes;) {
        ssize_t written = pwrite(file, buffer + done, bytes - done, head + (off_t)done);
        if (written <= 0)
            truth_fail("a file for sendfile cannot be written: %s", strerror(errno));
        done += (size_t)written;
    }
    free(buffer);
    return file;
}

ssize_t operation_send_file(struct end *end, size_t bytes, size_t requested)
{
    const off_t head = 100;
    off_t position = head;
    int file = file_new(end, bytes, head);
    struct span span;

    span.before = cpu_time();
    ssize_t result = sendfile(end->descriptor, file, &position, requested);
    int error = errno;
    span.after = cpu_time();
    if (result >= 0)
        log_send(end, (size_t)result, "sendfile", span);
    else
        log_failed_send(end, error);
    close(file);
    return result >= 0 ? result : -error;
}

/* ---- receiving ---- */

/* The source of bytes that were not inspected. */
static void log_unseen(struct end *end, size_t bytes)
{
    if (end->only_sender == 0)
        journal_print(" [?:%zu]\n", bytes);
    else
        journal_print(" [%" PRIu32 ":%" PRIu64 ":%zu]\n", end->only_sender, end->taken, bytes);
    end->taken += bytes;
}

void log_receive(struct end *end, const uint8_t *bytes, size_t copied, const char *call, int flags,
                 struct span span)
{
    const char *more = "";

    if ((flags & MSG_TRUNC) != 0)
        more = "+trunc";
    else if ((flags & MSG_WAITALL) != 0)
        more = "+waitall";
    else if (end->packets)
        more = "+packet";
    journal_print("RECEIVE %s%" PRIu64 " %zu %s%s %" PRIu64 " %" PRIu64, object_name(end),
                  end->inode, copied, call, more, span.before, span.after);
    count_bytes(&end->scene->received, copied);
    if (copied == 0 && (!end->messages || end->messages_left == 0)) {
        end->ended = true;
        journal_print(" [eof]\n");
        return;
    }
    if (end->messages)
        end->messages_left--;
    if (bytes == NULL)
        log_unseen(end, copied);
    else if (end->only_sender != 0)
        pattern_check_passed_on(end, bytes, copied);
    else
        pattern_check(end, bytes, copied, (flags & MSG_WAITALL) != 0);
}

static ssize_t receive_from(int descriptor, uint8_t *buffer, size_t size, int flags,
                            struct address *ret_from)
{
    if (ret_from == NULL)
        return recvfrom(descriptor, buffer, size, flags, NULL, NULL);
    ret_from->length = sizeof(ret_from->storage);
    return recvfrom(descriptor, buffer, size, flags, (struct sockaddr *)&ret_from->storage,
                    &ret_from->length);
}

static ssize_t receive_message(int descriptor, struct iovec *pieces, unsigned count, int flags,
                               struct address *ret_from)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};

    if (ret_from != NULL) {
        message.msg_name = &ret_from->storage;
        message.msg_namelen = sizeof(ret_from->storage);
    }
    ssize_t result = recvmsg(descriptor, &message, flags);
    if (ret_from != NULL)
        ret_from->length = message.msg_namelen;
    return result;
}

static ssize_t call_receive(int descriptor, struct random *random, enum receive_call call,
                            uint8_t *buffer, size_t size, int flags, struct address *ret_from)
{
    struct iovec pieces[PIECE_LIMIT];
    unsigned count = buffer_cut(random, buffer, size, pieces);

    switch (call) {
    case CALL_RECV:
        return recv(descriptor, buffer, size, flags);
    case CALL_RECVFROM:
        return receive_from(descriptor, buffer, size, flags, ret_from);
    case CALL_RECVMSG:
        return receive_message(descriptor, pieces, count, flags, ret_from);
    case CALL_READ:
        return read(descriptor, buffer, size);
    default:
        return readv(descriptor, pieces, (int)count);
    }
}

ssize_t operation_receive(struct end *end, struct random *random, enum receive_call call,
                          size_t size, int flags, struct address *ret_from)
{
    uint8_t *buffer = buffer_new(size);
    struct span span;

    span.before = cpu_time();
    ssize_t result = call_receive(end->descriptor, random, call, buffer, size, flags, ret_from);
    int error = errno;
    span.after = cpu_time();
    /* With MSG_TRUNC the call returns the message's full length. */
    if (result >= 0)
        log_receive(end, buffer, (size_t)result < size ? (size_t)result : size,
                    receive_call_names[call], flags, span);
    else
        log_failed_receive(end, error);
    free(buffer);
    return result >= 0 ? result : -error;
}

ssize_t operation_receive_several(struct end *end, struct random *random, unsigned count,
                                  size_t size, int flags, size_t *ret_bytes)
{
    struct mmsghdr messages[SEVERAL_LIMIT];
    struct iovec pieces[SEVERAL_LIMIT * PIECE_LIMIT];
    uint8_t *buffer = buffer_new(size * count);
    struct span span;

    for (unsigned i = 0; i < count; i++) {
        messages[i] = (struct mmsghdr){0};
        messages[i].msg_hdr.msg_iov = pieces + i * PIECE_LIMIT;
        messages[i].msg_hdr.msg_iovlen =
            buffer_cut(random, buffer + i * size, size, pieces + i * PIECE_LIMIT);
    }
    span.before = cpu_time();
    int result = recvmmsg(end->descriptor, messages, count, flags, NULL);
    int error = errno;
    span.after = cpu_time();
    *ret_bytes = 0;
    for (int i = 0; i < result; i++) {
        size_t copied = messages[i].msg_len < size ? messages[i].msg_len : size;
        log_receive(end, buffer + (unsigned)i * size, copied, "recvmmsg", flags, span);
        *ret_bytes += copied;
    }
    if (result < 0)
        log_failed_receive(end, error);
    free(buffer);
    return result >= 0 ? result : -error;
}

void operation_peek(struct end *end, struct random *random, enum receive_call call, size_t size)
{
    uint8_t *buffer = buffer_new(size);

    if (call == CALL_READ || call == CALL_READV)
        call = CALL_RECVMSG;
    if (call_receive(end->descriptor, random, call, buffer, size, MSG_PEEK, NULL) < 0)
        truth_fail("a receive with MSG_PEEK failed: %s", strerror(errno));
    free(buffer);
}
