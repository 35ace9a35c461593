/* SPDX-License-Identifier: MIT */
/*
 * dpmd.c: the service that loads the kernel meter for users who may not. See dpmd(8), docs/security.md.
 *
 *      dpmd ---- accepts, checks the peer and the limits ---- a process for each session: serve.c
 *
 * This process never touches the meter. If it is killed, sessions go on; started again, it counts them (sessions.h).
 */
#include "dpmd/listening.h"
#include "dpmd/peer.h"
#include "dpmd/privileges.h"
#include "dpmd/refuse.h"
#include "dpmd/serve.h"
#include "dpmd/sessions.h"

#include "meter/shared/session_protocol.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_MEMORY (64u << 20) /* bytes, of a session's process */
#define ROOT_RING      (1u << 30)  /* bytes */

struct limits {
    unsigned sessions_all;
    unsigned sessions_of_user;
    uint32_t ring; /* bytes of an ordinary user's data ring */
};

struct dpmd {
    const char *socket_path;
    const char *folder; /* of the sessions */
    struct limits limits;
    struct listening listening;
    struct sessions sessions;
    int signals;
};

static int say(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int say(int status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("dpmd: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

/* ---- a session ---- */

/* Whether the limits allow one more. */
static int check_limits(const struct dpmd *dpmd, const struct peer *peer, struct problem *problem)
{
    struct session_count count;
    int result = sessions_count(&dpmd->sessions, peer->user.user, &count);

    if (result < 0)
        return problem_set(problem, result, "dpmd cannot count its sessions: %s",
                           strerror(-result));
    if (!peer->everybody && count.of_user >= dpmd->limits.sessions_of_user)
        return problem_set(problem, -EUSERS,
                           "you have as many sessions as dpmd gives a user, %u: end one first, or "
                           "raise dpmd --sessions",
                           dpmd->limits.sessions_of_user);
    if (count.all >= dpmd->limits.sessions_all)
        return problem_set(problem, -EUSERS,
                           "dpmd has as many sessions as it gives all users together, %u: wait "
                           "until one ends, or raise dpmd --all-sessions",
                           dpmd->limits.sessions_all);
    return 0;
}

/* What a user asks for again and again fills the memory of the user's session only, and not without end. (The rings are
 * not part of it.) */
static void limit_memory(const struct peer *peer)
{
    const struct rlimit limit = {SESSION_MEMORY, SESSION_MEMORY};

    if (!peer->everybody)
        setrlimit(RLIMIT_DATA, &limit);
}

static void serve_in_child(struct dpmd *dpmd, int connection, const struct peer *peer, int session)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_NAME, "dpmd-session");
    listening_close(&dpmd->listening);
    sessions_close(&dpmd->sessions);
    close(dpmd->signals);
    sessions_serve(session, peer->user.user);
    limit_memory(peer);
    serve(connection, peer, peer->everybody ? ROOT_RING : dpmd->limits.ring);
    _exit(EXIT_SUCCESS);
}

/* Accepts one connection, and serves it in a child, or refuses it. */
static void accept_one(struct dpmd *dpmd)
{
    struct peer peer;
    struct problem problem;
    int connection = accept4(dpmd->listening.socket, NULL, NULL, SOCK_CLOEXEC), session = -1;

    if (connection < 0)
        return;
    int result = peer_of(connection, &peer, &problem);
    if (result >= 0)
        result = check_limits(dpmd, &peer, &problem);
    if (result >= 0) {
        session = sessions_add(&dpmd->sessions, peer.user.user);
        pid_t child = session < 0 ? -1 : fork();
        if (child == 0)
            serve_in_child(dpmd, connection, &peer, session);
        if (child < 0)
            result = problem_set(&problem, -EAGAIN, "dpmd cannot make a process for the session");
    }
    if (session >= 0)
        close(session);
    if (result < 0)
        refuse(connection, result, problem.text);
    else
        refuse_close(connection);
}

/* ---- the service ---- */

/* Returns whether it goes on. */
static bool take_signal(struct dpmd *dpmd)
{
    struct signalfd_siginfo signal;

    if (read(dpmd->signals, &signal, sizeof(signal)) != sizeof(signal))
        return true;
    if (signal.ssi_signo != SIGCHLD)
        return false;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return true;
}

static void run(struct dpmd *dpmd)
{
    struct pollfd files[] = {{.fd = dpmd->listening.socket, .events = POLLIN},
                             {.fd = dpmd->signals, .events = POLLIN}};

    for (;;) {
        if (poll(files, 2, -1) < 0)
            continue;
        if (files[1].revents != 0 && !take_signal(dpmd))
            return;
        if (files[0].revents != 0)
            accept_one(dpmd);
    }
}

static int open_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int start(struct dpmd *dpmd)
{
    struct problem problem;
    int result = listening_open(&dpmd->listening, dpmd->socket_path, &problem);

    if (result >= 0)
        result = sessions_open(&dpmd->sessions, dpmd->folder, &problem);
    if (result >= 0)
        result = privileges_keep_needed(&problem);
    dpmd->signals = open_signals();
    if (result < 0 || dpmd->signals < 0 || refuse_prepare() < 0) {
        listening_remove(&dpmd->listening);
        return say(EXIT_FAILURE, "%s", result < 0 ? problem.text : "cannot watch signals");
    }
    run(dpmd);
    /* stopped, not killed: the sessions end, too */
    sessions_signal(&dpmd->sessions, SIGTERM);
    listening_remove(&dpmd->listening);
    return EXIT_SUCCESS;
}

/* ---- the command line ---- */

static void help(void)
{
    puts(
        "usage: dpmd [option ...]\n"
        "Loads the kernel meter for users who may not, so that they may run and acquire with dpm.\n"
        "\n"
        "  --socket PATH      listen here (default " SESSION_SOCKET ")\n"
        "  --folder PATH      keep account of sessions here (default " SESSION_FOLDER ")\n"
        "  --sessions N       a user may have N sessions at once (default 4)\n"
        "  --all-sessions N   all users together may have N (default 32)\n"
        "  --ring MIB         largest data ring of an ordinary user's session (default 64)\n"
        "  --help             show this help\n"
        "  --version          show the version");
}

static bool take_number(const char *option, unsigned long most, unsigned *ret_number)
{
    char *end;
    unsigned long number = strtoul(optarg, &end, 10);

    if (optarg[0] < '0' || optarg[0] > '9' || *end != '\0' || number == 0 || number > most) {
        say(0, "--%s '%s': give a number from 1 to %lu", option, optarg, most);
        return false;
    }
    *ret_number = (unsigned)number;
    return true;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 's'},   {"folder", required_argument, NULL, 'f'},
        {"sessions", required_argument, NULL, 'n'}, {"all-sessions", required_argument, NULL, 'a'},
        {"ring", required_argument, NULL, 'r'},     {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},        {0},
    };
    struct dpmd dpmd = {.socket_path = SESSION_SOCKET,
                        .folder = SESSION_FOLDER,
                        .limits = {.sessions_all = 32, .sessions_of_user = 4}};
    unsigned ring = 64;
    bool good = true;
    int option;

    while (good && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 's':
            dpmd.socket_path = optarg;
            break;
        case 'f':
            dpmd.folder = optarg;
            break;
        case 'n':
            good = take_number("sessions", 1000, &dpmd.limits.sessions_of_user);
            break;
        case 'a':
            good = take_number("all-sessions", 1000, &dpmd.limits.sessions_all);
            break;
        case 'r':
            good = take_number("ring", 1024, &ring);
            break;
        case 'h':
            help();
            return EXIT_SUCCESS;
        case 'v':
            puts("dpmd " DPM_VERSION);
            return EXIT_SUCCESS;
        default:
            return 2; /* getopt has said why */
        }
    }
    if (!good)
        return 2;
    if (optind < argc)
        return say(2, "unexpected argument '%s'; see dpmd --help", argv[optind]);
    dpmd.limits.ring = ring << 20;
    return start(&dpmd);
}
