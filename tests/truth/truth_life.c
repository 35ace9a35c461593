/* SPDX-License-Identifier: MIT */
/*
 * truth_life.c: processes and threads that begin and end while messages flow, all on one inherited
 * connection or pipe: fork, fork of a fork, fork beside a thread, exec, vfork, exit codes, signals, stops.
 *
 *      partner: feeds some bytes, then reads everything that comes
 *         |
 *      ancestor --+-- thread --+-- child -- grandchild -- child that execs -- child that is killed
 *                 (one after the other, in any order; each sends, some receive)
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BLOCK = 240,
    FEED = 6000,   /* small enough to stay in a buffer until it is read */
    PORTION = 300, /* of the feed, for each reader */
    ROLE_ANCESTOR = 1,
    ROLE_PARTNER = 2,
    ROLE_LIVES = 10,
    SIGNAL_READY = 0,
};

/* Sends a few blocks; other streams may send on the same byte stream at the same time. */
static void send_blocks(struct end *end, struct random *random)
{
    struct traffic traffic = {.largest = BLOCK, .whole_blocks = true, .files = true};
    size_t total = BLOCK * random_between(random, 1, 8);

    if (end->object == OBJECT_SOCKET)
        traffic_send(end, random, total, traffic);
    else
        traffic_pipe_send(end, random, total, traffic);
}

/* A pipe has one direction. */
static void receive_portion(struct end *end, struct random *random)
{
    if (end->object != OBJECT_SOCKET)
        return;
    traffic_receive(end, random, random_between(random, 1, PORTION),
                    (struct traffic){.largest = PORTION});
}

/* The life of one stream: the argument of threads and children. */
struct life {
    struct scene *scene;
    struct end end;
    struct random random;
};

static struct life life_new(const struct end *end, unsigned role)
{
    struct life life = {end->scene, end_inherited(end),
                        scene_random(end->scene, ROLE_LIVES + role)};

    return life;
}

static void live_and_send(void *argument)
{
    struct life *life = argument;

    send_blocks(&life->end, &life->random);
}

/* ---- threads and forks ---- */

static void act_threads(struct end *end, unsigned role)
{
    struct life first = life_new(end, role);
    struct life second = life_new(end, role + 1);
    struct thread threads[2];

    thread_start(&threads[0], live_and_send, &first);
    thread_start(&threads[1], live_and_send, &second);
    thread_join(&threads[0]);
    thread_join(&threads[1]);
}

static void act_fork(struct end *end, unsigned role)
{
    struct life life = life_new(end, role);
    int code = (int)random_between(&life.random, 0, 255);
    pid_t child = process_fork();

    if (child == 0) {
        send_blocks(&life.end, &life.random);
        receive_portion(&life.end, &life.random);
        process_end(code);
    }
    process_wait(child, code << 8);
}

/* The process has a second thread, which is in the middle of its sends. */
static void act_fork_beside_thread(struct end *end, unsigned role)
{
    struct life beside = life_new(end, role + 1);
    struct thread thread;

    thread_start(&thread, live_and_send, &beside);
    act_fork(end, role);
    thread_join(&thread);
}

static void act_fork_twice(struct end *end, unsigned role)
{
    struct life life = life_new(end, role);
    pid_t child = process_fork();

    if (child == 0) {
        send_blocks(&life.end, &life.random);
        act_fork(&life.end, role + 1);
        send_blocks(&life.end, &life.random);
        process_end(7);
    }
    process_wait(child, 7 << 8);
}

/* Whether the first thread has ended; it stays a zombie while others run. */
static bool leader_has_ended(void)
{
    char text[512];
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        truth_fail("%s: %s", path, strerror(errno));
    ssize_t length = read(file, text, sizeof(text) - 1);
    close(file);
    text[length < 0 ? 0 : length] = 0;
    return strstr(text, ") Z ") != NULL;
}

/* The first thread of a process ends before the second, which then ends the process. */
static void outlive_leader(void *argument)
{
    struct life *life = argument;

    while (!leader_has_ended())
        sleep_milliseconds(1);
    send_blocks(&life->end, &life->random);
    journal_end(9 << 8);
    _exit(9);
}

static void act_leader_ends(struct end *end, unsigned role)
{
    static struct life life; /* outlives the stack on which it is created */
    static struct thread thread;
    pid_t child = process_fork();

    if (child == 0) {
        life = life_new(end, role);
        send_blocks(&life.end, &life.random);
        life = life_new(end, role + 1);
        thread_start(&thread, outlive_leader, &life);
        journal_end(0);
        pthread_exit(NULL);
    }
    process_wait(child, 9 << 8);
}

/* ---- exec ---- */

/* What the new image needs to know, as one argument. */
struct work {
    char text[64 + sizeof(journal.path)];
};

static struct work work_text(const struct end *end, int socket, int memory, unsigned role,
                             bool in_log)
{
    struct work work;

    snprintf(work.text, sizeof(work.text), "%d,%d,%" PRIu32 ",%d,%" PRIu64 ",%u,%s", socket, memory,
             end->scene->number, in_log ? journal.writer : -1, in_log ? end->sent : 0, role,
             in_log ? journal.path : "");
    return work;
}

static const char *own_image(void)
{
    static char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (length < 0)
        truth_fail("/proc/self/exe: %s", strerror(errno));
    path[length] = 0;
    return path;
}

static void image_arguments(char **arguments, const char *image, struct work *work)
{
    arguments[0] = (char *)image;
    arguments[1] = "--log";
    arguments[2] = (char *)log_folder;
    arguments[3] = "--resume";
    arguments[4] = work->text;
    arguments[5] = NULL;
}

/* Sends before and after exec: the new image continues the stream's log and offsets. */
static void act_fork_exec(struct end *end, unsigned role)
{
    const char *image = own_image();
    pid_t child = process_fork();

    if (child == 0) {
        struct life life = life_new(end, role);
        char *arguments[6];
        send_blocks(&life.end, &life.random);
        struct work work =
            work_text(&life.end, dup(end->descriptor), dup(shared_descriptor), role + 50, true);
        journal_hand_over();
        image_arguments(arguments, image, &work);
        execv(image, arguments);
        truth_fail("exec: %s", strerror(errno));
    }
    process_wait(child, 5 << 8);
}

static void act_vfork_exec(struct end *end, unsigned role)
{
    const char *image = own_image();
    int socket = dup(end->descriptor);
    int memory = dup(shared_descriptor);
    struct work work = work_text(end, socket, memory, role + 50, false);
    char *arguments[6];

    image_arguments(arguments, image, &work);
    pid_t child = vfork();
    if (child == 0) {
        execv(image, arguments);
        _exit(127);
    }
    if (child < 0)
        truth_fail("vfork: %s", strerror(errno));
    journal_print("CREATEPROCESS %d process\n", (int)child);
    close(socket);
    close(memory);
    process_wait(child, 5 << 8);
}

void life_resume(const char *work)
{
    int socket;
    int writer;
    unsigned number;
    unsigned role;
    uint64_t sent;
    int used = 0;

    if (sscanf(work, "%d,%*d,%u,%d,%" SCNu64 ",%u,%n", &socket, &number, &writer, &sent, &role,
               &used) != 5 ||
        used == 0 || number >= shared->scene_count)
        truth_fail("--resume is for the program's own use");
    journal_resume(work[used] == 0 ? NULL : work + used, (const char *)getauxval(AT_EXECFN));
    struct scene *scene = &shared->scenes[number];
    struct end end = end_of(scene, TRANSPORT_STREAM, socket); /* or a pipe */
    struct random random = scene_random(scene, ROLE_LIVES + role);
    end.several_readers = true;
    end.sent = sent;
    journal.writer = writer;
    send_blocks(&end, &random);
    receive_portion(&end, &random);
    process_end(5);
}

/* ---- signals ---- */

static void act_killed(struct end *end, unsigned role)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGUSR1};
    struct life life = life_new(end, role);
    int signal = signals[random_next(&life.random) % 3];
    pid_t child = process_fork();

    if (child == 0) {
        send_blocks(&life.end, &life.random);
        journal_end(signal);
        scene_post(life.scene, SIGNAL_READY);
        for (;;)
            pause();
    }
    scene_wait(life.scene, SIGNAL_READY);
    kill(child, signal);
    process_wait(child, signal);
}

/* Waits until the child has stopped, and continues it. */
static void continue_stopped(pid_t child)
{
    int status;

    if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
        truth_fail("the child that should stop did something else");
    /* The stop is reported shortly before the child leaves the CPU: wait until it has really stopped. */
    sleep_milliseconds(20);
    kill(child, SIGCONT);
}

static void act_stopped(struct end *end, unsigned role)
{
    struct life life = life_new(end, role);
    pid_t child = process_fork();

    if (child == 0) {
        send_blocks(&life.end, &life.random);
        journal_print("STOPPROCESS\n");
        raise(SIGSTOP);
        journal_print("STARTPROCESS\n");
        send_blocks(&life.end, &life.random);
        process_end(1);
    }
    continue_stopped(child);
    process_wait(child, 1 << 8);
}

/* ---- the scenario ---- */

static void run_partner(struct scene *scene, struct end *end)
{
    struct random random = scene_random(scene, ROLE_PARTNER);

    if (end->object != OBJECT_SOCKET) {
        traffic_pipe_receive_rest(end, &random, (struct traffic){.largest = 2000});
        return;
    }
    traffic_send(end, &random, FEED, (struct traffic){.largest = 1000});
    traffic_receive_rest(end, &random, (struct traffic){.largest = 2000, .peek = true});
}

/* Connects to a new child that runs `run`: by a socket, or by a pipe that the child reads. */
static pid_t start_partner(struct scene *scene, enum transport transport,
                           void (*run)(struct scene *, struct end *), struct end *ret_end)
{
    struct end reading;

    if (transport != TRANSPORT_PIPE)
        return connect_child(scene, transport, false, run, ret_end);
    pipe_new(scene, transport, &reading, ret_end);
    pid_t child = process_fork();
    if (child == 0) {
        end_close(ret_end);
        run(scene, &reading);
        process_end(0);
    }
    end_close(&reading);
    return child;
}

static void end_sending(struct end *end)
{
    if (end->object == OBJECT_SOCKET)
        shutdown(end->descriptor, SHUT_WR);
    else
        end_close(end);
}

void life_run(struct scene *scene, enum transport transport)
{
    void (*acts[])(struct end *, unsigned) = {
        act_threads,    act_fork,        act_fork_beside_thread,
        act_fork_twice, act_leader_ends, act_fork_exec,
        act_vfork_exec, act_killed,      act_stopped,
    };
    const unsigned count = sizeof(acts) / sizeof(acts[0]);
    struct random random = scene_random(scene, ROLE_ANCESTOR);
    struct end end;
    pid_t partner = start_partner(scene, transport, run_partner, &end);

    for (unsigned left = count; left > 0; left--) {
        unsigned place = (unsigned)random_between(&random, 0, left - 1);
        acts[place](&end, 2 * left);
        acts[place] = acts[left - 1];
        if (random_chance(&random, 50))
            send_blocks(&end, &random);
    }
    end_sending(&end);
    process_wait(partner, 0);
}

/* ---- a receiver that is stopped while it waits ---- */

static void run_stopped_receiver(struct scene *scene, struct end *end)
{
    struct random random = scene_random(scene, ROLE_PARTNER);

    /* This stream cannot see its own stop; the plan says that there is one. */
    journal_print("STOPPROCESS\nSTARTPROCESS\n");
    scene_post(scene, SIGNAL_READY);
    if (end->object != OBJECT_SOCKET) {
        if (operation_pipe_receive(end, &random, PIPE_READV, 100, false) <= 0)
            truth_fail("the stopped reader read nothing");
        traffic_pipe_receive_rest(end, &random, (struct traffic){.largest = 200});
        return;
    }
    if (operation_receive(end, &random, CALL_RECV, 100, 0, NULL) <= 0)
        truth_fail("the stopped receiver received nothing");
    traffic_receive_rest(end, &random, (struct traffic){.largest = 200});
}

void stopped_receiver_run(struct scene *scene, enum transport transport)
{
    struct random random = scene_random(scene, ROLE_ANCESTOR);
    struct end end;
    pid_t receiver = start_partner(scene, transport, run_stopped_receiver, &end);

    scene_wait(scene, SIGNAL_READY);
    sleep_milliseconds(20);
    kill(receiver, SIGSTOP);
    continue_stopped(receiver);
    sleep_milliseconds(10);
    send_blocks(&end, &random);
    end_close(&end);
    process_wait(receiver, 0);
}
