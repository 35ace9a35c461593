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

#include "meter/kernel/state_types.bpf.h"
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

/* User space sets how many entries these tables have: size_maps, load/meter.c. */

/* By the number of a stream that has called connect(): how many `outcomes` it has. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint32_t);
} connectors SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct outcome_key);
    __type(value, struct outcome);
} outcomes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, uint64_t);
    __type(value, struct accepted);
} accepted SEC(".maps");

/* Cookies of sockets whose connect() failed: expected until it or the next connect() on them returns the error; told until the next
 * connect(). */
enum { FAILURE_EXPECTED = 1, FAILURE_TOLD };

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1 << 13);
    __type(key, uint64_t);
    __type(value, uint8_t);
} failed_connects SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct pair_key);
    __type(value, struct path);
} pairs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, uint64_t);
    __type(value, struct inode_path);
} path_of_inode SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
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
    __uint(max_entries, 1);
    __type(key, struct pipe_key);
    __type(value, struct pipe);
} pipes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct file_key);
    __type(value, struct used_file);
} files SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct queue_key);
    __type(value, struct message_queue);
} queues SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct udp_key);
    __type(value, struct path);
} udp_paths SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
    __type(key, struct numbered_key);
    __type(value, struct udp_key);
} udp_peers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1);
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
const volatile uint32_t most_udp_paths = 1;   /* that udp_paths has room for */
const volatile uint32_t kinds_in_force = 0;   /* METER_TCP ...: kinds of paths that are metered */
const volatile uint32_t wake_every = 1 << 20; /* bytes of a ring, a power of two: reader.bpf.h */
const volatile bool calls_end = false;        /* the end of each system call is seen: sys_exit */
const volatile uint32_t own_network = 0;      /* user space's network namespace; 0: not known */

/* Which of these are recorded may change. Then the lowest bits of a path's number tell its kind. */
const volatile bool kinds_change = false;

#define PATH_KIND_BITS 3 /* meter_kind_bit() */
#define PATH_KIND_MASK ((1u << PATH_KIND_BITS) - 1)

#define FLAGS_OF_SWITCH                                                                            \
    (EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_BLOCK) |        \
     EVENT_FLAG(EVENT_STARTPROCESS) | EVENT_FLAG(EVENT_STOPPROCESS) | EVENT_FLAG(EVENT_SCHEDULE))

/* The union of what any stream records now, for records that belong to no stream. */
uint64_t told_now;
uint32_t kinds_now; /* likewise, METER_TCP ... */

/* Set before an iterator marks processes. */
uint64_t mark_flags;
uint64_t mark_told;
uint32_t mark_kinds;
uint32_t mark_from_exec;
uint32_t mark_all; /* every process but our own */
uint32_t mark_generation;

/* Streams of a later generation are silent: the meter tracks their positions, but makes no records. The first
 * generation is 1; 0: the metering is over, and all streams are silent. */
uint32_t begun;
uint64_t begun_at; /* when the last generation began, 0 = none did */
uint32_t listing;  /* survey_streams lists those of a generation that is about to begin */

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
uint64_t pathless;         /* messages not recorded because their path was not stored */
uint32_t numbers_ended;    /* a path got no number, because they are used up */
uint32_t unmetered;        /* 1 << enum unmetered_kind: used by metered streams */
uint32_t live;             /* metered streams alive */
uint32_t marked;           /* streams newly marked by the iterator */
/* What the iterator changes in streams: what they do not record any longer, and then what they do. */
uint64_t change_flags_off;
uint64_t change_flags_on;
uint32_t change_kinds_off;
uint32_t change_kinds_on;
uint32_t change_leaves; /* ... or they are not metered any more */
uint32_t unmarkable;    /* tasks not marked for lack of memory */
uint32_t resettled;     /* UNIX streams whose positions turned out to be settled wrongly */
uint32_t unsettled;     /* directions of paths that a pass found unsettled */

#endif
