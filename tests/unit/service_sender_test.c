/* SPDX-License-Identifier: MIT */
/*
 * service_sender_test.c: over a slow link, what waited for a server comes there once; what it has not stored waits on.
 *
 *      unsent.json: 1 .. 60 --sender--> a fabric, played here, that stores a few in the time for all
 */
#include "command/service/service.h"

#include "command/shared/command.h"
#include "fabric/fabric.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WAITING 60
#define STORED  (2 * WAITING)

static char path[] = "/tmp/service_sender_test.XXXXXX";

/* ---- the server ---- */

struct fabric {
    json_int_t pushed[WAITING];
    unsigned count, stored;
};

static struct {
    pthread_mutex_t lock;
    unsigned at_once;  /* it stores so many within a settle ... */
    unsigned capacity; /* ... and no more than this */
    unsigned rounds;   /* one settle of so many is long enough for these */
    bool refuses;
    unsigned settles, connections, closed;
    json_int_t stored[STORED];
    unsigned count;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

int fabric_open(const struct fabric_options *options, int timeout_ms, struct fabric **ret_fabric,
                struct problem *problem)
{
    (void)options;
    (void)timeout_ms;
    (void)problem;
    pthread_mutex_lock(&server.lock);
    server.connections++;
    pthread_mutex_unlock(&server.lock);
    *ret_fabric = calloc(1, sizeof(**ret_fabric));
    return *ret_fabric == NULL ? -ENOMEM : 0;
}

void fabric_close(struct fabric *fabric)
{
    free(fabric);
    pthread_mutex_lock(&server.lock);
    server.closed++;
    pthread_mutex_unlock(&server.lock);
}

int fabric_has_said(struct fabric *fabric, struct problem *problem)
{
    (void)fabric;
    (void)problem;
    return 1;
}

int fabric_create_streams(struct fabric *fabric, const struct fabric_limits *limits,
                          struct problem *problem)
{
    (void)fabric;
    (void)limits;
    (void)problem;
    return 0;
}

bool fabric_connected(const struct fabric *fabric)
{
    (void)fabric;
    return true;
}

int fabric_next(struct fabric *fabric, struct fabric_message *ret_message)
{
    (void)fabric;
    (void)ret_message;
    return 0;
}

void fabric_message_done(struct fabric_message *message)
{
    (void)message;
}

void fabric_refuse(struct fabric_request *request, int code, const char *text)
{
    (void)request;
    (void)code;
    (void)text;
}

int fabric_notice(struct fabric *fabric, const char *method, json_t *params)
{
    (void)method;
    if (fabric->count == WAITING)
        return -EAGAIN;
    fabric->pushed[fabric->count++] = json_integer_value(json_object_get(params, "number"));
    return 0;
}

unsigned fabric_notices_pending(const struct fabric *fabric)
{
    return fabric->count - fabric->stored;
}

bool fabric_notices_refused(const struct fabric *fabric)
{
    (void)fabric;
    return server.refuses;
}

int fabric_settle(struct fabric *fabric, int timeout_ms, struct problem *problem)
{
    (void)timeout_ms;
    pthread_mutex_lock(&server.lock);
    unsigned stores = ++server.settles % server.rounds == 0 ? server.at_once : 0;
    for (unsigned i = 0; i < stores && fabric->stored < fabric->count; i++)
        if (server.count < server.capacity)
            server.stored[server.count++] = fabric->pushed[fabric->stored++];
    pthread_mutex_unlock(&server.lock);
    return fabric->stored == fabric->count ? 0 : problem_set(problem, -ETIMEDOUT, "not all");
}

void fabric_name_make(const char *text, char ret_name[FABRIC_NAME_MOST + 1])
{
    (void)text;
    snprintf(ret_name, FABRIC_NAME_MOST + 1, "web1");
}

int fabric_read_authorities(const char *file, char ret_text[FABRIC_AUTHORITIES_SIZE],
                            struct problem *problem)
{
    (void)file;
    (void)ret_text;
    return problem_set(problem, -ENOENT, "there are none");
}

void command_say(const char *format, ...)
{
    (void)format;
}

/* ---- tests ---- */

/* A sender to which an earlier one has left 60 summaries. */
static struct service_sender *begin_sender(unsigned at_once, unsigned rounds, unsigned capacity)
{
    static const struct service_destination destination = {
        .url = "nats://127.0.0.1", .credentials = "", .session = "machines", .unsent = path};
    json_t *kept = json_pack("{s:i, s:[]}", "not_sent", 0, "waiting");
    struct service_sender *sender;
    struct problem problem;

    for (int i = 1; i <= WAITING; i++)
        json_array_append_new(json_object_get(kept, "waiting"), json_pack("{s:i}", "number", i));
    assert_int_equal(json_dump_file(kept, path, JSON_COMPACT), 0);
    json_decref(kept);
    server.at_once = at_once;
    server.rounds = rounds;
    server.capacity = capacity;
    server.refuses = capacity == 0;
    server.settles = server.connections = server.closed = server.count = 0;
    if (service_sender_start(&destination, &sender, &problem) < 0)
        fail_msg("%s", problem.text);
    return sender;
}

/* Waits until a number of the server has got to `least`. */
static void await_least(const unsigned *number, unsigned least)
{
    bool has = false;

    for (int i = 0; i < 500 && !has; i++) {
        usleep(20000);
        pthread_mutex_lock(&server.lock);
        has = *number >= least;
        pthread_mutex_unlock(&server.lock);
    }
    assert_true(has);
}

static void await_stored(unsigned count)
{
    await_least(&server.count, count);
}

static void check_stored(unsigned count)
{
    assert_int_equal(server.count, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(server.stored[i], i + 1);
    assert_int_equal(server.connections, 1);
}

/* Each time for all is enough for seven. */
static void a_slow_server_gets_each_once(void **unused)
{
    (void)unused;
    struct service_sender *sender = begin_sender(7, 1, STORED);
    await_stored(WAITING);
    service_sender_stop(sender);
    check_stored(WAITING);
    assert_int_equal(access(path, F_OK), -1);
}

/* The time for all is not even enough for one. */
static void one_that_takes_long_comes_once(void **unused)
{
    (void)unused;
    struct service_sender *sender = begin_sender(1, 4, STORED);
    await_stored(WAITING);
    service_sender_stop(sender);
    check_stored(WAITING);
}

/* As one without the stream: then another connection makes it, and that soon. */
static void a_server_that_refuses_is_not_waited_for(void **unused)
{
    (void)unused;
    struct service_sender *sender = begin_sender(1, 1, 0);
    await_least(&server.closed, 1);
    service_sender_stop(sender);
    assert_int_equal(server.settles, 1);
}

/* Those that it has are not sent again: here not kept for the next start. */
static void the_rest_waits(void **unused)
{
    (void)unused;
    struct service_sender *sender = begin_sender(7, 1, 25);
    await_stored(25);
    service_sender_stop(sender);
    check_stored(25);
    json_t *kept = json_load_file(path, 0, NULL);
    const json_t *waiting = json_object_get(kept, "waiting");
    assert_int_equal(json_array_size(waiting), WAITING - 25);
    for (size_t i = 0; i < json_array_size(waiting); i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(waiting, i), "number")),
                         26 + i);
    assert_int_equal(json_integer_value(json_object_get(kept, "not_sent")), 0);
    json_decref(kept);
}

static int begin(void **unused)
{
    int file = mkstemp(path);

    (void)unused;
    if (file >= 0)
        close(file);
    return file < 0 ? -1 : 0;
}

static int end(void **unused)
{
    (void)unused;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_server_gets_each_once),
        cmocka_unit_test(one_that_takes_long_comes_once),
        cmocka_unit_test(a_server_that_refuses_is_not_waited_for),
        cmocka_unit_test(the_rest_waits),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
