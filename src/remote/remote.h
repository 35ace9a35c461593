/* SPDX-License-Identifier: MIT */
/*
 * remote.h: a session with agents on other machines: the controller's side. docs/control-protocol.md describes what
 * is said.
 *
 *      remote_new       the session's folder and server; streams; the controller's connection
 *      remote_add       one host: starts `ssh HOST dpm agent`; hello, relay, hello of the agent
 *      remote_poll      everything that happens; calls back
 *      remote_call      a request to one host; the answer calls back. Several at a time.
 *      remote_free      ends the shells, the server and the session
 *
 *      STARTING --answer line--> LINKED --agent's hello--> READY --shell ends--> AWAY --tries--> STARTING
 *          '------------------------+---- first time ----------------> OUT <-- too many --'
 *
 * Everything belongs to one thread. Nothing prints.
 */
#ifndef DPM_REMOTE_H
#define DPM_REMOTE_H

#include "base/base.h"
#include "fabric/fabric.h"
#include "server/server.h"

#include <limits.h>

/* ---- the session's folder ---- */

/* Connects to a session of this user, as FABRIC_CONTROLLER or FABRIC_FILTER: to its own server, which is started if it does not run,
 * and *ret_server is to be detached after the fabric is closed; or to the site's, and *ret_server stays as it is. Errors, with a line
 * in `problem`: -ENOENT: there is no such session. */
int remote_open(const char *session, const char *user, struct fabric_server **ret_server,
                struct fabric **ret_fabric, struct problem *problem);

/* What the controller of a session of this user has kept (fabric_kept), also at a site's server. The caller owns *ret_kept. Errors,
 * with a line in `problem`: -ENOENT: there is no such session. */
int remote_kept(const char *session, json_t **ret_kept, struct problem *problem);

/* Whether there is such a session of this user: 0, or -ENOENT with a line in `problem` that names those there are. */
int remote_session_find(const char *session, char folder[PATH_MAX], struct problem *problem);

/* Whether its controller lives. */
bool remote_session_controlled(const char *folder);

/* A session of this user on this machine. */
struct remote_session {
    char name[FABRIC_NAME_MOST + 1];
    char folder[PATH_MAX];
    bool controlled;  /* its controller lives */
    uint64_t changed; /* its folder, in s since 1970 */
};

/* Lists them. The caller frees the array. Returns how many, or a negative errno with a line in `problem`. */
ssize_t remote_sessions(struct remote_session **ret_list, struct problem *problem);

/* ---- hosts ---- */

#define REMOTE_RSH "ssh"
#define REMOTE_DPM "dpm"

#define REMOTE_ALONE 60 /* seconds */

/* Machines get no such name: what a controller says to the filters comes from it. */
#define REMOTE_CONTROLLER "controller"

enum remote_state { REMOTE_STARTING, REMOTE_LINKED, REMOTE_READY, REMOTE_AWAY, REMOTE_OUT };

struct remote_host {
    char *name;                         /* as the user wrote it */
    char machine[FABRIC_NAME_MOST + 1]; /* its name in the session */
    enum remote_state state;
    bool was_ready;
    bool ends;      /* set by the caller: its agent is asked to end, so the connection will */
    char *own_name; /* what the machine calls itself; NULL: not known yet */
    char *machine_id, *user;
    void *context;            /* the caller's */
    struct remote_link *link; /* ours */
};

enum remote_kind {
    REMOTE_SAID,    /* `line`: of the remote shell's standard error */
    REMOTE_CHANGED, /* the state is another one: now READY, AWAY or OUT. `line` says why, beginning with the host's name; NULL:
                      * READY for the first time */
    REMOTE_MESSAGE, /* a NOTICE or OUTPUT */
    REMOTE_TROUBLE, /* `line`: of the controller's own connection: what the server refuses, or that it is away */
    REMOTE_READABLE, /* the descriptor of the options is */
    REMOTE_KINDS,
};

/* What happens; `host` NULL: it is no host's. */
typedef void (*remote_event)(void *context, enum remote_kind kind, struct remote_host *host,
                             const char *line, const struct fabric_message *message);

struct remote_options {
    const char *session; /* a valid name, which no session has yet, unless `attach` */
    bool attach;         /* to a session whose controller has ended */
    const char *rsh;     /* the remote shell's command; several words, with quotes; REMOTE_RSH */
    const char *dpm;     /* the program's name on the other machines; REMOTE_DPM */
    uint64_t disk_bytes; /* that the session's server may store; 0: the server's default */
    /* A site's server instead of one of the session's own; NULL: all of these. A session that is attached to knows them. */
    const char *url;               /* fabric_options */
    const char *credentials;       /* a file: the controller's and its filter's */
    const char *agent_credentials; /* a file: the agents', handed to them; NULL: the same */
    const char *
        authorities; /* a file of certificates: who signs the server's; NULL: as the machines trust */
    unsigned alone; /* seconds that agents go on without a connection; 0: REMOTE_ALONE */
    int connect_ms; /* time for one connection */
    int descriptor; /* watched, too: signals; -1: none */
    bool lasting;   /* the session stays when the remote is freed; one that exists is attached to */
    bool
        direct; /* on this machine, as remote_is_here has it, the agent is started without the remote shell */
    uint64_t listen_from; /* notices and output: from this number of the stream on; 0: all */
    remote_event happens;
    void *context;
};

struct remote;

/* Starts the session and its server. Errors, with a line in `problem`: those of fabric_server_start, fabric_open,
 * fabric_create_streams; -EEXIST: there is a session of this name; to attach: -ENOENT: there is none; -EBUSY: its
 * controller lives. */
int remote_new(const struct remote_options *options, struct remote **ret_remote,
               struct problem *problem);

/* Ends the shells, without which the agents end soon if they were not asked to; stops the server; removes the session's
 * folder. NULL is allowed. */
void remote_free(struct remote *remote);

/* A lasting session is to end with remote_free. */
void remote_end(struct remote *remote);

/* Whether this is a name of this machine: "localhost", or what it calls itself. */
bool remote_is_here(const char *name);

/* The session's name. */
const char *remote_session_name(const struct remote *remote);

/* The session's folder on this machine, of mode 0700; it goes with the session. */
const char *remote_folder(const struct remote *remote);

/* The controller's own connection, for fabric_usage, fabric_trim ... */
struct fabric *remote_fabric(struct remote *remote);

/* Tells the filters of this session something (fabric_notice); they hear it from REMOTE_CONTROLLER. */
int remote_tell_filters(struct remote *remote, const char *method, json_t *params,
                        struct problem *problem);

/* Begins to connect to a host. The host's state is REMOTE_OUT if the shell cannot be started; REMOTE_CHANGED comes
 * then. A name that was added is found again; if the host is out, it is tried again. Errors, with a line in `problem`: -EEXIST: another name makes the
 * same name of a machine; -ENOMEM. */
int remote_add(struct remote *remote, const char *name, struct remote_host **ret_host,
               struct problem *problem);

/* How hosts are reached from now on: as of remote_options; NULL: as it is. Returns 0 or -ENOMEM with a line in `problem`. */
int remote_reach(struct remote *remote, const char *rsh, const char *dpm, struct problem *problem);

/* All that were added, in that order. */
size_t remote_count(const struct remote *remote);
struct remote_host *remote_at(const struct remote *remote, size_t index);

/* How many hosts have this state. */
size_t remote_count_in(const struct remote *remote, enum remote_state state);

/* Waits until something happens, at most `timeout_ms`, and does what is due. */
void remote_poll(struct remote *remote, int timeout_ms);

/* Gives a host up: as if it could not be reached. */
void remote_leave_out(struct remote *remote, struct remote_host *host, const char *line);

/* ---- calls ---- */

struct remote_reply {
    int error;      /* 0; or a negative errno, as of FABRIC_REPLY, or -ENOTCONN: the host is out */
    int code;       /* of JSON-RPC, if that is -EREMOTEIO */
    json_t *result; /* if it is 0: json_incref to keep it */
    const char *line; /* else: why, beginning with the host's name */
};

typedef void (*remote_answer)(void *context, struct remote_host *host,
                              const struct remote_reply *reply);

/* Asks the agent of a host. Takes over `params` (or NULL). `answer` (may be NULL) is called exactly once, later, within
 * remote_poll, unless the session is freed before. While the host is away the request waits for it, until
 * `timeout_ms` have passed. */
void remote_call(struct remote *remote, struct remote_host *host, const char *method,
                 json_t *params, int timeout_ms, remote_answer answer, void *context);

/* Forgets a call, by its context: it is not answered. */
void remote_drop_call(struct remote *remote, const void *context);

/* ---- programs ---- */

/* How to ask one host, and wait: `ask` takes over `params`, and returns 0 and *ret_result, which the caller owns. */
struct remote_asking {
    const char *host; /* its name, for problems */
    int (*ask)(void *context, const char *method, json_t *params, json_t **ret_result,
               struct problem *problem);
    void *context;
};

#define REMOTE_HASH_SIZE 33

/* Asks where a program is on a host, and copies it there if it is missing and is a file here. Writes its hash if the
 * copy is to run; else "". `ret_directory`: where it is to run: `directory` if it is there, too, else the home of `user`
 * (NULL: the agent's). Returns 0, or a negative errno with a line in `problem`; -ENOENT: it is neither there nor here. */
int remote_find_program(const struct remote_asking *asking, const char *name, const char *directory,
                        const char *user, char ret_hash[REMOTE_HASH_SIZE],
                        char ret_directory[PATH_MAX], struct problem *problem);

/* ---- a filter on another machine ---- */

/*
 *      here: dpm filter --host web1 --ssh--> web1: dpm filter --relayed NAME --> copies there
 */
#define REMOTE_FILTER_REACHED                                                                      \
    "selected up to mark " /* what a filter says, then the mark's number */
#define REMOTE_FILTER_AGAIN                                                                        \
    75 /* exit status of a filter there that has lost its connection; EX_TEMPFAIL */
#define REMOTE_FILTER_BUSY                                                                         \
    76 /* of one whose copies another filter writes: perhaps the one before, which does not know yet that its connection broke */

struct remote_filter_options {
    const char *session;   /* one of this user's, with a server of its own */
    const char *host;      /* where the filter is to run */
    const char *rsh, *dpm; /* as of remote_options */
    const char *const
        *arguments; /* of dpm there, as remote_shell_start has them; NULL at the end */
    int descriptor; /* watched: when it is readable, `stops` says whether to end */
    bool (*stops)(void *context);
    void (*said)(void *context, const char *line); /* lines that the filter prints */
    void *context;
};

/* Starts a filter through the remote shell, and carries its connection to the session's server: until `stops`, or until
 * the filter has ended with status 0: it has everything. A connection that breaks is made again, while there is the
 * session. Returns 0, or a negative errno with a line in `problem`: if there was never a connection; -EPIPE: the session has
 * ended before the filter; -EREMOTEIO: the filter has failed. */
int remote_filter_run(const struct remote_filter_options *options, struct problem *problem);

/* ---- commands ---- */

/* Starts a command on a host through the remote shell: its standard input and output are these descriptors, which stay the
 * caller's; its standard error is this process's. The words must be safe for the remote shell: without blanks and quotes.
 * Returns 0, or a negative errno with a line in `problem`; the caller waits for *ret_pid. */
int remote_command(const char *rsh, const char *host, const char *const *words, int in, int out,
                   pid_t *ret_pid, struct problem *problem);

/* ---- words ---- */

/* Splits a command line as a shell does: blanks separate words; '...', "..." and \ quote; nothing else is special.
 * Returns how many words there are, and *ret_words with NULL at its end, to be freed with one free(); -EINVAL: a
 * quote is not closed; -ENOMEM. */
int remote_words(const char *text, char ***ret_words);

#endif
