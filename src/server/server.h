/* SPDX-License-Identifier: MIT */
/*
 * server.h: a session's own server, nats-server on 127.0.0.1, for one user.
 *
 *      FOLDER/              mode 0700; files 0600
 *        session.json       port, limits, users and their passwords
 *        nats.conf          nats-server's configuration, made from session.json
 *        server.log
 *        store/             JetStream's files
 *        supervisor         locked by the supervisor, while it lives
 *        attached           locked by who uses the session
 *
 * A supervisor, a process of its own, starts the server again when it dies. Both end by fabric_server_stop, when nothing
 * has been attached for long, or when the folder vanishes. No secret is in an argument or an environment.
 */
#ifndef DPM_SERVER_H
#define DPM_SERVER_H

#include "fabric/fabric.h"

#define FABRIC_SECRET_SIZE 33 /* a password: 32 hexadecimal digits */
#define FABRIC_ID_SIZE     9  /* 8 hexadecimal digits */

struct fabric_server_options {
    const char *session;   /* a valid name; NULL: that of the folder */
    uint64_t disk_bytes;   /* the most that JetStream stores; 0: 2 GiB */
    uint64_t memory_bytes; /* at which the server collects garbage eagerly; 0: 256 MiB */
    unsigned idle_seconds; /* without anything attached, after which all ends; 0: 24 hours */
};

struct fabric_server; /* an attachment */

/*
 * Starts the server of the session in `folder`, which is created if it is missing. If the session exists, it is attached to,
 * with the options it has, and its server is started if it does not run. Returns when it serves. The server stays when the
 * process ends. Call it before anything is metered, and early: the supervisor is a fork of this process, so it keeps the
 * memory that is mapped now.
 *
 * Errors, with a line in `problem`: -ENOENT: nats-server is not installed; -EPERM: the folder is another user's, or others
 * may read it; -EINVAL, -ENOSPC, -ETIMEDOUT ...
 */
int fabric_server_start(const char *folder, const struct fabric_server_options *options,
                        struct fabric_server **ret_server, struct problem *problem);

/* Attaches to a session that runs. -ENOENT: there is none. */
int fabric_server_attach(const char *folder, struct fabric_server **ret_server,
                         struct problem *problem);

/* Frees it; the server goes on. NULL is allowed. */
void fabric_server_detach(struct fabric_server *server);

/* The same for what only looks: a server that did not run before ends, unless the session is used by now. */
void fabric_server_leave(struct fabric_server *server);

/* Ends the server and its supervisor, and waits for that. Its files stay. Returns 0, also if none ran. */
int fabric_server_stop(const char *folder, struct problem *problem);

uint16_t fabric_server_port(const struct fabric_server *server);
const char *fabric_server_session(const struct fabric_server *server);

/* Tells the session from an earlier or later one of the same name; "": one that an older dpm has made. */
const char *fabric_server_id(const struct fabric_server *server);

/* The users of a session. A machine's user is called "machine.NAME". */
#define FABRIC_CONTROLLER "controller"
#define FABRIC_FILTER     "filter" /* filters and displays: consume packets, listen */

/* Adds the user of a machine, unless it exists, without disturbing other connections; returns when the server knows it. */
int fabric_server_add_machine(struct fabric_server *server, const char *machine,
                              struct problem *problem);

/* The machines that have users so far, in any order; NULL after the last. The name is valid until the server is detached. */
const char *fabric_server_machine(const struct fabric_server *server, size_t index);

/* How to connect as FABRIC_CONTROLLER or FABRIC_FILTER (`machine` NULL), or as a machine (`user` NULL). The strings are
 * valid until the server is detached. -ENOENT: no such machine. */
int fabric_server_credentials(const struct fabric_server *server, const char *user,
                              const char *machine, struct fabric_options *ret_options,
                              struct problem *problem);

/* fabric_server_credentials and fabric_open. */
int fabric_server_open(const struct fabric_server *server, const char *user,
                       struct fabric **ret_fabric, struct problem *problem);

#endif
