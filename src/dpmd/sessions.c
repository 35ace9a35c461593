/* SPDX-License-Identifier: MIT */
/* sessions.c: files for sessions. See sessions.h. */
#include "dpmd/sessions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int sessions_open(struct sessions *sessions, const char *folder, struct problem *problem)
{
    struct stat found;

    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return problem_set(problem, -errno, "cannot make the folder %s: %s", folder,
                           strerror(errno));
    sessions->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (sessions->folder < 0 || fstat(sessions->folder, &found) < 0)
        return problem_set(problem, -errno, "cannot open the folder %s: %s", folder,
                           strerror(errno));
    if (found.st_uid != geteuid() || (found.st_mode & 022) != 0)
        return problem_set(problem, -EPERM,
                           "the folder %s is not dpmd's own: others may write to it, and processes "
                           "that it names get signals; remove it, or name another with --folder",
                           folder);
    return 0;
}

void sessions_close(struct sessions *sessions)
{
    close(sessions->folder);
}

/* Calls `found` for each session that goes on; removes the files of the others. */
static int each(const struct sessions *sessions,
                void (*found)(uid_t user, pid_t server, void *context), void *context)
{
    int copy = openat(sessions->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;

    if (list == NULL)
        return -errno;
    while ((entry = readdir(list)) != NULL) {
        int file = entry->d_name[0] == '.'
                       ? -1
                       : openat(sessions->folder, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        char text[64] = "";
        unsigned user;
        int server;
        if (file < 0)
            continue;
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            unlinkat(sessions->folder, entry->d_name, 0);
        else if (read(file, text, sizeof(text) - 1) > 0 &&
                 sscanf(text, "%u %d", &user, &server) == 2)
            found(user, server, context);
        close(file);
    }
    closedir(list);
    return 0;
}

struct counting {
    uid_t user;
    struct session_count count;
};

static void count(uid_t user, pid_t server, void *context)
{
    struct counting *counting = context;

    (void)server;
    counting->count.all++;
    counting->count.of_user += user == counting->user;
}

int sessions_count(const struct sessions *sessions, uid_t user, struct session_count *ret_count)
{
    struct counting counting = {.user = user};
    int result = each(sessions, count, &counting);

    *ret_count = counting.count;
    return result;
}

static int write_file(int session, uid_t user, pid_t server)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "%u %d\n", user, server);

    return pwrite(session, text, (size_t)length, 0) == length ? 0 : -EIO;
}

int sessions_add(const struct sessions *sessions, uid_t user)
{
    char name[32];

    snprintf(name, sizeof(name), "%" PRIu64, clock_now(CLOCK_MONOTONIC));
    int session =
        openat(sessions->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (session < 0)
        return -errno;
    int result = flock(session, LOCK_EX | LOCK_NB) < 0 ? -errno : write_file(session, user, 0);
    if (result == 0)
        return session;
    unlinkat(sessions->folder, name, 0);
    close(session);
    return result;
}

void sessions_serve(int session, uid_t user)
{
    write_file(session, user, getpid());
}

static void send_signal(uid_t user, pid_t server, void *context)
{
    (void)user;
    if (server > 1)
        kill(server, *(const int *)context);
}

void sessions_signal(const struct sessions *sessions, int signal)
{
    each(sessions, send_signal, &signal);
}
