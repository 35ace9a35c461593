/* SPDX-License-Identifier: MIT */
/*
 * causality_json.c: request paths as JSON. Keys are stable; dpm-causality(1) describes them.
 *
 *      {"trace": {...}, "requests": {...}, "precision": {...}, "letters": {...},
 *      "processes": [ ... ], "strings": [ ... ], "substrings": [ ... ], "transitions": [ ... ],
 *      "replies": [ ... ], "paths": [ ... ], "slowest": [ ... ]}      one element a line
 */
#include "show/causality/causality_face.h"
#include "show/text/json.h"
#include "show/text/matching_face.h"

#include <stdlib.h>
#include <string.h>

/* ---- the recording, and how it was analysed ---- */

static json_t *recording(const struct causality *causality)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "traces", json_count(causality->traces),
                     "events", json_count(causality->events), "lost", json_count(causality->lost),
                     "duration_ns", json_count(causality->duration), "complete",
                     causality->complete, "own_cost", own_cost_json(&causality->matching.own_cost),
                     "matching", matching_json(&causality->matching));
}

static json_t *requests(const struct causality *causality)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o}", "count",
                     json_count(causality->requests), "not_metered",
                     json_count(causality->requests_of_strangers), "of_later_servers",
                     json_count(causality->requests_of_later_servers), "replies",
                     json_count(causality->replies), "messages", json_count(causality->arcs),
                     "by_program", causality->by_program, "each_send", causality->each_send, "last",
                     causality->last, "length", json_count(causality->length), "context",
                     json_count(causality->context));
}

static json_t *attributed(const struct causality *causality, bool proved)
{
    json_t *object = json_object();
    int result = object == NULL ? -1 : 0;

    for (int i = 0; i < ATTRIBUTION_COUNT; i++)
        if (attribution_is_proved((enum attribution)i) == proved)
            result |= json_object_set_new(object, attribution_name((enum attribution)i),
                                          json_count(causality->attributed[i]));
    if (result == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *precision(const struct causality *causality)
{
    uint64_t proved = 0;

    for (int i = 0; i < ATTRIBUTION_COUNT; i++)
        proved += attribution_is_proved((enum attribution)i) ? causality->attributed[i] : 0;
    return json_pack(
        "{s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o}",
        "proved", attributed(causality, true), "proved_share", show_share(proved, causality->arcs),
        "assumed", attributed(causality, false), "without_request",
        json_count(causality->without_request), "late", json_count(causality->late), "unmatched",
        json_count(causality->unmatched), "unselected", json_count(causality->unselected),
        "contradicted", json_count(causality->contradicted), "ambiguous",
        json_count(causality->ambiguous), "system_receives", json_count(causality->system_receives),
        "joined", json_count(causality->joined), "assumed_sides",
        json_count(causality->assumed_sides), "unknown_connections",
        json_count(causality->unknown_connections), "unknown_paths",
        json_count(causality->unknown_paths), "unknown_clocks",
        json_count(causality->unknown_clocks), "without_send", json_count(causality->without_send),
        "unanswered", json_count(causality->unanswered), "long_strings",
        json_count(causality->long_strings), "cut_requests", json_count(causality->cut_requests),
        "other_strings", json_count(causality->other_strings), "other_substrings",
        json_count(causality->other_substrings), "other_transitions",
        json_count(causality->other_transitions));
}

/* ---- processes ---- */

/* Maps a letter to its process, or to a list if several processes share it. */
static int set_letter(json_t *letters, const struct causality *causality,
                      const struct causality_process *process)
{
    char name[PROCESS_NAME_SIZE];

    if (process->letter[0] == '\0' || json_object_get(letters, process->letter) != NULL)
        return 0;
    if (causality->by_program)
        show_text(process->name, STREAM_NAME_SIZE, name);
    else
        show_process(process->name, process->pid, name);
    return json_object_set_new(letters, process->letter, json_string(name));
}

static json_t *letters(const struct causality *causality)
{
    json_t *object = json_object();
    int result = object == NULL ? -1 : 0;

    for (size_t i = 0; i < causality->process_count && result == 0; i++)
        result = set_letter(object, causality, &causality->processes[i]);
    if (result == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *process(const struct causality *causality, size_t index)
{
    const struct causality_process *from = &causality->processes[index];

    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "letter",
                     from->letter[0] == '\0' ? json_null() : json_string(from->letter), "role",
                     causality_role_name(from->role), "name",
                     json_text(from->name, STREAM_NAME_SIZE), "command",
                     from->command == NULL ? json_null() : json_text(from->command, NAME_SIZE),
                     "pid", from->pid == 0 ? json_null() : json_count(from->pid), "trace",
                     json_count(from->origin + 1ULL), "requests", json_count(from->requests));
}

/* ---- request signatures ---- */

static json_t *string(const struct causality *causality, size_t index)
{
    const struct causality_path *from = &causality->paths[index];

    return json_pack("{s:s, s:o}", "string", from->string, "count", json_count(from->count));
}

static json_t *path(const struct causality *causality, size_t index)
{
    const struct causality_path *from = &causality->paths[index];

    return json_pack("{s:s, s:o, s:b, s:o}", "string", from->string, "count",
                     json_count(from->count), "answered", from->answered, "latency_ns",
                     json_distribution(&from->latency));
}

static json_t *connection_pool(const struct causality *causality, size_t index)
{
    const struct causality_pool *from = &causality->pools[index];

    return json_pack("{s:s, s:I, s:o, s:s, s:o, s:o, s:o, s:o}", "name", from->name, "pid",
                     (json_int_t)from->pid, "trace", json_count(from->origin + 1UL), "address",
                     from->address, "connections", json_count(from->connections), "requests",
                     json_count(from->requests), "waits_ns", json_distribution(&from->waits),
                     "waited_ns", json_count(from->waited));
}

static json_t *substring(const struct causality *causality, size_t index)
{
    const struct causality_substring *from = &causality->substrings[index];

    return json_pack("{s:s, s:o}", "string", from->string, "count", json_count(from->count));
}

/* ---- transitions ---- */

static json_t *context(const struct causality_transition *from)
{
    json_t *list = json_array();
    int result = list == NULL ? -1 : 0;

    for (unsigned i = 0; i < from->length && result == 0; i++)
        result = json_array_append_new(list, json_string(from->context[i]));
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *transition(const struct causality *causality, size_t index)
{
    const struct causality_transition *from = &causality->transitions[index];
    json_t *object =
        json_pack("{s:o, s:s, s:o, s:o}", "from",
                  from->length > 1 ? json_string(from->context[from->length - 2]) : json_null(),
                  "at", from->context[from->length - 1], "context", context(from), "count",
                  json_count(from->count));

    if (object == NULL || from->next == NULL)
        return object;
    if (json_object_set_new(object, "next", json_string(from->next)) == 0 &&
        json_object_set_new(object, "probability", json_real(show_share(from->count, from->of))) ==
            0)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- the slowest requests ---- */

static json_t *step(const struct causality_step *from)
{
    json_t *received = from->when == TIME_UNKNOWN ? json_null() : json_count(from->when);

    return json_pack("{s:o, s:s, s:s, s:o}", "received_ns", received, "by", from->letter, "from",
                     from->from, "last_sent_ns",
                     from->last > from->when ? json_count(from->last) : json_null());
}

static json_t *slow(const struct causality *causality, size_t index)
{
    const struct causality_request *from = &causality->slowest[index];
    json_t *steps = json_array();
    int result = steps == NULL ? -1 : 0;

    for (uint32_t i = 0; i < from->step_count && result == 0; i++)
        result = json_array_append_new(steps, step(&from->steps[i]));
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "string", from->string, "duration_ns",
                  json_count(from->duration), "time_ns", json_count(from->begun), "trace",
                  json_count(from->origin + 1ULL), "requestor",
                  json_text(from->requestor, strlen(from->requestor)), "more", from->more);
    if (object != NULL && result == 0 && json_object_set(object, "events", steps) == 0) {
        json_decref(steps);
        return object;
    }
    json_decref(steps);
    json_decref(object);
    return NULL;
}

/* ---- everything together ---- */

static bool is_next(const struct causality *causality, size_t index)
{
    return causality->transitions[index].next != NULL;
}

static bool is_reply(const struct causality *causality, size_t index)
{
    return causality->transitions[index].next == NULL;
}

struct list {
    const char *name;
    size_t count;
    json_t *(*make)(const struct causality *causality, size_t index);
    bool (*has)(const struct causality *causality, size_t index); /* NULL: all elements */
};

static int print_list(const struct causality *causality, const struct list *list, FILE *file)
{
    const char *separator = "\n";
    int result = 0;

    fprintf(file, ",\n\"%s\": [", list->name);
    for (size_t i = 0; result == 0 && i < list->count && !ferror(file); i++) {
        if (list->has != NULL && !list->has(causality, i))
            continue;
        fputs(separator, file);
        separator = ",\n";
        result = json_print(list->make(causality, i), JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

int show_causality_json(const struct causality *causality, FILE *file)
{
    const struct list lists[] = {
        {"processes", causality->process_count, process, NULL},
        {"strings", causality->path_count, string, NULL},
        {"substrings", causality->substring_count, substring, NULL},
        {"transitions", causality->transition_count, transition, is_next},
        {"replies", causality->transition_count, transition, is_reply},
        {"paths", causality->path_count, path, NULL},
        {"slowest", causality->slowest_count, slow, NULL},
        {"pools", causality->pool_count, connection_pool, NULL},
    };
    const struct {
        const char *name;
        json_t *(*make)(const struct causality *causality);
    } objects[] = {{"trace", recording},
                   {"requests", requests},
                   {"precision", precision},
                   {"letters", letters}};
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(objects) && result == 0; i++) {
        fprintf(file, "%s\"%s\": ", i == 0 ? "{" : ",\n", objects[i].name);
        result = json_print(objects[i].make(causality), JSON_COMPACT, file);
    }
    for (size_t i = 0; i < ARRAY_SIZE(lists) && result == 0; i++)
        result = print_list(causality, &lists[i], file);
    fputs("}\n", file);
    return result;
}
