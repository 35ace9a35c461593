/* SPDX-License-Identifier: MIT */
/*
 * other_ends.c: who is at the other end, where a meter easily looks too late or in the wrong place. Each message says
 * who has sent it, and a line is printed for each that is received:
 *
 *      104 51234 4711 2        104 bytes, from port 51234 (0: none), sent by thread 4711, whose message number 2 it is
 *
 *      other-ends late KIND          clients that have sent and closed before they are accepted: tcp, tcp6, unix,
 *                                    abstract, seqpacket
 *      other-ends late-one KIND      ... all of one process
 *      other-ends late-same KIND     ... all of one process, with messages of one size
 *      other-ends late-threads KIND  ... of threads that connect at a time
 *      other-ends unaccepted KIND    a listening socket is closed with a client in its queue; another one gets its name
 *      other-ends network            processes that leave for network namespaces of their own, with the same ports
 *      other-ends again KIND         a socket that connects to one peer after another: tcp, udp, unix-datagram
 *      other-ends again-late         a socket that is connected elsewhere before its first connection is accepted
 *      other-ends names              datagram sockets with one name, relative to different folders, or one after another
 *      other-ends own-files          threads with descriptors of their own, and one that outlives the first thread
 *      other-ends fifo FOLDER        FIFOs that all close with bytes left in them, and removed ones
 *      other-ends lost               datagrams that are lost, as their receiver's buffer is full
 *      other-ends lost-same          ... all of one size
 *      other-ends dual               datagrams from IPv4 to an IPv6 socket that does not ask who sent them
 *      other-ends group              datagrams to a multicast group, from an address that an option of the socket chooses
 *      other-ends submit             io_submit(2): several operations in a call
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 20
#define FIRST   100 /* size of the first message */

static char bytes[4096]; /* received */

/* What each message begins with. */
struct origin {
    pid_t thread;
    int number; /* of the thread's messages before */
};

/* The next message of this thread. */
static const char *next_message(char message[4096])
{
    static _Thread_local struct origin last;

    if (last.thread != gettid()) /* of its parent */
        last = (struct origin){gettid(), -1};
    last.number++;
    memset(message, 0, sizeof(bytes));
    memcpy(message, &last, sizeof(last));
    return message;
}

static void need(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "other-ends: %s: %s\n", what, strerror(errno));
    exit(77);
}

static void told(ssize_t size, int port)
{
    struct origin origin;

    memcpy(&origin, bytes, sizeof(origin));
    printf("%zd %d %d %d\n", size, port, origin.thread, origin.number);
    fflush(stdout);
}

/* ---- addresses ---- */

struct place {
    int family;
    int type;
    struct sockaddr_storage address; /* to listen at */
    socklen_t size;
};

static struct place place_of(const char *kind)
{
    struct place place = {.family = AF_UNIX, .type = SOCK_STREAM};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&place.address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&place.address;
    struct sockaddr_un *name = (struct sockaddr_un *)&place.address;

    if (strcmp(kind, "tcp") == 0 || strcmp(kind, "udp") == 0) {
        place.family = AF_INET;
        place.type = kind[0] == 'u' ? SOCK_DGRAM : SOCK_STREAM;
        *v4 =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        place.size = sizeof(*v4);
        return place;
    }
    if (strcmp(kind, "tcp6") == 0) { /* any address, also of IPv4 */
        place.family = AF_INET6;
        *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
        place.size = sizeof(*v6);
        return place;
    }
    name->sun_family = AF_UNIX;
    snprintf(name->sun_path, sizeof(name->sun_path), "%speer.%s", kind[0] == 'a' ? "@" : "", kind);
    place.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name->sun_path));
    if (kind[0] == 'a') {
        snprintf(name->sun_path, sizeof(name->sun_path), "@peer.%d", getpid());
        place.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name->sun_path));
        name->sun_path[0] = '\0';
    } else {
        unlink(name->sun_path);
        place.size++;
    }
    if (strcmp(kind, "seqpacket") == 0)
        place.type = SOCK_SEQPACKET;
    if (strcmp(kind, "unix-datagram") == 0)
        place.type = SOCK_DGRAM;
    return place;
}

static int open_place(struct place *place)
{
    int made = socket(place->family, place->type, 0);

    need(made >= 0 && bind(made, (void *)&place->address, place->size) == 0, "bind");
    need(place->type == SOCK_DGRAM || listen(made, 1000) == 0, "listen");
    if (place->family != AF_UNIX)
        getsockname(made, (void *)&place->address, &place->size);
    return made;
}

/* Connects to it; to the IPv6 one by IPv4. */
static int connect_to(const struct place *place)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool other = place->family == AF_INET6;
    int made = socket(other ? AF_INET : place->family, place->type, 0);

    v4.sin_port = ((const struct sockaddr_in6 *)&place->address)->sin6_port;
    need(made >= 0 && connect(made, other ? (void *)&v4 : (const void *)&place->address,
                              other ? sizeof(v4) : place->size) == 0,
         "connect");
    return made;
}

static int port_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)address)->sin_port)
           : address->ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)address)->sin6_port)
               : 0;
}

static void send_one(int socket, int size)
{
    char message[sizeof(bytes)];

    need(send(socket, next_message(message), (size_t)size, 0) == size, "send");
}

static void accept_one(int listener)
{
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    int server = accept(listener, (void *)&from, &size);
    ssize_t got;

    need(server >= 0, "accept");
    while ((got = recv(server, bytes, sizeof(bytes), 0)) > 0)
        told(got, port_of(&from));
    close(server);
}

/* ---- late ---- */

static void visit(const struct place *place, int size)
{
    int client = connect_to(place);

    send_one(client, size);
    close(client);
}

static void late(const char *kind)
{
    struct place place = place_of(kind);
    int listener = open_place(&place);

    for (int i = 0; i < CLIENTS; i++)
        if (fork() == 0) {
            visit(&place, FIRST + i);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    for (int i = 0; i < CLIENTS; i++)
        accept_one(listener);
}

static void late_one(const char *kind, int step)
{
    struct place place = place_of(kind);
    int listener = open_place(&place);

    for (int i = 0; i < CLIENTS; i++)
        visit(&place, FIRST + i * step);
    for (int i = 0; i < CLIENTS; i++)
        accept_one(listener);
}

static struct place shared_place;
static pthread_barrier_t barrier;

static void *visit_at_a_time(void *argument)
{
    int size = *(const int *)argument;

    for (int i = 0; i < CLIENTS / 4; i++) {
        pthread_barrier_wait(&barrier);
        visit(&shared_place, size + i / 2); /* some have the same size */
    }
    return NULL;
}

static void late_threads(const char *kind)
{
    pthread_t threads[4];
    int sizes[4];

    shared_place = place_of(kind);
    int listener = open_place(&shared_place);
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++) {
        sizes[i] = FIRST + 10 * (i / 2);
        need(pthread_create(&threads[i], NULL, visit_at_a_time, &sizes[i]) == 0, "thread");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CLIENTS; i++)
        accept_one(listener);
}

static void unaccepted(const char *kind)
{
    struct place place = place_of(kind);
    int listener = open_place(&place);

    visit(&place, FIRST); /* as large as the next one: only the listening socket differs */
    close(listener);
    if (place.family == AF_UNIX && ((struct sockaddr_un *)&place.address)->sun_path[0] != '\0')
        unlink(((struct sockaddr_un *)&place.address)->sun_path);
    int again = 1;
    listener = socket(place.family, place.type, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &again, sizeof(again));
    need(bind(listener, (void *)&place.address, place.size) == 0 && listen(listener, 10) == 0,
         "bind again");
    visit(&place, FIRST);
    accept_one(listener);
}

/* ---- network namespaces ---- */

static void set_up_loopback(void)
{
    int any = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};

    need(any >= 0 && ioctl(any, SIOCSIFFLAGS, &request) == 0, "loopback up");
    close(any);
}

/* The same ports in each namespace: only the namespace tells the sockets apart. */
static void talk_in_namespace(int turn)
{
    struct place stream = place_of("tcp"), datagram = place_of("udp"), name = place_of("unix");
    int size = FIRST + turn * 100;

    ((struct sockaddr_in *)&stream.address)->sin_port = htons(4000);
    ((struct sockaddr_in *)&datagram.address)->sin_port = htons(4001);
    struct sockaddr_un *unique = (struct sockaddr_un *)&name.address;
    unique->sun_path[0] = '\0'; /* an abstract name belongs to its namespace */
    int listener = open_place(&stream), receiver = open_place(&datagram), local = open_place(&name);
    for (int i = 0; i < 10; i++) {
        visit(&stream, size + i);
        visit(&name, size + 20 + i);
        int sender = connect_to(&datagram);
        struct sockaddr_storage from;
        socklen_t length = sizeof(from);
        send_one(sender, size + 40 + i);
        need(recvfrom(receiver, bytes, sizeof(bytes), 0, (void *)&from, &length) > 0, "recvfrom");
        told(size + 40 + i, port_of(&from));
        close(sender);
        accept_one(listener);
        accept_one(local);
    }
}

static void network(void)
{
    int before[2];

    need(socketpair(AF_UNIX, SOCK_STREAM, 0, before) == 0, "socketpair");
    int home = open("/proc/self/ns/net", O_RDONLY);
    for (int turn = 0; turn < 3; turn++) {
        need(unshare(CLONE_NEWNET) == 0, "unshare");
        set_up_loopback();
        if (fork() == 0) {
            talk_in_namespace(turn);
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    send_one(before[0], FIRST + 500); /* made elsewhere */
    told(recv(before[1], bytes, sizeof(bytes), 0), 0);
    need(setns(home, CLONE_NEWNET) == 0, "setns");
    struct place place = place_of("tcp");
    int listener = open_place(&place);
    visit(&place, FIRST + 501);
    accept_one(listener);
}

/* ---- again ---- */

static void disconnect(int socket)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};

    need(connect(socket, &none, sizeof(none)) == 0, "disconnect");
}

static void again(const char *kind)
{
    struct place places[3];
    int receivers[3];

    for (int i = 0; i < 3; i++) {
        places[i] = place_of(kind);
        if (places[i].family == AF_UNIX) {
            ((struct sockaddr_un *)&places[i].address)->sun_path[0] = (char)('a' + i);
            unlink(((struct sockaddr_un *)&places[i].address)->sun_path);
        }
        receivers[i] = open_place(&places[i]);
    }
    int client = socket(places[0].family, places[0].type, 0);
    for (int i = 0; i < 12; i++) {
        const struct place *to = &places[i % 3];
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof(from);
        need(connect(client, (const void *)&to->address, to->size) == 0, "connect again");
        if (to->type == SOCK_STREAM) {
            send_one(client, FIRST + i);
            shutdown(client, SHUT_WR);
            accept_one(receivers[i % 3]);
        } else {
            send_one(client, FIRST + i);
            ssize_t got = recvfrom(receivers[i % 3], bytes, sizeof(bytes), 0, (void *)&from, &size);
            told(got, port_of(&from));
        }
        if (to->type == SOCK_STREAM || i % 4 != 3) /* datagrams: also without it */
            disconnect(client);
    }
}

static void again_late(void)
{
    struct place one = place_of("tcp"), other = place_of("tcp");
    int first = open_place(&one), second = open_place(&other);
    int client = connect_to(&one);

    send_one(client, FIRST);
    disconnect(client); /* this resets the connection, but what has come can be received */
    need(connect(client, (void *)&other.address, other.size) == 0, "connect again");
    send_one(client, FIRST + 1);
    shutdown(client, SHUT_WR);
    accept_one(second);
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    int server = accept(first, (void *)&from, &size);
    if (server >= 0) {
        ssize_t got = recv(server, bytes, sizeof(bytes), 0);
        if (got > 0)
            told(got, port_of(&from));
    }
}

/* ---- names ---- */

static void named_as(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof(address->sun_path), "%s", name);
}

static int bind_name(const char *name)
{
    struct sockaddr_un address;
    int made = socket(AF_UNIX, SOCK_DGRAM, 0);

    named_as(&address, name);
    unlink(name);
    need(bind(made, (void *)&address, sizeof(address)) == 0, name);
    return made;
}

static void send_to_name(int sender, const char *name, int size)
{
    struct sockaddr_un address;
    char message[sizeof(bytes)];

    named_as(&address, name);
    need(sendto(sender, next_message(message), (size_t)size, 0, (void *)&address,
                sizeof(address)) == size,
         name);
}

static void receive_named(int receiver)
{
    struct sockaddr_storage from;
    socklen_t size = sizeof(from);
    ssize_t got = recvfrom(receiver, bytes, sizeof(bytes), 0, (void *)&from, &size);

    told(got, 0);
}

static void names(void)
{
    int receivers[2];

    mkdir("folder", 0700);
    for (int i = 0; i < 2; i++) { /* both are called "box" */
        need(chdir(i == 0 ? "." : "folder") == 0, "chdir");
        receivers[i] = bind_name("box");
    }
    need(chdir("..") == 0, "chdir");
    for (int i = 0; i < 10; i++) { /* each sender is gone before its datagram is received */
        int sender = bind_name("sender");
        send_to_name(sender, "box", FIRST + 2 * i);
        send_to_name(sender, "folder/box", FIRST + 2 * i + 1);
        close(sender);
        receive_named(receivers[0]);
        receive_named(receivers[1]);
    }
    for (int i = 0; i < 5; i++) { /* the same, but several at a time */
        int sender = bind_name("sender");
        send_to_name(sender, "box", FIRST + 50 + i);
        close(sender);
    }
    for (int i = 0; i < 5; i++)
        receive_named(receivers[0]);
}

/* ---- descriptors of threads ---- */

static void talk(int base)
{
    struct place place = place_of("tcp");
    int listener = open_place(&place);
    int client = connect_to(&place);
    struct sockaddr_storage from;
    socklen_t size = sizeof(from);
    int server = accept(listener, (void *)&from, &size);

    for (int i = 0; i < 10; i++) {
        send_one(client, base + i);
        told(recv(server, bytes, sizeof(bytes), 0), port_of(&from));
    }
    close(listener);
}

static void *talk_alone(void *argument)
{
    (void)argument;
    need(unshare(CLONE_FILES) == 0, "unshare");
    for (int i = 3; i < 64; i++) /* so that it gets the numbers that others have */
        close(i);
    talk(FIRST + 20);
    return NULL;
}

static int talk_in_clone(void *argument)
{
    (void)argument;
    talk(FIRST + 40);
    _exit(0); /* of this thread's process */
}

static void *talk_after_first(void *argument)
{
    const pthread_t *first = argument;

    pthread_join(*first, NULL);
    talk(FIRST + 60);
    exit(0);
}

static void own_files(void)
{
    static pthread_t first;
    pthread_t thread;

    first = pthread_self();
    talk(FIRST);
    need(pthread_create(&thread, NULL, talk_alone, NULL) == 0, "thread");
    pthread_join(thread, NULL);
    char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(clone(talk_in_clone, stack + (1 << 20), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) > 0,
         "clone");
    wait(NULL);
    need(pthread_create(&thread, NULL, talk_after_first, &first) == 0, "thread");
    pthread_exit(NULL);
}

/* ---- FIFOs ---- */

static void through_fifo(const char *name, int size, size_t taken)
{
    int reader = open(name, O_RDONLY | O_NONBLOCK);

    need(reader >= 0, name);
    if (fork() == 0) {
        close(reader);
        char message[sizeof(bytes)];
        int writer = open(name, O_WRONLY);
        _exit(write(writer, next_message(message), (size_t)size) != size);
    }
    wait(NULL);
    told(read(reader, bytes, taken), 0);
    close(reader);
}

static void fifo(const char *folder)
{
    need(chdir(folder) == 0, folder);
    need(mkfifo("one", 0600) == 0, "mkfifo");
    through_fifo("one", 2000, FIRST); /* the rest is gone when it is closed */
    through_fifo("one", FIRST + 1, sizeof(bytes));
    through_fifo("one", 2000, FIRST + 2);
    for (int i = 3; i < 9; i++) {
        unlink("one");
        need(mkfifo("one", 0600) == 0,
             "mkfifo"); /* with the same inode number, on some file systems */
        through_fifo("one", i % 2 == 0 ? 2000 : FIRST + i, i % 2 == 0 ? (size_t)(FIRST + i) : 4096);
    }
    unlink("one");
}

/* ---- datagrams ---- */

static int own_port(int socket)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof(own);

    getsockname(socket, (void *)&own, &size);
    return port_of(&own);
}

static void lost(int step)
{
    struct place place = place_of("udp");
    int receiver = open_place(&place), least = 2304;
    ssize_t got;

    setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
    int sender = connect_to(&place);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 20; i++)
            send_one(sender, FIRST + (turn * 100 + i) * step);
        while ((got = recv(receiver, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
            told(got, own_port(sender));
        for (int i = 20; i < 40; i++) {
            send_one(sender, FIRST + (turn * 100 + i) * step);
            told(recv(receiver, bytes, sizeof(bytes), 0), own_port(sender));
        }
    }
}

static void dual(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(any);
    int receiver = socket(AF_INET6, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);

    need(bind(receiver, (void *)&any, size) == 0, "bind");
    getsockname(receiver, (void *)&any, &size);
    to.sin_port = any.sin6_port;
    for (int i = 0; i < 10; i++) {
        char message[sizeof(bytes)];
        need(sendto(sender, next_message(message), (size_t)(FIRST + i), 0, (void *)&to,
                    sizeof(to)) > 0,
             "sendto");
        told(recv(receiver, bytes, sizeof(bytes), 0), own_port(sender));
    }
}

static void group(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET}, to = any;
    struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
    struct ip_mreq membership = {.imr_interface = loopback};
    socklen_t size = sizeof(any);
    int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);

    membership.imr_multiaddr.s_addr = to.sin_addr.s_addr = inet_addr("239.1.2.3");
    need(bind(receiver, (void *)&any, size) == 0, "bind");
    getsockname(receiver, (void *)&any, &size);
    to.sin_port = any.sin_port;
    need(setsockopt(receiver, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof(membership)) ==
                 0 &&
             setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback)) == 0,
         "multicast");
    for (int i = 0; i < 10; i++) {
        char message[sizeof(bytes)];
        struct sockaddr_storage from;
        socklen_t length = sizeof(from);
        need(sendto(sender, next_message(message), (size_t)(FIRST + i), 0, (void *)&to,
                    sizeof(to)) > 0,
             "sendto");
        ssize_t got = recvfrom(receiver, bytes, sizeof(bytes), 0, (void *)&from, &length);
        told(got, port_of(&from));
    }
}

/* ---- io_submit ---- */

static struct iocb operation(int file, int code, const char *buffer, int size)
{
    return (struct iocb){.aio_fildes = (uint32_t)file,
                         .aio_lio_opcode = (uint16_t)code,
                         .aio_buf = (uintptr_t)buffer,
                         .aio_nbytes = (uint64_t)size};
}

static void submit(void)
{
    aio_context_t context = 0;
    int streams[2], datagrams[2], pipes[2], file = open("/dev/zero", O_RDONLY);

    need(syscall(SYS_io_setup, 16, &context) == 0, "io_setup");
    need(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, streams) == 0 &&
             socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0 && pipe(pipes) == 0,
         "pairs");
    for (int i = 0; i < 40; i += 4) { /* the ring of results comes round several times */
        char zero[10], messages[4][sizeof(bytes)];
        struct iocb operations[5];
        operations[0] =
            operation(streams[0], IOCB_CMD_PWRITE, next_message(messages[0]), FIRST + i);
        operations[1] = operation(file, IOCB_CMD_PREAD, zero, sizeof(zero)); /* no message */
        operations[2] =
            operation(streams[0], IOCB_CMD_PWRITE, next_message(messages[1]), FIRST + i + 1);
        operations[3] =
            operation(datagrams[0], IOCB_CMD_PWRITE, next_message(messages[2]), FIRST + i + 2);
        operations[4] =
            operation(pipes[1], IOCB_CMD_PWRITE, next_message(messages[3]), FIRST + i + 3);
        struct iocb *all[5];
        struct io_event events[5];
        for (int j = 0; j < 5; j++)
            all[j] = &operations[j];
        need(syscall(SYS_io_submit, context, 5, all) == 5, "io_submit");
        need(syscall(SYS_io_getevents, context, 5, 5, events, NULL) == 5, "io_getevents");
        told(recv(streams[1], bytes, sizeof(bytes), 0), 0);
        struct iocb receive = operation(streams[1], IOCB_CMD_PREAD, bytes, sizeof(bytes));
        all[0] = &receive;
        need(syscall(SYS_io_submit, context, 1, all) == 1, "io_submit");
        need(syscall(SYS_io_getevents, context, 1, 1, events, NULL) == 1, "io_getevents");
        told((ssize_t)events[0].res, 0);
        told(recv(datagrams[1], bytes, sizeof(bytes), 0), 0);
        told(read(pipes[0], bytes, sizeof(bytes)), 0);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *kind = argc > 2 ? argv[2] : "tcp";

    alarm(60);
    if (strcmp(mode, "late") == 0)
        late(kind);
    else if (strcmp(mode, "late-one") == 0)
        late_one(kind, 1);
    else if (strcmp(mode, "late-same") == 0)
        late_one(kind, 0);
    else if (strcmp(mode, "late-threads") == 0)
        late_threads(kind);
    else if (strcmp(mode, "unaccepted") == 0)
        unaccepted(kind);
    else if (strcmp(mode, "network") == 0)
        network();
    else if (strcmp(mode, "again") == 0)
        again(kind);
    else if (strcmp(mode, "again-late") == 0)
        again_late();
    else if (strcmp(mode, "names") == 0)
        names();
    else if (strcmp(mode, "own-files") == 0)
        own_files();
    else if (strcmp(mode, "fifo") == 0)
        fifo(kind);
    else if (strcmp(mode, "lost") == 0)
        lost(1);
    else if (strcmp(mode, "lost-same") == 0)
        lost(0);
    else if (strcmp(mode, "dual") == 0)
        dual();
    else if (strcmp(mode, "group") == 0)
        group();
    else if (strcmp(mode, "submit") == 0)
        submit();
    else
        return fprintf(stderr, "other-ends: see the beginning of peers.c for its modes\n"), 2;
    return 0;
}
