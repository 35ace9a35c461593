/* SPDX-License-Identifier: MIT */
/*
 * event_test.c: the table of types and fields against the structs of record.h and the numbers of docs/trace-format.md;
 * meter flags by name; identities; names of users, cgroups and containers.
 *
 *      table ---- offsets, sizes ----> record.h's structs, filled with known values
 *        |                             the format's numbers, repeated here
 *        +------- no overlap, nothing outside the record
 */
#include "event/event.h"
#include "meter/shared/message.h"
#include "seeded.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the table as a whole ---- */

static void check_fields(const struct event_field *fields, size_t from, size_t to)
{
    size_t end = from;

    for (const struct event_field *field = fields; field->name != NULL; field++) {
        /* Fields are in order, so they do not overlap. */
        assert_true(field->offset >= end);
        assert_true(field->size > 0);
        end = field->offset + field->size;
        assert_true(end <= to);
        assert_non_null(field->meaning);
        if (field->kind == FIELD_UNSIGNED || field->kind == FIELD_HEX)
            assert_true(field->size <= 8 && (field->size % 2 == 0 || field->size == 1));
        for (const struct event_field *other = fields; other != field; other++)
            assert_string_not_equal(field->name, other->name);
    }
}

static void test_fields_fit_and_do_not_overlap(void **unused)
{
    (void)unused;
    check_fields(event_header_fields, 0, sizeof(struct record_header));
    for (unsigned id = 0; id < EVENT_ID_END; id++) {
        const struct event_type *type = event_type(id);
        if (type == NULL)
            continue;
        assert_int_equal(type->size % 8, 0);
        check_fields(type->fields, sizeof(struct record_header), type->size);
    }
}

static void test_header_fields_cover_the_header(void **unused)
{
    size_t end = 0;

    (void)unused;
    for (const struct event_field *field = event_header_fields; field->name != NULL; field++) {
        assert_int_equal(field->offset, end);
        end += field->size;
    }
    assert_int_equal(end, sizeof(struct record_header));
}

static void test_types_are_found_by_number_and_name(void **unused)
{
    (void)unused;
    for (unsigned id = 0; id < 1000; id++) {
        const struct event_type *type = event_type(id);
        assert_int_equal(type != NULL, id >= EVENT_SEND && id < EVENT_ID_END);
        assert_int_equal(event_size(id), type == NULL ? 0 : type->size);
        if (type == NULL)
            continue;
        assert_int_equal(type->id, id);
        assert_true(type->ring < RING_COUNT);
        assert_ptr_equal(event_type_by_name(type->name), type);
        if (type->synonym != NULL)
            assert_ptr_equal(event_type_by_name(type->synonym), type);
    }
    assert_ptr_equal(event_type_by_name("sEnDmEsSaGe"), event_type(EVENT_SEND));
    assert_null(event_type_by_name(""));
    assert_null(event_type_by_name("SENDS"));
}

/* ---- the numbers of the format ---- */

struct expected_type {
    unsigned id;
    const char *name;
    unsigned ring;
    unsigned size;
    const char *fields; /* name offset size ... */
};

#define MESSAGE_FIELDS "path 32 4 offset 36 4 bytes 40 4 span 44 4 "
#define LOST_FIELDS    "count 32 4 ring 36 4 reason 40 4 "

static const struct expected_type expected_types[] = {
    {1, "SEND", 1, 48, MESSAGE_FIELDS},
    {2, "SENDCALL", 1, 48, MESSAGE_FIELDS},
    {3, "RECEIVECALL", 1, 48, MESSAGE_FIELDS},
    {4, "RECEIVE", 1, 48, MESSAGE_FIELDS},
    {5, "MESSAGEQUEUED", 1, 48, "path 32 4 offset 36 4 bytes 40 4 queue 44 4 "},
    {6, "BLOCK", 1, 48, "systemCall 32 4 state 36 4 duration 40 6 object 46 2 "},
    {7, "CREATEPATH", 0, 48, MESSAGE_FIELDS},
    {8, "CONNECT", 0, 48, MESSAGE_FIELDS},
    {9, "ACCEPT", 0, 48, MESSAGE_FIELDS},
    {10, "DESTROYPATH", 0, 48, MESSAGE_FIELDS},
    {11, "CREATEPROCESS", 0, 48, "child 32 4 thread 36 4 "},
    {12, "EXEC", 0, 48, "image 32 4 left 36 4 "},
    {13, "STARTPROCESS", 0, 48, ""},
    {14, "STOPPROCESS", 0, 48, ""},
    {15, "TERMINATION", 0, 48, "status 32 4 last 36 4 failedSends 40 4 failedReceives 44 4 "},
    {16, "LOST", 0, 48, LOST_FIELDS},
    {17, "DISCARDED", 0, 48, LOST_FIELDS},
    {18, "STREAM", 0, 96,
     "pid 32 4 tid 36 4 process 40 4 parent 44 4 start 48 8 pidInside 56 4 user 60 4 "
     "cgroup 64 8 pidNamespace 72 4 image 76 4 name 80 16 "},
    {19, "PATH", 0, 224,
     "path 32 4 kind 36 1 family 37 1 role 38 1 nameEnd 39 1 cookie 40 8 peer 48 8 inode 56 8 "
     "network 64 4 localPort 68 2 remotePort 70 2 local 72 16 remote 88 16 startOut 104 4 "
     "startIn 108 4 name 112 112 "},
    {20, "IMAGE", 0, 184, "image 32 4 device 36 4 inode 40 8 load 48 8 name 56 128 "},
    {21, "MACHINE", 0, 472,
     "machineId 32 16 bootId 48 16 meterFlags 64 8 kindsLeftOut 72 4 cpus 76 4 meter 80 4 name 88 "
     "64 system 152 64 addresses 216 256 "},
    {22, "END", 0, 56, "records 32 8 lost 40 8 reason 48 4 "},
    {23, "MODULE", 0, 208,
     "module 32 4 device 36 4 inode 40 8 text 48 8 buildId 56 20 name 80 128 "},
    {24, "PROCEDURE", 0, 176, "module 32 4 image 36 4 address 40 8 offset 48 8 name 56 120 "},
    {25, "NAME", 0, 256, "number 32 8 kind 40 4 what 44 4 name 48 208 "},
    {26, "DROPPED", 0, 48, "path 32 4 count 36 4 refused 40 4 "},
    {27, "NETWORK", 0, 48, "path 32 4 retransmitted 36 4 roundTrip 40 4 unacknowledged 44 4 "},
    {28, "COST", 0, 48, "cpu 32 8 wakeups 40 4 hook 44 4 "},
    {29, "WAKEUP", 1, 48, "woken 32 4 waker 36 4 call 40 4 communicator 44 4 "},
    {30, "FLAGS", 0, 56, "meterFlags 32 8 kindsLeftOut 40 4 process 44 4 rules 48 4 "},
    {31, "SCHEDULE", 1, 48, "runnable 32 8 voluntary 40 4 involuntary 44 4 "},
    {32, "SIGNAL", 1, 48,
     "signal 32 1 result 33 1 code 34 2 receiver 36 4 receiverPid 40 4 senderPid 44 4 "},
    {33, "CONNECTFAILED", 0, 48, "path 32 4 error 36 4 span 44 4 "},
    {34, "READ", 1, 48, MESSAGE_FIELDS},
    {35, "WRITE", 1, 48, MESSAGE_FIELDS},
    {36, "SUMMARY", 0, 280,
     "cpuUser 32 8 cpuSystem 40 8 cpuIdle 48 8 cpuDisk 56 8 cpuStolen 64 8 runnable 72 8 inDisk 80 "
     "8 loadAverage 88 8 memory 96 8 memoryAvailable 104 8 swap 112 8 swapFree 120 8 majorFaults "
     "128 8 swappedIn 136 8 swappedOut 144 8 cpuWaited 152 8 memoryWaited 160 8 memoryWaitedAll "
     "168 8 diskWaited 176 8 diskWaitedAll 184 8 diskReads 192 8 diskWrites 200 8 diskRead 208 8 "
     "diskWritten 216 8 diskBusy 224 8 networkReceived 232 8 networkSent 240 8 "
     "networkPacketsReceived 248 8 networkPacketsSent 256 8 networkDropped 264 8 tcpRetransmitted "
     "272 8 "},
    {37, "CGROUP", 0, 144,
     "cgroup 32 8 cpu 40 8 quota 48 8 period 56 8 periods 64 8 throttledPeriods 72 8 throttled 80 "
     "8 memory 88 8 memoryMost 96 8 memoryReclaims 104 8 oomKills 112 8 cpuWaited 120 8 "
     "memoryWaited 128 8 diskWaited 136 8 "},
    {38, "SENSOR", 1, 48, "sensor 32 4 value 40 8 "},
    {39, "CLASS", 0, 48, "class 32 4 type 36 4 absent 40 8 "},
    {40, "BEGIN", 0, 80,
     "began 32 8 records 40 8 lostControl 48 8 lostData 56 8 recorderCpu 64 8 wakeups 72 4 "
     "repeated 76 4 "},
    {41, "DECISION", 0, 472,
     "number 32 8 before 40 8 after 48 8 beforeLength 56 8 afterLength 64 8 outcome 72 4 "
     "decisionFlags 76 4 predicted 80 4 noise 84 4 act 88 64 actFrom 152 48 actTo 200 48 goal 248 "
     "48 "
     "reason 296 176 "},
};

static void list_fields(const struct event_field *fields, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (const struct event_field *field = fields; field->name != NULL; field++) {
        length += (size_t)snprintf(text + length, size - length, "%s %u %u ", field->name,
                                   field->offset, field->size);
        assert_true(length < size);
    }
}

static void test_table_has_the_numbers_of_the_format(void **unused)
{
    char found[1000];

    (void)unused;
    list_fields(event_header_fields, found, sizeof(found));
    assert_string_equal(found, "time 0 8 id 8 1 load 9 1 flags 10 2 sequence 12 4 procTime 16 6 "
                               "PC 22 6 _stream 28 4 ");
    assert_int_equal(ARRAY_SIZE(expected_types), EVENT_ID_END - 1);
    for (size_t i = 0; i < ARRAY_SIZE(expected_types); i++) {
        const struct expected_type *expected = &expected_types[i];
        const struct event_type *type = event_type(expected->id);
        assert_non_null(type);
        assert_string_equal(type->name, expected->name);
        assert_int_equal(type->ring, expected->ring);
        assert_int_equal(type->size, expected->size);
        list_fields(type->fields, found, sizeof(found));
        assert_string_equal(found, expected->fields);
    }
}

/* ---- values: the structs seen through the table ---- */

static const struct event_field *find_field(const struct event_field *fields, const char *name)
{
    for (const struct event_field *field = fields; field->name != NULL; field++)
        if (strcmp(field->name, name) == 0)
            return field;
    fail_msg("no field %s", name);
    return NULL;
}

static uint64_t value(const void *record, const char *name)
{
    unsigned id = ((const struct record_header *)record)->id;
    return event_field_value(find_field(event_type(id)->fields, name), record);
}

static void test_header_values(void **unused)
{
    uint64_t state = seed_of_run("header values");

    (void)unused;
    for (int round = 0; round < 1000; round++) {
        struct record_header header = {
            .time = random_number(&state),
            .id = (uint8_t)random_number(&state),
            .load = (uint8_t)random_number(&state),
            .flags = (uint16_t)random_number(&state),
            .sequence = (uint32_t)random_number(&state),
            .proc_time_and_pc = random_number(&state),
            .pc_high = (uint32_t)random_number(&state),
            .stream = (uint32_t)random_number(&state),
        };
        const struct {
            const char *name;
            uint64_t expected;
        } values[] = {
            {"time", header.time},         {"id", header.id},
            {"load", header.load},         {"flags", header.flags},
            {"sequence", header.sequence}, {"procTime", record_proc_time(&header)},
            {"PC", record_pc(&header)},    {"_stream", header.stream},
        };
        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
            assert_true(event_field_value(find_field(event_header_fields, values[i].name),
                                          &header) == values[i].expected);
    }
}

/* Exact if it fits in 32 bits; otherwise less than a unit too early, and never late. */
static void test_spans(void **unused)
{
    uint64_t state = seed_of_run("spans");

    (void)unused;
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t span = random_number(&state) >> (4 + random_below(&state, 60));
        struct record record = {
            .header = {.time = span + 1 + random_below(&state, 1000), .flags = 5}};
        uint64_t begin = record.header.time - span;

        set_span(&record, begin);
        uint64_t told = message_span(&record);
        assert_int_equal(record.header.flags & ~RECORD_SPAN_UNIT, 5);
        assert_true(told >= span && told - span <= span >> 28);
        if (span <= UINT32_MAX)
            assert_true(told == span && record.header.flags == 5);
    }
    struct record record = {.header.time = 100};
    set_span(&record, 0);
    assert_true(message_span(&record) == 0);
    set_span(&record, 101);
    assert_true(message_span(&record) == 0);
}

static void test_event_values(void **unused)
{
    (void)unused;
    for (unsigned id = EVENT_SEND; id <= EVENT_DESTROYPATH; id++) {
        struct record message = {.header.id = (uint8_t)id, .message = {1, 2, 3, 4}};
        if (id == EVENT_BLOCK)
            continue;
        assert_int_equal(value(&message, "path"), 1);
        assert_int_equal(value(&message, "offset"), 2);
        assert_int_equal(value(&message, "bytes"), 3);
        assert_int_equal(value(&message, id == EVENT_MESSAGEQUEUED ? "queue" : "span"), 4);
    }
    struct record block = {.header.id = EVENT_BLOCK, .block = {5, 6, {{1ULL << 46, 7}}}};
    assert_int_equal(value(&block, "systemCall"), 5);
    assert_int_equal(value(&block, "state"), 6);
    assert_true(value(&block, "duration") == 1ULL << 46);
    struct record create = {.header.id = EVENT_CREATEPROCESS, .create = {.child = 7, .thread = 1}};
    assert_int_equal(value(&create, "child"), 7);
    assert_int_equal(value(&create, "thread"), 1);
    struct record exec = {.header.id = EVENT_EXEC, .exec.image = 8};
    assert_int_equal(value(&exec, "image"), 8);
    struct record termination = {.header.id = EVENT_TERMINATION, .termination = {9, 1, 10, 11}};
    assert_int_equal(value(&termination, "status"), 9);
    assert_int_equal(value(&termination, "last"), 1);
    assert_int_equal(value(&termination, "failedSends"), 10);
    assert_int_equal(value(&termination, "failedReceives"), 11);
    struct record lost = {.header.id = EVENT_LOST, .lost = {.count = 12, .ring = 1, .reason = 2}};
    assert_int_equal(value(&lost, "count"), 12);
    assert_int_equal(value(&lost, "ring"), 1);
    assert_int_equal(value(&lost, "reason"), 2);
}

static void test_identity_values(void **unused)
{
    struct stream_record stream = {.header.id = EVENT_STREAM,
                                   .pid = 1,
                                   .tid = 2,
                                   .process = 3,
                                   .parent = 4,
                                   .start = 5,
                                   .pid_inside = 6,
                                   .user = 7,
                                   .cgroup = 8};
    struct path_record path = {.header.id = EVENT_PATH,
                               .path = 1,
                               .kind = 2,
                               .family = 3,
                               .role = 4,
                               .name_end = 5,
                               .cookie = 6,
                               .peer = 7,
                               .inode = 8,
                               .network = 9,
                               .local_port = 10,
                               .remote_port = 11,
                               .start_out = 12,
                               .start_in = 13};
    struct image_record image = {
        .header.id = EVENT_IMAGE, .image = 1, .device = 2, .inode = 3, .load = 4};
    struct machine_record machine = {.header.id = EVENT_MACHINE, .meter_flags = 1};
    struct end_record end = {.header.id = EVENT_END, .records = 1, .lost = 2, .reason = 3};
    static const char *const stream_names[] = {"pid",   "tid",       "process", "parent",
                                               "start", "pidInside", "user",    "cgroup"};
    static const char *const path_names[] = {
        "path",  "kind",    "family",    "role",       "nameEnd",  "cookie", "peer",
        "inode", "network", "localPort", "remotePort", "startOut", "startIn"};
    static const char *const image_names[] = {"image", "device", "inode", "load"};
    static const char *const end_names[] = {"records", "lost", "reason"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(stream_names); i++)
        assert_int_equal(value(&stream, stream_names[i]), i + 1);
    for (size_t i = 0; i < ARRAY_SIZE(path_names); i++)
        assert_int_equal(value(&path, path_names[i]), i + 1);
    for (size_t i = 0; i < ARRAY_SIZE(image_names); i++)
        assert_int_equal(value(&image, image_names[i]), i + 1);
    for (size_t i = 0; i < ARRAY_SIZE(end_names); i++)
        assert_int_equal(value(&end, end_names[i]), i + 1);
    assert_int_equal(value(&machine, "meterFlags"), 1);
}

/* ---- meter flags ---- */

static void check_flags(const char *list, uint64_t before, uint64_t expected)
{
    struct problem problem = {""};
    uint64_t flags = before;

    assert_int_equal(meter_flags_parse(list, &flags, &problem), 0);
    assert_int_equal(flags, expected);
    assert_string_equal(problem.text, "");
}

#define BIT(id) EVENT_FLAG(EVENT_##id)

static void test_flags_are_parsed(void **unused)
{
    const uint64_t fork =
        BIT(CREATEPROCESS) | BIT(EXEC) | BIT(STARTPROCESS) | BIT(STOPPROCESS) | BIT(TERMINATION);

    (void)unused;
    check_flags("", 0, 0);
    check_flags(" ,\t", BIT(SEND), BIT(SEND));
    check_flags("send", 0, BIT(SEND));
    check_flags("send,receive", 0, BIT(SEND) | BIT(RECEIVE));
    check_flags("  SEND  receivecall,RECEIVE ", BIT(BLOCK),
                BIT(BLOCK) | BIT(SEND) | BIT(RECEIVECALL) | BIT(RECEIVE));
    check_flags("SENDMESSAGE destroyprocess", 0, BIT(SEND) | BIT(TERMINATION));
    check_flags("fork", 0, fork);
    check_flags("socket", 0, BIT(CREATEPATH) | BIT(DESTROYPATH));
    check_flags("destsocket", 0, BIT(DESTROYPATH));
    check_flags("all", 0, METER_ALL_FLAGS);
    check_flags("all,-send", 0, METER_ALL_FLAGS & ~BIT(SEND));
    check_flags("-send", BIT(SEND) | BIT(RECEIVE), BIT(RECEIVE));
    check_flags("all -pc", 0, METER_EVENT_FLAGS);
    check_flags("file schedule", 0, BIT(READ) | BIT(WRITE) | BIT(SCHEDULE));
    check_flags("send PC", 0, BIT(SEND) | METER_FLAG_PC);
    check_flags("-all", METER_ALL_FLAGS, 0);
    check_flags("-send send", 0, BIT(SEND));
    check_flags("all -fork exec", 0, (METER_ALL_FLAGS & ~fork) | BIT(EXEC));
}

/* Each type that can be metered has a flag with its own name, and no other type has one. */
static void test_flags_are_the_types(void **unused)
{
    (void)unused;
    for (unsigned id = EVENT_SEND; id < EVENT_ID_END; id++) {
        const struct event_type *type = event_type(id);
        uint64_t flags = 0;
        int result = meter_flags_parse(type->name, &flags, NULL);
        bool is_event = id <= EVENT_TERMINATION ||
                        (id >= EVENT_WAKEUP && id <= EVENT_SUMMARY && id != EVENT_FLAGS);
        assert_int_equal(result, is_event ? 0 : -EINVAL);
        assert_int_equal(flags, is_event ? EVENT_FLAG(id) : 0);
        assert_int_equal(event_is_metered(id), is_event && id != EVENT_SUMMARY);
    }
}

/* Each word is accepted, none occurs twice, and the words without "all" cover every flag. */
static void test_flag_words_are_known(void **unused)
{
    uint64_t flags = 0;
    const char *word, *other;

    (void)unused;
    for (size_t i = 0; (word = meter_flag_word(i)) != NULL; i++) {
        uint64_t flags_of_word = 0;
        assert_int_equal(meter_flags_parse(word, &flags_of_word, NULL), 0);
        if (flags_of_word != METER_ALL_FLAGS)
            flags |= flags_of_word;
        for (size_t j = 0; j < i && (other = meter_flag_word(j)) != NULL; j++)
            assert_true(strcasecmp(word, other) != 0);
    }
    assert_int_equal(flags, METER_ALL_FLAGS);
}

static void check_flags_text(uint64_t flags, const char *expected)
{
    char text[METER_FLAGS_TEXT_SIZE];

    meter_flags_text(flags, text);
    assert_string_equal(text, expected);
}

/* Flags that are written are read as the same flags. */
static void test_flags_are_written(void **unused)
{
    uint64_t seed = seed_of_run("flags");

    (void)unused;
    check_flags_text(0, "");
    check_flags_text(1, "");
    check_flags_text(METER_ALL_FLAGS, "all");
    check_flags_text(UINT64_MAX, "all");
    check_flags_text(BIT(RECEIVE) | BIT(SEND), "send,receive");
    check_flags_text(METER_FLAG_PC | BIT(BLOCK), "block,pc");
    for (unsigned i = 0; i < 1000; i++) {
        char text[METER_FLAGS_TEXT_SIZE];
        uint64_t flags = random_number(&seed) & METER_ALL_FLAGS;
        /* also all but one, the longest lists */
        if (i < 64)
            flags = METER_ALL_FLAGS & ~(1ull << i);
        meter_flags_text(flags, text);
        check_flags(text, 0, flags);
    }
}

static void test_wrong_flags_are_named(void **unused)
{
    static const char *const lists[] = {
        "sends",
        "-",
        "--send",
        "send,;",
        "+send",
        "send receive, al",
        "lost",
        "-end",
        "0",
        "sendreceive",
        "a-word-that-is-very-much-longer-than-any-flag-that-there-ever-will-be"};

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct problem problem = {""};
        uint64_t flags = BIT(CONNECT);
        assert_int_equal(meter_flags_parse(lists[i], &flags, &problem), -EINVAL);
        assert_int_equal(flags, BIT(CONNECT));
        assert_non_null(strstr(problem.text, "is no meter flag"));
        assert_non_null(strstr(problem.text, "receivecall"));
        assert_null(strchr(problem.text, '\n'));
    }
    struct problem problem;
    uint64_t flags = 0;
    assert_int_equal(meter_flags_parse("send recieve", &flags, &problem), -EINVAL);
    assert_non_null(strstr(problem.text, "'recieve'"));
}

static void check_kinds(const char *list, int expected, uint32_t kinds)
{
    struct problem problem = {""};
    uint32_t found = METER_UDP;

    assert_int_equal(meter_kinds_parse(list, &found, &problem), expected);
    assert_int_equal(found, kinds);
    assert_int_equal(strstr(problem.text,
                            "is no kind of path; there are: all,tcp,udp,unix,pipe,file,mq") != NULL,
                     expected < 0);
}

/* What has a name or a number, but no address, has the same text at both ends. */
static void test_endpoints_of_files_and_queues(void **unused)
{
    static const struct {
        uint8_t kind;
        uint64_t inode;
        int64_t type;
        const char *name, *text;
    } paths[] = {
        {PATH_FILE, 7, 0, "/var/lib/x", "/var/lib/x"},
        {PATH_FILE, 7, 0, "", "inode 7"},
        {PATH_MQ_SYSV, 3, 5, "", "msqid 3 type 5"},
        {PATH_MQ_SYSV, 98304, INT64_MAX, "", "msqid 98304 type 9223372036854775807"},
        {PATH_MQ_POSIX, 12, 0, "/jobs", "/jobs priority 0"},
        {PATH_MQ_POSIX, 12, 32767, "/jobs", "/jobs priority 32767"},
    };
    char text[ENDPOINT_SIZE];

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct path_record path = {.kind = paths[i].kind, .inode = paths[i].inode};
        memcpy(path.local, &paths[i].type, sizeof(paths[i].type));
        strcpy(path.name, paths[i].name);
        assert_int_equal(path_message_type(&path), paths[i].type);
        endpoint_local(&path, text);
        assert_string_equal(text, paths[i].text);
        endpoint_remote(&path, text);
        assert_string_equal(text, paths[i].text);
    }
    /* a name that fills its field has no end */
    struct path_record path = {.kind = PATH_FILE};
    memset(path.name, 'a', sizeof(path.name));
    endpoint_local(&path, text);
    assert_int_equal(strlen(text), PATH_NAME_SIZE);
}

static void test_kinds_are_parsed(void **unused)
{
    uint32_t all = 0;
    const char *name;
    uint32_t kind;

    (void)unused;
    check_kinds("", 0, METER_UDP);
    check_kinds("tcp", 0, METER_UDP | METER_TCP);
    check_kinds("-udp UNIX", 0, METER_UNIX);
    check_kinds("all,-tcp", 0, METER_UDP | METER_UNIX | METER_PIPE | METER_MQ);
    check_kinds("all,file,mpi", 0, METER_EVERY_KIND); /* these only if they are named */
    check_kinds("tcp,pipe", 0, METER_UDP | METER_TCP | METER_PIPE);
    check_kinds("send", -EINVAL, METER_UDP);
    for (size_t i = 0; (name = meter_kind(i, &kind)) != NULL; i++) {
        uint32_t parsed = 0;
        assert_int_equal(meter_kinds_parse(name, &parsed, NULL), 0);
        assert_int_equal(parsed, kind);
        assert_int_equal(all & kind, 0);
        all |= kind;
    }
    assert_int_equal(all, METER_EVERY_KIND);
}

/* ---- which types are recorded ---- */

static void note_flags(struct recorded_types *recorded, uint64_t flags, uint32_t kinds_left_out)
{
    const struct flags_record record = {
        .header.id = EVENT_FLAGS, .meter_flags = flags, .kinds_left_out = kinds_left_out};

    recorded_note(recorded, &record.header);
}

/* Selection rules may remove records of any type, whatever the flags are. */
static void test_rules_leave_nothing_certain(void **unused)
{
    struct recorded_types recorded = {0};
    struct flags_record record = {.header.id = EVENT_FLAGS, .meter_flags = METER_ALL_FLAGS};

    (void)unused;
    recorded_note(&recorded, &record.header);
    assert_true(recorded_always(&recorded, EVENT_SENDCALL));
    record.rules = 1;
    recorded_note(&recorded, &record.header);
    assert_false(recorded_always(&recorded, EVENT_SENDCALL));
    assert_false(recorded_leaves_out(&recorded, EVENT_SENDCALL));
    record.rules = 0;
    recorded_note(&recorded, &record.header);
    assert_false(recorded_always(&recorded, EVENT_SENDCALL));
}

/* A type counts as recorded only if all processes have had it recorded all the time. */
static void test_flags_may_change(void **unused)
{
    struct recorded_types recorded = {0};
    struct machine_record machine = {.header.id = EVENT_MACHINE};
    const struct record other = {.header.id = EVENT_SEND};

    (void)unused;
    recorded_note(&recorded, &machine.header); /* says nothing */
    assert_false(recorded_always(&recorded, EVENT_SEND));
    assert_false(recorded_leaves_out(&recorded, EVENT_SEND));
    machine.meter_flags = BIT(SEND) | BIT(RECEIVE);
    recorded_note(&recorded, &machine.header);
    recorded_note(&recorded, &other.header);
    assert_true(recorded_always(&recorded, EVENT_SEND));
    assert_true(recorded_leaves_out(&recorded, EVENT_BLOCK));
    note_flags(&recorded, BIT(SEND) | BIT(BLOCK), METER_UDP);
    assert_true(recorded_always(&recorded, EVENT_SEND));
    assert_true(recorded_leaves_out(&recorded, EVENT_RECEIVE));
    assert_true(recorded_leaves_out(&recorded, EVENT_BLOCK));
    note_flags(&recorded, METER_ALL_FLAGS, 0);
    assert_true(recorded_leaves_out(&recorded, EVENT_RECEIVE));
    assert_int_equal(recorded.ever, METER_ALL_FLAGS);
    assert_int_equal(recorded.kinds_left_out, METER_UDP);
    assert_int_equal(recorded_kinds_partly(&recorded), METER_UDP);
}

/* The same for kinds of paths; who records nothing records no kind. */
static void test_kinds_may_change(void **unused)
{
    struct recorded_types recorded = {0};

    (void)unused;
    note_flags(&recorded, BIT(SEND), METER_EVERY_KIND & ~METER_TCP);
    assert_int_equal(recorded_kinds_partly(&recorded), 0);
    note_flags(&recorded, 0, METER_EVERY_KIND & ~METER_UNIX);
    assert_int_equal(recorded_kinds_partly(&recorded), METER_TCP);
    note_flags(&recorded, BIT(SEND), METER_EVERY_KIND & ~(METER_PIPE | METER_TCP));
    assert_int_equal(recorded_kinds_partly(&recorded), METER_TCP | METER_PIPE);
}

/* ---- identities ---- */

/* As the C library writes them. */
static void test_endpoints_of_ipv4(void **unused)
{
    const uint16_t ports[] = {0, 9, 10, 80, 999, 1000, 9999, 10000, 65535};
    uint64_t state = seed_of_run("endpoints");

    (void)unused;
    for (unsigned round = 0; round < 2000; round++) {
        struct path_record path = {.kind = PATH_TCP, .family = AF_INET};
        char name[INET_ADDRSTRLEN], expected[ENDPOINT_SIZE], text[ENDPOINT_SIZE];
        for (unsigned i = 0; i < 4; i++)
            path.local[i] = path.remote[3 - i] =
                (uint8_t)random_below(&state, random_below(&state, 3) == 0 ? 11 : 256);
        path.local_port =
            round < ARRAY_SIZE(ports) ? ports[round] : (uint16_t)random_below(&state, 65536);
        path.remote_port = (uint16_t)random_below(&state, 65536);
        snprintf(expected, sizeof(expected), "%s:%u",
                 inet_ntop(AF_INET, path.local, name, sizeof(name)), path.local_port);
        endpoint_local(&path, text);
        assert_string_equal(text, expected);
        snprintf(expected, sizeof(expected), "%s:%u",
                 inet_ntop(AF_INET, path.remote, name, sizeof(name)), path.remote_port);
        endpoint_remote(&path, text);
        assert_string_equal(text, expected);
    }
}

static void test_identities_keep_the_latest_of_each_number(void **unused)
{
    enum { ORIGINS = 3, NUMBERS = 50, STEPS = 5000 };
    static uint32_t pids[ORIGINS][NUMBERS], cookies[ORIGINS][NUMBERS];
    uint64_t state = seed_of_run("identities");
    struct identities *identities;

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t step = 1; step <= STEPS; step++) {
        uint32_t origin = (uint32_t)random_below(&state, ORIGINS);
        uint32_t number = (uint32_t)random_below(&state, NUMBERS);
        struct stream_record stream = {.header = {.id = EVENT_STREAM, .stream = number * 0x1000001},
                                       .pid = step};
        struct path_record path = {
            .header.id = EVENT_PATH, .path = number * 0x1000001, .cookie = step};
        bool is_path = random_below(&state, 2) == 0;
        struct event event = {.header = is_path ? &path.header : &stream.header, .origin = origin};
        assert_int_equal(identities_add(identities, &event), 0);
        *(is_path ? &cookies[origin][number] : &pids[origin][number]) = step;
    }
    for (uint32_t origin = 0; origin < ORIGINS; origin++)
        for (uint32_t number = 0; number < NUMBERS; number++) {
            const struct stream_record *stream =
                identities_stream(identities, origin, number * 0x1000001);
            const struct path_record *path =
                identities_path(identities, origin, number * 0x1000001);
            assert_int_equal(stream == NULL ? 0 : stream->pid, pids[origin][number]);
            assert_int_equal(path == NULL ? 0 : path->cookie, cookies[origin][number]);
        }
    assert_null(identities_machine(identities, 0));
    assert_null(identities_image(identities, 0, 0));
    identities_free(identities);
    identities_free(NULL);
}

/* Ends other streams and paths until all that ended before are forgotten. */
static void fade_others(struct identities *identities)
{
    for (uint32_t i = 0; i < IDENTITIES_FADING; i++)
        identities_fade_path(identities, 3, i);
}

/* Of this many paths and streams that come and go, only the live ones are known, and memory is reused: their copies
 * do not move, and others take the places of the forgotten ones. */
static void test_identities_forget(void **unused)
{
    struct identities *identities;
    const struct path_record *kept;
    struct stream_record stream = {.header = {.id = EVENT_STREAM, .stream = 7}, .pid = 70};
    struct path_record path = {.header = {.id = EVENT_PATH}, .path = 1, .cookie = 1};
    const struct event of_stream = {&stream.header, 1, 0};
    const struct event of_path = {&path.header, 1, 0};

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    assert_int_equal(identities_add(identities, &of_stream), 0);
    assert_int_equal(identities_add(identities, &of_path), 0);
    kept = identities_path(identities, 1, 1);
    for (uint32_t i = 2; i < 40000; i++) {
        path.path = i;
        path.cookie = i;
        assert_int_equal(identities_add(identities, &of_path), 0);
        assert_int_equal(identities_path(identities, 1, i)->cookie, i);
        if (i > 10)
            identities_fade_path(identities, 1, i - 8);
    }
    assert_ptr_equal(identities_path(identities, 1, 1), kept);
    assert_int_equal(kept->cookie, 1);
    assert_null(identities_path(identities, 1, 30000));
    for (uint32_t i = 39992 - IDENTITIES_FADING; i < 40000; i++)
        assert_int_equal(identities_path(identities, 1, i)->cookie, i);
    identities_fade_path(identities, 2, 39999); /* of another origin */
    fade_others(identities);
    assert_non_null(identities_path(identities, 1, 39999));
    identities_fade_path(identities, 1, 39999);
    identities_fade_path(identities, 1, 39999);
    fade_others(identities);
    assert_null(identities_path(identities, 1, 39999));
    assert_int_equal(identities_add(identities, &of_path), 0);
    assert_int_equal(identities_path(identities, 1, 39999)->cookie, 39999);
    assert_int_equal(identities_stream(identities, 1, 7)->pid, 70);
    identities_fade_stream(identities, 1, 7);
    fade_others(identities);
    assert_null(identities_stream(identities, 1, 7));
    identities_free(identities);
}

/* What has ended is known until this many others have ended, of any kind and origin. */
static void test_identities_fade(void **unused)
{
    struct identities *identities;
    struct stream_record stream = {.header = {.id = EVENT_STREAM, .stream = 7}, .pid = 70};
    struct path_record path = {.header = {.id = EVENT_PATH}, .path = 7};
    const struct event of_stream = {&stream.header, 1, 0};
    const struct event of_path = {&path.header, 2, 0};

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    assert_int_equal(identities_add(identities, &of_stream), 0);
    assert_int_equal(identities_add(identities, &of_path), 0);
    identities_fade_stream(identities, 1, 7);
    identities_fade_path(identities, 2, 7);
    for (uint32_t i = 0; i < IDENTITIES_FADING - 2; i++)
        identities_fade_path(identities, 1, 100 + i);
    assert_int_equal(identities_stream(identities, 1, 7)->pid, 70);
    identities_fade_stream(identities, 1, 99); /* unknown */
    assert_null(identities_stream(identities, 1, 7));
    assert_int_equal(identities_path(identities, 2, 7)->path, 7);
    identities_fade_stream(identities, 1, 99);
    assert_null(identities_path(identities, 2, 7));
    assert_int_equal(identities_add(identities, &of_path), 0);
    identities_forget_path(identities, 1, 7); /* of another origin */
    assert_int_equal(identities_path(identities, 2, 7)->path, 7);
    identities_forget_path(identities, 2, 7);
    assert_null(identities_path(identities, 2, 7));
    identities_free(identities);
}

/* What ends is forgotten after a while, unless a selection has removed which path it was. */
static void test_ends_fade(void **unused)
{
    struct identities *identities;
    struct stream_record stream = {.header = {.id = EVENT_STREAM, .stream = 7}, .pid = 70};
    struct path_record path = {.header = {.id = EVENT_PATH}, .path = 7};
    struct record end = {.header = {.id = EVENT_TERMINATION, .stream = 7}};
    struct record closed = {.header = {.id = EVENT_DESTROYPATH}, .message = {.path = 7}};
    const struct event of_stream = {&stream.header, 1, 0};
    const struct event of_path = {&path.header, 1, 0};
    const struct event ends = {&end.header, 1, 0};
    struct event closes = {&closed.header, 1, 0};

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    assert_int_equal(identities_add(identities, &of_stream), 0);
    assert_int_equal(identities_add(identities, &of_path), 0);
    identities_fade(identities, &of_stream);
    identities_fade(identities, &ends);
    closes.absent = EVENT_BODY_FIELD_BIT(0);
    identities_fade(identities, &closes);
    fade_others(identities);
    assert_null(identities_stream(identities, 1, 7));
    assert_int_equal(identities_path(identities, 1, 7)->path, 7);
    closes.absent = 0;
    identities_fade(identities, &closes);
    fade_others(identities);
    assert_null(identities_path(identities, 1, 7));
    identities_free(identities);
}

/* A path is known as long as one of its two users needs it, in either order. */
static void test_identities_are_shared(void **unused)
{
    struct identities *identities;
    struct path_record path = {.header = {.id = EVENT_PATH}, .path = 7};
    const struct event event = {&path.header, 2, 0};

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    identities_keep_path(identities, 2, 7); /* unknown */
    assert_int_equal(identities_add(identities, &event), 0);
    identities_forget_path(identities, 2, 7);
    assert_null(identities_path(identities, 2, 7));
    assert_int_equal(identities_add(identities, &event), 0);
    identities_keep_path(identities, 2, 7);
    identities_forget_path(identities, 2, 7);
    assert_int_equal(identities_path(identities, 2, 7)->path, 7);
    identities_forget_path(identities, 2, 7);
    path.local_port = 9; /* described again */
    assert_int_equal(identities_add(identities, &event), 0);
    identities_release_path(identities, 2, 7);
    assert_int_equal(identities_path(identities, 2, 7)->local_port, 9);
    identities_keep_path(identities, 2, 7);
    identities_fade_path(identities, 2, 7);
    fade_others(identities);
    assert_int_equal(identities_path(identities, 2, 7)->path, 7);
    identities_release_path(identities, 2, 7);
    assert_null(identities_path(identities, 2, 7));
    identities_release_path(identities, 2, 7);
    identities_free(identities);
}

/* A path that cannot have a name keeps none, and a path with a name keeps it when it replaces one without. */
static void test_names_of_paths_are_kept(void **unused)
{
    static const struct {
        uint8_t kind, family;
        bool named;
    } paths[] = {{PATH_TCP, AF_INET, false},
                 {PATH_UDP, AF_INET6, false},
                 {PATH_UNIX_STREAM, AF_UNIX, true},
                 {PATH_TCP, AF_UNIX, true}, /* invalid, but the name is shown */
                 {PATH_FIFO, 0, true},
                 {99, 0, true}};
    struct identities *identities;
    struct path_record path = {.header = {.id = EVENT_PATH}};
    const struct event event = {&path.header, 2, 0};

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t i = 0; i < 6000; i++) {
        path.path = i;
        path.kind = paths[i * 7 % 6].kind;
        path.family = paths[i * 7 % 6].family;
        path.cookie = i;
        snprintf(path.name, sizeof(path.name), "/run/%" PRIu32 "/%0*d", i, 90, 0);
        assert_int_equal(path_may_have_name(&path), paths[i * 7 % 6].named);
        assert_int_equal(identities_add(identities, &event), 0);
        if (i >= 1000)
            identities_forget_path(identities, 2, i - 1000);
    }
    for (uint32_t i = 5000; i < 6000; i++) {
        const struct path_record *kept = identities_path(identities, 2, i);
        char name[PATH_NAME_SIZE];
        assert_int_equal(kept->cookie, i);
        assert_int_equal(kept->kind, paths[i * 7 % 6].kind);
        snprintf(name, sizeof(name), "/run/%" PRIu32 "/%0*d", i, 90, 0);
        if (path_may_have_name(kept))
            assert_string_equal(kept->name, name);
    }
    path.path = 5004; /* TCP, which it cannot have been */
    path.kind = PATH_FIFO;
    path.family = 0;
    identities_keep_path(identities, 2, 5004);
    identities_forget_path(identities, 2, 5004);
    assert_int_equal(identities_add(identities, &event), 0);
    assert_int_equal(identities_path(identities, 2, 5004)->kind, PATH_TCP);
    /* the one that recorded it again still needs it */
    identities_release_path(identities, 2, 5004);
    assert_int_equal(identities_path(identities, 2, 5004)->kind, PATH_TCP);
    identities_free(identities);
}

/* Every third of many paths is kept, while all are forgotten: the tables are cleared in between. */
static void test_kept_paths_outlive_others(void **unused)
{
    struct identities *identities;
    struct path_record path = {.header = {.id = EVENT_PATH}};
    const struct event event = {&path.header, 2, 0};

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t i = 0; i < 9000; i++) {
        path.path = path.inode = i;
        assert_int_equal(identities_add(identities, &event), 0);
        if (i % 3 == 0)
            identities_keep_path(identities, 2, i);
        identities_forget_path(identities, 2, i);
    }
    for (uint32_t i = 0; i < 9000; i++) {
        const struct path_record *known = identities_path(identities, 2, i);
        assert_int_equal(known != NULL, i % 3 == 0);
        assert_true(known == NULL || known->inode == i);
        identities_release_path(identities, 2, i);
        assert_null(identities_path(identities, 2, i));
    }
    identities_free(identities);
}

/* ---- names of users and cgroups ---- */

static struct name_record make_name(enum name_kind kind, uint64_t number, const char *name)
{
    struct name_record record = {.header.id = EVENT_NAME, .number = number, .kind = kind};
    size_t length = strlen(name);

    memcpy(record.name, name, length < NAME_SIZE ? length : NAME_SIZE);
    return record;
}

static void test_identities_know_names(void **unused)
{
    const uint64_t long_number = 1000 + (1ULL << 40);
    char too_long[NAME_SIZE + 1];
    memset(too_long, 'x', NAME_SIZE);
    too_long[NAME_SIZE] = '\0';
    struct name_record records[] = {
        make_name(NAME_USER, 1000, "anna"),
        make_name(NAME_CGROUP, 1000, "/a"),
        make_name(NAME_CGROUP, long_number, "/b"),
        make_name(NAME_USER, 1, too_long),
        make_name(NAME_USER, 2, ""),
        make_name((enum name_kind)7, 3, "nobody's"),
    };
    struct identities *identities;

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        struct event event = {.header = &records[i].header, .origin = 2};
        assert_int_equal(identities_add(identities, &event), 0);
    }
    assert_string_equal(identities_user_name(identities, 2, 1000), "anna");
    assert_string_equal(identities_cgroup_name(identities, 2, 1000), "/a");
    assert_string_equal(identities_cgroup_name(identities, 2, long_number), "/b");
    assert_int_equal(strlen(identities_user_name(identities, 2, 1)), NAME_SIZE - 1);
    assert_null(identities_user_name(identities, 2, 2));
    assert_null(identities_user_name(identities, 2, 3));
    assert_null(identities_cgroup_name(identities, 2, 3));
    assert_null(identities_user_name(identities, 1, 1000)); /* of another machine */
    assert_null(identities_user_name(identities, 2, 4));
    identities_free(identities);
}

/* ---- command lines ---- */

static void add_stream(struct identities *identities, uint32_t number, uint32_t process,
                       uint32_t parent)
{
    const struct stream_record stream = {.header = {.id = EVENT_STREAM, .stream = number},
                                         .process = process,
                                         .parent = parent,
                                         .pid = process,
                                         .tid = number};
    const struct event event = {.header = &stream.header, .origin = 2};

    assert_int_equal(identities_add(identities, &event), 0);
}

static void add_command(struct identities *identities, uint64_t process, const char *text)
{
    const struct name_record name = make_name(NAME_COMMAND, process, text);
    const struct event event = {.header = &name.header, .origin = 2};

    assert_int_equal(identities_add(identities, &event), 0);
}

static void test_identities_know_command_lines(void **unused)
{
    struct identities *identities;

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    add_command(identities, 5, "sh -c x");
    add_stream(identities, 5, 5, 0);
    add_stream(identities, 6, 5, 5); /* a thread, which creates a process */
    add_stream(identities, 7, 7, 6);
    assert_string_equal(identities_command(identities, 2, 5), "sh -c x");
    assert_string_equal(identities_command(identities, 2, 7), "sh -c x");
    assert_null(identities_command(identities, 2, 6)); /* no process */
    assert_null(identities_command(identities, 1, 5)); /* of another machine */
    assert_null(identities_user_name(identities, 2, 5));
    add_command(identities, 5, "sh: a title");
    add_stream(identities, 7, 7, 6); /* again: it keeps what it began with */
    add_stream(identities, 8, 8, 5);
    assert_string_equal(identities_command(identities, 2, 5), "sh: a title");
    assert_string_equal(identities_command(identities, 2, 7), "sh -c x");
    assert_string_equal(identities_command(identities, 2, 8), "sh: a title");
    add_command(identities, 8, "true");
    add_command(identities, 8 + (1ULL << 32), "false"); /* no process has this number */
    assert_string_equal(identities_command(identities, 2, 8), "true");
    add_command(identities, 9, "");
    assert_null(identities_command(identities, 2, 9));
    identities_free(identities);
}

/* Those of processes that ended long ago are forgotten, and their memory is used again. */
static void test_command_lines_fade(void **unused)
{
    const uint32_t count = 3 * IDENTITIES_FADING;
    struct identities *identities;
    char text[32];

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t i = 1; i <= count; i++) {
        snprintf(text, sizeof(text), "program %u", i);
        add_command(identities, i, text);
        add_stream(identities, i, i, 0);
        identities_fade_stream(identities, 2, i);
    }
    assert_null(identities_command(identities, 2, count - IDENTITIES_FADING));
    for (uint32_t i = count - IDENTITIES_FADING + 1; i <= count; i++) {
        snprintf(text, sizeof(text), "program %u", i);
        assert_string_equal(identities_command(identities, 2, i), text);
    }
    identities_free(identities);
}

/* A STREAM of this process, with its number. */
static struct stream_record own_stream(uint32_t number, uint32_t parent)
{
    struct stream_record stream = {.header = {.time = 77, .id = EVENT_STREAM, .stream = number},
                                   .process = number,
                                   .parent = parent,
                                   .pid = (uint32_t)getpid(),
                                   .tid = (uint32_t)getpid()};
    char text[1024] = "";
    FILE *file = fopen("/proc/self/stat", "re");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    char *at = strrchr(text, ')');
    for (unsigned field = 2; field < 22; field++)
        at = strchr(at + 1, ' ');
    stream.start = strtoull(at, NULL, 10) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)) -
                   (clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC));
    return stream;
}

static void test_command_lines_are_read_once(void **unused)
{
    struct commands commands = {0};
    struct stream_record stream = own_stream(3, 0), child = own_stream(4, 3);
    struct name_record name;

    (void)unused;
    assert_true(commands_before(&commands, &stream.header, &name));
    assert_int_equal(name.header.id, EVENT_NAME);
    assert_int_equal(name.header.time, 77);
    assert_int_equal(name.number, 3);
    assert_int_equal(name.kind, NAME_COMMAND);
    assert_int_equal(strncmp(name.name, program_invocation_name,
                             strnlen(program_invocation_name, sizeof(name.name) - 1)),
                     0);
    assert_false(commands_before(&commands, &stream.header, &name));
    assert_false(commands_before(&commands, &child.header, &name)); /* as its creator */
    assert_false(commands_changed(&commands, 1077, 1000, 99, &name));
    commands_done(&commands);
    /* the meter has reported it */
    const struct name_record told = make_name(NAME_COMMAND, 3, "something else");
    assert_false(commands_before(&commands, &told.header, &name));
    assert_false(commands_before(&commands, &stream.header, &name));
    assert_true(commands_changed(&commands, 1077, 0, 99, &name)); /* it was wrong */
    assert_false(commands_changed(&commands, 1077, 0, 99, &name));
    commands_done(&commands);
}

static void test_titles_are_looked_for_once(void **unused)
{
    struct commands commands = {0};
    struct stream_record stream = own_stream(3, 0);
    const struct record end = {.header = {.id = EVENT_TERMINATION, .stream = 3},
                               .termination = {.last = 1}};
    struct name_record name;
    char first = program_invocation_name[0];

    (void)unused;
    assert_true(commands_before(&commands, &stream.header, &name));
    program_invocation_name[0] = '*';                                 /* a title */
    assert_false(commands_changed(&commands, 1076, 1000, 99, &name)); /* it is too young */
    assert_true(commands_changed(&commands, 1077, 1000, 99, &name));
    assert_int_equal(name.name[0], '*');
    assert_int_equal(name.header.time, 99);
    assert_false(commands_changed(&commands, 1077, 1000, 99, &name)); /* there is no other one */
    program_invocation_name[0] = '+';
    assert_false(commands_changed(&commands, 9999, 1000, 99, &name));
    assert_true(commands_changed(&commands, 9999, 0, 99, &name)); /* the recording ends */
    assert_false(commands_changed(&commands, 9999, 0, 99, &name));
    program_invocation_name[0] = first;
    assert_false(commands_before(&commands, &end.header, &name));
    assert_false(commands_changed(&commands, 9999, 0, 99, &name));
    assert_int_equal(commands.processes.count, 0);
    commands_done(&commands);
}

/* Its next program is not metered. */
static void test_a_process_that_is_left_is_forgotten(void **unused)
{
    struct commands commands = {0};
    struct stream_record stream = own_stream(3, 0);
    const struct record exec = {.header = {.id = EVENT_EXEC, .stream = 3}, .exec = {.image = 7}};
    const struct record left = {.header = {.id = EVENT_EXEC, .stream = 3}, .exec = {.left = 1}};
    struct name_record name;

    (void)unused;
    assert_true(commands_before(&commands, &stream.header, &name));
    assert_false(commands_before(&commands, &exec.header, &name));
    assert_int_equal(commands.processes.count, 1);
    assert_false(commands_before(&commands, &left.header, &name));
    assert_int_equal(commands.processes.count, 0);
    commands_done(&commands);
}

/* A process that has ended, and whose pid another one has, is not mistaken for that. */
static void test_a_pid_is_no_process(void **unused)
{
    struct commands commands = {0};
    struct stream_record stream = own_stream(3, 0);
    struct name_record name;

    (void)unused;
    stream.start -= 1000000000;
    assert_false(commands_before(&commands, &stream.header, &name));
    assert_false(commands_changed(&commands, 9999, 1000, 99, &name));
    assert_int_equal(commands.processes.count, 0);
    commands_done(&commands);
}

/* How many names come before a STREAM of this user and cgroup. */
static size_t names_of(struct names *names, uint32_t user, uint64_t cgroup,
                       struct name_record found[2])
{
    struct stream_record stream = {
        .header = {.time = 77, .id = EVENT_STREAM}, .user = user, .cgroup = cgroup};

    memset(found, 0, 2 * sizeof(*found));
    size_t count = names_before(names, &stream.header, found);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].header.id, EVENT_NAME);
        assert_int_equal(found[i].header.time, 77);
    }
    return count;
}

/* Each user of /etc/passwd has the name given there, and is recorded once. */
static void test_users_have_their_names(void **unused)
{
    struct names names = {0};
    struct name_record found[2];
    FILE *users = fopen("/etc/passwd", "re");
    char line[512];
    char name[128];
    unsigned user;
    unsigned told = 0;

    (void)unused;
    assert_non_null(users);
    while (fgets(line, sizeof(line), users) != NULL) {
        if (sscanf(line, "%127[^:]:%*[^:]:%u:", name, &user) != 2)
            continue;
        size_t count = names_of(&names, user, 0, found);
        if (count == 0)
            continue; /* a second name of the same user */
        assert_string_equal(found[0].name, name);
        assert_int_equal(found[0].kind, NAME_USER);
        assert_int_equal(found[0].number, user);
        assert_int_equal(names_of(&names, user, 0, found), 0);
        told++;
    }
    fclose(users);
    assert_true(told > 0);
    assert_int_equal(names_of(&names, 4012345678u, 0, found), 0); /* no user has this number */
    struct record other = {.header.id = EVENT_SEND};
    assert_int_equal(names_before(&names, &other.header, found), 0);
    names_done(&names);
}

/* However many numbers come, a bounded number of them is remembered. */
static void test_names_are_remembered_in_bounds(void **unused)
{
    struct names names = {0};
    struct name_record found[2];

    (void)unused;
    names_of(&names, 0, 0, found);
    for (uint32_t i = 0; i < 65535; i++)
        assert_int_equal(intern_add(&names.users, 1000000 + i), i + 1);
    assert_int_equal(names_of(&names, 0, 0, found), 1); /* recorded again */
    assert_true(names.users.count < 65536);
    names_done(&names);
}

/* A cgroup created by this test, two levels deep; "" without the permission. */
static void make_cgroup(char path[300])
{
    char line[1024];
    char place[200] = "";
    FILE *mounts = fopen("/proc/mounts", "re");

    assert_non_null(mounts);
    while (fgets(line, sizeof(line), mounts) != NULL)
        if (strstr(line, " cgroup2 ") == NULL || sscanf(line, "%*s %199s", place) != 1)
            place[0] = '\0';
        else
            break;
    fclose(mounts);
    snprintf(path, 300, "%s/dpm-event-test-%d", place, getpid());
    if (place[0] == '\0' || mkdir(path, 0755) < 0) {
        path[0] = '\0';
        return;
    }
    snprintf(path, 300, "%s/dpm-event-test-%d/inner one", place, getpid());
    assert_int_equal(mkdir(path, 0755), 0);
}

/* Looks up a cgroup by its number; returns 0 if it has the expected name. */
static int check_cgroup(uint64_t number, const char *wanted)
{
    struct names names = {0};
    struct name_record found[2];
    size_t count = names_of(&names, 4012345678u, number, found);
    bool right = count == 1 && found[0].kind == NAME_CGROUP && found[0].number == number &&
                 strcmp(found[0].name, wanted) == 0;

    names_done(&names);
    return right ? 0 : 1;
}

static void test_cgroups_have_their_paths(void **unused)
{
    struct name_record found[2];
    struct names names = {0};
    struct stat outer, inner;
    char path[300];
    char wanted[100];
    int status = 1;

    (void)unused;
    make_cgroup(path);
    if (path[0] == '\0')
        skip();
    stat(path, &inner);
    snprintf(wanted, sizeof(wanted), "/dpm-event-test-%d/inner one", getpid());
    int by_handle = check_cgroup(inner.st_ino, wanted);
    pid_t child = fork(); /* without privilege it is searched for */
    if (child == 0)
        _exit(setuid(65534) < 0 ? 2 : check_cgroup(inner.st_ino, wanted));
    waitpid(child, &status, 0);
    rmdir(path);
    *strrchr(path, '/') = '\0';
    stat(path, &outer);
    *strrchr(wanted, '/') = '\0';
    int of_outer = check_cgroup(outer.st_ino, wanted);
    rmdir(path);
    assert_int_equal(by_handle, 0);
    assert_int_equal(status, 0);
    assert_int_equal(of_outer, 0);
    /* A removed cgroup has no name; the root has one. */
    assert_int_equal(names_of(&names, 4012345678u, inner.st_ino, found), 0);
    *strrchr(path, '/') = '\0';
    stat(path, &outer);
    assert_int_equal(check_cgroup(outer.st_ino, "/"), 0);
    names_done(&names);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"

static void test_containers_have_short_names(void **unused)
{
    static const struct {
        const char *cgroup;
        const char *name;
        const char *leads_to; /* the significant part of the path */
    } cases[] = {
        {"/", "/", "/"},
        {"", "/", ""},
        {"/web", "web", NULL},
        {"/site/web", "web", NULL},
        {"/docker/" ID, "0123456789ab", NULL},
        {"/docker/" ID "/init.scope", "0123456789ab", "/docker/" ID},
        {"/docker/" ID "/system.slice/nginx.service", "0123456789ab", "/docker/" ID},
        {"/system.slice/docker-" ID ".scope", "0123456789ab", NULL},
        {"/machine.slice/libpod-" ID ".scope/container", "0123456789ab",
         "/machine.slice/libpod-" ID ".scope"},
        {"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", NULL},
        {"/kubepods/burstable/pod1-2-3/" ID, "0123456789ab", NULL},
        {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", "0123456789ab", NULL},
        {"/kubepods.slice/kubepods-pod1.slice:cri-containerd:" ID, "0123456789ab", NULL},
        {"/docker/fedc" ID, "fedc" ID, NULL}, /* too long for an id */
        {"/docker/" ID "/docker/fedcba9876543210"
         "fedcba9876543210"
         "fedcba9876543210"
         "fedcba9876543210",
         "fedcba987654", NULL}, /* one inside the other */
        {"/system.slice/nginx.service", "nginx.service", NULL},
        {"/system.slice/nginx.service/workers", "nginx.service", "/system.slice/nginx.service"},
        {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", NULL},
        {"/user.slice/user@1.service/app.slice/editor.service", "editor.service", NULL},
        {"/user.slice", "user.slice", NULL},
        {"/.service", ".service", NULL},
        {"//a//b//", "b", "//a//b"},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char name[CONTAINER_SIZE];
        size_t length = container_name(cases[i].cgroup, name);
        const char *leads_to = cases[i].leads_to != NULL ? cases[i].leads_to : cases[i].cgroup;
        assert_string_equal(name, cases[i].name);
        if (strcmp(leads_to, "/") != 0)
            assert_int_equal(length, strlen(leads_to));
    }
}

/* For any path: a name that is part of it and fits, and a beginning of the path. */
static void test_any_path_has_a_short_name(void **unused)
{
    uint64_t state = seed_of_run("containers");

    (void)unused;
    for (unsigned round = 0; round < 20000; round++) {
        static const char *const parts[] = {"/", "a", ".scope", ".service", "-", ID, "docker"};
        char path[NAME_SIZE] = "";
        char name[CONTAINER_SIZE];
        for (unsigned i = 0; i < 8; i++) {
            const char *part = parts[random_below(&state, ARRAY_SIZE(parts))];
            if (strlen(path) + strlen(part) < sizeof(path))
                strcat(path, part);
        }
        size_t length = container_name(path, name);
        assert_true(length <= strlen(path));
        assert_true(strcmp(name, "/") == 0 || strstr(path, name) != NULL);
        assert_true(name[0] != '\0');
        /* What is inside a container belongs to it, unless it is a container itself. */
        char within[NAME_SIZE + 8];
        char same[CONTAINER_SIZE];
        snprintf(within, sizeof(within), "%.*s/x", (int)length, path);
        container_name(within, same);
        const char *suffix = strstr(name, ".service");
        if ((suffix > name && suffix[8] == '\0') || strcmp(name, "0123456789ab") == 0)
            assert_string_equal(same, name);
    }
}

static void add_identity(struct identities *identities, uint32_t origin,
                         const struct record_header *header)
{
    struct event event = {.header = header, .origin = origin};

    assert_int_equal(identities_add(identities, &event), 0);
}

/* A program's image is identified by its file, wherever it is loaded; a library's PC by the image. */
static void test_procedures_of_very_many_programs(void **unused)
{
    const uint32_t programs = 70000; /* executed */
    struct identities *identities;

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t number = 1; number <= programs; number++) {
        struct image_record image = {
            .header.id = EVENT_IMAGE, .image = number, .device = 5, .inode = 77, .load = 0x1000};
        add_identity(identities, 1, &image.header);
    }
    struct module_record module = {
        .header.id = EVENT_MODULE, .module = 4, .device = 5, .inode = 77, .text = 0x1000};
    struct procedure_record own = {
        .header.id = EVENT_PROCEDURE, .module = 4, .address = 0x1030, .name = "own"};
    struct procedure_record librarys = {.header.id = EVENT_PROCEDURE,
                                        .module = 4,
                                        .image = programs,
                                        .address = 0x7fff00001030,
                                        .name = "library's"};
    add_identity(identities, 1, &module.header);
    add_identity(identities, 1, &own.header);
    add_identity(identities, 1, &librarys.header);
    assert_string_equal(identities_procedure_of(identities, 1, programs, 0x1030, NULL)->name,
                        "own");
    assert_string_equal(
        identities_procedure_of(identities, 1, programs, 0x7fff00001030, NULL)->name, "library's");
    assert_null(identities_procedure_of(identities, 1, 1, 0x7fff00001030, NULL));
    identities_free(identities);
}

static void test_procedures_are_found_by_stream_and_pc(void **unused)
{
    struct identities *identities;
    const struct module_record *module = NULL;

    (void)unused;
    assert_int_equal(identities_new(&identities), 0);
    for (uint32_t number = 1; number <= 2; number++) {
        struct image_record image = {.header.id = EVENT_IMAGE,
                                     .image = number,
                                     .device = 5,
                                     .inode = 77,
                                     .load = 0x10000 * number};
        struct stream_record stream = {.header = {.id = EVENT_STREAM, .stream = 10 + number},
                                       .image = number};
        add_identity(identities, 1, &image.header);
        add_identity(identities, 1, &stream.header);
    }
    assert_null(identities_procedure(identities, 1, 11, 0x10030, &module));
    struct module_record program = {
        .header.id = EVENT_MODULE, .module = 4, .device = 5, .inode = 77, .text = 0x1000};
    struct module_record library = {
        .header.id = EVENT_MODULE, .module = 5, .device = 5, .inode = 78};
    struct procedure_record own = {
        .header.id = EVENT_PROCEDURE, .module = 4, .address = 0x1030, .name = "own"};
    struct procedure_record others = {
        .header.id = EVENT_PROCEDURE, .module = 5, .image = 2, .address = 0x7fff00001030};
    add_identity(identities, 1, &program.header);
    add_identity(identities, 1, &library.header);
    add_identity(identities, 1, &own.header);
    add_identity(identities, 1, &others.header);

    for (uint32_t number = 1; number <= 2; number++) {
        const struct procedure_record *found =
            identities_procedure(identities, 1, 10 + number, 0x10000 * number + 0x30, &module);
        assert_non_null(found);
        assert_string_equal(found->name, "own");
        assert_int_equal(module->module, 4);
        assert_null(
            identities_procedure(identities, 1, 10 + number, 0x10000 * number + 0x31, NULL));
    }
    assert_non_null(identities_procedure(identities, 1, 12, 0x7fff00001030, &module));
    assert_int_equal(module->module, 5);
    assert_null(identities_procedure(identities, 1, 11, 0x7fff00001030, NULL)); /* other image */
    assert_null(identities_procedure(identities, 0, 11, 0x10030, NULL));        /* other trace */
    assert_null(identities_procedure(identities, 1, 99, 0x10030, NULL));        /* no such stream */
    others.address = UINT64_MAX; /* may occur in a file, but is no PC */
    add_identity(identities, 1, &others.header);
    identities_free(identities);
}

static void test_processes_are_meant_by_pid_or_name(void **state)
{
    static const char shortly[STREAM_NAME_SIZE] = "redis-server";
    static const char cut[STREAM_NAME_SIZE] = "filesystem-inte"; /* rpreter */

    (void)state;
    assert_true(process_is_meant("4711", 4711, shortly));
    assert_true(process_is_meant("redis-server", 4711, shortly));
    assert_true(process_is_meant("filesystem-interpreter", 4711, cut));
    assert_true(process_is_meant("filesystem-inte", 4711, cut));
    assert_false(process_is_meant("471", 4711, shortly));
    assert_false(process_is_meant("redis", 4711, shortly));
    assert_false(process_is_meant("redis-server-2", 4711, shortly));
    assert_false(process_is_meant("filesystem-int", 4711, cut));
    assert_false(process_is_meant("", 4711, shortly));
}

static void expect_label(const char *name, const char *command, const char *expected)
{
    char label[PROCESS_LABEL_SIZE];

    process_label(name, command, label);
    assert_string_equal(label, expected);
}

static void a_label_tells_processes_of_one_name_apart(void **state)
{
    (void)state;
    expect_label("sh", NULL, "sh");
    expect_label("sh", "", "sh");
    expect_label("gzip", "/usr/bin/gzip", "gzip");
    expect_label("sleep", "sleep 60", "sleep 60");
    expect_label("python3", "/usr/bin/python3 -u jobs/worker.py --queue 3",
                 "python3 worker.py --queue 3");
    expect_label("java", "java -cp a.jar Main x", "java Main x");
    expect_label("item.sh", "/bin/sh ./item.sh 5 6", "item.sh 5 6");
    expect_label("a-long-script-n", "bash a-long-script-named.sh x", "a-long-script-n x");
    expect_label("postgres", "postgres: checkpointer ", "postgres: checkpointer");
    expect_label("nginx", "nginx: master process /usr/sbin/nginx", "nginx: master...r/sbin/nginx");
    expect_label("0123456789abcdef", "x", "0123456789abcdef");
    /* what is compiled, if not all fits */
    expect_label(
        "cc1",
        "/usr/lib/gcc/cc1 -quiet -imultiarch x86_64-linux-gnu slow.c -quiet -dumpbase slow.c "
        "-dumpbase-ext .c -O2 -o /tmp/ccxW45Rl.s",
        "cc1 slow.c");
    expect_label("as", "as --64 -o objects/slow.o /tmp/ccxW45Rl.s", "as objects/slow.o");
    expect_label("gcc", "gcc -O2 -c -o slow.o slow.c", "gcc -O2 -c -o slow.o slow.c");
    expect_label("rustc", "rustc --crate-name a --edition=2021 src/lib.rs --emit=dep-info",
                 "rustc src/lib.rs");
    expect_label("python3", "python3 convert.py --from a/long/folder/x.c",
                 "python3 conve...g/folder/x.c");
    /* no character is cut in two, wherever the cut is */
    char command[NAME_SIZE] = "x ";
    for (size_t i = 0; i < 40; i++) {
        char label[PROCESS_LABEL_SIZE];
        process_label("x", command, label);
        assert_true(strlen(label) < PROCESS_LABEL_SIZE);
        for (size_t at = 0; label[at] != '\0'; at++)
            assert_true((label[at] == '\xc3') == (label[at + 1] == '\xa4'));
        strcat(command, i % 3 == 0 ? "a" : "\xc3\xa4");
    }
}

static void a_process_is_named_by_program_script_or_command_line(void **state)
{
    static const struct {
        const char *asked, *name, *command;
        bool named;
    } cases[] = {
        {"python3", "python3", "/usr/bin/python3 worker.py", true},
        {"worker.py", "python3", "/usr/bin/python3 -u jobs/worker.py", true},
        {"jobs/worker.py", "python3", "/usr/bin/python3 -u jobs/worker.py", true},
        {"worker", "python3", "/usr/bin/python3 worker.py", false},
        {"Main", "java", "java -Xmx1g -cp x.jar Main", true},
        {"x.jar", "java", "java -cp x.jar Main", false},
        {"python3", "worker", "/usr/bin/python3 worker.py", true}, /* renamed by prctl */
        {"worker.py", "vi", "vi worker.py", false},
        {"echo", "sh", "sh -c echo", false},
        {"postgres", "postgres", "postgres: walwriter", true},
        {"postgres: walwriter", "postgres", "postgres: walwriter", true},
        {"s: wal", "postgres", "postgres: walwriter", true},
        {"walwriter", "postgres", "postgres: walwriter", false},
        {"4711", "sh", NULL, true},
        {"471", "sh", NULL, false},
        {"", "sh", "sh", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char name[STREAM_NAME_SIZE] = "";
        strcpy(name, cases[i].name);
        if (process_is_named(cases[i].asked, 4711, name, cases[i].command) != cases[i].named)
            fail_msg("'%s' and '%s'", cases[i].asked, cases[i].command);
    }
}

static void only_different_labels_are_alike(void **state)
{
    struct named_process list[] = {
        {.name = "a", .command = "a 1"}, {.name = "a", .command = "a 2"},
        {.name = "b", .command = "b 1"}, {.name = "b", .command = "b 1"},
        {.name = "c", .command = NULL},  {.name = "c", .command = "c 1"},
    };

    (void)state;
    assert_int_equal(processes_find_alike(list, ARRAY_SIZE(list)), 0);
    for (size_t i = 0; i < ARRAY_SIZE(list); i++)
        assert_int_equal(list[i].alike, list[i].name[0] != 'b');
}

static void secrets_in_command_lines_are_hidden(void **unused)
{
    static const char *const cases[][2] = {
        {"mysql -phunter2 -h db", "mysql -p*** -h db"},
        {"/usr/bin/mysqldump -p hunter2 all", "/usr/bin/mysqldump -p *** all"},
        {"sh -c mysql -phunter2", "sh -c mysql -p***"},
        {"ssh -p2222 host", "ssh -p2222 host"},
        {"x --password=hunter2 y", "x --password=*** y"},
        {"x --db-password hunter2 y", "x --db-password *** y"},
        {"x --password --force", "x --password --force"},
        {"x --token=a --tokens", "x --token=*** --tokens"},
        {"env PGPASSWORD=hunter2 psql a", "env PGPASSWORD=*** psql a"},
        {"AWS_SECRET_ACCESS_KEY=a/b+c= x", "AWS_SECRET_ACCESS_KEY=*** x"},
        {"MYSQL_PWD=hunter2 x", "MYSQL_PWD=*** x"},
        {"redis-cli -a hunter2 get x", "redis-cli -a *** get x"},
        {"curl -u joe:hunter2 http://h/", "curl -u joe:*** http://h/"},
        {"curl -H Authorization: Bearer hunter2 x", "curl -H Authorization: Bearer *** x"},
        {"psql postgres://joe:hunter2@db:5432/x", "psql postgres://joe:***@db:5432/x"},
        {"get http://host:80/a@b", "get http://host:80/a@b"},
        {"get --passive x --passwordless", "get --passive x --passwordless"},
        {"", ""},
        {"  a  b ", "  a  b "},
    };
    char text[NAME_SIZE];

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        memset(text, 0, sizeof(text));
        strcpy(text, cases[i][0]);
        command_hide_secrets(text);
        assert_string_equal(text, cases[i][1]);
    }
    /* what it writes may be longer than what was there */
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "mysql -pq ", 10);
    text[NAME_SIZE - 1] = '\0';
    command_hide_secrets(text);
    assert_memory_equal(text, "mysql -p*** x", 13);
    assert_int_equal(text[NAME_SIZE - 1], '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_fit_and_do_not_overlap),
        cmocka_unit_test(test_header_fields_cover_the_header),
        cmocka_unit_test(test_types_are_found_by_number_and_name),
        cmocka_unit_test(test_table_has_the_numbers_of_the_format),
        cmocka_unit_test(test_header_values),
        cmocka_unit_test(test_event_values),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_identity_values),
        cmocka_unit_test(test_flags_are_parsed),
        cmocka_unit_test(test_flags_are_the_types),
        cmocka_unit_test(test_flag_words_are_known),
        cmocka_unit_test(test_flags_are_written),
        cmocka_unit_test(test_endpoints_of_files_and_queues),
        cmocka_unit_test(test_kinds_are_parsed),
        cmocka_unit_test(test_flags_may_change),
        cmocka_unit_test(test_rules_leave_nothing_certain),
        cmocka_unit_test(test_kinds_may_change),
        cmocka_unit_test(test_wrong_flags_are_named),
        cmocka_unit_test(test_endpoints_of_ipv4),
        cmocka_unit_test(test_identities_keep_the_latest_of_each_number),
        cmocka_unit_test(test_identities_know_command_lines),
        cmocka_unit_test(test_command_lines_fade),
        cmocka_unit_test(test_command_lines_are_read_once),
        cmocka_unit_test(test_titles_are_looked_for_once),
        cmocka_unit_test(test_a_process_that_is_left_is_forgotten),
        cmocka_unit_test(test_a_pid_is_no_process),
        cmocka_unit_test(test_identities_know_names),
        cmocka_unit_test(test_users_have_their_names),
        cmocka_unit_test(test_names_are_remembered_in_bounds),
        cmocka_unit_test(test_cgroups_have_their_paths),
        cmocka_unit_test(test_identities_forget),
        cmocka_unit_test(test_identities_fade),
        cmocka_unit_test(test_ends_fade),
        cmocka_unit_test(test_identities_are_shared),
        cmocka_unit_test(test_names_of_paths_are_kept),
        cmocka_unit_test(test_kept_paths_outlive_others),
        cmocka_unit_test(test_containers_have_short_names),
        cmocka_unit_test(test_any_path_has_a_short_name),
        cmocka_unit_test(test_procedures_are_found_by_stream_and_pc),
        cmocka_unit_test(test_procedures_of_very_many_programs),
        cmocka_unit_test(test_processes_are_meant_by_pid_or_name),
        cmocka_unit_test(a_label_tells_processes_of_one_name_apart),
        cmocka_unit_test(a_process_is_named_by_program_script_or_command_line),
        cmocka_unit_test(only_different_labels_are_alike),
        cmocka_unit_test(secrets_in_command_lines_are_hidden),
    };

    return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
