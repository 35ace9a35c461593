/* SPDX-License-Identifier: MIT */
/*
 * waits_of_each_kind.c: a random sequence of waits whose lengths it measures with clocks of its own, for comparison with
 * `dpm why`.
 *
 *      usage: waits-of-each-kind peer FOLDER              not metered: answers, stops and continues the other one
 *             waits-of-each-kind SEED PHASES FOLDER [KIND]...   metered; prints the times as JSON
 *
 *      phase     what it is for                           measured as
 *      compute   so much CPU time                         computing
 *      contend   CPU time beside a process on the same CPU    computing, no CPU
 *      sleep     nanosleep                                timer
 *      poll      poll with a timeout                      event
 *      disk      fdatasync                                disk
 *      outside   an answer of the peer                    outside
 *      lock      a semaphore that the peer posts          lock
 *      stop      SIGSTOP and SIGCONT by the peer          stopped
 *      child     a child that computes or sleeps          what the child does
 *      holder    a mutex of a thread that computes or sleeps  what the thread does
 *      server    an answer of a child that computes or sleeps before it    what the child does
 *
 * The clocks of a phase: elapsed time, the thread's CPU time, and the time that it waited for a CPU
 * (/proc/thread-self/schedstat). What is left is the wait. Between phases it computes and has no CPU.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kind { COMPUTING, NO_CPU, OUTSIDE, DISK, LOCK, TIMER, STOPPED, EVENT, KINDS };

static const char *const kind_names[KINDS] = {"computing", "no_cpu", "outside", "disk",
                                              "lock",      "timer",  "stopped", "event"};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- clocks ---- */

struct times {
    int64_t elapsed, cpu, delay; /* ns; delay: waited for a CPU */
};

static int64_t clock_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int64_t delay_so_far(void)
{
    char text[128] = "";
    long long delay = 0;
    int file = open("/proc/thread-self/schedstat", O_RDONLY);

    if (file < 0 || read(file, text, sizeof(text) - 1) <= 0 || sscanf(text, "%*d %lld", &delay) < 1)
        fail("/proc/thread-self/schedstat");
    close(file);
    return delay;
}

static struct times times_now(void)
{
    return (struct times){clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_THREAD_CPUTIME_ID),
                          delay_so_far()};
}

static struct times times_since(const struct times *begin)
{
    struct times now = times_now();

    return (struct times){now.elapsed - begin->elapsed, now.cpu - begin->cpu,
                          now.delay - begin->delay};
}

static void compute(int ms)
{
    int64_t end = clock_of(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL;

    while (clock_of(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void sleep_for(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) < 0)
        ;
}

/* ---- the peer ---- */

enum wish { WISH_ANSWER, WISH_POST, WISH_STOP };

struct request {
    enum wish wish;
    int ms;
    pid_t pid;
};

/* Memory of both. */
struct common {
    sem_t semaphore;
    int64_t stopped; /* ns */
    volatile int continued;
};

static struct common *share(const char *folder)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/common", folder);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct common)) < 0)
        fail(path);
    struct common *common =
        mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (common == MAP_FAILED)
        fail("mmap");
    close(file);
    return common;
}

static struct sockaddr_un address_in(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/peer", folder);
    return address;
}

static void grant(struct common *common, const struct request *request, int client)
{
    int64_t begin = clock_of(CLOCK_MONOTONIC);

    if (request->wish == WISH_STOP)
        kill(request->pid, SIGSTOP);
    sleep_for(request->ms);
    if (request->wish == WISH_POST)
        sem_post(&common->semaphore);
    if (request->wish != WISH_STOP) {
        if (request->wish == WISH_ANSWER && write(client, "", 1) != 1)
            exit(1);
        return;
    }
    common->stopped = clock_of(CLOCK_MONOTONIC) - begin;
    common->continued = 1;
    kill(request->pid, SIGCONT);
}

static int be_peer(const char *folder)
{
    struct common *common = share(folder);
    struct sockaddr_un address = address_in(folder);
    struct request request;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);

    sem_init(&common->semaphore, 1, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 1) < 0)
        fail("bind");
    puts("ready");
    fflush(stdout);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0)
            fail("accept");
        while (read(client, &request, sizeof(request)) == sizeof(request))
            grant(common, &request, client);
        close(client);
    }
    return 0;
}

/* ---- phases ---- */

static int64_t found[KINDS];
static int peer;
static int disk;
static struct common *common;
static uint64_t random_state;

static int random_below(int most)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((random_state >> 33) % (uint64_t)most);
}

/* Adds up a thread's times: what was neither of the two was this kind of wait. */
static void note(const struct times *times, enum kind kind)
{
    int64_t wait = times->elapsed - times->cpu - times->delay;

    found[COMPUTING] += times->cpu;
    found[NO_CPU] += times->delay;
    if (kind < KINDS)
        found[kind] += wait > 0 ? wait : 0;
}

static void ask(enum wish wish, int ms)
{
    struct request request = {wish, ms, getpid()};

    if (write(peer, &request, sizeof(request)) != sizeof(request))
        fail("peer");
}

static void phase_compute(int ms)
{
    compute(ms);
}

static void pin(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static void phase_contend(int ms)
{
    cpu_set_t before;

    sched_getaffinity(0, sizeof(before), &before);
    pin(sched_getcpu());
    pid_t competitor = fork();
    if (competitor == 0) {
        compute(10000);
        _exit(0);
    }
    compute(ms);
    kill(competitor, SIGKILL);
    waitpid(competitor, NULL, 0); /* it needs the CPU once more, to end */
    sched_setaffinity(0, sizeof(before), &before);
}

static void phase_sleep(int ms)
{
    sleep_for(ms);
}

static void phase_poll(int ms)
{
    struct pollfd file = {.fd = peer, .events = POLLIN};

    poll(&file, 1, ms);
}

static void phase_disk(int ms)
{
    static char bytes[1 << 16];
    int64_t end = clock_of(CLOCK_MONOTONIC) + ms * 1000000LL;

    do {
        if (pwrite(disk, bytes, sizeof(bytes), 0) != sizeof(bytes) || fdatasync(disk) < 0)
            fail("fdatasync");
    } while (clock_of(CLOCK_MONOTONIC) < end);
}

static void phase_outside(int ms)
{
    char byte;

    ask(WISH_ANSWER, ms);
    if (read(peer, &byte, 1) != 1)
        fail("peer");
}

static void phase_lock(int ms)
{
    ask(WISH_POST, ms);
    while (sem_wait(&common->semaphore) < 0)
        ;
}

static void phase_stop(int ms)
{
    common->continued = 0;
    ask(WISH_STOP, ms);
    while (!common->continued)
        clock_of(CLOCK_MONOTONIC);
}

/* ---- phases of two ---- */

/* What another thread or process does while this one waits for it; in memory that both see. */
struct work {
    int ms;
    bool sleeps;
    struct times times;
    pthread_mutex_t mutex;
    sem_t ready;
};

static void do_work(struct work *work, struct times begin)
{
    if (work->sleeps)
        sleep_for(work->ms);
    else
        compute(work->ms);
    work->times = times_since(&begin);
}

static void note_work(const struct work *work)
{
    note(&work->times, work->sleeps ? TIMER : KINDS);
}

/* A child's clocks begin at 0. */
static struct times times_of_child(void)
{
    return (struct times){.elapsed = clock_of(CLOCK_MONOTONIC)};
}

static void phase_child(int ms, struct work *work)
{
    struct times begin = times_of_child();

    (void)ms;
    pid_t child = fork();
    if (child == 0) {
        do_work(work, begin);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void *hold(void *context)
{
    struct work *work = context;
    struct times begin = times_of_child();

    pthread_mutex_lock(&work->mutex);
    sem_post(&work->ready);
    do_work(work, begin);
    pthread_mutex_unlock(&work->mutex);
    return NULL;
}

static void phase_holder(int ms, struct work *work)
{
    pthread_t thread;

    (void)ms;
    pthread_mutex_init(&work->mutex, NULL);
    sem_init(&work->ready, 0, 0);
    if (pthread_create(&thread, NULL, hold, work) != 0)
        fail("pthread_create");
    while (sem_wait(&work->ready) < 0)
        ;
    pthread_mutex_lock(&work->mutex);
    pthread_mutex_unlock(&work->mutex);
    pthread_join(thread, NULL);
}

static void phase_server(int ms, struct work *work)
{
    char byte = 0;
    int ends[2];

    (void)ms;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail("socketpair");
    struct times begin = times_of_child();
    pid_t child = fork();
    if (child == 0) {
        if (read(ends[1], &byte, 1) != 1)
            _exit(1);
        do_work(work, begin);
        _exit(write(ends[1], &byte, 1) != 1);
    }
    if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
        fail("server");
    close(ends[0]);
    close(ends[1]);
    waitpid(child, NULL, 0);
}

/* ---- all of them ---- */

static const struct phase {
    const char *name;
    enum kind kind;
    void (*alone)(int ms);
    void (*together)(int ms, struct work *work);
} phases[] = {
    {"compute", KINDS, phase_compute, NULL}, {"contend", NO_CPU, phase_contend, NULL},
    {"sleep", TIMER, phase_sleep, NULL},     {"poll", EVENT, phase_poll, NULL},
    {"disk", DISK, phase_disk, NULL},        {"outside", OUTSIDE, phase_outside, NULL},
    {"lock", LOCK, phase_lock, NULL},        {"stop", STOPPED, phase_stop, NULL},
    {"child", KINDS, NULL, phase_child},     {"holder", KINDS, NULL, phase_holder},
    {"server", KINDS, NULL, phase_server},
};
#define PHASES (int)(sizeof(phases) / sizeof(phases[0]))

static int begun[PHASES];
static struct times in_phases;

static void go_through(const struct phase *phase, struct work *work)
{
    int ms = 5 + random_below(50);
    struct times begin = times_now(), times;

    *work = (struct work){.ms = ms, .sleeps = random_below(2) != 0};
    if (phase->alone != NULL)
        phase->alone(ms);
    else
        phase->together(ms, work);
    times = times_since(&begin);
    note(&times, phase->kind);
    in_phases.cpu += times.cpu;
    in_phases.delay += times.delay;
    if (phase->together != NULL)
        note_work(work);
    fprintf(stderr, "%s %d ms%s: %.1f ms, of which CPU %.1f, no CPU %.1f\n", phase->name, ms,
            phase->together != NULL && work->sleeps ? " asleep" : "", times.elapsed / 1e6,
            times.cpu / 1e6, times.delay / 1e6);
}

static const struct phase *choose(char **names, int count)
{
    const char *name = count == 0 ? NULL : names[random_below(count)];
    int chosen = random_below(PHASES);

    for (int i = 0; i < PHASES && name != NULL; i++)
        if (strcmp(phases[i].name, name) == 0)
            chosen = i;
    begun[chosen]++;
    return &phases[chosen];
}

static void print(const struct times *all)
{
    printf("{\"elapsed\": %lld", (long long)all->elapsed);
    for (int i = 0; i < KINDS; i++)
        printf(", \"%s\": %lld", kind_names[i], (long long)found[i]);
    printf(", \"phases\": {");
    for (int i = 0; i < PHASES; i++)
        printf("%s\"%s\": %d", i == 0 ? "" : ", ", phases[i].name, begun[i]);
    puts("}}");
}

int main(int count, char **arguments)
{
    char path[512];

    if (count == 3 && strcmp(arguments[1], "peer") == 0)
        return be_peer(arguments[2]);
    if (count < 4)
        return 2;
    struct times begin = times_now();
    struct sockaddr_un address = address_in(arguments[3]);
    random_state = strtoull(arguments[1], NULL, 10);
    random_below(2);
    common = share(arguments[3]);
    snprintf(path, sizeof(path), "%s/disk", arguments[3]);
    disk = open(path, O_RDWR | O_CREAT, 0600);
    peer = socket(AF_UNIX, SOCK_STREAM, 0);
    if (disk < 0 || connect(peer, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail(arguments[3]);
    struct work *work =
        mmap(NULL, sizeof(*work), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work == MAP_FAILED)
        fail("mmap");
    for (int i = atoi(arguments[2]); i > 0; i--)
        go_through(choose(arguments + 4, count - 4), work);
    struct times all = times_since(&begin);
    found[COMPUTING] += all.cpu - in_phases.cpu;
    found[NO_CPU] += all.delay - in_phases.delay;
    print(&all);
    return 0;
}
