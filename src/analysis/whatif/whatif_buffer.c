/* SPDX-License-Identifier: MIT */
/*
 * whatif_buffer.c: what it would save if a program sent more bytes at once.
 *
 *      CPU time of a message of n bytes   c = F + n k       F: its calls, wakeups and the rest of a round; k: each byte
 *      the same of N bytes                F + N k           so of c / n for a byte, F / N + k remain
 *
 * The trace has c. What k is at most, others prove that send or receive by the same kind of path for less CPU time a byte: so F
 * is c - n k at least. At best all of c is F. A program that does more than pass on what it receives (a compressor) computes
 * for its bytes, which no record tells from its calls: its F is not known, and the change is refused.
 */
#include "analysis/statistics/statistics_figures.h"
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MESSAGES_LEAST 20u
#define ALIKE          0.05 /* of the bytes: it passes on what it receives */
#define MOST_OF_ALL    0.8  /* ... to the second program */
#define ANSWERS_MOST   0.05 /* messages back, of those there */
#define PROVED_LEAST   0.02 /* of its CPU time */

struct sums {
    uint64_t cpu;
    struct traffic sent, received, to, back;
    unsigned kind_in, kind_out; /* of the paths with most bytes */
};

static bool is_named(const struct communication *communication, uint32_t process, const char *name)
{
    const struct communication_process *is = &communication->processes[process];

    return process_is_named(name, is->pid, is->name, is->command);
}

static bool all_named(const struct communication *communication, const struct party *party,
                      const char *name)
{
    for (uint32_t i = 0; i < party->count; i++)
        if (!is_named(communication, party->processes[i], name))
            return false;
    return party->count > 0;
}

static void add(struct traffic *sum, const struct traffic *traffic)
{
    sum->messages += traffic->messages;
    sum->bytes += traffic->bytes;
}

static void sum_processes(const struct communication *communication, const char *name,
                          struct sums *sums)
{
    for (uint32_t i = 0; i < communication->process_count; i++) {
        const struct communication_process *process = &communication->processes[i];
        if (!is_named(communication, i, name))
            continue;
        sums->cpu += process->cpu;
        add(&sums->sent, &process->sent);
        add(&sums->received, &process->received);
    }
}

static bool is_concerned(const struct communication *communication,
                         const struct whatif_change *change, const struct communication_pair *pair)
{
    return all_named(communication, &pair->from, change->name) &&
           all_named(communication, &pair->to, change->to);
}

static bool sends_there(const struct communication *communication,
                        const struct whatif_change *change, uint32_t process)
{
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct communication_pair *pair = &communication->pairs[i];
        for (uint32_t k = 0; k < pair->from.count; k++)
            if (pair->from.processes[k] == process && pair->sent.messages > 0 &&
                is_concerned(communication, change, pair))
                return true;
    }
    return false;
}

/* ns between first and last record of each process that sends there: a master of the same name, which does not, collects
 * nothing. */
static double elapsed_of_senders(const struct communication *communication,
                                 const struct whatif_change *change)
{
    double elapsed = 0;

    for (uint32_t i = 0; i < communication->process_count; i++)
        if (is_named(communication, i, change->name) && sends_there(communication, change, i))
            elapsed += (double)process_life(&communication->processes[i]);
    return elapsed;
}

static void sum_pairs(const struct communication *communication, const struct whatif_change *change,
                      struct sums *sums)
{
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct communication_pair *pair = &communication->pairs[i];
        if (is_concerned(communication, change, pair))
            add(&sums->to, &pair->sent);
        if (all_named(communication, &pair->from, change->to) &&
            all_named(communication, &pair->to, change->name))
            add(&sums->back, &pair->sent);
    }
}

static void find_kinds(const struct communication *communication, const char *name,
                       struct sums *sums)
{
    uint64_t most[2] = {0, 0};

    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        for (unsigned end = 0; end < 2; end++) {
            uint64_t out = end == 0 ? path->sent.bytes : path->received.bytes;
            uint64_t in = end == 0 ? path->received.bytes : path->sent.bytes;
            if (!all_named(communication, &path->ends[end], name))
                continue;
            if (out > most[0])
                sums->kind_out = path->kind;
            if (in > most[1])
                sums->kind_in = path->kind;
            most[0] = out > most[0] ? out : most[0];
            most[1] = in > most[1] ? in : most[1];
        }
    }
}

/* The least CPU time a byte, ns, of which any single process that is not of this name sends (or receives) by such paths: all of
 * what it uses, so that a byte costs this at most. INFINITY: there is none. */
static double cheapest_byte(const struct communication *communication, const char *name,
                            unsigned kind, bool sends)
{
    double least = INFINITY;

    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        for (unsigned end = 0; end < 2 && path->kind == kind; end++) {
            const struct party *party = &path->ends[end];
            uint64_t bytes = (end == 0) == sends ? path->sent.bytes : path->received.bytes;
            if (party->count != 1 || bytes == 0 ||
                is_named(communication, party->processes[0], name))
                continue;
            double cpu = (double)communication->processes[party->processes[0]].cpu;
            least = cpu > 0 ? fmin(least, cpu / (double)bytes) : least;
        }
    }
    return least;
}

static double mean_of(const struct traffic *traffic)
{
    return traffic->messages == 0 ? 0 : (double)traffic->bytes / (double)traffic->messages;
}

static bool passes_on(const struct sums *sums)
{
    double in = (double)sums->received.bytes, out = (double)sums->sent.bytes;

    return in > 0 && out > 0 && fabs(out / in - 1) <= ALIKE &&
           (double)sums->to.bytes >= MOST_OF_ALL * out;
}

static int check(const struct sums *sums, const struct whatif_change *change,
                 struct problem *problem)
{
    const char *name = change->name, *to = change->to;

    if (sums->to.messages < MESSAGES_LEAST)
        return problem_set(
            problem, -EINVAL, "%s sent %llu message%s to %s: too few to judge --buffer", name,
            (unsigned long long)sums->to.messages, sums->to.messages == 1 ? "" : "s", to);
    if (!passes_on(sums))
        return problem_set(problem, -EINVAL,
                           "%s does more than pass on to %s what it receives: what it computes for "
                           "its bytes cannot be separated from what its calls cost",
                           name, to);
    if ((double)sums->back.messages > ANSWERS_MOST * (double)sums->to.messages)
        return problem_set(problem, -EINVAL,
                           "%s answers %s: a message that waits to become larger would wait for "
                           "an answer, too",
                           to, name);
    return 0;
}

/* What remains of the CPU time for a byte, if messages of `mean` bytes cost `fixed` of `cost` and become `size` bytes long. */
static double remains(double cost, double fixed, double mean, double size)
{
    return (fixed * mean / size + (cost - fixed)) / cost;
}

/* A receiver takes at once what is there: as much as is sent, at best. One of its calls costs no more than one of the sender's, of
 * which it makes two a message. */
static double receiver_at_best(const struct communication *communication,
                               const struct whatif_change *change, double call)
{
    struct sums to = {.cpu = 0};

    sum_processes(communication, change->to, &to);
    double mean = mean_of(&to.received);
    if (to.cpu == 0 || mean == 0 || mean >= change->amount)
        return 1;
    double cost = (double)to.cpu / (double)to.received.messages;
    return remains(cost, fmin(call, cost), mean, change->amount);
}

int whatif_buffer(const struct communication *communication, const struct whatif_change *change,
                  struct whatif_buffers *ret_buffers, struct problem *problem)
{
    struct sums sums = {.cpu = 0};

    sum_processes(communication, change->name, &sums);
    sum_pairs(communication, change, &sums);
    find_kinds(communication, change->name, &sums);
    int result = check(&sums, change, problem);
    if (result < 0)
        return result;
    double mean = mean_of(&sums.to), cost = (double)sums.cpu / (double)sums.to.messages;
    double byte = cheapest_byte(communication, change->name, sums.kind_out, true) +
                  cheapest_byte(communication, change->name, sums.kind_in, false);
    double fixed = isinf(byte) ? 0 : cost - mean * byte;
    if (!(fixed > PROVED_LEAST * cost))
        return problem_set(problem, -EINVAL,
                           "no other program sends and receives for less CPU time a byte than %s: "
                           "what its calls cost cannot be separated from what its bytes cost",
                           change->name);
    *ret_buffers = (struct whatif_buffers){
        .sender = remains(cost, fixed, mean, change->amount),
        .sender_at_best = remains(cost, cost, mean, change->amount),
        .receiver_at_best = receiver_at_best(communication, change, cost / 2),
        .collects =
            elapsed_of_senders(communication, change) / (double)sums.to.bytes * change->amount,
    };
    return 0;
}
