/* SPDX-License-Identifier: MIT */
/* agent_private.h: the parts of the agent: shared by the files of this folder only. */
#ifndef DPM_AGENT_PRIVATE_H
#define DPM_AGENT_PRIVATE_H

#include "agent/agent.h"
#include "fabric/fabric.h"
#include "launch/launch.h"
#include "recorder/acquiring.h"
#include "recorder/recorder.h"
#include "relay/relay.h"
#include "trace/packets.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/un.h>

#define AGENT_PATIENCE 60  /* s */
#define AGENT_MOST     256 /* created processes, and recordings, at once */
#define AGENT_PATH     PATH_MAX

struct agent;

/* ---- recordings ---- */

/* Processes that were taken together. */
struct acquisition {
    struct process_choice choice;
    struct acquiring acquiring;
    struct acquisition *next;
};

/* The packets of a trace on their way. */
struct publishing {
    struct trace_packets *packets; /* NULL: not open */
    struct fabric_publisher *publisher;
    struct trace_packet packet; /* the next one, if `holds` */
    struct fabric_place metadata;
    bool holds;
    bool drained; /* what was in the trace at the last step is handed over */
    bool all;     /* handed over, up to the end of the trace */
    bool failed;
};

struct agent_recording {
    char name[FABRIC_NAME_MOST + 1];
    char path[AGENT_PATH]; /* of the spool */
    struct agent *agent;
    struct recording_options options;
    struct rules *rules; /* in force; none at first, unless recording.open has given some */
    struct recording recording;
    struct acquisition *acquisitions;
    json_t *notes;       /* lines for the user during a request; else NULL */
    json_t *missed;      /* what its meter has not recorded, a line each; NULL: it has not ended */
    atomic_bool stopped; /* by itself (full disk, lost meter), for the reason `why` */
    struct problem why;
    struct publishing publishing;
    atomic_bool begun;
    atomic_bool ended;
    bool idle;  /* was reported */
    bool looks; /* for processes that start later */
    struct agent_recording *next;
};

/* ---- recording_thread.c ---- */

/*
 * A thread of its own takes records from the kernel: what goes to the fabric may have to wait for a dead link; the rings must
 * not. The thread holds the lock, also while it waits, and releases it when recordings_lock asks for it.
 */
int recording_thread_start(struct agent *agent, struct problem *problem);
void recording_thread_stop(struct agent *agent);

/* In between, the thread does nothing. */
void recordings_lock(struct agent *agent);
void recordings_unlock(struct agent *agent);

/* One step of every active recording. For the thread. */
void recordings_step(struct agent *agent);

/* Waits until some recording needs a step, or `file` is readable. For the thread. */
void recordings_wait(struct agent *agent, int file);

/* ---- recordings.c ---- */

int recordings_open(struct agent *agent, json_t *params, json_t **ret_result,
                    struct problem *problem);
int recordings_flags(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem);
int recordings_rules(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem);
int recordings_end(struct agent *agent, json_t *params, json_t **ret_result,
                   struct problem *problem);
int recordings_state(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem);

/* Everything that has happened until now goes into the trace; recording.state says when it is published. */
int recordings_flush(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem);

/* Publishes as much as goes. */
void recordings_publish(struct agent *agent);

/* Ends the recordings that have stopped by themselves. */
void recordings_end_stopped(struct agent *agent);

void recordings_end_all(struct agent *agent);
void recordings_begin_one(struct agent_recording *recording);

/* A request has failed for `problem`: if that has ended the recording, it ends as in a step. */
void recordings_note_stopped(struct agent_recording *recording, const struct problem *problem);

/* Adds a recording that is not open. NULL: out of memory, with a line in `problem`. */
struct agent_recording *recordings_add(struct agent *agent, const char *name,
                                       struct problem *problem);

/* The recording that params name, if it has not ended. */
int recordings_find_active(struct agent *agent, json_t *params,
                           struct agent_recording **ret_recording, struct problem *problem);

/* A line for the user, about the recording `context`: with the result of the request, or as a notice. */
void recordings_say(const char *line, void *context);

/* Reports that it has ended by itself. */
void recordings_tell_ended(const struct agent_recording *recording, const char *reason,
                           const char *message);

/* Whether all that was recorded is stored by the server. */
bool recordings_are_published(struct agent *agent);

/* Frees all; removes the spools of those that are published. Returns whether these were all. */
bool recordings_close(struct agent *agent);

/* ---- acquisitions.c ---- */

int recordings_acquire(struct agent *agent, json_t *params, json_t **ret_result,
                       struct problem *problem);

/* Looks for processes that have started since. */
void acquisitions_step(struct agent_recording *recording);
void acquisitions_free(struct agent_recording *recording);

/* ---- spools.c ---- */

/* Goes on with spools that an agent of this session has left: they are ended as recordings, and published. */
void spools_adopt(struct agent *agent);

/* Removes what ended agents of any session have left, after a week. `sessions` is the folder of all sessions. */
void spools_remove_old(const char *sessions);

/* ---- publishing.c ---- */

/* Publishes as much as goes. */
void publishing_step(struct agent_recording *recording);
bool publishing_done(const struct publishing *publishing);
void publishing_state(const struct publishing *publishing, json_t *result);

/* The trace has grown: it counts as published when all of it is. */
void publishing_note_growth(struct agent_recording *recording);
void publishing_close(struct publishing *publishing);

/* ---- created.c ---- */

enum created_state { CREATED_NEW, CREATED_RUNNING, CREATED_STOPPED, CREATED_ENDED };

/* Output on its way. */
struct piece {
    char *bytes; /* [FABRIC_OUTPUT_MOST], while the output is open; NULL: nothing was read yet */
    size_t size;
    uint64_t before; /* bytes of this output that were sent before it */
    bool holds;
};

/* A process that the agent has created. */
struct created {
    pid_t pid;
    char recording[FABRIC_NAME_MOST + 1];
    char command[256];
    struct meter_interface *meter;
    enum created_state state;
    struct launched launched;
    uint64_t started;
    int status;    /* as from wait(2) */
    int output[2]; /* standard output and error; negative: closed */
    struct piece pieces[2];
    int input;     /* negative: none, or closed */
    char *waiting; /* for the process to read it */
    size_t waiting_size;
    uint64_t given;  /* bytes of input, so far */
    bool input_ends; /* with what is waiting */
    struct created *next;
};

int created_create(struct agent *agent, json_t *params, json_t **ret_result,
                   struct problem *problem);
int created_start(struct agent *agent, json_t *params, json_t **ret_result,
                  struct problem *problem);
int created_signal(struct agent *agent, json_t *params, json_t **ret_result,
                   struct problem *problem);
int created_input(struct agent *agent, json_t *params, json_t **ret_result,
                  struct problem *problem);
int created_list(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem);

/* Looks for processes that have ended or stopped, and reports them. */
void created_look(struct agent *agent);

/* Adds their files to what is polled, at most `most`. Returns how many. */
size_t created_poll(const struct agent *agent, struct pollfd *files, size_t most);

/* Moves what they have written, and what they can read. */
void created_move(struct agent *agent);

/* Ends those that were never started, and lets the stopped ones continue. The meter of a recording is about to go. */
void created_release(struct agent *agent, const char *recording);

void created_close(struct agent *agent);

/* ---- copied_programs.c ---- */

int programs_find(struct agent *agent, json_t *params, json_t **ret_result,
                  struct problem *problem);
int programs_has(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem);
int programs_put(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem);

/* The path of a copied program, which counts as used now. -ENOENT: it is not there, or not complete. */
int programs_path(const char *hash, char ret_path[AGENT_PATH], struct problem *problem);

/* Removes those that were not used for a week, and do not run. */
void programs_remove_old(void);

/* ---- agent_views.c: the resident monitor; methods view.* ---- */

struct agent_views;

int agent_views_begin(struct agent *agent, json_t *params, json_t **ret_result,
                      struct problem *problem);
int agent_views_end(struct agent *agent, json_t *params, json_t **ret_result,
                    struct problem *problem);
int agent_views_time(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem);
int agent_views_steps(struct agent *agent, json_t *params, json_t **ret_result,
                      struct problem *problem);

/* Readable when agent_views_work has something to do; negative: never. */
int agent_views_descriptor(const struct agent *agent);
int agent_views_timeout(const struct agent *agent, int most); /* ms */
void agent_views_work(struct agent *agent);
void agent_views_free(struct agent_views *views);

/* ---- requests.c ---- */

/* Each function that serves a method returns 0 and *ret_result (NULL: null), or a negative errno with a line in
 * `problem`: -EINVAL: the parameters are wrong. */
void requests_serve(struct agent *agent, struct fabric_message *message);

/* ---- agent.c ---- */

struct agent {
    const struct agent_options *options;
    char session[FABRIC_NAME_MOST + 1];
    char machine[FABRIC_NAME_MOST + 1];
    char folder[AGENT_PATH]; /* of the session */
    struct fabric *fabric;   /* NULL: not connected for the first time yet */
    struct relay *relay;
    int socket; /* fronts come here */
    int lock;
    int front; /* negative: none is attached */
    int signals;
    int credentials;   /* a file in memory; negative: user and password are enough */
    unsigned patience; /* seconds without a connection, after which it ends */
    sigset_t old_mask;
    struct agent_recording *recordings;
    struct created *created;
    struct agent_views *views; /* NULL: none */
    pthread_t thread;          /* that records */
    pthread_mutex_t lock_of_recordings;
    pthread_cond_t given_back;
    atomic_uint wanted; /* how many wait for the lock, or have it */
    atomic_bool stops;
    int asked; /* eventfd: the lock is wanted */
    pthread_mutex_t lock_of_notices;
    json_t *notices;      /* [[method, params] ...] that the fabric has not taken yet */
    uint64_t alone_since; /* 0: attached */
    bool ends;
};

/* JSON takes only UTF-8: in another text, such as one with the name of a file, what is not ASCII becomes '?'. */
json_t *agent_text(const char *text);

/* Sends a notice, at once or later. `params` is taken over. */
void agent_notice(struct agent *agent, const char *method, json_t *params);

/* Whether fewer than so many notices are on their way. */
bool agent_may_notice(struct agent *agent, unsigned most);

/* Makes a folder and those above it, of mode 0700. */
int agent_make_folder(const char *path, struct problem *problem);

/* The address of the agent's socket in a folder. The path of a socket has 107 bytes at most, and folders may be longer: so it
 * leads through a descriptor of the folder, which is returned and to be closed after use. Or a negative errno. */
int agent_socket_address(const char *folder, struct sockaddr_un *ret_address);

/* Writes a path below ${XDG_STATE_HOME:-~/.local/state}/dpm or, `cache`, ${XDG_CACHE_HOME:-~/.cache}/dpm. */
int agent_path(bool cache, const char *below, char ret_path[AGENT_PATH], struct problem *problem);

/* The same, and makes no folder. */
int agent_path_name(bool cache, const char *below, char ret_path[AGENT_PATH],
                    struct problem *problem);

/* The agent itself: serves until agent.end, a signal, or too long without a connection. `lock` is that of the folder. */
int agent_serve(const char *session, const char *folder, int lock,
                const struct agent_options *options);

#endif
