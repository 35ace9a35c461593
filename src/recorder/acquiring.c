/* SPDX-License-Identifier: MIT */
/* acquiring.c: takes running processes into the metering. See acquiring.h. */
#include "recorder/acquiring.h"

#include "base/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    if (result > 0 && intern_add(&acquiring->metered, (uint64_t)pid) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    acquiring->refused += acquiring->meter->refused;
    /* chosen by name or group, another user's process is left, and counted */
    if (result == -EPERM && acquiring->meter->refused > 0 &&
        !process_choice_has_pid(acquiring->choice, pid))
        result = 0;
    uint32_t known = acquiring->taken.count;
    if (pid != 0 && result >= 0 && intern_add(&acquiring->taken, key_of(pid)) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    if (acquiring->taken.count > known)
        acquiring->left += acquiring->meter->refused;
    return result;
}

static int take_chosen(pid_t pid, void *context)
{
    struct acquiring *acquiring = context;

    if (intern_find(&acquiring->own, (uint64_t)pid) >= 0) {
        acquiring->spared = true;
        /* not to be looked at again later */
        return intern_add(&acquiring->taken, key_of(pid)) < 0
                   ? problem_set(acquiring->problem, -ENOMEM, "out of memory")
                   : 0;
    }
    if (intern_add(&acquiring->chosen, (uint64_t)pid) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    return take(acquiring, pid);
}

/* ---- descendants ---- */

/* Which processes there are now, and which of them are DPM's own. */
static int look(struct acquiring *acquiring)
{
    int result = process_tree_read(&acquiring->tree, acquiring->problem);

    intern_done(&acquiring->own);
    if (result == 0 && process_tree_own(&acquiring->tree, acquiring->front, &acquiring->own) < 0)
        result = problem_set(acquiring->problem, -ENOMEM, "out of memory");
    acquiring->looked = result == 0;
    return result;
}

static int take_descendants(struct acquiring *acquiring)
{
    int result = process_tree_below(&acquiring->tree, &acquiring->chosen, acquiring->below,
                                    &acquiring->own, &acquiring->more);

    if (result < 0)
        return problem_set(acquiring->problem, result, "out of memory");
    for (uint32_t i = 0; result >= 0 && i < acquiring->more.count; i++)
        result = take(acquiring, (pid_t)acquiring->more.keys[i]);
    return result;
}

#define NAMED_MOST 5

/* Names of processes: "sh[12], worker[13] ...". */
static void names_of(const uint64_t *pids, size_t count, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count && i < NAMED_MOST && length < size; i++) {
        char name[PROCESS_SHOWN_SIZE];
        process_shown((pid_t)pids[i], name);
        length += (size_t)snprintf(text + length, size - length, "%s%s", i == 0 ? "" : ", ", name);
    }
    if (count > NAMED_MOST && length < size)
        snprintf(text + length, size - length, " ...");
}

/* " and its 4 children": which descendants of a chosen process were taken without being chosen. "": none. */
static void name_more(const struct acquiring *acquiring, pid_t pid, char text[64])
{
    size_t count = 0, children = 0;

    for (uint32_t i = 0; i < acquiring->more.count; i++) {
        pid_t more = (pid_t)acquiring->more.keys[i];
        if (intern_find(&acquiring->metered, (uint64_t)more) < 0)
            continue;
        if (process_tree_ancestor(&acquiring->tree, more, &acquiring->chosen) != pid)
            continue;
        count++;
        children += process_tree_is_child(&acquiring->tree, more, pid);
    }
    text[0] = '\0';
    if (count == 1)
        snprintf(text, 64, " and its %s", children == 1 ? "child" : "descendant");
    if (count > 1)
        snprintf(text, 64, " and its %zu %s", count,
                 children == count ? "children" : "descendants");
}

#define CHOSEN_NAMED 3

/* Who gave a pid knows what it is; of a name or a group, what was found is said. */
void acquiring_text(const struct acquiring *acquiring, char text[ACQUIRED_TEXT_SIZE])
{
    size_t length = 0, named = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < acquiring->chosen.count; i++) {
        char name[64], more[64];
        pid_t pid = (pid_t)acquiring->chosen.keys[i];
        if (intern_find(&acquiring->metered, (uint64_t)pid) < 0)
            continue;
        name_more(acquiring, pid, more);
        if (more[0] == '\0' && process_choice_has_pid(acquiring->choice, pid))
            continue;
        if (named++ == CHOSEN_NAMED) {
            snprintf(text + length, ACQUIRED_TEXT_SIZE - length, " ...");
            return;
        }
        names_of(&acquiring->chosen.keys[i], 1, name, sizeof(name));
        length += (size_t)snprintf(text + length, ACQUIRED_TEXT_SIZE - length, "%s%s%s",
                                   length == 0 ? "" : ", ", name, more);
    }
}

static int add_all(struct intern *pids, const struct intern *more)
{
    for (uint32_t i = 0; i < more->count; i++)
        if (intern_add(pids, more->keys[i]) < 0)
            return -ENOMEM;
    return 0;
}

/* What they create from now on is metered, but not what they have created. */
static void say_left_out(const struct acquiring *acquiring)
{
    struct intern taken = {0}, left = {0};
    char names[NAMED_MOST * 64];
    bool several;

    if (acquiring->all || acquiring->below == BELOW_ALL ||
        add_all(&taken, &acquiring->chosen) < 0 || add_all(&taken, &acquiring->more) < 0 ||
        process_tree_below(&acquiring->tree, &taken, BELOW_ALL, &acquiring->own, &left) < 0 ||
        left.count == 0)
        goto done;
    several = left.count > 1;
    names_of(left.keys, left.count, names, sizeof(names));
    say(acquiring, "note: %u %s not metered: %s (--descendants takes %s)", left.count,
        several ? "descendants of these processes are" : "descendant of these processes is", names,
        several ? "them" : "it");
done:
    intern_done(&taken);
    intern_done(&left);
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
        result = look(acquiring);
        if (result >= 0 && acquiring->all)
            result = take(acquiring, 0);
        else if (result >= 0)
            result = process_choice_find(choice, take_chosen, acquiring, acquiring->problem);
        if (result >= 0)
            result = take_descendants(acquiring);
        if (acquiring->marked == 0)
            break;
    }
    return result < 0 ? result : 0;
}

static int cannot_meter_any(const struct acquiring *acquiring, struct problem *problem)
{
    const struct process_choice *choice = acquiring->choice;
    bool one = !acquiring->all && choice->word_count == 0 && choice->pid_count == 1;
    char which[40] = "any of the chosen processes";

    if (one)
        snprintf(which, sizeof(which), "process %d", choice->pids[0]);
    if (acquiring->spared)
        return problem_set(problem, -ESRCH,
                           "cannot meter %s: %s DPM's own, which this recording needs", which,
                           one ? "it is" : "they are");
    if (acquiring->refused > 0)
        return problem_set(
            problem, -EPERM,
            "cannot meter any of the chosen processes: they belong to other users, or "
            "have more rights than you; run dpm as root, e.g. with sudo");
    return problem_set(problem, -ESRCH, "cannot meter %s: %s", which,
                       one ? "it has ended or is a kernel thread"
                           : "they have ended or are kernel threads");
}

static void say_refused(const struct acquiring *acquiring, uint32_t refused)
{
    if (refused > 0)
        say(acquiring,
            "note: %u process%s of other users, or with more rights than you, %s not "
            "metered; run dpm as root to meter %s",
            refused, refused == 1 ? "" : "es", refused == 1 ? "is" : "are",
            refused == 1 ? "it" : "them");
}

/* Those chosen by name or group are not missed. */
static void say_spared(const struct acquiring *acquiring)
{
    const struct process_choice *choice = acquiring->choice;

    for (size_t i = 0; i < choice->pid_count; i++)
        if (intern_find(&acquiring->own, (uint64_t)choice->pids[i]) >= 0)
            say(acquiring, "note: process %d is DPM's own, and not metered", choice->pids[i]);
}

/* They have no records yet, so the trace does not even mention them. */
static int leave_out(struct acquiring *acquiring)
{
    struct meter_interface *meter = acquiring->meter;
    const struct meter_change leave = {.leaves = true};
    int result = 0;

    for (uint32_t i = 0; acquiring->all && result >= 0 && i < acquiring->own.count; i++) {
        result = meter->change(meter, (pid_t)acquiring->own.keys[i], &leave, acquiring->problem);
        result = result == -ESRCH ? 0 : result; /* it has ended */
    }
    return result < 0 ? result : 0;
}

#define MOST_LOOKS 10

/* Whether some of the choice has no process; `problem` says which. What was found may have ended before it was metered: another
 * look finds its successors, or that there are none. */
static int take_those_that_live(struct acquiring *acquiring, bool *ret_misses,
                                struct problem *problem)
{
    int result = 0;

    *ret_misses = false;
    for (int look = 0; look < MOST_LOOKS && result == 0; look++) {
        for (size_t i = 0; i < acquiring->choice->word_count; i++)
            acquiring->choice->words[i].fits = false;
        result = take_all(acquiring, acquiring->choice);
        *ret_misses =
            result == 0 && !acquiring->all && process_choice_misses(acquiring->choice, problem);
        if (acquiring->all || acquiring->choice->word_count == 0 || *ret_misses ||
            acquiring->refused > 0 || acquiring->meter->live(acquiring->meter) > 0)
            break;
    }
    return result;
}

int acquiring_begin(struct acquiring *acquiring, struct meter_interface *meter,
                    struct meter_begun *ret_begun, struct problem *problem)
{
    bool misses;

    acquiring->meter = meter;
    acquiring->problem = problem;
    acquiring->last = clock_now(CLOCK_MONOTONIC);
    int result = take_those_that_live(acquiring, &misses, problem);
    if (result == 0)
        result = leave_out(acquiring);
    if (result < 0)
        return result;
    if (meter->live(meter) == 0 && !(acquiring->waits && misses && acquiring->refused == 0))
        return misses ? -ESRCH : cannot_meter_any(acquiring, problem);
    if (misses && meter->live(meter) > 0)
        say(acquiring, "note: %s", problem->text);
    say_refused(acquiring, acquiring->refused);
    say_spared(acquiring);
    /* begins first: until then all that was marked is silent, and what is in progress meanwhile makes counts doubtful */
    result = meter->begin(meter, ret_begun, problem);
    ret_begun->time = clock_now(CLOCK_MONOTONIC);
    if (result >= 0)
        say_left_out(acquiring);
    return result;
}

void acquiring_since(struct meter_begun *begun, char text[SINCE_TEXT_SIZE])
{
    uint64_t wall = begun->time + clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC);
    uint64_t rest = wall % 1000000, more = rest == 0 ? 0 : 1000000 - rest;
    time_t second = (time_t)((wall + more) / 1000000000);
    char clock[sizeof("14:03:07")];
    struct tm local;

    begun->time += more;
    localtime_r(&second, &local);
    strftime(clock, sizeof(clock), "%H:%M:%S", &local);
    snprintf(text, SINCE_TEXT_SIZE, "%s.%03u", clock, (unsigned)((wall + more) / 1000000 % 1000));
}

/* ---- later ---- */

#define LOOK_EVERY 1000000000ULL /* ns */

static int take_new(pid_t pid, void *context)
{
    struct acquiring *acquiring = context;

    if (intern_find(&acquiring->taken, key_of(pid)) >= 0)
        return 0;
    int before = acquiring->marked, result = acquiring->looked ? 0 : look(acquiring);
    if (result == 0)
        result = take_chosen(pid, context);
    if (result >= 0 && acquiring->marked > before &&
        intern_add(&acquiring->fresh, (uint64_t)pid) < 0)
        return problem_set(acquiring->problem, -ENOMEM, "out of memory");
    return result;
}

static void say_fresh(const struct acquiring *acquiring)
{
    char name[64], more[64];

    for (uint32_t i = 0; i < acquiring->fresh.count; i++) {
        names_of(&acquiring->fresh.keys[i], 1, name, sizeof(name));
        name_more(acquiring, (pid_t)acquiring->fresh.keys[i], more);
        say(acquiring, "metering one more process: %s%s", name, more);
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
    acquiring->left = 0;
    acquiring->looked = false;
    words.pid_count = 0;
    intern_done(&acquiring->chosen);
    intern_done(&acquiring->more);
    intern_done(&acquiring->metered);
    intern_done(&acquiring->fresh);
    int result = process_choice_find(&words, take_new, acquiring, problem);
    bool begins = acquiring->marked > 0;
    if (result == 0 && begins)
        result = take_all(acquiring, &words); /* what they have created meanwhile */
    if (result == 0 && begins)
        result = acquiring->meter->begin(acquiring->meter, &begun, problem);
    if (result == 0 && begins)
        say_fresh(acquiring);
    say_refused(acquiring, acquiring->left);
    return result;
}

void acquiring_done(struct acquiring *acquiring)
{
    process_tree_done(&acquiring->tree);
    intern_done(&acquiring->chosen);
    intern_done(&acquiring->more);
    intern_done(&acquiring->metered);
    intern_done(&acquiring->own);
    intern_done(&acquiring->taken);
    intern_done(&acquiring->fresh);
}
