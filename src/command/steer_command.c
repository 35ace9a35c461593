/* SPDX-License-Identifier: MIT */
/*
 * steer_command.c: `dpm steer`: measurement that steers. See dpm-steer(1).
 *
 *      policy --> journal --> guardian (fork) --> meter --live_feed--> snapshot --> slice --> steer_add
 *                                                                                                |
 *      line, line of JSON <--decided--------------------------------------------------------------+--act--> journal, then the act
 */
#include "command/live/live_operand.h"
#include "command/steer_lines.h"
#include "host/host.h"
#include "show/show.h"
#include "steer/steer.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SLICE 1000000000u /* ns: a snapshot each */
#define SETTLES_MOST                                                                               \
    200000000u /* ns that one waits for what is not counted yet: that counts in the next one */

struct steering {
    const char *file;
    bool dry, json, undo;
    const char *session; /* of several machines, or a folder of traces; NULL: this machine */
    struct live_operand operand;
    uint64_t duration; /* ns; 0: until a signal */
    uint64_t every;    /* ns between two pictures of the loop; 0: only at the end ... */
    uint64_t drawn;    /* ... CLOCK_MONOTONIC: the latest one */
    const char *trace; /* that gets what was metered, and the decisions; NULL: none ... */
    uint64_t max_size; /* ... bytes, at most */
    struct trace_writer *decisions; /* with a session: that trace, of decisions alone */
    int unstored;                   /* a decision could not be stored: the error, and ... */
    struct problem why;
    struct steer_tally tally;
    uint64_t began;  /* CLOCK_MONOTONIC; 0: not yet */
    uint64_t silent; /* a bit for each machine that was said to be silent */
    bool said_refused;
    struct steer_policy *policy;
    struct steer_machine machine;
    struct steer_members members;
    struct steer_journal *journal; /* NULL: with --dry-run */
    int guardian;
    struct steer *steer;
    struct process_choice choice;
    struct live_feed feed;
    struct host *host;
    struct summary_record summary; /* at the end of the slice before */
    double cost,
        cost_time; /* ns of CPU time that measuring took, and in which time: since the meter rested last */
    uint64_t wakes; /* CLOCK_MONOTONIC: the meter rests until then; 0: it does not ... */
    bool rested;    /* ... but in a part of this slice */
    int signals;
};

/* ---- what steer asks for ---- */

static int act(void *context, const struct steer_act *act_, const struct steer_setting *to,
               uint64_t *ret_took, struct problem *problem)
{
    struct steering *steering = context;
    uint64_t begin = clock_now(CLOCK_MONOTONIC);
    int result = steer_hands_act(steering->journal, steering->policy, &steering->machine,
                                 &steering->members, act_, to, problem);

    *ret_took = clock_now(CLOCK_MONOTONIC) - begin;
    return result;
}

static int store_decision(struct steering *steering, const struct record_header *record)
{
    if (steering->decisions == NULL)
        return live_feed_add(&steering->feed, record) < 0
                   ? problem_set(&steering->why, -ENOMEM, "out of memory for a decision's record")
                   : 0;
    int result = trace_writer_append(steering->decisions, record, &steering->why);
    return result < 0 ? result : trace_writer_flush(steering->decisions, &steering->why);
}

static void decided(void *context, const struct steer_decision *decision)
{
    struct steering *steering = context;
    struct decision_record record;

    steer_record(steering->policy, &steering->machine, decision, &record);
    steering->tally.decided[decision->outcome]++;
    if (steering->unstored == 0)
        steering->unstored = store_decision(steering, &record.header);
    steer_print(steering->policy, &steering->machine, decision, steering->json, stdout);
}

#define RESTORED_SIZE (STEER_TEXT_SIZE + 128)

/* "1 change"; "1 change; left alone, since it was changed by others meanwhile: nginx[812] and more" */
static const char *changes(const struct steer_restored *restored, char text[RESTORED_SIZE])
{
    char count[COUNTED_SIZE];

    show_counted(restored->count, "change", count);
    if (restored->changed == 0)
        snprintf(text, RESTORED_SIZE, "%s", count);
    else
        snprintf(text, RESTORED_SIZE,
                 "%s; left alone, since it was changed by others meanwhile: %s%s", count,
                 restored->first_changed, restored->changed > 1 ? " and more" : "");
    return text;
}

static bool is_any(const struct steer_restored *restored)
{
    return restored->count + restored->changed > 0;
}

/* In the guardian. */
static void say_restored(const struct steer_restored *restored, const struct problem *not_restored)
{
    char text[RESTORED_SIZE];

    if (is_any(restored))
        command_say("steer was killed: its guardian has restored %s", changes(restored, text));
    if (not_restored != NULL)
        command_say("steer was killed, and its guardian cannot restore everything: %s; try: dpm "
                    "steer --undo",
                    not_restored->text);
}

/* ---- slices ---- */

static uint64_t worked(const struct summary_record *now, const struct summary_record *before)
{
    return now->cpu_user + now->cpu_system - before->cpu_user - before->cpu_system;
}

static void add_machine(struct steering *steering, struct steer_slice *slice)
{
    struct summary_record now;

    host_read(steering->host, &now);
    double passed = (double)(now.header.time - steering->summary.header.time);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (now.cpu_user != NOT_KNOWN && steering->summary.cpu_user != NOT_KNOWN && passed > 0 &&
        cpus > 0) {
        slice->cpus = (double)cpus;
        slice->busy = (double)worked(&now, &steering->summary) / passed;
    }
    steering->summary = now;
}

static void count_slice(struct steering *steering, const struct live_snapshot *snapshot)
{
    struct steer_tally *tally = &steering->tally;

    tally->records += snapshot->records;
    tally->lost = snapshot->lost;
    tally->slices++;
    tally->length += snapshot->stands ? 0 : snapshot->length;
    tally->machines = snapshot->machine_count;
}

/* ---- rests of the meter ---- */

/* What it takes in the kernel is known once it has said so: until then, only what this program takes. Hooks run for all processes
 * of the machine: how many records a slice has does not say what they took in it. */
static void add_cost(struct steering *steering, const struct live_snapshot *snapshot)
{
    steering->cost += (double)snapshot->reader_new;
    if (snapshot->hook_rate != NOT_KNOWN)
        steering->cost += (double)snapshot->hook_rate * (double)snapshot->real / 1e9;
    steering->cost_time += (double)snapshot->real;
}

static int set_rest(struct steering *steering, uint64_t length, struct problem *problem)
{
    int result = live_feed_rest(&steering->feed, length > 0, problem);

    if (result == -ENOTSUP)
        return 0;
    steering->wakes = length > 0 ? clock_now(CLOCK_MONOTONIC) + length : 0;
    steering->rested = true;
    steering->cost = steering->cost_time = 0;
    return result;
}

/* Once nothing is to be done. */
static int rest(struct steering *steering, struct problem *problem)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double time = steering->cost_time * (double)(cpus > 0 ? cpus : 1);
    double cost = time > 0 ? steering->cost / time : 0;
    double mean = 0;
    uint64_t length = steer_rest(steering->steer, cost, &mean);
    char percent[UNIT_SIZE], average[UNIT_SIZE];

    if (length == 0 || steering->session != NULL)
        return 0;
    int result = set_rest(steering, length, problem);
    if (result == 0 && steering->wakes != 0 && steering->tally.rested == 0) {
        show_percent((uint64_t)(cost * 1e6), 1000000, percent);
        show_percent((uint64_t)(mean * 1e6), 1000000, average);
        command_say("measuring takes %s%% of the CPUs: the meter rests for up to 60 s whenever "
                    "there is nothing to do, so that it takes about %s%% on average",
                    percent, average);
    }
    return result;
}

/* What was measured, unless the meter rested in a part of it. In the first slice, what was in progress when the meter began is not known. */
static int add_slice(struct steering *steering, const struct live_snapshot *snapshot,
                     const struct steer_slice *slice, struct problem *problem)
{
    if (steering->tally.slices == 1) {
        steer_rested(steering->steer, (double)snapshot->real);
        return 0;
    }
    if (steering->wakes == 0 && !steering->rested) {
        add_cost(steering, snapshot);
        steering->tally.goal = steer_goal(steering->policy, slice);
        int result = steer_add(steering->steer, slice, problem);
        return result < 0 ? result : rest(steering, problem);
    }
    steering->rested = false;
    steering->tally.rested += snapshot->real;
    steer_rested(steering->steer, (double)snapshot->real);
    return steering->wakes == 0 || clock_now(CLOCK_MONOTONIC) < steering->wakes
               ? 0
               : set_rest(steering, 0, problem);
}

#define SILENT_LEAST  10000000000u /* ns */
#define MACHINES_MOST 64           /* that are watched */

/* Once for each time: a host that was lost. */
static void say_silent(struct steering *steering, const struct live_snapshot *snapshot)
{
    for (size_t i = 0;
         steering->session != NULL && i < snapshot->machine_count && i < MACHINES_MOST; i++) {
        const struct live_machine *machine = &snapshot->machines[i];
        bool is = !machine->ended && machine->last != UINT64_MAX && machine->last > SILENT_LEAST;
        if (is && (steering->silent >> i & 1) == 0)
            command_say("%s: nothing has come for 10 s: what it does is not known", machine->name);
        steering->silent = (steering->silent & ~(1ull << i)) | (uint64_t)is << i;
    }
}

#define LATE_MOST 10000000000 /* ns: if it seems to be more, the clocks of the machines differ */

/* What a session has recorded comes in packets. */
static double late_by(const struct live_snapshot *snapshot)
{
    int64_t late = (int64_t)clock_now(CLOCK_REALTIME) - snapshot->wall;

    return late > 0 && late < LATE_MOST ? (double)late : 0;
}

/* Once. */
static void say_lost(struct steering *steering, const struct live_snapshot *snapshot)
{
    char lost[COUNTED_SIZE];

    if (snapshot->new_lost == 0 || steering->tally.incomplete++ > 0)
        return;
    show_counted(snapshot->new_lost, "record", lost);
    command_say("%s lost: seconds in which records are lost are not measured", lost);
}

/* What cannot be given to a process that has begun meanwhile is said once. */
static int tend(struct steering *steering, struct problem *problem)
{
    if (steering->journal == NULL)
        return 0;
    int result = steer_hands_tend(steering->journal, steering->policy, &steering->members, problem);
    if (result == 0 && problem->text[0] != '\0' && !steering->said_refused) {
        command_say("%s: new processes of which that is true stay as they are", problem->text);
        steering->said_refused = true;
    }
    return result;
}

static int take_slice(struct steering *steering, struct problem *problem)
{
    const struct live_snapshot *snapshot = live_snapshot(steering->feed.live, 0);
    struct steer_slice slice;

    if (!live_feed_is_current(&steering->feed)) /* what was recorded before we came */
        return 0;
    count_slice(steering, snapshot);
    say_silent(steering, snapshot);
    say_lost(steering, snapshot);
    steer_slice_make(snapshot, &steering->members, &slice);
    if (steering->session == NULL) {
        add_machine(steering, &slice);
        steer_slice_add_memory(steering->policy, &steering->members, &slice);
    } else {
        slice.late = late_by(snapshot);
    }
    int result = steer_members_find(&steering->members, steering->policy, problem);
    if (result == 0 && steering->members.ended != 0)
        result = problem_set(problem, -ESRCH, "group %s: its process has ended",
                             steering->policy->groups[steering->members.ended - 1].name);
    if (result == 0)
        result = tend(steering, problem);
    if (result == 0)
        result = add_slice(steering, snapshot, &slice, problem);
    if (result == 0 && steering->unstored < 0)
        result = problem_set(problem, steering->unstored, "%s", steering->why.text);
    return result < 0 ? result : command_flush_output(problem);
}

/* ---- the loop ---- */

static void print_loop(struct steering *steering)
{
    steering->drawn = clock_now(CLOCK_MONOTONIC);
    steering->tally.cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    steering->tally.real = steering->drawn - steering->began;
    steer_print_loop(steering->policy, &steering->tally, stdout);
    fflush(stdout);
}

static bool is_to_be_drawn(const struct steering *steering)
{
    return steering->every > 0 && clock_now(CLOCK_MONOTONIC) - steering->drawn >= steering->every;
}

static bool told_to_end(int signals)
{
    struct signalfd_siginfo info;

    return read(signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD;
}

static int loop(struct steering *steering, struct problem *problem)
{
    struct pollfd files[] = {{.fd = steering->signals, .events = POLLIN},
                             {.fd = steering->guardian, .events = POLLIN}};
    uint64_t end =
        steering->duration == 0 ? UINT64_MAX : clock_now(CLOCK_MONOTONIC) + steering->duration;

    while (!steering->feed.ended && clock_now(CLOCK_MONOTONIC) < end) {
        live_feed_wait(&steering->feed, files, ARRAY_SIZE(files), end);
        if ((files[0].revents & POLLIN) != 0 && told_to_end(steering->signals))
            return 0;
        if ((files[1].revents & POLLIN) != 0)
            return problem_set(
                problem, -ECHILD,
                "steer's guardian was killed: steer ends, and restores; start it again");
        int result = live_feed_step(&steering->feed, problem);
        if (result > 0)
            result = take_slice(steering, problem);
        if (result < 0)
            return result;
        if (is_to_be_drawn(steering))
            print_loop(steering);
    }
    return 0;
}

static void say_line(const char *line, void *context)
{
    (void)context;
    command_say("%s", line);
}

/* What a session records is stored by its filters. */
static int open_decisions(struct steering *steering, struct problem *problem)
{
    struct machine_record machine;

    if (steering->trace == NULL)
        return 0;
    machine_describe(&machine);
    return trace_writer_new(steering->trace, &machine, steering->max_size, &steering->decisions,
                            problem);
}

static int close_decisions(struct steering *steering, struct problem *problem)
{
    int result = steering->decisions == NULL
                     ? 0
                     : trace_writer_close(steering->decisions, END_COMPLETE, problem);

    steering->decisions = NULL;
    return result;
}

static int open_feed(struct steering *steering, struct problem *problem)
{
    struct live_feed_options options = {.interval = SLICE,
                                        .kinds = live_operand_recorded(&steering->operand),
                                        .stop = steering->signals,
                                        .stored = steering->trace,
                                        .max_size = steering->max_size,
                                        .say = say_line};
    int result = 0;

    if (steering->session != NULL) {
        live_operand_feed(&steering->operand, &options);
        result = open_decisions(steering, problem);
        return result < 0 ? result : live_feed_open(&steering->feed, &options, problem);
    }
    options.settles_most = SETTLES_MOST; /* of packets of other machines, it may be much */
    result = steer_members_choose(steering->policy, &steering->choice, problem);
    options.acquiring = (struct acquiring){
        .choice = &steering->choice, .waits = true, .below = BELOW_MASTERS, .say = say_line};
    return result < 0 ? result : live_feed_open(&steering->feed, &options, problem);
}

/* The guardian is forked before anything else is open. */
static int begin(struct steering *steering, struct problem *problem)
{
    const struct steer_calls calls = {steering, act, decided};
    char text[RESTORED_SIZE];
    struct steer_restored restored = {0};
    int result = steer_policy_read(steering->file, &steering->policy, problem);

    if (result == 0)
        result = steering->session == NULL
                     ? steer_members_begin(&steering->members, steering->policy, problem)
                     : steer_members_of_session(&steering->members, steering->policy,
                                                steering->session, problem);
    if (result == 0 && !steering->dry)
        result = steer_journal_begin(steering->policy, &steering->members, &steering->journal,
                                     &restored, problem);
    if (result == 0 && !steering->dry && problem->text[0] != '\0')
        command_say("an earlier steer was killed, and not all can be restored: %s", problem->text);
    if (is_any(&restored))
        command_say("an earlier steer was killed: restored %s", changes(&restored, text));
    if (result == 0 && !steering->dry) {
        result = steering->guardian = steer_guardian_begin(steering->journal, say_restored);
        if (result < 0)
            problem_set(problem, result, "cannot start steer's guardian: %s", strerror(-result));
    }
    if (result >= 0 && (steering->signals = recording_signals(&(sigset_t){0})) < 0)
        result = problem_set(problem, steering->signals, "cannot watch signals: %s",
                             strerror(-steering->signals));
    steer_machine_read("", &steering->machine);
    if (result >= 0 && (steer_new(steering->policy, &steering->machine, &calls, steering->dry,
                                  &steering->steer) < 0 ||
                        host_open("", &steering->host) < 0))
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result < 0)
        return result;
    host_read(steering->host, &steering->summary); /* what the first slice begins with */
    return open_feed(steering, problem);
}

static int end(struct steering *steering, int result, struct problem *problem)
{
    char text[RESTORED_SIZE];
    struct problem why = {""}, not_closed = {""};
    struct steer_restored restored = {0};

    int restoring = steer_journal_end(steering->journal, &restored, &why); /* first of all */
    if (steering->feed.history != NULL || steering->feed.recording.options != NULL)
        live_feed_close(&steering->feed);
    if (close_decisions(steering, &not_closed) < 0 && result >= 0)
        result = problem_set(problem, -EIO, "%s", not_closed.text);
    if (is_any(&restored))
        command_say("restored %s", changes(&restored, text));
    if (steering->began != 0 && !steering->json)
        print_loop(steering);
    if (restoring < 0)
        command_say("not everything is restored: %s; try: dpm steer --undo", why.text);
    steer_free(steering->steer);
    host_close(steering->host);
    steer_members_done(&steering->members);
    process_choice_done(&steering->choice);
    steer_policy_free(steering->policy);
    if (result < 0 && result != -EPIPE)
        return command_error("%s", problem->text);
    return restoring < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int steer(struct steering *steering)
{
    struct problem problem = {""};

    signal(SIGPIPE, SIG_IGN);
    steer_prefer_loop();
    int result = begin(steering, &problem);
    if (result >= 0) {
        command_say("steering by %s: the goal is %s of %s; %s", steering->file,
                    steer_measure_name(steering->policy->measure),
                    steering->policy->groups[steering->policy->goal].name,
                    steering->dry ? "nothing is changed" : "Ctrl-C restores everything");
        steering->began = steering->drawn = clock_now(CLOCK_MONOTONIC);
        result = loop(steering, &problem);
    }
    return end(steering, result, &problem);
}

static int undo(void)
{
    char text[RESTORED_SIZE];
    struct problem problem = {""};
    struct steer_restored restored = {0};
    int result = steer_journal_undo(&restored, &problem);

    if (is_any(&restored))
        printf("restored %s\n", changes(&restored, text));
    else if (result == 0)
        puts("nothing was to be restored");
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_DRY = OPTION_HELP + 1,
    OPTION_JSON,
    OPTION_UNDO,
    OPTION_DURATION,
    OPTION_EVERY,
    OPTION_MAX_SIZE,
    OPTION_SESSION
};

#define DEFAULT_MAX_SIZE (1ull << 30)

static const struct command_option steer_options[] = {
    {"output",
     'o',
     {"TRACE", ARGUMENT_TRACE},
     "store what is metered, and the decisions, in the directory TRACE: the newest"},
    {"max-size", OPTION_MAX_SIZE, {"N"}, "largest size of the trace, with K, M, G or T (1G)"},
    {"session",
     OPTION_SESSION,
     {"NAME"},
     "steer what this session, job or folder of traces records, on several machines"},
    {"dry-run", OPTION_DRY, {0}, "change nothing: print what it would try first"},
    {"json", OPTION_JSON, {0}, "print each decision as a line of JSON"},
    {"every", OPTION_EVERY, {"TIME"}, "draw the loop each TIME, with its figures: 10s"},
    {"duration", OPTION_DURATION, {"TIME"}, "end after TIME: 10m, 1h"},
    {"undo", OPTION_UNDO, {0}, "restore what a killed steer has changed, and end"},
    {0},
};

static int take_option(int option, struct steering *steering)
{
    switch (option) {
    case 'o':
        steering->trace = optarg;
        return -1;
    case OPTION_SESSION:
        steering->session = optarg;
        return -1;
    case OPTION_MAX_SIZE:
        if (parse_size(optarg, &steering->max_size) == 0 &&
            steering->max_size >= TRACE_SMALLEST_KEPT)
            return -1;
        return command_usage_error("steer", "--max-size '%s': give a size of at least 1M", optarg);
    case OPTION_DRY:
        steering->dry = true;
        return -1;
    case OPTION_JSON:
        steering->json = true;
        return -1;
    case OPTION_UNDO:
        steering->undo = true;
        return -1;
    case OPTION_DURATION:
        if (parse_duration(optarg, &steering->duration) == 0 && steering->duration > 0)
            return -1;
        return command_usage_error("steer", "--duration '%s': give a time, e.g. 10m", optarg);
    case OPTION_EVERY:
        if (parse_duration(optarg, &steering->every) == 0 && steering->every > 0)
            return -1;
        return command_usage_error("steer", "--every '%s': give a time, e.g. 10s", optarg);
    case OPTION_HELP:
        return command_help("steer");
    default:
        return command_usage_error("steer", NULL);
    }
}

static int command_steer(int argc, char **argv)
{
    struct steering steering = {
        .guardian = -1, .signals = -1, .max_size = DEFAULT_MAX_SIZE, .tally.goal = NAN};
    int option, status = -1;

    while (status < 0 && (option = command_next_option(&steer_command, argc, argv)) != -1)
        status = take_option(option, &steering);
    if (status >= 0)
        return status;
    if (steering.undo)
        return argc == optind && steering.trace == NULL
                   ? undo()
                   : command_usage_error("steer", "--undo takes no policy, and no trace");
    if (argc - optind != 1)
        return command_usage_error("steer", "name one file with a policy");
    if (steering.every > 0 && steering.json)
        return command_usage_error("steer", "--every draws a picture: not with --json");
    steering.file = argv[optind];
    if (steering.session != NULL) {
        char *operands[] = {(char *)steering.session, NULL};
        status = live_operand_done("steer", 1, operands, 0, &steering.operand);
        if (status >= 0)
            return status;
    }
    status = steer(&steering);
    live_operand_free(&steering.operand);
    return status;
}

const struct command steer_command = {
    .name = "steer",
    .description = "change how programs run, by what is measured, and keep what helps",
    .usage = "[OPTION]... POLICY\n"
             "       dpm steer --undo",
    .function = command_steer,
    .operand = {"POLICY", ARGUMENT_FILE},
    .options = steer_options,
};
