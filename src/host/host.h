/* SPDX-License-Identifier: MIT */
/*
 * host.h: the state of the machine we run on, from /proc and /sys: how busy its processors are, what is waited for,
 * memory, disks, network; and the limits of cgroups.
 *
 *      /proc/stat, loadavg, meminfo, vmstat, pressure/... --+
 *      /proc/diskstats, net/dev   --totals that only grow---+--> SUMMARY
 *      /proc/net/snmp --------------------------------------+
 *
 *      cgroup id, pid --> directories of cgroup2, or of the cpu and memory hierarchies of cgroup v1 --> CGROUP
 *
 * What a kernel or container does not say is NOT_KNOWN, and so is a number that does not fit. Files stay open.
 */
#ifndef DPM_HOST_H
#define DPM_HOST_H

#include "event/event.h"

#include <sys/types.h>

/* ---- the machine ---- */

struct host;

/* `root`: the directory that has proc and sys, "" for "/"; tests make one of their own. Returns 0 or -ENOMEM. Free with
 * host_close, which accepts NULL. */
int host_open(const char *root, struct host **ret_host);
void host_close(struct host *host);

/* The state now; header.time is when it was read. Out of memory: what needs it is NOT_KNOWN. */
void host_read(struct host *host, struct summary_record *ret_summary);

/* ---- its files, one by one ---- */

/* All fields NOT_KNOWN. */
void host_know_nothing(struct summary_record *summary);

/* Each takes the text of a file and sets the fields that it finds there. `tick`: ns of a unit of /proc/stat; `page`:
 * bytes of a page. */
void host_parse_stat(const char *text, uint64_t tick, struct summary_record *summary);
void host_parse_loadavg(const char *text, struct summary_record *summary);
void host_parse_meminfo(const char *text, struct summary_record *summary);
void host_parse_vmstat(const char *text, uint64_t page, struct summary_record *summary);
void host_parse_snmp(const char *text, struct summary_record *summary);

/* Pressure stall information: ns in which some task waited, and in which all that were not idle did. A line that is
 * missing leaves its result unchanged. */
void host_parse_pressure(const char *text, uint64_t *some, uint64_t *all);

#define DEVICE_NAME_SIZE 64
#define DEVICE_FIGURES   5

/* A disk: reads, writes, bytes read, bytes written, ns in which it had requests. A network interface: bytes received,
 * bytes sent, packets received, packets sent, packets dropped. */
struct device {
    char name[DEVICE_NAME_SIZE];
    uint64_t figures[DEVICE_FIGURES];
};

/* The next line of /proc/diskstats or /proc/net/dev. *text moves behind it; lines of something else are skipped.
 * Returns whether there was one. */
bool host_next_disk(const char **text, struct device *ret_device);
bool host_next_interface(const char **text, struct device *ret_device);

/* Whether a disk counts, by its name: not if it is memory, or only passes requests on to other disks. */
bool host_disk_counts(const char *name);

/* ---- cgroups ---- */

struct host_cgroups;

#define CGROUPS_MOST 64

/* `root` as in host_open; `unified`: an open directory of the root cgroup2, -1: there is none. It stays the caller's.
 * Returns 0 or -ENOMEM. */
int host_cgroups_open(const char *root, int unified, struct host_cgroups **ret_cgroups);
void host_cgroups_close(struct host_cgroups *cgroups);

/* Whether this cgroup2 is met for the first time: then its path is needed, below. */
bool host_cgroups_is_new(struct host_cgroups *cgroups, uint64_t cgroup);

/* A metered process is in the cgroup2 with this path below the root, "/a/b". From now on its state is read, and that of
 * the cgroups above it, whose limits apply, too. The machine's root cgroup has no limits and is left out. */
void host_cgroups_note(struct host_cgroups *cgroups, const char *path);

/* The same for the cgroups of v1 of a process with this number in our /proc, if controllers belong to v1. Does nothing if
 * it was called too often since the last reading. */
void host_cgroups_note_process(struct host_cgroups *cgroups, pid_t pid);

/* Whether a cgroup has not been read yet. */
bool host_cgroups_unread(const struct host_cgroups *cgroups);

struct host_cgroup {
    struct cgroup_record record; /* header.time is when it was read */
    const char
        *path;  /* below the root of its hierarchy; valid until the next call of any function */
    bool first; /* its first record */
};

/* Reads all cgroups, and returns those whose state is worth a record, one at a call: when first seen, if it has limits
 * or processes; when a limit was reached since, or changed; and with `all`, every one that had a record, if it has
 * changed. Begin with *at = 0. A cgroup that is gone has its latest state. Returns false after the last one. */
bool host_cgroups_next(struct host_cgroups *cgroups, size_t *at, bool all,
                       struct host_cgroup *ret_cgroup);

/* Cgroups with metered processes, or above these, that were not looked at: there were more than CGROUPS_MOST. */
uint64_t host_cgroups_left_out(const struct host_cgroups *cgroups);

/* ---- files of cgroups ---- */

/* Each takes the text of the file. */
void host_parse_cpu_stat(const char *text, struct cgroup_record *cgroup);
void host_parse_cpu_max(const char *text, struct cgroup_record *cgroup);
void host_parse_memory_events(const char *text, struct cgroup_record *cgroup);
uint64_t host_parse_limit(const char *text); /* "max", -1 or more than there can be: 0 */

/* The path of a process's cgroup in the hierarchy of a controller of v1, from /proc/PID/cgroup. Returns false if there
 * is none, or if it does not fit. */
bool host_parse_process_cgroup(const char *text, const char *controller, char *path, size_t size);

/* The mount of the hierarchy of a controller of v1 in a line of /proc/self/mountinfo: where it is, and which cgroup it
 * shows there. */
bool host_parse_v1_mount(const char *line, const char *controller, char *place, char *root,
                         size_t size);

#endif
