/* SPDX-License-Identifier: MIT */
/* unpaired.c: ends that may be each other's partner although their addresses differ. See unpaired.h. */
#include "history/unpaired.h"

/* `peer`: the kernel has said which socket its other end is, and that is not recorded. A connection that is older than its
 * recording, and has no direction, could be anybody's. */
static bool is_unpaired(const struct end *end)
{
    if (end->record == NULL || end->partner != NULL || end->is_copy)
        return false;
    if (end->kind == PATH_TCP)
        return end->record->peer == 0 && (end->record->role != PATH_ROLE_UNKNOWN ||
                                          (end->record->header.flags & RECORD_COUNTED));
    return end->kind == PATH_UDP;
}

static uint32_t *count_of(struct unpaired *unpaired, const struct end *end)
{
    return &unpaired->ends[end->kind == PATH_UDP][end->is_identified][end->is_answering];
}

void unpaired_note(struct history *history, struct end *end)
{
    if (end->is_unpaired || !is_unpaired(end))
        return;
    end->is_answering = end->record->role == PATH_ROLE_UNKNOWN
                            ? !end->has_sent
                            : end->record->role == PATH_ROLE_ACCEPTED;
    end->is_identified = joiner_knows_starts(end->record);
    end->is_unpaired = true;
    ++*count_of(&history->unpaired, end);
}

void unpaired_note_connection(struct history *history, struct end *end)
{
    if (end->kind == PATH_TCP)
        unpaired_note(history, end);
}

void unpaired_joined(struct history *history, struct end *end)
{
    if (end->is_unpaired)
        --*count_of(&history->unpaired, end);
    end->is_unpaired = false;
}

bool unpaired_are_kept(const struct history *history, const struct end *end)
{
    return end->is_unpaired && history->origins[end->origin].meter == METER_PTRACE;
}

bool unpaired_may_be_partners(const struct history *history, const struct end *end)
{
    if (!end->is_unpaired || end->partner != NULL)
        return false;
    const uint32_t(*ends)[2] = history->unpaired.ends[end->kind == PATH_UDP];
    return ends[0][!end->is_answering] > 0 ||
           (!end->is_identified && ends[1][!end->is_answering] > 0);
}
