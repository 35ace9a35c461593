/* SPDX-License-Identifier: MIT */
/* passing.c: messages that bring descriptors. See passing.h. */
#include "base/passing.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    char bytes[CMSG_SPACE(PASSING_MOST * sizeof(int))];
    struct cmsghdr alignment;
};

int passing_send(int connection, const void *message, size_t size, const int *descriptors,
                 size_t count)
{
    struct iovec part = {(void *)(uintptr_t)message, size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    union control control = {{0}};
    ssize_t sent;

    assert(count <= PASSING_MOST);
    if (count > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
    }
    do
        sent = sendmsg(connection, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

void passing_close(const int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
}

/* Takes the descriptors; those beyond `most` are closed. Returns how many came. */
static size_t take(struct msghdr *header, int *ret_descriptors, size_t most)
{
    size_t count = 0;

    for (struct cmsghdr *rights = CMSG_FIRSTHDR(header); rights != NULL;
         rights = CMSG_NXTHDR(header, rights)) {
        if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(rights) + i * sizeof(int), sizeof(int));
            if (count < most)
                ret_descriptors[count] = descriptor;
            else
                close(descriptor);
            count++;
        }
    }
    return count;
}

ssize_t passing_receive(int connection, void *message, size_t size, int *ret_descriptors,
                        size_t *count)
{
    union control control;
    struct iovec part = {message, size};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof(control.bytes)};
    size_t most = *count;
    ssize_t got;

    *count = 0;
    do
        got = recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    size_t came = take(&header, ret_descriptors, most);
    if (came > most || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        passing_close(ret_descriptors, came < most ? came : most);
        return -EMSGSIZE;
    }
    *count = came;
    return got;
}
