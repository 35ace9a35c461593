/* SPDX-License-Identifier: MIT */
/*
 * host.c: reads the files of /proc that describe the machine. See host.h.
 *
 * Disks and interfaces come and go, and their counters with them. So that the sums only grow, what each has counted
 * since the last reading is added:
 *
 *      reading          1       2       3
 *      eth0          1000    1200    1500
 *      veth7           50     250       -  (removed)
 *      sum           1050    1450    1750
 */
#include "host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 512
#define TEXT_MOST (4u << 20) /* bytes of a file */

enum file {
    FILE_STAT,
    FILE_LOADAVG,
    FILE_MEMINFO,
    FILE_VMSTAT,
    FILE_PRESSURE_CPU,
    FILE_PRESSURE_MEMORY,
    FILE_PRESSURE_IO,
    FILE_DISKSTATS,
    FILE_NET_DEV,
    FILE_NET_SNMP,
    FILE_COUNT,
};

static const char *const names[FILE_COUNT] = {
    [FILE_STAT] = "stat",
    [FILE_LOADAVG] = "loadavg",
    [FILE_MEMINFO] = "meminfo",
    [FILE_VMSTAT] = "vmstat",
    [FILE_PRESSURE_CPU] = "pressure/cpu",
    [FILE_PRESSURE_MEMORY] = "pressure/memory",
    [FILE_PRESSURE_IO] = "pressure/io",
    [FILE_DISKSTATS] = "diskstats",
    [FILE_NET_DEV] = "net/dev",
    [FILE_NET_SNMP] = "net/snmp",
};

struct counter {
    struct device last;
    bool counts;
    uint64_t reading; /* number of the last reading that had it */
};

struct counters {
    struct counter *list;
    size_t count, capacity;
    uint64_t readings;
    uint64_t sums[DEVICE_FIGURES];
    uint64_t most; /* of figure 4: the largest of each reading, added up */
};

struct host {
    char root[PATH_SIZE];
    int files[FILE_COUNT];
    uint64_t tick, page;
    char *text;
    size_t size; /* of text */
    struct counters disks, interfaces;
};

/* ---- open and closed ---- */

int host_open(const char *root, struct host **ret_host)
{
    struct host *host = calloc(1, sizeof(*host));
    char path[PATH_SIZE + 32];
    long ticks = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);

    if (host == NULL)
        return -ENOMEM;
    snprintf(host->root, sizeof(host->root), "%s", root);
    host->tick = 1000000000u / (uint64_t)(ticks > 0 ? ticks : 100);
    host->page = page > 0 ? (uint64_t)page : 4096;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        snprintf(path, sizeof(path), "%s/proc/%s", host->root, names[i]);
        host->files[i] = open(path, O_RDONLY | O_CLOEXEC);
    }
    *ret_host = host;
    return 0;
}

void host_close(struct host *host)
{
    if (host == NULL)
        return;
    for (size_t i = 0; i < FILE_COUNT; i++)
        if (host->files[i] >= 0)
            close(host->files[i]);
    free(host->disks.list);
    free(host->interfaces.list);
    free(host->text);
    free(host);
}

/* The text of a file; NULL: it is not there, cannot be read, or is larger than any. Valid until the next call. */
static const char *text_of(struct host *host, enum file file)
{
    size_t length = 0;
    ssize_t got;

    if (host->files[file] < 0)
        return NULL;
    do {
        if (length + 1 >= host->size &&
            (host->size >= TEXT_MOST ||
             array_reserve(&host->text, &host->size, host->size == 0 ? 16384 : host->size * 2, 1) <
                 0))
            return NULL;
        got = pread(host->files[file], host->text + length, host->size - length - 1, (off_t)length);
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    host->text[length] = '\0';
    return got < 0 || length == 0 ? NULL : host->text;
}

/* ---- devices ---- */

static struct counter *find_counter(struct counters *counters, const char *name)
{
    for (size_t i = 0; i < counters->count; i++)
        if (strcmp(counters->list[i].last.name, name) == 0)
            return &counters->list[i];
    return NULL;
}

/* Forgets devices that the last reading did not have, so that the list has no more than there are. */
static void forget_gone(struct counters *counters)
{
    size_t kept = 0;

    for (size_t i = 0; i < counters->count; i++)
        if (counters->list[i].reading == counters->readings)
            counters->list[kept++] = counters->list[i];
    counters->count = kept;
}

/* What was counted since the last reading. A counter that went back has begun anew. */
static uint64_t counted(uint64_t before, uint64_t now)
{
    if (now == NOT_KNOWN)
        return 0;
    return before == NOT_KNOWN || now < before ? now : now - before;
}

static void add_device(struct counters *counters, struct counter *counter,
                       const struct device *device, uint64_t *most)
{
    uint64_t busy = counted(counter->last.figures[4], device->figures[4]);

    counter->reading = counters->readings;
    if (counter->counts)
        for (size_t i = 0; i < DEVICE_FIGURES; i++)
            counters->sums[i] += counted(counter->last.figures[i], device->figures[i]);
    if (counter->counts && busy > *most)
        *most = busy;
    counter->last = *device;
}

/* Returns false: out of memory. */
static bool count_devices(struct counters *counters, const char *text,
                          bool (*next)(const char **text, struct device *ret_device),
                          bool (*counts)(const char *root, const char *name), const char *root)
{
    struct device device;
    uint64_t most = 0;

    counters->readings++;
    while (next(&text, &device)) {
        struct counter *counter = find_counter(counters, device.name);
        if (counter == NULL) {
            if (array_reserve(&counters->list, &counters->capacity, counters->count + 1,
                              sizeof(*counters->list)) < 0)
                return false;
            counter = &counters->list[counters->count++];
            memset(counter, 0, sizeof(*counter));
            memcpy(counter->last.name, device.name, sizeof(device.name));
            counter->counts = counts(root, device.name);
        }
        add_device(counters, counter, &device, &most);
    }
    counters->most += most;
    forget_gone(counters);
    return true;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Whether it passes its requests on to other disks, which count already. */
static bool is_stacked(const char *disk)
{
    char path[PATH_SIZE + DEVICE_NAME_SIZE + 64];
    const struct dirent *entry;
    bool found = false;

    snprintf(path, sizeof(path), "%s/slaves", disk);
    DIR *list = opendir(path);
    while (list != NULL && !found && (entry = readdir(list)) != NULL)
        found = entry->d_name[0] != '.';
    if (list != NULL)
        closedir(list);
    return found;
}

/* /proc/diskstats has partitions, too; /sys/block has whole disks. */
static bool is_disk(const char *root, const char *name)
{
    char path[PATH_SIZE + DEVICE_NAME_SIZE + 32], safe[DEVICE_NAME_SIZE];

    snprintf(safe, sizeof(safe), "%s", name);
    for (char *at = safe; (at = strchr(at, '/')) != NULL;)
        *at = '!'; /* as sysfs writes it */
    snprintf(path, sizeof(path), "%s/sys/block/%s", root, safe);
    return host_disk_counts(name) && safe[0] != '.' && exists(path) && !is_stacked(path);
}

static bool is_interface(const char *root, const char *name)
{
    (void)root;
    return strcmp(name, "lo") != 0;
}

static void read_disks(struct host *host, struct summary_record *summary)
{
    const struct counters *disks = &host->disks;
    char path[PATH_SIZE + 32];
    const char *text;

    snprintf(path, sizeof(path), "%s/sys/block", host->root);
    if (!exists(path)) /* disks and partitions look alike */
        return;
    text = text_of(host, FILE_DISKSTATS);
    if (text == NULL || !count_devices(&host->disks, text, host_next_disk, is_disk, host->root))
        return;
    summary->disk_reads = disks->sums[0];
    summary->disk_writes = disks->sums[1];
    summary->disk_read = disks->sums[2];
    summary->disk_written = disks->sums[3];
    summary->disk_busy = disks->most;
}

static void read_network(struct host *host, struct summary_record *summary)
{
    const struct counters *all = &host->interfaces;
    const char *text = text_of(host, FILE_NET_DEV);

    if (text == NULL ||
        !count_devices(&host->interfaces, text, host_next_interface, is_interface, host->root))
        return;
    summary->network_received = all->sums[0];
    summary->network_sent = all->sums[1];
    summary->network_packets_received = all->sums[2];
    summary->network_packets_sent = all->sums[3];
    summary->network_dropped = all->sums[4];
}

/* ---- everything together ---- */

static void read_pressure(struct host *host, struct summary_record *summary)
{
    uint64_t unused;
    const char *text = text_of(host, FILE_PRESSURE_CPU);

    if (text != NULL) /* "full" of the CPU means nothing for a whole machine */
        host_parse_pressure(text, &summary->cpu_waited, &unused);
    text = text_of(host, FILE_PRESSURE_MEMORY);
    if (text != NULL)
        host_parse_pressure(text, &summary->memory_waited, &summary->memory_waited_all);
    text = text_of(host, FILE_PRESSURE_IO);
    if (text != NULL)
        host_parse_pressure(text, &summary->disk_waited, &summary->disk_waited_all);
}

void host_read(struct host *host, struct summary_record *ret_summary)
{
    const char *text;

    host_know_nothing(ret_summary);
    ret_summary->header = (struct record_header){
        .time = clock_now(CLOCK_MONOTONIC), .id = EVENT_SUMMARY, .flags = RECORD_NO_STREAM};
    if ((text = text_of(host, FILE_STAT)) != NULL)
        host_parse_stat(text, host->tick, ret_summary);
    if ((text = text_of(host, FILE_LOADAVG)) != NULL)
        host_parse_loadavg(text, ret_summary);
    if ((text = text_of(host, FILE_MEMINFO)) != NULL)
        host_parse_meminfo(text, ret_summary);
    if ((text = text_of(host, FILE_VMSTAT)) != NULL)
        host_parse_vmstat(text, host->page, ret_summary);
    read_pressure(host, ret_summary);
    read_disks(host, ret_summary);
    read_network(host, ret_summary);
    if ((text = text_of(host, FILE_NET_SNMP)) != NULL)
        host_parse_snmp(text, ret_summary);
}
