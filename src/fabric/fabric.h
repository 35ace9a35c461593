/* SPDX-License-Identifier: MIT */
/*
 * fabric.h: what goes between machines: packets of traces, control messages, output of processes. It is carried by NATS
 * with JetStream (libnats); server.h starts a session's own server, relay.h leads a connection through a remote shell.
 *
 *      dpm.SESSION.MACHINE.packets.REC.metadata|control|data   stream dpm-SESSION-packets: discards new ones when full
 *      dpm.SESSION.MACHINE.control                             request and reply, JSON-RPC 2.0
 *      dpm.SESSION.MACHINE.notice                              } stream dpm-SESSION-said:
 *      dpm.SESSION.MACHINE.output.PID.out|err                  } discards old ones when full
 *
 *      agent                              server                           controller, filter
 *      fabric_publish ------------------> dpm-SESSION-packets -----------> fabric_consumer_next
 *      fabric_notice, fabric_output ----> dpm-SESSION-said --------------> fabric_next: NOTICE, OUTPUT
 *      fabric_next: REQUEST <------------------------------------------    fabric_call
 *      fabric_answer, fabric_refuse ---------------------------------->    fabric_next: REPLY
 *
 * A fabric, its publishers and its requests belong to one thread; a consumer may belong to another. libnats has threads of
 * its own, which never call back: they put what comes into a queue, and fabric_descriptor becomes readable.
 *
 * libnats reconnects by itself, for ever. What was handed over and is not yet stored is sent again then; the server drops
 * what it has already. Publishing may block while the link takes nothing, at most 30 s; then it counts as lost. libnats
 * ignores SIGPIPE for the process from fabric_open on: restore it for programs that are started.
 */
#ifndef DPM_FABRIC_H
#define DPM_FABRIC_H

#include "base/base.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FABRIC_VERSION     1u       /* of the control protocol */
#define FABRIC_NAME_MOST   63u      /* bytes in the name of a session, a machine or a recording */
#define FABRIC_BODY_MOST   1000000u /* bytes in a control message */
#define FABRIC_OUTPUT_MOST 65536u   /* bytes in a piece of output */
#define FABRIC_PACKET_MOST 1000000u /* bytes in a packet; the metadata of a trace is one, too */

/* ---- names ---- */

/* Whether this can be the name of a session, a machine or a recording: 1 to 63 of a-z, 0-9 and '-'. */
bool fabric_name_valid(const char *name);

/* Makes a valid name of what a user wrote: "root@Web_1.example.org" -> "root-web-1-example-org". Different texts may give
 * the same name. */
void fabric_name_make(const char *text, char ret_name[FABRIC_NAME_MOST + 1]);

/* ---- connection ---- */

struct fabric;

struct fabric_options {
    const char *url;      /* nats://HOST:PORT, tls://HOST:PORT; several: separated by commas */
    const char *user;     /* or NULL */
    const char *password; /* or NULL */
    const char *
        credentials; /* a file of credentials (.creds, or "user:password" in one line) instead; or NULL */
    const char *session; /* a valid name */
    const char *machine; /* a valid name for an agent; NULL for a controller or a filter */
    const char *inbox; /* the prefix of its own replies; NULL: "_INBOX_MACHINE", or "_INBOX.USER" */
    const char *
        authorities; /* certificates, PEM: who signs the server's; NULL: those that the machine trusts */
    const char *tls_name; /* the server's name in its certificate, if it is not that of the URL */
    bool relayed; /* through a relay: other servers of the cluster are not to be tried directly */
};

/* Whether this machine has libnats, which is loaded then, or with the first connection. Returns 0, or -ELIBACC with a line in
 * `problem` that names the package to install. */
int fabric_available(struct problem *problem);

/* Connects, within `timeout_ms`. The strings are copied. An agent hears requests from now on.
 *
 * Errors, with a line in `problem`: -EACCES: the server refuses the credentials; -ECONNREFUSED: there is no server;
 * -ETIMEDOUT; -EINVAL: a name or an option is not valid; -ELIBACC: see fabric_available; -ENOMEM ... */
int fabric_open(const struct fabric_options *options, int timeout_ms, struct fabric **ret_fabric,
                struct problem *problem);

/* Ends at once; what is not stored yet is lost (fabric_settle). Frees the fabric. Consumers and publishers are to be freed
 * before. NULL is allowed. */
void fabric_close(struct fabric *fabric);

/* Becomes readable when fabric_next has something to do; poll it, do not read it. It remains the fabric's. */
int fabric_descriptor(const struct fabric *fabric);

bool fabric_connected(const struct fabric *fabric);

/* ---- addresses and credentials, to be handed to an agent ---- */

#define FABRIC_HOST_SIZE        256u
#define FABRIC_CREDENTIALS_SIZE 8192u  /* bytes in a file of credentials, with a byte for its end */
#define FABRIC_AUTHORITIES_SIZE 16384u /* the same, of certificates */

struct fabric_address {
    char host[FABRIC_HOST_SIZE]; /* without the brackets of [::1] */
    char port[8];
    bool tls;
};

/* Takes the first address of `urls` apart; *ret_rest: those after it, or NULL. Returns 0, or -EINVAL with a line in
 * `problem`. */
int fabric_address_parse(const char *urls, struct fabric_address *ret_address,
                         const char **ret_rest, struct problem *problem);

struct fabric_secrets {
    char user[128], password[256];      /* of a file with user:password in one line */
    char file[FABRIC_CREDENTIALS_SIZE]; /* else the text of a .creds file */
};

/* Reads a file of credentials. The caller erases *ret_secrets (explicit_bzero). Errors, with a line in `problem`. */
int fabric_read_secrets(const char *path, struct fabric_secrets *ret_secrets,
                        struct problem *problem);

/* Reads a file of certificates. */
int fabric_read_authorities(const char *path, char ret_text[FABRIC_AUTHORITIES_SIZE],
                            struct problem *problem);

/* ---- what comes ---- */

enum fabric_kind {
    FABRIC_REQUEST, /* to an agent */
    FABRIC_REPLY,   /* to fabric_call_begin */
    FABRIC_NOTICE,  /* fabric_listen */
    FABRIC_OUTPUT,  /* fabric_listen */
    FABRIC_STATE,   /* the connection was lost, has come back, or has ended for good */
    FABRIC_TROUBLE, /* something that was sent is refused: not permitted, the stream is full; `text` */
};

enum fabric_state { FABRIC_CONNECTED, FABRIC_DISCONNECTED, FABRIC_ENDED };

#define FABRIC_AT_UNKNOWN UINT64_MAX

/* All pointers are valid until fabric_message_done. */
struct fabric_message {
    enum fabric_kind kind;
    const char *machine; /* REPLY, NOTICE, OUTPUT: of which machine */

    const char *method; /* REQUEST, NOTICE */
    json_t *params; /* REQUEST, NOTICE: an object or an array; NULL: none. json_incref to keep it */
    struct fabric_request
        *request; /* REQUEST: to be answered or refused, at any time, exactly once */

    uint64_t call;  /* REPLY: what fabric_call_begin returned */
    int error;      /* REPLY: 0, or as fabric_call */
    int code;       /* REPLY: the JSON-RPC code if error is -EREMOTEIO */
    json_t *result; /* REPLY: if error is 0; json_incref to keep it */

    uint64_t
        sequence; /* NOTICE, OUTPUT: in the stream; a later controller goes on with the next one */
    uint64_t missed; /* NOTICE, OUTPUT: how many before this one the stream had discarded */
    pid_t pid;       /* OUTPUT */
    bool err;        /* OUTPUT: standard error */
    uint64_t
        at; /* OUTPUT: bytes of it before these, or FABRIC_AT_UNKNOWN; the same piece may come twice */
    const void *bytes; /* OUTPUT; no bytes: the process has closed it */
    size_t size;       /* OUTPUT; NOTICE: of its body */

    enum fabric_state state; /* STATE */
    char text[512];          /* STATE, TROUBLE, REPLY with an error: one line */

    void *held; /* private */
};

/* Takes the next message, without waiting. Also does what is due: sends again. So call it
 * until it returns 0, whenever the descriptor is readable. Returns 1: a message, which fabric_message_done must release; 0:
 * none. Malformed requests never come here: they have been refused. */
int fabric_next(struct fabric *fabric, struct fabric_message *ret_message);

/* Releases what a message holds, except its request. */
void fabric_message_done(struct fabric_message *message);

/* ---- control: JSON-RPC 2.0 ---- */

/*
 * A request:  {"jsonrpc": "2.0", "dpm": 1, "id": 7, "method": "start", "params": {...}}
 * A reply:    {"jsonrpc": "2.0", "dpm": 1, "id": 7, "result": ...}    or "error": {"code": -32601, "message": "..."}
 * A notice:   {"jsonrpc": "2.0", "dpm": 1, "method": "terminated", "params": {...}}
 */
enum fabric_code {
    FABRIC_PARSE_ERROR = -32700,     /* not JSON; sent by the library */
    FABRIC_INVALID_REQUEST = -32600, /* JSON, but no request; sent by the library */
    FABRIC_NO_METHOD = -32601,
    FABRIC_INVALID_PARAMS = -32602,
    FABRIC_INTERNAL_ERROR = -32603,
    FABRIC_FAILED = -32000, /* what was asked for did not work; the message is a problem's line */
    FABRIC_OTHER_VERSION = -32001, /* sent by the library */
    FABRIC_REFUSED = -32002,       /* not allowed, or not in this state */
    FABRIC_NONE = -32003,          /* there is no such process */
};

struct fabric_request;

/* Answer and free the request. fabric_answer takes over `result` (NULL: null). A reply that is larger than
 * FABRIC_BODY_MOST is replaced by an error. */
void fabric_answer(struct fabric_request *request, json_t *result);
void fabric_refuse(struct fabric_request *request, int code, const char *text);

/* Asks the agent of a machine, and waits. `params` is borrowed: an object, an array, or NULL. Other messages stay queued.
 *
 * Returns 0, and the caller owns *ret_result. Errors, with a line in `problem`: -EHOSTUNREACH: no agent of this name is
 * connected; -ETIMEDOUT; -EREMOTEIO: the agent refuses, and *ret_code (may be NULL) tells with which code;
 * -EPROTONOSUPPORT: the agent is of another version; -EPROTO: what came is no reply; -E2BIG; -ENOTCONN, -ENOMEM. */
int fabric_call(struct fabric *fabric, const char *machine, const char *method, json_t *params,
                int timeout_ms, json_t **ret_result, int *ret_code, struct problem *problem);

/* The same without waiting: a REPLY comes later, or never. Returns the number of the call, greater than 0, or a negative errno. */
int64_t fabric_call_begin(struct fabric *fabric, const char *machine, const char *method,
                          json_t *params, struct problem *problem);

/* A number of what was received: 0 if it is missing, no whole number, or negative. */
uint64_t fabric_count(const json_t *object, const char *key);

/* ---- notices and output ---- */

/* For agents. Hand over a message, which is stored in order, even if the server has to be waited for. `params` is borrowed.
 * A piece of no bytes reports the end of that output; `at`: how many bytes of it came before. Returns 0; -EAGAIN: too much waits already, try again when the
 * descriptor has become readable; -E2BIG: more than FABRIC_BODY_MOST or FABRIC_OUTPUT_MOST bytes; -ENOMEM. */
int fabric_notice(struct fabric *fabric, const char *method, json_t *params);
int fabric_output(struct fabric *fabric, pid_t pid, bool err, uint64_t at, const void *bytes,
                  size_t size);

/* How many notices are not stored yet. They are stored one after the other. */
unsigned fabric_notices_pending(const struct fabric *fabric);

/* Whether the server has refused one that is not stored yet: there is no stream, for example. Else it may be on its way. */
bool fabric_notices_refused(const struct fabric *fabric);

/* For controllers: from now on, NOTICE and OUTPUT come, of all machines, from number `sequence` of the stream on (0: the
 * first that is still there). A machine's come in order and once. Call it once. */
int fabric_listen(struct fabric *fabric, uint64_t sequence, struct problem *problem);

/* Waits until everything that was handed over (notices, output, packets) is stored. Returns 0, or -ETIMEDOUT with a line
 * in `problem` that says how much is not. */
int fabric_settle(struct fabric *fabric, int timeout_ms, struct problem *problem);

/* ---- streams ---- */

struct fabric_limits {
    uint64_t
        packet_bytes; /* that the stream of packets keeps; then packets are refused. 0: 1 GiB */
    uint64_t
        said_bytes; /* that the stream of notices and output keeps; then the oldest are removed. 0: 64 MiB */
    uint64_t window_ms; /* within which the server recognizes what is sent again. 0: 2 minutes */
};

/* For the controller: creates the session's streams, or gives those that exist these limits. `limits` may be NULL. */
int fabric_create_streams(struct fabric *fabric, const struct fabric_limits *limits,
                          struct problem *problem);

/* Whether there are streams of this session at the server: 1, 0, or a negative errno with a line in `problem`. */
int fabric_has_streams(struct fabric *fabric, struct problem *problem);

/* The same of the one that keeps notices and output. */
int fabric_has_said(struct fabric *fabric, struct problem *problem);

/* For the controller: removes the session's streams with all that is in them. Streams that are not there are no error. */
int fabric_remove_streams(struct fabric *fabric, struct problem *problem);

/* For the controller: makes space in the stream of packets: removes those that every consumer which gets them has
 * acknowledged, except the last of each subject, from which an agent that comes back learns where to go on. Returns how many, or a negative errno. */
int64_t fabric_trim(struct fabric *fabric, struct problem *problem);

/* How far the consumers of packets are, and which of those that lack some lags furthest behind: the server keeps these. Returns 1;
 * 0: there is no consumer; or a negative errno with a line in `problem`. */
struct fabric_slowest {
    char name[FABRIC_NAME_MOST + 1];
    uint64_t acknowledged; /* by all consumers: everything up to this number of the stream */
    uint64_t left;         /* packets that `name` has not acknowledged; 0: none lacks any */
};

int fabric_slowest(struct fabric *fabric, struct fabric_slowest *ret_slowest,
                   struct problem *problem);

/* How many packets of the stream the consumer of this name has not acknowledged, or a negative errno; -ENOENT: there is
 * no such consumer. */
int64_t fabric_left(struct fabric *fabric, const char *durable, struct problem *problem);

/* ---- what a controller keeps at the server ---- */

/* Stores a value under a name of a-z, A-Z, 0-9, '-', '_' and '.'; NULL removes it. It survives controller and server. */
int fabric_keep(struct fabric *fabric, const char *key, json_t *value, struct problem *problem);

/* All that is kept: an object of names and values, which the caller owns. */
int fabric_kept(struct fabric *fabric, json_t **ret_all, struct problem *problem);

struct fabric_usage {
    uint64_t packets, packet_bytes, packet_bytes_most;
    uint64_t consumers; /* of packets: filters that have come, and not ended in order */
    uint64_t said, said_bytes,
        said_first; /* said_first: the sequence of the oldest that is still there */
};

int fabric_usage(struct fabric *fabric, struct fabric_usage *ret_usage, struct problem *problem);

/* The same without waiting: asks, and fabric_next takes the answer when it comes. */
void fabric_usage_ask(struct fabric *fabric);

/* What the last answer has said, of packets only, once. Returns false if none has come since the last call. */
bool fabric_usage_answered(struct fabric *fabric, struct fabric_usage *ret_usage);

/* For how long, in ns, JetStream has not answered this fabric: neither fabric_usage_ask nor fabric_listen, whose questions
 * it answers within FABRIC_SILENCE_USUAL. Its server may accept connections all the same. It needs no permission of its
 * own. Before fabric_listen it means nothing. */
#define FABRIC_SILENCE_USUAL 20000000000ull
uint64_t fabric_silence(const struct fabric *fabric);

/* ---- packets, agent side ---- */

enum fabric_part { FABRIC_METADATA, FABRIC_CONTROL, FABRIC_DATA, FABRIC_PARTS };

/* Where a packet stands in its part of a trace. Places of one trace are ordered by file, then number. */
struct fabric_place {
    uint8_t uuid[16]; /* of the trace */
    uint32_t file;    /* number of the pair of files, 0 first */
    uint64_t
        number; /* of the packet in that file (packet_seq_num); of metadata: its version, 0, 1, 2 ... */
};

/* By file and number: less than, equal to, or greater than 0. */
int fabric_place_compare(const struct fabric_place *a, const struct fabric_place *b);

/* What the stream of packets has of this machine's recording: everything up to *ret_place (as far as it was published) is
 * stored. An agent that comes back goes on behind it; what it sends again is recognized. Returns 0; -ENOENT: nothing is
 * stored; -ENOTCONN, -ETIMEDOUT, -EPROTO with a line in `problem`. */
int fabric_last(struct fabric *fabric, const char *recording, enum fabric_part part,
                struct fabric_place *ret_place, struct problem *problem);

struct fabric_publisher;

/* The publisher of one recording. It keeps copies of at most `window` packets (0: 64) that are not stored yet, all parts
 * together. Each is sent again after a reconnection and every few seconds, until it is stored. */
int fabric_publisher_new(struct fabric *fabric, const char *recording, unsigned window,
                         struct fabric_publisher **ret_publisher, struct problem *problem);

/* What is not stored yet is lost. NULL is allowed. */
void fabric_publisher_free(struct fabric_publisher *publisher);

/* Says that everything up to `place` is stored, or need not be: for an agent that comes back, with what fabric_last
 * returned; before the part's first packet. */
void fabric_publisher_resume(struct fabric_publisher *publisher, enum fabric_part part,
                             const struct fabric_place *place);

/* Hands over the next packet of a part, which is copied. Places must increase; there may be gaps, for packets that the
 * caller no longer has. A place of another trace (uuid) begins anew, when those of the earlier one are stored (-EAGAIN).
 *
 * Returns 0; -EAGAIN: the window is full, try again when the descriptor has become readable; -ENOSPC: the same, because the
 * stream is full: it is tried again every second until there is space, and meanwhile the caller keeps the packets or
 * decides to end; -EINVAL: places must increase; -EMSGSIZE; -ENOMEM. */
int fabric_publish(struct fabric_publisher *publisher, enum fabric_part part,
                   const struct fabric_place *place, const void *bytes, size_t size);

/* The last place that is stored together with everything before it. Returns false if there is none. */
bool fabric_acknowledged(const struct fabric_publisher *publisher, enum fabric_part part,
                         struct fabric_place *ret_place);

struct fabric_publisher_state {
    unsigned pending; /* packets that are not stored yet */
    uint64_t stored;
    uint64_t resent;  /* how often one was sent again */
    bool full;        /* the stream has no space now */
    char reason[256]; /* why the server did not store one, the last time; "": it has stored all */
};

void fabric_publisher_look(const struct fabric_publisher *publisher,
                           struct fabric_publisher_state *ret_state);

/* ---- packets, filter side ---- */

struct fabric_consumer;

/* A durable consumer of the stream of packets. What was got and not acknowledged comes again, after `again_ms` (0: 30 s) or
 * with the next one of this name, which may then get from the beginning what the server still has: see fabric_consumer_has.
 * `machine`: only of this one; NULL: of all. `durable` is a valid name. */
int fabric_consumer_new(struct fabric *fabric, const char *machine, const char *durable,
                        int again_ms, struct fabric_consumer **ret_consumer,
                        struct problem *problem);

/* The durable consumer stays at the server. NULL is allowed. */
void fabric_consumer_free(struct fabric_consumer *consumer);

/* Removes it at the server, too. */
int fabric_consumer_remove(struct fabric_consumer *consumer, struct problem *problem);

/* Says what the caller has stored already, of an earlier life: up to `place`. */
int fabric_consumer_has(struct fabric_consumer *consumer, const char *machine,
                        const char *recording, enum fabric_part part,
                        const struct fabric_place *place);

struct fabric_packet {
    const char *machine;
    const char *recording;
    enum fabric_part part;
    struct fabric_place place;
    uint64_t sequence; /* in the stream */
    const void *bytes; /* the packet as the agent read it: not checked */
    size_t size;

    void *held; /* private */
};

/* Waits for the next packet, at most `timeout_ms`. Packets of one part come in order of their places, each once: one that
 * was sent twice is dropped, one that comes too early is held back until those before it have come. Those of different
 * parts come in any order.
 *
 * Returns 1: a packet, for which fabric_consumer_done must be called; it is valid until then. 0: none came. A negative errno
 * with a line in `problem`: the connection or the consumer is gone. While the server is away none comes. */
int fabric_consumer_next(struct fabric_consumer *consumer, int timeout_ms,
                         struct fabric_packet *ret_packet, struct problem *problem);

/* Releases the packet. `stored`: acknowledges it; else it comes again, later. */
void fabric_consumer_done(struct fabric_consumer *consumer, struct fabric_packet *packet,
                          bool stored);

struct fabric_consumer_state {
    uint64_t packets, bytes; /* that fabric_consumer_next returned */
    uint64_t doubles;        /* dropped */
    uint64_t early;          /* held back: how often */
    uint64_t malformed;      /* dropped: the headers are missing or wrong; `reason` */
    char reason[256];
};

void fabric_consumer_look(const struct fabric_consumer *consumer,
                          struct fabric_consumer_state *ret_state);

/* How many packets the server holds that this consumer has not acknowledged, or a negative errno. */
int64_t fabric_consumer_left(struct fabric_consumer *consumer, struct problem *problem);

#endif
