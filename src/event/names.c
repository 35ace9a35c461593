/* SPDX-License-Identifier: MIT */
/*
 * names.c: the names of this machine's users and cgroups, for NAME records. See event.h.
 *
 *      STREAM --> user 1000 --passwd--------------------------> NAME "anna"
 *             --> cgroup 77 --file handle, or a walk----------> NAME "/system.slice/x.service"
 *
 * A cgroup's ID is the inode of its directory in the cgroup2 file system.
 */
#include "event/event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_TOLD  65536 /* numbers that are remembered; then all names are reported again */
#define HANDLE_ID  0xfe  /* FILEID_KERNFS: a file handle that consists of an inode number */
#define DEEPEST    64    /* levels of nested cgroups that are searched */
#define PATH_SIZE  CGROUP_PATH_SIZE
#define CUT_PREFIX "/..." /* replaces the beginning of a path that is too long */

/* ---- users ---- */

static bool find_user(uint64_t number, char name[NAME_SIZE])
{
    char room[4096];
    struct passwd entry;
    struct passwd *found = NULL;

    if (getpwuid_r((uid_t)number, &entry, room, sizeof(room), &found) != 0 || found == NULL)
        return false;
    snprintf(name, NAME_SIZE, "%s", found->pw_name);
    return name[0] != '\0';
}

/* ---- the path of a cgroup ---- */

/* The path of an open file in the kernel's view. */
static bool path_of(int file, char path[PATH_SIZE])
{
    char link[32];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_SIZE - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return true;
}

/* Requires CAP_DAC_READ_SEARCH. */
static bool find_by_handle(int root, uint64_t number, char path[PATH_SIZE])
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + sizeof(number)];
    } name = {.handle = {.handle_bytes = sizeof(number), .handle_type = HANDLE_ID}};
    char root_path[PATH_SIZE];
    char whole[PATH_SIZE];

    memcpy(name.handle.f_handle, &number, sizeof(number));
    int file = open_by_handle_at(root, &name.handle, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool known = path_of(file, whole) && path_of(root, root_path);
    close(file);
    size_t length = known ? strlen(root_path) : 0;
    if (length == 1)
        length = 0; /* "/", for a detached mount */
    if (!known || strncmp(whole, root_path, length) != 0 ||
        (whole[length] != '/' && whole[length] != '\0'))
        return false;
    snprintf(path, PATH_SIZE, "%s", whole[length] == '\0' ? "/" : whole + length);
    return true;
}

/* Searches the cgroups below a directory, whose path has `length` bytes. Closes `directory`. */
static bool find_below(int directory, uint64_t number, char path[PATH_SIZE], size_t length,
                       unsigned depth)
{
    DIR *list = fdopendir(directory);
    const struct dirent *entry;
    bool found = false;

    if (list == NULL) {
        close(directory);
        return false;
    }
    while (!found && (entry = readdir(list)) != NULL) {
        size_t more = strlen(entry->d_name) + 1;
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 || length + more >= PATH_SIZE)
            continue;
        path[length] = '/';
        memcpy(path + length + 1, entry->d_name, more);
        found = entry->d_ino == number;
        int child =
            found || depth == DEEPEST
                ? -1
                : openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        found = found || (child >= 0 && find_below(child, number, path, length + more, depth + 1));
    }
    closedir(list);
    return found;
}

static bool find_by_walk(int root, uint64_t number, char path[PATH_SIZE])
{
    struct stat status;

    strcpy(path, "/");
    if (fstat(root, &status) == 0 && status.st_ino == number)
        return true;
    int copy = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return copy >= 0 && find_below(copy, number, path, 0, 0);
}

/* A name is shorter than a path. The end of the path is the more specific part. */
static void keep_end(const char *path, char name[NAME_SIZE])
{
    size_t length = strlen(path);

    if (length < NAME_SIZE)
        memcpy(name, path, length + 1);
    else
        snprintf(name, NAME_SIZE, CUT_PREFIX "%s",
                 path + length - (NAME_SIZE - sizeof(CUT_PREFIX)));
}

int names_cgroups(struct names *names)
{
    if (!names->opened) {
        names->opened = true;
        names->cgroups = cgroup_root_open();
    }
    return names->cgroups;
}

bool names_cgroup_path(struct names *names, uint64_t number, char path[PATH_SIZE])
{
    int root = names_cgroups(names);

    return root >= 0 && (find_by_handle(root, number, path) || find_by_walk(root, number, path));
}

static bool find_cgroup(struct names *names, uint64_t number, char name[NAME_SIZE])
{
    char path[PATH_SIZE];

    if (!names_cgroup_path(names, number, path))
        return false;
    keep_end(path, name);
    return true;
}

/* ---- NAME records ---- */

/* Whether the number was new; it is stored now. If memory is short, it counts as already reported. */
static bool note(struct intern *told, uint64_t number)
{
    if (told->count >= MOST_TOLD)
        intern_done(told);
    uint32_t count = told->count;
    return intern_add(told, number) == (int64_t)count;
}

static void begin_name(struct name_record *record, uint64_t time, enum name_kind kind,
                       uint64_t number)
{
    memset(record, 0, sizeof(*record));
    record->header.time = time;
    record->header.id = EVENT_NAME;
    record->header.flags = RECORD_NO_STREAM;
    record->number = number;
    record->kind = kind;
}

size_t names_before(struct names *names, const struct record_header *header,
                    struct name_record ret_names[2])
{
    const struct stream_record *stream = (const struct stream_record *)header;
    size_t count = 0;

    if (header->id != EVENT_STREAM)
        return 0;
    if (note(&names->users, stream->user)) {
        begin_name(&ret_names[count], header->time, NAME_USER, stream->user);
        count += find_user(stream->user, ret_names[count].name);
    }
    if (stream->cgroup != 0 && note(&names->cgroup_ids, stream->cgroup)) {
        begin_name(&ret_names[count], header->time, NAME_CGROUP, stream->cgroup);
        count += find_cgroup(names, stream->cgroup, ret_names[count].name);
    }
    return count;
}

void names_make_cgroup(uint64_t time, uint64_t number, const char *path,
                       struct name_record *ret_name)
{
    begin_name(ret_name, time, NAME_CGROUP, number);
    keep_end(path, ret_name->name);
}

bool names_is_new(struct names *names, const struct name_record *name)
{
    return note(name->kind == NAME_USER ? &names->users : &names->cgroup_ids, name->number);
}

void names_again(struct names *names)
{
    intern_done(&names->users);
    intern_done(&names->cgroup_ids);
}

void names_done(struct names *names)
{
    if (names->opened && names->cgroups >= 0)
        close(names->cgroups);
    intern_done(&names->users);
    intern_done(&names->cgroup_ids);
    memset(names, 0, sizeof(*names));
}
