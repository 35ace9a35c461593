/* SPDX-License-Identifier: MIT */
/* service_sender.c: summaries on their way to a server of the site. See service.h. */
#include "command/service/service.h"

#include "command/shared/command.h"
#include "fabric/fabric.h"
#include "show/show.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAITING_MOST 60
#define CONNECT_MS   10000
#define SETTLE_MS    10000
#define SETTLES_MOST 9  /* one after the other, in which the server stores none */
#define AGAIN        10 /* s: to connect */

struct service_sender {
    struct fabric_options options;
    const char *unsent; /* file */
    char machine[FABRIC_NAME_MOST + 1];
    char authorities[FABRIC_AUTHORITIES_SIZE];
    struct fabric *fabric;
    struct problem told; /* the last problem */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    json_t *waiting; /* the oldest first */
    uint64_t dropped;
    bool stops;
};

/* Once, until it is another one. */
static void tell(struct service_sender *sender, const char *text)
{
    if (strcmp(sender->told.text, text) != 0)
        command_say("%s", text[0] == '\0' ? "summaries can be sent again" : text);
    snprintf(sender->told.text, sizeof(sender->told.text), "%s", text);
}

/* The first machine creates the streams. */
static int connect_it(struct service_sender *sender, struct problem *problem)
{
    int result = fabric_open(&sender->options, CONNECT_MS, &sender->fabric, problem);

    if (result == 0)
        result = fabric_has_said(sender->fabric, problem);
    if (result == 0)
        result = fabric_create_streams(sender->fabric, NULL, problem);
    if (result >= 0)
        return 0;
    fabric_close(sender->fabric);
    sender->fabric = NULL;
    return result;
}

/* Nobody controls a service: requests are refused. */
static void take_messages(struct service_sender *sender)
{
    struct fabric_message message;

    while (fabric_next(sender->fabric, &message) == 1) {
        if (message.kind == FABRIC_REQUEST)
            fabric_refuse(message.request, FABRIC_REFUSED,
                          "this agent measures its machine as a service, and takes no requests");
        else if (message.kind == FABRIC_TROUBLE)
            tell(sender, message.text);
        fabric_message_done(&message);
    }
}

static json_t *take_first(struct service_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    json_t *first = json_incref(json_array_get(sender->waiting, 0));
    json_array_remove(sender->waiting, 0);
    if (first != NULL && sender->dropped > 0)
        json_object_set_new(first, "not_sent", json_integer((json_int_t)sender->dropped));
    pthread_mutex_unlock(&sender->lock);
    return first;
}

/* It was not sent. What the fabric has no space for now waits again, unless as many newer ones do. */
static void put_back(struct service_sender *sender, json_t *first, int error)
{
    pthread_mutex_lock(&sender->lock);
    if (error == -EAGAIN && json_array_size(sender->waiting) < WAITING_MOST)
        json_array_insert(sender->waiting, 0, first);
    else
        sender->dropped++;
    pthread_mutex_unlock(&sender->lock);
}

static bool is_to_stop(struct service_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    bool is = sender->stops;
    pthread_mutex_unlock(&sender->lock);
    return is;
}

/* Waits as long as the server stores any: over a slow link, what has waited for an hour takes a while, and one large
 * one may; to send it again would take longer still. A connection that is slower than SETTLES_MOST allow has ended by then. */
static int settle(struct service_sender *sender, struct problem *problem)
{
    unsigned pending = fabric_notices_pending(sender->fabric), in_vain = 0;
    bool waits;
    int result;

    do {
        unsigned before = pending;
        result = fabric_settle(sender->fabric, SETTLE_MS, problem);
        pending = fabric_notices_pending(sender->fabric);
        take_messages(sender);
        in_vain = pending < before ? 0 : in_vain + 1;
        waits = in_vain == 0 || (in_vain < SETTLES_MOST && fabric_connected(sender->fabric) &&
                                 !fabric_notices_refused(sender->fabric));
    } while (result < 0 && waits && !is_to_stop(sender));
    return result;
}

/* The server has not stored the last ones, as far as is known. Another connection sends them again, and may find other streams
 * there. */
static void take_back(struct service_sender *sender, const json_t *sent)
{
    size_t size = json_array_size(sent), pending = fabric_notices_pending(sender->fabric);
    size_t stored = pending < size ? size - pending : 0;

    fabric_close(sender->fabric);
    sender->fabric = NULL;
    pthread_mutex_lock(&sender->lock);
    for (size_t i = size; i-- > stored;) {
        if (json_array_size(sender->waiting) < WAITING_MOST)
            json_array_insert(sender->waiting, 0, json_array_get(sent, i));
        else
            sender->dropped++;
    }
    pthread_mutex_unlock(&sender->lock);
}

static int send_all(struct service_sender *sender, struct problem *problem)
{
    json_t *sent = json_array(), *first;
    struct problem of_others;
    int result = 0;

    while (result == 0 && (first = take_first(sender)) != NULL) {
        result = fabric_notice(sender->fabric, "summary", first);
        if (result < 0) {
            problem_set(problem, result, "a summary cannot be sent: %s", strerror(-result));
            put_back(sender, first, result);
        } else {
            json_array_append(sent, first);
        }
        json_decref(first);
        take_messages(sender);
    }
    int settled = settle(sender, result == 0 ? problem : &of_others);
    if (settled < 0)
        take_back(sender, sent);
    json_decref(sent);
    return result == 0 ? settled : result;
}

/* Waits for something to send, or until sending may succeed again, a second at most. Returns whether to go on. */
static bool wait_for_some(struct service_sender *sender, bool can_send)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&sender->lock);
    if (!sender->stops && (!can_send || json_array_size(sender->waiting) == 0))
        pthread_cond_timedwait(&sender->changed, &sender->lock, &until);
    bool goes_on = !sender->stops;
    pthread_mutex_unlock(&sender->lock);
    return goes_on;
}

static void *run(void *context)
{
    struct service_sender *sender = context;
    struct problem problem = {""};
    uint64_t tried = 0;
    bool can_send = true, goes_on;

    do {
        goes_on = wait_for_some(sender, can_send);
        uint64_t now = clock_now(CLOCK_MONOTONIC);
        int result = 0;
        if (sender->fabric == NULL && (tried == 0 || now - tried > AGAIN * 1000000000ull)) {
            tried = now;
            result = connect_it(sender, &problem);
        }
        if (sender->fabric != NULL)
            take_messages(sender);
        can_send = sender->fabric != NULL && fabric_connected(sender->fabric);
        if (can_send) {
            result = send_all(sender, &problem);
            can_send = result == 0;
            if (result == 0)
                unlink(sender->unsent); /* the server has what it holds */
        }
        if (result < 0)
            tell(sender, problem.text);
        else if (sender->fabric != NULL && fabric_connected(sender->fabric))
            tell(sender, "");
    } while (goes_on);
    fabric_close(sender->fabric);
    return NULL;
}

/* What waited when the service stopped, which may be because the machine starts again, waits on. */
static void take_unsent(struct service_sender *sender)
{
    json_t *kept = json_load_file(sender->unsent, 0, NULL);
    json_t *waiting = json_object_get(kept, "waiting"), *summary;
    size_t index;

    json_array_foreach(waiting, index, summary)
    {
        if (json_is_object(summary) && index < WAITING_MOST)
            json_array_append(sender->waiting, summary);
    }
    sender->dropped = (uint64_t)json_integer_value(json_object_get(kept, "not_sent"));
    json_decref(kept);
}

static void keep_unsent(const struct service_sender *sender)
{
    size_t left = json_array_size(sender->waiting);
    char summaries[COUNTED_SIZE];

    show_counted(left, "summary", summaries);
    json_t *kept = json_pack("{s:I, s:O}", "not_sent", (json_int_t)sender->dropped, "waiting",
                             sender->waiting);
    if (kept != NULL && json_dump_file(kept, sender->unsent, JSON_COMPACT) == 0) {
        command_say("the server could not be reached: %s wait%s in %s for the next start",
                    summaries, left == 1 ? "s" : "", sender->unsent);
    } else {
        unlink(sender->unsent);
        command_say("%s %s not sent: the server could not be reached, and %s cannot be written",
                    summaries, left == 1 ? "was" : "were", sender->unsent);
    }
    json_decref(kept);
}

int service_sender_start(const struct service_destination *destination,
                         struct service_sender **ret_sender, struct problem *problem)
{
    struct service_sender *sender = calloc(1, sizeof(*sender));
    char host[256] = "";
    sigset_t all, before;
    int result = 0;

    if (sender == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    gethostname(host, sizeof(host) - 1);
    fabric_name_make(host, sender->machine);
    sender->options = (struct fabric_options){.url = destination->url,
                                              .credentials = destination->credentials,
                                              .session = destination->session,
                                              .machine = sender->machine};
    if (destination->authorities != NULL) {
        result = fabric_read_authorities(destination->authorities, sender->authorities, problem);
        sender->options.authorities = sender->authorities;
    }
    sender->waiting = json_array();
    sender->unsent = destination->unsent;
    take_unsent(sender);
    pthread_mutex_init(&sender->lock, NULL);
    pthread_cond_init(&sender->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = result < 0 ? 0 : pthread_create(&sender->thread, NULL, run, sender);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        result = problem_set(problem, -error, "cannot start a thread: %s", strerror(error));
    if (result < 0) {
        json_decref(sender->waiting);
        free(sender);
        return result;
    }
    *ret_sender = sender;
    return 0;
}

void service_sender_put(struct service_sender *sender, json_t *summary)
{
    pthread_mutex_lock(&sender->lock);
    if (json_array_size(sender->waiting) >= WAITING_MOST) {
        json_array_remove(sender->waiting, 0);
        sender->dropped++;
    }
    json_array_append_new(sender->waiting, summary);
    pthread_cond_signal(&sender->changed);
    pthread_mutex_unlock(&sender->lock);
}

void service_sender_stop(struct service_sender *sender)
{
    if (sender == NULL)
        return;
    pthread_mutex_lock(&sender->lock);
    sender->stops = true;
    pthread_cond_signal(&sender->changed);
    pthread_mutex_unlock(&sender->lock);
    pthread_join(sender->thread, NULL);
    if (json_array_size(sender->waiting) > 0)
        keep_unsent(sender);
    json_decref(sender->waiting);
    pthread_mutex_destroy(&sender->lock);
    pthread_cond_destroy(&sender->changed);
    free(sender);
}
