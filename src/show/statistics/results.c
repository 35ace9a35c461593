/* SPDX-License-Identifier: MIT */
/*
 * results.c: the table of results: one row for each figure. The lists of keys at the end of this file define the text
 * tables that show it, and its position in CSV. See results.h.
 *
 * JSON has the columns in the order of these tables. CSV columns never move: append new ones to the list.
 */
#include "show/statistics/results.h"

#include "show/statistics/result_values.h"

#include <stddef.h>
#include <string.h>

#define FIELD(type, member)                                                                        \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)0)->member)                          \
    }
#define PROCESS(member)   FIELD(communication_process, member)
#define PAIR(member)      FIELD(communication_pair, member)
#define PATH(member)      FIELD(communication_path, member)
#define MACHINE(member)   FIELD(communication_machine, member)
#define PROCEDURE(member) FIELD(communication_procedure, member)
#define FILES(member)     FIELD(communication_file, member)
#define INPUT(member)     FIELD(communication_input, member)
#define LOAD(member)      FIELD(communication_machine, load.member)
#define CGROUP(member)    FIELD(communication_cgroup, member)
#define DECISION(member)  FIELD(communication_decision, record.member)
#define ALL(member)       FIELD(communication, member)
#define FAILURE(member)   FIELD(communication_failure, member)

/* ---- columns that several kinds of rows share ---- */

#define TRAFFIC(OF)                                                                                \
    {"sent.messages", "SENT", RESULT_COUNT, OF(sent.messages), .sum = SUM_ADD, .rank = 4},         \
        {"sent.bytes", "BYTES SENT", RESULT_BYTES, OF(sent.bytes), .sum = SUM_ADD},                \
        {"received.messages",   "RECEIVED",     RESULT_COUNT,                                      \
         OF(received.messages), .sum = SUM_ADD, .rank = 5},                                        \
    {                                                                                              \
        "received.bytes", "BYTES RECEIVED", RESULT_BYTES, OF(received.bytes), .sum = SUM_ADD,      \
                                                                              .rank = 1            \
    }

/* OVER: sets the time that they are over, if that is not the whole recording. */
#define RATES(OF, OVER)                                                                            \
    {"sent_messages_per_s", "SENT/S",      RESULT_RATE,                                            \
     OF(sent.messages),     .get = (OVER), .sum = SUM_ADD},                                        \
        {"sent_bytes_per_s", "BYTES/S",      RESULT_BYTE_RATE, OF(sent.bytes),                     \
         .get = (OVER),      .sum = SUM_ADD, .detail = true,   .rank = 1},                         \
        {"received_messages_per_s",                                                                \
         "RECEIVED/S",                                                                             \
         RESULT_RATE,                                                                              \
         OF(received.messages),                                                                    \
         .get = (OVER),                                                                            \
         .sum = SUM_ADD,                                                                           \
         .rank = 2},                                                                               \
    {                                                                                              \
        "received_bytes_per_s", "BYTES/S", RESULT_BYTE_RATE, OF(received.bytes),                   \
            .get = (OVER), .sum = SUM_ADD, .detail = true, .rank = 2                               \
    }

/* Mean queue length over time, and over message operations, as in the thesis. */
#define QUEUE(OF, OVER, KNOWN)                                                                     \
    {"queue.messages_max",   "QUEUE MAX",    RESULT_COUNT,                                         \
     OF(queue.messages_max), .get = (KNOWN), .sum = SUM_MAX},                                      \
        {"queue.messages_mean", "MEAN",         RESULT_MEAN,    OF(queue.wait),                    \
         .get = (OVER),         .sum = SUM_ADD, .detail = true, .rank = 1},                        \
        {"queue.messages_mean_over_operations",                                                    \
         "MEAN AT OPERATIONS",                                                                     \
         RESULT_MEAN,                                                                              \
         OF(queue.messages_sum),                                                                   \
         .whole = OF(queue.operations),                                                            \
         .get = (KNOWN),                                                                           \
         .detail = true,                                                                           \
         .rank = 6},                                                                               \
        {"queue.messages_now", "QUEUED NOW",   RESULT_COUNT, OF(queue.messages),                   \
         .get = (KNOWN),       .sum = SUM_ADD, .rank = 5},                                         \
        {"queue.bytes_max", "BYTES MAX",    RESULT_BYTES, OF(queue.bytes_max),                     \
         .get = (KNOWN),    .sum = SUM_MAX, .rank = 3},                                            \
        {"queue.bytes_now", "BYTES NOW",    RESULT_BYTES, OF(queue.bytes),                         \
         .get = (KNOWN),    .sum = SUM_ADD, .rank = 5},                                            \
    {                                                                                              \
        "queue.unreceived", "UNRECEIVED", RESULT_COUNT, OF(queue.unreceived),                      \
            .get = (KNOWN), .sum = SUM_ADD, .rank = 1                                              \
    }

#define ANSWER_TIMES(OF)                                                                           \
    {"response_ns", "SERVICE TIME", RESULT_TIMES, OF(times.of[TIME_RESPONSE])},                    \
        {"response_last_byte_ns", "SERVICE TIME, LAST BYTE", RESULT_TIMES,                         \
         OF(times.of[TIME_RESPONSE_WHOLE]), .flags = RESULT_REPEATS},                              \
        {"request_ns", "REQUEST LATENCY", RESULT_TIMES, OF(times.of[TIME_REQUEST])},               \
    {                                                                                              \
        "request_last_byte_ns", "REQUEST LATENCY, LAST BYTE", RESULT_TIMES,                        \
            OF(times.of[TIME_REQUEST_WHOLE]), .flags = RESULT_REPEATS                              \
    }

/* What the request latencies of clients consist of. */
#define REQUEST_PARTS(OF)                                                                            \
    {                                                                                                \
        "requests.connects", "CONNECTS",     RESULT_COUNT,                                           \
        OF(asked.connects),  .sum = SUM_ADD, .rank = 5},                                             \
        {"requests.connect_ns",  "CONNECTING",   RESULT_NS,                                          \
         OF(asked.connect_time), .sum = SUM_ADD, .rank = 2},                                         \
        {"requests.resent_syns", "SYN RESENT",   RESULT_COUNT,                                       \
         OF(asked.resent),       .sum = SUM_ADD, .rank = 3},                                         \
        {"requests.resent_syn_ns", "RESENDING",    RESULT_NS,                                        \
         OF(asked.resent_time),    .sum = SUM_ADD, .rank = 4},                                       \
        {"requests.retried", "RETRIED", RESULT_COUNT, OF(asked.retried), .sum = SUM_ADD, .rank = 3}, \
        {"requests.retry_ns",  "RETRIES",      RESULT_NS,                                            \
         OF(asked.retry_time), .sum = SUM_ADD, .rank = 2},                                           \
        {"requests.unanswered", "NO ANSWER", RESULT_COUNT, OF(asked.unanswered), .sum = SUM_ADD},    \
        {"requests.unanswered_ns",  "WAITED IN VAIN", RESULT_NS,                                     \
         OF(asked.unanswered_time), .sum = SUM_ADD,   .rank = 1},                                    \
    {                                                                                                \
        "requests.unanswered_max_ns", "AT MOST", RESULT_NS, OF(asked.unanswered_most),               \
            .sum = SUM_MAX, .detail = true, .rank = 6                                                \
    }

#define PARTS_OF_REQUESTS                                                                          \
    "requests.connects requests.connect_ns requests.resent_syns requests.resent_syn_ns "           \
    "requests.retried requests.retry_ns requests.unanswered requests.unanswered_ns "               \
    "requests.unanswered_max_ns"
#define PARTS_NEED "requests.connects requests.retried requests.unanswered"

#define WAITS(OF)                                                                                  \
    {"message_wait_ns", "RECEIVE-QUEUE DELAY", RESULT_TIMES, OF(times.of[TIME_MESSAGE_WAIT]),      \
     .rank = 2},                                                                                   \
        {"receiver_wait_ns", "RECEIVE WAIT", RESULT_TIMES, OF(times.of[TIME_RECEIVER_WAIT]),       \
         .rank = 1},                                                                               \
        {"sender_blocked_ns", "SEND BLOCKED", RESULT_TIMES, OF(times.of[TIME_SENDER_BLOCKED]),     \
         .rank = 3},                                                                               \
    {                                                                                              \
        "delivery_ns", "DELIVERY LATENCY", RESULT_TIMES, OF(times.of[TIME_DELIVERY]), .rank = 4    \
    }

/* ---- the columns ---- */

static const struct result_column of_recording[] = {
    {"events", NULL, RESULT_COUNT, ALL(events)},
    {"not_known_yet", NULL, RESULT_COUNT, ALL(not_known_yet)},
    {"lost", NULL, RESULT_COUNT, ALL(lost)},
    {"skipped", NULL, RESULT_COUNT, ALL(skipped)},
    {"dropped", NULL, RESULT_COUNT, ALL(dropped)},
    {"refused", NULL, RESULT_COUNT, ALL(refused)},
    {"duplicates", NULL, RESULT_COUNT, ALL(duplicates)},
    {"unseen_bytes", NULL, RESULT_BYTES, ALL(unseen_bytes)},
    {"unseen_sent_bytes", NULL, RESULT_BYTES, ALL(unseen_sent_bytes)},
    {"not_metered", NULL, RESULT_JSON, .get = value_kinds_left_out},
    {"metered_partly", NULL, RESULT_JSON, .get = value_kinds_partly},
    {"sockets_not_metered", NULL, RESULT_JSON, .get = value_sockets_not_metered},
    {"memory_copied", NULL, RESULT_JSON, .get = value_memory_copied},
    {"shared_memory", NULL, RESULT_JSON, .get = value_shared_memory},
    {"events_not_metered", NULL, RESULT_JSON, .get = value_events_left_out},
    {"events_metered_partly", NULL, RESULT_JSON, .get = value_events_partly},
    {"traces_of_ptrace", NULL, RESULT_COUNT, ALL(traces_of_ptrace)},
    {"duration_ns", NULL, RESULT_NS, ALL(duration)},
    {"complete", NULL, RESULT_BOOL, ALL(complete)},
    {"by", NULL, RESULT_TEXT, .get = value_by_name},
    {"machines", NULL, RESULT_JSON, .get = value_machines},
    {"clocks", NULL, RESULT_JSON, .get = value_clocks},
    {"local.messages", NULL, RESULT_COUNT, ALL(local.messages)},
    {"local.bytes", NULL, RESULT_BYTES, ALL(local.bytes)},
    {"remote.messages", NULL, RESULT_COUNT, ALL(remote.messages)},
    {"remote.bytes", NULL, RESULT_BYTES, ALL(remote.bytes)},
    {"messages_below_mpi", NULL, RESULT_COUNT, .get = value_below_mpi},
    {"connections", NULL, RESULT_COUNT, ALL(connections)},
    {"ended", NULL, RESULT_COUNT, ALL(ended), .get = value_ended_is_known},
    {"unused", NULL, RESULT_COUNT, ALL(unused), .get = value_unused_is_known},
    {"failed_connections", NULL, RESULT_COUNT, ALL(failed)},
    {"cgroups_left_out", NULL, RESULT_COUNT, ALL(cgroups_left_out)},
    {"decisions_left_out", NULL, RESULT_COUNT, ALL(decisions_left_out)},
    {"own_cost", NULL, RESULT_JSON, .get = value_own_cost},
    {"matching", NULL, RESULT_JSON, .get = value_matching},
};

static const struct result_column of_machine[] = {
    {"machine", NULL, RESULT_NAME, MACHINE(name), .flags = RESULT_NAMES},
    {"offset_ns", NULL, RESULT_SIGNED, MACHINE(clock_offset), .get = value_clock_is_known},
    {"ahead_ns", NULL, RESULT_SIGNED, MACHINE(clock_ahead), .get = value_clock_is_known},
    {"error_ns", NULL, RESULT_NS, MACHINE(clock_error), .get = value_clock_is_known},
};

static const struct result_column of_process[] = {
    {"id", "PROCESS", RESULT_PROCESS, .get = value_own_index, .flags = RESULT_NAMES},
    {"machine", "MACHINE", RESULT_TEXT, .get = value_machine_of, .when = WHEN_MACHINES},
    {"pid", "PID", RESULT_NUMBER, PROCESS(pid), .known = PROCESS(pid), .flags = RESULT_PROCESSES},
    {"parent", "PARENT", RESULT_PROCESS, PROCESS(parent), .flags = RESULT_PROCESSES, .rank = 7},
    {"name", NULL, RESULT_TEXT, .get = value_own_name},
    {"shared_name", NULL, RESULT_TEXT, .get = value_shared_name, .csv = "name",
     .flags = RESULT_CSV},
    {"name_for_people", "PROCESS", RESULT_TEXT, .get = value_name_for_people,
     .flags = RESULT_PEOPLE},
    {"processes", "PROCESSES", RESULT_COUNT, PROCESS(group_size), .sum = SUM_ADD,
     .when = WHEN_SEVERAL, .flags = RESULT_GROUPS},
    {"ended", "ENDED", RESULT_BOOL, PROCESS(ended), .flags = RESULT_PROCESSES, .rank = 7},
    {"peer_only", NULL, RESULT_BOOL, PROCESS(aside), .flags = RESULT_PROCESSES},
    {"life_ns", "LIFE", RESULT_NS, .get = value_life_of, .sum = SUM_MAX},
    {"cpu_ns", "CPU TIME", RESULT_NS, PROCESS(cpu), .sum = SUM_ADD},
    {"spun_ns", NULL, RESULT_NS, PROCESS(spun)},
    {"waited_for_cpu_ns", "CPU WAIT OF THREADS", RESULT_NS, PROCESS(scheduled.runnable),
     .known = PROCESS(scheduled.threads), .sum = SUM_ADD, .when = WHEN_SOME, .flags = RESULT_LACKS,
     .rank = 2},
    {"asleep_ns", NULL, RESULT_NS, PROCESS(scheduled.asleep), .known = PROCESS(scheduled.threads),
     .sum = SUM_ADD, .flags = RESULT_LACKS},
    {"threads_watched_ns", NULL, RESULT_NS, PROCESS(scheduled.elapsed),
     .known = PROCESS(scheduled.threads), .sum = SUM_ADD, .flags = RESULT_LACKS},
    {"switches.voluntary", NULL, RESULT_COUNT, PROCESS(scheduled.voluntary),
     .known = PROCESS(scheduled.threads), .sum = SUM_ADD, .flags = RESULT_LACKS},
    {"switches.involuntary", NULL, RESULT_COUNT, PROCESS(scheduled.involuntary),
     .known = PROCESS(scheduled.threads), .sum = SUM_ADD, .flags = RESULT_LACKS},
    TRAFFIC(PROCESS),
    {"size", "SIZE", RESULT_SIZES, PROCESS(sizes)},
    {"share.cpu", "%", RESULT_SHARE, PROCESS(cpu), .of_all = ALL(cpu), .sum = SUM_ADD,
     .detail = true, .rank = 3},
    {"share.messages", "%", RESULT_SHARE, PROCESS(sent.messages), .of_all = ALL(sent.messages),
     .sum = SUM_ADD, .detail = true, .rank = 6},
    {"share.bytes", "%", RESULT_SHARE, PROCESS(sent.bytes), .of_all = ALL(sent.bytes),
     .sum = SUM_ADD, .detail = true, .rank = 6},
    {"failed.sends", "FAILED SENDS", RESULT_COUNT, PROCESS(failed_sends), .sum = SUM_ADD},
    {"failed.receives", "FAILED RECEIVES", RESULT_COUNT, PROCESS(failed_receives), .sum = SUM_ADD},
    {"failed_calls", "FAILED", RESULT_COUNT, .get = value_failed_calls, .sum = SUM_ADD,
     .when = WHEN_SOME, .flags = RESULT_PEOPLE, .rank = 2},
    RATES(PROCESS, value_over_process_life),
    QUEUE(PROCESS, value_over_process_life, value_process_queue_is_known),
    ANSWER_TIMES(PROCESS),
    REQUEST_PARTS(PROCESS),
    WAITS(PROCESS),
    {"user", NULL, RESULT_NUMBER, PROCESS(user), .known = PROCESS(pid), .flags = RESULT_PROCESSES},
    {"user_name", NULL, RESULT_TEXT, PROCESS(user_name), .flags = RESULT_PROCESSES},
    {"cgroup", NULL, RESULT_NUMBER, PROCESS(cgroup), .known = PROCESS(cgroup),
     .flags = RESULT_PROCESSES},
    {"cgroup_name", NULL, RESULT_TEXT, PROCESS(cgroup_name), .flags = RESULT_PROCESSES},
    {"container", NULL, RESULT_TEXT, .get = value_container_of, .flags = RESULT_PROCESSES},
    {"program", NULL, RESULT_TEXT, PROCESS(program), .flags = RESULT_PROCESSES},
    {"command", "COMMAND", RESULT_TEXT, .get = value_own_command, .flags = RESULT_PROCESSES},
    {"named_alike", NULL, RESULT_COUNT, .get = value_is_named_alike, .flags = RESULT_PEOPLE},
    {"pid_namespace", NULL, RESULT_NUMBER, PROCESS(pid_namespace), .known = PROCESS(pid_namespace),
     .flags = RESULT_PROCESSES},
    {"pid_inside", NULL, RESULT_NUMBER, PROCESS(pid_inside), .known = PROCESS(pid),
     .flags = RESULT_PROCESSES},
    {"user_for_people", "USER", RESULT_TEXT, .get = value_user_for_people, .when = WHEN_DIFFERENT,
     .flags = RESULT_PROCESSES | RESULT_PEOPLE, .rank = 5},
    {"container_for_people", "CONTAINER", RESULT_TEXT, .get = value_container_for_people,
     .when = WHEN_DIFFERENT, .flags = RESULT_PROCESSES | RESULT_PEOPLE, .rank = 5},
};

static const struct result_column of_pair[] = {
    {"from", "FROM", RESULT_PARTY, PAIR(from), .flags = RESULT_NAMES},
    {"to", "TO", RESULT_PARTY, PAIR(to), .flags = RESULT_NAMES},
    {"messages", "MESSAGES", RESULT_COUNT, PAIR(sent.messages), .sum = SUM_ADD, .rank = 3},
    {"bytes", "BYTES", RESULT_BYTES, PAIR(sent.bytes), .sum = SUM_ADD},
    {"messages_per_s", "MESSAGES/S", RESULT_RATE, PAIR(sent.messages), .get = value_over_pair_life,
     .sum = SUM_ADD},
    {"bytes_per_s", "BYTES/S", RESULT_BYTE_RATE, PAIR(sent.bytes), .get = value_over_pair_life,
     .sum = SUM_ADD, .detail = true, .rank = 6},
    {"messages_share", "%", RESULT_SHARE, PAIR(sent.messages), .whole = PAIR(from_sent.messages),
     .get = value_part_of_sender, .detail = true, .rank = 4},
    {"share", "%", RESULT_SHARE, PAIR(sent.bytes), .whole = PAIR(from_sent.bytes),
     .get = value_part_of_sender, .detail = true, .rank = 4},
    {"messages_share_of_all", "% OF ALL", RESULT_SHARE, PAIR(sent.messages),
     .of_all = ALL(sent.messages), .get = value_part_of_all, .sum = SUM_ADD, .rank = 6},
    {"bytes_share_of_all", "% OF ALL", RESULT_SHARE, PAIR(sent.bytes), .of_all = ALL(sent.bytes),
     .get = value_part_of_all, .sum = SUM_ADD, .rank = 6},
    {"size", "SIZE", RESULT_SIZES, PAIR(sizes), .rank = 5},
    {"local", "LOCAL", RESULT_BOOL, PAIR(local)},
    {"shared", "SHARED", RESULT_BOOL, PAIR(shared)},
    {"where", "WHERE", RESULT_TEXT, .get = value_where, .flags = RESULT_PEOPLE, .rank = 2},
    WAITS(PAIR),
    {"receiver_wait_covered_ns", "RECEIVE WAIT", RESULT_NS, PAIR(covered.receiver),
     .known = PAIR(covered.receiver), .get = value_at_most_duration, .rank = 1},
    {"message_wait_covered_ns", "RECEIVE-QUEUE DELAY", RESULT_NS, PAIR(covered.message),
     .known = PAIR(covered.message), .get = value_at_most_duration, .rank = 2},
    {"sender_blocked_covered_ns", "SEND BLOCKED", RESULT_NS, PAIR(covered.sender),
     .known = PAIR(covered.sender), .get = value_at_most_duration, .rank = 3},
    {"late", "LATE", RESULT_TEXT, .get = value_late, .flags = RESULT_PEOPLE, .rank = 1},
};

static const struct result_column of_late_pair[] = {
    {"from", NULL, RESULT_PARTY, PAIR(from), .flags = RESULT_NAMES},
    {"to", NULL, RESULT_PARTY, PAIR(to), .flags = RESULT_NAMES},
    {"receiver_waited_ns", NULL, RESULT_SUM, PAIR(times.of[TIME_RECEIVER_WAIT])},
    {"messages_waited_ns", NULL, RESULT_SUM, PAIR(times.of[TIME_MESSAGE_WAIT])},
    {"sender_blocked_ns", NULL, RESULT_SUM, PAIR(times.of[TIME_SENDER_BLOCKED])},
    {"receiver_wait_covered_ns", NULL, RESULT_NS, PAIR(covered.receiver),
     .known = PAIR(covered.receiver), .get = value_at_most_duration},
    {"message_wait_covered_ns", NULL, RESULT_NS, PAIR(covered.message),
     .known = PAIR(covered.message), .get = value_at_most_duration},
    {"sender_blocked_covered_ns", NULL, RESULT_NS, PAIR(covered.sender),
     .known = PAIR(covered.sender), .get = value_at_most_duration},
};

static const struct result_column of_path[] = {
    {"kind", "KIND", RESULT_TEXT, .get = value_kind_of, .flags = RESULT_NAMES},
    {"local", "LOCAL", RESULT_END, PATH(local), .end_party = PATH(ends[0]), .flags = RESULT_NAMES},
    {"remote", "REMOTE", RESULT_END, PATH(remote), .end_party = PATH(ends[1]),
     .flags = RESULT_NAMES},
    {"ends", NULL, RESULT_JSON, .get = value_ends, .flags = RESULT_NAMES},
    {"local_users", NULL, RESULT_PARTY, PATH(ends[0]), .flags = RESULT_CSV},
    {"remote_users", NULL, RESULT_PARTY, PATH(ends[1]), .flags = RESULT_CSV},
    TRAFFIC(PATH),
    {"size", "SIZE", RESULT_SIZES, PATH(sizes)},
    {"dropped", "DROPPED", RESULT_COUNT, PATH(dropped), .sum = SUM_ADD, .when = WHEN_SOME,
     .rank = 2},
    {"duplicates", "DUPLICATES", RESULT_COUNT, PATH(duplicates), .sum = SUM_ADD, .when = WHEN_SOME,
     .rank = 4},
    {"connections", "CONNECTIONS", RESULT_COUNT, PATH(connections), .sum = SUM_ADD,
     .when = WHEN_SEVERAL, .rank = 3},
    {"ended", "ENDED", RESULT_COUNT, PATH(ended), .get = value_ended_is_known, .sum = SUM_ADD},
    RATES(PATH, NULL),
    {"network.round_trip_ns", "RTT", RESULT_NS, PATH(network.round_trip),
     .known = PATH(network.known), .sum = SUM_MAX, .when = WHEN_KNOWN, .csv = "round_trip_ns",
     .rank = 3},
    {"network.retransmitted", "RETRANSMITS", RESULT_COUNT, PATH(network.retransmitted),
     .known = PATH(network.counted), .sum = SUM_ADD, .when = WHEN_KNOWN, .csv = "retransmitted",
     .rank = 3},
    {"network.unacknowledged_bytes", "IN FLIGHT", RESULT_BYTES, PATH(network.unacknowledged),
     .known = PATH(network.known), .sum = SUM_ADD, .when = WHEN_SOME, .csv = "unacknowledged_bytes",
     .rank = 6},
    {"nagle.sent", NULL, RESULT_COUNT, PATH(held_sent.messages), .sum = SUM_ADD},
    {"nagle.sent_ns", NULL, RESULT_NS, PATH(held_sent.time), .sum = SUM_ADD},
    {"nagle.received", NULL, RESULT_COUNT, PATH(held_received.messages), .sum = SUM_ADD},
    {"nagle.received_ns", NULL, RESULT_NS, PATH(held_received.time), .sum = SUM_ADD},
    QUEUE(PATH, NULL, value_path_queue_is_known),
    ANSWER_TIMES(PATH),
    REQUEST_PARTS(PATH),
    WAITS(PATH),
    {"latency", "LATENCY", RESULT_TIMES, .get = value_latency, .when = WHEN_KNOWN,
     .flags = RESULT_PEOPLE, .rank = 1},
};

#define FAILED(key, heading, reason)                                                               \
    {                                                                                              \
        key, heading, RESULT_COUNT, FAILURE(of[reason]), .sum = SUM_ADD, .when = WHEN_SOME         \
    }

static const struct result_column of_failure[] = {
    {"process", "PROCESS", RESULT_PROCESS, FAILURE(process), .flags = RESULT_NAMES},
    {"address", "TRIED", RESULT_TEXT, FAILURE(address), .flags = RESULT_NAMES},
    {"count", "FAILED", RESULT_COUNT, FAILURE(count), .sum = SUM_ADD},
    FAILED("refused", "REFUSED", FAILURE_REFUSED),
    FAILED("timed_out", "TIMED OUT", FAILURE_TIMED_OUT),
    FAILED("unreachable", "UNREACHABLE", FAILURE_UNREACHABLE),
    FAILED("given_up", "GIVEN UP", FAILURE_GIVEN_UP),
    FAILED("other", "OTHER", FAILURE_OTHER),
    {"time_ns", "TIME TO FAILURE", RESULT_TIMES, FAILURE(times), .rank = 1},
    {"time_covered_ns", "TIME TO FAILURE", RESULT_NS, FAILURE(in_progress), .rank = 1},
};

static const struct result_column of_procedure[] = {
    {"procedure", "PROCEDURE", RESULT_TEXT, PROCEDURE(name), .flags = RESULT_NAMES},
    {"module", "MODULE", RESULT_FILE, PROCEDURE(module), .flags = RESULT_NAMES},
    TRAFFIC(PROCEDURE),
};

static const struct result_column of_input[] = {
    {"from", "FROM", RESULT_PROCESS, INPUT(from), .flags = RESULT_NAMES},
    {"to", "TO", RESULT_PROCESS, INPUT(to), .flags = RESULT_NAMES},
    {"writer", NULL, RESULT_TEXT, .get = value_writer_of_input, .csv = "from", .flags = RESULT_CSV},
    {"reader", NULL, RESULT_TEXT, .get = value_reader_of_input, .csv = "to", .flags = RESULT_CSV},
    {"files", "FILES", RESULT_COUNT, INPUT(files), .sum = SUM_ADD, .rank = 2},
    {"reads", "READS", RESULT_COUNT, INPUT(reads), .sum = SUM_ADD, .rank = 3},
    {"bytes", "BYTES", RESULT_BYTES, INPUT(bytes), .sum = SUM_ADD, .rank = 1},
    {"doubtful", "DOUBTFUL", RESULT_COUNT, INPUT(doubtful), .sum = SUM_ADD, .when = WHEN_SOME,
     .rank = 4},
    {"file", "FILE", RESULT_TEXT, INPUT(name), .flags = RESULT_NAMES},
};

static const struct result_column of_file[] = {
    {"process", "PROCESS", RESULT_PROCESS, FILES(process), .flags = RESULT_NAMES},
    {"user", NULL, RESULT_TEXT, .get = value_user_of_file, .csv = "process", .flags = RESULT_CSV},
    {"file", "FILE", RESULT_TEXT, FILES(name), .flags = RESULT_NAMES},
    {"opens", "OPENS", RESULT_COUNT, FILES(opens), .sum = SUM_ADD, .rank = 4},
    {"closes", "CLOSES", RESULT_COUNT, FILES(closes), .sum = SUM_ADD, .rank = 5},
    {"reads.calls", "READS", RESULT_COUNT, FILES(reads.calls), .sum = SUM_ADD, .rank = 3},
    {"reads.bytes", "BYTES READ", RESULT_BYTES, FILES(reads.bytes), .sum = SUM_ADD, .rank = 1},
    {"read_ns", "READ TIME", RESULT_TIMES, FILES(reads.times), .rank = 1},
    {"writes.calls", "WRITES", RESULT_COUNT, FILES(writes.calls), .sum = SUM_ADD, .rank = 3},
    {"writes.bytes", "BYTES WRITTEN", RESULT_BYTES, FILES(writes.bytes), .sum = SUM_ADD, .rank = 2},
    {"write_ns", "WRITE TIME", RESULT_TIMES, FILES(writes.times), .rank = 1},
};

static const struct result_column of_interval[] = {
    {"messages", "MESSAGES", RESULT_COUNT, FIELD(traffic, messages)},
    {"bytes", "BYTES", RESULT_BYTES, FIELD(traffic, bytes)},
    {"time_ns", "TIME", RESULT_NS, .get = value_interval_begin},
};

#define SHARE_OF_TIME(member) LOAD(member), .whole = LOAD(elapsed), .flags = RESULT_LACKS
#define FOR_PEOPLE(member)                                                                         \
    LOAD(member), .whole = LOAD(elapsed), .flags = RESULT_LACKS | RESULT_PEOPLE
#define OF_LOAD(member) LOAD(member), .flags = RESULT_LACKS

static const struct result_column of_load[] = {
    {"machine", "MACHINE", RESULT_NAME, MACHINE(name), .flags = RESULT_NAMES},
    {"elapsed_ns", NULL, RESULT_NS, LOAD(elapsed)},
    {"long_enough", "ELAPSED", RESULT_BOOL, .get = value_long_enough, .flags = RESULT_PEOPLE},
    {"cpus", "CPUS", RESULT_COUNT, OF_LOAD(cpus), .rank = 3},
    {"cpu.user", "USER %", RESULT_SHARE, LOAD(cpu_user), .whole = LOAD(cpu_all),
     .flags = RESULT_LACKS},
    {"cpu.system", "SYSTEM %", RESULT_SHARE, LOAD(cpu_system), .whole = LOAD(cpu_all),
     .flags = RESULT_LACKS},
    {"cpu.idle", "IDLE %", RESULT_SHARE, LOAD(cpu_idle), .whole = LOAD(cpu_all),
     .flags = RESULT_LACKS, .rank = 1},
    {"cpu.stolen", "STOLEN %", RESULT_SHARE, LOAD(cpu_stolen), .whole = LOAD(cpu_all),
     .when = WHEN_SOME, .flags = RESULT_LACKS, .rank = 1},
    {"runnable.mean", "RUNNABLE MEAN", RESULT_MEAN, LOAD(runnable_sum),
     .whole = LOAD(runnable_count), .flags = RESULT_LACKS, .rank = 2},
    {"runnable.max", "MAX", RESULT_COUNT, OF_LOAD(runnable_max), .detail = true, .rank = 2},
    {"waited.cpu_ns", NULL, RESULT_NS, OF_LOAD(cpu_waited)},
    {"waited.memory_ns", NULL, RESULT_NS, OF_LOAD(memory_waited)},
    {"waited.memory_all_ns", NULL, RESULT_NS, OF_LOAD(memory_waited_all)},
    {"waited.disk_ns", NULL, RESULT_NS, OF_LOAD(disk_waited)},
    {"waited.disk_all_ns", NULL, RESULT_NS, OF_LOAD(disk_waited_all)},
    {"cpu_waited", "WAIT FOR CPU %", RESULT_SHARE, FOR_PEOPLE(cpu_waited)},
    {"memory_waited", "MEMORY %", RESULT_SHARE, FOR_PEOPLE(memory_waited), .detail = true},
    {"disk_waited", "DISK %", RESULT_SHARE, FOR_PEOPLE(disk_waited), .detail = true},
    {"memory.bytes", NULL, RESULT_BYTES, OF_LOAD(memory)},
    {"memory.available_least_bytes", "LEAST AVAILABLE", RESULT_BYTES,
     OF_LOAD(memory_available_least)},
    {"swapped.in_bytes", "SWAPPED IN", RESULT_BYTES, OF_LOAD(swapped_in), .when = WHEN_SOME,
     .rank = 1},
    {"swapped.out_bytes", "SWAPPED OUT", RESULT_BYTES, OF_LOAD(swapped_out), .when = WHEN_SOME,
     .rank = 1},
    {"major_faults", NULL, RESULT_COUNT, OF_LOAD(major_faults)},
    {"major_faults_per_s", "MAJOR FAULTS/S", RESULT_RATE, SHARE_OF_TIME(major_faults), .rank = 3},
    {"disk.reads", NULL, RESULT_COUNT, OF_LOAD(disk_reads)},
    {"disk.writes", NULL, RESULT_COUNT, OF_LOAD(disk_writes)},
    {"disk.read_bytes", NULL, RESULT_BYTES, OF_LOAD(disk_read)},
    {"disk.written_bytes", NULL, RESULT_BYTES, OF_LOAD(disk_written)},
    {"disk.busy_ns", NULL, RESULT_NS, OF_LOAD(disk_busy)},
    {"disk_read", "DISK READ/S", RESULT_BYTE_RATE, FOR_PEOPLE(disk_read), .rank = 2},
    {"disk_written", "WRITTEN/S", RESULT_BYTE_RATE, FOR_PEOPLE(disk_written), .detail = true},
    {"disk_busy", "BUSY %", RESULT_SHARE, FOR_PEOPLE(disk_busy), .detail = true},
    {"network.received_bytes", NULL, RESULT_BYTES, OF_LOAD(network_received)},
    {"network.sent_bytes", NULL, RESULT_BYTES, OF_LOAD(network_sent)},
    {"network.packets_received", NULL, RESULT_COUNT, OF_LOAD(packets_received)},
    {"network.packets_sent", NULL, RESULT_COUNT, OF_LOAD(packets_sent)},
    {"network.packets_dropped", "DROPPED", RESULT_COUNT, OF_LOAD(packets_dropped),
     .when = WHEN_SOME},
    {"network_received", "NETWORK RECEIVED/S", RESULT_BYTE_RATE, FOR_PEOPLE(network_received),
     .rank = 2},
    {"network_sent", "SENT/S", RESULT_BYTE_RATE, FOR_PEOPLE(network_sent), .detail = true},
    {"tcp_retransmitted", "RETRANSMITS", RESULT_COUNT, OF_LOAD(tcp_retransmitted),
     .when = WHEN_SOME},
};

#define OF_CGROUP(member) CGROUP(member), .flags = RESULT_LACKS

static const struct result_column of_cgroup[] = {
    {"name", "CGROUP", RESULT_TEXT, .get = value_cgroup_name, .flags = RESULT_NAMES},
    {"number", NULL, RESULT_NUMBER, CGROUP(number)},
    {"machine", "MACHINE", RESULT_TEXT, .get = value_cgroup_machine, .when = WHEN_MACHINES},
    {"elapsed_ns", NULL, RESULT_NS, CGROUP(elapsed)},
    {"cpu_ns", "CPU TIME", RESULT_NS, OF_CGROUP(cpu)},
    {"quota_ns", NULL, RESULT_NS, OF_CGROUP(quota)},
    {"period_ns", NULL, RESULT_NS, OF_CGROUP(period)},
    {"cpu_limit", "CPU LIMIT", RESULT_MEAN, CGROUP(quota), .whole = CGROUP(period),
     .get = value_limit_is_there, .when = WHEN_KNOWN, .flags = RESULT_LACKS},
    {"cpu_used", "USED %", RESULT_SHARE, CGROUP(cpu), .whole = CGROUP(cpu_limit), .detail = true,
     .get = value_limit_is_there, .when = WHEN_KNOWN, .flags = RESULT_LACKS},
    {"periods", NULL, RESULT_COUNT, OF_CGROUP(periods)},
    {"throttled_periods", NULL, RESULT_COUNT, OF_CGROUP(throttled_periods)},
    {"throttled", "THROTTLED %", RESULT_SHARE, CGROUP(throttled_periods), .whole = CGROUP(periods),
     .when = WHEN_KNOWN, .flags = RESULT_LACKS},
    {"throttled_ns", "THROTTLED, ALL CPUS", RESULT_NS, OF_CGROUP(throttled), .when = WHEN_KNOWN,
     .rank = 1},
    {"memory_bytes", "MEMORY", RESULT_BYTES, OF_CGROUP(memory), .when = WHEN_KNOWN, .rank = 2},
    {"memory_limit_bytes", "LIMIT", RESULT_BYTES, OF_CGROUP(memory_most), .detail = true,
     .when = WHEN_SOME, .rank = 2},
    {"memory_limit_reached", "REACHED", RESULT_COUNT, OF_CGROUP(memory_reclaims), .detail = true,
     .when = WHEN_SOME, .rank = 2},
    {"oom_kills", "OOM KILLS", RESULT_COUNT, OF_CGROUP(oom_kills), .when = WHEN_SOME, .rank = 1},
    {"waited.cpu_ns", NULL, RESULT_NS, OF_CGROUP(cpu_waited)},
    {"waited.memory_ns", NULL, RESULT_NS, OF_CGROUP(memory_waited)},
    {"waited.disk_ns", NULL, RESULT_NS, OF_CGROUP(disk_waited)},
};

/* ---- tables ---- */

#define COLUMNS(of) .columns = of, .column_count = ARRAY_SIZE(of)
#define ROWS(type, array, number)                                                                  \
    .rows = ALL(array), .count = ALL(number), .row_size = sizeof(struct type)

#define SIZE_PARTS "size.min size.mean size.p50 size.p90 size.p99 size.max"
#define CSV_RATES                                                                                  \
    "sent_messages_per_s sent_bytes_per_s received_messages_per_s received_bytes_per_s"
#define CSV_QUEUE_AND_TIMES                                                                        \
    "response_ns request_ns queue.messages_max queue.messages_mean "                               \
    "queue.messages_mean_over_operations queue.messages_now queue.bytes_max queue.bytes_now "      \
    "queue.unreceived message_wait_ns receiver_wait_ns delivery_ns sender_blocked_ns"

static const struct result_column of_decision[] = {
    {"time_ns", "AT", RESULT_NS, FIELD(communication_decision, time), .flags = RESULT_AT},
    {"machine", "MACHINE", RESULT_TEXT, .get = value_decision_machine, .when = WHEN_MACHINES},
    {"number", NULL, RESULT_NUMBER, DECISION(number)},
    {"decision", "DECISION", RESULT_TEXT, .get = value_decision_word},
    {"act", "ACT", RESULT_NAME, DECISION(act)},
    {"from", "FROM", RESULT_NAME, DECISION(from), .rank = 2},
    {"to", "TO", RESULT_NAME, DECISION(to)},
    {"goal", "GOAL", RESULT_NAME, DECISION(goal), .rank = 3},
    {"unit", NULL, RESULT_TEXT, .get = value_decision_unit},
    {"before", NULL, RESULT_JSON, .get = value_goal_before},
    {"before_text", "BEFORE", RESULT_TEXT, .get = value_goal_before_text, .rank = 1,
     .flags = RESULT_PEOPLE},
    {"after", NULL, RESULT_JSON, .get = value_goal_after},
    {"after_text", "AFTER", RESULT_TEXT, .get = value_goal_after_text, .rank = 1,
     .flags = RESULT_PEOPLE},
    {"before_length_ns", NULL, RESULT_NS, DECISION(before_length)},
    {"after_length_ns", NULL, RESULT_NS, DECISION(after_length)},
    {"predicted_gain", NULL, RESULT_JSON, .get = value_predicted},
    {"predicted_text", "PREDICTED", RESULT_TEXT, .get = value_predicted_text, .rank = 1,
     .flags = RESULT_PEOPLE},
    {"measured_gain", NULL, RESULT_JSON, .get = value_measured},
    {"measured_text", "GAIN", RESULT_TEXT, .get = value_measured_text, .flags = RESULT_PEOPLE},
    {"noise", NULL, RESULT_JSON, .get = value_noise},
    {"noise_text", "NOISE", RESULT_TEXT, .get = value_noise_text, .rank = 1,
     .flags = RESULT_PEOPLE},
    {"reason", NULL, RESULT_NAME, DECISION(reason)},
};

/* Of a cgroup without limits there is nothing to say. */
#define CGROUP_NEEDS "quota_ns memory_limit_bytes throttled_periods memory_limit_reached oom_kills"

static const char rates[] = "Rates and sizes of messages";

const struct result_kind result_kinds[RESULT_KINDS] = {
    [RESULTS_RECORDING] = {.list = "trace", COLUMNS(of_recording)},
    [RESULTS_MACHINES] = {.list = "clocks",
                          COLUMNS(of_machine),
                          ROWS(communication_machine, machines, machine_count)},
    [RESULTS_PROCESSES] =
        {.list = "processes",
         .histograms = "process_histograms",
         COLUMNS(of_process),
         ROWS(communication_process, processes, process_count),
         .table = TABLE_PROCESSES,
         .tables =
             {{NULL, "name_for_people processes pid parent machine user_for_people "
                     "container_for_people cpu_ns share.cpu waited_for_cpu_ns sent.messages "
                     "share.messages sent.bytes share.bytes "
                     "received.messages received.bytes failed_calls"},
              {rates,
               "id life_ns sent_messages_per_s sent_bytes_per_s " SIZE_PARTS
               " received_messages_per_s received_bytes_per_s",
               .needs = "sent.messages received.messages", .rates = true},
              {"How long it takes", "id", .times = true},
              {"What request latencies consist of", "id " PARTS_OF_REQUESTS, .needs = PARTS_NEED},
              {"Messages that wait to be received",
               "id queue.messages_max queue.messages_mean queue.messages_mean_over_operations "
               "queue.messages_now queue.bytes_max queue.unreceived",
               .needs = "queue.messages_max"},
              {"Command lines of processes with the same name", "id command",
               .needs = "named_alike"}},
         .report = {"Processes",
                    "id parent cpu_ns share.cpu waited_for_cpu_ns sent.messages sent.bytes "
                    "received.messages "
                    "received.bytes",
                    .more = "dpm stats --all --sort cpu", .order = ORDER_CPU},
         .csv = "shared_name processes pid machine cpu_ns sent.messages sent.bytes "
                "received.messages received.bytes failed.sends "
                "failed.receives " CSV_QUEUE_AND_TIMES " " CSV_RATES
                " size waited_for_cpu_ns asleep_ns threads_watched_ns switches.voluntary "
                "switches.involuntary response_last_byte_ns request_last_byte_ns command share.cpu "
                "share.messages share.bytes life_ns " PARTS_OF_REQUESTS " spun_ns",
         .order = {[ORDER_BYTES] = "sent.bytes received.bytes",
                   [ORDER_MESSAGES] = "sent.messages received.messages",
                   [ORDER_CPU] = "cpu_ns",
                   [ORDER_RESPONSE] = "response_last_byte_ns.p99 request_last_byte_ns.p99",
                   [ORDER_NAME] = "shared_name"}},
    [RESULTS_PAIRS] =
        {.list = "pairs",
         .histograms = "pair_histograms",
         COLUMNS(of_pair),
         ROWS(communication_pair, pairs, pair_count),
         .table = TABLE_PAIRS,
         .tables = {{"Who sent to whom", "from to messages messages_share bytes share bytes_per_s "
                                         "size.p50 size.p99 size.max where"},
                    {rates,
                     "from to messages_per_s messages_share_of_all bytes_per_s "
                     "bytes_share_of_all " SIZE_PARTS,
                     .needs = "messages", .rates = true},
                    {"Who waits for whom",
                     "from to receiver_wait_covered_ns receiver_wait_ns.p50 "
                     "message_wait_covered_ns message_wait_ns.p50 sender_blocked_covered_ns "
                     "delivery_ns.p50 late",
                     .needs = "receiver_wait_ns.sum message_wait_ns.sum sender_blocked_ns.sum",
                     .by_wait = true}},
         .report = {"Who sent to whom",
                    "from to messages bytes share receiver_wait_covered_ns "
                    "message_wait_covered_ns late",
                    .more = "dpm stats --all --by pair", .order = ORDER_BYTES},
         .csv = "from to messages bytes local shared size message_wait_ns receiver_wait_ns "
                "delivery_ns messages_per_s bytes_per_s sender_blocked_ns messages_share share "
                "messages_share_of_all bytes_share_of_all receiver_wait_covered_ns "
                "message_wait_covered_ns sender_blocked_covered_ns",
         .order = {[ORDER_BYTES] = "bytes",
                   [ORDER_MESSAGES] = "messages",
                   [ORDER_RESPONSE] = "size.p99",
                   [ORDER_NAME] = "from"}},
    [RESULTS_LATE] = {.list = "late_senders",
                      COLUMNS(of_late_pair),
                      ROWS(communication_pair, pairs, pair_count)},
    [RESULTS_PATHS] =
        {.list = "paths",
         .histograms = "path_histograms",
         COLUMNS(of_path),
         ROWS(communication_path, paths, path_count),
         .table = TABLE_PATHS,
         .tables = {{"Connections",
                     "kind local remote connections sent.messages sent.bytes received.messages "
                     "received.bytes latency.p50 latency.p99 network.round_trip_ns "
                     "network.retransmitted network.unacknowledged_bytes dropped"},
                    {rates, "kind local remote " CSV_RATES " " SIZE_PARTS,
                     .needs = "sent.messages received.messages", .rates = true},
                    {"What request latencies consist of", "kind local remote " PARTS_OF_REQUESTS,
                     .needs = PARTS_NEED},
                    {"Where messages wait",
                     "kind local remote queue.messages_max queue.messages_mean queue.unreceived "
                     "message_wait_ns.p50 message_wait_ns.p99 receiver_wait_ns.p50 "
                     "sender_blocked_ns.p50 delivery_ns.p50",
                     .needs = "queue.messages_max message_wait_ns.count receiver_wait_ns.count "
                              "sender_blocked_ns.count delivery_ns.count"}},
         .report = {"Connections",
                    "kind local remote connections sent.bytes received.bytes latency.p50 "
                    "latency.p99 network.round_trip_ns network.retransmitted",
                    .more = "dpm stats --all --by path", .order = ORDER_BYTES},
         .csv = "kind local remote local_users remote_users connections ended sent.messages "
                "sent.bytes received.messages received.bytes dropped network.retransmitted "
                "network.round_trip_ns " CSV_QUEUE_AND_TIMES " duplicates " CSV_RATES
                " size network.unacknowledged_bytes response_last_byte_ns request_last_byte_ns "
                "nagle.sent nagle.sent_ns nagle.received nagle.received_ns " PARTS_OF_REQUESTS,
         .order = {[ORDER_BYTES] = "sent.bytes received.bytes",
                   [ORDER_MESSAGES] = "sent.messages received.messages",
                   [ORDER_RESPONSE] = "response_last_byte_ns.p99 request_last_byte_ns.p99",
                   [ORDER_NAME] = "local"}},
    [RESULTS_FAILURES] =
        {.list = "failures",
         COLUMNS(of_failure),
         ROWS(communication_failure, failures, failure_count),
         .table = TABLE_FAILURES,
         .tables = {{"Connections that failed",
                     "process address count refused timed_out unreachable given_up other "
                     "time_covered_ns time_ns.p50 time_ns.max",
                     .needs = "count"}},
         .csv = "process address count refused timed_out unreachable given_up other time_ns "
                "time_covered_ns"},
    [RESULTS_PROCEDURES] =
        {.list = "procedures",
         COLUMNS(of_procedure),
         ROWS(communication_procedure, procedures, procedure_count),
         .table = TABLE_PROCEDURES,
         .tables = {{"Procedures",
                     "procedure module sent.messages sent.bytes received.messages received.bytes",
                     .needs = "sent.messages received.messages", .most = 20}},
         .csv = "procedure module sent.messages sent.bytes received.messages received.bytes"},
    [RESULTS_FILES] =
        {.list = "files",
         COLUMNS(of_file),
         ROWS(communication_file, files, file_count),
         .table = TABLE_FILES,
         .tables = {{"Files",
                     "process file opens closes reads.calls reads.bytes read_ns.sum read_ns.p50 "
                     "read_ns.p99 writes.calls writes.bytes write_ns.sum write_ns.p50 write_ns.p99",
                     .needs = "opens reads.calls writes.calls"}},
         .csv = "user file opens closes reads.calls reads.bytes writes.calls writes.bytes "
                "read_ns write_ns",
         .order = {[ORDER_BYTES] = "reads.bytes writes.bytes",
                   [ORDER_MESSAGES] = "reads.calls writes.calls",
                   [ORDER_RESPONSE] = "read_ns.p99 write_ns.p99",
                   [ORDER_NAME] = "file"}},
    [RESULTS_INPUTS] =
        {.list = "inputs",
         COLUMNS(of_input),
         ROWS(communication_input, inputs, input_count),
         .table = TABLE_INPUTS,
         .tables = {{"Files that another process wrote", "from to files reads bytes doubtful file",
                     .needs = "reads"}},
         .report = {"Files that another process wrote", "from to files reads bytes doubtful file",
                    .needs = "reads", .more = "dpm stats --all --by input"},
         .csv = "writer reader files reads bytes doubtful file",
         .order = {[ORDER_BYTES] = "bytes", [ORDER_MESSAGES] = "reads", [ORDER_NAME] = "file"}},
    [RESULTS_INTERVALS] = {.list = "intervals",
                           COLUMNS(of_interval),
                           ROWS(traffic, intervals, interval_count),
                           .tables = {{NULL, "time_ns messages bytes"}}},
    [RESULTS_LOADS] =
        {.list = "loads",
         COLUMNS(of_load),
         ROWS(communication_machine, machines, machine_count),
         .table = TABLE_LOADS,
         .tables = {{"Machine",
                     "machine cpus cpu.user cpu.system cpu.idle cpu.stolen "
                     "runnable.mean runnable.max cpu_waited memory_waited disk_waited",
                     .needs = "long_enough"},
                    {"Memory, disks and network of the machine",
                     "machine memory.available_least_bytes swapped.in_bytes swapped.out_bytes "
                     "major_faults_per_s disk_read disk_written disk_busy network_received "
                     "network_sent network.packets_dropped tcp_retransmitted",
                     .needs = "long_enough"}},
         .report = {"Machine",
                    "machine cpus cpu.user cpu.system cpu.idle cpu.stolen runnable.mean "
                    "runnable.max cpu_waited memory_waited disk_waited",
                    .needs = "long_enough", .more = "dpm stats --by load"},
         .csv = "machine elapsed_ns cpus cpu.user cpu.system cpu.idle cpu.stolen runnable.mean "
                "runnable.max waited.cpu_ns waited.memory_ns waited.memory_all_ns waited.disk_ns "
                "waited.disk_all_ns memory.bytes memory.available_least_bytes swapped.in_bytes "
                "swapped.out_bytes major_faults major_faults_per_s disk.reads disk.writes "
                "disk.read_bytes disk.written_bytes disk.busy_ns network.received_bytes "
                "network.sent_bytes network.packets_received network.packets_sent "
                "network.packets_dropped tcp_retransmitted"},
    [RESULTS_CGROUPS] =
        {.list = "cgroups",
         COLUMNS(of_cgroup),
         ROWS(communication_cgroup, cgroups, cgroup_count),
         .table = TABLE_CGROUPS,
         .tables = {{"Control groups",
                     "name machine cpu_ns cpu_limit cpu_used throttled throttled_ns memory_bytes "
                     "memory_limit_bytes memory_limit_reached oom_kills",
                     .needs = CGROUP_NEEDS}},
         .report = {"Control groups",
                    "name machine cpu_ns cpu_limit cpu_used throttled throttled_ns memory_bytes "
                    "memory_limit_bytes memory_limit_reached oom_kills",
                    .needs = CGROUP_NEEDS, .more = "dpm stats --by cgroup"},
         .csv = "name number machine elapsed_ns cpu_ns quota_ns period_ns cpu_limit cpu_used "
                "periods throttled_periods throttled throttled_ns memory_bytes memory_limit_bytes "
                "memory_limit_reached oom_kills waited.cpu_ns waited.memory_ns waited.disk_ns",
         .order = {[ORDER_BYTES] = "throttled_ns", [ORDER_CPU] = "cpu_ns", [ORDER_NAME] = "name"}},
    [RESULTS_DECISIONS] =
        {.list = "decisions",
         COLUMNS(of_decision),
         ROWS(communication_decision, decisions, decision_count),
         .table = TABLE_DECISIONS,
         .tables = {{"Steering",
                     "time_ns machine decision act from to goal before_text after_text "
                     "predicted_text measured_text noise_text",
                     .needs = "number"}},
         .report = {"Steering",
                    "time_ns machine decision act from to before_text after_text predicted_text "
                    "measured_text",
                    .needs = "number", .more = "dpm stats --by decision"},
         .csv = "time_ns machine number decision act from to goal unit before_length_ns "
                "after_length_ns reason"},
};

const struct result_kind *result_kind_of(enum show_table table)
{
    for (size_t i = 0; i < RESULT_KINDS; i++)
        if (table != TABLE_ALL && result_kinds[i].table == table)
            return &result_kinds[i];
    return &result_kinds[RESULTS_PROCESSES];
}

size_t result_rows(const struct result_kind *kind, const struct communication *all)
{
    size_t count = 1;

    if (kind->count.size > 0)
        memcpy(&count, (const char *)all + kind->count.offset, sizeof(count));
    return count;
}

const void *result_row(const struct result_kind *kind, const struct communication *all,
                       size_t index)
{
    const char *rows = (const char *)all;

    if (kind->rows.size > 0)
        memcpy(&rows, (const char *)all + kind->rows.offset, sizeof(rows));
    return rows + index * kind->row_size;
}

const struct result_column *result_column(const struct result_kind *kind, const char *key,
                                          size_t length)
{
    for (size_t i = 0; i < kind->column_count; i++)
        if (strlen(kind->columns[i].key) == length &&
            memcmp(kind->columns[i].key, key, length) == 0)
            return &kind->columns[i];
    return NULL;
}

/* ---- reading a row ---- */

static uint64_t load(const void *base, struct result_field field)
{
    uint64_t value = 0;

    memcpy(&value, (const char *)base + field.offset, field.size);
    return value;
}

/* Reads a value that is stored in the row itself. */
static void read_field(const struct result_column *column, const void *row,
                       struct result_value *value)
{
    const void *at = (const char *)row + column->value.offset;

    switch (column->unit) {
    case RESULT_TEXT:
    case RESULT_FILE:
    case RESULT_END:
        value_set_text(value, *(const char *const *)at, SIZE_MAX);
        value->known =
            value->text != NULL && (value->text[0] != '\0' || column->unit == RESULT_END);
        break;
    case RESULT_NAME:
        value_set_text(value, at, column->value.size);
        break;
    case RESULT_PARTY:
    case RESULT_SIZES:
    case RESULT_TIMES:
        value->object = at;
        break;
    case RESULT_SUM:
        value->amount = histogram_sum(at);
        break;
    default:
        value->amount = load(row, column->value);
    }
}

/* Whether the value depends on the sizes of messages. */
static bool is_of_bytes(const struct result_column *column)
{
    static const char *const shares[] = {"share.bytes", "share", "bytes_share_of_all"};

    for (size_t i = 0; column->unit == RESULT_SHARE && i < ARRAY_SIZE(shares); i++)
        if (strcmp(column->key, shares[i]) == 0)
            return true;
    return column->unit == RESULT_BYTES || column->unit == RESULT_BYTE_RATE;
}

/* Whether it is the CPU time of a process. */
static bool is_of_cpu(const struct result_column *column)
{
    return column->value.offset == offsetof(struct communication_process, cpu) &&
           (strcmp(column->key, "cpu_ns") == 0 || strcmp(column->key, "share.cpu") == 0);
}

void result_value(const struct result_column *column, const struct communication *all,
                  const void *row, struct result_value *value)
{
    memset(value, 0, offsetof(struct result_value, made));
    value->known = column->known.size == 0 || load(row, column->known) != 0;
    if (column->of_all.size > 0)
        value->whole = load(all, column->of_all);
    else if (column->whole.size > 0)
        value->whole = load(row, column->whole);
    else
        value->whole = all->duration;
    if (column->value.size > 0)
        read_field(column, row, value);
    if (column->get != NULL)
        column->get(all, row, value);
    if ((column->flags & RESULT_LACKS) != 0 && value->amount == NOT_KNOWN)
        value->known = false;
    if (!value->known && (column->flags & RESULT_LACKS) != 0)
        value->amount = 0;
    if ((all->sizes_unknown && is_of_bytes(column)) || (all->cpu_unknown && is_of_cpu(column)))
        value->known = false;
    if (column->unit == RESULT_PROCESS)
        value->known = value->amount != NO_PROCESS;
    if (column->unit == RESULT_SIZES || column->unit == RESULT_TIMES)
        value->known = histogram_bars(value->object) > 0 &&
                       !(all->sizes_unknown && column->unit == RESULT_SIZES);
}
