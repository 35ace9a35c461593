/* SPDX-License-Identifier: MIT */
/* page_json.c: the object that the page draws: kinds, time, machines, the account, requests. See page.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/page/page_private.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- lanes as links ---- */

uint32_t page_machine_of(const struct report *report, uint32_t origin)
{
    const struct communication *communication = report->communication;

    for (size_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].origin == origin)
            return communication->processes[i].machine;
    return 0;
}

void page_lane_id_of(const struct lanes *lanes, size_t lane, char id[PAGE_ID_SIZE])
{
    if (lane >= lanes->count)
        strcpy(id, "lane-others");
    else
        snprintf(id, PAGE_ID_SIZE, "lane-%zu", lane + 1);
}

static bool has_script(const struct lane *lane, const char *label)
{
    const char *script;
    size_t length = elapsed_script(label, &script);

    return strlen(lane->script) == length && memcmp(lane->script, script, length) == 0;
}

bool page_lane_id(const struct report *report, uint32_t origin, const char *name, const char *label,
                  char id[PAGE_ID_SIZE])
{
    const struct lanes *lanes = report->lanes;

    if (lanes == NULL)
        return false;
    uint32_t machine = page_machine_of(report, origin);
    for (size_t i = 0; i < lanes->count; i++) {
        const struct lane *lane = &lanes->list[i];
        if (strncmp(lane->name, name, STREAM_NAME_SIZE) == 0 && has_script(lane, label) &&
            page_machine_of(report, lane->origin) == machine) {
            page_lane_id_of(lanes, i, id);
            return true;
        }
    }
    page_lane_id_of(lanes, lanes->count, id);
    return lanes->others.processes > 0;
}

void page_label(const struct communication_process *process, char label[PROCESS_LABEL_SIZE])
{
    label[0] = '\0';
    if (process->named_alike && process->command != NULL)
        process_label(process->name, process->command, label);
}

bool page_process_lane_id(const struct report *report, const struct communication_process *process,
                          char id[PAGE_ID_SIZE])
{
    char label[PROCESS_LABEL_SIZE];

    page_label(process, label);
    return page_lane_id(report, process->origin, process->name, label, id);
}

/* ---- the account ---- */

const struct elapsed_account *page_account(const struct report *report)
{
    const struct elapsed *elapsed = report->elapsed;

    if (elapsed == NULL)
        return NULL;
    return !elapsed->from_start && elapsed->requests.count > 0 ? &elapsed->requests.account
                                                               : &elapsed->run;
}

json_t *page_kinds_json(const uint64_t by_kind[ELAPSED_KIND_COUNT])
{
    json_t *object = json_object();

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT && object != NULL; kind++)
        if (by_kind[kind] > 0 &&
            json_object_set_new(object, elapsed_kind_key(kind), json_count(by_kind[kind])) < 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *kind_json(const void *context, size_t index)
{
    (void)context;
    return json_pack("{s:s, s:s, s:s}", "key", elapsed_kind_key((enum elapsed_kind)index), "name",
                     elapsed_kind_name((enum elapsed_kind)index), "wait",
                     elapsed_wait_name((enum elapsed_kind)index));
}

/* A row of an account, or a hop of a request. */
static json_t *row_json(const struct report *report, const struct elapsed_row *row)
{
    char who[ELAPSED_THREAD_SIZE], what[ELAPSED_TEXT_SIZE], lane[PAGE_ID_SIZE];
    bool has_lane =
        row->pid != 0 && page_lane_id(report, row->origin, row->process, row->label, lane);

    elapsed_thread_text(row, who);
    elapsed_what(row, what);
    json_t *json = json_pack("{s:s, s:o, s:s}", "kind", elapsed_kind_key(row->kind), "ns",
                             json_count(row->time), "who", row->pid == 0 ? "" : who);
    if (json == NULL ||
        (what[0] != '\0' && json_object_set_new(json, "what", json_string(what)) < 0) ||
        (has_lane && json_object_set_new(json, "lane", json_string(lane)) < 0)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

struct account_of {
    const struct report *report;
    const struct elapsed_account *account;
};

static json_t *account_row_json(const void *context, size_t index)
{
    const struct account_of *of = context;

    return row_json(of->report, &of->account->rows[index]);
}

static json_t *account_json(const struct report *report)
{
    const struct elapsed_account *account = page_account(report);
    const struct account_of of = {report, account};

    if (account == NULL)
        return json_null();
    size_t shown = account->row_count < PAGE_ROWS ? account->row_count : PAGE_ROWS;
    uint64_t left = account->time;
    for (size_t i = 0; i < shown; i++)
        left -= account->rows[i].time;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o}", "of", account == &report->elapsed->run ? "run" : "requests",
        "ns", json_count(account->time), "spent_on_ns", page_kinds_json(account->by_kind), "rows",
        json_array_of(&of, shown, account_row_json), "rest_ns", json_count(left));
}

/* ---- requests ---- */

#define HOPS_SHOWN 250 /* the longest ones */

static int longest_first(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return a > b ? -1 : a < b;
}

/* The length of the shortest hop that is shown, and how many of just this length are. */
static int least_hop(const struct elapsed_request *request, uint64_t *ret_least, size_t *ret_equal)
{
    uint64_t *times;

    *ret_least = 0;
    *ret_equal = HOPS_SHOWN;
    if (request->hop_count <= HOPS_SHOWN)
        return 0;
    times = malloc(request->hop_count * sizeof(*times));
    if (times == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < request->hop_count; i++)
        times[i] = request->hops[i].part.time;
    qsort(times, request->hop_count, sizeof(*times), longest_first);
    *ret_least = times[HOPS_SHOWN - 1];
    for (size_t i = 0; times[i] > *ret_least; i++)
        --*ret_equal;
    free(times);
    return 0;
}

/* How long each thread had it, in all hops that are kept: also in those that are not shown. */
static json_t *who_json(const struct elapsed_request *request)
{
    json_t *object = json_object();
    char who[ELAPSED_THREAD_SIZE];

    for (size_t i = 0; i < request->hop_count && object != NULL; i++) {
        const struct elapsed_row *row = &request->hops[i].part;
        if (row->pid != 0)
            elapsed_thread_text(row, who);
        else
            strcpy(who, "unknown");
        json_int_t before = json_integer_value(json_object_get(object, who));
        if (json_object_set_new(object, who, json_count((uint64_t)before + row->time)) < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static int add_hop(const struct report *report, const struct elapsed_hop *hop, json_t *list)
{
    json_t *json = row_json(report, &hop->part);

    if (json == NULL || json_object_set_new(json, "at", json_count(hop->begin)) < 0) {
        json_decref(json);
        return -ENOMEM;
    }
    return json_array_append_new(list, json) < 0 ? -ENOMEM : 0;
}

static json_t *request_json(const struct report *report, const struct elapsed_request *request)
{
    uint64_t least, begin = report->lanes == NULL ? 0 : report->lanes->begin;
    json_t *hops = json_array();
    size_t shown = 0, equal;
    int result = least_hop(request, &least, &equal);

    if (hops == NULL)
        result = -ENOMEM;
    for (size_t i = 0; i < request->hop_count && result == 0; i++) {
        uint64_t time = request->hops[i].part.time;
        if (time < least || (time == least && equal == 0))
            continue;
        if (time == least)
            equal--;
        result = add_hop(report, &request->hops[i], hops);
        shown++;
    }
    if (result < 0) {
        json_decref(hops);
        return NULL;
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "begin",
                     json_count(request->begin > begin ? request->begin - begin : 0), "ns",
                     json_count(request->time), "who_ns", who_json(request), "hops", hops,
                     "left_out", json_count(request->hop_count - shown), "cut", request->cut);
}

static json_t *requests_json(const struct report *report)
{
    const struct elapsed_requests *requests =
        report->elapsed == NULL ? NULL : &report->elapsed->requests;

    if (requests == NULL || requests->count == 0)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", json_count(requests->count), "median_ns",
                     json_count(requests->median), "p99_ns", json_count(requests->p99), "typical",
                     request_json(report, &requests->typical), "slowest",
                     request_json(report, &requests->slowest));
}

/* ---- time and machines ---- */

static json_t *time_json(const struct lanes *lanes)
{
    if (lanes == NULL)
        return json_null();
    return json_pack("{s:o, s:i, s:s, s:o}", "ns", json_count(lanes->end - lanes->begin), "bins",
                     LANES_BINS, "account_of", lanes->of_requests ? "requests" : "run",
                     "account_ns", json_count(lanes->account));
}

static json_t *machine_json(const void *context, size_t index)
{
    const struct communication *communication = context;
    const struct communication_machine *machine = &communication->machines[index];
    char name[MACHINE_TEXT_SIZE];

    machine_text(communication, (uint32_t)index, name);
    return json_pack("{s:s, s:o}", "name", name, "clock_error_ns",
                     machine->clock_error == UINT64_MAX ? json_null()
                                                        : json_count(machine->clock_error));
}

json_t *page_json(const struct report *report)
{
    const struct communication *communication = report->communication;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kinds",
        json_array_of(NULL, ELAPSED_KIND_COUNT, kind_json), "time", time_json(report->lanes),
        "machines", json_array_of(communication, communication->machine_count, machine_json),
        "lanes", page_lanes_json(report), "losses", page_losses_json(report->lanes), "lost",
        json_count(report->recorded.lost), "why", account_json(report), "requests",
        requests_json(report), "map", page_map_json(report), "states", page_states_json(report),
        "flame", page_flame_json(report), "history", page_history_json(report), "traces",
        report->traces == NULL ? json_null() : json_string(report->traces));
}

/* ---- printing ---- */

/* JSON has these characters only in strings, where \u003c means the same as '<'. */
static void print_escaped(const char *text, size_t size, FILE *file)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<' || text[i] == '>' || text[i] == '&')
            fprintf(file, "\\u%04x", (unsigned)text[i]);
        else
            fputc(text[i], file);
}

int page_print(json_t *data, FILE *file)
{
    char *text = data == NULL ? NULL : json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII);

    json_decref(data);
    if (text == NULL)
        return -ENOMEM;
    print_escaped(text, strlen(text), file);
    free(text);
    return 0;
}
