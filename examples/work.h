/* SPDX-License-Identifier: MIT */
/* work.h: CPU work for example programs. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* Uses so much CPU time of the calling thread, in nanoseconds; a little more where that is less than
 * a microsecond. The first call takes some 100 microseconds longer, to calibrate its loop. */
void work(uint64_t cpu_ns);

#endif
