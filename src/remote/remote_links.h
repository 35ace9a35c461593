/* SPDX-License-Identifier: MIT */
/*
 * remote_links.h: the connections to the hosts: one remote shell for each, which carries the agent's connection to
 * the server. Private to remote/.
 */
#ifndef DPM_REMOTE_LINKS_H
#define DPM_REMOTE_LINKS_H

#include "relay/relay.h"
#include "remote/remote.h"
#include "remote/remote_requests.h"
#include "remote/remote_shell.h"
#include "remote/remote_site.h"

#include <poll.h>

struct remote_link {
    struct remote_shell shell;
    struct relay *relay;
    uint64_t deadline; /* STARTING, LINKED: when it has taken too long */
    uint64_t lost;     /* AWAY: since when */
    uint64_t due;      /* AWAY: when to try again */
    unsigned tries;    /* since it was lost */
};

struct remote {
    struct remote_options options; /* strings are copied */
    char *rsh, *dpm, *session;
    char folder[PATH_MAX];        /* "": none that this process may remove */
    int lock;                     /* of the session: it has one controller; negative: none */
    struct fabric_server *server; /* NULL: it is the site's */
    json_t *site_words;           /* NULL: it is our own */
    struct remote_site *site;     /* the same */
    bool has_streams;
    struct fabric *fabric;
    struct fabric *to_filters; /* NULL: nothing was told yet */
    struct remote_host **hosts;
    size_t count, capacity;
    struct remote_calls calls;
    struct pollfd *files; /* for remote_poll */
    size_t file_capacity;
};

#define LINK_FILES 3 /* per host */

/* Starts the remote shell of a host that is not connected. */
void link_start(struct remote *remote, struct remote_host *host);

/* Writes what to poll; returns how many. */
size_t link_files(const struct remote_host *host, struct pollfd files[LINK_FILES]);

/* Does what is due. */
void link_step(struct remote *remote, struct remote_host *host);

/* Ends the shell and the relay. */
void link_end(struct remote_host *host);

/* The host is out. */
void link_give_up(struct remote *remote, struct remote_host *host, const char *line);

#endif
