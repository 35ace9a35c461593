/* SPDX-License-Identifier: MIT */
/*
 * history_graph_test.c: pictures of hand-made histories, read back by Python: SVG with its XML parser, DOT word by
 * word, and with dot itself if it is installed.
 */
#include "show/show.h"

#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define MS          1000000ULL
#define WALL        1700000000000000000LL
#define MOST_EVENTS 3000
#define HOSTILE     "<&\"'>\\N]]>\x1b" /* as long as a stream's name can be */
#define HOSTILE_TXT "<&\"'>\\N]]>?"

static uint64_t seed;

/* ---- histories ---- */

struct sample {
    struct identities *identities;
    struct history_graph *graph;
    struct record records[MOST_EVENTS];
    uint64_t count; /* events so far */
    uint64_t edges;
    struct graph_marks marks; /* of the next event */
    uint64_t answers;
};

static void identify(struct sample *sample, const struct record_header *header)
{
    struct event event = {.header = header};

    assert_int_equal(identities_add(sample->identities, &event), 0);
}

static void name_stream(struct sample *sample, uint32_t number, uint32_t process, const char *name)
{
    struct stream_record stream = {
        .header = {.id = EVENT_STREAM, .stream = number},
        .pid = 100 + process,
        .tid = 100 + number,
        .process = process,
    };

    memcpy(stream.name, name, strnlen(name, sizeof(stream.name)));
    identify(sample, &stream.header);
}

static void name_path(struct sample *sample, uint32_t number, const char *name)
{
    struct path_record path = {
        .header = {.id = EVENT_PATH},
        .path = number,
        .kind = PATH_UNIX_STREAM,
        .family = AF_UNIX,
        .name_end = PATH_NAME_LOCAL,
    };

    memcpy(path.name, name, strnlen(name, sizeof(path.name)));
    identify(sample, &path.header);
}

/* Two processes; streams 1 and 2 belong to the first. */
static struct sample *sample_new(const struct graph_choice *choice)
{
    struct sample *sample = calloc(1, sizeof(*sample));

    assert_non_null(sample);
    assert_int_equal(identities_new(&sample->identities), 0);
    assert_int_equal(history_graph_new(choice, sample->identities, &sample->graph), 0);
    name_stream(sample, 1, 1, "server");
    name_stream(sample, 2, 1, "server");
    name_stream(sample, 3, 3, "client");
    name_path(sample, 7, "/run/x.sock");
    return sample;
}

static void sample_free(struct sample *sample)
{
    history_graph_free(sample->graph);
    identities_free(sample->identities);
    free(sample);
}

/* Adds an event of 100 bytes on path 7; its record has the same number. */
static struct record *make(struct sample *sample, enum event_id id, uint32_t stream, uint64_t time)
{
    struct record *record = &sample->records[sample->count];

    record->header = (struct record_header){.time = time, .id = (uint8_t)id, .stream = stream};
    if (id != EVENT_BLOCK && id < EVENT_CREATEPROCESS) {
        record->message.path = 7;
        record->message.bytes = 100;
    }
    return record;
}

static void add_with(struct sample *sample, const struct history_edge *edges, uint32_t count)
{
    const struct record *record = &sample->records[sample->count];
    struct history_event event = {
        .event = {.header = &record->header, .wall_offset = WALL},
        .number = sample->count++,
        .when = record->header.time - (record->header.id == EVENT_SEND ? record->message.span : 0),
        .proc_time = record->header.time / 2,
        .edges = edges,
        .edge_count = count,
    };

    sample->edges += count;
    assert_int_equal(history_graph_add(sample->graph, &event, &sample->marks), 0);
    sample->answers += sample->marks.answers;
    sample->marks = (struct graph_marks){0};
}

static void add(struct sample *sample, enum event_id id, uint32_t stream, uint64_t time)
{
    make(sample, id, stream, time);
    add_with(sample, NULL, 0);
}

static struct history_edge edge_from(const struct sample *sample, uint64_t number,
                                     enum edge_kind kind)
{
    return (struct history_edge){
        .kind = kind,
        .stream = sample->records[number].header.stream,
        .path = 7,
        .bytes = 60,
        .number = number,
        .time = sample->records[number].header.time,
    };
}

/* ---- reading pictures ---- */

/* Prints `kind|text` for the contents of an SVG; fails if it is not well-formed, or if a shape has no position. */
static const char read_svg[] =
    "import sys, xml.etree.ElementTree as tree\n"
    "n = '{http://www.w3.org/2000/svg}'\n"
    "root = tree.parse(sys.argv[1]).getroot()\n"
    "width, height = float(root.get('width')), float(root.get('height'))\n"
    "print('picture|' + root.find(n + 'title').text)\n"
    "style = root.find(n + 'style').text.split('@media')[0]\n"
    "for e in root.iter():\n"
    "    c = (e.get('class') or '').split()\n"
    "    for k in 'x', 'x1', 'cx':\n"
    "        assert 0 <= float(e.get(k, 0)) <= width, e.attrib\n"
    "    for k in 'y', 'y1', 'cy':\n"
    "        assert 0 <= float(e.get(k, 0)) <= height, e.attrib\n"
    "    assert c[:1] != ['arc'] or c[1] == 'exact' or '.' + c[1] in style, c\n"
    "    title = e.find(n + 'title')\n"
    "    if c and c[0] in ('event', 'arc', 'wait', 'way') and e.tag != n + 'svg':\n"
    "        name = e.get('id') or ' '.join(c[1:])\n"
    "        assert 'and goes on' not in title.text or float(e.get('height')) >= 4, e.attrib\n"
    "        print(c[0] + '|' + name + '|' + title.text.replace('\\n', '|'))\n"
    "    if c and c[0] == 'key':\n"
    "        print('key|' + e.find(n + 'text').text)\n"
    "    if c and c[0] == 'column':\n"
    "        print('column|' + e.text)\n";

/* The same for DOT: every statement must be an expected one. */
static const char read_dot[] =
    "import sys, re\n"
    "text = open(sys.argv[1], encoding='utf-8').read()\n"
    "strings = []\n"
    "def take(m):\n"
    "    strings.append(re.sub(r'\\\\(.)', lambda x: '|' if x[1] == 'n' else x[1], m[0][1:-1]))\n"
    "    return '@%d@' % (len(strings) - 1)\n"
    "text = re.sub(r'\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\"', take, text)\n"
    "assert '\"' not in text and text.count('{') == text.count('}')\n"
    "for line in text.splitlines()[1:]:\n"
    "    line = line.strip()\n"
    "    tip = re.search(r'tooltip=@(\\d+)@', line)\n"
    "    tip = strings[int(tip[1])] if tip else ''\n"
    "    if re.fullmatch(r'e\\d+ \\[[^\\]]*\\];', line):\n"
    "        print('event|' + line.split()[0] + '|' + tip)\n"
    "    elif re.fullmatch(r'\\w+ -> e\\d+ \\[weight[^\\]]*\\];', line):\n"
    "        print('way|' + tip)\n"
    "        if 'penwidth=3' in line:\n"
    "            print('critical|' + tip)\n"
    "    elif re.fullmatch(r'(e\\d+|outside_\\w+) -> e\\d+ \\[[^\\]]*\\];', line):\n"
    "        print('arc|' + line.split(',')[0] + '|' + tip)\n"
    "    elif re.fullmatch(r'\\{rank=same; (\\w+) \\[shape=point, label=@\\d+@\\]; \\1_text "
    "\\[shape=plaintext, label=@\\d+@\\];\\}', line):\n"
    "        print('key|' + strings[int(line.split('@')[3])])\n"
    "    elif re.fullmatch(r'(key_\\d_\\d+) -> \\1_text \\[.*\\];', line):\n"
    "        print('look|' + re.sub('@(\\d+)@', lambda m: strings[int(m[1])], line))\n"
    "    elif re.fullmatch(r'label=@\\d+@;', line):\n"
    "        print('label|' + strings[int(line[7:-2])])\n"
    "    else:\n"
    "        assert re.fullmatch(r'(subgraph cluster_\\w+ "
    "\\{|\\}|labelloc=t;|newrank=true;|(node|edge) "
    "\\[.*\\];'\n"
    "                            r'|key_\\d_\\d+ -> key_\\d_\\d+ \\[style=invis\\];'\n"
    "                            r'|outside_\\w+ \\[shape=point.*\\];)', line), line\n";

/* Writes the picture and returns what Python read from it, line by line; the caller frees it. */
static char *read_again(const struct sample *sample, enum graph_format format)
{
    char name[] = "/tmp/history_graph_XXXXXX";
    char command[8192];
    char *text = NULL;
    size_t size = 0;
    int descriptor = mkstemp(name);
    FILE *file = fdopen(descriptor, "w");

    assert_non_null(file);
    assert_int_equal(history_graph_write(sample->graph, format, file), 0);
    assert_int_equal(fclose(file), 0);
    setenv("READER", format == GRAPH_SVG ? read_svg : read_dot, 1);
    snprintf(command, sizeof(command), "PYTHONIOENCODING=utf-8 python3 -c \"$READER\" %s", name);
    FILE *lines = popen(command, "r");
    assert_non_null(lines);
    assert_true(getdelim(&text, &size, '\0', lines) >= 0);
    assert_int_equal(pclose(lines), 0);
    if (format == GRAPH_DOT && sample->count <= 100 && system("command -v dot > /dev/null") == 0) {
        snprintf(command, sizeof(command), "dot -Tplain %s > /dev/null", name);
        assert_int_equal(system(command), 0);
    }
    unlink(name);
    return text;
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        count++;
    return count;
}

static void expect_once(const char *text, const char *what)
{
    if (count_of(text, what) != 1)
        print_error("%u times: %s\nin:\n%s\n", count_of(text, what), what, text);
    assert_int_equal(count_of(text, what), 1);
}

/* ---- examples ---- */

static struct sample *small_sample(void)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});
    struct history_edge edge;

    add(sample, EVENT_RECEIVECALL, 1, 1 * MS);
    add(sample, EVENT_STOPPROCESS, 3, 1 * MS);
    add(sample, EVENT_STARTPROCESS, 3, 2 * MS);
    add(sample, EVENT_SEND, 3, 3 * MS);
    edge = edge_from(sample, 3, EDGE_EXACT);
    make(sample, EVENT_RECEIVE, 1, 4 * MS);
    add_with(sample, &edge, 1);
    edge.kind = EDGE_ORDERED;
    make(sample, EVENT_RECEIVE, 2, 5 * MS);
    add_with(sample, &edge, 1);
    edge.kind = EDGE_INFERRED;
    edge.number = 1000; /* an unknown number */
    make(sample, EVENT_RECEIVE, 2, 6 * MS);
    add_with(sample, &edge, 1);
    make(sample, EVENT_BLOCK, 3, 9 * MS)->block.duration = 2 * MS;
    add_with(sample, NULL, 0);
    return sample;
}

static void a_small_picture(void **state)
{
    struct sample *sample = small_sample();
    char *text = read_again(sample, GRAPH_SVG);

    (void)state;
    expect_once(text, "picture|Program history: 8 events of 2 processes, from 0.000000000 s to "
                      "0.008000000 s after the first record\n");
    assert_int_equal(count_of(text, "column|"), 2);
    expect_once(text, "column|server[101]\n");
    expect_once(text, "column|client[103]\n");
    assert_int_equal(count_of(text, "event|"), 8);
    expect_once(text, "event|e3|client[103], thread 103|SEND at 0.002000000 s|path 7 unix-stream "
                      "/run/x.sock > ");
    assert_int_equal(count_of(text, "arc|"), 3);
    expect_once(text, "arc|exact|60 bytes, exact|from SEND at 0.002000000 s|to RECEIVE at "
                      "0.003000000 s|path 7 unix-stream /run/x.sock > ");
    expect_once(text, "arc|ordered|60 bytes, ordered|from SEND");
    expect_once(text, "arc|inferred outside|60 bytes, inferred|from an event that is not in the");
    assert_int_equal(count_of(text, "wait|"), 3);
    expect_once(text, "wait|wait0|waits for a message for 3.00 ms, until 0.003000000 s|path 7");
    expect_once(text, "wait|wait2|is stopped by a signal for 1.00 ms, until 0.001000000 s\n");
    expect_once(text, "wait|wait3|is blocked for 2.00 ms, until 0.008000000 s\n");
    assert_int_equal(count_of(text, "way|"), 5);
    assert_int_equal(count_of(text, "way||1.50 ms of CPU time in 3.00 ms\n"), 1);
    free(text);

    text = read_again(sample, GRAPH_DOT);
    assert_int_equal(count_of(text, "event|"), 8);
    assert_int_equal(count_of(text, "way|"), 5);
    expect_once(text, "arc|e3 -> e4 [style=solid|60 bytes, exact|from SEND");
    expect_once(text, "arc|e3 -> e5 [style=dashed|");
    expect_once(text, "arc|outside_6_0 -> e6 [style=dotted|");
    expect_once(text, "label|server[101]\n");
    free(text);
    sample_free(sample);
}

static void wait_for_any(struct sample *sample, uint32_t stream, uint64_t time, uint16_t call)
{
    struct record *record = make(sample, EVENT_RECEIVECALL, stream, time);

    record->any.path = 0;
    record->any.system_call = call;
    record->any.only_path = 7;
    add_with(sample, NULL, 0);
}

/* A wait in epoll ends with the next event, before the CPU time that was used for it; and with nothing that a stream can
 * record while it sleeps. */
static void a_wait_for_any(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    wait_for_any(sample, 1, 10 * MS, 232);
    make(sample, EVENT_BLOCK, 1, 12 * MS)->block.duration = MS; /* not interruptible */
    add_with(sample, NULL, 0);
    add(sample, EVENT_RECEIVE, 1, 50 * MS); /* half of the time is CPU time in this world */
    add(sample, EVENT_SEND, 1, 60 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    expect_once(text,
                "wait|wait4|waits for any message or connection in epoll_wait for 20.0 ms, until "
                "0.020000000 s\n");
    assert_int_equal(count_of(text, "wait|wait0"), 0);
    free(text);
    sample_free(sample);
}

/* Records whose bodies are no message. */
static void a_call_and_a_signal(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    wait_for_any(sample, 1, 10 * MS, 7);
    for (unsigned number = 15; number <= 34; number += 34 - 15) {
        struct record *record = make(sample, EVENT_SIGNAL, 3, 11 * MS);
        record->signal.number = (uint8_t)number;
        record->signal.result = 1;
        record->signal.receiver_pid = 101;
        add_with(sample, NULL, 0);
    }
    char *text = read_again(sample, GRAPH_SVG);
    expect_once(text, "event|e0|server[101], thread 101|RECEIVECALL at 0.000000000 s in poll\n");
    expect_once(text, "event|e1|client[103], thread 103|SIGNAL at 0.001000000 s|SIGTERM to "
                      "process 101\n");
    expect_once(text, "|SIGNAL at 0.001000000 s|signal 34 to process 101\n");
    free(text);
    sample_free(sample);
}

/* A call that gives up, or fails, and a process that is killed in it: the wait ended before the next thing that the thread
 * recorded, and before the CPU time and the sleep in between. */
static void waits_that_end_without_a_message(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_RECEIVECALL, 1, 0);
    make(sample, EVENT_TERMINATION, 1, 40 * MS)->termination.status = 9;
    add_with(sample, NULL, 0);
    add(sample, EVENT_RECEIVECALL, 2, 1 * MS);
    make(sample, EVENT_CREATEPATH, 2, 3 * MS)->message.path = 9;
    add_with(sample, NULL, 0);
    make(sample, EVENT_RECEIVE, 2, 11 * MS)->header.flags = RECORD_CALL_IMPLIED;
    add_with(sample, NULL, 0);
    add(sample, EVENT_SENDCALL, 3, 2 * MS);
    for (int id = EVENT_SENDCALL; id >= EVENT_SEND; id--) {
        make(sample, (enum event_id)id, 3, id == EVENT_SEND ? 10 * MS : 6 * MS)->message.path = 8;
        add_with(sample, NULL, 0);
    }
    add(sample, EVENT_RECEIVECALL, 4, 12 * MS);
    make(sample, EVENT_BLOCK, 4, 24 * MS)->block.duration = 4 * MS;
    sample->records[sample->count].block.state = 1;
    add_with(sample, NULL, 0);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "wait|"), 6);
    expect_once(text, "wait|wait0|waits for a message for 20.0 ms, until 0.020000000 s|path 7 ");
    expect_once(text, "wait|wait0|waits for a message for 5.00 ms, until 0.006000000 s|path 7 ");
    expect_once(text,
                "wait|wait1|waits until it can send for 2.00 ms, until 0.004000000 s|path 7 ");
    expect_once(text,
                "wait|wait1|waits until it can send for 4.00 ms, until 0.010000000 s|path 8\n");
    expect_once(text, "wait|wait0|waits for a message for 2.00 ms, until 0.014000000 s|path 7 ");
    expect_once(text, "wait|wait3|is blocked for 4.00 ms, until 0.024000000 s\n");
    free(text);
    sample_free(sample);
}

/* What sendfile(2) has read began before it waited, though that is recorded while it does. */
static void a_wait_within_a_longer_call(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_STARTPROCESS, 1, 0);
    add(sample, EVENT_SENDCALL, 1, 4 * MS);
    add(sample, EVENT_READ, 1, 2 * MS);
    add(sample, EVENT_SEND, 1, 9 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "wait|"), 1);
    expect_once(text,
                "wait|wait1|waits until it can send for 5.00 ms, until 0.009000000 s|path 7 ");
    free(text);
    sample_free(sample);
}

/* What waits when the picture ends, unlike a receive that has given up. A picture can be written twice. */
static void a_wait_that_goes_on(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_RECEIVECALL, 1, 10 * MS);
    add(sample, EVENT_SENDCALL, 2, 12 * MS);
    add(sample, EVENT_SENDCALL, 2, 14 * MS);
    add(sample, EVENT_RECEIVECALL, 3, 20 * MS);
    make(sample, EVENT_BLOCK, 1, 22 * MS)->block.duration = MS; /* not interruptible */
    add_with(sample, NULL, 0);
    add(sample, EVENT_WAKEUP, 1, 23 * MS); /* in its receive, it wakes another one */
    add(sample, EVENT_SEND, 3, 40 * MS);
    for (int round = 0; round < 2; round++) {
        char *text = read_again(sample, GRAPH_SVG);
        assert_int_equal(count_of(text, "wait|"), 4);
        expect_once(text, "wait|wait0|waits for a message for 30.0 ms, and goes on|path 7 ");
        expect_once(text,
                    "wait|wait0|waits for a message for 10.0 ms, until 0.020000000 s|path 7 ");
        expect_once(text, "wait|wait1|waits until it can send for 28.0 ms, and goes on|path 7 ");
        expect_once(text, "wait|wait3|is blocked for 1.00 ms, until 0.012000000 s\n");
        free(text);
    }
    sample_free(sample);
}

/* In a deadlock the last event is the call of the thread that waits last. */
static void a_wait_that_begins_last(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_RECEIVECALL, 1, 10 * MS);
    add(sample, EVENT_RECEIVECALL, 3, 20 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "wait|"), 2);
    expect_once(text, "wait|wait0|waits for a message for 10.0 ms, and goes on|path 7 ");
    expect_once(text, "wait|wait0|waits for a message, and goes on|path 7 ");
    free(text);
    sample_free(sample);
}

static void schedule(struct sample *sample, uint32_t stream, uint64_t time, uint64_t runnable)
{
    make(sample, EVENT_SCHEDULE, stream, time)->schedule.runnable = runnable;
    sample->records[sample->count].header.flags = RECORD_NO_STREAM;
    add_with(sample, NULL, 0);
}

/* Sums that began before the recording say nothing until the second one. */
static void waits_for_a_processor(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    schedule(sample, 1, 1 * MS, 70 * MS); /* it has no line yet */
    add(sample, EVENT_SEND, 1, 2 * MS);
    schedule(sample, 1, 3 * MS, 80 * MS);
    schedule(sample, 1, 9 * MS, 84 * MS);
    make(sample, EVENT_SENDCALL, 1, 10 * MS)->header.flags = RECORD_PREEMPTED;
    add_with(sample, NULL, 0);
    add(sample, EVENT_SEND, 1, 11 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "wait|"), 1);
    expect_once(text,
                "wait|wait5|waits for a processor for 4.00 ms since the latest record of that, "
                "until 0.008000000 s\n");
    free(text);
    sample_free(sample);
}

static void bear_stream(struct sample *sample, uint32_t number, uint64_t start)
{
    struct stream_record stream = {
        .header = {.id = EVENT_STREAM, .stream = number},
        .pid = 100 + number,
        .tid = 100 + number,
        .process = number,
        .parent = 3,
        .start = start,
    };

    identify(sample, &stream.header);
}

/* ... and so do those that began before the time of the picture. */
static void waits_for_a_processor_from_a_time_on(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){.from = 10 * (int64_t)MS});

    (void)state;
    bear_stream(sample, 4, 2 * MS);
    bear_stream(sample, 5, 12 * MS);
    add(sample, EVENT_SEND, 1, 0);
    add(sample, EVENT_SEND, 4, 11 * MS);
    schedule(sample, 4, 12 * MS, 3 * MS);
    add(sample, EVENT_SEND, 5, 13 * MS);
    schedule(sample, 5, 15 * MS, 1 * MS);
    schedule(sample, 4, 16 * MS, 5 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "wait|"), 2);
    expect_once(text, "wait|wait5|waits for a processor for 1.00 ms since the latest record of "
                      "that, until 0.015000000 s\n");
    expect_once(text, "wait|wait5|waits for a processor for 2.00 ms since the latest record of "
                      "that, until 0.016000000 s\n");
    free(text);
    sample_free(sample);
}

/* The same without a bar of its own: in the graph for Graphviz, the line along the stream tells of it. */
static void waits_for_a_processor_in_dot(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_SEND, 1, 2 * MS);
    schedule(sample, 1, 3 * MS, 80 * MS);
    schedule(sample, 1, 9 * MS, 84 * MS);
    schedule(sample, 1, 10 * MS, 85 * MS);
    add(sample, EVENT_SEND, 1, 11 * MS);
    add(sample, EVENT_SEND, 1, 13 * MS);
    char *text = read_again(sample, GRAPH_DOT);
    expect_once(text, "way|4.50 ms of CPU time in 9.00 ms|waits for a processor for 5.00 ms\n");
    expect_once(text, "way|1.00 ms of CPU time in 2.00 ms\n");
    free(text);
    sample_free(sample);
}

/* In the graph for Graphviz a line has one look: that of the critical path, also if the thread waited along it. */
static void a_critical_way_with_waits(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_SEND, 1, 2 * MS);
    schedule(sample, 1, 3 * MS, 80 * MS);
    schedule(sample, 1, 9 * MS, 84 * MS);
    make(sample, EVENT_BLOCK, 1, 12 * MS)->block.duration = 3 * MS;
    sample->marks = (struct graph_marks){.critical = true, .edge = UINT32_MAX};
    add_with(sample, NULL, 0);
    char *text = read_again(sample, GRAPH_DOT);
    expect_once(text, "critical|5.00 ms of CPU time in 10.0 ms|waits for a processor for 4.00 ms|"
                      "is blocked for 3.00 ms, until ");
    free(text);
    sample_free(sample);
}

/* ---- answers from outside ---- */

static void receive_answer(struct sample *sample, uint64_t time, uint64_t sent, uint64_t took)
{
    make(sample, EVENT_RECEIVE, 1, time);
    sample->marks = (struct graph_marks){.answers = true, .sent = sent, .took = took};
    add_with(sample, NULL, 0);
}

/* An arc beside the line of CPU time, with the elapsed time; its SEND may be outside of the picture. */
static void an_answer_from_outside(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_SEND, 1, 0);
    receive_answer(sample, 40 * MS, 0, 30 * MS);
    receive_answer(sample, 50 * MS, 1000, 7 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    expect_once(text, "arc|answer|answer from outside, took 30.0 ms|from SEND at 0.000000000 s|to "
                      "RECEIVE at 0.040000000 s|path 7 unix-stream /run/x.sock > ");
    expect_once(text, "arc|answer outside|answer from outside, took 7.00 ms|from an event that is "
                      "not in the picture|to RECEIVE at 0.050000000 s|");
    expect_once(text, "way||20.0 ms of CPU time in 40.0 ms\n");
    free(text);
    text = read_again(sample, GRAPH_DOT);
    expect_once(text, "arc|e0 -> e1 [style=solid|answer from outside, took 30.0 ms|from SEND at ");
    expect_once(text,
                "arc|outside_2_0 -> e2 [style=solid|answer from outside, took 7.00 ms|from an ");
    free(text);
    sample_free(sample);
}

/* ---- the legend ---- */

/* Every look that a picture can have is in the legend, in each format. */
static void the_legend_is_whole(void **state)
{
    static const char *const keys[] = {
        "key|message, exact\n",
        "key|ordered\n",
        "key|inferred\n",
        "key|creation, connection, end\n",
        "key|wakeup, collective\n",
        "key|buffer space made\n",
        "key|answer from outside, elapsed time\n",
        "key|critical path\n",
        "key|waits for a message\n",
        "key|waits until it can send\n",
        "key|is stopped by a signal\n",
        "key|is blocked\n",
        "key|waits for any message or connection\n",
        "key|waits for a processor\n",
    };
    struct sample *sample = small_sample();

    (void)state;
    for (int format = GRAPH_SVG; format <= GRAPH_DOT; format++) {
        char *text = read_again(sample, (enum graph_format)format);
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            expect_once(text, keys[i]);
        expect_once(text, "CPU time between two events\n");
        free(text);
    }
    sample_free(sample);
}

/* Every kind of arc looks like one of the legend. */
static void arcs_look_as_in_the_legend(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_SEND, 3, 0);
    for (int kind = 0; kind < EDGE_KIND_COUNT; kind++) {
        struct history_edge edge = edge_from(sample, 0, (enum edge_kind)kind);
        make(sample, EVENT_RECEIVE, 1, (1 + (uint64_t)kind) * MS);
        add_with(sample, &edge, 1);
    }
    char *text = read_again(sample, GRAPH_DOT);
    char *save = NULL;
    unsigned arcs = 0;
    char *lines = strdup(text);
    for (char *line = strtok_r(lines, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "arc|", 4) != 0)
            continue;
        char look[64];
        assert_int_equal(sscanf(line, "arc|%*s -> %*s [%63[^|]", look), 1);
        assert_non_null(strstr(strstr(text, "\nlook|"), look));
        arcs++;
    }
    assert_int_equal(arcs, EDGE_KIND_COUNT);
    free(lines);
    free(text);
    free(read_again(sample, GRAPH_SVG)); /* has a style for each */
    sample_free(sample);
}

/* A SEND is drawn where its first byte became visible; its sender waited until the record was made. */
static void a_blocked_sender(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    add(sample, EVENT_STARTPROCESS, 1, 0);
    add(sample, EVENT_SENDCALL, 1, 2 * MS);
    add(sample, EVENT_SENDCALL, 1, 3 * MS);
    make(sample, EVENT_SEND, 1, 9 * MS)->message.span = 8 * MS;
    add_with(sample, NULL, 0);
    char *text = read_again(sample, GRAPH_SVG);
    expect_once(text, "SEND at 0.001000000 s");
    expect_once(text, "wait|wait1|waits until it can send for 7.00 ms, until 0.009000000 s|path 7");
    assert_int_equal(count_of(text, "wait|"), 1);
    free(text);
    sample_free(sample);
}

static void an_empty_picture(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    for (int format = GRAPH_SVG; format <= GRAPH_DOT; format++) {
        char *text = read_again(sample, (enum graph_format)format);
        expect_once(text, "Program history: 0 events of 0 processes\n");
        free(text);
    }
    sample_free(sample);
}

/* A window: only its own events, and also the arcs that come from before it. */
static bool is_client(void *context, const struct event *event)
{
    (*(unsigned *)context)++;
    return event->header->stream == 3;
}

static void windows_and_choices(void **state)
{
    unsigned asked = 0;
    struct sample *sample =
        sample_new(&(struct graph_choice){.from = 10 * (int64_t)MS, .to = 20 * (int64_t)MS});
    struct history_edge edge;

    (void)state;
    for (uint64_t i = 0; i < 30; i++)
        add(sample, EVENT_SEND, 3, 1000 * MS + i * MS);
    edge = edge_from(sample, 9, EDGE_EXACT);
    make(sample, EVENT_RECEIVE, 1, 1015 * MS);
    add_with(sample, &edge, 1);
    assert_int_equal(history_graph_events(sample->graph), 11);
    assert_int_equal(history_graph_left_out(sample->graph), 0);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "event|"), 11);
    expect_once(text, "arc|exact outside|");
    expect_once(text, "event|e10|");
    expect_once(text, "event|e19|");
    free(text);
    sample_free(sample);

    sample = sample_new(&(struct graph_choice){.accepts = is_client, .context = &asked});
    for (uint64_t i = 0; i < 30; i++)
        add(sample, EVENT_SEND, 1 + (uint32_t)(i % 3), i * MS);
    assert_int_equal(history_graph_events(sample->graph), 10);
    assert_int_equal(asked, 30);
    sample_free(sample);
}

static void what_is_left_out_is_counted(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){.most = 5});

    (void)state;
    for (uint64_t i = 0; i < 1505; i++)
        add(sample, EVENT_SEND, 1, i);
    add(sample, EVENT_SEND, 0, 2000); /* of no stream */
    assert_int_equal(history_graph_events(sample->graph), 5);
    assert_int_equal(history_graph_left_out(sample->graph), 1500);
    for (int format = GRAPH_SVG; format <= GRAPH_DOT; format++) {
        char *text = read_again(sample, (enum graph_format)format);
        expect_once(text, "; 1,500 events left out: too many\n");
        assert_int_equal(count_of(text, "event|"), 5);
        free(text);
    }
    sample_free(sample);
    sample = sample_new(&(struct graph_choice){.most = 1});
    add(sample, EVENT_SEND, 1, 0);
    add(sample, EVENT_SEND, 1, 1);
    for (int format = GRAPH_SVG; format <= GRAPH_DOT; format++) {
        char *text = read_again(sample, (enum graph_format)format);
        expect_once(text, "Program history: 1 event of 1 process, ");
        expect_once(text, "; 1 event left out: too many\n");
        free(text);
    }
    sample_free(sample);
    sample = sample_new(&(struct graph_choice){0});
    for (uint64_t i = 0; i < GRAPH_EVENTS + 3; i++)
        add(sample, EVENT_SEND, 1, i);
    assert_int_equal(history_graph_left_out(sample->graph), 3);
    sample_free(sample);
}

/* What comes after the last event that is drawn makes the picture no longer. */
static void nothing_after_what_is_left_out(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){.most = 2});

    (void)state;
    add(sample, EVENT_SEND, 1, 0);
    schedule(sample, 1, 1 * MS, 80 * MS);
    add(sample, EVENT_SEND, 1, 2 * MS);
    add(sample, EVENT_SEND, 1, 3 * MS);
    schedule(sample, 1, 60 * MS, 84 * MS);
    char *text = read_again(sample, GRAPH_SVG);
    assert_int_equal(count_of(text, "wait|"), 0);
    expect_once(text, ", from 0.000000000 s to 0.002000000 s after the first record; 1 event left "
                      "out: too many\n");
    free(text);
    sample_free(sample);
}

static void counts_of_one(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});

    (void)state;
    make(sample, EVENT_SEND, 3, 0)->message.bytes = 1;
    add_with(sample, NULL, 0);
    struct history_edge edge = edge_from(sample, 0, EDGE_EXACT);
    edge.bytes = 1;
    make(sample, EVENT_RECEIVE, 1, 1 * MS);
    add_with(sample, &edge, 1);
    make(sample, EVENT_LOST, 1, 2 * MS)->lost.count = 1;
    add_with(sample, NULL, 0);
    char *text = read_again(sample, GRAPH_SVG);
    expect_once(text, "|1 byte\n");
    expect_once(text, "arc|exact|1 byte, exact|");
    expect_once(text, "|1 record\n");
    free(text);
    sample_free(sample);
}

/* Names that would end a text, or begin something else. */
static void hostile_names(void **state)
{
    struct sample *sample = sample_new(&(struct graph_choice){0});
    struct machine_record machine = {.header = {.id = EVENT_MACHINE}};

    (void)state;
    name_stream(sample, 1, 1, HOSTILE);
    name_path(sample, 7, "\"];}\n--><script>\xef\xbf\xbe\xef\xbf\xbf\xff\\");
    strcpy(machine.name, "&amp;");
    identify(sample, &machine.header);
    add(sample, EVENT_SEND, 1, 0);
    for (int format = GRAPH_SVG; format <= GRAPH_DOT; format++) {
        char *text = read_again(sample, (enum graph_format)format);
        expect_once(text, format == GRAPH_SVG ? "column|" HOSTILE_TXT "[101]\n"
                                              : "label|" HOSTILE_TXT "[101]\n");
        expect_once(text, "event|e0|" HOSTILE_TXT "[101], thread 101|SEND");
        expect_once(text, "|path 7 unix-stream \"];}?--><script>");
        free(text);
    }
    sample_free(sample);
}

/* ---- any history ---- */

static void random_names(struct sample *sample)
{
    for (uint32_t i = 1; i <= 20; i++) {
        char name[PATH_NAME_SIZE];
        for (size_t k = 0; k < sizeof(name); k++)
            name[k] = (char)random_below(&seed, 256);
        name_path(sample, i, name);
        if (i <= 10)
            name_stream(sample, i, 1 + (uint32_t)random_below(&seed, i), name);
    }
}

/* Every event and every arc occurs once, whatever the records contain. */
static void any_history(void **state)
{
    (void)state;
    seed = seed_of_run("any history");
    for (uint64_t round = 0; round < rounds_of_run(12); round++) {
        struct sample *sample = sample_new(&(struct graph_choice){0});
        uint64_t count = 1 + random_below(&seed, 300);
        unsigned bits = 1 + (unsigned)random_below(&seed, 64);
        random_names(sample);
        for (uint64_t i = 0; i < count; i++) {
            struct history_edge edges[3];
            uint32_t edge_count = (uint32_t)random_below(&seed, 4);
            unsigned id = 1 + (unsigned)random_below(&seed, EVENT_DISCARDED);
            struct record *record =
                make(sample, (enum event_id)id, 1 + (uint32_t)random_below(&seed, 12),
                     random_number(&seed) >> (64 - bits));
            for (size_t k = 0; k < sizeof(record->message) / 4; k++)
                (&record->message.path)[k] =
                    (uint32_t)random_below(&seed, round % 2 ? 24 : 1ULL << 32);
            for (uint32_t k = 0; k < edge_count; k++)
                edges[k] = edge_from(sample, random_below(&seed, i == 0 ? 1 : i),
                                     (enum edge_kind)random_below(&seed, EDGE_KIND_COUNT));
            sample->marks = (struct graph_marks){
                .critical = random_below(&seed, 2) == 0,
                .edge = (uint32_t)random_below(&seed, 4) - 1,
                .answers = random_below(&seed, 3) == 0,
                .sent = random_below(&seed, 400),
                .took = random_number(&seed) >> random_below(&seed, 64),
            };
            add_with(sample, edges, i == 0 ? 0 : edge_count);
        }
        for (int format = GRAPH_SVG; format <= GRAPH_DOT; format++) {
            char *text = read_again(sample, (enum graph_format)format);
            char name[32];
            assert_int_equal(count_of(text, "\nevent|") + (strncmp(text, "event|", 6) == 0), count);
            assert_int_equal(count_of(text, "\narc|"), sample->edges + sample->answers);
            for (uint64_t i = 0; i < count; i++) {
                snprintf(name, sizeof(name), "\nevent|e%" PRIu64 "|", i);
                assert_int_equal(count_of(text, name), 1);
            }
            free(text);
        }
        sample_free(sample);
    }
}

static void dot_takes_it(void **state)
{
    (void)state;
    if (system("command -v dot > /dev/null") != 0) {
        print_message("# dot (graphviz) is not installed\n");
        skip();
    }
    struct sample *sample = small_sample();
    free(read_again(sample, GRAPH_DOT));
    sample_free(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_picture),
        cmocka_unit_test(a_wait_for_any),
        cmocka_unit_test(a_call_and_a_signal),
        cmocka_unit_test(waits_that_end_without_a_message),
        cmocka_unit_test(a_wait_within_a_longer_call),
        cmocka_unit_test(a_wait_that_goes_on),
        cmocka_unit_test(a_wait_that_begins_last),
        cmocka_unit_test(waits_for_a_processor),
        cmocka_unit_test(waits_for_a_processor_from_a_time_on),
        cmocka_unit_test(waits_for_a_processor_in_dot),
        cmocka_unit_test(a_critical_way_with_waits),
        cmocka_unit_test(an_answer_from_outside),
        cmocka_unit_test(the_legend_is_whole),
        cmocka_unit_test(arcs_look_as_in_the_legend),
        cmocka_unit_test(a_blocked_sender),
        cmocka_unit_test(an_empty_picture),
        cmocka_unit_test(windows_and_choices),
        cmocka_unit_test(what_is_left_out_is_counted),
        cmocka_unit_test(nothing_after_what_is_left_out),
        cmocka_unit_test(counts_of_one),
        cmocka_unit_test(hostile_names),
        cmocka_unit_test(any_history),
        cmocka_unit_test(dot_takes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
