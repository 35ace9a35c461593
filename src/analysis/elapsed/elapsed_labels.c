/* SPDX-License-Identifier: MIT */
/* elapsed_labels.c: command lines, by which processes of one name differ; names of threads. See elapsed.h. */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The processes of all details, by origin and number. */
struct labelled {
    struct intern keys;
    struct named_process *at; /* [keys.count] */
    size_t room;
};

static int collect(const struct elapsed_analysis *analysis, struct labelled *processes)
{
    const struct identities *identities = history_identities(analysis->history);

    for (uint32_t i = 0; i < analysis->detail_keys.count; i++) {
        const struct detail *detail = &analysis->details[i];
        int64_t index =
            intern_add(&processes->keys, number_key(detail->origin, detail->process_number));
        if (index < 0 || array_reserve(&processes->at, &processes->room, (size_t)index + 1,
                                       sizeof(*processes->at)) < 0)
            return -ENOMEM;
        processes->at[index] = (struct named_process){
            .name = detail->process, /* that of its latest program */
            .command = identities_command(identities, detail->origin, detail->process_number)};
    }
    return processes_find_alike(processes->at, processes->keys.count);
}

/* A thread names itself after its first events; with another program it gets another name. */
static void name_thread(const struct elapsed_analysis *analysis, struct detail *detail)
{
    const struct stream_record *identity =
        identities_stream(history_identities(analysis->history), detail->origin, detail->stream);

    if (identity == NULL || identity->pid != detail->pid || identity->tid != detail->tid ||
        identity->tid == identity->pid || identity->image != detail->image)
        return;
    memset(detail->thread, 0, sizeof(detail->thread));
    if (memcmp(detail->process, identity->name, STREAM_NAME_SIZE) != 0)
        memcpy(detail->thread, identity->name, STREAM_NAME_SIZE);
}

static bool has_several_machines(const struct elapsed_analysis *analysis)
{
    for (uint32_t i = 1; i < analysis->detail_keys.count; i++)
        if (history_machine(analysis->history, analysis->details[i].origin) !=
            history_machine(analysis->history, analysis->details[0].origin))
            return true;
    return false;
}

void elapsed_machine_of(const struct elapsed_analysis *analysis, uint32_t origin,
                        char text[MACHINE_NAME_SIZE + 1])
{
    const struct machine_record *machine =
        analysis->several_machines
            ? identities_machine(history_identities(analysis->history), origin)
            : NULL;

    snprintf(text, MACHINE_NAME_SIZE + 1, "%.*s", MACHINE_NAME_SIZE,
             machine == NULL ? "" : machine->name);
}

int elapsed_find_labels(struct elapsed_analysis *analysis)
{
    struct labelled processes = {0};
    int result = collect(analysis, &processes);

    analysis->several_machines = has_several_machines(analysis);
    for (uint32_t i = 0; i < analysis->detail_keys.count && result == 0; i++) {
        struct detail *detail = &analysis->details[i];
        name_thread(analysis, detail);
        int64_t index =
            intern_find(&processes.keys, number_key(detail->origin, detail->process_number));
        const struct named_process *process = &processes.at[index];
        if (process->alike && process->command != NULL &&
            strcmp(detail->process, process->name) == 0)
            process_label(detail->process, process->command, detail->label);
    }
    intern_done(&processes.keys);
    free(processes.at);
    return result;
}
