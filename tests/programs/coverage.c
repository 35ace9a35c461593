/* SPDX-License-Identifier: MIT */
/*
 * coverage.c: every way to send and to receive, one at a time:
 *
 *      coverage WAY,... tcp|udp|udp6|unix|datagram|seqpacket|pipe|fifo LOG
 *
 * makes a connected pair of sockets, or a pipe, for each way, uses it, and logs the results of its calls:
 *
 *      SEND inode bytes        END inode 0             the end of file
 *      RECEIVE inode bytes     FAILED_SEND inode 0     and FAILED_RECEIVE
 *      UNSEEN inode bytes      taken where no hook sees it, UNSEEN_SEND: sent
 */
#include "coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

int domain, type;
bool is_tcp;
char buffer[1 << 20];
static int log_file;

/* ---- the log ---- */

void must_hold(bool truth, const char *file, int line, const char *text)
{
    if (truth)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, text, strerror(errno));
    _exit(1);
}

void note(const char *operation, int socket, long bytes)
{
    struct stat status;

    must(fstat(socket, &status) == 0);
    dprintf(log_file, "%s %lu %ld\n", operation, (unsigned long)status.st_ino, bytes);
}

void note_wait(const char *operation, long call)
{
    dprintf(log_file, "%s %ld\n", operation, call);
}

void note_other(const char *kind)
{
    dprintf(log_file, "OTHER %s\n", kind);
}

void sent(int socket, ssize_t result, ssize_t expected)
{
    must(result == expected);
    note("SEND", socket, result);
}

void received(int socket, ssize_t result, ssize_t expected)
{
    must(result == expected);
    note(result == 0 ? "END" : "RECEIVE", socket, result);
}

/* ---- used by all ways ---- */

void nap(void)
{
    usleep(50000);
}

static char state_of(pid_t process)
{
    char name[32], text[128] = "";

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)process);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    close(file);
    const char *end = got > 0 ? strrchr(text, ')') : NULL; /* PID (NAME) STATE ... */
    return end == NULL ? 0 : end[2];
}

void let_parent_wait(void)
{
    pid_t parent = getppid();

    do
        nap();
    while (getppid() == parent && state_of(parent) != 'S');
}

void in_child(void (*work)(const int *pair), const int *pair)
{
    pid_t child = fork();

    must(child >= 0);
    if (child != 0)
        return;
    let_parent_wait();
    work(pair);
    /* SIGCHLD interrupts a process that waits for all of it and is traced, although SIGCHLD is ignored */
    let_parent_wait();
    _exit(0);
}

void wait_for_child(void)
{
    int status;

    must(wait(&status) > 0 && status == 0);
}

static int listen_on_loopback(struct sockaddr_in *address)
{
    socklen_t length = sizeof(*address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), queue = 5;

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, (void *)address, length) == 0 && listen(listener, 1) == 0);
    must(getsockname(listener, (void *)address, &length) == 0);
    setsockopt(listener, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue));
    return listener;
}

static int bound_to_loopback(struct sockaddr_in6 *address)
{
    struct sockaddr_in *in4 = (struct sockaddr_in *)address;
    int made = socket(domain, SOCK_DGRAM, 0);
    socklen_t length = sizeof(*address);

    *address = (struct sockaddr_in6){.sin6_family = (sa_family_t)domain};
    if (domain == AF_INET)
        in4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address->sin6_addr = in6addr_loopback;
    must(bind(made, (void *)address, length) == 0);
    must(getsockname(made, (void *)address, &length) == 0);
    return made;
}

static void make_udp_pair(int pair[2])
{
    struct sockaddr_in6 sender, receiver;

    pair[SENDER] = bound_to_loopback(&sender);
    pair[RECEIVER] = bound_to_loopback(&receiver);
    must(connect(pair[SENDER], (void *)&receiver, sizeof(receiver)) == 0);
    must(connect(pair[RECEIVER], (void *)&sender, sizeof(sender)) == 0);
}

static void make_tcp_pair(int pair[2])
{
    struct sockaddr_in address;
    int listener = listen_on_loopback(&address), at_once = 1;
    pair[SENDER] = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(pair[SENDER], (void *)&address, sizeof(address)) == 0);
    pair[RECEIVER] = accept(listener, NULL, NULL);
    must(pair[RECEIVER] >= 0);
    setsockopt(pair[SENDER], IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    close(listener);
}

static void make_pair(int pair[2])
{
    if (domain == AF_UNIX)
        must(socketpair(AF_UNIX, type, 0, pair) == 0);
    else if (is_tcp)
        make_tcp_pair(pair);
    else
        make_udp_pair(pair);
}

static void send_bytes(int socket, size_t bytes)
{
    sent(socket, send(socket, buffer, bytes, 0), (ssize_t)bytes);
}

static void receive_bytes(int socket, size_t bytes)
{
    received(socket, recv(socket, buffer, sizeof(buffer), 0), (ssize_t)bytes);
}

static struct msghdr message_of(struct iovec *vector, size_t bytes)
{
    *vector = (struct iovec){buffer, bytes};
    return (struct msghdr){.msg_iov = vector, .msg_iovlen = 1};
}

/* ---- plain calls ---- */

static int calls(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER];
    struct iovec vector;
    struct msghdr message = message_of(&vector, 3);
    struct mmsghdr two[2] = {{.msg_hdr = message}, {.msg_hdr = message}};

    sent(from, send(from, buffer, 1, 0), 1);
    received(to, recv(to, buffer, 100, 0), 1);
    sent(from, sendto(from, buffer, 2, 0, NULL, 0), 2);
    received(to, recvfrom(to, buffer, 100, 0, NULL, NULL), 2);
    sent(from, sendmsg(from, &message, 0), 3);
    received(to, recvmsg(to, &message, 0), 3);
    must(sendmmsg(from, two, 2, 0) == 2);
    note("SEND", from, 3);
    note("SEND", from, 3);
    nap();
    must(recvmmsg(to, two, 2, 0, NULL) == 2);
    note("RECEIVE", to, 3);
    note("RECEIVE", to, 3);
    sent(from, write(from, buffer, 4), 4);
    received(to, read(to, buffer, 100), 4);
    sent(from, writev(from, &vector, 1), 3);
    received(to, readv(to, &vector, 1), 3);
    return 0;
}

static int empty(const int *pair)
{
    sent(pair[SENDER], send(pair[SENDER], buffer, 0, 0), 0);
    send_bytes(pair[SENDER], 5);
    receive_bytes(pair[RECEIVER], 5);
    return 0;
}

static bool keeps_messages(void)
{
    return !is_tcp && type != SOCK_STREAM;
}

/* Calls of 0 bytes: they take nothing, and are no end of file. Except that socket calls take a message. */
static int ask_nothing(const int *pair)
{
    int to = pair[RECEIVER];
    struct iovec vector;
    struct msghdr message = message_of(&vector, 0);
    struct mmsghdr two[2] = {{.msg_hdr = message}, {.msg_hdr = message}};

    for (int i = 0; i < 4; i++)
        send_bytes(pair[SENDER], 5);
    must(read(to, buffer, 0) == 0);
    must(readv(to, &vector, 1) == 0);
    must(preadv2(to, &vector, 1, -1, 0) == 0);
    must(recv(to, buffer, 0, 0) == 0);
    must(recvmsg(to, &message, 0) == 0);
    must(recvmmsg(to, two, 1, 0, NULL) == 1 && two[0].msg_len == 0);
    for (int i = 0; i < 3 && keeps_messages(); i++)
        note("RECEIVE", to, 0);
    receive_bytes(to, keeps_messages() ? 5 : 20);
    return 0;
}

static int peek(const int *pair)
{
    int to = pair[RECEIVER];
    struct iovec vector;
    struct msghdr message = message_of(&vector, 10);
    struct mmsghdr two[2] = {{.msg_hdr = message}, {.msg_hdr = message}};

    send_bytes(pair[SENDER], 100);
    must(recv(to, buffer, 10, MSG_PEEK) == 10);
    must(recvmsg(to, &message, MSG_PEEK) == 10);
    must(recvmmsg(to, two, 2, MSG_PEEK, NULL) == 2);
    received(to, readv(to, &vector, 1), 10);
    must(recv(to, buffer, 100, MSG_PEEK) == 90);
    receive_bytes(to, 90);
    return 0;
}

static void send_two_parts(const int *pair)
{
    send_bytes(pair[SENDER], 40);
    nap();
    send_bytes(pair[SENDER], 60);
}

static int wait_all(const int *pair)
{
    in_child(send_two_parts, pair);
    received(pair[RECEIVER], recv(pair[RECEIVER], buffer, 100, MSG_WAITALL), 100);
    wait_for_child();
    return 0;
}

static int low_water(const int *pair)
{
    int least = 100;

    must(setsockopt(pair[RECEIVER], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) == 0);
    in_child(send_two_parts, pair);
    receive_bytes(pair[RECEIVER], 100);
    wait_for_child();
    return 0;
}

static int half_closed(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER];

    send_bytes(from, 10);
    must(shutdown(from, SHUT_WR) == 0);
    nap();
    must(send(from, buffer, 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
    note("FAILED_SEND", from, 0);
    receive_bytes(to, 10);
    received(to, recv(to, buffer, 100, 0), 0);
    send_bytes(to, 20);
    receive_bytes(from, 20);
    must(shutdown(from, SHUT_RD) == 0);
    received(from, recv(from, buffer, 100, 0), 0);
    return 0;
}

static int would_block(const int *pair)
{
    int to = pair[RECEIVER];

    must(recv(to, buffer, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN); /* no failure */
    send_bytes(pair[SENDER], 5);
    receive_bytes(to, 5);
    return 0;
}

/* A sendmmsg whose message goes out in part, and the very same call again, which sends nothing. */
static int short_many(const int *pair)
{
    struct iovec vector;
    struct mmsghdr two[2] = {{.msg_hdr = message_of(&vector, sizeof(buffer))}};
    int results[2], errors[2];

    two[1] = two[0];
    for (int i = 0; i < 2; i++) {
        results[i] = sendmmsg(pair[SENDER], two, 2, MSG_DONTWAIT);
        errors[i] = errno;
        if (i == 0)
            note("SEND", pair[SENDER], two[0].msg_len);
    }
    must(results[0] == 1 && two[0].msg_len < sizeof(buffer));
    must(results[1] < 0 && errors[1] == EAGAIN);
    return 0;
}

/* ---- splice and similar calls ---- */

/* No hook sees what splice takes out of a UNIX stream socket; that it goes into a pipe is seen. */
static void spliced(int socket, int to, ssize_t result, ssize_t expected)
{
    must(result == expected);
    if (is_tcp || result != 0)
        note(!is_tcp ? "UNSEEN" : result == 0 ? "END" : "RECEIVE", socket, result);
    if (result != 0)
        note("SEND", to, result);
}

static void let_queue_be_looked_at(void)
{
    usleep(
        3000000); /* the check is made once a second, by a process that may have to wait for a CPU */
}

static void send_later(const int *pair)
{
    send_bytes(pair[SENDER], 50);
    let_parent_wait();
    must(shutdown(pair[SENDER], SHUT_WR) == 0);
}

/* Calls that end because they have all requested bytes, one that waits, one that finds the end of file. */
static int splice_out(const int *pair)
{
    int to = pair[RECEIVER], pipes[2];

    must(pipe(pipes) == 0);
    send_bytes(pair[SENDER], 10);
    receive_bytes(to, 10);
    send_bytes(pair[SENDER], 300);
    for (int i = 0; i < 3; i++)
        spliced(to, pipes[1], splice(to, NULL, pipes[1], NULL, 100, 0), 100);
    received(pipes[0], read(pipes[0], buffer, 1000), 300);
    send_bytes(pair[SENDER], 7);
    receive_bytes(to, 7);
    send_bytes(pair[SENDER], 100);
    spliced(to, pipes[1], splice(to, NULL, pipes[1], NULL, 30, SPLICE_F_NONBLOCK), 30);
    receive_bytes(to, 70);
    in_child(send_later, pair);
    spliced(to, pipes[1], splice(to, NULL, pipes[1], NULL, 1000, 0), 50);
    spliced(to, pipes[1], splice(to, NULL, pipes[1], NULL, 1000, 0), 0);
    wait_for_child();
    if (!is_tcp)
        let_queue_be_looked_at();
    return 0;
}

/* Nothing is received after the splice, and nothing sent: only the length of the queue shows it. The receiving end
 * sends, so that the meter knows it. */
static int splice_last(const int *pair)
{
    int to = pair[RECEIVER], pipes[2];

    must(pipe(pipes) == 0);
    send_bytes(to, 3);
    receive_bytes(pair[SENDER], 3);
    send_bytes(pair[SENDER], 500);
    spliced(to, pipes[1], splice(to, NULL, pipes[1], NULL, 1000, 0), 500);
    let_queue_be_looked_at();
    return 0;
}

enum { BULK = 3 << 20, WIDE = 1 << 20 };

static void send_bulk(const int *pair)
{
    for (int i = 0; i < BULK / (int)sizeof(buffer); i++)
        send_bytes(pair[SENDER], sizeof(buffer));
}

/* One call, even if the kernel splits it into several pieces. */
static int splice_bulk(const int *pair)
{
    int to = pair[RECEIVER], pipes[2];

    must(pipe(pipes) == 0 && fcntl(pipes[1], F_SETPIPE_SZ, WIDE) == WIDE);
    in_child(send_bulk, pair);
    for (ssize_t all = 0; all < BULK;) {
        ssize_t got = splice(to, NULL, pipes[1], NULL, WIDE, 0);
        must(got > 0);
        spliced(to, pipes[1], got, got);
        all += got;
        for (ssize_t left = got; left > 0;) {
            ssize_t drained = read(pipes[0], buffer, sizeof(buffer));
            must(drained > 0);
            received(pipes[0], drained, drained);
            left -= drained;
        }
    }
    wait_for_child();
    return 0;
}

static void receive_wide(const int *pair)
{
    for (ssize_t all = 0; all < WIDE;) {
        ssize_t got = recv(pair[RECEIVER], buffer, sizeof(buffer), 0);
        must(got > 0);
        received(pair[RECEIVER], got, got);
        all += got;
    }
}

/* A pipe of many pages reaches the socket in many sends of one call. */
static int splice_in(const int *pair)
{
    int from = pair[SENDER], pipes[2];

    must(pipe(pipes) == 0 && fcntl(pipes[1], F_SETPIPE_SZ, WIDE) == WIDE);
    for (int i = 0; i < 2; i++) {
        sent(pipes[1], write(pipes[1], buffer, 100), 100);
        sent(from, splice(pipes[0], NULL, from, NULL, 100, 0), 100);
        note("RECEIVE", pipes[0], 100);
        receive_bytes(pair[RECEIVER], 100);
    }
    in_child(receive_wide, pair);
    sent(pipes[1], write(pipes[1], buffer, WIDE), WIDE);
    sent(from, splice(pipes[0], NULL, from, NULL, WIDE, 0), WIDE);
    note("RECEIVE", pipes[0], WIDE);
    wait_for_child();
    return 0;
}

/* Pages given to a pipe, copied to a second pipe, and from both into the socket. */
static int vmsplice_tee(const int *pair)
{
    int from = pair[SENDER], first[2], second[2];
    struct iovec vector = {buffer, 100};

    must(pipe(first) == 0 && pipe(second) == 0);
    sent(first[1], vmsplice(first[1], &vector, 1, 0), 100);
    sent(second[1], tee(first[0], second[1], 100, 0), 100);
    sent(from, splice(first[0], NULL, from, NULL, 100, 0), 100);
    note("RECEIVE", first[0], 100);
    receive_bytes(pair[RECEIVER], 100);
    sent(from, splice(second[0], NULL, from, NULL, 100, 0), 100);
    note("RECEIVE", second[0], 100);
    receive_bytes(pair[RECEIVER], 100);
    return 0;
}

static int file_of(size_t bytes)
{
    int file = memfd_create("coverage", 0);

    must(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
    must(write(file, buffer, bytes) == (ssize_t)bytes && lseek(file, 0, SEEK_SET) == 0);
    return file;
}

static int send_file(const int *pair)
{
    int from = pair[SENDER], file = file_of(WIDE);

    for (int i = 0; i < 2; i++) {
        off_t at = 0;
        sent(from, sendfile(from, file, &at, 100), 100);
        receive_bytes(pair[RECEIVER], 100);
    }
    in_child(receive_wide, pair);
    sent(from, sendfile(from, file, NULL, WIDE), WIDE);
    wait_for_child();
    return 0;
}

/* The pages of a file arrive unchanged and are mapped where the receiver wants them. */
static int map_received(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER], file = file_of(4 * PAGE);
    struct tcp_zerocopy_receive wanted = {.length = 4 * PAGE};
    socklen_t length = sizeof(wanted);
    void *place = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, to, 0);

    must(place != MAP_FAILED);
    wanted.address = (uintptr_t)place;
    sent(from, sendfile(from, file, NULL, 4 * PAGE), 4 * PAGE);
    nap();
    must(getsockopt(to, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &wanted, &length) == 0);
    if (wanted.length != 0)
        note("RECEIVE", to, wanted.length);
    if (wanted.length != 4 * PAGE)
        receive_bytes(to, 4 * PAGE - wanted.length);
    return 0;
}

static int zero_copy(const int *pair)
{
    int from = pair[SENDER], on = 1;
    struct pollfd ready = {.fd = from};
    struct iovec vector;
    struct msghdr message = message_of(&vector, 100);
    char control[100];

    must(setsockopt(from, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) == 0);
    sent(from, send(from, buffer, WIDE / 8, MSG_ZEROCOPY), WIDE / 8);
    received(pair[RECEIVER], recv(pair[RECEIVER], buffer, WIDE / 8, MSG_WAITALL), WIDE / 8);
    must(poll(&ready, 1, 20000) == 1);
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    must(recvmsg(from, &message, MSG_ERRQUEUE) == 0); /* not a message: a send notification */
    return 0;
}

/* ---- specific to TCP ---- */

static int urgent(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER];

    for (int taken = 0; taken < 2; taken++) {
        send_bytes(from, 3);
        sent(from, send(from, buffer, 1, MSG_OOB), 1);
        send_bytes(from, 2);
        nap();
        if (taken)
            received(to, recv(to, buffer, 1, MSG_OOB), 1);
        receive_bytes(to, 3);
        if (!taken)
            note("SKIPPED", to, 1);
        receive_bytes(to, 2);
    }
    return 0;
}

static int urgent_in_line(const int *pair)
{
    int from = pair[SENDER], to = pair[RECEIVER], on = 1;

    must(setsockopt(to, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) == 0);
    send_bytes(from, 3);
    sent(from, send(from, buffer, 1, MSG_OOB), 1);
    send_bytes(from, 2);
    nap();
    receive_bytes(to, 3);
    receive_bytes(to, 3);
    return 0;
}

static int discard(const int *pair)
{
    int to = pair[RECEIVER];

    send_bytes(pair[SENDER], 100);
    received(to, recv(to, NULL, 60, MSG_TRUNC), 60);
    receive_bytes(to, 40);
    return 0;
}

/* The first connection gets the cookie, the second sends with its first packet. */
static int fast_open(const int *pair)
{
    struct sockaddr_in address;
    int listener = listen_on_loopback(&address);

    (void)pair;
    for (int i = 0; i < 2; i++) {
        int from = socket(AF_INET, SOCK_STREAM, 0);
        sent(from, sendto(from, buffer, 100, MSG_FASTOPEN, (void *)&address, sizeof(address)), 100);
        int to = accept(listener, NULL, NULL);
        must(to >= 0);
        receive_bytes(to, 100);
        send_bytes(to, 50);
        receive_bytes(from, 50);
        close(from);
        close(to);
    }
    return 0;
}

/* ---- passing descriptors ---- */

static int hand_over; /* socket between the two processes */

static void use_what_comes(const int *pair)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec vector;
    struct msghdr message = message_of(&vector, 1);
    int come[2];

    (void)pair;
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    received(hand_over, recvmsg(hand_over, &message, 0), 1);
    memcpy(come, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(come));
    send_bytes(come[SENDER], 11);
    receive_bytes(come[RECEIVER], 11);
}

typedef ssize_t send_message(int, const struct msghdr *, int);

static ssize_t send_as_one_of_many(int to, const struct msghdr *message, int flags)
{
    struct mmsghdr many = {.msg_hdr = *message};

    return sendmmsg(to, &many, 1, flags) == 1 ? (ssize_t)many.msg_len : -1;
}

static int pass_by(send_message *send)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec vector;
    struct msghdr message = message_of(&vector, 1);
    int between[2], pair[2];

    must(socketpair(AF_UNIX, SOCK_STREAM, 0, between) == 0);
    hand_over = between[1];
    in_child(use_what_comes, NULL);
    make_pair(pair);
    send_bytes(pair[SENDER], 5);
    receive_bytes(pair[RECEIVER], 5);
    control.header.cmsg_len = CMSG_LEN(sizeof(pair));
    memcpy(CMSG_DATA(&control.header), pair, sizeof(pair));
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    sent(between[0], send(between[0], &message, 0), 1);
    wait_for_child();
    send_bytes(pair[SENDER], 6);
    receive_bytes(pair[RECEIVER], 6);
    return 0;
}

static int passed(const int *unused)
{
    (void)unused;
    return pass_by(sendmsg);
}

static int passed_many(const int *unused)
{
    (void)unused;
    return pass_by(send_as_one_of_many);
}

/* An abstract name that contains a NUL. */
static int abstract(const int *pair)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 17;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    int from = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)pair;
    snprintf(address.sun_path + 1, 16, "dpm%07d", (int)getpid());
    memcpy(address.sun_path + 12, "tail", 4);
    must(bind(listener, (void *)&address, length) == 0 && listen(listener, 1) == 0);
    must(connect(from, (void *)&address, length) == 0);
    int to = accept(listener, NULL, NULL);
    send_bytes(from, 5);
    receive_bytes(to, 5);
    return 0;
}

static int uring_plain(const int *pair)
{
    return through_uring("plain", pair);
}

static int uring_poll(const int *pair)
{
    return through_uring("poll", pair);
}

static int uring_async(const int *pair)
{
    return through_uring("async", pair);
}

static int uring_sqpoll(const int *pair)
{
    return through_uring("sqpoll", pair);
}

static int uring_splice(const int *pair)
{
    return splice_through_uring("plain", pair);
}

static const struct {
    const char *name;
    int (*go)(const int *pair);
} ways[] = {
    {"calls", calls},
    {"empty", empty},
    {"ask-nothing", ask_nothing},
    {"peek", peek},
    {"wait-all", wait_all},
    {"low-water", low_water},
    {"half-closed", half_closed},
    {"would-block", would_block},
    {"short-many", short_many},
    {"splice-out", splice_out},
    {"splice-last", splice_last},
    {"splice-bulk", splice_bulk},
    {"splice-in", splice_in},
    {"vmsplice-tee", vmsplice_tee},
    {"sendfile", send_file},
    {"map-received", map_received},
    {"zero-copy", zero_copy},
    {"urgent", urgent},
    {"urgent-in-line", urgent_in_line},
    {"discard", discard},
    {"fast-open", fast_open},
    {"passed", passed},
    {"passed-many", passed_many},
    {"abstract", abstract},
    {"uring-plain", uring_plain},
    {"uring-poll", uring_poll},
    {"uring-async", uring_async},
    {"uring-sqpoll", uring_sqpoll},
    {"uring-splice", uring_splice},
    {"wait-any", wait_for_any},
    {"wait-new", wait_for_new},
    {"wait-time", wait_for_time},
    {"message-empty", message_empty},
    {"message-peek", message_peek},
    {"message-cut", message_cut},
    {"message-splice", message_splice},
    {"message-splice-out", message_splice_out},
    {"udp-more", udp_more},
    {"udp-splice-pieces", udp_splice_pieces},
    {"unix-splice-pieces", unix_splice_pieces},
    {"udp-segments", udp_segments},
    {"udp-zero-copy", udp_zero_copy},
    {"udp-refused", udp_refused},
    {"other-sockets", other_sockets},
    {"mptcp-refused", mptcp_refused},
    {"pipe-uring", pipe_through_uring},
    {"pipe-calls", pipe_calls},
    {"pipe-ask-nothing", pipe_ask_nothing},
    {"pipe-splice", pipe_splice},
    {"pipe-would-block", pipe_would_block},
    {"pipe-blocked", pipe_blocked},
    {"pipe-packets", pipe_packets},
};

static const struct {
    const char *name;
    int domain, type;
} kinds[] = {
    {"tcp", AF_INET, SOCK_STREAM},
    {"udp", AF_INET, SOCK_DGRAM},
    {"udp6", AF_INET6, SOCK_DGRAM},
    {"unix", AF_UNIX, SOCK_STREAM},
    {"datagram", AF_UNIX, SOCK_DGRAM},
    {"seqpacket", AF_UNIX, SOCK_SEQPACKET},
    {"pipe", 0, 0},
    {"fifo", 0, 0},
};

static bool choose_kind(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        domain = kinds[i].domain;
        type = kinds[i].type;
        is_tcp = domain == AF_INET && type == SOCK_STREAM;
        return true;
    }
    return false;
}

/* Returns 2 if there is no such way. */
static int go(const char *way, const char *kind)
{
    int pair[2];

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(way, ways[i].name) != 0)
            continue;
        if (domain == 0)
            make_pipe(strcmp(kind, "fifo") == 0, pair);
        else
            make_pair(pair);
        return ways[i].go(pair);
    }
    return 2;
}

int main(int argc, char **argv)
{
    int result = 2;

    if (argc == 4 && choose_kind(argv[2])) {
        log_file = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        must(log_file >= 0);
        char *rest = argv[1];
        do {
            alarm(60); /* for each way */
            result = go(strsep(&rest, ","), argv[2]);
        } while (result == 0 && rest != NULL);
    }
    if (result == 2)
        fprintf(stderr,
                "usage: coverage WAY,... tcp|udp|udp6|unix|datagram|seqpacket|pipe|fifo LOG\n");
    return result;
}
