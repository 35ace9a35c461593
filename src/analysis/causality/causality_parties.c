/* SPDX-License-Identifier: MIT */
/*
 * causality_parties.c: participants: streams, processes and their roles, ends of paths and their sides.
 *
 *      (origin, stream) --> stream --> process --> member       live ones; members are remembered
 *      (origin, path)   --> end
 *
 * A process becomes a server process when it uses an end that serves: one that accepted, or that got the first message.
 * Until then it is a requestor. (With `servers` only the listed ones are server processes.)
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- cache, by the history's indexes ---- */

/* Returns the index. LOOKUP_NONE: it must be looked up. */
static uint32_t index_at(const struct places *places, uint32_t place)
{
    return place < places->capacity ? places->at[place] - 1 : LOOKUP_NONE;
}

/* Without memory for it, it will be looked up again. */
static void note_place(struct places *places, uint32_t place, uint32_t index)
{
    if (place != 0 &&
        array_reserve(&places->at, &places->capacity, place + 1UL, sizeof(*places->at)) == 0)
        places->at[place] = index + 1;
}

/* ---- ends ---- */

static enum side side_of(struct causality_analysis *analysis, const struct path_record *path)
{
    static const enum side sides[] = {
        [PATH_SIDE_UNKNOWN] = SIDE_UNKNOWN,
        [PATH_SIDE_CALLS] = SIDE_CALLS,
        [PATH_SIDE_SERVES] = SIDE_SERVES,
    };
    bool guessed;
    enum path_side side = path_side(path, &guessed);

    analysis->sums.assumed_sides += guessed;
    return sides[side];
}

static void describe_end(struct causality_analysis *analysis, struct causality_end *end,
                         const struct path_record *path)
{
    end->number = path->path;
    end->side = (uint8_t)side_of(analysis, path);
    end->is_pipe = kind_is_pipe(path->kind);
    end->is_bytes = end->is_pipe || path->kind == PATH_TCP || path->kind == PATH_UNIX_STREAM ||
                    path->kind == PATH_BYTE_CHANNEL;
    end->older = (path->header.flags & RECORD_OLDER) != 0;
}

/* Returns 0, with NULL if the path is not known, or -ENOMEM. */
static int look_up_end(struct causality_analysis *analysis, uint32_t origin, uint32_t number,
                       struct causality_end **ret_end)
{
    uint64_t key = number_key(origin, number);
    uint32_t found = lookup_find(&analysis->end_numbers, key);

    if (found != LOOKUP_NONE) {
        *ret_end = pool_at(&analysis->ends, found);
        return 0;
    }
    const struct path_record *path =
        identities_path(history_identities(analysis->history), origin, number);
    *ret_end = NULL;
    if (path == NULL)
        return 0;
    int64_t index = pool_take(&analysis->ends);
    if (index < 0 || lookup_set(&analysis->end_numbers, key, (uint32_t)index) < 0)
        return -ENOMEM;
    *ret_end = pool_at(&analysis->ends, (uint32_t)index);
    (*ret_end)->index = (uint32_t)index;
    (*ret_end)->origin = origin;
    describe_end(analysis, *ret_end, path);
    return 0;
}

/* The same, with the cache. */
static int find_end(struct causality_analysis *analysis, const struct history_event *event,
                    uint32_t number, struct causality_end **ret_end)
{
    uint32_t index = index_at(&analysis->end_places, event->end_place);

    if (index != LOOKUP_NONE) {
        *ret_end = pool_at(&analysis->ends, index);
        if ((*ret_end)->number == number && (*ret_end)->origin == event->event.origin)
            return 0;
    }
    int result = look_up_end(analysis, event->event.origin, number, ret_end);
    if (result == 0 && *ret_end != NULL)
        note_place(&analysis->end_places, event->end_place, (*ret_end)->index);
    return result;
}

int parties_forget_end(struct causality_analysis *analysis, uint32_t origin, uint32_t path)
{
    uint64_t key = number_key(origin, path);
    uint32_t found = lookup_find(&analysis->end_numbers, key);

    if (found == LOOKUP_NONE)
        return 0;
    struct causality_end *end = pool_at(&analysis->ends, found);
    uint32_t life = end->life + 1;
    int result = end->from_requestor ? requests_pass(analysis, end->entry) : 0;
    parties_close(analysis, end);
    lookup_remove(&analysis->end_numbers, key);
    pool_give(&analysis->ends, found);
    end->life = life;
    return result;
}

/* ---- processes and streams ---- */

static const struct stream_record *identity_of(const struct causality_analysis *analysis,
                                               uint32_t origin, uint32_t stream)
{
    return identities_stream(history_identities(analysis->history), origin, stream);
}

static bool is_named(const struct causality_options *options, const struct member *member)
{
    for (size_t i = 0; i < options->server_count; i++)
        if (process_is_meant(options->servers[i], member->pid, member->name))
            return true;
    return false;
}

/* Its first message: from now on it has a row in the result. Its name may have changed before. */
static int note_member(struct causality_analysis *analysis, struct causality_live_process *process)
{
    const struct stream_record *stream = identity_of(analysis, process->origin, process->number);
    struct member member = {
        .origin = process->origin, .number = process->number, .letter = LETTER_OTHERS};

    if (stream != NULL) {
        member.pid = stream->pid;
        memcpy(member.name, stream->name, sizeof(member.name));
    }
    process->known = true;
    if (analysis->member_count < MEMBERS_MOST) {
        if (array_reserve(&analysis->members, &analysis->member_capacity,
                          analysis->member_count + 1UL, sizeof(member)) < 0)
            return -ENOMEM;
        process->member = analysis->member_count++;
        analysis->members[process->member] = member;
    }
    return is_named(&analysis->options, &member) ? parties_become_server(analysis, process) : 0;
}

static int new_process(struct causality_analysis *analysis, uint32_t origin, uint32_t number)
{
    int64_t index = pool_take(&analysis->processes);

    if (index < 0 ||
        lookup_set(&analysis->process_numbers, number_key(origin, number), (uint32_t)index) < 0)
        return -ENOMEM;
    struct causality_live_process *process = pool_at(&analysis->processes, (uint32_t)index);
    process->index = (uint32_t)index;
    process->origin = origin;
    process->number = number;
    process->member = NO_MEMBER;
    process->letter = LETTER_OTHERS;
    return 0;
}

static int find_process(struct causality_analysis *analysis, uint32_t origin, uint32_t number,
                        struct causality_live_process **ret_process)
{
    uint64_t key = number_key(origin, number);
    uint32_t found = lookup_find(&analysis->process_numbers, key);

    if (found == LOOKUP_NONE) {
        if (new_process(analysis, origin, number) < 0)
            return -ENOMEM;
        found = lookup_find(&analysis->process_numbers, key);
    }
    *ret_process = pool_at(&analysis->processes, found);
    return 0;
}

/* A stream whose identity was lost counts as a process of its own. */
static int look_up_stream(struct causality_analysis *analysis, uint32_t origin, uint32_t number,
                          struct causality_stream **ret_stream)
{
    uint64_t key = number_key(origin, number);
    uint32_t found = lookup_find(&analysis->stream_numbers, key);
    struct causality_live_process *process;

    if (found != LOOKUP_NONE) {
        *ret_stream = pool_at(&analysis->streams, found);
        return 0;
    }
    const struct stream_record *identity = identity_of(analysis, origin, number);
    int64_t index = pool_take(&analysis->streams);
    if (index < 0 || lookup_set(&analysis->stream_numbers, key, (uint32_t)index) < 0 ||
        find_process(analysis, origin, identity == NULL ? number : identity->process, &process) < 0)
        return -ENOMEM;
    *ret_stream = pool_at(&analysis->streams, (uint32_t)index);
    (*ret_stream)->index = (uint32_t)index;
    (*ret_stream)->origin = origin;
    (*ret_stream)->number = number;
    (*ret_stream)->process = process->index;
    process->streams++;
    return 0;
}

static int find_stream(struct causality_analysis *analysis, const struct history_event *event,
                       struct causality_stream **ret_stream)
{
    uint32_t index = index_at(&analysis->stream_places, event->stream_place);
    uint32_t number = event->event.header->stream;

    if (index != LOOKUP_NONE) {
        *ret_stream = pool_at(&analysis->streams, index);
        if ((*ret_stream)->number == number && (*ret_stream)->origin == event->event.origin)
            return 0;
    }
    int result = look_up_stream(analysis, event->event.origin, number, ret_stream);
    if (result == 0)
        note_place(&analysis->stream_places, event->stream_place, (*ret_stream)->index);
    return result;
}

static void forget_process(struct causality_analysis *analysis, uint32_t index)
{
    struct causality_live_process *process = pool_at(&analysis->processes, index);
    uint32_t life = process->life + 1;

    lookup_remove(&analysis->process_numbers, number_key(process->origin, process->number));
    pool_give(&analysis->processes, index);
    process->life = life;
}

void parties_forget_stream(struct causality_analysis *analysis, uint32_t origin, uint32_t number,
                           bool last)
{
    uint64_t key = number_key(origin, number);
    uint32_t found = lookup_find(&analysis->stream_numbers, key);

    if (found == LOOKUP_NONE)
        return;
    struct causality_stream *stream = pool_at(&analysis->streams, found);
    struct causality_live_process *process = pool_at(&analysis->processes, stream->process);
    uint32_t life = stream->life + 1;
    analysis->past_steps -= stream->past_capacity;
    free(stream->past);
    process->open -= stream->open; /* ends notice by the stream's life */
    lookup_remove(&analysis->stream_numbers, key);
    pool_give(&analysis->streams, found);
    stream->life = life;
    process->ended |= last; /* its other streams may be silent for long */
    if (--process->streams == 0 && process->ended)
        forget_process(analysis, process->index);
}

static void prefetch_step(const struct causality_analysis *analysis, const struct sent_value *value)
{
    if (value != NULL && value->step.index_and_1 != 0)
        __builtin_prefetch(pool_at(&analysis->steps, value->step.index_and_1 - 1));
}

int parties_find(struct causality_analysis *analysis, const struct history_event *event,
                 struct causality_event *ret_at)
{
    const struct record *record = (const struct record *)event->event.header;

    for (uint32_t i = 0; i < event->edge_count; i++)
        prefetch_step(analysis, causality_value(analysis, event->edges[i].value));
    *ret_at = (struct causality_event){.event = event, .record = record};
    if (find_end(analysis, event, record->message.path, &ret_at->end) < 0 ||
        find_stream(analysis, event, &ret_at->stream) < 0)
        return -ENOMEM;
    ret_at->process = pool_at(&analysis->processes, ret_at->stream->process);
    return 0;
}

/* ---- roles ---- */

/* The process's letter, which is shared by name with by_program. Returns the letter or -ENOMEM. */
static int64_t letter_for(struct causality_analysis *analysis, const struct member *member)
{
    uint64_t key = hash_bytes(0, member->name, strnlen(member->name, sizeof(member->name)));
    uint32_t letter =
        !analysis->options.by_program ? LOOKUP_NONE : lookup_find(&analysis->program_letters, key);

    if (letter != LOOKUP_NONE)
        return letter;
    if (analysis->letter_count >= CAUSALITY_LETTERS_MOST)
        return LETTER_OTHERS;
    letter = analysis->letter_count++;
    if (analysis->options.by_program && lookup_set(&analysis->program_letters, key, letter) < 0)
        return -ENOMEM;
    return letter;
}

int parties_become_server(struct causality_analysis *analysis,
                          struct causality_live_process *process)
{
    if (process->role == ROLE_SERVER)
        return 0;
    process->role = ROLE_SERVER;
    if (process->member == NO_MEMBER)
        return 0;
    struct member *member = &analysis->members[process->member];
    int64_t letter = letter_for(analysis, member);
    if (letter < 0)
        return -ENOMEM;
    analysis->sums.requests_of_later_servers += member->requests;
    member->role = ROLE_SERVER;
    member->letter = process->letter = (uint16_t)letter;
    return 0;
}

int parties_take_part(struct causality_analysis *analysis, const struct causality_event *at)
{
    struct causality_live_process *process = at->process;

    if (at->end->side == SIDE_UNKNOWN) { /* the first sender calls */
        at->end->side = at->record->header.id == EVENT_RECEIVE ? SIDE_SERVES : SIDE_CALLS;
        analysis->sums.assumed_sides++;
    }
    if (!process->known && note_member(analysis, process) < 0)
        return -ENOMEM;
    if (process->role == ROLE_SERVER || at->end->side != SIDE_SERVES)
        return 0;
    if (analysis->options.server_count == 0)
        return parties_become_server(analysis, process);
    process->role = ROLE_SYSTEM;
    if (process->member != NO_MEMBER)
        analysis->members[process->member].role = ROLE_SYSTEM;
    return 0;
}

/* The name of a process is that of its main thread. A new name may be one of `servers`. */
int parties_renamed(struct causality_analysis *analysis, const struct history_event *event)
{
    const struct stream_record *record = (const struct stream_record *)event->event.header;
    uint32_t found =
        lookup_find(&analysis->process_numbers, number_key(event->event.origin, record->process));

    if (found == LOOKUP_NONE || record->header.stream != record->process)
        return 0;
    struct causality_live_process *process = pool_at(&analysis->processes, found);
    if (process->member == NO_MEMBER)
        return 0;
    struct member *member = &analysis->members[process->member];
    member->pid = record->pid;
    memcpy(member->name, record->name, sizeof(member->name));
    return is_named(&analysis->options, member) ? parties_become_server(analysis, process) : 0;
}
