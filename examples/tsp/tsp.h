/* SPDX-License-Identifier: MIT */
/*
 * tsp.h: the travelling salesman computation: shared by its two programs, the controller `tsp` and the server
 * `tsp-server`.
 *
 *     tsp.c ── options, result        tsp_search.c ── the search: versions 1, 2 and 3
 *       │                                │
 *       └── tsp_crew.c ── the servers: start, use, end ────── tsp_message.c ── tsp_server.c
 *                                                                                 │
 *     tsp_problem.c ── the cost matrix, an independent solver     tsp_paths.c ── bounds on sets of
 *                                                                  paths (controller and server)
 *
 * Functions return 0 or a positive result, or a negative errno; those with a `struct problem` put a one-line message
 * into it.
 */
#ifndef TSP_H
#define TSP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CITIES_LEAST  3
#define CITIES_LIMIT  32 /* a set of cities is a 32-bit mask */
#define SERVERS_LIMIT CITIES_LIMIT
#define COST_LIMIT    1000000
#define FORBIDDEN     (1 << 28) /* more than any tour, and four of them still fit in an int32_t */

struct problem {
    char text[512];
};

/* Writes the line and returns `error`, a negative errno. */
int problem_set(struct problem *problem, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- the cost matrix (tsp_problem.c) ---- */

struct costs {
    unsigned cities;
    int32_t cost[CITIES_LIMIT][CITIES_LIMIT]; /* [from][to]; the diagonal is FORBIDDEN */
};

/* Costs 1 to 1000, uniform and independent in both directions, the same for the same seed. */
void costs_generate(struct costs *costs, unsigned cities, uint64_t seed);

#define EXACT_CITIES_LIMIT 16

/* Cost of the best tour by dynamic programming (Held and Karp 1962). It does not use bounds, so it checks the search
 * independently. At most EXACT_CITIES_LIMIT cities. Returns the cost, -E2BIG or -ENOMEM. */
int32_t costs_exact(const struct costs *costs);

/* ---- sets of paths (tsp_paths.c) ---- */

/* A path begins in city 0. A path through all cities is a tour: the way back to 0 is implied. */
struct path {
    uint8_t length;
    uint8_t cities[CITIES_LIMIT];
};

/* The most promising path found in a piece of the problem, and its bound: no tour of the piece costs less than
 * `value`. If the path is a tour, the value is its cost. */
struct choice {
    int32_t value;
    struct path path;
};

/* How many cities a server adds to its piece to make candidate paths, and how many more it looks ahead to value each
 * of them. */
#define CHOICE_DEPTH 2
#define LOOK_AHEAD   2

/* Whether `path` begins in 0 and visits no city twice. */
bool path_valid(const struct path *path, unsigned cities);

/* Whether every path that begins like `path` begins like `beginning`. */
bool path_begins(const struct path *path, const struct path *beginning);

/* Cost of a path through all cities and back to 0. */
int32_t tour_cost(const struct costs *costs, const struct path *tour);

/* The value of a path: the least bound among its continuations by LOOK_AHEAD cities. */
int32_t path_value(const struct costs *costs, const struct path *path);

/* The server's work: values every continuation of `piece` by CHOICE_DEPTH cities and returns the
 * best. */
struct choice piece_explore(const struct costs *costs, const struct path *piece);

/* The order of choices: lower value first, then the longer path, then the smaller cities. It is total, so the search
 * takes the same way in whatever order servers answer. */
bool choice_better(const struct choice *left, const struct choice *right);

/* ---- messages (tsp_message.c) ---- */

/* A frame is its length (u32, of what follows), its type (u8) and a body. All numbers are in
 * network byte order.
 *
 *     HELLO    server → controller   u32 HELLO_MAGIC, u32 process id
 *     MATRIX   controller → server   u8 cities, cities * cities times u32 cost, by row
 *     REQUEST  controller → server   u32 number, path
 *     REPLY    server → controller   u32 number, u32 value, path
 *     FINISH   controller → server
 *
 * with path = u8 length, length times u8 city. */
enum message_type {
    MESSAGE_HELLO = 1,
    MESSAGE_MATRIX = 2,
    MESSAGE_REQUEST = 3,
    MESSAGE_REPLY = 4,
    MESSAGE_FINISH = 5,
};

#define HELLO_MAGIC   0x54535031u /* "TSP1" */
#define FRAME_HEADER  4
#define MESSAGE_LIMIT (2 + 4 * CITIES_LIMIT * CITIES_LIMIT) /* the largest MATRIX */

/* A message being written or read. `size` counts the bytes written, `position` those read; `bad` is set by writing
 * past the limit or reading past the end, and stays set. */
struct message {
    size_t size;
    size_t position;
    bool bad;
    uint8_t bytes[FRAME_HEADER + MESSAGE_LIMIT]; /* the frame, header included */
};

void message_begin(struct message *message, enum message_type type);
void message_put_u8(struct message *message, uint8_t value);
void message_put_u32(struct message *message, uint32_t value);
void message_put_path(struct message *message, const struct path *path);

enum message_type message_type(const struct message *message);
uint8_t message_get_u8(struct message *message);
uint32_t message_get_u32(struct message *message);

/* Reads a path and checks it; sets `bad` if it is not a valid path of this many cities. */
void message_get_path(struct message *message, struct path *ret_path, unsigned cities);

/* True if everything has been read and `bad` is not set. */
bool message_complete(const struct message *message);

void message_put_matrix(struct message *message, const struct costs *costs);

/* Reads the body of MATRIX; returns 0, or -EPROTO if it is invalid. */
int message_get_matrix(struct message *message, struct costs *ret_costs);

/* One end of a connection, with received bytes that were not requested yet. */
struct connection {
    int descriptor;
    size_t filled;
    uint8_t input[FRAME_HEADER + MESSAGE_LIMIT];
};

/* Takes ownership of the connected socket, even if it fails. A send or receive without progress for
 * `timeout_seconds` fails with -ETIMEDOUT (0: never); a peer whose machine is gone is detected within about half a
 * minute. Returns 0 or a negative errno. */
int connection_open(struct connection *connection, int descriptor, unsigned timeout_seconds);

/* Sends the whole message, by one call unless the socket's buffer is full. */
int connection_send(struct connection *connection, struct message *message);

/* Whether connection_receive would return without a system call. */
bool connection_has_message(const struct connection *connection);

/* Waits for one message. Returns 0; -ECONNRESET if the peer is gone; -EPROTO if the data is no frame; -ETIMEDOUT;
 * -EHOSTDOWN if its machine is gone; or another negative errno. */
int connection_receive(struct connection *connection, struct message *ret_message);

void connection_close(struct connection *connection);

/* ---- the controller's servers (tsp_crew.c) ---- */

struct server {
    struct connection connection;
    pid_t process;        /* as reported by the server */
    unsigned outstanding; /* unanswered requests */
    unsigned answered;    /* answered requests, over all steps */
};

struct child {
    pid_t process;  /* 0: reaped */
    int descriptor; /* pidfd */
};

struct crew {
    int listener;
    unsigned timeout_seconds;
    unsigned server_count;
    unsigned used_count; /* the first so many servers get requests */
    unsigned child_count;
    unsigned next_to_read;       /* server to check first, so that none starves */
    uint64_t messages;           /* sent and received */
    char host[INET6_ADDRSTRLEN]; /* where it listens */
    char port[6];
    struct server servers[SERVERS_LIMIT];
    struct child children[SERVERS_LIMIT];
};

/* Listens at `address`, "HOST:PORT" or "[HOST]:PORT" with a numeric host; with port 0 the kernel chooses one. After
 * success or failure the crew must be given to crew_abandon or crew_finish. */
int crew_listen(struct crew *crew, const char *address, unsigned timeout_seconds,
                struct problem *problem);

/* Forks `count` processes that execute `program` HOST PORT. */
int crew_spawn(struct crew *crew, const char *program, unsigned count, struct problem *problem);

/* Waits until `count` servers have connected and sends each the matrix. All of them get requests, unless
 * `used_count` is lowered afterwards. Fails if a spawned server ends first, or does not connect within the time
 * limit (which applies only to spawned servers). */
int crew_join(struct crew *crew, unsigned count, const struct costs *costs,
              struct problem *problem);

/* Sends a server a piece to compute. */
int crew_request(struct crew *crew, unsigned server, uint32_t number, const struct path *piece,
                 struct problem *problem);

/* Waits for the next reply of any server. Fails at once if a server is lost, with or without a request, and with
 * -ETIMEDOUT if the servers with requests stay silent. */
int crew_reply(struct crew *crew, unsigned cities, unsigned *ret_server, uint32_t *ret_number,
               struct choice *ret_choice, struct problem *problem);

/* Ends all servers and reaps the children. The counts remain. */
int crew_finish(struct crew *crew, struct problem *problem);

/* Ends everything that is left: kills and reaps the children, closes the connections. */
void crew_abandon(struct crew *crew);

/* ---- the search (tsp_search.c) ---- */

struct search_result {
    struct path tour;
    int32_t cost;
    uint64_t requests;
    uint64_t steps;      /* sets of paths that were divided */
    uint64_t backtracks; /* steps that did not continue at the previous step's choice */
    /* of servers that have answered their last request of a step, for the next step */
    uint64_t waits;
};

/* Finds the best tour with the servers of `crew`, which have the matrix. `version` is 1, 2 or 3;
 * all three give the same result, counts included. */
int search_run(struct crew *crew, const struct costs *costs, unsigned version,
               struct search_result *ret_result, struct problem *problem);

#endif
