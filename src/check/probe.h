/* SPDX-License-Identifier: MIT */
/*
 * probe.h: facts about this machine, and the judgement on them. Private to check/.
 *
 *      files of /proc and /sys --probe_files--+
 *      bpf() --------------------probe_calls--+--> struct probe --> checks.c --> struct meter_check
 *      the meter itself ---------trial.c------+--> results -------------'
 *
 * The texts come from the kernel, but the parsers do not trust them: a text that does not parse counts as unknown.
 */
#ifndef DPM_PROBE_H
#define DPM_PROBE_H

#include "check/check.h"
#include "event/event.h"

#include <limits.h>

/* ---- probe.c: facts ---- */

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

enum lockdown { LOCKDOWN_UNKNOWN, LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };

#define PROBE_KILLED INT_MIN /* bpf() killed the calling process */

struct probe {
    char release[128]; /* kernel release; "" = unknown, as for all texts here */
    char machine[64];
    char program[PATH_MAX]; /* path of the running program */
    int types;              /* BTF type information: 0 = readable, or a negative errno */
    enum lockdown lockdown;
    char clock_source[64];
    /* this process */
    enum answer status; /* the capabilities and the seccomp mode are known */
    bool is_root;       /* its real user */
    uint64_t effective; /* capabilities, one bit each */
    uint64_t bounding;
    unsigned seccomp; /* 2 = a system call filter is active */
    bool no_new_privileges;
    enum answer initial_users; /* in the initial user namespace */
    enum answer initial_pids;  /* in the initial PID namespace */
    int bpf;                   /* result of bpf(): 0, a negative errno, or PROBE_KILLED */
    enum answer trampolines;   /* the kernel allows them ... */
    enum answer casts; /* ... and has bpf_rdonly_cast(), since 6.2; trial_kernel() sets both */
    /* memory, in bytes; UINT64_MAX = unknown, or no limit */
    uint64_t memory;           /* available on the whole machine */
    uint64_t memory_limit;     /* the lowest limit of this process's control groups */
    char limited_by[PATH_MAX]; /* the file that sets this limit */
    /* mounts */
    char cgroup2[PATH_MAX];
    bool cgroup2_is_part;    /* ... shows only a cgroup namespace's part of the hierarchy */
    enum answer pids_hidden; /* /proc hides other users' processes */
};

/* Reads the facts from files under `root` ("" = the machine itself). A fact that no file shows stays unknown. */
void probe_files(const char *root, struct probe *ret_probe);

/* Determines whether bpf() can be called, which no file shows. A child process tries it, because a seccomp filter may
 * kill the caller. */
void probe_calls(struct probe *probe);

/* The parsers take the text of a file and store what they find. */
void probe_parse_status(const char *text, struct probe *probe); /* /proc/self/status */
enum lockdown probe_parse_lockdown(const char *text);           /* /sys/kernel/security/lockdown */
enum answer
probe_parse_users(const char *text); /* /proc/self/uid_map: all users map to themselves? */
uint64_t probe_parse_memory(const char *text); /* /proc/meminfo: bytes available */

/* This process's control group for `controller` ("memory", or "" for version 2), from the text of /proc/self/cgroup.
 * Returns whether there is one; the path is at most PATH_MAX - 1 long. */
bool probe_parse_group(const char *text, const char *controller, char ret_path[PATH_MAX]);

/* The relevant mounts, from /proc/self/mountinfo. */
struct probe_mount {
    char point[PATH_MAX]; /* "" = not mounted */
    char root[PATH_MAX];  /* the folder of the file system that is mounted there */
};

struct probe_mounts {
    struct probe_mount cgroup2;
    struct probe_mount cgroup_memory; /* version 1 */
    enum answer pids_hidden;
};

void probe_parse_mounts(const char *text, struct probe_mounts *ret_mounts);

/* ---- trial.c: trying the meter ---- */

#define TRIAL_REASON_SIZE 256

/* Sets probe->casts from the kernel's types, and probe->trampolines by trying, if checks_allow_trial(). */
void trial_kernel(struct probe *probe);

/* Loads the meter with these flags, attaches it, opens its iterators, and removes it again. No process is marked, so
 * nothing is recorded. Returns 0, which of the flags it can never record, and what the meter would leave out
 * (meter_interface.left_out, or ""), or a negative errno with a line in `problem`. */
int trial_whole(uint64_t flags, uint64_t *ret_unknown, char ret_left_out[TRIAL_REASON_SIZE],
                struct problem *problem);

/* A kernel program. */
struct trial_program {
    char name[64];
    char section[64];               /* "tp_btf/NAME", "iter/NAME" ... */
    enum answer offered;            /* the kernel has its hook */
    enum answer taken;              /* the kernel accepts it; ANSWER_UNKNOWN = not tried */
    int error;                      /* if not: a negative errno ... */
    char reason[TRIAL_REASON_SIZE]; /* ... and why */
};

/* Lists the programs that the meter would load on this kernel, and those whose hook the kernel lacks; tries none of
 * them. With `may_try`, which needs privilege, it tests whether the kernel allows trampolines; otherwise it assumes so.
 * The caller frees *ret_list. Returns the number of programs or a negative errno. */
int trial_programs(bool may_try, struct trial_program **ret_list);

/* Loads and attaches this program alone, and removes it again. Returns 0, or a negative errno with the kernel's reason
 * in one line. */
int trial_one(const char *name, char ret_reason[TRIAL_REASON_SIZE]);

/* The last line of the verifier's log that states a reason; "" if there is none. */
void trial_reason(const char *log, char ret_reason[TRIAL_REASON_SIZE]);

/* ---- checks.c: judgement ---- */

/* Judges all facts except the hooks, and calls `tell` for each. */
void checks_of_machine(const struct probe *probe,
                       void (*tell)(const struct meter_check *check, void *context), void *context);

/* Judges the kernel programs, and calls `tell` for each. Returns the flags that need none of the missing programs; 0 if
 * no event is left. */
uint64_t checks_of_programs(const struct trial_program *programs, size_t count,
                            void (*tell)(const struct meter_check *check, void *context),
                            void *context);

/* Judges what trial_whole returned; `flags`: those that work. */
void checks_of_whole(int result, uint64_t flags, const char *left_out,
                     const struct problem *problem, struct meter_check *check);

/* Whether these facts permit a trial of the meter. */
bool checks_allow_trial(const struct probe *probe);

#endif
