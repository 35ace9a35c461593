/* SPDX-License-Identifier: MIT */
/* hosts_copies.c: the filter of a session in a thread of the controller. See hosts_copies.h. */
#include "control/hosts_copies.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 100

struct hosts_copies {
    struct fabric *fabric; /* the thread's, as the filter */
    struct filter *filter;
    pthread_t thread;
    bool runs;

    pthread_mutex_t lock; /* of what follows */
    bool stop;
    struct { /* not told to the filter yet */
        char machine[FABRIC_NAME_MOST + 1], recording[FABRIC_NAME_MOST + 1];
    } * expected;
    size_t expected_count, expected_capacity;
    bool expects; /* the filter has been told of some: only the thread uses this */
    struct hosts_copies_state state;
};

/* ---- the thread ---- */

/* What may be better soon: the disk is full. */
static bool may_pass(int error)
{
    return error == -ENOSPC || error == -EDQUOT || error == -EIO || error == -ETIMEDOUT ||
           error == -ENOMEM;
}

/* Under the lock. */
static void take_expected(struct hosts_copies *copies)
{
    for (size_t i = 0; i < copies->expected_count; i++)
        filter_expect(copies->filter, copies->expected[i].machine, copies->expected[i].recording);
    copies->expects |= copies->expected_count > 0;
    copies->expected_count = 0;
}

static void sum_up(struct hosts_copies *copies)
{
    struct filter_copy copy;

    copies->state.bytes = 0;
    for (size_t i = 0; i < filter_count(copies->filter); i++) {
        filter_look(copies->filter, i, &copy);
        copies->state.bytes += copy.bytes;
        copies->state.full |= copy.full;
    }
}

/* END may come before packets that were given back: those of data. Without the server, nothing more can come. */
static bool has_all(struct hosts_copies *copies)
{
    struct problem problem;

    return filter_complete(copies->filter) &&
           (!copies->expects || filter_left(copies->filter, &problem) <= 0);
}

/* After a step. Returns whether to go on. */
static bool report(struct hosts_copies *copies, int result, const struct problem *problem)
{
    struct hosts_copies_state *state = &copies->state;

    pthread_mutex_lock(&copies->lock);
    take_expected(copies);
    pthread_mutex_unlock(&copies->lock);
    bool complete = has_all(copies); /* asks the server */
    pthread_mutex_lock(&copies->lock);
    sum_up(copies);
    state->pieces += result > 0 ? (uint64_t)result : 0;
    state->complete = complete;
    state->stopped = result < 0 && !may_pass(result);
    snprintf(state->problem, sizeof(state->problem), "%s", result < 0 ? problem->text : "");
    bool goes_on = !copies->stop && !state->stopped;
    pthread_mutex_unlock(&copies->lock);
    return goes_on;
}

static void *copy_all(void *argument)
{
    struct hosts_copies *copies = argument;
    struct problem problem;
    int result;

    do {
        result = filter_step(copies->filter, STEP_MS, &problem);
        if (result < 0 && may_pass(result))
            nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    } while (report(copies, result, &problem));
    return NULL;
}

/* ---- the controller ---- */

static int start_thread(struct hosts_copies *copies, struct problem *problem)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&copies->thread, NULL, copy_all, copies);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    copies->runs = error == 0;
    return error == 0 ? 0
                      : problem_set(problem, -error, "cannot start a thread: %s", strerror(error));
}

int hosts_copies_start(struct remote *remote, const char *folder,
                       const struct trace_copy_limits *limits, struct hosts_copies **ret_copies,
                       struct problem *problem)
{
    const struct filter_options options = {
        .folder = folder, .durable = "controller", .limits = *limits};
    struct hosts_copies *copies = calloc(1, sizeof(*copies));

    if (copies == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    pthread_mutex_init(&copies->lock, NULL);
    int result = remote_open_filter(remote, &copies->fabric, problem);
    if (result == 0)
        result = filter_new(copies->fabric, &options, &copies->filter, problem);
    if (result == 0)
        result = start_thread(copies, problem);
    if (result < 0) {
        hosts_copies_close(copies, NULL);
        return result;
    }
    *ret_copies = copies;
    return 0;
}

void hosts_copies_expect(struct hosts_copies *copies, const char *machine, const char *recording)
{
    pthread_mutex_lock(&copies->lock);
    if (array_reserve(&copies->expected, &copies->expected_capacity, copies->expected_count + 1,
                      sizeof(*copies->expected)) == 0) {
        size_t index = copies->expected_count++;
        snprintf(copies->expected[index].machine, sizeof(copies->expected[index].machine), "%s",
                 machine);
        snprintf(copies->expected[index].recording, sizeof(copies->expected[index].recording), "%s",
                 recording);
        copies->state.complete = false;
    }
    pthread_mutex_unlock(&copies->lock);
}

void hosts_copies_look(struct hosts_copies *copies, struct hosts_copies_state *ret_state)
{
    pthread_mutex_lock(&copies->lock);
    *ret_state = copies->state;
    ret_state->complete = copies->state.complete && copies->expected_count == 0;
    pthread_mutex_unlock(&copies->lock);
}

struct filter *hosts_copies_stop(struct hosts_copies *copies)
{
    pthread_mutex_lock(&copies->lock);
    copies->stop = true;
    pthread_mutex_unlock(&copies->lock);
    if (copies->runs)
        pthread_join(copies->thread, NULL);
    copies->runs = false;
    return copies->filter;
}

int hosts_copies_close(struct hosts_copies *copies, struct problem *problem)
{
    if (copies == NULL)
        return 0;
    hosts_copies_stop(copies);
    int result = filter_close(copies->filter, true, problem);
    fabric_close(copies->fabric);
    pthread_mutex_destroy(&copies->lock);
    free(copies->expected);
    free(copies);
    return result;
}
