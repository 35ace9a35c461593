/* SPDX-License-Identifier: MIT */
/* result_values.c: what the columns show that is in no member of a row. See result_values.h. */
#include "show/statistics/result_values.h"

#include "analysis/statistics/statistics_figures.h"
#include "show/text/matching_face.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void value_set_text(struct result_value *value, const char *text, size_t size)
{
    value->known = text != NULL;
    value->text = text;
    value->size = size;
}

void value_own_index(const struct communication *all, const void *row, struct result_value *value)
{
    value->amount = (uint64_t)((const struct communication_process *)row - all->processes);
}

void value_machine_of(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_process *process = row;

    value_set_text(value, all->machines[process->machine].name, MACHINE_TEXT_SIZE - 1);
}

void value_shared_name(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_process *process = row;

    (void)all;
    if (process->group != NULL)
        value_set_text(value, process->group, NAME_SIZE);
    else
        value_set_text(value, process->name, STREAM_NAME_SIZE);
}

/* If several processes share the row, the first one's name. */
void value_own_name(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_process *process = row;

    if (all->by != BY_PROCESS)
        value_shared_name(all, row, value);
    else
        value_set_text(value, process->name, STREAM_NAME_SIZE);
}

void value_name_for_people(const struct communication *all, const void *row,
                           struct result_value *value)
{
    const struct communication_process *process = row;

    value_shared_name(all, row, value);
    if (process->group == NULL && process->pid == 0) {
        value_set_text(value, "unknown", NAME_SIZE);
    } else if (process->group == NULL && process->named_alike) {
        process_label(process->name, process->command, value->made);
        value_set_text(value, value->made, PROCESS_LABEL_SIZE);
    }
}

void value_container_of(const struct communication *all, const void *row,
                        struct result_value *value)
{
    const struct communication_process *process = row;

    (void)all;
    if (process->cgroup_name != NULL)
        container_name(process->cgroup_name, value->made);
    value_set_text(value, process->cgroup_name == NULL ? NULL : value->made, CONTAINER_SIZE);
}

/* The group's name, else its number; not known if the process's identity was lost. */
static void group_name(const struct communication_process *process, enum communication_by by,
                       struct result_value *value)
{
    communication_group_name(process, by, value->made);
    value_set_text(value, process->pid == 0 ? NULL : value->made, NAME_SIZE);
}

/* The command line, if the name does not tell the process from others. */
void value_is_named_alike(const struct communication *all, const void *row,
                          struct result_value *value)
{
    const struct communication_process *process = row;

    value->amount = process->named_alike && all->by == BY_PROCESS;
}

/* Not of groups, whose processes have several. */
void value_own_command(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_process *process = row;

    value_set_text(value, all->by == BY_PROCESS ? process->command : NULL, SIZE_MAX);
    value->known = value->known && process->command[0] != '\0';
}

void value_user_for_people(const struct communication *all, const void *row,
                           struct result_value *value)
{
    (void)all;
    group_name(row, BY_USER, value);
}

void value_container_for_people(const struct communication *all, const void *row,
                                struct result_value *value)
{
    (void)all;
    group_name(row, BY_CONTAINER, value);
}

void value_failed_calls(const struct communication *all, const void *row,
                        struct result_value *value)
{
    const struct communication_process *process = row;

    (void)all;
    value->amount = process->failed_sends + process->failed_receives;
}

void value_where(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_pair *pair = row;

    (void)all;
    if (pair->local)
        value_set_text(value, pair->shared ? "local, shared" : "local", NAME_SIZE);
    else
        value_set_text(value, pair->shared ? "remote, shared" : "remote", NAME_SIZE);
}

void value_late(const struct communication *all, const void *row, struct result_value *value)
{
    if (neither_is_late(all, row))
        value->known = false;
    else
        value_set_text(value, sender_is_late(all, row) ? "the sender" : "the receiver", NAME_SIZE);
}

void value_kind_of(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_path *path = row;

    (void)all;
    value_set_text(value, path_kind_name(path->kind), NAME_SIZE);
}

/* To the last byte. The client's request latency includes service time and network. If the client is unmonitored, take the server's. */
void value_latency(const struct communication *all, const void *row, struct result_value *value)
{
    const struct histogram *of = ((const struct communication_path *)row)->times.of;

    (void)all;
    value->object =
        &of[histogram_bars(&of[TIME_REQUEST_WHOLE]) > 0 ? TIME_REQUEST_WHOLE : TIME_RESPONSE_WHOLE];
}

void value_user_of_file(const struct communication *all, const void *row,
                        struct result_value *value)
{
    const struct communication_file *file = row;
    char text[PROCESS_TEXT_SIZE];

    if (file->process == NO_PROCESS)
        return;
    process_text(all, file->process, text);
    snprintf(value->made, sizeof(value->made), "%.*s", NAME_SIZE - 1, text);
    value_set_text(value, value->made, NAME_SIZE);
}

/* The two processes of an input, in CSV. */
static void party_of_input(const struct communication *all, uint32_t process,
                           struct result_value *value)
{
    char text[PROCESS_TEXT_SIZE];

    if (process == NO_PROCESS)
        return;
    process_text(all, process, text);
    snprintf(value->made, sizeof(value->made), "%.*s", NAME_SIZE - 1, text);
    value_set_text(value, value->made, NAME_SIZE);
}

void value_writer_of_input(const struct communication *all, const void *row,
                           struct result_value *value)
{
    party_of_input(all, ((const struct communication_input *)row)->from, value);
}

void value_reader_of_input(const struct communication *all, const void *row,
                           struct result_value *value)
{
    party_of_input(all, ((const struct communication_input *)row)->to, value);
}

void value_interval_begin(const struct communication *all, const void *row,
                          struct result_value *value)
{
    value->amount = (uint64_t)((const struct traffic *)row - all->intervals) * all->interval;
}

/* Unknown if no messages relate the machine's clock to the first one's. */
void value_clock_is_known(const struct communication *all, const void *row,
                          struct result_value *value)
{
    (void)all;
    value->known = ((const struct communication_machine *)row)->clock_error != UINT64_MAX;
}

/* Known only if all messages were recorded. */
void value_unused_is_known(const struct communication *all, const void *row,
                           struct result_value *value)
{
    (void)row;
    value->known = knows_unused(all);
}

void value_ended_is_known(const struct communication *all, const void *row,
                          struct result_value *value)
{
    (void)row;
    value->known = knows_ended(all);
}

void value_process_queue_is_known(const struct communication *all, const void *row,
                                  struct result_value *value)
{
    (void)all;
    value->known = !((const struct communication_process *)row)->queue.unknown;
}

void value_path_queue_is_known(const struct communication *all, const void *row,
                               struct result_value *value)
{
    (void)all;
    value->known = !((const struct communication_path *)row)->queue.unknown;
}

void value_by_name(const struct communication *all, const void *row, struct result_value *value)
{
    (void)row;
    value_set_text(value, communication_by_name(all->by), NAME_SIZE);
}

/* With ticks of 10 ms, shares of less mean little. */
#define LOAD_LEAST 500000000u /* ns */

void value_long_enough(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    value->amount = ((const struct communication_machine *)row)->load.elapsed >= LOAD_LEAST;
}

void value_cgroup_machine(const struct communication *all, const void *row,
                          struct result_value *value)
{
    const struct communication_cgroup *cgroup = row;

    value_set_text(value, all->machines[cgroup->machine].name, MACHINE_TEXT_SIZE - 1);
}

void value_cgroup_name(const struct communication *all, const void *row, struct result_value *value)
{
    const struct communication_cgroup *cgroup = row;

    (void)all;
    snprintf(value->made, sizeof(value->made), "cgroup %" PRIu64, cgroup->number);
    value_set_text(value, cgroup->name != NULL ? cgroup->name : value->made, NAME_SIZE);
}

static const struct decision_record *decision_of(const void *row)
{
    return &((const struct communication_decision *)row)->record;
}

void value_decision_machine(const struct communication *all, const void *row,
                            struct result_value *value)
{
    const struct communication_decision *decision = row;

    value_set_text(value, all->machines[decision->machine].name, MACHINE_TEXT_SIZE - 1);
}

void value_decision_word(const struct communication *all, const void *row,
                         struct result_value *value)
{
    (void)all;
    value_set_text(value, decision_name(decision_of(row)->outcome), SIZE_MAX);
}

void value_decision_unit(const struct communication *all, const void *row,
                         struct result_value *value)
{
    (void)all;
    value_set_text(value, decision_of(row)->flags & DECISION_IS_TIME ? "ns" : "per_second",
                   SIZE_MAX);
}

static void goal_value(uint64_t goal, const void *row, struct result_value *value)
{
    bool is_time = decision_of(row)->flags & DECISION_IS_TIME;

    value->json = goal == NOT_KNOWN ? json_null() : json_real((double)goal / (is_time ? 1 : 1000));
}

void value_goal_before(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    goal_value(decision_of(row)->before, row, value);
}

void value_goal_after(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    goal_value(decision_of(row)->after, row, value);
}

static void goal_text(uint64_t goal, const void *row, struct result_value *value)
{
    show_goal(goal, decision_of(row)->flags, value->made);
    value_set_text(value, goal == NOT_KNOWN ? NULL : value->made, UNIT_SIZE);
}

void value_goal_before_text(const struct communication *all, const void *row,
                            struct result_value *value)
{
    (void)all;
    goal_text(decision_of(row)->before, row, value);
}

void value_goal_after_text(const struct communication *all, const void *row,
                           struct result_value *value)
{
    (void)all;
    goal_text(decision_of(row)->after, row, value);
}

/* In thousandths; NAN: not known. */
static double gain_value(uint32_t thousandths)
{
    return thousandths == DECISION_NOT_KNOWN ? NAN : thousandths;
}

static json_t *gain_json(double thousandths)
{
    return isnan(thousandths) ? json_null() : json_real(thousandths / 1000);
}

static void gain_text(double thousandths, struct result_value *value)
{
    show_gain(thousandths, value->made);
    value_set_text(value, isnan(thousandths) ? NULL : value->made, UNIT_SIZE);
}

void value_predicted(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    value->json = gain_json(gain_value(decision_of(row)->predicted));
}

void value_predicted_text(const struct communication *all, const void *row,
                          struct result_value *value)
{
    (void)all;
    gain_text(gain_value(decision_of(row)->predicted), value);
}

void value_measured(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    value->json = gain_json(decision_gain(decision_of(row)));
}

void value_measured_text(const struct communication *all, const void *row,
                         struct result_value *value)
{
    (void)all;
    gain_text(decision_gain(decision_of(row)), value);
}

void value_noise(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    value->json = gain_json(gain_value(decision_of(row)->noise));
}

void value_noise_text(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    double noise = gain_value(decision_of(row)->noise);

    show_noise(noise, value->made);
    value_set_text(value, isnan(noise) ? NULL : value->made, UNIT_SIZE);
}

/* Only if it has a limit. */
void value_limit_is_there(const struct communication *all, const void *row,
                          struct result_value *value)
{
    const struct communication_cgroup *cgroup = row;

    (void)all;
    value->known = value->known && cgroup->quota != 0 && cgroup->quota != NOT_KNOWN;
}

/* Rates and queues of a process are over its life (thesis, 5.2.2); of a pair, over that of its sender. */
static void over_life(struct result_value *value, uint64_t life)
{
    value->whole = life;
    value->known = life > 0;
}

void value_over_process_life(const struct communication *all, const void *row,
                             struct result_value *value)
{
    (void)all;
    over_life(value, process_life(row));
}

void value_over_pair_life(const struct communication *all, const void *row,
                          struct result_value *value)
{
    over_life(value, pair_life(all, row));
}

void value_life_of(const struct communication *all, const void *row, struct result_value *value)
{
    (void)all;
    value->amount = process_life(row);
}

/* Only what chosen processes sent is part of all that was sent. */
void value_part_of_all(const struct communication *all, const void *row, struct result_value *value)
{
    const struct party *from = &((const struct communication_pair *)row)->from;

    value->known = from->count > 0;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct communication_process *process = &all->processes[from->processes[i]];
        value->known = value->known && !process->aside && !process->partly_aside;
    }
}

/* What a peer of chosen processes sent to others is left out, so it is not known what all is. */
void value_part_of_sender(const struct communication *all, const void *row,
                          struct result_value *value)
{
    if (all->chosen)
        value_part_of_all(all, row, value);
}

/* No more than what elapsed: of groups the covered times of several pairs are added up. */
void value_at_most_duration(const struct communication *all, const void *row,
                            struct result_value *value)
{
    (void)row;
    value->amount = value->amount < all->duration ? value->amount : all->duration;
}

void value_below_mpi(const struct communication *all, const void *row, struct result_value *value)
{
    (void)row;
    value->amount = messages_below_mpi(all);
}

/* ---- values for JSON only ---- */

static json_t *process_list(const void *context, size_t index)
{
    const struct party *party = context;

    return json_count((uint64_t)party->processes[index] + 1);
}

/* [[1], [2, 3]]: processes at the local end and at the remote end. */
void value_ends(const struct communication *all, const void *row, struct result_value *value)
{
    const struct party *parties = ((const struct communication_path *)row)->ends;

    (void)all;
    value->json = json_pack("[o, o]", json_array_of(&parties[0], parties[0].count, process_list),
                            json_array_of(&parties[1], parties[1].count, process_list));
}

static json_t *machine_in_list(const void *context, size_t index)
{
    const struct communication *all = context;

    return json_text(all->machines[index].name, MACHINE_TEXT_SIZE - 1);
}

void value_machines(const struct communication *all, const void *row, struct result_value *value)
{
    (void)row;
    value->json = json_array_of(all, all->machine_count, machine_in_list);
}

static json_t *clock_in_list(const void *context, size_t index)
{
    const struct communication *all = context;

    return result_json(&result_kinds[RESULTS_MACHINES], all, &all->machines[index], false);
}

void value_clocks(const struct communication *all, const void *row, struct result_value *value)
{
    (void)row;
    value->json = json_array_of(all, all->matched ? all->machine_count : 0, clock_in_list);
}

/* Appends a name. Consumes the array and returns it; NULL: out of memory. */
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

void value_kinds_left_out(const struct communication *all, const void *row,
                          struct result_value *value)
{
    (void)row;
    value->json = kind_names(all->kinds_left_out);
}

void value_kinds_partly(const struct communication *all, const void *row,
                        struct result_value *value)
{
    (void)row;
    value->json = kind_names(all->kinds_partly);
}

/* [{"memory": "/dev/zero (deleted)", "objects": 1, "processes": [1, 2]}] */
void value_shared_memory(const struct communication *all, const void *row,
                         struct result_value *value)
{
    (void)row;
    value->json = json_array();
    for (size_t i = 0; i < all->shared_count; i++) {
        const struct communication_shared *shared = &all->shared[i];
        char name[NAME_SIZE * 4];
        json_t *processes = json_array();
        for (uint32_t j = 0; j < shared->count; j++)
            json_array_append_new(processes, json_count(shared->processes[j] + 1ULL));
        show_text(shared->name, strlen(shared->name) < NAME_SIZE ? strlen(shared->name) : NAME_SIZE,
                  name);
        json_array_append_new(value->json,
                              json_pack("{s:s, s:I, s:o}", "memory", name, "objects",
                                        (json_int_t)shared->objects, "processes", processes));
    }
}

void value_sockets_not_metered(const struct communication *all, const void *row,
                               struct result_value *value)
{
    char name[UNMETERED_TEXT_SIZE];

    (void)row;
    value->json = json_array();
    for (unsigned kind = 1; kind < UNMETERED_END; kind++) {
        unmetered_text(all->unmetered & 1u << kind, name);
        if (name[0] != '\0')
            value->json = with_name(value->json, name);
    }
}

void value_memory_copied(const struct communication *all, const void *row,
                         struct result_value *value)
{
    (void)row;
    value->json = json_boolean(all->unmetered >> UNMETERED_PROCESS_VM & 1);
}

void value_events_left_out(const struct communication *all, const void *row,
                           struct result_value *value)
{
    (void)row;
    value->json = json_array();
    for (unsigned id = 0; id < EVENT_ID_END; id++)
        if ((all->flags_left_out & EVENT_FLAG(id)) != 0)
            value->json = with_name(value->json, event_type(id)->name);
}

void value_events_partly(const struct communication *all, const void *row,
                         struct result_value *value)
{
    (void)row;
    value->json = json_array();
    for (unsigned id = 0; id < EVENT_ID_END; id++)
        if ((all->flags_partly & EVENT_FLAG(id)) != 0)
            value->json = with_name(value->json, event_type(id)->name);
}

void value_own_cost(const struct communication *all, const void *row, struct result_value *value)
{
    (void)row;
    value->json = own_cost_json(&all->matching.own_cost);
}

void value_matching(const struct communication *all, const void *row, struct result_value *value)
{
    (void)row;
    value->json = all->matched ? matching_json(&all->matching) : json_null();
}
