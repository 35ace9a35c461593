/* SPDX-License-Identifier: MIT */
/* server_files.h: the files of a session's folder. Private to server/. */
#ifndef DPM_SERVER_FILES_H
#define DPM_SERVER_FILES_H

#include "server/server.h"

/* session.json:  {"dpm": 1, "session": "tsp", "id": "5f0c81d2", "port": 40123, "disk_bytes": ..., "memory_bytes": ..., "idle_seconds": ...,
 *                 "users": {"controller": "0f3a...", "filter": "...", "machine.web1": "..."}} */

/* Returns 0, and the caller owns *ret_session, whose members are valid; -ENOENT: there is none; or another negative errno
 * with a line in `problem`. */
int session_load(const char *folder, json_t **ret_session, struct problem *problem);

/* Replaces session.json, and nats.conf, which follows from it. Each is whole at any time. */
int session_store(const char *folder, json_t *session, struct problem *problem);

/* A new session. NULL: no memory, or no random numbers. */
json_t *session_make(const char *name, const struct fabric_server_options *options, uint16_t port);

/* Adds a user with a new password, unless there is one. Returns 1: added; 0: there is one; or a negative errno. */
int session_add_user(json_t *session, const char *user);

/* The name of the user of a machine. */
#define SERVER_USER_SIZE (FABRIC_NAME_MOST + 16)
void session_user_of_machine(const char *machine, char ret_user[SERVER_USER_SIZE]);

/* nats-server's configuration, which the caller owns; it may be JSON. NULL: no memory, or `folder` is not UTF-8. */
json_t *server_configuration(const char *folder, const json_t *session);

#endif
