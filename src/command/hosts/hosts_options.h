/* SPDX-License-Identifier: MIT */
/*
 * hosts_options.h: the options of `dpm run` and `dpm acquire` on several machines. Private to command/.
 *
 *      dpm acquire --host web1,web2,db1 --name nginx           three hosts
 *      dpm run --host a:./server --host b:'./client -n 5'      a command each, started in this order
 *      dpm run --host a,b,c ./worker                           one command on all of them
 *      dpm run --host a:./server --host b,c ./worker           both
 */
#ifndef DPM_HOSTS_OPTIONS_H
#define DPM_HOSTS_OPTIONS_H

#include "command/recording/recording_options.h"
#include "command/shared/command.h"

#include "remote/remote.h"

#include <jansson.h>

struct wanted_host {
    char *name;
    char **command; /* its own, NULL at the end; NULL: the common one */
};

/* All zero: no hosts. */
struct hosts_options {
    struct wanted_host *list; /* in the order given */
    size_t count, capacity;
    const char *rsh, *dpm; /* NULL: the defaults */
    const char *session;   /* its name; NULL: made from the trace's name */
    uint64_t disk;         /* that the session's server may use; 0: its default */
    /* a site's server; all NULL: one of the session's own */
    const char *fabric, *credentials, *agent_credentials, *authorities;
    uint64_t alone;     /* ns that agents go on without a connection; 0: the default */
    json_t *loaded;     /* of a session that is attached to: has the words of these options */
    const char *attach; /* the session of a controller that has ended; NULL: begin one */
    bool others;        /* one of the options that need --host was given */
};

enum hosts_option {
    HOSTS_HOST = OPTION_SHARED + 200,
    HOSTS_RSH,
    HOSTS_DPM,
    HOSTS_SESSION,
    HOSTS_DISK,
    HOSTS_FABRIC,
    HOSTS_CREDENTIALS,
    HOSTS_AGENT_CREDENTIALS,
    HOSTS_AUTHORITIES,
    HOSTS_ALONE,
    HOSTS_END,
};

extern const struct command_option hosts_option_rows[];

static inline bool hosts_has_option(int option)
{
    return option >= HOSTS_HOST && option < HOSTS_END;
}

/* Handles one of them. Returns as option_number does. */
int hosts_take_option(const char *command, int option, struct hosts_options *options);

/* Call after the last option, and recording_options_done: refuses what has no meaning on several machines. `common`:
 * a command for those without their own; `runs`: hosts may have commands. Returns -1, or the exit status after a
 * usage error. */
int hosts_options_check(const char *command, const struct hosts_options *options,
                        const struct recording_command_options *recorder, bool runs, bool common);

/* How the session that these options describe is reached; it has this name, which must outlive the result. `descriptor`: to
 * be watched, too. */
struct remote_options hosts_session_options(const struct hosts_options *options,
                                            const char *session, int descriptor);

/* Adds the hosts to the session, each once: remote_at has them in the order of the options. Errors: as of remote_add. */
int hosts_options_add(const struct hosts_options *options, struct remote *remote,
                      struct problem *problem);

void hosts_options_done(struct hosts_options *options);

#endif
