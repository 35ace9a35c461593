/* SPDX-License-Identifier: MIT */
/*
 * recordings.c: the recordings of an agent, each with a meter and a trace of its own.
 *
 *      recording.open --> meter, empty trace
 *      recording.acquire, process.create --> begun: each step moves records into the trace, and packets to the fabric
 *      recording.end --> the trace is closed; what is left of it is published
 */
#include "agent/agent_private.h"
#include "base/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPOOL_SIZE   (1ull << 30)  /* bytes, unless something else is asked for */
#define SIGN_OF_LIFE 1000000000ull /* ns */

/* ---- finding ---- */

static struct agent_recording *find(struct agent *agent, const char *name)
{
    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        if (strcmp(each->name, name) == 0)
            return each;
    return NULL;
}

/* The recording that params name. */
static int find_named(struct agent *agent, json_t *params, struct agent_recording **ret_recording,
                      struct problem *problem)
{
    const char *name = json_string_value(json_object_get(params, "recording"));
    struct agent_recording *found = name == NULL ? NULL : find(agent, name);

    if (name == NULL)
        return problem_set(problem, -EINVAL, "params need \"recording\", its name");
    if (found == NULL)
        return problem_set(problem, -ENOENT, "there is no recording '%s'", name);
    *ret_recording = found;
    return 0;
}

int recordings_find_active(struct agent *agent, json_t *params,
                           struct agent_recording **ret_recording, struct problem *problem)
{
    struct agent_recording *found = NULL;
    int result = find_named(agent, params, &found, problem);

    if (result == 0 && (found->ended || found->stopped))
        return problem_set(problem, -ESTALE, "recording '%s' has ended", found->name);
    if (result == 0)
        *ret_recording = found;
    return result;
}

/* Whether it has steps. */
static bool goes_on(const struct agent_recording *recording)
{
    return recording->begun && !recording->ended && !recording->stopped;
}

static size_t count_recordings(const struct agent *agent)
{
    size_t count = 0;

    for (const struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        count++;
    return count;
}

/* ---- what is said to the user ---- */

void recordings_say(const char *line, void *context)
{
    struct agent_recording *recording = context;

    if (recording->notes != NULL) {
        json_array_append_new(recording->notes, agent_text(line));
        return;
    }
    agent_notice(recording->agent, "note",
                 json_pack("{s:s, s:o}", "recording", recording->name, "text", agent_text(line)));
}

/* ---- opening ---- */

static int read_meter(const char *word, enum meter_wish *ret_wish, struct problem *problem)
{
    static const char *const words[] = {
        [WISH_AUTO] = "auto", [WISH_KERNEL] = "kernel", [WISH_PTRACE] = "ptrace"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i], word) == 0) {
            *ret_wish = (enum meter_wish)i;
            return 0;
        }
    return problem_set(problem, -EINVAL, "meter '%s': auto, kernel or ptrace", word);
}

/* Rules that came with a request; errors name their line and column. NULL: none. */
static int parse_rules(const char *text, struct rules **ret_rules, struct problem *problem)
{
    struct rules *rules = NULL;
    int result = rules_parse("rules", text == NULL ? "" : text, text == NULL ? 0 : strlen(text),
                             &rules, problem);

    if (result == -ENOMEM)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    if (result == 0)
        *ret_rules = rules;
    return result;
}

static int read_options(struct agent_recording *recording, json_t *params, struct problem *problem)
{
    const char *rules = NULL;
    const char *flags = "all", *kinds = "all", *later_kinds = "", *meter = "auto";
    json_int_t ring = 0, size = SPOOL_SIZE, files = 0, age = 0;
    struct recording_options *options = &recording->options;
    struct meter_options *of_meter = &options->meter.options;
    json_error_t error;

    if (json_unpack_ex(params, &error, 0, "{s?:s, s?:s, s?:s, s?:s, s?:I, s?:I, s?:I, s?:I, s?:s}",
                       "flags", &flags, "kinds", &kinds, "later_kinds", &later_kinds, "meter",
                       &meter, "ring_size", &ring, "max_size", &size, "max_files", &files,
                       "max_age", &age, "rules", &rules) < 0)
        return problem_set(problem, -EINVAL, "recording.open: %s", error.text);
    if (ring < 0 || ring > 1 << 30 || size < TRACE_SMALLEST_KEPT || files < 0 ||
        files > TRACE_FILES_MOST || age < 0)
        return problem_set(problem, -EINVAL,
                           "recording.open: a size, number or age is not possible");
    int result = meter_flags_parse(flags, &of_meter->flags, problem);
    if (result == 0)
        result = meter_kinds_parse(kinds, &of_meter->kinds, problem);
    of_meter->later_kinds = of_meter->kinds;
    if (result == 0)
        result = meter_kinds_parse(later_kinds, &of_meter->later_kinds, problem);
    if (result == 0)
        result = read_meter(meter, &options->meter.wish, problem);
    if (result == 0)
        result = parse_rules(rules, &recording->rules, problem);
    options->rules = recording->rules;
    /* without, the hooks have nothing to do with rules, and later ones are the recorder's alone */
    of_meter->selects = rules != NULL;
    of_meter->flags |= STORE_NEWEST_FLAGS;
    of_meter->later_flags = METER_ALL_FLAGS;
    of_meter->ring_size = (uint32_t)ring;
    options->store = STORE_NEWEST;
    options->max_size = (uint64_t)size;
    options->limits = (struct trace_limits){.max_files = (uint32_t)files, .max_age = (uint64_t)age};
    options->trace = recording->path;
    /* a sign of life, even if nothing happens: live reports wait for each machine */
    options->latest = SIGN_OF_LIFE;
    return result;
}

struct agent_recording *recordings_add(struct agent *agent, const char *name,
                                       struct problem *problem)
{
    struct agent_recording *recording = calloc(1, sizeof(*recording));

    if (recording == NULL) {
        problem_set(problem, -ENOMEM, "out of memory for a recording");
        return NULL;
    }
    snprintf(recording->name, sizeof(recording->name), "%s", name);
    snprintf(recording->path, sizeof(recording->path), "%.*s/%s", AGENT_PATH - 80, agent->folder,
             name);
    recording->agent = agent;
    recording->recording.options = &recording->options;
    recording->looks = true;
    recording->next = agent->recordings;
    agent->recordings = recording;
    return recording;
}

static void remove_recording(struct agent_recording *recording)
{
    struct agent_recording **place = &recording->agent->recordings;

    while (*place != recording)
        place = &(*place)->next;
    *place = recording->next;
    acquisitions_free(recording);
    publishing_close(&recording->publishing);
    recording_close(&recording->recording);
    json_decref(recording->missed);
    rules_free(recording->rules);
    free(recording);
}

static int open_one(struct agent_recording *recording, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    struct recording *of = &recording->recording;
    int result = read_options(recording, params, problem);

    if (result == 0)
        result = recording_open(of, recording->name, 0, problem);
    if (result < 0) {
        recording_discard(of);
        return result;
    }
    json_t *notes = json_array();
    if (of->kernel_refused[0] != '\0')
        json_array_append_new(
            notes, json_sprintf("the kernel meter does not work: %s", of->kernel_refused));
    if (of->meter->left_out != NULL)
        json_array_append_new(notes, json_string(of->meter->left_out));
    *ret_result = json_pack("{s:s, s:o}", "meter",
                            of->meter->kind == METER_KERNEL ? "kernel" : "ptrace", "notes", notes);
    return 0;
}

int recordings_open(struct agent *agent, json_t *params, json_t **ret_result,
                    struct problem *problem)
{
    const char *name = json_string_value(json_object_get(params, "recording"));

    if (name == NULL || !fabric_name_valid(name))
        return problem_set(problem, -EINVAL,
                           "params need \"recording\", a name of a-z, 0-9 and '-'");
    if (find(agent, name) != NULL)
        return problem_set(problem, -EEXIST, "there is a recording '%s' already", name);
    if (count_recordings(agent) >= AGENT_MOST)
        return problem_set(problem, -EUSERS, "an agent has at most %d recordings", AGENT_MOST);
    struct agent_recording *recording = recordings_add(agent, name, problem);
    if (recording == NULL)
        return -ENOMEM;
    int result = open_one(recording, params, ret_result, problem);
    if (result < 0)
        remove_recording(recording);
    return result;
}

void recordings_begin_one(struct agent_recording *recording)
{
    if (!recording->begun)
        recording_begin(&recording->recording);
    recording->begun = true;
}

/* ---- changing ---- */

/* The words as --flags and --kinds. They replace what is set; with `unites` they change only what they name. */
static int read_flags(const char *words, bool unites, struct meter_change *change,
                      struct problem *problem)
{
    uint64_t of_none = 0, of_all = METER_ALL_FLAGS;
    int result = meter_flags_parse(words, &of_none, problem);

    if (result < 0 || meter_flags_parse(words, &of_all, problem) < 0)
        return result;
    change->flags_on = of_none;
    change->flags_off = METER_ALL_FLAGS & ~(unites ? of_all : 0);
    return 0;
}

static int read_kinds(const char *words, bool unites, struct meter_change *change,
                      struct problem *problem)
{
    uint32_t of_none = 0, of_all = METER_EVERY_KIND;
    int result = meter_kinds_parse(words, &of_none, problem);

    if (result < 0 || meter_kinds_parse(words, &of_all, problem) < 0)
        return result;
    change->kinds_on = of_none;
    change->kinds_off = METER_EVERY_KIND & ~(unites ? of_all : 0);
    return 0;
}

static int read_change(json_t *params, struct meter_change *ret_change, struct problem *problem)
{
    const char *flags = json_string_value(json_object_get(params, "flags"));
    const char *kinds = json_string_value(json_object_get(params, "kinds"));
    bool unites = json_is_true(json_object_get(params, "unite"));
    int result = 0;

    *ret_change = (struct meter_change){.leaves = json_is_true(json_object_get(params, "leave"))};
    if ((flags == NULL && kinds == NULL) != ret_change->leaves)
        return problem_set(
            problem, -EINVAL,
            "recording.flags: give \"flags\" or \"kinds\" or both, or \"leave\": true");
    if (flags != NULL)
        result = read_flags(flags, unites, ret_change, problem);
    if (result == 0 && kinds != NULL)
        result = read_kinds(kinds, unites, ret_change, problem);
    return result;
}

int recordings_flags(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    struct agent_recording *recording = NULL;
    json_t *pid = json_object_get(params, "pid");
    struct meter_change change;
    int result = recordings_find_active(agent, params, &recording, problem);

    if (result == 0 && pid != NULL &&
        (json_integer_value(pid) < 1 || json_integer_value(pid) > INT32_MAX))
        result = problem_set(problem, -EINVAL, "recording.flags: \"pid\" is a process id");
    if (result == 0)
        result = read_change(params, &change, problem);
    if (result < 0)
        return result;
    struct meter_interface *meter = recording->recording.meter;
    if (meter->change == NULL)
        return problem_set(problem, -ENOTSUP, "the ptrace meter cannot change what it records");
    result = meter->change(meter, (pid_t)json_integer_value(pid), &change, problem);
    if (result >= 0)
        *ret_result = json_pack("{s:i}", "threads", result);
    return result < 0 ? result : 0;
}

void recordings_note_stopped(struct agent_recording *recording, const struct problem *problem)
{
    if (!goes_on(recording) || recording->recording.active)
        return;
    recording->why = *problem;
    recording->stopped = true;
}

int recordings_rules(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    const char *text = json_string_value(json_object_get(params, "rules"));
    struct agent_recording *recording = NULL;
    struct rules *rules = NULL;
    int result = recordings_find_active(agent, params, &recording, problem);

    if (result == 0 && text == NULL)
        result = problem_set(problem, -EINVAL,
                             "recording.rules: give \"rules\", a text; \"\": everything is kept");
    if (result == 0)
        result = parse_rules(text, &rules, problem);
    if (result < 0)
        return result;
    result = recording_select(&recording->recording, rules, problem);
    if (result < 0) {
        rules_free(rules);
        recordings_note_stopped(recording, problem);
        return result;
    }
    rules_free(recording->rules);
    recording->rules = rules;
    *ret_result = json_pack("{s:i, s:b}", "rules", (int)rules_count(rules), "kernel",
                            recording->recording.meter->selection != NULL);
    return 0;
}

/* ---- the end ---- */

static const char *reason_word(const struct agent_recording *recording)
{
    switch (recording->recording.reason) {
    case END_COMPLETE:
        return "complete";
    case END_SIZE:
        return "size";
    case END_DISK:
        return "disk";
    case END_METER:
        return "meter";
    case END_REPAIRED:
        return "agent";
    default:
        return "other";
    }
}

static json_t *state_of(const struct agent_recording *recording)
{
    const struct recording *of = &recording->recording;
    json_t *state =
        json_pack("{s:b, s:b, s:s, s:I}", "active", goes_on(recording), "begun", recording->begun,
                  "reason", reason_word(recording), "records", (json_int_t)of->records);

    if (of->meter != NULL) {
        json_int_t lost = 0;
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
            lost += (json_int_t)of->meter->lost(of->meter, ring);
        json_object_set_new(state, "lost", json_integer(lost));
        json_object_set_new(state, "processes", json_integer(of->meter->live(of->meter)));
    }
    publishing_state(&recording->publishing, state);
    return state;
}

static void note_missed(const char *line, void *context)
{
    struct agent_recording *recording = context;

    json_array_append_new(recording->missed, json_string(line));
}

/* It is kept for each answer to recording.end: one may be lost on its way, and a recording may have ended by itself. */
static void keep_missed(struct agent_recording *recording)
{
    const struct meter_interface *meter = recording->recording.meter;

    recording->missed = json_array();
    meter->report(meter, note_missed, recording);
}

/* Ends it, and closes its trace. Returns as recording_end does. */
static int end_one(struct agent_recording *recording, struct problem *problem)
{
    int result = 0;

    if (recording->ended)
        return 0;
    created_release(recording->agent, recording->name);
    recording->ended = true;
    publishing_note_growth(recording); /* END is still to come */
    if (!recording->begun) {           /* nothing was metered: there is nothing to publish */
        recording_discard(&recording->recording);
        recording->publishing.all = true;
        return 0;
    }
    result = recording_end(&recording->recording, problem);
    keep_missed(recording);
    acquisitions_free(recording);
    return result;
}

int recordings_end(struct agent *agent, json_t *params, json_t **ret_result,
                   struct problem *problem)
{
    struct agent_recording *recording = NULL;
    int result = find_named(agent, params, &recording, problem);

    if (result == 0)
        result = end_one(recording, problem);
    if (result >= 0)
        *ret_result =
            json_pack("{s:o, s:o}", "trace", state_of(recording), "notes",
                      recording->missed == NULL ? json_array() : json_incref(recording->missed));
    return result < 0 ? result : 0;
}

int recordings_state(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    struct agent_recording *recording = NULL;
    int result = find_named(agent, params, &recording, problem);

    if (result == 0)
        *ret_result = state_of(recording);
    return result;
}

int recordings_flush(struct agent *agent, json_t *params, json_t **ret_result,
                     struct problem *problem)
{
    struct agent_recording *recording = NULL;
    int result = find_named(agent, params, &recording, problem);

    (void)ret_result;
    if (result < 0 || !goes_on(recording))
        return result;
    publishing_note_growth(recording);
    result = recording_catch_up(&recording->recording, problem);
    if (result >= 0)
        result = recording_flush(&recording->recording, problem);
    if (result < 0)
        recordings_note_stopped(recording, problem);
    return result;
}

/* ---- going on ---- */

void recordings_tell_ended(const struct agent_recording *recording, const char *reason,
                           const char *message)
{
    agent_notice(recording->agent, "recording.ended",
                 json_pack("{s:s, s:s, s:o}", "recording", recording->name, "reason", reason,
                           "message", agent_text(message)));
}

static void tell_idle(struct agent_recording *recording)
{
    struct meter_interface *meter = recording->recording.meter;
    bool idle = meter->live(meter) == 0;

    if (idle == recording->idle)
        return;
    recording->idle = idle;
    agent_notice(recording->agent, idle ? "recording.idle" : "recording.busy",
                 json_pack("{s:s}", "recording", recording->name));
}

static void step_one(struct agent_recording *recording)
{
    if (recording_step(&recording->recording, &recording->why) < 0) {
        recording->stopped = true;
        return;
    }
    acquisitions_step(recording);
    tell_idle(recording);
}

void recordings_step(struct agent *agent)
{
    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        if (goes_on(each))
            step_one(each);
}

void recordings_end_stopped(struct agent *agent)
{
    struct problem problem;

    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next) {
        if (!each->stopped || each->ended)
            continue;
        recordings_lock(agent);
        end_one(each, &problem);
        recordings_unlock(agent);
        recordings_tell_ended(each, reason_word(each), each->why.text);
    }
}

void recordings_publish(struct agent *agent)
{
    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        publishing_step(each);
}

void recordings_wait(struct agent *agent, int file)
{
    struct recording idle = {0}; /* has no step */
    struct recording *active = NULL;
    struct pollfd files[] = {{.fd = file, .events = POLLIN}};
    uint64_t until = UINT64_MAX;

    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        if (goes_on(each)) {
            /* only one of them can wake us */
            if (active != NULL)
                until = clock_now(CLOCK_MONOTONIC) + RECORDING_INTERVAL * 1000000ull;
            active = &each->recording;
        }
    recording_wait(active == NULL ? &idle : active, files, 1, until);
}

void recordings_end_all(struct agent *agent)
{
    struct problem problem;

    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        end_one(each, &problem);
}

bool recordings_are_published(struct agent *agent)
{
    for (struct agent_recording *each = agent->recordings; each != NULL; each = each->next)
        if (!each->ended || !publishing_done(&each->publishing))
            return false;
    return true;
}

bool recordings_close(struct agent *agent)
{
    bool all = true;

    while (agent->recordings != NULL) {
        struct agent_recording *recording = agent->recordings;
        char path[AGENT_PATH];
        bool published = recording->ended && !recording->publishing.failed &&
                         publishing_done(&recording->publishing);
        snprintf(path, sizeof(path), "%s", recording->path);
        remove_recording(recording);
        if (published)
            folder_remove(path);
        all = all && published;
    }
    return all;
}
