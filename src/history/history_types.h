/* SPDX-License-Identifier: MIT */
/*
 * history_types.h: the parts of a history, and what its files are for.
 *
 *      history.c     reads the sources, one record at a time, and hands out
 *        |
 *        |-- sources.c     which source is read
 *        |-- streams.c     who: streams; creation; when a call began
 *        |-- processes.c   ... and processes; whose end ends a wait
 *        |-- ends.c        where: ends of paths, which are closed
 *        |   joining.c     ... which two belong together
 *        |-- flows.c       what is under way: the SENDs of one direction ...
 *        |   sends.c       ... in a list, and what is certain of their order
 *        |   sharing.c     ... by several streams, or received before they are told
 *        |-- room.c        a wait that no message ends: for room, for a connection
 *        |-- arrivals.c    when what is received had come from another machine
 *        |-- receiving.c   a RECEIVE: which edges it has ...
 *        |   receiving_look.c   ... what is there of it, and what is missing for good
 *        |   receiving_order.c  ... where positions are not certain
 *        |-- holding.c     records that must wait, behind the RECEIVE that holds back their stream
 *        |-- values.c      what an analysis keeps with events
 *        '-- clock_origins.c    clocks of machines: clock_chain.c, clock.c
 *
 *      +--------+ held   +-------+ partner +-------+ sends  +------+------+------+
 *      | stream | -----> |  end  | ------> |  end  | -----> | SEND | SEND | SEND | by position
 *      +--------+ waits  +-------+ <------ +-------+        +------+------+------+
 *
 * A record is noted when it is read (streams_note, ends_note, flows_note), which is in the order of its
 * origin's clock, and handed out later, maybe at once. What is noted says what there will be; what
 * was handed out may be the beginning of an edge.
 */
#ifndef DPM_HISTORY_TYPES_H
#define DPM_HISTORY_TYPES_H

#include "base/lookup.h"
#include "clocks/clock.h"
#include "ends/joining.h"
#include "history/history.h"
#include "history/sends.h"

/* Whatever a stream does in a call is told within this time, ns: either the call ends, or the stream has
 * left the CPU, and SENDCALL tells. */
#define MOMENT 1000000000ull

/* A process tells of its end before it gives back what it has: so long, ns, it may take until files are closed and its
 * parent is told. */
#define DYING 100000000ull

#define HELD_MOST         262144u /* records */
#define HELD_FOR_WAKEUPS  65536u  /* then one of these waits is given up */
#define UNJOINED_MOST     65536u  /* SENDs of a direction whose other end is not known ... */
#define UNJOINED_MOST_ALL 262144u /* ... and of all of them together */
#define IN_FLIGHT_MOST    262144u /* SENDs of a direction, none of whose RECEIVEs is held */
#define ORPHANS_MOST      16384u  /* closed ends with such SENDs */
#define FADING_MOST       8192u   /* streams that have ended, whose last event is known */
#define AHEAD_MOST        65536u  /* how much an origin may be loaded before another is read */
#define UNDER_WAY_MOST    8192u   /* ... if nobody waits for it */
#define OVERTAKEN_BY_MOST 1024u   /* SENDs that lie behind one which is noted later */
#define RETAINED_MOST     65536u /* SENDs that are received and still count for the order of others */

#define NO_NUMBER  UINT64_MAX /* not handed out yet */
#define NO_MACHINE UINT32_MAX

struct stream;
struct end;

/* ---- an end of a path ---- */

/* The last TERMINATION of a child, the CREATEPROCESS of a stream ...: where an edge begins. */
struct beginning {
    uint64_t number; /* NO_NUMBER: not handed out yet */
    uint64_t time;   /* of its record */
    uint64_t when;
    uint64_t proc_time;
    uint32_t stream; /* 0: there is none */
    uint32_t sequence;
    uint32_t value; /* index + 1 */
    uint8_t id;     /* type of its record */
};

#define ROOMS 2

/* The latest RECEIVEs at an end, or the CONNECT: what the other end waits for. */
struct latest_rooms {
    struct beginning at[ROOMS]; /* the one before the latest has the place before, around */
    uint32_t latest;
};

/* Lists of ends. */
enum end_list {
    ENDS_UNJOINED, /* with SENDs and no partner */
    ENDS_ORPHANED, /* closed ones of these */
    END_LISTS,
};

struct end_links {
    uint32_t previous; /* index + 1, 0: none */
    uint32_t next;
};

/* There are many that live: it is four lines of the cache. What stands at the end of one of several lists stands there by
 * its index, and what few have stands elsewhere. */
struct end {
    uint32_t origin;
    uint32_t number;
    uint32_t index;      /* of the pool, and of the joiner */
    uint32_t held;       /* records of streams held that speak of it ... */
    uint32_t first_kept; /* ... and of no stream, until those are handed out; index + 1 ... */
    union {
        uint32_t last_kept; /* ... if there are any; */
        uint32_t holder;    /* else the stream with this index holds all, if not held_by_several */
    };
    uint8_t kind;       /* enum path_kind */
    bool doubtful : 1;  /* where its positions lie in those of its partner is not known */
    bool may_doubt : 1; /* its messages may say that their positions are doubtful */
    bool counted : 1;   /* is_counted */
    bool counted_in : 1;
    bool packets : 1;      /* positions may be wrong: RECORD_PACKETS */
    bool destroyed : 1;    /* nothing will be noted any more */
    bool disordered : 1;   /* a SEND came too far out of order: nothing is certain */
    bool external : 1;     /* nobody metered sends here, as far as is known */
    bool several : 1;      /* several streams have sent: their order may be in doubt */
    bool has_sent : 1;     /* a SEND was noted */
    bool has_received : 1; /* a RECEIVE was noted */
    bool aligned : 1;      /* UDP: a RECEIVE was matched */
    bool repeats : 1;      /* UDP: numbers of its SENDs come again */
    bool held_by_several : 1;
    bool is_orphan : 1;   /* in the list ENDS_ORPHANED ... */
    bool is_unjoined : 1; /* ... and ENDS_UNJOINED */
    uint32_t done;        /* leading SENDs that are received, if they are kept nevertheless */
    const struct path_record *record; /* belongs to the identities */
    struct end *partner;              /* or NULL */
    struct stream *waiters;           /* whose RECEIVE on this end is held */
    struct sharing *sharing;          /* or NULL */
    struct arrivals *arrivals;        /* or NULL */
    /* out: what this end sends */
    struct sends sends;
    uint64_t out_start;     /* positions begin here */
    uint64_t out_last;      /* position of the latest, from which the next is unwrapped */
    uint64_t out_end;       /* end of all SENDs noted */
    uint64_t out_time;      /* of the latest record */
    uint64_t forgotten;     /* SENDs below have been dropped */
    struct stream *opens;   /* streams in the middle of a send call, of which SENDCALL has told */
    struct who sender;      /* the latest ... */
    uint32_t sender_number; /* ... and its number */
    uint32_t rooms;         /* struct latest_rooms: index + 1, 0: none */
    /* in: what this end receives, in its own terms; + in_shift: in its partner's */
    uint64_t in_start;
    uint64_t in_last;   /* of the latest, as noted */
    uint64_t in_handed; /* ... and as handed out */
    uint64_t in_shift;
    uint64_t in_end;    /* partner's terms: end of what was received, as handed out ... */
    uint64_t in_low[2]; /* ... a moment ago, and a moment before that */
    uint64_t in_low_time;
    uint64_t received_sent; /* UDP that repeats: time of the SEND that was received last */
    struct end_links links[END_LISTS];
};

_Static_assert(sizeof(struct end) <= 256, "an end is four lines of the cache");

/* ---- who ---- */

#define ENDED_CHILDREN 8

/* The end of a process. */
struct ended {
    struct beginning
        termination; /* CPU time is that of the record as long as it is not handed out */
    uint32_t heir;   /* number of the process that has its children, if it wants them */
    bool waited;     /* it has ended a wait, and ends no other */
};

/* The last ones, around. */
struct ends {
    struct ended at[ENDED_CHILDREN];
    uint32_t count; /* so far */
};

struct process {
    uint32_t origin;
    uint32_t number;
    uint32_t index;
    uint32_t streams;       /* that live */
    uint32_t children;      /* that are known */
    uint32_t parent;        /* number of the process that created it, 0: not known */
    bool over;              /* its end was noted */
    struct ends *ended;     /* of its children, or NULL */
    struct stream *waiters; /* whose BLOCK waits for a TERMINATION */
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

/* There are many that live: small fields of all parts stand at the end. */
struct stream {
    uint32_t life; /* another for each stream; 0: there is none */
    uint32_t index;
    uint32_t origin;
    uint32_t number;
    struct process *process; /* or NULL */
    /* as noted */
    uint64_t read_time;      /* of its latest record */
    uint64_t began_time;     /* before which its present call has not begun, whatever it is */
    uint64_t previous_began; /* the same of the call that ended last */
    uint64_t lost_time;      /* of its latest LOST or DISCARDED */
    /* the send call it is in the middle of, as its SENDCALLs tell */
    struct end *open;
    struct stream *next_open;
    uint64_t open_from; /* positions */
    uint64_t open_to;
    uint64_t open_began;
    uint64_t open_handed_to;    /* as far as was handed out ... */
    struct beginning open_call; /* ... by this SENDCALL */
    uint32_t open_bytes;
    uint32_t open_handed_bytes;
    /* as handed out */
    uint64_t proc_time;
    struct beginning latest; /* event */
    uint64_t full_since;     /* when it has begun to wait for room ... */
    uint32_t full;           /* ... in the path with this number, 0: it does not */
    uint32_t
        first_wakeup; /* of those that have ended its sleeps: index + 1, the oldest first ... */
    uint32_t last_wakeup;
    uint32_t waits_for; /* origin */
    struct beginning creator;
    struct stream *waiters; /* whose sleep it has ended after its latest event, which is held */
    /* held */
    uint32_t first_held; /* index of a held record + 1 */
    uint32_t last_held;
    uint64_t deadline;          /* of the clock of the origin that it waits for */
    struct stream *next_waiter; /* of the same end or process ... */
    struct stream **waiter_link;
    struct stream *older; /* ... of all that wait for bytes, or for WAKEUPs ... */
    struct stream *younger;
    struct stream *next_ready;
    uint32_t held_count;
    uint32_t place; /* in the heap of deadlines of that origin, or NO_PLACE */
    /* as noted */
    bool has_records : 1;
    bool sendcall : 1;  /* the present call has told a SENDCALL */
    bool discarded : 1; /* a selection has removed records */
    bool terminated : 1;
    bool waits_for_any : 1; /* its latest call has told so: it passes no message itself */
    /* as handed out, held */
    bool runs : 1;      /* proc_time is known */
    bool impatient : 1; /* also waits for other streams to go on */
    uint8_t creation;   /* enum creation */
    uint8_t waits;      /* enum waiting */
};

/* In the order in which they have begun to wait. */
struct line_of_streams {
    struct stream *oldest;
    struct stream *youngest;
};

/* Who has ended a sleep of a stream. */
struct wakeup {
    struct beginning waker; /* the WAKEUP; or, `after_end`, of whom it is the latest event */
    uint32_t next;          /* index + 1, 0: last */
    bool after_end;
};

/* ---- held records ---- */

struct held {
    struct record record;
    int64_t wall_offset;
    uint32_t origin;
    uint32_t next; /* index + 1 */
};

/* ---- origins ---- */

struct origin {
    struct source *source;
    struct event next;  /* its next record, where `has_next` */
    int64_t when;       /* ... by the first origin's clock, about: */
    int64_t offset;     /* to that clock, as known when the source was chosen last ... */
    uint32_t uncertain; /* ... and how far that may be wrong, ns */
    uint64_t read_time; /* of the latest record that was read */
    uint64_t progress;  /* all before this is noted; UINT64_MAX: it has ended */
    int64_t wall_offset;
    uint64_t records;   /* handed out */
    struct record cost; /* what the recording cost; its id is 0: that is not known */
    uint32_t machine;   /* or NO_MACHINE: it has not said */
    uint8_t meter;      /* enum meter_kind */
    bool has_next;
    bool begun; /* a record was read */
    bool ended;
    bool idle;  /* none yet */
    bool tells; /* SENDCALL is in force: a moment is a proof */
    bool leaves_out_receives;
    bool leaves_out_terminations; /* a stream that is silent may have ended */
    bool discards;                /* DISCARDED was seen */
    bool loses;                   /* LOST was seen */
    bool skips;                   /* ... of skipped hooks: counted positions may be wrong */
    uint64_t gap_time;            /* of the latest LOST or DISCARDED, 0: none */
    uint32_t held;
    uint32_t waiters;     /* streams that wait for what is to be read here */
    uint64_t in_flight;   /* SENDs towards other origins */
    struct ends *orphans; /* processes whose parent ended before them, or NULL */
    struct stream **heap; /* streams by deadline */
    uint32_t heap_count;
    size_t heap_capacity;
};

struct machine {
    uint8_t machine_id[16];
    uint8_t boot_id[16];
    char name[MACHINE_NAME_SIZE];
    bool knows_addresses; /* all of them */
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

struct history {
    struct origin *origins;
    uint32_t origin_count;
    uint32_t ended_count;
    struct machine *machines;
    uint32_t machine_count;
    uint32_t silent_origins; /* that have not said which machine */
    struct lookup addresses; /* a hash of the address -> its machine */
    struct identities *identities;
    struct clocks *clocks;
    struct joiner joiner;
    struct lookup stream_numbers;
    struct lookup process_numbers;
    struct lookup end_numbers;
    struct pool streams;
    struct pool processes;
    struct pool ends;
    struct pool rooms; /* of some of them */
    struct pool held;
    struct pool wakeups;
    struct rooms sends; /* of directions: SENDs under way */
    uint32_t lives;
    uint32_t stream_count;
    uint32_t swept_at; /* streams: when so many live, those that are silent are forgotten */
    uint32_t held_count;
    uint32_t current;      /* origin being read ... */
    uint32_t turn;         /* ... for so many records yet */
    int64_t turn_until;    /* by the first origin's clock: then another one is behind */
    uint32_t since_looked; /* records, since the impatient were looked at */
    uint32_t impatient;
    struct line_of_streams for_bytes;   /* that wait for them */
    struct line_of_streams for_wakeups; /* ... for a WAKEUP */
    struct stream *first_ready;
    struct stream *last_ready;
    uint32_t handed;         /* held record that was handed out, to be given back; index + 1 */
    uint32_t first_released; /* records of no stream that can be handed out now; index + 1 */
    uint32_t last_released;
    struct stream *recent_streams[RECENT]; /* found without a lookup, by number and origin ... */
    struct end *recent_ends[RECENT];       /* ... at place_of_recent */
    struct end_line {
        uint32_t first; /* index + 1, 0: none */
        uint32_t last;
    } end_lines[END_LISTS]; /* in the order in which they have come */
    uint32_t unjoined_sends;
    uint32_t orphan_count;
    struct fading *fading; /* [FADING_MOST], the latest, around */
    struct lookup faded;   /* place in it */
    uint32_t fading_next;
    struct history_edge *edges;
    size_t edge_capacity;
    uint32_t edge_count;
    struct pool values;   /* of the caller ... */
    uint32_t value_flags; /* ... for events of these types (EVENT_FLAG) */
    bool finds_rooms;     /* EDGE_ROOM, EDGE_CONNECTION */
    uint32_t *spent;      /* values that the event handed out last may show; index + 1 */
    size_t spent_capacity;
    size_t spent_count;
    struct history_counts counts;
    bool finished;
};

#endif
