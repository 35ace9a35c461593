/* SPDX-License-Identifier: MIT */
/* twins_other.c: the second file. See twins.c. */
#include "twins.h"

static volatile int counter = 200;

__attribute__((noipa)) static void count(int by)
{
    counter += by;
}

int count_other(int by)
{
    if (by != 0)
        count(by);
    return counter;
}
