/* SPDX-License-Identifier: MIT */
/*
 * conduct.h: several machines, conducted from this one: what `dpm run --host`, `dpm acquire --host`, `dpm view run --host`
 * and `dpm job` have in common. It lies above remote/, which holds the connections.
 *
 *      conduct_open      a session; remote_add: a machine of it; conduct_connect: waits until each is ready, or out
 *      conduct_ask       one question to one machine; conduct_ask_all: to all
 *      conduct_step      what happens: one callback
 *      conduct_end_agents, conduct_close
 *
 *      web1  <-- {"method": "recording.end", ...} --  answers[0]  came, error 0, result {"trace": {...}}
 *      db1   <-- ...                                  answers[1]  came, error -EREMOTEIO, why "there is no recording 'main'"
 *
 * Everything belongs to one thread. Nothing prints.
 */
#ifndef DPM_CONDUCT_H
#define DPM_CONDUCT_H

#include "conduct/notices.h"
#include "remote/remote.h"

struct conduct;

/* ---- what happens ---- */

enum conduct_kind {
    CONDUCT_SAID,    /* `text`: a line of the remote shell of `host` */
    CONDUCT_CHANGED, /* `host` is now READY, AWAY or OUT; `text` says why, beginning with its name; NULL: READY for the first
                       * time */
    CONDUCT_NOTICE,  /* `notice`, of `message` */
    CONDUCT_WRONG,   /* a notice of `host` that makes no sense: `text` is a part of it */
    CONDUCT_OUTPUT,  /* `message`: what a process has written */
    CONDUCT_TROUBLE, /* `text`: of the session's server, or that messages are missing */
    CONDUCT_READABLE, /* the descriptor of the options */
};

struct conduct_event {
    enum conduct_kind kind;
    struct remote_host *host; /* NULL: TROUBLE, READABLE */
    const char *text;
    const struct conduct_notice *notice;
    const struct fabric_message *message;
};

/* ---- a session ---- */

struct conduct_options {
    const struct remote_options *session; /* its callbacks are not used */
    void (*event)(void *context, const struct conduct_event *event);
    void (*work)(void *context); /* what the caller does in each step; NULL: nothing */
    void *context;
};

/* Starts the session, or attaches to it. Errors: as of remote_new. */
int conduct_open(const struct conduct_options *options, struct conduct **ret_conduct,
                 struct problem *problem);

/* As remote_free. NULL is allowed. */
void conduct_close(struct conduct *conduct);

struct remote *conduct_remote(const struct conduct *conduct);
struct fabric *conduct_fabric(const struct conduct *conduct);

/* How many machines are being connected. */
size_t conduct_connecting(const struct conduct *conduct);

/* Waits until none is. Returns 0, or -EINTR. */
int conduct_connect(struct conduct *conduct);

/* Waits until something happens, at most `timeout_ms`, and does what is due. Every few seconds it makes space at the session's
 * server. */
void conduct_step(struct conduct *conduct, int timeout_ms);

/* The number of the last notice or output that was delivered. None up to the one that is set is delivered any more. */
uint64_t conduct_heard(const struct conduct *conduct);
void conduct_set_heard(struct conduct *conduct, uint64_t number);

/* ---- notes ---- */

/* Which notes were printed, by the names of machines: for the next controller. Belongs to the conduct. */
json_t *conduct_notes(const struct conduct *conduct);

/* What to print of a machine's note, which is printed once. Returns `text`; instead of the first one too many, a line that says so;
 * NULL: nothing. */
const char *conduct_note_once(struct conduct *conduct, const char *machine, const char *text);

/* ---- interrupting ---- */

/* The user wants to go on; the caller says so in an event. */
void conduct_interrupt(struct conduct *conduct);

/* How often, since the beginning. */
unsigned conduct_interrupts(const struct conduct *conduct);

/* What is waited for ends with the `most`th interruption from now on. */
void conduct_set_patience(struct conduct *conduct, unsigned most);
bool conduct_is_interrupted(const struct conduct *conduct);

/* ---- questions ---- */

#define CONDUCT_CALL_MS 60000 /* time for an answer: loading the meter may take seconds */

struct conduct_answer {
    struct remote_host *host; /* NULL: nobody is asked */
    bool came;
    int error, code; /* as of remote_answer; -EINTR: interrupted */
    json_t *result;
    char why[sizeof(((struct problem *)0)->text)]; /* without the machine's name */
};

/* Asks without waiting. Takes over `params` (NULL: none). The answer stays where it is until it came. */
void conduct_ask_later(struct conduct *conduct, struct remote_host *host, const char *method,
                       json_t *params, int timeout_ms, struct conduct_answer *answer);

/* Waits for all of them. Returns 0, or -EINTR: those that have not come never do. */
int conduct_await(struct conduct *conduct, struct conduct_answer *answers, size_t count);

/* Forgets what they hold. */
void conduct_answers_done(struct conduct_answer *answers, size_t count);

/* Asks one machine, and waits. Returns 0, and the caller owns *ret_result (NULL: it is not wanted), or a negative errno with
 * a line in `problem`. */
int conduct_ask(struct conduct *conduct, struct remote_host *host, const char *method,
                json_t *params, json_t **ret_result, struct problem *problem);

struct conduct_question {
    const char *method;
    /* Whether this machine is asked; NULL: each that is not out. */
    bool (*asks)(void *context, struct remote_host *host);
    json_t *(*params)(void *context, struct remote_host *host); /* NULL: none */
    /* Its answer; or NULL. Once all have come, or the waiting was interrupted. */
    void (*took)(void *context, struct remote_host *host, const struct conduct_answer *answer);
    void *context;
    int timeout_ms; /* 0: CONDUCT_CALL_MS */
};

/* Asks all machines side by side, and waits for all answers. Returns 0; -EINTR; -ENOMEM. */
int conduct_ask_all(struct conduct *conduct, const struct conduct_question *question);

/* ---- agents and processes ---- */

#define CONDUCT_END_MS 5000 /* time for an agent that has nothing left to do */

/* Asks the agents of those that are ready to end, and waits; that their connections end, too, is expected then. Of `question`, the
 * method and the parameters are not used; NULL: all, with CONDUCT_END_MS. Returns as conduct_ask_all. */
int conduct_end_agents(struct conduct *conduct, const struct conduct_question *question);

struct conduct_process {
    const char *recording;
    char *const *command; /* NULL at the end */
    const char *user;     /* NULL: the agent's */
    bool input;           /* it will get some */
};

/* Creates a process, suspended, in the current folder if it is there, too. A program that the machine lacks is copied there if it
 * is a file here; *ret_copied: the process runs such a copy. Returns 0, or a negative errno with a line in `problem`; -ENOENT:
 * the program is neither there nor here. */
int conduct_create(struct conduct *conduct, struct remote_host *host,
                   const struct conduct_process *process, pid_t *ret_pid, bool *ret_copied,
                   struct problem *problem);

/* ---- lines of output ---- */

#define CONDUCT_LINE_MOST 4096 /* a longer one is split */

struct conduct_line {
    char text[CONDUCT_LINE_MOST];
    size_t length;
};

/* Adds a piece of output; each line that is complete goes to `take`, without its end. No bytes: the output has ended. */
void conduct_line_add(struct conduct_line *line, const char *bytes, size_t size,
                      void (*take)(void *context, const char *text, size_t length), void *context);

#endif
