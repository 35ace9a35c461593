/* SPDX-License-Identifier: MIT */
/* live_values.c: the table of values. See live.h. */
#include "live/live_private.h"

#define IN(table) (1u << LIVE_##table)
#define GROUPS    (IN(PROGRAMS) | IN(CONTAINERS) | IN(MACHINES))
#define PROCESSES (IN(PROCESSES) | GROUPS)
#define ENDS      (IN(PAIRS) | IN(CONNECTIONS))

static const struct live_value_kind kinds[LIVE_WAITS] = {
    [LIVE_CPU] = {"cpu_ns", LIVE_NS, false, PROCESSES, "CPU time used"},
    [LIVE_CPU_EARLIER] = {"cpu_earlier_ns", LIVE_NS, false, PROCESSES,
                          "of the CPU time, what was used before the interval"},
    [LIVE_WAITED_FOR] = {"waited_for_ns", LIVE_NS, false, PROCESSES,
                         "time that other processes and unmonitored clients waited for it"},
    [LIVE_SENT] = {"sent.messages", LIVE_COUNT, false, PROCESSES | ENDS, "messages sent"},
    [LIVE_SENT_BYTES] = {"sent.bytes", LIVE_BYTES, false, PROCESSES | ENDS, "bytes sent"},
    [LIVE_RECEIVED] = {"received.messages", LIVE_COUNT, false, PROCESSES | IN(CONNECTIONS),
                       "messages received"},
    [LIVE_RECEIVED_BYTES] = {"received.bytes", LIVE_BYTES, false, PROCESSES | IN(CONNECTIONS),
                             "bytes received"},
    [LIVE_REQUESTS] = {"requests.count", LIVE_COUNT, false, PROCESSES | IN(CONNECTIONS),
                       "requests answered"},
    [LIVE_REQUEST_TIME] = {"requests.time_ns", LIVE_NS, false, PROCESSES | IN(CONNECTIONS),
                           "time from requests to the last byte of their answers"},
    [LIVE_ASKED] = {"asked.count", LIVE_COUNT, false, PROCESSES, "answers got as a client"},
    [LIVE_ASKED_TIME] = {"asked.time_ns", LIVE_NS, false, PROCESSES,
                         "time that answers took, as a client"},
    [LIVE_UNANSWERED] = {"asked.unanswered", LIVE_COUNT, false, PROCESSES,
                         "questions without an answer"},
    [LIVE_FAILED] = {"failed", LIVE_COUNT, false, PROCESSES,
                     "connections, sends and receives that failed"},
    [LIVE_RECEIVER_WAIT] = {"receiver_wait_ns", LIVE_NS, false, ENDS,
                            "time that receivers waited for messages"},
    [LIVE_QUEUE_DELAY] = {"queue_delay_ns", LIVE_NS, false, PROCESSES | ENDS,
                          "time that messages waited in receive queues"},
    [LIVE_SEND_BLOCKED] = {"send_blocked_ns", LIVE_NS, false, ENDS,
                           "time that sends waited for buffer space"},
    [LIVE_DELIVERY] = {"delivery_ns", LIVE_NS, false, ENDS, "time that messages were in flight"},
    [LIVE_DELIVERED] = {"delivered", LIVE_COUNT, false, ENDS,
                        "messages of which that time is known"},
    [LIVE_RETRANSMITS] = {"retransmits", LIVE_COUNT, false, IN(CONNECTIONS),
                          "TCP segments sent again"},
    [LIVE_QUEUE] = {"queue.messages", LIVE_COUNT, true, PROCESSES | IN(CONNECTIONS),
                    "messages in receive queues"},
    [LIVE_QUEUE_BYTES] = {"queue.bytes", LIVE_BYTES, true, PROCESSES | IN(CONNECTIONS),
                          "bytes in receive queues"},
    [LIVE_MEDIAN] = {"requests.p50_ns", LIVE_NS, true, IN(PROCESSES) | IN(CONNECTIONS),
                     "median time of requests"},
    [LIVE_P99] = {"requests.p99_ns", LIVE_NS, true, IN(PROCESSES) | IN(CONNECTIONS),
                  "p99 of the time of requests"},
    [LIVE_THREADS] = {"threads", LIVE_COUNT, true, PROCESSES, "threads that live"},
    [LIVE_PROCESS_COUNT] = {"processes", LIVE_COUNT, true, GROUPS, "processes"},
    [LIVE_LIVING] = {"living", LIVE_COUNT, true, PROCESSES | IN(CONNECTIONS),
                     "processes, or connections, that have not ended"},
    [LIVE_SILENT] = {"silent_ns", LIVE_NS, true, PROCESSES,
                     "time of threads without a record: computing, or in a wait that goes on"},
    [LIVE_CORRECTION] = {"correction_ns", LIVE_NS, false, PROCESSES,
                         "what waits that ended add to earlier intervals"},
};

const struct live_value_kind *live_value_kind(unsigned value)
{
    static struct live_value_kind waits[ELAPSED_KIND_COUNT];

    if (value < LIVE_WAITS)
        return &kinds[value];
    struct live_value_kind *wait = &waits[value - LIVE_WAITS];
    *wait = (struct live_value_kind){elapsed_kind_key((enum elapsed_kind)(value - LIVE_WAITS)),
                                     LIVE_NS, false, PROCESSES,
                                     elapsed_kind_name((enum elapsed_kind)(value - LIVE_WAITS))};
    return wait;
}

const char *live_table_name(unsigned table)
{
    static const char *const names[LIVE_TABLES] = {
        [LIVE_PROCESSES] = "processes",     [LIVE_PAIRS] = "pairs",
        [LIVE_CONNECTIONS] = "connections", [LIVE_PROGRAMS] = "programs",
        [LIVE_CONTAINERS] = "containers",   [LIVE_MACHINES] = "machines",
    };

    return table < LIVE_TABLES ? names[table] : NULL;
}
