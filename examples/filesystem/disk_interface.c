/* SPDX-License-Identifier: MIT */
/*
 * disk_interface.c: the process that reads and writes the blocks of the disk, which is a file.
 *
 *     block  0        1 ... FILES_LIMIT          FILES_LIMIT + 1 ...
 *            unused   descriptors of files       data and indirect blocks
 *
 * Blocks that were never written read as zeros: a disk of zeros is an empty file system.
 */
#include "filesystem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int read_block(int disk, uint32_t block, uint8_t *ret_data)
{
    const ssize_t count = pread(disk, ret_data, BLOCK_SIZE, (off_t)block * BLOCK_SIZE);
    if (count < 0)
        return -errno;
    memset(ret_data + count, 0, BLOCK_SIZE - (size_t)count);
    return 0;
}

static int write_block(int disk, uint32_t block, const uint8_t *data)
{
    const ssize_t count = pwrite(disk, data, BLOCK_SIZE, (off_t)block * BLOCK_SIZE);
    if (count < 0)
        return -errno;
    return count == BLOCK_SIZE ? 0 : -ENOSPC;
}

static void handle(int disk, struct message *message)
{
    if (message->type == MESSAGE_READ_BLOCK)
        message_answer(message, read_block(disk, message->position, message->data), BLOCK_SIZE);
    else if (message->type == MESSAGE_WRITE_BLOCK && message->size == MESSAGE_HEADER + BLOCK_SIZE)
        message_answer(message, write_block(disk, message->position, message->data), 0);
    else
        message_answer(message, -EPROTO, 0);
}

int main(int argument_count, char **arguments)
{
    static struct process process;
    static struct message message;
    int error;

    process_begin(&process, argument_count, arguments, 1);
    while ((error = process_receive(&process, &message)) > 0) {
        const unsigned from = message.from;
        handle(process.shared->settings.disk, &message);
        if ((error = process_send(&process, from, &message)) < 0)
            break;
    }
    return process_end(&process, error);
}
