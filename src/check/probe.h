/* SPDX-License-Identifier: MIT */
/*
 * probe.h: what this machine offers the meter, and what to think of it. Private to check/.
 *
 *      files of /proc and /sys --probe_files--+
 *      bpf() --------------------probe_calls--+--> struct probe --> checks.c --> struct meter_check
 *      the meter itself ---------trial.c------+--> results -------------'
 *
 * The texts are the kernel's, but nothing here trusts them: what cannot be understood is unknown.
 */
#ifndef DPM_PROBE_H
#define DPM_PROBE_H

#include "check/check.h"
#include "event/event.h"

#include <limits.h>

/* ---- probe.c: facts ---- */

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

enum lockdown { LOCKDOWN_UNKNOWN, LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

#define PROBE_KILLED INT_MIN /* bpf() ended the process that called it */

struct probe {
    char release[128]; /* of the kernel; "" = unknown, as for all texts here */
    char machine[64];
    char program[PATH_MAX]; /* the path of the program that asks */
    int types;              /* BTF type information: 0 = readable, or a negative errno */
    enum lockdown lockdown;
    char clock_source[64];
    /* of this process */
    enum answer status; /* the capabilities and the seccomp mode are known */
    uint64_t effective; /* capabilities, a bit each */
    uint64_t bounding;
    unsigned seccomp; /* 2 = a filter of system calls is in force */
    bool no_new_privileges;
    enum answer initial_users; /* in the initial user namespace */
    enum answer initial_pids;  /* in the initial PID namespace */
    int bpf;                   /* what bpf() answered: 0, a negative errno, or PROBE_KILLED */
    enum answer trampolines;   /* the kernel allows them ... */
    enum answer casts; /* ... and has bpf_rdonly_cast(), since 6.2; both set by trial_kernel() */
    /* memory, in bytes; UINT64_MAX = unknown, or no limit */
    uint64_t memory;           /* available in the whole machine */
    uint64_t memory_limit;     /* of the control groups of this process */
    char limited_by[PATH_MAX]; /* the file that says so */
    /* what is mounted where */
    char cgroup2[PATH_MAX];
    enum answer pids_hidden; /* /proc hides other users' processes */
};

/* What files under `root` ("" = the machine itself) tell; all that is not told there is unknown. */
void probe_files(const char *root, struct probe *ret_probe);

/* What only calls tell: whether bpf() can be called. It is tried in a process of its own, as a
 * filter may end the caller. */
void probe_calls(struct probe *probe);

/* The parsers, on the text of a file; they note what they find. */
void probe_parse_status(const char *text, struct probe *probe); /* /proc/self/status */
enum lockdown probe_parse_lockdown(const char *text);           /* /sys/kernel/security/lockdown */
enum answer probe_parse_users(const char *text); /* /proc/self/uid_map: nobody renumbered? */
uint64_t probe_parse_memory(const char *text);   /* /proc/meminfo: bytes available */

/* The control group of this process that `controller` ("memory", or "" for version 2) speaks of,
 * from /proc/self/cgroup. Returns whether there is one; the path is at most PATH_MAX - 1 long. */
bool probe_parse_group(const char *text, const char *controller, char ret_path[PATH_MAX]);

/* The mounted file systems that matter, from /proc/self/mountinfo. */
struct probe_mount {
    char point[PATH_MAX]; /* "" = not mounted */
    char root[PATH_MAX];  /* which folder of the file system is mounted there */
};

struct probe_mounts {
    struct probe_mount cgroup2;
    struct probe_mount cgroup_memory; /* version 1 */
    enum answer pids_hidden;
};

void probe_parse_mounts(const char *text, struct probe_mounts *ret_mounts);

/* ---- trial.c: the meter, truly tried ---- */

#define TRIAL_REASON_SIZE 256

/* Notes which ways this kernel offers: casts from its types, trampolines by trying, if checks_allow_trial(). */
void trial_kernel(struct probe *probe);

/* Loads the meter with these flags, attaches it, opens its iterators, and takes it out again. Nothing
 * is marked, so nothing is recorded. Returns 0 and what it would do without (meter_interface.left_out, or ""),
 * or a negative errno with a line in `problem`. */
int trial_whole(uint32_t flags, char ret_left_out[TRIAL_REASON_SIZE], struct problem *problem);

/* A program of the kernel side. */
struct trial_program {
    char name[64];
    char section[64];               /* "tp_btf/NAME", "iter/NAME" ... */
    enum answer offered;            /* the kernel has what it is attached to */
    enum answer taken;              /* the kernel takes it; ANSWER_UNKNOWN = not tried */
    int error;                      /* a negative errno, if it does not ... */
    char reason[TRIAL_REASON_SIZE]; /* ... and why */
};

/* Lists in *ret_list those that this kernel would be given, and those that it lacks; none is tried. It is the caller's to free.
 * Whether the kernel allows trampolines is found out if `may_try` (which needs privilege), else taken for granted. Returns their
 * number or a negative errno. */
int trial_programs(bool may_try, struct trial_program **ret_list);

/* Loads and attaches this program alone, and takes it out again. Returns 0, or a negative errno and the
 * kernel's reason in one line. */
int trial_one(const char *name, char ret_reason[TRIAL_REASON_SIZE]);

/* The last line of the verifier's log that gives a reason; "" if there is none. */
void trial_reason(const char *log, char ret_reason[TRIAL_REASON_SIZE]);

/* ---- checks.c: judgement ---- */

/* Judges all facts but the hooks: calls `tell` for each. */
void checks_of_machine(const struct probe *probe,
                       void (*tell)(const struct meter_check *check, void *context), void *context);

/* Judges the programs of the kernel side: calls `tell` for each. Returns the flags that need none
 * of the missing ones; 0 if no event is left. */
uint32_t checks_of_programs(const struct trial_program *programs, size_t count,
                            void (*tell)(const struct meter_check *check, void *context),
                            void *context);

/* Whether these facts allow to try the meter at all. */
bool checks_allow_trial(const struct probe *probe);

#endif
