/* SPDX-License-Identifier: MIT */
/*
 * relay.h: a connection to the server that goes through the standard input and output of a remote shell.
 *
 *      agent: libnats -> 127.0.0.1, relay_listen -> descriptor -> ssh -> relay_connect -> 127.0.0.1:PORT, nats-server
 *
 * First a line of JSON goes each way over the descriptor: the hello, from the controller, with the credentials; and the
 * agent's answer. Then the bytes of one NATS connection follow. When it ends, at any of these places, all of it ends, and the
 * controller starts the remote shell again, which attaches a new descriptor to the agent.
 */
#ifndef DPM_RELAY_H
#define DPM_RELAY_H

#include "fabric/fabric.h"

/* ---- the first line each way ---- */

#define RELAY_LINE_MOST 32768u /* bytes, with the newline */

struct relay_hello {
    char session[FABRIC_NAME_MOST + 1];
    char machine[FABRIC_NAME_MOST + 1];
    char user[128];
    char password[256];
    /* what follows may be left out */
    char
        id[FABRIC_NAME_MOST + 1]; /* of the session: its agent is no other session's of this name */
    unsigned alone; /* seconds that the agent goes on without a connection; 0: its default */
    char tls_name[FABRIC_HOST_SIZE]; /* "": without encryption of its own */
    char credentials
        [FABRIC_CREDENTIALS_SIZE]; /* the text of a .creds file, in place of user and password */
    char authorities[FABRIC_AUTHORITIES_SIZE]; /* certificates of those who sign the server's */
};

struct relay_answer {
    char version[64]; /* of dpm */
    char host[256];   /* the machine's own name */
    char error[512];  /* "": none; else one line, and nothing follows */
};

/* Each writes or reads one line within `timeout_ms`, and not one byte more. Reading returns 0, or with a line in `problem`
 * -EPIPE: the other side ended; -EPROTO: something else came (its beginning is in the line: often what a shell's start-up
 * file printed); -EPROTONOSUPPORT: another version of the protocol; -ETIMEDOUT ... */
int relay_send_hello(int out, const struct relay_hello *hello, int timeout_ms,
                     struct problem *problem);
int relay_receive_hello(int in, int timeout_ms, struct relay_hello *ret_hello,
                        struct problem *problem);
int relay_send_answer(int out, const struct relay_answer *answer, int timeout_ms,
                      struct problem *problem);
int relay_receive_answer(int in, int timeout_ms, struct relay_answer *ret_answer,
                         struct problem *problem);

/* ---- bytes ---- */

struct relay;

/* Agent side: listens on 127.0.0.1 for connections of this very process; any other is closed at once. A thread moves the
 * bytes. If the server does not answer the first bytes of a connection within eight seconds, all of it ends. */
int relay_listen(struct relay **ret_relay, struct problem *problem);

uint16_t relay_port(const struct relay *relay);

/* Takes over a pair of descriptors (which may be the same one) and drops those it had: from now on, connections lead there.
 * Without any, connections are closed at once, and libnats tries again. */
void relay_attach(struct relay *relay, int in, int out);

/* Controller side: connects to 127.0.0.1:`port` and moves the bytes between that and a pair of descriptors, which it takes
 * over, also in case of an error. */
int relay_connect(uint16_t port, int in, int out, struct relay **ret_relay,
                  struct problem *problem);

/* The same, to the first of these servers that takes the connection within a few seconds (fabric_address_parse). */
int relay_connect_to(const char *urls, int in, int out, struct relay **ret_relay,
                     struct problem *problem);

/* Whether those of these servers that can be reached want encryption although the address begins with nats://. libnats would
 * begin to encrypt by itself; an agent, whose server is the relay, cannot check its certificate then. Returns 0, or a
 * negative errno with a line in `problem`. */
int relay_check_scheme(const char *urls, struct problem *problem);

/* Becomes readable when the descriptors have ended: relay_ended is then true, until others are attached. */
int relay_descriptor(const struct relay *relay);
bool relay_ended(struct relay *relay);

/* Closes everything and ends the thread. NULL is allowed. */
void relay_close(struct relay *relay);

#endif
