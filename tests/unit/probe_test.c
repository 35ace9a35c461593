/* SPDX-License-Identifier: MIT */
/*
 * probe_test.c: what `dpm check` finds on simulated machines: a folder with the files of /proc and /sys. And on this
 * machine, compared with system calls.
 */
#include "check/probe.h"
#include "check/ptrace_trial.h"
#include "meter/load/meter.h"
#include "seeded.h"

#include <errno.h>
#include <ftw.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a machine made of files ---- */

static char root[PATH_MAX];

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static void put_bytes(const char *name, const void *bytes, size_t size)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s%s", root, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static void put_link(const char *name, const char *target)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s%s", root, name);
    make_folders(path);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void take(const char *name)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s%s", root, name);
    assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#define STATUS(effective, bounding, no_new, seccomp)                                               \
    "Name:\tdpm\nUid:\t1000\t1000\t1000\t1000\nCapInh:\t0000000000000000\nCapPrm:\t" effective     \
    "\nCapEff:\t" effective "\nCapBnd:\t" bounding                                                 \
    "\nCapAmb:\t0000000000000000\nNoNewPrivs:\t" no_new "\nSeccomp:\t" seccomp                     \
    "\nSeccomp_filters:\t1\n"
#define ALL "000001ffffffffff"

/* A machine on which everything works. */
static int make_machine(void **state)
{
    (void)state;
    strcpy(root, "/tmp/dpm-probe-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("/proc/sys/kernel/osrelease", "6.18.1-test\n");
    put("/proc/sys/kernel/arch", "x86_64\n");
    put_bytes("/sys/kernel/btf/vmlinux", "\x9f\xeb\x01\x00", 4);
    put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put("/proc/self/status", STATUS(ALL, ALL, "0", "0"));
    put("/proc/self/uid_map", "         0          0 4294967295\n");
    put_link("/proc/self/ns/user", "user:[4026531837]");
    put_link("/proc/self/ns/pid", "pid:[4026531836]");
    put_link("/proc/self/exe", "/opt/dpm");
    put("/proc/self/cgroup", "0::/user.slice/session\n");
    put("/proc/self/mountinfo", "22 27 0:21 / /proc rw,nosuid - proc proc rw\n"
                                "30 27 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
    put("/proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:    4000000 kB\n");
    return 0;
}

static int forget_machine(void **state)
{
    (void)state;
    take("");
    return 0;
}

/* ---- judging it ---- */

static struct {
    struct meter_check list[64];
    size_t count;
} told;

static void note(const struct meter_check *check, void *context)
{
    (void)context;
    assert_true(told.count < ARRAY_SIZE(told.list));
    assert_true(check->group[0] != '\0' && check->name[0] != '\0' && check->detail[0] != '\0');
    /* a check that lacks something has advice, and no other check has */
    bool lacks = check->state == METER_CHECK_LIMITED || check->state == METER_CHECK_MISSING;
    assert_int_equal(check->advice[0] != '\0', lacks);
    told.list[told.count++] = *check;
}

static struct probe judge_machine(void)
{
    struct probe probe;

    told.count = 0;
    probe_files(root, &probe);
    checks_of_machine(&probe, note, NULL);
    return probe;
}

static const struct meter_check *find(const char *name)
{
    for (size_t i = 0; i < told.count; i++)
        if (strcmp(told.list[i].name, name) == 0)
            return &told.list[i];
    fail_msg("nothing is told of %s", name);
    return NULL;
}

/* Asserts that the check has this state, and that its detail and advice contain these words. */
static void expect(const char *name, enum meter_check_state state, const char *detail,
                   const char *advice)
{
    const struct meter_check *check = find(name);

    if (check->state != state || strstr(check->detail, detail) == NULL ||
        strstr(check->advice, advice) == NULL)
        fail_msg("%s is %d: %s\n%s", name, check->state, check->detail, check->advice);
}

/* How many checks are not OK. */
static size_t troubles(void)
{
    size_t count = 0;

    for (size_t i = 0; i < told.count; i++)
        count += told.list[i].state != METER_CHECK_OK;
    return count;
}

static void finds_nothing_wrong(void **state)
{
    struct probe probe = judge_machine();

    (void)state;
    assert_int_equal(troubles(), 0);
    assert_true(checks_allow_trial(&probe));
    assert_string_equal(probe.release, "6.18.1-test");
    assert_string_equal(probe.program, "/opt/dpm");
    assert_string_equal(probe.cgroup2, "/sys/fs/cgroup");
    assert_int_equal(probe.memory, 4000000ull << 10);
    assert_int_equal(probe.memory_limit, UINT64_MAX);
}

static void sees_lockdown(void **state)
{
    (void)state;
    put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    judge_machine();
    assert_int_equal(troubles(), 0);
    put("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    judge_machine();
    expect("lockdown", METER_CHECK_MISSING, "bpf_probe_read_kernel", "lockdown=integrity");
    assert_int_equal(troubles(), 1);
    put("/sys/kernel/security/lockdown", "none integrity confidentiality\n");
    judge_machine();
    expect("lockdown", METER_CHECK_UNKNOWN, "", "");
    take("/sys/kernel/security");
    judge_machine();
    expect("lockdown", METER_CHECK_UNKNOWN, "securityfs", "");
}

static void misses_types(void **state)
{
    struct probe probe;

    (void)state;
    put("/sys/kernel/btf/vmlinux", "\x9f");
    probe = judge_machine();
    expect("BTF", METER_CHECK_MISSING, "it is not BTF", "CONFIG_DEBUG_INFO_BTF=y");
    assert_false(checks_allow_trial(&probe));
    take("/sys/kernel/btf");
    probe = judge_machine();
    expect("BTF", METER_CHECK_MISSING, "No such file", "CONFIG_DEBUG_INFO_BTF=y");
    assert_int_equal(troubles(), 1);
    assert_false(checks_allow_trial(&probe));
}

static void judges_kernels(void **state)
{
    static const struct {
        const char *release;
        enum meter_check_state state;
    } cases[] = {
        {"6.18.44-fc-v669\n", METER_CHECK_OK}, {"6.16.0\n", METER_CHECK_OK},
        {"7.0-rc1\n", METER_CHECK_OK},         {"10.1\n", METER_CHECK_OK},
        {"6.1.0-40-amd64\n", METER_CHECK_OK},  {"6.0.19\n", METER_CHECK_LIMITED},
        {"5.19.0\n", METER_CHECK_LIMITED},     {"\n", METER_CHECK_UNKNOWN},
        {"six\n", METER_CHECK_UNKNOWN},        {"6\n", METER_CHECK_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        put("/proc/sys/kernel/osrelease", cases[i].release);
        judge_machine();
        expect("release", cases[i].state, "",
               cases[i].state == METER_CHECK_LIMITED ? "Linux 6.1 or later" : "");
    }
    put("/proc/sys/kernel/arch", "aarch64\n");
    struct probe probe = judge_machine();
    expect("architecture", METER_CHECK_MISSING, "aarch64", "x86_64");
    assert_false(checks_allow_trial(&probe));
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    judge_machine();
    expect("clock", METER_CHECK_LIMITED, "hpet", "tsc=reliable");
}

/* ---- privilege ---- */

static void misses_capabilities(void **state)
{
    struct probe probe;

    (void)state;
    put("/proc/self/status", STATUS("0000000000000000", ALL, "0", "0"));
    probe = judge_machine();
    expect("CAP_BPF", METER_CHECK_MISSING, "lacks it", "sudo /opt/dpm");
    expect("CAP_PERFMON", METER_CHECK_MISSING, "lacks it",
           "setcap cap_bpf,cap_perfmon+ep /opt/dpm");
    expect("CAP_NET_ADMIN", METER_CHECK_LIMITED, "UDP", "sudo");
    expect("CAP_SETUID", METER_CHECK_LIMITED, "--user", "sudo");
    assert_false(checks_allow_trial(&probe));
    /* before Linux 6.2 */
    probe.casts = ANSWER_NO;
    told.count = 0;
    checks_of_machine(&probe, note, NULL);
    expect("CAP_BPF", METER_CHECK_MISSING, "lacks it",
           "sudo /opt/dpm ...; or let root start dpmd (see Service); setcap is enough only since");
    expect("CAP_SYS_ADMIN", METER_CHECK_MISSING, "before Linux 6.2", "sudo");
    /* bits 38 and 39: these two only */
    put("/proc/self/status", STATUS("000000c000000000", ALL, "0", "0"));
    probe = judge_machine();
    expect("CAP_BPF", METER_CHECK_OK, "", "");
    expect("CAP_PERFMON", METER_CHECK_OK, "", "");
    expect("CAP_SYS_PTRACE", METER_CHECK_LIMITED, "", "");
    assert_true(checks_allow_trial(&probe));
    put("/proc/self/status", STATUS("0000008000000000", ALL, "0", "0"));
    probe = judge_machine();
    expect("CAP_BPF", METER_CHECK_OK, "", "");
    expect("CAP_PERFMON", METER_CHECK_MISSING, "", "sudo");
    assert_false(checks_allow_trial(&probe));
    put("/proc/self/status", STATUS("0000000000200000", ALL, "0", "0"));
    probe = judge_machine();
    expect("CAP_BPF", METER_CHECK_OK, "by CAP_SYS_ADMIN", "");
    assert_true(checks_allow_trial(&probe));
    put("/proc/self/status", STATUS("0000000000000000", ALL, "1", "0"));
    judge_machine();
    expect("CAP_BPF", METER_CHECK_MISSING, "", "no_new_privs");
    put("/proc/self/status", STATUS("0000000000000000", "00000000a80425fb", "0", "2"));
    probe = judge_machine();
    expect("CAP_BPF", METER_CHECK_MISSING, "", "--cap-add BPF --cap-add PERFMON; in");
    /* root would lack these, too; not CAP_SETUID */
    expect("CAP_NET_ADMIN", METER_CHECK_LIMITED, "UDP",
           "if you need it: docker run --cap-add NET_ADMIN; in a systemd unit "
           "CapabilityBoundingSet=CAP_NET_ADMIN");
    expect("CAP_SYS_PTRACE", METER_CHECK_LIMITED, "", "sudo"); /* being root is enough */
    expect("CAP_SETUID", METER_CHECK_LIMITED, "--user", "sudo");
    probe.casts = ANSWER_NO;
    told.count = 0;
    checks_of_machine(&probe, note, NULL);
    expect("CAP_BPF", METER_CHECK_MISSING, "", "--cap-add PERFMON --cap-add SYS_ADMIN; in");
    expect("CAP_SYS_ADMIN", METER_CHECK_MISSING, "before Linux 6.2",
           "docker run --cap-add SYS_ADMIN; in");
}

static void sees_containers(void **state)
{
    struct probe probe;

    (void)state;
    put("/proc/self/uid_map", "         0     100000      65536\n");
    probe = judge_machine();
    expect("user namespace", METER_CHECK_MISSING, "do not count", "on the host");
    expect("CAP_BPF", METER_CHECK_MISSING, "only in this user namespace", "see user namespace");
    expect("CAP_SETUID", METER_CHECK_LIMITED, "", "see user namespace");
    assert_false(checks_allow_trial(&probe));
    /* all ids are the same, but it is another namespace */
    put("/proc/self/uid_map", "         0          0 4294967295\n");
    put_link("/proc/self/ns/user", "user:[4026532177]");
    put_link("/proc/self/ns/pid", "pid:[4026532178]");
    judge_machine();
    expect("user namespace", METER_CHECK_MISSING, "do not count", "on the host");
    expect("PID namespace", METER_CHECK_OK, "by their PIDs here", "");
}

static void judges_answers_of_bpf(void **state)
{
    struct probe probe = judge_machine();
    struct probe filtered = probe;

    (void)state;
    filtered.seccomp = 2;
    told.count = 0;
    checks_of_machine(&filtered, note, NULL);
    expect("bpf()", METER_CHECK_OK, "seccomp", "");
    static const int answers[] = {-EPERM, -EACCES, PROBE_KILLED, -ENOSYS};
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        filtered.bpf = probe.bpf = answers[i];
        told.count = 0;
        checks_of_machine(&filtered, note, NULL);
        expect("bpf()", METER_CHECK_MISSING, "seccomp", "SystemCallFilter=bpf");
        told.count = 0;
        checks_of_machine(&probe, note, NULL);
        expect("bpf()", METER_CHECK_MISSING, "",
               answers[i] == -ENOSYS ? "CONFIG_BPF_SYSCALL" : "security module");
        assert_false(checks_allow_trial(&probe));
    }
}

/* ---- memory and mounts ---- */

static void finds_the_lowest_limit(void **state)
{
    struct probe probe;

    (void)state;
    put("/sys/fs/cgroup/user.slice/session/memory.max", "max\n");
    probe = judge_machine();
    assert_int_equal(probe.memory_limit, UINT64_MAX);
    put("/sys/fs/cgroup/user.slice/memory.max", "16777216\n");
    probe = judge_machine();
    assert_int_equal(probe.memory_limit, 16777216);
    expect("memory control group", METER_CHECK_LIMITED, "/sys/fs/cgroup/user.slice/memory.max",
           "dpm run --ring 4M");
    put("/sys/fs/cgroup/user.slice/session/memory.max", "1073741824\n");
    probe = judge_machine();
    assert_int_equal(probe.memory_limit, 16777216);
    put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    judge_machine();
    expect("memory control group", METER_CHECK_OK, "1024 MiB", "");
    put("/proc/meminfo", "MemAvailable: 3000 kB\n");
    judge_machine();
    expect("memory", METER_CHECK_LIMITED, "2 MiB", "--ring 1M");
    put("/proc/meminfo", "MemFree: 3000 kB\n");
    judge_machine();
    expect("memory", METER_CHECK_UNKNOWN, "", "");
}

/* Version 1 in a container: its group is the root of the mounted tree. Version 2 is elsewhere, at a path with a
 * blank in its name. */
static void finds_limits_of_version_1(void **state)
{
    struct probe probe;

    (void)state;
    put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc/inner\n0::/\n");
    put("/proc/self/mountinfo",
        "22 27 0:21 / /proc rw - proc proc rw,hidepid=0\n"
        "34 31 0:31 /docker/abc /sys/fs/cgroup/memory rw master:9 shared:3 - cgroup cgroup "
        "rw,memory\n"
        "41 31 0:38 / /sys/fs/my\\040cgroup rw,relatime - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "8388608\n");
    probe = judge_machine();
    assert_int_equal(probe.memory_limit, 8388608);
    assert_string_equal(probe.limited_by, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    assert_string_equal(probe.cgroup2, "/sys/fs/my cgroup");
    expect("/proc", METER_CHECK_OK, "", "");
}

static void sees_hidden_processes(void **state)
{
    static const char *const options[] = {"rw,hidepid=2", "rw,hidepid=invisible,gid=4"};

    (void)state;
    put("/proc/self/status", STATUS("0000000000000000", ALL, "0", "0"));
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        char text[256];
        /* the second is mounted over the first */
        snprintf(text, sizeof(text),
                 "1 0 0:1 / /proc rw - proc proc rw\n"
                 "2 0 0:2 / /proc rw - proc proc %s\n",
                 options[i]);
        put("/proc/self/mountinfo", text);
        judge_machine();
        expect("/proc", METER_CHECK_LIMITED, "hidepid", "gid=");
        expect("cgroup2", METER_CHECK_LIMITED, "not mounted", "mount -t cgroup2");
    }
}

static void survives_an_empty_machine(void **state)
{
    struct probe probe;

    (void)state;
    take("/proc");
    take("/sys");
    probe = judge_machine();
    expect("CAP_BPF", METER_CHECK_UNKNOWN, "", "");
    expect("user namespace", METER_CHECK_UNKNOWN, "", "");
    expect("/proc", METER_CHECK_LIMITED, "not mounted", "mount");
    assert_false(checks_allow_trial(&probe));
}

/* Files of random bytes: any judgement, but nothing certain. */
static void survives_garbage(void **state)
{
    static const char *const names[] = {"/proc/sys/kernel/osrelease",
                                        "/proc/sys/kernel/arch",
                                        "/sys/kernel/btf/vmlinux",
                                        "/sys/kernel/security/lockdown",
                                        "/proc/self/status",
                                        "/proc/self/uid_map",
                                        "/proc/self/cgroup",
                                        "/proc/self/mountinfo",
                                        "/proc/meminfo"};
    uint64_t seed = seed_of_run("garbage");

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        uint8_t bytes[600];
        size_t size = (size_t)random_below(&seed, sizeof(bytes));
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)random_below(&seed, 256);
        put_bytes(names[random_below(&seed, ARRAY_SIZE(names))], bytes, size);
        judge_machine();
    }
}

/* ---- hooks ---- */

static struct trial_program program(const char *section, enum answer offered, enum answer taken)
{
    struct trial_program made = {.offered = offered, .taken = taken};

    snprintf(made.section, sizeof(made.section), "%s", section);
    snprintf(made.name, sizeof(made.name), "%s", strchr(section, '/') + 1);
    strcpy(made.reason, taken == ANSWER_NO ? "R1 invalid mem access" : "");
    return made;
}

static uint64_t judge_programs(const struct trial_program *programs, size_t count)
{
    told.count = 0;
    return checks_of_programs(programs, count, note, NULL);
}

static void tells_lost_flags(void **state)
{
    uint64_t sending = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL);
    struct trial_program programs[] = {
        program("tp_btf/task_newtask", ANSWER_YES, ANSWER_YES),
        program("tp_btf/sched_switch", ANSWER_YES, ANSWER_YES),
        program("tp_btf/tcp_sendmsg_locked", ANSWER_YES, ANSWER_YES),
        program("iter/task", ANSWER_YES, ANSWER_YES),
    };
    size_t count = ARRAY_SIZE(programs);

    (void)state;
    assert_int_equal(judge_programs(programs, count), METER_ALL_FLAGS);
    assert_int_equal(troubles(), 0);
    programs[2] = program("tp_btf/tcp_sendmsg_locked", ANSWER_NO, ANSWER_UNKNOWN);
    assert_int_equal(judge_programs(programs, count), METER_ALL_FLAGS & ~sending);
    expect("tcp_sendmsg_locked", METER_CHECK_MISSING, "lost flags: send,sendcall of tcp",
           "Linux 6.16 or later, or one that allows BPF trampolines, or leave out what needs it: "
           "--kinds udp,unix");
    programs[2] = program("tp_btf/tcp_sendmsg_locked", ANSWER_YES, ANSWER_NO);
    assert_int_equal(judge_programs(programs, count), METER_ALL_FLAGS & ~sending);
    expect("tcp_sendmsg_locked", METER_CHECK_MISSING, "R1 invalid mem access; lost flags: send",
           "DPM_DEBUG=1");
    programs[2] = program("tp_btf/tcp_sendmsg_locked", ANSWER_YES, ANSWER_UNKNOWN);
    judge_programs(programs, count);
    expect("tcp_sendmsg_locked", METER_CHECK_UNKNOWN, "exists, but", "");
    programs[3] = program("iter/task", ANSWER_NO, ANSWER_UNKNOWN);
    assert_int_equal(judge_programs(programs, count), 0);
    expect("iter/task task", METER_CHECK_MISSING, "lost flags: all", "Linux 6.1 ");
    programs[3] = program("cgroup_skb/egress", ANSWER_UNKNOWN, ANSWER_NO);
    programs[3].error = -EPERM;
    assert_int_equal(judge_programs(programs, count), METER_ALL_FLAGS);
    expect("egress", METER_CHECK_LIMITED, "does without", "CAP_NET_ADMIN");
    programs[3].error = -EACCES; /* the verifier's message */
    judge_programs(programs, count);
    expect("egress", METER_CHECK_LIMITED, "does without", "DPM_DEBUG=1");
}

/* Only a capability can be given to the meter. */
static void advises_on_what_is_left_out(void **state)
{
    static const char udp[] = "UDP is not metered: its hooks need ";
    static const struct {
        const char *need, *advice;
    } cases[] = {
        {"CAP_NET_ADMIN", "run dpm as root, or give it this capability, too"},
        {"BPF trampolines, or Linux 6.16", "change that, if you need what is left out"},
        {"the cgroup2 hierarchy: No such file or directory",
         "change that, if you need what is left out"},
    };
    struct problem problem = {""};
    struct meter_check check;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char left_out[TRIAL_REASON_SIZE];
        snprintf(left_out, sizeof(left_out), "%s%s", udp, cases[i].need);
        checks_of_whole(0, EVENT_FLAG(EVENT_SEND), left_out, &problem, &check);
        assert_int_equal(check.state, METER_CHECK_LIMITED);
        assert_string_equal(check.advice, cases[i].advice);
        assert_non_null(strstr(check.detail, "; for the flags: send"));
    }
    checks_of_whole(0, EVENT_FLAG(EVENT_SEND), "", &problem, &check);
    assert_int_equal(check.state, METER_CHECK_OK);
    assert_string_equal(check.advice, "");
}

/* What is only limited is not required. */
static void ptrace_works_without_descriptors(void **state)
{
    struct ptrace_trial trial = {
        .files = -ENOENT, .descriptors = -ENOSYS, .schedule = -ENODATA, .scope = -ENOENT};

    (void)state;
    assert_true(ptrace_works(&trial));
    trial.memory = -EPERM;
    assert_false(ptrace_works(&trial));
}

static void finds_the_reason_in_a_log(void **state)
{
    static const struct {
        const char *log;
        const char *reason;
    } cases[] = {
        {"", ""},
        {"\n\n", ""},
        {"0: R1=ctx()\n1: (79) r6 = *(u64 *)(r1 +8)\nR6 invalid mem access 'scalar'\n"
         "processed 2 insns (limit 1000000) max_states_per_insn 0\n",
         "R6 invalid mem access 'scalar'"},
        {"unknown func bpf_probe_read_kernel#113\nverification time 12 usec\nstack depth 0\n",
         "unknown func bpf_probe_read_kernel#113"},
        {"no end of line", "no end of line"},
    };
    char reason[TRIAL_REASON_SIZE], *log = malloc(5000);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        trial_reason(cases[i].log, reason);
        assert_string_equal(reason, cases[i].reason);
    }
    assert_non_null(log);
    memset(log, 'x', 4999);
    log[4999] = '\0';
    trial_reason(log, reason);
    assert_int_equal(strlen(reason), TRIAL_REASON_SIZE - 1);
    free(log);
}

/* ---- this machine ---- */

static void agrees_with_calls(void **state)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    struct utsname names;
    struct probe probe;

    (void)state;
    probe_files("", &probe);
    probe_calls(&probe);
    assert_int_equal(uname(&names), 0);
    assert_string_equal(probe.release, names.release);
    assert_string_equal(probe.machine, names.machine);
    assert_int_equal(syscall(SYS_capget, &header, sets), 0);
    assert_int_equal(probe.effective, sets[0].effective | (uint64_t)sets[1].effective << 32);
    assert_int_equal(probe.types == 0, access("/sys/kernel/btf/vmlinux", R_OK) == 0);
    char *program = realpath("/proc/self/exe", NULL);
    assert_string_equal(probe.program, program);
    free(program);
}

static void lists_every_program(void **state)
{
    static const char *const some[] = {"tcp_sendmsg_locked", "sched_switch", "mark_tasks",
                                       "survey_sockets"};
    struct trial_program *programs;
    int count = trial_programs(true, &programs);

    (void)state;
    assert_true(count > 0);
    for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
        int found = 0;
        for (int j = 0; j < count; j++)
            found += strcmp(programs[j].name, some[i]) == 0;
        assert_int_equal(found, 1);
    }
    free(programs);
}

/* A ring that was full is not advised to be smaller than it was. */
static void advises_on_a_full_ring(void **state)
{
    static const struct {
        uint32_t size;
        const char *was, *larger; /* NULL: there is none */
    } cases[] = {
        {4096, "a buffer was full: record less", "--ring 1M"},
        {1u << 20, "a buffer was full: record less", "--ring 4M"},
        {16u << 20, "a buffer was full: record less", "--ring 64M"},
        {512u << 20, "a buffer was full: record less", "--ring 1024M"},
        {1u << 30, "a buffer was full: record less", NULL},
    };
    char text[METER_FULL_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        meter_full_text(cases[i].size, text);
        assert_memory_equal(text, cases[i].was, strlen(cases[i].was));
        const char *ring = strstr(text, "--ring");
        assert_int_equal(ring != NULL, cases[i].larger != NULL);
        if (ring != NULL)
            assert_string_equal(ring, cases[i].larger);
    }
}

#define ON_MACHINE(test) cmocka_unit_test_setup_teardown(test, make_machine, forget_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MACHINE(finds_nothing_wrong),
        ON_MACHINE(sees_lockdown),
        ON_MACHINE(misses_types),
        ON_MACHINE(judges_kernels),
        ON_MACHINE(misses_capabilities),
        ON_MACHINE(sees_containers),
        ON_MACHINE(judges_answers_of_bpf),
        ON_MACHINE(finds_the_lowest_limit),
        ON_MACHINE(finds_limits_of_version_1),
        ON_MACHINE(sees_hidden_processes),
        ON_MACHINE(survives_an_empty_machine),
        ON_MACHINE(survives_garbage),
        cmocka_unit_test(tells_lost_flags),
        cmocka_unit_test(advises_on_what_is_left_out),
        cmocka_unit_test(ptrace_works_without_descriptors),
        cmocka_unit_test(finds_the_reason_in_a_log),
        cmocka_unit_test(agrees_with_calls),
        cmocka_unit_test(advises_on_a_full_ring),
        cmocka_unit_test(lists_every_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
