/* SPDX-License-Identifier: MIT */
/* remote_requests_test.c: requests that were in flight when a host's connection broke: asked again, or ended soon. Nothing is sent:
 * requests to real agents are tested by tests/command. */
#include "remote/remote_links.h"
#include "remote/remote_requests.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT_MS 60000

static struct remote_host web1 = {.name = (char *)"web1", .machine = "web1"};
static struct remote_host db1 = {.name = (char *)"db1", .machine = "db1"};
static int ended; /* of the request that ended last */

static void take(void *context, struct remote_host *host, const struct remote_reply *reply)
{
    (void)context;
    (void)host;
    ended = reply->error;
}

/* One that was sent, under this number of the fabric. */
static struct remote_call *ask(struct remote *remote, struct remote_host *host, const char *method,
                               json_t *params, int64_t number)
{
    remote_call(remote, host, method, params, TIMEOUT_MS, take, NULL);
    struct remote_call *call = &remote->calls.list[remote->calls.count - 1];
    call->number = number;
    return call;
}

static void test_asked_again(void **state)
{
    static const struct {
        const char *method;
        bool has_at, again;
    } cases[] = {
        {"recording.end", false, true},   {"recording.state", false, true},
        {"recording.rules", false, true}, {"recording.flush", false, true},
        {"process.list", false, true},    {"process.input", true, true},
        {"process.input", false, false},  {"program.has", false, true},
        {"agent.end", false, true},       {"process.create", false, false},
        {"process.start", false, false},  {"process.signal", false, false},
        {"recording.open", false, false}, {"program.put", false, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct remote remote = {0};
        json_t *params = cases[i].has_at ? json_pack("{s:i}", "at", 100) : json_object();
        ask(&remote, &web1, cases[i].method, params, 7);
        ask(&remote, &db1, cases[i].method, json_incref(params), 8);
        remote_calls_again(&remote, &web1);
        assert_int_equal(cases[i].again ? 0 : 7, remote.calls.list[0].number);
        assert_int_equal(8, remote.calls.list[1].number); /* that host was not away */
        remote_calls_done(&remote.calls);
    }
}

static void test_host_is_out(void **state)
{
    struct remote remote = {0};
    uint64_t begin = clock_now(CLOCK_MONOTONIC);

    (void)state;
    web1.state = REMOTE_OUT;
    ended = 0;
    struct remote_call *call = ask(&remote, &web1, "recording.end", json_object(), 7);
    remote_calls_step(&remote);
    assert_int_equal(1, remote.calls.count); /* its answer may be on its way */
    assert_true(call->deadline < begin + TIMEOUT_MS * 1000000ull / 2);
    call->deadline = begin;
    remote_calls_step(&remote);
    assert_int_equal(0, remote.calls.count);
    assert_int_equal(-ENOTCONN, ended);

    ask(&remote, &web1, "recording.end", json_object(), 0); /* never sent */
    remote_calls_step(&remote);
    assert_int_equal(0, remote.calls.count);
    remote_calls_done(&remote.calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked_again),
        cmocka_unit_test(test_host_is_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
