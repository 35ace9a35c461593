/* SPDX-License-Identifier: MIT */
/*
 * hosts.h: a recording on several machines, from this one: what `dpm run` and `dpm acquire` with --host share.
 * Private to command/.
 *
 *      hosts_begin     session, connections; who cannot be reached is left out
 *      hosts_record    recording.open on all; copies of the traces in FOLDER/HOST from now on
 *      hosts_poll      everything that happens, for a moment
 *      hosts_end       recording.end on all; waits until all packets are stored
 *      hosts_report    one report over all copies
 *      hosts_done
 */
#ifndef DPM_HOSTS_H
#define DPM_HOSTS_H

#include "command/hosts/hosts_kept.h"
#include "command/hosts/hosts_live.h"
#include "command/hosts/hosts_options.h"
#include "command/hosts/hosts_storing.h"
#include "command/recording/recording_command.h"
#include "command/shared/progress.h"
#include "conduct/conduct.h"
#include "filter/filter.h"
#include "recorder/process_tree.h"

#include <sys/types.h>

#define HOSTS_RECORDING FILTER_MAIN
#define HOSTS_PREFIX    FILTER_MAIN "-" /* of other recordings of its filter, which dpm job may add */

/* One host. */
struct metered_host {
    struct remote_host *remote;
    bool opened;     /* it has a recording */
    bool leaves;     /* it refuses what it was asked for: its agent ends */
    bool refused;    /* it had one, of which nothing came: it may not meter what was asked for */
    bool idle;       /* no metered process lives there */
    bool settled;    /* it has said what it recorded, at the end */
    bool ended;      /* its recording */
    bool cut;        /* its recording ended by itself, or out of reach: records may be missing */
    bool unended;    /* its agent could not end it, for a reason that was printed */
    bool agent_died; /* another one goes on with what it left, but knows nothing of its processes */
    bool stored;     /* what it recorded is waited for, or has come */
    bool full;       /* its copy has reached its largest size */
    bool rejected;   /* nothing can be stored of a trace of it, which was said */
    bool arrived;    /* all of it is stored, as far as it was sent */
    uint64_t until;  /* what is stored goes up to here, ns since 1970; 0: not known */
    json_t *notes;   /* on its recording, not said yet; or NULL */
    /* the version of the rules that it has, and that was sent last ... */
    uint32_t rules_told, rules_sent;
    bool rules_asked;  /* ... whose answer is to come */
    bool rules_failed; /* it was said */
    uint64_t processes, records, lost;
};

struct hosts {
    const struct hosts_options *options;
    struct recording_command
        recorder;          /* its options, messages and signals; it records nothing itself */
    char folder[PATH_MAX]; /* of the copies */
    char session[FABRIC_NAME_MOST + 1];
    int last_signal;
    bool all_or_none; /* one host that fails ends everything */
    struct conduct *conduct;
    struct metered_host *list; /* in the order of the command line */
    size_t count;
    struct hosts_storing storing;
    uint64_t until;      /* of what acquires for a while: ns since 1970; 0: without end */
    bool changed;        /* what is kept for the next controller, and not stored yet */
    uint64_t kept;       /* when that was stored; 0: it was not yet */
    uint64_t kept_heard; /* and what had been heard then */
    bool shows;          /* records and processes are asked for, to be shown */
    bool missing;        /* messages of the hosts: they are asked for what these would have said */
    struct progress progress;
    struct hosts_live live;
    bool lines_failed;      /* of JSON; was said */
    uint32_t rules_version; /* of the file of rules; 0: as it was first read */
    uint64_t rules_tried;   /* when hosts were last told */
    uint64_t looked;        /* when states were asked for, and space was made */
    uint64_t silent;        /* ns that passed while the server answered nothing */
    bool broken;   /* the server has not answered for so long that the hosts were left out */
    void *context; /* the command's */
    /* what `dpm run` does with ends and output of its processes; NULL: nothing */
    void (*happens)(struct hosts *hosts, const struct conduct_event *event);
    /* what it does with the first signals; NULL: any signal ends the recording */
    void (*interrupted)(struct hosts *hosts, int signal);
};

/* Starts the session and connects. `name`: for the folder and the session, unless options name them. The caller has
 * set the options and callbacks, and recording_command_init was called. Returns 0, or a negative errno with a line in
 * `problem`. hosts_done is to be called in any case. */
int hosts_begin(struct hosts *hosts, const char *name, struct problem *problem);

/* Opens a recording on all hosts. */
int hosts_record(struct hosts *hosts, struct problem *problem);

/* Finds the recordings of a session that was attached to. A host that has none any more is left out. */
int hosts_resume(struct hosts *hosts, struct problem *problem);

/* Asks every host that has not failed, and waits for all answers. `params` makes the parameters for one (NULL: none);
 * `took` gets the results. A host that fails is left out. Returns 0; with all_or_none, or if none is left, a negative
 * errno with a line in `problem`. */
int hosts_ask(struct hosts *hosts, const char *method,
              json_t *(*params)(struct hosts *hosts, struct metered_host *host),
              void (*took)(struct hosts *hosts, struct metered_host *host, json_t *result),
              struct problem *problem);

/* hosts_rules.c. The newest rules, for a request; NULL: there are none. */
json_t *hosts_rules(const struct hosts *hosts);

/* Whether a request can contain these rules; NULL: there are none. Returns 0, or -EILSEQ with a line in `problem`. */
int hosts_rules_check(const struct rules *rules, struct problem *problem);

/* Tells hosts of new rules if their file has changed. */
void hosts_rules_step(struct hosts *hosts);

/* At the end: names the hosts that have not confirmed the newest rules. */
void hosts_rules_end(struct hosts *hosts);

/* Waits for what happens, `timeout_ms` at most. */
void hosts_poll(struct hosts *hosts, int timeout_ms);

/* hosts_server.c. Every few seconds, `passed` ns after the last time: leaves all hosts out if the server has answered nothing
 * for too long. */
void hosts_look_at_server(struct hosts *hosts, uint64_t passed);

/* How many hosts record, and how many of them have no metered process any more. */
size_t hosts_recording(const struct hosts *hosts);
size_t hosts_idle(const struct hosts *hosts);

uint64_t hosts_processes(const struct hosts *hosts);

/* Prints a line about a host. */
void hosts_say(struct hosts *hosts, const struct remote_host *host, const char *line);

/* hosts_notes.c. Prints a note, unless it was printed. */
void hosts_say_note(struct hosts *hosts, const struct metered_host *host, const char *text);

/* Prints the `notes` of an answer. */
void hosts_say_notes(struct hosts *hosts, const struct metered_host *host, json_t *result);

/* Prints the notes that the hosts have, and forgets them. A note that all hosts have is printed once. */
void hosts_say_common_notes(struct hosts *hosts);

/* Whether it is known how many records of the host are lost, once hosts_end has returned. */
bool hosts_loss_known(const struct metered_host *host);

/* Ends the recordings, and waits for all packets. Ends the agents. Returns 0, or -EIO: something is missing, and was
 * reported. */
int hosts_end(struct hosts *hosts);

/* Ends the agents, and removes what was recorded: something failed at the beginning. */
void hosts_abandon(struct hosts *hosts);

/* hosts_report.c. Returns 0, or a negative errno with a line in `problem`. */
int hosts_report(struct hosts *hosts, struct problem *problem);

void hosts_done(struct hosts *hosts);

/* ---- the commands ---- */

struct hosts_acquire {
    const struct process_choice *choice;
    const char *const *pids; /* as the user wrote them */
    size_t pid_count;
    bool all;
    enum process_below below; /* whose descendants are taken, too */
    uint64_t duration;        /* ns; 0: until a signal */
    uint64_t until;   /* of a session that is attached to: ns since 1970; 0: until a signal */
    const char *name; /* of the folder */
};

/* Each returns the exit status. */
int hosts_acquire(const struct hosts_options *options,
                  const struct recording_command_options *recorder,
                  const struct hosts_acquire *acquire);

struct hosts_run {
    char **command; /* common; NULL: there is none */
    const char *user;
    bool wait;
};

int hosts_run(const struct hosts_options *options, const struct recording_command_options *recorder,
              const struct hosts_run *run);

#endif
