/* SPDX-License-Identifier: MIT */
/*
 * procedures.c: the procedures of the programs that send and receive. Program counters are counted while records are
 * read; their names come at the end of a recording.
 *
 *      (origin, image, PC) --> counters ----at the end, by name----> procedure of a module: sums
 */
#include "analysis/statistics/procedures.h"

#include "analysis/statistics/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static uint64_t key_of(uint32_t origin, uint32_t image, uint64_t pc)
{
    return (pc ^ (uint64_t)image << 44 ^ (uint64_t)origin << 56) * 0x9e3779b97f4a7c15ULL;
}

static bool is_at(const struct statistics_pc *counter, uint32_t origin, uint32_t image, uint64_t pc)
{
    return counter->pc == pc && counter->image == image && counter->origin == origin;
}

/* The entry of a program counter; beyond MOST_PCS, one for all others. NULL: out of memory. In the rare case of a hash
 * collision, the later one uses the next key. */
static struct statistics_pc *find_pc(struct procedures *procedures, uint32_t origin, uint32_t image,
                                     uint64_t pc)
{
    for (uint64_t key = key_of(origin, image, pc);; key++) {
        uint32_t count = procedures->keys.count;
        int64_t index = count >= MOST_PCS ? intern_find(&procedures->keys, key)
                                          : intern_add(&procedures->keys, key);
        if (index < 0)
            return count >= MOST_PCS ? &procedures->others : NULL;
        if (array_reserve(&procedures->counters, &procedures->capacity, (size_t)index + 1,
                          sizeof(*procedures->counters)) < 0)
            return NULL;
        struct statistics_pc *counter = &procedures->counters[index];
        if (index == count)
            *counter = (struct statistics_pc){.origin = origin, .image = image, .pc = pc};
        if (is_at(counter, origin, image, pc))
            return counter;
    }
}

int procedures_count(struct procedures *procedures, struct recent_pc *recent, uint32_t origin,
                     uint32_t image, const struct record *record)
{
    uint64_t pc = record_pc(&record->header);
    struct statistics_pc *counter;

    if (pc == 0)
        return 0;
    if (recent->index_and_1 != 0 && recent->pc == pc && recent->image == image) {
        counter = &procedures->counters[recent->index_and_1 - 1];
    } else {
        counter = find_pc(procedures, origin, image, pc);
        if (counter == NULL)
            return -ENOMEM;
        recent->pc = pc;
        recent->image = image;
        recent->index_and_1 =
            counter == &procedures->others ? 0 : (uint32_t)(counter - procedures->counters) + 1;
    }
    struct traffic *traffic = record->header.id == EVENT_SEND ? &counter->sent : &counter->received;
    traffic->bytes += record->message.bytes;
    traffic->messages += (record->header.flags & (RECORD_CONTINUED | RECORD_END_OF_FILE)) == 0;
    return 0;
}

void procedures_done(struct procedures *procedures)
{
    intern_done(&procedures->keys);
    free(procedures->counters);
    memset(procedures, 0, sizeof(*procedures));
}

/* ---- by name ---- */

static int compare_names(const void *left, const void *right)
{
    const struct communication_procedure *a = left;
    const struct communication_procedure *b = right;
    int modules = strcmp(a->module, b->module);

    return modules != 0 ? modules : strcmp(a->name, b->name);
}

static int compare_sums(const void *left, const void *right)
{
    const struct communication_procedure *a = left;
    const struct communication_procedure *b = right;
    uint64_t a_bytes = a->sent.bytes + a->received.bytes;
    uint64_t b_bytes = b->sent.bytes + b->received.bytes;

    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    return compare_names(left, right);
}

/* Names a row as far as the recording names its program counter. */
static int name_row(const struct identities *identities, const struct statistics_pc *counter,
                    struct communication *result, struct communication_procedure *row)
{
    const struct module_record *module = NULL;
    const struct procedure_record *procedure =
        identities_procedure_of(identities, counter->origin, counter->image, counter->pc, &module);
    char text[MODULE_NAME_SIZE + 1] = "";

    if (module != NULL)
        memcpy(text, module->name, MODULE_NAME_SIZE);
    row->module = communication_keep_text(result, text);
    memset(text, 0, sizeof(text));
    if (procedure != NULL)
        memcpy(text, procedure->name, PROCEDURE_NAME_SIZE);
    row->name = communication_keep_text(result, text);
    return row->module == NULL || row->name == NULL ? -ENOMEM : 0;
}

/* Merges rows of the same name. */
static void unite(struct communication *result)
{
    struct communication_procedure *rows = result->procedures;
    size_t united = 0;

    qsort(rows, result->procedure_count, sizeof(*rows), compare_names);
    for (size_t i = 0; i < result->procedure_count; i++) {
        if (united > 0 && compare_names(&rows[united - 1], &rows[i]) == 0) {
            add_traffic(&rows[united - 1].sent, &rows[i].sent);
            add_traffic(&rows[united - 1].received, &rows[i].received);
        } else {
            rows[united++] = rows[i];
        }
    }
    result->procedure_count = united;
    qsort(rows, united, sizeof(*rows), compare_sums);
}

int procedures_build(const struct procedures *procedures, const struct identities *identities,
                     struct communication *result)
{
    uint32_t count = procedures->keys.count;

    result->procedures = calloc((size_t)count + 1, sizeof(*result->procedures));
    if (result->procedures == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct statistics_pc *counter = &procedures->counters[i];
        struct communication_procedure *row = &result->procedures[result->procedure_count++];
        row->sent = counter->sent;
        row->received = counter->received;
        if (name_row(identities, counter, result, row) < 0)
            return -ENOMEM;
    }
    if (procedures->others.sent.messages + procedures->others.received.messages > 0) {
        struct communication_procedure *row = &result->procedures[result->procedure_count++];
        row->sent = procedures->others.sent;
        row->received = procedures->others.received;
        row->module = communication_keep_text(result, "");
        row->name = communication_keep_text(result, "*");
        if (row->module == NULL || row->name == NULL)
            return -ENOMEM;
    }
    unite(result);
    return 0;
}
