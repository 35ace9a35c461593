/* SPDX-License-Identifier: MIT */
/*
 * statistics_json.c: the communication statistics for programs. Keys are stable; dpm-stats(1)
 * describes them.
 *
 *      {"trace": {...},
 *      "processes": [
 *      {...},
 *      {...}],             one element a line, and only one in memory at a time; or "groups"
 *      "pairs": [ ... ],
 *      "late_senders": [ ... ],
 *      "late_receivers": [ ... ],
 *      "paths": [ ... ]}
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/show.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"
#include "show/text/matching_face.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Functions that make a value return NULL when out of memory, and jansson's setters refuse NULL:
 * one check at the end of each element is enough. */

/* Processes are numbered from 1 in order of their first record. */
static json_t *process_id(uint32_t index)
{
    return index == NO_PROCESS ? json_null() : json_count((uint64_t)index + 1);
}

static json_t *process_ids(const struct party *party)
{
    json_t *ids = json_array();
    int result = ids == NULL ? -1 : 0;

    for (uint32_t i = 0; result == 0 && i < party->count; i++)
        result = json_array_append_new(ids, process_id(party->processes[i]));
    if (result == 0)
        return ids;
    json_decref(ids);
    return NULL;
}

/* A number, a list of numbers where an end is shared, or the address of an unmetered end. */
static json_t *party(const struct party *from)
{
    if (from->count == 0)
        return json_text(from->address, ENDPOINT_SIZE);
    return from->count == 1 ? process_id(from->processes[0]) : process_ids(from);
}

static json_t *traffic(const struct traffic *from)
{
    return json_pack("{s:o, s:o}", "messages", json_count(from->messages), "bytes",
                     json_count(from->bytes));
}

/* How much of both there was in a second of the whole recording. */
static int set_rates(json_t *object, const struct communication *communication,
                     const struct traffic *sent, const struct traffic *received)
{
    uint64_t duration = communication->duration;
    json_t *rates = json_pack("{s:f, s:f, s:f, s:f}", "sent_messages_per_s",
                              show_rate(sent->messages, duration), "sent_bytes_per_s",
                              show_rate(sent->bytes, duration), "received_messages_per_s",
                              show_rate(received->messages, duration), "received_bytes_per_s",
                              show_rate(received->bytes, duration));
    int result = json_object_update(object, rates);

    json_decref(rates);
    return result;
}

static const char *const time_keys[TIME_KINDS] = {
    [TIME_RESPONSE] = "response_ns",
    [TIME_REQUEST] = "request_ns",
    [TIME_MESSAGE_WAIT] = "message_wait_ns",
    [TIME_RECEIVER_WAIT] = "receiver_wait_ns",
    [TIME_SENDER_BLOCKED] = "sender_blocked_ns",
    [TIME_DELIVERY] = "delivery_ns",
};

#define ALL_TIMES ((1u << TIME_KINDS) - 1)

/* Between a sender and a receiver. */
#define PAIR_TIMES                                                                                 \
    (1u << TIME_MESSAGE_WAIT | 1u << TIME_RECEIVER_WAIT | 1u << TIME_SENDER_BLOCKED |              \
     1u << TIME_DELIVERY)

/* Known only of messages that are followed from their senders to their receivers. */
#define FOLLOWED_TIMES (1u << TIME_MESSAGE_WAIT | 1u << TIME_DELIVERY)

/* Adds times of these kinds (bits), each as `make` has it; null: it is not known. */
static int set_times(json_t *object, const struct communication *communication,
                     const struct times *from, unsigned kinds,
                     json_t *(*make)(const struct histogram *))
{
    unsigned unknown = communication->counts_only ? FOLLOWED_TIMES : 0;
    int result = 0;

    for (unsigned kind = 0; kind < TIME_KINDS; kind++)
        if (kinds >> kind & 1)
            result |= json_object_set_new(
                object, time_keys[kind], unknown >> kind & 1 ? json_null() : make(&from->of[kind]));
    return result;
}

/* Of all processes together. */
static json_t *shares(const struct communication *communication,
                      const struct communication_process *from)
{
    return json_pack("{s:f, s:f, s:f}", "cpu", show_share(from->cpu, communication->cpu),
                     "messages", show_share(from->sent.messages, communication->sent.messages),
                     "bytes", show_share(from->sent.bytes, communication->sent.bytes));
}

static json_t *machine(const struct communication *communication, uint32_t index)
{
    return json_text(communication->machines[index].name, MACHINE_NAME_SIZE + 15);
}

static json_t *machines(const struct communication *communication)
{
    json_t *names = json_array();
    int result = names == NULL ? -1 : 0;

    for (uint32_t i = 0; result == 0 && i < communication->machine_count; i++)
        result = json_array_append_new(names, machine(communication, i));
    if (result == 0)
        return names;
    json_decref(names);
    return NULL;
}

static json_t *clock_of_machine(const struct communication *communication, uint32_t index)
{
    const struct communication_machine *from = &communication->machines[index];
    bool known = from->clock_error != UINT64_MAX;

    return json_pack("{s:o, s:o, s:o, s:o}", "machine", machine(communication, index), "offset_ns",
                     known ? json_integer(from->clock_offset) : json_null(), "ahead_ns",
                     known ? json_integer(from->clock_ahead) : json_null(), "error_ns",
                     known ? json_count(from->clock_error) : json_null());
}

static json_t *clocks(const struct communication *communication)
{
    json_t *all = json_array();
    int result = all == NULL ? -1 : 0;

    for (uint32_t i = 0; result == 0 && communication->matched && i < communication->machine_count;
         i++)
        result = json_array_append_new(all, clock_of_machine(communication, i));
    if (result == 0)
        return all;
    json_decref(all);
    return NULL;
}

/* Takes the array over, and returns it, longer by this name; NULL: out of memory. */
static json_t *with_name(json_t *names, const char *name)
{
    if (json_array_append_new(names, json_string(name)) == 0)
        return names;
    json_decref(names);
    return NULL;
}

static json_t *kind_names(uint32_t kinds)
{
    json_t *names = json_array();
    const char *name;
    uint32_t kind;

    for (size_t i = 0; (name = meter_kind(i, &kind)) != NULL; i++)
        if (kinds & kind)
            names = with_name(names, name);
    return names;
}

static json_t *flag_names(uint32_t flags)
{
    json_t *names = json_array();

    for (unsigned id = 0; id < EVENT_ID_END; id++)
        if ((flags & EVENT_FLAG(id)) != 0)
            names = with_name(names, event_type(id)->name);
    return names;
}

/* Which datagrams came twice their queues tell. */
static json_t *duplicates(const struct communication *communication, uint64_t count)
{
    return communication->counts_only ? json_null() : json_count(count);
}

static json_t *queue(const struct communication *communication, const struct queue_length *from)
{
    if (communication->counts_only)
        return json_null();
    return json_pack("{s:o, s:f, s:f, s:o, s:o, s:o, s:o}", "messages_max",
                     json_count(from->messages_max), "messages_mean",
                     queue_mean(from, communication->duration), "messages_mean_over_operations",
                     queue_mean_over_operations(from), "messages_now", json_count(from->messages),
                     "bytes_max", json_count(from->bytes_max), "bytes_now", json_count(from->bytes),
                     "unreceived", json_count(from->unreceived));
}

static json_t *recording(const struct communication *communication)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:o, s:o, s:o, s:o, "
        "s:o, s:o, "
        "s:o, s:o, s:o, s:b, s:o}",
        "events", json_count(communication->events), "lost", json_count(communication->lost),
        "skipped", json_count(communication->skipped), "dropped",
        json_count(communication->dropped), "duplicates",
        duplicates(communication, communication->duplicates), "unseen_bytes",
        json_count(communication->unseen_bytes), "unseen_sent_bytes",
        json_count(communication->unseen_sent_bytes), "not_metered",
        kind_names(communication->kinds_left_out), "events_not_metered",
        flag_names(communication->flags_left_out), "traces_of_ptrace",
        json_count(communication->traces_of_ptrace), "duration_ns",
        json_count(communication->duration), "complete", communication->complete, "by",
        communication_by_name(communication->by), "machines", machines(communication), "clocks",
        clocks(communication), "local", traffic(&communication->local), "remote",
        traffic(&communication->remote), "connections", json_count(communication->connections),
        "ended", json_count(communication->ended), "reused", json_count(communication->reused),
        "own_cost", own_cost_json(&communication->matching.own_cost), "matching",
        communication->matched ? matching_json(&communication->matching) : json_null(),
        "counts_only", communication->counts_only, "split", json_count(communication->split));
}

static json_t *name_or_null(const char *from)
{
    return from == NULL ? json_null() : json_text(from, strlen(from));
}

static json_t *container(const struct communication_process *process)
{
    char name[CONTAINER_SIZE];

    if (process->cgroup_name == NULL)
        return json_null();
    container_name(process->cgroup_name, name);
    return name_or_null(name);
}

/* Whose it is and where it runs; nothing is known of a process whose identity was lost. */
static int set_attributes(json_t *object, const struct communication_process *from)
{
    bool known = from->pid != 0;
    json_t *attributes = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "user",
        known ? json_count(from->user) : json_null(), "user_name", name_or_null(from->user_name),
        "cgroup", from->cgroup == 0 ? json_null() : json_count(from->cgroup), "cgroup_name",
        name_or_null(from->cgroup_name), "container", container(from), "program",
        name_or_null(from->program), "pid_namespace",
        from->pid_namespace == 0 ? json_null() : json_count(from->pid_namespace), "pid_inside",
        known ? json_count(from->pid_inside) : json_null());
    int result = json_object_update(object, attributes);

    json_decref(attributes);
    return result;
}

/* What processes and groups of them have alike. */
static int set_sums(json_t *object, const struct communication *communication,
                    const struct communication_process *from)
{
    json_t *sums = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "cpu_ns", json_count(from->cpu), "sent",
        traffic(&from->sent), "received", traffic(&from->received), "size",
        json_distribution(&from->sizes), "share", shares(communication, from), "failed", "sends",
        json_count(from->failed_sends), "receives", json_count(from->failed_receives));
    int result = json_object_update(object, sums) |
                 set_rates(object, communication, &from->sent, &from->received) |
                 json_object_set_new(object, "queue", queue(communication, &from->queue)) |
                 set_times(object, communication, &from->times, ALL_TIMES, json_distribution);

    json_decref(sums);
    return result;
}

static json_t *checked(json_t *object, int result)
{
    if (object == NULL || result == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *process(const struct communication *communication, size_t index)
{
    const struct communication_process *from = &communication->processes[index];
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "id", process_id((uint32_t)index),
                  "machine", machine(communication, from->machine), "pid",
                  from->pid == 0 ? json_null() : json_count(from->pid), "parent",
                  process_id(from->parent), "name", json_text(from->name, sizeof(from->name)),
                  "processes", json_count(from->group_size), "ended", from->ended);

    return checked(object, set_sums(object, communication, from) | set_attributes(object, from));
}

static json_t *group(const struct communication *communication, size_t index)
{
    const struct communication_process *from = &communication->processes[index];
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o}", "id", process_id((uint32_t)index), "machine",
                  machine(communication, from->machine), "name", json_text(from->group, NAME_SIZE),
                  "processes", json_count(from->group_size));

    return checked(object, set_sums(object, communication, from));
}

static json_t *pair(const struct communication *communication, size_t index)
{
    const struct communication_pair *from = &communication->pairs[index];

    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:o, s:b, s:b}", "from", party(&from->from),
                  "to", party(&from->to), "messages", json_count(from->sent.messages), "bytes",
                  json_count(from->sent.bytes), "messages_per_s",
                  show_rate(from->sent.messages, communication->duration), "bytes_per_s",
                  show_rate(from->sent.bytes, communication->duration), "share",
                  show_share(from->sent.bytes, from->from_bytes), "size",
                  json_distribution(&from->sizes), "local", from->local, "shared", from->shared);

    return checked(object,
                   set_times(object, communication, &from->times, PAIR_TIMES, json_distribution));
}

static json_t *network(const struct network *from)
{
    if (!from->known)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "retransmitted", json_count(from->retransmitted),
                     "round_trip_ns", json_count(from->round_trip), "unacknowledged_bytes",
                     json_count(from->unacknowledged));
}

/* Which one it is. */
static json_t *path_names(const struct communication_path *from)
{
    return json_pack("{s:s, s:o, s:o, s:[o, o]}", "kind", path_kind_name(from->kind), "local",
                     json_text(from->local, ENDPOINT_SIZE), "remote",
                     json_text(from->remote, ENDPOINT_SIZE), "ends", process_ids(&from->ends[0]),
                     process_ids(&from->ends[1]));
}

static json_t *path(const struct communication *communication, size_t index)
{
    const struct communication_path *from = &communication->paths[index];
    json_t *object = path_names(from);
    json_t *sums = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "sent",
                             traffic(&from->sent), "received", traffic(&from->received), "size",
                             json_distribution(&from->sizes), "dropped", json_count(from->dropped),
                             "duplicates", duplicates(communication, from->duplicates),
                             "connections", json_count(from->connections), "ended",
                             json_count(from->ended), "reused", json_count(from->reused));
    int result = json_object_update(object, sums) |
                 set_rates(object, communication, &from->sent, &from->received) |
                 json_object_set_new(object, "network", network(&from->network)) |
                 json_object_set_new(object, "queue", queue(communication, &from->queue)) |
                 set_times(object, communication, &from->times, ALL_TIMES, json_distribution);

    json_decref(sums);
    return checked(object, result);
}

static json_t *procedure(const struct communication *communication, size_t index)
{
    const struct communication_procedure *from = &communication->procedures[index];

    return json_pack(
        "{s:o, s:o, s:o, s:o}", "procedure",
        from->name[0] == '\0' ? json_null() : json_text(from->name, PROCEDURE_NAME_SIZE), "module",
        from->module[0] == '\0' ? json_null() : json_text(from->module, MODULE_NAME_SIZE), "sent",
        traffic(&from->sent), "received", traffic(&from->received));
}

typedef json_t *make_element(const struct communication *communication, size_t index);

static int print_array(const struct communication *communication, const char *name,
                       make_element *make, size_t length, FILE *file)
{
    int result = 0;

    fprintf(file, ",\n\"%s\": [", name);
    for (size_t i = 0; result == 0 && i < length && !ferror(file); i++) {
        fputs(i == 0 ? "\n" : ",\n", file);
        result = json_print(make(communication, i), JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

/* ---- who is late: the longest wait first ---- */

static json_t *late(const struct communication_pair *from)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "from", party(&from->from), "to", party(&from->to),
        "receiver_waited_ns", json_count(histogram_sum(&from->times.of[TIME_RECEIVER_WAIT])),
        "messages_waited_ns", json_count(histogram_sum(&from->times.of[TIME_MESSAGE_WAIT])),
        "sender_blocked_ns", json_count(histogram_sum(&from->times.of[TIME_SENDER_BLOCKED])));
}

/* Of the pairs by wait those whose sender is late, or whose receiver is. */
static int print_late(const struct communication *communication, const char *name,
                      const struct communication_pair **rows, bool senders, FILE *file)
{
    const char *separator = "\n";
    int result = 0;

    fprintf(file, ",\n\"%s\": [", name);
    for (size_t i = 0; result == 0 && i < communication->pair_count && !ferror(file); i++) {
        if (pair_waited(rows[i]) == 0 || sender_is_late(rows[i]) != senders)
            continue;
        fputs(separator, file);
        separator = ",\n";
        result = json_print(late(rows[i]), JSON_COMPACT, file);
    }
    fputc(']', file);
    return result;
}

static int print_who_is_late(const struct communication *communication, FILE *file)
{
    if (communication->counts_only) {
        fputs(",\n\"late_senders\": null,\n\"late_receivers\": null", file);
        return 0;
    }
    const struct communication_pair **rows = pairs_by_wait(communication);
    int result = rows == NULL ? -ENOMEM : 0;

    if (result == 0)
        result = print_late(communication, "late_senders", rows, true, file);
    if (result == 0)
        result = print_late(communication, "late_receivers", rows, false, file);
    free(rows);
    return result;
}

/* ---- histograms: [from, to, count] for each bar ---- */

static json_t *bars(const struct histogram *histogram)
{
    json_t *list = json_array();
    int result = list == NULL ? -1 : 0;

    for (unsigned i = 0; result == 0 && i < histogram_bars(histogram); i++) {
        struct histogram_bar bar = histogram_bar(histogram, i);
        result = json_array_append_new(list, json_pack("[o, o, o]", json_count(bar.from),
                                                       json_count(bar.to), json_count(bar.count)));
    }
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *process_bars(const struct communication *communication, size_t index)
{
    const struct communication_process *from = &communication->processes[index];
    json_t *object =
        json_pack("{s:o, s:o}", "id", process_id((uint32_t)index), "size", bars(&from->sizes));

    return checked(object, set_times(object, communication, &from->times, ALL_TIMES, bars));
}

static json_t *pair_bars(const struct communication *communication, size_t index)
{
    const struct communication_pair *from = &communication->pairs[index];
    json_t *object = json_pack("{s:o, s:o, s:o}", "from", party(&from->from), "to",
                               party(&from->to), "size", bars(&from->sizes));

    return checked(object, set_times(object, communication, &from->times, PAIR_TIMES, bars));
}

static json_t *path_bars(const struct communication *communication, size_t index)
{
    const struct communication_path *from = &communication->paths[index];
    json_t *object = path_names(from);
    int result = json_object_set_new(object, "size", bars(&from->sizes));

    return checked(object,
                   result | set_times(object, communication, &from->times, ALL_TIMES, bars));
}

static int print_histograms(const struct communication *communication, FILE *file)
{
    int result = print_array(communication, "process_histograms", process_bars,
                             communication->process_count, file);

    if (result == 0)
        result = print_array(communication, "pair_histograms", pair_bars, communication->pair_count,
                             file);
    return result < 0 ? result
                      : print_array(communication, "path_histograms", path_bars,
                                    communication->path_count, file);
}

static json_t *interval(const struct communication *communication, size_t index)
{
    json_t *object = traffic(&communication->intervals[index]);

    return checked(object, json_object_set_new(object, "time_ns",
                                               json_count(index * communication->interval)));
}

int show_statistics_json(const struct communication *communication, FILE *file,
                         const struct show_options *options)
{
    int result;

    fputs("{\"trace\": ", file);
    result = json_print(recording(communication), JSON_COMPACT, file);
    if (result == 0 && communication->by == BY_PROCESS)
        result =
            print_array(communication, "processes", process, communication->process_count, file);
    else if (result == 0)
        result = print_array(communication, "groups", group, communication->process_count, file);
    if (result == 0)
        result = print_array(communication, "pairs", pair, communication->pair_count, file);
    if (result == 0)
        result = print_who_is_late(communication, file);
    if (result == 0)
        result = print_array(communication, "paths", path, communication->path_count, file);
    if (result == 0)
        result = print_array(communication, "procedures", procedure, communication->procedure_count,
                             file);
    if (result == 0 && communication->interval != 0)
        result =
            print_array(communication, "intervals", interval, communication->interval_count, file);
    if (result == 0 && options->histogram)
        result = print_histograms(communication, file);
    fputs("}\n", file);
    return result;
}
