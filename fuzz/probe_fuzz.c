/* SPDX-License-Identifier: MIT */
/*
 * probe_fuzz.c: the input is a file of /proc or /sys, as an unusual kernel or container may have it. Every parser of
 * `dpm check` reads it: results fit their buffers, and occur in the text.
 */
#include "check/probe.h"
#include "fuzz.h"

#include <string.h>

static void check_text(const char *text, size_t room)
{
    PROMISE(strnlen(text, room) < room);
    PROMISE(strchr(text, '\n') == NULL);
}

static void check_mounts(const char *text)
{
    struct probe_mounts *mounts = malloc(sizeof(*mounts));

    if (mounts == NULL)
        abort();
    probe_parse_mounts(text, mounts);
    PROMISE(mounts->cgroup2.point[0] == '\0' || strstr(text, "cgroup2") != NULL);
    PROMISE(mounts->cgroup_memory.point[0] == '\0' || strstr(text, "memory") != NULL);
    PROMISE(mounts->pids_hidden != ANSWER_YES || strstr(text, "hidepid=") != NULL);
    PROMISE(strnlen(mounts->cgroup2.point, PATH_MAX) < PATH_MAX);
    PROMISE(strnlen(mounts->cgroup2.root, PATH_MAX) < PATH_MAX);
    PROMISE(strnlen(mounts->cgroup_memory.point, PATH_MAX) < PATH_MAX);
    PROMISE(strnlen(mounts->cgroup_memory.root, PATH_MAX) < PATH_MAX);
    free(mounts);
}

static void check_status(const char *text)
{
    struct probe probe = {0};

    probe_parse_status(text, &probe);
    PROMISE(probe.seccomp <= 2);
    PROMISE(probe.status != ANSWER_YES || strstr(text, "CapEff:") != NULL);
    PROMISE(probe.status == ANSWER_YES || (probe.effective == 0 && probe.bounding == 0));
}

static void check_numbers(const char *text)
{
    uint64_t memory = probe_parse_memory(text);

    PROMISE(memory == UINT64_MAX || memory % 1024 == 0);
    PROMISE(memory == UINT64_MAX || strstr(text, "MemAvailable:") != NULL);
    PROMISE(probe_parse_users(text) != ANSWER_YES || strstr(text, "4294967295") != NULL);
    PROMISE(probe_parse_lockdown(text) == LOCKDOWN_UNKNOWN || strchr(text, '[') != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const controllers[] = {"", "memory"};
    char reason[TRIAL_REASON_SIZE], group[PATH_MAX];
    char *text = malloc(size + 1);

    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    check_mounts(text);
    check_status(text);
    check_numbers(text);
    for (size_t i = 0; i < 2; i++)
        if (probe_parse_group(text, controllers[i], group))
            check_text(group, sizeof(group));
    trial_reason(text, reason);
    check_text(reason, sizeof(reason));
    free(text);
    return 0;
}

/* A little of every file. */
size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "0 0 4294967295\n"
        "CapEff:\t000001ffffffffff\nCapBnd:\t000000c000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
        "none [integrity] confidentiality\n"
        "MemAvailable:    4000000 kB\n"
        "4:memory:/docker/abc\n0::/user.slice\n"
        "22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n"
        "34 31 0:31 /docker /sys/fs/cgroup/memory rw master:9 - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/my\\040cgroup rw - cgroup2 cgroup2 rw\n"
        "R6 invalid mem access 'scalar'\nprocessed 2 insns (limit 1000000)\n";

    return fuzz_text(bytes, room, example);
}
