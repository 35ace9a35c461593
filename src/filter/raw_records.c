/* SPDX-License-Identifier: MIT */
/* raw_records.c: see raw_records.h. */
#include "filter/raw_records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- fields ---- */

static bool is_of_header(const struct raw_records *records, const struct description_field *field)
{
    const struct description *header = descriptions_header(records->descriptions);
    const struct description_field *first = descriptions_field(records->descriptions, header, 0);

    return field >= first && field < first + header->count;
}

const unsigned char *raw_part(const struct raw_records *records, const struct raw_record *record,
                              const struct description_field *field)
{
    size_t header = descriptions_header(records->descriptions)->size;

    return records->bytes + record->at + (is_of_header(records, field) ? 0 : header);
}

bool raw_number(const struct raw_records *records, const struct raw_record *record,
                enum meaning meaning, uint64_t *ret_number,
                const struct description_field **ret_field)
{
    const struct description_field *field =
        descriptions_meaning(records->descriptions, record->type, meaning);

    if (field == NULL)
        return false;
    *ret_number =
        description_value(field, records->system.is_big_endian, raw_part(records, record, field));
    if (ret_field != NULL)
        *ret_field = field;
    return true;
}

static void add_values(const struct raw_records *records, const struct raw_record *record,
                       const struct description *part, struct raw_values *values)
{
    for (uint32_t i = 0; i < part->count; i++) {
        const struct description_field *field = descriptions_field(records->descriptions, part, i);
        if (field->length > 8 || values->has[field->index])
            continue;
        values->has[field->index] = true;
        values->value[field->index] = description_value(field, records->system.is_big_endian,
                                                        raw_part(records, record, field));
    }
}

void raw_record_values(const struct raw_records *records, const struct raw_record *record,
                       struct raw_values *ret_values)
{
    memset(ret_values->has, 0, sizeof(ret_values->has));
    add_values(records, record, descriptions_header(records->descriptions), ret_values);
    add_values(records, record, record->type, ret_values);
}

uint64_t raw_unwrap(uint64_t near, uint64_t counter, unsigned length)
{
    if (length >= 8)
        return counter;
    const unsigned unused = 64 - 8 * length;
    int64_t step = (int64_t)((counter - near) << unused) >> unused;

    return step < 0 && (uint64_t)-step > near ? 0 : near + (uint64_t)step;
}

/* ---- telling them apart ---- */

struct splitting {
    struct raw_records *records;
    const char *name;
    const struct description *header;
    /* of each machine, in its units: its latest time, and its first one; how far a counter goes (0: all 8 bytes) */
    uint64_t latest[RAW_MACHINES_MOST], earliest[RAW_MACHINES_MOST], range[RAW_MACHINES_MOST];
    struct problem *problem;
};

static void begin_time(struct splitting *splitting, const struct raw_record *record)
{
    uint64_t *range = &splitting->range[record->machine], number = 0;
    const struct description_field *field;

    raw_number(splitting->records, record, MEANS_TIME, &number, &field);
    *range = field->length < 8 ? 1ull << (8 * field->length) : 0;
    splitting->latest[record->machine] = splitting->earliest[record->machine] = number + *range;
}

static int find_machine(struct splitting *splitting, struct raw_record *record)
{
    struct raw_records *records = splitting->records;
    uint64_t number = 0;
    uint32_t index = 0;

    raw_number(records, record, MEANS_MACHINE, &number, NULL);
    while (index < records->machine_count && records->machines[index] != number)
        index++;
    record->machine = index;
    if (index < records->machine_count)
        return 0;
    if (index == RAW_MACHINES_MOST)
        return problem_set(splitting->problem, -EINVAL,
                           "%s: byte %zu: more than %u machines: is this the right description?",
                           splitting->name, record->at, RAW_MACHINES_MOST);
    records->machines[records->machine_count++] = number;
    begin_time(splitting, record);
    return 0;
}

/* In the machine's units: end_times. A counter that goes back is that of a late record, or has overflowed in a gap. Half way
 * between, nothing shows which. */
static int find_time(struct splitting *splitting, struct raw_record *record)
{
    uint64_t *latest = &splitting->latest[record->machine], number = 0;
    uint64_t *earliest = &splitting->earliest[record->machine], before = *latest;
    const uint64_t range = splitting->range[record->machine];
    const struct description_field *field;

    raw_number(splitting->records, record, MEANS_TIME, &number, &field);
    record->time = range == 0 ? number : raw_unwrap(before, number, field->length);
    if (range != 0 && record->time < before && before - record->time > range / 4)
        return problem_set(splitting->problem, -EINVAL,
                           "%s: byte %zu: time %" PRIu64 ": a counter of %u bytes does not show "
                           "whether this record came late, or after a gap: sort the records by "
                           "time, or split the file here",
                           splitting->name, record->at, number, field->length);
    *latest = record->time;
    *earliest = record->time < *earliest ? record->time : *earliest;
    return 0;
}

/* Times become ns. A record from before the first one may have come late, so counters begin a round later, which is taken
 * back if none has. */
static int end_times(struct splitting *splitting)
{
    struct raw_records *records = splitting->records;

    for (size_t i = 0; i < records->count; i++) {
        struct raw_record *record = &records->list[i];
        const uint64_t range = splitting->range[record->machine];
        const uint64_t time =
            record->time - (splitting->earliest[record->machine] >= range ? range : 0);
        /* a sum of two times must not overflow either */
        if (__builtin_mul_overflow(time, records->system.time_unit, &record->time) ||
            record->time > INT64_MAX / 2)
            return problem_set(splitting->problem, -EINVAL,
                               "%s: byte %zu: time %" PRIu64
                               " is beyond 146 years: is this the right description?",
                               splitting->name, record->at, time);
    }
    return 0;
}

/* The size of the record at `at`, as far as `left` bytes show it. Returns 0: it is not whole; or -EINVAL. `record->type` NULL: of
 * a type without a description. */
static int64_t size_of(struct splitting *splitting, struct raw_record *record, size_t left)
{
    struct raw_records *records = splitting->records;
    size_t header = splitting->header->size;
    uint64_t number, size;

    if (left < header)
        return 0;
    raw_number(records, record, MEANS_TYPE, &number, NULL);
    record->type = descriptions_find(records->descriptions, number);
    const struct raw_record of_header = {.at = record->at};
    bool has_size = raw_number(records, &of_header, MEANS_RECORD_SIZE, &size, NULL);
    uint64_t least = header + (record->type == NULL ? 0 : record->type->size);
    if (record->type == NULL && !has_size)
        return problem_set(splitting->problem, -EINVAL,
                           "%s: byte %zu: no description of type %" PRIu64
                           ": add one, or a recordSize to the header to skip such records",
                           splitting->name, record->at, number);
    if (has_size && (size < least || size > header + DESCRIPTION_SIZE_MOST))
        return problem_set(splitting->problem, -EINVAL,
                           "%s: byte %zu: the record has %" PRIu64 " byte%s, %s needs %" PRIu64
                           " to %zu: is this the right description?",
                           splitting->name, record->at, size, size == 1 ? "" : "s",
                           record->type == NULL ? "a header" : record->type->name, least,
                           header + DESCRIPTION_SIZE_MOST);
    size = has_size ? size : least;
    if (record->type == NULL && size <= left) {
        records->unknown++;
        records->some_unknown = number;
    }
    return size <= left ? (int64_t)size : 0;
}

static int add(struct splitting *splitting, struct raw_record *record)
{
    struct raw_records *records = splitting->records;
    int result = find_machine(splitting, record);

    if (result == 0)
        result = find_time(splitting, record);
    if (result == 0 &&
        array_reserve(&records->list, &records->capacity, records->count + 1, sizeof(*record)) < 0)
        result = problem_set(splitting->problem, -ENOMEM, "%s: out of memory", splitting->name);
    if (result == 0)
        records->list[records->count++] = *record;
    return result;
}

static int split(struct splitting *splitting)
{
    struct raw_records *records = splitting->records;
    size_t at = 0;

    while (at < records->size) {
        struct raw_record record = {.at = at};
        int64_t size = size_of(splitting, &record, records->size - at);
        if (size < 0)
            return (int)size;
        if (size == 0) {
            records->cut = records->size - at;
            break;
        }
        int result = record.type == NULL ? 0 : add(splitting, &record);
        if (result < 0)
            return result;
        at += (size_t)size;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct raw_record *one = a, *other = b;

    if (one->machine != other->machine)
        return one->machine < other->machine ? -1 : 1;
    if (one->time != other->time)
        return one->time < other->time ? -1 : 1;
    return one->at < other->at ? -1 : one->at > other->at;
}

int raw_records_take(struct raw_records *records, const struct descriptions *descriptions,
                     const char *name, unsigned char *bytes, size_t size, struct problem *problem)
{
    struct splitting *splitting = calloc(1, sizeof(*splitting));

    *records = (struct raw_records){.descriptions = descriptions,
                                    .system = descriptions_system(descriptions),
                                    .bytes = bytes,
                                    .size = size};
    int result = splitting == NULL ? problem_set(problem, -ENOMEM, "%s: out of memory", name)
                                   : descriptions_check(descriptions, problem);
    if (result == 0) {
        *splitting = (struct splitting){.records = records,
                                        .name = name,
                                        .header = descriptions_header(descriptions),
                                        .problem = problem};
        result = split(splitting);
    }
    if (result == 0)
        result = end_times(splitting);
    if (result == 0 && records->count == 0)
        result = problem_set(problem, -EINVAL, "%s: has no whole record of a described type", name);
    free(splitting);
    if (result < 0)
        raw_records_done(records);
    else
        qsort(records->list, records->count, sizeof(*records->list), compare);
    return result;
}

void raw_records_done(struct raw_records *records)
{
    free(records->bytes);
    free(records->list);
    *records = (struct raw_records){0};
}

/* ---- files ---- */

#define READ_AT_ONCE (1u << 20)

static int read_all(int file, const char *path, unsigned char **ret_bytes, size_t *ret_size,
                    struct problem *problem)
{
    size_t capacity = 0, size = 0;
    ssize_t got;

    do {
        if (array_reserve(ret_bytes, &capacity, size + READ_AT_ONCE, 1) < 0)
            return problem_set(problem, -ENOMEM, "%s: out of memory", path);
        got = read(file, *ret_bytes + size, READ_AT_ONCE);
        if (got < 0 && errno != EINTR)
            return problem_set(problem, -errno, "%s: cannot be read: %s", path, strerror(errno));
        size += got > 0 ? (size_t)got : 0;
        if (size > RAW_BYTES_MOST)
            return problem_set(problem, -EFBIG,
                               "%s: raw records have at most 1 GiB: split the file", path);
    } while (got != 0);
    *ret_size = size;
    return 0;
}

int raw_records_read(struct raw_records *records, const struct descriptions *descriptions,
                     const char *path, struct problem *problem)
{
    bool is_input = strcmp(path, "-") == 0;
    int file = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    const char *name = is_input ? "standard input" : path;
    unsigned char *bytes = NULL;
    size_t size = 0;

    if (file < 0)
        return problem_set(problem, -errno, "%s: cannot be opened: %s", path, strerror(errno));
    int result = read_all(file, name, &bytes, &size, problem);
    if (!is_input)
        close(file);
    if (result < 0)
        free(bytes);
    return result < 0 ? result
                      : raw_records_take(records, descriptions, name, bytes, size, problem);
}
