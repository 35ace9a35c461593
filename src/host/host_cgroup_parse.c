/* SPDX-License-Identifier: MIT */
/* host_cgroup_parse.c: the text of files of cgroups. See host.h. */
#include "host/host.h"

#include "base/mapping.h"
#include "host/host_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000

/* v1 says "throttled_time", in ns, and v2 "throttled_usec". */
void host_parse_cpu_stat(const char *text, struct cgroup_record *cgroup)
{
    uint64_t usage = text_times(text_value(text, "usage_usec"), MICROSECOND);
    uint64_t throttled = text_times(text_value(text, "throttled_usec"), MICROSECOND);

    if (usage != NOT_KNOWN)
        cgroup->cpu = usage;
    cgroup->periods = text_value(text, "nr_periods");
    cgroup->throttled_periods = text_value(text, "nr_throttled");
    cgroup->throttled = throttled != NOT_KNOWN ? throttled : text_value(text, "throttled_time");
}

/* "max 100000" or "20000 100000", in us. */
void host_parse_cpu_max(const char *text, struct cgroup_record *cgroup)
{
    bool none = strncmp(text, "max ", 4) == 0;

    text += none ? 3 : 0;
    cgroup->quota = none ? 0 : text_times(text_number(&text), MICROSECOND);
    cgroup->period = text_times(text_number(&text), MICROSECOND);
}

void host_parse_memory_events(const char *text, struct cgroup_record *cgroup)
{
    cgroup->memory_reclaims = text_value(text, "max");
    cgroup->oom_kills = text_value(text, "oom_kill");
}

/* v1 has no word for "no limit": a number close to 2^63, rounded to pages, or -1. */
#define NO_LIMIT (1ull << 60)

uint64_t host_parse_limit(const char *text)
{
    if (strncmp(text, "max", 3) == 0 || text[0] == '-')
        return 0;
    uint64_t number = text_number(&text);
    return number != NOT_KNOWN && number >= NO_LIMIT ? 0 : number;
}

/* Whether a list "cpu,cpuacct" of `length` bytes has this word. */
static bool has_word(const char *list, size_t length, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i + size <= length; i++)
        if ((i == 0 || list[i - 1] == ',') && strncmp(list + i, word, size) == 0 &&
            (i + size == length || list[i + size] == ','))
            return true;
    return false;
}

/* "4:cpu,cpuacct:/a/b" */
bool host_parse_process_cgroup(const char *text, const char *controller, char *path, size_t size)
{
    for (; text != NULL; text = text_next_line(text)) {
        size_t length = strcspn(text, "\n");
        const char *list = memchr(text, ':', length);
        const char *end =
            list == NULL ? NULL : memchr(list + 1, ':', length - (size_t)(list + 1 - text));
        if (end == NULL || !has_word(list + 1, (size_t)(end - list - 1), controller))
            continue;
        length -= (size_t)(end + 1 - text);
        if (end[1] != '/' || length >= size)
            return false;
        memcpy(path, end + 1, length);
        path[length] = '\0';
        return true;
    }
    return false;
}

/* The field with this number, 0 .. */
static const char *field(const char *line, unsigned number, size_t *ret_length)
{
    for (; number > 0; number--) {
        line += strcspn(line, " \n");
        line += *line == ' ';
    }
    *ret_length = strcspn(line, " \n");
    return line;
}

/* "31 23 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:1 - cgroup cgroup rw,cpu" */
bool host_parse_v1_mount(const char *line, const char *controller, char *place, char *root,
                         size_t size)
{
    static const char type[] = " - cgroup ";
    size_t end = strcspn(line, "\n"), length;
    const char *after = memmem(line, end, type, sizeof(type) - 1);

    if (after == NULL)
        return false;
    const char *options = field(after + sizeof(type) - 1, 1, &length);
    if (!has_word(options, length, controller))
        return false;
    const char *text = field(line, 3, &length);
    if (text >= after || !unescape_mount(text, length, root, size))
        return false;
    text = field(line, 4, &length);
    return text < after && unescape_mount(text, length, place, size);
}
