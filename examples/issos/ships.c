/* SPDX-License-Identifier: MIT */
/*
 * ships.c: the programs of the ship game (Ogle, Schwan, Snodgrass 1993, section V), to be adapted while it is played.
 *
 *      ship-user SOCKET PAUSE            sends commands, one every PAUSE ms; SIGUSR1 makes it half as fast, SIGUSR2 ends it
 *             | a command
 *             v
 *      queue-manager SOCKET              the queue of commands; ends when the user has, and the queue is empty
 *             | a command, when asked for
 *             v
 *      ship-manager SOCKET WORK          carries out commands, WORK ms each
 *
 * The role is the name of the program. The queue manager prints how many commands it took and gave, and how long its
 * queue was at most.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MOST 64

/* What views observe. */
int queue_size, queue_most;
long commands_taken, commands_given;
int user_pause; /* ms */
static volatile sig_atomic_t stopped;

/* The queue has one command more or less. */
void queue_changed(int size);

__attribute__((noinline)) void queue_changed(int size)
{
    if (size > queue_most)
        queue_most = size;
    __asm__ volatile("" ::: "memory");
}

static void pause_for(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static int open_socket(const char *path, struct sockaddr_un *ret_address)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(ret_address->sun_path)) {
        fprintf(stderr, "ships: %s is too long for a socket\n", path);
        exit(EXIT_FAILURE);
    }
    strcpy(ret_address->sun_path, path);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* Waits until the queue manager listens. */
static int connect_to(const char *path)
{
    struct sockaddr_un address;

    for (int tries = 0; tries < 500; tries++) {
        int end = open_socket(path, &address);
        if (connect(end, (struct sockaddr *)&address, sizeof(address)) == 0)
            return end;
        close(end);
        pause_for(10);
    }
    fprintf(stderr, "ships: %s: nobody listens\n", path);
    exit(EXIT_FAILURE);
}

/* ---- queue manager ---- */

struct client {
    int end;
    bool waits; /* a ship that has asked for a command */
};

static struct client clients[CLIENTS_MOST];
static int client_count;
static bool over; /* the user has ended */

/* Gives commands to ships that wait. */
static void give(void)
{
    for (int i = 0; i < client_count && queue_size > 0; i++) {
        if (!clients[i].waits)
            continue;
        clients[i].waits = false;
        queue_size--;
        commands_given++;
        queue_changed(queue_size);
        if (write(clients[i].end, "c", 1) != 1)
            perror("queue-manager");
    }
}

/* A byte is a command of a user, or a ship's question. Returns whether the client is still there. */
static bool serve(struct client *client)
{
    char byte;

    if (read(client->end, &byte, 1) != 1)
        return false;
    if (byte == '?') {
        client->waits = true;
    } else if (byte == 'e') {
        over = true;
    } else {
        queue_size++;
        commands_taken++;
        queue_changed(queue_size);
    }
    give();
    return true;
}

static int manage_queue(const char *path)
{
    struct sockaddr_un address;
    int listener = open_socket(path, &address);

    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, 16) < 0) {
        perror(path);
        return EXIT_FAILURE;
    }
    while (!over || queue_size > 0) {
        struct pollfd ready[CLIENTS_MOST + 1] = {{listener, POLLIN, 0}};
        int count = client_count;
        for (int i = 0; i < count; i++)
            ready[i + 1] = (struct pollfd){clients[i].end, POLLIN, 0};
        poll(ready, (nfds_t)count + 1, -1);
        for (int i = count - 1; i >= 0; i--)
            if (ready[i + 1].revents != 0 && !serve(&clients[i])) {
                close(clients[i].end);
                clients[i] = clients[--client_count];
            }
        if (ready[0].revents != 0 && client_count < CLIENTS_MOST)
            clients[client_count++] = (struct client){accept(listener, NULL, NULL), false};
    }
    unlink(path);
    printf("commands taken %ld given %ld, queue at most %d\n", commands_taken, commands_given,
           queue_most);
    return EXIT_SUCCESS;
}

/* ---- users and ships ---- */

static void slow_down(int signal)
{
    (void)signal;
    user_pause *= 2;
}

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static int play(const char *path, int ms)
{
    int end = connect_to(path);

    user_pause = ms;
    signal(SIGUSR1, slow_down);
    signal(SIGUSR2, stop);
    while (!stopped) {
        if (write(end, "u", 1) != 1)
            return EXIT_FAILURE;
        pause_for(user_pause);
    }
    return write(end, "e", 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int sail(const char *path, int work)
{
    int end = connect_to(path);
    char byte;

    while (write(end, "?", 1) == 1 && read(end, &byte, 1) == 1)
        pause_for(work);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *role = slash == NULL ? argv[0] : slash + 1;

    signal(SIGPIPE, SIG_IGN);
    if (strcmp(role, "queue-manager") == 0 && argc == 2)
        return manage_queue(argv[1]);
    if (strcmp(role, "ship-user") == 0 && argc == 3)
        return play(argv[1], atoi(argv[2]));
    if (strcmp(role, "ship-manager") == 0 && argc == 3)
        return sail(argv[1], atoi(argv[2]));
    fprintf(stderr, "usage: queue-manager SOCKET | ship-user SOCKET PAUSE | ship-manager "
                    "SOCKET WORK\n");
    return 2;
}
