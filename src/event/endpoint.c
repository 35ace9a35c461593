/* SPDX-License-Identifier: MIT */
/* endpoint.c: the endpoints of a path as text. See event.h. */
#include "event/event.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

const char *path_kind_name(unsigned kind)
{
    static const char *const names[PATH_KIND_END] = {
        [PATH_TCP] = "tcp",
        [PATH_UNIX_STREAM] = "unix-stream",
        [PATH_UNIX_DATAGRAM] = "unix-datagram",
        [PATH_UNIX_SEQPACKET] = "unix-seqpacket",
        [PATH_UDP] = "udp",
        [PATH_PIPE] = "pipe",
        [PATH_FIFO] = "fifo",
        [PATH_FILE] = "file",
        [PATH_MQ_SYSV] = "mq-sysv",
        [PATH_MQ_POSIX] = "mq-posix",
        [PATH_CHANNEL] = "channel",
        [PATH_BYTE_CHANNEL] = "byte-channel",
        [PATH_MPI] = "mpi",
    };
    return kind < PATH_KIND_END && names[kind] != NULL ? names[kind] : "unknown";
}

/* Writes the number in decimal. Returns the position after it. */
static char *put_number(unsigned number, char *at)
{
    char digits[10];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* inet_ntop takes 2,000 instructions for this, and readers call it for every connection that ends. */
static char *put_ipv4(const uint8_t address[4], char *at)
{
    for (unsigned i = 0; i < 4; i++) {
        at = put_number(address[i], at);
        *at++ = i < 3 ? '.' : '\0';
    }
    return at - 1;
}

static void internet_endpoint(const struct path_record *path, const uint8_t address[16],
                              unsigned port, char text[ENDPOINT_SIZE])
{
    char name[INET6_ADDRSTRLEN] = "?";
    char *end;

    if (path->header.flags & RECORD_UNUSED) {
        strcpy(text, "unknown"); /* until it is used */
        return;
    }
    if (path->family == AF_INET6) {
        inet_ntop(AF_INET6, address, name, sizeof(name));
        snprintf(text, ENDPOINT_SIZE, "[%s]:%u", name, port);
        return;
    }
    end = put_ipv4(address, text);
    *end++ = ':';
    *put_number(port, end) = '\0';
}

/* The socket's name if this end has one; otherwise its cookie. The inode would not do: it is known for one end only. */
static void unix_endpoint(const struct path_record *path, uint64_t cookie, bool named,
                          char text[ENDPOINT_SIZE])
{
    size_t length = strnlen(path->name, sizeof(path->name));

    if (!named || length == 0) {
        if (cookie == 0)
            snprintf(text, ENDPOINT_SIZE, "unknown");
        else
            snprintf(text, ENDPOINT_SIZE, "socket#%" PRIu64, cookie);
        return;
    }
    memcpy(text, path->name, length);
    text[length] = '\0';
}

/* Both ends have the same text: the file's name, or for a pipe without one the name in /proc/PID/fd. */
static void pipe_endpoint(const struct path_record *path, char text[ENDPOINT_SIZE])
{
    size_t length = strnlen(path->name, sizeof(path->name));

    if (length == 0)
        snprintf(text, ENDPOINT_SIZE, "pipe:[%" PRIu64 "]", path->inode);
    else
        snprintf(text, ENDPOINT_SIZE, "%.*s", (int)length, path->name);
}

static void file_endpoint(const struct path_record *path, char text[ENDPOINT_SIZE])
{
    size_t length = strnlen(path->name, sizeof(path->name));

    if (length == 0)
        snprintf(text, ENDPOINT_SIZE, "inode %" PRIu64, path->inode);
    else
        snprintf(text, ENDPOINT_SIZE, "%.*s", (int)length, path->name);
}

int64_t path_message_type(const struct path_record *path)
{
    int64_t type;

    memcpy(&type, path->local, sizeof(type));
    return type;
}

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Both ends have the same text: "msqid 3 type 5", "/jobs priority 0". */
static void queue_endpoint(const struct path_record *path, char text[ENDPOINT_SIZE])
{
    size_t length = strnlen(path->name, sizeof(path->name));

    if (path->kind == PATH_MQ_SYSV)
        snprintf(text, ENDPOINT_SIZE, "msqid %" PRIu64 " type %" PRId64, path->inode,
                 path_message_type(path));
    else
        snprintf(text, ENDPOINT_SIZE, "%.*s priority %" PRId64, (int)length, path->name,
                 path_message_type(path));
}

/* What has the same text at both ends. */
static bool common_endpoint(const struct path_record *path, char text[ENDPOINT_SIZE])
{
    if (kind_is_pipe(path->kind))
        pipe_endpoint(path, text);
    else if (kind_is_mq(path->kind))
        queue_endpoint(path, text);
    else if (path->kind == PATH_FILE || kind_is_channel(path->kind))
        file_endpoint(path, text);
    else
        return false;
    return true;
}

/* "rank 3", of MPI_COMM_WORLD; "rank 0 of 5a1f": of another communicator, by a part of its number. */
static void mpi_endpoint(const struct path_record *path, uint32_t rank, char text[ENDPOINT_SIZE])
{
    uint32_t communicator = word_at(path->local + 12) ^ word_at(path->local + 8);

    if (communicator == 0)
        snprintf(text, ENDPOINT_SIZE, "rank %" PRIu32, rank);
    else
        snprintf(text, ENDPOINT_SIZE, "rank %" PRIu32 " of %04" PRIx32, rank,
                 (communicator ^ communicator >> 16) & 0xffff);
}

void endpoint_local(const struct path_record *path, char text[ENDPOINT_SIZE])
{
    if (path->kind == PATH_MPI)
        mpi_endpoint(path, word_at(path->local), text);
    if (path->kind == PATH_MPI || common_endpoint(path, text))
        return;
    if (path->family == AF_UNIX)
        unix_endpoint(path, path->cookie, path->name_end == PATH_NAME_LOCAL, text);
    else
        internet_endpoint(path, path->local, path->local_port, text);
}

void endpoint_remote(const struct path_record *path, char text[ENDPOINT_SIZE])
{
    if (path->kind == PATH_MPI)
        mpi_endpoint(path, word_at(path->remote), text);
    if (path->kind == PATH_MPI || common_endpoint(path, text))
        return;
    if (path->family == AF_UNIX)
        unix_endpoint(path, path->peer, path->name_end == PATH_NAME_REMOTE, text);
    else
        internet_endpoint(path, path->remote, path->remote_port, text);
}

/* ---- sides ---- */

#define FIRST_EPHEMERAL 32768u /* Linux gives clients ports from here on */

static enum path_side guess_side(const struct path_record *path)
{
    bool local_low = path->local_port < FIRST_EPHEMERAL;
    bool remote_low = path->remote_port < FIRST_EPHEMERAL;

    if (path->kind == PATH_UNIX_STREAM || path->kind == PATH_UNIX_SEQPACKET)
        return path->name_end == PATH_NAME_LOCAL    ? PATH_SIDE_SERVES
               : path->name_end == PATH_NAME_REMOTE ? PATH_SIDE_CALLS
                                                    : PATH_SIDE_UNKNOWN;
    if (!kind_is_internet(path->kind) || local_low == remote_low || path->local_port == 0 ||
        path->remote_port == 0)
        return PATH_SIDE_UNKNOWN;
    return local_low ? PATH_SIDE_SERVES : PATH_SIDE_CALLS;
}

enum path_side path_side(const struct path_record *path, bool *ret_guessed)
{
    *ret_guessed = false;
    switch (path->role) {
    case PATH_ROLE_CONNECTED:
    case PATH_ROLE_WRITES:
        return PATH_SIDE_CALLS;
    case PATH_ROLE_ACCEPTED:
    case PATH_ROLE_READS:
        return PATH_SIDE_SERVES;
    default:
        break;
    }
    enum path_side side = guess_side(path);
    *ret_guessed = side != PATH_SIDE_UNKNOWN;
    return side;
}
