/* SPDX-License-Identifier: MIT */
/* remote_filter.c: the connection of a filter on another machine. See remote.h. */
#include "relay/relay.h"
#include "remote/remote.h"
#include "remote/remote_shell.h"
#include "remote/session_folder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND     1000000000ull /* ns */
#define ANSWER_MS  30000
#define PAUSE_MOST 8     /* s between two tries */
#define END_MS     10000 /* for the filter to close its copies */

/* For one of before, to notice that it has lost its connection; unless its program is slow, it does so sooner. */
#define BUSY_MOST (180 * SECOND)

#define WRONG_USAGE 2 /* exit status */

struct carried {
    const struct remote_filter_options *options;
    struct remote_shell shell;
    struct relay *relay;
    unsigned connections; /* that were made */
    uint64_t busy;        /* since when another filter has been found writing; 0: none was */
    bool connected;
    bool finished; /* the filter has everything, and has ended */
    bool failed;   /* the filter has ended with an error of its own */
    bool stops;
};

static void say(void *context, const char *line)
{
    const struct carried *carried = context;

    carried->options->said(carried->options->context, line);
}

/* Waits for any of: the options' descriptor, a line of the shell, `file`. */
static void wait_for(struct carried *carried, int file, int timeout_ms)
{
    struct pollfd files[] = {{.fd = carried->options->descriptor, .events = POLLIN},
                             {.fd = carried->shell.err, .events = POLLIN},
                             {.fd = file, .events = POLLIN}};

    poll(files, ARRAY_SIZE(files), timeout_ms);
    if (files[0].revents != 0)
        carried->stops = carried->stops || carried->options->stops(carried->options->context);
    remote_shell_read(&carried->shell, say, carried);
}

/* ---- connecting ---- */

/* The filter there gets the credentials of a filter; they are valid as long as the session. */
static int say_hello(struct carried *carried, struct fabric_server *server, struct problem *problem)
{
    struct relay_hello hello = {.machine = FABRIC_FILTER};
    struct fabric_options user;
    int result = fabric_server_credentials(server, FABRIC_FILTER, NULL, &user, problem);

    if (result < 0)
        return result;
    snprintf(hello.session, sizeof(hello.session), "%s", carried->options->session);
    snprintf(hello.user, sizeof(hello.user), "%s", user.user);
    snprintf(hello.password, sizeof(hello.password), "%s", user.password);
    result = relay_send_hello(carried->shell.in, &hello, 1000, problem);
    explicit_bzero(&hello, sizeof(hello));
    return result == -EPIPE ? 0 : result; /* why it ended is read next */
}

static int take_answer(struct carried *carried, uint16_t port, struct problem *problem)
{
    const struct remote_filter_options *options = carried->options;
    struct remote_shell *shell = &carried->shell;
    struct relay_answer answer;
    struct problem why;
    int result = relay_receive_answer(shell->out, ANSWER_MS, &answer, &why);

    if (result == -EPIPE) {
        remote_shell_why(shell, options->host, options->dpm, problem);
        return result;
    }
    if (result == 0 && answer.error[0] != '\0')
        result = problem_set(&why, -EREMOTEIO, "%s", answer.error);
    if (result == 0) {
        int in = shell->out, out = shell->in;
        shell->in = shell->out = -1; /* the relay's now */
        result = relay_connect(port, in, out, &carried->relay, &why);
    }
    return result == 0 ? 0 : problem_set(problem, result, "%s: %s", options->host, why.text);
}

/* Returns -ENOENT if the session has ended. */
static int connect_it(struct carried *carried, struct problem *problem)
{
    const struct remote_filter_options *options = carried->options;
    struct fabric_server *server = NULL;
    int result = session_folder_attach(options->session, &server, problem);

    if (result < 0)
        return result;
    result = remote_shell_start(&carried->shell, options->rsh, options->host, options->dpm,
                                options->arguments, problem);
    if (result == 0)
        result = say_hello(carried, server, problem);
    if (result == 0)
        result = take_answer(carried, fabric_server_port(server), problem);
    fabric_server_detach(server);
    if (result == 0)
        remote_shell_connected(&carried->shell, say, carried);
    return result == -ENOENT ? -EHOSTUNREACH : result;
}

/* ---- until it ends ---- */

/* Another filter writes there: not ours of before if this is the first one, or after some time. */
static bool is_busy_for_good(struct carried *carried)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    carried->busy = carried->busy == 0 ? now : carried->busy;
    return carried->connections == 1 || now - carried->busy > BUSY_MOST;
}

/* The filter sees the end of its input, and ends. */
static void end(struct carried *carried)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + END_MS * 1000000ull;

    relay_close(carried->relay);
    carried->relay = NULL;
    while ((carried->stops || carried->connected) && carried->shell.err >= 0 &&
           clock_now(CLOCK_MONOTONIC) < until) {
        poll(&(struct pollfd){.fd = carried->shell.err, .events = POLLIN}, 1, 100);
        remote_shell_read(&carried->shell, say, carried);
    }
    int status = remote_shell_end(&carried->shell);
    carried->finished = carried->connected && status == EXIT_SUCCESS;
    carried->failed =
        carried->connected && (status == EXIT_FAILURE || status == WRONG_USAGE ||
                               (status == REMOTE_FILTER_BUSY && is_busy_for_good(carried)));
    carried->busy = status == REMOTE_FILTER_BUSY ? carried->busy : 0;
    carried->connected = false;
}

static void carry(struct carried *carried)
{
    while (!carried->stops && !relay_ended(carried->relay))
        wait_for(carried, relay_descriptor(carried->relay), 1000);
}

static void pause_for(struct carried *carried, unsigned seconds)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + seconds * SECOND;

    while (!carried->stops && clock_now(CLOCK_MONOTONIC) < until)
        wait_for(carried, -1, 200);
}

/* The last line that the filter said. */
static const char *why_of(const struct remote_shell *shell)
{
    const char *line = shell->last;

    if (line[0] == '\0')
        return "it does not say why";
    return strncmp(line, "dpm: ", strlen("dpm: ")) == 0 ? line + strlen("dpm: ") : line;
}

int remote_filter_run(const struct remote_filter_options *options, struct problem *problem)
{
    struct carried carried = {.options = options, .shell = REMOTE_SHELL_NONE};
    unsigned pause = 1;
    int result = 0;

    while (!carried.stops) {
        uint64_t begin = clock_now(CLOCK_MONOTONIC);
        result = connect_it(&carried, problem);
        if (result == 0) {
            carried.connections++;
            carried.connected = true;
            carry(&carried);
        }
        end(&carried);
        if (carried.stops || carried.finished || carried.failed || result == -ENOENT ||
            carried.connections == 0)
            break;
        if (result < 0)
            say(&carried, problem->text);
        pause = clock_now(CLOCK_MONOTONIC) - begin > 60 * SECOND ? 1 : 2 * pause;
        pause = pause < PAUSE_MOST ? pause : PAUSE_MOST;
        pause_for(&carried, pause);
    }
    if (carried.connections == 0 || carried.stops || carried.finished)
        return carried.connections > 0 ? 0 : result;
    if (carried.failed)
        return problem_set(problem, -EREMOTEIO, "%s: the filter there failed: %s", options->host,
                           why_of(&carried.shell));
    return problem_set(problem, -EPIPE,
                       "%s: the session has ended, and the filter there may lack what came last",
                       options->host);
}
