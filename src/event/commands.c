/* SPDX-License-Identifier: MIT */
/*
 * commands.c: the command lines of this machine's processes, for NAME records. See event.h.
 *
 *      exec      the meter's NAME, made before the new program runs      "nginx -g daemon off;"
 *      acquired  /proc/PID/cmdline, with the process's first STREAM
 *      later     /proc/PID/cmdline again: some programs write a title    "nginx: worker process"
 *
 * A process that has executed nothing since its creation has the command line of its creator, without a NAME.
 */
#include "event/event.h"

#include "base/process.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Processes whose titles are looked for: those that have no space here keep the command line they began with. */
#define MOST_LOOKED_FOR 65536u

/* A process that takes another's pid begins later than this after it: all pids are used first. */
#define SAME_BEGINNING 100000000LL /* ns */

struct command {
    uint32_t process;
    uint32_t pid;
    uint64_t began; /* ns, CLOCK_MONOTONIC */
    uint64_t since; /* when its program began, or changed its name */
    uint64_t known; /* hash of the command line that the recording has; 0: none */
    bool looked_for;
};

/* ---- /proc ---- */

/* Arguments end with NULs, which become blanks; those at the end are removed. Titles may have more of both. */
static void join_arguments(char *text, size_t length)
{
    while (length > 0 && (text[length - 1] == '\0' || text[length - 1] == ' '))
        text[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
}

bool command_line_read(pid_t pid, char *text, size_t size)
{
    size_t length = process_read(pid, "cmdline", text, size);

    join_arguments(text, length);
    return text[0] != '\0';
}

/* Whether the process with this pid began when the one meant did. */
static bool is_same(const struct command *command)
{
    uint64_t start = process_stat_number((pid_t)command->pid, PROCESS_START);
    uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t asleep = clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC);
    int64_t later = (int64_t)(start * tick - asleep - command->began);
    return later < SAME_BEGINNING && later > -SAME_BEGINNING;
}

/* ---- what is known ---- */

static uint64_t hash_of(const char *name)
{
    return hash_bytes(0, name, strnlen(name, NAME_SIZE)) | 1;
}

/* The number of a process is that of its first stream. */
static uint32_t process_of(const struct commands *commands, uint32_t stream)
{
    uint32_t process = lookup_find(&commands->threads, stream);

    return process == LOOKUP_NONE ? stream : process;
}

static struct command *find(const struct commands *commands, uint32_t process)
{
    uint32_t index = lookup_find(&commands->processes, process);

    return index == LOOKUP_NONE ? NULL : pool_at(&commands->list, index);
}

/* NULL: too many, or out of memory. */
static struct command *find_or_add(struct commands *commands, uint32_t process)
{
    struct command *command = find(commands, process);

    if (command != NULL || process == 0 || commands->processes.count >= MOST_LOOKED_FOR)
        return command;
    commands->list.size = sizeof(struct command);
    int64_t index = pool_take(&commands->list);
    if (index < 0)
        return NULL;
    if (lookup_set(&commands->processes, process, (uint32_t)index) < 0) {
        pool_give(&commands->list, (uint32_t)index);
        return NULL;
    }
    command = pool_at(&commands->list, (uint32_t)index);
    command->process = process;
    return command;
}

static void forget(struct commands *commands, uint32_t process)
{
    uint32_t index = lookup_find(&commands->processes, process);

    if (index == LOOKUP_NONE)
        return;
    lookup_remove(&commands->processes, process);
    pool_give(&commands->list, index);
}

/* Reads the command line. Returns false if it is known already, or cannot be read. */
static bool look(struct command *command, uint64_t time, struct name_record *ret_name)
{
    *ret_name = (struct name_record){
        .header = {.time = time, .id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = command->process,
        .kind = NAME_COMMAND,
    };
    if (!command_line_read((pid_t)command->pid, ret_name->name, NAME_SIZE) || !is_same(command) ||
        hash_of(ret_name->name) == command->known)
        return false;
    command->known = hash_of(ret_name->name);
    return true;
}

/* ---- records ---- */

static void note_name(struct commands *commands, const struct name_record *name)
{
    struct command *command =
        name->kind == NAME_COMMAND ? find_or_add(commands, (uint32_t)name->number) : NULL;

    if (command != NULL)
        command->known = hash_of(name->name);
}

static bool note_stream(struct commands *commands, const struct stream_record *stream,
                        struct name_record *ret_name)
{
    if (stream->header.stream != stream->process) {
        /* without memory, its children are taken for those of a process without a command line */
        (void)lookup_set(&commands->threads, stream->header.stream, stream->process);
        return false;
    }
    struct command *command = stream->pid != 0 ? find_or_add(commands, stream->process) : NULL;

    if (command == NULL)
        return false;
    if (command->known == 0 && stream->parent != 0) {
        const struct command *creator = find(commands, process_of(commands, stream->parent));
        command->known = creator == NULL ? 0 : creator->known;
    }
    command->pid = stream->pid;
    command->began = stream->start;
    command->since = stream->header.time;
    command->looked_for = false;
    return command->known == 0 && stream->parent == 0 &&
           look(command, stream->header.time, ret_name);
}

bool commands_before(struct commands *commands, const struct record_header *header,
                     struct name_record *ret_name)
{
    const struct record *record = (const struct record *)header;

    switch (header->id) {
    case EVENT_STREAM:
        return note_stream(commands, (const struct stream_record *)header, ret_name);
    case EVENT_NAME:
        note_name(commands, (const struct name_record *)header);
        return false;
    case EVENT_TERMINATION:
        if (record->termination.last)
            forget(commands, process_of(commands, header->stream));
        lookup_remove(&commands->threads, header->stream);
        return false;
    case EVENT_EXEC:
        if (!record->exec.left)
            return false;
        /* what it executes now is not metered */
        forget(commands, process_of(commands, header->stream));
        lookup_remove(&commands->threads, header->stream);
        return false;
    default:
        return false;
    }
}

bool commands_changed(struct commands *commands, uint64_t now, uint64_t age, uint64_t time,
                      struct name_record *ret_name)
{
    while (commands->next < commands->list.used) {
        struct command *command = pool_at(&commands->list, commands->next++);
        if (command->process == 0 || (command->looked_for && age > 0) || now < command->since + age)
            continue;
        command->looked_for = true;
        bool same = is_same(command);
        if (same && commands->looks_at != NULL)
            commands->looks_at(commands->context, command->process, (pid_t)command->pid);
        if (look(command, time, ret_name))
            return true;
        if (!same)
            forget(commands, command->process);
    }
    commands->next = 0;
    return false;
}

void commands_done(struct commands *commands)
{
    lookup_done(&commands->processes);
    lookup_done(&commands->threads);
    pool_done(&commands->list);
    memset(commands, 0, sizeof(*commands));
}
