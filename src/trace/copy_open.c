/* SPDX-License-Identifier: MIT */
/*
 * copy_open.c: opens a copy of a trace, and finds out where an unfinished one is. See packets.h.
 *
 *      control    | 0 | 1 | 2 | par      the last pair is read packet by packet: 2 is the last one, `par` is cut off
 *      data       | 0 | 1 |              what a killed process has written is there, but for the last packet of a file
 */
#include "trace/copy_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* That can still be opened when a copy begins: for the next pairs of all copies. */
#define SPARE_FILES 16

/* ---- the packets of a file ---- */

struct scan {
    struct trace_position last;
    uint64_t end;     /* of whole packets */
    uint64_t packets; /* in this file */
    uint64_t begin;   /* time of the first record */
    uint64_t begin_of_last;
    uint64_t size_of_last;
};

static int scan_file(const struct trace_copy *copy, enum ring_id ring, uint32_t number, int file,
                     uint64_t size, struct scan *ret_scan, struct problem *problem)
{
    const struct trace_packet_header expected = packet_header(copy->uuid, ring);
    struct scan scan = {0};
    struct trace_packet_context context;
    const char *wrong = NULL;
    char name[TRACE_FILE_NAME_SIZE];
    int result;

    while ((result = packet_look(file, size, scan.end, &expected,
                                 scan.last.known ? scan.last.number + 1 : 0, &context, &wrong)) >
           0) {
        scan.last = (struct trace_position){true, number, context.packet_seq_num};
        if (scan.packets == 0)
            scan.begin = context.timestamp_begin;
        scan.begin_of_last = scan.end;
        scan.size_of_last = context.packet_size / 8;
        scan.end += scan.size_of_last;
        scan.packets++;
    }
    if (result < 0) {
        trace_file_name(ring, number, name);
        return problem_set(
            problem, result, "%s/%s: at byte %llu: %s; remove the copy, to begin again", copy->name,
            name, (unsigned long long)scan.end, wrong != NULL ? wrong : strerror(-result));
    }
    *ret_scan = scan;
    return 0;
}

/* Opens a file of the copy, and scans it. Returns a descriptor or a negative errno. */
static int open_and_scan(struct trace_copy *copy, enum ring_id ring, uint32_t number,
                         const char *name, struct scan *ret_scan, struct problem *problem)
{
    uint64_t size;
    int file =
        trace_file_open(copy->directory, copy->name, name, O_RDWR | O_NOFOLLOW, &size, problem);

    if (file < 0)
        return file;
    int result = scan_file(copy, ring, number, file, size, ret_scan, problem);
    if (result == 0 && ret_scan->end < size && ftruncate(file, (off_t)ret_scan->end) < 0)
        result = problem_set(problem, -errno, "%s/%s: the unfinished packet cannot be removed: %s",
                             copy->name, name, strerror(errno));
    if (result < 0) {
        close(file);
        return result;
    }
    return file;
}

/* ---- the pairs ---- */

/* Reads the packet at this place of a control file; the caller frees it. */
static int read_packet(const struct trace_copy *copy, int file, uint64_t offset, uint64_t size,
                       void **ret_packet, struct problem *problem)
{
    void *packet = malloc(size);
    int result = packet == NULL ? -ENOMEM : trace_file_read(file, packet, size, offset);

    if (result < 0) {
        free(packet);
        return problem_set(problem, result, "%s: cannot be read: %s", copy->name,
                           strerror(-result));
    }
    *ret_packet = packet;
    return 0;
}

/* Whether the last packet of control is that of END. */
static int find_end(struct trace_copy *copy, const struct scan *scan, struct problem *problem)
{
    void *packet = NULL;

    if (scan->packets == 0)
        return 0;
    int result = read_packet(copy, copy->files[RING_CONTROL].file, scan->begin_of_last,
                             scan->size_of_last, &packet, problem);
    if (result < 0)
        return result;
    copy->ended = packet_ends(packet);
    free(packet);
    return 0;
}

/* How many records a hidden control file still lacks. */
static int find_repeats_left(struct trace_copy *copy, const struct scan *scan,
                             struct problem *problem)
{
    const struct trace_packet_header expected = packet_header(copy->uuid, RING_CONTROL);
    struct trace_packet_context context;
    const char *wrong;
    int file = copy->files[RING_CONTROL].file;

    for (uint64_t offset = 0; offset < scan->end; offset += context.packet_size / 8) {
        uint64_t repeated = 0;
        void *packet = NULL;
        int result = packet_look(file, scan->end, offset, &expected, 0, &context, &wrong);
        if (result <= 0)
            return problem_set(problem, -EBADMSG, "%s: changed while it was opened", copy->name);
        result = read_packet(copy, file, offset, context.packet_size / 8, &packet, problem);
        if (result < 0)
            return result;
        if (offset == 0 && copy_begins_pair(packet, copy->here, &repeated))
            copy->repeats_left = repeated;
        uint64_t records = copy_count_records(packet);
        copy->repeats_left -= records < copy->repeats_left ? records : copy->repeats_left;
        free(packet);
    }
    return 0;
}

/* Opens the files of a pair that is written on. `control`: the name of its control file. */
static int open_pair(struct trace_copy *copy, uint32_t number, const char *control,
                     struct problem *problem)
{
    char data[TRACE_FILE_NAME_SIZE];
    struct scan scans[RING_COUNT];

    trace_file_name(RING_DATA, number, data);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct copy_file *file = &copy->files[ring];
        int opened = open_and_scan(copy, ring, number, ring == RING_CONTROL ? control : data,
                                   &scans[ring], problem);
        if (opened < 0)
            return opened;
        file->file = opened;
        file->size = scans[ring].end;
        if (scans[ring].packets > 0)
            file->last = scans[ring].last;
    }
    copy->here = number;
    copy->packets_here = scans[RING_CONTROL].packets + scans[RING_DATA].packets;
    copy->begin_here = scans[RING_CONTROL].begin;
    if (flock(copy->files[RING_CONTROL].file, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return problem_set(problem, -EBUSY, "%s: another process writes this trace", copy->name);
    int result = find_end(copy, &scans[RING_CONTROL], problem);
    return result == 0 && copy->hidden ? find_repeats_left(copy, &scans[RING_CONTROL], problem)
                                       : result;
}

/* A pair whose control file was begun, and has no name yet; INT64_MAX: there is none. */
static int64_t find_hidden(const struct trace_copy *copy)
{
    int again = openat(copy->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    int64_t found = INT64_MAX;
    const struct dirent *entry;
    char name[COPY_NAME_SIZE];
    unsigned number;

    if (list == NULL && again >= 0)
        close(again);
    while (list != NULL && (entry = readdir(list)) != NULL) {
        number = 0;
        (void)sscanf(entry->d_name, ".control.%u", &number);
        copy_hidden_name(number, name);
        if (strcmp(entry->d_name, name) == 0)
            found = number;
    }
    if (list != NULL)
        closedir(list);
    return found;
}

/* Adds up sizes, and finds the last packet of each ring in earlier pairs if the last pair has none. */
static int look_at_earlier(struct trace_copy *copy, const struct trace_numbers *numbers,
                           struct problem *problem)
{
    for (uint32_t i = numbers->count; i-- > 0;) {
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
            char name[TRACE_FILE_NAME_SIZE];
            struct scan scan;
            struct stat status;
            trace_file_name(ring, numbers->at[i], name);
            if (fstatat(copy->directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
                continue;
            copy->counts.bytes += (uint64_t)status.st_size;
            if (copy->files[ring].last.known || status.st_size == 0)
                continue;
            int file = open_and_scan(copy, ring, numbers->at[i], name, &scan, problem);
            if (file < 0)
                return file;
            close(file);
            copy->files[ring].last = scan.last;
        }
    }
    return 0;
}

/* The last control file with a name keeps its lock while the next one is hidden. */
static int lock_named(struct trace_copy *copy, uint32_t number, struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];
    uint64_t size;

    trace_file_name(RING_CONTROL, number, name);
    copy->named =
        trace_file_open(copy->directory, copy->name, name, O_RDWR | O_NOFOLLOW, &size, problem);
    if (copy->named >= 0)
        (void)flock(copy->named, LOCK_EX | LOCK_NB);
    return copy->named < 0 ? copy->named : 0;
}

static bool has_control(const struct trace_copy *copy, uint32_t number)
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(RING_CONTROL, number, name);
    return faccessat(copy->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int copy_recover(struct trace_copy *copy, struct problem *problem)
{
    struct trace_numbers numbers;
    char name[COPY_NAME_SIZE];
    int64_t hidden = find_hidden(copy);
    int result = trace_numbers_find(copy->directory, copy->name, &numbers, problem);

    if (result < 0)
        return result;
    uint32_t last = trace_numbers_last(&numbers);
    bool any = has_control(copy, last);
    copy->hidden = hidden != INT64_MAX && (!any || hidden > last);
    if (!any && !copy->hidden)
        return 0;
    copy->pairs = (any ? numbers.count : 0) + copy->hidden;
    copy->has_first = (any && numbers.at[0] == 0) || (copy->hidden && hidden == 0);
    if (copy->hidden && any)
        result = lock_named(copy, last, problem);
    if (copy->hidden)
        copy_hidden_name((uint32_t)hidden, name);
    else
        trace_file_name(RING_CONTROL, last, name);
    if (result == 0)
        result = open_pair(copy, copy->hidden ? (uint32_t)hidden : last, name, problem);
    if (result == 0 && copy->hidden)
        copy->counts.bytes += copy->files[RING_CONTROL].size;
    if (result == 0 && any)
        result = look_at_earlier(copy, &numbers, problem);
    if (result == 0 && any)
        result = copy_newest_find(copy, &numbers, problem);
    return result < 0 ? result : copy_give_name(copy, problem);
}

/* ---- the interface ---- */

static int check_metadata(const struct trace_copy *copy, const char *metadata, size_t length,
                          char **ret_text, uint8_t ret_uuid[TRACE_UUID_SIZE], unsigned *ret_format,
                          struct problem *problem)
{
    if (length == 0 || length > TRACE_METADATA_MOST || memchr(metadata, '\0', length) != NULL)
        return problem_set(problem, -EBADMSG, "%s: these are not the metadata of a trace",
                           copy->name);
    char *text = malloc(length + 1);
    if (text == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", copy->name);
    memcpy(text, metadata, length);
    text[length] = '\0';
    int result = trace_metadata_check(text, length, copy->name, ret_uuid, ret_format, problem);
    if (result < 0) {
        free(text);
        return -EBADMSG;
    }
    *ret_text = text;
    return 0;
}

/* Takes a text, which becomes the copy's own. */
static int store_metadata(struct trace_copy *copy, char *text, size_t length, unsigned format,
                          struct problem *problem)
{
    uint64_t kept = copy->counts.bytes - copy->metadata_size;
    int result = 0;

    uint64_t most = copy->limits.max_bytes;

    if (most != 0 && (kept > most || length > most - kept))
        result = problem_set(problem, -EFBIG,
                             "%s/metadata: does not fit into the copy's largest size", copy->name);
    if (result == 0)
        result = trace_metadata_replace(copy->directory, copy->name, text, length, problem);
    if (result < 0) {
        free(text);
        return result;
    }
    free(copy->metadata);
    copy->counts.bytes = kept + length;
    copy->metadata = text;
    copy->metadata_size = length;
    copy->format = format;
    return 1;
}

int trace_copy_metadata(struct trace_copy *copy, const char *metadata, size_t length,
                        struct problem *problem)
{
    uint8_t uuid[TRACE_UUID_SIZE];
    unsigned format;
    char *text = NULL;
    int result = check_metadata(copy, metadata, length, &text, uuid, &format, problem);

    if (result < 0)
        return result;
    /* metadata only grow, by classes; their format becomes a higher one */
    bool same = memcmp(uuid, copy->uuid, TRACE_UUID_SIZE) == 0;
    if (same && (length > copy->metadata_size || format > copy->format))
        return store_metadata(copy, text, length, format, problem);
    free(text);
    return same ? 0
                : problem_set(problem, -EBADMSG, "%s: these are the metadata of another trace",
                              copy->name);
}

/* Returns 1, 0, or a negative errno. */
static int is_empty(int directory)
{
    int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    int empty = list == NULL ? -errno : 1;

    if (list == NULL && again >= 0)
        close(again);
    while (empty > 0 && (entry = readdir(list)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, "metadata.new") == 0;
    if (list != NULL)
        closedir(list);
    return empty;
}

static int open_directory(struct trace_copy *copy, const char *path, struct problem *problem)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return problem_set(problem, -errno, "%s: cannot be created: %s", copy->name,
                           strerror(errno));
    copy->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (copy->directory < 0)
        return problem_set(problem, errno == ENOTDIR || errno == ELOOP ? -EEXIST : -errno,
                           "%s: cannot be opened: %s; remove it or choose another name", copy->name,
                           strerror(errno));
    if (flock(copy->directory, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return problem_set(problem, -EBUSY, "%s: another process writes this copy", copy->name);
    return 0;
}

/* The directory has something: is it a copy of this trace? */
static int open_existing(struct trace_copy *copy, const uint8_t uuid[TRACE_UUID_SIZE],
                         struct problem *problem)
{
    int result = trace_metadata_load(copy->directory, copy->name, &copy->metadata,
                                     &copy->metadata_size, copy->uuid, &copy->format, NULL);

    if (result < 0 || memcmp(uuid, copy->uuid, TRACE_UUID_SIZE) != 0)
        return problem_set(problem, -EEXIST,
                           "%s: is not a copy of this trace; remove it or choose another name",
                           copy->name);
    copy->counts.bytes = copy->metadata_size;
    return copy_recover(copy, problem);
}

static int cannot_open(const struct trace_copy *copy, int error, struct problem *problem)
{
    return problem_set(problem, error, "%s: cannot be created: %s", copy->name, strerror(-error));
}

/* A trace begins only if its files can be opened, too, and there are some to spare: those that have begun must be able to go
 * on. */
static int reserve_files(struct trace_copy *copy, struct problem *problem)
{
    int spare[SPARE_FILES], count = 0, error = 0;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        copy->reserved[ring] = fcntl(copy->directory, F_DUPFD_CLOEXEC, 0);
        if (copy->reserved[ring] < 0)
            error = -errno;
    }
    while (error == 0 && count < SPARE_FILES) {
        spare[count] = fcntl(copy->directory, F_DUPFD_CLOEXEC, 0);
        if (spare[count] < 0)
            error = -errno;
        else
            count++;
    }
    while (count > 0)
        close(spare[--count]);
    return error == 0 ? 0 : cannot_open(copy, error, problem);
}

static int begin_copy(struct trace_copy *copy, const char *path, const char *metadata,
                      size_t length, struct problem *problem)
{
    uint8_t uuid[TRACE_UUID_SIZE];
    unsigned format;
    char *text = NULL;
    int result = check_metadata(copy, metadata, length, &text, uuid, &format, problem);

    if (result < 0)
        return result;
    result = open_directory(copy, path, problem);
    int empty = result < 0 ? result : is_empty(copy->directory);
    if (empty == 0) {
        free(text);
        result = open_existing(copy, uuid, problem);
        return result < 0 ? result : trace_copy_metadata(copy, metadata, length, problem);
    }
    if (result == 0 && empty < 0)
        result = cannot_open(copy, empty, problem);
    if (result == 0)
        result = reserve_files(copy, problem);
    if (result < 0) {
        free(text);
        return result;
    }
    memcpy(copy->uuid, uuid, TRACE_UUID_SIZE);
    return store_metadata(copy, text, length, format, problem);
}

int trace_copy_open(const char *path, const char *metadata, size_t length,
                    const struct trace_copy_limits *limits, struct trace_copy **ret_copy,
                    struct problem *problem)
{
    struct trace_copy *copy = calloc(1, sizeof(*copy));

    if (copy == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", path);
    copy->files[RING_CONTROL].file = copy->files[RING_DATA].file = -1;
    copy->reserved[RING_CONTROL] = copy->reserved[RING_DATA] = -1;
    copy->named = copy->directory = -1;
    if (limits != NULL)
        copy->limits = *limits;
    trace_name(path, copy->name);
    int result = begin_copy(copy, path, metadata, length, problem);
    if (result < 0) {
        trace_copy_close(copy, NULL);
        return result;
    }
    *ret_copy = copy;
    return 0;
}

int trace_copy_close(struct trace_copy *copy, struct problem *problem)
{
    int result = 0;

    if (copy == NULL)
        return 0;
    /* control last: its lock shows that the copy is being written */
    for (enum ring_id ring = RING_COUNT; ring-- > 0;)
        if (copy->files[ring].file >= 0 && close(copy->files[ring].file) < 0 && result == 0)
            result = problem_set(problem, -errno, "%s/%s: cannot be written: %s", copy->name,
                                 trace_file_names[ring], strerror(errno));
    if (copy->named >= 0)
        close(copy->named);
    copy_release_reserved(copy);
    if (copy->directory >= 0)
        close(copy->directory);
    free(copy->metadata);
    free(copy->earlier);
    free(copy);
    return result;
}
