/* SPDX-License-Identifier: MIT */
/*
 * corners.c: rare operations that a meter easily gets wrong, one corner a run:
 *
 *      corners end-of-file    an empty message, a message, the end of a seqpacket socket
 *      corners exec-thread    a thread that is not the first executes `true`
 *      corners interrupted    a signal ends a receive; another one, elsewhere, then waits
 *      corners reconnect      one socket connects to two servers, one after the other
 *      corners spin           receivers that never sleep, on many new socket pairs
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int end_of_file(void)
{
    char buffer[16];
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
        return 1;
    if (fork() == 0) {
        send(pair[1], "", 0, 0);
        send(pair[1], "12345", 5, 0);
        _exit(0);
    }
    close(pair[1]);
    bool right = recv(pair[0], buffer, sizeof(buffer), 0) == 0 &&
                 recv(pair[0], buffer, sizeof(buffer), 0) == 5 &&
                 recv(pair[0], buffer, sizeof(buffer), 0) == 0;
    wait(NULL);
    return !right;
}

static void *execute(void *argument)
{
    (void)argument;
    execlp("true", "true", (char *)NULL);
    return NULL;
}

static int exec_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, execute, NULL) != 0)
        return 1;
    pause();
    return 1;
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

/* Until this process waits, 30 s at most. */
static void wait_until_asleep(pid_t process)
{
    char name[32], state = 0;

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)process);
    for (int i = 0; i < 3000 && state != 'S'; i++) {
        usleep(10000);
        FILE *file = fopen(name, "re");
        if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1)
            state = 0;
        if (file != NULL)
            fclose(file);
    }
}

static int interrupted(void)
{
    struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART */
    int first[2], second[2];
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, first) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, second) < 0 || sigaction(SIGALRM, &action, NULL) < 0)
        return 1;
    ualarm(100000, 100000); /* again and again: the first may come before the receive */
    if (recv(first[0], &byte, 1, 0) >= 0 || errno != EINTR)
        return 1;
    ualarm(0, 0);
    if (fork() == 0) {
        wait_until_asleep(getppid());
        _exit(send(second[1], "x", 1, 0) != 1);
    }
    ssize_t got = recv(second[0], &byte, 1, 0);
    wait(NULL);
    return got != 1;
}

static int listen_on_loopback(struct sockaddr_in *address)
{
    socklen_t length = sizeof(*address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (void *)address, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (void *)address, &length) < 0)
        return -1;
    return listener;
}

static int reconnect(void)
{
    struct sockaddr unconnected = {.sa_family = AF_UNSPEC};
    int client = socket(AF_INET, SOCK_STREAM, 0);

    for (int i = 0; i < 2; i++) {
        struct sockaddr_in address;
        char buffer[8];
        int listener = listen_on_loopback(&address);
        if (listener < 0 || connect(client, (void *)&address, sizeof(address)) < 0)
            return 1;
        int server = accept(listener, NULL, NULL);
        if (send(client, "1234", 4, 0) != 4 || recv(server, buffer, sizeof(buffer), 0) != 4 ||
            connect(client, &unconnected, sizeof(unconnected)) < 0)
            return 1;
        close(server);
        close(listener);
    }
    return 0;
}

static void receive_spinning(int socket)
{
    char byte;

    while (recv(socket, &byte, 1, MSG_DONTWAIT) != 1)
        ;
}

static int spin(void)
{
    enum { PAIRS = 200 };
    int pairs[PAIRS][2];

    for (int i = 0; i < PAIRS; i++)
        if (socketpair(AF_UNIX, i % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM, 0, pairs[i]) < 0)
            return 1;
    alarm(30);
    if (fork() == 0) {
        alarm(30);
        for (int i = 0; i < PAIRS; i++)
            receive_spinning(pairs[i][1]);
        _exit(0);
    }
    for (int i = 0; i < PAIRS; i++) {
        usleep(500);
        if (send(pairs[i][0], "x", 1, 0) != 1)
            return 1;
    }
    wait(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } corners[] = {
        {"end-of-file", end_of_file},
        {"exec-thread", exec_thread},
        {"interrupted", interrupted},
        {"reconnect", reconnect},
        {"spin", spin},
    };

    for (size_t i = 0; argc == 2 && i < sizeof(corners) / sizeof(corners[0]); i++)
        if (strcmp(argv[1], corners[i].name) == 0)
            return corners[i].run();
    fprintf(stderr, "usage: corners end-of-file|exec-thread|interrupted|reconnect|spin\n");
    return 2;
}
