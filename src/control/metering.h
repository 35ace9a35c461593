/* SPDX-License-Identifier: MIT */
/*
 * metering.h: the two meters, seen as one: a table of operations for each. Private to control/.
 *
 *      recording --> struct metering --operations--+--> kernel meter    meter/
 *                                                  '--> ptrace meter    ptracemeter/
 *
 * Which of them works here is tried, not guessed: the kernel meter is opened, and what is open is then used.
 */
#ifndef DPM_METERING_H
#define DPM_METERING_H

#include "control/command.h"

#include "meter/load/meter.h"

#include <stdio.h>
#include <sys/types.h>

#define METERING_REASON_SIZE 512

/* Which meter is asked for. */
enum meter_choice {
    CHOOSE_AUTO, /* the kernel meter where it works, else ptrace */
    CHOOSE_KERNEL,
    CHOOSE_PTRACE,
};

struct metering_options {
    enum meter_choice choice;
    bool survive; /* ptrace: who is metered outlives us */
    struct meter_options meter;
};

struct metering_operations {
    uint32_t unknown_flags; /* of events that it cannot tell of, whatever it is asked for */
    /* Opens it; what is missing for that has been said. */
    int (*open)(const struct metering_options *options, void **ret_meter, struct problem *problem);
    /* Stands in the command's process, when it is about to execute; NULL: nothing to do. */
    int (*enter)(void *meter);
    int (*mark)(void *meter, pid_t pid, struct problem *problem);
    /* Whether the command has ended; then it is reaped. */
    bool (*ended)(void *meter, pid_t pid, int *ret_status);
    /* Whether a signal has stopped it since that was asked last. */
    bool (*stopped)(void *meter, pid_t pid);
    /* Readable when it has; -1: its own is. */
    int (*descriptor)(const void *meter);
    /* Whether the command's descendants end with us, so that we stay for them. */
    bool (*holds_descendants)(const void *meter);
    uint32_t (*live)(const void *meter);
    int (*processes)(void *meter, struct meter_process **ret_list, size_t *ret_count,
                     struct problem *problem);
    struct source *(*source)(void *meter);
    int (*sweep)(void *meter, struct problem *problem);
    void (*measure)(void *meter, uint64_t now);
    uint32_t (*time_per_record)(const void *meter);
    uint64_t (*lost)(const void *meter, enum ring_id ring);
    const char *(*left_out)(const void *meter);
    uint32_t (*kinds)(const void *meter);
    /* What is not recorded, or not certain, in a line each. */
    void (*report)(const void *meter, void (*tell)(const char *sentence, void *context),
                   void *context);
    /* The recording has given up: the metered run on. */
    void (*stop)(void *meter);
    /* The recording ends: the rest of the records, and the source's end. */
    void (*detach)(void *meter);
    void (*close)(void *meter);
};

struct metering {
    const struct metering_operations *operations; /* NULL: not opened */
    enum meter_kind kind;
    void *meter;
    char kernel_refused
        [METERING_REASON_SIZE]; /* why nobody's choice was not the kernel meter; "": it was somebody's */
};

/* Opens the meter that is asked for. Errors: with a line in `problem`; nothing is open then. */
int metering_open(const struct metering_options *options, struct metering *ret_metering,
                  struct problem *problem);
void metering_close(struct metering *metering);

/* Says what whoever starts a command should know of this meter before it runs: which one it is if nobody has chosen it,
 * why, and what it costs; and what becomes of the command if we are killed. `command` names it. */
void metering_announce(const struct metering *metering, const char *command, FILE *messages);

/* The words of --meter, in the order of enum meter_choice; NULL behind the last. */
const char *metering_word(size_t index);

#endif
