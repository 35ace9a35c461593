/* SPDX-License-Identifier: MIT */
/* asking.c: requests to dpmd and its replies. See asking.h. */
#include "meter/session/asking.h"

#include "base/passing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 30 /* s: loading the meter takes less than one, even on a slow machine */

static int cannot_connect(const char *path, int error, struct problem *problem)
{
    if (error == -EACCES)
        return problem_set(problem, error, "you may not use dpmd: its socket %s is not for you",
                           path);
    if (error == -ENOENT || error == -ECONNREFUSED)
        return problem_set(
            problem, error,
            "dpmd does not run: nothing answers at %s; start it, e.g. with systemctl "
            "start dpmd",
            path);
    return problem_set(problem, error, "cannot connect to dpmd at %s: %s", path, strerror(-error));
}

int asking_open(struct asking *asking, const char *socket_path, struct problem *problem)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = PATIENCE};

    asking->connection = -1;
    if (strlen(socket_path) >= sizeof(address.sun_path))
        return problem_set(problem, -ENAMETOOLONG, "the name of dpmd's socket is too long: %s",
                           socket_path);
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    asking->connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (asking->connection < 0 ||
        setsockopt(asking->connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        connect(asking->connection, (struct sockaddr *)&address, sizeof(address)) < 0)
        return cannot_connect(socket_path, -errno, problem);
    return 0;
}

void asking_done(struct asking *asking)
{
    if (asking->connection >= 0)
        close(asking->connection);
    asking->connection = -1;
}

static int is_gone(struct asking *asking, int error, struct problem *problem)
{
    asking->gone = true;
    if (error == -EAGAIN)
        return problem_set(problem, -ECONNRESET, "dpmd does not answer");
    return problem_set(problem, -ECONNRESET, "dpmd has ended the session");
}

static int read_file(int descriptor, uint64_t size, struct asked_file *ret_file)
{
    char *bytes = malloc(size);
    size_t have = 0;
    ssize_t got = 1;

    if (bytes == NULL)
        return -ENOMEM;
    while (have < size && got > 0) {
        got = pread(descriptor, bytes + have, size - have, (off_t)have);
        have += got > 0 ? (size_t)got : 0;
    }
    ret_file->bytes = bytes;
    ret_file->size = have;
    return have == size ? 0 : -EPROTO;
}

/* Takes what came with a reply: the rings and the memory of rules, or a file. */
static int take_file(const struct session_request *request, const struct session_reply *reply,
                     int *descriptors, size_t count, struct asked_file *ret_file)
{
    int result = 0;

    if (request->operation == SESSION_OPEN && ret_file != NULL && reply->result >= 0) {
        memcpy(ret_file->rings, descriptors, count * sizeof(*descriptors));
        ret_file->ring_count = count;
        return 0;
    }
    if (reply->bytes > 0 && ret_file != NULL)
        result = count == 1 ? read_file(descriptors[0], reply->bytes, ret_file) : -EPROTO;
    passing_close(descriptors, count);
    return result;
}

int ask(struct asking *asking, struct session_request *request, int descriptor,
        struct session_reply *ret_reply, struct asked_file *ret_file, struct problem *problem)
{
    int descriptors[SESSION_DESCRIPTORS_MOST];
    size_t count = SESSION_DESCRIPTORS_MOST;

    if (asking->gone)
        return is_gone(asking, 0, problem);
    request->version = SESSION_VERSION;
    int result =
        passing_send(asking->connection, request, sizeof(*request), &descriptor, descriptor >= 0);
    if (result < 0 && result != -EPIPE) /* a peer that is refused is told so, and not heard */
        return is_gone(asking, result, problem);
    ssize_t got =
        passing_receive(asking->connection, ret_reply, sizeof(*ret_reply), descriptors, &count);
    if (got <= 0)
        return is_gone(asking, (int)got, problem);
    result = take_file(request, ret_reply, descriptors, count, ret_file);
    if ((size_t)got < sizeof(*ret_reply) || ret_reply->version != SESSION_VERSION) {
        asking->gone = true;
        return problem_set(problem, -EPROTO,
                           "dpmd is of another version than dpm: install the same of both, and "
                           "restart dpmd");
    }
    ret_reply->text[sizeof(ret_reply->text) - 1] = '\0';
    if (ret_reply->result < 0)
        return problem_set(problem, ret_reply->result, "%s", ret_reply->text);
    if (result < 0)
        return problem_set(problem, result, "cannot read dpmd's answer: %s", strerror(-result));
    return ret_reply->result;
}
