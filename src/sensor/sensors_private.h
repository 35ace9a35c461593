/* SPDX-License-Identifier: MIT */
/* sensors_private.h: shared by the files about sensors. Private to sensor/. */
#ifndef DPM_SENSORS_PRIVATE_H
#define DPM_SENSORS_PRIVATE_H

#include "sensor/code_places.h"

#include <bpf/libbpf.h>

#define SENSOR_CODES   512 /* of all sensors: one for each place */
#define SENSOR_WATCHED 64  /* variables, of all programs */

/* One of a sensor's places. */
struct sensor_place {
    struct place place;
    struct sensor_code *code; /* `steps` begins with the values, then the condition */
    uint32_t value_steps;
    int slot;              /* in the kernel's table of codes */
    struct bpf_link *link; /* NULL: not attached */
};

struct sensor {
    struct sensors *sensors;
    struct sensor_program *program;
    uint32_t number;
    struct sensor_state *state; /* shared with the kernel */
    struct sensor_place *places;
    size_t place_count;
    size_t value_count;
    struct compiled values[SENSOR_VALUES_MOST];
    /* a variable itself */
    bool watches;
    uint64_t address;
    uint8_t size;
    int watch;                 /* its entry in the kernel's table; -1: none */
    struct bpf_link **threads; /* a watchpoint for each thread */
    size_t thread_count, thread_capacity;
};

/* A program that has sensors: its end is reported. */
struct watched_program {
    struct sensor_program *program;
    unsigned sensors;
    bool reported;
};

struct sensors {
    struct sensor_bpf *bpf;
    struct ring_buffer *ring;
    struct bpf_link *beginnings[2]; /* NULL: not told */
    struct bpf_link *family[2];     /* NULL: not followed */
    int waiting;                    /* epoll: the ring, and the programs' ends */
    struct sensor *list[SENSORS_MOST];
    bool codes[SENSOR_CODES]; /* in use */
    uint32_t generations[SENSORS_MOST];
    struct watched_program *programs;
    size_t program_count, program_capacity;
    /* the record that ring_buffer__consume has just taken */
    struct sensor_text_record event; /* texts only if its code has some */
    bool has_event;
    struct sensor_record notice; /* to report when the ring is empty; command 0: none */
    uint64_t next_look;          /* at the programs: whether they execute others */
};

/* sensor_attach.c */
int sensor_attach(struct sensor *sensor, struct problem *problem);
void sensor_detach(struct sensor *sensor);

/* sensors.c: puts a place's code in the kernel's table, at once. */
int sensor_put_code(struct sensor *sensor, struct sensor_place *place, struct problem *problem);

/* Waits until kernel programs that run now have ended. */
void sensor_settle(struct sensor *sensor);

#endif
