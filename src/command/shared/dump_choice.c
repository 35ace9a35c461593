/* SPDX-License-Identifier: MIT */
/* dump_choice.c: which records `dpm dump` shows. See dump_choice.h. */
#include "command/shared/dump_choice.h"
#include "command/shared/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Types of records with a path. */
#define PATH_TYPES                                                                                 \
    (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVECALL) |         \
     EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_CREATEPATH) |  \
     EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT) | EVENT_FLAG(EVENT_DESTROYPATH) |        \
     EVENT_FLAG(EVENT_PATH) | EVENT_FLAG(EVENT_DROPPED) | EVENT_FLAG(EVENT_NETWORK) |              \
     EVENT_FLAG(EVENT_CONNECTFAILED) | EVENT_FLAG(EVENT_READ) | EVENT_FLAG(EVENT_WRITE))

/* Types of records without a stream. */
#define STREAMLESS_TYPES                                                                           \
    ((EVENT_IDENTITY_FLAGS & ~EVENT_FLAG(EVENT_STREAM)) | EVENT_FLAG(EVENT_END) |                  \
     EVENT_FLAG(EVENT_DROPPED) | EVENT_FLAG(EVENT_NETWORK) | EVENT_FLAG(EVENT_COST) |              \
     EVENT_FLAG(EVENT_FLAGS) | EVENT_FLAG(EVENT_SUMMARY) | EVENT_FLAG(EVENT_CGROUP) |              \
     EVENT_FLAG(EVENT_CLASS) | EVENT_FLAG(EVENT_DECISION))

/* ---- options ---- */

static bool read_number(const char *text, uint32_t *ret_number)
{
    uint64_t number = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
        if (number > UINT32_MAX)
            return false;
    }
    *ret_number = (uint32_t)number;
    return true;
}

static int add_wanted(struct wanted_list *list, const char *option, const char *text,
                      struct problem *problem)
{
    struct wanted wanted = {.text = text};

    if (*text == '\0')
        return problem_set(problem, -EINVAL, "%s needs a value", option);
    wanted.is_number = read_number(text, &wanted.number);
    if (array_reserve(&list->items, &list->capacity, list->count + 1, sizeof(*list->items)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    list->items[list->count++] = wanted;
    return 0;
}

int dump_choice_process(struct dump_choice *choice, const char *text, struct problem *problem)
{
    return add_wanted(&choice->processes, "--process", text, problem);
}

int dump_choice_user(struct dump_choice *choice, const char *text, struct problem *problem)
{
    return add_wanted(&choice->users, "--user", text, problem);
}

int dump_choice_container(struct dump_choice *choice, const char *text, struct problem *problem)
{
    return add_wanted(&choice->containers, "--container", text, problem);
}

int dump_choice_path(struct dump_choice *choice, const char *text, struct problem *problem)
{
    return add_wanted(&choice->paths, "--path", text, problem);
}

const char *dump_choice_type_word(size_t index)
{
    for (unsigned id = 0; id < EVENT_ID_END; id++)
        if (event_type(id) != NULL && index-- == 0)
            return event_type(id)->name;
    return NULL;
}

const char *dump_choice_kind_word(size_t index)
{
    unsigned kind = (unsigned)index + 1;

    return kind < PATH_KIND_END ? path_kind_name(kind) : kind == PATH_KIND_END ? "unix" : NULL;
}

static int unknown_type(const char *name, int length, struct problem *problem)
{
    char names[400] = "";
    size_t used = 0;
    const char *word;

    for (size_t i = 0; (word = dump_choice_type_word(i)) != NULL; i++) {
        size_t word_length = strlen(word);
        if (used + word_length + 3 > sizeof(names))
            continue;
        memcpy(names + used, " ", 1);
        memcpy(names + used + 1, word, word_length + 1);
        used += word_length + 1;
    }
    return problem_set(problem, -EINVAL, "--type '%.*s': unknown type; choose from:%s",
                       length < 40 ? length : 40, name, names);
}

int dump_choice_types(struct dump_choice *choice, const char *list, struct problem *problem)
{
    static const char separators[] = ", \t";
    uint64_t types = 0;

    for (const char *at = list + strspn(list, separators); *at != '\0';
         at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        char name[32] = "";
        if (length < sizeof(name))
            memcpy(name, at, length);
        const struct event_type *type = event_type_by_name(name);
        if (type == NULL)
            return unknown_type(at, (int)length, problem);
        types |= EVENT_FLAG(type->id);
        at += length;
    }
    if (types == 0)
        return problem_set(problem, -EINVAL, "--type: name a type of record");
    choice->types |= types;
    return 0;
}

int dump_choice_check(const struct dump_choice *choice, struct problem *problem)
{
    uint64_t types = choice->types == 0 ? UINT64_MAX : choice->types;

    if (choice->paths.count > 0 && (types & PATH_TYPES) == 0)
        return problem_set(
            problem, -EINVAL,
            "--path and --type exclude each other: records of these types have no path");
    const char *option = choice->processes.count > 0    ? "--process"
                         : choice->users.count > 0      ? "--user"
                         : choice->containers.count > 0 ? "--container"
                                                        : NULL;
    if (option != NULL && (types & ~STREAMLESS_TYPES) == 0)
        return problem_set(
            problem, -EINVAL,
            "%s and --type exclude each other: records of these types have no process", option);
    return 0;
}

/* ---- records ---- */

/* A stream, and what is known about it. */
struct known_stream {
    const struct identities *identities;
    uint32_t origin;
    const struct stream_record *record;
    const char *user_name; /* or NULL */
    const char *cgroup_name;
};

static bool process_matches(const struct wanted *wanted, const struct known_stream *known)
{
    const struct stream_record *stream = known->record;

    if (wanted->is_number && wanted->number == stream->tid)
        return true;
    return process_is_meant(wanted->text, stream->pid, stream->name) ||
           identities_process_is_named(known->identities, known->origin, stream, wanted->text);
}

static bool user_matches(const struct wanted *wanted, const struct known_stream *known)
{
    return (wanted->is_number && wanted->number == known->record->user) ||
           (known->user_name != NULL && strcmp(wanted->text, known->user_name) == 0);
}

/* By short name or path of the cgroup; an id may have more digits than the short name. */
static bool container_matches(const struct wanted *wanted, const struct known_stream *known)
{
    char name[CONTAINER_SIZE];

    if (known->cgroup_name == NULL)
        return false;
    container_name(known->cgroup_name, name);
    if (strcmp(wanted->text, name) == 0 || strcmp(wanted->text, known->cgroup_name) == 0)
        return true;
    return strncmp(wanted->text, name, strlen(name)) == 0 &&
           strstr(known->cgroup_name, wanted->text) != NULL;
}

/* "tcp", "unix-stream"; "unix" matches every kind that begins with "unix-". */
static bool kind_matches(const char *text, const char *kind)
{
    size_t length = strlen(text);

    return strncasecmp(text, kind, length) == 0 && (kind[length] == '\0' || kind[length] == '-');
}

static bool path_matches(const struct wanted *wanted, uint32_t number,
                         const struct path_record *path)
{
    char address[ENDPOINT_SIZE];

    if (wanted->is_number)
        return wanted->number == number;
    if (path == NULL)
        return false;
    if (kind_matches(wanted->text, path_kind_name(path->kind)))
        return true;
    endpoint_local(path, address);
    if (strstr(address, wanted->text) != NULL)
        return true;
    endpoint_remote(path, address);
    return strstr(address, wanted->text) != NULL;
}

typedef bool stream_matches(const struct wanted *wanted, const struct known_stream *known);

static bool accepts_stream(struct wanted_list *list, stream_matches *matches,
                           const struct known_stream *known)
{
    bool accepted = list->count == 0;

    for (size_t i = 0; known->record != NULL && i < list->count; i++) {
        struct wanted *wanted = &list->items[i];
        if (matches(wanted, known))
            accepted = wanted->met = true;
    }
    return accepted;
}

static struct known_stream find_stream(const struct identities *identities,
                                       const struct event *event)
{
    const struct record_header *header = event->header;
    bool has_stream = record_is_of_stream(header) && !(EVENT_FLAG(header->id) & STREAMLESS_TYPES);
    uint32_t number = has_stream ? header->stream : 0;
    struct known_stream known = {.identities = identities, .origin = event->origin};

    if (header->id == EVENT_SIGNAL && !has_stream) /* it is the receiver's, then */
        number = ((const struct record *)header)->signal.receiver;
    if (number != 0)
        known.record = identities_stream(identities, event->origin, number);
    if (known.record != NULL) {
        /* of a process that moves into another cgroup, its first stream's record says so */
        const struct stream_record *first =
            identities_stream(identities, event->origin, known.record->process);
        if (first == NULL || header->id == EVENT_STREAM)
            first = known.record;
        known.user_name = identities_user_name(identities, event->origin, known.record->user);
        known.cgroup_name = identities_cgroup_name(identities, event->origin, first->cgroup);
    }
    return known;
}

bool dump_choice_accepts_named(struct dump_choice *choice, uint32_t pid,
                               const char name[STREAM_NAME_SIZE], const char *command)
{
    bool accepted = choice->processes.count == 0;

    for (size_t i = 0; i < choice->processes.count; i++) {
        struct wanted *wanted = &choice->processes.items[i];
        if (process_is_named(wanted->text, pid, name, command))
            accepted = wanted->met = true;
    }
    return accepted;
}

bool dump_choice_accepts_process(struct dump_choice *choice, const struct identities *identities,
                                 uint32_t origin, const struct stream_record *first)
{
    return dump_choice_accepts_named(choice, first->pid,
                                     identities_first_stream(identities, origin, first)->name,
                                     identities_command(identities, origin, first->process));
}

/* Whether the record's process matches one of the options. */
static bool accepts_process(struct dump_choice *choice, const struct identities *identities,
                            const struct event *event)
{
    if (choice->processes.count + choice->users.count + choice->containers.count == 0)
        return true;
    struct known_stream known = find_stream(identities, event);
    bool process = accepts_stream(&choice->processes, process_matches, &known);
    bool user = accepts_stream(&choice->users, user_matches, &known);
    bool container = accepts_stream(&choice->containers, container_matches, &known);
    return process && user && container;
}

bool dump_choice_has_path(unsigned id)
{
    return (EVENT_FLAG(id) & PATH_TYPES) != 0;
}

bool dump_choice_accepts_path(struct dump_choice *choice, const struct identities *identities,
                              const struct event *event)
{
    uint32_t id = event->header->id;
    bool accepted = false;

    if (!dump_choice_has_path(id))
        return false;
    uint32_t number = id == EVENT_PATH ? ((const struct path_record *)event->header)->path
                                       : ((const struct record *)event->header)->message.path;
    const struct path_record *path = identities_path(identities, event->origin, number);
    for (size_t i = 0; i < choice->paths.count; i++) {
        struct wanted *wanted = &choice->paths.items[i];
        if (path_matches(wanted, number, path))
            accepted = wanted->met = true;
    }
    return accepted;
}

bool dump_choice_accepts(struct dump_choice *choice, const struct identities *identities,
                         const struct event *event)
{
    /* call all of them: each notes what it has matched */
    bool type = choice->types == 0 || (choice->types & EVENT_FLAG(event->header->id)) != 0;
    bool process = accepts_process(choice, identities, event);
    bool path = choice->paths.count == 0 || dump_choice_accepts_path(choice, identities, event);

    return type && process && path;
}

static bool say_unmet(const struct wanted_list *list, const char *option)
{
    bool any = false;

    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].met) {
            command_say("%s %s: nothing in the trace matches", option, list->items[i].text);
            any = true;
        }
    return any;
}

bool dump_choice_say_unmet(const struct dump_choice *choice)
{
    bool process = say_unmet(&choice->processes, "--process");
    bool user = say_unmet(&choice->users, "--user");
    bool container = say_unmet(&choice->containers, "--container");
    bool path = say_unmet(&choice->paths, "--path");

    return process || user || container || path;
}

void dump_choice_done(struct dump_choice *choice)
{
    free(choice->processes.items);
    free(choice->users.items);
    free(choice->containers.items);
    free(choice->paths.items);
    memset(choice, 0, sizeof(*choice));
}
