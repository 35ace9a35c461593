/* SPDX-License-Identifier: MIT */
/*
 * joining.c: joins the two ends of a connection.
 *
 *      TCP, UDP                                     UNIX, pipes
 *      A 10.0.0.1:4000 > 10.0.0.2:80                A cookie 7, peer 8
 *      B 10.0.0.2:80   > 10.0.0.1:4000              B cookie 8, peer 7 (or 0: not known)
 *
 * - Ports are reused, so the starting positions of TCP must agree as well: A's first byte out is B's first byte in. The
 *   64 bits of initial sequence numbers make this certain, even if addresses were translated on the way (NAT). An end
 *   that is older than its metering does not know them.
 * - A loopback address means another host on each machine and in each network namespace.
 * - UDP has no beginning: its positions are all 0. Of several ends with the same addresses the latest counts.
 * - Private addresses, as containers have them, may be in use on each machine: an end of the same machine is preferred.
 * - Cookies are unique on one machine; those of pipes are unique in one recording, those of channels everywhere.
 *
 * Every end is entered under the keys by which its partner will search for it:
 *
 *      KEY_CONNECTION   both addresses and both starting positions; both cookies
 *      KEY_STARTS       both starting positions of TCP, whatever the addresses (they were translated)
 *      KEY_ADDRESSES    both addresses, whatever the positions
 *      KEY_OLDER        both addresses, of ends that are older than the metering, or whose positions are their
 *                       meter's own
 *      KEY_COOKIE       its own cookie, of ends that do not know their peer
 *      KEY_PEER         the peer's cookie
 */
#include "ends/joining.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ENDPOINT_BYTES 18 /* address in IPv6 form, and port */

enum key_purpose { KEY_CONNECTION = 1, KEY_STARTS, KEY_ADDRESSES, KEY_OLDER, KEY_COOKIE, KEY_PEER };

/* The parts of a key. It is hashed as bytes, so there is no padding and unused parts are zero. */
struct key {
    uint32_t purpose;
    uint32_t machine; /* + 1, if it matters */
    uint32_t network;
    uint32_t kind;
    uint64_t cookies[2];                  /* the smaller first */
    uint8_t addresses[2][ENDPOINT_BYTES]; /* address and port, the smaller first */
    uint32_t starts[2]; /* of the direction out of the smaller address, into the smaller one */
    uint32_t origin;    /* + 1, if it matters */
};

_Static_assert(sizeof(struct key) == 80, "a key has no padding");

/* match() checks equal hashes again, so a collision only costs time. */
static uint64_t key_hash(const struct key *key)
{
    return hash_bytes(0, key, sizeof(*key));
}

/* The first 12 bytes of an IPv4 address in IPv6 form. */
static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

void long_address(unsigned family, const uint8_t *address, uint8_t to[16])
{
    if (family == AF_INET6) {
        memcpy(to, address, 16);
    } else {
        memcpy(to, mapped, sizeof(mapped));
        memcpy(to + sizeof(mapped), address, 4);
    }
}

bool is_loopback(const uint8_t address[16])
{
    static const uint8_t one[16] = {[15] = 1};

    return memcmp(address, one, sizeof(one)) == 0 ||
           (memcmp(address, mapped, sizeof(mapped)) == 0 && address[12] == 127);
}

static void long_endpoint(unsigned family, const uint8_t address[16], uint16_t port,
                          uint8_t to[ENDPOINT_BYTES])
{
    long_address(family, address, to);
    to[16] = (uint8_t)(port >> 8);
    to[17] = (uint8_t)port;
}

/* A UDP or UNIX datagram socket without a fixed peer: each sender to it has a path of its own. */
static bool has_no_peer(const struct path_end *end)
{
    const struct path_record *record = end->record;

    return (record->kind == PATH_UDP && record->remote_port == 0) ||
           (record->kind == PATH_UNIX_DATAGRAM && record->peer == 0);
}

static struct key internet_key(const struct path_end *end, enum key_purpose purpose)
{
    const struct path_record *record = end->record;
    struct key key = {.purpose = purpose, .kind = record->kind};
    uint8_t local[ENDPOINT_BYTES];
    uint8_t remote[ENDPOINT_BYTES];

    long_endpoint(record->family, record->local, record->local_port, local);
    long_endpoint(record->family, record->remote, record->remote_port, remote);
    bool local_is_smaller = memcmp(local, remote, sizeof(local)) < 0;
    memcpy(key.addresses[0], local_is_smaller ? local : remote, sizeof(local));
    memcpy(key.addresses[1], local_is_smaller ? remote : local, sizeof(local));
    if (purpose == KEY_CONNECTION) {
        key.starts[0] = local_is_smaller ? record->start_out : record->start_in;
        key.starts[1] = local_is_smaller ? record->start_in : record->start_out;
    }
    if (is_loopback(local) || is_loopback(remote)) {
        key.machine = end->machine + 1;
        key.network = record->network;
    }
    return key;
}

/* Pipes and message queues have no cookies. Their meter numbers them, and another meter on the same machine may use the
 * same numbers. */
static bool is_of_its_meter(const struct path_end *end)
{
    return kind_is_pipe(end->record->kind) || kind_is_mq(end->record->kind);
}

static struct key unix_key(const struct path_end *end, enum key_purpose purpose, uint64_t one,
                           uint64_t other)
{
    struct key key = {.purpose = purpose, .kind = end->record->kind};

    if (!kind_is_channel(end->record->kind))
        key.machine = end->machine + 1;
    if (is_of_its_meter(end))
        key.origin = end->origin + 1;

    key.cookies[0] = one < other ? one : other;
    key.cookies[1] = one < other ? other : one;
    return key;
}

static bool older(const struct path_end *end)
{
    return end->record->header.flags & RECORD_OLDER;
}

/* Whether its meter has chosen its starting positions, which then mean nothing to other meters. */
static bool counted(const struct path_end *end)
{
    return end->record->header.flags & RECORD_COUNTED;
}

/* Whether its addresses alone suffice to join it. */
static bool may_join_by_addresses(const struct path_end *end)
{
    return older(end) || counted(end);
}

bool joiner_knows_starts(const struct path_record *record)
{
    return record->kind == PATH_TCP && !(record->header.flags & (RECORD_OLDER | RECORD_COUNTED)) &&
           record->start_out != 0 && record->start_in != 0;
}

static bool knows_starts(const struct path_end *end)
{
    return joiner_knows_starts(end->record);
}

static struct key starts_key(const struct path_end *end)
{
    uint32_t out = end->record->start_out;
    uint32_t in = end->record->start_in;

    return (struct key){
        .purpose = KEY_STARTS,
        .kind = end->record->kind,
        .starts = {out < in ? out : in, out < in ? in : out},
    };
}

enum match { NO_MATCH, PROBABLE, CERTAIN };

static enum match match_internet(const struct path_end *a, const struct path_end *b,
                                 bool closed_too)
{
    uint8_t addresses[4][ENDPOINT_BYTES];
    bool same_starts =
        a->record->start_out == b->record->start_in && a->record->start_in == b->record->start_out;

    if (same_starts && knows_starts(a) && knows_starts(b))
        return CERTAIN;
    long_endpoint(a->record->family, a->record->local, a->record->local_port, addresses[0]);
    long_endpoint(b->record->family, b->record->remote, b->record->remote_port, addresses[1]);
    long_endpoint(a->record->family, a->record->remote, a->record->remote_port, addresses[2]);
    long_endpoint(b->record->family, b->record->local, b->record->local_port, addresses[3]);
    if (memcmp(addresses[0], addresses[1], ENDPOINT_BYTES) != 0 ||
        memcmp(addresses[2], addresses[3], ENDPOINT_BYTES) != 0)
        return NO_MATCH;
    if ((is_loopback(addresses[0]) || is_loopback(addresses[2])) &&
        (a->machine != b->machine || a->record->network != b->record->network))
        return NO_MATCH;
    if (same_starts)
        return CERTAIN;
    bool may_live = (closed_too && a->origin != b->origin) || (!a->destroyed && !b->destroyed);
    bool by_addresses =
        older(a) || older(b) || ((counted(a) || counted(b)) && a->origin != b->origin);
    return by_addresses && may_live ? PROBABLE : NO_MATCH;
}

/*
 * A connected socket has one peer. If that peer is known, its own cookie is not needed. Datagrams come from many peers.
 */
static bool knows_its_only_peer(const struct path_end *end)
{
    return end->record->cookie == 0 && end->record->peer != 0 &&
           end->record->kind != PATH_UNIX_DATAGRAM;
}

static enum match match_unix(const struct path_end *a, const struct path_end *b)
{
    bool a_knows = a->record->peer == b->record->cookie;
    bool b_knows = b->record->peer == a->record->cookie;

    if ((a->machine != b->machine && !kind_is_channel(a->record->kind)) ||
        (is_of_its_meter(a) && a->origin != b->origin))
        return NO_MATCH;
    if ((a_knows && knows_its_only_peer(a)) || (b_knows && knows_its_only_peer(b)))
        return PROBABLE;
    if (a->record->cookie == 0 || b->record->cookie == 0)
        return NO_MATCH;
    if (a_knows && b_knows)
        return CERTAIN;
    return (a_knows && b->record->peer == 0) || (b_knows && a->record->peer == 0) ? PROBABLE
                                                                                  : NO_MATCH;
}

/* A socket that is connected to itself is both ends: no other one can have the same address. */
static bool mirrors_itself(const struct path_end *end)
{
    const struct path_record *record = end->record;

    if (!kind_is_internet(end->record->kind))
        return record->cookie != 0 && record->cookie == record->peer;
    return record->local_port == record->remote_port &&
           memcmp(record->local, record->remote, record->family == AF_INET6 ? 16 : 4) == 0;
}

static enum match match(const struct path_end *a, const struct path_end *b, bool closed_too)
{
    if (a->record->kind != b->record->kind)
        return NO_MATCH;
    return kind_is_internet(a->record->kind) ? match_internet(a, b, closed_too) : match_unix(a, b);
}

/* UDP: its partner was closed, and it was not. What a later socket with that address sends comes to it, too. */
static bool is_left(const struct joiner *joiner, const struct path_end *end)
{
    const struct path_end *partner = end->partner == NO_END ? NULL : &joiner->ends[end->partner];

    return partner != NULL && end->record->kind == PATH_UDP && !end->destroyed &&
           partner->destroyed && partner->origin == end->origin;
}

static bool waits(const struct joiner *joiner, const struct path_end *end)
{
    return end->partner == NO_END || is_left(joiner, end);
}

/* The latest end that waits under `key` and matches `end`: of the same machine, or else of any. Removes ends that no
 * longer wait from the chain on the way. An end may still be in chains of an earlier, less complete description; match()
 * uses the latest one. */
static uint32_t find_waiting(struct joiner *joiner, uint32_t index, const struct key *key)
{
    const struct path_end *end = &joiner->ends[index];
    enum match wanted =
        key->purpose == KEY_CONNECTION || key->purpose == KEY_STARTS ? CERTAIN : PROBABLE;
    int64_t found = intern_find(&joiner->keys, key_hash(key));
    uint32_t elsewhere = NO_END;

    if (found < 0)
        return NO_END;
    for (uint32_t *link = &joiner->heads[found]; *link != 0;) {
        struct waiting_end *waiting = &joiner->waiting[*link - 1];
        const struct path_end *other = &joiner->ends[waiting->end];
        if (other->life != waiting->life || !waits(joiner, other)) {
            *link = waiting->next;
            continue;
        }
        if (waiting->end != index && match(end, other, joiner->closed_too) >= wanted &&
            (other->partner == NO_END || other->origin == end->origin)) {
            if (other->machine == end->machine)
                return waiting->end;
            elsewhere = elsewhere == NO_END ? waiting->end : elsewhere;
        }
        link = &waiting->next;
    }
    return elsewhere;
}

/* Adds an end to the chain of a key. */
static int hang(struct joiner *joiner, uint32_t index, uint64_t hash)
{
    int64_t chain = intern_add(&joiner->keys, hash);

    if (chain < 0)
        return (int)chain;
    int result = array_reserve(&joiner->heads, &joiner->head_capacity, (size_t)chain + 1,
                               sizeof(*joiner->heads));
    if (result < 0)
        return result;
    result = array_reserve(&joiner->waiting, &joiner->waiting_capacity, joiner->waiting_count + 1,
                           sizeof(*joiner->waiting));
    if (result < 0)
        return result;
    joiner->waiting[joiner->waiting_count++] = (struct waiting_end){
        index, joiner->ends[index].life, (uint32_t)chain, joiner->heads[chain]};
    joiner->heads[chain] = (uint32_t)joiner->waiting_count;
    joiner->ends[index].hung += joiner->ends[index].hung < HUNG_MOST;
    return 0;
}

/* Notes that an end no longer waits, though it is still in its chains. */
static void pass(struct joiner *joiner, struct path_end *end)
{
    joiner->passed += end->hung;
    end->hung = 0;
}

/* Rebuilds all chains with the ends that still wait. The others may have been forgotten long ago. */
static int clear_chains(struct joiner *joiner)
{
    struct intern keys = joiner->keys;
    size_t count = joiner->waiting_count;
    int result = 0;

    joiner->keys = (struct intern){0};
    memset(joiner->heads, 0, joiner->head_capacity * sizeof(*joiner->heads));
    joiner->waiting_count = joiner->passed = 0;
    for (size_t i = 0; i < count; i++)
        joiner->ends[joiner->waiting[i].end].hung = 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        struct waiting_end waiting = joiner->waiting[i];
        const struct path_end *end = &joiner->ends[waiting.end];
        if (end->life == waiting.life && waits(joiner, end))
            result = hang(joiner, waiting.end, keys.keys[waiting.chain]);
    }
    intern_done(&keys);
    return result;
}

#define CLEARED_AT 8192 /* entries before chains are rebuilt if half of them no longer wait */

static int wait_under(struct joiner *joiner, uint32_t index, const struct key *key)
{
    if (joiner->waiting_count >= CLEARED_AT && joiner->waiting_count == joiner->waiting_capacity &&
        joiner->passed * 2 >= joiner->waiting_count) {
        int result = clear_chains(joiner);
        if (result < 0)
            return result;
    }
    return hang(joiner, index, key_hash(key));
}

static uint32_t find_internet_partner(struct joiner *joiner, uint32_t index)
{
    const struct path_end *end = &joiner->ends[index];
    struct key connection = internet_key(end, KEY_CONNECTION);
    uint32_t partner = find_waiting(joiner, index, &connection);

    if (partner == NO_END && knows_starts(end)) {
        struct key starts = starts_key(end);
        partner = find_waiting(joiner, index, &starts);
    }
    if (partner != NO_END)
        return partner;
    struct key addresses =
        internet_key(end, may_join_by_addresses(end) ? KEY_ADDRESSES : KEY_OLDER);
    return find_waiting(joiner, index, &addresses);
}

static int wait_for_internet_partner(struct joiner *joiner, uint32_t index)
{
    const struct path_end *end = &joiner->ends[index];
    const enum key_purpose purposes[] = {KEY_CONNECTION, KEY_ADDRESSES, KEY_OLDER};
    int result = 0;

    for (size_t i = 0; result == 0 && i < ARRAY_SIZE(purposes) - !may_join_by_addresses(end); i++) {
        struct key key = internet_key(end, purposes[i]);
        result = wait_under(joiner, index, &key);
    }
    if (result == 0 && knows_starts(end)) {
        struct key starts = starts_key(end);
        result = wait_under(joiner, index, &starts);
    }
    return result;
}

static uint32_t find_unix_partner(struct joiner *joiner, uint32_t index)
{
    const struct path_end *end = &joiner->ends[index];
    uint64_t cookie = end->record->cookie;
    uint64_t peer = end->record->peer;

    struct key who_knows_me = unix_key(end, KEY_PEER, cookie, 0);
    if (peer == 0)
        return find_waiting(joiner, index, &who_knows_me);
    struct key both = unix_key(end, KEY_CONNECTION, cookie, peer);
    uint32_t partner = find_waiting(joiner, index, &both);
    if (partner != NO_END)
        return partner;
    struct key whom_i_know = unix_key(end, KEY_COOKIE, peer, 0);
    partner = find_waiting(joiner, index, &whom_i_know);
    return partner != NO_END || cookie == 0 ? partner : find_waiting(joiner, index, &who_knows_me);
}

static int wait_for_unix_partner(struct joiner *joiner, uint32_t index)
{
    const struct path_end *end = &joiner->ends[index];
    uint64_t cookie = end->record->cookie;
    uint64_t peer = end->record->peer;

    if (cookie == 0 && !knows_its_only_peer(end)) /* not enough is known of it yet */
        return 0;
    if (peer == 0) {
        struct key mine = unix_key(end, KEY_COOKIE, cookie, 0);
        return wait_under(joiner, index, &mine);
    }
    struct key both = unix_key(end, KEY_CONNECTION, cookie, peer);
    struct key whom_i_know = unix_key(end, KEY_PEER, peer, 0);
    int result = cookie == 0 ? 0 : wait_under(joiner, index, &both);
    return result < 0 ? result : wait_under(joiner, index, &whom_i_know);
}

/* Makes ends up to `index` exist; new ones are not described. */
static int reserve_ends(struct joiner *joiner, uint32_t index)
{
    size_t old = joiner->end_capacity;
    int result = array_reserve(&joiner->ends, &joiner->end_capacity, (size_t)index + 1,
                               sizeof(*joiner->ends));

    for (size_t i = old; result == 0 && i < joiner->end_capacity; i++)
        joiner->ends[i].partner = NO_END;
    return result;
}

/* Another end takes the place of this one, which stays without a partner. */
static void succeed(struct joiner *joiner, uint32_t former)
{
    joiner->ends[former].partner = NO_END;
    joiner->ends[former].life++; /* what is left of it in chains is not found */
}

int joiner_add(struct joiner *joiner, uint32_t index, const struct path_record *record,
               uint32_t machine, uint32_t origin)
{
    int result = reserve_ends(joiner, index);

    if (result < 0)
        return result;
    struct path_end *end = &joiner->ends[index];
    if (end->partner != NO_END)
        return 0;
    end->record = record;
    end->machine = machine;
    end->origin = origin & 0xffffff;
    bool internet = kind_is_internet(end->record->kind);
    if (has_no_peer(end))
        return 0;
    uint32_t partner = mirrors_itself(end) ? index
                       : internet          ? find_internet_partner(joiner, index)
                                           : find_unix_partner(joiner, index);
    if (partner == NO_END)
        return internet ? wait_for_internet_partner(joiner, index)
                        : wait_for_unix_partner(joiner, index);
    if (joiner->ends[partner].partner != NO_END)
        succeed(joiner, joiner->ends[partner].partner);
    end->partner = partner;
    joiner->ends[partner].partner = index;
    pass(joiner, end);
    pass(joiner, &joiner->ends[partner]);
    return is_left(joiner, end) ? wait_for_internet_partner(joiner, index) : 0;
}

void joiner_destroyed(struct joiner *joiner, uint32_t index)
{
    if (index >= joiner->end_capacity || joiner->ends[index].record == NULL ||
        joiner->ends[index].destroyed)
        return;
    uint32_t partner = joiner->ends[index].partner;
    joiner->ends[index].destroyed = true;
    if (partner != NO_END && is_left(joiner, &joiner->ends[partner]))
        wait_for_internet_partner(joiner, partner); /* on -ENOMEM none is found */
}

void joiner_forget(struct joiner *joiner, uint32_t index)
{
    if (index >= joiner->end_capacity)
        return;
    struct path_end *end = &joiner->ends[index];
    if (end->partner != NO_END)
        joiner->ends[end->partner].partner = NO_END;
    pass(joiner, end);
    *end = (struct path_end){.partner = NO_END, .life = end->life + 1};
}

struct path_end joiner_end(const struct joiner *joiner, uint32_t index)
{
    if (index < joiner->end_capacity)
        return joiner->ends[index];
    return (struct path_end){.partner = NO_END};
}

void joiner_done(struct joiner *joiner)
{
    free(joiner->ends);
    intern_done(&joiner->keys);
    free(joiner->heads);
    free(joiner->waiting);
    memset(joiner, 0, sizeof(*joiner));
}
