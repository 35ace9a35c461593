/* SPDX-License-Identifier: MIT */
/*
 * truth.h: shared by the parts of truth-program. truth.c describes the program.
 *
 *      truth.c                the plan: which scenario runs when
 *        truth_conversation.c, truth_datagram.c, truth_shared.c, truth_life.c, truth_failure.c,
 *        truth_pipe.c, truth_pipe_shared.c, truth_pipe_relay.c, truth_pipe_blocked.c
 *          truth_traffic.c, truth_pipe_traffic.c      many calls, chosen at random
 *            truth_operation.c, truth_pipe_operation.c  one call, logged
 *              truth_pattern.c  the contents of messages
 *          truth_connection.c   sockets and their names
 *        truth_process.c        processes and threads, logged
 *          truth_journal.c      the log of one stream
 *
 * Three words: a *stream* is one thread; a *scene* is what all streams of one scenario share (its memory outlives fork
 * and exec); an *end* is a socket, or one side of a pipe, as one stream sees it.
 */
#ifndef DPM_TRUTH_H
#define DPM_TRUTH_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* ---- random numbers: one generator for each stream, all from the seed ---- */

struct random {
    uint64_t state;
};

uint64_t random_next(struct random *random);
/* Between lowest and highest, inclusive. */
size_t random_between(struct random *random, size_t lowest, size_t highest);
bool random_chance(struct random *random, unsigned percent);

/* ---- shared by processes ---- */

/* Limit of sending streams in one scenario; each byte they send carries the index of its sender. */
#define WRITER_LIMIT 16
#define SIGNAL_COUNT 4

struct scene {
    uint64_t seed;
    uint32_t number;
    _Atomic uint32_t writer_count;
    _Atomic uint32_t writers[WRITER_LIMIT]; /* their thread ids */
    _Atomic int64_t unclaimed;              /* messages that no receiver has claimed yet */
    _Atomic uint64_t sent;
    _Atomic uint64_t received;
    sem_t signals[SIGNAL_COUNT]; /* for the scenario's own use */
};

struct shared {
    _Atomic uint64_t bytes;
    uint64_t byte_limit;
    uint32_t seconds; /* a process that runs longer is killed */
    uint32_t scene_count;
    struct scene scenes[];
};

/* The memory that all processes of the run share, and its file descriptor. */
extern struct shared *shared;
extern int shared_descriptor;
extern const char *log_folder;
extern const char *socket_folder;

/* A generator for one role of a scene: the same role gets the same numbers in every process. */
struct random scene_random(const struct scene *scene, unsigned role);
/* Wait for one of the scene's signals, or post it. */
void scene_wait(struct scene *scene, unsigned signal);
void scene_post(struct scene *scene, unsigned signal);

/* ---- the log of one stream ---- */

struct journal {
    uint32_t tid;
    int writer;               /* index among the scene's writers, or -1 */
    uint64_t failed_sends[2]; /* of sockets; of pipes */
    uint64_t failed_receives[2];
    char *text;
    size_t length;
    size_t capacity;
    char path[512];
};

extern __thread struct journal journal;

/* Begins the log of a new stream: discards what a parent left in memory. */
void journal_begin(void);
void journal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes everything but TERMINATION, so that another program image can continue the file. */
void journal_hand_over(void);
/* Continues in a new image. `path` is the file that was handed over, or NULL if there is none yet. */
void journal_resume(const char *path, const char *image);
/* Writes the file: the stream ends, or will be ended, with this wait status. */
void journal_end(int status);

/* CPU time of this stream so far, ns. */
uint64_t cpu_time(void);
void sleep_milliseconds(unsigned milliseconds);

/* Prints one line and ends the run: a bug in this program, or a machine that cannot run it. */
_Noreturn void truth_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- processes and threads ---- */

struct thread {
    pthread_t handle;
    sem_t started;
    uint32_t tid;
    void (*run)(void *);
    void *argument;
};

/* Call it once in every new process but the first: sets limits, and death with the parent. */
void process_begin(void);
/* Sets the limits alone. */
void process_limit(void);
/* Forks: logs the child in the parent, and begins the child's own log. Returns 0 in the child. */
pid_t process_fork(void);
_Noreturn void process_end(int code);
/* Waits for a child and fails unless it ended with this wait status. */
void process_wait(pid_t child, int status);
void thread_start(struct thread *thread, void (*run)(void *), void *argument);
void thread_join(struct thread *thread);

/* ---- sockets ---- */

enum transport {
    TRANSPORT_TCP4,
    TRANSPORT_TCP6,
    TRANSPORT_STREAM,          /* UNIX stream with a path name */
    TRANSPORT_STREAM_ABSTRACT, /* UNIX stream with an abstract name */
    TRANSPORT_STREAM_PAIR,
    TRANSPORT_SEQPACKET,
    TRANSPORT_SEQPACKET_ABSTRACT,
    TRANSPORT_SEQPACKET_PAIR,
    TRANSPORT_DATAGRAM,
    TRANSPORT_DATAGRAM_ABSTRACT,
    TRANSPORT_DATAGRAM_PAIR,
    TRANSPORT_UDP4,
    TRANSPORT_UDP6,
    TRANSPORT_PIPE,
    TRANSPORT_PIPE_PACKET, /* a pipe with packets: each write is separate (O_DIRECT) */
    TRANSPORT_FIFO,
};

/* Inode numbers are unique only among objects of one kind. */
enum object {
    OBJECT_SOCKET,
    OBJECT_PIPE,
    OBJECT_FIFO,
};

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

/* A socket, or one side of a pipe, as one stream sees it. Every stream that uses it has its own `end`. */
struct end {
    int descriptor;
    enum object object;
    uint64_t inode;
    struct scene *scene;
    bool packets;   /* a pipe with packets, which discards the unread rest of each */
    bool both_ways; /* a FIFO opened for reading and writing: vmsplice sends */
    /* tid: its bytes come from other streams, or are not inspected; with one reader, their positions identify them.
     * 0: the bytes identify themselves */
    uint32_t only_sender;
    uint64_t taken;        /* bytes taken from the only sender */
    bool messages;         /* keeps message boundaries: datagram, seqpacket */
    bool several_readers;  /* other streams read here, too: the bytes may begin anywhere */
    bool ended;            /* a read found the end of file */
    int64_t messages_left; /* messages still to come; at 0, 0 bytes mean the end of file */
    uint64_t sent;         /* this stream's running offset on this socket */
    uint64_t expected[WRITER_LIMIT]; /* next offset from each writer */
};

bool transport_is_tcp(enum transport transport);
/* Whether a datagram that finds its receiver's queue full is dropped silently. */
bool transport_drops(enum transport transport);
bool transport_is_pair(enum transport transport);
bool transport_keeps_messages(enum transport transport);
/* False if the machine has no such sockets (IPv6 disabled). */
bool transport_available(enum transport transport);

struct end end_of(struct scene *scene, enum transport transport, int descriptor);
/* The same socket for another stream: it has sent nothing yet, and reading may begin anywhere. */
struct end end_inherited(const struct end *end);
void end_close(struct end *end);

/* An unbound socket of this transport. */
int socket_new(enum transport transport);
/* A socket bound to a new name; connection-oriented ones listen. */
int socket_bound(enum transport transport, struct address *ret_address);
int socket_connected(enum transport transport, const struct address *address);
/* `local` is the source address; uses any other address if it is taken. */
int socket_connected_from(enum transport transport, const struct address *address,
                          struct address *local);
int socket_accepted(int listener, bool ask_address);
void socket_pair(enum transport transport, int descriptors[2]);
void socket_small_buffers(int descriptor);
void address_remove(const struct address *address);

/* Connects to a new child process, which runs `run` on its end and exits with code 0. */
pid_t connect_child(struct scene *scene, enum transport transport, bool small_buffers,
                    void (*run)(struct scene *scene, struct end *end), struct end *ret_end);

/* ---- the contents of messages ---- */

/* Bytes [offset, offset + length) of a writer's pattern. */
void pattern_fill(uint8_t *bytes, unsigned writer, uint64_t offset, size_t length);
/* Verifies the bytes of a receive call and logs their source: "[tid:offset:bytes,...]". With `may_jump` the bytes
 * may come from several positions of the stream, as MSG_WAITALL allows. */
void pattern_check(struct end *end, const uint8_t *bytes, size_t length, bool may_jump);

/* The same for bytes that the only sender has passed on: everything that one writer sent elsewhere, in order. They
 * are logged as the only sender's. */
void pattern_check_passed_on(struct end *end, const uint8_t *bytes, size_t length);

/* ---- one call, logged ---- */

/* CPU time of the stream before and after a call, ns. */
struct span {
    uint64_t before;
    uint64_t after;
};

#define PIECE_LIMIT 5 /* of one writev, readv, sendmsg or recvmsg */

struct iovec;

uint8_t *buffer_new(size_t size);
/* Cuts a buffer into 1 to PIECE_LIMIT pieces; only the last may be empty. */
unsigned buffer_cut(struct random *random, uint8_t *buffer, size_t size, struct iovec *pieces);
/* The next bytes that this stream sends through this end. */
void fill_next(struct end *end, uint8_t *bytes, size_t length);
/* A new file with the next `bytes` of the pattern after a header that is not sent. The file is used once: the kernel
 * sends the file's own pages, which must not change while they are queued. */
int file_new(struct end *end, size_t bytes, off_t head);
/* Counts a failed call. */
void log_failed_send(const struct end *end, int error);
void log_failed_receive(const struct end *end, int error);
/* Logs a successful call as one line, after verification. */
void log_send(struct end *end, size_t bytes, const char *call, struct span span);
/* `copied` bytes arrived in `bytes`, or were passed on unseen (NULL). On a socket with message boundaries, 0 bytes
 * are a message as long as one is to come. */
void log_receive(struct end *end, const uint8_t *bytes, size_t copied, const char *call, int flags,
                 struct span span);

enum send_call {
    CALL_SEND,
    CALL_SENDTO,
    CALL_SENDMSG,
    CALL_WRITE,
    CALL_WRITEV,
    SEND_CALL_COUNT,
};

enum receive_call {
    CALL_RECV,
    CALL_RECVFROM,
    CALL_RECVMSG,
    CALL_READ,
    CALL_READV,
    RECEIVE_CALL_COUNT,
};

#define SEVERAL_LIMIT 24 /* messages of one sendmmsg or recvmmsg */

/* All return the call's result, or a negative errno, which has been counted as a failure. `to` is the destination,
 * or NULL on a connected socket. */
ssize_t operation_send(struct end *end, struct random *random, enum send_call call, size_t bytes,
                       int flags, const struct address *to);
/* sendmmsg: returns the number of messages sent; *ret_bytes is their size. */
ssize_t operation_send_several(struct end *end, struct random *random, const size_t *sizes,
                               unsigned count, int flags, const struct address *to,
                               size_t *ret_bytes);
/* sendfile of `requested` bytes from a file with `bytes` bytes left. */
ssize_t operation_send_file(struct end *end, size_t bytes, size_t requested);
/* ret_from may be NULL; otherwise CALL_RECVFROM and CALL_RECVMSG write the sender's address there. */
ssize_t operation_receive(struct end *end, struct random *random, enum receive_call call,
                          size_t size, int flags, struct address *ret_from);
/* recvmmsg: returns the number of messages; *ret_bytes is their size. */
ssize_t operation_receive_several(struct end *end, struct random *random, unsigned count,
                                  size_t size, int flags, size_t *ret_bytes);
/* A receive with MSG_PEEK takes nothing and is not logged. */
void operation_peek(struct end *end, struct random *random, enum receive_call call, size_t size);

/* ---- one call on a pipe, logged ---- */

enum pipe_send_call {
    PIPE_WRITE,
    PIPE_WRITEV,
    PIPE_PWRITEV2,
    PIPE_VMSPLICE,
    PIPE_SPLICE_FILE, /* from a file */
    PIPE_SENDFILE,
    PIPE_SEND_CALL_COUNT,
};

enum pipe_receive_call {
    PIPE_READ,
    PIPE_READV,
    PIPE_PREADV2,
    PIPE_VMSPLICE_OUT,
    PIPE_SPLICE_TO_FILE,
    PIPE_RECEIVE_CALL_COUNT,
};

/* These return the call's result, or a negative errno, which has been counted as a failure. `nonblocking`: calls
 * with flags also get a non-blocking flag. */
ssize_t operation_pipe_send(struct end *end, struct random *random, enum pipe_send_call call,
                            size_t bytes, bool nonblocking);
ssize_t operation_pipe_receive(struct end *end, struct random *random, enum pipe_receive_call call,
                               size_t size, bool nonblocking);
/* splice between pipes, or between a pipe and a socket: a RECEIVE from one and a SEND to the other. */
ssize_t operation_splice(struct end *from, struct end *to, size_t size);
/* splice from a pipe to the end of a file, verified as in operation_pipe_receive. */
ssize_t operation_splice_to(struct end *from, int file, size_t size);
/* splice or sendfile from the file's current position. */
ssize_t operation_pass_file(struct end *to, int file, size_t size, bool sendfile_call);
/* SEND of what is in the other pipe, and stays there. */
ssize_t operation_tee(const struct end *from, struct end *to, size_t size);

/* ---- many calls, chosen at random ---- */

struct traffic {
    size_t largest;    /* bytes of one call or message */
    bool nonblocking;  /* retry until it works, then wait in poll */
    bool files;        /* use sendfile, too */
    bool wait_all;     /* receives with MSG_WAITALL */
    bool peek;         /* peek at the data first now and then */
    bool whole_blocks; /* every call sends exactly `largest` bytes; several writers share the end */
    const struct address *to;
};

/* Byte streams: exactly `total` bytes. */
void traffic_send(struct end *end, struct random *random, size_t total, struct traffic traffic);
void traffic_receive(struct end *end, struct random *random, size_t total, struct traffic traffic);
/* Receives up to the end of file, and reads up to two more times, which find it again. Returns the bytes. */
size_t traffic_receive_rest(struct end *end, struct random *random, struct traffic traffic);

/* Messages: exactly `count`, of 0 to `largest` bytes; some are received into a buffer that is too small. */
void traffic_send_messages(struct end *end, struct random *random, size_t count,
                           struct traffic traffic);
void traffic_receive_messages(struct end *end, struct random *random, size_t count,
                              struct traffic traffic);
/* Receives what it can claim of scene->unclaimed, together with other streams that do the same. */
void traffic_receive_claimed(struct end *end, struct random *random, struct traffic traffic);

/* Pipes: exactly `total` bytes; up to the end of file, and up to two more reads, which find it again. */
void traffic_pipe_send(struct end *end, struct random *random, size_t total,
                       struct traffic traffic);
void traffic_pipe_receive(struct end *end, struct random *random, size_t total,
                          struct traffic traffic);
size_t traffic_pipe_receive_rest(struct end *end, struct random *random, struct traffic traffic);

/* The task of one of several writers or readers. */
struct duty {
    struct scene *scene;
    struct end end;
    unsigned role;
    size_t amount; /* bytes, or messages */
    struct traffic traffic;
};

#define CREW_STREAMS 5

/* Two processes (this one and a child) with threads, CREW_STREAMS streams in all, do the same task. */
void crews_run(const struct duty *duty, unsigned role, void (*run)(void *));

/* ---- pipes ---- */

/* A new pipe, or a FIFO with a new name that is opened twice; each side gets one end. */
void pipe_new(struct scene *scene, enum transport transport, struct end *ret_reading,
              struct end *ret_writing);
/* A FIFO with a new name, written to `path`, which is not open yet. */
void fifo_new(char *path, size_t size);
int fifo_open(const char *path, int flags);
void end_set_nonblocking(const struct end *end, bool on);

/* ---- scenarios ---- */

void conversation_run(struct scene *scene, enum transport transport);
void short_connections_run(struct scene *scene, enum transport transport);
void datagram_run(struct scene *scene, enum transport transport);
void shared_connection_run(struct scene *scene, enum transport transport);
void shared_datagram_run(struct scene *scene, enum transport transport);
void life_run(struct scene *scene, enum transport transport);
void stopped_receiver_run(struct scene *scene, enum transport transport);
void udp_failure_run(struct scene *scene, enum transport transport);
void failure_run(struct scene *scene, enum transport transport);
void pipe_run(struct scene *scene, enum transport transport);
void pipe_packet_run(struct scene *scene, enum transport transport);
void fifo_reopened_run(struct scene *scene, enum transport transport);
void pipe_writers_run(struct scene *scene, enum transport transport);
void pipe_readers_run(struct scene *scene, enum transport transport);
void pipe_turns_run(struct scene *scene, enum transport transport);
void pipe_relay_run(struct scene *scene, enum transport transport);
void pipe_blocked_run(struct scene *scene, enum transport transport);

/* Runs in the program image that life_run executed; `work` is its argument. */
_Noreturn void life_resume(const char *work);

#endif
