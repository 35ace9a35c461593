/* SPDX-License-Identifier: MIT */
/* command_seen.c: the process that a recording was made for. See command_seen.h. */
#include "analysis/command_seen.h"

static void note_first(struct command_of_origin *seen, const struct identities *identities,
                       uint32_t origin, const struct record_header *header)
{
    if (header->stream != 1 || seen->has_acted || header->id == EVENT_STARTPROCESS ||
        header->id == EVENT_STOPPROCESS)
        return;
    seen->has_acted = true;
    const struct stream_record *identity = identities_stream(identities, origin, 1);
    if (header->id == EVENT_EXEC && identity != NULL && identity->parent == 0)
        seen->process = identity->process;
}

bool command_see(struct command_seen *seen, const struct identities *identities,
                 const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (event->origin >= COMMANDS_MOST)
        return false;
    struct command_of_origin *of = &seen->of[event->origin];
    note_first(of, identities, event->origin, &record->header);
    if (of->process == 0 || record->header.id != EVENT_TERMINATION || !record->termination.last)
        return false;
    const struct stream_record *identity =
        identities_stream(identities, event->origin, record->header.stream);
    return identity != NULL && identity->process == of->process;
}
