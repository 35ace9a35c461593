/* SPDX-License-Identifier: MIT */
/* twins.h: see twins.c. */
#ifndef TWINS_H
#define TWINS_H

/* Counts in the other file, if `by` is not 0. Returns its counter. */
int count_other(int by);

#endif
