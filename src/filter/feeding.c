/* SPDX-License-Identifier: MIT */
/*
 * feeding.c: see feeding.h.
 *
 *      written  |=======================================|
 *      taken    |==========================|             the filter has read these; the rest is in the pipe
 *      packets  |  6  |  7  |    8    |   9    |   10    |
 *                                    ^ all before are taken
 */
#include "filter/feeding.h"

#include "filter/packet_records.h"
#include "trace/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_SIZE  (1 << 20)
#define LOOK_EVERY 50  /* ms */
#define ASK_EVERY  100 /* ms */

/* A trace that is handed over. */
struct fed_trace {
    struct trace_packets *packets;
    struct packet_classes classes;
    bool ended;
};

/* A packet that is in the pipe, at least in part. */
struct fed_packet {
    uint64_t end; /* of its bytes in the stream */
    uint64_t records;
    bool is_metadata;
};

struct feeding {
    uint64_t patience; /* ns */
    pthread_t thread;
    pthread_mutex_t lock; /* of `traces` and `count` */
    pid_t pid;
    int pid_file; /* pidfd */
    int pipe;     /* -1: closed */
    struct fed_trace *traces[FEEDING_TRACES_MOST];
    size_t count;
    atomic_bool ending;
    atomic_bool given_up; /* the filter is not waited for any more */
    atomic_bool done;     /* nothing more goes to the filter */
    /* the thread's */
    uint64_t written, taken;
    uint64_t moved; /* when `taken` last grew */
    bool dead;
    struct fed_packet *packets; /* in the pipe */
    size_t first, end, capacity;
    struct feeding_result result;
};

/* ---- what is taken ---- */

static void note_taken(struct feeding *feeding)
{
    int left = 0;

    if (feeding->pipe < 0 || ioctl(feeding->pipe, FIONREAD, &left) < 0)
        return;
    uint64_t taken = feeding->written - (uint64_t)left;
    if (taken != feeding->taken)
        feeding->moved = clock_now(CLOCK_MONOTONIC);
    feeding->taken = taken;
    while (feeding->first < feeding->end && feeding->packets[feeding->first].end <= taken) {
        const struct fed_packet *packet = &feeding->packets[feeding->first++];
        feeding->result.packets += !packet->is_metadata;
        feeding->result.records += packet->records;
    }
    if (feeding->first == feeding->end)
        feeding->first = feeding->end = 0;
}

static void miss(struct feeding *feeding, const struct fed_packet *packet)
{
    feeding->result.missed_packets += !packet->is_metadata;
    feeding->result.missed_records += packet->records;
}

/* Nothing more goes to the filter. */
static void give_up(struct feeding *feeding, const char *why)
{
    if (feeding->dead)
        return;
    feeding->dead = true;
    feeding->result.why = why;
    note_taken(feeding);
    for (; feeding->first < feeding->end; feeding->first++)
        miss(feeding, &feeding->packets[feeding->first]);
    close(feeding->pipe);
    feeding->pipe = -1;
}

/* ---- handing over ---- */

/* Whether the filter may still be waited for. */
static bool is_patient(struct feeding *feeding)
{
    note_taken(feeding);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    if (feeding->given_up) {
        give_up(feeding, "you ended it");
    } else if (!feeding->ending) {
        feeding->moved = now; /* it has all the time there is */
    } else if (now - feeding->moved >= feeding->patience) {
        feeding->given_up = true; /* and is not to be waited for */
        give_up(feeding, "it took nothing after the end of the recording");
    }
    return !feeding->dead;
}

/* Writes all of it, however long the filter takes; gives up if it has ended. */
static void hand_over(struct feeding *feeding, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0 && is_patient(feeding)) {
        ssize_t put = write(feeding->pipe, at, size);
        if (put > 0) {
            at += put;
            size -= (size_t)put;
            feeding->written += (uint64_t)put;
        } else if (put < 0 && errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = feeding->pipe, .events = POLLOUT}, 1, LOOK_EVERY);
        } else if (put < 0 && errno != EINTR) {
            give_up(feeding, "it had ended");
        }
    }
}

/* Packets that are taken make room. */
static void compact(struct feeding *feeding)
{
    if (feeding->first == 0 || feeding->end < feeding->capacity)
        return;
    feeding->end -= feeding->first;
    memmove(feeding->packets, feeding->packets + feeding->first,
            feeding->end * sizeof(*feeding->packets));
    feeding->first = 0;
}

static void hand_over_packet(struct feeding *feeding, struct fed_trace *trace,
                             const struct trace_packet *packet)
{
    struct fed_packet fed = {.is_metadata = packet->is_metadata};
    struct feeding_metadata_header header = {
        .magic = FEEDING_METADATA_MAGIC,
        .content_size = (uint32_t)(sizeof(header) + packet->size) * 8,
        .packet_size = (uint32_t)(sizeof(header) + packet->size) * 8,
        .major = 1,
        .minor = 8,
    };
    size_t size = packet->size + (packet->is_metadata ? sizeof(header) : 0);

    memcpy(header.uuid, packet->uuid, sizeof(header.uuid));
    if (!packet->is_metadata)
        fed.records = packet_records(packet->bytes, packet->size, &trace->classes);
    fed.end = feeding->written + size;
    compact(feeding);
    if (feeding->dead ||
        array_reserve(&feeding->packets, &feeding->capacity, feeding->end + 1, sizeof(fed)) < 0) {
        give_up(feeding, "out of memory");
        miss(feeding, &fed);
        return;
    }
    feeding->packets[feeding->end++] = fed;
    if (packet->is_metadata)
        hand_over(feeding, &header, sizeof(header));
    if (!feeding->dead)
        hand_over(feeding, packet->bytes, packet->size);
}

/* All that the trace has now. */
static void feed_trace(struct feeding *feeding, struct fed_trace *trace)
{
    struct trace_packet packet;
    struct problem problem;
    int result = TRACE_PACKETS_ONE;

    while (!trace->ended &&
           (result = trace_packets_next(trace->packets, &packet, &problem)) == TRACE_PACKETS_ONE)
        hand_over_packet(feeding, trace, &packet);
    trace->ended = trace->ended || result == TRACE_PACKETS_END || result < 0;
    if (result < 0)
        snprintf(feeding->result.wrong, sizeof(feeding->result.wrong), "%.199s", problem.text);
}

static struct fed_trace *trace_at(struct feeding *feeding, size_t index)
{
    pthread_mutex_lock(&feeding->lock);
    struct fed_trace *trace = index < feeding->count ? feeding->traces[index] : NULL;
    pthread_mutex_unlock(&feeding->lock);
    return trace;
}

static void feed_all(struct feeding *feeding)
{
    struct fed_trace *trace;

    for (size_t i = 0; (trace = trace_at(feeding, i)) != NULL; i++)
        feed_trace(feeding, trace);
}

/* The rest is in the pipe. */
static void await_taken(struct feeding *feeding)
{
    while (feeding->first < feeding->end && is_patient(feeding)) {
        /* POLLERR: the filter has closed its end */
        struct pollfd file = {.fd = feeding->pipe};
        if (poll(&file, 1, LOOK_EVERY) == 1 && (file.revents & POLLERR) != 0) {
            note_taken(feeding);
            if (feeding->first < feeding->end)
                give_up(feeding, "it had ended");
        }
    }
}

static void *feed(void *context)
{
    struct feeding *feeding = context;
    bool ending = false;

    while (!ending) {
        ending = feeding->ending; /* read before the traces, which have their ends then */
        feed_all(feeding);
        note_taken(feeding);
        if (!ending)
            (void)poll(NULL, 0, LOOK_EVERY);
    }
    await_taken(feeding);
    if (feeding->pipe >= 0)
        close(feeding->pipe);
    feeding->pipe = -1;
    feeding->done = true;
    return NULL;
}

/* ---- the program ---- */

static int spawn(const char *const *words, int input, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int result =
        posix_spawnp(ret_pid, words[0], &actions, &attributes, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -result;
}

static int start_thread(struct feeding *feeding)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* a dead filter shows as EPIPE */
    int result = pthread_create(&feeding->thread, NULL, feed, feeding);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -result;
}

/* Ends a filter that gets nothing. */
static void abandon(struct feeding *feeding)
{
    kill(-feeding->pid, SIGKILL);
    close(feeding->pipe);
    waitpid(feeding->pid, NULL, 0);
    if (feeding->pid_file >= 0)
        close(feeding->pid_file);
    pthread_mutex_destroy(&feeding->lock);
    free(feeding);
}

int feeding_new(const char *const *words, int output, struct feeding **ret_feeding,
                struct problem *problem)
{
    struct feeding *feeding = calloc(1, sizeof(*feeding));
    int ends[2];

    if (feeding == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the filter");
    int result = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
    if (result == 0 && (result = spawn(words, ends[0], output, &feeding->pid)) < 0) {
        close(ends[0]);
        close(ends[1]);
    }
    if (result < 0) {
        free(feeding);
        return problem_set(problem, result, "cannot start the filter '%s': %s", words[0],
                           strerror(-result));
    }
    close(ends[0]);
    feeding->pipe = ends[1];
    feeding->patience = FEEDING_PATIENCE;
    fcntl(feeding->pipe, F_SETFL, O_NONBLOCK);
    fcntl(feeding->pipe, F_SETPIPE_SZ, PIPE_SIZE); /* the default does, too */
    feeding->pid_file = pidfd_open(feeding->pid, 0);
    int pidfd_error = errno;
    feeding->moved = clock_now(CLOCK_MONOTONIC);
    pthread_mutex_init(&feeding->lock, NULL);
    /* without a pidfd, nothing would show when the filter ends */
    result = feeding->pid_file < 0 ? -pidfd_error : start_thread(feeding);
    if (result < 0) {
        abandon(feeding);
        return problem_set(problem, result, "cannot feed the filter: %s", strerror(-result));
    }
    *ret_feeding = feeding;
    return 0;
}

void feeding_be_patient(struct feeding *feeding, uint64_t patience)
{
    feeding->patience = patience;
}

int feeding_add(struct feeding *feeding, const char *trace, struct problem *problem)
{
    struct fed_trace *fed = calloc(1, sizeof(*fed));
    int result = fed == NULL ? problem_set(problem, -ENOMEM, "out of memory for the filter")
                             : trace_packets_open(trace, &fed->packets, problem);

    if (result == 0 && feeding->count == FEEDING_TRACES_MOST)
        result =
            problem_set(problem, -E2BIG, "a filter takes at most %u traces", FEEDING_TRACES_MOST);
    if (result < 0) {
        if (fed != NULL)
            trace_packets_close(fed->packets);
        free(fed);
        return result;
    }
    pthread_mutex_lock(&feeding->lock);
    feeding->traces[feeding->count++] = fed;
    pthread_mutex_unlock(&feeding->lock);
    return 0;
}

bool feeding_has_ended(const struct feeding *feeding)
{
    return poll(&(struct pollfd){.fd = feeding->pid_file, .events = POLLIN}, 1, 0) > 0;
}

/* ---- the end ---- */

/* Whether it ended within this time. Another part of the process may have reaped it: then its status is not known. */
static bool await_end(struct feeding *feeding, int timeout)
{
    if (poll(&(struct pollfd){.fd = feeding->pid_file, .events = POLLIN}, 1, timeout) == 0)
        return false;
    if (waitpid(feeding->pid, &feeding->result.status, 0) == feeding->pid)
        feeding->result.has_status = true;
    return true;
}

static void kill_filter(struct feeding *feeding)
{
    feeding->result.killed = true;
    kill(-feeding->pid, SIGTERM);
    kill(-feeding->pid, SIGCONT);
    if (await_end(feeding, 1000))
        return;
    kill(-feeding->pid, SIGKILL);
    await_end(feeding, -1);
}

static void await_filter(struct feeding *feeding, bool (*is_told_to_stop)(void *), void *context)
{
    uint64_t done = 0;

    for (;;) {
        if (!feeding->given_up && is_told_to_stop != NULL && is_told_to_stop(context))
            feeding->given_up = true;
        if (!feeding->done) {
            (void)poll(NULL, 0, LOOK_EVERY);
            continue;
        }
        if (await_end(feeding, ASK_EVERY))
            return;
        uint64_t now = clock_now(CLOCK_MONOTONIC);
        done = done == 0 ? now : done;
        if (feeding->given_up || now - done >= FEEDING_FAREWELL)
            return kill_filter(feeding);
    }
}

void feeding_end(struct feeding *feeding, bool (*is_told_to_stop)(void *context), void *context,
                 struct feeding_result *ret_result)
{
    feeding->ending = true;
    await_filter(feeding, is_told_to_stop, context);
    pthread_join(feeding->thread, NULL);
    for (size_t i = 0; i < feeding->count; i++) {
        feeding->result.overtaken += trace_packets_overtaken(feeding->traces[i]->packets);
        trace_packets_close(feeding->traces[i]->packets);
        free(feeding->traces[i]);
    }
    *ret_result = feeding->result;
    if (feeding->pid_file >= 0)
        close(feeding->pid_file);
    pthread_mutex_destroy(&feeding->lock);
    free(feeding->packets);
    free(feeding);
}
