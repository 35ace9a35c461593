/* SPDX-License-Identifier: MIT */
/*
 * filesystem.h: shared by the programs of a file system: four server processes, and the processes that use it. After
 * the file system of DEMOS (Miller's thesis, sections 5.3.1 and 5.3.2).
 *
 *     user-process ─┐                   ┌─► directory-mgr ─┐
 *     user-process ─┼─► request-interp ─┤                  ▼
 *     user-process ─┘                   └──────► buffer-manager ─► disk-interface ─► disk (a file)
 *
 *     filesystem.c ── options, start, result       filesystem_process.c ── what every process has:
 *       ├── filesystem_launch.c ── processes         messages, connections, counts, CPU work
 *       ├── filesystem_apart.c ── each role on a host
 *       └── filesystem_report.c ── tables             ├── user_process.c  request_interp.c
 *                                                     ├── directory_mgr.c  disk_interface.c
 *                                                     └── buffer_manager.c, buffer_cache.c
 *
 * Each server handles one message at a time, from any sender, and sends what follows from it before it takes the next
 * one. So "received from, next sent to" shows cause and effect.
 *
 * Functions return 0 or a positive result, or a negative errno.
 */
#ifndef FILESYSTEM_H
#define FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* ---- processes ---- */

/* The number of a process. Users are USER_FIRST and up. */
enum process_number {
    DISK_INTERFACE,
    BUFFER_MANAGER,
    DIRECTORY_MANAGER,
    REQUEST_INTERPRETER,
    USER_FIRST,
};

#define SERVERS     USER_FIRST
#define USERS_LIMIT 64
#define PROCESSES   (SERVERS + USERS_LIMIT)

/* Counts are kept by role: each server is one, all users together are one. */
#define ROLE_USER   USER_FIRST
#define ROLES       (ROLE_USER + 1)
#define ROLE_NOBODY ROLES /* nothing has been received yet */

static inline unsigned role_of(unsigned process)
{
    return process < ROLE_USER ? process : ROLE_USER;
}

/* Names of the programs by role; no longer than the kernel keeps, 15 characters. */
extern const char *const role_names[ROLES + 1];

/* bytes a user reads or writes at a time */

#define RECORD_SIZE       512u /* what a user reads and writes at a time */
#define BLOCK_SIZE        2048u
#define RECORDS_PER_BLOCK (BLOCK_SIZE / RECORD_SIZE)
#define NAME_SIZE         48u
#define FILES_LIMIT       4096u

/* ---- shared by all processes: a piece of memory, so that counting sends no messages ---- */

/* Written by its process, read by the launcher when that has ended. */
struct counts {
    uint64_t sent[ROLES];
    uint64_t sent_bytes[ROLES];
    uint64_t received[ROLES];
    uint64_t next[ROLES + 1][ROLES]; /* [last received from][sent to] */
    uint64_t hits;                   /* buffer manager: reads and writes of users' records ... */
    uint64_t misses;                 /* ... that needed disk access */
    uint64_t operations;             /* user: reads and writes */
    uint64_t opens;                  /* user: opens and closes */
    uint64_t verified;               /* user: records that were read and had the right contents */
};

enum kind {
    KIND_SEQUENTIAL,
    KIND_RANDOM,
    KIND_MIXED, /* users take turns: sequential, random, sequential ... */
};

struct settings {
    enum kind kind;
    uint64_t seed;
    uint32_t users;
    uint32_t requests;    /* reads and writes of each user */
    uint32_t file_blocks; /* size of a sequential user's files, and requests between open, close */
    uint32_t random_blocks;  /* size of a random user's file */
    uint32_t write_percent;  /* percentage of writes in a random user's requests */
    uint32_t buffers;        /* of each open file */
    uint32_t dirty_buffers;  /* how many of them may be dirty */
    uint32_t inside;         /* how many requests the request interpreter admits at a time */
    uint32_t cost_us[ROLES]; /* CPU time for each received message */
    int32_t disk;            /* descriptor, in the disk interface */
    bool apart;              /* servers on other hosts may begin later than who connects to them */
};

struct address {
    struct sockaddr_storage socket;
    socklen_t size;
};

struct shared {
    struct settings settings;
    struct address addresses[SERVERS];
    struct counts counts[PROCESSES];
};

/* ---- messages ---- */

enum message_type {
    MESSAGE_OPEN = 1, /* user → RI: name; position 1: create it if it does not exist */
    MESSAGE_CLOSE,    /* user → RI;  RI → DM: the file's length, for its entry */
    MESSAGE_READ,     /* user → RI → BM, DM → BM: a record */
    MESSAGE_WRITE,    /* the same */
    MESSAGE_LOOKUP,   /* RI → DM: name */
    MESSAGE_CREATE,   /* RI → DM: name */
    MESSAGE_ATTACH,   /* RI → BM, DM → BM: the file will be used; position 1: it is new */
    MESSAGE_FLUSH,    /* RI → BM, DM → BM: write all to the disk; the file is no longer used */
    MESSAGE_READ_BLOCK,  /* BM → DI */
    MESSAGE_WRITE_BLOCK, /* BM → DI */
};

/* An answer has the type of its request, and returns the same way. */
struct message {
    uint32_t size; /* of the whole message */
    uint8_t type;
    uint8_t answer;    /* 0: a request, 1: an answer */
    uint16_t from;     /* process that sent it */
    uint16_t user;     /* process on whose behalf it was sent, to route answers */
    int16_t error;     /* answers: 0 or a negative errno */
    uint32_t file;     /* number of the file */
    uint32_t position; /* record in the file, or block of the disk */
    uint32_t length;   /* of the file, in records */
    uint8_t data[BLOCK_SIZE];
};

#define MESSAGE_HEADER offsetof(struct message, data)

/* ---- every process (filesystem_process.c) ---- */

struct peer {
    int descriptor; /* -1: closed */
    bool accepted;  /* it connected to us */
};

struct process {
    unsigned number;
    struct shared *shared;
    struct counts *counts; /* its own */
    int listener;          /* -1: none, or all have connected */
    unsigned expected;     /* connections that will come */
    unsigned alive;        /* open accepted connections */
    unsigned last_role;    /* role of the latest received message's sender */
    unsigned next_peer;    /* checked first, so that none starves */
    bool hold_accepted;    /* take nothing from connected clients */
    unsigned peer_count;
    struct peer peers[PROCESSES];
    int peer_of[PROCESSES]; /* by process number: index into peers, -1: unknown */
};

/* Reads the launcher's arguments, NUMBER SHARED-DESCRIPTOR LISTENER-DESCRIPTOR, and maps the shared memory.
 * `expected`: how many processes will connect. Ends the program with exit code 2 if the launcher did not start it. */
void process_begin(struct process *process, int argument_count, char **arguments,
                   unsigned expected);

/* Connects to a server. */
int process_connect(struct process *process, unsigned server);

/* Sends a message whose `size` is set, by one call; sets `from`. */
int process_send(struct process *process, unsigned to, struct message *message);

/* Waits for the next message from any process, takes it by one call, and does the CPU work for it. Returns 1; 0 when
 * all expected processes have come and gone; -ECONNRESET if a server we connected to is gone; -EPROTO; or another
 * negative errno. */
int process_receive(struct process *process, struct message *ret_message);

/* Sends a request to a server and waits for its answer; other messages stay queued meanwhile. Returns the answer's
 * error, or that of sending and receiving. */
int process_call(struct process *process, unsigned to, struct message *message);

/* Exit code of the program; prints the error, if any, on standard error. */
int process_end(const struct process *process, int error);

/* Turns `message` into the answer to itself, with `data_size` bytes. */
void message_answer(struct message *message, int error, size_t data_size);

/* A pseudo-random number and the next state (Steele, Lea, Flood 2014: SplitMix64). */
uint64_t random_next(uint64_t *state);

/* ---- the launcher ---- */

struct problem {
    char text[256];
};

int problem_set(struct problem *problem, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct cpu_time {
    uint64_t user_us;
    uint64_t system_us;
};

struct launch {
    bool tcp;
    int part;                   /* the role that runs here; -1: all */
    const char *hosts[SERVERS]; /* if one role runs here: where the servers are */
    uint16_t port;              /* of the first server there; the others have the next ones */
    const char *disk;           /* file name; NULL: an unnamed file */
    int cores[ROLES];           /* pinned to this core; -1: not pinned */
    int shared_descriptor;
    struct shared *shared;
    int listeners[SERVERS];
    int processes[PROCESSES];       /* process ids; 0: not running */
    struct cpu_time cpu[PROCESSES]; /* set when they have ended */
    uint64_t elapsed_us;
};

/* Creates the shared memory; the caller still fills in the settings. */
int launch_prepare(struct launch *launch, struct problem *problem);

/* Starts all processes and waits until they have ended. If one fails, all are killed. */
int launch_run(struct launch *launch, struct problem *problem);

/* Whether this role runs on this machine. */
static inline bool launch_has(const struct launch *launch, unsigned role)
{
    return launch->part < 0 || (unsigned)launch->part == role;
}

/* filesystem_apart.c: the addresses of all servers, and the listener of the one that runs here. */
int apart_make_listeners(struct launch *launch, struct problem *problem);

/* Prints the counts. Returns -EIO if they are inconsistent. */
int report_print(const struct launch *launch, struct problem *problem);

#endif
