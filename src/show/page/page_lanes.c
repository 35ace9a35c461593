/* SPDX-License-Identifier: MIT */
/*
 * page_lanes.c: lanes of the chart, their bins as texts. See page.h.
 *
 *      bins  0, 0, 0, 0, 0, 2.5 threads, 5 threads = the most of the lane
 *      text  "~EAA" "gA" "//"          a value is two digits to the base of 64: 0 to 4095 of the most;
 *                                      "~", a count less one, a value: 2 to 64 equal ones
 */
#include "show/page/page_private.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void page_lane_text(const struct lane *lane, char text[PAGE_LANE_SIZE])
{
    char name[STREAM_NAME_SIZE + PROCESS_LABEL_SIZE + 2], script[PROCESS_LABEL_SIZE + 1],
        count[UNIT_SIZE];

    show_text(lane->name, STREAM_NAME_SIZE, name);
    show_text(lane->script, strlen(lane->script), script);
    snprintf(name + strlen(name), sizeof(script) + 1, "%s%s", script[0] == '\0' ? "" : " ", script);
    show_count(lane->processes - lane->passing, count);
    if (lane->pid != 0)
        show_labelled_process(lane->name, lane->pid, lane->label, text);
    else if (lane->processes - lane->passing <= 1)
        snprintf(text, PAGE_LANE_SIZE, "%s", name[0] == '\0' ? "unknown" : name);
    else
        snprintf(text, PAGE_LANE_SIZE, "%s \u00d7%s", name[0] == '\0' ? "unknown" : name, count);
}

#define LEVELS 4095

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static unsigned level_of(double value, double most)
{
    unsigned level = most > 0 ? (unsigned)lround(value / most * LEVELS) : 0;

    return level == 0 && value > 0 ? 1 : level;
}

#define PACKED_SIZE (LANES_BINS * 2 + 1)

/* `step`: so many bins become one. */
static void pack(const float *bins, unsigned step, double most, char text[PACKED_SIZE])
{
    unsigned levels[LANES_BINS], count = LANES_BINS / step;

    for (unsigned i = 0; i < count; i++) {
        double sum = 0;
        for (unsigned k = 0; k < step; k++)
            sum += (double)bins[i * step + k];
        levels[i] = level_of(sum / step, most);
    }
    for (unsigned i = 0, equal; i < count; i += equal) {
        for (equal = 1; i + equal < count && equal < 64 && levels[i + equal] == levels[i];)
            equal++;
        if (equal < 3)
            equal = 1;
        else
            *text++ = '~', *text++ = digits[equal - 1];
        *text++ = digits[levels[i] / 64];
        *text++ = digits[levels[i] % 64];
    }
    *text = '\0';
}

/* The largest sum of all kinds in a bin, ns. */
static double most_of(float *const bins[ELAPSED_KIND_COUNT])
{
    double most = 0;

    for (unsigned bin = 0; bin < LANES_BINS; bin++) {
        double sum = 0;
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
            sum += bins[kind] == NULL ? 0 : (double)bins[kind][bin];
        most = fmax(most, sum);
    }
    return most;
}

static json_t *bins_json(float *const bins[ELAPSED_KIND_COUNT], unsigned step, double most)
{
    char text[PACKED_SIZE];
    json_t *object = json_object();

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT && object != NULL; kind++) {
        if (bins[kind] == NULL)
            continue;
        pack(bins[kind], step, most, text);
        if (json_object_set_new(object, elapsed_kind_key(kind), json_string(text)) < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *account_bins_json(const struct lane *lane, unsigned step, double width)
{
    double most = most_of(lane->account_bins);

    return most == 0 ? json_null()
                     : json_pack("{s:f, s:o}", "most", most / width, "bins",
                                 bins_json(lane->account_bins, step, most));
}

/* `step` as for pack. The members are those of a lane of several processes. */
static json_t *lane_json(const struct report *report, const struct lane *lane, const char *id,
                         const char *text, unsigned step)
{
    const struct lanes *lanes = report->lanes;
    double width = (double)(lanes->end - lanes->begin) / LANES_BINS, most = most_of(lane->bins);

    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:f, s:o, s:o}", "id", id, "name", text,
                     "machine", (int)page_machine_of(report, lane->origin), "processes",
                     json_count(lane->processes), "ns", page_kinds_json(lane->time), "account_ns",
                     page_kinds_json(lane->account), "most", most / width, "bins",
                     bins_json(lane->bins, step, most), "account",
                     account_bins_json(lane, step, width));
}

#define MEMBER_STEP  2  /* members are low: half as many bins do */
#define MEMBERS_MOST 40 /* of all lanes */

static json_t *members_json(const struct report *report, const struct lane *lane, const char *id,
                            size_t *left)
{
    json_t *list = json_array();
    char text[PAGE_LANE_SIZE], member_id[PAGE_ID_SIZE + UNIT_SIZE];
    int result = list == NULL ? -ENOMEM : 0;

    for (size_t i = 0; i<lane->member_count && * left> 0 && result == 0; i++, --*left) {
        page_lane_text(&lane->members[i], text);
        snprintf(member_id, sizeof(member_id), "%s-%zu", id, i + 1);
        result = json_array_append_new(
            list, lane_json(report, &lane->members[i], member_id, text, MEMBER_STEP));
    }
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *page_lanes_json(const struct report *report)
{
    const struct lanes *lanes = report->lanes;
    json_t *list = json_array();
    int result = list == NULL ? -ENOMEM : 0;
    size_t left = MEMBERS_MOST;

    for (size_t i = 0; lanes != NULL && i < lanes->count + (lanes->others.processes > 0); i++) {
        const struct lane *lane = i < lanes->count ? &lanes->list[i] : &lanes->others;
        char id[PAGE_ID_SIZE], text[PAGE_LANE_SIZE];
        if (result < 0)
            break;
        page_lane_id_of(lanes, i, id);
        page_lane_text(lane, text);
        if (i == lanes->count)
            snprintf(text, sizeof(text), "others \u00d7%u", lane->processes - lane->passing);
        json_t *json = lane_json(report, lane, id, text, 1);
        if (json != NULL && lane->member_count > 0 &&
            json_object_set_new(json, "members", members_json(report, lane, id, &left)) < 0)
            result = -ENOMEM;
        if (json_array_append_new(list, json) < 0)
            result = -ENOMEM;
    }
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *loss_json(const void *context, size_t index)
{
    const struct lanes *lanes = context;
    const struct lanes_loss *loss = &lanes->losses[index];
    uint64_t begin = loss->begin > lanes->begin ? loss->begin - lanes->begin : 0;
    uint64_t end = loss->end > lanes->begin ? loss->end - lanes->begin : 0;

    return json_pack("{s:i, s:o, s:o, s:o, s:b}", "machine", (int)loss->machine, "begin",
                     json_count(begin), "end", json_count(end), "records",
                     json_count(loss->records), "at_most", loss->skipped);
}

json_t *page_losses_json(const struct lanes *lanes)
{
    return json_array_of(lanes, lanes == NULL ? 0 : lanes->loss_count, loss_json);
}
