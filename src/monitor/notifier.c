/* SPDX-License-Identifier: MIT */
/* notifier.c: queues of notifications. See notifier.h. */
#include "monitor/notifier.h"

#include "monitor/receiver.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct notifier {
    int epoll;
    struct receiver **receivers; /* they do not move: epoll knows them */
    size_t count, capacity;
    uint64_t next;
    void (*note)(void *context, const char *line); /* NULL: there is no listener */
    void *context;
};

int notifier_new(struct notifier **ret_notifier, struct problem *problem)
{
    struct notifier *notifier = calloc(1, sizeof(*notifier));

    if (notifier == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for notifications");
    notifier->next = UINT64_MAX;
    notifier->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (notifier->epoll < 0) {
        int error = -errno;
        free(notifier);
        return problem_set(problem, error, "notifications: epoll: %s", strerror(-error));
    }
    *ret_notifier = notifier;
    return 0;
}

void notifier_listen(struct notifier *notifier, void (*note)(void *context, const char *line),
                     void *context)
{
    notifier->note = note;
    notifier->context = context;
}

static void free_receiver(struct receiver *receiver)
{
    if (receiver == NULL)
        return;
    while (receiver->count > 0)
        receiver_take(receiver);
    if (receiver->view->command != NULL)
        receiver_command_done(receiver);
    else if (receiver->view->subject != NULL)
        receiver_subject_done(receiver);
    else
        receiver_tcp_done(receiver);
    free(receiver->lines);
    free(receiver);
}

void notifier_free(struct notifier *notifier)
{
    if (notifier == NULL)
        return;
    for (size_t i = 0; i < notifier->count; i++)
        free_receiver(notifier->receivers[i]);
    close(notifier->epoll);
    free(notifier->receivers);
    free(notifier);
}

/* ---- receivers ---- */

static struct receiver *new_receiver(struct notifier *notifier, const struct view *view)
{
    struct receiver *receiver = calloc(1, sizeof(*receiver));

    if (receiver == NULL)
        return NULL;
    *receiver = (struct receiver){.view = view,
                                  .flush = UINT64_MAX,
                                  .note = notifier->note,
                                  .context = notifier->context,
                                  .epoll = notifier->epoll,
                                  .descriptor = -1,
                                  .lines = calloc(NOTIFIER_QUEUE_MOST, sizeof(*receiver->lines))};
    view_receiver_text(view, receiver->name);
    receiver->counts.name = receiver->name;
    if (receiver->lines == NULL) {
        free(receiver);
        return NULL;
    }
    return receiver;
}

int notifier_receiver(struct notifier *notifier, const struct view *view, struct problem *problem)
{
    char name[VIEW_RECEIVER_SIZE];

    view_receiver_text(view, name);
    for (size_t i = 0; i < notifier->count; i++)
        if (strcmp(notifier->receivers[i]->name, name) == 0)
            return (int)i;
    struct receiver *receiver = array_reserve(&notifier->receivers, &notifier->capacity,
                                              notifier->count + 1, sizeof(struct receiver *)) < 0
                                    ? NULL
                                    : new_receiver(notifier, view);
    if (receiver == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for notifications");
    notifier->receivers[notifier->count] = receiver;
    return (int)notifier->count++;
}

void receiver_watch(const struct receiver *receiver, bool out)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (out ? EPOLLOUT : 0)};

    if (epoll_ctl(receiver->epoll, EPOLL_CTL_MOD, receiver->descriptor, &event) < 0 &&
        errno == ENOENT)
        epoll_ctl(receiver->epoll, EPOLL_CTL_ADD, receiver->descriptor, &event);
}

/* ---- queues ---- */

void receiver_take(struct receiver *receiver)
{
    free(receiver->lines[receiver->first].text);
    receiver->first = (receiver->first + 1) % NOTIFIER_QUEUE_MOST;
    receiver->count--;
    receiver->written = 0;
    if (receiver->count == 0)
        receiver->flush = UINT64_MAX;
}

static void count_sent(struct monitor_notified *counts, uint64_t late)
{
    counts->sent++;
    counts->late += late > 0;
    if (late > counts->latest)
        counts->latest = late;
}

/* The first line will not be sent. */
static void drop_first(struct receiver *receiver)
{
    struct monitor_notified *of = receiver->lines[receiver->first].of;

    receiver->counts.dropped++;
    if (of != NULL)
        of->dropped++;
    receiver_take(receiver);
}

/* The time is read now: other receivers, or the start of a command, may have taken long. */
void receiver_sent(struct receiver *receiver)
{
    const struct receiver_line *line = &receiver->lines[receiver->first];
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    uint64_t late = now > line->limit ? now - line->limit : 0;

    count_sent(&receiver->counts, late);
    if (line->of != NULL)
        count_sent(line->of, late);
    receiver->latest = now;
    receiver->away = false;
    receiver_take(receiver);
}

void receiver_failed(struct receiver *receiver, const char *why, uint64_t now)
{
    struct monitor_notified *of = receiver->count > 0 ? receiver->lines[receiver->first].of : NULL;
    char line[VIEW_RECEIVER_SIZE + 400];

    receiver->counts.failed++;
    if (of != NULL)
        of->failed++;
    receiver->retry = now + RECEIVER_RETRY;
    snprintf(line, sizeof(line), "%s: %s; trying again", receiver->name, why);
    if (!receiver->away && receiver->note != NULL)
        receiver->note(receiver->context, line);
    receiver->away = true;
}

/* Whether nothing has left, or waits to leave, within the time that the line may wait. */
static bool may_leave_at_once(const struct receiver *receiver, uint64_t due)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    return receiver->count == 0 &&
           (receiver->latest == 0 || due <= now || now - receiver->latest >= due - now);
}

int notifier_notify(struct notifier *notifier, int index, const char *text, uint64_t due,
                    uint64_t limit, struct monitor_notified *of)
{
    struct receiver *receiver = notifier->receivers[index];
    struct receiver_line line = {.limit = limit, .size = strlen(text) + 1, .of = of};

    if (may_leave_at_once(receiver, due))
        due = 0;
    if ((line.text = malloc(line.size + 1)) == NULL) {
        receiver->counts.dropped++;
        if (of != NULL)
            of->dropped++;
        return -ENOMEM;
    }
    snprintf(line.text, line.size + 1, "%s\n", text);
    if (receiver->count == NOTIFIER_QUEUE_MOST) {
        /* half of a line may have been sent: the rest of it is not lost silently, since the connection ends, too */
        if (receiver->written > 0)
            receiver_tcp_close(receiver);
        drop_first(receiver);
    }
    receiver->lines[(receiver->first + receiver->count++) % NOTIFIER_QUEUE_MOST] = line;
    receiver->counts.queued++;
    if (of != NULL)
        of->queued++;
    if (due < receiver->flush)
        receiver->flush = due;
    notifier->next = 0; /* begins to connect */
    return 0;
}

int notifier_descriptor(const struct notifier *notifier)
{
    return notifier->epoll;
}

uint64_t notifier_next(const struct notifier *notifier)
{
    return notifier->next;
}

void notifier_work(struct notifier *notifier, uint64_t now)
{
    notifier->next = UINT64_MAX;
    for (size_t i = 0; i < notifier->count; i++) {
        struct receiver *receiver = notifier->receivers[i];
        uint64_t next = receiver->view->command != NULL   ? receiver_command_work(receiver, now)
                        : receiver->view->subject != NULL ? receiver_subject_work(receiver, now)
                                                          : receiver_tcp_work(receiver, now);
        if (next < notifier->next)
            notifier->next = next;
    }
}

static bool is_waiting(const struct notifier *notifier)
{
    for (size_t i = 0; i < notifier->count; i++)
        if (notifier->receivers[i]->count > 0)
            return true;
    return false;
}

void notifier_finish(struct notifier *notifier, uint64_t most)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC), end = now + most;

    for (size_t i = 0; i < notifier->count; i++)
        if (notifier->receivers[i]->count > 0)
            notifier->receivers[i]->flush = now;
    for (; is_waiting(notifier) && now < end; now = clock_now(CLOCK_MONOTONIC)) {
        notifier_work(notifier, now);
        struct pollfd ready = {.fd = notifier->epoll, .events = POLLIN};
        uint64_t until = notifier->next < end ? notifier->next : end;
        if (is_waiting(notifier))
            poll(&ready, 1, poll_timeout(until, now));
    }
    for (size_t i = 0; i < notifier->count; i++)
        while (notifier->receivers[i]->count > 0)
            drop_first(notifier->receivers[i]);
}

bool notifier_look(const struct notifier *notifier, size_t receiver,
                   struct monitor_notified *ret_counts)
{
    if (receiver >= notifier->count)
        return false;
    *ret_counts = notifier->receivers[receiver]->counts;
    ret_counts->waiting = notifier->receivers[receiver]->count;
    return true;
}
