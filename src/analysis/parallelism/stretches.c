/* SPDX-License-Identifier: MIT */
/*
 * stretches.c: the condensed program history graph, in a mapped file without a name.
 *
 *      file  | stretch | stretch | stretch | ... free, already allocated ... |
 *                                          ^ count
 *
 * The kernel may write out and drop its pages, so a graph may be larger than memory. File space is allocated before it
 * is used: so a full disk is an error, not a signal.
 */
#include "analysis/parallelism/program_graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_ROOM 4096u     /* stretches */
#define MORE_ROOM  16777216u /* at most so many more at a time */

int stretches_open(struct stretches *stretches, const char *directory, struct problem *problem)
{
    if (directory == NULL)
        directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0')
        directory = "/var/tmp";
    *stretches = (struct stretches){.file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (stretches->file < 0)
        return problem_set(problem, -errno,
                           "%s: no copy of the graph can be made there: %s; set TMPDIR", directory,
                           strerror(errno));
    return 0;
}

void stretches_close(struct stretches *stretches)
{
    if (stretches->at != NULL)
        munmap(stretches->at, stretches->room * sizeof(struct stretch));
    if (stretches->file >= 0)
        close(stretches->file);
    *stretches = (struct stretches){.file = -1};
}

int stretches_reserve(struct stretches *stretches, size_t room)
{
    size_t before = stretches->room * sizeof(struct stretch), size = room * sizeof(struct stretch);

    if (room <= stretches->room)
        return 0;
    if (room >= NO_STRETCH)
        return -EFBIG;
    int error = posix_fallocate(stretches->file, (off_t)before, (off_t)(size - before));
    if (error != 0)
        return -error;
    void *at = stretches->at == NULL
                   ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, stretches->file, 0)
                   : mremap(stretches->at, before, size, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return -errno;
    stretches->at = at;
    stretches->room = room;
    return 0;
}

static int make_room(struct stretches *stretches)
{
    size_t more = stretches->room == 0 ? FIRST_ROOM : stretches->room;

    return stretches_reserve(stretches, stretches->room + (more < MORE_ROOM ? more : MORE_ROOM));
}

int64_t stretches_add(struct stretches *stretches)
{
    if (stretches->count == stretches->room) {
        int result = make_room(stretches);
        if (result < 0)
            return result;
    }
    return stretches->count++;
}
