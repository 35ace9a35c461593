/* SPDX-License-Identifier: MIT */
/*
 * elapsed_private.h: the intervals of threads, from the first event to the last. Private to elapsed/.
 *
 *      interval of a thread that was awake     |  cpu ........ the rest: no CPU  | event
 *      ... that blocked                        |  cpu .. no CPU ..|     wait     | BLOCK
 *      ... that had fallen asleep              |     wait     |       cpu        | RECEIVE
 *                                                     ^ arrival: what ended the wait, if it is known
 */
#ifndef DPM_ELAPSED_PRIVATE_H
#define DPM_ELAPSED_PRIVATE_H

#include "analysis/client_requests.h"
#include "analysis/command_seen.h"
#include "analysis/elapsed/elapsed.h"
#include "base/lookup.h"
#include "base/scratch.h"

/* All times are of the first origin's clock. Indexes count from 1; 0: none. */
struct interval {
    uint64_t end;
    uint64_t cpu;
    uint64_t wait;
    uint64_t queued; /* of the wait, at its end: it could have run, but had no CPU */
    uint64_t
        arrival; /* of what ended the wait, or of the message that was received; 0: not known */
    uint64_t
        runnable;  /* by its end its thread had waited so long for CPUs, and less than 1 ms more */
    uint64_t span; /* SEND: from the moment when its first byte became visible to its end */
    uint32_t previous; /* of the same thread */
    uint32_t
        source; /* the interval at whose end something began that ended the wait, or the thread */
    uint32_t thread; /* index + 1 */
    /* SEND of an answer: the interval that received what it answers; end of a file after an answer: its SEND; 0: none */
    uint32_t request;
    uint32_t asked;    /* RECEIVE of an answer: the interval that sent what it answers; 0: none */
    uint32_t computes; /* what: index into details */
    uint32_t waits;
    bool asleep;     /* the wait comes first */
    bool is_message; /* `source` has sent it */
    bool is_likely;  /* `source` perhaps held the other end of the pipe: no record shows what did */
    bool receives;   /* a RECEIVE of something */
    bool serves;     /* ... with which a request begins, on the side that serves */
    bool in_request; /* the thread had received a request that was not answered yet */
    bool terminates; /* with the thread's end */
    bool limited : 1;   /* the wait was for a time, at most */
    bool by_ending : 1; /* `source` had ended, and freed its memory first: history_closing_most */
    bool ends_file : 1; /* RECEIVE of an end of file, on the side that had called */
    bool
        interpreter : 1; /* most likely it was for Python's interpreter lock: elapsed_find_interpreter */
    bool
        within : 1; /* it is part of a wait that goes on: the next interval of the thread covers it, too */
    uint8_t
        waited_for; /* enum elapsed_kind of the wait, whether or not a record shows what ended it */
    uint32_t counted; /* bits of the kinds for which the account of requests has counted it */
};

/* ---- requests ---- */

struct request {
    uint64_t begin;
    uint64_t connected; /* the connection for it was established; 0: it was there before */
    uint64_t sent;      /* the latest try, from which on its answer is waited for */
    uint32_t last;      /* interval: its latest answer; 0: none yet */
    uint32_t first;     /* interval: SEND of its first try */
    uint32_t tries;     /* the latest one in vain: index + 1 in `tries`; 0: none */
    uint32_t connects;  /* detail of the connection for it; 0: none */
    bool is_resent;     /* its SYN was lost, and sent again */
};

/* A try of a request that had no answer. */
struct
try {
    uint64_t begin;
    uint32_t detail;
    uint32_t previous; /* index + 1 */
};

/* What an end of a connection last did. */
struct exchange {
    struct request request; /* the open one */
    uint32_t own;           /* interval: SEND of its first try at this end */
    uint32_t
        received;    /* on the side that serves: the interval with which the latest request began */
    uint32_t thread; /* index + 1 of the one that received it; on the side that calls: that asked */
    uint32_t
        reply; /* on the side that calls: interval that received the latest answer; 0: none yet */
    uint32_t path; /* number */
    uint32_t
        first; /* request for which the connection was made: index + 1; 0: none, or it is the open one */
    uint8_t side;     /* enum asking_side */
    bool is_open;     /* an account shall be made of it */
    bool is_received; /* on the side that serves: received and not answered, by `thread` */
};

/* What is known of a thread in one place. */
struct detail {
    enum elapsed_kind kind;
    uint32_t origin;
    uint32_t stream;
    uint32_t image;
    uint32_t call;
    uint32_t path; /* number of the PATH */
    uint32_t object;
    uint32_t signal, sender;
    uint32_t peer; /* detail of the process that sends there; 0: not known */
    uint64_t pc;
    uint32_t pid, tid;
    uint8_t path_kind;
    char process[STREAM_NAME_SIZE + 1];
    char thread[STREAM_NAME_SIZE + 1];
    uint32_t process_number;
    uint8_t runtime;                /* enum elapsed_runtime; at the end: elapsed_find_runtimes */
    char label[PROCESS_LABEL_SIZE]; /* at the end: elapsed_find_labels */
    const char *address;            /* in `texts`, or NULL */
};

#define DETAILS_MOST 65536u

struct elapsed_thread {
    uint32_t index;  /* in the pool */
    uint32_t last;   /* interval: the latest, or the one at whose end it fell asleep */
    uint32_t latest; /* interval: the latest, also inside a wait */
    uint64_t cpu;
    bool runs;     /* cpu is known */
    bool asleep;   /* since the end of `last`, in a call that waits for a message or space ... */
    bool for_any;  /* ... or for any of several paths */
    bool sends;    /* ... or in a send, of which the rest is not out */
    bool receives; /* ... or in a receive */
    bool stopped;
    uint64_t pc; /* where it called; 0: in a library, or not known */
    uint32_t call;
    uint32_t awaited; /* path that it waits for; 0: any of several, or not known */
    uint64_t limit;   /* ns, as any_limit() */
    uint32_t asked;   /* path: it has sent there as a client, and received nothing since; 0: none */
    uint32_t connected;      /* path: its CONNECT came during the sleep; 0: none */
    uint32_t accepted;       /* ... or its ACCEPT, and no metered process had connected it */
    uint32_t woken;          /* interval: of the first WAKEUP of it in such a wait; 0: none yet */
    uint32_t signal, sender; /* the latest SIGNAL to it: as in struct waited ... */
    uint64_t signalled;      /* ... and when it was sent */
    uint64_t no_cpu; /* ns without a CPU, by events since it fell asleep that are within its wait */
    uint32_t connecting;   /* interval: a wait in connect() whose path is not known yet */
    uint64_t runnable;     /* ns that it has waited for CPUs, by its latest event ... */
    uint64_t before;       /* ... and before its first event, perhaps also before the recording */
    uint64_t unwalked;     /* ... and at most at the time that the walk has come to */
    uint32_t requests;     /* received by it and not answered yet */
    uint32_t received;     /* requests, in all ... */
    uint32_t beside;       /* ... while it had another one that was not answered yet */
    struct request closed; /* what it asked in vain at an end that is closed */
};

/* Waits of one detail that one process ended. */
struct wait_sum {
    uint32_t detail;
    uint32_t ender; /* detail of the process; 0: not known */
    uint64_t time, count, longest;
};

struct input; /* elapsed_files.c */

struct elapsed_analysis {
    struct history *history;
    struct intern input_keys; /* of two processes */
    struct input *inputs;     /* by these */
    size_t input_room;
    bool several_machines;    /* at the end: elapsed_find_labels */
    size_t value;             /* index of the interval that ends at an event */
    struct scratch intervals; /* struct interval */
    struct lookup thread_numbers;
    struct pool threads;
    struct intern detail_keys;
    struct detail *details;
    size_t detail_room;
    struct arena texts;
    uint64_t
        *arrived; /* [end_place - 1]: when the first message arrived since the last RECEIVE there */
    size_t arrived_room;
    uint64_t *lost; /* [origin]: when its latest LOST was made */
    size_t lost_room;
    /* the process whose end counts */
    struct command_seen command;
    uint32_t commands; /* that have ended */
    uint32_t root_end; /* interval */
    bool root_served;  /* requests, until a signal ended it */
    uint32_t root_pid;
    char root_name[STREAM_NAME_SIZE + 1];
    /* elapsed_end_with; NULL: the root is found */
    bool (*chosen)(void *context, uint32_t origin, const struct stream_record *stream);
    void *context;
    uint64_t root_time;         /* when root_end ends */
    struct exchange *exchanges; /* [end_place - 1] */
    size_t exchange_room;
    struct scratch requests; /* struct request: with an answer */
    struct scratch tries;    /* struct try */
    struct askings askings;
    struct asking_step asking; /* of the current event */
    uint64_t unanswered, unfinished;
    struct lookup servers; /* processes that have received a request */
    /* Python's processes: how many futex waits of 5 ms they had, and how many of these as elapsed_find_interpreter wants */
    struct lookup switches, contended;
    struct intern wait_keys;
    struct wait_sum *wait_sums;
    size_t wait_room;
    struct recorded_types recorded; /* by all origins */
    bool has_delays;                /* a SCHEDULE was seen */
    uint64_t first;                 /* time of the first event */
    uint32_t last;                  /* the interval that ends last */
    uint64_t last_time;
    elapsed_take_piece *take; /* elapsed_watch; NULL: nobody asks for the pieces of the account */
    void *taker;
};

/* ---- elapsed.c ---- */

/* NULL: it is not known yet. */
struct elapsed_thread *elapsed_find_thread(const struct elapsed_analysis *analysis, uint32_t origin,
                                           uint32_t number);

/* ---- elapsed_causes.c ---- */

/* ns: a process that frees little memory has ended so long after its last record, at most. */
#define ENDING 100000000u

/* The interval at whose end an edge begins; 0: not known. */
uint32_t elapsed_source_of(const struct elapsed_analysis *analysis,
                           const struct history_edge *edge);

/* Chooses the edge that has ended the wait: of several messages the one that arrived first, and messages before anything
 * else. Of messages of which only some were received (enum edge_kind), the latest that was there in time. `began`: when
 * the wait did; 0: nothing was waited for, and a message is looked for. `earlier`: it ended unseen before the BLOCK that this
 * event is, so only such edges count. Else only the others do, unless the interval is all that a sleep lasted. */
void elapsed_find_cause(struct elapsed_analysis *analysis, const struct history_event *event,
                        uint64_t began, uint64_t arrived, bool earlier, struct interval *interval);

/* What a wait that ends with this event was for, if no record shows what ended it ... */
enum elapsed_kind elapsed_unexplained(const struct elapsed_analysis *analysis,
                                      const struct elapsed_thread *thread,
                                      const struct history_event *event,
                                      const struct interval *interval);

/* ... or whether or not one does. */
enum elapsed_kind elapsed_waited_for(const struct elapsed_analysis *analysis,
                                     const struct elapsed_thread *thread,
                                     const struct history_event *event,
                                     const struct interval *interval);

/* Whether the thread, asleep, waited for the connection whose CONNECT or CONNECTFAILED this is. */
bool elapsed_is_reply_to_connect(const struct elapsed_analysis *analysis,
                                 const struct elapsed_thread *thread,
                                 const struct history_event *event);

/* The same if that is a call that waits for any of several paths. */
enum elapsed_kind elapsed_unexplained_of_any(const struct elapsed_analysis *analysis,
                                             const struct elapsed_thread *thread,
                                             const struct history_event *event,
                                             const struct interval *interval);

/* The path that it was for, where one is known; else 0. */
uint32_t elapsed_path_of_wait(const struct elapsed_thread *thread,
                              const struct history_event *event, enum elapsed_kind kind);

/* Whether two numbers are of paths of one socket. */
bool elapsed_is_one_socket(const struct elapsed_analysis *analysis, uint32_t origin, uint32_t path,
                           uint32_t other);

/* Its system call. */
uint32_t elapsed_call_of_wait(const struct elapsed_thread *thread,
                              const struct history_event *event);

/* ---- elapsed_end.c ---- */

/* An event of a thread, with its interval: the account may end with it. */
void elapsed_note_end(struct elapsed_analysis *analysis, const struct history_event *event,
                      uint32_t index);

/* ---- elapsed_details.c ---- */

struct waited {
    enum elapsed_kind kind;
    uint32_t call;
    uint32_t path;   /* number of the end whose address counts, 0: none */
    uint32_t object; /* as in a BLOCK */
    uint32_t signal; /* that ended it; 0: none, or not known ... */
    uint32_t sender; /* ... and the process that sent it, as in a SIGNAL */
    bool has_pc;     /* the wait's call was made here, not where the event's was */
    uint64_t pc;
};

/* 0: not known, or in a library: that says nothing of the program. */
uint64_t elapsed_pc_of(const struct record_header *header);

/* Index of the detail, made if it is new; at most DETAILS_MOST - then without the PC, or 0. -ENOMEM. */
int64_t detail_of(struct elapsed_analysis *analysis, const struct history_event *event,
                  const struct waited *waited);

/* The same for computing. */
int64_t detail_of_computing(struct elapsed_analysis *analysis, const struct history_event *event);

/* What a wait was for, by its system call alone. */
enum elapsed_kind kind_of_call(uint32_t call, uint32_t state);

/* What a BLOCK was for. */
enum elapsed_kind kind_of_block(const struct elapsed_analysis *analysis,
                                const struct history_event *event);

/* ---- elapsed_delays.c ---- */

/* Before a walk: whose SCHEDULE records say how long a thread waited for CPUs, and so what the walk may say. */
void elapsed_begin_delays(const struct elapsed_analysis *analysis);

/* The thread's wait ended at `arrival` or later: from when on it can have waited for a CPU. */
uint64_t elapsed_runnable_since(const struct elapsed_analysis *analysis,
                                const struct interval *interval, uint64_t arrival);

/* The walk finds that the interval's thread had no CPU for `time`. Returns how much of it the SCHEDULEs allow, less what
 * was taken before. */
uint64_t elapsed_take_no_cpu(const struct elapsed_analysis *analysis,
                             const struct interval *interval, uint64_t time);

/* ---- elapsed_requests.c ---- */

/* A DESTROYPATH. Returns 0 or a negative errno. */
int elapsed_end_path(struct elapsed_analysis *analysis, const struct history_event *event);

/* A SYN of the connection at this end was lost, and sent again. */
void elapsed_note_resent(struct elapsed_analysis *analysis, uint32_t end_place);

/* A SEND or RECEIVE of a thread, with its interval. */
int elapsed_note_message(struct elapsed_analysis *analysis, const struct history_event *event,
                         struct elapsed_thread *thread, uint32_t interval);

/* The other side has sent all: what came after the last answer was no question. `interval`: that of the event. */
void elapsed_note_end_of_file(struct elapsed_analysis *analysis, const struct history_event *event,
                              uint32_t interval);

/* Whether the side of this end does not serve the other one, as far as is known. */
bool elapsed_calls_on(const struct elapsed_analysis *analysis, uint32_t end_place);

/* After the last event. */
int elapsed_end_requests(struct elapsed_analysis *analysis);

/* ---- elapsed_waits.c ---- */

int elapsed_note_wait(struct elapsed_analysis *analysis, const struct history_event *event,
                      const struct interval *interval, enum elapsed_kind kind);
int elapsed_make_waits(const struct elapsed_analysis *analysis, struct elapsed *elapsed);

/* ---- elapsed_labels.c ---- */

/* Command lines, and the names that threads gave themselves. After the last event, before rows are made. Returns 0 or -ENOMEM. */
int elapsed_find_labels(struct elapsed_analysis *analysis);

/* The machine of an origin, after that: its name; "": there is only one machine. */
void elapsed_machine_of(const struct elapsed_analysis *analysis, uint32_t origin,
                        char text[MACHINE_NAME_SIZE + 1]);

/* ---- elapsed_runtimes.c ---- */

#define RETRY 100000u /* ns of CPU time between two waits for one lock, at most */

/* Which details are a runtime's affair. After the last event, before the walk. Returns 0 or -ENOMEM. */
int elapsed_find_runtimes(struct elapsed_analysis *analysis);

/* What a wait of this kind was for, if it was its runtime's affair; otherwise `kind`. */
enum elapsed_kind elapsed_kind_in_runtime(const struct elapsed_analysis *analysis,
                                          enum elapsed_kind kind, uint32_t detail);

/* A wait that is over: notes there, and in the one before it, if they seem to have been for Python's interpreter lock.
 * Returns 0 or -ENOMEM. */
int elapsed_find_interpreter(struct elapsed_analysis *analysis, struct interval *interval);

/* Whether the wait was for Python's interpreter lock. */
bool elapsed_is_wait_for_interpreter(const struct elapsed_analysis *analysis,
                                     const struct interval *interval);

/* Whether this is a program of CPython's. */
bool elapsed_is_python(const struct elapsed_analysis *analysis, uint32_t origin, uint32_t image);

/* Whether a thread of a JVM, not one of the VM's own, waited until the VM Thread ended that. */
bool elapsed_is_stop(const struct elapsed_analysis *analysis, const struct interval *interval);

/* ---- elapsed_rows.c ---- */

/* What was found of one detail and one kind. */
struct part {
    uint32_t detail; /* 0: not known */
    enum elapsed_kind kind;
    uint64_t time;
    uint64_t count;
};

struct elapsed_row elapsed_row_of(const struct elapsed_analysis *analysis, const struct part *part);

/* Adds times and counts of a row that says the same. */
void elapsed_add_row(struct elapsed_row *sum, const struct elapsed_row *row);

/* By what they say, without times and threads. */
int elapsed_compare_rows(const struct elapsed_row *a, const struct elapsed_row *b);
/* Whether threads of these names do the same: "worker-1" and "worker-*". */
bool elapsed_are_alike(const char *thread, const char *other);
int elapsed_make_rows(const struct elapsed_analysis *analysis, const struct part *parts,
                      size_t count, struct elapsed_account *account);

/* ---- elapsed_holders.c ---- */

struct hold_sum;

/* All zero at first. */
struct holds {
    struct intern keys;
    struct hold_sum *sums;
    size_t room;
};

/* Whether it waited for a lock, of a file or not, until a thread ended that ... */
bool elapsed_is_wait_for_any_lock(const struct elapsed_analysis *analysis,
                                  const struct interval *interval);

/* ... or for one that is no file's. */
bool elapsed_is_wait_for_lock(const struct elapsed_analysis *analysis,
                              const struct interval *interval);

/* For how long, in [from, to), the thread of this wait for a lock waited there. It may have been woken in vain, and have
 * waited again, once or several times: *wait becomes the last of these waits that began before `to`. */
uint64_t elapsed_waited_within(const struct elapsed_analysis *analysis, uint32_t *wait,
                               uint64_t from, uint64_t to);

/* During this part another thread waited, for this kind of lock; `waits`: the detail of its wait. Returns 0 or -ENOMEM. */
int elapsed_note_hold(struct holds *holds, const struct part *part, enum elapsed_kind waited,
                      uint32_t waits);
int elapsed_make_holders(const struct elapsed_analysis *analysis, const struct holds *holds,
                         struct elapsed_holder **ret_holders, size_t *ret_count);
void elapsed_forget_holds(struct holds *holds);

/* ---- elapsed_files.c ---- */

/* A READ that finds what others have written; elapsed_find_files: from the parts of the account of a run. Return 0 or -ENOMEM. */
int elapsed_note_inputs(struct elapsed_analysis *analysis, const struct history_event *event);
int elapsed_find_files(const struct elapsed_analysis *analysis, const struct part *parts,
                       size_t count, struct elapsed *elapsed);

/* ---- elapsed_items.c ---- */

/* From the parts of the account of a run. Returns 0 or -ENOMEM. */
int elapsed_find_item(const struct elapsed_analysis *analysis, const struct part *parts,
                      size_t count, struct elapsed *elapsed);

/* ---- elapsed_locks.c ---- */

struct lock_sum;

/* All zero at first. */
struct locks {
    struct intern keys;
    struct lock_sum *sums;
    size_t room;
};

/* Whether two details of waits, which may be 0, are for one object. */
bool elapsed_is_for_lock(const struct elapsed_analysis *analysis, uint32_t waits, uint32_t lock);

/* The account, at `now`, leaves the thread of this wait for what ended it. Returns 0 or -ENOMEM. */
int elapsed_note_lock(const struct elapsed_analysis *analysis, struct locks *locks,
                      const struct interval *wait, uint64_t now);

/* After the holders are made. Returns 0 or -ENOMEM. */
int elapsed_make_locks(struct elapsed_analysis *analysis, const struct locks *locks,
                       struct elapsed *elapsed);
void elapsed_forget_locks(struct locks *locks);

/* ---- elapsed_pieces.c ---- */

/* A piece of the account, for elapsed_watch. Returns 0 or a negative errno. */
int elapsed_tell_piece(const struct elapsed_analysis *analysis, const struct part *part,
                       uint64_t begin);

/* ---- elapsed_walk.c ---- */

/* The run once more, but with the threads that waited for this lock (a detail) instead of its holders: how long they waited.
 * Returns 0 or -ENOMEM. */
int elapsed_walk_lock(struct elapsed_analysis *analysis, uint32_t lock, uint64_t *ret_time);

int elapsed_walk(struct elapsed_analysis *analysis, struct elapsed *elapsed);

static inline struct interval *interval_at(const struct elapsed_analysis *analysis, uint32_t index)
{
    return (struct interval *)analysis->intervals.at + (index - 1);
}

static inline bool is_send(const struct history_event *event)
{
    return event->event.header->id == EVENT_SEND || event->event.header->id == EVENT_SENDCALL;
}

/* If it was no sleep in a call that waits for a message. */
static inline uint64_t elapsed_wait_began(const struct interval *interval)
{
    return interval->end - interval->wait;
}

/* When what an interval has begun for others was visible to them. */
static inline uint64_t begun_at(const struct interval *interval)
{
    return interval->end - interval->span;
}

#endif
