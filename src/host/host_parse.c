/* SPDX-License-Identifier: MIT */
/* host_parse.c: the text of files of /proc that describe the machine. See host.h. */
#include "host/host.h"
#include "host/host_text.h"

#include <string.h>

void host_know_nothing(struct summary_record *summary)
{
    memset(&summary->header + 1, 0xff, sizeof(*summary) - sizeof(summary->header));
}

/* ---- processors ---- */

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice". Time of guests is in user and nice, too. An
 * old kernel has fewer columns. */
static void parse_cpu(const char *at, uint64_t tick, struct summary_record *summary)
{
    uint64_t column[8];

    for (size_t i = 0; i < ARRAY_SIZE(column); i++)
        column[i] = text_times(text_number(&at), tick);
    summary->cpu_user = text_sum(column[0], column[1]);
    summary->cpu_system = text_sum(column[2], text_sum(column[5], column[6]));
    summary->cpu_idle = column[3];
    summary->cpu_disk = column[4];
    summary->cpu_stolen = column[7];
}

void host_parse_stat(const char *text, uint64_t tick, struct summary_record *summary)
{
    const char *cpu = text_line(text, "cpu");

    if (cpu != NULL)
        parse_cpu(cpu, tick, summary);
    summary->runnable = text_value(text, "procs_running");
    summary->in_disk = text_value(text, "procs_blocked");
}

/* "0.42 ..." */
void host_parse_loadavg(const char *text, struct summary_record *summary)
{
    uint64_t whole = text_number(&text);

    if (text[0] != '.' || strspn(text + 1, "0123456789") < 2)
        return;
    summary->load = text_sum(text_times(whole, 100),
                             (uint64_t)(text[1] - '0') * 10 + (uint64_t)(text[2] - '0'));
}

void host_parse_pressure(const char *text, uint64_t *some, uint64_t *all)
{
    for (; text != NULL; text = text_next_line(text)) {
        uint64_t *total = strncmp(text, "some ", 5) == 0   ? some
                          : strncmp(text, "full ", 5) == 0 ? all
                                                           : NULL;
        size_t length = strcspn(text, "\n");
        const char *at = memmem(text, length, " total=", 7);
        if (total == NULL || at == NULL)
            continue;
        at += 7;
        *total = text_times(text_number(&at), 1000);
    }
}

/* ---- memory ---- */

void host_parse_meminfo(const char *text, struct summary_record *summary)
{
    summary->memory = text_times(text_value(text, "MemTotal"), 1024);
    summary->memory_available = text_times(text_value(text, "MemAvailable"), 1024);
    summary->swap = text_times(text_value(text, "SwapTotal"), 1024);
    summary->swap_free = text_times(text_value(text, "SwapFree"), 1024);
}

void host_parse_vmstat(const char *text, uint64_t page, struct summary_record *summary)
{
    summary->major_faults = text_value(text, "pgmajfault");
    summary->swapped_in = text_times(text_value(text, "pswpin"), page);
    summary->swapped_out = text_times(text_value(text, "pswpout"), page);
}

/* ---- disks ---- */

#define SECTOR      512 /* bytes, whatever the disk has */
#define MILLISECOND 1000000

/* "major minor name reads merged sectors ms writes merged sectors ms in-flight ms ..." */
static bool parse_disk(const char *line, struct device *device)
{
    uint64_t column[10];
    size_t length;

    if (text_number(&line) == NOT_KNOWN || text_number(&line) == NOT_KNOWN)
        return false;
    line += strspn(line, " ");
    length = strcspn(line, " \n");
    if (length == 0 || length >= sizeof(device->name) || line[length] != ' ')
        return false;
    memset(device, 0, sizeof(*device));
    memcpy(device->name, line, length);
    line += length;
    for (size_t i = 0; i < ARRAY_SIZE(column); i++)
        column[i] = text_number(&line);
    device->figures[0] = column[0];
    device->figures[1] = column[4];
    device->figures[2] = text_times(column[2], SECTOR);
    device->figures[3] = text_times(column[6], SECTOR);
    device->figures[4] = text_times(column[9], MILLISECOND);
    return true;
}

/* Takes lines until one is read. */
static bool next_device(const char **text, bool (*parse)(const char *line, struct device *device),
                        struct device *ret_device)
{
    bool found = false;

    while (!found && **text != '\0') {
        const char *next = text_next_line(*text);
        found = parse(*text, ret_device);
        *text = next == NULL ? *text + strlen(*text) : next;
    }
    return found;
}

bool host_next_disk(const char **text, struct device *ret_device)
{
    return next_device(text, parse_disk, ret_device);
}

bool host_disk_counts(const char *name)
{
    static const char *const others[] = {"loop", "ram", "zram", "dm-", "md", "bcache", "drbd"};

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        size_t length = strlen(others[i]);
        if (strncmp(name, others[i], length) == 0 && strspn(name + length, "0123456789") > 0)
            return false;
    }
    return true;
}

/* ---- the network ---- */

/* "name: bytes packets errs drop fifo frame compressed multicast | bytes packets errs drop ..." An old kernel has no
 * blank behind the colon. */
static bool parse_interface(const char *line, struct device *device)
{
    uint64_t column[12];
    size_t length;

    line += strspn(line, " ");
    length = strcspn(line, " :\n");
    if (length == 0 || length >= sizeof(device->name) || line[length] != ':')
        return false;
    memset(device, 0, sizeof(*device));
    memcpy(device->name, line, length);
    line += length + 1;
    for (size_t i = 0; i < ARRAY_SIZE(column); i++)
        column[i] = text_number(&line);
    device->figures[0] = column[0];
    device->figures[1] = column[8];
    device->figures[2] = column[1];
    device->figures[3] = column[9];
    device->figures[4] = text_sum(column[3], column[11]);
    return true;
}

bool host_next_interface(const char **text, struct device *ret_device)
{
    return next_device(text, parse_interface, ret_device);
}

/* Two lines begin with "Tcp:": names, and their values. */
void host_parse_snmp(const char *text, struct summary_record *summary)
{
    static const char name[] = "RetransSegs";
    const char *names = text_line(text, "Tcp");
    const char *line = names == NULL ? NULL : text_next_line(names);
    const char *values = line == NULL ? NULL : text_line(line, "Tcp");

    while (names != NULL && values != NULL) {
        names += strspn(names, " ");
        values += strspn(values, " ");
        size_t length = strcspn(names, " \n"), width = strcspn(values, " \n");
        if (length == 0 || width == 0)
            return;
        if (length == sizeof(name) - 1 && memcmp(names, name, length) == 0) {
            summary->tcp_retransmitted = text_number(&values);
            return;
        }
        names += length;
        values += width;
    }
}
