/* SPDX-License-Identifier: MIT */
/*
 * sensed: a program whose variables sensors and probes read. It does what its standard input says, one line each, and
 * reports on standard output what it did, so a test knows the truth:
 *
 *      change N         N changes of queue_size by enqueue(), each reported: "change VALUE"
 *      threads T N      the same in T threads, N each; reported by their sum only
 *      quiet N          N changes, reported by the last value and the ns of CPU time that they took
 *      busy N           the same, with some 50 us of computing before each
 *      same N           stores the same value N times
 *      kernel           lets the kernel write into queue_size, by read(2)
 *      execute          executes itself anew
 *      load FILE        dlopen
 *
 * After each line it prints "done".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <time.h>
#include <unistd.h>

enum phase {
    PHASE_IDLE = 3,
    PHASE_BUSY = 7,
    PHASE_BELOW = -2,
};

struct request {
    struct request *next;
    long begin, end;
    char *title;
};

struct queue {
    unsigned head : 5;
    unsigned tail : 6;
    int balance : 7;
    struct {
        short inner;
        unsigned char letter;
    };
    union {
        uint64_t word;
        uint32_t halves[2];
    } both;
    struct request *first;
    char name[16];
    double load;
    float part;
    enum phase phase;
    int grid[3][4];
};

typedef struct queue queue_t;

static struct request second = {NULL, 2000, 2600, NULL};
static struct request first = {&second, 1000, 1750, (char *)(uintptr_t) "the first"};

queue_t queues[3] = {
    [1] = {.head = 17,
           .tail = 42,
           .balance = -9,
           .inner = -300,
           .letter = 'x',
           .both.word = 0x1122334455667788,
           .first = &first,
           .name = "second queue",
           .load = 2.5,
           .part = 0.25F,
           .phase = PHASE_BELOW,
           .grid = {[2] = {[1] = 21}}},
};
queue_t *current = &queues[1];
queue_t *nothing;

volatile int queue_size;
static volatile long only_here = -123456789012;
unsigned long limit = 24;
_Thread_local int of_thread = 5;
static volatile int result;

/* A change at two places, as the compiler inlines it. */
static inline __attribute__((always_inline)) void note_change(int amount)
{
    queue_size = queue_size + amount; /* LINE change */
    DTRACE_PROBE2(sensed, changed, queue_size, (long)amount * 1000);
}

/* Called as it is written, so that a test can name its arguments by register, too. */
__attribute__((noipa)) static int enqueue(queue_t *queue, int amount, const char *why)
{
    int before = queue_size;

    if (amount < 0)
        note_change(amount);
    else
        note_change(amount);
    queue->first = why == NULL ? NULL : &first;
    return before; /* LINE return */
}

/* 1, 2, 3 ... with a step back each fifth time */
static int amount_of(unsigned number)
{
    return number % 5 == 4 ? -2 : 1;
}

static void *change_often(void *context)
{
    const unsigned *count = context;

    for (unsigned i = 0; i < *count; i++)
        enqueue(&queues[0], 1, "thread");
    return NULL;
}

static void change_in_threads(unsigned threads, unsigned count)
{
    pthread_t list[16];

    for (unsigned i = 0; i < threads && i < 16; i++)
        pthread_create(&list[i], NULL, change_often, &count);
    for (unsigned i = 0; i < threads && i < 16; i++)
        pthread_join(list[i], NULL);
    printf("threads %d\n", queue_size);
}

static void change_for_measuring(unsigned count, unsigned work)
{
    struct timespec begin, now;
    volatile unsigned computed = 1;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < work; k++)
            computed = computed * 5 + 1;
        enqueue(&queues[0], 1, NULL);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    printf("quiet %d %ld\n", queue_size,
           (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec);
}

static void let_kernel_write(void)
{
    int pipe_ends[2], value = 4711;

    if (pipe(pipe_ends) == 0 && write(pipe_ends[1], &value, sizeof(value)) == sizeof(value) &&
        read(pipe_ends[0], (void *)(uintptr_t)&queue_size, sizeof(value)) == sizeof(value))
        printf("kernel %d\n", queue_size);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void obey(const char *line, char **arguments)
{
    unsigned one = 0, other = 0;
    char file[4096];

    if (sscanf(line, "change %u", &one) == 1) {
        for (unsigned i = 0; i < one; i++) {
            result = enqueue(&queues[0], amount_of(i), NULL);
            printf("change %d\n", queue_size);
        }
    } else if (sscanf(line, "threads %u %u", &one, &other) == 2) {
        change_in_threads(one, other);
    } else if (sscanf(line, "quiet %u", &one) == 1 || sscanf(line, "busy %u", &one) == 1) {
        change_for_measuring(one, line[0] == 'b' ? 20000 : 0);
    } else if (sscanf(line, "same %u", &one) == 1) {
        for (unsigned i = 0; i < one; i++)
            queue_size = queue_size + 0;
    } else if (strncmp(line, "kernel", 6) == 0) {
        let_kernel_write();
    } else if (strncmp(line, "execute", 7) == 0) {
        fflush(stdout);
        execv("/proc/self/exe", arguments);
    } else if (sscanf(line, "load %4095s", file) == 1) {
        printf("load %s\n", dlopen(file, RTLD_NOW) == NULL ? "failed" : "worked");
    }
}

int main(int argc, char **argv)
{
    char line[8192];

    (void)argc;
    printf("ready %d %ld %d\n", getpid(), only_here, of_thread);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        obey(line, argv);
        puts("done");
        fflush(stdout);
    }
    return 0;
}
