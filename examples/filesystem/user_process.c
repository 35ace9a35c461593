/* SPDX-License-Identifier: MIT */
/*
 * user_process.c: a process that uses the file system, and checks every record it reads.
 *
 *     sequential   OPEN new file, WRITE 0 1 2 ..., CLOSE, OPEN it, READ 0 1 2 ..., CLOSE, and again
 *     random       OPEN its file, READ and WRITE records here and there, CLOSE, and again
 *
 * The contents of a record follow from the user's seed, the file, the record, and how often it was written. All
 * requests of a user follow from its seed.
 */
#include "filesystem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct process process;
static uint64_t random_state;
static unsigned round_number; /* sequential user: number of its file */
static uint32_t *versions;    /* how often each record of the file was written */

/* ---- records ---- */

static void fill(uint8_t *record, uint32_t number)
{
    uint64_t state = process.shared->settings.seed + ((uint64_t)process.number << 48) +
                     ((uint64_t)round_number << 32) + ((uint64_t)versions[number] << 16) + number;
    for (size_t at = 0; at < RECORD_SIZE; at += sizeof(uint64_t)) {
        const uint64_t value = random_next(&state);
        memcpy(record + at, &value, sizeof(value));
    }
}

/* ---- requests ---- */

static int open_or_close(enum message_type type, bool create)
{
    struct message message = {.type = (uint8_t)type, .position = create};
    message.size = MESSAGE_HEADER;
    if (type == MESSAGE_OPEN) {
        snprintf((char *)message.data, NAME_SIZE, "user%u.%u", process.number - USER_FIRST + 1,
                 round_number);
        message.size += NAME_SIZE;
    }
    process.counts->opens++;
    return process_call(&process, REQUEST_INTERPRETER, &message);
}

static int write_record(uint32_t number)
{
    struct message message = {
        .size = MESSAGE_HEADER + RECORD_SIZE, .type = MESSAGE_WRITE, .position = number};
    versions[number]++;
    fill(message.data, number);
    process.counts->operations++;
    return process_call(&process, REQUEST_INTERPRETER, &message);
}

static int read_record(uint32_t number)
{
    struct message message = {.size = MESSAGE_HEADER, .type = MESSAGE_READ, .position = number};
    uint8_t expected[RECORD_SIZE];
    process.counts->operations++;
    const int error = process_call(&process, REQUEST_INTERPRETER, &message);
    if (error < 0)
        return error;
    fill(expected, number);
    if (message.size != MESSAGE_HEADER + RECORD_SIZE ||
        memcmp(message.data, expected, RECORD_SIZE) != 0) {
        fprintf(stderr, "user-process: record %u of file user%u.%u is wrong\n", number,
                process.number - USER_FIRST + 1, round_number);
        return -EIO;
    }
    process.counts->verified++;
    return 0;
}

/* ---- kinds of users ---- */

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(random_next(&random_state) % limit);
}

static int pass_through(uint32_t records, bool writes)
{
    int error = open_or_close(MESSAGE_OPEN, writes);
    for (uint32_t number = 0; error == 0 && number < records; number++)
        error = writes ? write_record(number) : read_record(number);
    return error < 0 ? error : open_or_close(MESSAGE_CLOSE, false);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int sequential(const struct settings *settings, uint32_t left)
{
    const uint32_t file_records = settings->file_blocks * RECORDS_PER_BLOCK;
    while (left > 0) {
        const uint32_t written = least(left, file_records);
        const uint32_t read = least(left - written, written);
        memset(versions, 0, file_records * sizeof(*versions));
        int error = pass_through(written, true);
        if (error == 0 && read > 0)
            error = pass_through(read, false);
        if (error < 0)
            return error;
        left -= written + read;
        round_number++;
    }
    return 0;
}

static int somewhere(const struct settings *settings)
{
    const uint32_t number = below(settings->random_blocks * RECORDS_PER_BLOCK);
    const bool writes = versions[number] == 0 || below(100) < settings->write_percent;
    return writes ? write_record(number) : read_record(number);
}

static int random_access(const struct settings *settings, uint32_t left)
{
    for (bool create = true; left > 0; create = false) {
        uint32_t count = least(left, settings->file_blocks * RECORDS_PER_BLOCK);
        left -= count;
        int error = open_or_close(MESSAGE_OPEN, create);
        while (error == 0 && count-- > 0)
            error = somewhere(settings);
        if (error < 0 || (error = open_or_close(MESSAGE_CLOSE, false)) < 0)
            return error;
    }
    return 0;
}

int main(int argument_count, char **arguments)
{
    process_begin(&process, argument_count, arguments, 0);
    const struct settings *settings = &process.shared->settings;
    const unsigned user = process.number - USER_FIRST;
    const bool is_random =
        settings->kind == KIND_RANDOM || (settings->kind == KIND_MIXED && user % 2 == 1);
    const uint32_t blocks = settings->file_blocks > settings->random_blocks
                                ? settings->file_blocks
                                : settings->random_blocks;
    versions = calloc((size_t)blocks * RECORDS_PER_BLOCK, sizeof(*versions));
    if (!versions)
        return process_end(&process, -ENOMEM);
    random_state = settings->seed * PROCESSES + user;

    int error = process_connect(&process, REQUEST_INTERPRETER);
    if (error == 0)
        error = is_random ? random_access(settings, settings->requests)
                          : sequential(settings, settings->requests);
    free(versions);
    return process_end(&process, error);
}
