/* SPDX-License-Identifier: MIT */
/*
 * recording_thread.c: the thread that records. See agent_private.h.
 *
 *      thread   |lock, wait for records ...... step|      |lock, wait ...
 *      loop     recordings_lock ----------------> |serves|
 */
#include "agent/agent_private.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void *record(void *context)
{
    struct agent *agent = context;
    eventfd_t asked;

    pthread_mutex_lock(&agent->lock_of_recordings);
    while (!agent->stops) {
        while (agent->wanted > 0)
            pthread_cond_wait(&agent->given_back, &agent->lock_of_recordings);
        recordings_wait(agent, agent->asked);
        if (agent->wanted == 0)
            recordings_step(agent);
        (void)eventfd_read(agent->asked, &asked);
    }
    pthread_mutex_unlock(&agent->lock_of_recordings);
    return NULL;
}

void recordings_lock(struct agent *agent)
{
    agent->wanted++;
    eventfd_write(agent->asked, 1);
    pthread_mutex_lock(&agent->lock_of_recordings);
}

void recordings_unlock(struct agent *agent)
{
    agent->wanted--;
    pthread_cond_signal(&agent->given_back);
    pthread_mutex_unlock(&agent->lock_of_recordings);
}

int recording_thread_start(struct agent *agent, struct problem *problem)
{
    pthread_mutex_init(&agent->lock_of_recordings, NULL);
    pthread_cond_init(&agent->given_back, NULL);
    agent->asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (agent->asked < 0)
        return problem_set(problem, -errno, "no descriptor for a thread: %s", strerror(errno));
    int error = pthread_create(&agent->thread, NULL, record, agent);
    return error == 0 ? 0
                      : problem_set(problem, -error, "cannot start a thread: %s", strerror(error));
}

void recording_thread_stop(struct agent *agent)
{
    agent->stops = true;
    eventfd_write(agent->asked, 1);
    pthread_join(agent->thread, NULL);
    close(agent->asked);
}
