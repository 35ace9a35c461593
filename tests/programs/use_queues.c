/* SPDX-License-Identifier: MIT */
/*
 * use_queues.c: several processes send to one message queue, others receive from it, of several types or priorities. Each
 * message says which process has sent it, and how many that process had sent before. Each receiver logs in the file LOG
 * what it has received, in its own order:
 *
 *      412 2 405 17         process 412 has received, with type (or priority) 2, message 17 of process 405
 *
 * Call: use-queues sysv|posix SENDERS RECEIVERS MESSAGES LOG
 *
 * POSIX receivers with an odd number do not ask for the priority, if BLIND is set in the environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPES     3
#define LAST_TYPE 9 /* System V: of the message that ends a receiver; POSIX: priority 0 */
#define TEXT_SIZE 64

struct message {
    long type;
    char text[TEXT_SIZE + 1];
};

static bool posix;
static int queue;
static mqd_t named;
static int sent; /* by this process */

static void check(bool succeeds, const char *what)
{
    if (succeeds)
        return;
    perror(what);
    exit(1);
}

static void send_one(long type, size_t more)
{
    struct message message = {.type = type};
    size_t length;

    length = (size_t)snprintf(message.text, sizeof(message.text), "%d %d", getpid(), sent++) + more;
    if (posix)
        check(mq_send(named, message.text, length, (unsigned)(type % LAST_TYPE)) == 0, "mq_send");
    else
        check(msgsnd(queue, &message, length, 0) == 0, "msgsnd");
}

static void send_all(int number, int messages)
{
    for (int i = 0; i < messages; i++)
        send_one(1 + (number + i) % TYPES, (size_t)(i % 20));
}

/* Receives a message; returns its type. */
static long receive_one(int number, FILE *log)
{
    struct message message = {.type = 0};
    unsigned priority = 0;
    bool blind = posix && number % 2 == 1 && getenv("BLIND") != NULL;

    memset(message.text, 0, sizeof(message.text));
    if (posix) {
        check(mq_receive(named, message.text, TEXT_SIZE, blind ? NULL : &priority) >= 0,
              "mq_receive");
        message.type = priority;
    } else { /* any, or the least */
        check(msgrcv(queue, &message, TEXT_SIZE, number % 2 == 0 ? 0 : -LAST_TYPE, 0) >= 0,
              "msgrcv");
    }
    fprintf(log, "%d %ld %s\n", getpid(), blind ? -1 : message.type, message.text);
    return blind ? strstr(message.text, "last") == NULL : message.type;
}

static void receive_all(int number, const char *name)
{
    static char
        buffer[1 << 20]; /* written at once, so that lines of several receivers do not mix */
    FILE *log = fopen(name, "a");
    long last = posix ? 0 : LAST_TYPE, type;

    check(log != NULL, name);
    setvbuf(log, buffer, _IOFBF, sizeof(buffer));
    do
        type = receive_one(number, log);
    while (type != last);
    fclose(log);
}

static void make_queue(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = TEXT_SIZE};
    char name[64];

    snprintf(name, sizeof(name), "/dpm-queues-%d", getpid());
    if (posix) {
        named = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
        check(named >= 0, "mq_open");
        mq_unlink(name);
    } else {
        queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
        check(queue >= 0, "msgget");
    }
}

static void end_receivers(int receivers)
{
    for (int i = 0; i < receivers; i++) {
        struct message message = {.type = LAST_TYPE};

        snprintf(message.text, sizeof(message.text), "%d %d last", getpid(), sent++);
        if (posix)
            check(mq_send(named, message.text, TEXT_SIZE, 0) == 0, "mq_send");
        else
            check(msgsnd(queue, &message, TEXT_SIZE, 0) == 0, "msgsnd");
    }
}

int main(int argc, char **argv)
{
    int status;

    if (argc != 6) {
        fprintf(stderr, "usage: use-queues sysv|posix SENDERS RECEIVERS MESSAGES LOG\n");
        return 2;
    }
    posix = strcmp(argv[1], "posix") == 0;
    int senders = atoi(argv[2]), receivers = atoi(argv[3]), messages = atoi(argv[4]);
    make_queue();
    for (int i = 0; i < receivers; i++)
        if (fork() == 0) {
            receive_all(i, argv[5]);
            exit(0);
        }
    for (int i = 0; i < senders; i++)
        if (fork() == 0) {
            send_all(i, messages);
            _exit(0);
        }
    for (int i = 0; i < senders; i++)
        wait(&status);
    end_receivers(receivers);
    while (wait(&status) >= 0)
        ;
    if (!posix)
        msgctl(queue, IPC_RMID, NULL);
    return 0;
}
