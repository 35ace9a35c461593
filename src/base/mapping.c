/* SPDX-License-Identifier: MIT */
/* mapping.c: parses lines of /proc/PID/maps. File names in them are chosen by programs and may contain anything. */
#include "base/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number and the character after it. Returns the position after both, or NULL if they are not there. */
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
    mapping.writable = at[1] == 'w';
    mapping.executable = at[2] == 'x';
    mapping.shared = at[3] == 's';
    at = read_number(at + 5, 16, ' ', &mapping.offset);
    at = read_number(at, 16, ':', &major);
    at = read_number(at, 16, ' ', &minor);
    at = read_number(at, 10, ' ', &mapping.file.inode);
    if (at == NULL || mapping.begin >= mapping.end || major > UINT32_MAX >> DEVICE_MINOR_BITS ||
        minor >= 1u << DEVICE_MINOR_BITS)
        return false;
    mapping.file.device = (uint32_t)(major << DEVICE_MINOR_BITS | minor);
    *ret_mapping = mapping;
    return true;
}

bool unescape_mount(const char *from, size_t length, char *to, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        char letter = from[i];
        if (letter == '\\' && i + 3 < length && strspn(from + i + 1, "01234567") >= 3) {
            char digits[4] = {from[i + 1], from[i + 2], from[i + 3], '\0'};
            letter = (char)strtol(digits, NULL, 8);
            i += 3;
        }
        if (used + 1 >= size || letter == '\0') {
            used = 0;
            break;
        }
        to[used++] = letter;
    }
    to[used] = '\0';
    return used > 0;
}
