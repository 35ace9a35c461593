/* SPDX-License-Identifier: MIT */
/*
 * traced.c: does one thing that a tracer could disturb, and prints what it saw: the same with a tracer and without.
 *
 *      usage: traced MODE       (without one: lists them)
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *own_name;

static void say_end(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        printf("exit %d\n", WEXITSTATUS(status));
    else
        printf("signal %d\n", WTERMSIG(status));
}

static int use_vfork(void)
{
    pid_t child = vfork();

    if (child == 0) {
        execl(own_name, own_name, "end", (char *)NULL);
        _exit(99);
    }
    say_end(child);
    return 0;
}

static void *execute(void *unused)
{
    (void)unused;
    execl(own_name, own_name, "end", (char *)NULL);
    _exit(99);
}

static void *wait_for_ever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

/* All other threads end, and the calling thread takes over the number of the process. */
static int use_thread_exec(void)
{
    pthread_t threads[2];

    printf("%d threads\n", 3);
    fflush(stdout);
    if (pthread_create(&threads[0], NULL, wait_for_ever, NULL) != 0 ||
        pthread_create(&threads[1], NULL, execute, NULL) != 0)
        return 98;
    wait_for_ever(NULL);
    return 97;
}

struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static int use_clone3(uint64_t flags)
{
    struct clone_arguments arguments = {.flags = flags, .exit_signal = SIGCHLD};
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

    if (child == 0)
        _exit(close(dup(1)) == 0 ? 6 : 1); /* fails in a process that alone has a tracer's filter */
    say_end(child);
    return 0;
}

/* Its pipe would not work if this process alone had a tracer's filter. */
static int use_untraced(void)
{
    int ends[2];
    char text[8] = "";

    if (pipe(ends) < 0)
        return 98;
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(write(ends[1], "hello", 5) == 5 ? 0 : 1);
    say_end(child);
    if (read(ends[0], text, sizeof(text) - 1) < 0)
        return 97;
    printf("%s\n", text);
    return 0;
}

static int use_stop(void)
{
    int status, seen[2];
    char byte;

    if (pipe(seen) < 0)
        return 98;
    pid_t child = fork();
    if (child == 0) {
        close(seen[1]);
        raise(SIGSTOP);
        /* a process that has ended is not reported as continued */
        _exit(read(seen[0], &byte, 1) == 0 ? 4 : 1);
    }
    if (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
        printf("stopped by %d\n", WSTOPSIG(status));
    kill(child, SIGCONT);
    if (waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status))
        printf("continued\n");
    close(seen[1]);
    say_end(child);
    return 0;
}

static bool sleeps(pid_t thread)
{
    char path[64], line[256];

    snprintf(path, sizeof(path), "/proc/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool found = fgets(line, sizeof(line), file) != NULL && strstr(line, ") S ") != NULL;
    fclose(file);
    return found;
}

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
    caught += signal;
}

static int use_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    int ends[2], interrupted[2];
    char byte;
    pid_t child;

    sigaction(SIGUSR1, &action, NULL);
    if (pipe(ends) < 0 || pipe(interrupted) < 0)
        return 98;
    child = fork();
    if (child == 0) {
        /* interrupts a read, which must not restart */
        while (!sleeps(getppid()))
            usleep(1000);
        kill(getppid(), SIGUSR1);
        _exit(read(interrupted[0], &byte, 1) == 1 && write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    ssize_t got = read(ends[0], &byte, 1);
    printf("read: %zd, %s; caught %d\n", got, got < 0 ? strerrorname_np(errno) : "-", (int)caught);
    if (write(interrupted[1], "x", 1) != 1)
        return 97;
    got = read(ends[0], &byte, 1);
    printf("read: %zd\n", got);
    say_end(child);
    child = fork();
    if (child == 0)
        abort();
    say_end(child);
    return 0;
}

static int use_tracer(void)
{
    long result = ptrace(PTRACE_TRACEME, 0, NULL, NULL);

    printf("ptrace: %ld\n", result);
    return 0;
}

/* More messages of one call than any other call takes. */
static int use_many_receives(void)
{
    enum { MANY = 2500 };
    static char bytes[MANY];
    static struct iovec parts[MANY];
    static struct mmsghdr messages[MANY];
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || write(ends[0], bytes, MANY) != MANY)
        return 98;
    for (int i = 0; i < MANY; i++) {
        parts[i] = (struct iovec){&bytes[i], 1};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    printf("received: %d\n", recvmmsg(ends[1], messages, MANY, 0, NULL));
    return 0;
}

static int use_uring(void)
{
    char parameters[256] = {0};
    long ring = syscall(SYS_io_uring_setup, 4, parameters);

    if (ring < 0)
        printf("io_uring: %s\n", strerrorname_np(errno));
    return ring < 0;
}

/* As a server does: a child changes its user, and has children of its own, without executing a program. */
static int use_user(void)
{
    pid_t child = fork();

    if (child == 0) {
        if (setuid(65534) < 0)
            _exit(98);
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(3);
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    say_end(child);
    return 0;
}

static int use_listener(void)
{
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog filter = {1, &allow};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter) <
        0) {
        perror("seccomp");
        return 1;
    }
    return 0;
}

/* Waits until the other end has sent as much as fits. */
static void wait_for_full(int from)
{
    int waiting = 0, before;

    do {
        before = waiting;
        usleep(50000);
        if (ioctl(from, FIONREAD, &waiting) < 0)
            return;
    } while (waiting == 0 || waiting != before);
}

/* Waits until the other end has taken what was sent. */
static void wait_for_taken(int to)
{
    int left;

    while (ioctl(to, TIOCOUTQ, &left) == 0 && left > 0)
        usleep(10000);
}

static size_t read_all(int from)
{
    static char text[100000];
    size_t all = 0;
    ssize_t got;

    while ((got = read(from, text, sizeof(text))) > 0)
        all += (size_t)got;
    return all;
}

/* One child is killed in a send of which part is out, then one in a receive that has got a part, and one in a
 * receive that has got nothing; prints how much was sent in all. */
static int use_killed(void)
{
    static char text[4 << 20];
    int pair[2];

    for (unsigned turn = 0; turn < 3; turn++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
            (turn == 1 && send(pair[1], text, 60, 0) != 60))
            return 98;
        pid_t child = fork();
        if (child == 0) {
            close(pair[1]);
            if (turn == 0 && write(pair[0], text, 10) != 10)
                _exit(97);
            if (turn == 0)
                _exit(write(pair[0], text, sizeof(text)) == sizeof(text));
            _exit(recv(pair[0], text, 100, MSG_WAITALL) == 100);
        }
        close(pair[0]);
        if (turn == 0)
            wait_for_full(pair[1]);
        else
            wait_for_taken(pair[1]);
        kill(child, SIGKILL);
        say_end(child);
        if (turn == 0)
            printf("sent %zu\n", read_all(pair[1]));
        close(pair[1]);
    }
    return 0;
}

/* Installs its own filter, with this action for sendto. */
static void filter_sendto(uint32_t answer)
{
    struct sock_filter steps[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_sendto},
        {BPF_RET | BPF_K, 0, 0, answer},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        _exit(98);
}

static int pair_of_overlap[2];
static atomic_int sender; /* the thread that is about to send */

/* Waits until the sender sleeps, which it does only in its call. */
static void wait_for_sender(void)
{
    do
        usleep(1000);
    while (atomic_load(&sender) == 0 || !sleeps(atomic_load(&sender)));
    atomic_store(&sender, 0);
}

/* Its first message is out at once; its second waits for buffer space. */
static void *send_many(void *unused)
{
    static char text[4 << 20];
    struct iovec pieces[2] = {{text, 5}, {text, sizeof(text)}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &pieces[0], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &pieces[1], .msg_iovlen = 1}}};

    (void)unused;
    atomic_store(&sender, gettid());
    if (sendmmsg(pair_of_overlap[0], messages, 2, 0) != 2)
        abort();
    return NULL;
}

static void *send_one(void *unused)
{
    (void)unused;
    atomic_store(&sender, gettid());
    if (send(pair_of_overlap[0], "one", 3, 0) != 3)
        abort();
    return NULL;
}

/* Messages of two threads, sent at the same time on one socket. */
static int use_overlap(void)
{
    static char text[65536];
    pthread_t many, one;
    size_t received = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair_of_overlap) < 0)
        return 99;
    pthread_create(&many, NULL, send_many, NULL);
    wait_for_sender();
    pthread_create(&one, NULL, send_one, NULL);
    wait_for_sender();
    while (received < (4 << 20) + 8) {
        ssize_t bytes = read(pair_of_overlap[1], text, sizeof(text));
        if (bytes <= 0)
            return 98;
        received += (size_t)bytes;
    }
    pthread_join(many, NULL);
    pthread_join(one, NULL);
    printf("%zu\n", received);
    return 0;
}

/* A send of as many bytes as its number says; then one that is refused with a signal that is caught, and one with a
 * signal that kills: the system call number is where the result would be. */
static int use_refused(void)
{
    static const uint32_t answers[] = {SECCOMP_RET_TRAP, SECCOMP_RET_KILL_PROCESS};
    struct sigaction action = {.sa_handler = on_signal};
    char text[SYS_sendto] = "";
    int pair[2];

    sigaction(SIGSYS, &action, NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
        send(pair[0], text, sizeof(text), 0) != sizeof(text))
        return 98;
    for (unsigned i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            filter_sendto(answers[i]);
            send(pair[0], text, 1, 0);
            _exit(caught == SIGSYS && write(pair[0], text, 7) == 7 ? 0 : 1);
        }
        say_end(child);
    }
    return 0;
}

static int use_zero_copy_receive(void)
{
    char map[64] = "";
    socklen_t size = sizeof(map);

    getsockopt(socket(AF_INET, SOCK_STREAM, 0), IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, map, &size);
    return 0;
}

/* getpid through the 32-bit system call interface, twice. */
static int use_calls_of_32_bits(void)
{
    for (unsigned i = 0; i < 2; i++) {
        int number = 20;

        __asm__ volatile("int $0x80" : "+a"(number) : : "memory");
        printf("%s\n", number == (int)getpid() ? "itself" : "another");
    }
    return 0;
}

static int end(void)
{
    return 3;
}

static int use_clone3_traced(void)
{
    return use_clone3(0);
}

static int use_clone3_untraced(void)
{
    return use_clone3(CLONE_UNTRACED);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } modes[] = {
        {"end", end},
        {"vfork", use_vfork},
        {"thread_exec", use_thread_exec},
        {"clone3", use_clone3_traced},
        {"untraced", use_untraced},
        {"untraced3", use_clone3_untraced},
        {"stop", use_stop},
        {"signals", use_signals},
        {"tracer", use_tracer},
        {"uring", use_uring},
        {"user", use_user},
        {"calls32", use_calls_of_32_bits},
        {"listener", use_listener},
        {"killed", use_killed},
        {"overlap", use_overlap},
        {"many-receives", use_many_receives},
        {"refused", use_refused},
        {"zero-copy-receive", use_zero_copy_receive},
    };

    own_name = arguments[0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; count == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(arguments[1], modes[i].name) == 0)
            return modes[i].run();
    fprintf(stderr, "usage: traced MODE, one of");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        fprintf(stderr, " %s", modes[i].name);
    fprintf(stderr, "\n");
    return 2;
}
