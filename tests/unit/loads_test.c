/* SPDX-License-Identifier: MIT */
/*
 * loads_test.c: SUMMARY, CGROUP, DECISION and SCHEDULE records in the statistics, what is found in them, and the sentences; what
 * is said of an account of requests that follows some of them.
 *
 *      records --> history --> statistics --> struct communication --> findings --> sentences
 *
 * Random threads are compared with a naive model.
 */
#include "tapes.h"

#include "analysis/findings/findings.h"
#include "analysis/statistics/statistics.h"
#include "show/show.h"

#define S 1000000000ull /* ns */

#define EXPECT(expected, found)                                                                    \
    do {                                                                                           \
        uint64_t is = (found), wanted = (expected);                                                \
        if (is != wanted)                                                                          \
            fail_msg("%s is %" PRIu64 ", not %" PRIu64, #found, is, wanted);                       \
    } while (0)

/* ---- records ---- */

static struct summary_record *add_summary(struct tape *tape, uint64_t time)
{
    struct summary_record record;

    memset(&record, 0xff, sizeof(record));
    record.header =
        (struct record_header){.time = time, .id = EVENT_SUMMARY, .flags = RECORD_NO_STREAM};
    return (struct summary_record *)tape_add(tape, &record);
}

static struct cgroup_record *add_cgroup(struct tape *tape, uint64_t time, uint64_t cgroup)
{
    struct cgroup_record record;

    memset(&record, 0xff, sizeof(record));
    record.header =
        (struct record_header){.time = time, .id = EVENT_CGROUP, .flags = RECORD_NO_STREAM};
    record.cgroup = cgroup;
    return (struct cgroup_record *)tape_add(tape, &record);
}

static void add_name(struct tape *tape, uint64_t time, uint64_t number, const char *name)
{
    struct name_record record = {
        .header = {.time = time, .id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = number,
        .kind = NAME_CGROUP};

    snprintf(record.name, sizeof(record.name), "%s", name);
    tape_add(tape, &record);
}

static void add_thread(struct tape *tape, uint64_t time, uint32_t stream, uint32_t process,
                       uint64_t start)
{
    struct stream_record record = {
        .header = {.time = time, .id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = stream},
        .pid = 100 + process,
        .tid = 100 + stream,
        .process = process,
        .start = start,
        .name = "worker"};

    tape_add(tape, &record);
}

static struct record *add_schedule(struct tape *tape, uint64_t time, uint32_t stream, uint64_t cpu,
                                   uint64_t runnable)
{
    struct record *record = add_event(tape, time, EVENT_SCHEDULE, stream, 0);

    record->header.flags = RECORD_NO_STREAM;
    record->header.proc_time_and_pc = cpu;
    record->schedule.runnable = runnable;
    return record;
}

static void begin(struct tape *tape, uint64_t time)
{
    struct machine_record record = {.header = {.time = time, .id = EVENT_MACHINE, .flags = 16},
                                    .machine_id = {1},
                                    .boot_id = {1},
                                    .meter_flags = METER_ALL_FLAGS,
                                    .cpus = 2,
                                    .name = "here"};

    tape_init(tape);
    tape_add(tape, &record);
}

static struct communication *read_tapes(struct tape *tapes, size_t count)
{
    struct source *sources[2] = {&tapes[0].source, &tapes[1].source};
    struct communication *result = NULL;
    struct history *history;
    struct problem problem;

    assert_int_equal(history_new(sources, count, &history, &problem), 0);
    if (communication_read_history(history, (uint32_t)count, 0, &result, &problem) < 0)
        fail_msg("%s", problem.text);
    history_free(history);
    for (size_t i = 0; i < count; i++)
        tape_done(&tapes[i]);
    return result;
}

/* ---- machines ---- */

static void add_load(struct tape *tape, uint64_t time, uint64_t step, uint64_t runnable)
{
    struct summary_record *record = add_summary(tape, time);

    record->cpu_user = 100 * S + step * S;
    record->cpu_system = 10 * S;
    record->cpu_idle = 5 * S + step * S / 2;
    record->cpu_disk = 3 * S + step * S / 2;
    record->cpu_stolen = 0;
    record->runnable = runnable;
    record->memory = 1000;
    record->memory_available = 700 - step * 100;
    record->disk_waited = step * S / 4;
    record->disk_read = 7 + step * 1000;
    record->network_sent = 1 << 20;
}

static void a_machine_is_summed_up(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 1 * S);
    add_load(&tape, 1 * S, 0, 3);
    add_load(&tape, 2 * S, 3, 10);
    add_load(&tape, 3 * S, 2, 1);
    struct communication *result = read_tapes(&tape, 1);
    const struct machine_load *load = &result->machines[0].load;
    EXPECT(2 * S, load->elapsed);
    EXPECT(2, load->cpus);
    EXPECT(2 * S, load->cpu_user);
    EXPECT(0, load->cpu_system);
    EXPECT(2 * S, load->cpu_idle);
    EXPECT(4 * S, load->cpu_all);
    EXPECT(2 + 9 + 0, load->runnable_sum); /* without the recorder */
    EXPECT(3, load->runnable_count);
    EXPECT(9, load->runnable_max);
    EXPECT(400, load->memory_available_least);
    EXPECT(S / 2, load->disk_waited);
    EXPECT(2000, load->disk_read);
    EXPECT(0, load->network_sent);
    EXPECT(NOT_KNOWN, load->cpu_waited);
    EXPECT(NOT_KNOWN, load->tcp_retransmitted);
    EXPECT(0, result->events);
    communication_free(result);
}

static void counters_that_go_back_count_nothing(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 1 * S);
    add_load(&tape, 1 * S, 5, 1);
    add_load(&tape, 2 * S, 4, 0);
    struct communication *result = read_tapes(&tape, 1);
    EXPECT(0, result->machines[0].load.cpu_user);
    EXPECT(0, result->machines[0].load.disk_read);
    EXPECT(0, result->machines[0].load.runnable_max);
    communication_free(result);
}

static void without_two_summaries_nothing_is_known(void **state)
{
    (void)state;
    for (int summaries = 0; summaries < 2; summaries++) {
        struct tape tape;
        begin(&tape, 1 * S);
        if (summaries > 0)
            add_load(&tape, 2 * S, 1, 1);
        add_thread(&tape, 3 * S, 1, 1, 2 * S);
        struct communication *result = read_tapes(&tape, 1);
        EXPECT(0, result->machines[0].load.elapsed);
        EXPECT(NOT_KNOWN, result->machines[0].load.cpu_user);
        EXPECT(NOT_KNOWN, result->machines[0].load.runnable_max);
        EXPECT(0, result->cgroup_count);
        EXPECT(0, result->processes[0].scheduled.threads);
        communication_free(result);
    }
}

/* Two recordings of one machine, one after the other, count from the first SUMMARY to the last. */
static void recordings_of_one_machine(void **state)
{
    struct tape tapes[2];

    (void)state;
    begin(&tapes[0], 5 * S);
    add_load(&tapes[0], 5 * S, 4, 7);
    add_load(&tapes[0], 6 * S, 6, 1);
    begin(&tapes[1], 1 * S);
    add_load(&tapes[1], 1 * S, 0, 1);
    add_load(&tapes[1], 2 * S, 1, 3);
    struct communication *result = read_tapes(tapes, 2);
    EXPECT(1, result->machine_count);
    EXPECT(5 * S, result->machines[0].load.elapsed);
    EXPECT(6 * S, result->machines[0].load.cpu_user);
    EXPECT(4, result->machines[0].load.runnable_count);
    EXPECT(6, result->machines[0].load.runnable_max);
    EXPECT(100, result->machines[0].load.memory_available_least);
    communication_free(result);
}

/* ---- cgroups ---- */

static struct cgroup_record *add_limited(struct tape *tape, uint64_t time, uint64_t step)
{
    struct cgroup_record *record = add_cgroup(tape, time, 77);

    record->cpu = step * S / 10;
    record->quota = S / 20;
    record->period = S / 10;
    record->periods = 1000 + step * 10;
    record->throttled_periods = 500 + step * 9;
    record->throttled = step * S / 2;
    record->memory = step == 1 ? 900 : 100;
    record->memory_most = 1000;
    record->oom_kills = 3;
    return record;
}

static void cgroups_are_summed_up(void **state)
{
    struct communication *groups;
    struct tape tape;

    (void)state;
    begin(&tape, 1 * S);
    add_name(&tape, 1 * S, 77, "/site/web");
    add_limited(&tape, 1 * S, 0);
    add_cgroup(&tape, 1 * S, 78);
    add_limited(&tape, 2 * S, 1);
    add_limited(&tape, 3 * S, 2);
    struct communication *result = read_tapes(&tape, 1);
    assert_int_equal(communication_group(result, BY_PROGRAM, &groups), 0);
    communication_free(result);
    EXPECT(2, groups->cgroup_count);
    const struct communication_cgroup *cgroup = &groups->cgroups[0];
    assert_string_equal(cgroup->name, "/site/web");
    EXPECT(77, cgroup->number);
    EXPECT(2 * S, cgroup->elapsed);
    EXPECT(S / 5, cgroup->cpu);
    EXPECT(S, cgroup->cpu_limit); /* half a CPU for 2 s */
    EXPECT(20, cgroup->periods);
    EXPECT(18, cgroup->throttled_periods);
    EXPECT(S, cgroup->throttled);
    EXPECT(900, cgroup->memory);
    EXPECT(1000, cgroup->memory_most);
    EXPECT(0, cgroup->oom_kills);
    EXPECT(NOT_KNOWN, cgroup->cpu_waited);
    assert_null(groups->cgroups[1].name);
    EXPECT(0, groups->cgroups[1].elapsed);
    EXPECT(NOT_KNOWN, groups->cgroups[1].cpu_limit);
    communication_free(groups);
}

static void very_many_cgroups(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 1 * S);
    for (uint64_t i = 0; i < MOST_CGROUPS + 10; i++)
        add_cgroup(&tape, 2 * S, i);
    add_cgroup(&tape, 3 * S, 5);
    struct communication *result = read_tapes(&tape, 1);
    EXPECT(MOST_CGROUPS, result->cgroup_count);
    EXPECT(10, result->cgroups_left_out);
    EXPECT(S, result->cgroups[5].elapsed);
    communication_free(result);
}

/* ---- decisions ---- */

static void very_many_decisions(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 1 * S);
    for (uint64_t i = 0; i < MOST_DECISIONS + 3; i++) {
        struct decision_record record = {
            .header = {.time = 2 * S + i, .id = EVENT_DECISION, .flags = RECORD_NO_STREAM},
            .number = i,
            .outcome = DECISION_TRIES};
        tape_add(&tape, &record);
    }
    struct communication *result = read_tapes(&tape, 1);
    EXPECT(MOST_DECISIONS, result->decision_count);
    EXPECT(3, result->decisions_left_out);
    EXPECT(MOST_DECISIONS - 1, result->decisions[MOST_DECISIONS - 1].record.number);
    communication_free(result);
}

/* ---- threads ---- */

static void a_new_thread_counts_from_its_birth(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 10 * S);
    add_thread(&tape, 11 * S, 1, 1, 11 * S);
    add_schedule(&tape, 12 * S, 1, S / 5, S / 2);
    struct record *record = add_schedule(&tape, 14 * S, 1, S, S);
    record->schedule.voluntary = 7;
    record->schedule.involuntary = 9;
    struct communication *result = read_tapes(&tape, 1);
    const struct scheduled *scheduled = &result->processes[0].scheduled;
    EXPECT(1, scheduled->threads);
    EXPECT(3 * S, scheduled->elapsed);
    EXPECT(S, scheduled->runnable);
    EXPECT(S, scheduled->asleep);
    EXPECT(7, scheduled->voluntary);
    EXPECT(9, scheduled->involuntary);
    communication_free(result);
}

static void an_old_thread_counts_from_its_first_record(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 10 * S);
    add_thread(&tape, 11 * S, 1, 1, 1 * S);
    add_schedule(&tape, 11 * S, 1, 5 * S, 100 * S);
    struct record *record = add_schedule(&tape, 14 * S, 1, 6 * S, 101 * S);
    record->schedule.voluntary = 2;
    add_schedule(&tape, 15 * S, 1, 6 * S, 100 * S)->schedule.voluntary = 1; /* damaged */
    struct communication *result = read_tapes(&tape, 1);
    const struct scheduled *scheduled = &result->processes[0].scheduled;
    EXPECT(3 * S, scheduled->elapsed);
    EXPECT(S, scheduled->runnable);
    EXPECT(S, scheduled->asleep);
    EXPECT(2, scheduled->voluntary);
    communication_free(result);
}

static void one_record_of_an_old_thread_says_nothing(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 10 * S);
    add_thread(&tape, 11 * S, 1, 1, 1 * S);
    add_schedule(&tape, 11 * S, 1, 5 * S, 100 * S);
    struct communication *result = read_tapes(&tape, 1);
    EXPECT(0, result->processes[0].scheduled.threads);
    EXPECT(0, result->processes[0].scheduled.runnable);
    communication_free(result);
}

#define THREADS 12

/* Random threads of three processes: they run, wait and sleep for random times, and now and then make a record. */
static void random_threads_are_summed_up(void **state)
{
    uint64_t seed = seed_of_run("loads");
    struct {
        uint64_t base[3], last[3], cpu, runnable, voluntary; /* elapsed, runnable, asleep */
        bool begun, counted;
    } threads[THREADS] = {0};
    struct scheduled model[3] = {0};
    uint64_t now = 10 * S, asleep[THREADS] = {0}, births[THREADS];
    struct tape tape;

    (void)state;
    begin(&tape, now);
    for (uint32_t i = 0; i < THREADS; i++) {
        bool old = i >= 3 && random_below(&seed, 2) == 0;
        births[i] = old ? S : now;
        threads[i].runnable = old ? random_below(&seed, S) : 0;
        threads[i].cpu = old ? random_below(&seed, S) : 0;
        asleep[i] = now - births[i] - threads[i].runnable - threads[i].cpu;
        threads[i].begun = !old;
        add_thread(&tape, now, i + 1, i % 3 + 1, births[i]);
        tape.records[tape.count - 1]->proc_time_and_pc = threads[i].cpu;
    }
    for (int step = 0; step < 500; step++) {
        uint64_t more = random_below(&seed, S / 100);
        now += more;
        for (uint32_t i = 0; i < THREADS; i++) {
            uint64_t run = random_below(&seed, more + 1);
            uint64_t waited = random_below(&seed, more - run + 1);
            threads[i].cpu += run;
            threads[i].runnable += waited;
            asleep[i] += more - run - waited;
            threads[i].voluntary += random_below(&seed, 3);
            if (random_below(&seed, 20) != 0)
                continue;
            add_schedule(&tape, now, i + 1, threads[i].cpu, threads[i].runnable)
                ->schedule.voluntary = (uint32_t)threads[i].voluntary;
            struct scheduled *sum = &model[i % 3];
            const uint64_t totals[3] = {now - births[i], threads[i].runnable, asleep[i]};
            if (!threads[i].begun)
                memcpy(threads[i].last, totals, sizeof(totals));
            else if (!threads[i].counted)
                sum->threads++, threads[i].counted = true;
            threads[i].begun = true;
            sum->elapsed += totals[0] - threads[i].last[0];
            sum->runnable += totals[1] - threads[i].last[1];
            sum->asleep += totals[2] - threads[i].last[2];
            memcpy(threads[i].last, totals, sizeof(totals));
        }
    }
    struct communication *result = read_tapes(&tape, 1);
    EXPECT(3, result->process_count);
    for (int i = 0; i < 3; i++) {
        const struct scheduled *found_here = &result->processes[i].scheduled;
        EXPECT(model[i].threads, found_here->threads);
        EXPECT(model[i].elapsed, found_here->elapsed);
        EXPECT(model[i].runnable, found_here->runnable);
        EXPECT(model[i].asleep, found_here->asleep);
    }
    communication_free(result);
}

/* A SCHEDULE in between is no activity of the stream. */
static void a_wait_goes_on(void **state)
{
    struct tape tape;

    (void)state;
    begin(&tape, 1 * S);
    add_thread(&tape, 1 * S, 1, 1, 1 * S);
    add_unix(&tape, 1 * S, 1, PATH_UNIX_STREAM, 5, 6);
    add_message(&tape, 2 * S, EVENT_RECEIVECALL, 1, 0, 1, 0, 0)->header.proc_time_and_pc = 0;
    add_schedule(&tape, 3 * S, 1, 0, 0);
    add_message(&tape, 4 * S, EVENT_RECEIVE, 1, 1, 1, 0, 10)->header.proc_time_and_pc = 0;
    struct communication *result = read_tapes(&tape, 1);
    EXPECT(1, histogram_count(&result->processes[0].times.of[TIME_RECEIVER_WAIT]));
    EXPECT(2 * S, histogram_max(&result->processes[0].times.of[TIME_RECEIVER_WAIT]));
    EXPECT(3, result->events);
    communication_free(result);
}

/* ---- findings ---- */

/* A machine that was watched for 10 s. */
struct scene {
    struct communication communication;
    struct communication_machine machine;
    struct communication_process processes[5];
    struct communication_cgroup cgroups[5];
};

static void quiet(struct scene *scene)
{
    *scene = (struct scene){0};
    struct machine_load *load = &scene->machine.load;
    memset(load, 0xff, sizeof(*load));
    *load = (struct machine_load){
        .elapsed = 10 * S,
        .cpus = 2,
        .cpu_all = 20 * S,
        .cpu_user = S,
        .cpu_idle = 19 * S,
        .runnable_sum = 99,
        .runnable_count = 11,
        .runnable_max = 20,
        .cpu_waited = S / 3,
        .memory_waited = S / 3,
        .disk_waited = S / 3,
        .cpu_stolen = S / 2,
        .memory = 1 << 30,
        .memory_available_least = 1 << 20,
        .swapped_in = 4096,
    };
    strcpy(scene->machine.name, "here");
    for (size_t i = 0; i < ARRAY_SIZE(scene->processes); i++) {
        struct communication_process *process = &scene->processes[i];
        *process = (struct communication_process){.pid = 12 + (uint32_t)i, .parent = NO_PROCESS};
        strcpy(process->name, "worker");
        process->scheduled = (struct scheduled){
            .threads = 1, .elapsed = 10 * S, .runnable = S / 10, .asleep = 9 * S};
    }
    for (size_t i = 0; i < ARRAY_SIZE(scene->cgroups); i++) {
        struct communication_cgroup *cgroup = &scene->cgroups[i];
        memset(cgroup, 0xff, sizeof(*cgroup));
        cgroup->machine = 0;
        cgroup->name = "/docker/abc";
        cgroup->elapsed = 10 * S;
        cgroup->quota = S / 20;
        cgroup->period = S / 10;
        cgroup->periods = 100;
        cgroup->throttled_periods = 2;
        cgroup->throttled = S / 10;
        cgroup->oom_kills = 0;
    }
    scene->communication = (struct communication){
        .processes = scene->processes,
        .process_count = ARRAY_SIZE(scene->processes),
        .machines = &scene->machine,
        .machine_count = 1,
        .cgroups = scene->cgroups,
        .cgroup_count = ARRAY_SIZE(scene->cgroups),
        .duration = 10 * S,
    };
}

/* What is found of machines, and where the time went, as sentences: "CPU: ... Limits: ..." */
static const char *found_with(const struct scene *scene, const struct elapsed *elapsed,
                              char text[4096])
{
    const struct report report = {
        .communication = &scene->communication, .elapsed = elapsed, .traces = "x.trace"};
    char *all = NULL, *rest;
    size_t size = 0;
    FILE *file = open_memstream(&all, &size);
    bool wanted = false;

    assert_non_null(file);
    assert_true(show_report_findings(&report, file) >= 0);
    assert_int_equal(fclose(file), 0);
    rest = all;
    text[0] = '\0';
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != ' ' && line[0] != '\0')
            wanted = strncmp(line, "CPU ", 4) == 0 || strncmp(line, "Limits ", 7) == 0 ||
                     strncmp(line, "Memory ", 7) == 0 || strncmp(line, "Disks ", 6) == 0 ||
                     strncmp(line, "Time ", 5) == 0 || strncmp(line, "Patterns ", 9) == 0;
        if (!wanted)
            continue;
        /* lines of the report are broken: joins them, and squeezes blanks */
        for (const char *word = line + strspn(line, " "); *word != '\0';) {
            size_t length = strcspn(word, " ");
            snprintf(text + strlen(text), 4096 - strlen(text), "%s%.*s", text[0] == '\0' ? "" : " ",
                     (int)length, word);
            word += length + strspn(word + length, " ");
        }
    }
    free(all);
    return text;
}

static const char *found(const struct scene *scene, char text[4096])
{
    return found_with(scene, NULL, text);
}

static void of_a_quiet_machine_nothing_is_found(void **state)
{
    struct scene scene;
    char text[4096];

    (void)state;
    quiet(&scene);
    assert_string_equal(found(&scene, text), "");
    /* without records nothing is known, and nothing found */
    memset(&scene.machine.load, 0xff, sizeof(scene.machine.load));
    scene.machine.load.elapsed = 0;
    memset(&scene.processes[0].scheduled, 0, sizeof(scene.processes[0].scheduled));
    scene.communication.cgroup_count = 0;
    assert_string_equal(found(&scene, text), "");
    /* what is not known is nothing large */
    scene.machine.load.elapsed = 10 * S;
    scene.communication.cgroup_count = 1;
    memset(&scene.cgroups[0], 0xff, sizeof(scene.cgroups[0]));
    scene.cgroups[0].machine = 0;
    scene.cgroups[0].name = NULL;
    assert_string_equal(found(&scene, text), "");
}

static void processes_that_waited_for_a_cpu(void **state)
{
    struct scene scene;
    char text[4096];

    (void)state;
    quiet(&scene);
    scene.processes[1].scheduled.runnable = 32 * S / 10;
    assert_string_equal(found(&scene, text), "CPU worker[13] waited 3.20 s of 10.0 s for a CPU: it "
                                             "was runnable, but other tasks ran. The "
                                             "machine had 9.0 runnable tasks on 2 CPUs on average. "
                                             "More CPUs, fewer other tasks or a "
                                             "higher priority may help.");
    /* a limit may be the reason, too */
    scene.cgroups[2].throttled_periods = 92;
    scene.cgroups[2].throttled = S;
    found(&scene, text);
    assert_non_null(strstr(text, "or a CPU limit of a cgroup was used up."));
    /* ... if the process may be in that cgroup, or below it: of v1 that is not known */
    static const struct {
        const char *limited, *of_process;
        uint64_t number;
        bool may_be;
    } places[] = {
        {"/docker/abc", "/docker/abc/x", 9, true},
        {"/docker/abc", "/docker/abcd", 9, false},
        {"/docker/abc", "/docker", 9, false},
        {"/docker/abc", "/docker/other", 9, false},
        {"/docker/abc", NULL, 9, true},
        {"/", "/x", 9, true},
        {NULL, "/docker/other", 9, false},
        {"/docker/abc", "/docker/other", 77, true}, /* the same number */
        {"/docker/abc", "/docker/other", CGROUP_OF_V1 | 9, true},
    };
    scene.processes[1].cgroup = 77;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        scene.processes[1].cgroup_name = places[i].of_process;
        scene.cgroups[2].name = places[i].limited;
        scene.cgroups[2].number = places[i].number;
        found(&scene, text);
        assert_int_equal(strstr(text, "or a CPU limit of a cgroup was used up.") != NULL,
                         places[i].may_be);
    }
    /* at most three, the longest first, also of equal ones */
    quiet(&scene);
    for (size_t i = 0; i < ARRAY_SIZE(scene.processes); i++)
        scene.processes[i].scheduled =
            (struct scheduled){.threads = 4, .elapsed = 40 * S, .runnable = 2 * S};
    scene.processes[4].scheduled.runnable = 3 * S;
    found(&scene, text);
    const char *first =
        strstr(text, "worker[16] waited 3.00 s for a CPU (the sum over its 4 threads, watched for "
                     "40.0 s together): it was runnable");
    assert_non_null(first);
    assert_non_null(strstr(first, "worker[12] waited 2.00 s for a CPU (the sum over its 4 threads, "
                                  "watched for 40.0 s together). worker[13]"));
    assert_non_null(strstr(first, "worker[13] waited 2.00 s"));
    assert_null(strstr(first, "worker[14]"));
    /* half a second is too short to say anything */
    scene.communication.duration = S / 3;
    scene.machine.load.elapsed = S / 3;
    assert_string_equal(found(&scene, text), "");
}

static void cgroups_that_were_throttled(void **state)
{
    struct scene scene;
    char text[4096];

    (void)state;
    quiet(&scene);
    scene.cgroups[0].throttled_periods = 92;
    scene.cgroups[0].throttled = 41 * S / 10;
    assert_string_equal(
        found(&scene, text),
        "Limits /docker/abc used up its CPU limit (0.50 CPUs) in 92% of its periods: "
        "its threads were stopped for 4.10 s in 10.0 s, summed over CPUs. Raise "
        "the limit, or use less CPU time.");
    scene.cgroups[0].throttled = S / 10; /* short stops do not matter */
    assert_string_equal(found(&scene, text), "");
    scene.cgroups[1].oom_kills = 1;
    assert_string_equal(found(&scene, text),
                        "Limits The kernel killed 1 process of /docker/abc for lack of memory. Use "
                        "less memory, or add some.");
    scene.cgroups[1].memory_most = 64 << 20;
    scene.cgroups[1].memory_reclaims = 9;
    scene.cgroups[1].oom_kills = 2;
    scene.cgroups[1].name = NULL;
    scene.cgroups[1].number = 77;
    found(&scene, text);
    assert_non_null(strstr(text, "2 processes of Cgroup 77 for lack of memory (limit 64.0 MiB)."));
}

static void machines_that_were_short_of_something(void **state)
{
    struct scene scene;
    char text[4096];

    (void)state;
    quiet(&scene);
    scene.machine.load.cpu_stolen = 2 * S;
    assert_string_equal(
        found(&scene, text),
        "CPU The machine lost 10% of its CPU time to other virtual machines (stolen "
        "time). Move it to a less busy host, or give it dedicated CPUs.");
    quiet(&scene);
    scene.machine.load.memory_waited = 3 * S;
    assert_string_equal(found(&scene, text),
                        "Memory The machine was short of memory: some task waited for memory 30% "
                        "of the time, and 4.00 KiB were swapped. The least available was 1.00 MiB. "
                        "Use less, or add some.");
    quiet(&scene);
    scene.machine.load.memory_waited = NOT_KNOWN;
    scene.machine.load.swapped_out = 1 << 28;
    found(&scene, text);
    assert_non_null(strstr(text, "was short of memory, and 256 MiB were swapped."));
    quiet(&scene);
    scene.machine.load.disk_waited = 6 * S;
    scene.machine.load.disk_busy = 9 * S;
    scene.machine.load.disk_read = 10 << 20;
    scene.machine.load.disk_written = 20 << 20;
    assert_string_equal(found(&scene, text),
                        "Disks The machine had tasks waiting for a disk 60% "
                        "of the time. Some disk was busy 90% of the "
                        "time (all disks: 1.00 MiB/s read, 2.00 MiB/s written). "
                        "Faster disks, or fewer and larger reads "
                        "and writes would help.");
}

/* Names are the recorded programs', and texts are cut, not overrun. */
static void names_are_made_safe(void **state)
{
    char text[4096], name[NAME_SIZE];
    struct scene scene;

    (void)state;
    quiet(&scene);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    name[0] = '\033';
    scene.cgroups[0].throttled_periods = 92;
    scene.cgroups[0].throttled = UINT64_MAX - 1;
    scene.cgroups[0].quota = UINT64_MAX - 1;
    scene.cgroups[0].period = 1;
    scene.cgroups[0].name = name;
    found(&scene, text);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "used up its CPU limit"));
}

/* Of 1,200,003 requests every seventh is followed: in these a message waited each time, and a JVM stopped for 20 ms in all. They
 * are 0.5% of the recording; all of them 3.5%. */
static void of_many_requests_some_are_followed(void **state)
{
    struct elapsed_row rows[] = {
        {.kind = ELAPSED_QUEUED,
         .time = 30 * S / 1000,
         .count = 171429,
         .pid = 12,
         .process = "worker",
         .call = NO_SYSTEM_CALL,
         .path_kind = PATH_TCP,
         .address = "127.0.0.1:80"},
        {.kind = ELAPSED_VM_STOP,
         .time = 20 * S / 1000,
         .count = 1000,
         .pid = 13,
         .process = "java",
         .call = NO_SYSTEM_CALL,
         .runtime = RUNTIME_JVM},
    };
    struct elapsed elapsed = {
        .requests = {.count = 1200003,
                     .followed = 171429,
                     .median = 100000,
                     .p99 = 300000,
                     .covered = 10 * S,
                     .account = {.time = 50 * S / 1000, .rows = rows, .row_count = 2}}};
    struct scene scene;
    char text[4096];

    (void)state;
    quiet(&scene);
    scene.processes[1].scheduled.runnable = 32 * S / 10; /* no request waited for that */
    found_with(&scene, &elapsed, text);
    const char *first =
        "Time 60% of the time of 1,200,003 requests (median 100 us, p99 300 us): worker[12] did "
        "something else while messages waited for it (tcp 127.0.0.1:80), 1,200,003 times.";
    assert_int_equal(strncmp(text, first, strlen(first)), 0);
    assert_non_null(strstr(text, " 40%: java[13] was stopped by its JVM, to collect garbage or for "
                                 "another safepoint, 7,000 times."));
    assert_non_null(strstr(text, "stopped its other threads for 40% of the time of the requests "
                                 "(140 ms in all)"));
    assert_null(strstr(text, "CPU worker[13] waited"));
    /* all are followed, and are next to none of the recording */
    elapsed.requests.count = elapsed.requests.followed;
    found_with(&scene, &elapsed, text);
    assert_non_null(strstr(text, "waited for it (tcp 127.0.0.1:80), 171,429 times."));
    assert_non_null(strstr(text, "(20.0 ms in all)"));
    assert_non_null(strstr(text, "CPU worker[13] waited"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_summed_up),
        cmocka_unit_test(counters_that_go_back_count_nothing),
        cmocka_unit_test(without_two_summaries_nothing_is_known),
        cmocka_unit_test(recordings_of_one_machine),
        cmocka_unit_test(cgroups_are_summed_up),
        cmocka_unit_test(very_many_cgroups),
        cmocka_unit_test(very_many_decisions),
        cmocka_unit_test(a_new_thread_counts_from_its_birth),
        cmocka_unit_test(an_old_thread_counts_from_its_first_record),
        cmocka_unit_test(one_record_of_an_old_thread_says_nothing),
        cmocka_unit_test(random_threads_are_summed_up),
        cmocka_unit_test(a_wait_goes_on),
        cmocka_unit_test(of_a_quiet_machine_nothing_is_found),
        cmocka_unit_test(processes_that_waited_for_a_cpu),
        cmocka_unit_test(cgroups_that_were_throttled),
        cmocka_unit_test(machines_that_were_short_of_something),
        cmocka_unit_test(names_are_made_safe),
        cmocka_unit_test(of_many_requests_some_are_followed),
    };

    return cmocka_run_group_tests_name("loads", tests, NULL, NULL);
}
