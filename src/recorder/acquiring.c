/* SPDX-License-Identifier: MIT */
/* acquiring.c: takes running processes into the metering. See acquiring.h. */
#include "recorder/acquiring.h"

#include "base/process.h"
#include "recorder/process_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const struct acquiring *acquiring, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct acquiring *acquiring, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    acquiring->say(line, acquiring->context);
}

/* ---- one process ---- */

/* Pids are used again; together with the start they are not. */
static uint64_t key_of(pid_t pid)
{
    const uint64_t key[] = {(uint64_t)pid, process_stat_number(pid, PROCESS_START)};

    return hash_bytes(0, key, sizeof(key));
}

static int take(struct acquiring *acquiring, pid_t pid)
{
    int result = acquiring->meter->acquire(acquiring->meter, pid, acquiring->problem);

    if (result > 0)
        acquiring->marked += result;
    acquiring->refused += acquiring->meter->refused;
    /* chosen by name or group, another user's process is left, and counted */
    if (result == -EPERM && acquiring->meter->refused > 0 &&
        !process_choice_has_pid(acquiring->choice, pid))
        result = 0;
    if (pid != 0 && result >= 0 && intern_add(&acquiring->taken, key_of(pid)) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    return result;
}

static int take_chosen(pid_t pid, void *context)
{
    struct acquiring *acquiring = context;

    if (intern_add(&acquiring->chosen, (uint64_t)pid) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    return take(acquiring, pid);
}

/* ---- descendants ---- */

/* Adds those that live now to the chosen processes. Returns how many were chosen before, or a negative errno. */
static int64_t add_descendants(struct acquiring *acquiring)
{
    struct process_tree tree = {0};
    uint32_t before = acquiring->chosen.count;
    int result = process_tree_read(&tree, acquiring->problem);

    if (result == 0 && process_tree_descendants(&tree, &acquiring->chosen) < 0)
        result = problem_set(acquiring->problem, -ENOMEM, "out of memory");
    process_tree_done(&tree);
    return result < 0 ? result : (int64_t)before;
}

static int take_descendants(struct acquiring *acquiring)
{
    int64_t first = add_descendants(acquiring);
    int result = first < 0 ? (int)first : 0;

    for (uint32_t i = (uint32_t)first; result >= 0 && i < acquiring->chosen.count; i++)
        result = take(acquiring, (pid_t)acquiring->chosen.keys[i]);
    return result;
}

#define NAMED_MOST 5

/* Names of processes: "sh[12], worker[13] ...". */
static void names_of(const uint64_t *pids, size_t count, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count && i < NAMED_MOST && length < size; i++) {
        char name[32];
        process_read((pid_t)pids[i], "comm", name, sizeof(name));
        name[strcspn(name, "\n")] = '\0';
        length += (size_t)snprintf(text + length, size - length, "%s%s[%" PRIu64 "]",
                                   i == 0 ? "" : ", ", name, pids[i]);
    }
    if (count > NAMED_MOST && length < size)
        snprintf(text + length, size - length, " ...");
}

/* What they create from now on is metered, but not what they have created. */
static void say_left_out(struct acquiring *acquiring)
{
    char names[NAMED_MOST * 64];
    int64_t first = acquiring->all || acquiring->descendants ? -1 : add_descendants(acquiring);

    if (first < 0 || first == acquiring->chosen.count)
        return;
    size_t count = acquiring->chosen.count - (size_t)first;
    names_of(acquiring->chosen.keys + first, count, names, sizeof(names));
    say(acquiring, "note: %zu %s not metered: %s (--descendants takes %s)", count,
        count == 1 ? "descendant of these processes is" : "descendants of these processes are",
        names, count == 1 ? "it" : "them");
}

/* ---- at the beginning ---- */

/* Each pass finds the processes that were created during the one before. The limit is for a process that forks faster
 * than the passes. */
#define MOST_PASSES 50

static int take_all(struct acquiring *acquiring, struct process_choice *choice)
{
    int result = 0;

    for (int pass = 0; pass < MOST_PASSES && result >= 0; pass++) {
        acquiring->marked = 0;
        acquiring->refused = 0;
        if (acquiring->all)
            result = take(acquiring, 0);
        else
            result = process_choice_find(choice, take_chosen, acquiring, acquiring->problem);
        if (result >= 0 && acquiring->descendants)
            result = take_descendants(acquiring);
        if (acquiring->marked == 0)
            break;
    }
    return result < 0 ? result : 0;
}

static int cannot_meter_any(uint32_t refused, struct problem *problem)
{
    if (refused > 0)
        return problem_set(
            problem, -EPERM,
            "cannot meter any of the chosen processes: they belong to other users, or "
            "have more rights than you; run dpm as root, e.g. with sudo");
    return problem_set(problem, -ESRCH,
                       "cannot meter any of the chosen processes: they have ended or are kernel "
                       "threads");
}

static void say_refused(const struct acquiring *acquiring)
{
    uint32_t refused = acquiring->refused;

    if (refused > 0)
        say(acquiring,
            "note: %u process%s of other users, or with more rights than you, %s not "
            "metered; run dpm as root to meter %s",
            refused, refused == 1 ? "" : "es", refused == 1 ? "is" : "are",
            refused == 1 ? "it" : "them");
}

/* They have no records yet, so the trace does not even mention them. */
static int leave_out(struct acquiring *acquiring)
{
    struct meter_interface *meter = acquiring->meter;
    const struct meter_change leave = {.leaves = true};
    int result = 0;

    for (size_t i = 0; result >= 0 && i < acquiring->left_out_count; i++)
        result = meter->change(meter, acquiring->left_out[i], &leave, acquiring->problem);
    return result < 0 ? result : 0;
}

int acquiring_begin(struct acquiring *acquiring, struct meter_interface *meter,
                    struct meter_begun *ret_begun, struct problem *problem)
{
    acquiring->meter = meter;
    acquiring->problem = problem;
    acquiring->last = clock_now(CLOCK_MONOTONIC);
    int result = take_all(acquiring, acquiring->choice);

    if (result == 0)
        result = leave_out(acquiring);
    if (result < 0)
        return result;
    bool misses = !acquiring->all && process_choice_misses(acquiring->choice, problem);
    if (meter->live(meter) == 0)
        return misses ? -ESRCH : cannot_meter_any(acquiring->refused, problem);
    if (misses)
        say(acquiring, "note: %s", problem->text);
    say_refused(acquiring);
    /* begins first: until then all that was marked is silent, and what is in progress meanwhile makes counts doubtful */
    result = meter->begin(meter, ret_begun, problem);
    if (result >= 0)
        say_left_out(acquiring);
    return result;
}

/* ---- later ---- */

#define LOOK_EVERY 1000000000ULL /* ns */

static int take_new(pid_t pid, void *context)
{
    struct acquiring *acquiring = context;

    if (intern_find(&acquiring->taken, key_of(pid)) >= 0)
        return 0;
    int before = acquiring->marked, result = take_chosen(pid, context);
    if (result >= 0 && acquiring->marked > before &&
        intern_add(&acquiring->fresh, (uint64_t)pid) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    return result;
}

static void say_fresh(const struct acquiring *acquiring)
{
    char name[64];

    for (uint32_t i = 0; i < acquiring->fresh.count; i++) {
        names_of(&acquiring->fresh.keys[i], 1, name, sizeof(name));
        say(acquiring, "metering one more process: %s", name);
    }
}

int acquiring_step(struct acquiring *acquiring, struct problem *problem)
{
    /* processes chosen by pid are there from the beginning on; later the same pid may be another process */
    struct process_choice words = *acquiring->choice;
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct meter_begun begun;

    if (acquiring->all || words.word_count == 0 || now - acquiring->last < LOOK_EVERY)
        return 0;
    acquiring->last = now;
    acquiring->problem = problem;
    acquiring->marked = 0;
    words.pid_count = 0;
    intern_done(&acquiring->chosen);
    intern_done(&acquiring->fresh);
    int result = process_choice_find(&words, take_new, acquiring, problem);
    if (result < 0 || acquiring->marked == 0)
        return result;
    result = take_all(acquiring, &words); /* what they have created meanwhile */
    if (result == 0)
        result = acquiring->meter->begin(acquiring->meter, &begun, problem);
    if (result == 0)
        say_fresh(acquiring);
    return result;
}

void acquiring_done(struct acquiring *acquiring)
{
    intern_done(&acquiring->chosen);
    intern_done(&acquiring->taken);
    intern_done(&acquiring->fresh);
}
