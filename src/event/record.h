/* SPDX-License-Identifier: MIT */
/*
 * record.h: the trace record, THE header that the kernel meter and every program share.
 *
 * The meter's rings, the trace on disk and memory have the same layout: the meter writes a record, the writer copies
 * it, the reader casts it. Every number is little-endian. Every record's size is a multiple of 8 bytes and fixed by
 * its type (event_size() in event.h).
 *
 *      0        8  9  10   12        16         22        28        32                     48
 *      +--------+--+--+----+---------+----------+---------+---------+----------------------+
 *      | time   |id|ld|flag| sequence| procTime | PC      | _stream | body                 |
 *      | u64    |u8|u8|u16 | u32     | u48      | u48     | u32     | path offset bytes span
 *      +--------+--+--+----+---------+----------+---------+---------+----------------------+
 *      |<- CTF event.header ->|<------------ CTF event.context ---->|<--- CTF event.fields
 *
 * An event record is 48 bytes. Constant facts are recorded once, in identity records: MACHINE, STREAM, PATH, IMAGE,
 * MODULE, PROCEDURE, NAME. These, FLAGS, SUMMARY, CGROUP, DECISION, BEGIN and END, which closes the trace, share the
 * first 32 bytes and have bodies of their own size. The table in event.c describes every type and field again, in words; a test keeps the two consistent.
 */
#ifndef DPM_RECORD_H
#define DPM_RECORD_H

/* The kernel side gets these types from a header of its own. */
#ifndef DPM_KERNEL_SIDE
#include <stdbool.h>
#include <stdint.h>
#endif

/* Event types. The numbers are part of the trace format: never reuse one. A meter flag is the bit of the type that it
 * records (EVENT_FLAG). */
enum event_id {
    EVENT_SEND = 1,          /* a send call completed */
    EVENT_SENDCALL = 2,      /* a stream left the CPU inside a send */
    EVENT_RECEIVECALL = 3,   /* a receive call found nothing and blocks */
    EVENT_RECEIVE = 4,       /* data handed to the process; 0 bytes = end of file */
    EVENT_MESSAGEQUEUED = 5, /* data placed in a receiver's queue */
    EVENT_BLOCK = 6,         /* any other sleep: disk, lock, timer, child */
    EVENT_CREATEPATH = 7,    /* a path was seen for the first time */
    EVENT_CONNECT = 8,
    EVENT_ACCEPT = 9,
    EVENT_DESTROYPATH = 10,
    EVENT_CREATEPROCESS = 11, /* process or thread created */
    EVENT_EXEC = 12,
    EVENT_STARTPROCESS = 13, /* first time on a CPU, and each continue after a stop */
    EVENT_STOPPROCESS = 14,
    EVENT_TERMINATION = 15,
    EVENT_LOST = 16,          /* records of a stream or ring that could not be written */
    EVENT_DISCARDED = 17,     /* records that a selection removed outside the kernel */
    EVENT_STREAM = 18,        /* identity of a stream */
    EVENT_PATH = 19,          /* identity of one end of a path */
    EVENT_IMAGE = 20,         /* identity of a program image */
    EVENT_MACHINE = 21,       /* identity of the machine; first in its trace */
    EVENT_END = 22,           /* the recording ended in order; last in its trace */
    EVENT_MODULE = 23,        /* identity of a file with program text */
    EVENT_PROCEDURE = 24,     /* the name of a PC */
    EVENT_NAME = 25,          /* the name of a user or a cgroup */
    EVENT_DROPPED = 26,       /* datagrams dropped because the receiver's queue was full */
    EVENT_NETWORK = 27,       /* how the network served a TCP connection */
    EVENT_COST = 28,          /* the overhead of the recording itself */
    EVENT_WAKEUP = 29,        /* a stream woke another one */
    EVENT_FLAGS = 30,         /* meter flags, kinds of paths or rules changed */
    EVENT_SCHEDULE = 31,      /* how long a stream waited for a CPU */
    EVENT_SIGNAL = 32,        /* a signal was sent */
    EVENT_CONNECTFAILED = 33, /* a connection was refused, or timed out */
    EVENT_READ = 34,          /* data read from a file */
    EVENT_WRITE = 35,         /* data written to a file */
    EVENT_SUMMARY = 36,       /* the machine's load, memory, paging, disk and network */
    EVENT_CGROUP = 37,        /* the limits of a cgroup, and what they cost it */
    EVENT_SENSOR = 38,        /* the value of a sensor */
    EVENT_CLASS = 39,         /* a class of records that lack fields */
    EVENT_BEGIN = 40,         /* a file of a trace begins that keeps only the newest records */
    EVENT_DECISION = 41,      /* what `dpm steer` has decided */
    EVENT_ID_END = 42,        /* not a type */
};

/* A record with an ID from here on belongs to a class: a type without some of its fields. A CLASS record in the same
 * file says which. Sources resolve this: the records that they return have a type's ID (event.h, struct event). */
#define EVENT_CLASS_FIRST 128

#define EVENT_FLAG(id) (1ull << (id))

/* SENSOR: numbers of sensors of the meter's own, at places in libraries; smaller ones are a user's. Part of the trace format. */
enum library_sensor {
    SENSOR_GC_BEGIN =
        0x10001, /* a JVM begins to collect garbage, with all of the program's threads stopped */
    SENSOR_GC_END = 0x10002,
    SENSOR_SAFEPOINT_BEGIN =
        0x10003, /* a JVM begins to stop the program's threads, or has stopped them ... */
    SENSOR_SAFEPOINT_END = 0x10004, /* ... and lets them go on */
};

/* The only meter flag that is not a type's: records carry the PC. */
#define METER_FLAG_PC (1ull << 62)

/* Kinds of paths that can be metered separately. */
#define METER_TCP  1u
#define METER_UDP  2u
#define METER_UNIX 4u
#define METER_PIPE 8u
#define METER_FILE 16u
#define METER_MQ   32u /* POSIX and System V message queues */
#define METER_MPI  64u /* messages of MPI, by probes in its library */

#define SPAN_UNIT_SHIFT 11

/* Bits of record_header.flags. */
enum record_flag {
    /* continues the call of this stream's previous SEND or RECEIVE on this path: a call's pieces are one message */
    RECORD_CONTINUED = 1,
    /* RECEIVE: the call did not block; its RECEIVECALL is implied */
    RECORD_CALL_IMPLIED = 2,
    /* The path is older than the metering. SEND or RECEIVE on a pipe or a UNIX stream: calls that were in progress
     * when the path was first seen may not have ended yet, so that the offset may be wrong. */
    RECORD_OLDER = 4,
    /* the PC is in a library, not in the program */
    RECORD_LIBRARY = 8,
    /* made outside a task's own call: sequence, procTime and PC are meaningless */
    RECORD_NO_STREAM = 16,
    /* RECEIVE: no data, and none will come any more */
    RECORD_END_OF_FILE = 32,
    /* PATH: a pipe in packet mode (O_DIRECT): what a read leaves of a packet is lost, and later offsets may be wrong */
    RECORD_PACKETS = 64,
    /*
     * SEND on a UNIX socket: another send was in progress on it, whether already recorded or not; the bytes of the two
     * may be in the opposite order of their offsets.
     * RECEIVE on a UDP socket: other receives were in progress on it, and this one may have taken another datagram.
     * Made by the ptrace meter: the same for SEND and RECEIVE on any path.
     */
    RECORD_CONCURRENT = 128,
    /* PATH of TCP: offsets are counted from numbers of the meter's own; they are not TCP sequence numbers */
    RECORD_COUNTED = 512,
    /* SEND and SENDCALL on a pipe, by the kernel meter: the span covers the whole call so far, so nothing of it was
     * sent earlier */
    RECORD_WHOLE_CALL = 512,
    /* RECEIVE of the ptrace meter: another message of the same call as the stream's previous RECEIVE */
    RECORD_SAME_CALL = 1024,
    /* SENDCALL: the stream was preempted; it did not wait for buffer space */
    RECORD_PREEMPTED = 256,
    /* PATH: a socket that was made and is not used yet. Its addresses come with another PATH, if it is used */
    RECORD_UNUSED = 256,
    /* READ and WRITE: the call has mapped the file, which may be read, or written to, there from now on */
    RECORD_MAPPED = 256,
    /* CREATEPATH of a file: it was emptied when it was opened. WRITE: the file was cut, or extended, to `offset` */
    RECORD_TRUNCATED = 512,
    /* PATH: several sockets receive each message: multicast or broadcast */
    RECORD_MANY = 16384,
    /* BLOCK: the call for a lock had a time limit; if nothing woke the stream, it was asleep for that time */
    RECORD_TIME_LIMIT = 32768,
    /* three bits, n: the unit of a message's span is 16^n ns (meter/shared/message.h) */
    RECORD_SPAN_UNIT = 7 << SPAN_UNIT_SHIFT,
};

struct record_header {
    uint64_t time; /* ns, CLOCK_MONOTONIC, when the record was made */
    uint8_t id;    /* enum event_id */
    uint8_t load;  /* runnable tasks of the machine, as of each CPU's last switch; saturating */
    uint16_t flags;
    uint32_t sequence;         /* per stream, without gaps, modulo 2^32 */
    uint64_t proc_time_and_pc; /* bits 0-47 procTime (ns, modulo 2^48); 48-63 bits 0-15 of the PC */
    uint32_t pc_high;          /* bits 16-47 of the PC */
    uint32_t stream;           /* number of the STREAM record */
};

#define BLOCK_LONGEST  0xffffffffffffULL /* ns, of block.duration */
#define PROC_TIME_MASK 0xffffffffffffULL /* bits of procTime */

static inline uint64_t record_proc_time(const struct record_header *header)
{
    return header->proc_time_and_pc & PROC_TIME_MASK;
}

/* CPU time in ns between two records of a stream, from their procTime; modulo 2^48. 0 if `to` is the earlier one. */
static inline uint64_t proc_time_used(uint64_t from, uint64_t to)
{
    uint64_t used = (to - from) & PROC_TIME_MASK;

    return used > PROC_TIME_MASK / 2 ? 0 : used;
}

static inline uint64_t record_pc(const struct record_header *header)
{
    return (header->proc_time_and_pc >> 48) | ((uint64_t)header->pc_high << 16);
}

/* SIGNAL: a process sent it that is not known: one outside of the meter's PID namespace. */
#define SENDER_UNKNOWN 0xffffffffu

/* An event record, 48 bytes. SEND, SENDCALL, RECEIVECALL, RECEIVE and the path events have the body `message`; the
 * others have their own. */
struct record {
    struct record_header header;
    union {
        struct {
            uint32_t path; /* number of the PATH record */
            /* byte offset in this direction (TCP: sequence number), or number of a datagram; modulo 2^32 */
            uint32_t offset;
            uint32_t bytes;
            uint32_t span; /* the event happened at time - span (ns, saturating) */
        } message;
        struct {
            uint32_t path; /* 0: a RECEIVECALL of a call that waits for any of several paths */
            uint16_t system_call;
            uint16_t limit;     /* until when at most: any_limit() */
            uint32_t only_path; /* the only one that it waits for; 0: several, or not known */
            uint32_t span;
        } any;
        struct {
            uint32_t path;   /* number of the receiving end's PATH record */
            uint32_t offset; /* as in `message` */
            uint32_t bytes;
            uint32_t queue; /* in the receiver's queue now: bytes of a byte stream, else messages */
        } queued;
        struct {
            uint32_t system_call;
            uint32_t state; /* the kernel's task state while asleep */
            union {
                struct {
                    uint64_t duration : 48; /* ns asleep, ending at time; saturating */
                    uint64_t object : 16;   /* number of its NAME; 0: not known */
                };
                uint64_t duration_and_object;
            };
        } block;
        struct {
            uint32_t child;  /* number of the child's STREAM record */
            uint32_t thread; /* 1: a thread of the same process */
            uint32_t unused[2];
        } create;
        struct {
            uint32_t image; /* number of the IMAGE record */
            uint32_t left;  /* 1: the program gains privilege, and is not metered any more */
            uint32_t unused[2];
        } exec;
        struct {
            uint32_t woken; /* number of its STREAM record; 0: all that wait in `call` */
            uint32_t
                waker; /* NO_STREAM: the stream that did it after its TERMINATION; `woken` is 0: members of `communicator`, 0: not known */
            /* With `woken` 0 the stream begins a collective function of MPI. All members call these in the same order: */
            uint32_t call; /* this is the n-th one, modulo 2^32 ... */
            uint32_t
                communicator; /* ... on this communicator: a hash, not 0, and enum collective_part in the lowest bits */
        } wakeup;
        struct {
            uint32_t status;          /* as in wait(2): exit code << 8, or signal */
            uint32_t last;            /* 1: the process's last stream */
            uint32_t failed_sends;    /* send calls of this stream that failed, not with EAGAIN */
            uint32_t failed_receives; /* the same for receive calls */
        } termination;
        struct {
            uint32_t count;  /* header.sequence is that of the stream's record after the gap */
            uint32_t ring;   /* enum ring_id */
            uint32_t reason; /* enum lost_reason */
            uint32_t unused;
        } lost;
        struct {
            uint64_t runnable;    /* ns that the stream has waited for a CPU since its beginning */
            uint32_t voluntary;   /* times that it gave up its CPU to wait for something */
            uint32_t involuntary; /* times that it was preempted */
        } schedule;
        struct {
            uint8_t number;
            uint8_t result;    /* enum signal_result */
            int16_t code;      /* si_code, as in sigaction(2) */
            uint32_t receiver; /* number of a STREAM of the receiving process; 0: not metered */
            uint32_t receiver_pid;
            uint32_t sender_pid; /* 0: the kernel sent it; or SENDER_UNKNOWN */
        } signal;
        struct {
            uint32_t path;  /* number of the PATH record */
            uint32_t error; /* errno: ECONNREFUSED, ETIMEDOUT ... */
            uint32_t unused;
            uint32_t span; /* connect() was called at time - span (as in `message`) */
        } failed;
        struct {
            uint32_t sensor; /* its number */
            uint32_t unused;
            uint64_t value;
        } sensor;
        struct {
            uint32_t number; /* EVENT_CLASS_FIRST to 255: the ID of its records */
            uint32_t type;   /* enum event_id */
            uint64_t absent; /* EVENT_BODY_FIELD_BIT of each field that its records lack */
        } class;
        struct {
            uint32_t path;    /* number of the PATH record */
            uint32_t count;   /* datagrams since the path was first seen; modulo 2^32 */
            uint32_t refused; /* datagrams dropped for other reasons; modulo 2^32 */
            uint32_t unused;
        } dropped;
        struct {
            uint32_t path;           /* number of the PATH record */
            uint32_t retransmitted;  /* segments retransmitted since the connection began */
            uint32_t round_trip;     /* us, smoothed; 0: nothing acknowledged yet */
            uint32_t unacknowledged; /* bytes in flight: sent and not acknowledged */
        } network;
        struct {
            uint64_t cpu;     /* ns of CPU time that the recorder has used */
            uint32_t wakeups; /* how often the recorder looked for records */
            uint32_t hook;    /* ns in the kernel per record; 0: not known */
        } cost;
    };
};

/* In place of a system call. RECEIVECALL with path 0: a call of MPI that waits for any of several messages. BLOCK: it waited for
 * other processes, in the function that is its object; `state` tells how long it spun there. */
#define MPI_ANY_CALL 0xfffeu

/* What a process does in a collective function of MPI. */
enum collective_part {
    COLLECTIVE_ALL = 0,      /* it needs what all others have: MPI_Allreduce, MPI_Barrier ... */
    COLLECTIVE_GIVES = 1,    /* all others need what it has: the root of MPI_Bcast ... */
    COLLECTIVE_TAKES = 2,    /* ... and these others */
    COLLECTIVE_COLLECTS = 3, /* it needs what all others have: the root of MPI_Reduce ... */
    COLLECTIVE_BRINGS = 4,   /* ... and these others */
    COLLECTIVE_PART_MASK = 7,
};

/* `state` of a BLOCK in MPI: us of CPU time that it spun, above bit 0, which is that of an interruptible sleep. */
static inline __attribute__((always_inline)) uint32_t block_state_of_spinning(uint64_t us)
{
    return (uint32_t)((us < 0x7fffffff ? us : 0x7fffffff) << 1 | 1);
}

static inline bool block_is_of_mpi(const struct record *record)
{
    return record->header.id == EVENT_BLOCK && record->block.system_call == MPI_ANY_CALL;
}

/* For a BLOCK in MPI: ns of CPU time. */
static inline uint64_t block_spun(const struct record *record)
{
    return (record->block.state >> 1) * 1000ull;
}

/* The time limit of a call, in 16 bits, not more than it is: ms, or from LIMIT_SECONDS on seconds. */
#define LIMIT_NOT_KNOWN 0u
#define LIMIT_SECONDS   0x8000u
#define LIMIT_NONE      0xffffu

static inline __attribute__((always_inline)) uint16_t limit_of_ms(uint64_t ms)
{
    if (ms < LIMIT_SECONDS)
        return (uint16_t)ms;
    ms /= 1000;
    return (uint16_t)(LIMIT_SECONDS | (ms < LIMIT_SECONDS - 1 ? ms : LIMIT_SECONDS - 2));
}

/* The meter's two rings, which are also the two CTF streams of a trace. Identities and process events use the small
 * control ring, so that a flood of messages cannot displace them. */
enum ring_id {
    RING_CONTROL = 0,
    RING_DATA = 1,
    RING_COUNT = 2,
};

enum lost_reason {
    LOST_RING_FULL = 1,
    /* The kernel skipped hooks that were already running on that CPU: they were interrupted by an interrupt or another
     * task. `count` is an upper bound: a hook that runs for an unmetered process makes no record. */
    LOST_SKIPPED = 2,
    LOST_NO_PATH = 3, /* messages, uses of files: no memory for the path, or too many paths */
};

enum signal_result {
    SIGNAL_DELIVERED = 0,
    SIGNAL_IGNORED = 1,
    SIGNAL_PENDING = 2, /* the same signal waited for delivery already: the two become one */
    SIGNAL_LOST = 3,    /* the receiver's queue of signals was full */
};

#define STREAM_NAME_SIZE 16

/* One thread. The record is repeated with the same number when an EXEC or a new name changes its contents. */
struct stream_record {
    struct record_header header; /* header.stream is the stream's own number */
    uint32_t pid;                /* process ID (thread group ID), PID namespace of the meter */
    uint32_t tid;
    uint32_t process;       /* number of the process: that of its first stream */
    uint32_t parent;        /* stream that created it; 0: not metered */
    uint64_t start;         /* ns, CLOCK_MONOTONIC; unique together with tid and machine */
    uint32_t pid_inside;    /* PID in its own PID namespace */
    uint32_t user;          /* uid, initial user namespace */
    uint64_t cgroup;        /* cgroup2 id */
    uint32_t pid_namespace; /* inode of its PID namespace */
    uint32_t image;         /* number of the program it executes; 0: not known */
    char name[STREAM_NAME_SIZE];
};

enum path_kind {
    PATH_TCP = 1,
    PATH_UNIX_STREAM = 2,
    PATH_UNIX_DATAGRAM = 3,
    PATH_UNIX_SEQPACKET = 4,
    PATH_UDP = 5,
    PATH_PIPE = 6,
    PATH_FIFO = 7,      /* a pipe with a name in the file system */
    PATH_FILE = 8,      /* a file of a file system, or a device */
    PATH_MQ_SYSV = 9,   /* a System V message queue: its messages of one type */
    PATH_MQ_POSIX = 10, /* a POSIX message queue: its messages of one priority */
    /* of other systems, whose raw records were converted: joined by cookies, on all machines of the system */
    PATH_CHANNEL = 11,      /* of messages */
    PATH_BYTE_CHANNEL = 12, /* of bytes */
    /* MPI: the messages of one tag between two ranks of a communicator; joined by cookies, on all machines of the job */
    PATH_MPI = 13,
    PATH_KIND_END = 14, /* not a kind */
};

/* The number of the bit METER_TCP ... to whose kind a path belongs. */
static inline __attribute__((always_inline)) uint32_t meter_kind_bit(uint32_t path_kind)
{
    switch (path_kind) {
    case PATH_TCP:
        return 0;
    case PATH_UDP:
        return 1;
    case PATH_PIPE:
    case PATH_FIFO:
        return 3;
    case PATH_FILE:
        return 4;
    case PATH_MQ_SYSV:
    case PATH_MQ_POSIX:
        return 5;
    case PATH_MPI:
        return 6;
    default:
        return 2;
    }
}

#define METER_KIND_OF(path_kind) (1u << meter_kind_bit(path_kind))

enum path_role {
    PATH_ROLE_UNKNOWN = 0,
    PATH_ROLE_CONNECTED = 1, /* this end called connect */
    PATH_ROLE_ACCEPTED = 2,  /* this end was returned by accept */
    PATH_ROLE_WRITES = 3,    /* this end of a pipe is written to */
    PATH_ROLE_READS = 4,     /* this end of a pipe is read */
    PATH_ROLE_LISTENS = 5,   /* a socket that accepts connections: it has no other end */
};

enum path_name_end {
    PATH_NAME_NONE = 0,
    PATH_NAME_LOCAL = 1,
    PATH_NAME_REMOTE = 2,
};

#define PATH_NAME_SIZE 112

/* One end of a path: a socket, or one end of a pipe. A connection has two PATH records, joined by their addresses
 * (TCP, UDP) or cookies (UNIX, pipes). */
struct path_record {
    struct record_header header;
    uint32_t path;
    uint8_t kind;     /* enum path_kind */
    uint8_t family;   /* AF_INET, AF_INET6, AF_UNIX */
    uint8_t role;     /* enum path_role */
    uint8_t name_end; /* enum path_name_end: whose address `name` is */
    uint64_t cookie;  /* of this socket; for a pipe's end: a unique number */
    uint64_t peer;    /* cookie of the other end; 0: not known */
    uint64_t inode;   /* of this socket, pipe, file or POSIX queue; System V queue: its msqid */
    /* inode of the network namespace; FIFO, file, POSIX queue: device of its file system; System V queue: inode of the
     * IPC namespace */
    uint32_t network;
    uint16_t local_port; /* host byte order */
    uint16_t remote_port;
    uint8_t local
        [16]; /* IPv4: the first 4 bytes; queue: type or priority of its messages, 8 bytes; MPI: rank, tag, 4 each, communicator, 8 (0: MPI_COMM_WORLD) */
    uint8_t remote[16];        /* MPI: rank, 4 bytes */
    uint32_t start_out;        /* offset of the first byte or message sent */
    uint32_t start_in;         /* the same received; of a file: its generation, 0: not known */
    char name[PATH_NAME_SIZE]; /* UNIX address, '@' = abstract; FIFO, file, POSIX queue: its name */
};

#define IMAGE_NAME_SIZE 128

struct image_record {
    struct record_header header;
    uint32_t image;
    uint32_t device;
    uint64_t inode;
    uint64_t load;              /* address of the program's text */
    char name[IMAGE_NAME_SIZE]; /* file name as given to exec */
};

#define MODULE_NAME_SIZE 128
#define BUILD_ID_SIZE    20

/* A file with program text: that of one or more IMAGEs (same device and inode), or a library. */
struct module_record {
    struct record_header header;
    uint32_t module;
    uint32_t device;
    uint64_t inode;
    /* Address of the first executable segment, in the file's terms. A PC's address in the module: PC - image.load +
     * text. */
    uint64_t text;
    uint8_t build_id[BUILD_ID_SIZE]; /* padded with NULs; all 0: it has none */
    uint32_t unused;
    char name[MODULE_NAME_SIZE]; /* path of the file */
};

#define PROCEDURE_NAME_SIZE 120

/* The procedure at a PC. In a program's own text, one record serves all processes that execute it: `image` is 0 and
 * `address` is the module's. In a library, `address` is the PC in processes of `image`. */
struct procedure_record {
    struct record_header header;
    uint32_t module; /* 0: nothing is known about it */
    uint32_t image;
    uint64_t address;
    /* bytes from the beginning of the procedure, or of the module if it has no name */
    uint64_t offset;
    char name[PROCEDURE_NAME_SIZE]; /* empty: the module has no symbol there */
};

enum name_kind {
    NAME_USER = 1,
    NAME_CGROUP = 2,  /* path below the root cgroup, beginning with '/' */
    NAME_COMMAND = 3, /* command line: arguments separated by blanks */
    NAME_RULE = 4,    /* a selection rule that was in force; `number` counts from 1 */
    NAME_OBJECT = 5,  /* what a BLOCK waits for; `number` counts from 1 */
    /* a kind of sockets that a metered stream has sent or received on, and that no meter records; `number`: enum
     * unmetered_kind */
    NAME_UNMETERED = 6,
    /* memory that several metered processes share and may write to; `number`: its number, from 1, and below that, 32 bits, the
     * number of one of these processes */
    NAME_SHARED = 7,
};

/* Kinds of sockets, and another way to pass data, that are not metered. Their names: unmetered.c. */
enum unmetered_kind {
    UNMETERED_NONE = 0,
    UNMETERED_MPTCP = 1,
    UNMETERED_SCTP = 2,
    UNMETERED_DCCP = 3,
    UNMETERED_UDP_LITE = 4,
    UNMETERED_RAW = 5, /* also ICMP */
    UNMETERED_PACKET = 6,
    UNMETERED_VSOCK = 7,
    UNMETERED_NETLINK = 8, /* to the kernel, nearly always */
    UNMETERED_OTHER = 9,
    UNMETERED_PROCESS_VM = 10, /* no sockets: process_vm_readv, process_vm_writev */
    UNMETERED_END = 11,        /* not a kind */
};

/* What a call waits for that is no path. Its name: */
enum wait_object {
    WAIT_ON_NOT_KNOWN = 0,
    WAIT_ON_FILE = 1,   /* a file, directory or block device: as of a PATH */
    WAIT_ON_DEVICE = 2, /* a terminal, or another character device: likewise */
    WAIT_ON_PIPE = 3,   /* ... or a FIFO: likewise */
    WAIT_ON_SOCKET = 4, /* of a kind that is not recorded */
    WAIT_ON_ANONYMOUS =
        5,             /* "[timerfd]", "[eventfd]", "inotify" ...: what the kernel calls its kind */
    WAIT_ON_QUEUE = 6, /* "/name" of a POSIX message queue, msqid of a System V one */
    WAIT_ON_SEMAPHORE = 7, /* semid of a System V set */
    WAIT_ON_OPENED = 8,    /* the file that open waits for: as the program names it */
    WAIT_ON_LOCK = 9,      /* "0x55d0c0de4040", the address of a futex that is a lock */
    WAIT_ON_MPI = 10,      /* "MPI_Barrier": other processes, in this function */
    WAIT_ON_END = 11,      /* not a kind */
};

#define NAMED_OBJECTS_MOST 4096u /* that get a name ... */
#define NAMED_LOCKS_MOST   2048u /* ... locks only while there are fewer */

#define NAME_SIZE 208

struct name_record {
    struct record_header header;
    uint64_t number; /* uid; cgroup2 id; number of a process's first STREAM */
    uint32_t kind;   /* enum name_kind */
    uint32_t what;   /* NAME_OBJECT: enum wait_object; else 0 */
    char name[NAME_SIZE];
};

/* The meter that made the records. */
enum meter_kind {
    METER_KERNEL = 0,
    METER_PTRACE = 1, /* offsets are counted when calls end; there is no MESSAGEQUEUED */
    METER_OTHER =
        2, /* that of another system; its raw records were converted, their offsets counted */
};

#define MACHINE_NAME_SIZE      64
#define MACHINE_ADDRESSES_SIZE 256

struct machine_record {
    struct record_header header;
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    uint64_t meter_flags;    /* in force when the recording began */
    uint32_t kinds_left_out; /* METER_TCP, METER_UDP ...: not metered */
    uint32_t cpus;           /* in use; 0: not known */
    uint32_t meter;          /* enum meter_kind */
    uint32_t unused;
    char name[MACHINE_NAME_SIZE];
    char system[MACHINE_NAME_SIZE];         /* kernel and architecture */
    char addresses[MACHINE_ADDRESSES_SIZE]; /* separated by blanks */
};

/* What is metered changed at this moment. */
struct flags_record {
    struct record_header header;
    uint64_t meter_flags;    /* in force from now on */
    uint32_t kinds_left_out; /* as in MACHINE */
    uint32_t process; /* whose flags these are: number of its first STREAM; 0: all processes' */
    uint32_t rules;   /* how many selection rules are in force; 0: none */
    uint32_t unused;
};

#define RECORD_SIZE_MOST 512 /* bytes; no type is larger */

#define NOT_KNOWN UINT64_MAX /* in SUMMARY and CGROUP: this kernel does not say */

/* The state of the machine. All but the numbers of the moment are totals since it was booted: two SUMMARYs give the use
 * between them. Times in ns, memory and traffic in bytes. */
struct summary_record {
    struct record_header header;
    uint64_t cpu_user;   /* of all CPUs together */
    uint64_t cpu_system; /* with interrupts */
    uint64_t cpu_idle;
    uint64_t cpu_disk;         /* idle while a disk was waited for */
    uint64_t cpu_stolen;       /* given to other virtual machines */
    uint64_t runnable;         /* of the moment: tasks that run or wait for a CPU */
    uint64_t in_disk;          /* of the moment: tasks that wait for a disk */
    uint64_t load;             /* of the moment: load average of the last minute, times 100 */
    uint64_t memory;           /* of the machine */
    uint64_t memory_available; /* of the moment */
    uint64_t swap;
    uint64_t swap_free;    /* of the moment */
    uint64_t major_faults; /* page faults that needed a disk */
    uint64_t swapped_in;
    uint64_t swapped_out;
    uint64_t cpu_waited; /* pressure stall information: time in which some task waited for a CPU */
    uint64_t memory_waited;     /* ... in which some task waited for memory */
    uint64_t memory_waited_all; /* ... in which all that were not idle did */
    uint64_t disk_waited;
    uint64_t disk_waited_all;
    uint64_t disk_reads; /* of all disks together */
    uint64_t disk_writes;
    uint64_t disk_read; /* bytes */
    uint64_t disk_written;
    uint64_t
        disk_busy; /* time in which requests were in progress, of the disk busiest in its interval */
    uint64_t network_received; /* of all interfaces but loopback, in this network namespace */
    uint64_t network_sent;
    uint64_t network_packets_received;
    uint64_t network_packets_sent;
    uint64_t network_dropped;   /* packets, either way */
    uint64_t tcp_retransmitted; /* segments */
};

/* The limits of a cgroup2 with metered processes, and what they cost it. Totals since the cgroup was created. */
struct cgroup_record {
    struct record_header header;
    uint64_t cgroup;            /* cgroup2 id */
    uint64_t cpu;               /* ns of CPU time used */
    uint64_t quota;             /* ns of CPU time in each period; 0: no limit */
    uint64_t period;            /* ns */
    uint64_t periods;           /* in which the cgroup ran */
    uint64_t throttled_periods; /* ... and used up its quota */
    uint64_t throttled;         /* ns that it was throttled, of all its CPUs together */
    uint64_t memory;            /* bytes in use now */
    uint64_t memory_most;       /* limit; 0: none */
    uint64_t memory_reclaims;   /* times that it reached the limit */
    uint64_t oom_kills;         /* processes killed because of the limit */
    uint64_t cpu_waited;        /* pressure stall information, as in SUMMARY */
    uint64_t memory_waited;
    uint64_t disk_waited;
};

/* What `dpm steer` has decided. */
enum decision_outcome {
    DECISION_TRIES = 1,
    DECISION_WOULD = 2, /* nothing is changed */
    DECISION_KEPT = 3,
    DECISION_UNDONE = 4,
    DECISION_FAILED = 5,   /* it could not be done */
    DECISION_NOTHING = 6,  /* to do */
    DECISION_OUTCOMES = 7, /* not one */
};

enum decision_flag {
    DECISION_IS_TIME = 1,  /* the goal is a time: less is better */
    DECISION_IS_ROUGH = 2, /* the promise is all that there is to save, as far as it is known */
};

#define DECISION_NOT_KNOWN UINT32_MAX

#define DECISION_ACT_SIZE    64
#define DECISION_SHORT_SIZE  48
#define DECISION_REASON_SIZE 176

struct decision_record {
    struct record_header header;
    uint64_t number; /* of the act that was tried: 1, 2 ...; 0: none yet */
    /* Values of the goal: ns, or thousandths of one in a second. NOT_KNOWN: nothing has one */
    uint64_t before;
    uint64_t after;
    uint64_t before_length; /* ns that were measured before it was tried ... */
    uint64_t after_length;  /* ... and after it, up to now */
    uint32_t outcome;       /* enum decision_outcome */
    uint32_t flags;         /* enum decision_flag */
    /* Gains in thousandths, at most DECISION_NOT_KNOWN - 1: 100 is 10 % more, or a time that is divided by 1.1 */
    uint32_t predicted;
    uint32_t noise;
    char act[DECISION_ACT_SIZE]; /* "workers of app"; "": none. Texts that are too long are cut */
    char from[DECISION_SHORT_SIZE];
    char to[DECISION_SHORT_SIZE];
    char goal[DECISION_SHORT_SIZE]; /* "requests/s of load" */
    char reason[DECISION_REASON_SIZE];
};

enum end_reason {
    END_COMPLETE = 1, /* all metered processes ended, or the user ended the recording */
    END_SIZE = 2,     /* the trace reached its maximum size */
    END_DISK = 3,     /* a write failed: disk full, or an error */
    END_REPAIRED = 4, /* `dpm repair` closed a truncated trace */
    END_METER = 5,    /* the meter or DPM failed, or the service ended its session */
};

struct end_record {
    struct record_header header;
    uint64_t records; /* records in the trace, this one included */
    uint64_t lost;    /* records lost, all rings */
    uint32_t reason;  /* enum end_reason */
    uint32_t unused;
};

/* The second record of each control file of a trace but the first, after MACHINE. It and the `repeated` records after it
 * say again what is valid at this moment, because earlier files are removed. Totals are since the recording began. */
struct begin_record {
    struct record_header header;
    uint64_t began;        /* when the recording began */
    uint64_t records;      /* in earlier files; repeated ones do not count */
    uint64_t lost_control; /* records lost, of each ring */
    uint64_t lost_data;
    uint64_t cpu; /* of the latest COST */
    uint32_t wakeups;
    uint32_t repeated;
};

#ifndef DPM_KERNEL_SIDE
_Static_assert(sizeof(struct record_header) == 32, "the header is 32 bytes");
_Static_assert(sizeof(struct record) == 48, "an event record is 48 bytes");
_Static_assert(sizeof(struct stream_record) == 96, "STREAM is 96 bytes");
_Static_assert(sizeof(struct path_record) == 224, "PATH is 224 bytes");
_Static_assert(sizeof(struct image_record) == 184, "IMAGE is 184 bytes");
_Static_assert(sizeof(struct module_record) == 208, "MODULE is 208 bytes");
_Static_assert(sizeof(struct procedure_record) == 176, "PROCEDURE is 176 bytes");
_Static_assert(sizeof(struct name_record) == 256, "NAME is 256 bytes");
_Static_assert(sizeof(struct machine_record) == 472, "MACHINE is 472 bytes");
_Static_assert(sizeof(struct flags_record) == 56, "FLAGS is 56 bytes");
_Static_assert(sizeof(struct summary_record) == 280, "SUMMARY is 280 bytes");
_Static_assert(sizeof(struct cgroup_record) == 144, "CGROUP is 144 bytes");
_Static_assert(sizeof(struct decision_record) == 472, "DECISION is 472 bytes");
_Static_assert(sizeof(struct begin_record) == 80, "BEGIN is 80 bytes");
_Static_assert(sizeof(struct end_record) == 56, "END is 56 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces are little-endian");
#endif

#endif
