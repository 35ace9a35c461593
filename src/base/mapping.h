/* SPDX-License-Identifier: MIT */
/*
 * mapping.h: a line of /proc/PID/maps; names in /proc/PID/mountinfo.
 *
 *      7f0e8c22a000-7f0e8c37f000 r-xp 00026000 fd:01 131   /usr/lib/x86_64-linux-gnu/libc.so.6
 *      begin        end          mode offset   device inode name
 */
#ifndef DPM_MAPPING_H
#define DPM_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#define DEVICE_MINOR_BITS 20

/* Device and inode as in the kernel: the device is (major << 20 | minor). */
struct file_identity {
    uint32_t device;
    uint64_t inode;
};

/* Converts a device number of stat(2) to this form. */
static inline uint32_t file_device(dev_t device)
{
    return major(device) << DEVICE_MINOR_BITS | minor(device);
}

/* Some file systems (btrfs, overlayfs) show programs another device number than the kernel uses. Both have major number 0.
 * Then only the inode is compared. */
static inline bool file_is_same(const struct file_identity *one, const struct file_identity *other)
{
    bool anonymous =
        one->device >> DEVICE_MINOR_BITS == 0 && other->device >> DEVICE_MINOR_BITS == 0;

    return one->inode == other->inode && (one->device == other->device || anonymous);
}

struct mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;           /* in the file */
    struct file_identity file; /* inode 0: no file */
    bool writable;
    bool executable;
    bool shared;
};

/* Parses a line. Returns false if it is not a mapping. */
bool mapping_read(const char *line, struct mapping *ret_mapping);

/* Copies a name from mountinfo, which writes a blank or '\' as '\' and three octal digits. `to`, of `size` bytes, may be
 * `from`. Returns false, and `to` is empty, if nothing is left, or a 0, or it does not fit. */
bool unescape_mount(const char *from, size_t length, char *to, size_t size);

#endif
