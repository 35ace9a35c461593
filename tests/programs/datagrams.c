/* SPDX-License-Identifier: MIT */
/*
 * datagrams.c: sends or receives UDP datagrams, and logs them: the truth for udp_test.sh.
 *
 *      datagrams send ADDRESS PORT COUNT LARGEST PAUSE [LOG]
 *          COUNT datagrams of 4 to LARGEST bytes, PAUSE microseconds after each; every second one by
 *          a connected socket. Prints `sent N bytes B`.
 *      datagrams receive ADDRESS PORT PAUSE [LOG [BUFFER]]
 *          until none comes for five seconds, PAUSE microseconds after each, from a socket with a buffer
 *          (SO_RCVBUF) of BUFFER bytes. Prints `received N bytes B dropped D`, where D is the kernel's
 *          drop count of the socket.
 *
 * Each datagram begins with its number: 0, 1, 2 ... for each sender. LOG gets the numbers of the sent or received
 * datagrams, one a line.
 *
 * The program ends after at most two minutes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LARGEST_DATAGRAM 65507

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "datagrams: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct address read_address(const char *text, const char *port)
{
    struct address address = {.length = 0};
    struct sockaddr_in *in4 = (struct sockaddr_in *)&address.storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address.storage;

    if (inet_pton(AF_INET, text, &in4->sin_addr) == 1) {
        in4->sin_family = AF_INET;
        in4->sin_port = htons((uint16_t)atoi(port));
        address.length = sizeof(*in4);
    } else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)atoi(port));
        address.length = sizeof(*in6);
    } else {
        give_up(text);
    }
    return address;
}

static int new_socket(const struct address *address)
{
    int descriptor = socket(address->storage.ss_family, SOCK_DGRAM, 0);

    if (descriptor < 0)
        give_up("socket");
    return descriptor;
}

static FILE *open_log(const char *name)
{
    FILE *log = fopen(name == NULL ? "/dev/null" : name, "we");

    if (log == NULL)
        give_up(name);
    return log;
}

static void close_log(FILE *log)
{
    if (fclose(log) != 0)
        give_up("the log");
}

static void send_all(const struct address *to, unsigned count, unsigned largest, unsigned pause,
                     const char *log_name)
{
    static char buffer[LARGEST_DATAGRAM];
    const struct sockaddr *name = (const struct sockaddr *)&to->storage;
    int connected = new_socket(to);
    int unconnected = new_socket(to);
    unsigned long long sent = 0, bytes = 0;
    FILE *log = open_log(log_name);

    if (connect(connected, name, to->length) < 0)
        give_up("connect");
    for (uint32_t i = 0; i < count; i++) {
        size_t size = 1 + i * 37 % largest;
        if (size < sizeof(i))
            size = sizeof(i);
        memcpy(buffer, &i, sizeof(i));
        ssize_t result = i % 2 == 0 ? send(connected, buffer, size, 0)
                                    : sendto(unconnected, buffer, size, 0, name, to->length);
        if (result >= 0) {
            sent++;
            bytes += (unsigned long long)result;
            fprintf(log, "%u\n", i);
        } else if (errno != ECONNREFUSED) {
            give_up("send");
        }
        if (pause > 0)
            usleep(pause);
    }
    close_log(log);
    printf("sent %llu bytes %llu\n", sent, bytes);
}

/* The last column of the socket's line in /proc/net/udp or udp6. */
static unsigned long long dropped(unsigned port, int family)
{
    FILE *file = fopen(family == AF_INET ? "/proc/net/udp" : "/proc/net/udp6", "re");
    char line[512], wanted[16];
    unsigned long long count = 0;

    if (file == NULL)
        give_up("/proc/net/udp");
    snprintf(wanted, sizeof(wanted), ":%04X ", port);
    while (fgets(line, sizeof(line), file) != NULL) {
        char *local = strstr(line, wanted);
        char *last = strrchr(line, '\n');
        if (local == NULL || last == NULL)
            continue;
        while (last > line && (*last == '\n' || *last == ' '))
            *last-- = '\0';
        last = strrchr(line, ' ');
        count = last == NULL ? 0 : strtoull(last + 1, NULL, 10);
    }
    fclose(file);
    return count;
}

static void receive_all(const struct address *at, unsigned port, unsigned pause,
                        const char *log_name, int buffer_size)
{
    static char buffer[LARGEST_DATAGRAM];
    struct timeval patience = {.tv_sec = 5};
    int descriptor = new_socket(at);
    unsigned long long received = 0, bytes = 0;
    FILE *log = open_log(log_name);
    uint32_t number;
    ssize_t result;

    if (buffer_size > 0 &&
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof(buffer_size)) < 0)
        give_up("SO_RCVBUF");
    if (bind(descriptor, (const struct sockaddr *)&at->storage, at->length) < 0)
        give_up("bind");
    while ((result = recv(descriptor, buffer, sizeof(buffer), 0)) >= 0) {
        received++;
        bytes += (unsigned long long)result;
        memcpy(&number, buffer, sizeof(number));
        fprintf(log, "%u\n", number);
        /* the first may be late, the others may not */
        if (received == 1)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (pause > 0)
            usleep(pause);
    }
    close_log(log);
    printf("received %llu bytes %llu dropped %llu\n", received, bytes,
           dropped(port, at->storage.ss_family));
}

int main(int count, char **arguments)
{
    alarm(120);
    if ((count == 7 || count == 8) && strcmp(arguments[1], "send") == 0) {
        struct address to = read_address(arguments[2], arguments[3]);
        send_all(&to, (unsigned)atoi(arguments[4]), (unsigned)atoi(arguments[5]),
                 (unsigned)atoi(arguments[6]), arguments[7]);
        return 0;
    }
    if (count >= 5 && count <= 7 && strcmp(arguments[1], "receive") == 0) {
        struct address at = read_address(arguments[2], arguments[3]);
        receive_all(&at, (unsigned)atoi(arguments[3]), (unsigned)atoi(arguments[4]), arguments[5],
                    count == 7 ? atoi(arguments[6]) : 0);
        return 0;
    }
    fprintf(stderr, "usage: datagrams send ADDRESS PORT COUNT LARGEST PAUSE [LOG]\n"
                    "       datagrams receive ADDRESS PORT PAUSE [LOG [BUFFER]]\n");
    return 2;
}
