/* SPDX-License-Identifier: MIT */
/* session.c: a kernel meter that dpmd has loaded. See session.h. */
#include "meter/session/session.h"

#include "meter/rings/ring_reader.h"
#include "meter/rings/selection_memory.h"
#include "meter/session/asking.h"
#include "meter/session/session_sockets.h"

#include "base/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_INTERVAL 100000000ULL /* ns: how often dpmd is asked for what it has counted */
#define LIVE_INTERVAL 5000000ULL /* ns: the same while the end of the last process is waited for */

struct session {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct ring_reader reader;
    struct asking asking;
    struct session_sockets sockets;
    struct session_reply seen; /* the last one with `look` */
    uint64_t looked;           /* when that was */
    char left_out[SESSION_TEXT_SIZE];
    bool detached;
};

static struct session *session_of(const struct meter_interface *interface)
{
    return (struct session *)(uintptr_t)interface;
}

/* ---- records that dpmd has made ---- */

/* Takes the name of a process's program file from /proc: dpmd may not read it. */
static void name_image(struct image_record *image, const struct record_header *after,
                       const char *end)
{
    const struct stream_record *stream = (const struct stream_record *)after;
    char name[PATH_MAX];

    if (image->name[0] != '\0' || (const char *)(stream + 1) > end ||
        stream->header.id != EVENT_STREAM || stream->image != image->image)
        return;
    process_program(stream_pid_here(stream), name, sizeof(name));
    memcpy(image->name, name, strnlen(name, sizeof(image->name)));
}

/* Adds the records in these bytes. Returns 0, or a negative errno. */
static int add_records(struct session *session, char *bytes, size_t size)
{
    const char *end = bytes + size;
    int result = 0;

    while (result == 0 && bytes < end) {
        struct record_header *record = (struct record_header *)bytes;
        size_t length = (size_t)(end - bytes) < sizeof(*record) ? 0 : event_size(record->id);
        if (length == 0 || length > (size_t)(end - bytes))
            return -EPROTO;
        bytes += length;
        if (record->id == EVENT_IMAGE)
            name_image((struct image_record *)record, (struct record_header *)bytes, end);
        result = ring_reader_add(&session->reader, record);
    }
    return result;
}

/* Asks, and adds the records of the answer. Returns a negative errno with a line in `problem`. */
static int ask_for_records(struct session *session, struct session_request *request, int descriptor,
                           struct session_reply *ret_reply, struct problem *problem)
{
    struct asked_file file = {0};
    int result = ask(&session->asking, request, descriptor, ret_reply, &file, problem);

    if (!session->asking.gone)
        session->interface.service_time = ret_reply->cpu;
    if (result >= 0) {
        int added = add_records(session, file.bytes, file.size);
        if (added < 0)
            result =
                problem_set(problem, added, "cannot take dpmd's records: %s", strerror(-added));
    }
    free(file.bytes);
    return result;
}

/* The same for an operation that tells what has been counted. */
static int ask_and_see(struct session *session, struct session_request *request,
                       struct problem *problem)
{
    struct session_reply reply;
    int result = ask_for_records(session, request, -1, &reply, problem);

    session->looked = clock_now(CLOCK_MONOTONIC);
    if (result >= 0)
        session->seen = reply;
    return result < 0 ? result : 0;
}

/* dpmd is gone: the rings get no more records, but what is in them can be read. */
static int is_gone(struct session *session)
{
    if (!session->asking.gone)
        return false;
    if (!session->detached)
        ring_reader_end(&session->reader);
    session->detached = true;
    session->seen.look.live = 0;
    return true;
}

/* ---- struct ring_extra ---- */

static int look_after(struct session *session, uint64_t interval)
{
    struct session_request request = {.operation = SESSION_LOOK,
                                      .records = ring_reader_made(&session->reader)};
    struct problem problem;

    if (session->detached || clock_now(CLOCK_MONOTONIC) - session->looked < interval)
        return 0;
    int result = ask_and_see(session, &request, &problem);
    return is_gone(session) ? 0 : result;
}

static int look(void *loader)
{
    return look_after(loader, LOOK_INTERVAL);
}

/* Tells dpmd of sockets whose end it has to look for. */
static int tell_sockets(struct session *session, struct problem *problem)
{
    struct session_request request = {.operation = SESSION_NOTE};
    struct session_reply reply;
    int result = 0;

    while (result >= 0 && session_sockets_take(&session->sockets, &request))
        result = ask(&session->asking, &request, -1, &reply, NULL, problem);
    return result;
}

static int note(void *loader, const struct record_header *record)
{
    return session_sockets_note(&((struct session *)loader)->sockets, record);
}

static int last_records(void *loader, uint64_t time, const uint64_t told_lost[RING_COUNT])
{
    struct session *session = loader;
    struct session_request request = {.operation = SESSION_LAST, .last = {.time = time}};
    struct problem problem;

    if (is_gone(session))
        return 0;
    memcpy(request.last.told_lost, told_lost, sizeof(request.last.told_lost));
    int result = ask_and_see(session, &request, &problem);
    return is_gone(session) ? 0 : result;
}

/* ---- struct meter_interface ---- */

static uint64_t lost(const struct meter_interface *interface, enum ring_id ring)
{
    const struct session *session = session_of(interface);

    return session->seen.look.lost[ring] + (ring == RING_DATA ? session->seen.look.skipped : 0);
}

static int next_record(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                       struct problem *problem)
{
    struct session *session = (struct session *)source;
    const struct meter_interface *interface = &session->interface;
    int result = ring_reader_next(&session->reader, ret_event, ret_complete, problem);

    ring_reader_describe(&session->reader, result, session->seen.look.skipped,
                         lost(interface, RING_CONTROL) + lost(interface, RING_DATA),
                         &session->interface.state);
    if (result == SOURCE_END && session->asking.gone)
        return problem_set(problem, -ECONNRESET, "dpmd has ended the session");
    return result;
}

static int descriptor_of(const struct source *source)
{
    return ring_reader_descriptor(&((const struct session *)source)->reader);
}

/* Asks something about a process; 0: about all. */
static int ask_of(struct session *session, struct session_request *request, pid_t pid,
                  struct session_reply *ret_reply, struct problem *problem)
{
    int descriptor = pid == 0 ? -1 : process_open(pid);

    request->of.all = pid == 0;
    if (pid != 0 && descriptor < 0)
        return problem_set(problem, descriptor, "cannot meter process %d: %s", pid,
                           strerror(-descriptor));
    int result = ask_for_records(session, request, descriptor, ret_reply, problem);
    if (descriptor >= 0)
        close(descriptor);
    return result;
}

static int mark(struct meter_interface *interface, pid_t pid, struct problem *problem)
{
    struct session_request request = {.operation = SESSION_MARK};
    struct session_reply reply;
    int result = ask_of(session_of(interface), &request, pid, &reply, problem);

    return result < 0 ? result : 0;
}

static int acquire(struct meter_interface *interface, pid_t pid, struct problem *problem)
{
    struct session_request request = {.operation = SESSION_ACQUIRE};
    struct session_reply reply = {0};
    int result = ask_of(session_of(interface), &request, pid, &reply, problem);

    interface->refused = reply.refused;
    return result == -ESRCH ? 0 : result; /* it has ended */
}

static int begin(struct meter_interface *interface, struct meter_begun *ret_begun,
                 struct problem *problem)
{
    struct session *session = session_of(interface);
    struct session_request request = {.operation = SESSION_BEGIN};
    struct session_reply reply;
    int result = ask_for_records(session, &request, -1, &reply, problem);

    if (result < 0)
        return result;
    *ret_begun = (struct meter_begun){reply.begin.processes, reply.begin.unsettled};
    return 0;
}

static int change(struct meter_interface *interface, pid_t pid, const struct meter_change *change,
                  struct problem *problem)
{
    struct session_request request = {.operation = SESSION_CHANGE,
                                      .of = {.flags_off = change->flags_off,
                                             .flags_on = change->flags_on,
                                             .kinds_off = change->kinds_off,
                                             .kinds_on = change->kinds_on,
                                             .leaves = change->leaves}};
    struct session_reply reply;

    session_of(interface)->looked = 0; /* fewer may be alive now */
    return ask_of(session_of(interface), &request, pid, &reply, problem);
}

static uint32_t live(const struct meter_interface *interface)
{
    struct session *session = session_of(interface);

    if (look_after(session, LIVE_INTERVAL) < 0)
        return 0;
    return session->seen.look.live;
}

static int list_processes(struct meter_interface *interface, struct meter_process **ret_list,
                          size_t *ret_count, struct problem *problem)
{
    struct session_request request = {.operation = SESSION_PROCESSES};
    struct session_reply reply;
    struct asked_file file = {0};
    int result = ask(&session_of(interface)->asking, &request, -1, &reply, &file, problem);

    if (result < 0) {
        free(file.bytes);
        return result;
    }
    *ret_list = (struct meter_process *)file.bytes;
    *ret_count = file.size / sizeof(**ret_list);
    return 0;
}

static int sweep(struct meter_interface *interface, struct problem *problem)
{
    struct session *session = session_of(interface);
    struct session_request request = {.operation = SESSION_SWEEP};

    if (is_gone(session))
        return 0;
    int result = tell_sockets(session, problem);
    if (result >= 0)
        result = ask_and_see(session, &request, problem);
    return is_gone(session) ? 0 : result;
}

static uint64_t look_until(const struct meter_interface *interface)
{
    return session_of(interface)->looked + LOOK_INTERVAL;
}

static uint32_t time_per_record(const struct meter_interface *interface)
{
    return session_of(interface)->seen.look.time_per_record;
}

static void detach(struct meter_interface *interface)
{
    struct session *session = session_of(interface);
    struct session_request request = {.operation = SESSION_DETACH};
    struct problem problem;

    if (session->detached || is_gone(session))
        return;
    ask_and_see(session, &request, &problem);
    ring_reader_end(&session->reader);
    session->detached = true;
}

static void report(const struct meter_interface *interface,
                   void (*line)(const char *sentence, void *context), void *context)
{
    struct session_request request = {.operation = SESSION_REPORT};
    struct session_reply reply;
    struct asked_file file = {0};
    struct problem problem;

    if (ask(&session_of(interface)->asking, &request, -1, &reply, &file, &problem) >= 0)
        for (size_t at = 0; at < file.size; at += strnlen(file.bytes + at, file.size - at) + 1)
            if (memchr(file.bytes + at, '\0', file.size - at) != NULL)
                line(file.bytes + at, context);
    free(file.bytes);
}

static void close_session(struct meter_interface *interface)
{
    struct session *session = session_of(interface);

    ring_reader_close(&session->reader);
    selection_unmap(session->interface.selection);
    session_sockets_done(&session->sockets);
    asking_done(&session->asking);
    free(session);
}

static const struct meter_interface session_meter = {
    .kind = METER_KERNEL,
    .descriptor = -1,
    .mark = mark,
    .acquire = acquire,
    .begin = begin,
    .change = change,
    .live = live,
    .processes = list_processes,
    .sweep = sweep,
    .look_until = look_until,
    .time_per_record = time_per_record,
    .lost = lost,
    .stop = detach,
    .detach = detach,
    .report = report,
    .close = close_session,
};

/* Takes the rings that dpmd has sent, with their sizes, and the memory of rules. An older dpmd sends none, and the recorder
 * selects alone. */
static int open_rings(struct session *session, const struct session_reply *reply,
                      struct asked_file *file, struct problem *problem)
{
    int result = file->ring_count >= RING_COUNT ? 0 : -EPROTO;

    for (size_t i = 0; i < file->ring_count; i++) {
        if (result == 0 && i == RING_COUNT)
            result = selection_map(file->rings[i], &session->interface.selection);
        else if (result == 0)
            result = ring_reader_open(&session->reader, (enum ring_id)i, file->rings[i],
                                      reply->open.sizes[i]);
        if (result == 0 && i < RING_COUNT)
            result = ring_reader_watch(&session->reader, file->rings[i]);
        close(file->rings[i]); /* the mapping keeps the ring open, and so watched */
    }
    return result == 0 ? 0
                       : problem_set(problem, result, "cannot map the rings of dpmd's meter: %s",
                                     strerror(-result));
}

const char *session_socket(void)
{
    const char *asked = getenv("DPM_SOCKET");

    return asked != NULL && asked[0] != '\0' ? asked : SESSION_SOCKET;
}

bool session_is_offered(void)
{
    return access(session_socket(), W_OK) == 0;
}

int session_open(const struct session_options *options, struct meter_interface **ret_meter,
                 struct problem *problem)
{
    struct session *session = calloc(1, sizeof(*session));
    struct session_request request = {.operation = SESSION_OPEN,
                                      .open = {.flags = options->flags,
                                               .later_flags = options->later_flags,
                                               .kinds = options->kinds,
                                               .later_kinds = options->later_kinds,
                                               .ring_size = options->ring_size,
                                               .selects = options->selects}};
    struct session_reply reply;
    struct asked_file file = {0};

    if (session == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    session->interface = session_meter;
    session->interface.source =
        (struct source){next_record, 1, &session->interface.state, descriptor_of};
    session->reader.extra = (struct ring_extra){session, look, note, last_records};
    int result = asking_open(&session->asking, session_socket(), problem);
    if (result >= 0)
        result = ask(&session->asking, &request, -1, &reply, &file, problem);
    if (result >= 0)
        result = open_rings(session, &reply, &file, problem);
    if (result < 0) {
        close_session(&session->interface);
        return result;
    }
    session->interface.service_time = reply.cpu;
    session->interface.kinds = reply.open.kinds;
    session->interface.later_kinds = reply.open.later_kinds;
    session->interface.unknown_flags = reply.open.unknown_flags;
    memcpy(session->left_out, reply.text, sizeof(session->left_out));
    session->interface.left_out = session->left_out[0] == '\0' ? NULL : session->left_out;
    *ret_meter = &session->interface;
    return 0;
}
