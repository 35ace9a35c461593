/* SPDX-License-Identifier: MIT */
/*
 * filesystem.h: a file system of four server processes, and the processes that use it: what their
 * programs share. After the file system of DEMOS (Miller's thesis, sections 5.3.1 and 5.3.2).
 *
 *     user-process ─┐                   ┌─► directory-mgr ─┐
 *     user-process ─┼─► request-interp ─┤                  ▼
 *     user-process ─┘                   └──────► buffer-manager ─► disk-interface ─► disk (a file)
 *
 *     filesystem.c ── options, start, result       filesystem_process.c ── what every process has:
 *       ├── filesystem_launch.c ── processes         messages, connections, counts, CPU work
 *       └── filesystem_report.c ── tables             ├── user_process.c  request_interp.c
 *                                                     ├── directory_mgr.c  disk_interface.c
 *                                                     └── buffer_manager.c, buffer_cache.c
 *
 * Each server handles one message at a time, whoever sent it; what it sends because of a message it
 * sends before it takes the next one. So "received from, next sent to" says what caused what.
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

/* Roles are what is counted: each server is one, all users together are one. */
#define ROLE_USER   USER_FIRST
#define ROLES       (ROLE_USER + 1)
#define ROLE_NOBODY ROLES /* where nothing has been received yet */

static inline unsigned role_of(unsigned process)
{
    return process < ROLE_USER ? process : ROLE_USER;
}

/* Names of the programs by role; no longer than the kernel keeps, 15 characters. */
extern const char *const role_names[ROLES + 1];

/* ---- sizes ---- */

#define RECORD_SIZE       512u /* what a user reads and writes at a time */
#define BLOCK_SIZE        2048u
#define RECORDS_PER_BLOCK (BLOCK_SIZE / RECORD_SIZE)
#define NAME_SIZE         48u
#define FILES_LIMIT       4096u

/* ---- what all processes share: a piece of memory, so that counting sends no messages ---- */

/* Written by the one process it speaks of, read by the launcher when that has ended. */
struct counts {
    uint64_t sent[ROLES];
    uint64_t sent_bytes[ROLES];
    uint64_t received[ROLES];
    uint64_t next[ROLES + 1][ROLES]; /* [last received from][sent to] */
    uint64_t hits;                   /* buffer manager: reads and writes of users' records ... */
    uint64_t misses;                 /* ... that needed no disk access, and that did */
    uint64_t operations;             /* user: reads and writes */
    uint64_t opens;                  /* user: opens and closes */
    uint64_t verified;               /* user: records that were read and were right */
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
    uint32_t write_percent;  /* of a random user's requests to what has been written before */
    uint32_t buffers;        /* of an open file */
    uint32_t dirty_buffers;  /* of them, may hold what is not on the disk */
    uint32_t inside;         /* requests that the request interpreter lets in at a time */
    uint32_t cost_us[ROLES]; /* CPU time for each message received */
    int32_t disk;            /* descriptor, in the disk interface */
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
    MESSAGE_OPEN = 1, /* user → RI: name; position 1: create it if it is not there */
    MESSAGE_CLOSE,    /* user → RI;  RI → DM: the file's length, for its entry */
    MESSAGE_READ,     /* user → RI → BM, DM → BM: a record */
    MESSAGE_WRITE,    /* the same */
    MESSAGE_LOOKUP,   /* RI → DM: name */
    MESSAGE_CREATE,   /* RI → DM: name */
    MESSAGE_ATTACH,   /* RI → BM, DM → BM: the file will be used; position 1: it is new */
    MESSAGE_FLUSH, /* RI → BM, DM → BM: write all to the disk, the file is not used any more */
    MESSAGE_READ_BLOCK,  /* BM → DI */
    MESSAGE_WRITE_BLOCK, /* BM → DI */
};

/* An answer is of the type of its request, and goes the same way back. */
struct message {
    uint32_t size; /* of the whole message */
    uint8_t type;
    uint8_t answer;    /* 0: a request, 1: an answer */
    uint16_t from;     /* process that sent it */
    uint16_t user;     /* process on whose behalf, to route answers */
    int16_t error;     /* answers: 0 or a negative errno */
    uint32_t file;     /* number of the file */
    uint32_t position; /* record in the file, or block of the disk */
    uint32_t length;   /* of the file, in records */
    uint8_t data[BLOCK_SIZE];
};

#define MESSAGE_HEADER offsetof(struct message, data)

/* ---- every process (filesystem_process.c) ---- */

struct peer {
    int descriptor; /* -1: gone */
    bool accepted;  /* it connected to us */
};

struct process {
    unsigned number;
    struct shared *shared;
    struct counts *counts; /* its own */
    int listener;          /* -1: none, or all have come */
    unsigned expected;     /* connections that will come */
    unsigned alive;        /* accepted connections that are there */
    unsigned last_role;    /* received from most recently */
    unsigned next_peer;    /* to look at first, so that none starves */
    bool hold_accepted;    /* take nothing from those who connected to us */
    unsigned peer_count;
    struct peer peers[PROCESSES];
    int peer_of[PROCESSES]; /* by process number: index into peers, -1: not known */
};

/* Reads the arguments that the launcher gives, NUMBER SHARED-DESCRIPTOR LISTENER-DESCRIPTOR, and
 * maps what is shared. `expected`: how many processes will connect. Ends the program with exit code
 * 2 if it was not started by the launcher. */
void process_begin(struct process *process, int argument_count, char **arguments,
                   unsigned expected);

/* Connects to a server. */
int process_connect(struct process *process, unsigned server);

/* Sends a message whose `size` is set, by one call; sets `from`. */
int process_send(struct process *process, unsigned to, struct message *message);

/* Waits for the next message of anybody, takes it by one call, and does the CPU work it costs.
 * Returns 1; 0 when all who were expected have come and gone; -ECONNRESET if a server we connected
 * to is gone; -EPROTO; or another negative errno. */
int process_receive(struct process *process, struct message *ret_message);

/* Sends a request to a server and waits for its answer; other messages wait meanwhile. Returns the
 * answer's error, or that of sending and receiving. */
int process_call(struct process *process, unsigned to, struct message *message);

/* Exit code of a program; says on standard error what went wrong. */
int process_end(const struct process *process, int error);

/* Makes `message` an answer of `data_size` bytes to what it asked. */
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
    const char *disk; /* file name, NULL: a file without a name */
    int cores[ROLES]; /* pinned to, -1: not */
    int shared_descriptor;
    struct shared *shared;
    int listeners[SERVERS];
    int processes[PROCESSES];       /* process ids, 0: not there */
    struct cpu_time cpu[PROCESSES]; /* when they have ended */
    uint64_t elapsed_us;
};

/* Makes what is shared, with settings still to be filled in by the caller. */
int launch_prepare(struct launch *launch, struct problem *problem);

/* Starts all processes, waits until they have ended. If one ends badly, all are killed. */
int launch_run(struct launch *launch, struct problem *problem);

/* Prints what was counted. Returns -EIO if the counts do not agree with each other. */
int report_print(const struct launch *launch, struct problem *problem);

#endif
