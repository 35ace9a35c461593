/* SPDX-License-Identifier: MIT */
/* strangers.c: ends that may be each other's partner although their addresses differ. See strangers.h. */
#include "history/strangers.h"

/* `peer`: the kernel has said which socket its other end is, and that is not recorded. A connection that is older than its
 * recording, and has no direction, could be anybody's. */
static bool is_stranger(const struct end *end)
{
    if (end->record == NULL || end->partner != NULL || end->is_copy)
        return false;
    if (end->kind == PATH_TCP)
        return end->record->peer == 0 && (end->record->role != PATH_ROLE_UNKNOWN ||
                                          (end->record->header.flags & RECORD_COUNTED));
    return end->kind == PATH_UDP;
}

static uint32_t *count_of(struct strangers *strangers, const struct end *end)
{
    return &strangers->ends[end->kind == PATH_UDP][end->is_identified][end->is_answering];
}

void strangers_note(struct history *history, struct end *end)
{
    if (end->is_stranger || !is_stranger(end))
        return;
    end->is_answering = end->record->role == PATH_ROLE_UNKNOWN
                            ? !end->has_sent
                            : end->record->role == PATH_ROLE_ACCEPTED;
    end->is_identified = joiner_knows_starts(end->record);
    end->is_stranger = true;
    ++*count_of(&history->strangers, end);
}

void strangers_note_connection(struct history *history, struct end *end)
{
    if (end->kind == PATH_TCP)
        strangers_note(history, end);
}

void strangers_joined(struct history *history, struct end *end)
{
    if (end->is_stranger)
        --*count_of(&history->strangers, end);
    end->is_stranger = false;
}

bool strangers_are_kept(const struct history *history, const struct end *end)
{
    return end->is_stranger && history->origins[end->origin].meter == METER_PTRACE;
}

bool strangers_may_be_partners(const struct history *history, const struct end *end)
{
    if (!end->is_stranger || end->partner != NULL)
        return false;
    const uint32_t(*ends)[2] = history->strangers.ends[end->kind == PATH_UDP];
    return ends[0][!end->is_answering] > 0 ||
           (!end->is_identified && ends[1][!end->is_answering] > 0);
}
