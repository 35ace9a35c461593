/* SPDX-License-Identifier: MIT */
/*
 * waiting_parent.c: a child works for 100 ms, its parent waits for it in some way, and then works for 50 ms. In every
 * case the critical path has both: 150 ms of CPU time.
 *
 *      usage: waiting-parent WAY
 *
 * The child begins when the parent waits.
 *
 *      parent   fork ~~~~~~~~~~ waits ~~~~~~~~~~ | 50 ms |
 *      child      \ | 100 ms ................... |
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALONE    100 /* ms that the child works */
#define TOGETHER 50  /* ... and the parent after it */

/* ns; a process has used some CPU time before it executes this program */
static long long time_used(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000LL + used.tv_nsec;
}

static pid_t parent;

/* Until a process waits, 30 s at most. */
static void wait_until_asleep(pid_t process)
{
    char name[32], state = 0;

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)process);
    for (int i = 0; i < 6000 && state != 'S'; i++) {
        usleep(5000);
        FILE *file = fopen(name, "re");
        if (file == NULL || fscanf(file, "%*d (waiting-parent) %c", &state) != 1)
            state = 0;
        if (file != NULL)
            fclose(file);
    }
}

static void work(int milliseconds)
{
    long long end = time_used() + milliseconds * 1000000LL;

    while (time_used() < end)
        ;
}

static void begin_child(void)
{
    pid_t creator = getpid();

    if (fork() != 0)
        return;
    while (creator != parent &&
           kill(creator, 0) == 0) /* until the parent has waited for that one */
        usleep(5000);
    wait_until_asleep(parent);
    work(ALONE);
    _exit(0);
}

static void ignore(int number)
{
    (void)number;
}

static sigset_t hold_back_ends(sigset_t *before)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, before);
    signal(SIGCHLD, ignore);
    return ends;
}

/* ---- ways to wait ---- */

static void wait_for_signal(void)
{
    sigset_t before;

    hold_back_ends(&before);
    begin_child();
    sigsuspend(&before);
}

static void take_signal(void)
{
    sigset_t before, ends = hold_back_ends(&before);

    begin_child();
    sigwaitinfo(&ends, NULL);
}

static void read_signal(void)
{
    sigset_t before, ends = hold_back_ends(&before);
    struct signalfd_siginfo told;
    int descriptor = signalfd(-1, &ends, SFD_CLOEXEC);

    begin_child();
    if (read(descriptor, &told, sizeof(told)) < 0)
        exit(1);
}

/* The child has a child, which works, and then exits itself. The wait for the child takes no time; the other wait is
 * for the grandchild. */
static void wait_for_orphan(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fork() == 0) {
        begin_child();
        _exit(0);
    }
    usleep(20000);
    while (wait(NULL) > 0)
        ;
}

static void wait_until_readable(int descriptor)
{
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};

    poll(&polled, 1, -1);
}

/* The message is the first use of its connection. */
static void wait_for_first_message(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    char byte = 0;

    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        exit(1);
    if (fork() == 0) {
        int sender = socket(AF_INET, SOCK_STREAM, 0);
        bool connected = connect(sender, (struct sockaddr *)&address, size) == 0;
        wait_until_asleep(parent);
        work(ALONE);
        _exit(!connected || write(sender, &byte, 1) != 1);
    }
    int receiver = accept(listener, NULL, NULL);
    wait_until_readable(receiver);
    if (read(receiver, &byte, 1) != 1)
        exit(1);
}

/* Nothing is sent: the end of the child is the end of file. */
static void wait_for_end(int ends[2])
{
    char byte;

    if (fork() == 0) {
        close(ends[0]);
        wait_until_asleep(parent);
        work(ALONE);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 0)
        exit(1);
}

static void wait_for_pipe(void)
{
    int ends[2];

    if (pipe(ends) == 0)
        wait_for_end(ends);
}

/* The other child of the shell, when it executes this program too. */
static pid_t sibling(void)
{
    char name[64];
    pid_t child = 0, other = 0;

    snprintf(name, sizeof(name), "/proc/%d/task/%d/children", (int)getppid(), (int)getppid());
    FILE *file = fopen(name, "re");
    while (file != NULL && fscanf(file, "%d", &child) == 1)
        if (child != getpid())
            other = child;
    if (file != NULL)
        fclose(file);
    return other;
}

/* The two sides of a pipeline made by a shell. */
static void work_alone(void)
{
    pid_t reader = sibling();

    for (int i = 0; i < 6000 && reader == 0; i++) {
        usleep(5000);
        reader = sibling();
    }
    wait_until_asleep(reader);
    work(ALONE);
    exit(0);
}

static void wait_for_input(void)
{
    char byte;

    if (read(STDIN_FILENO, &byte, 1) != 0)
        exit(1);
}

static void wait_for_pair(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
        wait_for_end(ends);
}

static const struct {
    const char *name;
    void (*wait)(void);
} ways[] = {
    {"signal", wait_for_signal},
    {"signal-taken", take_signal},
    {"signal-read", read_signal},
    {"orphan", wait_for_orphan},
    {"first-message", wait_for_first_message},
    {"pipe", wait_for_pipe},
    {"pair", wait_for_pair},
    {"input", wait_for_input},
    {"alone", work_alone},
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count == 2 && i < sizeof(ways) / sizeof(*ways); i++)
        if (strcmp(ways[i].name, arguments[1]) == 0) {
            parent = getpid();
            ways[i].wait();
            work(TOGETHER);
            return 0;
        }
    fprintf(stderr, "usage: waiting-parent WAY\n");
    return 2;
}
