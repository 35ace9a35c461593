/* SPDX-License-Identifier: MIT */
/* asking.h: requests to dpmd and its replies. Private to meter/session. */
#ifndef DPM_ASKING_H
#define DPM_ASKING_H

#include "meter/shared/session_protocol.h"

/* What comes with a reply: the contents of a file, or the rings and perhaps the memory of selection rules. */
struct asked_file {
    char *bytes; /* the caller frees it */
    size_t size;
    int rings[SESSION_DESCRIPTORS_MOST]; /* the caller closes them */
    size_t ring_count;
};

struct asking {
    int connection; /* negative: none */
    bool gone;      /* dpmd has ended the connection, or does not answer */
};

/* Connects to dpmd. Returns 0, or a negative errno with a line in `problem`. */
int asking_open(struct asking *asking, const char *socket_path, struct problem *problem);
void asking_done(struct asking *asking);

/* Sends a request, with a descriptor unless it is negative, and waits for the reply. Returns the reply's result; if that
 * is negative, its text is in `problem`. -ECONNRESET: dpmd is gone. `ret_file` is all zero before the call; NULL: nothing
 * comes with the reply. */
int ask(struct asking *asking, struct session_request *request, int descriptor,
        struct session_reply *ret_reply, struct asked_file *ret_file, struct problem *problem);

#endif
