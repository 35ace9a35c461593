/* SPDX-License-Identifier: MIT */
/* launch.c: starts a program suspended. See launch.h. */
#include "launch/launch.h"
#include "launch/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum complaint_about {
    ABOUT_EXEC,
    ABOUT_PATH,        /* ... of a name that was searched in PATH ... */
    ABOUT_FOLDER,      /* ... and is in the folder */
    ABOUT_INTERPRETER, /* ... of a file that is there */
    ABOUT_USER,
    ABOUT_DIRECTORY,
    ABOUT_PREPARING,
};

/* What the child reports if it fails before or in exec. */
struct complaint {
    int error;
    enum complaint_about about;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int launch_become(const struct passwd *user)
{
    if (initgroups(user->pw_name, user->pw_gid) < 0 || setgid(user->pw_gid) < 0 ||
        setuid(user->pw_uid) < 0)
        return -errno;
    if (setenv("HOME", user->pw_dir, 1) < 0 || setenv("SHELL", user->pw_shell, 1) < 0 ||
        setenv("USER", user->pw_name, 1) < 0 || setenv("LOGNAME", user->pw_name, 1) < 0)
        return -errno;
    return 0;
}

/* What the program gets of its own. */
static int settle_own(const struct launch_options *options)
{
    if (options->own_session && (setsid() < 0 || signal(SIGPIPE, SIG_DFL) == SIG_ERR))
        return -errno;
    if (options->death_signal != 0 && prctl(PR_SET_PDEATHSIG, options->death_signal) < 0)
        return -errno;
    /* what a library has opened without a thought of exec: a connection of ours is not the program's */
    if (options->own_session && close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
        return -errno;
    for (int i = 0; options->files != NULL && i < 3; i++)
        if (dup2(options->files[i], i) < 0) /* not closed at exec */
            return -errno;
    for (size_t i = 0; options->environment != NULL && options->environment[i] != NULL; i++)
        if (putenv(options->environment[i]) != 0)
            return -errno;
    return 0;
}

/* The directory may be one that only the user can enter. */
static void enter_directory(const struct launch_options *options, struct complaint *complaint)
{
    if (complaint->error != 0 || options->directory == NULL || chdir(options->directory) == 0)
        return;
    *complaint = (struct complaint){.error = errno, .about = ABOUT_DIRECTORY};
}

/* By its name in the folder, not by a descriptor of its own: the kernel calls the process by that name. Returns the error. */
static int execute(const struct launch_options *options)
{
    if (options->folder == NULL) {
        execvp(options->arguments[0], options->arguments);
        return errno;
    }
    const char *slash = strrchr(options->arguments[0], '/');
    const char *name = slash == NULL ? options->arguments[0] : slash + 1;
    syscall(SYS_execveat, *options->folder, name, options->arguments, environ, 0);
    if (errno == ENOENT) { /* a script, which its interpreter opens */
        fcntl(*options->folder, F_SETFD, 0);
        syscall(SYS_execveat, *options->folder, name, options->arguments, environ, 0);
    }
    return errno;
}

/* What exec could not find: it gives the same error for all of these. */
static enum complaint_about what_is_missing(const char *name)
{
    if (strchr(name, '/') == NULL)
        return access(name, X_OK) == 0 ? ABOUT_FOLDER : ABOUT_PATH;
    return access(name, F_OK) == 0 ? ABOUT_INTERPRETER : ABOUT_EXEC;
}

/* Runs in the child; never returns. */
static void run_child(const struct launch_options *options, const struct passwd *user, int gate,
                      int error)
{
    struct complaint complaint = {0};
    char opened;
    ssize_t got;

    do
        got = read(gate, &opened, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127); /* the gate was closed, not opened */
    if (user != NULL)
        complaint.error = -launch_become(user);
    complaint.about = complaint.error != 0 ? ABOUT_USER : ABOUT_PREPARING;
    if (complaint.error == 0)
        complaint.error = -settle_own(options);
    enter_directory(options, &complaint);
    if (complaint.error == 0 && options->signal_mask != NULL)
        sigprocmask(SIG_SETMASK, options->signal_mask, NULL);
    inherited_give_back();
    if (complaint.error == 0 && options->prepare != NULL)
        complaint.error = -options->prepare(options->context);
    if (complaint.error == 0) {
        complaint.about = ABOUT_EXEC;
        complaint.error = execute(options);
        if (complaint.error == ENOENT && options->folder == NULL)
            complaint.about = what_is_missing(options->arguments[0]);
    }
    if (write(error, &complaint, sizeof(complaint)) < 0)
        _exit(127);
    _exit(complaint.error == ENOENT ? 127 : 126);
}

int launch_suspended(const struct launch_options *options, struct launched *ret_launched,
                     struct problem *problem)
{
    int gate[2] = {-1, -1}, error[2] = {-1, -1}, result;
    const struct passwd *user = NULL;

    if (options->user != NULL && (user = getpwnam(options->user)) == NULL)
        return problem_set(problem, -EINVAL, "no user '%s' on this machine", options->user);
    if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0) {
        result = problem_set(problem, -errno, "cannot create a pipe: %s", strerror(errno));
        goto fail;
    }
    pid_t pid = fork();
    if (pid < 0) {
        result = problem_set(problem, -errno, "cannot fork: %s", strerror(errno));
        goto fail;
    }
    if (pid == 0) {
        close_fd(&gate[1]);
        close_fd(&error[0]);
        run_child(options, user, gate[0], error[1]);
    }
    close_fd(&gate[0]);
    close_fd(&error[1]);
    struct launched launched = {
        .pid = pid,
        .pid_fd = (int)syscall(SYS_pidfd_open, pid, 0),
        .reaped_elsewhere = options->reaped_elsewhere,
        .gate = gate[1],
        .error = error[0],
    };
    if (launched.pid_fd < 0) {
        result = problem_set(problem, -errno, "cannot watch process %d: %s", pid, strerror(errno));
        launch_cancel(&launched);
        return result;
    }
    *ret_launched = launched;
    return 0;
fail:
    for (size_t i = 0; i < 2; i++) {
        close_fd(&gate[i]);
        close_fd(&error[i]);
    }
    return result;
}

/* Reaps a process whose failure is already known. */
static void reap(struct launched *launched)
{
    if (!launched->reaped_elsewhere)
        waitpid(launched->pid, NULL, 0);
    close_fd(&launched->pid_fd);
}

static int explain(const struct complaint *complaint, struct problem *problem)
{
    const char *reason = strerror(complaint->error);

    switch (complaint->about) {
    case ABOUT_PATH:
        return problem_set(problem, -complaint->error,
                           "cannot run it: No such file in PATH, or its interpreter is missing");
    case ABOUT_FOLDER:
        return problem_set(problem, -complaint->error,
                           "cannot run it: No such file in PATH; for the one in this folder, write "
                           "./ before its name");
    case ABOUT_INTERPRETER:
        return problem_set(problem, -complaint->error,
                           "cannot run it: the interpreter in its first line, or its loader, is "
                           "missing");
    case ABOUT_USER:
        if (complaint->error == EPERM)
            reason = "that takes root (CAP_SETUID and CAP_SETGID)";
        return problem_set(problem, -complaint->error, "cannot become the user: %s", reason);
    case ABOUT_DIRECTORY:
        return problem_set(problem, -complaint->error, "cannot enter its directory: %s", reason);
    case ABOUT_EXEC:
        return problem_set(problem, -complaint->error, "cannot run it: %s", reason);
    default:
        return problem_set(problem, -complaint->error, "cannot prepare its process: %s", reason);
    }
}

int launch_release(struct launched *launched, struct problem *problem)
{
    struct complaint complaint = {0};
    ssize_t got;
    int error;

    do
        got = write(launched->gate, "", 1);
    while (got < 0 && errno == EINTR);
    error = got == 1 ? 0 : errno;
    close_fd(&launched->gate);
    do
        got = read(launched->error, &complaint, sizeof(complaint));
    while (got < 0 && errno == EINTR);
    close_fd(&launched->error);
    if (error == 0 && got <= 0)
        return 0;
    reap(launched);
    if (error != 0)
        return problem_set(problem, -error, "cannot start its process: %s", strerror(error));
    return explain(&complaint, problem);
}

#define REAPED_WITHIN 100 /* ms */

/* A tracer in another thread may have it already: a wait of ours would take the stops that the tracer waits for, and the
 * process would stay stopped for ever. WNOWAIT takes none. If nothing traces it, it is ours to reap. */
static void end_traced(const struct launched *launched)
{
    struct pollfd file = {.fd = launched->pid_fd, .events = POLLIN};
    siginfo_t info;

    kill(launched->pid, SIGKILL);
    poll(&file, 1, -1);
    for (int waited = 0; waited < REAPED_WITHIN && waitid(P_PID, (id_t)launched->pid, &info,
                                                          WEXITED | WNOHANG | WNOWAIT) == 0;
         waited++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void launch_cancel(struct launched *launched)
{
    close_fd(&launched->gate);
    close_fd(&launched->error);
    if (launched->reaped_elsewhere)
        end_traced(launched);
    else
        kill(launched->pid, SIGKILL); /* another one that is suspended may hold the gate open */
    waitpid(launched->pid, NULL, launched->reaped_elsewhere ? WNOHANG : 0);
    close_fd(&launched->pid_fd);
}
