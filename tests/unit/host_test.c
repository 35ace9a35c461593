/* SPDX-License-Identifier: MIT */
/*
 * host_test.c: the files of /proc of several kernels and containers, and odd ones; machines and cgroups made of files;
 * random counters of devices that come and go.
 */
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "seeded.h"

#define TICK 10000000 /* ns */
#define PAGE 4096

#define EXPECT(expected, found)                                                                    \
    do {                                                                                           \
        uint64_t is = (found), wanted = (expected);                                                \
        if (is != wanted)                                                                          \
            fail_msg("%s is %" PRIu64 ", not %" PRIu64, #found, is, wanted);                       \
    } while (0)

/* ---- texts ---- */

static void processors_of_several_kernels(void **state)
{
    struct summary_record summary;

    (void)state;
    host_know_nothing(&summary);
    host_parse_stat("cpu  100 20 50 1000 7 3 4 5 60 6\n"
                    "cpu0 100 20 50 1000 7 3 4 5 60 6\n"
                    "intr 12 0 0 0\nctxt 5\nprocesses 9\nprocs_running 3\nprocs_blocked 2\n",
                    TICK, &summary);
    EXPECT(120ull * TICK, summary.cpu_user);
    EXPECT(57ull * TICK, summary.cpu_system);
    EXPECT(1000ull * TICK, summary.cpu_idle);
    EXPECT(7ull * TICK, summary.cpu_disk);
    EXPECT(5ull * TICK, summary.cpu_stolen);
    EXPECT(3, summary.runnable);
    EXPECT(2, summary.in_disk);
    /* Linux 2.6.0 to 2.6.10 have no stolen time; 2.4 has four columns */
    host_parse_stat("cpu  1 2 3 4 5 6 7\n", TICK, &summary);
    EXPECT(16ull * TICK, summary.cpu_system);
    EXPECT(NOT_KNOWN, summary.cpu_stolen);
    EXPECT(NOT_KNOWN, summary.runnable);
    host_parse_stat("cpu 1 2 3 4\ncpu0 1 2 3 4", TICK, &summary);
    EXPECT(3ull * TICK, summary.cpu_user);
    EXPECT(NOT_KNOWN, summary.cpu_system);
    EXPECT(NOT_KNOWN, summary.cpu_disk);
}

static void odd_processors(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "cpu",
                                        "cpu\n",
                                        "cpu  x y",
                                        "cpu0 1 2 3 4 5 6 7 8\n",
                                        "cpuset 1 2 3",
                                        "cpu -1 -2 -3 -4 -5 -6 -7 -8\n"};
    struct summary_record summary;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        host_know_nothing(&summary);
        host_parse_stat(texts[i], TICK, &summary);
        EXPECT(NOT_KNOWN, summary.cpu_user);
        EXPECT(NOT_KNOWN, summary.cpu_idle);
        EXPECT(NOT_KNOWN, summary.runnable);
    }
    /* too large for 64 bits: the number, the product, the sum */
    host_parse_stat(
        "cpu 18446744073709551616 0 18446744073709551615 1000000000000000000 1844674407370 "
        "0 0 0\nprocs_running 99999999999999999999\n",
        TICK, &summary);
    EXPECT(NOT_KNOWN, summary.cpu_user);
    EXPECT(NOT_KNOWN, summary.cpu_system);
    EXPECT(NOT_KNOWN, summary.cpu_idle);
    EXPECT(1844674407370ull * TICK, summary.cpu_disk);
    EXPECT(NOT_KNOWN, summary.runnable);
}

static void load_and_memory(void **state)
{
    struct summary_record summary;

    (void)state;
    host_know_nothing(&summary);
    host_parse_loadavg("12.07 2.32 1.66 1/92 7260\n", &summary);
    EXPECT(1207, summary.load);
    host_know_nothing(&summary);
    host_parse_loadavg("1", &summary);
    EXPECT(NOT_KNOWN, summary.load);
    host_parse_meminfo("MemTotal:       24684096 kB\nMemFree:  1 kB\nMemAvailable:   23874540 kB\n"
                       "SwapCached: 7 kB\nSwapTotal:             0 kB\nSwapFree:  0 kB\n",
                       &summary);
    EXPECT(24684096ull * 1024, summary.memory);
    EXPECT(23874540ull * 1024, summary.memory_available);
    EXPECT(0, summary.swap);
    host_parse_meminfo("MemTotal: 1024 kB\nMemFree: 1 kB\n", &summary); /* before 3.14 */
    EXPECT(1 << 20, summary.memory);
    EXPECT(NOT_KNOWN, summary.memory_available);
    EXPECT(NOT_KNOWN, summary.swap);
    host_parse_vmstat("nr_free_pages 5\npgmajfault_x 3\npgfault 9\npgmajfault 44\npswpin 2\n"
                      "pswpout 3\n",
                      PAGE, &summary);
    EXPECT(44, summary.major_faults);
    EXPECT(2 * PAGE, summary.swapped_in);
    EXPECT(3 * PAGE, summary.swapped_out);
    host_parse_vmstat("pswpin 4503599627370497\n", PAGE, &summary);
    EXPECT(NOT_KNOWN, summary.swapped_in);
    EXPECT(NOT_KNOWN, summary.swapped_out);
}

static void pressure_and_segments(void **state)
{
    struct summary_record summary;
    uint64_t some = 7, all = 8;

    (void)state;
    host_parse_pressure("some avg10=3.48 avg60=35.13 avg300=21.21 total=12741\n"
                        "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
                        &some, &all);
    EXPECT(12741000, some);
    EXPECT(5000, all);
    all = 8;
    host_parse_pressure("some avg10=0 avg60=0 avg300=0 total=1\n", &some, &all); /* CPU, to 5.12 */
    EXPECT(1000, some);
    EXPECT(8, all);
    host_parse_pressure("some avg10=0\nfull total\n", &some, &all);
    EXPECT(1000, some);
    host_know_nothing(&summary);
    host_parse_snmp("Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                    "Tcp: RtoAlgorithm RtoMin MaxConn RetransSegs InErrs\nTcp: 1 200 -1 5051 0\n"
                    "Udp: InDatagrams\nUdp: 3\n",
                    &summary);
    EXPECT(5051, summary.tcp_retransmitted);
    host_know_nothing(&summary);
    host_parse_snmp("Tcp: a RetransSegs\nTcp: 1\n", &summary); /* no such value */
    EXPECT(NOT_KNOWN, summary.tcp_retransmitted);
    host_parse_snmp("Tcp: RetransSegs\n", &summary);
    EXPECT(NOT_KNOWN, summary.tcp_retransmitted);
}

static void disks_and_interfaces(void **state)
{
    const char *text =
        " 254       0 vda 1609 74021 20 6701 711 441233 30 1370 0 531 8362 897 2 3 4 5 6\n"
        "junk\n"
        "   8       1 sda1 1 2 3 4\n"
        "   8      16 cciss/c0d0 5 0 6 0 7 0 8 0 0 9 0";
    struct device device;

    (void)state;
    assert_true(host_next_disk(&text, &device));
    assert_string_equal(device.name, "vda");
    EXPECT(1609, device.figures[0]);
    EXPECT(711, device.figures[1]);
    EXPECT(20 * 512, device.figures[2]);
    EXPECT(30 * 512, device.figures[3]);
    EXPECT(531000000, device.figures[4]);
    assert_true(
        host_next_disk(&text, &device)); /* a partition of Linux 2.6.24 and older has four */
    assert_string_equal(device.name, "sda1");
    EXPECT(NOT_KNOWN, device.figures[4]);
    assert_true(host_next_disk(&text, &device));
    assert_string_equal(device.name, "cciss/c0d0");
    EXPECT(9000000, device.figures[4]);
    assert_false(host_next_disk(&text, &device));

    text = "Inter-|   Receive                |  Transmit\n"
           " face |bytes    packets errs drop|bytes\n"
           "    lo: 9 4 0 1 0 0 0 0 9 4 0 2 0 0 0 0\n"
           "eth0:1000 10 0 3 0 0 0 0 500 5 0 4 0 0 0 0\n"
           "  eth0.5@: 1 2 3\n";
    assert_true(host_next_interface(&text, &device));
    assert_string_equal(device.name, "lo");
    EXPECT(3, device.figures[4]);
    assert_true(host_next_interface(&text, &device));
    assert_string_equal(device.name, "eth0");
    EXPECT(1000, device.figures[0]);
    EXPECT(500, device.figures[1]);
    EXPECT(10, device.figures[2]);
    EXPECT(5, device.figures[3]);
    EXPECT(7, device.figures[4]);
    assert_true(host_next_interface(&text, &device));
    EXPECT(NOT_KNOWN, device.figures[1]);
    assert_false(host_next_interface(&text, &device));
}

static void disks_that_count(void **state)
{
    static const char *const counts[] = {"sda",   "vda",     "nvme0n1", "mmcblk0", "xvda",
                                         "dasda", "ramdisk", "md",      "loopy"};
    static const char *const others[] = {"loop0", "ram1",    "zram0", "dm-12",
                                         "md127", "bcache0", "drbd0"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        if (!host_disk_counts(counts[i]))
            fail_msg("%s does not count", counts[i]);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (host_disk_counts(others[i]))
            fail_msg("%s counts", others[i]);
}

static void files_of_cgroups(void **state)
{
    struct cgroup_record record;

    (void)state;
    memset(&record, 0xff, sizeof(record));
    host_parse_cpu_stat("usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 10\nnr_throttled 9\n"
                        "throttled_usec 400\n",
                        &record);
    EXPECT(5000, record.cpu);
    EXPECT(10, record.periods);
    EXPECT(9, record.throttled_periods);
    EXPECT(400000, record.throttled);
    host_parse_cpu_stat("nr_periods 28\nnr_throttled 25\nthrottled_time 1994777956\nnr_bursts 0\n",
                        &record); /* v1 */
    EXPECT(5000, record.cpu);
    EXPECT(1994777956, record.throttled);
    host_parse_cpu_stat("usage_usec 6\n", &record); /* the controller is not enabled */
    EXPECT(6000, record.cpu);
    EXPECT(NOT_KNOWN, record.periods);
    host_parse_cpu_max("20000 100000\n", &record);
    EXPECT(20000000, record.quota);
    EXPECT(100000000, record.period);
    host_parse_cpu_max("max 100000\n", &record);
    EXPECT(0, record.quota);
    EXPECT(100000000, record.period);
    host_parse_cpu_max("", &record);
    EXPECT(NOT_KNOWN, record.quota);
    host_parse_memory_events("low 0\nhigh 0\nmax 17\noom 2\noom_kill 1\noom_group_kill 0\n",
                             &record);
    EXPECT(17, record.memory_reclaims);
    EXPECT(1, record.oom_kills);
    host_parse_memory_events("low 0\nhigh 0\nmax 3\noom 0\n", &record); /* before 4.13 */
    EXPECT(NOT_KNOWN, record.oom_kills);
    EXPECT(0, host_parse_limit("max\n"));
    EXPECT(0, host_parse_limit("-1\n"));
    EXPECT(0, host_parse_limit("9223372036854771712\n"));
    EXPECT(1048576, host_parse_limit("1048576\n"));
    EXPECT(NOT_KNOWN, host_parse_limit("\n"));
}

static void paths_of_v1(void **state)
{
    static const char text[] = "12:name=systemd:/init\n5:cpu,cpuacct:/a/b\n4:memory:/c:d\n"
                               "3:cpuset:/x\n2:pids:y\n0::/unified\n";
    char path[16], place[64], root[64];

    (void)state;
    assert_true(host_parse_process_cgroup(text, "cpu", path, sizeof(path)));
    assert_string_equal(path, "/a/b");
    assert_true(host_parse_process_cgroup(text, "cpuacct", path, sizeof(path)));
    assert_true(host_parse_process_cgroup(text, "memory", path, sizeof(path)));
    assert_string_equal(path, "/c:d");
    assert_false(host_parse_process_cgroup(text, "memory", path, 4));
    assert_false(host_parse_process_cgroup(text, "pids", path, sizeof(path)));
    assert_false(host_parse_process_cgroup(text, "blkio", path, sizeof(path)));
    assert_false(host_parse_process_cgroup("", "cpu", path, sizeof(path)));
    assert_false(host_parse_process_cgroup("cpu", "cpu", path, sizeof(path)));
    assert_true(host_parse_v1_mount(
        "34 31 0:31 /docker /sys/fs/my\\040cgroup rw master:9 - cgroup cgroup rw,cpu,cpuacct\n",
        "cpu", place, root, sizeof(root)));
    assert_string_equal(place, "/sys/fs/my cgroup");
    assert_string_equal(root, "/docker");
    assert_false(host_parse_v1_mount("34 31 0:31 / /x rw - cgroup cgroup rw,cpuset\n", "cpu", place,
                                     root, sizeof(root)));
    assert_false(host_parse_v1_mount("34 31 0:31 / /x rw - cgroup2 cgroup2 rw,cpu\n", "cpu", place,
                                     root, sizeof(root)));
    assert_false(host_parse_v1_mount("- cgroup ", "cpu", place, root, sizeof(root)));
    assert_false(host_parse_v1_mount("", "cpu", place, root, sizeof(root)));
}

/* ---- machines made of files ---- */

static char root[64];

static void at(const char *name, char path[512])
{
    assert_in_range(snprintf(path, 512, "%s/%s", root, name), 1, 511);
}

/* With the folders above it. */
static void make_folder(const char *name)
{
    char path[512];

    at(name, path);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    mkdir(path, 0755);
}

/* The file is written in place: it may be open. */
static void put(const char *name, const char *text)
{
    char path[512], folder[512];

    snprintf(folder, sizeof(folder), "%s", name);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
        make_folder(folder);
    }
    at(name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/dpm-host-XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void a_machine_without_files(void **state)
{
    struct summary_record summary;
    struct host *host;

    (void)state;
    assert_int_equal(host_open(root, &host), 0);
    host_read(host, &summary);
    EXPECT(EVENT_SUMMARY, summary.header.id);
    assert_true(summary.header.time > 0);
    const uint64_t *fields = (const uint64_t *)(&summary.header + 1);
    for (size_t i = 0; i < (sizeof(summary) - sizeof(summary.header)) / 8; i++)
        EXPECT(NOT_KNOWN, fields[i]);
    host_close(host);
}

static void a_machine_of_files(void **state)
{
    struct summary_record summary;
    struct host *host;

    (void)state;
    put("proc/stat", "cpu  1 0 0 5 0 0 0 0\nprocs_running 4\nprocs_blocked 0\n");
    put("proc/pressure/io", "some avg10=0 total=3\nfull avg10=0 total=2\n");
    put("proc/diskstats", "8 0 sda 1 0 2 0 3 0 4 0 0 5 0\n8 1 sda1 1 0 2 0 3 0 4 0 0 5 0\n"
                          "253 0 dm-0 1 0 2 0 3 0 4 0 0 5 0\n9 0 stack 1 0 2 0 3 0 4 0 0 5 0\n"
                          "72 0 cciss/c0d0 10 0 20 0 30 0 40 0 0 50 0\n");
    make_folder("sys/block/sda/slaves");
    make_folder("sys/block/dm-0");
    make_folder("sys/block/stack/slaves/sda");
    make_folder("sys/block/cciss!c0d0");
    put("proc/net/dev", "lo: 9 9 9 9 9 9 9 9 9 9 9 9\n eth0: 100 1 0 2 0 0 0 0 50 3 0 4\n");
    assert_int_equal(host_open(root, &host), 0);
    host_read(host, &summary);
    EXPECT(4, summary.runnable);
    EXPECT(3000, summary.disk_waited);
    EXPECT(2000, summary.disk_waited_all);
    EXPECT(NOT_KNOWN, summary.cpu_waited);
    EXPECT(11, summary.disk_reads);
    EXPECT(33, summary.disk_writes);
    EXPECT(22 * 512, summary.disk_read);
    EXPECT(44 * 512, summary.disk_written);
    EXPECT(50000000, summary.disk_busy);
    EXPECT(100, summary.network_received);
    EXPECT(50, summary.network_sent);
    EXPECT(6, summary.network_dropped);
    /* the first disk is the busiest now, and the other one is removed */
    put("proc/diskstats", "8 0 sda 2 0 2 0 3 0 4 0 0 8 0\n");
    host_read(host, &summary);
    EXPECT(12, summary.disk_reads);
    EXPECT(53000000, summary.disk_busy);
    host_close(host);
}

/* Devices come, count, and go; the sums are what they have counted in all. */
static void sums_only_grow(void **state)
{
    uint64_t seed = seed_of_run("host"), bytes[8] = {0}, sum = 0, before = 0;
    bool there[8] = {false};
    struct summary_record summary;
    struct host *host;

    (void)state;
    put("proc/net/dev", "\n");
    assert_int_equal(host_open(root, &host), 0);
    for (int round = 0; round < 300; round++) {
        char text[2048] = " lo: 1 1 1 1 1 1 1 1 1 1 1 1\n";
        for (size_t i = 0; i < ARRAY_SIZE(there); i++) {
            uint64_t more = random_below(&seed, 1000);
            if (random_below(&seed, 8) == 0) {
                there[i] = !there[i];
                bytes[i] = 0;
            }
            if (!there[i])
                continue;
            bytes[i] += more;
            sum += more;
            snprintf(text + strlen(text), sizeof(text) - strlen(text),
                     " veth%zu: %" PRIu64 " 0 0 0 0 0 0 0 0 0 0 0\n", i, bytes[i]);
        }
        put("proc/net/dev", text);
        host_read(host, &summary);
        EXPECT(sum, summary.network_received);
        assert_true(summary.network_received >= before);
        before = summary.network_received;
    }
    host_close(host);
}

/* A file of more than one page, read again and again. */
static void a_machine_with_many_interrupts(void **state)
{
    char *text = malloc(300000);
    struct summary_record summary;
    struct host *host;
    size_t length;

    (void)state;
    assert_non_null(text);
    length = (size_t)sprintf(text, "cpu 1 1 1 1 1 1 1 1\nintr");
    for (int i = 0; i < 100000; i++)
        length += (size_t)sprintf(text + length, " 0");
    sprintf(text + length, "\nprocs_running 77\nprocs_blocked 5\n");
    put("proc/stat", text);
    assert_int_equal(host_open(root, &host), 0);
    for (int i = 0; i < 3; i++) {
        host_read(host, &summary);
        EXPECT(77, summary.runnable);
        EXPECT(5, summary.in_disk);
    }
    host_close(host);
    free(text);
}

/* This machine: what every Linux has. */
static void this_machine(void **state)
{
    struct summary_record first, second;
    struct host *host;

    (void)state;
    assert_int_equal(host_open("", &host), 0);
    host_read(host, &first);
    host_read(host, &second);
    assert_true(first.cpu_user != NOT_KNOWN && first.runnable != NOT_KNOWN);
    assert_true(first.runnable >= 1 && first.memory > 0 && first.memory != NOT_KNOWN);
    assert_true(second.cpu_user >= first.cpu_user && second.cpu_system >= first.cpu_system);
    assert_true(second.header.time >= first.header.time);
    assert_true(first.major_faults == NOT_KNOWN || second.major_faults >= first.major_faults);
    host_close(host);
}

/* ---- cgroups made of files ---- */

/* The numbers of directories, as of cgroups. */
static uint64_t number_of(const char *name)
{
    struct stat status;
    char path[512];

    at(name, path);
    assert_int_equal(stat(path, &status), 0);
    return status.st_ino;
}

static int open_folder(const char *name)
{
    char path[512];

    at(name, path);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(directory >= 0);
    return directory;
}

static void put_unified(const char *name, const char *quota, const char *throttled)
{
    char file[256], text[256];

    snprintf(file, sizeof(file), "%s/cgroup.procs", name);
    put(file, "1\n");
    snprintf(file, sizeof(file), "%s/cpu.max", name);
    put(file, quota);
    snprintf(file, sizeof(file), "%s/cpu.stat", name);
    snprintf(text, sizeof(text), "usage_usec 9\nnr_periods 50\nnr_throttled %s\nthrottled_usec 7\n",
             throttled);
    put(file, text);
}

/* What a reading returns: "path path". */
static const char *told(struct host_cgroups *cgroups, bool all, char text[256])
{
    struct host_cgroup cgroup;
    size_t count = 0;

    text[0] = '\0';
    while (host_cgroups_next(cgroups, &count, all, &cgroup))
        snprintf(text + strlen(text), 256 - strlen(text), "%s%s%s", text[0] == '\0' ? "" : " ",
                 cgroup.first ? "+" : "", cgroup.path);
    return text;
}

static void limits_of_unified_cgroups(void **state)
{
    struct host_cgroups *cgroups;
    struct host_cgroup cgroup;
    char text[256];
    size_t count = 0;

    (void)state;
    put_unified("c/pod", "50000 100000\n", "3");
    put_unified("c/pod/one", "max 100000\n", "0");
    put_unified("c/free", "max 100000\n", "0");
    put_unified("c/free/two", "max 100000\n", "0");
    int directory = open_folder("c");
    assert_int_equal(host_cgroups_open(root, directory, &cgroups), 0);
    assert_true(host_cgroups_is_new(cgroups, 77));
    assert_false(host_cgroups_is_new(cgroups, 77));
    assert_false(host_cgroups_is_new(cgroups, 0));
    assert_false(host_cgroups_unread(cgroups));
    host_cgroups_note(cgroups, "/pod/one");
    host_cgroups_note(cgroups, "/free/two");
    host_cgroups_note(cgroups, "/gone");
    host_cgroups_note(cgroups, "/");
    assert_true(host_cgroups_unread(cgroups));
    /* those with processes, and those above them that have a limit; /free has none */
    assert_string_equal(told(cgroups, false, text), "+/pod/one +/pod +/free/two");
    assert_false(host_cgroups_unread(cgroups));
    assert_string_equal(told(cgroups, false, text), "");
    put_unified("c/pod", "50000 100000\n", "4");
    put_unified("c/free/two", "max 100000\n", "0");
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(cgroup.path, "/pod");
    EXPECT(number_of("c/pod"), cgroup.record.cgroup);
    EXPECT(EVENT_CGROUP, cgroup.record.header.id);
    EXPECT(9000, cgroup.record.cpu);
    EXPECT(50000000, cgroup.record.quota);
    EXPECT(100000000, cgroup.record.period);
    EXPECT(50, cgroup.record.periods);
    EXPECT(4, cgroup.record.throttled_periods);
    EXPECT(7000, cgroup.record.throttled);
    EXPECT(NOT_KNOWN, cgroup.record.memory);
    assert_false(host_cgroups_next(cgroups, &count, false, &cgroup));
    /* memory in use changes all the time: it makes a record at the end only */
    put("c/free/two/memory.current", "4096\n");
    assert_string_equal(told(cgroups, false, text), "");
    assert_string_equal(told(cgroups, true, text), "/free/two");
    assert_string_equal(told(cgroups, true, text), "");
    put("c/free/two/memory.max", "8192\n");
    assert_string_equal(told(cgroups, false, text), "/free/two");
    EXPECT(0, host_cgroups_left_out(cgroups));
    host_cgroups_close(cgroups);
    close(directory);
}

/* Of two containers' pod: what its own file counts are kills in one of them, too. */
static void memory_events_below_a_cgroup(void **state)
{
    struct host_cgroups *cgroups;
    struct host_cgroup cgroup;
    size_t count = 0;

    (void)state;
    put_unified("c/pod", "50000 100000\n", "3");
    put_unified("c/pod/one", "max 100000\n", "0");
    put("c/pod/memory.events", "low 0\nhigh 0\nmax 17\noom 2\noom_kill 1\n");
    put("c/pod/memory.events.local", "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\n");
    put("c/pod/one/memory.events", "low 0\nhigh 0\nmax 14\noom 2\noom_kill 1\n");
    int directory = open_folder("c");
    assert_int_equal(host_cgroups_open(root, directory, &cgroups), 0);
    host_cgroups_note(cgroups, "/pod/one");
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(cgroup.path, "/pod/one");
    EXPECT(14, cgroup.record.memory_reclaims); /* the kernel has no .local */
    EXPECT(1, cgroup.record.oom_kills);
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(cgroup.path, "/pod");
    EXPECT(3, cgroup.record.memory_reclaims);
    EXPECT(0, cgroup.record.oom_kills);
    assert_false(host_cgroups_next(cgroups, &count, false, &cgroup));
    host_cgroups_close(cgroups);
    close(directory);
}

/* A container sees its own cgroup as the root. */
static void the_root_of_a_container(void **state)
{
    struct host_cgroups *cgroups;
    char text[256];

    (void)state;
    put_unified("c", "50000 100000\n", "3");
    put_unified("c/a", "max 100000\n", "0");
    int directory = open_folder("c");
    assert_int_equal(host_cgroups_open(root, directory, &cgroups), 0);
    host_cgroups_note(cgroups, "/a");
    assert_string_equal(told(cgroups, false, text), "+/a +/");
    host_cgroups_close(cgroups);
    assert_int_equal(host_cgroups_open(root, directory, &cgroups), 0);
    host_cgroups_note(cgroups, "/");
    assert_string_equal(told(cgroups, false, text), "+/");
    host_cgroups_close(cgroups);
    close(directory);
}

/* What was read last is told once when it is gone. */
static void a_cgroup_that_is_removed(void **state)
{
    struct host_cgroups *cgroups;
    struct host_cgroup cgroup;
    char text[256];
    size_t count = 0;

    (void)state;
    put_unified("c/a", "10000 100000\n", "1");
    int directory = open_folder("c");
    assert_int_equal(host_cgroups_open(root, directory, &cgroups), 0);
    host_cgroups_note(cgroups, "/a");
    assert_string_equal(told(cgroups, false, text), "+/a");
    put("c/a/memory.current", "5\n");
    assert_string_equal(told(cgroups, false, text), "");
    snprintf(text, sizeof(text), "rm -rf '%s/c/a'", root);
    assert_int_equal(system(text), 0);
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    EXPECT(5, cgroup.record.memory);
    EXPECT(1, cgroup.record.throttled_periods);
    assert_false(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(told(cgroups, true, text), "");
    host_cgroups_close(cgroups);
    close(directory);
}

static void limits_of_v1(void **state)
{
    static const char mounts[] =
        "30 1 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu\n31 1 0:31 / /cg/acct rw - cgroup cgroup "
        "rw,cpuacct\n32 1 0:32 /outer /cg/memory rw - cgroup cgroup rw,memory\n";
    struct host_cgroups *cgroups;
    struct host_cgroup cgroup;
    char text[256];
    size_t count = 0;

    (void)state;
    put("proc/self/mountinfo", mounts);
    put("cg/cpu/web/cgroup.procs", "");
    put("cg/cpu/web/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 123\n");
    put("cg/cpu/web/cpu.cfs_quota_us", "20000\n");
    put("cg/cpu/web/cpu.cfs_period_us", "100000\n");
    put("cg/acct/web/cgroup.procs", "");
    put("cg/acct/web/cpuacct.usage", "456\n");
    put("cg/memory/db/cgroup.procs", "");
    put("cg/memory/db/memory.usage_in_bytes", "4096\n");
    put("cg/memory/db/memory.limit_in_bytes", "8192\n");
    put("cg/memory/db/memory.failcnt", "6\n");
    put("cg/memory/db/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    put("proc/10/cgroup", "3:cpu:/web\n2:cpuacct:/web\n1:memory:/outer/db\n0::/\n");
    put("proc/11/cgroup", "3:cpu:/\n2:cpuacct:/\n1:memory:/elsewhere\n0::/\n");
    assert_int_equal(host_cgroups_open(root, -1, &cgroups), 0);
    host_cgroups_note_process(cgroups, 10);
    host_cgroups_note_process(cgroups, 10);
    host_cgroups_note_process(cgroups, 11);
    host_cgroups_note_process(cgroups, 12);
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(cgroup.path, "/web");
    EXPECT(CGROUP_OF_V1 | number_of("cg/cpu/web"), cgroup.record.cgroup);
    EXPECT(20000000, cgroup.record.quota);
    EXPECT(100000000, cgroup.record.period);
    EXPECT(4, cgroup.record.throttled_periods);
    EXPECT(123, cgroup.record.throttled);
    EXPECT(456, cgroup.record.cpu);
    EXPECT(NOT_KNOWN, cgroup.record.memory);
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(cgroup.path, "/outer/db");
    EXPECT(CGROUP_OF_V1 | CGROUP_OF_MEMORY | number_of("cg/memory/db"), cgroup.record.cgroup);
    EXPECT(4096, cgroup.record.memory);
    EXPECT(8192, cgroup.record.memory_most);
    EXPECT(6, cgroup.record.memory_reclaims);
    EXPECT(2, cgroup.record.oom_kills);
    EXPECT(NOT_KNOWN, cgroup.record.quota);
    assert_false(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(told(cgroups, true, text), "");
    host_cgroups_close(cgroups);
}

/* A container has the same path in all hierarchies: it is one cgroup. */
static void a_container_of_v1(void **state)
{
    struct host_cgroups *cgroups;
    struct host_cgroup cgroup;
    size_t count = 0;

    (void)state;
    put("proc/self/mountinfo", "30 1 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                               "32 1 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
    put("cg/cpu/docker/x/cgroup.procs", "");
    put("cg/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
    put("cg/cpu/docker/x/cpuacct.usage", "456\n");
    put("cg/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
    put("proc/10/cgroup", "3:cpu,cpuacct:/docker/x\n1:memory:/docker/x\n");
    assert_int_equal(host_cgroups_open(root, -1, &cgroups), 0);
    host_cgroups_note_process(cgroups, 10);
    assert_true(host_cgroups_next(cgroups, &count, false, &cgroup));
    assert_string_equal(cgroup.path, "/docker/x");
    EXPECT(0, cgroup.record.quota);
    EXPECT(456, cgroup.record.cpu);
    EXPECT(0, cgroup.record.memory_most);
    assert_false(host_cgroups_next(cgroups, &count, false, &cgroup));
    host_cgroups_close(cgroups);
}

static void more_cgroups_than_there_is_room_for(void **state)
{
    struct host_cgroups *cgroups;
    struct host_cgroup cgroup;
    char name[64];
    size_t count = 0, found = 0;

    (void)state;
    make_folder("c");
    int directory = open_folder("c");
    assert_int_equal(host_cgroups_open(root, directory, &cgroups), 0);
    for (int i = 0; i < CGROUPS_MOST + 5; i++) {
        snprintf(name, sizeof(name), "c/g%d/cgroup.procs", i);
        put(name, "");
        snprintf(name, sizeof(name), "/g%d", i);
        host_cgroups_note(cgroups, name);
        host_cgroups_note(cgroups, name);
    }
    while (host_cgroups_next(cgroups, &count, true, &cgroup))
        found++;
    EXPECT(CGROUPS_MOST - 1, found); /* and the root, which is no machine's here */
    EXPECT(6, host_cgroups_left_out(cgroups));
    host_cgroups_close(cgroups);
    close(directory);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_of_several_kernels),
        cmocka_unit_test(odd_processors),
        cmocka_unit_test(load_and_memory),
        cmocka_unit_test(pressure_and_segments),
        cmocka_unit_test(disks_and_interfaces),
        cmocka_unit_test(disks_that_count),
        cmocka_unit_test(files_of_cgroups),
        cmocka_unit_test(paths_of_v1),
        WITH_ROOT(a_machine_without_files),
        WITH_ROOT(a_machine_of_files),
        WITH_ROOT(sums_only_grow),
        WITH_ROOT(a_machine_with_many_interrupts),
        cmocka_unit_test(this_machine),
        WITH_ROOT(limits_of_unified_cgroups),
        WITH_ROOT(memory_events_below_a_cgroup),
        WITH_ROOT(the_root_of_a_container),
        WITH_ROOT(a_cgroup_that_is_removed),
        WITH_ROOT(limits_of_v1),
        WITH_ROOT(a_container_of_v1),
        WITH_ROOT(more_cgroups_than_there_is_room_for),
    };

    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
