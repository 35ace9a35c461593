/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * state.bpf.h: the meter's state in the kernel, and the two rings it writes to.
 *
 *      task --streams--> struct stream: its meter flags, number, sequence, current call
 *      sock --paths----> struct path:   its number, role, positions of both directions
 *      sock --listeners--> struct path of a socket that listens
 *      (socket, peer) --pairs--> struct path of a datagram socket and one peer
 *      inode --path_of_inode--> number of the path (if only a descriptor is known)
 *      (socket, both addresses) --udp_paths--> struct path of a UDP socket and one peer
 *      (socket, n) --udp_peers--> the n-th of its udp_paths
 *      (socket, n) --inbox--> the n-th datagram that arrived at a UDP socket and was not received yet
 *      address of its bytes --flights--> number of a datagram in flight, from its sender
 *      cookie of a sending socket --incoming--> struct taken: what its receiver has received so far
 *      address of a UNIX socket --older_sends--> sends in progress there that began before the metering
 *      (inode, device) --pipes--> struct pipe
 *      cookie --accepted--> number that a connection gets when accept returns it
 *      (stream, n) --outcomes--> the n-th connect() of a stream that succeeded or failed while it did something else
 *      (process, inode, device) --files--> struct used_file
 *      (queue, message type or priority) --queues--> struct message_queue
 *
 * The kernel stores the first two with the task and the socket, and frees them together.
 */
#ifndef DPM_STATE_BPF_H
#define DPM_STATE_BPF_H

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
        uint32_t gone; /* UNIX datagram: last sweep found the peer closed and the queue empty */
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
    uint32_t listed;            /* TCP: survey_connections has listed it */
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
    uint32_t process; /* its number */
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
    struct message_queue queue;
    struct queue_use use; /* of the call that ends */
    struct submitted submitted;
};

#define PC_MEMORIES 4

struct stream {
    uint64_t
        flags; /* EVENT_FLAG bits that it may record at some time: the hooks follow it for these */
    uint64_t told; /* ... and that it records now. For the others, only positions are counted */
    uint32_t number;
    uint32_t process;
    uint32_t parent;
    uint32_t image; /* executed by the process, 0 = unknown */
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
    uint32_t last_told;  /* in a process's first thread: TERMINATION of its last thread was made */
    uint32_t connects;   /* calls of connect() whose outcome is not recorded yet ... */
    uint32_t outcomes;   /* ... and how many of its `outcomes` are */
    /* cookie of the socket whose connect() is in progress, if no hook of the stream has run since it began; else 0 */
    uint64_t connecting;
    uint32_t connect_error; /* the result of the connect() that just ended, 0 = not known */
    uint32_t block_call;
    uint32_t block_state;
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
    uint64_t file_call_at; /* when the call in progress began, if it can be one on files */
    uint32_t older_send;   /* a send call from before the mark may be in progress */
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
    uint32_t provisional; /* made when only the socket's descriptor was known */
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

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct stream);
} streams SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct scratch);
} scratches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
    __type(key, int);
    __type(value, struct path);
} paths SEC(".maps");

/* A listener's own path. Not in `paths`, whose content its connections inherit. */
struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct path);
} listeners SEC(".maps");

/* By the number of a stream that has called connect(): how many `outcomes` it has. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, uint32_t);
    __type(value, uint32_t);
} connectors SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, struct outcome_key);
    __type(value, struct outcome);
} outcomes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 20);
    __type(key, uint64_t);
    __type(value, struct accepted);
} accepted SEC(".maps");

/* Cookies of sockets whose connect() failed, until that or the next connect() on them returns the error. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1 << 13);
    __type(key, uint64_t);
    __type(value, uint8_t);
} failed_connects SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, struct pair_key);
    __type(value, struct path);
} pairs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 20);
    __type(key, uint64_t);
    __type(value, struct inode_path);
} path_of_inode SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, uint64_t);
    __type(value, struct taken);
} incoming SEC(".maps");

/* By the address of a UNIX stream socket: number of sends in progress that began before the marks of their streams.
 * Their bytes may be received before any record of them. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 14);
    __type(key, uint64_t);
    __type(value, uint32_t);
} older_sends SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, struct pipe_key);
    __type(value, struct pipe);
} pipes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, struct file_key);
    __type(value, struct used_file);
} files SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 17);
    __type(key, struct queue_key);
    __type(value, struct message_queue);
} queues SEC(".maps");

#define MOST_UDP_PATHS (1 << 18)

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, MOST_UDP_PATHS);
    __type(key, struct udp_key);
    __type(value, struct path);
} udp_paths SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, MOST_UDP_PATHS);
    __type(key, struct numbered_key);
    __type(value, struct udp_key);
} udp_peers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1 << 18);
    __type(key, struct numbered_key);
    __type(value, struct datagram);
} inbox SEC(".maps");

/* The last datagram noted in an inbox for each buffer. Several buffers may share an entry, which then describes only
 * the latest. */
struct served {
    uint64_t buffer;
    uint32_t number; /* inbox index */
    uint32_t socket; /* low half of the cookie */
};
#define SERVED_BITS 15
static struct served served[1 << SERVED_BITS];

/* The last datagram that this CPU noted in any inbox. */
struct last_noted {
    struct numbered_key place;
    uint64_t buffer;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct last_noted);
} last_noted SEC(".maps");

/* Datagrams that leave the machine are never looked up; the map drops the oldest entries. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1 << 13);
    __type(key, uint64_t);
    __type(value, struct flight);
} flights SEC(".maps");

/* The sizes are set before loading. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} control_ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} data_ring SEC(".maps");

/* The working memory of the current task's stream, which ends only one call at a time. With `stream` NULL, in the hook
 * of a queue and in iterators, it is the CPU's: these do not share any part of it, and the kernel never runs a program
 * twice at a time on a CPU. The helper is called although `stream` has the memory: before Linux 6.2 the verifier must
 * know that the keys and values of maps lie in a map. NULL: there is none. */
static __always_inline struct scratch *scratch_of(const struct stream *stream)
{
    uint32_t zero = 0;

    if (stream == NULL)
        return bpf_map_lookup_elem(&scratches, &zero);
    stream = bpf_task_storage_get(&streams, bpf_get_current_task_btf(), NULL, 0);
    return stream == NULL ? NULL : (struct scratch *)&stream->scratch;
}

/* ---- globals that user space reads or sets ---- */

/* Set before loading; the verifier removes the code that they rule out. */
const volatile uint64_t flags_in_force = 0; /* union of all streams' flags */
const volatile uint32_t first_sequence = 0; /* number of a stream's first record */
const volatile uint64_t first_lost =
    0; /* records that a stream counts as lost before it; for tests */
const volatile bool coarse_time = false; /* CPU time as of the scheduler's last update */
/* sched_process_exit has a second argument (Linux 6.16) */
const volatile bool exit_tells_last = false;
const volatile uint32_t kinds_in_force = 0; /* METER_TCP ...: kinds of paths that are metered */
const volatile bool calls_end = false;      /* the end of each system call is seen: sys_exit */

#define CHANGE_LEAVE (~0ULL)

#define FLAGS_OF_SWITCH                                                                            \
    (EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_BLOCK) |        \
     EVENT_FLAG(EVENT_STARTPROCESS) | EVENT_FLAG(EVENT_STOPPROCESS) | EVENT_FLAG(EVENT_SCHEDULE))

/* The union of what any stream records now, for records that belong to no stream. */
uint64_t told_now;

/* Set before an iterator marks processes. */
uint64_t mark_flags;
uint64_t mark_told;
uint32_t mark_from_exec;
uint32_t mark_all; /* every process but our own */
uint32_t mark_generation;

/* Streams of a later generation are silent: the meter tracks their positions, but makes no records. The first
 * generation is 1; 0: the metering is over, and all streams are silent. */
uint32_t begun;
uint64_t begun_at; /* when the last generation began, 0 = none did */

/* The last numbers assigned. */
uint32_t last_stream;
uint32_t last_path;
uint32_t last_image;
uint32_t last_pipe;
uint32_t last_file;
uint32_t last_queue;

/* Sends on UNIX datagram sockets that have no cookie yet, so that no call on them has ended; indexed by a hash of the
 * socket's address. There is no time to make a map entry, because each send is counted as soon as it is visible.
 * Sockets may share an index, and then are flagged as concurrent without being so: one in 65,536 of those that send at
 * once. */
#define FIRST_SENDS_BITS 16
#define FIRST_SENDS      (1 << FIRST_SENDS_BITS)
static struct sends first_sends[FIRST_SENDS];

/* Tasks that run or wait for a CPU, on all CPUs: the sum of what each CPU's queue held when it last switched tasks.
 * Kept by sched_switch. Each CPU's count has a cache line of its own. */
#define CPUS_MOST 4096 /* others are not counted */
struct runnable_seen {
    uint32_t count;
    uint32_t unused[15];
};
static struct runnable_seen runnable_seen[CPUS_MOST];
uint32_t runnable;

uint32_t sweeps;        /* number of sweeps so far, about one a second */
uint32_t metering_ends; /* the last sweep: everything that ends with the recording ends now */
uint32_t udp_known;     /* entries of udp_paths */

uint32_t watched_pipes; /* number of pipes that unmetered processes may use */
uint32_t known_queues;  /* entries of `queues`: unmetered processes may use any of them */
uint32_t
    uncounted_queues; /* a 32-bit program has used a message queue: no counts are certain any more */

uint64_t lost[RING_COUNT]; /* records lost because the ring was full */
uint64_t lost_datagrams;   /* received datagrams that could not be identified */
uint64_t lost_paths;       /* paths not stored: no memory, or too many */
uint32_t live;             /* metered streams alive */
uint32_t marked;           /* streams newly marked by the iterator */
uint64_t change_told; /* what the iterator makes streams record; CHANGE_LEAVE: nothing any more */
uint32_t unmarkable;  /* tasks not marked for lack of memory */
uint32_t resettled;   /* UNIX streams whose positions turned out to be settled wrongly */
uint32_t unsettled;   /* directions of paths that a pass found unsettled */

#endif
