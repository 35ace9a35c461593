/* SPDX-License-Identifier: MIT */
/* relay_test.c: a connection through a pair of descriptors, as through a remote shell; and the first line each way. */
#include "relay/relay.h"

#include "fabric_world.h"
#include "seeded.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

static uint64_t state;

static void make_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(descriptor >= 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    return descriptor;
}

static void wait_for_end(struct relay *relay)
{
    struct pollfd polled = {.fd = relay_descriptor(relay), .events = POLLIN};

    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    assert_true(relay_ended(relay));
}

/* ---- bytes ---- */

/* A server that takes one connection. */
static int listen_once(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(descriptor, 1), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return descriptor;
}

struct flow {
    int descriptor;
    uint64_t sent, received; /* generators: the bytes of both directions follow from their seeds */
    size_t to_send, to_receive;
};

/* Sends or receives some, as far as it goes. */
static void move_some(struct flow *flow)
{
    uint8_t bytes[8];

    while (flow->to_send > 0) {
        uint64_t before = flow->sent;
        uint64_t word = random_number(&flow->sent);
        memcpy(bytes, &word, 8);
        ssize_t size = send(flow->descriptor, bytes, 8, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0) {
            assert_int_equal(errno, EAGAIN);
            flow->sent = before;
            break;
        }
        while (size < 8) { /* a word is not cut */
            ssize_t more = send(flow->descriptor, bytes + size, (size_t)(8 - size), MSG_NOSIGNAL);
            assert_true(more > 0);
            size += more;
        }
        flow->to_send--;
    }
    while (flow->to_receive > 0 && recv(flow->descriptor, bytes, 8, MSG_DONTWAIT | MSG_PEEK) == 8) {
        assert_int_equal(recv(flow->descriptor, bytes, 8, 0), 8);
        uint64_t word = random_number(&flow->received);
        assert_memory_equal(bytes, &word, 8);
        flow->to_receive--;
    }
}

/* pair[0] ~ agent's relay ~ our own connection; pair[1] ~ controller's relay ~ the server's. */
static void test_bytes(void **context)
{
    struct relay *agent, *controller;
    uint16_t port;
    int pair[2];
    uint64_t one = random_number(&state), other = random_number(&state);

    (void)context;
    int listener = listen_once(&port);
    make_pair(pair);
    must(relay_listen(&agent, &problem));
    relay_attach(agent, pair[0], pair[0]);
    must(relay_connect(port, pair[1], pair[1], &controller, &problem));
    struct flow client = {connect_to(relay_port(agent)), one, other, 100000, 100000};
    struct flow server = {accept(listener, NULL, NULL), other, one, 100000, 100000};
    while (client.to_send + client.to_receive + server.to_send + server.to_receive > 0) {
        move_some(random_below(&state, 3) == 0 ? &client : &server);
        if (random_below(&state, 50) == 0)
            move_some(&client);
    }
    assert_false(relay_ended(agent));

    /* What was sent before an end arrives, and then all of it ends. */
    client.to_send = server.to_receive = 1000;
    move_some(&client);
    assert_int_equal(client.to_send, 0);
    close(client.descriptor);
    while (server.to_receive > 0)
        move_some(&server);
    char c;
    assert_int_equal(recv(server.descriptor, &c, 1, 0), 0);
    wait_for_end(agent);
    wait_for_end(controller);
    relay_close(agent);
    relay_close(controller);
    close(server.descriptor);
    close(listener);
}

/* ---- who may connect ---- */

/* Another process connects. Returns what it read: 0 at once is the end. */
static int foreign_reads(uint16_t port)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        char c;
        int descriptor = connect_to(port);
        _exit(recv(descriptor, &c, 1, 0) == 1 ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_foreign(void **context)
{
    struct relay *relay;
    int pair[2];
    char c;

    (void)context;
    must(relay_listen(&relay, &problem));
    int descriptor = connect_to(relay_port(relay)); /* nothing is attached */
    assert_int_equal(recv(descriptor, &c, 1, 0), 0);
    close(descriptor);

    make_pair(pair);
    assert_int_equal(write(pair[1], "s", 1), 1); /* what a stranger would like to read */
    relay_attach(relay, pair[0], pair[0]);
    for (int i = 0; i < 20; i++)
        assert_int_equal(foreign_reads(relay_port(relay)), 0);
    descriptor = connect_to(relay_port(relay));
    assert_int_equal(recv(descriptor, &c, 1, 0), 1);
    assert_int_equal(foreign_reads(relay_port(relay)), 0);
    int second = connect_to(relay_port(relay)); /* a pair serves one connection */
    assert_true(recv(second, &c, 1, 0) <= 0);
    close(second);
    assert_int_equal(write(descriptor, "x", 1), 1);
    assert_int_equal(read(pair[1], &c, 1), 1);

    /* Another pair takes the first one's place. */
    int other[2];
    make_pair(other);
    relay_attach(relay, other[0], other[0]);
    assert_true(recv(descriptor, &c, 1, 0) <= 0);
    assert_int_equal(read(pair[1], &c, 1), 0);
    close(descriptor);
    close(pair[1]);
    close(other[1]); /* without a connection, too */
    wait_for_end(relay);
    relay_close(relay);
}

/* Two pipes, as a remote shell gives them, of which the reader has gone: no SIGPIPE. */
static void test_pipes(void **context)
{
    struct relay *relay;
    int to[2], from[2];
    uint16_t port;

    (void)context;
    int listener = listen_once(&port);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    must(relay_connect(port, from[0], to[1], &relay, &problem));
    int server = accept(listener, NULL, NULL);
    close(to[0]);
    assert_int_equal(write(server, "x", 1), 1);
    wait_for_end(relay);
    close(from[1]);
    close(server);
    close(listener);
    relay_close(relay);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(relay_connect(port, to[0], to[1], &relay, &problem), -ECONNREFUSED);
    assert_int_equal(fcntl(to[0], F_GETFD), -1); /* taken over */
}

/* A server says its first line, but does not answer what our own connection sends: then that ends. One that has answered may
 * be silent. */
static void test_no_answer(void **context)
{
    struct relay *relays[2];
    int ends[2][2], tcp[2];
    char byte;

    (void)context;
    for (int i = 0; i < 2; i++) {
        must(relay_listen(&relays[i], &problem));
        make_pair(ends[i]);
        relay_attach(relays[i], ends[i][0], ends[i][0]);
        tcp[i] = connect_to(relay_port(relays[i]));
        assert_int_equal(write(ends[i][1], "i", 1), 1);
        assert_int_equal(read(tcp[i], &byte, 1), 1);
        assert_int_equal(write(tcp[i], "c", 1), 1);
        assert_int_equal(read(ends[i][1], &byte, 1), 1);
    }
    assert_int_equal(write(ends[1][1], "p", 1), 1);
    assert_int_equal(read(tcp[1], &byte, 1), 1);
    wait_for_end(relays[0]);
    assert_int_equal(read(tcp[0], &byte, 1), 0);
    assert_int_equal(write(tcp[1], "m", 1), 1);
    assert_int_equal(read(ends[1][1], &byte, 1), 1);
    assert_int_equal(byte, 'm');
    assert_false(relay_ended(relays[1]));
    for (int i = 0; i < 2; i++) {
        close(tcp[i]);
        close(ends[i][1]);
        relay_close(relays[i]);
    }
}

/* ---- the first lines ---- */

static void test_lines(void **context)
{
    const struct relay_hello hello = {"tsp", "web1", "machine.web1", "0123", .id = "5f0c81d2"};
    const struct relay_answer answer = {"0.1.0", "web1.example.org", ""};
    struct relay_hello read_hello;
    struct relay_answer read_answer;
    int pair[2];
    char rest[8];

    (void)context;
    make_pair(pair);
    must(relay_send_hello(pair[0], &hello, LONG_MS, &problem));
    assert_int_equal(write(pair[0], "INFO", 4), 4);
    must(relay_receive_hello(pair[1], LONG_MS, &read_hello, &problem));
    assert_memory_equal(&hello, &read_hello, sizeof(hello));
    assert_int_equal(read(pair[1], rest, sizeof(rest)), 4); /* what follows was left */
    assert_memory_equal(rest, "INFO", 4);
    must(relay_send_answer(pair[1], &answer, LONG_MS, &problem));
    must(relay_receive_answer(pair[0], LONG_MS, &read_answer, &problem));
    assert_memory_equal(&answer, &read_answer, sizeof(answer));
    close(pair[0]);
    assert_int_equal(relay_send_answer(pair[1], &answer, LONG_MS, &problem), -EPIPE);
    close(pair[1]);
}

static void test_other_lines(void **context)
{
    static const struct {
        const char *line;
        int error;
        const char *shows;
    } cases[] = {
        {"", -EPIPE, "ended"},
        {"{\"dpm\":1", -EPIPE, "ended"},
        {"Welcome to web1!\n", -EPROTO, "Welcome to web1!"},
        {"bash: dpm: command not found", -EPROTO, "command not found"},
        {"{\"dpm\":1}\n", -EPROTO, "not valid"},
        {"{}\n", -EPROTO, "not valid"},
        {"{\"dpm\":\"1\"}\n", -EPROTO, "not valid"},
        {"{\"dpm\":1,\"version\":7,\"host\":\"h\"}\n", -EPROTO, "not valid"},
        {"{\"dpm\":1,\"version\":\"1\",\"host\":\"h\",\"error\":7}\n", -EPROTO, "not valid"},
        {"{\"dpm\":2,\"version\":\"9\",\"host\":\"h\"}\n", -EPROTONOSUPPORT, "version 2"},
    };
    struct relay_answer answer;
    struct relay_hello hello;
    int pair[2];

    (void)context;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        make_pair(pair);
        assert_int_equal(write(pair[0], cases[i].line, strlen(cases[i].line)),
                         strlen(cases[i].line));
        close(pair[0]);
        int error = relay_receive_answer(pair[1], LONG_MS, &answer, &problem);
        if (error != cases[i].error || strstr(problem.text, cases[i].shows) == NULL)
            fail_msg("%s: %d: %s", cases[i].line, error, problem.text);
        close(pair[1]);
    }
    make_pair(pair);
    assert_int_equal(relay_receive_hello(pair[1], 20, &hello, &problem), -ETIMEDOUT);
    char *line = malloc(RELAY_LINE_MOST + 1);
    memset(line, '{', RELAY_LINE_MOST + 1);
    assert_int_equal(write(pair[0], line, RELAY_LINE_MOST + 1), RELAY_LINE_MOST + 1);
    assert_int_equal(relay_receive_hello(pair[1], LONG_MS, &hello, &problem), -EPROTO);
    free(line);
    close(pair[0]);
    close(pair[1]);
}

/* ---- NATS through it ---- */

static void attach(struct relay *agent, struct relay **ret_controller)
{
    int pair[2];

    make_pair(pair);
    relay_attach(agent, pair[0], pair[0]);
    must(relay_connect(fabric_server_port(world.server), pair[1], pair[1], ret_controller,
                       &problem));
}

static void say(struct fabric *agent, unsigned number)
{
    char text[32];

    snprintf(text, sizeof(text), "line %u", number);
    assert_int_equal(fabric_output(agent, 1, false, FABRIC_AT_UNKNOWN, text, strlen(text)), 0);
}

/* The agent's connection goes through the relays. The server dies: the connection ends; with a new pair it goes on. */
static void test_nats(void **context)
{
    struct relay *agent_relay, *controller_relay;
    struct fabric_options options;
    struct fabric_message message;
    struct fabric *agent;
    char url[64], text[32];

    (void)context;
    if (!world_begin(&world, NULL)) {
        print_message("# nats-server is not installed\n");
        skip();
    }
    must(fabric_server_open(world.server, FABRIC_CONTROLLER, &world.controller, &problem));
    must(fabric_create_streams(world.controller, NULL, &problem));
    must(fabric_server_add_machine(world.server, "web1", &problem));
    must(fabric_server_credentials(world.server, NULL, "web1", &options, &problem));
    must(relay_listen(&agent_relay, &problem));
    attach(agent_relay, &controller_relay);
    snprintf(url, sizeof(url), "nats://127.0.0.1:%u", relay_port(agent_relay));
    options.url = url;
    must(fabric_open(&options, LONG_MS, &agent, &problem));
    say(agent, 0);
    must(fabric_settle(agent, LONG_MS, &problem));

    world_kill_server(&world);
    wait_for_end(controller_relay);
    wait_for_end(agent_relay);
    relay_close(controller_relay);
    say(agent, 1); /* while there is no connection */
    world_next(world.controller, FABRIC_STATE, &message);
    fabric_message_done(&message);
    while (!fabric_connected(world.controller)) /* the supervisor has started it again */
        poll(NULL, 0, 20);
    attach(agent_relay, &controller_relay);
    say(agent, 2);
    must(fabric_settle(agent, LONG_MS, &problem));
    must(fabric_listen(world.controller, 0, &problem));
    for (unsigned i = 0; i < 3; i++) {
        world_next(world.controller, FABRIC_OUTPUT, &message);
        snprintf(text, sizeof(text), "line %u", i);
        assert_int_equal(message.size, strlen(text));
        assert_memory_equal(message.bytes, text, message.size);
        fabric_message_done(&message);
    }
    fabric_close(agent);
    relay_close(agent_relay);
    relay_close(controller_relay);
    world_end(&world);
}

/* ---- the first line of a server ---- */

/* A server that sends this line in pieces of one byte, with a pause after each. Ends with 0 if the other side was there for all. */
static pid_t serve_slowly(int listener, const char *line, useconds_t pause)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    int tcp = accept(listener, NULL, NULL);
    while (*line != '\0' && send(tcp, line, 1, MSG_NOSIGNAL) == 1) {
        line++;
        usleep(pause);
    }
    _exit(*line != '\0');
}

static int check_scheme(const char *line, useconds_t pause, int *ret_status)
{
    char url[64];
    uint16_t port;
    int listener = listen_once(&port);
    pid_t pid = serve_slowly(listener, line, pause);

    snprintf(url, sizeof(url), "nats://127.0.0.1:%u", port);
    int result = relay_check_scheme(url, &problem);
    assert_int_equal(waitpid(pid, ret_status, 0), pid);
    close(listener);
    return result;
}

/* It is read however it comes, but not for ever: here a byte in half a second, a minute long. */
static void test_first_line(void **context)
{
    char endless[120];
    int status;

    (void)context;
    assert_int_equal(check_scheme("INFO {\"tls_required\":true}\r\n", 50, &status), -EPROTO);
    assert_non_null(strstr(problem.text, "its server wants encryption: write tls://127.0.0.1:"));
    assert_int_equal(check_scheme("INFO {\"tls_required\":false}\r\n", 50, &status), 0);
    memset(endless, 'I', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_int_equal(check_scheme(endless, 500000, &status), 0);
    assert_int_not_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),       cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_pipes),       cmocka_unit_test(test_lines),
        cmocka_unit_test(test_other_lines), cmocka_unit_test(test_nats),
        cmocka_unit_test(test_first_line),  cmocka_unit_test(test_no_answer),
    };

    state = seed_of_run("relay");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
