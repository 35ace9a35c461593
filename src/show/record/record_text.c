/* SPDX-License-Identifier: MIT */
/*
 * record_text.c: a record as a line of text.
 *
 *      2026-01-31 12:00:00.123456  server[120/124]  3  SEND  4 tcp 127.0.0.1:80 > ...  10 bytes ...
 *      time, local zone            process, thread  stream   path: number, kind, both ends
 */
#include "meter/shared/message.h"
#include "show/record/record_face.h"
#include "show/text/system_call.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#define STREAM_TEXT_SIZE (STREAM_NAME_SIZE + MACHINE_NAME_SIZE + 40)

static size_t add_machine(const struct record_face *face, uint32_t origin, size_t length,
                          char text[STREAM_TEXT_SIZE])
{
    const struct machine_record *machine = identities_machine(face->identities, origin);

    if (!face->machines || machine == NULL)
        return length;
    text[length++] = '@';
    show_text(machine->name, sizeof(machine->name), text + length);
    return strlen(text);
}

/* "name[pid]"; for a thread other than the first "name[pid/tid]"; if it is not known "stream 3". */
static void stream_text(const struct record_face *face, uint32_t origin, uint32_t number,
                        char text[STREAM_TEXT_SIZE])
{
    const struct stream_record *stream = identities_stream(face->identities, origin, number);
    size_t length;

    if (stream == NULL) {
        length = (size_t)snprintf(text, STREAM_TEXT_SIZE, "stream %" PRIu32, number);
    } else {
        show_text(stream->name, sizeof(stream->name), text);
        length = strlen(text);
        char *end = text + length;
        if (stream->pid == stream->tid)
            length += (size_t)snprintf(end, 32, "[%" PRIu32 "]", stream->pid);
        else
            length +=
                (size_t)snprintf(end, 32, "[%" PRIu32 "/%" PRIu32 "]", stream->pid, stream->tid);
    }
    add_machine(face, origin, length, text);
}

static void print_path(const struct record_face *face, const struct path_record *path,
                       uint32_t number)
{
    char address[ENDPOINT_SIZE];
    char local[ENDPOINT_SIZE + 1];
    char remote[ENDPOINT_SIZE + 1];

    if (path == NULL) {
        fprintf(face->file, "%" PRIu32 " unknown", number);
        return;
    }
    endpoint_local(path, address);
    show_text(address, sizeof(address), local);
    if (path->kind == PATH_FILE) {
        fprintf(face->file, "%" PRIu32 " file %s", number, local);
        return;
    }
    endpoint_remote(path, address);
    show_text(address, sizeof(address), remote);
    fprintf(face->file, "%" PRIu32 " %s %s > %s", number, path_kind_name(path->kind), local,
            remote);
}

/* The end of a file's path, which has counts of its own. */
static bool is_end_of_file(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct path_record *path =
        identities_path(face->identities, event->origin, record->message.path);

    return record->header.id == EVENT_DESTROYPATH && path != NULL && path->kind == PATH_FILE;
}

/* A call that waits for several, or for one until some time. */
static void print_any(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    char call[UNIT_SIZE], limit[UNIT_SIZE];

    system_call_text(any_call(record), call);
    if (record->any.only_path == 0)
        fputs("any of several paths", face->file);
    else
        print_path(face, identities_path(face->identities, event->origin, record->any.only_path),
                   record->any.only_path);
    if (any_call(record) != NO_SYSTEM_CALL)
        fprintf(face->file, ", in %s", call);
    if (any_limit(record) == 0 || any_limit(record) == UINT64_MAX)
        return;
    show_duration(any_limit(record), limit);
    fprintf(face->file, " for at most %s", limit);
}

static void print_message(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (record->header.id == EVENT_RECEIVECALL && record->message.path == 0) {
        print_any(face, event);
        return;
    }
    print_path(face, identities_path(face->identities, event->origin, record->message.path),
               record->message.path);
    if (is_end_of_file(face, event)) {
        char opened[COUNTED_SIZE], closed[COUNTED_SIZE];
        show_counted(record->message.offset, "time", opened);
        show_counted(record->message.bytes, "time", closed);
        fprintf(face->file, "  opened %s, closed %s", opened, closed);
        return;
    }
    if (record->header.id == EVENT_WRITE && (record->header.flags & RECORD_TRUNCATED)) {
        fprintf(face->file, "  has %" PRIu32 " bytes now", record->message.offset);
        return;
    }
    fprintf(face->file, "  %" PRIu32 " bytes, offset %" PRIu32, record->message.bytes,
            record->message.offset);
    if (record->header.id == EVENT_MESSAGEQUEUED)
        fprintf(face->file, ", %" PRIu32 " in the queue", record->queued.queue);
    if (record->header.id == EVENT_READ || record->header.id == EVENT_WRITE) {
        char duration[UNIT_SIZE];
        show_duration(message_span(record), duration);
        fprintf(face->file, ", in %s", duration);
    }
}

/* What a call waited for. */
static void print_object(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const char *name;
    enum wait_object kind =
        identities_object(face->identities, event->origin, record->block.object, &name);
    char text[OBJECT_TEXT_SIZE];

    object_text(kind, name, text);
    if (text[0] != '\0')
        fprintf(face->file, " %s %s", kind == WAIT_ON_OPENED ? "of" : "on", text);
}

static void print_block(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    uint64_t no_cpu = face->no_cpu.of_block;
    char duration[UNIT_SIZE], call[UNIT_SIZE];

    show_duration(record->block.duration - no_cpu, duration);
    system_call_text(record->block.system_call, call);
    fprintf(face->file, "asleep %s in %s", duration, call);
    print_object(face, event);
    if (no_cpu > 0) {
        show_duration(no_cpu, duration);
        fprintf(face->file, ", then %s without a CPU", duration);
    }
    if (block_is_of_mpi(record)) {
        show_duration(block_spun(record), duration);
        fprintf(face->file, ", of which it spun %s of CPU time", duration);
    } else {
        fprintf(face->file, ", task state 0x%" PRIx32, record->block.state);
    }
}

static void print_create(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    char child[STREAM_TEXT_SIZE];

    stream_text(face, event->origin, record->create.child, child);
    fprintf(face->file, "%s %s", record->create.thread ? "thread" : "process", child);
}

static void print_wakeup(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    char text[STREAM_TEXT_SIZE];

    if (record->wakeup.woken == 0) {
        fprintf(face->file, "collective call %" PRIu32 " of communicator %08" PRIx32,
                record->wakeup.call, record->wakeup.communicator & ~(uint32_t)COLLECTIVE_PART_MASK);
        return;
    }
    stream_text(face, event->origin, record->wakeup.woken, text);
    fputs(text, face->file);
    if (!(record->header.flags & RECORD_NO_STREAM))
        return;
    stream_text(face, event->origin, record->wakeup.waker, text);
    fprintf(face->file, " by the end of %s", text);
}

static void print_exec(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct image_record *image =
        identities_image(face->identities, event->origin, record->exec.image);
    char name[IMAGE_NAME_SIZE + 1];

    if (record->exec.left) {
        fputs("gains privilege, and is no longer metered", face->file);
        return;
    }
    if (image == NULL) {
        fprintf(face->file, "image %" PRIu32, record->exec.image);
        return;
    }
    show_text(image->name, sizeof(image->name), name);
    fputs(name, face->file);
}

static void print_termination(const struct record_face *face, const struct record *record)
{
    int status = (int)record->termination.status;
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;

    if (WIFEXITED(status))
        fprintf(face->file, "exit %d", WEXITSTATUS(status));
    else if (name != NULL)
        fprintf(face->file, "killed by SIG%s", name);
    else
        fprintf(face->file, "status 0x%x", status);
    if (record->termination.last)
        fputs(", the process has ended", face->file);
    if (record->termination.failed_sends != 0)
        fprintf(face->file, ", failed sends: %" PRIu32, record->termination.failed_sends);
    if (record->termination.failed_receives != 0)
        fprintf(face->file, ", failed receives: %" PRIu32, record->termination.failed_receives);
}

static void print_lost(const struct record_face *face, const struct record *record)
{
    if (record->header.id == EVENT_LOST && record->lost.reason == LOST_SKIPPED)
        fputs("up to ", face->file);
    fprintf(face->file, "%" PRIu32 " record%s", record->lost.count,
            record->lost.count == 1 ? "" : "s");
    if (record->header.id == EVENT_DISCARDED) {
        fputs(" removed by selection", face->file);
        return;
    }
    fprintf(face->file, " of the %s ring",
            record->lost.ring == RING_CONTROL ? "control"
            : record->lost.ring == RING_DATA  ? "data"
                                              : "unknown");
    if (record->lost.reason == LOST_RING_FULL)
        fputs(": it was full", face->file);
    else if (record->lost.reason == LOST_SKIPPED)
        fputs(": the kernel skipped hooks that were already running on that processor", face->file);
    else if (record->lost.reason == LOST_NO_PATH)
        fputs(": no memory for connections or files", face->file);
    else
        fprintf(face->file, ": reason %" PRIu32, record->lost.reason);
}

/* Prints a name, or the number if there is none. */
static void print_named(const struct record_face *face, const char *what, const char *name,
                        uint64_t number)
{
    char text[NAME_SIZE + 1];

    if (name == NULL) {
        fprintf(face->file, ", %s %" PRIu64, what, number);
        return;
    }
    show_text(name, NAME_SIZE, text);
    fprintf(face->file, ", %s %s", what, text);
}

static void print_stream(const struct record_face *face, const struct event *event)
{
    const struct stream_record *stream = (const struct stream_record *)event->header;

    fprintf(face->file, "process %" PRIu32 ", parent stream %" PRIu32, stream->process,
            stream->parent);
    print_named(face, "user", identities_user_name(face->identities, event->origin, stream->user),
                stream->user);
    if (stream->cgroup != 0)
        print_named(face, "cgroup",
                    identities_cgroup_name(face->identities, event->origin, stream->cgroup),
                    stream->cgroup);
    if (stream->pid_inside != stream->pid && stream->pid_namespace != INITIAL_PID_NAMESPACE)
        fprintf(face->file, ", pid inside %" PRIu32 " in PID namespace %" PRIu32,
                stream->pid_inside, stream->pid_namespace);
}

static void print_path_identity(const struct record_face *face, const struct path_record *path)
{
    static const char *const roles[] = {
        [PATH_ROLE_CONNECTED] = ", connected", [PATH_ROLE_ACCEPTED] = ", accepted",
        [PATH_ROLE_WRITES] = ", written to",   [PATH_ROLE_READS] = ", read",
        [PATH_ROLE_LISTENS] = ", listens",
    };

    print_path(face, path, path->path);
    if (path->role < ARRAY_SIZE(roles) && roles[path->role] != NULL)
        fputs(roles[path->role], face->file);
    fprintf(face->file, ", inode %" PRIu64 ", cookie %" PRIu64, path->inode, path->cookie);
    if (path->peer != 0)
        fprintf(face->file, ", peer %" PRIu64, path->peer);
}

static void print_image(const struct record_face *face, const struct image_record *image)
{
    char name[IMAGE_NAME_SIZE + 1];

    show_text(image->name, sizeof(image->name), name);
    fprintf(face->file, "%" PRIu32 " %s, inode %" PRIu64, image->image, name, image->inode);
}

static void print_module(const struct record_face *face, const struct module_record *module)
{
    char name[MODULE_NAME_SIZE + 1];

    show_text(module->name, sizeof(module->name), name);
    fprintf(face->file, "%" PRIu32 " %s, inode %" PRIu64, module->module, name, module->inode);
}

static void print_procedure(const struct record_face *face,
                            const struct procedure_record *procedure)
{
    char name[PROCEDURE_NAME_SIZE + 1];

    show_text(procedure->name, sizeof(procedure->name), name);
    fprintf(face->file, "module %" PRIu32 ", address 0x%" PRIx64 ": %s+0x%" PRIx64,
            procedure->module, procedure->address, name, procedure->offset);
}

static void print_name(const struct record_face *face, const struct name_record *record)
{
    char name[NAME_SIZE + 1];

    show_text(record->name, sizeof(record->name), name);
    if (record->kind == NAME_UNMETERED) {
        fprintf(face->file, "%s%s in use, and not metered", name,
                record->number == UNMETERED_PROCESS_VM ? " is" : " sockets are");
        return;
    }
    if (record->kind == NAME_SHARED) {
        fprintf(face->file, "process %" PRIu32 " shares memory %" PRIu64 ", %s",
                (uint32_t)record->number, record->number >> 32, name);
        return;
    }
    fprintf(face->file, "%s %" PRIu64 " is %s",
            record->kind == NAME_USER      ? "user"
            : record->kind == NAME_CGROUP  ? "cgroup"
            : record->kind == NAME_COMMAND ? "command of process"
            : record->kind == NAME_RULE    ? "rule"
            : record->kind == NAME_OBJECT  ? "object"
                                           : "number",
            record->number, name);
}

static void print_machine(const struct record_face *face, const struct machine_record *machine)
{
    char name[MACHINE_NAME_SIZE + 1];
    char system[MACHINE_NAME_SIZE + 1];
    char addresses[MACHINE_ADDRESSES_SIZE + 1];

    show_text(machine->name, sizeof(machine->name), name);
    show_text(machine->system, sizeof(machine->system), system);
    show_text(machine->addresses, sizeof(machine->addresses), addresses);
    fprintf(face->file, "%s, %s, %s", name, system, addresses);
}

static void print_end(const struct record_face *face, const struct end_record *end)
{
    static const char *const reasons[] = {
        [END_COMPLETE] = "complete",
        [END_SIZE] = "the trace reached its largest size",
        [END_DISK] = "the trace could not be written",
        [END_REPAIRED] = "closed by repair",
        [END_METER] = "the meter or DPM itself failed, or dpmd ended the session",
    };
    const char *reason = end->reason < ARRAY_SIZE(reasons) ? reasons[end->reason] : NULL;

    fprintf(face->file, "%" PRIu64 " records, %" PRIu64 " lost, %s", end->records, end->lost,
            reason == NULL ? "reason unknown" : reason);
}

static void print_begin(const struct record_face *face, const struct begin_record *begin)
{
    char text[UNIT_SIZE];

    show_duration(begin->header.time > begin->began ? begin->header.time - begin->began : 0, text);
    fprintf(face->file, "%" PRIu64 " records before, of %s; %" PRIu32 " identities again",
            begin->records, text, begin->repeated);
}

static void print_dropped(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    print_path(face, identities_path(face->identities, event->origin, record->dropped.path),
               record->dropped.path);
    fprintf(face->file, "  %" PRIu32 " datagrams so far", record->dropped.count);
    if (record->dropped.refused != 0)
        fprintf(face->file, ", and %" PRIu32 " refused", record->dropped.refused);
}

static void print_network(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    char text[UNIT_SIZE];

    print_path(face, identities_path(face->identities, event->origin, record->network.path),
               record->network.path);
    show_duration(record->network.round_trip * 1000ULL, text);
    fprintf(face->file, "  round trip %s, %" PRIu32 " retransmitted", text,
            record->network.retransmitted);
    show_bytes(record->network.unacknowledged, text);
    fprintf(face->file, ", %s unacknowledged", text);
}

static void print_cost(const struct record_face *face, const struct record *record)
{
    char cpu[UNIT_SIZE];
    char hook[UNIT_SIZE];

    show_duration(record->cost.cpu, cpu);
    show_duration(record->cost.hook, hook);
    fprintf(face->file, "%s of CPU time, %" PRIu32 " wakeups, %s for each record", cpu,
            record->cost.wakeups, record->cost.hook == 0 ? "not known how much" : hook);
}

static void print_schedule(const struct record_face *face, const struct record *record)
{
    char runnable[UNIT_SIZE];

    show_duration(record->schedule.runnable, runnable);
    fprintf(face->file,
            "waited %s for a CPU so far, gave it up %" PRIu32 " times, was preempted %" PRIu32
            " times",
            runnable, record->schedule.voluntary, record->schedule.involuntary);
}

static void print_signal(const struct record_face *face, const struct event *event)
{
    static const char *const results[] = {"", ", ignored", ", already pending", ", lost"};
    const struct record *record = (const struct record *)event->header;
    const char *name = sigabbrev_np(record->signal.number);
    char receiver[STREAM_TEXT_SIZE];

    if (name != NULL)
        fprintf(face->file, "SIG%s to ", name);
    else
        fprintf(face->file, "signal %u to ", record->signal.number);
    stream_text(face, event->origin, record->signal.receiver, receiver);
    if (record->signal.receiver != 0)
        fputs(receiver, face->file);
    else
        fprintf(face->file, "pid %" PRIu32, record->signal.receiver_pid);
    if (record->signal.sender_pid == 0)
        fputs(" by the kernel", face->file);
    else if (record->signal.sender_pid == SENDER_UNKNOWN)
        fputs(" by an unknown process", face->file);
    else if (record->header.flags & RECORD_NO_STREAM)
        fprintf(face->file, " by pid %" PRIu32, record->signal.sender_pid);
    if (record->signal.number == SIGCONT && record->signal.result == SIGNAL_IGNORED)
        return; /* the process continues all the same */
    fputs(record->signal.result < ARRAY_SIZE(results) ? results[record->signal.result]
                                                      : ", result unknown",
          face->file);
}

static void print_sensor(FILE *file, const struct record *record)
{
    const char *name = event_sensor_name(record->sensor.sensor);

    if (name != NULL)
        fputs(name, file);
    else
        fprintf(file, "sensor %" PRIu32 ": %" PRIu64, record->sensor.sensor, record->sensor.value);
}

static void print_failed(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    char span[UNIT_SIZE];

    print_path(face, identities_path(face->identities, event->origin, record->failed.path),
               record->failed.path);
    if (record->failed.error == 0)
        fprintf(face->file, "  Error unknown");
    else
        fprintf(face->file, "  %s", strerror((int)(record->failed.error & 0xfff)));
    show_duration(message_span(record), span);
    if (message_span(record) > 0)
        fprintf(face->file, " after %s", span);
}

/* Types that came with format 3. Returns false for others. */
static bool print_newer_body(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    switch (event->header->id) {
    case EVENT_FLAGS:
        print_meter_flags(face->file, (const struct flags_record *)event->header);
        return true;
    case EVENT_SCHEDULE:
        print_schedule(face, record);
        return true;
    case EVENT_SIGNAL:
        print_signal(face, event);
        return true;
    case EVENT_CONNECTFAILED:
        print_failed(face, event);
        return true;
    case EVENT_SUMMARY:
        print_summary(face->file, (const struct summary_record *)event->header);
        return true;
    case EVENT_CGROUP:
        print_cgroup(face->file, (const struct cgroup_record *)event->header,
                     identities_cgroup_name(face->identities, event->origin,
                                            ((const struct cgroup_record *)event->header)->cgroup));
        return true;
    case EVENT_DECISION:
        print_decision(face->file, (const struct decision_record *)event->header);
        return true;
    case EVENT_SENSOR:
        print_sensor(face->file, record);
        return true;
    case EVENT_CLASS:
        print_class(face->file, record);
        return true;
    default:
        return false;
    }
}

static void print_body(const struct record_face *face, const struct event *event)
{
    const struct record_header *header = event->header;
    const struct record *record = (const struct record *)header;

    if (event->absent >> 8 != 0) {
        print_without(face->file, event);
        return;
    }
    if (print_newer_body(face, event))
        return;
    switch (header->id) {
    case EVENT_BLOCK:
        print_block(face, event);
        break;
    case EVENT_CREATEPROCESS:
        print_create(face, event);
        break;
    case EVENT_WAKEUP:
        print_wakeup(face, event);
        break;
    case EVENT_EXEC:
        print_exec(face, event);
        break;
    case EVENT_STARTPROCESS:
    case EVENT_STOPPROCESS:
        break;
    case EVENT_TERMINATION:
        print_termination(face, record);
        break;
    case EVENT_LOST:
    case EVENT_DISCARDED:
        print_lost(face, record);
        break;
    case EVENT_DROPPED:
        print_dropped(face, event);
        break;
    case EVENT_NETWORK:
        print_network(face, event);
        break;
    case EVENT_COST:
        print_cost(face, record);
        break;
    case EVENT_STREAM:
        print_stream(face, event);
        break;
    case EVENT_PATH:
        print_path_identity(face, (const struct path_record *)header);
        break;
    case EVENT_IMAGE:
        print_image(face, (const struct image_record *)header);
        break;
    case EVENT_MODULE:
        print_module(face, (const struct module_record *)header);
        break;
    case EVENT_PROCEDURE:
        print_procedure(face, (const struct procedure_record *)header);
        break;
    case EVENT_NAME:
        print_name(face, (const struct name_record *)header);
        break;
    case EVENT_MACHINE:
        print_machine(face, (const struct machine_record *)header);
        break;
    case EVENT_END:
        print_end(face, (const struct end_record *)header);
        break;
    case EVENT_BEGIN:
        print_begin(face, (const struct begin_record *)header);
        break;
    default:
        print_message(face, event);
    }
}

/* A message's flag alone does not mean that its path is older: its position may only be uncertain. */
static bool is_of_newer_path(const struct record_face *face, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    const struct path_record *path =
        event->header->id == EVENT_SEND || event->header->id == EVENT_RECEIVE
            ? identities_path(face->identities, event->origin, record->message.path)
            : NULL;

    return path != NULL && (path->header.flags & RECORD_OLDER) == 0;
}

static void print_flags(const struct record_face *face, const struct event *event)
{
    const struct record_header *header = event->header;
    unsigned flags = header->flags;

    if ((header->id == EVENT_SEND || header->id == EVENT_RECEIVE) && (flags & RECORD_NO_STREAM))
        fputs(", unseen", face->file);
    if (flags & RECORD_CONTINUED)
        fputs(", continued", face->file);
    if (flags & RECORD_CALL_IMPLIED)
        fputs(", call implied", face->file);
    if (flags & RECORD_END_OF_FILE)
        fputs(", end of file", face->file);
    if (flags & RECORD_OLDER)
        fputs(is_of_newer_path(face, event) ? ", its position may be wrong"
                                            : ", older than the metering",
              face->file);
    if (flags & RECORD_PACKETS)
        fputs(", in packets", face->file);
    if (flags & RECORD_CONCURRENT)
        fputs(", while another was in progress", face->file);
    if (flags & RECORD_MANY)
        fputs(", with several receivers", face->file);
    if (flags & RECORD_PREEMPTED) /* the same bit as RECORD_MAPPED, RECORD_UNUSED */
        fputs(header->id == EVENT_SENDCALL ? ", preempted"
              : header->id == EVENT_PATH   ? ", not used yet"
                                           : ", by mmap",
              face->file);
    if (header->id == EVENT_CREATEPATH && (flags & RECORD_TRUNCATED))
        fputs(", emptied", face->file);
    if (flags & RECORD_TIME_LIMIT)
        fputs(", with a time limit", face->file);
}

/* More threads than CPUs: the event may be later than it would be on an idle machine. */
static void print_load(const struct record_face *face, const struct event *event)
{
    const struct machine_record *machine = identities_machine(face->identities, event->origin);
    unsigned load = event->header->load;

    if (!event_is_metered(event->header->id) || (event->header->flags & RECORD_NO_STREAM) ||
        machine == NULL || machine->cpus == 0 || load <= machine->cpus)
        return;
    fprintf(face->file, ", %u%s runnable threads on %" PRIu32 " CPU%s", load,
            load == UINT8_MAX ? " or more" : "", machine->cpus, machine->cpus == 1 ? "" : "s");
}

/* "in PROCEDURE+0x12"; without a symbol "in FILE+0x1234"; without a module the PC itself. */
static void print_pc(const struct record_face *face, const struct event *event)
{
    uint64_t pc = record_event_pc(event->header);
    const struct module_record *module = NULL;
    char name[MODULE_NAME_SIZE + 1] = "";

    if (pc == 0)
        return;
    const struct procedure_record *procedure =
        identities_procedure(face->identities, event->origin, event->header->stream, pc, &module);
    if (procedure != NULL && procedure->name[0] != '\0') {
        show_text(procedure->name, sizeof(procedure->name), name);
    } else if (procedure != NULL && module != NULL) {
        show_text(module->name, sizeof(module->name), name);
        const char *slash = strrchr(name, '/');
        if (slash != NULL)
            memmove(name, slash + 1, strlen(slash));
    }
    if (name[0] == '\0')
        fprintf(face->file, "  in 0x%" PRIx64, pc);
    else
        fprintf(face->file, "  in %s+0x%" PRIx64, name, procedure->offset);
    if (event->header->flags & RECORD_LIBRARY)
        fputs(" (library)", face->file);
}

#define EDGES_SHOWN 8

/* "  <- SEND 12 of client[3], 100 bytes, exact": the edges that lead to the record. */
static void print_edges(const struct record_face *face, const struct history_event *event)
{
    char process[STREAM_TEXT_SIZE];

    for (uint32_t i = 0; i < event->edge_count && i < EDGES_SHOWN; i++) {
        const struct history_edge *edge = &event->edges[i];
        stream_text(face, edge->origin, edge->stream, process);
        fprintf(face->file, "%s%s %" PRIu32 " of %s", i == 0 ? "  <- " : "; ",
                event_type(edge->id)->name, edge->sequence, process);
        if (edge->bytes > 0)
            fprintf(face->file, ", %" PRIu32 " bytes", edge->bytes);
        fprintf(face->file, ", %s%s", edge_kind_name(edge->kind),
                edge->doubtful  ? ", in doubt"
                : edge->earlier ? " of the wait before"
                                : "");
    }
    if (event->edge_count > EDGES_SHOWN)
        fprintf(face->file, "; and %" PRIu32 " more", event->edge_count - EDGES_SHOWN);
    if (event->rest != REST_NONE)
        fprintf(face->file, "%s%" PRIu32 " bytes %s", event->edge_count > 0 ? "; " : "  <- ",
                event->rest_bytes, history_rest_name(event->rest));
}

int show_record_text(struct record_face *face, const struct event *event)
{
    const struct record_header *header = event->header;
    struct wall_time time = record_wall_time(face, event);
    char process[STREAM_TEXT_SIZE] = "-";
    char stream[16] = "-";

    if (record_has_stream(header)) {
        stream_text(face, event->origin, header->stream, process);
        snprintf(stream, sizeof(stream), "%" PRIu32, header->stream);
    } else {
        add_machine(face, event->origin, 1, process);
    }
    const struct event_type *type = event_type(header->id);
    fprintf(face->file,
            type->fields[0].name == NULL ? "%s.%06u  %-20s %5s  %s" : "%s.%06u  %-20s %5s  %-13s  ",
            time.second, time.ns / 1000, process, stream, type->name);
    print_body(face, event);
    print_flags(face, event);
    print_load(face, event);
    print_pc(face, event);
    if (face->matched != NULL)
        print_edges(face, face->matched);
    fputc('\n', face->file);
    return 0;
}
