/* SPDX-License-Identifier: MIT */
/*
 * agent.c: the agent itself: one loop around the fabric, the recordings, the created processes, and the fronts.
 */
#include "agent/agent_private.h"
#include "base/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_TIME  5000  /* ms */
#define CONNECT_TIME 10000 /* ms */
#define SETTLE_TIME  5000  /* ms */
#define OUTPUT_TIME  1000  /* ms */
#define OWN_FILES    5
#define PAUSE                                                                                      \
    50 /* ms: new packets, notices and output that the fabric has refused have no descriptor */

/* Into the log. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("dpm agent: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* ---- notices ---- */

/* The first notice that waits, or NULL. The caller owns it. */
static json_t *first_notice(struct agent *agent)
{
    pthread_mutex_lock(&agent->lock_of_notices);
    json_t *first = json_incref(json_array_get(agent->notices, 0));
    pthread_mutex_unlock(&agent->lock_of_notices);
    return first;
}

static void remove_first(struct agent *agent)
{
    pthread_mutex_lock(&agent->lock_of_notices);
    json_array_remove(agent->notices, 0);
    pthread_mutex_unlock(&agent->lock_of_notices);
}

static void send_notices(struct agent *agent)
{
    json_t *first;
    int result = 0;

    while (agent->fabric != NULL && result != -EAGAIN && (first = first_notice(agent)) != NULL) {
        result = fabric_notice(agent->fabric, json_string_value(json_array_get(first, 0)),
                               json_array_get(first, 1));
        if (result < 0 && result != -EAGAIN)
            say("cannot send a notice: %s", strerror(-result));
        if (result != -EAGAIN)
            remove_first(agent);
        json_decref(first);
    }
}

json_t *agent_text(const char *text)
{
    json_t *string = json_string(text);
    char *ascii = string == NULL ? strdup(text) : NULL;

    if (ascii == NULL)
        return string;
    for (char *at = ascii; *at != '\0'; at++)
        *at = (unsigned char)*at < 0x80 ? *at : '?';
    string = json_string(ascii);
    free(ascii);
    return string;
}

void agent_notice(struct agent *agent, const char *method, json_t *params)
{
    pthread_mutex_lock(&agent->lock_of_notices);
    json_array_append_new(agent->notices, json_pack("[s, o]", method, params));
    pthread_mutex_unlock(&agent->lock_of_notices);
}

bool agent_may_notice(struct agent *agent, unsigned most)
{
    pthread_mutex_lock(&agent->lock_of_notices);
    bool waits = json_array_size(agent->notices) > 0;
    pthread_mutex_unlock(&agent->lock_of_notices);
    return !waits && agent->fabric != NULL && fabric_notices_pending(agent->fabric) < most;
}

/* ---- attaching ---- */

/* libnats reads a file of credentials for each connection: one in memory, that only this process has. */
static int hold_credentials(struct agent *agent, const char *text, char path[64],
                            struct problem *problem)
{
    size_t size = strlen(text);

    if (agent->credentials < 0)
        agent->credentials = memfd_create("credentials", MFD_CLOEXEC);
    if (agent->credentials < 0 || ftruncate(agent->credentials, 0) < 0 ||
        pwrite(agent->credentials, text, size, 0) != (ssize_t)size)
        return problem_set(problem, -errno, "no place for credentials: %s", strerror(errno));
    snprintf(path, 64, "/proc/self/fd/%d", agent->credentials);
    return 0;
}

static int connect_fabric(struct agent *agent, const struct relay_hello *hello,
                          struct problem *problem)
{
    char url[64], credentials[64];
    struct fabric_options options = {
        .url = url,
        .session = agent->session,
        .machine = agent->machine,
        .relayed = true,
        .tls_name = hello->tls_name[0] == '\0' ? NULL : hello->tls_name,
        .authorities = hello->authorities[0] == '\0' ? NULL : hello->authorities,
    };

    snprintf(url, sizeof(url), "nats://127.0.0.1:%u", relay_port(agent->relay));
    if (hello->credentials[0] == '\0') {
        options.user = hello->user;
        options.password = hello->password;
    } else {
        int result = hold_credentials(agent, hello->credentials, credentials, problem);
        if (result < 0)
            return result;
        options.credentials = credentials;
    }
    return fabric_open(&options, CONNECT_TIME, &agent->fabric, problem);
}

static void detach_front(struct agent *agent)
{
    if (agent->front >= 0) {
        shutdown(agent->front, SHUT_RDWR); /* a process that is not started yet has a copy */
        close(agent->front);
    }
    agent->front = -1;
    if (agent->alone_since == 0)
        agent->alone_since = clock_now(CLOCK_MONOTONIC);
}

static int check_hello(struct agent *agent, const struct relay_hello *hello, size_t files,
                       struct relay_answer *answer)
{
    struct problem problem;
    int result = 0;

    if (files != 2 || strnlen(hello->session, sizeof(hello->session)) == sizeof(hello->session) ||
        strnlen(hello->machine, sizeof(hello->machine)) == sizeof(hello->machine))
        result = problem_set(&problem, -EPROTO, "the agent got an incomplete hello");
    else if (strcmp(hello->session, agent->session) != 0)
        result = problem_set(&problem, -EPROTO, "the agent belongs to another session");
    else if (agent->machine[0] != '\0' && strcmp(hello->machine, agent->machine) != 0)
        result =
            problem_set(&problem, -EBUSY, "this machine is metered already in this session, as %s",
                        agent->machine);
    else if (agent->fabric == NULL && (result = fabric_available(&problem)) < 0)
        agent->ends = true; /* the next remote shell starts another one */
    if (result < 0)
        snprintf(answer->error, sizeof(answer->error), "%s", problem.text);
    return result;
}

/* Leads the fabric's connection through the files of a front. */
static void attach(struct agent *agent, int front, const struct relay_hello *hello,
                   const int *files, size_t count)
{
    struct relay_answer answer = {.version = DPM_VERSION};
    struct problem problem;
    int result = check_hello(agent, hello, count, &answer);

    gethostname(answer.host, sizeof(answer.host) - 1);
    if (count < 2 || relay_send_answer(files[1], &answer, ANSWER_TIME, &problem) < 0 ||
        result < 0) {
        passing_close(files, count);
        close(front);
        return;
    }
    detach_front(agent);
    agent->front = front;
    agent->alone_since = 0;
    memcpy(agent->machine, hello->machine, sizeof(agent->machine));
    if (hello->alone != 0)
        agent->patience = hello->alone;
    relay_attach(agent->relay, files[0], files[1]);
    if (agent->fabric != NULL)
        return;
    if (connect_fabric(agent, hello, &problem) < 0) {
        say("%s", problem.text);
        /* the front prints it: the user sees it as the remote shell's last line */
        send(front, problem.text, strlen(problem.text), MSG_NOSIGNAL | MSG_DONTWAIT);
        detach_front(agent);
        /* it has never been connected, so it has nothing to keep; the next remote shell starts another one */
        agent->ends = true;
        return;
    }
    spools_adopt(agent);
}

static void accept_front(struct agent *agent)
{
    struct relay_hello hello = {0};
    int files[PASSING_MOST];
    size_t count = PASSING_MOST;
    const struct timeval patience = {.tv_sec = 5};
    int front = accept4(agent->socket, NULL, NULL, SOCK_CLOEXEC);

    if (front < 0)
        return;
    setsockopt(front, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ssize_t size = passing_receive(front, &hello, sizeof(hello), files, &count);
    if (size == (ssize_t)sizeof(hello)) {
        attach(agent, front, &hello, files, count);
    } else {
        if (size > 0)
            passing_close(files, count);
        close(front);
    }
    explicit_bzero(&hello, sizeof(hello));
}

/* ---- the loop ---- */

/* The user does not see the agent's log, and waits for these packets. */
static void note_refused_packets(struct agent *agent, const char *text)
{
    char subject[FABRIC_NAME_MOST * 2 + 40];

    snprintf(subject, sizeof(subject), "Publish to \"dpm.%s.%s.packets.", agent->session,
             agent->machine);
    if (strstr(text, subject) != NULL)
        agent_notice(
            agent, "note",
            json_pack("{s:o}", "text", json_sprintf("%s: allow it, or no records come", text)));
    if (strstr(text, "-packets does not store") != NULL && strstr(text, "more space") != NULL)
        agent_notice(agent, "note", json_pack("{s:o}", "text", agent_text(text)));
}

static void serve_messages(struct agent *agent)
{
    struct fabric_message message;

    while (agent->fabric != NULL && fabric_next(agent->fabric, &message) == 1) {
        if (message.kind == FABRIC_REQUEST) {
            recordings_lock(agent);
            requests_serve(agent, &message);
            recordings_unlock(agent);
        } else if (message.kind == FABRIC_TROUBLE || message.kind == FABRIC_STATE) {
            say("%s", message.text);
            note_refused_packets(agent, message.text);
        }
        fabric_message_done(&message);
    }
    send_notices(agent);
}

static void take_signals(struct agent *agent)
{
    struct signalfd_siginfo info;

    while (read(agent->signals, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGHUP)
            agent->ends = true;
}

static void wait_for_something(struct agent *agent)
{
    struct pollfd files[OWN_FILES + 3 * AGENT_MOST] = {
        {.fd = agent->socket, .events = POLLIN},
        {.fd = agent->signals, .events = POLLIN},
        {.fd = relay_descriptor(agent->relay), .events = POLLIN},
        {.fd = agent->fabric == NULL ? -1 : fabric_descriptor(agent->fabric), .events = POLLIN},
        {.fd = agent_views_descriptor(agent), .events = POLLIN},
    };
    size_t count =
        OWN_FILES + created_poll(agent, files + OWN_FILES, ARRAY_SIZE(files) - OWN_FILES);

    if (agent->front < 0)
        files[2].fd = -1; /* its end was seen */
    poll(files, count, agent_views_timeout(agent, PAUSE));
    if (files[0].revents != 0)
        accept_front(agent);
}

static bool is_abandoned(const struct agent *agent)
{
    return agent->alone_since != 0 &&
           clock_now(CLOCK_MONOTONIC) - agent->alone_since > (uint64_t)agent->patience * 1000000000;
}

static void serve(struct agent *agent)
{
    char sessions[AGENT_PATH];

    snprintf(sessions, sizeof(sessions), "%.*s", (int)(strrchr(agent->folder, '/') - agent->folder),
             agent->folder);
    spools_remove_old(sessions);
    programs_remove_old();
    while (!agent->ends && !is_abandoned(agent)) {
        wait_for_something(agent);
        take_signals(agent);
        if (agent->front >= 0 && relay_ended(agent->relay))
            detach_front(agent);
        recordings_end_stopped(agent);
        agent_views_work(agent); /* before: what it notices is sent at once */
        serve_messages(agent);
        created_look(agent);
        created_move(agent);
        if (agent->front >= 0) /* else it would wait for answers in vain */
            recordings_publish(agent);
    }
}

/* What processes have written is to be sent, too; those that run may write without end. */
static void flush_output(struct agent *agent)
{
    struct pollfd files[3 * AGENT_MOST];
    uint64_t until = clock_now(CLOCK_MONOTONIC) + OUTPUT_TIME * 1000000ull;
    bool more = true;

    while (more && agent->front >= 0 && clock_now(CLOCK_MONOTONIC) < until) {
        serve_messages(agent);
        created_look(agent);
        created_move(agent);
        size_t count = created_poll(agent, files, ARRAY_SIZE(files));
        more = false;
        if (poll(files, count, 0) > 0)
            for (size_t i = 0; i < count; i++)
                more |= (files[i].revents & POLLIN) != 0;
    }
}

/* What is recorded is to be published, as far as that goes quickly. */
static void end(struct agent *agent)
{
    struct problem problem;
    uint64_t begin = clock_now(CLOCK_MONOTONIC);

    flush_output(agent);
    recordings_lock(agent);
    recordings_end_all(agent);
    recordings_unlock(agent);
    while (agent->front >= 0 && !recordings_are_published(agent) &&
           clock_now(CLOCK_MONOTONIC) - begin < SETTLE_TIME * 1000000ull) {
        serve_messages(agent);
        recordings_publish(agent);
        usleep(RECORDING_INTERVAL * 1000);
    }
    if (agent->fabric != NULL && agent->front >= 0 &&
        fabric_settle(agent->fabric, SETTLE_TIME, &problem) < 0)
        say("%s", problem.text);
}

/* ---- beginning ---- */

static int listen_for_fronts(struct agent *agent)
{
    struct sockaddr_un address;
    int directory = agent_socket_address(agent->folder, &address);

    if (directory < 0)
        return directory;
    agent->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(address.sun_path);
    int result = agent->socket < 0 ||
                         bind(agent->socket, (struct sockaddr *)&address, sizeof(address)) < 0 ||
                         listen(agent->socket, 8) < 0
                     ? -errno
                     : 0;
    close(directory);
    return result;
}

static int prepare(struct agent *agent, struct problem *problem)
{
    agent->notices = json_array();
    pthread_mutex_init(&agent->lock_of_notices, NULL);
    agent->signals = recording_signals(&agent->old_mask);
    if (agent->signals < 0)
        return problem_set(problem, agent->signals, "cannot watch signals");
    fcntl(agent->signals, F_SETFL, O_NONBLOCK);
    int result = relay_listen(&agent->relay, problem);
    if (result < 0)
        return result;
    result = listen_for_fronts(agent);
    if (result < 0)
        return problem_set(problem, result, "cannot listen in %s: %s", agent->folder,
                           strerror(-result));
    return recording_thread_start(agent, problem);
}

static void remove_file(const struct agent *agent, const char *name)
{
    char path[AGENT_PATH + 8];

    snprintf(path, sizeof(path), "%s/%s", agent->folder, name);
    unlink(path);
}

/* Nothing is left to send. A front that waits for the lock sees that it has gone (front.c). */
static void remove_own_folder(const struct agent *agent)
{
    remove_file(agent, "log");
    remove_file(agent, "lock");
    rmdir(agent->folder);
}

/* Those that came while the agent ended. */
static void refuse_fronts(struct agent *agent)
{
    struct relay_answer answer = {.version = DPM_VERSION,
                                  .error = "the agent of this session has just ended: try again"};
    const struct timeval patience = {.tv_sec = 1};
    struct relay_hello hello;
    struct problem ignored;
    int front;

    while ((front = accept4(agent->socket, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        int files[PASSING_MOST];
        size_t count = PASSING_MOST;
        setsockopt(front, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (passing_receive(front, &hello, sizeof(hello), files, &count) > 0) {
            if (count == 2)
                relay_send_answer(files[1], &answer, ANSWER_TIME, &ignored);
            passing_close(files, count);
        }
        explicit_bzero(&hello, sizeof(hello));
        close(front);
    }
}

static void close_agent(struct agent *agent)
{
    bool connected = agent->fabric != NULL; /* so it has found what earlier agents have left */
    bool all = recordings_close(agent) && connected;

    created_close(agent);
    agent_views_free(agent->views);
    fabric_close(agent->fabric);
    relay_close(agent->relay);
    json_decref(agent->notices);
    remove_file(agent, "socket");
    if (agent->front >= 0)
        close(agent->front);
    if (agent->socket >= 0) {
        refuse_fronts(agent);
        close(agent->socket);
    }
    if (agent->signals >= 0)
        close(agent->signals);
    if (agent->credentials >= 0)
        close(agent->credentials);
    if (all)
        remove_own_folder(agent);
    close(agent->lock);
}

int agent_serve(const char *session, const char *folder, int lock,
                const struct agent_options *options)
{
    struct agent agent = {.options = options,
                          .socket = -1,
                          .front = -1,
                          .signals = -1,
                          .credentials = -1,
                          .patience = options->patience == 0 ? AGENT_PATIENCE : options->patience,
                          .lock = lock,
                          .alone_since = clock_now(CLOCK_MONOTONIC)};
    struct problem problem;

    prctl(PR_SET_NAME, "dpm-agent");
    signal(SIGPIPE, SIG_IGN);
    snprintf(agent.session, sizeof(agent.session), "%s", session);
    snprintf(agent.folder, sizeof(agent.folder), "%s", folder);
    int result = prepare(&agent, &problem);
    if (result < 0)
        say("%s", problem.text);
    else
        serve(&agent);
    if (result >= 0) {
        end(&agent);
        recording_thread_stop(&agent);
    }
    close_agent(&agent);
    return result;
}
