/* SPDX-License-Identifier: MIT */
/*
 * hosts_parts.h: the processes that `dpm run --host` starts on several machines: what they write, and what is for the
 * first one to read. Private to command/.
 *
 *      OUTPUT of web1, process 17: "ready\n"  --> standard output: "web1: ready"
 *      standard input --> process.input of the first part
 */
#ifndef DPM_HOSTS_PARTS_H
#define DPM_HOSTS_PARTS_H

#include "command/hosts/hosts.h"

#define PART_LABEL_SIZE 160

struct part {
    struct metered_host *host;
    char **command;
    char label[PART_LABEL_SIZE];     /* before each line: "web1: " */
    struct conduct_process *process; /* NULL: not created yet; its context is NULL */
};

#define INPUT_SIZE 32768

struct part_input {
    bool open;                    /* there may be more */
    bool waiting;                 /* for ... */
    struct conduct_answer answer; /* ... this */
    bool reached;                 /* its end, which is to be sent */
    size_t size;                  /* read, and not taken by the process yet */
    uint64_t again;
    char bytes[INPUT_SIZE];
};

struct running {
    struct hosts *hosts;
    const struct hosts_run *wanted;
    struct part *list;
    size_t count;
    struct part_input input;
    bool abandoned; /* not everything could be started: the rest ends */
    int failed;     /* the status of the first that failed; 0: none did */
};

/* Chooses the labels: none if there is one part. */
void parts_label(struct running *running);

/* Writes a line with its label, or bytes as they are if there is none. */
void parts_output(struct running *running, const struct part *part,
                  const struct conduct_event *event);

/* Whether our standard input is to be read: not by a job in the background. */
bool parts_has_input(void);

/* Moves standard input to the first part, a piece at a time. */
void parts_input(struct running *running);

#endif
