/* SPDX-License-Identifier: MIT */
/* strips.c: see strips.h. */
#include "strips/strips.h"

#include "strips/strips_clean.h"
#include "strips/strips_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct strips *strips_new(const char *name)
{
    struct strips *strips = calloc(1, sizeof(*strips));

    if (strips == NULL)
        return NULL;
    snprintf(strips->name, sizeof(strips->name), "%s", name);
    strips->fresh = json_array();
    return strips;
}

void strips_free(struct strips *strips)
{
    if (strips == NULL)
        return;
    for (size_t i = 0; i < strips->past_count; i++)
        free(strips->past[i].key);
    free(strips->past);
    json_decref(strips->state);
    json_decref(strips->fresh);
    free(strips);
}

uint64_t strips_last(const struct strips *strips)
{
    return strips->last;
}

/* ---- intervals ---- */

/* "Busy\nredis-server 811" */
static char *key_of(const char *view, const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "row"));
    char *key = NULL;

    return asprintf(&key, "%s\n%s", view, name == NULL ? "" : name) < 0 ? NULL : key;
}

struct strip_past *strips_past_of(const struct strips *strips, const char *view, const json_t *row)
{
    char *key = key_of(view, row);
    struct strip_past *found = NULL;

    for (size_t i = 0; key != NULL && found == NULL && i < strips->past_count; i++)
        if (strcmp(strips->past[i].key, key) == 0)
            found = &strips->past[i];
    free(key);
    return found;
}

/* NULL: out of memory. */
static struct strip_past *add_past(struct strips *strips, const char *view, const json_t *row)
{
    struct strip_past *past = strips_past_of(strips, view, row);

    if (past != NULL)
        return past;
    char *key = key_of(view, row);
    if (key == NULL || array_reserve(&strips->past, &strips->past_capacity, strips->past_count + 1,
                                     sizeof(*strips->past)) < 0) {
        free(key);
        return NULL;
    }
    past = &strips->past[strips->past_count++];
    *past = (struct strip_past){.key = key};
    return past;
}

static unsigned seen_of(const char *word)
{
    return strcmp(word, "unknown") == 0    ? SEEN_UNKNOWN
           : strcmp(word, "inactive") == 0 ? SEEN_INACTIVE
                                           : SEEN_ACTIVE;
}

/* Calls `each` for each row of each view. */
static void each_row(struct strips *strips,
                     void (*each)(struct strips *strips, const char *view, const json_t *row))
{
    const json_t *views = json_object_get(strips->state, "views");

    for (size_t i = 0; i < json_array_size(views); i++) {
        const json_t *view = json_array_get(views, i), *rows = json_object_get(view, "rows");
        for (size_t k = 0; k < json_array_size(rows); k++)
            each(strips, json_string_value(json_object_get(view, "view")), json_array_get(rows, k));
    }
}

static void note_state(struct strips *strips, const char *view, const json_t *row)
{
    struct strip_past *past = add_past(strips, view, row);

    if (past == NULL)
        return;
    past->is_there = true;
    past->seen |= strips->lost[0] != '\0'
                      ? SEEN_UNKNOWN
                      : seen_of(json_string_value(json_object_get(row, "state")));
}

static char mark_of(unsigned seen)
{
    return (seen & SEEN_NOTIFIED) != 0             ? '!'
           : (seen & SEEN_UNKNOWN) != 0            ? '?'
           : seen == (SEEN_ACTIVE | SEEN_INACTIVE) ? '+'
           : (seen & SEEN_ACTIVE) != 0             ? '#'
                                                   : '.';
}

void strips_tick(struct strips *strips)
{
    size_t kept = 0;

    each_row(strips, note_state);
    for (size_t i = 0; i < strips->past_count; i++) {
        struct strip_past *past = &strips->past[i];
        if (!past->is_there) { /* its instance has ended */
            free(past->key);
            continue;
        }
        memmove(past->marks, past->marks + 1, STRIPS_PAST - 1);
        past->marks[STRIPS_PAST - 1] = mark_of(past->seen);
        past->seen = 0;
        past->is_there = false;
        strips->past[kept++] = *past;
    }
    strips->past_count = kept;
}

/* ---- answers ---- */

/* What happened to a row since the answer before. */
static void note_change(struct strips *strips, const json_t *change)
{
    const char *view = json_string_value(json_object_get(change, "view"));
    const char *word = json_string_value(json_object_get(change, "change"));
    struct strip_past *past = strips_past_of(strips, view, change);

    if (past == NULL)
        return; /* a row that was not there at the end of an interval yet */
    past->seen |= seen_of(word);
    if (json_is_true(json_object_get(change, "notified")))
        past->seen |= SEEN_NOTIFIED;
}

/* Keeps them for strips_json; the oldest go if nothing asks for them. */
static void keep_changes(struct strips *strips, const json_t *changes)
{
    for (size_t i = 0; i < json_array_size(changes); i++) {
        note_change(strips, json_array_get(changes, i));
        json_array_append(strips->fresh, json_array_get(changes, i));
        if (json_array_size(strips->fresh) > FRESH_MOST) {
            json_array_remove(strips->fresh, 0);
            strips->missed++;
        }
    }
}

static uint64_t count_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

int strips_take(struct strips *strips, const char *line, size_t size)
{
    json_t *answer = size > STRIPS_LINE_MOST ? NULL : json_loadb(line, size, 0, NULL);
    json_t *state = strips_clean(json_object_get(answer, "result"));

    json_decref(answer);
    if (state == NULL)
        return -EPROTO;
    json_decref(strips->state);
    strips->state = state;
    strips->lost[0] = '\0';
    strips->last = count_of(state, "last");
    strips->missed += count_of(state, "missed");
    each_row(strips, note_state);
    keep_changes(strips, json_object_get(state, "changes"));
    bool more = json_is_true(json_object_get(state, "more"));
    json_object_del(state, "changes");
    return more;
}

void strips_lose(struct strips *strips, const char *why)
{
    snprintf(strips->lost, sizeof(strips->lost), "%s", why);
}

/* The state of a monitor none of whose answers was understood. */
static json_t *empty_state(void)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:[], s:[]}", "time", 0, "begin", 0, "behind", 0,
                     "lost", 0, "unread", 0, "machines", "views");
}

json_t *strips_json(struct strips *strips)
{
    json_t *object = strips->state != NULL     ? json_copy(strips->state)
                     : strips->lost[0] != '\0' ? empty_state()
                                               : NULL;
    json_t *fresh = json_array();

    if (object == NULL || fresh == NULL) {
        json_decref(object);
        json_decref(fresh);
        return NULL;
    }
    json_object_del(object, "more");
    json_object_del(object, "last");
    json_object_set_new(object, "monitor", json_string(strips->name));
    if (strips->lost[0] != '\0')
        json_object_set_new(object, "unanswered", json_string(strips->lost));
    json_object_set_new(object, "missed", json_integer((json_int_t)strips->missed));
    json_object_set_new(object, "changes", strips->fresh);
    strips->fresh = fresh;
    strips->missed = 0;
    return object;
}
