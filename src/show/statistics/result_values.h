/* SPDX-License-Identifier: MIT */
/* result_values.h: what the columns of results.c show that is in no member of a row. Private to show/statistics/. */
#ifndef DPM_RESULT_VALUES_H
#define DPM_RESULT_VALUES_H

#include "show/statistics/results.h"

/* Sets the value of a row, or whether it is known, or what it is a part of. */
typedef void result_getter(const struct communication *all, const void *row,
                           struct result_value *value);

result_getter value_own_index, value_machine_of, value_shared_name, value_own_name,
    value_name_for_people, value_container_of, value_is_named_alike, value_own_command,
    value_user_for_people, value_container_for_people, value_failed_calls, value_where, value_late,
    value_kind_of, value_latency, value_user_of_file, value_writer_of_input, value_reader_of_input,
    value_interval_begin, value_clock_is_known, value_unused_is_known, value_ended_is_known,
    value_process_queue_is_known, value_path_queue_is_known, value_by_name, value_long_enough,
    value_cgroup_machine, value_cgroup_name, value_decision_machine, value_decision_word,
    value_decision_unit, value_goal_before, value_goal_after, value_goal_before_text,
    value_goal_after_text, value_predicted, value_predicted_text, value_measured,
    value_measured_text, value_noise, value_noise_text, value_limit_is_there,
    value_over_process_life, value_over_pair_life, value_life_of, value_part_of_all,
    value_part_of_sender, value_at_most_duration, value_below_mpi, value_ends, value_machines,
    value_clocks, value_kinds_left_out, value_kinds_partly, value_shared_memory,
    value_sockets_not_metered, value_memory_copied, value_events_left_out, value_events_partly,
    value_own_cost, value_matching;

/* NULL: not known. At most `size` bytes are shown. */
void value_set_text(struct result_value *value, const char *text, size_t size);

#endif
