/* SPDX-License-Identifier: MIT */
/*
 * request_interp.c: the request interpreter: takes the requests of users and passes them to the other servers.
 *
 *     OPEN    LOOKUP ─► directory ─┬─ found ───────────────────────► ATTACH ─► buffers ─► user
 *                                  └─ not found: CREATE ─► directory ──┘
 *     CLOSE   CLOSE ──► directory ──► FLUSH ─► buffers ─► user
 *     READ, WRITE ─────────────────────────────────────► buffers ─► user
 *
 * It never blocks on one user: while a request is at another server it takes the next. It admits a limited number of
 * requests at a time and leaves the others in its queue. A file is open to one user at a time; a user has one open
 * file, and one request.
 */
#include "filesystem.h"

#include <errno.h>
#include <string.h>

struct session {
    uint32_t file; /* 0: none is open */
    uint32_t length;
    bool create;
    bool busy; /* its request is admitted */
    char name[NAME_SIZE];
};

static struct process process;
static struct session sessions[PROCESSES];
static unsigned inside;

static int forward(struct message *message, unsigned to, enum message_type type)
{
    message->type = (uint8_t)type;
    message->answer = 0;
    message->error = 0;
    return process_send(&process, to, message);
}

/* The end of a request: the user gets the result, or an error. */
static int answer(struct message *message, enum message_type type, int error)
{
    sessions[message->user].busy = false;
    process.hold_accepted = --inside >= process.shared->settings.inside;
    message->type = (uint8_t)type;
    message_answer(message, error, type == MESSAGE_READ ? RECORD_SIZE : 0);
    return process_send(&process, message->user, message);
}

/* ---- requests of users ---- */

static int open_file(struct session *session, struct message *message)
{
    if (session->file || message->size != MESSAGE_HEADER + NAME_SIZE)
        return answer(message, MESSAGE_OPEN, session->file ? -EMFILE : -EPROTO);
    session->create = message->position == 1;
    memcpy(session->name, message->data, NAME_SIZE);
    return forward(message, DIRECTORY_MANAGER, MESSAGE_LOOKUP);
}

static int access_file(struct session *session, struct message *message)
{
    const bool writes = message->type == MESSAGE_WRITE;
    if (writes && message->size != MESSAGE_HEADER + RECORD_SIZE)
        return answer(message, MESSAGE_WRITE, -EPROTO);
    if (!writes && message->position >= session->length)
        return answer(message, MESSAGE_READ, -ENODATA);
    if (writes && message->position >= session->length)
        session->length = message->position + 1;
    message->file = session->file;
    return forward(message, BUFFER_MANAGER, (enum message_type)message->type);
}

static int take_request(struct message *message)
{
    struct session *session = &sessions[message->from];
    if (session->busy)
        return -EPROTO;
    session->busy = true;
    process.hold_accepted = ++inside >= process.shared->settings.inside;
    message->user = message->from;
    if (message->type == MESSAGE_OPEN)
        return open_file(session, message);
    if (!session->file)
        return answer(message, (enum message_type)message->type, -EBADF);
    switch (message->type) {
    case MESSAGE_READ:
    case MESSAGE_WRITE:
        return access_file(session, message);
    case MESSAGE_CLOSE:
        message->file = session->file;
        message->length = session->length;
        return forward(message, DIRECTORY_MANAGER, MESSAGE_CLOSE);
    default:
        return answer(message, (enum message_type)message->type, -EINVAL);
    }
}

/* ---- answers of servers ---- */

static bool is_open(uint32_t file)
{
    for (unsigned user = USER_FIRST; user < PROCESSES; user++)
        if (sessions[user].file == file)
            return true;
    return false;
}

static int file_found(struct session *session, struct message *message, bool is_new)
{
    if (is_open(message->file))
        return answer(message, MESSAGE_OPEN, -EBUSY);
    session->file = message->file;
    session->length = message->length;
    message->position = is_new;
    message->size = MESSAGE_HEADER;
    return forward(message, BUFFER_MANAGER, MESSAGE_ATTACH);
}

static int create_file(struct session *session, struct message *message)
{
    memcpy(message->data, session->name, NAME_SIZE);
    message->size = MESSAGE_HEADER + NAME_SIZE;
    return forward(message, DIRECTORY_MANAGER, MESSAGE_CREATE);
}

static int take_answer(struct message *message)
{
    if (message->user < USER_FIRST || message->user >= PROCESSES || !sessions[message->user].busy)
        return -EPROTO;
    struct session *session = &sessions[message->user];
    switch (message->type) {
    case MESSAGE_LOOKUP:
        if (message->error == -ENOENT && session->create)
            return create_file(session, message);
        return message->error ? answer(message, MESSAGE_OPEN, message->error)
                              : file_found(session, message, false);
    case MESSAGE_CREATE:
        return message->error ? answer(message, MESSAGE_OPEN, message->error)
                              : file_found(session, message, true);
    case MESSAGE_ATTACH:
        if (message->error)
            session->file = 0;
        return answer(message, MESSAGE_OPEN, message->error);
    case MESSAGE_CLOSE: /* the directory has the new length */
        return message->error ? answer(message, MESSAGE_CLOSE, message->error)
                              : forward(message, BUFFER_MANAGER, MESSAGE_FLUSH);
    case MESSAGE_FLUSH:
        session->file = 0;
        return answer(message, MESSAGE_CLOSE, message->error);
    default:
        return answer(message, (enum message_type)message->type, message->error);
    }
}

int main(int argument_count, char **arguments)
{
    static struct message message;
    int error;

    process_begin(&process, argument_count, arguments, 0);
    if ((error = process_connect(&process, DIRECTORY_MANAGER)) < 0 ||
        (error = process_connect(&process, BUFFER_MANAGER)) < 0)
        return process_end(&process, error);
    while ((error = process_receive(&process, &message)) > 0) {
        error = message.from >= USER_FIRST ? take_request(&message)
                : message.answer           ? take_answer(&message)
                                           : -EPROTO;
        if (error < 0)
            break;
    }
    return process_end(&process, error);
}
