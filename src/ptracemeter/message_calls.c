/* SPDX-License-Identifier: MIT */
/*
 * message_calls.c: SEND, RECEIVE, SENDCALL, RECEIVECALL.
 *
 *      send      resumed |------------ visible? ------------| end: out += bytes     SEND [out, out + bytes), span back
 *      receive       resumed |-----------------------| end: in += bytes             RECEIVE [in, in + bytes)
 *
 * Offsets are counted when calls end, as in the kernel meter for pipes. If sends on one object overlap, or receives
 * do, their order is uncertain (RECORD_CONCURRENT). A receive may end before the send whose bytes it took: if that
 * send takes long, a SENDCALL records how many of its bytes have been received. Example: a write to a pipe (path 1 is
 * its written end, path 2 its read end):
 *
 *      0 ms    write of 200,000 bytes begins; it blocks when the pipe's buffer of 65,536 bytes is full
 *      20 ms   a read ends, 60,000 bytes     RECEIVE   path 2  offset 0        bytes 60,000
 *      60 ms   the write is in progress      SENDCALL  path 1  offset 60,000   bytes 60,000
 *      70 ms   a read ends, 60,000 bytes     RECEIVE   path 2  offset 60,000   bytes 60,000
 *      90 ms   a read ends, 60,000 bytes     RECEIVE   path 2  offset 120,000  bytes 60,000
 *      90 ms   the write ends                SEND      path 1  offset 0        bytes 200,000  span 90 ms
 */
#include "ptracemeter/message_calls.h"

#include "meter/shared/message.h"
#include "ptracemeter/calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/paths.h"
#include "ptracemeter/socket_facts.h"
#include "ptracemeter/submit_calls.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define MOST_MESSAGES 1024 /* of sendmmsg: the kernel's limit. Of recvmmsg: read at a time */
#define SENDS_LONG    (50 * MILLISECOND)

/* A call sends or receives on such a socket. */
static void note_unmetered(struct ptracemeter *meter, const struct tracee *tracee,
                           const struct object *socket)
{
    unsigned kind = (unsigned)((intptr_t)UNMETERED_SOCKET(0) - (intptr_t)socket);
    struct name_record record;

    if (socket == NO_OBJECT || tracee->from_exec || (meter->unmetered >> kind & 1))
        return;
    meter->unmetered |= 1u << kind;
    unmetered_fill(&record, (enum unmetered_kind)kind, tell_time(meter));
    tell(meter, &record.header);
}

/* Finds the object behind a descriptor; NULL: not known. Returns false if it is not a path: the call does not
 * matter. */
static bool look_up(struct ptracemeter *meter, struct tracee *tracee, uint64_t descriptor,
                    struct object **ret_object)
{
    struct object *object = descriptor_object(meter, tracee, (int)descriptor);

    *ret_object = is_object(object) ? object : NULL;
    if (object != NULL && *ret_object == NULL)
        note_unmetered(meter, tracee, object);
    return object == *ret_object;
}

/* ---- a send in progress ---- */

/* A call that sends or receives begins. */
static void enter_objects(struct call *call)
{
    struct object *to = call->to, *from = call->from;

    call->counted = true;
    if (to != NULL) {
        to->sent++;
        call->other_sends = to->sending > 0 ? 0 : to->sent;
        to->sending++;
    }
    if (from != NULL) {
        from->received++;
        call->other_receives = from->receiving > 0 ? 0 : from->received;
        from->receiving++;
    }
}

/* The call ends. */
static void leave_objects(struct call *call)
{
    if (!call->counted)
        return;
    call->counted = false;
    if (call->to != NULL)
        call->to->sending--;
    if (call->from != NULL)
        call->from->receiving--;
}

/* Whether other calls were sending, or receiving, on the object meanwhile. */
static bool sends_concurrently(const struct call *call)
{
    return call->other_sends != call->to->sent;
}

static bool receives_concurrently(const struct call *call)
{
    return call->other_receives != call->from->received;
}

void message_dropped(struct tracee *tracee)
{
    tracee->call.path = NULL;
    leave_objects(&tracee->call);
    submit_dropped(tracee);
}

void send_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now)
{
    struct call *call = &tracee->call;
    struct path *partner = path_partner(meter, call->path);
    uint32_t out = partner == NULL ? 0 : partner->in - call->path->out;

    if (now - call->began < SENDS_LONG || (int32_t)out < 0 ||
        (call->told_bytes == out + 1 && call->told_bytes != 0) || is_message(call->path->object))
        return;
    tracee_look(meter, tracee);
    call->told_bytes = out + 1;
    const struct message message = {
        .path = call->path->number,
        .offset = call->path->out + out,
        .bytes = out,
        .begin = call->began,
    };
    tell_message(meter, tracee, EVENT_SENDCALL, &message);
}

/* ---- sending ---- */

static uint32_t doubt(const struct ptracemeter *meter, const struct path *path)
{
    return meter->doubtful || path->doubtful || path->older ? RECORD_OLDER : 0;
}

static void tell_send(struct ptracemeter *meter, struct tracee *tracee, struct path *path,
                      uint32_t bytes)
{
    struct message message = {
        .path = path->number,
        .offset = path->out,
        .bytes = bytes,
        .flags = doubt(meter, path) | (sends_concurrently(&tracee->call) ? RECORD_CONCURRENT : 0),
        .begin = tracee->call.began,
    };

    path->out += is_message(path->object) ? 1 : bytes;
    path->sent_bytes += bytes;
    tell_message(meter, tracee, EVENT_SEND, &message);
}

/* Records that the send waited for buffer space, which is known only at its end. */
static void tell_waited(struct ptracemeter *meter, struct tracee *tracee, const struct path *path)
{
    const struct call *call = &tracee->call;
    const struct message message = {
        .path = path->number, .offset = path->out, .begin = call->began};

    if (call->told_bytes == 0)
        tell_message(meter, tracee, EVENT_SENDCALL, &message);
}

/* Reads the address in the arguments of a send or receive call. Returns its length; 0: there is none. */
static size_t read_address(const struct tracee *tracee, uint64_t address, uint64_t length,
                           struct sockaddr_storage *ret_address)
{
    if (address == 0 || length < sizeof(sa_family_t) || length > sizeof(*ret_address))
        return 0;
    memset(ret_address, 0, sizeof(*ret_address));
    return tracer_read(tracee, address, ret_address, length) ? length : 0;
}

/* The path to the address in an argument or in a header. */
static struct path *path_to_address(struct ptracemeter *meter, struct tracee *tracee,
                                    struct object *object, uint64_t address, uint64_t length)
{
    struct sockaddr_storage to;
    size_t size;

    if (!is_datagram(object))
        return path_of(meter, tracee, object, PIPE_WRITTEN);
    size = read_address(tracee, address, length, &to);
    return path_to(meter, tracee, object, size == 0 ? NULL : &to, size);
}

static struct path *path_of_header(struct ptracemeter *meter, struct tracee *tracee,
                                   struct object *object, const struct msghdr *header)
{
    return path_to_address(meter, tracee, object, (uint64_t)(uintptr_t)header->msg_name,
                           header->msg_namelen);
}

static struct path *path_of_send(struct ptracemeter *meter, struct tracee *tracee,
                                 struct object *object)
{
    const struct call *call = &tracee->call;
    struct msghdr header;

    if (call->number == SYS_sendto)
        return path_to_address(meter, tracee, object, call->arguments[4], call->arguments[5]);
    if (call->number == SYS_sendmsg &&
        tracer_read(tracee, call->arguments[1], &header, sizeof(header)))
        return path_of_header(meter, tracee, object, &header);
    return path_to_address(meter, tracee, object, 0, 0);
}

/* Headers of a sendmmsg or recvmmsg, from this one on. The caller frees them; NULL: none, or they cannot be read
 * (counted). */
static struct mmsghdr *read_many(struct ptracemeter *meter, const struct tracee *tracee,
                                 int64_t first, int64_t count)
{
    uint64_t address = tracee->call.arguments[1] + (uint64_t)first * sizeof(struct mmsghdr);
    struct mmsghdr *headers;

    if (count <= 0 || count > MOST_MESSAGES)
        return NULL;
    headers = malloc((size_t)count * sizeof(*headers));
    if (headers == NULL) {
        meter->shortfalls.no_memory++;
        return NULL;
    }
    if (tracer_read(tracee, address, headers, (size_t)count * sizeof(*headers)))
        return headers;
    tracee_falls_short(tracee, &meter->shortfalls.unreadable);
    free(headers);
    return NULL;
}

/* ---- descriptors passed over UNIX sockets ---- */

#define MOST_CONTROL 4096 /* the kernel passes at most 253 descriptors */

static void pass(struct ptracemeter *meter, struct tracee *tracee, int descriptor, bool outside)
{
    struct object *object = descriptor_object(meter, tracee, descriptor);

    if (!is_object(object))
        return;
    object->in_flight = true; /* still open, though no table may hold it for a while */
    if (outside)
        object_doubt(meter, object);
}

/* An untraced process that receives a socket or pipe may use it unseen. */
static void look_for_rights(struct ptracemeter *meter, struct tracee *tracee,
                            const struct msghdr *header)
{
    _Alignas(struct cmsghdr) char control[MOST_CONTROL];
    struct msghdr copy = {.msg_control = control, .msg_controllen = header->msg_controllen};

    if (copy.msg_controllen < sizeof(struct cmsghdr) || copy.msg_controllen > sizeof(control) ||
        !tracer_read(tracee, (uint64_t)(uintptr_t)header->msg_control, control,
                     copy.msg_controllen))
        return;
    const struct path *path = path_of_header(meter, tracee, tracee->call.to, header);
    bool outside = path == NULL || path_partner(meter, path) == NULL;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&copy); part != NULL;
         part = CMSG_NXTHDR(&copy, part)) {
        const char *end = control + copy.msg_controllen;
        const char *first = (const char *)CMSG_DATA(part);
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        if ((const char *)part + part->cmsg_len < end)
            end = (const char *)part + part->cmsg_len;
        for (; first + sizeof(int) <= end; first += sizeof(int)) {
            int descriptor;
            memcpy(&descriptor, first, sizeof(descriptor));
            pass(meter, tracee, descriptor, outside);
        }
    }
}

static void look_for_passed_on(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct call *call = &tracee->call;
    struct mmsghdr *headers;
    struct msghdr header;

    if (call->number == SYS_sendmsg &&
        tracer_read(tracee, call->arguments[1], &header, sizeof(header)))
        look_for_rights(meter, tracee, &header);
    if (call->number != SYS_sendmmsg)
        return;
    int64_t count =
        (uint32_t)call->arguments[2] < MOST_MESSAGES ? (uint32_t)call->arguments[2] : MOST_MESSAGES;
    headers = read_many(meter, tracee, 0, count);
    for (int64_t i = 0; headers != NULL && i < count; i++)
        look_for_rights(meter, tracee, &headers[i].msg_hdr);
    free(headers);
}

/* ---- sending, from its beginning to its end ---- */

/* The kernel assigns a port to an unbound UDP socket at its first send. The path is therefore known only at the end. */
static bool has_no_port(const struct object *object)
{
    return object->kind == PATH_UDP && object->facts.local_port == 0;
}

bool send_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;

    if (!look_up(meter, tracee, call->arguments[0], &call->to))
        return false;
    if (call->to != NULL && call->to->family == AF_UNIX)
        look_for_passed_on(meter, tracee);
    if (call->to != NULL && call->what->what == CALL_SENDS && !has_no_port(call->to))
        call->path = path_of_send(meter, tracee, call->to);
    enter_objects(call);
    return true;
}

static void send_many_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t count)
{
    struct mmsghdr *headers = read_many(meter, tracee, 0, count);

    for (int64_t i = 0; headers != NULL && i < count; i++) {
        struct path *path = path_of_header(meter, tracee, tracee->call.to, &headers[i].msg_hdr);
        if (path != NULL)
            tell_send(meter, tracee, path, headers[i].msg_len);
    }
    free(headers);
}

static int flags_of_send(const struct call *call)
{
    return call->number == SYS_sendto    ? (int)call->arguments[3]
           : call->number == SYS_sendmsg ? (int)call->arguments[2]
                                         : 0;
}

/* Later offsets may be wrong: an urgent byte is received out of order, or skipped, and the kernel may make several
 * messages of one splice. */
static void doubt_both(struct ptracemeter *meter, struct path *path)
{
    struct path *partner = path_partner(meter, path);

    path->doubtful = true;
    if (partner != NULL)
        partner->doubtful = true;
}

/* Whether the call sends nothing, not even an empty message, if it is given no bytes. */
static bool needs_bytes(const struct call *call)
{
    return (call->number == SYS_writev || call->number == SYS_pwritev2) && is_message(call->to);
}

void send_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct call *call = &tracee->call;
    struct path *path = call->path;

    leave_objects(call);
    if (call->to == NULL && result >= 0 && !look_up(meter, tracee, call->arguments[0], &call->to))
        return;
    if (call->to == NULL)
        return;
    if (result < 0) {
        tracee->failed_sends += call_failed(result);
        return;
    }
    if (has_no_port(call->to))
        object_look_again(meter, tracee, call->to, (int)call->arguments[0]);
    if (call->what->what == CALL_SENDS_MANY) {
        send_many_ends(meter, tracee, result);
        return;
    }
    if (path == NULL && call->to->kind == PATH_UDP) {
        path = path_of_send(meter, tracee, call->to);
    } else if (path == NULL && result > 0) { /* not connected yet: TCP Fast Open */
        object_look_again(meter, tracee, call->to, (int)call->arguments[0]);
        call->to->role = PATH_ROLE_CONNECTED;
        path = path_of_send(meter, tracee, call->to);
        call->to->missed = call->to->missed || path == NULL; /* offsets will be wrong */
    }
    if (path == NULL || (result == 0 && needs_bytes(call)))
        return;
    if (flags_of_send(call) & MSG_OOB)
        doubt_both(meter, path);
    if (call_took_long(tracee))
        tell_waited(meter, tracee, path);
    tell_send(meter, tracee, path, (uint32_t)result);
}

/* ---- receiving ---- */

static int flags_of_receive(const struct call *call)
{
    switch (call->number) {
    case SYS_recvfrom:
    case SYS_recvmmsg:
        return (int)call->arguments[3];
    case SYS_recvmsg:
        return (int)call->arguments[2];
    default:
        return 0;
    }
}

bool receive_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;

    if (!look_up(meter, tracee, call->arguments[0], &call->from))
        return false;
    if (call->from != NULL)
        path_of(meter, tracee, call->from, PIPE_READ);
    enter_objects(call);
    return true;
}

/* Whether the other end may have been closed or shut down. */
static bool may_have_ended(const struct path *path, const struct object *other)
{
    return path->object->shut_in || other == NULL || other->shut_out || other->holders == 0;
}

/* Whether 0 bytes mean end of file, rather than an empty message. */
static bool is_end(struct ptracemeter *meter, struct path *path)
{
    /* the other end has no path before its first send has ended */
    const struct path *partner = path_partner(meter, path);
    const struct object *other =
        partner != NULL ? partner->object : object_of_cookie(meter, path->peer);

    if (!is_message(path->object))
        return true;
    if (!may_have_ended(path, other))
        return false;
    if (other == NULL && !path->peer_gone)
        return path->object->kind == PATH_UNIX_SEQPACKET;
    if (other != NULL && other->sending > 0)
        return false;
    if ((partner != NULL ? partner->out : path->peer_out) == path->in)
        return true;
    /* another receive, still in progress, may have taken the last message */
    if (path->object->receiving > 0)
        path->doubtful = true;
    return false;
}

static void tell_receive(struct ptracemeter *meter, struct tracee *tracee, struct path *path,
                         uint32_t bytes, uint32_t flags)
{
    struct message message = {.path = path->number, .offset = path->in, .bytes = bytes};

    if (bytes == 0 && is_end(meter, path))
        flags |= RECORD_END_OF_FILE;
    else
        path->in += is_message(path->object) ? 1 : bytes;
    if (!tracee->call.told && !tracee->waited && wants(meter, EVENT_RECEIVECALL))
        flags |= RECORD_CALL_IMPLIED;
    tracee->waited = false;
    tracee->call.told = false; /* only the first of several messages */
    if (receives_concurrently(&tracee->call))
        flags |= RECORD_CONCURRENT;
    message.flags = flags | doubt(meter, path);
    tell_message(meter, tracee, EVENT_RECEIVE, &message);
}

/* The path from a datagram's sender. The address is known only if the call asked for it. */
static struct path *path_of_sender(struct ptracemeter *meter, struct tracee *tracee,
                                   struct object *object, uint64_t address, uint64_t length)
{
    struct sockaddr_storage from;
    size_t size = read_address(tracee, address, length, &from);

    return size == 0 ? path_from_anybody(meter, tracee, object)
                     : path_from(meter, tracee, object, &from, size);
}

static struct path *path_of_receive(struct ptracemeter *meter, struct tracee *tracee,
                                    struct object *object)
{
    const struct call *call = &tracee->call;
    struct msghdr header;
    int length = 0;

    if (!is_datagram(object))
        return path_of(meter, tracee, object, PIPE_READ);
    if (call->number == SYS_recvfrom && call->arguments[4] != 0 &&
        tracer_read(tracee, call->arguments[5], &length, sizeof(length)))
        return path_of_sender(meter, tracee, object, call->arguments[4], (uint64_t)length);
    if (call->number == SYS_recvmsg &&
        tracer_read(tracee, call->arguments[1], &header, sizeof(header)))
        return path_of_sender(meter, tracee, object, (uint64_t)(uintptr_t)header.msg_name,
                              header.msg_namelen);
    return path_from_anybody(meter, tracee, object);
}

/* The path that a call waits for if it has nothing to receive. */
static struct path *path_of_wait(struct ptracemeter *meter, struct tracee *tracee,
                                 struct object *object)
{
    return is_datagram(object) ? path_to(meter, tracee, object, NULL, 0)
                               : path_of(meter, tracee, object, PIPE_READ);
}

/* The capacity in bytes of this many pieces; UINT64_MAX: not known. */
static uint64_t room_in(const struct tracee *tracee, uint64_t address, uint64_t count)
{
    struct iovec pieces[64];
    uint64_t room = 0;

    if (count > ARRAY_SIZE(pieces) ||
        !tracer_read(tracee, address, pieces, count * sizeof(pieces[0])))
        return UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        room += pieces[i].iov_len;
    return room;
}

static uint64_t room_in_header(const struct tracee *tracee, const struct msghdr *header)
{
    return room_in(tracee, (uint64_t)(uintptr_t)header->msg_iov, header->msg_iovlen);
}

static uint64_t room_of_call(const struct tracee *tracee)
{
    const struct call *call = &tracee->call;
    struct msghdr header;

    switch (call->number) {
    case SYS_read:
    case SYS_recvfrom:
        return call->arguments[2];
    case SYS_readv:
    case SYS_preadv2:
    case SYS_vmsplice:
        return room_in(tracee, call->arguments[1], call->arguments[2]);
    case SYS_recvmsg:
        if (tracer_read(tracee, call->arguments[1], &header, sizeof(header)))
            return room_in_header(tracee, &header);
        return UINT64_MAX;
    default:
        return UINT64_MAX;
    }
}

static uint32_t least(uint64_t bytes, uint64_t room)
{
    return (uint32_t)(bytes < room ? bytes : room);
}

/* Dropped datagrams count as received, as they have a number of their sender's. */
static void count_drops(struct ptracemeter *meter, struct tracee *tracee, struct path *path)
{
    struct object *object = tracee->call.from;
    uint32_t drops;

    if (object->kind == PATH_UDP &&
        socket_drops(meter, tracee, (int)tracee->call.arguments[0], &drops))
        path_note_drops(meter, object, path, drops);
}

/* `count` messages of a call, from number `first` on; `last`: there are no others after these. Returns whether they could
 * be read. */
static bool receive_some(struct ptracemeter *meter, struct tracee *tracee, int64_t first,
                         int64_t count, bool last)
{
    struct object *object = tracee->call.from;
    struct mmsghdr *headers = read_many(meter, tracee, first, count);
    bool is_read = headers != NULL;
    bool cut = flags_of_receive(&tracee->call) & MSG_TRUNC;

    for (int64_t i = 0; headers != NULL && i < count; i++) {
        const struct msghdr *header = &headers[i].msg_hdr;
        struct path *path =
            is_datagram(object)
                ? path_of_sender(meter, tracee, object, (uint64_t)(uintptr_t)header->msg_name,
                                 header->msg_namelen)
                : path_of(meter, tracee, object, PIPE_READ);
        uint32_t bytes = headers[i].msg_len;
        if (cut && is_message(object))
            bytes = least(bytes, room_in_header(tracee, header));
        if (bytes == 0 && !is_message(object) && room_in_header(tracee, header) == 0)
            continue;
        if (path == NULL)
            continue;
        tell_receive(meter, tracee, path, bytes, first + i > 0 ? RECORD_SAME_CALL : 0);
        if (last && i == count - 1)
            count_drops(meter, tracee, path);
    }
    free(headers);
    return is_read;
}

static void receive_many_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t count)
{
    bool is_read = true;

    for (int64_t first = 0; is_read && first < count; first += MOST_MESSAGES) {
        int64_t left = count - first;
        bool last = left <= MOST_MESSAGES;
        is_read = receive_some(meter, tracee, first, last ? left : MOST_MESSAGES, last);
    }
}

/* A call that asks for no bytes returns 0, which is neither an end of file nor a message. Exception: recvfrom and
 * recvmsg take a message all the same. */
static bool asked_for_nothing(const struct tracee *tracee)
{
    uint64_t number = tracee->call.number;
    bool takes = number == SYS_recvfrom || number == SYS_recvmsg;

    return !(takes && is_message(tracee->call.from)) && room_of_call(tracee) == 0;
}

void receive_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct call *call = &tracee->call;
    int flags = flags_of_receive(call);

    leave_objects(call);
    if (call->from == NULL && result >= 0 &&
        !look_up(meter, tracee, call->arguments[0], &call->from))
        return;
    if (call->from == NULL)
        return;
    if (!call->told && call_slept(tracee)) {
        const struct path *waited = path_of_wait(meter, tracee, call->from);
        if (waited != NULL)
            call_tell_wait(meter, tracee, waited->number, 0);
    }
    if (call->told && call_restarts(result))
        tracee->waited = true;
    if (flags & (MSG_PEEK | MSG_ERRQUEUE))
        return;
    if (result < 0) {
        tracee->failed_receives += call_failed(result);
        return;
    }
    if (call->what->what == CALL_RECEIVES_MANY) {
        receive_many_ends(meter, tracee, result);
        return;
    }
    if (result == 0 && asked_for_nothing(tracee))
        return;
    struct path *path = path_of_receive(meter, tracee, call->from);
    if (path == NULL)
        return;
    if (flags & MSG_OOB)
        doubt_both(meter, path);
    uint64_t room =
        (flags & MSG_TRUNC) && is_message(call->from) ? room_of_call(tracee) : UINT64_MAX;
    tell_receive(meter, tracee, path, least((uint64_t)result, room), 0);
    count_drops(meter, tracee, path);
}

/* ---- submitted together with others ---- */

void send_submitted(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                    uint32_t other_sends, uint32_t bytes)
{
    struct call *call = &tracee->call;

    call->to = object;
    call->other_sends = other_sends;
    struct path *path = path_to_address(meter, tracee, object, 0, 0);
    if (path != NULL && (bytes > 0 || is_message(object)))
        tell_send(meter, tracee, path, bytes);
    call->to = NULL;
}

void receive_submitted(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       uint32_t other_receives, uint32_t bytes)
{
    struct call *call = &tracee->call;

    call->from = object;
    call->other_receives = other_receives;
    struct path *path = is_datagram(object) ? path_from_anybody(meter, tracee, object)
                                            : path_of(meter, tracee, object, PIPE_READ);
    if (path != NULL)
        tell_receive(meter, tracee, path, bytes, 0);
    call->from = NULL;
}

/* ---- from one descriptor to another ---- */

/* Whether there is nothing to receive, as far as the calls that have ended show. */
static bool has_nothing(struct ptracemeter *meter, const struct path *path)
{
    const struct path *partner = path == NULL ? NULL : path_partner(meter, path);

    return partner == NULL || partner->out == path->in;
}

/* Records what the call waited for, if it did: data to receive, or else buffer space. */
static void tell_moves_wait(struct ptracemeter *meter, struct tracee *tracee,
                            const struct path *from, const struct path *to)
{
    if (tracee->call.told || !call_slept(tracee))
        return;
    if (from != NULL && (to == NULL || tracee->call.starved))
        call_tell_wait(meter, tracee, from->number, 0);
    else if (to != NULL)
        tell_waited(meter, tracee, to);
}

bool move_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;
    int from = (int)call->arguments[0], to = (int)call->arguments[2];
    bool looked_from = true, looked_to = true;

    switch (call->number) {
    case SYS_sendfile:
        from = (int)call->arguments[1];
        to = (int)call->arguments[0];
        break;
    case SYS_tee:
        to = (int)call->arguments[1];
        break;
    case SYS_vmsplice: /* the descriptor may be either end */
        to = descriptor_is_written(meter, tracee, from) ? from : -1;
        from = to >= 0 ? -1 : from;
        break;
    }
    if (from >= 0)
        looked_from = look_up(meter, tracee, (uint64_t)from, &call->from) && call->from != NULL;
    if (to >= 0)
        looked_to = look_up(meter, tracee, (uint64_t)to, &call->to) && call->to != NULL;
    if (from < 0 || !looked_from)
        call->from = NULL;
    if (to < 0 || !looked_to)
        call->to = NULL;
    if (call->from != NULL)
        call->starved = has_nothing(meter, path_of(meter, tracee, call->from, PIPE_READ));
    if (call->to != NULL)
        call->path = path_of_send(meter, tracee, call->to);
    enter_objects(call);
    return call->from != NULL || call->to != NULL;
}

void move_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct call *call = &tracee->call;
    struct path *to = call->path;
    struct path *from = call->from == NULL || call->number == SYS_tee
                            ? NULL
                            : path_of_receive(meter, tracee, call->from);
    bool tells_end = (call->number == SYS_splice && call->arguments[4] != 0) ||
                     (call->number == SYS_vmsplice && result == 0 && room_of_call(tracee) != 0);

    tell_moves_wait(meter, tracee,
                    call->from == NULL ? NULL : path_of_wait(meter, tracee, call->from), to);
    if (call->told && (call->number == SYS_tee || call_restarts(result)))
        tracee->waited = true;
    if (result < 0) {
        tracee->failed_receives += from != NULL && call_failed(result);
        tracee->failed_sends += to != NULL && call_failed(result);
        return;
    }
    if (from != NULL && (result > 0 || tells_end))
        tell_receive(meter, tracee, from, (uint32_t)result, 0);
    if (to != NULL && is_message(to->object))
        doubt_both(meter, to);
    if (to != NULL && result > 0)
        tell_send(meter, tracee, to, (uint32_t)result);
}
