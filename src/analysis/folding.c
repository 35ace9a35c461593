/* SPDX-License-Identifier: MIT */
/*
 * folding.c: keeps the statistics in bounded memory, however long the recording.
 *
 *      tables of what lives and has ended
 *        |-- what has ended --> rows --> statistics->past, in which the small ones share rows
 *        '-- what lives ------> fresh tables
 *
 * It is done whenever enough has ended. A path has ended when both its ends have; one whose other
 * end is not known waits for it until the next folding. A process has ended when its last stream
 * has and no path that stays was used by it.
 */
#include "analysis/statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what leaves ---- */

static bool users_have_ended(const struct statistics *statistics,
                             const struct statistics_path *path)
{
    for (uint32_t at = path->first_use; at != 0; at = statistics->uses[at - 1].next)
        if (!statistics->processes[statistics->uses[at - 1].process].ended)
            return false;
    return path->first_use != 0;
}

static bool has_ended(const struct statistics *statistics, uint32_t index)
{
    return joiner_end(&statistics->joiner, index).destroyed ||
           users_have_ended(statistics, &statistics->paths[index]);
}

static void choose(struct statistics *statistics)
{
    uint32_t paths = statistics->path_numbers.numbers.count;

    for (uint32_t i = 0; i < statistics->process_numbers.numbers.count; i++)
        statistics->processes[i].leaves = statistics->processes[i].ended;
    for (uint32_t i = 0; i < paths; i++) {
        struct statistics_path *path = &statistics->paths[i];
        uint32_t partner = joiner_end(&statistics->joiner, i).partner;
        bool ended = has_ended(statistics, i);
        path->leaves = ended && (partner != NO_END ? has_ended(statistics, partner) : path->aged);
        path->aged = ended;
        for (uint32_t at = path->first_use; !path->leaves && at != 0;
             at = statistics->uses[at - 1].next)
            statistics->processes[statistics->uses[at - 1].process].leaves = false;
    }
}

/* The values of paths that leave go to several rows, and do so more quickly from histograms. */
static int spill_leaving(struct statistics *statistics)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < statistics->use_keys.count; i++) {
        struct statistics_use *use = &statistics->uses[i];
        if (statistics->paths[use->path].leaves)
            result = statistics_spill(&statistics->processes[use->process], use);
    }
    return result;
}

/* ---- what stays ---- */

static int add_identity(struct identities *identities, uint32_t origin,
                        const struct record_header *record)
{
    const struct event event = {record, origin, 0};

    return record == NULL ? 0 : identities_add(identities, &event);
}

static int keep_machines(struct statistics *from, struct statistics *to)
{
    int result = 0;

    to->lasting = from->lasting;
    for (uint32_t i = 0; result == 0 && i < from->lasting.origin_count; i++) {
        const struct machine_record *machine = identities_machine(from->identities, i);
        result = add_identity(to->identities, i, machine == NULL ? NULL : &machine->header);
    }
    return result;
}

/* The number of the process that a stream is of; the stream may not stay, the process's number
 * is remembered by its row. */
static uint32_t number_of_parent(const struct statistics *statistics,
                                 const struct statistics_process *process)
{
    int64_t stream = intern_find(&statistics->stream_numbers.numbers,
                                 number_key(process->origin, process->parent));

    return process->parent == 0 || stream < 0
               ? process->parent
               : statistics->processes[statistics->streams[stream].process].number;
}

static int keep_image(const struct statistics *from, uint32_t origin, uint32_t number,
                      struct statistics *to)
{
    const struct image_record *image = identities_image(from->identities, origin, number);

    return add_identity(to->identities, origin, image == NULL ? NULL : &image->header);
}

static int keep_process(const struct statistics *from, const struct statistics_process *process,
                        struct statistics *to)
{
    int64_t index = statistics_process_index(to, process->origin, process->number);

    if (index < 0)
        return (int)index;
    struct statistics_process *kept = &to->processes[index];
    *kept = *process;
    kept->parent = number_of_parent(from, process);
    kept->cpu = kept->failed_sends = kept->failed_receives = 0; /* that is past */
    kept->times = (struct times){0};
    kept->queue = (struct queue_length){
        .messages = process->queue.messages,
        .bytes = process->queue.bytes,
        .messages_max = process->queue.messages,
        .bytes_max = process->queue.bytes,
    };
    return keep_image(from, process->origin, process->image, to);
}

static int keep_streams(const struct statistics *from, struct statistics *to)
{
    for (uint32_t i = 0; i < from->stream_numbers.numbers.count; i++) {
        const struct statistics_stream *stream = &from->streams[i];
        const struct statistics_process *process = &from->processes[stream->process];
        uint64_t key = from->stream_numbers.numbers.keys[i];
        if (process->leaves || stream->ended)
            continue;
        int64_t index =
            statistics_stream_index(to, (uint32_t)(key >> 32), (uint32_t)key, process->number);
        if (index < 0)
            return (int)index;
        uint32_t kept = to->streams[index].process;
        to->streams[index] = *stream;
        to->streams[index].process = kept;
    }
    return 0;
}

/* The uses go over, with what they own. */
static int keep_uses(struct statistics *from, uint32_t path, struct statistics *to, uint32_t kept)
{
    for (uint32_t at = from->paths[path].first_use; at != 0; at = from->uses[at - 1].next) {
        struct statistics_use *use = &from->uses[at - 1];
        const struct statistics_process *process = &from->processes[use->process];
        int64_t index = statistics_process_index(to, process->origin, process->number);
        struct statistics_use *copy =
            index < 0 ? NULL : statistics_find_use(to, kept, (uint32_t)index);
        if (copy == NULL)
            return -ENOMEM;
        uint32_t next = copy->next;
        *copy = *use;
        copy->path = kept;
        copy->process = (uint32_t)index;
        copy->next = next;
        memset(use->histograms, 0, sizeof(use->histograms));
        use->waits = NULL;
        use->aside = NULL;
    }
    return 0;
}

/* The queue goes over; its owner stays, for he uses the path. */
static int keep_queue(const struct statistics *from, struct queue *queue, struct statistics *to)
{
    if (queue == NULL || queue->owner == NO_PROCESS)
        return 0;
    const struct statistics_process *owner = &from->processes[queue->owner];
    int64_t index = statistics_process_index(to, owner->origin, owner->number);
    queue->owner = index < 0 ? NO_PROCESS : (uint32_t)index;
    return index < 0 ? (int)index : 0;
}

static int keep_path(struct statistics *from, uint32_t path, struct statistics *to)
{
    struct statistics_path *old = &from->paths[path];
    int64_t index = statistics_path_index(to, old->origin, old->number);

    if (index < 0)
        return (int)index;
    to->paths[index] = *old;
    old->outgoing = old->incoming = NULL;
    to->paths[index].first_use = to->paths[index].last_used = 0;
    const struct path_record *record = identities_path(from->identities, old->origin, old->number);
    int result = add_identity(to->identities, old->origin, record == NULL ? NULL : &record->header);
    if (result == 0)
        result = keep_uses(from, path, to, (uint32_t)index);
    if (result == 0)
        result = keep_queue(from, to->paths[index].outgoing, to);
    return result < 0 ? result : keep_queue(from, to->paths[index].incoming, to);
}

/* Index in the fresh tables of a path that stays. */
static uint32_t kept_index(const struct statistics *from, uint32_t path,
                           const struct statistics *to)
{
    if (path == NO_END)
        return NO_END;
    int64_t index = intern_find(&to->path_numbers.numbers,
                                number_key(from->paths[path].origin, from->paths[path].number));
    return index < 0 ? NO_END : (uint32_t)index;
}

static int keep_joined(const struct statistics *from, uint32_t path, struct statistics *to)
{
    const struct statistics_path *old = &from->paths[path];
    struct path_end end = joiner_end(&from->joiner, path);

    if (end.record == NULL)
        return 0;
    return joiner_restore(&to->joiner, kept_index(from, path, to), &end,
                          identities_path(to->identities, old->origin, old->number),
                          kept_index(from, end.partner, to));
}

/* What is in the queues of paths that leave is nobody's any more. */
static void forget_queues(struct statistics *from)
{
    for (uint32_t i = 0; i < from->path_numbers.numbers.count; i++)
        if (from->paths[i].leaves) {
            queue_leaves(from, from->paths[i].outgoing);
            queue_leaves(from, from->paths[i].incoming);
        }
}

static int keep_what_lives(struct statistics *from, struct statistics *to)
{
    uint32_t paths = from->path_numbers.numbers.count;
    int result = keep_machines(from, to);

    for (uint32_t i = 0; result == 0 && i < from->process_numbers.numbers.count; i++)
        if (!from->processes[i].leaves)
            result = keep_process(from, &from->processes[i], to);
    if (result == 0)
        result = keep_streams(from, to);
    for (uint32_t i = 0; result == 0 && i < paths; i++)
        if (!from->paths[i].leaves)
            result = keep_path(from, i, to);
    for (uint32_t i = 0; result == 0 && i < paths; i++)
        if (!from->paths[i].leaves)
            result = keep_joined(from, i, to);
    for (uint32_t i = 0; result == 0 && i < from->lasting.procedures.keys.count; i++)
        result = keep_image(from, from->lasting.procedures.counters[i].origin,
                            from->lasting.procedures.counters[i].image, to);
    return result < 0 ? result : identities_copy_names(from->identities, to->identities);
}

/* ---- rows of the past ---- */

static int compare_sizes(const void *left, const void *right)
{
    const struct communication_process *a = *(struct communication_process *const *)left;
    const struct communication_process *b = *(struct communication_process *const *)right;
    uint64_t a_bytes = a->sent.bytes + a->received.bytes;
    uint64_t b_bytes = b->sent.bytes + b->received.bytes;

    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    return (a->cpu < b->cpu) - (a->cpu > b->cpu);
}

/* All that have ended share rows with their like, but for the largest. */
static int fold_processes(struct communication **past, uint32_t most)
{
    size_t count = (*past)->process_count;
    struct communication_process **order = calloc(count + 1, sizeof(*order));
    bool *folds = calloc(count + 1, sizeof(*folds));
    struct communication *folded;
    int result = order == NULL || folds == NULL ? -ENOMEM : 0;

    for (size_t i = 0; result == 0 && i < count; i++)
        order[i] = &(*past)->processes[i];
    if (result == 0) {
        qsort(order, count, sizeof(*order), compare_sizes);
        for (size_t i = most / 2; i < count; i++)
            folds[order[i] - (*past)->processes] = order[i]->ended;
        result = communication_fold_processes(*past, folds, &folded);
    }
    if (result == 0) {
        communication_free(*past);
        *past = folded;
    }
    free(order);
    free(folds);
    return result;
}

static void add_to_row(struct communication_path *row, struct communication_path *more, int *error)
{
    add_traffic(&row->sent, &more->sent);
    add_traffic(&row->received, &more->received);
    row->connections += more->connections;
    row->ended += more->ended;
    row->reused += more->reused;
    row->dropped += more->dropped;
    row->duplicates += more->duplicates;
    add_network(&row->network, &more->network);
    if (*error == 0)
        *error = histogram_take(&row->sizes, &more->sizes, HISTOGRAM_SOME);
    if (*error == 0)
        *error = add_times(&row->times, &more->times);
    add_queue(&row->queue, &more->queue);
    histogram_done(&more->sizes);
    times_done(&more->times);
}

static int compare_parties(const struct party *a, const struct party *b)
{
    /* lists and texts are kept once: equal ones are at the same place */
    if (a->processes != b->processes)
        return a->processes < b->processes ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static int compare_like(const void *left, const void *right)
{
    const struct communication_path *a = left;
    const struct communication_path *b = right;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->local != b->local)
        return a->local < b->local ? -1 : 1;
    if (a->remote != b->remote)
        return a->remote < b->remote ? -1 : 1;
    int difference = compare_parties(&a->ends[0], &b->ends[0]);
    return difference != 0 ? difference : compare_parties(&a->ends[1], &b->ends[1]);
}

/* An address without its port, which the kernel has chosen. */
static const char *without_port(struct communication *past, const char *address)
{
    char text[ENDPOINT_SIZE + 2];
    const char *colon = strrchr(address, ':');

    if (colon == NULL)
        return communication_keep_text(past, "*");
    snprintf(text, sizeof(text), "%.*s:*", (int)(colon - address), address);
    return communication_keep_text(past, text);
}

/* Whether connections share the row: it has the number of none. */
static bool is_shared(const struct communication_path *path)
{
    return path->number == 0;
}

/* Makes a row say only what it has in common with others of the same parties. */
static int share_with_parties(struct communication *past, struct communication_path *path)
{
    if (is_shared(path))
        return 0;
    path->number = 0;
    path->local = without_port(past, path->local);
    if (path->local == NULL)
        return -ENOMEM;
    for (int i = 0; i < 2; i++)
        if (path->ends[i].count == 0)
            path->ends[i].address = i == 0 ? path->local : path->remote;
    return 0;
}

/* The same, of the same kind. */
static int share_with_kind(struct communication *past, struct communication_path *path)
{
    path->number = 0;
    path->local = path->remote = communication_keep_text(past, "*");
    if (path->local == NULL)
        return -ENOMEM;
    for (int i = 0; i < 2; i++)
        path->ends[i] = (struct party){.address = path->local};
    return 0;
}

/* Rows from `first` on become one with their like, and are sorted; returns 0 or -ENOMEM. */
static int unite_paths(struct communication *past, size_t first)
{
    size_t united = first;
    int error = 0;

    if (past->path_count == first)
        return 0;
    qsort(past->paths + first, past->path_count - first, sizeof(*past->paths), compare_like);
    for (size_t i = first; i < past->path_count; i++) {
        struct communication_path *row = united == first ? NULL : &past->paths[united - 1];
        if (row != NULL && compare_like(row, &past->paths[i]) == 0)
            add_to_row(row, &past->paths[i], &error);
        else
            past->paths[united++] = past->paths[i];
    }
    past->path_count = united;
    communication_sort_paths(past->paths + first, united - first);
    return error;
}

static void swap_paths(struct communication_path *a, struct communication_path *b)
{
    struct communication_path path = *a;

    *a = *b;
    *b = path;
}

/* Puts the `most` largest rows of one connection first; all others are shared. Returns how many there
 * are, or -ENOMEM. */
static int64_t keep_largest(struct communication *past, size_t most)
{
    size_t kept = 0;
    int result = 0;

    communication_sort_paths(past->paths, past->path_count);
    for (size_t i = 0; result == 0 && i < past->path_count; i++) {
        if (kept < most && !is_shared(&past->paths[i]))
            swap_paths(&past->paths[kept++], &past->paths[i]);
        else
            result = share_with_parties(past, &past->paths[i]);
    }
    return result < 0 ? result : (int64_t)kept;
}

/* A quarter of the rows is for the largest connections, a quarter for the largest of what the same
 * parties share: theirs are full of values. */
static int fold_paths(struct communication *past, uint32_t most)
{
    int64_t first = keep_largest(past, most / 4);
    int result = first < 0 ? (int)first : unite_paths(past, (size_t)first);

    if (result < 0 || past->path_count <= most)
        return result;
    for (size_t i = (size_t)first + most / 4; result == 0 && i < past->path_count; i++)
        result = share_with_kind(past, &past->paths[i]);
    return result < 0 ? result : unite_paths(past, (size_t)first);
}

/* The smallest pairs become one row. */
static int fold_pairs(struct communication *past, uint32_t most)
{
    struct party others = {.address = communication_keep_text(past, "*")};
    struct communication_pair *row;
    size_t count = past->pair_count;
    int result = 0;

    if (others.address == NULL)
        return -ENOMEM;
    communication_sort_pairs(past);
    past->pair_count = most / 2;
    for (size_t i = most / 2; result == 0 && i < count; i++) {
        struct communication_pair small = past->pairs[i];
        row = communication_pair(past, &others, &others);
        if (row == NULL)
            return -ENOMEM;
        add_traffic(&row->sent, &small.sent);
        row->local = row->local && small.local;
        result = histogram_take(&row->sizes, &small.sizes, HISTOGRAM_MOST);
        if (result == 0)
            result = add_times(&row->times, &small.times);
        times_done(&small.times);
    }
    return result;
}

/* Leaves behind the texts and lists that no row points to any more, once they are the greater part. */
static int drop_unused(struct communication **past)
{
    size_t rows = (*past)->process_count + (*past)->path_count + (*past)->pair_count;
    struct communication *fresh;

    if ((*past)->piece_keys.count < 3 * rows)
        return 0;
    fresh = calloc(1, sizeof(*fresh));
    int result = fresh == NULL ? -ENOMEM : communication_take(fresh, *past);
    if (result < 0) {
        communication_free(fresh);
        return result;
    }
    add_totals(fresh, *past);
    communication_free(*past);
    *past = fresh;
    return 0;
}

/* Processes that share rows now have made rows of paths alike. */
static int unite_shared_paths(struct communication *past)
{
    int64_t first = keep_largest(past, past->path_count);

    return first < 0 ? (int)first : unite_paths(past, (size_t)first);
}

static int condense(struct statistics *statistics)
{
    const struct statistics_limits *limits = &statistics->lasting.limits;
    int result = 0;

    if (statistics->past->process_count > limits->processes) {
        result = fold_processes(&statistics->past, limits->processes);
        if (result == 0)
            result = unite_shared_paths(statistics->past);
    }
    if (result == 0 && statistics->past->path_count > limits->paths)
        result = fold_paths(statistics->past, limits->paths);
    if (result == 0 && statistics->past->pair_count > limits->pairs)
        result = fold_pairs(statistics->past, limits->pairs);
    return result < 0 ? result : drop_unused(&statistics->past);
}

/* ---- all of it ---- */

static int add_to_past(struct statistics *statistics)
{
    struct communication *leaving;
    int result = statistics_build(statistics, true, &leaving);

    if (result < 0)
        return result;
    if (statistics->past == NULL)
        statistics->past = calloc(1, sizeof(*statistics->past));
    result = statistics->past == NULL ? -ENOMEM : communication_take(statistics->past, leaving);
    if (result == 0) {
        add_totals(statistics->past, leaving);
        result = condense(statistics);
    }
    communication_free(leaving);
    return result;
}

/* Empty tables; those that were emptied by the folding before have their memory already. */
static int take_spare(struct statistics *statistics, struct statistics **ret_spare)
{
    if (statistics->spare == NULL)
        return statistics_new(ret_spare);
    int result = identities_new(&statistics->spare->identities);
    if (result < 0)
        return result;
    *ret_spare = statistics->spare;
    statistics->spare = NULL;
    return 0;
}

#define SPARE_MOST 65536 /* rows of a table */

/* What was in `old` has gone over; its tables serve again, unless much more lived in them than ends
 * between two foldings. */
static void keep_spare(struct statistics *statistics, struct statistics *old)
{
    identities_free(old->identities);
    old->identities = NULL;
    old->past = NULL;
    old->spare = NULL;
    memset(&old->lasting, 0, sizeof(old->lasting));
    if (old->path_capacity > SPARE_MOST || old->use_capacity > SPARE_MOST ||
        old->stream_capacity > SPARE_MOST || old->process_capacity > SPARE_MOST) {
        statistics_free(old);
        return;
    }
    statistics_clear(old);
    statistics->spare = old;
}

int statistics_fold(struct statistics *statistics)
{
    struct statistics *fresh;

    choose(statistics);
    int result = spill_leaving(statistics);
    if (result == 0)
        result = add_to_past(statistics);
    if (result == 0)
        result = take_spare(statistics, &fresh);
    if (result < 0)
        return result;
    forget_queues(statistics);
    result = keep_what_lives(statistics, fresh);
    if (result < 0) {
        memset(&fresh->lasting, 0, sizeof(fresh->lasting)); /* belongs to both */
        statistics_free(fresh);
        return result;
    }
    struct statistics old = *statistics;
    *statistics = *fresh;
    *fresh = old;
    statistics->past = fresh->past;
    keep_spare(statistics, fresh);
    return 0;
}
