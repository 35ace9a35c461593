/* SPDX-License-Identifier: MIT */
/*
 * mappings_fuzz.c: the input is a line of /proc/PID/maps, whose file names the metered program chooses. Any input is
 * rejected, or read as the numbers in it.
 */
#include "base/mapping.h"
#include "fuzz.h"

#include <inttypes.h>
#include <string.h>

/* Not memcmp: padding between members has any value. */
static bool same(const struct mapping *one, const struct mapping *other)
{
    return one->begin == other->begin && one->end == other->end && one->offset == other->offset &&
           one->file.device == other->file.device && one->file.inode == other->file.inode &&
           one->writable == other->writable && one->executable == other->executable &&
           one->shared == other->shared;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct mapping mapping = {.begin = 1}, again;
    char *line = malloc(size + 1);
    char text[128];

    if (line == NULL)
        abort();
    if (size > 0)
        memcpy(line, bytes, size);
    line[size] = '\0';
    if (mapping_read(line, &mapping)) {
        PROMISE(mapping.begin < mapping.end);
        /* written in the kernel's format, it is the same */
        snprintf(text, sizeof(text),
                 "%" PRIx64 "-%" PRIx64 " r%c%c%c %08" PRIx64 " %x:%x %" PRIu64 " ", mapping.begin,
                 mapping.end, mapping.writable ? 'w' : '-', mapping.executable ? 'x' : '-',
                 mapping.shared ? 's' : 'p', mapping.offset, mapping.file.device >> 20,
                 mapping.file.device & 0xfffff, mapping.file.inode);
        PROMISE(mapping_read(text, &again));
        PROMISE(same(&mapping, &again));
    } else {
        PROMISE(mapping.begin == 1);
    }
    free(line);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const char example[] =
        "7f0e8c22a000-7f0e8c37f000 r-xp 00026000 fd:01 131    /usr/lib/libc.so.6\n";

    return fuzz_text(bytes, room, example);
}
