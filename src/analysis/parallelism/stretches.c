/* SPDX-License-Identifier: MIT */
/* stretches.c: the condensed program history graph, in a mapped file without a name (base/scratch.h). */
#include "analysis/parallelism/program_graph.h"
#include "base/scratch.h"

#include <errno.h>

static struct scratch as_scratch(const struct stretches *stretches)
{
    return (struct scratch){stretches->at, sizeof(struct stretch), stretches->count,
                            stretches->room, stretches->file};
}

static void take(struct stretches *stretches, const struct scratch *from)
{
    *stretches = (struct stretches){from->at, from->count, from->room, from->file};
}

int stretches_open(struct stretches *stretches, const char *directory, struct problem *problem)
{
    struct scratch scratch;
    int result = scratch_open(&scratch, sizeof(struct stretch), directory, problem);

    take(stretches, &scratch);
    return result;
}

void stretches_close(struct stretches *stretches)
{
    struct scratch scratch = as_scratch(stretches);

    scratch_close(&scratch);
    take(stretches, &scratch);
}

int stretches_reserve(struct stretches *stretches, size_t room)
{
    struct scratch scratch = as_scratch(stretches);
    int result = scratch_reserve(&scratch, room);

    take(stretches, &scratch);
    return result;
}

int64_t stretches_add(struct stretches *stretches)
{
    struct scratch scratch = as_scratch(stretches);

    if (stretches->count < stretches->room)
        return stretches->count++;
    int64_t result = scratch_add(&scratch);
    take(stretches, &scratch);
    return result;
}
