/* SPDX-License-Identifier: MIT */
/* elapsed_groups.c: rows of one program and one reason, together. See elapsed.h. */
#include "analysis/elapsed/elapsed_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST 1000 /* smaller rows do not matter, and the searches are quadratic */

size_t elapsed_script(const char *label, const char **ret_script)
{
    size_t name = strcspn(label, " ");
    const char *word = label + name + (label[name] == ' ');
    size_t length = strcspn(word, " ");
    const char *point = memchr(word, '.', length);
    bool is_file = memchr(word, '/', length) != NULL ||
                   (point != NULL && point + 1 < word + length && isalpha((unsigned char)point[1]));

    *ret_script = word;
    return is_file ? length : 0;
}

static bool have_same_script(const struct elapsed_row *one, const struct elapsed_row *other)
{
    const char *script, *others;
    size_t length = elapsed_script(one->label, &script);

    return length == elapsed_script(other->label, &others) && memcmp(script, others, length) == 0;
}

/* A program may have any number of locks; of other futexes it is not known which. */
static bool may_be_any_lock(const struct elapsed_row *row)
{
    return kind_of_call(row->call, 0) == ELAPSED_LOCK &&
           (row->object == WAIT_ON_LOCK || row->object == WAIT_ON_NOT_KNOWN);
}

static bool is_for_same(const struct elapsed_row *one, const struct elapsed_row *other)
{
    return strcmp(one->object_name, other->object_name) == 0 ||
           (may_be_any_lock(one) && may_be_any_lock(other));
}

/* Threads of several processes of a program, or a script, belong together; so do its procedures, and the calls in which it waits
 * for one peer. In which call a runtime's thread has no work says nothing more. */
static bool belongs(const struct elapsed_group *group, const struct elapsed_row *row)
{
    const struct elapsed_row *largest = group->largest;

    return largest->kind == row->kind && largest->ran_late == row->ran_late &&
           largest->no_clock == row->no_clock &&
           (largest->call == row->call || row->kind == ELAPSED_IDLE || row->address[0] != '\0') &&
           is_for_same(largest, row) && strcmp(largest->process, row->process) == 0 &&
           have_same_script(largest, row) && strcmp(largest->address, row->address) == 0;
}

static bool is_of_process(const struct elapsed_group *group, const struct elapsed_row *row,
                          const struct elapsed_row *of)
{
    return row->pid == of->pid && row->origin == of->origin && belongs(group, row);
}

/* The first row of a process in the group: what all of its rows took. */
static void add_process(const struct elapsed_account *account, size_t rows, size_t at,
                        struct elapsed_group *group)
{
    const struct elapsed_row *row = &account->rows[at];
    uint64_t time = 0;

    for (size_t i = 0; i < rows; i++) {
        if (!is_of_process(group, &account->rows[i], row))
            continue;
        if (i < at)
            return; /* it was added */
        time += account->rows[i].time;
    }
    group->processes++;
    if (time > group->leader_time) {
        group->leader = row;
        group->leader_time = time;
    }
}

/* Those of the name of this row's thread. */
static struct elapsed_threads threads_of(const struct elapsed_account *account, size_t rows,
                                         const struct elapsed_group *group,
                                         const struct elapsed_row *row)
{
    struct elapsed_threads threads = {.row = row};

    for (size_t i = 0; i < rows; i++) {
        const struct elapsed_row *other = &account->rows[i];
        if (!is_of_process(group, other, group->leader) ||
            !elapsed_are_alike(other->thread, row->thread))
            continue;
        threads.time += other->time;
        threads.several = threads.several || other->tid == 0 || other->tid != row->tid;
        if (strcmp(other->thread, threads.row->thread) != 0 && strchr(other->thread, '*') != NULL)
            threads.row = other;
    }
    return threads;
}

struct elapsed_threads elapsed_group_threads(const struct elapsed_account *account,
                                             const struct elapsed_group *group)
{
    size_t rows = account->row_count < ROWS_MOST ? account->row_count : ROWS_MOST;
    struct elapsed_threads most = {.row = group->leader};

    for (size_t i = 0; i < rows && most.time * 2 <= group->leader_time; i++) {
        if (!is_of_process(group, &account->rows[i], group->leader))
            continue;
        struct elapsed_threads threads = threads_of(account, rows, group, &account->rows[i]);
        if (threads.time > most.time)
            most = threads;
    }
    return most;
}

static int by_time(const void *one, const void *other)
{
    const struct elapsed_group *a = one, *b = other;

    return a->time != b->time ? (a->time > b->time ? -1 : 1)
                              : (a->largest < b->largest ? -1 : a->largest > b->largest);
}

int elapsed_groups(const struct elapsed_account *account, struct elapsed_group **ret_groups,
                   size_t *ret_count)
{
    size_t rows = account->row_count < ROWS_MOST ? account->row_count : ROWS_MOST, count = 0;
    struct elapsed_group *groups = calloc(rows + 1, sizeof(*groups));

    if (groups == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < rows; i++) {
        const struct elapsed_row *row = &account->rows[i];
        size_t at = 0;
        while (at < count && !belongs(&groups[at], row))
            at++;
        if (at == count)
            groups[count++] = (struct elapsed_group){.largest = row};
        groups[at].time += row->time;
        groups[at].count += row->count;
        add_process(account, rows, i, &groups[at]);
    }
    qsort(groups, count, sizeof(*groups), by_time);
    *ret_groups = groups;
    *ret_count = count;
    return 0;
}
