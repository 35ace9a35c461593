/* SPDX-License-Identifier: MIT */
/*
 * message_findings.c: late processes, queues, service times and request latencies, request paths, and how well the
 * network worked. See findings.h.
 */
#include "analysis/findings/findings_private.h"
#include "analysis/statistics/statistics_figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONG_QUEUE 0.5 /* messages, on average */

/* ---- waits of pairs, queues ---- */

/* What a pair is late with, and how much of the elapsed time at least one such wait takes. */
struct pair_wait {
    const struct communication_pair *pair;
    enum finding_kind kind;
    enum time_kind times;
    uint64_t time;
};

static struct pair_wait wait_of(const struct communication *communication,
                                const struct communication_pair *pair)
{
    const struct covered_waits *covered = &pair->covered;

    if (sender_is_late(communication, pair))
        return (struct pair_wait){pair, FINDING_LATE_SENDER, TIME_RECEIVER_WAIT, covered->receiver};
    if (sender_is_blocked(pair))
        return (struct pair_wait){pair, FINDING_BLOCKED_SENDER, TIME_SENDER_BLOCKED,
                                  covered->sender};
    return (struct pair_wait){pair, FINDING_LATE_RECEIVER, TIME_MESSAGE_WAIT, covered->message};
}

static int add_wait(const struct communication *communication, const struct pair_wait *wait,
                    struct findings *findings)
{
    const struct histogram *times = &wait->pair->times.of[wait->times];
    struct finding *finding =
        findings_add(findings, wait->kind, findings_share(wait->time, communication->duration));

    if (finding == NULL)
        return -ENOMEM;
    finding->wait.pair = wait->pair;
    finding->wait.time = wait->time;
    finding->wait.sum = histogram_sum(times);
    finding->wait.median = histogram_quantile(times, 0.5);
    return 0;
}

static int by_wait(const void *left, const void *right)
{
    const struct pair_wait *a = left, *b = right;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return (a->pair > b->pair) - (a->pair < b->pair);
}

/* Such waits are put aside. */
static bool is_idle(const struct communication *communication, const struct pair_wait *wait)
{
    return wait->kind == FINDING_LATE_SENDER && receiver_is_idle(communication, wait->pair);
}

static int find_waits(const struct communication *communication, struct findings *findings)
{
    size_t count = communication->pair_count, found[2] = {0, 0}; /* others, and idle ones */
    struct pair_wait *waits = calloc(count + 1, sizeof(*waits));
    double small = FINDING_SMALL * (double)communication->duration;
    int result = 0;

    if (waits == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        waits[i] = wait_of(communication, &communication->pairs[i]);
    qsort(waits, count, sizeof(*waits), by_wait);
    for (size_t i = 0; result == 0 && i < count && found[false] < FINDINGS_FEW; i++) {
        if ((double)waits[i].time <= small)
            break;
        if (found[is_idle(communication, &waits[i])]++ < FINDINGS_FEW)
            result = add_wait(communication, &waits[i], findings);
    }
    free(waits);
    return result;
}

/* Tokens that a process keeps for itself in a pipe are no queue. */
static bool has_others_messages(const struct communication *communication, uint32_t process)
{
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct communication_pair *pair = &communication->pairs[i];
        for (uint32_t k = 0; k < pair->to.count && !pair_is_to_itself(pair); k++)
            if (pair->to.processes[k] == process)
                return true;
    }
    return false;
}

/* A mean is that of the process's life, which may be a moment. */
static bool waits_matter(const struct communication *communication, uint32_t process)
{
    return (double)communication->processes[process].queue.wait >
           FINDING_SMALL * (double)communication->duration;
}

static int find_queue(const struct communication *communication, struct findings *findings)
{
    uint32_t longest = NO_PROCESS;
    double mean = 0;

    for (uint32_t i = 0; i < communication->process_count; i++)
        if (queue_mean(&communication->processes[i]) > mean && waits_matter(communication, i) &&
            has_others_messages(communication, i)) {
            longest = i;
            mean = queue_mean(&communication->processes[i]);
        }
    if (mean < LONG_QUEUE)
        return 0;
    const struct queue_length *queue = &communication->processes[longest].queue;
    struct finding *finding = findings_add(findings, FINDING_QUEUE, mean > 1 ? 1 : mean);
    if (finding == NULL)
        return -ENOMEM;
    finding->queue.process = longest;
    finding->queue.mean = mean;
    finding->queue.most = queue->messages_max;
    return 0;
}

/* ---- answers ---- */

static int add_answers(const struct communication *communication, uint32_t process,
                       enum time_kind kind, struct findings *findings)
{
    bool serves = kind == TIME_RESPONSE_WHOLE;
    const struct times *all = &communication->processes[process].times;
    const struct histogram *times = &all->of[kind];
    const struct covered_times *covered = &communication->processes[process].covered;
    struct finding *finding = findings_add(
        findings, serves ? FINDING_ANSWERS : FINDING_ANSWER_LAG,
        findings_share(serves ? covered->response : covered->request, communication->duration));

    if (finding == NULL)
        return -ENOMEM;
    finding->answers.process = process;
    finding->answers.count = histogram_count(times);
    finding->answers.median = histogram_quantile(times, 0.5);
    finding->answers.p99 = histogram_quantile(times, 0.99);
    finding->answers.most = histogram_max(times);
    finding->answers.first_median =
        histogram_quantile(&all->of[serves ? TIME_RESPONSE : TIME_REQUEST], 0.5);
    finding->answers.parts = &communication->processes[process].asked;
    finding->answers.sum = histogram_sum(times);
    return 0;
}

/* The process whose answers took the most time in all, but less than `below`, which is set to that time. NO_PROCESS:
 * none. */
static uint32_t next_answering(const struct communication *communication, enum time_kind kind,
                               uint64_t *below)
{
    uint32_t best = NO_PROCESS;
    uint64_t most = 0;

    for (uint32_t i = 0; i < communication->process_count; i++) {
        const struct histogram *times = &communication->processes[i].times.of[kind];
        uint64_t is = histogram_bars(times) > 0 ? histogram_sum(times) + 1 : 0;
        if (is > most && is < *below) {
            best = i;
            most = is;
        }
    }
    *below = most;
    return best;
}

static int find_answers(const struct communication *communication, enum time_kind kind, int most,
                        struct findings *findings)
{
    uint64_t below = UINT64_MAX;
    int result = 0;

    for (int i = 0; i < most && result == 0; i++) {
        uint32_t process = next_answering(communication, kind, &below);
        if (process == NO_PROCESS)
            return 0;
        result = add_answers(communication, process, kind, findings);
    }
    return result;
}

/* ---- questions without an answer ---- */

/* The end of the path that the client uses. */
static int client_end(const struct communication *communication,
                      const struct communication_path *path)
{
    for (int end = 0; end < 2; end++)
        for (uint32_t i = 0; i < path->ends[end].count; i++)
            if (communication->processes[path->ends[end].processes[i]].asked.unanswered > 0)
                return end;
    return 0;
}

static int add_unanswered(const struct communication *communication,
                          const struct communication_path *path, struct findings *findings)
{
    int end = client_end(communication, path);
    const struct party *client = &path->ends[end];
    struct finding *finding =
        findings_add(findings, FINDING_UNANSWERED,
                     findings_share(path->asked.unanswered_time, communication->duration));

    if (finding == NULL)
        return -ENOMEM;
    finding->asked.path = path;
    finding->asked.asks = end;
    finding->asked.process = client->count == 1 ? client->processes[0] : NO_PROCESS;
    return 0;
}

/* The path with most time of questions without an answer, but less than `below`; NULL: none. */
static const struct communication_path *next_unanswered(const struct communication *communication,
                                                        uint64_t below)
{
    const struct communication_path *most = NULL;

    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (path->asked.unanswered_time < below &&
            (most == NULL || path->asked.unanswered_time > most->asked.unanswered_time))
            most = path;
    }
    return most;
}

#define FEW_QUESTIONS 0.02

/* Whether these are only what was under way when clients ended: few, and waited for no longer than others. */
static bool were_under_way(const struct communication_path *path)
{
    const struct histogram *times = &path->times.of[TIME_REQUEST_WHOLE];

    return (double)path->asked.unanswered <= FEW_QUESTIONS * (double)histogram_count(times) &&
           path->asked.unanswered_most <= histogram_max(times);
}

static int find_unanswered(const struct communication *communication, struct findings *findings)
{
    const struct communication_path *path;
    uint64_t below = UINT64_MAX;
    int result = 0;

    for (int i = 0; i < FINDINGS_FEW && result == 0; i++) {
        path = next_unanswered(communication, below);
        if (path == NULL ||
            (double)path->asked.unanswered_time <= FINDING_SMALL * (double)communication->duration)
            return 0;
        below = path->asked.unanswered_time;
        /* an answer may be among what was lost */
        if (!were_under_way(path) && path->asked.unanswered > communication->lost)
            result = add_unanswered(communication, path, findings);
    }
    return result;
}

int findings_of_messages(const struct findings_from *from, struct findings *findings)
{
    int result = find_waits(from->communication, findings);

    if (result == 0)
        result = find_queue(from->communication, findings);
    if (result == 0)
        result = find_answers(from->communication, TIME_RESPONSE_WHOLE, FINDINGS_FEW, findings);
    if (result == 0)
        result = find_answers(from->communication, TIME_REQUEST_WHOLE, 1, findings);
    if (result == 0)
        result = find_unanswered(from->communication, findings);
    return result;
}

/* ---- requests ---- */

static uint64_t assumed(const struct causality *causality)
{
    uint64_t sum = 0;

    for (enum attribution i = 0; i < ATTRIBUTION_COUNT; i++)
        sum += attribution_is_proved(i) ? 0 : causality->attributed[i];
    return sum;
}

static int add_requests(const struct causality *causality, const struct causality_path *path,
                        uint64_t of, struct findings *findings)
{
    struct finding *finding =
        findings_add(findings, FINDING_REQUESTS, findings_share(path->count, of));

    if (finding == NULL)
        return -ENOMEM;
    finding->requests.path = path;
    finding->requests.of = of;
    finding->requests.assumed = assumed(causality);
    finding->requests.messages = causality->arcs;
    finding->requests.median = histogram_quantile(&path->latency, 0.5);
    finding->requests.p99 = histogram_quantile(&path->latency, 0.99);
    return 0;
}

/* Only of paths on which requests are answered, and only if some pass from one server process to another. */
int findings_of_requests(const struct findings_from *from, struct findings *findings)
{
    const struct causality *causality = from->causality;

    if (causality == NULL || causality->replies == 0 || causality->substring_count == 0)
        return 0;
    size_t count = 0;
    uint64_t all = 0;
    const struct causality_path **rows = causality_answered(causality, &count);
    int result = rows == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < count; i++)
        all += rows[i]->count;
    for (size_t i = 0; result == 0 && i < count && i < FINDINGS_FEW; i++)
        result = add_requests(causality, rows[i], all, findings);
    free(rows);
    return result;
}

/* ---- the network ---- */

static int find_retransmits(const struct communication *communication, struct findings *findings)
{
    const struct communication_path *worst = NULL;
    uint64_t again = 0;

    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (!path->network.known || path->network.retransmitted == 0)
            continue;
        again += path->network.retransmitted;
        if (worst == NULL || path->network.retransmitted > worst->network.retransmitted)
            worst = path;
    }
    if (worst == NULL)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_RETRANSMITS, 0);
    if (finding == NULL)
        return -ENOMEM;
    finding->retransmits.segments = again;
    finding->retransmits.worst = worst;
    return 0;
}

/* The C library asks for a cache of names that hardly any machine has, whatever program looks up a user or a host. */
static bool is_expected(const struct communication_failure *failure)
{
    return strcmp(failure->address, "/var/run/nscd/socket") == 0;
}

#define TRIES 3 /* fewer may be a look whether something is there */

static bool uses(const struct party *party, uint32_t process)
{
    for (uint32_t i = 0; i < party->count; i++)
        if (party->processes[i] == process)
            return true;
    return false;
}

/* ":5432" of "[::1]:5432"; all of a UNIX socket's address. */
static const char *port_of(const char *address)
{
    const char *port = address[0] == '/' || address[0] == '@' ? NULL : strrchr(address, ':');

    return port == NULL ? address : port;
}

/* For how long a process tried to connect in vain, with what it did between its tries. A name may have several addresses:
 * when the first one refuses, clients try the next. */
static uint64_t time_trying(const struct communication *communication,
                            const struct communication_failure *failure)
{
    const char *port = port_of(failure->address);

    if (failure->count < TRIES || failure->process == NO_PROCESS ||
        strcmp(failure->address, "*") == 0) /* several addresses */
        return 0;
    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (strcmp(port_of(path->remote), port) == 0 && uses(&path->ends[0], failure->process))
            return 0;
    }
    return failure->last - failure->first;
}

/* The rows are sorted, most failures first. */
static int find_failures(const struct communication *communication, struct findings *findings)
{
    size_t found = 0;

    for (size_t i = 0; i < communication->failure_count && found < FINDINGS_FEW; i++) {
        if (is_expected(&communication->failures[i]))
            continue;
        found++;
        const struct communication_failure *failure = &communication->failures[i];
        uint64_t time = failure->in_progress;
        uint64_t trying = time_trying(communication, failure);
        double share = findings_share(trying > time ? trying : time, communication->duration);
        struct finding *finding = findings_add(findings, FINDING_FAILED, share);
        if (finding == NULL)
            return -ENOMEM;
        finding->failed.row = failure;
        finding->failed.trying = share < FINDING_SMALL || trying < 2 * time ? 0 : trying;
    }
    return 0;
}

int findings_of_network(const struct findings_from *from, struct findings *findings)
{
    int result = find_retransmits(from->communication, findings);

    if (result == 0)
        result = find_failures(from->communication, findings);
    if (result < 0 || from->communication->dropped == 0)
        return result;
    struct finding *finding = findings_add(findings, FINDING_DROPPED, 0);
    if (finding == NULL)
        return -ENOMEM;
    finding->dropped = from->communication->dropped;
    return 0;
}
