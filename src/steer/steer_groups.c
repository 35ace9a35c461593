/* SPDX-License-Identifier: MIT */
/* steer_groups.c: which processes the groups of a policy have; and CPUs that share a cache. See steer.h. */
#include "base/process.h"
#include "steer/steer_private.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is never changed ---- */

/* dpmd is another program than dpm, and so is a dpm that was replaced by an upgrade while it runs. */
static bool has_our_name(pid_t pid)
{
    char path[PATH_MAX];
    const char *slash = process_program(pid, path, sizeof(path)) ? strrchr(path, '/') : NULL;

    return slash != NULL && (strcmp(slash, "/dpm") == 0 || strcmp(slash, "/dpmd") == 0);
}

static bool is_our_program(pid_t pid)
{
    static struct stat own;
    struct stat other;
    char path[64];

    if (own.st_ino == 0 && stat("/proc/self/exe", &own) < 0)
        return has_our_name(pid);
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    return has_our_name(pid) ||
           (stat(path, &other) == 0 && other.st_dev == own.st_dev && other.st_ino == own.st_ino);
}

/* In a PID namespace of its own, process 2 is a process like others. */
static bool is_of_kernel(pid_t pid)
{
    return (process_stat_number(pid, PROCESS_FLAGS) & PROCESS_OF_KERNEL) != 0;
}

bool steer_is_spared(pid_t pid)
{
    if (pid <= 1 || is_of_kernel(pid) || is_our_program(pid))
        return true;
    for (pid_t at = getpid(); at > 1; at = process_parent(at))
        if (at == pid)
            return true;
    return false;
}

/* ---- groups ---- */

int word_choose(enum steer_word_kind by, const char *text, struct process_choice *choice,
                struct problem *problem)
{
    return by == STEER_BY_NAME     ? process_choice_name(choice, text, problem)
           : by == STEER_BY_CGROUP ? process_choice_cgroup(choice, text, problem)
           : by == STEER_BY_UNIT   ? process_choice_unit(choice, text, problem)
                                   : process_choice_pid(choice, text, problem);
}

static int choose(const struct steer_group *group, const char *file, struct process_choice *choice,
                  struct problem *problem)
{
    struct problem why = {""};
    int result = 0;

    for (size_t i = 0; result == 0 && i < group->word_count; i++) {
        const struct steer_word *word = &group->words[i];
        result = word->machine == NULL
                     ? word_choose(word->by, word->text, choice, &why)
                     : problem_set(&why, -EINVAL,
                                   "'on %.60s' needs --session: this machine alone is steered",
                                   word->machine);
        if (result == 0 && word->by == STEER_BY_PID &&
            steer_is_spared(choice->pids[choice->pid_count - 1]))
            result = problem_set(&why, -EPERM,
                                 "process %s is spared: process 1, dpm, and what has started it",
                                 word->text);
    }
    return result < 0 ? problem_set(problem, result, "%.150s:%u: group %s: %.250s", file,
                                    group->line, group->name, why.text)
                      : 0;
}

int steer_members_choose(const struct steer_policy *policy, struct process_choice *choice,
                         struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < policy->group_count; i++)
        result = choose(&policy->groups[i], policy->file, choice, problem);
    return result;
}

struct finding {
    struct steer_members *members;
    uint32_t group;
};

static int found(pid_t pid, void *context)
{
    const struct finding *finding = context;
    struct steer_members *members = finding->members;
    uint64_t start = thread_started(pid, pid); /* its first thread may have ended */

    if (start == 0 || !process_lives(pid) || steer_is_spared(pid))
        return 0;
    for (size_t i = 0; i < members->count; i++)
        if (members->at[i].pid == pid)
            return 0; /* the first group has it */
    if (array_reserve(&members->at, &members->room, members->count + 1, sizeof(*members->at)) < 0)
        return -ENOMEM;
    members->at[members->count++] = (struct steer_member){pid, start, finding->group, NOT_KNOWN};
    return 0;
}

static int by_pid(const void *a, const void *b)
{
    const struct steer_member *one = a, *other = b;

    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

/* Whether one that was named by its pid has gone: its pid may be another process' now. */
static void look_for_ended(struct steer_members *members, const struct steer_member *before,
                           size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (process_choice_has_pid(&members->choices[before[i].group], before[i].pid) &&
            (thread_started(before[i].pid, before[i].pid) != before[i].start ||
             !process_lives(before[i].pid)))
            members->ended = before[i].group + 1;
}

/* What was noted of processes that are still there. Both are sorted. */
static void keep_faults(struct steer_members *members, const struct steer_member *before,
                        size_t count)
{
    for (size_t i = 0, j = 0; i < members->count; i++) {
        while (j < count && before[j].pid < members->at[i].pid)
            j++;
        if (j < count && before[j].pid == members->at[i].pid &&
            before[j].start == members->at[i].start)
            members->at[i].faults = before[j].faults;
    }
}

int steer_members_find(struct steer_members *members, const struct steer_policy *policy,
                       struct problem *problem)
{
    struct steer_member *before = members->at;
    size_t count = members->count;
    int result = 0;

    if (members->policy != NULL) /* each snapshot has them */
        return 0;
    members->at = NULL;
    members->count = members->room = 0;
    for (uint32_t i = 0; result == 0 && i < policy->group_count; i++) {
        struct finding finding = {members, i};
        result = process_choice_find(&members->choices[i], found, &finding, problem);
        if (result == -ENOMEM)
            problem_set(problem, result, "out of memory");
    }
    look_for_ended(members, before, count);
    if (members->count > 0)
        qsort(members->at, members->count, sizeof(*members->at), by_pid);
    keep_faults(members, before, count);
    free(before);
    return result;
}

int steer_members_begin(struct steer_members *members, const struct steer_policy *policy,
                        struct problem *problem)
{
    int result = 0;

    *members = (struct steer_members){0};
    for (size_t i = 0; result == 0 && i < policy->group_count; i++)
        result = choose(&policy->groups[i], policy->file, &members->choices[i], problem);
    return result < 0 ? result : steer_members_find(members, policy, problem);
}

static int check_of_session(const struct steer_policy *policy, struct problem *problem)
{
    for (size_t i = 0; i < policy->group_count; i++)
        for (size_t j = 0; j < policy->groups[i].word_count; j++)
            if (policy->groups[i].words[j].by != STEER_BY_NAME)
                return problem_set(problem, -EINVAL,
                                   "%.150s:%u: group %s: in a session, processes are chosen by "
                                   "name: name NAME, name NAME on MACHINE",
                                   policy->file, policy->groups[i].line, policy->groups[i].name);
    for (size_t i = 0; i < policy->rule_count; i++)
        if (policy->rules[i].figure == STEER_MEMORY || policy->rules[i].figure == STEER_PAGING)
            return problem_set(problem, -EINVAL,
                               "%.150s:%u: memory and major faults are known of this machine's "
                               "processes only, not of a session's",
                               policy->file, policy->rules[i].line);
    for (size_t i = 0; i < policy->act_count; i++)
        if (policy->acts[i].words == NULL)
            return problem_set(problem, -EINVAL,
                               "%.150s:%u: in a session, acts are those that a command does: "
                               "workers and shares ... by COMMAND",
                               policy->file, policy->acts[i].line);
    return 0;
}

int steer_members_of_session(struct steer_members *members, const struct steer_policy *policy,
                             const char *session, struct problem *problem)
{
    *members = (struct steer_members){.policy = policy, .session = session};
    return check_of_session(policy, problem);
}

void steer_members_done(struct steer_members *members)
{
    for (size_t i = 0; i < STEER_GROUPS_MOST; i++)
        process_choice_done(&members->choices[i]);
    free(members->at);
    *members = (struct steer_members){0};
}

/* ---- CPUs ---- */

bool steer_cpus_parse(const char *text, cpu_set_t *ret_set)
{
    CPU_ZERO(ret_set);
    for (char *end; *text >= '0' && *text <= '9'; text = end + (*end == ',')) {
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (first > last || last >= CPU_SETSIZE || (*end != ',' && *end != '\0' && *end != '\n'))
            return false;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, ret_set);
        if (*end == '\n')
            break;
    }
    return CPU_COUNT(ret_set) > 0;
}

void steer_cpus_text(const cpu_set_t *set, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && length < size; cpu++) {
        int last = cpu;
        if (!CPU_ISSET(cpu, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        length += (size_t)snprintf(text + length, size - length, last > cpu ? "%s%d-%d" : "%s%d",
                                   length > 0 ? "," : "", cpu, last);
        cpu = last;
    }
}

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(text, (int)size, file) != NULL;

    if (file != NULL)
        fclose(file);
    return read;
}

/* Those of one cache, as far as we may use them; all of them together are no choice. */
static void add_set(struct steer_machine *machine, const cpu_set_t *shared, const cpu_set_t *usable)
{
    struct steer_cpus *new = &machine->sets[machine->set_count];

    if (machine->set_count == STEER_SETS_MOST)
        return;
    CPU_AND(&new->set, shared, usable);
    new->count = (unsigned)CPU_COUNT(&new->set);
    if (new->count == 0 || CPU_EQUAL(&new->set, usable))
        return;
    for (size_t i = 0; i < machine->set_count; i++)
        if (CPU_EQUAL(&machine->sets[i].set, &new->set))
            return;
    steer_cpus_text(&new->set, new->text, sizeof(new->text));
    machine->set_count++;
}

static int by_count(const void *a, const void *b)
{
    const struct steer_cpus *one = a, *other = b;

    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &one->set) != CPU_ISSET(cpu, &other->set))
            return CPU_ISSET(cpu, &one->set) ? -1 : 1;
    return 0;
}

void steer_machine_read(const char *root, struct steer_machine *ret_machine)
{
    char path[512], text[1024];
    cpu_set_t usable, shared;

    *ret_machine = (struct steer_machine){0};
    if (sched_getaffinity(0, sizeof(usable), &usable) < 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        for (int cache = 0; CPU_ISSET(cpu, &usable) && cache < 8; cache++) {
            snprintf(path, sizeof(path),
                     "%.300s/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", root, cpu,
                     cache);
            if (read_text(path, text, sizeof(text)) && steer_cpus_parse(text, &shared))
                add_set(ret_machine, &shared, &usable);
        }
    qsort(ret_machine->sets, ret_machine->set_count, sizeof(ret_machine->sets[0]), by_count);
}
