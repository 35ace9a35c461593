/* SPDX-License-Identifier: MIT */
/*
 * sample_trace.c: writes a small, always identical trace in which everything happens once, for tests of the commands
 * that read traces.
 *
 *      sample-trace alpha|beta|gamma|delta|epsilon|crowd|files|steered TRACE
 *
 *      alpha   server[100] has a thread, worker; its child client[200] is another program after
 *              EXEC; hostile[300] has a name meant to break parsers; twin[400] uses the server's
 *              socket too; stream 9 has no STREAM record
 *      beta    another machine: sink[100] is the other end of client's connection to 10.0.0.2
 *      delta   a pipe with packets, where more is received than was sent; two send at the same time
 *      epsilon the machine, a cgroup with a limit, and how long a thread waited for a CPU
 *      crowd   105 processes; number N sends N bytes to its own address
 *      files   a file is read and written, a message is sent to a System V queue, and a connection is refused
 *      steered a decision of dpm steer, and a socket that is never used
 *
 * Records are 1 ms apart and begin with MACHINE at second 1 (beta: 50) of the monotonic clock. In every packet that is
 * 2023-11-14 22:13:21 UTC (beta: half a millisecond later). A stream uses 1 us of CPU before each of its records.
 * Positions of directions begin at 1000 times the number of the path; datagrams are numbered from 0. Cookies are 10
 * times, inodes 100 times the number of the path.
 */
#include "trace/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP         1000000u /* ns from one record to the next */
#define CPU_STEP     1000u
#define ALPHA_BEGINS 1000000000u
#define BETA_BEGINS  50000000000u
#define WALL_BEGINS  1700000001000000000u
#define STREAMS_MOST 200

struct sample {
    struct trace_writer *writer;
    uint64_t time;
    uint32_t sequences[STREAMS_MOST]; /* of the next record of each stream */
};

static void give_up(const char *text)
{
    fprintf(stderr, "sample-trace: %s\n", text);
    exit(EXIT_FAILURE);
}

/* ---- records ---- */

static void append(struct sample *sample, struct record_header *header)
{
    struct problem problem;

    sample->time += STEP;
    header->time = sample->time;
    if (trace_writer_append(sample->writer, header, &problem) < 0)
        give_up(problem.text);
}

/* A record of a stream's own action. */
static void append_by(struct sample *sample, uint32_t stream, enum event_id id, unsigned flags,
                      struct record *record)
{
    uint32_t sequence = sample->sequences[stream]++;

    record->header = (struct record_header){
        .id = id,
        .load = 2,
        .flags = (uint16_t)flags,
        .sequence = sequence,
        .proc_time_and_pc = CPU_STEP * (sequence + 1),
        .stream = stream,
    };
    append(sample, &record->header);
}

static void message(struct sample *sample, uint32_t stream, enum event_id id, unsigned flags,
                    uint32_t path, uint32_t offset, uint32_t bytes)
{
    struct record record = {.message = {path, offset, bytes, bytes > 0 ? 500 : 0}};

    append_by(sample, stream, id, flags, &record);
}

static void path_event(struct sample *sample, uint32_t stream, enum event_id id, uint32_t path)
{
    message(sample, stream, id, 0, path, 0, 0);
}

/* An event that did not happen in a stream's own call. */
static void path_event_by_nobody(struct sample *sample, enum event_id id, uint32_t path,
                                 uint32_t bytes)
{
    struct record record = {
        .header = {.id = id, .flags = RECORD_NO_STREAM},
        .message = {.path = path, .bytes = bytes},
    };

    append(sample, &record.header);
}

static void lost(struct sample *sample, uint32_t stream, enum event_id id, uint32_t count)
{
    struct record record = {
        .header = {.id = id, .stream = stream},
        .lost = {.count = count, .ring = RING_DATA, .reason = LOST_RING_FULL},
    };

    sample->sequences[stream] += count;
    record.header.sequence = sample->sequences[stream];
    record.header.proc_time_and_pc = (uint64_t)CPU_STEP * record.header.sequence;
    append(sample, &record.header);
}

static void process_event(struct sample *sample, uint32_t stream, enum event_id id)
{
    struct record record = {0};

    append_by(sample, stream, id, 0, &record);
}

static void creation(struct sample *sample, uint32_t stream, uint32_t child, bool thread)
{
    struct record record = {.create = {.child = child, .thread = thread}};

    append_by(sample, stream, EVENT_CREATEPROCESS, 0, &record);
}

static void exec(struct sample *sample, uint32_t stream, uint32_t image)
{
    struct record record = {.exec = {.image = image}};

    append_by(sample, stream, EVENT_EXEC, 0, &record);
}

static void block(struct sample *sample, uint32_t stream, uint32_t system_call, uint64_t duration)
{
    struct record record = {
        .block = {.system_call = system_call, .state = 1, .duration = duration}};

    append_by(sample, stream, EVENT_BLOCK, 0, &record);
}

static void termination(struct sample *sample, uint32_t stream, uint32_t status, bool last,
                        uint32_t failed_sends, uint32_t failed_receives)
{
    struct record record = {.termination = {status, last, failed_sends, failed_receives}};

    append_by(sample, stream, EVENT_TERMINATION, 0, &record);
}

/* ---- identities ---- */

static void copy_name(char *to, size_t size, const char *name)
{
    size_t length = strlen(name);

    memcpy(to, name, length < size ? length : size);
}

static void stream(struct sample *sample, uint32_t number, uint32_t process, uint32_t parent,
                   uint32_t pid, const char *name)
{
    struct stream_record record = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = number},
        .pid = pid,
        .tid = number == process ? pid : pid + number - process,
        .process = process,
        .parent = parent,
        .start = sample->time,
        .pid_inside = pid,
        .user = 1000,
        .cgroup = 77,
    };

    copy_name(record.name, sizeof(record.name), name);
    append(sample, &record.header);
}

static struct path_record new_path(uint32_t number, enum path_kind kind, uint8_t family,
                                   enum path_role role)
{
    return (struct path_record){
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = number,
        .kind = (uint8_t)kind,
        .family = family,
        .role = (uint8_t)role,
        .cookie = 10 * (uint64_t)number,
        .inode = 100 * (uint64_t)number,
        .network = 4026531840u,
    };
}

struct address {
    const char *text;
    uint16_t port;
};

/* `first` is the lower numbered path of the connection: both ends know the same positions. */
static void tcp_path(struct sample *sample, uint32_t number, uint32_t first, enum path_role role,
                     struct address local, struct address remote, unsigned flags)
{
    bool six = strchr(local.text, ':') != NULL;
    struct path_record record = new_path(number, PATH_TCP, six ? AF_INET6 : AF_INET, role);

    record.header.flags |= (uint16_t)flags;
    record.local_port = local.port;
    record.remote_port = remote.port;
    record.start_out = 1000 * (role == PATH_ROLE_CONNECTED ? first : first + 1);
    record.start_in = 1000 * (role == PATH_ROLE_CONNECTED ? first + 1 : first);
    if (inet_pton(record.family, local.text, record.local) != 1 ||
        inet_pton(record.family, remote.text, record.remote) != 1)
        give_up("an address is none");
    append(sample, &record.header);
}

/* `peer` is the path of the other end, or 0. */
static void unix_path(struct sample *sample, uint32_t number, uint32_t peer, enum path_kind kind,
                      enum path_role role, enum path_name_end end, const char *name)
{
    struct path_record record = new_path(number, kind, AF_UNIX, role);

    record.peer = 10 * (uint64_t)peer;
    record.name_end = (uint8_t)end;
    copy_name(record.name, sizeof(record.name), name);
    append(sample, &record.header);
}

static void image(struct sample *sample, uint32_t number, const char *name)
{
    struct image_record record = {
        .header = {.id = EVENT_IMAGE, .flags = RECORD_NO_STREAM},
        .image = number,
        .device = 8,
        .inode = 4711,
        .load = 0x400000,
    };

    copy_name(record.name, sizeof(record.name), name);
    append(sample, &record.header);
}

static void name(struct sample *sample, enum name_kind kind, uint64_t number, const char *called)
{
    struct name_record record = {
        .header = {.id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = number,
        .kind = kind,
    };

    copy_name(record.name, sizeof(record.name), called);
    append(sample, &record.header);
}

static void symbols(struct sample *sample)
{
    struct module_record module = {
        .header = {.id = EVENT_MODULE, .flags = RECORD_NO_STREAM},
        .module = 1,
        .device = 8,
        .inode = 4711,
        .text = 0x1000,
        .build_id = {0xab, 0xcd},
    };
    struct procedure_record procedure = {
        .header = {.id = EVENT_PROCEDURE, .flags = RECORD_NO_STREAM},
        .module = 1,
        .address = 0x1234,
        .offset = 0x34,
    };

    copy_name(module.name, sizeof(module.name), "/usr/bin/sink");
    copy_name(procedure.name, sizeof(procedure.name), "swallow");
    append(sample, &module.header);
    append(sample, &procedure.header);
}

/* ---- alpha ---- */

/* A quotation mark, a backslash, escape, newline, a two-byte character and an invalid one; without the NUL that
 * would end it. */
#define HOSTILE_NAME   "q\"\\\x1b\nz\xc3\xb6\xff{}[],:'"
#define HOSTILE_SOCKET "@q\"\\\x1b[2J\xc3\xb6\xff"

_Static_assert(sizeof(HOSTILE_NAME) - 1 == STREAM_NAME_SIZE, "the name fills its field");

static void alpha_processes(struct sample *sample)
{
    stream(sample, 1, 1, 0, 100, "server");
    stream(sample, 2, 1, 1, 100, "worker");
    creation(sample, 1, 2, true);
    process_event(sample, 2, EVENT_STARTPROCESS);
    stream(sample, 3, 3, 1, 200, "server");
    creation(sample, 1, 3, false);
    image(sample, 1, "/usr/bin/client");
    exec(sample, 3, 1);
    stream(sample, 3, 3, 1, 200, "client");
    stream(sample, 4, 4, 3, 300, HOSTILE_NAME);
    stream(sample, 5, 5, 1, 400, "twin");
    creation(sample, 5, 9, false);
    exec(sample, 5, 7);
    block(sample, 1, 202, 1500000);
}

/* Client and server over IPv4; the server's end is shared by the worker and twin. */
static void alpha_shared(struct sample *sample)
{
    struct address ends[] = {{"127.0.0.1", 4000}, {"127.0.0.1", 80}};

    tcp_path(sample, 1, 1, PATH_ROLE_CONNECTED, ends[0], ends[1], 0);
    path_event(sample, 3, EVENT_CREATEPATH, 1);
    path_event(sample, 3, EVENT_CONNECT, 1);
    tcp_path(sample, 2, 1, PATH_ROLE_ACCEPTED, ends[1], ends[0], 0);
    path_event(sample, 1, EVENT_CREATEPATH, 2);
    path_event(sample, 1, EVENT_ACCEPT, 2);
    message(sample, 2, EVENT_RECEIVECALL, 0, 2, 1000, 0);
    message(sample, 3, EVENT_SEND, RECORD_LIBRARY, 1, 1000, 100);
    path_event_by_nobody(sample, EVENT_MESSAGEQUEUED, 2, 100);
    message(sample, 2, EVENT_RECEIVE, 0, 2, 1000, 100);
    message(sample, 3, EVENT_SENDCALL, 0, 1, 1100, 50);
    message(sample, 3, EVENT_SEND, 0, 1, 1100, 50);
    message(sample, 3, EVENT_SEND, RECORD_CONTINUED, 1, 1150, 25);
    message(sample, 5, EVENT_RECEIVE, RECORD_CALL_IMPLIED, 2, 1100, 75);
    message(sample, 2, EVENT_SEND, 0, 2, 2000, 10);
    message(sample, 5, EVENT_SEND, 0, 2, 2010, 20);
    message(sample, 3, EVENT_RECEIVE, RECORD_CALL_IMPLIED, 1, 2000, 30);
    message(sample, 3, EVENT_RECEIVE, RECORD_END_OF_FILE, 1, 2030, 0); /* the end of file */
}

/* Client and hostile over IPv6; client and another machine; an unmonitored peer and the server, on a connection
 * older than metering. */
static void alpha_others(struct sample *sample)
{
    struct address near[] = {{"::1", 5000}, {"::1", 6000}};
    struct address far[] = {{"10.0.0.1", 7000}, {"10.0.0.2", 9000}};
    struct address old[] = {{"10.0.0.1", 80}, {"10.0.0.7", 3333}};

    tcp_path(sample, 3, 3, PATH_ROLE_CONNECTED, near[0], near[1], 0);
    tcp_path(sample, 4, 3, PATH_ROLE_ACCEPTED, near[1], near[0], 0);
    message(sample, 3, EVENT_SEND, 0, 3, 3000, 1000);
    message(sample, 4, EVENT_RECEIVE, 0, 4, 3000, 600);
    message(sample, 4, EVENT_RECEIVE, 0, 4, 3600, 400);
    tcp_path(sample, 5, 5, PATH_ROLE_CONNECTED, far[0], far[1], 0);
    message(sample, 3, EVENT_SEND, 0, 5, 5000, 300);
    message(sample, 3, EVENT_RECEIVE, 0, 5, 6000, 40);
    tcp_path(sample, 6, 6, PATH_ROLE_ACCEPTED, old[0], old[1], RECORD_OLDER);
    message(sample, 1, EVENT_RECEIVE, RECORD_OLDER, 6, 6000, 60);
}

/* Byte streams: one by a name in the file system, one by an abstract name, whose connecting end learns its peer
 * late. */
static void alpha_unix(struct sample *sample)
{
    unix_path(sample, 7, 8, PATH_UNIX_STREAM, PATH_ROLE_CONNECTED, PATH_NAME_REMOTE, "/run/a.sock");
    unix_path(sample, 8, 7, PATH_UNIX_STREAM, PATH_ROLE_ACCEPTED, PATH_NAME_LOCAL, "/run/a.sock");
    message(sample, 3, EVENT_SEND, 0, 7, 0, 7);
    message(sample, 1, EVENT_RECEIVE, 0, 8, 0, 7);
    unix_path(sample, 9, 0, PATH_UNIX_STREAM, PATH_ROLE_CONNECTED, PATH_NAME_REMOTE,
              HOSTILE_SOCKET);
    message(sample, 4, EVENT_SEND, 0, 9, 0, 5);
    unix_path(sample, 10, 9, PATH_UNIX_STREAM, PATH_ROLE_ACCEPTED, PATH_NAME_LOCAL, HOSTILE_SOCKET);
    unix_path(sample, 9, 10, PATH_UNIX_STREAM, PATH_ROLE_CONNECTED, PATH_NAME_REMOTE,
              HOSTILE_SOCKET);
    message(sample, 4, EVENT_SEND, 0, 9, 5, 6);
    message(sample, 5, EVENT_RECEIVE, 0, 10, 0, 11);
}

/* Messages with boundaries: a socket pair, a named seqpacket, and one with an unknown other end. An empty datagram
 * is a message. */
static void alpha_datagrams(struct sample *sample)
{
    unix_path(sample, 11, 12, PATH_UNIX_DATAGRAM, PATH_ROLE_UNKNOWN, PATH_NAME_NONE, "");
    unix_path(sample, 12, 11, PATH_UNIX_DATAGRAM, PATH_ROLE_UNKNOWN, PATH_NAME_NONE, "");
    message(sample, 3, EVENT_SEND, 0, 11, 0, 0);
    message(sample, 3, EVENT_SEND, 0, 11, 1, 9);
    message(sample, 4, EVENT_RECEIVE, 0, 12, 0, 0);
    message(sample, 4, EVENT_RECEIVE, 0, 12, 1, 9);
    message(sample, 4, EVENT_SEND, 0, 12, 0, 4);
    message(sample, 3, EVENT_RECEIVE, 0, 11, 0, 4);
    unix_path(sample, 13, 14, PATH_UNIX_SEQPACKET, PATH_ROLE_ACCEPTED, PATH_NAME_LOCAL,
              "/run/s\xc3\xa9q");
    unix_path(sample, 14, 13, PATH_UNIX_SEQPACKET, PATH_ROLE_CONNECTED, PATH_NAME_REMOTE,
              "/run/s\xc3\xa9q");
    message(sample, 5, EVENT_SEND, 0, 14, 0, 12);
    message(sample, 1, EVENT_RECEIVE, 0, 13, 0, 12);
    unix_path(sample, 15, 0, PATH_UNIX_DATAGRAM, PATH_ROLE_UNKNOWN, PATH_NAME_NONE, "");
    message(sample, 3, EVENT_SEND, 0, 15, 0, 3);
}

static void alpha_losses(struct sample *sample)
{
    message(sample, 9, EVENT_SEND, 0, 99, 0, 77); /* neither stream nor path was described */
    trace_writer_lost(sample->writer, RING_DATA, 3);
    lost(sample, 2, EVENT_LOST, 3);
    lost(sample, 3, EVENT_DISCARDED, 2);
}

/* Appends a record at the time of the previous one. */
static void append_beside(struct sample *sample, struct record_header *header)
{
    sample->time -= STEP;
    append(sample, header);
}

static void network(struct sample *sample, uint32_t path)
{
    struct record record = {
        .header = {.id = EVENT_NETWORK, .flags = RECORD_NO_STREAM},
        .network = {path, 2, 150, 700},
    };

    append_beside(sample, &record.header);
}

static void cost(struct sample *sample)
{
    struct record record = {
        .header = {.id = EVENT_COST, .flags = RECORD_NO_STREAM},
        .cost = {15000000, 8, 900},
    };

    append_beside(sample, &record.header);
}

static void wakeup_after_end(struct sample *sample, uint32_t stream, uint32_t woken)
{
    struct record record = {
        .header = {.id = EVENT_WAKEUP, .flags = RECORD_NO_STREAM},
        .wakeup = {.woken = woken, .waker = stream},
    };

    append_beside(sample, &record.header);
}

static void alpha_ends(struct sample *sample)
{
    process_event(sample, 5, EVENT_STOPPROCESS);
    network(sample, 1);
    cost(sample);
    path_event(sample, 3, EVENT_DESTROYPATH, 1);
    termination(sample, 3, 3 << 8, true, 0, 2);
    termination(sample, 2, 0, false, 0, 0);
    termination(sample, 4, 9, true, 1, 0); /* killed */
    wakeup_after_end(sample, 4, 1);
    path_event_by_nobody(sample, EVENT_DESTROYPATH, 2, 0);
}

static void alpha(struct sample *sample)
{
    struct problem problem;

    alpha_processes(sample);
    alpha_shared(sample);
    if (trace_writer_flush(sample->writer, &problem) < 0)
        give_up(problem.text);
    alpha_others(sample);
    alpha_unix(sample);
    alpha_datagrams(sample);
    alpha_losses(sample);
    alpha_ends(sample);
}

/* ---- the other traces ---- */

static void beta(struct sample *sample)
{
    struct address ends[] = {{"10.0.0.2", 9000}, {"10.0.0.1", 7000}};

    name(sample, NAME_USER, 1000, "alice");
    name(sample, NAME_CGROUP, 77, "/system.slice/sink.service");
    stream(sample, 1, 1, 0, 100, "sink");
    tcp_path(sample, 1, 5, PATH_ROLE_ACCEPTED, ends[0], ends[1], 0);
    path_event(sample, 1, EVENT_CREATEPATH, 1);
    path_event(sample, 1, EVENT_ACCEPT, 1);
    message(sample, 1, EVENT_RECEIVE, 0, 1, 5000, 300);
    message(sample, 1, EVENT_SEND, 0, 1, 6000, 40);
    symbols(sample);
    termination(sample, 1, 0, true, 0, 0);
}

static void crowd(struct sample *sample)
{
    for (uint32_t number = 1; number <= 105; number++) {
        struct address local = {"192.0.2.1", (uint16_t)(1000 + number)};
        struct address remote = {"192.0.2.2", (uint16_t)(1000 + number)};
        char name[STREAM_NAME_SIZE];
        snprintf(name, sizeof(name), "p%u", number);
        stream(sample, number, number, 0, 10000 + number, name);
        tcp_path(sample, number, number, PATH_ROLE_CONNECTED, local, remote, 0);
        message(sample, number, EVENT_SEND, 0, number, 1000 * number, number);
    }
}

/* A SEND with a program counter. */
static void send_from(struct sample *sample, uint32_t stream, uint64_t pc, unsigned flags)
{
    uint32_t sequence = sample->sequences[stream]++;
    struct record record = {
        .header = {.id = EVENT_SEND,
                   .flags = (uint16_t)flags,
                   .sequence = sequence,
                   .proc_time_and_pc = pc << 48 | CPU_STEP * (sequence + 1),
                   .pc_high = (uint32_t)(pc >> 16),
                   .stream = stream},
        .message = {.path = 1, .bytes = 10},
    };

    append(sample, &record.header);
}

static void running(struct sample *sample, uint32_t number, uint32_t image)
{
    struct stream_record record = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = number},
        .pid = 100 * number,
        .tid = 100 * number,
        .process = number,
        .image = image,
    };

    copy_name(record.name, sizeof(record.name), "named");
    append(sample, &record.header);
}

static void nameless(struct sample *sample, uint32_t image_number, uint64_t address,
                     uint64_t offset)
{
    struct procedure_record procedure = {
        .header = {.id = EVENT_PROCEDURE, .flags = RECORD_NO_STREAM},
        .module = 1,
        .image = image_number,
        .address = address,
        .offset = offset,
    };

    append(sample, &procedure.header);
}

/* Program counters: image 1 and the module have the same file, image 2 has another. */
static void gamma_places(struct sample *sample)
{
    struct address ends[] = {{"10.0.0.3", 9000}, {"10.0.0.4", 7000}};

    image(sample, 1, "/usr/bin/sink");
    running(sample, 1, 1);
    running(sample, 2, 2);
    tcp_path(sample, 1, 1, PATH_ROLE_CONNECTED, ends[0], ends[1], 0);
    send_from(sample, 1, 0x400234, 0);                    /* a procedure */
    send_from(sample, 1, 0x400500, 0);                    /* no symbol there */
    send_from(sample, 1, 0x7fffdeadbeef, RECORD_LIBRARY); /* in a library */
    send_from(sample, 1, 0x400501, 0);                    /* without a PROCEDURE record */
    send_from(sample, 2, 0x400234, 0);                    /* of an unknown image */
    send_from(sample, 1, 0, 0);                           /* unknown */
    symbols(sample);
    name(sample, NAME_USER, 1000, "alice");
    nameless(sample, 0, 0x1500, 0x500);
    nameless(sample, 1, 0x7fffdeadbeef, 0xeef);
}

/* One end of a pipe. */
static void pipe_end(struct sample *sample, uint32_t number, uint32_t peer, enum path_role role)
{
    struct path_record record = new_path(number, PATH_PIPE, 0, role);

    record.header.flags |= RECORD_PACKETS | RECORD_COUNTED;
    record.peer = 10 * (uint64_t)peer;
    append(sample, &record.header);
}

/* SCHEDULE of a stream, and a signal that it gets. */
static void figures(struct sample *sample, uint32_t stream)
{
    struct record schedule = {
        .header = {.id = EVENT_SCHEDULE, .flags = RECORD_NO_STREAM, .stream = stream},
        .schedule = {2500000, 3, 4},
    };
    struct record signal = {
        .header = {.id = EVENT_SIGNAL, .flags = RECORD_NO_STREAM},
        .signal = {.number = SIGALRM, .code = 128, .receiver = stream, .receiver_pid = 1},
    };

    append(sample, &schedule.header);
    append(sample, &signal.header);
}

static void delta(struct sample *sample)
{
    name(sample, NAME_COMMAND, 1, "pour --slowly");
    running(sample, 1, 0);
    running(sample, 2, 0);
    pipe_end(sample, 1, 2, PATH_ROLE_WRITES);
    pipe_end(sample, 2, 1, PATH_ROLE_READS);
    message(sample, 1, EVENT_SEND, RECORD_CONCURRENT, 1, 0, 100);
    message(sample, 1, EVENT_SENDCALL, RECORD_PREEMPTED | RECORD_WHOLE_CALL, 1, 150, 50);
    message(sample, 2, EVENT_RECEIVE, RECORD_SAME_CALL, 2, 0, 150);
    figures(sample, 1);
}

/* `step`: 0 at the beginning, 1 at the end. */
static void state_of_machine(struct sample *sample, uint64_t step)
{
    struct summary_record summary = {.header = {.id = EVENT_SUMMARY, .flags = RECORD_NO_STREAM}};
    struct cgroup_record cgroup = {.header = {.id = EVENT_CGROUP, .flags = RECORD_NO_STREAM}};
    uint64_t *const fields[] = {(uint64_t *)(&summary.header + 1),
                                (uint64_t *)(&cgroup.header + 1)};
    const size_t sizes[] = {sizeof(summary), sizeof(cgroup)};

    /* every figure is another one */
    for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
        for (size_t i = 0; i < (sizes[k] - sizeof(summary.header)) / sizeof(uint64_t); i++)
            fields[k][i] = 1000 * (i + 1) + step * (i + 1);
    cgroup.cgroup = 77;
    append(sample, &summary.header);
    append(sample, &cgroup.header);
}

static void epsilon(struct sample *sample)
{
    state_of_machine(sample, 0);
    running(sample, 1, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct record record = {
            .header = {.id = EVENT_SCHEDULE, .flags = RECORD_NO_STREAM, .stream = 1},
            .schedule = {1000 * i, 2 * i, 3 * i}};
        append(sample, &record.header);
    }
    state_of_machine(sample, 1);
}

/* A selection has removed a field of this record. */
static void write_without_bytes(struct sample *sample, uint32_t stream, uint32_t path)
{
    const struct event_type *type = event_type(EVENT_WRITE);
    struct record record = {.header = {.id = EVENT_WRITE, .stream = stream},
                            .message = {.path = path}};
    struct problem problem;
    unsigned bit = 0;

    while (strcmp(event_absent_field(type, bit)->name, "bytes") != 0)
        bit++;
    sample->time += STEP;
    record.header.time = sample->time;
    if (trace_writer_append_without(sample->writer, &record.header, 1ull << bit, &problem) < 0)
        give_up(problem.text);
}

/* Changed flags, a sensor's value, and dropped messages. */
static void others(struct sample *sample)
{
    struct flags_record flags = {.header = {.id = EVENT_FLAGS, .flags = RECORD_NO_STREAM},
                                 .meter_flags = METER_EVENT_FLAGS,
                                 .rules = 1};
    struct record sensor = {.header = {.id = EVENT_SENSOR, .flags = RECORD_NO_STREAM},
                            .sensor = {.sensor = 2, .value = 3}};

    struct record dropped = {.header = {.id = EVENT_DROPPED, .flags = RECORD_NO_STREAM},
                             .dropped = {.path = 2, .count = 1, .refused = 2}};

    append(sample, &flags.header);
    append(sample, &sensor.header);
    append(sample, &dropped.header);
}

/* A connection that is refused. */
static void refused(struct sample *sample, uint32_t stream, uint32_t number)
{
    struct record failed = {.header = {.id = EVENT_CONNECTFAILED, .stream = stream},
                            .failed = {.path = number, .error = ECONNREFUSED, .span = 1000}};
    struct path_record path = new_path(number, PATH_TCP, 0, PATH_ROLE_CONNECTED);

    path.family = AF_INET;
    path.remote[0] = 127;
    path.remote[3] = 1;
    path.remote_port = 81;
    append(sample, &path.header);
    append(sample, &failed.header);
    path_event_by_nobody(sample, EVENT_DESTROYPATH, stream, number);
}

/* A file that is opened, read and written, and closed; a message queue; and a connection that fails. */
static void files(struct sample *sample)
{
    struct path_record file = new_path(1, PATH_FILE, 0, PATH_ROLE_UNKNOWN);
    struct path_record queue = new_path(2, PATH_MQ_SYSV, 0, PATH_ROLE_WRITES);

    running(sample, 1, 0);
    running(sample, 2, 0);
    file.name_end = PATH_NAME_LOCAL;
    copy_name(file.name, sizeof(file.name), "/var/lib/data");
    append(sample, &file.header);
    path_event(sample, 1, EVENT_CREATEPATH, 1);
    message(sample, 1, EVENT_READ, 0, 1, 4096, 8192);
    message(sample, 1, EVENT_WRITE, 0, 1, 0, 100);
    message(sample, 1, EVENT_WRITE, 0, 1, 100, 50);
    message(sample, 2, EVENT_READ, RECORD_MAPPED, 1, 0,
            100); /* another process maps it, and cuts it */
    message(sample, 2, EVENT_WRITE, RECORD_TRUNCATED, 1, 10, 0);
    write_without_bytes(sample, 1, 1);
    name(sample, NAME_SHARED, 1ull << 32 | 1, "/dev/shm/data");
    name(sample, NAME_SHARED, 1ull << 32 | 2, "/dev/shm/data");
    path_event_by_nobody(sample, EVENT_DESTROYPATH, 1, 1);
    queue.local[0] = 5; /* the type */
    append(sample, &queue.header);
    message(sample, 2, EVENT_SEND, RECORD_MANY, 2, 0, 16);
    append_by(sample, 2, EVENT_BLOCK, RECORD_TIME_LIMIT,
              &(struct record){.block = {.system_call = 202, .state = 1, .duration = 1000000}});
    others(sample);
    refused(sample, 2, 3);
}

/* A decision of dpm steer, and a socket that is made and not used. */
static void steered(struct sample *sample)
{
    struct path_record socket = new_path(1, PATH_TCP, 0, PATH_ROLE_UNKNOWN);
    struct decision_record decision = {
        .header = {.id = EVENT_DECISION, .flags = RECORD_NO_STREAM},
        .number = 1,
        .before = 92000,
        .after = 367000,
        .before_length = 5000000000,
        .after_length = 6000000000,
        .outcome = DECISION_KEPT,
        .predicted = 3040,
        .noise = 100,
        .act = "workers of app",
        .from = "2",
        .to = "8",
        .goal = "requests/s of load",
        .reason = "2 of 2 workers busy",
    };

    running(sample, 1, 0);
    socket.header.flags |= RECORD_UNUSED;
    append(sample, &socket.header);
    path_event(sample, 1, EVENT_CREATEPATH, 1);
    append(sample, &decision.header);
    append_by(sample, 1, EVENT_WAKEUP, 0,
              &(struct record){.wakeup = {.waker = 2, .call = 3, .communicator = 0x1230}});
    path_event_by_nobody(sample, EVENT_DESTROYPATH, 1, 1);
}

static const struct {
    const char *name;
    void (*tell)(struct sample *sample);
    const char *addresses;
    uint64_t begin; /* ns, monotonic */
    uint64_t wall;
    uint64_t flags; /* in addition to those of all events */
} machines[] = {
    {"alpha", alpha, "10.0.0.1 10.0.0.7 2001:db8::1", ALPHA_BEGINS, WALL_BEGINS},
    {"beta", beta, "10.0.0.2", BETA_BEGINS, WALL_BEGINS + STEP / 2},
    {"gamma", gamma_places, "10.0.0.3", ALPHA_BEGINS, WALL_BEGINS, METER_FLAG_PC},
    {"delta", delta, "10.0.0.5", ALPHA_BEGINS, WALL_BEGINS},
    {"epsilon", epsilon, "10.0.0.6", ALPHA_BEGINS, WALL_BEGINS},
    {"crowd", crowd, "192.0.2.1", ALPHA_BEGINS, WALL_BEGINS},
    {"files", files, "10.0.0.8", ALPHA_BEGINS, WALL_BEGINS},
    {"steered", steered, "10.0.0.10", ALPHA_BEGINS, WALL_BEGINS},
    {"rotated", alpha, "10.0.0.9", ALPHA_BEGINS, WALL_BEGINS},
};

static bool is_rotated(size_t which)
{
    return strcmp(machines[which].name, "rotated") == 0;
}

/* More than the trace keeps. */
static void tell_much(struct sample *sample, uint64_t time)
{
    struct record record = {.header = {.id = EVENT_SENSOR, .flags = RECORD_NO_STREAM}};
    struct problem problem;

    for (uint64_t i = 0; i < 50000; i++) {
        record.header.time = time + i * 1000;
        if (trace_writer_append(sample->writer, &record.header, &problem) < 0)
            give_up(problem.text);
    }
}

static void write_trace(size_t which, const char *path)
{
    struct machine_record machine = {
        .header.time = machines[which].begin,
        .machine_id = {0xa0, (uint8_t)which},
        .boot_id = {0xb0, (uint8_t)which},
        .meter_flags = METER_EVENT_FLAGS | machines[which].flags,
        .system = "Linux 6.6 x86_64",
    };
    struct sample sample = {.time = machines[which].begin};
    struct problem problem;

    copy_name(machine.name, sizeof(machine.name), machines[which].name);
    copy_name(machine.addresses, sizeof(machine.addresses), machines[which].addresses);
    if (trace_writer_new(path, &machine, 1u << 20, &sample.writer, &problem) < 0)
        give_up(problem.text);
    const struct trace_limits limits = {.max_files = 2};
    if (is_rotated(which) &&
        trace_writer_keep_newest(sample.writer, &limits, &machine, &problem) < 0)
        give_up(problem.text);
    machines[which].tell(&sample);
    if (is_rotated(which))
        tell_much(&sample, sample.time + STEP);
    if (trace_writer_close(sample.writer, END_COMPLETE, &problem) < 0)
        give_up(problem.text);
}

/* ---- wall-clock time ---- */

/* Sets the clocks of each packet of a file; the writer has read them from this machine. */
static void set_clocks(const char *path, const char *name, uint64_t monotonic, uint64_t real_time)
{
    struct trace_packet_context context;
    char file_name[512];
    off_t at = 0;

    snprintf(file_name, sizeof(file_name), "%s/%s", path, name);
    int file = open(file_name, O_RDWR | O_CLOEXEC);
    for (;;) {
        off_t where = at + (off_t)sizeof(struct trace_packet_header);
        if (pread(file, &context, sizeof(context), where) != sizeof(context))
            break;
        context.monotonic = monotonic;
        context.real_time = real_time;
        if (pwrite(file, &context, sizeof(context), where) != sizeof(context))
            give_up("cannot set the clocks");
        at += (off_t)(context.packet_size / 8);
    }
    if (at == 0 || close(file) < 0)
        give_up("cannot set the clocks");
}

int main(int argc, char **argv)
{
    size_t which = 0;

    while (argc == 3 && which < ARRAY_SIZE(machines) && strcmp(argv[1], machines[which].name) != 0)
        which++;
    if (argc != 3 || which == ARRAY_SIZE(machines)) {
        fprintf(stderr,
                "usage: sample-trace alpha|beta|gamma|delta|epsilon|crowd|files|steered|rotated "
                "TRACE\n");
        return 2;
    }
    write_trace(which, argv[2]);
    if (is_rotated(which)) /* these files are not there any more */
        return EXIT_SUCCESS;
    set_clocks(argv[2], "control", machines[which].begin, machines[which].wall);
    set_clocks(argv[2], "data", machines[which].begin, machines[which].wall);
    return EXIT_SUCCESS;
}
