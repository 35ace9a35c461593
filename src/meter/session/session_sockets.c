/* SPDX-License-Identifier: MIT */
/* session_sockets.c: what dpmd must know of UNIX sockets. See session_sockets.h. */
#include "meter/session/session_sockets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void session_sockets_done(struct session_sockets *sockets)
{
    free(sockets->list);
    intern_done(&sockets->known);
    *sockets = (struct session_sockets){0};
}

static int add(struct session_sockets *sockets, const struct session_socket *socket)
{
    int result = array_reserve(&sockets->list, &sockets->capacity, sockets->count + 1,
                               sizeof(*sockets->list));

    if (result == 0)
        sockets->list[sockets->count++] = *socket;
    return result;
}

static int note_path(struct session_sockets *sockets, const struct path_record *path)
{
    const struct session_socket socket = {
        .path = path->path,
        .network = path->network,
        .cookie = path->cookie,
        .peer = path->peer,
        .inode = path->inode,
        .datagram = path->kind == PATH_UNIX_DATAGRAM,
    };

    if (path->family != AF_UNIX)
        return 0;
    int64_t index = intern_add(&sockets->known, path->path);
    return index < 0 ? (int)index : add(sockets, &socket);
}

int session_sockets_note(struct session_sockets *sockets, const struct record_header *record)
{
    uint32_t path = ((const struct record *)record)->message.path;

    if (record->id == EVENT_PATH)
        return note_path(sockets, (const struct path_record *)record);
    if (record->id != EVENT_DESTROYPATH || intern_find(&sockets->known, path) < 0)
        return 0;
    return add(sockets, &(struct session_socket){.path = path, .ended = true});
}

bool session_sockets_take(struct session_sockets *sockets, struct session_request *request)
{
    size_t left = sockets->count - sockets->taken;
    size_t count = left < SESSION_SOCKETS_MOST ? left : SESSION_SOCKETS_MOST;

    if (count == 0) {
        sockets->count = sockets->taken = 0;
        return false;
    }
    memcpy(request->note.sockets, sockets->list + sockets->taken, count * sizeof(*sockets->list));
    request->note.count = (uint32_t)count;
    sockets->taken += count;
    return true;
}
