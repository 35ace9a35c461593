/* SPDX-License-Identifier: MIT */
/* work.h: CPU work for example programs. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

/* Uses this much CPU time of the calling thread, in nanoseconds; a little more if it is less than a microsecond. The
 * first call takes some 100 microseconds longer, to calibrate the loop. */
void work(uint64_t cpu_ns);

#endif
