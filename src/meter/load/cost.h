/* SPDX-License-Identifier: MIT */
/* cost.h: what the programs cost while the kernel counted. Private to meter/load. */
#ifndef DPM_COST_H
#define DPM_COST_H

#include "meter/shared/meter_interface.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct meter_cost {
    int counting;  /* the kernel counts as long as this is open; -1: it does not */
    uint64_t next; /* when to begin or end; 0: not begun yet */
    uint64_t time_before, records_before;
    uint64_t time, records; /* of all moments */
};

void meter_cost_close(struct meter_cost *cost);

/* What the kernel says of a program; false: it is not loaded. */
bool program_info(const struct bpf_program *program, struct bpf_prog_info *ret_info);

/* As in meter_interface. */
void meter_measure(struct meter_interface *interface, uint64_t now);
uint32_t meter_time_per_record(const struct meter_interface *interface);

#endif
