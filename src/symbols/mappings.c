/* SPDX-License-Identifier: MIT */
/*
 * mappings.c: reads which files a process has mapped, and where, from /proc/PID/maps (base/mapping.h).
 *
 * Only executable mappings of files are stored.
 */
#include "symbols/symbols_private.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPPINGS_MOST 4096

static int add_line(struct mappings *mappings, size_t *capacity, const char *line)
{
    struct mapping mapping;

    if (!mapping_read(line, &mapping) || !mapping.executable || mapping.file.inode == 0 ||
        mappings->count == MAPPINGS_MOST)
        return 0;
    int result =
        array_reserve(&mappings->list, capacity, mappings->count + 1, sizeof(*mappings->list));
    if (result == 0)
        mappings->list[mappings->count++] = mapping;
    return result;
}

int mappings_read(pid_t pid, struct mappings *ret_mappings)
{
    struct mappings mappings = {0};
    size_t capacity = 0, size = 0;
    char *line = NULL;
    int result = 0;
    FILE *file = process_maps(pid);

    if (file == NULL)
        return -errno;
    while (result == 0 && getline(&line, &size, file) > 0)
        result = add_line(&mappings, &capacity, line);
    free(line);
    fclose(file);
    if (result == 0 && mappings.count == 0)
        result = -ESRCH; /* a process that is ending has no mappings any more */
    if (result < 0)
        mappings_done(&mappings);
    else
        *ret_mappings = mappings;
    return result;
}

/* Copies the text after the five columns of a line. */
static bool read_name(const char *line, char ret_name[PATH_MAX])
{
    for (unsigned column = 0; column < 5; column++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    size_t length = strcspn(line, "\n");
    if (line[0] != '/' || length >= PATH_MAX)
        return false;
    memcpy(ret_name, line, length);
    ret_name[length] = '\0';
    return true;
}

bool mapping_name(pid_t pid, const struct mapping *mapping, char ret_name[PATH_MAX])
{
    char *line = NULL;
    struct mapping read;
    bool found = false;
    size_t size = 0;
    FILE *file = process_maps(pid);

    if (file == NULL)
        return false;
    while (!found && getline(&line, &size, file) > 0)
        found = mapping_read(line, &read) && read.begin == mapping->begin &&
                read.file.inode == mapping->file.inode && read_name(line, ret_name);
    free(line);
    fclose(file);
    return found;
}

void mappings_done(struct mappings *mappings)
{
    free(mappings->list);
    *mappings = (struct mappings){0};
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
    size_t low = 0, high = mappings->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address < mappings->list[middle].begin)
            high = middle;
        else if (address >= mappings->list[middle].end)
            low = middle + 1;
        else
            return &mappings->list[middle];
    }
    return NULL;
}
