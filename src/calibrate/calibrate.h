/* SPDX-License-Identifier: MIT */
/*
 * calibrate.h: measures message delays, and what sensors and probes cost, for `dpm calibrate`.
 *
 *      command/calibrate_command.c   options, output
 *      command/calibrate_costs.c     the output for `dpm view --costs`
 *      command/calibrate_listen.c    the side that echoes
 *      calibrate_local.c             within this machine
 *      calibrate_network.c           between machines
 *      calibrate_messages.c          sending, echoing, timing
 *      calibrate_sensors.c           sensors, probes, comparisons
 *
 * All return 0 or a negative errno; those with a `problem` put a line there.
 */
#ifndef DPM_CALIBRATE_H
#define DPM_CALIBRATE_H

#include "base/base.h"
#include "event/event.h"

#include <signal.h>

struct addrinfo;

#define CALIBRATE_SIZES     6
#define CALIBRATE_SIZE_MOST 1000000u
#define CALIBRATE_PATIENCE  5 /* seconds for a header, a message, or waiting for either */

extern const uint32_t calibrate_sizes[CALIBRATE_SIZES]; /* bytes */

/* ---- calibrate_messages.c ---- */

/* Descriptors for both directions; for a socket they are equal. */
struct link {
    int in, out;
};

/* Medians of CPU time for a message of 100 bytes, ns. Waiting for it costs, too: the switch to another process and back. */
struct calibrate_cpu {
    uint64_t send, receive;
};

/* Set by the signals that end the listening side; its calls then fail with -EINTR. */
extern volatile sig_atomic_t calibrate_interrupted;

/* Echoes the messages that a peer requests. Returns 1 when the peer has closed. `buffer` holds CALIBRATE_SIZE_MOST
 * bytes. -EPROTO: the peer does not speak the protocol; -ETIMEDOUT: the peer, or one of its messages, took too long. */
int calibrate_echo(struct link link, char *buffer);

/* Measures the median delivery time in ns for each message length: half of the round-trip time. Takes about `time` ns
 * per length. `cpu`: NULL, or what a short message takes of CPU time. */
int calibrate_measure(struct link link, uint64_t time, uint64_t medians[CALIBRATE_SIZES],
                      struct calibrate_cpu *cpu);

/* ---- calibrate_local.c ---- */

enum calibrate_kind { CALIBRATE_TCP, CALIBRATE_UNIX, CALIBRATE_PIPE, CALIBRATE_KINDS };

/* As calibrate_measure, with a child process. */
int calibrate_local(enum calibrate_kind kind, uint64_t time, uint64_t medians[CALIBRATE_SIZES],
                    struct calibrate_cpu *cpu);

/* ---- calibrate_network.c ---- */

/* A machine named on the command line. */
struct calibrate_host {
    char text[256];   /* cut in two; `name` and `port` point into it */
    const char *name; /* as written into the output */
    const char *port;
    struct addrinfo *found; /* its addresses */
};

/* Parses and resolves an address; contacts no host except name servers. Free `found` with freeaddrinfo. -EINVAL: wrong
 * usage. */
int calibrate_read_host(const char *address, struct calibrate_host *host, struct problem *problem);

/* As calibrate_measure, with `dpm calibrate --listen` on that machine. */
int calibrate_remote(const struct calibrate_host *host, uint64_t time,
                     uint64_t medians[CALIBRATE_SIZES], struct problem *problem);

/* Whether the host has an address in one of the networks that this machine is connected to. */
bool calibrate_is_on_subnet(const struct calibrate_host *host);

/* Opens a non-blocking socket that listens on "port", "address:port" or "[address]:port". */
int calibrate_open_listener(const char *address, struct problem *problem);

/* Limits each call on the socket to CALIBRATE_PATIENCE; sends small messages at once. */
void calibrate_set_patience(int socket);

/* ---- calibrate_sensors.c ---- */

struct calibrate_sensing {
    double sensor;         /* ns of CPU time that a record takes, at the entry of a function */
    double turn, turn_cpu; /* ns until a sensor is on; CPU time, mean of on and off */
    double probe_time, probe_cpu; /* ns to read a variable of another process */
    double evaluate;              /* ns of CPU time for a comparison */
};

/* Each sets its figures. Sensors need the privileges that sensors_open (sensor/sensor.h) needs. */
int calibrate_sensor(struct calibrate_sensing *sensing, struct problem *problem);
int calibrate_probe(struct calibrate_sensing *sensing, struct problem *problem);
int calibrate_evaluate(struct calibrate_sensing *sensing, struct problem *problem);

#endif
