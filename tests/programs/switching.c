/* SPDX-License-Identifier: MIT */
/*
 * switching.c: changes what a computation records while it runs.
 *
 *      usage: switching TRACE CHANGES SEED [dpmd]   records itself, with --load, as `dpm run` does, by our own meter or by
 *                                              dpmd's; changes the flags and kinds of all processes or of one CHANGES times,
 *                                              at random; lets a process leave
 *             switching --load                 sends messages of known sizes until its standard input ends
 *
 *      message k of a sender has SENT(k) bytes, and its receiver takes TAKEN(k) bytes at a time:
 *
 *      sent      |--- 1 ---|- 2 -|------ 3 ------|          a record's offset and bytes tell which k it is, or that
 *      received  |-- 1 --|---- 2 ----|- 3 -|                it is wrong
 */
#include "launch/launch.h"
#include "meter/load/meter.h"
#include "meter/session/session.h"
#include "trace/trace.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the load ---- */

#define SENT(k)  (1 + (k)*7919 % 1000)
#define TAKEN(k) (1 + (k)*104729 % 800)

static void send_all(int file)
{
    static char bytes[1024];

    for (unsigned k = 0; write(file, bytes, SENT(k)) > 0; k++)
        usleep(200);
    _exit(0);
}

/* A short read goes on: of a stream socket there is none, thanks to MSG_WAITALL. */
static void take_all(int file, bool is_pipe)
{
    static char bytes[1024];

    for (unsigned k = 0; (is_pipe ? read(file, bytes, sizeof(bytes))
                                  : recv(file, bytes, TAKEN(k), MSG_WAITALL)) > 0;
         k++)
        ;
    _exit(0);
}

static void begin_pair(int sender, int receiver, bool is_pipe)
{
    if (fork() == 0) {
        close(receiver);
        send_all(sender);
    }
    if (fork() == 0) {
        close(sender);
        take_all(receiver, is_pipe);
    }
    close(sender);
    close(receiver);
}

static void connect_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
        connect(ends[0], (struct sockaddr *)&address, size) < 0)
        err(EXIT_FAILURE, "connection");
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
}

static int load(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int ends[2];

    signal(SIGTERM, SIG_DFL);
    if (pipe(ends) < 0)
        err(EXIT_FAILURE, "pipe");
    begin_pair(ends[1], ends[0], true);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        err(EXIT_FAILURE, "socketpair");
    begin_pair(ends[0], ends[1], false);
    connect_pair(ends);
    begin_pair(ends[0], ends[1], false);
    poll(&input, 1, 60000);
    kill(0, SIGTERM); /* all of the group: the recording ignores it */
    return 0;
}

/* ---- the recording ---- */

static void give_up(const struct problem *problem)
{
    fprintf(stderr, "switching: %s\n", problem->text);
    exit(EXIT_FAILURE);
}

static int drain(struct meter_interface *meter, struct trace_writer *writer)
{
    struct source *source = &meter->source;
    struct problem problem;
    struct event event;
    uint64_t complete;
    int result;

    while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD)
        if (trace_writer_append(writer, event.header, &problem) < 0)
            give_up(&problem);
    if (result < 0)
        give_up(&problem);
    for (unsigned ring = 0; ring < RING_COUNT; ring++)
        trace_writer_lost(writer, ring, meter->lost(meter, ring));
    return result;
}

/* One of the metered processes; 0: none. */
static pid_t any_process(struct meter_interface *meter)
{
    struct meter_process *list;
    struct problem problem;
    size_t count;

    if (meter->processes(meter, &list, &count, &problem) < 0)
        give_up(&problem);
    pid_t pid = count == 0 ? 0 : list[(size_t)random() % count].pid;
    free(list);
    return pid;
}

#define KINDS (METER_TCP | METER_UNIX | METER_PIPE | METER_FILE | METER_MQ)

static uint64_t random_flags(void)
{
    uint64_t flags = (uint64_t)random() << 31 ^ (uint64_t)random() ^ (uint64_t)random() << 50;

    /* all of them now and then */
    return random() % 4 == 0 ? METER_EVENT_FLAGS : flags & METER_EVENT_FLAGS;
}

/* Flags, kinds or both; they replace what there is, or only something of it. */
static struct meter_change random_change(void)
{
    struct meter_change change = {0};

    if (random() % 3 != 0) {
        change.flags_off = random() % 2 == 0 ? METER_ALL_FLAGS : random_flags();
        change.flags_on = random_flags() & (random() % 2 == 0 ? METER_ALL_FLAGS : random_flags());
    }
    if (random() % 3 != 0) {
        change.kinds_off = random() % 2 == 0 ? METER_EVERY_KIND : (uint32_t)random() & KINDS;
        change.kinds_on = random() % 4 == 0 ? KINDS : (uint32_t)random() & KINDS;
    }
    return change;
}

static int open_meter(bool own, struct meter_interface **ret_meter, struct problem *problem)
{
    const struct meter_options options = {
        .flags = METER_EVENT_FLAGS, .kinds = METER_TCP, .later_kinds = KINDS};
    const struct session_options session = {
        .flags = METER_EVENT_FLAGS, .kinds = METER_TCP, .later_kinds = KINDS};

    return own ? meter_open(&options, ret_meter, problem)
               : session_open(&session, ret_meter, problem);
}

/* Switches a kind off for a time, and says from when until when, in ns. */
static void switch_off(struct meter_interface *meter, uint32_t kind)
{
    const struct meter_change off = {.kinds_off = kind}, on = {.kinds_on = kind};
    char word[METER_KINDS_TEXT_SIZE];
    struct problem problem;

    if (meter->change(meter, 0, &off, &problem) < 0)
        give_up(&problem);
    meter_kinds_text(kind, word);
    printf("%s %llu", word, (unsigned long long)clock_now(CLOCK_MONOTONIC));
    usleep(100000);
    printf(" %llu ", (unsigned long long)clock_now(CLOCK_MONOTONIC));
    if (meter->change(meter, 0, &on, &problem) < 0)
        give_up(&problem);
    usleep(20000);
}

int main(int argc, char **argv)
{
    char *arguments[] = {argv[0], (char[]){"--load"}, NULL};
    const struct launch_options launch = {.arguments = arguments};
    const struct meter_change leave = {.leaves = true};
    const struct meter_change everything = {.flags_on = METER_EVENT_FLAGS, .kinds_on = KINDS};
    struct machine_record machine;
    struct launched command;
    struct meter_interface *meter;
    struct trace_writer *writer;
    struct problem problem;
    int input[2], status;

    if (argc == 2 && strcmp(argv[1], "--load") == 0)
        return load();
    if (argc != 4 && argc != 5)
        errx(2, "usage: switching TRACE CHANGES SEED [dpmd]");
    srandom((unsigned)strtoul(argv[3], NULL, 10));
    setpgid(0, 0);
    signal(SIGTERM, SIG_IGN);
    if (pipe2(input, O_CLOEXEC) < 0 || dup2(input[0], STDIN_FILENO) < 0)
        err(EXIT_FAILURE, "pipe");
    machine_describe(&machine);
    machine.meter_flags = METER_EVENT_FLAGS;
    machine.kinds_left_out = METER_EVERY_KIND & ~METER_TCP;
    if (launch_suspended(&launch, &command, &problem) < 0 ||
        open_meter(argc == 4, &meter, &problem) < 0 ||
        trace_writer_new(argv[1], &machine, 4ULL << 30, &writer, &problem) < 0 ||
        meter->mark(meter, command.pid, &problem) < 0 || launch_release(&command, &problem) < 0)
        give_up(&problem);
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
        pid_t pid = random() % 3 == 0 ? 0 : any_process(meter);
        struct meter_change change = random_change();
        if (meter->change(meter, pid, &change, &problem) < 0)
            give_up(&problem);
        drain(meter, writer);
        usleep((useconds_t)(random() % 4000));
    }
    if (meter->change(meter, 0, &everything, &problem) < 0)
        give_up(&problem);
    usleep(100000);
    for (int i = 0; i < 30000 && meter->live(meter) < 7; i++) { /* all of the load have begun */
        drain(meter, writer);
        usleep(1000);
    }
    if (meter->live(meter) < 7)
        errx(EXIT_FAILURE, "only %u processes of the load live", meter->live(meter));
    pid_t left = any_process(meter);
    uint32_t live = meter->live(meter);
    switch_off(meter, METER_TCP);
    switch_off(meter, METER_PIPE);
    if (meter->change(meter, left, &leave, &problem) != 1 || meter->live(meter) != live - 1 ||
        kill(left, 0) < 0)
        errx(EXIT_FAILURE, "process %d has not left", left);
    printf("%d %llu\n", left, (unsigned long long)clock_now(CLOCK_MONOTONIC));
    usleep(100000);
    close(input[1]);
    while (waitpid(command.pid, &status, WNOHANG) == 0) {
        drain(meter, writer);
        usleep(1000);
    }
    meter->detach(meter);
    while (drain(meter, writer) == SOURCE_NONE_YET)
        usleep(1000);
    if (trace_writer_close(writer, END_COMPLETE, &problem) < 0)
        give_up(&problem);
    meter->close(meter);
    return EXIT_SUCCESS;
}
