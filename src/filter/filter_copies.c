/* SPDX-License-Identifier: MIT */
/* filter_copies.c: the copies of traces in a filter's folder. See filter_copies.h. */
#include "filter/filter_copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAME_NAME_MOST 1000
#define REJECTED_MOST  100        /* of a machine: it may send anything */
#define METADATA_MOST  (1u << 20) /* bytes: trace.h allows no more */

/* ---- names ---- */

static const char *prefix_of(const struct filter_copies *copies)
{
    return copies->prefix == NULL ? "" : copies->prefix;
}

const char *filter_recording_name(const char *prefix, const char *recording)
{
    size_t length = prefix == NULL ? 0 : strlen(prefix);

    if (length == 0)
        return recording;
    if (strncmp(recording, prefix, length) == 0 && recording[length] != '\0')
        return recording + length;
    return prefix[length - 1] == '-' && strlen(recording) == length - 1 &&
                   strncmp(recording, prefix, length - 1) == 0
               ? FILTER_MAIN
               : NULL;
}

bool filter_copies_wants(const struct filter_copies *copies, const char *recording)
{
    return filter_recording_name(copies->prefix, recording) != NULL;
}

/* "web1", "web1.other", "web1.2", "web1.other.2" */
static void name_copy(const char *machine, const char *recording, unsigned nth, char name[NAME_MAX])
{
    bool is_main = strcmp(recording, FILTER_MAIN) == 0;
    int length =
        snprintf(name, NAME_MAX, "%s%s%s", machine, is_main ? "" : ".", is_main ? "" : recording);

    if (nth > 1)
        snprintf(name + length, (size_t)(NAME_MAX - length), ".%u", nth);
}

static bool all_digits(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool filter_is_copy_of(const char *name, const char *recording)
{
    size_t length = strlen(recording);
    const char *rest = strchr(name, '.');

    if (strcmp(recording, FILTER_MAIN) != 0) {
        if (rest == NULL || strncmp(rest + 1, recording, length) != 0)
            return false;
        rest += 1 + length;
    }
    return rest == NULL || *rest == '\0' || (*rest == '.' && all_digits(rest + 1));
}

/* The reverse. Returns whether the name is one of ours. A recording whose name is a number has a copy of the same
 * name as the second of that number, and "main" is "main-main" for its filter; what tells them apart is the trace's UUID
 * (filter_copies_find). */
static bool read_name(const struct filter_copies *copies, const char *name, struct copy *copy)
{
    char text[NAME_MAX + 1], *rest = text;

    snprintf(text, sizeof(text), "%s", name);
    const char *machine = strsep(&rest, "."), *recording = FILTER_MAIN;
    if (rest != NULL && !all_digits(rest))
        recording = strsep(&rest, ".");
    if (!fabric_name_valid(machine) || !fabric_name_valid(recording) ||
        (rest != NULL && !all_digits(rest)))
        return false;
    snprintf(copy->machine, sizeof(copy->machine), "%s", machine);
    int length =
        snprintf(copy->recording, sizeof(copy->recording), "%s%s", prefix_of(copies), recording);
    return length < (int)sizeof(copy->recording);
}

/* ---- one copy ---- */

static void free_copy(struct copy *copy)
{
    if (copy == NULL)
        return;
    free(copy->path);
    free(copy);
}

static struct copy *new_copy(struct filter_copies *copies, const char *name)
{
    struct copy *copy = calloc(1, sizeof(*copy));

    if (copy == NULL || array_reserve(&copies->list, &copies->capacity, copies->count + 1,
                                      sizeof(*copies->list)) < 0) {
        free(copy);
        return NULL;
    }
    if (copies->folder != NULL && asprintf(&copy->path, "%s/%s", copies->folder, name) < 0) {
        free(copy);
        return NULL;
    }
    return copy;
}

static int open_trace(const struct filter_copies *copies, struct copy *copy, const char *metadata,
                      size_t length, struct problem *problem)
{
    return trace_copy_open(copy->path, metadata, length, &copies->limits, &copy->trace, problem);
}

/* ---- what an earlier run has left ---- */

/* Reads the metadata of a trace. Returns the length, or a negative errno; the caller frees the text. */
static ssize_t read_metadata(const char *path, char **ret_text)
{
    char name[PATH_MAX];
    char *text = malloc(METADATA_MOST + 1);
    int length = snprintf(name, sizeof(name), "%s/metadata", path);
    /* O_NONBLOCK: opening a FIFO would wait for a writer */
    int file = length < PATH_MAX ? open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    struct stat status;
    ssize_t used = 0, got = -1;

    if (file >= 0 && (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))) {
        close(file);
        file = -1;
    }
    while (text != NULL && file >= 0 && used <= METADATA_MOST &&
           (got = read(file, text + used, METADATA_MOST + 1 - (size_t)used)) > 0)
        used += got;
    if (file >= 0)
        close(file);
    if (got != 0 || used > METADATA_MOST) {
        free(text);
        return text == NULL ? -ENOMEM : -EINVAL;
    }
    *ret_text = text;
    return used;
}

/* The trace's UUID, from its metadata: uuid = "2f1f4c0e-..."; */
static bool find_uuid(const char *text, size_t length, uint8_t uuid[16])
{
    static const char key[] = "uuid = \"";
    const char *at = memmem(text, length, key, strlen(key));
    const char *end = text + length;
    unsigned digits = 0;

    if (at == NULL)
        return false;
    for (at += strlen(key); at < end && *at != '"' && digits < 32; at++) {
        const char *hex = "0123456789abcdef", *digit = strchr(hex, *at);
        if (*at == '-')
            continue;
        if (digit == NULL || *at == '\0')
            return false;
        uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | (digit - hex));
        digits++;
    }
    return digits == 32;
}

static int resume(struct filter_copies *copies, const char *name, struct problem *problem)
{
    struct copy *copy = new_copy(copies, name);
    char *metadata = NULL;

    if (copy == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    ssize_t length = read_metadata(copy->path, &metadata);
    if (length <= 0 || !read_name(copies, name, copy) ||
        !find_uuid(metadata, (size_t)length, copy->uuid)) {
        free_copy(copy); /* something else, which may well be there */
        free(metadata);
        return 0;
    }
    int result = open_trace(copies, copy, metadata, (size_t)length, problem);
    free(metadata);
    if (result < 0) {
        free_copy(copy);
        return result;
    }
    copy->resumed = true;
    copies->list[copies->count++] = copy;
    return 0;
}

int filter_copies_resume(struct filter_copies *copies, struct problem *problem)
{
    struct dirent *entry;
    int result = 0;

    if (copies->folder == NULL)
        return 0;
    if (mkdir(copies->folder, 0700) < 0 && errno != EEXIST)
        return problem_set(problem, -errno, "cannot create the folder %s: %s", copies->folder,
                           strerror(errno));
    DIR *folder = opendir(copies->folder);
    if (folder == NULL)
        return problem_set(problem, -errno, "cannot read the folder %s: %s", copies->folder,
                           strerror(errno));
    while (result == 0 && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            result = resume(copies, entry->d_name, problem);
    closedir(folder);
    return result;
}

/* ---- packets ---- */

struct copy *filter_copies_find(const struct filter_copies *copies,
                                const struct fabric_packet *packet)
{
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = copies->list[i];
        if (memcmp(copy->uuid, packet->place.uuid, sizeof(copy->uuid)) != 0 ||
            strcmp(copy->machine, packet->machine) != 0)
            continue;
        /* read_name may have taken a recording that is called 2 for the second one called main */
        snprintf(copy->recording, sizeof(copy->recording), "%s", packet->recording);
        return copy;
    }
    return NULL;
}

/* Our own lock would refuse it, as if another process wrote it. */
static bool is_open(const struct filter_copies *copies, const char *path)
{
    for (size_t i = 0; i < copies->count; i++)
        if (copies->list[i]->path != NULL && strcmp(copies->list[i]->path, path) == 0)
            return true;
    return false;
}

/* Under the first name that no other trace has. */
static int create_trace(const struct filter_copies *copies, struct copy *copy,
                        const struct fabric_packet *metadata, struct problem *problem)
{
    char name[NAME_MAX];
    int result = -EEXIST;

    for (unsigned nth = 1; result == -EEXIST && nth < SAME_NAME_MOST; nth++) {
        free(copy->path);
        copy->path = NULL;
        name_copy(metadata->machine, filter_recording_name(copies->prefix, metadata->recording),
                  nth, name);
        if (asprintf(&copy->path, "%s/%s", copies->folder, name) < 0) {
            copy->path = NULL;
            return problem_set(problem, -ENOMEM, "out of memory");
        }
        if (!is_open(copies, copy->path))
            result = open_trace(copies, copy, metadata->bytes, metadata->size, problem);
    }
    if (result == -EMFILE)
        rmdir(copy->path); /* which may have been made, and is empty */
    return result == -EEXIST
               ? problem_set(problem, result, "%s: there are %d traces of this name already",
                             copies->folder, SAME_NAME_MOST - 1)
               : result;
}

static struct copy *copy_of(struct filter_copies *copies, const struct fabric_packet *packet)
{
    struct copy *copy = new_copy(copies, packet->machine);

    if (copy == NULL)
        return NULL;
    snprintf(copy->machine, sizeof(copy->machine), "%s", packet->machine);
    snprintf(copy->recording, sizeof(copy->recording), "%s", packet->recording);
    memcpy(copy->uuid, packet->place.uuid, sizeof(copy->uuid));
    return copy;
}

int filter_copies_create(struct filter_copies *copies, const struct fabric_packet *metadata,
                         struct copy **ret_copy, struct problem *problem)
{
    struct copy *copy = copy_of(copies, metadata);
    int result = 0;

    if (copy == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    if (copies->folder != NULL)
        result = create_trace(copies, copy, metadata, problem);
    if (result < 0) {
        free_copy(copy);
        return result;
    }
    copies->list[copies->count++] = copy;
    *ret_copy = copy;
    return 0;
}

struct copy *filter_copies_reject(struct filter_copies *copies, const struct fabric_packet *packet,
                                  const char *why)
{
    struct copy *last = NULL;
    unsigned count = 0;

    for (size_t i = 0; i < copies->count; i++) {
        struct copy *each = copies->list[i];
        if (!each->rejected || strcmp(each->machine, packet->machine) != 0)
            continue;
        last = each;
        count++;
    }
    if (count >= REJECTED_MOST)
        return last;
    struct copy *copy = copy_of(copies, packet);
    if (copy == NULL)
        return NULL;
    free(copy->path);
    copy->path = NULL;
    copy->rejected = true;
    snprintf(copy->why, sizeof(copy->why), "%.299s", why);
    copies->list[copies->count++] = copy;
    return copy;
}

int filter_copies_close(struct filter_copies *copies, struct problem *problem)
{
    int first = 0;

    for (size_t i = 0; i < copies->count; i++) {
        int result = trace_copy_close(copies->list[i]->trace, first == 0 ? problem : NULL);
        first = first == 0 ? result : first;
        free_copy(copies->list[i]);
    }
    free(copies->list);
    return first;
}
