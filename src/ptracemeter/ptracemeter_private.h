/* SPDX-License-Identifier: MIT */
/*
 * ptracemeter_private.h: what the files of ptracemeter/ share.
 *
 *      ptracemeter.c   opened, marked, closed by others' threads
 *      tracer.c        the thread: waits for stops, and lets go
 *        |-- tracees.c       streams and processes: created, executing, ended; who they are
 *        |-- calls.c         a system call begins, ends: which it is, what of it is told
 *        |     |-- message_calls.c bytes sent, received
 *        |     |-- descriptor_calls.c  descriptors made, copied, closed
 *        |     '-- program_callers.c   from where in its program a call is made
 *        |-- descriptors.c   which file is behind a descriptor, once looked at
 *        |-- objects.c       sockets and pipes that are known
 *        |     |-- socket_facts.c  what a socket is
 *        |     |     '-- diagnosis.c  what the kernel says of it by its inode
 *        |     |-- addresses.c     its addresses
 *        |     '-- paths.c         its paths, and who is at their other end
 *        '-- telling.c       records
 *      call_filter.c   which calls stop at all (seccomp)
 *
 *      tracee --> process --> table --[descriptor]--> object --> path --> number, positions
 *                 (threads share it)   (forks have an own one)
 */
#ifndef DPM_PTRACEMETER_PRIVATE_H
#define DPM_PTRACEMETER_PRIVATE_H

#include "base/lookup.h"
#include "meter/shared/message.h"
#include "ptracemeter/program_callers.h"
#include "ptracemeter/ptracemeter.h"

#include <linux/filter.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MILLISECOND 1000000ull

#define TICKSIGNAL (SIGRTMIN + 3) /* interrupts the tracer's wait */

/* What the kernel's calls return inside when they are to go on after a signal: from the first on ... */
#define FIRST_RESTART (-516) /* ... which goes on by restart_syscall ... */
#define LAST_RESTART  (-512) /* ... to the last */

/* ---- the object behind a descriptor ---- */

enum object_kind {
    OBJECT_SOCKET,
    OBJECT_PIPE, /* or FIFO */
};

struct object;

/* One end of a path. */
struct path {
    struct path *next; /* of the same object */
    struct object *object;
    uint32_t number;
    uint32_t out; /* bytes, or messages, that calls have sent that have ended */
    uint32_t in;
    uint64_t peer;             /* cookie; 0: not known */
    uint8_t kind;              /* enum path_kind */
    bool older;                /* than the metering */
    bool doubtful;             /* positions may be wrong from now on */
    bool paired;               /* TCP: the other end is known */
    bool peer_gone;            /* the other end is closed ... */
    uint32_t peer_out;         /* ... and had sent so much */
    struct path_record record; /* as it was told */
};

struct object {
    uint64_t device; /* with the inode the key under which it is found */
    uint64_t inode;
    uint64_t cookie;  /* of a pipe twice its serial number */
    uint32_t index;   /* of the pool, for the lookup */
    uint32_t holders; /* entries of tables */
    uint32_t sending; /* calls in progress */
    uint32_t receiving;
    uint32_t sent; /* calls that have begun so far */
    uint32_t received;
    bool shut_out; /* shutdown */
    bool shut_in;
    bool in_flight; /* in a message that passes it on */
    bool missed;    /* something was sent before it had a path */
    uint8_t object_kind;
    uint8_t kind; /* enum path_kind, 0: it is no path */
    uint8_t family;
    uint8_t role; /* enum path_role, as far as calls told */
    bool older;   /* than the metering: not made by who is traced, as far as is known */
    bool packets; /* O_DIRECT */
    bool connected;
    uint64_t peer;            /* cookie; 0: not known */
    struct path *paths;       /* of a socket; datagrams: one for each peer */
    struct path *ends[2];     /* of a pipe: written, read */
    struct path_record facts; /* what a PATH of it has to say */
};

#define PIPE_WRITTEN 0
#define PIPE_READ    1

/* A descriptor that leads to no path. */
#define NO_OBJECT ((struct object *)-1)

/* Descriptors of processes that share them. */
struct table {
    uint32_t users; /* tracees */
    uint32_t
        changing; /* calls in progress that close or replace some: what is looked up is not kept */
    struct object **at; /* [capacity] NULL: not looked at yet */
    size_t capacity;
};

/* ---- who is traced ---- */

struct process {
    pid_t pid;
    uint32_t number;  /* that of its first stream */
    uint32_t streams; /* that live */
    uint32_t image;
    int pid_fd;       /* -1: not opened yet */
    bool other_bits;  /* executes a program of 32 bits, or x32: its calls are not seen */
    bool other_calls; /* makes some calls of 32 bits, which has been told */
    bool unreadable;  /* has been told of */
    uint32_t user;
    uint32_t pid_inside;
    uint32_t pid_namespace;
    uint32_t network;
    uint64_t cgroup;
    struct callers *callers; /* of its address space; NULL: nobody asks, or no memory */
};

/* The CPU's view of a stream. */
struct schedule {
    uint64_t run;      /* ns of CPU time */
    uint64_t delay;    /* ns it waited for a CPU */
    uint64_t arrivals; /* how often it got one */
};

struct system_call;

/* The call in progress. */
struct call {
    const struct system_call *what; /* NULL: none that matters */
    uint64_t number;
    uint64_t arguments[6];
    uint64_t began; /* let go at its entry */
    struct schedule before;
    uint64_t involuntary;    /* switches of its process, as of `began` */
    uint64_t preempted;      /* how often its stream was, then */
    struct object *from;     /* receives; may be NULL */
    struct object *to;       /* sends */
    struct path *path;       /* where it sends to; NULL: not known yet, or several */
    uint32_t other_sends;    /* begun on `to` until then; 0: some were in progress */
    uint32_t other_receives; /* the same on `from` */
    bool told;               /* RECEIVECALL */
    uint32_t told_bytes;     /* + 1: SENDCALL */
    bool changing;           /* of its table */
    bool starved;            /* splice: there was nothing to read when it began */
    bool counted;            /* among those of its objects that are sending, receiving */
};

struct tracee {
    pid_t tid;
    uint32_t number; /* of its STREAM; 0: not told yet */
    uint32_t sequence;
    uint32_t parent;
    struct process *process;
    struct table *table;
    struct call call;
    struct call restarting; /* that goes on by restart_syscall */
    int schedstat;          /* descriptor, -1: not opened */
    struct schedule schedule;
    uint64_t involuntary; /* switches of its process, at its latest stop */
    uint64_t ip;          /* where it was at its latest stop ... */
    uint64_t stack;       /* ... and its stack pointer */
    uint64_t pc;          /* the place in its program, if it has been looked for ... */
    uint16_t pc_flags;    /* ... RECORD_LIBRARY or 0 */
    bool pc_found;
    bool stands;           /* it is stopped there */
    uint64_t preempted;    /* how often it was, when that was last asked for */
    uint64_t preempted_at; /* `involuntary` then, + 1 */
    uint64_t started;      /* when it was created */
    uint32_t failed_sends;
    uint32_t failed_receives;
    bool born;        /* its creator's stop has been seen */
    bool waits;       /* stopped, and not let go until it is born */
    bool from_exec;   /* nothing is told before it executes a program */
    bool begun;       /* STARTPROCESS has been told */
    bool exit_wanted; /* the end of its call must stop it */
    bool stopped;     /* by a signal */
    bool
        waited; /* RECEIVECALL of a tee, which takes nothing, or of a call that begins again: the next RECEIVE had to wait */
    bool ended; /* TERMINATION has been told */
    uint64_t held_since; /* not born, and waits */
};

/* ---- records between the threads ---- */

#define BUFFER_SIZE (4u << 20)

struct buffer {
    char *bytes;
    size_t used;
    size_t first;
};

enum phase {
    PHASE_RECORDS,
    PHASE_STOPPED,  /* goes on tracing, records nothing */
    PHASE_DETACHES, /* lets go of everybody */
};

/* How often it was, and who was the first. */
struct shortfall {
    uint64_t count;
    char first[32];
};

/* What could not be metered: counted, told at the end. */
struct shortfalls {
    struct shortfall unreadable;  /* descriptors and memory that could not be looked at */
    struct shortfall other_bits;  /* programs of 32 bits */
    struct shortfall other_calls; /* programs of 64 bits with calls of 32 bits */
    struct shortfall uring;       /* rings of io_uring */
    struct shortfall answered;    /* filters of calls that a process answers */
    struct shortfall mapped;      /* receives that map what has come */
    struct shortfall tracers;     /* calls of ptrace by who is traced */
    uint64_t anonymous;           /* datagrams received without their sender's address */
    uint64_t no_memory;           /* for paths, streams, programs */
    uint64_t no_schedule;         /* streams without schedstat */
    uint64_t dropped;             /* records, while everybody is let go of and nobody reads */
};

struct ptracemeter {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct ptracemeter_options options;
    struct sock_fprog filter;
    int64_t wall_offset;
    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buffer filling;
    struct buffer reading; /* the reader's own */
    bool finished;         /* no more records will come */
    bool seized;           /* or failed */
    int seize_error;
    atomic_uint phase;          /* enum phase */
    atomic_bool kills;          /* whoever is left */
    struct meter_process *left; /* let go of */
    size_t left_count, left_capacity;
    atomic_bool command_ended;
    atomic_bool command_stopped;
    int command_status;
    atomic_uint live;
    int event_fd;
    pthread_t thread;
    bool running;
    pid_t command;
    pid_t tracer_tid;
    /* the tracer's */
    uint64_t last_time;
    uint32_t stops; /* so far */
    uint64_t last_tick;
    uint64_t last_sweep;
    struct lookup tids; /* -> tracees */
    struct pool tracees;
    uint32_t tracee_count;
    struct lookup inodes; /* -> objects */
    struct pool objects;
    struct lookup cookies;   /* of UNIX sockets -> objects */
    struct lookup addresses; /* of TCP ends, hashed -> objects */
    uint32_t last_stream, last_path, last_image, last_pipe;
    int cgroup_root;
    int diag;
    bool diag_tried;
    uint32_t diag_questions;
    bool no_copies; /* of descriptors: pidfd_getfd is refused */
    bool doubtful;  /* calls are made that are not seen: all positions */
    bool
        identities_change; /* somebody may have got another user, other namespaces: all are asked */
    bool closings;         /* objects that may be closed */
    struct shortfalls shortfalls;
};

static inline struct ptracemeter *ptracemeter_of(const struct meter_interface *interface)
{
    return (struct ptracemeter *)(uintptr_t)interface;
}

/* ---- telling.c ---- */

static inline bool wants(const struct ptracemeter *meter, uint32_t id)
{
    return (meter->options.flags & EVENT_FLAG(id)) != 0;
}

/* The time of the next record: later than all before. */
uint64_t tell_time(struct ptracemeter *meter);
void tell(struct ptracemeter *meter, const struct record_header *record);

/* SEND, RECEIVE ..., and process events, if their flag is in force. */
void tell_message(struct ptracemeter *meter, struct tracee *tracee, uint32_t id,
                  const struct message *message);
void tell_process_event(struct ptracemeter *meter, struct tracee *tracee, uint32_t id,
                        uint32_t word0, uint32_t word1, uint32_t word2, uint32_t word3);
void tell_block(struct ptracemeter *meter, struct tracee *tracee, uint32_t system_call,
                uint64_t duration);
/* Of a path and no stream. */
void tell_unowned(struct ptracemeter *meter, uint32_t id, uint32_t path);
int tell_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
              struct problem *problem);

/* ---- call_filter.c ---- */

int filter_enter(void *meter);

int filter_make(struct ptracemeter *meter, struct problem *problem);
void filter_free(struct ptracemeter *meter);

/* ---- tracer.c ---- */

void *tracer_run(void *meter);
/* Reads of the memory of a stopped tracee. True: all of it. */
bool tracer_read(const struct tracee *tracee, uint64_t address, void *to, size_t size);

/* ---- tracees.c ---- */

struct tracee *tracee_find(struct ptracemeter *meter, pid_t tid);
struct tracee *tracee_add(struct ptracemeter *meter, pid_t tid);
void tracee_forget(struct ptracemeter *meter, struct tracee *tracee);
/* The first stream of all. */
int tracee_mark(struct ptracemeter *meter, pid_t pid);
/* Its creator's stop tells of it. */
void tracee_born(struct ptracemeter *meter, struct tracee *parent, pid_t tid);
/* Its creator's stop never came. */
void tracee_adopt(struct ptracemeter *meter, struct tracee *tracee);
void tracee_starts(struct ptracemeter *meter, struct tracee *tracee);
/* Returns the tracee that it is: a thread takes its leader's place. */
struct tracee *tracee_executes(struct ptracemeter *meter, struct tracee *tracee, pid_t former);
void tracee_ends(struct ptracemeter *meter, struct tracee *tracee, int status);
/* It is let go of, and runs on. */
void tracee_leaves(struct ptracemeter *meter, struct tracee *tracee);
/* Its CPU time and so on, as of now; it is stopped. */
void tracee_look(struct ptracemeter *meter, struct tracee *tracee);
/* How often it was preempted, ever. */
uint64_t tracee_preempted(const struct tracee *tracee);
void tracee_name(const struct tracee *tracee, char text[32]);
void tracee_falls_short(const struct tracee *tracee, struct shortfall *shortfall);

/* ---- calls.c ---- */

/* Whether the end of the call is to stop it, too. */
bool call_begins(struct ptracemeter *meter, struct tracee *tracee, uint64_t number,
                 const uint64_t arguments[6]);
void call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
/* The stream has ended in it. */
void call_dropped(struct ptracemeter *meter, struct tracee *tracee);
/* Calls that have been going on for long. */
void call_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now);
/* Whether the stream slept in the call that ends. */
bool call_slept(struct tracee *tracee);
/* The same of a send. */
bool call_took_long(const struct tracee *tracee);
/* RECEIVECALL, told at the end of the call, or while it goes on. */
void call_tell_wait(struct ptracemeter *meter, struct tracee *tracee, uint32_t path,
                    uint32_t offset);

/* What a call is about. */
enum call_class {
    CALL_SENDS,      /* on the descriptor that is the first argument */
    CALL_SENDS_MANY, /* sendmmsg */
    CALL_RECEIVES,   /* ... */
    CALL_RECEIVES_MANY,
    CALL_MOVES,     /* splice, sendfile, tee, vmsplice */
    CALL_WAITS_ANY, /* for any of several paths */
    CALL_ACCEPTS,
    CALL_CONNECTS,
    CALL_SLEEPS,  /* BLOCK */
    CALL_CLOSES,  /* close, close_range, dup2, dup3, unshare */
    CALL_MAKES,   /* pipe, socketpair, socket */
    CALL_NOTICED, /* io_uring_setup, ptrace */
    CALL_RESTARTS,
    CALL_CHANGES_TEXT, /* callers_changes */
};

struct system_call {
    uint16_t number;
    uint8_t what;   /* enum call_class */
    uint32_t flags; /* stops only if one of these is in force; 0: always */
    /* stops only if ... */
    uint8_t test;     /* enum argument_test */
    uint8_t argument; /* of this argument */
    uint64_t mask, value;
};

enum argument_test { TEST_NONE, TEST_NOT, TEST_MASKED };

/* The calls that matter; some several times, with different tests. Ends with `what` 255. */
extern const struct system_call system_calls[];
#define NO_CLASS 255

/* ---- message_calls.c ---- */

bool send_begins(struct ptracemeter *meter, struct tracee *tracee);
void send_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
bool receive_begins(struct ptracemeter *meter, struct tracee *tracee);
void receive_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
bool move_begins(struct ptracemeter *meter, struct tracee *tracee);
void move_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
void message_dropped(struct tracee *tracee);
/* SENDCALL of a send in progress, if something of it is out or it has waited for long. */
void send_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now);

/* ---- descriptor_calls.c ---- */

bool closing_begins(struct ptracemeter *meter, struct tracee *tracee);
void closing_ends(struct ptracemeter *meter, struct tracee *tracee);
void making_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
void accept_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
void connect_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);

/* ---- descriptors.c ---- */

struct table *table_new(void);
struct table *table_copy(struct ptracemeter *meter, const struct table *table);
void table_leave(struct ptracemeter *meter, struct table *table);
/* The object behind a descriptor of a stopped tracee; NULL: there is no such descriptor, or it cannot be
 * looked at; NO_OBJECT: no path. */
struct object *descriptor_object(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
void descriptor_set(struct ptracemeter *meter, struct table *table, int descriptor,
                    struct object *object);
void descriptor_forget(struct ptracemeter *meter, struct table *table, int descriptor);
void descriptors_forget_range(struct ptracemeter *meter, struct table *table, uint32_t first,
                              uint32_t last);
/* The tracee has executed a program: those that were closed. */
void descriptors_after_exec(struct ptracemeter *meter, struct tracee *tracee);
/* Whether a descriptor can be written to, read from. */
bool descriptor_is_written(const struct tracee *tracee, int descriptor);
/* A copy of a tracee's descriptor; the caller closes it before the tracee is let go. -1: refused. */
int descriptor_borrow(struct tracee *tracee, int descriptor);

/* ---- socket_facts.c ---- */

struct socket_facts {
    int family;
    int type;
    int protocol;
    uint64_t cookie;      /* 0: not known yet */
    socklen_t own_size;   /* 0: it has no address */
    socklen_t other_size; /* 0: it is not connected */
    struct sockaddr_storage own;
    struct sockaddr_storage other;
};

/* What the socket is that a stopped tracee has as `descriptor`. False: errno is EBADF, it is no
 * descriptor any more; or another, it cannot be looked at. */
bool socket_facts(struct ptracemeter *meter, struct tracee *tracee, uint64_t inode, int descriptor,
                  struct socket_facts *ret_facts);

/* ---- objects.c ---- */

/* Of this file, which descriptor `descriptor` of the tracee is; made if it is new. NULL: no memory. */
struct object *object_of_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                              const struct stat *file);
/* It is made by who is traced: known from its beginning. */
struct object *object_made(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
void object_pair(struct object *one, struct object *other);
/* What a socket is connected to, looked at again. */
void object_look_again(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       int descriptor);
/* An entry of a table leads there no more. */
void object_released(struct ptracemeter *meter, struct object *object);
/* From now on its positions may be wrong, in both directions. */
void object_doubt(struct ptracemeter *meter, struct object *object);
/* DESTROYPATH of what is closed. `all`: of everything. */
void objects_sweep(struct ptracemeter *meter, bool all);
void objects_free(struct ptracemeter *meter);
struct object *object_of_cookie(const struct ptracemeter *meter, uint64_t cookie);

static inline bool is_message(const struct object *object)
{
    return kind_counts_messages(object->kind);
}

static inline bool is_datagram(const struct object *object)
{
    return object->kind == PATH_UNIX_DATAGRAM || object->kind == PATH_UDP;
}

/* ---- addresses.c ---- */

struct sockaddr_un;

/* Of an internet address: its bytes, as a PATH has them, and its port. Returns the family, 0: it is none. IPv4 spoken
 * through an IPv6 socket is IPv4. */
uint8_t address_take(const struct sockaddr_storage *from, uint8_t bytes[16], uint16_t *port);
/* Those of both ends; `other` may be NULL. */
void address_take_both(struct path_record *facts, const struct sockaddr_storage *own,
                       const struct sockaddr_storage *other);
bool address_is_any(const uint8_t address[16]);
/* A UDP socket that is bound to any address is told with that which packets to and from this peer have, as
 * far as routing tells. */
void address_find_local(struct path_record *facts, const struct sockaddr_storage *peer,
                        socklen_t length);
/* As the kernel meter shows it: '@' for all NULs but the last ones. False: it has no name. */
bool address_take_name(struct path_record *facts, const struct sockaddr_un *address,
                       socklen_t size);

/* ---- paths.c ---- */

/* The path of this end, told if it is new, in the name of the tracee. NULL: it has none (a socket that is not
 * connected), or no memory. `end`: of a pipe. */
struct path *path_of(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     unsigned end);
/* The path of whoever has sent the datagram that a socket has received without asking: the one known sender. */
struct path *path_from_anybody(struct ptracemeter *meter, struct tracee *tracee,
                               struct object *object);
/* The path of a datagram socket to the peer with this address; NULL: to the one that it is connected to, or to nobody
 * known. */
struct path *path_to(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                     const void *address, size_t length);
/* PATH once more, of the ends of a pipe that have been told. */
void path_tell_again(struct ptracemeter *meter, struct object *object);
/* The other end of a path; NULL: not known. */
struct path *path_partner(struct ptracemeter *meter, const struct path *path);
/* DESTROYPATH of a socket's path. */
void path_ends(struct ptracemeter *meter, struct path *path);

/* ---- diagnosis.c ---- */

/* Inode of the peer of a UNIX socket, and a socket's cookie; 0: not known. */
uint64_t diagnosis_peer(struct ptracemeter *meter, uint64_t inode);
uint64_t diagnosis_cookie(struct ptracemeter *meter, uint64_t inode);
/* What the socket with this inode is. False: it is not in the kernel's lists. */
bool diagnosis_facts(struct ptracemeter *meter, uint64_t inode, struct socket_facts *ret_facts);
/* Cookie of the UNIX datagram socket that is bound to this name; 0: there is none. */
uint64_t diagnosis_named(struct ptracemeter *meter, const char *name, size_t length);

#endif
