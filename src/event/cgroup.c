/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c: opens the root of the cgroup2 hierarchy at its mount point. If it is not mounted, a detached mount serves
 * instead. In a container it is the container's root. See event.h.
 */
#include "event/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PATH_SIZE 4096

/* mountinfo writes a blank or '\' as '\' and three octal digits. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        char digits[4] = "";
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            memcpy(digits, from + 1, 3);
            *to++ = (char)strtol(digits, NULL, 8);
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* If this line of mountinfo is the mount of the root cgroup, opens its directory. Otherwise returns -1. */
static int open_mount(const char *line)
{
    char root[16];
    char place[PATH_SIZE];
    struct statfs system;

    if (strstr(line, " - cgroup2 ") == NULL ||
        sscanf(line, "%*s %*s %*s %15s %4095s", root, place) != 2 || strcmp(root, "/") != 0)
        return -1;
    unescape(place);
    int directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0 &&
        (fstatfs(directory, &system) < 0 || system.f_type != CGROUP2_SUPER_MAGIC)) {
        close(directory); /* something else is mounted over it */
        return -1;
    }
    return directory;
}

static int open_mounted(void)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    int directory = -1;

    while (mounts != NULL && directory < 0 && getline(&line, &size, mounts) > 0)
        directory = open_mount(line);
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
    int directory = open_mounted();

    return directory < 0 ? open_unattached() : directory;
}
