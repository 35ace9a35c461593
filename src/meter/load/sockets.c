/* SPDX-License-Identifier: MIT */
/*
 * sockets.c: closed UNIX sockets and pipes. No kernel hook shows that one is closed. About once a second, the sockets
 * in the trace are compared with those that the kernel lists. For a missing one a DESTROYPATH record is made, and the
 * meter's maps drop it. (Pipes are swept in the kernel, pipe.bpf.h.)
 *
 * A datagram socket has a path for each peer. The kernel side ends the paths whose peer is closed and has nothing left
 * in the queue (settle.bpf.h).
 *
 * The kernel lists only the sockets of the reader's own network namespace. Those of others are swept in the kernel, which
 * finds them closed by their addresses (made.bpf.h, settle.bpf.h). What splices take from these unseen is
 * looked for only when an end is used.
 */
#include "meter/load/sockets.h"

#include "meter/load/iterate.h"
#include "meter/load/last_records.h"
#include "meter/load/meter_types.h"
#include "meter/shared/survey.h"

#include "meter.skel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

void open_sockets_init(struct open_sockets *sockets)
{
    struct stat own;

    *sockets = (struct open_sockets){0};
    if (stat("/proc/self/ns/net", &own) == 0)
        sockets->network = (uint32_t)own.st_ino;
}

void open_sockets_done(struct open_sockets *sockets)
{
    free(sockets->list);
    intern_done(&sockets->places);
    *sockets = (struct open_sockets){0};
}

int open_sockets_add(struct open_sockets *sockets, const struct path_record *path)
{
    if (path->family != AF_UNIX || path->network != sockets->network)
        return 0;
    int64_t place = intern_add(&sockets->places, path->path);
    if (place < 0)
        return (int)place;
    if ((size_t)place < sockets->count) {
        /* the path is recorded again, now with everything known of it */
        sockets->list[place].cookie = path->cookie;
        sockets->list[place].peer = path->peer;
        return 0;
    }
    int result = array_reserve(&sockets->list, &sockets->capacity, sockets->count + 1,
                               sizeof(*sockets->list));
    if (result < 0)
        return result;
    sockets->list[sockets->count++] = (struct open_socket){
        .path = path->path,
        .cookie = path->cookie,
        .peer = path->peer,
        .inode = path->inode,
        .datagram = path->kind == PATH_UNIX_DATAGRAM,
    };
    return 0;
}

void open_sockets_end(struct open_sockets *sockets, uint32_t path)
{
    int64_t place = intern_find(&sockets->places, path);

    if (place >= 0 && (size_t)place < sockets->count)
        sockets->list[place].ended = true;
}

static int note_alive(const void *line, void *context)
{
    const struct survey_socket *socket = line;
    int64_t index = intern_add(context, socket->cookie);

    return index < 0 ? (int)index : 0;
}

/* Deletes the pair of a datagram socket and a peer. Deletes the reverse pair only if a receiver created it before the
 * sender's path was known; it never deletes the sender's path itself. */
static void forget_pair(struct meter *meter, const struct open_socket *socket)
{
    int pairs = bpf_map__fd(meter->kernel->maps.pairs);
    uint64_t pair[2] = {socket->cookie, socket->peer};
    uint64_t reverse[2] = {socket->peer, socket->cookie};
    uint32_t noted[64] = {0}; /* a struct path; its first word is its number */

    bpf_map_delete_elem(pairs, pair);
    if (bpf_map__value_size(meter->kernel->maps.pairs) <= sizeof(noted) &&
        bpf_map_lookup_elem(pairs, reverse, noted) == 0 && noted[0] == 0)
        bpf_map_delete_elem(pairs, reverse);
}

static void forget(struct meter *meter, const struct open_socket *socket)
{
    int inodes = bpf_map__fd(meter->kernel->maps.path_of_inode);
    uint32_t known[16] = {0}; /* a struct inode_path; its first word is its number */

    if (socket->datagram)
        forget_pair(meter, socket);
    /* a datagram socket's inode may have the path of a wait, which the kernel side ends */
    if (bpf_map__value_size(meter->kernel->maps.path_of_inode) <= sizeof(known) &&
        bpf_map_lookup_elem(inodes, &socket->inode, known) == 0 && known[0] == socket->path)
        bpf_map_delete_elem(inodes, &socket->inode);
    bpf_map_delete_elem(bpf_map__fd(meter->kernel->maps.incoming), &socket->peer);
}

static int tell_closed(struct meter *meter, const struct open_socket *socket, uint64_t now)
{
    struct record record = {
        .header = {.time = now, .id = EVENT_DESTROYPATH, .flags = RECORD_NO_STREAM},
        .message = {.path = socket->path},
    };

    if (((meter->told | meter->told_by_some) & EVENT_FLAG(EVENT_DESTROYPATH)) == 0)
        return 0;
    return ring_reader_add(&meter->reader, &record.header);
}

static bool is_closed(const struct open_socket *socket, const struct intern *alive)
{
    /* without a cookie (a receiver blocked since before its first message) nothing is known */
    return socket->cookie != 0 && intern_find(alive, socket->cookie) < 0;
}

/* Lists the live sockets. A long list is read in several pieces, and the kernel finds its position again by counting.
 * If an earlier socket was closed meanwhile, it skips one. So if any socket seems to be closed, the list is read once
 * more. */
#define LISTINGS 2

static int list_alive(struct meter *meter, struct intern *alive)
{
    const struct open_sockets *sockets = &meter->sockets;
    int result = 0;

    for (int listing = 0; result == 0 && listing < LISTINGS; listing++) {
        size_t i = 0;
        result = iterate(meter->kernel->progs.survey_sockets, 0, sizeof(struct survey_socket),
                         note_alive, alive);
        while (i < sockets->count && !is_closed(&sockets->list[i], alive))
            i++;
        if (i == sockets->count)
            break;
    }
    return result;
}

/* Rebuilds the indexes after sockets were removed. */
static int find_places(struct open_sockets *sockets)
{
    int64_t place = 0;

    intern_done(&sockets->places);
    for (size_t i = 0; place >= 0 && i < sockets->count; i++)
        place = intern_add(&sockets->places, sockets->list[i].path);
    return place < 0 ? (int)place : 0;
}

static int sweep_sockets(struct meter *meter)
{
    struct open_sockets *sockets = &meter->sockets;
    struct intern alive = {0};
    size_t kept = 0;
    uint64_t now;
    int result;

    if (sockets->count == 0)
        return 0;
    result = list_alive(meter, &alive);
    /* taken after reading the list: an unlisted socket may have been used until then, and closed */
    now = clock_now(CLOCK_MONOTONIC);
    for (size_t i = 0; result == 0 && i < sockets->count; i++) {
        struct open_socket socket = sockets->list[i];
        if (socket.ended)
            continue;
        if (!is_closed(&socket, &alive)) {
            sockets->list[kept++] = socket;
            continue;
        }
        forget(meter, &socket);
        result = tell_closed(meter, &socket, now);
    }
    if (result == 0 && kept < sockets->count) {
        sockets->count = kept;
        result = find_places(sockets);
    }
    intern_done(&alive);
    return result;
}

/* Sweeps pipes, and unused paths. */
static int sweep_in_kernel(struct meter *meter)
{
    int result = 0;

    meter->kernel->bss->sweeps++;
    if (meter->kinds & METER_PIPE)
        result = run_once(meter->kernel->progs.sweep_pipes);
    if (result == 0 && (meter->kinds & METER_FILE))
        result = run_once(meter->kernel->progs.sweep_files);
    if (result == 0 && (meter->kinds & METER_MQ))
        result = run_once(meter->kernel->progs.sweep_queues);
    if (result == 0 && (meter->kinds & (METER_TCP | METER_UDP | METER_UNIX)))
        result = run_once(meter->kernel->progs.sweep_made);
    if (result == 0 && (meter->kinds & METER_UDP))
        result = run_once(meter->kernel->progs.sweep_udp_paths);
    if (result == 0 && (meter->kinds & METER_UNIX))
        result = run_once(meter->kernel->progs.sweep_pairs);
    return result;
}

/* First our sweep, then the kernel's: it drops what was found closed here, and records other ends before our next
 * sweep. */
int meter_sweep(struct meter_interface *interface, struct problem *problem)
{
    struct meter *meter = meter_of(interface);
    int result = sweep_sockets(meter);

    if (result < 0)
        return problem_set(problem, result, "cannot list UNIX sockets: error %d", -result);
    result = sweep_in_kernel(meter);
    if (result < 0)
        return problem_set(problem, result, "cannot find closed sockets: error %d", -result);
    if (unmetered_add(meter, clock_now(CLOCK_MONOTONIC)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    return 0;
}
