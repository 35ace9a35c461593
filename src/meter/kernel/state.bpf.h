/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * state.bpf.h: what the meter remembers, and the two rings it writes to.
 *
 *      task --streams--> struct stream: its meter flags, number, sequence, the call it is in
 *      sock --paths----> struct path:   its number, role, positions of both directions
 *      (socket, peer) --pairs--> struct path of a datagram socket and one peer
 *      inode --path_of_inode--> number of the path (where only a descriptor is known)
 *      (socket, both addresses) --udp_paths--> struct path of a UDP socket and one peer
 *      (socket, n) --udp_peers--> the n-th of its udp_paths
 *      (socket, n) --inbox--> the n-th datagram that came to a UDP socket and was not taken yet
 *      where its bytes lie --flights--> number of a datagram on its way, told by its sender
 *      cookie of a sending socket --incoming--> struct taken: what its receiver has taken so far
 *      address of a UNIX socket --older_sends--> sends in progress there that are older than the metering
 *      (inode, device) --pipes--> struct pipe
 *
 * The first two live with the task and the socket and are freed with them by the kernel.
 */
#ifndef DPM_STATE_BPF_H
#define DPM_STATE_BPF_H

#include "meter/kernel/kernel.bpf.h"
/* after kernel.bpf.h, which brings the types */
#include "event/record.h"
#include "meter/shared/caller.h"
#include "meter/shared/message.h"

/* A send call in progress. TCP sets it where the socket is locked, so that a call that is
 * interleaved with another sender's on the same socket falls into exact pieces. */
struct send_call {
    uint64_t socket; /* address; 0 = no call in progress */
    uint64_t begin;  /* when the first byte of the piece became visible */
    union {
        uint64_t peer;    /* UNIX: cookie of the receiving socket */
        uint64_t message; /* TCP: address of what is sent */
    };
    uint32_t path;
    uint32_t first; /* offset of the piece's first byte */
    uint32_t left;  /* bytes the call had left at the piece's beginning */
    uint32_t out;   /* bytes of the piece that are out so far */
    uint32_t done;  /* bytes of the call in finished pieces */
    uint32_t told; /* bytes of the call that the last SENDCALL told of, plus 1, and how; 0 = none */
    uint32_t flags; /* RECORD_CONTINUED: continues a sendfile or splice call; RECORD_CONCURRENT */
    uint32_t call;  /* TCP: number of the system call */
    /* UNIX: which of the path's sends it is, in the order of their becoming visible ... */
    uint32_t seen;        /* 0 = that is not known */
    uint32_t others;      /* ... and how many others were in progress then */
    uint32_t first_sends; /* place there where it is counted, + 1; 0: it is counted at its path */
    uint32_t page;        /* UNIX stream, in sendfile before Linux 6.5: bytes of the page; else 0 */
    uint32_t number;      /* of a message, by its place in the queue, number.bpf.h ... */
    uint8_t numbered;     /* ... where it was looked for, and found */
};

/* Whether a receive call has pieces that nobody told. */
enum untold {
    UNTOLD_NONE,
    UNTOLD_PIECES,
    UNTOLD_BEHIND, /* what is told of the path begins behind them, since then */
};

/* A receive call in progress. */
struct receive_call {
    uint64_t socket; /* address; 0 = nothing taken yet */
    uint32_t path;
    uint32_t first;   /* offset of the piece's first byte */
    uint32_t next;    /* offset after its last */
    uint32_t done;    /* bytes of the call in finished pieces */
    uint64_t peer;    /* UNIX datagram: cookie of the sending socket */
    uint64_t late;    /* UNIX datagram: when it was taken, if it was not `numbered` then */
    uint32_t copied;  /* UNIX datagram, seqpacket: bytes handed over, plus 1; 0 = not seen */
    uint32_t flags;   /* RECORD_END_OF_FILE */
    uint32_t call;    /* TCP: number of the system call */
    uint64_t when;    /* what a worker of io_uring has taken: last time it did; else 0 */
    uint32_t behind;  /* offset after its last piece that nobody told ... */
    uint8_t untold;   /* ... enum untold: it was taken while the stream was silent */
    uint8_t numbered; /* UNIX datagram: `first` is the message's number */
    uint8_t older;    /* has taken more than is known, before `first` of its first piece */
};

/* Progress of a sendmmsg or recvmmsg call: one that stops before its last message ends with an
 * error, and has not failed. */
struct many_call {
    uint64_t identity; /* what tells the call from others; 0 = none in progress */
    uint32_t count;    /* messages done */
    uint32_t of;       /* messages asked for */
};

enum stream_life {
    STREAM_UNCLAIMED, /* has at most a number */
    STREAM_CLAIMED,   /* being filled in */
    STREAM_ALIVE,
    STREAM_ENDED,
};

/* What is to be told of a stream when it runs next. */
enum stream_away {
    AWAY_NOT_STARTED = 1,
    AWAY_STOPPED = 2, /* by a signal */
    AWAY_BLOCKED = 4, /* in a BLOCK */
};

/* Which UDP path: both ends as the packets name them. Of a socket without a peer, `remote` is
 * empty. */
struct udp_key {
    uint64_t socket; /* cookie */
    uint8_t local[16];
    uint8_t remote[16];
    uint16_t local_port;
    uint16_t remote_port;
    uint32_t family;
};

/* A UDP datagram between the packet and the call it belongs to. Several that travel as one buffer
 * (UDP_SEGMENT, UDP_GRO) have consecutive numbers. */
struct datagram {
    struct udp_key key;
    uint64_t buffer; /* its address */
    union {
        uint64_t time; /* when it left */
        uint64_t gone; /* in an inbox: since when it is known to be taken, 0 = it is not */
    };
    uint32_t number;   /* of the first */
    uint32_t bytes;    /* of all */
    uint32_t segments; /* how many; 0 = none */
    uint16_t segment;  /* bytes of each but the last */
    /* In an inbox: */
    uint16_t processor; /* that it came by ... */
    uint8_t node;       /* ... and whose memory node */
    uint8_t aside;      /* its place is in `aside` of the socket */
    uint8_t doubtful;   /* another receive may have taken it */
};

enum path_state {
    PATH_KNOWS_IN = 1,    /* `in` is exact */
    PATH_ESTABLISHED = 2, /* start_out and start_in are those of the connection's beginning */
    PATH_KNOWS_OUT = 4,   /* UDP: `out` is the last number sent */
    PATH_INBOX = 8,       /* UDP socket: what comes is noted in `inbox` */
    PATH_LISTED = 16,     /* UDP: `udp_peers` has it */
    PATH_SETTLED = 32,    /* UNIX: `out` counts from where the receiver's count begins */
    PATH_IN_DOUBT = 64,   /* UNIX: what is counted as sent may be wrong, doubt.bpf.h */
    PATH_ARRIVING = 128,  /* TCP: `arrived` is exact */
};

/* How silent streams have used a path since its PATH record. */
enum path_moved {
    PATH_MOVED_OUT = 1,
    PATH_MOVED_IN = 2,
    PATH_CREATED = 4, /* told ahead of its use, but CREATEPATH was told, too */
};

/* Sends on one path. */
struct sends {
    uint32_t visible; /* have become so ... */
    uint32_t ended;   /* ... and of these, those that have ended */
};

/* When bytes of a send still in progress were first received, and up to where: the sender's own stamp
 * may come a little later than that. */
struct early {
    uint64_t time; /* 0 = they were not */
    uint32_t in;
};

#define ASIDE_MOST     8
#define SEVERAL_TAKERS (~0u)

struct path {
    /* These three are read from outside: struct survey_path. */
    uint32_t number;  /* 0 = no PATH record yet */
    uint32_t dropped; /* UDP: datagrams that found the receive queue full */
    uint32_t told;    /* of these, told by a DROPPED record */
    uint8_t kind;
    uint8_t role;
    uint8_t state;    /* enum path_state */
    uint8_t settling; /* how often `shift` came out the same, settle.bpf.h */
    uint32_t out;     /* UNIX: offset of the next byte or message sent; UDP: number of the last */
    uint32_t in;      /* offset of the next byte or message received; UDP: number of the last */
    uint32_t start_out;
    uint32_t start_in;
    uint64_t established; /* when, 0 = not known */
    uint64_t inode;
    struct early early; /* UNIX */
    uint32_t shift;     /* what `out` lacks to agree with the receiver's count */
    uint64_t settled;   /* when that was made good, and when the queue was last looked at since */
    uint64_t socket; /* UNIX datagram, stream in doubt: address of the socket, 0 = not known ... */
    uint64_t sender; /* ... and of the peer's, if it has sent */
    uint32_t gone; /* UNIX datagram: the last sweep found the peer's closed, and none of its left */
    uint32_t used; /* UDP: in which sweep's time it was used last */
    uint32_t place; /* UDP: in udp_peers */
    /* A UDP socket's own storage. */
    uint64_t queued;    /* low half: how many datagrams came; high half: changes with each change */
    uint32_t taken;     /* how many of them are gone from the inbox for good */
    uint32_t filling;   /* how many have a place in the inbox and are not there yet */
    uint32_t older;     /* how many wait that came before any was noted */
    uint32_t peers;     /* how many places in udp_peers it has given out */
    uint32_t announced; /* up to where in the inbox it was told what is in the queue */
    uint32_t taker;     /* the only stream that has taken any, 0 = none has, SEVERAL_TAKERS */
    uint64_t confused;  /* when it was last not certain what a receive took */
    uint64_t told_at;   /* when the last DROPPED record was made */
    uint32_t aside[ASIDE_MOST]; /* places in the inbox that others overtook, 0 = none */
    uint32_t listed;            /* TCP: by survey_connections */
    uint32_t arrived;  /* TCP: up to where the stream of bytes is told to be in the queue */
    uint32_t seen_out; /* UNIX stream: up to here, what is sent is in the queue or known as taken */
    struct sends sends;     /* UNIX */
    uint32_t moved;         /* enum path_moved; if not 0 the path is told again at its next use */
    uint32_t out_of_step;   /* UNIX: a send may have been queued that is not counted, order.bpf.h */
    uint32_t counted_ahead; /* ... or was when its count was mended */
    uint32_t ahead; /* its number, if PATH was made for what was queued, ahead of its first use */
};

_Static_assert(sizeof(struct path) <= 256, "the program outside reads it into so much room");

/* The two ends of a pipe. */
enum pipe_end {
    PIPE_WRITTEN,
    PIPE_READ,
    PIPE_ENDS,
};

/* Which file, and so which pipe. */
struct pipe_key {
    uint64_t inode;
    uint64_t device;
};

struct pipe {
    uint64_t address; /* of the kernel's pipe: a FIFO has another one each time it is opened anew */
    uint64_t inode;   /* address */
    uint64_t met;     /* when */
    struct early early;
    uint32_t paths[PIPE_ENDS]; /* numbers, 0 = no PATH record yet */
    uint32_t serial;           /* what its ends' cookies are made of */
    uint32_t out; /* offset of the next byte written, and read: counted when calls end */
    uint32_t in;
    uint32_t opens; /* FIFO: calls of open that were seen; of both ends at once count as two */
    uint32_t alive; /* its serial; 0 = somebody has ended it, and takes it out of the map */
    uint32_t kind;
    uint32_t missing;          /* in doubt: what `out` seemed to lack ... */
    uint32_t agreed;           /* ... how often in a row */
    uint32_t lowered;          /* `in` when `out` was found too high last */
    uint32_t users[PIPE_ENDS]; /* in doubt: the first thread that ended a call there, 0 = none */
    uint32_t swept_in;         /* as the last sweep found it ... */
    uint32_t swept_out;
    uint32_t uncounted; /* ... and how much more was in it than these say */
    bool older;         /* than its being met: it counts from OLDER_BEGIN */
    bool in_doubt;      /* not all may be counted, until it is found empty with counts that agree */
    bool has_uncounted; /* bytes have gone through it that nobody had counted */
    bool watched;       /* others than metered streams may use it: all calls are counted */
    bool packets;       /* it was written with O_DIRECT */
    bool several[PIPE_ENDS]; /* in doubt: others than the first have ended calls there, too */
};

/* What has been taken of what one UNIX socket sent. */
struct taken {
    uint32_t in;    /* offset of the next byte or message */
    uint32_t path;  /* number of the receiving end's path, 0 = not known yet */
    uint32_t doubt; /* RECORD_OLDER while the sender's path is PATH_IN_DOUBT */
};

/* What make_path needs to know of a socket. */
struct socket_facts {
    struct sock *sk;
    uint64_t cookie;
    uint64_t peer;
    uint64_t inode;
    uint32_t family;
    uint32_t kind;
    bool connected; /* the descriptor alone leads to this path */
};

/* A receive call of UDP that has just ended. */
struct taker {
    struct sock *sk;  /* in memory: the verifier takes no pointer to a socket as an argument */
    uint64_t socket;  /* cookie */
    uint64_t idle_at; /* when its stream had taken nothing, 0 = not known */
    uint32_t stream;  /* its number, SEVERAL_TAKERS = not known */
    uint32_t result;  /* bytes it returned */
    uint32_t message_number; /* of its call's */
    uint32_t length;         /* enum taken_length */
};

enum taken_length {
    LENGTH_HANDED,  /* the result may be less than the datagram's length */
    LENGTH_TRUE,    /* it is that */
    LENGTH_UNKNOWN, /* the call is not known */
};

/* What hooks keep while they run, and what would be too much for the stack: before Linux 6.13 that has 512 bytes for all
 * functions that are called inside each other. */
struct scratch {
    struct message message;   /* of the call that ends */
    struct message leaving;   /* of a call in which the stream sleeps, or is preempted */
    struct message beginning; /* of a path */
    struct socket_facts facts;
    struct udp_key key;
    struct taker taker;
    struct path path;
    struct pipe pipe;
};

#define PC_MEMORIES 4

struct stream {
    uint32_t flags; /* EVENT_FLAG bits */
    uint32_t number;
    uint32_t process;
    uint32_t parent;
    uint32_t image; /* that the process executes, 0 = not known */
    uint32_t sequence;
    uint32_t mark;             /* silent until this generation of marks has begun, see silent() */
    uint32_t life;             /* enum stream_life */
    uint64_t lost[RING_COUNT]; /* since the last LOST record */
    uint32_t failed_sends;
    uint32_t failed_receives;
    uint8_t from_exec;   /* metering begins with the next exec */
    uint8_t away;        /* enum stream_away */
    uint8_t silent;      /* in the hook that runs, see silent() */
    uint8_t receivecall; /* the receive call in progress has made its RECEIVECALL */
    uint8_t asleep;      /* in a wait of which it is to be told who ends it */
    uint8_t waits;       /* it sleeps in a receive call */
    uint32_t last_told;  /* a process's first thread: that its last thread has ended */
    uint32_t block_call;
    uint32_t block_state;
    uint64_t blocked_at; /* AWAY_BLOCKED: since when ... */
    uint64_t blocked_pc; /* ... and where, as user_pc() gives it */
    uint64_t woken_at;   /* a place on the stack of who wakes it, is_on_stack_of() */
    uint64_t sent_by;    /* which sendfile or splice call made the last SEND, 0 = none did */
    uint64_t taken_by;   /* which splice call looked into a TCP socket last, 0 = not known */
    uint32_t has_taken;  /* ... and has taken bytes from it */
    uint64_t idle_at;    /* when it was seen last to have taken no UDP datagram that is not told */
    uint64_t
        written_at; /* when it last ended a write into a pipe whose positions had been settled since */
    uint32_t older_send; /* a send call may be in progress that is older than the mark */
    /* UNIX sockets with a call in progress that is older than the mark, 0 = none: */
    uint64_t older_socket;  /* on which it sends a stream, counted in `older_sends` */
    uint64_t older_receive; /* ... receives: what it has taken may have been counted by nobody */
    struct many_call send_many;
    struct many_call receive_many;
    struct send_call send;
    struct receive_call receive;
    struct datagram datagram; /* UDP: what the call in progress has sent or taken */
    struct text text;         /* of its program, while a place in it is looked for */
    struct pc_memory pcs[PC_MEMORIES];
    struct scratch scratch; /* scratch_of() */
};

struct inode_path {
    uint32_t number;
    uint32_t provisional; /* made where the socket was known by its descriptor only */
};

struct pair_key {
    uint64_t socket; /* cookie */
    uint64_t peer;
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

/* By the address of a UNIX stream socket: sends in progress there that are older than the marks of their streams,
 * whose bytes may have been taken before anything of them is told. */
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

/* Which datagram a buffer has served last, of those noted in inboxes. Several buffers may share an entry: then it
 * does not tell of that which came first. */
struct served {
    uint64_t buffer;
    uint32_t number; /* its place */
    uint32_t socket; /* low half of the cookie */
};
#define SERVED_BITS 15
static struct served served[1 << SERVED_BITS];

/* The datagram that came last by this processor to any inbox. */
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

/* What leaves the machine is never looked for here: the oldest are forgotten. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1 << 13);
    __type(key, uint64_t);
    __type(value, struct flight);
} flights SEC(".maps");

/* Sizes are set before loading. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} control_ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} data_ring SEC(".maps");

/* The scratch memory of the current task's stream, of which one call ends at a time. `stream` is NULL in the hook of a queue and
 * in iterators: they share their processor's, but no part of it, and the kernel runs no program twice at a time on a processor.
 * The helper is asked although the stream has the memory: before Linux 6.2 the keys and values of maps must lie where the
 * verifier knows that the memory is a map's. NULL: there is none. */
static __always_inline struct scratch *scratch_of(const struct stream *stream)
{
    uint32_t zero = 0;

    if (stream == NULL)
        return bpf_map_lookup_elem(&scratches, &zero);
    stream = bpf_task_storage_get(&streams, bpf_get_current_task_btf(), NULL, 0);
    return stream == NULL ? NULL : (struct scratch *)&stream->scratch;
}

/* ---- what both sides see ---- */

/* Set before loading; the verifier removes what they rule out. */
const volatile uint32_t flags_in_force = 0; /* union of all streams' flags */
const volatile uint32_t first_sequence = 0; /* number of a stream's first record */
const volatile uint64_t first_lost = 0;     /* what a stream has lost before it; for tests */
const volatile bool coarse_time = false;    /* CPU time as of the scheduler's last look */
/* sched_process_exit has a second argument (Linux 6.16) */
const volatile bool exit_tells_last = false;
const volatile uint32_t kinds_in_force = 0; /* METER_TCP ...: of the paths that are metered */

#define FLAGS_OF_SWITCH                                                                            \
    (EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_BLOCK) |        \
     EVENT_FLAG(EVENT_STARTPROCESS) | EVENT_FLAG(EVENT_STOPPROCESS))

/* Set before an iterator marks processes. */
uint32_t mark_flags;
uint32_t mark_from_exec;
uint32_t mark_generation;

/* Streams of a later generation are silent: the meter follows their positions, but tells nothing. The first
 * generation is 1; 0: it is over, and all are silent. */
uint32_t begun;
uint64_t begun_at; /* when those that are silent no more began, 0 = they never were */

/* Last numbers given out. */
uint32_t last_stream;
uint32_t last_path;
uint32_t last_image;
uint32_t last_pipe;

/* Those on UNIX datagram sockets that have no cookie yet, so nobody has ended a call on them: by the socket's address.
 * There is no time to make a place for one: each send is counted as soon as it is visible. Several may share a place,
 * and are then called concurrent without being so: one in 65,536 of those that are sent at the same time. */
#define FIRST_SENDS_BITS 16
#define FIRST_SENDS      (1 << FIRST_SENDS_BITS)
static struct sends first_sends[FIRST_SENDS];

uint32_t sweeps;    /* how many there have been, about one a second */
uint32_t udp_known; /* entries of udp_paths */

uint32_t watched_pipes; /* that others than metered streams may use: they are counted, too */

uint64_t lost[RING_COUNT]; /* records that found their ring full */
uint64_t lost_datagrams;   /* datagrams received of which it is not known which they were */
uint64_t lost_paths;       /* paths that could not be remembered: no memory, or too many */
uint32_t live;             /* metered streams alive */
uint32_t marked;           /* streams a pass of the iterator newly marked */
uint32_t unmarkable;       /* tasks there was no memory to mark */
uint32_t resettled;        /* UNIX streams that turned out to have been settled wrongly */
uint32_t unsettled;        /* directions of paths whose positions a pass found not to be settled */

#endif
