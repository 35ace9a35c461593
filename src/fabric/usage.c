/* SPDX-License-Identifier: MIT */
/* usage.c: how full the stream of packets is, without waiting for the answer; and whether JetStream answers at all. */
#include "fabric/fabric_internal.h"

#include <stdio.h>
#include <string.h>

void usage_note_answer(struct fabric *fabric)
{
    fabric->answered = clock_now(CLOCK_MONOTONIC);
}

uint64_t fabric_count(const json_t *object, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(object, key));

    return count < 0 ? 0 : (uint64_t)count;
}

void usage_of_packets(const json_t *info, struct fabric_usage *ret_usage)
{
    const json_t *state = json_object_get(info, "state");

    ret_usage->packets = fabric_count(state, "messages");
    ret_usage->packet_bytes = fabric_count(state, "bytes");
    ret_usage->consumers = fabric_count(state, "consumer_count");
    ret_usage->packet_bytes_most = fabric_count(json_object_get(info, "config"), "max_bytes");
}

static void name_question(const struct fabric *fabric, char subject[FABRIC_SUBJECT_SIZE])
{
    snprintf(subject, FABRIC_SUBJECT_SIZE, "$JS.API.STREAM.INFO.%s",
             fabric->streams[STREAM_PACKETS]);
}

/* Permissions Violation for Publish to "$JS.API.STREAM.INFO.dpm-s1-packets" */
bool usage_is_refused(struct fabric *fabric, const char *text)
{
    char subject[FABRIC_SUBJECT_SIZE];

    name_question(fabric, subject);
    if (strstr(text, subject) == NULL)
        return false;
    fabric->usage_refused = true;
    return true;
}

void fabric_usage_ask(struct fabric *fabric)
{
    char subject[FABRIC_SUBJECT_SIZE], reply[FABRIC_SUBJECT_SIZE];

    if (fabric->usage_refused)
        return;
    name_question(fabric, subject);
    snprintf(reply, sizeof(reply), "%s.u", fabric->inbox);
    natsConnection_PublishRequestString(fabric->connection, subject, reply, "");
}

void usage_reply(struct fabric *fabric, natsMsg *reply)
{
    json_t *info =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);

    if (json_is_object(info) && json_object_get(info, "error") == NULL) {
        usage_note_answer(fabric);
        usage_of_packets(info, &fabric->usage);
        fabric->usage_came = true;
    }
    json_decref(info);
}

bool fabric_usage_answered(struct fabric *fabric, struct fabric_usage *ret_usage)
{
    bool came = fabric->usage_came;

    fabric->usage_came = false;
    if (came)
        *ret_usage = fabric->usage;
    return came;
}

uint64_t fabric_silence(const struct fabric *fabric)
{
    return clock_now(CLOCK_MONOTONIC) - fabric->answered;
}
