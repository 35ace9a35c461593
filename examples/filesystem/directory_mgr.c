/* SPDX-License-Identifier: MIT */
/*
 * directory_mgr.c: the directory manager: names of files, their numbers and lengths.
 *
 *     record of file 0    entry: name          length      file number = index of the entry + 1
 *     ┌───────────────┐        ┌─────────────┬────────┐
 *     │ 8 entries     │───────►│ "user4.17"  │ 48     │
 *     └───────────────┘        └─────────────┴────────┘
 *
 * The directory is file 0. It is kept in memory, and a changed record is written through the buffer manager.
 */
#include "filesystem.h"

#include <errno.h>
#include <string.h>

#define DIRECTORY_FILE     0
#define ENTRIES_LIMIT      (FILES_LIMIT - 1)
#define ENTRIES_PER_RECORD (RECORD_SIZE / sizeof(struct entry))

struct entry {
    char name[NAME_SIZE]; /* empty: free */
    uint32_t length;      /* in records */
    uint32_t unused[3];
};

static struct process process;
static struct entry entries[ENTRIES_LIMIT + 1]; /* whole records */
static unsigned entry_count;

static int write_entry(unsigned index)
{
    const unsigned record = index / ENTRIES_PER_RECORD;
    struct message message = {.size = MESSAGE_HEADER + RECORD_SIZE,
                              .type = MESSAGE_WRITE,
                              .file = DIRECTORY_FILE,
                              .position = record};
    memcpy(message.data, &entries[record * ENTRIES_PER_RECORD], RECORD_SIZE);
    return process_call(&process, BUFFER_MANAGER, &message);
}

static int ask_directory(enum message_type type)
{
    struct message message = {
        .size = MESSAGE_HEADER, .type = type, .file = DIRECTORY_FILE, .position = 1};
    return process_call(&process, BUFFER_MANAGER, &message);
}

/* The number of the file with this name, 0 if there is none. */
static uint32_t look_up(const char *name)
{
    for (unsigned index = 0; index < entry_count; index++)
        if (strncmp(entries[index].name, name, NAME_SIZE) == 0)
            return index + 1;
    return 0;
}

static int create(const char *name)
{
    if (entry_count == ENTRIES_LIMIT)
        return -ENOSPC;
    memcpy(entries[entry_count].name, name, NAME_SIZE);
    return write_entry(entry_count++);
}

static int set_length(uint32_t file, uint32_t length)
{
    if (file == 0 || file > entry_count)
        return -EBADF;
    if (entries[file - 1].length == length)
        return 0;
    entries[file - 1].length = length;
    return write_entry(file - 1);
}

static int handle(struct message *message)
{
    const char *name = (const char *)message->data;
    const bool named = message->size == MESSAGE_HEADER + NAME_SIZE && name[NAME_SIZE - 1] == '\0' &&
                       name[0] != '\0';

    if (message->type == MESSAGE_CLOSE)
        return set_length(message->file, message->length);
    if (!named)
        return -EPROTO;
    message->file = look_up(name);
    if (message->type == MESSAGE_CREATE) {
        const int error = message->file ? -EEXIST : create(name);
        message->file = entry_count;
        message->length = 0;
        return error;
    }
    if (message->type != MESSAGE_LOOKUP)
        return -EPROTO;
    if (message->file)
        message->length = entries[message->file - 1].length;
    return message->file ? 0 : -ENOENT;
}

int main(int argument_count, char **arguments)
{
    static struct message message;
    int error;

    process_begin(&process, argument_count, arguments, 1);
    if ((error = process_connect(&process, BUFFER_MANAGER)) < 0 ||
        (error = ask_directory(MESSAGE_ATTACH)) < 0)
        return process_end(&process, error);
    while ((error = process_receive(&process, &message)) > 0) {
        const unsigned from = message.from;
        const int result = handle(&message);
        if (result == -ECONNRESET)
            return process_end(&process, result);
        message_answer(&message, result, 0);
        if ((error = process_send(&process, from, &message)) < 0)
            break;
    }
    if (error == 0)
        error = ask_directory(MESSAGE_FLUSH);
    return process_end(&process, error);
}
