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

const char *parse_time_unit(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                 {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(text, units[i].name, length) != 0 || isalpha((unsigned char)text[length]))
            continue;
        *ret_ns = units[i].ns;
        return text + length;
    }
    return NULL;
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
    uint64_t unit = 1000000000;
    char *end;

    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    errno = 0;
    double number = strtod(text, &end);
    const char *rest = *end == '\0' ? end : parse_time_unit(end, &unit);
    if (rest == NULL || *rest != '\0')
        return -EINVAL;
    if (errno != 0 || number * (double)unit > (double)INT64_MAX)
        return -ERANGE;
    *ret_ns = (uint64_t)(number * (double)unit);
    return 0;
}
