/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * settle.bpf.h: initial positions of UNIX sockets that are older than the metering.
 *
 * TCP has absolute positions. A UNIX socket counts from where the meter first meets it. Its sender and its receiver are
 * met at different times, with bytes queued in between and calls in progress. What the sender's count lacks is `shift`:
 *
 *      shift = counted as received + queued - counted as sent       e.g. 500 + 300 - 120 = 680
 *
 *      received |<- in ->|<- queued ->|
 *      sent     |<- out, as far as counted ->|<- shift ->|
 *
 * The shift stays the same from pass to pass while no call is half done, and is accepted when several passes agree. It
 * can also be found for streams that are never idle, except those on which several threads are sending all the time.
 * Until it is confirmed, the count is in doubt (doubt.bpf.h).
 */
#ifndef DPM_SETTLE_BPF_H
#define DPM_SETTLE_BPF_H

#include "meter/kernel/call.bpf.h"
#include "meter/kernel/number.bpf.h"
#include "meter/kernel/unseen.bpf.h"

#define PASSES_THAT_AGREE 4
#define LOOKS_OF_A_PASS   64
#define LOOKS_AT_MESSAGES 32
#define LOOKS_THAT_AGREE  8

/* Adds the shift to the sender's count when enough passes agree on it, including this one, which began at `when`. */
static __always_inline void believe_shift(struct path *sender, uint32_t shift, uint64_t when)
{
    sender->settling = shift == sender->shift ? sender->settling + 1 : 1;
    sender->shift = shift;
    if (sender->settling < PASSES_THAT_AGREE) {
        __sync_fetch_and_add(&unsettled, 1);
        return;
    }
    __sync_fetch_and_add(&sender->out, shift);
    sender->settled = when;
    sender->state |= PATH_SETTLED;
}

/* Repeated samples of a byte stream. */
struct byte_looks {
    const uint32_t *in;
    const uint32_t *out;
    struct unix_sock *receiver;
    uint32_t least;
    bool known; /* `least` is valid */
};

/* Called by bpf_loop, because the verifier takes long to follow a loop round by round. */
static long look_at_bytes(uint32_t index, struct byte_looks *looks)
{
    uint32_t in = *(volatile const uint32_t *)looks->in;
    uint32_t out = *(volatile const uint32_t *)looks->out;
    uint32_t shift = in + queued_in(looks->receiver, PATH_UNIX_STREAM) - out;

    if (in != *(volatile const uint32_t *)looks->in ||
        out != *(volatile const uint32_t *)looks->out ||
        (looks->known && (int32_t)(shift - looks->least) >= 0))
        return 0;
    looks->least = shift;
    looks->known = true;
    return 0;
}

/* For a byte stream, half-done calls only make the shift seem larger: a send has queued bytes that it has not counted,
 * or a receive has counted bytes that it has not removed from the queue. The shift is therefore the least of many
 * samples, taken from those during which nothing changed. */
static __always_inline void settle_bytes(struct path *sender, uint64_t socket, struct taken *taken,
                                         struct unix_sock *receiver)
{
    struct byte_looks looks = {.in = &taken->in,
                               .out = &sender->out,
                               .receiver = receiver,
                               .least = sender->shift,
                               .known = sender->settling != 0};

    bpf_loop(LOOKS_OF_A_PASS, look_at_bytes, &looks, 0);
    if (looks.known)
        believe_shift(sender, looks.least, bpf_ktime_get_ns());
    else
        __sync_fetch_and_add(&unsettled, 1);
    if (sender->state & PATH_SETTLED)
        begin_doubt(sender, socket, taken); /* several threads may have been sending */
}

/* ---- queues of messages ---- */

/* One sample of a queue of messages. */
struct messages {
    uint32_t in;      /* counted as received ... */
    uint32_t out;     /* ... and as sent by one sender */
    uint32_t waiting; /* of that sender, in the queue */
    bool still;       /* nothing has changed during the sample */
};

/* Repeated samples of a queue. */
struct looks {
    const uint32_t *in;
    const uint32_t *out;
    struct sock *receiver; /* may be known only by address */
    uint64_t from;         /* the sender's cookie; 0: there is only one sender */
};

/* The results. Static, because only the recorder samples, one queue at a time; for values on the stack the verifier
 * would track every number, and follow each round separately. */
static struct {
    struct messages last;
    uint32_t run;     /* length of the current run of equal samples */
    uint32_t longest; /* the longest run ... */
    uint32_t shift;   /* ... and its shift */
} found;

static __always_inline void look_at_messages(struct messages *look, const struct looks *looks)
{
    struct sock *receiver = looks->receiver;
    struct queue_walk walk = {.sender = looks->from};
    uint32_t length = BPF_CORE_READ(receiver, sk_receive_queue.qlen);
    bool taken = is_taken_from((struct unix_sock *)receiver);

    look->in = *(volatile const uint32_t *)looks->in;
    look->out = *(volatile const uint32_t *)looks->out;
    look->waiting = length;
    if (looks->from != 0) {
        begin_walk(&walk, receiver);
        bpf_loop(LONGEST_QUEUE, count_of_sender, &walk, 0);
        look->waiting = walk.of_sender;
        taken |= walk.passed != length;
    }
    look->still = !taken && !is_taken_from((struct unix_sock *)receiver) &&
                  look->in == *(volatile const uint32_t *)looks->in &&
                  look->out == *(volatile const uint32_t *)looks->out &&
                  length == BPF_CORE_READ(receiver, sk_receive_queue.qlen);
}

static long look_again(uint32_t index, struct looks *looks)
{
    struct messages look = {};
    bool same;

    look_at_messages(&look, looks);
    same = look.in == found.last.in && look.out == found.last.out &&
           look.waiting == found.last.waiting;
    found.last = look;
    found.run = !look.still ? 0 : same ? found.run + 1 : 1;
    if (found.run > found.longest) {
        found.longest = found.run;
        found.shift = look.in + look.waiting - look.out;
    }
    return found.longest == LOOKS_THAT_AGREE;
}

/* For messages, a half-done call makes the shift seem larger (queued, not yet counted) or smaller (removed from the
 * queue, not yet counted). In that time a receiver holds the queue's lock, except at the very end, and neither takes
 * long, so the result of the longest run is accepted. But a call may be held up there for as long as its CPU is taken
 * away. The count is therefore in doubt until a send has confirmed it (number.bpf.h). */
static __always_inline void settle_messages(struct path *sender, const uint32_t *in,
                                            struct sock *receiver, uint64_t from)
{
    struct looks looks = {.in = in, .out = &sender->out, .receiver = receiver, .from = from};
    uint64_t when = bpf_ktime_get_ns();

    sender->state |= PATH_IN_DOUBT;
    __builtin_memset(&found, 0, sizeof(found));
    bpf_loop(LOOKS_AT_MESSAGES, look_again, &looks, 0);
    if (found.longest == 0)
        __sync_fetch_and_add(&unsettled, 1);
    else
        believe_shift(sender, found.shift, when);
}

/* Settles one direction. `sender` is the storage of the sending socket, `key` its cookie. */
static __always_inline void settle(struct path *sender, struct sock *socket, uint64_t key,
                                   struct unix_sock *receiver, uint32_t kind)
{
    struct taken nothing = {};
    struct taken *taken;

    if (sender->state & PATH_SETTLED)
        return;
    taken = taken_noted(key, &nothing);
    if (taken == NULL)
        return;
    if (kind == PATH_UNIX_STREAM)
        settle_bytes(sender, (uint64_t)socket, taken, receiver);
    else
        settle_messages(sender, &taken->in, (struct sock *)receiver, 0);
}

/* ---- UNIX datagrams: one queue for several senders ---- */

static long note_sender(uint32_t index, struct queue_walk *walk)
{
    struct pair_key key = {.socket = walk->socket};
    struct path *path;

    if (!next_message(walk, &key.peer))
        return 1;
    path = key.peer == 0 ? NULL : pair_noted(&key);
    if (path != NULL)
        path->socket = walk->address;
    return 0;
}

/* Notes which senders have messages in the queue; settle_pair counts these. */
static __always_inline int survey_datagrams(struct sock *sk)
{
    struct queue_walk walk = {.address = (uint64_t)sk};

    /* its messages could not be distinguished from others' so far; the next pass can do so */
    if (sk->__sk_common.skc_cookie.counter == 0)
        __sync_fetch_and_add(&unsettled, 1);
    walk.socket = bpf_get_socket_cookie(sk);
    begin_walk(&walk, sk);
    bpf_loop(LONGEST_QUEUE, note_sender, &walk, 0);
    return 0;
}

static long settle_pair(void *map, struct pair_key *key, struct path *receiver, void *context)
{
    struct pair_key reverse = {.socket = key->peer, .peer = key->socket};
    struct sock *socket = (struct sock *)receiver->socket;
    struct path *sender;

    /* nothing was received; or the socket is closed, and its memory may be reused */
    if (key->peer == 0 || socket == NULL ||
        (uint64_t)BPF_CORE_READ(socket, __sk_common.skc_cookie.counter) != key->socket)
        return 0;
    sender = pair_noted(&reverse);
    if (sender != NULL && (sender->state & PATH_SETTLED) == 0)
        settle_messages(sender, &receiver->in, socket, key->peer);
    return 0;
}

/* Runs after a pass over the files. */
SEC("syscall")
int settle_pairs(void *context)
{
    bpf_for_each_map_elem(&pairs, settle_pair, NULL, 0);
    return 0;
}

/* ---- pairs end ---- */

/* Whether the socket at this address has this cookie and is still open. */
static __always_inline bool is_socket_held(uint64_t address, uint64_t cookie)
{
    struct sock *sk = (struct sock *)address;

    return (uint64_t)BPF_CORE_READ(sk, __sk_common.skc_cookie.counter) == cookie &&
           BPF_CORE_READ(sk, sk_socket) != NULL;
}

#define OWN_GONE 2 /* path->gone: the last sweep found the path's own socket closed */

static long sweep_pair(void *map, struct pair_key *key, struct path *path, void *context)
{
    struct pair_key own = *key, reverse = {.socket = key->peer, .peer = key->socket};
    struct sock *receiver = (struct sock *)path->socket;
    struct inode_path *known;
    struct path *senders;
    uint32_t number;
    uint64_t inode;

    if (path->socket == 0)
        return 0;
    if (!is_socket_held(path->socket, own.socket)) {
        if (path->number != 0 && path->listed)
            return 0; /* user space ends it (load/sockets.c) */
        if (path->gone != OWN_GONE) {
            path->gone = OWN_GONE;
            return 0;
        }
    } else if (path->sender == 0 || is_socket_held(path->sender, own.peer)) {
        return 0;
    } else if (BPF_CORE_READ(receiver, sk_receive_queue.qlen) != 0 || path->gone == 0) {
        /* checked after that, so nothing more will come from the sender; the second time, no call is half done */
        path->gone = BPF_CORE_READ(receiver, sk_receive_queue.qlen) == 0;
        return 0;
    }
    number = path->number;
    if (number != 0 && is_told_now(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, number, 0);
    inode = path->inode;
    known = bpf_map_lookup_elem(&path_of_inode, &inode);
    if (known != NULL && known->number == number)
        bpf_map_delete_elem(&path_of_inode, &inode);
    bpf_map_delete_elem(&pairs, &own);
    /* what the receiver noted before the sender's path was known; never the sender's path itself */
    senders = bpf_map_lookup_elem(&pairs, &reverse);
    if (senders != NULL && senders->number == 0)
        bpf_map_delete_elem(&pairs, &reverse);
    return 0;
}

/* Senders may come and go without end while their receiver lives on. So the pairs are checked about once a second, for
 * those whose sender is closed and has nothing left in the receiver's queue, and for those whose own socket is closed. */
SEC("syscall")
int sweep_pairs(void *context)
{
    bpf_for_each_map_elem(&pairs, sweep_pair, NULL, 0);
    return 0;
}

#endif
