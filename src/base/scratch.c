/* SPDX-License-Identifier: MIT */
/* scratch.c: a growing array in a mapped file without a name. See scratch.h. */
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_ROOM 4096u      /* items */
#define MORE_ROOM  16777216u  /* at most so many more at a time */
#define FILL_FROM  (1u << 20) /* bytes */

int scratch_open(struct scratch *scratch, size_t size, const char *directory,
                 struct problem *problem)
{
    if (directory == NULL)
        directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0')
        directory = "/var/tmp";
    *scratch = (struct scratch){.size = size,
                                .file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (scratch->file < 0)
        return problem_set(problem, -errno,
                           "%s: no temporary file can be made there: %s; set TMPDIR", directory,
                           strerror(errno));
    return 0;
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->at != NULL)
        munmap(scratch->at, scratch->room * scratch->size);
    if (scratch->file >= 0)
        close(scratch->file);
    *scratch = (struct scratch){.file = -1};
}

/* Has the kernel map all pages at once: one call for what would otherwise be a fault for each. Older kernels (before 5.14) fault. */
static void fill(char *at, size_t before, size_t size)
{
    size_t begin = before & ~(size_t)(sysconf(_SC_PAGESIZE) - 1);

    if (size >= FILL_FROM)
        madvise(at + begin, size - begin, MADV_POPULATE_WRITE);
}

int scratch_reserve(struct scratch *scratch, size_t room)
{
    size_t before = scratch->room * scratch->size, size = room * scratch->size;

    if (room <= scratch->room)
        return 0;
    if (room >= UINT32_MAX)
        return -EFBIG;
    int error = posix_fallocate(scratch->file, (off_t)before, (off_t)(size - before));
    if (error != 0)
        return -error;
    void *at = scratch->at == NULL
                   ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, scratch->file, 0)
                   : mremap(scratch->at, before, size, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return -errno;
    scratch->at = at;
    scratch->room = room;
    fill(at, before, size);
    return 0;
}

int64_t scratch_add(struct scratch *scratch)
{
    if (scratch->count == scratch->room) {
        size_t more = scratch->room < 4 * FIRST_ROOM ? FIRST_ROOM : scratch->room / 4;
        int result =
            scratch_reserve(scratch, scratch->room + (more < MORE_ROOM ? more : MORE_ROOM));
        if (result < 0)
            return result;
    }
    return scratch->count++;
}
