/* SPDX-License-Identifier: MIT */
/*
 * serve.c: one session: a peer's requests, and the meter that they are about. See serve.h, session_protocol.h.
 *
 * The meter's functions do the work. What they add to its records goes to the peer with the reply.
 */
#include "dpmd/serve.h"

#include "dpmd/held_rings.h"
#include "dpmd/request.h"

#include "base/passing.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPEN_PATIENCE 10000 /* ms: a peer that asks for nothing holds no session for longer */

struct service {
    int connection;
    const struct peer *peer;
    uint32_t ring_most;
    enum session_state state;
    struct meter_interface *meter; /* NULL: not open */
    uint64_t records;              /* that the peer has taken */
    FILE *file;                    /* in memory, for the peer; NULL: none has been needed yet */
    struct held_rings rings;
};

/* What a request needs, and what it leads to. */
struct exchange {
    struct service *service;
    const struct session_request *request;
    int descriptor; /* that came with it; negative: none */
    struct session_reply reply;
    struct problem problem;
};

/*
 * ---- the file that goes with a reply ----
 *
 * A session has one, written anew for each reply, so that a peer which keeps all that it gets keeps one. The peer may
 * write to it, too: that spoils its own replies only.
 */

static int file_begin(struct service *service)
{
    if (service->file == NULL) {
        int descriptor = memfd_create("dpm", MFD_CLOEXEC);
        service->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    }
    if (service->file == NULL)
        return -ENOMEM;
    rewind(service->file);
    return ftruncate(fileno(service->file), 0) < 0 ? -errno : 0;
}

static int file_write(struct exchange *exchange, const void *bytes, size_t size)
{
    struct service *service = exchange->service;

    if (exchange->reply.bytes == 0 && file_begin(service) < 0)
        return -ENOMEM;
    if (fwrite(bytes, 1, size, service->file) != size)
        return -ENOMEM;
    exchange->reply.bytes += size;
    return 0;
}

/* What the meter has added to its records. */
static int write_added(struct service *service, struct exchange *exchange)
{
    struct record_queue *added = meter_added(service->meter);
    const struct record_header *record;
    int result = 0;

    while (result == 0 && (record = record_queue_peek(added)) != NULL) {
        result = file_write(exchange, record, event_size(record->id));
        record_queue_take(added);
    }
    return result;
}

/* ---- the operations: each returns a result for the peer, and fills in the reply ---- */

/* Not asked for, the ring has its default size, or as much of it as the user may have. */
static uint32_t ring_size(const struct service *service, uint32_t asked)
{
    uint32_t sizes[RING_COUNT];

    meter_ring_sizes(asked, sizes);
    if (asked == 0)
        while (sizes[RING_DATA] > service->ring_most)
            sizes[RING_DATA] /= 2;
    return sizes[RING_DATA];
}

static int serve_open(struct service *service, struct exchange *exchange)
{
    const struct session_request *request = exchange->request;
    const struct meter_options options = {
        .flags = request->open.flags,
        .later_flags = request->open.later_flags,
        .kinds = request->open.kinds,
        .later_kinds = request->open.later_kinds,
        .ring_size = ring_size(service, request->open.ring_size),
        .selects = request->open.selects != 0,
        .served = true,
        .user = service->peer->everybody ? NULL : &service->peer->user,
    };
    int result = meter_open(&options, &service->meter, &exchange->problem);

    if (result < 0)
        return result;
    service->state = SESSION_OPENED;
    meter_note_own(service->meter, service->peer->pid);
    for (size_t i = 0; result >= 0 && i < RING_COUNT; i++)
        result = held_rings_add(&service->rings, meter_ring(service->meter, (enum ring_id)i,
                                                            &exchange->reply.open.sizes[i]));
    if (result >= 0 && options.selects)
        result = held_rings_add(&service->rings, meter_selection(service->meter));
    if (result < 0)
        return problem_set(&exchange->problem, result, "dpmd cannot watch the rings: %s",
                           strerror(-result));
    exchange->reply.open.kinds = service->meter->kinds;
    exchange->reply.open.later_kinds = service->meter->later_kinds;
    exchange->reply.open.unknown_flags = service->meter->unknown_flags;
    if (service->meter->left_out != NULL)
        snprintf(exchange->reply.text, sizeof(exchange->reply.text), "%s",
                 service->meter->left_out);
    return 0;
}

/* The process that the request is about; 0: everything. */
static pid_t process_of(struct exchange *exchange)
{
    pid_t pid = exchange->descriptor < 0 ? 0 : peer_process(exchange->descriptor);

    if (pid < 0)
        problem_set(&exchange->problem, pid,
                    pid == -ESRCH ? "the process has ended" : "the descriptor is no pidfd");
    return pid;
}

static int serve_mark(struct service *service, struct exchange *exchange)
{
    pid_t pid = process_of(exchange);

    return pid < 0 ? pid : service->meter->mark(service->meter, pid, &exchange->problem);
}

static int serve_acquire(struct service *service, struct exchange *exchange)
{
    pid_t pid = process_of(exchange);

    if (pid < 0)
        return pid;
    if (pid == 0 && service->peer->elsewhere)
        return problem_set(&exchange->problem, -EPERM,
                           "in a container (a PID namespace) you cannot meter all your processes, "
                           "for those outside would be among them: name them");
    int result = service->meter->acquire(service->meter, pid, &exchange->problem);
    exchange->reply.refused = service->meter->refused;
    return result;
}

static int serve_change(struct service *service, struct exchange *exchange)
{
    const struct session_request *request = exchange->request;
    const struct meter_change change = {
        .flags_off = request->of.flags_off,
        .flags_on = request->of.flags_on,
        .kinds_off = request->of.kinds_off,
        .kinds_on = request->of.kinds_on,
        .leaves = request->of.leaves != 0,
    };
    pid_t pid = process_of(exchange);

    return pid < 0 ? pid : service->meter->change(service->meter, pid, &change, &exchange->problem);
}

static int serve_begin(struct service *service, struct exchange *exchange)
{
    struct meter_begun begun = {0};
    int result = service->meter->begin(service->meter, &begun, &exchange->problem);

    exchange->reply.begin.processes = begun.processes;
    exchange->reply.begin.unsettled = begun.unsettled;
    return result;
}

static void tell_counts(struct service *service, struct session_reply *reply)
{
    const struct meter_interface *meter = service->meter;

    reply->look.skipped = meter_skipped(meter);
    for (size_t i = 0; i < RING_COUNT; i++)
        reply->look.lost[i] = meter->lost(meter, (enum ring_id)i);
    reply->look.lost[RING_DATA] -= reply->look.skipped;
    reply->look.live = meter->live(meter);
    reply->look.time_per_record = meter_time_per_each(meter, service->records);
}

static int serve_look(struct service *service, struct exchange *exchange)
{
    service->records = exchange->request->records;
    int result = meter_look(service->meter);
    tell_counts(service, &exchange->reply);
    return result;
}

static int serve_note(struct service *service, struct exchange *exchange)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < exchange->request->note.count; i++) {
        const struct session_socket *socket = &exchange->request->note.sockets[i];
        const struct path_record path = {
            .header = {.id = EVENT_PATH},
            .path = socket->path,
            .family = AF_UNIX,
            .kind = socket->datagram ? PATH_UNIX_DATAGRAM : PATH_UNIX_STREAM,
            .network = socket->network,
            .cookie = socket->cookie,
            .peer = socket->peer,
            .inode = socket->inode,
        };
        const struct record end = {.header = {.id = EVENT_DESTROYPATH},
                                   .message = {.path = socket->path}};
        result = meter_note(service->meter, socket->ended ? &end.header : &path.header);
    }
    return result;
}

static int serve_sweep(struct service *service, struct exchange *exchange)
{
    int result = service->meter->sweep(service->meter, &exchange->problem);

    tell_counts(service, &exchange->reply);
    return result;
}

static int serve_processes(struct service *service, struct exchange *exchange)
{
    struct meter_process *list = NULL;
    size_t count = 0;
    int result = service->meter->processes(service->meter, &list, &count, &exchange->problem);

    if (result >= 0 && count > 0)
        result = file_write(exchange, list, count * sizeof(*list));
    free(list);
    return result;
}

static void write_sentence(const char *sentence, void *context)
{
    file_write(context, sentence, strlen(sentence) + 1);
}

static int serve_report(struct service *service, struct exchange *exchange)
{
    service->meter->report(service->meter, write_sentence, exchange);
    return 0;
}

static int serve_detach(struct service *service, struct exchange *exchange)
{
    service->meter->detach(service->meter);
    service->state = SESSION_DETACHED;
    /* after it: nothing is skipped any more, and a look is not put off */
    int result = meter_look(service->meter);
    tell_counts(service, &exchange->reply);
    return result;
}

static int serve_last(struct service *service, struct exchange *exchange)
{
    const struct session_request *request = exchange->request;
    int result = meter_last_records(service->meter, request->last.time, request->last.told_lost);

    tell_counts(service, &exchange->reply);
    return result;
}

static int (*const operations[SESSION_OPERATIONS])(struct service *, struct exchange *) = {
    [SESSION_OPEN] = serve_open,           [SESSION_MARK] = serve_mark,
    [SESSION_ACQUIRE] = serve_acquire,     [SESSION_CHANGE] = serve_change,
    [SESSION_BEGIN] = serve_begin,         [SESSION_LOOK] = serve_look,
    [SESSION_NOTE] = serve_note,           [SESSION_SWEEP] = serve_sweep,
    [SESSION_PROCESSES] = serve_processes, [SESSION_REPORT] = serve_report,
    [SESSION_DETACH] = serve_detach,       [SESSION_LAST] = serve_last,
};

/* ---- requests and replies ---- */

/* Sends the reply with what belongs to it. Returns 0 or a negative errno. */
static int reply(struct service *service, struct exchange *exchange)
{
    int descriptors[SESSION_DESCRIPTORS_MOST];
    size_t count = 0;
    uint32_t size;

    if (exchange->reply.bytes > 0 && fflush(service->file) == 0) {
        descriptors[count++] = fileno(service->file);
    } else if (exchange->request->operation == SESSION_OPEN && exchange->reply.result >= 0) {
        for (; count < RING_COUNT; count++)
            descriptors[count] = meter_ring(service->meter, (enum ring_id)count, &size);
        if (meter_selection(service->meter) >= 0)
            descriptors[count++] = meter_selection(service->meter);
    }
    exchange->reply.version = SESSION_VERSION;
    exchange->reply.cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    return passing_send(service->connection, &exchange->reply, sizeof(exchange->reply), descriptors,
                        count);
}

static void carry_out(struct service *service, struct exchange *exchange)
{
    uint32_t operation = exchange->request->operation;
    int result = operations[operation](service, exchange);

    if (result >= 0 && operation != SESSION_PROCESSES && operation != SESSION_REPORT) {
        int written = write_added(service, exchange);
        result = written < 0 ? written : result;
    }
    exchange->reply.result = result;
    if (result < 0)
        snprintf(exchange->reply.text, sizeof(exchange->reply.text), "%s",
                 exchange->problem.text[0] != '\0' ? exchange->problem.text : strerror(-result));
}

/* Handles one message. Returns whether the session goes on. */
static bool exchange_once(struct service *service)
{
    struct session_request request;
    struct exchange exchange = {.service = service, .request = &request, .descriptor = -1};
    size_t descriptors = 1;
    ssize_t got = passing_receive(service->connection, &request, sizeof(request),
                                  &exchange.descriptor, &descriptors);

    if (got == 0 || (got < 0 && got != -EMSGSIZE))
        return false;
    int checked = got < 0 ? problem_set(&exchange.problem, -EPROTO, "not a request")
                          : request_check(&request, (size_t)got, descriptors, service->state,
                                          service->ring_most, &exchange.problem);
    if (checked < 0) {
        exchange.reply.result = checked;
        snprintf(exchange.reply.text, sizeof(exchange.reply.text), "%s", exchange.problem.text);
        request.operation = 0;
    } else {
        carry_out(service, &exchange);
    }
    bool sent = reply(service, &exchange) == 0;
    passing_close(&exchange.descriptor, descriptors);
    /* who sends anything else than requests is not served any longer; nor is who was refused a meter */
    return sent && checked != -EPROTO && service->meter != NULL;
}

/* Measures the hooks, if it is time. Returns for how many ms to wait until it is again. */
static int measure(struct service *service)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    return service->state == SESSION_OPENED
               ? poll_timeout(service->meter->measure(service->meter, now), now)
               : OPEN_PATIENCE;
}

/* Waits for a request; measures the hooks meanwhile. Returns whether there is one. */
static bool wait_for_request(struct service *service)
{
    struct pollfd file = {.fd = service->connection, .events = POLLIN};
    int ready = 0;

    while (ready == 0) {
        ready = poll(&file, 1, measure(service));
        if (ready == 0 && service->state == SESSION_NEW)
            return false;
    }
    return ready > 0;
}

void serve(int connection, const struct peer *peer, uint32_t ring_most)
{
    struct service service = {
        .connection = connection, .peer = peer, .ring_most = ring_most, .rings = HELD_RINGS_NONE};

    while (wait_for_request(&service) && exchange_once(&service))
        ;
    meter_interface_close(service.meter);
    if (service.file != NULL)
        fclose(service.file);
    close(connection);
    held_rings_wait(&service.rings);
}
