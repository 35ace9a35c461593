/* SPDX-License-Identifier: MIT */
/*
 * history_types.h: the types that the files of history/ share, and what each file is for.
 *
 *      history.c     reads the sources, one record at a time, and hands out events
 *        |
 *        |-- sources.c     chooses the source to read
 *        |-- streams.c     streams: their creation; when a call began
 *        |-- processes.c   processes; whose termination ends a wait
 *        |-- file_writers.c   what a READ finds in a file, and which WRITEs have put it there
 *        |-- collectives.c    which rank others have waited for in a collective function of MPI
 *        |-- ends.c        ends of paths, until they are closed
 *        |   joining.c     ... which two belong together
 *        |-- flows.c       what is in flight: the SENDs of one direction ...
 *        |   sends.c       ... in a list, with what is certain of their order
 *        |   sharing.c     ... by several streams, or received before they are reported
 *        |-- room.c        waits that no message ends: for buffer space, for a connection
 *        |-- arrivals.c    when received data had arrived from another machine
 *        |-- receiving.c   a RECEIVE: which edges it has ...
 *        |   receiving_look.c   ... which of its bytes are known, which are missing for good
 *        |   receiving_order.c  ... where positions are not certain
 *        |   receiving_counts.c ... where they are counts of datagrams
 *        |-- holding.c     records that must wait, behind the RECEIVE that holds back their stream
 *        |-- values.c      what an analysis keeps with events
 *        '-- clock_origins.c    clocks of machines: clock_chain.c, clock.c
 *
 *      +--------+ held   +-------+ partner +-------+ sends  +------+------+------+
 *      | stream | -----> |  end  | ------> |  end  | -----> | SEND | SEND | SEND | by position
 *      +--------+ waits  +-------+ <------ +-------+        +------+------+------+
 *
 * A record is noted when it is read (streams_note, ends_note_..., flows_note_...), in the order of its origin's clock. It
 * is handed out later, perhaps at once. What is noted says what will come; what was handed out may be the beginning of
 * an edge.
 */
#ifndef DPM_HISTORY_TYPES_H
#define DPM_HISTORY_TYPES_H

#include "base/lookup.h"
#include "clocks/clock.h"
#include "ends/joining.h"
#include "history/history.h"
#include "history/sends.h"

/* Within this time, ns, a meter reports whatever a stream does in a call: either the call ends, or the stream leaves
 * the CPU and SENDCALL reports it. */
#define MOMENT 1000000000ull

/* A process reports its termination before it frees its resources. Within this time, ns, its files are closed and its
 * parent is notified. */
#define DYING 100000000ull

#define HELD_MOST         262144u /* records */
#define HELD_FOR_WAKEUPS  65536u  /* beyond this, one of these waits is given up */
#define UNJOINED_MOST     65536u  /* SENDs of a direction whose other end is not known ... */
#define UNJOINED_MOST_ALL 262144u /* ... and of all such directions together */
#define IN_FLIGHT_MOST    262144u /* SENDs of a direction, if no RECEIVE of theirs is held */
#define ORPHANS_MOST      16384u  /* closed ends with such SENDs ... */
#define IDLE_MOST         1024u   /* ... and without, whose partner may still appear */
#define FADING_MOST       8192u   /* ended streams whose last event is still known */
/* load (held records, SENDs in flight) up to which an origin is preferred if something waits for it ... */
#define AHEAD_MOST        65536u
#define UNDER_WAY_MOST    8192u  /* ... and beyond which the origin with the least load is read */
#define OVERTAKEN_BY_MOST 1024u  /* SENDs that lie behind one which is noted later */
#define RETAINED_MOST     65536u /* received SENDs that still count for the order of others */

#define NO_NUMBER UINT64_MAX /* not handed out yet */

struct stream;
struct end;
struct collectives;
struct file_writers;

/* ---- an end of a path ---- */

/* Where an edge begins: the last TERMINATION of a child, the CREATEPROCESS of a stream ... */
struct beginning {
    uint64_t number; /* NO_NUMBER: not handed out yet */
    uint64_t time;   /* of its record */
    uint64_t when;
    uint64_t proc_time;
    uint32_t stream; /* 0: there is no event */
    uint32_t sequence;
    uint32_t value; /* index + 1 */
    uint8_t id;     /* type of its record */
};

#define ROOMS 2

/* The latest RECEIVEs at an end, or the CONNECT: what the other end waits for. */
struct latest_rooms {
    struct beginning at[ROOMS]; /* circular: the one before the latest has the previous index */
    uint32_t latest;
};

/* Lists of ends. */
enum end_list {
    ENDS_UNJOINED, /* with SENDs and without a partner */
    ENDS_ORPHANED, /* the closed ones of these */
    ENDS_IDLE,     /* closed ones without SENDs and without a partner */
    END_LISTS,
};

struct end_links {
    uint32_t previous; /* index + 1, 0: none */
    uint32_t next;
};

/* Many ends live at a time. Members of the last of several lists refer to it by
 * index, and what few ends need is kept elsewhere. */
struct end {
    uint32_t origin;
    uint32_t number;
    uint32_t index;      /* in the pool, and in the joiner */
    uint32_t kept;       /* records without a stream that wait (holding_keep) */
    uint32_t held;       /* held records of streams that refer to it ... */
    uint32_t first_kept; /* ... and records without a stream that wait for these; index + 1 */
    union {
        uint32_t last_kept; /* if first_kept is not 0 */
        uint32_t holder;    /* else: index of the stream that holds all, unless held_by_several */
    };
    uint8_t kind;       /* enum path_kind */
    bool doubtful : 1;  /* the offset of its positions to those of its partner is not known */
    bool may_doubt : 1; /* its messages may say that their positions are doubtful */
    bool counted : 1;   /* is_counted */
    bool counted_in : 1;
    bool packets : 1;      /* positions may be wrong: RECORD_PACKETS */
    bool destroyed : 1;    /* nothing more will be noted */
    bool disordered : 1;   /* a SEND came too far out of order: nothing is certain */
    bool external : 1;     /* no metered process sends here, as far as is known */
    bool several : 1;      /* several streams have sent: their order may be in doubt */
    bool has_sent : 1;     /* a SEND was noted */
    bool has_received : 1; /* a RECEIVE was noted */
    bool aligned : 1;      /* in_shift stays (UDP: a RECEIVE was matched) */
    bool repeats : 1;      /* UDP: numbers of its SENDs recur */
    bool held_by_several : 1;
    bool is_copy : 1;       /* copies.h */
    bool is_orphan : 1;     /* in the list ENDS_ORPHANED ... */
    bool is_unjoined : 1;   /* ... and ENDS_UNJOINED ... */
    bool is_idle : 1;       /* ... and ENDS_IDLE */
    bool is_unpaired : 1;   /* counted in `unpaired`, ... */
    bool is_identified : 1; /* ... as one whose starting positions are those of no other, ... */
    bool is_answering : 1;  /* ... and as accepted, or, of UDP, as one that received first */
    uint32_t done;          /* leading SENDs that are received but still kept */
    uint32_t formers; /* UDP: ends whose partner it still is, though others have succeeded them */
    const struct path_record *record; /* owned by the identities */
    struct end *partner;              /* or NULL */
    struct stream *waiters;           /* streams whose RECEIVE on this end is held */
    struct sharing *sharing;          /* or NULL */
    struct arrivals *arrivals;        /* or NULL */
    /* out: what this end sends */
    struct sends sends;
    uint64_t out_start;     /* positions begin here */
    uint64_t out_last;      /* position of the latest, from which the next is unwrapped */
    uint64_t out_end;       /* end of all SENDs noted */
    uint64_t out_time;      /* of the latest record */
    uint64_t forgotten;     /* SENDs below this have been dropped */
    struct stream *opens;   /* streams inside a send call, as SENDCALL reported */
    struct who sender;      /* the latest ... */
    uint32_t sender_number; /* ... and its number */
    uint32_t rooms;         /* struct latest_rooms: index + 1, 0: none */
    /* in: what this end receives, in its own terms; add in_shift for its partner's */
    uint64_t in_start;
    uint64_t in_last;   /* of the latest, as noted */
    uint64_t in_handed; /* ... and as handed out */
    uint64_t in_shift;
    uint64_t in_end;    /* partner's terms: end of what was received, as handed out ... */
    uint64_t in_low[2]; /* ... at in_low_time, and more than MOMENT before that */
    uint64_t in_low_time;
    uint32_t skipped; /* UDP: how many datagrams sizes say were lost, and their meter does not */
    uint32_t cut_to;  /* UDP: 1 + size to which a RECEIVE has cut a datagram; 0: none has */
    uint64_t received_sent; /* UDP that repeats: time of the latest received SEND */
    struct end_links links[END_LISTS];
};

/* ---- streams and processes ---- */

#define ENDED_CHILDREN 8

/* A process that has terminated. */
struct ended {
    /* its CPU time is the record's until it is handed out */
    struct beginning termination;
    uint32_t process; /* its number */
    uint32_t heir;    /* that of its nearest living ancestor, which may adopt its children */
    bool waited;      /* it has ended a wait, and ends no other */
};

/* The latest ones, in a circular buffer. */
struct ends {
    struct ended at[ENDED_CHILDREN];
    uint32_t count; /* so far */
};

struct process {
    uint32_t origin;
    uint32_t number;
    uint32_t index;
    uint32_t streams;       /* live ones */
    uint32_t children;      /* known ones */
    uint32_t parent;        /* number of the process that created it; 0: not known */
    bool over;              /* its termination was noted */
    struct ends *ended;     /* its terminated children, or NULL */
    struct stream *waiters; /* streams whose BLOCK waits for a TERMINATION */
};

enum waiting {
    WAITS_NOT,
    WAITS_READY, /* its first held record is to be looked at */
    WAITS_BYTES, /* its RECEIVE is held */
    WAITS_CREATION,
    WAITS_TERMINATION,
    WAITS_WAKEUP,
};

enum creation { CREATION_UNKNOWN, CREATION_NOTED, CREATION_HANDED };

#define NO_PLACE UINT32_MAX

/* Many streams live at a time, so the small fields of all parts are at the end. */
struct stream {
    uint32_t life; /* unique for each stream; 0: unused */
    uint32_t index;
    uint32_t origin;
    uint32_t number;
    struct process *process; /* or NULL */
    /* as noted */
    uint64_t read_time;      /* of its latest record */
    uint64_t began_time;     /* its present call began no earlier than this */
    uint64_t previous_began; /* the same for the call that ended last */
    uint64_t lost_time;      /* of its latest LOST or DISCARDED */
    /* the send call that it is in, as its SENDCALLs report */
    struct end *open;
    struct stream *next_open;
    uint64_t open_from; /* positions */
    uint64_t open_to;
    uint64_t open_began;
    uint64_t open_handed_to;    /* handed out up to here ... */
    struct beginning open_call; /* ... by this SENDCALL */
    uint32_t open_bytes;
    uint32_t open_handed_bytes;
    /* as handed out */
    uint64_t proc_time;
    uint64_t spun;           /* of it, in waits for messages of MPI */
    struct beginning latest; /* event */
    uint64_t full_since;     /* when it began to wait for buffer space ... */
    uint32_t full;           /* ... in the path with this number; 0: it does not */
    /* wakeups that have ended its sleeps: index + 1, the oldest first ... */
    uint32_t first_wakeup;
    uint32_t last_wakeup;
    uint32_t waits_for; /* origin */
    struct beginning creator;
    struct stream *waiters; /* streams whose sleep it ended after its latest event, which is held */
    /* held: records that must wait */
    uint32_t first_held; /* index of a held record + 1 */
    uint32_t last_held;
    uint64_t deadline;          /* by the clock of the origin that it waits for */
    struct stream *next_waiter; /* on the same end or process ... */
    struct stream **waiter_link;
    struct stream *older; /* ... among all that wait for bytes, or for WAKEUPs ... */
    struct stream *younger;
    struct stream *next_ready;
    uint32_t held_count;
    uint32_t place; /* index in the heap of deadlines of that origin, or NO_PLACE */
    /* as noted */
    struct cpu_wait cpu_wait;
    struct no_cpu no_cpu; /* of its latest event */
    bool has_records : 1;
    bool sendcall : 1;  /* the present call has reported a SENDCALL */
    bool discarded : 1; /* a selection has removed records */
    bool terminated : 1;
    bool waits_for_any : 1; /* by its latest call, which passes no message itself; until a WAKEUP */
    /* as handed out, and held */
    bool runs : 1;      /* proc_time is known */
    bool spins : 1;     /* in a call of MPI that waits for a message */
    bool impatient : 1; /* also waits for other streams to proceed */
    uint8_t creation;   /* enum creation */
    uint8_t waits;      /* enum waiting */
};

/* In the order in which they began to wait. */
struct line_of_streams {
    struct stream *oldest;
    struct stream *youngest;
};

/* What has ended a sleep of a stream. */
struct wakeup {
    struct beginning waker; /* the WAKEUP; or, with `after_end`, the waker's latest event */
    uint32_t next;          /* index + 1, 0: this is the last */
    bool after_end;
};

/* ---- held records ---- */

struct held {
    struct record record;
    int64_t wall_offset;
    struct no_cpu no_cpu; /* as in struct history_event, */
    uint64_t runnable;    /* too */
    uint32_t origin;
    uint32_t next; /* index + 1 */
};

/* ---- origins ---- */

struct origin {
    struct source *source;
    struct event next;  /* its next record, if `has_next` */
    int64_t when;       /* ... by the first origin's clock, approximately */
    int64_t offset;     /* to that clock, as known when a source was last chosen ... */
    uint32_t uncertain; /* ... and its possible error, ns */
    uint64_t read_time; /* time of the latest record read */
    uint64_t progress;  /* everything before this is noted; UINT64_MAX: it has ended */
    int64_t wall_offset;
    uint64_t records;      /* read ... */
    uint64_t made;         /* ... of these, made in the kernel */
    struct record cost;    /* the recording's overhead; id 0: not known */
    struct record load;    /* of it, what it took to load the meter; id 0: not known */
    struct hook_cost hook; /* as its COSTs have said */
    uint32_t machine;      /* or NO_MACHINE: not reported yet */
    uint8_t meter;         /* enum meter_kind */
    bool has_next;
    bool begun; /* a record was read */
    bool ended;
    bool idle;   /* live, and has nothing now */
    bool quiet;  /* it has given no sign of life for too long: nothing waits for it */
    bool astray; /* its clock or another's is wrong: nothing waits for it until messages tie them */
    uint64_t waits_since; /* since when its next record waits for an idle origin; 0: it does not */
    uint64_t news; /* when it was first found idle since its last sign of life; 0: it was not */
    struct recorded_types recorded;
    struct record reduced; /* the latest record that lacks fields, as analyses see it */
    struct history_lacking lacking;
    bool tells;               /* SENDCALL is always in force: after a MOMENT, silence is proof */
    bool leaves_out_receives; /* none is recorded */
    bool leaves_out_sends;    /* neither SEND nor SENDCALL is recorded */
    bool receives_partly;     /* some are not: the flag was off for a process or for a time */
    bool sends_partly;
    uint32_t kinds_partly;        /* METER_TCP ...: the same for all that happens on such paths */
    bool leaves_out_terminations; /* a silent stream may have terminated */
    bool discards;                /* DISCARDED was seen */
    bool loses;                   /* LOST was seen */
    bool skips;                   /* ... of skipped hooks: counted positions may be wrong */
    uint64_t gap_time;            /* of the latest LOST or DISCARDED, or missing packets; 0: none */
    uint64_t missing_packets;     /* so far, as the source says */
    uint32_t held;
    uint32_t waiters;     /* streams that wait for records of this origin */
    uint64_t in_flight;   /* SENDs to other origins */
    struct ends *orphans; /* terminated processes whose parent terminated before them, or NULL */
    struct stream **heap; /* streams by deadline */
    uint32_t heap_count;
    size_t heap_capacity;
};

struct machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    char name[MACHINE_NAME_SIZE];
    bool knows_addresses; /* all of its addresses are known */
};

/* A stream that has ended. */
struct fading {
    bool any;
    uint32_t origin;
    uint32_t number;
    struct beginning latest; /* its last event */
};

#define RECENT 16384u /* a power of two */

static inline uint32_t place_of_recent(uint32_t origin, uint32_t number)
{
    return (number + origin * (RECENT / 2)) % RECENT;
}

/* Ends with messages and without a partner, which may be each other's: unpaired.h. [UDP, not TCP][its starting positions
 * identify it][it answers] */
struct unpaired {
    uint32_t ends[2][2][2];
};

struct history {
    struct origin *origins;
    uint32_t origin_count;
    uint32_t ended_count;
    struct machine *machines;
    uint32_t machine_count;
    uint32_t silent_origins; /* origins whose machine is not known yet */
    struct lookup addresses; /* hash of an address -> its machine */
    struct identities *identities;
    struct clocks *clocks;
    struct joiner joiner;
    struct lookup stream_numbers;
    struct lookup process_numbers;
    struct lookup end_numbers;
    struct pool streams;
    struct pool processes;
    struct pool ends;
    struct pool rooms; /* of those ends that need them */
    struct pool held;
    struct pool wakeups;
    struct rooms sends; /* of directions: SENDs in flight */
    struct unpaired unpaired;
    bool has_mpi; /* a path or a function of MPI was met */
    uint32_t lives;
    uint32_t stream_count;
    uint32_t swept_at; /* streams: at so many live ones, silent ones are forgotten */
    uint32_t held_count;
    uint32_t held_events;  /* of these, of types that are metered */
    uint32_t current;      /* the origin being read ... */
    uint32_t turn;         /* ... and for how many records so far */
    int64_t turn_until;    /* by the first origin's clock: from then on another one is behind */
    uint32_t since_looked; /* records since the impatient were last looked at */
    uint32_t impatient;
    struct line_of_streams for_bytes;   /* streams that wait for bytes */
    struct line_of_streams for_wakeups; /* ... or for a WAKEUP */
    struct stream *first_ready;
    struct stream *last_ready;
    uint32_t handed;         /* held record that was handed out and is to be freed; index + 1 */
    uint32_t first_released; /* records without a stream that can be handed out now; index + 1 */
    uint32_t last_released;
    struct stream *recent_streams[RECENT]; /* found without a lookup, by number and origin: ... */
    struct end *recent_ends[RECENT];       /* ... index place_of_recent */
    struct end_line {
        uint32_t first; /* index + 1, 0: none */
        uint32_t last;
    } end_lines[END_LISTS]; /* oldest first */
    uint32_t unjoined_sends;
    uint32_t orphan_count;
    uint32_t idle_count;
    struct fading *fading; /* [FADING_MOST], circular: the latest ones */
    struct lookup faded;   /* index in it */
    uint32_t fading_next;
    struct history_edge *edges;
    size_t edge_capacity;
    uint32_t edge_count;
    struct pool values;           /* the caller's ... */
    struct lookup shared_values;  /* index + 1 of a value -> by how many events besides the first */
    uint64_t value_flags;         /* ... for events of these types (EVENT_FLAG) */
    struct file_writers *writers; /* NULL: no file was used */
    struct collectives *collectives; /* NULL: no collective function of MPI was called */
    bool finds_rooms;                /* EDGE_ROOM, EDGE_CONNECTION */
    bool follows_queues;             /* history_follow_queues */
    void **whole; /* values of SENDs that have arrived, or are received, with the last event */
    size_t whole_capacity;
    uint32_t whole_count;
    uint32_t *spent; /* values that the last event may show; index + 1 */
    size_t spent_capacity;
    size_t spent_count;
    struct history_counts counts;
    bool finished;
    bool expects;      /* origins may still join */
    uint64_t patience; /* ns to wait for an idle origin; 0: none */
    uint64_t (*now)(clockid_t clock);
    uint32_t quiet_count; /* origins that are not waited for any more */
    int64_t gone_on;      /* the latest time (`when`) that was read without a quiet origin */
};

#endif
