/* SPDX-License-Identifier: MIT */
/*
 * live_waits_test.c: waits of more processes than have rows of their own, whatever a trace says of their ends.
 *
 *      filler 1, 2 ... 8192     a row each
 *      job 1, job 2 ...         end, and share the row "job"
 */
#include "live/live_private.h"

#include "analysis/statistics/process_rows.h"

#include "tapes.h"

#include <time.h>

#define MS        1000000u
#define T0        1000000000u
#define FIRST_JOB (MOST_OWN_ROWS + 1)

struct scene {
    struct tape tape;
    struct history *history;
    struct live *live;
};

static void add_process(struct scene *scene, uint64_t time, uint32_t stream, uint32_t process,
                        const char *name)
{
    struct stream_record record = {
        .header = {.time = time, .id = EVENT_STREAM, .flags = 16, .stream = stream},
        .process = process,
        .pid = process,
        .tid = stream};

    snprintf(record.name, sizeof(record.name), "%s", name);
    tape_add(&scene->tape, &record);
}

/* As many processes as have rows of their own. */
static void begin_scene(struct scene *scene)
{
    *scene = (struct scene){0};
    tape_init(&scene->tape);
    add_machine(&scene->tape, T0, 1, UINT32_MAX);
    for (uint32_t i = 1; i < FIRST_JOB; i++) {
        add_process(scene, T0, i, i, "filler");
        add_event(&scene->tape, T0, EVENT_CREATEPATH, i, 0)->header.proc_time_and_pc = 0;
    }
}

static struct record *at(struct scene *scene, uint32_t ms, enum event_id id, uint32_t stream,
                         uint32_t sequence)
{
    struct record *record = add_event(&scene->tape, T0 + (uint64_t)ms * MS, id, stream, sequence);

    record->header.proc_time_and_pc = 0;
    return record;
}

static void end_at(struct scene *scene, uint32_t ms, uint32_t stream, uint32_t sequence, bool last)
{
    at(scene, ms, EVENT_TERMINATION, stream, sequence)->termination.last = last;
}

/* Reads what was added since, and takes a snapshot. */
static const struct live_snapshot *take(struct scene *scene)
{
    struct source *source = &scene->tape.source;
    struct problem problem = {""};

    if (scene->history == NULL) {
        assert_int_equal(history_new(&source, 1, &scene->history, &problem), 0);
        assert_int_equal(live_new(scene->history, &scene->live), 0);
    }
    const struct analysis analysis = live_analysis(scene->live);
    assert_int_equal(analyses_read_all(scene->history, &analysis, 1, &problem), 0);
    assert_int_equal(live_take(scene->live, 1, 0, true), 0);
    return live_snapshot(scene->live, 0);
}

static void end_scene(struct scene *scene)
{
    live_free(scene->live);
    history_free(scene->history);
    tape_done(&scene->tape);
}

/* The row of a program; what shares a row is in no other. */
static const struct live_row *program(const struct live_snapshot *snapshot, const char *name)
{
    const struct live_rows *rows = &snapshot->tables[LIVE_PROGRAMS];

    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->at[i].name, name) == 0)
            return &rows->at[i];
    fail_msg("no program %s", name);
    return NULL;
}

/* Places in the pool that are free, each once. */
static void check_pool(const struct pool *pool, uint32_t taken)
{
    bool *seen = calloc(pool->used + 1UL, sizeof(*seen));

    assert_non_null(seen);
    assert_int_equal(pool->free_count, pool->used - taken);
    for (uint32_t i = 0; i < pool->free_count; i++) {
        assert_true(pool->free[i] < pool->used && !seen[pool->free[i]]);
        seen[pool->free[i]] = true;
    }
    free(seen);
}

/* Each of three threads says that it is the last one. */
static void test_every_thread_is_the_last(void **context)
{
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t first = FIRST_JOB + 3 * i;
        for (uint32_t thread = 0; thread < 3; thread++) {
            add_process(&scene, T0, first + thread, first, "job");
            add_event(&scene.tape, T0, EVENT_CREATEPATH, first + thread, 0);
        }
    }
    for (uint32_t i = 0; i < 3000; i++)
        end_at(&scene, 10, FIRST_JOB + i, 1, true);
    for (uint32_t i = 1; i < FIRST_JOB; i++) { /* those that keep their rows, too, and twice */
        end_at(&scene, 20, i, 1, true);
        end_at(&scene, 20, i, 2, true);
    }
    const struct live_snapshot *snapshot = take(&scene);
    assert_int_equal(program(snapshot, "job")->so_far[LIVE_LIVING], 0);
    assert_int_equal(program(snapshot, "job")->so_far[LIVE_PROCESS_COUNT], 1000);
    check_pool(&scene.live->waits.processes, MOST_OWN_ROWS + 1); /* the sum of the jobs */
    end_scene(&scene);
}

/* It ended by the word of one thread, and another one goes on. */
static void test_a_thread_outlives_its_process(void **context)
{
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    add_process(&scene, T0, FIRST_JOB, FIRST_JOB, "job");
    add_process(&scene, T0, FIRST_JOB + 1, FIRST_JOB, "job");
    add_event(&scene.tape, T0, EVENT_CREATEPATH, FIRST_JOB, 0)->header.proc_time_and_pc = 0;
    add_event(&scene.tape, T0, EVENT_CREATEPATH, FIRST_JOB + 1, 0)->header.proc_time_and_pc = 0;
    end_at(&scene, 10, FIRST_JOB, 1, true);
    for (uint32_t i = 2; i < 100; i++) { /* others, which need the memory of those that end */
        add_process(&scene, T0 + 11 * MS, FIRST_JOB + i, FIRST_JOB + i, "other");
        at(&scene, 11, EVENT_CREATEPATH, FIRST_JOB + i, 0);
        end_at(&scene, 11, FIRST_JOB + i, 1, true);
    }
    struct record *block = at(&scene, 40, EVENT_BLOCK, FIRST_JOB + 1, 1);
    block->block.duration = 30 * (uint64_t)MS;
    const struct live_snapshot *snapshot = take(&scene);
    assert_int_equal(program(snapshot, "job")->so_far[LIVE_THREADS], 1);
    assert_int_equal(program(snapshot, "job")->so_far[LIVE_LIVING], 0);
    assert_int_equal(program(snapshot, "other")->so_far[LIVE_THREADS], 0);
    check_pool(&scene.live->waits.processes, MOST_OWN_ROWS + 2); /* the job, the sum of others */
    end_scene(&scene);
}

/* Programs beyond those that have shared rows are not the first of them. */
static void test_too_many_programs(void **context)
{
    const uint32_t late = FIRST_JOB + MOST_SHARED_ROWS;
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    for (uint32_t i = 0; i < MOST_SHARED_ROWS + 2; i++) {
        char name[STREAM_NAME_SIZE];
        snprintf(name, sizeof(name), "%s%u", FIRST_JOB + i < late ? "p" : "late", i);
        add_process(&scene, T0, FIRST_JOB + i, FIRST_JOB + i, name);
        at(&scene, 0, EVENT_CREATEPATH, FIRST_JOB + i, 0);
    }
    for (uint32_t i = 0; i < MOST_SHARED_ROWS + 2; i++)
        end_at(&scene, 10, FIRST_JOB + i, 1, true);
    const struct live_snapshot *snapshot = take(&scene);
    assert_int_equal(program(snapshot, "others")->so_far[LIVE_PROCESS_COUNT], 2);
    assert_int_equal(program(snapshot, "p0")->so_far[LIVE_PROCESS_COUNT], 1);
    end_scene(&scene);
}

static uint64_t all_waits(const uint64_t *values)
{
    uint64_t sum = 0;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        sum += values[LIVE_WAITS + kind];
    return sum;
}

/* Each job waits 30 ms for something, and 10 ms for a CPU. */
static void test_waits_share_a_row(void **context)
{
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    for (uint32_t job = 0; job < 20; job++) {
        uint32_t stream = FIRST_JOB + job;
        add_process(&scene, T0, stream, stream, "job");
        add_event(&scene.tape, T0, EVENT_CREATEPATH, stream, 0)->header.proc_time_and_pc = 0;
    }
    for (uint32_t job = 0; job < 20; job++)
        at(&scene, 40, EVENT_BLOCK, FIRST_JOB + job, 1)->block.duration = 30 * (uint64_t)MS;
    for (uint32_t job = 0; job < 15; job++)
        end_at(&scene, 40, FIRST_JOB + job, 2, true);
    const struct live_row *row = program(take(&scene), "job");
    assert_int_equal(all_waits(row->so_far), 20u * 40 * MS);
    assert_int_equal(all_waits(row->interval), 20u * 40 * MS);
    assert_int_equal(row->so_far[LIVE_WAITS + ELAPSED_NO_CPU], 20u * 10 * MS);
    assert_int_equal(row->so_far[LIVE_LIVING], 5);
    assert_int_equal(row->so_far[LIVE_THREADS], 5);
    end_scene(&scene);
}

/* A poll has timed out; another thread then ends a wait in another call. */
static void test_a_poll_before_another_wait(void **context)
{
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    add_process(&scene, T0, FIRST_JOB, FIRST_JOB, "job");
    at(&scene, 0, EVENT_CREATEPATH, FIRST_JOB, 0);
    struct record *poll = at(&scene, 0, EVENT_RECEIVECALL, FIRST_JOB, 1);
    poll->any.system_call = 7;
    poll->any.limit = 30; /* ms */
    at(&scene, 50, EVENT_WAKEUP, 1, 1)->wakeup.woken = FIRST_JOB;
    struct record *block = at(&scene, 50, EVENT_BLOCK, FIRST_JOB, 2);
    block->block.system_call = 202; /* futex */
    block->block.state = 1;
    block->block.duration = 20 * (uint64_t)MS;
    const struct live_row *row = program(take(&scene), "job");
    assert_int_equal(row->so_far[LIVE_WAITS + ELAPSED_TIMER], 30u * MS);
    assert_int_equal(row->so_far[LIVE_WAITS + ELAPSED_LOCK], 20u * MS);
    end_scene(&scene);
}

/* An end was used by a process that has gone; another one has its memory. */
static void test_nobody_waits_for_the_next_one(void **context)
{
    enum { CLIENT = 1, SERVER = FIRST_JOB, NEXT };
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    add_unix(&scene.tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    add_unix(&scene.tape, T0, 2, PATH_UNIX_STREAM, 6, 5);
    add_process(&scene, T0, SERVER, SERVER, "server");
    add_message(&scene.tape, T0, EVENT_SEND, SERVER, 0, 2, 0, 10);
    add_message(&scene.tape, T0, EVENT_RECEIVE, CLIENT, 1, 1, 0, 10);
    end_at(&scene, 10, SERVER, 1, true);
    add_process(&scene, T0 + 10 * MS, NEXT, NEXT, "next");
    at(&scene, 10, EVENT_CREATEPATH, NEXT, 0);
    at(&scene, 20, EVENT_RECEIVECALL, CLIENT, 2)->message.path = 1;
    at(&scene, 90, EVENT_CREATEPATH, NEXT, 1);
    const struct live_snapshot *snapshot = take(&scene);
    assert_int_equal(program(snapshot, "next")->so_far[LIVE_WAITED_FOR], 0);
    assert_int_equal(all_waits(program(snapshot, "filler")->so_far), 70u * MS + 20u * MS);
    end_scene(&scene);
}

/* No record is made while a client waits for a server that hangs. */
static void test_a_wait_goes_on_without_records(void **context)
{
    const struct timespec a_moment = {.tv_nsec = 2 * MS};
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    add_unix(&scene.tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    at(&scene, 20, EVENT_RECEIVECALL, 1, 1)->message.path = 1;
    assert_int_equal(all_waits(program(take(&scene), "filler")->interval), 20u * MS); /* no CPU */
    /* all records up to then have come */
    assert_int_equal(live_take(scene.live, 1, T0 + 520 * (uint64_t)MS, false), 0);
    const struct live_snapshot *snapshot = live_snapshot(scene.live, 0);
    assert_false(snapshot->stands);
    assert_int_equal(snapshot->length, 500u * MS);
    assert_int_equal(all_waits(program(snapshot, "filler")->interval), 500u * MS);
    /* how far they have come is not known */
    nanosleep(&a_moment, NULL);
    assert_int_equal(live_take(scene.live, 1, 0, false), 0);
    snapshot = live_snapshot(scene.live, 0);
    assert_true(snapshot->stands);
    assert_int_equal(all_waits(program(snapshot, "filler")->interval), 0);
    end_scene(&scene);
}

/* A recorder that writes SUMMARYs has not written for long: what its threads do is not known. */
static void test_a_recorder_that_is_gone(void **context)
{
    const struct summary_record summary = {
        .header = {.time = T0, .id = EVENT_SUMMARY, .flags = 16}};
    const uint64_t begin = T0 + 20u * MS, second = 1000u * MS;
    struct scene scene;

    (void)context;
    begin_scene(&scene);
    add_unix(&scene.tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    tape_add(&scene.tape, &summary);
    at(&scene, 20, EVENT_RECEIVECALL, 1, 1)->message.path = 1;
    take(&scene);
    assert_int_equal(live_take(scene.live, 1, begin + 10 * second, false), 0);
    assert_int_equal(all_waits(program(live_snapshot(scene.live, 0), "filler")->interval),
                     10 * second);
    assert_int_equal(live_take(scene.live, 1, begin + 30 * second, false), 0);
    assert_int_equal(all_waits(program(live_snapshot(scene.live, 0), "filler")->interval), 0);
    assert_int_equal(all_waits(program(live_snapshot(scene.live, 0), "filler")->so_far),
                     20u * MS + 10 * second);
    end_scene(&scene);
}

/* Of a machine whose clock is behind, records come all the time. */
static void test_a_clock_that_is_behind(void **context)
{
    const struct summary_record summary = {
        .header = {.time = T0, .id = EVENT_SUMMARY, .flags = 16}};
    struct scene scenes[2] = {0};
    struct source *sources[] = {&scenes[0].tape.source, &scenes[1].tape.source};
    struct problem problem = {""};
    const struct live_row *waiter = NULL;

    (void)context;
    for (uint8_t i = 0; i < 2; i++) {
        tape_init(&scenes[i].tape);
        add_machine(&scenes[i].tape, T0, 1 + i, UINT32_MAX);
        add_process(&scenes[i], T0, 1, 1, i == 0 ? "other" : "waiter");
    }
    at(&scenes[0], 60000, EVENT_CREATEPATH, 1, 0);
    add_unix(&scenes[1].tape, T0, 1, PATH_UNIX_STREAM, 5, 6);
    tape_add(&scenes[1].tape, &summary);
    at(&scenes[1], 10, EVENT_CREATEPATH, 1, 0);
    at(&scenes[1], 20, EVENT_RECEIVECALL, 1, 1)->message.path = 1;
    assert_int_equal(history_new(sources, 2, &scenes[0].history, &problem), 0);
    assert_int_equal(live_new(scenes[0].history, &scenes[0].live), 0);
    const struct analysis analysis = live_analysis(scenes[0].live);
    assert_int_equal(analyses_read_all(scenes[0].history, &analysis, 1, &problem), 0);
    assert_int_equal(live_take(scenes[0].live, 2, 0, false), 0);
    const struct live_rows *rows = &live_snapshot(scenes[0].live, 0)->tables[LIVE_PROGRAMS];
    for (size_t i = 0; i < rows->count; i++)
        if (strncmp(rows->at[i].name, "waiter", strlen("waiter")) == 0)
            waiter = &rows->at[i];
    assert_non_null(waiter);
    assert_true(all_waits(waiter->interval) > 50000 * (uint64_t)MS);
    end_scene(&scenes[0]);
    tape_done(&scenes[1].tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_thread_is_the_last),
        cmocka_unit_test(test_a_thread_outlives_its_process),
        cmocka_unit_test(test_too_many_programs),
        cmocka_unit_test(test_waits_share_a_row),
        cmocka_unit_test(test_a_poll_before_another_wait),
        cmocka_unit_test(test_nobody_waits_for_the_next_one),
        cmocka_unit_test(test_a_wait_goes_on_without_records),
        cmocka_unit_test(test_a_recorder_that_is_gone),
        cmocka_unit_test(test_a_clock_that_is_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
