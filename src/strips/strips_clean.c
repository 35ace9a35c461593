/* SPDX-License-Identifier: MIT */
/* strips_clean.c: checks what a monitor says by a table of members. See strips_clean.h. */
#include "strips/strips_clean.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

#define TEXT_MOST 4096 /* bytes */

enum form {
    TEXT,
    STATE,  /* one of `words` ... */
    COUNT,  /* 0 or greater */
    NUMBER, /* finite, 0 or greater */
    FLAG,
    VALUES, /* {name: number, text or null} */
    OBJECT, /* of `members` */
    LIST,   /* of such objects, at most `most` */
};

struct member {
    const char *key; /* NULL: the end */
    enum form form;
    bool may_lack;
    size_t most;
    const struct member *members;
    const char *const *words; /* NULL at the end */
};

static const char *const states[] = {"active", "inactive", "unknown", NULL};
static const char *const changes[] = {"active", "changed", "inactive", "unknown", NULL};
static const char *const corrects[] = {"kept", "doubtful", "impossible", NULL};

static const struct member row_members[] = {{"state", STATE, .words = states},
                                            {"row", TEXT, true},
                                            {"reason", TEXT, true},
                                            {"since", COUNT},
                                            {"times", COUNT},
                                            {"values", VALUES, true, 64},
                                            {0}};
static const struct member instance_members[] = {{"instance", TEXT}, {"how", TEXT}, {0}};
static const struct member plan_members[] = {
    {"instances", LIST, .most = 64, .members = instance_members},
    {"evaluated", TEXT},
    {"window", NUMBER},
    {"latency", NUMBER},
    {"notice", NUMBER},
    {"flush", NUMBER},
    {"load", NUMBER, true},
    {"records", NUMBER},
    {"messages", NUMBER},
    {"per_record", NUMBER},
    {"per_notification", NUMBER},
    {0}};
static const struct member measured_members[] = {
    {"changes", NUMBER}, {"load", NUMBER}, {"replanned", COUNT}, {"why", TEXT}, {0}};
static const struct member notified_members[] = {{"queued", COUNT},  {"sent", COUNT},
                                                 {"late", COUNT},    {"latest", COUNT},
                                                 {"dropped", COUNT}, {0}};
static const struct member view_members[] = {
    {"view", TEXT},
    {"predicate", TEXT},
    {"on", FLAG},
    {"rows", LIST, .most = 200, .members = row_members},
    {"rows_left_out", COUNT},
    {"rows_quiet", COUNT},
    {"delay", COUNT},
    {"plan", OBJECT, true, .members = plan_members},
    {"measured", OBJECT, true, .members = measured_members},
    {"correct", COUNT, true},
    {"correct_is", STATE, true, .words = corrects},
    {"within", COUNT, true},
    {"receiver", TEXT, true},
    {"notifications", OBJECT, true, .members = notified_members},
    {0}};
static const struct member machine_members[] = {
    {"machine", TEXT}, {"late", FLAG}, {"until", COUNT}, {"dropped", COUNT}, {0}};
static const struct member change_members[] = {{"number", COUNT},
                                               {"time", COUNT},
                                               {"view", TEXT},
                                               {"row", TEXT, true},
                                               {"change", STATE, .words = changes},
                                               {"notified", FLAG, true},
                                               {"values", VALUES, true, 64},
                                               {0}};
static const struct member whole_members[] = {
    {"time", COUNT},
    {"begin", COUNT},
    {"behind", COUNT},
    {"lost", COUNT},
    {"unread", COUNT},
    {"machines", LIST, .most = 256, .members = machine_members},
    {"views", LIST, .most = 1000, .members = view_members},
    {"changes", LIST, .most = 500, .members = change_members},
    {"missed", COUNT},
    {"last", COUNT},
    {"more", FLAG},
    {0}};

static json_t *clean_object(const json_t *from, const struct member *members);

static json_t *clean_text(const json_t *from)
{
    return json_is_string(from) && json_string_length(from) <= TEXT_MOST
               ? json_string(json_string_value(from)) /* up to a NUL */
               : NULL;
}

static json_t *clean_word(const json_t *from, const char *const *words)
{
    for (size_t i = 0; json_is_string(from) && words[i] != NULL; i++)
        if (strcmp(words[i], json_string_value(from)) == 0)
            return json_string(words[i]);
    return NULL;
}

static json_t *clean_values(const json_t *from, size_t most)
{
    json_t *to = json_object(), *value;
    const char *key;

    if (!json_is_object(from) || json_object_size(from) > most) {
        json_decref(to);
        return NULL;
    }
    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        json_t *clean = json_is_number(value) && isfinite(json_number_value(value))
                            ? json_real(json_number_value(value))
                            : clean_text(value);
        if (strlen(key) <= TEXT_MOST)
            json_object_set_new(to, key, clean != NULL ? clean : json_null());
    }
    return to;
}

static json_t *clean_list(const json_t *from, const struct member *member)
{
    json_t *to = json_array();

    if (!json_is_array(from) || json_array_size(from) > member->most) {
        json_decref(to);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(from); i++)
        if (json_array_append_new(to, clean_object(json_array_get(from, i), member->members)) < 0) {
            json_decref(to);
            return NULL;
        }
    return to;
}

static json_t *clean_member(const json_t *from, const struct member *member)
{
    double number = json_number_value(from);

    switch (member->form) {
    case TEXT:
        return clean_text(from);
    case STATE:
        return clean_word(from, member->words);
    case COUNT:
        return json_is_integer(from) && json_integer_value(from) >= 0
                   ? json_integer(json_integer_value(from))
                   : NULL;
    case NUMBER:
        return json_is_number(from) && isfinite(number) && number >= 0 ? json_real(number) : NULL;
    case FLAG:
        return json_is_boolean(from) ? json_boolean(json_is_true(from)) : NULL;
    case VALUES:
        return clean_values(from, member->most);
    case OBJECT:
        return clean_object(from, member->members);
    default:
        return clean_list(from, member);
    }
}

static json_t *clean_object(const json_t *from, const struct member *members)
{
    json_t *to = json_is_object(from) ? json_object() : NULL;

    for (; to != NULL && members->key != NULL; members++) {
        const json_t *value = json_object_get(from, members->key);
        if (value == NULL && members->may_lack)
            continue;
        if (value == NULL ||
            json_object_set_new(to, members->key, clean_member(value, members)) < 0) {
            json_decref(to);
            to = NULL;
        }
    }
    return to;
}

/* All rows together, too: each costs. */
static bool is_small(const json_t *state)
{
    const json_t *views = json_object_get(state, "views");
    size_t rows = 0;

    for (size_t i = 0; i < json_array_size(views); i++)
        rows += json_array_size(json_object_get(json_array_get(views, i), "rows"));
    return rows <= 200;
}

json_t *strips_clean(const json_t *state)
{
    json_t *clean = clean_object(state, whole_members);

    if (clean == NULL || is_small(clean))
        return clean;
    json_decref(clean);
    return NULL;
}
