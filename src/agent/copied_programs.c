/* SPDX-License-Identifier: MIT */
/*
 * copied_programs.c: executables that a controller has copied to this machine, each once, under the hash of its content.
 *
 *      ${XDG_CACHE_HOME:-~/.cache}/dpm/HOST/programs/HASH            complete, and checked
 *                                                   HASH.SESSION     as far as it has come
 */
#include "agent/agent_private.h"
#include "base/base64.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define KEPT_FOR     (7 * 24 * 3600) /* s, since it was last used */
#define HASH_LENGTH  32              /* hexadecimal digits */
#define PROGRAM_MOST (1ll << 30)     /* bytes */

static int check_hash(const char *hash, struct problem *problem)
{
    if (hash == NULL || strlen(hash) != HASH_LENGTH ||
        strspn(hash, "0123456789abcdef") != HASH_LENGTH)
        return problem_set(problem, -EINVAL, "\"hash\" is 32 hexadecimal digits");
    return 0;
}

/* `part`: of what this agent has of it so far; NULL: of the complete program. */
static int path_of(const char *hash, const struct agent *part, char ret_path[AGENT_PATH],
                   struct problem *problem)
{
    char below[2 * HASH_LENGTH + 2 * FABRIC_NAME_MOST];

    /* each session has its own: the name of the agent's folder */
    snprintf(below, sizeof(below), "programs/%s%s%s", hash, part == NULL ? "" : ".",
             part == NULL ? "" : strrchr(part->folder, '/') + 1);
    return agent_path(true, below, ret_path, problem);
}

int programs_path(const char *hash, char ret_path[AGENT_PATH], struct problem *problem)
{
    int result = check_hash(hash, problem);

    if (result == 0)
        result = path_of(hash, NULL, ret_path, problem);
    if (result == 0 && access(ret_path, X_OK) < 0)
        return problem_set(problem, -ENOENT, "this machine has no program with the hash %s", hash);
    if (result == 0)
        utimensat(AT_FDCWD, ret_path, NULL, 0); /* it is used: programs_remove_old */
    return result;
}

static void remove_if_old(const char *path)
{
    struct stat status;

    if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
        time(NULL) - status.st_mtime < KEPT_FOR)
        return;
    int file = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return; /* ETXTBSY: it runs, and its symbols are still looked up there */
    close(file);
    unlink(path);
}

void programs_remove_old(void)
{
    char path[AGENT_PATH], file[AGENT_PATH + NAME_MAX + 2];
    const struct dirent *entry;
    struct problem ignored;
    bool has_path = agent_path_name(true, "programs", path, &ignored) == 0;
    DIR *folder = has_path ? opendir(path) : NULL;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        remove_if_old(file);
    }
    if (folder != NULL)
        closedir(folder);
}

static json_t *state_of(const struct agent *agent, const char *hash)
{
    char path[AGENT_PATH];
    struct problem problem;
    struct stat file = {0};
    bool complete = programs_path(hash, path, &problem) == 0;

    if (!complete)
        path_of(hash, agent, path, &problem);
    if (stat(path, &file) < 0)
        file.st_size = 0;
    return json_pack("{s:I, s:b}", "bytes", (json_int_t)file.st_size, "complete", complete);
}

int programs_has(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem)
{
    const char *hash = json_string_value(json_object_get(params, "hash"));
    int result = check_hash(hash, problem);

    if (result == 0)
        *ret_result = state_of(agent, hash);
    return result;
}

static bool content_fits(int file, size_t size, const char *hash)
{
    char text[HASH_LENGTH + 1];
    void *content = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);

    if (content == MAP_FAILED)
        return false;
    XXH128_hash_t is = XXH3_128bits(content, size);
    munmap(content, size);
    snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)is.high64,
             (unsigned long long)is.low64);
    return strcmp(text, hash) == 0;
}

/* Gives the whole program its name. */
static int complete(int file, const char *part, const char *hash, size_t size,
                    struct problem *problem)
{
    char path[AGENT_PATH];
    int result = path_of(hash, NULL, path, problem);

    if (result == 0 && !content_fits(file, size, hash)) {
        unlink(part);
        return problem_set(problem, -EBADMSG, "the program that came does not have the hash %s",
                           hash);
    }
    if (result == 0 && (fchmod(file, 0700) < 0 || rename(part, path) < 0))
        return problem_set(problem, -errno, "cannot store the program: %s", strerror(errno));
    return result;
}

static int write_at(int file, const char *bytes, int64_t count, json_int_t offset,
                    struct problem *problem)
{
    ssize_t written = pwrite(file, bytes, (size_t)count, offset);

    if (written == count)
        return 0;
    int error = written < 0 ? errno : ENOSPC;
    (void)!ftruncate(file, offset); /* else the hash is wrong, and the copy begins again */
    return problem_set(problem, -error, "cannot store the program: %s", strerror(error));
}

/* Adds bytes to a program that will have `size`. */
static int append(int file, json_int_t offset, json_int_t size, const char *data, size_t length,
                  json_int_t *ret_end, struct problem *problem)
{
    struct stat before;
    char *bytes = malloc(length + 1);
    int64_t count = bytes == NULL ? 0 : base64_decode(data, length, bytes);
    int result = 0;

    if (bytes == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory for the program");
    else if (count < 0)
        result = problem_set(problem, -EINVAL, "program.put: \"data\" is not base64");
    else if (count > size - offset)
        result = problem_set(problem, -EINVAL, "program.put: more data than \"size\"");
    else if (fstat(file, &before) < 0)
        result = problem_set(problem, -errno, "cannot store the program: %s", strerror(errno));
    else if (before.st_size != offset)
        result = problem_set(problem, -EINVAL, "program.put: it has %lld bytes so far",
                             (long long)before.st_size);
    else
        result = write_at(file, bytes, count, offset, problem);
    *ret_end = offset + count;
    free(bytes);
    return result;
}

int programs_put(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem)
{
    const char *hash = NULL, *data = NULL;
    json_int_t offset = 0, size = 0, end = 0;
    size_t length = 0;
    char part[AGENT_PATH];
    json_error_t error;

    if (json_unpack_ex(params, &error, 0, "{s:s, s:I, s:I, s:s%}", "hash", &hash, "offset", &offset,
                       "size", &size, "data", &data, &length) < 0)
        return problem_set(problem, -EINVAL, "program.put: %s", error.text);
    if (offset < 0 || size <= 0 || size > PROGRAM_MOST || offset > size)
        return problem_set(problem, -EINVAL, "program.put: a program has at most 1 GiB");
    int result = check_hash(hash, problem);
    if (result == 0)
        result = path_of(hash, agent, part, problem);
    if (result < 0)
        return result;
    int file = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return problem_set(problem, -errno, "cannot store the program: %s", strerror(errno));
    result = append(file, offset, size, data, length, &end, problem);
    if (result == 0 && end == size)
        result = complete(file, part, hash, (size_t)size, problem);
    close(file);
    if (result == 0)
        *ret_result = state_of(agent, hash);
    return result;
}

/* ---- programs that the machine has ---- */

static bool can_execute(const char *directory, const char *name, char path[AGENT_PATH])
{
    struct stat file;
    int length = name[0] == '/' ? snprintf(path, AGENT_PATH, "%s", name)
                                : snprintf(path, AGENT_PATH, "%s/%s", directory, name);

    return length < AGENT_PATH && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           access(path, X_OK) == 0;
}

/* As exec looks for it. */
static bool find_in_path(const char *name, char path[AGENT_PATH])
{
    const char *folders = getenv("PATH");

    for (const char *at = folders == NULL ? "/bin:/usr/bin" : folders; *at != '\0';) {
        char folder[AGENT_PATH];
        size_t length = strcspn(at, ":");
        snprintf(folder, sizeof(folder), "%.*s", (int)length, at);
        if (folder[0] == '/' && can_execute(folder, name, path))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

struct found_program {
    char directory[AGENT_PATH]; /* where it is to run */
    char path[AGENT_PATH];      /* of the program; "": there is none */
};

static bool may_enter(const char *directory)
{
    struct stat folder;

    return directory != NULL && directory[0] == '/' && stat(directory, &folder) == 0 &&
           S_ISDIR(folder.st_mode) && access(directory, X_OK) == 0;
}

static void look(const char *name, const char *directory, const char *home,
                 struct found_program *ret_found)
{
    if (!may_enter(directory))
        directory = may_enter(home) ? home : "/";
    snprintf(ret_found->directory, sizeof(ret_found->directory), "%s", directory);
    bool is_there = strchr(name, '/') == NULL ? find_in_path(name, ret_found->path)
                                              : can_execute(directory, name, ret_found->path);
    if (!is_there)
        ret_found->path[0] = '\0';
}

#define LOOK_MS 5000 /* the user may stop his process, and a folder of a network may not answer */

/* As this user, in a process of his: we are root, who may go anywhere. */
static int look_as(const struct passwd *user, const char *name, const char *directory,
                   struct found_program *ret_found, struct problem *problem)
{
    struct found_program found = {""};
    size_t used = 0;
    ssize_t got = 1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return problem_set(problem, -errno, "cannot create a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        if (launch_become(user) < 0)
            _exit(EXIT_FAILURE);
        look(name, directory, user->pw_dir, &found);
        _exit(write(ends[1], &found, sizeof(found)) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    int error = errno;
    close(ends[1]);
    struct pollfd answer = {.fd = ends[0], .events = POLLIN};
    while (pid > 0 && used < sizeof(found) && got > 0 && poll(&answer, 1, LOOK_MS) > 0) {
        got = read(ends[0], (char *)&found + used, sizeof(found) - used);
        used += got > 0 ? (size_t)got : 0;
    }
    close(ends[0]);
    if (pid < 0)
        return problem_set(problem, -error, "cannot fork: %s", strerror(error));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (used < sizeof(found))
        return problem_set(problem, -EPERM, "cannot look for the program as the user %s",
                           user->pw_name);
    *ret_found = found;
    return 0;
}

int programs_find(struct agent *agent, json_t *params, json_t **ret_result, struct problem *problem)
{
    const char *name = json_string_value(json_object_get(params, "program"));
    const char *directory = json_string_value(json_object_get(params, "directory"));
    const char *name_of_user = json_string_value(json_object_get(params, "user"));
    const struct passwd *user = name_of_user == NULL ? NULL : getpwnam(name_of_user);
    struct found_program found = {""};
    int result = 0;

    (void)agent;
    if (name == NULL || name[0] == '\0')
        return problem_set(problem, -EINVAL, "program.find: \"program\" is a name or a path");
    if (name_of_user != NULL && user == NULL)
        return problem_set(problem, -EINVAL, "no user '%s' on this machine", name_of_user);
    if (user != NULL && geteuid() == 0)
        result = look_as(user, name, directory, &found, problem);
    else
        look(name, directory, user == NULL ? getenv("HOME") : user->pw_dir, &found);
    if (result < 0)
        return result;
    *ret_result = json_pack("{s:s}", "directory", found.directory);
    if (found.path[0] != '\0')
        json_object_set_new(*ret_result, "path", json_string(found.path));
    return 0;
}
