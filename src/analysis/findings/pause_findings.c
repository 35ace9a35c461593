/* SPDX-License-Identifier: MIT */
/* pause_findings.c: processes that did not answer for a while. See findings.h and pauses.h. */
#include "analysis/findings/findings_private.h"

#include <errno.h>

#define BUSY_SMALL 0.05 /* of the elapsed time */

static uint64_t time_of(const struct pause_row *row, enum finding_kind kind)
{
    switch (kind) {
    case FINDING_STOPPED:
        return row->stopped;
    case FINDING_BUSY:
        return row->cpu;
    case FINDING_COLLECTIONS:
        return row->collections.time;
    default:
        return row->blocked;
    }
}

/* The row with the most time of a kind that is less than `below`; NULL: none. */
static const struct pause_row *next_most(const struct pauses *pauses, enum finding_kind kind,
                                         uint64_t below)
{
    const struct pause_row *best = NULL;
    uint64_t most = 0;

    for (size_t i = 0; i < pauses->count; i++) {
        uint64_t time = time_of(&pauses->rows[i], kind);
        if (time > most && time < below) {
            best = &pauses->rows[i];
            most = time;
        }
    }
    return best;
}

/* A sentence on what the time was spent on says it already. */
static bool is_said(const struct findings *findings, const struct pause_row *row)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].kind == FINDING_JVM_STOP && findings->list[i].runtime.probed == row)
            return true;
    return false;
}

static int find(const struct findings_from *from, enum finding_kind kind, struct findings *findings)
{
    uint64_t below = UINT64_MAX;

    for (int found = 0; found < FINDINGS_FEW; found++) {
        const struct pause_row *row = next_most(from->pauses, kind, below);
        if (row == NULL)
            return 0;
        below = time_of(row, kind);
        double share = findings_share(below, from->communication->duration);
        if (share < (kind == FINDING_STOPPED ? FINDING_SMALL : BUSY_SMALL))
            return 0;
        if (kind == FINDING_COLLECTIONS && is_said(findings, row))
            continue;
        struct finding *finding = findings_add(findings, kind, share);
        if (finding == NULL)
            return -ENOMEM;
        finding->pause.row = row;
        finding->pause.process = findings_row_of(from->communication, row->origin, row->stream);
    }
    return 0;
}

int findings_of_pauses(const struct findings_from *from, struct findings *findings)
{
    if (from->pauses == NULL)
        return 0;
    int result = find(from, FINDING_STOPPED, findings);
    if (result == 0)
        result = find(from, FINDING_BLOCKED, findings);
    if (result == 0)
        result = find(from, FINDING_COLLECTIONS, findings);
    return result < 0 ? result : find(from, FINDING_BUSY, findings);
}
