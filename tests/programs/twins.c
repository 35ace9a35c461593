/* SPDX-License-Identifier: MIT */
/*
 * twins.c: two files with a static variable `counter` and a static function `count` each, without debug information. Each line
 * of standard input counts one up in the first, two in the second; the answer is both.
 */
#include "twins.h"

#include <stdio.h>
#include <stdlib.h>

static volatile int counter = 100;

__attribute__((noipa)) static void count(int by)
{
    counter += by;
}

int main(void)
{
    char line[16];

    printf("%d %d\n", counter, count_other(0));
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        count(1);
        printf("%d %d\n", counter, count_other(2));
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
