/* SPDX-License-Identifier: MIT */
/*
 * signals.c: signals OTHER READY: sends known signals, and prints a line for each: "number sender receiver code result",
 * with pids, 0 for the kernel, and si_code and the result as SIGNAL records have them. OTHER is a process to be ended by
 * a signal. Writes its own pid into the file READY, and waits for SIGUSR2 from another process. Last line: "thread PID
 * TID", the thread that got SIGUSR2 four times.
 */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DELIVERED 0
#define IGNORED   1
#define PENDING   2

static volatile sig_atomic_t counts[NSIG];

static void count(int number)
{
    counts[number]++;
}

static void expect(int number, int sender, int receiver, int code, int result)
{
    printf("%d %d %d %d %d\n", number, sender, receiver, code, result);
}

static void wait_for(int number, int times)
{
    while (counts[number] < times)
        usleep(100);
}

static void handle(int number)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};

    if (sigaction(number, &action, NULL) < 0)
        err(1, "sigaction");
}

static void block(int how, int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(how, &set, NULL);
}

/* ---- to itself ---- */

static void to_itself(void)
{
    int self = getpid();
    union sigval value = {.sival_int = 5};

    for (int i = 1; i <= 3; i++) {
        kill(self, SIGUSR1);
        wait_for(SIGUSR1, i);
        expect(SIGUSR1, self, self, SI_USER, DELIVERED);
    }
    raise(SIGUSR1);
    expect(SIGUSR1, self, self, SI_TKILL, DELIVERED);
    for (int i = 0; i < 2; i++) {
        sigqueue(self, SIGRTMIN, value);
        expect(SIGRTMIN, self, self, SI_QUEUE, DELIVERED);
    }
    block(SIG_BLOCK, SIGUSR1);
    kill(self, SIGUSR1);
    expect(SIGUSR1, self, self, SI_USER, DELIVERED);
    kill(self, SIGUSR1);
    expect(SIGUSR1, self, self, SI_USER, PENDING);
    block(SIG_UNBLOCK, SIGUSR1);
    signal(SIGWINCH, SIG_IGN);
    kill(self, SIGWINCH);
    expect(SIGWINCH, self, self, SI_USER, IGNORED);
}

static void by_a_broken_pipe(void)
{
    int pipe_ends[2], self = getpid();

    if (pipe(pipe_ends) < 0)
        err(1, "pipe");
    close(pipe_ends[0]);
    if (write(pipe_ends[1], "x", 1) >= 0)
        errx(1, "a pipe that nothing reads");
    close(pipe_ends[1]);
    expect(SIGPIPE, self, self, SI_USER, DELIVERED);
}

/* ---- by the kernel ---- */

static void by_timers(void)
{
    const struct itimerval soon = {.it_value.tv_usec = 5000};
    const struct itimerspec soon_too = {.it_value.tv_nsec = 5000000};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    timer_t timer;

    setitimer(ITIMER_REAL, &soon, NULL);
    wait_for(SIGALRM, 1);
    expect(SIGALRM, 0, getpid(), SI_KERNEL, DELIVERED);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
        timer_settime(timer, 0, &soon_too, NULL) < 0)
        err(1, "timer");
    wait_for(SIGRTMIN + 1, 1);
    expect(SIGRTMIN + 1, 0, getpid(), SI_TIMER, DELIVERED);
    timer_delete(timer);
}

/* ---- to a thread ---- */

static pid_t thread_id;
static volatile sig_atomic_t thread_ends;

static void *wait_in_thread(void *unused)
{
    thread_id = (pid_t)syscall(SYS_gettid);
    while (!thread_ends)
        usleep(100);
    return unused;
}

static void to_a_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, wait_in_thread, NULL);
    while (*(volatile pid_t *)&thread_id == 0)
        usleep(100);
    for (int i = 1; i <= 4; i++) {
        syscall(SYS_tgkill, getpid(), thread_id, SIGUSR2);
        wait_for(SIGUSR2, i);
        expect(SIGUSR2, getpid(), getpid(), SI_TKILL, DELIVERED);
    }
    thread_ends = 1;
    pthread_join(thread, NULL);
}

/* ---- between parent and child ---- */

/* Also waits for the child's SIGCHLD: the kernel drops that of a continued child that is killed at once. */
static int await(pid_t child, int options)
{
    static int signalled;
    int status;

    if (waitpid(child, &status, options) != child)
        err(1, "waitpid");
    wait_for(SIGCHLD, ++signalled);
    return status;
}

static void to_a_child(void)
{
    int self = getpid();
    pid_t child = fork();

    if (child == 0) {
        for (;;)
            pause();
    }
    kill(child, SIGSTOP);
    expect(SIGSTOP, self, child, SI_USER, DELIVERED);
    await(child, WUNTRACED);
    expect(SIGCHLD, child, self, CLD_STOPPED, DELIVERED);
    kill(child, SIGCONT);
    expect(SIGCONT, self, child, SI_USER, IGNORED);
    await(child, WCONTINUED);
    expect(SIGCHLD, child, self, CLD_CONTINUED, DELIVERED);
    /* Under ptrace SIGCONT may still be pending, and of pending signals the one with the lowest number comes first. */
    kill(child, SIGVTALRM);
    expect(SIGVTALRM, self, child, SI_USER, DELIVERED);
    await(child, 0);
    expect(SIGCHLD, child, self, CLD_KILLED, DELIVERED);
}

static void by_a_child(void)
{
    int self = getpid();
    pid_t child = fork();

    if (child == 0)
        _exit(3);
    await(child, 0);
    expect(SIGCHLD, child, self, CLD_EXITED, DELIVERED);
    child = fork();
    if (child == 0) {
        volatile int *nowhere = NULL;
        block(SIG_UNBLOCK, SIGSEGV);
        *nowhere = 1;
        _exit(4);
    }
    int status = await(child, 0);
    if (!WIFSIGNALED(status))
        errx(1, "the child did not die");
    expect(SIGSEGV, 0, child, SEGV_MAPERR, DELIVERED);
    expect(SIGCHLD, child, self, WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED, DELIVERED);
}

/* ---- others ---- */

static void by_another(const char *ready)
{
    FILE *file = fopen(ready, "w");

    if (file == NULL || fprintf(file, "%d\n", getpid()) < 0 || fclose(file) != 0)
        err(1, "%s", ready);
    wait_for(SIGUSR2, 5);
}

int main(int argc, char **argv)
{
    int other = argc == 3 ? atoi(argv[1]) : 0;

    if (other <= 1)
        errx(2, "usage: signals OTHER READY");
    handle(SIGUSR1);
    handle(SIGUSR2);
    handle(SIGRTMIN);
    handle(SIGRTMIN + 1);
    handle(SIGALRM);
    handle(SIGPIPE);
    handle(SIGCHLD);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    to_itself();
    by_a_broken_pipe();
    by_timers();
    to_a_thread();
    fflush(stdout); /* children have none of it */
    to_a_child();
    fflush(stdout);
    by_a_child();
    kill(other, SIGTERM);
    expect(SIGTERM, getpid(), other, SI_USER, DELIVERED);
    by_another(argv[2]);
    printf("thread %d %d\n", getpid(), thread_id);
    return 0;
}
