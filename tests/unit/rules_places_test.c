/* SPDX-License-Identifier: MIT */
/*
 * rules_places_test.c: selection rules have the same effect wherever they run:
 *
 *      random records --+-- recorder ------------> trace of all --+-- naive evaluator --> events
 *        (a meter)      |                                         '-- filter_trace -----> trace    all equal
 *                       |-- recorder with rules -----------------------------------------> trace
 *                       |                 '-- live history --> counts, as of that trace
 *                       '-- kernel's part of the rules --> recorder with rules ----------> trace
 *
 * The kernel's part is judged twice if this user may load kernel programs: by the function here, and by the same one as a
 * program in the kernel (selection_run.bpf.c). The recorder lags behind it by a random number of records.
 */
#include "filter/filter.h"
#include "recorder/recorder.h"
#include "rules_world.h"

#include "base/folder.h"
#include "meter/shared/kernel_selection.h"

#include "selection_run.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define RULES_OF_ROUND 5
#define RECORDS        500

static char scratch[] = "/tmp/rules_places_XXXXXX";

/* ---- the kernel's part ---- */

static struct selection_run *kernel; /* NULL: it cannot run here */
static struct selection *shared;     /* with it; else memory of our own */
static unsigned dropped, judged;     /* of all rounds */

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

static void open_kernel(void)
{
    libbpf_set_print(quiet);
    kernel = selection_run__open_and_load();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  kernel == NULL ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                  kernel == NULL ? -1 : bpf_map__fd(kernel->maps.selections), 0);
    assert_true(shared != MAP_FAILED);
    if (kernel == NULL)
        printf("# the verdict is not tried in the kernel: %s\n", strerror(errno));
}

static void close_kernel(void)
{
    munmap(shared, sizeof(*shared));
    selection_run__destroy(kernel);
}

static bool may_accept(const struct selection_record *record)
{
    struct selection_record given = *record;
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &given, .ctx_size_in = sizeof(given));
    bool here = selection_may_accept(shared, record);

    if (kernel != NULL) {
        assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(kernel->progs.judge), &options), 0);
        assert_int_equal(options.retval, here);
    }
    return here;
}

/* ---- a meter ---- */

#define LAG_MOST 16u

struct fake {
    struct meter_interface meter;
    struct world world;
    unsigned next;
    /* made, and not read yet */
    union world_record queue[LAG_MOST];
    unsigned first, count;
    bool waits; /* the recorder must have read all of these before anything else happens */
    uint32_t versions[WORLD_STREAMS];
    union world_record record;
    uint64_t seed; /* of the lag */
    bool detached;
};

/* The types that the kernel meter judges. */
static bool is_judged(unsigned id)
{
    return id <= EVENT_BLOCK || id == EVENT_CONNECT || id == EVENT_SCHEDULE;
}

static bool is_dropped(const struct fake *fake, const struct record *record)
{
    struct selection_record given = {
        .id = record->header.id,
        .stream = record_is_of_stream(&record->header) ? record->header.stream : 0,
    };

    if (fake->meter.selection == NULL || !is_judged(given.id))
        return false;
    given.version = given.stream == 0 ? 0 : fake->versions[given.stream];
    memcpy(&given.first, &record->message, 2 * sizeof(uint64_t));
    /* it takes these when it makes the record, and so does not know them yet */
    if (given.id < EVENT_MESSAGEQUEUED || given.id == EVENT_CONNECT)
        given.second = (uint32_t)given.second;
    judged++;
    bool drops = !may_accept(&given);
    dropped += drops;
    *selection_counter(shared, 0, given.id) += drops;
    return drops;
}

/* What a change of these means for other threads and for paths takes effect once the recorder has read it. */
static bool is_awaited(const union world_record *record)
{
    return record->header.id == EVENT_PATH || record->header.id == EVENT_NAME ||
           (record->header.id == EVENT_STREAM && record->header.stream % 2 != 0);
}

static void make_one(struct fake *fake)
{
    union world_record *record = &fake->queue[(fake->first + fake->count) % LAG_MOST];

    world_make(&fake->world, fake->next++, record);
    if (record->header.id == EVENT_STREAM)
        record->header.sequence = ++fake->versions[record->header.stream];
    fake->waits = is_awaited(record);
    if (!rules_decide_about(record->header.id) || !is_dropped(fake, &record->event))
        fake->count++;
}

static int fake_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                     struct problem *problem)
{
    struct fake *fake = (struct fake *)source;
    unsigned lag = 1 + (unsigned)random_below(&fake->seed, LAG_MOST);

    (void)problem;
    if (fake->count == 0)
        fake->waits = false;
    while (fake->next < RECORDS && fake->count < lag && !fake->waits)
        make_one(fake);
    if (fake->count == 0 && fake->next == RECORDS) {
        *ret_complete = fake->world.time;
        return fake->detached ? SOURCE_END : SOURCE_NONE_YET;
    }
    if (fake->count == 0)
        return fake_next(source, ret_event, ret_complete, problem);
    fake->record = fake->queue[fake->first];
    fake->first = (fake->first + 1) % LAG_MOST;
    fake->count--;
    *ret_event = (struct event){.header = &fake->record.header, .wall_offset = 1000000};
    return SOURCE_RECORD;
}

static uint64_t fake_lost(const struct meter_interface *meter, enum ring_id ring)
{
    (void)meter;
    (void)ring;
    return 0;
}

static void fake_detach(struct meter_interface *meter)
{
    ((struct fake *)meter)->detached = true;
}

static void fake_close(struct meter_interface *meter)
{
    (void)meter;
}

static void fake_open(struct fake *fake, uint64_t seed, bool selects)
{
    *fake = (struct fake){
        .meter = {.source = {.next = fake_next, .origins = 1, .states = &fake->meter.state},
                  .kinds = METER_ALL_KINDS,
                  .selection = selects ? shared : NULL,
                  .descriptor = -1,
                  .lost = fake_lost,
                  .stop = fake_detach,
                  .detach = fake_detach,
                  .close = fake_close},
        .world = {.seed = seed, .time = clock_now(CLOCK_MONOTONIC) + 60000000000},
        .next = 1, /* MACHINE is the recorder's */
        .seed = seed,
    };
}

/* ---- recording ---- */

static void must(int result, const struct problem *problem)
{
    if (result < 0)
        fail_msg("%s", problem->text);
}

/* Records the world of this seed into a trace, and returns what a live history counts. */
static struct history_counts record(uint64_t seed, const char *trace, const struct rules *rules,
                                    bool in_kernel)
{
    const struct recording_options options = {
        .trace = trace,
        .max_size = 64 << 20,
        .meter.options.flags = METER_EVENT_FLAGS & ~EVENT_FLAG(EVENT_SUMMARY),
        .rules = rules,
    };
    struct fake fake;
    struct recording recording = {.options = &options, .meter = &fake.meter};
    struct history *history;
    struct history_counts counts;
    struct problem problem;
    int result;

    fake_open(&fake, seed, in_kernel);
    memset(shared, 0, sizeof(*shared));
    must(recording_open(&recording, "world", 1, &problem), &problem);
    must(recording_follow(&recording, &history, &problem), &problem);
    recording_begin(&recording);
    must(recording_step(&recording, &problem), &problem);
    must(recording_end(&recording, &problem), &problem);
    while ((result = recording_analyse(&recording, NULL, 0, &problem)) == SOURCE_NONE_YET)
        ;
    must(result, &problem);
    history_counts(history, &counts);
    recording_close(&recording);
    return counts;
}

/* ---- what is in a trace ---- */

struct selected {
    struct record record;
    uint64_t absent;
};

struct list {
    struct selected at[RECORDS];
    unsigned count;
    uint64_t discarded[RING_COUNT][WORLD_STREAMS];
};

static void read_trace(const char *trace, struct list *list)
{
    struct source *source;
    struct event event;
    uint64_t complete;
    struct problem problem;
    int result;

    memset(list, 0, sizeof(*list));
    must(trace_open(&trace, 1, &source, &problem), &problem);
    while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD) {
        const struct record *record = (const struct record *)event.header;
        if (rules_decide_about(record->header.id)) {
            assert_true(list->count < RECORDS);
            list->at[list->count++] = (struct selected){*record, event.absent};
        }
        if (record->header.id == EVENT_DISCARDED) {
            uint32_t stream = record->header.flags & RECORD_NO_STREAM ? 0 : record->header.stream;
            assert_true(stream < WORLD_STREAMS && record->lost.ring < RING_COUNT);
            list->discarded[record->lost.ring][stream] += record->lost.count;
        }
    }
    must(result, &problem);
    assert_true(source_is_whole(&source->states[0]));
    trace_close(source);
}

/* The same list, by the naive evaluator, from the trace of all. */
static void select_naively(const char *trace, const struct naive_rule *rules, unsigned count,
                           struct list *list)
{
    struct world known = {0};
    struct source *source;
    struct event event;
    uint64_t complete;
    struct problem problem;

    memset(list, 0, sizeof(*list));
    must(trace_open(&trace, 1, &source, &problem), &problem);
    while (source->next(source, &event, &complete, &problem) == SOURCE_RECORD) {
        const struct record *record = (const struct record *)event.header;
        uint64_t absent = 0;
        world_note(&known, event.header);
        if (!rules_decide_about(record->header.id))
            continue;
        if (count == 0 || naive_judge(&known, rules, count, record, &absent) >= 0) {
            list->at[list->count++] = (struct selected){*record, absent};
            continue;
        }
        uint32_t stream = record->header.flags & RECORD_NO_STREAM ? 0 : record->header.stream;
        list->discarded[event_type(record->header.id)->ring][stream]++;
    }
    trace_close(source);
}

/* Removed fields are 0 in a trace, and their bits say that they are nothing. */
static void clear_removed(struct selected *one)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        const struct event_field *field =
            one->absent >> bit & 1 ? event_absent_field(event_type(one->record.header.id), bit)
                                   : NULL;
        if (field != NULL)
            memset((char *)&one->record + field->offset, 0, field->size);
    }
}

/* `later`: two recordings of the same world do not begin at one moment. */
static void check_equal(const char *what, struct list *expected, const struct list *found,
                        uint64_t later, const char *text)
{
    if (expected->count != found->count)
        fail_msg("%s: %u events, not %u; rules:\n%s", what, found->count, expected->count, text);
    for (unsigned i = 0; i < expected->count; i++) {
        struct selected one = expected->at[i];
        one.record.header.time += later;
        clear_removed(&one);
        if (memcmp(&one, &found->at[i], sizeof(one)) != 0)
            fail_msg("%s: event %u differs; rules:\n%s", what, i, text);
    }
    if (memcmp(expected->discarded, found->discarded, sizeof(found->discarded)) != 0)
        fail_msg("%s: other numbers of removed events; rules:\n%s", what, text);
}

static struct history_counts count_trace(const char *trace)
{
    struct source *source;
    struct history *history;
    struct history_event event;
    struct history_counts counts;
    struct problem problem;
    int result;

    must(trace_open(&trace, 1, &source, &problem), &problem);
    must(history_new(&source, 1, &history, &problem), &problem);
    while ((result = history_next(history, &event, &problem)) == SOURCE_RECORD)
        ;
    must(result, &problem);
    history_counts(history, &counts);
    history_free(history);
    trace_close(source);
    return counts;
}

/* Of each, all but `events`: a trace has COSTs that a live history has not. */
static void check_counts(struct history_counts live, struct history_counts stored, const char *text)
{
    const uint64_t a[] = {
        live.exact,      live.ordered,         live.inferred,           live.external,
        live.unselected, live.unmatched_sends, live.unmatched_receives, live.discarded};
    const uint64_t b[] = {
        stored.exact,      stored.ordered,         stored.inferred,           stored.external,
        stored.unselected, stored.unmatched_sends, stored.unmatched_receives, stored.discarded};

    for (size_t i = 0; i < ARRAY_SIZE(a); i++)
        if (a[i] != b[i])
            fail_msg("count %zu is %" PRIu64 " live, %" PRIu64 " of the trace; rules:\n%s", i, a[i],
                     b[i], text);
}

/* ---- rounds ---- */

static uint64_t count_discarded(const struct list *list, enum ring_id ring)
{
    uint64_t count = 0;

    for (unsigned stream = 0; stream < WORLD_STREAMS; stream++)
        count += list->discarded[ring][stream];
    return count;
}

static uint64_t first_time(const struct list *list)
{
    return list->count == 0 ? 0 : list->at[0].record.header.time;
}

static void run_round(uint64_t seed, unsigned number)
{
    static struct list all, naive, offline, live, kernel_first;
    struct world world = {.seed = seed};
    struct naive_rule rules_of_round[RULES_OF_ROUND];
    unsigned count = (unsigned)world_below(&world, RULES_OF_ROUND + 1);
    char text[4096] = "", *end = text, names[4][100];
    struct filter_trace_result result;
    struct problem problem;
    struct rules *rules;

    for (unsigned i = 0; i < count; i++) {
        do
            naive_make_rule(&world, &rules_of_round[i]);
        while (rules_of_round[i].conditions[0].field == N_TIME); /* the clock's */
        for (unsigned j = 0; j < rules_of_round[i].count; j++)
            if (rules_of_round[i].conditions[j].field == N_TIME)
                rules_of_round[i].conditions[j].relation = O_ANY;
        end = naive_text(&world, &rules_of_round[i], end);
    }
    must(rules_parse("r", text, strlen(text), &rules, &problem), &problem);
    for (unsigned i = 0; i < 4; i++)
        snprintf(names[i], sizeof(names[i]), "%s/%u.%u", scratch, number, i);
    record(seed + 1, names[0], NULL, false);
    const struct history_counts counts = record(seed + 1, names[1], rules, false);
    record(seed + 1, names[3], rules, true);
    must(filter_trace(names[0], rules, names[2], &result, &problem), &problem);
    select_naively(names[0], rules_of_round, count, &naive);
    select_naively(names[0], NULL, 0, &all);
    read_trace(names[1], &live);
    read_trace(names[2], &offline);
    check_equal("offline", &naive, &offline, 0, text);
    check_equal("live", &naive, &live, first_time(&live) - first_time(&naive), text);
    read_trace(names[3], &kernel_first);
    uint64_t later = first_time(&kernel_first) - first_time(&naive);
    /* the kernel counts what it drops for no stream, but by ring */
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        assert_int_equal(count_discarded(&kernel_first, ring), count_discarded(&naive, ring));
    memcpy(kernel_first.discarded, naive.discarded, sizeof(naive.discarded));
    check_equal("the kernel and live", &naive, &kernel_first, later, text);
    assert_int_equal(result.counts.selected, naive.count);
    assert_int_equal(result.counts.unselected, all.count - naive.count);
    check_counts(counts, count_trace(names[1]), text);
    check_counts(counts, count_trace(names[2]), text);
    rules_free(rules);
}

static void every_place_selects_the_same(void **state)
{
    uint64_t seed = seed_of_run("rules_places"), rounds = rounds_of_run(60);

    (void)state;
    for (unsigned i = 0; i < rounds; i++)
        run_round(random_number(&seed), i);
    /* it is not the recorder alone that selects */
    printf("# the kernel's part dropped %u of %u records\n", dropped, judged);
    assert_true(dropped > judged / 10);
}

/* Of rules on the process of a thread that is known before the first one: from then on it has that one's name. */
static void a_first_thread_comes_late(void **state)
{
    (void)state;
    run_round(16343729402800650036u, 1000);
}

static int make_scratch(void **state)
{
    (void)state;
    open_kernel();
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int remove_scratch(void **state)
{
    (void)state;
    close_kernel();
    folder_remove(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_thread_comes_late),
        cmocka_unit_test(every_place_selects_the_same),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
