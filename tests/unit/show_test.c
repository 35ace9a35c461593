/* SPDX-License-Identifier: MIT */
/*
 * show_test.c: units, safe text, tables, and JSON with exactly the right keys.
 *
 * Output goes to memory and is read back: JSON by jansson, tables line by line.
 */
#include "show/show.h"
#include "show/text/matching_face.h"

#include "seeded.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

static uint64_t seed;

static unsigned pick(unsigned count)
{
    return (unsigned)random_below(&seed, count);
}

/* ---- units and text ---- */

static void writes_units(void **state)
{
    static const struct {
        void (*show)(uint64_t value, char text[UNIT_SIZE]);
        uint64_t value;
        const char *text;
    } cases[] = {
        {show_bytes, 0, "0 B"},
        {show_bytes, 1023, "1023 B"},
        {show_bytes, 1024, "1.00 KiB"},
        {show_bytes, 10230, "9.99 KiB"},
        {show_bytes, 10239, "10.0 KiB"},
        {show_bytes, 102390, "100 KiB"},
        {show_bytes, 1048575, "1.00 MiB"},
        {show_bytes, 5ULL << 30, "5.00 GiB"},
        {show_bytes, UINT64_MAX, "16.0 EiB"},
        {show_duration, 0, "0 ns"},
        {show_duration, 999, "999 ns"},
        {show_duration, 1000, "1.00 us"},
        {show_duration, 999499, "999 us"},
        {show_duration, 999500, "1.00 ms"},
        {show_duration, 123456789, "123 ms"},
        {show_duration, 1500000000, "1.50 s"},
        {show_duration, 119499999999, "119 s"},
        {show_duration, 119500000000, "2 min 00 s"},
        {show_duration, 7199999500000, "2 h 00 min"},
        {show_duration, 125000000000, "2 min 05 s"},
        {show_duration, 7500000000000, "2 h 05 min"},
        {show_duration, UINT64_MAX, "5124095 h 35 min"},
        {show_count, 0, "0"},
        {show_count, 999, "999"},
        {show_count, 1000, "1,000"},
        {show_count, 123456, "123,456"},
        {show_count, UINT64_MAX, "18,446,744,073,709,551,615"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[UNIT_SIZE];
        cases[i].show(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
    static const struct {
        uint64_t count;
        const char *word, *text;
    } counted[] = {
        {0, "request", "0 requests"},        {1, "request", "1 request"},
        {1234, "message", "1,234 messages"}, {1, "process", "1 process"},
        {2, "process", "2 processes"},       {1, "reply", "1 reply"},
        {2, "reply", "2 replies"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
        char words[COUNTED_SIZE];
        show_counted(counted[i].count, counted[i].word, words);
        assert_string_equal(words, counted[i].text);
    }
}

static void replaces_what_is_no_text(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"plain [x] \"y\" \\", "plain [x] \"y\" \\"},
        {"\x1b[1m\n\t\x7f", "?[1m???"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"caf\xc3", "caf?"},      /* cut in the middle */
        {"\xc2\x9b[1m", "??[1m"}, /* a control character of 8 bits */
        {"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", "?? ??? ????"}, /* overlong */
        {"\xed\xa0\x80", "???"},                                   /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "????"},                              /* above U+10FFFF */
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6\xe2\x81\xa9",
         "a???b??????"},                                          /* direction of writing */
        {"\xe2\x80\xa8\xe2\x80\xa9", "??????"},                   /* ends of lines */
        {"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"}, /* their neighbours */
        {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[64];
        show_text(cases[i].from, strlen(cases[i].from), text);
        assert_string_equal(text, cases[i].to);
    }
    char text[4];
    show_text("abcdef", 3, text);
    assert_string_equal(text, "abc");
}

/* jansson accepts only valid UTF-8: the second opinion. */
static void any_bytes_become_text(void **state)
{
    (void)state;
    seed = seed_of_run("text");
    for (unsigned round = 0; round < 20000; round++) {
        static const unsigned char often[] = {0xc2, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0x80, 0x90, 0xa0};
        char from[12];
        char to[13];
        for (size_t i = 0; i < sizeof(from); i++)
            from[i] = (char)(pick(2) ? often[pick(sizeof(often))] : pick(256));
        show_text(from, sizeof(from), to);
        json_t *string = json_string(to);
        assert_non_null(string);
        json_decref(string);
        for (size_t i = 0; to[i] != '\0'; i++)
            assert_true((unsigned char)to[i] >= 0x20 && to[i] != 0x7f);
        assert_true(strlen(to) <= strnlen(from, sizeof(from)));
    }
}

/* ---- a result to show ---- */

#define MANY 130

struct result {
    struct communication communication;
    struct communication_process processes[MANY];
    struct communication_pair pairs[MANY];
    struct communication_path paths[MANY];
    struct communication_machine machines[1];
    uint32_t indexes[MANY];
};

/* `count` processes, each of which sent i bytes to the next one over its own path. */
static struct result *make_result(uint32_t count)
{
    struct result *result = calloc(1, sizeof(*result));

    assert_non_null(result);
    result->communication = (struct communication){
        .processes = result->processes,
        .process_count = count,
        .pairs = result->pairs,
        .pair_count = count,
        .paths = result->paths,
        .path_count = count,
        .machines = result->machines,
        .machine_count = 1,
        .traces = 1,
        .events = 1234567,
        .lost = 3,
        .duration = 1500000000,
    };
    strcpy(result->machines[0].name, "host");
    for (uint32_t i = 0; i < count; i++) {
        struct traffic sent = {1, i};
        result->indexes[i] = i;
        result->processes[i] = (struct communication_process){
            .pid = 100 + i, .parent = i == 0 ? NO_PROCESS : 0, .cpu = i, .sent = sent};
        snprintf(result->processes[i].name, STREAM_NAME_SIZE, "p%u", i);
        /* Most bytes first, as the analysis sorts them. */
        uint32_t from = count - 1 - i;
        result->pairs[i] = (struct communication_pair){
            .from = {&result->indexes[from], 1, NULL},
            .to = {NULL, 0, "10.0.0.9:80"},
            .sent = {1, from},
        };
        result->paths[i] = (struct communication_path){
            .kind = PATH_TCP,
            .local = (char *)"10.0.0.1:1",
            .remote = (char *)"10.0.0.9:80",
            .ends = {{&result->indexes[from], 1, NULL}, {NULL, 0, NULL}},
            .sent = {1, from},
        };
    }
    return result;
}

static char *shown(const struct result *result, struct show_options options)
{
    /* static: their addresses are in the file, so gcc 12 takes the text itself for a pointer to them. */
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(show_statistics(&result->communication, file, &options), 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static unsigned count_lines_with(const char *text, const char *part)
{
    unsigned count = 0;

    for (const char *line = text; *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        const char *found = strstr(line, part);
        count += found != NULL && found < end;
        line = *end == '\0' ? end : end + 1;
    }
    return count;
}

static void tables_have_a_heading_and_titles(void **state)
{
    struct result *result = make_result(2);
    char *text = shown(result, (struct show_options){0});

    (void)state;
    assert_memory_equal(
        text, "1 trace, machine host, 1.50 s, 1,234,567 events, 3 lost, not complete\n", 70);
    assert_int_equal(count_lines_with(text, "Processes"), 1);
    assert_int_equal(count_lines_with(text, "Who sent to whom"), 1);
    assert_int_equal(count_lines_with(text, "Connections"), 1);
    assert_int_equal(count_lines_with(text, "MACHINE"), 0); /* there is only one */
    assert_int_equal(count_lines_with(text, "p1[101] 10.0.0.9:80"), 1);
    assert_int_equal(count_lines_with(text, "p1[101] 10.0.0.1:1"), 1);
    assert_null(strchr(text, '\033')); /* no colour: not a terminal */
    free(text);
    free(result);
}

/* 130 rows: the 30 smallest, of 0 + 1 + ... + 29 = 435 bytes, become one. */
static void the_smallest_rows_become_others(void **state)
{
    struct result *result = make_result(MANY);
    char *text = shown(result, (struct show_options){0});

    (void)state;
    assert_int_equal(count_lines_with(text, "others (30)"), 3);
    assert_int_equal(count_lines_with(text, "435 B"), 3);
    assert_int_equal(count_lines_with(text, "p30[130] "), 2);
    assert_int_equal(count_lines_with(text, "p29[129] "), 0);
    free(text);
    text = shown(result, (struct show_options){.all = true});
    assert_int_equal(count_lines_with(text, "others"), 0);
    assert_int_equal(count_lines_with(text, "p29[129] "), 2);
    free(text);
    free(result);
}

static void expect_in(const struct result *result, const char *part, unsigned lines)
{
    char *text = shown(result, (struct show_options){0});

    assert_int_equal(count_lines_with(text, part), lines);
    free(text);
}

static void what_is_left_out_once_is_told(void **state)
{
    struct result *result = make_result(2);
    struct communication *communication = &result->communication;

    (void)state;
    communication->unknown_streams = communication->unknown_paths = 1;
    communication->cgroups_left_out = communication->decisions_left_out = 1;
    communication->kinds_left_out = METER_PIPE;
    expect_in(result, "1 message of threads whose identity was lost: counted for processes named",
              1);
    expect_in(result,
              "1 message of connections whose identity was lost: counted for the processes only.",
              1);
    expect_in(result, "1 record of cgroups left out: only the first 4,096 cgroups have rows.", 1);
    expect_in(result, "1 decision of dpm steer left out: only the first 4,096 have rows.", 1);
    expect_in(result, "Connections of this kind were not metered: pipe.", 1);
    communication->kinds_left_out = METER_PIPE | METER_MQ;
    expect_in(result, "Connections of these kinds were not metered: pipe, mq.", 1);
    free(result);
}

/* What goes to the kernel alone hides no process. */
static void netlink_sockets_alone_are_not_told(void **state)
{
    struct result *result = make_result(2);
    uint32_t *unmetered = &result->communication.unmetered;

    (void)state;
    *unmetered = 1u << UNMETERED_NETLINK | 1u << UNMETERED_PROCESS_VM;
    expect_in(result, "Messages on sockets", 0);
    *unmetered = 1u << UNMETERED_RAW;
    expect_in(result, "Messages on sockets of this kind are not recorded, by any meter: raw IP.",
              1);
    *unmetered = 1u << UNMETERED_RAW | 1u << UNMETERED_NETLINK;
    expect_in(result,
              "Messages on sockets of these kinds are not recorded, by any meter: raw IP, netlink.",
              1);
    free(result);
}

static void groups_and_machines_are_named(void **state)
{
    struct result *result = make_result(5);
    struct communication_machine machines[2] = {{"one"}, {"two"}};

    (void)state;
    result->communication.machines = machines;
    result->communication.machine_count = 2;
    result->processes[1].machine = 1;
    result->processes[4].pid = 0; /* its identity was lost */
    result->processes[4].stream = 77;
    result->pairs[0].to = (struct party){result->indexes, 5, NULL};
    result->pairs[0].shared = true;
    result->communication.unknown_paths = 9;
    char *text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, "p0[100]@one, p1[101]@two, p2[102]@one and 2 others"),
                     1);
    assert_int_equal(count_lines_with(text, "remote, shared"), 1);
    assert_int_equal(count_lines_with(text, "unknown[stream 77]@one"), 2);
    assert_int_equal(count_lines_with(text, "MACHINE"), 1);
    assert_int_equal(count_lines_with(text, "9 messages of connections"), 1);
    free(text);
    free(result);
}

static void an_empty_result_is_shown(void **state)
{
    struct result *result = make_result(0);
    char *text = shown(result, (struct show_options){0});

    (void)state;
    assert_int_equal(count_lines_with(text, "none"), 3);
    free(text);
    text = shown(result, (struct show_options){.json = true});
    json_t *json = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "paths")), 0);
    assert_true(json_is_array(json_object_get(json, "processes")));
    json_decref(json);
    free(text);
    free(result);
}

/* ---- users and containers ---- */

/* This column is shown only if it distinguishes processes. */
static void users_and_containers_are_named(void **state)
{
    struct result *result = make_result(3);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        result->processes[i].user_name = "anna";
        result->processes[i].cgroup_name = "/x.service";
    }
    char *text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, "USER") + count_lines_with(text, "CONTAINER"), 0);
    free(text);
    result->processes[0].pid = 0; /* its identity was lost: that is not another user */
    result->processes[0].user_name = NULL;
    result->processes[0].cgroup_name = NULL;
    text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, "USER") + count_lines_with(text, "CONTAINER"), 0);
    free(text);
    result->processes[1].user_name = "be\033rta";
    text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, "be?rta"), 1);
    assert_int_equal(count_lines_with(text, "USER"), 1);
    assert_int_equal(count_lines_with(text, "CONTAINER"), 0);
    free(text);
    result->processes[1].user_name = "anna";
    result->processes[1].cgroup_name = NULL;
    result->processes[1].cgroup = 77;
    text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, "cgroup 77"), 1);
    assert_int_equal(count_lines_with(text, "x.service"), 1);
    assert_int_equal(count_lines_with(text, "USER"), 0);
    free(text);
    free(result);
}

static void groups_have_their_table(void **state)
{
    struct result *result = make_result(MANY);

    (void)state;
    result->communication.by = BY_CONTAINER;
    for (unsigned i = 0; i < MANY; i++) {
        result->processes[i].pid = 0;
        result->processes[i].group = i == MANY - 1 ? "\033[web" : "db";
        result->processes[i].group_size = 2;
    }
    char *text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, "Containers"), 1);
    assert_int_equal(count_lines_with(text, "CONTAINER "), 1);
    assert_int_equal(count_lines_with(text, "PROCESSES"), 1);
    assert_int_equal(count_lines_with(text, "PID"), 0);
    assert_int_equal(count_lines_with(text, "PARENT"), 0);
    assert_int_equal(count_lines_with(text, "?[web"), 3);
    assert_int_equal(count_lines_with(text, "stream"), 0);
    assert_int_equal(count_lines_with(text, "others (30)        60 "), 1);
    free(text);
    text = shown(result, (struct show_options){.json = true});
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    assert_null(json_object_get(json, "processes"));
    assert_int_equal(json_array_size(json_object_get(json, "groups")), MANY);
    json_t *group = json_array_get(json_object_get(json, "groups"), MANY - 1);
    assert_string_equal(json_string_value(json_object_get(group, "name")), "?[web");
    assert_int_equal(json_integer_value(json_object_get(group, "processes")), 2);
    json_decref(json);
    free(text);
    free(result);
}

/* ---- JSON keys ---- */

/* The object has exactly these keys, separated by blanks. */
static void expect_keys(const json_t *object, const char *keys)
{
    char copy[600];
    char *rest = NULL;
    size_t count = 0;

    assert_true(json_is_object(object));
    snprintf(copy, sizeof(copy), "%s", keys);
    for (char *key = strtok_r(copy, " ", &rest); key != NULL; key = strtok_r(NULL, " ", &rest)) {
        if (json_object_get(object, key) == NULL)
            fail_msg("key %s is missing", key);
        count++;
    }
    if (json_object_size(object) == count)
        return;
    char *dump = json_dumps(object, 0);
    print_error("%s\n", dump);
    free(dump);
    fail_msg("there are other keys than: %s", keys);
}

#define RATES_QUEUE_AND_TIMES                                                                      \
    "sent_messages_per_s sent_bytes_per_s received_messages_per_s received_bytes_per_s "           \
    "queue requests response_ns request_ns response_last_byte_ns request_last_byte_ns "            \
    "message_wait_ns receiver_wait_ns sender_blocked_ns delivery_ns"

static void statistics_json_has_its_keys(void **state)
{
    struct result *result = make_result(3);

    (void)state;
    strcpy(result->processes[0].name, "a\"\\\x1b\xff");
    result->pairs[1].to = (struct party){result->indexes, 2, NULL};
    char *text = shown(result, (struct show_options){.json = true});
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    expect_keys(json, "trace processes pairs late_senders late_receivers paths failures procedures "
                      "files inputs loads "
                      "cgroups decisions");
    expect_keys(json_object_get(json, "trace"),
                "events not_known_yet lost skipped dropped refused duplicates unseen_bytes "
                "unseen_sent_bytes not_metered metered_partly sockets_not_metered memory_copied "
                "shared_memory events_not_metered events_metered_partly "
                "traces_of_ptrace duration_ns complete by "
                "machines clocks local "
                "remote "
                "connections ended unused failed_connections cgroups_left_out "
                "decisions_left_out messages_below_mpi own_cost matching");
    json_t *load = json_array_get(json_object_get(json, "loads"), 0);
    expect_keys(load, "machine elapsed_ns cpus cpu runnable waited memory swapped major_faults "
                      "major_faults_per_s disk network tcp_retransmitted");
    json_t *process = json_array_get(json_object_get(json, "processes"), 0);
    expect_keys(
        process,
        "id machine pid parent name user user_name cgroup cgroup_name container command "
        "program pid_namespace pid_inside life_ns cpu_ns spun_ns waited_for_cpu_ns asleep_ns "
        "threads_watched_ns switches sent received size share failed processes "
        "ended peer_only " RATES_QUEUE_AND_TIMES);
    expect_keys(json_object_get(process, "queue"),
                "messages_max messages_mean messages_mean_over_operations messages_now bytes_max "
                "bytes_now unreceived");
    assert_true(json_is_null(json_object_get(process, "cgroup_name")));
    expect_keys(json_object_get(process, "sent"), "messages bytes");
    assert_string_equal(json_string_value(json_object_get(process, "name")), "a\"\\??");
    assert_true(json_is_null(json_object_get(process, "parent")));
    process = json_array_get(json_object_get(json, "processes"), 2);
    assert_int_equal(json_integer_value(json_object_get(process, "id")), 3);
    assert_int_equal(json_integer_value(json_object_get(process, "parent")), 1);
    json_t *pair = json_array_get(json_object_get(json, "pairs"), 0);
    expect_keys(pair, "from to messages bytes messages_per_s bytes_per_s messages_share share "
                      "messages_share_of_all bytes_share_of_all size local shared "
                      "receiver_wait_covered_ns message_wait_covered_ns sender_blocked_covered_ns "
                      "message_wait_ns receiver_wait_ns sender_blocked_ns delivery_ns");
    assert_int_equal(json_integer_value(json_object_get(pair, "from")), 3);
    assert_string_equal(json_string_value(json_object_get(pair, "to")), "10.0.0.9:80");
    pair = json_array_get(json_object_get(json, "pairs"), 1);
    assert_int_equal(json_array_size(json_object_get(pair, "to")), 2);
    json_t *path = json_array_get(json_object_get(json, "paths"), 0);
    expect_keys(path,
                "kind local remote ends sent received size dropped duplicates nagle connections "
                "ended network " RATES_QUEUE_AND_TIMES);
    json_t *ends = json_object_get(path, "ends");
    assert_int_equal(json_array_size(ends), 2);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(ends, 0), 0)), 3);
    assert_int_equal(json_array_size(json_array_get(ends, 1)), 0);
    json_decref(json);
    free(text);
    free(result);
}

/* ---- waits ---- */

/* In pairs 0 to 3 receivers waited 10, 30, 0 and 20 ns, and messages 5, 5, 0 and 40 ns. */
static struct result *make_waits(void)
{
    static const uint64_t waits[][2] = {{10, 5}, {30, 5}, {0, 0}, {20, 40}};
    struct result *result = make_result(4);

    for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
        struct histogram *of = result->pairs[i].times.of;
        assert_int_equal(histogram_add(&of[TIME_RECEIVER_WAIT], waits[i][0], HISTOGRAM_MOST), 0);
        assert_int_equal(histogram_add(&of[TIME_MESSAGE_WAIT], waits[i][1], HISTOGRAM_MOST), 0);
    }
    return result;
}

static void free_waits(struct result *result)
{
    for (size_t i = 0; i < result->communication.pair_count; i++) {
        histogram_done(&result->pairs[i].times.of[TIME_RECEIVER_WAIT]);
        histogram_done(&result->pairs[i].times.of[TIME_MESSAGE_WAIT]);
    }
    free(result);
}

/* The ids of the senders, in the order of the list. */
static void expect_senders(const json_t *list, const char *expected)
{
    char found[100] = "";
    json_t *pair;
    size_t i;

    json_array_foreach(list, i, pair)
    {
        expect_keys(pair, "from to receiver_waited_ns messages_waited_ns sender_blocked_ns "
                          "receiver_wait_covered_ns message_wait_covered_ns "
                          "sender_blocked_covered_ns");
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%d ",
                 (int)json_integer_value(json_object_get(pair, "from")));
    }
    assert_string_equal(found, expected);
}

/* The line of DPM's own overhead in a recording of this many ns. */
static void expect_own_cost(uint64_t duration, const char *line)
{
    struct result *result = make_result(3);

    result->communication.duration = duration;
    result->communication.matching.own_cost = (struct own_cost){.recordings = 1,
                                                                .cpu = 600000000,
                                                                .loads = 1,
                                                                .load = 100000000,
                                                                .records = 10000,
                                                                .hook_records = 10000,
                                                                .hook = 50000000};
    char *text = shown(result, (struct show_options){0});
    assert_int_equal(count_lines_with(text, line), 1);
    free(text);
    free(result);
}

static void the_share_of_a_cpu_needs_a_recording_of_some_length(void **state)
{
    (void)state;
    expect_own_cost(
        5000000000,
        "DPM itself: 500 ms of CPU time (10% of one CPU), 10,000 records (2,000/s); before that, "
        "100 ms to load the meter. Its hooks in the kernel took 1.0% of one CPU (sampled), for all "
        "processes here.");
    expect_own_cost(4999999999, "DPM itself: 500 ms of CPU time, 10,000 records (2,000/s); before");
    expect_own_cost(
        0,
        "DPM itself: 500 ms of CPU time, 10,000 records; before that, 100 ms to load the meter.");
}

static void who_is_late_is_named(void **state)
{
    struct result *result = make_waits();
    char *text = shown(result, (struct show_options){.json = true});
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    (void)state;
    assert_non_null(json);
    expect_senders(json_object_get(json, "late_senders"), "3 4 "); /* 30 + 5, 10 + 5 */
    expect_senders(json_object_get(json, "late_receivers"), "1 ");
    json_decref(json);
    free(text);
    for (enum show_order order = ORDER_BYTES; order <= ORDER_NAME; order++) {
        text = shown(result, (struct show_options){.table = TABLE_PAIRS, .order = order});
        char *table = strstr(text, "Who waits for whom");
        assert_non_null(table);
        assert_int_equal(count_lines_with(table, "the sender"), 2);
        assert_int_equal(count_lines_with(table, "the receiver"), 1);
        assert_true(strstr(table, "p0[100]") < strstr(table, "p2[102]"));
        assert_true(strstr(table, "p2[102]") < strstr(table, "p3[103]"));
        free(text);
    }
    free_waits(result);
}

/* Of ends that several processes share, it may be known what some waits cover, and of others only their sums. */
static void waits_of_which_only_the_sum_is_known_count(void **state)
{
    struct result *result = make_waits();

    (void)state;
    result->pairs[3].covered.receiver = 20;
    char *text = shown(result, (struct show_options){.json = true});
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    expect_senders(json_object_get(json, "late_receivers"), "1 ");
    json_decref(json);
    free(text);
    free_waits(result);
}

/* ---- records ---- */

union any_record {
    struct record_header header;
    struct record event;
    struct stream_record stream;
    struct path_record path;
    struct image_record image;
    struct name_record name;
    struct machine_record machine;
    struct end_record end;
};

#define FIRST_TIME 1000000123456789ULL /* 2001-09-09 01:46:40.123456789 with this offset: */
#define OFFSET     (1000000000000000000LL - 1000000000000000LL)

static struct identities *identities;

static void note(union any_record *record)
{
    struct event event = {&record->header, 0, OFFSET};

    assert_int_equal(identities_add(identities, &event), 0);
}

/* A machine, stream 1 (a process), stream 2 (a thread of it), path 4 and image 7. */
static int know_some(void **state)
{
    union any_record record;

    (void)state;
    setenv("TZ", "XYZ-1:30", 1); /* an hour and a half east */
    tzset();
    if (identities_new(&identities) < 0)
        return -1;
    memset(&record, 0, sizeof(record));
    record.header.id = EVENT_MACHINE;
    strcpy(record.machine.name, "host");
    note(&record);
    for (uint32_t stream = 1; stream <= 2; stream++) {
        memset(&record, 0, sizeof(record));
        record.header.id = EVENT_STREAM;
        record.header.stream = stream;
        record.stream.pid = 120;
        record.stream.tid = 119 + stream;
        record.stream.process = 1;
        strcpy(record.stream.name, "server");
        note(&record);
    }
    memset(&record, 0, sizeof(record));
    record.header.id = EVENT_PATH;
    record.path.path = 4;
    record.path.kind = PATH_TCP;
    record.path.family = AF_INET;
    record.path.inode = 99;
    record.path.local_port = 80;
    record.path.remote_port = 4000;
    inet_pton(AF_INET, "127.0.0.1", record.path.local);
    inet_pton(AF_INET, "10.0.0.9", record.path.remote);
    note(&record);
    memset(&record, 0, sizeof(record));
    record.header.id = EVENT_IMAGE;
    record.image.image = 7;
    strcpy(record.image.name, "/bin/server");
    note(&record);
    memset(&record, 0, sizeof(record));
    record.header.id = EVENT_NAME;
    record.name.kind = NAME_CGROUP;
    record.name.number = 77;
    strcpy(record.name.name, "/we\nb");
    note(&record);
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    identities_free(identities);
    return 0;
}

static union any_record make_record(enum event_id id, uint32_t stream)
{
    union any_record record;

    memset(&record, 0, sizeof(record));
    record.header.time = FIRST_TIME;
    record.header.id = (uint8_t)id;
    record.header.stream = stream;
    record.header.sequence = 5;
    record.header.load = 3;
    record.header.proc_time_and_pc = 123;
    return record;
}

static char *shown_record(const union any_record *record, bool json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct record_face face = {.file = file, .identities = identities, .json = json};
    struct event event = {&record->header, 0, OFFSET};

    assert_non_null(file);
    assert_int_equal(show_record(&face, &event), 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static json_t *record_json(const union any_record *record)
{
    char *text = shown_record(record, true);

    /* One line. */
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static void expect_line(const union any_record *record, const char *line)
{
    char *text = shown_record(record, false);

    assert_string_equal(text, line);
    free(text);
}

static void records_become_lines(void **state)
{
    (void)state;
    union any_record record = make_record(EVENT_SEND, 1);
    record.event.message.path = 4;
    record.event.message.bytes = 10;
    record.event.message.offset = 77;
    record.header.flags = RECORD_CONTINUED;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  SEND           "
                         "4 tcp 127.0.0.1:80 > 10.0.0.9:4000  10 bytes, offset 77, continued\n");
    record = make_record(EVENT_STREAM, 1);
    record.stream.pid = record.stream.pid_inside = 120;
    record.stream.process = 1;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  STREAM         "
                         "process 1, parent stream 0, user 0\n");
    record.stream.user = 1000;
    record.stream.cgroup = 77;
    record.stream.pid_inside = 1;
    record.stream.pid_namespace = INITIAL_PID_NAMESPACE;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  STREAM         "
                         "process 1, parent stream 0, user 1000, cgroup /we?b\n");
    record.stream.pid_namespace = 4026532000u;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  STREAM         "
                         "process 1, parent stream 0, user 1000, cgroup /we?b, "
                         "pid inside 1 in PID namespace 4026532000\n");
    record = make_record(EVENT_BLOCK, 1);
    record.event.block.system_call = NO_SYSTEM_CALL;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  BLOCK          "
                         "asleep 0 ns in no system call, task state 0x0\n");
    json_t *json = record_json(&record);
    assert_true(json_is_null(json_object_get(json, "system_call")));
    json_decref(json);
    record = make_record(EVENT_MESSAGEQUEUED, 0);
    record.event.message.path = 5;
    record.header.flags = RECORD_NO_STREAM;
    record.event.queued.queue = 12;
    expect_line(&record, "2001-09-09 03:16:40.123456  -                        -  MESSAGEQUEUED  "
                         "5 unknown  0 bytes, offset 0, 12 in the queue\n");
    record = make_record(EVENT_RECEIVECALL, 1);
    record.event.message.offset = 232;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  RECEIVECALL    "
                         "any of several paths, in epoll_wait\n");
    record = make_record(EVENT_RECEIVE, 0);
    record.event.message.path = 5;
    record.header.flags = RECORD_NO_STREAM;
    expect_line(&record, "2001-09-09 03:16:40.123456  -                        -  RECEIVE        "
                         "5 unknown  0 bytes, offset 0, unseen\n");
    record = make_record(EVENT_TERMINATION, 2);
    record.event.termination.status = SIGKILL;
    record.event.termination.last = 1;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120/121]          2  TERMINATION    "
                         "killed by SIGKILL, the process has ended\n");
    record.event.termination.status = 3 << 8;
    record.event.termination.last = 0;
    record.event.termination.failed_receives = 2;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120/121]          2  TERMINATION    "
                         "exit 3, failed receives: 2\n");
    record = make_record(EVENT_CREATEPROCESS, 1);
    record.event.create.child = 2;
    record.event.create.thread = 1;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  CREATEPROCESS  "
                         "thread server[120/121]\n");
    record.event.create.child = 9;
    record.event.create.thread = 0;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  CREATEPROCESS  "
                         "process stream 9\n");
    record = make_record(EVENT_EXEC, 1);
    record.event.exec.image = 7;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  EXEC           "
                         "/bin/server\n");
    record = make_record(EVENT_STARTPROCESS, 1);
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  STARTPROCESS\n");
    record = make_record(EVENT_LOST, 1);
    record.event.lost.count = 12;
    record.event.lost.ring = RING_DATA;
    record.event.lost.reason = LOST_RING_FULL;
    expect_line(&record, "2001-09-09 03:16:40.123456  server[120]              1  LOST           "
                         "12 records of the data ring: it was full\n");
    record = make_record(EVENT_LOST, 0);
    record.header.flags = RECORD_NO_STREAM;
    record.event.lost.count = 11;
    record.event.lost.ring = RING_DATA;
    record.event.lost.reason = LOST_SKIPPED;
    expect_line(&record, "2001-09-09 03:16:40.123456  -                        -  LOST           "
                         "up to 11 records of the data ring: the kernel skipped hooks that were "
                         "already running on that processor\n");
    record.event.lost.reason = LOST_NO_PATH;
    expect_line(&record, "2001-09-09 03:16:40.123456  -                        -  LOST           "
                         "11 records of the data ring: no memory for connections or files\n");
    record.event.lost.count = 1;
    expect_line(&record, "2001-09-09 03:16:40.123456  -                        -  LOST           "
                         "1 record of the data ring: no memory for connections or files\n");
}

#define HEAD "time time_ns event machine origin pid tid stream name sequence cpu_ns load "
#define PATH "path kind inode local remote offset bytes span_ns "

/* Every type has exactly its keys; its text must name the type. */
static void records_have_their_keys(void **state)
{
    static const char *const keys[EVENT_ID_END] = {
        [EVENT_SEND] = HEAD PATH,
        [EVENT_SENDCALL] = HEAD PATH,
        [EVENT_RECEIVECALL] = HEAD PATH,
        [EVENT_RECEIVE] = HEAD PATH,
        [EVENT_MESSAGEQUEUED] = HEAD "path kind inode local remote offset bytes queue",
        [EVENT_CREATEPATH] = HEAD PATH,
        [EVENT_CONNECT] = HEAD PATH,
        [EVENT_ACCEPT] = HEAD PATH,
        [EVENT_DESTROYPATH] = HEAD PATH,
        [EVENT_BLOCK] = HEAD "system_call system_call_name state duration_ns object no_cpu_ns",
        [EVENT_CREATEPROCESS] = HEAD "child thread child_pid child_tid",
        [EVENT_EXEC] = HEAD "image left",
        [EVENT_STARTPROCESS] = HEAD,
        [EVENT_STOPPROCESS] = HEAD,
        [EVENT_TERMINATION] = HEAD "status last failed_sends failed_receives",
        [EVENT_LOST] = HEAD "count ring reason",
        [EVENT_DISCARDED] = HEAD "count ring reason",
        [EVENT_STREAM] = HEAD "process parent start pid_inside user cgroup pid_namespace "
                              "image",
        [EVENT_PATH] = HEAD "path kind family role name_end cookie peer inode network local_port "
                            "remote_port local remote start_out start_in unix_name",
        [EVENT_IMAGE] = HEAD "image device inode load_address file",
        [EVENT_MACHINE] = HEAD
        "machine_id boot_id meter_flags metered kinds_left_out cpus meter system addresses",
        [EVENT_END] = HEAD "records lost reason",
        [EVENT_MODULE] = HEAD "module device inode text build_id file",
        [EVENT_PROCEDURE] = HEAD "module image address offset procedure",
        [EVENT_NAME] = HEAD "number kind what called",
        [EVENT_DROPPED] = HEAD "path kind inode local remote count refused",
        [EVENT_NETWORK] = HEAD "path kind inode local remote retransmitted round_trip_us "
                               "unacknowledged",
        [EVENT_WAKEUP] = HEAD "woken waker woken_pid woken_tid",
        [EVENT_COST] = HEAD "recorder_cpu_ns wakeups hook_ns",
        [EVENT_FLAGS] = HEAD "meter_flags metered kinds_left_out process rules",
        [EVENT_SCHEDULE] = HEAD "runnable_ns voluntary involuntary",
        [EVENT_SIGNAL] = HEAD "signal result code receiver receiver_pid sender_pid signal_name",
        [EVENT_CONNECTFAILED] = HEAD "path kind inode local remote error span_ns",
        [EVENT_READ] = HEAD PATH,
        [EVENT_WRITE] = HEAD PATH,
        [EVENT_SUMMARY] =
            HEAD "cpu_user cpu_system cpu_idle cpu_disk cpu_stolen runnable in_disk load_average "
                 "memory memory_available swap swap_free major_faults swapped_in swapped_out "
                 "cpu_waited memory_waited memory_waited_all disk_waited disk_waited_all "
                 "disk_reads disk_writes disk_read disk_written disk_busy network_received "
                 "network_sent network_packets_received network_packets_sent network_dropped "
                 "tcp_retransmitted",
        [EVENT_CGROUP] = HEAD "cgroup cpu quota period periods throttled_periods throttled memory "
                              "memory_most memory_reclaims oom_kills cpu_waited memory_waited "
                              "disk_waited",
        [EVENT_SENSOR] = HEAD "sensor value",
        [EVENT_CLASS] = HEAD "class type absent",
        [EVENT_DECISION] = HEAD "number before after before_length after_length outcome "
                                "decision_flags predicted noise act act_from act_to goal reason",
        [EVENT_BEGIN] = HEAD "began records lost_control lost_data recorder_cpu wakeups repeated",
    };

    (void)state;
    for (unsigned id = 1; id < EVENT_ID_END; id++) {
        union any_record record = make_record((enum event_id)id, 1);
        bool of_stream = id == EVENT_CREATEPROCESS || id == EVENT_WAKEUP;
        record.event.message.path = of_stream ? 2 : id == EVENT_EXEC ? 7 : 4;
        json_t *json = record_json(&record);
        expect_keys(json, keys[id]);
        assert_string_equal(json_string_value(json_object_get(json, "event")),
                            event_type(id)->name);
        json_decref(json);
    }
}

static void record_json_has_the_values(void **state)
{
    (void)state;
    union any_record record = make_record(EVENT_RECEIVE, 2);
    record.event.message.path = 4;
    record.event.message.bytes = 10;
    record.header.flags = RECORD_CALL_IMPLIED | RECORD_LIBRARY;
    json_t *json = record_json(&record);
    expect_keys(json, HEAD PATH "call_implied library");
    json_t *expected = json_pack(
        "{s:s, s:I, s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:s, s:s, "
        "s:i, s:i, s:i, s:b, s:b}",
        "time", "2001-09-09T03:16:40.123456789+01:30", "time_ns", (json_int_t)FIRST_TIME, "event",
        "RECEIVE", "machine", "host", "origin", 0, "pid", 120, "tid", 121, "stream", 2, "name",
        "server", "sequence", 5, "cpu_ns", 123, "load", 3, "path", 4, "kind", "tcp", "inode", 99,
        "local", "127.0.0.1:80", "remote", "10.0.0.9:4000", "offset", 0, "bytes", 10, "span_ns", 0,
        "call_implied", 1, "library", 1);
    assert_true(json_equal(json, expected));
    json_decref(expected);
    json_decref(json);
    record.header.flags = RECORD_NO_STREAM;
    json = record_json(&record);
    expect_keys(json, "time time_ns event machine origin stream load " PATH);
    json_decref(json);
}

/* A reader whose numbers are doubles loses the lowest bits of a number with the bit of "pc". */
static void flags_have_names(void **state)
{
    union any_record record = make_record(EVENT_MACHINE, 0);

    (void)state;
    record.machine.meter_flags =
        METER_FLAG_PC | EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SUMMARY) | EVENT_FLAG(EVENT_LOST);
    json_t *json = record_json(&record), *metered = json_object_get(json, "metered");
    assert_int_equal(json_array_size(metered), 3);
    assert_string_equal("SEND", json_string_value(json_array_get(metered, 0)));
    assert_string_equal("SUMMARY", json_string_value(json_array_get(metered, 1)));
    assert_string_equal("pc", json_string_value(json_array_get(metered, 2)));
    json_decref(json);
}

static void fields_without_meaning_are_left_out(void **state)
{
    (void)state;
    union any_record record = make_record(EVENT_WAKEUP, 1);
    record.event.wakeup.woken = 0; /* a collective function begins */
    json_t *json = record_json(&record);
    expect_keys(json, HEAD "woken waker call communicator");
    json_decref(json);
    record = make_record(EVENT_CREATEPATH, 1);
    record.event.message.path = 4;
    struct path_record unused = *identities_path(identities, 0, 4);
    unused.header.flags |= RECORD_UNUSED;
    assert_int_equal(0, identities_add(identities, &(struct event){.header = &unused.header}));
    json = record_json(&record);
    assert_string_equal("unknown", json_string_value(json_object_get(json, "local")));
    assert_string_equal("unknown", json_string_value(json_object_get(json, "remote")));
    json_decref(json);
}

/* Whatever a record contains, it is one line, JSON is valid, and nothing controls the terminal. */
static void any_record_is_shown(void **state)
{
    (void)state;
    seed = seed_of_run("records");
    for (unsigned round = 0; round < 3000; round++) {
        union any_record record;
        for (size_t i = 0; i < sizeof(record); i++)
            ((uint8_t *)&record)[i] = (uint8_t)(pick(4) == 0 ? pick(5) : pick(256));
        record.header.id = (uint8_t)(1 + pick(EVENT_ID_END - 1));
        if (pick(4) == 0)
            note(&record);
        json_decref(record_json(&record));
        char *text = shown_record(&record, false);
        size_t length = strlen(text);
        for (size_t i = 0; i + 1 < length; i++)
            assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
        assert_int_equal(text[length - 1], '\n');
        free(text);
    }
}

/* ---- matching ---- */

static void limits_that_were_met_are_told(void **state)
{
    const struct history_counts counts = {
        .exact = 7, .forgotten_streams = 1234, .forgotten_ranges = 5};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    assert_non_null(file);
    print_matching(&counts, file);
    fclose(file);
    assert_non_null(strstr(text, ": 7 exact.\n"));
    assert_non_null(strstr(text, "The senders of 1,234 messages "));
    assert_non_null(strstr(text, "\n5 ranges of a connection were forgotten: "));
    free(text);
    json_t *json = matching_json(&counts);
    assert_int_equal(json_integer_value(json_object_get(json, "forgotten_streams")), 1234);
    assert_int_equal(json_integer_value(json_object_get(json, "forgotten_ranges")), 5);
    json_decref(json);
}

static void limits_that_were_met_once_are_told(void **state)
{
    const struct history_counts counts = {
        .forgotten_streams = 1, .forgotten_ranges = 1, .forgotten_pieces = 1};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    assert_non_null(file);
    print_matching(&counts, file);
    fclose(file);
    assert_non_null(strstr(text, "The sender of 1 message was not waited for: "));
    assert_non_null(strstr(text, "\n1 range of a connection was forgotten: "));
    assert_non_null(strstr(text, "\n1 piece of files was forgotten: the reads of it "));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_units),
        cmocka_unit_test(replaces_what_is_no_text),
        cmocka_unit_test(any_bytes_become_text),
        cmocka_unit_test(tables_have_a_heading_and_titles),
        cmocka_unit_test(the_smallest_rows_become_others),
        cmocka_unit_test(what_is_left_out_once_is_told),
        cmocka_unit_test(netlink_sockets_alone_are_not_told),
        cmocka_unit_test(groups_and_machines_are_named),
        cmocka_unit_test(users_and_containers_are_named),
        cmocka_unit_test(groups_have_their_table),
        cmocka_unit_test(an_empty_result_is_shown),
        cmocka_unit_test(statistics_json_has_its_keys),
        cmocka_unit_test(the_share_of_a_cpu_needs_a_recording_of_some_length),
        cmocka_unit_test(who_is_late_is_named),
        cmocka_unit_test(waits_of_which_only_the_sum_is_known_count),
        cmocka_unit_test_setup_teardown(records_become_lines, know_some, forget_all),
        cmocka_unit_test_setup_teardown(records_have_their_keys, know_some, forget_all),
        cmocka_unit_test_setup_teardown(record_json_has_the_values, know_some, forget_all),
        cmocka_unit_test_setup_teardown(fields_without_meaning_are_left_out, know_some, forget_all),
        cmocka_unit_test_setup_teardown(flags_have_names, know_some, forget_all),
        cmocka_unit_test_setup_teardown(any_record_is_shown, know_some, forget_all),
        cmocka_unit_test(limits_that_were_met_are_told),
        cmocka_unit_test(limits_that_were_met_once_are_told),
    };

    return cmocka_run_group_tests_name("show", tests, NULL, NULL);
}
