/* SPDX-License-Identifier: MIT */
/* process_choice.c: finds the chosen processes in /proc. See process_choice.h. */
#include "recorder/process_choice.h"
#include "base/process.h"
#include "event/event.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void process_choice_done(struct process_choice *choice)
{
    for (size_t i = 0; i < choice->word_count; i++)
        free(choice->words[i].text);
    free(choice->pids);
    free(choice->words);
    *choice = (struct process_choice){0};
}

/* ---- choosing ---- */

/* The pid in a text of digits; 0: not a pid. */
static pid_t pid_of(const char *text)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return 0;
    errno = 0;
    long pid = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && pid <= INT_MAX ? (pid_t)pid : 0;
}

static pid_t process_of(pid_t thread)
{
    char status[1024];
    int process = 0;

    if (process_read(thread, "status", status, sizeof(status)) == 0)
        return 0;
    const char *line = strstr(status, "\nTgid:");
    if (line != NULL && sscanf(line, "\nTgid: %d", &process) != 1)
        process = 0;
    return process;
}

int process_choice_pid(struct process_choice *choice, const char *text, struct problem *problem)
{
    pid_t pid = pid_of(text);

    if (pid == 0)
        return isdigit((unsigned char)text[0])
                   ? problem_set(problem, -EINVAL, "'%s' is not a process id", text)
                   : problem_set(problem, -EINVAL,
                                 "'%s' is not a process id; if it is a name, use --name %s", text,
                                 text);
    pid_t process = process_of(pid);
    if (process == 0)
        return problem_set(problem, -ESRCH, "no process has the id %d", pid);
    if (process == getpid())
        return problem_set(problem, -EINVAL, "process %d is dpm itself; it cannot be metered", pid);
    if (array_reserve(&choice->pids, &choice->pid_capacity, choice->pid_count + 1,
                      sizeof(*choice->pids)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    choice->pids[choice->pid_count++] = process;
    return 0;
}

static int add_word(struct process_choice *choice, enum chosen_by by, const char *text,
                    struct problem *problem)
{
    char *own = strdup(text);

    if (own == NULL || array_reserve(&choice->words, &choice->word_capacity, choice->word_count + 1,
                                     sizeof(*choice->words)) < 0) {
        free(own);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    choice->words[choice->word_count++] = (struct chosen_word){.by = by, .text = own};
    return 0;
}

int process_choice_name(struct process_choice *choice, const char *name, struct problem *problem)
{
    return add_word(choice, CHOSEN_BY_NAME, name, problem);
}

/* Whether `path` is the cgroup or lies below it. */
static bool lies_in(const char *path, const char *cgroup)
{
    size_t length = strlen(cgroup);

    while (length > 0 && cgroup[length - 1] == '/')
        length--;
    return strncmp(path, cgroup, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Length of the longest mount point of a cgroup hierarchy that contains the path; 0: none. */
static size_t mount_length(const char *path)
{
    static const char usual[] = "/sys/fs/cgroup";
    size_t longest = lies_in(path, usual) ? strlen(usual) : 0;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent *mount;

    while (mounts != NULL && (mount = getmntent(mounts)) != NULL) {
        size_t length = strlen(mount->mnt_dir);
        if ((strcmp(mount->mnt_type, "cgroup2") == 0 || strcmp(mount->mnt_type, "cgroup") == 0) &&
            length > longest && lies_in(path, mount->mnt_dir))
            longest = length;
    }
    if (mounts != NULL)
        endmntent(mounts);
    return longest;
}

int process_choice_cgroup(struct process_choice *choice, const char *path, struct problem *problem)
{
    size_t mount = mount_length(path);

    /* the mount point itself is the root of all cgroups */
    const char *below = mount > 0 && path[mount] == '\0' ? "/" : path + mount;
    if (*below != '/')
        return problem_set(problem, -EINVAL,
                           "--cgroup '%s': give a path below /sys/fs/cgroup that begins with '/'",
                           path);
    return add_word(choice, CHOSEN_BY_CGROUP, below, problem);
}

/* Folders of unit files; the first one that has the file counts. */
static const char *const unit_folders[] = {
    "/etc/systemd/system",     "/run/systemd/system", "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system", "/lib/systemd/system",
};

/* Reads the symbolic link that the unit's file is. Returns false if it is none. */
static bool read_unit_link(const char *unit, char file[PATH_MAX])
{
    char link[PATH_MAX];
    ssize_t length = -1;

    errno = ENOENT;
    for (size_t i = 0; i < ARRAY_SIZE(unit_folders) && length < 0 && errno == ENOENT; i++) {
        snprintf(link, sizeof(link), "%s/%s", unit_folders[i], unit);
        length = readlink(link, file, PATH_MAX - 1);
    }
    file[length < 0 ? 0 : length] = '\0';
    return length >= 0;
}

#define ALIASES_MOST 8 /* links in a row; more are a cycle */

/* An alias is a link to the unit, or to another alias: /etc/systemd/system/redis.service -> .../redis-server.service.
 * Writes the unit's own name into `unit`; without a link, `unit` stays. */
static void follow_alias(char unit[NAME_MAX + 1])
{
    char file[PATH_MAX];

    for (unsigned i = 0; i < ALIASES_MOST && read_unit_link(unit, file); i++) {
        const char *slash = strrchr(file, '/');
        const char *name = slash == NULL ? file : slash + 1;
        /* a masked unit is a link to /dev/null; a unit file stored elsewhere is a link to a file of the same name */
        if (strcmp(file, "/dev/null") == 0 || strcmp(name, unit) == 0)
            return;
        snprintf(unit, NAME_MAX + 1, "%.*s", NAME_MAX, name);
    }
}

/* php8.2-fpm has no type; redis.service has one (systemd.unit(5)). */
static bool has_unit_type(const char *unit)
{
    static const char *const types[] = {".service", ".socket", ".scope",    ".slice",
                                        ".mount",   ".timer",  ".path",     ".target",
                                        ".swap",    ".device", ".automount"};
    const char *dot = strrchr(unit, '.');

    for (size_t i = 0; dot != NULL && i < ARRAY_SIZE(types); i++)
        if (strcmp(dot, types[i]) == 0)
            return true;
    return false;
}

int process_choice_unit(struct process_choice *choice, const char *text, struct problem *problem)
{
    char unit[NAME_MAX + 1];

    if (*text == '\0' || strchr(text, '/') != NULL || strlen(text) > NAME_MAX - strlen(".service"))
        return problem_set(problem, -EINVAL, "--unit '%s': give a systemd unit, e.g. redis.service",
                           text);
    snprintf(unit, sizeof(unit), "%s%s", text, has_unit_type(text) ? "" : ".service");
    follow_alias(unit);
    return add_word(choice, CHOSEN_BY_UNIT, unit, problem);
}

/* ---- finding ---- */

static bool has_folder(const char *path, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = path; (at = strchr(at, '/')) != NULL;) {
        at++;
        if (strncmp(at, name, length) == 0 && (at[length] == '/' || at[length] == '\0'))
            return true;
    }
    return false;
}

#define COMMAND_MOST 131072 /* those of Java programs have some 10,000 letters */

/* The properties by which a process may be chosen. */
struct traits {
    char name[64];              /* as ps(1) shows it */
    char file[PATH_MAX];        /* the program file */
    char command[COMMAND_MOST]; /* line */
    char cgroups[8192];         /* lines "0::/system.slice/redis.service", one for each hierarchy */
};

#define ANCESTORS_MOST 64

struct search {
    struct process_choice *choice;
    int (*found)(pid_t pid, void *context);
    void *context;
    struct traits traits; /* of the process that is looked at */
    /* our own: `sudo dpm acquire --name X` has X in its command line, too */
    pid_t ancestors[ANCESTORS_MOST];
    size_t ancestor_count;
};

static void find_ancestors(struct search *search)
{
    pid_t pid = getppid();

    while (pid > 0 && search->ancestor_count < ANCESTORS_MOST) {
        search->ancestors[search->ancestor_count++] = pid;
        pid = process_parent(pid);
    }
}

static bool is_ancestor(const struct search *search, pid_t pid)
{
    for (size_t i = 0; i < search->ancestor_count; i++)
        if (search->ancestors[i] == pid)
            return true;
    return false;
}

static void read_traits(pid_t pid, struct traits *traits)
{
    process_name(pid, traits->name, sizeof(traits->name));
    process_program(pid, traits->file, sizeof(traits->file));
    command_line_read(pid, traits->command, sizeof(traits->command));
    process_read(pid, "cgroup", traits->cgroups, sizeof(traits->cgroups));
}

static bool fits_name(const struct search *search, const char *name, pid_t pid)
{
    const struct traits *traits = &search->traits;
    const char *slash = strrchr(traits->file, '/');

    return strcmp(name, traits->name) == 0 || (slash != NULL && strcmp(name, slash + 1) == 0) ||
           (command_is_named(name, traits->command) && !is_ancestor(search, pid));
}

/* Whether the path in one of the lines lies in the cgroup, or contains the unit's folder. */
static bool fits_cgroup(const struct chosen_word *word, const struct traits *traits)
{
    char path[sizeof(traits->cgroups)];

    for (const char *line = traits->cgroups, *end; *line != '\0'; line = end + (*end != '\0')) {
        end = line + strcspn(line, "\n");
        const char *colon = memmem(line, (size_t)(end - line), ":/", 2);
        if (colon == NULL)
            continue;
        snprintf(path, sizeof(path), "%.*s", (int)(end - colon - 1), colon + 1);
        if (word->by == CHOSEN_BY_CGROUP ? lies_in(path, word->text) : has_folder(path, word->text))
            return true;
    }
    return false;
}

static bool is_chosen(struct search *search, pid_t pid)
{
    bool chosen = false;

    read_traits(pid, &search->traits);
    for (size_t i = 0; i < search->choice->word_count; i++) {
        struct chosen_word *word = &search->choice->words[i];
        bool fits = word->by == CHOSEN_BY_NAME ? fits_name(search, word->text, pid)
                                               : fits_cgroup(word, &search->traits);
        /* a zombie still has its name */
        if (fits && process_lives(pid))
            chosen = word->fits = true;
    }
    return chosen;
}

static int look_at(pid_t pid, void *context)
{
    struct search *search = context;

    return is_chosen(search, pid) ? search->found(pid, search->context) : 0;
}

static int find_by_words(struct process_choice *choice, int (*found)(pid_t pid, void *context),
                         void *context, struct problem *problem)
{
    struct search *search = calloc(1, sizeof(*search));
    int result;

    if (search == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    search->choice = choice;
    search->found = found;
    search->context = context;
    find_ancestors(search);
    result = process_each(look_at, search, problem);
    free(search);
    return result;
}

int process_choice_find(struct process_choice *choice, int (*found)(pid_t pid, void *context),
                        void *context, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; i < choice->pid_count && result >= 0; i++)
        result = found(choice->pids[i], context);
    if (result >= 0 && choice->word_count > 0)
        result = find_by_words(choice, found, context, problem);
    return result < 0 ? result : 0;
}

bool process_choice_has_pid(const struct process_choice *choice, pid_t pid)
{
    for (size_t i = 0; i < choice->pid_count; i++)
        if (choice->pids[i] == pid)
            return true;
    return false;
}

bool process_choice_misses(const struct process_choice *choice, struct problem *problem)
{
    static const char *const what[] = {
        [CHOSEN_BY_NAME] = "is named",
        [CHOSEN_BY_CGROUP] = "is in the cgroup",
        [CHOSEN_BY_UNIT] = "belongs to the unit",
    };
    char text[sizeof(problem->text)] = "";
    size_t length = 0;
    int before = -1;

    for (size_t i = 0; i < choice->word_count && length < sizeof(text); i++) {
        int by = (int)choice->words[i].by;
        if (choice->words[i].fits)
            continue;
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s %s %s",
                                   length == 0 || by == before ? "" : ", none",
                                   by == before ? "or" : what[by], choice->words[i].text);
        before = by;
    }
    if (length > 0)
        problem_set(problem, -ESRCH, "no process%s", text);
    return length > 0;
}
