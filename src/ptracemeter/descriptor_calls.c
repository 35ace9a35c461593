/* SPDX-License-Identifier: MIT */
/*
 * descriptor_calls.c: calls that close, replace and make descriptors.
 *
 *      close, dup2, dup3, close_range    the object behind the descriptor is forgotten
 *      pipe, socketpair                  both ends are known from the beginning
 */
#include "ptracemeter/descriptor_calls.h"

#include "ptracemeter/calls.h"
#include "ptracemeter/connection_calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/file_calls.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/paths.h"
#include "ptracemeter/peers.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* ---- closing ---- */

/* Whether the call gives the number in its second argument to another file. */
static bool replaces(const struct call *call)
{
    return (call->number == SYS_dup2 || call->number == SYS_dup3) &&
           (int)call->arguments[0] != (int)call->arguments[1];
}

static void forget(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct call *call = &tracee->call;

    switch (call->number) {
    case SYS_close:
        descriptor_forget(meter, tracee->table, (int)call->arguments[0]);
        break;
    case SYS_dup2:
    case SYS_dup3:
        if (replaces(call))
            descriptor_forget(meter, tracee->table, (int)call->arguments[1]);
        break;
    case SYS_close_range:
        if ((call->arguments[2] & CLOSE_RANGE_CLOEXEC) == 0)
            descriptors_forget_range(meter, tracee->table, (uint32_t)call->arguments[0],
                                     (uint32_t)call->arguments[1]);
        break;
    }
}

/* From now on the tracee has a descriptor table of its own. */
static void leave_table(struct ptracemeter *meter, struct tracee *tracee)
{
    struct table *own = tracee->table->users > 1 ? table_copy(meter, tracee->table) : NULL;

    if (own == NULL)
        return;
    table_leave(meter, tracee->table);
    tracee->table = own;
}

/* After a shutdown, a receive of 0 bytes may be an end of file. */
static void shut_down(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct call *call = &tracee->call;
    struct object *object = descriptor_object(meter, tracee, (int)call->arguments[0]);

    if (!is_object(object))
        return;
    object->shut_out = object->shut_out || call->arguments[1] != SHUT_RD;
    object->shut_in = object->shut_in || call->arguments[1] != SHUT_WR;
}

/* In packet mode (O_DIRECT), what a read leaves of a packet is lost. */
static void keep_packets(struct ptracemeter *meter, struct object *object)
{
    if (!is_object(object) || object->object_kind != OBJECT_PIPE || object->packets)
        return;
    object->packets = true;
    path_tell_again(meter, object);
}

bool closing_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;
    bool unshares = (call->number == SYS_unshare && (call->arguments[0] & CLONE_FILES)) ||
                    (call->number == SYS_close_range && (call->arguments[2] & CLOSE_RANGE_UNSHARE));

    if (call->number == SYS_shutdown) {
        shut_down(meter, tracee);
        return false;
    }
    if (call->number == SYS_fcntl) {
        if ((int)call->arguments[1] == F_SETFL)
            keep_packets(meter, descriptor_object(meter, tracee, (int)call->arguments[0]));
        return false;
    }
    if (call->number == SYS_unshare && (call->arguments[0] & (CLONE_NEWPID | CLONE_NEWNET)))
        meter->identities_change = true;
    if (call->number == SYS_close) {
        file_closes(meter, tracee, (int)call->arguments[0]);
        /* not in forget(): when the call ends, the number may be another connection's */
        connection_closes(meter, tracee, (int)call->arguments[0]);
    }
    if (replaces(call))
        file_replaced(meter, tracee, (int)call->arguments[1]);
    if (unshares)
        leave_table(meter, tracee);
    forget(meter, tracee);
    if (tracee->table->users == 1)
        return false;
    tracee->table->changing++;
    call->changing = true;
    return true;
}

void closing_ends(struct ptracemeter *meter, struct tracee *tracee)
{
    if (!tracee->call.changing)
        return;
    tracee->call.changing = false;
    tracee->table->changing--;
    forget(meter, tracee);
}

/* ---- making ---- */

void making_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    const struct call *call = &tracee->call;
    bool pair = call->number == SYS_socketpair;
    struct object *objects[2];
    int made[2];

    if (call->number == SYS_socket) {
        struct object *object = result < 0 ? NULL : object_made(meter, tracee, (int)result);
        if (object != NULL && tracee->table->changing == 0)
            descriptor_set(meter, tracee->table, (int)result, object);
        return;
    }
    if (result < 0 || !tracer_read(tracee, call->arguments[pair ? 3 : 0], made, sizeof(made)))
        return;
    for (unsigned i = 0; i < 2; i++) {
        objects[i] = object_made(meter, tracee, made[i]);
        if (objects[i] != NULL && tracee->table->changing == 0)
            descriptor_set(meter, tracee->table, made[i], objects[i]);
        if (call->number == SYS_pipe2 && (call->arguments[1] & O_DIRECT))
            keep_packets(meter, objects[i]);
    }
    if (pair && is_object(objects[0]) && is_object(objects[1]))
        object_pair(objects[0], objects[1]);
}
