/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * udp_taken.bpf.h: finds the datagram in a socket's inbox (udp_inbox.bpf.h) that a receive call has taken.
 *
 * A receive is recorded when its call ends. Until then, what it has taken is neither in the queue nor recorded:
 *
 *      inbox:  recorded | recorded | gone | recorded | gone | waits | waits | on its way
 *                                    |                 '--- this call's?
 *                                    '--- aside: taken by another call, which is still in progress
 *
 * A datagram that is gone and not recorded was taken by a call in progress. It was another call if the datagram was
 * known to be gone when this stream had taken nothing: at the end of its previous call, or while it slept in this one.
 * If more than one candidate is left, no hook shows which one it is. One is chosen, and the RECEIVE is flagged as
 * uncertain. So are those that get the other candidates, and those of calls that were in progress meanwhile.
 *
 * The buffer of a datagram shows whether it is gone: it is then linked in no queue. But that is also so just before it
 * enters the queue, and a freed buffer may be given to another datagram at once. If only one stream has ever received
 * from the socket, a datagram known to be gone is its own, and one that may be just entering is not.
 */
#ifndef DPM_UDP_TAKEN_BPF_H
#define DPM_UDP_TAKEN_BPF_H

#include "meter/kernel/udp_inbox.bpf.h"

#define EMPTY_AT_ONCE 4096 /* unused indexes possible between two datagrams */
#define PLACES_MOST   128  /* indexes that are examined */
#define WAIT_MOST     8    /* of these, still queued: CPUs whose datagrams may change order */
#define LATE_BEHIND   32   /* distance from which a datagram counts as long on its way */
#define TRIES         4    /* attempts, in case another receive in progress is quicker */
#define GONE_FOR_GOOD 1000000000ULL /* ns: no receive call will report it any more */
#define NO_PLACE      0

/* The result of a search. */
struct finding {
    uint32_t from;    /* first index that is used */
    uint32_t place;   /* index of what the call took; or NO_PLACE */
    uint32_t likely;  /* if none: of one that seems another's, or not queued yet; or NO_PLACE */
    uint32_t waiting; /* number of datagrams found waiting */
    uint8_t may_cut;  /* may have been longer than the call's result */
    uint8_t cut;      /* what is at `place` is longer */
    uint8_t unknown;  /* ... may be on its way to the queue */
    uint8_t gone;     /* ... was known to be gone before */
    uint8_t doubtful; /* several datagrams match, or none */
};

struct search {
    struct path *own; /* the socket's storage */
    const struct taker *taker;
    struct finding finding;
};

static long skip_empty(uint32_t index, struct search *search)
{
    struct numbered_key place = {.socket = search->taker->socket, .number = search->own->taken};
    int32_t length = (uint32_t)search->own->queued - search->own->taken;
    struct datagram *datagram;
    bool filling = *(volatile uint32_t *)&search->own->filling != 0;

    /* the last index is left to give_back_places; an unused one may be about to be filled */
    if (length <= 1)
        return 1;
    datagram = bpf_map_lookup_elem(&inbox, &place);
    if (datagram == NULL && filling)
        return 1;
    if (datagram != NULL && datagram->segments != 0 && !datagram->aside)
        return 1;
    if (datagram != NULL && !datagram->aside)
        bpf_map_delete_elem(&inbox, &place);
    __sync_val_compare_and_swap(&search->own->taken, (uint32_t)place.number,
                                (uint32_t)place.number + 1);
    return 0;
}

/* The first buffer in the socket's queue, which has two parts. 0: none. */
static __always_inline uint64_t first_buffer(struct sock *sk)
{
    struct udp_sock *udp = (struct udp_sock *)sk;
    uint64_t front = (uint64_t)__builtin_preserve_access_index(&udp->reader_queue);
    uint64_t back = (uint64_t)__builtin_preserve_access_index(&sk->sk_receive_queue);
    uint64_t first = (uint64_t)BPF_CORE_READ(udp, reader_queue.next);

    if (first == front)
        first = (uint64_t)BPF_CORE_READ(sk, sk_receive_queue.next);
    return first == back ? 0 : first;
}

static __always_inline struct datagram *noted_at(uint64_t socket, uint32_t number)
{
    struct numbered_key place = {.socket = socket, .number = number};
    struct datagram *datagram = bpf_map_lookup_elem(&inbox, &place);

    return datagram == NULL || datagram->segments == 0 ? NULL : datagram;
}

static __always_inline bool is_given(const struct path *own, uint32_t number)
{
    return (int32_t)((uint32_t)own->queued - number) > 0;
}

/* Whether a noted datagram has not yet entered the queue: entering overwrites the pointer to its device. If the buffer
 * is reused, the result is for the new datagram. */
static __always_inline bool is_on_its_way(const struct datagram *datagram)
{
    struct sk_buff *buffer = (struct sk_buff *)datagram->buffer;

    return (int64_t)BPF_CORE_READ(buffer, dev) < 0; /* a kernel address */
}

/* Whether its buffer is linked in a queue. A removed buffer has no neighbours. Others are inserted and removed during
 * this check, but not both neighbours at once. */
static __always_inline bool is_linked(const struct datagram *datagram)
{
    struct sk_buff *buffer = (struct sk_buff *)datagram->buffer;
    struct sk_buff *next = BPF_CORE_READ(buffer, next), *previous;

    if (next == NULL)
        return false;
    previous = BPF_CORE_READ(buffer, prev);
    return previous != NULL &&
           (BPF_CORE_READ(previous, next) == buffer || BPF_CORE_READ(next, prev) == buffer);
}

/* Whether a noted datagram, although its device pointer is overwritten, may not be in the queue yet: its CPU has noted
 * none since, or datagrams are being added now. */
static __always_inline bool may_be_coming(struct sock *sk, const struct datagram *datagram,
                                          uint32_t number)
{
    struct udp_sock *udp = (struct udp_sock *)sk;
    uint32_t zero = 0;
    struct last_noted *last = bpf_map_lookup_percpu_elem(&last_noted, &zero, datagram->processor);

    if (last != NULL && last->place.number == number && last->place.socket == datagram->key.socket)
        return true;
    if (bpf_core_field_exists(udp->udp_prod_queue)) {
        struct udp_prod_queue *gathering = BPF_CORE_READ(udp, udp_prod_queue);

        gathering = (void *)gathering + datagram->node * bpf_core_type_size(struct udp_prod_queue);
        if (BPF_CORE_READ(gathering, ll_root.first) != NULL)
            return true;
    }
    return bpf_core_field_exists(sk->sk_receive_queue.lock.rlock.raw_lock.val.counter) &&
           BPF_CORE_READ(sk, sk_receive_queue.lock.rlock.raw_lock.val.counter) != 0;
}

enum whereabouts {
    DATAGRAM_LATE,    /* on its way to the queue */
    DATAGRAM_WAITS,   /* in the queue */
    DATAGRAM_GONE,    /* taken */
    DATAGRAM_UNKNOWN, /* taken, or about to enter the queue */
};

/* Whether its buffer is reused already; the next send may get it at once. */
static __always_inline bool is_replaced(const struct datagram *datagram, uint32_t number)
{
    const struct served *last = served_by(datagram->buffer);

    return last->buffer == datagram->buffer &&
           (last->number != number || last->socket != (uint32_t)datagram->key.socket);
}

/* (Here and below: not static, so that the verifier checks it once.) */
__noinline int where_is(const struct datagram *datagram, uint64_t address, uint32_t number)
{
    struct sock *sk = (struct sock *)address;
    bool may_be;

    if (datagram == NULL)
        return DATAGRAM_LATE;
    if (datagram->gone != 0)
        return DATAGRAM_GONE;
    if (is_replaced(datagram, number))
        return DATAGRAM_GONE;
    if (is_on_its_way(datagram))
        return DATAGRAM_LATE;
    if (is_linked(datagram))
        return DATAGRAM_WAITS;
    may_be = may_be_coming(sk, datagram, number);
    if (is_linked(datagram))
        return DATAGRAM_WAITS;
    return may_be ? DATAGRAM_UNKNOWN : DATAGRAM_GONE;
}

/* Moves an index that later ones overtake into `aside`, so that the first index may advance. If `aside` is full, the
 * datagram that was gone first is dropped from it. */
__noinline int put_aside(struct path *own, uint64_t socket, struct datagram *datagram,
                         uint32_t number)
{
    struct numbered_key place = {.socket = socket};
    uint64_t least = ~0ULL;
    uint32_t oldest = 0;

    if (own == NULL || datagram == NULL)
        return 0;
    for (uint32_t i = 0; i < ASIDE_MOST; i++) {
        uint32_t other = own->aside[i];
        struct datagram *others = other == 0 ? NULL : noted_at(socket, other);

        if (others == NULL) {
            oldest = i;
            break;
        }
        if (others->gone != 0 && others->gone < least) {
            least = others->gone;
            oldest = i;
        }
    }
    place.number = own->aside[oldest % ASIDE_MOST];
    if (__sync_val_compare_and_swap(&own->aside[oldest % ASIDE_MOST], (uint32_t)place.number,
                                    number) != (uint32_t)place.number)
        return 0; /* another receive was quicker: it stays where it is */
    datagram->aside = 1;
    if (place.number != 0)
        bpf_map_delete_elem(&inbox, &place);
    return 0;
}

static __always_inline void take_back_aside(struct path *own, uint32_t number)
{
    for (uint32_t i = 0; i < ASIDE_MOST; i++)
        __sync_val_compare_and_swap(&own->aside[i], number, 0);
}

/* It is gone, and the call that took it is not recorded yet. */
static __always_inline void leave_to_others(struct path *own, uint64_t socket,
                                            struct datagram *datagram, uint32_t number)
{
    if (datagram->gone == 0)
        datagram->gone = bpf_ktime_get_ns();
    if (!datagram->aside)
        put_aside(own, socket, datagram, number);
}

/* Whether another stream's call took it, because it was gone when the taker's stream had taken nothing. */
static __always_inline bool is_of_others(const struct taker *taker, const struct datagram *datagram)
{
    return datagram->gone != 0 && datagram->gone <= taker->idle_at;
}

/* Whether its length matches the call's result. */
static __always_inline bool fits(const struct finding *finding, const struct taker *taker,
                                 const struct datagram *datagram)
{
    return datagram->bytes == taker->result ||
           (finding->may_cut && datagram->bytes > taker->result);
}

/* Whether `other` is likelier than `finding` to be what the call has taken. A datagram that was gone before this call
 * looked more likely belongs to a slow call, or to one that will not be recorded. Among those gone since, the one that
 * was first in the queue is recorded first. */
static __always_inline bool is_likelier(const struct finding *finding, const struct finding *other)
{
    if (finding->unknown != other->unknown)
        return finding->unknown;
    if (finding->cut != other->cut)
        return finding->cut;
    if (finding->gone != other->gone)
        return finding->gone;
    return (int32_t)(other->place - finding->place) > 0 ? finding->gone : !finding->gone;
}

/* Whether no other stream has ever received from the socket. */
static __always_inline bool takes_alone(const struct path *own, const struct taker *taker)
{
    return own->taker == taker->stream && taker->stream != SEVERAL_TAKERS;
}

/* Considers a datagram that the call may have taken. Returns whether it is the best candidate now. */
static __always_inline bool is_taken(struct finding *finding, struct path *own,
                                     const struct taker *taker, struct datagram *datagram,
                                     uint32_t number, bool unknown)
{
    const struct finding other = {
        .place = number,
        .cut = datagram->bytes != taker->result,
        .unknown = unknown,
        .gone = datagram->gone != 0,
    };

    if (finding->place == number)
        return true; /* it was put aside just now */
    finding->doubtful |= datagram->doubtful;
    if (finding->place != NO_PLACE) {
        struct datagram *first = noted_at(taker->socket, finding->place);

        if (finding->unknown == unknown || !takes_alone(own, taker)) {
            finding->doubtful = datagram->doubtful = 1;
            if (first != NULL)
                first->doubtful = 1;
        }
        if (!is_likelier(finding, &other))
            return false;
        if (first != NULL && !finding->unknown)
            leave_to_others(own, taker->socket, first, finding->place);
    }
    finding->place = number;
    finding->cut = other.cut;
    finding->unknown = unknown;
    finding->gone = other.gone;
    return true;
}

/* Examines a noted datagram. */
__noinline int look_at(struct finding *finding, struct path *own, const struct taker *taker,
                       struct datagram *datagram, uint32_t number)
{
    enum whereabouts where;
    uint64_t socket;
    bool may_be;

    if (finding == NULL || own == NULL || taker == NULL || datagram == NULL)
        return 0;
    socket = taker->socket;
    where = where_is(datagram, (uint64_t)taker->sk, number);
    if (where == DATAGRAM_UNKNOWN && is_given(own, number + LATE_BEHIND))
        where = DATAGRAM_GONE;
    may_be = fits(finding, taker, datagram);
    if (where == DATAGRAM_LATE || where == DATAGRAM_WAITS) {
        finding->waiting++;
        if (where == DATAGRAM_LATE && may_be && finding->likely == NO_PLACE)
            finding->likely = number;
        if (where == DATAGRAM_LATE && number == finding->from && !datagram->aside &&
            is_given(own, number + LATE_BEHIND))
            put_aside(own, socket, datagram, number);
        return 0;
    }
    if (may_be && is_of_others(taker, datagram))
        finding->likely = number;
    else if (may_be && is_taken(finding, own, taker, datagram, number, where == DATAGRAM_UNKNOWN))
        return 0;
    if (where == DATAGRAM_GONE)
        leave_to_others(own, socket, datagram, number);
    return 0;
}

static long look_aside(uint32_t index, struct search *search)
{
    uint32_t number = search->own->aside[index % ASIDE_MOST];
    struct datagram *datagram;

    if (number == 0)
        return 0;
    datagram = noted_at(search->taker->socket, number);
    if (datagram == NULL ||
        (datagram->gone != 0 && bpf_ktime_get_ns() - datagram->gone > GONE_FOR_GOOD)) {
        struct numbered_key place = {.socket = search->taker->socket, .number = number};

        bpf_map_delete_elem(&inbox, &place);
        __sync_val_compare_and_swap(&search->own->aside[index % ASIDE_MOST], number, 0);
        return 0;
    }
    look_at(&search->finding, search->own, search->taker, datagram, number);
    return 0;
}

static long look_at_place(uint32_t index, struct search *search)
{
    uint32_t number = search->finding.from + index;
    struct datagram *datagram;

    if (!is_given(search->own, number) || search->finding.waiting >= WAIT_MOST)
        return 1;
    datagram = noted_at(search->taker->socket, number);
    if (datagram != NULL && !datagram->aside)
        look_at(&search->finding, search->own, search->taker, datagram, number);
    return 0;
}

static __always_inline bool nothing_is_aside(const struct path *own)
{
    const uint64_t *aside = (const uint64_t *)own->aside;

    return (aside[0] | aside[1] | aside[2] | aside[3]) == 0;
}
_Static_assert(ASIDE_MOST == 8, "nothing_is_aside looks at so many");

/* The usual case: the first datagram is gone, and the next one waits. */
static __always_inline bool is_plain(struct search *search)
{
    struct path *own = search->own;
    uint64_t waits = first_buffer(search->taker->sk);
    struct datagram *first = noted_at(search->taker->socket, search->finding.from), *second;

    if (first == NULL || first->buffer == waits || first->bytes != search->taker->result ||
        first->gone != 0 || first->aside || is_on_its_way(first))
        return false;
    second = is_given(own, search->finding.from + 1)
                 ? noted_at(search->taker->socket, search->finding.from + 1)
                 : NULL;
    if (second != NULL ? second->buffer != waits
                       : (uint32_t)own->queued != search->finding.from + 1)
        return false;
    search->finding.place = search->finding.from;
    search->finding.doubtful = first->doubtful;
    return true;
}

/* Whether the result fills the call's buffer, so that the datagram may have been longer. */
__noinline bool may_be_cut(const struct taker *taker)
{
    if (taker == NULL || taker->length == LENGTH_TRUE)
        return false;
    uint64_t room = taker->length == LENGTH_UNKNOWN
                        ? MUCH_ROOM
                        : room_of_call(bpf_get_current_task_btf(), taker->message_number);
    return room <= taker->result || room == MUCH_ROOM;
}

/* Finds the noted datagram that a receive call has taken. */
static __always_inline void find_taken(struct search *search)
{
    bpf_loop(EMPTY_AT_ONCE, skip_empty, search, 0);
    search->finding.from = search->own->taken;
    search->finding.place = search->finding.likely = NO_PLACE;
    search->finding.waiting = 0;
    if (nothing_is_aside(search->own) && is_plain(search))
        return;
    search->finding.may_cut = may_be_cut(search->taker);
    /* in this order: other calls may move datagrams aside meanwhile, but not back */
    bpf_loop(PLACES_MOST, look_at_place, search, 0);
    bpf_loop(ASIDE_MOST, look_aside, search, 0);
    if (search->finding.place == NO_PLACE) {
        search->finding.place = search->finding.likely;
        search->finding.doubtful = 1;
    }
}

enum taking {
    TAKING_NOTHING, /* nothing, as far as is known */
    TAKING_OLDER,   /* a datagram that arrived before the inbox was opened */
    TAKING_KNOWN,
};

static __always_inline void note_taker(struct path *own, uint32_t stream)
{
    if (own->taker == 0)
        __sync_val_compare_and_swap(&own->taker, 0, stream);
    if (own->taker != stream)
        own->taker = SEVERAL_TAKERS;
}

/* Finds the datagram that a receive call has just taken from its socket's queue, and removes it from the inbox. Sets
 * *ret_datagram if it is known. `own` is the socket's storage. */
__noinline enum taking take_datagram(struct path *own, const struct taker *taker,
                                     struct datagram *ret_datagram)
{
    struct search search = {.own = own, .taker = taker};

    if (own == NULL || taker == NULL || ret_datagram == NULL)
        return TAKING_NOTHING;
    note_taker(own, taker->stream);
    if (own->older > 0) {
        own->older--;
        return TAKING_OLDER;
    }
    /* search.taker, which is in memory anyway: each function has a part of 512 bytes of stack (scripts/bpf_stack) */
    for (uint32_t i = 0; i < TRIES; i++) {
        struct numbered_key place = {.socket = search.taker->socket};
        struct datagram *datagram;

        find_taken(&search);
        if (search.finding.doubtful)
            own->confused = bpf_ktime_get_ns();
        if (search.finding.place == NO_PLACE)
            return TAKING_NOTHING;
        place.number = search.finding.place;
        datagram = bpf_map_lookup_elem(&inbox, &place);
        if (datagram == NULL)
            continue;
        *ret_datagram = *datagram;
        if (bpf_map_delete_elem(&inbox, &place) != 0)
            continue; /* another receive in progress was quicker */
        /* it may have been in progress when another call was given this one's datagram */
        ret_datagram->doubtful = search.finding.doubtful | (search.taker->idle_at < own->confused);
        if (ret_datagram->aside)
            take_back_aside(own, search.finding.place);
        __sync_val_compare_and_swap(&own->taken, search.finding.place, search.finding.place + 1);
        return TAKING_KNOWN;
    }
    return TAKING_NOTHING;
}

#endif
