/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c: the root of the cgroup2 hierarchy. The hooks on UDP's packets are attached there, and so
 * see the sockets of all processes below: of the whole machine, or in a container of the container.
 */
#include "meter/meter_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool have_capability(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    if (syscall(SYS_capget, &header, data) < 0)
        return false;
    return (data[capability / 32].effective & 1u << capability % 32) != 0;
}

static int open_mounted(void)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent *mount;
    int cgroup = -ENOENT;

    if (mounts == NULL)
        return -errno;
    while (cgroup < 0 && (mount = getmntent(mounts)) != NULL)
        if (strcmp(mount->mnt_type, "cgroup2") == 0) {
            cgroup = open(mount->mnt_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            cgroup = cgroup < 0 ? -errno : cgroup;
        }
    endmntent(mounts);
    return cgroup;
}

/* A mount in no folder: it goes away with its descriptor. */
static int mount_nowhere(void)
{
    int context = fsopen("cgroup2", FSOPEN_CLOEXEC);
    int cgroup = -1;

    if (context < 0)
        return -errno;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        cgroup = fsmount(context, FSMOUNT_CLOEXEC, 0);
    cgroup = cgroup < 0 ? -errno : cgroup;
    close(context);
    return cgroup;
}

int cgroup_open(void)
{
    if (!have_capability(CAP_NET_ADMIN))
        return -EPERM;
    int cgroup = open_mounted();
    return cgroup < 0 ? mount_nowhere() : cgroup;
}
