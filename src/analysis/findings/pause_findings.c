/* SPDX-License-Identifier: MIT */
/* pause_findings.c: processes that did not answer for a while. See findings.h and pauses.h. */
#include "analysis/findings/findings_private.h"

#include <errno.h>

#define BUSY_SMALL 0.05 /* of the elapsed time */

static uint32_t row_of(const struct communication *communication, const struct pause_row *row)
{
    for (uint32_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].origin == row->origin &&
            communication->processes[i].stream == row->stream)
            return i;
    return NO_PROCESS;
}

/* The row with the most time of a kind that is less than `below`; NULL: none. */
static const struct pause_row *next_most(const struct pauses *pauses, bool stops, uint64_t below)
{
    const struct pause_row *best = NULL;
    uint64_t most = 0;

    for (size_t i = 0; i < pauses->count; i++) {
        uint64_t time = stops ? pauses->rows[i].stopped : pauses->rows[i].cpu;
        if (time > most && time < below) {
            best = &pauses->rows[i];
            most = time;
        }
    }
    return best;
}

static int find(const struct findings_from *from, bool stops, struct findings *findings)
{
    uint64_t below = UINT64_MAX;

    for (int found = 0; found < FINDINGS_FEW; found++) {
        const struct pause_row *row = next_most(from->pauses, stops, below);
        if (row == NULL)
            return 0;
        below = stops ? row->stopped : row->cpu;
        double share = findings_share(below, from->communication->duration);
        if (share < (stops ? FINDING_SMALL : BUSY_SMALL))
            return 0;
        struct finding *finding =
            findings_add(findings, stops ? FINDING_STOPPED : FINDING_BUSY, share);
        if (finding == NULL)
            return -ENOMEM;
        finding->pause.row = row;
        finding->pause.process = row_of(from->communication, row);
    }
    return 0;
}

int findings_of_pauses(const struct findings_from *from, struct findings *findings)
{
    if (from->pauses == NULL)
        return 0;
    int result = find(from, true, findings);
    return result < 0 ? result : find(from, false, findings);
}
