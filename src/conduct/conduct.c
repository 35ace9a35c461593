/* SPDX-License-Identifier: MIT */
/* conduct.c: a session, and what happens in it. See conduct.h. */
#include "conduct/conduct_private.h"
#include "show/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_EVERY 2000000000ull /* ns */

/* ---- what happens ---- */

/* An earlier controller had those up to `heard`. */
static void say_missing(struct conduct *conduct, const struct fabric_message *message)
{
    uint64_t after = message->sequence - conduct->heard - 1;
    uint64_t missed = message->missed < after ? message->missed : after;
    char line[160], messages[COUNTED_SIZE];

    if (missed == 0)
        return;
    show_counted(missed, "message", messages);
    snprintf(line, sizeof(line),
             "%s from the machines %s missing: there was more output than the session keeps",
             messages, missed == 1 ? "is" : "are");
    conduct->options.event(conduct->options.context,
                           &(struct conduct_event){.kind = CONDUCT_MISSING, .text = line});
}

static void take_notice(struct conduct *conduct, struct remote_host *host,
                        const struct fabric_message *message)
{
    struct conduct_notice notice;
    struct problem problem;
    struct conduct_event event = {.kind = CONDUCT_NOTICE, .host = host, .message = message};

    if (notice_read(message->method, message->params, &notice, &problem) < 0) {
        event.kind = CONDUCT_WRONG;
        event.text = problem.text;
    } else if (notice.kind == NOTICE_ENDED || notice.kind == NOTICE_STOPPED ||
               notice.kind == NOTICE_CONTINUED) {
        conduct_take_notice(conduct, host, &notice);
        return;
    }
    event.notice = event.kind == CONDUCT_NOTICE ? &notice : NULL;
    conduct->options.event(conduct->options.context, &event);
}

void conduct_take(struct conduct *conduct, struct remote_host *host,
                  const struct fabric_message *message)
{
    if (message->sequence <= conduct->heard)
        return;
    say_missing(conduct, message);
    conduct->heard = message->sequence;
    if (message->kind == FABRIC_NOTICE)
        take_notice(conduct, host, message);
    else
        conduct_take_output(conduct, host, message);
}

static void happens(void *context, enum remote_kind kind, struct remote_host *host,
                    const char *line, const struct fabric_message *message)
{
    static const enum conduct_kind kinds[REMOTE_KINDS] = {
        [REMOTE_SAID] = CONDUCT_SAID,
        [REMOTE_CHANGED] = CONDUCT_CHANGED,
        [REMOTE_TROUBLE] = CONDUCT_TROUBLE,
        [REMOTE_READABLE] = CONDUCT_READABLE,
    };
    struct conduct *conduct = context;
    const struct conduct_event event = {.kind = kinds[kind], .host = host, .text = line};

    if (kind == REMOTE_MESSAGE)
        conduct_take(conduct, host, message);
    else
        conduct->options.event(conduct->options.context, &event);
}

/* ---- begin and end ---- */

int conduct_open(const struct conduct_options *options, struct conduct **ret_conduct,
                 struct problem *problem)
{
    struct conduct *conduct = calloc(1, sizeof(*conduct));
    struct remote_options session = *options->session;

    if (conduct == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    conduct->options = *options;
    conduct->options.session = NULL; /* it need not outlive this call */
    conduct->patience = 1;
    conduct->notes = json_object();
    session.happens = happens;
    session.context = conduct;
    int result = remote_new(&session, &conduct->remote, problem);
    if (result < 0) {
        json_decref(conduct->notes);
        free(conduct);
        return result;
    }
    *ret_conduct = conduct;
    return 0;
}

void conduct_close(struct conduct *conduct)
{
    if (conduct == NULL)
        return;
    remote_free(conduct->remote);
    conduct_forget_all(conduct);
    json_decref(conduct->notes);
    free(conduct);
}

struct remote *conduct_remote(const struct conduct *conduct)
{
    return conduct->remote;
}

struct fabric *conduct_fabric(const struct conduct *conduct)
{
    return remote_fabric(conduct->remote);
}

/* ---- going on ---- */

/* A filter that has ended and is to go on later keeps what came since then at the server. When that is full, nothing is recorded any
 * more. */
static void say_nearly_full(struct conduct *conduct)
{
    char line[300], packets[COUNTED_SIZE];
    struct fabric_slowest slowest;
    struct problem ignored;

    if (fabric_slowest(conduct_fabric(conduct), &slowest, &ignored) <= 0 || slowest.left == 0)
        return;
    conduct->nearly_full = true;
    show_counted(slowest.left, "packet", packets);
    snprintf(line, sizeof(line),
             "the session's server is nearly full: %.63s has not taken %s; if this filter has "
             "ended, start it again, or nothing more is stored",
             slowest.name, packets);
    conduct->options.event(conduct->options.context,
                           &(struct conduct_event){.kind = CONDUCT_TROUBLE, .text = line});
}

/* What all filters have stored need not be kept by the server. */
static void make_space(struct conduct *conduct)
{
    struct fabric *fabric = conduct_fabric(conduct);
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct fabric_usage usage;
    struct problem problem;

    if (now - conduct->looked < SPACE_EVERY)
        return;
    conduct->looked = now;
    bool known = fabric_usage_answered(fabric, &usage);
    if (known && usage.packet_bytes < usage.packet_bytes_most / 2)
        conduct->nearly_full = false; /* the next time is said, too */
    if (known && usage.packet_bytes > usage.packet_bytes_most / 4 &&
        fabric_trim(fabric, &problem) == 0 && !conduct->nearly_full &&
        usage.packet_bytes / 7 > usage.packet_bytes_most / 8 && usage.packet_bytes_most > 0)
        say_nearly_full(conduct);
    fabric_usage_ask(fabric);
}

void conduct_step(struct conduct *conduct, int timeout_ms)
{
    remote_poll(conduct->remote, timeout_ms);
    if (conduct->options.work != NULL)
        conduct->options.work(conduct->options.context);
    make_space(conduct);
}

size_t conduct_connecting(const struct conduct *conduct)
{
    return remote_count_in(conduct->remote, REMOTE_STARTING) +
           remote_count_in(conduct->remote, REMOTE_LINKED);
}

int conduct_connect(struct conduct *conduct)
{
    while (conduct_connecting(conduct) > 0 && !conduct_is_interrupted(conduct))
        conduct_step(conduct, 100);
    return conduct_is_interrupted(conduct) ? -EINTR : 0;
}

uint64_t conduct_heard(const struct conduct *conduct)
{
    return conduct->heard;
}

void conduct_set_heard(struct conduct *conduct, uint64_t number)
{
    conduct->heard = number;
}

/* ---- notes ---- */

json_t *conduct_notes(const struct conduct *conduct)
{
    return conduct->notes;
}

const char *conduct_note_once(struct conduct *conduct, const char *machine, const char *text)
{
    json_t *printed = json_object_get(conduct->notes, machine); /* hashes, as keys */
    size_t count = json_object_size(printed);
    char key[16];

    if (printed == NULL) {
        printed = json_object();
        json_object_set_new(conduct->notes, machine, printed);
    }
    snprintf(key, sizeof(key), "%08x", (unsigned)hash_bytes(0, text, strlen(text)));
    if (json_object_get(printed, key) != NULL || count > CONDUCT_NOTES_MOST)
        return NULL;
    json_object_set_new(printed, key, json_true());
    return count < CONDUCT_NOTES_MOST ? text : "it has more notes; they are not printed";
}

/* ---- interrupting ---- */

void conduct_interrupt(struct conduct *conduct)
{
    conduct->interrupts++;
}

unsigned conduct_interrupts(const struct conduct *conduct)
{
    return conduct->interrupts;
}

void conduct_set_patience(struct conduct *conduct, unsigned most)
{
    conduct->patience = conduct->interrupts + most;
}

bool conduct_is_interrupted(const struct conduct *conduct)
{
    return conduct->interrupts >= conduct->patience;
}
