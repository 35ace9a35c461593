/* SPDX-License-Identifier: MIT */
/* file_findings.c: processes that spent much of the elapsed time in reads and writes of files. See findings.h. */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <stdlib.h>

#define FILES_SMALL 0.05 /* of the elapsed time */

struct file_time {
    uint32_t process;
    uint64_t files;
    struct file_figures reads, writes;
};

static void add_use(struct file_figures *sum, const struct file_use *use)
{
    sum->bytes += use->bytes;
    sum->time += histogram_sum(&use->times);
}

/* Several threads may be in calls at the same time. */
static void leave_out_overlaps(struct file_time *sum, const struct covered_times *covered)
{
    sum->reads.time = smaller_of(sum->reads.time, covered->reads);
    sum->writes.time = smaller_of(sum->writes.time, covered->writes);
}

static uint64_t time_of(const struct file_time *sum)
{
    return sum->reads.time + sum->writes.time;
}

static int compare_times(const void *left, const void *right)
{
    const struct file_time *a = left, *b = right;

    if (time_of(a) != time_of(b))
        return time_of(a) > time_of(b) ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static int add_finding(const struct file_time *sum, double weight, struct findings *findings)
{
    struct finding *finding = findings_add(findings, FINDING_FILES, weight);

    if (finding == NULL)
        return -ENOMEM;
    finding->files.process = sum->process;
    finding->files.count = sum->files;
    finding->files.reads = sum->reads;
    finding->files.writes = sum->writes;
    return 0;
}

int findings_of_files(const struct findings_from *from, struct findings *findings)
{
    const struct communication *communication = from->communication;
    int result = 0;

    if (communication->file_count == 0)
        return 0;
    struct file_time *sums = calloc(communication->process_count + 1, sizeof(*sums));
    if (sums == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < communication->process_count; i++)
        sums[i].process = (uint32_t)i;
    for (size_t i = 0; i < communication->file_count; i++) {
        const struct communication_file *file = &communication->files[i];
        if (file->process == NO_PROCESS)
            continue;
        sums[file->process].files++;
        add_use(&sums[file->process].reads, &file->reads);
        add_use(&sums[file->process].writes, &file->writes);
    }
    for (size_t i = 0; i < communication->process_count; i++)
        leave_out_overlaps(&sums[i], &communication->processes[i].covered);
    qsort(sums, communication->process_count, sizeof(*sums), compare_times);
    for (size_t i = 0; i < communication->process_count && i < FINDINGS_FEW && result == 0; i++) {
        double weight = findings_share(time_of(&sums[i]), communication->duration);
        if (weight >= FILES_SMALL)
            result = add_finding(&sums[i], weight, findings);
    }
    free(sums);
    return result;
}
