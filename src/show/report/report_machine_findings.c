/* SPDX-License-Identifier: MIT */
/* report_machine_findings.c: sentences on what the machine or a cgroup was short of. See report_face.h. */
#include "analysis/findings/findings.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <inttypes.h>
#include <math.h>

/* "The machine", or "Machine NAME" if there are several. */
static void machine_words(const struct communication *communication, uint32_t machine,
                          char text[MACHINE_TEXT_SIZE + 16])
{
    char name[MACHINE_TEXT_SIZE];

    machine_text(communication, machine, name);
    if (communication->machine_count < 2)
        snprintf(text, MACHINE_TEXT_SIZE + 16, "The machine");
    else
        snprintf(text, MACHINE_TEXT_SIZE + 16, "Machine %s", name);
}

/* ---- processors ---- */

#define RUNNABLE_SIZE (MACHINE_TEXT_SIZE + 128)

/* " The machine had 9.0 runnable tasks on 2 CPUs."; nothing if that is not known. */
static void runnable_text(const struct communication *communication, uint32_t machine,
                          char text[RUNNABLE_SIZE])
{
    const struct machine_load *load = &communication->machines[machine].load;
    char words[MACHINE_TEXT_SIZE + 16];

    text[0] = '\0';
    if (load->elapsed == 0 || load->runnable_count == 0 || load->cpus == NOT_KNOWN)
        return;
    machine_words(communication, machine, words);
    snprintf(text, RUNNABLE_SIZE, " %s had %.1f runnable tasks on %" PRIu64 " CPU%s on average.",
             words, show_share(load->runnable_sum, load->runnable_count), load->cpus,
             load->cpus == 1 ? "" : "s");
}

void report_say_cpu_wait(const struct report *report, const struct finding *finding,
                         struct report_content *content)
{
    const struct communication *communication = report->communication;
    const struct communication_process *process =
        &communication->processes[finding->cpu_wait.process];
    const struct scheduled *scheduled = &process->scheduled;
    char who[PROCESS_TEXT_SIZE], waited[UNIT_SIZE], elapsed[UNIT_SIZE], share[UNIT_SIZE];
    char tasks[RUNNABLE_SIZE], time[3 * UNIT_SIZE + 80], most[UNIT_SIZE + 64] = "";

    process_text(communication, finding->cpu_wait.process, who);
    show_duration(scheduled->runnable, waited);
    show_duration(scheduled->elapsed, elapsed);
    runnable_text(communication, process->machine, tasks);
    if (scheduled->threads > 1)
        snprintf(time, sizeof(time),
                 "%s for a CPU (the sum over its %" PRIu32 " threads, watched for %s together)",
                 waited, scheduled->threads, elapsed);
    else
        snprintf(time, sizeof(time), "%s of %s for a CPU", waited, elapsed);
    if (finding->cpu_wait.is_accounted) {
        show_percent((uint64_t)(finding->cpu_wait.saves * 1e6), 1000000, share);
        snprintf(most, sizeof(most), "%s%% of the time above%s", share,
                 elapsed_is_of_requests(report->elapsed) ? ", and what others waited meanwhile"
                                                         : "");
    }
    if (!finding->cpu_wait.first) {
        report_say(content, "CPU", "%s waited %s.", who, time);
        return;
    }
    report_say(content, "CPU", "%s waited %s: it was runnable, but %s.%s %s%s%s.", who, time,
               finding->cpu_wait.throttled
                   ? "other tasks ran, or a CPU limit of a cgroup was used up"
                   : "other tasks ran",
               tasks,
               finding->cpu_wait.throttled ? "A higher limit, more CPUs or a higher priority"
                                           : "More CPUs, fewer other tasks or a higher priority",
               finding->cpu_wait.is_accounted ? " would save at most " : " may help", most);
}

void report_say_stolen(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    char words[MACHINE_TEXT_SIZE + 16], share[UNIT_SIZE];

    machine_words(report->communication, finding->load.machine, words);
    show_percent(finding->load.time, finding->load.elapsed, share);
    report_say(content, "CPU",
               "%s lost %s%% of its CPU time to other virtual machines (stolen time). Move it to a "
               "less busy host, or give it dedicated CPUs.",
               words, share);
}

/* ---- cgroups ---- */

#define CGROUP_TEXT_SIZE (NAME_SIZE + MACHINE_TEXT_SIZE + 32)

static void cgroup_text(const struct communication *communication,
                        const struct communication_cgroup *cgroup, char text[CGROUP_TEXT_SIZE])
{
    char name[NAME_SIZE + 1], machine[MACHINE_TEXT_SIZE];

    machine_text(communication, cgroup->machine, machine);
    if (cgroup->name != NULL)
        show_text(cgroup->name, NAME_SIZE, name);
    else
        snprintf(name, sizeof(name), "Cgroup %" PRIu64, cgroup->number);
    snprintf(text, CGROUP_TEXT_SIZE, "%s%s%s", name, communication->machine_count < 2 ? "" : "@",
             communication->machine_count < 2 ? "" : machine);
}

void report_say_throttled(const struct report *report, const struct finding *finding,
                          struct report_content *content)
{
    const struct communication_cgroup *cgroup = finding->cgroup;
    char name[CGROUP_TEXT_SIZE], limit[64] = "", share[UNIT_SIZE], time[UNIT_SIZE];
    char elapsed[UNIT_SIZE];

    cgroup_text(report->communication, cgroup, name);
    if (cgroup->quota != NOT_KNOWN && cgroup->quota != 0 && cgroup->period != NOT_KNOWN)
        snprintf(limit, sizeof(limit), " (%.2f CPUs)", show_share(cgroup->quota, cgroup->period));
    show_percent(cgroup->throttled_periods, cgroup->periods, share);
    show_duration(cgroup->throttled, time);
    show_duration(cgroup->elapsed, elapsed);
    report_say(content, "Limits",
               "%s used up its CPU limit%s in %s%% of its periods: its threads were stopped for %s "
               "in %s, summed over CPUs. Raise the limit, or use less CPU time.",
               name, limit, share, time, elapsed);
}

/* Whether its own limit can have been the reason. If it was never reached, by the kernel's count, the machine's memory was, or the limit
 * of another cgroup: its memory as the trace has it, once a second, would not show that. */
static bool may_have_reached_limit(const struct communication_cgroup *cgroup)
{
    return cgroup->memory_reclaims != 0;
}

/* Its own limit was not the reason. */
static void say_oom_above(const struct report *report, const char *kills, const char *name,
                          const struct communication_cgroup *above, struct report_content *content)
{
    char other[CGROUP_TEXT_SIZE], limit[UNIT_SIZE];

    cgroup_text(report->communication, above, other);
    show_bytes(above->memory_most, limit);
    report_say(
        content, "Limits",
        "The kernel killed %s of %s for lack of memory, most likely because %s, which is above "
        "it, reached its limit (%s). Raise that limit, or use less memory.",
        kills, name, other, limit);
}

void report_say_oom(const struct report *report, const struct finding *finding,
                    struct report_content *content)
{
    const struct communication_cgroup *cgroup = finding->cgroup;
    const struct communication_cgroup *above =
        findings_reached_above(report->communication, cgroup);
    char name[CGROUP_TEXT_SIZE], kills[COUNTED_SIZE], limit[UNIT_SIZE] = "";

    cgroup_text(report->communication, cgroup, name);
    snprintf(kills, sizeof(kills), "%" PRIu64 " process%s", cgroup->oom_kills,
             cgroup->oom_kills == 1 ? "" : "es");
    if (cgroup->memory_most != NOT_KNOWN && cgroup->memory_most != 0)
        show_bytes(cgroup->memory_most, limit);
    if (above != NULL && (limit[0] == '\0' || !may_have_reached_limit(cgroup))) {
        say_oom_above(report, kills, name, above, content);
        return;
    }
    if (limit[0] != '\0' && !may_have_reached_limit(cgroup)) {
        report_say(content, "Limits",
                   "The kernel killed %s of %s for lack of memory, but not because of its limit "
                   "(%s), which was never reached: the machine, or a cgroup above it, had no "
                   "memory left.",
                   kills, name, limit);
        return;
    }
    report_say(content, "Limits", "The kernel killed %s of %s for lack of memory%s%s%s. %s", kills,
               name, limit[0] == '\0' ? "" : " (limit ", limit, limit[0] == '\0' ? "" : ")",
               limit[0] == '\0' ? "Use less memory, or add some."
                                : "Raise the limit, or use less memory.");
}

/* ---- memory and disks ---- */

void report_say_memory(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    const struct machine_load *load = &report->communication->machines[finding->load.machine].load;
    char words[MACHINE_TEXT_SIZE + 16], share[UNIT_SIZE], least[64] = "", waited[96] = "";
    char bytes[UNIT_SIZE], swapped[96] = "";

    machine_words(report->communication, finding->load.machine, words);
    if (finding->load.time != NOT_KNOWN) {
        show_percent(finding->load.time, finding->load.elapsed, share);
        snprintf(waited, sizeof(waited), ": some task waited for memory %s%% of the time", share);
    }
    if (load->swapped_in != NOT_KNOWN && load->swapped_out != NOT_KNOWN &&
        load->swapped_in + load->swapped_out > 0) {
        show_bytes(load->swapped_in + load->swapped_out, bytes);
        snprintf(swapped, sizeof(swapped), ", and %s were swapped", bytes);
    }
    if (load->memory_available_least != NOT_KNOWN) {
        show_bytes(load->memory_available_least, bytes);
        snprintf(least, sizeof(least), " The least available was %s.", bytes);
    }
    report_say(content, "Memory", "%s was short of memory%s%s.%s Use less, or add some.", words,
               waited, swapped, least);
}

void report_say_disk(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct machine_load *load = &report->communication->machines[finding->load.machine].load;
    char words[MACHINE_TEXT_SIZE + 16], share[UNIT_SIZE], busy[UNIT_SIZE], rates[2][UNIT_SIZE];
    char disks[192] = "";

    machine_words(report->communication, finding->load.machine, words);
    show_percent(finding->load.time, finding->load.elapsed, share);
    if (load->disk_busy != NOT_KNOWN && load->disk_read != NOT_KNOWN) {
        show_percent(load->disk_busy, load->elapsed, busy);
        show_bytes((uint64_t)show_rate(load->disk_read, load->elapsed), rates[0]);
        show_bytes((uint64_t)show_rate(load->disk_written, load->elapsed), rates[1]);
        snprintf(disks, sizeof(disks),
                 " Some disk was busy %s%% of the time (all disks: %s/s read, %s/s written).", busy,
                 rates[0], rates[1]);
    }
    report_say(content, "Disks",
               "%s had tasks waiting for a disk %s%% of the time.%s Faster disks, or fewer "
               "and larger reads and writes would help.",
               words, share, disks);
}

/* ---- dpm steer ---- */

void report_say_steered(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    const struct decision_record *decision = finding->decision;
    char act[DECISION_ACT_SIZE * 4], from[DECISION_SHORT_SIZE * 4], to[DECISION_SHORT_SIZE * 4],
        goal[DECISION_SHORT_SIZE * 4], reason[DECISION_REASON_SIZE * 4];
    char before[UNIT_SIZE], after[UNIT_SIZE], gain[UNIT_SIZE], promise[UNIT_SIZE], noise[UNIT_SIZE];
    bool kept = decision->outcome == DECISION_KEPT;

    (void)report;
    show_text(decision->act, DECISION_ACT_SIZE, act);
    show_text(decision->from, DECISION_SHORT_SIZE, from);
    show_text(decision->to, DECISION_SHORT_SIZE, to);
    show_text(decision->goal, DECISION_SHORT_SIZE, goal);
    show_text(decision->reason, DECISION_REASON_SIZE, reason);
    show_goal(decision->before, decision->flags, before);
    show_goal(decision->after, decision->flags, after);
    show_gain(decision_gain(decision), gain);
    show_gain(decision->predicted == DECISION_NOT_KNOWN ? NAN : decision->predicted, promise);
    show_noise(decision->noise == DECISION_NOT_KNOWN ? NAN : decision->noise, noise);
    report_say(content, "Steering",
               "dpm steer changed %s from %s to %s, because %s. %s went from %s to %s (%s; "
               "predicted %s%s, noise %s): %s.",
               act, from, to, reason[0] == '\0' ? "of its model" : reason, goal, before, after,
               gain, decision->flags & DECISION_IS_ROUGH ? "perhaps " : "", promise, noise,
               kept ? "kept" : "undone");
}
