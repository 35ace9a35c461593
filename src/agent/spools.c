/* SPDX-License-Identifier: MIT */
/*
 * spools.c: traces that an agent has left because it was killed, or ended before all was sent.
 *
 *      agents/s1.5f0c81d2/r1   of this session: its next agent publishes the rest
 *      agents/s0.92aa07e1      of another session, and no agent runs: removed after a week
 */
#include "agent/agent_private.h"
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_FOR (7 * 24 * 3600) /* s */

/* Some file systems give no type of entries. */
static bool is_folder(DIR *folder, const char *name)
{
    struct stat status;

    return name[0] != '.' && fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

static void adopt(struct agent *agent, const char *name)
{
    struct trace_repair repair;
    struct problem problem;
    struct agent_recording *recording = recordings_add(agent, name, &problem);

    if (recording == NULL)
        return;
    recording->begun = recording->ended = true;
    recording->recording.reason = END_REPAIRED;
    if (trace_repair(recording->path, &repair, &problem) < 0)
        recordings_say(problem.text, recording);
    recordings_tell_ended(recording, "agent", "the agent ended before all was sent");
}

void spools_adopt(struct agent *agent)
{
    DIR *folder = opendir(agent->folder);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (fabric_name_valid(entry->d_name) && is_folder(folder, entry->d_name))
            adopt(agent, entry->d_name);
    if (folder != NULL)
        closedir(folder);
}

static void remove_if_old(const char *session)
{
    char path[AGENT_PATH + 8];

    if (time(NULL) - folder_changed(session) < KEPT_FOR)
        return;
    snprintf(path, sizeof(path), "%s/lock", session);
    int lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool free = lock < 0 ? errno == ENOENT : flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (free) /* else its agent runs */
        folder_remove(session);
    if (lock >= 0)
        close(lock);
}

/* The folder of a session is called NAME.ID, which is no name of the fabric. */
void spools_remove_old(const char *sessions)
{
    DIR *folder = opendir(sessions);
    const struct dirent *entry;
    char path[AGENT_PATH];

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (is_folder(folder, entry->d_name) &&
            snprintf(path, sizeof(path), "%s/%s", sessions, entry->d_name) < AGENT_PATH)
            remove_if_old(path);
    if (folder != NULL)
        closedir(folder);
}
