/* SPDX-License-Identifier: MIT */
/*
 * calibrate_command.c: `dpm calibrate`: how long messages take here, for `dpm parallelism --delays`. See
 * dpm-calibrate(1).
 *
 *      this process  -- message of n bytes -->  a child, or `dpm calibrate --listen` on another machine
 *                    <- message of n bytes --      half of the time there and back; the median of many
 *
 *      on the wire:  "DPMC" | n | how many | message, echoed | message, echoed ...
 */
#include "control/command.h"
#include "show/show.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAGIC      0x44504d43u /* "DPMC" */
#define SIZE_MOST  1000000u
#define TURNS_MOST 10000u
#define PATIENCE   5 /* seconds for each header, each message, and for waiting on either */
#define PEER_MOST                                                                                  \
    600 /* seconds for one peer: others wait, and whoever measures longer is dropped */

static const uint32_t sizes[] = {1, 10, 100, 1000, 10000, 100000};

struct asked {
    const char *file;   /* NULL: standard output */
    const char *listen; /* port, or address:port */
    uint64_t time;      /* ns for each length */
};

struct header {
    uint32_t magic, size, turns; /* big-endian */
};

/* ---- messages ---- */

static volatile sig_atomic_t interrupted; /* of the side that listens */

static uint64_t seconds_from_now(unsigned seconds)
{
    return clock_now(CLOCK_MONOTONIC) + seconds * 1000000000ULL;
}

/* Whether to go on with a message of which not all has gone or come. One that comes at once, as most do, pays for no
 * look at a clock; *until is 0 at first. */
static int go_on(uint64_t *until)
{
    if (interrupted)
        return -EINTR;
    if (*until == 0)
        *until = seconds_from_now(PATIENCE);
    return clock_now(CLOCK_MONOTONIC) < *until ? 0 : -ETIMEDOUT;
}

/* What a failed call means; 0: try again. A socket's own patience ends with EAGAIN. */
static int call_failed(void)
{
    if (errno == EINTR && !interrupted)
        return 0;
    return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

static int send_all(int file, const char *data, size_t size)
{
    uint64_t until = 0;
    int result = 0;

    while (size > 0 && result == 0) {
        ssize_t sent = write(file, data, size);
        if (sent < 0) {
            result = call_failed();
            continue;
        }
        data += sent;
        size -= (size_t)sent;
        if (size > 0)
            result = go_on(&until);
    }
    return result;
}

/* Returns 0; 1: the other side has closed before the first byte; or a negative errno. */
static int receive_all(int file, char *data, size_t size)
{
    uint64_t until = 0;
    size_t left = size;
    int result = 0;

    while (left > 0 && result == 0) {
        ssize_t received = read(file, data, left);
        if (received < 0) {
            result = call_failed();
            continue;
        }
        if (received == 0)
            return left == size ? 1 : -ECONNRESET;
        data += received;
        left -= (size_t)received;
        if (left > 0)
            result = go_on(&until);
    }
    return result;
}

/* Two directions, which of a socket are one. */
struct link {
    int in, out;
};

static int echo_one(struct link link, char *buffer, uint32_t size)
{
    int result = receive_all(link.in, buffer, size);

    return result != 0 ? result : send_all(link.out, buffer, size);
}

/* Echoes what one asks for, until he closes. */
static int echo(struct link link, char *buffer)
{
    uint64_t until = seconds_from_now(PEER_MOST);
    struct header header;
    int result;

    while ((result = receive_all(link.in, (char *)&header, sizeof(header))) == 0) {
        uint32_t size = ntohl(header.size), turns = ntohl(header.turns);
        if (ntohl(header.magic) != MAGIC || size == 0 || size > SIZE_MOST || turns > TURNS_MOST)
            return -EPROTO;
        for (uint32_t i = 0; i < turns && result == 0; i++) {
            result = echo_one(link, buffer, size);
            if (result == 0)
                result = go_on(&until);
        }
        if (result != 0)
            break;
    }
    return result;
}

/* ---- measuring ---- */

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static int ask(struct link link, uint32_t size, uint32_t turns)
{
    const struct header header = {htonl(MAGIC), htonl(size), htonl(turns)};

    return send_all(link.out, (const char *)&header, sizeof(header));
}

/* ns there and back, of each of so many messages. */
static int take_turns(struct link link, char *buffer, uint32_t size, uint32_t turns,
                      uint64_t *times)
{
    int result = ask(link, size, turns);

    for (uint32_t i = 0; result == 0 && i < turns; i++) {
        uint64_t begin = clock_now(CLOCK_MONOTONIC);
        result = send_all(link.out, buffer, size);
        if (result == 0)
            result = receive_all(link.in, buffer, size);
        if (result > 0)
            result = -ECONNRESET;
        times[i] = clock_now(CLOCK_MONOTONIC) - begin;
    }
    return result;
}

#define WARM_UP 20u

/* The median delivery time of messages of each length, ns. */
static int measure(struct link link, uint64_t time, uint64_t medians[ARRAY_SIZE(sizes)])
{
    uint64_t *times = calloc(TURNS_MOST, sizeof(*times));
    char *buffer = calloc(1, SIZE_MOST);
    int result = times == NULL || buffer == NULL ? -ENOMEM : 0;

    for (size_t i = 0; i < ARRAY_SIZE(sizes) && result == 0; i++) {
        result = take_turns(link, buffer, sizes[i], WARM_UP, times);
        if (result < 0)
            break;
        qsort(times, WARM_UP, sizeof(*times), by_value);
        uint64_t turns = time / (times[WARM_UP / 2] + 1);
        turns = turns < WARM_UP ? WARM_UP : turns > TURNS_MOST ? TURNS_MOST : turns;
        result = take_turns(link, buffer, sizes[i], (uint32_t)turns, times);
        qsort(times, turns, sizeof(*times), by_value);
        medians[i] = times[turns / 2] / 2;
    }
    free(times);
    free(buffer);
    return result;
}

static void print_delay(FILE *file, const uint64_t medians[ARRAY_SIZE(sizes)])
{
    uint64_t least = 0;

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        least = medians[i] > least ? medians[i] : least; /* no longer message is quicker */
        fprintf(file, "%s%u:%.2fus", i == 0 ? "" : ",", sizes[i], (double)least / 1000);
    }
    fputc('\n', file);
}

/* ---- on this machine ---- */

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* A pair of connected TCP sockets. */
static int tcp_pair(int pair[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    pair[0] = listener < 0 ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair[1] = -1;
    if (listener >= 0 && pair[0] >= 0 &&
        bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
        connect(pair[0], (struct sockaddr *)&address, size) == 0)
        pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    int error = pair[1] < 0 ? -errno : 0;
    for (int i = 0; i < 2 && error == 0; i++)
        setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (listener >= 0)
        close(listener);
    if (error < 0)
        close_pair(pair);
    return error;
}

/* A pipe there, and one back. */
static int pipe_pair(int there[2], int back[2])
{
    if (pipe2(there, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(back, O_CLOEXEC) == 0)
        return 0;
    int error = -errno;
    close_pair(there);
    return error;
}

enum kind { KIND_TCP, KIND_UNIX, KIND_PIPE, KIND_COUNT };

static const char *kind_word(size_t index)
{
    static const char *const words[] = {"tcp", "unix", "pipe"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

/* Both ends of a path of a kind. Returns 0 or a negative errno. */
static int make_links(enum kind kind, struct link links[2])
{
    int pair[2], back[2];

    if (kind == KIND_PIPE) {
        int result = pipe_pair(pair, back);
        if (result < 0)
            return result;
        links[0] = (struct link){back[0], pair[1]};
        links[1] = (struct link){pair[0], back[1]};
        return 0;
    }
    int result = kind == KIND_TCP                                               ? tcp_pair(pair)
                 : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno
                                                                                : 0;
    if (result < 0)
        return result;
    links[0] = (struct link){pair[0], pair[0]};
    links[1] = (struct link){pair[1], pair[1]};
    return 0;
}

static void close_link(struct link link)
{
    close(link.in);
    if (link.out != link.in)
        close(link.out);
}

static int measure_local(enum kind kind, uint64_t time, uint64_t medians[ARRAY_SIZE(sizes)])
{
    struct link links[2];
    int result = make_links(kind, links);

    if (result < 0)
        return result;
    pid_t child = fork();
    if (child == 0) {
        char *buffer = malloc(SIZE_MOST);
        close_link(links[0]);
        _exit(buffer == NULL || echo(links[1], buffer) < 0);
    }
    result = child < 0 ? -errno : 0;
    close_link(links[1]);
    if (result == 0)
        result = measure(links[0], time, medians);
    close_link(links[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return result;
}

/* ---- to another machine ---- */

/* Splits "host:port", "[::1]:port"; the text is cut. Returns false if it is none. */
static bool split_address(char *text, char **ret_host, char **ret_port)
{
    char *colon = strrchr(text, ':');

    if (colon == NULL || colon == text || colon[1] == '\0')
        return false;
    *colon = '\0';
    *ret_port = colon + 1;
    *ret_host = text;
    size_t length = strlen(text);
    if (text[0] == '[' && text[length - 1] == ']') {
        text[length - 1] = '\0';
        *ret_host = text + 1;
    }
    return true;
}

/* An address that getaddrinfo does not take: -EINVAL if it is no port at all, which is wrong usage. */
static int no_address(const char *address, int error, struct problem *problem)
{
    return error == EAI_SERVICE
               ? problem_set(problem, -EINVAL, "%s: there is no such port", address)
               : problem_set(problem, -ENOENT, "%s: %s", address, gai_strerror(error));
}

/* As getaddrinfo, which takes the lowest 16 bits of any number for a port. */
static int find_addresses(const char *name, const char *port, const struct addrinfo *wanted,
                          struct addrinfo **ret_found)
{
    char *end;
    unsigned long number = strtoul(port, &end, 10);

    if (*end == '\0' && (number == 0 || number > UINT16_MAX))
        return EAI_SERVICE;
    return getaddrinfo(name, port, wanted, ret_found);
}

static void set_patience(int socket)
{
    const struct timeval patience = {.tv_sec = PATIENCE};
    int one = 1;

    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A machine as it was asked for. */
struct host {
    char text[256];   /* cut in two, to which these point: */
    const char *name; /* by which it stands in what is written */
    const char *port;
    struct addrinfo *found; /* its addresses */
};

/* Nobody is asked yet, but for what resolves names. */
static int read_host(const char *address, struct host *host, struct problem *problem)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    char *name, *port;

    if ((size_t)snprintf(host->text, sizeof(host->text), "%s", address) >= sizeof(host->text) ||
        !split_address(host->text, &name, &port))
        return problem_set(problem, -EINVAL, "%s: give HOST:PORT", address);
    /* words of a line that ends before '#': see --delays */
    if (*name == '\0' || strlen(name) >= MACHINE_NAME_SIZE || strpbrk(name, " \t\n#") != NULL)
        return problem_set(problem, -EINVAL, "%s: no name of a machine", address);
    int error = find_addresses(name, port, &wanted, &host->found);
    if (error != 0)
        return no_address(address, error, problem);
    host->name = name;
    host->port = port;
    return 0;
}

/* A connected socket, or a negative errno with a line in `problem`. */
static int connect_to(const struct host *host, struct problem *problem)
{
    int error = 0, file = -1;

    for (const struct addrinfo *at = host->found; at != NULL && file < 0; at = at->ai_next) {
        file = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
        if (file < 0) {
            error = errno;
            continue;
        }
        set_patience(file);
        if (connect(file, at->ai_addr, at->ai_addrlen) < 0) {
            error = errno == EINPROGRESS ? ETIMEDOUT : errno;
            close(file);
            file = -1;
        }
    }
    return file >= 0 ? file
                     : problem_set(problem, -error,
                                   "%s:%s: %s; does `dpm calibrate --listen %s` run there?",
                                   host->name, host->port, strerror(error), host->port);
}

static int measure_remote(const struct host *host, uint64_t time,
                          uint64_t medians[ARRAY_SIZE(sizes)], struct problem *problem)
{
    int file = connect_to(host, problem);

    if (file < 0)
        return file;
    int result = measure((struct link){file, file}, time, medians);
    close(file);
    if (result == -ETIMEDOUT)
        return problem_set(problem, result,
                           "%s:%s: no answer within %d s: is it busy with another peer?",
                           host->name, host->port, PATIENCE);
    return result < 0 ? problem_set(problem, result, "%s:%s: %s", host->name, host->port,
                                    strerror(-result))
                      : 0;
}

/* ---- the other side ---- */

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static int open_listener(const char *address, struct problem *problem)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    char text[256], *host = NULL, *port = text;
    struct addrinfo *found = NULL;
    int one = 1, file = -1;

    snprintf(text, sizeof(text), "%s", address);
    if (strchr(text, ':') != NULL && !split_address(text, &host, &port))
        return problem_set(problem, -EINVAL, "--listen %s: give PORT or ADDRESS:PORT", address);
    int error = find_addresses(host, port, &wanted, &found);
    if (error != 0)
        return no_address(address, error, problem);
    file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file >= 0)
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (file < 0 || bind(file, found->ai_addr, found->ai_addrlen) < 0 || listen(file, 4) < 0) {
        error = errno;
        if (file >= 0)
            close(file);
        file = problem_set(problem, -error, "--listen %s: %s", address, strerror(error));
    }
    freeaddrinfo(found);
    return file;
}

/* The signals that end it. */
static void set_signals(sigset_t *ret_signals)
{
    const struct sigaction action = {.sa_handler = interrupt};

    sigemptyset(ret_signals);
    sigaddset(ret_signals, SIGINT);
    sigaddset(ret_signals, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Waits for a peer. The signals are blocked but while it waits: one that comes just before is not missed. Returns its
 * socket, or a negative errno; -EAGAIN: there is none after all. */
static int next_peer(int listener, const sigset_t *signals)
{
    struct pollfd file = {.fd = listener, .events = POLLIN};
    sigset_t old;
    int peer = -1;

    sigprocmask(SIG_BLOCK, signals, &old);
    errno = EINTR;
    if (!interrupted && ppoll(&file, 1, NULL, &old) > 0)
        peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0)
        peer = errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    return peer;
}

static void answer_peer(int peer, char *buffer)
{
    set_patience(peer);
    int result = echo((struct link){peer, peer}, buffer);
    if (result < 0 && !interrupted)
        command_say("a peer was dropped: %s", result == -EPROTO
                                                  ? "it does not speak as dpm calibrate does"
                                                  : strerror(-result));
    close(peer);
}

/* Answers one after the other: they would disturb each other. Ends with SIGINT or SIGTERM. */
static int answer_all(int listener, char *buffer, const char *address, struct problem *problem)
{
    sigset_t signals;

    set_signals(&signals);
    command_say("answering on %s until interrupted", address);
    while (!interrupted) {
        int peer = next_peer(listener, &signals);
        if (peer >= 0)
            answer_peer(peer, buffer);
        else if (peer != -EAGAIN)
            return problem_set(problem, peer, "--listen %s: nobody can be answered any more: %s",
                               address, strerror(-peer));
    }
    return 0;
}

static int answer(const char *address, struct problem *problem)
{
    char *buffer = malloc(SIZE_MOST);

    if (buffer == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int listener = open_listener(address, problem);
    int result = listener < 0 ? listener : answer_all(listener, buffer, address, problem);
    if (listener >= 0)
        close(listener);
    free(buffer);
    return result;
}

/* ---- all of it ---- */

/* `local`, of TCP, which `remote` can be compared with; the others as comments. */
static int write_local(FILE *file, uint64_t time, struct problem *problem)
{
    uint64_t medians[ARRAY_SIZE(sizes)];

    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        int result = measure_local((enum kind)kind, time, medians);
        if (result < 0)
            return problem_set(problem, result, "%s: %s", kind_word(kind), strerror(-result));
        fprintf(file, "%s ", kind == KIND_TCP ? "local " : "#");
        if (kind != KIND_TCP)
            fprintf(file, "local by %-4s ", kind_word(kind));
        print_delay(file, medians);
    }
    return 0;
}

/* All machines that were asked for, and this one: before anything is measured, which takes its time. */
struct machines {
    char here[MACHINE_NAME_SIZE];
    struct host *hosts; /* [count] */
    size_t count;
};

static int read_machines(const char *const *addresses, size_t count, struct machines *machines,
                         struct problem *problem)
{
    int result = 0;

    *machines =
        (struct machines){.hosts = calloc(count + 1, sizeof(*machines->hosts)), .count = count};
    if (machines->hosts == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_host(addresses[i], &machines->hosts[i], problem);
    if (result < 0 || count == 0)
        return result;
    /* one that is too long is cut as in a trace */
    if (gethostname(machines->here, sizeof(machines->here) - 1) < 0 && errno != ENAMETOOLONG)
        return problem_set(problem, -errno, "cannot learn this machine's name: %s",
                           strerror(errno));
    return machines->here[0] != '\0' ? 0
                                     : problem_set(problem, -ENODATA, "this machine has no name");
}

static void machines_done(struct machines *machines)
{
    for (size_t i = 0; machines->hosts != NULL && i < machines->count; i++)
        if (machines->hosts[i].found != NULL)
            freeaddrinfo(machines->hosts[i].found);
    free(machines->hosts);
}

/* Both ways, for half of the time there and back is what is known; machines by their names, or as they were asked for. */
static void write_pair(FILE *file, const char *here, const char *there,
                       const uint64_t medians[ARRAY_SIZE(sizes)])
{
    fprintf(file, "%s %s ", here, there);
    print_delay(file, medians);
    fprintf(file, "%s %s ", there, here);
    print_delay(file, medians);
}

static int write_remote(FILE *file, const struct machines *machines, uint64_t time,
                        struct problem *problem)
{
    uint64_t medians[ARRAY_SIZE(sizes)], most[ARRAY_SIZE(sizes)] = {0};

    for (size_t i = 0; i < machines->count; i++) {
        int result = measure_remote(&machines->hosts[i], time, medians, problem);
        if (result < 0)
            return result;
        write_pair(file, machines->here, machines->hosts[i].name, medians);
        for (size_t k = 0; k < ARRAY_SIZE(sizes); k++)
            most[k] = medians[k] > most[k] ? medians[k] : most[k];
    }
    if (machines->count > 0) {
        fputs("remote ", file);
        print_delay(file, most);
    }
    return 0;
}

static int write_text(const void *what, FILE *file)
{
    fputs(what, file);
    return 0;
}

static int write_delays(FILE *file, const struct machines *machines, uint64_t time,
                        struct problem *problem)
{
    fputs(
        "# delivery times by length, medians of half of the time there and back (dpm calibrate)\n",
        file);
    int result = write_local(file, time, problem);
    return result < 0 ? result : write_remote(file, machines, time, problem);
}

static int calibrate(const struct asked *asked, const char *const *addresses, size_t count,
                     struct problem *problem)
{
    struct machines machines;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = NULL;
    int result = read_machines(addresses, count, &machines, problem);

    if (result < 0)
        goto done;
    memory = open_memstream(&text, &size);
    if (memory == NULL) {
        result = problem_set(problem, -ENOMEM, "out of memory");
        goto done;
    }
    result = write_delays(memory, &machines, asked->time, problem);
    if (fclose(memory) != 0 && result == 0)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        result = command_write_file(asked->file, write_text, text, problem);
done:
    machines_done(&machines);
    free(text);
    return result;
}

/* ---- options ---- */

enum { OPTION_LISTEN = OPTION_HELP + 1, OPTION_TIME };

static const struct command_option calibrate_options[] = {
    {"output", 'o', {"FILE", ARGUMENT_FILE}, "write into FILE (standard output)"},
    {"listen", OPTION_LISTEN, {"[ADDRESS:]PORT"}, "be the other side, until interrupted"},
    {"time", OPTION_TIME, {"TIME"}, "measure each length so long (200ms)"},
    {0},
};

static int take_option(int option, struct asked *asked)
{
    switch (option) {
    case 'o':
        asked->file = optarg;
        return -1;
    case OPTION_LISTEN:
        asked->listen = optarg;
        return -1;
    case OPTION_TIME:
        return parse_duration(optarg, &asked->time) == 0 && asked->time > 0 &&
                       asked->time <= 60000000000
                   ? -1
                   : command_usage_error("calibrate", "--time %s: give a time up to 1m", optarg);
    default:
        return option == OPTION_HELP ? command_help("calibrate")
                                     : command_usage_error("calibrate", NULL);
    }
}

static int command_calibrate(int argc, char **argv)
{
    struct asked asked = {.time = 200000000};
    struct problem problem = {""};
    int option, result, status = -1;

    while (status < 0 && (option = command_next_option(&calibrate_command, argc, argv)) != -1)
        status = take_option(option, &asked);
    if (status >= 0)
        return status;
    if (asked.listen != NULL && (optind < argc || asked.file != NULL))
        return command_usage_error("calibrate", "--listen stands alone");
    signal(SIGPIPE, SIG_IGN);
    result = asked.listen != NULL ? answer(asked.listen, &problem)
                                  : calibrate(&asked, (const char *const *)argv + optind,
                                              (size_t)(argc - optind), &problem);
    if (result == -EINVAL)
        return command_usage_error("calibrate", "%s", problem.text);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

const struct command calibrate_command = {
    .name = "calibrate",
    .description = "measure how long messages take here",
    .usage = "[OPTION]... [HOST:PORT]...",
    .function = command_calibrate,
    .operand = {"HOST:PORT", ARGUMENT_OTHER, NULL},
    .options = calibrate_options,
};
