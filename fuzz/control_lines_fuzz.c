/* SPDX-License-Identifier: MIT */
/*
 * control_lines_fuzz.c: the input is what a client sends to a running monitor, line by line. Each line has one answer, a line
 * of JSON with a result or an error; the monitor has an instance of each object on a machine that never answers probes.
 */
#include "fuzz.h"
#include "monitor/central.h"
#include "monitor/control_lines.h"
#include "strips/strips.h"

#include <jansson.h>
#include <string.h>

struct client {
    size_t lines, answers, asked;
    struct control_lines *control;
    struct strips *strips;
};

static void take_answer(void *context, uint64_t number, const char *text)
{
    struct client *client = context;
    json_t *answer = json_loads(text, 0, NULL);

    PROMISE(number == 1 && json_is_object(answer));
    PROMISE((json_object_get(answer, "result") != NULL) !=
            json_is_string(json_object_get(answer, "error")));
    /* the state of views is what displays take */
    if (json_object_get(json_object_get(answer, "result"), "changes") != NULL)
        PROMISE(strips_take(client->strips, text, strlen(text)) >= 0);
    client->answers++;
    json_decref(answer);
}

static void answered(void *context, uint64_t question, const struct view_value *value,
                     uint64_t time)
{
    struct client *client = context;

    control_lines_answered(client->control, question, value, time);
}

static void changed(void *context, const struct view_change *change)
{
    struct client *client = context;

    if (client->control != NULL)
        control_lines_changed(client->control, change);
}

static void note(void *context, const char *line)
{
    (void)context;
    (void)line;
}

/* ---- the machine ---- */

static int link_step(void *self, const struct row_step *step, struct problem *problem)
{
    (void)problem;
    if (step->kind == STEP_READ)
        ((struct client *)self)->asked++;
    if (step->kind == STEP_TURN || step->kind == STEP_CONSTANT)
        PROMISE(step->view < 2 && step->index < 2);
    return 0;
}

static struct monitor *make_monitor(struct client *client, const struct view_file *file,
                                    const struct view_costs *costs)
{
    const struct monitor_options options = {
        .file = file, .file_name = "input", .costs = costs, .machine = "here"};
    const struct monitor_calls calls = {client, changed, note, answered};
    const struct central_link link = {client, "web1", link_step};
    struct monitor *monitor = NULL;

    PROMISE(monitor_new(&options, &calls, &monitor, NULL) == 0);
    int number = central_add_link(monitor_central(monitor), &link);
    PROMISE(monitor_begin(monitor, NULL) == 0);
    central_appeared(monitor_central(monitor), number, "Queue", 812, "queued");
    central_appeared(monitor_central(monitor), number, "process", 812, "queued");
    return monitor;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char text[] =
        "ATTRIBUTE DEFINITION FOR OBJECT Queue size: q; END ATTRIBUTE DEF "
        "VIEW DEF Long (size: Queue.size) ACTIVE WHEN Queue.size > 15 AND Queue.size < 99; END "
        "VIEW DEF "
        "VIEW DEF Busy (cpu: process[*].cpu) ACTIVE WHEN process[*].cpu > 0.5; END VIEW DEF";
    struct client client = {.strips = strips_new("input")};
    const struct control_lines_calls calls = {&client, take_answer};
    struct view_file *file = NULL;
    struct view_costs costs;

    view_costs_init(&costs);
    PROMISE(view_parse("input", text, strlen(text), &file, NULL) == 0);
    struct monitor *monitor = make_monitor(&client, file, &costs);
    PROMISE(control_lines_new(file, monitor, &calls, &client.control) == 0);
    while (size > 0) {
        const uint8_t *end = memchr(bytes, '\n', size);
        size_t length = end == NULL ? size : (size_t)(end - bytes);
        control_lines_take(client.control, 1, (const char *)bytes, length);
        client.lines++;
        PROMISE(client.answers + client.asked == client.lines);
        size -= end == NULL ? size : length + 1;
        bytes += length + 1;
    }
    /* the instance ends: all that wait are answered */
    central_lost(monitor_central(monitor), 0);
    PROMISE(client.answers == client.lines);
    struct control_lines *control = client.control;
    client.control = NULL; /* rows end with the monitor */
    control_lines_free(control);
    strips_free(client.strips);
    monitor_free(monitor);
    view_file_free(file);
    view_costs_done(&costs);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "{\"id\": 1, \"method\": \"views\"}\n{\"id\": 1, \"method\": \"state\", "
        "\"params\": {\"since\": 0}}\n{\"method\": \"counts\", \"id\": [1]}\n"
        "{\"id\": 2, \"method\": \"threshold\", \"params\": {\"view\": \"Long\", \"constant\": 1, "
        "\"value\": 20}}\n"
        "{\"id\": 3, \"method\": \"sensor\", \"params\": {\"view\": \"Busy\", \"on\": false}}\n"
        "{\"id\": 4, \"method\": \"probe\", \"params\": {\"attribute\": \"Queue[1].size\"}}\n"
        "{\"id\": 5, \"method\": \"value\", \"params\": {\"attribute\": "
        "\"process[\\\"queued\\\"].cpu\"}}";

    return fuzz_text(bytes, room, example);
}
