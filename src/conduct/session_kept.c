/* SPDX-License-Identifier: MIT */
/* session_kept.c: see session_kept.h. */
#include "conduct/session_kept.h"

#include "base/base.h"
#include "base/base64.h"
#include "event/event.h"
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *kept_text(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

int kept_check(json_t *kept, const char *session, struct problem *problem)
{
    uint64_t version = fabric_count(json_object_get(kept, "session"), "version");

    return json_object_size(kept) == 0 || version == KEPT_VERSION
               ? 0
               : problem_set(
                     problem, -EPROTONOSUPPORT,
                     "session %s was begun by another version of dpm, which keeps its state in "
                     "another form: go on with that dpm, or begin another session "
                     "(--session NAME)",
                     session);
}

int conduct_keep(struct conduct *conduct, const char *key, json_t *value, struct problem *problem)
{
    int result = fabric_keep(conduct_fabric(conduct), key, value, problem);

    json_decref(value);
    return result;
}

/* ---- filters ---- */

static json_t *limits_json(const struct trace_copy_limits *limits)
{
    return json_pack("{s:I, s:b, s:I, s:I}", "max_bytes", (json_int_t)limits->max_bytes, "newest",
                     limits->newest, "max_files", (json_int_t)limits->kept.max_files, "max_age",
                     (json_int_t)limits->kept.max_age);
}

static void read_limits(json_t *kept, struct trace_copy_limits *limits)
{
    *limits = (struct trace_copy_limits){
        .max_bytes = fabric_count(kept, "max_bytes"),
        .newest = json_is_true(json_object_get(kept, "newest")),
        .kept = {.max_files = (uint32_t)fabric_count(kept, "max_files"),
                 .max_age = fabric_count(kept, "max_age")},
    };
}

json_t *kept_filter_json(const struct kept_filter *filter)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:[s?, s?], s:o, s:i, s:I, s:b, s:b, s:b}",
                     "number", (int)filter->number, "name", filter->name, "machine",
                     filter->machine, "folder", filter->folder, "program", filter->program,
                     "prefix", filter->prefix, "files", filter->files[0], filter->files[1],
                     "limits", limits_json(&filter->limits), "pid", filter->process.pid, "start",
                     (json_int_t)filter->process.start, "watched", filter->watched, "ended",
                     filter->ended, "lacks", filter->lacks);
}

int kept_filter_read(json_t *kept, struct kept_filter *ret_filter)
{
    struct kept_filter filter = {.number = (unsigned)fabric_count(kept, "number")};
    json_t *files = json_object_get(kept, "files");

    snprintf(filter.name, sizeof(filter.name), "%s", kept_text(kept, "name"));
    snprintf(filter.machine, sizeof(filter.machine), "%s", kept_text(kept, "machine"));
    snprintf(filter.folder, sizeof(filter.folder), "%s", kept_text(kept, "folder"));
    snprintf(filter.prefix, sizeof(filter.prefix), "%s", kept_text(kept, "prefix"));
    read_limits(json_object_get(kept, "limits"), &filter.limits);
    filter.program = strdup(kept_text(kept, "program"));
    bool failed = filter.program == NULL;
    for (size_t i = 0; i < 2; i++)
        if (json_is_string(json_array_get(files, i)))
            failed |=
                (filter.files[i] = strdup(json_string_value(json_array_get(files, i)))) == NULL;
    filter.process = (struct filter_process){.number = filter.number,
                                             .pid = (pid_t)fabric_count(kept, "pid"),
                                             .start = fabric_count(kept, "start")};
    filter.watched = json_is_true(json_object_get(kept, "watched"));
    filter.ended = json_is_true(json_object_get(kept, "ended"));
    filter.lacks = json_is_true(json_object_get(kept, "lacks"));
    *ret_filter = filter;
    if (filter.name[0] == '\0' || filter.folder[0] == '\0')
        return -EBADMSG;
    return failed ? -ENOMEM : 0;
}

void kept_filter_done(struct kept_filter *filter)
{
    free(filter->program);
    free(filter->files[0]);
    free(filter->files[1]);
    filter->program = filter->files[0] = filter->files[1] = NULL;
}

/* ---- jobs ---- */

static json_t *process_json(const struct conduct_process *process)
{
    return json_pack("{s:s, s:i, s:s, s:s, s:b, s:i, s:b}", "name", process->name, "pid",
                     (int)process->pid, "machine", process->host->name, "state",
                     process_state_word(process->state), "begun", process->begun, "status",
                     process->status, "lost", process->lost);
}

static json_t *processes_json(const struct conduct *conduct, const void *context)
{
    const struct conduct_process *process;
    json_t *all = json_array();

    for (size_t i = 0; (process = conduct_process_at(conduct, i)) != NULL; i++)
        if (context == NULL || process->context == context)
            json_array_append_new(all, process_json(process));
    return all;
}

json_t *kept_job_json(const struct conduct *conduct, const struct kept_job *job)
{
    json_t *recordings = json_array(), *machine;
    char flags[METER_FLAGS_TEXT_SIZE];
    size_t i;

    json_array_foreach(job->machines, i, machine)
    {
        json_array_append_new(recordings, json_pack("{s:O}", "machine", machine));
    }
    json_decref(job->machines);
    meter_flags_text(job->flags, flags);
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "number", (int)job->number, "name",
                     job->name, "recording", job->recording, "filter", job->filter, "flags", flags,
                     "flags_set", job->flags_set, "processes",
                     processes_json(conduct, job->processes), "recordings", recordings);
}

static int read_state(const char *word, enum process_state *ret_state)
{
    for (enum process_state state = PROCESS_NEW; state < PROCESS_STATES; state++)
        if (strcmp(process_state_word(state), word) == 0) {
            *ret_state = state;
            return 0;
        }
    return -EBADMSG;
}

int kept_process_read(struct conduct *conduct, struct remote_host *host, json_t *kept,
                      struct conduct_process **ret_process)
{
    const char *name = kept_text(kept, "name");
    enum process_state state;
    struct problem problem;
    pid_t pid;

    if (name[0] == '\0' || read_state(kept_text(kept, "state"), &state) < 0 ||
        notice_pid(kept, &pid, &problem) < 0)
        return -EBADMSG;
    struct conduct_process *process = conduct_know(conduct, host, pid, state, name);
    if (process == NULL)
        return -ENOMEM;
    process->begun = json_is_true(json_object_get(kept, "begun"));
    process->status = (int)fabric_count(kept, "status");
    process->lost = json_is_true(json_object_get(kept, "lost"));
    *ret_process = process;
    return 0;
}

/* ---- the session ---- */

#define LINES_MOST 100 /* that are kept: a record of the server has at most 1 MB */

/* What was read of a line that is not complete yet, in base64: it belongs to "heard". */
static void add_lines(json_t *lines, const struct conduct_process *process)
{
    char text[BASE64_LENGTH(CONDUCT_LINE_MOST) + 1];

    for (int err = 0; err < 2; err++) {
        if (process->lines[err].length == 0 || json_array_size(lines) >= LINES_MOST)
            continue;
        base64_encode(process->lines[err].text, process->lines[err].length, text);
        json_array_append_new(lines,
                              json_pack("{s:s, s:i, s:b, s:s}", "machine", process->host->name,
                                        "pid", (int)process->pid, "err", err, "text", text));
    }
}

static json_t *lines_json(const struct conduct *conduct)
{
    const struct conduct_process *process;
    json_t *lines = json_array();

    for (size_t i = 0; (process = conduct_process_at(conduct, i)) != NULL; i++)
        add_lines(lines, process);
    return lines;
}

static void read_line(struct conduct_process *process, json_t *kept)
{
    struct conduct_line *line = &process->lines[json_is_true(json_object_get(kept, "err"))];
    const char *text = kept_text(kept, "text");
    char bytes[CONDUCT_LINE_MOST + 3];

    if (strlen(text) > BASE64_LENGTH(CONDUCT_LINE_MOST))
        return;
    int64_t size = base64_decode(text, strlen(text), bytes);
    if (size <= 0 || size >= CONDUCT_LINE_MOST)
        return;
    memcpy(line->text, bytes, (size_t)size);
    line->length = (size_t)size;
}

void kept_lines_read(struct conduct *conduct, json_t *kept)
{
    struct conduct_process *process, *found;
    json_t *one;
    size_t k;

    json_array_foreach(kept, k, one)
    {
        found = NULL;
        for (size_t i = 0; (process = conduct_process_at(conduct, i)) != NULL; i++)
            if ((pid_t)fabric_count(one, "pid") == process->pid &&
                strcmp(kept_text(one, "machine"), process->host->name) == 0)
                found = process; /* the last one of that number */
        if (found != NULL)
            read_line(found, one);
    }
}

json_t *kept_session_json(const struct conduct *conduct, const struct kept_session *session)
{
    json_t *all = json_pack(
        "{s:i, s:i, s:i, s:I, s:O, s:O, s:b, s:o, s:o, s:O, s:o}", "version", KEPT_VERSION,
        "next_job", (int)session->next_job, "next_filter", (int)session->next_filter, "heard",
        (json_int_t)conduct_heard(conduct), "used", session->used, "reach", session->reach,
        "warned", session->warned, "filters", session->filters, "machines", session->machines,
        "notes", conduct_notes(conduct), "lines", lines_json(conduct));

    if (session->recording != NULL)
        json_object_set(all, "recording", session->recording);
    return all;
}

/* Whether the first word is the path of a program, seen from the current folder. */
static bool is_relative(const char *command)
{
    char **words = NULL;
    int count = remote_words(command, &words);
    bool relative = count > 0 && words[0][0] != '/' && strchr(words[0], '/') != NULL;

    free(count < 0 ? NULL : words);
    return relative;
}

void kept_reach_set(json_t *reach, const char *key, const char *text)
{
    char path[PATH_MAX], quoted[4 * PATH_MAX + 3];
    json_t *word;

    if (strcmp(key, "machines") == 0 && realpath(text, path) != NULL) {
        word = json_string(path);
    } else if (strcmp(key, "rsh") == 0 && is_relative(text) && getcwd(path, sizeof(path)) != NULL) {
        shell_quote(path, quoted);
        word = json_sprintf("%s/%s", quoted, text + strspn(text, " \t\n"));
    } else {
        word = json_string(text);
    }
    json_object_set_new(reach, key, word);
}
