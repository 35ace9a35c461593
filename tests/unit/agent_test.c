/* SPDX-License-Identifier: MIT */
/*
 * agent_test.c: an agent as a controller sees it, through a server of its own and a pair of pipes in place of ssh.
 *
 *      test: controller, server --- relay --- pipes --- front (child) --- agent (its child's child)
 *
 * The programs are small shells, so what they write and how they end is known.
 */
#include "agent/agent.h"
#include "base/base64.h"
#include "base/folder.h"
#include "fabric/fabric.h"
#include "launch/launch.h"
#include "relay/relay.h"
#include "server/server.h"
#include "trace/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#define TIME       60000 /* ms */
#define LONG_ALONE 60    /* s */

struct world {
    char folder[64];
    char agents[80];
    char server_folder[80];
    struct fabric_server *server;
    struct fabric *fabric;
    struct relay *relay;
    pid_t front;
    const char *id; /* of the session */
    unsigned alone; /* seconds that the agent goes on without a connection */
};

static struct world world = {.alone = LONG_ALONE};

static bool is_installed(void)
{
    return system("command -v nats-server > /dev/null 2>&1") == 0;
}

/* ---- the machine ---- */

/* What is asked first may go to a connection that has just ended: no answer comes. */
static void wait_for_agent(void)
{
    struct problem problem;
    json_t *hello = NULL;
    int answer = -1;

    for (int i = 0; i < 30 && answer != 0; i++) {
        answer = fabric_call(world.fabric, "web1", "hello", NULL, 2000, &hello, NULL, &problem);
        if (answer != 0)
            usleep(50000);
    }
    assert_int_equal(answer, 0);
    json_decref(hello);
}

static void start_front(struct relay_answer *ret_answer)
{
    struct fabric_options options;
    struct relay_hello hello = {.machine = "web1", .alone = world.alone};
    struct problem problem;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    world.front = fork();
    if (world.front == 0) { /* a program of its own: the threads of libnats are not inherited */
        dup2(pair[1], STDIN_FILENO);
        dup2(pair[1], STDOUT_FILENO);
        execl("/proc/self/exe", "agent_test", world.agents, NULL);
        _exit(EXIT_FAILURE);
    }
    close(pair[1]);
    assert_int_equal(fabric_server_credentials(world.server, NULL, "web1", &options, &problem), 0);
    snprintf(hello.session, sizeof(hello.session), "%s", fabric_server_session(world.server));
    snprintf(hello.id, sizeof(hello.id), "%s", world.id == NULL ? "" : world.id);
    snprintf(hello.user, sizeof(hello.user), "%s", options.user);
    snprintf(hello.password, sizeof(hello.password), "%s", options.password);
    assert_int_equal(relay_send_hello(pair[0], &hello, TIME, &problem), 0);
    assert_int_equal(relay_receive_answer(pair[0], TIME, ret_answer, &problem), 0);
    if (ret_answer->error[0] != '\0')
        fail_msg("%s", ret_answer->error);
    int other = dup(pair[0]);
    assert_int_equal(
        relay_connect(fabric_server_port(world.server), pair[0], other, &world.relay, &problem), 0);
    wait_for_agent();
}

static void end_front(void)
{
    relay_close(world.relay);
    world.relay = NULL;
    waitpid(world.front, NULL, 0);
}

/* Asks the agent; NULL: it refused, and `ret_code` says why. It may need a moment to be connected. */
static json_t *ask(const char *method, json_t *params, int *ret_code)
{
    json_t *result = NULL;
    struct problem problem;
    int answer = -EHOSTUNREACH;

    for (int i = 0; i < 200 && answer == -EHOSTUNREACH; i++) {
        answer =
            fabric_call(world.fabric, "web1", method, params, TIME, &result, ret_code, &problem);
        if (answer == -EHOSTUNREACH)
            usleep(50000);
    }
    json_decref(params);
    if (answer == -EREMOTEIO && ret_code != NULL)
        return NULL;
    if (answer < 0)
        fail_msg("%s: %s", method, problem.text);
    if (ret_code != NULL)
        *ret_code = 0;
    return result;
}

/* ---- what the agent says ---- */

struct heard {
    char output[4096], error[4096];
    json_t *ended; /* params of process.ended */
    bool closed[2];
};

static void hear(struct heard *heard, pid_t pid)
{
    struct pollfd file = {.fd = fabric_descriptor(world.fabric), .events = POLLIN};
    struct fabric_message message;

    uint64_t end = clock_now(CLOCK_MONOTONIC) + TIME * 1000000ULL;

    while (clock_now(CLOCK_MONOTONIC) < end &&
           (heard->ended == NULL || !heard->closed[0] || !heard->closed[1])) {
        poll(&file, 1, 100);
        while (fabric_next(world.fabric, &message) == 1) {
            char *text = message.err ? heard->error : heard->output;
            if (message.kind == FABRIC_OUTPUT && message.pid == pid) {
                strncat(text, message.bytes, message.size);
                heard->closed[message.err] |= message.size == 0;
            }
            if (message.kind == FABRIC_NOTICE && strcmp(message.method, "process.ended") == 0 &&
                json_integer_value(json_object_get(message.params, "pid")) == pid)
                heard->ended = json_incref(message.params);
            fabric_message_done(&message);
        }
    }
}

/* ---- what earlier agents have left ---- */

static void path_of_agent(const char *session, const char *file, char ret_path[160])
{
    snprintf(ret_path, 160, "%s/%s/%s", world.agents, session, file);
}

static void set_age(const char *path, unsigned days)
{
    const struct timespec then = {.tv_sec = time(NULL) - (time_t)days * 24 * 3600};

    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){then, then}, 0), 0);
}

/* As if an agent of another session was killed so many days ago. */
static void leave_spool(const char *session, unsigned days)
{
    static const char *const names[] = {"lock", "r1/control", "r1", ""}; /* then their folders */
    char path[160];

    mkdir(world.agents, 0700);
    path_of_agent(session, "", path);
    mkdir(path, 0700);
    path_of_agent(session, "r1", path);
    mkdir(path, 0700);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        path_of_agent(session, names[i], path);
        if (i < 2)
            close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        path_of_agent(session, names[i], path);
        set_age(path, days);
    }
}

static void path_of_program(const char *name, char ret_path[400])
{
    char host[FOLDER_HOST_SIZE];

    folder_of_host(host);
    snprintf(ret_path, 400, "%s/dpm/%s/programs/%s", world.folder, host, name);
}

/* One that was copied in an earlier session, so long ago. */
static void leave_program(const char *name, int days)
{
    char path[400], command[900];

    path_of_program(name, path);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\" && : > '%s'", path, path);
    assert_int_equal(system(command), 0);
    set_age(path, days);
}

static bool is_there(const char *session)
{
    char path[160];

    path_of_agent(session, "", path);
    return access(path, F_OK) == 0;
}

/* ---- tests ---- */

static int begin(void **state)
{
    struct relay_answer answer;
    struct problem problem;
    const char *folder = getenv("TMPDIR");

    (void)state;
    if (!is_installed())
        return 0;
    snprintf(world.folder, sizeof(world.folder), "%.32s/dpm-agent-XXXXXX",
             folder == NULL ? "/tmp" : folder);
    if (mkdtemp(world.folder) == NULL)
        return -1;
    snprintf(world.agents, sizeof(world.agents), "%s/agents", world.folder);
    snprintf(world.server_folder, sizeof(world.server_folder), "%s/session", world.folder);
    setenv("XDG_CACHE_HOME", world.folder, 1);
    leave_spool("old", 8);
    leave_spool("old.0000abcd", 8);
    leave_spool("young", 6);
    leave_spool("young.5f0c81d2", 6);
    leave_program("old", 8);
    leave_program("young", 6);
    const struct fabric_server_options options = {.session = "s1", .idle_seconds = 60};
    if (fabric_server_start(world.server_folder, &options, &world.server, &problem) < 0 ||
        fabric_server_add_machine(world.server, "web1", &problem) < 0 ||
        fabric_server_open(world.server, FABRIC_CONTROLLER, &world.fabric, &problem) < 0 ||
        fabric_create_streams(world.fabric, NULL, &problem) < 0 ||
        fabric_listen(world.fabric, 0, &problem) < 0) {
        print_error("%s\n", problem.text);
        return -1;
    }
    start_front(&answer);
    return 0;
}

static int end(void **state)
{
    struct problem problem;
    char command[128];

    (void)state;
    if (!is_installed())
        return 0;
    json_decref(ask("agent.end", NULL, NULL));
    for (int i = 0; i < TIME / 20 && is_there("s1"); i++)
        usleep(20000);
    bool stays = is_there("s1"); /* all was sent: nothing of the agent is left */
    end_front();
    fabric_close(world.fabric);
    fabric_server_detach(world.server);
    fabric_server_stop(world.server_folder, &problem);
    snprintf(command, sizeof(command), "rm -rf '%s'", world.folder);
    return system(command) == 0 && !stays ? 0 : -1;
}

/* The agent serves again after its remote shell has ended and another one has come. */
static void test_attached_again(void **state)
{
    struct relay_answer answer;

    (void)state;
    if (!is_installed())
        skip();
    json_t *before = ask("hello", NULL, NULL);
    end_front();
    start_front(&answer);
    json_t *after = ask("hello", NULL, NULL);
    assert_string_equal(json_string_value(json_object_get(before, "boot_id")),
                        json_string_value(json_object_get(after, "boot_id")));
    json_decref(before);
    json_decref(after);
}

static void test_refused(void **state)
{
    static const struct {
        const char *method, *params;
        int code;
    } wrong[] = {
        {"nothing", "{}", FABRIC_NO_METHOD},
        {"hello", "[1]", FABRIC_INVALID_PARAMS},
        {"recording.open", "{}", FABRIC_INVALID_PARAMS},
        {"recording.open", "{\"recording\": \"../x\"}", FABRIC_INVALID_PARAMS},
        {"recording.open", "{\"recording\": \"r\", \"flags\": \"nonsense\"}",
         FABRIC_INVALID_PARAMS},
        {"recording.open", "{\"recording\": \"r\", \"max_size\": 1}", FABRIC_INVALID_PARAMS},
        {"recording.open", "{\"recording\": \"r\", \"meter\": \"ruler\"}", FABRIC_INVALID_PARAMS},
        {"recording.acquire", "{\"recording\": \"none\", \"all\": true}", FABRIC_FAILED},
        {"recording.end", "{\"recording\": \"none\"}", FABRIC_FAILED},
        {"recording.state", "{}", FABRIC_INVALID_PARAMS},
        {"process.create", "{\"recording\": \"none\", \"command\": [\"true\"]}", FABRIC_FAILED},
        {"process.start", "{\"pid\": 1}", FABRIC_NONE},
        {"process.signal", "{\"pid\": 1, \"signal\": 9}", FABRIC_NONE},
        {"process.input", "{\"pid\": \"1\", \"data\": \"\"}", FABRIC_NONE},
        {"program.has", "{\"hash\": \"../../x\"}", FABRIC_INVALID_PARAMS},
        {"program.put", "{\"hash\": \"00\"}", FABRIC_INVALID_PARAMS},
    };

    (void)state;
    if (!is_installed())
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        int code = 0;
        json_t *result = ask(wrong[i].method, json_loads(wrong[i].params, 0, NULL), &code);
        if (result != NULL || code != wrong[i].code)
            fail_msg("%s %s: code %d", wrong[i].method, wrong[i].params, code);
    }
}

/* How many threads a request about a running recording has changed; -1: it was refused. */
static int changed(const char *params)
{
    int code = 0;
    json_t *result = ask("recording.flags", json_loads(params, 0, NULL), &code);
    int threads = result == NULL ? -1 : (int)json_integer_value(json_object_get(result, "threads"));

    json_decref(result);
    return threads;
}

/* What a recording of another process records is changed: replaced, or only in what is named. */
static void test_changed(void **state)
{
    struct heard heard = {0};
    char leave[100];

    (void)state;
    if (!is_installed())
        skip();
    json_t *opened =
        ask("recording.open",
            json_pack("{s:s, s:s, s:s}", "recording", "r6", "kinds", "pipe", "later_kinds", "unix"),
            NULL);
    bool kernel = strcmp(json_string_value(json_object_get(opened, "meter")), "kernel") == 0;
    json_decref(opened);
    json_t *created =
        ask("process.create",
            json_pack("{s:s, s:[s], s:b}", "recording", "r6", "command", "cat", "input", 1), NULL);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    json_decref(ask("process.start", json_pack("{s:i}", "pid", pid), NULL));
    assert_int_equal(changed("{\"recording\": \"r6\"}"), -1);
    assert_int_equal(changed("{\"recording\": \"r6\", \"kinds\": \"pigeon\"}"), -1);
    assert_int_equal(changed("{\"recording\": \"r6\", \"flags\": \"send\", \"pid\": 0}"), -1);
    assert_int_equal(changed("{\"recording\": \"r6\", \"flags\": \"send\", \"pid\": 4294967297}"),
                     -1);
    if (kernel) {
        assert_int_equal(changed("{\"recording\": \"r6\", \"kinds\": \"-pipe\", \"unite\": true}"),
                         1);
        assert_int_equal(changed("{\"recording\": \"r6\", \"kinds\": \"-pipe\", \"unite\": true}"),
                         0);
        assert_int_equal(changed("{\"recording\": \"r6\", \"kinds\": \"pipe, unix\"}"), 1);
        assert_int_equal(changed("{\"recording\": \"r6\", \"kinds\": \"pipe\", \"unite\": true}"),
                         0);
        assert_int_equal(changed("{\"recording\": \"r6\", \"kinds\": \"file\"}"), -1);
        assert_int_equal(changed("{\"recording\": \"r6\", \"flags\": \"-send\", \"unite\": true}"),
                         1);
        assert_int_equal(changed("{\"recording\": \"r6\", \"flags\": \"all\"}"), 1);
        snprintf(leave, sizeof(leave), "{\"recording\": \"r6\", \"leave\": true, \"pid\": %d}",
                 pid);
        assert_int_equal(changed(leave), 1);
        assert_int_equal(changed("{\"recording\": \"r6\", \"flags\": \"send\"}"), 0);
    } else {
        assert_int_equal(changed("{\"recording\": \"r6\", \"leave\": true}"), -1);
    }
    json_decref(
        ask("process.input", json_pack("{s:i, s:s, s:b}", "pid", pid, "data", "", "end", 1), NULL));
    hear(&heard, pid); /* it has run on */
    assert_int_equal(json_integer_value(json_object_get(heard.ended, "status")), 0);
    json_decref(heard.ended);
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "r6"), NULL));
}

/* A command is created suspended, started, reads its input, writes, and ends; its trace arrives whole. */
static void test_process(void **state)
{
    struct heard heard = {0};
    char data[64];

    (void)state;
    if (!is_installed())
        skip();
    json_t *opened = ask("recording.open", json_pack("{s:s}", "recording", "r1"), NULL);
    json_decref(opened);
    json_t *created = ask(
        "process.create",
        json_pack("{s:s, s:[s, s, s], s:s, s:{s:s}, s:b}", "recording", "r1", "command", "sh", "-c",
                  "read word; pwd; echo $word $GREETING; echo SIGPIPE $((0x$(sed -n s/SigIgn:.//p "
                  "/proc/self/status) & 0x1000)); echo FILES $(ls /proc/self/fd); echo error "
                  ">&2; exit 3",
                  "directory", "/usr", "environment", "GREETING", "you", "input", 1),
        NULL);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    assert_int_equal(kill(pid, 0), 0);
    json_decref(ask("process.start", json_pack("{s:i}", "pid", pid), NULL));
    base64_encode("hello\n", 6, data);
    json_decref(ask("process.input",
                    json_pack("{s:i, s:s, s:b}", "pid", pid, "data", data, "end", 1), NULL));
    hear(&heard, pid);
    assert_string_equal(heard.output, "/usr\nhello you\nSIGPIPE 0\nFILES 0 1 2 3\n");
    assert_string_equal(heard.error, "error\n");
    assert_int_equal(json_integer_value(json_object_get(heard.ended, "status")), 3);
    json_decref(heard.ended);

    json_t *ended = ask("recording.end", json_pack("{s:s}", "recording", "r1"), NULL);
    json_int_t records =
        json_integer_value(json_object_get(json_object_get(ended, "trace"), "records"));
    assert_true(records > 10);
    json_decref(ended);
}

/* A name that is cut for process.list is still a text of JSON. */
static void test_long_command(void **state)
{
    char word[401];
    size_t index;
    json_t *one;
    bool found = false;

    (void)state;
    if (!is_installed())
        skip();
    for (size_t i = 0; i < 400; i += 2)
        memcpy(word + i, "\xc3\xa4", 3);
    json_decref(ask("recording.open", json_pack("{s:s}", "recording", "long"), NULL));
    json_t *created = ask("process.create",
                          json_pack("{s:s, s:[s]}", "recording", "long", "command", word), NULL);
    json_int_t pid = json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    json_t *list = ask("process.list", NULL, NULL);
    json_array_foreach(json_object_get(list, "processes"), index, one)
    {
        if (json_integer_value(json_object_get(one, "pid")) != pid)
            continue;
        found = true;
        assert_int_equal(json_string_length(json_object_get(one, "command")), 254);
    }
    assert_true(found);
    json_decref(list);
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "long"), NULL));
}

/* Reads the packets that have come: the copy has as many records as the agent has counted. */
static void test_trace(void **state)
{
    struct fabric_consumer *consumer;
    struct trace_copy *copy = NULL;
    struct fabric_packet packet;
    struct problem problem;
    char path[96];

    (void)state;
    if (!is_installed())
        skip();
    snprintf(path, sizeof(path), "%s/copy", world.folder);
    assert_int_equal(fabric_consumer_new(world.fabric, NULL, "test", 0, &consumer, &problem), 0);
    for (int i = 0; i < TIME / 100 && (copy == NULL || !trace_copy_ended(copy)); i++) {
        if (fabric_consumer_next(consumer, 100, &packet, &problem) != 1)
            continue;
        assert_string_equal(packet.machine, "web1");
        assert_string_equal(packet.recording, "r1");
        if (packet.part == FABRIC_METADATA && copy == NULL)
            assert_int_equal(
                trace_copy_open(path, packet.bytes, packet.size, NULL, &copy, &problem), 0);
        else if (packet.part != FABRIC_METADATA)
            assert_int_equal(
                trace_copy_add(copy, packet.part == FABRIC_CONTROL ? RING_CONTROL : RING_DATA,
                               packet.place.file, packet.bytes, packet.size, &problem),
                1);
        fabric_consumer_done(consumer, &packet, true);
    }
    fabric_consumer_free(consumer);
    assert_true(copy != NULL && trace_copy_ended(copy));
    assert_int_equal(trace_copy_counts(copy).missing, 0);
    assert_int_equal(trace_copy_close(copy, &problem), 0);
    const char *paths[] = {path};
    struct source *source;
    struct event event;
    uint64_t complete;
    assert_int_equal(trace_open(paths, 1, &source, &problem), 0);
    while (source->next(source, &event, &complete, &problem) == SOURCE_RECORD)
        ;
    assert_true(source_is_whole(&source->states[0]));
    assert_int_equal(source->states[0].lost, 0);
    trace_close(source);
}

/* What was stopped, and what was never started, does not stay when its recording ends. */
static void test_nothing_stays(void **state)
{
    struct heard heard = {0};
    int status = 0;

    (void)state;
    if (!is_installed())
        skip();
    json_decref(ask("recording.open", json_pack("{s:s}", "recording", "r2"), NULL));
    json_t *created =
        ask("process.create",
            json_pack("{s:s, s:[s, s]}", "recording", "r2", "command", "sleep", "60"), &status);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    assert_int_equal(kill(pid, 0), 0);
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "r2"), NULL));
    hear(&heard, pid);
    assert_int_equal(json_integer_value(json_object_get(heard.ended, "signal")), SIGKILL);
    assert_int_equal(kill(pid, 0), -1);
    json_decref(heard.ended);
}

/* Whether the agent says this of the recording. */
static bool says(const char *method, const char *recording)
{
    struct pollfd file = {.fd = fabric_descriptor(world.fabric), .events = POLLIN};
    struct fabric_message message;
    bool said = false;
    uint64_t end = clock_now(CLOCK_MONOTONIC) + TIME * 1000000ULL;

    while (clock_now(CLOCK_MONOTONIC) < end && !said) {
        poll(&file, 1, 100);
        while (!said && fabric_next(world.fabric, &message) == 1) {
            const char *name = message.kind == FABRIC_NOTICE
                                   ? json_string_value(json_object_get(message.params, "recording"))
                                   : NULL;
            said =
                name != NULL && strcmp(message.method, method) == 0 && strcmp(name, recording) == 0;
            fabric_message_done(&message);
        }
    }
    return said;
}

static pid_t start_one(const char *recording, const char *program)
{
    json_t *created =
        ask("process.create",
            json_pack("{s:s, s:[s], s:b}", "recording", recording, "command", program, "input", 1),
            NULL);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));

    json_decref(created);
    json_decref(ask("process.start", json_pack("{s:i}", "pid", pid), NULL));
    return pid;
}

/* That a recording has no process any more is taken back when it has one again. */
static void test_idle_and_busy(void **state)
{
    struct heard heard = {0};

    (void)state;
    if (!is_installed())
        skip();
    json_t *opened = ask("recording.open", json_pack("{s:s}", "recording", "r7"), NULL);
    bool kernel = strcmp(json_string_value(json_object_get(opened, "meter")), "kernel") == 0;
    json_decref(opened);
    start_one("r7", "true");
    assert_true(says("recording.idle", "r7"));
    if (kernel) { /* the ptrace meter has one process only */
        pid_t cat = start_one("r7", "cat");
        assert_true(says("recording.busy", "r7"));
        json_decref(ask("process.input",
                        json_pack("{s:i, s:s, s:b}", "pid", cat, "data", "", "end", 1), NULL));
        hear(&heard, cat);
        assert_int_equal(json_integer_value(json_object_get(heard.ended, "status")), 0);
        json_decref(heard.ended);
    }
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "r7"), NULL));
}

/* Returns 0, or the code of the refusal. `data`: base64; `at` negative: left out. */
static int give(pid_t pid, const char *data, int at, bool end)
{
    json_t *params = json_pack("{s:i, s:s, s:b}", "pid", pid, "data", data, "end", end);
    int code = 0;

    if (at >= 0)
        json_object_set_new(params, "at", json_integer(at));
    json_decref(ask("process.input", params, &code));
    return code;
}

/* A controller that has got no answer gives a piece again: the process reads it once. */
static void test_input_again(void **state)
{
    struct heard heard = {0};

    (void)state;
    if (!is_installed())
        skip();
    json_decref(ask("recording.open", json_pack("{s:s}", "recording", "r8"), NULL));
    pid_t cat = start_one("r8", "cat");
    assert_int_equal(give(cat, "YWJj", 0, false), 0);  /* abc */
    assert_int_equal(give(cat, "YWJj", 0, false), 0);  /* again */
    assert_int_equal(give(cat, "Y2Rl", 2, false), 0);  /* cde: de is new */
    assert_int_equal(give(cat, "YQ==", -1, false), 0); /* a */
    assert_int_equal(give(cat, "YQ==", 7, false), FABRIC_INVALID_PARAMS);
    assert_int_equal(give(cat, "Cg==", 6, true), 0);
    assert_int_equal(give(cat, "Cg==", 6, true), 0); /* it has that, and the end */
    hear(&heard, cat);
    assert_string_equal(heard.output, "abcdea\n");
    json_decref(heard.ended);
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "r8"), NULL));
}

/* Requests are answered while a process writes without end. */
static void test_much_output(void **state)
{
    const char *state_of = NULL;

    (void)state;
    if (!is_installed())
        skip();
    json_decref(ask("recording.open", json_pack("{s:s}", "recording", "r4"), NULL));
    json_t *created =
        ask("process.create", json_pack("{s:s, s:[s]}", "recording", "r4", "command", "yes"), NULL);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    json_decref(ask("process.start", json_pack("{s:i}", "pid", pid), NULL));
    for (int i = 0; i < 5; i++)
        json_decref(ask("hello", NULL, NULL));
    json_decref(
        ask("process.signal", json_pack("{s:i, s:s}", "pid", pid, "signal", "SIGKILL"), NULL));
    for (int i = 0; i < TIME / 20 && (state_of == NULL || strcmp(state_of, "ended") != 0); i++) {
        json_t *list = ask("process.list", NULL, NULL);
        const json_t *last = json_array_get(json_object_get(list, "processes"), 0);
        assert_int_equal(json_integer_value(json_object_get(last, "pid")), pid);
        state_of = strcmp(json_string_value(json_object_get(last, "state")), "ended") == 0
                       ? "ended"
                       : "running";
        json_decref(list);
        usleep(20000);
    }
    assert_string_equal(state_of, "ended");
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "r4"), NULL));
}

/* What the agent of another session has left stays for a week; so does a program that it has copied. */
static void test_old_spools(void **state)
{
    char path[400];

    (void)state;
    if (!is_installed())
        skip();
    assert_false(is_there("old"));
    assert_false(is_there("old.0000abcd"));
    assert_true(is_there("young"));
    assert_true(is_there("young.5f0c81d2"));
    path_of_program("old", path);
    assert_int_equal(access(path, F_OK), -1);
    path_of_program("young", path);
    assert_int_equal(access(path, F_OK), 0);
}

static json_t *put(const char *hash, size_t offset, size_t size, const char *bytes, size_t count,
                   int *ret_code)
{
    char data[BASE64_LENGTH(64) + 1];

    base64_encode(bytes, count, data);
    return ask("program.put",
               json_pack("{s:s, s:i, s:i, s:s}", "hash", hash, "offset", (int)offset, "size",
                         (int)size, "data", data),
               ret_code);
}

static void runs_copied(const char *hash, const char *user)
{
    struct heard heard = {0};
    char expected[64];
    json_t *params = json_pack("{s:s, s:[s, s], s:s}", "recording", "r3", "command", "name", "well",
                               "program", hash);

    if (user != NULL)
        json_object_set_new(params, "user", json_string(user));
    json_t *created = ask("process.create", params, NULL);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    json_decref(ask("process.start", json_pack("{s:i}", "pid", pid), NULL));
    hear(&heard, pid);
    snprintf(expected, sizeof(expected), "copied well %.15s\n", hash);
    assert_string_equal(heard.output, expected);
    assert_int_equal(json_integer_value(json_object_get(heard.ended, "status")), 0);
    json_decref(heard.ended);
}

static json_t *find_program(const char *user)
{
    json_t *params = json_pack("{s:s, s:s}", "program", "./found", "directory", world.folder);

    if (user != NULL)
        json_object_set_new(params, "user", json_string(user));
    return ask("program.find", params, NULL);
}

/* Where the user may not go, nothing is found for him, although the agent may. */
static void test_program_found(void **state)
{
    char path[100];

    (void)state;
    if (!is_installed())
        skip();
    snprintf(path, sizeof(path), "%s/./found", world.folder);
    close(open(path, O_WRONLY | O_CREAT, 0755));
    json_t *found = find_program(NULL);
    assert_string_equal(json_string_value(json_object_get(found, "directory")), world.folder);
    assert_string_equal(json_string_value(json_object_get(found, "path")), path);
    json_decref(found);
    const struct passwd *nobody = geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (nobody == NULL)
        return;
    found = find_program("nobody");
    const char *home = access(nobody->pw_dir, X_OK) == 0 ? nobody->pw_dir : "/";
    assert_string_equal(json_string_value(json_object_get(found, "directory")), home);
    assert_null(json_object_get(found, "path"));
    json_decref(found);
}

/* A program is copied in pieces, checked, and run: it is there once for all. */
static void test_program_runs(void **state)
{
    static const char script[] = "#!/bin/sh\nread name < /proc/$$/comm\necho copied $1 $name\n";
    const size_t size = sizeof(script) - 1, half = size / 2;
    char hash[33];
    int code = 0;

    (void)state;
    if (!is_installed())
        skip();
    XXH128_hash_t is = XXH3_128bits(script, size);
    snprintf(hash, sizeof(hash), "%016llx%016llx", (unsigned long long)is.high64,
             (unsigned long long)is.low64);
    json_t *state_of = put(hash, 0, size, script, half, NULL);
    assert_int_equal(json_integer_value(json_object_get(state_of, "bytes")), half);
    assert_true(json_is_false(json_object_get(state_of, "complete")));
    json_decref(state_of);
    assert_null(put(hash, half, size, script, half + 3, &code)); /* more than there is */
    assert_int_equal(code, FABRIC_INVALID_PARAMS);
    assert_null(put(hash, 0, size, script, half, &code)); /* was there already */
    assert_int_equal(code, FABRIC_INVALID_PARAMS);
    state_of = put(hash, half, size, script + half, size - half, NULL);
    assert_true(json_is_true(json_object_get(state_of, "complete")));
    json_decref(state_of);

    json_decref(ask("recording.open", json_pack("{s:s}", "recording", "r3"), NULL));
    runs_copied(hash, NULL);
    if (geteuid() == 0 && getpwnam("nobody") != NULL)
        runs_copied(hash, "nobody"); /* who cannot go to the folder of copies */
    json_decref(ask("recording.end", json_pack("{s:s}", "recording", "r3"), NULL));
}

/* A program with another content than its hash says is refused. */
static void test_program_refused(void **state)
{
    static const char hash[] = "00000000000000000000000000000001";
    int code = 0;

    (void)state;
    if (!is_installed())
        skip();
    json_t *has = ask("program.has", json_pack("{s:s}", "hash", hash), NULL);
    assert_false(json_is_true(json_object_get(has, "complete")));
    json_decref(has);
    /* the content does not have this hash */
    json_t *result =
        ask("program.put",
            json_pack("{s:s, s:i, s:i, s:s}", "hash", hash, "offset", 0, "size", 3, "data", "Zm9v"),
            &code);
    assert_null(result);
    assert_int_equal(code, FABRIC_FAILED);
}

/* Without a connection, an agent ends after a while, and what was never started ends with it. The next agent sends what is
 * left. */
static void test_abandoned(void **state)
{
    struct relay_answer answer;
    char path[160];

    (void)state;
    if (!is_installed())
        skip();
    json_decref(ask("recording.open", json_pack("{s:s}", "recording", "r5"), NULL));
    json_t *created = ask("process.create",
                          json_pack("{s:s, s:[s]}", "recording", "r5", "command", "true"), NULL);
    pid_t pid = (pid_t)json_integer_value(json_object_get(created, "pid"));
    json_decref(created);
    end_front();
    world.alone = 1;
    start_front(&answer);
    end_front();
    world.alone = LONG_ALONE;
    path_of_agent("s1", "socket", path);
    for (int i = 0; i < TIME / 20 && access(path, F_OK) == 0; i++)
        usleep(20000);
    assert_int_equal(kill(pid, 0), -1);
    assert_true(is_there("s1/r5"));
    start_front(&answer);
    json_t *r5 = ask("recording.state", json_pack("{s:s}", "recording", "r5"), NULL);
    assert_true(json_is_false(json_object_get(r5, "active")));
    json_decref(r5);
}

/* An agent that an earlier session of the same name could not end is no obstacle: it stays as it is. */
static void test_other_session(void **state)
{
    struct relay_answer answer;
    int code = 0;

    (void)state;
    if (!is_installed())
        skip();
    end_front();
    world.id = "5f0c81d2";
    start_front(&answer);
    assert_null(ask("recording.state", json_pack("{s:s}", "recording", "r5"), &code));
    assert_int_equal(code, FABRIC_FAILED);
    assert_true(is_there("s1.5f0c81d2"));
    assert_true(is_there("s1"));
    json_decref(ask("agent.end", NULL, NULL));
    end_front();
    for (int i = 0; i < TIME / 20 && is_there("s1.5f0c81d2"); i++)
        usleep(20000);
    assert_false(is_there("s1.5f0c81d2"));
    world.id = NULL;
    start_front(&answer);
}

/* In the place of `dpm agent`. */
static int be_front(const char *agents)
{
    struct agent_options options = {.patience = 5, .folder = agents};
    struct problem problem;

    return agent_front(STDIN_FILENO, STDOUT_FILENO, &options, &problem) < 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attached_again), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_process),        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_trace),          cmocka_unit_test(test_nothing_stays),
        cmocka_unit_test(test_idle_and_busy),  cmocka_unit_test(test_input_again),
        cmocka_unit_test(test_much_output),    cmocka_unit_test(test_old_spools),
        cmocka_unit_test(test_program_runs),   cmocka_unit_test(test_program_refused),
        cmocka_unit_test(test_long_command),   cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_other_session),  cmocka_unit_test(test_program_found),
    };

    if (argc > 1) {
        launch_settle();
        return be_front(argv[1]);
    }
    return cmocka_run_group_tests(tests, begin, end);
}
