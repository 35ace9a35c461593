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
    CONDUCT_PROCESS, /* `process` has ended, been stopped, or goes on, as its agent reports */
    CONDUCT_OUTPUT, /* `text`, `length` bytes: what `process` has written, to its standard error if `err`: a line without its end */
    CONDUCT_NOTICE, /* `notice`, of `message`: of anything else */
    CONDUCT_WRONG,  /* a notice of `host` that makes no sense: `text` is a part of it */
    CONDUCT_TROUBLE, /* `text`: of the session's server */
    CONDUCT_MISSING, /* `text`: messages of the machines are missing, perhaps ends of processes or recordings */
    CONDUCT_READABLE, /* the descriptor of the options */
};

struct conduct_event {
    enum conduct_kind kind;
    struct remote_host *host; /* NULL: TROUBLE, MISSING, READABLE */
    const char *text;
    size_t length;
    bool err;
    struct conduct_process *process;
    const struct conduct_notice *notice;
    const struct fabric_message *message;
};

/* ---- a session ---- */

struct conduct_options {
    const struct remote_options *session; /* its callbacks are not used */
    void (*event)(void *context, const struct conduct_event *event);
    void (*work)(void *context); /* what the caller does in each step; NULL: nothing */
    /* a machine that is out is tried again when it is asked something: the question waits for it */
    bool again;
    /* what an answer says that is not waited for any more; NULL: "interrupted" */
    const char *interrupted;
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

#define CONDUCT_NOTES_MOST 100 /* that are printed of one machine */

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

/* What an answer that came says: returns 0, and the caller owns *ret_result (NULL: it is not wanted), or the error with a line in
 * `problem` that begins with the machine's name. Forgets the rest. */
int conduct_answer_take(struct conduct_answer *answer, json_t **ret_result,
                        struct problem *problem);

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

/* Parameters: of recording.state, .end, .flush; and of recording.flags. */
json_t *request_recording(const char *recording);
json_t *request_flags(const char *recording, uint64_t flags);

/* ---- agents ---- */

#define CONDUCT_END_MS 5000 /* time for an agent that has nothing left to do */

/* Asks the agents of those that are ready to end, and waits; that their connections end, too, is expected then. Of `question`, the
 * method and the parameters are not used; NULL: all, with CONDUCT_END_MS. Returns as conduct_ask_all. */
int conduct_end_agents(struct conduct *conduct, const struct conduct_question *question);

/* ---- processes ---- */

/*
 *      conduct_create --> NEW --conduct_change_later--> RUNNING <--> STOPPED --> KILLED        each report of its agent: CONDUCT_PROCESS
 *      conduct_know ----> ACQUIRED, or as an earlier controller has kept it                    each line: CONDUCT_OUTPUT
 */
#define CONDUCT_NAME_SIZE 64
#define CONDUCT_LINE_MOST 4096 /* bytes; a longer line is split */

struct conduct_line {
    char text[CONDUCT_LINE_MOST];
    size_t length;
};

/* A process on a machine. It belongs to the conduct; the caller may set the last four. */
struct conduct_process {
    struct conduct *conduct;
    struct remote_host *host;
    pid_t pid;
    enum process_state state;
    struct process_end end; /* KILLED: as its agent has reported it */
    int status;             /* KILLED: as a shell has it */
    bool lost;  /* KILLED: its agent has ended, and nothing is known of it any more; it may run */
    bool begun; /* it has executed an instruction */
    bool confirmed; /* its agent has reported a change since the last one was asked for */
    uint64_t ended; /* CLOCK_MONOTONIC */
    bool closed[2]; /* its standard output, standard error */
    uint64_t shown
        [2]; /* bytes of these that have come, as far as is known: the rest of a piece is new */
    struct conduct_line lines[2]; /* not complete yet */
    char name[CONDUCT_NAME_SIZE];
    bool listed; /* its agent knows of it */
    bool whole;  /* its output comes in the pieces in which it was written */
    void *context;
};

struct conduct_command {
    const char *recording;
    char *const *words; /* NULL at the end */
    const char *user;   /* NULL: the agent's */
    bool input;         /* it will get some */
};

/* Creates a process, suspended, in the current folder if it is there, too; its name is the last part of the first word. A program
 * that the machine lacks is copied there if it is a file here; *ret_copied: the process runs such a copy. Returns 0, or a negative
 * errno with a line in `problem`; -ENOENT: the program is neither there nor here. */
int conduct_create(struct conduct *conduct, struct remote_host *host,
                   const struct conduct_command *command, struct conduct_process **ret_process,
                   bool *ret_copied, struct problem *problem);

/* One that was created before, or acquired: NULL: out of memory. `name` is cut. */
struct conduct_process *conduct_know(struct conduct *conduct, struct remote_host *host, pid_t pid,
                                     enum process_state state, const char *name);

/* It is not followed any more, and freed. */
void conduct_forget(struct conduct_process *process);

/* In the order in which they became known; NULL after the last. */
struct conduct_process *conduct_process_at(const struct conduct *conduct, size_t index);

/* The last one of this number that became known; NULL: none. */
struct conduct_process *conduct_find_process(const struct conduct *conduct,
                                             const struct remote_host *host, int64_t pid);

/* Asks for a state, as conduct_ask_later: RUNNING starts it, or lets it go on; STOPPED; KILLED. One that has not begun is stopped as it
 * is: nobody is asked. */
void conduct_change_later(struct conduct_process *process, enum process_state wanted,
                          struct conduct_answer *answer);

/* Takes the answer: the process is in that state, unless it has ended meanwhile. Returns as conduct_answer_take; a process that could not be
 * started has ended. */
int conduct_changed(struct conduct_process *process, enum process_state wanted,
                    struct conduct_answer *answer, struct problem *problem);

/* Asks for a signal: "INT". `answer` NULL: it is not waited for. */
void conduct_signal_later(struct conduct_process *process, const char *signal,
                          struct conduct_answer *answer);

#define CONDUCT_ONCE (-1) /* it is not given again */

/* Asks it to read something; `end`: nothing follows. `at`: how many bytes it was given before: what is given again, because the answer was
 * an error, it reads once; or CONDUCT_ONCE. One that does not read makes the answer wait. */
void conduct_input_later(struct conduct_process *process, int64_t at, const void *bytes,
                         size_t size, bool end, struct conduct_answer *answer);

/* It has ended, though its agent has not reported it. */
void conduct_set_ended(struct conduct_process *process, int status);

/* It counts as killed, but may run. */
void conduct_set_lost(struct conduct_process *process);

/* As process_state_word; "lost". */
const char *conduct_state_word(const struct conduct_process *process);

/* What process.list says of it; as if the agent had reported it. */
void conduct_take_listed(struct conduct_process *process, const struct listed_process *listed);

/* Whether it has ended, and all that it has written has come, `now` CLOCK_MONOTONIC. Its descendants may hold its files for ever:
 * that is not waited for long. */
bool conduct_is_over(const struct conduct_process *process, uint64_t now);

/* Calls back with what is left of lines that have no end. */
void conduct_flush(struct conduct_process *process);

#endif
