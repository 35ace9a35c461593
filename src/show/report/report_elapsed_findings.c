/* SPDX-License-Identifier: MIT */
/*
 * report_elapsed_findings.c: sentences on where the elapsed time went. See report_face.h.
 *
 *      62% of 4.32 s: holders[12] computed, most of it in work (holders); meanwhile 3 threads waited for a lock ...
 */
#include "show/elapsed/elapsed_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/system_call.h"

#include <inttypes.h>
#include <string.h>

#define say report_say

#define THREAD_SIZE (STREAM_NAME_SIZE + UNIT_SIZE + 32)
#define WHO_SIZE    (PROCESS_TEXT_SIZE + UNIT_SIZE + THREAD_SIZE)

/* " (64% of that in its thread VM Thread)": threads of one name that have most of what their process has, if they have a
 * name of their own. */
static void thread_text(const struct elapsed_account *account, const struct elapsed_group *group,
                        char text[THREAD_SIZE])
{
    const struct elapsed_threads threads = elapsed_group_threads(account, group);
    char name[STREAM_NAME_SIZE + 1], share[UNIT_SIZE], part[UNIT_SIZE + 12] = "";

    text[0] = '\0';
    if (threads.row->thread[0] == '\0' || threads.time * 5 < group->leader_time * 3)
        return;
    show_text(threads.row->thread, STREAM_NAME_SIZE, name);
    show_percent(threads.time, group->leader_time, share);
    if (threads.time * 100 < group->leader_time * 99)
        snprintf(part, sizeof(part), "%s%% of that ", share);
    snprintf(text, THREAD_SIZE, " (%sin its thread%s %s)", part, threads.several ? "s" : "", name);
}

/* Otherwise one of them did as good as all of it, and is named alone. */
static bool names_several(const struct elapsed_group *group)
{
    return group->processes > 1 && group->leader_time * 100 < group->time * 99;
}

/* One that did most of it is named. */
static void group_text(const struct elapsed_account *account, const struct elapsed_group *group,
                       char text[WHO_SIZE])
{
    const struct elapsed_row *row = group->largest;
    char name[STREAM_NAME_SIZE + 1], leader[PLACED_PROCESS_SIZE], share[UNIT_SIZE];
    char thread[THREAD_SIZE];
    size_t others = group->processes - 1;

    show_text(row->process, STREAM_NAME_SIZE, name);
    if (group->leader_time * 5 < group->time * 3) {
        const char *script;
        size_t length = elapsed_script(row->label, &script);
        snprintf(text, PROCESS_TEXT_SIZE, "%zu %s%s%.*s processes", group->processes, name,
                 length == 0 ? "" : " ", (int)length, script);
        return;
    }
    elapsed_process_text(group->leader, leader);
    show_percent(group->leader_time, group->time, share);
    thread_text(account, group, thread);
    if (!names_several(group))
        snprintf(text, WHO_SIZE, "%s%s", leader, thread);
    else
        snprintf(text, WHO_SIZE, "%s (%s%% of that) and %zu other%s", leader, share, others,
                 others == 1 ? "" : "s");
}

#define ACCOUNT_SIZE (COUNTED_SIZE + 4 * UNIT_SIZE + 60)

/* "1.00 s of 10.0 s; ": the time in which there were requests, if it is less than half of the recording. */
static void part_text(const struct report *report, char text[2 * UNIT_SIZE + 10])
{
    uint64_t time = report->elapsed->requests.covered;
    char part[UNIT_SIZE], all[UNIT_SIZE];

    text[0] = '\0';
    if (time >= report->communication->duration / 2)
        return;
    show_duration(time, part);
    show_duration(report->communication->duration, all);
    snprintf(text, 2 * UNIT_SIZE + 10, "%s of %s; ", part, all);
}

/* What the shares are of. */
static void time_of_account(const struct report *report, const struct finding *finding,
                            char text[ACCOUNT_SIZE])
{
    const struct elapsed_requests *requests = &report->elapsed->requests;
    char time[UNIT_SIZE], count[COUNTED_SIZE], median[UNIT_SIZE], p99[UNIT_SIZE];
    char part[2 * UNIT_SIZE + 10];

    show_duration(finding->elapsed.of, time);
    if (!finding->elapsed.of_requests) {
        snprintf(text, ACCOUNT_SIZE, " of %s", time);
        return;
    }
    show_counted(requests->count, "request", count);
    show_duration(requests->median, median);
    show_duration(requests->p99, p99);
    part_text(report, part);
    if (requests->count == 1)
        snprintf(text, ACCOUNT_SIZE, " of the request's %s", median);
    else
        snprintf(text, ACCOUNT_SIZE, " of the time of %s (%smedian %s, p99 %s)", count, part,
                 median, p99);
}

#define LOCK_SIZE (ELAPSED_TEXT_SIZE + COUNTED_SIZE + 60)

static bool is_held_in(const struct elapsed_group *group, const struct elapsed_holder *holder)
{
    return holder->did.kind == group->largest->kind && holder->did.call == group->largest->call &&
           strcmp(holder->did.process, group->largest->process) == 0;
}

/* Otherwise the JVM stopped the threads: that is a finding of its own. */
static bool is_wait(const struct elapsed_holder *holder)
{
    return holder->did.runtime != RUNTIME_JVM ||
           (!elapsed_is_vm_thread(holder->did.thread) && !elapsed_is_collector(holder->did.thread));
}

static bool wait_in_one_place(const struct elapsed_row *a, const struct elapsed_row *b)
{
    return a->pid == b->pid && a->call == b->call && strcmp(a->procedure, b->procedure) == 0;
}

#define PLACES_MOST 16 /* the first ones have most time */

/* What of the group's time threads waited in the same place as this holder's; `for_same`: and for the same lock. */
static uint64_t time_waited_in(const struct elapsed *elapsed, const struct elapsed_group *group,
                               const struct elapsed_holder *place, bool for_same)
{
    uint64_t time = 0;

    for (size_t i = 0; i < elapsed->holder_count; i++) {
        const struct elapsed_row *waited = &elapsed->holders[i].waited;
        if (is_wait(&elapsed->holders[i]) && is_held_in(group, &elapsed->holders[i]) &&
            wait_in_one_place(waited, &place->waited) &&
            (!for_same || strcmp(waited->object_name, place->waited.object_name) == 0))
            time += elapsed->holders[i].did.time;
    }
    return time;
}

static const char *lock_name(const struct elapsed_row *waited)
{
    return waited->kind == ELAPSED_INTERPRETER ? "Python's interpreter lock (GIL)"
           : waited->kind == ELAPSED_FILE_LOCK ? "a file lock"
           : waited->object == WAIT_ON_LOCK    ? "a lock"
           : waited->runtime == RUNTIME_JVM    ? "a monitor, lock or condition"
                                               : "a lock or condition";
}

/* Threads that waited for a lock for at least half of that time; one alone may have waited for the end of another. */
static void lock_text(const struct elapsed *elapsed, const struct finding *finding,
                      char text[LOCK_SIZE])
{
    const struct elapsed_group *group = &finding->elapsed.group;
    const struct elapsed_holder *largest = NULL;
    char what[ELAPSED_TEXT_SIZE], threads[COUNTED_SIZE];
    uint64_t time = 0;

    text[0] = '\0';
    for (size_t i = 0, places = 0; i < elapsed->holder_count && places < PLACES_MOST; i++) {
        const struct elapsed_holder *holder = &elapsed->holders[i];
        if (holder->threads < 2 || !is_wait(holder) || !is_held_in(group, holder))
            continue;
        places++;
        uint64_t waited = time_waited_in(elapsed, group, holder, false);
        if (waited <= time)
            continue;
        largest = holder;
        time = waited;
    }
    if (largest == NULL || time * 2 < group->time || finding->elapsed.of_requests ||
        group->largest->kind == ELAPSED_NO_CPU)
        return;
    struct elapsed_row waited = largest->waited;
    if (time_waited_in(elapsed, group, largest, true) * 5 < time * 3)
        waited.object = WAIT_ON_NOT_KNOWN; /* one of several */
    elapsed_what(&waited, what);
    show_counted(largest->threads, "thread", threads);
    snprintf(text, LOCK_SIZE, "; meanwhile %s waited for %s%s%s%s",
             time == largest->did.time ? threads : "other threads", lock_name(&waited),
             what[0] == '\0' ? "" : " (", what, what[0] == '\0' ? "" : ")");
}

static const char *const did[ELAPSED_KIND_COUNT] = {
    [ELAPSED_COMPUTES] = "computed",
    [ELAPSED_NO_CPU] = "could run, but had no CPU",
    [ELAPSED_IN_FLIGHT] = "waited for messages in flight",
    [ELAPSED_QUEUED] = "did something else while messages waited for it",
    [ELAPSED_SPACE] = "waited for buffer space to send",
    [ELAPSED_OUTSIDE] = "waited for an unmonitored peer",
    [ELAPSED_NOT_FOUND] = "waited for a peer that was not found",
    [ELAPSED_DISK] = "waited for the disk",
    [ELAPSED_LOCK] = "waited for a lock or condition",
    [ELAPSED_INTERPRETER] = "waited for Python's interpreter lock (GIL)",
    [ELAPSED_VM_STOP] = "was stopped by its JVM, to collect garbage or for another safepoint",
    [ELAPSED_IDLE] = "waited for work, in a thread of its runtime",
    [ELAPSED_LIMIT] = "waited until the time limit of its call",
    [ELAPSED_FILE_LOCK] = "waited for a file lock",
    [ELAPSED_TIMER] = "slept until a timer ended",
    [ELAPSED_SIGNAL] = "waited for a signal",
    [ELAPSED_NOTICE] = "waited for a notification",
    [ELAPSED_MESSAGE_QUEUE] = "waited for a message queue",
    [ELAPSED_MPI] = "waited in MPI for other ranks",
    [ELAPSED_OPEN] = "waited to open a file",
    [ELAPSED_CONNECT] = "waited to connect",
    [ELAPSED_NO_ANSWER] = "waited for an answer that did not come",
    [ELAPSED_CLIENT] = "held others up while it waited for its own client",
    [ELAPSED_OTHER_CONNECTION] = "waited for a message on another connection, or for a time limit",
    [ELAPSED_CHILD] = "waited for a process to end",
    [ELAPSED_STOPPED] = "was stopped by a signal",
    [ELAPSED_EVENT] = "waited for a timeout, or for an event that no record explains",
    [ELAPSED_INPUT] = "waited for input or output",
    [ELAPSED_RESENT_SYN] = "waited to connect, until a lost SYN was sent again",
    [ELAPSED_NOT_STARTED] = "was not started yet",
    [ELAPSED_UNKNOWN] = "waited; no record says for what",
};

/* Words for several processes, where they differ. */
static const char *const several_did[ELAPSED_KIND_COUNT] = {
    [ELAPSED_STOPPED] = "were stopped by a signal",
    [ELAPSED_QUEUED] = "did something else while messages waited for them",
    [ELAPSED_CLIENT] = "held others up while they waited for their own clients",
    [ELAPSED_VM_STOP] = "were stopped by their JVMs, to collect garbage or for another safepoint",
    [ELAPSED_IDLE] = "waited for work, in threads of their runtimes",
    [ELAPSED_LIMIT] = "waited until the time limits of their calls",
};

/* vfork clone clone3 fork: these wait until the new process executes its program. */
static bool is_creating(uint32_t call)
{
    return call == 58 || call == 56 || call == 435 || call == 57;
}

/* Waits that a signal has ended early. */
static const char *const until_signal[ELAPSED_KIND_COUNT] = {
    [ELAPSED_LIMIT] = "waited",   [ELAPSED_FILE_LOCK] = "waited for a file lock",
    [ELAPSED_TIMER] = "slept",    [ELAPSED_EVENT] = "waited",
    [ELAPSED_UNKNOWN] = "waited",
};

#define DID_SIZE (UNIT_SIZE + 80)

/* Otherwise the lock's holder is followed. */
static bool knows_holders(const struct report *report)
{
    const struct elapsed *elapsed = report->elapsed;

    return (elapsed->flags_left_out & EVENT_FLAG(EVENT_WAKEUP)) == 0 && !elapsed->has_rules &&
           report->communication->lost == 0;
}

static void did_text(const struct report *report, const struct elapsed_group *group,
                     char text[DID_SIZE])
{
    char time[UNIT_SIZE];

    if (group->largest->kind == ELAPSED_NO_ANSWER && group->count > 0) {
        show_duration(group->time / group->count, time);
        snprintf(text, DID_SIZE, "waited %s%s for an answer that did not come", time,
                 group->count == 1 ? "" : " on average");
    } else if (group->largest->object == WAIT_ON_LOCK && group->largest->count == group->count) {
        snprintf(text, DID_SIZE, "waited for a lock");
    } else if (group->largest->signal != 0 && group->largest->count == group->count &&
               until_signal[group->largest->kind] != NULL) {
        snprintf(text, DID_SIZE, "%s until a signal came", until_signal[group->largest->kind]);
    } else if (group->largest->kind == ELAPSED_FILE_LOCK && knows_holders(report)) {
        snprintf(text, DID_SIZE, "waited for a file lock held by an unmonitored process");
    } else if (group->largest->kind == ELAPSED_INTERPRETER &&
               group->largest->runtime != RUNTIME_PYTHON) {
        snprintf(text, DID_SIZE,
                 "waited, most likely, for Python's interpreter lock (GIL), 5 ms at a time");
    } else if (group->largest->kind == ELAPSED_IDLE && group->largest->runtime == RUNTIME_GO) {
        snprintf(text, DID_SIZE, "had no goroutine to run (no record shows what these wait for)");
    } else if (group->largest->no_clock) {
        snprintf(text, DID_SIZE, "waited for messages of a machine whose clock nothing compares");
    } else if (group->largest->ran_late) {
        snprintf(text, DID_SIZE, "%sran later than records explain",
                 group->largest->path_kind != 0 ? "waited longer, or " : "");
    } else if (group->largest->kind == ELAPSED_CHILD && is_creating(group->largest->call) &&
               group->largest->count == group->count) {
        snprintf(text, DID_SIZE, "waited for a process to begin its program");
    } else if (names_several(group) && several_did[group->largest->kind] != NULL) {
        snprintf(text, DID_SIZE, "%s", several_did[group->largest->kind]);
    } else {
        snprintf(text, DID_SIZE, "%s", did[group->largest->kind]);
    }
}

/* Whether the machine of this origin had fewer tasks that could run than CPUs, on average. */
static bool had_free_cpus(const struct communication *communication, uint32_t origin)
{
    const struct machine_load *load = NULL;

    for (uint32_t i = 0; load == NULL && i < communication->process_count; i++)
        if (communication->processes[i].origin == origin)
            load = &communication->machines[communication->processes[i].machine].load;
    return load != NULL && load->elapsed != 0 && load->runnable_count != 0 &&
           load->cpus != NOT_KNOWN && load->runnable_sum < load->runnable_count * load->cpus;
}

/* In an account of requests each wait may have 1 ms more than the kernel counted. Where CPUs are free, most of it is the time
 * until a thread runs that was woken. */
static const char *no_cpu_text(const struct report *report, const struct finding *finding)
{
    return finding->elapsed.of_requests && !finding->elapsed.throttled &&
                   had_free_cpus(report->communication, finding->elapsed.group.leader->origin)
               ? "waited for a CPU, or to be woken"
               : did[ELAPSED_NO_CPU];
}

#define TASKS_SIZE 120

/* " (17.7 tasks for 2 CPUs, on average)": who else wanted them. Nothing if it is not known, or of which machine. */
static const char *tasks_text(const struct communication *communication, bool throttled,
                              char text[TASKS_SIZE])
{
    const struct machine_load *load =
        communication->machine_count == 1 ? &communication->machines[0].load : NULL;

    text[0] = '\0';
    if (load != NULL && load->elapsed != 0 && load->runnable_count != 0 && load->cpus != NOT_KNOWN)
        snprintf(text, TASKS_SIZE, " (%.1f tasks for %" PRIu64 " CPU%s, on average%s)",
                 show_share(load->runnable_sum, load->runnable_count), load->cpus,
                 load->cpus == 1 ? "" : "s", throttled ? ", and a CPU limit that was used up" : "");
    return text;
}

/* What one row of several has alone. */
static void clear_own(struct elapsed_row *row)
{
    row->procedure[0] = '\0';
    row->peer[0] = '\0';
    row->signal = 0;
}

void report_say_elapsed(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    const struct elapsed_group *group = &finding->elapsed.group;
    struct elapsed_row largest = *group->largest;
    char who[WHO_SIZE], what[ELAPSED_TEXT_SIZE], share[UNIT_SIZE];
    char of[ACCOUNT_SIZE] = "", times[UNIT_SIZE], lock[LOCK_SIZE], done[DID_SIZE];
    char tasks[TASKS_SIZE];
    uint64_t count = finding->elapsed.of_requests
                         ? elapsed_of_all_requests(&report->elapsed->requests, group->count)
                         : group->count;

    did_text(report, group, done);
    group_text(finding->elapsed.of_requests ? &report->elapsed->requests.account
                                            : &report->elapsed->run,
               group, who);
    lock_text(report->elapsed, finding, lock);
    if (largest.kind != ELAPSED_COMPUTES && largest.count != group->count)
        clear_own(&largest); /* the others waited elsewhere, and for others */
    if (largest.object == WAIT_ON_LOCK && largest.time * 5 < group->time * 3)
        largest.object = WAIT_ON_NOT_KNOWN; /* one of several */
    elapsed_what(&largest, what);
    if (largest.kind == ELAPSED_IDLE && largest.count != group->count)
        what[0] = '\0'; /* perhaps in another call */
    show_percent(group->time, finding->elapsed.of, share);
    show_count(count, times);
    if (finding->elapsed.first)
        time_of_account(report, finding, of);
    if (group->largest->pid == 0)
        say(content, "Time", "%s%%%s: no record says what was waited for.", share, of);
    else if (group->largest->kind == ELAPSED_NO_CPU) /* how often, its intervals do not say */
        say(content, "Time", "%s%%%s: %s %s%s.", share, of, who, no_cpu_text(report, finding),
            finding->elapsed.first
                ? tasks_text(report->communication, finding->elapsed.throttled, tasks)
                : "");
    else if (group->largest->kind == ELAPSED_NOT_STARTED)
        say(content, "Time", "%s%%%s: %s %s.", share, of, who, did[ELAPSED_NOT_STARTED]);
    else if (group->largest->ran_late && group->largest->path_kind == 0) /* nor do these */
        say(content, "Time", "%s%%%s: %s %s.", share, of, who, done);
    else if (group->largest->kind == ELAPSED_COMPUTES)
        say(content, "Time", "%s%%%s: %s %s%s%s%s.", share, of, who, did[group->largest->kind],
            what[0] == '\0'                  ? ""
            : largest.time > group->time / 2 ? ", most of it "
                                             : ", the largest part ",
            what, lock);
    else
        say(content, "Time", "%s%%%s: %s %s%s%s%s, %s time%s%s.", share, of, who, done,
            what[0] == '\0' ? "" : " (", what, what[0] == '\0' ? "" : ")", times,
            count == 1 ? "" : "s", lock);
}

/* ---- locks ---- */

/* "3 threads of app[12]", "7 flock processes" */
static void waiters_text(const struct elapsed_lock *lock, char text[PROCESS_TEXT_SIZE])
{
    char process[PLACED_PROCESS_SIZE], name[STREAM_NAME_SIZE + 1];

    show_text(lock->what.process, STREAM_NAME_SIZE, name);
    elapsed_process_text(&lock->what, process);
    if (lock->processes > 1)
        snprintf(text, PROCESS_TEXT_SIZE, "%" PRIu32 " processes (%s)", lock->processes, name);
    else if (lock->threads > 1)
        snprintf(text, PROCESS_TEXT_SIZE, "%" PRIu32 " threads of %s", lock->threads, process);
    else
        snprintf(text, PROCESS_TEXT_SIZE, "%s", process);
}

#define HELD_SIZE (ELAPSED_THREAD_SIZE + UNIT_SIZE + 120)

/* The thread that did most of what was done meanwhile, if there is one, and what it did for half of that or longer. */
static void held_text(const struct elapsed_lock *lock, char text[HELD_SIZE])
{
    char thread[ELAPSED_THREAD_SIZE], share[UNIT_SIZE];
    bool mostly =
        lock->holder_mostly * 2 >= lock->holder_time && lock->holder.kind != ELAPSED_UNKNOWN;

    text[0] = '\0';
    if (lock->holder_time * 5 < lock->held * 3 || lock->holder.tid == 0) /* or threads in turn */
        return;
    elapsed_thread_text(&lock->holder, thread);
    show_percent(lock->holder_time, lock->held, share);
    snprintf(text, HELD_SIZE, "; %s held it for %s%% of that time%s%s", thread, share,
             mostly ? ", and mostly " : "", mostly ? did[lock->holder.kind] : "");
}

void report_say_lock(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct elapsed_lock *lock = finding->lock;
    char who[PROCESS_TEXT_SIZE], object[OBJECT_TEXT_SIZE], held[HELD_SIZE],
        most[UNIT_SIZE + 30] = "";
    char time[UNIT_SIZE], share[UNIT_SIZE];
    bool is_file = lock->what.object != WAIT_ON_LOCK;

    waiters_text(lock, who);
    object_text(lock->what.object, lock->what.object_name, object);
    held_text(lock, held);
    if (lock->threads > 1)
        snprintf(most, sizeof(most), ", up to %" PRIu32 " at the same time", lock->most);
    show_duration(lock->time, time);
    show_percent(lock->time, report->elapsed->run.time, share);
    say(content, "Patterns",
        "%s waited for the %s%s%s%s. Without these waits the run would take at most %s (%s%%) "
        "less: %s, or hold the lock for a shorter time.",
        who, is_file ? "lock of " : "", object, most, held, time, share,
        is_file ? "use a file for each" : "use a lock for each part of the data");
}

/* ---- items ---- */

static bool is_row_of(const struct communication_process *process, const struct elapsed_row *row)
{
    return process->origin == row->origin && process->pid == row->pid;
}

/* Whether a process is the one of this row, or descends from it. */
static bool descends(const struct communication *communication, uint32_t process,
                     const struct elapsed_row *from)
{
    for (size_t i = 0; process != NO_PROCESS && i < communication->process_count; i++) {
        if (is_row_of(&communication->processes[process], from))
            return true;
        process = communication->processes[process].parent;
    }
    return false;
}

/* What others read of what the item wrote: of that the file with most bytes. NULL: nothing. */
static const struct communication_input *output_of(const struct communication *communication,
                                                   const struct elapsed_row *item)
{
    for (size_t i = 0; i < communication->input_count; i++) {
        const struct communication_input *input = &communication->inputs[i];
        if (input->from != NO_PROCESS && descends(communication, input->from, item) &&
            !descends(communication, input->to, item))
            return input;
    }
    return NULL;
}

#define OUTPUT_SIZE (PROCESS_TEXT_SIZE + ENDPOINT_SIZE + 64)

/* " ld[40] read /w/big.o, which it wrote." */
static void output_text(const struct report *report, const struct elapsed_row *item,
                        char text[OUTPUT_SIZE])
{
    const struct communication_input *output = output_of(report->communication, item);
    char reader[PROCESS_TEXT_SIZE], name[ENDPOINT_SIZE + 1];

    text[0] = '\0';
    if (output == NULL)
        return;
    process_text(report->communication, output->to, reader);
    show_text(output->name, ENDPOINT_SIZE, name);
    snprintf(text, OUTPUT_SIZE, " %s read %s, which it wrote.", reader, name);
}

void report_say_item(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    char output[OUTPUT_SIZE];
    const struct elapsed_item *item = finding->item;
    char process[PLACED_PROCESS_SIZE], parent[PLACED_PROCESS_SIZE], name[STREAM_NAME_SIZE + 1];
    char time[UNIT_SIZE], share[UNIT_SIZE], next[UNIT_SIZE];

    show_text(item->process.process, STREAM_NAME_SIZE, name);
    elapsed_process_text(&item->process, process);
    elapsed_process_text(&item->parent, parent);
    show_duration(item->time, time);
    show_percent(item->time, report->elapsed->run.time, share);
    show_percent(item->next, report->elapsed->run.time, next);
    output_text(report, &item->process, output);
    say(content, "Items",
        "%s is one of %zu %s processes that %s created. The run waited for it and its descendants "
        "for %s (%s%%), for the next of them %s%%. To split it would save at most that.%s",
        process, item->of, name, parent, time, share, next, output);
}
