/* SPDX-License-Identifier: MIT */
/*
 * checks.c: judges the facts that probe.c and trial.c found, and advises what to do about them. One small function
 * judges one fact; the table `checks` sets their order.
 *
 * Some settings that restrict other users of BPF do not matter here, so no check reads them:
 * - kernel.unprivileged_bpf_disabled and perf_event_paranoid: the meter needs its capabilities whatever they are.
 * - RLIMIT_MEMLOCK: it has not counted BPF maps since Linux 5.11, which is older than anything the meter needs.
 */
#include "check/probe.h"

#include "meter/load/hooks.h"
#include "meter/load/meter.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define METER_MACHINE "x86_64"
#define OLDEST_KERNEL "6.1" /* the oldest kernel tested; its iterators can visit a single process */

static void judge(struct meter_check *check, enum meter_check_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void advise(struct meter_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void judge(struct meter_check *check, enum meter_check_state state, const char *format, ...)
{
    va_list arguments;

    check->state = state;
    va_start(arguments, format);
    vsnprintf(check->detail, sizeof(check->detail), format, arguments);
    va_end(arguments);
}

static void advise(struct meter_check *check, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(check->advice, sizeof(check->advice), format, arguments);
    va_end(arguments);
}

/* ---- the kernel ---- */

struct version {
    unsigned major;
    unsigned minor;
};

static bool parse_version(const char *text, struct version *ret_version)
{
    return sscanf(text, "%5u.%5u", &ret_version->major, &ret_version->minor) == 2;
}

static bool is_older(const struct version *version, const struct version *other)
{
    return version->major != other->major ? version->major < other->major
                                          : version->minor < other->minor;
}

/* An old release alone is no fault: distributors backport hooks, and each needed hook has a check of its own. */
static void check_release(const struct probe *probe, struct meter_check *check)
{
    struct version version, oldest;

    if (!parse_version(probe->release, &version) || !parse_version(OLDEST_KERNEL, &oldest)) {
        judge(check, METER_CHECK_UNKNOWN, "'%.100s' is not a version", probe->release);
        return;
    }
    judge(check, METER_CHECK_OK, "Linux %s", probe->release);
    if (is_older(&version, &oldest)) {
        judge(check, METER_CHECK_LIMITED,
              "Linux %s, older than those the kernel meter is tested on (" OLDEST_KERNEL
              " and later)",
              probe->release);
        advise(check, "use Linux " OLDEST_KERNEL " or later if hooks below are missing");
    }
}

static void check_machine(const struct probe *probe, struct meter_check *check)
{
    if (probe->machine[0] == '\0') {
        judge(check, METER_CHECK_UNKNOWN, "the kernel does not report it");
        return;
    }
    judge(check, METER_CHECK_OK, "%s", probe->machine);
    if (strcmp(probe->machine, METER_MACHINE) == 0)
        return;
    judge(check, METER_CHECK_MISSING,
          "%s; the meter knows the registers and system call numbers of " METER_MACHINE " only",
          probe->machine);
    advise(check, "meter on an " METER_MACHINE " machine; traces from there can be read here");
}

static void check_types(const struct probe *probe, struct meter_check *check)
{
    static const char file[] = "/sys/kernel/btf/vmlinux";

    judge(check, METER_CHECK_OK, "%s", file);
    if (probe->types == 0)
        return;
    judge(check, METER_CHECK_MISSING, "no type information in %s: %s", file,
          probe->types == -EINVAL ? "it is not BTF" : strerror(-probe->types));
    advise(check, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels are; "
                  "in a container, have /sys mounted");
}

static void check_lockdown(const struct probe *probe, struct meter_check *check)
{
    switch (probe->lockdown) {
    case LOCKDOWN_UNKNOWN:
        judge(check, METER_CHECK_UNKNOWN,
              "no /sys/kernel/security/lockdown (securityfs not mounted, or no lockdown); see the "
              "hooks below");
        break;
    case LOCKDOWN_NONE:
        judge(check, METER_CHECK_OK, "none");
        break;
    case LOCKDOWN_INTEGRITY:
        judge(check, METER_CHECK_OK, "integrity: the meter may read kernel memory");
        break;
    case LOCKDOWN_CONFIDENTIALITY:
        judge(check, METER_CHECK_MISSING,
              "confidentiality: the meter may not read kernel memory "
              "(bpf_probe_read_kernel)");
        advise(check, "boot with lockdown=integrity on the kernel's command line; a kernel built "
                      "with CONFIG_LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY=y must be replaced");
        break;
    }
}

/* Each record reads the clock. A clock source that is read from a device adds a microsecond to each record. */
static void check_clock(const struct probe *probe, struct meter_check *check)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};

    if (probe->clock_source[0] == '\0') {
        judge(check, METER_CHECK_UNKNOWN, "the kernel does not report its clock source");
        return;
    }
    judge(check, METER_CHECK_OK, "%s", probe->clock_source);
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        if (strcmp(probe->clock_source, slow[i]) == 0) {
            judge(check, METER_CHECK_LIMITED, "%s is slow or coarse: metering costs more",
                  probe->clock_source);
            advise(check, "see why in `dmesg | grep -i clocksource`; if the machine's time stamp "
                          "counter is sound, boot with tsc=reliable");
        }
}

/* ---- privilege ---- */

static bool has_capability(uint64_t set, unsigned number)
{
    return (set >> number & 1) != 0;
}

/* CAP_SYS_ADMIN includes both of the meter's capabilities. */
static bool may(const struct probe *probe, unsigned number)
{
    bool of_meter = number == CAP_BPF || number == CAP_PERFMON;

    return has_capability(probe->effective, number) ||
           (of_meter && has_capability(probe->effective, CAP_SYS_ADMIN));
}

static void check_users(const struct probe *probe, struct meter_check *check)
{
    switch (probe->initial_users) {
    case ANSWER_UNKNOWN:
        judge(check, METER_CHECK_UNKNOWN,
              "/proc/self/ns/user and /proc/self/uid_map cannot be read");
        break;
    case ANSWER_YES:
        judge(check, METER_CHECK_OK, "the initial one");
        break;
    case ANSWER_NO:
        judge(check, METER_CHECK_MISSING,
              "not the initial one (a container?): capabilities held here do not count for the "
              "meter");
        advise(check, "run dpm on the host, or in a container without a user namespace: podman as "
                      "root, docker run --userns=host, a privileged LXC container");
        break;
    }
}

/* How this process can get the meter's capabilities. */
static void advise_privilege(const struct probe *probe, struct meter_check *check)
{
    const char *program = probe->program[0] == '\0' ? "dpm" : probe->program;
    bool needs_admin = probe->casts == ANSWER_NO; /* see check_cap_admin() */

    if (probe->initial_users == ANSWER_NO)
        advise(check, "see user namespace");
    else if (!has_capability(probe->bounding, CAP_BPF) ||
             !has_capability(probe->bounding, CAP_PERFMON))
        advise(check,
               "the bounding set of this process lacks the capabilities: docker run --cap-add BPF "
               "--cap-add PERFMON%s; in a systemd unit CapabilityBoundingSet=CAP_BPF CAP_PERFMON%s",
               needs_admin ? " --cap-add SYS_ADMIN" : "", needs_admin ? " CAP_SYS_ADMIN" : "");
    else if (probe->no_new_privileges)
        advise(check, "this process cannot gain privilege (no_new_privs): sudo and setcap have no "
                      "effect here; start dpm from another session");
    else if (needs_admin)
        advise(check,
               "sudo %.300s ...; or let root start dpmd (see Service); setcap is enough only since "
               "Linux 6.2",
               program);
    else
        advise(check,
               "sudo %.300s ...; or once for all users, as root: setcap cap_bpf,cap_perfmon+ep "
               "%.300s; or in a systemd unit AmbientCapabilities=CAP_BPF CAP_PERFMON",
               program, program);
}

/* A capability that metering requires. */
static void check_needed(const struct probe *probe, unsigned number, const char *purpose,
                         struct meter_check *check)
{
    if (probe->status != ANSWER_YES) {
        judge(check, METER_CHECK_UNKNOWN, "/proc/self/status does not show it");
        return;
    }
    if (may(probe, number) && probe->initial_users != ANSWER_NO) {
        judge(check, METER_CHECK_OK, "%s%s", purpose,
              has_capability(probe->effective, number) ? "" : " (by CAP_SYS_ADMIN)");
        return;
    }
    judge(check, METER_CHECK_MISSING, "%s: needed %s",
          may(probe, number) ? "valid only in this user namespace" : "this process lacks it",
          purpose);
    advise_privilege(probe, check);
}

static void check_cap_bpf(const struct probe *probe, struct meter_check *check)
{
    check_needed(probe, CAP_BPF, "to load the meter", check);
}

static void check_cap_perfmon(const struct probe *probe, struct meter_check *check)
{
    check_needed(probe, CAP_PERFMON, "to attach the meter and let it read kernel memory", check);
}

bool checks_allow_trial(const struct probe *probe)
{
    bool privileged =
        probe->status != ANSWER_YES || (may(probe, CAP_BPF) && may(probe, CAP_PERFMON));

    if (probe->casts == ANSWER_NO && probe->status == ANSWER_YES)
        privileged = privileged && has_capability(probe->effective, CAP_SYS_ADMIN);
    return privileged && probe->initial_users != ANSWER_NO && probe->bpf == 0 &&
           probe->types == 0 && strcmp(probe->machine, METER_MACHINE) == 0;
}

static void check_bpf(const struct probe *probe, struct meter_check *check)
{
    bool filtered = probe->status == ANSWER_YES && probe->seccomp == 2;
    bool entitled =
        probe->status == ANSWER_YES && may(probe, CAP_BPF) && probe->initial_users != ANSWER_NO;

    if (probe->bpf == 0) {
        judge(check, METER_CHECK_OK, "works%s", filtered ? "; the seccomp filter allows it" : "");
    } else if (probe->bpf == -EPERM && !entitled) {
        judge(check, METER_CHECK_UNKNOWN, "refused: no privilege");
    } else if (probe->bpf == -ENOSYS && !filtered) {
        judge(check, METER_CHECK_MISSING, "this kernel lacks it");
        advise(check, "use a kernel built with CONFIG_BPF_SYSCALL=y");
    } else {
        judge(check, METER_CHECK_MISSING, "refused (%s)%s",
              probe->bpf == PROBE_KILLED ? "the caller is killed" : strerror(-probe->bpf),
              filtered ? "; a seccomp filter is active" : "");
        advise(check, "allow the system call bpf: docker run --cap-add BPF --cap-add PERFMON, or a "
                      "seccomp profile with bpf; in a systemd unit SystemCallFilter=bpf; else a "
                      "security module forbids it, see dmesg");
    }
}

/* What adds a capability that even root cannot gain here. `name`: "SYS_PTRACE". */
#define ADD_TO_BOUNDING(name)                                                                      \
    "docker run --cap-add " name "; in a systemd unit CapabilityBoundingSet=CAP_" name

/* A capability that only some features need. */
struct comfort {
    unsigned number;
    const char *add; /* ADD_TO_BOUNDING; NULL: root needs none */
    const char *with, *without;
};

static void check_comfort(const struct probe *probe, bool has, const struct comfort *comfort,
                          struct meter_check *check)
{
    has = has && probe->initial_users != ANSWER_NO;
    if (probe->status != ANSWER_YES) {
        judge(check, METER_CHECK_UNKNOWN, "/proc/self/status does not show it");
        return;
    }
    judge(check, has ? METER_CHECK_OK : METER_CHECK_LIMITED, "%s",
          has ? comfort->with : comfort->without);
    if (!has && probe->initial_users == ANSWER_NO)
        advise(check, "see user namespace");
    else if (!has && comfort->add != NULL && !has_capability(probe->bounding, comfort->number))
        advise(check, "if you need it: %s", comfort->add);
    else if (!has)
        advise(check, "if you need it, run dpm as root, e.g. with sudo");
}

static void check_cap_network(const struct probe *probe, struct meter_check *check)
{
    if (probe->trampolines == ANSWER_YES)
        judge(check, METER_CHECK_OK, "not needed: UDP is metered by trampolines");
    else
        check_comfort(
            probe, may(probe, CAP_NET_ADMIN),
            &(struct comfort){
                CAP_NET_ADMIN, ADD_TO_BOUNDING("NET_ADMIN"), "UDP is metered",
                probe->trampolines == ANSWER_NO
                    ? "UDP is not metered, all else is (this kernel refuses trampolines)"
                    : "UDP is not metered, all else is, if this kernel refuses trampolines"},
            check);
}

/* Before Linux 6.2 libbpf searches the kernel's modules for types that the kernel lacks, which needs CAP_SYS_ADMIN. */
static void check_cap_admin(const struct probe *probe, struct meter_check *check)
{
    if (probe->casts == ANSWER_YES)
        judge(check, METER_CHECK_OK, "not needed: this kernel is new enough");
    else if (probe->status == ANSWER_YES && has_capability(probe->effective, CAP_SYS_ADMIN))
        judge(check, METER_CHECK_OK, "needed only before Linux 6.2");
    else if (probe->casts == ANSWER_UNKNOWN || probe->status != ANSWER_YES)
        judge(check, METER_CHECK_UNKNOWN, "needed only before Linux 6.2");
    else {
        judge(check, METER_CHECK_MISSING,
              "this process lacks it: needed to load the meter before Linux 6.2");
        advise(check, "%s",
               has_capability(probe->bounding, CAP_SYS_ADMIN) ? "run dpm as root, e.g. with sudo"
                                                              : ADD_TO_BOUNDING("SYS_ADMIN"));
    }
}

static void check_cap_setuid(const struct probe *probe, struct meter_check *check)
{
    check_comfort(probe, may(probe, CAP_SETUID) && may(probe, CAP_SETGID),
                  &(struct comfort){CAP_SETUID, ADD_TO_BOUNDING("SETUID"),
                                    "with CAP_SETGID: dpm run --user NAME works",
                                    "or CAP_SETGID is missing: dpm run --user NAME does not work"},
                  check);
}

static void check_cap_read(const struct probe *probe, struct meter_check *check)
{
    check_comfort(probe, may(probe, CAP_DAC_READ_SEARCH) || may(probe, CAP_DAC_OVERRIDE),
                  &(struct comfort){CAP_DAC_OVERRIDE, ADD_TO_BOUNDING("DAC_READ_SEARCH"),
                                    "all program files can be read for function names",
                                    "programs that this user may not read have no function names"},
                  check);
}

static void check_cap_ptrace(const struct probe *probe, struct meter_check *check)
{
    check_comfort(
        probe, may(probe, CAP_SYS_PTRACE) || probe->is_root,
        &(struct comfort){CAP_SYS_PTRACE, NULL, "other users' processes can be metered",
                          "only this user's processes can be metered, see RIGHTS in dpm-meter(7)"},
        check);
}

/* ---- memory ---- */

static unsigned mebibytes(uint64_t bytes)
{
    return (unsigned)(bytes >> 20);
}

/* The rings take what the user asks for. Half of the available memory stays free for everything else. */
static void judge_memory(uint64_t there, const char *where, struct meter_check *check)
{
    uint64_t need = meter_default_rings();
    unsigned ring = 1; /* MiB; the control ring takes a quarter more */

    judge(check, METER_CHECK_OK, "%u MiB %s; the default buffer takes %u", mebibytes(there), where,
          mebibytes(need));
    if (there >= 2 * need)
        return;
    check->state = METER_CHECK_LIMITED;
    while (ring * 5 <= mebibytes(there))
        ring *= 2;
    advise(check, "use a smaller buffer: dpm run --ring %uM", ring);
}

static void check_memory(const struct probe *probe, struct meter_check *check)
{
    if (probe->memory == UINT64_MAX)
        judge(check, METER_CHECK_UNKNOWN, "/proc/meminfo does not show it");
    else
        judge_memory(probe->memory, "available", check);
}

static void check_memory_limit(const struct probe *probe, struct meter_check *check)
{
    char where[sizeof(check->detail)];

    if (probe->memory_limit == UINT64_MAX) {
        judge(check, METER_CHECK_OK, "no limit");
        return;
    }
    snprintf(where, sizeof(where), "at most (%.400s)", probe->limited_by);
    judge_memory(probe->memory_limit, where, check);
}

/* ---- surroundings ---- */

static void check_pids(const struct probe *probe, struct meter_check *check)
{
    switch (probe->initial_pids) {
    case ANSWER_UNKNOWN:
        judge(check, METER_CHECK_UNKNOWN, "/proc/self/ns/pid does not show it");
        break;
    case ANSWER_YES:
        judge(check, METER_CHECK_OK, "the initial one");
        break;
    case ANSWER_NO:
        judge(check, METER_CHECK_OK,
              "not the initial one (a container?): dpm meters its processes, by their PIDs here");
        break;
    }
}

static void check_proc(const struct probe *probe, struct meter_check *check)
{
    if (probe->pids_hidden == ANSWER_UNKNOWN) {
        judge(check, METER_CHECK_LIMITED, "/proc is not mounted");
        advise(check, "mount -t proc proc /proc");
    } else if (probe->pids_hidden == ANSWER_NO || may(probe, CAP_SYS_PTRACE)) {
        judge(check, METER_CHECK_OK, "shows all processes");
    } else {
        judge(check, METER_CHECK_LIMITED, "hides other users' processes (hidepid)");
        advise(check, "run dpm as root, or join the group that the mount option gid= of /proc "
                      "names");
    }
}

static void check_cgroup2(const struct probe *probe, struct meter_check *check)
{
    if (probe->cgroup2_is_part) {
        judge(check, METER_CHECK_LIMITED,
              "%.300s shows only this container's part: UDP of processes outside of it may not be "
              "metered",
              probe->cgroup2);
        advise(check, "start the container with the host's cgroup namespace "
                      "(docker run --cgroupns=host)");
        return;
    }
    if (probe->cgroup2[0] != '\0') {
        judge(check, METER_CHECK_OK, "%.500s", probe->cgroup2);
        return;
    }
    judge(check, METER_CHECK_LIMITED, "not mounted: containers and units of processes are unknown");
    advise(check, "mount -t cgroup2 none /sys/fs/cgroup");
}

static const struct {
    const char *group;
    const char *name;
    void (*function)(const struct probe *probe, struct meter_check *check);
} checks[] = {
    {"Kernel", "release", check_release},
    {"Kernel", "architecture", check_machine},
    {"Kernel", "BTF", check_types},
    {"Kernel", "lockdown", check_lockdown},
    {"Kernel", "clock", check_clock},
    {"Privilege", "user namespace", check_users},
    {"Privilege", "CAP_BPF", check_cap_bpf},
    {"Privilege", "CAP_PERFMON", check_cap_perfmon},
    {"Privilege", "bpf()", check_bpf},
    {"Privilege", "CAP_SYS_ADMIN", check_cap_admin},
    {"Privilege", "CAP_NET_ADMIN", check_cap_network},
    {"Privilege", "CAP_SETUID", check_cap_setuid},
    {"Privilege", "CAP_DAC_READ_SEARCH", check_cap_read},
    {"Privilege", "CAP_SYS_PTRACE", check_cap_ptrace},
    {"Memory", "memory", check_memory},
    {"Memory", "memory control group", check_memory_limit},
    {"Surroundings", "PID namespace", check_pids},
    {"Surroundings", "/proc", check_proc},
    {"Surroundings", "cgroup2", check_cgroup2},
};

void checks_of_machine(const struct probe *probe,
                       void (*tell)(const struct meter_check *check, void *context), void *context)
{
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        struct meter_check check = {.group = checks[i].group};
        snprintf(check.name, sizeof(check.name), "%s", checks[i].name);
        checks[i].function(probe, &check);
        tell(&check, context);
    }
}

/* ---- hooks ---- */

static const struct hook *find_hook(const char *name)
{
    for (size_t i = 0; i < hook_count; i++)
        if (strcmp(hooks[i].program, name) == 0)
            return &hooks[i];
    return NULL;
}

/* The flags that cannot be metered without this program. Iterators are not in the table of hooks; no process can be
 * marked without them, so they count for all flags. */
static uint64_t flags_of(const char *name)
{
    const struct hook *hook = find_hook(name);

    if (hook == NULL || hook->flags == 0)
        return METER_ALL_FLAGS;
    return hook->flags | (hook->queue_kinds != 0 ? EVENT_FLAG(EVENT_MESSAGEQUEUED) : 0);
}

/* Control group programs need CAP_NET_ADMIN. The meter works without them, but records less. */
static bool is_of_groups(const struct trial_program *program)
{
    return strncmp(program->section, "cgroup", 6) == 0;
}

/* The flags, and the kinds of paths, that need this program. */
static void name_purpose(const struct trial_program *program, char *text, size_t size)
{
    const struct hook *hook = find_hook(program->name);
    char flags[METER_FLAGS_TEXT_SIZE];
    char kinds[METER_KINDS_TEXT_SIZE];

    meter_flags_text(flags_of(program->name), flags);
    meter_kinds_text(hook == NULL ? 0 : hook->kinds, kinds);
    snprintf(text, size, "%s%s%s", flags, kinds[0] == '\0' ? "" : " of ", kinds);
}

static void advise_newer(const struct hook *hook, struct meter_check *check)
{
    char others[METER_KINDS_TEXT_SIZE];

    meter_kinds_text(hook == NULL || hook->kinds == 0 ? 0 : METER_ALL_KINDS & ~hook->kinds, others);
    advise(check, "use Linux %s or later%s%s%s", hook == NULL ? OLDEST_KERNEL : hook->since,
           hook == NULL || hook->duty == DUTY_OWN ? "" : ", or one that allows BPF trampolines",
           others[0] == '\0' ? "" : ", or leave out what needs it: --kinds ", others);
}

static void check_program(const struct trial_program *program, struct meter_check *check)
{
    char purpose[METER_FLAGS_TEXT_SIZE + METER_KINDS_TEXT_SIZE + 8];

    name_purpose(program, purpose, sizeof(purpose));
    if (program->taken == ANSWER_YES) {
        judge(check, METER_CHECK_OK, "accepted; for the flags: %s", purpose);
    } else if (program->offered == ANSWER_NO) {
        judge(check, METER_CHECK_MISSING, "this kernel lacks it; lost flags: %s", purpose);
        advise_newer(find_hook(program->name), check);
    } else if (program->taken == ANSWER_NO && is_of_groups(program)) {
        judge(check, METER_CHECK_LIMITED, "the kernel refuses it: %s; the meter does without",
              program->reason);
        if (program->error == -EPERM)
            advise(check, "it also needs CAP_NET_ADMIN: run dpm as root, or setcap "
                          "cap_bpf,cap_perfmon,cap_net_admin+ep");
        else
            advise(check, "see the kernel's messages with DPM_DEBUG=1 dpm check");
    } else if (program->taken == ANSWER_NO) {
        judge(check, METER_CHECK_MISSING, "the kernel refuses it: %s; lost flags: %s",
              program->reason, purpose);
        advise(check, "see the kernel's messages with DPM_DEBUG=1 dpm check");
    } else {
        judge(check, METER_CHECK_UNKNOWN, "%s; for the flags: %s",
              program->offered == ANSWER_YES ? "exists, but could not be tried"
                                             : "could not be searched",
              purpose);
    }
}

uint64_t checks_of_programs(const struct trial_program *programs, size_t count,
                            void (*tell)(const struct meter_check *check, void *context),
                            void *context)
{
    uint64_t flags = METER_ALL_FLAGS;

    for (size_t i = 0; i < count; i++) {
        const struct trial_program *program = &programs[i];
        struct meter_check check = {.group = "Hooks"};
        if (strncmp(program->section, "iter/", 5) == 0) /* one iterator may run several programs */
            snprintf(check.name, sizeof(check.name), "%.20s %.40s", program->section,
                     program->name);
        else
            snprintf(check.name, sizeof(check.name), "%s", program->name);
        check_program(program, &check);
        tell(&check, context);
        if (check.state == METER_CHECK_MISSING)
            flags &= ~flags_of(program->name);
    }
    return (flags & METER_EVENT_FLAGS) == 0 ? 0 : flags;
}

/* ---- everything ---- */

struct missing {
    char *text;
    size_t size;
};

static void add_missing(const struct meter_check *check, void *context)
{
    struct missing *missing = context;
    size_t length = strlen(missing->text);

    if (check->state == METER_CHECK_MISSING)
        snprintf(missing->text + length, missing->size - length, "%s%s", length == 0 ? "" : ", ",
                 check->name);
}

bool check_hinders_kernel_meter(char *ret_missing, size_t size)
{
    struct missing missing = {ret_missing, size};
    struct probe probe;

    ret_missing[0] = '\0';
    probe_files("", &probe);
    probe_calls(&probe);
    if (checks_allow_trial(&probe))
        return false;
    checks_of_machine(&probe, add_missing, &missing);
    return true;
}

/* If the whole meter loads, so does each program it requires. If not, tries each one to find the culprits. */
static void try_programs(struct trial_program *programs, size_t count, bool whole)
{
    for (size_t i = 0; i < count; i++) {
        struct trial_program *program = &programs[i];
        if (whole && !is_of_groups(program))
            program->taken = ANSWER_YES;
        else if (program->offered != ANSWER_NO) {
            program->error = trial_one(program->name, program->reason);
            program->taken = program->error < 0 ? ANSWER_NO : ANSWER_YES;
        }
    }
}

void checks_of_whole(int result, uint64_t flags, const char *left_out,
                     const struct problem *problem, struct meter_check *check)
{
    char text[METER_FLAGS_TEXT_SIZE];

    *check = (struct meter_check){.group = "Hooks", .name = "the whole meter"};
    meter_flags_text(flags, text);
    judge(check, METER_CHECK_OK, "loaded and attached, for the flags: %s", text);
    if (result >= 0 && left_out[0] != '\0') {
        judge(check, METER_CHECK_LIMITED, "loaded and attached, but %s; for the flags: %s",
              left_out, text);
        advise(check, strstr(left_out, "CAP_NET_ADMIN") != NULL
                          ? "run dpm as root, or give it this capability, too"
                          : "change that, if you need what is left out");
    }
    if (result >= 0)
        return;
    judge(check, METER_CHECK_MISSING, "%.400s", problem->text);
    if (result == -ENOMEM)
        advise(check, "use a smaller buffer: dpm run --ring 1M; Memory shows what limits it");
    else
        advise(check, "see the kernel's messages with DPM_DEBUG=1 dpm check");
}

/* Tries what these facts permit, and reports the results. Returns the flags that work. */
static uint64_t check_hooks(const struct probe *probe,
                            void (*tell)(const struct meter_check *check, void *context),
                            void *context)
{
    bool allowed = checks_allow_trial(probe);
    struct problem problem = {"out of memory"};
    struct trial_program *programs = NULL;
    char left_out[TRIAL_REASON_SIZE] = "";
    struct meter_check check;
    uint64_t flags = 0, unknown = 0;

    int count = trial_programs(allowed, &programs);
    int result = count;
    if (count >= 0 && allowed) {
        result = trial_whole(METER_ALL_FLAGS, &unknown, left_out, &problem);
        try_programs(programs, (size_t)count, result >= 0);
    }
    if (count >= 0)
        flags = checks_of_programs(programs, (size_t)count, tell, context);
    free(programs);
    if (allowed && flags != 0 && flags != METER_ALL_FLAGS)
        result = trial_whole(flags, &unknown, left_out, &problem);
    flags &= ~unknown;
    /* each program may load although the whole meter does not, e.g. for lack of memory */
    if (count < 0 || (allowed && flags != 0)) {
        checks_of_whole(result, flags, left_out, &problem, &check);
        tell(&check, context);
    }
    return allowed && result >= 0 ? flags : 0;
}

uint64_t check_kernel_meter(void (*tell)(const struct meter_check *check, void *context),
                            void *context)
{
    struct probe probe;

    probe_files("", &probe);
    probe_calls(&probe);
    trial_kernel(&probe);
    checks_of_machine(&probe, tell, context);
    return check_hooks(&probe, tell, context);
}
