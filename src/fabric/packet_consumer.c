/* SPDX-License-Identifier: MIT */
/*
 * packet_consumer.c: packets, out of the stream dpm-SESSION-packets.
 *
 *      stream     0 1 2 4 5 3 4       3 was lost with a connection; 4 was sent again
 *      caller     0 1 2 3 4 5         4 and 5 wait until 3 has come; the second 4 is dropped
 *
 * Of each part of each trace the last place that the caller has stored is kept. A packet names its predecessor: when that is
 * not stored yet, the packet is early, and held. Too many held ones go back to the server for a while.
 */
#include "fabric/fabric_internal.h"
#include "fabric/fabric_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH        32u
#define EXPIRES_MS   5000u /* a request for a batch, at the server */
#define HELD_MOST    256u
#define PENDING_MOST 8192u /* not acknowledged, at the server */
#define PARTS_MOST   65536u
#define AGAIN_MS     30000
#define FLUSH_MS     5000
#define BACK_MS      2000u /* what the caller could not store, and what cannot be held */

struct early {
    struct early *next;
    natsMsg *message;
    struct fabric_place place, after;
    bool has_after;
    uint64_t sequence;
};

/* A part of a trace. */
struct stored_part {
    struct fabric_place last;
    bool has_last;
    struct fabric_place first; /* that the caller got while nothing was stored */
    bool has_first;
    struct early *early; /* by place */
};

struct fabric_consumer {
    struct fabric *fabric;
    char durable[FABRIC_NAME_MOST + 1];
    char inbox[FABRIC_SUBJECT_SIZE];
    natsSubscription *subscription;
    unsigned outstanding; /* messages that the server may still send without another request */
    uint64_t outstanding_until;
    uint64_t reconnections;
    struct intern keys;
    struct stored_part *parts; /* by index of the key */
    size_t capacity;
    unsigned held;
    int64_t ready; /* the part that may have an early packet to go on with; -1: none */
    struct fabric_consumer_state state;
    /* the packet that the caller has */
    struct address address;
    int64_t current;
    struct fabric_place place;
};

/* ---- the server's interface ---- */

static int api(struct fabric_consumer *consumer, const char *operation, const char *body,
               json_t **ret_answer, struct problem *problem)
{
    char subject[FABRIC_SUBJECT_SIZE];

    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.%s.%s.%s", operation,
             consumer->fabric->streams[STREAM_PACKETS], consumer->durable);
    return fabric_ask(consumer->fabric, consumer->durable, subject, body, ret_answer, problem);
}

/* Returns how many messages an earlier one of this name has got and not acknowledged, or a negative errno. */
static int64_t create(struct fabric_consumer *consumer, const char *machine, int again_ms,
                      struct problem *problem)
{
    char filter[FABRIC_SUBJECT_SIZE];
    json_t *answer = NULL;
    uint64_t wait = (uint64_t)(again_ms > 0 ? again_ms : AGAIN_MS) * MILLISECONDS;

    snprintf(filter, sizeof(filter), "dpm.%s.%s.packets.>", consumer->fabric->session,
             machine == NULL ? "*" : machine);
    json_t *request = json_pack("{ss, s{ss, ss, ss, sI, ss, si, ss}}", "stream_name",
                                consumer->fabric->streams[STREAM_PACKETS], "config", "durable_name",
                                consumer->durable, "deliver_policy", "all", "ack_policy",
                                "explicit", "ack_wait", (json_int_t)wait, "filter_subject", filter,
                                "max_ack_pending", (int)PENDING_MOST, "replay_policy", "instant");
    char *body = request == NULL ? NULL : json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (body == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int error = api(consumer, "DURABLE.CREATE", body, &answer, problem);
    free(body);
    if (error == -ENOENT) /* the stream */
        problem_set(problem, error, "there is no session '%s' at %s", consumer->fabric->session,
                    consumer->fabric->where);
    if (error != 0)
        return error;
    int64_t pending = json_integer_value(json_object_get(answer, "num_ack_pending"));
    json_decref(answer);
    return pending;
}

/* What an earlier consumer of this name has got and not acknowledged would come again after a while, behind its successors;
 * of a part of which nothing is stored, the first that comes is taken for the beginning. So then the consumer is made anew,
 * and all comes again in order. */
static int create_in_order(struct fabric_consumer *consumer, const char *machine, int again_ms,
                           struct problem *problem)
{
    int64_t pending = create(consumer, machine, again_ms, problem);

    if (pending > 0) {
        pending = fabric_consumer_remove(consumer, problem);
        if (pending == 0)
            pending = create(consumer, machine, again_ms, problem);
    }
    return pending < 0 ? (int)pending : 0;
}

static uint64_t reconnections(struct fabric *fabric)
{
    pthread_mutex_lock(&fabric->lock);
    uint64_t count = fabric->reconnections;
    pthread_mutex_unlock(&fabric->lock);
    return count;
}

int fabric_consumer_new(struct fabric *fabric, const char *machine, const char *durable,
                        int again_ms, struct fabric_consumer **ret_consumer,
                        struct problem *problem)
{
    if (!fabric_name_valid(durable) || (machine != NULL && !fabric_name_valid(machine)))
        return problem_set(problem, -EINVAL, "%s: not a name of a consumer", durable);
    struct fabric_consumer *consumer = calloc(1, sizeof(*consumer));
    if (consumer == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    consumer->fabric = fabric;
    consumer->ready = consumer->current = -1;
    snprintf(consumer->durable, sizeof(consumer->durable), "%s", durable);
    snprintf(consumer->inbox, sizeof(consumer->inbox), "%s-c.%s", fabric->inbox, durable);
    int error = create_in_order(consumer, machine, again_ms, problem);
    if (error == 0) {
        natsStatus status = natsConnection_SubscribeSync(&consumer->subscription,
                                                         fabric->connection, consumer->inbox);
        if (status != NATS_OK)
            error = fabric_problem(problem, fabric_errno(status), durable, status);
    }
    consumer->reconnections = reconnections(fabric);
    if (error != 0) {
        fabric_consumer_free(consumer);
        return error;
    }
    *ret_consumer = consumer;
    return 0;
}

static void respond(struct fabric_consumer *consumer, natsMsg *message, const char *text)
{
    const char *reply = natsMsg_GetReply(message);

    if (reply != NULL) /* if that fails, it comes again */
        natsConnection_PublishString(consumer->fabric->connection, reply, text);
}

static void send_back(struct fabric_consumer *consumer, natsMsg *message, unsigned delay_ms)
{
    char text[64];

    snprintf(text, sizeof(text), "-NAK {\"delay\":%llu}", delay_ms * MILLISECONDS);
    respond(consumer, message, text);
    natsMsg_Destroy(message);
}

/* First the server stops sending, and then what has come is sent back: else it would come again to this subscription, for
 * the request for a batch still stands. libnats 3.4.1 looks a message's subscription up and then uses it without a
 * reference, so it is destroyed only when a ping was answered: then no message of it is being looked at. */
static void end_subscription(struct fabric_consumer *consumer)
{
    natsSubscription *subscription = consumer->subscription;
    natsMsg *message = NULL;

    if (subscription == NULL || natsSubscription_Drain(subscription) != NATS_OK ||
        natsConnection_FlushTimeout(consumer->fabric->connection, FLUSH_MS) != NATS_OK)
        return; /* no connection: it is never freed, and what has come comes again in its time */
    while (natsSubscription_NextMsg(&message, subscription, 1) == NATS_OK)
        send_back(consumer, message, 0);
    if (natsSubscription_WaitForDrainCompletion(subscription, FLUSH_MS) == NATS_OK)
        natsSubscription_Destroy(subscription);
}

void fabric_consumer_free(struct fabric_consumer *consumer)
{
    if (consumer == NULL)
        return;
    end_subscription(consumer);
    for (uint32_t i = 0; i < consumer->keys.count; i++)
        for (struct early *early; (early = consumer->parts[i].early) != NULL; free(early)) {
            consumer->parts[i].early = early->next;
            send_back(consumer, early->message, 0);
        }
    intern_done(&consumer->keys);
    free(consumer->parts);
    free(consumer);
}

int fabric_consumer_remove(struct fabric_consumer *consumer, struct problem *problem)
{
    json_t *answer = NULL;
    int error = api(consumer, "DELETE", NULL, &answer, problem);

    json_decref(error == 0 ? answer : NULL);
    return error;
}

int64_t fabric_consumer_left(struct fabric_consumer *consumer, struct problem *problem)
{
    json_t *answer = NULL;
    int error = api(consumer, "INFO", NULL, &answer, problem);

    if (error != 0)
        return error;
    int64_t left = json_integer_value(json_object_get(answer, "num_pending")) +
                   json_integer_value(json_object_get(answer, "num_ack_pending"));
    json_decref(answer);
    return left;
}

/* ---- what is stored ---- */

/* The index of the part, which is added if it is new; or a negative errno. */
static int64_t part_index(struct fabric_consumer *consumer, const char *machine,
                          const char *recording, enum fabric_part part, const uint8_t uuid[16])
{
    uint8_t number = (uint8_t)part;
    uint64_t key = hash_bytes(0, machine, strlen(machine) + 1);

    key = hash_bytes(key, recording, strlen(recording) + 1);
    key = hash_bytes(key, &number, sizeof(number));
    key = hash_bytes(key, uuid, 16);
    int64_t index = intern_find(&consumer->keys, key);
    if (index >= 0)
        return index;
    if (consumer->keys.count >= PARTS_MOST)
        return -E2BIG;
    if (array_reserve(&consumer->parts, &consumer->capacity, (size_t)consumer->keys.count + 1,
                      sizeof(*consumer->parts)) != 0)
        return -ENOMEM;
    return intern_add(&consumer->keys, key);
}

int fabric_consumer_has(struct fabric_consumer *consumer, const char *machine,
                        const char *recording, enum fabric_part part,
                        const struct fabric_place *place)
{
    int64_t index = part_index(consumer, machine, recording, part, place->uuid);

    if (index < 0)
        return (int)index;
    consumer->parts[index].last = *place;
    consumer->parts[index].has_last = true;
    return 0;
}

/* ---- packets ---- */

struct arrived_packet {
    natsMsg *message;
    struct address address;
    int64_t index;
    struct fabric_place place, after;
    bool has_after;
    uint64_t sequence;
};

static int malformed(struct fabric_consumer *consumer, natsMsg *message, const char *why)
{
    consumer->state.malformed++;
    snprintf(consumer->state.reason, sizeof(consumer->state.reason), "%.120s: %s",
             natsMsg_GetSubject(message), why);
    respond(consumer, message, "+TERM");
    natsMsg_Destroy(message);
    return 0;
}

static int read_headers(struct fabric_consumer *consumer, natsMsg *message,
                        struct arrived_packet *packet)
{
    const char *id, *after;
    enum fabric_part part;
    const char *reply = natsMsg_GetReply(message);

    if (address_parse(natsMsg_GetSubject(message), consumer->fabric->session, &packet->address) !=
            0 ||
        packet->address.kind != ADDRESS_PACKETS ||
        natsMsgHeader_Get(message, HEADER_ID, &id) != NATS_OK ||
        natsMsgHeader_Get(message, HEADER_AFTER, &after) != NATS_OK ||
        place_id_parse(id, &packet->place, &part) != 0 || part != packet->address.part ||
        reply == NULL ||
        sscanf(reply, "$JS.ACK.%*[^.].%*[^.].%*[^.].%" SCNu64, &packet->sequence) != 1)
        return -EPROTO;
    int has_after = place_parse(after, &packet->after);
    packet->has_after = has_after > 0;
    packet->message = message;
    return has_after < 0 ? -EPROTO : 0;
}

/* One that is held already: the same message, delivered again, or one that was sent and stored twice. */
static int hold_again(struct fabric_consumer *consumer, struct early *early,
                      const struct arrived_packet *packet)
{
    if (early->sequence == packet->sequence) {
        natsMsg_Destroy(early->message);
        early->message = packet->message;
        return 0;
    }
    consumer->state.doubles++;
    respond(consumer, packet->message, "+ACK");
    natsMsg_Destroy(packet->message);
    return 0;
}

/* Keeps it until its predecessor has come. */
static int hold(struct fabric_consumer *consumer, const struct arrived_packet *packet)
{
    struct early **link = &consumer->parts[packet->index].early;

    consumer->state.early++;
    while (*link != NULL && fabric_place_compare(&(*link)->place, &packet->place) < 0)
        link = &(*link)->next;
    if (*link != NULL && fabric_place_compare(&(*link)->place, &packet->place) == 0)
        return hold_again(consumer, *link, packet);
    struct early *early = consumer->held < HELD_MOST ? calloc(1, sizeof(*early)) : NULL;
    if (early == NULL) {
        send_back(consumer, packet->message, BACK_MS);
        return 0;
    }
    *early = (struct early){.next = *link,
                            .message = packet->message,
                            .place = packet->place,
                            .after = packet->after,
                            .has_after = packet->has_after,
                            .sequence = packet->sequence};
    *link = early;
    consumer->held++;
    return 0;
}

static int deliver(struct fabric_consumer *consumer, const struct arrived_packet *packet,
                   struct fabric_packet *ret_packet)
{
    consumer->address = packet->address;
    consumer->current = packet->index;
    consumer->place = packet->place;
    *ret_packet = (struct fabric_packet){
        .machine = consumer->address.machine,
        .recording = consumer->address.recording,
        .part = packet->address.part,
        .place = packet->place,
        .sequence = packet->sequence,
        .bytes = natsMsg_GetData(packet->message),
        .size = (size_t)natsMsg_GetDataLength(packet->message),
        .held = packet->message,
    };
    consumer->state.packets++;
    consumer->state.bytes += ret_packet->size;
    return 1;
}

static bool is_early(const struct stored_part *part, const struct fabric_place *place,
                     const struct fabric_place *after, bool has_after)
{
    if (part->has_last)
        return has_after && fabric_place_compare(after, &part->last) > 0;
    return part->has_first && fabric_place_compare(place, &part->first) > 0;
}

/* Takes over the message. Returns 1 if the caller is to get it. */
static int take_packet(struct fabric_consumer *consumer, natsMsg *message,
                       struct fabric_packet *ret_packet)
{
    struct arrived_packet packet;

    if (read_headers(consumer, message, &packet) != 0)
        return malformed(consumer, message, "the headers of a packet are missing or wrong");
    packet.index = part_index(consumer, packet.address.machine, packet.address.recording,
                              packet.address.part, packet.place.uuid);
    if (packet.index < 0)
        return malformed(consumer, message, "too many different traces");
    struct stored_part *part = &consumer->parts[packet.index];
    if (part->has_last && fabric_place_compare(&packet.place, &part->last) <= 0) {
        consumer->state.doubles++;
        respond(consumer, message, "+ACK");
        natsMsg_Destroy(message);
        return 0;
    }
    if (is_early(part, &packet.place, &packet.after, packet.has_after))
        return hold(consumer, &packet);
    if (!part->has_last) {
        part->first = packet.place;
        part->has_first = true;
    }
    return deliver(consumer, &packet, ret_packet);
}

/* An early packet whose predecessor has come. */
static int take_early(struct fabric_consumer *consumer, struct fabric_packet *ret_packet)
{
    int found = 0;

    while (found == 0 && consumer->ready >= 0) {
        struct stored_part *part = &consumer->parts[consumer->ready];
        struct early *early = part->early;
        if (early == NULL || is_early(part, &early->place, &early->after, early->has_after)) {
            consumer->ready = -1;
            break;
        }
        part->early = early->next;
        consumer->held--;
        found = take_packet(consumer, early->message, ret_packet);
        free(early);
    }
    return found;
}

static void request_batch(struct fabric_consumer *consumer, uint64_t now)
{
    char subject[FABRIC_SUBJECT_SIZE], body[96];
    uint64_t count = reconnections(consumer->fabric);

    if (count != consumer->reconnections || now >= consumer->outstanding_until)
        consumer->outstanding = 0;
    consumer->reconnections = count;
    if (consumer->outstanding > 0)
        return;
    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%s",
             consumer->fabric->streams[STREAM_PACKETS], consumer->durable);
    snprintf(body, sizeof(body), "{\"batch\":%u,\"expires\":%llu}", BATCH,
             EXPIRES_MS * MILLISECONDS);
    if (natsConnection_PublishRequestString(consumer->fabric->connection, subject, consumer->inbox,
                                            body) != NATS_OK)
        return; /* no connection now */
    consumer->outstanding = BATCH;
    consumer->outstanding_until = now + (EXPIRES_MS + 2000) * MILLISECONDS;
}

/* A message without a packet. */
static int take_status(struct fabric_consumer *consumer, int status, natsMsg *message,
                       struct problem *problem)
{
    const char *description = NULL;
    bool removed = status == 409 &&
                   natsMsgHeader_Get(message, "Description", &description) == NATS_OK &&
                   strstr(description, "Deleted") != NULL;

    natsMsg_Destroy(message);
    consumer->outstanding = 0; /* the request has expired */
    if (status == 503)         /* the server has just started */
        nats_Sleep(50);
    return removed ? problem_set(problem, -ENOENT, "%s: this consumer was removed at the server",
                                 consumer->durable)
                   : 0;
}

/* What the server does not permit, it does not answer. Without these requests, or their ends, no packet comes again. */
static int check_permitted(struct fabric_consumer *consumer, struct problem *problem)
{
    struct arrival *trouble = fabric_take_trouble(consumer->fabric);

    if (trouble == NULL)
        return 0;
    problem_set(problem, -EACCES, "%s: %s: allow it", consumer->fabric->where, trouble->text);
    fabric_arrival_free(trouble);
    return -EACCES;
}

static int wait_for_message(struct fabric_consumer *consumer, uint64_t until, natsMsg **ret_message,
                            struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    request_batch(consumer, now);
    /* In slices, for a request may be lost with a connection. */
    uint64_t wait = until > now ? (until - now) / MILLISECONDS : 0;
    natsStatus status = natsSubscription_NextMsg(ret_message, consumer->subscription,
                                                 (int64_t)(wait > 250 ? 250 : wait));
    if (status == NATS_OK)
        return 1;
    if (status == NATS_TIMEOUT)
        return check_permitted(consumer, problem);
    if (status == NATS_CONNECTION_CLOSED)
        return fabric_ended_problem(consumer->fabric, problem);
    return fabric_problem(problem, fabric_errno(status), consumer->fabric->where, status);
}

int fabric_consumer_next(struct fabric_consumer *consumer, int timeout_ms,
                         struct fabric_packet *ret_packet, struct problem *problem)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * MILLISECONDS;
    natsMsg *message = NULL;
    int found = take_early(consumer, ret_packet);

    while (found == 0) {
        int result = wait_for_message(consumer, until, &message, problem);
        if (result < 0)
            return result;
        if (result == 0 && clock_now(CLOCK_MONOTONIC) >= until)
            return 0;
        if (result == 0)
            continue;
        int status = fabric_status_of(message);
        if (status != 0) {
            found = take_status(consumer, status, message, problem);
        } else {
            consumer->outstanding -= consumer->outstanding > 0;
            found = take_packet(consumer, message, ret_packet);
        }
    }
    return found;
}

void fabric_consumer_done(struct fabric_consumer *consumer, struct fabric_packet *packet,
                          bool stored)
{
    natsMsg *message = packet->held;

    if (stored) {
        struct stored_part *part = &consumer->parts[consumer->current];
        part->last = consumer->place;
        part->has_last = true;
        consumer->ready = consumer->current;
        respond(consumer, message, "+ACK");
        natsMsg_Destroy(message);
    } else {
        send_back(consumer, message, BACK_MS);
    }
    consumer->current = -1;
    packet->held = NULL;
}

void fabric_consumer_look(const struct fabric_consumer *consumer,
                          struct fabric_consumer_state *ret_state)
{
    *ret_state = consumer->state;
}
