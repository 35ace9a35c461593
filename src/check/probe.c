/* SPDX-License-Identifier: MIT */
/* probe.c: facts about the machine, from files and calls. See probe.h. */
#include "check/probe.h"

#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGEST_FILE (1u << 20) /* the rest of a longer file is ignored */

/* The kernel gives its initial namespaces these inodes (include/linux/proc_ns.h). */
#define INITIAL_USERS "user:[4026531837]"
#define INITIAL_PIDS  "pid:[4026531836]"

/* ---- reading ---- */

/* Joins three parts of a path. Returns whether the result fits. */
static bool join(char path[PATH_MAX], const char *root, const char *folder, const char *name)
{
    return (size_t)snprintf(path, PATH_MAX, "%s%s%s", root, folder, name) < PATH_MAX;
}

/* The text of a file, which the caller frees; NULL with errno if it cannot be read. */
static char *read_text(const char *root, const char *name)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size = 0, room = 0;
    ssize_t got = 0;

    if (!join(path, root, "", name)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    do {
        size += (size_t)got;
        if (array_reserve(&text, &room, size + 4096, 1) < 0) {
            got = -1;
            errno = ENOMEM;
        } else {
            got = read(fd, text + size, room - size - 1);
        }
    } while (got > 0 && size < LARGEST_FILE);
    int error = errno;
    close(fd);
    if (got < 0) {
        free(text);
        errno = error;
        return NULL;
    }
    text[size] = '\0';
    return text;
}

/* Copies the first line of a file; "" if it cannot be read. */
static void read_line(const char *root, const char *name, char *line, size_t size)
{
    char *text = read_text(root, name);

    snprintf(line, size, "%.*s", text == NULL ? 0 : (int)strcspn(text, "\n"),
             text == NULL ? "" : text);
    free(text);
}

/* The value on the line that begins with `key`, or NULL. */
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);

    while (strncmp(text, key, length) != 0) {
        text = strchr(text, '\n');
        if (text == NULL)
            return NULL;
        text++;
    }
    return text + length + strspn(text + length, " \t");
}

/* Reads a number. Returns whether there is one. */
static bool read_number(const char *text, int base, uint64_t *ret_number)
{
    char *end;

    if (text == NULL || *text == '-')
        return false;
    errno = 0;
    uint64_t number = strtoull(text, &end, base);
    if (end == text || errno != 0)
        return false;
    *ret_number = number;
    return true;
}

/* ---- this process ---- */

void probe_parse_status(const char *text, struct probe *probe)
{
    uint64_t effective, bounding, number;

    if (!read_number(value_of(text, "CapEff:"), 16, &effective) ||
        !read_number(value_of(text, "CapBnd:"), 16, &bounding))
        return;
    probe->status = ANSWER_YES;
    probe->is_root = read_number(value_of(text, "Uid:"), 10, &number) && number == 0;
    probe->effective = effective;
    probe->bounding = bounding;
    probe->no_new_privileges =
        read_number(value_of(text, "NoNewPrivs:"), 10, &number) && number == 1;
    probe->seccomp =
        read_number(value_of(text, "Seccomp:"), 10, &number) && number <= 2 ? (unsigned)number : 0;
}

enum answer probe_parse_users(const char *text)
{
    uint64_t inside, outside, count;

    if (sscanf(text, " %" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside, &count) != 3)
        return ANSWER_UNKNOWN;
    return inside == 0 && outside == 0 && count == UINT32_MAX ? ANSWER_YES : ANSWER_NO;
}

/* Whether a link of /proc/self/ns leads to the initial namespace. */
static enum answer is_namespace(const char *root, const char *name, const char *initial)
{
    char path[PATH_MAX], target[64];

    if (!join(path, root, "/proc/self/ns/", name))
        return ANSWER_UNKNOWN;
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length < 0)
        return ANSWER_UNKNOWN;
    target[length] = '\0';
    return strcmp(target, initial) == 0 ? ANSWER_YES : ANSWER_NO;
}

static void probe_process(const char *root, struct probe *probe)
{
    char path[PATH_MAX];
    char *status = read_text(root, "/proc/self/status");
    char *users = read_text(root, "/proc/self/uid_map");

    if (status != NULL)
        probe_parse_status(status, probe);
    probe->initial_users = is_namespace(root, "user", INITIAL_USERS);
    if (users != NULL && probe_parse_users(users) == ANSWER_NO)
        probe->initial_users = ANSWER_NO;
    probe->initial_pids = is_namespace(root, "pid", INITIAL_PIDS);
    ssize_t length = join(path, root, "", "/proc/self/exe")
                         ? readlink(path, probe->program, sizeof(probe->program) - 1)
                         : -1;
    probe->program[length < 0 ? 0 : length] = '\0';
    free(status);
    free(users);
}

/* ---- the kernel ---- */

/* The word in brackets: "none [integrity] confidentiality". */
enum lockdown probe_parse_lockdown(const char *text)
{
    static const struct {
        const char *word;
        enum lockdown lockdown;
    } modes[] = {
        {"[none]", LOCKDOWN_NONE},
        {"[integrity]", LOCKDOWN_INTEGRITY},
        {"[confidentiality]", LOCKDOWN_CONFIDENTIALITY},
    };

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
        if (strstr(text, modes[i].word) != NULL)
            return modes[i].lockdown;
    return LOCKDOWN_UNKNOWN;
}

/* Checks only the magic number at the beginning; libbpf judges the rest. */
static int probe_types(const char *root)
{
    char path[PATH_MAX];
    uint16_t magic = 0;

    if (!join(path, root, "", "/sys/kernel/btf/vmlinux"))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    ssize_t got = read(fd, &magic, sizeof(magic));
    int result = got < 0 ? -errno : got == sizeof(magic) && magic == 0xeb9f ? 0 : -EINVAL;
    close(fd);
    return result;
}

static void probe_kernel(const char *root, struct probe *probe)
{
    char *lockdown = read_text(root, "/sys/kernel/security/lockdown");

    read_line(root, "/proc/sys/kernel/osrelease", probe->release, sizeof(probe->release));
    read_line(root, "/proc/sys/kernel/arch", probe->machine, sizeof(probe->machine));
    read_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
              probe->clock_source, sizeof(probe->clock_source));
    probe->types = probe_types(root);
    probe->lockdown = lockdown == NULL ? LOCKDOWN_UNKNOWN : probe_parse_lockdown(lockdown);
    free(lockdown);
}

/* ---- mounts ---- */

/* Whether a list like "rw,memory" contains `word`. */
static bool has_option(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool hides_pids(const char *options)
{
    const char *hide = strstr(options, "hidepid=");

    return hide != NULL && !has_option(hide, "hidepid=0") && !has_option(hide, "hidepid=off");
}

/* The first mount of a kind counts; later ones repeat it elsewhere. */
static void note_mount(struct probe_mount *mount, const char *root, const char *point)
{
    if (mount->point[0] != '\0')
        return;
    unescape_mount(point, strlen(point), mount->point, sizeof(mount->point));
    unescape_mount(root, strlen(root), mount->root, sizeof(mount->root));
}

/* Parses one line in place: ID PARENT DEVICE ROOT POINT OPTIONS TAG... - TYPE SOURCE OPTIONS */
static void parse_mount(char *line, struct probe_mounts *mounts)
{
    char *words[6];
    char *rest = line;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if ((words[i] = strsep(&rest, " ")) == NULL)
            return;
    char *word = strsep(&rest, " ");
    while (word != NULL && strcmp(word, "-") != 0)
        word = strsep(&rest, " ");
    const char *type = strsep(&rest, " ");
    const char *source = strsep(&rest, " ");
    if (type == NULL || source == NULL || rest == NULL)
        return;
    if (strcmp(type, "cgroup2") == 0)
        note_mount(&mounts->cgroup2, words[3], words[4]);
    else if (strcmp(type, "cgroup") == 0 && has_option(rest, "memory"))
        note_mount(&mounts->cgroup_memory, words[3], words[4]);
    else if (strcmp(type, "proc") == 0 && strcmp(words[4], "/proc") == 0)
        mounts->pids_hidden =
            hides_pids(rest) ? ANSWER_YES : ANSWER_NO; /* the last one is on top */
}

void probe_parse_mounts(const char *text, struct probe_mounts *ret_mounts)
{
    char *copy = strdup(text);
    char *rest = copy;

    memset(ret_mounts, 0, sizeof(*ret_mounts));
    while (rest != NULL)
        parse_mount(strsep(&rest, "\n"), ret_mounts);
    free(copy);
}

/* ---- memory ---- */

uint64_t probe_parse_memory(const char *text)
{
    uint64_t kilobytes;

    if (!read_number(value_of(text, "MemAvailable:"), 10, &kilobytes) ||
        kilobytes > UINT64_MAX >> 10)
        return UINT64_MAX;
    return kilobytes << 10;
}

/* Lines are NUMBER:CONTROLLER,...:PATH; version 2 has no controllers. */
bool probe_parse_group(const char *text, const char *controller, char ret_path[PATH_MAX])
{
    for (const char *line = text; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        char controllers[256];
        size_t length = strcspn(line, "\n");
        const char *first = memchr(line, ':', length);
        const char *second =
            first == NULL ? NULL : memchr(first + 1, ':', (size_t)(line + length - first - 1));
        if (second == NULL || line + length - second > PATH_MAX)
            continue;
        snprintf(controllers, sizeof(controllers), "%.*s", (int)(second - first - 1), first + 1);
        if (!has_option(controllers, controller))
            continue;
        snprintf(ret_path, PATH_MAX, "%.*s", (int)(line + length - second - 1), second + 1);
        return true;
    }
    return false;
}

/* Applies the limit in a file if it is the lowest so far. A word such as "max" means no limit. */
static void note_limit(const char *root, const char *folder, const char *file, struct probe *probe)
{
    char path[PATH_MAX];
    uint64_t limit;

    if (!join(path, "", folder, file))
        return;
    char *text = read_text(root, path);
    /* version 1 writes the largest number of pages for "no limit" */
    if (text != NULL && read_number(text, 10, &limit) && limit < INT64_MAX - (1 << 20) &&
        limit < probe->memory_limit) {
        probe->memory_limit = limit;
        snprintf(probe->limited_by, sizeof(probe->limited_by), "%s", path);
    }
    free(text);
}

/* A group obeys its own limit and those of all its parents. */
static void probe_limits(const char *root, const struct probe_mount *mount, const char *group,
                         const char *file, struct probe *probe)
{
    char folder[PATH_MAX];
    size_t shared = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

    if (mount->point[0] == '\0' || strstr(group, "/..") != NULL)
        return;
    /* a container sees only the part below its own group */
    if (strncmp(group, mount->root, shared) != 0)
        shared = strlen(group);
    if (!join(folder, mount->point, group + shared, ""))
        return;
    size_t least = strlen(mount->point);
    for (char *end = folder + strlen(folder); end != NULL; end = strrchr(folder, '/')) {
        *end = '\0';
        if (strlen(folder) < least)
            break;
        note_limit(root, folder, file, probe);
    }
}

static void probe_memory(const char *root, const struct probe_mounts *mounts, struct probe *probe)
{
    char group[PATH_MAX];
    char *memory = read_text(root, "/proc/meminfo");
    char *groups = read_text(root, "/proc/self/cgroup");

    if (memory != NULL)
        probe->memory = probe_parse_memory(memory);
    if (groups != NULL && probe_parse_group(groups, "", group))
        probe_limits(root, &mounts->cgroup2, group, "/memory.max", probe);
    if (groups != NULL && probe_parse_group(groups, "memory", group))
        probe_limits(root, &mounts->cgroup_memory, group, "/memory.limit_in_bytes", probe);
    free(memory);
    free(groups);
}

/* Whether a mount of cgroup2 shows a cgroup namespace's part only. */
static bool is_part_of_cgroups(const char *root, const char *point)
{
    char path[2 * PATH_MAX];
    struct statfs system;
    struct stat status;

    snprintf(path, sizeof(path), "%s%s", root, point);
    return point[0] != '\0' && statfs(path, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC &&
           stat(path, &status) == 0 && status.st_ino != 1; /* the id of the machine's root cgroup */
}

/* ---- everything ---- */

void probe_files(const char *root, struct probe *ret_probe)
{
    struct probe_mounts mounts = {0};
    char *text = read_text(root, "/proc/self/mountinfo");

    *ret_probe = (struct probe){.memory = UINT64_MAX, .memory_limit = UINT64_MAX};
    if (text != NULL)
        probe_parse_mounts(text, &mounts);
    free(text);
    memcpy(ret_probe->cgroup2, mounts.cgroup2.point, sizeof(ret_probe->cgroup2));
    ret_probe->cgroup2_is_part = is_part_of_cgroups(root, ret_probe->cgroup2);
    ret_probe->pids_hidden = mounts.pids_hidden;
    probe_kernel(root, ret_probe);
    probe_process(root, ret_probe);
    probe_memory(root, &mounts, ret_probe);
}

/* Tries to create the smallest possible map, and exits with bpf()'s errno. Never returns. */
static void ask_bpf(void)
{
    union bpf_attr map = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none); /* being killed here is an answer, not a crash */
    _exit(syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)) < 0 ? errno : 0);
}

void probe_calls(struct probe *probe)
{
    struct utsname names;
    int status;

    if (probe->machine[0] == '\0' && uname(&names) == 0) /* the file exists since Linux 6.1 */
        snprintf(probe->machine, sizeof(probe->machine), "%.63s", names.machine);
    pid_t pid = fork();
    if (pid == 0)
        ask_bpf();
    if (pid < 0) {
        probe->bpf = -errno;
        return;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) {
            probe->bpf = -errno;
            return;
        }
    probe->bpf = WIFEXITED(status) ? -WEXITSTATUS(status) : PROBE_KILLED;
}
