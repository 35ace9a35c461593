/* SPDX-License-Identifier: MIT */
/*
 * steer_hands_test.c: acts on real processes, and the way back: in order, by the guardian when the loop is killed, and by --undo when both
 * are. No meter is needed: what was decided is given.
 *
 *      test --fork--> loop --fork--> guardian
 *        '----fork--> target (sh, with a child of its own)
 */
#include "base/process.h"
#include "steer/steer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MOST 2000 /* times 10 ms */

static char folder[] = "/tmp/steer-test.XXXXXX";

struct scene {
    pid_t target, child; /* the child of the target */
    struct steer_policy *policy;
    struct steer_machine machine;
    struct steer_members members;
    struct steer_journal *journal;
};

/* ---- targets ---- */

static pid_t child_of(pid_t parent)
{
    char name[64], children[64] = "";

    snprintf(name, sizeof(name), "task/%d/children", parent);
    for (int i = 0; i < WAIT_MOST && process_read(parent, name, children, sizeof(children)) == 0;
         i++)
        usleep(10000);
    return (pid_t)strtol(children, NULL, 10);
}

static pid_t start_target(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* what is left of it, if the test fails, must not hold our output open */
        execl("/bin/sh", "sh", "-c",
              "exec > /dev/null 2>&1; trap 'sleep 301 &' USR1; sleep 300 & wait; wait; :",
              (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* Another child of the target, which it starts now. The caller kills it. */
static pid_t start_heir(pid_t target)
{
    char name[64], children[64] = "", *next = children;

    snprintf(name, sizeof(name), "task/%d/children", target);
    usleep(20000); /* by then the shell waits */
    kill(target, SIGUSR1);
    for (int i = 0; i < WAIT_MOST && strtol(next, NULL, 10) == 0; i++) {
        usleep(10000);
        process_read(target, name, children, sizeof(children));
        strtol(children, &next, 10);
    }
    return (pid_t)strtol(next, NULL, 10);
}

/* A copy of a program, in our folder by this name; returns when it runs. */
static pid_t start_copy(const char *program, const char *name, const char *argument)
{
    char path[200], command[500], now[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(command, sizeof(command), "cp %s %s", program, path);
    assert_int_equal(system(command), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(path, name, argument, (char *)NULL);
        _exit(127);
    }
    for (int i = 0;
         i < WAIT_MOST && !(process_program(pid, now, sizeof(now)) && strcmp(now, path) == 0); i++)
        usleep(10000);
    return pid;
}

static void *pause_thread(void *context)
{
    (void)context;
    while (true)
        pause();
    return NULL;
}

/* Runs in the copy of this program. */
static int end_first_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, pause_thread, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

static int note_other(pid_t pid, pid_t tid, void *context)
{
    pid_t *other = context;

    *other = tid != pid ? tid : *other;
    return 0;
}

static pid_t other_thread(pid_t pid)
{
    pid_t other = 0;

    thread_each(pid, note_other, &other);
    return other;
}

static void begin(struct scene *scene, const char *acts)
{
    struct problem problem = {""};
    char text[1000];
    cpu_set_t usable;

    *scene = (struct scene){.target = start_target()};
    scene->child = child_of(scene->target);
    snprintf(text, sizeof(text),
             "group app is pid %d\ngroup more is pid %d\ngoal requests/s of app\n%s", scene->target,
             scene->child, acts);
    if (steer_policy_parse("p", text, strlen(text), &scene->policy, &problem) < 0 ||
        steer_members_begin(&scene->members, scene->policy, &problem) < 0)
        fail_msg("%s", problem.text);
    assert_int_equal(scene->members.count, 2);
    /* the first CPU that there is */
    assert_int_equal(sched_getaffinity(0, sizeof(usable), &usable), 0);
    scene->machine.set_count = 1;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET(cpu, &usable)) {
            CPU_ZERO(&scene->machine.sets[0].set);
            CPU_SET(cpu, &scene->machine.sets[0].set);
        }
}

static void open_journal(struct scene *scene)
{
    struct problem problem = {""};
    struct steer_restored restored;

    if (steer_journal_begin(scene->policy, &scene->members, &scene->journal, &restored, &problem) <
        0)
        fail_msg("%s", problem.text);
}

static int act(struct scene *scene, uint32_t index, uint32_t number, struct problem *problem)
{
    const struct steer_setting to = {{number}};

    return steer_hands_act(scene->journal, scene->policy, &scene->machine, &scene->members,
                           &scene->policy->acts[index], &to, problem);
}

static void end(struct scene *scene)
{
    struct steer_restored restored;

    assert_int_equal(steer_journal_end(scene->journal, &restored, NULL), 0);
    kill(scene->child, SIGKILL);
    kill(scene->target, SIGKILL);
    waitpid(scene->target, NULL, 0);
    steer_members_done(&scene->members);
    steer_policy_free(scene->policy);
}

/* ---- what they have ---- */

static bool is_limited(const struct scene *scene, pid_t pid)
{
    cpu_set_t cpus;

    return sched_getaffinity(pid, sizeof(cpus), &cpus) == 0 &&
           CPU_EQUAL(&cpus, &scene->machine.sets[0].set);
}

static bool is_free(const struct scene *scene, pid_t pid)
{
    cpu_set_t cpus, ours;

    return sched_getaffinity(pid, sizeof(cpus), &cpus) == 0 &&
           sched_getaffinity(0, sizeof(ours), &ours) == 0 && CPU_EQUAL(&cpus, &ours) &&
           (CPU_COUNT(&ours) == 1 || !is_limited(scene, pid));
}

static bool becomes_free(const struct scene *scene)
{
    for (int i = 0;
         i < WAIT_MOST && !(is_free(scene, scene->target) && is_free(scene, scene->child)); i++)
        usleep(10000);
    return is_free(scene, scene->target) && is_free(scene, scene->child);
}

static void read_text(const char *name, char text[64])
{
    char path[200];
    int file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    memset(text, 0, 64);
    if ((file = open(path, O_RDONLY)) >= 0) {
        assert_true(read(file, text, 63) >= 0);
        close(file);
    }
    text[strcspn(text, "\n")] = '\0';
}

static void write_text(const char *name, const char *text, mode_t mode)
{
    char path[200];
    int file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_true((file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)) >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    fchmod(file, mode);
    close(file);
}

/* ---- acts ---- */

static void test_cpus(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    struct stat status;
    cpu_set_t ours;
    (void)state;

    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    begin(&scene, "cpus of app more\n");
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    assert_true(is_limited(&scene, scene.target) && is_limited(&scene, scene.child));
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    assert_int_equal(fstat(scene.journal->file, &status), 0);
    assert_int_equal(status.st_size,
                     scene.journal->head); /* the journal does not grow without end */
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    assert_int_equal(sched_setaffinity(scene.child, sizeof(ours), &ours), 0); /* by itself */
    assert_int_equal(steer_hands_tend(scene.journal, scene.policy, &scene.members, &problem), 0);
    assert_true(is_free(&scene, scene.child) && is_limited(&scene, scene.target));
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    end(&scene);
}

/* What inherits the act, and is of no group, gets back what its parent had. */
static void test_heirs(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    (void)state;

    begin(&scene, "cpus of app\n");
    open_journal(&scene);
    usleep(
        20000); /* the kernel counts beginnings in 10 ms: the child is to be older than the act */
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    assert_true(is_free(&scene, scene.child) || CPU_COUNT(&scene.machine.sets[0].set) == 1);
    assert_int_equal(sched_setaffinity(scene.child, sizeof(cpu_set_t), &scene.machine.sets[0].set),
                     0);
    assert_int_equal(act(&scene, 0, 0, &problem), 0); /* it is older than the act: by itself */
    assert_true(is_free(&scene, scene.target) && is_limited(&scene, scene.child));
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    scene.journal->acts[0].since = 0; /* as if it were younger */
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    end(&scene);
}

/* A child that begins while the act is in effect, and of no group. */
static void test_heir_since(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    (void)state;

    begin(&scene, "cpus of app\n");
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    pid_t heir = start_heir(scene.target);
    assert_true(heir > 0 && is_limited(&scene, heir));
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    assert_true(is_free(&scene, scene.target) && is_free(&scene, heir));
    kill(heir, SIGKILL);
    end(&scene);
}

static int nice_of(pid_t pid)
{
    return getpriority(PRIO_PROCESS, (id_t)pid);
}

/* It began at the first step of a weight, two steps ago; the loop's own journal says so, and one written anew, which is read. */
static void test_heir_of_step(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    (void)state;

    for (int compact = 0; compact < 2; compact++) {
        begin(&scene, "weight of app up to 64\n");
        open_journal(&scene);
        int before = nice_of(scene.target);
        if (act(&scene, 0, 4, &problem) < 0) { /* no right to */
            end(&scene);
            skip();
        }
        pid_t heir = start_heir(scene.target);
        assert_int_equal(nice_of(heir), before - 6 < -20 ? -20 : before - 6);
        assert_int_equal(act(&scene, 0, 16, &problem), 0);
        assert_int_equal(act(&scene, 0, 64, &problem), 0);
        if (compact)
            journal_compact(scene.journal, 1);
        assert_int_equal(act(&scene, 0, 1, &problem), 0);
        assert_int_equal(nice_of(scene.target), before);
        assert_int_equal(nice_of(heir), before);
        kill(heir, SIGKILL);
        end(&scene);
    }
}

/* main() has ended by pthread_exit: /proc shows a zombie, but other threads live. */
static void test_first_thread_ended(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    char own[200];
    (void)state;

    begin(&scene, "cpus of app\n");
    assert_true(process_program(getpid(), own, sizeof(own)));
    pid_t pid = start_copy(own, "without-main", NULL);
    for (int i = 0; i < WAIT_MOST && process_started(pid) != 0; i++)
        usleep(10000);
    assert_true(process_started(pid) == 0 && process_lives(pid));
    scene.members.at[0] = (struct steer_member){.pid = pid, .start = thread_started(pid, pid)};
    scene.members.count = 1;
    pid_t thread = other_thread(pid);
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    assert_true(is_limited(&scene, thread));
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    assert_true(is_free(&scene, thread));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    end(&scene);
}

/* What others have changed since is theirs. */
static void test_changed(void **state)
{
    struct problem problem = {""};
    struct steer_restored restored;
    char acts[200], text[64];
    struct scene scene;
    cpu_set_t other, ours;
    (void)state;

    write_text("cpu.weight", "150\n", 0600);
    snprintf(acts, sizeof(acts), "cpus of app more\nweight of app up to 16 in %s\n", folder);
    begin(&scene, acts);
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    CPU_XOR(&other, &ours, &scene.machine.sets[0].set); /* all but the one */
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    assert_int_equal(act(&scene, 1, 4, &problem), 0);
    write_text("cpu.weight", "77\n", 0600);
    if (CPU_COUNT(&ours) > 1)
        assert_int_equal(sched_setaffinity(scene.child, sizeof(other), &other), 0);
    assert_int_equal(steer_journal_end(scene.journal, &restored, &problem), 0);
    scene.journal = NULL;
    assert_true(is_free(&scene, scene.target));
    read_text("cpu.weight", text);
    assert_string_equal(text, "77");
    assert_int_equal(restored.changed, CPU_COUNT(&ours) > 1 ? 2 : 1);
    assert_non_null(strstr(restored.first_changed, "/cpu.weight"));
    if (CPU_COUNT(&ours) > 1) {
        cpu_set_t now;
        assert_int_equal(sched_getaffinity(scene.child, sizeof(now), &now), 0);
        assert_true(CPU_EQUAL(&now, &other));
    }
    end(&scene);
}

/* Entries of what has ended leave the file; the rest is restored from the new one, by the loop, and if both are killed. */
static void test_compact(void **state)
{
    struct problem problem = {""};
    struct steer_restored restored;
    struct scene scene;
    struct stat before, after;
    (void)state;

    begin(&scene, "cpus of app more\n");
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    for (int i = 0; i < 100; i++) { /* of a start that no thread has */
        struct entry entry = {.kind = ENTRY_CPUS,
                              .pid = scene.target,
                              .tid = scene.target,
                              .start = 5,
                              .tid_start = 5 + (uint64_t)i,
                              .cpus = scene.machine.sets[0].set};
        assert_int_equal(journal_add(scene.journal, &entry, &problem), 0);
    }
    assert_int_equal(scene.journal->count, 102);
    assert_int_equal(fstat(scene.journal->file, &before), 0);
    journal_compact(scene.journal, before.st_size + 1); /* not yet */
    assert_int_equal(scene.journal->count, 102);
    journal_compact(scene.journal, 100);
    assert_int_equal(scene.journal->count, 2);
    assert_int_equal(fstat(scene.journal->file, &after), 0);
    assert_true(after.st_size < before.st_size / 10);
    assert_int_equal(stat(scene.journal->path, &before), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    journal_compact(scene.journal, 100); /* not again before it is twice as large */
    assert_int_equal(fstat(scene.journal->file, &before), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(steer_journal_end(scene.journal, &restored, &problem), 0);
    assert_int_equal(restored.count, 2);
    scene.journal = NULL;
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    end(&scene);
}

/* A process that came later is taken, too; its entry has what was before the act. */
static void test_tend(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    (void)state;

    begin(&scene, "cpus of app more\n");
    open_journal(&scene);
    scene.members.count = 1; /* the first one, by pid */
    pid_t first = scene.members.at[0].pid,
          later = first == scene.target ? scene.child : scene.target;
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    assert_true(is_limited(&scene, first) && is_free(&scene, later));
    scene.members.count = 2;
    assert_int_equal(sched_setaffinity(later, sizeof(cpu_set_t), &scene.machine.sets[0].set),
                     0); /* as if inherited */
    scene.journal->acts[0].since = 0;
    assert_int_equal(steer_hands_tend(scene.journal, scene.policy, &scene.members, &problem), 0);
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    assert_true(is_free(&scene, first) && is_free(&scene, later));
    end(&scene);
}

/* In a container with other CPUs: what came later stays as it is, and the others keep what they have. */
static void test_tend_refused(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    cpu_set_t none;
    (void)state;

    begin(&scene, "cpus of app more\n");
    open_journal(&scene);
    scene.members.count = 1;
    pid_t first = scene.members.at[0].pid,
          later = first == scene.target ? scene.child : scene.target;
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    scene.members.count = 2;
    assert_int_equal(steer_hands_tend(scene.journal, scene.policy, &scene.members, &problem), 0);
    assert_string_equal(problem.text, "");
    assert_int_equal(act(&scene, 0, 0, &problem), 0);
    scene.members.count = 1;
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    scene.members.count = 2;
    const cpu_set_t given = scene.journal->acts[0].cpus;
    CPU_ZERO(&none);
    CPU_SET(CPU_SETSIZE - 1, &none); /* which no machine here has */
    scene.journal->acts[0].cpus = none;
    assert_int_equal(steer_hands_tend(scene.journal, scene.policy, &scene.members, &problem), 0);
    assert_non_null(strstr(problem.text, "its CPUs cannot be set: Invalid argument"));
    scene.journal->acts[0].cpus = given;
    assert_true(is_limited(&scene, first) && is_free(&scene, later));
    end(&scene);
}

/* What a new thread had before is what its own process had, not another one of the act. */
static void test_above(void **state)
{
    struct steer_journal *journal = calloc(1, sizeof(*journal));
    struct scene scene;
    char text[600];
    (void)state;

    assert_non_null(journal);
    begin(&scene, "cpus of app more\n");
    journal->file = -1;
    unsigned long long target = process_started(scene.target), child = process_started(scene.child);
    snprintf(
        text, sizeof(text),
        "{\"act\":0,\"pid\":%d,\"start\":%llu,\"tid\":%d,\"tid_start\":%llu,\"cpus\":\"0\"}\n"
        "{\"act\":0,\"pid\":%d,\"start\":%llu,\"tid\":%d,\"tid_start\":%llu,\"cpus\":\"0-1\"}\n",
        scene.target, target, scene.target, target, scene.child, child, scene.child, child);
    journal_parse(journal, text, strlen(text));
    assert_int_equal(journal_above(journal, 0, scene.child)->pid, scene.child);
    journal->entries[1].restored = true;
    assert_int_equal(journal_above(journal, 0, scene.child)->pid, scene.target);
    assert_null(journal_above(journal, 1, scene.child));
    const struct in_effect effect = {.kind = ENTRY_NICE, .less = 12};
    assert_int_equal(effect_nice(&effect, 0), -12);
    assert_int_equal(effect_nice(&effect, -15), -20);
    journal_done(journal);
    free(journal);
    end(&scene);
}

static void test_nice(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    (void)state;

    begin(&scene, "weight of app up to 16\n");
    open_journal(&scene);
    int before = getpriority(PRIO_PROCESS, (id_t)scene.target),
        result = act(&scene, 0, 4, &problem);
    if (result == 0) {
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)scene.target),
                         before - 6 < -20 ? -20 : before - 6);
        assert_int_equal(act(&scene, 0, 16, &problem), 0);
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)scene.target),
                         before - 12 < -20 ? -20 : before - 12);
        assert_int_equal(act(&scene, 0, 1, &problem), 0);
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)scene.target), before);
        assert_int_equal(act(&scene, 0, 4, &problem), 0);
        assert_int_equal(setpriority(PRIO_PROCESS, (id_t)scene.target, before - 1), 0);
        assert_int_equal(act(&scene, 0, 16, &problem), 0); /* by others: left as it is */
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)scene.target), before - 1);
        assert_int_equal(act(&scene, 0, 1, &problem), 0);
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)scene.target), before - 1);
        assert_int_equal(setpriority(PRIO_PROCESS, (id_t)scene.target, before), 0);
    } else { /* no right to: one line */
        assert_non_null(strstr(problem.text, "its nice value cannot be set"));
    }
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)scene.target), before);
    end(&scene);
}

static void test_cgroup(void **state)
{
    struct problem problem = {""};
    char acts[200], text[64], path[200];
    struct steer_restored restored;
    struct scene scene;
    (void)state;

    write_text("cpu.weight", "150\n", 0600);
    snprintf(acts, sizeof(acts),
             "weight of app up to 16 in %s\nweight of more up to 2 in %s/none\n", folder, folder);
    begin(&scene, acts);
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 4, &problem), 0);
    read_text("cpu.weight", text);
    assert_string_equal(text, "600");
    assert_int_equal(act(&scene, 0, 16, &problem), 0);
    read_text("cpu.weight", text);
    assert_string_equal(text, "2400");
    write_text("cpu.weight", "170", 0600); /* by others */
    assert_int_equal(act(&scene, 0, 4, &problem), -ESTALE);
    assert_non_null(
        strstr(problem.text, "/cpu.weight: it was changed by others meanwhile: left as it is"));
    read_text("cpu.weight", text);
    assert_string_equal(text, "170");
    assert_int_equal(act(&scene, 0, 4, &problem), 0); /* the next try begins with that */
    read_text("cpu.weight", text);
    assert_string_equal(text, "680");
    assert_int_equal(act(&scene, 0, 1, &problem), 0);
    read_text("cpu.weight", text);
    assert_string_equal(text, "170");
    assert_int_equal(act(&scene, 1, 2, &problem), -ENOENT);
    assert_non_null(strstr(problem.text, "/none: has neither cpu.weight nor cpu.shares"));
    assert_int_equal(act(&scene, 0, 4, &problem), 0); /* its service ends */
    snprintf(path, sizeof(path), "%s/cpu.weight", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(steer_journal_end(scene.journal, &restored, &problem), 0);
    assert_int_equal(restored.count, 0);
    assert_int_equal(restored.changed, 1);
    scene.journal = NULL;
    end(&scene);
}

/* Numbers are words of their own; no shell sees any. */
static void test_commands(void **state)
{
    const int nice_before = getpriority(PRIO_PROCESS, 0);
    struct problem problem = {""};
    char acts[600], text[64];
    struct scene scene;
    (void)state;

    write_text("note",
               "#!/bin/sh\nfile=$1\nshift\necho \"$#:$*\" > \"$file\"\nnice > \"$file.nice\"\n"
               "sed -n 's/^SigIgn:.//p' /proc/self/status > \"$file.ignored\"\n[ \"$2\" != 7 ]\n",
               0700);
    snprintf(acts, sizeof(acts),
             "workers of app from 2 to 8 by %s/note %s/workers \"; rm\" {}\nshares of app more by "
             "%s/note %s/shares {} $HOME\n",
             folder, folder, folder, folder);
    begin(&scene, acts);
    steer_prefer_loop();      /* which commands do not inherit */
    signal(SIGTERM, SIG_IGN); /* as the guardian does: what a command starts must not */
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 4, &problem), 0);
    signal(SIGTERM, SIG_DFL);
    read_text("workers", text);
    assert_string_equal(text, "2:; rm 4");
    read_text("workers.ignored", text);
    assert_true(strlen(text) == 16 && (strtoull(text, NULL, 16) & 1ull << (SIGTERM - 1)) == 0);
    read_text("workers.nice", text);
    assert_int_equal(strtol(text, NULL, 10), nice_before);
    (void)setpriority(PRIO_PROCESS, 0, nice_before);
    assert_int_equal(act(&scene, 0, 7, &problem), -EREMOTEIO); /* it fails: undone */
    assert_non_null(strstr(problem.text, "note: it has failed: exit status 1; back to 2"));
    read_text("workers", text);
    assert_string_equal(text, "2:; rm 2");
    const struct steer_setting to = {{83, 17}};
    assert_int_equal(steer_hands_act(scene.journal, scene.policy, &scene.machine, &scene.members,
                                     &scene.policy->acts[1], &to, &problem),
                     0);
    read_text("shares", text);
    assert_string_equal(text, "3:83 17 $HOME");
    end(&scene);
    read_text("shares", text);
    assert_string_equal(text, "3:50 50 $HOME");
}

/* The first step works, the second fails, and so does the way back. */
static void test_no_way_back(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    char acts[200];
    (void)state;

    write_text("break", "#!/bin/sh\n[ ! -e $0.broken ]\n", 0700);
    snprintf(acts, sizeof(acts), "workers of app from 2 to 8 by %s/break {}\n", folder);
    begin(&scene, acts);
    open_journal(&scene);
    assert_int_equal(act(&scene, 0, 4, &problem), 0);
    write_text("break.broken", "", 0600);
    assert_int_equal(act(&scene, 0, 8, &problem), -ENOTRECOVERABLE);
    assert_non_null(strstr(problem.text, "exit status 1; the way back failed, too: /"));
    write_text("break", "#!/bin/sh\n", 0700);
    end(&scene);
}

/* ---- what is never changed ---- */

static void test_spared(void **state)
{
    static const char *const names[] = {"dpm", "dpmd", "dpm-like"};
    char text[64];
    (void)state;

    assert_true(steer_is_spared(1));
    assert_true(steer_is_spared(getpid()));
    assert_true(steer_is_spared(getppid()));
    pid_t pid = fork(); /* it runs our program */
    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_true(steer_is_spared(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (process_name(2, text, sizeof(text)) > 0 && strcmp(text, "kthreadd") == 0)
        assert_true(steer_is_spared(2));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) { /* another file than ours: by its name */
        pid = start_copy("/bin/sleep", names[i], "300");
        assert_int_equal(steer_is_spared(pid), i < 2);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* An entry of a process that had this pid before: another start. */
static void test_used_again(void **state)
{
    struct scene scene;
    struct steer_journal *journal = calloc(1, sizeof(*journal));
    cpu_set_t before, after;
    char text[300];
    size_t restored = 1;
    (void)state;

    assert_non_null(journal);
    begin(&scene, "cpus of app\n");
    journal->file = -1;
    snprintf(text, sizeof(text),
             "{\"act\":0,\"pid\":%d,\"start\":5,\"tid\":%d,\"tid_start\":5,\"cpus\":\"0\"}\n",
             scene.target, scene.target);
    journal_parse(journal, text, strlen(text));
    assert_int_equal(sched_getaffinity(scene.target, sizeof(before), &before), 0);
    assert_int_equal(journal_restore(journal, ALL_ACTS, &restored, NULL), 0);
    assert_int_equal(restored, 0);
    assert_true(journal->entries[0].restored);
    assert_int_equal(sched_getaffinity(scene.target, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    journal_done(journal);
    free(journal);
    end(&scene);
}

/* ---- loops that are killed ---- */

struct loop {
    pid_t pid, guardian;
};

/* In the guardian: what could not be restored, as a file. */
static void note_done(const struct steer_restored *restored, const struct problem *not_restored)
{
    (void)restored;
    if (not_restored != NULL)
        write_text("not-restored", not_restored->text, 0600);
}

static bool compacts; /* its journal, before its latest act */

/* A loop that has acted, and lives on. */
static struct loop start_loop(struct scene *scene)
{
    struct loop loop = {0};
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    loop.pid = fork();
    if (loop.pid == 0) {
        struct problem problem = {""};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        open_journal(scene);
        int guardian = steer_guardian_begin(scene->journal, note_done);
        pid_t guards = child_of(getpid());
        if (compacts)
            journal_compact(scene->journal, 1);
        if (guardian < 0 || act(scene, 0, 1, &problem) < 0 ||
            write(ends[1], &guards, sizeof(guards)) < 0)
            _exit(1);
        while (true)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &loop.guardian, sizeof(loop.guardian)), sizeof(loop.guardian));
    close(ends[0]);
    assert_true(is_limited(scene, scene->target) && is_limited(scene, scene->child));
    return loop;
}

static void kill_and_reap(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_guardian(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    struct steer_restored restored;
    (void)state;

    begin(&scene, "cpus of app more\n");
    struct loop loop = start_loop(&scene);
    kill_and_reap(loop.pid);
    assert_true(becomes_free(&scene));
    assert_int_equal(steer_journal_undo(&restored, &problem),
                     0); /* it waits for the guardian, and has nothing to do */
    assert_int_equal(restored.count, 0);
    end(&scene);
}

/* A command whose way back fails. The guardian says so if the loop was killed; a loop that ends in order has said it itself, and its
 * guardian does not run the command again. */
static void test_guardian_fails(void **state)
{
    char acts[200], text[64] = "", path[200];
    struct steer_restored restored;
    struct problem problem;
    (void)state;

    write_text("there", "#!/bin/sh\n[ $1 = 4 ] || [ -e $0.mended ]\n", 0700);
    snprintf(acts, sizeof(acts), "workers of app from 2 to 8 by %s/there {}\n", folder);
    snprintf(path, sizeof(path), "%s/there.mended", folder);
    for (int killed = 0; killed < 2; killed++) {
        struct scene scene;
        int status;
        begin(&scene, acts);
        pid_t loop = fork();
        if (loop == 0) {
            open_journal(&scene);
            if (steer_guardian_begin(scene.journal, note_done) < 0 ||
                act(&scene, 0, 4, &problem) < 0)
                _exit(1);
            if (killed)
                kill(getpid(), SIGKILL);
            _exit(steer_journal_end(scene.journal, &restored, &problem) == -EREMOTEIO ? 0 : 1);
        }
        assert_int_equal(waitpid(loop, &status, 0), loop);
        assert_int_equal(status, killed ? SIGKILL : 0);
        for (int i = 0; killed && i < WAIT_MOST && text[0] == '\0'; i++, usleep(10000))
            read_text("not-restored", text);
        write_text("there.mended", "", 0600);
        assert_int_equal(steer_journal_undo(&restored, &problem), 0); /* waits for the guardian */
        assert_int_equal(restored.count, 1);
        read_text("not-restored", text);
        assert_int_equal(strncmp(text, folder, strlen(folder)) == 0, killed);
        unlink(path);
        end(&scene);
    }
}

/* The guardian finds what was written anew. */
static void test_guardian_of_new_file(void **state)
{
    struct scene scene;
    (void)state;

    compacts = true;
    begin(&scene, "cpus of app more\n");
    struct loop loop = start_loop(&scene);
    compacts = false;
    kill_and_reap(loop.pid);
    assert_true(becomes_free(&scene));
    loop.pid = 0;
    end(&scene);
}

/* A logout removes the folder while the loop runs on. */
static void test_removed(void **state)
{
    struct scene scene;
    char command[200];
    (void)state;

    begin(&scene, "cpus of app more\n");
    struct loop loop = start_loop(&scene);
    snprintf(command, sizeof(command), "rm %s/dpm-steer/*.journal", folder);
    assert_int_equal(system(command), 0);
    kill_and_reap(loop.pid);
    assert_true(becomes_free(&scene));
    end(&scene);
}

/* A disk that is full takes a part of a line. */
static void test_full(void **state)
{
    struct problem problem = {""};
    struct rlimit before, limit;
    struct scene scene;
    struct stat status;
    (void)state;

    begin(&scene, "cpus of app more\n");
    open_journal(&scene);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)scene.journal->head + 40;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(act(&scene, 0, 1, &problem) < 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(problem.text, ".journal: cannot be written"));
    assert_int_equal(fstat(scene.journal->file, &status), 0);
    assert_true(status.st_size <= scene.journal->head + 40);
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    char text[500] = "";
    assert_true(pread(scene.journal->file, text, sizeof(text) - 1, 0) == status.st_size);
    assert_int_equal(text[status.st_size - 1], '\n');
    end(&scene);
}

static void test_both_killed(void **state)
{
    struct problem problem = {""};
    struct scene scene;
    struct steer_restored restored;
    (void)state;

    begin(&scene, "cpus of app more\n");
    struct loop loop = start_loop(&scene);
    kill(loop.guardian, SIGKILL);
    kill_and_reap(loop.pid);
    assert_true(is_limited(&scene, scene.target));
    assert_int_equal(steer_journal_undo(&restored, &problem), 0);
    assert_int_equal(restored.count, 2);
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    loop = start_loop(&scene);
    kill(loop.guardian, SIGKILL);
    kill_and_reap(loop.pid);
    open_journal(&scene); /* the next start does it, too */
    assert_true(is_free(&scene, scene.target) && is_free(&scene, scene.child));
    end(&scene);
}

/* A journal from before the machine has started again: a cgroup of this name is another one. */
static void test_other_boot(void **state)
{
    static const char *const boots[] = {"\"boot\":\"another\",", ""};
    struct problem problem = {""};
    char text[500], weight[64], path[200];
    struct steer_restored restored;
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(boots); i++) {
        write_text("cpu.weight", "300", 0600);
        snprintf(text, sizeof(text),
                 "{\"policy\":\"p\",%s\"pid\":5,\"start\":5,\"groups\":[]}\n"
                 "{\"act\":0,\"file\":\"%s/cpu.weight\",\"value\":\"100\"}\n",
                 boots[i], folder);
        write_text("dpm-steer/5-5.journal", text, 0600);
        assert_int_equal(steer_journal_undo(&restored, &problem), 0);
        assert_int_equal(restored.count, i);
        read_text("cpu.weight", weight);
        assert_string_equal(weight, i == 0 ? "300" : "100");
        snprintf(path, sizeof(path), "%s/dpm-steer/5-5.journal", folder);
        assert_int_equal(access(path, F_OK), -1);
    }
}

/* It was killed while it wrote its journal anew; another one writes. */
static void test_unfinished(void **state)
{
    struct problem problem = {""};
    struct steer_restored restored;
    char path[200];
    (void)state;

    write_text("dpm-steer/5-5.journal.new", "{\"policy\":", 0600);
    snprintf(path, sizeof(path), "%s/dpm-steer/5-5.journal.new", folder);
    int file = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(file, LOCK_EX), 0);
    assert_int_equal(steer_journal_undo(&restored, &problem), 0);
    assert_int_equal(access(path, F_OK), 0);
    close(file);
    assert_int_equal(steer_journal_undo(&restored, &problem), 0);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_two_loops(void **state)
{
    struct problem problem = {""};
    struct steer_journal *journal = NULL;
    struct scene scene, other;
    struct steer_restored restored;
    (void)state;

    begin(&scene, "cpus of app more\n");
    begin(&other, "cpus of app more\n");
    struct loop loop = start_loop(&scene);
    assert_int_equal(
        steer_journal_begin(scene.policy, &scene.members, &journal, &restored, &problem), -EBUSY);
    assert_non_null(strstr(problem.text, "is steered by dpm["));
    assert_int_equal(steer_journal_undo(&restored, &problem), -EBUSY);
    assert_non_null(strstr(problem.text, "still steers"));
    open_journal(&other); /* others are none of its */
    kill_and_reap(loop.pid);
    assert_true(becomes_free(&scene));
    end(&other);
    end(&scene);
}

/* The loops of root are all in one folder, also those from a login. Here /run is one of our own: in that of the machine there may be what
 * a real loop has left. */
static void test_folder_of_root(void **state)
{
    int status;
    (void)state;

    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        struct problem problem = {""};
        struct steer_restored restored;
        setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("run", "/run", "tmpfs", 0, NULL) < 0)
            _exit(2); /* in a container, it is not allowed */
        bool done = steer_journal_undo(&restored, &problem) == 0;
        _exit(done && access("/run/dpm-steer/lock", F_OK) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What another loop would say if this policy began, while that of `running` runs. -EBUSY or 0. */
static int begin_second(const struct steer_policy *running, const char *session, const char *text,
                        const char *second_session, struct problem *problem)
{
    struct steer_journal *first, *second = NULL;
    struct steer_members none = {.session = session}, members = {.session = second_session};
    struct steer_policy *policy;
    struct steer_restored restored;

    assert_int_equal(steer_policy_parse("q", text, strlen(text), &policy, problem), 0);
    assert_int_equal(steer_journal_begin(running, &none, &first, &restored, problem), 0);
    pid_t pid = fork(); /* its journal is its own */
    if (pid == 0) {
        int result = steer_journal_begin(policy, &members, &second, &restored, problem);
        steer_journal_end(second, &restored, NULL);
        write_text("said", problem->text, 0600);
        _exit(result == 0 ? 0 : result == -EBUSY ? 1 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(steer_journal_end(first, &restored, problem), 0);
    steer_policy_free(policy);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1 ? -EBUSY : 0;
}

#define GROUPS    "group app is name no-such-program\ngoal requests/s of app\n"
#define ELSEWHERE "group app is name no-such-program on no-such-machine\ngoal requests/s of app\n"
#define OTHERS    "group app is name another-program\ngoal requests/s of app\n"

/* Processes that both would get do not run yet; a cgroup's weight is one for all processes in it; a folder has two names. */
static void test_two_policies(void **state)
{
    static const char text[] = GROUPS "weight of app up to 4 in /cg/web\n";
    struct problem problem = {""};
    struct steer_policy *policy;
    char said[64], slash[200];
    (void)state;

    assert_int_equal(steer_policy_parse("p", text, strlen(text), &policy, &problem), 0);
    assert_int_equal(begin_second(policy, NULL, GROUPS "cpus of app\n", NULL, &problem), -EBUSY);
    read_text("said", said);
    assert_int_equal(strncmp(said, "name no-such-program is steered by dpm[", 39), 0);
    assert_int_equal(begin_second(policy, NULL, OTHERS "cpus of app\n", NULL, &problem), 0);
    assert_int_equal(
        begin_second(policy, NULL, OTHERS "weight of app up to 2 in /cg/web\n", NULL, &problem),
        -EBUSY);
    read_text("said", said);
    assert_int_equal(strncmp(said, "/cg/web is steered by dpm[", 26), 0);
    snprintf(slash, sizeof(slash), "%s/./", folder);
    assert_int_equal(begin_second(policy, folder, OTHERS "cpus of app\n", slash, &problem), -EBUSY);
    assert_int_equal(begin_second(policy, folder, OTHERS "cpus of app\n", "/tmp", &problem), 0);
    assert_int_equal(begin_second(policy, "site", OTHERS "cpus of app\n", "site", &problem),
                     -EBUSY);
    assert_int_equal(begin_second(policy, "site", OTHERS "cpus of app\n", "site/3", &problem),
                     -EBUSY);
    assert_int_equal(begin_second(policy, "site/3", OTHERS "cpus of app\n", "site", &problem),
                     -EBUSY);
    assert_int_equal(begin_second(policy, "site/3", OTHERS "cpus of app\n", "site/4", &problem), 0);
    /* on this machine, and in a session, which may have it; not on another one, or in another session */
    assert_int_equal(begin_second(policy, folder, GROUPS "cpus of app\n", NULL, &problem), -EBUSY);
    assert_int_equal(begin_second(policy, NULL, GROUPS "cpus of app\n", folder, &problem), -EBUSY);
    assert_int_equal(begin_second(policy, NULL, ELSEWHERE "cpus of app\n", folder, &problem), 0);
    assert_int_equal(begin_second(policy, "site", GROUPS "cpus of app\n", "other", &problem), 0);
    steer_policy_free(policy);
}

/* ---- files that others may write ---- */

static void make_link(const char *to, const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(symlink(to, path), 0);
}

/* What "FOLDER/name" as a command of a policy is refused for; "": nothing. */
static const char *refused(const char *name)
{
    static struct problem problem;
    struct steer_policy *policy = NULL;
    char path[200], text[400];

    snprintf(path, sizeof(path), "%s/policy", folder);
    snprintf(text, sizeof(text),
             "group app is name x\ngoal requests/s of app\nworkers of app from 1 to 2 by "
             "%s/%s {}\n",
             folder, name);
    write_text("policy", text, 0600);
    int result = steer_policy_read(path, &policy, &problem);
    steer_policy_free(policy);
    return result < 0 ? problem.text : "";
}

/* FOLDER/w -> deploy/current/w, deploy/current -> ../site: who owns deploy can let `current` lead elsewhere. */
static void check_links(void)
{
    char deploy[200];

    snprintf(deploy, sizeof(deploy), "%s/deploy", folder);
    assert_int_equal(mkdir(deploy, 0755), 0);
    snprintf(deploy, sizeof(deploy), "%s/site", folder);
    assert_int_equal(mkdir(deploy, 0755), 0);
    snprintf(deploy, sizeof(deploy), "%s/deploy", folder);
    write_text("site/w", "#!/bin/sh\n", 0700);
    make_link("../site", "deploy/current");
    make_link("deploy/current/w", "w");
    make_link("loop", "loop");
    assert_string_equal(refused("w"), "");
    assert_non_null(strstr(refused("loop"), "/loop: Too many levels of symbolic links"));
    assert_int_equal(chmod(deploy, 0777), 0);
    assert_non_null(strstr(refused("w"), "/deploy: others may write it"));
    assert_int_equal(chmod(deploy, 0755), 0);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(deploy, 65534, 0), 0);
    assert_non_null(strstr(refused("w"), "/deploy: it belongs to another user (uid 65534)"));
    assert_int_equal(chown(deploy, 0, 0), 0);
    snprintf(deploy, sizeof(deploy), "%s/deploy/current", folder);
    assert_int_equal(lchown(deploy, 65534, 0), 0); /* who may remove it where the bit is sticky */
    assert_non_null(strstr(refused("w"), "it belongs to another user (uid 65534)"));
}

static void test_owners(void **state)
{
    struct steer_policy *policy = NULL;
    struct problem problem = {""};
    char path[200], text[400];
    struct steer_restored restored;
    (void)state;

    snprintf(path, sizeof(path), "%s/policy", folder);
    snprintf(text, sizeof(text),
             "group app is name x\ngoal requests/s of app\nworkers of app from 1 to 2 by "
             "%s/command {}\n",
             folder);
    write_text("policy", text, 0600);
    write_text("command", "#!/bin/sh\n", 0700);
    assert_int_equal(steer_policy_read(path, &policy, &problem), 0);
    steer_policy_free(policy);
    chmod(path, 0620);
    assert_int_equal(steer_policy_read(path, &policy, &problem), -EACCES);
    assert_non_null(strstr(problem.text, "/policy: others may write it: chmod go-w"));
    chmod(path, 0600);
    write_text("command", "#!/bin/sh\n", 0702);
    assert_int_equal(steer_policy_read(path, &policy, &problem), -EACCES);
    assert_non_null(strstr(problem.text, "/command: others may write it"));
    chmod(folder, 0770); /* the file could be another one by the time it runs */
    write_text("command", "#!/bin/sh\n", 0700);
    assert_int_equal(steer_policy_read(path, &policy, &problem), -EACCES);
    snprintf(text, sizeof(text), "%s: others may write it", folder);
    assert_non_null(strstr(problem.text, text));
    chmod(folder, 0700);
    check_links();
    write_text("dpm-steer/1-1.journal", "{}\n", 0644); /* is not passed over in silence */
    assert_int_equal(steer_journal_undo(&restored, &problem), -EACCES);
    assert_non_null(strstr(problem.text, "/1-1.journal: no journal of yours"));
    snprintf(path, sizeof(path), "%s/dpm-steer/1-1.journal", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/dpm-steer", folder);
    chmod(path, 0750);
    assert_int_equal(steer_journal_undo(&restored, &problem), -EACCES);
    assert_non_null(strstr(problem.text, "must be a folder of yours with mode 0700"));
    chmod(path, 0700);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpus),
        cmocka_unit_test(test_heirs),
        cmocka_unit_test(test_heir_since),
        cmocka_unit_test(test_heir_of_step),
        cmocka_unit_test(test_first_thread_ended),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_tend),
        cmocka_unit_test(test_tend_refused),
        cmocka_unit_test(test_above),
        cmocka_unit_test(test_nice),
        cmocka_unit_test(test_cgroup),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_no_way_back),
        cmocka_unit_test(test_spared),
        cmocka_unit_test(test_used_again),
        cmocka_unit_test(test_guardian),
        cmocka_unit_test(test_guardian_fails),
        cmocka_unit_test(test_guardian_of_new_file),
        cmocka_unit_test(test_removed),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_both_killed),
        cmocka_unit_test(test_other_boot),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_two_loops),
        cmocka_unit_test(test_two_policies),
        cmocka_unit_test(test_folder_of_root),
        cmocka_unit_test(test_owners),
    };
    char command[100];

    if (argc > 0 && strcmp(argv[0], "without-main") == 0)
        return end_first_thread();
    if (mkdtemp(folder) == NULL)
        return 1;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) == 0 ? result : 1;
}
