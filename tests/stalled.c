/* SPDX-License-Identifier: MIT */
/*
 * stalled.c: a process sends messages to another one without end, and one of both is held up in a call when the metering
 * begins (stall.bpf.c).
 *
 *      stalled datagram|seqpacket queued|sent|received PASSES SEED
 *          prints the pids of the sender and of the receiver when they run; in the end, which SIGTERM is, how often
 *          one was held up: there (stall.bpf.c says where that is), when it has come by PASSES times
 *
 * The n-th message has 1 + n % SIZES bytes: what is received as another one has another size.
 * It ends by itself after 30 seconds at the latest.
 */
#include "stall.skel.h"

#include <bpf/libbpf.h>
#include <signal.h>
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
    STALL = 80,  /* ms: until the metering has begun, even if its processes wait for each other */
    PAUSE = 200, /* us, at most */
    LONGEST = 30 /* s */
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

static void send_messages(int to)
{
    static char message[SIZES];

    for (size_t n = 0; send(to, message, 1 + n % SIZES, MSG_NOSIGNAL) > 0; n++)
        pause_at_random();
}

static void receive_messages(int from)
{
    static char message[SIZES];

    while (recv(from, message, sizeof(message), 0) > 0)
        if (rand() % 2 == 0)
            pause_at_random();
}

static pid_t start(void (*run)(int), int own, int other, unsigned seed)
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
    srand(seed);
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
        fprintf(stderr, "usage: stalled datagram|seqpacket queued|sent|received PASSES SEED\n");
        return 2;
    }
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    kernel = stall_bpf__open_and_load();
    if (kernel == NULL)
        give_up("stall.bpf.c");
    if (socketpair(AF_UNIX, strcmp(argv[1], "datagram") == 0 ? SOCK_DGRAM : SOCK_SEQPACKET, 0,
                   ends) < 0)
        give_up("socketpair");
    unsigned seed = (unsigned)atoi(argv[4]);
    pid_t sender = start(send_messages, ends[0], ends[1], seed);
    pid_t receiver = start(receive_messages, ends[1], ends[0], seed + 1);
    close(ends[0]);
    close(ends[1]);
    kernel->bss->duration = STALL * 1000000ULL;
    kernel->bss->passes = (unsigned)atoi(argv[3]);
    kernel->bss->process = (unsigned)(strcmp(argv[2], "received") == 0 ? receiver : sender);
    attach(kernel, argv[2]);
    printf("%d %d\n", sender, receiver);
    fflush(stdout);
    wait_for_end(&end);
    kill(sender, SIGKILL);
    kill(receiver, SIGKILL); /* a datagram socket does not tell it */
    while (wait(NULL) > 0)
        ;
    printf("%u\n", kernel->bss->stalls);
    stall_bpf__destroy(kernel);
    return 0;
}
