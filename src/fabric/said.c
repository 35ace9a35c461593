/* SPDX-License-Identifier: MIT */
/*
 * said.c: notices and output, from the agent into the stream dpm-SESSION-said, and from there to controllers.
 *
 * The listener reads the stream through a consumer without acknowledgements, made at the number after the last one that
 * came, and made anew after a reconnection. On one connection nothing is lost, so a gap in the numbers means messages that
 * the stream had discarded. `generation` tells replies of one consumer from those of an earlier one.
 */
#include "fabric/fabric_internal.h"
#include "fabric/fabric_names.h"
#include "fabric/outbox.h"
#include "fabric/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID_WINDOW 128u
#define BATCH       64u
#define EXPIRES                                                                                    \
    (10000 *                                                                                       \
     MILLISECONDS) /* a request for a batch, at the server: FABRIC_SILENCE_USUAL has time for it */
#define CREATE_AGAIN   (5000 * MILLISECONDS)
#define SOON           (250 * MILLISECONDS)
#define NO_RESPONDERS  503 /* the status when nothing at the server takes a request */
#define INACTIVE_AFTER (60000 * MILLISECONDS) /* the server removes the consumer */

/* ---- the agent's side ---- */

static int push(struct fabric *fabric, const char *subject, uint64_t at, const void *bytes,
                size_t size, unsigned lane)
{
    char id[FABRIC_SUBJECT_SIZE], before[24];

    if (fabric->said == NULL &&
        outbox_new(fabric, fabric->streams[STREAM_SAID], SAID_WINDOW, false, &fabric->said) != 0)
        return -ENOMEM;
    if (!outbox_has_space(fabric->said))
        return -EAGAIN;
    natsMsg *message = outbox_message(fabric->said, subject, bytes, size);
    /* The reply subject is unique: of this connection, and this message. */
    if (message != NULL)
        snprintf(id, sizeof(id), "%s", natsMsg_GetReply(message));
    snprintf(before, sizeof(before), "%" PRIu64, at);
    if (message == NULL || natsMsgHeader_Set(message, HEADER_ID, id) != NATS_OK ||
        (at != FABRIC_AT_UNKNOWN && natsMsgHeader_Set(message, HEADER_AT, before) != NATS_OK)) {
        natsMsg_Destroy(message);
        return -ENOMEM;
    }
    outbox_push(fabric->said, message, lane, NULL);
    return 0;
}

int fabric_notice(struct fabric *fabric, const char *method, json_t *params)
{
    char subject[FABRIC_SUBJECT_SIZE];
    size_t size = 0;
    char *text = rpc_request_text(0, method, params, &size);

    if (text == NULL)
        return -ENOMEM;
    snprintf(subject, sizeof(subject), "dpm.%s.%s.notice", fabric->session, fabric->machine);
    int error =
        size > FABRIC_BODY_MOST ? -E2BIG : push(fabric, subject, FABRIC_AT_UNKNOWN, text, size, 0);
    free(text);
    return error;
}

unsigned fabric_notices_pending(const struct fabric *fabric)
{
    return fabric->said == NULL ? 0 : outbox_pending(fabric->said, 0);
}

bool fabric_notices_refused(const struct fabric *fabric)
{
    struct fabric_publisher_state state = {0};

    if (fabric->said != NULL)
        outbox_look(fabric->said, &state);
    return state.reason[0] != '\0';
}

/* Pieces of one process share a lane, and so keep their order, both outputs together. */
int fabric_output(struct fabric *fabric, pid_t pid, bool err, uint64_t at, const void *bytes,
                  size_t size)
{
    char subject[FABRIC_SUBJECT_SIZE];

    if (size > FABRIC_OUTPUT_MOST)
        return -E2BIG;
    snprintf(subject, sizeof(subject), "dpm.%s.%s.output.%d.%s", fabric->session, fabric->machine,
             (int)pid, err ? "err" : "out");
    return push(fabric, subject, at, bytes, size, 1 + (unsigned)pid % (OUTBOX_LANES - 1));
}

/* ---- the controller's side ---- */

enum listener_state { LISTENER_IDLE, LISTENER_CREATING, LISTENER_READY };

struct listener {
    uint64_t expected; /* number of the next one; 0: whichever is the first */
    enum listener_state state;
    unsigned generation; /* of the replies that count */
    char consumer[64];
    unsigned outstanding; /* messages that the server may still send without another request */
    uint64_t due;
};

int fabric_listen(struct fabric *fabric, uint64_t sequence, struct problem *problem)
{
    if (fabric->listener == NULL)
        fabric->listener = calloc(1, sizeof(*fabric->listener));
    if (fabric->listener == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    *fabric->listener =
        (struct listener){.expected = sequence, .generation = fabric->listener->generation};
    usage_note_answer(fabric); /* silence begins now */
    said_pump(fabric, clock_now(CLOCK_MONOTONIC));
    fabric_arm(fabric);
    return 0;
}

void said_free(struct fabric *fabric)
{
    free(fabric->listener);
    fabric->listener = NULL;
}

void said_reconnected(struct fabric *fabric)
{
    if (fabric->listener == NULL)
        return;
    fabric->listener->state = LISTENER_IDLE;
    fabric->listener->due = 0;
}

uint64_t said_due(const struct fabric *fabric)
{
    return fabric->listener == NULL ? UINT64_MAX : fabric->listener->due;
}

static bool ask(struct fabric *fabric, const char *subject, const char *body)
{
    char reply[FABRIC_SUBJECT_SIZE];

    snprintf(reply, sizeof(reply), "%s.l.%u", fabric->inbox, fabric->listener->generation);
    return natsConnection_PublishRequestString(fabric->connection, subject, reply, body) == NATS_OK;
}

static void create_consumer(struct fabric *fabric, uint64_t now)
{
    struct listener *listener = fabric->listener;
    const char *stream = fabric->streams[STREAM_SAID];
    char subject[FABRIC_SUBJECT_SIZE], start[64], body[512];

    listener->generation++;
    if (listener->expected == 0)
        snprintf(start, sizeof(start), "\"all\"");
    else
        snprintf(start, sizeof(start), "\"by_start_sequence\",\"opt_start_seq\":%" PRIu64,
                 listener->expected);
    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.CREATE.%s", stream);
    snprintf(body, sizeof(body),
             "{\"stream_name\":\"%s\",\"config\":{\"deliver_policy\":%s,\"ack_policy\":\"none\","
             "\"replay_policy\":\"instant\",\"mem_storage\":true,\"inactive_threshold\":%llu}}",
             stream, start, INACTIVE_AFTER);
    bool sent = ask(fabric, subject, body);
    listener->state = sent ? LISTENER_CREATING : LISTENER_IDLE;
    listener->due = now + (sent ? CREATE_AGAIN : SOON);
}

static void request_batch(struct fabric *fabric, uint64_t now)
{
    struct listener *listener = fabric->listener;
    char subject[FABRIC_SUBJECT_SIZE], body[128];

    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%s",
             fabric->streams[STREAM_SAID], listener->consumer);
    snprintf(body, sizeof(body), "{\"batch\":%u,\"expires\":%llu}", BATCH, EXPIRES);
    if (!ask(fabric, subject, body))
        return; /* a reconnection follows */
    listener->outstanding = BATCH;
    listener->due = now + EXPIRES + CREATE_AGAIN;
}

void said_pump(struct fabric *fabric, uint64_t now)
{
    struct listener *listener = fabric->listener;

    if (listener == NULL)
        return;
    if (now >= listener->due)
        create_consumer(fabric, now); /* also if the server has not answered in time */
    else if (listener->state == LISTENER_READY && listener->outstanding == 0)
        request_batch(fabric, now);
}

static void created(struct listener *listener, natsMsg *reply)
{
    json_t *body =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    const char *name = json_string_value(json_object_get(body, "name"));

    if (name != NULL && strlen(name) < sizeof(listener->consumer)) {
        snprintf(listener->consumer, sizeof(listener->consumer), "%s", name);
        listener->state = LISTENER_READY;
        listener->outstanding = 0;
    }
    /* Else, perhaps the stream is not there yet: tried again when it is due. */
    json_decref(body);
}

/* $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE... The number, or 0: of another consumer. */
static uint64_t stream_sequence(const struct fabric *fabric, natsMsg *message)
{
    const char *reply = natsMsg_GetReply(message);
    char prefix[FABRIC_SUBJECT_SIZE];
    uint64_t sequence = 0;
    int length = snprintf(prefix, sizeof(prefix), "$JS.ACK.%s.%s.", fabric->streams[STREAM_SAID],
                          fabric->listener->consumer);

    if (reply == NULL || strncmp(reply, prefix, (size_t)length) != 0 ||
        sscanf(reply + length, "%*[^.].%" SCNu64, &sequence) != 1)
        return 0;
    return sequence;
}

static int notice_message(struct held *held, struct fabric_message *message)
{
    struct rpc_request rpc;
    json_t *id = NULL;
    struct problem problem;

    if (rpc_parse_request(natsMsg_GetData(held->message),
                          (size_t)natsMsg_GetDataLength(held->message), &rpc, &id, &problem) != 0) {
        json_decref(id);
        message->kind = FABRIC_TROUBLE;
        snprintf(message->text, sizeof(message->text), "%s: a notice of it is %.400s",
                 held->machine, problem.text);
        return 1;
    }
    held->body = rpc.body;
    message->kind = FABRIC_NOTICE;
    message->size = (size_t)natsMsg_GetDataLength(held->message);
    message->method = rpc.method;
    message->params = rpc.params;
    return 1;
}

/* Agents of other versions do not say it. */
static uint64_t position_of(natsMsg *message)
{
    const char *text = NULL;
    uint64_t at;

    return natsMsgHeader_Get(message, HEADER_AT, &text) == NATS_OK && text != NULL &&
                   sscanf(text, "%" SCNu64, &at) == 1
               ? at
               : FABRIC_AT_UNKNOWN;
}

static int said_message(struct fabric *fabric, uint64_t sequence, struct arrival *arrival,
                        struct fabric_message *message)
{
    struct listener *listener = fabric->listener;
    struct address address;
    uint64_t missed = listener->expected == 0 ? sequence - 1 : sequence - listener->expected;

    if (address_parse(natsMsg_GetSubject(arrival->message), fabric->session, &address) != 0)
        return 0;
    struct held *held = fabric_hold(message, arrival, address.machine);
    if (held == NULL)
        return 0;
    listener->expected = sequence + 1;
    message->sequence = sequence;
    message->missed = missed;
    if (address.kind == ADDRESS_NOTICE)
        return notice_message(held, message);
    message->kind = FABRIC_OUTPUT;
    message->pid = address.pid;
    message->err = address.err;
    message->at = position_of(held->message);
    message->bytes = natsMsg_GetData(held->message);
    message->size = (size_t)natsMsg_GetDataLength(held->message);
    return 1;
}

int said_stored(struct fabric *fabric, struct arrival *arrival, struct fabric_message *ret_message)
{
    struct listener *listener = fabric->listener;

    if (listener == NULL || listener->state != LISTENER_READY)
        return 0;
    uint64_t sequence = stream_sequence(fabric, arrival->message);
    if (sequence == 0 || sequence < listener->expected)
        return 0;
    listener->outstanding -= listener->outstanding > 0;
    usage_note_answer(fabric);
    return said_message(fabric, sequence, arrival, ret_message);
}

int said_reply(struct fabric *fabric, unsigned generation, natsMsg *reply)
{
    struct listener *listener = fabric->listener;

    if (listener == NULL || generation != listener->generation)
        return 0;
    int status = fabric_status_of(reply);
    if (status != NO_RESPONDERS)
        usage_note_answer(fabric);
    if (status == 404 || status == 408) { /* the request for a batch has expired */
        listener->outstanding = 0;
    } else if (status != 0) { /* 503, 409: the stream or the consumer is gone, or not there yet */
        listener->state = LISTENER_IDLE;
        listener->due = clock_now(CLOCK_MONOTONIC) + SOON;
    } else if (listener->state == LISTENER_CREATING) {
        created(listener, reply);
    }
    return 0;
}
