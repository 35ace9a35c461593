/* SPDX-License-Identifier: MIT */
/*
 * mappings.c: which files a process has mapped where, from /proc/PID/maps.
 *
 *      7f0e8c22a000-7f0e8c37f000 r-xp 00026000 fd:01 131   /usr/lib/x86_64-linux-gnu/libc.so.6
 *      begin        end          mode offset   device inode name
 *
 * Only executable mappings of files are kept.
 */
#include "symbols/symbols_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAPPINGS_MOST 4096
#define MINOR_BITS    20

/* Reads a number and the character behind it; NULL if they are not there. */
static const char *read_number(const char *at, int base, char behind, uint64_t *ret_number)
{
    char *end;

    if (at == NULL || *at == '-' || *at == '+' || *at == ' ')
        return NULL;
    errno = 0;
    *ret_number = strtoull(at, &end, base);
    return end == at || *end != behind || errno != 0 ? NULL : end + 1;
}

bool mapping_read(const char *line, struct mapping *ret_mapping)
{
    struct mapping mapping = {0};
    uint64_t major, minor;
    const char *at = read_number(line, 16, '-', &mapping.begin);

    at = read_number(at, 16, ' ', &mapping.end);
    if (at == NULL)
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (at[i] == '\0')
            return false;
    if (at[4] != ' ')
        return false;
    mapping.executable = at[2] == 'x';
    at = read_number(at + 5, 16, ' ', &mapping.offset);
    at = read_number(at, 16, ':', &major);
    at = read_number(at, 16, ' ', &minor);
    at = read_number(at, 10, ' ', &mapping.file.inode);
    if (at == NULL || mapping.begin >= mapping.end || major > UINT32_MAX >> MINOR_BITS ||
        minor >= 1u << MINOR_BITS)
        return false;
    mapping.file.device = (uint32_t)(major << MINOR_BITS | minor);
    *ret_mapping = mapping;
    return true;
}

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
    char path[64], *line = NULL;
    int result = 0;

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -errno;
    while (result == 0 && getline(&line, &size, file) > 0)
        result = add_line(&mappings, &capacity, line);
    free(line);
    fclose(file);
    if (result == 0 && mappings.count == 0)
        result = -ESRCH; /* a process that is ending has none any more */
    if (result < 0)
        mappings_done(&mappings);
    else
        *ret_mappings = mappings;
    return result;
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
