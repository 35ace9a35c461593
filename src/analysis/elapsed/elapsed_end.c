/* SPDX-License-Identifier: MIT */
/* elapsed_end.c: the event with which the account ends: of the command, of the chosen process, or the last one. */
#include "analysis/elapsed/elapsed_private.h"

#include <string.h>

static void note_chosen(struct elapsed_analysis *analysis, const struct history_event *event,
                        uint32_t index)
{
    const struct identities *identities = history_identities(analysis->history);
    uint32_t origin = event->event.origin;
    const struct stream_record *identity =
        identities_stream(identities, origin, event->event.header->stream);
    uint64_t end = interval_at(analysis, index)->end;

    if (identity == NULL || end < analysis->root_time ||
        !analysis->chosen(analysis->context, origin, identity))
        return;
    analysis->root_time = end;
    analysis->root_end = index;
    analysis->root_pid = identity->pid;
    memcpy(analysis->root_name, identities_first_stream(identities, origin, identity)->name,
           STREAM_NAME_SIZE);
}

void elapsed_end_with(struct elapsed_analysis *analysis,
                      bool (*chosen)(void *context, uint32_t origin,
                                     const struct stream_record *stream),
                      void *context)
{
    analysis->chosen = chosen;
    analysis->context = context;
}

/* A signal ends the threads of a process in any order, all within moments: it ends with its first one, unless that one had
 * ended before. */
static uint32_t end_of_killed(const struct elapsed_analysis *analysis, uint32_t origin,
                              uint32_t process, uint32_t index)
{
    const struct elapsed_thread *first = elapsed_find_thread(analysis, origin, process);
    const struct interval *end =
        first == NULL || first->latest == 0 ? NULL : interval_at(analysis, first->latest);

    return end != NULL && end->terminates && interval_at(analysis, index)->end - end->end <= ENDING
               ? first->latest
               : index;
}

static void note_command(struct elapsed_analysis *analysis, const struct history_event *event,
                         uint32_t index)
{
    const struct identities *identities = history_identities(analysis->history);
    const struct record *record = (const struct record *)event->event.header;
    uint64_t end = interval_at(analysis, index)->end;
    uint32_t origin = event->event.origin;

    if (!command_see(&analysis->command, identities, &event->event))
        return;
    analysis->commands++;
    if (end < analysis->root_time) /* of several machines' commands the last one counts */
        return;
    const struct stream_record *identity =
        identities_stream(identities, origin, event->event.header->stream);
    bool is_killed = (record->termination.status & 0x7f) != 0;
    analysis->root_time = end;
    analysis->root_end =
        is_killed ? end_of_killed(analysis, origin, identity->process, index) : index;
    analysis->root_served =
        is_killed &&
        lookup_find(&analysis->servers, number_key(origin, identity->process)) != LOOKUP_NONE;
    analysis->root_pid = identity->pid;
    memcpy(analysis->root_name, identities_first_stream(identities, origin, identity)->name,
           STREAM_NAME_SIZE);
}

void elapsed_note_end(struct elapsed_analysis *analysis, const struct history_event *event,
                      uint32_t index)
{
    uint64_t end = interval_at(analysis, index)->end;

    if (end >= analysis->last_time) {
        analysis->last = index;
        analysis->last_time = end;
    }
    if (analysis->first == 0 || end < analysis->first)
        analysis->first = end;
    if (analysis->chosen != NULL)
        note_chosen(analysis, event, index);
    else
        note_command(analysis, event, index);
}
