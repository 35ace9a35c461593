/* SPDX-License-Identifier: MIT */
/* fabric_hostile_test.c: another version of the protocol, and machines that send anything at all. */
#include "fabric/nats_library.h"
#include "fabric_world.h"
#include "seeded.h"

static uint64_t state;
static natsConnection *raw; /* a controller that sends what it likes */

static int begin(void **context)
{
    struct fabric_options options;

    begin_pair(context);
    if (*context == NULL)
        return 0;
    must(fabric_server_credentials(world.server, FABRIC_CONTROLLER, NULL, &options, &problem));
    natsOptions *to;
    assert_int_equal(natsOptions_Create(&to), NATS_OK);
    natsOptions_SetURL(to, options.url);
    natsOptions_SetUserInfo(to, options.user, options.password);
    assert_int_equal(natsConnection_Connect(&raw, to), NATS_OK);
    natsOptions_Destroy(to);
    return 0;
}

static int end(void **context)
{
    natsConnection_Destroy(raw);
    raw = NULL;
    return end_world(context);
}

static void subject_of(const char *machine, const char *rest, char subject[256])
{
    snprintf(subject, 256, "dpm.%s.%s.%s", fabric_server_session(world.server), machine, rest);
}

/* ---- requests ---- */

/* Sends it to the agent. Returns the error's code of its answer; 0: it was a valid request, which the agent has answered. */
static int code_of(const char *bytes, size_t size)
{
    char subject[256], inbox[64];
    struct pollfd polled = {.fd = fabric_descriptor(world.agent), .events = POLLIN};
    struct fabric_message message;
    natsSubscription *subscription = NULL;
    natsMsg *reply = NULL;
    static unsigned number;
    int code = 0;

    subject_of("web1", "control", subject);
    snprintf(inbox, sizeof(inbox), "_INBOX.raw.%u", ++number);
    assert_int_equal(natsConnection_SubscribeSync(&subscription, raw, inbox), NATS_OK);
    assert_int_equal(natsConnection_PublishRequest(raw, subject, inbox, bytes, (int)size), NATS_OK);
    while (natsSubscription_NextMsg(&reply, subscription, 1) != NATS_OK) {
        poll(&polled, 1, 20);
        while (fabric_next(world.agent, &message) == 1) {
            assert_int_equal(message.kind, FABRIC_REQUEST);
            assert_non_null(message.method);
            fabric_answer(message.request, NULL);
            fabric_message_done(&message);
        }
    }
    json_t *body =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    assert_non_null(body);
    const json_t *error = json_object_get(body, "error");
    if (error != NULL) {
        code = (int)json_integer_value(json_object_get(error, "code"));
        assert_true(json_string_length(json_object_get(error, "message")) > 0);
        assert_null(strchr(json_string_value(json_object_get(error, "message")), '\n'));
    }
    json_decref(body);
    natsMsg_Destroy(reply);
    natsSubscription_Destroy(subscription);
    return code;
}

#define VALID "{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":1,\"method\":\"m\",\"params\":{\"a\":[1,2]}}"

static void test_requests(void **context)
{
    static const struct {
        const char *body;
        int code;
    } cases[] = {
        {VALID, 0},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":\"x\",\"method\":\"m\"}", 0},
        {"", FABRIC_PARSE_ERROR},
        {"{", FABRIC_PARSE_ERROR},
        {"\xff\xfe", FABRIC_PARSE_ERROR},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":1,\"method\":\"m\"", FABRIC_PARSE_ERROR},
        {"{\"a\":1,\"a\":2}", FABRIC_PARSE_ERROR},
        {"[]", FABRIC_INVALID_REQUEST},
        {"[" VALID "]", FABRIC_INVALID_REQUEST},
        {"1", FABRIC_INVALID_REQUEST},
        {"null", FABRIC_INVALID_REQUEST},
        {"{}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"1.0\",\"dpm\":1,\"id\":1,\"method\":\"m\"}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":\"1\",\"id\":1,\"method\":\"m\"}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":{},\"method\":\"m\"}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":1,\"method\":7}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":1}", FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":1,\"method\":\"m\",\"params\":7}",
         FABRIC_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":2,\"id\":1,\"method\":\"m\"}", FABRIC_OTHER_VERSION},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":0,\"id\":1}", FABRIC_OTHER_VERSION},
    };

    need_server(context);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int code = code_of(cases[i].body, strlen(cases[i].body));
        if (code != cases[i].code)
            fail_msg("%s: %d instead of %d", cases[i].body, code, cases[i].code);
    }
}

static void test_random_requests(void **context)
{
    char body[sizeof(VALID)];

    need_server(context);
    for (int i = 0; i < 300; i++) {
        memcpy(body, VALID, sizeof(VALID));
        for (uint64_t changes = 1 + random_below(&state, 4); changes > 0; changes--)
            body[random_below(&state, sizeof(VALID) - 1)] = (char)random_number(&state);
        size_t size = random_below(&state, 4) != 0 ? sizeof(VALID) - 1
                                                   : (size_t)random_below(&state, sizeof(VALID));
        /* Without an id it is a notification, and nothing is answered. */
        json_t *read = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
        bool has_id = read == NULL || json_object_get(read, "id") != NULL;
        json_decref(read);
        if (has_id)
            code_of(body, size);
    }
}

static void test_large_requests(void **context)
{
    size_t size = 1 << 20; /* the most that the server takes */
    char *body = malloc(size);

    need_server(context);
    memset(body, ' ', size);
    assert_int_equal(code_of(body, size), FABRIC_INVALID_REQUEST);
    memset(body, '[', size / 2);
    assert_int_equal(code_of(body, size / 2), FABRIC_PARSE_ERROR); /* too deep */
    free(body);

    json_t *params = json_object();
    char *text = calloc(1, FABRIC_BODY_MOST + 1);
    memset(text, 'x', FABRIC_BODY_MOST);
    json_object_set_new(params, "a", json_string(text));
    json_t *result;
    assert_int_equal(
        fabric_call(world.controller, "web1", "m", params, LONG_MS, &result, NULL, &problem),
        -E2BIG);
    assert_int_equal(fabric_notice(world.agent, "m", params), -E2BIG);
    json_decref(params);

    /* A result that is too large becomes an error. */
    struct fabric_message message;
    assert_true(fabric_call_begin(world.controller, "web1", "m", NULL, &problem) > 0);
    world_next(world.agent, FABRIC_REQUEST, &message);
    fabric_answer(message.request, json_string(text));
    fabric_message_done(&message);
    world_next(world.controller, FABRIC_REPLY, &message);
    assert_int_equal(message.error, -EREMOTEIO);
    assert_int_equal(message.code, FABRIC_INTERNAL_ERROR);
    fabric_message_done(&message);
    free(text);
}

/* ---- replies ---- */

static const char *reply_text;

static void reply_anything(natsConnection *connection, natsSubscription *subscription,
                           natsMsg *message, void *context)
{
    (void)subscription;
    (void)context;
    natsConnection_PublishString(connection, natsMsg_GetReply(message), reply_text);
    natsMsg_Destroy(message);
}

static void test_replies(void **context)
{
    static const struct {
        const char *body;
        int error;
    } cases[] = {
        {"{", -EPROTO},
        {"[]", -EPROTO},
        {"{}", -EPROTO},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":999,\"result\":1}", -EPROTO},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":null,\"result\":1}", -EPROTO},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":null,\"error\":1}", -EPROTO},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":null,\"error\":{\"code\":1}}", -EPROTO},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":1,\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}",
         -EREMOTEIO},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":2,\"id\":1,\"result\":1}", -EPROTONOSUPPORT},
        {"{\"jsonrpc\":\"2.0\",\"dpm\":7,\"id\":null,\"error\":{\"code\":-32001,\"message\":\"m\"}"
         "}",
         -EPROTONOSUPPORT},
    };
    natsSubscription *subscription = NULL;
    char subject[256];
    json_t *result;

    need_server(context);
    subject_of("old", "control", subject);
    assert_int_equal(natsConnection_Subscribe(&subscription, raw, subject, reply_anything, NULL),
                     NATS_OK);
    natsConnection_FlushTimeout(raw, LONG_MS);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        reply_text = cases[i].body;
        int error =
            fabric_call(world.controller, "old", "m", NULL, LONG_MS, &result, NULL, &problem);
        if (error != cases[i].error)
            fail_msg("%s: %d instead of %d", cases[i].body, error, cases[i].error);
        assert_ptr_equal(strstr(problem.text, "old: "), problem.text);
    }
    natsSubscription_Destroy(subscription);
}

/* ---- packets and notices ---- */

static void publish(const char *rest, const char *id, const char *after, const char *bytes)
{
    char subject[256];
    natsMsg *message = NULL;

    subject_of("web1", rest, subject);
    assert_int_equal(natsMsg_Create(&message, subject, NULL, bytes, (int)strlen(bytes)), NATS_OK);
    if (id != NULL)
        natsMsgHeader_Set(message, "Nats-Msg-Id", id);
    if (after != NULL)
        natsMsgHeader_Set(message, "Dpm-After", after);
    assert_int_equal(natsConnection_PublishMsg(raw, message), NATS_OK);
    natsMsg_Destroy(message);
}

#define UUID "00112233445566778899aabbccddeeff"

static void test_packets(void **context)
{
    struct fabric_consumer *consumer;
    struct fabric_consumer_state seen;
    struct fabric_packet packet;
    struct fabric_message message;
    struct fabric_place place;

    need_server(context);
    publish("packets.main.data", NULL, NULL, "x");
    publish("packets.main.data", "x", "-", "x");
    publish("packets.main.data", UUID "-0-control-0", "-",
            "x"); /* another part than the subject's */
    publish("packets.main.data", UUID "-0-data-99999999999999999999", "-", "x");
    publish("packets.main.data", UUID "-99999999999-data-0", "-", "x");
    publish("packets.main.data", UUID "-0-data-0", "x", "x");
    publish("packets.main.other", UUID "-0-data-1", "-", "x");
    publish("packets.Main.data", UUID "-0-data-2", "-", "x");
    publish("packets.data", UUID "-0-data-3", "-", "x");
    publish("packets.main.data", UUID "-0-data-4", "-", "good");
    natsConnection_FlushTimeout(raw, LONG_MS);
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
    assert_int_equal(packet.size, 4);
    assert_int_equal(packet.place.number, 4);
    fabric_consumer_done(consumer, &packet, true);
    fabric_consumer_look(consumer, &seen);
    assert_int_equal(seen.malformed, 9);
    assert_true(seen.reason[0] != '\0');
    fabric_consumer_free(consumer);
    assert_int_equal(fabric_last(world.agent, "main", FABRIC_DATA, &place, &problem), -EPROTO);

    publish("notice", NULL, NULL, "{}");
    publish("output.x.out", NULL, NULL, "x");
    publish("output.1.both", NULL, NULL, "x");
    publish("output.99999999999.out", NULL, NULL, "x");
    publish("output.12.out", NULL, NULL, "good");
    must(fabric_listen(world.controller, 0, &problem));
    world_next(world.controller, FABRIC_TROUBLE, &message);
    assert_non_null(strstr(message.text, "web1"));
    fabric_message_done(&message);
    world_next(world.controller, FABRIC_OUTPUT, &message);
    assert_int_equal(message.pid, 12);
    fabric_message_done(&message);
}

/* Packets out of order: all are held until their predecessors come; those that come twice are dropped. */
static void test_order(void **context)
{
    enum { COUNT = 60 };
    struct fabric_consumer *consumer;
    struct fabric_consumer_state seen;
    struct fabric_packet packet;
    char id[96], after[32];
    int order[2 * COUNT];

    need_server(context);
    must(fabric_create_streams(world.controller, &(struct fabric_limits){.window_ms = 100},
                               &problem)); /* so that doubles are stored */
    for (int i = 0; i < 2 * COUNT; i++)
        order[i] = i / 2;
    for (int i = 2 * COUNT - 1; i > 1; i--) { /* the very first one is first, as publishers do it */
        int other = 1 + (int)random_below(&state, (uint64_t)i);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < 2 * COUNT; i++) {
        snprintf(id, sizeof(id), UUID "-0-data-%d", order[i]);
        snprintf(after, sizeof(after), order[i] == 0 ? "-" : "0-%d", order[i] - 1);
        publish("packets.main.data", id, after, "x");
        if (i == COUNT)
            poll(NULL, 0, 300); /* the window */
    }
    natsConnection_FlushTimeout(raw, LONG_MS);
    must(fabric_consumer_new(world.controller, NULL, "filter1", 0, &consumer, &problem));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(fabric_consumer_next(consumer, LONG_MS, &packet, &problem), 1);
        assert_int_equal(packet.place.number, i);
        fabric_consumer_done(consumer, &packet, true);
    }
    while (fabric_consumer_left(consumer, &problem) > 0)
        assert_int_equal(fabric_consumer_next(consumer, 10, &packet, &problem), 0);
    fabric_consumer_look(consumer, &seen);
    assert_true(seen.early > 0);
    fabric_consumer_free(consumer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests, begin, end),
        cmocka_unit_test_setup_teardown(test_random_requests, begin, end),
        cmocka_unit_test_setup_teardown(test_large_requests, begin, end),
        cmocka_unit_test_setup_teardown(test_replies, begin, end),
        cmocka_unit_test_setup_teardown(test_packets, begin, end),
        cmocka_unit_test_setup_teardown(test_order, begin, end),
    };

    state = seed_of_run("fabric_hostile");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
