/* SPDX-License-Identifier: MIT */
/*
 * stalled.c: a process keeps sending messages to another one, and one of the two is stalled in a call (stall.bpf.c).
 *
 *      stalled datagram|seqpacket|stream queued|sent|received|overtaken PASSES SEED
 *          prints the pids of the sender and of the receiver when they run, and at the end (SIGTERM) the number
 *          of stalls. A process is stalled there (see stall.bpf.c) when it has passed PASSES times
 *
 * `overtaken`: the sender has a thread that sends without end, and others that send one message each on the same
 * socket. These are stalled again and again, after they have queued their message, while the first thread continues. In
 * the other modes there is one stall, when metering begins.
 *
 * Messages near each other have different sizes: if a message is mistaken for another one, its size is wrong. In a byte
 * stream a message begins with its size, which is received first. The program ends after at most 30 seconds.
 */
#include "stall.skel.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SIZES = 1000,
    SMALLEST = 8,  /* bytes: more than the message's size field */
    STALL = 80000, /* us: until metering has begun, even if its processes wait for each other */
    STALL_OFTEN = 20000, /* us: enough for the other thread to send several messages */
    PAUSE = 200,         /* us, at most */
    LONGEST = 30         /* s */
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static void pause_at_random(void)
{
    usleep((useconds_t)rand() % PAUSE);
}

/* What both processes do; set from the program's arguments. */
static int type;
static unsigned seed;
static bool overtaken;

static int kind_of(const char *name)
{
    return strcmp(name, "datagram") == 0 ? SOCK_DGRAM
           : strcmp(name, "stream") == 0 ? SOCK_STREAM
                                         : SOCK_SEQPACKET;
}

/* The n-th message has a size that recurs only after a long time. */
static bool send_message(int to, unsigned n)
{
    struct {
        uint16_t size;
        char rest[SIZES];
    } message;

    memset(&message, 0, sizeof(message));
    message.size = (uint16_t)(SMALLEST + n % SIZES);
    return send(to, &message, message.size, MSG_NOSIGNAL) > 0;
}

/* The threads send messages with odd numbers, the first thread even ones. */
struct single {
    int to;
    unsigned n;
};

static void *send_one(void *argument)
{
    const struct single *single = argument;

    send_message(single->to, single->n);
    return NULL;
}

static void *send_one_each(void *to)
{
    pthread_t thread;

    for (struct single single = {.to = *(int *)to, .n = 1};; single.n += 2) {
        if (pthread_create(&thread, NULL, send_one, &single) != 0)
            give_up("pthread_create");
        pthread_join(thread, NULL);
        pause_at_random();
    }
}

static void send_messages(int to)
{
    pthread_t others;

    if (overtaken && pthread_create(&others, NULL, send_one_each, &to) != 0)
        give_up("pthread_create");
    for (unsigned n = 0; send_message(to, n); n += 2)
        pause_at_random();
}

static bool receive_message(int from)
{
    char message[SMALLEST + SIZES];
    uint16_t size;

    if (type != SOCK_STREAM)
        return recv(from, message, sizeof(message), 0) > 0;
    return recv(from, &size, sizeof(size), MSG_WAITALL) == sizeof(size) &&
           recv(from, message, size - sizeof(size), MSG_WAITALL) > 0;
}

static void receive_messages(int from)
{
    while (receive_message(from))
        if (rand() % 2 == 0)
            pause_at_random();
}

static pid_t start(void (*run)(int), int own, int other)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        give_up("fork");
    if (pid > 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close(other);
    srand(seed++);
    run(own);
    _exit(0);
}

static void attach(struct stall_bpf *kernel, const char *place)
{
    struct bpf_program *program = bpf_object__find_program_by_name(kernel->obj, place);

    if (program == NULL || bpf_program__attach(program) == NULL)
        give_up(place);
}

static void wait_for_end(const sigset_t *ends)
{
    const struct timespec longest = {.tv_sec = LONGEST};

    sigtimedwait(ends, NULL, &longest);
}

int main(int argc, char **argv)
{
    struct stall_bpf *kernel;
    sigset_t end;
    int ends[2];

    if (argc != 5) {
        fprintf(stderr, "usage: stalled datagram|seqpacket|stream queued|sent|received|overtaken "
                        "PASSES SEED\n");
        return 2;
    }
    overtaken = strcmp(argv[2], "overtaken") == 0;
    type = kind_of(argv[1]);
    seed = (unsigned)atoi(argv[4]);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    kernel = stall_bpf__open_and_load();
    if (kernel == NULL)
        give_up("stall.bpf.c");
    if (socketpair(AF_UNIX, type, 0, ends) < 0)
        give_up("socketpair");
    pid_t sender = start(send_messages, ends[0], ends[1]);
    pid_t receiver = start(receive_messages, ends[1], ends[0]);
    close(ends[0]);
    close(ends[1]);
    kernel->bss->duration = (overtaken ? STALL_OFTEN : STALL) * 1000ULL;
    kernel->bss->most = overtaken ? UINT32_MAX : 1;
    kernel->bss->passes = (unsigned)atoi(argv[3]);
    kernel->bss->others = overtaken;
    kernel->bss->process = (unsigned)(strcmp(argv[2], "received") == 0 ? receiver : sender);
    attach(kernel, overtaken ? "queued" : argv[2]);
    printf("%d %d\n", sender, receiver);
    fflush(stdout);
    wait_for_end(&end);
    kill(sender, SIGKILL);
    kill(receiver, SIGKILL); /* a datagram socket does not report the end */
    while (wait(NULL) > 0)
        ;
    printf("%u\n", kernel->bss->stalls);
    stall_bpf__destroy(kernel);
    return 0;
}
