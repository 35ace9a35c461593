/* SPDX-License-Identifier: MIT */
/*
 * host_cgroup.c: the cgroups that hold metered processes, and those above them. See host.h.
 *
 *      a process in cgroup 77, "/site/web"
 *          cgroup2 has the controllers     /site/web (77)   /site (its directory's inode)
 *          cgroup v1 has them              /proc/PID/cgroup --> /a/b in the cpu hierarchy    2^52 + inode
 *                                                           --> /c in the memory hierarchy   2^52 + 2^51 + inode
 *
 * In v1 a cgroup with the same path in both hierarchies, as containers have it, is one. Directories stay open, so that a
 * path that is used again does not become another cgroup. Files are opened for each reading: there would be eight for
 * each cgroup.
 */
#include "host/host.h"
#include "host/host_text.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define ROOT_SIZE 512
#define MOST_SEEN 65536 /* numbers that are remembered; then all are looked at again */

enum hierarchy {
    V1_CPU,
    V1_ACCOUNT, /* CPU time used */
    V1_MEMORY,
    V1_COUNT,
    UNIFIED = V1_COUNT,
    HIERARCHIES,
};

static const char *const controllers[V1_COUNT] = {"cpu", "cpuacct", "memory"};

/* Where a hierarchy of v1 is mounted. */
struct place {
    int directory;        /* -1: it is not */
    char root[PATH_SIZE]; /* the cgroup that is shown there */
};

struct watched {
    uint64_t number;
    char *path;
    int directories[HIERARCHIES]; /* -1: it has none there */
    bool holds;                   /* metered processes themselves, not only below */
    bool told, gone;
    struct cgroup_record latest, last_told;
};

struct host_cgroups {
    char root[ROOT_SIZE];
    int unified;
    struct place v1[V1_COUNT];
    bool asks;      /* processes are asked for their cgroups in v1 ... */
    unsigned asked; /* ... so often since the last reading */
    bool unread;
    struct watched list[CGROUPS_MOST];
    size_t count;
    struct intern seen;     /* cgroup2 ids that were noted */
    struct intern seen_v1;  /* hashes of paths in v1 */
    struct intern left_out; /* numbers beyond the limit */
};

/* ---- open and closed ---- */

static void find_mounts(struct host_cgroups *cgroups)
{
    char *line = NULL, path[PATH_SIZE + 32], place[PATH_SIZE], root[PATH_SIZE];
    size_t size = 0;

    snprintf(path, sizeof(path), "%s/proc/self/mountinfo", cgroups->root);
    FILE *file = fopen(path, "re");
    while (file != NULL && getline(&line, &size, file) > 0)
        for (size_t i = 0; i < V1_COUNT; i++) {
            struct place *to = &cgroups->v1[i];
            char whole[2 * PATH_SIZE];
            if (to->directory >= 0 ||
                !host_parse_v1_mount(line, controllers[i], place, root, sizeof(root)))
                continue;
            snprintf(whole, sizeof(whole), "%s%s", cgroups->root, place);
            to->directory = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            strcpy(to->root, root);
        }
    free(line);
    if (file != NULL)
        fclose(file);
}

int host_cgroups_open(const char *root, int unified, struct host_cgroups **ret_cgroups)
{
    struct host_cgroups *cgroups = calloc(1, sizeof(*cgroups));

    if (cgroups == NULL)
        return -ENOMEM;
    snprintf(cgroups->root, sizeof(cgroups->root), "%s", root);
    cgroups->unified = unified;
    for (size_t i = 0; i < V1_COUNT; i++)
        cgroups->v1[i].directory = -1;
    find_mounts(cgroups);
    cgroups->asks = cgroups->v1[V1_CPU].directory >= 0 || cgroups->v1[V1_MEMORY].directory >= 0;
    *ret_cgroups = cgroups;
    return 0;
}

static void close_if_open(int file)
{
    if (file >= 0)
        close(file);
}

static void unwatch(struct watched *watched)
{
    for (size_t i = 0; i < HIERARCHIES; i++)
        close_if_open(watched->directories[i]);
    free(watched->path);
}

void host_cgroups_close(struct host_cgroups *cgroups)
{
    if (cgroups == NULL)
        return;
    for (size_t i = 0; i < cgroups->count; i++)
        unwatch(&cgroups->list[i]);
    for (size_t i = 0; i < V1_COUNT; i++)
        close_if_open(cgroups->v1[i].directory);
    intern_done(&cgroups->seen);
    intern_done(&cgroups->seen_v1);
    intern_done(&cgroups->left_out);
    free(cgroups);
}

bool host_cgroups_unread(const struct host_cgroups *cgroups)
{
    return cgroups->unread;
}

uint64_t host_cgroups_left_out(const struct host_cgroups *cgroups)
{
    return cgroups->left_out.count;
}

/* ---- noted ---- */

static struct watched *find(struct host_cgroups *cgroups, uint64_t number)
{
    for (size_t i = 0; i < cgroups->count; i++)
        if (cgroups->list[i].number == number && !cgroups->list[i].gone)
            return &cgroups->list[i];
    return NULL;
}

/* The cgroup with this directory in a hierarchy, which is closed if it was known. NULL: there is no more room. */
static struct watched *watch(struct host_cgroups *cgroups, uint64_t kind, enum hierarchy hierarchy,
                             int directory, const char *path)
{
    struct stat status;
    struct watched *watched;
    char *copy = NULL;

    if (fstat(directory, &status) < 0) {
        close(directory);
        return NULL;
    }
    uint64_t number = kind | (uint64_t)status.st_ino;
    watched = find(cgroups, number);
    if (watched == NULL && cgroups->count < CGROUPS_MOST)
        copy = strdup(path);
    if (watched != NULL || copy == NULL) {
        if (watched == NULL && cgroups->left_out.count < MOST_SEEN)
            intern_add(&cgroups->left_out, number);
        close(directory);
        return watched;
    }
    watched = &cgroups->list[cgroups->count++];
    *watched = (struct watched){.number = number, .path = copy, .directories = {-1, -1, -1, -1}};
    watched->directories[hierarchy] = directory;
    cgroups->unread = true;
    return watched;
}

static int open_below(int directory, const char *path)
{
    return path[0] != '/' || path[1] == '\0'
               ? -1
               : openat(directory, path + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* In a cgroup namespace the root is a container's own cgroup, which has limits; the machine's has none. */
static void note_root(struct host_cgroups *cgroups, bool holds)
{
    int directory = cgroup_is_machine_root(cgroups->unified)
                        ? -1
                        : openat(cgroups->unified, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct watched *watched = directory < 0 ? NULL : watch(cgroups, 0, UNIFIED, directory, "/");

    if (watched != NULL && holds)
        watched->holds = true;
}

/* The cgroup2 and those above it. */
static void note_unified(struct host_cgroups *cgroups, const char *path)
{
    char above[PATH_SIZE];
    bool holds = true;

    if (cgroups->unified < 0 || strlen(path) >= sizeof(above))
        return;
    strcpy(above, path);
    while (above[0] == '/' && above[1] != '\0') {
        int directory = open_below(cgroups->unified, above);
        struct watched *watched =
            directory < 0 ? NULL : watch(cgroups, 0, UNIFIED, directory, above);
        if (watched != NULL && holds)
            watched->holds = true;
        holds = false;
        *strrchr(above, '/') = '\0';
    }
    note_root(cgroups, holds);
}

/* The part of a cgroup's path below what a mount shows; NULL: it is outside. */
static const char *below_root(const struct place *place, const char *path)
{
    size_t length = strcmp(place->root, "/") == 0 ? 0 : strlen(place->root);

    return strncmp(path, place->root, length) == 0 && (path[length] == '/' || path[length] == '\0')
               ? path + length
               : NULL;
}

static int open_v1(const struct host_cgroups *cgroups, enum hierarchy hierarchy, const char *path)
{
    const struct place *place = &cgroups->v1[hierarchy];
    const char *below = place->directory < 0 ? NULL : below_root(place, path);

    return below == NULL ? -1 : open_below(place->directory, below);
}

/* Adds the directory with the same path in another hierarchy. */
static void join_v1(const struct host_cgroups *cgroups, struct watched *watched,
                    enum hierarchy hierarchy)
{
    if (watched->directories[hierarchy] < 0)
        watched->directories[hierarchy] = open_v1(cgroups, hierarchy, watched->path);
}

/* A cgroup of v1 and those above it. `joined`: it has the same path in the memory hierarchy. */
static void note_v1(struct host_cgroups *cgroups, enum hierarchy hierarchy, const char *path,
                    bool joined)
{
    uint64_t kind = CGROUP_OF_V1 | (hierarchy == V1_MEMORY ? CGROUP_OF_MEMORY : 0);
    char above[PATH_SIZE];
    bool holds = true;

    strcpy(above, path);
    while (above[0] == '/' && above[1] != '\0') {
        int directory = open_v1(cgroups, hierarchy, above);
        struct watched *watched =
            directory < 0 ? NULL : watch(cgroups, kind, hierarchy, directory, above);
        if (watched != NULL) {
            watched->holds = watched->holds || holds;
            if (hierarchy == V1_CPU)
                join_v1(cgroups, watched, V1_ACCOUNT);
            if (joined)
                join_v1(cgroups, watched, V1_MEMORY);
        }
        holds = false;
        *strrchr(above, '/') = '\0';
    }
}

/* Whether it was not seen before. */
static bool is_new(struct intern *seen, uint64_t number)
{
    if (seen->count >= MOST_SEEN)
        intern_done(seen);
    uint32_t count = seen->count;
    return intern_add(seen, number) == (int64_t)count;
}

static void ask_process(struct host_cgroups *cgroups, pid_t pid)
{
    char text[4 * PATH_SIZE], name[PATH_SIZE], cpu[PATH_SIZE] = "", memory[PATH_SIZE] = "";

    if (cgroups->root[0] == '\0') {
        process_read(pid, "cgroup", text, sizeof(text));
    } else {
        snprintf(name, sizeof(name), "%s/proc/%d/cgroup", cgroups->root, pid);
        FILE *file = fopen(name, "re");
        size_t length = file == NULL ? 0 : fread(text, 1, sizeof(text) - 1, file);
        text[length] = '\0';
        if (file != NULL)
            fclose(file);
    }
    if (text[0] == '\0' || !is_new(&cgroups->seen_v1, hash_bytes(0, text, strlen(text))))
        return;
    host_parse_process_cgroup(text, "cpu", cpu, sizeof(cpu));
    host_parse_process_cgroup(text, "memory", memory, sizeof(memory));
    bool same = strcmp(cpu, memory) == 0;
    note_v1(cgroups, V1_CPU, cpu, same);
    if (!same)
        note_v1(cgroups, V1_MEMORY, memory, false);
}

bool host_cgroups_is_new(struct host_cgroups *cgroups, uint64_t cgroup)
{
    return cgroup != 0 && is_new(&cgroups->seen, cgroup);
}

void host_cgroups_note(struct host_cgroups *cgroups, const char *path)
{
    note_unified(cgroups, path);
}

/* A process takes 10 us; many may be created in a second. */
#define ASKED_MOST 512

void host_cgroups_note_process(struct host_cgroups *cgroups, pid_t pid)
{
    if (pid > 0 && cgroups->asks && cgroups->asked++ < ASKED_MOST)
        ask_process(cgroups, pid);
}

/* ---- read ---- */

#define TEXT_SIZE 4096

/* The beginning of a file, NULL: it is not there. */
static const char *text_of(int directory, const char *name, char text[TEXT_SIZE])
{
    size_t length = 0;
    ssize_t got;
    int file = directory < 0 ? -1 : openat(directory, name, O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return NULL;
    while ((got = read(file, text + length, TEXT_SIZE - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(file);
    return length == 0 ? NULL : text;
}

static void read_number(int directory, const char *name, uint64_t *ret_number)
{
    char room[TEXT_SIZE];
    const char *text = text_of(directory, name, room);

    if (text != NULL)
        *ret_number = text_number(&text);
}

static void read_limit(int directory, const char *name, uint64_t *ret_limit)
{
    char room[TEXT_SIZE];
    const char *text = text_of(directory, name, room);

    if (text != NULL)
        *ret_limit = host_parse_limit(text);
}

static void read_pressure(int directory, const char *name, uint64_t *ret_some)
{
    char room[TEXT_SIZE];
    const char *text = text_of(directory, name, room);
    uint64_t unused;

    if (text != NULL)
        host_parse_pressure(text, ret_some, &unused);
}

static void read_unified(int directory, struct cgroup_record *record)
{
    char room[TEXT_SIZE];
    const char *text;

    if ((text = text_of(directory, "cpu.stat", room)) != NULL)
        host_parse_cpu_stat(text, record);
    if ((text = text_of(directory, "cpu.max", room)) != NULL)
        host_parse_cpu_max(text, record);
    /* memory.events counts what happens in cgroups below, too; older kernels have no .local */
    text = text_of(directory, "memory.events.local", room);
    if (text == NULL)
        text = text_of(directory, "memory.events", room);
    if (text != NULL)
        host_parse_memory_events(text, record);
    read_number(directory, "memory.current", &record->memory);
    read_limit(directory, "memory.max", &record->memory_most);
    read_pressure(directory, "cpu.pressure", &record->cpu_waited);
    read_pressure(directory, "memory.pressure", &record->memory_waited);
    read_pressure(directory, "io.pressure", &record->disk_waited);
}

static void read_v1_cpu(int directory, int account, struct cgroup_record *record)
{
    char room[TEXT_SIZE];
    const char *text;

    read_number(account, "cpuacct.usage", &record->cpu);
    if ((text = text_of(directory, "cpu.stat", room)) != NULL)
        host_parse_cpu_stat(text, record);
    read_limit(directory, "cpu.cfs_quota_us", &record->quota);
    record->quota = text_times(record->quota, 1000);
    read_number(directory, "cpu.cfs_period_us", &record->period);
    record->period = text_times(record->period, 1000);
}

static void read_v1_memory(int directory, struct cgroup_record *record)
{
    char room[TEXT_SIZE];
    const char *text;

    read_number(directory, "memory.usage_in_bytes", &record->memory);
    read_limit(directory, "memory.limit_in_bytes", &record->memory_most);
    read_number(directory, "memory.failcnt", &record->memory_reclaims);
    if ((text = text_of(directory, "memory.oom_control", room)) != NULL)
        record->oom_kills = text_value(text, "oom_kill");
}

/* A removed cgroup's directory has no files any more. */
static bool is_gone(const struct watched *watched)
{
    for (size_t i = 0; i < HIERARCHIES; i++)
        if (watched->directories[i] >= 0 &&
            faccessat(watched->directories[i], "cgroup.procs", F_OK, 0) == 0)
            return false;
    return true;
}

static void read_state(struct watched *watched)
{
    struct cgroup_record *latest = &watched->latest;
    struct cgroup_record record;

    memset(&record, 0xff, sizeof(record));
    record.header = (struct record_header){
        .time = clock_now(CLOCK_MONOTONIC), .id = EVENT_CGROUP, .flags = RECORD_NO_STREAM};
    record.cgroup = watched->number;
    if (watched->directories[UNIFIED] >= 0)
        read_unified(watched->directories[UNIFIED], &record);
    if (watched->directories[V1_CPU] >= 0)
        read_v1_cpu(watched->directories[V1_CPU], watched->directories[V1_ACCOUNT], &record);
    if (watched->directories[V1_MEMORY] >= 0)
        read_v1_memory(watched->directories[V1_MEMORY], &record);
    watched->gone = is_gone(watched);
    if (!watched->gone)
        *latest = record; /* else some of the files may have been missing */
    else if (latest->header.id != 0)
        latest->header.time = record.header.time;
}

/* ---- reported ---- */

static bool is_limited(const struct cgroup_record *record)
{
    return (record->quota != 0 && record->quota != NOT_KNOWN) ||
           (record->memory_most != 0 && record->memory_most != NOT_KNOWN);
}

/* Whether a limit was reached since, or is another one now. */
static bool was_reached(const struct cgroup_record *before, const struct cgroup_record *now)
{
    return before->throttled_periods != now->throttled_periods || before->quota != now->quota ||
           before->memory_most != now->memory_most ||
           before->memory_reclaims != now->memory_reclaims || before->oom_kills != now->oom_kills;
}

static bool differs(const struct cgroup_record *before, const struct cgroup_record *now)
{
    const size_t head = sizeof(struct record_header);

    return memcmp((const char *)before + head, (const char *)now + head, sizeof(*now) - head) != 0;
}

static bool is_worth_a_record(const struct watched *watched, bool all)
{
    if (watched->latest.header.id == 0) /* it was gone before it was read */
        return false;
    if (!watched->told)
        return watched->holds || is_limited(&watched->latest);
    return all || watched->gone ? differs(&watched->last_told, &watched->latest)
                                : was_reached(&watched->last_told, &watched->latest);
}

/* A cgroup that is gone makes room for another one. */
static void forget_gone(struct host_cgroups *cgroups)
{
    size_t kept = 0;

    for (size_t i = 0; i < cgroups->count; i++) {
        if (cgroups->list[i].gone)
            unwatch(&cgroups->list[i]);
        else
            cgroups->list[kept++] = cgroups->list[i];
    }
    if (kept < cgroups->count) /* the same path in v1 may be another cgroup's later */
        intern_done(&cgroups->seen_v1);
    cgroups->count = kept;
}

bool host_cgroups_next(struct host_cgroups *cgroups, size_t *at, bool all,
                       struct host_cgroup *ret_cgroup)
{
    if (*at == 0) {
        forget_gone(cgroups);
        cgroups->asked = 0;
        cgroups->unread = false;
    }
    while (*at < cgroups->count) {
        struct watched *watched = &cgroups->list[(*at)++];
        read_state(watched);
        if (!is_worth_a_record(watched, all))
            continue;
        *ret_cgroup = (struct host_cgroup){watched->latest, watched->path, !watched->told};
        watched->told = true;
        watched->last_told = watched->latest;
        return true;
    }
    return false;
}
