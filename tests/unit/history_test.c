/* SPDX-License-Identifier: MIT */
/*
 * history_test.c: receives are matched with their sends, and the causal stream is causal.
 *
 *      lives of machines, from a seed --+-- records of each origin --> history --> events, edges
 *                                       |                                             |
 *                                       '-- true sender of each byte ------------- compared
 *
 * The world below knows the truth: its queues remember the sender of each byte. The history sees only records, made as
 * the meter makes them.
 */
#include "meter/shared/message.h"
#include "tapes.h"

#define MOST_SOURCES 6

/* ---- the world ---- */

#define SECOND        1000000000ull
#define MOST_STREAMS  16
#define MOST_LINKS    12
#define CROWDED_LINKS 3
#define MOST_SHARERS  3
#define NOBODY        UINT32_MAX
#define QUEUE_MOST    4096
#define CAPACITY      300u /* bytes of a queue */

/* One call, which may have several records. */
struct call {
    uint32_t origin;
    uint32_t stream;
    uint32_t bytes;
    uint32_t received; /* by exact edges */
    uint32_t group;    /* of calls on its way that overlap in time */
    uint32_t way;
    bool lost;          /* one or more of its records */
    bool after_silence; /* the first recorded call on its way, after lost ones */
};

/* Calls that overlap in time. */
struct group {
    bool several; /* there is more than one */
    bool lost;    /* one of its records */
};

/* The truth about a record. */
struct truth {
    uint32_t call;        /* SEND, SENDCALL: its call; or NOBODY */
    uint32_t first_piece; /* RECEIVE: index into pieces ... */
    uint32_t piece_count;
    bool is_udp;
    uint32_t group; /* RECEIVE from a pipe */
    uint8_t sure;   /* RECEIVE: enum sure */
    bool after_gap; /* ... the previous record is lost */
    bool whole;     /* ... the meter has seen when the sends began */
    uint32_t way;   /* ... number of its way */
};

/* What must be certain about a RECEIVE's edges, if no record was lost. */
enum sure {
    SURE_NOTHING, /* datagrams between machines */
    SURE_UNIX,    /* as below, and the meter records which calls overlapped */
    /* the true senders are among the edges; they are exact if one stream sent, and one received */
    SURE_SENDER,
    SURE_POSITION, /* all edges are exact, even if other streams send or have lost records */
};

struct piece {
    uint32_t call; /* NOBODY: unmonitored, or older */
    uint32_t bytes;
};

/* Calls in progress on one way. Calls that overlap, directly or through others, are a group. */
struct busy {
    uint32_t calls;
    uint32_t group;
};

/* The streams that have ever used a way. */
struct users {
    uint32_t sender; /* index of the only one; NOBODY: none; SEVERAL: several */
    uint32_t taker;
    bool take_lost; /* the latest RECEIVE was lost */
    bool is_silent; /* SENDs were lost, and none was recorded */
    bool has_told;
};

#define SEVERAL (UINT32_MAX - 1)

/* A direction of a link. */
struct way {
    struct piece queue[QUEUE_MOST];
    uint32_t first;
    uint32_t end;
    uint32_t queued;              /* bytes or messages */
    uint32_t numbers[QUEUE_MOST]; /* of datagrams in the queue */
    uint32_t written;             /* TCP: position of the next byte */
    uint32_t out;                 /* counted when calls end; UDP: the last number */
    uint32_t in;                  /* position of the next byte to be taken */
    uint32_t counted_in;          /* pipes: counted when the call ends */
    bool sends_known[MOST_SHARERS];
    bool takes_known[MOST_SHARERS];
    uint32_t number;     /* among all ways that ever existed ... */
    struct busy sending; /* ... of calls that are counted when they end */
    struct busy taking;
};

struct side {
    bool metered;
    uint32_t origin;
    uint32_t path;
    uint32_t streams[MOST_SHARERS]; /* indices */
    uint32_t stream_count;
};

struct link {
    bool open;
    uint8_t kind;
    struct side sides[2];
    struct way ways[2]; /* by sender */
};

struct actor {
    uint32_t origin;
    uint32_t number;
    uint32_t sequence;
    uint32_t lost;
    uint32_t discarded;
    uint64_t cpu;
    /* in the middle of a send or, on a pipe, a receive */
    uint32_t link; /* index, or NOBODY */
    unsigned side;
    unsigned place; /* among the sharers */
    bool sending;
    uint32_t call;
    uint32_t left;
    uint32_t first; /* of the piece being recorded */
    uint32_t put;   /* bytes of it in the queue */
    uint32_t done;  /* recorded bytes */
    uint32_t told;  /* done + put of the last SENDCALL; pipe: what it recorded, plus 1 */
    uint32_t slept; /* pipe: the output of ended calls when it first slept */
    uint64_t begun;
    bool has_put;
    bool met; /* another stream was sending there meanwhile */
    struct truth taken;
    uint32_t taken_bytes;
};

struct world {
    uint64_t seed;
    uint64_t time;
    uint64_t skews[MOST_SOURCES];
    struct tape tapes[MOST_SOURCES];
    uint32_t origin_count;
    uint8_t machines[MOST_SOURCES];
    uint32_t next_path[MOST_SOURCES];
    struct actor actors[MOST_STREAMS];
    uint32_t actor_count;
    struct link links[MOST_LINKS];
    struct call *calls;
    size_t call_capacity;
    uint32_t call_count;
    struct piece *pieces;
    size_t piece_capacity;
    uint32_t piece_count;
    /* by the record's index in `load` of no tape: kept in unused sequence map */
    struct truth *truths;
    size_t truth_capacity;
    uint32_t truth_count;
    uint32_t *truth_of[MOST_SOURCES]; /* [record of the tape]: index + 1 */
    size_t truth_of_capacity[MOST_SOURCES];
    uint64_t cookies;
    uint64_t pipe_ends[MOST_SOURCES];
    unsigned loss;     /* per 1000 message records */
    unsigned discards; /* the same, removed by a selection */
    bool concurrent;   /* several streams in calls at once on one way */
    bool crowded;      /* many streams on few ways */
    bool whole;        /* the meter sees when writes into pipes begin */
    uint64_t lost;
    uint64_t discarded;
    bool stalled;
    struct users *users; /* by number of the way */
    size_t users_capacity;
    uint32_t way_count;
    struct group *groups;
    size_t group_capacity;
    uint32_t group_count;
};

static uint32_t pick(struct world *world, uint32_t limit)
{
    return (uint32_t)random_below(&world->seed, limit);
}

static uint64_t clock_of(const struct world *world, uint32_t origin)
{
    return world->time + world->skews[origin];
}

static void tick(struct world *world)
{
    world->time += 1 + pick(world, 2000);
}

/* ---- recording ---- */

static void note_truth(struct world *world, uint32_t origin, const struct truth *truth)
{
    size_t index = world->tapes[origin].count - 1;

    assert_int_equal(array_reserve(&world->truths, &world->truth_capacity, world->truth_count + 1,
                                   sizeof(*world->truths)),
                     0);
    assert_int_equal(array_reserve(&world->truth_of[origin], &world->truth_of_capacity[origin],
                                   index + 1, sizeof(uint32_t)),
                     0);
    world->truths[world->truth_count++] = *truth;
    world->truth_of[origin][index] = world->truth_count;
}

/* A record of the call, or of a RECEIVE, is missing. */
static void note_gap(struct world *world, const struct truth *truth)
{
    if (truth->call == NOBODY) {
        world->groups[truth->group].lost = true;
        return;
    }
    struct call *call = &world->calls[truth->call];
    call->lost = true;
    world->users[call->way].is_silent = !world->users[call->way].has_told;
    world->groups[call->group].lost = true;
}

static void note_told(struct world *world, const struct truth *truth)
{
    if (truth->call == NOBODY)
        return;
    struct call *call = &world->calls[truth->call];
    struct users *users = &world->users[call->way];
    call->after_silence = call->after_silence || users->is_silent;
    users->is_silent = false;
    users->has_told = true;
}

/* Whether a record is lost, or removed by a selection. */
static bool is_left_out(struct world *world, struct actor *actor)
{
    if (pick(world, 1000) < world->loss) {
        actor->lost++;
        world->lost++;
        return true;
    }
    if (world->discards == 0 || pick(world, 1000) >= world->discards)
        return false;
    actor->discarded++;
    world->discarded++;
    return true;
}

static void tell_gap(struct world *world, struct actor *actor, struct record_header header,
                     enum event_id id, uint32_t *count)
{
    struct record gap = {.header = header, .lost = {.count = *count, .ring = 1}};

    if (*count == 0)
        return;
    gap.header.id = (uint8_t)id;
    gap.header.flags = 0;
    gap.header.sequence = actor->sequence;
    tape_add(&world->tapes[actor->origin], &gap);
    *count = 0;
}

/* Appends the record; returns whether it is recorded. */
static bool tell(struct world *world, struct actor *actor, struct record record,
                 const struct truth *truth)
{
    bool is_message = record.header.id == EVENT_SEND || record.header.id == EVENT_SENDCALL ||
                      record.header.id == EVENT_RECEIVE;

    tick(world);
    actor->cpu += 100;
    if (is_message && is_left_out(world, actor)) {
        actor->sequence++;
        note_gap(world, truth);
        return false;
    }
    if (record.header.flags & RECORD_WHOLE_CALL) {
        record.header.time = world->time;
        set_span(&record, actor->begun);
    }
    record.header.time = clock_of(world, actor->origin);
    record.header.stream = actor->number;
    record.header.proc_time_and_pc = actor->cpu & 0xffffffffffffULL;
    tell_gap(world, actor, record.header, EVENT_LOST, &actor->lost);
    tell_gap(world, actor, record.header, EVENT_DISCARDED, &actor->discarded);
    record.header.sequence = actor->sequence++;
    tape_add(&world->tapes[actor->origin], &record);
    if (truth != NULL) {
        note_truth(world, actor->origin, truth);
        note_told(world, truth);
    }
    return true;
}

static struct record message(enum event_id id, uint32_t path, uint32_t offset, uint32_t bytes)
{
    return (struct record){.header = {.id = (uint8_t)id},
                           .message = {.path = path, .offset = offset, .bytes = bytes}};
}

/* ---- ways ---- */

static uint32_t new_group(struct world *world)
{
    assert_int_equal(array_reserve(&world->groups, &world->group_capacity, world->group_count + 1,
                                   sizeof(*world->groups)),
                     0);
    world->groups[world->group_count] = (struct group){0};
    return world->group_count++;
}

static uint32_t begin_call(struct world *world, struct busy *busy)
{
    if (busy->calls++ == 0)
        busy->group = new_group(world);
    else
        world->groups[busy->group].several = true;
    return busy->group;
}

static void end_call(struct busy *busy)
{
    busy->calls--;
}

static void note_user(uint32_t *user, uint32_t who)
{
    if (*user == NOBODY)
        *user = who;
    else if (*user != who)
        *user = SEVERAL;
}

static void new_way(struct world *world, struct way *way)
{
    assert_int_equal(array_reserve(&world->users, &world->users_capacity, world->way_count + 1,
                                   sizeof(*world->users)),
                     0);
    world->users[world->way_count] = (struct users){.sender = NOBODY, .taker = NOBODY};
    way->number = world->way_count++;
}

static bool datagrams(const struct link *link)
{
    return link->kind == PATH_UDP || link->kind == PATH_UNIX_DATAGRAM ||
           link->kind == PATH_UNIX_SEQPACKET || kind_is_mq(link->kind);
}

static bool is_unix(const struct link *link)
{
    return link->kind == PATH_UNIX_STREAM || link->kind == PATH_UNIX_SEQPACKET ||
           link->kind == PATH_UNIX_DATAGRAM;
}

static bool is_pipe(const struct link *link)
{
    return link->kind == PATH_PIPE || link->kind == PATH_FIFO || kind_is_mq(link->kind);
}

static void enqueue(const struct link *link, struct way *way, uint32_t call, uint32_t bytes,
                    uint32_t number)
{
    if (way->end == QUEUE_MOST) {
        memmove(way->queue, way->queue + way->first,
                (way->end - way->first) * sizeof(way->queue[0]));
        memmove(way->numbers, way->numbers + way->first,
                (way->end - way->first) * sizeof(way->numbers[0]));
        way->end -= way->first;
        way->first = 0;
    }
    assert_true(way->end < QUEUE_MOST);
    way->numbers[way->end] = number;
    way->queue[way->end++] = (struct piece){call, bytes};
    way->queued += datagrams(link) ? 1 : bytes;
    way->written += datagrams(link) ? 1 : bytes;
}

static void add_piece(struct world *world, struct truth *truth, uint32_t call, uint32_t bytes)
{
    assert_int_equal(array_reserve(&world->pieces, &world->piece_capacity, world->piece_count + 1,
                                   sizeof(*world->pieces)),
                     0);
    world->pieces[world->piece_count++] = (struct piece){call, bytes};
    truth->piece_count++;
}

/* Takes up to `most` bytes, or a message. Returns how many bytes. */
static uint32_t dequeue(struct world *world, const struct link *link, struct way *way,
                        uint32_t most, struct truth *truth)
{
    uint32_t bytes = 0;

    *truth = (struct truth){.call = NOBODY, .first_piece = world->piece_count};
    while (way->first < way->end && (datagrams(link) ? truth->piece_count == 0 : bytes < most)) {
        struct piece *piece = &way->queue[way->first];
        uint32_t part =
            datagrams(link) || piece->bytes <= most - bytes ? piece->bytes : most - bytes;
        add_piece(world, truth, piece->call, part);
        piece->bytes -= part;
        bytes += part;
        way->queued -= datagrams(link) ? 1 : part;
        if (datagrams(link) || piece->bytes == 0)
            way->first++;
    }
    return bytes;
}

/* ---- sending ---- */

static uint32_t new_call(struct world *world, const struct actor *actor, uint32_t bytes)
{
    assert_int_equal(array_reserve(&world->calls, &world->call_capacity, world->call_count + 1,
                                   sizeof(*world->calls)),
                     0);
    world->calls[world->call_count] =
        (struct call){.origin = actor->origin, .stream = actor->number, .bytes = bytes};
    return world->call_count++;
}

static bool tells_whole_calls(const struct world *world, const struct link *link)
{
    return world->whole && (link->kind == PATH_PIPE || link->kind == PATH_FIFO);
}

static void tell_send(struct world *world, struct actor *actor, const struct link *link,
                      uint32_t offset, uint32_t bytes, bool continued)
{
    struct truth truth = {.call = actor->call};
    struct record record = message(EVENT_SEND, link->sides[actor->side].path, offset, bytes);

    record.header.flags = continued ? RECORD_CONTINUED : 0;
    record.header.time = world->time;
    set_span(&record, actor->begun);
    if (actor->met && world->crowded && is_unix(link))
        record.header.flags |= RECORD_CONCURRENT;
    if (tells_whole_calls(world, link))
        record.header.flags |= RECORD_WHOLE_CALL;
    tell(world, actor, record, &truth);
}

/* Bytes sent so far by calls in progress, in addition to those of ended calls. */
static uint32_t out_of_calls(const struct world *world, const struct actor *of)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < world->actor_count; i++) {
        const struct actor *actor = &world->actors[i];
        if (actor->sending && actor->link == of->link && actor->side == of->side)
            bytes += actor->put;
    }
    return bytes;
}

/* A pipe does not record which stream wrote its bytes: the SENDCALL has all bytes since the call first slept, by any
 * writer. */
static void tell_pipe_sendcall(struct world *world, struct actor *actor)
{
    const struct link *link = &world->links[actor->link];
    uint32_t ended = link->ways[actor->side].out;
    struct truth truth = {.call = actor->call};

    if (actor->told == 0)
        actor->slept = ended;
    uint32_t offset = ended + out_of_calls(world, actor), bytes = offset - actor->slept;
    struct record record = message(EVENT_SENDCALL, link->sides[actor->side].path, offset, bytes);
    record.header.time = world->time;
    record.header.flags = tells_whole_calls(world, link) ? RECORD_WHOLE_CALL : 0;
    set_span(&record, actor->begun);
    if (actor->told == bytes + 1)
        return;
    actor->told = bytes + 1;
    tell(world, actor, record, &truth);
}

/* It leaves the CPU: records the bytes sent so far, once per progress. */
static void tell_sendcall(struct world *world, struct actor *actor)
{
    const struct link *link = &world->links[actor->link];
    struct truth truth = {.call = actor->call};
    struct record record = message(EVENT_SENDCALL, link->sides[actor->side].path, 0, 0);

    if (is_pipe(link) && !datagrams(link)) {
        tell_pipe_sendcall(world, actor);
        return;
    }
    if (datagrams(link) || (actor->told == actor->done + actor->put && actor->told > 0))
        return;
    if (actor->put > 0 || actor->done > 0) {
        record.message.offset = actor->first + actor->put;
        record.message.bytes = actor->put;
        record.header.time = world->time;
        set_span(&record, actor->begun);
    }
    actor->told = actor->done + actor->put;
    tell(world, actor, record, &truth);
}

static void end_send(struct world *world, struct actor *actor)
{
    struct link *link = &world->links[actor->link];
    struct way *way = &link->ways[actor->side];

    if (link->kind == PATH_TCP) {
        tell_send(world, actor, link, actor->first, actor->put, actor->done > 0);
    } else {
        uint32_t bytes = world->calls[actor->call].bytes;
        uint32_t offset = way->out;
        way->out += datagrams(link) ? 1 : bytes;
        tell_send(world, actor, link, offset, bytes, false);
    }
    end_call(&way->sending);
    if (!world->calls[actor->call].lost)
        way->sends_known[actor->place] = true;
    actor->link = NOBODY;
}

/* Puts some of it into the queue, or blocks, or ends. */
static void go_on_sending(struct world *world, struct actor *actor)
{
    struct link *link = &world->links[actor->link];
    struct way *way = &link->ways[actor->side];

    if (actor->left == 0) {
        end_send(world, actor);
        return;
    }
    if (way->queued >= CAPACITY) {
        tell_sendcall(world, actor);
        return;
    }
    uint32_t room = CAPACITY - way->queued;
    uint32_t bytes = pick(world, 3) == 0 ? 1 + pick(world, actor->left) : actor->left;
    bytes = bytes > room ? room : bytes;
    if (link->kind == PATH_TCP && actor->has_put && way->written != actor->first + actor->put) {
        tell_send(world, actor, link, actor->first, actor->put, actor->done > 0);
        actor->done += actor->put;
        actor->put = 0;
        actor->has_put = false;
    }
    if (!actor->has_put) {
        actor->first = link->kind == PATH_TCP ? way->written : way->out;
        if (!tells_whole_calls(world, link))
            actor->begun = world->time;
        actor->has_put = true;
    }
    enqueue(link, way, actor->call, bytes, 0);
    actor->put += bytes;
    actor->left -= bytes;
    world->time++;
}

/* Every stream that is sending there has met another one. */
static void meet_others(struct world *world, struct actor *actor)
{
    actor->met = false;
    for (uint32_t i = 0; i < world->actor_count; i++) {
        struct actor *other = &world->actors[i];
        if (other != actor && other->link == actor->link && other->side == actor->side &&
            other->sending)
            actor->met = other->met = true;
    }
}

static bool is_remote_udp(const struct world *world, const struct link *link)
{
    return link->kind == PATH_UDP &&
           world->machines[link->sides[0].origin] != world->machines[link->sides[1].origin];
}

static void send_datagram(struct world *world, struct actor *actor, struct link *link)
{
    struct way *way = &link->ways[actor->side];
    uint32_t bytes = world->calls[actor->call].bytes;
    bool remote = is_remote_udp(world, link);

    way->out += link->kind == PATH_UDP ? 1 + pick(world, 4) : 0;
    uint32_t number = way->out;
    actor->begun = world->time++;
    if (!remote || pick(world, 12) != 0)
        enqueue(link, way, actor->call, bytes, number);
    if (remote && pick(world, 30) == 0)
        enqueue(link, way, actor->call, bytes, number); /* a duplicate */
    if (link->kind == PATH_UDP) {
        tell_send(world, actor, link, number, bytes, false);
        end_call(&way->sending);
        way->sends_known[actor->place] = true;
        actor->link = NOBODY;
    } else {
        actor->left = 0; /* numbered when the call ends */
        actor->put = bytes;
    }
}

/* Whether a stream that must not overlap with `place` is in a call there. */
static bool may_use(const struct world *world, uint32_t index, unsigned side, unsigned place,
                    bool sends)
{
    const struct link *link = &world->links[index];
    const bool *known = sends ? link->ways[side].sends_known : link->ways[1 - side].takes_known;

    for (uint32_t i = 0; i < world->actor_count; i++) {
        const struct actor *other = &world->actors[i];
        if (other->link != index || other->side != side || other->sending != sends)
            continue;
        if (link->kind == PATH_TCP)
            continue;
        if (!world->concurrent || !known[place] || !known[other->place])
            return false;
    }
    return true;
}

static void begin_send(struct world *world, struct actor *actor, uint32_t index, unsigned side,
                       unsigned place)
{
    struct link *link = &world->links[index];
    struct way *way = &link->ways[side];
    uint32_t bytes = pick(world, 10) == 0 ? 1 + pick(world, 2000) : 1 + pick(world, 60);

    if (!may_use(world, index, side, place, true) ||
        (datagrams(link) && (way->queued >= 40 || way->end - way->first >= 40)))
        return;
    if (datagrams(link))
        bytes = pick(world, 100);
    actor->link = index;
    actor->side = side;
    actor->place = place;
    actor->sending = true;
    actor->call = new_call(world, actor, bytes);
    world->calls[actor->call].way = way->number;
    world->calls[actor->call].group = begin_call(world, &way->sending);
    note_user(&world->users[way->number].sender, actor->number);
    actor->left = bytes;
    actor->put = actor->done = actor->told = 0;
    actor->has_put = false;
    actor->begun = world->time;
    meet_others(world, actor);
    if (datagrams(link))
        send_datagram(world, actor, link);
}

/* ---- receiving ---- */

static enum sure how_sure(const struct world *world, const struct link *link)
{
    if (link->kind == PATH_TCP || (link->kind == PATH_UDP && !is_remote_udp(world, link)))
        return SURE_POSITION;
    if (link->kind == PATH_UDP)
        return SURE_NOTHING;
    return is_unix(link) && world->crowded ? SURE_UNIX : SURE_SENDER;
}

static bool tell_receive(struct world *world, struct actor *actor, const struct link *link,
                         unsigned side, uint32_t offset, uint32_t bytes, struct truth *truth)
{
    struct record record = message(EVENT_RECEIVE, link->sides[side].path, offset, bytes);

    record.header.flags = RECORD_CALL_IMPLIED;
    truth->is_udp = link->kind == PATH_UDP;
    truth->way = link->ways[1 - side].number;
    truth->sure = (uint8_t)how_sure(world, link);
    truth->whole = tells_whole_calls(world, link);
    truth->after_gap = world->users[truth->way].take_lost;
    world->users[truth->way].take_lost = !tell(world, actor, record, truth);
    return !world->users[truth->way].take_lost;
}

static void receive(struct world *world, struct actor *actor, uint32_t index, unsigned side,
                    unsigned place)
{
    struct link *link = &world->links[index];
    struct way *way = &link->ways[1 - side];
    struct truth truth;

    if (way->first == way->end || !may_use(world, index, side, place, false))
        return;
    if (is_remote_udp(world, link) && way->end - way->first > 2 && pick(world, 4) == 0) {
        uint32_t other = way->first + 1 + pick(world, 2); /* one overtakes */
        struct piece piece = way->queue[other];
        uint32_t number = way->numbers[other];
        way->queue[other] = way->queue[way->first];
        way->numbers[other] = way->numbers[way->first];
        way->queue[way->first] = piece;
        way->numbers[way->first] = number;
    }
    uint32_t number = way->numbers[way->first];
    uint32_t bytes =
        dequeue(world, link, way, pick(world, 3) == 0 ? 1 + pick(world, 40) : 500, &truth);
    uint32_t length = datagrams(link) ? 1 : bytes;
    note_user(&world->users[way->number].taker, actor->number);
    truth.group = is_pipe(link) ? begin_call(world, &way->taking) : new_group(world);
    if (is_pipe(link)) {
        actor->link = index;
        actor->side = side;
        actor->place = place;
        actor->sending = false;
        actor->taken = truth;
        actor->taken_bytes = bytes;
        world->time++;
        return;
    }
    uint32_t offset = way->in;
    way->in += length;
    if (link->kind == PATH_UDP)
        offset = number;
    way->takes_known[place] = true;
    tell_receive(world, actor, link, side, offset, bytes, &truth);
}

static void end_receive(struct world *world, struct actor *actor)
{
    struct link *link = &world->links[actor->link];
    struct way *way = &link->ways[1 - actor->side];
    uint32_t offset = way->counted_in;

    way->counted_in += datagrams(link) ? 1 : actor->taken_bytes;
    if (tell_receive(world, actor, link, actor->side, offset, actor->taken_bytes, &actor->taken))
        way->takes_known[actor->place] = true;
    end_call(&way->taking);
    actor->link = NOBODY;
}

/* An unmonitored process sends and takes without records, and not while others do. */
static void use_unmetered(struct world *world, uint32_t index, unsigned side)
{
    struct link *link = &world->links[index];
    struct way *out = &link->ways[side];
    struct way *in = &link->ways[1 - side];
    struct truth ignored;

    if (pick(world, 2) == 0 && out->queued < 40 && !(is_pipe(link) && side == 1)) {
        uint32_t bytes = 1 + pick(world, 50);
        note_user(&world->users[out->number].sender, SEVERAL);
        out->out += link->kind == PATH_UDP ? 1 : 0;
        enqueue(link, out, NOBODY, bytes, out->out);
        if (link->kind != PATH_UDP)
            out->out += datagrams(link) ? 1 : bytes;
    } else if (in->first < in->end) {
        uint32_t bytes = dequeue(world, link, in, 500, &ignored);
        note_user(&world->users[in->number].taker, SEVERAL);
        in->in += datagrams(link) ? 1 : bytes;
        in->counted_in += datagrams(link) ? 1 : bytes;
    }
}

/* ---- links ---- */

static void tell_path(struct world *world, const struct link *link, unsigned side, bool older,
                      uint16_t ports[2], uint64_t cookies[2])
{
    const struct side *mine = &link->sides[side];
    const struct side *other = &link->sides[1 - side];
    struct tape *tape = &world->tapes[mine->origin];
    uint64_t time = clock_of(world, mine->origin);
    struct path_record *path;

    if (link->kind == PATH_TCP || link->kind == PATH_UDP)
        path = add_internet(tape, time, mine->path, link->kind, world->machines[mine->origin],
                            ports[side], other->metered ? world->machines[other->origin] : 200,
                            ports[1 - side]);
    else
        path = add_unix(tape, time, mine->path, link->kind, cookies[side],
                        pick(world, 4) == 0 && other->metered && side == 0 &&
                                link->kind != PATH_UNIX_DATAGRAM
                            ? 0
                            : cookies[1 - side]);
    if (link->kind != PATH_UDP) {
        path->start_out = link->kind == PATH_TCP ? link->ways[side].written : link->ways[side].out;
        path->start_in = link->ways[1 - side].in;
    }
    if (older)
        path->header.flags |= RECORD_OLDER;
}

static uint32_t choose_actor(struct world *world, uint32_t origin)
{
    for (;;) {
        uint32_t index = pick(world, world->actor_count);
        if (world->actors[index].origin == origin)
            return index;
    }
}

/* Seeds are older than message queues. */
static bool has_queues = true;

static void open_link(struct world *world, struct link *link)
{
    static const uint8_t kinds[] = {
        PATH_TCP,  PATH_TCP,           PATH_UNIX_STREAM, PATH_UNIX_SEQPACKET, PATH_PIPE,
        PATH_FIFO, PATH_UNIX_DATAGRAM, PATH_UDP,         PATH_MQ_SYSV,        PATH_MQ_POSIX};
    uint16_t ports[2] = {(uint16_t)(1000 + pick(world, 60000)), (uint16_t)(1 + pick(world, 900))};
    uint64_t cookies[2] = {world->cookies + 1, world->cookies + 2};
    bool older;

    tick(world);
    world->cookies += 2;
    memset(link, 0, sizeof(*link));
    link->open = true;
    link->kind = kinds[pick(world, has_queues ? ARRAY_SIZE(kinds) : ARRAY_SIZE(kinds) - 2)];
    uint32_t origin = pick(world, world->origin_count);
    uint32_t other = pick(world, world->origin_count);
    while (link->kind != PATH_TCP && link->kind != PATH_UDP &&
           world->machines[other] != world->machines[origin])
        other = pick(world, world->origin_count);
    if (is_pipe(link)) { /* each recording numbers its pipes itself */
        other = origin;
        cookies[0] = ++world->pipe_ends[origin];
        cookies[1] = ++world->pipe_ends[origin];
    }
    older = (link->kind == PATH_TCP || link->kind == PATH_UNIX_STREAM) && pick(world, 4) == 0;
    unsigned unmetered = link->kind != PATH_UDP && pick(world, 5) == 0 ? pick(world, 2) : 2;
    for (unsigned side = 0; side < 2; side++) {
        struct side *mine = &link->sides[side];
        struct way *way = &link->ways[side];
        new_way(world, way);
        mine->origin = side == 0 ? origin : other;
        mine->metered = side != unmetered;
        mine->path = mine->metered ? ++world->next_path[mine->origin] : 0;
        uint32_t sharers =
            world->crowded || pick(world, 3) == 0 ? 1 + pick(world, MOST_SHARERS) : 1;
        while (mine->stream_count < sharers) {
            uint32_t actor = choose_actor(world, mine->origin);
            bool twice = false;
            for (uint32_t i = 0; i < mine->stream_count; i++)
                twice = twice || mine->streams[i] == actor;
            if (twice)
                break;
            mine->streams[mine->stream_count++] = actor;
        }
        if (link->kind == PATH_TCP)
            way->written = way->in = 0u - 500u + pick(world, 1000) + 1;
        else if (link->kind == PATH_UDP)
            way->out = pick(world, 65536);
        else if (!datagrams(link) && pick(world, 3) == 0)
            way->out = way->in = way->counted_in = 0u - pick(world, 500); /* wraps around */
        if (older && pick(world, 2) == 0) {
            uint32_t bytes = 1 + pick(world, 50);
            enqueue(link, way, NOBODY, bytes, 0);
            note_user(&world->users[way->number].sender, SEVERAL);
            way->out += link->kind == PATH_TCP ? 0 : bytes;
        }
    }
    for (unsigned side = 0; side < 2; side++)
        if (link->sides[side].metered)
            tell_path(world, link, side, older, ports, cookies);
}

static void close_link(struct world *world, uint32_t index)
{
    struct link *link = &world->links[index];
    unsigned first = pick(world, 2);

    for (uint32_t i = 0; i < world->actor_count; i++)
        if (world->actors[i].link == index)
            return;
    link->open = false;
    for (unsigned i = 0; i < 2; i++) {
        const struct side *side = &link->sides[first ^ i];
        struct record record = message(EVENT_DESTROYPATH, side->path, 0, 0);
        if (!side->metered)
            continue;
        tick(world);
        record.header.flags = RECORD_NO_STREAM;
        record.header.time = clock_of(world, side->origin);
        tape_add(&world->tapes[side->origin], &record);
    }
}

/* ---- living ---- */

static bool in_pipe_receive(const struct actor *actor)
{
    return actor->link != NOBODY && !actor->sending;
}

static void use_link(struct world *world, uint32_t index)
{
    struct link *link = &world->links[index];
    unsigned side = pick(world, 2);
    const struct side *mine = &link->sides[side];
    unsigned place = pick(world, mine->stream_count);
    struct actor *actor = &world->actors[mine->streams[place]];

    if (!mine->metered) {
        use_unmetered(world, index, side);
        return;
    }
    if (actor->link != NOBODY)
        return;
    bool sends = is_pipe(link) ? side == 0 : pick(world, 2) == 0;
    if (sends)
        begin_send(world, actor, index, side, place);
    else
        receive(world, actor, index, side, place);
}

/* No stream is on a CPU in a call for long: one in the middle of a call leaves the CPU. */
static void pass_time(struct world *world)
{
    for (uint32_t i = 0; i < world->actor_count; i++) {
        struct actor *actor = &world->actors[i];
        if (in_pipe_receive(actor))
            end_receive(world, actor);
        else if (actor->link != NOBODY && actor->left == 0)
            end_send(world, actor);
        else if (actor->link != NOBODY)
            tell_sendcall(world, actor);
    }
    world->time += pick(world, 3) * SECOND;
}

static void step(struct world *world)
{
    uint32_t index = pick(world, world->crowded ? CROWDED_LINKS : MOST_LINKS);
    struct actor *actor = &world->actors[pick(world, world->actor_count)];

    switch (pick(world, 40)) {
    case 0:
        if (!world->links[index].open)
            open_link(world, &world->links[index]);
        else if (pick(world, 6) == 0)
            close_link(world, index);
        break;
    case 1:
        if (pick(world, 10) == 0)
            pass_time(world);
        break;
    case 2:
        if (actor->link == NOBODY)
            tell(world, actor, (struct record){.header.id = EVENT_CREATEPATH}, NULL);
        break;
    default:
        if (in_pipe_receive(actor))
            end_receive(world, actor);
        else if (actor->link != NOBODY)
            go_on_sending(world, actor);
        else if (world->links[index].open)
            use_link(world, index);
    }
}

static void world_new(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof(*world));
    world->seed = seed;
    world->origin_count = 1 + pick(world, 4);
    world->concurrent = pick(world, 2);
    for (uint32_t i = 0; i < world->origin_count; i++) {
        world->machines[i] = (uint8_t)(1 + pick(world, 3));
        uint32_t same = 0;
        while (same < i && world->machines[same] != world->machines[i])
            same++;
        world->skews[i] = same < i ? world->skews[same] : 10 * SECOND + pick(world, 36000) * SECOND;
        tape_init(&world->tapes[i]);
        world->tapes[i].wall_offset = (int64_t)(pick(world, 7200) * SECOND);
        add_machine(&world->tapes[i], clock_of(world, i), world->machines[i], METER_EVENT_FLAGS);
    }
    world->actor_count = world->origin_count * (1 + pick(world, 3));
    for (uint32_t i = 0; i < world->actor_count; i++) {
        struct actor *actor = &world->actors[i];
        *actor = (struct actor){.origin = i % world->origin_count,
                                .number = 1 + i,
                                .sequence = 0u - pick(world, 100),
                                .cpu = (1ULL << 48) - pick(world, 5000),
                                .link = NOBODY};
        add_stream(&world->tapes[actor->origin], clock_of(world, actor->origin), actor->number,
                   actor->number, 0);
    }
}

static void world_live(struct world *world, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++)
        step(world);
    for (uint32_t rounds = 0; rounds < (world->crowded ? 300 : 5000); rounds++) {
        for (uint32_t i = 0; i < world->actor_count; i++)
            if (in_pipe_receive(&world->actors[i]))
                end_receive(world, &world->actors[i]);
            else if (world->actors[i].link != NOBODY)
                go_on_sending(world, &world->actors[i]);
        for (uint32_t i = 0; i < MOST_LINKS; i++)
            if (world->links[i].open)
                for (unsigned side = 0; side < 2; side++) {
                    const struct side *mine = &world->links[i].sides[side];
                    if (!mine->metered)
                        use_unmetered(world, i, side);
                    else if (world->actors[mine->streams[0]].link == NOBODY)
                        receive(world, &world->actors[mine->streams[0]], i, side, 0);
                }
    }
    for (uint32_t i = 0; i < world->actor_count; i++) {
        if (world->actors[i].link != NOBODY)
            continue;
        tell(world, &world->actors[i],
             (struct record){.header.id = EVENT_TERMINATION, .termination.last = 1}, NULL);
    }
}

static void world_done(struct world *world)
{
    for (uint32_t i = 0; i < world->origin_count; i++) {
        tape_done(&world->tapes[i]);
        free(world->truth_of[i]);
    }
    free(world->calls);
    free(world->pieces);
    free(world->truths);
    free(world->users);
    free(world->groups);
}

/* ---- comparing ---- */

struct seen {
    uint32_t origin;
    uint32_t index; /* in the tape */
};

struct check {
    struct history *history;
    struct world *world;
    uint64_t seed;
    bool lossless;
    bool discards;                /* nothing was lost, but records were removed by a selection */
    uint32_t tapes[MOST_SOURCES]; /* by the history's number of the origin */
    bool *handed[MOST_SOURCES];
    uint32_t last[MOST_STREAMS + 1];
    bool began[MOST_STREAMS + 1];
    struct seen *seen; /* by number */
    size_t seen_capacity;
    uint64_t count;
    uint64_t exact;
    bool selected[MOST_SOURCES]; /* DISCARDED was handed out */
    uint64_t complete;           /* pieces that had to have an edge */
    bool *received;              /* by call, for datagrams: which may be duplicated */
};

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("DPM_SEED=%" PRIu64 ": event %" PRIu64 ": %s", check->seed, check->count,     \
                     #condition);                                                                  \
    } while (0)

static uint32_t call_of_edge(struct check *check, const struct history_edge *edge)
{
    CHECK(edge->number < check->count);
    const struct seen *seen = &check->seen[edge->number];
    const struct record *record =
        (const struct record *)check->world->tapes[seen->origin].records[seen->index];
    CHECK(seen->origin == check->tapes[edge->origin]);
    CHECK(record->header.id == EVENT_SEND || record->header.id == EVENT_SENDCALL);
    CHECK(record->header.stream == edge->stream && record->header.sequence == edge->sequence);
    CHECK(record->message.path == edge->path);
    CHECK(edge->time == record->header.time - message_span(record));
    uint32_t truth = check->world->truth_of[seen->origin][seen->index];
    CHECK(truth != 0);
    return check->world->truths[truth - 1].call;
}

static uint32_t true_bytes(const struct world *world, const struct truth *truth, uint32_t call)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < truth->piece_count; i++)
        if (world->pieces[truth->first_piece + i].call == call)
            bytes += world->pieces[truth->first_piece + i].bytes;
    return bytes;
}

static bool takes_of(const struct world *world, const struct truth *truth, uint32_t call)
{
    for (uint32_t i = 0; i < truth->piece_count; i++)
        if (world->pieces[truth->first_piece + i].call == call)
            return true;
    return false;
}

/* Whether everything that the sender of these bytes recorded is known to the history. Positions that are counted
 * when calls end are only as good as the records of the calls that overlapped. A stream whose sends were all lost so
 * far is taken for an unmonitored one until its next record: its first RECEIVE does not wait for it. */
static bool is_told(const struct world *world, const struct truth *truth, uint32_t call)
{
    if (world->calls[call].lost || world->calls[call].after_silence)
        return false;
    return truth->sure == SURE_POSITION || truth->sure == SURE_NOTHING ||
           (!world->groups[world->calls[call].group].lost && !world->groups[truth->group].lost);
}

/* The one exception to the rule that exact edges are never wrong: on a pipe, if a record of a call was lost, nothing
 * shows that other calls overlapped with it. */
static bool is_excepted(const struct world *world, const struct truth *truth, uint32_t call)
{
    return truth->sure == SURE_SENDER &&
           (world->groups[world->calls[call].group].lost || world->groups[truth->group].lost);
}

/* Matching recovers right after a gap: bytes of a completely recorded message have an edge from it, whatever was
 * lost before. */
static void check_complete(struct check *check, const struct history_event *event,
                           const struct truth *truth)
{
    const struct world *world = check->world;

    for (uint32_t i = 0; i < truth->piece_count; i++) {
        bool found = false;
        uint32_t call = world->pieces[truth->first_piece + i].call;
        if (call == NOBODY || !is_told(world, truth, call))
            continue;
        for (uint32_t k = 0; k < event->edge_count; k++)
            found = found || call_of_edge(check, &event->edges[k]) == call;
        CHECK(found);
        check->complete++;
    }
}

/* Edges of TCP, of datagrams on one machine and of paths with one sender (pipes: and one receiver) are exact, if no
 * record of the received bytes is lost. So are those of pipes with several senders whose calls do not overlap, if the
 * meter sees when they begin, and loses nothing. The exception: a stream with a lost RECEIVE of the preceding bytes may have
 * received at the same time. */
static void check_exact(struct check *check, const struct history_event *event,
                        const struct truth *truth)
{
    const struct world *world = check->world;
    const struct users *users = &world->users[truth->way];
    bool alone = (users->sender < SEVERAL || (truth->whole && check->lossless)) &&
                 users->taker < SEVERAL && !truth->after_gap;

    if (truth->sure == SURE_NOTHING || (truth->sure != SURE_POSITION && !alone))
        return;
    for (uint32_t i = 0; i < truth->piece_count; i++) {
        uint32_t call = world->pieces[truth->first_piece + i].call;
        if (call != NOBODY && !is_told(world, truth, call))
            return;
        if (call != NOBODY && users->sender == SEVERAL && truth->sure == SURE_SENDER &&
            world->groups[world->calls[call].group].several)
            return;
    }
    for (uint32_t i = 0; i < event->edge_count; i++)
        /* of the bytes of several calls in progress any may be first */
        if (users->sender != SEVERAL || event->edges[i].id == EVENT_SEND)
            CHECK(event->edges[i].kind == EDGE_EXACT);
}

/* With losses, streams may wait for each other if the true sender is unknown: then one of them continues without it. */
static bool has_stalled(const struct check *check)
{
    struct history_counts counts;

    history_counts(check->history, &counts);
    return counts.stalls > 0;
}

/* Records removed by a selection are not taken for lost, once the selection is known. */
static void check_reason(struct check *check, const struct truth *truth)
{
    const struct world *world = check->world;

    for (uint32_t i = 0; i < truth->piece_count; i++) {
        uint32_t call = world->pieces[truth->first_piece + i].call;
        CHECK(call == NOBODY || !world->calls[call].lost ||
              !check->selected[world->calls[call].origin]);
    }
}

static void check_receive(struct check *check, const struct history_event *event,
                          const struct truth *truth)
{
    const struct world *world = check->world;
    const struct record *record = (const struct record *)event->event.header;
    uint32_t unknown = true_bytes(world, truth, NOBODY);
    uint64_t sum = 0;
    bool all_exact = true;

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        uint32_t call = call_of_edge(check, edge);
        sum += edge->bytes;
        all_exact = all_exact && edge->kind == EDGE_EXACT;
        check->exact += edge->kind == EDGE_EXACT;
        if (edge->kind != EDGE_EXACT || is_excepted(world, truth, call))
            continue;
        CHECK(takes_of(world, truth, call));
        uint64_t of_call = 0;
        for (uint32_t k = 0; k < event->edge_count; k++)
            if (event->edges[k].kind == EDGE_EXACT && call_of_edge(check, &event->edges[k]) == call)
                of_call += event->edges[k].bytes;
        CHECK(of_call <= true_bytes(world, truth, call));
    }
    if (all_exact && (check->lossless || truth->sure != SURE_SENDER))
        CHECK(sum + event->rest_bytes == record->message.bytes || event->rest_bytes > 0);
    bool duplicate = false;
    if (truth->is_udp && truth->piece_count == 1) {
        uint32_t call = world->pieces[truth->first_piece].call;
        duplicate = call != NOBODY && check->received[call];
        if (call != NOBODY)
            check->received[call] = true;
    }
    check_exact(check, event, truth);
    if (!duplicate && !has_stalled(check))
        check_complete(check, event, truth);
    if (check->discards && event->rest == REST_UNMATCHED && !has_stalled(check))
        check_reason(check, truth);
    if (!check->lossless)
        return;
    CHECK(event->rest_bytes == unknown || duplicate);
    CHECK(event->rest == (unknown > 0 ? REST_EXTERNAL : REST_NONE) || duplicate);
}

static uint32_t find_record(struct check *check, const struct history_event *event)
{
    uint32_t origin = check->tapes[event->event.origin];
    const struct tape *tape = &check->world->tapes[origin];
    const struct record_header *header = event->event.header;

    for (uint32_t i = 0; i < tape->at; i++)
        if (!check->handed[origin][i] && tape->records[i]->id == header->id &&
            memcmp(tape->records[i], header, event_size(header->id)) == 0)
            return i;
    CHECK(!"handed out what was not recorded, or twice");
    return 0;
}

static void check_event(struct check *check, const struct history_event *event)
{
    const struct record_header *header = event->event.header;
    uint32_t origin = check->tapes[event->event.origin];
    uint32_t index = find_record(check, event);

    CHECK(event->number == check->count);
    if (header->id == EVENT_DISCARDED)
        check->selected[origin] = true;
    for (uint32_t i = 0; i < event->edge_count; i++)
        CHECK(event->edges[i].value != NULL &&
              memcmp(event->edges[i].value, &event->edges[i].number, sizeof(uint64_t)) == 0);
    if (event->value != NULL)
        memcpy(event->value, &event->number, sizeof(uint64_t));
    check->handed[origin][index] = true;
    assert_int_equal(
        array_reserve(&check->seen, &check->seen_capacity, check->count + 1, sizeof(*check->seen)),
        0);
    check->seen[check->count] = (struct seen){origin, index};
    if (!(header->flags & RECORD_NO_STREAM) && header->id != EVENT_LOST &&
        header->id != EVENT_DISCARDED && header->stream != 0) {
        uint32_t stream = header->stream;
        CHECK(!check->began[stream] || (int32_t)(header->sequence - check->last[stream]) > 0);
        check->began[stream] = true;
        check->last[stream] = header->sequence;
    }
    if (header->id == EVENT_RECEIVE && check->world->truth_of[origin] != NULL &&
        index < check->world->truth_of_capacity[origin] &&
        check->world->truth_of[origin][index] != 0)
        check_receive(check, event,
                      &check->world->truths[check->world->truth_of[origin][index] - 1]);
    check->count++;
}

static bool has_remote_udp(const struct world *world)
{
    return world->origin_count > 1;
}

/* The sources may be given in any order. */
static void compare(struct world *world, uint64_t seed, bool lossless, uint64_t *patience,
                    bool reversed)
{
    struct check checked = {
        .world = world,
        .seed = seed,
        .lossless = lossless,
        .discards = world->discards > 0 && world->lost == 0,
    };
    struct check *check = &checked;
    struct source *sources[MOST_SOURCES];
    struct history_counts counts;
    struct history_event event;
    struct history *history;
    struct problem problem;
    uint64_t total = 0;
    uint64_t pauses = 0;
    int result;

    checked.received = calloc(world->call_count + 1, 1);
    for (uint32_t i = 0; i < world->origin_count; i++) {
        world->tapes[i].at = 0;
        world->tapes[i].patience = patience;
        checked.tapes[i] = reversed ? world->origin_count - 1 - i : i;
        sources[i] = &world->tapes[checked.tapes[i]].source;
        total += world->tapes[i].count;
        checked.handed[i] = calloc(world->tapes[i].count + 1, 1);
    }
    /* some join later, though before the first event is asked for */
    uint32_t begun = 1 + (uint32_t)(seed % world->origin_count);
    assert_int_equal(history_new(sources, begun, &history, &problem), 0);
    for (uint32_t i = begun; i < world->origin_count; i++)
        assert_int_equal(history_add(history, sources[i], &problem), 0);
    checked.history = history;
    history_keep_values(history, sizeof(uint64_t), METER_EVENT_FLAGS);
    history_find_rooms(history);
    while ((result = history_next(history, &event, &problem)) != SOURCE_END) {
        CHECK(result > 0);
        if (result == SOURCE_NONE_YET)
            CHECK(patience != NULL && ++pauses < 100 * total + 1000);
        else
            check_event(&checked, &event);
    }
    CHECK(checked.count == total);
    history_counts(history, &counts);
    CHECK(counts.events == total);
    CHECK(counts.exact == checked.exact);
    CHECK(counts.lost <= world->lost);
    CHECK(counts.discarded <= world->discarded);
    world->stalled = world->stalled || counts.stalls > 0;
    if (lossless) {
        CHECK(counts.stalls == 0);
        if (!has_remote_udp(world))
            CHECK(counts.unmatched_receives == 0);
    }
    history_free(history);
    for (uint32_t i = 0; i < world->origin_count; i++)
        free(checked.handed[i]);
    free(checked.seen);
    free(checked.received);
}

/* What a world is like, apart from its seed. */
struct shape {
    bool loses;
    bool discards;
    bool crowded;
};

/* Returns whether it has stalled. */
static bool live_and_compare(uint64_t seed, uint32_t steps, struct shape shape)
{
    struct world *world = malloc(sizeof(*world));
    bool lossless = !shape.loses && !shape.discards;
    uint64_t patience = seed;

    assert_non_null(world);
    world_new(world, seed);
    world->crowded = shape.crowded;
    world->whole = seed % 2 == 0;
    if (shape.loses)
        world->loss = 1 + pick(world, 100);
    if (shape.discards)
        world->discards = 1 + pick(world, 300);
    world_live(world, steps);
    compare(world, seed, lossless, NULL, false);
    compare(world, seed, lossless, NULL, true);
    compare(world, seed, lossless, &patience, false);
    bool stalled = world->stalled;
    world_done(world);
    free(world);
    return stalled;
}

/* How many worlds of a shape: the default, or DPM_ROUNDS from the environment. */
static uint32_t rounds_of_test(uint32_t usual)
{
    const char *given = getenv("DPM_ROUNDS");

    return given == NULL ? (uint32_t)rounds_of_run(usual) : (uint32_t)strtoul(given, NULL, 0);
}

static uint32_t steps_of(uint64_t seed)
{
    return 200 + 8 * ((uint32_t)seed % 100);
}

/* Seeds that once found faults. */
static void what_was_wrong_once(void **state)
{
    static const uint64_t seeds[] = {1004917,
                                     5011395,
                                     5007472,
                                     1795310963700154846,
                                     1795311012364108547,
                                     1795311089616782845,
                                     1795311152884186261,
                                     1795311222824587931,
                                     1795311295023708484};

    (void)state;
    has_queues = false;
    for (size_t i = 0; i < ARRAY_SIZE(seeds); i++)
        live_and_compare(seeds[i], steps_of(seeds[i]), (struct shape){0});
    live_and_compare(1005096, steps_of(1005096), (struct shape){.loses = true});
    live_and_compare(20002191, steps_of(20002191), (struct shape){.loses = true});
    /* RECEIVEs were read before their SEND: a stream with a lost first SEND was taken for an unmonitored one
     * (201489, 265); by another machine's clock, a much earlier loss was taken for the loss of this SEND (5174) */
    live_and_compare(201489, steps_of(201489), (struct shape){.loses = true});
    live_and_compare(265, steps_of(265), (struct shape){.discards = true, .crowded = true});
    live_and_compare(265, steps_of(265),
                     (struct shape){.loses = true, .discards = true, .crowded = true});
    live_and_compare(5174, steps_of(5174), (struct shape){.loses = true});
    /* once ended calls had its positions, a call in progress was credited with less than its SENDCALL recorded */
    live_and_compare(1001695, steps_of(1001695), (struct shape){.crowded = true});
    live_and_compare(1795514980526116753, steps_of(1795514980526116753),
                     (struct shape){.loses = true, .crowded = true});
    /* a SENDCALL shows how much was counted before its call, whatever records of the call were lost (30176298,
     * 30280234), and that a metered stream sends there (20206722) */
    live_and_compare(30176298, steps_of(30176298), (struct shape){.loses = true, .crowded = true});
    live_and_compare(30280234, steps_of(30280234), (struct shape){.loses = true, .crowded = true});
    live_and_compare(20206722, steps_of(20206722), (struct shape){.loses = true, .crowded = true});
    /* a call of more than 4.29 s was taken to have begun before any RECEIVE: streams waited for each other */
    live_and_compare(20146657, steps_of(20146657), (struct shape){.crowded = true});
    /* a send longer ago than its span could express was taken to be 4.29 s ago, and clocks were wrong by the rest */
    live_and_compare(1238399, steps_of(1238399), (struct shape){.loses = true, .crowded = true});
    live_and_compare(157972899916246, steps_of(157972899916246),
                     (struct shape){.loses = true, .discards = true, .crowded = true});
    /* lost records were reported after a RECEIVE had been taken for one from an unmonitored peer */
    live_and_compare(1647152000639, steps_of(1647152000639), (struct shape){.loses = true});
    /* unrecorded bytes made an exact edge longer */
    live_and_compare(67647184287394124, steps_of(67647184287394124),
                     (struct shape){.discards = true, .crowded = true});
    /* a RECEIVE had neither edges nor unmatched bytes */
    live_and_compare(100098, steps_of(100098), (struct shape){.discards = true, .crowded = true});
    has_queues = true;
}

static void agree(const char *what, uint32_t rounds, struct shape shape)
{
    uint64_t seed = seed_of_run(what);

    uint32_t stalled = 0;

    rounds = rounds_of_test(rounds);
    for (uint32_t round = 0; round < rounds; round++)
        stalled += live_and_compare(seed + round, steps_of(seed + round), shape);
    /* A stalled world is not checked as closely. One world of 2000 stalls if records are lost in it: those that
     * would have related two clocks, and a SEND. Two of 50 worlds are chance (one run of 3000), three are not. */
    assert_true(stalled <= 2 + rounds / 100);
}

static void agrees_with_the_truth(void **state)
{
    (void)state;
    agree("history", 100, (struct shape){0});
    agree("crowded", 200, (struct shape){.crowded = true});
}

static void recovers_after_losses(void **state)
{
    (void)state;
    agree("losses", 50, (struct shape){.loses = true});
    agree("crowded losses", 400, (struct shape){.loses = true, .crowded = true});
}

static void selections_are_no_losses(void **state)
{
    (void)state;
    agree("discards", 200, (struct shape){.discards = true, .crowded = true});
    agree("losses and discards", 200,
          (struct shape){.loses = true, .discards = true, .crowded = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_wrong_once),
        cmocka_unit_test(agrees_with_the_truth),
        cmocka_unit_test(recovers_after_losses),
        cmocka_unit_test(selections_are_no_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
