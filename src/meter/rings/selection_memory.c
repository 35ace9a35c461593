/* SPDX-License-Identifier: MIT */
/* selection_memory.c: maps the memory of selection rules. See selection_memory.h. */
#include "meter/rings/selection_memory.h"

#include "meter/shared/kernel_selection.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

int selection_map(int descriptor, struct selection **ret_selection)
{
    void *memory =
        mmap(NULL, sizeof(struct selection), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);

    if (memory == MAP_FAILED)
        return -errno;
    *ret_selection = memory;
    return 0;
}

void selection_unmap(struct selection *selection)
{
    if (selection != NULL)
        munmap(selection, sizeof(*selection));
}
