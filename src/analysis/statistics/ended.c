/* SPDX-License-Identifier: MIT */
/* ended.c: rows of ended connections. See ended.h. */
#include "analysis/statistics/ended.h"

#include "analysis/statistics/rows.h"
#include "analysis/statistics/statistics_state.h"

#include <stdlib.h>
#include <string.h>

void ended_done(struct ended_rows *ended)
{
    for (uint32_t i = 0; i < ended->usage_count; i++) {
        usage_done(ended->usage_list[i]);
        free(ended->usage_list[i]);
    }
    free(ended->usage_list);
    lookup_done(&ended->usages);
    likes_done(&ended->likes);
    free(ended->rows);
}

/* ---- the row of a like ---- */

/* Widens a like once there are too many rows: to any address; then to any process, too. */
static int widen(struct statistics *statistics, const struct like *like, bool any_process,
                 struct like *ret_wider)
{
    const char *any = communication_keep_text(statistics->rows, "*");

    memcpy(ret_wider, like, sizeof(*ret_wider));
    ret_wider->addresses[0] = ret_wider->addresses[1] = any;
    for (int i = 0; any_process && i < 2; i++) {
        ret_wider->processes[i] = NULL;
        ret_wider->counts[i] = 0;
    }
    return any == NULL ? -ENOMEM : 0;
}

static bool is_known(const struct like *like)
{
    return like->addresses[0] != NULL && like->addresses[1] != NULL &&
           (like->counts[0] == 0 || like->processes[0] != NULL) &&
           (like->counts[1] == 0 || like->processes[1] != NULL);
}

static bool is_crowded(const struct ended_rows *ended, uint32_t level)
{
    return ended->likes.keys.count >=
           ended->each_count + MOST_LIKES + (level == 2 ? MOST_WIDER_LIKES : 0);
}

static enum keeping keeping(const struct ended_rows *ended)
{
    return is_crowded(ended, 2) ? KEEP_NOTHING : is_crowded(ended, 1) ? KEEP_PROCESSES : KEEP_ALL;
}

/* Index of the row of a like, which is added if it is new; or -ENOMEM. */
static int64_t find_row(struct statistics *statistics, const struct like *like)
{
    struct ended_rows *ended = &statistics->ended;
    struct like wider = *like;
    int64_t index = is_known(like) ? likes_find(&ended->likes, like) : -ENOENT;

    for (uint32_t level = 1;
         index < 0 && level <= 2 && (is_crowded(ended, level) || !is_known(&wider)); level++) {
        if (widen(statistics, like, level == 2, &wider) < 0)
            return -ENOMEM;
        index = is_known(&wider) ? likes_find(&ended->likes, &wider) : -ENOENT;
    }
    if (index >= 0)
        return index;
    if (array_reserve(&ended->rows, &ended->row_capacity, ended->likes.keys.count + 1UL,
                      sizeof(*ended->rows)) < 0)
        return -ENOMEM;
    index = likes_add(&ended->likes, &wider);
    if (index >= 0)
        ended->rows[index].like = wider;
    return index;
}

/* ---- its usages ---- */

/* Adds a usage with the process and role of `like` to a list. NULL: out of memory. */
static struct usage *add_usage(struct ended_rows *ended, const struct usage *like,
                               struct usage **list)
{
    if (array_reserve(&ended->usage_list, &ended->usage_capacity, ended->usage_count + 1UL,
                      sizeof(struct usage *)) < 0)
        return NULL;
    struct usage *usage = calloc(1, sizeof(*usage));
    if (usage == NULL)
        return NULL;
    ended->usage_list[ended->usage_count++] = usage;
    usage->process = like->process;
    usage->serves = like->serves;
    usage->next = *list;
    *list = usage;
    return usage;
}

/* The row's usage by the same process in the same role; NULL: out of memory. */
static struct usage *find_usage(struct ended_rows *ended, uint32_t row, int end,
                                const struct usage *like)
{
    uint64_t key = (uint64_t)row << 34 | (uint64_t)(end != 0) << 33 | (uint64_t)like->serves << 32 |
                   like->process;
    uint32_t found = lookup_find(&ended->usages, key);

    if (found != LOOKUP_NONE)
        return ended->usage_list[found];
    if (lookup_set(&ended->usages, key, ended->usage_count) < 0)
        return NULL;
    return add_usage(ended, like, &ended->rows[row].usages[end]);
}

/* Adds the counts of `from` to `to`. */
static int add_counts(struct usage *to, const struct usage *from)
{
    add_traffic(&to->sent, &from->sent);
    add_traffic(&to->received, &from->received);
    add_traffic(&to->unselected, &from->unselected);
    add_asked(&to->asked, &from->asked);
    return usage_values_merge(to, from) < 0 ? -ENOMEM : messages_close(to, from);
}

static int add_usages(struct ended_rows *ended, uint32_t row, int end, const struct usage *first)
{
    int result = 0;

    for (const struct usage *from = first; result == 0 && from != NULL; from = from->next) {
        struct usage *to = find_usage(ended, row, end, from);
        if (to == NULL)
            return -ENOMEM;
        result = add_counts(to, from);
    }
    return result;
}

static int add_sums(struct statistics *statistics, struct connection *row,
                    const struct connection *connection, char addresses[2][ADDRESS_SIZE])
{
    if (row->sums.connections > 0) {
        add_path_sums(&row->sums, &connection->sums);
        return 0;
    }
    row->sums = connection->sums;
    return connection_name(statistics->rows, row, addresses);
}

static int add_connection(struct statistics *statistics, struct endpoint *const ends[2])
{
    struct ended_rows *ended = &statistics->ended;
    char addresses[2][ADDRESS_SIZE];
    struct connection connection;

    if (connection_describe(statistics, statistics->rows, ends, keeping(ended), &connection,
                            addresses) < 0)
        return -ENOMEM;
    if (ended->each && ended->each_count < MOST_LIKES)
        connection.like.connection = ++ended->each_count;
    int64_t row = find_row(statistics, &connection.like);
    if (row < 0 || add_sums(statistics, &ended->rows[row], &connection, addresses) < 0)
        return -ENOMEM;
    for (int i = 0; i < (connection.like.to_itself ? 1 : 2); i++)
        if (add_usages(ended, (uint32_t)row, i, connection.usages[i]) < 0)
            return -ENOMEM;
    return 0;
}

/* ---- endpoints without a connection ---- */

static struct usage *find_alone(struct ended_rows *ended, const struct usage *like)
{
    struct usage *usage = ended->alone;

    while (usage != NULL && (usage->process != like->process || usage->serves != like->serves))
        usage = usage->next;
    return usage != NULL ? usage : add_usage(ended, like, &ended->alone);
}

static int add_alone(struct statistics *statistics, const struct endpoint *endpoint)
{
    for (const struct usage *from = endpoint->usages; from != NULL; from = from->next) {
        struct usage *to = find_alone(&statistics->ended, from);
        if (to == NULL || add_counts(to, from) < 0)
            return -ENOMEM;
    }
    statistics->rows->dropped += endpoint->known ? 0 : endpoint->dropped;
    statistics->rows->refused += endpoint->known ? 0 : endpoint->refused;
    statistics->ended.unknown_messages += endpoint->known ? 0 : endpoint->messages;
    return 0;
}

/* ---- ended connections ---- */

int ended_add(struct statistics *statistics, struct endpoint *endpoint)
{
    struct endpoint *ends[2], *partner = endpoint->partner;
    int result;

    if (connection_of(endpoint, ends) == PART_NONE) {
        result = add_alone(statistics, endpoint);
    } else {
        result = add_connection(statistics, ends);
        if (partner != NULL && partner != endpoint)
            endpoint_forget(statistics, partner);
    }
    endpoint_forget(statistics, endpoint);
    return result;
}

/* An endpoint without a partner is kept while the history knows it: its partner may still appear. */
int ended_note_closed(struct statistics *statistics, struct endpoint *endpoint)
{
    const struct endpoint *partner = endpoint->partner;

    return partner != NULL && partner->closed != 0 ? ended_add(statistics, endpoint) : 0;
}
