/* SPDX-License-Identifier: MIT */
/* process_tree_test.c: which processes are masters, whose descendants are taken, and which are DPM's own: decided on tables of
 * processes that are written down here. And the lines about words that choose no process. */
#include "recorder/process_choice.h"
#include "recorder/process_tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A machine with a web server, a database, two sessions, and DPM at work. Files are letters: the same program, the same file. */
enum { DPM = 'd' };
static struct tree_process table[] = {
    {1, 0, {8, 'i'}, "systemd", "systemd"},
    {50, 1, {8, 'i'}, "systemd", "systemd"}, /* of a user */
    /* web server */
    {100, 1, {8, 'n'}, "nginx", "nginx"},
    {101, 100, {8, 'n'}, "nginx", "nginx"},
    {102, 100, {8, 'n'}, "nginx", "nginx"},
    {103, 100, {8, 'm'}, "nginx", "nginx"},     /* a new version, not replaced yet */
    {104, 103, {8, 'm'}, "nginx", "nginx"},     /* ... its worker */
    {105, 102, {8, 'c'}, "convert", "convert"}, /* a worker runs another program */
    /* database */
    {200, 50, {8, 'p'}, "postgres", "postgres"},
    {201, 200, {8, 'p'}, "postgres", "checkpointer"},
    {202, 200, {8, 'p'}, "postgres", "postgres"},
    /* one process alone, and one that runs another program */
    {300, 1, {8, 'r'}, "redis-server", "redis-server"},
    {301, 1, {8, 'a'}, "apache", "apache"},
    {302, 301, {8, 's'}, "rotatelogs", "rotatelogs"},
    /* the same numbers of files on different disks are different programs */
    {310, 1, {8, 'x'}, "x", "x"},
    {311, 310, {9, 'x'}, "x", "x"},
    /* what may not be seen */
    {320, 1, {0, 0}, "", "hidden"},
    {321, 320, {0, 0}, "", "hidden"},
    /* a session, with a shell and its subshell */
    {400, 1, {8, 'h'}, "sshd", "sshd"},
    {401, 400, {8, 'h'}, "sshd", "sshd"},
    {402, 401, {8, 'b'}, "bash", "bash"},
    {403, 402, {8, 'b'}, "bash", "bash"},
    {404, 403, {8, 'l'}, "sleep", "sleep"},
    {405, 402, {8, DPM}, "dpm", "dpm"}, /* controls a session of several machines */
    {406, 405, {8, 'e'}, "ssh", "ssh"},
    {407, 402, {8, 'e'}, "ssh", "ssh"}, /* the user's */
    /* a session's server */
    {500, 1, {8, DPM}, "dpm", "dpm-supervisor"},
    {501, 500, {8, 'v'}, "nats-server", "nats-server"},
    {510, 1, {8, 'v'}, "nats-server", "nats-server"}, /* not ours */
    /* the remote shell in which our agent's front runs */
    {601, 400, {8, 'h'}, "sshd", "sshd"},
    {602, 601, {8, 'b'}, "bash", "bash"},
    {603, 602, {8, DPM}, "dpm", "dpm"},
};
#define FRONT 603
static const struct process_tree tree = {
    .list = table, .count = ARRAY_SIZE(table), .self = 700, .file = {8, DPM}};

/* The pids of a set, ascending: "101 102". */
static const char *words_of(const struct intern *pids)
{
    static char text[512];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (intern_find(pids, (uint64_t)table[i].pid) >= 0)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%d",
                                       length == 0 ? "" : " ", table[i].pid);
    return text;
}

/* What is taken besides these pids, which end with 0. */
static const char *below(enum process_below which, const pid_t *pids)
{
    static char text[512];
    struct intern chosen = {0}, own = {0}, more = {0};

    for (; *pids != 0; pids++)
        assert_true(intern_add(&chosen, (uint64_t)*pids) >= 0);
    assert_int_equal(process_tree_own(&tree, FRONT, &own), 0);
    assert_int_equal(process_tree_below(&tree, &chosen, which, &own, &more), 0);
    snprintf(text, sizeof(text), "%s", words_of(&more));
    intern_done(&chosen);
    intern_done(&own);
    intern_done(&more);
    return text;
}
#define BELOW(which, ...) below(which, (const pid_t[]){__VA_ARGS__, 0})

static void masters(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        pid_t pid = table[i].pid;
        bool expected = pid == 100 || pid == 103 || pid == 200;
        if (process_tree_is_master(&tree, pid) != expected)
            fail_msg("%s[%d] should%s be a master", table[i].program, pid, expected ? "" : " not");
    }
    assert_false(process_tree_is_master(&tree, 99)); /* it has ended */
}

/* In a container process 1 may be a server; what else is below it others have started. */
static void process_1_is_no_master(void **unused)
{
    struct tree_process list[] = {{1, 0, {8, 'n'}, "nginx", "nginx"},
                                  {2, 1, {8, 'n'}, "nginx", "nginx"}};
    const struct process_tree container = {.list = list, .count = 2};

    (void)unused;
    assert_false(process_tree_is_master(&container, 1));
    list[0].pid = list[1].parent = 3;
    list[1].pid = 4;
    assert_true(process_tree_is_master(&container, 3));
}

static void programs_that_run_themselves_for_others(void **unused)
{
    static const char *const programs[] = {
        "sh",      "dash",   "bash",         "zsh",  "busybox", "tmux", "sudo",  "su",
        "systemd", "screen", "sshd-session", "init", "cron",    "fish", "login", "dropbear"};
    struct tree_process list[] = {{10, 5, {8, 'x'}, "", ""}, {11, 10, {8, 'x'}, "", ""}};
    const struct process_tree two = {.list = list, .count = 2};

    (void)unused;
    assert_true(process_tree_is_master(&two, 10));
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        snprintf(list[0].program, sizeof(list[0].program), "%s", programs[i]);
        if (process_tree_is_master(&two, 10))
            fail_msg("%s should not be a master", programs[i]);
    }
}

static void all_below_masters(void **unused)
{
    (void)unused;
    assert_string_equal(BELOW(BELOW_MASTERS, 100), "101 102 103 104 105");
    assert_string_equal(BELOW(BELOW_MASTERS, 200), "201 202");
    assert_string_equal(BELOW(BELOW_MASTERS, 100, 200), "101 102 103 104 105 201 202");
    /* what was chosen is not added */
    assert_string_equal(BELOW(BELOW_MASTERS, 100, 102, 103, 105), "101 104");
    /* not a worker's, without its master; nothing of those that are no masters */
    assert_string_equal(BELOW(BELOW_MASTERS, 101, 102), "");
    assert_string_equal(BELOW(BELOW_MASTERS, 300, 301, 310, 320), "");
    assert_string_equal(BELOW(BELOW_MASTERS, 1), "");
    assert_string_equal(BELOW(BELOW_MASTERS, 50, 400, 402), "");
    assert_string_equal(BELOW(BELOW_MASTERS, 99), "");
}

static void none_below_with_only(void **unused)
{
    (void)unused;
    assert_string_equal(BELOW(BELOW_NONE, 100, 200, 402), "");
}

/* Also those of a shell, but never the dpm in it, its remote shells, and the one that our agent was started from. */
static void all_below_any(void **unused)
{
    (void)unused;
    assert_string_equal(BELOW(BELOW_ALL, 402), "403 404 407");
    assert_string_equal(BELOW(BELOW_ALL, 400), "401 402 403 404 407");
    assert_string_equal(BELOW(BELOW_ALL, 301, 200), "201 202 302");
    assert_string_equal(BELOW(BELOW_ALL, 500), "");
    assert_string_equal(
        BELOW(BELOW_ALL, 1),
        "50 100 101 102 103 104 105 200 201 202 300 301 302 310 311 320 321 400 401 "
        "402 403 404 407 510");
}

static void own_processes(void **unused)
{
    struct intern own = {0};

    (void)unused;
    assert_int_equal(process_tree_own(&tree, 0, &own), 0);
    assert_string_equal(words_of(&own), "406 500 501");
    intern_done(&own);
    /* what accepts remote shells serves others, too */
    assert_int_equal(process_tree_own(&tree, FRONT, &own), 0);
    assert_string_equal(words_of(&own), "406 500 501 601 602 603");
    intern_done(&own);
    assert_int_equal(process_tree_own(&tree, 99, &own), 0); /* it has ended */
    assert_string_equal(words_of(&own), "406 500 501");
    intern_done(&own);
}

/* A remote shell on the same machine (`--rsh`): what started that dpm is the user's. */
static void own_up_to_the_controller(void **unused)
{
    struct tree_process list[] = {
        {10, 5, {8, 'b'}, "bash", "bash"},  {11, 10, {8, DPM}, "dpm", "dpm"},
        {12, 11, {8, 's'}, "sh", "sh"},     {13, 12, {8, DPM}, "dpm", "dpm"},
        {14, 10, {8, 'n'}, "node", "node"},
    };
    const struct process_tree here = {.list = list, .count = 5, .self = 20, .file = {8, DPM}};
    struct intern own = {0};

    (void)unused;
    assert_int_equal(process_tree_own(&here, 13, &own), 0);
    assert_int_equal(own.count, 3);
    for (uint64_t pid = 11; pid <= 13; pid++)
        assert_true(intern_find(&own, pid) >= 0);
    intern_done(&own);
}

static void ancestors(void **unused)
{
    struct intern set = {0};

    (void)unused;
    assert_int_equal(process_tree_ancestor(&tree, 104, &set), 0);
    assert_true(intern_add(&set, 100) >= 0 && intern_add(&set, 104) >= 0);
    assert_int_equal(process_tree_ancestor(&tree, 104, &set), 100);
    assert_int_equal(process_tree_ancestor(&tree, 101, &set), 100);
    assert_int_equal(process_tree_ancestor(&tree, 100, &set), 0);
    assert_true(intern_add(&set, 103) >= 0);
    assert_int_equal(process_tree_ancestor(&tree, 104, &set), 103);
    assert_int_equal(process_tree_ancestor(&tree, 99, &set), 0);
    intern_done(&set);
    assert_true(process_tree_is_child(&tree, 104, 103));
    assert_false(process_tree_is_child(&tree, 104, 100));
    assert_false(process_tree_is_child(&tree, 99, 0));
}

/* /proc is read while pids are used again: parents may form a circle. */
static void a_circle_ends(void **unused)
{
    struct tree_process list[] = {{10, 11, {8, 'x'}, "x", "x"}, {11, 10, {8, 'x'}, "x", "x"}};
    const struct process_tree circle = {.list = list, .count = 2, .file = {8, DPM}};
    struct intern none = {0}, one = {0}, own = {0}, more = {0};

    (void)unused;
    assert_int_equal(process_tree_ancestor(&circle, 10, &none), 0);
    assert_int_equal(process_tree_own(&circle, 10, &own), 0);
    assert_int_equal(own.count, 2);
    assert_true(intern_add(&one, 10) >= 0);
    assert_int_equal(process_tree_below(&circle, &one, BELOW_ALL, &none, &more), 0);
    assert_int_equal(more.count, 1);
    intern_done(&one);
    intern_done(&own);
    intern_done(&more);
}

static void read_from_proc(void **unused)
{
    struct process_tree now = {0};
    struct problem problem;
    pid_t before = 0;

    (void)unused;
    assert_int_equal(process_tree_read(&now, &problem), 0);
    assert_int_equal(now.self, getpid());
    assert_true(now.file.inode != 0);
    for (size_t i = 0; i < now.count; i++) {
        assert_true(now.list[i].pid > before);
        assert_int_not_equal(now.list[i].pid, now.self);
        before = now.list[i].pid;
    }
    assert_true(now.count > 0);
    process_tree_done(&now);
}

/* ---- what is chosen ---- */

static void words_that_no_process_has(void **unused)
{
    struct process_choice choice = {0};
    struct problem problem;

    (void)unused;
    assert_int_equal(process_choice_name(&choice, "no-such-a", &problem), 0);
    assert_int_equal(process_choice_name(&choice, "no-such-b", &problem), 0);
    assert_true(process_choice_misses(&choice, &problem));
    assert_string_equal(problem.text, "no process is named no-such-a or no-such-b");
    assert_int_equal(process_choice_cgroup(&choice, "/no-such", &problem), 0);
    assert_int_equal(process_choice_unit(&choice, "no-such-unit", &problem), 0);
    assert_true(process_choice_misses(&choice, &problem));
    assert_string_equal(problem.text,
                        "no process is named no-such-a or no-such-b, none is in the cgroup "
                        "/no-such, none belongs to the unit no-such-unit.service");
    process_choice_done(&choice);
}

static void a_name_is_not_a_pid(void **unused)
{
    struct process_choice choice = {0};
    struct problem problem;

    (void)unused;
    assert_int_equal(process_choice_pid(&choice, "nginx", &problem), -EINVAL);
    assert_string_equal(problem.text,
                        "'nginx' is not a process id; if it is a name, use --name nginx");
    process_choice_done(&choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masters),
        cmocka_unit_test(process_1_is_no_master),
        cmocka_unit_test(programs_that_run_themselves_for_others),
        cmocka_unit_test(all_below_masters),
        cmocka_unit_test(none_below_with_only),
        cmocka_unit_test(all_below_any),
        cmocka_unit_test(own_processes),
        cmocka_unit_test(own_up_to_the_controller),
        cmocka_unit_test(ancestors),
        cmocka_unit_test(a_circle_ends),
        cmocka_unit_test(read_from_proc),
        cmocka_unit_test(words_that_no_process_has),
        cmocka_unit_test(a_name_is_not_a_pid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
