/* SPDX-License-Identifier: MIT */
/* fabric_rights_test.c: what a user of a session may not do, and who may read its files. */
#include "fabric/nats_library.h"
#include "fabric_world.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* ---- one by one ---- */

static natsConnection *connect_as(const struct fabric_options *options)
{
    natsOptions *to;
    natsConnection *connection = NULL;

    assert_int_equal(natsOptions_Create(&to), NATS_OK);
    natsOptions_SetURL(to, options->url);
    natsOptions_SetUserInfo(to, options->user, options->password);
    natsOptions_SetAllowReconnect(to, false);
    assert_int_equal(natsConnection_Connect(&connection, to), NATS_OK);
    natsOptions_Destroy(to);
    return connection;
}

/* Whether the server refused what was sent last: it says so before it answers a ping. */
static bool was_refused(natsConnection *connection)
{
    const char *text = NULL;

    assert_int_equal(natsConnection_FlushTimeout(connection, LONG_MS), NATS_OK);
    natsConnection_GetLastError(connection, &text);
    return text != NULL && strstr(text, "ermissions") != NULL; /* Permissions Violation */
}

/* `format` has %1$s for the session. Each has a connection of its own, so that refusals are not mixed up. */
static bool may(const struct fabric_options *options, const char *verb, const char *format)
{
    char subject[256];
    natsConnection *connection = connect_as(options);
    natsSubscription *subscription = NULL;

    snprintf(subject, sizeof(subject), format, options->session);
    if (strcmp(verb, "publish") == 0)
        natsConnection_PublishString(connection, subject, "{}");
    else
        natsConnection_SubscribeSync(&subscription, connection, subject);
    bool refused = was_refused(connection);
    natsSubscription_Destroy(subscription);
    natsConnection_Destroy(connection);
    return !refused;
}

static void check(const struct fabric_options *options, bool allowed, const char *verb,
                  const char *const *formats, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (may(options, verb, formats[i]) != allowed)
            fail_msg("%s %s %s %s", options->user, allowed ? "may not" : "may", verb, formats[i]);
}

static void test_agent(void **context)
{
    static const char *const publishes[] = {
        "dpm.%1$s.web1.packets.main.data",
        "dpm.%1$s.web1.notice",
        "dpm.%1$s.web1.output.1.out",
        "$JS.API.DIRECT.GET.dpm-%1$s-packets.dpm.%1$s.web1.packets.main.data",
    };
    static const char *const never_publishes[] = {
        "dpm.%1$s.web2.packets.main.data",
        "dpm.%1$s.web2.notice",
        "dpm.%1$s.web2.output.1.out",
        "dpm.%1$s.web2.control",
        "dpm.%1$s.web1.control",
        "dpm.other.web1.packets.main.data",
        "$JS.API.DIRECT.GET.dpm-%1$s-packets",
        "$JS.API.DIRECT.GET.dpm-%1$s-packets.dpm.%1$s.web2.packets.main.data",
        "$JS.API.STREAM.MSG.GET.dpm-%1$s-packets",
        "$JS.API.STREAM.MSG.DELETE.dpm-%1$s-packets",
        "$JS.API.STREAM.CREATE.own",
        "$JS.API.STREAM.UPDATE.dpm-%1$s-packets",
        "$JS.API.STREAM.PURGE.dpm-%1$s-packets",
        "$JS.API.STREAM.DELETE.dpm-%1$s-packets",
        "$JS.API.STREAM.INFO.dpm-%1$s-packets",
        "$JS.API.STREAM.NAMES",
        "$JS.API.CONSUMER.CREATE.dpm-%1$s-packets",
        "$JS.API.CONSUMER.DURABLE.CREATE.dpm-%1$s-packets.own",
        "$JS.API.CONSUMER.MSG.NEXT.dpm-%1$s-packets.own",
        "$JS.API.INFO",
        "$JS.ACK.dpm-%1$s-packets.filter1.1.1.1.1.1",
        "$KV.jobs.key",
        "_INBOX.controller.1",
        "_INBOX.filter.1",
        "_INBOX_web2.1",
        "_INBOX_web1.1",
        "$SYS.REQ.SERVER.PING",
    };
    static const char *const subscribes[] = {"dpm.%1$s.web1.control", "_INBOX_web1.>"};
    static const char *const never_subscribes[] = {
        "dpm.%1$s.web2.control",
        "dpm.%1$s.*.control",
        "dpm.%1$s.web1.packets.>",
        "dpm.>",
        "_INBOX.>",
        "_INBOX.controller.>",
        "_INBOX_web2.>",
        "_INBOX_web1",
        "$JS.>",
        "$KV.>",
        "$SYS.>",
        ">",
    };
    struct fabric_options options;

    need_server(context);
    must(fabric_server_add_machine(world.server, "web2", &problem));
    must(fabric_server_credentials(world.server, NULL, "web1", &options, &problem));
    check(&options, true, "publish", publishes, ARRAY_SIZE(publishes));
    check(&options, false, "publish", never_publishes, ARRAY_SIZE(never_publishes));
    check(&options, true, "subscribe", subscribes, ARRAY_SIZE(subscribes));
    check(&options, false, "subscribe", never_subscribes, ARRAY_SIZE(never_subscribes));
}

static void test_filter(void **context)
{
    static const char *const never_publishes[] = {
        "dpm.%1$s.web1.packets.main.data",
        "dpm.%1$s.web1.control",
        "dpm.%1$s.web1.notice",
        "$JS.API.STREAM.CREATE.own",
        "$JS.API.STREAM.UPDATE.dpm-%1$s-packets",
        "$JS.API.STREAM.PURGE.dpm-%1$s-packets",
        "$JS.API.STREAM.DELETE.dpm-%1$s-packets",
        "$JS.API.STREAM.MSG.DELETE.dpm-%1$s-packets",
        "$KV.jobs.key",
        "_INBOX.controller.1",
    };
    static const char *const never_subscribes[] = {"dpm.>", "_INBOX.>", "_INBOX.controller.>", ">"};
    struct fabric_options options;
    struct fabric *filter;
    struct fabric_consumer *consumer;
    struct fabric_message message;

    need_server(context);
    must(fabric_server_credentials(world.server, FABRIC_FILTER, NULL, &options, &problem));
    check(&options, false, "publish", never_publishes, ARRAY_SIZE(never_publishes));
    check(&options, false, "subscribe", never_subscribes, ARRAY_SIZE(never_subscribes));

    /* What it is for works. */
    must(fabric_server_open(world.server, FABRIC_FILTER, &filter, &problem));
    must(fabric_consumer_new(filter, NULL, "filter1", 0, &consumer, &problem));
    must(fabric_listen(filter, 0, &problem));
    assert_int_equal(fabric_notice(world.agent, "started", NULL), 0);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    world_next(filter, FABRIC_NOTICE, &message);
    fabric_message_done(&message);
    fabric_consumer_free(consumer);
    fabric_close(filter);
}

/* A filter on another machine has the credentials in a file. */
static void test_credentials_file(void **context)
{
    struct fabric_options options;
    struct fabric *filter;
    struct fabric_consumer *consumer;
    char path[128];

    need_server(context);
    must(fabric_server_credentials(world.server, FABRIC_FILTER, NULL, &options, &problem));
    snprintf(path, sizeof(path), "%s/filter.credentials", world.folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "%s:%s\n", options.user, options.password);
    fclose(file);
    options.user = options.password = NULL;
    options.credentials = path;
    must(fabric_open(&options, LONG_MS, &filter, &problem));
    must(fabric_consumer_new(filter, NULL, "filter1", 0, &consumer, &problem));
    fabric_consumer_free(consumer);
    fabric_close(filter);

    file = fopen(path, "w");
    fputs("nothing of the kind\n", file);
    fclose(file);
    assert_int_equal(fabric_open(&options, LONG_MS, &filter, &problem), -EINVAL);
    assert_non_null(strstr(problem.text, "neither a .creds file"));
}

/* An agent answers the one who asked, once, and that is all it can send there. */
static void test_answer_once(void **context)
{
    struct fabric_options options;
    natsSubscription *subscription = NULL;
    natsMsg *request = NULL;

    need_server(context);
    fabric_close(world.agent);
    world.agent = NULL;
    must(fabric_server_credentials(world.server, NULL, "web1", &options, &problem));
    natsConnection *agent = connect_as(&options);
    char subject[256];
    snprintf(subject, sizeof(subject), "dpm.%s.web1.control", options.session);
    assert_int_equal(natsConnection_SubscribeSync(&subscription, agent, subject), NATS_OK);
    natsConnection_FlushTimeout(agent, LONG_MS);
    assert_true(fabric_call_begin(world.controller, "web1", "x", NULL, &problem) > 0);
    assert_int_equal(natsSubscription_NextMsg(&request, subscription, LONG_MS), NATS_OK);
    natsConnection_PublishString(agent, natsMsg_GetReply(request), "{}");
    assert_false(was_refused(agent));
    natsConnection_PublishString(agent, natsMsg_GetReply(request), "{}");
    assert_true(was_refused(agent));
    natsMsg_Destroy(request);
    natsSubscription_Destroy(subscription);
    natsConnection_Destroy(agent);
}

static void test_strangers(void **context)
{
    struct fabric_options options;
    struct fabric *fabric;

    need_server(context);
    must(fabric_server_credentials(world.server, NULL, "web1", &options, &problem));
    options.password = "wrong";
    assert_int_equal(fabric_open(&options, LONG_MS, &fabric, &problem), -EACCES);
    assert_non_null(strstr(problem.text, "refuses the credentials"));
    options.user = options.password = NULL;
    assert_int_equal(fabric_open(&options, LONG_MS, &fabric, &problem), -EACCES);
    options.url = "nats://127.0.0.1:1";
    assert_int_equal(fabric_open(&options, LONG_MS, &fabric, &problem), -ECONNREFUSED);
    options.session = "a b";
    assert_int_equal(fabric_open(&options, LONG_MS, &fabric, &problem), -EINVAL);
}

/* As user 65534: 0 if none of the session's files can be opened; 77: only root can try. */
static int open_as_another_user(const char *folder)
{
    static const char *const names[] = {"session.json", "nats.conf", "server.log", "store", "."};
    char path[128];

    if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
        setresuid(65534, 65534, 65534) != 0)
        return 77;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        if (open(path, O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
            return 1;
    }
    return 0;
}

static void test_another_user(void **context)
{
    int status;

    need_server(context);
    pid_t child = fork();
    if (child == 0)
        _exit(open_as_another_user(world.folder));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("# needs root, to become another user\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The caller learns that what it published is refused. */
static void test_refusal_reported(void **context)
{
    struct fabric_options options;
    struct fabric *fabric;
    struct fabric_message message;

    need_server(context);
    must(fabric_server_add_machine(world.server, "web2", &problem));
    must(fabric_server_credentials(world.server, NULL, "web2", &options, &problem));
    options.machine = "web3";
    options.inbox = "_INBOX_web2";
    assert_int_equal(fabric_open(&options, LONG_MS, &fabric, &problem), -EACCES);
    assert_non_null(strstr(problem.text, "web3.control")); /* it would hear nothing */
    options.machine = "web2";
    must(fabric_open(&options, LONG_MS, &fabric, &problem));
    assert_true(fabric_call_begin(fabric, "web3", "anything", NULL, &problem) > 0);
    world_next(fabric, FABRIC_TROUBLE, &message);
    assert_non_null(strstr(message.text, "web3.control"));
    fabric_message_done(&message);
    fabric_close(fabric);
}

/* A new machine does not disturb the others. */
static void test_add_machine(void **context)
{
    struct fabric_message message;
    struct fabric_options options;

    need_server(context);
    must(fabric_server_add_machine(world.server, "web2", &problem));
    must(fabric_server_add_machine(world.server, "web2", &problem));
    assert_int_equal(fabric_server_add_machine(world.server, "Web 2", &problem), -EINVAL);
    assert_int_equal(fabric_server_credentials(world.server, NULL, "web3", &options, &problem),
                     -ENOENT);
    assert_int_equal(fabric_notice(world.agent, "started", NULL), 0);
    must(fabric_settle(world.agent, LONG_MS, &problem));
    while (fabric_next(world.agent, &message) == 1) {
        assert_int_not_equal(message.kind, FABRIC_STATE);
        fabric_message_done(&message);
    }
    assert_true(fabric_connected(world.agent));
}

/* ---- secrets ---- */

static size_t read_file(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file == NULL ? 0 : fread(bytes, 1, size, file);

    if (file != NULL)
        fclose(file);
    return length;
}

static void check_process(pid_t pid, const char *const *secrets, size_t count)
{
    static const char *const names[] = {"cmdline", "environ"};
    static char bytes[1 << 20];
    char path[64];

    assert_true(pid > 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, names[i]);
        size_t size = read_file(path, bytes, sizeof(bytes));
        for (size_t j = 0; j < count; j++)
            assert_null(memmem(bytes, size, secrets[j], strlen(secrets[j])));
    }
}

static void check_modes(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    struct stat status;
    char path[4096];

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (lstat(path, &status) != 0)
            continue; /* the server works there */
        if ((status.st_mode & 077) != 0)
            fail_msg("%s has mode %o", path, status.st_mode & 07777);
        if (S_ISDIR(status.st_mode) && strcmp(entry->d_name, ".") != 0)
            check_modes(path);
    }
    closedir(entries);
}

static void test_secrets(void **context)
{
    struct fabric_options options[3];
    const char *secrets[3];
    char path[64];

    need_server(context);
    must(fabric_server_credentials(world.server, FABRIC_CONTROLLER, NULL, &options[0], &problem));
    must(fabric_server_credentials(world.server, FABRIC_FILTER, NULL, &options[1], &problem));
    must(fabric_server_credentials(world.server, NULL, "web1", &options[2], &problem));
    for (int i = 0; i < 3; i++) {
        secrets[i] = options[i].password;
        assert_int_equal(strlen(secrets[i]), FABRIC_SECRET_SIZE - 1);
        assert_true(i == 0 || strcmp(secrets[i], secrets[i - 1]) != 0);
    }
    pid_t server = world_server_process(&world);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)server);
    check_process(server, secrets, 3);
    check_process((pid_t)world_number_behind(path, "PPid:"), secrets, 3);
    check_process(getpid(), secrets, 3);
    assert_int_equal(fabric_notice(world.agent, "started", NULL), 0); /* the store has files */
    must(fabric_settle(world.agent, LONG_MS, &problem));
    check_modes(world.folder);
}

/* ---- the server's life ---- */

static void wait_until_gone(pid_t pid)
{
    while (kill(pid, 0) == 0)
        poll(NULL, 0, 20);
}

/* Stopped and started again: the same port, users and streams. */
static void test_again(void **context)
{
    struct fabric_usage before, after;
    struct fabric_server *again;

    need_server(context);
    uint16_t port = fabric_server_port(world.server);
    must(fabric_usage(world.controller, &before, &problem));
    pid_t pid = world_server_process(&world);
    must(fabric_server_stop(world.folder, &problem));
    wait_until_gone(pid);
    must(fabric_server_stop(world.folder, &problem));
    must(fabric_server_attach(world.folder, &again, &problem));
    assert_int_equal(fabric_server_port(again), port);
    struct fabric_message message;
    world_next(world.controller, FABRIC_STATE, &message);
    fabric_message_done(&message);
    while (!fabric_connected(world.controller))
        poll(NULL, 0, 20);
    must(fabric_usage(world.controller, &after, &problem));
    assert_int_equal(after.said, before.said);
    fabric_server_detach(again);
}

static void test_folder_vanishes(void **context)
{
    need_server(context);
    pid_t pid = world_server_process(&world);
    fabric_close(world.controller);
    fabric_close(world.agent);
    world.controller = world.agent = NULL;
    fabric_server_detach(world.server);
    world_remove(world.folder);
    wait_until_gone(pid);
    world.folder[0] = '\0'; /* nothing is left to end */
}

static void test_idle(void **context)
{
    const struct fabric_server_options options = {.idle_seconds = 1};

    (void)context;
    if (!world_begin(&world, &options))
        skip();
    pid_t pid = world_server_process(&world);
    poll(NULL, 0, 2000);
    assert_int_equal(kill(pid, 0), 0); /* attached */
    fabric_server_detach(world.server);
    world.server = NULL;
    wait_until_gone(pid);
    world_end(&world);
}

static void test_folders(void **context)
{
    struct fabric_server *server;
    char path[128];

    need_server(context);
    snprintf(path, sizeof(path), "%s/open", world.folder);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(fabric_server_start(path, NULL, &server, &problem), -EPERM);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(fabric_server_attach(path, &server, &problem), -ENOENT);
    assert_non_null(strstr(problem.text, "there is no session here"));
    snprintf(path, sizeof(path), "%s/open/session.json", world.folder);
    FILE *file = fopen(path, "w");
    fputs("{\"dpm\": 1, \"users\": []}", file);
    fclose(file);
    *strrchr(path, '/') = '\0';
    assert_int_equal(fabric_server_start(path, NULL, &server, &problem), -EINVAL);
    assert_int_equal(fabric_server_attach("/nonexistent", &server, &problem), -ENOENT);
}

/* In a mount namespace without nats-server. */
static int start_without_server(const char *folder)
{
    struct fabric_server *server;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        (access("/usr/sbin/nats-server", F_OK) == 0 &&
         mount("/dev/null", "/usr/sbin/nats-server", NULL, MS_BIND, NULL) != 0))
        return 77;
    setenv("PATH", "/usr/bin:/bin", 1);
    int error = fabric_server_start(folder, NULL, &server, &problem);
    return error == -ENOENT && strcmp(problem.text, "nats-server is not installed; install the "
                                                    "package nats-server") == 0
               ? 0
               : 1;
}

static void test_not_installed(void **context)
{
    char folder[] = "/tmp/dpm-fabric-XXXXXX";
    int status;

    (void)context;
    assert_non_null(mkdtemp(folder));
    pid_t child = fork();
    if (child == 0)
        _exit(start_without_server(folder));
    assert_int_equal(waitpid(child, &status, 0), child);
    world_remove(folder);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("# needs root, to hide nats-server\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_installed),
        cmocka_unit_test_setup_teardown(test_agent, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_filter, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_credentials_file, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_answer_once, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_strangers, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_another_user, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_refusal_reported, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_add_machine, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_secrets, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_again, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_folder_vanishes, begin_pair, end_world),
        cmocka_unit_test_setup_teardown(test_folders, begin_pair, end_world),
        cmocka_unit_test(test_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
