/* SPDX-License-Identifier: MIT */
/* cost.h: measures the run time of the kernel programs. Private to meter/load. */
#ifndef DPM_COST_H
#define DPM_COST_H

#include "meter/shared/meter_interface.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct meter_cost {
    int counting;    /* descriptor that makes the kernel count while it is open; -1: not counting */
    uint64_t next;   /* when to start or stop counting; 0: not started yet */
    uint64_t began;  /* when measuring began */
    uint64_t moment; /* when the present counting period began */
    uint64_t time_before; /* of the programs, at its beginning */
    uint64_t time,
        counted; /* sums over all counting periods: time of the programs, and of the periods */
    uint32_t moments;
};

void meter_cost_close(struct meter_cost *cost);

/* The kernel's information on a program; false: it is not loaded. */
bool program_info(const struct bpf_program *program, struct bpf_prog_info *ret_info);

/* As in meter_interface. */
uint64_t meter_measure(struct meter_interface *interface, uint64_t now);
uint32_t meter_time_per_record(const struct meter_interface *interface);

#endif
