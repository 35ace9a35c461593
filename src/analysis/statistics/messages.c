/* SPDX-License-Identifier: MIT */
/*
 * messages.c: counts a message: what a process has sent and received on a path, and how long it took to
 * answer. See statistics_private.h.
 */
#include "analysis/statistics/statistics_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- values: they wait until there are many, which short paths do not live to see ---- */

#define PRECISE_MOST 512

/* The first uses that have many values, those of shared rows aside, are told as precisely as processes. Whether it is one
 * of them is known when it has its histograms. */
static unsigned most_buckets(const struct statistics_use *use, enum value_kind kind)
{
    if (use->latest == 0)
        return HISTOGRAM_MANY;
    return use->precise ? HISTOGRAM_MOST : kind == VALUE_ANSWER ? HISTOGRAM_SOME : HISTOGRAM_FEW;
}

_Static_assert(VALUE_KINDS - VALUE_WAITS == TIME_KINDS - TIME_MESSAGE_WAIT, "both in one order");

enum time_kind time_kind_of(const struct statistics_use *use, enum value_kind kind)
{
    if (kind == VALUE_ANSWER)
        return use->serves ? TIME_RESPONSE : TIME_REQUEST;
    return TIME_MESSAGE_WAIT + (kind - VALUE_WAITS);
}

struct histogram *times_of(struct times *times, const struct statistics_use *use,
                           enum value_kind kind)
{
    return &times->of[time_kind_of(use, kind)];
}

/* The use's own histogram of a kind, made if there is none; NULL: out of memory. */
static struct histogram *own_histogram(struct statistics *statistics, struct statistics_use *use,
                                       enum value_kind kind)
{
    if (use->values == 0) {
        int64_t index = pool_take(&statistics->values);
        if (index < 0)
            return NULL;
        use->values = (uint32_t)index + 1;
        use->precise = use->latest != 0 && statistics->precise < PRECISE_MOST;
        statistics->precise += use->precise;
    }
    return &values_of(statistics, use)->of[kind];
}

static int add_to_histogram(struct statistics *statistics, struct statistics_use *use,
                            enum value_kind kind, uint64_t value)
{
    struct communication_process *process = process_row(statistics, use->process);
    struct histogram *own = own_histogram(statistics, use, kind);
    int result = own == NULL ? -ENOMEM : histogram_add(own, value, most_buckets(use, kind));

    return result < 0 || kind < VALUE_ANSWER
               ? result
               : histogram_add(times_of(&process->times, use, kind), value, HISTOGRAM_MOST);
}

int statistics_add_gathered(struct statistics *statistics, struct statistics_use *use,
                            enum value_kind kind, struct histogram_gathering *gathering)
{
    struct histogram *own = own_histogram(statistics, use, kind);

    return own == NULL ? -ENOMEM : histogram_add_gathered(own, gathering, most_buckets(use, kind));
}

/* The use is that of the record that is being counted: its path was used by it last. */
static int add_run(struct statistics *statistics, struct statistics_use *use)
{
    uint32_t index = path_at(statistics, use->path)->last_used - 1;

    if (value_runs_add(statistics, index, latest_of(statistics, use)->values, LATEST_MOST) < 0)
        return -ENOMEM;
    use->latest_count = 0;
    return 0;
}

int statistics_add_value(struct statistics *statistics, struct statistics_use *use,
                         enum value_kind kind, uint64_t value)
{
    struct use_latest *latest = latest_of(statistics, use);

    if (value >> VALUE_BITS != 0)
        return add_to_histogram(statistics, use, kind, value);
    if (use->latest_count == LATEST_MOST && add_run(statistics, use) < 0)
        return -ENOMEM;
    latest->values[use->latest_count++] = value_as_kept(kind, value);
    return 0;
}

/* The same if `is`, which nobody can predict: there is no branch for it. */
static inline int add_value_if(struct statistics *statistics, struct statistics_use *use, bool is,
                               enum value_kind kind, uint64_t value)
{
    struct use_latest *latest = latest_of(statistics, use);

    if (value >> VALUE_BITS != 0 || use->latest_count == LATEST_MOST)
        return is ? statistics_add_value(statistics, use, kind, value) : 0;
    latest->values[use->latest_count] = value_as_kept(kind, value);
    use->latest_count += is;
    return 0;
}

/* Those of a kind. */
static int add_kept(const uint32_t *values, uint32_t count, enum value_kind kind,
                    struct histogram *histogram, unsigned most)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < count; i++)
        if (kept_kind(values[i]) == kind)
            result = histogram_add(histogram, kept_value(values[i]), most);
    return result;
}

int statistics_add_latest(const struct statistics *statistics, const struct statistics_use *use,
                          enum value_kind kind, struct histogram *histogram, unsigned most)
{
    const struct use_latest *latest = latest_of(statistics, use);
    int result = 0;

    for (const struct value_run *run = value_run_latest(statistics, use);
         result == 0 && run != NULL; run = value_run_before(statistics, run))
        result = add_kept(run->values, run->count, kind, histogram, most);
    return result < 0 || latest == NULL
               ? result
               : add_kept(latest->values, use->latest_count, kind, histogram, most);
}

static int add_open(const struct use_latest *latest, enum value_kind kind,
                    struct histogram *histogram, unsigned most)
{
    uint32_t aside = latest->aside == NULL ? 0 : latest->aside->count;
    int result =
        latest->open[kind].any ? histogram_add(histogram, latest->open[kind].size, most) : 0;

    for (uint32_t i = 0; result == 0 && i < aside; i++)
        if (latest->aside->list[i].kind == kind && latest->aside->list[i].any)
            result = histogram_add(histogram, latest->aside->list[i].size, most);
    return result;
}

int statistics_add_values(const struct statistics *statistics, const struct statistics_use *use,
                          enum value_kind kind, struct histogram *histogram, unsigned most)
{
    const struct use_values *values = values_of(statistics, use);
    int result = values == NULL ? 0 : histogram_merge(histogram, &values->of[kind], most);

    if (result == 0)
        result = statistics_add_latest(statistics, use, kind, histogram, most);
    return result == 0 && kind < VALUE_ANSWER && use->latest != 0
               ? add_open(latest_of(statistics, use), kind, histogram, most)
               : result;
}

/* A message that was not complete is now. */
static int close_one(struct statistics *statistics, const struct open_message *open,
                     uint32_t values[], uint32_t *count, struct statistics_use *alike)
{
    if (!open->any)
        return 0;
    if (open->size >> VALUE_BITS == 0) {
        values[(*count)++] = value_as_kept(open->kind, open->size);
        return 0;
    }
    struct histogram *of = own_histogram(statistics, alike, open->kind);
    return of == NULL ? -ENOMEM : histogram_add(of, open->size, most_buckets(alike, open->kind));
}

/* What is not distributed yet waits for more of its like. */
static int add_latest_to_alike(struct statistics *statistics, const struct use_latest *latest,
                               uint32_t count, uint32_t alike)
{
    uint32_t open[VALUE_ANSWER + ASIDE_MOST], open_count = 0;
    struct statistics_use *to = pool_at(&statistics->uses, alike);
    int result = 0;

    for (unsigned i = 0; result == 0 && i < VALUE_ANSWER; i++)
        result = close_one(statistics, &latest->open[i], open, &open_count, to);
    for (uint32_t i = 0; result == 0 && latest->aside != NULL && i < latest->aside->count; i++)
        result = close_one(statistics, &latest->aside->list[i], open, &open_count, to);
    if (result == 0)
        result = value_runs_add(statistics, alike, latest->values, count);
    return result < 0 ? result : value_runs_add(statistics, alike, open, open_count);
}

int statistics_add_to_alike(struct statistics *statistics, struct statistics_use *use,
                            uint32_t alike)
{
    const struct use_values *values = values_of(statistics, use);
    struct statistics_use *to = pool_at(&statistics->uses, alike);
    int result = 0;

    add_traffic(&to->sent, &use->sent);
    add_traffic(&to->received, &use->received);
    value_runs_hand_over(statistics, use, alike);
    if (use->latest != 0)
        result =
            add_latest_to_alike(statistics, latest_of(statistics, use), use->latest_count, alike);
    for (enum value_kind kind = 0; result == 0 && values != NULL && kind < VALUE_KINDS; kind++) {
        struct histogram *of =
            histogram_bars(&values->of[kind]) == 0 ? NULL : own_histogram(statistics, to, kind);
        if (of != NULL)
            result = histogram_merge(of, &values->of[kind], most_buckets(to, kind));
        else if (histogram_bars(&values->of[kind]) != 0)
            result = -ENOMEM;
    }
    return result;
}

/* ---- messages ---- */

/* A server answers what it has received, a client is answered what it has sent. Who the server is the
 * path says; else it is who receives first. */
static int note_answer(struct statistics *statistics, struct statistics_use *use,
                       const struct statistics_path *path, const struct record *record)
{
    uint64_t time = record->header.time - message_span(record);
    uint8_t asked, before = use->last;

    if (before == 0)
        use->serves = path->role == PATH_ROLE_ACCEPTED ||
                      (path->role == PATH_ROLE_UNKNOWN && record->header.id == EVENT_RECEIVE);
    asked = use->serves ? EVENT_RECEIVE : EVENT_SEND;
    bool is_answer = (before == asked) & (record->header.id != asked) & (time >= use->last_time);
    uint64_t took = time - use->last_time;
    use->last = record->header.id;
    use->last_time = time;
    return add_value_if(statistics, use, is_answer, VALUE_ANSWER, took);
}

/* Of a path that was never described the kind is not known: 0 bytes are then taken for the end of
 * file, which is the commoner case by far. */
static bool is_message(const struct statistics_path *path, const struct record *record)
{
    return record->header.id == EVENT_SEND || record->message.bytes != 0 ||
           ((record->header.flags & RECORD_END_OF_FILE) == 0 && path->known && !path->byte_stream);
}

/* ---- sizes: pieces of one call are one message, known when its stream begins the next one ---- */

static bool is_of(const struct open_message *open, enum value_kind kind, uint32_t stream)
{
    return open->any && open->stream == stream && open->kind == kind;
}

/* NULL: the stream has none, as far as is known. */
static struct open_message *find_open(struct use_latest *latest, enum value_kind kind,
                                      uint32_t stream)
{
    if (is_of(&latest->open[kind], kind, stream))
        return &latest->open[kind];
    for (uint32_t i = 0; latest->aside != NULL && i < latest->aside->count; i++)
        if (is_of(&latest->aside->list[i], kind, stream))
            return &latest->aside->list[i];
    return NULL;
}

/* What is complete, or was there for so long that it is taken for it. */
static int close_message(struct statistics *statistics, struct statistics_use *use,
                         struct open_message *open)
{
    bool any = open->any;

    open->any = false;
    return any ? statistics_add_value(statistics, use, open->kind, open->size) : 0;
}

/* A place in the list, whose message is closed if it has one; NULL: out of memory. */
static struct open_message *place_aside(struct statistics *statistics, struct statistics_use *use)
{
    struct use_latest *latest = latest_of(statistics, use);

    if (latest->aside == NULL)
        latest->aside = calloc(1, sizeof(*latest->aside));
    struct open_messages *aside = latest->aside;
    if (aside == NULL)
        return NULL;
    if (aside->count < ASIDE_MOST)
        return &aside->list[aside->count++];
    struct open_message *place = &aside->list[aside->next++ % ASIDE_MOST];
    return close_message(statistics, use, place) < 0 ? NULL : place;
}

static int open_message(struct statistics *statistics, struct statistics_use *use,
                        struct open_message message)
{
    struct use_latest *latest = latest_of(statistics, use);
    struct open_message *before = &latest->open[message.kind];
    struct open_message *own = find_open(latest, message.kind, message.stream);
    int result = own == NULL ? 0 : close_message(statistics, use, own);

    if (result == 0 && before->any) { /* another stream's, which may be in its call still */
        own = own == NULL ? place_aside(statistics, use) : own;
        if (own == NULL)
            return -ENOMEM;
        *own = *before;
    }
    *before = message;
    return result;
}

/* What was sent is counted where it was sent, if that end is metered and used. */
static int note_size(struct statistics *statistics, struct statistics_use *use,
                     const struct statistics_path *path, const struct record *record)
{
    enum value_kind kind = record->header.id == EVENT_SEND ? VALUE_SENT : VALUE_RECEIVED;

    if (kind == VALUE_RECEIVED && path->partner_tells)
        return 0;
    if (record->header.flags & RECORD_CONTINUED) {
        struct open_message *open =
            find_open(latest_of(statistics, use), kind, record->header.stream);
        if (open != NULL)
            open->size += record->message.bytes;
        return 0;
    }
    return open_message(statistics, use,
                        (struct open_message){.size = record->message.bytes,
                                              .stream = record->header.stream,
                                              .kind = (uint8_t)kind,
                                              .any = true});
}

/* What is sent counts where it is sent; what somebody sends who is not metered, where it is received. */
static bool counts_in_intervals(const struct statistics *statistics,
                                const struct statistics_use *use, const struct record *record)
{
    const struct statistics_path *path = path_at(statistics, use->path);

    return statistics->interval != 0 && record->header.id == EVENT_RECEIVE &&
           !path->partner_tells && path->partner != use->path;
}

int statistics_add_message(struct statistics *statistics, struct statistics_use *use,
                           const struct record *record, uint64_t time)
{
    struct statistics_path *path = path_at(statistics, use->path);

    path->messages++;
    if (!is_message(path, record))
        return 0;
    count_message(record->header.id == EVENT_SEND ? &use->sent : &use->received, record);
    int result = note_size(statistics, use, path, record);
    if (result == 0 && counts_in_intervals(statistics, use, record))
        result = intervals_count(statistics, path->origin, record, time);
    return result < 0 ? result : note_answer(statistics, use, path, record);
}
