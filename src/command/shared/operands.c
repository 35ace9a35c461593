/* SPDX-License-Identifier: MIT */
/*
 * operands.c: the traces that a command line names. A directory that holds traces, such as the copies of a recording on
 * several machines, stands for all of them:
 *
 *      dpm report today/     today/db1/metadata     -->  dpm report today/db1 today/web1
 *                            today/web1/metadata
 */
#include "command/shared/command.h"

#include "trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The arguments with all traces; kept until the program ends, as argv is. */
static struct {
    char **at; /* [count], then NULL */
    size_t count, capacity;
} taken;

static int take(char *argument)
{
    if (argument == NULL ||
        array_reserve(&taken.at, &taken.capacity, taken.count + 2, sizeof(*taken.at)) < 0)
        return -ENOMEM;
    taken.at[taken.count++] = argument;
    return 0;
}

/* "a" and "b" as "a/b", which the caller frees; NULL: out of memory. */
static char *join(const char *directory, const char *name)
{
    size_t length = strlen(directory);
    char *joined;

    while (length > 1 && directory[length - 1] == '/')
        length--;
    return asprintf(&joined, "%.*s/%s", (int)length, directory, name) < 0 ? NULL : joined;
}

static bool is_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Whether a directory has a file whose name begins with `begin`. */
static bool has_file(const char *path, const char *begin)
{
    DIR *list = opendir(path);
    const struct dirent *entry;
    bool found = false;

    while (list != NULL && !found && (entry = readdir(list)) != NULL)
        found = strncmp(entry->d_name, begin, strlen(begin)) == 0;
    if (list != NULL)
        closedir(list);
    return found;
}

/* Takes a directory in a directory of traces: 1: it is a trace; 0: it is none, or nothing of it has arrived yet; or -ENOMEM.
 * One machine does not spoil the others. */
static int take_inner(const char *directory, const char *name)
{
    char *path = name[0] == '.' ? NULL : join(directory, name);
    bool is_trace = path != NULL && is_directory(path) && has_file(path, "metadata");

    if (name[0] == '.')
        return 0;
    if (is_trace && trace_has_records(path)) {
        int result = take(path);
        return result < 0 ? result : 1;
    }
    if (is_trace)
        command_say("%s: left out: it has no records yet", path);
    int result = path == NULL ? -ENOMEM : 0;
    free(path);
    return result;
}

/* Takes all traces in a directory, in the order of their names. Returns how many, or a negative errno. */
static int take_all_in(const char *directory)
{
    struct dirent **list;
    int count = scandir(directory, &list, NULL, alphasort), traces = 0;

    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        int result = traces < 0 ? 0 : take_inner(directory, list[i]->d_name);
        traces = result < 0 ? result : traces + result;
        free(list[i]);
    }
    free(list);
    return traces;
}

/* Takes an operand. What is neither a trace nor a directory of traces is taken, too: whoever opens it says why not. */
static int take_operand(char *name)
{
    if (!is_directory(name) || has_file(name, "metadata") || has_file(name, "control"))
        return take(name) < 0 ? command_error("out of memory") : -1;
    int traces = take_all_in(name);
    if (traces == 0)
        return command_error("%s: has no traces; name a trace, or a directory that holds some",
                             name);
    if (traces < 0)
        return command_error("%s: cannot be listed: %s", name, strerror(-traces));
    return -1;
}

int command_take_traces(const char *command, int *argc, char ***argv, int first)
{
    if (first == *argc)
        return command_usage_error(command, "name a trace");
    for (int i = 0; i < first; i++)
        if (take((*argv)[i]) < 0)
            return command_error("out of memory");
    for (int i = first; i < *argc; i++) {
        int status = take_operand((*argv)[i]);
        if (status >= 0)
            return status;
    }
    *argv = taken.at;
    *argc = (int)taken.count;
    return -1;
}
