/* SPDX-License-Identifier: MIT */
/* numbers.c: which pairs of files a trace has. See trace_internal.h. */
#include "trace/trace_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number in the name of a control file; -1: it is not one. */
static int64_t number_of(const char *name)
{
    size_t length = strlen(trace_file_names[RING_CONTROL]);
    char *end;

    if (strncmp(name, trace_file_names[RING_CONTROL], length) != 0)
        return -1;
    if (name[length] == '\0')
        return 0;
    if (name[length] != '.' || name[length + 1] < '1' || name[length + 1] > '9')
        return -1;
    unsigned long number = strtoul(name + length + 1, &end, 10);
    return *end != '\0' || number >= UINT32_MAX ? -1 : (int64_t)number;
}

/* A copy made while pairs were removed may have only the control files of the oldest ones. */
static void leave_out_incomplete(int directory, struct trace_numbers *numbers)
{
    uint32_t first = 0;

    for (; first + 1 < numbers->count; first++) {
        char name[TRACE_FILE_NAME_SIZE];
        trace_file_name(RING_DATA, numbers->at[first], name);
        if (faccessat(directory, name, F_OK, 0) == 0)
            break;
    }
    numbers->count -= first;
    memmove(numbers->at, numbers->at + first, numbers->count * sizeof(numbers->at[0]));
}

static void insert(struct trace_numbers *numbers, uint32_t number)
{
    uint32_t at = numbers->count++;

    for (; at > 0 && numbers->at[at - 1] > number; at--)
        numbers->at[at] = numbers->at[at - 1];
    numbers->at[at] = number;
}

int trace_numbers_find(int directory, const char *path, struct trace_numbers *ret_numbers,
                       struct problem *problem)
{
    struct trace_numbers numbers = {0};
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    bool fit = true;

    if (list == NULL) {
        int error = -errno;
        if (copy >= 0)
            close(copy);
        return problem_set(problem, error, "%s: cannot be listed: %s", path, strerror(-error));
    }
    while (fit && (entry = readdir(list)) != NULL) {
        int64_t number = number_of(entry->d_name);
        fit = number < 0 || numbers.count < TRACE_NUMBERS_MOST;
        if (number >= 0 && fit)
            insert(&numbers, (uint32_t)number);
    }
    closedir(list);
    if (!fit)
        return problem_set(problem, -EFBIG, "%s: too many files: more than %u pairs", path,
                           TRACE_NUMBERS_MOST);
    if (numbers.count == 0)
        numbers.count = 1;
    leave_out_incomplete(directory, &numbers);
    *ret_numbers = numbers;
    return 0;
}

bool trace_has_records(const char *path)
{
    DIR *list = opendir(path);
    const struct dirent *entry;
    struct stat status;
    bool found = false;

    if (list == NULL)
        return false;
    while (!found && (entry = readdir(list)) != NULL)
        found = number_of(entry->d_name) >= 0 &&
                fstatat(dirfd(list), entry->d_name, &status, 0) == 0 && status.st_size > 0;
    found = found && faccessat(dirfd(list), "metadata", F_OK, 0) == 0;
    closedir(list);
    return found;
}

uint32_t trace_numbers_after(const struct trace_numbers *numbers, uint32_t number)
{
    for (uint32_t i = 0; i < numbers->count; i++)
        if (numbers->at[i] > number)
            return numbers->at[i];
    return number;
}

int trace_pair_open(int directory, const char *path, uint32_t number, int ret_files[RING_COUNT],
                    struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];
    uint64_t size;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        trace_file_name(ring, number, name);
        ret_files[ring] = trace_file_open(directory, path, name, O_RDONLY, &size, problem);
        if (ret_files[ring] >= 0)
            continue;
        if (ring > 0)
            close(ret_files[0]);
        return ret_files[ring];
    }
    return 0;
}
