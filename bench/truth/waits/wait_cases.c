/* SPDX-License-Identifier: MIT */
/* waits CASE: waits for one thing, again and again; writes into the file `own` for how long, by its own clock.
 * waits peer CASE: the other side of it, which is not metered. */
#include "own.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct wait_case *find_in(const struct wait_case *cases, const char *name)
{
    for (; cases->name != NULL; cases++)
        if (strcmp(cases->name, name) == 0)
            return cases;
    return NULL;
}

static const struct wait_case *find(const char *name)
{
    const struct wait_case *found = find_in(local_cases, name);

    if (found == NULL)
        found = find_in(network_cases, name);
    return found != NULL ? found : find_in(service_cases, name);
}

int main(int argc, char **argv)
{
    int is_peer = argc == 3 && strcmp(argv[1], "peer") == 0;
    const struct wait_case *found = argc == 2 + is_peer ? find(argv[1 + is_peer]) : NULL;

    if (found == NULL) {
        fprintf(stderr, "usage: waits [peer] CASE\n");
        return 2;
    }
    alarm(120);
    own_start();
    if (is_peer) {
        if (found->peer != NULL)
            found->peer();
        return 0;
    }
    found->run();
    while (wait(NULL) > 0)
        ;
    own_write();
    return 0;
}
