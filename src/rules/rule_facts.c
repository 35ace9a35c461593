/* SPDX-License-Identifier: MIT */
/* rule_facts.c: whether a condition on a stream, path or machine holds. What is not known makes it false. */
#include "rules/rules_private.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool rule_compares(enum rule_operator relation, uint64_t left, uint64_t right, bool is_signed)
{
    /* moves negative numbers below the others */
    const uint64_t sign = is_signed ? 1ull << 63 : 0;

    left ^= sign;
    right ^= sign;
    switch (relation) {
    case RULE_EQUAL:
        return left == right;
    case RULE_UNEQUAL:
        return left != right;
    case RULE_LESS:
        return left < right;
    case RULE_GREATER:
        return left > right;
    case RULE_AT_MOST:
        return left <= right;
    case RULE_AT_LEAST:
        return left >= right;
    default:
        return true;
    }
}

/* Texts are only equal or not. */
static bool is_as_asked(const struct rule_fact *fact, bool equal)
{
    return fact->relation == RULE_ANY || equal == (fact->relation == RULE_EQUAL);
}

static bool fits(const char *pattern, const char *text)
{
    return fnmatch(pattern, text, 0) == 0;
}

static bool is_named(const struct rule_fact *fact, const char *text)
{
    return text != NULL && is_as_asked(fact, fact->relation != RULE_ANY && fits(fact->text, text));
}

/* ---- streams ---- */

static bool process_fact(const struct rule_fact *fact, const struct identities *identities,
                         uint32_t origin, const struct stream_record *stream)
{
    const struct stream_record *first = identities_first_stream(identities, origin, stream);
    char name[STREAM_NAME_SIZE + 1] = "";

    if (fact->relation == RULE_ANY)
        return true;
    memcpy(name, first->name, STREAM_NAME_SIZE);
    return is_as_asked(fact, fits(fact->text, name) || identities_process_is_named(
                                                           identities, origin, stream, fact->text));
}

static bool command_fact(const struct rule_fact *fact, const char *command)
{
    if (command == NULL || fact->relation == RULE_ANY)
        return command != NULL;
    return is_as_asked(fact, fits(fact->text, command) || command_is_named(fact->text, command));
}

static bool container_fact(const struct rule_fact *fact, const char *cgroup)
{
    char name[CONTAINER_SIZE];

    if (cgroup == NULL || fact->relation == RULE_ANY)
        return cgroup != NULL;
    container_name(cgroup, name);
    return is_as_asked(fact, fits(fact->text, name) || fits(fact->text, cgroup));
}

static bool stream_number(enum fact fact, const struct stream_record *stream, uint64_t *ret_number)
{
    *ret_number = fact == FACT_PID    ? stream->pid
                  : fact == FACT_TID  ? stream->tid
                  : fact == FACT_USER ? stream->user
                                      : 0;
    return true;
}

/* The cgroup of a stream's process: when it moves, its first stream's record says so, for all of them. A thread that moves alone
 * counts with its process. */
static uint64_t cgroup_of(const struct identities *identities, uint32_t origin,
                          const struct stream_record *stream)
{
    const struct stream_record *first = identities_stream(identities, origin, stream->process);

    return first == NULL || stream->header.stream == stream->process ? stream->cgroup
                                                                     : first->cgroup;
}

bool rule_stream_fact(const struct rule_fact *fact, const struct identities *identities,
                      uint32_t origin, const struct stream_record *stream)
{
    uint64_t number, other = fact->number;

    switch (fact->fact) {
    case FACT_PROCESS:
        return process_fact(fact, identities, origin, stream);
    case FACT_COMMAND:
        return command_fact(fact, identities_command(identities, origin, stream->process));
    case FACT_PROGRAM:
        return is_named(fact, identities_program(identities, origin, stream->image));
    case FACT_CONTAINER:
        return container_fact(fact, identities_cgroup_name(identities, origin,
                                                           cgroup_of(identities, origin, stream)));
    default:
        break;
    }
    if (fact->fact == FACT_USER && !fact->is_number && !fact->has_other &&
        fact->relation != RULE_ANY)
        return is_named(fact, identities_user_name(identities, origin, stream->user));
    stream_number(fact->fact, stream, &number);
    if (fact->has_other)
        stream_number(fact->other, stream, &other);
    return rule_compares(fact->relation, number, other, false);
}

/* Command lines are known a moment after their processes. */
static bool process_is_known(const struct rule_fact *fact, const struct identities *identities,
                             uint32_t origin, const struct stream_record *stream)
{
    const struct rule_fact equal = {
        .fact = FACT_PROCESS, .relation = RULE_EQUAL, .text = fact->text};

    return fact->relation == RULE_ANY ||
           identities_command(identities, origin, stream->process) != NULL ||
           process_fact(&equal, identities, origin, stream);
}

bool rule_stream_fact_known(const struct rule_fact *fact, const struct identities *identities,
                            uint32_t origin, const struct stream_record *stream)
{
    switch (fact->fact) {
    case FACT_PROCESS:
        return process_is_known(fact, identities, origin, stream);
    case FACT_COMMAND:
        return identities_command(identities, origin, stream->process) != NULL;
    case FACT_PROGRAM:
        return identities_program(identities, origin, stream->image) != NULL;
    case FACT_CONTAINER:
        return identities_cgroup_name(identities, origin, cgroup_of(identities, origin, stream)) !=
               NULL;
    case FACT_USER:
        return fact->is_number || fact->has_other || fact->relation == RULE_ANY ||
               identities_user_name(identities, origin, stream->user) != NULL;
    default:
        return true;
    }
}

/* ---- paths ---- */

static bool peer_fact(const struct rule_fact *fact, const struct path_record *path)
{
    char whole[ENDPOINT_SIZE], address[ENDPOINT_SIZE];

    endpoint_remote(path, whole);
    if (strcmp(whole, "unknown") == 0)
        return false;
    strcpy(address, whole);
    char *port = strrchr(address, ':');
    if (kind_is_internet(path->kind) && port != NULL)
        *port = '\0';
    return is_as_asked(fact, fact->relation != RULE_ANY &&
                                 (fits(fact->text, whole) || fits(fact->text, address)));
}

static bool file_fact(const struct rule_fact *fact, const struct path_record *path)
{
    char name[PATH_NAME_SIZE + 1] = "";

    if ((path->kind != PATH_FILE && path->kind != PATH_FIFO) || path->name[0] == '\0')
        return false;
    memcpy(name, path->name, PATH_NAME_SIZE);
    return is_named(fact, name);
}

static bool kind_fact(const struct rule_fact *fact, const struct path_record *path)
{
    if (fact->is_number)
        return rule_compares(fact->relation, path->kind, fact->number, false);
    return is_named(fact, path_kind_name(path->kind));
}

static uint64_t port_of(enum fact fact, const struct path_record *path)
{
    return fact == FACT_REMOTE_PORT ? path->remote_port : path->local_port;
}

/* A port of 0 is none. */
static bool port_fact(const struct rule_fact *fact, const struct path_record *path)
{
    uint64_t local = path->local_port, remote = path->remote_port;

    if (!kind_is_internet(path->kind))
        return false;
    if (fact->fact != FACT_PORT) {
        uint64_t number = port_of(fact->fact, path);
        uint64_t other = fact->has_other ? port_of(fact->other, path) : fact->number;
        return number != 0 && (!fact->has_other || other != 0) &&
               rule_compares(fact->relation, number, other, false);
    }
    bool of_local = local != 0 && rule_compares(fact->relation, local, fact->number, false);
    bool of_remote = remote != 0 && rule_compares(fact->relation, remote, fact->number, false);
    /* unequal is the opposite of equal: neither end has it */
    return fact->relation == RULE_UNEQUAL ? local != fact->number && remote != fact->number
                                          : of_local || of_remote;
}

bool rule_path_fact(const struct rule_fact *fact, const struct path_record *path)
{
    switch (fact->fact) {
    case FACT_KIND:
        return kind_fact(fact, path);
    case FACT_PEER:
        return peer_fact(fact, path);
    case FACT_FILE:
        return file_fact(fact, path);
    default:
        return port_fact(fact, path);
    }
}

static bool has_ports(const struct path_record *path)
{
    return !kind_is_internet(path->kind) || (path->local_port != 0 && path->remote_port != 0);
}

bool rule_path_fact_known(const struct rule_fact *fact, const struct path_record *path)
{
    char remote[ENDPOINT_SIZE];

    switch (fact->fact) {
    case FACT_KIND:
        return true;
    case FACT_PEER:
        endpoint_remote(path, remote);
        return strcmp(remote, "unknown") != 0;
    case FACT_FILE:
        return (path->kind != PATH_FILE && path->kind != PATH_FIFO) || path->name[0] != '\0';
    default:
        return has_ports(path);
    }
}

/* ---- machines ---- */

bool rule_machine_fact(const struct rule_fact *fact, const struct machine_record *machine)
{
    char name[MACHINE_NAME_SIZE + 1] = "";

    memcpy(name, machine->name, MACHINE_NAME_SIZE);
    return is_named(fact, name);
}
