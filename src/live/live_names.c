/* SPDX-License-Identifier: MIT */
/* live_names.c: what processes, ends of pairs, and what is waited for are called in snapshots. See live.h. */
#include "live/live_private.h"

#include <stdio.h>
#include <string.h>

void live_name_process(const struct communication *all, const struct communication_process *process,
                       char name[LIVE_NAME_SIZE])
{
    const char *machine = all->machine_count > 1 && process->machine < all->machine_count
                              ? all->machines[process->machine].name
                              : NULL;
    char label[PROCESS_LABEL_SIZE] = "", plain[STREAM_NAME_SIZE + 1] = "";
    const char *at = machine == NULL ? "" : "@";

    memcpy(plain, process->name, STREAM_NAME_SIZE);
    if (process->named_alike && process->command != NULL)
        process_label(plain, process->command, label);
    else
        memcpy(label, plain, sizeof(plain));
    if (process->group != NULL)
        snprintf(name, LIVE_NAME_SIZE, "%.30s (%u)%s%.16s", process->group, process->group_size, at,
                 machine == NULL ? "" : machine);
    else
        snprintf(name, LIVE_NAME_SIZE, "%s[%u]%s%.16s", label[0] == '\0' ? "unknown" : label,
                 process->pid, at, machine == NULL ? "" : machine);
}

void live_name_party(const struct communication *all, const struct party *party,
                     char name[LIVE_NAME_SIZE])
{
    char first[LIVE_NAME_SIZE];

    if (party->count == 0) {
        snprintf(name, LIVE_NAME_SIZE, "%.*s", LIVE_NAME_SIZE - 1,
                 party->address == NULL ? "unknown" : party->address);
        return;
    }
    live_name_process(all, &all->processes[party->processes[0]], first);
    if (party->count == 1)
        memcpy(name, first, sizeof(first));
    else
        snprintf(name, LIVE_NAME_SIZE, "%.48s +%u", first, party->count - 1);
}

/* ---- waits ---- */

/* As the table of processes calls it; before it has a row there, by its own name. */
static void name_peer(const struct live *live, uint32_t origin, const struct stream_record *first,
                      uint32_t pid, char what[LIVE_WHAT_SIZE])
{
    bool shared;
    int64_t row = statistics_process_row(live->statistics, origin, first->process, &shared);

    if (row >= 0 && live->now != NULL && (size_t)row < live->now->process_count)
        live_name_process(live->now, &live->now->processes[row], what);
    else
        snprintf(what, LIVE_WHAT_SIZE, "%.*s[%u]", STREAM_NAME_SIZE, first->name, pid);
}

/* Whether it is a wait for another one, not for what the process chose itself. Which message came before a sleep says nothing of
 * the sleep. */
static bool has_partner(enum elapsed_kind kind)
{
    return kind != ELAPSED_TIMER && kind != ELAPSED_EVENT && kind != ELAPSED_DISK &&
           kind != ELAPSED_STOPPED;
}

void live_name_wait(const struct live *live, enum elapsed_kind kind, const struct live_about *about,
                    char what[LIVE_WHAT_SIZE])
{
    const struct identities *identities = history_identities(live->history);
    const struct live_end *partner =
        has_partner(kind) ? live_waits_partner(&live->waits, about) : NULL;
    const struct stream_record *peer =
        partner == NULL || partner->stream == 0
            ? NULL
            : identities_stream(identities, partner->origin, partner->stream);
    const struct path_record *path =
        about->path == 0 ? NULL : identities_path(identities, about->origin, about->path);
    char address[ENDPOINT_SIZE];
    const char *name = NULL;

    what[0] = '\0';
    if (peer != NULL) {
        const struct stream_record *first =
            identities_first_stream(identities, partner->origin, peer);
        name_peer(live, partner->origin, first, peer->pid, what);
    } else if (path != NULL && (has_partner(kind) || path->role == PATH_ROLE_LISTENS)) {
        if (path->role == PATH_ROLE_LISTENS)
            endpoint_local(path, address);
        else
            endpoint_remote(path, address);
        snprintf(what, LIVE_WHAT_SIZE, "%.*s", LIVE_WHAT_SIZE - 1, address);
    } else if (about->object != 0 &&
               identities_object(identities, about->origin, about->object, &name) !=
                   WAIT_ON_NOT_KNOWN &&
               name != NULL) {
        snprintf(what, LIVE_WHAT_SIZE, "%.*s", LIVE_WHAT_SIZE - 1, name);
    }
}
