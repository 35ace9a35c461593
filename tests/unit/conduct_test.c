/* SPDX-License-Identifier: MIT */
/* conduct_test.c: processes on machines, as their agents report them; lines of output come whole, in whatever pieces they were sent; what
 * is kept is read again. Questions and answers are tested with real agents, by tests/command. */
#include "conduct/conduct_private.h"
#include "conduct/session_kept.h"
#include "seeded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT_SIZE 20000
#define CASES     200

/* ---- a session without machines ---- */

struct scene {
    struct conduct conduct;
    struct remote_host web1, db1;
    char text[2 * TEXT_SIZE]; /* what events say, a line for each */
    size_t length, longest;
};

static void say(struct scene *scene, const char *text, size_t length)
{
    assert_true(scene->length + length + 2 < sizeof(scene->text));
    memcpy(scene->text + scene->length, text, length);
    scene->length += length;
    scene->text[scene->length++] = '\n';
    scene->text[scene->length] = '\0';
}

static void happens(void *context, const struct conduct_event *event)
{
    struct scene *scene = context;
    char line[200];

    if (event->kind == CONDUCT_OUTPUT) {
        say(scene, event->text, event->length);
        scene->longest = event->length > scene->longest ? event->length : scene->longest;
    } else if (event->kind == CONDUCT_PROCESS) {
        int length =
            snprintf(line, sizeof(line), "%s@%s %s %d", event->process->name, event->host->name,
                     process_state_word(event->process->state), event->process->status);
        say(scene, line, (size_t)length);
    } else if (event->kind == CONDUCT_MISSING) {
        say(scene, event->text, strcspn(event->text, ":"));
    } else {
        say(scene, "other", 5);
    }
}

static struct scene *new_scene(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    scene->conduct.options = (struct conduct_options){.event = happens, .context = scene};
    scene->conduct.notes = json_object();
    scene->web1.name = (char *)"web1";
    scene->db1.name = (char *)"db1";
    return scene;
}

static void free_scene(struct scene *scene)
{
    conduct_forget_all(&scene->conduct);
    json_decref(scene->conduct.notes);
    free(scene);
}

static void output_at(struct scene *scene, struct remote_host *host, int64_t pid, bool err,
                      uint64_t at, const char *bytes, size_t size)
{
    struct fabric_message message = {.kind = FABRIC_OUTPUT,
                                     .sequence = scene->conduct.heard + 1,
                                     .pid = (pid_t)pid,
                                     .err = err,
                                     .at = at,
                                     .bytes = (void *)bytes,
                                     .size = size};

    conduct_take(&scene->conduct, host, &message);
}

static void output(struct scene *scene, struct remote_host *host, int64_t pid, bool err,
                   const char *bytes, size_t size)
{
    output_at(scene, host, pid, err, FABRIC_AT_UNKNOWN, bytes, size);
}

static void notice(struct scene *scene, struct remote_host *host, const char *method,
                   const char *text)
{
    struct fabric_message message = {.kind = FABRIC_NOTICE,
                                     .sequence = scene->conduct.heard + 1,
                                     .params = json_loads(text, 0, NULL)};

    assert_non_null(message.params);
    message.method = (char *)method;
    conduct_take(&scene->conduct, host, &message);
    json_decref(message.params);
}

/* ---- lines ---- */

/* Random pieces of a random text: its lines, and an end that the last one may lack. */
static void test_lines(void **state)
{
    uint64_t random = seed_of_run("conduct");
    struct scene *scene = new_scene();
    struct conduct_process *process =
        conduct_know(&scene->conduct, &scene->web1, 812, PROCESS_RUNNING, "x");
    char *text = malloc(TEXT_SIZE);

    (void)state;
    for (int i = 0; i < CASES; i++) {
        size_t length = random_below(&random, 3000), at = 0;
        for (size_t k = 0; k < length; k++)
            text[k] = random_below(&random, 20) == 0 ? '\n' : 'x';
        scene->length = 0;
        while (at < length) {
            size_t piece = 1 + random_below(&random, length - at);
            output(scene, &scene->web1, 812, false, text + at, piece);
            at += piece;
        }
        conduct_flush(process);
        assert_int_equal(process->lines[0].length, 0);
        assert_true(scene->length == length || scene->length == length + 1);
        assert_memory_equal(scene->text, text, length);
    }
    free(text);
    free_scene(scene);
}

/* One without an end would need any memory: it is split, and nothing is lost. */
static void test_long_line(void **state)
{
    struct scene *scene = new_scene();
    char *text = malloc(TEXT_SIZE);
    size_t letters = 0;

    (void)state;
    conduct_know(&scene->conduct, &scene->web1, 812, PROCESS_RUNNING, "x");
    memset(text, 'y', TEXT_SIZE);
    output(scene, &scene->web1, 812, true, text, TEXT_SIZE);
    output(scene, &scene->web1, 812, true, "", 0);
    for (size_t i = 0; i < scene->length; i++)
        letters += scene->text[i] == 'y';
    assert_int_equal(letters, TEXT_SIZE);
    assert_int_equal(scene->longest, CONDUCT_LINE_MOST - 1);
    free(text);
    free_scene(scene);
}

/* Nothing is held back, and no end of a line is added, for a process whose output is to come as it is. */
static void test_whole_output(void **state)
{
    struct scene *scene = new_scene();
    struct conduct_process *process =
        conduct_know(&scene->conduct, &scene->web1, 812, PROCESS_RUNNING, "x");

    (void)state;
    process->whole = true;
    output(scene, &scene->web1, 812, false, "a\nb", 3);
    output(scene, &scene->web1, 812, false, "", 0);
    assert_string_equal(scene->text, "a\nb\n"); /* say() ends each event */
    free_scene(scene);
}

/* A piece that is sent again, because its acknowledgement was lost, is shown once; each output is counted for itself. */
static void test_output_twice(void **state)
{
    struct scene *scene = new_scene();
    struct remote_host *web1 = &scene->web1;
    struct conduct_process *process =
        conduct_know(&scene->conduct, web1, 812, PROCESS_RUNNING, "x");

    (void)state;
    output_at(scene, web1, 812, false, 0, "one\ntw", 6);
    output_at(scene, web1, 812, true, 0, "err\n", 4);
    output_at(scene, web1, 812, false, 0, "one\ntw", 6);
    output_at(scene, web1, 812, false, 4, "two\n", 4);
    output_at(scene, web1, 812, false, 20, "later\n", 6);
    output_at(scene, web1, 812, false, 26, "", 0);
    assert_string_equal(scene->text, "one\nerr\ntwo\nlater\n");
    assert_true(process->closed[0] && !process->closed[1]);
    free_scene(scene);
}

/* What the session has discarded may have been more than output: the caller is told, and asks. An earlier controller had a part of
 * it. */
static void test_missing(void **state)
{
    struct scene *scene = new_scene();
    struct fabric_message message = {
        .kind = FABRIC_OUTPUT, .sequence = 10, .missed = 7, .pid = 812, .bytes = "x"};

    (void)state;
    conduct_set_heard(&scene->conduct, 5);
    conduct_take(&scene->conduct, &scene->web1, &message);
    message.sequence = 11;
    message.missed = 0;
    conduct_take(&scene->conduct, &scene->web1, &message);
    assert_string_equal(scene->text, "4 messages from the machines are missing\n");
    free_scene(scene);
}

/* ---- processes ---- */

/* The machine and the number name a process; of two with one number it is the one that came last. */
static void test_reports_find_their_process(void **state)
{
    struct scene *scene = new_scene();
    struct conduct *conduct = &scene->conduct;
    struct conduct_process *old = conduct_know(conduct, &scene->web1, 812, PROCESS_KILLED, "old"),
                           *sort = conduct_know(conduct, &scene->web1, 812, PROCESS_NEW, "sort"),
                           *other = conduct_know(conduct, &scene->db1, 812, PROCESS_NEW, "other"),
                           *taken =
                               conduct_know(conduct, &scene->db1, 7, PROCESS_ACQUIRED, "taken");

    (void)state;
    output(scene, &scene->web1, 812, false, "half", 4);
    notice(scene, &scene->web1, "process.stopped", "{\"pid\": 812}");
    assert_true(sort->confirmed && !other->confirmed);
    notice(scene, &scene->web1, "process.continued", "{\"pid\": 812}");
    notice(scene, &scene->web1, "process.ended", "{\"pid\": 812, \"signal\": 9}");
    assert_true(sort->end.by_signal && sort->end.number == 9);
    output(scene, &scene->web1, 812, false, " done\n", 6);
    notice(scene, &scene->web1, "process.ended", "{\"pid\": 812, \"status\": 1}");
    notice(scene, &scene->db1, "process.ended", "{\"pid\": 7, \"status\": 1}");
    notice(scene, &scene->db1, "process.ended", "{\"pid\": 8, \"status\": 1}");
    notice(scene, &scene->db1, "process.ended", "{\"pid\": 812, \"status\": 3}");
    notice(scene, &scene->db1, "note", "{\"text\": \"x\"}");
    notice(scene, &scene->db1, "note", "{}");
    assert_string_equal(scene->text, "sort@web1 stopped 0\nsort@web1 running 0\n"
                                     "sort@web1 killed 137\nhalf done\nother@db1 killed 3\n"
                                     "other\nother\n");
    assert_true(old->status == 0 && taken->state == PROCESS_ACQUIRED);
    conduct_forget(sort);
    assert_ptr_equal(conduct_find_process(conduct, &scene->web1, 812), old);
    assert_null(conduct_find_process(conduct, &scene->web1, 7));
    assert_ptr_equal(conduct_process_at(conduct, 2), taken);
    assert_null(conduct_process_at(conduct, 3));
    free_scene(scene);
}

/* It is over with its end and the ends of both outputs, or a while after its end. */
static void test_over(void **state)
{
    struct scene *scene = new_scene();
    struct conduct_process *process =
        conduct_know(&scene->conduct, &scene->web1, 812, PROCESS_RUNNING, "x");

    (void)state;
    output(scene, &scene->web1, 812, false, "", 0);
    output(scene, &scene->web1, 812, true, "", 0);
    assert_false(conduct_is_over(process, UINT64_MAX));
    notice(scene, &scene->web1, "process.ended", "{\"pid\": 812, \"status\": 0}");
    assert_true(conduct_is_over(process, process->ended));
    process->closed[1] = false;
    assert_false(conduct_is_over(process, process->ended + 400000000));
    assert_true(conduct_is_over(process, process->ended + 600000000));
    free_scene(scene);
}

/* An answer that comes after the end changes nothing; a program that cannot be executed has ended as in a shell. */
static void test_answers(void **state)
{
    struct scene *scene = new_scene();
    struct conduct *conduct = &scene->conduct;
    struct conduct_process *fast = conduct_know(conduct, &scene->web1, 1, PROCESS_NEW, "fast"),
                           *slow = conduct_know(conduct, &scene->web1, 2, PROCESS_NEW, "slow"),
                           *none = conduct_know(conduct, &scene->web1, 3, PROCESS_NEW, "none");
    struct conduct_answer good = {.host = &scene->web1, .came = true},
                          bad = {.host = &scene->web1,
                                 .came = true,
                                 .error = -EREMOTEIO,
                                 .why = "no such program"};
    struct problem problem = {""};

    (void)state;
    notice(scene, &scene->web1, "process.ended", "{\"pid\": 1, \"status\": 0}");
    assert_int_equal(conduct_changed(fast, PROCESS_RUNNING, &good, &problem), 0);
    assert_int_equal(fast->state, PROCESS_KILLED);
    assert_int_equal(conduct_changed(slow, PROCESS_RUNNING, &good, &problem), 0);
    assert_true(slow->state == PROCESS_RUNNING && slow->begun);
    assert_int_equal(conduct_changed(slow, PROCESS_STOPPED, &bad, &problem), -EREMOTEIO);
    assert_true(slow->state == PROCESS_RUNNING);
    assert_int_equal(conduct_changed(slow, PROCESS_STOPPED, &good, &problem), 0);
    assert_true(slow->state == PROCESS_STOPPED && slow->begun);
    assert_int_equal(conduct_changed(none, PROCESS_RUNNING, &bad, &problem), -EREMOTEIO);
    assert_string_equal(problem.text, "web1: no such program");
    assert_true(none->state == PROCESS_KILLED && none->status == 126 && !none->begun);
    free_scene(scene);
}

static void list(struct conduct_process *process, const char *text)
{
    struct listed_process listed;
    struct problem problem;
    json_t *said = json_loads(text, 0, NULL);

    assert_int_equal(notice_listed(said, &listed, &problem), 0);
    conduct_take_listed(process, &listed);
    json_decref(said);
}

/* What an agent lists corrects what the controller knows, unless it knows more. */
static void test_listed(void **state)
{
    struct scene *scene = new_scene();
    struct conduct *conduct = &scene->conduct;
    struct conduct_process *early =
                               conduct_know(conduct, &scene->web1, 1, PROCESS_STOPPED, "early"),
                           *wrong =
                               conduct_know(conduct, &scene->web1, 2, PROCESS_RUNNING, "wrong"),
                           *gone = conduct_know(conduct, &scene->web1, 3, PROCESS_RUNNING, "gone");

    (void)state;
    list(early, "{\"pid\": 1, \"recording\": \"r\", \"command\": \"x\", \"state\": \"new\"}");
    list(wrong, "{\"pid\": 2, \"recording\": \"r\", \"command\": \"x\", \"state\": \"new\"}");
    list(gone, "{\"pid\": 3, \"recording\": \"r\", \"command\": \"x\", \"state\": \"ended\", "
               "\"status\": 4}");
    assert_true(early->state == PROCESS_STOPPED && !early->begun && early->listed);
    assert_true(wrong->state == PROCESS_NEW && !wrong->begun);
    assert_string_equal(scene->text, "gone@web1 killed 4\n");
    list(early, "{\"pid\": 1, \"recording\": \"r\", \"command\": \"x\", \"state\": \"running\"}");
    assert_true(early->state == PROCESS_RUNNING && early->begun);
    free_scene(scene);
}

/* What one controller keeps of a job, the next one knows: states, and lines that are not complete. */
static void test_kept_job(void **state)
{
    struct scene *scene = new_scene(), *next = new_scene();
    struct conduct *conduct = &scene->conduct;
    struct conduct_process *sort = conduct_know(conduct, &scene->web1, 812, PROCESS_NEW, "sort"),
                           *another =
                               conduct_know(conduct, &scene->web1, 9, PROCESS_NEW, "another"),
                           *again = NULL;
    int job, other_job;
    json_t *one;
    size_t i;

    (void)state;
    sort->context = &job;
    another->context = &other_job;
    notice(scene, &scene->web1, "process.stopped", "{\"pid\": 812}");
    sort->begun = true;
    output(scene, &scene->web1, 812, true, "a\nha\033lf", 7);
    json_t *kept = kept_job_json(conduct, &(struct kept_job){.name = "sort",
                                                             .recording = "f1-sort",
                                                             .filter = "default",
                                                             .processes = &job,
                                                             .machines = json_pack("[s]", "web1")});
    json_t *session = kept_session_json(conduct, &(struct kept_session){.used = kept,
                                                                        .reach = kept,
                                                                        .filters = json_array(),
                                                                        .machines = json_array()});
    json_t *all = kept_job_json(
        conduct,
        &(struct kept_job){.name = "x", .recording = "x", .filter = "x", .machines = json_array()});
    json_t *processes = json_object_get(kept, "processes");
    assert_int_equal(json_array_size(processes), 1);
    assert_int_equal(json_array_size(json_object_get(all, "processes")), 2);
    assert_int_equal(fabric_count(session, "heard"), 2);
    json_array_foreach(processes, i, one)
    {
        assert_int_equal(kept_process_read(&next->conduct, &next->web1, one, &again), 0);
    }
    kept_lines_read(&next->conduct, json_object_get(session, "lines"));
    assert_true(again->state == PROCESS_STOPPED && again->begun && again->pid == 812);
    output(next, &next->web1, 812, true, "!\n", 2);
    assert_string_equal(next->text, "ha\033lf!\n");
    json_decref(session);
    json_decref(kept);
    json_decref(all);
    free_scene(scene);
    free_scene(next);
}

/* It counts as killed; that it may run is known to the next controller, too. */
static void test_lost(void **state)
{
    struct scene *scene = new_scene(), *next = new_scene();
    struct conduct_process *gone =
                               conduct_know(&scene->conduct, &scene->web1, 7, PROCESS_RUNNING, "x"),
                           *again = NULL;

    (void)state;
    assert_string_equal(conduct_state_word(gone), "running");
    conduct_set_lost(gone);
    assert_true(gone->state == PROCESS_KILLED && gone->status != 0);
    json_t *kept = kept_job_json(
        &scene->conduct,
        &(struct kept_job){.name = "x", .recording = "x", .filter = "x", .machines = json_array()});
    assert_int_equal(kept_process_read(&next->conduct, &next->web1,
                                       json_array_get(json_object_get(kept, "processes"), 0),
                                       &again),
                     0);
    assert_int_equal(again->state, PROCESS_KILLED);
    assert_string_equal(conduct_state_word(again), "lost");
    json_decref(kept);
    free_scene(scene);
    free_scene(next);
}

/* A form that this version does not have is no empty session. */
static void test_kept_version(void **state)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"{}", 0},
        {"{\"session\": {\"version\": 1}, \"job.1\": {}}", 0},
        {"{\"session\": {\"version\": 2}}", -EPROTONOSUPPORT},
        {"{\"session\": {\"next_job\": 1}}", -EPROTONOSUPPORT},
        {"{\"job.1\": {}}", -EPROTONOSUPPORT},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct problem problem = {""};
        json_t *kept = json_loads(cases[i].text, 0, NULL);
        assert_int_equal(kept_check(kept, "s1", &problem), cases[i].result);
        assert_true(cases[i].result == 0 ||
                    strstr(problem.text, "session s1 was begun by") != NULL);
        json_decref(kept);
    }
}

static void test_kept_process_is_checked(void **state)
{
    static const char *const damaged[] = {
        "{}",
        "{\"name\": \"\", \"pid\": 8, \"state\": \"new\"}",
        "{\"name\": \"x\", \"pid\": 0, \"state\": \"new\"}",
        "{\"name\": \"x\", \"pid\": 8, \"state\": \"ended\"}",
        "{\"name\": 3, \"pid\": 8, \"state\": \"new\"}",
    };
    struct scene *scene = new_scene();
    struct conduct_process *process;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
        json_t *kept = json_loads(damaged[i], 0, NULL);
        assert_int_equal(kept_process_read(&scene->conduct, &scene->web1, kept, &process),
                         -EBADMSG);
        json_decref(kept);
    }
    assert_null(conduct_process_at(&scene->conduct, 0));
    free_scene(scene);
}

/* ---- notices ---- */

static int read_text(const char *method, const char *text, struct conduct_notice *notice,
                     json_t **ret_params)
{
    struct problem problem = {""};

    *ret_params = json_loads(text, 0, NULL);
    assert_non_null(*ret_params);
    int result = notice_read(method, *ret_params, notice, &problem);
    assert_true(result == 0 || problem.text[0] != '\0');
    return result;
}

static void test_notices(void **state)
{
    static const struct {
        const char *method, *text;
        int result;
        enum notice_kind kind;
    } cases[] = {
        {"process.ended", "{\"pid\": 812, \"status\": 3}", 0, NOTICE_ENDED},
        {"process.ended", "{\"pid\": 812, \"signal\": 9}", 0, NOTICE_ENDED},
        {"process.ended", "{\"pid\": 812, \"signal\": 65}", -EPROTO, NOTICE_ENDED},
        {"process.ended", "{\"pid\": 0, \"status\": 3}", -EPROTO, NOTICE_ENDED},
        {"process.stopped", "{\"pid\": 812}", 0, NOTICE_STOPPED},
        {"process.continued", "{}", -EPROTO, NOTICE_CONTINUED},
        {"recording.idle", "{\"recording\": \"main\"}", 0, NOTICE_RECORDING_IDLE},
        {"recording.ended", "{\"reason\": \"agent\", \"message\": \"m\"}", 0,
         NOTICE_RECORDING_ENDED},
        {"recording.ended", "{\"reason\": \"agent\"}", -EPROTO, NOTICE_RECORDING_ENDED},
        {"note", "{\"text\": \"t\"}", 0, NOTICE_NOTE},
        {"recording.busy", "{\"recording\": \"main\"}", 0, NOTICE_RECORDING_BUSY},
        {"view.record", "{\"row\": 1}", 0, NOTICE_OTHER},
    };
    struct conduct_notice notice;
    json_t *params;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(cases[i].result,
                         read_text(cases[i].method, cases[i].text, &notice, &params));
        assert_int_equal(cases[i].kind, notice.kind);
        json_decref(params);
    }
    read_text("recording.ended", cases[7].text, &notice, &params);
    assert_string_equal("agent", notice.reason);
    json_decref(params);
    read_text("process.ended", cases[1].text, &notice, &params);
    assert_true(notice.end.by_signal && notice.end.number == 9 && notice.pid == 812);
    json_decref(params);
}

static void test_notes_are_printed_once(void **state)
{
    struct scene *scene = new_scene();
    char text[40];

    (void)state;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 3 * CONDUCT_NOTES_MOST; i++) {
            snprintf(text, sizeof(text), "note %u", i);
            const char *note = conduct_note_once(&scene->conduct, "web1", text);
            if (round == 0 && i < CONDUCT_NOTES_MOST)
                assert_ptr_equal(note, text);
            else if (round == 0 && i == CONDUCT_NOTES_MOST)
                assert_string_equal(note, "it has more notes; they are not printed");
            else
                assert_null(note);
        }
    assert_int_equal(json_object_size(json_object_get(scene->conduct.notes, "web1")),
                     CONDUCT_NOTES_MOST + 1);
    assert_ptr_equal(conduct_note_once(&scene->conduct, "db1", text), text);
    free_scene(scene);
}

/* ---- what is kept, and what is asked ---- */

static void test_kept_filter(void **state)
{
    struct kept_filter filter = {.number = 3,
                                 .name = "big",
                                 .machine = "store1",
                                 .folder = "/data/a b",
                                 .program = (char *)"filter",
                                 .files = {NULL, (char *)"/etc/rules"},
                                 .prefix = "f3-",
                                 .limits = {.max_bytes = 1ull << 40,
                                            .newest = true,
                                            .kept = {.max_files = 7, .max_age = 9000000000}},
                                 .process = {3, 812, 123456789012},
                                 .watched = true,
                                 .lacks = true},
                       again;
    json_t *kept = kept_filter_json(&filter);

    (void)state;
    assert_int_equal(kept_filter_read(kept, &again), 0);
    json_t *written = kept_filter_json(&again);
    assert_true(json_equal(kept, written));
    assert_int_equal(again.limits.kept.max_age, 9000000000);
    assert_int_equal(again.process.start, 123456789012);
    kept_filter_done(&again);
    json_object_del(kept, "folder");
    assert_int_equal(kept_filter_read(kept, &again), -EBADMSG);
    kept_filter_done(&again);
    json_decref(written);
    json_decref(kept);
}

/* The next controller may be started in another folder. */
static void test_kept_reach(void **state)
{
    json_t *reach = json_object();

    (void)state;
    assert_int_equal(chdir("/usr"), 0);
    kept_reach_set(reach, "rsh", "bin/ssh -v");
    assert_string_equal(kept_text(reach, "rsh") + strlen(kept_text(reach, "rsh")) -
                            strlen("/bin/ssh -v"),
                        "/bin/ssh -v");
    assert_true(kept_text(reach, "rsh")[0] == '/' || kept_text(reach, "rsh")[0] == '\'');
    kept_reach_set(reach, "rsh", "ssh -F x/y");
    assert_string_equal(kept_text(reach, "rsh"), "ssh -F x/y");
    kept_reach_set(reach, "dpm", "bin/dpm");
    assert_string_equal(kept_text(reach, "dpm"), "bin/dpm");
    json_decref(reach);
}

/* What an agent says too little of counts as nothing. */
static void test_recordings(void **state)
{
    json_t *said = json_pack("{s:b, s:I, s:i, s:s}", "active", 1, "records", (json_int_t)1 << 40,
                             "lost", -1, "processes", "many");
    const struct recording_said read = notice_recording(said), none = notice_recording(NULL);

    (void)state;
    assert_true(read.active && !read.begun && read.records == 1ull << 40 && read.lost == 0 &&
                read.processes == 0);
    assert_true(!none.active && !none.caught_up && none.records == 0);
    json_decref(said);
}

/* One that was ended from here is complete; so is one that has never begun, or of whose end its agent says nothing. */
static void test_early_ends(void **state)
{
    static const struct {
        const char *text, *why; /* NULL: none */
    } cases[] = {
        {"{\"begun\": true, \"reason\": \"complete\"}", NULL},
        {"{\"begun\": true, \"active\": true, \"reason\": \"other\"}", NULL},
        {"{\"begun\": false, \"reason\": \"other\"}", NULL},
        {"{\"begun\": true}", NULL},
        {"{\"begun\": true, \"reason\": \"disk\"}", "its trace could not be written"},
        {"{\"begun\": true, \"reason\": \"agent\"}", "its agent ended"},
        {"{\"begun\": true, \"reason\": \"x\"}", "reason unknown"},
        {"{\"begun\": true, \"reason\": \"complete\", \"failed\": true}",
         "not all of it could be sent"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_t *said = json_loads(cases[i].text, 0, NULL);
        const struct recording_said read = notice_recording(said);
        const char *why = notice_early_end(&read);
        if (cases[i].why == NULL ? why != NULL : why == NULL || strcmp(why, cases[i].why) != 0)
            fail_msg("%s: %s", cases[i].text, why == NULL ? "" : why);
        json_decref(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_whole_output), cmocka_unit_test(test_reports_find_their_process),
        cmocka_unit_test(test_over),         cmocka_unit_test(test_answers),
        cmocka_unit_test(test_listed),       cmocka_unit_test(test_kept_job),
        cmocka_unit_test(test_lost),         cmocka_unit_test(test_early_ends),
        cmocka_unit_test(test_missing),      cmocka_unit_test(test_output_twice),
        cmocka_unit_test(test_kept_version), cmocka_unit_test(test_kept_process_is_checked),
        cmocka_unit_test(test_notices),      cmocka_unit_test(test_notes_are_printed_once),
        cmocka_unit_test(test_kept_filter),  cmocka_unit_test(test_kept_reach),
        cmocka_unit_test(test_recordings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
