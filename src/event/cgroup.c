/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c: opens the root of the cgroup2 hierarchy. In a cgroup namespace, as containers have, a mount shows only the
 * part below the namespace's root. So these are tried in turn:
 *
 *      a mount point of ours             if it is the machine's root
 *      a mount point of process 1        the same, if its files may be seen (docker --pid=host)
 *      a detached mount                  if cgroup2 is not mounted
 *      a mount point of ours             the container's part
 *
 * See event.h.
 */
#include "event/event.h"

#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PATH_SIZE 4096

bool cgroup_is_machine_root(int directory)
{
    struct stat status;

    return fstat(directory, &status) == 0 && status.st_ino == 1; /* its id */
}

/* If this line of mountinfo is a mount of a root cgroup, opens its directory. Otherwise returns -1. `of_machine`: only
 * the root of the whole hierarchy, not that of a cgroup namespace. */
static int open_mount(const char *line, const char *root_folder, bool of_machine)
{
    char root[16];
    char place[PATH_SIZE];
    char path[PATH_SIZE + 16];
    struct statfs system;

    if (strstr(line, " - cgroup2 ") == NULL ||
        sscanf(line, "%*s %*s %*s %15s %4095s", root, place) != 2 ||
        (!of_machine && strcmp(root, "/") != 0) ||
        !unescape_mount(place, strlen(place), place, sizeof(place)))
        return -1;
    snprintf(path, sizeof(path), "%s%s", root_folder, place);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0 &&
        (fstatfs(directory, &system) < 0 || system.f_type != CGROUP2_SUPER_MAGIC ||
         (of_machine && !cgroup_is_machine_root(directory)))) {
        close(directory); /* or something else is mounted over it */
        return -1;
    }
    return directory;
}

static int open_mounted(const char *mountinfo, const char *root_folder, bool of_machine)
{
    FILE *mounts = fopen(mountinfo, "re");
    char *line = NULL;
    size_t size = 0;
    int directory = -1;

    while (mounts != NULL && directory < 0 && getline(&line, &size, mounts) > 0)
        directory = open_mount(line, root_folder, of_machine);
    free(line);
    if (mounts != NULL)
        fclose(mounts);
    return directory;
}

/* The same with a detached mount, which disappears when its descriptor is closed. */
static int open_unattached(void)
{
    int context = fsopen("cgroup2", FSOPEN_CLOEXEC);
    int mount = -1;
    int directory = -1;

    if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
    if (mount >= 0) /* O_PATH: it serves neither reading nor open_by_handle_at */
        directory = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = directory < 0 ? -errno : directory;
    if (mount >= 0)
        close(mount);
    if (context >= 0)
        close(context);
    return result;
}

int cgroup_root_open(void)
{
    int directory = open_mounted("/proc/self/mountinfo", "", true);

    if (directory < 0)
        directory = open_mounted("/proc/1/mountinfo", "/proc/1/root", true);
    if (directory >= 0)
        return directory;
    int unattached = open_unattached();
    if (unattached >= 0 && cgroup_is_machine_root(unattached))
        return unattached;
    directory = open_mounted("/proc/self/mountinfo", "", false);
    if (directory < 0)
        return unattached;
    if (unattached >= 0)
        close(unattached);
    return directory;
}
