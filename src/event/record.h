/* SPDX-License-Identifier: MIT */
/*
 * record.h: the trace record, THE header that the kernel meter and every program share.
 *
 * One layout serves the meter's rings, the trace on disk and memory: the meter writes it, the
 * writer copies it, the reader casts it. Every number is little-endian, every record's size is a
 * multiple of 8 bytes and fixed by its type (event_size() in event.h).
 *
 *      0        8  9  10   12        16         22        28        32                     48
 *      +--------+--+--+----+---------+----------+---------+---------+----------------------+
 *      | time   |id|ld|flag| sequence| procTime | PC      | _stream | body                 |
 *      | u64    |u8|u8|u16 | u32     | u48      | u48     | u32     | path offset bytes span
 *      +--------+--+--+----+---------+----------+---------+---------+----------------------+
 *      |<- CTF event.header ->|<------------ CTF event.context ---->|<--- CTF event.fields
 *
 * An event record is 48 bytes. What is constant stands once, in identity records that share the
 * first 32 bytes and have a body of their own size: MACHINE, STREAM, PATH, IMAGE, MODULE, PROCEDURE,
 * NAME; END closes the trace. The table in event.c describes every type and field once more, in words; a test holds
 * the two together.
 */
#ifndef DPM_RECORD_H
#define DPM_RECORD_H

/* The kernel side brings these from its own header. */
#ifndef DPM_KERNEL_SIDE
#include <stdint.h>
#endif

/* Types of event. The numbers are part of the trace format: never reuse one. A meter flag is the
 * bit of the type it records (EVENT_FLAG). */
enum event_id {
    EVENT_SEND = 1,          /* a send call completed */
    EVENT_SENDCALL = 2,      /* a stream left the CPU inside a send */
    EVENT_RECEIVECALL = 3,   /* a receive call found nothing and blocks */
    EVENT_RECEIVE = 4,       /* data handed to the process; 0 bytes = end of file */
    EVENT_MESSAGEQUEUED = 5, /* data placed in a receiver's queue */
    EVENT_BLOCK = 6,         /* any other sleep: disk, lock, timer, child */
    EVENT_CREATEPATH = 7,    /* a path met for the first time */
    EVENT_CONNECT = 8,
    EVENT_ACCEPT = 9,
    EVENT_DESTROYPATH = 10,
    EVENT_CREATEPROCESS = 11, /* process or thread created */
    EVENT_EXEC = 12,
    EVENT_STARTPROCESS = 13, /* first time on a CPU, and each continue */
    EVENT_STOPPROCESS = 14,
    EVENT_TERMINATION = 15,
    EVENT_LOST = 16,      /* records of a stream or ring that could not be written */
    EVENT_DISCARDED = 17, /* records a selection removed outside the kernel */
    EVENT_STREAM = 18,    /* identity of a stream */
    EVENT_PATH = 19,      /* identity of one end of a path */
    EVENT_IMAGE = 20,     /* identity of a program image */
    EVENT_MACHINE = 21,   /* identity of the machine; first in its trace */
    EVENT_END = 22,       /* the recording ended in order; last in its trace */
    EVENT_MODULE = 23,    /* identity of a file of program text */
    EVENT_PROCEDURE = 24, /* the name of a PC */
    EVENT_NAME = 25,      /* the name of a user or a cgroup */
    EVENT_DROPPED = 26,   /* datagrams that found their receiver's queue full */
    EVENT_NETWORK = 27,   /* how the network served a TCP connection */
    EVENT_COST = 28,      /* what the recording itself cost */
    EVENT_WAKEUP = 29,    /* a stream ended another one's sleep */
    EVENT_ID_END = 30,    /* not a type */
};

#define EVENT_FLAG(id) (1u << (id))

/* The meter flag that is no type's: records carry the PC. */
#define METER_FLAG_PC (1u << 31)

/* Kinds of paths that can be metered apart from the others. */
#define METER_TCP  1u
#define METER_UDP  2u
#define METER_UNIX 4u
#define METER_PIPE 8u

#define SPAN_UNIT_SHIFT 11

/* Bits of record_header.flags. */
enum record_flag {
    /* continues the call of this stream's previous SEND or RECEIVE on this path: one call is one
     * message, however many pieces it has */
    RECORD_CONTINUED = 1,
    /* RECEIVE: the call did not block; its RECEIVECALL is implied */
    RECORD_CALL_IMPLIED = 2,
    /* the path is older than the metering; SEND or RECEIVE on a pipe or a UNIX stream: calls that were in progress when
     * it was met may not have ended, and the position may be wrong */
    RECORD_OLDER = 4,
    /* PC lies in a library, not in the program */
    RECORD_LIBRARY = 8,
    /* made outside a task's own call: sequence, procTime and PC mean nothing */
    RECORD_NO_STREAM = 16,
    /* RECEIVE: nothing was handed over, for nothing will come any more */
    RECORD_END_OF_FILE = 32,
    /* PATH: a pipe written with O_DIRECT: what a read leaves of a packet is gone, and positions behind
     * it may be wrong */
    RECORD_PACKETS = 64,
    /* SEND on a UNIX socket: another one was in progress there, known as yet or not, whose bytes may lie before its
     * own, though they are counted behind them, or the reverse. RECEIVE on a UDP socket: others were in progress there, and
     * it may have taken another datagram. Of the ptrace meter: SEND and RECEIVE on any path */
    RECORD_CONCURRENT = 128,
    /* PATH of TCP: positions are counted, from numbers of the meter's own on, not those of the packets */
    RECORD_COUNTED = 512,
    /* RECEIVE of the ptrace meter: another message of the call of the stream's previous one */
    RECORD_SAME_CALL = 1024,
    /* SENDCALL: it did not wait for room, another stream got its CPU */
    RECORD_PREEMPTED = 256,
    /* three bits: the unit of a message's span, 16 to their power, ns (event/message.h) */
    RECORD_SPAN_UNIT = 7 << SPAN_UNIT_SHIFT,
};

struct record_header {
    uint64_t time; /* ns, CLOCK_MONOTONIC, when the record was made */
    uint8_t id;    /* enum event_id */
    uint8_t load;  /* runnable tasks on this CPU, saturating */
    uint16_t flags;
    uint32_t sequence;         /* per stream, gap-free, modulo 2^32 */
    uint64_t proc_time_and_pc; /* bits 0-47 procTime (ns, modulo 2^48); 48-63 PC's bits 0-15 */
    uint32_t pc_high;          /* PC's bits 16-47 */
    uint32_t stream;           /* number of the STREAM record */
};

#define PROC_TIME_MASK 0xffffffffffffULL /* its bits */

static inline uint64_t record_proc_time(const struct record_header *header)
{
    return header->proc_time_and_pc & PROC_TIME_MASK;
}

/* ns of processor time from one record of a stream to another, modulo 2^48; 0: the other one is earlier. */
static inline uint64_t proc_time_used(uint64_t from, uint64_t to)
{
    uint64_t used = (to - from) & PROC_TIME_MASK;

    return used > PROC_TIME_MASK / 2 ? 0 : used;
}

static inline uint64_t record_pc(const struct record_header *header)
{
    return (header->proc_time_and_pc >> 48) | ((uint64_t)header->pc_high << 16);
}

/* An event record, 48 bytes. The body of SEND, SENDCALL, RECEIVECALL, RECEIVE and of the path events
 * is `message`; the others have their own. */
struct record {
    struct record_header header;
    union {
        struct {
            uint32_t path;   /* number of the PATH record */
            uint32_t offset; /* byte offset of the path's direction (TCP: sequence number), or
                                message number of a datagram; modulo 2^32 */
            uint32_t bytes;
            uint32_t span; /* the event happened at time - span (ns, saturating) */
        } message;
        struct {
            uint32_t path;   /* number of the receiving end's PATH record */
            uint32_t offset; /* as in `message` */
            uint32_t bytes;
            uint32_t queue; /* in the receiver's queue now: bytes of a byte stream, else messages */
        } queued;
        struct {
            uint32_t system_call;
            uint32_t state;    /* the kernel's task state it slept in */
            uint64_t duration; /* ns asleep, ending at time */
        } block;
        struct {
            uint32_t child;  /* number of the child's STREAM record */
            uint32_t thread; /* 1: a thread of the same process */
            uint32_t unused[2];
        } create;
        struct {
            uint32_t image; /* number of the IMAGE record */
            uint32_t unused[3];
        } exec;
        struct {
            uint32_t woken; /* number of its STREAM record */
            uint32_t waker; /* RECORD_NO_STREAM: who has done it after its TERMINATION; else 0 */
            uint32_t unused[2];
        } wakeup;
        struct {
            uint32_t status;          /* as wait(2) gives it: exit code << 8, or signal */
            uint32_t last;            /* 1: the process's last stream */
            uint32_t failed_sends;    /* send calls of this stream that failed */
            uint32_t failed_receives; /* receive calls of this stream that failed */
        } termination;
        struct {
            uint32_t count;  /* the stream's `sequence` is that of the record after the gap */
            uint32_t ring;   /* enum ring_id */
            uint32_t reason; /* enum lost_reason */
            uint32_t unused;
        } lost;
        struct {
            uint32_t path;  /* number of the PATH record */
            uint32_t count; /* since the path was met; modulo 2^32 */
            uint32_t unused[2];
        } dropped;
        struct {
            uint32_t path;           /* number of the PATH record */
            uint32_t retransmitted;  /* segments sent again, since the connection began */
            uint32_t round_trip;     /* us, smoothed; 0: nothing was acknowledged yet */
            uint32_t unacknowledged; /* bytes sent and not acknowledged */
        } network;
        struct {
            uint64_t cpu;     /* ns that the recorder has used */
            uint32_t wakeups; /* how often it looked for records */
            uint32_t hook;    /* ns in the kernel for each record; 0: not known */
        } cost;
    };
};

/* The meter's two rings, and the two CTF streams of a trace. Identities and process events use the
 * small control ring, so that a flood of messages cannot crowd them out. */
enum ring_id {
    RING_CONTROL = 0,
    RING_DATA = 1,
    RING_COUNT = 2,
};

enum lost_reason {
    LOST_RING_FULL = 1,
    /* the kernel skipped hooks that were already running on that processor: an interrupt or another task came while
     * they ran. `count` is an upper bound: a hook that runs for a process that is not metered makes no record */
    LOST_SKIPPED = 2,
};

#define STREAM_NAME_SIZE 16

/* One thread of execution. Repeated with the same number when EXEC changes what it says. */
struct stream_record {
    struct record_header header; /* header.stream is the stream's own number */
    uint32_t pid;                /* thread group id, initial PID namespace */
    uint32_t tid;
    uint32_t process;       /* number of the process: that of its first stream */
    uint32_t parent;        /* stream that created it, 0 = not metered */
    uint64_t start;         /* ns, CLOCK_MONOTONIC: with tid and machine unique */
    uint32_t pid_inside;    /* pid in its own PID namespace */
    uint32_t user;          /* uid, initial user namespace */
    uint64_t cgroup;        /* cgroup2 id */
    uint32_t pid_namespace; /* inode of the PID namespace it lives in */
    uint32_t image;         /* number of the program it executes, 0 = not known */
    char name[STREAM_NAME_SIZE];
};

enum path_kind {
    PATH_TCP = 1,
    PATH_UNIX_STREAM = 2,
    PATH_UNIX_DATAGRAM = 3,
    PATH_UNIX_SEQPACKET = 4,
    PATH_UDP = 5,
    PATH_PIPE = 6,
    PATH_FIFO = 7,     /* a pipe with a name in the file system */
    PATH_KIND_END = 8, /* not a kind */
};

enum path_role {
    PATH_ROLE_UNKNOWN = 0,
    PATH_ROLE_CONNECTED = 1, /* this end called connect */
    PATH_ROLE_ACCEPTED = 2,  /* this end was handed out by accept */
    PATH_ROLE_WRITES = 3,    /* this end of a pipe is written to */
    PATH_ROLE_READS = 4,     /* this end of a pipe is read */
};

enum path_name_end {
    PATH_NAME_NONE = 0,
    PATH_NAME_LOCAL = 1,
    PATH_NAME_REMOTE = 2,
};

#define PATH_NAME_SIZE 112

/* One end of a path: a socket, or one side of a pipe. The two ends of a connection are two PATH records,
 * joined by addresses (TCP, UDP) or by cookies (UNIX, pipes). */
struct path_record {
    struct record_header header;
    uint32_t path;
    uint8_t kind;        /* enum path_kind */
    uint8_t family;      /* AF_INET, AF_INET6, AF_UNIX */
    uint8_t role;        /* enum path_role */
    uint8_t name_end;    /* enum path_name_end: whose address `name` is */
    uint64_t cookie;     /* of this socket; of this end of a pipe: a number that no other has */
    uint64_t peer;       /* that of the other end, 0 = not known */
    uint64_t inode;      /* of this socket, of the pipe */
    uint32_t network;    /* inode of the network namespace; of a FIFO: device of its file system */
    uint16_t local_port; /* host byte order */
    uint16_t remote_port;
    uint8_t local[16]; /* IPv4 in the first 4 bytes */
    uint8_t remote[16];
    uint32_t start_out;        /* offset of the first byte or message sent */
    uint32_t start_in;         /* offset of the first byte or message received */
    char name[PATH_NAME_SIZE]; /* UNIX address, '@' = abstract; of a FIFO its file's name */
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
    uint64_t text; /* address, in the file's own terms, of its first executable segment: an address
                      of the module is PC - image.load + text */
    uint8_t build_id[BUILD_ID_SIZE]; /* NUL-filled; all 0 = it has none */
    uint32_t unused;
    char name[MODULE_NAME_SIZE]; /* path of the file */
};

#define PROCEDURE_NAME_SIZE 120

/* What stands at a PC. In a program's own text one record serves every process that executes it:
 * image is 0 and address the module's. In a library, address is the PC in processes of `image`. */
struct procedure_record {
    struct record_header header;
    uint32_t module; /* 0 = nothing is known of it */
    uint32_t image;
    uint64_t address;
    uint64_t
        offset; /* bytes from the procedure's beginning, or from the module's if it has no name */
    char name[PROCEDURE_NAME_SIZE]; /* empty: the module has no symbol there */
};

enum name_kind {
    NAME_USER = 1,
    NAME_CGROUP = 2, /* path below the root cgroup, beginning with '/' */
};

#define NAME_SIZE 208

struct name_record {
    struct record_header header;
    uint64_t number; /* uid, or cgroup2 id */
    uint32_t kind;   /* enum name_kind */
    uint32_t unused;
    char name[NAME_SIZE];
};

/* Which meter made the records. */
enum meter_kind {
    METER_KERNEL = 0,
    METER_PTRACE = 1, /* positions are counted when calls end; there is no MESSAGEQUEUED */
};

#define MACHINE_NAME_SIZE      64
#define MACHINE_ADDRESSES_SIZE 256

struct machine_record {
    struct record_header header;
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    uint32_t meter_flags;    /* the flags in force when the recording began */
    uint32_t kinds_left_out; /* METER_TCP, METER_UDP ...: not metered */
    uint32_t cpus;           /* that are in use; 0: not known */
    uint32_t meter;          /* enum meter_kind */
    char name[MACHINE_NAME_SIZE];
    char system[MACHINE_NAME_SIZE];         /* kernel and architecture */
    char addresses[MACHINE_ADDRESSES_SIZE]; /* separated by blanks */
};

enum end_reason {
    END_COMPLETE = 1, /* everything metered ended, or the user ended the recording */
    END_SIZE = 2,     /* the trace reached its largest size */
    END_DISK = 3,     /* a write failed: disk full, or an error */
    END_REPAIRED = 4, /* `dpm repair` closed a trace that was cut */
};

struct end_record {
    struct record_header header;
    uint64_t records; /* records in the trace, this one included */
    uint64_t lost;    /* records lost, all rings */
    uint32_t reason;  /* enum end_reason */
    uint32_t unused;
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
_Static_assert(sizeof(struct machine_record) == 464, "MACHINE is 464 bytes");
_Static_assert(sizeof(struct end_record) == 56, "END is 56 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces are little-endian");
#endif

#endif
