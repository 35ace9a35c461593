/* SPDX-License-Identifier: MIT */
/* states.c: the state of views as JSON. See states.h. */
#include "monitor/states.h"

#include "monitor/central.h"
#include "monitor/wire.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MOST    2000 /* changes */
#define TOLD_MOST    500  /* ... in one answer */
#define ROWS_MOST    200  /* ... of all views together: those that are active or unknown first */
#define POINT_EACH   100000000u /* ns between two `changed` of a row that are kept */
#define POINTS_KNOWN 1024

/* When a row had its latest point. Rows that share a slot have fewer points. */
struct point {
    uint64_t row; /* hash of its view and name */
    uint64_t time;
};

struct view_states {
    const struct view_file *file;
    struct monitor *monitor;
    uint64_t begin;             /* wall clock, ns */
    json_t *changes[KEPT_MOST]; /* ring: change number n is at n % KEPT_MOST; NULL: missed */
    uint64_t last;              /* number of the latest one; 0: none */
    struct point points[POINTS_KNOWN];
};

int view_states_new(const struct view_file *file, struct monitor *monitor,
                    struct view_states **ret_states)
{
    struct view_states *states = calloc(1, sizeof(*states));

    if (states == NULL)
        return -ENOMEM;
    states->file = file;
    states->monitor = monitor;
    states->begin = clock_now(CLOCK_REALTIME);
    *ret_states = states;
    return 0;
}

void view_states_free(struct view_states *states)
{
    if (states == NULL)
        return;
    for (size_t i = 0; i < KEPT_MOST; i++)
        json_decref(states->changes[i]);
    free(states);
}

/* ---- texts ---- */

json_t *view_text_json(const char *text)
{
    char safe[2048];
    json_t *json = wire_text(text);

    if (json != NULL)
        return json;
    snprintf(safe, sizeof(safe), "%.2047s", text);
    for (char *at = safe; *at != '\0'; at++)
        if ((unsigned char)*at >= 128)
            *at = '?';
    return json_string(safe);
}

json_t *view_value_json(const struct view_value *value)
{
    json_t *json = NULL;

    if (value->kind == VIEW_IS_TEXT)
        return view_text_json(value->text);
    if (value->kind == VIEW_IS_NUMBER)
        json = value->number == rint(value->number) && fabs(value->number) <= 0x1p53
                   ? json_integer((json_int_t)value->number)
                   : json_real(value->number); /* NULL: infinite, or no number */
    return json != NULL ? json : json_null();
}

static json_t *values_json(const struct view *view, const struct view_value *values)
{
    json_t *object = json_object();

    for (size_t i = 0; i < view->target_count; i++)
        json_object_set_new(object, view->targets[i].name, view_value_json(&values[i]));
    return object;
}

/* ---- changes ---- */

static const char *const change_words[] = {[VIEW_APPEARED] = "active",
                                           [VIEW_CHANGED] = "changed",
                                           [VIEW_GONE] = "inactive",
                                           [VIEW_UNCLEAR] = "unknown"};

/* A point for each 100 ms is enough for a curve, and a program may change its values thousands of times a second. */
static bool is_wanted(struct view_states *states, const struct view_change *change)
{
    uint64_t view = (uint64_t)(change->view - states->file->views);
    uint64_t row = hash_bytes(view + 1, change->row, strlen(change->row));
    struct point *point = &states->points[row % POINTS_KNOWN];

    if (change->kind == VIEW_CHANGED && point->row == row && change->time >= point->time &&
        change->time - point->time < POINT_EACH)
        return false;
    *point = (struct point){row, change->time};
    return true;
}

void view_states_add(struct view_states *states, const struct view_change *change)
{
    bool has_values = change->kind == VIEW_APPEARED || change->kind == VIEW_CHANGED;

    if (!is_wanted(states, change))
        return;
    uint64_t number = ++states->last;
    json_t *json = json_pack("{s:I, s:I, s:s, s:s}", "number", (json_int_t)number, "time",
                             (json_int_t)change->time, "view", change->view->name, "change",
                             change_words[change->kind]);
    if (change->row[0] != '\0')
        json_object_set_new(json, "row", view_text_json(change->row));
    if (change->notifies)
        json_object_set_new(json, "notified", json_true());
    if (has_values)
        json_object_set_new(json, "values", values_json(change->view, change->values));
    json_decref(states->changes[number % KEPT_MOST]);
    states->changes[number % KEPT_MOST] = json;
}

/* Sets `changes`, `missed` and `more`. */
static void set_changes(json_t *object, const struct view_states *states, uint64_t since)
{
    uint64_t kept = states->last < KEPT_MOST ? states->last : KEPT_MOST;
    uint64_t oldest = states->last - kept + 1; /* 1 more than `last`, if there is none */
    /* one that asks first has missed none */
    uint64_t first = since > states->last ? oldest : since + 1;
    uint64_t missed = first < oldest ? oldest - first : 0, number = first + missed;
    json_t *list = json_array();

    for (size_t i = 0; i < TOLD_MOST && number <= states->last; i++, number++) {
        json_t *change = states->changes[number % KEPT_MOST];
        if (change == NULL || json_array_append(list, change) < 0)
            missed++;
    }
    json_object_set_new(object, "changes", list);
    json_object_set_new(object, "missed", json_integer((json_int_t)missed));
    json_object_set_new(object, "last", json_integer((json_int_t)(number - 1)));
    json_object_set_new(object, "more", json_boolean(number <= states->last));
}

/* ---- plans ---- */

json_t *view_plan_json(const struct view_conditions *conditions, const struct view_plan *plan)
{
    static const char *const collections[] = {"traced", "sampled", "probed"};
    static const char *const sites[] = {"sensor", "resident", "central"};
    static const char *const routes[] = {"resident", "straight", "shared"};
    const struct view *view = conditions->view;
    json_t *parts = json_array();
    char entity[VIEW_ENTITY_SIZE], how[VIEW_PART_SIZE];
    int failed = 0;

    for (size_t i = 0; i < view->entity_count; i++) {
        const struct view_part_plan *part = &plan->parts[i];
        bool is_program = view->entities[i].builtin == VIEW_PROGRAM;
        view_entity_text(&view->entities[i], entity);
        view_part_text(part, view->entities[i].builtin,
                       conditions->of[i].count > 0 && !conditions->of[i].raw, how);
        failed |= json_array_append_new(
            parts,
            json_pack("{s:o, s:s, s:s, s:s, s:s}", "instance", view_text_json(entity), "collection",
                      is_program ? collections[part->collection] : "figures", "evaluated",
                      sites[part->evaluates], "route", routes[part->route], "how", how));
    }
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "instances",
        parts, "evaluated", sites[plan->top], "notifies", sites[plan->notifies], "dedicated",
        (int)plan->dedicated, "window", plan->window, "latency", plan->latency, "notice",
        plan->notice, "flush", plan->flush, "period", plan->period, "load", plan->load, "records",
        plan->records, "messages", plan->traffic, "per_record", plan->per_record,
        "per_notification", plan->per_notification);
    if (failed == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- views ---- */

/* The rows of a view, in two passes: those of which there is something to say, and the others. */
struct listing {
    const struct view *view;
    json_t *rows;
    bool is_on, of_inactive;
    size_t left;       /* rows that there is space for */
    uint64_t left_out; /* rows without */
    uint64_t quiet;    /* rows of [*] that were never active: they are counted */
    uint64_t delay;    /* ns, the most of all rows */
    bool in_order;     /* any row is */
};

const char *view_row_state(const struct central_row_state *row, bool on)
{
    bool unknown =
        !on || row->late || row->changing || row->several != NULL || row->missing != NULL;

    return unknown ? "unknown" : row->active ? "active" : "inactive";
}

/* Why it is unknown. */
static json_t *reason_json(const struct listing *listing, const struct central_row_state *row)
{
    char entity[VIEW_ENTITY_SIZE], text[VIEW_ENTITY_SIZE + 16];

    if (!listing->is_on)
        return json_string("switched off");
    if (row->late)
        return json_string("a machine is late");
    if (row->several == NULL && row->changing)
        return json_string("its first values have not come");
    if (row->several == NULL && row->missing == NULL)
        return NULL;
    view_entity_text(row->several != NULL ? row->several : row->missing, entity);
    snprintf(text, sizeof(text), "%s %s", row->several != NULL ? "several" : "no", entity);
    return view_text_json(text);
}

static void list_row(void *context, const struct central_row_state *row)
{
    struct listing *listing = context;
    const char *state = view_row_state(row, listing->is_on);
    bool is_active = strcmp(state, "active") == 0;

    if (row->delay > listing->delay)
        listing->delay = row->delay;
    listing->in_order |= row->in_order;
    if ((strcmp(state, "inactive") == 0) != listing->of_inactive)
        return;
    if (listing->of_inactive && row->name[0] != '\0' && row->times == 0) {
        listing->quiet++;
        return;
    }
    if (listing->left == 0) {
        listing->left_out++;
        return;
    }
    listing->left--;
    json_t *json =
        json_pack("{s:s, s:I, s:I, s:o*}", "state", state, "since", (json_int_t)row->since, "times",
                  (json_int_t)row->times, "reason", reason_json(listing, row));
    if (row->name[0] != '\0')
        json_object_set_new(json, "row", view_text_json(row->name));
    if (is_active)
        json_object_set_new(json, "values", values_json(listing->view, row->values));
    json_array_append_new(listing->rows, json);
}

static json_t *notified_json(const struct monitor_notified *notified)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "queued", (json_int_t)notified->queued,
                     "sent", (json_int_t)notified->sent, "late", (json_int_t)notified->late,
                     "latest", (json_int_t)notified->latest, "dropped",
                     (json_int_t)notified->dropped, "failed", (json_int_t)notified->failed);
}

/* Whether values that were taken for simultaneous can have been further apart than asked. Behind a record that was `lost`, the value
 * before it counted for longer than it was one. */
static const char *correct_word(const struct view *view, const struct view_plan *plan,
                                const struct listing *listing, bool lost)
{
    if (!view->has_correct)
        return NULL;
    if (plan != NULL && plan->window > (double)view->correct)
        return "impossible";
    if (plan == NULL)
        return NULL;
    if (lost)
        return "doubtful";
    /* those of one instance are of one moment, and so are those that are compared in the order of their times */
    return view->entity_count == 1 || listing->in_order || listing->delay <= view->correct
               ? "kept"
               : "doubtful";
}

static json_t *view_json(const struct view_states *states, size_t number, bool lost, size_t *left)
{
    const struct view *view = &states->file->views[number];
    const struct central *central = monitor_central(states->monitor);
    const struct view_plan *plan = monitor_plan(states->monitor, number);
    struct listing listing = {.view = view,
                              .rows = json_array(),
                              .is_on = central_is_on(central, (uint32_t)number),
                              .left = *left};
    char predicate[1024], receiver[VIEW_RECEIVER_SIZE];

    central_each_row(central, (uint32_t)number, list_row, &listing);
    listing.of_inactive = true;
    central_each_row(central, (uint32_t)number, list_row, &listing);
    *left = listing.left;
    view_expression_text(view, view->predicate, predicate, sizeof(predicate));
    view_receiver_text(view, receiver);
    json_t *json = json_pack(
        "{s:s, s:o, s:b, s:o, s:I, s:I, s:I, s:o*}", "view", view->name, "predicate",
        view_text_json(predicate), "on", (int)listing.is_on, "rows", listing.rows, "rows_left_out",
        (json_int_t)listing.left_out, "rows_quiet", (json_int_t)listing.quiet, "delay",
        (json_int_t)listing.delay, "plan",
        plan == NULL ? NULL : view_plan_json(central_conditions(central, (uint32_t)number), plan));
    struct central_measured_state measured;
    central_measured(central, (uint32_t)number, &measured);
    json_object_set_new(json, "measured",
                        json_pack("{s:f, s:f, s:I, s:o}", "changes", measured.changes, "load",
                                  measured.load, "replanned", (json_int_t)measured.replanned, "why",
                                  view_text_json(measured.why)));
    const char *correct = correct_word(view, plan, &listing, lost);
    if (view->has_correct)
        json_object_set_new(json, "correct", json_integer((json_int_t)view->correct));
    if (correct != NULL)
        json_object_set_new(json, "correct_is", json_string(correct));
    if (view->notifies) {
        json_object_set_new(json, "within", json_integer((json_int_t)view->within));
        json_object_set_new(json, "receiver", view_text_json(receiver));
        json_object_set_new(json, "notifications",
                            notified_json(monitor_notified_of(states->monitor, number)));
    }
    return json;
}

/* ---- the whole ---- */

static json_t *machines_json(const struct central *central)
{
    struct central_machine_state state;
    json_t *list = json_array();

    for (size_t i = 0; i < CENTRAL_LINKS_MOST; i++)
        if (central_machine(central, i, &state))
            json_array_append_new(list, json_pack("{s:o, s:b, s:I, s:I}", "machine",
                                                  view_text_json(state.machine), "late",
                                                  (int)state.late, "until", (json_int_t)state.until,
                                                  "dropped", (json_int_t)state.dropped));
    return list;
}

json_t *view_states_json(const struct view_states *states, uint64_t since)
{
    const struct central *central = monitor_central(states->monitor);
    struct monitor_counts counts;
    json_t *views = json_array();
    size_t left = ROWS_MOST;

    monitor_count(states->monitor, &counts);
    bool lost = counts.lost > 0 || central_has_lost(central);
    for (size_t i = 0; i < states->file->view_count; i++)
        json_array_append_new(views, view_json(states, i, lost, &left));
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "time", (json_int_t)clock_now(CLOCK_REALTIME),
        "begin", (json_int_t)states->begin, "behind", (json_int_t)central_behind(central), "lost",
        (json_int_t)counts.lost, "unread", (json_int_t)counts.unread, "machines",
        machines_json(central), "views", views);
    if (object != NULL)
        set_changes(object, states, since);
    return object;
}
