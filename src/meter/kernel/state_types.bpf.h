/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * state_types.bpf.h: what the meter knows of a stream, of a path and of everything else that it follows. The maps that hold
 * these, and their keys, are in state.bpf.h.
 */
#ifndef DPM_STATE_TYPES_BPF_H
#define DPM_STATE_TYPES_BPF_H

#include "meter/kernel/kernel.bpf.h"
/* after kernel.bpf.h, which declares the types */
#include "event/record.h"
#include "meter/shared/caller.h"
#include "meter/shared/message.h"

/* A send call in progress. TCP updates it while the socket is locked, so that a call that interleaves with another
 * sender's on the same socket is split into exact pieces. */
struct send_call {
    uint64_t socket; /* address; 0 = no call in progress */
    uint64_t begin;  /* when the first byte of the piece became visible */
    union {
        uint64_t peer;    /* UNIX: cookie of the receiving socket */
        uint64_t message; /* TCP: address of the msghdr */
    };
    uint32_t path;
    uint32_t first; /* offset of the piece's first byte */
    uint32_t left;  /* bytes that the call had left when the piece began */
    uint32_t out;   /* bytes of the piece that are sent so far */
    uint32_t done;  /* bytes of the call in finished pieces */
    uint32_t told;  /* bytes of the call in the last SENDCALL, plus 1, and how; 0 = none */
    uint32_t flags; /* RECORD_CONTINUED: part of a sendfile or splice call; RECORD_CONCURRENT */
    uint32_t call;  /* TCP: number of the system call */
    /* UNIX: its ordinal among the sends of the path, in the order in which they became visible ... */
    uint32_t seen;        /* 0 = not known */
    uint32_t others;      /* ... and how many others were in progress then */
    uint32_t first_sends; /* index there plus 1; 0: counted in its path */
    uint32_t page;        /* UNIX stream, sendfile before Linux 6.5: bytes of the page; else 0 */
    uint32_t number;      /* of a message, from its position in the queue, number.bpf.h ... */
    uint8_t numbered;     /* ... if it was looked for and found */
};

/* Whether a receive call has pieces that were not recorded. */
enum untold {
    UNTOLD_NONE,
    UNTOLD_PIECES,
    UNTOLD_BEHIND, /* and the path's recorded positions now begin behind them */
};

/* A receive call in progress. */
struct receive_call {
    uint64_t socket; /* address; 0 = nothing received yet */
    uint32_t path;
    uint32_t first;   /* offset of the piece's first byte */
    uint32_t next;    /* offset after its last */
    uint32_t done;    /* bytes of the call in finished pieces */
    uint64_t peer;    /* UNIX datagram: cookie of the sending socket */
    uint64_t late;    /* UNIX datagram: time of the copy, if it was not `numbered` then */
    uint32_t copied;  /* UNIX datagram, seqpacket: bytes copied, plus 1; 0 = not seen */
    uint32_t flags;   /* RECORD_END_OF_FILE */
    uint32_t call;    /* TCP: number of the system call */
    uint64_t when;    /* time of the last copy by an io_uring worker; else 0 */
    uint32_t behind;  /* offset after its last unrecorded piece ... */
    uint8_t untold;   /* ... enum untold: received while the stream was silent */
    uint8_t numbered; /* UNIX datagram: `first` is the message's number */
    uint8_t older;    /* it has received more than is known, before its first piece */
};

/* Progress of a sendmmsg or recvmmsg call. If it stops before its last message, it ends with an error but has not
 * failed. */
struct many_call {
    uint64_t identity; /* distinguishes the call from others; 0 = none in progress */
    uint32_t count;    /* messages done */
    uint32_t of;       /* messages asked for */
};

enum stream_life {
    STREAM_UNCLAIMED, /* has at most a number */
    STREAM_CLAIMED,   /* being filled in */
    STREAM_ALIVE,
    STREAM_ENDED,
};

/* Whether the trace has a STREAM of it. */
enum stream_listing {
    STREAM_UNLISTED,
    STREAM_LISTED,
    STREAM_NEVER_LISTED, /* it has ended before */
};

/* What to record when the stream runs next. */
enum stream_away {
    AWAY_NOT_STARTED = 1,
    AWAY_STOPPED = 2,  /* by a signal */
    AWAY_BLOCKED = 4,  /* in a BLOCK */
    AWAY_CONNECTS = 8, /* it waits for the outcome of a connect(), outcome.bpf.h */
};

/* Identifies a UDP path: both addresses as in the packets. `remote` is empty for a socket without a peer. */
struct udp_key {
    uint64_t socket; /* cookie */
    uint8_t local[16];
    uint8_t remote[16];
    uint16_t local_port;
    uint16_t remote_port;
    uint32_t family;
};

/* A UDP datagram between its packet and its call. Several that travel in one buffer (UDP_SEGMENT, UDP_GRO) have
 * consecutive numbers. */
struct datagram {
    struct udp_key key;
    uint64_t buffer; /* address */
    union {
        uint64_t time; /* when it left */
        uint64_t gone; /* in an inbox: since when it is known to be received, 0 = it is not */
    };
    uint32_t number;   /* of the first datagram */
    uint32_t bytes;    /* of all datagrams */
    uint32_t segments; /* number of datagrams; 0 = none */
    uint16_t segment;  /* bytes of each datagram but the last */
    /* In an inbox: */
    uint16_t processor; /* CPU that it arrived on ... */
    uint8_t node;       /* ... and the CPU's memory node */
    uint8_t aside;      /* its index is in `aside` of the socket */
    uint8_t doubtful;   /* another receive may have taken it */
};

enum path_state {
    PATH_KNOWS_IN = 1,    /* `in` is exact */
    PATH_ESTABLISHED = 2, /* start_out and start_in are the connection's initial positions */
    PATH_KNOWS_OUT = 4,   /* UDP: `out` is the last number sent */
    PATH_INBOX = 8,       /* UDP socket: arriving datagrams are noted in `inbox` */
    PATH_LISTED = 16,     /* UDP: `udp_peers` has it */
    PATH_MANY = 32,       /* UDP: leads to several receivers */
    PATH_SETTLED = 32,    /* UNIX: `out` counts from the same origin as the receiver */
    PATH_IN_DOUBT = 64,   /* UNIX: `out` may be wrong, doubt.bpf.h */
    PATH_ARRIVING = 128,  /* TCP: `arrived` is exact */
};

/* How silent streams have used a path since its PATH record. */
enum path_moved {
    PATH_MOVED_OUT = 1,
    PATH_MOVED_IN = 2,
    PATH_CREATED = 4, /* PATH was made ahead of the first use, but CREATEPATH was recorded, too */
};

/* Number of sends on one path. */
struct sends {
    uint32_t visible; /* have become visible ... */
    uint32_t ended;   /* ... and of these, have ended */
};

/* When bytes of a send in progress were first received, and up to which offset. The sender's own time stamp may be a
 * little later. */
struct early {
    uint64_t time; /* 0 = none was received */
    uint32_t in;
};

#define ASIDE_MOST     8
#define SEVERAL_TAKERS (~0u)

struct path {
    /* User space reads these four: struct survey_path. */
    uint32_t number;  /* 0 = no PATH record yet */
    uint32_t dropped; /* UDP: datagrams dropped because the receive queue was full */
    uint32_t told;    /* those and refused ones in the last DROPPED record */
    uint32_t
        refused; /* UDP: datagrams dropped for other reasons: by the socket's filter, damaged ... */
    uint8_t kind;
    uint8_t role;
    uint8_t state;    /* enum path_state */
    uint8_t settling; /* how many passes in a row found the same `shift`, settle.bpf.h */
    uint32_t out;     /* UNIX: offset of the next byte or message sent; UDP: last number */
    uint32_t in;      /* offset of the next byte or message received; UDP: last number */
    uint32_t start_out;
    uint32_t start_in;
    uint64_t established; /* time, 0 = not known */
    uint64_t inode;
    struct early early; /* UNIX */
    uint32_t shift;     /* UNIX: what `out` lacks to match the receiver's count */
    union {
        uint64_t settled;   /* when that was added, or the queue last looked at since */
        uint64_t called_at; /* TCP: when connect() was called, 0 = not known ... */
    };
    union {
        uint64_t socket;    /* UNIX datagram, stream in doubt: address of the socket, 0 = unknown */
        uint64_t caller_pc; /* ... and the PC of that, as user_pc() returns it */
    };
    uint64_t sender; /* UNIX datagram: address of the peer's socket, once it has sent */
    union {
        /* UNIX datagram: last sweep found the peer closed and the queue empty, or the socket closed */
        uint32_t gone;
        uint32_t connector; /* TCP: the stream that waits for its outcome, 0 = none */
    };
    uint32_t reserved; /* TCP, accepted: number in `accepted`, 0 = it is not there */
    uint32_t used;     /* UDP: value of `sweeps` at its last use */
    uint32_t place;    /* UDP: index in udp_peers */
    /* Storage of a UDP socket: */
    uint64_t queued;    /* low half: datagrams arrived; high half: changes with each update */
    uint32_t taken;     /* how many of them have left the inbox for good */
    uint32_t filling;   /* how many have an index in the inbox, but are not there yet */
    uint32_t older;     /* how many are queued that arrived before the inbox was opened */
    uint32_t peers;     /* number of indexes in udp_peers given out */
    uint32_t announced; /* inbox index up to which MESSAGEQUEUED was recorded */
    uint32_t taker;     /* the only stream that has received any; 0 = none, or SEVERAL_TAKERS */
    uint64_t confused;  /* last time that a receive's datagram was uncertain */
    uint64_t told_at;   /* time of the last DROPPED record */
    uint32_t aside[ASIDE_MOST]; /* inbox indexes that others overtook, 0 = none */
    uint32_t listed;            /* TCP: survey_connections did; UNIX datagram: user space can */
    uint32_t arrived;           /* TCP: position up to which MESSAGEQUEUED was recorded */
    uint32_t seen_out;    /* UNIX stream: all bytes up to here are queued or known to be received */
    struct sends sends;   /* UNIX */
    uint32_t moved;       /* enum path_moved; if not 0, PATH is repeated at the next use */
    uint32_t out_of_step; /* UNIX: a send may be queued but not counted, order.bpf.h */
    uint32_t counted_ahead; /* ... or was, when the count was corrected */
    uint32_t ahead;         /* its number, if PATH was made ahead of its first use */
};

_Static_assert(sizeof(struct path) <= 256, "the program outside reads it into so much room");

/* The two ends of a pipe. */
enum pipe_end {
    PIPE_WRITTEN,
    PIPE_READ,
    PIPE_ENDS,
};

/* Identifies a file, and so a pipe. */
struct pipe_key {
    uint64_t inode;
    uint64_t device;
};

struct pipe {
    uint64_t address; /* of the kernel's pipe; differs each time a FIFO is opened anew */
    uint64_t inode;   /* address */
    uint64_t met;     /* time */
    struct early early;
    uint32_t paths[PIPE_ENDS]; /* numbers, 0 = no PATH record yet */
    uint32_t serial;           /* makes up the cookies of its ends */
    uint32_t out; /* offset of the next byte written, and read: counted at the ends of calls */
    uint32_t in;
    uint32_t opens; /* FIFO: number of opens seen; opening both ends at once counts twice */
    uint32_t alive; /* its serial; 0 = ended, about to be removed from the map */
    uint32_t kind;
    uint32_t missing;          /* in doubt: what `out` seemed to lack ... */
    uint32_t agreed;           /* ... and how many times in a row */
    uint32_t lowered;          /* `in` when `out` was last found too high */
    uint32_t users[PIPE_ENDS]; /* in doubt: first thread that ended a call there, 0 = none */
    uint32_t swept_in;         /* at the last sweep ... */
    uint32_t swept_out;
    uint32_t uncounted;      /* ... and how many more bytes were in the pipe */
    bool older;              /* existed before the metering: counts from OLDER_BEGIN */
    bool in_doubt;           /* counts may be wrong, until it is empty and they agree */
    bool has_uncounted;      /* uncounted bytes have passed through it */
    bool watched;            /* unmetered processes may use it: all calls are counted */
    bool packets;            /* it was written to with O_DIRECT */
    bool several[PIPE_ENDS]; /* in doubt: more than one thread has ended calls there */
};

/* A file as one process uses it. */
struct file_key {
    uint64_t inode;
    uint32_t device;
    uint32_t process;    /* its number */
    uint32_t generation; /* tells files apart that had the same inode one after the other */
    uint32_t unused;
};

struct used_file {
    uint32_t path;   /* number, 0 = no PATH record yet */
    uint32_t opens;  /* calls that opened it ... */
    uint32_t closes; /* ... and that closed it */
    int32_t held;    /* how many descriptors of it are open, as far as is known */
    uint32_t used;   /* value of `sweeps` at its last use */
    uint32_t ended;  /* 1 = about to be removed from the map */
};

#define WALKED_SIZE 256 /* a power of two: what the verifier cannot follow is masked */

/* The text of a file's name, written from its end. */
struct walked {
    char text[WALKED_SIZE];
    uint32_t at; /* where it begins */
};

/* What a call waits for (object.bpf.h). */
struct object_key {
    uint64_t identity; /* inode, id, address, or a hash of the name */
    uint32_t place;    /* device; of a name or an address, the process that uses it */
    uint32_t kind;     /* enum wait_object */
};

/* The messages of one type (System V) or priority (POSIX) in a queue; `type` ALL_TYPES: the queue itself. */
#define ALL_TYPES (-1LL)

struct queue_key {
    uint64_t identity; /* msqid, or inode */
    int64_t type;
    uint32_t place; /* inode of the IPC namespace, or device */
    uint32_t kind;  /* enum path_kind */
};

/* A queue that a call uses. */
struct queue_use {
    struct queue_key key;
    uint64_t address; /* of the kernel's queue */
    uint64_t file;    /* POSIX: address of the open file */
    bool unsure;      /* the message's priority is a guess */
};

enum queue_life {
    QUEUE_LIVE,
    QUEUE_IDLE,  /* the last sweep found it unused for long */
    QUEUE_ENDED, /* about to be removed from the map */
};

#define PRIORITIES_MOST 8 /* that a queue is remembered to have */

struct message_queue {
    struct early early;
    uint64_t address;  /* of the kernel's queue */
    uint64_t met;      /* time */
    uint32_t paths[2]; /* numbers, 0 = no PATH record yet; by enum pipe_end */
    uint32_t serial;   /* makes up the cookies of its ends */
    uint32_t out; /* number of the next message sent, and received: counted at the ends of calls */
    uint32_t in;
    uint32_t life; /* enum queue_life */
    uint32_t used; /* value of `sweeps` at its last use */
    bool older;    /* used before the metering: counts from OLDER_BEGIN */
    /* Set in the entry of the whole queue (all types): */
    uint32_t in_doubt; /* counts may be wrong */
    uint32_t users[2]; /* first thread met in a call that sends, or receives ... */
    uint32_t several;  /* ... and whether any other was met in such a call */
    uint32_t priorities[PRIORITIES_MOST]; /* seen so far, plus 1; 0 = none */
};

/* What has been received from one UNIX socket. */
struct taken {
    uint32_t in;    /* offset of the next byte or message */
    uint32_t path;  /* number of the receiving end's path, 0 = not known yet */
    uint32_t doubt; /* RECORD_OLDER while the sender's path is PATH_IN_DOUBT */
};

/* What make_path needs to know about a socket. */
struct socket_facts {
    struct sock *sk;
    uint64_t cookie;
    uint64_t peer;
    uint64_t inode;
    uint32_t family;
    uint32_t kind;
    bool connected; /* its descriptor identifies this path */
};

/* A UDP receive call that has just ended. */
struct taker {
    struct sock *sk;  /* in memory, because the verifier rejects socket pointers as arguments */
    uint64_t socket;  /* cookie */
    uint64_t idle_at; /* when its stream last had no unrecorded datagram, 0 = unknown */
    uint32_t stream;  /* its number, SEVERAL_TAKERS = unknown */
    uint32_t result;  /* bytes returned */
    uint32_t message_number; /* index of the message in its call */
    uint32_t length;         /* enum taken_length */
};

enum taken_length {
    LENGTH_HANDED,  /* the result may be less than the datagram's length */
    LENGTH_TRUE,    /* the result is the datagram's length */
    LENGTH_UNKNOWN, /* the call is not known */
};

/* An operation of io_submit(2): its address, and what is there from this byte on: struct iocb (linux/aio_abi.h). */
#define SUBMITTED_OPERATION 16

struct submitted {
    uint64_t address;
    uint16_t operation, priority;
    uint32_t descriptor;
    uint64_t buffer, size;
};

/* Working memory of a hook, too large for the stack: before Linux 6.13 all nested functions together have 512 bytes. */
struct scratch {
    struct message message;   /* of the call that ends */
    struct message leaving;   /* of a call in which the stream sleeps or is preempted */
    struct message beginning; /* of a path */
    struct socket_facts facts;
    struct udp_key key;
    struct taker taker;
    struct path path;
    struct pipe pipe;
    struct walked walked;
    struct object_key object; /* of a call that waits */
    struct message_queue queue;
    struct queue_use use; /* of the call that ends */
    struct submitted submitted;
};

#define PC_MEMORIES 4

struct stream {
    uint64_t
        flags; /* EVENT_FLAG bits that it may record at some time: the hooks follow it for these */
    uint64_t told;  /* ... and that it records now. For the others, only positions are counted */
    uint32_t kinds; /* METER_TCP ...: likewise, of which paths it records what it does there */
    uint32_t number;
    uint32_t process;
    uint32_t parent;
    uint32_t image;   /* executed by the process, 0 = unknown */
    uint32_t version; /* how many STREAM records it has had */
    uint32_t user;    /* in the last one */
    uint32_t sequence;
    uint32_t mark;             /* silent until this generation of marks has begun, see silent() */
    uint32_t life;             /* enum stream_life */
    uint64_t lost[RING_COUNT]; /* since the last LOST record */
    uint32_t failed_sends;
    uint32_t failed_receives;
    uint8_t from_exec;   /* metering begins with the next exec */
    uint8_t away;        /* enum stream_away */
    uint8_t silent;      /* during the current hook, see silent() */
    uint8_t receivecall; /* RECEIVECALL of the receive call in progress was made */
    uint8_t asleep;      /* in a sleep whose waker is to be recorded */
    uint8_t waits;       /* sleeps in a receive call */
    uint8_t queue_full;  /* SENDCALL of the call in progress on a message queue was made */
    uint32_t listed;     /* enum stream_listing */
    uint32_t last_told;  /* in a process's first thread: TERMINATION of its last thread was made */
    uint32_t connects;   /* calls of connect() whose outcome is not recorded yet ... */
    uint32_t outcomes;   /* ... and how many of its `outcomes` are */
    /* cookie of the socket whose connect() is in progress, if no hook of the stream has run since it began; else 0 */
    uint64_t connecting;
    uint32_t connect_error; /* the result of the connect() that just ended, 0 = not known */
    uint32_t block_call;
    uint32_t block_state;
    uint32_t block_object; /* number of what it waits for, 0 = not known */
    uint32_t block_flags;
    uint64_t blocked_at; /* AWAY_BLOCKED: start time ... */
    uint64_t blocked_pc; /* ... and PC, as user_pc() returns it */
    uint64_t woken_at;   /* used by is_on_stack_of() in the waker */
    uint64_t sent_by;    /* sendfile or splice call that made the last SEND, 0 = none */
    uint64_t taken_by;   /* splice call that last read a TCP socket, 0 = unknown */
    uint32_t has_taken;  /* ... and whether it has taken bytes */
    uint64_t idle_at;    /* when it was last seen without an unrecorded UDP datagram */
    /* a time at which it was in no write, 0 = none known: its writes into pipes that were met earlier began after
     * that */
    uint64_t written_at;
    uint64_t pipe_write_at; /* when its write into a pipe began, 0 = not known */
    uint64_t file_call_at;  /* when the call in progress began, if it can be one on files */
    uint32_t older_send;    /* a send call from before the mark may be in progress */
    /* UNIX sockets with a call in progress that began before the mark, 0 = none: */
    uint64_t older_socket;  /* the stream socket it sends on, counted in `older_sends` */
    uint64_t older_receive; /* the socket it receives from; what it has taken may be uncounted */
    /* `runnable` of its last SCHEDULE */
    uint64_t told_runnable;
    struct many_call send_many;
    struct many_call receive_many;
    struct send_call send;
    struct receive_call receive;
    struct datagram datagram; /* UDP: sent or received by the call in progress */
    struct text text;         /* of its program, during a search for the PC */
    struct pc_memory pcs[PC_MEMORIES];
    struct scratch scratch; /* use scratch_of() */
};

struct inode_path {
    uint32_t number;
    uint16_t provisional; /* made when only the socket's descriptor was known */
    uint16_t gone;        /* the last sweep found the socket closed */
    uint64_t address; /* of the socket, if sweep_made has to find out that it is closed; else 0 */
    uint64_t peer;    /* cookie of the UNIX socket that it receives from */
};

struct pair_key {
    uint64_t socket; /* cookie */
    uint64_t peer;
};

/* How a connect() ended. */
struct outcome {
    uint64_t begin; /* when it was called ... */
    uint64_t pc;    /* ... and where, as user_pc() returns it */
    uint32_t path;  /* number, 0 = its record was lost */
    uint16_t error; /* of a failed one; 0 = not known */
    uint8_t failed;
    uint8_t created; /* CREATEPATH was made already */
};

struct outcome_key {
    uint32_t stream; /* number */
    uint32_t index;
};

/* A connection that has come from a listener. */
struct accepted {
    uint64_t inode;  /* of its socket, once accept has returned it */
    uint32_t number; /* of its path */
    uint32_t told;   /* 1: its ACCEPT was made, or is being made */
};

struct numbered_key {
    uint64_t socket; /* cookie */
    uint64_t number;
};

struct flight {
    struct udp_key key; /* the sender's */
    uint32_t number;
    uint32_t bytes; /* payload */
};

#endif
