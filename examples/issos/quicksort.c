/* SPDX-License-Identifier: MIT */
/*
 * quicksort.c: the programs of the distributed quicksort (Ogle, Schwan, Snodgrass 1993, section III), to be monitored.
 *
 *      sort-queue PORT LOG                          a queue of ranges of the array; ends with its standard input
 *         ^  | a range, when asked for
 *         |  v
 *      sort-worker ARRAY PAUSE LOG QUEUE QUEUE      sorts short ranges; partitions long ones, one part for each queue
 *
 * A QUEUE is HOST:PORT; a worker asks the first one first. ARRAY is a file, which all map: how many numbers there are, how
 * many are in their place, and the numbers. When all are, a worker ends with its standard input. PAUSE: ms that each request
 * takes beside the sorting.
 *
 * Both keep an account in their LOG: wall clock in ns, and the size of the queue after each change, or how long the request
 * took (ns).
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MOST 64
#define RANGES_MOST  100000
#define SHORT        2000 /* numbers that a worker sorts at once */

struct range {
    uint32_t first, count; /* count 0: none; as a message to a queue: a question */
};

/* What views observe. */
int q_size;
long beginRequestTime, endRequestTime; /* ns */

static FILE *journal;

static long now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void pause_for(long ns)
{
    struct timespec left = {ns / 1000000000, ns % 1000000000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void fail(const char *what)
{
    fprintf(stderr, "quicksort: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void open_journal(const char *name)
{
    journal = fopen(name, "we");
    if (journal == NULL)
        fail(name);
    setlinebuf(journal);
}

/* Reads a whole range. Returns false at the end of the connection. */
static bool receive(int end, struct range *range)
{
    return recv(end, range, sizeof(*range), MSG_WAITALL) == sizeof(*range);
}

static void deliver(int end, struct range range)
{
    if (send(end, &range, sizeof(range), MSG_NOSIGNAL) != sizeof(range))
        fail("send");
}

/* ---- a queue ---- */

static struct range ranges[RANGES_MOST]; /* a ring */
static unsigned first_range;

/* The queue has one range more or less. */
void queue_changed(void);

__attribute__((noinline)) void queue_changed(void)
{
    fprintf(journal, "%ld %d\n", now(CLOCK_REALTIME), q_size);
    __asm__ volatile("" ::: "memory");
}

static struct range take(void)
{
    if (q_size == 0)
        return (struct range){0, 0};
    struct range range = ranges[first_range];
    first_range = (first_range + 1) % RANGES_MOST;
    q_size--;
    queue_changed();
    return range;
}

static void put(struct range range)
{
    if (q_size == RANGES_MOST) {
        errno = ENOSPC;
        fail("queue");
    }
    ranges[(first_range + (unsigned)q_size) % RANGES_MOST] = range;
    q_size++;
    queue_changed();
}

/* Returns whether the client is still there. */
static bool serve(int client)
{
    struct range range;

    if (!receive(client, &range))
        return false;
    if (range.count == 0)
        deliver(client, take());
    else
        put(range);
    return true;
}

static int open_listener(const char *port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)atoi(port))};
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, 16) < 0)
        fail(port);
    return listener;
}

static int manage_queue(const char *port)
{
    struct pollfd ready[CLIENTS_MOST + 2] = {{STDIN_FILENO, POLLIN, 0},
                                             {open_listener(port), POLLIN, 0}};
    nfds_t count = 2;

    for (;;) {
        poll(ready, count, -1);
        if (ready[0].revents != 0)
            return EXIT_SUCCESS;
        for (nfds_t i = count; i-- > 2;)
            if (ready[i].revents != 0 && !serve(ready[i].fd)) {
                close(ready[i].fd);
                ready[i] = ready[--count];
            }
        if (ready[1].revents != 0 && count < CLIENTS_MOST + 2)
            ready[count++] = (struct pollfd){accept(ready[1].fd, NULL, NULL), POLLIN, 0};
    }
}

/* ---- a worker ---- */

struct array {
    uint32_t count, in_place;
    int32_t numbers[];
};

static int connect_to(char *queue)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET};
    char *colon = strrchr(queue, ':');
    struct addrinfo *found;
    int one = 1;

    if (colon == NULL) {
        errno = EINVAL;
        fail(queue);
    }
    *colon = '\0';
    if (getaddrinfo(queue, colon + 1, &wanted, &found) != 0) {
        errno = ENOENT;
        fail(queue);
    }
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(end, found->ai_addr, found->ai_addrlen) < 0)
        fail(queue);
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    freeaddrinfo(found);
    return end;
}

static struct array *map_array(const char *name)
{
    struct stat status;
    int file = open(name, O_RDWR | O_CLOEXEC);

    if (file < 0 || fstat(file, &status) < 0)
        fail(name);
    void *array = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (array == MAP_FAILED)
        fail(name);
    close(file);
    return array;
}

static int compare(const void *one, const void *other)
{
    int32_t left = *(const int32_t *)one, right = *(const int32_t *)other;

    return (left > right) - (left < right);
}

static void exchange(int32_t *one, int32_t *other)
{
    int32_t kept = *one;

    *one = *other;
    *other = kept;
}

/* Smaller numbers first, then those equal to the one in the middle, then larger ones. */
static void partition(int32_t *numbers, uint32_t count, uint32_t *ret_smaller, uint32_t *ret_equal)
{
    int32_t middle = numbers[count / 2];
    uint32_t smaller = 0, at = 0, larger = count;

    while (at < larger)
        if (numbers[at] < middle)
            exchange(&numbers[at++], &numbers[smaller++]);
        else if (numbers[at] > middle)
            exchange(&numbers[at], &numbers[--larger]);
        else
            at++;
    *ret_smaller = smaller;
    *ret_equal = at - smaller;
}

static void in_place(struct array *array, uint32_t count)
{
    __atomic_fetch_add(&array->in_place, count, __ATOMIC_SEQ_CST);
}

static void sort(struct array *array, struct range range, const int queues[2])
{
    int32_t *numbers = &array->numbers[range.first];
    uint32_t smaller, equal;

    if (range.count <= SHORT) {
        qsort(numbers, range.count, sizeof(*numbers), compare);
        in_place(array, range.count);
        return;
    }
    partition(numbers, range.count, &smaller, &equal);
    const struct range parts[] = {
        {range.first, smaller},
        {range.first + smaller + equal, range.count - smaller - equal},
    };
    for (int i = 0; i < 2; i++)
        if (parts[i].count > 0)
            deliver(queues[i], parts[i]);
    in_place(array, equal);
}

/* A request is done. */
void request_done(void);

__attribute__((noinline)) void request_done(void)
{
    fprintf(journal, "%ld %ld\n", now(CLOCK_REALTIME), endRequestTime - beginRequestTime);
    __asm__ volatile("" ::: "memory");
}

/* The first queue that has one. */
static struct range ask(const int queues[2])
{
    struct range range = {0, 0};

    for (int i = 0; i < 2 && range.count == 0; i++) {
        deliver(queues[i], range);
        if (!receive(queues[i], &range))
            fail("queue");
    }
    return range;
}

static int work(char *const *words)
{
    struct array *array = map_array(words[0]);
    long pause = atol(words[1]) * 1000000;
    const int queues[2] = {connect_to(words[3]), connect_to(words[4])};

    open_journal(words[2]);
    while (__atomic_load_n(&array->in_place, __ATOMIC_SEQ_CST) < array->count) {
        struct range range = ask(queues);
        if (range.count == 0) {
            pause_for(1000000);
            continue;
        }
        beginRequestTime = now(CLOCK_MONOTONIC);
        sort(array, range, queues);
        pause_for(pause);
        endRequestTime = now(CLOCK_MONOTONIC);
        request_done();
    }
    while (getchar() != EOF)
        ;
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *role = slash == NULL ? argv[0] : slash + 1;

    if (strcmp(role, "sort-worker") == 0 && argc == 6)
        return work(argv + 1);
    if (strcmp(role, "sort-queue") == 0 && argc == 3) {
        open_journal(argv[2]);
        return manage_queue(argv[1]);
    }
    fprintf(stderr, "usage: sort-queue PORT LOG | sort-worker ARRAY PAUSE LOG QUEUE QUEUE\n");
    return 2;
}
