/* SPDX-License-Identifier: MIT */
/*
 * truth-program: a real program that logs what it does. The proof of the kernel meter.
 *
 *      usage: truth-program [--seed S] [--scale N] [--only KIND,...] [--without KIND,...] --log LOG
 *
 * Many processes and threads exchange random messages over every kind of path and with every call; they begin, end,
 * stop and fail. Each stream (thread) logs its own operations:
 *
 *      dpm run: truth-program --seed 1 --log LOG     LOG/<tid>-<start>.log of each stream
 *                     |  recorded by the meter              |
 *                     v                                     v
 *      dpm dump --json TRACE > DUMP  ------->  truth-compare DUMP LOG: none missing, none more
 *
 * The seed determines the plan (--seed, else DPM_SEED, else the clock; it is printed on standard error). --scale N runs
 * every scenario N times. --only selects scenarios by name or by the word before a '-'; `--only help` lists them.
 * --without excludes some.
 *
 * Lines of a log, in the stream's own order. `inode` is that of a socket; `pipe:inode` is a pipe, `fifo:inode` a FIFO,
 * since each kind has its own numbering. CPU times are in ns:
 *
 *      SEND inode bytes call cpu_before cpu_after
 *      RECEIVE inode bytes call cpu_before cpu_after [tid:offset:bytes,...]
 *          the source of the bytes: sending stream, and its running offset on its socket or pipe (see
 *          truth_pattern.c; tid:?:bytes if too few bytes came); [eof] at the end of file. The bytes
 *          that splice passes on are not inspected: with one sender and one receiver, the position
 *          identifies them, also if they were passed on before;
 *          otherwise it is [?:bytes]. `bytes` are those copied. call+trunc: with MSG_TRUNC,
 *          call+waitall: with MSG_WAITALL, call+packet: a pipe with packets (O_DIRECT), and the
 *          unread rest of this one was discarded
 *      CREATEPROCESS tid process|thread
 *      EXEC file          this stream is a new image now
 *      STOPPROCESS, STARTPROCESS     stopped, continued
 *      FAILED SEND|RECEIVE count [pipe]     calls on sockets, or on pipes and FIFOs, that returned an
 *          error; several lines add up
 *      TERMINATION status            as wait(2) gives it; the last line
 *
 * One sendfile is one SEND, each message of sendmmsg and recvmmsg is one operation, MSG_PEEK is none. A splice between
 * two pipes, or a pipe and a socket, is a RECEIVE and a SEND; tee takes nothing and is a SEND. Nothing else in this
 * program uses a socket or a pipe: streams wait for each other with semaphores in shared memory; the program does not
 * call C library functions that use them (names, syslog, popen) and does not read standard input; if standard error is
 * a socket or pipe, only failures are printed.
 *
 * Limits: alarm(2) ends every process after three minutes (times the scale), and it dies with its parent; more than
 * 400 MB (times the scale) sent and received is an error.
 */
#include "truth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SCALE_LIMIT = 1000, SECONDS = 180, AT_ONCE_LIMIT = 3 };

#define BYTES_LIMIT ((uint64_t)400 << 20)

struct scenario {
    const char *name;
    void (*run)(struct scene *scene, enum transport transport);
    enum transport transport;
};

static const struct scenario scenarios[] = {
    {"tcp4", conversation_run, TRANSPORT_TCP4},
    {"tcp6", conversation_run, TRANSPORT_TCP6},
    {"stream", conversation_run, TRANSPORT_STREAM},
    {"stream-abstract", conversation_run, TRANSPORT_STREAM_ABSTRACT},
    {"stream-pair", conversation_run, TRANSPORT_STREAM_PAIR},
    {"seqpacket", conversation_run, TRANSPORT_SEQPACKET},
    {"seqpacket-abstract", conversation_run, TRANSPORT_SEQPACKET_ABSTRACT},
    {"seqpacket-pair", conversation_run, TRANSPORT_SEQPACKET_PAIR},
    {"datagram", datagram_run, TRANSPORT_DATAGRAM},
    {"datagram-abstract", datagram_run, TRANSPORT_DATAGRAM_ABSTRACT},
    {"datagram-pair", conversation_run, TRANSPORT_DATAGRAM_PAIR},
    {"udp4", datagram_run, TRANSPORT_UDP4},
    {"udp6", datagram_run, TRANSPORT_UDP6},
    {"short-tcp4", short_connections_run, TRANSPORT_TCP4},
    {"short-tcp6", short_connections_run, TRANSPORT_TCP6},
    {"short-stream", short_connections_run, TRANSPORT_STREAM},
    {"short-seqpacket", short_connections_run, TRANSPORT_SEQPACKET_ABSTRACT},
    {"shared-tcp4", shared_connection_run, TRANSPORT_TCP4},
    {"shared-tcp6", shared_connection_run, TRANSPORT_TCP6},
    {"shared-stream", shared_connection_run, TRANSPORT_STREAM},
    {"shared-stream-pair", shared_connection_run, TRANSPORT_STREAM_PAIR},
    {"shared-datagram", shared_datagram_run, TRANSPORT_DATAGRAM},
    {"shared-datagram-pair", shared_datagram_run, TRANSPORT_DATAGRAM_PAIR},
    {"life-tcp4", life_run, TRANSPORT_TCP4},
    {"life-stream", life_run, TRANSPORT_STREAM},
    {"life-stream-pair", life_run, TRANSPORT_STREAM_PAIR},
    {"stopped-tcp4", stopped_receiver_run, TRANSPORT_TCP4},
    {"stopped-stream", stopped_receiver_run, TRANSPORT_STREAM},
    {"failure-tcp4", failure_run, TRANSPORT_TCP4},
    {"failure-stream", failure_run, TRANSPORT_STREAM},
    {"failure-seqpacket", failure_run, TRANSPORT_SEQPACKET_PAIR},
    {"failure-datagram", failure_run, TRANSPORT_DATAGRAM},
    {"failure-udp4", udp_failure_run, TRANSPORT_UDP4},
    {"failure-udp6", udp_failure_run, TRANSPORT_UDP6},
    {"failure-datagram-pair", failure_run, TRANSPORT_DATAGRAM_PAIR},
    {"pipe", pipe_run, TRANSPORT_PIPE},
    {"pipe-packet", pipe_packet_run, TRANSPORT_PIPE_PACKET},
    {"pipe-shared-writers", pipe_writers_run, TRANSPORT_PIPE},
    {"pipe-shared-readers", pipe_readers_run, TRANSPORT_PIPE},
    {"pipe-shared-turns", pipe_turns_run, TRANSPORT_PIPE},
    {"pipe-relay", pipe_relay_run, TRANSPORT_PIPE},
    {"pipe-relay-tcp4", pipe_relay_run, TRANSPORT_TCP4},
    {"pipe-relay-stream-pair", pipe_relay_run, TRANSPORT_STREAM_PAIR},
    {"pipe-life", life_run, TRANSPORT_PIPE},
    {"pipe-stopped", stopped_receiver_run, TRANSPORT_PIPE},
    {"pipe-blocked", pipe_blocked_run, TRANSPORT_PIPE},
    {"fifo", pipe_run, TRANSPORT_FIFO},
    {"fifo-reopened", fifo_reopened_run, TRANSPORT_FIFO},
    {"fifo-shared-writers", pipe_writers_run, TRANSPORT_FIFO},
    {"fifo-shared-readers", pipe_readers_run, TRANSPORT_FIFO},
    {"fifo-relay", pipe_relay_run, TRANSPORT_FIFO},
    {"fifo-blocked", pipe_blocked_run, TRANSPORT_FIFO},
};

enum { SCENARIO_COUNT = sizeof(scenarios) / sizeof(scenarios[0]) };

struct options {
    uint64_t seed;
    unsigned scale;
    const char *log;
    bool chosen[SCENARIO_COUNT];
    const char *resume; /* written by life_run for its new image */
};

/* ---- options ---- */

static _Noreturn void usage(const char *problem)
{
    fprintf(stderr,
            "truth-program: %s\n"
            "usage: truth-program [--seed S] [--scale N] [--only KIND,...] [--without KIND,...] "
            "--log LOG\nKINDs:",
            problem);
    for (unsigned i = 0; i < SCENARIO_COUNT; i++)
        fprintf(stderr, " %s", scenarios[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

static uint64_t number(const char *text, uint64_t limit)
{
    char *end;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (*text == 0 || *end != 0 || errno != 0 || value > limit || strchr(text, '-') != NULL)
        usage("a number is wrong");
    return value;
}

/* Whether the scenario has this name, or a name that continues with '-'. */
static bool name_matches(const char *name, const char *word, size_t length)
{
    return strncmp(name, word, length) == 0 && (name[length] == 0 || name[length] == '-');
}

static void choose(struct options *options, const char *list, bool choice)
{
    while (*list != 0) {
        size_t length = strcspn(list, ",");
        bool found = false;
        for (unsigned i = 0; i < SCENARIO_COUNT; i++)
            if (length > 0 && name_matches(scenarios[i].name, list, length)) {
                options->chosen[i] = choice;
                found = true;
            }
        if (!found)
            usage("there is no such KIND");
        list += length;
        list += *list == ',';
    }
}

static struct options read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"seed", required_argument, NULL, 's'},
        {"scale", required_argument, NULL, 'n'},
        {"log", required_argument, NULL, 'l'},
        {"only", required_argument, NULL, 'o'},
        {"resume", required_argument, NULL, 'r'},
        {"without", required_argument, NULL, 'w'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.seed = (uint64_t)time(NULL), .scale = 1};
    const char *seed = getenv("DPM_SEED");
    int option;

    memset(options.chosen, 1, sizeof(options.chosen));
    if (seed != NULL && *seed != 0)
        options.seed = number(seed, UINT64_MAX);
    while ((option = getopt_long(count, arguments, "", known, NULL)) >= 0) {
        if (option == 's')
            options.seed = number(optarg, UINT64_MAX);
        else if (option == 'n')
            options.scale = (unsigned)number(optarg, SCALE_LIMIT);
        else if (option == 'l')
            options.log = optarg;
        else if (option == 'o') {
            memset(options.chosen, 0, sizeof(options.chosen));
            choose(&options, optarg, true);
        } else if (option == 'w')
            choose(&options, optarg, false);
        else if (option == 'r')
            options.resume = optarg;
        else
            usage("an option is wrong");
    }
    if (options.log == NULL || optind != count || options.scale == 0)
        usage("--log LOG is needed, and a scale of at least 1");
    return options;
}

/* ---- what all processes share ---- */

static size_t shared_size(unsigned scene_count)
{
    return sizeof(struct shared) + scene_count * sizeof(struct scene);
}

static void shared_map(size_t size)
{
    shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, shared_descriptor, 0);
    if (shared == MAP_FAILED)
        truth_fail("mmap: %s", strerror(errno));
}

static void shared_new(const struct options *options)
{
    unsigned scene_count = options->scale * SCENARIO_COUNT;
    struct random random = {options->seed};

    shared_descriptor = memfd_create("truth", MFD_CLOEXEC);
    if (shared_descriptor < 0 || ftruncate(shared_descriptor, (off_t)shared_size(scene_count)) < 0)
        truth_fail("no shared memory: %s", strerror(errno));
    shared_map(shared_size(scene_count));
    shared->byte_limit = BYTES_LIMIT * options->scale;
    shared->seconds = SECONDS * options->scale;
    shared->scene_count = scene_count;
    for (unsigned i = 0; i < scene_count; i++) {
        shared->scenes[i].number = i;
        shared->scenes[i].seed = random_next(&random);
        for (unsigned k = 0; k < SIGNAL_COUNT; k++)
            sem_init(&shared->scenes[i].signals[k], 1, 0);
    }
}

/* Maps the shared memory that life_run passed on. */
static void shared_inherit(const char *work)
{
    struct stat status;

    if (sscanf(work, "%*d,%d,", &shared_descriptor) != 1 || fstat(shared_descriptor, &status) < 0 ||
        (size_t)status.st_size < shared_size(0))
        truth_fail("--resume is for the program's own use");
    shared_map((size_t)status.st_size);
}

/* ---- folders ---- */

/* Logs of an earlier run would be taken for this one's. */
static void prepare_log_folder(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        truth_fail("%s: %s", path, strerror(errno));
    DIR *folder = opendir(path);
    if (folder == NULL)
        truth_fail("%s: %s", path, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            truth_fail("%s is not empty", path);
    closedir(folder);
}

static char socket_folder_path[] = "/tmp/truth-XXXXXX";

static void make_socket_folder(void)
{
    socket_folder = mkdtemp(socket_folder_path);
    if (socket_folder == NULL)
        truth_fail("%s: %s", socket_folder_path, strerror(errno));
}

/* After a failure, socket names are left in it. */
static void remove_socket_folder(void)
{
    DIR *folder = opendir(socket_folder);

    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(socket_folder);
}

/* ---- running the plan ---- */

struct running {
    pid_t process;
    const struct scenario *scenario;
};

static void start(struct running *running, const struct scenario *scenario, struct scene *scene)
{
    running->scenario = scenario;
    running->process = process_fork();
    if (running->process == 0) {
        setpgid(0, 0); /* so that the main process can end all of a scenario at once */
        scenario->run(scene, scenario->transport);
        process_end(0);
    }
    setpgid(running->process, running->process);
}

/* Waits for any scenario to end. A failure ends all: the others may be waiting for messages that never come. */
static void wait_any(struct running *running, unsigned *count)
{
    int status;
    pid_t ended = waitpid(-1, &status, 0);

    if (ended < 0)
        truth_fail("waitpid: %s", strerror(errno));
    for (unsigned i = 0; i < *count; i++) {
        if (running[i].process != ended)
            continue;
        if (status != 0) {
            fprintf(stderr, "truth-program: scenario %s failed (wait status %d)\n",
                    running[i].scenario->name, status);
            for (unsigned k = 0; k < *count; k++)
                kill(-running[k].process, SIGKILL);
            remove_socket_folder();
            exit(1);
        }
        running[i] = running[--*count];
        return;
    }
}

/* One round: every chosen scenario once, in random order, some at the same time. */
static void run_round(const struct options *options, struct random *random, unsigned round)
{
    struct running running[AT_ONCE_LIMIT];
    unsigned order[SCENARIO_COUNT];
    unsigned running_count = 0;

    for (unsigned i = 0; i < SCENARIO_COUNT; i++) {
        unsigned place = (unsigned)random_between(random, 0, i);
        order[i] = order[place];
        order[place] = i;
    }
    for (unsigned i = 0; i < SCENARIO_COUNT; i++) {
        unsigned number_of = order[i];
        size_t at_once = random_between(random, 1, AT_ONCE_LIMIT);
        if (!options->chosen[number_of])
            continue;
        while (running_count >= at_once)
            wait_any(running, &running_count);
        start(&running[running_count++], &scenarios[number_of],
              &shared->scenes[round * SCENARIO_COUNT + number_of]);
    }
    while (running_count > 0)
        wait_any(running, &running_count);
}

/* Printing must not create a message: on a socket or a pipe, only failures are printed. */
static bool may_print(void)
{
    struct stat status;

    return fstat(STDERR_FILENO, &status) == 0 && !S_ISSOCK(status.st_mode) &&
           !S_ISFIFO(status.st_mode);
}

static void leave_out_unavailable(struct options *options)
{
    for (unsigned i = 0; i < SCENARIO_COUNT; i++)
        if (options->chosen[i] && !transport_available(scenarios[i].transport)) {
            if (may_print())
                fprintf(stderr, "truth-program: %s is left out: this machine has no such sockets\n",
                        scenarios[i].name);
            options->chosen[i] = false;
        }
}

static void run_plan(struct options *options)
{
    struct random random = {~options->seed};

    prepare_log_folder(options->log);
    make_socket_folder();
    shared_new(options);
    process_limit();
    journal_begin();
    leave_out_unavailable(options);
    for (unsigned round = 0; round < options->scale; round++)
        run_round(options, &random, round);
    remove_socket_folder();
    if (may_print())
        fprintf(stderr, "truth-program: %" PRIu64 " bytes sent and received, logged in %s\n",
                atomic_load(&shared->bytes), options->log);
    journal_end(0);
}

int main(int count, char **arguments)
{
    struct options options = read_options(count, arguments);

    log_folder = options.log;
    if (options.resume != NULL) {
        shared_inherit(options.resume);
        process_begin();
        life_resume(options.resume);
    }
    if (may_print())
        fprintf(stderr, "truth-program: seed %" PRIu64 "\n", options.seed);
    run_plan(&options);
    return 0;
}
