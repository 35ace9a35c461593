/* SPDX-License-Identifier: MIT */
/*
 * host_fuzz.c: the input is a file of /proc or of a cgroup, as an unusual kernel or container may have it. Every parser
 * of host/ reads it: a known result comes from a line that is there, and texts fit their buffers.
 */
#include "fuzz.h"
#include "host/host.h"

#include <string.h>

static void check_summary(const char *text)
{
    struct summary_record summary;
    uint64_t some = NOT_KNOWN, all = NOT_KNOWN;

    host_know_nothing(&summary);
    host_parse_stat(text, 10000000, &summary);
    host_parse_loadavg(text, &summary);
    host_parse_meminfo(text, &summary);
    host_parse_vmstat(text, 4096, &summary);
    host_parse_snmp(text, &summary);
    host_parse_pressure(text, &some, &all);
    PROMISE(summary.cpu_user == NOT_KNOWN || strstr(text, "cpu") != NULL);
    PROMISE(summary.cpu_user == NOT_KNOWN || summary.cpu_user % 10000000 == 0);
    PROMISE(summary.runnable == NOT_KNOWN || strstr(text, "procs_running") != NULL);
    PROMISE(summary.memory == NOT_KNOWN || summary.memory % 1024 == 0);
    PROMISE(summary.swapped_in == NOT_KNOWN || summary.swapped_in % 4096 == 0);
    PROMISE(summary.tcp_retransmitted == NOT_KNOWN || strstr(text, "RetransSegs") != NULL);
    PROMISE(some == NOT_KNOWN || strstr(text, "some ") != NULL);
    PROMISE(all == NOT_KNOWN || strstr(text, "full ") != NULL);
}

static void check_devices(const char *text,
                          bool (*next)(const char **text, struct device *ret_device))
{
    const char *end = text + strlen(text);
    struct device device;

    for (const char *before = text; next(&text, &device); before = text) {
        PROMISE(text > before && text <= end);
        PROMISE(strnlen(device.name, sizeof(device.name)) < sizeof(device.name));
        PROMISE(device.name[0] != '\0' && strpbrk(device.name, " \n") == NULL);
        host_disk_counts(device.name);
    }
    PROMISE(text == end);
}

static void check_cgroups(const char *text)
{
    struct cgroup_record record;
    char path[64], place[64];
    uint64_t limit = host_parse_limit(text);

    memset(&record, 0xff, sizeof(record));
    host_parse_cpu_stat(text, &record);
    host_parse_cpu_max(text, &record);
    host_parse_memory_events(text, &record);
    PROMISE(record.throttled_periods == NOT_KNOWN || strstr(text, "nr_throttled") != NULL);
    PROMISE(record.oom_kills == NOT_KNOWN || strstr(text, "oom_kill") != NULL);
    PROMISE(limit == NOT_KNOWN || limit < 1ull << 60);
    if (host_parse_process_cgroup(text, "cpu", path, sizeof(path))) {
        PROMISE(strnlen(path, sizeof(path)) < sizeof(path));
        PROMISE(path[0] == '/' && strchr(path, '\n') == NULL && strstr(text, path) != NULL);
    }
    if (host_parse_v1_mount(text, "memory", place, path, sizeof(path))) {
        PROMISE(strnlen(place, sizeof(place)) < sizeof(place));
        PROMISE(strnlen(path, sizeof(path)) < sizeof(path));
        PROMISE(place[0] != '\0' && strstr(text, " - cgroup ") != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    check_summary(text);
    check_devices(text, host_next_disk);
    check_devices(text, host_next_interface);
    check_cgroups(text);
    free(text);
    return 0;
}

/* A little of every file. */
size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "1.25 0.5 0.1 2/92 7260\n"
        "cpu  100 20 50 1000 7 3 4 5 60 6\nprocs_running 3\nprocs_blocked 2\n"
        "MemTotal:       24684096 kB\nMemAvailable:   23874540 kB\nSwapTotal: 0 kB\nSwapFree: 0 "
        "kB\n"
        "pgmajfault 44\npswpin 2\npswpout 3\n"
        "some avg10=3.48 avg60=35.13 avg300=21.21 total=12741\nfull avg10=0.00 total=5\n"
        " 254       0 vda 1609 74021 20 6701 711 441233 30 1370 0 531 8362\n"
        "  eth0: 1000 10 0 3 0 0 0 0 500 5 0 4 0 0 0 0\n"
        "Tcp: RtoMin RetransSegs InErrs\nTcp: 200 5051 0\n"
        "20000 100000\nusage_usec 5\nnr_periods 10\nnr_throttled 9\nthrottled_usec 400\n"
        "max 17\noom_kill 1\n"
        "4:cpu,cpuacct:/docker/abc\n"
        "34 31 0:31 /docker /sys/fs/my\\040cgroup rw master:9 - cgroup cgroup rw,memory\n";

    return fuzz_text(bytes, room, example);
}
