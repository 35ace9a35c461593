/* SPDX-License-Identifier: MIT */
/* session_kept.c: see session_kept.h. */
#include "conduct/session_kept.h"

#include "base/base.h"
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

json_int_t kept_number(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
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
        .max_bytes = (uint64_t)kept_number(kept, "max_bytes"),
        .newest = json_is_true(json_object_get(kept, "newest")),
        .kept = {.max_files = (uint32_t)kept_number(kept, "max_files"),
                 .max_age = (uint64_t)kept_number(kept, "max_age")},
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
    struct kept_filter filter = {.number = (unsigned)kept_number(kept, "number")};
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
                                             .pid = (pid_t)kept_number(kept, "pid"),
                                             .start = (uint64_t)kept_number(kept, "start")};
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

json_t *kept_process_json(const struct kept_process *process)
{
    return json_pack("{s:s, s:i, s:s, s:s, s:b, s:i}", "name", process->name, "pid", process->pid,
                     "machine", process->machine, "state", process->state, "begun", process->begun,
                     "status", process->status);
}

json_t *kept_job_json(const struct kept_job *job)
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
                     "flags_set", job->flags_set, "processes", job->processes, "recordings",
                     recordings);
}

/* ---- the session ---- */

static json_t *or_empty(json_t *array)
{
    return array == NULL ? json_array() : array;
}

json_t *kept_session_json(const struct kept_session *session)
{
    json_t *all = json_pack("{s:i, s:i, s:I, s:O, s:O, s:b, s:o, s:o, s:O, s:o}", "next_job",
                            (int)session->next_job, "next_filter", (int)session->next_filter,
                            "heard", (json_int_t)session->heard, "used", session->used, "reach",
                            session->reach, "warned", session->warned, "filters",
                            or_empty(session->filters), "machines", or_empty(session->machines),
                            "notes", session->notes, "lines", or_empty(session->lines));

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
