/* SPDX-License-Identifier: MIT */
/*
 * collected.c: a library that stands for a JVM's, libjvm.so, in what its probes report. collecting.c loads it.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short hotspot_gc__begin_semaphore __attribute__((section(".probes")));
unsigned short hotspot_gc__end_semaphore __attribute__((section(".probes")));
unsigned short hs_private_safepoint__begin_semaphore __attribute__((section(".probes")));
unsigned short hs_private_safepoint__end_semaphore __attribute__((section(".probes")));

void collect(int full);
int is_probed(void);

/* As HotSpot: a collection is a part of a safepoint. */
void collect(int full)
{
    STAP_PROBE(hs_private, safepoint__begin);
    STAP_PROBE1(hotspot, gc__begin, full);
    STAP_PROBE(hotspot, gc__end);
    STAP_PROBE(hs_private, safepoint__end);
}

int is_probed(void)
{
    return *(volatile unsigned short *)&hotspot_gc__begin_semaphore != 0;
}
