/* SPDX-License-Identifier: MIT */
/* amounts.c: see amounts.h. */
#include "base/amounts.h"
#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int parse_size(const char *text, uint64_t *ret_size)
{
    static const char suffixes[] = "kmgt";
    char *end;

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    unsigned long long size = strtoull(text, &end, 10);
    if (errno != 0)
        return -ERANGE;
    const char *suffix = strchr(suffixes, tolower((unsigned char)*end));
    unsigned shift = 0;
    if (*end != '\0') {
        if (suffix == NULL || end[1] != '\0')
            return -EINVAL;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (size > UINT64_MAX >> shift)
        return -ERANGE;
    *ret_size = (uint64_t)size << shift;
    return 0;
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *suffix;
        uint64_t ns;
    } units[] = {{"", 1000000000}, {"s", 1000000000},  {"ms", 1000000},
                 {"us", 1000},     {"m", 60000000000}, {"h", 3600000000000}};
    char *end;

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    double number = strtod(text, &end);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcmp(end, units[i].suffix) != 0)
            continue;
        if (errno != 0 || number * (double)units[i].ns > (double)INT64_MAX)
            return -ERANGE;
        *ret_ns = (uint64_t)(number * (double)units[i].ns);
        return 0;
    }
    return -EINVAL;
}
